/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A factor: the small graph of one dimension of a product. Local nodes 0 .. n-1 are its accelerators, n ..
 * n+switches-1 its switches. Local links 0 .. links-1 come in an order that the shape documents. Nothing is
 * stored: the shape computes the ends of a link and the links of a route from a few numbers, so a factor of a
 * million accelerators costs nothing. Internal to net/.
 */
#ifndef RLT_NET_SHAPES_FACTOR_H
#define RLT_NET_SHAPES_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

enum { RLT_FACTOR_NUMBERS = 20, RLT_FACTOR_GIVEN = 2 };

/* 1 PB/s: far above any link; keeps every sum of bandwidths within 64 bits. */
#define RLT_MAX_LINK_Bps 1000000000000000u

enum { RLT_MAX_DIM_PARAMS = 8 };

typedef struct rlt_dim_spec {
    /* A whole topology in the place of a shape, or NULL; the other fields but `where` are then unused. A
     * graph is taken over: the builder sets *whole to NULL. */
    struct rlt_topology **whole;
    const char *shape;
    uint32_t size;        /* accelerators in the dimension */
    uint64_t bw_Bps;      /* bandwidth of one accelerator into the dimension, or 0 if link_bw_Bps is given */
    uint64_t link_bw_Bps; /* bandwidth of one link, or 0 */
    rlt_time latency_ps;  /* latency of one link */
    uint32_t ports_per_node; /* consecutive ports of one node, for shapes that tell them apart; 0: 1 */
    uint32_t n_params; /* parameters of the shape: "sizes=4x4x4", "levels=3", "oversubscription=2", ... */
    struct {
        const char *name, *value;
    } params[RLT_MAX_DIM_PARAMS];
    const char *where; /* place for errors, such as "fabric.json:12:5: dims[1]"; may be NULL */
} rlt_dim_spec;

struct rlt_shape;

/* A class of links: equal bandwidth and latency. */
typedef struct rlt_factor_links {
    uint64_t bw_Bps;
    rlt_time latency_ps;
} rlt_factor_links;

typedef struct rlt_factor {
    const struct rlt_shape *shape;
    uint32_t n, switches, links;
    uint8_t in_network; /* flags RLT_CAN_... of all its switches */
    uint32_t max_hops;  /* number of links on its longest route */
    rlt_time max_ps;    /* latency of its slowest route */
    uint64_t bw_Bps;    /* bandwidth of one accelerator into the dimension; 0 if it differs between them */
    uint32_t split;     /* links below it are of cls[0], the others of cls[1] */
    rlt_factor_links cls[2];
    uint32_t degree[2]; /* links of each class that leave an accelerator, if the shape's `degree` is NULL */
    uint32_t number[RLT_FACTOR_NUMBERS]; /* numbers of the shape; part of a topology's hash */
    uint32_t given[RLT_FACTOR_GIVEN];    /* parameters that only `build` needs */
    const struct rlt_part *part;         /* a graph (net/topology/part.h); NULL: a shape in closed form */
} rlt_factor;

static inline const rlt_factor_links *rlt_factor_class(const rlt_factor *f, uint32_t link)
{
    return &f->cls[link >= f->split];
}
/* Helpers for shapes: */

/* Rows of parameter tables: a whole number of at least 1; the operations of switches. */
#define RLT_DIM_COUNT(parameter, to, ...)                                                                    \
    {                                                                                                        \
        (parameter), .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_factor, to), .min = 1,                           \
                     .max = RLT_MAX_ACCELERATORS, __VA_ARGS__                                                \
    }
#define RLT_DIM_IN_NETWORK RLT_IN_NETWORK(RLT_FIELD(rlt_factor, in_network))
/* Returns true if a parameter is given. */
bool rlt_dim_given(const rlt_dim_spec *spec, const char *name);
/* Sets class 0 from the specification. A link carries 1/share of an accelerator's bandwidth into the
 * dimension. */
int rlt_factor_share(const rlt_dim_spec *spec, rlt_factor *f, uint32_t share, rlt_error *err) RLT_MUST_USE;
/* Checks and sets the counts, which may exceed 32 bits. */
int rlt_factor_counts(const rlt_dim_spec *spec, rlt_factor *f, uint64_t switches, uint64_t links,
                      rlt_error *err) RLT_MUST_USE;
/* Sets the longest route, whose links are all of class 0. */
int rlt_factor_longest(const rlt_dim_spec *spec, rlt_factor *f, uint32_t hops, rlt_error *err) RLT_MUST_USE;

#endif
