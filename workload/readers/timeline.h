/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Timelines of pipeline-parallel jobs as StragglerAnalysis records them (ByteDance-Seed; Lin et al.,
 * "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI 2025): a table with one
 * operation of one rank in one step a line, seconds from the step's start, in the order in which a rank did
 * them, and how long each one took, waiting included. What was computed has that time; bytes are not told.
 *
 *   timeline_read.c   the table, and the layout of the job beside it
 *   timeline_waits.c  which operations meet, and how long they take without waiting
 *   timeline_build.c  the program
 */
#ifndef RLT_WORKLOAD_READERS_TIMELINE_H
#define RLT_WORKLOAD_READERS_TIMELINE_H

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* Who takes part in an operation. */
typedef enum rlt_tl_class {
    RLT_TL_COMPUTE, /* the rank alone */
    RLT_TL_SEND,
    RLT_TL_RECV,
    RLT_TL_DATA,  /* the ranks of a stage */
    RLT_TL_ENDS,  /* first and last stage of one pipeline */
    RLT_TL_ALL,   /* all that are recorded */
    RLT_TL_ALONE, /* a tensor-parallel group, of which one rank is recorded */
} rlt_tl_class;

typedef struct rlt_tl_type {
    const char *name;
    rlt_tl_class class;
    rlt_coll_kind coll;
    int towards;       /* messages: the other side's stage is this much further */
    const char *other; /* messages: what the other side calls it */
} rlt_tl_type;

enum { RLT_TL_KNOWN = 14, RLT_TL_MAX_TYPES = 250, RLT_TL_MAX_SEQ = 1 << 20, RLT_TL_MAX_PLACE = 1 << 20 };
extern const rlt_tl_type rlt__tl_types[RLT_TL_KNOWN];

typedef struct rlt_tl_op {
    rlt_time start_ps, duration_ps; /* recorded, from the step's start */
    rlt_time gap_ps;                /* before it, since the rank's operation before it ended */
    rlt_time own_ps;                /* without waiting */
    uint32_t rank, dp, stage, step; /* step: index among those read */
    uint32_t type, seq;             /* type: of the timeline's names; below RLT_TL_KNOWN a known one */
    uint32_t line, meeting;         /* meeting: RLT_NONE of what is done alone */
    bool joins;                     /* begins together with the one before it */
    uint64_t number;                /* of its step, as recorded */
} rlt_tl_op;

/* Operations of several ranks that wait for each other. */
typedef struct rlt_tl_meeting {
    uint32_t first, n; /* an operation of it; how many */
    rlt_time least_ps; /* shortest duration */
} rlt_tl_meeting;

typedef struct rlt_job_timeline {
    const char *file;
    rlt_strings names; /* of types */
    rlt_tl_op *ops;    /* in the end by rank, step, start */
    uint32_t n, capacity;
    uint64_t *steps; /* numbers, ascending */
    uint32_t n_steps, first_step;
    uint32_t dp, pp, ranks; /* a rank is stage * dp + its place in the stage */
    uint64_t world, tp;     /* as the layout beside says; 0: it does not */
    rlt_time *span_ps;      /* of each step, recorded, over all ranks */
    rlt_tl_meeting *meetings;
    uint32_t n_meetings, meetings_capacity;
    uint64_t empty, gaps, shortened; /* operations of no duration; gaps kept, and cut short */
    rlt_time gap_ps, shortened_ps;
    uint64_t hash;
} rlt_job_timeline;

static inline rlt_tl_class rlt__tl_class(const rlt_tl_op *o)
{
    return o->type < RLT_TL_KNOWN ? rlt__tl_types[o->type].class : RLT_TL_COMPUTE;
}
/* A failure at an operation's line. */
int rlt__timeline_fail(const rlt_job_timeline *t, const rlt_tl_op *o, int code, rlt_error *err,
                       const char *fmt, ...) RLT_PRINTF(5);
/* Orders the operations, finds who meets, fills gap_ps and own_ps; with `ideal` as without stragglers. */
int rlt__timeline_waits(rlt_job_timeline *t, bool ideal, rlt_error *err) RLT_MUST_USE;
int rlt__timeline_build(const rlt_job_timeline *t, const rlt_read_options *opts, rlt_program **out,
                        rlt_error *err) RLT_MUST_USE;

#endif
