/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a call that names no stream waits for, events without a time or a length, and ranks that only names tell: small
 * recordings, whose programs are worked out by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/kineto_text.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_length), cmocka_unit_test(no_time),
                                       cmocka_unit_test(named_ranks), cmocka_unit_test(unnamed_streams)};
    snprintf(dir, sizeof dir, "/tmp/rlt-kineto-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char path[128];
    path_of("one.json", path, sizeof path);
    unlink(path);
    rmdir(dir);
    return failed;
}
