/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An experiment on collectives while it is opened. Internal to the room. */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_LOAD_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_LOAD_H

#include <stdint.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "sim/base/error.h"
#include "workload/experiment/coll/coll.h"

typedef struct rlt_coll_load {
    rlt_coll_ask *ask;
    rlt_coll_kind kinds[RLT_COLL_KINDS];
    uint64_t *sizes;
    uint64_t counted;                                   /* bytes that the counts give */
    const rlt_reactive *protocols[RLT_COLL_ALGORITHMS]; /* reactive protocols that the list names */
    uint32_t n_protocols;
    const rlt_reactive *named[RLT_COLL_ALGORITHMS]; /* by place in the list; NULL: an algorithm */
} rlt_coll_load;

/* Read the words of a list: collectives, and algorithms (also "all"). */
int rlt__coll_kinds(rlt_coll_load *l, rlt_error *err) RLT_MUST_USE;
int rlt__coll_algorithms(rlt_coll_load *l, const char *text, rlt_error *err) RLT_MUST_USE;
/* Gives protocols their places once the setup is open: where the list names them; with "all", at the end. */
void rlt__coll_place_protocols(rlt_coll_load *l);

/* Find the ranks that take part: the group, its first pair, the root, and a group per tenant. */
int rlt__coll_count_tenants(rlt_coll_load *l, rlt_error *err) RLT_MUST_USE;
int rlt__coll_groups(rlt_coll_load *l, rlt_error *err) RLT_MUST_USE;
void rlt__coll_groups_free(rlt_coll_ask *ask);

/* Reads plans and enters them as algorithms beside the built-in ones. Each must be for one of the collectives
 * asked for, and for as many ranks as the group has. Plans that the settings bring are used instead of
 * reading. */
int rlt__coll_plans(rlt_coll_ask *ask, rlt_error *err) RLT_MUST_USE;

#endif
