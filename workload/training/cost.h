/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of an iteration of a folded training (RLT_FOLD_STAGES) as times, without simulating it, and a lower
 * bound of the simulated time.
 *
 * The parts come from the code that builds the program, so they are those of the same model: compute, and the
 * communication that compute waits for. Gathers and reductions beside compute are on the stream of the
 * gradients. Left out: messages between stages, and the slowdown of compute beside communication.
 *
 * With stages s = 0 .. p - 1, chunks c of a stage, m microbatches, and F, I, W the times of a forward pass,
 * of a backward pass for the inputs (with what is computed again) and for the weights:
 *
 *   busy(s)  = sum over c of m (F + I + W)
 *   head(s)  = sum over u < s of F(u), of each stage's first chunk: s begins after them
 *   end(s)   = buckets left over, optimizer, weights gathered, host: after the last backward pass of s
 *   tail(s)  = max over u <= s of end(u) + sum over u <= v < s of I(v) + W(v), of each stage's first chunk:
 *              after the last backward pass of s, its gradients go back through them
 *
 *   T >= max over s of head(s) + busy(s) + tail(s)          GPipe, 1F1B, interleaved
 *   T >= max over s of head(s) + busy(s) + end(s), and the same as above without all W     zero-bubble
 *   T >= max over s of busy(s) + end(s)                     the others
 *   T >= max over s of the stream of gradients of s, and what follows it
 *   T >= max over s of head(s) + busy(s) + (G - X - head(s)) (1 - 1 / f) + what follows the reductions, where
 *        G is the time of the stream of gradients, X the communication in busy(s), and f the slowdown
 *   T >= max over s of head(s) + busy(s) - (I + W of the last pass) + R + what follows, where R are the
 *        reductions of the last pass
 *
 * Proof of the first: stage s has one stream of compute. It works on nothing before a first microbatch has
 * passed the first chunks of all stages before it (head). Its passes do not overlap (busy). Its last pass in
 * the schedule's order is a backward pass of its first chunk. The message leaves when the whole pass is
 * done, and stage s - 1 has then its own such pass to do, and so on (tail). Messages and slowdowns only add.
 * Proof of the one with f: while gradients are on the wire, compute runs at 1 / f, or something else runs:
 * the X, or nothing. So C <= (T - X - g) + g / f with g >= G - X - head(s). Proof of the last: a reduction
 * begins after the pass that gives its gradients has begun.
 *
 * Example: p = 4, m = 16, F = 1 ms, I + W = 2 ms, no end: stage 3 has head 3, busy 48, tail 6 ms: 57 ms.
 */
#ifndef RLT_WORKLOAD_TRAINING_COST_H
#define RLT_WORKLOAD_TRAINING_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Times of one microbatch in a chunk, on the stream of compute. Weights are 0 if they are with the inputs. */
typedef struct rlt_chunk_cost {
    rlt_time forward_ps, inputs_ps, weights_ps;
    rlt_time exposed_ps; /* communication in their sum */
} rlt_chunk_cost;

typedef struct rlt_stage_cost {
    rlt_time gradients_ps; /* all that is on the stream of gradients in an iteration */
    rlt_time last_ps;      /* reductions of the last pass, on that stream, and those left over */
    rlt_time end_ps;       /* after the last backward pass */
    rlt_time step_ps;      /* the part after the reductions: optimizer, weights gathered, host */
} rlt_stage_cost;

typedef struct rlt_training_cost {
    uint32_t pp, vp;
    double slowdown;        /* factor on compute beside communication */
    rlt_chunk_cost *chunks; /* pp * vp: of stage s at [s * vp + index in the stage] */
    rlt_stage_cost *stages; /* pp */
} rlt_training_cost;

/* Durations of the collectives of many layouts, remembered. The members of a group depend on few sizes and on
 * where its stage begins; and groups of a class of the timing take the same time. One thread uses it. */
typedef struct rlt_spans rlt_spans;
/* Opens durations for `how` and `alone`, as for rlt_training_fold; both are borrowed. */
int rlt_spans_create(const rlt_replay_options *how, rlt_timing *alone, rlt_spans **out,
                     rlt_error *err) RLT_MUST_USE;
void rlt_spans_free(rlt_spans *s);
/* Adds an order of the axes, of those over which RLT_COST_LEAST takes the least. */
int rlt_spans_add_order(rlt_spans *s, const rlt_axis order[RLT_AXES_OF_LAYOUT], rlt_error *err) RLT_MUST_USE;

/* Times that collectives count with: none; those in the order of the training; the least of each over all
 * orders added and all stages, if layers wait for it (groups of tp, cp and ep; others take no time). No part
 * is longer with shorter collectives, and no bound is larger: each term of the bound grows with each of its
 * times (the term with f by at least 1 / f). So the bound with the least is at most that of any order. */
typedef enum rlt_cost_communication { RLT_COST_NONE, RLT_COST_EXACT, RLT_COST_LEAST } rlt_cost_communication;

/* Finds the parts of a planned training. Free `out` in every case. passes_only: only the chunks' times, no
 * stages'. A stage with the same layers as the one before, and groups of the same classes, has its times.
 * O(layers x stages that differ), and what the timing simulates that it does not know yet; with ZeRO 2 also
 * O(microbatches x layers). */
int rlt_training_cost_of(const rlt_training *t, rlt_spans *spans, rlt_cost_communication communication,
                         bool passes_only, rlt_training_cost *out, rlt_error *err) RLT_MUST_USE;
/* The same for one training. With `alone` NULL, collectives take no time. */
int rlt_training_cost_find(const rlt_training *t, const rlt_replay_options *how, rlt_timing *alone,
                           bool passes_only, rlt_training_cost *out, rlt_error *err) RLT_MUST_USE;
void rlt_training_cost_free(rlt_training_cost *c);
/* Returns the bound of an iteration. O(stages^2 + chunks). */
rlt_time rlt_training_bound(const rlt_training *t, const rlt_training_cost *c);

#ifdef __cplusplus
}
#endif
#endif
