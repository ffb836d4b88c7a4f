/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines of few rows, whole programs and notes by hand: groups, resources, gaps, batches and steps. Bounds
 * of cells, of batches and of clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/say.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

static char folder[] = "/tmp/ringlet-hand-XXXXXX";

static const char *put(const char *name, const char *text)
{
    static char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static int read_text(const char *text, const rlt_read_options *o, rlt_program **p, rlt_error *err)
{
    const char *path = put("trace-x.csv", text);
    *err = (rlt_error){0};
    *p = NULL;
    int rc = rlt_reader_timeline.read(&path, 1, o, p, err);
    assert_int_equal(rc, err->code);
    assert_int_equal(!rc, !!*p);
    assert_int_equal(!rc, !*err->where && !*err->what);
    return rc;
}

typedef struct dump {
    char text[1 << 14];
    size_t used;
} dump;

/* One line per operation: kind, name, step, resource; duration, recorded begin and duration in us;
 * dependencies, by place in the rank; communication. */
static void say_op(dump *d, const rlt_program *p, uint32_t rank, const rlt_op *o)
{
    static const char *const kinds[] = {"compute", "memory", "host", "delay", "coll", "send", "recv"};
    const rlt_resource *r = o->resource == RLT_NONE ? NULL : &p->resources[o->resource];
    TEST_SAY(d, "%s '%s' s%u", kinds[o->kind], rlt_program_string(p, o->name), o->step);
    assert_int_equal(o->rank, rank);
    if (r) {
        assert_int_equal(r->rank, rank);
        TEST_SAY(d, " on %s/%d", rlt_program_string(p, r->name), (int)r->kind);
    }
    TEST_SAY(d, " %g", (double)o->duration_ps / RLT_US);
    if (o->recorded_ps >= 0)
        TEST_SAY(d, " @%g+%g", (double)o->recorded_ps / RLT_US, (double)o->recorded_duration_ps / RLT_US);
    for (uint32_t k = 0; k < o->n_deps; k++)
        TEST_SAY(d, "%s%u", k ? "," : " <", p->deps[o->first_dep + k] - p->rank_first[rank]);
    if (o->comm != RLT_NONE) {
        const rlt_comm *c = &p->comms[o->comm];
        TEST_SAY(d, " %s of %s(", rlt_coll_name(c->kind), rlt_program_string(p, p->group_names[c->group]));
        for (uint32_t k = p->group_first[c->group]; k < p->group_first[c->group + 1]; k++)
            TEST_SAY(d, " %u", p->group_ranks[k]);
        TEST_SAY(d, " )%s %d", c->timed ? " timed" : "", o->purpose);
        assert_int_equal(c->bytes, 0);
    }
    TEST_SAY(d, "\n");
}

static void expect(const char *text, rlt_read_options o, const char *want)
{
    static dump d;
    rlt_program *p;
    rlt_error err;
    if (read_text(text, &o, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    d = (dump){.used = 0};
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        TEST_SAY(&d, "rank %u: %g\n", r, (double)p->rank_recorded_ps[r] / RLT_US);
        for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++)
            say_op(&d, p, r, &p->ops[i]);
    }
    for (uint32_t i = 0; i < p->n_notes; i++)
        TEST_SAY(&d, "%llu %s\n", (unsigned long long)p->notes[i].count, p->notes[i].text);
    assert_string_equal(d.text, want);
    rlt_program_free(p);
}

static const rlt_read_options all = {.first_step = -1, .last_step = -1};

#define HEAD "dp_rank,stage,step,optype,start_ts,duration,seq_id\n"
/* Rank 1 begins 2 us later in step 5; its reduction begins last, and takes 10 us. */
#define STAGE                                                                                                \
    HEAD "0,0,5,forward-compute,0,10e-6,0\n"                                                                 \
         "0,0,5,grads-reduce-scatter,15e-6,20e-6,0\n"                                                        \
         "0,0,9,layernorm-grads-all-reduce,0,3e-6,0\n"                                                       \
         "0,0,9,optimizer-clip-main-grad,3e-6,4e-6,0\n"                                                      \
         "1,0,5,odd,2e-6,13e-6,4\n"                                                                          \
         "1,0,5,gc,15e-6,0,4\n"                                                                              \
         "1,0,5,grads-reduce-scatter,25e-6,10e-6,0\n"                                                        \
         "1,0,9,layernorm-grads-all-reduce,0,2e-6,0\n"                                                       \
         "1,0,9,optimizer-clip-main-grad,2e-6,5e-6,0\n"

static void stages(void **state)
{
    rlt_read_options ideal = all;
    (void)state;
    ideal.ideal = true;
    expect(
        STAGE, all,
        "rank 0: 42\n"
        "compute 'forward-compute 0' s0 on compute/1 10 @0+10\n"
        "delay 'gap' s0 5 <0\n"
        "coll 'grads-reduce-scatter 0' s0 on compute/1 10 @15+20 <1 reduce_scatter of dp stage 0( 0 1 ) timed 4\n"
        "coll 'step' s1 on step/3 0 <2 barrier of all( 0 1 ) timed 0\n"
        "coll 'layernorm-grads-all-reduce 0' s1 on compute/1 3 @35+3 <3 all_reduce of tp of rank 0( 0 ) timed 1\n"
        "coll 'optimizer-clip-main-grad 0' s1 on compute/1 4 @38+4 <4 all_reduce of all( 0 1 ) timed 0\n"
        "rank 1: 42\n"
        "delay 'gap' s0 2\n"
        "compute 'odd 4' s0 on compute/1 13 @2+13 <0\n"
        "delay 'gap' s0 10 <1\n"
        "coll 'grads-reduce-scatter 0' s0 on compute/1 10 @25+10 <2 reduce_scatter of dp stage 0( 0 1 ) timed 4\n"
        "coll 'step' s1 on step/3 0 <3 barrier of all( 0 1 ) timed 0\n"
        "coll 'layernorm-grads-all-reduce 0' s1 on compute/1 2 @35+2 <4 all_reduce of tp of rank 1( 1 ) timed 1\n"
        "coll 'optimizer-clip-main-grad 0' s1 on compute/1 4 @37+5 <5 all_reduce of all( 0 1 ) timed 0\n"
        "4 communication with a recorded time and unknown bytes: it takes the shortest of their durations after its last member arrives, and no link carries it\n"
        "2 gap between operations of a rank, kept as idle time, 15 us in all\n"
        "1 operation without a duration: left out\n"
        "1 operation 'odd' of an unknown kind: taken as computation\n");
    /* The two layernorm take 2.5 us by their median, forward-compute and odd their own times. */
    expect(
        STAGE, ideal,
        "rank 0: 42\n"
        "compute 'forward-compute 0' s0 on compute/1 10 @0+10\n"
        "coll 'grads-reduce-scatter 0' s0 on compute/1 10 @15+20 <0 reduce_scatter of dp stage 0( 0 1 ) timed 4\n"
        "coll 'step' s1 on step/3 0 <1 barrier of all( 0 1 ) timed 0\n"
        "coll 'layernorm-grads-all-reduce 0' s1 on compute/1 2.5 @35+3 <2 all_reduce of tp of rank 0( 0 ) timed 1\n"
        "coll 'optimizer-clip-main-grad 0' s1 on compute/1 4 @38+4 <3 all_reduce of all( 0 1 ) timed 0\n"
        "rank 1: 42\n"
        "compute 'odd 4' s0 on compute/1 13 @2+13\n"
        "coll 'grads-reduce-scatter 0' s0 on compute/1 10 @25+10 <0 reduce_scatter of dp stage 0( 0 1 ) timed 4\n"
        "coll 'step' s1 on step/3 0 <1 barrier of all( 0 1 ) timed 0\n"
        "coll 'layernorm-grads-all-reduce 0' s1 on compute/1 2.5 @35+2 <2 all_reduce of tp of rank 1( 1 ) timed 1\n"
        "coll 'optimizer-clip-main-grad 0' s1 on compute/1 4 @37+5 <3 all_reduce of all( 0 1 ) timed 0\n"
        "4 communication with a recorded time and unknown bytes: it takes the median of the shortest durations after its last member arrives, and no link carries it\n"
        "8 operation without stragglers: every computation takes the mean of its kind over all ranks and steps, launch delays removed\n"
        "1 operation without a duration: left out\n"
        "1 operation 'odd' of an unknown kind: taken as computation\n");
}

/* A step begins with its first operation, wherever that is. Two gaps of 2 ms are cut to 500 us and 250 us. */
static void gaps(void **state)
{
    (void)state;
    expect(HEAD "0,0,1,gc,5e-6,10e-6,0\n", all, "rank 0: 15\ncompute 'gc 0' s0 on compute/1 10 @5+10\n");
    expect(
        HEAD "0,0,1,gc,0,10e-6,0\n0,0,1,odd,2010e-6,10e-6,0\n0,0,1,odd,4020e-6,10e-6,1\n"
             "1,0,1,gc,7e-6,10e-6,0\n1,0,1,odd,517e-6,10e-6,0\n1,0,1,odd,777e-6,10e-6,1\n",
        all,
        "rank 0: 4030\n"
        "compute 'gc 0' s0 on compute/1 10 @0+10\n"
        "delay 'gap' s0 500 <0\n"
        "compute 'odd 0' s0 on compute/1 10 @2010+10 <1\n"
        "delay 'gap' s0 250 <2\n"
        "compute 'odd 1' s0 on compute/1 10 @4020+10 <3\n"
        "rank 1: 787\n"
        "delay 'gap' s0 7\n"
        "compute 'gc 0' s0 on compute/1 10 @7+10 <0\n"
        "delay 'gap' s0 500 <1\n"
        "compute 'odd 0' s0 on compute/1 10 @517+10 <2\n"
        "delay 'gap' s0 250 <3\n"
        "compute 'odd 1' s0 on compute/1 10 @777+10 <4\n"
        "4 gap between operations of a rank, kept as idle time, 1.5 ms in all\n"
        "2 gap cut to the shortest gap at its place in the stage, because the rest may be waiting, 3.25 ms in "
        "all\n"
        "4 operation 'odd' of an unknown kind: taken as computation\n");
}

/* Each pair of messages in both directions is one batch. */
#define PAIR                                                                                                 \
    HEAD "0,0,1,forward-compute,0,10e-6,0\n"                                                                 \
         "0,0,1,backward-recv,10e-6,9e-6,3\n"                                                                \
         "0,0,1,forward-send,11e-6,8e-6,2\n"                                                                 \
         "0,0,1,embedding-grads-all-reduce,19e-6,5e-6,0\n"                                                   \
         "0,1,1,backward-compute,0,14e-6,0\n"                                                                \
         "0,1,1,backward-send,14e-6,5e-6,3\n"                                                                \
         "0,1,1,forward-recv,14e-6,5e-6,2\n"                                                                 \
         "0,1,1,embedding-grads-all-reduce,19e-6,5e-6,0\n"

static void messages(void **state)
{
    rlt_read_options waits = all;
    (void)state;
    waits.keep_waits = true;
    expect(
        PAIR, all,
        "rank 0: 24\n"
        "compute 'forward-compute 0' s0 on compute/1 10 @0+10\n"
        "recv 'backward-recv 3' s0 on backward-recv/1 5 @10+9 <0 send_recv of ( 1 0 ) timed 5\n"
        "send 'forward-send 2' s0 on forward-send/1 5 @11+8 <0 send_recv of ( 0 1 ) timed 5\n"
        "coll 'embedding-grads-all-reduce 0' s0 on compute/1 5 @19+5 <1,2 all_reduce of embedding 0( 0 1 ) timed 5\n"
        "rank 1: 24\n"
        "compute 'backward-compute 0' s0 on compute/1 14 @0+14\n"
        "recv 'forward-recv 2' s0 on forward-recv/1 5 @14+5 <0 send_recv of ( 0 1 ) timed 5\n"
        "send 'backward-send 3' s0 on backward-send/1 5 @14+5 <0 send_recv of ( 1 0 ) timed 5\n"
        "coll 'embedding-grads-all-reduce 0' s0 on compute/1 5 @19+5 <1,2 all_reduce of embedding 0( 0 1 ) timed 5\n"
        "3 communication with a recorded time and unknown bytes: it takes the shortest of their durations after its last member arrives, and no link carries it\n");
    /* With the waits as recorded there are only computations. */
    expect(PAIR, waits,
           "rank 0: 24\n"
           "compute 'forward-compute 0' s0 on compute/1 10 @0+10\n"
           "compute 'backward-recv 3' s0 on backward-recv/1 9 @10+9 <0\n"
           "compute 'forward-send 2' s0 on forward-send/1 8 @11+8 <0\n"
           "compute 'embedding-grads-all-reduce 0' s0 on compute/1 5 @19+5 <1,2\n"
           "rank 1: 24\n"
           "compute 'backward-compute 0' s0 on compute/1 14 @0+14\n"
           "compute 'forward-recv 2' s0 on forward-recv/1 5 @14+5 <0\n"
           "compute 'backward-send 3' s0 on backward-send/1 5 @14+5 <0\n"
           "compute 'embedding-grads-all-reduce 0' s0 on compute/1 5 @19+5 <1,2\n");
}

/* A message soon after a computation follows it. */
static void after_compute(void **state)
{
    (void)state;
    expect(HEAD "0,0,1,gc,0,1e-6,0\n0,0,1,forward-send,1e-6,5e-6,0\n0,1,1,forward-recv,0,6e-6,0\n", all,
           "rank 0: 6\n"
           "compute 'gc 0' s0 on compute/1 1 @0+1\n"
           "send 'forward-send 0' s0 on forward-send/1 5 @1+5 <0 send_recv of ( 0 1 ) timed 5\n"
           "rank 1: 6\n"
           "recv 'forward-recv 0' s0 on forward-recv/1 5 @0+6 send_recv of ( 0 1 ) timed 5\n"
           "1 communication with a recorded time and unknown bytes: it takes the shortest of their durations "
           "after its last member arrives, and no link carries it\n");
}

/* ---- bounds ---- */

static void check(const char *text, rlt_read_options o, int code, const char *where, const char *what)
{
    rlt_program *p;
    rlt_error err;
    int rc = read_text(text, &o, &p, &err);
    const char *at = strstr(err.where, where);
    if (rc != code || !at || (strstr(where, "csv:") && strcmp(at, where) != 0) || !strstr(err.what, what))
        fail_msg("%d, %s: %s, expected %d, %s\n%.300s", rc, err.where, err.what, code, what, text);
    rlt_program_free(p);
}

#define ROW "0,0,0,gc,0,1,0\n"

static void cells(void **state)
{
    static const struct {
        const char *rows;
        int code;
        const char *what;
    } rows[] = {
        {ROW, 0, ""},
        {"1048575,0,0,gc,0,1,0\n", RLT_ESCHEMA,
         "1 operations for 1 stages of 1048576 ranks: some rank has none"},
        {"1048576,0,0,gc,0,1,0\n", RLT_ERANGE, "dp_rank"},
        {"0,1048575,0,gc,0,1,0\n", RLT_ESCHEMA, "for 1048576 stages of 1 ranks"},
        {"0,1048576,0,gc,0,1,0\n", RLT_ERANGE, "stage"},
        {"0,0,9007199254740992,gc,0,1,0\n", 0, ""},
        {"0,0,9007199254740993,gc,0,1,0\n", RLT_ERANGE, "step"},
        {"0,0,0,gc,0,1,1048575\n", 0, ""},
        {"0,0,0,gc,0,1,1048576\n", RLT_ERANGE, "seq_id"},
        {"0,0,0,gc,1000000,1,0\n", 0, ""},
        {"0,0,0,gc,1000000.1,1,0\n", RLT_EMALFORMED,
         "start_ts: expected seconds from 0 to 1000000, got '1000000.1'"},
        {"0,0,0,gc,1e+0,1E-0,0\n", 0, ""},
        {"0,0,0,gc,,1,0\n", RLT_EMALFORMED, "start_ts"},
        {"0,0,0,gc,0,,0\n", RLT_EMALFORMED, "duration"},
        {"0,0,0,gc,0,e,0\n", RLT_EMALFORMED, "duration"},
        {"0,0,0,gc,0,1e,0\n", RLT_EMALFORMED, "duration"},
        {"0,0,0,gc,0,1.0.0,0\n", RLT_EMALFORMED, "duration"},
        {"0,0,0,gc,0,inf,0\n", RLT_EMALFORMED, "duration"},
        {"0,0,0,gc,0,0x1,0\n", RLT_EMALFORMED, "duration"},
        {"0,0,0,gc,-1,1,0\n", RLT_EMALFORMED, "start_ts"},
        {"0,0,0,gc,0,0,0\n", RLT_ESCHEMA, "a rank has no operations in a step"},
        {"x,0,0,gc,0,1,0\n", RLT_EMALFORMED, "dp_rank"},
        {"0,x,0,gc,0,1,0\n", RLT_EMALFORMED, "stage"},
        {"0,0,x,gc,0,1,0\n", RLT_EMALFORMED, "step"},
        {"0,0,0,gc,0,1,x\n", RLT_EMALFORMED, "seq_id"},
    };
    static const struct {
        const char *chunk;
        int code;
    } chunks[] = {{"0", 0},
                  {"-1", 0},
                  {"", 0},
                  {"1", RLT_EUNSUPPORTED},
                  {"x", RLT_EMALFORMED},
                  {"4294967296", RLT_ERANGE}};
    char text[300];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, HEAD "%s", rows[i].rows);
        check(text, all, rows[i].code, "", rows[i].what);
    }
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        snprintf(text, sizeof text, "mc,dp_rank,stage,step,optype,start_ts,duration,seq_id\n%s," ROW,
                 chunks[i].chunk);
        check(text, all, chunks[i].code, "", "");
    }
}

