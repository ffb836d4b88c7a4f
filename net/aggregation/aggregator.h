/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The aggregator of a switch: slots that sum incoming contributions. It is pure state: it takes a packet and
 * returns the action of the switch; the caller moves packets and keeps time. Each slot remembers its
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
 * A switch that is not the root of its tree sends its sum up and waits for the result. The caller runs the
 * `ttl_ps` timers; on a timeout, rlt_aggregator_expire sends the partial sum on (Trio, Canary).
 *
 * Real hardware tells a delayed copy of an old packet from a new one only by its version bit. Here the chunk
 * is compared, too; `stale` counts the packets that the version bit alone would have accepted.
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
    RLT_MAX_AGG_WIDTH = 4096, /* contributors to a slot */
    RLT_MAX_AGG_JOBS = 4096,
    RLT_RESIDENCY_BINS = 62, /* bin i: 2^i <= picoseconds in a slot < 2^(i+1) */
};

typedef enum rlt_slot_mode { RLT_SLOTS_POOL, RLT_SLOTS_HASH, RLT_SLOTS_CREDIT, RLT_SLOTS_PULL } rlt_slot_mode;

/* Sharing of S slots between jobs. STATIC: S / jobs slots each. DYNAMIC: all jobs use all slots (HASH only).
 * FIRST_COME: each job gets as many as it asks for until none are left; a job without slots sends all packets
 * to the server, or is refused. */
typedef enum rlt_slot_sharing { RLT_SHARE_STATIC, RLT_SHARE_DYNAMIC, RLT_SHARE_FIRST_COME } rlt_slot_sharing;

/* One element of a sum. Integers wrap at 64 bits; values outside `element_bits` are counted as overflows. */
typedef union rlt_agg_value {
    int64_t i;
    double d;
} rlt_agg_value;

typedef struct rlt_aggregator_config {
    rlt_slot_mode mode;
    rlt_slot_sharing sharing;
    uint32_t slots;        /* number of slots; 0: as many as fit in memory_bytes */
    uint64_t memory_bytes; /* memory for values; 0: no limit */
    uint32_t payload;      /* bytes of values per slot */
    uint32_t width;        /* most contributors to a slot */
    uint32_t jobs;         /* STATIC: number of shares */
    uint32_t values;       /* elements per slot that are really summed; 0: none */
    bool floating;         /* elements are doubles */
    uint32_t element_bits; /* bits of an element; 0: 64 */
    bool preempt;
    bool reemit;             /* retransmissions make a complete sum go up again while its result is missing */
    uint32_t trees, streams; /* CREDIT: number of trees and of streaming trees; 0: no limit */
    bool lock_ports;        /* streaming trees lock the ports of their children, otherwise the whole switch */
    rlt_time series_bin_ps; /* bin width of the occupancy series; 0: none */
} rlt_aggregator_config;

typedef struct rlt_agg_job {
    uint32_t need;  /* contributions that complete a sum */
    uint32_t slots; /* slots wanted; HASH: 0 means all */
    bool root;      /* root of its tree: a sum is the result (POOL, CREDIT), or goes to the server (HASH) */
    uint8_t priority;
    bool streaming; /* CREDIT: a streaming tree */
    uint64_t ports; /* ports that it locks, one bit each */
} rlt_agg_job;

typedef enum rlt_agg_refusal {
    RLT_AGG_GRANTED,
    RLT_AGG_NO_SLOTS, /* HASH: admitted without slots, all packets go to the server */
    RLT_AGG_NO_TREE,
    RLT_AGG_LOCKED,
    RLT_AGG_TOO_WIDE,
} rlt_agg_refusal;

/* DATA: a contribution. RESULT: the result on its way down, or the server's answer. REQUEST: a request in
 * PULL. */
typedef enum rlt_agg_kind { RLT_AGG_DATA, RLT_AGG_RESULT, RLT_AGG_REQUEST } rlt_agg_kind;

typedef struct rlt_agg_packet {
    rlt_agg_kind kind;
    uint32_t job;
    uint32_t chunk;
    uint32_t slot;               /* slot of the job; RLT_NONE: hash of (job, chunk) in HASH, any in PULL */
    uint8_t version;             /* POOL */
    bool resend;                 /* HASH: retransmitted by the worker */
    uint32_t child;              /* child that contributed, by its number at this switch */
    const uint64_t *bits;        /* contributors of a partial sum; NULL: `child` alone */
    const rlt_agg_value *values; /* config.values elements; NULL: zeros */
} rlt_agg_packet;

typedef enum rlt_agg_action {
    RLT_AGG_DROP,      /* send nothing: a duplicate, or stale */
    RLT_AGG_HOLD,      /* send nothing: added, the sum waits for other contributions */
    RLT_AGG_UP,        /* send the sum (or partial sum) to the parent */
    RLT_AGG_MULTICAST, /* send the result to all children */
    RLT_AGG_UNICAST,   /* send the stored result to the sender (PULL: the sum to the requester) */
    RLT_AGG_FORWARD,   /* forward the packet itself, towards the server or the parent */
    RLT_AGG_SERVER,    /* send the sum to the server */
    RLT_AGG_FETCH,     /* PULL: send the request to all children */
    RLT_AGG_BUSY,      /* no free slot: try again when one is free */
} rlt_agg_action;

/* A sum and its contributors. Pointers are valid until the next call. */
typedef struct rlt_agg_sum {
    uint32_t job, chunk, count;
    const uint64_t *bits;
    const rlt_agg_value *values;
} rlt_agg_sum;

