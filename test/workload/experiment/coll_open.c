/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the settings of an experiment on collectives to its rows: kinds, sizes, algorithms, protocols, ranks,
 * tenants, counts and plans, and the words of every refusal. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/watch.h"
#include "test/support/ask.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/experiment/coll/coll.h"

#define SWITCH  "topology=switch:8@10GB/s,500ns "
#define ADDS    "topology=switch:8@100Gbps,1us,in_network=reduce+multicast "
#define RING_64 "ring,ring,ring,ring,ring,ring,ring,ring,"
#define RINGS   RING_64 RING_64 RING_64 RING_64 RING_64 RING_64 RING_64

static void test_refusals(void **state)
{
    static const struct {
        int code;
        const char *text, *where, *what;
    } cases[] = {
        {RLT_EUSAGE, "collective=all_redcue", "--collective",
         "unknown collective 'all_redcue'; did you mean 'all_reduce'?"},
        {RLT_EUSAGE, "collective=barrier,xyzzyx", "--collective", "xyzzyx"},
        {RLT_EUSAGE,
         "collective=barrier,barrier,barrier,barrier,barrier,barrier,barrier,barrier,barrier,barrier,barrier",
         "--collective", "expected each collective once"},
        {RLT_EUSAGE, "algorithm=" RINGS RING_64 "ring", "--algorithm", "expected at most 64 algorithms"},
        {RLT_EUSAGE, "algorithm=ring=3", "--algorithm", "expected the name of an algorithm, got 'ring=3'"},
        {RLT_EUSAGE, "algorithm=rng", "--algorithm", "did you mean 'ring'"},
        {RLT_EUSAGE, "algorithm=ring,auto=nccl", "--algorithm: auto: version",
         "expected a version such as 2.23"},
        {RLT_EUSAGE, "dtype=float33", "--dtype", "unknown type 'float33'; known are int8"},
        {RLT_EUSAGE, "no-fold verify-fold", "--verify-fold", "does not go with --no-fold"},
        {RLT_EUSAGE, "workers=2 ranks=4", "", "--ranks does not go with --workers"},
        {RLT_EUSAGE, "workers=2 group=0-3", "", "--group does not go with --workers"},
        {RLT_EUSAGE, "tenants=0", "--tenants", "expected 1 to 65535, got '0'"},
        {RLT_EUSAGE, "tenants=65536", "--tenants", "expected 1 to 65535, got '65536'"},
        {RLT_EUSAGE, "tenants=two", "--tenants", "expected 1 to 65535, got 'two'"},
        {RLT_EUSAGE, "tenants=3", "--tenants",
         "8 ranks do not divide into 3 equal jobs of at least two ranks"},
        {RLT_EUSAGE, "tenants=8", "--tenants",
         "8 ranks do not divide into 8 equal jobs of at least two ranks"},
        {RLT_EUSAGE, "tenants=65535", "--tenants", "8 ranks do not divide into 65535 equal jobs"},
        {RLT_EUSAGE, "tenants=2 root=1", "", "--root does not go with --tenants"},
        {RLT_EUSAGE, "tenants=2 counts=/no/such", "", "--counts does not go with --tenants"},
        {RLT_EUSAGE, "tenants=2 plan=/no/such", "", "--plan does not go with --tenants"},
        {RLT_EUSAGE, "tenants=2 verify-fold", "", "--verify-fold does not go with --tenants"},
        {RLT_EUSAGE, "tenants=2 collective=send_recv", "--tenants",
         "does not go with --collective send_recv"},
        {RLT_EUSAGE, "workers=9", "--workers", "1 tenant with 9 workers each exceed the 8 ranks"},
        {RLT_EUSAGE, "workers=5 tenants=2", "--workers", "2 tenants with 5 workers each exceed the 8 ranks"},
        {RLT_ERANGE, "group=0,8", "--group", ""},
        {RLT_ESCHEMA, "group=1,1", "--group", ""},
        {RLT_EUSAGE, "group=1-x", "--group", "expected ranks"},
        {RLT_EUSAGE, "group=5,3,1 root=2", "--root", "rank 2 is not in the group, which has 3 ranks"},
        {RLT_EUSAGE, "ranks=4 root=4", "--root", "rank 4 is not in the group, which has 4 ranks"},
        {RLT_EUSAGE, "ranks=1 collective=send_recv", "--collective", "send_recv needs two ranks"},
        {RLT_EUSAGE, "collective=gather bytes=1KiB counts=/no/such", "--bytes",
         "does not go with --counts, which gives the bytes of each share"},
        {RLT_EUSAGE, "collective=gather,scatter counts=/no/such", "--counts",
         "needs one --collective: all_to_all, all_gather, reduce_scatter, gather or scatter"},
        {RLT_EUSAGE, "collective=all_reduce counts=/no/such", "--counts", "needs one --collective"},
        {RLT_EUSAGE, "collective=broadcast counts=/no/such", "--counts", "needs one --collective"},
        {RLT_EUSAGE, "collective=reduce counts=/no/such", "--counts", "needs one --collective"},
        {RLT_EUSAGE, "collective=barrier counts=/no/such", "--counts", "needs one --collective"},
        {RLT_EUSAGE, "collective=send_recv counts=/no/such", "--counts", "needs one --collective"},
        {RLT_EIO, "collective=scatter counts=/no/such", "/no/such", ""},
        {RLT_EIO, "plan=/no/such.xml", "/no/such.xml", "no such file"},
        {RLT_EIO, "plan=/no/such.json", "/no/such.json", "no such file"},
        {RLT_EIO, "plan=/no/such.goal", "/no/such.goal", "no such file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[900];
        test_ask a;
        rlt_error err = {0};
        snprintf(text, sizeof text, SWITCH "%s", cases[i].text);
        test_ask_read(&a, text);
        int rc = rlt_coll_open(&a.ask, false, &err);
        if (rc != cases[i].code || strcmp(err.where, cases[i].where) != 0 || !strstr(err.what, cases[i].what))
            fail_msg("%s: %d: %s: %s", cases[i].text, rc, err.where, err.what);
        test_ask_free(&a);
    }
}

static void test_kinds_and_sizes(void **state)
{
    test_ask a;
    (void)state;
    /* Each kind with each size; a barrier has none. */
    test_ask_open(&a, SWITCH "collective=broadcast,barrier,gather bytes=1KiB,3KiB algorithm=ring", false);
    assert_int_equal(a.ask.n_kinds, 3);
    assert_int_equal(a.ask.n_sizes, 2);
    assert_int_equal(a.ask.n_cases, 5);
    static const rlt_coll_case cases[] = {{RLT_BROADCAST, 1024},
                                          {RLT_BROADCAST, 3072},
                                          {RLT_BARRIER, 0},
                                          {RLT_GATHER, 1024},
                                          {RLT_GATHER, 3072}};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(a.ask.cases[i].kind, cases[i].kind);
        assert_int_equal(a.ask.cases[i].bytes, cases[i].bytes);
    }
    assert_false(a.ask.all_algorithms);
    test_ask_free(&a);
    /* all: each kind once, whatever else the list says */
    test_ask_open(&a, SWITCH "collective=gather,all,gather bytes=1KiB algorithm=ring", false);
    assert_int_equal(a.ask.n_cases, RLT_COLL_KINDS);
    for (int i = 0; i < RLT_COLL_KINDS; i++)
        assert_int_equal(a.ask.cases[i].kind, i);
    test_ask_free(&a);
    /* One rank alone sends nothing; nor does a tenant. */
    test_ask_open(&a, SWITCH "collective=all bytes=1KiB ranks=1", false);
    assert_int_equal(a.ask.n_cases, RLT_COLL_KINDS - 1);
    for (int i = 0; i < RLT_COLL_KINDS - 1; i++)
        assert_int_equal(a.ask.cases[i].kind, i < RLT_SEND_RECV ? i : i + 1);
    test_ask_free(&a);
    test_ask_open(&a, SWITCH "collective=all bytes=1KiB tenants=4", false);
    assert_int_equal(a.ask.n_cases, RLT_COLL_KINDS - 1);
    test_ask_free(&a);
}

