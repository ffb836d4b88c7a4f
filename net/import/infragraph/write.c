/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a topology in the form in which InfraGraph's service answers: an infrastructure and its annotations.
 * Each distinct machine is a device, its copies are instances; nodes of the network are devices of one
 * component.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/infragraph/infragraph.h"
#include "net/import/infragraph/split.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/param.h"
#include "sim/text/json.h"

static const char *const components[] = {"xpu", "nic", "pcie", "cpu", "switch"}; /* by rlt_node_kind */
static const char *const kinds[] = {"accelerator", "nic", "pcie", "cpu", "switch"};

typedef struct writer {
    const rlt_topology *t;
    rlt__ig_split s;
    rlt_jw w;
} writer;

/* Name of a device and of its instances: "machine0", "switch3". */
static const char *device_name(const writer *x, uint32_t device, char *buffer, size_t size)
{
    uint32_t g = x->s.first_group[device];
    snprintf(buffer, size, "%s%" PRIu32,
             g < x->s.n_machines ? "machine"
                                 : kinds[rlt_topology_node_kind(x->t, x->s.member[x->s.member_first[g]])],
             device);
    return buffer;
}

/* ---- links ---- */

static void put_link(writer *x, uint32_t kind)
{
    const rlt__ig_cable_kind *k = &x->s.kinds[kind];
    char name[32], number[48];
    rlt_jw *w = &x->w;
    snprintf(name, sizeof name, "link%" PRIu32, kind);
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "name", name);
    rlt_jw_object(w, "physical");
    rlt_jw_object(w, "bandwidth");
    rlt_jw_string(w, "choice", "gigabytes_per_second");
    snprintf(number, sizeof number, "%" PRIu64 ".%09" PRIu64, k->bw_Bps / 1000000000, k->bw_Bps % 1000000000);
    rlt_jw_raw(w, "gigabytes_per_second", number);
    rlt_jw_end_object(w);
    rlt_jw_object(w, "latency");
    rlt_jw_string(w, "choice", "ns");
    snprintf(number, sizeof number, "%" PRId64 ".%03" PRId64, k->latency_ps / 1000, k->latency_ps % 1000);
    rlt_jw_raw(w, "ns", number);
    rlt_jw_end_object(w);
    rlt_jw_end_object(w);
    rlt_jw_end_object(w);
}

/* Writes the links that `used` marks. */
static void put_links(writer *x, const bool *used)
{
    rlt_jw_array(&x->w, "links");
    for (uint32_t k = 0; k < x->s.kind_texts.n; k++)
        if (used[k])
            put_link(x, k);
    rlt_jw_end_array(&x->w);
}

/* ---- edges ---- */

/* Writes an end: the component of a node, or of `run` nodes from it on. */
static void put_end(writer *x, const char *key, uint32_t node, uint32_t run, bool inside)
{
    char text[96], name[64];
    const char *component = components[rlt_topology_node_kind(x->t, node)];
    uint32_t place = x->s.place[node], g = x->s.group[node];
    rlt_jw_object(&x->w, key);
    if (!inside) {
        snprintf(text, sizeof text, "%s[%" PRIu32 "]", device_name(x, x->s.device[g], name, sizeof name),
                 x->s.instance[g]);
        rlt_jw_string(&x->w, "instance", text);
    }
    if (run == 1)
        snprintf(text, sizeof text, "%s[%" PRIu32 "]", component, place);
    else
        snprintf(text, sizeof text, "%s[%" PRIu32 ":%" PRIu32 "]", component, place, place + run);
    rlt_jw_string(&x->w, "component", text);
    rlt_jw_end_object(&x->w);
}

/* Returns true if cable b goes on where a ends: from the same node, to the next one of its kind. */
static bool goes_on(const writer *x, const rlt__ig_cable *a, const rlt__ig_cable *b)
{
    return a->low == b->low && a->kind == b->kind && x->s.group[a->high] == x->s.group[b->high] &&
           rlt_topology_node_kind(x->t, a->high) == rlt_topology_node_kind(x->t, b->high) &&
           x->s.place[a->high] + 1 == x->s.place[b->high];
}

/* Writes cables; those to neighbouring nodes become one edge. */
static void put_edges(writer *x, const uint32_t *cables, uint32_t n, bool inside)
{
    char name[32];
    rlt_jw_array(&x->w, "edges");
    for (uint32_t i = 0, run; i < n; i += run) {
        const rlt__ig_cable *c = &x->s.cables[cables[i]];
        for (run = 1;
             i + run < n && goes_on(x, &x->s.cables[cables[i + run - 1]], &x->s.cables[cables[i + run]]);)
            run++;
        snprintf(name, sizeof name, "link%" PRIu32, c->kind);
        rlt_jw_object(&x->w, NULL);
        put_end(x, "ep1", c->low, 1, inside);
        put_end(x, "ep2", c->high, run, inside);
        rlt_jw_string(&x->w, "scheme", run == 1 ? "one2one" : "many2many");
        rlt_jw_string(&x->w, "link", name);
        rlt_jw_end_object(&x->w);
    }
    rlt_jw_end_array(&x->w);
}

