/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rescaling: numbers the new ranks, then copies the operations rank by rank, with groups as they need
 * them. */
#include "workload/program/rescale.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

/* A group that grew, and where its members come from. */
typedef struct grown {
    uint32_t group, n; /* index and size in the new program */
    /* by new member: old member, number of its copy; by old member: copies taken */
    uint32_t *old, *copy, *take;
} grown;

/* Place of a rank: its rescaled group and its member index there. */
typedef struct place {
    uint32_t group, member;
} place;

typedef struct scaling {
    const rlt_program *p;
    const char *name;
    uint32_t before, after; /* members per rescaled group */
    uint32_t n_groups;      /* groups that are rescaled */
    place *places;          /* by old rank */
    uint32_t *first_rank;   /* of each rescaled group, in the old program */
    uint32_t *to;           /* new rank, by group * after + member */
    uint32_t *of_group;     /* by old group: index among the rescaled groups, or RLT_NONE */
    uint8_t *collective;    /* by old group: true if it has collectives */
    rlt_builder *b;
    rlt_map groups;     /* old group << 32 | member -> new group, for groups copied once per place */
    uint32_t *grown_at; /* by old group: index into `grown`, or RLT_NONE */
    grown *grown;
    uint32_t n_grown, grown_capacity;
    uint32_t *names; /* by old operation: its string in the new program, RLT_NONE until looked up */
    rlt_error *err;
} scaling;

static uint32_t size_of(const rlt_program *p, uint32_t g)
{
    return p->group_first[g + 1] - p->group_first[g];
}

static const char *label_of(const scaling *s, uint32_t g)
{
    return rlt_program_string(s->p, s->p->group_names[g]);
}

/* Returns the label of a group, for messages. */
static const char *shown(const scaling *s, uint32_t g)
{
    return label_of(s, g)[0] ? label_of(s, g) : "(unnamed)";
}

static bool begins_with(const char *label, const char *name)
{
    size_t n = strlen(name);
    return strncmp(label, name, n) == 0 && !isalnum((unsigned char)label[n]);
}

static bool is_meant(const scaling *s, uint32_t g)
{
    const char *label = label_of(s, g);
    if (s->name[0] == '@')
        return size_of(s->p, g) == strtoul(s->name + 1, NULL, 10);
    return begins_with(label, s->name) ||
           (strncmp(label, "group ", 6) == 0 && begins_with(label + 6, s->name));
}

static int fail_none(const scaling *s)
{
    char list[256] = "";
    for (uint32_t g = 0; g < s->p->n_groups; g++) {
        char text[96];
        if (!s->collective[g])
            continue;
        snprintf(text, sizeof text, "%.60s (@%" PRIu32 ")", shown(s, g), size_of(s->p, g));
        rlt_list_name(list, sizeof list, text);
    }
    return rlt_fail(s->err, RLT_EUSAGE, NULL, "no group '%s'; known are: %s", s->name,
                    list[0] ? list : "none");
}

/* Finds the groups to rescale and the place of every rank. */
static int find_places(scaling *s)
{
    const rlt_program *p = s->p;
    for (uint32_t c = 0; c < p->n_comms; c++)
        s->collective[p->comms[c].group] |= p->comms[c].kind != RLT_SEND_RECV;
    for (uint32_t r = 0; r < p->n_ranks; r++)
        s->places[r].group = RLT_NONE;
    for (uint32_t g = 0; g < p->n_groups; g++) {
        s->of_group[g] = RLT_NONE;
        if (!s->collective[g] || !is_meant(s, g))
            continue;
        if (s->n_groups && size_of(p, g) != s->before)
            return rlt_fail(s->err, RLT_EUSAGE, NULL,
                            "groups '%s' have %" PRIu32 " and %" PRIu32
                            " members: expected groups of equal size",
                            s->name, s->before, size_of(p, g));
        s->before = size_of(p, g);
        s->of_group[g] = s->n_groups;
        s->first_rank[s->n_groups] = p->group_ranks[p->group_first[g]];
        for (uint32_t i = 0; i < s->before; i++) {
            place *at = &s->places[p->group_ranks[p->group_first[g] + i]];
            if (at->group != RLT_NONE)
                return rlt_fail(s->err, RLT_EUSAGE, NULL,
                                "rank %" PRIu32 " is in several groups '%s': name the groups to rescale",
                                p->group_ranks[p->group_first[g] + i], s->name);
            *at = (place){.group = s->n_groups, .member = i};
        }
        s->n_groups++;
    }
    if (!s->n_groups)
        return fail_none(s);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        if (s->places[r].group == RLT_NONE)
            return rlt_fail(s->err, RLT_EUSAGE, NULL,
                            "rank %" PRIu32 " is in no group '%s': expected every rank in one of them", r,
                            s->name);
    if (s->before < 2)
        return rlt_fail(
            s->err, RLT_EUSAGE, NULL,
            "groups '%s' have one member: expected at least two, because the group's communication cannot be "
            "told from the rank's work",
            s->name);
    return 0;
}

