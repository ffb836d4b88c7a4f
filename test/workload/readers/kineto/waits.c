/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a call that names no stream waits for, events without a time or a length, and ranks that only names tell: small
 * recordings, whose programs are worked out by hand. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_length),       cmocka_unit_test(no_time),
        cmocka_unit_test(named_ranks),     cmocka_unit_test(unnamed_streams),
        cmocka_unit_test(explained_waits), cmocka_unit_test(main_works_for_the_engine)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
