/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds, sizes, groups, roots and peers of recorded collectives, and where they come from if the kernels do not have them:
 * small recordings, worked out by hand. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define SIZES(name, in, out, type)                                                                           \
    "\"Collective name\":\"" name "\",\"In msg nelems\":" in ",\"Out msg nelems\":" out ",\"dtype\":\"" type \
    "\""
#define LAST "{\"ph\":\"i\"}]}"

/* Reads the recording of rank 0 of a job, with these events, as that of each rank. Its name is one.json. */
static int try_job(uint32_t world, const char *info, const char *events, rlt_program **p)
{
    static const rlt_replicate every = {RLT_NONE, 0};
    const char *name = "one.json";
    char text[8000];
    rlt_read_options o = options();
    o.replicate = &every;
    o.n_replicate = 1;
    int n = snprintf(
        text, sizeof text,
        "{\"distributedInfo\":{\"rank\":0,\"world_size\":%u%s},\"traceEvents\":[" STEP(0, 0, 1000) "%s" LAST,
        world, info, events);
    assert_true(n > 0 && (size_t)n < sizeof text);
    write_file(name, text);
    *p = NULL;
    return read_files(1, &name, &o, p);
}

/* One collective with these attributes. */
static int try_one(uint32_t world, const char *info, const char *args, rlt_program **p)
{
    char events[2000];
    snprintf(events, sizeof events,
             LAUNCH(1, 10, 5, 8) EVENT("kernel", "ncclDevKernel_Generic", 0, 20, 17, 9, ON(20, 8) ",%s"),
             args);
    return try_job(world, info, events, p);
}

static rlt_program *one(uint32_t world, const char *info, const char *args)
{
    rlt_program *p;
    if (try_one(world, info, args, &p) < 0)
        fail_msg("%s: %s: %s", args, err.where, err.what);
    return p;
}

static void refuse_one(uint32_t world, const char *args, int code, const char *what)
{
    rlt_program *p;
    int rc = try_one(world, "", args, &p);
    if (rc != code || !strstr(err.what, what))
        fail_msg("%s: %d %s", args, rc, err.what);
}

/* 10 elements of 4 bytes in, 30 out, of 2 ranks: what counts as the bytes of each kind. */
static void kinds(void **state)
{
    static const struct {
        const char *args;
        rlt_coll_kind kind;
        uint64_t bytes;
    } rows[] = {
        {SIZES("allreduce", "10", "30", "Float"), RLT_ALL_REDUCE, 40},
        {SIZES("ALL_REDUCE", "10", "30", "Float"), RLT_ALL_REDUCE, 40},
        {SIZES("_allgather_base", "10", "30", "Float"), RLT_ALL_GATHER, 80},
        {SIZES("_allgather_base", "0", "30", "Float"), RLT_ALL_GATHER, 120},
        {SIZES("reduce_scatter_tensor_coalesced", "10", "30", "Float"), RLT_REDUCE_SCATTER, 40},
        {SIZES("all_to_all", "10", "30", "Float"), RLT_ALL_TO_ALL, 40},
        {SIZES("broadcast", "10", "30", "Float"), RLT_BROADCAST, 120},
        {SIZES("broadcast", "30", "10", "Float"), RLT_BROADCAST, 120},
        {SIZES("barrier", "0", "0", "strange"), RLT_BARRIER, 0},
        {SIZES("gather", "10", "30", "Float"), RLT_GATHER, 80},
        {SIZES("gather", "0", "30", "Float"), RLT_GATHER, 120},
        {SIZES("scatter", "10", "30", "Float"), RLT_SCATTER, 40},
        {SIZES("reduce", "10", "30", "Float"), RLT_REDUCE, 40},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = one(2, "", rows[i].args);
        assert_int_equal(p->n_comms, 1);
        if (p->comms[0].kind != rows[i].kind || p->comms[0].bytes != rows[i].bytes)
            fail_msg("%s: %d, %llu B", rows[i].args, p->comms[0].kind, (unsigned long long)p->comms[0].bytes);
        assert_int_equal(noted(p, "all ranks assumed"), 2);
        assert_int_equal(noted(p, "root that is not recorded"), rlt_coll_rooted(rows[i].kind) ? 2 : 0);
        rlt_program_free(p);
    }
}