/* Returns the distance between members if it is the same in all rescaled groups; else 0. */
static uint32_t distance(const scaling *s)
{
    const rlt_program *p = s->p;
    uint32_t d = 0;
    for (uint32_t g = 0; g < p->n_groups; g++) {
        const uint32_t *ranks = p->group_ranks + p->group_first[g];
        if (s->of_group[g] == RLT_NONE)
            continue;
        d = d ? d : ranks[1] - ranks[0];
        if (ranks[1] <= ranks[0] || p->n_ranks % ((uint64_t)d * s->before) ||
            ranks[0] % ((uint64_t)d * s->before) >= d)
            return 0;
        for (uint32_t i = 1; i < s->before; i++)
            if (ranks[i] - ranks[i - 1] != d || ranks[i] < ranks[i - 1])
                return 0;
    }
    return d;
}

static void number_ranks(scaling *s)
{
    uint32_t d = distance(s), next = 0;
    for (uint32_t g = 0; g < s->n_groups && d; g++)
        for (uint32_t j = 0; j < s->after; j++)
            s->to[(size_t)g * s->after + j] =
                s->first_rank[g] / (d * s->before) * (d * s->after) + j * d + s->first_rank[g] % d;
    for (uint32_t base = 0; base < s->after && !d; base += s->before)
        for (uint32_t r = 0; r < s->p->n_ranks; r++)
            if (base + s->places[r].member < s->after)
                s->to[(size_t)s->places[r].group * s->after + base + s->places[r].member] = next++;
}

static uint32_t new_rank(const scaling *s, uint32_t old, uint32_t member)
{
    return s->to[(size_t)s->places[old].group * s->after + member];
}

/* Finds how a group lies. *one_place: all its ranks have one member index. *all: it has every member of the
 * rescaled groups that it touches. */
static int lie_of(const scaling *s, uint32_t g, bool *one_place, bool *all)
{
    const uint32_t *ranks = s->p->group_ranks + s->p->group_first[g];
    uint32_t n = size_of(s->p, g), touched = 0;
    uint8_t *seen = calloc(s->n_groups, 1);
    if (!seen)
        return rlt_nomem(s->err);
    *one_place = true;
    for (uint32_t i = 0; i < n; i++) {
        *one_place = *one_place && s->places[ranks[i]].member == s->places[ranks[0]].member;
        touched += !seen[s->places[ranks[i]].group];
        seen[s->places[ranks[i]].group] = 1;
    }
    *all = (uint64_t)touched * s->before == n;
    free(seen);
    return 0;
}

typedef struct newcomer {
    uint32_t rank, old, copy;
} newcomer;

