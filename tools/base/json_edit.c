/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edits of JSON text: the parsed document gives the position of a value, the rest of the text is copied. */
#include "tools/base/json_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"

enum { MAX_STEP = 64, INDENT = 2 };

/* Copies the first step of a path to `step`. Returns the rest of the path, NULL at its end. A step that is
 * too long is cut: no key that this program edits is as long. */
static const char *next_step(const char *path, char *step)
{
    size_t n = strcspn(path, ".");
    snprintf(step, MAX_STEP, "%.*s", (int)(n < MAX_STEP ? n : MAX_STEP - 1), path);
    return path[n] ? path + n + 1 : NULL;
}

static rlt_json enter(rlt_json v, const char *step)
{
    uint64_t i;
    if (rlt_json_is_object(v))
        return rlt_json_get(v, step);
    if (!rlt_json_is_array(v))
        return (rlt_json){0};
    for (rlt_json e = rlt_json_first(v); rlt_json_is(e); e = rlt_json_next(e)) {
        const char *name = rlt_json_string(rlt_json_get(e, "name"));
        if (name && strcmp(name, step) == 0)
            return e;
    }
    if (rlt_parse_count(step, &i, NULL, NULL) == 0 && i < rlt_json_count(v))
        return rlt_json_at(v, (uint32_t)i);
    return (rlt_json){0};
}

rlt_json rlt_json_find(rlt_json root, const char *path)
{
    char step[MAX_STEP];
    while (path && rlt_json_is(root)) {
        path = next_step(path, step);
        root = enter(root, step);
    }
    return root;
}

/* Replaces the bytes [begin, end) by `with`. */
static int splice(char **text, size_t *length, size_t begin, size_t end, const char *with, rlt_error *err)
{
    size_t n = strlen(with);
    char *made = malloc(*length - (end - begin) + n + 1);
    if (!made)
        return rlt_nomem(err);
    memcpy(made, *text, begin);
    memcpy(made + begin, with, n);
    memcpy(made + begin + n, *text + end, *length - end);
    *length = *length - (end - begin) + n;
    made[*length] = 0;
    free(*text);
    *text = made;
    return 0;
}

/* Builds the text of a new member: the value, inside new objects for the remaining steps of the path. */
static char *member_text(const char *step, const char *rest, const char *value, int depth, bool first,
                         rlt_error *err)
{
    char inner[MAX_STEP], *text, *close;
    size_t size = strlen(value) + (rest ? strlen(rest) * 2 : 0) + 4096;
    rlt_jw w;
    rlt_jw_init(&w, false);
    if (rest) {
        rlt_jw_object(&w, NULL);
        while ((rest = next_step(rest, inner)))
            rlt_jw_object(&w, inner);
        rlt_jw_raw(&w, inner, value);
        while (w.depth > 0)
            rlt_jw_end_object(&w);
        value = close = rlt_jw_finish(&w, NULL);
    } else {
        close = NULL;
    }
    text = value ? malloc(size + strlen(value)) : NULL;
    if (text)
        snprintf(text, size + strlen(value), "%s\n%*s\"%s\": %s", first ? "" : ",", INDENT * depth, "", step,
                 value);
    else
        rlt_nomem(err);
    free(close);
    return text;
}

static int insert(char **text, size_t *length, rlt_json object, int depth, const char *step, const char *rest,
                  const char *value, rlt_error *err)
{
    size_t begin, at, end;
    rlt_json last = {0};
    char *member;
    int rc;
    if (!rlt_json_is_object(object))
        return rlt_json_fail(object, RLT_ESCHEMA, err, "expected an object that can hold '%s'", step);
    for (rlt_json m = rlt_json_first(object); rlt_json_is(m); m = rlt_json_next(m))
        last = m;
    rlt_json_extent(object, &begin, &end);
    at = begin + 1;
    if (rlt_json_is(last))
        rlt_json_extent(last, &begin, &at);
    member = member_text(step, rest, value, depth, !rlt_json_is(last), err);
    if (!member)
        return RLT_ENOMEM;
    rc = splice(text, length, at, at, member, err);
    free(member);
    return rc;
}

int rlt_json_edit(const char *name, char **text, size_t *length, const char *path, const char *value,
                  rlt_error *err)
{
    char step[MAX_STEP];
    rlt_json_doc *doc;
    rlt_json at, next;
    size_t begin, end;
    int depth = 1, rc = rlt_json_parse(name, *text, *length, &doc, err);
    if (rc)
        return rc;
    at = rlt_json_root(doc);
    for (;; depth++) {
        path = next_step(path, step);
        next = enter(at, step);
        if (!rlt_json_is(next)) {
            rc = insert(text, length, at, depth, step, path, value, err);
            break;
        }
        if (!path) {
            rlt_json_extent(next, &begin, &end);
            rc = splice(text, length, begin, end, value, err);
            break;
        }
        at = next;
    }
    rlt_json_free(doc);
    return rc;
}
