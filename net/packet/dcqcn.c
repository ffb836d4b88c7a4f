/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DCQCN. Constants of the paper's section 5, except for the faster increase, which the paper leaves open. */
#include "net/packet/dcqcn.h"

#include <math.h>

static const rlt_time tell_every_ps = 50 * RLT_US, alpha_every_ps = 55 * RLT_US, timer_every_ps = 55 * RLT_US;
static const uint64_t bytes_every = 10000000;
static const double alpha_gain = 1.0 / 256, add_Bps = 40e6 / 8, add_faster_Bps = 400e6 / 8,
                    least_Bps = 40e6 / 8;
enum { FAST_RECOVERY = 5 };

void rlt__dcqcn_init(rlt_dcqcn *d, uint64_t line_Bps)
{
    *d = (rlt_dcqcn){.line = (double)line_Bps,
                     .rate = (double)line_Bps,
                     .target = (double)line_Bps,
                     .alpha = 1,
                     .told_at = -1};
}

bool rlt__dcqcn_tells(rlt_dcqcn *d, rlt_time now)
{
    if (d->told_at >= 0 && now - d->told_at < tell_every_ps)
        return false;
    d->told_at = now;
    return true;
}

static void increase(rlt_dcqcn *d)
{
    uint32_t most = d->timers > d->counters ? d->timers : d->counters;
    uint32_t least = d->timers < d->counters ? d->timers : d->counters;
    if (least > FAST_RECOVERY)
        d->target += add_faster_Bps * (least - FAST_RECOVERY);
    else if (most > FAST_RECOVERY)
        d->target += add_Bps;
    if (d->target > d->line)
        d->target = d->line;
    d->rate = (d->rate + d->target) / 2;
    if (d->rate > d->line * (1 - 1e-6))
        d->rate = d->target = d->line;
}

/* Applies the timers that have expired. */
static void catch_up(rlt_dcqcn *d, rlt_time now)
{
    while (d->timer_at <= now && d->rate < d->line) {
        d->timers++;
        d->timer_at += timer_every_ps;
        increase(d);
    }
    while (d->alpha_at <= now && d->alpha > 1e-12) {
        d->alpha *= 1 - alpha_gain;
        d->alpha_at += alpha_every_ps;
    }
}

void rlt__dcqcn_cut(rlt_dcqcn *d, rlt_time now)
{
    if (d->alpha_at > 0)
        catch_up(d, now);
    d->target = d->rate;
    d->rate *= 1 - d->alpha / 2;
    if (d->rate < least_Bps)
        d->rate = d->line < least_Bps ? d->line : least_Bps;
    d->alpha = (1 - alpha_gain) * d->alpha + alpha_gain;
    d->alpha_at = now + alpha_every_ps;
    d->timer_at = now + timer_every_ps;
    d->timers = d->counters = 0;
    d->bytes = 0;
}

rlt_time rlt__dcqcn_sends(rlt_dcqcn *d, rlt_time now, uint32_t bytes)
{
    if (d->rate >= d->line)
        return 0;
    catch_up(d, now);
    d->bytes += bytes;
    if (d->bytes >= bytes_every) {
        d->bytes -= bytes_every;
        d->counters++;
        increase(d);
    }
    return d->rate >= d->line ? 0 : (rlt_time)nearbyint(bytes * ((double)RLT_S / d->rate));
}