static void element_types(void **state)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } rows[] = {
        {"float", 4},   {"Float32", 4}, {"int", 4},          {"Int32", 4},          {"UInt32", 4},
        {"Long", 8},    {"LongInt", 8}, {"Int64", 8},        {"UInt64", 8},         {"Double", 8},
        {"Float64", 8}, {"Half", 2},    {"Float16", 2},      {"BFloat16", 2},       {"Short", 2},
        {"Int16", 2},   {"UInt16", 2},  {"Char", 1},         {"Byte", 1},           {"Bool", 1},
        {"Int8", 1},    {"UInt8", 1},   {"ComplexFloat", 8}, {"ComplexDouble", 16}, {"Float8_e4m3fn", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char args[300];
        snprintf(args, sizeof args, SIZES("allreduce", "10", "10", "%s"), rows[i].name);
        rlt_program *p = one(2, "", args);
        if (p->comms[0].bytes != 10 * rows[i].bytes)
            fail_msg("%s: %llu B of 10", rows[i].name, (unsigned long long)p->comms[0].bytes);
        rlt_program_free(p);
    }
    refuse_one(2, SIZES("allreduce", "10", "0", "floaty"), RLT_ESCHEMA,
               "unknown element type in 'allreduce'");
    refuse_one(2, SIZES("allreduce", "0", "10", ""), RLT_ESCHEMA, "unknown element type in 'allreduce'");
    refuse_one(2, SIZES("allreduce", "-1", "10", "Float"), RLT_ESCHEMA,
               "\"In msg nelems\" is not a number of elements: '-1'");
    refuse_one(2, SIZES("allreduce", "1", "1125899906842624", "Float"), RLT_ESCHEMA,
               "\"Out msg nelems\" is not a number");
    rlt_program *p = one(2, "", SIZES("allreduce", "1125899906842623", "1", "Byte"));
    assert_int_equal(p->comms[0].bytes, (UINT64_C(1) << 50) - 1);
    rlt_program_free(p);
}