static uint32_t algorithms(void)
{
    uint32_t n = 0;
    while (rlt_algorithm_at(n))
        n++;
    return n;
}

static uint32_t protocols(void)
{
    uint32_t n = 0;
    while (rlt_reactive_at(n))
        n++;
    return n;
}

/* Whether the rows of one size are by all algorithms, and then by this number of protocols. */
static void hold_all(const char *text, bool compare, uint32_t reacting)
{
    test_ask a;
    uint32_t n = algorithms();
    test_ask_open(&a, text, compare);
    assert_true(a.ask.all_algorithms);
    if (a.ask.n_algorithms != n + reacting)
        fail_msg("%s: %u algorithms", text, a.ask.n_algorithms);
    for (uint32_t i = 0; i < n; i++) {
        assert_ptr_equal(a.ask.algorithms[i], rlt_algorithm_at(i));
        assert_null(a.ask.reacting[i]);
    }
    for (uint32_t i = 0; i < reacting; i++) {
        assert_null(a.ask.algorithms[n + i]);
        assert_ptr_equal(a.ask.reacting[n + i]->protocol, rlt_reactive_at(i));
    }
    test_ask_free(&a);
}

static void test_all_algorithms(void **state)
{
    test_ask a;
    (void)state;
    hold_all(SWITCH "bytes=1KiB algorithm=all", false, 0);
    hold_all(SWITCH "bytes=1KiB algorithm=all network=packet", false, 0);
    hold_all(ADDS "bytes=1KiB algorithm=all", false, 0);
    hold_all(ADDS "bytes=1KiB algorithm=all network=packet", false, protocols());
    /* Without a word, protocols are not compared, nor are large groups. */
    hold_all(ADDS "bytes=1KiB network=packet", true, 0);
    hold_all("topology=switch:64@10GB/s,0ns bytes=1KiB", true, 0);
    static const char *const automatic[] = {"topology=switch:65@10GB/s,0ns bytes=1KiB",
                                            "topology=switch:64@10GB/s,0ns bytes=1KiB",
                                            SWITCH "bytes=1KiB algorithm=auto"};
    for (int i = 0; i < 3; i++) {
        test_ask_open(&a, automatic[i], i != 1);
        assert_false(a.ask.all_algorithms);
        assert_int_equal(a.ask.n_algorithms, 1);
        assert_null(a.ask.algorithms[0]);
        assert_null(a.ask.reacting[0]);
        test_ask_free(&a);
    }
    test_ask_open(&a, SWITCH "bytes=1KiB algorithm=" RINGS "ring,ring,ring,ring,ring,ring,ring,ring", false);
    assert_int_equal(a.ask.n_algorithms, RLT_COLL_ALGORITHMS);
    test_ask_free(&a);
}

