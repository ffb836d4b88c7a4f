/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a topology from a specification: the part common to both kinds, and products. */
#include "net/topology/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/internode.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/part.h"
#include "net/topology/ports.h"
#include "sim/base/map.h"
#include "sim/base/units.h"
#include "sim/text/json.h"

/* Mixes data into the hash. */
static void mix(rlt_topology *t, const void *data, size_t length)
{
    t->hash = rlt_hash_bytes(data, length, t->hash);
}

static void mix_number(rlt_topology *t, uint64_t value)
{
    mix(t, &value, sizeof value);
}

/* Sets the stride of dimension i. Each product is checked before the next. */
static int set_stride(rlt_topology *t, uint32_t i, const char *where, rlt_error *err)
{
    const rlt_product_dim *before = i ? &t->dims[i - 1] : NULL;
    uint64_t stride = before ? (uint64_t)before->stride * before->size : 1;
    if (stride > RLT_MAX_ACCELERATORS)
        return rlt_fail(err, RLT_ERANGE, where, "more than %d accelerators", RLT_MAX_ACCELERATORS);
    t->dims[i].stride = (uint32_t)stride;
    return 0;
}

/* Numbers the links and switches, dimension by dimension: links of the shape, then those to NICs; switches,
 * then NICs. */
static int lay_out(rlt_topology *t, const char *const *where, rlt_error *err)
{
    const rlt_product_dim *last = &t->dims[t->n_dims - 1];
    uint64_t accelerators = (uint64_t)last->stride * last->size, links = 0, others = 0;
    if (accelerators > RLT_MAX_ACCELERATORS)
        return rlt_fail(err, RLT_ERANGE, where[t->n_dims - 1], "more than %d accelerators",
                        RLT_MAX_ACCELERATORS);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        rlt_product_dim *d = &t->dims[i];
        uint64_t outer = accelerators / d->stride / d->size, nics = d->ports == RLT_PORTS_NICS;
        d->groups = (uint32_t)outer * d->planes;
        d->first_link = (uint32_t)links;
        d->first_switch = (uint32_t)(accelerators + others);
        links += (uint64_t)d->groups * d->f.links;
        others += (uint64_t)d->groups * d->f.switches;
        d->first_nic_link = (uint32_t)links;
        d->first_nic = (uint32_t)(accelerators + others);
        links += nics * 2 * accelerators;
        others += nics * outer * d->size * d->nics;
        if (links > RLT_MAX_LINKS)
            return rlt_fail(err, RLT_ERANGE, where[i], "%" PRIu64 " links; at most %d", links, RLT_MAX_LINKS);
        if (others > RLT_MAX_LINKS)
            return rlt_fail(err, RLT_ERANGE, where[i], "%" PRIu64 " switches; at most %d", others,
                            RLT_MAX_LINKS);
    }
    t->accelerators = (uint32_t)accelerators;
    t->nodes = (uint32_t)(accelerators + others);
    t->links = (uint32_t)links;
    return 0;
}

static void hash_dim(rlt_topology *t, const rlt_product_dim *d)
{
    const rlt_factor *f = &d->f;
    mix(t, f->shape->info.name, strlen(f->shape->info.name));
    mix_number(t, f->n);
    mix(t, f->number, sizeof f->number);
    for (int c = 0; c < 2; c++) {
        mix_number(t, f->cls[c].bw_Bps);
        mix_number(t, (uint64_t)f->cls[c].latency_ps);
    }
    if (f->part)
        mix_number(t, f->part->graph->hash);
    if (d->ports != RLT_PORTS_PLAIN) {
        mix_number(t, (uint64_t)d->ports << 1 | d->pxn);
        mix_number(t, (uint64_t)d->nics << 32 | d->planes);
        mix_number(t, d->nic_link.bw_Bps);
    }
}

/* Builds dimension i of a shape in closed form. */
static int build_shape(const rlt_dim_spec *spec, rlt_topology *t, uint32_t i, rlt_error *err)
{
    rlt_product_dim *d = &t->dims[i];
    rlt_dim_spec inner;
    int rc = rlt_ports_read(spec, t, i, &inner, err);
    if (!rc)
        rc = rlt_factor_build(&inner, &d->f, err);
    if (rc)
        return rc;
    if ((d->f.shape->grid || d->f.shape->translations) && d->per_plane > 1)
        return rlt_fail(err, RLT_ESCHEMA, spec->where,
                        "a %s has one port of a node in each plane; got %" PRIu32 ": leave planes out",
                        spec->shape, d->per_plane);
    if (d->ports == RLT_PORTS_NICS && !d->nic_link.bw_Bps)
        d->nic_link.bw_Bps = d->f.bw_Bps;
    return 0;
}

