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

/* A thread that launched nothing synchronises, and launches 7 us later: it waits for the stream on which any thread launched
 * last, which is busy until 450, and not for the other one, until 500. */
static void streams_of_other_threads(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 5, 1) KERNEL("nine", 9, 112, 388, 1)
                                        LAUNCH(1, 115, 5, 2) KERNEL("seven", 7, 125, 325, 2)
                                            CALL("cudaStreamSynchronize", 2, 200, 303, 9) LAUNCH(2, 510, 5, 3)
                                                KERNEL("after", 11, 520, 580, 3)));
    assert_int_equal(effect(p, "seven"), 1000 * RLT_US);
    assert_int_equal(effect(p, "nine"), (112 + 388 + 1000 - 1100) * RLT_US);
    rlt_program_free(p);
}

/* An event without a time is left out, and counted. */
static void no_time(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, -9, 609) LAUNCH(1, 100, 10, 1) KERNEL(
        "k", 7, 112, 10, 1) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"lost\",\"pid\":0,\"tid\":7,"
                            "\"dur\":9,\"args\":{" ON(7, 2) "}},"));
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 1);
    assert_int_equal(noted(p, "events without a time ignored"), 1);
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
        {COMMS(2, 50, 9, "wait") COMMS(1, 150, 9, "wait") COMMS(1, 115, 9, "wait") COMMS(1, 50, 9, "wait"),
         false},
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

/* A stream waits when a launch on it is called: the next launch waits, and this one does not. */
static void waits_beside_launches(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("copy", 9, 112, 288, 1)
                                        LAUNCH(1, 140, 10, 5) CALL("cudaStreamWaitEvent", 1, 140, 0, 2)
                                            KERNEL("one", 7, 402, 20, 5) LAUNCH(1, 180, 10, 7)
                                                KERNEL("two", 7, 425, 20, 7)));
    named(p, "copy")->duration_ps += 1000 * RLT_US;
    played v = play(p, 0, true);
    assert_int_equal(v.start[named(p, "one") - p->ops], 402 * RLT_US);
    assert_int_equal(v.start[named(p, "two") - p->ops], (1400 + 425 - 422) * RLT_US);
    played_free(&v);
    rlt_program_free(p);
}

/* Thread 2 launched last, on stream 9. A synchronisation of thread 1 is with stream 7, where it launched itself, if its work
 * ended inside the call, or before a call of 20 us at most; else with what ended inside. Without launches of its own it is
 * with stream 9. */
static void whose_stream(void **state)
{
#define BOTH_LAUNCH(own, seven, nine, from, lasts)                                                           \
    TRACE(STEP(0, 0, 1000) LAUNCH(own, 100, 5, 1) KERNEL("seven", 7, 112, seven, 1) LAUNCH(2, 120, 5, 2)     \
              KERNEL("nine", 9, 132, nine, 2) CALL("cudaStreamSynchronize", 1, from, lasts, 9))
    static const struct {
        const char *text, *name; /* the kernel that is waited for; NULL: none */
    } rows[] = {
        {BOTH_LAUNCH(1, 188, 368, 200, 305), "seven"}, /* ends at 300, nine at 500 */
        {BOTH_LAUNCH(1, 88, 368, 485, 20), "seven"},   {BOTH_LAUNCH(1, 88, 368, 484, 21), "nine"},
        {BOTH_LAUNCH(1, 87, 68, 200, 305), "seven"}, /* nine ends as the call begins */
        {BOTH_LAUNCH(2, 188, 368, 200, 305), "nine"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 2; k++) {
            const char *name = k ? "nine" : "seven";
            rlt_program *p = read_one(rows[i].text);
            const rlt_op *o = named(p, name);
            played before = play(p, 0, true);
            rlt_time spare = before.rank_end[0] - before.end[o - p->ops];
            played_free(&before);
            rlt_time later = effect(p, name);
            if ((later > 1000 * RLT_US - spare) != (strcmp(name, rows[i].name) == 0))
                fail_msg("row %zu: with %s later, %lld ps, spare %lld ps", i, name, (long long)later,
                         (long long)spare);
            rlt_program_free(p);
        }
#undef BOTH_LAUNCH
}

/* The engine works on thread 2 from 310 to 450, and from 420 on thread 3, which begins when thread 2 has come that far: after
 * the wait for a kernel, of which it needs the last microsecond. */
static void threads_of_the_engine(void **state)
{
    (void)state;
    rlt_program *p =
        read_one(TRACE(STEP(0, 0, 1000) OP("autograd::engine::evaluate_function: A", 2, 310, 140)
                           OP("autograd::engine::evaluate_function: B", 3, 420, 280) LAUNCH(2, 320, 5, 1)
                               KERNEL("grad", 7, 331, 68, 1) CALL("cudaStreamSynchronize", 2, 340, 60, 5)));
    played v = play(p, 0, true);
    assert_int_equal(v.rank_end[0], 1000 * RLT_US);
    played_free(&v);
    assert_int_equal(total(p, RLT_OP_HOST), (310 + (450 - 310 - 59) + (700 - 420) + 300) * RLT_US);
    assert_int_equal(effect(p, "grad"), 1000 * RLT_US);
    rlt_program_free(p);
}

/* Work of the engine on the main thread is that, whatever else bears its times. */
static void the_engine_comes_first(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        const char *engine = OP("autograd::engine::evaluate_function: C", 1, 650, 20),
                   *plain = OP("aten::mul", 1, 650, 20);
        char text[2000];
        snprintf(text, sizeof text,
                 TRACE(STEP(0, 0, 1000) "%s%s" OP("autograd::engine::evaluate_function: A", 2, 310, 390)),
                 swapped ? plain : engine, swapped ? engine : plain);
        rlt_program *p = read_one(text);
        /* both threads work while the main thread works for the engine */
        assert_int_equal(total(p, RLT_OP_HOST), (310 + 20 + 300 + 390) * RLT_US);
        rlt_program_free(p);
    }
}

