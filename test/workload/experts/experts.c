/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of tokens by closed forms, loads of experts by hand, and what is refused. */
#include "workload/experts/experts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "test/support/support.h"
#include "test/support/text_file.h"

static void close_to(double got, double expected, double share)
{
    if (!(fabs(got - expected) <= share * expected))
        fail_msg("%.6f, expected %.6f", got, expected);
}

/* Two parts of two experts, top 2: of 6 pairs, 2 are in one part and 4 in both, so 10 / 6. With one expert a
 * token is in one part, and all experts are in all parts. The tests of DeepEP's kernels counted 3.609 nodes of
 * 4 and 1.993 of 2 for 256 experts, top 8 (aws-samples/awsome-distributed-ai 95b939c, ep-backend-comparison),
 * over 4096 random tokens, whose mean spreads by about 0.2 %. */
static void distinct(void **state)
{
    (void)state;
    close_to(rlt_distinct_parts(2, 4, 2), 10.0 / 6, 1e-12);
    close_to(rlt_distinct_parts(8, 64, 1), 1, 1e-12);
    close_to(rlt_distinct_parts(4, 8, 8), 4, 1e-12);
    close_to(rlt_distinct_parts(4, 256, 8), 3.609, 0.002);
    close_to(rlt_distinct_parts(2, 256, 8), 1.993, 0.0005);
}

/* 128 experts, top 8, nodes of 8: an all-to-all sends 8 copies, of which 4 leave the node if there are two, and
 * 6 if there are four. With a copy for each node 1.0 and 2.7 leave it. */
static void copies(void **state)
{
    const rlt_dispatch_algorithm *each = rlt_registry_find(rlt_dispatch_algorithms(), "alltoall", NULL, NULL),
                                 *once =
                                     rlt_registry_find(rlt_dispatch_algorithms(), "two-level", NULL, NULL);
    rlt_expert_group two = {128, 8, 16, 0}, four = {128, 8, 32, 0};
    (void)state;
    close_to(rlt_dispatch_copies_of(each, &two, 8).remote, 4, 1e-12);
    close_to(rlt_dispatch_copies_of(each, &four, 8).remote, 6, 1e-12);
    close_to(rlt_dispatch_copies_of(each, &four, 8).network, 8, 1e-12);
    close_to(rlt_dispatch_copies_of(once, &two, 8).remote, 1.0, 0.01);
    close_to(rlt_dispatch_copies_of(once, &four, 8).remote, 2.7, 0.01);
    close_to(rlt_dispatch_copies_of(once, &four, 8).inside, rlt_distinct_parts(32, 128, 8), 1e-12);
    close_to(rlt_dispatch_copies_of(each, &two, 16).remote + 1, 1, 1e-12);
    close_to(rlt_dispatch_copies_of(each, &four, 8).inside, 0, 0);
}

/* 2 nodes of 2 members with an expert each, top 2: of 6 pairs 4 are on both nodes. A router that picks one node
 * takes both experts there: one copy over the network and two inside. With 256 experts on 8 nodes, top 8, the
 * experts of 4 nodes are as those of a group of 4 nodes with 128. */
static void few_nodes(void **state)
{
    const rlt_dispatch_algorithm *each = rlt_registry_find(rlt_dispatch_algorithms(), "alltoall", NULL, NULL),
                                 *once =
                                     rlt_registry_find(rlt_dispatch_algorithms(), "two-level", NULL, NULL);
    rlt_expert_group small = {4, 2, 4, 0}, deepseek = {256, 8, 64, 4}, half = {128, 8, 32, 0};
    (void)state;
    close_to(rlt_dispatch_copies_of(once, &small, 2).network, 10.0 / 6, 1e-12);
    small.token_nodes = 1;
    close_to(rlt_dispatch_copies_of(once, &small, 2).network, 1, 1e-12);
    close_to(rlt_dispatch_copies_of(once, &small, 2).inside, 2, 1e-12);
    close_to(rlt_dispatch_copies_of(each, &small, 2).network, 2, 1e-12);
    close_to(rlt_dispatch_copies_of(once, &deepseek, 8).network,
             rlt_dispatch_copies_of(once, &half, 8).network, 1e-12);
    close_to(rlt_dispatch_copies_of(once, &deepseek, 8).inside, rlt_distinct_parts(32, 128, 8), 1e-12);
    close_to(rlt_dispatch_copies_of(once, &deepseek, 8).remote, 3.62901 * 7 / 8, 1e-4);
    deepseek.token_nodes = 9; /* more than there are */
    close_to(rlt_dispatch_copies_of(once, &deepseek, 8).network, 5.29465, 1e-4);
}

