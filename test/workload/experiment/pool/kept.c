/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache of shared inputs against a plain list: random finds, additions, releases and drops. */
#include <stdint.h>
#include <stdlib.h>

#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/experiment/kept.h"

enum { ITEMS = 12, TURNS = 4000 };

/* What the list knows of an item: whether it is kept, its users, and when it was found or added last. */
typedef struct known {
    bool kept;
    uint32_t users;
    uint64_t used;
} known;

static uint32_t unused_for_longest(const known *all)
{
    uint32_t oldest = ITEMS;
    for (uint32_t i = 0; i < ITEMS; i++)
        if (all[i].kept && !all[i].users && (oldest == ITEMS || all[i].used < all[oldest].used))
            oldest = i;
    return oldest;
}

static void as_a_plain_list(void **state)
{
    static rlt_kept items[ITEMS];
    rlt_kept_all all = {0};
    known list[ITEMS] = {0};
    dice d = {.seed = 1};
    uint32_t found = 0, dropped = 0;
    (void)state;
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        uint32_t i = below(&d, ITEMS), kept = 0;
        const uint64_t key[] = {i % 3, i / 3}; /* neighbours have one half of the key alike */
        rlt_kept *item = rlt_kept_find(&all, key);
        assert_ptr_equal(item, list[i].kept ? &items[i] : NULL);
        if (!item)
            assert_int_equal(rlt_kept_add(&all, &items[i], key, "items", NULL), 0);
        found += item != NULL;
        list[i] = (known){true, list[i].kept ? list[i].users + 1 : 1, turn};
        for (uint32_t k = 0; k < ITEMS; k++) {
            while (list[k].users && below(&d, 2)) {
                items[k].refs--;
                list[k].users--;
            }
            assert_true(!list[k].kept || items[k].refs == list[k].users);
        }
        if (below(&d, 3) == 0) {
            uint32_t oldest = unused_for_longest(list);
            assert_ptr_equal(rlt_kept_drop(&all), oldest < ITEMS ? &items[oldest] : NULL);
            if (oldest < ITEMS)
                list[oldest].kept = false;
            dropped += oldest < ITEMS;
        }
        for (uint32_t k = 0; k < ITEMS; k++)
            kept += list[k].kept;
        assert_int_equal(all.n, kept);
    }
    assert_true(found > 1000 && dropped > 1000);
    free(all.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_plain_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
