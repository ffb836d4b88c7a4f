/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of networks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/text/json.h"
#include "workload/design/design.h"

/* By chiplet, package, node, pod; dollars per GB/s. */
#define LIBRA_TABLE .link = {2, 4, 4, 7.8}, .switch_port = {0, 13, 13, 18}, .nic = {0, 0, 0, 31.6}

static const rlt_design_prices tables[] = {
    {.name = "libra",
     .source = "LIBRA (ISPASS 2024), github.com/astra-sim/libra, inputs/cost_model; prices per one-way link",
     LIBRA_TABLE},
    {.name = "sc22",
     .source = "github.com/willjwon/sc245-artifact, optimizer_input/cost; prices per two-way link",
     LIBRA_TABLE,
     .pairs = true},
    {.name = "2021",
     .source =
         "github.com/astra-sim/astra-network-analytical, cost model of October 2021; prices per one-way link",
     .link = {1, 4, 4, 7.4},
     .switch_port = {0, 13, 13, 23.7},
     .nic = {0, 0, 0, 47.8}},
};

const rlt_design_prices *rlt_design_prices_at(uint32_t i)
{
    return i < sizeof tables / sizeof *tables ? &tables[i] : NULL;
}

static int read_level(rlt_json v, rlt_level l, rlt_design_prices *out, rlt_error *err)
{
    static const char *const keys[] = {"link", "switch", "nic", NULL};
    double *to[] = {&out->link[l], &out->switch_port[l], &out->nic[l]};
    int rc = rlt_json_is(v) ? rlt_json_only(v, keys, err) : 0;
    for (uint32_t k = 0; rlt_json_is(v) && k < 3 && !rc; k++) {
        rc = rlt_json_get_double(v, keys[k], false, to[k], err);
        if (!rc && !(*to[k] >= 0 && *to[k] <= 1e12))
            rc = rlt_json_fail(rlt_json_get(v, keys[k]), RLT_ERANGE, err,
                               "expected a price from 0 to 1e12 dollars per GB/s");
    }
    return rc;
}

int rlt_design_prices_read(const char *path, rlt_design_prices *out, rlt_error *err)
{
    static const char *const keys[] = {"name", "source", "link_is_both_ways", "chiplet", "package", "node",
                                       "pod",  NULL};
    rlt_json_doc *doc = NULL;
    const char *name = "prices", *source = "";
    *out = (rlt_design_prices){0};
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    rlt_json root = rlt_json_root(doc);
    if (!rlt_json_is_object(root))
        rc = rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object of prices");
    if (!rc && !(rc = rlt_json_only(root, keys, err)) &&
        !(rc = rlt_json_get_string(root, "name", false, &name, err)) &&
        !(rc = rlt_json_get_string(root, "source", true, &source, err)))
        rc = rlt_json_get_bool(root, "link_is_both_ways", false, &out->pairs, err);
    for (int l = 0; l < RLT_LEVELS && !rc; l++) {
        rlt_json v = rlt_json_get(root, rlt_level_name((rlt_level)l));
        out->lacks[l] = !rlt_json_is(v);
        rc = read_level(v, (rlt_level)l, out, err);
    }
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->source, sizeof out->source, "%s", source);
    rlt_json_free(doc);
    return rc;
}

uint32_t rlt_design_tiers(const rlt_design_cost *c, const rlt_design_net *net, uint32_t dim)
{
    double ports = net->dims[dim].size, room = c->radix;
    uint32_t tiers = 1;
    for (uint32_t i = 0; i < dim && !c->rail; i++)
        ports *= net->dims[i].size;
    for (; c->radix > 2 && room < ports; tiers++)
        room *= c->radix / 2.;
    return tiers;
}

void rlt_design_cost_rates(const rlt_design_cost *c, const rlt_design_net *net, double per_Bps[RLT_MAX_DIMS])
{
    const rlt_design_prices *p = c->prices;
    memset(per_Bps, 0, RLT_MAX_DIMS * sizeof *per_Bps);
    for (uint32_t i = 0; i < net->n; i++) {
        const rlt_design_dim *d = &net->dims[i];
        double tie = c->tie_break * (i + 1), link = p->link[d->level] + tie;
        double t = rlt_design_tiers(c, net, i), dollars = p->pairs ? link / 2 : link;
        if (d->block == RLT_BLOCK_SWITCH) {
            double port = p->switch_port[d->level], nic = p->nic[d->level];
            dollars = t * link + (2 * t - 1) * (port > 0 ? port + tie : 0) + (nic > 0 ? nic + tie : 0);
        }
        per_Bps[i] = dollars / c->unit_Bps;
    }
}

double rlt_design_cost_total(const rlt_design_cost *c, const rlt_design_net *net,
                             const double bw[RLT_MAX_DIMS])
{
    double per_Bps[RLT_MAX_DIMS], each = c->npu;
    rlt_design_cost_rates(c, net, per_Bps);
    for (uint32_t i = 0; i < net->n; i++)
        each += per_Bps[i] * bw[i];
    return each * (double)rlt_design_size(net);
}
