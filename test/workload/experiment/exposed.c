/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exposed communication by dimensions, of random messages on two and three dimensions: between any two events of
 * a rank, the dimensions of all communications under way count unless the rank computes. Here each span between
 * events is looked at by itself, and dimensions follow from the coordinates of accelerators. Some runs are stopped.
 */
#include "workload/experiment/run/exposed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/run_words.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { RANKS = 8, STEPS = 40, ROOM = 4000, MOST = 3000 };

static char places[] = "/tmp/ringlet-places-XXXXXX"; /* a second file: where ranks are */

static int by_value(const void *a, const void *b)
{
    rlt_time x = *(const rlt_time *)a, y = *(const rlt_time *)b;
    return (x > y) - (x < y);
}

/* Messages between ranks and work on them, in one order, so that none waits for itself. */
static void draw_trace(dice *d)
{
    static char lists[RANKS][ROOM];
    size_t used[RANKS] = {0};
    uint32_t n[RANKS] = {0};
    FILE *f = fopen(trace, "w");
    assert_non_null(f);
#define ADD(rank, ...)                                                                                       \
    used[rank] += (size_t)snprintf(lists[rank] + used[rank], ROOM - used[rank], __VA_ARGS__)
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t at[2] = {below(d, RANKS)}, bytes = 1 + below(d, 8000), both = below(d, 3) > 0;
        at[1] = (at[0] + 1 + below(d, RANKS - 1)) % RANKS;
        for (uint32_t k = 0; k <= both; k++) {
            uint32_t r = at[k], op = ++n[r];
            if (!both)
                ADD(r, "l%u: calc %u\n", op, 1 + below(d, 9000));
            else if (k == 0)
                ADD(r, "l%u: send %ub to %u tag %u\n", op, bytes, at[1], i);
            else
                ADD(r, "l%u: recv %ub from %u tag %u\n", op, bytes, at[0], i);
            if (op > 1 && below(d, 3))
                ADD(r, "l%u requires l%u\n", op, op - 1 - below(d, op - 1 < 3 ? op - 1 : 3));
        }
    }
#undef ADD
    fprintf(f, "num_ranks %u\n", RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        fprintf(f, "rank %u {\n%.*s%s}\n", r, (int)used[r], lists[r], n[r] ? "" : "l1: calc 1\n");
    fclose(f);
}

static void write_places(const uint32_t accelerator[RANKS])
{
    FILE *f = fopen(places, "w");
    assert_non_null(f);
    fputs("{\"ranks\": [", f);
    for (uint32_t r = 0; r < RANKS; r++)
        fprintf(f, "%s%u", r ? ", " : "", accelerator[r]);
    fputs("]}\n", f);
    fclose(f);
}

/* The dimensions in which two accelerators differ, as bits. */
static uint32_t dims_between(uint32_t a, uint32_t b, const uint32_t *sizes)
{
    uint32_t mask = 0;
    for (uint32_t d = 0; sizes[d]; d++) {
        mask |= a % sizes[d] != b % sizes[d] ? 1u << d : 0;
        a /= sizes[d];
        b /= sizes[d];
    }
    return mask;
}

/* When an operation began and ended; what was under way when the run was stopped ended then. Nothing for one that
 * did not begin. */
static rlt_op_result lasted(const rlt_run *r, uint32_t op)
{
    rlt_op_result o = rlt_replay_op(r->replay, op);
    if (o.start_ps < 0)
        return (rlt_op_result){.start_ps = 0, .end_ps = 0};
    if (o.end_ps < 0)
        o.end_ps = rlt_sim_now(rlt_replay_sim(r->replay));
    return o;
}

/* The dimensions in which any two members of a communication differ. */
static uint32_t dims_of(const rlt_program *p, uint32_t comm, const uint32_t *accelerator,
                        const uint32_t *sizes)
{
    uint32_t mask = 0, end = p->group_first[p->comms[comm].group + 1];
    for (uint32_t a = p->group_first[p->comms[comm].group]; a < end; a++)
        for (uint32_t b = a + 1; b < end; b++)
            mask |= dims_between(accelerator[p->group_ranks[a]], accelerator[p->group_ranks[b]], sizes);
    return mask;
}

