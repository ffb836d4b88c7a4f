/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results of random trainings: sums over the critical path, the verdict in words, and the figures of an iteration, each
 * computed here from the path, the causes of each rank's time and the links. Bus bandwidths have the factors of
 * nccl-tests.
 */
#include "workload/experiment/run/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectives/collective.h"
#include "net/links.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/run_words.h"
#include "test/support/text_file.h"
#include "workload/experiment/run/columns.h"
#include "workload/experiment/run/exposed.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

enum { CASES = 40, KINDS = RLT_PATH_START + 1 };

/* A training of eight ranks, on a fast or a slow network, with ranks that are slow or late. */
static void draw(char *words, size_t size, dice *d)
{
    static const char *const layouts[] = {"dp=8",      "tp=8",           "pp=8",      "tp=2,dp=2,pp=2",
                                          "pp=4,dp=2", "tp=2,pp=2,cp=2", "dp=4,tp=2", "pp=2,tp=4"};
    static const char *const networks[] = {"switch:8@1GB/s,2us", "switch:8@400GB/s,200ns",
                                           "ring:4@50GB/s,500ns*switch:2@5GB/s,1us"};
    static const char *const more[] = {"", ",steps=2", ",offload=on,zero=0,overlap=off", ",recompute=full",
                                       ",zero=3"};
    static const char *const hidden[] = {"hidden=64", "hidden=1024"};
    int used = snprintf(words, size,
                        "topology=%s model=transformer:layers=8,%s,heads=8,sequence=128,vocabulary=1000 "
                        "layout=%s train=batch=%u,microbatch=1%s no-skew",
                        networks[below(d, 3)], hidden[below(d, 2)], layouts[below(d, 8)], 8u << below(d, 3),
                        more[below(d, 2) ? 0 : below(d, 5)]);
    if (below(d, 3) == 0)
        used += snprintf(words + used, size - (size_t)used, " rank-scale=%u:compute=0.25", below(d, 8));
    if (below(d, 3) == 0)
        snprintf(words + used, size - (size_t)used, " rank-delay=%u=%ums", below(d, 8), 1 + below(d, 30));
}

static void assert_path(const asked *a, const rlt_path_sum *p)
{
    const rlt_program *all = a->run.program;
    rlt_time kinds[KINDS] = {0}, purposes[RLT_PURPOSES] = {0}, colls[RLT_COLL_KINDS] = {0}, total = 0;
    uint32_t n[RLT_COLL_KINDS] = {0};
    for (uint32_t i = p->n; i-- > 0;) { /* from the begin of the run to its end */
        const rlt_path_item *it = &p->items[i];
        assert_int_equal(it->begin_ps, total);
        rlt_time takes = it->end_ps - it->begin_ps;
        bool moves = it->kind == RLT_PATH_TRANSFER;
        total = it->end_ps;
        kinds[it->kind] += takes;
        if (moves || all->ops[it->op].purpose == RLT_FOR_OFFLOAD)
            purposes[all->ops[it->op].purpose] += takes;
        if (moves && all->ops[it->op].comm != RLT_NONE) {
            colls[all->comms[all->ops[it->op].comm].kind] += takes;
            n[all->comms[all->ops[it->op].comm].kind]++;
        }
    }
    assert_int_equal(total, rlt_run_end(&a->run));
    assert_int_equal(p->total_ps, total);
    assert_memory_equal(p->by_kind_ps, kinds, sizeof kinds);
    assert_memory_equal(p->by_purpose_ps, purposes, sizeof purposes);
    assert_memory_equal(p->by_coll_ps, colls, sizeof colls);
    assert_memory_equal(p->by_coll, n, sizeof n);
}

