/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every algorithm of the table x every kind it supports x 2 to 64 members x several networks and parameters.
 * Each plan is proved by the symbolic checker, and run under both network models, with balanced accounts and
 * never below the bound. The closed forms are in closed_forms.c. An algorithm may refuse a network or a
 * number of members, with a reason, but not all of them.
 */
#include <stdio.h>

#include "collectives/algorithm.h"
#include "collectives/bound.h"
#include "collectives/check/checker.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/plan.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/support.h"

static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 32, 48, 64};
enum { N_SIZES = sizeof sizes / sizeof sizes[0], MAX_N = 64, MAX_NETS = 6, MAX_ALGORITHMS = 64 };
enum { SMALL_N = 17 }; /* all parameters are tried up to this size */

/* A group of all accelerators of a topology. */
typedef struct site {
    char name[160]; /* compact, or JSON */
    rlt_topology *topology;
    rlt_placement placement;
    rlt_group group;
} site;

/* Number of times that each algorithm did, or refused, a kind. */
typedef struct tally {
    uint32_t done[MAX_ALGORITHMS][RLT_COLL_KINDS];
    uint32_t refused[MAX_ALGORITHMS][RLT_COLL_KINDS];
} tally;

static void open_site(site *s)
{
    rlt_error err = {0};
    if (rlt_topology_load(s->name, NULL, &s->topology, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    uint32_t n = rlt_topology_accelerators(s->topology);
    assert_int_equal(rlt_placement_identity(s->topology, n, &s->placement, &err), 0);
    assert_int_equal(rlt_group_create(s->topology, &s->placement, NULL, n, &s->group, &err), 0);
}

static void close_site(site *s)
{
    rlt_group_free(&s->group);
    rlt_placement_free(&s->placement);
    rlt_topology_free(s->topology);
}

/* A crossbar, real links only, a switch that adds up and replicates; if n has one, a product, and a product
 * of such switches. */
static uint32_t open_sites(uint32_t n, site *s)
{
    static const char *const inner[] = {"ring", "fully-connected", "switch"};
    uint32_t a = 2, count = 0;
    while (a < n && (n % a || n / a < 2))
        a++;
    snprintf(s[count++].name, sizeof s->name, "switch:%u@50GB/s,500ns", n);
    snprintf(s[count++].name, sizeof s->name, "ring:%u@100GB/s,700ns", n);
    if (n <= MAX_N / 2) /* n^2 links */
        snprintf(s[count++].name, sizeof s->name, "fully-connected:%u@%uGB/s,300ns", n, 10 * (n - 1));
    snprintf(s[count++].name, sizeof s->name,
             "{\"dims\": [{\"shape\": \"switch\", \"size\": %u, \"bandwidth\": \"50GB/s\", \"latency\": "
             "\"500ns\", \"in_network\": \"reduce+multicast\"}]}",
             n);
    if (a < n)
        snprintf(s[count++].name, sizeof s->name, "%s:%u@40GB/s,500ns*switch:%u@20GB/s,1us", inner[n % 3], a,
                 n / a);
    if (a < n)
        snprintf(s[count++].name, sizeof s->name,
                 "switch:%u@80GB/s,500ns,in_network=reduce+multicast*"
                 "switch:%u@20GB/s,1us,in_network=reduce+multicast",
                 a, n / a);
    for (uint32_t i = 0; i < count; i++)
        open_site(&s[i]);
    return count;
}

static bool does(const rlt_algorithm *a, int kind)
{
    return a->kinds >> kind & 1;
}

static bool is_refusal(int rc)
{
    return rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY;
}

static void broken(const rlt_algorithm *a, const rlt_coll_request *r, const char *where, const rlt_error *err)
{
    fail_msg("%s by %s of %u on %s, %llu bytes%s, root %u, %u channels, %u chunks, %u directions, window %u, "
             "%u servers: %s: %s",
             rlt_coll_name(r->kind), a->name, r->n, where, (unsigned long long)r->bytes,
             r->counts ? " with counts" : "", r->root, r->params.channels, r->params.chunks,
             r->params.directions, r->params.window, r->params.servers, err->where, err->what);
}

/* Proves a request. Returns 1, or 0 if the algorithm refuses it. */
static uint32_t prove(const rlt_algorithm *a, const rlt_coll_request *req, const char *where)
{
    rlt_plan plan;
    rlt_error err = {0};
    int rc = rlt_plan_create(a, req, &plan, &err);
    if (rc < 0 && !is_refusal(rc))
        broken(a, req, where, &err);
    if (rc < 0) {
        assert_true(err.what[0] != '\0');
        return 0;
    }
    if (rlt_plan_check(&plan, &err) < 0)
        broken(a, req, where, &err);
    rlt_plan_free(&plan);
    return 1;
}

static const struct parameters {
    uint32_t channels, chunks, directions, window, servers; /* servers UINT32_MAX: all */
} parameters[] = {
    {0, 0, 0, 0, 0}, {2, 3, 2, 3, UINT32_MAX}, {2, 0, 0, 1, 2},
    {0, 3, 0, 2, 0}, {0, 0, 2, 0, 3},          {1, 5, 1, 7, 1},
};
enum { N_PARAMETERS = sizeof parameters / sizeof parameters[0] };

static void set_parameters(rlt_coll_request *r, uint32_t i)
{
    const struct parameters *p = &parameters[i];
    r->params.channels = p->channels;
    r->params.chunks = p->chunks;
    r->params.directions = p->directions;
    r->params.window = p->window;
    r->params.servers = p->servers < r->n ? p->servers : r->n;
}

/* Fills in shares of all sizes, some of them empty. Returns their sum. */
static uint64_t fill_counts(uint64_t *counts, uint32_t n, uint32_t which)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        counts[i] = which == 0   ? (i % 3 == 1 ? 0 : 7 + (uint64_t)i * i % 101)
                    : which == 1 ? (i == n / 2 ? 1000 : 0) /* one member has everything */
                                 : 0;
        sum += counts[i];
    }
    return sum;
}