static void check_rank(const rlt_run *r, const rlt_exposed *e, uint32_t rank, const uint32_t *accelerator,
                       const uint32_t *sizes)
{
    const rlt_program *p = r->program;
    rlt_time at[MOST], want[8] = {0}, sum = 0;
    uint32_t n = 0;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        assert_true(n + 2 <= MOST);
        at[n++] = lasted(r, i).start_ps;
        at[n++] = lasted(r, i).end_ps;
    }
    qsort(at, n, sizeof *at, by_value);
    for (uint32_t k = 0; k + 1 < n; k++) {
        uint32_t mask = 0;
        bool computes = false, talks = false;
        for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
            rlt_op_result o = lasted(r, i);
            if (o.start_ps > at[k] || o.end_ps <= at[k])
                continue;
            if (p->ops[i].kind == RLT_OP_COMPUTE ||
                (p->ops[i].kind == RLT_OP_MEMORY && p->ops[i].purpose != RLT_FOR_OFFLOAD)) {
                computes = true;
                continue;
            }
            if (p->ops[i].kind < RLT_OP_COLLECTIVE && !p->ops[i].purpose)
                continue;
            if (p->ops[i].kind >= RLT_OP_COLLECTIVE)
                mask |= dims_of(p, p->ops[i].comm, accelerator, sizes);
            talks = true;
        }
        if (talks && !computes)
            want[mask] += at[k + 1] - at[k];
    }
    for (uint32_t m = 0; m < e->n; m++) {
        sum += want[m];
        if (e->ps[rank * e->n + m] != want[m])
            fail_msg("rank %u, set %u: %lld ps, not %lld", rank, m, (long long)e->ps[rank * e->n + m],
                     (long long)want[m]);
        assert_true(e->used[m] || want[m] == 0);
    }
    assert_int_equal(sum, rlt_replay_rank(r->replay, rank).exposed_comm_ps);
}

static void check_all(const rlt_run *run, const rlt_exposed *e, const uint32_t *accelerator,
                      const uint32_t *sizes)
{
    uint32_t dims = 0, used = 0;
    while (sizes[dims])
        dims++;
    assert_int_equal(e->n, 1u << dims);
    for (uint32_t r = 0; r < RANKS; r++)
        check_rank(run, e, r, accelerator, sizes);
    for (uint32_t m = 0; m < e->n; m++) {
        bool any = false;
        for (uint32_t r = 0; r < RANKS; r++)
            any = any || e->ps[r * e->n + m] > 0;
        assert_int_equal(e->used[m], any);
        used += any;
    }
    assert_true(used > 0);
    for (uint32_t c = 0; c < run->program->n_comms; c++)
        assert_int_equal(e->dims[c], dims_of(run->program, c, accelerator, sizes));
}