/* The share of all ranks' time in the bubble, or 0 where another cause than compute takes more. */
static double bubble(const asked *a)
{
    double sums[RLT_CAUSES] = {0}, all = 0, most = 0;
    for (int c = 0; c < RLT_CAUSES; c++) {
        for (uint32_t r = 0; r < a->run.program->n_ranks; r++)
            sums[c] += (double)a->run.causes[r].ps[c];
        all += sums[c];
        most = c == RLT_CAUSE_COMPUTE ? most : fmax(most, sums[c]);
    }
    return sums[RLT_CAUSE_BUBBLE] < most ? 0 : sums[RLT_CAUSE_BUBBLE] / all;
}

static void expected_verdict(const asked *a, const rlt_path_sum *p, char *text, size_t size)
{
    static const char *const subjects[KINDS] = {
        [RLT_PATH_COMPUTE] = "compute takes",    [RLT_PATH_HOST] = "host work takes",
        [RLT_PATH_DELAY] = "recorded gaps take", [RLT_PATH_TRANSFER] = "transfers take",
        [RLT_PATH_START] = "start skew takes",
    };
    char first[60], other[60] = "", link[260] = "";
    int most = 0;
    rlt_busiest busy =
        rlt_links_busiest(a->run.setup.topology, rlt_replay_net(a->run.replay)->usage, rlt_run_end(&a->run));
    for (int k = 0; k < KINDS; k++)
        most = p->by_kind_ps[k] > p->by_kind_ps[most] ? k : most;
    snprintf(first, sizeof first, "%s %.1f %%", subjects[most],
             100 * (double)p->by_kind_ps[most] / (double)p->total_ps);
    if (most != RLT_PATH_TRANSFER)
        snprintf(other, sizeof other, ", transfers %.1f %%",
                 100 * (double)p->by_kind_ps[RLT_PATH_TRANSFER] / (double)p->total_ps);
    if (busy.link != RLT_NONE) {
        rlt_link_class *classes;
        uint32_t n;
        char name[160] = "";
        assert_int_equal(rlt_run_links(&a->run, true, &classes, &n, NULL), 0);
        for (uint32_t i = n; i-- > 0;) /* the first of those that are as busy */
            if (classes[i].utilization >= busy.utilization - 1e-12)
                rlt_link_class_name(a->run.setup.topology, &classes[i], name, sizeof name);
        free(classes);
        snprintf(link, sizeof link, "; the busiest link, %s, is used to %.1f %%", name,
                 100 * busy.utilization);
    }
    snprintf(text, size, "%s%s of the critical path%s%s",
             bubble(a) > 0.1 ? "the pipeline bubble; through the stages, " : "", first, other, link);
}

/* Exposed communication by dimensions adds up to that of each rank. */
static void assert_exposed(const asked *a)
{
    rlt_exposed e;
    bool used[1 << RLT_MAX_DIMS] = {false};
    assert_int_equal(rlt_run_exposed(&a->run, &e, NULL), 0);
    for (uint32_t r = 0; r < a->run.program->n_ranks; r++) {
        rlt_time sum = 0;
        for (uint32_t m = 0; m < e.n; m++) {
            sum += e.ps[r * e.n + m];
            used[m] = used[m] || e.ps[r * e.n + m] > 0;
        }
        assert_int_equal(sum, rlt_replay_rank(a->run.replay, r).exposed_comm_ps);
    }
    for (uint32_t m = 0; m < e.n; m++)
        assert_int_equal(e.used[m], used[m]);
    rlt_exposed_free(&e);
    assert_true(!e.ps && !e.dims && !e.n);
}

/* A verdict is cut where there is no room for it. */
static void assert_cut(const asked *a, const char *whole)
{
    rlt_error err = {0};
    size_t length = strlen(whole);
    for (size_t size = 1; size <= length + 1; size++) {
        char *some = malloc(size); /* what is written beyond it, sanitizers find */
        assert_non_null(some);
        assert_int_equal(rlt_run_verdict(&a->run, some, size, &err), 0);
        assert_int_equal(strlen(some), size - 1);
        assert_int_equal(strncmp(some, whole, size - 1), 0);
        free(some);
    }
}

