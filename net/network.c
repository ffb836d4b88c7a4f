/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of network models, and their shared parts. */
#include "net/network.h"
#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/network_internal.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/registry.h"

#define RLT_X(name) &rlt_net_##name,
static const rlt_net_model *const models[] = {RLT_NET_MODELS(RLT_X)};
#undef RLT_X
static rlt_registry registry = RLT_REGISTRY("network model", RLT_EUSAGE, models);

const rlt_net_model *rlt_net_model_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

const rlt_net_model *rlt_net_model_find(const char *name, rlt_error *err)
{
    return rlt_registry_find(&registry, name, NULL, err);
}

void rlt_net_settle(rlt_net *net)
{
    rlt_net_core *c = (rlt_net_core *)net;
    if (net->usage->horizon >= 0)
        return;
    net->model->settle(net);
    rlt__usage_settle(net->usage, rlt_sim_now(c->sim));
}

void rlt_net_waits(const rlt_net *net, char *text, size_t size)
{
    size_t used = size ? strlen(text) : 0;
    if (net->model->waits && used + 3 < size && net->model->waits(net, text + used + 2, size - used - 2)) {
        memcpy(text + used, "; ", 2);
        used = strlen(text);
    }
    if (used + 3 < size &&
        rlt__net_parked((const rlt_net_core *)(const void *)net, text + used + 2, size - used - 2))
        memcpy(text + used, "; ", 2);
}

void rlt_net_free(rlt_net *net)
{
    if (net)
        net->model->destroy(net);
}

static bool is_scale(double x)
{
    return x > 0 && x <= 1e9;
}

rlt_time rlt__scaled_time(rlt_time t, double scale)
{
    if (scale == 1.0)
        return t;
    double x = nearbyint((double)t * scale);
    return x >= (double)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)x;
}

static int scaled_bandwidths(const rlt_topology *t, const rlt_net_fold *fold, double scale, uint64_t **out,
                             rlt_error *err)
{
    uint32_t n = fold ? fold->n_classes : rlt_topology_links(t);
    uint64_t *bw = malloc((n ? (size_t)n : 1) * sizeof(*bw));
    if (!bw)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        bw[i] = rlt__scaled_bw(rlt_topology_link(t, fold ? fold->link[i] : i).bw_Bps, scale);
    *out = bw;
    return 0;
}

int rlt__net_init(rlt_net_core *c, const rlt_net_model *model, const rlt_net_config *cfg, uint64_t **bw,
                  rlt_error *err)
{
    if (!is_scale(cfg->bandwidth_scale) || !(cfg->latency_scale == 0 || is_scale(cfg->latency_scale)))
        return rlt_fail(err, RLT_ERANGE, NULL,
                        "a scale of bandwidth (%g) or latency (%g) that is not in (0, 1e9]",
                        cfg->bandwidth_scale, cfg->latency_scale);
    const rlt_topology *t = rlt_router_topology(cfg->router);
    int rc = rlt__usage_create(t, cfg->fold, cfg->series_bin_ps, &c->base.usage, err);
    if (rc)
        return rc;
    c->base.usage->bandwidth_scale = cfg->bandwidth_scale;
    c->base.model = model;
    c->sim = cfg->sim;
    c->router = cfg->router;
    c->client = cfg->client;
    c->endpoint = cfg->endpoint;
    c->bandwidth_scale = cfg->bandwidth_scale;
    c->latency_scale = cfg->latency_scale;
    c->fold = cfg->fold;
    c->may_loop = !rlt_topology_is_product(t);
    c->scaled = c->bandwidth_scale != 1.0 || c->latency_scale != 1.0 || c->fold;
    c->plain = c->endpoint.n_protocols == 0 && c->endpoint.byte_fs == 0;
    c->plain_ps = c->endpoint.message_ps;
    rlt_pool_init(&c->path_runs, sizeof(rlt_path_run));
    if (c->fold || c->may_loop)
        c->shares.at = calloc((size_t)c->base.usage->n + 1, sizeof *c->shares.at);
    if ((c->fold || c->may_loop) && !c->shares.at)
        return rlt_nomem(err);
    rc = rlt__net_changes_init(c, cfg, err);
    return rc ? rc : scaled_bandwidths(t, cfg->fold, cfg->bandwidth_scale, bw, err);
}

void rlt__net_fini(rlt_net_core *c)
{
    rlt_usage_free(c->base.usage);
    rlt_pool_free(&c->path_runs);
    rlt__net_tree_free(c);
    rlt__net_changes_fini(c);
    free(c->shares.links);
    free(c->shares.times);
    free(c->shares.at);
}

rlt_time rlt__net_scaled_time(const rlt_net_core *c, rlt_time t)
{
    return rlt__scaled_time(t, c->latency_scale);
}

/* Whether the message goes between nodes under a tuning that tells this apart. */
static bool is_far(const rlt_net_core *c, const rlt_message *m)
{
    const rlt_placement *p = rlt_router_placement(c->router);
    uint32_t node = rlt_topology_node_size(rlt_router_topology(c->router));
    return m->tuning->far && rlt_placed(p, m->src) / node != rlt_placed(p, m->dst) / node;
}

int rlt__net_leg_slow(rlt_net_core *c, const rlt_message *m, rlt_leg *leg)
{
    rlt_path *p = &leg->path;
    uint64_t others = rlt__message_count(m) - 1;
    c->base.messages += others;
    c->base.bytes_offered += others * m->bytes;
    if (p->n)
        p->bw_Bps = rlt__scaled_bw(p->bw_Bps, c->bandwidth_scale);
    rlt_message_cost cost = !m->tuning     ? rlt_endpoint_cost(&c->endpoint, m->bytes, p->bw_Bps)
                            : is_far(c, m) ? rlt_tuning_far_cost(&c->endpoint, m->tuning, m->bytes, p->bw_Bps)
                                           : rlt_tuning_cost(&c->endpoint, m->tuning, m->bytes, p->bw_Bps);
    leg->wire_bytes = cost.wire_bytes;
    leg->tail_ps = rlt_time_add(rlt__scaled_time(p->latency_ps, c->latency_scale),
                                rlt__scaled_time(cost.delay_ps, c->latency_scale));
    return 0;
}

int rlt__net_no_route(rlt_net_core *c, const rlt_message *m, int code)
{
    char where[64];
    if (code == RLT_ESTALL)
        return rlt__net_park(c, m);
    snprintf(where, sizeof(where), "message from rank %u to rank %u", m->src, m->dst);
    return rlt_sim_fail(c->sim, code, where, "no route: %s", rlt_strerror(code));
}

int rlt__path_keep(rlt_net_core *c, const uint32_t *links, uint32_t n, uint32_t *first)
{
    uint32_t next = RLT_NONE;
    /* Built from the end, so that each run knows its successor. */
    while (n) {
        uint32_t k = (n - 1) % RLT_RUN_LINKS + 1, i = rlt_pool_get(&c->path_runs);
        if (i == RLT_NONE) {
            rlt__path_drop(c, next);
            return RLT_ENOMEM;
        }
        rlt_path_run *r = rlt__path_run(c, i);
        n -= k;
        r->next = next;
        r->n = k;
        memcpy(r->links, links + n, k * sizeof(*links));
        next = i;
    }
    *first = next;
    return 0;
}

void rlt__path_drop(rlt_net_core *c, uint32_t first)
{
    while (first != RLT_NONE) {
        uint32_t next = rlt__path_run(c, first)->next;
        rlt_pool_put(&c->path_runs, first);
        first = next;
    }
}
