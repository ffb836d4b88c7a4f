/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs and other traffic at random: who is placed where, which ranks and flows follow, and the time of each job, next
 * to the others and alone. Each job is a chain of ranks that compute and send, one after the other; on a switch its
 * time is a sum. What is refused is compared as a whole text.
 */
#include "workload/experiment/run/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/support/dice.h"
#include "test/support/run_words.h"
#include "test/support/text_file.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/replay/background.h"
#include "workload/replay/replay.h"
#include "workload/setup/locate.h"

enum { FILES = 4, LONGEST = 4, ALL = 16, MOST_JOBS = 4, MOST_FLOWS = 40, CASES = 250 };

/* Files of jobs: file i has i + 1 ranks. */
static char files[FILES][28];
static char places[] = "/tmp/ringlet-places-XXXXXX";

static rlt_time work_ns(uint32_t file, uint32_t rank)
{
    return 1000 * (file + 1) + 400 * rank;
}

static uint32_t bytes(uint32_t file, uint32_t rank)
{
    return 700 * (rank + 1) + 10 * file;
}

static int write_files(void **state)
{
    (void)state;
    for (uint32_t f = 0; f < FILES; f++) {
        char text[1000];
        int used = snprintf(text, sizeof text, "num_ranks %u\n", f + 1);
        for (uint32_t r = 0; r <= f; r++) {
            used += snprintf(text + used, sizeof text - (size_t)used, "rank %u {\n", r);
            if (r)
                used += snprintf(text + used, sizeof text - (size_t)used, "l1: recv %ub from %u tag 1\n",
                                 bytes(f, r - 1), r - 1);
            used += snprintf(text + used, sizeof text - (size_t)used, "l2: calc %lld\n%s",
                             (long long)work_ns(f, r), r ? "l2 requires l1\n" : "");
            if (r < f)
                used += snprintf(text + used, sizeof text - (size_t)used,
                                 "l3: send %ub to %u tag 1\nl3 requires l2\n", bytes(f, r), r + 1);
            used += snprintf(text + used, sizeof text - (size_t)used, "}\n");
        }
        snprintf(files[f], sizeof files[f], "/tmp/ringlet-job%u-XXXXXX", f);
        test_write_new(files[f], text, (size_t)used);
    }
    test_write_new(places, "", 0);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    for (uint32_t f = 0; f < FILES; f++)
        unlink(files[f]);
    return unlink(places);
}

/* ---- a case, and what follows from it ---- */

typedef struct plan {
    char words[600];
    uint32_t n_jobs, file[MOST_JOBS + 1]; /* the own one is the first */
    bool own, others, alone;
    uint32_t first[MOST_JOBS + 2];
    uint32_t placed[ALL], n_placed;
    uint32_t src[MOST_FLOWS], dst[MOST_FLOWS], n_flows;
    double speed[ALL]; /* by rank */
    rlt_time delay_ns[ALL];
} plan;

static void say(plan *p, const char *text)
{
    strncat(p->words, text, sizeof p->words - strlen(p->words) - 1);
}

static bool is_placed(const plan *p, uint32_t accelerator)
{
    for (uint32_t i = 0; i < p->n_placed; i++)
        if (p->placed[i] == accelerator)
            return true;
    return false;
}

static uint32_t rank_on(plan *p, uint32_t accelerator)
{
    for (uint32_t i = 0; i < p->n_placed; i++)
        if (p->placed[i] == accelerator)
            return i;
    p->placed[p->n_placed] = accelerator;
    return p->n_placed++;
}

/* "0-3,8": neighbours that count up may stand as a range. */
static void write_list(const uint32_t *list, uint32_t n, dice *d, char *text, size_t size)
{
    int used = 0;
    for (uint32_t i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && list[last + 1] == list[last] + 1 && below(d, 4); last++)
            ;
        used += snprintf(text + used, size - (size_t)used, "%s%u", i ? "," : "", list[i]);
        if (last > i || below(d, 8) == 0)
            used += snprintf(text + used, size - (size_t)used, "-%u", list[last]);
    }
}

/* Different accelerators, often neighbours; `idle`: without ranks. */
static void draw_list(const plan *p, bool idle, uint32_t n, uint32_t *list, dice *d)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i && below(d, 2) ? list[i - 1] + 1 : below(d, ALL);
        bool taken = true;
        while (taken) {
            at = at < ALL ? at : 0;
            taken = idle && is_placed(p, at);
            for (uint32_t k = 0; k < i; k++)
                taken = taken || list[k] == at;
            at += taken;
        }
        list[i] = at;
    }
}

