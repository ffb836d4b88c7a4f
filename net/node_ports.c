/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, NICs and network of a graph. */
#include "net/node_ports.h"

#include <stdlib.h>
#include <string.h>

#include "net/topology/frozen.h"
#include "sim/base/time.h"

enum { FAR = 1 << 20 }; /* added to the distance of a NIC behind a CPU */

/* A search: its result and what it needs besides. */
typedef struct finder {
    const rlt_topology *t;
    rlt_node_ports *p;
    uint32_t *piece; /* by vertex: first vertex of its piece; ports are pieces of their own */
    uint32_t *queue, *far, *seen;
} finder;

static bool is_port(const rlt_topology *t, uint32_t v)
{
    return t->graph.kind[v] == RLT_ACCELERATOR || t->graph.kind[v] == RLT_NIC;
}

/* Returns neighbour i of vertex v, over links out of it, then into it; RLT_NONE after the last. */
static uint32_t neighbour(const rlt_topology *t, uint32_t v, uint32_t i)
{
    const rlt_frozen_graph *g = &t->graph;
    uint32_t out = g->out_first[v + 1] - g->out_first[v];
    if (i < out)
        return g->links[g->out[g->out_first[v] + i]].dst;
    i += g->in_first[v] - out;
    return i < g->in_first[v + 1] ? g->links[g->in[i]].src : RLT_NONE;
}

/* Gives node `k` to a vertex that touches it: the first one, or none if there are several. RLT_NONE - 1 marks
 * several. */
static void touch(uint32_t *of, uint32_t k)
{
    *of = *of == RLT_NONE ? k : *of == k ? k : RLT_NONE - 1;
}

static void find_piece(finder *f, uint32_t first)
{
    uint32_t head = 0, tail = 0, w, node = RLT_NONE;
    f->queue[tail++] = first;
    f->piece[first] = first;
    while (head < tail) {
        uint32_t v = f->queue[head++];
        for (uint32_t i = 0; (w = neighbour(f->t, v, i)) != RLT_NONE; i++) {
            if (w < f->t->accelerators)
                touch(&node, w / f->p->node);
            if (is_port(f->t, w) || f->piece[w] != RLT_NONE)
                continue;
            f->piece[w] = first;
            f->queue[tail++] = w;
        }
    }
    for (uint32_t i = 0; i < tail; i++)
        f->p->of[f->queue[i]] = node < RLT_NONE - 1 ? node : RLT_NONE;
}

static void find_nodes(finder *f)
{
    const rlt_topology *t = f->t;
    uint32_t w;
    for (uint32_t v = 0; v < t->nodes; v++)
        f->p->of[v] = v < t->accelerators ? v / f->p->node : RLT_NONE;
    for (uint32_t v = t->accelerators; v < t->nodes; v++)
        if (!is_port(t, v) && f->piece[v] == RLT_NONE)
            find_piece(f, v);
    for (uint32_t v = t->accelerators; v < t->nodes; v++) {
        if (t->graph.kind[v] != RLT_NIC)
            continue;
        uint32_t node = RLT_NONE;
        for (uint32_t i = 0; (w = neighbour(t, v, i)) != RLT_NONE; i++)
            if (t->graph.kind[w] != RLT_NIC && f->p->of[w] != RLT_NONE)
                touch(&node, f->p->of[w]);
        f->p->of[v] = node < RLT_NONE - 1 ? node : RLT_NONE;
    }
    for (uint32_t v = 0; v < t->nodes; v++) {
        bool relays = t->graph.forwards[v], network = f->p->of[v] == RLT_NONE;
        f->p->inside[v] = relays && !network && t->graph.kind[v] != RLT_NIC;
        f->p->outside[v] = relays && network;
    }
}

