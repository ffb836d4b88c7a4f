/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks of stacked dimensions as a design problem: iteration time and network cost as functions of the
 * bandwidth of every dimension (Won, Rashidi, Srinivasan, Krishna: LIBRA, ISPASS 2024, arXiv 2109.11762).
 * Closed forms, without latency and without filling and draining of the pipeline of chunks.
 * rlt_design_simulate runs the same iteration event by event.
 *
 * The bandwidth B_i of dimension i is what one accelerator can send into it in one direction. Times are
 * seconds and bandwidths bytes per second, in doubles. No event's time depends on them except through
 * rlt_design_simulate, which rounds bandwidths to whole bytes per second.
 *
 * A collective moves V_i bytes out of each accelerator in dimension i and takes max_i V_i / B_i. Collectives
 * with proportional V have one `shape` k, with share_ki = V_i / sum_i V_i. An iteration takes
 *
 *   T(B) = fixed + sum_k bytes_k tau_k + sum_j count_j max(a_j + p_j tau_u(j), b_j + q_j tau_w(j)),
 *   tau_k = max_i share_ki / B_i.
 *
 * bytes_k are the bytes sent in shape k. Each choice j has count_j equal layers, in which compute of a_j and
 * b_j seconds runs beside collectives of p_j and q_j bytes. T is convex in B, and log T in log B.
 *
 * Example: an all-reduce of 1 GB over ring:4 * switch:8 has V = (1.5 GB, 0.4375 GB). With B = (200 GB/s, 50
 * GB/s) it takes max(7.5 ms, 8.75 ms) = 8.75 ms.
 */
#ifndef RLT_WORKLOAD_DESIGN_DESIGN_H
#define RLT_WORKLOAD_DESIGN_DESIGN_H

#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_block { RLT_BLOCK_RING, RLT_BLOCK_FULL, RLT_BLOCK_SWITCH, RLT_BLOCKS } rlt_block;
/* Level of a dimension in the machine; prices depend on it. */
typedef enum rlt_level {
    RLT_LEVEL_CHIPLET,
    RLT_LEVEL_PACKAGE,
    RLT_LEVEL_NODE,
    RLT_LEVEL_POD,
    RLT_LEVELS
} rlt_level;
const char *rlt_block_name(rlt_block b); /* name of the shape, as in topologies */
const char *rlt_level_name(rlt_level l);

typedef struct rlt_design_dim {
    rlt_block block;
    rlt_level level;
    uint32_t size;
    bool in_network; /* its switches aggregate and multicast */
    rlt_time latency_ps;
} rlt_design_dim;

/* Dimensions innermost first. An accelerator's number is mixed radix, the first dimension fastest. */
typedef struct rlt_design_net {
    uint32_t n;
    bool ideal; /* as published: a group that has part of a dimension gets all of its bandwidth */
    rlt_design_dim dims[RLT_MAX_DIMS];
} rlt_design_net;

uint64_t rlt_design_size(const rlt_design_net *net);
/* Sets levels by position: the outermost is the pod, then node, package, chiplet. With two dimensions they
 * are package and pod. Dimensions further in than the chiplet are chiplet as well. */
void rlt_design_levels(rlt_design_net *net);

/* ---- traffic ---- */

/* Members of a group in each dimension; 1 if it does not extend there. */
typedef struct rlt_design_group {
    uint32_t size[RLT_MAX_DIMS];
} rlt_design_group;

/* Maps groups: model groups fill dimensions from the innermost, data groups from the outermost. If both end
 * in the same dimension they share it. RLT_ERANGE if sizes do not divide. */
int rlt_design_map(const rlt_design_net *net, uint32_t model, uint32_t data, rlt_design_group *inner,
                   rlt_design_group *outer, rlt_error *err) RLT_MUST_USE;

/*
 * Computes the bytes that each accelerator sends into each dimension; `bytes` as in collectives/collective.h.
 * From the innermost dimension outwards, with g members in dimension i and s bytes that reach it (s = `bytes`
 * at first):
 *   all-reduce      2 s (g-1)/g, or s if switches aggregate; then s /= g
 *   reduce-scatter  s (g-1)/g; then s /= g
 *   all-gather      as reduce-scatter, in reverse
 *   all-to-all      s (g-1)/g, without forwarding along a ring
 * Example: all-reduce of 1 GB over 4 x 8: 1.5 GB, then s = 0.25 GB and 2 * 0.25 * 7/8 = 0.4375 GB.
 * RLT_EUNSUPPORTED for other kinds.
 */
int rlt_design_traffic(const rlt_design_net *net, rlt_coll_kind kind, const rlt_design_group *g, double bytes,
                       double moved[RLT_MAX_DIMS], rlt_error *err) RLT_MUST_USE;

