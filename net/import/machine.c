/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds machines, node by node and link by link. */
#include "net/import/machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/read.h"
#include "net/shapes/shapes.h"
#include "sim/base/units.h"

enum { MAX_ROUTES = 1 << 20, MAX_RINGS = 1024, MAX_CHOICES = 1024 };

int64_t rlt__machine_node(rlt__machine *m, rlt_node_kind kind, bool relays, const char *place,
                          const char *name, ...)
{
    char text[256];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text - 16, name, args);
    va_end(args);
    int rc = rlt_grow(&m->nodes, &m->node_capacity, sizeof *m->nodes, m->n_nodes + 1ull, RLT_MAX_FILE_NODES,
                      "nodes", m->err);
    if (rc)
        return rc;
    /* A socket's NIC is listed under every CPU; if the kernel does not know, all CPUs are 0. */
    size_t length = strlen(text);
    uint32_t times = 1, k;
    while ((k = rlt_intern(&m->names, text, strlen(text))) != RLT_NONE && k != m->n_nodes && times < 1000)
        snprintf(text + length, sizeof text - length, "#%" PRIu32, ++times);
    char *copy = rlt_arena_strdup(&m->arena, text);
    if (!copy || k == RLT_NONE)
        return rlt_nomem(m->err);
    m->nodes[m->n_nodes] =
        (rlt_graph_node){.name = copy, .kind = kind, .forwards = relays, .where = place ? place : m->file};
    m->n_accelerators += kind == RLT_ACCELERATOR;
    return m->n_nodes++;
}

void rlt__machine_nvls(rlt__machine *m, uint32_t nvswitch)
{
    m->nodes[nvswitch].in_network = RLT_CAN_REDUCE | RLT_CAN_MULTICAST;
}

int rlt__machine_link(rlt__machine *m, uint32_t src, uint32_t dst, uint64_t bw_Bps, rlt_time latency_ps)
{
    uint64_t key = (uint64_t)src << 32 | dst;
    uint32_t known = m->parallel ? RLT_NONE : rlt_map_get(&m->pair, key);
    if (known != RLT_NONE) {
        uint64_t *sum = &m->links[known].bw_Bps;
        *sum = bw_Bps > UINT64_MAX - *sum ? UINT64_MAX : *sum + bw_Bps;
        return 0;
    }
    int rc = rlt_grow(&m->links, &m->link_capacity, sizeof *m->links, m->n_links + 1ull, RLT_MAX_FILE_LINKS,
                      "links", m->err);
    if (rc)
        return rc;
    if (rlt_map_put(&m->pair, key, m->n_links))
        return rlt_nomem(m->err);
    m->links[m->n_links++] = (rlt_graph_link){
        .src = src, .dst = dst, .bw_Bps = bw_Bps, .latency_ps = latency_ps, .where = m->nodes[src].where};
    return 0;
}

int rlt__machine_duplex(rlt__machine *m, uint32_t a, uint32_t b, uint64_t bw_Bps, rlt_time latency_ps)
{
    int rc = rlt__machine_link(m, a, b, bw_Bps, latency_ps);
    return rc ? rc : rlt__machine_link(m, b, a, bw_Bps, latency_ps);
}

int rlt__machine_ring(rlt__machine *m, const uint32_t *order, uint32_t n)
{
    int rc = rlt_grow(&m->rings, &m->ring_capacity, sizeof *m->rings, m->n_rings + 1ull, MAX_RINGS, "rings",
                      m->err);
    if (rc)
        return rc;
    uint32_t *copy = rlt_arena_array(&m->arena, n + 1ull, sizeof *copy);
    if (!copy)
        return rlt_nomem(m->err);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = order[i];
    m->rings[m->n_rings++] = copy;
    return 0;
}

/* ---- routes through a neighbour ---- */

/* Links between accelerators, in rows by source. */
typedef struct rows {
    uint32_t *first, *link;
} rows;

static bool between_accelerators(const rlt__machine *m, const rlt_graph_link *l)
{
    return m->nodes[l->src].kind == RLT_ACCELERATOR && m->nodes[l->dst].kind == RLT_ACCELERATOR;
}

static int make_rows(const rlt__machine *m, rows *r)
{
    r->first = calloc(m->n_nodes + 2ull, sizeof *r->first);
    r->link = calloc(m->n_links + 1ull, sizeof *r->link);
    if (!r->first || !r->link)
        return rlt_nomem(m->err);
    for (uint32_t i = 0; i < m->n_links; i++)
        if (between_accelerators(m, &m->links[i]))
            r->first[m->links[i].src + 2]++;
    for (uint32_t v = 0; v < m->n_nodes; v++)
        r->first[v + 2] += r->first[v + 1];
    for (uint32_t i = 0; i < m->n_links; i++)
        if (between_accelerators(m, &m->links[i]))
            r->link[r->first[m->links[i].src + 1]++] = i;
    return 0;
}

int rlt__machine_route(rlt__machine *m, uint32_t src, uint32_t dst, const uint32_t *via, uint32_t n)
{
    int rc = rlt_grow(&m->routes, &m->route_capacity, sizeof *m->routes, m->n_routes + 1ull, MAX_ROUTES,
                      "static routes", m->err);
    if (rc)
        return rc;
    uint32_t *copy = rlt_arena_array(&m->arena, n + 1ull, sizeof *copy);
    if (!copy)
        return rlt_nomem(m->err);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = via[i];
    m->routes[m->n_routes++] =
        (rlt_static_route){.src = src, .dst = dst, .n = n, .via = copy, .where = m->file};
    return 0;
}

