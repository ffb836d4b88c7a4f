/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a topology from a specification: the part common to both kinds, and products. */
#include "net/topology/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "sim/base/map.h"

/* Mixes data into the hash. */
static void mix(rlt_topology *t, const void *data, size_t length)
{
    t->hash = rlt_hash_bytes(data, length, t->hash);
}

static void mix_number(rlt_topology *t, uint64_t value)
{
    mix(t, &value, sizeof value);
}

/* Sets the sizes of a product, one dimension at a time, so that each product is checked before the next. */
static int lay_out(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    uint64_t accelerators = 1, links = 0, switches = 0;
    for (uint32_t i = 0; i < spec->n_dims; i++) {
        t->dims[i].stride = (uint32_t)accelerators;
        accelerators *= t->dims[i].f.n;
        if (accelerators > RLT_MAX_ACCELERATORS)
            return rlt_fail(err, RLT_ERANGE, spec->dims[i].where, "more than %d accelerators",
                            RLT_MAX_ACCELERATORS);
    }
    for (uint32_t i = 0; i < spec->n_dims; i++) {
        rlt_product_dim *d = &t->dims[i];
        d->groups = (uint32_t)accelerators / d->f.n;
        d->first_link = (uint32_t)links;
        d->first_switch = (uint32_t)(accelerators + switches);
        links += (uint64_t)d->groups * d->f.links;
        switches += (uint64_t)d->groups * d->f.switches;
        if (links > RLT_MAX_LINKS)
            return rlt_fail(err, RLT_ERANGE, spec->dims[i].where, "%" PRIu64 " links; at most %d", links,
                            RLT_MAX_LINKS);
        if (switches > RLT_MAX_LINKS)
            return rlt_fail(err, RLT_ERANGE, spec->dims[i].where, "%" PRIu64 " switches; at most %d",
                            switches, RLT_MAX_LINKS);
    }
    t->accelerators = (uint32_t)accelerators;
    t->nodes = (uint32_t)(accelerators + switches);
    t->links = (uint32_t)links;
    return 0;
}

static void hash_dim(rlt_topology *t, const rlt_factor *f)
{
    mix(t, f->shape->info.name, strlen(f->shape->info.name));
    mix_number(t, f->n);
    mix(t, f->number, sizeof f->number);
    for (int c = 0; c < 2; c++) {
        mix_number(t, f->cls[c].bw_Bps);
        mix_number(t, (uint64_t)f->cls[c].latency_ps);
    }
}

static int build_product(const rlt_topology_spec *spec, rlt_topology *t, rlt_error *err)
{
    if (spec->n_dims > RLT_MAX_DIMS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "%" PRIu32 " dimensions; at most %d", spec->n_dims,
                        RLT_MAX_DIMS);
    rlt_time longest = 0;
    for (uint32_t i = 0; i < spec->n_dims; i++) {
        int rc = rlt_factor_build(&spec->dims[i], &t->dims[i].f, err);
        if (rc)
            return rc;
        longest = rlt_time_add(longest, t->dims[i].f.max_ps);
        hash_dim(t, &t->dims[i].f);
    }
    if (longest >= RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, spec->where,
                        "latencies too large: their sum over a route overflows");
    t->n_dims = spec->n_dims;
    return lay_out(spec, t, err);
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

static char *copy_printable(const char *text)
{
    char *copy = strdup(text ? text : "");
    if (copy)
        rlt_make_printable(copy);
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
    if (rc || (rc = copy_rings(spec, t, err)) != 0)
        goto fail;
    *out = t;
    return 0;
fail:
    if (err && !err->where[0] && spec->where)
        rlt_error_prefix(err, spec->where); /* readers do not keep the place of every link: use the file */
    rlt_topology_free(t);
    return rc;
}