/* Protocols stand where the list names them. */
static void test_protocols(void **state)
{
    test_ask a;
    rlt_error err = {0};
    (void)state;
    test_ask_open(&a, ADDS "bytes=1KiB algorithm=switchml,ring,ps-switch,auto set=switchml.window=7", false);
    assert_int_equal(a.ask.n_algorithms, 4);
    assert_ptr_equal(a.ask.reacting[0]->protocol, rlt_reactive_find("switchml", &err));
    assert_null(a.ask.reacting[1]);
    assert_ptr_equal(a.ask.algorithms[1], rlt_algorithm_find("ring", &err));
    assert_ptr_equal(a.ask.reacting[2]->protocol, rlt_reactive_find("ps-switch", &err));
    assert_null(a.ask.reacting[3]);
    assert_null(a.ask.algorithms[0]);
    assert_null(a.ask.algorithms[3]);
    test_ask_free(&a);
}

/* Versions of a library have names of their own for what they choose. */
static void test_versions(void **state)
{
    test_ask a;
    rlt_error err = {0};
    const rlt_algorithm *tree = rlt_algorithm_find("tree", &err), *ring = rlt_algorithm_find("ring", &err);
    rlt_algorithm foreign = *tree;
    (void)state;
    test_ask_open(&a, SWITCH "bytes=1KiB,2KiB algorithm=ring,auto=nccl-2.23,auto=rccl,auto", false);
    assert_int_equal(a.ask.n_algorithms, 4);
    assert_int_equal(a.ask.libraries[0], 0);
    assert_true(a.ask.libraries[1] > 0 && a.ask.libraries[2] > 0 && a.ask.libraries[1] != a.ask.libraries[2]);
    assert_int_equal(a.ask.libraries[3], 0);
    for (uint32_t row = 0; row < 8; row += 4) { /* of the first size and of the second */
        assert_string_equal(rlt_coll_label_of(&a.ask, row, ring), "ring");
        assert_string_equal(rlt_coll_label_of(&a.ask, row + 1, tree), "tree@nccl-2.23");
        assert_string_equal(rlt_coll_label_of(&a.ask, row + 1, ring), "ring@nccl-2.23");
        assert_string_equal(rlt_coll_label_of(&a.ask, row + 2, tree), "tree@rccl");
        assert_string_equal(rlt_coll_label_of(&a.ask, row + 3, tree), "tree");
        assert_string_equal(rlt_coll_label_of(&a.ask, row + 1, &foreign), "tree"); /* of no list */
        assert_int_equal(rlt_coll_request_of(&a.ask, row + 1, 0).library, a.ask.libraries[1]);
        assert_int_equal(rlt_coll_request_of(&a.ask, row, 0).library, 0);
    }
    test_ask_free(&a);
}

