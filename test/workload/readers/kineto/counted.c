/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random recordings of several ranks: what a check counts in them, and which clocks are aligned. The counts
 * are those of the events that were written; offsets between clocks follow from the rule at the head of
 * clock.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/traces/kineto.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { RANKS = 3, MAX_COMMS = 12 };
static const char *const files[] = {"0.json", "1.json", "2.json"};

typedef struct text {
    char at[1 << 15];
    size_t n;
} text;

static void begin_file(text *t, uint32_t rank, uint32_t ranks)
{
    t->n = (size_t)snprintf(t->at, sizeof t->at,
                            "{\"distributedInfo\":{\"rank\":%u,\"world_size\":%u},\"traceEvents\":[", rank,
                            ranks);
}

static void say(text *t, const char *cat, const char *name, int tid, int64_t ns, int64_t duration,
                const char *args)
{
    t->n += (size_t)snprintf(
        t->at + t->n, sizeof t->at - t->n,
        "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%lld.%03d,\"dur\":"
        "%lld.%03d,\"args\":{%s}},",
        cat, name, tid, (long long)(ns / 1000), (int)(ns % 1000), (long long)(duration / 1000),
        (int)(duration % 1000), args);
    assert_true(t->n < sizeof t->at - 100);
}

static void end_file(text *t, const char *name)
{
    snprintf(t->at + t->n, sizeof t->at - t->n, "{\"ph\":\"i\"}]}");
    write_file(name, t->at);
}

typedef struct counts {
    unsigned kernels, copies, loose, waits, syncs, operators, unknown, syncs_said, marked, least, most;
} counts;

/* A recording of random events; with calls of the host, work without one is not launched. */
static void draw_counted(dice *d, uint32_t rank, uint32_t ranks, counts *c, bool said)
{
    static text t;
    unsigned steps = below(d, 3), work = 0, calls = 0, loose = 0;
    begin_file(&t, rank, ranks);
    for (unsigned i = 0; i < steps; i++)
        say(&t, "user_annotation", "ProfilerStep#1", 1, 1000 + 1000 * (int64_t)i, 1000, "");
    for (uint32_t i = 1 + below(d, 12), k = 0; k < i; k++) {
        char args[100];
        uint32_t what = k ? below(d, 8) : 0;
        int64_t at = 1100 + 20 * (int64_t)k;
        bool launched = below(d, 2);
        snprintf(args, sizeof args,
                 launched ? "\"device\":0,\"stream\":7,\"correlation\":%u" : "\"device\":0,\"stream\":7",
                 k + 1);
        if (what < 2) {
            say(&t, what ? "gpu_memcpy" : "kernel", "w", 7, at, 10, args);
            c->kernels += !what;
            c->copies += what;
            loose += !launched;
            work++;
        } else if (what == 2) {
            say(&t, "cuda_runtime", "cudaStreamWaitEvent", 1, at, 5, "");
            c->waits++;
            calls++;
        } else if (what < 5) {
            say(&t, "cuda_runtime", what == 3 ? "cudaStreamSynchronize" : "cudaEventSynchronize", 1, at, 5,
                "");
            c->syncs++;
            calls++;
        } else if (what == 5) {
            say(&t, "cpu_op", "aten::add", 1, at, 5, "");
            c->operators++;
        } else if (what == 6) {
            say(&t, "odd", "x", 1, at, 5, "");
            c->unknown++;
        } else if (said) {
            say(&t, "cuda_sync", "Stream Sync", 1, at, 5, "\"stream\":7");
            c->syncs_said++;
        }
    }
    c->loose += calls ? loose : work;
    c->marked += steps > 0;
    c->least = steps < c->least ? steps : c->least;
    c->most = steps > c->most ? steps : c->most;
    end_file(&t, files[rank]);
}

