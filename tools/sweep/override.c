/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the command line that change a study. */
#include "tools/sweep/override.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/base/commands.h"
#include "tools/base/json_edit.h"
#include "workload/experiment/coll/lists.h"
#include "workload/setup/locate.h"

enum { MAX_BYTES = 256 << 20 };

typedef struct override {
    const rlt_option_group *own;
    const rlt_command *command; /* command that the study runs */
    rlt_json_doc *doc;          /* parsed `text`; NULL: not parsed */
    char path[PATH_MAX];
    char *text;
    size_t length;
    bool changed;
} override;

static const rlt_option *by_name(const rlt_option_group *groups, const char *name, size_t length)
{
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(groups, i, NULL)); i++)
        if (strncmp(o->name, name, length) == 0 && o->name[length] == '\0')
            return o;
    return NULL;
}

static const rlt_option *by_letter(const rlt_option_group *groups, char letter)
{
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(groups, i, NULL)); i++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

/* Parses the current text. Returns false if it is invalid; the study's reader then reports the error. */
static bool parse(override *v)
{
    rlt_error ignored = {0};
    rlt_json_free(v->doc);
    v->doc = NULL;
    return rlt_json_parse(v->path, v->text, v->length, &v->doc, &ignored) == 0;
}

static bool open_study(override *v, const char *study)
{
    rlt_error ignored = {0};
    if (v->doc)
        return true;
    if (rlt_study_path(study, v->path, sizeof v->path, &ignored) ||
        rlt_read_file(v->path, MAX_BYTES, &v->text, &v->length, &ignored) || !parse(v))
        return false;
    const char *runs = rlt_json_string(rlt_json_get(rlt_json_root(v->doc), "command"));
    v->command = runs && strcmp(runs, "coll") == 0 ? &rlt_cmd_coll : &rlt_cmd_run;
    return true;
}

/* Returns the number of the axis that has this name or changes the option of this name; RLT_NONE. */
static uint32_t find_axis(const override *v, const char *name, size_t length)
{
    rlt_json axes = rlt_json_get(rlt_json_root(v->doc), "axes");
    for (int pass = 0; pass < 2; pass++) {
        uint32_t i = 0;
        for (rlt_json a = rlt_json_first(axes); rlt_json_is(a); a = rlt_json_next(a), i++) {
            const char *text = rlt_json_string(rlt_json_get(a, pass ? "pointer" : "name"));
            text = text && pass ? text + 1 : text;
            if (text && strncmp(text, name, length) == 0 && text[length] == '\0')
                return i;
        }
    }
    return RLT_NONE;
}

/* Returns the length up to '=' if the axis adds settings such as "switch.slots=16"; else 0. */
static size_t setting_of(rlt_json axis, const char **text)
{
    const char *pointer = rlt_json_string(rlt_json_get(axis, "pointer"));
    const char *first = rlt_json_string(rlt_json_first(rlt_json_get(axis, "values")));
    size_t n = pointer ? strlen(pointer) : 0;
    const char *equals = first ? strchr(first, '=') : NULL;
    *text = first;
    return equals && n > 2 && strcmp(pointer + n - 2, "/-") == 0 ? (size_t)(equals - first) : 0;
}

static bool is_number(const char *text, size_t length)
{
    return length && length < 16 && strspn(text, "0123456789") >= length && (text[0] != '0' || length == 1);
}

/* Writes a value of an axis as JSON. */
static void put_value(FILE *f, const char *setting, size_t n_setting, const char *item, size_t length)
{
    char word[512];
    snprintf(word, sizeof word, "%.*s%s%.*s", (int)n_setting, setting ? setting : "", n_setting ? "=" : "",
             (int)length, item);
    if (!n_setting && is_number(item, length))
        fputs(word, f);
    else
        rlt_tree_write_string(word, f);
}

