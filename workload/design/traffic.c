/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dimensions, groups in them, and the bytes that collectives send into each. */
#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "workload/design/design.h"

const char *rlt_block_name(rlt_block b)
{
    static const char *const names[] = {"ring", "fully-connected", "switch"};
    return names[b];
}

const char *rlt_level_name(rlt_level l)
{
    static const char *const names[] = {"chiplet", "package", "node", "pod"};
    return names[l];
}

uint64_t rlt_design_size(const rlt_design_net *net)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < net->n; i++)
        n *= net->dims[i].size;
    return n;
}

void rlt_design_levels(rlt_design_net *net)
{
    for (uint32_t i = 0; i < net->n; i++) {
        uint32_t below = net->n - 1 - i;
        net->dims[i].level = below >= RLT_LEVELS ? RLT_LEVEL_CHIPLET : (rlt_level)(RLT_LEVEL_POD - below);
    }
    if (net->n == 2)
        net->dims[0].level = RLT_LEVEL_PACKAGE;
}

static int fill(const rlt_design_net *net, uint32_t members, bool inwards, const char *what,
                rlt_design_group *g, rlt_error *err)
{
    uint32_t left = members;
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        g->size[i] = 1;
    for (uint32_t k = 0; k < net->n && left > 1; k++) {
        uint32_t i = inwards ? net->n - 1 - k : k, n = net->dims[i].size, take = left < n ? left : n;
        if (left % take || n % take)
            return rlt_fail(err, RLT_ERANGE, NULL,
                            "a group of %u %s ranks does not divide dimension %u of size %u", members, what,
                            i + 1, n);
        g->size[i] = take;
        left /= take;
    }
    return left <= 1
               ? 0
               : rlt_fail(err, RLT_ERANGE, NULL, "a group of %u %s ranks does not fit %llu accelerators",
                          members, what, (unsigned long long)rlt_design_size(net));
}

int rlt_design_map(const rlt_design_net *net, uint32_t model, uint32_t data, rlt_design_group *inner,
                   rlt_design_group *outer, rlt_error *err)
{
    if ((uint64_t)model * data != rlt_design_size(net))
        return rlt_fail(err, RLT_ERANGE, NULL,
                        "%u model-parallel x %u data-parallel ranks do not equal %llu accelerators", model,
                        data, (unsigned long long)rlt_design_size(net));
    int rc = fill(net, model, false, "model", inner, err);
    return rc ? rc : fill(net, data, true, "data", outer, err);
}

double rlt_design_handicap(const rlt_design_net *net, uint32_t i, uint32_t g, bool neighbours)
{
    const rlt_design_dim *d = &net->dims[i];
    double n = d->size;
    if (g < 2 || g == d->size || net->ideal || d->block == RLT_BLOCK_SWITCH)
        return 1;
    return d->block == RLT_BLOCK_FULL ? (n - 1) / (g - 1.) : neighbours ? 2 : n / g;
}

int rlt_design_traffic(const rlt_design_net *net, rlt_coll_kind kind, const rlt_design_group *g, double bytes,
                       double moved[RLT_MAX_DIMS], rlt_error *err)
{
    double s = bytes;
    if (kind != RLT_ALL_REDUCE && kind != RLT_REDUCE_SCATTER && kind != RLT_ALL_GATHER &&
        kind != RLT_ALL_TO_ALL)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                        "design supports all_reduce, reduce_scatter, all_gather and all_to_all, not %s",
                        rlt_coll_name(kind));
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++) {
        double n = i < net->n ? g->size[i] : 1;
        moved[i] = s * (n - 1) / n;
        if (kind == RLT_ALL_REDUCE)
            moved[i] = n > 1 && net->dims[i].in_network ? s : 2 * moved[i];
        if (kind != RLT_ALL_TO_ALL)
            s /= n;
    }
    return 0;
}
