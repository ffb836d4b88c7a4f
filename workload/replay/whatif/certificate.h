/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The certificate of a trace: which part of the recorded time could hide communication, and so would not
 * change with the network in a replay. At a recorded time t, a rank
 *
 *   communicates   if a communication is under way
 *   computes       if device work is under way
 *   is exposed     if it communicates and does not compute
 *   hides          if (gap) it communicates while a recorded gap lasts, which the replay keeps; or
 *                     (fixed) it communicates in a time that the replay keeps, as bytes are unknown; or
 *                     (inside) it computes with a kernel that communicates itself, by its name
 *
 * Each figure is how long that holds, the mean over all ranks.
 *
 * Example: kernel 0 to 4 ms, collective 4 to 10 ms, the next kernel at 11 ms. If the kernel waits for the
 * collective, the replay keeps a gap of 1 ms from 10 to 11 ms, beside which nothing communicates: hidden 0 of
 * 6 ms. If no wait is known, it keeps the gap from 4 to 11 ms: hidden 6 ms, all that was exposed.
 */
#ifndef RLT_WORKLOAD_REPLAY_WHATIF_CERTIFICATE_H
#define RLT_WORKLOAD_REPLAY_WHATIF_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"

typedef struct rlt_certificate {
    bool recorded; /* the trace says when its operations ran; else all figures are 0 */
    rlt_time span_ps;
    rlt_time comm_ps, exposed_ps;
    rlt_time gap_ps, fixed_ps, inside_ps;
    rlt_time hidden_ps; /* one of the three */
    rlt_time lost_ps;   /* exposed, and in a gap */
    uint64_t untimed;   /* operations that last, without a recorded time */
    rlt_time *by_op;    /* time of each operation that hides communication; malloc'ed */
} rlt_certificate;

/* Returns true if a kernel communicates, by its name: NCCL's, and those of libraries that do not call it. */
bool rlt_communicates_inside(const char *name);
int rlt_certify(const rlt_program *p, rlt_certificate *out, rlt_error *err) RLT_MUST_USE;
void rlt_certificate_free(rlt_certificate *c);
/* Returns true if the replay would tell little about the network: most of the exposed communication is kept
 * in gaps. */
bool rlt_certificate_fails(const rlt_certificate *c);
/* Writes one sentence for people; "" if there is nothing to say. */
char *rlt_certificate_text(const rlt_certificate *c, char *buffer, size_t size);

#endif
