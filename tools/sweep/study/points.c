/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of a study, computed from their numbers. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/study.h"

enum { ROUNDS = 6, PURPOSE = 0x53574550 };

uint64_t rlt_sweep_end(const rlt_sweep_study *s)
{
    return (s->draws + s->n_named) * s->replicas;
}

/* Permutes place k. A Feistel network permutes the next even power of two; results outside the grid are
 * permuted again until one is inside. */
uint64_t rlt_sweep_permute(const rlt_sweep_study *s, uint64_t k)
{
    uint32_t half = 1;
    while (half < 31 && s->grid > UINT64_C(1) << 2 * half)
        half++;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = k >> half, right = k & mask;
        for (uint32_t i = 0; i < ROUNDS; i++) {
            uint64_t next = left ^ (rlt_random_u64(s->sample_seed, i, PURPOSE, right) & mask);
            left = right;
            right = next;
        }
        k = left << half | right;
    } while (k >= s->grid);
    return k;
}

uint64_t rlt_sweep_place_at(const rlt_sweep_study *s, const uint32_t at[RLT_SWEEP_AXES])
{
    uint64_t place = 0;
    for (uint32_t a = 0; a < s->n_axes; a++)
        if (!s->axes[a].from)
            place = place * s->axes[a].n + at[a];
    return place;
}

/* Returns true if the filters keep these coordinates. */
static bool pass_filters(const rlt_sweep_study *s, const uint32_t at[RLT_SWEEP_AXES])
{
    for (uint32_t i = 0; i < s->n_rules; i++) {
        const rlt_sweep_rule *r = &s->rules[i];
        bool all = true;
        for (uint32_t k = 0; k < r->n && all; k++)
            all = r->terms[k].holds[at[r->terms[k].axis]];
        if (all != r->only)
            return false;
    }
    return true;
}

int rlt__sweep_judge(const rlt_sweep_study *s, uint64_t place, uint32_t at[RLT_SWEEP_AXES], uint32_t *reason,
                     rlt_error *err)
{
    bool holds = true;
    int rc = 0;
    *reason = RLT_NONE;
    for (uint32_t a = s->n_axes; a-- > 0;)
        if (!s->axes[a].from) {
            at[a] = (uint32_t)(place % s->axes[a].n);
            place /= s->axes[a].n;
        }
    for (uint32_t a = 0; a < s->n_axes && *reason == RLT_NONE; a++)
        if (s->axes[a].from && (at[a] = rlt__sweep_derived(s, &s->axes[a], at)) == RLT_NONE)
            *reason = s->axes[a].uneven;
    if (*reason == RLT_NONE && !pass_filters(s, at))
        *reason = RLT_SWEEP_FILTERED;
    for (uint32_t i = 0; i < s->n_conditions && !rc && *reason == RLT_NONE; i++)
        if ((rc = rlt__sweep_meets(&s->conditions[i], at, &holds, err)) || !holds)
            *reason = s->conditions[i].reason;
    if (*reason == RLT_NONE && s->test)
        *reason = s->test(s->test_ctx, s, at);
    return rc;
}

/* A rule that cannot be evaluated was reported when the points were counted. A sample of a huge grid may meet
 * it later: the place is then dropped. */
bool rlt_sweep_keeps(const rlt_sweep_study *s, uint64_t place, uint32_t at[RLT_SWEEP_AXES])
{
    uint32_t reason;
    return rlt__sweep_judge(s, place, at, &reason, NULL) == 0 && reason == RLT_NONE;
}

bool rlt_sweep_point_at(const rlt_sweep_study *s, uint64_t id, rlt_sweep_point *out)
{
    uint64_t draw = id / s->replicas;
    *out = (rlt_sweep_point){.id = id, .replica = (uint32_t)(id % s->replicas), .named = RLT_NONE};
    if (draw >= s->draws) {
        out->named = (uint32_t)(draw - s->draws);
        return true;
    }
    out->place = s->sample == RLT_SWEEP_ADAPTIVE ? s->chosen[draw]
                 : s->sample == RLT_SWEEP_RANDOM ? rlt_sweep_permute(s, draw)
                                                 : draw;
    return rlt_sweep_keeps(s, out->place, out->at);
}

int rlt_sweep_shard(const char *text, uint32_t *shard, uint32_t *shards, rlt_error *err)
{
    char first[24];
    const char *slash = text ? strchr(text, '/') : NULL;
    uint64_t i, n;
    *shard = 0;
    *shards = 1;
    if (!text)
        return 0;
    snprintf(first, sizeof first, "%.*s", slash ? (int)(slash - text) : 0, text);
    if (!slash || rlt_parse_count(first, &i, NULL, NULL) || rlt_parse_count(slash + 1, &n, NULL, NULL) ||
        i < 1 || i > n || n > RLT_SWEEP_POINTS)
        return rlt_fail(err, RLT_EUSAGE, "--shard", "expected I/N with I from 1 to N, got '%s'", text);
    *shard = (uint32_t)(i - 1);
    *shards = (uint32_t)n;
    return 0;
}

uint64_t rlt_sweep_share(const rlt_sweep_study *s, uint32_t shard, uint32_t shards)
{
    rlt_sweep_point p;
    uint64_t n = 0;
    if (shards <= 1)
        return s->points;
    for (uint64_t id = shard; id < rlt_sweep_end(s); id += shards)
        n += rlt_sweep_point_at(s, id, &p);
    return n;
}