/* Makes a graph dimension i of the product. Takes the graph over. */
static int build_part(rlt_topology *graph, const char *where, rlt_topology *t, uint32_t i, rlt_error *err)
{
    rlt_product_dim *d = &t->dims[i];
    int rc = rlt_part_create(graph, where, &t->parts[i], err);
    if (rc)
        return rc;
    rlt_part_factor(t->parts[i], &d->f);
    d->size = d->f.n;
    d->ports = RLT_PORTS_PLAIN;
    d->nics = d->planes = d->stride;
    d->per_plane = 1;
    d->pxn = true;
    return 0;
}

/* Copies the dimensions of a product, which become those from i on. */
static int append_product(rlt_topology *of, const char *where, rlt_topology *t, uint32_t *i, rlt_error *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < of->n_dims && !rc; k++, ++*i) {
        if (*i == RLT_MAX_DIMS)
            return rlt_fail(err, RLT_ERANGE, where, "more than %d dimensions", RLT_MAX_DIMS);
        if ((rc = set_stride(t, *i, where, err)) != 0)
            return rc;
        if (*i && of->dims[k].ports != RLT_PORTS_PLAIN && t->dims[*i].stride != of->dims[k].stride)
            return rlt_fail(err, RLT_ESCHEMA, where,
                            "'%s' states NICs for nodes of %" PRIu32 " accelerators: it can only come first",
                            of->name, of->dims[k].stride);
        uint32_t stride = t->dims[*i].stride;
        t->dims[*i] = of->dims[k];
        t->dims[*i].stride = stride;
        if (of->dims[k].ports == RLT_PORTS_PLAIN)
            t->dims[*i].nics = t->dims[*i].planes = stride;
        t->parts[*i] = of->parts[k];
        of->parts[k] = NULL;
    }
    return rc;
}

/* The node that a product without a stated one has, see rlt_topology_node_size. */
static uint32_t usual_node(const rlt_topology *t)
{
    for (uint32_t i = 1; i < t->n_dims; i++) {
        uint64_t inside = rlt_dim_Bps(&t->dims[i - 1]), outside = rlt_dim_Bps(&t->dims[i]);
        if (t->dims[i].ports != RLT_PORTS_PLAIN && t->dims[i].stride > 1)
            return t->dims[i].stride;
        if (inside && outside && outside < inside / 2)
            return t->dims[i].stride;
    }
    return t->accelerators;
}

/* Writes `rail-optimised` as the two dimensions that it stands for: a switch inside the node, and rails
 * between nodes, without moves inside the node. */
static int split_rails(const rlt_dim_spec *d, rlt_dim_spec out[2], rlt_error *err)
{
    uint64_t gpus = 0, bw_Bps = 0;
    rlt_error why = {0};
    int rc = 0;
    out[0] = (rlt_dim_spec){.shape = "switch", .latency_ps = d->latency_ps, .where = d->where};
    out[1] = *d;
    out[1].shape = "rail";
    out[1].n_params = 0;
    for (uint32_t i = 0; i < d->n_params && !rc; i++) {
        const char *name = d->params[i].name, *value = d->params[i].value;
        if (strcmp(name, "gpus_per_node") == 0)
            rc = rlt_parse_count(value, &gpus, name, &why);
        else if (strcmp(name, "nvlink_bandwidth") == 0)
            rc = rlt_parse_rate(value, &bw_Bps, name, &why);
        else if (strcmp(name, "nvlink_latency") == 0)
            rc = rlt_parse_duration(value, &out[0].latency_ps, name, &why);
        else
            out[1].params[out[1].n_params++] = d->params[i];
    }
    if (rc)
        return rlt_fail(err, RLT_ESCHEMA, d->where, "%s", why.what);
    if (!gpus || !bw_Bps)
        return rlt_fail(err, RLT_ESCHEMA, d->where,
                        "rail-optimised needs gpus_per_node and nvlink_bandwidth");
    if (gpus > d->size || d->size % gpus)
        return rlt_fail(err, RLT_ESCHEMA, d->where, "gpus_per_node %" PRIu64 " does not divide size %" PRIu32,
                        gpus, d->size);
    out[0].size = (uint32_t)gpus;
    out[0].bw_Bps = bw_Bps;
    out[1].size = d->size / (uint32_t)gpus;
    if (rlt_dim_given(d, "pxn"))
        return 0;
    /* gpus_per_node and nvlink_bandwidth left room for it. */
    out[1].params[out[1].n_params].name = "pxn";
    out[1].params[out[1].n_params++].value = "off";
    return 0;
}

