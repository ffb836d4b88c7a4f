/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Durations of a timeline's operations without waiting.
 *
 * A rank does one thing after another: an operation begins when the one before it has ended and the host has
 * launched it. Sends and receives that begin at one instant were issued as one batch and run together.
 *
 * A communication ends for all members at once. A member's duration is its own wait plus the transfer, which
 * is the same for all. The transfer is therefore the shortest duration among the members (for a message, of
 * its two sides). This needs no common clock. Example: durations of 9, 4 and 6 ms mean a transfer of 4 ms and
 * waits of 5, 0 and 2 ms.
 *
 * The gap before an operation is host time and stays, except for waiting that the recording does not show.
 * (For example, the last stage averages its loss over the data-parallel ranks before the collectives of the
 * gradients.) All ranks of a stage do the same: if a gap is more than LONG_GAP_PS longer than the shortest
 * one at the same place among them, the excess counts as waiting and is cut.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/readers/timeline.h"

#define LONG_GAP_PS    (RLT_MS)
#define TOGETHER_PS    (RLT_US)
#define CLOCK_NOISE_PS RLT_US

static int by_place(const void *a, const void *b)
{
    const rlt_tl_op *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Drops marks without duration, such as gc, which only obscure which operations began together. */
static void drop_empty(rlt_job_timeline *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (rlt__tl_class(&t->ops[i]) == RLT_TL_COMPUTE && t->ops[i].duration_ps == 0)
            t->empty++;
        else
            t->ops[kept++] = t->ops[i];
    }
    t->n = kept;
}

static bool begins_step(const rlt_job_timeline *t, uint32_t i)
{
    return i == 0 || t->ops[i].rank != t->ops[i - 1].rank || t->ops[i].step != t->ops[i - 1].step;
}

/* Checks that every rank has operations in every step. */
static int check_present(const rlt_job_timeline *t, rlt_error *err)
{
    uint64_t present = 0;
    for (uint32_t i = 0; i < t->n; i++)
        present += begins_step(t, i);
    if (present == (uint64_t)t->ranks * t->n_steps)
        return 0;
    return rlt_fail(err, RLT_ESCHEMA, t->file,
                    "a rank has no operations in a step: expected %" PRIu32 " stages of %" PRIu32
                    " ranks in each of %" PRIu32 " steps",
                    t->pp, t->dp, t->n_steps);
}

static bool is_message(const rlt_tl_op *o)
{
    return rlt__tl_class(o) == RLT_TL_SEND || rlt__tl_class(o) == RLT_TL_RECV;
}

/* Checks that operations overlap only a little: starts and ends of a rank may come from slightly different
 * clocks. */
static int check_overlap(const rlt_job_timeline *t, const rlt_tl_op *before, const rlt_tl_op *o, rlt_time end,
                         rlt_error *err)
{
    rlt_time shorter = o->duration_ps < before->duration_ps ? o->duration_ps : before->duration_ps;
    if (end - o->start_ps <= shorter / 2 + CLOCK_NOISE_PS)
        return 0;
    return rlt__timeline_fail(
        t, o, RLT_EUNSUPPORTED, err,
        "%s overlaps %s (line %" PRIu32
        "): overlapping operations of a rank are not supported, except a batch of messages",
        rlt_interned(&t->names, o->type), rlt_interned(&t->names, before->type), before->line);
}

/* Finds batches and gaps. The first operation of a step keeps its distance from the start of the step, the
 * earliest of any rank. */
static int order(rlt_job_timeline *t, rlt_error *err)
{
    rlt_time *origin = malloc(t->n_steps * sizeof *origin), end = 0;
    int rc = origin ? 0 : rlt_nomem(err);
    const rlt_tl_op *longest = t->ops; /* operation of the previous batch that ended last */
    for (uint32_t s = 0; s < t->n_steps && !rc; s++)
        origin[s] = RLT_TIME_MAX;
    for (uint32_t i = 0; i < t->n && !rc; i++)
        if (t->ops[i].start_ps < origin[t->ops[i].step])
            origin[t->ops[i].step] = t->ops[i].start_ps;
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        rlt_tl_op *o = &t->ops[i];
        bool first = begins_step(t, i);
        if (first)
            end = origin[o->step];
        o->joins = !first && is_message(o) && is_message(o - 1) &&
                   o->start_ps - (o - 1)->start_ps <= TOGETHER_PS && o->type != (o - 1)->type;
        if (!first && !o->joins && o->start_ps < end)
            rc = check_overlap(t, longest, o, end, err);
        if (!o->joins)
            o->gap_ps = o->start_ps > end ? o->start_ps - end : 0;
        if (first || o->start_ps + o->duration_ps > end) {
            end = o->start_ps + o->duration_ps;
            longest = o;
        }
        rlt_time span = end - origin[o->step];
        t->span_ps[o->step] = span > t->span_ps[o->step] ? span : t->span_ps[o->step];
    }
    free(origin);
    return rc;
}

