/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings on either side of each bound of time, by hand: what a call waits for, what explains the begin of work,
 * which gaps are long, and what was launched early.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/say.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* How much later rank 0 ends if work takes 1000 us more, in ns. */
static long long delays(const rlt_program *p, const char *name)
{
    return (long long)(effect(p, name) / RLT_NS);
}

static bool depends(const rlt_program *p, const rlt_op *op, const rlt_op *on)
{
    for (uint32_t d = 0; d < op->n_deps; d++) {
        const rlt_op *direct = &p->ops[p->deps[op->first_dep + d]];
        if (direct == on || (direct->kind == RLT_OP_DELAY && depends(p, direct, on)))
            return true;
    }
    return false;
}

typedef struct said {
    char text[2000];
    size_t used;
} said;

/* times: begin and end in ns */
static void say_times(said *x, const char *category, const char *name, int row, int number, const int *times)
{
    int begin = times[0], lasts = times[1] - times[0];
    TEST_SAY(
        x,
        "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d.%03d,\"dur\":%d.%03d,"
        "\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d}},",
        category, name, category[0] != 'k', row, begin / 1000, begin % 1000, lasts / 1000, lasts % 1000, row,
        number);
}

/* A kernel of stream 9, then "last" on stream 7, each with its end, and a call that waits for an unnamed stream. It waits for
 * stream 7 if that ended inside the call, or up to 1 us later; or before, if the call takes 20 us at most. Otherwise it waits
 * for what ended last inside. Times are in ns; the steps take 1000 us. */
static void streams_that_no_call_names(void **state)
{
    static const struct {
        int other, last, begin, end;
        int by_other, by_last; /* the delay of the whole, in ns, if one takes 1000 us more */
    } rows[] = {
        {503500, 503000, 200000, 503000, 503500, 1000000}, /* both fit: stream 7 */
        {504000, 504000, 200000, 503000, 503000, 1000000},
        {504000, 504001, 200000, 503000, 1000000, 503001}, /* stream 7 ends too late */
        {400000, 200000, 200000, 503000, 1000000, 200000}, /* it had ended */
        {400000, 200001, 200000, 503000, 400000, 1000000},
        {210000, 150000, 200000, 220000, 210000, 950000},
        {210000, 150000, 200000, 220001, 1000000, 150000},
        {900000, 200000, 200000, 503000, 900000, 1000000}, /* nothing ends inside: it had agreed */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        said x = {.used = 0};
        TEST_SAY(&x, "{\"traceEvents\":[" STEP(0, 0, 1000) LAUNCH(1, 100, 5, 1) LAUNCH(1, 115, 5, 2));
        say_times(&x, "kernel", "other", 9, 1, (int[]){112000, rows[i].other});
        say_times(&x, "kernel", "last", 7, 2, (int[]){125000, rows[i].last});
        say_times(&x, "cuda_runtime", "cudaStreamSynchronize", 1, 9, (int[]){rows[i].begin, rows[i].end});
        TEST_SAY(&x, "{}]}");
        rlt_program *p = read_one(x.text);
        if (delays(p, "other") != rows[i].by_other || delays(p, "last") != rows[i].by_last)
            fail_msg("row %zu: %lld, %lld", i, delays(p, "other"), delays(p, "last"));
        rlt_program_free(p);
    }
}

/* A call that waits for an event which is not recorded waits for the kernel if that ends inside, or up to 1 us later. */
static void events_that_no_call_names(void **state)
{
    static const struct {
        const char *text;
        int ns; /* by which a kernel of 1000 us more delays the whole */
    } rows[] = {
#define WAITED(lasts)                                                                                        \
    TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 112, lasts, 1)                               \
              CALL("cudaEventSynchronize", 1, 200, 50, 9))
        {WAITED(88), 200000},   {WAITED(88.001), 1000000}, {WAITED(138), 1000000},
        {WAITED(139), 1000000}, {WAITED(139.001), 251001},
    };