/* All bytes, counts and roots for one kind and one set of parameters. */
static uint32_t prove_all(const rlt_algorithm *a, rlt_coll_request req, bool thorough, const char *where)
{
    static uint64_t pairs[MAX_N * MAX_N], shares[MAX_N];
    const uint64_t bytes[] = {100003, (uint64_t)req.n * 12, 0, 1, req.n};
    const uint32_t roots[] = {0, req.n - 1, req.n / 2};
    uint32_t done = 0, n_bytes = req.kind == RLT_BARRIER || req.n > MAX_N / 2 ? 1 : thorough ? 5 : 2;
    for (uint32_t r = 0; r < (rlt_coll_rooted(req.kind) ? 3 : 1); r++) {
        req.root = roots[r];
        req.counts = NULL;
        for (uint32_t b = 0; b < n_bytes; b++) {
            req.bytes = bytes[b];
            done += prove(a, &req, where);
        }
        if (!(a->counted >> req.kind & 1))
            continue;
        bool each_pair = req.kind == RLT_ALL_TO_ALL;
        req.counts = each_pair ? pairs : shares;
        for (uint32_t which = 0; which < 3; which++) {
            req.bytes = fill_counts(each_pair ? pairs : shares, each_pair ? req.n * req.n : req.n, which);
            done += prove(a, &req, where);
        }
    }
    return done;
}

/* Thorough on the first network of small groups only, since few algorithms look at the places of their
 * members. */
static void prove_at(const site *s, uint32_t index, bool first, tally *t)
{
    const rlt_algorithm *a = rlt_algorithm_at(index);
    uint32_t n = s->group.n;
    uint32_t sets = first ? n <= SMALL_N ? (uint32_t)N_PARAMETERS : 2 : n <= SMALL_N / 2 ? 2 : 1;
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        if (!does(a, kind) || (kind == RLT_SEND_RECV && n != 2))
            continue;
        for (uint32_t i = 0; i < sets; i++) {
            rlt_coll_request req = rlt_group_request(&s->group, (rlt_coll_kind)kind, 0);
            set_parameters(&req, i);
            uint32_t done = prove_all(a, req, first && n <= SMALL_N, s->name);
            t->done[index][kind] += done;
            t->refused[index][kind] += done == 0;
        }
    }
}