static void hold_ranks(const rlt_group *g, uint32_t n, const uint32_t *ranks)
{
    assert_int_equal(g->n, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(g->ranks ? g->ranks[i] : i, ranks[i]);
}

static void test_groups(void **state)
{
    static const struct {
        const char *text;
        uint32_t n, ranks[8], pair[2], root;
    } cases[] = {
        {"", 8, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1}, 0},
        {"ranks=3 root=2", 3, {0, 1, 2}, {0, 1}, 2},
        {"group=5,3,1 root=1", 3, {5, 3, 1}, {5, 3}, 2},
        {"group=5,3,1", 3, {5, 3, 1}, {5, 3}, 0},
        {"workers=2", 2, {0, 1}, {0, 1}, 0},
        {"workers=8", 8, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1}, 0},
    };
    test_ask a;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, SWITCH "bytes=1KiB collective=broadcast,barrier,send_recv %s",
                 cases[i].text);
        test_ask_open(&a, text, false);
        hold_ranks(&a.ask.group, cases[i].n, cases[i].ranks);
        hold_ranks(&a.ask.pair, 2, cases[i].pair);
        assert_int_equal(a.ask.root, cases[i].root);
        assert_int_equal(rlt_coll_request_of(&a.ask, 0, 0).root, cases[i].root);
        assert_int_equal(rlt_coll_request_of(&a.ask, 1, 0).root, 0); /* a barrier has none */
        rlt_coll_request sends = rlt_coll_request_of(&a.ask, 2, 0);
        assert_int_equal(sends.n, 2);
        assert_int_equal(rlt_member_rank(&sends, 1), cases[i].pair[1]);
        test_ask_free(&a);
    }
    test_ask_open(&a, SWITCH "bytes=1KiB ranks=1", false);
    assert_int_equal(a.ask.group.n, 1);
    assert_int_equal(a.ask.pair.n, 0);
    test_ask_free(&a);
}