/* A root is a place in the group. */
static void roots(void **state)
{
    static const struct {
        const char *root;
        uint32_t place, assumed;
    } rows[] = {{"0", 0, 0}, {"1", 1, 0}, {"2", 0, 2}, {"-1", 0, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char args[300];
        snprintf(args, sizeof args, SIZES("broadcast", "10", "10", "Float") ",\"Root rank\":%s",
                 rows[i].root);
        rlt_program *p = one(2, "", args);
        assert_int_equal(p->comms[0].root, rows[i].place);
        assert_int_equal(noted(p, "root that is not recorded"), rows[i].assumed);
        rlt_program_free(p);
    }
}

/* Whether a communication's group is these two ranks, with this label. */
static bool group_is(const rlt_program *p, uint32_t comm, uint32_t a, uint32_t b, const char *label)
{
    uint32_t g = p->comms[comm].group;
    const uint32_t *ranks = p->group_ranks + p->group_first[g];
    return p->group_first[g + 1] - p->group_first[g] == 2 && ranks[0] == a && ranks[1] == b &&
           strcmp(rlt_program_string(p, p->group_names[g]), label) == 0;
}

#define PAIR(group) SIZES("allreduce", "10", "10", "Float") group

/* Reads recordings of rank 0 and its partner in a job of 4; rank 1 or 2 replays that of rank 0, and rank 3 the other. */
static rlt_program *read_pair(const char *info, const char *args, uint32_t partner)
{
    const char *names[] = {"a.json", "b.json"};
    const rlt_replicate others[] = {{3 - partner, 0}, {3, partner}};
    rlt_read_options o = options();
    rlt_program *p = NULL;
    o.replicate = others;
    o.n_replicate = 2;
    for (uint32_t i = 0; i < 2; i++) {
        char text[2000];
        snprintf(text, sizeof text,
                 "{\"distributedInfo\":{\"rank\":%u,\"world_size\":4%s},\"traceEvents\":[" STEP(0, 0, 100)
                     LAUNCH(1, 10, 5, 8)
                         EVENT("kernel", "ncclDevKernel_Generic", 0, 20, 17, 9, ON(20, 8) ",%s") LAST,
                 i * partner, info, args);
        write_file(names[i], text);
    }
    if (read_files(2, names, &o, &p) < 0)
        fail_msg("%s: %s: %s", args, err.where, err.what);
    return p;
}

/* The pair of rank 0, and the same pair from another rank on. */
static void pairs(void **state)
{
    static const struct {
        const char *info, *args;
        uint32_t first[2], second[2];
        const char *label;
    } rows[] = {
        {"",
         PAIR(",\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[0, 2]\""),
         {0, 2},
         {1, 3},
         "group g"},
        {"",
         PAIR(",\"Process Group ID\":\"i\",\"Process Group Ranks\":\"[2, 0]\""),
         {2, 0},
         {3, 1},
         "group i"},
        {"",
         PAIR(
             ",\"Process Group Name\":\"g\",\"Group size\":2,\"Global rank start\":0,\"Global rank stride\":2"),
         {0, 2},
         {1, 3},
         "group g"},
        /* a list that is cut short gives way to that of the job */
        {",\"pg_config\":[{\"pg_name\":\"f\",\"ranks\":[0,3]},{\"pg_name\":\"g\",\"ranks\":[0,1]}]",
         PAIR(",\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[0, 3, ...]\""),
         {0, 1},
         {2, 3},
         "group g"},
        {",\"pg_config\":[{\"pg_name\":\"g\",\"ranks\":[0,1]},{\"pg_name\":\"f\",\"ranks\":[0,3]}]",
         PAIR(",\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[0, 3, ...]\""),
         {0, 1},
         {2, 3},
         "group g"},
        /* a name of 9 digits is an address, which differs from rank to rank */
        {"",
         PAIR(",\"Process Group Name\":\"123456789\",\"Process Group Ranks\":\"[0, 2]\""),
         {0, 2},
         {1, 3},
         "group 0"},
        {"",
         PAIR(",\"Process Group Name\":\"12345678\",\"Process Group Ranks\":\"[0, 2]\""),
         {0, 2},
         {1, 3},
         "group 12345678"},
        {"",
         PAIR(",\"Process Group Name\":\"1234567890a\",\"Process Group Ranks\":\"[0, 2]\""),
         {0, 2},
         {1, 3},
         "group 1234567890a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char labels[2][64];
        rlt_program *p = read_pair(rows[i].info, rows[i].args, rows[i].first[0] + rows[i].first[1]);
        assert_int_equal(p->n_comms, 2);
        snprintf(labels[0], sizeof labels[0], "%s from rank %u", rows[i].label, rows[i].first[0]);
        snprintf(labels[1], sizeof labels[1], "%s from rank %u", rows[i].label, rows[i].second[0]);
        for (uint32_t c = 0; c < 2; c++)
            if (!group_is(p, c, rows[i].first[0], rows[i].first[1], labels[0]) &&
                !group_is(p, c, rows[i].second[0], rows[i].second[1], labels[1]))
                fail_msg("row %zu: '%s'", i, rlt_program_string(p, p->group_names[p->comms[c].group]));
        assert_int_equal(noted(p, "all ranks assumed"), 0);
        rlt_program_free(p);
    }
    /* all ranks: no rank is named */
    rlt_program *p = one(2, "", PAIR(",\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[1, 0]\""));
    assert_true(group_is(p, 0, 1, 0, "group g"));
    rlt_program_free(p);
    refuse_one(4, PAIR(",\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[1, 2]\""), RLT_ESCHEMA,
               "rank 0 is not in its own process group 'g'");
    refuse_one(4, PAIR(",\"Process Group Name\":\"g\",\"Group size\":3"), RLT_ESCHEMA,
               "the recording does not list the ranks of process group 'g' (3 ranks)");
}

/* 40 elements of 8 bytes to two ranks. */
static void splits(void **state)
{
    static const struct {
        const char *elems, *split;
        bool counts;
        uint64_t to[2];
        uint32_t bad;
    } rows[] = {
        {"40", "[3, 1]", true, {240, 80}, 0},
        {"40", "[3, 2]", true, {192, 128}, 0},
        {"40", "[3, 4]", false, {0}, 2},
        {"40", "[3, 1, 0]", false, {0}, 2},
        {"40", "[4]", false, {0}, 2},
        {"0", "[0, 0]", true, {0, 0}, 0},
        {"40", "[0, 0]", false, {0}, 2},
        {"40", "[3, ...]", false, {0}, 0},
        {"40", "[]", false, {0}, 0},
        {"40", "[1125899906842624, 1]", true, {0, 320}, 0},
        {"1125899906842623", "[1125899906842623, 0]", true, {(UINT64_C(1) << 53) - 8, 0}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char args[400];
        snprintf(args, sizeof args, SIZES("all_to_allv", "%s", "%s", "Long") ",\"In split size\":\"%s\"",
                 rows[i].elems, rows[i].elems, rows[i].split);
        rlt_program *p = one(2, "", args);
        const uint64_t *counts = p->comms[0].counts;
        if (!counts != !rows[i].counts ||
            (counts && (counts[0] != rows[i].to[0] || counts[1] != rows[i].to[1])) ||
            noted(p, "split sizes do not add up") != rows[i].bad)
            fail_msg("row %zu: %llu", i, counts ? (unsigned long long)counts[0] : 0);
        rlt_program_free(p);
    }
}

/* Rank 0 sends 10 elements of 4 bytes to rank 1, or to nobody that is known. */
static void messages(void **state)
{
    const char *names[] = {"a.json", "b.json"};
    static const struct {
        const char *sender, *receiver, *what; /* what NULL: fits */
    } rows[] = {
        {"\"Dst Rank\":1", "\"Src Rank\":0", NULL},
        {"\"Src Rank\":1", "\"Src Rank\":0", "does not name the destination of rank 0's message"},
        {"\"Dst Rank\":2", "\"Src Rank\":0", "does not name the destination of rank 0's message"},
        {"\"Dst Rank\":1", "\"Dst Rank\":0", "does not name the source of rank 1's message"},
        {"\"Dst Rank\":1", "\"Src Rank\":-1", "does not name the source of rank 1's message"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_read_options o = options();
        rlt_program *p = NULL;
        for (int r = 0; r < 2; r++) {
            char text[2000];
            snprintf(text, sizeof text,
                     "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"traceEvents\":[" STEP(0, 0, 100)
                         LAUNCH(1, 10, 5, 8)
                             EVENT("kernel", "ncclDevKernel_SendRecv", 0, 20, 17, 9, ON(20, 8) ",%s,%s") LAST,
                     r, r ? SIZES("recv", "10", "10", "Float") : SIZES("send", "10", "10", "Float"),
                     r ? rows[i].receiver : rows[i].sender);
            write_file(names[r], text);
        }
        int rc = read_files(2, names, &o, &p);
        if (rows[i].what ? rc != RLT_ESCHEMA || !strstr(err.what, rows[i].what) : rc != 0)
            fail_msg("row %zu: %d %s", i, rc, err.what);
        if (rc)
            continue;
        assert_int_equal(p->n_comms, 1);
        assert_int_equal(p->comms[0].kind, RLT_SEND_RECV);
        assert_int_equal(p->comms[0].bytes, 40);
        assert_int_equal(p->ops[p->comm_ops[p->comms[0].first_op]].rank, 0);
        rlt_program_free(p);
    }
    /* alone it is left out */
    rlt_read_options o = options();
    rlt_program *p = NULL;
    o.alone = true;
    assert_int_equal(read_files(1, names, &o, &p), 0);
    assert_int_equal(noted(p, "message to or from another rank: left out"), 1);
    assert_int_equal(p->n_comms, 0);
    rlt_program_free(p);
}

/* A rank of five sends to one `to` places on and receives from one as far before. Every rank in its place does the same. */
static void messages_of_all(void **state)
{
    static const rlt_replicate from[] = {{RLT_NONE, 0}, {RLT_NONE, 1}, {RLT_NONE, 4}};
    const char *name = "one.json";
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t to = 1; to < 5; to++) {
            rlt_read_options o = options();
            rlt_program *p = NULL;
            char text[2000];
            o.replicate = &from[i];
            o.n_replicate = 1;
            snprintf(text, sizeof text,
                     "{\"distributedInfo\":{\"rank\":%u,\"world_size\":5},\"traceEvents\":[" STEP(0, 0, 100)
                         LAUNCH(1, 10, 5, 8) EVENT("kernel", "ncclDevKernel_SendRecv", 0, 20, 17, 9,
                                                   ON(20, 8) ",%s,\"Dst Rank\":%u") LAUNCH(1, 30, 5, 9)
                             EVENT("kernel", "ncclDevKernel_SendRecv", 0, 21, 37, 9,
                                   ON(21, 9) ",%s,\"Src Rank\":%u") LAST,
                     from[i].from, SIZES("send", "10", "10", "Float"), (from[i].from + to) % 5,
                     SIZES("recv", "10", "10", "Float"), (from[i].from + 5 - to) % 5);
            write_file(name, text);
            if (read_files(1, &name, &o, &p) < 0)
                fail_msg("%s: %s", err.where, err.what);
            assert_int_equal(p->n_comms, 5);
            for (uint32_t c = 0; c < 5; c++) {
                const uint32_t *ops = p->comm_ops + p->comms[c].first_op;
                assert_int_equal((p->ops[ops[0]].rank + to) % 5, p->ops[ops[1]].rank);
            }
            rlt_program_free(p);
        }
}

/* A call around the launch, on its thread, says what the kernel does not: the last one that has begun. */
static void calls_around(void **state)
{
#define AROUND(thread, from, lasts, elems)                                                                   \
    EVENT("cpu_op", "record_param_comms", 1, thread, from, lasts, SIZES("allreduce", elems, elems, "Float"))
    static const struct {
        const char *calls;
        uint64_t bytes; /* 0: refused */
    } rows[] = {
        {AROUND(1, 5, 20, "10"), 40},
        {AROUND(1, 10, 20, "10"), 40},
        {AROUND(1, 5, 5, "10"), 40},
        {AROUND(1, 5, 4, "10"), 0},
        {AROUND(1, 11, 9, "10"), 0},
        {AROUND(2, 5, 20, "10"), 0},
        {AROUND(1, 8, 9, "20") AROUND(1, 5, 20, "10") AROUND(1, 12, 9, "30") AROUND(2, 9, 9, "40"), 80},
        {EVENT("cpu_op", "record_param_comms", 1, 1, 5, 20, "\"Collective name\":\"wait\"")
             AROUND(1, 4, 20, "10"),
         40},
    };
#undef AROUND
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char events[3000];
        rlt_program *p;
        snprintf(events, sizeof events,
                 "%s" LAUNCH(1, 10, 5, 8) KERNEL("ncclDevKernel_Generic", 20, 17, 9, 8), rows[i].calls);
        int rc = try_job(2, "", events, &p);
        if (!rows[i].bytes) {
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_non_null(
                strstr(err.what, "the recording lacks the sizes of 1 of its 1 NCCL operations; "));
            continue;
        }
        if (rc || p->comms[0].bytes != rows[i].bytes)
            fail_msg("row %zu: %d %s", i, rc, err.what);
        rlt_program_free(p);
    }
}

/* Kernels launched before the recording, then sized ones: which sizes the first ones get. */
#define EARLY(name, ts, n) EVENT("kernel", name, 0, 20, ts, 5, ON(20, n))
#define LATER(ts, at, n, args)                                                                               \
    LAUNCH(1, ts, 1, n) EVENT("kernel", "ncclDevKernel_Generic", 0, 20, at, 5, ON(20, n) "," args)
#define TURN(ts, at, n, elems) LATER(ts, at, n, SIZES("allreduce", #elems, #elems, "Float"))

static void periods(void **state)
{
#define FOUR TURN(10, 100, 11, 100) TURN(20, 110, 12, 200) TURN(30, 120, 13, 100)
    static const struct {
        const char *events;
        uint32_t n;
        uint64_t bytes[8]; /* 0: keeps its recorded time */
    } rows[] = {
        {EARLY("ncclDevKernel_Generic", 50, 1) EARLY("ncclDevKernel_Generic", 60, 2)
             EARLY("ncclDevKernel_Generic", 70, 3) FOUR TURN(40, 130, 14, 200),
         7,
         {800, 400, 800, 400, 800, 400, 800}},
        /* another kernel ends it */
        {EARLY("ncclDevKernel_Other", 50, 1) EARLY("ncclDevKernel_Generic", 60, 2)
             EARLY("ncclDevKernel_Generic", 70, 3) FOUR TURN(40, 130, 14, 200),
         7,
         {0, 400, 800, 400, 800, 400, 800}},
        /* two and a half periods; one and a half are too few */
        {EARLY("ncclDevKernel_Generic", 60, 2) FOUR TURN(40, 130, 14, 200) TURN(50, 140, 15, 100),
         6,
         {800, 400, 800, 400, 800, 400}},
        {EARLY("ncclDevKernel_Generic", 60, 2) FOUR, 4, {0, 400, 800, 400}},
        /* the shortest period: all alike */
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100) TURN(20, 110, 12, 100),
         3,
         {400, 400, 400}},
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100), 2, {0, 400}},
        /* what differs in anything is not the same */
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100)
             LATER(20, 110, 12, SIZES("allreduce", "100", "101", "Float")),
         3,
         {0, 400, 400}},
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100)
             LATER(20, 110, 12, SIZES("allreduce", "100", "100", "Half")),
         3,
         {0, 400, 200}},
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100)
             LATER(20, 110, 12, SIZES("all_reduce", "100", "100", "Float")),
         3,
         {0, 400, 400}},
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100)
             LATER(20, 110, 12, SIZES("allreduce", "100", "100", "Float") ",\"Root rank\":1"),
         3,
         {0, 400, 400}},
        {EARLY("ncclDevKernel_Generic", 60, 2) TURN(10, 100, 11, 100)
             LATER(20, 110, 12, SIZES("allreduce", "100", "100", "Float") ",\"Process Group Name\":\"x\""),
         3,
         {0, 400, 400}},
    };
