/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frozen topology: nodes, links, dimensions and names. */
#include "net/topology/topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "net/topology/part.h"
#include "net/topology/ports.h"
#include "sim/base/map.h"

static void free_graph(rlt_frozen_graph *g)
{
    free(g->links);
    free(g->kind);
    free(g->forwards);
    free(g->in_network);
    free(g->out_first);
    free(g->out);
    free(g->in_first);
    free(g->in);
    free(g->route_first);
    free(g->route_links);
    rlt_strings_free(&g->names);
    rlt_map_free(&g->route_of);
}

void rlt_topology_free(rlt_topology *t)
{
    if (!t)
        return;
    rlt_cut_memo_free(t->cuts);
    rlt_distance_memo_free(t->distances);
    free_graph(&t->graph);
    free(t->changed);
    rlt_map_free(&t->changed_at);
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        rlt_part_free(t->parts[i]);
    free(t->rings);
    free(t->choices);
    free(t->source);
    free(t->name);
    free(t);
}

const char *rlt_topology_name(const rlt_topology *t)
{
    return t->name;
}

const char *rlt_topology_source(const rlt_topology *t)
{
    return t->source;
}

uint64_t rlt_topology_hash(const rlt_topology *t)
{
    return t->hash;
}

bool rlt_topology_is_product(const rlt_topology *t)
{
    return t->n_dims > 0;
}

uint32_t rlt_topology_accelerators(const rlt_topology *t)
{
    return t->accelerators;
}

uint32_t rlt_topology_nodes(const rlt_topology *t)
{
    return t->nodes;
}

uint32_t rlt_topology_links(const rlt_topology *t)
{
    return t->links;
}

static uint32_t global_node(const rlt_topology *t, const rlt_product_dim *d, uint32_t group, uint32_t local)
{
    if (local >= d->f.n)
        return d->first_switch + group * d->f.switches + (local - d->f.n);
    if (d->ports == RLT_PORTS_PLAIN)
        return group % d->stride + local * d->stride + group / d->stride * d->stride * d->f.n;
    uint32_t node = group / d->planes * d->size + local / d->per_plane;
    return rlt_port_node(t, d, node, local % d->per_plane * d->planes + group % d->planes);
}

/* The dimension of a switch or NIC. */
static const rlt_product_dim *dim_of_other(const rlt_topology *t, uint32_t node)
{
    uint32_t i = t->n_dims - 1;
    while (i &&
           (node < t->dims[i].first_switch || (!t->dims[i].f.switches && t->dims[i].ports != RLT_PORTS_NICS)))
        i--;
    return &t->dims[i];
}

static bool is_nic_of(const rlt_product_dim *d, uint32_t node)
{
    return d->ports == RLT_PORTS_NICS && node >= d->first_nic;
}

/* The node of the graph that a switch of a product stands for, with that graph; NULL: it is of a shape. */
static const rlt_topology *part_of(const rlt_topology *t, uint32_t node, uint32_t *local)
{
    const rlt_product_dim *d = dim_of_other(t, node);
    if (!d->f.part || is_nic_of(d, node))
        return NULL;
    *local = d->f.n + (node - d->first_switch) % d->f.switches;
    return d->f.part->graph;
}

bool rlt_topology_forwards(const rlt_topology *t, uint32_t node)
{
    uint32_t local;
    const rlt_topology *part;
    if (!t->n_dims)
        return t->graph.forwards[node];
    if (node >= t->accelerators)
        return (part = part_of(t, node, &local)) ? part->graph.forwards[local] : true;
    const rlt_factor *f = &t->dims[0].f;
    if (t->n_dims > 1)
        return true;
    return f->part ? f->part->graph->graph.forwards[node % f->n] : f->switches == 0 && !f->shape->complete;
}

/* Link between an accelerator and its NIC. */
static rlt_link nic_link(const rlt_topology *t, uint32_t dim, uint32_t id)
{
    const rlt_product_dim *d = &t->dims[dim];
    uint32_t i = id - d->first_nic_link, accelerator = i / 2;
    uint32_t nic = rlt_port_node(t, d, accelerator / d->stride, rlt_port_nic(t, d, accelerator));
    return (rlt_link){.src = i % 2 ? nic : accelerator,
                      .dst = i % 2 ? accelerator : nic,
                      .dim = dim,
                      .bw_Bps = t->n_changed ? rlt_changed_bw(t, id, d->nic_link.bw_Bps) : d->nic_link.bw_Bps,
                      .latency_ps = d->nic_link.latency_ps};
}

