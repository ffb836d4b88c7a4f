/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Timelines of pipeline-parallel jobs as StragglerAnalysis records them (ByteDance-Seed; Lin et al.,
 * "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI 2025). The table has one
 * line per operation of a rank in a step, in the order of the rank: start in seconds from the start of the
 * step, and duration including waiting. Computations keep their durations. Bytes are not recorded.
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

/* Participants of an operation. */
typedef enum rlt_tl_class {
    RLT_TL_COMPUTE, /* the rank alone */
    RLT_TL_SEND,
    RLT_TL_RECV,
    RLT_TL_DATA,  /* the ranks of a stage */
    RLT_TL_ENDS,  /* first and last stage of one pipeline */
    RLT_TL_ALL,   /* all recorded ranks */
    RLT_TL_ALONE, /* a tensor-parallel group with a single recorded rank */
} rlt_tl_class;

typedef struct rlt_tl_type {
    const char *name;
    rlt_tl_class class;
    rlt_coll_kind coll;
    int towards;       /* messages: distance to the stage of the other side */
    const char *other; /* messages: the other side's name of it */
} rlt_tl_type;

enum { RLT_TL_KNOWN = 14, RLT_TL_MAX_TYPES = 250, RLT_TL_MAX_SEQ = 1 << 20, RLT_TL_MAX_PLACE = 1 << 20 };
extern const rlt_tl_type rlt__tl_types[RLT_TL_KNOWN];

typedef struct rlt_tl_op {
    rlt_time start_ps, duration_ps; /* recorded; start_ps from the start of the step */
    rlt_time gap_ps;                /* time since the end of the rank's previous operation */
    rlt_time own_ps;                /* duration without waiting */
    uint32_t rank, dp, stage, step; /* step: index among the steps read */
    uint32_t type, seq;             /* type: index into names; known types are below RLT_TL_KNOWN */
    uint32_t line, meeting;         /* meeting: RLT_NONE if the rank acts alone */
    bool joins;                     /* begins together with the operation before it */
    uint64_t number;                /* recorded number of its step */
} rlt_tl_op;

/* Operations of several ranks that wait for each other. */
typedef struct rlt_tl_meeting {
    uint32_t first, n; /* first: one of its operations */
    rlt_time least_ps; /* shortest duration */
} rlt_tl_meeting;

typedef struct rlt_job_timeline {
    const char *file;
    rlt_strings names; /* names of types */
    rlt_tl_op *ops;    /* finally sorted by rank, step, start */
    uint32_t n, capacity;
    uint64_t *steps; /* step numbers, ascending */
    uint32_t n_steps, first_step;
    uint32_t dp, pp, ranks; /* rank = stage * dp + place in the stage */
    uint64_t world, tp;     /* from the layout beside the table; 0: unknown */
    rlt_time *span_ps;      /* by step: recorded span over all ranks */
    rlt_tl_meeting *meetings;
    uint32_t n_meetings, meetings_capacity;
    uint64_t empty, gaps, shortened; /* operations without duration; gaps kept; gaps shortened */
    rlt_time gap_ps, shortened_ps;
    uint64_t hash;
} rlt_job_timeline;

static inline rlt_tl_class rlt__tl_class(const rlt_tl_op *o)
{
    return o->type < RLT_TL_KNOWN ? rlt__tl_types[o->type].class : RLT_TL_COMPUTE;
}
/* Fills an error at the line of an operation. */
int rlt__timeline_fail(const rlt_job_timeline *t, const rlt_tl_op *o, int code, rlt_error *err,
                       const char *fmt, ...) RLT_PRINTF(5);
/* Returns the rank of the other side of a message; RLT_NONE: there is none. */
uint32_t rlt__timeline_partner(const rlt_job_timeline *t, const rlt_tl_op *o);
/* Sorts the operations, finds the meetings, and fills gap_ps and own_ps; with `ideal`, as without
 * stragglers. */
int rlt__timeline_waits(rlt_job_timeline *t, bool ideal, rlt_error *err) RLT_MUST_USE;
int rlt__timeline_build(const rlt_job_timeline *t, const rlt_read_options *opts, rlt_program **out,
                        rlt_error *err) RLT_MUST_USE;

#endif
