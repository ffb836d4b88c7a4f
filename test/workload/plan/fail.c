/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation of a search fails, for k = 1, 2, ...: the search says so, and gives back all memory. */
#include "test/support/failing.h"

#include <stdio.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/trainings/layouts.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/replay/replay.h"

static const char *const given[] = {"tp=1+2",   "pp=1+2",         "microbatch=1+3", "recompute=none+full",
                                    "sp=on",    "order=tp-pp-dp", "schedule=1f1b",  "vp=1",
                                    "zero=0+2", "cp=1+2"};

/* Opens the space and searches it. */
static int search(layouts *l, rlt_layout_result *r)
{
    rlt_layout_search s = {.base = &l->f.t, .how = &l->how, .ranks = l->ranks, .space = &l->space};
    *r = (rlt_layout_result){.n = 0};
    int rc =
        rlt_layout_space_open(&l->f.t, l->ranks, given, sizeof given / sizeof *given, &l->space, &l->f.err);
    if (!rc)
        rc = rlt_layout_find(&s, r, &l->f.err);
    rlt_layout_space_free(&l->space);
    return rc;
}

static void begin(layouts *l)
{
    *l = (layouts){.ranks = 4};
    test_begin(&l->f);
    if (rlt_model_open("transformer:layers=4,hidden=256,heads=4,vocabulary=1000,sequence=128", &l->f.model,
                       &l->f.err) ||
        rlt_topology_load("switch:2@100GB/s,1us*ring:2@10GB/s,1us", NULL, &l->topology, &l->f.err))
        fail_msg("%s: %s", l->f.err.where, l->f.err.what);
    l->f.t.batch = 12;
    l->how = rlt_replay_options_default();
    l->how.topology = l->topology;
    l->how.endpoint = *rlt_topology_endpoint(l->topology);
}

static int best_time(const void *what, uint64_t *result, rlt_error *err)
{
    layouts l = *(const layouts *)what;
    rlt_layout_result r;
    int rc = search(&l, &r);
    *result = rc ? 0 : (uint64_t)r.points[0].time_ps;
    *err = l.f.err;
    rlt_layout_result_free(&r);
    return rc;
}

static void each_allocation(void **state)
{
    layouts l;
    (void)state;
    begin(&l);
    unsigned long failed = test_each_allocation("a search", best_time, &l, false);
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 100);
    rlt_topology_free(l.topology);
    rlt_model_free(&l.f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
