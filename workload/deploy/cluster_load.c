/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads clusters: a topology, and which of its accelerators are what. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/deploy/cluster.h"

static const char tag[] =
    "memory: TAG's released experiment script; factor: assumed, time relative to a V100";
static const rlt_device_type types[] = {
    {"v100", 1.0, 30ull << 30, tag},
    {"p100", 1.5, 10ull << 30, tag},
    {"1080ti", 1.75, 9ull << 30, tag},
};

static const rlt_device_type *type_at(uint32_t i)
{
    return i < sizeof types / sizeof *types ? &types[i] : NULL;
}

/* Sets factor and memory of a known type. Returns false if there is none of that name. */
static bool known(rlt_device_group *g)
{
    const rlt_device_type *t;
    for (uint32_t i = 0; (t = type_at(i)); i++)
        if (strcmp(t->name, g->name) == 0) {
            g->factor = t->factor;
            g->memory_bytes = t->memory_bytes;
            return true;
        }
    return false;
}

static void list_types(char *list, size_t size)
{
    const rlt_device_type *t;
    list[0] = '\0';
    for (uint32_t i = 0; (t = type_at(i)); i++)
        rlt_list_name(list, size, t->name);
}

/* ---- --devices ---- */

/* Parses "v100:4" or "mine=1.3@24GiB:8" into a zeroed group. */
static int parse_group(const char *item, size_t length, rlt_device_group *g, rlt_error *err)
{
    char word[160], list[160];
    uint64_t n = 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), item);
    char *count = strrchr(word, ':'), *own = strchr(word, '=');
    if (!count || rlt_parse_count(count + 1, &n, "--devices", NULL) || n == 0 || n > RLT_MAX_DEVICES)
        return rlt_fail(err, RLT_EUSAGE, "--devices", "expected TYPE:COUNT, such as v100:4, got '%.80s'",
                        word);
    *count = '\0';
    char *memory = own ? strchr(own, '@') : NULL;
    if (own && !memory)
        return rlt_fail(err, RLT_EUSAGE, "--devices",
                        "expected TYPE=FACTOR@MEMORY:COUNT, such as mine=1.3@24GiB:8");
    if (own)
        *own++ = *memory++ = '\0';
    snprintf(g->name, sizeof g->name, "%.63s", word);
    g->n = (uint32_t)n;
    list_types(list, sizeof list);
    if (!own)
        return known(g)
                   ? 0
                   : rlt_fail(
                         err, RLT_EUSAGE, "--devices",
                         "unknown device type '%.60s'; known are %s; TYPE=FACTOR@MEMORY:COUNT states another",
                         word, list);
    int rc = rlt_parse_number(own, 0, &g->factor, "--devices", err);
    return rc ? rc : rlt_parse_size(memory, &g->memory_bytes, "--devices", err);
}

static int parse_devices(const char *devices, rlt_cluster *c, rlt_error *err)
{
    const char *cursor = devices, *item;
    size_t length;
    int rc = 0;
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        rlt_device_group g = {0};
        if (!(rc = parse_group(item, length, &g, err)))
            rc = rlt_cluster_add(c, &g, err);
    }
    return rc;
}

/* ---- "_devices" ---- */

static int read_group(rlt_json v, rlt_cluster *c, rlt_error *err)
{
    static const char *const keys[] = {"type", "count", "factor", "memory", "bandwidth", NULL};
    rlt_device_group g = {0};
    const char *type = NULL;
    uint64_t n = 0;
    int rc;
    if ((rc = rlt_json_only(v, keys, err)) || (rc = rlt_json_get_string(v, "type", true, &type, err)) ||
        (rc = rlt_json_get_u64(v, "count", true, RLT_MAX_DEVICES, &n, err)))
        return rc;
    snprintf(g.name, sizeof g.name, "%.63s", type);
    g.n = (uint32_t)n;
    bool is_known = known(&g);
    if ((rc = rlt_json_get_double(v, "factor", !is_known, &g.factor, err)) ||
        (rc = rlt_json_get_size(v, "memory", !is_known, &g.memory_bytes, err)) ||
        (rc = rlt_json_get_rate(v, "bandwidth", false, &g.intra_Bps, err)))
        return rc;
    return rlt_cluster_add(c, &g, err);
}

