/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in expressions: axes, settings of base, limits of the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/expression.h"
#include "tools/sweep/study/study.h"
#include "workload/models/model.h"

rlt_sweep_value rlt__sweep_value_of(const char *text)
{
    char *end;
    uint64_t units;
    rlt_time ps;
    rlt_sweep_value v = {.kind = RLT_SWEEP_NUMBER, .text = text};
    v.number = strtod(text, &end);
    if (end != text && !*end && isfinite(v.number) && !strpbrk(text, "xXnN")) {
        v.real = strpbrk(text, ".eE") != NULL;
        return v;
    }
    if (!rlt_parse_size(text, &units, NULL, NULL) || !rlt_parse_rate(text, &units, NULL, NULL))
        v.number = (double)units;
    else if (!rlt_parse_duration(text, &ps, NULL, NULL))
        v.number = (double)ps;
    else
        v.kind = RLT_SWEEP_TEXT;
    return v;
}

static rlt_sweep_value value_of_tree(const rlt_json_tree *t)
{
    if (t->kind == RLT_TREE_BOOL)
        return (rlt_sweep_value){.kind = RLT_SWEEP_NUMBER, .number = t->on, .text = t->on ? "true" : "false"};
    if (t->kind != RLT_TREE_NUMBER && t->kind != RLT_TREE_STRING)
        return (rlt_sweep_value){.kind = t->kind == RLT_TREE_NULL ? RLT_SWEEP_NOTHING : RLT_SWEEP_TEXT,
                                 .text = t->kind == RLT_TREE_NULL ? NULL : "a list or an object"};
    const char *equals = strchr(t->text, '=');
    return rlt__sweep_value_of(equals && !strpbrk(t->text, ",:") ? equals + 1 : t->text);
}

/* Value i of an axis at one of its places. The text lasts as long as the study. */
static int axis_value(rlt_sweep_study *s, const rlt_sweep_axis *a, uint32_t place, uint32_t i,
                      const rlt_json_tree **out, rlt_error *err)
{
    if (!a->values)
        return rlt_sweep_axis_value(a, i, &s->arena, out, err);
    *out = a->values[(size_t)i * a->n_places + place];
    return 0;
}

static const char *last_part(const char *pointer)
{
    const char *slash = strrchr(pointer, '/');
    return slash ? slash + 1 : pointer;
}

/* Finds an axis by its name, or by the last part of a pointer. */
static bool find_axis(const rlt_sweep_study *s, const char *name, uint32_t *axis, uint32_t *place)
{
    for (int pass = 0; pass < 2; pass++)
        for (*axis = 0; *axis < s->n_axes; ++*axis) {
            const rlt_sweep_axis *a = &s->axes[*axis];
            bool whole = !pass && a->n_places == 1 && a->n;
            for (*place = 0; *place < a->n_places && a->n; ++*place)
                if (strcmp(whole ? a->name : pass ? last_part(a->places[*place].pointer) : "", name) == 0)
                    return true;
        }
    return false;
}

/* Returns true if an axis that is not read yet, or just being read, has this name. Its values are unknown,
 * and what base says does not hold for its points. */
static bool is_later(const rlt_sweep_study *s, const char *name)
{
    uint32_t i = 0;
    rlt_json axes = rlt_json_get(rlt_json_root(s->doc), "axes");
    for (rlt_json a = rlt_json_first(axes); rlt_json_is(a); a = rlt_json_next(a), i++) {
        const char *own = rlt_json_string(rlt_json_get(a, "name"));
        const char *pointer = rlt_json_string(rlt_json_get(a, "pointer"));
        bool is = (own && strcmp(own, name) == 0) || (pointer && strcmp(last_part(pointer), name) == 0);
        rlt_json several = rlt_json_get(a, "pointers");
        for (rlt_json p = rlt_json_first(several); rlt_json_is(p); p = rlt_json_next(p))
            is |= rlt_json_string(p) && strcmp(last_part(rlt_json_string(p)), name) == 0;
        if (is && (i >= s->n_axes || s->axes[i].n == 0))
            return true;
    }
    return false;
}

static int table_of(rlt_sweep_study *s, uint32_t axis, uint32_t place, rlt_sweep_name *out, rlt_error *err)
{
    const rlt_sweep_axis *a = &s->axes[axis];
    const rlt_json_tree *t;
    int rc = 0;
    out->axis = axis;
    if (!(out->values = rlt_arena_array(&s->arena, a->n, sizeof *out->values)))
        return rlt_nomem(err);
    for (uint32_t i = 0; i < a->n && !rc; i++)
        if (!(rc = axis_value(s, a, place, i, &t, err)))
            out->values[i] = value_of_tree(t);
    return rc;
}