/* 250 kinds of operations, of which 14 are known. A time is the nearest picosecond. */
static void kinds(void **state)
{
    static dump d;
    (void)state;
    for (uint32_t n = 236; n <= 237; n++) {
        d = (dump){.used = 0};
        TEST_SAY(&d, HEAD);
        for (uint32_t i = 0; i < n; i++)
            TEST_SAY(&d, "0,0,0,x%u,%u,1,0\n", i, i);
        check(d.text, all, n == 236 ? 0 : RLT_ESCHEMA, n == 236 ? "" : "x.csv:238",
              n == 236 ? "" : "more than 250 kinds of operation");
    }
    rlt_program *p;
    rlt_error err;
    assert_int_equal(read_text(HEAD "0,0,0,gc,0,1.4e-12,0\n0,0,0,gc,1,1.6e-12,1\n", &all, &p, &err), 0);
    assert_int_equal(p->ops[0].duration_ps, 1);
    assert_int_equal(p->ops[2].duration_ps, 2);
    assert_int_equal(p->ops[2].recorded_ps, RLT_S);
    rlt_program_free(p);
}

/* Steps are chosen by place; a program has 65535 at most. */
static void steps(void **state)
{
    enum { STEPS = 65536, ROOM = STEPS * 32 };
    char *text = malloc(ROOM);
    size_t used = 0;
    rlt_read_options o = all;
    (void)state;
    assert_non_null(text);
    test_say(text, ROOM, &used, HEAD);
    for (uint32_t i = 0; i < STEPS; i++)
        test_say(text, ROOM, &used, "0,0,%u,gc,0,1,0\n", 2 * i);
    check(text, o, RLT_ERANGE, "trace-x.csv", "more than 65535 steps");
    o.last_step = STEPS - 1;
    check(text, o, RLT_ERANGE, "trace-x.csv", "more than 65535 steps");
    o.last_step = STEPS;
    check(text, o, RLT_ERANGE, "trace-x.csv", "expected steps within the recorded 0:65535, got 0:65536");
    o.last_step = 4;
    o.first_step = 5;
    check(text, o, RLT_ERANGE, "trace-x.csv", "expected steps within the recorded 0:65535, got 5:4");
    o.first_step = 1;
    o.last_step = STEPS - 1;
    check(text, o, 0, "", "");
    free(text);
}

