/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every refusal of AICB's lists, word for word with its place, and lists that are just not refused. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "test/support/traces/read_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define COLUMNS "comm_type,comm_group,comm_group_size,msg_size,stage,_elapsed_time\n"
#define TWO     "[rank0 ~ rank1]\n" COLUMNS
#define ROW     "all_reduce,tp_group,2,8,s,1\n"

static void lines_are_refused(void **state)
{
    static const struct {
        const char *text, *where, *what;
        int code;
    } all[] = {
        {TWO "isend,pp_group,2,8,s,1\n", ":3",
         "messages between pipeline stages are not supported, got 'isend'", RLT_EUNSUPPORTED},
        {TWO "CommType.irecv,pp_group,2,8,s,1\n", ":3",
         "messages between pipeline stages are not supported, got 'irecv'", RLT_EUNSUPPORTED},
        {TWO ROW "CommType.shuffle,tp_group,2,8,s,1\n", ":4",
         "expected a kind of communication, computation or epoch_end, got 'shuffle'", RLT_ESCHEMA},
        {TWO "commtype.reduce,tp_group,2,8,s,1\n", ":3",
         "expected a kind of communication, computation or epoch_end, got 'commtype.reduce'", RLT_ESCHEMA},
        {TWO "computation,,,0,s,1ms\n", ":3", "_elapsed_time: expected a time in ms up to 10^9, got '1ms'",
         RLT_EMALFORMED},
        {TWO "computation,,,0,s,1e\n", ":3", "_elapsed_time: expected a time in ms up to 10^9, got '1e'",
         RLT_EMALFORMED},
        {TWO "computation,,,0,s,-0.5\n", ":3", "_elapsed_time: expected a time in ms up to 10^9, got '-0.5'",
         RLT_EMALFORMED},
        {TWO "computation,,,0,s,nan\n", ":3", "_elapsed_time: expected a time in ms up to 10^9, got 'nan'",
         RLT_EMALFORMED},
        {TWO "reduce,tp_group,0,8,s,1\n", ":3",
         "comm_group_size: expected the same size above 0 in all lines of a group, got '0'", RLT_ESCHEMA},
        {TWO ROW "reduce,tp_group,1,8,s,1\n", ":4",
         "comm_group_size: expected the same size above 0 in all lines of a group, got '1'", RLT_ESCHEMA},
        {TWO "reduce,ep_dp_group,2,8,s,1\nreduce,dp_ep_group,1,8,s,1\n", ":4",
         "comm_group_size: expected the same size above 0 in all lines of a group, got '1'", RLT_ESCHEMA},
        {TWO "reduce,tp_group,x,8,s,1\n", ":3:17", "comm_group_size: expected a whole number, got 'x'",
         RLT_EMALFORMED},
        {TWO "reduce,any,x,-1,s,1\n", ":3:14", "msg_size: expected a whole number, got '-1'", RLT_EMALFORMED},
        {TWO "reduce,tp_group,16777217,8,s,1\n", ":3:17", "comm_group_size: '16777217' is above 16777216",
         RLT_ERANGE},
        {TWO "reduce,tp_group,2,8,s\n", ":3", "5 cells under 6 columns", RLT_EMALFORMED},
        {TWO "epoch_end,,,,,\n\n", ":4", "the file has no communication", RLT_ESCHEMA},
        {COLUMNS "reduce,tp_group,2,0,s,1\n", ":2", "the file has no communication", RLT_ESCHEMA},
        {"[rank0 ~ rank1]\ncomm_type,comm_group,msg_size\n", ":2", "the column comm_group_size is missing",
         RLT_ESCHEMA},
        {"comm_type,comm_group,comm_group_size\n", ":1", "the column msg_size is missing", RLT_ESCHEMA},
        {"[rank0 ~ rank1]", "", "is empty", RLT_EMALFORMED},
        {COLUMNS "reduce,any,,8,s,1\n", "",
         "the list does not say how many ranks there are: pass --trace-ranks", RLT_ESCHEMA},
        {COLUMNS "reduce,tp_group,4096,8,s,1\nreduce,dp_group,4096,8,s,1\nreduce,pp_group,2,8,s,1\n", "",
         "the list does not say how many ranks there are: pass --trace-ranks", RLT_ESCHEMA},
        {"[rank0 ~ rank3]\n" COLUMNS ROW "reduce,ep_group,3,8,s,1\n", ":4",
         "4 ranks do not divide into groups of 3 with stride 2", RLT_ESCHEMA},
        {TWO "reduce,pp_group,3,8,s,1\n", ":3", "2 ranks do not divide into groups of 3 with stride 0",
         RLT_ESCHEMA},
        {"[rank0 ~ rank3]\n" COLUMNS "reduce,tp_group,3,8,s,1\nreduce,dp_group,1,8,s,1\n", ":3",
         "4 ranks do not divide into groups of 3 with stride 1", RLT_ESCHEMA},
        {TWO ROW "reduce,dp_group,2,8,s,1\n", ":4", "2 ranks do not divide into groups of 2 with stride 2",
         RLT_ESCHEMA},
        {TWO "reduce,tp_group,4,0,s,1\nreduce,dp_group,,8,s,1\n", ":4",
         "2 ranks do not divide into groups of 1 with stride 4", RLT_ESCHEMA},
        {TWO ROW "reduce,ep_group,2,8,s,1\nreduce,ep_dp_group,1,8,s,1\n", ":4",
         "2 ranks do not divide into groups of 2 with stride 2", RLT_ESCHEMA},
        {TWO "reduce,tp_group,1,8,s,1\nreduce,ep_group,4,8,s,1\n", ":4",
         "2 ranks do not divide into groups of 4 with stride 1", RLT_ESCHEMA},
        {"[rank0 ~ rank16777215]\n" COLUMNS "reduce,any,,8,s,1\ncomputation,,,0,s,1\ncomputation,,,0,s,1\n"
         "computation,,,0,s,1\ncomputation,,,0,s,1\n",
         "", "5 lines on 16777216 ranks exceed 67108864 operations", RLT_ERANGE},
    };
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_refuse_text(&rlt_reader_aicb, all[i].text, &o, all[i].code, all[i].where, all[i].what);
}