#undef WAITED
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        if (delays(p, "k") != rows[i].ns)
            fail_msg("row %zu: %lld", i, delays(p, "k"));
        rlt_program_free(p);
    }
}

/* A call without work to wait for is the host's own up to 100 us, else a gap. So is one behind 50 us before a kernel, but only
 * longer ones are counted. */
static void gaps(void **state)
{
    static const struct {
        const char *text;
        int delay, unexplained, longs; /* delay: ns */
    } rows[] = {
        {TRACE(STEP(0, 0, 1000) CALL("cudaDeviceSynchronize", 1, 200, 100, 9)), 0, 0, 0},
        {TRACE(STEP(0, 0, 1000) CALL("cudaDeviceSynchronize", 1, 200, 100.001, 9)), 100001, 1, 0},
        {TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 110, 9, 1)), 0, 0, 0},
        {TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 110.001, 9, 1)), 1, 0, 0},
        {TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 160, 9, 1)), 50000, 0, 0},
        {TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 160.001, 9, 1)), 50001, 0, 1},
        {TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 0) KERNEL("k", 7, 160, 9, 0)), 50000, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        if (total(p, RLT_OP_DELAY) != rows[i].delay * RLT_NS ||
            noted(p, "no known device work") != (uint64_t)rows[i].unexplained ||
            noted(p, "over 50 us") != (uint64_t)rows[i].longs || noted(p, "without a launch"))
            fail_msg("row %zu: %lld", i, (long long)total(p, RLT_OP_DELAY));
        assert_int_equal(total(p, RLT_OP_HOST) + (rows[i].unexplained ? rows[i].delay : 0) * RLT_NS,
                         1000 * RLT_US);
        rlt_program_free(p);
    }
}

#define SUM(name, stream, ts, dur, n)                                                                        \
    EVENT("kernel", "nccl" name, 0, stream, ts, dur,                                                         \
          ON(stream, n) ",\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"dtype\":\"Float\"")

/* Work launched at 110 begins later. A collective that was launched before explains it if it ended in the last twentieth of the
 * gap, but always in the last 10 us, and never before the last 50 us; or 1 us after the begin. */
static void explained_begins(void **state)
{
    static const struct {
        const char *text;
        int evident;
    } rows[] = {
#define WORK(begin, comm)                                                                                    \
    TRACE(STEP(0, 0, 3000) LAUNCH(1, 50, 10, 1) SUM("A", 20, 65, comm, 1) LAUNCH(1, 100, 10, 2)              \
              KERNEL("k", 7, begin, 20, 2))
        {WORK(120, 50), 0},   {WORK(120.001, 50), 1},   {WORK(200, 125), 1},   {WORK(200, 124.999), 0},
        {WORK(310, 235), 1},  {WORK(310, 234.999), 0},  {WORK(510, 425), 1},   {WORK(510, 424.999), 0},
        {WORK(1110, 995), 1}, {WORK(1110, 994.999), 0}, {WORK(2110, 1995), 1}, {WORK(2110, 1994.999), 0},
        {WORK(510, 446), 1},  {WORK(510, 446.001), 0},
#undef WORK
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        if (noted(p, "just after a collective") != (uint64_t)rows[i].evident ||
            depends(p, named(p, "k"), named(p, "ncclA")) != (rows[i].evident == 1))
            fail_msg("row %zu: %d", i, (int)noted(p, "just after a collective"));
        rlt_program_free(p);
    }
}

/* Stream 7 waits at 140 for an event that is not recorded, and its next kernel begins at 412. The collective before explains it
 * if it ended 9 us before at most, or up to 1 us later, and the kernel before on the stream no more than 2 us later. Otherwise
 * the end of the collective alone may explain it, or nothing. */