/* The own workload's ranks are placed first; those beyond it wait in `rest`. Returns how many wait. */
static uint32_t draw_own(plan *p, uint32_t *rest, dice *d)
{
    uint32_t n = ALL, list[ALL], ranks = 0;
    char text[120];
    for (uint32_t i = 0; i < ALL; i++)
        list[i] = i;
    p->own = below(d, 3) > 0;
    if (p->own) {
        p->file[p->n_jobs++] = below(d, FILES);
        ranks = p->file[0] + 1;
        snprintf(text, sizeof text, " trace=%s", files[p->file[0]]);
        say(p, text);
    }
    if (below(d, 2)) {
        n = (ranks ? ranks : 1) + below(d, 4);
        draw_list(p, false, n, list, d);
        FILE *f = fopen(places, "w");
        assert_non_null(f);
        for (uint32_t i = 0; i < n; i++)
            fprintf(f, "%s%u", i ? ", " : "{\"ranks\": [", list[i]);
        fputs("]}\n", f);
        fclose(f);
        snprintf(text, sizeof text, " placement=%s", places);
        say(p, text);
    }
    for (uint32_t i = 0; i < ranks; i++)
        rank_on(p, list[i]);
    memcpy(rest, list + ranks, (n - ranks) * sizeof *rest);
    p->first[p->n_jobs] = ranks;
    return n - ranks;
}

static void draw_jobs(plan *p, dice *d)
{
    uint32_t n = below(d, MOST_JOBS) + !p->own;
    for (uint32_t i = 0; i < n && i < 3; i++) {
        uint32_t list[LONGEST], file = below(d, p->n_placed > 10 ? 1 : FILES);
        char text[120], where[60];
        draw_list(p, true, file + 1, list, d);
        write_list(list, file + 1, d, where, sizeof where);
        snprintf(text, sizeof text, " job=%s@%s", files[file], where);
        say(p, text);
        p->file[p->n_jobs++] = file;
        for (uint32_t k = 0; k <= file; k++)
            rank_on(p, list[k]);
        p->first[p->n_jobs] = p->n_placed;
        p->others = true;
    }
    if (p->others && below(d, 2)) {
        p->alone = true;
        say(p, " alone");
    }
}

/* One to one, one to all, all to one. */
static void draw_flows(plan *p, dice *d)
{
    for (uint32_t n = below(d, 3); n-- > 0;) {
        uint32_t from[ALL], to[ALL], both[ALL], a = 1 + below(d, 4), b = below(d, 2) ? a : 1;
        char text[120], sources[40], sinks[40];
        draw_list(p, false, a + b, both, d);
        memcpy(from, both, sizeof from);
        memcpy(to, both + a, b * sizeof *to);
        bool turned = below(d, 2);
        write_list(turned ? to : from, turned ? b : a, d, sources, sizeof sources);
        write_list(turned ? from : to, turned ? a : b, d, sinks, sizeof sinks);
        snprintf(text, sizeof text, " background=%s>%s:1MB/s", sources, sinks);
        say(p, text);
        for (uint32_t i = 0; i < a; i++) {
            uint32_t x = from[i], y = to[b == 1 ? 0 : i];
            p->src[p->n_flows] = rank_on(p, turned ? y : x);
            p->dst[p->n_flows++] = rank_on(p, turned ? x : y);
        }
    }
}

static void draw_speeds(plan *p, uint32_t ranks, dice *d)
{
    for (uint32_t i = 0; i < ALL; i++)
        p->speed[i] = 1;
    for (uint32_t n = below(d, 3); n-- > 0;) {
        char text[60];
        uint32_t slow = below(d, ranks), late = below(d, ranks), ns = 100 * (1 + below(d, 90));
        snprintf(text, sizeof text, " rank-scale=%u:compute=0.5 rank-delay=%u=%uns", slow, late, ns);
        say(p, text);
        p->speed[slow] = 0.5;
        p->delay_ns[late] = ns;
    }
}

static void draw(plan *p, dice *d)
{
    uint32_t rest[ALL], n;
    *p = (plan){.words = "topology=switch:16@1GB/s,500ns"};
    n = draw_own(p, rest, d);
    draw_jobs(p, d);
    for (uint32_t i = 0; i < n; i++)
        rank_on(p, rest[i]);
    draw_flows(p, d);
    draw_speeds(p, p->first[p->n_jobs], d);
}

