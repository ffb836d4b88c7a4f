/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Synthesis of collectives for a given network by greedy matching on its time-expanded graph: TACOS (Won et
 * al., MICRO 2024, arXiv 2304.05301). Internal to collectives/.
 *
 * An edge joins two members whose route passes no other member's accelerator. Neighbours are joined by their
 * link. Behind a switch any two members could talk, but a port serves only one at a time. There, a member is
 * joined only with the member of the next number that it reaches by that port. The switch is thus unwound
 * into a ring, as in the paper (section 4, degree 1): only the arrival of messages can order turns at a port.
 * If this leaves a member unreachable, all pairs are joined.
 *
 * A transfer occupies the links of its edge, each up to the edge's bandwidth; a wider link inside the network
 * serves several transfers at once. Routes are those of the default routing, which uses one of several
 * parallel links.
 */
#ifndef RLT_COLLECTIVES_SYNTHESIS_TACOS_H
#define RLT_COLLECTIVES_SYNTHESIS_TACOS_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

typedef struct rlt_tacos_edge {
    uint32_t src, dst;    /* members */
    uint32_t first, hops; /* links of the edge: path[first .. first + hops) */
    uint64_t bw_Bps;
    rlt_time latency_ps;
} rlt_tacos_edge;

typedef struct rlt_tacos_net {
    /* numbers of members, edges, links used by any edge, entries of `path` */
    uint32_t n, n_edges, n_links, n_path;
    uint32_t edge_capacity, path_capacity, link_capacity;
    rlt_tacos_edge *edges;
    uint32_t *path;
    uint64_t *link_Bps;
    uint32_t *user_first, *user; /* edges that use each link */
    uint32_t *out_first, *out;   /* edges that leave each member */
    uint32_t *in_first, *in;     /* edges that enter each member */
    bool uneven;                 /* whether edges differ in bandwidth or latency */
} rlt_tacos_net;

int rlt_tacos_net_create(const rlt_coll_request *req, rlt_tacos_net *out, rlt_error *err) RLT_MUST_USE;
void rlt_tacos_net_free(rlt_tacos_net *net);

/* One transfer of a chunk over an edge. */
typedef struct rlt_tacos_send {
    rlt_time start_ps, end_ps;
    uint32_t edge, chunk;
} rlt_tacos_send;

/*
 * A spreading task: every chunk goes from its owner to all members. If reversed, edges are used backwards;
 * the result, read backwards in time, is a reduction of every chunk to its owner.
 */
typedef struct rlt_tacos_job {
    const rlt_tacos_net *net;
    bool reversed;
    uint32_t chunks;
    const uint32_t *owner; /* owner of each chunk */
    const uint64_t *bytes; /* size of each chunk */
    const rlt_endpoint *endpoint;
    uint64_t seed;
    uint32_t restarts; /* most restarts; fewer if a single one takes long */
} rlt_tacos_job;

/* Fills sends[chunks * (n - 1)] in order of their start; *time_ps is the last arrival. Adds to *tried the
 * edges and chunks that it tried. */
int rlt_tacos_match(const rlt_tacos_job *job, rlt_tacos_send *sends, rlt_time *time_ps, uint64_t *tried,
                    rlt_error *err) RLT_MUST_USE;

/* Predicted time of a plan of "tacos": the sum of its phases. */
rlt_time rlt_tacos_time(const rlt_plan *plan);

#endif