/* 300 stages, and stages of 300 ranks. */
static void many(void **state)
{
    enum { N = 300 };
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        static dump d;
        rlt_program *p;
        rlt_error err;
        d = (dump){.used = 0};
        TEST_SAY(&d, HEAD);
        for (int i = 0; i < N; i++)
            TEST_SAY(&d, "%d,%d,0,grads-reduce-scatter,0,1,0\n", wide ? i : 0, wide ? 0 : i);
        assert_int_equal(read_text(d.text, &all, &p, &err), 0);
        assert_int_equal(p->n_ranks, N);
        assert_int_equal(p->n_comms, wide ? 1 : N);
        for (uint32_t i = 0; i < p->n_comms; i++) {
            char label[40];
            uint32_t g = p->comms[i].group;
            snprintf(label, sizeof label, "dp stage %u", i);
            assert_string_equal(rlt_program_string(p, p->group_names[g]), label);
            assert_int_equal(p->group_first[g + 1] - p->group_first[g], wide ? N : 1);
            assert_int_equal(p->group_ranks[p->group_first[g]], i);
        }
        rlt_program_free(p);
    }
}

/* Sends and receives that begin at most 1 us after one another are a batch, of 8 at most. */
static void batches(void **state)
{
    static const char *const types[] = {"forward-send", "backward-recv"}, *const others[] = {"forward-recv",
                                                                                             "backward-send"};
    (void)state;
    for (uint32_t n = 7; n <= 9; n++)
        for (uint32_t apart = 0; apart < 2; apart++) {
            dump d = {.used = 0};
            rlt_program *p;
            rlt_error err;
            double us = apart ? 1.000001 : 1;
            TEST_SAY(&d, HEAD);
            for (uint32_t i = 0; i < n; i++) {
                TEST_SAY(&d, "0,0,0,%s,%.12f,1e-3,%u\n", types[i % 2], i * us * 1e-6, i);
                TEST_SAY(&d, "0,1,0,%s,%.12f,1e-3,%u\n", others[i % 2], i * us * 1e-6, i);
            }
            int rc = read_text(d.text, &all, &p, &err);
            if (apart) {
                assert_int_equal(rc, RLT_EUNSUPPORTED);
                assert_non_null(strstr(err.what, "backward-recv overlaps forward-send (line 2)"));
                assert_non_null(strstr(err.where, "x.csv:4"));
            } else if (n > 8) {
                assert_int_equal(rc, RLT_ERANGE);
                assert_non_null(strstr(err.what, "more than 8 messages in one batch"));
                assert_non_null(strstr(err.where, "x.csv:18"));
            } else {
                assert_int_equal(rc, 0);
                for (uint32_t i = 0; i < p->n_ops; i++)
                    assert_int_equal(p->ops[i].n_deps, 0);
            }
            rlt_program_free(p);
        }
}

