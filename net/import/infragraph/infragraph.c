/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reader of InfraGraph: document, graph, reduced graph, machine, topology. */
#include "net/import/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/infragraph/build.h"
#include "net/import/infragraph/document.h"
#include "net/import/infragraph/graph.h"
#include "net/import/machine.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"

/* Returns true if a key of this name, quoted or not, stands before a colon. */
static bool has_key(const char *text, size_t length, const char *key)
{
    size_t n = strlen(key);
    const char *p = text, *end = text + length;
    while ((size_t)(end - p) > n && (p = memchr(p, key[0], (size_t)(end - p) - n)) != NULL) {
        const char *q = p + n;
        if (memcmp(p, key, n) == 0) {
            while (q < end && memchr("\"' ", *q, 3))
                q++;
            if (q < end && *q == ':')
                return true;
        }
        p++;
    }
    return false;
}

bool rlt__topo_infragraph_is(const char *text, size_t length)
{
    return text[0] != '<' && has_key(text, length, "instances") && has_key(text, length, "devices") &&
           has_key(text, length, "components");
}

/* ---- links ---- */

/* An edge between node numbers. */
typedef struct joined {
    uint32_t low, high, edge;
} joined;

static int by_ends(const void *a, const void *b)
{
    const joined *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

static int wrong_cables(const rlt__ig_graph *g, const rlt__ig_edge *e)
{
    return rlt_json_fail(e->link->at, RLT_ESCHEMA, g->d->err,
                         "expected ringlet_cables such as '50000000000/500000 | 50000000000/500000', got "
                         "'%.80s'",
                         e->link->cables);
}

/* Reads 1 to `most` digits. Returns the text behind them, NULL if there are none, or more. */
static const char *read_digits(const char *p, size_t most, uint64_t *value)
{
    size_t n = strspn(p, "0123456789");
    if (n == 0 || n > most)
        return NULL;
    for (*value = 0; n; n--)
        *value = *value * 10 + (uint64_t)(*p++ - '0');
    return p;
}

/* Adds the directed links that "BYTES/PICOSECONDS ... | ..." lists. */
static int add_cables(const rlt__ig_graph *g, const rlt__ig_edge *e, const rlt__ig_order *order,
                      rlt__machine *m)
{
    uint32_t src = order->node[e->a], dst = order->node[e->b], swap;
    const char *p = e->link->cables;
    for (bool back = false;;) {
        uint64_t bw, latency;
        p += strspn(p, " ");
        if (*p == '\0')
            return back ? 0 : wrong_cables(g, e);
        if (*p == '|' && !back) {
            back = true;
            swap = src;
            src = dst;
            dst = swap;
            p++;
            continue;
        }
        p = read_digits(p, 19, &bw);
        p = p && *p == '/' ? read_digits(p + 1, 18, &latency) : NULL;
        if (!p)
            return wrong_cables(g, e);
        int rc = rlt__machine_link(m, src, dst, bw, (rlt_time)latency);
        if (rc)
            return rc;
    }
}

static int add_links(const rlt__ig_graph *g, const rlt__ig_order *order, rlt__machine *m)
{
    joined *list = malloc((g->n_edges + 1ull) * sizeof *list);
    uint32_t n = 0;
    int rc = list ? 0 : rlt_nomem(g->d->err);
    for (uint32_t i = 0; i < g->n_edges && !rc; i++) {
        const rlt__ig_edge *e = &g->edges[i];
        if (!e->link)
            continue;
        uint32_t a = order->node[e->a], b = order->node[e->b];
        list[n++] = (joined){a < b ? a : b, a < b ? b : a, i};
    }
    if (!rc)
        qsort(list, n, sizeof *list, by_ends);
    for (uint32_t i = 0; i < n && !rc; i++) {
        const rlt__ig_edge *e = &g->edges[list[i].edge];
        rc = e->link->cables ? add_cables(g, e, order, m)
                             : rlt__machine_duplex(m, list[i].low, list[i].high, e->bw_Bps, e->latency_ps);
    }
    free(list);
    return rc;
}

/* ---- nodes ---- */

static int add_nodes(const rlt__ig_graph *g, const rlt__ig_order *order, bool relay, rlt__machine *m)
{
    char name[256];
    for (uint32_t i = 0; i < order->n; i++) {
        const rlt__ig_vertex *v = &g->vertices[order->vertex[i]];
        bool forwards = v->forwards >= 0 ? v->forwards : v->kind != RLT_ACCELERATOR || relay;
        const char *text = v->name ? v->name : rlt__ig_name(g->d, order->vertex[i], name, sizeof name);
        int64_t node = rlt__machine_node(m, (rlt_node_kind)v->kind, forwards, NULL, "%s", text);
        if (node < 0)
            return (int)node;
        if (strlen(text) <= RLT_MAX_NODE_NAME && strcmp(m->nodes[node].name, text) != 0)
            return rlt_fail(g->d->err, RLT_ESCHEMA, g->d->file, "two nodes are named '%.80s'", text);
        m->nodes[node].in_network = v->in_network;
    }
    return 0;
}

/* ---- what was read, in words ---- */

/* Lists links with the number of their edges: "48 nvlink, 20 pcie". */
static void list_links(const rlt__ig_document *d, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k <= d->n_devices; k++) {
        const rlt__ig_links *links = k < d->n_devices ? &d->devices[k].links : &d->links;
        for (uint32_t i = 0; i < links->n && used < size; i++)
            if (links->items[i].edges)
                used += (size_t)snprintf(text + used, size - used, "%s%" PRIu32 " %s", used ? ", " : "",
                                         links->items[i].edges, links->items[i].name);
    }
}

