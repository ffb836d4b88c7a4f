/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GOAL files as programs and under LogGOPSim's cost model, compared with its finish times and with results by
 * hand. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/loggops.h"
#include "test/support/traces/replay.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/timing/loggops.h"

#define DATA  "../shared/data/goal/"
#define TIMES "test/data/goal/loggopsim_reference.csv" /* finish times, by LogGOPSim */

/* Every row of the published program's finish times. */
static void reference(void **state)
{
    (void)state;
    FILE *f = fopen(TIMES, "r");
    char line[512], file[128], path[256];
    int rows = 0;
    assert_non_null(f);
    if (access(DATA "resnet_dp_n4.goal", R_OK)) {
        fclose(f);
        skip();
    }
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        rlt_loggops p;
        rlt_loggops_result r;
        rlt_error err = {0};
        uint32_t ranks;
        uint64_t events, end;
        if (sscanf(line,
                   "%127[^,],%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu32
                   ",%" SCNu64 ",%" SCNu64,
                   file, &p.L, &p.o, &p.g, &p.G, &p.O, &p.S, &ranks, &events, &end) != 10)
            fail_msg("%s", line);
        snprintf(path, sizeof path, DATA "%s", file);
        if (rlt_loggops_run(path, &p, &r, &err))
            fail_msg("%s: %s", err.where, err.what);
        if (r.end_ns != end)
            fail_msg("%s: got %" PRIu64, line, r.end_ns);
        assert_int_equal(r.ranks, ranks);
        /* The published program counts an event per operation and per message. */
        assert_int_equal(3 * r.messages + r.calculations, events);
        rlt_loggops_free(&r);
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 24);
}

/* Costs of single operations, by hand. */
static void by_hand(void **state)
{
    (void)state;
    const char *p = "L=1000,o=100,g=50,G=2,O=1,S=1000";
    assert_int_equal(test_loggops_end("num_ranks 1 rank 0 { a: calc 70 b: calc 30 }", p), 100);
    assert_int_equal(test_loggops_end("num_ranks 1 rank 0 { a: calc 70 b: calc 30 cpu 1 }", p), 70);
    /* o + L + o + (s-1) max(O, G) */
    assert_int_equal(
        test_loggops_end("num_ranks 2 rank 0 { a: send 11b to 1 tag 3 } rank 1 { a: recv 11b from 0 tag 3 }",
                         p),
        100 + 1000 + 100 + 20);
    /* The receiver pays at the arrival of the message; a late receive adds nothing. */
    assert_int_equal(
        test_loggops_end("num_ranks 2 rank 0 { a: send 1b to 1 } rank 1 { c: calc 5000 a: recv 1b from 0 "
                         "a requires c b: calc 10 b requires a }",
                         p),
        5000 + 100 + 10);
    /* Above S bytes the sender waits: its calc begins when the receive has the message, at 1100. */
    assert_int_equal(
        test_loggops_end(
            "num_ranks 2 rank 0 { a: send 1001b to 1 b: calc 9000 b requires a } rank 1 { a: recv "
            "1001b from 0 }",
            p),
        1100 + 9000);
    assert_int_equal(
        test_loggops_end(
            "num_ranks 2 rank 0 { a: send 1000b to 1 b: calc 9000 b requires a } rank 1 { a: recv "
            "1000b from 0 }",
            p),
        100 + 999 + 9000);
    /* irequires: b may start as soon as a has begun. */
    assert_int_equal(test_loggops_end("num_ranks 1 rank 0 { a: calc 70 b: calc 30 cpu 1 b irequires a }", p),
                     70);
    assert_int_equal(test_loggops_end("num_ranks 1 rank 0 { a: calc 70 c: calc 30 cpu 1 c requires a }", p),
                     70);
    assert_int_equal(test_loggops_end("num_ranks 2 rank 0 { } rank 1 { }", p), 0);
    /* Rank 2 puts its second message off to 11 199. The message to rank 3 is sent later and arrives at 2 220. It
     * keeps the CPU to 2 220 + 100 + 3 999 = 6 319, longer than b waits for the NIC, to 4 999: b holds the CPU to
     * 6 419, and then d does. */
    assert_int_equal(
        test_loggops_end(
            "num_ranks 5 rank 0 { a: send 10000b to 2 } rank 1 { a: send 10000b to 2 } "
            "rank 2 { a: recv 10000b from 0 b: recv 10000b from 1 c: recv 5000b from 3 d: recv 1b "
            "from 3 tag 1 } rank 3 { a: send 5000b to 2 b: send 1b to 2 tag 1 b requires a c: recv "
            "4000b from 4 d: calc 50000 d requires c } rank 4 { a: calc 1120 b: send 4000b to 3 b "
            "requires a }",
            "L=1000,o=100,g=0,G=1,O=0,S=100000"),
        56419);
}

