/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workloads that experiments share: which two experiments have one, and that all cuts which its bounds need are known
 * once it is prepared. A question of a known cut takes as many allocations as the same question again.
 */
#include "test/support/failing.h"

#include <stdint.h>
#include <stdlib.h>

#include "collectives/bound.h"
#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/member.h"
#include "test/support/support.h"
#include "workload/experiment/shared.h"
#include "workload/program/program.h"

static void enter_or_fail(member *m, rlt_shared *s, const char *words)
{
    rlt_error err = {0};
    if (enter(m, s, RLT_EXPERIMENT_RUN, words, &err))
        fail_msg("%s: %s: %s", words, err.where, err.what);
}

/* ---- which experiments share ---- */

#define NODES "topology=switch:4@200GB/s,500ns*switch:2@25GB/s,1us "
#define PAIRS "topology=switch:2@200GB/s,500ns*switch:4@25GB/s,1us "
#define FLAT  "topology=switch:8@50GB/s,1us "
#define SLOW  "topology=switch:8@5GB/s,1us "
#define SMALL "model=transformer:layers=2,hidden=256 "
#define JOB   "job=traces/transformer-8@0,2,4,6,1,3,5,7 "

static void who_shares(void **state)
{
    static const struct {
        const char *one, *other;
        bool share;
    } rows[] = {
        {FLAT SMALL, FLAT SMALL, true},
        {FLAT SMALL, SLOW SMALL, true},
        {FLAT SMALL, FLAT SMALL "network-scale=2 seed=7 until=1ms no-skew algorithm=ring", true},
        {FLAT SMALL, FLAT SMALL "layout=tp=2", false},
        {FLAT SMALL, "topology=switch:4@50GB/s,1us " SMALL, false},
        {FLAT SMALL, "topology=ring:8@50GB/s,1us " SMALL, true},
        {NODES SMALL, PAIRS SMALL, false},
        {NODES SMALL, FLAT SMALL, false},
        {NODES SMALL, "topology=ring:4@200GB/s,500ns*switch:2@25GB/s,1us " SMALL, true},
        {"topology=switch:2@9GB/s,1us*switch:2@5GB/s,1us*switch:2@1GB/s,1us " SMALL,
         "topology=switch:2@9GB/s,1us*switch:4@5GB/s,1us " SMALL, false},
        {FLAT SMALL, FLAT SMALL "placement=TRACE", true},
        {"topology=switch:16@50GB/s,1us " SMALL "placement=TRACE", "topology=switch:16@50GB/s,1us " SMALL,
         false},
        {FLAT JOB, FLAT JOB, true},
        {FLAT JOB, SLOW JOB, true},
        {FLAT JOB, FLAT "job=traces/transformer-8@0,1,2,3,4,5,6,7", false},
        {FLAT JOB, FLAT JOB "seed=7", true},
        {FLAT JOB, FLAT JOB "noise=lognormal:cv=0.1", false},
        {FLAT JOB, FLAT JOB "noise=lognormal:cv=0.1 noise=lognormal:cv=0.2", false},
        {FLAT JOB "noise=lognormal:cv=0.1", FLAT JOB "noise=lognormal:cv=0.1 noise=lognormal:cv=0.2", true},
        {FLAT JOB, FLAT JOB "placement=TRACE", false},
        {FLAT SMALL, FLAT SMALL "noise=lognormal:cv=0.1", true},
        {FLAT SMALL, FLAT SMALL "failures=mtbf=1000h,checkpoint=60s iterations=9", true},
    };
    static const char place[] = "{\"ranks\": [7, 5, 3, 1, 0, 2, 4, 6]}";
    char path[] = "/tmp/ringlet-works-XXXXXX";
    member *m = malloc(2 * sizeof *m);
    (void)state;
    assert_non_null(m);
    test_write_new(path, place, sizeof place - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_shared s = {.note = NULL};
        for (int k = 0; k < 2; k++) {
            char words[600];
            const char *from = k ? rows[i].other : rows[i].one, *file = strstr(from, "TRACE");
            snprintf(words, sizeof words, "%.*s%s%s", (int)(file ? (size_t)(file - from) : strlen(from)),
                     from, file ? path : "", file ? file + 5 : "");
            enter_or_fail(&m[k], &s, words);
            assert_non_null(m[k].prepared.work);
            assert_null(m[k].prepared.work->stem.args);
            assert_null(m[k].prepared.work->stem.settings);
        }
        if ((m[0].prepared.work == m[1].prepared.work) != rows[i].share)
            fail_msg("'%s' and '%s'", rows[i].one, rows[i].other);
        assert_int_equal(s.works.n, rows[i].share ? 1 : 2);
        leave(&m[0]);
        leave(&m[1]);
        rlt_shared_free(&s);
    }
    unlink(path);
    free(m);
}