/* Returns how much longer a group of g of the n members of dimension i takes if it has only the links between
 * its members. Fully connected: (n-1)/(g-1). Ring: 2 for neighbours, whose way back is only along their own
 * line; n/g for members n/g apart, whose messages cross each other's groups. 1 in switches, for whole
 * dimensions, and in ideal networks. */
double rlt_design_handicap(const rlt_design_net *net, uint32_t i, uint32_t g, bool neighbours);

/* ---- workloads ---- */

typedef enum rlt_design_over { RLT_DESIGN_MODEL, RLT_DESIGN_DATA, RLT_DESIGN_EVERY } rlt_design_over;

typedef struct rlt_design_comm {
    bool any;
    rlt_coll_kind kind;
    rlt_design_over over;
    double bytes; /* as in collectives/collective.h */
} rlt_design_comm;

/* compute_s and comm: forward pass, input gradient, weight gradient. */
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
 * NO_OVERLAP: everything one after another. OVERLAP: in the backward pass a layer's input gradient I and its
 * collective c_i run beside its weight gradient W and its collective c_w: max(I + c_i, I + W + c_w).
 * `forward_passes`: how often the forward collectives run, 2 with recomputation. `forward_compute`: how often
 * its compute counts.
 */
typedef struct rlt_design_loop {
    bool overlap;
    double forward_passes, forward_compute, compute_scale;
} rlt_design_loop;
rlt_design_loop rlt_design_loop_default(void); /* no overlap, each factor 1 */

/* Reads ASTRA-sim 1.0's text of layers. A file without a policy communicates over model groups in the forward
 * pass and for input gradients, and over data groups for weight gradients. Its all-gathers give the share of
 * a rank. Set the sizes of groups before. */
int rlt_design_work_astra1(rlt_design_work *w, const char *path, rlt_error *err) RLT_MUST_USE;
/* Reads SimAI's text of layers, as SC22 published it, too. It gives the sizes of the groups: set those of any
 * division of the accelerators before. Forward passes that its checkpoints repeat are added to the layers,
 * unless `repeats`: the loop repeats all of them. RLT_EUNSUPPORTED: stages or expert groups. */
int rlt_design_work_simai(rlt_design_work *w, const char *path, bool repeats, rlt_error *err) RLT_MUST_USE;
/* Reads {"name": "...", "layers": [{"repeat": 1, "forward": {"compute": "5us", "collective": "all_reduce",
 * "bytes": "64MiB", "over": "model"}, "input": {...}, "weight": {...}}]}; bytes as in
 * collectives/collective.h. */
int rlt_design_work_json(rlt_design_work *w, const char *path, rlt_error *err) RLT_MUST_USE;
/* Takes the microbatches of a planned training, one after another. RLT_EUNSUPPORTED: pipeline, context,
 * expert or sequence parallelism, ZeRO 3, local SGD. Half of the backward compute is input gradient, half
 * weight gradient. Gradients of the last microbatch are all-reduced in the training's buckets if it overlaps
 * them, else at the end. */
int rlt_design_work_training(rlt_design_work *w, const rlt_training *t, rlt_error *err) RLT_MUST_USE;
/* Takes any trace: the device work and collectives of rank 0 in its first step, one after another. (Recorded
 * in parallel, they take less.) Collectives must be over model groups, data groups or all ranks. */
int rlt_design_work_program(rlt_design_work *w, const rlt_program *p, rlt_error *err) RLT_MUST_USE;
/* Adds a zeroed layer. NULL: out of memory, or too many layers. */
rlt_design_layer *rlt_design_work_add(rlt_design_work *w, rlt_error *err);
void rlt_design_work_free(rlt_design_work *w);

/* ---- time ---- */

typedef struct rlt_design_shape {
    double share[RLT_MAX_DIMS]; /* shares of the bytes sent, by dimension; the sum is 1 */
} rlt_design_shape;

/* max(seconds[0] + bytes[0] tau_shape[0], seconds[1] + bytes[1] tau_shape[1]), `count` times. Shape RLT_NONE:
 * no collective. */
typedef struct rlt_design_choice {
    double count, seconds[2], bytes[2];
    uint32_t shape[2];
} rlt_design_choice;

enum { RLT_DESIGN_SHAPES = 64, RLT_DESIGN_CHOICES = 4096 };

/* The terms of T(B), a plain value. Several workloads add up, each times a factor. */
typedef struct rlt_design_model {
    uint32_t n_dims, n_shapes, n_choices, room;
    double fixed_s;
    double compute_s; /* compute within the iteration, also beside collectives */
    rlt_design_shape shapes[RLT_DESIGN_SHAPES];
    double bytes[RLT_DESIGN_SHAPES]; /* by shape, one after another */
    rlt_design_choice *choices;      /* owned */
} rlt_design_model;

int rlt_design_model_add(rlt_design_model *m, const rlt_design_net *net, const rlt_design_work *w,
                         const rlt_design_loop *loop, double factor, rlt_error *err) RLT_MUST_USE;
