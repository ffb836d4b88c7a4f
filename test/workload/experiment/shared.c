/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inputs that experiments share. Random runs of one pool are those that each would be alone, figure by figure, whatever
 * else the pool holds. What is loaded, and again, is counted by the notes of the pool: inputs of the same settings
 * once, and those unused for longest go first.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/links.h"
#include "net/network.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/text/tree.h"
#include "test/support/ask.h"
#include "test/support/dice.h"
#include "test/support/member.h"
#include "test/support/run_words.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/one.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/prepared.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/shared.h"
#include "workload/models/accelerator.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"

enum { CASES = 250, ALIVE = 12 };

static bool has(const rlt_outcome *o, rlt_figure f, double value)
{
    double got = rlt_figure_infos[f].kind == RLT_FIG_REAL ? o->real[f] : (double)o->integer[f];
    return o->there[f] && got == value;
}

/* Every figure of a run, from the results of a run alone. */
static void compare(const char *words, const rlt_outcome *o, const rlt_run *r)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    const rlt_rank_result k = rlt_replay_rank(r->replay, r->last_rank);
    const rlt_time *causes = r->causes[r->last_rank].ps, time = rlt_replay_time(r->replay);
    const rlt_training_figures t = r->trains ? rlt_run_training_figures(r) : (rlt_training_figures){0};
    const rlt_busiest busiest = rlt_links_busiest(r->setup.topology, net->usage, rlt_run_end(r));
    const uint32_t n = rlt_replay_iterations(r->replay);
    const struct {
        rlt_figure f;
        bool there;
        double value;
    } rows[] = {
        {RLT_FIG_TIME, true, (double)time},
        {RLT_FIG_ITERATION, n > 0, n ? floor((double)time / n) : 0},
        {RLT_FIG_COMPUTE, true, (double)k.compute_ps},
        {RLT_FIG_COMM, true, (double)k.exposed_comm_ps},
        {RLT_FIG_HOST, true, (double)k.host_ps},
        {RLT_FIG_IDLE, true, (double)k.idle_ps},
        {RLT_FIG_EVENTS, true, (double)rlt_sim_events(rlt_replay_sim(r->replay))},
        {RLT_FIG_MESSAGES, true, (double)net->messages},
        {RLT_FIG_BYTES, true, (double)net->bytes_offered},
        {RLT_FIG_BUSIEST, true, busiest.utilization},
        {RLT_FIG_MEMORY, r->trains, floor(t.memory_bytes + 0.5)},
        {RLT_FIG_MFU, r->trains, t.utilization},
        {RLT_FIG_TOKENS, r->trains, t.tokens_per_s},
        {RLT_FIG_BUBBLE, true, (double)causes[RLT_CAUSE_BUBBLE]},
        {RLT_FIG_SKEW, true, (double)causes[RLT_CAUSE_SKEW]},
        {RLT_FIG_WAIT, true, (double)causes[RLT_CAUSE_WAIT]},
        {RLT_FIG_EXPOSED_TP, true, (double)causes[RLT_CAUSE_TP]},
        {RLT_FIG_EXPOSED_CP, true, (double)causes[RLT_CAUSE_CP]},
        {RLT_FIG_EXPOSED_EP, true, (double)causes[RLT_CAUSE_EP]},
        {RLT_FIG_EXPOSED_DP, true, (double)causes[RLT_CAUSE_DP]},
        {RLT_FIG_EXPOSED_PP, true, (double)causes[RLT_CAUSE_PP]},
        {RLT_FIG_EXPOSED_OFFLOAD, true, (double)causes[RLT_CAUSE_OFFLOAD]},
        {RLT_FIG_EXPOSED_OTHER, true, (double)causes[RLT_CAUSE_COMM]},
        {RLT_FIG_ENDED, true, (double)causes[RLT_CAUSE_ENDED]},
        {RLT_FIG_BUSBW, false, 0},
        {RLT_FIG_SERVER_BYTES, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].there ? !has(o, rows[i].f, rows[i].value) : o->there[rows[i].f])
            fail_msg("%s: %s is %g (or %lld), alone %g", words, rlt_figure_infos[rows[i].f].name,
                     o->real[rows[i].f], (long long)o->integer[rows[i].f], rows[i].value);
    assert_string_equal(o->busiest, busiest.link == RLT_NONE ? "" : busiest.name);
    assert_int_equal(o->assumed, r->trains && t.grounds.basis == RLT_BASIS_ASSUMED);
    assert_int_equal(o->measured, r->trains && !o->assumed);
    assert_string_equal(o->stack, r->trains && r->training.stack_auto ? r->training.stack : "");
}

