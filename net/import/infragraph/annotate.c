/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Annotations: the ranks of accelerators, and what ringlet writes so that a topology comes back as it was.
 * Other attributes are ignored.
 *
 *   node   rank; ringlet_id, _name, _kind, _forwards, _in_network
 *   link   ringlet_cables: the directed links that an edge stands for, "BYTES/PICOSECONDS" from ep1 to ep2, a
 *          bar, and those back: "50000000000/0 50000000000/0 | 25000000000/0"
 *   graph  ringlet: JSON with source, endpoint, dims, node_size, pxn, routes and rings
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/infragraph/document.h"
#include "net/import/infragraph/graph.h"
#include "net/import/read.h"
#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

/* An attribute of an annotation. */
typedef struct attribute {
    const char *name, *value;
    rlt_json at;
} attribute;

static int read_attribute(rlt_json v, attribute *a, rlt_error *err)
{
    static const char *const keys[] = {"attribute", "value", NULL};
    int rc;
    *a = (attribute){.at = v};
    if ((rc = rlt_json_only(v, keys, err)) < 0 ||
        (rc = rlt_json_get_string(v, "attribute", true, &a->name, err)) < 0)
        return rc;
    return rlt_json_get_string(v, "value", true, &a->value, err);
}

/* Finds the attributes of an annotation; none are given if there is no such list. */
static int find_attributes(rlt_json v, const char **name, rlt_json *list, rlt_error *err)
{
    int rc = rlt_json_get_string(v, "name", true, name, err);
    *list = rlt_json_get(v, "attributes");
    if (!rc && rlt_json_is(*list) && !rlt_json_is_array(*list))
        rc = rlt_json_fail(*list, RLT_ESCHEMA, err, "expected a list of attributes");
    return rc;
}

static bool is_own(const char *name)
{
    return strncmp(name, "ringlet", strlen("ringlet")) == 0;
}

static int unknown(const attribute *a, rlt_error *err)
{
    return rlt_json_fail(a->at, RLT_ESCHEMA, err, "no attribute of ringlet is named '%.60s' here", a->name);
}

static int read_number(const attribute *a, uint32_t *out, rlt_error *err)
{
    char *end;
    unsigned long value = strtoul(a->value, &end, 10);
    if (a->value[0] < '0' || a->value[0] > '9' || *end || value >= RLT_MAX_FILE_NODES)
        return rlt_json_fail(a->at, RLT_ESCHEMA, err, "expected a number below %d, got '%.40s'",
                             RLT_MAX_FILE_NODES, a->value);
    *out = (uint32_t)value;
    return 0;
}

/* ---- nodes ---- */

/* Rewrites "server[0]xpu[1]" to "server[0].xpu[1]", and "server.0.xpu.1" as well. */
static char *path_of(rlt_arena *arena, const char *name)
{
    char *out = rlt_arena_array(arena, strlen(name) * 2 + 3, 1), *p = out;
    bool index = false; /* inside a number after a dot */
    for (; out && *name; name++) {
        if (*name == '.' && name[1] >= '0' && name[1] <= '9' && !index) {
            *p++ = '[';
            index = true;
        } else if (*name == '.' && index) {
            *p++ = ']';
            *p++ = '.';
            index = false;
        } else {
            *p++ = *name;
            if (*name == ']' && name[1] && name[1] != '.')
                *p++ = '.';
        }
    }
    if (out && index)
        *p = ']';
    return out;
}

/* Finds the one vertex that a node annotation names. */
static int find_vertex(rlt__ig_graph *g, const char *name, rlt_json at, uint32_t *vertex)
{
    rlt__ig_ends ends = {0};
    char *path = path_of(&g->d->arena, name), *dot = path ? strchr(path, '.') : NULL;
    if (!path)
        return rlt_nomem(g->d->err);
    if (dot)
        *dot = '\0';
    int rc = dot ? rlt__ig_instance_path(g->d, path, dot + 1, at, &ends) : 0;
    if (!rc && ends.n != 1)
        rc = rlt_json_fail(at, RLT_ESCHEMA, g->d->err,
                           "expected the name of one node, such as host.0.xpu.1; got '%.80s'", name);
    if (!rc)
        *vertex = ends.items[0];
    free(ends.items);
    return rc;
}

