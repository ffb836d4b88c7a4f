/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sparse updates with skewed popularity, the premise of Libra (arXiv 2205.05243): how often each parameter is
 * updated, which parameters are hot, and which share of all updates they get.
 *
 * Popularity follows Zipf's law (parameter i of 1 .. N has the share i^-s / sum of j^-s) or a recorded list
 * of update counts. For Zipf, nothing of size N is stored: sums use Euler and Maclaurin's formula, samples
 * use inversion and rejection (Hormann, Derflinger, "Rejection-inversion to generate variates from monotone
 * discrete distributions", ACM TOMACS 6 (3), 1996). A parameter is named by its rank: 0 is the most popular.
 *
 * The hot set is found as in training: updates are counted over a few steps. The parameters seen most often
 * are taken, as many as the switch's registers hold.
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
    RLT_MAX_SAMPLED = 1 << 26, /* updates that are counted to find the hot set */
};

typedef struct rlt_skew {
    uint64_t n;       /* number of parameters */
    double s;         /* Zipf's exponent */
    double sum;       /* sum of i^-s, or of the counts */
    double low, high; /* range of the sampler's uniform number */
    /* Recorded, by falling count: */
    uint64_t *ids; /* ids in the file; NULL: Zipf */
    double *upto;  /* cumulative counts of ranks 0 .. i */
} rlt_skew;

/* Zipf's law with exponent s, 0 (all alike) to 8, and n parameters, 1 to 2^52. */
int rlt_skew_zipf(double s, uint64_t n, rlt_skew *out, rlt_error *err) RLT_MUST_USE;
/* Reads recorded counts. Each line is "count" or "id count"; '#' begins a comment. The default id is the
 * index of the record, from 0. Counts of one id in several lines add up. Free with rlt_skew_free. */
int rlt_skew_parse(const char *text, size_t length, const char *where, rlt_skew *out,
                   rlt_error *err) RLT_MUST_USE;
int rlt_skew_read(const char *path, rlt_skew *out, rlt_error *err) RLT_MUST_USE;
void rlt_skew_free(rlt_skew *k);

/* Share of all updates that go to one parameter, and to the `top` most popular ones. */
double rlt_skew_share(const rlt_skew *k, uint64_t rank);
double rlt_skew_coverage(const rlt_skew *k, uint64_t top);
/* Parameter of an entity's i-th update. */
uint64_t rlt_skew_draw(const rlt_skew *k, uint64_t seed, uint32_t entity, uint64_t i);

typedef struct rlt_hot_request {
    uint32_t workers;
    uint64_t updates; /* per worker and step */
    uint32_t steps;
    /* share of the steps that is sampled, in (0, 1]; less than one step is a part of one */
    double sampled;
    uint64_t hot;          /* number of hot parameters; 0: as many as fit */
    uint64_t memory_bytes; /* register memory, spread evenly over `arrays` */
    uint32_t arrays;
    uint32_t entry_bytes; /* bytes of a parameter */
    uint64_t seed;
} rlt_hot_request;

typedef struct rlt_hot_set {
    uint64_t n;
    uint64_t *ranks;      /* by falling count, then rising rank */
    uint64_t counted;     /* updates counted */
    uint64_t seen;        /* distinct parameters among them */
    double share;         /* f: share of all updates that go to the hot set */
    double best;          /* f of the most popular parameters, had they been known */
    double touched;       /* E[u_H]: distinct hot parameters that all workers together update in a step */
    double touched_alone; /* the same for one worker alone */
    uint64_t memory_bytes;
} rlt_hot_set;

/* Number of parameters that fit into the registers: whole entries of each array. */
uint64_t rlt_hot_room(uint64_t memory_bytes, uint32_t arrays, uint32_t entry_bytes);
/* Finds the hot set. It has fewer parameters than requested if fewer were seen. Free with rlt_hot_free. */
int rlt_hot_find(const rlt_skew *k, const rlt_hot_request *q, rlt_hot_set *out, rlt_error *err) RLT_MUST_USE;
void rlt_hot_free(rlt_hot_set *h);

/* Gain S = n / (n (1 - f) + f) over a parameter server without a switch, and the hot share f that a gain S
 * needs. Example: n = 8, f = 0.75 gives S = 2.9. */
double rlt_libra_gain(uint32_t n, double share);
double rlt_libra_share(uint32_t n, double gain);
/* Bytes that a worker sends in a step, and bytes that all servers receive in a step. A server receives a hot
 * packet once, as the sum of all workers. */
double rlt_libra_up(uint64_t updates, double share, double hot_bytes, double cold_bytes);
double rlt_libra_in(uint32_t n, uint64_t updates, double share, double touched, double hot_bytes,
                    double cold_bytes);

#ifdef __cplusplus
}
#endif
#endif
