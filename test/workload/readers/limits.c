/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers of tables and graphs at their limits: the last one is read, the next one is refused at its line.
 * Sizes of jobs that several sources give: options count before the file, and the file before the topology.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

static int try_text(const char *text, const rlt_read_options *o, rlt_program **p, rlt_error *err)
{
    char path[] = "/tmp/ringlet-limits-XXXXXX";
    const char *list = path;
    *err = (rlt_error){0};
    *p = NULL;
    test_write_new(path, text, strlen(text));
    int rc = rlt_trace_read(&list, 1, o, p, err);
    unlink(path);
    return rc;
}

#define ASTRA(a, b, c, d, e) "DATA\n1\na -1 " a " NONE " b " 50 NONE 0 " c " ALLREDUCE " d " " e "\n"
#define TABLE(row)           "dp_rank,stage,step,optype,start_ts,duration,seq_id\n" row "\n"
#define COLUMNS              "comm_type,comm_group,comm_group_size,msg_size,stage,_elapsed_time\n"
#define AICB(bytes, ms)      "[rank0 ~ rank1]\n" COLUMNS "all_reduce,x,," bytes ",s," ms "\n"
#define GRAPH(id, f, b, size, p)                                                                             \
    "node" id " -- A -- forward_compute_time=" f ", backward_compute_time=" b ", activation_size=" size      \
    ", parameter_size=" p

static void numbers_have_limits(void **state)
{
    static const struct {
        const char *text, *last, *next, *where, *says; /* text: with %s */
    } all[] = {
        {ASTRA("%s", "0", "5", "8", "7"), "1000000000000000", "1000000000000001", ":3",
         "above 1000000000000000"},
        {ASTRA("5", "%s", "5", "8", "7"), "281474976710656", "281474976710657", ":3",
         "above 281474976710656"},
        {ASTRA("5", "0", "%s", "8", "7"), "1000000000000000", "1000000000000001", ":3",
         "above 1000000000000000"},
        {ASTRA("5", "0", "5", "%s", "7"), "281474976710656", "281474976710657", ":3",
         "above 281474976710656"},
        {ASTRA("5", "0", "5", "8", "%s"), "1000000000000000", "1000000000000001", ":3",
         "above 1000000000000000"},
        {"DATA\n%s\na -1 5 NONE 0 5 NONE 0 5 NONE 0 7\n", "1048576", "1048577", ":2", "above 1048576"},
        {TABLE("0,0,1,x,0,1,%s"), "1048575", "1048576", ":2", "seq_id"},
        {TABLE("0,0,%s,x,0,1,0"), "9007199254740992", "9007199254740993", ":2", "step"},
        {TABLE("0,0,1,x,%s,1,0"), "1000000", "1000000.1", ":2", "start_ts"},
        {TABLE("0,0,1,x,0,%s,0"), "1000000", "1000000.1", ":2", "duration"},
        {AICB("%s", "1"), "281474976710656", "281474976710657", ":3", "msg_size"},
        {AICB("5", "%s"), "1000000000", "1000000000.1", ":3", "up to 10^9"},
        {GRAPH("1", "%s", "0", "1", "1"), "1000000000", "1000000000.1", ":1", "too large"},
        {GRAPH("1", "0", "%s", "1", "1"), "1000000000", "1000000000.1", ":1", "too large"},
        {GRAPH("1", "1", "0", "%s", "1"), "281474976710656", "281474976710657", ":1", "too large"},
        {GRAPH("1", "1", "0", "[%s; 1]", "1"), "281474976710655", "281474976710656", ":1", "too large"},
        {GRAPH("1", "1", "0", "1", "%s"), "281474976710656", "281474976710657", ":1", "too large"},
        {GRAPH("1", "1", "0", "1", "1 -- stage_id=%s"), "0", "4096", ":1", "too large"},
        {GRAPH("1", "1", "0", "1", "1 -- stage_id=%s"), "0", "0.0", ":1", "a stage"},
        {GRAPH("1", "1", "0", "1", "1 -- stage_id=%s"), "0", "0x", ":1", "a stage"},
        {GRAPH("1", "1", "0", "1", "1%s"), "", ", x", ":1", "the end of the line"},
        {GRAPH("%s", "1", "0", "1", "1"), "_", "", ":1", "a node"},
    };
    const rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int next = 0; next < 2; next++) {
            const char *at = strstr(all[i].text, "%s");
            char text[600];
            rlt_program *p;
            rlt_error err;
            snprintf(text, sizeof text, "%.*s%s%s", (int)(at - all[i].text), all[i].text,
                     next ? all[i].next : all[i].last, at + 2);
            int rc = try_text(text, &o, &p, &err);
            if ((rc != 0) != next ||
                (next && (!strstr(err.where, all[i].where) || !strstr(err.what, all[i].says))))
                fail_msg("%d: %s: %s\n%s", rc, err.where, err.what, text);
            rlt_program_free(p);
        }
    (void)state;
}

