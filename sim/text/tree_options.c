/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads options from a tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"

enum { MAX_TEXTS = 1 << 16 };

int rlt_tree_known(const rlt_option_group *groups, const char *whose, const rlt_json_tree *member,
                   uint32_t *number, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(member->key);
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(groups, i, NULL)); i++) {
        rlt_nearest_try(&near, o->name);
        if (strcmp(o->name, member->key) == 0) {
            *number = i;
            return 0;
        }
    }
    return rlt_json_fail(member->at, RLT_ESCHEMA, err, "no option %s%s%s%s", whose,
                         near.best ? "; did you mean '" : "", near.best ? near.best : "",
                         near.best ? "'?" : "");
}

static int add(rlt_option_texts *out, uint32_t option, const char *text, rlt_error *err)
{
    if (!text)
        return rlt_nomem(err);
    int rc = rlt_grow(&out->items, &out->capacity, sizeof *out->items, (uint64_t)out->n + 1, MAX_TEXTS,
                      "options", err);
    if (!rc)
        out->items[out->n++] = (rlt_option_text){option, text};
    return rc;
}

static bool is_text(const rlt_json_tree *t)
{
    return t->kind == RLT_TREE_STRING || t->kind == RLT_TREE_NUMBER;
}

/* Writes {"name": value, ...} as "name=value,...". */
static int put_list(const rlt_json_tree *value, const rlt_tree_edits *edits, FILE *f, rlt_error *err)
{
    rlt_tree_walk w = {.edits = edits, .parent = value};
    const char *comma = "";
    for (; rlt_tree_step(&w); comma = ",") {
        if (!is_text(w.node))
            return rlt_json_fail(w.node->at, RLT_ESCHEMA, err, "expected a text or a number");
        fprintf(f, "%s%s=%s", comma, w.key, w.node->text);
    }
    return 0;
}

static int add_made(const rlt_json_tree *value, const rlt_tree_edits *edits, const rlt_option *o,
                    uint32_t number, rlt_arena *arena, rlt_option_texts *out, rlt_error *err)
{
    char *made = NULL;
    size_t length;
    FILE *f = rlt_text_stream(&made, &length);
    int rc = f ? 0 : rlt_nomem(err);
    if (!rc && o->inline_json)
        rlt_tree_write(value, edits, f);
    else if (!rc)
        rc = put_list(value, edits, f, err);
    if (f && fclose(f) && !rc)
        rc = rlt_nomem(err);
    if (!rc)
        rc = add(out, number, rlt_arena_strdup(arena, made), err);
    free(made);
    return rc;
}

static int add_value(const rlt_json_tree *value, const rlt_tree_edits *edits, const rlt_option *o,
                     uint32_t number, rlt_arena *arena, rlt_option_texts *out, rlt_error *err)
{
    if (is_text(value))
        return add(out, number, value->text, err);
    if (value->kind == RLT_TREE_OBJECT)
        return add_made(value, edits, o, number, arena, out, err);
    return rlt_json_fail(value->at, RLT_ESCHEMA, err, "expected a text or a number");
}

int rlt_tree_option(const rlt_json_tree *value, const rlt_tree_edits *edits, const rlt_option *o,
                    uint32_t number, rlt_arena *arena, rlt_option_texts *out, rlt_error *err)
{
    rlt_tree_walk w = {.edits = edits, .parent = value};
    int rc = 0;
    if (o->kind == RLT_PARAM_FLAG) {
        if (value->kind != RLT_TREE_BOOL && value->kind != RLT_TREE_NULL)
            return rlt_json_fail(value->at, RLT_ESCHEMA, err, "expected true or false");
        return value->on ? add(out, number, "", err) : 0;
    }
    if (value->kind != RLT_TREE_ARRAY)
        return add_value(value, edits, o, number, arena, out, err);
    while (!rc && rlt_tree_step(&w))
        rc = add_value(w.node, edits, o, number, arena, out, err);
    return rc;
}
