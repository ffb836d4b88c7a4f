/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Members as a grid: dimensions, a pattern inside each, and phases that run one dimension after the other.
 * Shared by the algorithms that work dimension by dimension. Internal to collectives/.
 *
 * Blocks are mixed radix as members are. A lane takes the dimensions in an order: from one of
 * them on, upwards and round, or as a schedule says. After a scatter in some dimensions a member
 * works on the blocks whose digits there are its own; the other digits are free. In the orders in
 * use these blocks are always one span:
 *   - from one dimension on upwards this is always so;
 *   - where a schedule orders an all-reduce, whose blocks are anybody's, blocks are numbered in the lane's
 *     order;
 *   - where it orders shares, it takes only orders for which it is so.
 *
 * Patterns inside a dimension of g members, in which a message carries all blocks of the digits it is for:
 *   ring                g - 1 steps between neighbours (rooted kinds: a chain; gather, scatter: direct)
 *   direct              all g - 1 messages at once
 *   halving_doubling    log2(g) exchanges: distances double while what is exchanged halves, and back (R.
 *                       Thakur, R. Rabenseifner, W. Gropp, IJHPCA 2005); rooted kinds: a binomial tree
 *   recursive_doubling  all-reduce, barrier: log2(g) exchanges of all that the member works on, and no share
 *                       of it for the dimensions above; else as halving_doubling
 *   nvls                the dimension's switch adds up and replicates, as in the algorithm of that name: a
 *                       member fetches the sum of its digits from all members, once they have said that
 *                       theirs are ready, and in the end stores it to them. Fetched blocks are not written to
 *                       again, so the sums are in a buffer of their own. All-reduce, reduce-scatter,
 *                       all-gather.
 *
 * The two doubling patterns where g is no power of two, with p the largest power below: in all-reduce and
 * barrier the last g - p members hand what they have to the first ones before the exchanges, and get the
 * outcome back from them at the end; the other kinds need a power of two.
 */
#ifndef RLT_COLLECTIVES_ALGORITHMS_GRID_H
#define RLT_COLLECTIVES_ALGORITHMS_GRID_H

#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/algorithms/lanes.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/* Sizes above 1 multiply to at most 2^24. */
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
    uint32_t size, stride;         /* of members; stride: product of the sizes below */
    uint32_t digits, block_stride; /* of blocks */
    uint32_t core;                 /* largest power of two up to the size */
    uint8_t rounds, inside;        /* log2(core); rlt_inside */
    uint64_t sums;                 /* where its sums of counts begin */
    uint64_t bw_Bps;               /* of a member into it, with its pattern; 0: unknown */
    rlt_time hop_ps;               /* latency between two members of it */
} rlt_grid_dim;

typedef struct rlt_phase {
    uint8_t op, dim;
    uint8_t from, to; /* buffers that it works in: of an exchange, or one until the network adds up */
    bool announced;   /* what the network fetches is there once its members say so: not from the start */
    bool plain;       /* the free blocks are all those of the digits above */
    uint32_t before;  /* bit d: the lane scatters in dimension d before it does in this one */
    uint32_t stride;  /* of the blocks of the dimension's digits */
    /* The free blocks: runs of so many, `stride` of the step (or, if
     * nonzero, `apart`) blocks apart, below end. */
    uint32_t run, apart, end;
    uint32_t first, steps;
    uint32_t after_chunk, after_step; /* of a schedule: which chunk must have done what before; or RLT_NONE */
} rlt_phase;

/* The phases of the lanes that take the dimensions in the same order. */
typedef struct rlt_order {
    uint32_t n_phases, n_steps;
    bool sums;                       /* adds up before it gathers, if it does */
    uint32_t strides[RLT_GRID_DIMS]; /* of blocks: the lane's own numbering */
    rlt_phase phases[RLT_GRID_PHASES];
} rlt_order;

typedef struct rlt_grid {
    uint32_t n_dims, blocks, n_orders;
    uint32_t n_nvls; /* dimensions whose switches add up */
    bool recoded;    /* blocks have other digits than members, or in another order */
    bool ring;       /* some dimension is a real ring of more than two */
    bool renumbered; /* blocks count in the order of their lane */
    bool scheduled;  /* orders are by chunk, and say what each phase waits for */
    rlt_grid_dim dims[RLT_GRID_DIMS];
    rlt_order *orders;  /* order i begins with dimension i; scheduled: is that of chunk i */
    rlt_lane *lanes;    /* lane's order: channel mod n_orders; scheduled: chunk */
    uint64_t *sums;     /* with counts: of each lane; else NULL */
    uint64_t sums_lane; /* how many a lane has */
} rlt_grid;

static inline bool rlt_shape_is(const char *shape, const char *name)
{
    return shape && strcmp(shape, name) == 0;
}

static inline uint32_t rlt_coordinate(const rlt_grid_dim *d, uint32_t member)
{
    return member / d->stride % d->size;
}

/* The member with another coordinate in that dimension. */
static inline uint32_t rlt_with_coordinate(const rlt_grid_dim *d, uint32_t member, uint32_t from, uint32_t to)
{
    return member - from * d->stride + to * d->stride;
}

/* Appends a dimension (none for a size of 1). shape, pattern: of the request, may be NULL. `shares`: an
 * all-reduce, too, must leave a share to each member. RLT_ESCHEMA, RLT_EUNSUPPORTED. */
int rlt_grid_add(const rlt_plan *plan, rlt_grid *g, uint32_t size, const char *shape, const char *pattern,
                 bool shares, rlt_error *err) RLT_MUST_USE;
/* Once all dimensions are added: the plan's buffers, result and verbs.
 * RLT_EUNSUPPORTED: the network cannot. */
int rlt_grid_verbs(rlt_plan *plan, const rlt_grid *g, rlt_error *err) RLT_MUST_USE;
/* Makes plan->data a copy of the grid with the lanes, `orders` orders, and the phases of the plan's kind.
 * Needs plan->lanes, plan->blocks. */
int rlt_grid_create(rlt_plan *plan, const rlt_grid *shape, uint32_t orders, uint32_t chunks,
                    rlt_error *err) RLT_MUST_USE;

/* Whether the blocks that stay free, once a lane has scattered in dimension `dim` with those of the bits of
 * `left` to go, are one span in each step of that. */
bool rlt_grid_spans(const rlt_grid *g, uint32_t dim, uint32_t left);
/* The free dimensions are 0 .. low-1, and from .. to-1 where these are not the same; false: they are others,
 * too. */
bool rlt__grid_free(uint32_t dim, uint32_t left, uint32_t *low, uint32_t *from, uint32_t *to);

uint32_t rlt_grid_steps(const rlt_grid *g, uint32_t lane);
void rlt_grid_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out);

/* The reach of those phases, as rlt_algorithm has it. */
void rlt_grid_reach(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_reach *out);
uint32_t rlt_grid_symmetry(const rlt_plan *plan, uint32_t *sizes);

/* Broadcast, reduce, gather and scatter over the grid in plan->data. */
uint32_t rlt_grid_rooted_steps(const rlt_plan *plan, uint32_t member, uint32_t lane);
void rlt_grid_rooted_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out);

#endif