/* Work, and two links of 1 GB/s and 500 ns between any two ranks. */
static rlt_time time_of(const plan *p, uint32_t job)
{
    rlt_time ns = 0;
    for (uint32_t r = 0, file = p->file[job]; r <= file; r++) {
        uint32_t rank = p->first[job] + r;
        ns = ns > p->delay_ns[rank] ? ns : p->delay_ns[rank];
        ns += (rlt_time)((double)work_ns(file, r) / p->speed[rank]);
        ns += r < file ? bytes(file, r) + 1000 : 0;
    }
    return ns * RLT_NS;
}

/* ---- */

static void assert_jobs(const plan *p, asked *a)
{
    const rlt_jobs *j = &a->run.jobs;
    rlt_error err = {0};
    assert_int_equal(j->n, p->others ? p->n_jobs : 0);
    assert_int_equal(a->run.program->n_ranks, p->first[p->n_jobs]);
    assert_int_equal(rlt_jobs_alone(&a->run, &err), 0);
    assert_int_equal(j->alone_ps != NULL, p->alone);
    for (uint32_t i = 0; i < p->n_jobs; i++) {
        if (p->others) {
            assert_int_equal(j->first_rank[i + 1], p->first[i + 1]);
            assert_int_equal(j->own, p->own);
        }
        if (i >= p->own)
            assert_string_equal(j->names[i - p->own], files[p->file[i]]);
        if (p->alone)
            assert_int_equal(j->alone_ps[i], time_of(p, i));
        if (!p->n_flows)
            assert_int_equal(rlt_jobs_time(&a->run, i), time_of(p, i));
        else
            assert_true(rlt_jobs_time(&a->run, i) >= time_of(p, i));
    }
    for (uint32_t i = 0; p->others && i < p->first[p->n_jobs]; i++)
        assert_true(j->overlap_slowdown[i] >= 1 && j->overlap_slowdown[i] <= 1);
}

static void places_flows_and_times(void **state)
{
    uint32_t seen[2] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        plan p;
        asked a;
        rlt_error err;
        draw(&p, &d);
        if (go(&a, p.words, &err))
            fail_msg("%s: %s: %s", p.words, err.where, err.what);
        assert_true(!*err.where && !*err.what);
        const rlt_jobs *j = &a.run.jobs;
        bool placed = p.others || p.n_flows;
        assert_int_equal(j->placement.n, placed ? p.n_placed : 0);
        for (uint32_t i = 0; placed && i < p.n_placed; i++)
            if (rlt_placed(&j->placement, i) != p.placed[i])
                fail_msg("%s: rank %u on %u, not %u", p.words, i, rlt_placed(&j->placement, i), p.placed[i]);
        assert_int_equal(j->n_background, p.n_flows);
        for (uint32_t i = 0; i < p.n_flows; i++) {
            assert_int_equal(j->background[i].src, p.src[i]);
            assert_int_equal(j->background[i].dst, p.dst[i]);
        }
        assert_jobs(&p, &a);
        seen[0] += p.n_jobs > 2;
        seen[1] += p.alone && p.n_flows > 2;
        done(&a);
    }
    assert_true(seen[0] > 30 && seen[1] > 10);
}