/* Writes values: "4MiB,16MiB" one by one, "1KiB:1GiB:x4" as sizes. */
static int put_values(FILE *f, const char *where, rlt_json axis, const char *list, rlt_error *err)
{
    const char *setting, *item, *pointer = rlt_json_string(rlt_json_get(axis, "pointer"));
    size_t n_setting = setting_of(axis, &setting), length;
    uint64_t *sizes = NULL;
    uint32_t n = 0;
    if (pointer && strcmp(pointer, "/bytes") == 0 && strchr(list, ':')) {
        int rc = rlt_parse_sizes(list, &sizes, &n, err);
        for (uint32_t i = 0; i < n && !rc; i++)
            fprintf(f, "%s\"%lluB\"", i ? "," : "", (unsigned long long)sizes[i]);
        free(sizes);
        return rc;
    }
    for (n = 0; (item = rlt_next_item(&list, ',', &length)); n++) {
        if (length == 0 || length > 256)
            return rlt_fail(err, RLT_EUSAGE, where, "'%.*s' is not a value", (int)(length < 40 ? length : 40),
                            item);
        fputs(n ? "," : "", f);
        put_value(f, setting, n_setting, item, length);
    }
    return n ? 0 : rlt_fail(err, RLT_EUSAGE, where, "expected values, separated by commas");
}

static int edit(override *v, const char *place, const char *value, rlt_error *err)
{
    int rc = rlt_json_edit(v->path, &v->text, &v->length, place, value, err);
    v->changed = true;
    return rc || parse(v) ? rc : rlt_fail(err, RLT_EUSAGE, place, "cannot be changed to %.200s", value);
}

static int set_axis(override *v, uint32_t i, const char *where, const char *list, rlt_error *err)
{
    rlt_json axis = rlt_json_at(rlt_json_get(rlt_json_root(v->doc), "axes"), i);
    const char *name = rlt_json_string(rlt_json_get(axis, "name")),
               *pointer = rlt_json_string(rlt_json_get(axis, "pointer"));
    char *value = NULL, place[40];
    size_t length;
    if (!pointer)
        return rlt_fail(err, RLT_EUSAGE, where, "this axis changes several values at once: edit the study");
    FILE *f = rlt_text_stream(&value, &length);
    if (!f)
        return rlt_nomem(err);
    fputs("{\"name\": ", f);
    rlt_tree_write_string(name ? name : strrchr(pointer, '/') + 1, f);
    fputs(", \"pointer\": ", f);
    rlt_tree_write_string(pointer, f);
    fputs(", \"values\": [", f);
    int rc = put_values(f, where, axis, list, err);
    fputs("]}", f);
    if ((fclose(f) || !value) && !rc)
        rc = rlt_nomem(err);
    snprintf(place, sizeof place, "axes.%u", i);
    if (!rc)
        rc = edit(v, place, value, err);
    free(value);
    return rc;
}

/* Sets an option in base. A repeatable option is appended. */
static int set_base(override *v, const rlt_option *o, const char *text, rlt_error *err)
{
    char *value = NULL, place[100];
    size_t length, begin, end;
    FILE *f = rlt_text_stream(&value, &length);
    if (!f)
        return rlt_nomem(err);
    snprintf(place, sizeof place, "base.%s", o->name);
    if (o->kind == RLT_PARAM_FLAG) {
        fputs("true", f);
    } else if (o->kind == RLT_PARAM_LIST) {
        rlt_json there = rlt_json_find(rlt_json_root(v->doc), place);
        bool list = rlt_json_is_array(there);
        putc('[', f);
        for (rlt_json x = list ? rlt_json_first(there) : there; rlt_json_is(x);
             x = list ? rlt_json_next(x) : (rlt_json){0}) {
            rlt_json_extent(x, &begin, &end);
            fprintf(f, "%.*s, ", (int)(end - begin), v->text + begin);
        }
        rlt_tree_write_string(text, f);
        putc(']', f);
    } else {
        rlt_tree_write_string(text, f);
    }
    int rc = fclose(f) ? rlt_nomem(err) : edit(v, place, value, err);
    free(value);
    return rc;
}