static void paths_and_verdicts(void **state)
{
    uint32_t bubbles = 0, shares = 0;
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        asked a;
        rlt_error err;
        rlt_path_sum p;
        char words[500], verdict[500], want[500];
        draw(words, sizeof words, &d);
        if (go(&a, words, &err) || rlt_run_path(&a.run, &p, &err) ||
            rlt_run_verdict(&a.run, verdict, sizeof verdict, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_path(&a, &p);
        assert_exposed(&a);
        uint32_t last = 0; /* of equals, the first */
        for (uint32_t r = 0; r < a.run.program->n_ranks; r++)
            if (rlt_replay_rank(a.run.replay, r).end_ps > rlt_replay_rank(a.run.replay, last).end_ps)
                last = r;
        assert_int_equal(a.run.last_rank, last);
        expected_verdict(&a, &p, want, sizeof want);
        if (strcmp(verdict, want) != 0)
            fail_msg("%s: %s\nnot %s", words, verdict, want);
        bubbles += bubble(&a) > 0.1;
        shares += bubble(&a) > 0 && bubble(&a) <= 0.1;
        if (seed % 8 == 0)
            assert_cut(&a, want);
        rlt_path_sum_free(&p);
        assert_true(!p.items && !p.n);
        done(&a);
    }
    assert_true(bubbles > 3 && shares > 1);
}

/* Nothing is sent: no link is busy. */
static void work_alone(void **state)
{
    static const char text[] = "num_ranks 2\nrank 0 {\nl1: calc 3000\n}\nrank 1 {\nl1: calc 1000\n}\n";
    asked a;
    rlt_error err;
    char verdict[300];
    (void)state;
    test_write_new(trace, text, sizeof text - 1);
    assert_int_equal(go(&a, "topology=switch:2@1GB/s,500ns trace=TRACE", &err), 0);
    assert_int_equal(rlt_run_verdict(&a.run, verdict, sizeof verdict, &err), 0);
    assert_string_equal(verdict, "compute takes 100.0 % of the critical path, transfers 0.0 %");
    /* What was recorded took twice as long as the slower rank; only an ideal run that has ended tells. */
    rlt_time recorded[] = {6 * RLT_US, 5 * RLT_US};
    a.run.program->rank_recorded_ps = recorded;
    assert_true(rlt_run_slowdown(&a.run) <= 0);
    a.settings.recording.ideal = true;
    assert_true(fabs(rlt_run_slowdown(&a.run) - 2) < 1e-12);
    recorded[1] = 9 * RLT_US;
    assert_true(fabs(rlt_run_slowdown(&a.run) - 3) < 1e-12);
    a.run.partial = true;
    assert_true(rlt_run_slowdown(&a.run) <= 0);
    done(&a);
    unlink(trace);
}

/* The bubble is named if it takes more than a tenth, and nothing but compute takes more. */
static void bubbles_by_hand(void **state)
{
    static const struct {
        rlt_time compute, bubble, tensor;
        bool named;
    } rows[] = {{9, 1, 0, false},    {9, 2, 0, true}, {8, 1, 0, true},  {90, 10, 0, false},
                {900, 101, 0, true}, {3, 2, 2, true}, {3, 2, 3, false}, {0, 5, 0, true}};
    asked a;
    rlt_error err;
    (void)state;
    assert_int_equal(go(&a,
                        "topology=switch:8@400GB/s,200ns model=transformer:layers=4,hidden=64,heads=8 "
                        "layout=pp=2,tp=4 train=batch=8",
                        &err),
                     0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char verdict[300];
        for (uint32_t r = 0; r < 8; r++) {
            memset(a.run.causes[r].ps, 0, sizeof a.run.causes[r].ps);
            a.run.causes[r].ps[RLT_CAUSE_COMPUTE] = rows[i].compute;
            a.run.causes[r].ps[RLT_CAUSE_BUBBLE] = rows[i].bubble;
            a.run.causes[r].ps[RLT_CAUSE_TP] = rows[i].tensor;
        }
        assert_int_equal(rlt_run_verdict(&a.run, verdict, sizeof verdict, &err), 0);
        assert_int_equal(strncmp(verdict, "the pipeline bubble; through the stages, ", 41) == 0,
                         rows[i].named);
    }
    done(&a);
}

/* nccl-tests: bytes over time, times the share that each link carries. */
static void bus_bandwidths(void **state)
{
    static const struct {
        const char *words;
        uint32_t n;
    } rows[] = {{"layout=tp=8 train=batch=8", 8},
                {"layout=dp=8 train=batch=8,zero=3", 8},
                {"layout=pp=2,dp=1 train=batch=8", 2}};
    uint32_t seen = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t n = rows[i].n;
        const double share = (n - 1.0) / n;
        char words[300];
        asked a;
        rlt_error err;
        snprintf(words, sizeof words,
                 "topology=switch:%u@400GB/s,200ns model=transformer:layers=4,hidden=64,heads=8 %s", n,
                 rows[i].words);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        for (uint32_t c = 0; c < a.run.program->n_comms; c++) {
            const rlt_comm *m = &a.run.program->comms[c];
            double factor = m->kind == RLT_ALL_REDUCE ? 2 * share : m->kind == RLT_SEND_RECV ? 1 : share;
            if (m->kind != RLT_ALL_REDUCE && m->kind != RLT_SEND_RECV && m->kind != RLT_ALL_GATHER &&
                m->kind != RLT_REDUCE_SCATTER)
                continue;
            assert_int_equal(rlt_run_comm_ranks(&a.run, c), n);
            double got = rlt_run_busbw(&a.run, c, 3 * RLT_US);
            assert_true(fabs(got / ((double)m->bytes * factor / 3e-6) - 1) < 1e-12);
            assert_true(rlt_run_busbw(&a.run, c, 0) <= 0 && rlt_run_busbw(&a.run, c, 0) >= 0);
            assert_true(fabs(rlt_run_busbw(&a.run, c, 1) / ((double)m->bytes * factor * 1e12) - 1) < 1e-12);
            seen |= 1u << m->kind;
        }
        done(&a);
    }
    assert_int_equal(seen, 1u << RLT_ALL_REDUCE | 1u << RLT_SEND_RECV | 1u << RLT_ALL_GATHER |
                               1u << RLT_REDUCE_SCATTER);
}

