/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings at the bounds of what is read, and what is said of those beyond: times, and ranks of groups. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* A step of 10 us that begins at `us`, and its kernel. */
static void write_at(const char *name, int rank, long long us)
{
    char text[1000];
    snprintf(text, sizeof text,
             "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"traceEvents\":["
             "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#0\",\"pid\":1,\"tid\":1,"
             "\"ts\":%lld,\"dur\":10},"
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%lld,\"dur\":1,"
             "\"args\":{\"stream\":7,\"device\":0}}]}",
             rank, us, us + 2);
    write_file(name, text);
}

/* Clocks of one run differ by 2^60 ps at most, half of what can be simulated. */
static void far_clocks(void **state)
{
    static const char *const names[] = {"0.json", "1.json"};
    const long long most = (1LL << 60) / 1000000;
    (void)state;
    for (int beyond = 0; beyond < 2; beyond++)
        for (int swapped = 0; swapped < 2; swapped++) {
            rlt_read_options o = options();
            rlt_program *p = NULL;
            write_at("0.json", 0, swapped ? 5 + most + beyond : 5);
            write_at("1.json", 1, swapped ? 5 : 5 + most + beyond);
            assert_int_equal(read_files(2, names, &o, &p), beyond ? RLT_ERANGE : 0);
            if (beyond) {
                assert_non_null(strstr(err.what, "more than 13 days"));
                continue;
            }
            assert_int_equal(p->rank_start_ps[swapped], 0);
            assert_int_equal(p->rank_start_ps[!swapped], most * RLT_US);
            rlt_program_free(p);
        }
}

/* Work may begin so long after the steps that launched it, and no later. */
static void late_work(void **state)
{
    const long long most = (1LL << 60) / 1000000;
    (void)state;
    for (int beyond = 0; beyond < 2; beyond++) {
        char text[1000];
        const char *name = "one.json";
        rlt_read_options o = options();
        rlt_program *p = NULL;
        snprintf(text, sizeof text,
                 "{\"traceEvents\":[" STEP(0, 0, 10) LAUNCH(
                     1, 5, 1, 1) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                                 "\"k\",\"pid\":0,\"tid\":7,\"ts\":%lld,\"dur\":1,\"args\":{" ON(7, 1) "}}]}",
                 10 + most + beyond);
        write_file(name, text);
        assert_int_equal(read_files(1, &name, &o, &p), beyond ? RLT_ERANGE : 0);
        if (beyond)
            assert_non_null(strstr(err.what, "13 days after the last step"));
        else
            assert_int_equal(p->rank_recorded_ps[0], (10 + most + 1) * RLT_US);
        rlt_program_free(p);
    }
}

/* A group with a member twice, or with a rank that no job has, is refused where its recording is. */
static void odd_groups(void **state)
{
    static const struct {
        const char *ranks, *says;
    } all[] = {{"[0, 0]", "names rank 0 twice"},
               {"[0, 1]", "rank"},
               {"[0, 16777216]", "rank"},
               {"[0, 16777215]", "rank"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[2000], path[128];
        const char *name = "one.json";
        rlt_read_options o = options();
        rlt_program *p = NULL;
        snprintf(text, sizeof text,
                 "{\"traceEvents\":[" STEP(0, 0, 100) LAUNCH(
                     1, 5, 1,
                     1) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                        "\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":9,\"args\":{" ON(
                            7, 1) ",\"Collective name\":\"allreduce\",\"In msg nelems\":1,"
                                  "\"Out msg nelems\":1,\"dtype\":\"Float\","
                                  "\"Process Group Name\":\"g\",\"Process Group Ranks\":\"%s\"}}]}",
                 all[i].ranks);
        write_file(name, text);
        path_of(name, path, sizeof path);
        assert_true(read_files(1, &name, &o, &p) < 0);
        if (strncmp(err.where, path, strlen(path)) != 0 || !strstr(err.what, all[i].says))
            fail_msg("%s: %s: %s", all[i].ranks, err.where, err.what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_clocks),
        cmocka_unit_test(late_work),
        cmocka_unit_test(odd_groups),
    };
    return cmocka_run_group_tests_name("kineto_refused", tests, make_folder, remove_folder);
}