/* An algorithm that lists a kind must have done it somewhere. "custom" has no steps of its own. */
static void all_have_run(const tally *t)
{
    const rlt_algorithm *a;
    for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++) {
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
            if (does(a, kind) && !t->done[i][kind] && strcmp(a->name, "custom") != 0)
                fail_msg("%s did no %s in the grid: refused %u times", a->name,
                         rlt_coll_name((rlt_coll_kind)kind), t->refused[i][kind]);
        }
    }
}

/* Algorithms that only need members to reach each other refuse nothing. */
static void none_refused(const tally *t)
{
    static const char *const names[] = {
        "ring", "direct", "hierarchical", "halving_doubling", "recursive_doubling", "bruck", "pairwise",
        "tree", "ps"};
    for (uint32_t i = 0; rlt_algorithm_at(i); i++) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
                if (strcmp(rlt_algorithm_at(i)->name, names[k]) == 0)
                    assert_int_equal(t->refused[i][kind], 0);
            }
        }
    }
}

static void every_plan_is_proved(void **state)
{
    (void)state;
    tally t = {0};
    for (uint32_t i = 0; i < N_SIZES; i++) {
        site s[MAX_NETS] = {0};
        uint32_t count = open_sites(sizes[i], s);
        for (uint32_t a = 0; rlt_algorithm_at(a); a++) {
            for (uint32_t k = 0; k < count; k++)
                prove_at(&s[k], a, k == 0, &t);
        }
        for (uint32_t k = 0; k < count; k++)
            close_site(&s[k]);
    }
    all_have_run(&t);
    none_refused(&t);
}

/* Checks the accounts of a run. Bytes that the network itself adds up or copies are delivered more or less
 * often than offered. */
static void check_accounts(const rlt_plan *plan, rlt_exec *x, rlt_router *router, const rlt_net_model *model,
                           rlt_time time_ps, const char *where)
{
    rlt_net *net = rlt_exec_net(x);
    const rlt_topology *t = rlt_router_topology(router);
    rlt_error err = {0};
    rlt_bound bound;
    rlt_net_settle(net);
    assert_int_equal(net->bytes_offered + net->bytes_replicated, net->bytes_delivered + net->bytes_absorbed);
    assert_true(plan->reduces || net->bytes_absorbed == 0);
    assert_true(plan->multicasts || net->bytes_replicated == 0);
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link_usage u = rlt_usage_link(net->usage, i);
        assert_true(u.active_ps <= time_ps);
        assert_true(model != &rlt_net_flow || u.busy_ps <= time_ps);
    }
    assert_int_equal(rlt_plan_bound(plan, router, 1, 1, &bound, &err), 0);
    rlt_time rounding = (rlt_time)(net->messages / plan->req.n) + 1;
    if (time_ps + rounding < bound.time_ps)
        fail_msg("%s by %s of %u on %s, network %s: %lld ps, bound %lld", rlt_coll_name(plan->req.kind),
                 plan->algorithm->name, plan->req.n, where, model->name, (long long)time_ps,
                 (long long)bound.time_ps);
}

/* Returns 1, or 0 if the algorithm or the network refuses. */
static uint32_t simulate(const site *s, const rlt_algorithm *a, const rlt_coll_request *req,
                         const rlt_net_model *model)
{
    rlt_error err = {0};
    rlt_plan plan = {0};
    rlt_sim *sim = NULL;
    rlt_router *router = NULL;
    rlt_exec *x = NULL;
    rlt_exec_client client = {0};
    char waits[300];
    int rc = rlt_plan_create(a, req, &plan, &err);
    if (rc < 0 && !is_refusal(rc))
        broken(a, req, s->name, &err);
    if (rc < 0)
        return 0;
    assert_int_equal(rlt_sim_create(&sim, &err), 0);
    assert_int_equal(rlt_router_create(s->topology, &s->placement, RLT_ROUTE_DMODK, &router, &err), 0);
    rlt_net_config cfg = {.sim = sim, .router = router, .bandwidth_scale = 1, .latency_scale = 1};
    assert_int_equal(rlt_exec_create(model, &cfg, &x, &err), 0);
    uint32_t id = rlt_exec_add(x, &plan, &client, 0, 0);
    assert_int_not_equal(id, RLT_NONE);
    rlt_exec_arrive_all(x, id);
    rc = rlt_sim_run(sim, RLT_TIME_MAX, &err);
    if (rc < 0 && !is_refusal(rc))
        broken(a, req, s->name, &err);
    if (rc == 0) {
        if (rlt_exec_pending(x, waits, sizeof waits))
            fail_msg("%s on %s: %s", a->name, s->name, waits);
        check_accounts(&plan, x, router, model, rlt_sim_now(sim), s->name);
    }
    rlt_exec_free(x);
    rlt_router_free(router);
    rlt_sim_free(sim);
    rlt_plan_free(&plan);
    return rc == 0;
}

