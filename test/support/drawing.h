/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random test cases: the numbers of a seeded stream, one after another. */
#ifndef RLT_TEST_SUPPORT_DRAWING_H
#define RLT_TEST_SUPPORT_DRAWING_H

#include <stdint.h>

#include "sim/base/random.h"

typedef struct drawing {
    uint64_t seed;
    uint32_t stream, next;
} drawing;

static inline double unit(drawing *d)
{
    return rlt_random_unit(d->seed, d->stream, 0, d->next++);
}

static inline uint32_t below(drawing *d, uint32_t n)
{
    uint32_t x = (uint32_t)(unit(d) * n);
    return x < n ? x : n - 1;
}

#endif