/* Appends a shape in closed form. */
static int append_shape(const rlt_dim_spec *d, rlt_topology *t, uint32_t *i, rlt_error *err)
{
    rlt_dim_spec both[2] = {*d};
    bool rails = d->shape && strcmp(d->shape, "rail-optimised") == 0;
    int rc = rails ? split_rails(d, both, err) : 0;
    for (uint32_t k = 0; k <= (uint32_t)rails && !rc; k++, ++*i) {
        if (*i == RLT_MAX_DIMS)
            return rlt_fail(err, RLT_ERANGE, d->where, "more than %d dimensions", RLT_MAX_DIMS);
        rc = set_stride(t, *i, d->where, err);
        if (!rc)
            rc = build_shape(&both[k], t, *i, err);
    }
    return rc;
}

static int build_dims(const rlt_topology_spec *spec, rlt_topology *t, const char **where, rlt_error *err)
{
    uint32_t i = 0;
    int rc = 0;
    for (uint32_t k = 0; k < spec->n_dims && !rc; k++) {
        const rlt_dim_spec *d = &spec->dims[k];
        uint32_t first = i;
        rlt_topology *whole = d->whole ? *d->whole : NULL;
        if (!whole) {
            rc = append_shape(d, t, &i, err);
        } else if (whole->n_dims) {
            rc = append_product(whole, d->where, t, &i, err);
        } else if (i == RLT_MAX_DIMS) {
            rc = rlt_fail(err, RLT_ERANGE, d->where, "more than %d dimensions", RLT_MAX_DIMS);
        } else if ((rc = set_stride(t, i, d->where, err)) == 0) {
            *d->whole = NULL; /* taken over */
            rc = build_part(whole, d->where, t, i++, err);
        }
        for (; first < i && first < RLT_MAX_DIMS; first++)
            where[first] = d->where;
    }
    t->n_dims = i;
    return rc;
}

static int build_product(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    const char *where[RLT_MAX_DIMS] = {0};
    rlt_time longest = 0;
    t->plain = true;
    int rc = build_dims(spec, t, where, err);
    for (uint32_t i = 0; i < t->n_dims && !rc; i++) {
        longest = rlt_time_add(longest, t->dims[i].f.max_ps);
        t->plain = t->plain && t->dims[i].ports == RLT_PORTS_PLAIN && !t->dims[i].f.part;
        hash_dim(t, &t->dims[i]);
    }
    if (!rc && longest >= RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "latencies too large: their sum over a route overflows");
    if (!rc)
        rc = lay_out(t, where, err);
    if (!rc)
        t->node_size = spec->node_size ? spec->node_size : usual_node(t);
    return rc;
}

/* Copies the recommended rings. Each must be a permutation of the accelerators. */
static int copy_rings(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    enum { MAX_RINGS = 1024 };
    uint32_t n = t->accelerators, *seen = NULL;
    int rc = 0;
    if (!spec->n_rings)
        return 0;
    if (spec->n_rings > MAX_RINGS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "%" PRIu32 " rings; at most %d", spec->n_rings,
                        MAX_RINGS);
    t->rings = calloc((size_t)spec->n_rings * n, sizeof *t->rings);
    seen = calloc(n, sizeof *seen);
    if (!t->rings || !seen) {
        rc = rlt_nomem(err);
        goto done;
    }
    t->n_rings = spec->n_rings;
    for (uint32_t r = 0; r < spec->n_rings; r++) {
        memcpy(t->rings + (size_t)r * n, spec->rings[r], n * sizeof *t->rings);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t a = spec->rings[r][i];
            if (a >= n || seen[a] == r + 1) {
                rc = rlt_fail(err, RLT_ESCHEMA, spec->where,
                              "ring %" PRIu32 " is not a permutation of the accelerators: %s %" PRIu32
                              " at position %" PRIu32,
                              r, a >= n ? "no accelerator" : "repeats", a, i);
                goto done;
            }
            seen[a] = r + 1;
        }
    }
    mix(t, t->rings, (size_t)t->n_rings * n * sizeof *t->rings);
done:
    free(seen);
    return rc;
}

