/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The monotone event queue: a radix heap on 64-bit keys with FIFO buckets (Ahuja, Mehlhorn, Orlin, Tarjan:
 * "Faster algorithms for the shortest path problem", J. ACM 1990), with digits of four bits.
 *
 * Take the highest digit in which an entry's key differs from the last key popped. The position and the value
 * of that digit name the entry's bucket. When no entry with the last key is left, the lowest bucket is
 * redistributed in order. Equal keys therefore leave in the order in which they came, without a sequence
 * number. An entry moves at most 16 times, in practice one to three times.
 *
 * A push below the last popped key is refused: time does not run backwards.
 */
#ifndef RLT_SIM_QUEUE_H
#define RLT_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RLT_QUEUE_DIGIT   4 /* bits */
#define RLT_QUEUE_VALUES  (1u << RLT_QUEUE_DIGIT)
#define RLT_QUEUE_BUCKETS (64u / RLT_QUEUE_DIGIT * RLT_QUEUE_VALUES)

typedef struct rlt_entry {
    uint64_t key;
    uint32_t index, generation; /* of the owner; the queue does not look at them */
} rlt_entry;

typedef struct rlt_bucket {
    rlt_entry *items;
    uint32_t n, capacity;
} rlt_bucket;

typedef struct rlt_queue {
    uint64_t last;    /* the last key popped; its entries lie in bucket last % RLT_QUEUE_VALUES */
    uint64_t pending; /* entries to come */
    uint64_t room;    /* sum of the buckets' capacities */
    uint32_t head;    /* how many of the entries with the last key have been popped */
    uint64_t occupied[RLT_QUEUE_BUCKETS / 64]; /* a bit for each bucket that is not empty */
    rlt_bucket buckets[RLT_QUEUE_BUCKETS];     /* digit's place * RLT_QUEUE_VALUES + digit's value */
} rlt_queue;

RLT_API void rlt_queue_init(rlt_queue *q);
RLT_API void rlt_queue_free(rlt_queue *q);
/* 0, RLT_ERANGE for a key below q->last, or RLT_ENOMEM. */
RLT_API int rlt_queue_push(rlt_queue *q, rlt_entry e) RLT_MUST_USE;
/* False when empty (or, with *error set to RLT_ENOMEM, when memory ran out). */
RLT_API bool rlt_queue_pop(rlt_queue *q, rlt_entry *e, int *error);
/* The next key, without moving the queue's clock. False when empty. */
RLT_API bool rlt_queue_peek(const rlt_queue *q, uint64_t *key);
/* Moves the queue's clock to the next key, so that rlt_queue_tie finds its entries. 1, 0 when empty, or
 * RLT_ENOMEM (nothing changed). */
RLT_API int rlt_queue_advance(rlt_queue *q) RLT_MUST_USE;
/* Drops every entry for which keep() is false, in place. For compaction of cancelled events. */
RLT_API void rlt_queue_filter(rlt_queue *q, bool (*keep)(void *ctx, const rlt_entry *e), void *ctx);

static inline unsigned rlt_queue_bucket(uint64_t key, uint64_t last)
{
    /* No digit differs: the lowest place, like the keys that differ in it. */
    unsigned high = 63u ^ (unsigned)__builtin_clzll((key ^ last) | 1);
    unsigned shift = high & ~(RLT_QUEUE_DIGIT - 1u);
    return shift * (RLT_QUEUE_VALUES / RLT_QUEUE_DIGIT) + ((unsigned)(key >> shift) & (RLT_QUEUE_VALUES - 1));
}

/* Puts e where it belongs if `last` is the last key; false, with nothing done, where no room is left. */
static inline bool rlt_queue_place(rlt_queue *q, rlt_entry e, uint64_t last)
{
    unsigned number = rlt_queue_bucket(e.key, last);
    rlt_bucket *b = &q->buckets[number];
    if (b->n == b->capacity)
        return false;
    b->items[b->n++] = e;
    q->occupied[number / 64] |= UINT64_C(1) << (number % 64); /* branching on n == 0 is slower */
    return true;
}

/* rlt_queue_push for a key that is not below q->last. Returns false and does nothing if there is no room. */
static inline bool rlt_queue_push_fast(rlt_queue *q, rlt_entry e)
{
    if (!rlt_queue_place(q, e, q->last))
        return false;
    q->pending++;
    return true;
}

/* The next entry if its key is the last one popped, else NULL. */
static inline const rlt_entry *rlt_queue_tie(const rlt_queue *q)
{
    const rlt_bucket *b = &q->buckets[q->last % RLT_QUEUE_VALUES];
    return q->head < b->n ? &b->items[q->head] : NULL;
}

/* Takes the entry that rlt_queue_tie has just shown. */
static inline void rlt_queue_take(rlt_queue *q)
{
    q->head++;
    q->pending--;
}

#ifdef __cplusplus
}
#endif
#endif
