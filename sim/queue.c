/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The radix heap. */
#include "sim/queue.h"

#include <stdlib.h>
#include <string.h>

#include "sim/mem.h"

/* Arrays up to this many entries (16 KiB) are kept whatever the number pending. */
#define SMALL_CAPACITY 1024u
/* Beyond that, all arrays together hold at most this many times the entries pending. */
#define SLACK 4u

void rlt_queue_init(rlt_queue *q)
{
    memset(q, 0, sizeof *q);
}

void rlt_queue_free(rlt_queue *q)
{
    for (int b = 0; b <= 64; b++)
        free(q->buckets[b].items);
    rlt_queue_init(q);
}

/* Bucket of a key that differs from the last one in `diff`. */
static inline unsigned bucket_of(uint64_t diff)
{
    return diff ? 64u - (unsigned)__builtin_clzll(diff) : 0u;
}

/* Room for one more at the end. Popped entries at the start are squeezed out rather than carried along. */
static int make_room(rlt_bucket *b)
{
    if (b->head > 0 && b->head >= b->n / 2) {
        b->n -= b->head;
        memmove(b->items, b->items + b->head, (size_t)b->n * sizeof *b->items);
        b->head = 0;
        return 0;
    }
    return rlt_grow(&b->items, &b->capacity, sizeof *b->items, (uint64_t)b->n + 1, UINT32_MAX, "events",
                    NULL);
}

int rlt_queue_push(rlt_queue *q, rlt_entry e)
{
    if (e.key < q->last)
        return RLT_ERANGE;
    unsigned number = bucket_of(e.key ^ q->last);
    rlt_bucket *b = &q->buckets[number];
    if (b->n == b->capacity && make_room(b) < 0)
        return RLT_ENOMEM;
    b->items[b->n++] = e;
    if (number > 0)
        q->occupied |= UINT64_C(1) << (number - 1);
    q->pending++;
    return 0;
}

static void release(rlt_bucket *b)
{
    free(b->items);
    b->items = NULL;
    b->capacity = 0;
}

/*
 * Empties a bucket that held `used` entries, and gives a large array back if little of it was used or if the
 * arrays together have grown out of proportion. The sum over all of them is paid for by the entries just
 * moved.
 */
static void clear(rlt_queue *q, rlt_bucket *b, uint32_t used)
{
    b->head = b->n = 0;
    if (b->capacity <= SMALL_CAPACITY)
        return;
    bool excess = used < b->capacity / SLACK;
    if (!excess) {
        uint64_t total = 0;
        for (int i = 0; i <= 64; i++)
            total += q->buckets[i].capacity;
        excess = total > SLACK * q->pending;
    }
    if (excess)
        release(b);
}

/* The least key of a bucket, and in *differs the bits in which its keys differ from the first. */
static uint64_t least_key(const rlt_bucket *b, uint64_t *differs)
{
    uint64_t first = b->items[b->head].key, least = first, bits = 0;
    for (uint32_t i = b->head + 1; i < b->n; i++) {
        uint64_t key = b->items[i].key;
        least = key < least ? key : least;
        bits |= key ^ first;
    }
    *differs = bits;
    return least;
}

/*
 * Spreads the lowest occupied bucket over those below it, in order, so that the entries with the least key
 * come to lie in bucket 0. Those below are empty, so running out of memory is undone by emptying them again.
 */
static int redistribute(rlt_queue *q, unsigned from)
{
    rlt_bucket *source = &q->buckets[from], *zero = &q->buckets[0];
    uint64_t differs, least = least_key(source, &differs), occupied = 0;
    if (differs == 0) { /* all tie: the array changes hands */
        rlt_bucket ties = *source;
        *source = *zero;
        *zero = ties;
    } else {
        for (uint32_t i = 0; i < source->n; i++) {
            rlt_entry e = source->items[i];
            unsigned to = bucket_of(e.key ^ least);
            rlt_bucket *b = &q->buckets[to];
            if (b->n == b->capacity && make_room(b) < 0) {
                for (unsigned k = 0; k < from; k++)
                    q->buckets[k].n = 0;
                return RLT_ENOMEM;
            }
            b->items[b->n++] = e;
            occupied |= (UINT64_C(1) << to) >> 1;
        }
        clear(q, source, source->n);
    }
    q->occupied = (q->occupied & (q->occupied - 1)) | occupied;
    q->last = least;
    return 0;
}

bool rlt_queue_pop(rlt_queue *q, rlt_entry *e, int *error)
{
    if (error)
        *error = 0;
    if (rlt_queue_pop_tie(q, e))
        return true;
    rlt_bucket *zero = &q->buckets[0];
    clear(q, zero, zero->n);
    if (q->occupied == 0)
        return false;
    unsigned from = (unsigned)__builtin_ctzll(q->occupied) + 1;
    rlt_bucket *source = &q->buckets[from];
    if (source->n == 1) {
        *e = source->items[0];
        q->last = e->key;
        q->occupied &= q->occupied - 1;
        q->pending--;
        clear(q, source, 1);
        return true;
    }
    int rc = redistribute(q, from);
    if (rc < 0) {
        if (error)
            *error = rc;
        return false;
    }
    return rlt_queue_pop_tie(q, e);
}

bool rlt_queue_peek(const rlt_queue *q, uint64_t *key)
{
    if (q->buckets[0].head < q->buckets[0].n) {
        *key = q->last;
        return true;
    }
    if (q->occupied == 0)
        return false;
    uint64_t differs;
    *key = least_key(&q->buckets[__builtin_ctzll(q->occupied) + 1], &differs);
    return true;
}

void rlt_queue_filter(rlt_queue *q, bool (*keep)(void *ctx, const rlt_entry *e), void *ctx)
{
    q->pending = 0;
    q->occupied = 0;
    for (unsigned number = 0; number <= 64; number++) {
        rlt_bucket *b = &q->buckets[number];
        uint32_t kept = 0;
        for (uint32_t i = b->head; i < b->n; i++)
            if (keep(ctx, &b->items[i]))
                b->items[kept++] = b->items[i];
        b->head = 0;
        b->n = kept;
        q->pending += kept;
        if (kept == 0 && b->capacity > SMALL_CAPACITY)
            release(b);
        if (kept > 0 && number > 0)
            q->occupied |= UINT64_C(1) << (number - 1);
    }
}