/* Sets what an attribute says about a vertex. */
static int set_node(rlt__ig_graph *g, const attribute *a, rlt__ig_vertex *v)
{
    rlt_error *err = g->d->err, why = {0};
    rlt_node_kind kind;
    if (strcmp(a->name, "rank") == 0)
        return read_number(a, &v->rank, err);
    if (strcmp(a->name, "ringlet_id") == 0)
        return read_number(a, &v->id, err);
    if (strcmp(a->name, "ringlet_kind") == 0) {
        if (!rlt__topo_kind(a->value, &kind))
            return rlt_json_fail(a->at, RLT_ESCHEMA, err, "expected one of: %s", RLT__KINDS);
        v->kind = (int8_t)kind;
    } else if (strcmp(a->name, "ringlet_name") == 0) {
        if (!*a->value || strlen(a->value) > 200)
            return rlt_json_fail(a->at, RLT_ESCHEMA, err, "expected a name of 1 to 200 bytes");
        v->name = a->value;
    } else if (strcmp(a->name, "ringlet_forwards") == 0) {
        v->forwards = strcmp(a->value, "true") == 0;
        if (!v->forwards && strcmp(a->value, "false") != 0)
            return rlt_json_fail(a->at, RLT_ESCHEMA, err, "expected true or false");
    } else if (strcmp(a->name, "ringlet_in_network") == 0) {
        if (rlt_param_read(&rlt_in_network_parameter, &v->in_network, a->value, NULL, &why))
            return rlt_json_fail(a->at, RLT_ESCHEMA, err, "%s", why.what);
    } else {
        return unknown(a, err);
    }
    return 0;
}

static int annotate_node(rlt__ig_graph *g, rlt_json v)
{
    const char *name = NULL;
    uint32_t vertex = RLT_NONE;
    rlt_json list;
    int rc = find_attributes(v, &name, &list, g->d->err);
    for (rlt_json m = rlt_json_first(list); rlt_json_is(m) && !rc; m = rlt_json_next(m)) {
        attribute a;
        if ((rc = read_attribute(m, &a, g->d->err)) < 0)
            return rc;
        if (strcmp(a.name, "rank") != 0 && !is_own(a.name))
            continue;
        if (vertex == RLT_NONE)
            rc = find_vertex(g, name, v, &vertex);
        if (!rc)
            rc = set_node(g, &a, &g->vertices[vertex]);
    }
    return rc;
}

/* ---- links ---- */

static int annotate_link(rlt__ig_graph *g, rlt_json v)
{
    const char *name = NULL;
    rlt_json list;
    int rc = find_attributes(v, &name, &list, g->d->err);
    for (rlt_json m = rlt_json_first(list); rlt_json_is(m) && !rc; m = rlt_json_next(m)) {
        attribute a;
        if ((rc = read_attribute(m, &a, g->d->err)) < 0)
            return rc;
        if (!is_own(a.name))
            continue;
        if (strcmp(a.name, "ringlet_cables") != 0)
            return unknown(&a, g->d->err);
        bool found = false;
        for (uint32_t k = 0; k <= g->d->n_devices; k++) {
            rlt__ig_links *links = k < g->d->n_devices ? &g->d->devices[k].links : &g->d->links;
            uint32_t i = rlt_intern_find(&links->names, name, strlen(name));
            if (i == RLT_NONE)
                continue;
            links->items[i].cables = a.value;
            found = true;
        }
        if (!found)
            return rlt_json_fail(v, RLT_ESCHEMA, g->d->err, "no link is named '%.60s'", name);
    }
    return rc;
}

/* ---- the graph ---- */

static int annotate_graph(rlt__ig_graph *g, rlt_json v)
{
    static const char *const keys[] = {"name",      "source", "endpoint", "auto",  "dims",
                                       "node_size", "pxn",    "routes",   "rings", NULL};
    attribute a;
    int rc = read_attribute(v, &a, g->d->err);
    if (rc < 0 || !is_own(a.name))
        return rc;
    if (strcmp(a.name, "ringlet") != 0)
        return unknown(&a, g->d->err);
    if (rlt_json_is(g->own))
        return rlt_json_fail(v, RLT_ESCHEMA, g->d->err, "the attribute 'ringlet' is given twice");
    char where[300];
    rlt_json_where(v, where, sizeof where - 20);
    strcat(where, ": ringlet"); /* the place inside the annotation follows */
    rc = rlt_json_parse(where, a.value, strlen(a.value), &g->own_doc, g->d->err);
    if (rc < 0)
        return rc;
    g->own = rlt_json_root(g->own_doc);
    return rlt_json_only(g->own, keys, g->d->err);
}

typedef int annotate_one(rlt__ig_graph *g, rlt_json v);

static int annotate_all(rlt__ig_graph *g, const char *key, annotate_one *one)
{
    rlt_json list = rlt_json_get(g->d->annotations, key);
    int rc = 0;
    if (rlt_json_is(list) && !rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, g->d->err, "expected a list");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = rlt_json_is_object(v) ? one(g, v)
                                   : rlt_json_fail(v, RLT_ESCHEMA, g->d->err, "expected an annotation");
    return rc;
}

int rlt__ig_annotate(rlt__ig_graph *g)
{
    static const char *const keys[] = {"nodes", "edges", "links", "graph", NULL};
    int rc;
    if (!rlt_json_is(g->d->annotations))
        return 0;
    if ((rc = rlt_json_only(g->d->annotations, keys, g->d->err)) < 0 ||
        (rc = annotate_all(g, "graph", annotate_graph)) < 0 ||
        (rc = annotate_all(g, "links", annotate_link)) < 0)
        return rc;
    return annotate_all(g, "nodes", annotate_node);
}
