/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes: their links written out by hand, what is refused and in which words, what they tell of themselves, and
 * their symmetry. Links of products are found by name and scaled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/import/read.h"
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

static const uint64_t GB = 1000000000u;

static rlt_topology *load(const char *spec)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_from_compact(spec, NULL, &t, &err) != 0)
        fail_msg("%s: %s: %s", spec, err.where, err.what);
    return t;
}

/* "a>b" is a link, "a-b" one there and the next one back. */
static void links_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *links;
    } cases[] = {
        {"ring:3@1GB/s,0", "0>1 0>2 1>2 1>0 2>0 2>1"},
        {"ring:2@1GB/s,0", "0>1 0>1 1>0 1>0"},
        {"fully-connected:3@1GB/s,0", "0>1 0>2 1>0 1>2 2>0 2>1"},
        {"switch:2@1GB/s,0", "0-2 1-2"},
        {"torus:6@12GB/s,0,sizes=3x2",
         "0>1 0>2 0>3 0>3 1>2 1>0 1>4 1>4 2>0 2>1 2>5 2>5 3>4 3>5 3>0 3>0 4>5 4>3 4>1 4>1 5>3 5>4 5>2 5>2"},
        {"mesh:6@12GB/s,0,sizes=3x2", "0-1 1-2 3-4 4-5 0-3 1-4 2-5"},
        {"mesh:8@12GB/s,0,sizes=2x2x2", "0-1 2-3 4-5 6-7 0-2 1-3 4-6 5-7 0-4 1-5 2-6 3-7"},
        {"mesh:3@12GB/s,0", "0-1 1-2"},
        {"fat-tree:4@1GB/s,0,hosts_per_leaf=2,spines=1", "0-4 1-4 2-5 3-5 4-6 5-6"},
        {"fat-tree:4@1GB/s,0,hosts_per_leaf=1,spines=2", "0-4 1-5 2-6 3-7 4-8 4-9 5-8 5-9 6-8 6-9 7-8 7-9"},
        {"fat-tree:8@1GB/s,0,levels=3,hosts_per_leaf=2,leaves_per_pod=2,spines=2,cores=1",
         "0-8 1-8 2-9 3-9 4-10 5-10 6-11 7-11 8-12 8-13 9-12 9-13 10-14 10-15 11-14 11-15 12-16 13-17 14-16 "
         "15-17"},
        {"fat-tree:8@1GB/s,0,levels=3,hosts_per_leaf=2,leaves_per_pod=2,spines=1,cores=2",
         "0-8 1-8 2-9 3-9 4-10 5-10 6-11 7-11 8-12 9-12 10-13 11-13 12-14 12-15 13-14 13-15"},
        {"fat-tree:4@1GB/s,0,levels=3,hosts_per_leaf=2,leaves_per_pod=1,spines=1,cores=5",
         "0-4 1-4 2-5 3-5 4-6 5-7 6-8 6-9 6-10 6-11 6-12 7-8 7-9 7-10 7-11 7-12"},
        {"dragonfly:6@1GB/s,0,groups=3,routers=2",
         "0-6 1-7 2-8 3-9 4-10 5-11 6-7 8-9 10-11 7>8 6>11 8>7 9>10 11>6 10>9"},
        {"dragonfly:6@1GB/s,0,groups=3,routers=2,arrangement=absolute",
         "0-6 1-7 2-8 3-9 4-10 5-11 6-7 8-9 10-11 6>8 7>10 8>6 9>11 10>7 11>9"},
        {"dragonfly:4@1GB/s,0,groups=2,routers=2,global=1", "0-4 1-5 2-6 3-7 4-5 6-7 4>6 5>7 6>4 7>5"},
        {"dragonfly:6@1GB/s,0,groups=1,routers=3", "0-6 1-6 2-7 3-7 4-8 5-8 6>7 6>8 7>6 7>8 8>6 8>7"},
        {"switch:2@1GB/s,0*rail:4@1GB/s,0,nodes_per_leaf=2,spines=1",
         "0-8 1-8 2-9 3-9 4-10 5-10 6-11 7-11 0-12 1-13 2-12 3-13 4-14 5-15 6-14 7-15 12-16 13-16 14-16 15-16"},
        {"rail:3@1GB/s,0", "0-3 1-3 2-3"},
        {"switch:4@1GB/s,0*switch:2@1GB/s,0,nics=2,planes=1",
         "0-8 1-8 2-8 3-8 4-9 5-9 6-9 7-9 11-10 12-10 13-10 14-10 0-11 1-11 2-12 3-12 4-13 5-13 6-14 7-14"},
        {"switch:2@1GB/s,0*switch:2@1GB/s,0*switch:2@1GB/s,0",
         "0-8 1-8 2-9 3-9 4-10 5-10 6-11 7-11 0-12 2-12 1-13 3-13 4-14 6-14 5-15 7-15 0-16 4-16 1-17 5-17 2-18 "
         "6-18 3-19 7-19"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = load(cases[i].spec);
        uint32_t k = 0, highest = 0;
        for (const char *p = cases[i].links; *p; p += strspn(p, " ")) {
            char *end;
            uint32_t a = (uint32_t)strtoul(p, &end, 10);
            bool both = *end == '-';
            uint32_t b = (uint32_t)strtoul(end + 1, &end, 10);
            p = end;
            highest = a > highest ? a : highest;
            highest = b > highest ? b : highest;
            for (int back = 0; back <= both; back++, k++) {
                assert_true(k < rlt_topology_links(t));
                rlt_link l = rlt_topology_link(t, k);
                if (l.src != (back ? b : a) || l.dst != (back ? a : b))
                    fail_msg("%s: link %u leads from %u to %u", cases[i].spec, k, l.src, l.dst);
            }
        }
        assert_int_equal(rlt_topology_links(t), k);
        assert_int_equal(rlt_topology_nodes(t), highest + 1);
        rlt_topology_free(t);
    }
}

