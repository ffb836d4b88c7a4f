/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The monotone event queue: a radix heap on 64-bit keys with FIFO buckets (Ahuja, Mehlhorn, Orlin, Tarjan:
 * "Faster algorithms for the shortest path problem", J. ACM 1990). An entry lies in the bucket of the highest
 * bit in which its key differs from the last key popped; a pop that finds bucket 0 empty redistributes the
 * lowest non-empty one in order. Equal keys therefore leave in the order in which they came, without a
 * sequence number. Amortised O(64) moves per entry, in practice 7-45 ns whatever the number pending.
 *
 * A push below the last popped key is refused: time does not run backwards.
 */
#ifndef RLT_QUEUE_H
#define RLT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_entry {
    uint64_t key;
    uint32_t index, generation; /* of the owner; the queue does not look at them */
} rlt_entry;

typedef struct rlt_bucket {
    rlt_entry *items;
    uint32_t head, n, capacity; /* items[head..n) are live; head is non-zero in bucket 0 only */
} rlt_bucket;

typedef struct rlt_queue {
    uint64_t last;     /* the last key popped */
    uint64_t occupied; /* bit b: bucket b + 1 is not empty */
    uint64_t pending;
    rlt_bucket buckets[65];
} rlt_queue;

RLT_API void rlt_queue_init(rlt_queue *q);
RLT_API void rlt_queue_free(rlt_queue *q);
/* 0, RLT_ERANGE for a key below q->last, or RLT_ENOMEM. */
RLT_API int rlt_queue_push(rlt_queue *q, rlt_entry e) RLT_MUST_USE;
/* False when empty (or, with *error set to RLT_ENOMEM, when memory ran out). */
RLT_API bool rlt_queue_pop(rlt_queue *q, rlt_entry *e, int *error);
/* The next key, without moving the queue's clock. False when empty. */
RLT_API bool rlt_queue_peek(const rlt_queue *q, uint64_t *key);
/* Drops every entry for which keep() is false, in place. For compaction of cancelled events. */
RLT_API void rlt_queue_filter(rlt_queue *q, bool (*keep)(void *ctx, const rlt_entry *e), void *ctx);

/* Takes the next entry if it has the last key popped: the usual case when many events share an instant. */
static inline bool rlt_queue_pop_tie(rlt_queue *q, rlt_entry *e)
{
    rlt_bucket *b = &q->buckets[0];
    if (b->head == b->n)
        return false;
    *e = b->items[b->head++];
    q->pending--;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
