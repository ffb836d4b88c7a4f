/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Axes of a study, and the filters on them. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/study.h"

enum { LISTED = 8 }; /* most values of an axis in a message */

static int read_pointers(rlt_sweep_study *s, rlt_sweep_axis *a, rlt_json v, rlt_error *err)
{
    rlt_json one = rlt_json_get(v, "pointer"), several = rlt_json_get(v, "pointers");
    if (rlt_json_is(one) == rlt_json_is(several))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected either pointer or pointers");
    if (rlt_json_is(several) && (!rlt_json_is_array(several) || rlt_json_count(several) == 0))
        return rlt_json_fail(several, RLT_ESCHEMA, err, "expected a list of pointers");
    a->places = rlt_arena_array(&s->arena, rlt_json_count(several) + 1, sizeof *a->places);
    if (!a->places)
        return rlt_nomem(err);
    int rc = 0;
    for (rlt_json p = rlt_json_is(one) ? one : rlt_json_first(several); rlt_json_is(p) && !rc;
         p = rlt_json_is(one) ? (rlt_json){0} : rlt_json_next(p)) {
        if (!rlt_json_is_string(p))
            return rlt_json_fail(p, RLT_ESCHEMA, err,
                                 "expected a pointer such as /topology/dims/0/bandwidth");
        rc = rlt__sweep_place_of(s, p, rlt_json_string(p), &a->places[a->n_places++], err);
    }
    return rc;
}

static int read_values(rlt_sweep_study *s, rlt_sweep_axis *a, rlt_json v, rlt_error *err)
{
    rlt_json_tree *list = NULL;
    if (!rlt_json_is_array(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             "expected a list of values, or a text that computes them: \"256 / (tp * pp)\"");
    if (rlt_json_count(v) == 0)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "axis '%s' is empty", a->name);
    if (rlt_json_count(v) > RLT_SWEEP_VALUES)
        return rlt_json_fail(v, RLT_ERANGE, err, "more than %d values", RLT_SWEEP_VALUES);
    int rc = rlt_tree_make(&s->arena, v, &list, err);
    if (rc)
        return rc;
    a->shown = rlt_arena_array(&s->arena, list->n, sizeof *a->shown);
    if (!a->shown)
        return rlt_nomem(err);
    for (const rlt_json_tree *t = list->first; t; t = t->next)
        a->shown[a->n++] = t;
    return 0;
}

/* Assigns the values to the axis's places. If there are several places, value i is a list with one item for
 * each. */
static int spread_values(rlt_sweep_study *s, rlt_sweep_axis *a, bool zipped, rlt_error *err)
{
    if (!zipped)
        return 0;
    a->values = rlt_arena_array(&s->arena, (size_t)a->n * a->n_places, sizeof *a->values);
    if (!a->values)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < a->n; i++) {
        const rlt_json_tree *v = a->shown ? a->shown[i] : NULL;
        if (!v)
            return rlt_json_fail(a->range.at, RLT_ESCHEMA, err,
                                 "a range needs one pointer; for several, \"values\" is a list of lists");
        if (v->kind != RLT_TREE_ARRAY || v->n != a->n_places)
            return rlt_json_fail(v->at, RLT_ESCHEMA, err,
                                 "expected a list of %u values, one for each pointer", a->n_places);
        const rlt_json_tree *c = v->first;
        for (uint32_t k = 0; k < a->n_places; k++, c = c->next)
            a->values[i * a->n_places + k] = c;
    }
    return 0;
}

static int check_places(const rlt_sweep_study *s, rlt_json at, rlt_error *err)
{
    const rlt_sweep_axis *a = &s->axes[s->n_axes - 1];
    for (uint32_t i = 0; i < a->n_places; i++)
        for (uint32_t b = 0; b < s->n_axes; b++) {
            const rlt_sweep_axis *other = &s->axes[b];
            for (uint32_t k = 0; k < (other == a ? i : other->n_places); k++)
                if (rlt_tree_overlap(&a->places[i].place, &other->places[k].place))
                    return rlt_json_fail(at, RLT_ESCHEMA, err,
                                         "'%s' changes the same value as '%s' of axis '%s'",
                                         a->places[i].pointer, other->places[k].pointer, other->name);
        }
    return 0;
}

static int read_axis(rlt_sweep_study *s, rlt_json v, rlt_error *err)
{
    static const char *const keys[] = {"name", "pointer", "pointers", "values", "range", NULL};
    if (s->n_axes == RLT_SWEEP_AXES)
        return rlt_json_fail(v, RLT_ERANGE, err, "more than %d axes", RLT_SWEEP_AXES);
    rlt_sweep_axis *a = &s->axes[s->n_axes++];
    rlt_json values = rlt_json_get(v, "values"), range = rlt_json_get(v, "range");
    int rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    if (rc || (rc = rlt_json_get_string(v, "name", false, &a->name, err)) ||
        (rc = read_pointers(s, a, v, err)))
        return rc;
    if (a->name && !*a->name)
        return rlt_json_fail(rlt_json_get(v, "name"), RLT_ESCHEMA, err, "expected a name");
    if (!a->name)
        a->name = strrchr(a->places[0].pointer, '/') + 1;
    for (uint32_t i = 0; i + 1 < s->n_axes; i++)
        if (strcmp(s->axes[i].name, a->name) == 0)
            return rlt_json_fail(v, RLT_ESCHEMA, err, "another axis is called '%s': give it a name", a->name);
    if (rlt_json_is(values) == rlt_json_is(range))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected either values or range");
    if (rlt_json_is_string(values))
        return (rc = rlt__sweep_derive(s, a, values, err)) ? rc : check_places(s, v, err);
    rc = rlt_json_is(values) ? read_values(s, a, values, err) : rlt__sweep_range(s, range, a, err);
    if (!rc)
        rc = spread_values(s, a, rlt_json_is(rlt_json_get(v, "pointers")), err);
    return rc ? rc : check_places(s, v, err);
}

