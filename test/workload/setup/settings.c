/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a network and of its algorithms: what is opened for which words, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/network.h"
#include "net/packet/packet.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "test/support/open_setup.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/setup/settings.h"

static char order[] = "/tmp/ringlet-order-XXXXXX";

/* Opens "topology=switch:4@1GB/s,1us placement=ORDER ...": ORDER is the file of a placement. */
static int open_words(test_setup *s, const char *words, const char *algorithm, rlt_error *err)
{
    char text[sizeof s->text];
    const char *at = strstr(words, "ORDER");
    snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - words) : (int)strlen(words), words,
             at ? order : "", at ? at + 5 : "");
    return test_setup_open(s, text, algorithm, err);
}

#define STAR "topology=switch:4@1GB/s,1us "
#define ADDS "topology=switch:4@1GB/s,1us,in_network=reduce+multicast "

/* The line of a setup, and what differs from the defaults. */
static void write_setup(const rlt_setup *s, char *text, size_t size)
{
    rlt_packet_settings usual = rlt_packet_default();
    const rlt_aggregator_config *a = &s->aggregator;
    rlt_setup_line(s, text, size);
    size_t n = strlen(text);
    if (s->placement.n != rlt_topology_accelerators(s->topology))
        n += (size_t)snprintf(text + n, size - n, "; %u ranks", s->placement.n);
    if (s->packet.mtu != usual.mtu)
        n += (size_t)snprintf(text + n, size - n, "; mtu %llu", (unsigned long long)s->packet.mtu);
    if (s->params.channels || s->params.chunks)
        n += (size_t)snprintf(text + n, size - n, "; %u channels, %u chunks", s->params.channels,
                              s->params.chunks);
    if (a->slots || a->memory_bytes || a->width || a->sharing != RLT_SHARE_STATIC)
        n += (size_t)snprintf(text + n, size - n, "; %u slots, %llu B, width %u, sharing %d", a->slots,
                              (unsigned long long)a->memory_bytes, a->width, a->sharing);
    for (uint32_t i = 0; i < s->n_protocols; i++)
        n += (size_t)snprintf(text + n, size - n, "; %s", rlt_reactive_name(s->protocols[i].protocol));
    if (s->fallback.protocol)
        n += (size_t)snprintf(text + n, size - n, "; fallback %s", rlt_reactive_name(s->fallback.protocol));
    if (s->why_packets[0])
        snprintf(text + n, size - n, "; %s", s->why_packets);
}