static void test_tenants(void **state)
{
    static const uint32_t even[] = {0, 2, 4, 6}, odd[] = {1, 3, 5, 7};
    static const uint32_t of_list[3][2] = {{7, 4}, {6, 3}, {5, 2}}, of_six[3][2] = {{0, 3}, {1, 4}, {2, 5}};
    test_ask a;
    (void)state;
    test_ask_open(&a, SWITCH "bytes=1KiB tenants=2", false);
    assert_int_equal(a.ask.n_tenants, 2);
    hold_ranks(&a.ask.tenants[0], 4, even);
    hold_ranks(&a.ask.tenants[1], 4, odd);
    rlt_coll_request second = rlt_coll_request_of(&a.ask, 0, 1);
    assert_int_equal(second.n, 4);
    assert_int_equal(rlt_member_rank(&second, 3), 7);
    test_ask_free(&a);
    test_ask_open(&a, SWITCH "bytes=1KiB tenants=3 group=7,6,5,4,3,2", false);
    for (int i = 0; i < 3; i++)
        hold_ranks(&a.ask.tenants[i], 2, of_list[i]);
    test_ask_free(&a);
    test_ask_open(&a, SWITCH "bytes=1KiB tenants=3 workers=2", false);
    for (int i = 0; i < 3; i++)
        hold_ranks(&a.ask.tenants[i], 2, of_six[i]);
    test_ask_free(&a);
    test_ask_open(&a, SWITCH "bytes=1KiB tenants=1", false);
    assert_int_equal(a.ask.n_tenants, 1);
    hold_ranks(&a.ask.tenants[0], 8, (const uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7});
    test_ask_free(&a);
    test_ask_open(&a, SWITCH "bytes=1KiB", false);
    assert_int_equal(a.ask.n_tenants, 0);
    assert_null(a.ask.tenants);
    test_ask_free(&a);
}

static void test_element(void **state)
{
    test_ask a;
    (void)state;
    test_ask_open(&a, SWITCH "bytes=1KiB dtype=int64", false);
    assert_int_equal(rlt_coll_request_of(&a.ask, 0, 0).element, 8);
    test_ask_free(&a);
    test_ask_open(&a, SWITCH "bytes=1KiB set=channels=3", false);
    assert_int_equal(rlt_coll_request_of(&a.ask, 0, 0).element, 0);
    assert_int_equal(rlt_coll_request_of(&a.ask, 0, 0).params.channels, 3);
    test_ask_free(&a);
}

