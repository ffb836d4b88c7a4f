/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective that is run folded and whole: both must agree to the picosecond and the byte. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_FOLDED_H
#define RLT_TEST_SUPPORT_NETWORKS_FOLDED_H

#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/sim.h"
#include "test/support/support.h"

typedef struct fold_case {
    const char *topology, *slow; /* a link at half speed, or NULL */
    const rlt_algorithm *algorithm;
    const rlt_net_model *model;
    rlt_injection injection;
    rlt_coll_kind kind;
    uint64_t bytes;
    uint32_t ranks, root, channels, chunks; /* ranks 0: all */
    const char *patterns[RLT_MAX_DIMS];
    bool folds; /* set by compare() */
} fold_case;

typedef struct outcome {
    test_run all;
    rlt_link_usage *links;
    uint32_t n_links, classes;
    bool planned;
} outcome;

static inline void note_end(void *ctx, uint64_t cookie)
{
    (void)cookie;
    *(bool *)ctx = true;
}

static inline outcome run(const fold_case *c, bool folded)
{
    outcome out = {0};
    rlt_error err = {0};
    rlt_topology *t = NULL;
    rlt_placement place = {0};
    rlt_router *router = NULL;
    rlt_sim *sim = NULL;
    rlt_exec *x = NULL;
    rlt_group group = {0};
    rlt_plan plan = {0};
    rlt_fold fold = {0};
    bool done = false;
    rlt_exec_client client = {.ctx = &done, .done = note_end};
    if (rlt_topology_load(c->topology, "topologies", &t, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    if (c->slow)
        assert_int_equal(rlt_topology_scale_links(t, c->slow, 0.5, &err), 0);
    uint32_t n = c->ranks ? c->ranks : rlt_topology_accelerators(t);
    assert_int_equal(rlt_placement_identity(t, n, &place, &err), 0);
    assert_int_equal(rlt_router_create(t, &place, RLT_ROUTE_DMODK, &router, &err), 0);
    assert_int_equal(rlt_group_create(t, &place, NULL, n, &group, &err), 0);
    rlt_coll_request req = rlt_group_request(&group, c->kind, c->bytes);
    req.root = c->root;
    req.params.channels = c->channels;
    req.params.chunks = c->chunks;
    rlt_request_patterns(&req, c->patterns);
    int rc = rlt_plan_create(c->algorithm, &req, &plan, &err);
    if (rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY)
        goto out;
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    out.planned = true;
    out.classes = n;
    if (folded) {
        rlt_fold_options how = {.blocking = c->injection == RLT_INJECT_BLOCKING,
                                .serialises = c->model == &rlt_net_alpha_beta,
                                .percent = RLT_FOLD_ANYWAY};
        rc = rlt_fold_create(&plan, router, &how, &fold, &err);
        if (rc && rc != RLT_EUNSUPPORTED)
            fail_msg("%s: %s", err.where, err.what);
        if (rc == 0) {
            out.classes = fold.n_classes;
            assert_true(fold.n_classes < n);
        }
    }
    assert_int_equal(rlt_sim_create(&sim, &err), 0);
    rlt_net_config cfg = {.sim = sim,
                          .router = router,
                          .endpoint = *rlt_topology_endpoint(t),
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .fold = fold.n_classes ? &fold.net : NULL,
                          .orderly = c->model == &rlt_net_alpha_beta && plan.lanes > 1};
    cfg.endpoint.injection = c->injection;
    if (rlt_exec_create(c->model, &cfg, &x, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    const rlt_fold *folding = fold.n_classes ? &fold : NULL;
    const rlt_net *net = test_to_end(sim, x, rlt_exec_add_folded(x, &plan, folding, &client, 0, 0), &out.all);
    assert_true(done);
    out.n_links = rlt_topology_links(t);
    if (out.n_links < 1 << 20) {
        out.links = calloc(out.n_links + 1, sizeof *out.links);
        assert_non_null(out.links);
        for (uint32_t i = 0; i < out.n_links; i++)
            out.links[i] = rlt_usage_link(net->usage, i);
    }
out:
    rlt_plan_free(&plan);
    rlt_group_free(&group);
    rlt_exec_free(x);
    rlt_sim_free(sim);
    rlt_fold_free(&fold);
    rlt_router_free(router);
    rlt_placement_free(&place);
    rlt_topology_free(t);
    return out;
}

static inline const char *name_of(const fold_case *c, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s of %llu bytes by %s on %s%s%s, %u ranks, root %u, %s, %s",
             rlt_coll_name(c->kind), (unsigned long long)c->bytes, c->algorithm->name, c->topology,
             c->slow ? " slow " : "", c->slow ? c->slow : "", c->ranks, c->root, c->model->name,
             c->injection == RLT_INJECT_NIC ? "nic" : "blocking");
    return buffer;
}

/* Compares a folded run with the whole one. Returns the number of classes; 0 if the algorithm does not do the
 * kind. */
static inline uint32_t compare(fold_case *c)
{
    char name[300];
    outcome a = run(c, true), b = run(c, false);
    assert_int_equal(a.planned, b.planned);
    c->folds = a.classes < b.classes;
    if (a.all.time_ps != b.all.time_ps)
        fail_msg("%s: %lld ps folded to %u, %lld ps whole", name_of(c, name, sizeof name),
                 (long long)a.all.time_ps, a.classes, (long long)b.all.time_ps);
    if (a.all.messages != b.all.messages || a.all.offered != b.all.offered ||
        a.all.delivered != b.all.delivered)
        fail_msg("%s: %llu messages folded, %llu whole", name_of(c, name, sizeof name),
                 (unsigned long long)a.all.messages, (unsigned long long)b.all.messages);
    for (uint32_t i = 0; i < a.n_links; i++) {
        const rlt_link_usage *x = &a.links[i], *y = &b.links[i];
        if (x->bytes != y->bytes || x->messages != y->messages || x->busy_ps != y->busy_ps ||
            x->active_ps != y->active_ps)
            fail_msg("%s: link %u: %llu bytes, %llu messages, active %lld folded; %llu, %llu, %lld whole",
                     name_of(c, name, sizeof name), i, (unsigned long long)x->bytes,
                     (unsigned long long)x->messages, (long long)x->active_ps, (unsigned long long)y->bytes,
                     (unsigned long long)y->messages, (long long)y->active_ps);
    }
    free(a.links);
    free(b.links);
    return a.planned ? a.classes : 0;
}

#endif