static void steps_are_refused(void **state)
{
    static const struct {
        int first, last;
        const char *says;
    } all[] = {{0, 2, "0:2"}, {2, 2, "2:2"}, {1, 0, "1:0"}, {-1, 5, "0:5"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char what[100];
        const rlt_read_options o = {.first_step = all[i].first, .last_step = all[i].last};
        snprintf(what, sizeof what, "expected steps within the recorded 0:1, got %s", all[i].says);
        test_refuse_text(&rlt_reader_aicb, TWO ROW "epoch_end,,,,,\n" ROW "epoch_end,,,,,\n", &o, RLT_ERANGE,
                         "", what);
    }
}

/* The first line, as written up to its end, and what a list says without its columns. */
static void first_lines_are_refused(void **state)
{
    static const char *const lines[] = {"[rank0 ~ rank16777216]",
                                        "[rank1 ~ rank2]",
                                        "[rank0 ~ rank1] ",
                                        "[rank0 - rank1]",
                                        "[rank0 ~ rank]",
                                        "[rank0 ~ rank1",
                                        "[rank00000000 ~ rank1]",
                                        "[",
                                        "[rank0 ~ rank1]-----------------------------------------------"};
    const rlt_read_options options[] = {{.first_step = -1, .last_step = -1},
                                        {.first_step = -1, .last_step = -1, .n_ranks = 2}};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t o = 0; o < 2; o++) {
            char text[300], what[120];
            snprintf(text, sizeof text, "%s%s\n" COLUMNS ROW, lines[i], o ? "\r" : "");
            snprintf(what, sizeof what, "line 1: expected [rank0 ~ rankN], got '%s'", lines[i]);
            test_refuse_text(&rlt_reader_aicb, text, &options[o], RLT_EMALFORMED, "", what);
        }
    char text[300], what[120];
    snprintf(text, sizeof text, "[rank0 ~ rank1]%070d\n" COLUMNS ROW, 0);
    snprintf(what, sizeof what, "line 1: expected [rank0 ~ rankN], got '[rank0 ~ rank1]%048d'", 0);
    test_refuse_text(&rlt_reader_aicb, text, &options[0], RLT_EMALFORMED, "", what);
    test_refuse_text(&rlt_reader_aicb, "[", &options[0], RLT_EMALFORMED, "",
                     "line 1: expected [rank0 ~ rankN], got '['");
}

/* As many ranks as there may be, of which options take two; and without them the product of groups. */
static void ranks_up_to_the_limit(void **state)
{
    static const struct {
        const char *text;
        uint32_t asked, dims[2], ranks; /* ranks 0: too many */
    } all[] = {
        {"[rank0 ~ rank16777215]\n" COLUMNS ROW, 2, {0, 0}, 2},
        {COLUMNS "reduce,tp_group,1,8,s,1\n", 0, {5, 7}, 1},
        {COLUMNS "reduce,any,,8,s,1\n", 0, {5, 7}, 35},
        {COLUMNS "reduce,any,,8,s,1\n", 0, {1, 1}, 1},
        {COLUMNS "reduce,any,,8,s,1\n", 0, {4096, 4097}, 0},
        {COLUMNS "reduce,any,,8,s,1\n", 3, {4096, 4097}, 3},
        {COLUMNS "reduce,pp_group,3,8,s,1\n", 0, {0, 0}, 3},
        {COLUMNS "reduce,pp_group,3,8,s,1\n", 6, {0, 0}, 6},
        {COLUMNS "reduce,dp_group,3,8,s,1\nreduce,ep_group,3,8,s,1\n", 0, {0, 0}, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[TEST_PATH];
        rlt_program *p;
        rlt_error err;
        rlt_read_options o = {.first_step = -1,
                              .last_step = -1,
                              .n_ranks = all[i].asked,
                              .n_dims = all[i].dims[0] ? 2 : 0,
                              .dims = {all[i].dims[0], all[i].dims[1]}};
        if (all[i].ranks == 0) {
            test_refuse_text(&rlt_reader_aicb, all[i].text, &o, RLT_ESCHEMA, "",
                             "the list does not say how many ranks there are: pass --trace-ranks");
            continue;
        }
        if (test_read_text(&rlt_reader_aicb, all[i].text, &o, path, &p, &err))
            fail_msg("%s: %s\n%s", err.where, err.what, all[i].text);
        assert_int_equal(p->n_ranks, all[i].ranks);
        rlt_program_free(p);
    }
}

static void one_file_is_expected(void **state)
{
    static const char *const paths[] = {"a.csv", "b.csv"};
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    (void)state;
    for (uint32_t n = 0; n <= 2; n += 2) {
        rlt_program *p = NULL;
        rlt_error err = {0};
        assert_int_equal(rlt_reader_aicb.read(paths, n, &o, &p, &err), RLT_EUSAGE);
        assert_string_equal(err.where, n ? "b.csv" : "");
        assert_string_equal(err.what, "expected one AICB file for all ranks");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_refused),       cmocka_unit_test(steps_are_refused),
        cmocka_unit_test(first_lines_are_refused), cmocka_unit_test(ranks_up_to_the_limit),
        cmocka_unit_test(one_file_is_expected),
    };
    return cmocka_run_group_tests_name("aicb_refused", tests, NULL, NULL);
}