static int by_rank(const void *a, const void *b)
{
    const newcomer *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Lists the new members copy after copy, in the old order. Sorts them if the old ones ascended. Returns how
 * many. */
static uint32_t list_members(const scaling *s, uint32_t g, newcomer *list, uint32_t *take)
{
    const uint32_t *ranks = s->p->group_ranks + s->p->group_first[g];
    uint32_t n = size_of(s->p, g), k = 0;
    bool ascending = true;
    for (uint32_t base = 0; base < s->after; base += s->before)
        for (uint32_t i = 0; i < n; i++)
            if (base + s->places[ranks[i]].member < s->after)
                list[k++] =
                    (newcomer){new_rank(s, ranks[i], base + s->places[ranks[i]].member), i, take[i]++};
    for (uint32_t i = 1; i < n; i++)
        ascending = ascending && ranks[i - 1] < ranks[i];
    if (ascending)
        qsort(list, k, sizeof *list, by_rank);
    return k;
}

static int grow_group(scaling *s, uint32_t g)
{
    uint32_t n = size_of(s->p, g), most = (uint32_t)((uint64_t)n / s->before * s->after), *ranks;
    int rc = rlt_grow(&s->grown, &s->grown_capacity, sizeof *s->grown, (uint64_t)s->n_grown + 1, RLT_MAX_OPS,
                      "groups", s->err);
    if (rc)
        return rc;
    grown *w = &s->grown[s->n_grown];
    newcomer *list = malloc((size_t)most * sizeof *list);
    ranks = malloc((size_t)most * sizeof *ranks);
    *w = (grown){.old = malloc((size_t)most * sizeof *w->old),
                 .copy = malloc((size_t)most * sizeof *w->copy),
                 .take = calloc(n, sizeof *w->take)};
    s->n_grown++; /* owned from here on */
    if (!list || !ranks || !w->old || !w->copy || !w->take) {
        rc = rlt_nomem(s->err);
        goto out;
    }
    w->n = list_members(s, g, list, w->take);
    for (uint32_t i = 0; i < w->n; i++) {
        ranks[i] = list[i].rank;
        w->old[i] = list[i].old;
        w->copy[i] = list[i].copy;
    }
    w->group = rlt_build_group(s->b, label_of(s, g), ranks, w->n);
    s->grown_at[g] = s->n_grown - 1;
out:
    free(list);
    free(ranks);
    return rc;
}

/* Returns in *group the copy of a group for one place. */
static int clone_group(scaling *s, uint32_t g, uint32_t member, uint32_t *group)
{
    const uint32_t *old = s->p->group_ranks + s->p->group_first[g];
    uint64_t key = (uint64_t)g << 32 | member;
    uint32_t n = size_of(s->p, g), *ranks;
    char label[512] = "";
    *group = rlt_map_get(&s->groups, key);
    if (*group != RLT_NONE)
        return 0;
    ranks = malloc(n * sizeof *ranks);
    if (!ranks)
        return rlt_nomem(s->err);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = new_rank(s, old[i], member);
    if (member < s->before)
        snprintf(label, sizeof label, "%.400s", label_of(s, g));
    else if (label_of(s, g)[0])
        snprintf(label, sizeof label, "%.400s / %.60s %" PRIu32, label_of(s, g), s->name, member);
    *group = rlt_build_group(s->b, label, ranks, n);
    free(ranks);
    return *group == RLT_NONE || rlt_map_put(&s->groups, key, *group) == 0 ? 0 : rlt_nomem(s->err);
}

static int resolve_group(scaling *s, uint32_t g, uint32_t member, uint32_t *group, const grown **w)
{
    bool one_place = false, all = false;
    int rc = 0;
    *w = NULL;
    if (s->grown_at[g] == RLT_NONE && rlt_map_get(&s->groups, (uint64_t)g << 32 | member) == RLT_NONE) {
        rc = lie_of(s, g, &one_place, &all);
        if (!rc && !one_place && !all)
            rc = rlt_fail(
                s->err, RLT_EUNSUPPORTED, NULL,
                "group '%.80s' has only some members of groups '%s': the size of this group at another "
                "scale is undefined",
                shown(s, g), s->name);
        if (!rc && !one_place)
            rc = grow_group(s, g);
    }
    if (!rc && s->grown_at[g] != RLT_NONE) {
        *w = &s->grown[s->grown_at[g]];
        *group = (*w)->group;
        return 0;
    }
    return rc ? rc : clone_group(s, g, member, group);
}

/* Returns the part of `bytes` for one of the copies of a member; the first copies take the remainder. */
static uint64_t part(uint64_t bytes, const grown *w, uint32_t member)
{
    uint32_t copies = w->take[w->old[member]];
    return bytes / copies + (w->copy[member] < bytes % copies);
}

/* Divides the counts of a v-collective: gives the row of the new all-to-all, or the share of a gather. */
static int divide_counts(scaling *s, const rlt_op *op, const rlt_comm *c, const grown *w, uint32_t rank,
                         uint64_t *row, rlt_op_desc *d)
{
    uint32_t n = size_of(s->p, c->group), me = 0;
    const uint32_t *ranks = s->p->group_ranks + s->p->group_first[c->group];
    if (c->kind == RLT_ALL_TO_ALL) {
        for (uint32_t m = 0; m < w->n; m++)
            row[m] = part(c->counts[(size_t)op->member * n + w->old[m]], w, m);
        d->send_counts = row;
        return 0;
    }
    while (new_rank(s, ranks[w->old[me]], s->places[ranks[w->old[me]]].member + w->copy[me] * s->before) !=
           rank)
        me++;
    d->bytes = part(c->counts[op->member], w, me);
    if (d->bytes > INT64_MAX / w->n)
        return rlt_fail(s->err, RLT_ERANGE, NULL, "the shares sum to more than 2^63 bytes");
    d->bytes *= w->n;
    return 0;
}

static int collective(scaling *s, const rlt_op *op, uint32_t member, uint64_t *row, rlt_op_desc *d)
{
    const rlt_comm *c = &s->p->comms[op->comm];
    const grown *w;
    int rc = resolve_group(s, c->group, member, &d->group, &w);
    d->coll = c->kind;
    d->root = c->root;
    d->bytes = c->bytes;
    if (rc || !w) {
        uint32_t n = size_of(s->p, c->group);
        d->send_counts = c->counts && c->kind == RLT_ALL_TO_ALL ? c->counts + (size_t)op->member * n : NULL;
        if (!rc && c->counts && c->kind != RLT_ALL_TO_ALL)
            d->bytes = c->counts[op->member] * n;
        return rc;
    }
    if (rlt_coll_rooted(c->kind)) {
        d->root = 0;
        while (d->root < w->n && (w->old[d->root] != c->root || w->copy[d->root] != 0))
            d->root++;
        if (d->root == w->n)
            return rlt_fail(s->err, RLT_EUNSUPPORTED, NULL,
                            "the root of a %s in group '%.80s' is not among the %" PRIu32
                            " remaining members",
                            rlt_coll_name(c->kind), shown(s, c->group), s->after);
    }
    return c->counts ? divide_counts(s, op, c, w, d->rank, row, d) : 0;
}

static int message(scaling *s, const rlt_op *op, uint32_t member, rlt_op_desc *d)
{
    const rlt_program *p = s->p;
    if (op->comm == RLT_NONE)
        return rlt_fail(s->err, RLT_EUNSUPPORTED, NULL,
                        "rank %" PRIu32 ": operation '%.100s' has no matching send or receive", op->rank,
                        rlt_program_string(p, op->name));
    const rlt_comm *c = &p->comms[op->comm];
    uint32_t peer = p->group_ranks[p->group_first[c->group] + 1 - op->member];
    if (s->places[peer].member != s->places[op->rank].member)
        return rlt_fail(
            s->err, RLT_EUNSUPPORTED, NULL,
            "rank %" PRIu32
            ": operation '%.100s' is a message between members of groups '%s': its size at another scale is "
            "undefined",
            op->rank, rlt_program_string(p, op->name), s->name);
    d->peer = new_rank(s, peer, member);
    d->tag = op->comm; /* matches the same way as the old tag */
    d->bytes = c->bytes;
    return 0;
}

static uint32_t new_name(scaling *s, uint32_t index)
{
    const rlt_op *op = &s->p->ops[index];
    if (op->name != RLT_NONE && s->names[index] == RLT_NONE) {
        const char *text = rlt_program_string(s->p, op->name);
        s->names[index] = rlt_build_string(s->b, text, strlen(text));
    }
    return s->names[index];
}

static int copy_op(scaling *s, uint32_t index, uint32_t rank, uint32_t member, uint64_t *row, uint32_t *built)
{
    const rlt_program *p = s->p;
    const rlt_op *op = &p->ops[index];
    rlt_op_desc d = rlt_op_desc_init((rlt_op_kind)op->kind, rank);
    int rc = 0;
    d.name = new_name(s, index);
    d.duration_ps = op->duration_ps;
    d.recorded_ps = op->recorded_ps;
    d.recorded_duration_ps = op->recorded_duration_ps;
    d.step = op->step;
    d.purpose = (rlt_purpose)op->purpose;
    if (op->resource != RLT_NONE) {
        const rlt_resource *r = &p->resources[op->resource];
        d.resource = rlt_build_resource(s->b, rank, r->kind, rlt_program_string(p, r->name));
    }
    if (op->kind == RLT_OP_COLLECTIVE)
        rc = collective(s, op, member, row, &d);
    else if (op->kind >= RLT_OP_SEND)
        rc = message(s, op, member, &d);
    d.timed = op->kind >= RLT_OP_COLLECTIVE && !rc && p->comms[op->comm].timed;
    if (!rc)
        *built = rlt_build_op(s->b, &d);
    return rc;
}

static int copy_rank(scaling *s, uint32_t old, uint32_t rank, uint32_t member, uint64_t *row)
{
    const rlt_program *p = s->p;
    uint32_t first = p->rank_first[old], base = 0;
    int rc = 0;
    for (uint32_t i = first; i < p->rank_first[old + 1] && !rc && !rlt_build_failed(s->b); i++) {
        uint32_t op = RLT_NONE;
        rc = copy_op(s, i, rank, member, row, &op);
        base = i == first ? op : base;
    }
    for (uint32_t i = first; i < p->rank_first[old + 1] && !rc && !rlt_build_failed(s->b); i++)
        for (uint32_t d = 0; d < p->ops[i].n_deps; d++)
            rlt_build_dep(s->b, base + (i - first), base + (p->deps[p->ops[i].first_dep + d] - first));
    rlt_build_rank_start(s->b, rank, p->rank_start_ps[old]);
    return rc;
}

static int copy_ranks(scaling *s, uint32_t n_ranks)
{
    uint32_t *old = malloc(n_ranks * sizeof *old), *member = malloc(n_ranks * sizeof *member);
    uint64_t *row = malloc(n_ranks * sizeof *row);
    int rc = old && member && row ? 0 : rlt_nomem(s->err);
    for (uint32_t r = 0; r < s->p->n_ranks && !rc; r++)
        for (uint32_t j = s->places[r].member; j < s->after; j += s->before) {
            old[new_rank(s, r, j)] = r;
            member[new_rank(s, r, j)] = j;
        }
    for (uint32_t r = 0; r < n_ranks && !rc && !rlt_build_failed(s->b); r++)
        rc = copy_rank(s, old[r], r, member[r], row);
    free(old);
    free(member);
    free(row);
    return rc;
}

static int build(scaling *s, rlt_program **out)
{
    const rlt_program *p = s->p;
    uint64_t n = (uint64_t)s->n_groups * s->after;
    rlt_error own = {0};
    s->to = malloc(n * sizeof *s->to);
    int rc = s->to ? rlt_builder_create((uint32_t)n, &s->b, s->err) : rlt_nomem(s->err);
    if (rc)
        return rc;
    number_ranks(s);
    rc = copy_ranks(s, (uint32_t)n);
    for (uint32_t i = 0; i < p->n_notes; i++)
        rlt_build_note(s->b, p->notes[i].count, "%s", p->notes[i].text);
    rlt_build_note(s->b, n,
                   "rank after rescaling groups '%.60s' from %" PRIu32 " to %" PRIu32
                   " members: member k repeats the "
                   "work of member k mod %" PRIu32 "; collectives keep their bytes",
                   s->name, s->before, s->after, s->before);
    rlt_build_hash(s->b, p->hash);
    rlt_build_layers(s->b, p->n_layers);
    rlt_build_hash(s->b, rlt_hash_bytes(s->name, strlen(s->name), s->after));
    if (rc) {
        rlt_builder_free(s->b);
        return rc;
    }
    rc = rlt_builder_finish(s->b, p->reader, out, &own);
    if (rc)
        rlt_fail(s->err, rc, own.where, "%s", own.what);
    return rc;
}

int rlt_program_rescale(const rlt_program *p, const char *group, uint32_t members, rlt_program **out,
                        rlt_error *err)
{
    scaling s = {.p = p, .name = group, .after = members, .err = err};
    *out = NULL;
    s.places = malloc(p->n_ranks * sizeof *s.places);
    s.first_rank = malloc(((size_t)p->n_groups + 1) * sizeof *s.first_rank);
    s.of_group = malloc(((size_t)p->n_groups + 1) * sizeof *s.of_group);
    s.grown_at = malloc(((size_t)p->n_groups + 1) * sizeof *s.grown_at);
    s.collective = calloc((size_t)p->n_groups + 1, 1);
    s.names = malloc(((size_t)p->n_ops + 1) * sizeof *s.names);
    int rc = 0;
    if (!s.places || !s.first_rank || !s.of_group || !s.grown_at || !s.collective || !s.names)
        rc = rlt_nomem(err);
    for (uint32_t g = 0; g < p->n_groups && !rc; g++)
        s.grown_at[g] = RLT_NONE;
    for (uint32_t i = 0; i < p->n_ops && !rc; i++)
        s.names[i] = RLT_NONE;
    if (!rc && members < 2)
        rc = rlt_fail(err, RLT_EUSAGE, NULL, "expected two or more members, got %" PRIu32, members);
    if (!rc)
        rc = find_places(&s);
    if (!rc && (uint64_t)s.n_groups * members > RLT_MAX_RANKS)
        rc = rlt_fail(err, RLT_ERANGE, NULL, "%" PRIu32 " groups of %" PRIu32 " members exceed %d ranks",
                      s.n_groups, members, RLT_MAX_RANKS);
    if (!rc)
        rc = build(&s, out);
    for (uint32_t i = 0; i < s.n_grown; i++) {
        free(s.grown[i].old);
        free(s.grown[i].copy);
        free(s.grown[i].take);
    }
    free(s.grown);
    free(s.places);
    free(s.first_rank);
    free(s.of_group);
    free(s.grown_at);
    free(s.collective);
    free(s.names);
    free(s.to);
    rlt_map_free(&s.groups);
    return rc;
}
