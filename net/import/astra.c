/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Network files of ASTRA-sim's analytical backend. They have four lists with one entry per dimension:
 *   topology (Ring, FullyConnected, Switch), npus_count, bandwidth, latency.
 * Units of the format: bandwidth of each link and direction in 2^30 bytes a second, latency of each hop in
 * nanoseconds.
 */
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/read.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "sim/text/yaml.h"

enum { KEYS = 4, MIN_NPUS = 2, MAX_ITEM = 40 };

static const char *const key_names[KEYS + 1] = {"topology", "npus_count", "bandwidth", "latency", NULL};
enum { TOPOLOGY, NPUS_COUNT, BANDWIDTH, LATENCY };

static int find_lists(rlt_json root, const char *name, rlt_json *lists, rlt_error *err)
{
    int rc = rlt_json_only(root, key_names, err);
    for (int k = 0; k < KEYS && !rc; k++) {
        lists[k] = rlt_json_get(root, key_names[k]);
        if (!rlt_json_is(lists[k]))
            rc = rlt_fail(err, RLT_ESCHEMA, name, "missing '%s'", key_names[k]);
        else if (!rlt_json_is_array(lists[k]))
            rc = rlt_json_fail(lists[k], RLT_ESCHEMA, err, "expected a list");
        else if (rlt_json_count(lists[k]) > RLT_MAX_DIMS)
            rc = rlt_json_fail(rlt_json_at(lists[k], RLT_MAX_DIMS), RLT_ERANGE, err,
                               "more than %d dimensions", RLT_MAX_DIMS);
        else if (rlt_json_count(lists[k]) != rlt_json_count(lists[0]))
            rc = rlt_fail(err, RLT_ESCHEMA, name, "%s has %u entries, topology %u", key_names[k],
                          rlt_json_count(lists[k]), rlt_json_count(lists[0]));
    }
    return rc;
}

/* Returns a word or number as written, "" for anything else. */
static const char *text_of(rlt_json item, char *buffer)
{
    const char *text = rlt_json_scalar(item, buffer, MAX_ITEM);
    return text ? text : "";
}

static int wrong(rlt_json item, const char *expected, rlt_error *err)
{
    char buffer[MAX_ITEM];
    return rlt_json_fail(item, RLT_ESCHEMA, err, "expected %s, got '%.64s'", expected, text_of(item, buffer));
}

static int number(rlt_json item, int64_t scale, int64_t least, const char *expected, int64_t *value,
                  rlt_error *err)
{
    char buffer[MAX_ITEM];
    const char *text = text_of(item, buffer);
    return rlt_parse_decimal(text, strlen(text), scale, value) < 0 || *value < least
               ? wrong(item, expected, err)
               : 0;
}

static int read_dim(const rlt_json *lists, uint32_t d, rlt_arena *arena, rlt_dim_spec *dim, rlt_error *err)
{
    static const char *const shapes[][2] = {
        {"Ring", "ring"}, {"FullyConnected", "fully-connected"}, {"Switch", "switch"}};
    rlt_json items[KEYS];
    char buffer[MAX_ITEM], where[256];
    int64_t bw, latency;
    uint64_t n;
    int rc;
    for (int k = 0; k < KEYS; k++)
        items[k] = rlt_json_at(lists[k], d);
    for (size_t i = 0; i < 3; i++)
        if (strcmp(text_of(items[TOPOLOGY], buffer), shapes[i][0]) == 0)
            dim->shape = shapes[i][1];
    if (!dim->shape)
        return wrong(items[TOPOLOGY], "Ring, FullyConnected or Switch", err);
    if (rlt_parse_count(text_of(items[NPUS_COUNT], buffer), &n, NULL, NULL) < 0 || n < MIN_NPUS ||
        n > RLT_MAX_ACCELERATORS) {
        char expected[64];
        snprintf(expected, sizeof expected, "a number from %d to %d", MIN_NPUS, RLT_MAX_ACCELERATORS);
        return wrong(items[NPUS_COUNT], expected, err);
    }
    if ((rc = number(items[BANDWIDTH], 1 << 30, 1, "a bandwidth in GiB/s", &bw, err)) < 0 ||
        (rc = number(items[LATENCY], 1000, 0, "a latency in ns", &latency, err)) < 0)
        return rc;
    dim->size = (uint32_t)n;
    dim->link_bw_Bps = (uint64_t)bw;
    dim->latency_ps = latency;
    rlt_json_where(items[TOPOLOGY], where, sizeof where);
    where[strcspn(where, " ")] = '\0'; /* the place is that of the list: drop the element's path */
    dim->where = rlt_arena_printf(arena, "%s dimension %u", where, (unsigned)d);
    return dim->where ? 0 : rlt_nomem(err);
}

int rlt_topology_from_astra(const char *name, const char *text, size_t length, rlt_topology **out,
                            rlt_error *err)
{
    rlt_dim_spec dims[RLT_MAX_DIMS] = {{0}};
    rlt_arena arena = {0};
    rlt_json lists[KEYS];
    rlt_json_doc *doc = NULL;
    rlt_topology_spec spec = {
        .where = name, .source = "", .hash = rlt_hash_bytes(text, length, 0), .dims = dims};
    *out = NULL;
    int rc = rlt_yaml_parse(name, text, length, &doc, err);
    if (!rc)
        rc = find_lists(rlt_json_root(doc), name, lists, err);
    spec.n_dims = rc ? 0 : rlt_json_count(lists[0]);
    for (uint32_t d = 0; rc == 0 && d < spec.n_dims; d++)
        rc = read_dim(lists, d, &arena, &dims[d], err);
    if (rc == 0 && !(spec.name = rlt__topo_stem(&arena, name)))
        rc = rlt_nomem(err);
    if (rc == 0) {
        spec.endpoint = rlt_endpoint_default();
        rc = rlt_topology_build(&spec, out, err);
    }
    rlt_json_free(doc);
    rlt_arena_free(&arena);
    return rc;
}
