/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plan as single operations with their dependencies, for formats in which a step cannot send and receive at
 * once. An operation begins when its dependencies are over: a send is over when it is injected, a receive
 * when the message has arrived. The operations of a step run one after another, the send before the receives.
 * So no block changes while it is sent, no two additions overlap, and the step ends with its last operation,
 * as in the plan. Internal to collectives/.
 */
#ifndef RLT_COLLECTIVES_FORMATS_UNROLL_H
#define RLT_COLLECTIVES_FORMATS_UNROLL_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

typedef enum rlt_op_type { RLT_OP_SEND, RLT_OP_RECV, RLT_OP_COPY, RLT_OP_NOP } rlt_op_type;

typedef struct rlt_unrolled_op {
    uint8_t type;
    uint32_t member, lane, step; /* place in the plan; for a receive, where it lands */
    uint32_t other;              /* of a send: its receive; of a receive: its send */
    uint32_t after;              /* operation that must be over before; RLT_NONE: none */
    uint32_t wait;               /* of a NOP: operation of another lane that must be over, too */
} rlt_unrolled_op;

typedef struct rlt_unrolled {
    rlt_unrolled_op *ops;
    /* operations of member m are ops[first[m] .. first[m + 1]), in order of lanes and steps */
    uint32_t *first;
    uint32_t n_ops, op_capacity;
} rlt_unrolled;

/* Splits a plan, which must be correct (rlt_plan_check). RLT_EUNSUPPORTED if the network itself reduces or
 * multicasts. wait_all: the lane also waits for its nowait sends. */
int rlt_unroll(const rlt_plan *plan, bool wait_all, rlt_unrolled *out, rlt_error *err) RLT_MUST_USE;
void rlt_unrolled_free(rlt_unrolled *u);

#endif
