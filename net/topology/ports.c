/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ports: read, checked, and numbered. */
#include "net/topology/ports.h"

#include <inttypes.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/part.h"
#include "sim/base/param.h"

typedef struct settings {
    uint32_t nics, planes;
    uint32_t no_pxn;
    uint32_t network; /* class of network; RLT_NONE: not stated */
    uint64_t pcie_Bps;
} settings;

static const rlt_param parameters[] = {
    {"nics", .kind = RLT_PARAM_COUNT, RLT_FIELD(settings, nics), .min = 1, .max = RLT_MAX_ACCELERATORS,
     .usual = "one for each accelerator", .help = "NICs of a node, shared by its accelerators"},
    {"planes", .kind = RLT_PARAM_COUNT, RLT_FIELD(settings, planes), .min = 1, .max = RLT_MAX_ACCELERATORS,
     .usual = "one for each NIC of a node; rail: 1",
     .help = "equal networks, among which NICs are dealt out"},
    {"pxn", .kind = RLT_PARAM_CHOICE, .words = "on|off", RLT_FIELD(settings, no_pxn), .preset = "on",
     .help = "move to the receiver's NIC index inside the node first"},
    {"pcie", .kind = RLT_PARAM_RATE, RLT_FIELD(settings, pcie_Bps), .min = 1, .max = RLT_MAX_LINK_Bps,
     .usual = "that of a port", .help = "bandwidth of an accelerator's link to its NIC"},
    {"network", .kind = RLT_PARAM_CHOICE, .word_at = rlt_internode_name, RLT_FIELD(settings, network),
     .usual = "infiniband, if the node's endpoint is tuned",
     .help = "class of network: costs of a step between nodes beside the links"},
    {0}};

const rlt_param *rlt_port_parameters(void)
{
    return parameters;
}

/* Splits the parameters: those of ports are read, the others stay in *out. */
static int read_settings(const rlt_dim_spec *spec, settings *s, rlt_dim_spec *out, rlt_error *err)
{
    int rc = rlt_params_preset(parameters, s, err);
    *out = *spec;
    out->n_params = 0;
    for (uint32_t i = 0; i < spec->n_params && !rc; i++) {
        const rlt_param *p = rlt_params_find(parameters, spec->params[i].name);
        rlt_error why = {0};
        if (!p) {
            out->params[out->n_params++] = spec->params[i];
            continue;
        }
        for (uint32_t k = 0; k < i && !rc; k++)
            if (strcmp(spec->params[k].name, p->name) == 0)
                rc = rlt_fail(err, RLT_ESCHEMA, spec->where, "parameter '%s' is given twice", p->name);
        if (!rc && rlt_param_read(p, s, spec->params[i].value, NULL, &why))
            rc = rlt_fail(err, RLT_ESCHEMA, spec->where, "%s: %s", p->name, why.what);
    }
    return rc;
}

/* Sets the number of NICs of a node, and where they are. */
static int count_nics(const rlt_dim_spec *spec, const settings *s, rlt_topology *t, uint32_t i,
                      rlt_error *err)
{
    rlt_product_dim *d = &t->dims[i];
    const rlt_part *part = i ? t->dims[0].f.part : NULL;
    d->nics = s->nics ? s->nics : d->stride;
    if (part && part->n_nics) {
        uint32_t own = part->n_nics * (d->stride / part->n);
        if (s->nics && s->nics != own)
            return rlt_fail(err, RLT_ESCHEMA, spec->where,
                            "nics=%" PRIu32 ", but '%s' has NICs of its own, %" PRIu32
                            " a node: leave nics out",
                            s->nics, part->graph->name, own);
        if (s->pcie_Bps)
            return rlt_fail(err, RLT_ESCHEMA, spec->where,
                            "pcie: '%s' has NICs of its own, with links to them", part->graph->name);
        d->nics = own;
        d->ports = RLT_PORTS_IN_GRAPH;
    } else if (part && !s->nics) {
        return rlt_fail(err, RLT_ETOPOLOGY, spec->where,
                        "'%s' has no NICs: state how many a node has with nics=", part->graph->name);
    } else if (s->nics || s->pcie_Bps) {
        d->ports = RLT_PORTS_NICS;
    }
    if (d->nics > d->stride && d->ports != RLT_PORTS_IN_GRAPH)
        return rlt_fail(
            err, RLT_ESCHEMA, spec->where,
            "nics=%" PRIu32 " for nodes of %" PRIu32
            " accelerators: at most one each; write several NICs of an accelerator as one of their "
            "joint bandwidth",
            d->nics, d->stride);
    if (d->stride % d->nics && d->ports != RLT_PORTS_IN_GRAPH)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "%" PRIu32 " NICs do not divide the %" PRIu32 " accelerators of a node", d->nics,
                        d->stride);
    return 0;
}