static void expect_refused(const rlt_dim_spec *dim, int code, const char *what)
{
    rlt_topology_spec spec = {.name = "own", .n_dims = 1, .dims = dim};
    rlt_topology *t = NULL;
    rlt_error err = {0};
    int rc = rlt_topology_build(&spec, &t, &err);
    assert_null(t);
    assert_string_equal(err.what, what);
    assert_string_equal(err.where, dim->where);
    assert_int_equal(rc, code);
}

static void expect_built(const rlt_dim_spec *dim)
{
    rlt_topology_spec spec = {.name = "own", .n_dims = 1, .dims = dim};
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_build(&spec, &t, &err))
        fail_msg("%s", err.what);
    rlt_topology_free(t);
}

/* Each bound from both sides. */
static void bounds_of_dimensions(void **state)
{
    (void)state;
    const rlt_dim_spec ring = {.shape = "ring", .size = 8, .bw_Bps = GB, .latency_ps = 1000, .where = "f:1"};
    rlt_dim_spec d = ring;
    d.size = 0;
    expect_refused(&d, RLT_ERANGE, "size must be from 1 to 16777216, got 0");
    d.size = RLT_MAX_ACCELERATORS + 1;
    expect_refused(&d, RLT_ERANGE, "more than 16777216 ports");
    d.size = RLT_MAX_ACCELERATORS;
    expect_built(&d);
    d = ring;
    d.link_bw_Bps = 1;
    expect_refused(&d, RLT_ESCHEMA, "give bandwidth or link_bandwidth, not both");
    d.bw_Bps = 0;
    expect_built(&d);
    d.link_bw_Bps = 0;
    expect_refused(&d, RLT_ESCHEMA, "bandwidth must be above zero");
    d.link_bw_Bps = RLT_MAX_LINK_Bps;
    expect_built(&d);
    d.link_bw_Bps = RLT_MAX_LINK_Bps + 1;
    expect_refused(&d, RLT_ERANGE, "bandwidth above 1 PB/s");
    d = ring;
    d.bw_Bps = RLT_MAX_LINK_Bps;
    expect_built(&d);
    d.bw_Bps = RLT_MAX_LINK_Bps + 1;
    expect_refused(&d, RLT_ERANGE, "bandwidth above 1 PB/s");
    d.bw_Bps = 1;
    expect_refused(&d, RLT_ERANGE, "bandwidth of 1 B/s leaves less than 1 B/s for each of 2 links");
    d.bw_Bps = 2;
    expect_built(&d);
    d = ring;
    d.latency_ps = -1;
    expect_refused(&d, RLT_ERANGE, "latency out of range");
    d.latency_ps = RLT_TIME_MAX;
    expect_refused(&d, RLT_ERANGE, "latency out of range");
    d.latency_ps = RLT_TIME_MAX / 4; /* four links is the longest way */
    expect_refused(&d, RLT_ERANGE, "latency too large: its sum over 4 links overflows");
    d.latency_ps = RLT_TIME_MAX / 4 - 1;
    expect_built(&d);
    rlt_factor f;
    rlt_error err = {0};
    d = ring;
    d.size = RLT_MAX_ACCELERATORS + 1;
    assert_int_equal(rlt_factor_build(&d, &f, &err), RLT_ERANGE);
    assert_string_equal(err.what, "size must be from 1 to 16777216, got 16777217");
    d = ring;
    d.n_params = RLT_MAX_DIM_PARAMS + 1;
    err = (rlt_error){0};
    assert_int_equal(rlt_factor_build(&d, &f, &err), RLT_ERANGE);
    assert_string_equal(err.what, "at most 8 parameters");
    d = ring;
    d.shape = NULL;
    assert_int_equal(rlt_factor_build(&d, &f, NULL), RLT_ESCHEMA);
}