void rlt_design_model_free(rlt_design_model *m);
/* Returns T(B). O(shapes x dimensions + choices). */
double rlt_design_time(const rlt_design_model *m, const double bw[RLT_MAX_DIMS]);
/* Splits a total bandwidth optimally, for one shape or for shapes on disjoint dimensions, without overlap:
 * B_i = S_k share_ki, with S_k in proportion to sqrt(bytes_k). Returns false if the model has no such form.
 * Dimensions without traffic get 0. */
bool rlt_design_closed_form(const rlt_design_model *m, double total, double bw[RLT_MAX_DIMS]);

/* ---- cost ---- */

/* Dollars per unit of bandwidth (GB/s): of a link in one direction, a switch port, a network interface. */
typedef struct rlt_design_prices {
    char name[32];
    char source[160];
    double link[RLT_LEVELS], switch_port[RLT_LEVELS], nic[RLT_LEVELS];
    bool pairs;             /* the price of a link covers both directions */
    bool lacks[RLT_LEVELS]; /* levels without prices in the file: no network can be there */
} rlt_design_prices;

/* Built-in tables; NULL past the end. */
const rlt_design_prices *rlt_design_prices_at(uint32_t i);
int rlt_design_prices_read(const char *path, rlt_design_prices *out, rlt_error *err) RLT_MUST_USE;

/*
 * Cost of a network: accelerators x (npu + sum_i c_i B_i). For rings and fully connected dimensions c_i is
 * the price of a link. For switches it is link + switch port + interface, with one switch that is large
 * enough. With a radix, a switch is a folded Clos of t tiers, the smallest t with 2 (radix/2)^t ports: t
 * links and 2 t - 1 switch ports per interface. Example: radix 64 and 1024 ports need t = 2 (2048 ports), 2
 * links and 3 switch ports per interface. `rail`: a switch joins only accelerators with the same place in the
 * dimensions further in; else a Clos also joins everything further in.
 */
typedef struct rlt_design_cost {
    const rlt_design_prices *prices;
    double unit_Bps; /* unit of bandwidth of the prices: 1e9, or 2^30 */
    double npu;      /* dollars per accelerator beside the network */
    /* added to each price, times the number of the dimension from 1, so that equal prices differ */
    double tie_break;
    uint32_t radix; /* ports of a switch; 0: as many as needed */
    bool rail;
} rlt_design_cost;

/* Computes dollars per (byte per second and accelerator), by dimension. */
void rlt_design_cost_rates(const rlt_design_cost *c, const rlt_design_net *net, double per_Bps[RLT_MAX_DIMS]);
double rlt_design_cost_total(const rlt_design_cost *c, const rlt_design_net *net,
                             const double bw[RLT_MAX_DIMS]);
/* Returns the tiers of a switched dimension; 1 without a radix. */
uint32_t rlt_design_tiers(const rlt_design_cost *c, const rlt_design_net *net, uint32_t dim);

/* ---- simulation ---- */

/* Limits of the number of chunks per collective: at most RLT_DESIGN_CHUNKS and, if it is not given, chunks of
 * at least RLT_DESIGN_CHUNK_BYTES. Smaller chunks would be bound by latency. */
enum { RLT_DESIGN_CHUNKS = 64, RLT_DESIGN_CHUNK_BYTES = 256 << 10 };

typedef struct rlt_design_how {
    uint32_t chunks;   /* per collective; 0: by its size */
    bool all_switches; /* simulates every dimension as a switch of its size */
    rlt_endpoint endpoint;
} rlt_design_how;

typedef struct rlt_design_run {
    rlt_time time_ps, compute_ps;
    /* by dimension: bytes that accelerators sent over the bytes they could have sent in that time */
    double utilization[RLT_MAX_DIMS];
    uint64_t events;
    uint32_t collectives; /* simulated collectives: each kind and size once, and each pair that contends */
    /* Layers whose gradient collectives use the same links at the same time: `contending` ones were simulated
     * together, `composed` ones were not, although they share links. */
    uint32_t contending, composed;
} rlt_design_run;

/*
 * Simulates the iteration. Each collective is the hierarchical algorithm in chunks on its group, with one
 * accelerator per class. Compute and collectives follow the order of the loop. A layer ends when all of it
 * has ended, so equal layers are simulated once. If switches aggregate, an all-reduce uses the pattern nvls,
 * which sends s (g+1)/g: a member's own part goes to the switch as well.
 *
 * Simultaneous collectives share the links that both use, except in two cases, counted in `composed`: model
 * and data groups that both have part of a ring, and a collective over everything beside one over part of a
 * ring or fully connected dimension.
 */
int rlt_design_simulate(const rlt_design_net *net, const rlt_design_work *w, const rlt_design_loop *loop,
                        const double bw[RLT_MAX_DIMS], const rlt_design_how *how, rlt_design_run *out,
                        rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