static void draw(dice *d, char words[600])
{
    static const char *const trained[] = {
        "model=transformer:layers=2,hidden=256",
        "model=transformer:layers=4,hidden=512 layout=tp=2",
        "model=transformer:layers=4,hidden=256 layout=pp=2 train=batch=8",
        "model=transformer:layers=2,hidden=256 train=steps=3",
        "model=transformer:layers=4,hidden=256 layout=tp=2,pp=2 train=batch=8,microbatch=1",
        "model=transformer:layers=2,hidden=256 layout=cp=2",
        "model=transformer:layers=2,hidden=256 accelerator=a100-80gb",
        "model=transformer:layers=2,hidden=256 accelerator=trainium2",
        "model=transformer:layers=2,hidden=256 layout=tp=2 map=tp=1,dp=0",
        "trace=traces/transformer-8",
        "job=traces/transformer-8@0,2,4,6,1,3,5,7",
        "job=traces/transformer-8@0,1,2,3,4,5,6,7 background=0>1:10GB/s",
    };
    static const char *const networks[] = {"switch:8@50GB/s,1us", "ring:8@100GB/s,500ns",
                                           "switch:4@200GB/s,500ns*switch:2@25GB/s,1us",
                                           "switch:2@200GB/s,500ns*switch:4@25GB/s,1us"};
    static const char *const more[] = {
        "placement=",
        "no-skew",
        "network=alpha-beta",
        "network=flow",
        "noise=lognormal:cv=0.1",
        "seed=7",
        "network-scale=2",
        "compute-scale=0.5",
        "link-scale=acc1=0.5",
        "dim-scale=0=2",
        "rank-delay=1=20us",
        "failures=mtbf=1000h,checkpoint=60s,interval=1h,restart=5min iterations=9",
        "algorithm=ring",
        "host-scale=2",
        "rank-scale=3:compute=0.5",
        "until=100us",
        "overlap-slowdown=1.5",
        "injection=blocking",
        "fold",
        "fold-stages"};
    uint32_t which = below(d, sizeof trained / sizeof *trained);
    snprintf(words, 600, "topology=%s %s", networks[below(d, 4)], trained[which]);
    for (uint32_t i = 0; i < sizeof more / sizeof *more; i++)
        if (below(d, 8) == 0)
            snprintf(words + strlen(words), 600 - strlen(words), " %s%s", more[i], i ? "" : trace);
}

static void runs_are_what_they_are_alone(void **state)
{
    static member all[ALIVE];
    dice d = {.seed = 1};
    rlt_shared pool = {.note = NULL};
    uint32_t ran = 0, refused = 0;
    static const char place[] = "{\"ranks\": [7, 5, 3, 1, 0, 2, 4, 6]}";
    int fd = mkstemp(trace);
    (void)state;
    assert_true(fd >= 0 && write(fd, place, sizeof place - 1) > 0 && close(fd) == 0);
    for (uint32_t c = 0; c < CASES; c++) {
        member *m = &all[below(&d, ALIVE)];
        char words[600];
        rlt_error err = {0}, alone = {0};
        rlt_outcome o = {0};
        asked a;
        if (m->texts.n)
            leave(m);
        draw(&d, words);
        int rc = enter(m, &pool, RLT_EXPERIMENT_RUN, words, &err);
        if (!rc)
            rc = rlt_prepared_run(&m->prepared, NULL, RLT_FIGURE_LINKS_NONE, NULL, &o, &err);
        int expected = go(&a, words, &alone);
        if (expected == RLT_ECANCELLED && rlt_run_was_limited(&a.run, expected))
            expected = 0;
        if (rc != expected)
            fail_msg("%s: %d (%s: %s), alone %d (%s: %s)", words, rc, err.where, err.what, expected,
                     alone.where, alone.what);
        if (rc)
            assert_string_equal(err.what, alone.what);
        else
            compare(words, &o, &a.run);
        *(rc ? &refused : &ran) += 1;
        done(&a);
        rlt_outcome_free(&o);
        if (rc)
            leave(m);
    }
    assert_true(ran > 3 * refused && refused > 0);
    for (uint32_t i = 0; i < ALIVE; i++)
        if (all[i].texts.n)
            leave(&all[i]);
    rlt_shared_free(&pool);
    unlink(trace);
}