/* One row, or a refusal. */
static void test_one(void **state)
{
    static const struct {
        const char *text, *what; /* what: NULL: one row */
    } cases[] = {
        {"bytes=1KiB algorithm=ring", NULL},
        {"bytes=1KiB", NULL},
        {"bytes=1KiB,2KiB algorithm=ring",
         "expected one collective, one size and one algorithm, got 2 collectives or sizes and 1 algorithms"},
        {"bytes=1KiB algorithm=ring,tree", "got 1 collectives or sizes and 2 algorithms"},
        {"bytes=1KiB algorithm=all", "expected one collective"},
        {"bytes=1KiB collective=gather,scatter", "got 2 collectives or sizes and 1 algorithms"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        test_ask a;
        rlt_error err = {0};
        snprintf(text, sizeof text, SWITCH "%s", cases[i].text);
        test_ask_read(&a, text);
        int rc = rlt_coll_open_one(&a.ask, &err);
        if (cases[i].what ? rc != RLT_EUSAGE || !strstr(err.what, cases[i].what) : rc)
            fail_msg("%s: %d: %s", cases[i].text, rc, err.what);
        test_ask_free(&a);
    }
}

/* The bytes of a collective with counts: of an all-to-all what the busiest sender sends, else the sum. */
static void test_counts(void **state)
{
    static const struct {
        const char *file, *kind;
        uint64_t bytes;
    } cases[] = {
        {"10 20 30", "all_gather", 60},
        {"10 20 30", "reduce_scatter", 60},
        {"10 20 30", "gather", 60},
        {"0 0 7", "scatter", 7},
        {"1 2 3\n40 50 60\n7 8 9\n", "all_to_all", 150},
        {"1 2 3\n4 5 6\n7 8 9\n", "all_to_all", 24},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/ringlet_counts_XXXXXX", text[200];
        test_ask a;
        test_write_new(path, cases[i].file, strlen(cases[i].file));
        snprintf(text, sizeof text, SWITCH "ranks=3 collective=%s counts=%s", cases[i].kind, path);
        test_ask_open(&a, text, false);
        unlink(path);
        assert_int_equal(a.ask.n_cases, 1);
        rlt_coll_request r = rlt_coll_request_of(&a.ask, 0, 0);
        assert_int_equal(r.bytes, cases[i].bytes);
        assert_int_equal(r.counts[2], i == 3 ? 7 : i < 3 ? 30 : 3);
        assert_string_equal(a.ask.setup.inputs.items[a.ask.setup.inputs.n - 1].what, "counts");
        test_ask_free(&a);
    }
}

/* ---- plans ---- */

static const char json[] =
    "{\"format\": \"ringlet-plan\", \"version\": 1, \"name\": \"mine\", \"collective\": \"broadcast\",\n"
    "\"ranks\": 2, \"root\": 1, \"lanes\": 1, \"blocks\": 1, \"blocks_of\": \"lane\", \"buffers\": 1,\n"
    "\"result\": 0, \"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [{\"receives\": 1, \"from\": 1}]},\n"
    "{\"rank\": 1, \"lane\": 0, \"steps\": [{\"to\": 0, \"step\": 0, \"send\": [0], \"nowait\": true}]}]}\n";
static const char goal[] = "num_ranks 2\nrank 0 {\nl1: send 64b to 1 tag 0\n}\n"
                           "rank 1 {\nl1: recv 64b from 0 tag 0\n}\n";

static char noted[4400];
static uint32_t notes;

static void take_note(void *ctx, const char *text)
{
    (void)ctx;
    notes++;
    snprintf(noted, sizeof noted, "%s", text);
}

static void test_plans(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        int code;
        const char *what; /* behind the path; NULL: n algorithms */
    } cases[] = {
        {"ranks=2 root=1 bytes=1KiB collective=broadcast", 1, 0, NULL},
        {"ranks=2 root=1 bytes=1KiB,2KiB collective=gather,broadcast", 1, 0, NULL},
        {"group=5,3 root=3 bytes=1KiB collective=broadcast algorithm=ring,tree", 3, 0, NULL},
        {"ranks=2 bytes=1KiB collective=gather", 0, RLT_EUSAGE,
         "is a plan for broadcast, but --collective is gather"},
        {"ranks=3 root=1 bytes=1KiB collective=broadcast", 0, RLT_ETOPOLOGY,
         "is a plan for 2 ranks, but the group has 3"},
        {"ranks=2 bytes=1KiB collective=broadcast", 0, RLT_EUSAGE,
         "the plan's root is member 1 of the group, but --root is member 0"},
    };
    char path[] = "/tmp/ringlet_plan_XXXXXX", text[400];
    (void)state;
    test_write_new(path, json, strlen(json));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_ask a;
        rlt_error err = {0};
        const rlt_watch watch = {.note = take_note};
        snprintf(text, sizeof text, SWITCH "%s plan=%s", cases[i].text, path);
        test_ask_read(&a, text);
        a.ask.watch = &watch;
        notes = 0;
        int rc = rlt_coll_open(&a.ask, true, &err);
        if (rc != cases[i].code ||
            (rc && (strcmp(err.where, path) != 0 || strcmp(err.what, cases[i].what) != 0)))
            fail_msg("%s: %d: %s: %s", cases[i].text, rc, err.where, err.what);
        if (!rc) {
            uint32_t last = cases[i].n - 1;
            assert_int_equal(a.ask.n_algorithms, cases[i].n);
            assert_int_equal(a.ask.n_plans, 1);
            assert_ptr_equal(a.ask.algorithms[last], &rlt_custom);
            assert_string_equal(a.ask.listed[last]->name, "mine");
            assert_null(last ? a.ask.listed[0] : NULL);
            assert_ptr_equal(rlt_coll_request_of(&a.ask, last, 0).listed, a.ask.listed[last]);
            assert_string_equal(a.ask.setup.inputs.items[a.ask.setup.inputs.n - 1].what, "plan");
        }
        assert_int_equal(notes, 0);
        test_ask_free(&a);
    }
    unlink(path);
}