/* Finds routes from accelerator a. For each b, best[b] and through[b] are the bandwidth of the best neighbour
 * on the way, and that neighbour. */
static int relay_from(rlt__machine *m, const rows *r, uint32_t a, uint64_t *best, uint32_t *through)
{
    for (uint32_t b = 0; b < m->n_nodes; b++)
        best[b] = 0;
    for (uint32_t i = r->first[a]; i < r->first[a + 1]; i++) {
        const rlt_graph_link *out = &m->links[r->link[i]];
        for (uint32_t j = r->first[out->dst]; j < r->first[out->dst + 1]; j++) {
            const rlt_graph_link *on = &m->links[r->link[j]];
            uint64_t bw = out->bw_Bps < on->bw_Bps ? out->bw_Bps : on->bw_Bps;
            if (bw > best[on->dst]) {
                best[on->dst] = bw;
                through[on->dst] = out->dst;
            }
        }
    }
    for (uint32_t b = 0; b < m->n_nodes; b++) {
        if (!best[b] || b == a || rlt_map_get(&m->pair, (uint64_t)a << 32 | b) != RLT_NONE)
            continue;
        int rc = rlt__machine_route(m, a, b, &through[b], 1);
        if (rc)
            return rc;
    }
    return 0;
}

int rlt__machine_relay(rlt__machine *m, uint32_t *pairs)
{
    rows r = {0};
    uint64_t *best = calloc(m->n_nodes + 1ull, sizeof *best);
    uint32_t *through = calloc(m->n_nodes + 1ull, sizeof *through);
    int rc = best && through ? make_rows(m, &r) : rlt_nomem(m->err);
    for (uint32_t a = 0; !rc && a < m->n_nodes; a++)
        if (r.first[a + 1] > r.first[a])
            rc = relay_from(m, &r, a, best, through);
    *pairs = (m->n_routes + 1) / 2; /* there and back */
    free(through);
    free(best);
    free(r.link);
    free(r.first);
    return rc;
}

int rlt__machine_choice(rlt__machine *m, const char *collective, const char *algorithm, uint64_t from_bytes)
{
    int rc = rlt_grow(&m->choices, &m->choice_capacity, sizeof *m->choices, m->n_choices + 1ull, MAX_CHOICES,
                      "choices", m->err);
    if (rc)
        return rc;
    rlt_choice *c = &m->choices[m->n_choices++];
    *c = (rlt_choice){.from_bytes = from_bytes};
    snprintf(c->collective, sizeof c->collective, "%s", collective);
    snprintf(c->algorithm, sizeof c->algorithm, "%s", algorithm);
    return 0;
}

/* ---- the result ---- */

/* NCCL src/graph/tuning.cc (v2.28): base latency of an LL ring, and the latency of a ring step over
 * NVLink. */
static rlt_endpoint nccl_endpoint(void)
{
    static const struct {
        const char *name;
        rlt_time message_ps;
        uint32_t wire_num, wire_den;
    } protocols[] = {{"LL", 600000, 16, 8}, {"LL128", 1900000, 128, 120}, {"Simple", 3400000, 1, 1}};
    rlt_endpoint e = rlt_endpoint_default();
    e.launch_ps = 6600000;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        rlt_protocol *p = &e.protocols[e.n_protocols++];
        *p = rlt_protocol_default();
        snprintf(p->name, sizeof p->name, "%s", protocols[i].name);
        p->message_ps = protocols[i].message_ps;
        p->wire_num = protocols[i].wire_num;
        p->wire_den = protocols[i].wire_den;
    }
    return e;
}

int rlt__machine_build(rlt__machine *m, const char *source, uint64_t hash, rlt_topology **out)
{
    rlt_topology_spec spec = {.name = m->name ? m->name : rlt__topo_stem(&m->arena, m->file),
                              .source = source,
                              .where = m->file,
                              .hash = hash,
                              .endpoint = m->endpoint ? *m->endpoint : nccl_endpoint(),
                              .pxn = m->pxn,
                              .node_size = m->node_size,
                              .n_rings = m->n_rings,
                              .rings = m->rings,
                              .n_choices = m->n_choices,
                              .choices = m->choices,
                              .n_nodes = m->n_nodes,
                              .n_links = m->n_links,
                              .n_routes = m->n_routes,
                              .n_logical = m->n_logical,
                              .nodes = m->nodes,
                              .links = m->links,
                              .routes = m->routes,
                              .logical = m->logical};
    if (!spec.name || !source)
        return rlt_nomem(m->err);
    return rlt_topology_build(&spec, out, m->err);
}

void rlt__machine_free(rlt__machine *m)
{
    rlt_strings_free(&m->names);
    rlt_map_free(&m->pair);
    free(m->routes);
    free(m->rings);
    free(m->choices);
    free(m->links);
    free(m->nodes);
    rlt_arena_free(&m->arena);
}

const char *rlt__rate(rlt__machine *m, uint64_t bw_Bps)
{
    char text[32];
    const char *copy = rlt_arena_strdup(&m->arena, rlt_format_rate(text, sizeof text, bw_Bps));
    return copy ? copy : "?";
}
