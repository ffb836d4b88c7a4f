/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of an aggregator, shared by its accounts and its state machines. Internal to net/. */
#ifndef RLT_NET_AGGREGATION_AGGREGATOR_INTERNAL_H
#define RLT_NET_AGGREGATION_AGGREGATOR_INTERNAL_H

#include "net/aggregation/aggregator.h"
#include "sim/base/time.h"

/* SENT: the sum has gone up, or to the server; the result is awaited. DONE: the result is stored. */
typedef enum rlt_bank_state { RLT_BANK_FREE, RLT_BANK_AGG, RLT_BANK_SENT, RLT_BANK_DONE } rlt_bank_state;

/* A bank: a slot, or one of the two versions of a slot. */
typedef struct rlt_bank {
    rlt_time since; /* time at which it was claimed */
    uint32_t job, chunk, count, asked;
    uint8_t state;
    bool counted; /* true if it counts in the occupancy */
} rlt_bank;

typedef struct rlt_agg_tenant {
    rlt_agg_job want;
    uint32_t first, slots;
    bool live, locks, forgotten;
    rlt_agg_counts counts;
} rlt_agg_tenant;

enum { RLT_AGG_BINS = 1024 };

struct rlt_aggregator {
    rlt_aggregator_config cfg;
    uint32_t versions; /* banks per slot */
    uint32_t words;    /* words per bitmap */
    rlt_bank *banks;
    uint64_t *seen;        /* `words` words per bank */
    rlt_agg_value *values; /* cfg.values elements per bank */
    uint64_t *kept_bits;   /* contributors of an evicted sum, and of a single contribution */
    rlt_agg_value *kept_values;
    rlt_agg_tenant *jobs;
    uint32_t n_jobs, jobs_room, n_forgotten;
    rlt_agg_counts past; /* counts of jobs whose numbers were reused */
    /* Occupancy: */
    uint32_t now, peak;
    rlt_time last;
    double integral;
    uint64_t residency[RLT_RESIDENCY_BINS];
    double *bins;
    uint32_t n_bins;
    rlt_time bin_ps;
};

/* Count a bank as taken, or as free again. */
void rlt__agg_occupy(rlt_aggregator *a, rlt_bank *b, rlt_time now);
void rlt__agg_vacate(rlt_aggregator *a, rlt_bank *b, rlt_time now);

static inline uint64_t *rlt__agg_seen(const rlt_aggregator *a, const rlt_bank *b)
{
    return a->seen + (size_t)(b - a->banks) * a->words;
}

static inline rlt_agg_value *rlt__agg_values(const rlt_aggregator *a, const rlt_bank *b)
{
    return a->values ? a->values + (size_t)(b - a->banks) * a->cfg.values : NULL;
}

#endif
