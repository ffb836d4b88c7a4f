/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes of a dimension: each is one file with one constant struct, listed in RLT_SHAPES. Every shape is
 * built, linked and routed in closed form. As many links enter a node as leave it. Internal to net/.
 */
#ifndef RLT_NET_SHAPES_SHAPE_H
#define RLT_NET_SHAPES_SHAPE_H

#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"

/* The choice of a route among equal options. */
typedef struct rlt_pick {
    bool by_destination; /* D-mod-k: the shape uses its own function of the destination; otherwise `value` */
    uint32_t value;      /* a hash or a running number: option = value % options */
} rlt_pick;

enum { RLT_MAX_SUBDIMS = 6 };

/* Links of blocks: `each` of block 0 from link `first` on, then as many of block 1, and so on. */
typedef struct rlt_block_run {
    uint32_t first, each;
} rlt_block_run;
enum { RLT_MAX_BLOCK_RUNS = 3 };

typedef struct rlt_shape {
    rlt_shape_info info;
    bool grid;     /* a product of lines or rings; f->number[1 .. f->number[0]] are their sizes */
    bool complete; /* true if all accelerators are adjacent, so that none relays */
    /* Fills f. n, shape and parameters are already set; size, bandwidth and latency of spec are already
     * checked. */
    int (*build)(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err);
    /* Returns the local nodes at the ends of a local link. */
    void (*ends)(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst);
    /* Writes the local links of the route between two different local accelerators, at most max_hops. Returns
     * their number. */
    uint32_t (*route)(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links);
    /* Returns the number of links that leave local accelerator a (all of class 0); NULL: f->degree. */
    uint32_t (*degree)(const rlt_factor *f, uint32_t a);
    /*
     * Symmetry; orbit NULL: none.
     *
     * translations writes the sizes of the cyclic translations of the accelerators that map links and routes
     * onto themselves, and returns how many there are (at most RLT_MAX_SUBDIMS; their product is n). NULL:
     * every permutation does. orbit returns the class of a link under them. All orbits have equal size, and
     * the first `orbits` links belong to different ones.
     *
     *   Example: ring:6 has one translation of size 6 and two orbits: even links (clockwise), odd links.
     */
    uint32_t (*translations)(const rlt_factor *f, uint32_t *sizes);
    uint32_t (*orbits)(const rlt_factor *f);
    uint32_t (*orbit)(const rlt_factor *f, uint32_t link);
    /* Returns the link in the place of this one when every node's ports move on, until the port is the node's
     * first. Routes move along. RLT_NONE: they do not. NULL: none is known. */
    uint32_t (*turned)(const rlt_factor *f, uint32_t link);
    /* Returns true if all ports at one place in their nodes hang on one switch. NULL: false. */
    bool (*one_leaf)(const rlt_factor *f);
    /*
     * Blocks: `block` returns the least b, a divisor of n, such that any renumbering that moves whole blocks
     * of b consecutive accelerators maps links and D-mod-k routes onto themselves; 0: there is none. A
     * link then belongs to one block, or to none if it is on no route. block_runs writes where the links of
     * blocks are, and returns the number of runs; a link of one block takes the place of that at the same
     * place of another. NULL: there are no blocks.
     *
     *   Example: a fat tree of two levels with 8 accelerators and 4 spines: b = 8 is a leaf; its links are 8
     *   cables to accelerators and 4 to spines, each up and down: {0, 16} and {2 n, 8}.
     */
    uint32_t (*block)(const rlt_factor *f);
    uint32_t (*block_runs)(const rlt_factor *f, rlt_block_run runs[RLT_MAX_BLOCK_RUNS]);
    /* Returns how many accelerators, which divide n, are two links from each other. NULL: all. */
    uint32_t (*leaf)(const rlt_factor *f);
} rlt_shape;

/* The shapes. A new shape is one file and one line here. */
#define RLT_SHAPES(X)                                                                                        \
    X(ring)                                                                                                  \
    X(fully_connected)                                                                                       \
    X(switch)                                                                                                \
    X(mesh)                                                                                                  \
    X(torus)                                                                                                 \
    X(fat_tree)                                                                                              \
    X(dragonfly)                                                                                             \
    X(rail)
#define RLT_X(name) extern const rlt_shape rlt_shape_##name;
RLT_SHAPES(RLT_X)
#undef RLT_X

/* Checks what all shapes have in common, finds the shape, and calls its `build`. */
int rlt_factor_build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err) RLT_MUST_USE;

/* Returns the bandwidth of the links that leave local accelerator a; the same bandwidth enters it. */
uint64_t rlt_factor_egress(const rlt_factor *f, uint32_t a);

/* Symmetry of shapes with two orbits, even and odd links, and one cyclic translation. */
uint32_t rlt_shape_one_cycle(const rlt_factor *f, uint32_t *sizes);
uint32_t rlt_shape_two_orbits(const rlt_factor *f);
uint32_t rlt_shape_parity(const rlt_factor *f, uint32_t link);

/* Mesh and torus: writes their sizes and returns how many. */
uint32_t rlt_shape_sub_sizes(const rlt_factor *f, uint32_t *sizes);

#endif