rlt_link rlt_topology_link(const rlt_topology *t, uint32_t id)
{
    if (!t->n_dims)
        return t->graph.links[id];
    uint32_t i = t->n_dims - 1;
    while (i && id < t->dims[i].first_link)
        i--;
    const rlt_product_dim *d = &t->dims[i];
    if (d->ports == RLT_PORTS_NICS && id >= d->first_nic_link)
        return nic_link(t, i, id);
    uint32_t group = (id - d->first_link) / d->f.links, local = (id - d->first_link) % d->f.links, src, dst;
    d->f.shape->ends(&d->f, local, &src, &dst);
    rlt_factor_links cls = rlt_dim_link(d, local);
    return (rlt_link){.src = global_node(t, d, group, src),
                      .dst = global_node(t, d, group, dst),
                      .dim = i,
                      .bw_Bps = t->n_changed ? rlt_changed_bw(t, id, cls.bw_Bps) : cls.bw_Bps,
                      .latency_ps = cls.latency_ps};
}

rlt_node_kind rlt_topology_node_kind(const rlt_topology *t, uint32_t node)
{
    uint32_t local;
    const rlt_topology *part;
    if (!t->n_dims)
        return (rlt_node_kind)t->graph.kind[node];
    if (node < t->accelerators)
        return RLT_ACCELERATOR;
    if (is_nic_of(dim_of_other(t, node), node))
        return RLT_NIC;
    return (part = part_of(t, node, &local)) ? (rlt_node_kind)part->graph.kind[local] : RLT_SWITCH;
}

uint32_t rlt_topology_in_network(const rlt_topology *t, uint32_t node)
{
    uint32_t local;
    const rlt_topology *part;
    if (!t->n_dims)
        return t->graph.in_network[node];
    if (node < t->accelerators || is_nic_of(dim_of_other(t, node), node))
        return 0;
    return (part = part_of(t, node, &local)) ? part->graph.in_network[local]
                                             : dim_of_other(t, node)->f.in_network;
}

uint32_t rlt_topology_in_networks(const rlt_topology *t)
{
    uint32_t can = 0;
    for (uint32_t d = 0; d < t->n_dims; d++)
        can |= t->dims[d].f.in_network;
    for (uint32_t v = t->accelerators; !t->n_dims && v < t->nodes; v++)
        can |= t->graph.in_network[v];
    return can;
}

uint32_t rlt_topology_reverse(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link), back;
    uint32_t other = link ^ 1;
    if (other < t->links) { /* usually the two halves of a cable are adjacent */
        back = rlt_topology_link(t, other);
        if (back.src == l.dst && back.dst == l.src)
            return other;
    }
    const rlt_frozen_graph *g = &t->graph;
    for (uint32_t i = t->n_dims ? 0 : g->out_first[l.dst]; !t->n_dims && i < g->out_first[l.dst + 1]; i++)
        if (g->links[g->out[i]].dst == l.src)
            return g->out[i];
    return RLT_NONE;
}

const char *rlt_topology_node_name(const rlt_topology *t, uint32_t node, char *buffer, size_t size)
{
    uint32_t local;
    const rlt_topology *part;
    if (!t->n_dims) {
        snprintf(buffer, size, "%s", rlt_interned(&t->graph.names, node));
        return buffer;
    }
    if (node < t->accelerators) {
        snprintf(buffer, size, "acc%" PRIu32, node);
        return buffer;
    }
    const rlt_product_dim *d = dim_of_other(t, node);
    uint32_t dim = (uint32_t)(d - t->dims), k = node - d->first_switch;
    if (is_nic_of(d, node))
        snprintf(buffer, size, "nic%" PRIu32 ".%" PRIu32 ".%" PRIu32, dim, (node - d->first_nic) / d->nics,
                 (node - d->first_nic) % d->nics);
    else if ((part = part_of(t, node, &local)) != NULL)
        snprintf(buffer, size, "%s.%" PRIu32 ".%" PRIu32, rlt_interned(&part->graph.names, local), dim,
                 k / d->f.switches);
    else
        snprintf(buffer, size, "sw%" PRIu32 ".%" PRIu32 ".%" PRIu32, dim, k / d->f.switches,
                 k % d->f.switches);
    return buffer;
}

/* Reads a canonical decimal number below `limit`; returns the text after it, or NULL. */
static const char *read_number(const char *text, uint32_t limit, uint32_t *out)
{
    if (!text || *text < '0' || *text > '9' || (text[0] == '0' && text[1] >= '0' && text[1] <= '9'))
        return NULL;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = 10 * value + (uint64_t)(*text - '0');
        if (value >= limit)
            return NULL;
    }
    *out = (uint32_t)value;
    return text;
}