/* ---- devices and instances ---- */

static void put_components(writer *x, uint32_t g)
{
    uint32_t count[sizeof components / sizeof *components] = {0};
    for (uint32_t i = x->s.member_first[g]; i < x->s.member_first[g + 1]; i++)
        count[rlt_topology_node_kind(x->t, x->s.member[i])]++;
    rlt_jw_array(&x->w, "components");
    for (uint32_t k = 0; k < sizeof components / sizeof *components; k++) {
        if (!count[k])
            continue;
        rlt_jw_object(&x->w, NULL);
        rlt_jw_string(&x->w, "name", components[k]);
        rlt_jw_u64(&x->w, "count", count[k]);
        rlt_jw_string(&x->w, "choice", k == RLT_PCIE ? "custom" : components[k]);
        if (k == RLT_PCIE) {
            rlt_jw_object(&x->w, "custom");
            rlt_jw_string(&x->w, "type", "pcie");
            rlt_jw_end_object(&x->w);
        }
        rlt_jw_end_object(&x->w);
    }
    rlt_jw_end_array(&x->w);
}

static void put_devices(writer *x, bool *used)
{
    char name[64];
    rlt_jw_array(&x->w, "devices");
    for (uint32_t d = 0; d < x->s.n_devices; d++) {
        uint32_t g = x->s.first_group[d], first = x->s.inner_first[g], n = x->s.inner_first[g + 1] - first;
        memset(used, 0, x->s.kind_texts.n);
        for (uint32_t i = first; i < first + n; i++)
            used[x->s.cables[x->s.inner[i]].kind] = true;
        rlt_jw_object(&x->w, NULL);
        rlt_jw_string(&x->w, "name", device_name(x, d, name, sizeof name));
        put_components(x, g);
        put_links(x, used);
        put_edges(x, x->s.inner + first, n, true);
        rlt_jw_end_object(&x->w);
    }
    rlt_jw_end_array(&x->w);
}

static void put_instances(writer *x)
{
    char name[64];
    rlt_jw_array(&x->w, "instances");
    for (uint32_t d = 0; d < x->s.n_devices; d++) {
        rlt_jw_object(&x->w, NULL);
        rlt_jw_string(&x->w, "name", device_name(x, d, name, sizeof name));
        rlt_jw_string(&x->w, "device", name);
        rlt_jw_u64(&x->w, "count", x->s.count[d]);
        rlt_jw_end_object(&x->w);
    }
    rlt_jw_end_array(&x->w);
}

/* Writes the name with the characters that the schema allows. */
static void put_name(writer *x)
{
    char name[101];
    snprintf(name, sizeof name, "%s", rlt_topology_name(x->t));
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              strchr(" -_()><", *c)))
            *c = '-';
    rlt_jw_string(&x->w, "name", *name ? name : "topology");
}

static int put_infrastructure(writer *x, rlt_error *err)
{
    uint32_t n = 0, *outer = malloc((x->s.n_cables + 1ull) * sizeof *outer);
    bool *used = calloc(x->s.kind_texts.n + 1ull, sizeof *used);
    int rc = outer && used ? 0 : rlt_nomem(err);
    if (!rc) {
        rlt_jw_object(&x->w, "infrastructure");
        put_name(x);
        put_devices(x, used);
        memset(used, 0, x->s.kind_texts.n);
        for (uint32_t i = 0; i < x->s.n_cables; i++) {
            if (x->s.group[x->s.cables[i].low] == x->s.group[x->s.cables[i].high])
                continue;
            outer[n++] = i;
            used[x->s.cables[i].kind] = true;
        }
        put_links(x, used);
        put_instances(x);
        put_edges(x, outer, n, false);
        rlt_jw_end_object(&x->w);
    }
    free(used);
    free(outer);
    return rc;
}

/* ---- annotations ---- */

static void put_attribute(writer *x, const char *name, const char *value)
{
    rlt_jw_object(&x->w, NULL);
    rlt_jw_string(&x->w, "attribute", name);
    rlt_jw_string(&x->w, "value", value);
    rlt_jw_end_object(&x->w);
}