static void refusals_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int code;
        const char *what; /* NULL: it is taken */
    } cases[] = {
        {"switch:8@1GB/s,1ns,in_network=reduce,in_network=none", RLT_ESCHEMA,
         "parameter 'in_network' is given twice"},
        {"ring:8@1GB/s,1ns,in_network=none", 0, NULL},
        {"ring:8@1GB/s,1ns,in_network=multicast", RLT_ESCHEMA, "in_network: a ring has no switches"},
        {"torus:64@1GB/s,1ns,sizes=2x2x2x2x2x2", 0, NULL},
        {"torus:128@1GB/s,1ns,sizes=2x2x2x2x2x2x2", RLT_ESCHEMA,
         "sizes: expected one to 6 numbers above 1, such as 4x4x4, got '2x2x2x2x2x2x2'"},
        {"mesh:4@1GB/s,1ns,sizes=x4", RLT_ESCHEMA,
         "sizes: expected one to 6 numbers above 1, such as 4x4x4, got 'x4'"},
        {"mesh:4@1GB/s,1ns,sizes=4y", RLT_ESCHEMA,
         "sizes: expected one to 6 numbers above 1, such as 4x4x4, got '4y'"},
        {"mesh:16777216@1GB/s,1ns,sizes=16777216", 0, NULL},
        {"mesh:4@1GB/s,1ns,sizes=16777217", RLT_ESCHEMA,
         "sizes: expected one to 6 numbers above 1, such as 4x4x4, got '16777217'"},
        {"mesh:4@1GB/s,1ns,sizes=18446744073709551620", RLT_ESCHEMA,
         "sizes: expected one to 6 numbers above 1, such as 4x4x4, got '18446744073709551620'"},
        {"mesh:4@1GB/s,1ns,sizes=16777216x16777216x16777216", RLT_ESCHEMA,
         "sizes: 16777216x16777216x16777216 do not multiply to 4"},
        {"mesh:16777216@1GB/s,1ns,sizes=4096x4096x2", RLT_ESCHEMA,
         "sizes: 4096x4096x2 do not multiply to 16777216"},
        {"fat-tree:16@1GB/s,1ns,levels=3,hosts_per_leaf=1,leaves_per_pod=1,spines=16777216", RLT_ERANGE,
         "1073741856 links in one fat-tree of 16; at most 268435456"},
        {"torus:12@1GB/s,1ns,sizes=4x4", RLT_ESCHEMA, "sizes: 4x4 do not multiply to 12"},
        {"fat-tree:12@1GB/s,1ns,hosts_per_leaf=5", RLT_ESCHEMA, "hosts_per_leaf 5 does not divide size 12"},
        {"fat-tree:16@1GB/s,1ns,hosts_per_leaf=4,oversubscription=3", RLT_ESCHEMA,
         "oversubscription 3 does not divide hosts_per_leaf 4"},
        {"fat-tree:16@1GB/s,1ns,spines=2,oversubscription=2", RLT_ESCHEMA,
         "give spines or oversubscription, not both"},
        {"fat-tree:16@1GB/s,1ns,leaves_per_pod=2", RLT_ESCHEMA, "leaves_per_pod and cores need levels=3"},
        {"fat-tree:16@1GB/s,1ns,cores=2", RLT_ESCHEMA, "leaves_per_pod and cores need levels=3"},
        {"fat-tree:16@1GB/s,1ns,levels=3,hosts_per_leaf=2,leaves_per_pod=3", RLT_ESCHEMA,
         "leaves_per_pod 3 does not divide the 8 leaves"},
        {"fat-tree:16@1GB/s,1ns,hosts_per_leaf=1,spines=16777216", RLT_ERANGE,
         "536870944 links in one fat-tree of 16; at most 268435456"},
        {"fat-tree:16@1GB/s,1ns,hosts_per_leaf=16,spines=16777216,levels=3,cores=16777216", RLT_ERANGE,
         "562949986975776 links in one fat-tree of 16; at most 268435456"},
        {"dragonfly:8@1GB/s,1ns,groups=2", RLT_ESCHEMA, "a dragonfly needs groups and routers (of a group)"},
        {"dragonfly:8@1GB/s,1ns,routers=2", RLT_ESCHEMA, "a dragonfly needs groups and routers (of a group)"},
        {"dragonfly:72@1GB/s,1ns,groups=9,routers=4,hosts=3", RLT_ESCHEMA,
         "groups 9 x routers 4 x hosts 3 is not size 72"},
        {"dragonfly:6@1GB/s,1ns,groups=4,routers=2", RLT_ESCHEMA,
         "groups 4 x routers 2 x hosts 1 is not size 6"},
        {"dragonfly:72@1GB/s,1ns,groups=9,routers=4,global=1", RLT_ESCHEMA,
         "4 routers with 1 global cables reach 4 of 8 other groups"},
        {"dragonfly:72@1GB/s,1ns,groups=9,routers=4,global=2", 0, NULL},
        {"dragonfly:8@1GB/s,1ns,groups=1,routers=4,global=0", 0, NULL},
        {"dragonfly:64@1GB/s,1ns,groups=2,routers=32,global=16777216", RLT_ERANGE, "too many global cables"},
        {"dragonfly:32@1GB/s,1ns,groups=2,routers=16,global=16777216", RLT_ERANGE,
         "536871456 links in one dragonfly of 32; at most 268435456"},
        {"switch:2@1GB/s,1ns*rail:6@1GB/s,1ns,nodes_per_leaf=4", RLT_ESCHEMA,
         "nodes_per_leaf 4 does not divide the 6 nodes"},
        {"switch:2@1GB/s,1ns*rail:6@1GB/s,1ns,nodes_per_leaf=3,oversubscription=2", RLT_ESCHEMA,
         "oversubscription 2 does not divide nodes_per_leaf 3"},
        {"fully-connected:16385@1GB/s,1ns", RLT_ERANGE,
         "268451840 links in one fully-connected of 16385; at most 268435456"},
        {"fully-connected:16384@1GB/s,1ns", 0, NULL},
        {"rail-optimised:32@1GB/s,1ns,gpus_per_node=4", RLT_ESCHEMA,
         "rail-optimised needs gpus_per_node and nvlink_bandwidth"},
        {"rail-optimised:32@1GB/s,1ns,nvlink_bandwidth=1GB/s", RLT_ESCHEMA,
         "rail-optimised needs gpus_per_node and nvlink_bandwidth"},
        {"rail-optimised:32@1GB/s,1ns,nvlink_bandwidth=1GB/s,gpus_per_node=5", RLT_ESCHEMA,
         "gpus_per_node 5 does not divide size 32"},
        {"rail-optimised:32@1GB/s,1ns,nvlink_bandwidth=1GB/s,gpus_per_node=64", RLT_ESCHEMA,
         "gpus_per_node 64 does not divide size 32"},
        {"rail-optimised:32@1GB/s,1ns,nvlink_bandwidth=1GB/s,gpus_per_node=32", 0, NULL},
        {"ring:1@1B/s,1ns*ring:1@2B/s,1ns*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*"
         "ring:2@2B/s,0",
         RLT_ERANGE, "bandwidth of 1 B/s leaves less than 1 B/s for each of 2 links"},
        {"ring:1@2B/s,1ns*ring:1@2B/s,1ns*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*"
         "ring:2@2B/s,0",
         0, NULL},
        {"ring:1@2B/s,1ns*ring:1@2B/s,1ns*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*ring:2@2B/s,0*"
         "rail-optimised:4@2B/s,0,gpus_per_node=2,nvlink_bandwidth=1GB/s",
         RLT_ERANGE, "more than 8 dimensions"},
        {"ring:4096@1GB/s,0*ring:4096@1GB/s,0", 0, NULL},
        {"ring:4096@1GB/s,0*ring:4097@1GB/s,0", RLT_ERANGE, "more than 16777216 accelerators"},
        {"ring:4096@1GB/s,0*ring:4097@1GB/s,0*ring:1@1GB/s,0", RLT_ERANGE, "more than 16777216 accelerators"},
        {"fully-connected:1024@100GB/s,0*switch:256@1GB/s,0", RLT_ERANGE,
         "268697600 links; at most 268435456"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        int rc = rlt_topology_from_compact(cases[i].spec, NULL, &t, &err);
        if (rc != cases[i].code || strcmp(err.what, cases[i].what ? cases[i].what : "") != 0)
            fail_msg("%s: %d %s", cases[i].spec, rc, err.what);
        assert_true((t == NULL) == (rc != 0));
        rlt_topology_free(t);
    }
}