int rlt__sweep_axes(rlt_sweep_study *s, rlt_json list, rlt_error *err)
{
    int rc = 0;
    if (rlt_json_is(list) && !rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of axes");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_axis(s, v, err);
    return rc;
}

/* Finds the index of a value; *i is the number of values if it is unknown. */
static int find_value(const rlt_sweep_axis *a, const rlt_json_tree *v, uint32_t *i, rlt_error *err)
{
    bool found = false;
    int rc = 0;
    for (*i = 0; *i < a->n && !rc && !found; *i += !found) {
        rlt_arena own = {0};
        const rlt_json_tree *value;
        rc = rlt_sweep_axis_value(a, *i, &own, &value, err);
        found = !rc && rlt_tree_same(value, v);
        rlt_arena_free(&own);
    }
    return rc;
}

/* Reports an unknown value with the first values of the axis, as the study spells them. */
static int no_value(const rlt_sweep_axis *a, const rlt_json_tree *v, rlt_error *err)
{
    char *known = NULL;
    size_t length;
    rlt_arena own = {0};
    FILE *f = rlt_text_stream(&known, &length);
    int rc = f ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < a->n && i < LISTED && !rc; i++) {
        const rlt_json_tree *value;
        if (!(rc = rlt_sweep_axis_value(a, i, &own, &value, err))) {
            fputs(i ? ", " : "", f);
            rlt_tree_write(value, NULL, f);
        }
    }
    if (f && fclose(f) && !rc)
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_json_fail(v->at, RLT_ESCHEMA, err, "axis '%s' has no such value; it has %s%s", a->name,
                           known, a->n > LISTED ? ", ..." : "");
    rlt_arena_free(&own);
    free(known);
    return rc;
}

static int read_term(rlt_sweep_study *s, rlt_sweep_term *term, const rlt_json_tree *v, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(v->key);
    for (term->axis = 0; term->axis < s->n_axes && strcmp(s->axes[term->axis].name, v->key) != 0;
         term->axis++)
        rlt_nearest_try(&near, s->axes[term->axis].name);
    if (term->axis == s->n_axes)
        return rlt_json_fail(v->at, RLT_ESCHEMA, err, "no axis of that name%s%s%s",
                             near.best ? "; did you mean '" : "", near.best ? near.best : "",
                             near.best ? "'?" : "");
    const rlt_sweep_axis *a = &s->axes[term->axis];
    if (!(term->holds = rlt_arena_array(&s->arena, a->n, sizeof *term->holds)))
        return rlt_nomem(err);
    uint32_t i;
    int rc = find_value(a, v, &i, err);
    if (rc)
        return rc;
    if (i < a->n) {
        term->holds[i] = true;
        return 0;
    }
    for (const rlt_json_tree *c = v->kind == RLT_TREE_ARRAY ? v->first : v; c; c = c == v ? NULL : c->next) {
        if ((rc = find_value(a, c, &i, err)))
            return rc;
        if (i == a->n)
            return no_value(a, c, err);
        term->holds[i] = true;
    }
    return 0;
}

static int read_rule(rlt_sweep_study *s, rlt_json v, rlt_sweep_rule *rule, rlt_error *err)
{
    static const char *const keys[] = {"unless", "only", NULL};
    rlt_json unless = rlt_json_get(v, "unless"), only = rlt_json_get(v, "only");
    rlt_json_tree *terms = NULL;
    int rc = rlt_json_is_object(v) ? rlt_json_only(v, keys, err)
                                   : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    if (rc)
        return rc;
    rule->only = rlt_json_is(only);
    if (rlt_json_is(unless) == rule->only || !rlt_json_is_object(rule->only ? only : unless))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected {\"unless\": {axis: value, ...}} or \"only\"");
    if ((rc = rlt_tree_make(&s->arena, rule->only ? only : unless, &terms, err)))
        return rc;
    rule->terms = rlt_arena_array(&s->arena, terms->n + 1, sizeof *rule->terms);
    if (!rule->terms)
        return rlt_nomem(err);
    for (const rlt_json_tree *t = terms->first; t && !rc; t = t->next)
        rc = read_term(s, &rule->terms[rule->n++], t, err);
    return rc;
}

int rlt__sweep_filters(rlt_sweep_study *s, rlt_json list, rlt_error *err)
{
    int rc = 0;
    if (rlt_json_is(list) && !rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of rules");
    s->rules = rlt_arena_array(&s->arena, rlt_json_count(list) + 1, sizeof *s->rules);
    if (!s->rules)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_rule(s, v, &s->rules[s->n_rules++], err);
    return rc;
}
