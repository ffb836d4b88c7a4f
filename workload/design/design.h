/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks of stacked dimensions as a design problem: how long an iteration takes and what the network costs,
 * as functions of the bandwidth of every dimension (Won, Rashidi, Srinivasan, Krishna: LIBRA, ISPASS 2024,
 * arXiv 2109.11762). Closed forms only, without latency and without the filling and draining of a pipeline of
 * chunks; rlt_design_simulate runs the same iteration event by event.
 *
 * Bandwidth of a dimension is what one accelerator can send into it in one direction. Times are seconds,
 * bandwidths bytes a second, in doubles: nothing here decides an event's time but through
 * rlt_design_simulate, which rounds bandwidths to whole bytes a second.
 *
 * A collective moves V_i bytes out of each accelerator in dimension i and takes max_i V_i / B_i. Collectives
 * whose V are proportional are one `shape`, so that an iteration is
 *
 *   T(B) = fixed + sum_k bytes_k tau_k + sum_j count_j max(a_j + p_j tau_u(j), b_j + q_j tau_w(j)),
 *   tau_k = max_i share_ki / B_i,
 *
 * which is convex in B, and log T in log B.
 */
#ifndef RLT_WORKLOAD_DESIGN_DESIGN_H
#define RLT_WORKLOAD_DESIGN_DESIGN_H

#include "collectives/collective.h"
#include "net/topology/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_block { RLT_BLOCK_RING, RLT_BLOCK_FULL, RLT_BLOCK_SWITCH, RLT_BLOCKS } rlt_block;
/* Where a dimension is in the machine: its prices. */
typedef enum rlt_level {
    RLT_LEVEL_CHIPLET,
    RLT_LEVEL_PACKAGE,
    RLT_LEVEL_NODE,
    RLT_LEVEL_POD,
    RLT_LEVELS
} rlt_level;
const char *rlt_block_name(rlt_block b); /* as topologies name the shape */
const char *rlt_level_name(rlt_level l);

typedef struct rlt_design_dim {
    rlt_block block;
    rlt_level level;
    uint32_t size;
    bool in_network; /* its switches add up and replicate */
    rlt_time latency_ps;
} rlt_design_dim;

/* Dimensions innermost first; an accelerator's number is mixed radix, the first fastest. */
typedef struct rlt_design_net {
    uint32_t n;
    bool ideal; /* a group that has part of a dimension gets all of its bandwidth, as published */
    rlt_design_dim dims[RLT_MAX_DIMS];
} rlt_design_net;

uint64_t rlt_design_size(const rlt_design_net *net);
/* Levels by position: the outermost is the pod, then node, package, chiplet; two dimensions are package and
 * pod, and what lies further in than the chiplet is chiplet too. */
void rlt_design_levels(rlt_design_net *net);

/* ---- traffic ---- */

/* Members of a group in each dimension, 1 where it does not reach. */
typedef struct rlt_design_group {
    uint32_t size[RLT_MAX_DIMS];
} rlt_design_group;

/* Model groups fill dimensions from the innermost, data groups from the outermost; where both end in the same
 * dimension they share it. RLT_ERANGE where sizes do not divide. */
int rlt_design_map(const rlt_design_net *net, uint32_t model, uint32_t data, rlt_design_group *inner,
                   rlt_design_group *outer, rlt_error *err) RLT_MUST_USE;

/*
 * Bytes that each accelerator sends into each dimension; `bytes` as in collectives/collective.h. With s the
 * bytes that reach dimension i and g its members:
 *   all-reduce      2 s (g-1)/g innermost first, s /= g; where switches add up s
 *   reduce-scatter  s (g-1)/g, s /= g;  all-gather the same, backwards
 *   all-to-all      s (g-1)/g, forwarding along a ring not counted
 * RLT_EUNSUPPORTED for other kinds.
 */
int rlt_design_traffic(const rlt_design_net *net, rlt_coll_kind kind, const rlt_design_group *g, double bytes,
                       double moved[RLT_MAX_DIMS], rlt_error *err) RLT_MUST_USE;

/* How much longer a group of g of the n members of dimension i takes for what it sends, where it has only the
 * links between its members: fully connected (n-1)/(g-1); in a ring 2 for neighbours, whose ring has a way
 * back only along their own line, and n/g for members n/g apart, whose messages cross each other's groups. 1
 * in switches, for whole dimensions, and where the network is ideal. */
