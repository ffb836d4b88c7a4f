/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run of three ranks, worked out by hand under every option that changes its time. Rank 0 computes 3 us
 * and sends 4 kB; rank 1 computes 2 us and sends 2 kB; rank 2 computes 1 us. Links of 1 GB/s and 500 ns,
 * two on each path: 3 + (4 + 1) + 2 + (2 + 1) + 1 = 14 us
 */
#include "workload/experiment/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/network.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/run_words.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/traces/kineto_events.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/workload.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/background.h"
#include "workload/replay/replay.h"

static const char chain[] = "num_ranks 3\n"
                            "rank 0 {\nl1: calc 3000\nl2: send 4000b to 1 tag 5\nl2 requires l1\n}\n"
                            "rank 1 {\nl1: recv 4000b from 0 tag 5\nl2: calc 2000\nl2 requires l1\n"
                            "l3: send 2000b to 2 tag 6\nl3 requires l2\n}\n"
                            "rank 2 {\nl1: recv 2000b from 1 tag 6\nl2: calc 1000\nl2 requires l1\n}\n";

#define STAR "topology=switch:3@1GB/s,500ns "
#define HERE STAR "trace=TRACE "

static void times_by_hand(void **state)
{
    static const struct {
        const char *words;
        rlt_time ns;
    } rows[] = {
        {HERE, 14000},
        {HERE "network=alpha-beta", 14000},
        {HERE "compute-scale=2", 11000}, /* 1.5 + 1 + 0.5 us of compute */
        {HERE "compute-scale=0.5", 20000},
        {HERE "host-scale=2", 14000},
        {HERE "network-scale=2", 10000}, /* (2 + 0.5) and (1 + 0.5) us */
        {HERE "rank-scale=1:compute=0.5", 16000},
        {HERE "rank-scale=1:compute=0.5 rank-scale=2:compute=4", 15250},
        {HERE "rank-scale=1:host=0.5", 14000},
        {HERE "compute-scale=2 rank-scale=0:compute=0.5", 12500},
        {HERE "rank-delay=0=7us", 21000},
        {HERE "rank-delay=1=6us", 14000}, /* its message comes at 8 us */
        {HERE "rank-delay=1=9us rank-delay=2=1us", 15000},
        {HERE "rank-delay=1=9us no-skew", 15000},
        {HERE "link-event=4us:acc0=0.5", 17000}, /* 3 kB left at half the rate: 3 us more */
        {HERE "link-event=4us:acc0=0 link-event=9us:acc0=1", 19000},      /* waits for 5 us */
        {HERE "link-event=11us:acc1=0.25 link-event=20us:acc1=1", 17000}, /* 1 kB at a quarter */
        {HERE "link-scale=acc0=0.5", 18000},
        {HERE "dim-scale=0=2", 11000},
        {STAR "trace=TRACE algorithm=ring", 14000},
        {"topology=ring:4@1GB/s,500ns trace=TRACE",
         19000}, /* one link on each path, of 500 MB/s: half of a rank */
        {"topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3-5", 14000},
        {"topology=switch:6@1GB/s,500ns job=TRACE@5,1,3", 14000},
        {"topology=ring:6@1GB/s,500ns job=TRACE@1,2,3", 19000},
        {"topology=ring:6@1GB/s,500ns job=TRACE@0,2,4", 20000}, /* two links on each path */
        {"topology=ring:6@1GB/s,500ns job=TRACE@1,3,0", 20500}, /* two, and three */
        {"topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3-5 rank-delay=3=5us", 19000},
        {"topology=switch:6@1GB/s,500ns job=TRACE@0-2 job=TRACE@3-5 rank-scale=5:compute=0.1", 23000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        int rc = go(&a, rows[i].words, &err);
        if (rc || rlt_replay_time(a.run.replay) != rows[i].ns * RLT_NS)
            fail_msg("%s: %d: %lld ps, %s: %s", rows[i].words, rc,
                     rc ? 0 : (long long)rlt_replay_time(a.run.replay), err.where, err.what);
        done(&a);
    }
}

/* The accounts of each rank: compute, waiting for messages, idle. */
static void accounts_by_hand(void **state)
{
    static const struct {
        rlt_time compute_ns, end_ns;
    } ranks[3] = {{3000, 7000}, {2000, 12000}, {1000, 14000}};
    asked a;
    rlt_error err;
    (void)state;
    assert_int_equal(go(&a, HERE, &err), 0);
    assert_int_equal(a.run.last_rank, 2);
    assert_int_equal(rlt_run_end(&a.run), 14 * RLT_US);
    for (uint32_t i = 0; i < 3; i++) {
        rlt_rank_result k = rlt_replay_rank(a.run.replay, i);
        assert_int_equal(k.compute_ps, ranks[i].compute_ns * RLT_NS);
        if (k.end_ps != ranks[i].end_ns * RLT_NS)
            fail_msg("rank %u ends at %lld ps", i, (long long)k.end_ps);
    }
    assert_false(a.run.partial);
    done(&a);
}

/* Each job alone: its own time, without the others, and without traffic. */
static void jobs_alone(void **state)
{
    asked a;
    rlt_error err;
    (void)state;
    /* Both jobs send from accelerator 0's neighbours to one switch; job 1's rank 0 is on 1, as fast as
     * ever alone. */
    assert_int_equal(
        go(&a,
           "topology=switch:6@1GB/s,500ns job=TRACE@0,1,2 job=TRACE@3,4,5 alone background=0>1:1GB/s,size=1000B "
           "rank-scale=3:compute=0.5",
           &err),
        0);
    assert_int_equal(rlt_jobs_alone(&a.run, &err), 0);
    assert_int_equal(a.run.jobs.n, 2);
    assert_int_equal(a.run.jobs.alone_ps[0], 14 * RLT_US);
    assert_int_equal(a.run.jobs.alone_ps[1], 17 * RLT_US); /* its rank 0 is half as fast */
    assert_true(rlt_jobs_time(&a.run, 0) > 14 * RLT_US);   /* the traffic takes its share of 0>1 */
    assert_int_equal(rlt_jobs_time(&a.run, 1), 17 * RLT_US);
    done(&a);
}

/* --until stops at a time; what was done until then counts. */
static void stopped_at_a_time(void **state)
{
    asked a;
    rlt_error err;
    (void)state;
    int rc = go(&a, HERE "until=9us", &err);
    assert_int_equal(rc, RLT_ECANCELLED);
    assert_true(a.run.partial && rlt_run_was_limited(&a.run, rc));
    assert_false(rlt_run_was_limited(&a.run, RLT_EIO));
    assert_true(rlt_run_end(&a.run) <= 9 * RLT_US);
    done(&a);
    assert_int_equal(go(&a, HERE "until=14us", &err), 0);
    assert_int_equal(rlt_replay_time(a.run.replay), 14 * RLT_US);
    done(&a);
}

/* Flows from each accelerator of a list to one of the other, with sizes of 10 us of the rate, from 4 KiB
 * to 1 MiB. */
static void other_traffic(void **state)
{
    static const struct {
        const char *words;
        uint32_t n, src[4], dst[4];
        rlt_background like;
    } rows[] = {
        {"background=0>1:1GB/s", 1, {0}, {1}, {.rate_Bps = 1000000000, .bytes = 10000}},
        {"background=0>1:rate=1GB/s", 1, {0}, {1}, {.rate_Bps = 1000000000, .bytes = 10000}},
        {"background=0>1:409600000B/s", 1, {0}, {1}, {.rate_Bps = 409600000, .bytes = 4096}},
        {"background=0>1:1MB/s", 1, {0}, {1}, {.rate_Bps = 1000000, .bytes = 4096}},
        {"background=0>1:104GB/s", 1, {0}, {1}, {.rate_Bps = 104000000000, .bytes = 1040000}},
        {"background=0>1:105GB/s", 1, {0}, {1}, {.rate_Bps = 105000000000, .bytes = 1048576}},
        {"background=0>1:1GB/s,size=1B", 1, {0}, {1}, {.rate_Bps = 1000000000, .bytes = 1}},
        {"background=2>0:1GB/s,size=5KB,on=1us,off=3us",
         1,
         {2},
         {0},
         {.rate_Bps = 1000000000, .bytes = 5000, .on_ps = 1000000, .off_ps = 3000000}},
        {"background=0-2>3:1GB/s", 3, {0, 1, 2}, {3, 3, 3}, {.rate_Bps = 1000000000, .bytes = 10000}},
        {"background=5>0,1,4:1GB/s", 3, {5, 5, 5}, {0, 1, 4}, {.rate_Bps = 1000000000, .bytes = 10000}},
        {"background=0-1>5,3:1GB/s", 2, {0, 1}, {5, 3}, {.rate_Bps = 1000000000, .bytes = 10000}},
        {"background=5>4:1GB/s background=0>5:1GB/s",
         2,
         {5, 0},
         {4, 5},
         {.rate_Bps = 1000000000, .bytes = 10000}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        char words[200];
        snprintf(words, sizeof words, "topology=switch:6@1GB/s,500ns trace=TRACE %s", rows[i].words);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", rows[i].words, err.where, err.what);
        assert_int_equal(a.run.jobs.n_background, rows[i].n);
        const rlt_placement *p = &a.run.jobs.placement;
        for (uint32_t k = 0; k < rows[i].n; k++) {
            const rlt_background *b = &a.run.jobs.background[k];
            if (rlt_placed(p, b->src) != rows[i].src[k] || rlt_placed(p, b->dst) != rows[i].dst[k] ||
                b->bytes != rows[i].like.bytes || b->rate_Bps != rows[i].like.rate_Bps ||
                b->on_ps != rows[i].like.on_ps || b->off_ps != rows[i].like.off_ps)
                fail_msg("%s: flow %u from %u to %u, %llu B", rows[i].words, k, b->src, b->dst,
                         (unsigned long long)b->bytes);
        }
        done(&a);
    }
}

/* The critical path is the whole run: two transfers of 5 and 3 us, and 3 + 2 + 1 us of work. The first link carries
 * 4 kB in 14 us, and so does its counterpart. */
static void path_by_hand(void **state)
{
    static const struct {
        const char *words;
        rlt_time compute_us, transfer_us, start_us;
        const char *verdict;
    } rows[] = {
        {HERE, 6, 8, 0,
         "transfers take 57.1 % of the critical path; the busiest link, dim 0 switch x 2, is used to 28.6 %"},
        {HERE "compute-scale=0.5", 12, 8, 0,
         "compute takes 60.0 % of the critical path, transfers 40.0 %; the busiest link, dim 0 switch x 2, is used to 20.0 %"},
        {HERE "rank-delay=0=18us", 6, 8, 18,
         "start skew takes 56.2 % of the critical path, transfers 25.0 %; the busiest link, dim 0 switch x 2, is used to 12.5 %"},
        {HERE "network-scale=4", 6, 2, 0,
         "compute takes 75.0 % of the critical path, transfers 25.0 %; the busiest link, dim 0 switch x 2, is used to 12.5 %"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        rlt_path_sum p;
        char verdict[300];
        if (go(&a, rows[i].words, &err) || rlt_run_path(&a.run, &p, &err) ||
            rlt_run_verdict(&a.run, verdict, sizeof verdict, &err))
            fail_msg("%s: %s: %s", rows[i].words, err.where, err.what);
        assert_string_equal(verdict, rows[i].verdict);
        rlt_time all = rows[i].compute_us + rows[i].transfer_us + rows[i].start_us;
        assert_int_equal(p.total_ps, all * RLT_US);
        assert_int_equal(p.by_kind_ps[RLT_PATH_COMPUTE], rows[i].compute_us * RLT_US);
        assert_int_equal(p.by_kind_ps[RLT_PATH_TRANSFER], rows[i].transfer_us * RLT_US);
        assert_int_equal(p.by_kind_ps[RLT_PATH_START], rows[i].start_us * RLT_US);
        assert_int_equal(p.by_coll_ps[RLT_SEND_RECV], rows[i].transfer_us * RLT_US);
        assert_int_equal(p.by_coll[RLT_SEND_RECV], 2);
        rlt_path_sum_free(&p);
        assert_null(p.items);
        done(&a);
    }
}

/* Accounts that do not balance are found; the bounds of messages are there unless nobody asks for them. */
static void checks(void **state)
{
    asked a;
    rlt_error err;
    (void)state;
    for (int unbounded = 0; unbounded < 2; unbounded++) {
        err = (rlt_error){0};
        assert_int_equal(read_words(&a, HERE "no-skew", &err), 0);
        a.run.args = &a.args;
        a.run.settings = &a.settings;
        a.run.unbounded = unbounded;
        assert_int_equal(rlt_run_load(&a.run, &err), 0);
        assert_int_equal(rlt_run_prepare(&a.run, &err), 0);
        assert_true(a.run.options.no_skew);
        assert_int_equal(rlt_run_simulate(&a.run, &err), 0);
        /* 4000 bytes at 1 GB/s, behind two links of 500 ns */
        rlt_time bound = rlt_replay_comm(a.run.replay, 0).bound_ps;
        assert_true(unbounded ? bound == 0 : bound > 0 && bound <= 5000000);
        assert_int_equal(rlt_run_check(&a.run, NULL, &err), 0);
        rlt_net *net = (rlt_net *)(uintptr_t)rlt_replay_net(a.run.replay);
        net->bytes_offered++;
        assert_int_equal(rlt_run_check(&a.run, NULL, &err), RLT_ECHECK);
        net->bytes_offered--;
        done(&a);
    }
    assert_int_equal(go(&a, HERE, &err), 0);
    assert_false(a.run.options.no_skew);
    for (uint32_t i = 0; i < 3; i++) {
        char what[100];
        a.run.causes[i].ps[0]++;
        err = (rlt_error){0};
        assert_int_equal(rlt_run_check(&a.run, NULL, &err), RLT_ECHECK);
        snprintf(what, sizeof what, "rank %u: the causes of its time do not sum to the time of the run", i);
        assert_string_equal(err.what, what);
        a.run.causes[i].ps[0]--;
    }
    assert_int_equal(rlt_run_check(&a.run, NULL, &err), 0);
    done(&a);
}

/* Traces are those of --trace, then those of the operands: any of them may be the only one. */
static void traces_and_operands(void **state)
{
    (void)state;
    const char *const given[] = {trace};
    char *operands[] = {trace, trace};
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    for (uint32_t n = 0; n < 2; n++)
        for (uint32_t k = 0; k < 3; k++) {
            rlt_run_settings s = {.trace = {.items = (const char **)(uintptr_t)given, .n = n}};
            rlt_program *p = NULL;
            rlt_error err = {0};
            int rc = rlt_workload_trace(&s, operands, k, &o, &p, &err);
            /* A GOAL file has all ranks, so several are refused. */
            assert_int_equal(rc == 0, n + k == 1);
            assert_true(rc || p->n_ranks == 3);
            rlt_program_free(p);
        }
}

/* The time of an event has 39 characters at most. */
static void long_events(void **state)
{
    asked a;
    rlt_error err;
    (void)state;
    assert_int_equal(go(&a, HERE "link-event=0000000000000000000000000000000000004us:acc0=0.5", &err), 0);
    assert_int_equal(rlt_replay_time(a.run.replay), 17 * RLT_US);
    done(&a);
    assert_int_equal(go(&a, HERE "link-event=00000000000000000000000000000000000004us:acc0=0.5", &err),
                     RLT_EUSAGE);
    assert_non_null(strstr(err.what, "expected TIME:LINK=X"));
    done(&a);
    assert_int_equal(go(&a, HERE "link-event=4us:acc0=1e6", &err), 0);
    done(&a);
}

static void wrong_words(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *text; /* in "where: what" */
    } rows[] = {
        {STAR, RLT_EUSAGE, ""},
        {HERE "rank-scale=3:compute=2", RLT_EUSAGE, "--rank-scale: expected a rank from 0 to 2, got 3"},
        {HERE "rank-scale=1:memory=2", RLT_EUSAGE,
         "expected RANK:host=X or RANK:compute=X, got '1:memory=2'"},
        {HERE "rank-scale=1=2", RLT_EUSAGE, "expected RANK:host=X"},
        {HERE "rank-scale=1:host=0", RLT_EUSAGE, "expected a speed above 0 for rank 1 (of 3)"},
        {HERE "rank-delay=3=1us", RLT_EUSAGE, "--rank-delay: expected a rank from 0 to 2, got 3"},
        {HERE "rank-delay=0=soon", RLT_EUSAGE, "--rank-delay"},
        {HERE "host-scale=0", RLT_EUSAGE, "expected speeds above 0"},
        {HERE "compute-scale=-1", RLT_EUSAGE, ""},
        {HERE "network-scale=0", RLT_EUSAGE, "expected speeds above 0"},
        {HERE "until=0s", RLT_EUSAGE, "--until: expected a time above 0"},
        {HERE "timing=astra", RLT_EUSAGE, "--timing astra: needs --astra-system"},
        {HERE "astra-system=x.json", RLT_EUSAGE, "--astra-system: needs --timing astra"},
        {HERE "link-event=5us:acc9=0", RLT_EUSAGE, "--link-event"},
        {HERE "link-event=acc0=0", RLT_EUSAGE,
         "--link-event: expected TIME:LINK=X, such as 5ms:acc3=0.5, got 'acc0=0'"},
        {HERE "link-event=5us:acc0=1000001", RLT_EUSAGE, "expected a factor of at most 1e6"},
        {HERE "iterations=5", RLT_EUSAGE, "--iterations: needs --failures"},
        {HERE "failures=mtbf=10h", RLT_EUSAGE, "--failures: needs --iterations"},
        {HERE "alone", RLT_EUSAGE, "--alone: needs --job"},
        {HERE "job=TRACE@0-2", RLT_EUSAGE, "accelerator 0 already has rank 0"},
        {"topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3-4", RLT_EUSAGE,
         "has 3 ranks, but 2 accelerators are listed"},
        {"topology=switch:6@1GB/s,500ns job=TRACE@3-6", RLT_EUSAGE,
         "expected an accelerator from 0 to 5, got 6"},
        {"topology=switch:6@1GB/s,500ns job=TRACE@5-3", RLT_EUSAGE, "'5-3' counts down"},
        {"topology=switch:6@1GB/s,500ns job=@3-5", RLT_EUSAGE, "expected WORKLOAD@ACCELERATORS"},
        {"topology=switch:6@1GB/s,500ns job=TRACE", RLT_EUSAGE, "expected WORKLOAD@ACCELERATORS"},
        {HERE "background=0>0:1GB/s", RLT_EUSAGE, "traffic from accelerator 0 to itself"},
        {HERE "background=0-1>0-2:1GB/s", RLT_EUSAGE, "2 sources for 3 destinations"},
        {HERE "background=0>1", RLT_EUSAGE, "expected FROM>TO:RATE"},
        {HERE "background=0>1:1GB/s,on=1us", RLT_EUSAGE, "expected both on and off, or neither"},
        {HERE "background=0>1:size=1KB", RLT_EUSAGE, ""},
        {"topology=switch:2@1GB/s,500ns trace=TRACE", 0, "3"},
        {HERE "accelerator=h100-sxm", RLT_EUSAGE, "--accelerator: needs --model"},
        {HERE "layout=dp=3", RLT_EUSAGE, "--fold-stages need --model"},
        {HERE "train=batch=3", RLT_EUSAGE, "--fold-stages need --model"},
        {HERE "strategy=zero", RLT_EUSAGE, "--fold-stages need --model"},
        {HERE "map=dp:0", RLT_EUSAGE, "--fold-stages need --model"},
        {HERE "any-memory", RLT_EUSAGE, "--fold-stages need --model"},
        {HERE "fold-stages", RLT_EUSAGE, "--fold-stages need --model"},
        {STAR "fold", RLT_EUSAGE, "--fold that or --trace"},
        {HERE "verify-fold", RLT_EUSAGE, "--verify-fold: needs --fold or --fold-stages"},
        {HERE "model=resnet50", RLT_EUSAGE, "--trace: does not go with --model"},
        {STAR "model=resnet50 ideal", RLT_EUSAGE, "--ideal: needs --trace"},
        {STAR "model=resnet50 map=dp:0 placement=0,1,2", RLT_EUSAGE, "--map: places ranks"},
        {STAR "model=resnet50 map=dp:0 layout=order=dp-tp-cp-pp", RLT_EUSAGE, "--map: orders the axes"},
        {STAR "model=resnet50 map=dp:0 train=order=dp-tp-cp-pp", RLT_EUSAGE, "--map: orders the axes"},
        {STAR "model=resnet50 layout=dp=3,dp=3", RLT_EUSAGE, "--layout: "},
        {STAR "model=resnet50 train=batch=3,batch=3", RLT_EUSAGE, "--train: "},
        {STAR "model=resnet50 train=batch=0", RLT_EUSAGE, "--train: "},
        {"topology=switch:6@1GB/s,500ns trace=TRACE job=TRACE@3-5 fold", RLT_EUSAGE,
         "--fold: is for a single workload"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        char all[1600];
        int rc = go(&a, rows[i].words, &err);
        snprintf(all, sizeof all, "%s%s%s", err.where, *err.where ? ": " : "", err.what);
        if (rc >= 0 || (rows[i].code && rc != rows[i].code) || !strstr(all, rows[i].text) || !*err.what)
            fail_msg("%s: %d: %s", rows[i].words, rc, all);
        done(&a);
    }
}

static int write_chain(void **state)
{
    (void)state;
    test_write_new(trace, chain, sizeof chain - 1);
    return 0;
}

static int remove_chain(void **state)
{
    (void)state;
    return unlink(trace);
}

/* A recording whose communication may be in gaps is refused, unless it is replayed as recorded; one whose waits explain
 * it is not. */
static void gaps_of_recordings(void **state)
{
    static const char recording[] =
        "{\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":[" STEP(0, 0, 60)
            OP("aten::mul", 1, 1, 50) LAUNCH(1, 10, 5, 1) LAUNCH(1, 20, 5, 2) LAUNCH(1, 30, 5, 3)
                KERNEL("gemm", 7, 20, 80, 1)
                    EVENT("kernel", "ncclDevKernel_Generic", 0, 20, 100, 5000,
                          ON(20, 2) ",\"Collective name\":\"allreduce\",\"In msg nelems\":1000000,"
                                    "\"dtype\":\"Float\",\"Group size\":2")
                        KERNEL("optimizer", 7, % d, 50, 3) "{\"ph\":\"i\"}]}";
    (void)state;
    for (int gap = 0; gap < 2; gap++) {
        char path[] = "/tmp/ringlet-gaps-XXXXXX.json", words[200];
        rlt_error err;
        asked a;
        FILE *f = fdopen(mkstemps(path, 5), "w");
        assert_non_null(f);
        fprintf(f, recording, gap ? 5900 : 5120);
        assert_int_equal(fclose(f), 0);
        for (int keeps = 0; keeps < 2; keeps++) {
            snprintf(words, sizeof words, "topology=switch:2@50GB/s,1us trace=%s replicate=all=0%s", path,
                     keeps ? " keep-waits" : "");
            int rc = go(&a, words, &err);
            if (rc != (gap && !keeps ? RLT_ECHECK : 0))
                fail_msg("%s: %d: %s: %s", words, rc, err.where, err.what);
            if (rc)
                assert_non_null(
                    strstr(err.what, "5 ms of the recorded 5 ms of exposed communication are in gaps"));
            done(&a);
        }
        assert_int_equal(unlink(path), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_by_hand),
        cmocka_unit_test(accounts_by_hand),
        cmocka_unit_test(jobs_alone),
        cmocka_unit_test(stopped_at_a_time),
        cmocka_unit_test(wrong_words),
        cmocka_unit_test(other_traffic),
        cmocka_unit_test(checks),
        cmocka_unit_test(long_events),
        cmocka_unit_test(path_by_hand),
        cmocka_unit_test(traces_and_operands),
        cmocka_unit_test(gaps_of_recordings),
    };
    return cmocka_run_group_tests(tests, write_chain, remove_chain);
}
