/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies: their points, the options of points, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/shared.h"

static void read_study(const char *text, rlt_sweep_study *s)
{
    rlt_error err = {0};
    if (rlt_sweep_study_parse("study", text, s, &err))
        fail_msg("%s: %s", err.where, err.what);
}

static void refused(const char *text, int code, const char *what)
{
    rlt_sweep_study s;
    rlt_error err = {0};
    int rc = rlt_sweep_study_parse("study", text, &s, &err);
    char all[1600];
    rlt_sweep_study_free(&s);
    snprintf(all, sizeof all, "%s: %s", err.where, err.what);
    if (rc != code || !strstr(all, what))
        fail_msg("%s: %d '%s', expected %d '%s'", text, rc, all, code, what);
}

/* Returns "--name=text --name=text" of a point. */
static char *options_of(const rlt_sweep_study *s, uint64_t id)
{
    static char line[800];
    rlt_sweep_point p;
    rlt_arena arena = {0};
    rlt_option_texts t = {0};
    size_t used = 0;
    assert_true(rlt_sweep_point_at(s, id, &p));
    assert_int_equal(rlt_sweep_options(s, &p, &arena, &t, NULL), 0);
    line[0] = '\0';
    for (uint32_t i = 0; i < t.n; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s=%s", used ? " " : "",
                                 rlt_option_at(s->command->options, t.items[i].option, NULL)->name,
                                 t.items[i].text);
    free(t.items);
    rlt_arena_free(&arena);
    return line;
}

#define BASE                                                                                                 \
    "\"base\":{\"model\":\"transformer\",\"topology\":{\"dims\":[{\"shape\":\"switch\",\"size\":8,"          \
    "\"bandwidth\":"                                                                                         \
    "\"50GB/s\",\"latency\":\"1us\"}]},\"rank-scale\":[]}"
#define TOPOLOGY(bw)                                                                                         \
    "topology={\"dims\":[{\"shape\":\"switch\",\"size\":8,\"bandwidth\":\"" bw "\",\"latency\":\"1us\"}]}"

/* The last axis is the fastest. Values are changed at any depth, appended, added, and left out. */
static void test_grid(void **state)
{
    rlt_sweep_study s;
    (void)state;
    read_study(
        "{" BASE ",\"axes\":[{\"pointer\":\"/topology/dims/0/bandwidth\",\"values\":[\"1GB/s\",\"2GB/s\"]},"
        "{\"name\":\"slow\",\"pointers\":[\"/rank-scale/-\",\"/algorithm\"],\"values\":[[null,\"ring\"],"
        "[\"1:host=2\",null],[\"2:host=3\",\"direct\"]]}],"
        "\"points\":[{\"name\":\"now\",\"set\":{\"/no-skew\":true,\"/model\":\"t2\"}}]}",
        &s);
    assert_int_equal(s.points, 7);
    assert_int_equal(rlt_sweep_end(&s), 7);
    assert_string_equal(s.axes[0].name, "bandwidth");
    assert_string_equal(options_of(&s, 0), "model=transformer " TOPOLOGY("1GB/s") " algorithm=ring");
    assert_string_equal(options_of(&s, 1), "model=transformer " TOPOLOGY("1GB/s") " rank-scale=1:host=2");
    assert_string_equal(options_of(&s, 5),
                        "model=transformer " TOPOLOGY("2GB/s") " algorithm=direct rank-scale=2:host=3");
    assert_string_equal(options_of(&s, 6), "model=t2 " TOPOLOGY("50GB/s") " no-skew=");
    rlt_sweep_study_free(&s);
}

static void test_replicas(void **state)
{
    rlt_sweep_study s;
    (void)state;
    read_study(
        "{\"base\":{\"seed\":7},\"axes\":[{\"pointer\":\"/algorithm\",\"values\":[\"ring\",\"direct\"]}],"
        "\"points\":[{\"name\":\"x\"}],\"replicas\":3}",
        &s);
    assert_int_equal(s.points, 9);
    assert_string_equal(options_of(&s, 0), "algorithm=ring seed=7");
    assert_string_equal(options_of(&s, 5), "algorithm=direct seed=9");
    assert_string_equal(options_of(&s, 8), "seed=9");
    rlt_sweep_study_free(&s);
}

