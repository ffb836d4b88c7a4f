/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulated time: signed 64-bit picoseconds. The event queue uses two bits of its key for the event class, so
 * the horizon is 2^61 ps (26 days). Sums saturate at RLT_TIME_MAX instead of wrapping, and the simulation
 * refuses an event at that time: an overflow is an error with a place, never a wrong time.
 */
#ifndef RLT_SIM_BASE_TIME_H
#define RLT_SIM_BASE_TIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t rlt_time;
__extension__ typedef unsigned __int128 rlt_wide; /* for products that exceed 64 bits */

#define RLT_PS       ((rlt_time)1)
#define RLT_NS       ((rlt_time)1000)
#define RLT_US       ((rlt_time)1000000)
#define RLT_MS       ((rlt_time)1000000000)
#define RLT_S        ((rlt_time)1000000000000)
#define RLT_TIME_MAX ((rlt_time)1 << 61)
#define RLT_NONE     UINT32_MAX

/* Returns a + b for a, b in [0, RLT_TIME_MAX], saturating. */
static inline rlt_time rlt_time_add(rlt_time a, rlt_time b)
{
    rlt_time sum = a + b;
    return sum > RLT_TIME_MAX ? RLT_TIME_MAX : sum;
}

/* Returns n times a, for a in [0, RLT_TIME_MAX], saturating. */
static inline rlt_time rlt_time_mul(rlt_time a, uint64_t n)
{
    rlt_wide product = (rlt_wide)a * n;
    return product > (rlt_wide)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)product;
}

/* Returns the picoseconds that `bytes` take at `bw_Bps` > 0 bytes a second, rounded to nearest (half up),
 * saturating. */
static inline rlt_time rlt_transfer_time(uint64_t bytes, uint64_t bw_Bps)
{
    const uint64_t ps_per_s = 1000000000000u;
    if (ps_per_s % bw_Bps == 0 && bytes < (1u << 31)) {
        uint64_t per_byte = ps_per_s / bw_Bps;
        if (per_byte < (1u << 29))
            return (rlt_time)(bytes * per_byte);
    }
    rlt_wide t = ((rlt_wide)bytes * ps_per_s + bw_Bps / 2) / bw_Bps;
    return t > (rlt_wide)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)t;
}

#ifdef __cplusplus
}
#endif
#endif
