/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The k-th allocation of a search fails, for k = 1, 2, ...: the search says so, and gives back all memory. The
 * allocator is that of the C library, counted; a sanitizer has one of its own, and the test then does nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/time.h"
#include "test/support/layouts.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/replay/replay.h"

static unsigned long made, fails_at;
static long held;

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
enum { COUNTED = 0 };
#else
enum { COUNTED = 1 };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static bool refused(void)
{
    if (++made != fails_at)
        return false;
    errno = ENOMEM;
    return true;
}

static void *count(void *p)
{
    held += p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return refused() ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return refused() ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
    if (refused())
        return NULL;
    void *q = __libc_realloc(p, size);
    held += !p && q;
    return q;
}

void free(void *p)
{
    held -= p != NULL;
    __libc_free(p);
}
#endif

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

static void each_allocation(void **state)
{
    layouts l;
    rlt_layout_result r;
    unsigned long all, runs = 0;
    (void)state;
    begin(&l);
    assert_int_equal(search(&l, &r), 0); /* what is made once for all is made here */
    rlt_time best = r.points[0].time_ps;
    rlt_layout_result_free(&r);
    made = 0;
    long before = held;
    assert_int_equal(search(&l, &r), 0);
    rlt_layout_result_free(&r);
    assert_int_equal(held, before);
    all = made;
    for (unsigned long k = 1; COUNTED && k <= all; k++) {
        made = 0;
        fails_at = k;
        int rc = search(&l, &r);
        fails_at = 0;
        if (rc == 0 && r.points[0].time_ps != best)
            fail_msg("allocation %lu of %lu: another result", k, all);
        if (rc && rc != RLT_ENOMEM)
            fail_msg("allocation %lu of %lu: %s: %s", k, all, l.f.err.where, l.f.err.what);
        rlt_layout_result_free(&r);
        if (held != before)
            fail_msg("allocation %lu of %lu: %ld are not given back", k, all, held - before);
        runs++;
    }
    printf("# %lu allocations, %lu failed\n", all, runs);
    assert_true(!COUNTED || runs > 100);
    rlt_topology_free(l.topology);
    rlt_model_free(&l.f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
