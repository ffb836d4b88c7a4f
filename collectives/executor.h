/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor runs plans over a network inside a simulation. It keeps one small counter per live lane;
 * messages are addressed to (lane, step) of their receiver. It owns its network and is the network's only
 * client.
 *
 * A collective begins when its last member has arrived, because a NCCL kernel that is early spins until its
 * peers are there. With RLT_EXEC_EAGER (point-to-point messages) each member begins when it arrives itself. A
 * member is done when all its lanes are done: everything is received, and every send is injected (nic) or
 * delivered (blocking).
 *
 * In a part of a network (rlt_net_part) only its own members run. A collective is done there when they are;
 * one without any is never done, and not pending.
 */
#ifndef RLT_COLLECTIVES_EXECUTOR_H
#define RLT_COLLECTIVES_EXECUTOR_H

#include "collectives/algorithm.h"
#include "collectives/fold.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_exec rlt_exec;

enum { RLT_EXEC_EAGER = 1 };

typedef struct rlt_exec_client {
    void *ctx;
    void (*begun)(void *ctx, uint64_t cookie); /* the last member has arrived; may be NULL */
    void (*delivered)(
        /* an RLT_EXEC_EAGER message has arrived, perhaps before its receiver; may be NULL */
        void *ctx, uint64_t cookie);
    void (*member_done)(void *ctx, uint64_t cookie, uint32_t member); /* may be NULL */
    void (*done)(void *ctx, uint64_t cookie); /* all members are done; the plan may be freed; may be NULL */
} rlt_exec_client;

/* Creates an executor. cfg->client is ignored: the executor is the client. */
RLT_API int rlt_exec_create(const rlt_net_model *model, const rlt_net_config *cfg, rlt_exec **out,
                            rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_exec_free(rlt_exec *x);
RLT_API rlt_net *rlt_exec_net(rlt_exec *x);

/* Adds a collective. `plan` and `client` are borrowed until it is done; client NULL: no callbacks. Returns
 * its id, or RLT_NONE after rlt_sim_fail. */
RLT_API uint32_t rlt_exec_add(rlt_exec *x, const rlt_plan *plan, const rlt_exec_client *client,
                              uint64_t cookie, int flags);
/* Adds a folded collective. `fold` belongs to this plan and is borrowed until the collective is done; its net
 * part must be in the network's configuration. All members arrive at once; member_done reports only the
 * members that are simulated. Collectives that run beside it are added before it begins. */
RLT_API uint32_t rlt_exec_add_folded(rlt_exec *x, const rlt_plan *plan, const rlt_fold *fold,
                                     const rlt_exec_client *client, uint64_t cookie, int flags);
/* A member arrives at the collective now. Each member arrives once. */
RLT_API void rlt_exec_arrive(rlt_exec *x, uint32_t id, uint32_t member);
/* All members arrive now. */
RLT_API void rlt_exec_arrive_all(rlt_exec *x, uint32_t id);

/* For the stall report: returns the number of collectives that are not done. Describes one of them in `text`,
 * for example "all_reduce of 8 ranks: rank 3 waits in lane 0 step 4 for rank 2". */
RLT_API uint32_t rlt_exec_pending(const rlt_exec *x, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
