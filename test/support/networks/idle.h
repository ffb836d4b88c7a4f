/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of an algorithm that does nothing, for tests of what comes before them. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_IDLE_H
#define RLT_TEST_SUPPORT_NETWORKS_IDLE_H

#include <stdint.h>

#include "collectives/algorithm.h"

static inline uint32_t test_idle_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    (void)plan, (void)member, (void)lane;
    return 0;
}

static inline void test_idle_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k,
                                  rlt_step *out)
{
    (void)plan, (void)member, (void)lane, (void)k, (void)out;
}

#endif