/* Every figure of a collective, from its row alone. Prepared first, so that the pool finds the cuts. */
static void collectives_are_what_they_are_alone(void **state)
{
    static const char *const rows[] = {
        "topology=switch:8@50GB/s,1us collective=all_reduce bytes=1MB algorithm=ring",
        "topology=switch:8@50GB/s,1us collective=all_reduce bytes=2MB algorithm=tree",
        "topology=switch:8@50GB/s,1us collective=all_to_all bytes=2MB",
        "topology=switch:4@200GB/s,500ns*switch:2@25GB/s,1us collective=broadcast bytes=1MB root=3",
        "topology=switch:6@100Gbps,1us,in_network=reduce+multicast collective=all_reduce bytes=300KB algorithm=switchml",
        "topology=switch:6@100Gbps,1us,in_network=reduce+multicast collective=all_reduce bytes=200KB algorithm=ps-switch workers=5",
        "topology=switch:8@100Gbps,1us,in_network=reduce+multicast collective=all_reduce bytes=300KB algorithm=atp workers=3 "
        "tenants=2 set=switch.slots=16",
        "topology=switch:8@100Gbps,1us,in_network=reduce+multicast collective=all_reduce bytes=300KB algorithm=switchml "
        "set=loss=0.01",
    };
    rlt_shared pool = {.note = NULL};
    uint32_t servers = 0, again = 0, tenants = 0;
    (void)state;
    for (uint32_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const char *words = rows[i / 2];
        static const struct {
            rlt_figure f;
            size_t at;
            bool count;
        } of[] = {
            {RLT_FIG_BYTES, offsetof(rlt_coll_result, offered), true},
            {RLT_FIG_BUSBW, offsetof(rlt_coll_result, busbw_GBps), false},
            {RLT_FIG_FAIRNESS, offsetof(rlt_coll_result, fairness), false},
            {RLT_FIG_RETRANSMISSIONS, offsetof(rlt_coll_result, retransmissions), true},
            {RLT_FIG_FALLBACK, offsetof(rlt_coll_result, fallback), false},
            {RLT_FIG_PEAK, offsetof(rlt_coll_result, peak), true},
            {RLT_FIG_MEAN, offsetof(rlt_coll_result, mean), false},
            {RLT_FIG_SERVER_BYTES, offsetof(rlt_coll_result, server_bytes), true},
            {RLT_FIG_COLLIDED, offsetof(rlt_coll_result, collided), false},
        };
        rlt_error err = {0};
        rlt_outcome o = {0};
        member m;
        test_ask a;
        rlt_coll_one one = {.ask = NULL};
        if (enter(&m, &pool, RLT_EXPERIMENT_COLL, words, &err) ||
            rlt_prepared_run(&m.prepared, NULL, RLT_FIGURE_LINKS_NONE, NULL, &o, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        test_ask_open(&a, words, false);
        assert_int_equal(rlt_coll_one_open(&one, &a.ask, 0, 0, &err), 0);
        assert_int_equal(rlt_coll_one_simulate(&one, NULL, &err), 0);
        const rlt_coll_result *r = &one.result;
        assert_true(has(&o, RLT_FIG_TIME, (double)r->time_ps) && has(&o, RLT_FIG_EVENTS, (double)r->events) &&
                    has(&o, RLT_FIG_MESSAGES, (double)r->messages) &&
                    has(&o, RLT_FIG_BOUND, (double)r->bound_ps));
        assert_true(has(&o, RLT_FIG_BUSIEST, r->busiest.utilization));
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            const rlt_value *v = (const rlt_value *)(const void *)((const char *)r + of[k].at);
            double value = of[k].count ? (double)v->count : v->real;
            if (v->absent ? o.there[of[k].f] : !has(&o, of[k].f, value))
                fail_msg("%s: %s", words, rlt_figure_infos[of[k].f].name);
        }
        servers += !r->server_bytes.absent && r->server_bytes.count > 0;
        again += !r->retransmissions.absent && r->retransmissions.count > 0;
        tenants += !r->fairness.absent;
        rlt_coll_one_end(&one);
        test_ask_free(&a);
        rlt_outcome_free(&o);
        leave(&m);
    }
    assert_true(servers && again && tenants);
    rlt_shared_free(&pool);
}

/* Inputs that a pool has loaded. */
typedef struct loads {
    char last[100];
    uint32_t n;
} loads;

static int count(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    loads *l = ctx;
    (void)hash;
    (void)err;
    snprintf(l->last, sizeof l->last, "%s %.80s", what, path);
    l->n++;
    return 0;
}

static int stop(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    (void)ctx;
    (void)hash;
    return rlt_fail(err, RLT_EIO, path, "%s is not wanted", what);
}

/* Whether an experiment of these words loads inputs, such as "topology switch:2@1GB/s,0ns"; "": none. */
static void loads_now(rlt_shared *s, rlt_experiment_kind kind, const char *words, const char *input)
{
    loads *l = s->ctx;
    rlt_error err = {0};
    member *m = malloc(sizeof *m);
    uint32_t before = l->n;
    assert_non_null(m);
    if (enter(m, s, kind, words, &err))
        fail_msg("%s: %s: %s", words, err.where, err.what);
    assert_int_equal(l->n - before, *input ? 1 : 0);
    if (*input)
        assert_string_equal(l->last, input);
    leave(m);
    free(m);
}

/* 256 networks that nothing uses are kept. One more drops the one that was unused for longest; those in use stay. */
static void networks_come_and_go(void **state)
{
    enum { KEPT = 256 };
    loads l = {.n = 0};
    rlt_shared s = {.note = count, .ctx = &l};
    rlt_error err = {0};
    member *used = malloc(sizeof *used);
    char words[200], input[100];
    (void)state;
    assert_non_null(used);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 1; i <= KEPT; i++) {
            snprintf(words, sizeof words, "topology=switch:2@%uMB/s,0ns model=transformer:layers=1,hidden=64",
                     i);
            snprintf(input, sizeof input, "topology switch:2@%uMB/s,0ns", i);
            loads_now(&s, RLT_EXPERIMENT_RUN, words, round ? "" : input);
        }
    assert_int_equal(s.nets.n, KEPT);
    assert_int_equal(s.works.n, 1); /* one workload for all of them */
    assert_int_equal(enter(used, &s, RLT_EXPERIMENT_RUN,
                           "topology=switch:2@1MB/s,0ns model=transformer:layers=1,hidden=64", &err),
                     0);
    for (uint32_t i = 1; i <= 3; i++) { /* drop those with 2, 3 and 4 MB/s */
        snprintf(words, sizeof words, "topology=switch:2@%uGB/s,0ns model=transformer:layers=1,hidden=64", i);
        snprintf(input, sizeof input, "topology switch:2@%uGB/s,0ns", i);
        loads_now(&s, RLT_EXPERIMENT_RUN, words, input);
    }
    assert_int_equal(s.nets.n, KEPT);
    for (uint32_t i = 1; i <= 5; i++) {
        bool dropped = i > 1; /* each that comes back drops the next */
        snprintf(words, sizeof words, "topology=switch:2@%uMB/s,0ns model=transformer:layers=1,hidden=64", i);
        snprintf(input, sizeof input, "topology switch:2@%uMB/s,0ns", i);
        loads_now(&s, RLT_EXPERIMENT_RUN, words, dropped ? input : "");
    }
    leave(used);
    free(used);
    rlt_shared_free(&s);
}