/* Figures by their definitions, of the mean of all iterations. */
static void figures_of_trainings(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES / 2; seed++) {
        dice d = {.seed = seed};
        asked a;
        rlt_error err;
        char words[500];
        uint32_t fullest = 0;
        uint64_t peak = 0;
        draw(words, sizeof words, &d);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        const rlt_training *t = &a.run.training;
        rlt_training_figures f = rlt_run_training_figures(&a.run);
        double s = (double)rlt_replay_time(a.run.replay) * 1e-12 / t->steps;
        assert_int_equal(rlt_accelerator_peak(&a.run.accelerator, t->precision, &peak, &err), 0);
        double flops = rlt_training_flop(t) / t->steps / s / 8;
        assert_true(fabs(f.utilization / (flops / (double)peak) - 1) < 1e-12);
        assert_true(fabs(f.tokens_per_s / ((double)t->batch * 128 / s) - 1) < 1e-12);
        assert_true(f.memory_bytes > 0 && f.memory_bytes >= rlt_training_fullest(t, &fullest));
        assert_int_equal(f.fullest, fullest);
        assert_true(fabs(f.iteration_low_s - s * f.grounds.spread.low) < 1e-9 * s);
        assert_true(fabs(f.iteration_high_s - s * f.grounds.spread.high) < 1e-9 * s);
        assert_true(f.grounds.spread.high > f.grounds.spread.low);
        done(&a);
    }
}

/* ---- columns ---- */