/* Reads "i.j.k" with i below the number of dimensions. */
static bool read_three(const rlt_topology *t, const char *text, uint32_t *i, uint32_t *j, uint32_t *k)
{
    const char *p = read_number(text, t->n_dims, i);
    if (!p || *p++ != '.' || !(p = read_number(p, RLT_MAX_LINKS, j)) || *p++ != '.')
        return false;
    p = read_number(p, RLT_MAX_LINKS, k);
    return p && !*p;
}

/* Finds "name.dimension.group", a node of a graph that is a dimension. */
static uint32_t find_in_part(const rlt_topology *t, const char *name)
{
    const char *second = strrchr(name, '.'), *first = second;
    uint32_t dim = 0, group = 0;
    while (first && first > name && (first == second || *first != '.'))
        first--;
    if (!first || first == name || read_number(first + 1, t->n_dims, &dim) != second)
        return RLT_NONE;
    const rlt_product_dim *d = &t->dims[dim];
    const char *end = read_number(second + 1, d->groups, &group);
    if (!d->f.part || !end || *end)
        return RLT_NONE;
    uint32_t local = rlt_intern_find(&d->f.part->graph->graph.names, name, (size_t)(first - name));
    return local == RLT_NONE || local < d->f.n ? RLT_NONE
                                               : d->first_switch + group * d->f.switches + local - d->f.n;
}

static uint32_t find_in_product(const rlt_topology *t, const char *name)
{
    uint32_t i, j, k;
    if (strncmp(name, "acc", 3) == 0) {
        const char *end = read_number(name + 3, t->accelerators, &i);
        return end && !*end ? i : find_in_part(t, name);
    }
    if (strncmp(name, "sw", 2) == 0 && read_three(t, name + 2, &i, &j, &k) && j < t->dims[i].groups &&
        k < t->dims[i].f.switches && !t->dims[i].f.part)
        return t->dims[i].first_switch + j * t->dims[i].f.switches + k;
    if (strncmp(name, "nic", 3) == 0 && read_three(t, name + 3, &i, &j, &k) &&
        t->dims[i].ports == RLT_PORTS_NICS && k < t->dims[i].nics && j < t->accelerators / t->dims[i].stride)
        return t->dims[i].first_nic + j * t->dims[i].nics + k;
    return find_in_part(t, name);
}

uint32_t rlt_topology_find_node(const rlt_topology *t, const char *name)
{
    if (t->n_dims)
        return find_in_product(t, name);
    return rlt_intern_find(&t->graph.names, name, strlen(name));
}

uint32_t rlt_topology_dims(const rlt_topology *t)
{
    return t->n_dims ? t->n_dims : t->graph.n_logical;
}

rlt_dim rlt_topology_dim(const rlt_topology *t, uint32_t d)
{
    if (!t->n_dims)
        return (rlt_dim){.shape = t->graph.shape[d], .size = t->graph.logical[d]};
    const rlt_factor *f = &t->dims[d].f;
    bool one = f->part && f->part->graph->graph.n_logical == 1;
    bool one_class = !f->part && f->split == UINT32_MAX;
    bool one_latency = one_class || (!f->part && f->cls[0].latency_ps == f->cls[1].latency_ps);
    uint32_t leaf = f->shape && f->shape->leaf && t->dims[d].ports == RLT_PORTS_PLAIN ? f->shape->leaf(f)
                                                                                      : t->dims[d].size;
    return (rlt_dim){.shape = one ? f->part->graph->graph.shape[0] : f->shape->info.name,
                     .size = t->dims[d].size,
                     .bw_Bps = rlt_dim_Bps(&t->dims[d]),
                     .latency_ps = one_latency ? f->cls[0].latency_ps : 0,
                     .link_Bps = one_class ? f->cls[0].bw_Bps : 0,
                     .far_ps = f->max_ps,
                     .leaf = leaf,
                     .in_network = f->in_network};
}

uint32_t rlt_topology_sub_sizes(const rlt_topology *t, uint32_t d, uint32_t sizes[RLT_MAX_DIMS])
{
    const rlt_factor *f = t->n_dims ? &t->dims[d].f : NULL;
    if (f && f->n > 1 && f->shape->grid)
        return rlt_shape_sub_sizes(f, sizes);
    sizes[0] = rlt_topology_dim(t, d).size;
    return 1;
}

static uint64_t sum_of(const rlt_topology *t, const uint32_t *first, const uint32_t *ids, uint32_t node)
{
    uint64_t sum = 0;
    for (uint32_t i = first[node]; i < first[node + 1]; i++)
        sum += t->graph.links[ids[i]].bw_Bps;
    return sum;
}