static void explained_waits(void **state)
{
    static const struct {
        const char *text;
        bool waits;
        int evident;
    } rows[] = {
#define WAITER(before, comm)                                                                                 \
    TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("before", 7, 112, before, 1) LAUNCH(1, 115, 2, 2)     \
              SUM("A", 20, 120, comm, 2) CALL("cudaStreamWaitEvent", 1, 140, 2, 3) LAUNCH(1, 150, 5, 4)      \
                  KERNEL("k", 7, 412, 20, 4))
        {WAITER(298, 293), true, 0},   {WAITER(298, 293.001), false, 0}, {WAITER(5, 283), true, 0},
        {WAITER(5, 282.999), true, 1}, {WAITER(294.999, 285), true, 0},  {WAITER(295, 285), false, 0},
#undef WAITER
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        if (depends(p, named(p, "k"), named(p, "ncclA")) != rows[i].waits ||
            noted(p, "just after a collective") != (uint64_t)rows[i].evident)
            fail_msg("row %zu: %d", i, (int)noted(p, "just after a collective"));
        rlt_program_free(p);
    }
}

/* A call that copies waits for its copy, unless that ends more than 1 us after it. */
static void copies(void **state)
{
    static const struct {
        const char *text;
        int ns; /* by which a copy of 1000 us more delays the whole */
    } rows[] = {
#define COPY(call, name, lasts)                                                                              \
    TRACE(STEP(0, 0, 1000) CALL(call, 1, 100, 20, 1) EVENT("gpu_memcpy", name, 0, 7, 105, lasts, ON(7, 1)))
        {COPY("cudaMemcpy", "c", 14), 1000000},
        {COPY("cudaMemcpy", "c", 16), 1000000},
        {COPY("cudaMemcpy", "c", 16.001), 121001},
        {COPY("cudaMemcpyAsync", "c", 14), 119000},
        {COPY("cudaMemcpyAsync", "c DtoH (Device -> Pageable)", 16), 1000000},
        {COPY("cudaMemcpyAsync", "c DtoH (Device -> Pinned)", 14), 119000},
        {COPY("cudaMemcpyAsync", "c HtoD (Pageable -> Device)", 14), 119000},
#undef COPY
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        rlt_time before = span_of(p);
        for (uint32_t k = 0; k < p->n_ops; k++)
            ((rlt_op *)p->ops)[k].duration_ps += p->ops[k].kind == RLT_OP_MEMORY ? 1000 * RLT_US : 0;
        if (span_of(p) - before != rows[i].ns * RLT_NS)
            fail_msg("row %zu: %lld", i, (long long)((span_of(p) - before) / RLT_NS));
        rlt_program_free(p);
    }
}

/* Of two collectives that end together, the one launched last explains the begin; of others, the one that ended last. One on
 * the work's own stream explains nothing, since it came first anyway. */
static void explained_by_which(void **state)
{
    static const struct {
        const char *text, *by, *not_by;
    } rows[] = {
#define WORK(a, b, stream)                                                                                   \
    TRACE(STEP(0, 0, 3000) LAUNCH(1, 30, 10, 1) LAUNCH(1, 50, 10, 2) SUM("A", 20, 65, a, 1)                  \
              SUM("B", 21, 65, b, 2) LAUNCH(1, 100, 10, 3) KERNEL("k", stream, 200, 20, 3))
        {WORK(130, 130, 7), "ncclB", "ncclA"},
        {WORK(130.001, 130, 7), "ncclA", "ncclB"},
        {WORK(130, 130.001, 7), "ncclB", "ncclA"},
        {WORK(130, 131, 20), "ncclA", "ncclB"},
#undef WORK
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        assert_true(depends(p, named(p, "k"), named(p, rows[i].by)));
        assert_false(depends(p, named(p, "k"), named(p, rows[i].not_by)));
        rlt_program_free(p);
    }
}

#define SYNC(kind, ts, args) EVENT("cuda_sync", kind, 0, 7, ts, 1, "\"device\":0," args)