/* A sum that is too large names the dimension where it is reached. */
static void places_of_sums(void **state)
{
    static const struct {
        const char *spec, *column;
    } cases[] = {{"ring:4096@1GB/s,0*ring:4097@1GB/s,0", "column 19"},
                 {"ring:4096@1GB/s,0*ring:4097@1GB/s,0*ring:1@1GB/s,0", "column 37"},
                 {"fully-connected:1024@100GB/s,0*switch:256@1GB/s,0", "column 32"},
                 {"switch:64@1GB/s,0*fully-connected:4096@1GB/s,0", "column 19"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        assert_int_equal(rlt_topology_from_compact(cases[i].spec, NULL, &t, &err), RLT_ERANGE);
        const char *at = strstr(err.where, "column");
        if (!at || strcmp(at, cases[i].column) != 0)
            fail_msg("%s: at %s, not %s", cases[i].spec, err.where, cases[i].column);
    }
}

/* Latencies of several dimensions add up, and must not overflow. */
static void latencies_add_up(void **state)
{
    (void)state;
    rlt_dim_spec dims[2] = {{.shape = "ring", .size = 2, .bw_Bps = GB, .latency_ps = RLT_TIME_MAX / 2},
                            {.shape = "ring", .size = 2, .bw_Bps = GB, .latency_ps = RLT_TIME_MAX / 2 + 1}};
    rlt_topology_spec spec = {.name = "far", .n_dims = 2, .dims = dims, .where = "f"};
    rlt_topology *t;
    rlt_error err = {0};
    assert_int_equal(rlt_topology_build(&spec, &t, &err), RLT_ERANGE);
    assert_string_equal(err.what, "latencies too large: their sum over a route overflows");
    assert_string_equal(err.where, "f");
    dims[1].latency_ps -= 2;
    assert_int_equal(rlt_topology_build(&spec, &t, NULL), 0);
    rlt_topology_free(t);
}

static void what_dimensions_tell(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t d;
        rlt_dim dim; /* bandwidths in GB/s, latencies in ns */
        uint32_t exchanges;
    } cases[] = {
        {"ring:4@6GB/s,7ns", 0, {"ring", 4, 6, 7, 3, 14, 4, 0}, 0},
        {"ring:1@6GB/s,7ns", 0, {"ring", 1, 6, 7, 3, 0, 1, 0}, 0},
        {"fully-connected:4@6GB/s,7ns", 0, {"fully-connected", 4, 6, 7, 2, 7, 4, 0}, 0},
        {"fully-connected:1@6GB/s,7ns", 0, {"fully-connected", 1, 6, 7, 6, 0, 1, 0}, 0},
        {"switch:4@6GB/s,7ns,in_network=reduce", 0, {"switch", 4, 6, 7, 6, 14, 4, 1}, 1},
        {"switch:1@6GB/s,7ns,in_network=multicast", 0, {"switch", 1, 6, 7, 6, 0, 1, 2}, 1},
        {"torus:12@12GB/s,7ns,sizes=3x4", 0, {"torus", 12, 12, 7, 3, 21, 12, 0}, 0},
        {"mesh:12@12GB/s,7ns,sizes=3x4", 0, {"mesh", 12, 0, 7, 3, 35, 12, 0}, 0},
        {"mesh:1@12GB/s,7ns", 0, {"mesh", 1, 12, 7, 6, 0, 1, 0}, 0},
        {"torus:1@12GB/s,7ns", 0, {"torus", 1, 12, 7, 6, 0, 1, 0}, 0},
        {"fat-tree:8@6GB/s,7ns,hosts_per_leaf=2", 0, {"fat-tree", 8, 6, 7, 6, 28, 2, 0}, 2},
        {"fat-tree:8@6GB/s,7ns,hosts_per_leaf=4,spines=3", 0, {"fat-tree", 8, 6, 7, 6, 28, 4, 0}, 0},
        {"fat-tree:8@6GB/s,7ns,hosts_per_leaf=8", 0, {"fat-tree", 8, 6, 7, 6, 14, 8, 0}, 8},
        {"fat-tree:1@6GB/s,7ns", 0, {"fat-tree", 1, 6, 7, 6, 0, 1, 0}, 1},
        {"fat-tree:16@6GB/s,7ns", 0, {"fat-tree", 16, 6, 7, 6, 28, 4, 0}, 4}, /* 4 x 4 */
        {"fat-tree:12@6GB/s,7ns", 0, {"fat-tree", 12, 6, 7, 6, 28, 4, 0}, 4}, /* not 3 */
        {"fat-tree:27@6GB/s,7ns,levels=3", 0, {"fat-tree", 27, 6, 7, 6, 42, 3, 0}, 9},
        {"fat-tree:28@6GB/s,7ns,levels=3", 0, {"fat-tree", 28, 6, 7, 6, 42, 4, 0}, 4},
        /* 28: 7 leaves of 4, each a pod of 4 spines with a core each: 4 hosts, 4 ways */
        {"fat-tree:16@6GB/s,7ns,levels=3,hosts_per_leaf=2,leaves_per_pod=2",
         0,
         {"fat-tree", 16, 6, 7, 6, 42, 2, 0},
         4},
        {"fat-tree:16@6GB/s,7ns,levels=3,hosts_per_leaf=2,leaves_per_pod=2,cores=3",
         0,
         {"fat-tree", 16, 6, 7, 6, 42, 2, 0},
         0},
        {"dragonfly:6@6GB/s,7ns,groups=3,routers=2", 0, {"dragonfly", 6, 6, 7, 6, 35, 6, 0}, 0},
        {"dragonfly:3@6GB/s,7ns,groups=3,routers=1", 0, {"dragonfly", 3, 6, 7, 6, 21, 3, 0}, 0},
        {"dragonfly:6@6GB/s,7ns,groups=1,routers=3", 0, {"dragonfly", 6, 6, 7, 6, 21, 6, 0}, 0},
        {"dragonfly:2@6GB/s,7ns,groups=1,routers=1", 0, {"dragonfly", 2, 6, 7, 6, 14, 2, 0}, 0},
        {"dragonfly:1@6GB/s,7ns,groups=1,routers=1", 0, {"dragonfly", 1, 6, 7, 6, 0, 1, 0}, 0},
        {"switch:2@9GB/s,1ns*rail:4@6GB/s,7ns", 1, {"rail", 4, 6, 7, 6, 28, 4, 0}, 1},
        {"switch:2@9GB/s,1ns*rail:4@6GB/s,7ns,planes=2", 1, {"rail", 4, 6, 7, 6, 14, 4, 0}, 1},
        {"switch:2@9GB/s,1ns*rail:4@6GB/s,7ns,pxn=off", 1, {"rail", 4, 6, 7, 6, 28, 4, 0}, 0},
        {"rail:4@6GB/s,7ns", 0, {"rail", 4, 6, 7, 6, 14, 4, 0}, 1},
        {"rail:1@6GB/s,7ns", 0, {"rail", 1, 6, 7, 6, 0, 1, 0}, 1},
        {"rail:4@6GB/s,7ns,nodes_per_leaf=2", 0, {"rail", 4, 6, 7, 6, 28, 4, 0}, 0},
        {"switch:4@9GB/s,1ns*switch:4@6GB/s,7ns,nics=2", 1, {"switch", 4, 3, 7, 6, 14, 4, 0}, 1},
        {"switch:4@9GB/s,1ns*fat-tree:4@6GB/s,7ns,hosts_per_leaf=2,nics=2",
         1,
         {"fat-tree", 4, 3, 7, 6, 28, 4, 0},
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_topology *t = load(cases[i].spec);
        rlt_dim is = rlt_topology_dim(t, cases[i].d), want = cases[i].dim;
        if (strcmp(is.shape, want.shape) != 0 || is.size != want.size || is.bw_Bps != want.bw_Bps * GB ||
            is.latency_ps != want.latency_ps * RLT_NS || is.link_Bps != want.link_Bps * GB ||
            is.far_ps != want.far_ps * RLT_NS || is.leaf != want.leaf || is.in_network != want.in_network)
            fail_msg("%s: %s:%u@%llu,%lld: link %llu far %lld leaf %u can %u", cases[i].spec, is.shape,
                     is.size, (unsigned long long)is.bw_Bps, (long long)is.latency_ps,
                     (unsigned long long)is.link_Bps, (long long)is.far_ps, is.leaf, is.in_network);
        if (rlt_topology_exchanges(t, cases[i].d) != cases[i].exchanges)
            fail_msg("%s: exchanges %u", cases[i].spec, rlt_topology_exchanges(t, cases[i].d));
        rlt_topology_free(t);
    }
}

static rlt_factor factor(const char *shape, uint32_t size, const char *parameters, uint32_t ports)
{
    char text[128], *at = text;
    rlt_dim_spec d = {.shape = shape, .size = size, .bw_Bps = 60 * GB, .ports_per_node = ports};
    rlt_factor f;
    rlt_error err = {0};
    snprintf(text, sizeof text, "%s", parameters);
    for (char *word; (word = strsep(&at, ",")) != NULL && *word; d.n_params++) {
        d.params[d.n_params].name = strsep(&word, "=");
        d.params[d.n_params].value = word;
    }
    if (rlt_factor_build(&d, &f, &err))
        fail_msg("%s: %s", shape, err.what);
    return f;
}

/* Moves accelerator a by one place in digit `digit` of the mixed radix `sizes`; switches stay. */
static uint32_t moved(const rlt_factor *f, uint32_t a, const uint32_t *sizes, uint32_t digit)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < digit; i++)
        stride *= sizes[i];
    uint32_t x = a / stride % sizes[digit];
    return a >= f->n ? a : a + ((x + 1) % sizes[digit]) * stride - x * stride;
}