/* Applies a setting. If an axis varies it, the axis gets this single value. */
static int set_setting(override *v, const rlt_option *o, const char *text, rlt_error *err)
{
    uint32_t i = 0;
    rlt_json axes = rlt_json_get(rlt_json_root(v->doc), "axes");
    for (rlt_json a = rlt_json_first(axes); rlt_json_is(a); a = rlt_json_next(a), i++) {
        const char *setting;
        size_t n = setting_of(a, &setting);
        if (n && strncmp(setting, text, n + 1) == 0)
            return set_axis(v, i, "--set", text + n + 1, err);
    }
    return set_base(v, o, text, err);
}

/* Meaning of a word that begins with '-'. */
typedef struct meaning {
    const rlt_option *option; /* option of the sweep or its command; NULL: neither */
    uint32_t axis;
    bool own;
    const char *value; /* inside the word; NULL: not there */
} meaning;

static meaning look_up(override *v, const char *study, const char *word)
{
    meaning m = {.axis = RLT_NONE};
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1), *equals = is_long ? strchr(name, '=') : NULL;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    m.value = equals ? equals + 1 : !is_long && name[1] ? name + 1 : NULL;
    m.option = is_long ? by_name(v->own, name, length) : by_letter(v->own, name[0]);
    m.own =
        m.option || strcmp(name, "help") == 0 || strcmp(word, "-h") == 0 || strncmp(name, "config", 6) == 0;
    if (m.own || !open_study(v, study))
        return m;
    m.option = is_long ? by_name(v->command->options, name, length) : by_letter(v->command->options, name[0]);
    if (m.option && m.option->unrecorded)
        m.option = NULL;
    m.axis = m.option  ? find_axis(v, m.option->name, strlen(m.option->name))
             : is_long ? find_axis(v, name, length)
                       : RLT_NONE;
    return m;
}

static int apply(override *v, const meaning *m, const char *word, const char *value, rlt_error *err)
{
    if (!value && (m->axis != RLT_NONE || m->option->kind != RLT_PARAM_FLAG))
        return rlt_fail(err, RLT_EUSAGE, word, "needs a value");
    if (m->axis != RLT_NONE)
        return set_axis(v, m->axis, word, value, err);
    return strcmp(m->option->name, "set") == 0 ? set_setting(v, m->option, value, err)
                                               : set_base(v, m->option, value, err);
}

int rlt_sweep_override(const rlt_option_group *own, int *argc, char **argv, char **text, rlt_error *err)
{
    override *v = calloc(1, sizeof *v);
    int kept = 2, n = *argc, rc = 0;
    *text = NULL;
    if (!v)
        return rlt_nomem(err);
    v->own = own;
    for (int i = 2; i < n && argv[1][0] != '-' && !rc; i++) {
        char *word = argv[i];
        bool option = word[0] == '-' && word[1];
        meaning m = option ? look_up(v, argv[1], word) : (meaning){.own = true, .axis = RLT_NONE};
        bool valued = m.axis != RLT_NONE || (m.option && m.option->kind != RLT_PARAM_FLAG);
        char *next = option && valued && !m.value && i + 1 < n ? argv[++i] : NULL;
        if (m.own || (m.axis == RLT_NONE && !m.option)) {
            argv[kept++] = word;
            if (next)
                argv[kept++] = next;
        } else {
            rc = apply(v, &m, word, m.value ? m.value : next, err);
        }
    }
    if (!rc && v->changed) {
        *text = v->text;
        v->text = NULL;
    }
    if (n > 2 && argv[1][0] != '-') {
        *argc = kept;
        argv[kept] = NULL;
    }
    rlt_json_free(v->doc);
    free(v->text);
    free(v);
    return rc;
}