#undef FOUR
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p;
        uint32_t found = 0;
        if (try_job(2, "", rows[i].events, &p) < 0)
            fail_msg("row %zu: %s", i, err.what);
        for (uint32_t k = p->rank_first[0]; k < p->rank_first[1]; k++)
            if (p->ops[k].kind == RLT_OP_COLLECTIVE) {
                const rlt_comm *c = &p->comms[p->ops[k].comm];
                if (found == rows[i].n || c->bytes != rows[i].bytes[found] || c->timed != (c->bytes == 0))
                    fail_msg("row %zu: collective %u has %llu B", i, found, (unsigned long long)c->bytes);
                found++;
            }
        assert_int_equal(found, rows[i].n);
        rlt_program_free(p);
    }
}

/* A collective of the host's trace. */
#define HOST(id, name, elems)                                                                                \
    "{\"name\":\"record_param_comms\",\"rf_id\":" #id ",\"inputs\":[[[1,2,0," #elems                         \
    ",4,\"cuda:0\"]],7,1,0,\"" name "\",[],[]],\"outputs\":[]}"
#define KERNELS(name, launch, at, n) LAUNCH(1, launch, 1, n) KERNEL(name, 20, at, 5, n)

/* The host's trace has the sizes: the kernels are those from the first place on where all can be the same, or whole turns. */
static void host_traces(void **state)
{
    static const struct {
        const char *nodes, *events;
        uint32_t n;
        uint64_t bytes[4]; /* n 0: refused */
    } rows[] = {
        {HOST(3, "allgather", 30) "," HOST(1, "broadcast", 10) "," HOST(2, "allreduce",
                                                                        20) "," HOST(4, "allreduce", 40),
         KERNELS("ncclDevKernel_AllGather", 10, 100, 1) KERNELS("ncclDevKernel_AllReduce", 20, 110, 2),
         2,
         {240, 160}},
        {HOST(1, "allreduce", 10) "," HOST(2, "allreduce", 20),
         KERNELS("ncclDevKernel_AllReduce", 10, 100, 1) KERNELS("ncclDevKernel_AllReduce", 20, 110, 2)
             KERNELS("ncclDevKernel_AllReduce", 30, 120, 3) KERNELS("ncclDevKernel_AllReduce", 40, 130, 4),
         4,
         {40, 80, 40, 80}},
        {HOST(1, "allreduce", 10) "," HOST(2, "allreduce", 20),
         KERNELS("ncclDevKernel_AllReduce", 10, 100, 1) KERNELS("ncclDevKernel_AllReduce", 20, 110, 2)
             KERNELS("ncclDevKernel_AllReduce", 30, 120, 3),
         0,
         {0}},
        {HOST(1, "allreduce", 10), KERNELS("ncclDevKernel_Broadcast", 10, 100, 1), 0, {0}},
        /* kernels of point-to-point messages do all-to-alls, those of all-reduces barriers, unknown ones anything */
        {HOST(1, "all_to_all", 10), KERNELS("ncclDevKernel_SendRecv", 10, 100, 1), 1, {40}},
        {HOST(1, "barrier", 10), KERNELS("ncclDevKernel_AllReduce", 10, 100, 1), 1, {0}},
        {HOST(1, "broadcast", 10), KERNELS("ncclDevKernel_Generic", 10, 100, 1), 1, {40}},
        {HOST(1, "all_to_all", 10), KERNELS("ncclDevKernel_AllReduce", 10, 100, 1), 0, {0}},
        {HOST(1, "barrier", 10), KERNELS("ncclDevKernel_SendRecv", 10, 100, 1), 0, {0}},
        /* early ones are those before */
        {HOST(1, "allreduce", 10) "," HOST(2, "allgather", 20),
         EARLY("ncclDevKernel_AllReduce", 50, 9) KERNELS("ncclDevKernel_AllGather", 10, 100, 1),
         2,
         {40, 160}},
    };
    static const rlt_replicate every = {RLT_NONE, 0};
    const char *name = "one.json";
    rlt_read_options o = options();
    char text[4000], et[128];
    (void)state;
    o.replicate = &every;
    o.n_replicate = 1;
    path_of("et_0.json", et, sizeof et);
    o.host_trace_dir = et;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = NULL;
        uint32_t found = 0;
        snprintf(text, sizeof text, "{\"nodes\":[%s]}", rows[i].nodes);
        write_file("et_0.json", text);
        snprintf(
            text, sizeof text,
            "{\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":[" STEP(0, 0, 1000) "%s" LAST,
            rows[i].events);
        write_file(name, text);
        int rc = read_files(1, &name, &o, &p);
        if (rows[i].n == 0) {
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_non_null(strstr(err.what, "communications of the host trace"));
            continue;
        }
        if (rc)
            fail_msg("row %zu: %s", i, err.what);
        for (uint32_t k = p->rank_first[0]; k < p->rank_first[1]; k++)
            if (p->ops[k].kind == RLT_OP_COLLECTIVE) {
                uint64_t bytes = p->comms[p->ops[k].comm].bytes;
                if (found == rows[i].n || bytes != rows[i].bytes[found++])
                    fail_msg("row %zu: %llu B", i, (unsigned long long)bytes);
            }
        assert_int_equal(found, rows[i].n);
        rlt_program_free(p);
    }
    path_of("et_0.json", et, sizeof et);
    unlink(et);
}

