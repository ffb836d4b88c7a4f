/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A plan as single operations with what each depends on, for formats that know no steps which send and
 * receive at once. An operation begins when all it depends on is over: a send when it is injected, a receive
 * when the message is there. What a step does follows one another, the send before the receives: so no block
 * changes while it is sent, nothing is added in two places at once, and the step is over when the last of
 * them is, as in the plan. Internal to collectives/.
 */
#ifndef RLT_COLLECTIVES_FORMATS_UNROLL_H
#define RLT_COLLECTIVES_FORMATS_UNROLL_H

#include "collectives/algorithm.h"
#include "sim/base/error.h"

typedef enum rlt_op_type { RLT_OP_SEND, RLT_OP_RECV, RLT_OP_COPY, RLT_OP_NOP } rlt_op_type;

typedef struct rlt_unrolled_op {
    uint8_t type;
    uint32_t member, lane, step; /* of the plan; a receive's is where it lands */
    uint32_t other;              /* the receive of a send, the send of a receive */
    uint32_t after;              /* depends on this one; RLT_NONE: on none */
    uint32_t wait;               /* and of a NOP: on this one of another lane */
} rlt_unrolled_op;

typedef struct rlt_unrolled {
    rlt_unrolled_op *ops;
    uint32_t *first; /* of a member: ops[first[m] .. first[m + 1]), in order of lanes and steps */
    uint32_t n_ops, op_capacity;
} rlt_unrolled;

/* RLT_EUNSUPPORTED where the network itself reduces or copies. The plan must be sound (rlt_plan_check).
 * wait_all: also sends that the lane goes on without come before what follows in the lane. */
int rlt_unroll(const rlt_plan *plan, bool wait_all, rlt_unrolled *out, rlt_error *err) RLT_MUST_USE;
void rlt_unrolled_free(rlt_unrolled *u);

#endif