double rlt_design_handicap(const rlt_design_net *net, uint32_t i, uint32_t g, bool neighbours);

/* ---- what is trained ---- */

typedef enum rlt_design_over { RLT_DESIGN_MODEL, RLT_DESIGN_DATA, RLT_DESIGN_EVERY } rlt_design_over;

typedef struct rlt_design_comm {
    bool any;
    rlt_coll_kind kind;
    rlt_design_over over;
    double bytes; /* as in collectives/collective.h */
} rlt_design_comm;

/* Forward pass, input gradient, weight gradient. */
typedef struct rlt_design_layer {
    double compute_s[3];
    rlt_design_comm comm[3];
} rlt_design_layer;

typedef struct rlt_design_work {
    char name[96];
    rlt_design_layer *layers; /* owned */
    uint32_t n, room;
    uint32_t model, data; /* sizes of groups */
    uint64_t hash;
} rlt_design_work;

/*
 * NO_OVERLAP: everything one after another. OVERLAP: going back, a layer's input gradient and its collective
 * run beside its weight gradient and that one's: max(I + c_i, I + W + c_w). `forward_passes`: how often the
 * forward collectives run, 2 where activations are computed again; `forward_compute`: how often its compute
 * counts.
 */
typedef struct rlt_design_loop {
    bool overlap;
    double forward_passes, forward_compute, compute_scale;
} rlt_design_loop;
rlt_design_loop rlt_design_loop_default(void); /* no overlap, all once */

/* Reads ASTRA-sim 1.0's text of layers; a file without a policy communicates over model groups forward and in
 * input gradients, over data groups in weight gradients. All-gathers there tell the share of a rank. The
 * sizes of groups must be set before. */
int rlt_design_work_astra1(rlt_design_work *w, const char *path, rlt_error *err) RLT_MUST_USE;
/* {"name": "...", "layers": [{"repeat": 1, "forward": {"compute": "5us", "collective": "all_reduce", "bytes":
 * "64MiB", "over": "model"}, "input": {...}, "weight": {...}}]}; bytes as in collectives/collective.h. */
int rlt_design_work_json(rlt_design_work *w, const char *path, rlt_error *err) RLT_MUST_USE;
/* One microbatch of a planned training without pipeline, context and expert parallelism. Backward compute is
 * half input, half weight gradient; gradients are all-reduced in the training's buckets where it overlaps
 * them, else at the end. */
int rlt_design_work_training(rlt_design_work *w, const rlt_training *t, rlt_error *err) RLT_MUST_USE;
/* Any trace: what rank 0 does in its first step, its device work and collectives one after another (beside
 * each other, as recorded, they take less). Collectives must be over model groups, data groups or all. */
int rlt_design_work_program(rlt_design_work *w, const rlt_program *p, rlt_error *err) RLT_MUST_USE;
/* The next layer, zeroed; NULL: out of memory, or too many. */
rlt_design_layer *rlt_design_work_add(rlt_design_work *w, rlt_error *err);
void rlt_design_work_free(rlt_design_work *w);

/* ---- time ---- */

typedef struct rlt_design_shape {
    double share[RLT_MAX_DIMS]; /* of the bytes sent, by dimension; sum 1 */
} rlt_design_shape;

/* max(seconds[0] + bytes[0] tau_shape[0], seconds[1] + bytes[1] tau_shape[1]), `count` times; shape RLT_NONE:
 * no collective. */
typedef struct rlt_design_choice {
    double count, seconds[2], bytes[2];
    uint32_t shape[2];
} rlt_design_choice;

enum { RLT_DESIGN_SHAPES = 64, RLT_DESIGN_CHOICES = 4096 };

/* A value; several workloads add up, each times a factor. */
typedef struct rlt_design_model {
    uint32_t n_dims, n_shapes, n_choices, room;
    double fixed_s;
    double compute_s; /* of which, or beside collectives, compute */
    rlt_design_shape shapes[RLT_DESIGN_SHAPES];
    double bytes[RLT_DESIGN_SHAPES]; /* one after another */
    rlt_design_choice *choices;      /* owned */
} rlt_design_model;

int rlt_design_model_add(rlt_design_model *m, const rlt_design_net *net, const rlt_design_work *w,
                         const rlt_design_loop *loop, double factor, rlt_error *err) RLT_MUST_USE;