/* Rank 0 has two early collectives, and rank 1 one or two. Those that both end with are simulated; the others keep their
 * time, each. */
static void shared_early(void **state)
{
#define BEFORE(ts, at, n, args)                                                                              \
    LAUNCH(1, ts, 1, n) EVENT("kernel", "ncclDevKernel_Generic", 0, 20, at, 20, ON(20, n) args)
#define OF(elems, group) "," SIZES("allreduce", elems, elems, "Float") ",\"Process Group Name\":\"" group "\""
    static const struct {
        const char *second;
        uint32_t kept; /* recorded times */
    } rows[] = {
        {BEFORE(10, 50, 1, OF("100", "g")) BEFORE(20, 80, 2, OF("200", "g")), 0},
        {BEFORE(20, 80, 2, OF("200", "g")), 1},
        {BEFORE(10, 50, 1, "") BEFORE(20, 80, 2, OF("200", "g")), 2},
        {BEFORE(10, 50, 1, OF("101", "g")) BEFORE(20, 80, 2, OF("200", "g")), 2},
        {BEFORE(10, 50, 1, OF("100", "g")) BEFORE(20, 80, 2, OF("201", "g")), 4},
        {BEFORE(20, 80, 2, OF("200", "h")), 3},
        {BEFORE(20, 80, 2, OF("200", "g") ",\"Group size\":2"), 3},
        {BEFORE(20, 80, 2, "," SIZES("broadcast", "200", "200", "Float") ",\"Process Group Name\":\"g\""), 3},
        {"", 2},
    };
    const char *names[] = {"a.json", "b.json"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_read_options o = options();
        rlt_program *p = NULL;
        for (int r = 0; r < 2; r++) {
            char text[3000];
            snprintf(text, sizeof text,
                     "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"traceEvents\":[" STEP(
                         0, 60, 200) "%s" BEFORE(70, 140, 3, OF("300", "g")) LAST,
                     r, r ? rows[i].second : rows[0].second);
            write_file(names[r], text);
        }
        if (read_files(2, names, &o, &p) < 0)
            fail_msg("row %zu: %s", i, err.what);
        if (noted(p, "recorded time kept") != rows[i].kept)
            fail_msg("row %zu: %llu kept", i, (unsigned long long)noted(p, "recorded time kept"));
        rlt_program_free(p);
    }
#undef BEFORE
#undef OF
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),        cmocka_unit_test(element_types),   cmocka_unit_test(roots),
        cmocka_unit_test(pairs),        cmocka_unit_test(splits),          cmocka_unit_test(messages),
        cmocka_unit_test(calls_around), cmocka_unit_test(periods),         cmocka_unit_test(host_traces),
        cmocka_unit_test(shared_early), cmocka_unit_test(messages_of_all),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