/* The value of a column by its name, or by its title if it has no name. */
static rlt_value cell(const rlt_run_column *list, const char *name, const rlt_run *r, uint32_t i)
{
    for (; list->shape.name || list->shape.title; list++)
        if (strcmp(list->shape.name ? list->shape.name : list->shape.title, name) == 0)
            return list->value(r, i);
    fail_msg("there is no column %s", name);
    return rlt_absent();
}

static void is(const rlt_run_column *list, const char *name, const rlt_run *r, uint32_t i, int64_t want)
{
    rlt_value v = cell(list, name, r, i);
    if (v.absent || v.time != want)
        fail_msg("%s of %u: %lld, not %lld", name, i, v.absent ? -1LL : (long long)v.time, (long long)want);
}

static void assert_rank_cells(const rlt_run *r, uint32_t i)
{
    rlt_rank_result k = rlt_replay_rank(r->replay, i);
    const rlt_rank_causes *c = &r->causes[i];
    const struct {
        const char *name;
        int64_t is;
    } cells[] = {{"rank", i},
                 {"start_ps", k.start_ps},
                 {"span_ps", k.end_ps - k.start_ps},
                 {"compute_ps", k.compute_ps},
                 {"comm_ps", k.comm_ps},
                 {"exposed_comm_ps", k.exposed_comm_ps},
                 {"host_ps", k.host_ps},
                 {"idle_ps", k.idle_ps},
                 {"comm_wait_ps", k.comm_wait_ps},
                 {"comm_transfer_ps", k.comm_transfer_ps},
                 {"bubble_ps", c->ps[RLT_CAUSE_BUBBLE]},
                 {"bubble_warm_up_ps", c->bubble_ps[RLT_BUBBLE_WARM_UP]},
                 {"bubble_inside_ps", c->bubble_ps[RLT_BUBBLE_INSIDE]},
                 {"bubble_drain_ps", c->bubble_ps[RLT_BUBBLE_DRAIN]},
                 {"start_skew_ps", c->ps[RLT_CAUSE_SKEW]},
                 {"peer_wait_ps", c->ps[RLT_CAUSE_WAIT]},
                 {"exposed_tp_ps", c->ps[RLT_CAUSE_TP]},
                 {"exposed_cp_ps", c->ps[RLT_CAUSE_CP]},
                 {"exposed_ep_ps", c->ps[RLT_CAUSE_EP]},
                 {"exposed_dp_ps", c->ps[RLT_CAUSE_DP]},
                 {"exposed_pp_ps", c->ps[RLT_CAUSE_PP]},
                 {"exposed_offload_ps", c->ps[RLT_CAUSE_OFFLOAD]},
                 {"exposed_other_ps", c->ps[RLT_CAUSE_COMM]},
                 {"ended_ps", c->ps[RLT_CAUSE_ENDED]}};
    for (size_t n = 0; n < sizeof cells / sizeof *cells; n++)
        is(rlt_rank_columns, cells[n].name, r, i, cells[n].is);
    assert_int_equal(cell(rlt_rank_columns, "recorded_span_ps", r, i).absent,
                     r->program->rank_recorded_ps[i] < 0);
    if (r->program->rank_recorded_ps[i] >= 0)
        is(rlt_rank_columns, "recorded_span_ps", r, i, r->program->rank_recorded_ps[i]);
}

