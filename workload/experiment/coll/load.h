/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An experiment on collectives while it is opened. Inside the room. */
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
    uint64_t counted;                                   /* bytes by the counts */
    const rlt_reactive *protocols[RLT_COLL_ALGORITHMS]; /* asked for */
    uint32_t n_protocols;
    const rlt_reactive *named[RLT_COLL_ALGORITHMS]; /* by place in the list; NULL: steps */
} rlt_coll_load;

/* The words of a list: which collectives, and which algorithms ("all", too). */
int rlt__coll_kinds(rlt_coll_load *l, rlt_error *err) RLT_MUST_USE;
int rlt__coll_algorithms(rlt_coll_load *l, const char *text, rlt_error *err) RLT_MUST_USE;
/* The setup is open: protocols asked for by name get their places; of all, they come last. */
void rlt__coll_place_protocols(rlt_coll_load *l);

/* Who takes part: the group, its first pair, the root, and a group for each tenant. */
int rlt__coll_count_tenants(rlt_coll_load *l, rlt_error *err) RLT_MUST_USE;
int rlt__coll_groups(rlt_coll_load *l, rlt_error *err) RLT_MUST_USE;
void rlt__coll_groups_free(rlt_coll_ask *ask);

/* Reads the plans and enters them as algorithms beside those that are there; each must be for one of the
 * collectives asked for, and for as many ranks as the group has. Plans that are there already are taken
 * instead. */
int rlt__coll_plans(rlt_coll_ask *ask, rlt_error *err) RLT_MUST_USE;

#endif
