/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns a timeline into a program. A rank's batches run one after another, each after the one before it and
 * its gap. Communication has a recorded time and unknown bytes (rlt_comm.timed). A step begins on all ranks
 * when the previous one has ended on all. Within it, each rank keeps its own recorded start.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/timeline.h"

enum { MAX_BATCH = 8 };

typedef struct maker {
    const rlt_job_timeline *t;
    rlt_builder *b;
    bool keep_waits;
    uint32_t world, *stage, *pipeline, *alone; /* by stage, data-parallel place and rank */
    uint32_t rank, stream, wait;
    uint32_t batch[MAX_BATCH], n_batch;   /* operations of the current batch */
    uint32_t before[MAX_BATCH], n_before; /* operations that the current batch follows */
    rlt_time epoch_ps;                    /* recorded start of the step, from that of the first step */
} maker;

static int make_groups(maker *m, rlt_error *err)
{
    const rlt_job_timeline *t = m->t;
    uint32_t *ranks = malloc(t->ranks * sizeof *ranks);
    char label[48];
    m->stage = malloc(t->pp * sizeof *m->stage);
    m->pipeline = malloc(t->dp * sizeof *m->pipeline);
    m->alone = malloc(t->ranks * sizeof *m->alone);
    if (!ranks || !m->stage || !m->pipeline || !m->alone) {
        free(ranks);
        return rlt_nomem(err);
    }
    for (uint32_t r = 0; r < t->ranks; r++)
        ranks[r] = r;
    m->world = rlt_build_group(m->b, "all", ranks, t->ranks);
    for (uint32_t s = 0; s < t->pp; s++) {
        snprintf(label, sizeof label, "dp stage %" PRIu32, s);
        m->stage[s] = rlt_build_group(m->b, label, ranks + (size_t)s * t->dp, t->dp);
    }
    for (uint32_t d = 0; d < t->dp; d++) {
        uint32_t ends[2] = {d, (t->pp - 1) * t->dp + d};
        snprintf(label, sizeof label, "embedding %" PRIu32, d);
        m->pipeline[d] = rlt_build_group(m->b, label, ends, t->pp > 1 ? 2 : 1);
    }
    for (uint32_t r = 0; r < t->ranks; r++) {
        snprintf(label, sizeof label, "tp of rank %" PRIu32, r);
        m->alone[r] = rlt_build_group(m->b, label, &r, 1);
    }
    free(ranks);
    return 0;
}

static void end_batch(maker *m)
{
    if (m->n_batch == 0)
        return;
    memcpy(m->before, m->batch, sizeof m->before);
    m->n_before = m->n_batch;
    m->n_batch = 0;
}

/* Builds an operation after the last batch, as part of the current one. */
static void add(maker *m, const rlt_op_desc *d)
{
    uint32_t op = rlt_build_op(m->b, d);
    for (uint32_t i = 0; i < m->n_before; i++)
        rlt_build_dep(m->b, op, m->before[i]);
    m->batch[m->n_batch++] = op;
}

static rlt_op_desc describe(const maker *m, const rlt_tl_op *o)
{
    const rlt_job_timeline *t = m->t;
    rlt_tl_class class = rlt__tl_class(o);
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, o->rank);
    d.duration_ps = o->own_ps;
    if (class == RLT_TL_COMPUTE)
        return d;
    if (m->keep_waits) {
        d.duration_ps = o->duration_ps;
        return d;
    }
    d.timed = true;
    if (class == RLT_TL_SEND || class == RLT_TL_RECV) {
        d.kind = class == RLT_TL_SEND ? RLT_OP_SEND : RLT_OP_RECV;
        d.purpose = RLT_FOR_PP;
        d.peer = rlt__timeline_partner(t, o);
        d.tag = class == RLT_TL_SEND ? o->type
                                     : rlt_intern_find(&t->names, rlt__tl_types[o->type].other,
                                                       strlen(rlt__tl_types[o->type].other));
        return d;
    }
    d.kind = RLT_OP_COLLECTIVE;
    d.coll = rlt__tl_types[o->type].coll;
    d.group = class == RLT_TL_DATA   ? m->stage[o->stage]
              : class == RLT_TL_ENDS ? m->pipeline[o->dp]
              : class == RLT_TL_ALL  ? m->world
                                     : m->alone[o->rank];
    return d;
}

static void add_gap(maker *m, const rlt_tl_op *o)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_DELAY, o->rank);
    if (o->gap_ps == 0)
        return;
    d.duration_ps = o->gap_ps;
    d.name = rlt_build_string(m->b, "gap", 3);
    d.step = (uint16_t)o->step;
    add(m, &d);
    end_batch(m);
}

/* Makes all ranks wait for each other; takes no time. */
static void begin_step(maker *m, uint32_t step)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, m->rank);
    d.coll = RLT_BARRIER;
    d.timed = true;
    d.group = m->world;
    d.resource = m->wait;
    d.name = rlt_build_string(m->b, "step", 4);
    d.step = (uint16_t)step;
    add(m, &d);
    end_batch(m);
}