static void as_each_span(void **state)
{
    static const struct {
        const char *words;
        uint32_t sizes[4], accelerator[RANKS];
    } rows[] = {
        {"topology=switch:2@2GB/s,500ns*switch:4@1GB/s,1us", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"topology=switch:4@2GB/s,500ns*ring:2@1GB/s,1us", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"topology=ring:2@2GB/s,0*ring:2@1GB/s,1us*switch:2@1GB/s,2us", {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"topology=switch:2@2GB/s,500ns*switch:4@1GB/s,1us", {2, 4}, {7, 2, 4, 1, 0, 6, 5, 3}},
        {"topology=switch:8@2GB/s,500ns", {8}, {0, 1, 2, 3, 4, 5, 6, 7}}};
    (void)state;
    for (uint32_t i = 0; i < 30 * (sizeof rows / sizeof *rows); i++) {
        dice d = {.seed = i};
        char words[200];
        asked a;
        rlt_exposed e;
        rlt_error err;
        uint32_t row = i % (sizeof rows / sizeof *rows), until = i % 3 ? 0 : 5 + below(&d, 60);
        draw_trace(&d);
        int n = snprintf(words, sizeof words, "%s trace=TRACE placement=%s", rows[row].words, places);
        if (until)
            snprintf(words + n, sizeof words - (size_t)n, " until=%uus", until);
        write_places(rows[row].accelerator);
        int rc = go(&a, words, &err);
        if ((rc && (!until || rc != RLT_ECANCELLED)) || rlt_run_exposed(&a.run, &e, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        check_all(&a.run, &e, rows[row].accelerator, rows[row].sizes);
        rlt_exposed_free(&e);
        done(&a);
    }
}

/* Collectives of trainings, and what is kept in the host's memory. */
static void of_trainings(void **state)
{
    static const uint32_t sizes[] = {4, 2, 0}, accelerator[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const char *const layouts[] = {"tp=4,dp=2", "tp=2,dp=4", "tp=2,pp=2,dp=2", "cp=4,dp=2"};
    static const char *const trains[] = {"batch=8", "batch=8,zero=0,overlap=off,offload=on"};
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        char words[400];
        asked a;
        rlt_exposed e;
        rlt_error err;
        snprintf(
            words, sizeof words,
            "topology=ring:4@100GB/s,300ns*switch:2@20GB/s,2us accelerator=h100-sxm any-memory "
            "model=transformer:layers=2,hidden=256,heads=8,sequence=128,vocabulary=1000 layout=%s train=%s",
            layouts[i % 4], trains[i / 4]);
        if (go(&a, words, &err) || rlt_run_exposed(&a.run, &e, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        check_all(&a.run, &e, accelerator, sizes);
        rlt_exposed_free(&e);
        done(&a);
    }
}

/* Ranks of other jobs are where the jobs are: 1 and 3 differ in the outer dimension, 4 and 5 in the inner one. */
static void of_jobs(void **state)
{
    static const char *const jobs[] = {"job=TRACE@1,3 job=TRACE@4,5", "job=TRACE@4,5 job=TRACE@3,1",
                                       "trace=TRACE job=TRACE@2,4"};
    static const uint32_t dims[][2] = {{2, 1}, {1, 2}, {1, 2}};
    (void)state;
    FILE *f = fopen(trace, "w");
    assert_non_null(f);
    fputs("num_ranks 2\nrank 0 {\nl1: send 2000b to 1 tag 1\n}\nrank 1 {\nl1: recv 2000b from 0 tag 1\n}\n",
          f);
    fclose(f);
    for (int i = 0; i < 3; i++) {
        char words[200];
        asked a;
        rlt_exposed e;
        rlt_error err;
        snprintf(words, sizeof words, "topology=switch:2@2GB/s,500ns*switch:3@1GB/s,1us %s", jobs[i]);
        if (go(&a, words, &err) || rlt_run_exposed(&a.run, &e, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_int_equal(a.run.program->n_comms, 2);
        for (uint32_t c = 0; c < 2; c++)
            assert_int_equal(e.dims[c], dims[i][c]);
        for (uint32_t r = 0; r < 4; r++)
            for (uint32_t m = 0; m < 4; m++)
                assert_int_equal(e.ps[4 * r + m],
                                 m == dims[i][r / 2] ? rlt_replay_rank(a.run.replay, r).exposed_comm_ps : 0);
        rlt_exposed_free(&e);
        done(&a);
    }
}

/* Two ranks on one dimension, stopped at 50 us. A message of 2000 bytes takes 2 us and two hops of 500 ns: the rank that
 * computes meanwhile waits for nothing, although its work does not end; the other one waits for all of the message, and
 * then for a longer one. */
static void stopped(void **state)
{
    (void)state;
    FILE *f = fopen(trace, "w");
    assert_non_null(f);
    fputs("num_ranks 2\nrank 0 {\nl1: send 2000b to 1 tag 1\nl2: calc 100000\nl3: send 100000b to 1 tag 2\n"
          "l3 requires l1\n}\n"
          "rank 1 {\nl1: recv 2000b from 0 tag 1\nl2: recv 100000b from 0 tag 2\nl2 requires l1\n}\n",
          f);
    fclose(f);
    asked a;
    rlt_exposed e;
    rlt_error err;
    assert_int_equal(go(&a, "topology=switch:2@1GB/s,500ns trace=TRACE until=50us", &err), RLT_ECANCELLED);
    assert_int_equal(rlt_run_exposed(&a.run, &e, &err), 0);
    assert_int_equal(e.n, 2);
    assert_int_equal(rlt_replay_rank(a.run.replay, 0).compute_ps, 50 * RLT_US);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(e.ps[k], 0);
    assert_int_equal(e.ps[3], 50 * RLT_US);
    assert_true(!e.used[0] && e.used[1]);
    rlt_exposed_free(&e);
    done(&a);
}

static int make_files(void **state)
{
    (void)state;
    int one = mkstemp(trace), other = mkstemp(places);
    return one < 0 || other < 0 || close(one) || close(other) ? -1 : 0;
}

static int remove_files(void **state)
{
    (void)state;
    return unlink(trace) || unlink(places) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_each_span), cmocka_unit_test(of_trainings),
                                       cmocka_unit_test(of_jobs), cmocka_unit_test(stopped)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