/* Logarithmic ranges have equal ratios; the ends are as written. */
static void test_range(void **state)
{
    rlt_sweep_study s;
    (void)state;
    read_study("{\"base\":{},\"axes\":[{\"pointer\":\"/"
               "network-scale\",\"range\":{\"from\":0.1,\"to\":10,\"count\":5,"
               "\"scale\":\"log\"}},{\"pointer\":\"/"
               "until\",\"range\":{\"from\":\"1.0ms\",\"to\":\"4ms\",\"count\":4}}]}",
               &s);
    assert_int_equal(s.points, 20);
    assert_string_equal(options_of(&s, 0), "network-scale=0.1 until=1.0ms");
    assert_string_equal(options_of(&s, 4 * 1 + 1), "network-scale=0.316228 until=2ms");
    assert_string_equal(options_of(&s, 4 * 2), "network-scale=1 until=1.0ms");
    assert_string_equal(options_of(&s, 19), "network-scale=10 until=4ms");
    rlt_sweep_study_free(&s);
}

#define TWO                                                                                                  \
    "\"base\":{},\"axes\":[{\"name\":\"a\",\"pointer\":\"/"                                                  \
    "algorithm\",\"values\":[\"r\",\"d\",\"h\"]},{\"name\":"                                                 \
    "\"n\",\"pointer\":\"/seed\",\"values\":[1,2,3,4]}]"

static uint64_t count(const rlt_sweep_study *s)
{
    rlt_sweep_point p;
    uint64_t n = 0;
    for (uint64_t id = 0; id < rlt_sweep_end(s); id++)
        n += rlt_sweep_point_at(s, id, &p);
    return n;
}

static void test_filter(void **state)
{
    rlt_sweep_study s;
    rlt_sweep_point p;
    (void)state;
    read_study("{" TWO ",\"filter\":[{\"unless\":{\"a\":\"r\",\"n\":[1,2]}},{\"only\":{\"n\":[1,2,3]}}]}",
               &s);
    assert_int_equal(s.points, 3 * 3 - 2);
    assert_int_equal(count(&s), 7);
    assert_false(rlt_sweep_point_at(&s, 0, &p));
    assert_true(rlt_sweep_point_at(&s, 2, &p));
    assert_false(rlt_sweep_point_at(&s, 3, &p));
    rlt_sweep_study_free(&s);
}

/* A random sample has the requested number of points, all different; a sample of all points is a
 * permutation. */
static void test_random(void **state)
{
    static bool seen[1000];
    rlt_sweep_study s;
    rlt_sweep_point p;
    uint32_t in_place = 0;
    (void)state;
    read_study("{\"base\":{},\"axes\":[{\"name\":\"a\",\"pointer\":\"/"
               "seed\",\"range\":{\"from\":0,\"to\":999,\"count\":"
               "1000}}],\"sample\":{\"random\":1000,\"seed\":3}}",
               &s);
    memset(seen, 0, sizeof seen);
    for (uint64_t id = 0; id < 1000; id++) {
        assert_true(rlt_sweep_point_at(&s, id, &p));
        assert_false(seen[p.at[0]]);
        seen[p.at[0]] = true;
        in_place += p.at[0] == id;
    }
    assert_true(in_place < 20); /* the expected number is one */
    rlt_sweep_study_free(&s);
    read_study("{" TWO ",\"sample\":{\"random\":5},\"filter\":[{\"unless\":{\"a\":\"r\"}}]}", &s);
    assert_int_equal(s.points, 5);
    assert_int_equal(count(&s), 5);
    rlt_sweep_study_free(&s);
}

/* Equal options have equal keys, independent of how they were set; different options have different keys. */
static void test_keys(void **state)
{
    rlt_sweep_study s;
    uint64_t keys[4][2];
    (void)state;
    read_study("{\"base\":{\"no-skew\":false},\"points\":[{\"name\":\"a\",\"set\":{\"/seed\":1,\"/"
               "algorithm\":\"ring\"}},"
               "{\"name\":\"b\",\"set\":{\"/algorithm\":\"ring\",\"/"
               "seed\":\"1\"}},{\"name\":\"c\",\"set\":{\"/seed\":2,"
               "\"/algorithm\":\"ring\"}},{\"name\":\"d\"}]}",
               &s);
    for (uint32_t i = 0; i < 4; i++) {
        rlt_sweep_point p;
        rlt_arena arena = {0};
        rlt_option_texts t = {0};
        assert_true(rlt_sweep_point_at(&s, i, &p));
        assert_int_equal(rlt_sweep_options(&s, &p, &arena, &t, NULL), 0);
        rlt_option_key(s.command->options, &t, NULL, true, keys[i]);
        free(t.items);
        rlt_arena_free(&arena);
    }
    assert_memory_equal(keys[0], keys[1], 16);
    assert_memory_not_equal(keys[0], keys[2], 16);
    assert_memory_not_equal(keys[0], keys[3], 16);
    rlt_sweep_study_free(&s);
}

