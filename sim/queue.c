/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The radix heap: growing, redistributing, compacting. */
#include "sim/queue.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"

/* At each new instant the arrays together hold at most SLACK times the pending entries plus SPARE (1 MiB). */
#define SLACK 4u
#define SPARE 65536u
/* Arrays of this size go round; smaller ones are soon made. */
#define WORTH 32u

void rlt_queue_init(rlt_queue *q)
{
    memset(q, 0, sizeof *q);
}

void rlt_queue_free(rlt_queue *q)
{
    for (unsigned i = 0; i < RLT_QUEUE_BUCKETS; i++)
        if (q->buckets[i].items)
            free(q->buckets[i].items);
    free(q->spare);
    rlt_queue_init(q);
}

static unsigned current_bucket(const rlt_queue *q)
{
    return (unsigned)(q->last % RLT_QUEUE_VALUES);
}

/* Gives a bucket the larger array of one that was emptied of late. In lockstep traffic arrays so go round,
 * and stay in the cache. */
static bool take_vacant(rlt_queue *q, unsigned number)
{
    rlt_bucket *b = &q->buckets[number], own = *b;
    for (uint32_t i = 1; i <= RLT_QUEUE_VACATED && own.capacity >= WORTH; i++) {
        rlt_bucket *v = &q->buckets[q->vacated[(q->n_vacated - i) % RLT_QUEUE_VACATED]];
        if (v->n > 0 || v->capacity <= own.capacity)
            continue;
        if (own.n)
            memcpy(v->items, own.items, (size_t)own.n * sizeof *own.items);
        *b = (rlt_bucket){v->items, own.n, v->capacity};
        *v = (rlt_bucket){own.items, 0, own.capacity};
        return true;
    }
    return false;
}

/* Makes room for one more entry in a bucket. Squeezes out popped entries instead of copying them. */
static int make_room(rlt_queue *q, unsigned number)
{
    rlt_bucket *b = &q->buckets[number];
    if (q->head > 0 && q->head >= b->n / 2 && number == current_bucket(q)) {
        b->n -= q->head;
        memmove(b->items, b->items + q->head, (size_t)b->n * sizeof *b->items);
        q->head = 0;
        return 0;
    }
    if (take_vacant(q, number))
        return 0;
    uint32_t before = b->capacity;
    int rc =
        rlt_grow(&b->items, &b->capacity, sizeof *b->items, (uint64_t)b->n + 1, UINT32_MAX, "events", NULL);
    q->room += b->capacity - before;
    return rc;
}

int rlt_queue_push(rlt_queue *q, rlt_entry e)
{
    if (e.key < q->last)
        return RLT_ERANGE;
    if (rlt_queue_push_fast(q, e))
        return 0;
    if (make_room(q, rlt_queue_bucket(e.key, q->last)) < 0)
        return RLT_ENOMEM;
    rlt_queue_push_fast(q, e);
    return 0;
}

static inline void empty(rlt_queue *q, unsigned number)
{
    uint64_t *word = &q->occupied[number / 64];
    q->buckets[number].n = 0;
    if (q->buckets[number].capacity > WORTH)
        q->vacated[q->n_vacated++ % RLT_QUEUE_VACATED] = (uint16_t)number;
    *word &= ~(UINT64_C(1) << (number % 64));
    if (*word == 0)
        q->words &= ~(UINT32_C(1) << (number / 64));
}

/* Empties the current bucket, all of whose entries have been popped. */
static inline void drop_popped(rlt_queue *q)
{
    q->head = 0;
    empty(q, current_bucket(q));
}

static inline bool is_roomy(const rlt_queue *q)
{
    return q->room > SLACK * q->pending + SPARE;
}

/*
 * Gives memory back when the arrays have grown out of proportion: frees empty arrays and shrinks mostly
 * unused ones. The remaining memory is within the limit, so the growth until the next call pays for it. The
 * popped entries of the current bucket must have been dropped.
 */
static void trim(rlt_queue *q)
{
    q->room = 0;
    for (unsigned i = 0; i < RLT_QUEUE_BUCKETS; i++) {
        rlt_bucket *b = &q->buckets[i];
        if (b->capacity == 0)
            continue;
        if (b->n == 0) {
            free(b->items);
            *b = (rlt_bucket){0};
        } else if (b->n < b->capacity / SLACK) {
            rlt_entry *less = realloc(b->items, (size_t)b->n * sizeof *less);
            if (less) {
                b->items = less;
                b->capacity = b->n;
            }
        }
        q->room += b->capacity;
    }
}

/* Returns the lowest non-empty bucket, RLT_QUEUE_BUCKETS if there is none. */
static inline unsigned lowest_bucket(const rlt_queue *q)
{
    if (!q->words)
        return RLT_QUEUE_BUCKETS;
    unsigned i = (unsigned)__builtin_ctz(q->words);
    return i * 64 + (unsigned)__builtin_ctzll(q->occupied[i]);
}

/* Returns the least key of a bucket. *all_tie: all entries have that key. */
static uint64_t least_key(const rlt_bucket *b, bool *all_tie)
{
    const rlt_entry *items = b->items, *end = items + b->n;
    uint64_t first = items->key, least = first, differs = 0;
    for (const rlt_entry *e = items + 1; e < end; e++) {
        least = e->key < least ? e->key : least;
        differs |= e->key ^ first;
    }
    *all_tie = differs == 0;
    return least;
}

