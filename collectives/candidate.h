/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A candidate of the selector: an algorithm with a protocol, and what the tuner predicts for it. */
#ifndef RLT_COLLECTIVES_CANDIDATE_H
#define RLT_COLLECTIVES_CANDIDATE_H

#include <stdint.h>

#include "collectives/algorithm.h"
#include "sim/base/time.h"

typedef struct rlt_candidate {
    const rlt_algorithm *algorithm;
    uint32_t protocol;    /* index among the endpoint's protocols */
    uint32_t channels;    /* number of channels it would use */
    uint64_t chunk_bytes; /* moved by a channel at once; 0: unknown */
    rlt_time estimate_ps; /* the tuner's prediction; RLT_TIME_MAX: unknown */
    const char *excluded; /* reason for its exclusion; NULL: it can be chosen */
} rlt_candidate;

enum { RLT_MAX_CANDIDATES = 24 };

#endif