static uint32_t route_of(const rlt_factor *f, uint32_t a, uint32_t b, uint32_t *links)
{
    return f->shape->route(f, a, b, (rlt_pick){.by_destination = true, .value = b}, links);
}

/* Every translation takes links to links of the same orbit, and routes to routes. */
static void translations_keep_orbits(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *parameters;
        uint32_t size, translations, orbits;
    } cases[] = {
        {"ring", "", 6, 1, 2},
        {"ring", "", 2, 1, 2},
        {"fully-connected", "", 5, 1, 4},
        {"torus", "sizes=3x2x4", 24, 3, 6},
        {"torus", "", 5, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_factor f = factor(cases[i].shape, cases[i].size, cases[i].parameters, 1);
        uint32_t sizes[RLT_MAX_DIMS] = {0}, product = 1, n = f.shape->translations(&f, sizes);
        assert_int_equal(n, cases[i].translations);
        assert_int_equal(f.shape->orbits(&f), cases[i].orbits);
        assert_int_equal(cases[i].orbits * f.n, f.links);
        bool seen[64] = {false};
        for (uint32_t k = 0; k < cases[i].orbits; k++) {
            assert_true(f.shape->orbit(&f, k) < cases[i].orbits && !seen[f.shape->orbit(&f, k)]);
            seen[f.shape->orbit(&f, k)] = true;
        }
        for (uint32_t s = 0; s < n; product *= sizes[s++]) {
            for (uint32_t a = 0; a < f.n; a++) {
                for (uint32_t b = 0; b < f.n; b++) {
                    uint32_t here[64], there[64];
                    if (a == b)
                        continue;
                    uint32_t hops = route_of(&f, a, b, here);
                    assert_int_equal(route_of(&f, moved(&f, a, sizes, s), moved(&f, b, sizes, s), there),
                                     hops);
                    for (uint32_t h = 0; h < hops; h++) {
                        uint32_t from, to, x, y;
                        f.shape->ends(&f, here[h], &from, &to);
                        f.shape->ends(&f, there[h], &x, &y);
                        assert_int_equal(x, moved(&f, from, sizes, s));
                        assert_int_equal(y, moved(&f, to, sizes, s));
                        assert_int_equal(f.shape->orbit(&f, here[h]), f.shape->orbit(&f, there[h]));
                    }
                }
            }
        }
        assert_int_equal(product, f.n);
    }
}

