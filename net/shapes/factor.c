/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors: the parameters and numbers that all shapes share. */
#include "net/shapes/factor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"

bool rlt_in_network_parse(const char *text, uint8_t *out)
{
    static const char *const words[] = {"none", "reduce", "multicast", "reduce+multicast"};
    for (uint8_t i = 0; i < 4; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

const char *rlt_dim_param(const rlt_dim_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->n_params; i++)
        if (strcmp(spec->params[i].name, name) == 0)
            return spec->params[i].value;
    return NULL;
}

int rlt_dim_number(const rlt_dim_spec *spec, const char *name, uint32_t otherwise, uint32_t min, uint32_t max,
                   uint32_t *out, rlt_error *err)
{
    const char *text = rlt_dim_param(spec, name);
    uint64_t value = otherwise;
    if (text) {
        int rc = rlt_parse_count(text, &value, spec->where, err);
        if (rc)
            return rc;
    }
    if (value < min || value > max)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "%s must be from %" PRIu32 " to %" PRIu32 ", got %" PRIu64, name, min, max, value);
    *out = (uint32_t)value;
    return 0;
}

int rlt_dim_only(const rlt_dim_spec *spec, const char *const *known, rlt_error *err)
{
    for (uint32_t i = 0; i < spec->n_params; i++) {
        const char *const *k = known;
        while (*k && strcmp(*k, spec->params[i].name) != 0)
            k++;
        if (*k || strcmp(spec->params[i].name, "in_network") == 0)
            continue;
        char list[256] = "";
        for (k = known; *k; k++)
            rlt_list_name(list, sizeof list, *k);
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "shape %s has no parameter '%.40s'; it has %s",
                        spec->shape, spec->params[i].name, list[0] ? list : "none");
    }
    for (uint32_t i = 0; i < spec->n_params; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(spec->params[i].name, spec->params[j].name) == 0)
                return rlt_fail(err, RLT_ESCHEMA, spec->where, "parameter '%s' is given twice",
                                spec->params[i].name);
    return 0;
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