/* Returns the bandwidth that leaves an accelerator of a product before links were changed. The same enters
 * it. */
static uint64_t regular_egress(const rlt_topology *t, uint32_t accelerator)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->n_dims; i++)
        sum += rlt_dim_egress(&t->dims[i], accelerator / t->dims[i].stride % t->dims[i].size);
    return sum;
}

uint64_t rlt_topology_egress_Bps(const rlt_topology *t, uint32_t accelerator)
{
    if (!t->n_dims)
        return sum_of(t, t->graph.out_first, t->graph.out, accelerator);
    uint64_t sum = regular_egress(t, accelerator);
    for (uint32_t i = 0; i < t->n_changed; i++) {
        if (t->changed[i].src == accelerator)
            sum += t->changed[i].bw_Bps - t->changed[i].was_Bps;
    }
    return sum;
}

uint64_t rlt_topology_ingress_Bps(const rlt_topology *t, uint32_t accelerator)
{
    if (!t->n_dims)
        return sum_of(t, t->graph.in_first, t->graph.in, accelerator);
    uint64_t sum = regular_egress(t, accelerator);
    for (uint32_t i = 0; i < t->n_changed; i++) {
        if (t->changed[i].dst == accelerator)
            sum += t->changed[i].bw_Bps - t->changed[i].was_Bps;
    }
    return sum;
}

bool rlt_topology_uniform_Bps(const rlt_topology *t, uint64_t *bw_Bps)
{
    *bw_Bps = 0;
    if (!t->n_dims || t->n_changed)
        return false;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const rlt_factor *f = &t->dims[i].f;
        if (f->n > 1 && f->bw_Bps == 0)
            return false;
        *bw_Bps += rlt_dim_egress(&t->dims[i], 0);
    }
    return true;
}

/* Returns the size of blocks of nodes of a dimension that can be exchanged, if those below it stay; 0:
 * none. */
static uint32_t exchanges_nodes(const rlt_product_dim *d)
{
    const rlt_shape *s = d->f.shape;
    uint32_t block = s->block ? s->block(&d->f) : 0;
    if (d->f.part)
        return 0;
    if (block == 1 || (block && d->ports == RLT_PORTS_PLAIN))
        return block;
    return s->one_leaf && s->one_leaf(&d->f) && (d->pxn || d->per_plane == 1);
}

uint32_t rlt_topology_exchanges(const rlt_topology *t, uint32_t d)
{
    uint64_t Bps;
    uint32_t block = rlt_topology_uniform_Bps(t, &Bps) ? exchanges_nodes(&t->dims[d]) : 0;
    if (!block)
        return 0;
    for (uint32_t i = d + 1; i < t->n_dims; i++) {
        const rlt_product_dim *outer = &t->dims[i];
        bool own = outer->ports == RLT_PORTS_OWN && outer->nics == outer->stride && outer->pxn;
        bool alike = own && (outer->per_plane == 1 || exchanges_nodes(outer) == 1);
        if (outer->ports != RLT_PORTS_PLAIN && !alike)
            return 0;
    }
    return block;
}

uint32_t rlt_topology_rings(const rlt_topology *t)
{
    return t->n_rings;
}

const uint32_t *rlt_topology_ring(const rlt_topology *t, uint32_t i)
{
    return i < t->n_rings ? t->rings + (size_t)i * t->accelerators : NULL;
}

const rlt_choice *rlt_topology_choices(const rlt_topology *t, uint32_t *n)
{
    *n = t->n_choices;
    return t->choices;
}

const char *rlt_topology_chosen(const rlt_topology *t, const char *collective, uint64_t bytes)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < t->n_choices; i++)
        if (t->choices[i].from_bytes <= bytes && strcmp(t->choices[i].collective, collective) == 0)
            name = t->choices[i].algorithm;
    return name;
}

uint32_t rlt_topology_node_size(const rlt_topology *t)
{
    return t->node_size;
}

const rlt_node_facts *rlt_topology_node(const rlt_topology *t)
{
    return &t->node;
}

rlt_pxn rlt_topology_pxn(const rlt_topology *t)
{
    if (!t->n_dims)
        return t->graph.pxn;
    return t->n_dims == 1 ? RLT_PXN_UNSTATED : t->dims[t->n_dims - 1].pxn ? RLT_PXN_ON : RLT_PXN_OFF;
}

const rlt_endpoint *rlt_topology_endpoint(const rlt_topology *t)
{
    return &t->endpoint;
}