/* The link in the place of `link` when blocks 0 and 1 change places. */
static uint32_t swapped(const rlt_block_run *runs, uint32_t n, uint32_t link)
{
    for (uint32_t r = 0; r < n; r++)
        if (link >= runs[r].first && link < runs[r].first + 2 * runs[r].each)
            return link < runs[r].first + runs[r].each ? link + runs[r].each : link - runs[r].each;
    return link;
}

/* If two blocks change places, D-mod-k routes take the links that change places with theirs. */
static void blocks_change_places(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *parameters;
        uint32_t size, block, runs;
    } cases[] = {
        {"switch", "", 5, 1, 1},
        {"fat-tree", "hosts_per_leaf=4", 16, 4, 2},
        {"fat-tree", "hosts_per_leaf=4,oversubscription=2", 16, 4, 2},
        {"fat-tree", "levels=3,hosts_per_leaf=2,leaves_per_pod=2", 16, 4, 3},
        {"fat-tree", "levels=3,hosts_per_leaf=4,leaves_per_pod=2,spines=2,cores=2", 24, 8, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_factor f = factor(cases[i].shape, cases[i].size, cases[i].parameters, 1);
        rlt_block_run runs[RLT_MAX_BLOCK_RUNS];
        uint32_t block = f.shape->block(&f), n = f.shape->block_runs(&f, runs);
        assert_int_equal(block, cases[i].block);
        assert_int_equal(n, cases[i].runs);
        for (uint32_t a = 0; a < f.n; a++) {
            for (uint32_t b = 0; b < f.n; b++) {
                uint32_t here[8], there[8];
                uint32_t x = a < block ? a + block : a < 2 * block ? a - block : a;
                uint32_t y = b < block ? b + block : b < 2 * block ? b - block : b;
                if (a == b)
                    continue;
                uint32_t hops = route_of(&f, a, b, here);
                assert_int_equal(route_of(&f, x, y, there), hops);
                for (uint32_t h = 0; h < hops; h++)
                    assert_int_equal(there[h], swapped(runs, n, here[h]));
            }
        }
    }
}

