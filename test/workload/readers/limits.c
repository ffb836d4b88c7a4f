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
#define SIMAI(keys)          "HYBRID_TRANSFORMER all_gpus: 2 " keys "\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 7\n"
#define SIMAI_ROW(end)                                                                                       \
    "MICRO ep: 1\n2\nmicro_test -1 5 NONE 0 5 NONE 0 5 NONE 0 " end "\nb -1 5 NONE 0 5 NONE 0 5 NONE 0 7\n"
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
        {SIMAI("vpp: %s"), "16777216", "16777217", ":1", "vpp:: '16777217' is above 16777216"},
        {SIMAI("ga: %s"), "16777216", "16777217", ":1", "ga:: '16777217' is above 16777216"},
        {SIMAI("pp_comm: %s"), "281474976710656", "281474976710657", ":1", "above 281474976710656"},
        {SIMAI("checkpoints: 1 %s"), "0", "1", ":1", "checkpoint at layer 1 of 1"},
        {SIMAI("checkpoints: 1 0 checkpoint_initiates: 1 %s"), "0", "1", ":1", "checkpoint at layer 1 of 1"},
        {SIMAI("model_parallel_NPU_group: %s"), "1", "0", ":1", "model_parallel_NPU_group: 0"},
        {SIMAI("ep: %s"), "1", "0", ":1", "ep: 0"},
        {SIMAI("pp: %s"), "1", "0", ":1", "pp: 0"},
        {SIMAI("vpp: %s"), "1", "0", ":1", "vpp: 0"},
        {SIMAI("pp: 4096 vpp: 1%s"), " pp: 1", " ep: 4097", ":1", "groups for more than 16777216 ranks"},
        {SIMAI("%s"), "ep: 1", "ep: 1 x", ":1", "unknown key 'x'"},
        {SIMAI_ROW("%s"), "7", "", ":3", "expected a layer's 12 columns, got 11"},
        {SIMAI_ROW("%s"), "7", "7 x", ":3", "expected 12 columns, got 13"},
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
            if (!rc) /* nothing is said of what is read */
                assert_true(!err.code && !err.where[0] && !err.what[0]);
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

/* AICB: the first line, times, and who says how many ranks there are: the options, else the product of the sizes of
 * tensor-parallel, data-parallel and pipeline groups. 0: refused. */
static void heads_of_lists(void **state)
{
#define WORK(ms)     COLUMNS "all_reduce,x,,8,s,\ncomputation,,,,c," ms "\n"
#define GROUPS(rows) COLUMNS "all_reduce,all,,8,s,\n" rows
    static const struct {
        const char *text;
        uint32_t asked, ranks;
    } rows[] = {
        {"[rank0 ~ rank3]\n" WORK("1"), 0, 4},
        {"[rank0 ~ rank3]\n" WORK("1"), 2, 2},
        {"[rank1 ~ rank3]\n" WORK("1"), 0, 0},
        {"[rank0 ~ rank16777216]\n" WORK("1"), 0, 0},
        {"[rank0 ~ rank3] \n" WORK("1"), 0, 0},
        {"[rank0 ~ rank3\n" WORK("1"), 0, 0},
        {"[rank0 ~ rank1]\n" WORK("1.5e3"), 0, 2},
        {"[rank0 ~ rank1]\n" WORK("5x"), 0, 0},
        {"[rank0 ~ rank1]\n" WORK("1-2"), 0, 0},
        {"[rank0 ~ rank1]\n" WORK("5 "), 0, 0},
        {"[rank0 ~ rank1]\n" WORK("-5"), 0, 0},
        {"[rank0 ~ rank1]\n" WORK("e"), 0, 0},
        {GROUPS("all_reduce,dp_group,4,8,s,\n"), 0, 4},
        {GROUPS("all_reduce,tp_group,4,8,s,\n"), 0, 4},
        {GROUPS("all_reduce,pp_group,4,8,s,\n"), 0, 4},
        {GROUPS("all_reduce,pp_group,4,8,s,\nall_reduce,dp_group,3,8,s,\n"), 0, 12},
        {GROUPS("all_reduce,dp_group,4,8,s,\n"), 8, 8},
        {GROUPS(""), 6, 6},
        {GROUPS(""), 0, 0},
        {"comm_type,comm_group,comm_group_size,stage,_elapsed_time\nall_reduce,all,,s,\n", 4, 0},
        {COLUMNS, 4, 0},
        {GROUPS("all_reduce,ep_group,4,8,s,\n"), 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = rows[i].asked};
        rlt_program *p;
        rlt_error err;
        int rc = try_text(rows[i].text, &o, &p, &err);
        if ((rc == 0) != (rows[i].ranks > 0) || (!rc && p->n_ranks != rows[i].ranks))
            fail_msg("row %zu: %d: %s: %u ranks", i, rc, err.what, rc ? 0 : p->n_ranks);
        if (rc && strchr(err.where, ':')) /* a line, without a column */
            assert_ptr_equal(strchr(err.where, ':'), strrchr(err.where, ':'));
        rlt_program_free(p);
    }
}

