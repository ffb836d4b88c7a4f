/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Algorithms that a topology states: "auto" in JSON and back, and what NCCL's tuner chose as its log says. The
 * expected chains are worked out by hand from the lines of the logs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

static rlt_topology *read_text(const char *text)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_read("f", text, strlen(text), NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    return t;
}

static void is(const rlt_topology *t, const char *collective, uint64_t bytes, const char *expected)
{
    const char *chosen = rlt_topology_chosen(t, collective, bytes);
    if (!expected ? chosen != NULL : !chosen || strcmp(chosen, expected) != 0)
        fail_msg("%s of %llu: expected %s, got %s", collective, (unsigned long long)bytes,
                 expected ? expected : "none", chosen ? chosen : "none");
}

#define SWITCH                                                                                               \
    "\"dims\": [{\"shape\": \"switch\", \"size\": 4, \"bandwidth\": \"1GB/s\", \"latency\": \"1us\"}]"

static void stated_in_json(void **state)
{
    (void)state;
    rlt_topology *t = read_text(
        "{\"auto\": {\"all_reduce\": \"tree:64KiB:ring:1MiB:nvls\", \"all_gather\": \"ring\"}, " SWITCH "}");
    for (int round = 0; round < 2; round++) {
        uint32_t n;
        is(t, "all_reduce", 0, "tree");
        is(t, "all_reduce", 65535, "tree");
        is(t, "all_reduce", 65536, "ring");
        is(t, "all_reduce", (1 << 20) - 1, "ring");
        is(t, "all_reduce", UINT64_MAX, "nvls");
        is(t, "all_gather", 0, "ring");
        is(t, "all_to_all", 1 << 20, NULL);
        assert_int_equal((rlt_topology_choices(t, &n), n), 4);
        /* and back */
        char *text = NULL;
        assert_int_equal(rlt_topology_export(t, "json", &text, NULL), 0);
        rlt_topology_free(t);
        t = read_text(text);
        free(text);
    }
    rlt_topology_free(t);
    /* The choices are part of what affects a result. */
    rlt_topology *a = read_text("{\"auto\": {\"all_reduce\": \"ring\"}, " SWITCH "}");
    rlt_topology *b = read_text("{\"auto\": {\"all_reduce\": \"tree\"}, " SWITCH "}");
    assert_true(rlt_topology_hash(a) != rlt_topology_hash(b));
    rlt_topology_free(a);
    rlt_topology_free(b);
}