/* As many workloads are kept. A run that is alone in using one keeps it, until it leaves. */
static void workloads_come_and_go(void **state)
{
    enum { KEPT = 256, MORE = 9 };
    loads l = {.n = 0};
    rlt_shared s = {.note = count, .ctx = &l};
    member *used = malloc(MORE * sizeof *used);
    rlt_error err = {0};
    char words[200];
    (void)state;
    assert_non_null(used);
    for (uint32_t i = 0; i < KEPT + MORE; i++) {
        snprintf(words, sizeof words, "topology=switch:2@1GB/s,0ns model=transformer:layers=1,hidden=%u",
                 64 * (i + 1));
        loads_now(&s, RLT_EXPERIMENT_RUN, words, i ? "" : "topology switch:2@1GB/s,0ns");
        assert_int_equal(s.works.n, i < KEPT ? i + 1 : KEPT);
        assert_true(rlt_shared_has_room(&s));
    }
    for (uint32_t i = 0; i < MORE; i++) {
        snprintf(words, sizeof words, "topology=switch:2@1GB/s,0ns model=transformer:layers=2,hidden=%u",
                 64 * (i + 1));
        assert_int_equal(enter(&used[i], &s, RLT_EXPERIMENT_RUN, words, &err), 0);
        assert_int_equal(s.works.n, KEPT);
    }
    for (uint32_t i = 0; i < MORE; i++)
        leave(&used[i]);
    free(used);
    rlt_shared_free(&s);
}

