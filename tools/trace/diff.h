/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet trace diff A B`: two recordings compared by recorded time.
 *
 * At every instant of its recorded span, a rank spends its time on one thing, the first that applies: device
 * work (of several at once, the one that began first), a communication (in its last part transfer, before
 * that waiting), host work, nothing. The times of all things add up to the span, so their differences add up
 * to the difference of the spans. All times are of a step, as means over the recorded ranks.
 *
 * The transfer of a communication takes the shortest recorded time among its members. Anything longer on
 * others is waiting for that member. Example: 9, 4 and 6 ms are 4 ms of transfer and 5, 0 and 2 ms of
 * waiting.
 */
#ifndef RLT_TOOLS_TRACE_DIFF_H
#define RLT_TOOLS_TRACE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

typedef enum rlt_diff_part {
    RLT_DIFF_COMPUTE,
    RLT_DIFF_TRANSFER,
    RLT_DIFF_WAIT,
    RLT_DIFF_HOST,
    RLT_DIFF_IDLE,
    RLT_DIFF_PARTS
} rlt_diff_part;

/* One thing that time is spent on. Sums over all ranks and steps. */
typedef struct rlt_diff_entry {
    uint32_t label; /* in the side's strings */
    rlt_diff_part part;
    uint64_t count;  /* operations; waits: communications with some */
    double spent_ps; /* sum over the spans */
    double lasts_ps; /* durations of the operations, also beside others */
    uint64_t place;  /* hash of where its operations stand among those of other names */
    uint32_t placed; /* operations in that hash */
    uint32_t other;  /* the entry of the other side that this one is; RLT_NONE: gone or new */
} rlt_diff_entry;

/* One recording. */
typedef struct rlt_diff_side {
    const char *path;
    rlt_program *program;
    char bare[300]; /* why only the names of kernels tell of communication; "": groups and sizes are known */
    uint32_t ranks; /* ranks with a recording */
    rlt_strings labels;
    rlt_map index; /* (label, part) -> entry */
    rlt_diff_entry *entries;
    uint32_t n, capacity;
    double *span_ps, *waited_ps; /* by rank: span; time that others waited for it */
    double sum_ps;               /* sum over the spans */
    uint32_t *entry_of;          /* by operation: its compute, transfer or host entry; RLT_NONE: none */
    rlt_time *transfer_ps;       /* by communication: shortest recorded time of a member; -1: unknown */
} rlt_diff_side;

/* Reads a recording and spends its time. Close it in every case. */
int rlt_diff_open(rlt_diff_side *s, const char *path, const rlt_read_options *opts,
                  rlt_error *err) RLT_MUST_USE;
void rlt_diff_close(rlt_diff_side *s);
/* Divides by ranks and steps. */
double rlt_diff_mean(const rlt_diff_side *s, double sum);
/* Finds the entries that are the same: by part and name; compute of names that only one side has is the same
 * if most of its operations stand in the same places among the others. */
int rlt_diff_match(rlt_diff_side *a, rlt_diff_side *b, rlt_error *err) RLT_MUST_USE;

#endif