static char lines_path[] = "/tmp/ringlet-experts-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    test_write_new(lines_path, "", 0);
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(lines_path);
}

static const char *write_file(const char *text)
{
    FILE *f = fopen(lines_path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return lines_path;
}

/* A routing of 4 experts, and its load. */
typedef struct load_row {
    const char *routing, *file;
    double capacity;
    uint32_t top_k;
    double experts, exchange, dropped;
} load_row;

static void check_loads(const load_row *rows, size_t n, uint32_t members)
{
    for (size_t i = 0; i < n; i++) {
        rlt_expert_group g = {4, rows[i].top_k, members, 0};
        rlt_expert_load l;
        rlt_error err = {0};
        const char *routing = rows[i].routing ? rows[i].routing : write_file(rows[i].file);
        if (rlt_routing_load(routing, &g, rows[i].capacity, &l, &err))
            fail_msg("row %zu: %s: %s", i, err.where, err.what);
        if (!(fabs(l.experts - rows[i].experts) <= 1e-9 && fabs(l.exchange - rows[i].exchange) <= 1e-9 &&
              fabs(l.dropped - rows[i].dropped) <= 1e-9))
            fail_msg("row %zu: %.4f %.4f %.4f", i, l.experts, l.exchange, l.dropped);
    }
}

/* On 2 members. */
static void loads(void **state)
{
    static const load_row rows[] = {
        {"balanced", NULL, 0, 1, 1, 1, 0},
        {"balanced", NULL, 0.5, 1, 0.5, 0.5, 0.5},
        {"zipf:0", NULL, 0, 2, 1, 1, 0},
        /* shares 12, 6, 4, 3 of 25: 36 / 25; the other member sends 18 / 25, where half is even */
        {"zipf:1", NULL, 0, 1, 1.44, 1.44, 0},
        /* 0.48 is above 0.3; 0.3 + 0.24 arrive from each */
        {"zipf:1", NULL, 1.2, 1, 1.08, 1.08, 0.18},
        /* 4, 2, 1, 1 of 8, and no expert may have more than 1 / 2 */
        {NULL, "4,2,1,1\n", 0, 2, 1.5, 1.5, 0},
        {NULL, "4,2,1,1\n", 1.2, 2, 1.1, 1.1, 0.2},
        /* 1 / 2, and 36 / 61 of the other half: 97 / 122 on the first member */
        {"zipf:2", NULL, 0, 2, 97 / 61., 97 / 61., 0},
        /* The members keep to themselves, with spaces and an empty line. Nothing is exchanged. */
        {NULL, "1, 1, 0, 0\r\n\n0,0,3,3", 0, 2, 1, 0, 0},
        /* All of both go to the second member: it receives one whole share. */
        {NULL, "0,0,1,1\n0,0,5,5\n", 0, 2, 2, 2, 0},
        /* Shares may be less than 1, and as large as one copy of each token by 1e-9. */
        {NULL, "0.25 ,0.25\t,.125,0.125", 0, 1, 4 / 3., 4 / 3., 0},
        {NULL, "1.000000001,0.999999999,0,0\n", 0, 2, 2, 2, 0},
        /* 1 and 2^-10 of the sum with 3^-10 and 4^-10 */
        {"zipf:10", NULL, 0, 1, 2 * (1 + 1 / 1024.) / (1 + 1 / 1024. + 1 / 59049. + 1 / 1048576.),
         2 * (1 + 1 / 1024.) / (1 + 1 / 1024. + 1 / 59049. + 1 / 1048576.), 0},
        /* Top 3: at most 1/3. The first of 144, 36, 16, 9 is cut, then the second, as it gets 36 / 61 of 2/3. The
         * others have 16 / 25 and 9 / 25 of 1/3: 0.2133 and 0.12. */
        {"zipf:2", NULL, 0, 3, 4 / 3., 4 / 3., 0},
        /* At most 0.15: 2 (1/3 - 0.15) + 16/75 - 0.15 are dropped. */
        {"zipf:2", NULL, 0.6, 3, 0.6, 0.6, 0.43},
    };
    (void)state;
    check_loads(rows, sizeof rows / sizeof *rows, 2);
}

/* On 4 members, with an expert each. */
static void loads_of_four(void **state)
{
    static const load_row rows[] = {
        /* One line is that of all: of each other member's copies half arrive at the first, 3 / 2 where 3 / 4 is even. */
        {NULL, "4,2,1,1\n", 0, 2, 2, 2, 0},
        /* The first sends all it has, and each of the others receives a third. */
        {NULL, "0,1,1,1\n0,1,0,0\n0,0,1,0\n0,0,0,1\n", 0, 1, 4 / 3., 4 / 3., 0},
        /* The first receives half of the copies of three, of which each sends half. */
        {NULL, "1,0,0,0\n1,1,0,0\n1,0,1,0\n1,0,0,1\n", 0, 1, 2.5, 2, 0},
    };
    (void)state;
    check_loads(rows, sizeof rows / sizeof *rows, 4);
}

/* One member has all experts, and exchanges nothing; what it would is as expected. */
static void one_member(void **state)
{
    static const load_row rows[] = {{"zipf:1", NULL, 0, 1, 1, 1, 0}, {NULL, "4,2,1,1", 1, 1, 0.75, 1, 0.25}};
    (void)state;
    check_loads(rows, sizeof rows / sizeof *rows, 1);
}

/* No expert gets more than one copy of a token: with top 2 of 4 the first of zipf:2 (144, 36, 16, 9 of 205) is
 * cut to 1/2, and the others share the rest 36 : 16 : 9. */
static void one_copy(void **state)
{
    rlt_expert_group g = {4, 2, 4, 0};
    rlt_expert_load l;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_routing_load("zipf:2", &g, 0, &l, &err), 0);
    close_to(l.experts, 2, 1e-9);
    close_to(l.exchange, 2, 1e-9);
}

