/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Algorithms over several dimensions: every pattern in every dimension through the symbolic checker, what the
 * patterns must refuse, and their times on product networks in closed form.
 */
#include "test/support.h"

#include <stdio.h>

#include "collectives/checker.h"
#include "sim/time.h"

static const char *const patterns[] = {"ring", "direct", "halving_doubling", "recursive_doubling"};
static const rlt_coll_kind symmetric[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BARRIER};
static const rlt_coll_kind rooted[] = {RLT_BROADCAST, RLT_REDUCE, RLT_GATHER, RLT_SCATTER};
/* Sizes of dimensions, 0 at the end. */
static const uint32_t grids[][5] = {{6},       {8},       {2, 2},       {4, 3},       {3, 4},
                                    {5, 2},    {6, 2},    {2, 6},       {2, 3, 2},    {3, 2, 4},
                                    {4, 2, 3}, {2, 1, 5}, {2, 2, 2, 2}, {3, 2, 2, 3}, {2, 4, 2, 2}};
enum { N_GRIDS = sizeof grids / sizeof grids[0] };

static rlt_coll_request over(const uint32_t *grid, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_coll_request req = {.kind = kind, .n = 1, .bytes = bytes};
    for (; grid[req.n_dims]; req.n_dims++) {
        req.dims[req.n_dims] = grid[req.n_dims];
        req.n *= grid[req.n_dims];
    }
    return req;
}

static bool power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Whether a pattern that halves its data meets a dimension that does not halve. */
static bool cannot_halve(const rlt_coll_request *req)
{
    for (uint32_t d = 0; d < req->n_dims; d++) {
        if (req->patterns[d] && strstr(req->patterns[d], "doubling") && !power_of_two(req->dims[d]))
            return true;
    }
    return false;
}

static const char *describe(const rlt_coll_request *req)
{
    static char text[400];
    int used = snprintf(text, sizeof text, "%s of %llu bytes, root %u, %u channels, %u chunks, %u directions",
                        rlt_coll_name(req->kind), (unsigned long long)req->bytes, req->root, req->channels,
                        req->chunks, req->directions);
    for (uint32_t d = 0; d < req->n_dims; d++)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %u %s", req->dims[d],
                         req->patterns[d] ? req->patterns[d] : "by shape");
    return text;
}

static void check(const rlt_algorithm *a, const rlt_coll_request *req)
{
    rlt_plan plan;
    rlt_error err = {0};
    if (rlt_plan_create(a, req, &plan, &err) < 0 || rlt_plan_check(&plan, &err) < 0)
        fail_msg("%s, %s: %s: %s", a->name, describe(req), err.where, err.what);
    rlt_plan_free(&plan);
}

static void refused(const rlt_algorithm *a, const rlt_coll_request *req, int code, const char *word)
{
    rlt_plan plan;
    rlt_error err = {0};
    int rc = rlt_plan_create(a, req, &plan, &err);
    if (rc != code || !strstr(err.what, word))
        fail_msg("%s, %s: %d instead of %d: %s", a->name, describe(req), rc, code, err.what);
    rlt_plan_free(&plan);
}

/* Pattern d of combination c. */
static void choose(rlt_coll_request *req, uint32_t c)
{
    for (uint32_t d = 0; d < req->n_dims; d++, c /= 4)
        req->patterns[d] = patterns[c % 4];
}

static uint32_t combinations(const rlt_coll_request *req)
{
    return 1u << 2 * req->n_dims;
}

static void all_patterns_pass(void **state)
{
    (void)state;
    static const uint64_t bytes[] = {1000003, 0, 5};
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = over(grids[i / 4], symmetric[i % 4], 0);
        bool shares = req.kind == RLT_REDUCE_SCATTER || req.kind == RLT_ALL_GATHER;
        for (uint32_t c = 0; c < combinations(&req); c++) {
            choose(&req, c);
            req.bytes = bytes[c % 3];
            req.channels = 1 + c % 2;
            req.chunks = 1 + 2 * (c / 2 % 2);
            req.directions = 1 + (c / 3) % 2;
            if (shares && cannot_halve(&req))
                refused(&rlt_hierarchical, &req, RLT_EUNSUPPORTED, "power of two");
            else
                check(&rlt_hierarchical, &req);
        }
    }
}

static void all_roots_pass(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = over(grids[i / 4], rooted[i % 4], 1000003);
        bool shares = req.kind == RLT_GATHER || req.kind == RLT_SCATTER;
        for (uint32_t c = 0; c < combinations(&req); c++) {
            choose(&req, c);
            req.root = c * 7 % req.n;
            req.chunks = 1 + 2 * (c % 2);
            req.directions = 1 + c / 2 % 2;
            if (shares && cannot_halve(&req))
                refused(&rlt_hierarchical, &req, RLT_EUNSUPPORTED, "power of two");
            else
                check(&rlt_hierarchical, &req);
        }
    }
}

/* Shares of given sizes, some of them empty. */
static void counts_pass(void **state)
{
    (void)state;
    static const rlt_coll_kind kinds[] = {RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_GATHER, RLT_SCATTER};
    uint64_t counts[64];
    for (uint32_t i = 0; i < N_GRIDS * 4; i++) {
        rlt_coll_request req = over(grids[i / 4], kinds[i % 4], 0);
        for (uint32_t b = 0; b < req.n; b++) {
            counts[b] = b % 5 == 2 ? 0 : (uint64_t)b * b * 37 + 1;
            req.bytes += counts[b];
        }
        req.counts = counts;
        for (uint32_t c = 0; c < combinations(&req); c++) {
            choose(&req, c);
            if (cannot_halve(&req))
                continue;
            req.root = c % req.n;
            req.chunks = 1 + c % 3;
            req.directions = 1 + c / 2 % 2;
            check(&rlt_hierarchical, &req);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_patterns_pass),
        cmocka_unit_test(all_roots_pass),
        cmocka_unit_test(counts_pass),
    };
    return cmocka_run_group_tests_name("multidim", tests, NULL, NULL);
}
