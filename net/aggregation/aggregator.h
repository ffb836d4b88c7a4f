/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The aggregator of a switch: slots that add up incoming contributions. It is pure state: a packet goes in,
 * the action of the switch comes out; the caller moves packets and time. Each slot remembers its
 * contributors, one bit each, so that nothing is added twice.
 *
 *   POOL    SwitchML (Sapio et al., NSDI 2021): the worker names slot and version (chunk / window & 1) of its
 *           job's share of the pool. The result stays as a shadow until the other version is complete, and
 *           answers retransmitted chunks.
 *   HASH    ATP (Lao et al., NSDI 2021): a slot belongs to the first chunk that claims it. A chunk that finds
 *           its slot taken falls back to the parameter server. Sums go there, too; the answer frees the slot
 *           on its way back. A retransmitted chunk evicts a partial sum to the server. `preempt`: a higher
 *           priority takes the slot (ESA).
 *   CREDIT  SHARP: trees and outstanding operations (slots) are reserved when a group is made, streaming
 *           trees by lock. Nothing is lost, so a slot is free once its result has gone down.
 *   PULL    NVLS: a request is fetched from all children at once; the sum goes to the requester.
 *
 * A switch that is not the root of its tree sends its sum up and waits for the result. The caller keeps the
 * clock of `ttl_ps`: rlt_aggregator_expire then sends the partial sum on (Trio, Canary).
 *
 * Real hardware tells a delayed copy of an old packet from a new one only by its version bit. Here the chunk
 * is compared too; `stale` counts the packets that the version bit alone would have let through.
 */
#ifndef RLT_NET_AGGREGATION_AGGREGATOR_H
#define RLT_NET_AGGREGATION_AGGREGATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RLT_MAX_SLOTS = 1 << 22,
    RLT_MAX_AGG_WIDTH = 4096, /* contributors of a slot */
    RLT_MAX_AGG_JOBS = 4096,
    RLT_RESIDENCY_BINS = 62, /* bin i: 2^i <= picoseconds in a slot < 2^(i+1) */
};

typedef enum rlt_slot_mode { RLT_SLOTS_POOL, RLT_SLOTS_HASH, RLT_SLOTS_CREDIT, RLT_SLOTS_PULL } rlt_slot_mode;

/* How jobs share the slots: S / jobs each; all of them for all (HASH only); as many as a job asks for, until
 * none are left: it then runs without (its packets all go to the server, or it is refused). */
typedef enum rlt_slot_sharing { RLT_SHARE_STATIC, RLT_SHARE_DYNAMIC, RLT_SHARE_FIRST_COME } rlt_slot_sharing;

/* A value of a sum. Integers wrap at 64 bits; those that leave `element_bits` are counted. */
typedef union rlt_agg_value {
    int64_t i;
    double d;
} rlt_agg_value;

typedef struct rlt_aggregator_config {
    rlt_slot_mode mode;
    rlt_slot_sharing sharing;
    uint32_t slots;        /* 0: as many as fit in memory_bytes */
    uint64_t memory_bytes; /* for values; 0: no limit */
    uint32_t payload;      /* bytes of values of a slot */
    uint32_t width;        /* contributors to a slot, at most */
    uint32_t jobs;         /* STATIC: shares */
    uint32_t values;       /* kept of each slot as real sums; 0: none */
    bool floating;         /* they are doubles */
    uint32_t element_bits; /* 0: 64 */
    bool preempt;
    bool reemit;             /* what is sent again goes up again, where the result is not there yet */
    uint32_t trees, streams; /* CREDIT: how many of each; 0: no limit */
    bool lock_ports;         /* streams lock the ports of their children, else the whole switch */
    rlt_time series_bin_ps;  /* occupancy by bins; 0: none */
} rlt_aggregator_config;

typedef struct rlt_agg_job {
    uint32_t need;  /* contributions to a sum */
    uint32_t slots; /* wanted; HASH: 0 is as many as there are */
    bool root;      /* of its tree: a sum is the result (POOL, CREDIT), or goes to the server (HASH) */
    uint8_t priority;
    bool streaming; /* CREDIT: a streaming tree */
    uint64_t ports; /* that it locks, a bit each */
} rlt_agg_job;

typedef enum rlt_agg_refusal {
    RLT_AGG_GRANTED,
    RLT_AGG_NO_SLOTS, /* HASH: admitted without: all goes to the server */
    RLT_AGG_NO_TREE,
    RLT_AGG_LOCKED,
    RLT_AGG_TOO_WIDE,
} rlt_agg_refusal;

/* DATA: a contribution. RESULT: the result on its way down, or the server's answer. REQUEST: PULL. */
typedef enum rlt_agg_kind { RLT_AGG_DATA, RLT_AGG_RESULT, RLT_AGG_REQUEST } rlt_agg_kind;

typedef struct rlt_agg_packet {
    rlt_agg_kind kind;
    uint32_t job;
    uint32_t chunk;
    uint32_t slot;               /* of the job's; RLT_NONE: HASH hashes (job, chunk), PULL takes a free one */
    uint8_t version;             /* POOL */
    bool resend;                 /* HASH: the worker has waited too long */
    uint32_t child;              /* whose contribution: its number at this switch */
    const uint64_t *bits;        /* or whose: a partial sum of several; NULL: of child alone */
    const rlt_agg_value *values; /* config.values of them, or NULL: zeros */
} rlt_agg_packet;

