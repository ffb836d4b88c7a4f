/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event queue compared with a sorted list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sim/base/random.h"
#include "sim/queue.h"
#include "test/support/dice.h"

#define N(a) (sizeof(a) / sizeof *(a))

/* A stream of test numbers, one per call. */
enum { LIMIT = 400 };

/* Reference: entries in the order of their pushes. The next one is the first with the least key. */
typedef struct reference {
    rlt_entry entries[LIMIT];
    unsigned n;
} reference;

static unsigned next_of(const reference *r)
{
    unsigned next = 0;
    for (unsigned i = 1; i < r->n; i++)
        if (r->entries[i].key < r->entries[next].key)
            next = i;
    return next;
}

static void remove_at(reference *r, unsigned i)
{
    memmove(&r->entries[i], &r->entries[i + 1], (r->n - i - 1) * sizeof r->entries[0]);
    r->n--;
}

static bool keep_two_thirds(void *ctx, const rlt_entry *e)
{
    (void)ctx;
    return e->index % 3 != 0;
}

/* Checks that every entry lies in the bucket of its key, and that the counters are right. */
static void check_shape(const rlt_queue *q)
{
    uint64_t pending = 0, room = 0;
    for (unsigned b = 0; b < RLT_QUEUE_BUCKETS; b++) {
        const rlt_bucket *bucket = &q->buckets[b];
        bool current = b == q->last % RLT_QUEUE_VALUES, marked = q->occupied[b / 64] >> (b % 64) & 1;
        unsigned from = current ? q->head : 0;
        assert_true(from <= bucket->n && bucket->n <= bucket->capacity);
        assert_true(marked || bucket->n == 0);
        assert_true(!marked || bucket->n > 0);
        for (unsigned i = from; i < bucket->n; i++)
            assert_int_equal(rlt_queue_bucket(bucket->items[i].key, q->last), b);
        pending += bucket->n - from;
        room += bucket->capacity;
    }
    assert_true(pending == q->pending && room == q->room);
}

static uint64_t later_key(dice *d, uint64_t last, int kind)
{
    uint64_t delay;
    switch (kind) {
    case 0: /* ties */
        delay = roll(d, 4);
        break;
    case 1: /* all magnitudes */
        delay = rlt_random_u64(d->seed, 1, 0, d->k++) >> roll(d, 64);
        break;
    case 2: /* few distinct delays, as in training */
        delay = (uint64_t[]){0, 1000, 1000000, 4000000}[roll(d, 4)];
        break;
    default:
        delay = roll(d, 5000);
    }
    return delay > UINT64_MAX - last ? UINT64_MAX : last + delay;
}

static void queue_against_reference(int kind, uint64_t seed)
{
    static rlt_queue q;
    static reference r;
    dice d = {.seed = seed};
    rlt_queue_init(&q);
    r.n = 0;
    for (uint32_t i = 0; i < 12000; i++) {
        /* Phases of growth and shrinking. */
        if (r.n < LIMIT && roll(&d, 100) < (i / 1000 % 2 ? 45u : 55u)) {
            rlt_entry e = {later_key(&d, q.last, kind), i, ~i};
            assert_int_equal(rlt_queue_push(&q, e), 0);
            r.entries[r.n++] = e;
        } else {
            rlt_entry e = {0};
            int error = 1;
            uint64_t key = 0;
            unsigned next = next_of(&r);
            assert_int_equal(rlt_queue_peek(&q, &key), r.n > 0);
            assert_int_equal(rlt_queue_pop(&q, &e, &error), r.n > 0);
            assert_int_equal(error, 0);
            if (r.n > 0) {
                assert_true(key == r.entries[next].key);
                assert_true(q.last == key);
                assert_memory_equal(&e, &r.entries[next], sizeof e);
                remove_at(&r, next);
            }
        }
        if (roll(&d, 500) == 0) {
            rlt_queue_filter(&q, keep_two_thirds, NULL);
            for (unsigned k = r.n; k-- > 0;)
                if (r.entries[k].index % 3 == 0)
                    remove_at(&r, k);
        }
        if (i % 16 == 0)
            check_shape(&q);
        assert_int_equal(q.pending, r.n);
    }
    rlt_queue_free(&q);
}

static void queue_pops_in_order(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            queue_against_reference(kind, seed);
}

static void queue_refuses_the_past(void **state)
{
    (void)state;
    static rlt_queue q;
    rlt_entry e;
    rlt_queue_init(&q);
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){100, 1, 1}), 0);
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){UINT64_MAX, 2, 1}), 0);
    assert_true(rlt_queue_pop(&q, &e, NULL));
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){99, 3, 1}), RLT_ERANGE);
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){100, 4, 1}), 0);
    assert_int_equal(q.pending, 2);
    assert_true(rlt_queue_pop(&q, &e, NULL) && e.index == 4);
    assert_true(rlt_queue_pop(&q, &e, NULL) && e.index == 2 && e.key == UINT64_MAX);
    assert_false(rlt_queue_pop(&q, &e, NULL));
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){UINT64_MAX - 1, 5, 1}), RLT_ERANGE);
    rlt_queue_free(&q);
}

/* A bucket with the largest possible capacity: neither a push nor a redistribution loses or reorders
 * anything. */
