/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Synthesis of collectives for a given network by greedy matching on its time-expanded graph: TACOS (Won et
 * al., MICRO 2024, arXiv 2304.05301). Internal to collectives/.
 *
 * Edges join members whose route touches no other member's accelerator. Neighbours are joined by their link.
 * Through switches, where any two could talk but a port serves only one at a time, a member is joined to the
 * next in number that it reaches by that port: the switch is unwound into a ring, as in the paper (section 4,
 * degree 1), because nothing but the arrival of messages could keep turns at a port. Only where that leaves
 * somebody unreachable all pairs are joined. What a transfer occupies are the links of its edge, each as far
 * as the edge's bandwidth goes: a wider link inside a network serves several. Routes are those of the default
 * routing, which uses one of several parallel links.
 */
#ifndef RLT_COLLECTIVES_SYNTHESIS_TACOS_H
#define RLT_COLLECTIVES_SYNTHESIS_TACOS_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/route.h"
#include "net/topology/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

typedef struct rlt_tacos_edge {
    uint32_t src, dst;    /* members */
    uint32_t first, hops; /* its links: path[first .. first + hops) */
    uint64_t bw_Bps;
    rlt_time latency_ps;
} rlt_tacos_edge;

typedef struct rlt_tacos_net {
    uint32_t n, n_edges, n_links, n_path; /* members, edges, links used by any edge, all paths together */
    uint32_t edge_capacity, path_capacity, link_capacity;
    rlt_tacos_edge *edges;
    uint32_t *path;
    uint64_t *link_Bps;
    uint32_t *user_first, *user; /* edges that use a link */
    uint32_t *out_first, *out;   /* edges that leave a member */
    uint32_t *in_first, *in;     /* edges that enter a member */
    bool uneven;                 /* edges differ in bandwidth or latency */
} rlt_tacos_net;

int rlt_tacos_net_create(const rlt_coll_request *req, rlt_tacos_net *out, rlt_error *err) RLT_MUST_USE;
void rlt_tacos_net_free(rlt_tacos_net *net);

/* One transfer of one chunk over one edge. */
typedef struct rlt_tacos_send {
    rlt_time start_ps, end_ps;
    uint32_t edge, chunk;
} rlt_tacos_send;

/*
 * What is to be spread: every chunk from its owner to all members. Reversed: over the edges backwards, which
 * read backwards in time is a reduction of every chunk to its owner.
 */
typedef struct rlt_tacos_job {
    const rlt_tacos_net *net;
    bool reversed;
    uint32_t chunks;
    const uint32_t *owner; /* of a chunk */
    const uint64_t *bytes; /* of a chunk */
    const rlt_endpoint *endpoint;
    uint64_t seed;
    uint32_t restarts; /* at most; fewer where one alone takes long */
} rlt_tacos_job;

/* Fills sends[chunks * (n - 1)] in the order of their start; *time_ps: when the last one has arrived. */
int rlt_tacos_match(const rlt_tacos_job *job, rlt_tacos_send *sends, rlt_time *time_ps,
                    rlt_error *err) RLT_MUST_USE;

/* What the synthesis of a plan of "tacos" says it takes, its two phases one after the other. */
rlt_time rlt_tacos_time(const rlt_plan *plan);

#endif
