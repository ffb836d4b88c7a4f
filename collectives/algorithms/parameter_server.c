/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter servers (M. Li et al.: "Scaling Distributed Machine Learning with the Parameter Server", OSDI
 * 2014). The last `servers` members of the group also serve; block s belongs to the s-th server.
 *
 *   push   members send each block to its server, which adds it up
 *   pull   a server that has all contributions to its block sends the sum to the members
 *
 * In an all-reduce all members push and pull (a barrier is one of zero bytes). In a reduce only the root
 * pulls. In a broadcast only the root pushes, and it does not pull. Let alpha be the latency and beta the
 * time of a byte. An all-reduce of M bytes with m servers takes 2 (alpha + (n-1)/m M beta): n - 1 messages of
 * M/m bytes enter each server's port, and leave it. To spread them evenly, each member starts with a
 * different server, and each server with a different member. Lanes are channels x chunks, independent of each
 * other: chunks are pulled while later ones are pushed.
 */

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

/* Steps of a member, in order: n_push pushes, a server's wait, n_serve messages, the wait for the pulled
 * blocks. */
typedef struct part {
    uint32_t n, m;
    uint32_t server; /* number of the server, or RLT_NONE */
    bool pulls;
    uint32_t n_push, n_serve;
} part;

static inline bool serves(const part *p)
{
    return p->server != RLT_NONE;
}

/* Number of other members that push, and that pull. */
static uint32_t other_pushers(const rlt_coll_request *req, uint32_t member)
{
    return req->kind == RLT_BROADCAST ? member != req->root : req->n - 1;
}

static uint32_t other_pullers(const rlt_coll_request *req, uint32_t member)
{
    if (req->kind == RLT_REDUCE)
        return member != req->root;
    return req->n - 1 - (req->kind == RLT_BROADCAST && member != req->root);
}

static part part_of(const rlt_plan *plan, uint32_t member)
{
    const rlt_coll_request *req = &plan->req;
    part p = {.n = req->n, .m = plan->blocks, .server = RLT_NONE};
    bool root = member == req->root;
    if (member >= p.n - p.m)
        p.server = member - (p.n - p.m);
    p.pulls = req->kind == RLT_REDUCE ? root : req->kind != RLT_BROADCAST || !root;
    if (req->kind != RLT_BROADCAST || root)
        p.n_push = p.m - serves(&p);
    if (serves(&p))
        p.n_serve = other_pullers(req, member);
    return p;
}

static inline uint32_t last_wait(const part *p)
{
    return p->n_push + serves(p) + p->n_serve;
}

static void send_block(const rlt_plan *plan, uint32_t lane, uint32_t to, uint32_t peer_step, uint32_t block,
                       rlt_step *out)
{
    const rlt_lane *l = (const rlt_lane *)plan->data + lane;
    out->send_to = to;
    out->peer_step = peer_step;
    out->nowait = 1;
    out->send = out->land = rlt_blocks_run(block, 1);
    out->send_bytes = rlt_block_bytes(l, block);
}

/* A server starts with the next server; it would come to itself last. */
static void push(const rlt_plan *plan, const part *p, uint32_t member, uint32_t lane, uint32_t k,
                 rlt_step *out)
{
    uint32_t first = serves(p) ? rlt_next(p->server, p->m) : member % p->m;
    uint32_t block = rlt_plus(first, k, p->m), server = p->n - p->m + block;
    send_block(plan, lane, server, part_of(plan, server).n_push, block, out);
    out->reduce = plan->req.kind != RLT_BROADCAST;
}

static void serve(const rlt_plan *plan, const part *p, uint32_t member, uint32_t lane, uint32_t k,
                  rlt_step *out)
{
    uint32_t root = plan->req.root, distance = k + 1;
    if (plan->req.kind == RLT_BROADCAST && member != root)
        distance += distance >= rlt_minus(root, member, p->n);
    uint32_t to = plan->req.kind == RLT_REDUCE ? root : rlt_plus(member, distance, p->n);
    part there = part_of(plan, to);
    send_block(plan, lane, to, last_wait(&there), p->server, out);
}

static uint32_t ps_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)lane;
    if (plan->req.n == 1)
        return 0;
    part p = part_of(plan, member);
    return last_wait(&p) + p.pulls;
}

static void ps_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    part p = part_of(plan, member);
    if (k < p.n_push)
        push(plan, &p, member, lane, k, out);
    else if (serves(&p) && k == p.n_push)
        out->recv_count = other_pushers(&plan->req, member);
    else if (k < last_wait(&p))
        serve(plan, &p, member, lane, k - p.n_push - 1, out);
    else
        out->recv_count = p.m - serves(&p);
}

/* If all members serve, all are alike. */
static uint32_t ps_symmetry(const rlt_plan *plan, uint32_t *sizes)
{
    bool alike = plan->blocks == plan->req.n && !rlt_coll_rooted(plan->req.kind);
    return alike ? rlt_one_cycle(plan, sizes) : 0;
}

static int ps_plan(rlt_plan *plan, rlt_error *err)
{
    const rlt_coll_request *req = &plan->req;
    uint32_t chunks = req->params.chunks ? req->params.chunks : 1;
    if (req->params.servers > req->n)
        return rlt_fail(err, RLT_ERANGE, "ps", "expected at most %u servers, the number of members, got %u",
                        req->n, req->params.servers);
    int rc = rlt_lanes_set(plan, req->params.channels ? req->params.channels : 1, 1, chunks, err);
    if (rc)
        return rc;
    plan->blocks = req->params.servers ? req->params.servers : 1;
    plan->buffers = 1;
    return rlt_lanes_list(plan, err);
}

static const rlt_param parameters[] = {RLT_HAS_SERVERS("1"), RLT_HAS_CHANNELS("1"), RLT_HAS_CHUNKS("1"), {0}};

const rlt_algorithm rlt_parameter_server = {
    .name = "ps",
    .summary =
        "parameter servers: members push blocks to serving members, which add them up, and pull the sums",
    .parameters = parameters,
    .kinds = 1u << RLT_ALL_REDUCE | 1u << RLT_BROADCAST | 1u << RLT_REDUCE | 1u << RLT_BARRIER,
    .plan = ps_plan,
    .steps = ps_steps,
    .step = ps_step,
    .symmetry = ps_symmetry,
};