/* A route on rail j turns into that of the same nodes on rail 0. */
static void rails_turn(void **state)
{
    (void)state;
    rlt_factor f = factor("rail", 8 * 3, "nodes_per_leaf=4,spines=2", 3);
    for (uint32_t rail = 0; rail < 3; rail++)
        for (uint32_t a = 0; a < 8; a++)
            for (uint32_t b = 0; b < 8; b++) {
                uint32_t here[8], first[8];
                if (a == b)
                    continue;
                uint32_t hops = route_of(&f, 3 * a + rail, 3 * b + rail, here);
                assert_int_equal(hops, a / 4 == b / 4 ? 2 : 4);
                assert_int_equal(route_of(&f, 3 * a, 3 * b, first), hops);
                for (uint32_t h = 0; h < hops; h++)
                    assert_int_equal(f.shape->turned(&f, here[h]), first[h]);
            }
    f = factor("rail", 8 * 3, "nodes_per_leaf=4,spines=3", 3);
    assert_int_equal(f.shape->turned(&f, 2), RLT_NONE);
}

/* D-mod-k on rails counts destinations leaf by leaf: node 5 is place 1 of leaf (unit 1, port 2) = 5; 21 mod 2. */
static void rails_choose_spines(void **state)
{
    (void)state;
    rlt_factor f = factor("rail", 8 * 3, "nodes_per_leaf=4,spines=2", 3);
    uint32_t links[8], from, to;
    assert_int_equal(route_of(&f, 0, 3 * 5 + 2, links), 4);
    f.shape->ends(&f, links[1], &from, &to);
    assert_int_equal(from, 24);
    assert_int_equal(to, 24 + 6 + 1);
    f.shape->ends(&f, links[2], &from, &to);
    assert_int_equal(from, 24 + 6 + 1);
    assert_int_equal(to, 24 + 5);
    assert_int_equal(f.shape->route(&f, 0, 17, (rlt_pick){.value = 4}, links), 4);
    f.shape->ends(&f, links[1], &from, &to);
    assert_int_equal(to, 24 + 6);
}