static int add_op(maker *m, const rlt_tl_op *o, rlt_error *err)
{
    const char *kind = rlt_interned(&m->t->names, o->type);
    char name[256];
    if (!o->joins) {
        end_batch(m);
        add_gap(m, o);
    }
    if (m->n_batch == MAX_BATCH)
        return rlt__timeline_fail(m->t, o, RLT_ERANGE, err, "more than %d messages in one batch", MAX_BATCH);
    int length = snprintf(name, sizeof name, "%.200s %" PRIu32, kind, o->seq);
    rlt_op_desc d = describe(m, o);
    bool message = rlt__tl_class(o) == RLT_TL_SEND || rlt__tl_class(o) == RLT_TL_RECV;
    d.resource = message ? rlt_build_resource(m->b, o->rank, RLT_RES_STREAM, kind) : m->stream;
    d.name = rlt_build_string(m->b, name, (size_t)length);
    d.step = (uint16_t)o->step;
    d.recorded_ps = m->epoch_ps + o->start_ps;
    d.recorded_duration_ps = o->duration_ps;
    add(m, &d);
    return 0;
}

/* Builds the operations of one rank from index `i`; *next: index after them. */
static int make_rank(maker *m, uint32_t i, uint32_t *next, rlt_error *err)
{
    const rlt_job_timeline *t = m->t;
    rlt_time end = 0;
    int rc = 0;
    m->rank = t->ops[i].rank;
    m->stream = rlt_build_resource(m->b, m->rank, RLT_RES_STREAM, "compute");
    m->wait = rlt_build_resource(m->b, m->rank, RLT_RES_NETWORK, "step");
    m->n_batch = m->n_before = 0;
    m->epoch_ps = 0;
    for (uint32_t step = 0; i < t->n && t->ops[i].rank == m->rank && !rc; i++) {
        const rlt_tl_op *o = &t->ops[i];
        if (o->step != step) {
            m->epoch_ps += t->span_ps[step];
            step = o->step;
            end_batch(m);
            begin_step(m, step);
        }
        if (m->epoch_ps + o->start_ps + o->duration_ps > end)
            end = m->epoch_ps + o->start_ps + o->duration_ps;
        rc = add_op(m, o, err);
    }
    rlt_build_rank_recorded(m->b, m->rank, end);
    *next = i;
    return rc;
}

static void note_time(rlt_builder *b, uint64_t count, const char *what, rlt_time total)
{
    char text[32];
    if (count)
        rlt_build_note(b, count, "%s, %s in all", what, rlt_format_duration(text, sizeof text, total));
}

static void note(const maker *m, const rlt_read_options *opts)
{
    const rlt_job_timeline *t = m->t;
    uint64_t unknown[RLT_TL_MAX_TYPES] = {0};
    if (!opts->keep_waits && t->n_meetings)
        rlt_build_note(
            m->b, t->n_meetings,
            "communication with a recorded time and unknown bytes: it takes the %s after its last member "
            "arrives, and no link carries it",
            opts->ideal ? "median of the shortest durations" : "shortest of their durations");
    if (opts->ideal)
        rlt_build_note(m->b, t->n,
                       "operation without stragglers: every computation takes the mean of its kind over all "
                       "ranks and steps, launch delays removed");
    else
        note_time(m->b, t->gaps, "gap between operations of a rank, kept as idle time", t->gap_ps);
    if (!opts->ideal)
        note_time(m->b, t->shortened,
                  "gap cut to the shortest gap at its place in the stage, because the rest may be waiting",
                  t->shortened_ps);
    if (t->empty)
        rlt_build_note(m->b, t->empty, "operation without a duration: left out");
    if (t->world > t->ranks)
        rlt_build_note(m->b, t->ranks,
                       "rank stands for its whole tensor-parallel group: the job had %" PRIu64 " ranks",
                       t->world);
    for (uint32_t i = 0; i < t->n; i++)
        unknown[t->ops[i].type]++;
    for (uint32_t k = RLT_TL_KNOWN; k < t->names.n; k++)
        if (unknown[k])
            rlt_build_note(m->b, unknown[k], "operation '%.80s' of an unknown kind: taken as computation",
                           rlt_interned(&t->names, k));
}

int rlt__timeline_build(const rlt_job_timeline *t, const rlt_read_options *opts, rlt_program **out,
                        rlt_error *err)
{
    maker m = {.t = t, .keep_waits = opts->keep_waits};
    rlt_error own = {0};
    int rc = rlt_builder_create(t->ranks, &m.b, err);
    if (rc)
        return rc;
    rc = make_groups(&m, err);
    for (uint32_t i = 0; i < t->n && !rc && !rlt_build_failed(m.b);)
        rc = make_rank(&m, i, &i, err);
    free(m.stage);
    free(m.pipeline);
    free(m.alone);
    if (rc) {
        rlt_builder_free(m.b);
        return rc;
    }
    note(&m, opts);
    rlt_build_hash(m.b, t->hash);
    rc = rlt_builder_finish(m.b, "timeline", out, &own);
    if (rc && err && !err->code) {
        rlt_error_prefix(&own, t->file);
        *err = own;
    }
    return rc;
}
