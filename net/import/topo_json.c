/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topologies in JSON: {"name", "source", "endpoint", "auto"} and either "dims" (a product of shapes) or
 * "nodes" and "links" (a graph; "dims" are then its logical dimensions). net/import/topo_json_graph.c reads
 * the graph part, net/import/topo_json_auto.c reads "auto".
 */
#include "net/import/topo_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/read.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/map.h"
#include "sim/base/param.h"
#include "sim/base/time.h"

enum { MAX_SIZE = RLT_MAX_ACCELERATORS, MAX_RINGS = 1024, MAX_WIRE = 1 << 20 };

const char *rlt__json_place(rlt_arena *arena, rlt_json v)
{
    char where[512];
    rlt_json_where(v, where, sizeof where);
    return rlt_arena_strdup(arena, where);
}

/* ---- endpoint ---- */

/* Returns the text of a setting: a string, or a number as written. */
static const char *setting_text(rlt_json of, const char *key, char *number, size_t size)
{
    rlt_json v = rlt_json_get(of, key);
    double x = 0;
    if (rlt_json_is_string(v))
        return rlt_json_string(v);
    if (!rlt_json_is_number(v) || rlt_json_get_double(of, key, true, &x, NULL) < 0)
        return NULL;
    snprintf(number, size, "%.9g", x);
    return number;
}

/* Reads an object of parameters: those of the table, and `other`, which is read elsewhere. Errors have the
 * place of the parameter. */
static int read_params(rlt_json v, const rlt_param *table, const char *other, void *into, rlt_error *err)
{
    enum { MOST = 32 };
    const char *keys[MOST] = {other};
    for (uint32_t i = 0; i + 2 < MOST && table[i].name; i++)
        keys[i + 1] = table[i].name;
    int rc = rlt_json_only(v, keys, err);
    /* In the order of the table: a row may set others that stand behind it. */
    for (const rlt_param *p = table; rc == 0 && p->name; p++) {
        rlt_json m = rlt_json_get(v, p->name);
        char number[32];
        rlt_error why = {0};
        if (!rlt_json_is(m))
            continue;
        const char *text = setting_text(v, p->name, number, sizeof number);
        if (!text)
            rc = rlt_json_fail(m, RLT_ESCHEMA, err, "expected a string or a number");
        else if ((rc = rlt_param_read(p, into, text, NULL, &why)) < 0)
            rc = rlt_json_fail(m, rc == RLT_EUSAGE ? RLT_ESCHEMA : rc, err, "%s", why.what);
    }
    return rc;
}

static int read_protocol(rlt_json v, rlt_endpoint *e, rlt_error *err)
{
    const char *name = NULL;
    rlt_protocol *p = &e->protocols[e->n_protocols];
    int rc;
    if (e->n_protocols == RLT_MAX_PROTOCOLS)
        return rlt_json_fail(v, RLT_ERANGE, err, "at most %d protocols", RLT_MAX_PROTOCOLS);
    *p = rlt_protocol_default();
    if ((rc = read_params(v, rlt_protocol_parameters(), "name", p, err)) < 0 ||
        (rc = rlt_json_get_string(v, "name", true, &name, err)) < 0)
        return rc;
    if (strlen(name) >= sizeof p->name || name[0] == 0 || strchr(name, '.') || strcmp(name, "auto") == 0)
        return rlt_json_fail(rlt_json_get(v, "name"), RLT_ESCHEMA, err,
                             "expected a name of 1 to 15 letters, not 'auto'");
    for (uint32_t i = 0; i < e->n_protocols; i++)
        if (strcmp(e->protocols[i].name, name) == 0)
            return rlt_json_fail(rlt_json_get(v, "name"), RLT_ESCHEMA, err,
                                 "the protocol '%s' is given twice", name);
    memcpy(p->name, name, strlen(name) + 1);
    e->n_protocols++;
    return 0;
}