static void wrong_json(void **state)
{
    (void)state;
    static const struct {
        const char *value, *what;
    } table[] = {
        {"\"ring\"", "an object of collectives"},
        {"[\"ring\"]", "an object of collectives"},
        {"{\"all_reduce\": 4}", "expected an algorithm"},
        {"{\"all_reduce\": \"\"}", "expected an algorithm"},
        {"{\"all_reduce\": \"tree:1MiB\"}", "increasing sizes"},
        {"{\"all_reduce\": \"tree:1MiB:\"}", "increasing sizes"},
        {"{\"all_reduce\": \"tree:1MiB:ring:1MiB:nvls\"}", "increasing sizes"},
        {"{\"all_reduce\": \"tree:2MiB:ring:1MiB:nvls\"}", "increasing sizes"},
        {"{\"all_reduce\": \"tree:0B:ring\"}", "increasing sizes"},
        {"{\"all_reduce\": \"tree:big:ring\"}", "increasing sizes"},
        {"{\"all_reduce\": \"a-name-that-is-longer-than-any-algorithm\"}", "expected an algorithm"},
        {"{\"a-name-that-is-longer-than-any\": \"ring\"}", "expected a collective"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[400];
        rlt_topology *t = NULL;
        rlt_error err = {0};
        snprintf(text, sizeof text, "{\"auto\": %s, " SWITCH "}", table[i].value);
        assert_int_equal(rlt_topology_read("f", text, strlen(text), NULL, &t, &err), RLT_ESCHEMA);
        if (!strstr(err.what, table[i].what) || !strstr(err.where, "auto"))
            fail_msg("%s: %s: %s", table[i].value, err.where, err.what);
    }
}

#define AT   "h:1:2 [0] NCCL INFO "
#define RING AT "Channel 00/01 : 0 1 2 3\n"

/* The three forms of the tuner's lines. */
static void chosen_in_a_log(void **state)
{
    (void)state;
    rlt_topology *t =
        read_text(RING AT "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}\n" AT
                          "AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n" AT
                          "AllReduce: 4096 Bytes -> Algo Tree proto LL channel{Lo..Hi}={0..1}\n" AT
                          "AllReduce: 268435456 Bytes -> Algo NVLS proto Simple channel{Lo..Hi}={0..15}\n" AT
                          "AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008\n");
    is(t, "all_reduce", 0, "tree");
    is(t, "all_reduce", 1048575, "tree");
    is(t, "all_reduce", 1048576, "ring");
    is(t, "all_reduce", 268435456, "nvls");
    is(t, "all_gather", 8, "ring");
    is(t, "broadcast", 8, "ring");
    is(t, "all_to_all", 8, NULL);
    assert_non_null(strstr(rlt_topology_source(t), "Algorithms: as NCCL's tuner chose."));
    rlt_topology_free(t);
    /* A line without a collective counts for the one that the process began before. */
    t = read_text(RING AT "8589934592 Bytes -> Algo 0 proto 2 time 86069.968750\n" AT
                          "ReduceScatter: opCount 0 sendbuff 0x1 recvbuff 0x2 count 4 datatype 7\n" AT
                          "8589934592 Bytes -> Algo 0 proto 2 time 86069.968750\n");
    is(t, "all_reduce", 8, "ring");
    is(t, "reduce_scatter", 8, "tree");
    rlt_topology_free(t);
}

static void odd_lines_of_a_log(void **state)
{
    (void)state;
    /* Nothing chosen: the ring. Lines that are cut, or name what NCCL has not, do not count. */
    rlt_topology *t = read_text(
        RING AT "AllReduce: 8 Bytes -> Algo 9 proto 2 time 1\n" AT "AllReduce: 8 Bytes -> Al\n" AT
                "AllReduce: 99999999999999999999 Bytes -> Algo 0 proto 0\n" AT
                "AllReduce: 8 Bytes -> Algo TREES proto LL\n" AT "AllReduce: Bytes -> Algo 0\n" AT
                "AllReduce: 8 Bytes -> Algo ABCDEFGHIJKLMNOPQRSTUVWXYZ proto LL\n" AT "AllReduce:8388608\n");
    is(t, "all_reduce", 8, "ring");
    assert_non_null(strstr(rlt_topology_source(t), "the log has no choices"));
    rlt_topology_free(t);
    /* Of one size the last choice counts; an algorithm that ringlet lacks is left to it. */
    t = read_text(RING AT "AllReduce: 8 Bytes -> Algo TREE proto LL\n" AT
                          "AllReduce: 8 Bytes -> Algo RING proto LL\n" AT
                          "AllReduce: 16 Bytes -> Algo RING proto LL\n" AT
                          "AllReduce: 32 Bytes -> Algo COLLNET_DIRECT proto Simple\n");
    is(t, "all_reduce", 0, "ring");
    is(t, "all_reduce", 31, "ring");
    is(t, "all_reduce", 32, "auto");
    assert_non_null(strstr(rlt_topology_source(t), "lacks the algorithm"));
    rlt_topology_free(t);
    /* 10 * (2^64 - 1) / 16 bytes, and 5 */
    t = read_text(RING AT "AllReduce: 8 Bytes -> Algo RING proto LL\n" AT
                          "AllReduce: 11529215046068469755 Bytes -> Algo TREE proto LL\n");
    is(t, "all_reduce", UINT64_C(11529215046068469754), "ring");
    is(t, "all_reduce", UINT64_C(11529215046068469755), "tree");
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stated_in_json),
        cmocka_unit_test(wrong_json),
        cmocka_unit_test(chosen_in_a_log),
        cmocka_unit_test(odd_lines_of_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