static int single(rlt_sweep_study *s, rlt_sweep_value v, rlt_sweep_name *out, rlt_error *err)
{
    out->axis = RLT_NONE;
    if (!(out->values = rlt_arena_array(&s->arena, 1, sizeof *out->values)))
        return rlt_nomem(err);
    *out->values = v;
    return 0;
}

/* Finds NAME=VALUE in a list such as "transformer:layers=4,heads=8" or "tp=2,pp=4"; NULL: there is none. */
static const char *find_setting(rlt_sweep_study *s, const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p; p = (p = strpbrk(p, ",:")) ? p + 1 : NULL)
        if (strncmp(p, name, n) == 0 && p[n] == '=')
            return rlt_arena_strndup(&s->arena, p + n + 1, strcspn(p + n + 1, ","));
    return NULL;
}

/* Finds a setting of base: a member, a member of a member, or an item of a list of settings. */
static bool find_in_base(rlt_sweep_study *s, const char *name, rlt_sweep_value *v)
{
    const rlt_json_tree *t = rlt_tree_get(s->base, name);
    const char *text = NULL;
    for (const rlt_json_tree *m = s->base->first; m && !t && !text; m = m->next) {
        if (m->kind == RLT_TREE_OBJECT)
            t = rlt_tree_get(m, name);
        if (m->kind == RLT_TREE_STRING)
            text = find_setting(s, m->text, name);
        for (const rlt_json_tree *c = m->kind == RLT_TREE_ARRAY ? m->first : NULL; c && !text; c = c->next)
            if (c->kind == RLT_TREE_STRING)
                text = find_setting(s, c->text, name);
    }
    if (t)
        *v = value_of_tree(t);
    else if (text)
        *v = rlt__sweep_value_of(text);
    return t || text;
}

static bool is_of_model(const char *name)
{
    return strcmp(name, "heads") == 0 || strcmp(name, "kv_heads") == 0;
}

/* Opens a model and reads its limit. */
static int limit_of(const rlt_json_tree *spec, const char *name, rlt_json at, rlt_sweep_value *v,
                    rlt_error *err)
{
    rlt_model m = {0};
    rlt_error why = {0};
    if (!spec || spec->kind != RLT_TREE_STRING)
        return rlt_json_fail(at, RLT_ESCHEMA, err,
                             "'%s' needs a model, a name or a file, in base or on an axis", name);
    int rc = rlt_model_open(spec->text, &m, &why);
    if (rc)
        rc = rlt_json_fail(at, rc == RLT_ENOMEM ? rc : RLT_ESCHEMA, err, "'%s' of model %.80s: %.300s", name,
                           spec->text, why.what);
    *v = (rlt_sweep_value){.kind = RLT_SWEEP_NUMBER, .number = name[0] == 'k' ? m.kv_heads : m.heads};
    rlt_model_free(&m);
    return rc;
}

static int find_in_model(rlt_sweep_study *s, rlt_json at, const char *name, rlt_sweep_name *out,
                         rlt_error *err)
{
    uint32_t axis, place;
    const rlt_json_tree *spec = rlt_tree_get(s->base, "model");
    rlt_sweep_value v;
    if (!find_axis(s, "model", &axis, &place)) {
        int rc = limit_of(spec, name, at, &v, err);
        return rc ? rc : single(s, v, out, err);
    }
    int rc = table_of(s, axis, place, out, err);
    for (uint32_t i = 0; i < s->axes[axis].n && !rc; i++)
        if (!(rc = axis_value(s, &s->axes[axis], place, i, &spec, err)))
            rc = limit_of(spec, name, at, &out->values[i], err);
    return rc;
}

int rlt__sweep_name(rlt_sweep_study *s, rlt_json at, const char *name, uint32_t column, rlt_sweep_name *out,
                    rlt_error *err)
{
    uint32_t axis, place;
    rlt_sweep_value v;
    if (find_axis(s, name, &axis, &place))
        return table_of(s, axis, place, out, err);
    if (is_later(s, name))
        return rlt_json_fail(
            at, RLT_ESCHEMA, err,
            "column %u: '%s' is a later axis, and a derived axis stands behind those it uses", column, name);
    if (find_in_base(s, name, &v))
        return single(s, v, out, err);
    if (is_of_model(name))
        return find_in_model(s, at, name, out, err);
    rlt_nearest near = rlt_nearest_to(name);
    for (axis = 0; axis < s->n_axes; axis++) {
        rlt_nearest_try(&near, s->axes[axis].name);
        for (place = 0; place < s->axes[axis].n_places; place++)
            rlt_nearest_try(&near, last_part(s->axes[axis].places[place].pointer));
    }
    rlt_nearest_try(&near, "heads");
    return rlt_json_fail(at, RLT_ESCHEMA, err, "column %u: no axis or setting '%s'%s%s%s", column, name,
                         near.best ? "; did you mean '" : "", near.best ? near.best : "",
                         near.best ? "'?" : "");
}