static void simulate_at(const site *s, uint32_t index, tally *t)
{
    static uint64_t shares[MAX_N], pairs[MAX_N * MAX_N];
    const rlt_algorithm *a = rlt_algorithm_at(index);
    uint32_t n = s->group.n;
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        if (!does(a, kind) || (kind == RLT_SEND_RECV && n != 2))
            continue;
        for (uint32_t i = 0; i < (n <= SMALL_N ? 8 : 2); i++) {
            rlt_coll_request req = rlt_group_request(&s->group, (rlt_coll_kind)kind, 100003);
            set_parameters(&req, i % 4 / 2);
            req.root = rlt_coll_rooted((rlt_coll_kind)kind) ? n / 3 : 0;
            if (i >= 4) {
                if (!(a->counted >> kind & 1))
                    continue;
                bool each_pair = kind == RLT_ALL_TO_ALL;
                req.counts = each_pair ? pairs : shares;
                req.bytes = fill_counts(each_pair ? pairs : shares, each_pair ? n * n : n, i % 4 / 2);
            }
            uint32_t done = simulate(s, a, &req, i % 2 ? &rlt_net_flow : &rlt_net_alpha_beta);
            t->done[index][kind] += done;
            t->refused[index][kind] += !done;
        }
    }
}

static void every_plan_runs(void **state)
{
    (void)state;
    tally t = {0};
    for (uint32_t i = 0; i < N_SIZES; i++) {
        site s[MAX_NETS] = {0};
        uint32_t count = open_sites(sizes[i], s);
        for (uint32_t a = 0; rlt_algorithm_at(a); a++) {
            for (uint32_t k = 0; k < count; k++)
                simulate_at(&s[k], a, &t);
        }
        for (uint32_t k = 0; k < count; k++)
            close_site(&s[k]);
    }
    all_have_run(&t);
    none_refused(&t);
}

/* A single member has nothing to do, and takes no time. */
static void alone_nothing_takes_time(void **state)
{
    (void)state;
    site s = {.name = "switch:1@50GB/s,500ns"};
    const rlt_algorithm *a;
    open_site(&s);
    for (uint32_t i = 0; (a = rlt_algorithm_at(i)); i++) {
        for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
            rlt_coll_request req = rlt_group_request(&s.group, (rlt_coll_kind)kind, 1000);
            rlt_plan plan;
            rlt_error err = {0};
            if (!does(a, kind) || kind == RLT_SEND_RECV)
                continue;
            int rc = rlt_plan_create(a, &req, &plan, &err);
            assert_true(rc == 0 || is_refusal(rc));
            for (uint32_t lane = 0; rc == 0 && lane < plan.lanes; lane++) {
                for (uint32_t k = 0; k < a->steps(&plan, 0, lane); k++) {
                    rlt_step step;
                    rlt_step_clear(&step);
                    a->step(&plan, 0, lane, k, &step);
                    assert_int_equal(step.send_to, RLT_NONE);
                    assert_int_equal(step.recv_count, 0);
                }
            }
            if (rc == 0) {
                if (rlt_plan_check(&plan, &err) < 0)
                    broken(a, &req, s.name, &err);
                rlt_plan_free(&plan);
            }
        }
    }
    close_site(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_proved),
        cmocka_unit_test(every_plan_runs),
        cmocka_unit_test(alone_nothing_takes_time),
    };
    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