typedef enum rlt_agg_action {
    RLT_AGG_DROP,      /* nothing is sent: a duplicate, or stale */
    RLT_AGG_HOLD,      /* added; the sum waits for others */
    RLT_AGG_UP,        /* the sum (or partial sum) goes to the parent */
    RLT_AGG_MULTICAST, /* the result goes to all children */
    RLT_AGG_UNICAST,   /* the stored result goes to the sender (PULL: the sum to who asked) */
    RLT_AGG_FORWARD,   /* the packet itself goes on, towards the server or the parent */
    RLT_AGG_SERVER,    /* the sum goes to the server */
    RLT_AGG_FETCH,     /* PULL: the request goes to all children */
    RLT_AGG_BUSY,      /* no slot now: try again when one is free */
} rlt_agg_action;

/* A sum and who is in it; pointers hold until the next call. */
typedef struct rlt_agg_sum {
    uint32_t job, chunk, count;
    const uint64_t *bits;
    const rlt_agg_value *values;
} rlt_agg_sum;

typedef struct rlt_agg_verdict {
    rlt_agg_action action;
    uint32_t slot;       /* of the job's */
    uint32_t asked;      /* PULL: who asked */
    bool claimed;        /* the slot was free before: a timer may begin */
    bool evicts;         /* besides, `evicted` goes to its server */
    rlt_agg_sum sum;     /* what is sent, where it is a sum or result */
    rlt_agg_sum evicted; /* a partial sum that lost its slot */
} rlt_agg_verdict;

typedef struct rlt_agg_counts {
    uint64_t packets;       /* DATA */
    uint64_t contributions; /* added */
    uint64_t completions;   /* sums complete */
    uint64_t duplicates, stale;
    uint64_t late;       /* results that nobody waits for */
    uint64_t unicasts;   /* answered from the shadow */
    uint64_t collisions; /* found a slot taken */
    uint64_t fallbacks;  /* went on unaggregated: taken, or no slots at all */
    uint64_t resends;    /* went on because they were sent again */
    uint64_t preemptions, evictions, partials;
    uint64_t overflows; /* values that left element_bits */
    uint64_t blocked;   /* BUSY */
    uint64_t refused;   /* broke the protocol: named a slot not theirs, or one not free */
} rlt_agg_counts;

typedef struct rlt_agg_occupancy {
    uint32_t now, peak;
    double integral; /* slots x picoseconds */
    double mean;     /* over [0, now] */
    uint64_t residency[RLT_RESIDENCY_BINS];
} rlt_agg_occupancy;

typedef struct rlt_agg_memory {
    uint64_t value_bytes; /* POOL: both versions */
    uint64_t state_bits;  /* bitmaps and counters */
} rlt_agg_memory;

typedef struct rlt_aggregator rlt_aggregator;

RLT_API int rlt_aggregator_create(const rlt_aggregator_config *cfg, rlt_aggregator **out,
                                  rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_aggregator_free(rlt_aggregator *a);
/* A job on this switch: its number, why it got nothing (or not), and how many slots it got. */
RLT_API int rlt_aggregator_admit(rlt_aggregator *a, const rlt_agg_job *want, uint32_t *job,
                                 rlt_agg_refusal *refusal, uint32_t *slots, rlt_error *err) RLT_MUST_USE;
/* The job is over: its slots and locks are free. Returns how many held something unfinished. */
RLT_API uint32_t rlt_aggregator_release(rlt_aggregator *a, uint32_t job, rlt_time now);
/* The same, and its number may be another's from now on: what it counted stays in the sum of all. */
RLT_API void rlt_aggregator_forget(rlt_aggregator *a, uint32_t job, rlt_time now);
/* Times must not decrease. */
RLT_API void rlt_aggregator_packet(rlt_aggregator *a, const rlt_agg_packet *p, rlt_time now,
                                   rlt_agg_verdict *v);
/* The timer of a slot: sends on what is there if it still holds that chunk unfinished, else DROP. */
RLT_API void rlt_aggregator_expire(rlt_aggregator *a, uint32_t job, uint32_t chunk, uint32_t slot,
                                   uint8_t version, rlt_time now, rlt_agg_verdict *v);
/* CREDIT: takes the streaming lock, or tells that another has it (1, 0). */
RLT_API bool rlt_aggregator_lock(rlt_aggregator *a, uint32_t job);
RLT_API void rlt_aggregator_unlock(rlt_aggregator *a, uint32_t job);

RLT_API uint32_t rlt_aggregator_slots(const rlt_aggregator *a);
/* Counts of one job, or of all (RLT_NONE). */
RLT_API rlt_agg_counts rlt_aggregator_counts(const rlt_aggregator *a, uint32_t job);
RLT_API void rlt_agg_counts_add(rlt_agg_counts *sum, const rlt_agg_counts *more);
RLT_API rlt_agg_occupancy rlt_aggregator_occupancy(const rlt_aggregator *a, rlt_time now);
/* The series: bins in use, their width now, and the mean of a bin over its width. */
RLT_API uint32_t rlt_aggregator_bins(const rlt_aggregator *a, rlt_time *bin_ps);
RLT_API double rlt_aggregator_bin(const rlt_aggregator *a, uint32_t bin);
/* Unfinished slots of all jobs. */
RLT_API uint32_t rlt_aggregator_unfinished(const rlt_aggregator *a);
RLT_API rlt_agg_memory rlt_aggregator_memory(const rlt_aggregator *a);
/* What so many slots take: two versions of each in POOL; bitmaps of `width` and counters of 8 bits. */
RLT_API rlt_agg_memory rlt_slots_memory(rlt_slot_mode mode, uint32_t slots, uint32_t payload, uint32_t width);
/* Where (job, chunk) hashes to; `round` counts the slots found taken so far. */
RLT_API uint32_t rlt_slot_hash(uint32_t job, uint32_t chunk, uint32_t round, uint32_t slots);
RLT_API const char *rlt_agg_refusal_text(rlt_agg_refusal r);

#ifdef __cplusplus
}
#endif
#endif