static void refused(void **state)
{
    static const struct {
        const char *routing, *file, *where, *what;
    } rows[] = {
        {"zipf:x", NULL, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:x'"},
        {"zipfy", NULL, "routing", "expected balanced, zipf:S or a file of counts, got 'zipfy'"},
        {NULL, "1,2,3,4\n1,2,x,4\n", "FILE:2:5", "expected a count, 0 or more, got 'x,4'"},
        {NULL, "1,2,3\n", "FILE:1:6", "expected a comma, after 3 of 4 counts, got 'the end'"},
        {NULL, "1,2,3,4,5\n", "FILE:1:8", "expected the end of the line after 4 of 4 counts, got ',5'"},
        {NULL, "1,2,3,4\n1,1,1,1\n1,1,1,1\n", "FILE:3:1",
         "expected one line, or one for each expert-parallel rank, got '1,1,1,1'"},
        {NULL, "0,0,0,0\n", "FILE:1:1", "expected a count above 0 in the line, got '0,0,0,0'"},
        {NULL, "9,1,1,1\n", "FILE:1:1",
         "expected no expert with more than one copy of each token, got '9,1,1,1'"},
        {NULL, "-1,1,1,1\n", "FILE:1:1", "expected a count, 0 or more, got '-1,1,1,1'"},
        {"zipf:", NULL, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:'"},
        {"zipf:1x", NULL, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:1x'"},
        {"zipf:-0.1", NULL, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:-0.1'"},
        {"zipf:10.5", NULL, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:10.5'"},
        {"zipf:nan", NULL, "routing", "expected zipf:S with S from 0 to 10, got 'zipf:nan'"},
        {NULL, "1,inf,1,1\n", "FILE:1:3", "expected a count, 0 or more, got 'inf,1,1'"},
        {NULL, "\n1,1,1,1\n\n1,1,?\n", "FILE:4:5", "expected a count, 0 or more, got '?'"},
        /* The first 20 bytes of what is there are told. */
        {NULL, "1,abcdefghijklmnopqrstuvwxyz", "FILE:1:3",
         "expected a count, 0 or more, got 'abcdefghijklmnopqrst'"},
        {NULL, "1,1,1,1\n1,1,1,1\nx", "FILE:3:1",
         "expected one line, or one for each expert-parallel rank, got 'x'"},
        {NULL, "\n", "FILE", "0 lines: expected 1, or 2, one for each expert-parallel rank"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_expert_group g = {4, 2, 2, 0};
        rlt_expert_load l;
        rlt_error err = {0};
        const char *routing = rows[i].routing ? rows[i].routing : write_file(rows[i].file);
        assert_int_not_equal(rlt_routing_load(routing, &g, 0, &l, &err), 0);
        char where[100]; /* FILE stands for the path */
        bool here = strncmp(rows[i].where, "FILE", 4) == 0;
        snprintf(where, sizeof where, "%s%s", here ? lines_path : "", rows[i].where + (here ? 4 : 0));
        if (strcmp(err.where, where) != 0 || strcmp(err.what, rows[i].what) != 0)
            fail_msg("row %zu: %s: %s", i, err.where, err.what);
    }
}

/* A file of lines for some members only. */
static void lines_missing(void **state)
{
    rlt_expert_group g = {4, 2, 4, 0};
    rlt_expert_load l;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_routing_load(write_file("1,1,1,1\n1,1,1,1\n"), &g, 0, &l, &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "2 lines: expected 1, or 4, one for each expert-parallel rank");
}

/* Loads dispatchers of a folder with two files. They lie beside a folder of accelerators, which need not exist. */
static int load_two(const char *first, const char *second, rlt_dispatcher *all, uint32_t room, uint32_t *n,
                    rlt_error *err)
{
    char dir[] = "/tmp/rlt-experts-XXXXXX", sub[64], path[2][80];
    const char *texts[] = {first, second};
    assert_non_null(mkdtemp(dir));
    snprintf(sub, sizeof sub, "%s/dispatchers", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%d.json", sub, i);
        FILE *f = fopen(path[i], "w");
        assert_non_null(f);
        fputs(texts[i], f);
        fclose(f);
    }
    *n = 0;
    int rc = rlt_dispatchers_load(sub, all, room, n, err);
    for (int i = 0; i < 2; i++)
        unlink(path[i]);
    rmdir(sub);
    rmdir(dir);
    return rc;
}

#define LEAST(name) "{\"name\":\"" name "\",\"source\":\"s\",\"algorithm\":\"gpu\"}"

/* Each member of the files, what is assumed without it, and the first of two of one name. */
static void own_dispatchers(void **state)
{
    static const char whole[] =
        "{\"name\":\"mine\",\"source\":\"measured\",\"algorithm\":\"proxy\",\"host\":\"3us\","
        "\"message\":\"2ns\",\"hidden\":0.25,\"multiprocessors\":0.9,\"moved\":64}";
    rlt_dispatcher all[2], one;
    uint32_t n;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(load_two(whole, LEAST("least"), all, 2, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(rlt_dispatcher_find(all, n, "mine", &one, &err), 0);
    assert_string_equal(one.name, "mine");
    assert_string_equal(one.source, "measured");
    assert_string_equal(one.algorithm, "proxy");
    assert_int_equal(one.host_ps, 3000000);
    assert_int_equal(one.message_ps, 2000);
    assert_true(one.hidden == 0.25 && one.multiprocessors == 0.9 && one.moved == 64);
    assert_int_equal(rlt_dispatcher_find(all, n, "least", &one, &err), 0);
    assert_true(one.host_ps == 0 && one.message_ps == 0);
    assert_true(one.hidden == 1 && one.multiprocessors == 0 && one.moved == 0);
    assert_int_equal(rlt_dispatcher_find(all, n, "minee", &one, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "no dispatcher 'minee'; did you mean 'mine'?");
    err = (rlt_error){0};
    assert_int_equal(load_two(whole, LEAST("mine"), all, 1, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_string_equal(all[0].source, "measured");
    assert_int_equal(load_two(whole, LEAST("least"), all, 1, &n, &err), RLT_ERANGE);
    assert_string_equal(err.what, "more than 1 dispatchers");
}

static void refused_dispatchers(void **state)
{
#define SOME "{\"name\":\"a\",\"source\":\"s\",\"algorithm\":\"gpu\","
    static const struct {
        const char *text;
        int code;
        const char *what;
    } rows[] = {
        {"[]", RLT_ESCHEMA, "expected an object"},
        {SOME "\"hidde\":1}", RLT_ESCHEMA, "hidden"},
        {"{\"source\":\"s\",\"algorithm\":\"gpu\"}", RLT_ESCHEMA, "name"},
        {"{\"name\":\"a\",\"algorithm\":\"gpu\"}", RLT_ESCHEMA, "source"},
        {"{\"name\":\"a\",\"source\":\"s\"}", RLT_ESCHEMA, "algorithm"},
        {"{\"name\":\"a\",\"source\":\"s\",\"algorithm\":\"gpo\"}", RLT_ESCHEMA, "did you mean 'gpu'?"},
        {SOME "\"host\":\"x\"}", 0, "duration"},
        {SOME "\"message\":\"x\"}", 0, "duration"},
        {SOME "\"hidden\":-0.1}", RLT_ERANGE, "expected a number from 0 to 1"},
        {SOME "\"hidden\":1.1}", RLT_ERANGE, "expected a number from 0 to 1"},
        {SOME "\"moved\":-1}", RLT_ERANGE, "expected a number from 0 to 64"},
        {SOME "\"moved\":64.5}", RLT_ERANGE, "expected a number from 0 to 64"},
        {SOME "\"multiprocessors\":-0.1}", RLT_ERANGE, "expected a number from 0 to 0.9"},
        {SOME "\"multiprocessors\":0.91}", RLT_ERANGE, "expected a number from 0 to 0.9"},
    };
#undef SOME
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_dispatcher all[2];
        uint32_t n;
        rlt_error err = {0};
        int rc = load_two(LEAST("least"), rows[i].text, all, 2, &n, &err);
        if (rc >= 0 || (rows[i].code && rc != rows[i].code) || !strstr(err.what, rows[i].what) || n != 1)
            fail_msg("row %zu: %d, %u, %s: %s", i, rc, n, err.where, err.what);
    }
}

/* Every shipped dispatcher loads, and names an algorithm. */
static void dispatchers(void **state)
{
    enum { ROOM = 32 };
    rlt_dispatcher all[ROOM], one;
    uint32_t n = 0;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_dispatchers_load("workload/accelerators", all, ROOM, &n, &err), 0);
    assert_true(n >= 5);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(rlt_dispatcher_find(all, n, all[i].name, &one, &err), 0);
        assert_string_equal(one.name, all[i].name);
        assert_non_null(rlt_registry_find(rlt_dispatch_algorithms(), one.algorithm, NULL, &err));
    }
    assert_int_equal(rlt_dispatcher_find(all, 0, "gpu", &one, &err), 0);
    assert_true(one.host_ps == 0 && one.message_ps == 0 && one.hidden == 1);
    assert_string_equal(one.name, "gpu");
    assert_string_equal(one.algorithm, "gpu");
    assert_string_equal(one.source, "no costs of its own");
    assert_int_equal(rlt_dispatcher_find(all, n, "nvshmem-p55", &one, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "no dispatcher 'nvshmem-p55'; did you mean 'nvshmem-p5'?");
    err = (rlt_error){0};
    assert_int_equal(rlt_dispatcher_find(all, n, "?", &one, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "dispatcher");
    assert_string_equal(err.what,
                        "no dispatcher '?'; algorithms are alltoall, two-level, proxy, gpu and copy-engine, "
                        "and workload/dispatchers/ has implementations");
    err = (rlt_error){0};
    assert_int_equal(rlt_dispatcher_find(all, n, "two-levle", &one, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "no dispatcher 'two-levle'; did you mean 'two-level'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct),
        cmocka_unit_test(copies),
        cmocka_unit_test(few_nodes),
        cmocka_unit_test(loads),
        cmocka_unit_test(loads_of_four),
        cmocka_unit_test(one_member),
        cmocka_unit_test(one_copy),
        cmocka_unit_test(refused),
        cmocka_unit_test(lines_missing),
        cmocka_unit_test(own_dispatchers),
        cmocka_unit_test(refused_dispatchers),
        cmocka_unit_test(dispatchers),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