/* Ranks of the own workload keep the NICs that the placement gives them; those of jobs have none of their own. */
static void nics_of_the_own_ranks(void **state)
{
    static const char places_text[] =
        "{\"ranks\": [{\"accelerator\": 1, \"nic\": \"n1\"}, 0, {\"accelerator\": 2, \"nic\": "
        "\"n2\"}]}";
    char path[] = "/tmp/ringlet-nics-XXXXXX", words[300], network[2000];
    int used = snprintf(network, sizeof network,
                        "{\"nodes\":[{\"id\":\"g\",\"kind\":\"accelerator\",\"count\":6},"
                        "{\"id\":\"n\",\"kind\":\"nic\",\"count\":6},{\"id\":\"s\",\"kind\":\"switch\"}],"
                        "\"links\":[");
    (void)state;
    for (int i = 0; i < 6; i++)
        used += snprintf(network + used, sizeof network - (size_t)used,
                         "%s{\"src\":\"g%d\",\"dst\":\"n%d\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
                         "{\"src\":\"n%d\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}",
                         i ? "," : "", i, i, i);
    used += snprintf(network + used, sizeof network - (size_t)used, "]}");
    test_write_new(path, network, (size_t)used);
    FILE *f = fopen(places, "w");
    assert_non_null(f);
    fputs(places_text, f);
    fclose(f);
    for (uint32_t own = 0; own < 2; own++) {
        asked a;
        rlt_error err;
        snprintf(words, sizeof words, "topology=%s placement=%s job=%s@3-4%s%s alone", path, places, files[1],
                 own ? " trace=" : "", own ? files[2] : "");
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        assert_int_equal(rlt_jobs_alone(&a.run, &err), 0);
        const rlt_placement *p = &a.run.jobs.placement;
        assert_int_equal(p->n, 5);
        assert_non_null(p->nic);
        for (uint32_t i = 0; i < p->n; i++) {
            bool has = own && (rlt_placed(p, i) == 1 || rlt_placed(p, i) == 2);
            assert_int_equal(p->nic[i], has ? a.run.setup.placement.nic[i] : RLT_NONE);
            assert_int_equal(p->nic[i] != RLT_NONE, has);
        }
        done(&a);
    }
    unlink(path);
}

static void running(void *ctx, rlt_sim *sim)
{
    int *n = ctx;
    n[sim == NULL]++;
}

#define SMALL_BUCKETS "bucket=4KB,first_bucket=4KB" /* gradients go beside the backward pass */

/* What each of four jobs takes alone is what a run of it takes, with the delays and speeds of its ranks. */
static void alone_as_by_themselves(const char *words, const char *own, const char *of_file)
{
    char all[800], more_words[250];
    int n[2] = {0};
    const rlt_watch watch = {.ctx = n, .running = running};
    asked a, one;
    rlt_error err;
    snprintf(all, sizeof all, "%s alone rank-delay=4=3us rank-scale=5:compute=0.5 rank-scale=7:host=0.5",
             words);
    if (go(&a, all, &err))
        fail_msg("%s: %s: %s", all, err.where, err.what);
    a.run.watch = &watch;
    assert_int_equal(rlt_jobs_alone(&a.run, &err), 0);
    assert_true(n[0] == 4 && n[1] == 4);
    for (uint32_t i = 0; i < 4; i++) {
        static const char *const more[] = {"", "", " rank-delay=0=3us rank-scale=1:compute=0.5",
                                           " rank-scale=1:host=0.5"};
        snprintf(more_words, sizeof more_words, " layout=dp=2 train=" SMALL_BUCKETS " accelerator=%s",
                 i ? of_file : own);
        if (i == 1)
            snprintf(all, sizeof all, "topology=switch:16@1GB/s,500ns trace=%s", files[1]);
        else
            snprintf(all, sizeof all,
                     "topology=switch:16@1GB/s,500ns model=transformer:layers=2,hidden=64,heads=2 "
                     "placement=%s%s%s",
                     places, more[i], i == 2 ? " layout=dp=2" : more_words);
        FILE *f = fopen(places, "w");
        assert_non_null(f);
        fputs("{\"ranks\": [0, 1]}", f);
        fclose(f);
        if (go(&one, all, &err))
            fail_msg("%s: %s: %s", all, err.where, err.what);
        if (a.run.jobs.alone_ps[i] != rlt_replay_time(one.run.replay))
            fail_msg("%s: %lld ps, as a job %lld", all, (long long)rlt_replay_time(one.run.replay),
                     (long long)a.run.jobs.alone_ps[i]);
        done(&one);
    }
    done(&a);
}

