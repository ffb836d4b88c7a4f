/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values with edits laid over them. */
#include "sim/text/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/base/words.h"

static rlt_tree_kind kind_of(rlt_json v, const char *text)
{
    if (rlt_json_is_object(v))
        return RLT_TREE_OBJECT;
    if (rlt_json_is_array(v))
        return RLT_TREE_ARRAY;
    if (rlt_json_is_string(v))
        return RLT_TREE_STRING;
    if (rlt_json_is_number(v))
        return RLT_TREE_NUMBER;
    return text[0] == 'n' ? RLT_TREE_NULL : RLT_TREE_BOOL;
}

static rlt_json_tree *make(rlt_arena *arena, rlt_json v, const rlt_json_tree *parent)
{
    rlt_json_tree *t = rlt_arena_alloc(arena, sizeof *t);
    size_t begin, end;
    if (!t)
        return NULL;
    rlt_json_extent(v, &begin, &end);
    const char *text = rlt_json_text(v.doc) + begin, *key = rlt_json_key(v);
    *t = (rlt_json_tree){.kind = kind_of(v, text), .at = v, .parent = parent, .on = rlt_json_is_true(v)};
    if (t->kind == RLT_TREE_STRING)
        t->text = rlt_arena_strdup(arena, rlt_json_string(v));
    else if (t->kind == RLT_TREE_NUMBER)
        t->text = rlt_arena_strndup(arena, text, end - begin);
    if (key)
        t->key = rlt_arena_strdup(arena, key);
    if ((key && !t->key) || ((t->kind == RLT_TREE_STRING || t->kind == RLT_TREE_NUMBER) && !t->text))
        return NULL;
    for (rlt_json c = rlt_json_first(v); rlt_json_is(c); c = rlt_json_next(c)) {
        if (t->kind == RLT_TREE_OBJECT && rlt_json_key(c)[0] == '_')
            continue;
        rlt_json_tree *child = make(arena, c, t);
        if (!child)
            return NULL;
        if (t->last)
            t->last->next = child;
        else
            t->first = child;
        t->last = child;
        t->n++;
    }
    return t;
}

int rlt_tree_make(rlt_arena *arena, rlt_json v, rlt_json_tree **out, rlt_error *err)
{
    *out = make(arena, v, NULL);
    return *out ? 0 : rlt_nomem(err);
}

const rlt_json_tree *rlt_tree_get(const rlt_json_tree *t, const char *key)
{
    const rlt_json_tree *c = t && t->kind == RLT_TREE_OBJECT ? t->first : NULL;
    while (c && strcmp(c->key, key) != 0)
        c = c->next;
    return c;
}

const rlt_json_tree *rlt_tree_at(const rlt_json_tree *t, uint32_t i)
{
    const rlt_json_tree *c = t->first;
    while (c && i--)
        c = c->next;
    return c;
}

bool rlt_tree_same(const rlt_json_tree *a, const rlt_json_tree *b)
{
    if (a->kind != b->kind || a->on != b->on || a->n != b->n || (a->text && strcmp(a->text, b->text) != 0))
        return false;
    const rlt_json_tree *y = b->first;
    for (const rlt_json_tree *x = a->first; x; x = x->next, y = y->next) {
        const rlt_json_tree *other = x->key ? rlt_tree_get(b, x->key) : y;
        if (!other || !rlt_tree_same(x, other))
            return false;
    }
    return true;
}

/* Returns the next step of a pointer, unescaped: "~1" is '/', "~0" is '~'. */
static const char *next_step(rlt_arena *arena, const char **pointer)
{
    const char *p = *pointer + 1;
    size_t n = strcspn(p, "/"), k = 0;
    char *step = rlt_arena_strndup(arena, p, n);
    for (size_t i = 0; step && i < n; i++) {
        bool escaped = p[i] == '~' && (p[i + 1] == '0' || p[i + 1] == '1');
        step[k++] = escaped ? (p[++i] == '1' ? '/' : '~') : p[i];
    }
    if (step)
        step[k] = '\0';
    *pointer = p + n;
    return step;
}

/* Writes a key as a step of a pointer: what next_step undoes. A long one is cut. */
static const char *escaped(const char *key, char *out, size_t size)
{
    size_t n = 0;
    for (; *key && n + 2 < size; key++) {
        bool escape = *key == '/' || *key == '~';
        out[n++] = escape ? '~' : *key;
        if (escape)
            out[n++] = *key == '/' ? '1' : '0';
    }
    out[n] = '\0';
    return out;
}