/* The same for 64 files of collectives. A file is read once for all algorithms, and once more for another root. */
static void files_come_and_go(void **state)
{
    enum { KEPT = 64 };
    loads l = {.n = 0};
    rlt_shared s = {.note = count, .ctx = &l};
    char folder[] = "/tmp/ringlet-shared-XXXXXX", paths[KEPT + 1][60], words[300], input[100];
    static const char net[] = "topology=switch:4@1GB/s,0ns collective=gather";
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i <= KEPT; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%u", folder, i);
        FILE *f = fopen(paths[i], "w");
        assert_non_null(f);
        assert_true(fputs("1000 2000 3 4\n", f) >= 0 && fclose(f) == 0);
    }
    snprintf(words, sizeof words, "%s bytes=1MB", net);
    loads_now(&s, RLT_EXPERIMENT_COLL, words, "topology switch:4@1GB/s,0ns");
    for (uint32_t i = 0; i < 2 * KEPT; i++) {
        snprintf(words, sizeof words, "%s counts=%s algorithm=%s", net, paths[i % KEPT],
                 i < KEPT ? "direct" : "auto");
        snprintf(input, sizeof input, "counts %s", paths[i % KEPT]);
        loads_now(&s, RLT_EXPERIMENT_COLL, words, i < KEPT ? input : "");
    }
    assert_int_equal(s.files.n, KEPT);
    for (uint32_t i = 0; i < 3; i++) { /* drops the first; comes back, and drops the second */
        static const uint32_t which[] = {KEPT, 0, 2};
        snprintf(words, sizeof words, "%s counts=%s", net, paths[which[i]]);
        snprintf(input, sizeof input, "counts %s", paths[which[i]]);
        loads_now(&s, RLT_EXPERIMENT_COLL, words, i < 2 ? input : "");
    }
    snprintf(words, sizeof words, "%s counts=%s root=2", net, paths[2]);
    snprintf(input, sizeof input, "counts %s", paths[2]);
    loads_now(&s, RLT_EXPERIMENT_COLL, words, input);
    assert_int_equal(s.files.n, KEPT);
    rlt_shared_free(&s);
    for (uint32_t i = 0; i <= KEPT; i++)
        unlink(paths[i]);
    rmdir(folder);
}

