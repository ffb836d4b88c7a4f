/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heaps compared with the sorted items. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include "sim/base/heap.h"
#include "sim/base/random.h"

typedef struct thing {
    uint32_t key, number;
} thing;

/* Order: by key, largest first if `down`; equal keys by number. */
typedef struct way {
    bool down;
} way;

static bool before(const way *w, const thing *a, const thing *b)
{
    if (a->key != b->key)
        return w->down ? a->key > b->key : a->key < b->key;
    return a->number < b->number;
}

RLT_HEAP(things, thing, way, before)

static int by_key(const void *x, const void *y)
{
    const thing *a = x, *b = y;
    return a->key != b->key ? (a->key < b->key ? -1 : 1) : (a->number > b->number) - (a->number < b->number);
}

static void sorts(void **state)
{
    (void)state;
    enum { MOST = 300 };
    const way up = {false};
    for (uint32_t n = 0; n <= MOST; n += n < 20 ? 1 : 35) {
        thing heap[MOST], sorted[MOST];
        uint32_t held = 0;
        for (uint32_t i = 0; i < n; i++) {
            sorted[i] = (thing){(uint32_t)rlt_random_below(7, n, 1, i, n / 3 + 1), i}; /* with ties */
            things_push(&up, heap, &held, sorted[i]);
        }
        qsort(sorted, n, sizeof *sorted, by_key);
        for (uint32_t i = 0; i < n; i++) {
            thing t = things_pop(&up, heap, &held);
            assert_int_equal(t.number, sorted[i].number);
        }
        assert_int_equal(held, 0);
    }
}

/* Pushes and pops in turn: each pop returns the first of the items inside. */
static void mixed(void **state)
{
    (void)state;
    enum { STEPS = 4000, MOST = 64 };
    const way down = {true};
    thing heap[MOST];
    bool in[STEPS] = {false};
    uint32_t key[STEPS], held = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        key[i] = (uint32_t)rlt_random_below(8, i, 2, 0, 50);
        if (held < MOST && (held == 0 || rlt_random_below(8, i, 3, 0, 2))) {
            in[i] = true;
            things_push(&down, heap, &held, (thing){key[i], i});
            continue;
        }
        uint32_t first = STEPS;
        for (uint32_t k = 0; k < i; k++)
            if (in[k] && (first == STEPS || key[k] > key[first]))
                first = k;
        assert_int_equal(things_pop(&down, heap, &held).number, first);
        in[first] = false;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts),
        cmocka_unit_test(mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