/* The host's time is cut where a step begins, and each part is of its step. */
static void steps_cut_the_host(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 500) STEP(1, 500, 300) STEP(2, 800, 100) OP("a", 1, 5, 800)));
    assert_int_equal(p->n_ops, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(p->ops[i].kind, RLT_OP_HOST);
        assert_string_equal(rlt_program_string(p, p->ops[i].name), "host");
        assert_int_equal(p->ops[i].step, i);
        assert_int_equal(p->ops[i].duration_ps, (i == 0 ? 500 : i == 1 ? 300 : 100) * RLT_US);
    }
    rlt_program_free(p);
}

/* Thread 2 is first seen at 300, while the main thread waits until 500: no operation leads there, but a moment of the second
 * step does. */
static void a_moment_of_its_step(void **state)
{
    uint32_t moments = 0;
    (void)state;
    rlt_program *p =
        read_one(TRACE(STEP(0, 0, 250) STEP(1, 250, 750) LAUNCH(1, 20, 5, 1) KERNEL("k", 7, 32, 468, 1) CALL(
            "cudaDeviceSynchronize", 1, 100, 403, 9) LAUNCH(2, 295, 5, 2) KERNEL("l", 9, 312, 10, 2)));
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_DELAY && p->ops[i].duration_ps == 300 * RLT_US) {
            assert_int_equal(p->ops[i].step, 1);
            assert_int_equal(p->ops[i].n_deps, 0);
            moments++;
        }
    assert_int_equal(moments, 1);
    assert_int_equal(noted(p, "contradicts"), 1);
    rlt_program_free(p);
}

/* A launch as the first step begins is one of that step; one before it only runs there. */
static void launched_at_the_begin(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 50, 600) LAUNCH(1, 50, 10, 1) KERNEL("k", 7, 62, 20, 1)));
    assert_int_equal(total(p, RLT_OP_DELAY), 2 * RLT_US);
    rlt_program_free(p);
    p = read_one(TRACE(STEP(0, 50, 600) LAUNCH(1, 49, 10, 1) KERNEL("k", 7, 62, 20, 1)));
    assert_int_equal(total(p, RLT_OP_DELAY), 12 * RLT_US);
    rlt_program_free(p);
}

/* A stream waits for an event of correlation 0, recorded before the longer of two kernels: not for that one. */
static void the_first_correlation(void **state)
{
    (void)state;
    rlt_program *p = read_one(
        TRACE(STEP(0, 0, 500) LAUNCH(1, 100, 10, 1) KERNEL("first", 9, 112, 288, 1)
                  CALL("cudaEventRecord", 1, 120, 2, 0) LAUNCH(1, 125, 5, 3) KERNEL("later", 9, 401, 3, 3)
                      CALL("cudaStreamWaitEvent", 1, 135, 2, 4)
                          EVENT("cuda_sync", "Stream Wait Event", 0, 7, 136, 1,
                                "\"cuda_sync_kind\":\"Stream Wait Event\",\"stream\":7,\"wait_on_stream\":9,"
                                "\"wait_on_cuda_event_record_corr_id\":0,\"correlation\":4,\"device\":0")
                              LAUNCH(1, 140, 10, 5) KERNEL("waiter", 7, 405, 45, 5)));
    named(p, "first")->duration_ps += 1000 * RLT_US;
    named(p, "later")->duration_ps += 7000 * RLT_US;
    played v = play(p, 0, true);
    assert_int_equal(v.start[named(p, "waiter") - p->ops], 1405 * RLT_US);
    played_free(&v);
    rlt_program_free(p);
}

/* What threads call at one time is taken thread by thread, in the order in which a recording names them. */
static void at_one_time(void **state)
{
    (void)state;
    rlt_program *p =
        read_one(TRACE(STEP(0, 0, 900) OP("a", 2, 10, 5) OP("b", 3, 20, 5) LAUNCH(3, 100, 10, 1)
                           LAUNCH(2, 100, 10, 2) LAUNCH(1, 100, 10, 3) KERNEL("three", 7, 112, 20, 1)
                               KERNEL("two", 8, 112, 20, 2) KERNEL("one", 9, 112, 20, 3)));
    assert_true(named(p, "one") < named(p, "two"));
    assert_true(named(p, "two") < named(p, "three"));
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_length),
                                       cmocka_unit_test(no_time),
                                       cmocka_unit_test(named_ranks),
                                       cmocka_unit_test(unnamed_streams),
                                       cmocka_unit_test(streams_of_other_threads),
                                       cmocka_unit_test(explained_waits),
                                       cmocka_unit_test(main_works_for_the_engine),
                                       cmocka_unit_test(calls_beside_one_kernel),
                                       cmocka_unit_test(waits_for_one_copy),
                                       cmocka_unit_test(waits_inside_calls),
                                       cmocka_unit_test(oldest_collectives),
                                       cmocka_unit_test(waits_beside_launches),
                                       cmocka_unit_test(whose_stream),
                                       cmocka_unit_test(threads_of_the_engine),
                                       cmocka_unit_test(the_engine_comes_first),
                                       cmocka_unit_test(steps_cut_the_host),
                                       cmocka_unit_test(a_moment_of_its_step),
                                       cmocka_unit_test(the_first_correlation),
                                       cmocka_unit_test(at_one_time),
                                       cmocka_unit_test(launched_at_the_begin)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