/* Two messages arrive at 1000 for two CPUs behind one NIC, which takes 999 for each: the second begins at 1999. With a NIC
 * of its own it ends with the first. */
static void one_nic(void **state)
{
    const char *p = "L=1000,o=0,g=0,G=1,O=0,S=100000";
    (void)state;
    assert_int_equal(
        test_loggops_end("num_ranks 3 rank 0 { a: send 1000b to 2 } rank 1 { a: send 1000b to 2 } "
                         "rank 2 { a: recv 1000b from 0 b: recv 1000b from 1 cpu 1 }",
                         p),
        1000 + 2 * 999);
    assert_int_equal(
        test_loggops_end("num_ranks 3 rank 0 { a: send 1000b to 2 } rank 1 { a: send 1000b to 2 } "
                         "rank 2 { a: recv 1000b from 0 b: recv 1000b from 1 cpu 1 nic 1 }",
                         p),
        1000 + 999);
}

/* Where words begin and end. */
static void words(void **state)
{
    static const char first[] = "num_ranks 1\nrank 0 {\na: calc ", last[] = "\n}";
    char text[200];
    (void)state;
    assert_int_equal(
        test_loggops_end("/**/num_ranks 1//x\nrank/* */0{//\na:calc/**/70\r\n\tb :calc 0030}", "L=0"), 100);
    assert_int_equal(
        test_loggops_end("num_ranks 1 rank 0 { rank: calc 1 calc: calc 2 calc requires rank requires: calc 4 "
                         "requires requires calc }",
                         "L=0"),
        7);
    for (size_t zeros = 60; zeros <= 62; zeros++) { /* a word has at most 62 characters */
        memcpy(text, first, sizeof first);
        memset(text + sizeof first - 1, '0', zeros);
        snprintf(text + sizeof first - 1 + zeros, 10, "7%s", last);
        assert_int_equal(
            test_loggops_refused(text, zeros == 62 ? ":3" : "goal", zeros == 62 ? "of more than 62" : ""),
            zeros == 62 ? RLT_EMALFORMED : 0);
    }
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 5x\n}", ":3", "got '5x'"),
                     RLT_EMALFORMED);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\n\na / calc 5\n}", ":4", "got '/'"),
                     RLT_EMALFORMED);
    assert_int_equal(
        test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 5 /* \n}", ":3", "a comment without an end"),
        RLT_EMALFORMED);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 5", ":3", "got the end"),
                     RLT_EMALFORMED);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\na: calcs 5 }", ":3", "got 'calcs'"),
                     RLT_EMALFORMED);
    assert_int_equal(
        test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 18446744073709551616000000000 }", ":3", "above"),
        RLT_ERANGE);
}

/* Labels are texts, also those that look like numbers. Each calc takes another power of two. */
static void labels(void **state)
{
    (void)state;
    assert_int_equal(
        test_loggops_end(
            "num_ranks 2 rank 0 { l7: calc 1 l07: calc 2 l: calc 4 7: calc 8 l70000000000000000007: calc 16 "
            "l7x: calc 32 L7: calc 64 l4294967295: calc 128 l0: calc 256 l00: calc 512 } "
            "rank 1 { l7: calc 1024 l8 requires l7 l8: calc 2048 }",
            "L=0"),
        1024 + 2048);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\nl7: calc 1\nl07: calc 1\nl7: calc 2\n}",
                                          ":5", "label 'l7' is given twice"),
                     RLT_ESCHEMA);
    assert_int_equal(
        test_loggops_refused("num_ranks 1\nrank 0 {\nl7: calc 1\nx requires l7\nl8 requires l7\n}", ":4",
                             "no operation has the label 'x'"),
        RLT_ESCHEMA);
    assert_int_equal(
        test_loggops_refused("num_ranks 2\nrank 0 {\nl7: calc 1\n}\nrank 1 {\nl8: calc 1\nl8 requires l7\n}",
                             ":7", "no operation has the label 'l7'"),
        RLT_ESCHEMA);
}

/* Numbers of every length, also where fewer than eight bytes of the file are left. */
static void numbers(void **state)
{
    uint64_t n = 0;
    char text[100];
    (void)state;
    for (uint64_t digit = 1; n < 100000000000000; digit++) {
        n = n * 10 + digit % 10;
        snprintf(text, sizeof text, "num_ranks 1 rank 0{a:calc %" PRIu64 "}", n);
        assert_int_equal(test_loggops_end(text, "L=0"), n);
        snprintf(text, sizeof text, "num_ranks 1 rank 0{a:calc %" PRIu64 "             }", n);
        assert_int_equal(test_loggops_end(text, "L=0"), n);
    }
}