/* Files that do not say what they are get it from the settings, if these have one meaning; what is not proved
 * is said. */
static void test_untracked(void **state)
{
    char path[] = "/tmp/ringlet_plan_XXXXXX", text[400], said[400];
    const rlt_watch watch = {.note = take_note}, deaf = {.note = NULL};
    test_ask a;
    rlt_error err = {0};
    (void)state;
    test_write_new(path, goal, strlen(goal));
    snprintf(text, sizeof text, SWITCH "ranks=2 bytes=64B collective=broadcast plan=%s plan=%s", path, path);
    for (int i = 0; i < 3; i++) {
        test_ask_read(&a, text);
        a.ask.watch = i == 0 ? &watch : i == 1 ? &deaf : NULL;
        notes = 0;
        if (rlt_coll_open(&a.ask, false, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(a.ask.n_plans, 2);
        assert_int_equal(a.ask.listed[1]->kind, RLT_BROADCAST);
        assert_int_equal(a.ask.listed[1]->bytes, 64);
        assert_int_equal(notes, i == 0 ? 2 : 0);
        test_ask_free(&a);
    }
    snprintf(said, sizeof said, "%s lists messages, but not their contents", path);
    assert_non_null(strstr(noted, said));
    static const char *const many[] = {"bytes=64B,65B collective=broadcast", "bytes=64B collective=all"};
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, SWITCH "ranks=2 %s plan=%s", many[i], path);
        test_ask_read(&a, text);
        assert_true(rlt_coll_open(&a.ask, false, &err) < 0);
        assert_non_null(strstr(err.what, "give exactly one collective and one size"));
        test_ask_free(&a);
    }
    unlink(path);
}

