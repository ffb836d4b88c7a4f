/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors: the parameters and numbers common to all shapes. */
#include "net/shapes/factor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/param.h"

const rlt_param rlt_in_network_parameter = RLT_IN_NETWORK(.width = sizeof(uint8_t));

bool rlt_dim_given(const rlt_dim_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->n_params; i++)
        if (strcmp(spec->params[i].name, name) == 0)
            return true;
    return false;
}

int rlt_factor_share(const rlt_dim_spec *spec, rlt_factor *f, uint32_t share, rlt_error *err)
{
    uint64_t link = spec->link_bw_Bps ? spec->link_bw_Bps : spec->bw_Bps / share;
    if (!link)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "bandwidth of %" PRIu64 " B/s leaves less than 1 B/s for each of %" PRIu32 " links",
                        spec->bw_Bps, share);
    f->cls[0] = (rlt_factor_links){.bw_Bps = link, .latency_ps = spec->latency_ps};
    f->bw_Bps = spec->bw_Bps ? spec->bw_Bps : spec->link_bw_Bps * share;
    return 0;
}

int rlt_factor_counts(const rlt_dim_spec *spec, rlt_factor *f, uint64_t switches, uint64_t links,
                      rlt_error *err)
{
    if (links > RLT_MAX_LINKS)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "%" PRIu64 " links in one %s of %" PRIu32 "; at most %d", links, spec->shape,
                        spec->size, RLT_MAX_LINKS);
    if (switches > RLT_MAX_LINKS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "%" PRIu64 " switches; at most %d", switches,
                        RLT_MAX_LINKS);
    f->switches = (uint32_t)switches;
    f->links = (uint32_t)links;
    return 0;
}

int rlt_factor_longest(const rlt_dim_spec *spec, rlt_factor *f, uint32_t hops, rlt_error *err)
{
    f->max_hops = hops;
    if (hops && f->cls[0].latency_ps >= RLT_TIME_MAX / hops)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "latency too large: its sum over %" PRIu32 " links overflows", hops);
    f->max_ps = f->cls[0].latency_ps * (rlt_time)hops;
    return 0;
}
