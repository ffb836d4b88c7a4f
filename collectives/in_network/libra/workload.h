/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sparse updates with skew, as Libra (arXiv 2205.05243) lives on: how often each parameter is updated, which
 * ones are hot, and what share of all updates they get.
 *
 * Popularity is Zipf's (the i-th of N parameters has i^-s of the whole) or a recorded list of update counts.
 * Nothing of size N is kept for Zipf: sums are by Euler and Maclaurin's formula, samples by inversion and
 * rejection (Hormann, Derflinger, "Rejection-inversion to generate variates from monotone discrete
 * distributions", ACM TOMACS 6 (3), 1996). Parameters are named by their rank: 0 is the most popular.
 *
 * The hot set is found as it would be in training: updates are counted over a few steps, and the parameters
 * seen most often are taken; how many, the switch's registers say.
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_WORKLOAD_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RLT_MAX_RECORDED = 1 << 27, /* parameters in a recorded list */
    RLT_MAX_HOT = 1 << 24,
    RLT_MAX_SAMPLED = 1 << 26, /* updates that are counted to find the hot ones */
};

typedef struct rlt_skew {
    uint64_t n;       /* parameters */
    double s;         /* Zipf's exponent */
    double sum;       /* of i^-s, or of the counts */
    double low, high; /* of the sampler's uniform number */
    /* Recorded, by falling count: */
    uint64_t *ids; /* as the file names them; NULL: Zipf */
    double *upto;  /* counts of ranks 0 .. i together */
} rlt_skew;

/* s from 0 (all alike) to 8, n to 2^52. */
int rlt_skew_zipf(double s, uint64_t n, rlt_skew *out, rlt_error *err) RLT_MUST_USE;
/* Text, one parameter a line: "count", or "id count"; '#' begins a comment. The id is the line's number from
 * 0 where none is given; counts of one id in several lines add up. */
int rlt_skew_parse(const char *text, size_t length, const char *where, rlt_skew *out,
                   rlt_error *err) RLT_MUST_USE;
int rlt_skew_read(const char *path, rlt_skew *out, rlt_error *err) RLT_MUST_USE;
void rlt_skew_free(rlt_skew *k);

/* Share of all updates that go to one parameter, and to the `top` most popular ones. */
double rlt_skew_share(const rlt_skew *k, uint64_t rank);
double rlt_skew_coverage(const rlt_skew *k, uint64_t top);
/* The parameter of the i-th update of an entity. */
uint64_t rlt_skew_draw(const rlt_skew *k, uint64_t seed, uint32_t entity, uint64_t i);

typedef struct rlt_hot_request {
    uint32_t workers;
    uint64_t updates; /* a worker and step */
    uint32_t steps;
    double sampled;        /* share of the steps that is looked at, in (0, 1]; of one step, a part */
    uint64_t hot;          /* parameters; 0: as many as fit */
    uint64_t memory_bytes; /* of registers, spread evenly over */
    uint32_t arrays;
    uint32_t entry_bytes; /* of a parameter */
    uint64_t seed;
} rlt_hot_request;

typedef struct rlt_hot_set {
    uint64_t n;
    uint64_t *ranks;      /* by falling count, then rising rank */
    uint64_t counted;     /* updates that were counted, */
    uint64_t seen;        /* of so many parameters */
    double share;         /* f: of all updates, what goes to the hot ones */
    double best;          /* f, had the most popular been known */
    double touched;       /* E[u_H]: different hot parameters in a step of all workers */
    double touched_alone; /* and in that of one worker */
    uint64_t memory_bytes;
} rlt_hot_set;

/* Parameters that fit: whole entries of each array. */
uint64_t rlt_hot_room(uint64_t memory_bytes, uint32_t arrays, uint32_t entry_bytes);
/* Fewer than asked for if fewer were seen. */
int rlt_hot_find(const rlt_skew *k, const rlt_hot_request *q, rlt_hot_set *out, rlt_error *err) RLT_MUST_USE;
void rlt_hot_free(rlt_hot_set *h);

/* S = n / (n (1 - f) + f) over a parameter server without a switch; the hot share that S needs. */
double rlt_libra_gain(uint32_t n, double share);
double rlt_libra_share(uint32_t n, double gain);
/* Bytes that a worker sends in a step, and that servers get in one: hot packets are sums of all workers. */
double rlt_libra_up(uint64_t updates, double share, double hot_bytes, double cold_bytes);
double rlt_libra_in(uint32_t n, uint64_t updates, double share, double touched, double hot_bytes,
                    double cold_bytes);

#ifdef __cplusplus
}
#endif
#endif