/* Reads an endpoint. The protocols come first, because "protocol" names one of them. */
int rlt__json_endpoint_read(rlt_json v, rlt_endpoint *e, rlt_error *err)
{
    rlt_json list = rlt_json_get(v, "protocols");
    int rc = 0;
    if (rlt_json_is(list) && !rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of protocols");
    if (rlt_json_is(list))
        e->n_protocols = 0;
    for (rlt_json p = rlt_json_first(list); rc == 0 && rlt_json_is(p); p = rlt_json_next(p))
        rc = read_protocol(p, e, err);
    return rc ? rc : read_params(v, rlt_endpoint_parameters(), "protocols", e, err);
}

/* ---- dimensions of a product ---- */

/* A file that is being read. */
typedef struct file {
    rlt_arena *arena;
    const rlt_import *import;
    rlt_topology *whole[RLT_MAX_DIMS]; /* topologies that stand for dimensions */
    rlt_json endpoint;                 /* as the file states it */
} file;

/* Returns a list of whole numbers as "4x4x4", and their product in *product. */
static int read_sizes(rlt_json v, rlt_arena *arena, const char **text, uint64_t *product, rlt_error *err)
{
    char buffer[128];
    size_t used = 0;
    *product = 1;
    for (rlt_json s = rlt_json_first(v); rlt_json_is(s); s = rlt_json_next(s)) {
        uint64_t n = 0;
        int rc = rlt_json_u64(s, MAX_SIZE, &n, err);
        if (rc < 0)
            return rc;
        used += (size_t)snprintf(buffer + used, sizeof buffer - used, "%s%" PRIu64, used ? "x" : "", n);
        *product *= n;
        if (used > sizeof buffer - 16 || *product > MAX_SIZE)
            return rlt_json_fail(v, RLT_ERANGE, err, "the sizes multiply to more than %d", MAX_SIZE);
    }
    *text = used ? rlt_arena_strdup(arena, buffer) : NULL;
    if (!used)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected sizes, such as [4, 4, 4]");
    return *text ? 0 : rlt_nomem(err);
}

static int read_param(rlt_json v, rlt_arena *arena, rlt_dim_spec *d, uint64_t *product, rlt_error *err)
{
    const char *value = rlt_json_string(v);
    int rc = 0;
    if (d->n_params == RLT_MAX_DIM_PARAMS)
        return rlt_json_fail(v, RLT_ERANGE, err, "at most %d parameters of a shape", RLT_MAX_DIM_PARAMS);
    if (rlt_json_is_number(v)) {
        uint64_t n = 0;
        rc = rlt_json_u64(v, UINT32_MAX, &n, err);
        value = rc < 0 ? NULL : rlt_arena_printf(arena, "%" PRIu64, n);
    } else if (rlt_json_is_array(v)) {
        rc = read_sizes(v, arena, &value, product, err);
    } else if (!value) {
        rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected a string, a whole number or a list of sizes");
    }
    if (rc < 0)
        return rc;
    if (!value)
        return rlt_nomem(err);
    d->params[d->n_params].name = rlt_json_key(v);
    d->params[d->n_params++].value = value;
    return 0;
}

static int read_dim(rlt_json v, rlt_arena *arena, rlt_dim_spec *d, rlt_error *err)
{
    static const char *const known[] = {"shape", "size", "bandwidth", "link_bandwidth", "latency"};
    uint64_t size = 0, product = 0;
    int rc;
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             "expected an object with shape, size, bandwidth and latency");
    if (!(d->where = rlt__json_place(arena, v)))
        return rlt_nomem(err);
    for (rlt_json m = rlt_json_first(v); rlt_json_is(m); m = rlt_json_next(m)) {
        const char *key = rlt_json_key(m);
        bool own = key[0] != '_';
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            own = own && strcmp(key, known[i]) != 0;
        if (own && (rc = read_param(m, arena, d, &product, err)) < 0)
            return rc;
    }
    if ((rc = rlt_json_get_string(v, "shape", true, &d->shape, err)) < 0 ||
        (rc = rlt_json_get_u64(v, "size", product == 0, MAX_SIZE, &size, err)) < 0 ||
        (rc = rlt_json_get_rate(v, "bandwidth", false, &d->bw_Bps, err)) < 0 ||
        (rc = rlt_json_get_rate(v, "link_bandwidth", false, &d->link_bw_Bps, err)) < 0 ||
        (rc = rlt_json_get_duration(v, "latency", true, &d->latency_ps, err)) < 0)
        return rc;
    d->size = (uint32_t)(size ? size : product);
    if (rlt_json_is(rlt_json_get(v, "bandwidth")) == rlt_json_is(rlt_json_get(v, "link_bandwidth")))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected either 'bandwidth' or 'link_bandwidth'");
    if (d->bw_Bps == 0 && d->link_bw_Bps == 0)
        return rlt_json_fail(v, RLT_ERANGE, err, "the bandwidth is zero");
    return 0;
}

