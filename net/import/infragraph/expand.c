/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expands devices and instances to vertices and edges. Edges of a device are expanded once, to pairs of its
 * vertices, and added wherever the device stands. Equal edges count once, as in the service, which holds them
 * in a simple graph. All sizes are known before anything is made.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/infragraph/document.h"
#include "net/import/infragraph/graph.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

enum { MANY_TO_MANY, ONE_TO_ONE };

/* ---- one edge of the file ---- */

/* An edge as the file states it, with the vertices of its ends. */
typedef struct stated_edge {
    rlt_json at;
    int scheme;
    uint32_t link;
    rlt__ig_ends ends[2];
} stated_edge;

static int read_scheme(rlt_json v, int *scheme, rlt_error *err)
{
    const char *word = NULL;
    int rc = rlt_json_get_string(v, "scheme", true, &word, err);
    if (rc < 0)
        return rc;
    *scheme = strcmp(word, "many2many") == 0 ? MANY_TO_MANY : ONE_TO_ONE;
    if (*scheme == MANY_TO_MANY || strcmp(word, "one2one") == 0)
        return 0;
    return rlt_json_fail(
        rlt_json_get(v, "scheme"), RLT_EUNSUPPORTED, err, "expected one2one or many2many, got '%.40s'%s",
        word, strcmp(word, "ring") == 0 ? " (the schema has it, but no service gives it a meaning)" : "");
}

/* Reads one end. `device` is NULL in an edge of the infrastructure. */
static int read_end(rlt__ig_document *d, rlt_json edge, const char *key, const rlt__ig_device *device,
                    rlt__ig_ends *ends)
{
    static const char *const in_device[] = {"device", "component", NULL};
    static const char *const outside[] = {"instance", "component", NULL};
    rlt_json v = rlt_json_get(edge, key), c = rlt_json_get(v, "component");
    const char *component = NULL, *first = NULL;
    int rc;
    if (!rlt_json_is(v))
        return rlt_json_fail(edge, RLT_ESCHEMA, d->err, "missing '%s'", key);
    if ((rc = rlt_json_only(v, device ? in_device : outside, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "component", true, &component, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, device ? "device" : "instance", !device, &first, d->err)) < 0)
        return rc;
    if (!device)
        return rlt__ig_instance_path(d, first, component, v, ends);
    if (first && !(component = rlt_arena_printf(&d->arena, "%s.%s", first, component)))
        return rlt_nomem(d->err);
    return rlt__ig_path(d, device, component, c, 0, ends);
}

static int read_edge(rlt__ig_document *d, rlt_json v, const rlt__ig_device *device, stated_edge *e)
{
    static const char *const keys[] = {"ep1", "ep2", "scheme", "link", NULL};
    const rlt__ig_links *links = device ? &device->links : &d->links;
    const char *link = NULL;
    int rc;
    e->at = v;
    if ((rc = rlt_json_only(v, keys, d->err)) < 0 || (rc = read_scheme(v, &e->scheme, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "link", true, &link, d->err)) < 0 ||
        (rc = read_end(d, v, "ep1", device, &e->ends[0])) < 0 ||
        (rc = read_end(d, v, "ep2", device, &e->ends[1])) < 0)
        return rc;
    e->link = rlt_intern_find(&links->names, link, strlen(link));
    return e->link != RLT_NONE
               ? 0
               : rlt_json_fail(rlt_json_get(v, "link"), RLT_ESCHEMA, d->err, "%s has no link '%.60s'",
                               device ? "the device" : "the infrastructure", link);
}

/* Returns the number of pairs that an edge stands for. */
static int count_pairs(rlt__ig_document *d, const stated_edge *e, uint64_t *n)
{
    uint32_t a = e->ends[0].n, b = e->ends[1].n;
    *n = e->scheme == MANY_TO_MANY ? (uint64_t)a * b : a < b ? a : b;
    if (e->scheme == ONE_TO_ONE && a != b) {
        if (!d->import->lenient)
            return rlt_json_fail(e->at, RLT_ESCHEMA, d->err,
                                 "one2one of %" PRIu32 " and %" PRIu32
                                 " ends; --set lenient=on pairs as many as there are",
                                 a, b);
        d->lenience.cut++;
    }
    return *n <= RLT__IG_MAX_EDGES
               ? 0
               : rlt_json_fail(e->at, RLT_ERANGE, d->err, "more than %d edges", RLT__IG_MAX_EDGES);
}

typedef int add_pair(rlt__ig_graph *g, rlt__ig_device *device, rlt__ig_pair pair);

static int add_pairs(rlt__ig_graph *g, rlt__ig_device *device, const stated_edge *e, add_pair *add)
{
    const rlt__ig_ends *x = &e->ends[0], *y = &e->ends[1];
    uint64_t n;
    int rc = count_pairs(g->d, e, &n);
    for (uint64_t i = 0; i < n && !rc; i++) {
        bool one = e->scheme == ONE_TO_ONE;
        rlt__ig_pair p = {x->items[one ? i : i / y->n], y->items[one ? i : i % y->n], e->link};
        if (p.a != p.b)
            rc = add(g, device, p);
        else if (one)
            rc = rlt_json_fail(e->at, RLT_ESCHEMA, g->d->err, "an edge from a component to itself");
    }
    return rc;
}