/* Calls whose number is 0 are found like others; a wait that does not say who waits is left out. */
static void numbers(void **state)
{
    static const struct {
        const char *text;
        int first, second; /* us by which 1000 us more of each kernel delay the whole of 1000 us */
    } rows[] = {
#define KERNELS                                                                                              \
    STEP(0, 0, 1000)                                                                                         \
    LAUNCH(1, 100, 5, 1) KERNEL("first", 9, 112, 38, 1) LAUNCH(1, 115, 5, 2) KERNEL("second", 7, 125, 35, 2)
        {TRACE(KERNELS CALL("cudaStreamSynchronize", 1, 200, 10, 0)
                   SYNC("Stream Sync", 200, "\"stream\":9,\"correlation\":0")),
         950, 160},
        {TRACE(KERNELS CALL("cudaStreamSynchronize", 1, 200, 10, 3)
                   SYNC("Stream Sync", 200, "\"stream\":9,\"correlation\":4")),
         150, 960},
        {TRACE(KERNELS CALL("cudaStreamSynchronize", 1, 200, 10, 3)
                   SYNC("Stream Sync", 200, "\"correlation\":3")),
         150, 960},
        {TRACE(KERNELS CALL("cudaEventRecord", 1, 130, 2, 0) CALL("cudaEventSynchronize", 1, 200, 10, 5)
                   SYNC("Event Sync", 200,
                        "\"correlation\":5,\"wait_on_stream\":9,\"wait_on_cuda_event_record_corr_id\":0")),
         950, 160},
        {TRACE(KERNELS CALL("cudaEventRecord", 1, 130, 2, 3) CALL("cudaEventSynchronize", 1, 200, 10, 5)
                   SYNC("Event Sync", 200,
                        "\"correlation\":5,\"wait_on_stream\":9,\"wait_on_cuda_event_record_corr_id\":4")),
         150, 160},
        /* a stream without a record: its last work */
        {TRACE(KERNELS CALL("cudaEventSynchronize", 1, 200, 10, 5)
                   SYNC("Event Sync", 200, "\"correlation\":5,\"wait_on_stream\":9")),
         950, 160},
        /* stream waits: of stream 7 for stream 9, and of nobody */
        {TRACE(KERNELS CALL("cudaStreamWaitEvent", 1, 200, 2, 5)
                   SYNC("Stream Wait Event", 200, "\"correlation\":5,\"stream\":7,\"wait_on_stream\":9")
                       LAUNCH(1, 300, 5, 6) KERNEL("third", 7, 305, 695, 6)),
         845, 855},
        {TRACE(KERNELS CALL("cudaStreamWaitEvent", 1, 200, 2, 5)
                   SYNC("Stream Wait Event", 200, "\"correlation\":5,\"wait_on_stream\":9")
                       LAUNCH(1, 300, 5, 6) KERNEL("third", 7, 305, 695, 6)),
         150, 855},
#undef KERNELS
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        if (delays(p, "first") != rows[i].first * 1000 || delays(p, "second") != rows[i].second * 1000)
            fail_msg("row %zu: %lld, %lld", i, delays(p, "first"), delays(p, "second"));
        rlt_program_free(p);
    }
}

/* The main thread waits from 300 to 503 for a kernel that ends at 500. Another thread is first seen at 405, which nothing known
 * leads to: its launch comes so long after the begin of the step, at 100. */
static void threads_seen_first_inside_a_wait(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 100, 1000) LAUNCH(1, 200, 5, 1) KERNEL("k", 7, 212, 288, 1) CALL(
        "cudaStreamSynchronize", 1, 300, 203, 9) LAUNCH(2, 400, 5, 3) KERNEL("x", 9, 412, 10, 3)));
    played v = play(p, -1, true);
    const rlt_op *x = named(p, "x");
    assert_int_equal(v.start[x - p->ops], (412 - 100) * RLT_US);
    assert_int_equal(noted(p, "contradicts"), 1);
    assert_int_equal(total(p, RLT_OP_DELAY), (7 + 405 - 100 + 7) * RLT_US);
    for (uint32_t i = 0; i < p->n_ops; i++)
        assert_int_equal(p->ops[i].recorded_duration_ps, p->ops[i].duration_ps);
    named(p, "k")->duration_ps += RLT_S;
    played late = play(p, -1, true);
    assert_int_equal(late.start[x - p->ops], v.start[x - p->ops]);
    played_free(&late);
    played_free(&v);
    rlt_program_free(p);
}