static void queue_survives_lack_of_room(void **state)
{
    (void)state;
    static rlt_queue q;
    static const uint64_t keys[] = {0x100, 0x145, 0x123, 0x123, 0x188, 0x100};
    rlt_queue_init(&q);
    for (uint32_t i = 0; i < N(keys); i++)
        assert_int_equal(rlt_queue_push(&q, (rlt_entry){keys[i], i, 1}), 0);
    rlt_bucket *blocked = &q.buckets[rlt_queue_bucket(0x123, 0x100)];
    blocked->n = blocked->capacity = UINT32_MAX;
    int error = 0;
    rlt_entry e;
    assert_false(rlt_queue_pop(&q, &e, &error));
    assert_int_equal(error, RLT_ENOMEM);
    assert_int_equal(blocked->n, 0);
    blocked->capacity = 0;
    check_shape(&q);
    static const uint32_t order[] = {0, 5, 2, 3, 1, 4};
    for (unsigned i = 0; i < N(order); i++)
        assert_true(rlt_queue_pop(&q, &e, &error) && e.index == order[i] && e.key == keys[order[i]]);

    rlt_bucket *far = &q.buckets[rlt_queue_bucket(0x5000, q.last)];
    rlt_bucket saved = *far;
    far->n = far->capacity = UINT32_MAX;
    assert_int_equal(rlt_queue_push(&q, (rlt_entry){0x5000, 9, 1}), RLT_ENOMEM);
    assert_int_equal(q.pending, 0);
    *far = saved;
    rlt_queue_free(&q);
}

/* Allocated memory follows the pending entries: 64 bytes an entry plus 1 MiB, whatever the peak was. */
static void queue_gives_memory_back(void **state)
{
    (void)state;
    static rlt_queue q;
    dice d = {.seed = 11};
    rlt_entry e = {0};
    rlt_queue_init(&q);
    const uint32_t peak = 300000;
    for (uint32_t i = 0; i < peak; i++)
        assert_int_equal(rlt_queue_push(&q, (rlt_entry){roll(&d, 1u << 20), i, 1}), 0);
    uint64_t last = q.last;
    for (uint32_t i = 0; i < 2 * peak; i++) { /* move through all buckets */
        assert_true(rlt_queue_pop(&q, &e, NULL));
        if (e.key !=
            last) /* a new instant: only one entry was pushed since the sizes of the arrays were checked */
            assert_true(q.room <= 4 * (q.pending + 1) + 65536 + 2 * (uint64_t)peak);
        last = e.key;
        e.key += roll(&d, 1u << 20);
        assert_int_equal(rlt_queue_push(&q, e), 0);
    }
    while (rlt_queue_pop(&q, &e, NULL))
        ;
    assert_true(q.room <= 65536);
    check_shape(&q);
    /* Two events that schedule each other forever at one instant do not accumulate. */
    assert_int_equal(rlt_queue_push(&q, e), 0);
    assert_int_equal(rlt_queue_push(&q, e), 0);
    for (uint32_t i = 0; i < 1000000; i++) {
        assert_true(rlt_queue_pop(&q, &e, NULL));
        assert_int_equal(rlt_queue_push(&q, e), 0);
    }
    assert_true(q.room <= 65536 + 1024);
    rlt_queue_free(&q);
}

/* In lockstep, where all events of an instant schedule one for the next, arrays go round: only few are ever
 * large. */
static void queue_passes_arrays_on(void **state)
{
    (void)state;
    static rlt_queue q;
    rlt_entry e;
    rlt_queue_init(&q);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(rlt_queue_push(&q, (rlt_entry){1, i, 1}), 0);
    for (uint32_t i = 0; i < 200000; i++) {
        assert_true(rlt_queue_pop(&q, &e, NULL) && e.key == 1 + i / 1000 && e.index == i % 1000);
        e.key++;
        assert_int_equal(rlt_queue_push(&q, e), 0);
    }
    assert_true(q.room <= 200 * 32 + 8 * 1024);
    check_shape(&q);
    rlt_queue_free(&q);
}

/* An array that shrank to one entry still counts when memory is given back once more. */
static void queue_counts_shrunk_arrays(void **state)
{
    (void)state;
    static rlt_queue q;
    rlt_entry e = {.key = (uint64_t)1 << 40};
    rlt_queue_init(&q);
    assert_int_equal(rlt_queue_push(&q, e), 0);
    for (uint64_t t = 1; t <= 3; t++) {
        for (uint32_t i = 0; i < 70000; i++)
            assert_int_equal(rlt_queue_push(&q, (rlt_entry){t, i, 1}), 0);
        for (uint32_t i = 0; i < 70000; i++)
            assert_true(rlt_queue_pop(&q, &e, NULL) && e.key == t && e.index == i);
        assert_int_equal(rlt_queue_advance(&q, 1000), 0);
        check_shape(&q);
        assert_int_equal(q.room, 1);
    }
    rlt_queue_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_pops_in_order),         cmocka_unit_test(queue_refuses_the_past),
        cmocka_unit_test(queue_survives_lack_of_room), cmocka_unit_test(queue_gives_memory_back),
        cmocka_unit_test(queue_passes_arrays_on),      cmocka_unit_test(queue_counts_shrunk_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