/* Each rank's work next to communication is slowed down as its own job's accelerator says. */
static void slowdown_of_each_job(void **state)
{
    static const char text[] =
        "{\"name\": \"slow\", \"source\": \"a test\", \"memory\": \"80GB\", \"bandwidth\": \"1TB/s\", \"peaks\": "
        "{\"bf16\": \"9TFLOPS\"}, \"overlap_slowdown\": 1.5, \"kernels\": {\"most\": {\"matmul\": 0.5, \"attention\": 0.5, "
        "\"convolution\": 0.5, \"lookup\": 0.5, \"vector\": 0.5}, \"memory\": 1}}\n";
    rlt_accelerator usual;
    char accelerator[] = "/tmp/ringlet-slow-XXXXXX", job[] = "/tmp/ringlet-XXXXXX.json", words[600],
         file[200];
    asked a;
    rlt_error err;
    (void)state;
    test_write_new(accelerator, text, sizeof text - 1);
    int fd = mkstemps(job, 5),
        n = snprintf(file, sizeof file,
                     "{\"model\": \"transformer:layers=2,hidden=64,heads=2\", "
                     "\"accelerator\": \"%s\", \"layout\": \"dp=2\", \"train\": \"" SMALL_BUCKETS "\"}\n",
                     accelerator);
    assert_int_equal(write(fd, file, (size_t)n), n);
    close(fd);
    static const char form[] =
        "topology=switch:16@1GB/s,500ns model=transformer:layers=2,hidden=64,heads=2 accelerator=%s "
        "layout=dp=2 train=" SMALL_BUCKETS " job=%s@5,4 job=transformer:layers=2,hidden=64,heads=2@7-8 "
        "job=%s@10-11";
    snprintf(words, sizeof words, form, accelerator, files[1], job);
    if (go(&a, words, &err))
        fail_msg("%s: %s: %s", words, err.where, err.what);
    assert_int_equal(a.run.jobs.n, 4);
    assert_int_equal(a.run.jobs.first_rank[4], 8);
    assert_int_equal(rlt_find_accelerator(RLT_DEFAULT_ACCELERATOR, &usual, &err), 0);
    const double own = usual.overlap_slowdown, want[] = {1.5, 1.5, 1, 1, own, own, 1.5, 1.5};
    assert_true(own > 1.1);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(a.run.jobs.overlap_slowdown[i] >= want[i] && a.run.jobs.overlap_slowdown[i] <= want[i]);
    done(&a);
    alone_as_by_themselves(words, accelerator, accelerator);
    snprintf(words, sizeof words, form, RLT_DEFAULT_ACCELERATOR, files[1], job);
    alone_as_by_themselves(words, RLT_DEFAULT_ACCELERATOR, accelerator);
    unlink(accelerator);
    unlink(job);
}

