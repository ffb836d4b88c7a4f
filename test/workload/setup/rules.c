/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of --algorithm, each written back in words, and wrong ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "sim/base/error.h"
#include "test/support/open_setup.h"
#include "test/support/support.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"

/* Opens a packet network whose switches add, with the protocols that a text names. */
static void open_setup(test_setup *s, const char *algorithm)
{
    rlt_error err;
    if (test_setup_open(s, "topology=switch:4@1GB/s,1us,in_network=reduce+multicast network=packet",
                        algorithm, &err))
        fail_msg("%s: %s: %s", algorithm, err.where, err.what);
}

/* "all_reduce@8=ring from 1048576; ...", then the kinds that have an algorithm for all sizes, or a protocol. */
static void write_rules(const rlt_replay_options *o, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < o->n_rules; i++) {
        const rlt_algorithm_rule *r = &o->rules[i];
        char members[16] = "";
        if (r->members)
            snprintf(members, sizeof members, "@%u", r->members);
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s from %llu%s; ", rlt_coll_name(r->kind),
                                 members,
                                 r->reacting    ? rlt_reactive_name(r->reacting->protocol)
                                 : r->algorithm ? r->algorithm->name
                                                : "auto",
                                 (unsigned long long)r->from_bytes, r->library ? " by a version" : "");
    }
    for (int k = 0; k < RLT_COLL_KINDS; k++) {
        const char *name = o->reacting[k]    ? rlt_reactive_name(o->reacting[k]->protocol)
                           : o->algorithm[k] ? o->algorithm[k]->name
                                             : NULL;
        if (name)
            used +=
                (size_t)snprintf(text + used, size - used, "%s: %s; ", rlt_coll_name((rlt_coll_kind)k), name);
    }
    if (o->library)
        snprintf(text + used, size - used, "version");
}

static void rules_in_words(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", ""},
        {"auto", ""},
        {"all_reduce=ring", "all_reduce: ring; "},
        {"all-reduce=ring,all_to_all=direct", "all_reduce: ring; all_to_all: direct; "},
        {"broadcast=tree,reduce=tree", "broadcast: tree; reduce: tree; "},
        {"all_reduce=ring:1MiB:nvls", "all_reduce=ring from 0; all_reduce=nvls from 1048576; "},
        {"all_reduce=ring:1MiB:tree:1GiB:direct",
         "all_reduce=ring from 0; all_reduce=tree from 1048576; all_reduce=direct from 1073741824; "},
        {"all_reduce@8=direct", "all_reduce@8=direct from 0; "},
        {"all_reduce@1=direct", "all_reduce@1=direct from 0; "},
        {"all_reduce@16777216=ring", "all_reduce@16777216=ring from 0; "},
        {"all_reduce=auto", "all_reduce=auto from 0; "},
        {"all_reduce=auto:4KiB:ring", "all_reduce=auto from 0; all_reduce=ring from 4096; "},
        {"all_reduce=ring:1KiB:auto,all_gather=ring",
         "all_reduce=ring from 0; all_reduce=auto from 1024; all_gather: ring; "},
        {"all_reduce=auto=nccl-2.23:1MiB:ring",
         "all_reduce=auto from 0 by a version; all_reduce=ring from 1048576; "},
        {"auto=2.23.4", "version"},
        {"auto=rccl,all_to_all=direct", "all_to_all: direct; version"},
        {"switchml", "all_reduce: switchml; "},
        {"all_reduce=switchml,all_gather=ring", "all_reduce: switchml; all_gather: ring; "},
        {"all_reduce=ring:1MiB:switchml", "all_reduce=ring from 0; all_reduce=switchml from 1048576; "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_setup s;
        rlt_replay_options how = rlt_replay_options_default();
        rlt_algorithm_rule *rules = NULL;
        rlt_error err = {0};
        char text[400];
        open_setup(&s, rows[i].text);
        if (rlt_parse_rules(rows[i].text, &s.setup, &how, &rules, &err))
            fail_msg("%s: %s: %s", rows[i].text, err.where, err.what);
        write_rules(&how, text, sizeof text);
        assert_string_equal(text, rows[i].words);
        assert_ptr_equal(how.rules, rules);
        free(rules);
        test_setup_close(&s);
    }
    rlt_replay_options how = rlt_replay_options_default();
    rlt_algorithm_rule *rules = NULL;
    test_setup s;
    open_setup(&s, NULL);
    assert_int_equal(rlt_parse_rules(NULL, &s.setup, &how, &rules, NULL), 0);
    assert_true(how.n_rules == 0 && !rules);
    test_setup_close(&s);
}