typedef struct edit_list {
    rlt_tree_edit items[RLT_SWEEP_AXES * 4];
    const rlt_sweep_place *places[RLT_SWEEP_AXES * 4];
    uint32_t n;
} edit_list;

static int add_edits(edit_list *l, const rlt_sweep_place *places, const rlt_json_tree *const *values,
                     uint32_t n, rlt_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        if (l->n == sizeof l->items / sizeof *l->items)
            return rlt_fail(err, RLT_ERANGE, "study", "a point changes more than %u values", l->n);
        l->places[l->n] = &places[i];
        l->items[l->n++] = (rlt_tree_edit){places[i].place, values[i]};
    }
    return 0;
}

static int edits_of(const rlt_sweep_study *s, const rlt_sweep_point *p, rlt_arena *arena, edit_list *l,
                    rlt_error *err)
{
    int rc = 0;
    if (p->named != RLT_NONE) {
        const rlt_sweep_named *n = &s->named[p->named];
        return add_edits(l, n->places, n->values, n->n, err);
    }
    for (uint32_t a = 0; a < s->n_axes && !rc; a++) {
        const rlt_sweep_axis *x = &s->axes[a];
        const rlt_json_tree *one, *const *values = &one;
        if (x->values)
            values = &x->values[(size_t)p->at[a] * x->n_places];
        else
            rc = rlt_sweep_axis_value(x, p->at[a], arena, &one, err);
        if (!rc)
            rc = add_edits(l, x->places, values, x->n_places, err);
    }
    return rc;
}

static const rlt_json_tree *edited_member(const edit_list *l, const rlt_json_tree *node)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].place.target == node)
            return l->items[i].value->kind == RLT_TREE_NULL ? NULL : l->items[i].value;
    return node;
}

static int append(rlt_option_texts *out, const rlt_option_text *t, rlt_error *err)
{
    int rc = rlt_grow(&out->items, &out->capacity, sizeof *out->items, (uint64_t)out->n + 1, 1 << 16,
                      "options", err);
    if (!rc)
        out->items[out->n++] = *t;
    return rc;
}

static void sort_texts(rlt_option_texts *t)
{
    for (uint32_t i = 1; i < t->n; i++) {
        rlt_option_text x = t->items[i];
        uint32_t k = i;
        for (; k && t->items[k - 1].option > x.option; k--)
            t->items[k] = t->items[k - 1];
        t->items[k] = x;
    }
}

/* Sets the seed of replica r: the seed in the options plus r. Replica 0 has the options of a study without
 * replicas, so that a study that gets replicas keeps what it has. */
static int set_seed(const rlt_sweep_study *s, uint32_t replica, rlt_arena *arena, rlt_option_texts *out,
                    rlt_error *err)
{
    rlt_option_text *text = NULL;
    uint64_t seed = 0;
    if (replica == 0)
        return 0;
    for (uint32_t i = 0; i < out->n; i++)
        if (out->items[i].option == s->seed_option)
            text = &out->items[i];
    const rlt_option *o = rlt_option_at(s->command->options, s->seed_option, NULL);
    int rc = rlt_parse_count(text ? text->text : o->preset ? o->preset : "0", &seed, "--seed", err);
    const char *made = rc ? NULL : rlt_arena_printf(arena, "%llu", (unsigned long long)(seed + replica));
    if (rc || !made)
        return rc ? rc : rlt_nomem(err);
    if (text) {
        text->text = made;
        return 0;
    }
    return append(out, &(rlt_option_text){s->seed_option, made}, err);
}

int rlt_sweep_options(const rlt_sweep_study *s, const rlt_sweep_point *p, rlt_arena *arena,
                      rlt_option_texts *out, rlt_error *err)
{
    const rlt_option_group *groups = s->command->options;
    edit_list l;
    l.n = 0;
    int rc = edits_of(s, p, arena, &l, err);
    rlt_tree_edits edits = {l.items, l.n};
    out->n = 0;
    for (uint32_t i = 0; i < s->n_members && !rc; i++) {
        const rlt_sweep_member *m = &s->members[i];
        const rlt_json_tree *v = m->touched ? edited_member(&l, m->node) : m->node;
        for (uint32_t k = 0; !m->touched && k < m->texts.n && !rc; k++)
            rc = append(out, &m->texts.items[k], err);
        if (m->touched && v && !rc)
            rc = rlt_tree_option(v, &edits, rlt_option_at(groups, m->option, NULL), m->option, arena, out,
                                 err);
    }
    for (uint32_t i = 0; i < l.n && !rc; i++) {
        const rlt_tree_place *at = &l.items[i].place;
        uint32_t option = l.places[i]->option;
        if (at->parent == s->base && !at->target && l.items[i].value->kind != RLT_TREE_NULL)
            rc = rlt_tree_option(l.items[i].value, &edits, rlt_option_at(groups, option, NULL), option, arena,
                                 out, err);
    }
    if (!rc)
        rc = set_seed(s, p->replica, arena, out, err);
    sort_texts(out);
    return rc;
}

void rlt_sweep_coordinates(const rlt_sweep_study *s, const rlt_sweep_point *p, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[used++] = '[';
    for (uint32_t a = 0; a < s->n_axes && used + 16 < size; a++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%d", a ? "," : "",
                                 p->named == RLT_NONE ? (int)p->at[a] : -1);
    snprintf(buffer + used, size - used, "]");
}

const char *rlt_sweep_named_text(const rlt_sweep_study *s, const rlt_sweep_point *p)
{
    return p->named == RLT_NONE ? NULL : s->named[p->named].text;
}