/* Reads the edges of a device, or of the infrastructure (NULL). */
static int read_edges(rlt__ig_graph *g, rlt__ig_device *device, add_pair *add)
{
    rlt_json list = rlt_json_get(device ? device->at : g->d->root, "edges");
    int rc = 0;
    if (rlt_json_is(list) && !rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, g->d->err, "expected a list of edges");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        stated_edge e = {.scheme = ONE_TO_ONE};
        rc = read_edge(g->d, v, device, &e);
        if (!rc)
            rc = add_pairs(g, device, &e, add);
        free(e.ends[0].items);
        free(e.ends[1].items);
    }
    return rc;
}

/* ---- the graph ---- */

static int add_to_device(rlt__ig_graph *g, rlt__ig_device *device, rlt__ig_pair pair)
{
    int rc = rlt_grow(&device->pairs, &device->pair_capacity, sizeof *device->pairs, device->n_pairs + 1ull,
                      RLT__IG_MAX_EDGES, "edges of a device", g->d->err);
    if (!rc)
        device->pairs[device->n_pairs++] = pair;
    return rc;
}

static int add_edge(rlt__ig_graph *g, uint32_t a, uint32_t b, rlt__ig_link *link)
{
    uint64_t key = rlt__ig_between(a, b);
    uint32_t known = rlt_map_get(&g->between, key);
    if (known != RLT_NONE) {
        char x[256], y[256];
        rlt__ig_link *other = g->edges[known].link;
        if (other == link || g->d->import->lenient) {
            other->edges--;
            link->edges++;
            g->edges[known].link = link;
            return 0;
        }
        return rlt_json_fail(link->at, RLT_ESCHEMA, g->d->err,
                             "%.80s and %.80s are joined by the links '%.40s' and '%.40s': an edge has one, "
                             "with the bandwidth of both",
                             rlt__ig_name(g->d, a, x, sizeof x), rlt__ig_name(g->d, b, y, sizeof y),
                             other->name, link->name);
    }
    int rc = rlt_grow(&g->edges, &g->edge_capacity, sizeof *g->edges, g->n_edges + 1ull, RLT__IG_MAX_EDGES,
                      "edges", g->d->err);
    if (rc)
        return rc;
    if (rlt_map_put(&g->between, key, g->n_edges))
        return rlt_nomem(g->d->err);
    g->edges[g->n_edges++] = (rlt__ig_edge){.a = a, .b = b, .link = link};
    link->edges++;
    return 0;
}

static int add_outside(rlt__ig_graph *g, rlt__ig_device *device, rlt__ig_pair pair)
{
    (void)device;
    return add_edge(g, pair.a, pair.b, &g->d->links.items[pair.link]);
}

/* Counts how often a device stands in the infrastructure. Every way into a device ends at a vertex of its
 * own, so the work is bounded by their number. */
static void count_times(rlt__ig_document *d, rlt__ig_device *device, uint64_t times)
{
    device->times += times;
    for (uint32_t i = 0; i < device->n_components; i++)
        if (device->components[i].choice == RLT__IG_DEVICE)
            count_times(d, &d->devices[device->components[i].device], times * device->components[i].count);
}

static int check_edges(rlt__ig_document *d)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < d->n_instances; i++)
        count_times(d, &d->devices[d->instances[i].device], d->instances[i].count);
    for (uint32_t k = 0; k < d->n_devices; k++) {
        total += d->devices[k].times * d->devices[k].n_pairs;
        if (total > RLT__IG_MAX_EDGES)
            return rlt_json_fail(d->devices[k].at, RLT_ERANGE, d->err,
                                 "more than %d edges up to this device, in all its instances",
                                 RLT__IG_MAX_EDGES);
    }
    return 0;
}

/* Adds the edges of a device whose first vertex is `base`. */
static int place(rlt__ig_graph *g, rlt__ig_device *device, uint32_t base)
{
    int rc = 0;
    for (uint32_t i = 0; i < device->n_components && !rc; i++) {
        const rlt__ig_component *c = &device->components[i];
        for (uint32_t k = 0; c->choice == RLT__IG_DEVICE && k < c->count && !rc; k++)
            rc = place(g, &g->d->devices[c->device], base + c->first + k * c->stride);
    }
    for (uint32_t i = 0; i < device->n_pairs && !rc; i++)
        rc = add_edge(g, base + device->pairs[i].a, base + device->pairs[i].b,
                      &device->links.items[device->pairs[i].link]);
    return rc;
}

int rlt__ig_expand(rlt__ig_graph *g)
{
    rlt__ig_document *d = g->d;
    int rc = 0;
    for (uint32_t k = 0; k < d->n_devices && !rc; k++)
        rc = read_edges(g, &d->devices[k], add_to_device);
    if (rc || (rc = check_edges(d)) < 0)
        return rc;
    g->vertices = malloc((d->n_vertices + 1ull) * sizeof *g->vertices);
    if (!g->vertices)
        return rlt_nomem(d->err);
    for (uint32_t v = 0; v < d->n_vertices; v++)
        g->vertices[v] = (rlt__ig_vertex){.rank = RLT_NONE, .id = RLT_NONE, .kind = -1, .forwards = -1};
    for (uint32_t i = 0; i < d->n_instances; i++) {
        rlt__ig_device *device = &d->devices[d->instances[i].device];
        for (uint32_t k = 0; k < d->instances[i].count && !rc; k++)
            rc = place(g, device, d->instances[i].first + k * device->size);
    }
    return rc ? rc : read_edges(g, NULL, add_outside);
}

void rlt__ig_graph_free(rlt__ig_graph *g)
{
    free(g->vertices);
    free(g->edges);
    rlt_map_free(&g->between);
    rlt_json_free(g->own_doc);
}