/* Ways of equal length in a ring and a torus: up, unless a free choice is odd in its bit. */
static void ties_by_choice(void **state)
{
    (void)state;
    rlt_factor ring = factor("ring", 4, "", 1), torus = factor("torus", 8, "sizes=4x2", 1);
    uint32_t links[8];
    for (uint32_t value = 0; value < 4; value++) {
        const rlt_pick pick = {.value = value};
        assert_int_equal(ring.shape->route(&ring, 1, 3, pick, links), 2);
        assert_int_equal(links[0], value % 2 ? 3 : 2);
        assert_int_equal(torus.shape->route(&torus, 0, 6, pick, links), 3);
        assert_int_equal(links[0], value & 1 ? 1 : 0);
        assert_int_equal(links[2], 2 * 2 * 2 + 2 + (value >> 1 & 1)); /* at node 2, sub-dimension 1 */
    }
    assert_int_equal(route_of(&ring, 1, 3, links), 2);
    assert_int_equal(links[0], 2);
    assert_int_equal(route_of(&torus, 1, 3, links), 2);
    assert_int_equal(links[0], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_by_hand),
        cmocka_unit_test(bounds_of_dimensions),
        cmocka_unit_test(refusals_in_words),
        cmocka_unit_test(places_of_sums),
        cmocka_unit_test(latencies_add_up),
        cmocka_unit_test(what_dimensions_tell),
        cmocka_unit_test(translations_keep_orbits),
        cmocka_unit_test(blocks_change_places),
        cmocka_unit_test(rails_turn),
        cmocka_unit_test(rails_choose_spines),
        cmocka_unit_test(ties_by_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
