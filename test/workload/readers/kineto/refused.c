/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings at the bounds of what is read, and what is said of those beyond: times, and ranks of groups. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
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

/* With its recorded waiting a job may lack ranks: these do nothing. */
static void missing_ranks(void **state)
{
    static const char *const names[] = {"1.json"};
    rlt_read_options o = options();
    rlt_program *p = NULL;
    (void)state;
    o.keep_waits = true;
    write_at("1.json", 1, 5);
    assert_int_equal(read_files(1, names, &o, &p), 0);
    assert_int_equal(p->n_ranks, 2);
    assert_int_equal(p->rank_first[1], 0);
    assert_int_equal(count(p, 1, RLT_OP_COMPUTE), 1);
    rlt_program_free(p);
}

/* Which rank's recording stands for `rank`: the last option that names it, else the first one for all. RLT_NONE: none. */
static uint32_t stand_in(const rlt_replicate *list, uint32_t n, uint32_t rank)
{
    uint32_t found = RLT_NONE;
    for (uint32_t i = n; i-- > 0;)
        if (list[i].rank == RLT_NONE)
            found = list[i].from;
    for (uint32_t i = 0; i < n; i++)
        if (list[i].rank == rank)
            found = list[i].from;
    return found;
}

/* Some ranks of a job have recordings, whose kernels bear their numbers; options replace the others, or do not. */
static void replaced_ranks(void **state)
{
    static const char *const files[] = {"0.json", "1.json", "2.json", "3.json"};
    dice d = {.seed = 23, .stream = 9};
    (void)state;
    for (int round = 0; round < 300; round++) {
        rlt_read_options o = options();
        rlt_replicate list[4];
        rlt_program *p = NULL;
        const char *names[4];
        uint32_t world = 1 + below(&d, 4), n = 0, from[4], missing = RLT_NONE, impossible = RLT_NONE;
        bool there[4] = {false};
        while (n == 0)
            for (uint32_t r = 0; r < world; r++)
                if ((there[r] = below(&d, 2)))
                    names[n++] = files[r];
        for (o.n_replicate = below(&d, 5); n < world && o.n_replicate == 0;)
            o.n_replicate = below(&d, 5);
        for (uint32_t i = 0; i < o.n_replicate; i++)
            list[i] =
                (rlt_replicate){below(&d, 3) ? below(&d, world) : RLT_NONE, below(&d, world + !below(&d, 9))};
        o.replicate = list;
        for (uint32_t r = 0; r < world; r++) {
            char text[600];
            snprintf(text, sizeof text,
                     "{\"distributedInfo\":{\"rank\":%u,\"world_size\":%u},\"traceEvents\":[" STEP(0, 0, 90)
                         LAUNCH(1, 5, 1, 1) KERNEL("k%u", 7, 9, 9, 1) "{\"ph\":\"i\"}]}",
                     r, world, r);
            write_file(files[r], text);
            from[r] = there[r] ? r : stand_in(list, o.n_replicate, r);
            if (from[r] == RLT_NONE)
                missing = missing == RLT_NONE ? r : missing;
            else if (from[r] >= world || !there[from[r]])
                impossible = r;
        }
        int rc = read_files(n, names, &o, &p);
        uint32_t replaced = 0;
        char says[100] = "";
        if (impossible != RLT_NONE)
            snprintf(says, sizeof says, "rank %u cannot be replaced by rank %u", impossible,
                     from[impossible]);
        else if (missing != RLT_NONE)
            snprintf(says, sizeof says, "rank %u of %u is missing", missing, world);
        if (*says ? rc != RLT_ESCHEMA || !strstr(err.what, says) : rc != 0)
            fail_msg("round %d: %d %s, expected '%s'", round, rc, err.what, says);
        for (uint32_t r = 0; r < world && !rc; r++) {
            char name[16];
            snprintf(name, sizeof name, "k%u", from[r]);
            uint32_t seen = 0;
            for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++)
                seen += strcmp(rlt_program_string(p, p->ops[i].name), name) == 0;
            assert_int_equal(seen, 1);
            replaced += from[r] != r;
        }
        assert_int_equal(rc ? 0 : noted(p, "ranks replaced by the recording of another rank"), replaced);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_clocks),     cmocka_unit_test(late_work),     cmocka_unit_test(odd_groups),
        cmocka_unit_test(replaced_ranks), cmocka_unit_test(missing_ranks),
    };
    return cmocka_run_group_tests_name("kineto_refused", tests, make_folder, remove_folder);
}