typedef struct rlt_agg_verdict {
    rlt_agg_action action;
    uint32_t slot;       /* slot of the job */
    uint32_t asked;      /* PULL: the requester */
    bool claimed;        /* true if the slot was free before: a timer may start */
    bool evicts;         /* true if `evicted` also goes to its server */
    rlt_agg_sum sum;     /* the sum or result that is sent */
    rlt_agg_sum evicted; /* partial sum that lost its slot */
} rlt_agg_verdict;

typedef struct rlt_agg_counts {
    uint64_t packets;       /* DATA packets */
    uint64_t contributions; /* contributions added */
    uint64_t completions;   /* complete sums */
    uint64_t duplicates, stale;
    uint64_t late;       /* results that nobody waits for */
    uint64_t unicasts;   /* packets answered from the shadow */
    uint64_t collisions; /* packets that found their slot taken */
    uint64_t foreign;    /* those of them whose slot another job held */
    uint64_t fallbacks;  /* forwarded unaggregated: slot taken, or no slots at all */
    uint64_t resends;    /* forwarded because they were retransmissions */
    uint64_t preemptions, evictions, partials;
    uint64_t overflows; /* values outside element_bits */
    uint64_t blocked;   /* packets answered BUSY */
    uint64_t refused;   /* protocol violations: a slot of another job, or one that is not free */
} rlt_agg_counts;

typedef struct rlt_agg_occupancy {
    uint32_t now, peak;
    double integral; /* slots x picoseconds */
    double mean;     /* over [0, now] */
    uint64_t residency[RLT_RESIDENCY_BINS];
} rlt_agg_occupancy;

typedef struct rlt_agg_memory {
    uint64_t value_bytes; /* bytes of values; POOL: of both versions */
    uint64_t state_bits;  /* bits of bitmaps and counters */
} rlt_agg_memory;

typedef struct rlt_aggregator rlt_aggregator;

RLT_API int rlt_aggregator_create(const rlt_aggregator_config *cfg, rlt_aggregator **out,
                                  rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_aggregator_free(rlt_aggregator *a);
/* Admits a job. Returns its number, the reason if it was refused (or RLT_AGG_GRANTED), and the number of
 * slots that it got. */
RLT_API int rlt_aggregator_admit(rlt_aggregator *a, const rlt_agg_job *want, uint32_t *job,
                                 rlt_agg_refusal *refusal, uint32_t *slots, rlt_error *err) RLT_MUST_USE;
/* Ends a job: frees its slots and locks. Returns the number of slots that held unfinished sums. */
RLT_API uint32_t rlt_aggregator_release(rlt_aggregator *a, uint32_t job, rlt_time now);
/* Ends a job and lets its number be reused. Its counts stay in the sum over all jobs. */
RLT_API void rlt_aggregator_forget(rlt_aggregator *a, uint32_t job, rlt_time now);
/* Handles a packet. Times must not decrease. */
RLT_API void rlt_aggregator_packet(rlt_aggregator *a, const rlt_agg_packet *p, rlt_time now,
                                   rlt_agg_verdict *v);
/* Handles the timeout of a slot: if it still holds that chunk unfinished, sends the partial sum on; otherwise
 * DROP. */
RLT_API void rlt_aggregator_expire(rlt_aggregator *a, uint32_t job, uint32_t chunk, uint32_t slot,
                                   uint8_t version, rlt_time now, rlt_agg_verdict *v);
/* CREDIT: takes the streaming lock. Returns false if another job holds it. */
RLT_API bool rlt_aggregator_lock(rlt_aggregator *a, uint32_t job);
RLT_API void rlt_aggregator_unlock(rlt_aggregator *a, uint32_t job);

RLT_API uint32_t rlt_aggregator_slots(const rlt_aggregator *a);
/* Returns the counts of one job, or the sum over all jobs (RLT_NONE). */
RLT_API rlt_agg_counts rlt_aggregator_counts(const rlt_aggregator *a, uint32_t job);
RLT_API void rlt_agg_counts_add(rlt_agg_counts *sum, const rlt_agg_counts *more);
RLT_API rlt_agg_occupancy rlt_aggregator_occupancy(const rlt_aggregator *a, rlt_time now);
/* The occupancy series: number of bins in use, their current width, and the mean occupancy of a bin. */
RLT_API uint32_t rlt_aggregator_bins(const rlt_aggregator *a, rlt_time *bin_ps);
RLT_API double rlt_aggregator_bin(const rlt_aggregator *a, uint32_t bin);
/* Returns the number of unfinished slots of all jobs. */
RLT_API uint32_t rlt_aggregator_unfinished(const rlt_aggregator *a);
RLT_API rlt_agg_memory rlt_aggregator_memory(const rlt_aggregator *a);
/* Returns the memory of `slots` slots: two versions each in POOL, bitmaps of `width` bits, counters of 8
 * bits. */
RLT_API rlt_agg_memory rlt_slots_memory(rlt_slot_mode mode, uint32_t slots, uint32_t payload, uint32_t width);
/* Returns the slot that (job, chunk) hashes to; `round` is the number of slots found taken so far. */
RLT_API uint32_t rlt_slot_hash(uint32_t job, uint32_t chunk, uint32_t round, uint32_t slots);
RLT_API const char *rlt_agg_refusal_text(rlt_agg_refusal r);

#ifdef __cplusplus
}
#endif
#endif