void rlt_design_model_free(rlt_design_model *m);
/* O(shapes x dimensions + choices). */
double rlt_design_time(const rlt_design_model *m, const double bw[RLT_MAX_DIMS]);
/* The best split of a total, for one shape or for shapes on dimensions of their own, without overlap:
 * B_i = S_k share_ki, S_k in proportion to sqrt(bytes_k). False: no such form. Dimensions that nothing uses
 * get 0. */
bool rlt_design_closed_form(const rlt_design_model *m, double total, double bw[RLT_MAX_DIMS]);

/* ---- cost ---- */

/* Dollars for each unit of bandwidth (GB/s): of a link one way, a switch port, a network interface. */
typedef struct rlt_design_prices {
    char name[32];
    char source[160];
    double link[RLT_LEVELS], switch_port[RLT_LEVELS], nic[RLT_LEVELS];
    bool pairs;             /* a link's price is for both its directions */
    bool lacks[RLT_LEVELS]; /* a file says nothing of this level: no network can be there */
} rlt_design_prices;

/* Built-in tables; NULL past the end. */
const rlt_design_prices *rlt_design_prices_at(uint32_t i);
int rlt_design_prices_read(const char *path, rlt_design_prices *out, rlt_error *err) RLT_MUST_USE;

/*
 * What a network costs: accelerators x (npu + sum_i c_i B_i), c_i the link's price for rings and fully
 * connected dimensions; for switches link + switch + interface, one switch as large as need be, or with a
 * radix a folded Clos of t tiers, the fewest with 2 (radix/2)^t ports: t links and 2 t - 1 switch ports for
 * each interface. `rail`: accelerators meet in a switch only with those of the same place in the dimensions
 * further in; else a Clos joins everything that lies further in, too.
 */
typedef struct rlt_design_cost {
    const rlt_design_prices *prices;
    double unit_Bps;  /* what prices are for: 1e9, or 2^30 */
    double npu;       /* dollars for each accelerator beside the network */
    double tie_break; /* added to each price, times the number of the dimension from 1: equal ones differ */
    uint32_t radix;   /* ports of a switch; 0: as large as need be */
    bool rail;
} rlt_design_cost;

/* Dollars a byte a second and accelerator, by dimension. */
void rlt_design_cost_rates(const rlt_design_cost *c, const rlt_design_net *net, double per_Bps[RLT_MAX_DIMS]);
double rlt_design_cost_total(const rlt_design_cost *c, const rlt_design_net *net,
                             const double bw[RLT_MAX_DIMS]);
/* Tiers of a switched dimension; 1 without a radix. */
uint32_t rlt_design_tiers(const rlt_design_cost *c, const rlt_design_net *net, uint32_t dim);

/* ---- simulation ---- */

/* Chunks of a collective: at most so many, of at least so many bytes where the number is not given: smaller
 * ones would be bound by latency. */
enum { RLT_DESIGN_CHUNKS = 64, RLT_DESIGN_CHUNK_BYTES = 256 << 10 };

typedef struct rlt_design_how {
    uint32_t chunks;   /* of each collective; 0: by its size */
    bool all_switches; /* every dimension as a switch of its size */
    rlt_endpoint endpoint;
} rlt_design_how;

typedef struct rlt_design_run {
    rlt_time time_ps, compute_ps;
    double utilization[RLT_MAX_DIMS]; /* bytes that accelerators sent over what they could in that time */
    uint64_t events;
    uint32_t collectives; /* simulated, each kind and size once, and each two that contend */
    /* Layers whose gradients' collectives are at the same links at one time: those that contend there, and
     * those that do not although they would. */
    uint32_t contending, composed;
} rlt_design_run;

/*
 * The iteration, event by event: each collective by the hierarchical algorithm in chunks on its group, one
 * accelerator of each class; compute and collectives in the order of the loop. A layer ends when all of it
 * has ended, so that equal layers are simulated once. Where switches add up, an all-reduce has them do it by
 * the pattern nvls, which sends (g+1)/g s: a member's own part goes to the switch, too.
 *
 * Collectives that run beside each other share the links that both use, but for two cases, counted in
 * `composed`: model and data groups that both have part of a ring, and a collective over everything beside
 * one over part of a ring or fully connected dimension.
 */
int rlt_design_simulate(const rlt_design_net *net, const rlt_design_work *w, const rlt_design_loop *loop,
                        const double bw[RLT_MAX_DIMS], const rlt_design_how *how, rlt_design_run *out,
                        rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