/* A thread beside the main one begins where that has come to when it is first seen, by one operation of no length; each of its
 * further launches follows its own one before. */
static void threads_begin_once(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(2, 400, 5, 1) KERNEL("a", 9, 405, 10, 1) LAUNCH(
        2, 400, 5, 2) KERNEL("b", 8, 405, 10, 2) LAUNCH(2, 500, 5, 3) KERNEL("c", 8, 505, 10, 3)));
    int lasts[8], n = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_HOST) {
            assert_true(n < 8);
            lasts[n++] = (int)(p->ops[i].duration_ps / RLT_US);
            assert_true(p->ops[i].n_deps <= 1);
        }
    assert_int_equal(n, 4); /* up to 405, the thread's begin, 100 us of it, and the rest of the main thread */
    assert_int_equal(lasts[0], 405);
    assert_int_equal(lasts[1], 0);
    assert_int_equal(lasts[2], 100);
    assert_int_equal(lasts[3], 595);
    rlt_program_free(p);
}

/* Work whose launch is not recorded was launched early if it begins before the steps, or before work of its stream whose launch
 * is known: inside the steps, or before them. Otherwise its place is that of its time. */
static void early_work(void **state)
{
    static const struct {
        const char *text;
        bool early;
    } rows[] = {
#define UNKNOWN(ts, more)                                                                                    \
    TRACE(STEP(0, 100, 1000) LAUNCH(1, 150, 5, 1) KERNEL("k", 9, 160, 10, 1) KERNEL("x", 7, ts, 8, 77) more)
        {UNKNOWN(99, ""), true},
        {UNKNOWN(200, ""), false},
        {UNKNOWN(200, LAUNCH(1, 180, 5, 2) KERNEL("y", 7, 209, 8, 2)), true},
        {UNKNOWN(200, LAUNCH(1, 180, 5, 2) KERNEL("y", 7, 190, 8, 2)), false},
        {UNKNOWN(200, LAUNCH(1, 180, 5, 2) KERNEL("y", 7, 190, 8, 2) LAUNCH(1, 240, 5, 3)
                          KERNEL("z", 7, 250, 8, 3)),
         false},
        {UNKNOWN(200, LAUNCH(1, 180, 5, 2) KERNEL("y", 8, 209, 8, 2)), false},
        {UNKNOWN(200, LAUNCH(1, 50, 5, 2) KERNEL("y", 7, 209, 8, 2)), true},
        {UNKNOWN(200, LAUNCH(1, 50, 5, 2) KERNEL("y", 7, 190, 8, 2)), false},
        {UNKNOWN(200,
                 LAUNCH(1, 50, 5, 2) KERNEL("y", 7, 190, 8, 2) LAUNCH(1, 60, 5, 3) KERNEL("z", 7, 209, 8, 3)),
         true},
#undef UNKNOWN
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = read_one(rows[i].text);
        if ((named(p, "x") < named(p, "k")) != rows[i].early || noted(p, "overlap") ||
            noted(p, "outside the steps"))
            fail_msg("row %zu", i);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_that_no_call_names),
        cmocka_unit_test(events_that_no_call_names),
        cmocka_unit_test(gaps),
        cmocka_unit_test(explained_begins),
        cmocka_unit_test(explained_by_which),
        cmocka_unit_test(explained_waits),
        cmocka_unit_test(copies),
        cmocka_unit_test(numbers),
        cmocka_unit_test(threads_seen_first_inside_a_wait),
        cmocka_unit_test(threads_begin_once),
        cmocka_unit_test(early_work),
    };
    return cmocka_run_group_tests_name("kineto_bounds", tests, make_folder, remove_folder);
}
