/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scans a GraphML text for its nodes and edges. */
#include "net/topology/graphml_scan.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/xml.h"

enum { MAX_ELEMENTS = 1 << 26, MAX_ID = 255 };

typedef struct scanner {
    int graphs; /* <graph> elements so far */
    rlt_graphml_scan *s;
} scanner;

/* Reads a required attribute of at most MAX_ID bytes. */
static int get_id(const rlt_xml_tag *tag, const char *name, const char **id, rlt_error *err)
{
    int rc = rlt_xml_get_text(tag, name, true, id, err);
    if (!rc && strlen(*id) > MAX_ID)
        rc = rlt_xml_fail(tag, RLT_ERANGE, err, "the value of '%s' is longer than %d bytes", name, MAX_ID);
    return rc;
}

static int add_node(rlt_graphml_scan *s, const rlt_xml_tag *tag, rlt_error *err)
{
    const char *id;
    int rc = get_id(tag, "id", &id, err);
    if (rc)
        return rc;
    if (!*id)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "a node without an id");
    uint32_t k = rlt_intern(&s->ids, id, strlen(id));
    if (k == RLT_NONE)
        return rlt_nomem(err);
    if (k != s->n_nodes)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "node '%s' is declared twice", id);
    rc = rlt_grow(&s->node_line, &s->node_capacity, sizeof *s->node_line, s->n_nodes + 1ull, MAX_ELEMENTS,
                  "nodes", err);
    if (!rc)
        s->node_line[s->n_nodes++] = tag->line;
    return rc;
}

/* Finds the node at an end of an edge. */
static int find_end(const rlt_graphml_scan *s, const rlt_xml_tag *tag, const char *name, uint32_t *node,
                    rlt_error *err)
{
    const char *id;
    int rc = get_id(tag, name, &id, err);
    if (rc)
        return rc;
    *node = rlt_intern_find(&s->ids, id, strlen(id));
    if (*node == RLT_NONE)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err,
                            "the edge names node '%s', which is not declared before it", id);
    return 0;
}

static int add_edge(rlt_graphml_scan *s, const rlt_xml_tag *tag, rlt_error *err)
{
    uint32_t **arrays[3] = {&s->edge_line, &s->src, &s->dst}, src, dst;
    const char *directed = rlt_xml_get(tag, "directed");
    int rc;
    if ((rc = find_end(s, tag, "source", &src, err)) || (rc = find_end(s, tag, "target", &dst, err)))
        return rc;
    if (directed && (strcmp(directed, "true") == 0) != s->directed)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err,
                            "edge with directed=\"%.60s\" in a graph whose edges are otherwise", directed);
    for (int i = 0; i < 3; i++) {
        rc = rlt_grow(arrays[i], &s->edge_capacity[i], sizeof **arrays[i], s->n_edges + 1ull, MAX_ELEMENTS,
                      "edges", err);
        if (rc)
            return rc;
    }
    s->edge_line[s->n_edges] = tag->line;
    s->src[s->n_edges] = src;
    s->dst[s->n_edges++] = dst;
    return 0;
}

static int element(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    scanner *c = user;
    if (rlt_xml_is(tag, "node"))
        return add_node(c->s, tag, err);
    if (rlt_xml_is(tag, "edge"))
        return add_edge(c->s, tag, err);
    if (rlt_xml_is(tag, "hyperedge"))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "hyperedges are not supported: add a switch node");
    if (rlt_xml_is(tag, "graph")) {
        const char *directed = rlt_xml_get(tag, "edgedefault");
        if (c->graphs++)
            return rlt_xml_fail(tag, RLT_ESCHEMA, err, "a second <graph>: one per file, not nested");
        c->s->directed = directed && strcmp(directed, "directed") == 0;
    }
    return 0;
}

int rlt_graphml_scan_text(const char *name, const char *text, size_t length, rlt_graphml_scan *s,
                          rlt_error *err)
{
    static const rlt_xml_handler handler = {.start = element};
    scanner c = {.s = s};
    rlt_error why = {0};
    *s = (rlt_graphml_scan){0};
    int rc = rlt_xml_read(name, text, length, &handler, &c, &why);
    if (rc)
        rlt_fail(err, rc, why.where, "%s%s", why.what,
                 rc == RLT_EMALFORMED && !s->n_nodes ? ", and no <node> before that" : "");
    return rc;
}

void rlt_graphml_scan_free(rlt_graphml_scan *s)
{
    rlt_strings_free(&s->ids);
    free(s->node_line);
    free(s->edge_line);
    free(s->src);
    free(s->dst);
}
