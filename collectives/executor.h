/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor runs plans over a network inside a simulation: one small counter per live lane, messages
 * addressed to (lane, step) of their receiver. It owns its network and is the network's only client.
 *
 * A collective begins when its last member has arrived (a NCCL kernel that is early spins until its peers are
 * there), or, with RLT_EXEC_EAGER (messages), each member when it arrives itself. A member is done when all
 * its lanes are: everything received, and every send injected (nic) or delivered (blocking).
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
    void (*begun)(void *ctx, uint64_t cookie); /* last member arrived; may be NULL */
    void (*delivered)(
        void *ctx, uint64_t cookie); /* a message (RLT_EXEC_EAGER) whose receiver may be late; may be NULL */
    void (*member_done)(void *ctx, uint64_t cookie, uint32_t member); /* may be NULL */
    void (*done)(void *ctx, uint64_t cookie); /* all members; may be NULL; the plan may be freed */
} rlt_exec_client;

/* cfg->client is ignored: the executor puts itself there. */
RLT_API int rlt_exec_create(const rlt_net_model *model, const rlt_net_config *cfg, rlt_exec **out,
                            rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_exec_free(rlt_exec *x);
RLT_API rlt_net *rlt_exec_net(rlt_exec *x);

/* Enters a collective; `plan` and `client` (NULL: nobody is told) are borrowed until it is done.
 * Returns its id, or RLT_NONE after rlt_sim_fail. */
RLT_API uint32_t rlt_exec_add(rlt_exec *x, const rlt_plan *plan, const rlt_exec_client *client,
                              uint64_t cookie, int flags);
/* The same, folded: `fold` is of this plan, borrowed until done, and its net part is in the network's
 * configuration. Members arrive all at once; member_done tells of the members that ran. */
RLT_API uint32_t rlt_exec_add_folded(rlt_exec *x, const rlt_plan *plan, const rlt_fold *fold,
                                     const rlt_exec_client *client, uint64_t cookie, int flags);
/* A member reaches the collective now. Members arrive once. */
RLT_API void rlt_exec_arrive(rlt_exec *x, uint32_t id, uint32_t member);
/* All members arrive now. */
RLT_API void rlt_exec_arrive_all(rlt_exec *x, uint32_t id);

/* For the stall report: collectives not done, and for one of them a text such as "all_reduce of 8 ranks: rank
 * 3 waits in lane 0 step 4 for rank 2". Returns the number of collectives pending. */
RLT_API uint32_t rlt_exec_pending(const rlt_exec *x, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