/* Returns a key, unique within the limits of reading. */
static uint64_t key(uint32_t step, uint32_t type, uint32_t seq, uint32_t place)
{
    return (uint64_t)step << 48 | (uint64_t)type << 40 | (uint64_t)seq << 20 | place;
}

static int shorten_gaps(rlt_job_timeline *t, rlt_error *err)
{
    rlt_map least = {0}; /* operation with the shortest gap at each place of a stage */
    int rc = 0;
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        const rlt_tl_op *o = &t->ops[i];
        uint64_t place = key(o->step, o->type, o->seq, o->stage);
        uint32_t at = rlt_map_get(&least, place);
        if (!o->joins && (at == RLT_NONE || o->gap_ps < t->ops[at].gap_ps) &&
            rlt_map_put(&least, place, i) < 0)
            rc = rlt_nomem(err);
    }
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        rlt_tl_op *o = &t->ops[i];
        if (o->joins || begins_step(t, i))
            continue;
        rlt_time shortest = t->ops[rlt_map_get(&least, key(o->step, o->type, o->seq, o->stage))].gap_ps;
        if (o->gap_ps - shortest > LONG_GAP_PS) {
            t->shortened++;
            t->shortened_ps += o->gap_ps - shortest;
            o->gap_ps = shortest;
        }
        t->gaps += o->gap_ps > 0;
        t->gap_ps += o->gap_ps;
    }
    rlt_map_free(&least);
    return rc;
}

uint32_t rlt__timeline_partner(const rlt_job_timeline *t, const rlt_tl_op *o)
{
    if (rlt__tl_types[o->type].towards < 0)
        return o->stage == 0 ? RLT_NONE : o->rank - t->dp;
    return o->stage + 1 == t->pp ? RLT_NONE : o->rank + t->dp;
}

/* A message is known by its sender and the sender's name of it. */
static int message_of(const rlt_job_timeline *t, const rlt_tl_op *o, uint64_t *at, uint32_t *n,
                      rlt_error *err)
{
    const rlt_tl_type *type = &rlt__tl_types[o->type];
    uint32_t partner = rlt__timeline_partner(t, o);
    if (partner == RLT_NONE)
        return rlt__timeline_fail(t, o, RLT_ESCHEMA, err, "stage %" PRIu32 " of %" PRIu32 " has no %s",
                                  o->stage, t->pp, type->name);
    if (type->class == RLT_TL_SEND)
        *at = key(o->step, o->type, o->seq, o->rank);
    else
        *at = key(o->step, rlt_intern_find(&t->names, type->other, strlen(type->other)), o->seq, partner);
    *n = 2;
    return 0;
}

/* Finds the meeting of an operation: a key that is equal for all members, and their number. */
static int meeting_of(const rlt_job_timeline *t, const rlt_tl_op *o, uint64_t *at, uint32_t *n,
                      rlt_error *err)
{
    switch (rlt__tl_class(o)) {
    case RLT_TL_SEND:
    case RLT_TL_RECV:
        return message_of(t, o, at, n, err);
    case RLT_TL_DATA:
        *at = key(o->step, o->type, o->seq, o->stage);
        *n = t->dp;
        return 0;
    case RLT_TL_ENDS:
        if (o->stage != 0 && o->stage + 1 != t->pp)
            return rlt__timeline_fail(t, o, RLT_ESCHEMA, err,
                                      "stage %" PRIu32 " of %" PRIu32 " takes no part in %s", o->stage, t->pp,
                                      rlt__tl_types[o->type].name);
        *at = key(o->step, o->type, o->seq, o->dp);
        *n = t->pp > 1 ? 2 : 1;
        return 0;
    case RLT_TL_ALL:
        *at = key(o->step, o->type, o->seq, 0);
        *n = t->ranks;
        return 0;
    case RLT_TL_ALONE:
        *at = key(o->step, o->type, o->seq, o->rank);
        *n = 1;
        return 0;
    default:
        *n = 0;
        return 0;
    }
}