static void expect(const char *found, bool there, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void expect(const char *found, bool there, const char *fmt, ...)
{
    char line[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if ((strstr(found, line) != NULL) != there)
        fail_msg("%s '%s' in:\n%s", there ? "no" : "an unexpected", line, found);
}

static void checks_count(void **state)
{
    dice d = {.seed = 31};
    (void)state;
    for (int i = 0; i < 150; i++) {
        char paths[RANKS][128], *found = NULL;
        const char *list[RANKS];
        uint32_t ranks = 1 + below(&d, RANKS), here = 1 + below(&d, ranks);
        counts c = {.least = 99};
        bool said = below(&d, 2);
        rlt_read_options o = options();
        for (uint32_t r = 0; r < here; r++) {
            draw_counted(&d, r, ranks, &c, said);
            path_of(files[r], paths[r], sizeof paths[r]);
            list[r] = paths[r];
        }
        if (rlt_reader_kineto.check(list, here, &o, &found, &err))
            fail_msg("%s: %s", err.where, err.what);
        expect(found, ranks == here, "ok: ranks: %u of %u present\n", ranks, ranks);
        expect(found, ranks > here, "lacks: ranks: %u of %u have no recording (first: rank %u)", ranks - here,
               ranks, here);
        expect(found, ranks > here, "--replicate %u=0\n", here);
        expect(found, c.marked < here, "lacks: steps: %u of %u recordings have no step marks",
               here - c.marked, here);
        expect(found, c.marked == here && c.least != c.most, "the ranks have between %u and %u steps",
               c.least, c.most);
        expect(found, c.marked == here && c.least == c.most, "ok: steps: %u marked\n", c.most);
        expect(found, true, "ok: device work: %u kernels, %u copies and sets\n", c.kernels, c.copies);
        expect(found, c.operators == 0, "lacks: host operators; ");
        expect(found, c.loose > 0, "lacks: launches of %u device operations: ", c.loose);
        expect(found, c.syncs_said > 0, "ok: synchronisation: %u cuda_sync events\n", c.syncs_said);
        expect(found, !c.syncs_said && c.waits + c.syncs > 0,
               "the targets of %u stream waits and %u synchronising calls are inferred", c.waits, c.syncs);
        expect(found, c.unknown > 0, "lacks: knowledge of %u events of unknown categories: ignored\n",
               c.unknown);
        expect(found, true, "ok: collectives: none recorded\n");
        free(found);
    }
}

/* Collectives in any order of the file, whose ends differ between ranks by an offset and some noise. */
typedef struct ends {
    uint32_t n;
    int64_t begin, end[MAX_COMMS]; /* ns; begin: of the step */
    uint32_t name[MAX_COMMS];
} ends;

static void write_ends(dice *d, uint32_t rank, uint32_t ranks, const ends *e)
{
    static text t;
    uint32_t order[MAX_COMMS];
    begin_file(&t, rank, ranks);
    say(&t, "user_annotation", "ProfilerStep#1", 1, e->begin, 50000000, "");
    for (uint32_t k = 0; k < e->n; k++) {
        uint32_t at = below(d, k + 1);
        order[k] = order[at];
        order[at] = k;
    }
    for (uint32_t k = 0; k < e->n; k++) {
        char args[400], name[40];
        int64_t end = e->end[order[k]];
        snprintf(name, sizeof name, "ncclDevKernel_AllReduce_%u", e->name[order[k]]);
        snprintf(args, sizeof args,
                 "\"device\":0,\"stream\":7,\"correlation\":%u,\"Collective name\":\"allreduce\","
                 "\"In msg nelems\":8,"
                 "\"Out msg nelems\":8,\"dtype\":\"Float\",\"Process Group Name\":\"0\"",
                 order[k] + 1);
        say(&t, "kernel", name, 7, end - 1000, 1000, args);
        snprintf(args, sizeof args, "\"correlation\":%u", order[k] + 1);
        say(&t, "cuda_runtime", "cudaLaunchKernel", 1, end - 3000, 500, args);
    }
    end_file(&t, files[rank]);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The offset of a rank's clock: 0 if it is not aligned. */
static int64_t offset_of(const ends *a, const ends *b)
{
    int64_t v[MAX_COMMS];
    uint32_t close = 0;
    if (a->n != b->n || a->n < 3 || memcmp(a->name, b->name, a->n * sizeof *a->name) != 0)
        return 0;
    for (uint32_t k = 0; k < a->n; k++)
        v[k] = b->end[k] - a->end[k];
    qsort(v, a->n, sizeof *v, by_value);
    int64_t middle = v[a->n / 2];
    for (uint32_t k = 0; k < a->n; k++)
        close += llabs(v[k] - middle) <= 50000;
    return llabs(middle) > 100000 && 4 * (a->n - close) <= a->n ? middle : 0;
}

static void clocks_are_aligned(void **state)
{
    static const int64_t noises[] = {0, 40000, 50000, 50001, 3000000};
    dice d = {.seed = 32};
    uint32_t aligned_ever = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        ends e[RANKS];
        uint32_t ranks = 2 + below(&d, 2), n = 1 + below(&d, MAX_COMMS), aligned = 0;
        int64_t start[RANKS], first = INT64_MAX, largest = 0;
        char furthest[64];
        for (uint32_t r = 0; r < ranks; r++) {
            int64_t apart =
                r ? (below(&d, 2) ? 100000 + (int64_t)below(&d, 3) : (int64_t)roll(&d, 900000000)) : 0;
            e[r] = (ends){.n = n, .begin = 1000000000 + apart + (int64_t)below(&d, 1000000)};
            for (uint32_t k = 0; k < n; k++) {
                int64_t noise = r && below(&d, 4) == 0 ? noises[below(&d, 5)] : 0;
                e[r].name[k] = k % 3 + (r && below(&d, 100) == 0);
                e[r].end[k] = 1000000000 + apart + 2000000 + 3500000 * (int64_t)k + noise;
            }
            write_ends(&d, r, ranks, &e[r]);
        }
        for (uint32_t r = 0; r < ranks; r++) {
            int64_t offset = r ? offset_of(&e[0], &e[r]) : 0;
            aligned += offset != 0;
            largest = llabs(offset) > largest ? llabs(offset) : largest;
            start[r] = e[r].begin - offset;
            first = start[r] < first ? start[r] : first;
        }
        rlt_read_options o = options();
        rlt_program *p = NULL;
        if (read_files(ranks, files, &o, &p))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(noted(p, "clocks aligned"), aligned);
        snprintf(furthest, sizeof furthest, "(by up to %" PRId64 " us)", largest / 1000);
        assert_int_equal(noted(p, furthest), aligned);
        for (uint32_t r = 0; r < ranks; r++)
            assert_int_equal(p->rank_start_ps[r], (start[r] - first) * RLT_NS);
        aligned_ever += aligned;
        rlt_program_free(p);
    }
    assert_true(aligned_ever > 50);
}

/* The name of a file says its rank only beside others. */
static void a_file_alone_is_a_job(void **state)
{
    const char *name = "3.json";
    rlt_read_options o = options();
    rlt_program *p = NULL;
    (void)state;
    write_file(name, TRACE(STEP(0, 0, 100) LAUNCH(1, 5, 1, 1) KERNEL("k", 7, 20, 9, 1)));
    if (read_files(1, &name, &o, &p))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_ranks, 1);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_count),
        cmocka_unit_test(clocks_are_aligned),
        cmocka_unit_test(a_file_alone_is_a_job),
    };
    return cmocka_run_group_tests_name("kineto_counted", tests, make_folder, remove_folder);
}