/* What has ended holds nothing, so that a second end releases nothing more. */
static void an_end_is_the_last(void **state)
{
    static const struct {
        rlt_experiment_kind kind;
        const char *words;
    } rows[] = {{RLT_EXPERIMENT_RUN, "topology=switch:8@1GB/s,0ns trace=traces/transformer-8"},
                {RLT_EXPERIMENT_COLL, "topology=switch:4@1GB/s,0ns collective=gather bytes=1MB"},
                {RLT_EXPERIMENT_COLL, "topology=switch:4@1GB/s,0ns collective=gather counts=FILE"}};
    char path[] = "/tmp/ringlet-shared-XXXXXX", words[200];
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0 && write(fd, "1000 2000 3 4\n", 14) == 14 && close(fd) == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_shared s = {.note = NULL};
        rlt_error err = {0};
        member m;
        const char *file = strstr(rows[i].words, "FILE");
        snprintf(words, sizeof words, "%.*s%s", file ? (int)(file - rows[i].words) : 200, rows[i].words,
                 file ? path : "");
        if (enter(&m, &s, rows[i].kind, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        const rlt_prepared held = m.prepared;
        assert_int_equal(held.net != NULL, 1);
        assert_int_equal(held.work != NULL, i == 0);
        assert_int_equal(held.files != NULL, i == 2);
        for (int k = 0; k < 2; k++) {
            rlt_prepared_end(&m.prepared);
            assert_true(!m.prepared.net && !m.prepared.work && !m.prepared.files);
            assert_int_equal(held.net->kept.refs, 0);
            assert_true(!held.work || held.work->kept.refs == 0);
            assert_true(!held.files || held.files->kept.refs == 0);
        }
        leave(&m);
        rlt_shared_free(&s);
    }
    unlink(path);
}

static void an_input_that_is_not_wanted(void **state)
{
    rlt_shared s = {.note = stop};
    rlt_error err = {0};
    member m;
    (void)state;
    assert_int_equal(
        enter(&m, &s, RLT_EXPERIMENT_RUN, "topology=switch:8@1GB/s,0ns trace=traces/transformer-8", &err),
        RLT_EIO);
    assert_string_equal(err.what, "topology is not wanted");
    assert_int_equal(s.nets.n, 0);
    leave(&m);
    rlt_shared_free(&s);
}

static int stop_placements(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    return strcmp(what, "placement") == 0 ? stop(ctx, what, path, hash, err) : 0;
}

static int stop_traces(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    return strcmp(what, "trace") == 0 ? stop(ctx, what, path, hash, err) : 0;
}

/* A trace is an input of the workload, noted once it is read. Without it no workload is kept. */
static void a_trace_that_is_not_wanted(void **state)
{
    static const char words[] = "topology=switch:8@1GB/s,0ns trace=traces/transformer-8";
    rlt_shared s = {.note = stop_traces};
    rlt_error err = {0};
    member m;
    (void)state;
    assert_int_equal(enter(&m, &s, RLT_EXPERIMENT_RUN, words, &err), RLT_EIO);
    assert_string_equal(err.what, "trace is not wanted");
    assert_int_equal(s.works.n, 0);
    leave(&m);
    rlt_shared_free(&s);
}

/* A placement is an input of the network: it is noted after the topology. */
static void a_placement_that_is_not_wanted(void **state)
{
    static const char places[] = "{\"ranks\": [1, 0]}";
    char path[] = "/tmp/ringlet-places-XXXXXX", words[200];
    rlt_shared s = {.note = stop_placements};
    rlt_error err = {0};
    member m;
    (void)state;
    test_write_new(path, places, sizeof places - 1);
    snprintf(words, sizeof words,
             "topology=switch:2@1GB/s,0ns model=transformer:layers=1,hidden=64 placement=%s", path);
    assert_int_equal(enter(&m, &s, RLT_EXPERIMENT_RUN, words, &err), RLT_EIO);
    assert_string_equal(err.where, path);
    assert_string_equal(err.what, "placement is not wanted");
    assert_int_equal(s.nets.n, 0);
    leave(&m);
    s.note = NULL;
    assert_int_equal(enter(&m, &s, RLT_EXPERIMENT_RUN, words, &(rlt_error){0}), 0);
    leave(&m);
    rlt_shared_free(&s);
    unlink(path);
}

/* Which options belong to the network, the workload and the files of a collective. */
static void owners_of_options(void **state)
{
    (void)state;
    assert_true(rlt_shared_is_of_net("topology") && rlt_shared_is_of_net("placement"));
    assert_false(rlt_shared_is_of_net("network") || rlt_shared_is_of_net("seed"));
    assert_true(rlt_shared_is_of_work("trace") && rlt_shared_is_of_work("layout"));
    assert_false(rlt_shared_is_of_work("seed") || rlt_shared_is_of_work("topology"));
    assert_true(rlt_shared_is_of_files("counts") && rlt_shared_is_of_files("root"));
    assert_false(rlt_shared_is_of_files("algorithm") || rlt_shared_is_of_files("topology"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_what_they_are_alone), cmocka_unit_test(collectives_are_what_they_are_alone),
        cmocka_unit_test(networks_come_and_go),         cmocka_unit_test(files_come_and_go),
        cmocka_unit_test(an_end_is_the_last),           cmocka_unit_test(workloads_come_and_go),
        cmocka_unit_test(an_input_that_is_not_wanted),  cmocka_unit_test(a_placement_that_is_not_wanted),
        cmocka_unit_test(a_trace_that_is_not_wanted),   cmocka_unit_test(owners_of_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