/* Operations may overlap by half the shorter one and 1 us. The one behind has no gap. */
static void clocks(void **state)
{
    static const struct {
        const char *first, *second;
        int code;
    } rows[] = {
        {"0,10e-6", "4e-6,10e-6", 0},
        {"0,10e-6", "3.999999e-6,10e-6", RLT_EUNSUPPORTED},
        {"0,10e-6", "8e-6,2e-6", 0},
        {"0,10e-6", "7.999999e-6,2e-6", RLT_EUNSUPPORTED},
        {"0,10e-6", "3e-6,20e-6", RLT_EUNSUPPORTED},
        {"0,2e-6", "0.000001e-6,20e-6", 0},
        {"0,2.1e-6", "0.01e-6,20e-6", RLT_EUNSUPPORTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, HEAD "0,0,0,gc,%s,0\n0,0,0,optimizer,%s,1\n", rows[i].first,
                 rows[i].second);
        check(text, all, rows[i].code, rows[i].code ? "x.csv:3" : "",
              rows[i].code ? "optimizer overlaps gc (line 2)" : "");
    }
    /* Messages of one kind are no batch. */
    check(HEAD "0,0,0,forward-send,0,1e-3,0\n0,0,0,forward-send,0,1e-3,1\n0,0,0,gc,2e-3,1,0\n", all,
          RLT_EUNSUPPORTED, "x.csv:3", "forward-send overlaps forward-send (line 2)");
    /* What ends last counts, not what began last. */
    check(HEAD "0,0,0,gc,0,10e-6,0\n0,0,0,gc,5e-6,2e-6,1\n", all, RLT_EUNSUPPORTED, "x.csv:3",
          "gc overlaps gc");
    check(HEAD "0,0,0,gc,0,10e-6,0\n0,0,0,odd,8.5e-6,1e-6,1\n0,0,0,optimizer,9e-6,4e-6,2\n", all, 0, "", "");
    check(HEAD "0,0,0,gc,0,10e-6,0\n0,0,0,odd,8.5e-6,1e-6,1\n0,0,0,optimizer,6.5e-6,4e-6,2\n", all,
          RLT_EUNSUPPORTED, "x.csv:4", "optimizer overlaps gc (line 2)");
}

