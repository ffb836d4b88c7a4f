/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ASTRA-sim's micro-benchmarks (one collective of 1 MiB), run unchanged. By default they take the alpha-beta
 * closed form: on a crossbar of 50 GB/s (20 ps per byte) and 500 ns links, and on ASTRA-sim's own network
 * file.
 */
#include <stdio.h>

#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

#define MICRO "../shared/data/chakra/astra_microbenchmarks"

enum { MIB = 1 << 20 };

static rlt_time replay(const char *prefix, const char *net, const rlt_net_model *model)
{
    rlt_error err = {0};
    rlt_program *p = NULL;
    rlt_topology *t = NULL;
    rlt_replay *r = NULL;
    const char *specs[] = {prefix};
    rlt_read_options o = {.first_step = -1, .last_step = -1};
    rlt_replay_options ro = rlt_replay_options_default();
    if (rlt_topology_load(net, NULL, &t, &err) < 0 || rlt_trace_read(specs, 1, &o, &p, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    ro.topology = t;
    ro.model = model;
    if (rlt_replay_create(p, &ro, &r, &err) < 0 || rlt_replay_run(r, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    rlt_time time = rlt_replay_time(r);
    rlt_replay_free(r);
    rlt_program_free(p);
    rlt_topology_free(t);
    return time;
}

/* Returns the time of a collective from the time of one message of m bytes: ring steps, or a burst of
 * messages. */
static rlt_time closed_form(const char *collective, rlt_time n, rlt_time (*message)(uint64_t m))
{
    if (strcmp(collective, "all_reduce") == 0)
        return 2 * (n - 1) * message((uint64_t)(MIB / n));
    if (strcmp(collective, "reduce_scatter") == 0)
        return (n - 1) * message((uint64_t)(MIB / n));
    if (strcmp(collective, "all_gather") == 0) /* comm_size is the share of one rank */
        return (n - 1) * message(MIB);
    /* all_to_all: n - 1 messages leave one port, the last one travels */
    return (n - 1) * (message((uint64_t)(MIB / n)) - message(0)) + message(0);
}

static rlt_time crossbar_message(uint64_t m)
{
    return (rlt_time)m * 20 + 1000000;
}

/* 400 * 2^30 B/s per link, 936.25 ns per hop, two hops. */
static rlt_time hgx_message(uint64_t m)
{
    return rlt_transfer_time(m, (uint64_t)400 << 30) + 2 * 936250;
}

static void closed_forms(void **state)
{
    static const char *const collectives[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all"};
    static const rlt_net_model *const models[] = {&rlt_net_alpha_beta, &rlt_net_flow};
    char prefix[256];
    (void)state;
    snprintf(prefix, sizeof prefix, "%s/all_reduce/8npus_1MB/all_reduce.0.et", MICRO);
    FILE *f = fopen(prefix, "rb");
    if (!f) {
        print_message("%s is missing\n", MICRO);
        skip();
    }
    fclose(f);
    for (size_t i = 0; i < 4; i++)
        for (int n = 4; n <= 8; n += 4)
            for (int m = 0; m < 2; m++) {
                snprintf(prefix, sizeof prefix, "%s/%s/%dnpus_1MB/%s", MICRO, collectives[i], n,
                         collectives[i]);
                rlt_time want = closed_form(collectives[i], n, crossbar_message);
                assert_int_equal(
                    replay(prefix, n == 4 ? "switch:4@50GB/s,500ns" : "switch:8@50GB/s,500ns", models[m]),
                    want);
                if (n == 8) {
                    want = closed_form(collectives[i], n, hgx_message);
                    rlt_time got = replay(prefix, "../shared/data/chakra/HGX-H100-validated.yml", models[m]);
                    /* all-to-all has seven more roundings of at most a picosecond */
                    assert_true(llabs(got - want) <= (i == 3 ? 7 : 0));
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(closed_forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