static void what_is_refused(void **state)
{
#define NET "topology=switch:6@1GB/s,500ns "
    static const struct {
        const char *words;
        int code;
        const char *text; /* "where: what"; FILE stands for the file of three ranks */
    } rows[] = {
        {NET "trace=FILE job=FILE@2-4", RLT_EUSAGE,
         "--job: accelerator 2 already has rank 2: expected a free accelerator (a model takes all of them unless "
         "ranks=N, or dp=N in its layout, limits it)"},
        {NET "trace=FILE job=FILE@3-4", RLT_EUSAGE,
         "--job: FILE@3-4: has 3 ranks, but 2 accelerators are listed"},
        {NET "trace=FILE job=FILE@3-6", RLT_EUSAGE, "--job: expected an accelerator from 0 to 5, got 6"},
        {NET "trace=FILE job=FILE@6", RLT_EUSAGE, "--job: expected an accelerator from 0 to 5, got 6"},
        {NET "trace=FILE job=FILE@", RLT_EUSAGE, "--job: expected a whole number, got ''"},
        {NET "trace=FILE job=FILE@3-4,", RLT_EUSAGE, "--job: expected a whole number, got ''"},
        {NET "trace=FILE background=0>1:1GB/s,on=1us,off=1ps", 0, ""},
        {NET "trace=FILE background=0>1:1GB/s,on=1ps", RLT_EUSAGE,
         "--background: expected both on and off, or neither"},
        {NET "trace=FILE job=FILE@3-x", RLT_EUSAGE, "--job: expected a whole number, got 'x'"},
        {NET "trace=FILE background=x>1:1GB/s", RLT_EUSAGE, "--background: expected a whole number, got 'x'"},
        {NET "trace=FILE job=FILE@5-3", RLT_EUSAGE,
         "--job: '5-3' counts down: expected FIRST-LAST with FIRST at most LAST"},
        {NET "trace=FILE job=FILE@3,5-4,5", RLT_EUSAGE,
         "--job: '5-4' counts down: expected FIRST-LAST with FIRST at most LAST"},
        {NET "trace=FILE job=@3-5", RLT_EUSAGE,
         "--job: expected WORKLOAD@ACCELERATORS, such as transformer:layers=4@4-7, got '@3-5'"},
        {NET "trace=FILE job=FILE", RLT_EUSAGE,
         "--job: expected WORKLOAD@ACCELERATORS, such as transformer:layers=4@4-7, got 'FILE'"},
        {NET "trace=FILE job=resnet50@3-5", RLT_EUSAGE,
         "--job: resnet50: is a model: to run it on an accelerator, pass a file of options such as {\"model\": ..., "
         "\"accelerator\": ...}"},
        {NET "trace=FILE background=0>0:1GB/s", RLT_EUSAGE,
         "--background: traffic from accelerator 0 to itself: expected two accelerators"},
        {NET "trace=FILE background=0-1>0-2:1GB/s", RLT_EUSAGE,
         "--background: 2 sources for 3 destinations: expected equal numbers, or one source or one destination"},
        {NET "trace=FILE background=0>6:1GB/s", RLT_EUSAGE,
         "--background: expected an accelerator from 0 to 5, got 6"},
        {NET "trace=FILE background=0>1", RLT_EUSAGE,
         "--background: expected FROM>TO:RATE, such as 0-3>4-7:10GB/s, got '0>1'"},
        {NET "trace=FILE background=01:1GB/s", RLT_EUSAGE,
         "--background: expected FROM>TO:RATE, such as 0-3>4-7:10GB/s, got '01:1GB/s'"},
        {NET "trace=FILE background=0>1:1GB/s,on=1us", RLT_EUSAGE,
         "--background: expected both on and off, or neither"},
        {NET "trace=FILE background=0>1:1GB/s,off=1us", RLT_EUSAGE,
         "--background: expected both on and off, or neither"},
        {NET "trace=FILE background=0>1:size=1KB", RLT_EUSAGE,
         "--background: expected a rate, such as 10GB/s"},
        {NET "trace=FILE background=0>1:1GB/s,", RLT_EUSAGE, "--background: expected NAME=VALUE, got ''"},
        {NET "trace=FILE alone", RLT_EUSAGE, "--alone: needs --job"},
        {NET "trace=FILE alone background=0>1:1GB/s", RLT_EUSAGE, "--alone: needs --job"},
        {NET "trace=FILE job=FILE@3-5 alone noise=0.1", RLT_EUSAGE,
         "--alone: does not go with --noise: noise is drawn by rank number, and a job alone has other rank numbers"},
        {NET "trace=FILE job=FILE@3-5 failures=mtbf=1h,checkpoint=1s,restart=1s iterations=5", RLT_EUSAGE,
         "--failures: is for a single workload: it does not go with --job"},
    };
    const char *three = files[2];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asked a;
        rlt_error err;
        char all[1600], words[500], want[500], *texts[] = {words, want};
        (void)state;
        for (int k = 0; k < 2; k++) {
            size_t used = 0;
            for (const char *at = k ? rows[i].text : rows[i].words; *at; at++)
                if (strncmp(at, "FILE", 4) == 0 && (at[4] == '@' || at[4] == ' ' || at[4] == '\'' || !at[4]))
                    used += (size_t)snprintf(texts[k] + used, 500 - used, "%s", three), at += 3;
                else
                    texts[k][used++] = *at;
            texts[k][used] = '\0';
        }
        int rc = go(&a, words, &err);
        snprintf(all, sizeof all, "%s%s%s", err.where, *err.where ? ": " : "", err.what);
        if (rc != rows[i].code || strcmp(all, want) != 0)
            fail_msg("%s:\n%d: %s\nnot %s", rows[i].words, rc, all, want);
        done(&a);
    }
}

/* What a job's file has wrong is wrong input, whatever its name. */
static void wrong_files_are_input(void **state)
{
    static const char wrong[] = "num_ranks 1\nrank 0 {\nl1: calc many\n}\n";
    char path[] = "/tmp/ringlet-wrong-XXXXXX", words[200], where[60];
    asked a;
    rlt_error err;
    (void)state;
    test_write_new(path, wrong, sizeof wrong - 1);
    snprintf(words, sizeof words, NET "job=%s@3", path);
    assert_int_equal(go(&a, words, &err), RLT_EMALFORMED);
    snprintf(where, sizeof where, "--job: %s:3", path);
    assert_int_equal(strncmp(err.where, where, strlen(where)), 0);
    done(&a);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_flows_and_times), cmocka_unit_test(slowdown_of_each_job),
        cmocka_unit_test(nics_of_the_own_ranks),  cmocka_unit_test(what_is_refused),
        cmocka_unit_test(wrong_files_are_input),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
