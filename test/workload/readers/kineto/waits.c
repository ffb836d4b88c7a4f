/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a call that names no stream waits for, events without a time or a length, and ranks that only names tell: small
 * recordings, whose programs are worked out by hand. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* A kernel of no recorded length takes no time. */
static void no_length(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 600) LAUNCH(1, 100, 10, 1) KERNEL("none", 7, 112, 0, 1)));
    assert_int_equal(named(p, "none")->duration_ps, 0);
    rlt_program_free(p);
}

/* Recordings that do not tell their ranks: those of the names, behind a word that has a number. */
static void named_ranks(void **state)
{
    static const char *const names[] = {"workers_rank-1.json", "workers_rank-0.json"};
    static const char *const texts[] = {
        TRACE(STEP(0, 0, 600) LAUNCH(1, 100, 10, 1) KERNEL("one", 7, 112, 20, 1)),
        TRACE(STEP(0, 0, 600) LAUNCH(1, 100, 10, 1) KERNEL("zero", 7, 112, 10, 1))};
    rlt_read_options o = options();
    rlt_program *p = NULL;
    char path[128];
    (void)state;
    for (int i = 0; i < 2; i++)
        write_file(names[i], texts[i]);
    if (read_files(2, names, &o, &p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(named(p, "zero")->rank, 0);
    assert_int_equal(named(p, "one")->rank, 1);
    rlt_program_free(p);
    for (int i = 0; i < 2; i++) {
        path_of(names[i], path, sizeof path);
        unlink(path);
    }
}

/* A thread launches on stream 9, then on stream 7, and synchronises from 200 to 503. The kernel of stream 9 ends at 500:
 * the call waits for it, as the other one ended long before, or ends long after. */
static void unnamed_streams(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 5, 1) KERNEL("nine", 9, 112, 388, 1)
                                        LAUNCH(1, 115, 5, 2) KERNEL("seven", 7, 125, 5, 2)
                                            CALL("cudaStreamSynchronize", 1, 200, 303, 9)));
    assert_int_equal(effect(p, "nine"), 1000 * RLT_US);
    assert_int_equal(effect(p, "seven"), (125 + 5 + 1000 - 1000) * RLT_US);
    rlt_program_free(p);
    p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 5, 1) KERNEL("nine", 9, 112, 388, 1) LAUNCH(
        1, 115, 5, 2) KERNEL("seven", 7, 125, 775, 2) CALL("cudaStreamSynchronize", 1, 200, 303, 9)));
    assert_int_equal(effect(p, "nine"), 1000 * RLT_US);
    assert_int_equal(effect(p, "seven"), (125 + 775 + 1000 - 1000) * RLT_US);
    rlt_program_free(p);
}

/* An event without a time is left out, and counted. */
static void no_time(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 600) LAUNCH(1, 100, 10, 1) KERNEL(
        "k", 7, 112, 10, 1) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"lost\",\"pid\":0,\"tid\":7,"
                            "\"args\":{" ON(7, 2) "}},"));
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 1);
    rlt_program_free(p);
}

/* A stream waits for an event that is not recorded, and its next kernel starts at 412. Of the kernel before it on its stream
 * and a collective that ended at 405, the later one explains the start. A longer collective tells which: it begins at 120. */
static void explained_waits(void **state)
{
#define WAITER(lasts)                                                                                        \
    TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("before", 7, 112, lasts, 1) LAUNCH(1, 115, 2, 2)      \
              EVENT("kernel", "ncclDevKernel_Generic", 0, 20, 120, 285,                                      \
                    ON(20, 2) ",\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"dtype\":\"Float\"")  \
                  CALL("cudaStreamWaitEvent", 1, 140, 2, 3) LAUNCH(1, 150, 5, 4)                             \
                      KERNEL("waiter", 7, 412, 20, 4))
    static const struct {
        const char *text;
        int start; /* with a collective of 1000 us */
    } rows[] = {{WAITER(298), 412}, {WAITER(292), 120 + 1000 + 412 - 405}};
#undef WAITER
    (void)state;
    for (int i = 0; i < 2; i++) {
        rlt_program *p = read_one(rows[i].text);
        played v = play(p, 1000 * RLT_US, true);
        assert_int_equal(v.start[named(p, "waiter") - p->ops], rows[i].start * RLT_US);
        played_free(&v);
        rlt_program_free(p);
    }
}