static void setups_in_words(void **state)
{
#define IS(network, routing, injection)                                                                      \
    "switch:4@1GB/s,1us, 4 accelerators; network " network ", routing " routing ", injection " injection
#define SUMS(network)                                                                                        \
    "switch:4@1GB/s,1us,in_network=reduce+multicast, 4 accelerators; network " network                       \
    ", routing dmodk, injection nic"
    static const struct {
        const char *words, *algorithm, *is;
    } rows[] = {
        {STAR, NULL, IS("flow", "dmodk", "nic")},
        {STAR "network=alpha-beta routing=ecmp", NULL, IS("alpha-beta", "ecmp", "nic")},
        {STAR "network=packet routing=spray injection=blocking", NULL, IS("packet", "spray", "blocking")},
        {STAR "set=channels=3 set=chunks=5", NULL, IS("flow", "dmodk", "nic") "; 3 channels, 5 chunks"},
        {STAR "set=mtu=1500B", NULL,
         IS("packet", "dmodk", "nic") "; mtu 1500; --set mtu=1500B is a setting of packets"},
        {STAR "network=packet set=packet.mtu=1500B", NULL, IS("packet", "dmodk", "nic") "; mtu 1500"},
        {STAR "placement=ORDER", NULL, IS("flow", "dmodk", "nic") "; 3 ranks"},
        {ADDS, "ring", SUMS("flow")},
        {ADDS, "switchml", SUMS("packet") "; switchml; switchml aggregates packets"},
        {ADDS "network=packet set=switch.slots=8 set=switch.sharing=first-come", "atp,switchml",
         SUMS("packet") "; 8 slots, 0 B, width 0, sharing 2; atp; switchml"},
        {ADDS "network=packet set=switch.memory=1MiB set=switch.width=2 set=switch.sharing=dynamic", "atp",
         SUMS("packet") "; 0 slots, 1048576 B, width 2, sharing 1; atp"},
        {ADDS "set=switch.fallback=host_ring", "switchml",
         SUMS("packet") "; switchml; fallback host-ring; switchml aggregates packets"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_setup s;
        rlt_error err;
        char text[600];
        if (open_words(&s, rows[i].words, rows[i].algorithm, &err))
            fail_msg("%s: %s: %s", rows[i].words, err.where, err.what);
        write_setup(&s.setup, text, sizeof text);
        assert_string_equal(text, rows[i].is);
        test_setup_close(&s);
    }
}

/* Bandwidths after --link-scale and --dim-scale, in the order given. */
static void scaled_links(void **state)
{
    static const struct {
        const char *words;
        uint64_t first_Bps, second_Bps; /* from accelerator 0 and 1 */
    } rows[] = {{STAR, 1000000000, 1000000000},
                {STAR "link-scale=acc0=0.5", 500000000, 1000000000},
                {STAR "dim-scale=0=2", 2000000000, 2000000000},
                {STAR "dim-scale=0=2 link-scale=acc1=0.25", 2000000000, 500000000},
                {STAR "link-scale=acc0=0.5 link-scale=acc0=0.5", 250000000, 1000000000}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_setup s;
        rlt_error err;
        uint64_t out_Bps[2] = {0, 0};
        if (open_words(&s, rows[i].words, NULL, &err))
            fail_msg("%s: %s: %s", rows[i].words, err.where, err.what);
        for (uint32_t k = 0; k < rlt_topology_links(s.setup.topology); k++) {
            rlt_link l = rlt_topology_link(s.setup.topology, k);
            if (l.src < 2)
                out_Bps[l.src] = l.bw_Bps;
        }
        assert_int_equal(out_Bps[0], rows[i].first_Bps);
        assert_int_equal(out_Bps[1], rows[i].second_Bps);
        test_setup_close(&s);
    }
}

static void wrong_words(void **state)
{
    static const struct {
        const char *words, *algorithm;
        int code;
        const char *text; /* in "where: what" */
    } rows[] = {
        {"topology=swich:4@1GB/s,1us", NULL, 0, "swich"},
        {STAR "network=packets", NULL, RLT_EUSAGE, "packets"},
        {STAR "network=flow", "switchml", RLT_EUSAGE,
         "--algorithm: switchml works packet by packet: it needs --network packet"},
        {STAR "routing=fast", NULL, RLT_EUSAGE, "fast"},
        {STAR "injection=fast", NULL, RLT_EUSAGE, "fast"},
        {STAR "set=mtu", NULL, RLT_EUSAGE, "mtu"},
        {STAR "network=flow set=mtu=1500B", NULL, RLT_EUSAGE,
         "--set: mtu: is a setting of --network packet, not of flow"},
        {STAR "set=chanels=3", NULL, RLT_EUSAGE, "unknown setting; did you mean 'channels'?"},
        {STAR "set=channels=many", NULL, RLT_EUSAGE, "many"},
        {STAR "set=nothinglikeit=1", NULL, RLT_EUSAGE, "unknown setting"},
        {STAR "set=patterns=ring,ring", NULL, RLT_EUSAGE,
         "'ring' is for dimension 1, but switch:4@1GB/s,1us has only 1 dimensions"},
        {ADDS "set=switch.slot=8", "switchml", RLT_EUSAGE, "switch.slots"},
        {ADDS "set=switch.slots=0", "switchml", RLT_EUSAGE, "switch.slots"},
        {ADDS "set=switch.sharing=fair", "switchml", RLT_EUSAGE, "fair"},
        {ADDS "set=switch.fallback=ringg", "switchml", RLT_EUSAGE,
         "unknown protocol 'ringg'; known: switchml, "},
        {ADDS "network=packet set=atp.slots=4", "switchml", RLT_EUSAGE,
         "belongs to atp: add this protocol to --algorithm"},
        {STAR "network=packet set=pause=credit", NULL, RLT_EUSAGE,
         "--set: pause: credit needs a buffer of a known size"},
        {STAR "link-scale=acc9=0.5", NULL, RLT_EUSAGE, "--link-scale"},
        {STAR "link-scale=acc0=fast", NULL, RLT_EUSAGE, "--link-scale"},
        {STAR "link-scale=acc0", NULL, RLT_EUSAGE, "--link-scale"},
        {STAR "dim-scale=1=2", NULL, RLT_EUSAGE, "--dim-scale"},
        {STAR "dim-scale=x=2", NULL, RLT_EUSAGE, "--dim-scale"},
        {STAR "dim-scale=0=0", NULL, RLT_EUSAGE, "--dim-scale"},
        {STAR "placement=/tmp/ringlet-none", NULL, RLT_EIO, "ringlet-none"},
        {"topology=switch:2@1GB/s,1us placement=ORDER", NULL, 0, "ringlet-order"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_setup s;
        rlt_error err;
        char all[1600];
        int rc = open_words(&s, rows[i].words, rows[i].algorithm, &err);
        snprintf(all, sizeof all, "%s%s%s", err.where, *err.where ? ": " : "", err.what);
        if (rc >= 0 || (rows[i].code && rc != rows[i].code) || !strstr(all, rows[i].text))
            fail_msg("%s: %d: %s", rows[i].words, rc, all);
        test_setup_close(&s);
    }
}

/* More ranks than accelerators, or than the placement has. */
static void too_many_ranks(void **state)
{
    test_setup s;
    rlt_error err;
    rlt_setup more;
    (void)state;
    assert_int_equal(open_words(&s, STAR, NULL, &err), 0);
    assert_int_equal(rlt_setup_open(&s.settings, 5, &more, &err), RLT_ERANGE);
    assert_string_equal(err.what, "5 ranks do not fit the 4 accelerators of switch:4@1GB/s,1us");
    assert_int_equal(rlt_setup_open(&s.settings, 4, &more, &err), 0);
    assert_int_equal(more.placement.n, 4);
    rlt_setup_free(&more);
    assert_int_equal(rlt_setup_open(&s.settings, 2, &more, &err), 0);
    assert_int_equal(more.placement.n, 2);
    rlt_setup_free(&more);
    err = (rlt_error){0};
    s.settings.placement = order;
    assert_int_equal(rlt_setup_open(&s.settings, 4, &more, &err), RLT_ERANGE);
    assert_string_equal(err.what, "has 3 ranks, but 4 are needed");
    s.settings.placed = &s.setup.placement; /* already read: four ranks */
    s.settings.loaded = s.setup.topology;
    err = (rlt_error){0};
    assert_int_equal(rlt_setup_open(&s.settings, 5, &more, &err), RLT_ERANGE);
    assert_string_equal(err.what, "has 4 ranks, but 5 are needed");
    assert_int_equal(rlt_setup_open(&s.settings, 4, &more, &err), 0);
    assert_true(more.borrows_placement && more.borrows_topology && more.topology == s.setup.topology);
    rlt_setup_free(&more);
    test_setup_close(&s);
}

static int write_order(void **state)
{
    (void)state;
    static const char ranks[] = "{\"ranks\": [3, 1, 0]}";
    test_write_new(order, ranks, sizeof ranks - 1);
    return 0;
}

static int remove_order(void **state)
{
    (void)state;
    return unlink(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setups_in_words),
        cmocka_unit_test(scaled_links),
        cmocka_unit_test(wrong_words),
        cmocka_unit_test(too_many_ranks),
    };
    return cmocka_run_group_tests(tests, write_order, remove_order);
}
