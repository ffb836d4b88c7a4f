/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks of one switch, or of leaves below spines, for tests of in-network aggregation. */
#ifndef RLT_TEST_SUPPORT_NETWORKS_LEAVES_H
#define RLT_TEST_SUPPORT_NETWORKS_LEAVES_H

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

typedef struct test_leaves {
    uint32_t workers, leaves, spines; /* leaves 0: one switch, named leaf0 */
    const char *leaf_can, *spine_can; /* values of in_network; "" means none */
    const char *odd_can;              /* in_network of leaf1, if not NULL */
    const char *bandwidth, *latency;  /* NULL: 100Gbps, 1us */
    const char *uplink;               /* bandwidth from leaf to spine; NULL: as `bandwidth` */
} test_leaves;

static inline rlt_topology *test_leaves_build(const test_leaves *x)
{
    size_t size = 1 << 20, used = 0;
    char *text = malloc(size);
    rlt_topology *t = NULL;
    rlt_error err = {0};
    const char *bw = x->bandwidth ? x->bandwidth : "100Gbps", *lat = x->latency ? x->latency : "1us";
    uint32_t leaves = x->leaves ? x->leaves : 1;
    assert_non_null(text);
#define PUT(...) used += (size_t)snprintf(text + used, size - used, __VA_ARGS__)
    PUT("{\"nodes\": [");
    for (uint32_t i = 0; i < x->workers; i++)
        PUT("{\"id\": \"w%u\", \"kind\": \"accelerator\"},\n", i);
    for (uint32_t i = 0; i < leaves + (x->leaves ? x->spines : 0); i++) {
        const char *can = i >= leaves ? x->spine_can : i == 1 && x->odd_can ? x->odd_can : x->leaf_can;
        PUT("%s{\"id\": \"%s%u\", \"kind\": \"switch\"", i ? ",\n" : "", i < leaves ? "leaf" : "spine",
            i < leaves ? i : i - leaves);
        if (*can)
            PUT(", \"in_network\": \"%s\"", can);
        PUT("}");
    }
    PUT("],\n\"links\": [");
    for (uint32_t i = 0; i < x->workers; i++)
        PUT("%s{\"src\": \"w%u\", \"dst\": \"leaf%u\", \"bandwidth\": \"%s\", \"latency\": \"%s\"}",
            i ? ",\n" : "", i, i % leaves, bw, lat);
    for (uint32_t i = 0; i < (x->leaves ? leaves * x->spines : 0); i++)
        PUT(",\n{\"src\": \"leaf%u\", \"dst\": \"spine%u\", \"bandwidth\": \"%s\", \"latency\": \"%s\"}",
            i / x->spines, i % x->spines, x->uplink ? x->uplink : bw, lat);
    PUT("]}");
#undef PUT
    assert_true(used < size);
    if (rlt_topology_load(text, NULL, &t, &err))
        fail_msg("%s: %s", err.where, err.what);
    free(text);
    return t;
}

#endif