/* backward() from 310 to 700, in which the main thread's first event is work for the engine, from 650 to 670. The engine's
 * thread waits for the device from 400 to 600, of which it needs the last microsecond. */
static void main_works_for_the_engine(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) OP("autograd::engine::evaluate_function: A", 2, 310, 200)
                                        OP("autograd::engine::evaluate_function: B", 2, 550, 150)
                                            OP("autograd::engine::evaluate_function: C", 1, 650, 20)
                                                LAUNCH(2, 350, 10, 1) KERNEL("grad", 7, 361, 238, 1)
                                                    CALL("cudaStreamSynchronize", 2, 400, 200, 5)));
    assert_int_equal(total(p, RLT_OP_HOST), (310 + 20 + 300 + 90 + 101) * RLT_US);
    rlt_program_free(p);
}

/* The same call, beside one kernel alone. It ended before: the host waits for it, and counts the rest of the call as its own
 * work. It ends after the call: the call keeps its time, and no wait is dropped, as none was meant. */
static void calls_beside_one_kernel(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 5, 1) KERNEL("k", 7, 112, 18, 1)
                                        CALL("cudaStreamSynchronize", 1, 200, 303, 9)));
    assert_int_equal(total(p, RLT_OP_HOST), 1000 * RLT_US);
    assert_int_equal(total(p, RLT_OP_DELAY), (112 - 105) * RLT_US);
    assert_int_equal(effect(p, "k"), (112 + 18 + 1000 + 800 - 1000) * RLT_US);
    rlt_program_free(p);
    p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 5, 1) KERNEL("k", 7, 112, 788, 1)
                           CALL("cudaStreamSynchronize", 1, 200, 303, 9)));
    assert_int_equal(total(p, RLT_OP_HOST), (1000 - 303) * RLT_US);
    assert_int_equal(total(p, RLT_OP_DELAY), (112 - 105 + 303) * RLT_US);
    assert_int_equal(noted(p, "contradicts"), 0);
    rlt_program_free(p);
}

/* Stream 7 waits twice for a copy that ends at 400. What begins before its end did not wait for it, but the next one did. A
 * wait that holds already is not said twice. */
static void waits_for_one_copy(void **state)
{
#define COPIED(first, second)                                                                                \
    TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("copy", 9, 112, 288, 1)                               \
              CALL("cudaStreamWaitEvent", 1, 120, 2, 2) LAUNCH(1, 140, 10, 5) KERNEL("one", 7, first, 20, 5) \
                  CALL("cudaStreamWaitEvent", 1, 160, 2, 6) LAUNCH(1, 180, 10, 7)                            \
                      KERNEL("two", 7, second, 20, 7))
    (void)state;
    rlt_program *p = read_one(COPIED(152, 402));
    assert_int_equal(noted(p, "contradicts"), 1);
    assert_int_equal(effect(p, "copy"), (402 + 20 + 1000 - 900) * RLT_US);
    rlt_program_free(p);
    p = read_one(COPIED(400, 420));
    assert_int_equal(noted(p, "contradicts"), 0);
    assert_int_equal(effect(p, "copy"), (420 + 20 + 1000 - 900) * RLT_US);
    const rlt_op *copy = named(p, "copy"), *one = named(p, "one"), *two = named(p, "two");
    bool told = false;
    for (uint32_t d = 0; d < one->n_deps; d++)
        told = told || p->deps[one->first_dep + d] == copy - p->ops;
    assert_true(told);
    for (uint32_t d = 0; d < two->n_deps; d++)
        assert_int_not_equal(p->deps[two->first_dep + d], copy - p->ops);
    rlt_program_free(p);
#undef COPIED
}

#define COMMS(thread, ts, dur, what)                                                                         \
    EVENT("cpu_op", "record_param_comms", 1, thread, ts, dur, "\"Collective name\":\"" what "\"")
#define SUM(ts, dur, n)                                                                                      \
    EVENT("kernel", "ncclDevKernel_Generic", 0, 20, ts, dur,                                                 \
          ON(20, n) ",\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"dtype\":\"Float\"")