/* Reads a dimension: an object, or the name of a topology that stands for dimensions. */
static int read_dim_or_whole(rlt_json v, file *f, uint32_t i, rlt_dim_spec *d, rlt_error *err)
{
    if (!rlt_json_is_string(v))
        return read_dim(v, f->arena, d, err);
    if (!(d->where = rlt__json_place(f->arena, v)))
        return rlt_nomem(err);
    int rc = rlt__topo_part(rlt_json_string(v), f->import, &f->whole[i], err);
    if (rc < 0)
        return rlt_error_prefix(err, d->where), rc;
    d->whole = &f->whole[i];
    return 0;
}

static int read_dims(rlt_json v, file *f, rlt_topology_spec *spec, rlt_error *err)
{
    rlt_arena *arena = f->arena;
    uint32_t n = rlt_json_count(v);
    if (!rlt_json_is_array(v) || n == 0)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a list of dimensions, innermost first");
    if (n > RLT_MAX_DIMS)
        return rlt_json_fail(v, RLT_ERANGE, err, "at most %d dimensions", RLT_MAX_DIMS);
    rlt_dim_spec *dims = rlt_arena_array(arena, n, sizeof *dims);
    if (!dims)
        return rlt_nomem(err);
    uint32_t i = 0;
    for (rlt_json d = rlt_json_first(v); rlt_json_is(d); d = rlt_json_next(d), i++) {
        int rc = read_dim_or_whole(d, f, i, &dims[i], err);
        if (rc < 0)
            return rc;
    }
    spec->n_dims = n;
    spec->dims = dims;
    if (f->whole[0]) {
        rlt__topo_node(f->whole[0], spec);
        if (rlt_json_is(f->endpoint)) /* what the file states stands over the node's */
            return rlt__json_endpoint_read(f->endpoint, &spec->endpoint, err);
    }
    return 0;
}

/* ---- rings ---- */

/* Returns the number of accelerators, or 0 for invalid sizes, which the builder then reports. */
static uint32_t product_size(const rlt_topology_spec *spec)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < spec->n_dims && n <= MAX_SIZE; i++)
        n *= spec->dims[i].whole ? rlt_topology_accelerators(*spec->dims[i].whole) : spec->dims[i].size;
    return n <= MAX_SIZE ? (uint32_t)n : 0;
}

static int read_ring(rlt_json v, rlt_arena *arena, const rlt__json_graph *graph, uint32_t n,
                     const uint32_t **out, rlt_error *err)
{
    uint32_t *ring = rlt_arena_array(arena, n, sizeof *ring), i = 0;
    bool *seen = rlt_arena_array(arena, n, sizeof *seen);
    if (!ring || !seen)
        return rlt_nomem(err);
    if (!rlt_json_is_array(v) || rlt_json_count(v) != n)
        return rlt_json_fail(v, RLT_ESCHEMA, err,
                             "expected a list of all %" PRIu32 " accelerators, got %" PRIu32, n,
                             rlt_json_count(v));
    for (rlt_json a = rlt_json_first(v); rlt_json_is(a); a = rlt_json_next(a), i++) {
        uint64_t id = 0;
        int rc;
        if (graph && rlt_json_is_string(a)) {
            uint32_t node = rlt_intern_find(&graph->ids, rlt_json_string(a), strlen(rlt_json_string(a)));
            if (node == RLT_NONE || graph->accelerator[node] == RLT_NONE)
                return rlt_json_fail(a, RLT_ESCHEMA, err, "no accelerator '%.64s'", rlt_json_string(a));
            id = graph->accelerator[node];
        } else if ((rc = rlt_json_u64(a, n - 1, &id, err)) < 0) {
            return rc;
        }
        if (seen[id])
            return rlt_json_fail(a, RLT_ESCHEMA, err, "accelerator %" PRIu64 " is in the ring twice", id);
        seen[id] = true;
        ring[i] = (uint32_t)id;
    }
    *out = ring;
    return 0;
}