static int check_meeting(const rlt_job_timeline *t, const rlt_tl_meeting *m, rlt_error *err)
{
    const rlt_tl_op *o = &t->ops[m->first];
    uint32_t n = 0;
    uint64_t at;
    int rc = meeting_of(t, o, &at, &n, err);
    if (rc || m->n == n)
        return rc;
    return rlt__timeline_fail(t, o, RLT_ESCHEMA, err,
                              "%s %" PRIu32 " of step %" PRIu64 " is recorded %" PRIu32
                              " times, but the number of its members is %" PRIu32,
                              rlt_interned(&t->names, o->type), o->seq, o->number, m->n, n);
}

static int find_meetings(rlt_job_timeline *t, rlt_error *err)
{
    rlt_map map = {0};
    int rc = 0;
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        rlt_tl_op *o = &t->ops[i];
        uint64_t at = 0;
        uint32_t n = 0;
        if ((rc = meeting_of(t, o, &at, &n, err)) || n == 0)
            continue;
        o->meeting = rlt_map_get(&map, at);
        if (o->meeting == RLT_NONE) {
            rc = rlt_grow(&t->meetings, &t->meetings_capacity, sizeof *t->meetings,
                          (uint64_t)t->n_meetings + 1, RLT_NONE - 1, "communications", err);
            if (rc)
                break;
            o->meeting = t->n_meetings++;
            t->meetings[o->meeting] = (rlt_tl_meeting){.first = i, .least_ps = o->duration_ps};
            if (rlt_map_put(&map, at, o->meeting) < 0)
                rc = rlt_nomem(err);
        }
        rlt_tl_meeting *m = &t->meetings[o->meeting];
        m->n++;
        m->least_ps = o->duration_ps < m->least_ps ? o->duration_ps : m->least_ps;
    }
    for (uint32_t i = 0; i < t->n_meetings && !rc; i++)
        rc = check_meeting(t, &t->meetings[i], err);
    rlt_map_free(&map);
    return rc;
}

static int by_time(const void *a, const void *b)
{
    rlt_time x = *(const rlt_time *)a, y = *(const rlt_time *)b;
    return (x > y) - (x < y);
}

static rlt_time mean_of(const rlt_time *v, uint32_t n)
{
    rlt_time whole = 0, rest = 0;
    for (uint32_t i = 0; i < n; i++) {
        whole += v[i] / n;
        rest += v[i] % n;
    }
    return whole + (rest + n / 2) / n;
}

static rlt_time median_of(rlt_time *v, uint32_t n)
{
    qsort(v, n, sizeof *v, by_time);
    return n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
}

/* Removes stragglers as StragglerAnalysis defines it: every computation takes the mean of its kind over all
 * ranks and steps, every communication the median, and nothing is launched late. */
static int idealise(rlt_job_timeline *t, rlt_error *err)
{
    rlt_time *v = malloc(t->n * sizeof *v);
    int rc = v ? 0 : rlt_nomem(err);
    for (uint32_t type = 0; type < t->names.n && !rc; type++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < t->n; i++)
            if (t->ops[i].type == type)
                v[n++] = t->ops[i].own_ps;
        if (n == 0)
            continue;
        bool computes = type >= RLT_TL_KNOWN || rlt__tl_types[type].class == RLT_TL_COMPUTE;
        rlt_time typical = computes ? mean_of(v, n) : median_of(v, n);
        for (uint32_t i = 0; i < t->n; i++)
            if (t->ops[i].type == type)
                t->ops[i].own_ps = typical;
    }
    for (uint32_t i = 0; i < t->n && !rc; i++)
        t->ops[i].gap_ps = 0;
    free(v);
    return rc;
}

int rlt__timeline_waits(rlt_job_timeline *t, bool ideal, rlt_error *err)
{
    drop_empty(t);
    qsort(t->ops, t->n, sizeof *t->ops, by_place);
    t->span_ps = calloc(t->n_steps, sizeof *t->span_ps);
    int rc = t->span_ps ? check_present(t, err) : rlt_nomem(err);
    if (!rc)
        rc = order(t, err);
    if (!rc)
        rc = shorten_gaps(t, err);
    if (!rc)
        rc = find_meetings(t, err);
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        rlt_tl_op *o = &t->ops[i];
        o->own_ps = o->meeting == RLT_NONE ? o->duration_ps : t->meetings[o->meeting].least_ps;
    }
    if (!rc && ideal)
        rc = idealise(t, err);
    return rc;
}