/* An all-gather of shares that add up to 2^56 bytes, and to more. */
static void sums_have_limits(void **state)
{
    static const char form[] = "MODEL\n1\na -1 5 ALLGATHER %s 5 NONE 0 5 NONE 0 7\n";
    (void)state;
    for (uint32_t more = 0; more < 3; more++) {
        rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = 256 + more};
        char text[200];
        rlt_program *p;
        rlt_error err;
        snprintf(text, sizeof text, form, "281474976710656");
        int rc = try_text(text, &o, &p, &err);
        assert_int_equal(rc, more ? RLT_ERANGE : 0);
        if (more)
            assert_true(strstr(err.what, "more than 2^56 bytes") && strstr(err.where, ":3"));
        else
            assert_int_equal(p->comms[0].bytes, (uint64_t)1 << 56);
        rlt_program_free(p);
    }
}

/* A message quotes 80 bytes of a line at most. */
static void quotes_are_short(void **state)
{
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    (void)state;
    for (size_t n = 79; n <= 82; n++)
        for (int digits = 0; digits < 2; digits++) {
            char word[100] = "", text[400], quoted[100];
            rlt_program *p;
            rlt_error err;
            memset(word, digits ? '9' : 'z', n);
            snprintf(text, sizeof text, GRAPH("1", "%s", "0", "1", "1"), word);
            if (!digits) /* what stands at the place of a number, to the end of the line */
                snprintf(text, sizeof text, "node1 -- A -- forward_compute_time=%s", word);
            assert_true(try_text(text, &o, &p, &err) < 0);
            snprintf(quoted, sizeof quoted, "'%.80s'", word);
            if (!strstr(err.what, quoted))
                fail_msg("%zu: %s", n, err.what);
        }
}

/* The number of ranks: that of the options, else of the file, else of the topology, else one that is enough.
 * */
static void who_says_the_ranks(void **state)
{
    static const struct {
        const char *keys;
        uint32_t ranks, dims[2], expected;
    } all[] = {
        {"all_gpus: 8", 0, {0, 0}, 8}, {"all_gpus: 8", 4, {0, 0}, 4}, {"all_gpus: 8", 0, {2, 3}, 8},
        {"ep: 1", 0, {2, 3}, 6},       {"ep: 1", 12, {2, 3}, 12},     {"ep: 1", 0, {0, 0}, 2},
        {"pp: 3", 0, {0, 0}, 6},       {"ep: 2", 0, {0, 0}, 4},       {"ep: 1", 0, {4096, 4097}, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = all[i].ranks};
        char text[300];
        rlt_program *p;
        rlt_error err;
        o.n_dims = all[i].dims[0] ? 2 : 0;
        o.dims[0] = all[i].dims[0];
        o.dims[1] = all[i].dims[1];
        snprintf(text, sizeof text,
                 "HYBRID_TRANSFORMER model_parallel_NPU_group: %d %s\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 7\n",
                 strcmp(all[i].keys, "ep: 1") == 0 ? 1 : 2, all[i].keys);
        if (try_text(text, &o, &p, &err))
            fail_msg("%s: %s: %s", all[i].keys, err.where, err.what);
        assert_int_equal(p->n_ranks, all[i].expected);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(sums_have_limits),
        cmocka_unit_test(quotes_are_short),
        cmocka_unit_test(who_says_the_ranks),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
