/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Members as a grid: dimensions, a pattern inside each, and phases that run one dimension after another.
 * Shared by the algorithms that work dimension by dimension. Internal to collectives/.
 *
 * Blocks are mixed radix as members are. A lane visits the dimensions in some order: upwards and cyclically
 * from its first one, or as a schedule says. After scattering in some dimensions, a member works on the
 * blocks that have its own digits there; the other digits are free. These blocks must form one span:
 *   - for the cyclic orders they always do;
 *   - if a schedule orders an all-reduce, whose blocks belong to nobody, blocks are numbered in the lane's
 *     order;
 *   - if a schedule orders shares, it only takes orders for which they do.
 *
 * Example: a 2 x 3 grid has blocks 0 .. 5 = d0 + 2 d1. After scattering in dimension 0, the member with
 * coordinate 1 works on the blocks 1, 3, 5: first 1, run 1, stride 2, reps 3.
 *
 * Patterns inside a dimension of g members. A message carries all free blocks of the digits for which it is
 * meant.
 *   ring                g - 1 steps between neighbours (rooted kinds: a chain; gather, scatter: direct)
 *   direct              all g - 1 messages at once
 *   halving_doubling    log2(g) exchanges: distances double while sizes halve, and back (R. Thakur, R.
 *                       Rabenseifner, W. Gropp, IJHPCA 2005); rooted kinds: a binomial tree
 *   recursive_doubling  all-reduce, barrier: log2(g) exchanges of everything that the member works on, so the
 *                       dimensions above work on all of it, too; other kinds: as halving_doubling
 *   nvls                The dimension's switch adds up and replicates, as in the algorithm of that name. A
 *                       member fetches the sum of its digits from all members, once they have announced that
 *                       their data are ready, and in the end stores it to them. Fetched blocks are not
 *                       written again, so sums use a buffer of their own. All-reduce, reduce-scatter,
 *                       all-gather.
 *
 * If g is not a power of two, let p be the largest power of two below it. In all-reduce and barrier, the
 * doubling patterns then begin with a step in which the last g - p members send their data to the first g -
 * p. They receive the result at the end. The other kinds need a power of two.
 */
#ifndef RLT_COLLECTIVES_ALGORITHMS_GRID_H
#define RLT_COLLECTIVES_ALGORITHMS_GRID_H

#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/* Sizes above 1 have a product of at most 2^24. */
enum { RLT_GRID_DIMS = 24, RLT_GRID_PHASES = 2 * RLT_GRID_DIMS };

typedef enum rlt_inside {
    RLT_IN_RING,
    RLT_IN_DIRECT,
    RLT_IN_HALVING,
    RLT_IN_RECURSIVE,
    RLT_IN_NVLS
} rlt_inside;
typedef enum rlt_grid_op { RLT_OP_SCATTER, RLT_OP_GATHER, RLT_OP_EXCHANGE, RLT_OP_REDUCE } rlt_grid_op;

typedef struct rlt_grid_dim {
    uint32_t size, stride;         /* in members; stride is the product of the sizes below */
    uint32_t digits, block_stride; /* in blocks */
    uint32_t core;                 /* largest power of two not above size */
    uint8_t rounds, inside;        /* log2(core); rlt_inside */
    uint64_t sums;                 /* index of its sums of counts */
    uint64_t bw_Bps;               /* bandwidth of a member into it under its pattern; 0: unknown */
    rlt_time hop_ps;               /* latency between two of its members */
} rlt_grid_dim;

typedef struct rlt_phase {
    uint8_t op, dim;
    uint8_t from, to; /* buffers; they differ in an exchange, and where the network adds up */
    /* the members announce what the network fetches, because it is not ready from the start */
    bool announced;
    bool plain;      /* the free blocks are exactly those of the digits above */
    uint32_t before; /* bit d: the lane scatters in dimension d before this phase */
    uint32_t stride; /* stride of the blocks of the dimension's digits */
    /* The free blocks: runs of `run` blocks, `apart` (or, if 0, the step's stride) blocks apart, below
     * `end`. */
    uint32_t run, apart, end;
    uint32_t first, steps;
    /* chunk and step that must be over before, by a schedule; RLT_NONE: none */
    uint32_t after_chunk, after_step;
} rlt_phase;