static void assert_comm_cells(const rlt_run *r, uint32_t i)
{
    static const char *const later[] = {
        "first_arrival_ps", "last_arrival_ps", "end_ps",     "wait_ps", "transfer_ps",
        "bound_ps",         "bound",           "busbw_GBps", "busbw",   "last_rank"};
    const rlt_program *p = r->program;
    const rlt_comm *m = &p->comms[i];
    rlt_comm_result c = rlt_replay_comm(r->replay, i);
    is(rlt_comm_columns, "index", r, i, i);
    is(rlt_comm_columns, "ranks", r, i, p->group_first[m->group + 1] - p->group_first[m->group]);
    is(rlt_comm_columns, "step", r, i, m->step);
    is(rlt_comm_columns, "bytes", r, i, (int64_t)m->bytes);
    assert_string_equal(cell(rlt_comm_columns, "collective", r, i).text, rlt_coll_name(m->kind));
    for (size_t n = 0; n < sizeof later / sizeof *later && c.end_ps < 0; n++)
        assert_true(cell(rlt_comm_columns, later[n], r, i).absent);
    if (c.end_ps < 0)
        return;
    double busbw = rlt_run_busbw(r, i, c.end_ps - c.last_arrival_ps);
    is(rlt_comm_columns, "first_arrival_ps", r, i, c.first_arrival_ps);
    is(rlt_comm_columns, "last_arrival_ps", r, i, c.last_arrival_ps);
    is(rlt_comm_columns, "end_ps", r, i, c.end_ps);
    is(rlt_comm_columns, "wait_ps", r, i, c.last_arrival_ps - c.first_arrival_ps);
    is(rlt_comm_columns, "transfer_ps", r, i, c.end_ps - c.last_arrival_ps);
    is(rlt_comm_columns, "bound_ps", r, i, c.bound_ps);
    is(rlt_comm_columns, "bound", r, i, c.bound_ps);
    is(rlt_comm_columns, "busbw", r, i, (int64_t)busbw);
    is(rlt_comm_columns, "last_rank", r, i, p->group_ranks[p->group_first[m->group] + c.last_member]);
    assert_true(fabs(cell(rlt_comm_columns, "busbw_GBps", r, i).real - busbw / 1e9) <= 1e-12 * busbw);
    assert_string_equal(cell(rlt_comm_columns, "algorithm", r, i).text, c.algorithm);
}

/* Runs of models and of recordings, some of them stopped. */
static void cells(void **state)
{
    uint32_t open = 0, recorded = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        dice d = {.seed = 900 + seed};
        char words[500];
        asked a;
        rlt_error err;
        if (seed % 4 == 3)
            snprintf(words, sizeof words, "topology=switch:8@1GB/s,2us trace=traces/transformer-8");
        else
            draw(words, sizeof words, &d);
        if (seed % 3 == 2)
            snprintf(words + strlen(words), sizeof words - strlen(words), " until=%ums", 1 + below(&d, 20));
        int rc = go(&a, words, &err);
        if (rc && rc != RLT_ECANCELLED)
            fail_msg("%s: %s: %s", words, err.where, err.what);
        for (uint32_t i = 0; i < a.run.program->n_ranks; i++) {
            assert_rank_cells(&a.run, i);
            recorded += a.run.program->rank_recorded_ps[i] >= 0;
        }
        for (uint32_t i = 0; i < a.run.program->n_comms; i++) {
            assert_comm_cells(&a.run, i);
            open += rlt_replay_comm(a.run.replay, i).end_ps < 0;
        }
        done(&a);
    }
    assert_true(open > 0 && recorded == 0);
    static const char kernels[] =
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 1,"
        "\"tid\": 7, \"ts\": 3, \"dur\": 5}]}";
    char path[] = "/tmp/ringlet-kernels-XXXXXX", words[100];
    asked a;
    rlt_error err;
    test_write_new(path, kernels, sizeof kernels - 1);
    snprintf(words, sizeof words, "topology=switch:2@1GB/s,2us trace=%s", path);
    if (go(&a, words, &err))
        fail_msg("%s: %s", err.where, err.what);
    is(rlt_rank_columns, "recorded_span_ps", &a.run, 0, 5 * RLT_US);
    done(&a);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_verdicts),   cmocka_unit_test(work_alone),
        cmocka_unit_test(bubbles_by_hand),      cmocka_unit_test(bus_bandwidths),
        cmocka_unit_test(figures_of_trainings), cmocka_unit_test(cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