static void put_node(writer *x, uint32_t v)
{
    rlt_node_kind kind = rlt_topology_node_kind(x->t, v);
    uint32_t g = x->s.group[v], can = rlt_topology_in_network(x->t, v);
    bool forwards = rlt_topology_forwards(x->t, v), accelerator = kind == RLT_ACCELERATOR;
    char name[256], text[300];
    snprintf(text, sizeof text, "%s.%" PRIu32 ".%s.%" PRIu32,
             device_name(x, x->s.device[g], name, sizeof name), x->s.instance[g], components[kind],
             x->s.place[v]);
    rlt_jw_object(&x->w, NULL);
    rlt_jw_string(&x->w, "name", text);
    rlt_jw_array(&x->w, "attributes");
    snprintf(text, sizeof text, "%" PRIu32, v);
    put_attribute(x, accelerator ? "rank" : "ringlet_id", text);
    put_attribute(x, "ringlet_name", rlt_topology_node_name(x->t, v, name, sizeof name));
    if (kind == RLT_CPU)
        put_attribute(x, "ringlet_kind", "cpu");
    if (forwards == accelerator)
        put_attribute(x, "ringlet_forwards", forwards ? "true" : "false");
    if (can)
        put_attribute(x, "ringlet_in_network", rlt_param_word(&rlt_in_network_parameter, can, text));
    rlt_jw_end_array(&x->w);
    rlt_jw_end_object(&x->w);
}

static void put_link_annotations(writer *x)
{
    char name[32];
    rlt_jw_array(&x->w, "links");
    for (uint32_t k = 0; k < x->s.kind_texts.n; k++) {
        if (x->s.kinds[k].plain)
            continue;
        snprintf(name, sizeof name, "link%" PRIu32, k);
        rlt_jw_object(&x->w, NULL);
        rlt_jw_string(&x->w, "name", name);
        rlt_jw_array(&x->w, "attributes");
        put_attribute(x, "ringlet_cables", rlt_interned(&x->s.kind_texts, k));
        rlt_jw_end_array(&x->w);
        rlt_jw_end_object(&x->w);
    }
    rlt_jw_end_array(&x->w);
}

/* Writes what nodes and links do not say, as JSON. */
static int rest_of(const rlt_topology *t, char **text, rlt_error *err)
{
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    rlt_jw_string(&w, "name", rlt_topology_name(t));
    rlt_jw_string(&w, "source", rlt_topology_source(t));
    rlt_jw_u64(&w, "node_size", rlt_topology_node_size(t));
    if (rlt_topology_node_size(t) < rlt_topology_accelerators(t) && rlt_topology_pxn(t) != RLT_PXN_UNSTATED)
        rlt_jw_string(&w, "pxn", rlt_topology_pxn(t) == RLT_PXN_ON ? "on" : "off");
    rlt_jw_array(&w, "dims");
    for (uint32_t i = 0; i < rlt_topology_dims(t); i++)
        rlt_jw_u64(&w, NULL, rlt_topology_dim(t, i).size);
    rlt_jw_end_array(&w);
    int rc = rlt__export_rest(&w, t, err);
    rlt_jw_end_object(&w);
    *text = rlt_jw_finish(&w, NULL);
    return rc ? rc : *text ? 0 : rlt_nomem(err);
}

static int put_annotations(writer *x, rlt_error *err)
{
    char *rest;
    int rc = rest_of(x->t, &rest, err);
    if (rc) {
        free(rest);
        return rc;
    }
    rlt_jw_object(&x->w, "annotations");
    rlt_jw_array(&x->w, "graph");
    put_attribute(x, "ringlet", rest);
    rlt_jw_end_array(&x->w);
    put_link_annotations(x);
    rlt_jw_array(&x->w, "nodes");
    for (uint32_t v = 0; v < rlt_topology_nodes(x->t); v++)
        put_node(x, v);
    rlt_jw_end_array(&x->w);
    rlt_jw_end_object(&x->w);
    free(rest);
    return 0;
}

int rlt_topology_to_infragraph(const rlt_topology *t, char **text, rlt_error *err)
{
    writer x = {.t = t};
    *text = NULL;
    int rc = rlt__export_check(t, err);
    if (rc)
        return rc;
    rlt_jw_init(&x.w, true);
    if ((rc = rlt__ig_split_make(t, &x.s, err)) == 0) {
        rlt_jw_object(&x.w, NULL);
        if ((rc = put_infrastructure(&x, err)) == 0)
            rc = put_annotations(&x, err);
        rlt_jw_end_object(&x.w);
    }
    rlt__ig_split_free(&x.s);
    *text = rlt_jw_finish(&x.w, NULL);
    if (!rc && !*text)
        rc = rlt_nomem(err);
    if (rc) {
        free(*text);
        *text = NULL;
    }
    return rc;
}
