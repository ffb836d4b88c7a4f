/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of an object with limits, and folders of objects. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/text/json.h"

int rlt_json_get_text(rlt_json v, const char *key, bool required, char *out, size_t size, rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_json_get_string(v, key, required, &text, err);
    if (rc || !text)
        return rc;
    if (!*text || strlen(text) >= size)
        return rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a text of 1 to %zu bytes",
                             size - 1);
    snprintf(out, size, "%s", text);
    rlt_make_printable(out);
    return 0;
}

int rlt_json_get_within(rlt_json v, const char *key, bool required, rlt_json_bounds in, double *out,
                        rlt_error *err)
{
    int rc = rlt_json_get_double(v, key, required, out, err);
    if (!rc && !(*out >= in.least && *out <= in.most))
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a number from %g to %g", in.least,
                           in.most);
    return rc;
}

int rlt_json_load_beside(const char *dirs, const char *folder, rlt_json_fn *read, void *ctx, rlt_error *err)
{
    static const char *const endings[] = {".json", NULL};
    char dir[PATH_MAX], beside[PATH_MAX + 64], path[PATH_MAX];
    int rc = 0;
    while (!rc && dirs && rlt_find_next_dir(&dirs, dir, sizeof dir)) {
        rlt_found found;
        snprintf(beside, sizeof beside, "%s/../%s", dir, folder);
        rc = rlt_find_all(beside, endings, &found, err);
        for (uint32_t i = 0; i < found.n && !rc; i++) {
            rlt_json_doc *doc = NULL;
            if (!rlt_find_file(beside, found.names[i], path, sizeof path))
                continue;
            if (!(rc = rlt_json_load(path, &doc, err)))
                rc = read(ctx, rlt_json_root(doc), err);
            rlt_json_free(doc);
        }
        rlt_find_free(&found);
    }
    return rc;
}