/* A stream waits at 120. Beside a call of a collective it waits for the copy on the other stream, which ended at 400. Inside
 * the wait for a collective it does not, nor inside a call that launches one: that is NCCL's own stream. */
static void waits_inside_calls(void **state)
{
    static const struct {
        const char *calls;
        bool waits;
    } rows[] = {
        {"", true},
        {COMMS(1, 120, 5, "wait"), false},
        {COMMS(1, 115, 5, "wait"), false},
        {COMMS(1, 115, 4, "wait"), true},
        {COMMS(1, 121, 9, "wait"), true},
        {COMMS(2, 115, 9, "wait"), true},
        {COMMS(1, 115, 9, "allreduce"), false},
        {COMMS(1, 50, 9, "wait") COMMS(1, 60, 9, "wait") COMMS(1, 115, 9, "wait") COMMS(2, 50, 9, "wait"),
         false},
        {COMMS(1, 115, 9, "wait") COMMS(1, 150, 9, "wait") COMMS(2, 10, 9, "wait") COMMS(2, 119, 3, "wait"),
         false},
        {COMMS(1, 50, 9, "wait") COMMS(1, 150, 9, "wait") COMMS(2, 119, 3, "wait"), true},
        {COMMS(1, 118, 18, "allreduce") LAUNCH(1, 125, 2, 9) SUM(500, 5, 9), false},
        {COMMS(1, 90, 25, "allreduce") LAUNCH(1, 92, 2, 9) SUM(500, 5, 9), true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4000];
        snprintf(text, sizeof text,
                 TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("copy", 9, 112, 288, 1)
                           CALL("cudaStreamWaitEvent", 1, 120, 2, 2) "%s" LAUNCH(1, 140, 10, 5)
                               KERNEL("waiter", 7, 402, 200, 5)),
                 rows[i].calls);
        rlt_program *p = read_one(text);
        rlt_op *copy = named(p, "copy");
        copy->duration_ps += 1000 * RLT_US;
        played v = play(p, 5 * RLT_US, true);
        rlt_time start = v.start[named(p, "waiter") - p->ops];
        if (start != (rows[i].waits ? 1402 : 402) * RLT_US)
            fail_msg("row %zu: the waiter begins at %lld ps", i, (long long)start);
        played_free(&v);
        rlt_program_free(p);
    }
}

/* Collectives end at 150 and 190. The host waits for one, then for another one, long after: each time it is the oldest that
 * was not waited for yet. Collectives of 1000 us, one after the other, tell which. */
static void oldest_collectives(void **state)
{
    static const struct {
        const char *second; /* around the second stream wait */
        int start;          /* of the work behind it */
    } rows[] = {{COMMS(1, 499, 9, "wait"), 120 + 1000 + 10 + 1000 + 12}, {"", 1132 + 20 + 12}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4000];
        snprintf(text, sizeof text,
                 TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 5, 1) SUM(120, 30, 1) LAUNCH(1, 106, 5, 2)
                           SUM(160, 30, 2) COMMS(1, 299, 9, "wait") CALL("cudaStreamWaitEvent", 1, 300, 2, 3)
                               LAUNCH(1, 380, 10, 4)
                                   KERNEL("one", 7, 402, 20, 4) "%s" CALL("cudaStreamWaitEvent", 1, 500, 2, 5)
                                       LAUNCH(1, 580, 10, 6) KERNEL("two", 7, 602, 20, 6)),
                 rows[i].second);
        rlt_program *p = read_one(text);
        played v = play(p, 1000 * RLT_US, true);
        assert_int_equal(v.start[named(p, "one") - p->ops], (120 + 1000 + 12) * RLT_US);
        assert_int_equal(v.start[named(p, "two") - p->ops], rows[i].start * RLT_US);
        played_free(&v);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_length),
                                       cmocka_unit_test(no_time),
                                       cmocka_unit_test(named_ranks),
                                       cmocka_unit_test(unnamed_streams),
                                       cmocka_unit_test(explained_waits),
                                       cmocka_unit_test(main_works_for_the_engine),
                                       cmocka_unit_test(calls_beside_one_kernel),
                                       cmocka_unit_test(waits_for_one_copy),
                                       cmocka_unit_test(waits_inside_calls),
                                       cmocka_unit_test(oldest_collectives)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