/* Sets the class of the network between nodes. There is one class for all dimensions. */
static int set_network(const rlt_dim_spec *spec, const settings *s, rlt_topology *t, uint32_t i,
                       rlt_error *err)
{
    bool usual = i && t->endpoint.channels && t->endpoint.internode.kind == RLT_INTERNODE_NONE;
    if (s->network == RLT_NONE) {
        if (usual)
            t->endpoint.internode = rlt_internode_class(RLT_INTERNODE_USUAL);
        return 0;
    }
    for (uint32_t k = 0; k < i; k++)
        if (t->dims[k].network && t->dims[k].network != s->network + 1)
            return rlt_fail(
                err, RLT_ESCHEMA, spec->where,
                "network=%s, but a dimension before it states %s: the steps between nodes have one "
                "class",
                rlt_internode_name(s->network), rlt_internode_name(t->dims[k].network - 1));
    t->dims[i].network = s->network + 1;
    t->endpoint.internode = rlt_internode_class(s->network);
    return 0;
}

int rlt_ports_read(const rlt_dim_spec *spec, rlt_topology *t, uint32_t i, rlt_dim_spec *out, rlt_error *err)
{
    rlt_product_dim *d = &t->dims[i];
    settings s = {.network = RLT_NONE};
    int rc = read_settings(spec, &s, out, err);
    d->size = spec->size;
    d->ports = RLT_PORTS_OWN;
    if (!rc)
        rc = count_nics(spec, &s, t, i, err);
    if (rc || (rc = set_network(spec, &s, t, i, err)))
        return rc;
    bool rail = spec->shape && strcmp(spec->shape, "rail") == 0;
    d->planes = s.planes ? s.planes : rail ? 1 : d->nics;
    if (d->nics % d->planes)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "%" PRIu32 " planes do not divide the %" PRIu32 " NICs of a node", d->planes,
                        d->nics);
    if (rlt_dim_given(spec, "pxn") && d->stride == 1)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "pxn moves messages inside a node, but nodes have one accelerator here");
    if (s.no_pxn && d->nics > 1 && d->planes == d->nics)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "pxn=off, but each of the %" PRIu32
                        " NICs has a network of its own, so messages have to move: state fewer planes",
                        d->nics);
    d->pxn = !s.no_pxn;
    d->nic_link = (rlt_factor_links){.bw_Bps = s.pcie_Bps};
    d->per_plane = d->nics / d->planes;
    if (d->ports == RLT_PORTS_OWN && d->planes == d->nics && d->pxn)
        d->ports = RLT_PORTS_PLAIN;
    if ((uint64_t)spec->size * d->per_plane > RLT_MAX_ACCELERATORS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "more than %d ports", RLT_MAX_ACCELERATORS);
    out->size = spec->size * d->per_plane;
    out->ports_per_node = d->per_plane;
    return 0;
}

uint32_t rlt_port_nic(const rlt_topology *t, const rlt_product_dim *d, uint32_t accelerator)
{
    uint32_t inner = accelerator % d->stride;
    if (d->ports != RLT_PORTS_IN_GRAPH)
        return inner / (d->stride / d->nics);
    const rlt_part *part = t->dims[0].f.part;
    return inner / part->n * part->n_nics + part->nic_of[inner % part->n];
}

uint32_t rlt_port_node(const rlt_topology *t, const rlt_product_dim *d, uint32_t node, uint32_t nic)
{
    if (d->ports == RLT_PORTS_NICS)
        return d->first_nic + node * d->nics + nic;
    if (d->ports != RLT_PORTS_IN_GRAPH)
        return node * d->stride + nic;
    const rlt_product_dim *inside = &t->dims[0];
    const rlt_part *part = inside->f.part;
    uint32_t group = node * (d->stride / part->n) + nic / part->n_nics;
    return inside->first_switch + group * inside->f.switches + part->nic[nic % part->n_nics] - part->n;
}

uint64_t rlt_dim_Bps(const rlt_product_dim *d)
{
    bool shared = d->ports == RLT_PORTS_NICS || d->ports == RLT_PORTS_IN_GRAPH;
    return shared ? (uint64_t)((unsigned __int128)d->f.bw_Bps * d->nics / d->stride) : d->f.bw_Bps;
}

uint64_t rlt_dim_egress(const rlt_product_dim *d, uint32_t x)
{
    switch (d->ports) {
    case RLT_PORTS_NICS:
        return d->nic_link.bw_Bps;
    case RLT_PORTS_IN_GRAPH: /* the links to NICs are part of the graph */
        return 0;
    default:
        return d->f.part ? rlt_topology_egress_Bps(d->f.part->graph, x)
                         : rlt_factor_egress(&d->f, x * d->per_plane);
    }
}

uint32_t rlt_port_hops(const rlt_topology *t, const rlt_product_dim *d)
{
    return d->ports == RLT_PORTS_NICS       ? 2
           : d->ports == RLT_PORTS_IN_GRAPH ? 2 * t->dims[0].f.part->max_hops
                                            : 0;
}

rlt_time rlt_port_latency(const rlt_topology *t, const rlt_product_dim *d)
{
    return d->ports == RLT_PORTS_NICS       ? 2 * d->nic_link.latency_ps
           : d->ports == RLT_PORTS_IN_GRAPH ? 2 * t->dims[0].f.part->max_ps
                                            : 0;
}