static int read_devices(rlt_json v, rlt_cluster *c, rlt_error *err)
{
    static const char *const keys[] = {"groups", "between", "source", NULL};
    rlt_json groups = rlt_json_get(v, "groups");
    uint64_t between = 0;
    int rc = rlt_json_only(v, keys, err);
    if (!rc && !rlt_json_is_array(groups))
        rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected 'groups', a list of device groups");
    for (rlt_json g = rlt_json_first(groups); rlt_json_is(g) && !rc; g = rlt_json_next(g))
        rc = read_group(g, c, err);
    if (!rc)
        rc = rlt_json_get_rate(v, "between", false, &between, err);
    for (uint32_t i = 0; i < c->n_groups; i++)
        for (uint32_t k = 0; k < c->n_groups; k++)
            c->inter_Bps[i][k] = between;
    return rc;
}

static int read_file(const char *spec, const char *dirs, rlt_cluster *c, rlt_error *err)
{
    char path[PATH_MAX];
    rlt_json_doc *doc = NULL;
    rlt_json devices = {0};
    rlt_error why = {0};
    int rc = rlt_topology_path(spec, dirs, path, sizeof path) ? rlt_json_load(path, &doc, &why) : 0;
    if (rc == RLT_ENOMEM || rc == RLT_EIO)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    if (doc)
        devices = rlt_json_get(rlt_json_root(doc), "_devices");
    if (doc && rlt_json_is(devices))
        rc = read_devices(devices, c, err);
    else
        rc = rlt_fail(err, RLT_EUSAGE, "--devices",
                      "is required: '%.200s' does not say which devices it has; such as "
                      "v100:4,1080ti:8",
                      spec);
    rlt_json_free(doc);
    return rc;
}

/* ---- bandwidths from routes ---- */

/* Smallest bandwidth on the routes from the devices of one group to those of another. */
static int least_between(rlt_router *r, const rlt_device_group *a, const rlt_device_group *b, uint64_t *least)
{
    rlt_path path;
    *least = UINT64_MAX;
    for (uint32_t i = a->first; i < a->first + a->n; i++)
        for (uint32_t k = b->first; k < b->first + b->n; k++) {
            if (i == k)
                continue;
            int rc = rlt_route(r, i, k, 0, &path);
            if (rc)
                return rc;
            *least = path.bw_Bps < *least ? path.bw_Bps : *least;
        }
    return 0;
}

static int find_bandwidths(rlt_cluster *c, rlt_error *err)
{
    rlt_router *r;
    rlt_placement identity = {.n = c->n_devices};
    uint32_t first = 0;
    int rc = rlt_router_create(c->topology, &identity, RLT_ROUTE_DMODK, &r, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < c->n_groups; first += c->groups[i++].n)
        c->groups[i].first = first;
    for (uint32_t i = 0; i < c->n_groups && !rc; i++)
        for (uint32_t k = 0; k <= i && !rc; k++) {
            uint64_t *bw = i == k ? &c->groups[i].intra_Bps : &c->inter_Bps[i][k], least;
            if (*bw == 0 && !(rc = least_between(r, &c->groups[i], &c->groups[k], &least)))
                *bw = least;
            if (i != k)
                c->inter_Bps[k][i] = c->inter_Bps[i][k];
        }
    if (rc) /* the accelerators of a topology reach each other */
        rc = rlt_nomem(err);
    rlt_router_free(r);
    return rc;
}

int rlt_cluster_load(const char *spec, const char *dirs, const char *devices, rlt_cluster *out,
                     rlt_error *err)
{
    uint64_t n = 0;
    *out = (rlt_cluster){.transfer_ps = 12 * RLT_US, .all_reduce = RLT_ALL_REDUCE_TAG};
    int rc = rlt_topology_load(spec, dirs, &out->topology, err);
    if (rc)
        return rc;
    snprintf(out->name, sizeof out->name, "%.63s", rlt_topology_name(out->topology));
    rc = devices ? parse_devices(devices, out, err) : read_file(spec, dirs, out, err);
    for (uint32_t i = 0; i < out->n_groups; i++)
        n += out->groups[i].n;
    if (!rc && n > rlt_topology_accelerators(out->topology))
        rc = rlt_fail(err, RLT_EUSAGE, "--devices", "%llu devices, but '%s' has only %u accelerators",
                      (unsigned long long)n, out->name, rlt_topology_accelerators(out->topology));
    if (!rc && n > RLT_MAX_DEVICES)
        rc = rlt_fail(err, RLT_ERANGE, "--devices", "expected at most %d devices", RLT_MAX_DEVICES);
    out->n_devices = (uint32_t)n;
    for (uint32_t d = 0; d < n && !rc; d++)
        out->rank_of[d] = d;
    if (!rc && n) /* without devices, rlt_cluster_ready says what is missing */
        rc = find_bandwidths(out, err);
    if (!rc)
        rc = rlt_cluster_ready(out, err);
    if (rc)
        rlt_cluster_free(out);
    return rc;
}