/* Returns the nearest NIC of accelerator a; of equally near ones that which the fewest took. */
static uint32_t nearest_nic(finder *f, uint32_t a, const uint32_t *taken)
{
    const rlt_topology *t = f->t;
    uint32_t head = 0, tail = 0, w, best = RLT_NONE;
    f->queue[tail++] = a;
    f->seen[a] = a;
    f->far[a] = 0;
    while (head < tail) {
        uint32_t v = f->queue[head++];
        uint32_t far = f->far[v] + 1 + (t->graph.kind[v] == RLT_CPU && f->far[v] < FAR ? (uint32_t)FAR : 0);
        if (v != a && !f->p->inside[v])
            continue;
        for (uint32_t i = t->graph.out_first[v]; i < t->graph.out_first[v + 1]; i++) {
            w = t->graph.links[t->graph.out[i]].dst;
            if (f->p->of[w] != f->p->of[a] || f->seen[w] == a)
                continue;
            f->seen[w] = a;
            f->far[w] = far;
            f->queue[tail++] = w;
        }
    }
    for (uint32_t i = 0; i < tail; i++) {
        w = f->queue[i];
        if (t->graph.kind[w] != RLT_NIC)
            continue;
        bool fewer = best != RLT_NONE && f->far[w] == f->far[best] &&
                     (taken[w] < taken[best] || (taken[w] == taken[best] && w < best));
        if (best == RLT_NONE || f->far[w] < f->far[best] || fewer)
            best = w;
    }
    return best;
}

/* Chooses the port of each accelerator. A place is the number of a NIC among those of its node. */
static int choose_ports(finder *f)
{
    const rlt_topology *t = f->t;
    rlt_node_ports *p = f->p;
    uint32_t *taken = calloc(t->nodes, sizeof *taken), *place = calloc(t->nodes, sizeof *place);
    uint32_t *nics = calloc(t->accelerators / p->node, sizeof *nics);
    int rc = taken && place && nics ? 0 : RLT_ENOMEM;
    for (uint32_t v = t->accelerators; !rc && v < t->nodes; v++)
        if (t->graph.kind[v] == RLT_NIC && p->of[v] != RLT_NONE)
            place[v] = nics[p->of[v]]++;
    for (uint32_t v = 0; !rc && v < t->nodes; v++)
        f->seen[v] = RLT_NONE;
    for (uint32_t a = 0; !rc && a < t->accelerators; a++) {
        uint32_t nic = nics[a / p->node] ? nearest_nic(f, a, taken) : RLT_NONE;
        p->port[a] = nic == RLT_NONE ? a : nic;
        p->place[a] = nic == RLT_NONE ? a % p->node : place[nic];
        taken[p->port[a]]++;
    }
    p->n_nics = rc ? 0 : nics[0];
    free(nics);
    free(place);
    free(taken);
    return rc;
}

typedef struct numbered {
    uint32_t piece, leaf, port, accelerator;
} numbered;

static int by_leaf(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return (x->accelerator > y->accelerator) - (x->accelerator < y->accelerator);
}

/* Numbers the ports. The leaf of one is the first switch of the network that it touches. */
static int number_ports(finder *f)
{
    const rlt_topology *t = f->t;
    numbered *list = malloc(t->accelerators * sizeof *list);
    uint32_t w, number = 0;
    if (!list)
        return RLT_ENOMEM;
    for (uint32_t a = 0; a < t->accelerators; a++) {
        uint32_t leaf = RLT_NONE, port = f->p->port[a];
        for (uint32_t i = 0; (w = neighbour(t, port, i)) != RLT_NONE; i++)
            if (f->p->outside[w] && w < leaf)
                leaf = w;
        list[a] = (numbered){leaf == RLT_NONE ? RLT_NONE : f->piece[leaf], leaf, port, a};
    }
    qsort(list, t->accelerators, sizeof *list, by_leaf);
    for (uint32_t i = 0; i < t->accelerators; i++) {
        if (i == 0 || list[i].piece != list[i - 1].piece)
            number = 0;
        else if (list[i].port != list[i - 1].port)
            number++;
        f->p->number[list[i].accelerator] = number;
    }
    free(list);
    return 0;
}

