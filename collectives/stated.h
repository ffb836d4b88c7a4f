/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The algorithm that the topology states for a collective ("auto" of its file). A topology that is imported
 * from a machine's log states what the machine chose.
 */
#ifndef RLT_COLLECTIVES_STATED_H
#define RLT_COLLECTIVES_STATED_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the stated algorithm of a request; NULL if the topology states none, states "auto", or states one
 * that cannot do the request (such as nvls in a group that crosses nodes). */
const rlt_algorithm *rlt_algorithm_stated(const rlt_coll_request *req);

/* Checks that a topology states known algorithms for known collectives. RLT_ESCHEMA with its place. */
int rlt_stated_check(const rlt_topology *t, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
