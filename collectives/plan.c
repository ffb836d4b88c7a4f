/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/plan.h"

#include <math.h>
#include <string.h>

#include "collectives/candidate.h"
#include "collectives/selector.h"
#include "collectives/stated.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/time.h"

/* A port of the network: seconds for the collective's bytes, and for a message without bytes. */
typedef struct port {
    double whole, empty;
} port;

/* Finds the ports of a group inside one dimension in which all members reach each other at the full bandwidth
 * of one link. Returns false for other groups. */
static bool find_port(const rlt_coll_request *req, port *out)
{
    uint32_t axis = RLT_NONE, wide = 0;
    for (uint32_t d = 0; d < req->n_dims && d < RLT_MAX_DIMS; d++) {
        if (req->dims[d] < 2)
            continue;
        wide++;
        if (strcmp(req->shapes[d], "switch") == 0 || strcmp(req->shapes[d], "fat-tree") == 0)
            axis = req->axes[d];
    }
    if (wide != 1 || axis == RLT_NONE || !req->topology)
        return false;
    rlt_dim dim = rlt_topology_dim(req->topology, axis);
    const rlt_endpoint *e = req->endpoint ? req->endpoint : rlt_topology_endpoint(req->topology);
    if (!dim.bw_Bps)
        return false;
    out->whole = (double)req->bytes / (double)dim.bw_Bps;
    out->empty = (double)(2 * dim.latency_ps + e->message_ps) * 1e-12;
    return true;
}

/* Seconds of a broadcast or reduce in `pieces` that pass `hops` ports one after the other. */
static double piped(const port *p, uint32_t hops, uint32_t pieces)
{
    double piece = p->whole / pieces;
    return hops * (piece + p->empty) + (pieces - 1) * piece;
}

/* Returns the pieces in which an algorithm sends the data; 0 if it cannot serve the request. */
static uint32_t pieces_of(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan = {0};
    uint32_t pieces = rlt__plan_untuned(a, req, &plan, NULL) ? 0 : plan.channels * plan.chunks;
    rlt_plan_free(&plan);
    return pieces;
}

/*
 * Returns the fastest of chain, tree and direct for a broadcast or reduce over ports, by their closed forms
 * under flow: a chain of n members has n - 1 hops. Each of the two trees has log2(n) levels; a member serves
 * two children at once with half of the bytes each, so that the whole goes down a level in its own time.
 * Direct sends n - 1 times the whole. NULL for other collectives and networks.
 */
static const rlt_algorithm *choose_rooted(const rlt_coll_request *req)
{
    port p;
    if ((req->kind != RLT_BROADCAST && req->kind != RLT_REDUCE) || req->n < 3 || !find_port(req, &p))
        return NULL;
    uint32_t chain = pieces_of(&rlt_ring, req), tree = pieces_of(&rlt_tree, req), levels = 0;
    while ((uint64_t)1 << levels < req->n)
        levels++;
    const rlt_algorithm *best = &rlt_ring;
    double least = chain ? piped(&p, req->n - 1, chain) : INFINITY;
    double by_tree = tree ? piped(&p, levels, tree) : INFINITY;
    if (by_tree < least) {
        least = by_tree;
        best = &rlt_tree;
    }
    return (req->n - 1) * p.whole + p.empty < least ? &rlt_direct : best;
}

/* Returns the default algorithm. If a tuner chose it, *chosen is its candidate; else chosen->algorithm is
 * NULL. */
static const rlt_algorithm *choose(const rlt_coll_request *req, rlt_candidate *chosen)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    const rlt_algorithm *stated = rlt_algorithm_stated(req);
    if (stated)
        return stated;
    uint32_t n = rlt_candidates(req, all);
    const rlt_algorithm *rooted = n ? NULL : choose_rooted(req);
    if (rooted)
        return rooted;
    if (n == 0 || all[0].excluded)
        return rlt_algorithm_usual(req);
    *chosen = all[0];
    return chosen->algorithm;
}

const rlt_algorithm *rlt_algorithm_choose(const rlt_coll_request *req)
{
    rlt_candidate chosen = {0};
    return choose(req, &chosen);
}

int rlt_plan_create(const rlt_algorithm *algorithm, const rlt_coll_request *req, rlt_plan *out,
                    rlt_error *err)
{
    rlt_candidate chosen = {0};
    int rc;
    *out = (rlt_plan){0};
    /* The choice needs a valid request. */
    if (!algorithm && (rc = rlt__plan_checks(req, err)))
        return rc;
    rc = rlt__plan_untuned(algorithm ? algorithm : choose(req, &chosen), req, out, err);
    if (!rc)
        rlt_tuning_choose(out, chosen.algorithm ? &chosen : NULL, &out->tuning);
    return rc;
}