/* AICB: an end of a step for the 65535th time is refused at its line. */
static void steps_have_a_limit(void **state)
{
    static const char head[] = "[rank0 ~ rank1]\n" COLUMNS, end[] = "epoch_end,,,,,\n",
                      last[] = "all_reduce,x,,8,s,\n";
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    char *text = malloc(sizeof head + 65535 * sizeof end + sizeof last);
    (void)state;
    assert_non_null(text);
    for (uint32_t n = 65534; n <= 65535; n++) {
        size_t used = sizeof head - 1;
        rlt_program *p;
        rlt_error err;
        memcpy(text, head, used);
        for (uint32_t i = 0; i < n; i++, used += sizeof end - 1)
            memcpy(text + used, end, sizeof end - 1);
        memcpy(text + used, last, sizeof last);
        int rc = try_text(text, &o, &p, &err);
        assert_int_equal(rc, n == 65534 ? 0 : RLT_ERANGE);
        if (rc) {
            assert_string_equal(err.what, "more than 65534 steps");
            assert_string_equal(strrchr(err.where, ':'), ":65537");
        } else {
            assert_int_equal(p->ops[0].step, 65534);
        }
        rlt_program_free(p);
    }
    free(text);
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

/* A line of PipeDream's graph has 65536 bytes at most. */
static void longest_lines(void **state)
{
    enum { MOST = 1 << 16 };
    static char text[MOST + 300];
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    static const char node[] = GRAPH("1", "1", "0", "1", "1");
    (void)state;
    for (int more = 0; more < 2; more++) {
        rlt_program *p;
        rlt_error err;
        const char *rest = strstr(node, " A ") + 2;
        size_t fill = MOST + (size_t)more - strlen(rest) - strlen("node1 -- ");
        memset(text, 0, sizeof text);
        snprintf(text, sizeof text, "node1 -- ");
        memset(text + strlen(text), 'A', fill);
        strcat(text, rest);
        int rc = try_text(text, &o, &p, &err);
        assert_int_equal(rc, more ? RLT_EMALFORMED : 0);
        if (more)
            assert_string_equal(err.what, "expected lines of at most 65536 bytes, got 65537");
        rlt_program_free(p);
    }
}

/* Places of a topology are no number of ranks where they are more than 2^24. */
static void too_many_places(void **state)
{
    rlt_read_options o = {.first_step = -1, .last_step = -1, .n_dims = 3, .dims = {4096, 4096, 2}};
    rlt_program *p;
    rlt_error err;
    (void)state;
    assert_int_equal(try_text(COLUMNS "all_reduce,x,,5,s,1\n", &o, &p, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "the list does not say how many ranks there are: pass --trace-ranks");
    assert_int_equal(try_text(ASTRA("5", "0", "5", "8", "7"), &o, &p, &err), 0);
    assert_int_equal(p->n_ranks, 2);
    rlt_program_free(p);
}

/* A file with all ranks has those that the options want, and one step. */
static void what_options_want(void **state)
{
    static const char goal[] = "num_ranks 2\nrank 0 { a: calc 1 }\nrank 1 { a: calc 1 }\n";
    static const char table[] = TABLE("0,0,1,x,0,1,0\n0,1,1,x,0,1,0");
    static const struct {
        const char *text;
        uint32_t ranks;
        int32_t last;
        const char *says; /* NULL: nothing */
    } all[] = {
        {goal, 0, -1, NULL},
        {goal, 2, 0, NULL},
        {goal, 3, -1, "has 2 ranks, not 3"},
        {goal, 1, -1, "has 2 ranks, not 1"},
        {goal, 0, 1, "expected steps within the recorded 0:0, got 0:1"},
        {table, 0, -1, NULL},
        {table, 2, 0, NULL},
        {table, 1, -1, "has 2 ranks, not 1"},
        {table, 0, 1, "expected steps within the recorded 0:0, got 0:1"},
        {AICB("5", "1"), 2, 0, NULL},
        {AICB("5", "1"), 2, 1, "expected steps within the recorded 0:0, got 0:1"},
        {ASTRA("5", "0", "5", "8", "7"), 2, 0, NULL},
        {ASTRA("5", "0", "5", "8", "7"), 2, 1, "expected steps within the recorded 0:0, got 0:1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_read_options o = {.first_step = -1, .last_step = all[i].last, .n_ranks = all[i].ranks};
        rlt_program *p;
        rlt_error err;
        int rc = try_text(all[i].text, &o, &p, &err);
        if (!rc != !all[i].says || (rc && strcmp(err.what, all[i].says) != 0))
            fail_msg("%zu: %d: %s", i, rc, err.what);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_limits), cmocka_unit_test(sums_have_limits),
        cmocka_unit_test(steps_have_a_limit),  cmocka_unit_test(heads_of_lists),
        cmocka_unit_test(quotes_are_short),    cmocka_unit_test(who_says_the_ranks),
        cmocka_unit_test(longest_lines),       cmocka_unit_test(too_many_places),
        cmocka_unit_test(what_options_want),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