/* Fails for a pointer whose `step` is missing; `rest` is the part of the pointer behind it. */
static int fail_before(const rlt_json_tree *parent, const char *pointer, const char *rest, const char *step,
                       rlt_error *err)
{
    char key[128];
    rlt_nearest near = rlt_nearest_to(step ? step : "");
    for (const rlt_json_tree *c = step ? parent->first : NULL; c; c = c->next)
        rlt_nearest_try(&near, c->key);
    int n = (int)(rest - pointer);
    if (!near.best)
        return rlt_fail(err, RLT_ESCHEMA, NULL, "%s: base has no '%.*s'", pointer, n, pointer);
    const char *slash = rest;
    while (*--slash != '/')
        ;
    return rlt_fail(err, RLT_ESCHEMA, NULL, "%s: base has no '%.*s'; did you mean '%.*s%s'?", pointer, n,
                    pointer, (int)(slash + 1 - pointer), pointer, escaped(near.best, key, sizeof key));
}

int rlt_tree_find(rlt_arena *arena, const rlt_json_tree *root, const char *pointer, rlt_tree_place *out,
                  rlt_error *err)
{
    const char *p = pointer;
    if (*p != '/')
        return rlt_fail(err, RLT_ESCHEMA, NULL, "expected a pointer such as /topology/dims/0/bandwidth");
    const rlt_json_tree *parent = root;
    for (;;) {
        const char *step = next_step(arena, &p);
        const rlt_json_tree *target = NULL;
        uint64_t index = 0;
        if (!step)
            return rlt_nomem(err);
        if (parent->kind == RLT_TREE_OBJECT) {
            target = rlt_tree_get(parent, step);
        } else if (parent->kind == RLT_TREE_ARRAY) {
            bool end = strcmp(step, "-") == 0;
            if (!end && rlt_parse_count(step, &index, NULL, NULL))
                return rlt_fail(err, RLT_ESCHEMA, NULL, "%s: expected the index of an element or -, got '%s'",
                                pointer, step);
            if (!end && index > parent->n)
                return rlt_fail(err, RLT_ESCHEMA, NULL, "%s: the list has %u elements", pointer, parent->n);
            target = end ? NULL : rlt_tree_at(parent, (uint32_t)index);
            step = NULL;
        } else {
            return rlt_fail(err, RLT_ESCHEMA, NULL,
                            "%s: the value before the last part is not an object or a list", pointer);
        }
        *out = (rlt_tree_place){.parent = parent, .target = target, .key = step};
        if (!*p)
            return 0;
        if (!target)
            return fail_before(parent, pointer, p, step, err);
        parent = target;
    }
}

static bool lies_in(const rlt_json_tree *node, const rlt_json_tree *in)
{
    while (node && node != in)
        node = node->parent;
    return node != NULL && in != NULL;
}

bool rlt_tree_overlap(const rlt_tree_place *a, const rlt_tree_place *b)
{
    if (a->target == b->target && a->parent == b->parent)
        return a->target ? true : a->key && b->key && strcmp(a->key, b->key) == 0;
    return lies_in(a->parent, b->target) || lies_in(b->parent, a->target);
}

static const rlt_json_tree *edited(const rlt_tree_edits *e, const rlt_json_tree *child)
{
    for (uint32_t i = 0; e && i < e->n; i++)
        if (e->items[i].place.target == child)
            return e->items[i].value;
    return child;
}

bool rlt_tree_step(rlt_tree_walk *w)
{
    if (!w->begun)
        w->next = w->parent->first;
    w->begun = true;
    while (w->next) {
        const rlt_json_tree *child = w->next;
        w->next = child->next;
        w->node = edited(w->edits, child);
        w->key = child->key;
        if (w->node == child || w->node->kind != RLT_TREE_NULL)
            return true;
    }
    while (w->edits && w->added < w->edits->n) {
        const rlt_tree_edit *e = &w->edits->items[w->added++];
        if (e->place.target || e->place.parent != w->parent || e->value->kind == RLT_TREE_NULL)
            continue;
        w->node = e->value;
        w->key = e->place.key;
        return true;
    }
    return false;
}

void rlt_tree_write_string(const char *s, FILE *out)
{
    putc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

void rlt_tree_write(const rlt_json_tree *t, const rlt_tree_edits *edits, FILE *out)
{
    bool object = t->kind == RLT_TREE_OBJECT, first = true;
    rlt_tree_walk w = {.edits = edits, .parent = t};
    switch (t->kind) {
    case RLT_TREE_NULL:
        fputs("null", out);
        return;
    case RLT_TREE_BOOL:
        fputs(t->on ? "true" : "false", out);
        return;
    case RLT_TREE_NUMBER:
        fputs(t->text, out);
        return;
    case RLT_TREE_STRING:
        rlt_tree_write_string(t->text, out);
        return;
    default:
        break;
    }
    putc(object ? '{' : '[', out);
    for (; rlt_tree_step(&w); first = false) {
        if (!first)
            putc(',', out);
        if (object) {
            rlt_tree_write_string(w.key, out);
            putc(':', out);
        }
        rlt_tree_write(w.node, edits, out);
    }
    putc(object ? '}' : ']', out);
}