static void refusals(void **state)
{
    (void)state;
    rlt_loggops p = rlt_loggops_default();
    rlt_error err = {0};
    assert_int_equal(
        test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}",
                             ":3", "never begins"),
        RLT_ESTALL);
    assert_int_equal(test_loggops_refused("num_ranks 2\nrank 0 {\na: send 1b to 1\n}", ":3", ""),
                     RLT_ESCHEMA);
    assert_int_equal(
        test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 9999999999999999\n}", ":3", "above"),
        RLT_ERANGE);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 5 cpu 64\n}", ":3", "CPUs"),
                     RLT_ERANGE);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\na: calc -5\n}", ":3", "expected a time"),
                     RLT_EMALFORMED);
    assert_int_equal(
        test_loggops_refused("num_ranks 2\nrank 0 {\na: send 281474976710656b to 1\n}\nrank 1 {\na: recv "
                             "281474976710656b from 0\n}\n",
                             "goal", ""),
        0);
    assert_int_equal(test_loggops_refused(
                         "num_ranks 1\nrank 0 { a: calc 1000000000000000 b: calc 1000000000000000 c: calc "
                         "1000000000000000 d: calc 1000000000000000 e: calc 1000000000000000 f: calc "
                         "1000000000000000 g: calc 1000000000000000 h: calc 1000000000000000 i: calc "
                         "1000000000000000 j: calc 1000000000000000 }",
                         "goal", "106 days"),
                     RLT_ERANGE);
    static const char *const bad[] = {"", "L", "L=", "L=x", "Z=1", "L=1,,", "L=1;o=2", "L=-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (rlt_error){0};
        assert_int_equal(rlt_loggops_parse(bad[i], &p, &err), RLT_EUSAGE);
    }
    err = (rlt_error){0};
    assert_int_equal(rlt_loggops_parse("L=1000000000000001", &p, &err), RLT_EUSAGE);
}

static rlt_program *read_program(const char *path)
{
    rlt_read_options o = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    rlt_error err = {0};
    if (rlt_trace_read(&path, 1, &o, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, "goal");
    return p;
}

/* Over a network: 14 consecutive steps of the ring, each of 131072 B at 1 B/ns and 2 x 500 ns. */
static void programs(void **state)
{
    (void)state;
    rlt_program *p;
    if (access(DATA "resnet_dp_n4.goal", R_OK))
        skip();
    p = read_program(DATA "allreduce_ring_n8_d1048576.goal");
    assert_int_equal(p->n_ranks, 8);
    assert_int_equal(p->n_comms, 112);
    assert_int_equal(test_replay(p, "switch:8@1GB/s,500ns"), INT64_C(14) * (131072 + 500 * 2) * 1000);
    rlt_program_free(p);
    p = read_program(DATA "resnet_dp_n4.goal");
    uint64_t bytes = 0, compute = 0;
    for (uint32_t i = 0; i < p->n_comms; i++)
        bytes += p->comms[i].bytes;
    for (uint32_t i = 0; i < p->n_ops; i++)
        compute += (uint64_t)p->ops[i].duration_ps / 1000;
    /* Sums of the file's columns. */
    assert_int_equal(bytes, 1926169856);
    assert_int_equal(compute, 1428000);
    assert_true(test_replay(p, "switch:4@1GB/s,500ns") >= (rlt_time)compute / 4 * 1000);
    rlt_program_free(p);
}

static void early(void **state)
{
    (void)state;
    const char *path =
        test_goal_file("/* by hand */ num_ranks 2\nrank 0 { a: calc 70 b: calc 30 cpu 1 b irequires a\n"
                       "s: send 1000b to 1 tag 9 s irequires a }\nrank 1 { r: recv 1000b from 0 tag 9 "
                       "c: calc 10 c requires r }");
    rlt_program *p = read_program(path);
    unlink(path);
    assert_int_equal(p->n_ranks, 2);
    assert_int_equal(p->n_comms, 1);
    /* The message leaves at once: 1000 B at 1 B/ns and 2 x 500 ns, then 10 ns. */
    assert_int_equal(test_replay(p, "switch:2@1GB/s,500ns"), INT64_C(2010000));
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference), cmocka_unit_test(by_hand),  cmocka_unit_test(one_nic),
        cmocka_unit_test(refusals),  cmocka_unit_test(words),    cmocka_unit_test(labels),
        cmocka_unit_test(numbers),   cmocka_unit_test(programs), cmocka_unit_test(early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
