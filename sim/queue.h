/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The monotone event queue: a radix heap on 64-bit keys with FIFO buckets (Ahuja, Mehlhorn, Orlin, Tarjan:
 * "Faster algorithms for the shortest path problem", J. ACM 1990). Digits have eight bits.
 *
 * Let L be the last key popped. An entry with key k lies in bucket (d, v), where d is the highest digit in
 * which k differs from L, and v is the value of digit d in k. If k = L, the bucket is (0, k mod 256).
 *
 *   Example: L = 0x1122. Key 0x1155 lies in bucket (0, 0x55), key 0x3311 in bucket (1, 0x33), key 0x1122 in
 *   bucket (0, 0x22).
 *
 * When no entry with key L is left, the lowest bucket is redistributed in order and its least key becomes L.
 * Equal keys therefore leave in the order in which they came, without a sequence number. An entry moves at
 * most 8 times, in practice once or twice.
 *
 * A push below L is refused: time does not run backwards.
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

#define RLT_QUEUE_DIGIT   8 /* bits */
#define RLT_QUEUE_VALUES  (1u << RLT_QUEUE_DIGIT)
#define RLT_QUEUE_BUCKETS (64u / RLT_QUEUE_DIGIT * RLT_QUEUE_VALUES)
#define RLT_QUEUE_VACATED 32u /* a power of two */
#define RLT_QUEUE_WORDS   (RLT_QUEUE_BUCKETS / 64)

typedef struct rlt_entry {
    uint64_t key;
    uint32_t index, generation; /* the owner's, opaque to the queue */
} rlt_entry;

typedef struct rlt_bucket {
    rlt_entry *items;
    uint32_t n, capacity;
} rlt_bucket;

typedef struct rlt_queue {
    uint64_t last;    /* last key popped; its entries lie in bucket last % RLT_QUEUE_VALUES */
    uint64_t pending; /* entries not yet popped */
    uint64_t room;    /* sum of the buckets' capacities */
    uint32_t head;    /* entries with the last key that have been popped */
    uint32_t words;   /* one bit per word of `occupied` that is not 0 */
    uint32_t spare_room;
    uint32_t n_vacated;
    uint16_t vacated[RLT_QUEUE_VACATED];   /* buckets that were emptied last, a ring */
    rlt_entry *spare;                      /* scratch space of rlt_queue_arrange */
    uint64_t occupied[RLT_QUEUE_WORDS];    /* one bit per non-empty bucket */
    rlt_bucket buckets[RLT_QUEUE_BUCKETS]; /* index: digit position * RLT_QUEUE_VALUES + digit value */
} rlt_queue;

RLT_API void rlt_queue_init(rlt_queue *q);
RLT_API void rlt_queue_free(rlt_queue *q);
/* Returns 0, RLT_ERANGE for a key below q->last, or RLT_ENOMEM. */
RLT_API int rlt_queue_push(rlt_queue *q, rlt_entry e) RLT_MUST_USE;
/* Returns false when empty, and when memory ran out (*error is then RLT_ENOMEM). `error` may be NULL. */
RLT_API bool rlt_queue_pop(rlt_queue *q, rlt_entry *e, int *error);
/* Reads the next key without moving the queue's clock. Returns false when empty. */
RLT_API bool rlt_queue_peek(rlt_queue *q, uint64_t *key);
/* Moves the queue's clock to the next key, so that rlt_queue_tie finds its entries. Returns 1; 0 when no key
 * up to `most` is left, or RLT_ENOMEM, with nothing changed. */
RLT_API int rlt_queue_advance(rlt_queue *q, uint64_t most) RLT_MUST_USE;
/* Arranges the entries with the last key by generation, stably; generations below `first` count as equal. To
 * be called before any of them is popped; later it does nothing. Returns 1, or RLT_ENOMEM with nothing
 * changed. */
RLT_API int rlt_queue_arrange(rlt_queue *q, uint32_t first) RLT_MUST_USE;
/* Drops every entry for which keep() is false, in place. Compacts the queue after cancellations. */
RLT_API void rlt_queue_filter(rlt_queue *q, bool (*keep)(void *ctx, const rlt_entry *e), void *ctx);

static inline unsigned rlt_queue_bucket(uint64_t key, uint64_t last)
{
    /* `| 1`: a key equal to `last` goes to digit 0. */
    unsigned high = 63u ^ (unsigned)__builtin_clzll((key ^ last) | 1);
    unsigned shift = high & ~(RLT_QUEUE_DIGIT - 1u);
    return shift * (RLT_QUEUE_VALUES / RLT_QUEUE_DIGIT) + ((unsigned)(key >> shift) & (RLT_QUEUE_VALUES - 1));
}

static inline void rlt_queue_mark(rlt_queue *q, unsigned number)
{
    q->occupied[number / 64] |= UINT64_C(1) << (number % 64);
    q->words |= UINT32_C(1) << (number / 64);
}

/* Appends e to its bucket, as if `last` were the last key popped. Returns false and does nothing if the
 * bucket has no room. */
static inline bool rlt_queue_place(rlt_queue *q, rlt_entry e, uint64_t last)
{
    unsigned number = rlt_queue_bucket(e.key, last);
    rlt_bucket *b = &q->buckets[number];
    if (b->n == b->capacity)
        return false;
    b->items[b->n] = e;
    if (b->n++ == 0)
        rlt_queue_mark(q, number);
    return true;
}

/* rlt_queue_push for a key that is not below q->last. Returns false and does nothing if its bucket has no
 * room. */
static inline bool rlt_queue_push_fast(rlt_queue *q, rlt_entry e)
{
    if (!rlt_queue_place(q, e, q->last))
        return false;
    q->pending++;
    return true;
}

/* Returns the next entry if its key is the last one popped, else NULL. */
static inline const rlt_entry *rlt_queue_tie(const rlt_queue *q)
{
    const rlt_bucket *b = &q->buckets[q->last % RLT_QUEUE_VALUES];
    return q->head < b->n ? &b->items[q->head] : NULL;
}

/* Pops the entry that rlt_queue_tie has just returned. */
static inline void rlt_queue_take(rlt_queue *q)
{
    q->head++;
    q->pending--;
}

#ifdef __cplusplus
}
#endif
#endif