/* A name alone is for every collective that the algorithm supports. */
static void a_name_alone(void **state)
{
    rlt_replay_options how = rlt_replay_options_default();
    rlt_algorithm_rule *rules = NULL;
    test_setup s;
    (void)state;
    open_setup(&s, "ring");
    assert_int_equal(rlt_parse_rules("ring", &s.setup, &how, &rules, NULL), 0);
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        assert_ptr_equal(how.algorithm[k], rlt_ring.kinds >> k & 1 ? &rlt_ring : NULL);
    test_setup_close(&s);
}

static void protocols_that_are_named(void **state)
{
    const rlt_reactive *found[4] = {rlt_find_protocol("atp", 3)}; /* what was there is not read */
    (void)state;
    assert_non_null(found[0]);
    assert_int_equal(rlt_named_protocols(NULL, found, 4), 0);
    assert_int_equal(rlt_named_protocols("ring,tree", found, 4), 0);
    assert_int_equal(rlt_named_protocols("atp", found, 4), 1);
    assert_int_equal(rlt_named_protocols("all_reduce=ring:1MiB:switchml,all_gather=switchml", found, 4), 1);
    assert_string_equal(rlt_reactive_name(found[0]), "switchml");
    assert_int_equal(rlt_named_protocols("atp,switchml", found, 4), 2);
    assert_string_equal(rlt_reactive_name(found[0]), "atp");
    assert_int_equal(rlt_named_protocols("atp,switchml", found, 1), 1);
    assert_int_equal(rlt_named_protocols("switchmls", found, 4), 0);
}

static void wrong_rules(void **state)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"all_reduce=ring:1MiB",
         "expected increasing sizes, each with an algorithm after it, such as ring:1MiB:nvls, not '1MiB'"},
        {"all_reduce=ring:1MiB:tree:1MiB:direct", "expected increasing sizes"},
        {"all_reduce=ring:0B:tree", "not '0B'"},
        {"all_reduce=ring:large:tree", "large"},
        {"ring:1MiB:tree",
         "expected a collective first, such as all_reduce=ring:1MiB:nvls, got 'ring:1MiB:tree'"},
        {"all_reduce@0=ring", "expected at least 1 member, got 0"},
        {"all_reduce@16777217=ring", "expected at least 1 member, got 16777217"},
        {"all_reduce@many=ring", "many"},
        {"all_redoce@8=ring", "all_redoce"},
        {"all_reduce=rinng", "rinng"},
        {"all_reduce@8=rinng", "rinng"},
        {"all_gather=switchml", "switchml does not support all_gather"},
        {"all_gather@4=switchml", "switchml does not support all_gather"},
        {"all_gathers=switchml", "all_gathers"},
        {"r", "unknown"},
        {"auto=nccl-9.99", "9.99"},
        {"all_reduce=ring,all_reduce=tree", "all_reduce"},
    };
    (void)state;
    const size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n + 2; i++) { /* 256 characters are too many, 255 are not */
        test_setup s;
        rlt_replay_options how = rlt_replay_options_default();
        rlt_algorithm_rule *rules = NULL;
        rlt_error err = {0};
        char longest[300] = "all_reduce@8=";
        if (i >= n)
            memset(longest + strlen(longest), 'x', 256 + n - i - strlen(longest));
        const char *text = i < n ? rows[i].text : longest;
        open_setup(&s, text);
        int rc = rlt_parse_rules(text, &s.setup, &how, &rules, &err);
        if (rc != RLT_EUSAGE || err.code != RLT_EUSAGE || strncmp(err.where, "--algorithm", 11) != 0 || rules)
            fail_msg("%s: %d: %s: %s", text, rc, err.where, err.what);
        if (!strstr(err.what, i < n    ? rows[i].what
                              : i == n ? "is too long"
                                       : "unknown") &&
            (i >= n || !strstr(err.where, rows[i].what)))
            fail_msg("%s: %s: %s", text, err.where, err.what);
        test_setup_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_in_words),
        cmocka_unit_test(a_name_alone),
        cmocka_unit_test(protocols_that_are_named),
        cmocka_unit_test(wrong_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