/* Phases of the lanes that visit the dimensions in the same order. */
typedef struct rlt_order {
    uint32_t n_phases, n_steps;
    bool sums;                       /* it adds up before it gathers, if it gathers at all */
    uint32_t strides[RLT_GRID_DIMS]; /* block strides in the lane's own numbering */
    rlt_phase phases[RLT_GRID_PHASES];
} rlt_order;

typedef struct rlt_grid {
    uint32_t n_dims, blocks, n_orders;
    uint32_t n_nvls; /* number of dimensions whose switches add up */
    bool recoded;    /* blocks have other digits than members, or digits in another order */
    bool ring;       /* some dimension is a real ring of more than two members */
    bool renumbered; /* blocks are numbered in the order of their lane */
    bool scheduled;  /* orders are per chunk, and each phase names the one that it waits for */
    rlt_grid_dim dims[RLT_GRID_DIMS];
    rlt_order *orders;  /* order i begins with dimension i; scheduled: order i belongs to chunk i */
    rlt_lane *lanes;    /* the order of a lane is channel mod n_orders; scheduled: chunk */
    uint64_t *sums;     /* sums of counts of each lane; NULL without counts */
    uint64_t sums_lane; /* number of sums per lane */
} rlt_grid;

static inline bool rlt_shape_is(const char *shape, const char *name)
{
    return shape && strcmp(shape, name) == 0;
}

static inline uint32_t rlt_coordinate(const rlt_grid_dim *d, uint32_t member)
{
    return member / d->stride % d->size;
}

/* Member with coordinate `to` instead of `from` in a dimension. */
static inline uint32_t rlt_with_coordinate(const rlt_grid_dim *d, uint32_t member, uint32_t from, uint32_t to)
{
    return member - from * d->stride + to * d->stride;
}

/* Appends a dimension; a size of 1 appends nothing. shape and pattern come from the request and may be NULL.
 * `shares`: every kind, all-reduce included, must leave a share to each member. RLT_ESCHEMA,
 * RLT_EUNSUPPORTED. */
int rlt_grid_add(const rlt_plan *plan, rlt_grid *g, uint32_t size, const char *shape, const char *pattern,
                 bool shares, rlt_error *err) RLT_MUST_USE;
/* Sets the plan's buffers, result and verbs, once all dimensions are added. RLT_EUNSUPPORTED if the network
 * cannot perform the verbs. */
int rlt_grid_verbs(rlt_plan *plan, const rlt_grid *g, rlt_error *err) RLT_MUST_USE;
/* Makes plan->data a copy of the grid, with its lanes, `orders` orders, and the phases of the plan's kind.
 * plan->lanes and plan->blocks must be set. */
int rlt_grid_create(rlt_plan *plan, const rlt_grid *shape, uint32_t orders, uint32_t chunks,
                    rlt_error *err) RLT_MUST_USE;

/* Whether the free blocks form one span in each step of a scatter in dimension `dim`, with the dimensions of
 * the bits of `left` still to come. */
bool rlt_grid_spans(const rlt_grid *g, uint32_t dim, uint32_t left);
/* Finds the free dimensions: 0 .. *low-1 and *from .. *to-1, the latter unless they are the same. Returns
 * false if there are others. */
bool rlt__grid_free(uint32_t dim, uint32_t left, uint32_t *low, uint32_t *from, uint32_t *to);

uint32_t rlt_grid_steps(const rlt_grid *g, uint32_t lane);
void rlt_grid_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out);

/* Reach of the network's verbs, as in rlt_algorithm. */
void rlt_grid_reach(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out);
uint32_t rlt_grid_symmetry(const rlt_plan *plan, uint32_t *sizes);

/* Broadcast, reduce, gather and scatter over the grid in plan->data. */
uint32_t rlt_grid_rooted_steps(const rlt_plan *plan, uint32_t member, uint32_t lane);
void rlt_grid_rooted_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out);

#endif