/* ---- cuts ---- */

static unsigned long ask(const rlt_topology *t, const rlt_placement *where, rlt_router *router,
                         const rlt_program *p, const rlt_comm *c)
{
    rlt_group g;
    rlt_bound bound;
    rlt_error err = {0};
    assert_int_equal(rlt_group_create(t, where, p->group_ranks + p->group_first[c->group],
                                      p->group_first[c->group + 1] - p->group_first[c->group], &g, &err),
                     0);
    rlt_coll_request req = rlt_group_request(&g, c->kind, c->bytes);
    req.root = c->root;
    unsigned long before = test_made;
    assert_int_equal(rlt_coll_bound(&req, router, 1, 1, &bound, &err), 0);
    unsigned long made = test_made - before;
    rlt_group_free(&g);
    return made;
}

/* Asks for the bounds of all communications of known size, twice each. Returns how many the first time finds anew. */
static uint32_t count_unknown(const member *m, const rlt_topology *t)
{
    const rlt_shared_net *net = m->prepared.net;
    const rlt_shared_work *work = m->prepared.work;
    const rlt_program *p = work->stem.program;
    rlt_placement identity;
    rlt_router *router = NULL;
    rlt_error err = {0};
    uint32_t unknown = 0;
    assert_int_equal(rlt_placement_identity(t, rlt_topology_accelerators(t), &identity, &err), 0);
    const rlt_placement *where = work->stem.jobs.placement.n ? &work->stem.jobs.placement
                                 : work->pinned.n            ? &work->pinned
                                 : net->placed               ? &net->placement
                                                             : &identity;
    assert_int_equal(rlt_router_create(t, where, RLT_ROUTE_DMODK, &router, &err), 0);
    for (uint32_t i = 0; i < p->n_comms; i++) {
        const rlt_comm *c = &p->comms[i];
        if (c->timed || c->counts)
            continue;
        unsigned long first = ask(t, where, router, p, c);
        unknown += first != ask(t, where, router, p, c);
    }
    rlt_router_free(router);
    rlt_placement_free(&identity);
    return unknown;
}

static void cuts_are_known(void **state)
{
    static const char *const rows[] = {
        NODES "model=transformer:layers=4,hidden=256 layout=tp=2,pp=2 train=batch=8,microbatch=1",
        PAIRS "trace=traces/transformer-8",
        PAIRS "model=transformer:layers=4,hidden=256 layout=tp=2,pp=2 train=batch=8 map=pp=0,tp=1,dp=1",
        NODES JOB,
        NODES "model=transformer:layers=1,hidden=64 train=bucket=1GB",
        "topology=ring:8@100GB/s,500ns model=transformer:layers=2,hidden=256 layout=cp=2",
    };
    member *m = malloc(sizeof *m);
    (void)state;
    assert_non_null(m);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_shared s = {.note = NULL};
        rlt_error err = {0};
        rlt_topology *fresh = NULL;
        enter_or_fail(m, &s, rows[i]);
        assert_int_equal(rlt_topology_load(m->settings.run.sim.topology, NULL, &fresh, &err), 0);
        assert_true(!TEST_COUNTED || count_unknown(m, fresh) > 0);
        assert_int_equal(m->prepared.work->pinned.n, m->settings.run.map ? 8 : 0);
        if (count_unknown(m, m->prepared.net->topology))
            fail_msg("%s", rows[i]);
        rlt_topology_free(fresh);
        leave(m);
        rlt_shared_free(&s);
    }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_shares), cmocka_unit_test(cuts_are_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
