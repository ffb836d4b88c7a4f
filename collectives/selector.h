/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The selector chooses the algorithm, protocol and number of channels of a collective, if the endpoint states
 * its tuner's predictions (tuner_base, tuner_step, tuner_bandwidth of a protocol). The rule is NCCL's
 * (src/graph/tuning.cc and src/enqueue.cc). Among the candidates that can serve the request, it takes the one
 * with the smallest
 *
 *     base + steps * step + bytes * steps / (bus bandwidth * members)
 *
 * For a ring all-reduce, steps = 2(n - 1). Over several nodes the whole of NCCL's tuner chooses
 * (collectives/library.h), if the endpoint states the generation of its GPUs. NCCL's tuner predicts, it does
 * not measure: its choice is not always the fastest. The simulation then says how long the choice takes.
 */
#ifndef RLT_COLLECTIVES_SELECTOR_H
#define RLT_COLLECTIVES_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the endpoint in force for a request; NULL if its collectives are not tuned. */
const rlt_endpoint *rlt_request_endpoint(const rlt_coll_request *req);
/* Fills `out` with all candidates, the chosen one first, and returns their number; 0 if collectives are not
 * tuned. */
uint32_t rlt_candidates(const rlt_coll_request *req, rlt_candidate out[RLT_MAX_CANDIDATES]);
/* Fills *out with the message costs of a plan, for the candidate that was chosen. `chosen` NULL: for the best
 * protocol of its algorithm. */
void rlt_tuning_choose(const rlt_plan *plan, const rlt_candidate *chosen, rlt_tuning *out);
/* Writes the candidates that can be chosen, such as "ring, LL128, 24 channels: 40.6 us; ring, Simple, 24
 * channels: 56 us". */
void rlt_candidates_text(const rlt_candidate *all, uint32_t n, const rlt_endpoint *e, char *text,
                         size_t size);
/* Writes the others with their reasons, such as "tree Simple, tree LL (another protocol is set)". */
void rlt_excluded_text(const rlt_candidate *all, uint32_t n, const rlt_endpoint *e, char *text, size_t size);
/* Writes a candidate's name: "tree LL", "nvls_tree". */
void rlt_candidate_name(const rlt_candidate *c, const rlt_endpoint *e, char *text, size_t size);
/* Writes who chooses for a request: "NCCL 2.30", or "constants of the endpoint". Returns whether a version
 * does. */
bool rlt_chooser(const rlt_coll_request *req, char *text, size_t size);
/* Refuses a request whose `library` cannot choose for it. RLT_EUNSUPPORTED. */
int rlt_library_check(const rlt_coll_request *req, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