static void test_refused(void **state)
{
    (void)state;
    refused("{", RLT_EMALFORMED, "study:1:");
    refused("{\"bse\":{}}", RLT_ESCHEMA, "'base'");
    refused("{\"axes\":[]}", RLT_ESCHEMA, "has no base");
    refused("{\"base\":{\"algoritm\":\"ring\"}}", RLT_ESCHEMA, "did you mean 'algorithm'");
    refused("{\"base\":{\"format\":\"csv\"}}", RLT_ESCHEMA, "changes a report");
    refused("{\"command\":\"topo\",\"base\":{}}", RLT_ESCHEMA, "expected run or coll");
    refused("{\"base\":{},\"axes\":[{\"pointer\":\"/algoritm\",\"values\":[1]}]}", RLT_ESCHEMA,
            "did you mean 'algorithm'");
    refused("{\"base\":{},\"axes\":[{\"pointer\":\"/layout/tp\",\"values\":[1]}]}", RLT_ESCHEMA,
            "base has no");
    refused("{\"base\":{\"rank-scale\":[]},\"axes\":[{\"pointer\":\"/rank-scale/1\",\"values\":[1]}]}",
            RLT_ESCHEMA, "has 0 elements");
    refused("{\"base\":{},\"axes\":[{\"pointer\":\"algorithm\",\"values\":[1]}]}", RLT_ESCHEMA,
            "expected a pointer");
    refused("{\"base\":{\"topology\":\"ring:4@1GB/s,1us\"},\"axes\":[{\"pointer\":\"/topology/dims/0/"
            "size\",\"values\":[1]}]}",
            RLT_ESCHEMA, "write the topology as an object");
    refused("{\"base\":{},\"axes\":[{\"pointer\":\"/algorithm\",\"values\":[]}]}", RLT_ESCHEMA, "is empty");
    refused("{\"base\":{},\"axes\":[{\"pointers\":[\"/algorithm\",\"/seed\"],\"values\":[[\"ring\"]]}]}",
            RLT_ESCHEMA, "a list of 2 values");
    refused("{" TWO ",\"filter\":[{\"unless\":{\"b\":1}}]}", RLT_ESCHEMA, "no axis of that name");
    refused("{" TWO ",\"filter\":[{\"unless\":{\"n\":5}}]}", RLT_ESCHEMA, "no such value");
    refused("{" TWO ",\"filter\":[{\"only\":{\"n\":1}},{\"unless\":{\"n\":1}}]}", RLT_ESCHEMA,
            "no point passes the filters");
    refused("{" TWO ",\"sample\":{\"random\":13}}", RLT_ESCHEMA, "asks for 13 of 12");
    refused("{" TWO ",\"objectives\":[{\"column\":\"time\"}]}", RLT_ESCHEMA, "no column 'time'");
    refused("{" TWO ",\"links\":\"some\"}", RLT_ESCHEMA, "none, summary or all");
    refused("{\"command\":\"coll\",\"base\":{},\"replicas\":2}", RLT_ESCHEMA, "takes no seed");
    refused("{\"base\":{},\"axes\":[{\"name\":\"a\",\"pointer\":\"/"
            "seed\",\"values\":[1]},{\"name\":\"b\",\"pointer\":"
            "\"/seed\",\"values\":[1]}]}",
            RLT_ESCHEMA, "changes the same value");
#define WIDE(name, at)                                                                                       \
    "{\"name\":\"" name "\",\"pointer\":\"/" at "\",\"range\":{\"from\":1,\"to\":9999,\"count\":10000}}"
    refused(
        "{\"base\":{},\"axes\":[" WIDE("a", "seed") "," WIDE("b", "until") "," WIDE("c", "host-scale") "]}",
        RLT_ERANGE, "1000000000000 places x 1 replicas");
}

/* A derived axis adds no places; a place whose value is not whole, or that a rule drops, is a gap. */
static void test_coupled(void **state)
{
    rlt_sweep_study s;
    char dropped[400];
    (void)state;
    read_study(
        "{\"base\":{\"layout\":{\"tp\":1,\"pp\":1,\"dp\":1},\"train\":\"batch=24,zero=1\"},\"axes\":["
        "{\"pointer\":\"/layout/tp\",\"values\":[1,2,3,4]},{\"pointer\":\"/layout/pp\",\"values\":[1,2]},"
        "{\"pointer\":\"/layout/dp\",\"values\":\"16 / (tp * pp)\"},{\"name\":\"x\",\"pointer\":\"/"
        "compute-scale\",\"values\":\"0.5 * dp + zero\"}],\"rules\":[\"not (tp = 4 and dp < 3) or batch "
        "!= 24\",\"tp + pp >= 3 - -0\"],\"replicas\":2}",
        &s);
    assert_int_equal(s.grid, 8);
    assert_int_equal(rlt_sweep_end(&s), 16);
    assert_int_equal(s.points, 8);
    assert_int_equal(s.axes[2].n, 4);
    assert_string_equal(options_of(&s, 2), "layout=tp=1,pp=2,dp=8 train=batch=24,zero=1 compute-scale=5");
    assert_string_equal(options_of(&s, 13),
                        "layout=tp=4,pp=1,dp=4 train=batch=24,zero=1 compute-scale=3 seed=2");
    rlt_sweep_point p;
    assert_false(rlt_sweep_point_at(&s, 0, &p));
    assert_false(rlt_sweep_point_at(&s, 8, &p));
    assert_false(rlt_sweep_point_at(&s, 15, &p));
    assert_true(rlt_sweep_point_at(&s, 6, &p));
    assert_int_equal(rlt_sweep_place_at(&s, p.at), p.place);
    assert_true(rlt_sweep_dropped(&s, dropped, sizeof dropped));
    assert_string_equal(dropped,
                        "8 dropped: 4 dp is not whole: 16 / (tp * pp); 2 not not (tp = 4 and dp < 3) or "
                        "batch != 24; 2 not tp + pp >= 3 - -0");
    rlt_sweep_study_free(&s);
}

