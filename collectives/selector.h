/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chooses a collective's algorithm, protocol and number of channels, where the endpoint states what its tuner
 * predicts (tuner_base, tuner_step, tuner_bandwidth of a protocol). The rule is NCCL's (src/graph/tuning.cc
 * and src/enqueue.cc): of all candidates that can do the request, take the one with the least
 *
 *     base + steps * step + bytes / (bus bandwidth * members / steps)
 *
 * NCCL's tuner predicts, it does not measure: its choice is not always the fastest. The simulation then says
 * how long the choice takes.
 */
#ifndef RLT_COLLECTIVES_SELECTOR_H
#define RLT_COLLECTIVES_SELECTOR_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/topology/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_candidate {
    const rlt_algorithm *algorithm;
    uint32_t protocol;    /* of the endpoint's */
    uint32_t channels;    /* it would use */
    rlt_time estimate_ps; /* the tuner's; RLT_TIME_MAX: it cannot tell */
    const char *excluded; /* why it cannot be taken, NULL: it can */
} rlt_candidate;

enum { RLT_MAX_CANDIDATES = 2 * RLT_MAX_PROTOCOLS };

/* The endpoint in force for a request, NULL where collectives are not tuned. */
const rlt_endpoint *rlt_request_endpoint(const rlt_coll_request *req);
/* All candidates, the one taken first. 0 where collectives are not tuned. */
uint32_t rlt_candidates(const rlt_coll_request *req, rlt_candidate out[RLT_MAX_CANDIDATES]);
/* The costs of a plan's messages: with the protocol that suits its algorithm best. */
void rlt_tuning_choose(const rlt_plan *plan, rlt_tuning *out);
/* "ring LL128, 24 channels 40.6 us; ring Simple, 24 channels 56 us; ..." */
void rlt_candidates_text(const rlt_candidate *all, uint32_t n, const rlt_endpoint *e, char *text,
                         size_t size);

#ifdef __cplusplus
}
#endif
#endif
