/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes of a dimension: each is one file with one constant struct, named in RLT_SHAPES.
 * Every shape is built, linked and routed in closed form, and its links come in pairs: as many enter a node
 * as leave it. Internal to net/.
 */
#ifndef RLT_NET_SHAPES_SHAPE_H
#define RLT_NET_SHAPES_SHAPE_H

#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"

/* How a route chooses where a shape leaves a choice. */
typedef struct rlt_pick {
    bool by_destination; /* D-mod-k: the shape takes its own function of the destination; else `value` */
    uint32_t value;      /* a hash or a running number: choice = value % choices */
} rlt_pick;

enum { RLT_MAX_SUBDIMS = 6 };

typedef struct rlt_shape {
    rlt_shape_info info;
    bool grid;     /* a product of lines or rings: f->number[1 .. f->number[0]] are their sizes */
    bool complete; /* every accelerator is next to every other: none relays */
    /* Fills f, of which n, shape and what the parameters say are set; spec was checked for size, bandwidth
     * and latency. */
    int (*build)(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err);
    /* Local nodes at the ends of a local link. */
    void (*ends)(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst);
    /* Writes the local links of the route between two different local accelerators, at most max_hops; returns
     * how many. */
    uint32_t (*route)(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links);
    /* Links that leave local accelerator a (all of class 0); NULL: f->degree. */
    uint32_t (*degree)(const rlt_factor *f, uint32_t a);
    /*
     * Symmetry; orbit NULL: none. translations: the sizes of the cyclic translations of the accelerators that
     * map links and routes onto themselves (at most RLT_MAX_SUBDIMS, their product = n; returns how many);
     * NULL: every permutation does. orbit: which links they take into each other; orbits are of equal size,
     * and the first `orbits` links are of one each.
     */
    uint32_t (*translations)(const rlt_factor *f, uint32_t *sizes);
    uint32_t (*orbits)(const rlt_factor *f);
    uint32_t (*orbit)(const rlt_factor *f, uint32_t link);
} rlt_shape;

/* The shapes: a new one is a file and a line here. */
#define RLT_SHAPES(X)                                                                                        \
    X(ring)                                                                                                  \
    X(fully_connected)                                                                                       \
    X(switch)                                                                                                \
    X(mesh)                                                                                                  \
    X(torus)                                                                                                 \
    X(fat_tree)                                                                                              \
    X(dragonfly)                                                                                             \
    X(rail_optimised)
#define RLT_X(name) extern const rlt_shape rlt_shape_##name;
RLT_SHAPES(RLT_X)
#undef RLT_X

/* Checks what all shapes share, finds the shape, and lets it build. */
int rlt_factor_build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err) RLT_MUST_USE;

/* Sum over the links that leave local accelerator a; as many enter it. */
uint64_t rlt_factor_egress(const rlt_factor *f, uint32_t a);

/* Symmetry of shapes with two kinds of links, even and odd ones, and one cyclic translation. */
uint32_t rlt_shape_one_cycle(const rlt_factor *f, uint32_t *sizes);
uint32_t rlt_shape_two_orbits(const rlt_factor *f);
uint32_t rlt_shape_parity(const rlt_factor *f, uint32_t link);

/* Mesh and torus: their sizes; returns how many. */
uint32_t rlt_shape_sub_sizes(const rlt_factor *f, uint32_t *sizes);

#endif
