/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Definitions in files, for ringlet list: traces, studies, stacks, dispatchers; and the folders with them. */
#include <limits.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/cli/list.h"
#include "tools/output/output.h"
#include "workload/setup/locate.h"

static const char *const json_ending[] = {".json", NULL};
static const char *const trace_endings[] = {"", ".graph.txt", NULL};

/* Copies the text of a JSON file that says what it is or where its numbers come from. */
static void describe(const char *path, char *text, size_t size)
{
    static const char *const keys[] = {"_what", "source"};
    rlt_json_doc *doc = NULL;
    const char *found = NULL;
    if (rlt_json_load(path, &doc, NULL) == 0)
        for (size_t i = 0; i < sizeof keys / sizeof *keys && !found; i++)
            found = rlt_json_string(rlt_json_get(rlt_json_root(doc), keys[i]));
    snprintf(text, size, "%s", found ? found : path);
    rlt_make_printable(text);
    rlt_json_free(doc);
}

static int list_kind(rlt_data_kind kind, const char *const *endings, rlt_table *t, rlt_error *err)
{
    rlt_dirs dirs = rlt_data_dirs(kind);
    rlt_found found;
    char path[PATH_MAX], text[PATH_MAX];
    int rc = rlt_find_all(dirs.list, endings, &found, err);
    for (uint32_t i = 0; i < found.n && !rc; i++) {
        if (!rlt_find_file(dirs.list, found.names[i], path, sizeof path))
            continue;
        if (endings == json_ending)
            describe(path, text, sizeof text);
        rlt_list_put(t, found.names[i], endings == json_ending ? text : path, NULL);
    }
    rlt_find_free(&found);
    return rc;
}

int rlt_list_traces(rlt_table *t, rlt_error *err)
{
    return list_kind(RLT_DATA_TRACES, trace_endings, t, err);
}

int rlt_list_studies(rlt_table *t, rlt_error *err)
{
    return list_kind(RLT_DATA_STUDIES, json_ending, t, err);
}

int rlt_list_stacks(rlt_table *t, rlt_error *err)
{
    return list_kind(RLT_DATA_STACKS, json_ending, t, err);
}

int rlt_list_dispatchers(rlt_table *t, rlt_error *err)
{
    return list_kind(RLT_DATA_DISPATCHERS, json_ending, t, err);
}

const rlt_column rlt_folder_columns[] = {
    {"kind", "kind", NULL, RLT_COL_TEXT, 0, 0, "kind of names"},
    {"folder", "folder", NULL, RLT_COL_TEXT, 0, 0, "folder; names are looked for in the order of the rows"},
    {"names", "names", NULL, RLT_COL_COUNT, 0, 0, "names in the folder; absent if it is not there"},
};

static int put_folder(rlt_table *t, const char *kind, const char *dir, rlt_error *err)
{
    rlt_found found;
    int rc = rlt_find_all(dir, NULL, &found, err);
    if (!rc) {
        rlt_value v[] = {rlt_text(kind), rlt_text(dir), found.n ? rlt_count(found.n) : rlt_absent()};
        rlt_table_row(t, v);
    }
    rlt_find_free(&found);
    return rc;
}

int rlt_list_folders(rlt_table *t, rlt_error *err)
{
    char dir[PATH_MAX];
    int rc = 0;
    for (int k = 0; k < RLT_DATA_KINDS; k++) {
        rlt_dirs dirs = rlt_data_dirs((rlt_data_kind)k);
        const char *cursor = dirs.list;
        while (!rc && rlt_find_next_dir(&cursor, dir, sizeof dir))
            rc = put_folder(t, rlt_data_name((rlt_data_kind)k), dir, err);
    }
    return rc;
}
