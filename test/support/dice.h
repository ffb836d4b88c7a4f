/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases that are the same in each run: throw k of a stream of a seed. */
#ifndef RLT_TEST_SUPPORT_DICE_H
#define RLT_TEST_SUPPORT_DICE_H

#include <stdint.h>

#include "sim/base/random.h"

typedef struct dice {
    uint64_t seed, k;
    uint32_t stream;
} dice;

/* Both return a number from 0 to n - 1. */
static inline uint64_t roll(dice *d, uint64_t n)
{
    return rlt_random_below(d->seed, d->stream, 0, d->k++, n);
}

static inline uint32_t below(dice *d, uint32_t n)
{
    return (uint32_t)roll(d, n);
}

/* Returns a number from 0 up to, but not, 1. */
static inline double fraction(dice *d)
{
    return rlt_random_unit(d->seed, d->stream, 0, d->k++);
}

#endif