/* Moves the entries of a bucket, in order, to their buckets with `least` as the last key. */
static int spread(rlt_queue *q, const rlt_bucket *source, uint64_t least)
{
    const rlt_entry *items = source->items, *end = items + source->n;
    for (const rlt_entry *e = items; e < end; e++)
        while (!rlt_queue_place(q, *e, least))
            if (make_room(q, rlt_queue_bucket(e->key, least)) < 0)
                return RLT_ENOMEM;
    return 0;
}

/* Undoes a spread. The buckets that it filled, all below `number`, were empty before. */
static void unspread(rlt_queue *q, unsigned number)
{
    for (unsigned i = 0; i < number / RLT_QUEUE_VALUES * RLT_QUEUE_VALUES; i++)
        empty(q, i);
}

int rlt_queue_advance(rlt_queue *q, uint64_t most)
{
    if (rlt_queue_tie(q))
        return 1;
    drop_popped(q);
    if (is_roomy(q))
        trim(q);
    unsigned number = lowest_bucket(q);
    if (number == RLT_QUEUE_BUCKETS)
        return 0;
    rlt_bucket *source = &q->buckets[number];
    bool all_tie = true;
    uint64_t least = number < RLT_QUEUE_VALUES ? source->items->key : least_key(source, &all_tie);
    if (least > most)
        return 0;
    if (number >= RLT_QUEUE_VALUES) {
        unsigned to = (unsigned)(least % RLT_QUEUE_VALUES);
        if (all_tie) { /* move the array, not the entries */
            rlt_bucket ties = *source;
            *source = q->buckets[to];
            q->buckets[to] = ties;
            rlt_queue_mark(q, to);
        } else if (spread(q, source, least) < 0) {
            unspread(q, number);
            return RLT_ENOMEM;
        }
        empty(q, number);
    }
    q->last = least;
    return 1;
}

static inline uint32_t rank_of(const rlt_entry *e, uint32_t first)
{
    return e->generation < first ? 0 : e->generation;
}

/* Returns the end of the ascending run that begins at `from`. */
static uint32_t run_end(const rlt_entry *items, uint32_t from, uint32_t n, uint32_t first)
{
    uint32_t before = 0;
    for (; from < n; from++) {
        uint32_t rank = rank_of(&items[from], first);
        if (rank < before)
            break;
        before = rank;
    }
    return from;
}

/* Merges pairs of neighbouring runs of `from` into `to`. Returns the length of the first run there. */
static uint32_t merge_runs(const rlt_entry *from, rlt_entry *to, uint32_t n, uint32_t first)
{
    uint32_t length = 0;
    for (uint32_t begin = 0, k = 0; begin < n;) {
        uint32_t middle = run_end(from, begin, n, first), end = run_end(from, middle, n, first);
        uint32_t a = begin, b = middle;
        while (a < middle && b < end) {
            bool later = rank_of(&from[b], first) < rank_of(&from[a], first);
            to[k++] = from[later ? b : a];
            a += !later;
            b += later;
        }
        memcpy(to + k, from + a, (middle - a) * sizeof *to);
        k += middle - a;
        memcpy(to + k, from + b, (end - b) * sizeof *to);
        k += end - b;
        length = begin ? length : end;
        begin = end;
    }
    return length;
}

int rlt_queue_arrange(rlt_queue *q, uint32_t first)
{
    rlt_bucket *b = &q->buckets[current_bucket(q)];
    uint32_t n = b->n;
    if (q->head || run_end(b->items, 0, n, first) == n)
        return 1;
    if (rlt_grow(&q->spare, &q->spare_room, sizeof *q->spare, n, UINT32_MAX, "events", NULL) < 0)
        return RLT_ENOMEM;
    rlt_entry *from = b->items, *to = q->spare;
    while (merge_runs(from, to, n, first) < n) {
        rlt_entry *other = from;
        from = to;
        to = other;
    }
    if (to != b->items)
        memcpy(b->items, to, n * sizeof *to);
    return 1;
}

bool rlt_queue_pop(rlt_queue *q, rlt_entry *e, int *error)
{
    int rc = rlt_queue_advance(q, UINT64_MAX);
    if (error)
        *error = rc < 0 ? rc : 0;
    if (rc <= 0)
        return false;
    *e = *rlt_queue_tie(q);
    rlt_queue_take(q);
    return true;
}

bool rlt_queue_peek(rlt_queue *q, uint64_t *key)
{
    if (rlt_queue_tie(q)) {
        *key = q->last;
        return true;
    }
    drop_popped(q);
    unsigned number = lowest_bucket(q);
    if (number == RLT_QUEUE_BUCKETS)
        return false;
    bool all_tie;
    *key =
        number < RLT_QUEUE_VALUES ? q->buckets[number].items->key : least_key(&q->buckets[number], &all_tie);
    return true;
}

void rlt_queue_filter(rlt_queue *q, bool (*keep)(void *ctx, const rlt_entry *e), void *ctx)
{
    q->pending = 0;
    for (unsigned number = 0; number < RLT_QUEUE_BUCKETS; number++) {
        rlt_bucket *b = &q->buckets[number];
        uint32_t kept = 0;
        for (uint32_t i = number == current_bucket(q) ? q->head : 0; i < b->n; i++)
            if (keep(ctx, &b->items[i]))
                b->items[kept++] = b->items[i];
        b->n = kept;
        q->pending += kept;
        if (kept == 0)
            empty(q, number);
    }
    q->head = 0;
    if (is_roomy(q))
        trim(q);
}