static int read_rings(rlt_json v, rlt_arena *arena, const rlt__json_graph *graph, rlt_topology_spec *spec,
                      rlt_error *err)
{
    uint32_t n = graph ? graph->n_accelerators : product_size(spec), count = rlt_json_count(v), i = 0;
    if (!rlt_json_is(v) || n == 0)
        return 0;
    if (!rlt_json_is_array(v) || count > MAX_RINGS)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a list of at most %d rings", MAX_RINGS);
    const uint32_t **rings = rlt_arena_array(arena, count ? count : 1, sizeof *rings);
    if (!rings)
        return rlt_nomem(err);
    for (rlt_json r = rlt_json_first(v); rlt_json_is(r); r = rlt_json_next(r), i++) {
        int rc = read_ring(r, arena, graph, n, &rings[i], err);
        if (rc < 0)
            return rc;
    }
    spec->n_rings = count;
    spec->rings = rings;
    return 0;
}

/* ---- the whole file ---- */

static int read_all(rlt_json root, const char *name, file *f, rlt__json_graph *graph, rlt_topology_spec *spec,
                    rlt_error *err)
{
    rlt_arena *arena = f->arena;
    static const char *const product[] = {"name", "source", "endpoint", "auto", "dims", "rings", NULL};
    static const char *const any[] = {"name",   "source", "endpoint", "auto",      "nodes", "links",
                                      "routes", "dims",   "rings",    "node_size", "pxn",   NULL};
    bool is_graph = rlt_json_is(rlt_json_get(root, "nodes")) || rlt_json_is(rlt_json_get(root, "links"));
    rlt_json endpoint = rlt_json_get(root, "endpoint"), dims = rlt_json_get(root, "dims");
    int rc = rlt_json_only(root, is_graph ? any : product, err);
    if (rc < 0 || (rc = rlt_json_get_string(root, "name", false, &spec->name, err)) < 0 ||
        (rc = rlt_json_get_string(root, "source", false, &spec->source, err)) < 0)
        return rc;
    if ((!spec->name || !*spec->name) && !(spec->name = rlt__topo_stem(arena, name)))
        return rlt_nomem(err);
    spec->endpoint = rlt_endpoint_default();
    if (rlt_json_is(endpoint) && (rc = rlt__json_endpoint_read(endpoint, &spec->endpoint, err)) < 0)
        return rc;
    f->endpoint = endpoint;
    if ((rc = rlt__json_choices_read(rlt_json_get(root, "auto"), arena, spec, err)) < 0)
        return rc;
    if (!is_graph && !rlt_json_is(dims))
        return rlt_json_fail(root, RLT_ESCHEMA, err,
                             "expected 'dims' (a product of shapes) or 'nodes' and 'links' (a graph)");
    rc = is_graph ? rlt__json_graph_read(root, arena, graph, spec, err) : read_dims(dims, f, spec, err);
    return rc < 0 ? rc : read_rings(rlt_json_get(root, "rings"), arena, is_graph ? graph : NULL, spec, err);
}

int rlt_topology_from_json(const char *name, const char *text, size_t length, const rlt_import *import,
                           rlt_topology **out, rlt_error *err)
{
    rlt_arena arena = {0};
    file f = {.arena = &arena, .import = import};
    rlt__json_graph graph = {0};
    rlt_topology_spec spec = {.where = name, .hash = rlt_hash_bytes(text, length, 0), .source = ""};
    rlt_json_doc *doc;
    *out = NULL;
    int rc = rlt_json_parse(name, text, length, &doc, err);
    if (rc < 0)
        return rc;
    rc = read_all(rlt_json_root(doc), name, &f, &graph, &spec, err);
    if (rc == 0)
        rc = rlt_topology_build(&spec, out, err);
    for (uint32_t i = 0; i < RLT_MAX_DIMS; i++)
        rlt_topology_free(f.whole[i]);
    rlt_strings_free(&graph.ids);
    rlt_arena_free(&arena);
    rlt_json_free(doc);
    return rc;
}