static int allocate(finder *f)
{
    size_t vertices = f->t->nodes, accelerators = f->t->accelerators;
    rlt_node_ports *p = f->p;
    p->of = malloc(vertices * sizeof *p->of);
    p->port = malloc(accelerators * sizeof *p->port);
    p->place = malloc(accelerators * sizeof *p->place);
    p->number = malloc(accelerators * sizeof *p->number);
    p->inside = malloc(vertices);
    p->outside = malloc(vertices);
    f->piece = malloc(vertices * sizeof *f->piece);
    f->queue = malloc(vertices * sizeof *f->queue);
    f->far = malloc(vertices * sizeof *f->far);
    f->seen = malloc(vertices * sizeof *f->seen);
    bool all = p->of && p->port && p->place && p->number && p->inside && p->outside && f->piece && f->queue &&
               f->far && f->seen;
    if (all)
        memset(f->piece, 0xff, vertices * sizeof *f->piece); /* RLT_NONE */
    return all ? 0 : RLT_ENOMEM;
}

int rlt_node_ports_create(const rlt_topology *t, rlt_node_ports *out, rlt_error *err)
{
    finder f = {.t = t, .p = out};
    *out = (rlt_node_ports){.node = t->node_size};
    int rc = allocate(&f);
    if (!rc) {
        find_nodes(&f);
        rc = choose_ports(&f);
    }
    if (!rc)
        rc = number_ports(&f);
    free(f.seen);
    free(f.far);
    free(f.queue);
    free(f.piece);
    if (!rc)
        return 0;
    rlt_node_ports_free(out);
    return rlt_nomem(err);
}

static bool leads_on(const rlt_topology *t, uint32_t v, uint32_t from)
{
    uint32_t w;
    for (uint32_t i = 0; (w = neighbour(t, v, i)) != RLT_NONE; i++)
        if (w != from)
            return true;
    return false;
}

/* Returns the bandwidth of the links from a port into the network. NCCL lists the port of a NIC as a node,
 * which leads nowhere in the description of one machine. */
static uint64_t port_Bps(const rlt_topology *t, const rlt_node_ports *p, uint32_t port)
{
    const rlt_frozen_graph *g = &t->graph;
    uint64_t sum = 0;
    for (uint32_t i = g->out_first[port]; i < g->out_first[port + 1]; i++) {
        uint32_t other = g->links[g->out[i]].dst;
        if (p->of[other] != p->of[port] && leads_on(t, other, port))
            sum += g->links[g->out[i]].bw_Bps;
    }
    return sum;
}

static int find_in_graph(const rlt_topology *t, rlt_machines *out, rlt_error *err)
{
    rlt_node_ports p;
    int rc = rlt_node_ports_create(t, &p, err);
    if (rc)
        return rc;
    out->nics = p.n_nics ? p.n_nics : p.node;
    out->nic_Bps = port_Bps(t, &p, p.port[0]);
    for (uint32_t a = 1; a < t->accelerators; a++)
        if (port_Bps(t, &p, p.port[a]) != out->nic_Bps)
            out->nic_Bps = 0;
    rlt_node_ports_free(&p);
    return 0;
}

int rlt_machines_find(const rlt_topology *t, rlt_machines *out, rlt_error *err)
{
    *out = (rlt_machines){
        .nodes = t->accelerators / t->node_size, .accelerators = t->node_size, .pxn = rlt_topology_pxn(t)};
    if (out->nodes < 2)
        return 0;
    if (!t->n_dims)
        return find_in_graph(t, out, err);
    uint32_t d = 1;
    while (d + 1 < t->n_dims && t->dims[d].stride < t->node_size)
        d++;
    out->nics = t->dims[d].nics;
    out->planes = t->dims[d].planes;
    out->nic_Bps = t->dims[d].f.bw_Bps;
    return 0;
}

void rlt_node_ports_free(rlt_node_ports *p)
{
    free(p->of);
    free(p->port);
    free(p->place);
    free(p->number);
    free(p->inside);
    free(p->outside);
    *p = (rlt_node_ports){0};
}