static int copy_choices(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    if (!spec->n_choices)
        return 0;
    t->choices = calloc(spec->n_choices, sizeof *t->choices);
    if (!t->choices)
        return rlt_nomem(err);
    t->n_choices = spec->n_choices;
    memcpy(t->choices, spec->choices, spec->n_choices * sizeof *t->choices);
    for (uint32_t i = 0; i < t->n_choices; i++) {
        const rlt_choice *c = &t->choices[i];
        mix(t, c->collective, strlen(c->collective));
        mix(t, c->algorithm, strlen(c->algorithm));
        mix_number(t, c->from_bytes);
    }
    return 0;
}

static void hash_endpoint(rlt_topology *t)
{
    const rlt_endpoint *e = &t->endpoint;
    mix_number(t, (uint64_t)e->injection);
    mix_number(t, (uint64_t)e->launch_ps);
    mix_number(t, (uint64_t)e->message_ps);
    mix_number(t, e->byte_fs);
    mix_number(t, (uint64_t)(int64_t)e->protocol);
    for (uint32_t i = 0; i < e->n_protocols && i < RLT_MAX_PROTOCOLS; i++) {
        mix_number(t, (uint64_t)e->protocols[i].message_ps);
        mix_number(t, (uint64_t)e->protocols[i].wire_num << 32 | e->protocols[i].wire_den);
    }
}

/* The network between nodes is known when the dimensions are. */
static void hash_internode(rlt_topology *t)
{
    const rlt_internode *f = &t->endpoint.internode;
    if (!f->kind)
        return;
    mix_number(t, (uint64_t)f->latency_ps);
    mix_number(t, (uint64_t)f->rise_ps);
    mix_number(t, (uint64_t)f->peer_ps);
    mix_number(t, f->staging_Bps);
    mix_number(t, f->host_Bps);
    mix_number(t, (uint64_t)f->gap_ps);
    mix_number(t, f->single_ppm);
    mix_number(t, (uint64_t)f->efficiency_ppm << 32 | f->tree_efficiency_ppm);
    mix_number(t, f->no_LL128);
}

bool rlt__is_plain(const char *s, size_t *bytes)
{
    size_t n = rlt_utf8_length(s);
    bool control = (unsigned char)*s < 0x20 || *s == 0x7f,
         last = n == 3 && memcmp(s, "\xef\xbf", 2) == 0 && (unsigned char)s[2] >= 0xbe; /* U+FFFE, U+FFFF */
    *bytes = n ? n : 1;
    return n && !control && !last;
}

/* Copies a text. What some format cannot hold becomes '?', so that every copy of the topology has the
 * same. */
static char *copy_printable(const char *text)
{
    char *copy = strdup(text ? text : "");
    if (!copy)
        return NULL;
    rlt_make_printable(copy);
    for (size_t at = 0, n; copy[at]; at += n)
        if (!rlt__is_plain(copy + at, &n))
            memset(copy + at, '?', n);
    return copy;
}

int rlt_topology_build(const rlt_topology_spec *spec, rlt_topology **out, rlt_error *err)
{
    int rc = 0;
    rlt_topology *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return rlt_nomem(err);
    t->name = copy_printable(spec->name);
    t->source = copy_printable(spec->source);
    if (!t->name || !t->source || rlt_cut_memo_create(&t->cuts) || rlt_distance_memo_create(&t->distances)) {
        rc = rlt_nomem(err);
        goto fail;
    }
    t->hash = spec->hash;
    t->endpoint = spec->endpoint;
    hash_endpoint(t);
    if (spec->n_nodes && spec->n_dims)
        rc = rlt_fail(err, RLT_ESCHEMA, spec->where, "dimensions and nodes exclude each other");
    else if (spec->n_nodes)
        rc = rlt_build_graph(spec, t, err);
    else if (spec->n_dims)
        rc = build_product(spec, t, err);
    else
        rc = rlt_fail(err, RLT_ETOPOLOGY, spec->where, "no accelerator: neither dimensions nor nodes");
    if (rc || (rc = copy_rings(spec, t, err)) != 0 || (rc = copy_choices(spec, t, err)) != 0)
        goto fail;
    hash_internode(t);
    rlt__find_node_facts(t);
    *out = t;
    return 0;
fail:
    if (err && !err->where[0] && spec->where)
        rlt_error_prefix(err, spec->where); /* readers do not keep the place of every link: use the file */
    rlt_topology_free(t);
    return rc;
}