#define RULED(axes, rule)                                                                                    \
    "{\"base\":{\"model\":\"gpt2-small\",\"layout\":{\"tp\":1}},\"axes\":[" axes "],\"rules\":[\"" rule "\"]}"
#define TP    "{\"pointer\":\"/layout/tp\",\"values\":[1,2,3,4]}"
#define WORDS "{\"name\":\"w\",\"pointer\":\"/algorithm\",\"values\":[null,\"ring\",\"4MiB\"]}"

static uint64_t count_of(const char *text)
{
    rlt_sweep_study s;
    read_study(text, &s);
    uint64_t n = s.points;
    rlt_sweep_study_free(&s);
    return n;
}

/* Precedence, kinds of values, limits of the model (gpt2-small has 12 heads), and values that are left out. */
static void test_expressions(void **state)
{
    (void)state;
    assert_int_equal(count_of(RULED(TP, "heads % tp == 0 and tp != 3")), 3);
    assert_int_equal(count_of(RULED(TP, "tp == 1 or tp == 2 and tp == 3")), 1);
    assert_int_equal(count_of(RULED(TP, "1 + 2 * tp >= 7")), 2);
    assert_int_equal(count_of(RULED(TP, "(1 + 2) * tp >= 7")), 2);
    assert_int_equal(count_of(RULED(TP, "10 - tp - 2 < 6")), 2);
    assert_int_equal(count_of(RULED(TP, "-tp < -2.5")), 2);
    assert_int_equal(count_of(RULED(TP, "12 / tp / 2 = 2 or 1e1 <= tp")), 1);
    assert_int_equal(count_of(RULED(TP, "not tp == 2")), 3);
    assert_int_equal(count_of(RULED(WORDS, "w == 'ring'")), 1);
    assert_int_equal(count_of(RULED(WORDS, "w != 'ring'")), 2);
    assert_int_equal(count_of(RULED(WORDS, "w = 4194304")), 1);
    assert_int_equal(count_of(RULED(WORDS, "w == '4096KiB'")), 1);
    assert_int_equal(
        count_of(RULED("{\"pointer\":\"/model\",\"values\":[\"gpt2-small\",\"gpt3-175b\"]}", "heads > 12")),
        1);
    refused(RULED(WORDS, "w > 3"), RLT_ESCHEMA, "column 1: 'w' has a value that is left out");
    refused(RULED(TP, "heds == 12"), RLT_ESCHEMA, "did you mean 'heads'?");
    refused(RULED(TP, "tp = 'x"), RLT_ESCHEMA, "column 6");
    refused(RULED(TP, "tp tp"), RLT_ESCHEMA, "column 4 of 'tp tp': expected an operator or the end");
    refused(RULED(TP, "1.2.3 == tp"), RLT_ESCHEMA, "expected a number");
    refused(RULED("{\"pointer\":\"/layout/tp\",\"values\":\"tp + 1\"}", "1"), RLT_ESCHEMA, "is a later axis");
    refused(RULED(TP ",{\"pointers\":[\"/seed\",\"/until\"],\"values\":\"tp\"}", "1"), RLT_ESCHEMA,
            "needs one pointer");
    refused(RULED(TP ",{\"pointer\":\"/seed\",\"values\":\"'ring'\"}", "1"), RLT_ESCHEMA,
            "expected a number");
    refused(RULED("{\"pointer\":\"/model\",\"values\":[\"gpt2-small\",\"no-such\"]}", "heads > 12"),
            RLT_ESCHEMA, "'heads' of model no-such");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid),    cmocka_unit_test(test_replicas),    cmocka_unit_test(test_range),
        cmocka_unit_test(test_coupled), cmocka_unit_test(test_expressions), cmocka_unit_test(test_filter),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_keys),        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