/* Describes what is taken as the user states it. */
static const char *describe_stated(const rlt_import *import, rlt_arena *arena)
{
    char rate[32];
    const char *bw = import->link_Bps ? rlt_format_rate(rate, sizeof rate, import->link_Bps) : NULL;
    if (!bw && !import->latency)
        return "";
    return rlt_arena_printf(arena, " Links that state none have %s%s%s (given).", bw ? bw : "",
                            bw && import->latency ? " and " : "", import->latency ? import->latency : "");
}

static const char *describe(const rlt__ig_graph *g, bool relay, uint32_t relayed, rlt__machine *m)
{
    const rlt__ig_lenience *l = &g->d->lenience;
    const char *reduced = "", *stated = describe_stated(g->d->import, &m->arena), *left = "", *through = "";
    char links[400];
    list_links(g->d, links, sizeof links);
    if (g->pruned || g->folded)
        reduced = rlt_arena_printf(&m->arena,
                                   " %" PRIu32 " parts that join two links are folded into one link, %" PRIu32
                                   " at the end of one are left out.",
                                   g->folded, g->pruned);
    if (l->cut || l->unknown || l->unconnected)
        left = rlt_arena_printf(&m->arena,
                                " Taken as InfraGraph's service does: %" PRIu32 " unequal one2one, %" PRIu32
                                " unknown components, %" PRIu32 " unconnected parts.",
                                l->cut, l->unknown, l->unconnected);
    if (relay)
        through = " Accelerators relay, since nothing else joins them all.";
    else if (relayed)
        through = rlt_arena_printf(&m->arena,
                                   " %" PRIu32 " pairs of accelerators without a link go through a third "
                                   "one.",
                                   relayed);
    if (!reduced || !stated || !left || !through)
        return NULL;
    return rlt_arena_printf(&m->arena,
                            "InfraGraph of %" PRIu32 " vertices and %" PRIu32 " edges (%s).%s%s%s%s Costs of "
                            "messages: NCCL's (tuning.cc).",
                            g->d->n_vertices, g->n_edges, links, stated, reduced, left, through);
}

/* ---- the topology ---- */

/* Hashes what the builder does not: the text itself does not matter. */
static uint64_t hash_of(const rlt__machine *m)
{
    uint32_t usual = m->n_logical > 1 ? m->logical[0] : m->n_accelerators;
    uint64_t hash = rlt_hash_bytes("infragraph", 10, m->node_size ? m->node_size : usual);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        hash = rlt_hash_bytes(&m->nodes[i].in_network, sizeof m->nodes[i].in_network, hash);
    return hash;
}

static int build(const rlt__ig_graph *g, const rlt__ig_order *order, rlt__machine *m, rlt_topology **out)
{
    bool own = rlt_json_is(g->own), relay = false;
    rlt_endpoint endpoint;
    uint32_t relayed = 0;
    const char *source = NULL;
    m->parallel = own;
    m->name = g->d->name;
    int rc = own ? 0 : rlt__ig_needs_relay(g, order, &relay);
    if (rc || (rc = add_nodes(g, order, relay, m)) < 0 || (rc = add_links(g, order, m)) < 0)
        return rc;
    if (own) {
        rc = rlt__ig_own(g, m, &endpoint, &source);
    } else {
        rlt__ig_boundary(g, order, m);
        rc = relay ? 0 : rlt__machine_relay(m, &relayed);
        source = describe(g, relay, relayed, m);
    }
    return rc ? rc : rlt__machine_build(m, source, hash_of(m), out);
}

int rlt__topo_infragraph(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err)
{
    rlt__ig_document d = {.file = name, .import = import, .err = err};
    rlt__ig_graph g = {.d = &d};
    rlt__ig_order order = {0};
    rlt__machine m = {.file = name, .err = err};
    int rc = rlt__ig_document_read(&d, text, length);
    if (!rc && !(rc = rlt__ig_expand(&g)) && !(rc = rlt__ig_annotate(&g)) && !(rc = rlt__ig_reduce(&g)) &&
        !(rc = rlt__ig_order_make(&g, &order)))
        rc = build(&g, &order, &m, out);
    rlt__machine_free(&m);
    rlt__ig_order_free(&order);
    rlt__ig_graph_free(&g);
    rlt__ig_document_free(&d);
    return rc;
}