/* ---- the layout beside the table, and options ---- */

static void layouts(void **state)
{
    static const struct {
        const char *meta;
        int code;
        const char *where, *what;
    } rows[] = {
        {"dp_size: 1\npp_size: 1\ntp_size: 8\nvpp_size: 1\nworld_size: 999999999\nother: [1]\n", 0, "", ""},
        {"dp_size: 2\n", RLT_ESCHEMA, "meta-x.yaml", "says 2 x 0 data- and pipeline-parallel ranks, but "},
        {"pp_size: 2\n", RLT_ESCHEMA, "meta-x.yaml", "says 0 x 2 data"},
        {"pp_size: 2\n", RLT_ESCHEMA, "meta-x.yaml", "trace-x.csv has 1 x 1"},
        {"dp_size: 1000000000\n", RLT_ERANGE, "meta-x.yaml:1", "999999999"},
        {"tp_size: 1000000000\n", RLT_ERANGE, "meta-x.yaml:1", "999999999"},
        {"tp_size: x\n", RLT_ESCHEMA, "meta-x.yaml:1", ""},
        {"world_size: x\n", RLT_ESCHEMA, "meta-x.yaml:1", ""},
        {"vpp_size: x\n", RLT_ESCHEMA, "meta-x.yaml:1", ""},
        {"vpp_size: 2\n", RLT_EUNSUPPORTED, "meta-x.yaml", "interleaved"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("meta-x.yaml", rows[i].meta);
        check(HEAD ROW, all, rows[i].code, rows[i].where, rows[i].what);
    }
    for (uint32_t world = 1; world <= 2; world++) {
        char meta[40], want[300];
        snprintf(meta, sizeof meta, "world_size: %u\n", world);
        snprintf(want, sizeof want, "rank 0: 1e+06\ncompute 'gc 0' s0 on compute/1 1e+06 @0+1e+06\n%s",
                 world == 1 ? ""
                            : "1 rank stands for its whole tensor-parallel group: the job had 2 ranks\n");
        put("meta-x.yaml", meta);
        expect(HEAD ROW, all, want);
    }
    char path[100];
    snprintf(path, sizeof path, "%s/meta-x.yaml", folder);
    unlink(path);
    /* Kinds of other steps are not noted. */
    rlt_read_options one = {.first_step = 1, .last_step = 1};
    expect(HEAD "0,0,0,odd,0,1,0\n0,0,1,gc,0,1,0\n", one,
           "rank 0: 1e+06\ncompute 'gc 0' s0 on compute/1 1e+06 @0+1e+06\n");
    /* Only trace-NAME has a layout. */
    static const char *const names[] = {"tracex.csv", "trace-y.csv", "race-x.csv"};
    put("meta-x.yaml", "dp_size: 2\n");
    for (int i = 0; i < 3; i++) {
        const char *file = put(names[i], HEAD ROW);
        rlt_program *p;
        assert_int_equal(rlt_reader_timeline.read(&file, 1, &all, &p, NULL), 0);
        rlt_program_free(p);
        unlink(file);
    }
    unlink(path);
}

static uint64_t hash_of(const char *text)
{
    rlt_program *p;
    rlt_error err;
    assert_int_equal(read_text(text, &all, &p, &err), 0);
    uint64_t hash = p->hash;
    rlt_program_free(p);
    return hash;
}

/* The hash is of the table and of its layout. */
static void hashes(void **state)
{
    char path[100];
    (void)state;
    uint64_t plain = hash_of(HEAD ROW);
    assert_int_equal(hash_of(HEAD ROW), plain);
    assert_int_not_equal(hash_of(HEAD "0,0,0,gc,0,2,0\n"), plain);
    snprintf(path, sizeof path, "%s", put("meta-x.yaml", "tp_size: 1\n"));
    uint64_t one = hash_of(HEAD ROW);
    put("meta-x.yaml", "tp_size: 2\n");
    assert_int_not_equal(one, plain);
    assert_int_not_equal(hash_of(HEAD ROW), one);
    unlink(path);
}

static void options(void **state)
{
    rlt_read_options o = all;
    const char *paths[] = {"first", "second"};
    rlt_program *p;
    rlt_error err = {0};
    (void)state;
    o.n_ranks = 1;
    check(HEAD ROW, o, 0, "", "");
    o.n_ranks = 2;
    check(HEAD ROW, o, RLT_ESCHEMA, "trace-x.csv", "has 1 ranks, not 2");
    assert_int_equal(rlt_reader_timeline.read(paths, 2, &all, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "second");
    assert_null(p);
    err = (rlt_error){0};
    assert_int_equal(rlt_reader_timeline.read(paths, 0, &all, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "expected one timeline with all ranks");
    assert_int_equal(rlt_reader_timeline.read(paths, 1, &all, &p, NULL), RLT_EIO);
    assert_true(rlt_reader_timeline.ideals);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[100];
    (void)state;
    snprintf(path, sizeof path, "%s/trace-x.csv", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/meta-x.yaml", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages),        cmocka_unit_test(gaps),    cmocka_unit_test(messages),
        cmocka_unit_test(after_compute), cmocka_unit_test(cells),   cmocka_unit_test(kinds),
        cmocka_unit_test(steps),         cmocka_unit_test(many),    cmocka_unit_test(batches),
        cmocka_unit_test(clocks),        cmocka_unit_test(layouts), cmocka_unit_test(hashes),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests_name("timelines_by_hand", tests, make_folder, remove_folder);
}