/* Eight plans, and as many as 64 algorithms leave. */
static void test_limits_of_plans(void **state)
{
    char path[] = "/tmp/ringlet_plan_XXXXXX", text[900], plan[64];
    (void)state;
    test_write_new(path, json, strlen(json));
    snprintf(plan, sizeof plan, " plan=%s", path);
    static const struct {
        const char *text;
        int plans;
        const char *where, *what;
    } cases[] = {
        {"collective=broadcast", 8, NULL, NULL},
        {"collective=broadcast", 9, "--plan", "expected at most 8 plans"},
        {"collective=broadcast algorithm=" RINGS, 8, NULL, NULL},
        {"collective=broadcast algorithm=" RINGS "ring,ring", 8, "--plan", "expected at most 8 plans"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_ask a;
        rlt_error err = {0};
        size_t n = strlen(cases[i].text);
        snprintf(text, sizeof text, SWITCH "ranks=2 root=1 bytes=64B %.*s",
                 (int)n - (cases[i].text[n - 1] == ','), cases[i].text);
        for (int k = 0; k < cases[i].plans; k++)
            strcat(text, plan);
        test_ask_read(&a, text);
        int rc = rlt_coll_open(&a.ask, false, &err);
        if (cases[i].what ? rc != RLT_EUSAGE || strcmp(err.where, cases[i].where) != 0 ||
                                strcmp(err.what, cases[i].what) != 0
                          : rc || a.ask.n_plans != 8)
            fail_msg("case %zu: %d: %s: %s", i, rc, err.where, err.what);
        test_ask_free(&a);
    }
    unlink(path);
}

/* A plan's blocks have one size. */
static void test_plan_with_counts(void **state)
{
    char path[] = "/tmp/ringlet_plan_XXXXXX", counts[] = "/tmp/ringlet_counts_XXXXXX", text[400];
    static const char gathers[] = "num_ranks 2\nrank 0 {\nl1: recv 4b from 1 tag 0\n}\n"
                                  "rank 1 {\nl1: send 4b to 0 tag 0\n}\n";
    test_ask a;
    rlt_error err = {0};
    (void)state;
    test_write_new(path, gathers, strlen(gathers));
    test_write_new(counts, "3 4", 3);
    snprintf(text, sizeof text, SWITCH "ranks=2 collective=gather counts=%s plan=%s", counts, path);
    test_ask_read(&a, text);
    a.settings.bytes = "7B"; /* a hint needs one size */
    assert_int_equal(rlt_coll_open(&a.ask, false, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "--counts");
    assert_string_equal(err.what, "does not go with --plan: all blocks of a plan have the same size");
    test_ask_free(&a);
    unlink(path);
    unlink(counts);
}

/* Files that were read once serve other settings when they are gone. */
static void test_lent(void **state)
{
    char path[] = "/tmp/ringlet_plan_XXXXXX", text[400];
    rlt_coll_files files;
    test_ask a;
    rlt_error err = {0};
    (void)state;
    test_write_new(path, json, strlen(json));
    snprintf(text, sizeof text, SWITCH "ranks=2 root=1 bytes=1KiB collective=broadcast plan=%s", path);
    test_ask_read(&a, text);
    assert_int_equal(rlt_coll_files_load(&a.settings, &a.args, &files, &err), 0);
    test_ask_free(&a);
    unlink(path);
    assert_int_equal(files.n_plans, 1);
    assert_string_equal(files.inputs.items[files.inputs.n - 1].what, "plan");
    test_ask_read(&a, text);
    rlt_coll_lend(&a.settings, &files);
    if (rlt_coll_open_one(&a.ask, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_ptr_equal(a.ask.listed[0], &files.plans[0]);
    test_ask_free(&a);
    rlt_coll_files_free(&files);
    assert_null(files.plans);
    assert_int_equal(files.n_plans, 0);
}

/* A row for each of all algorithms, as far as there is room; protocols that have none are refused. */
static void test_most_algorithms(void **state)
{
    static rlt_algorithm more[RLT_COLL_ALGORITHMS];
    static char names[RLT_COLL_ALGORITHMS][8];
    test_ask a;
    (void)state;
    for (uint32_t n = algorithms(); n <= RLT_COLL_ALGORITHMS; n++) {
        const char *text = ADDS "bytes=1KiB algorithm=all network=packet";
        rlt_error err = {0};
        if (n + protocols() <= RLT_COLL_ALGORITHMS)
            hold_all(text, false, protocols());
        else {
            test_ask_read(&a, text);
            assert_int_equal(rlt_coll_open(&a.ask, false, &err), RLT_EUSAGE);
            assert_string_equal(err.where, "--algorithm");
            assert_string_equal(err.what, "expected at most 64 algorithms");
            test_ask_free(&a);
        }
        hold_all("topology=switch:64@10GB/s,0ns bytes=1KiB", true, 0);
        snprintf(names[n - 1], sizeof names[n - 1], "mine%u", (unsigned)n % 100);
        more[n - 1] = rlt_direct;
        more[n - 1].name = names[n - 1];
        assert_int_equal(rlt_registry_add(rlt_algorithms(), &more[n - 1], "this test", NULL), 0);
    }
    test_ask_open(&a, "topology=switch:64@10GB/s,0ns bytes=1KiB", true);
    assert_int_equal(a.ask.n_algorithms, RLT_COLL_ALGORITHMS);
    test_ask_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_kinds_and_sizes),
        cmocka_unit_test(test_all_algorithms),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_tenants),
        cmocka_unit_test(test_element),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_untracked),
        cmocka_unit_test(test_lent),
        cmocka_unit_test(test_plan_with_counts),
        cmocka_unit_test(test_limits_of_plans),
        cmocka_unit_test(test_most_algorithms), /* adds some: the last one */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
