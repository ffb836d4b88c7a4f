/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The only user of igraph, which is loaded by the first call: it brings twenty libraries with it, and most
 * runs do without. Its handlers and attribute table are process-wide and not thread-safe, so one lock spans
 * each call; previous handlers are restored.
 */
#include "net/topology/graph.h"

#include <igraph/igraph.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/graphml_scan.h"
#include "sim/base/map.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/late.h"

/* clang-format off */
#define CALLS(X) /* names without "igraph_" */                                                               \
    X(cattribute_table) X(set_attribute_table) X(set_error_handler) X(set_warning_handler) X(strerror)       \
    X(create) X(destroy) X(vcount) X(ecount) X(is_directed) X(vss_all) X(vss_vector) X(ess_all)              \
    X(connected_components) X(distances) X(maxflow) X(maxflow_value)                                         \
    X(read_graph_graphml) X(write_graph_graphml) X(write_graph_dot)                                          \
    X(vector_init) X(vector_destroy) X(vector_int_init) X(vector_int_destroy) X(vector_int_size)             \
    X(vector_bool_init) X(vector_bool_destroy) X(matrix_init) X(matrix_destroy)                              \
    X(strvector_init) X(strvector_destroy) X(strvector_get) X(strvector_set) X(strvector_size)               \
    X(cattribute_list) X(cattribute_GAB) X(cattribute_GAN) X(cattribute_GAS) X(cattribute_GAS_set)           \
    X(cattribute_VABV) X(cattribute_VANV) X(cattribute_VAS)                                                  \
    X(cattribute_VAB_setv) X(cattribute_VAN_setv) X(cattribute_VAS_setv)                                     \
    X(cattribute_EABV) X(cattribute_EANV) X(cattribute_EAS)                                                  \
    X(cattribute_EAB_setv) X(cattribute_EAN_setv) X(cattribute_EAS_setv)
/* clang-format on */
#define POINTER(name) __typeof__(igraph_##name) *name;
#define NAME(name)    "igraph_" #name,
static struct {
    CALLS(POINTER)
    __typeof__(IGRAPH_FINALLY_FREE) *finally_free;
} ig;
static const char *const names[] = {CALLS(NAME) "IGRAPH_FINALLY_FREE", NULL};
static const rlt_late_library library = {RLT_IGRAPH_FILE, "libigraph-dev", names, &ig};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char reason[512]; /* igraph's last error; guarded by the lock, as the next two are */
static igraph_error_t reason_code;
static jmp_buf *escape; /* where an error goes on; NULL: igraph returns its code */

typedef struct session {
    igraph_error_handler_t *error;
    igraph_warning_handler_t *warning;
    igraph_attribute_table_t *attributes;
} session;

/* Error handler. igraph's own handlers print and abort. */
static void keep_reason(const char *text, const char *file, int line, igraph_error_t code)
{
    (void)file, (void)line;
    snprintf(reason, sizeof reason, "%s", text);
    reason_code = code;
    ig.finally_free();
    if (escape)
        longjmp(*escape, 1);
}

static void ignore_warning(const char *text, const char *file, int line)
{
    (void)text, (void)file, (void)line;
}

/* Loads igraph and takes the lock. */
static int enter(session *s, rlt_error *err)
{
    int rc = rlt_late_load(&library, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&lock);
    reason[0] = '\0';
    *s = (session){.error = ig.set_error_handler(keep_reason),
                   .warning = ig.set_warning_handler(ignore_warning),
                   .attributes = ig.set_attribute_table(ig.cattribute_table)};
    return 0;
}

/* Converts an igraph code to ours and releases the lock. */
static int leave(session s, igraph_error_t code, const char *where, rlt_error *err)
{
    int rc = 0;
    /* Its files are in memory: one that cannot be written had none left. */
    if (code == IGRAPH_ENOMEM || code == IGRAPH_EFILE)
        rc = rlt_nomem(err);
    else if (code != IGRAPH_SUCCESS)
        rc = rlt_fail(err, code == IGRAPH_PARSEERROR ? RLT_EMALFORMED : RLT_ETOPOLOGY, where, "%s",
                      reason[0] ? reason : ig.strerror(code));
    ig.set_attribute_table(s.attributes);
    ig.set_warning_handler(s.warning);
    ig.set_error_handler(s.error);
    pthread_mutex_unlock(&lock);
    return rc;
}

static igraph_error_t make_graph(const rlt_edges *g, igraph_t *graph)
{
    igraph_vector_int_t ends;
    igraph_error_t code = ig.vector_int_init(&ends, 2 * (igraph_integer_t)g->n_edges);
    if (code)
        return code;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        VECTOR(ends)[2 * (size_t)i] = g->src[i];
        VECTOR(ends)[2 * (size_t)i + 1] = g->dst[i];
    }
    code = ig.create(graph, &ends, g->n_nodes, IGRAPH_DIRECTED);
    ig.vector_int_destroy(&ends);
    return code;
}

int rlt_graph_components(const rlt_edges *g, uint32_t *component, uint32_t *n, rlt_error *err)
{
    session s;
    igraph_t graph;
    igraph_vector_int_t membership;
    igraph_integer_t count = 0;
    int rc = enter(&s, err);
    if (rc)
        return rc;
    igraph_error_t code = make_graph(g, &graph);
    if (code)
        return leave(s, code, "graph", err);
    if ((code = ig.vector_int_init(&membership, 0)) == 0) {
        code = ig.connected_components(&graph, &membership, NULL, &count, IGRAPH_STRONG);
        for (uint32_t i = 0; !code && i < g->n_nodes; i++)
            component[i] = (uint32_t)VECTOR(membership)[i];
        ig.vector_int_destroy(&membership);
    }
    *n = (uint32_t)count;
    ig.destroy(&graph);
    return leave(s, code, "graph", err);
}

static igraph_error_t fill(igraph_vector_int_t *v, const uint32_t *values, uint32_t n)
{
    igraph_error_t code = ig.vector_int_init(v, n);
    for (uint32_t i = 0; !code && i < n; i++)
        VECTOR(*v)[i] = values[i];
    return code;
}

/* Fills rows of the distance matrix for n sources. */
static igraph_error_t distance_rows(const igraph_t *graph, const uint32_t *from, uint32_t n,
                                    const igraph_vector_int_t *to, uint32_t *distance)
{
    igraph_vector_int_t sources;
    igraph_matrix_t m;
    igraph_error_t code = fill(&sources, from, n);
    if (code)
        return code;
    if ((code = ig.matrix_init(&m, 0, 0)) == 0) {
        code = ig.distances(graph, &m, ig.vss_vector(&sources), ig.vss_vector(to), IGRAPH_OUT);
        igraph_integer_t columns = ig.vector_int_size(to);
        for (igraph_integer_t i = 0; !code && i < n; i++)
            for (igraph_integer_t j = 0; j < columns; j++)
                distance[i * columns + j] = isfinite(MATRIX(m, i, j)) ? (uint32_t)MATRIX(m, i, j) : RLT_NONE;
        ig.matrix_destroy(&m);
    }
    ig.vector_int_destroy(&sources);
    return code;
}

int rlt_graph_distances(const rlt_edges *g, const uint32_t *from, uint32_t n_from, const uint32_t *to,
                        uint32_t n_to, uint32_t *distance, rlt_error *err)
{
    session s;
    igraph_t graph;
    igraph_vector_int_t targets;
    int rc = enter(&s, err);
    if (rc)
        return rc;
    igraph_error_t code = make_graph(g, &graph);
    if (code)
        return leave(s, code, "graph", err);
    if ((code = fill(&targets, to, n_to)) == 0) {
        /* igraph stores a block as doubles: about 8 MB at a time. */
        uint32_t block = 1 + (1u << 20) / (n_to + 1);
        for (uint32_t i = 0; !code && i < n_from; i += block) {
            uint32_t n = n_from - i < block ? n_from - i : block;
            code = distance_rows(&graph, from + i, n, &targets, distance + (size_t)i * n_to);
        }
        ig.vector_int_destroy(&targets);
    }
    ig.destroy(&graph);
    return leave(s, code, "graph", err);
}

/* Finds the value of a smallest cut and, unless side is NULL, the nodes on the source's side. */
static igraph_error_t cut_of(const igraph_t *graph, const igraph_vector_t *capacities, uint32_t source,
                             uint32_t sink, double *value, uint8_t *side)
{
    igraph_vector_int_t near;
    igraph_error_t code;
    if (!side)
        return ig.maxflow_value(graph, value, source, sink, capacities, NULL);
    if ((code = ig.vector_int_init(&near, 0)) != 0)
        return code;
    code = ig.maxflow(graph, value, NULL, NULL, &near, NULL, source, sink, capacities, NULL);
    memset(side, 0, (size_t)ig.vcount(graph));
    for (igraph_integer_t i = 0; !code && i < ig.vector_int_size(&near); i++)
        side[VECTOR(near)[i]] = 1;
    ig.vector_int_destroy(&near);
    return code;
}

int rlt_graph_min_cut(const rlt_edges *g, const double *capacity, uint32_t source, uint32_t sink,
                      double *value, uint8_t *side, rlt_error *err)
{
    session s;
    igraph_t graph;
    igraph_vector_t capacities;
    igraph_real_t flow = 0;
    int rc = enter(&s, err);
    if (rc)
        return rc;
    igraph_error_t code = make_graph(g, &graph);
    if (code)
        return leave(s, code, "graph", err);
    if ((code = ig.vector_init(&capacities, g->n_edges)) == 0) {
        for (uint32_t i = 0; i < g->n_edges; i++)
            VECTOR(capacities)[i] = capacity[i];
        code = cut_of(&graph, &capacities, source, sink, &flow, side);
        ig.vector_destroy(&capacities);
    }
    *value = flow;
    ig.destroy(&graph);
    return leave(s, code, "graph", err);
}

int rlt_graph_max_flow(const rlt_edges *g, const double *capacity, uint32_t source, uint32_t sink,
                       double *value, rlt_error *err)
{
    return rlt_graph_min_cut(g, capacity, source, sink, value, NULL, err);
}

/* Copies one attribute of all nodes or edges (or of the graph) into the arena. */
static igraph_error_t copy_numbers(const igraph_t *graph, char what, const char *name, bool is_bool,
                                   uint32_t n, double *out)
{
    igraph_vector_t v;
    igraph_vector_bool_t b;
    igraph_error_t code;
    if (what == 'g') {
        out[0] = is_bool ? ig.cattribute_GAB(graph, name) : ig.cattribute_GAN(graph, name);
        return IGRAPH_SUCCESS;
    }
    if (is_bool) {
        if ((code = ig.vector_bool_init(&b, 0)) != 0)
            return code;
        code = what == 'v' ? ig.cattribute_VABV(graph, name, ig.vss_all(), &b)
                           : ig.cattribute_EABV(graph, name, ig.ess_all(IGRAPH_EDGEORDER_ID), &b);
        for (uint32_t i = 0; !code && i < n; i++)
            out[i] = VECTOR(b)[i] ? 1 : 0;
        ig.vector_bool_destroy(&b);
        return code;
    }
    if ((code = ig.vector_init(&v, 0)) != 0)
        return code;
    code = what == 'v' ? ig.cattribute_VANV(graph, name, ig.vss_all(), &v)
                       : ig.cattribute_EANV(graph, name, ig.ess_all(IGRAPH_EDGEORDER_ID), &v);
    for (uint32_t i = 0; !code && i < n; i++)
        out[i] = VECTOR(v)[i];
    ig.vector_destroy(&v);
    return code;
}

static igraph_error_t copy_texts(const igraph_t *graph, char what, const char *name, uint32_t n,
                                 rlt_arena *arena, const char **out)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *text = what == 'g'   ? ig.cattribute_GAS(graph, name)
                           : what == 'v' ? ig.cattribute_VAS(graph, name, i)
                                         : ig.cattribute_EAS(graph, name, i);
        if (!(out[i] = rlt_arena_strdup(arena, text ? text : "")))
            return IGRAPH_ENOMEM;
    }
    return IGRAPH_SUCCESS;
}

/* Attributes that igraph has of the graph, its nodes or its edges. */
typedef struct attributes {
    char what;  /* 'g', 'v' or 'e' */
    uint32_t n; /* number of elements */
    igraph_strvector_t names;
    igraph_vector_int_t types;
} attributes;

static igraph_error_t copy_attributes(const igraph_t *graph, const attributes *a, rlt_arena *arena,
                                      const rlt_attribute **list, uint32_t *n_list)
{
    uint32_t count = (uint32_t)ig.strvector_size(&a->names), n = a->n;
    rlt_attribute *to = rlt_arena_array(arena, count, sizeof *to);
    if (!to)
        return IGRAPH_ENOMEM;
    *list = to;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = ig.strvector_get(&a->names, i);
        igraph_integer_t type = VECTOR(a->types)[i];
        igraph_error_t code;
        if (!(to[i].name = rlt_arena_strdup(arena, name)))
            return IGRAPH_ENOMEM;
        if (type == IGRAPH_ATTRIBUTE_STRING) {
            const char **texts = rlt_arena_array(arena, n, sizeof *texts);
            to[i].type = RLT_ATTRIBUTE_TEXT;
            to[i].texts = texts;
            code = texts ? copy_texts(graph, a->what, name, n, arena, texts) : IGRAPH_ENOMEM;
        } else {
            double *numbers = rlt_arena_array(arena, n, sizeof *numbers);
            bool is_bool = type == IGRAPH_ATTRIBUTE_BOOLEAN;
            to[i].type = is_bool ? RLT_ATTRIBUTE_BOOL : RLT_ATTRIBUTE_NUMBER;
            to[i].numbers = numbers;
            code = numbers ? copy_numbers(graph, a->what, name, is_bool, n, numbers) : IGRAPH_ENOMEM;
        }
        if (code)
            return code;
        *n_list = i + 1;
    }
    return IGRAPH_SUCCESS;
}

static igraph_error_t copy_all_attributes(const igraph_t *graph, rlt_graphml *out)
{
    attributes a[3] = {
        {.what = 'g', .n = 1}, {.what = 'v', .n = out->n_nodes}, {.what = 'e', .n = out->n_edges}};
    igraph_error_t code = IGRAPH_SUCCESS;
    int made = 0;
    for (; made < 3; made++) {
        if ((code = ig.strvector_init(&a[made].names, 0)) != 0)
            break;
        if ((code = ig.vector_int_init(&a[made].types, 0)) != 0) {
            ig.strvector_destroy(&a[made].names);
            break;
        }
    }
    if (!code)
        code = ig.cattribute_list(graph, &a[0].names, &a[0].types, &a[1].names, &a[1].types, &a[2].names,
                                  &a[2].types);
    if (!code)
        code = copy_attributes(graph, &a[0], &out->arena, &out->graph_attributes, &out->n_graph_attributes);
    if (!code)
        code = copy_attributes(graph, &a[1], &out->arena, &out->node_attributes, &out->n_node_attributes);
    if (!code)
        code = copy_attributes(graph, &a[2], &out->arena, &out->edge_attributes, &out->n_edge_attributes);
    while (made-- > 0) {
        ig.vector_int_destroy(&a[made].types);
        ig.strvector_destroy(&a[made].names);
    }
    return code;
}

static const uint32_t *keep(rlt_arena *arena, const uint32_t *values, uint32_t n)
{
    uint32_t *copy = rlt_arena_array(arena, n, sizeof *copy);
    if (copy && n)
        memcpy(copy, values, n * sizeof *copy);
    return copy;
}

/* Copies nodes and edges from the scan, which knows their places; igraph has confirmed the counts. */
static int copy_elements(const rlt_graphml_scan *s, rlt_graphml *out, rlt_error *err)
{
    const char **ids = rlt_arena_array(&out->arena, s->n_nodes, sizeof *ids);
    out->ids = ids;
    out->node_line = keep(&out->arena, s->node_line, s->n_nodes);
    out->edge_line = keep(&out->arena, s->edge_line, s->n_edges);
    out->src = keep(&out->arena, s->src, s->n_edges);
    out->dst = keep(&out->arena, s->dst, s->n_edges);
    if (!ids || !out->node_line || !out->edge_line || !out->src || !out->dst)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!(ids[i] = rlt_arena_strdup(&out->arena, rlt_interned(&s->ids, i))))
            return rlt_nomem(err);
    out->n_nodes = s->n_nodes;
    out->n_edges = s->n_edges;
    out->directed = s->directed;
    return 0;
}

static int read_graphml(const char *name, const char *text, size_t length, const rlt_graphml_scan *scan,
                        rlt_graphml *out, rlt_error *err)
{
    session s;
    igraph_t graph;
    /* Opened for reading only: the text is not written to. */
    FILE *in = fmemopen((void *)(uintptr_t)text, length, "r");
    if (!in)
        return rlt_nomem(err);
    int rc = enter(&s, err);
    if (rc) {
        fclose(in);
        return rc;
    }
    igraph_error_t code = ig.read_graph_graphml(&graph, in, 0);
    fclose(in);
    if (code)
        return leave(s, code, name, err);
    bool same = ig.vcount(&graph) == scan->n_nodes && ig.ecount(&graph) == scan->n_edges &&
                ig.is_directed(&graph) == scan->directed;
    if (same)
        code = copy_all_attributes(&graph, out);
    ig.destroy(&graph);
    rc = leave(s, code, name, err);
    if (!rc && !same)
        rc = rlt_fail(err, RLT_EMALFORMED, name, "not GraphML in UTF-8 with plain ids");
    return rc;
}

int rlt_graphml_parse(const char *name, const char *text, size_t length, rlt_graphml *out, rlt_error *err)
{
    rlt_graphml_scan scan;
    *out = (rlt_graphml){0};
    int rc = rlt_graphml_scan_text(name, text, length, &scan, err);
    if (!rc && !scan.n_nodes)
        rc = rlt_fail(err, RLT_EMALFORMED, name, "no GraphML: no <node> in it");
    if (!rc)
        rc = copy_elements(&scan, out, err);
    if (!rc)
        rc = read_graphml(name, text, length, &scan, out, err);
    rlt_graphml_scan_free(&scan);
    if (rc)
        rlt_graphml_free(out);
    return rc;
}

void rlt_graphml_free(rlt_graphml *g)
{
    rlt_arena_free(&g->arena);
    *g = (rlt_graphml){0};
}

const rlt_attribute *rlt_attribute_find(const rlt_attribute *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static igraph_error_t set_texts(igraph_t *graph, bool nodes, const rlt_attribute *a, uint32_t n)
{
    igraph_strvector_t v;
    igraph_error_t code = ig.strvector_init(&v, n);
    if (code)
        return code;
    for (uint32_t i = 0; !code && i < n; i++)
        code = ig.strvector_set(&v, i, a->texts[i]);
    if (!code)
        code =
            nodes ? ig.cattribute_VAS_setv(graph, a->name, &v) : ig.cattribute_EAS_setv(graph, a->name, &v);
    ig.strvector_destroy(&v);
    return code;
}

static igraph_error_t set_numbers(igraph_t *graph, bool nodes, const rlt_attribute *a, uint32_t n)
{
    igraph_vector_t v;
    igraph_error_t code = ig.vector_init(&v, n);
    if (code)
        return code;
    for (uint32_t i = 0; i < n; i++)
        VECTOR(v)[i] = a->numbers[i];
    code = nodes ? ig.cattribute_VAN_setv(graph, a->name, &v) : ig.cattribute_EAN_setv(graph, a->name, &v);
    ig.vector_destroy(&v);
    return code;
}

static igraph_error_t set_bools(igraph_t *graph, bool nodes, const rlt_attribute *a, uint32_t n)
{
    igraph_vector_bool_t v;
    igraph_error_t code = ig.vector_bool_init(&v, n);
    if (code)
        return code;
    for (uint32_t i = 0; i < n; i++)
        VECTOR(v)[i] = a->numbers[i] > 0;
    code = nodes ? ig.cattribute_VAB_setv(graph, a->name, &v) : ig.cattribute_EAB_setv(graph, a->name, &v);
    ig.vector_bool_destroy(&v);
    return code;
}

static igraph_error_t set_attributes(igraph_t *graph, bool nodes, const rlt_attribute *list, uint32_t n_list,
                                     uint32_t n)
{
    igraph_error_t code = IGRAPH_SUCCESS;
    for (uint32_t i = 0; !code && i < n_list; i++) {
        if (list[i].type == RLT_ATTRIBUTE_TEXT)
            code = set_texts(graph, nodes, &list[i], n);
        else if (list[i].type == RLT_ATTRIBUTE_BOOL)
            code = set_bools(graph, nodes, &list[i], n);
        else
            code = set_numbers(graph, nodes, &list[i], n);
    }
    return code;
}

static igraph_error_t set_all_attributes(igraph_t *graph, const rlt_graph_text *g)
{
    igraph_error_t code =
        set_attributes(graph, true, g->node_attributes, g->n_node_attributes, g->edges.n_nodes);
    if (!code)
        code = set_attributes(graph, false, g->edge_attributes, g->n_edge_attributes, g->edges.n_edges);
    for (uint32_t i = 0; !code && i < g->n_graph_attributes; i++)
        code = ig.cattribute_GAS_set(graph, g->graph_attributes[i].name, g->graph_attributes[i].texts[0]);
    return code;
}

/* Its writers go on after some errors, with what was freed. */
static igraph_error_t write_graph(const igraph_t *graph, bool graphml, FILE *out)
{
    jmp_buf back;
    if (setjmp(back) != 0) {
        escape = NULL;
        return reason_code;
    }
    escape = &back;
    igraph_error_t code = graphml ? ig.write_graph_graphml(graph, out, true) : ig.write_graph_dot(graph, out);
    escape = NULL;
    return code;
}

static int write_text(const rlt_graph_text *g, bool graphml, char **text, rlt_error *err)
{
    session s;
    igraph_t graph;
    size_t length = 0;
    *text = NULL;
    FILE *out = rlt_text_stream(text, &length);
    if (!out)
        return rlt_nomem(err);
    int rc = enter(&s, err);
    if (!rc) {
        igraph_error_t code = make_graph(&g->edges, &graph);
        if (!code) {
            code = set_all_attributes(&graph, g);
            if (!code)
                code = write_graph(&graph, graphml, out);
            ig.destroy(&graph);
        }
        rc = leave(s, code, "graph", err);
    }
    if (fclose(out) != 0 && !rc)
        rc = rlt_nomem(err);
    if (rc) {
        free(*text);
        *text = NULL;
    }
    return rc;
}

int rlt_graphml_write(const rlt_graph_text *g, char **text, rlt_error *err)
{
    return write_text(g, true, text, err);
}

int rlt_dot_write(const rlt_graph_text *g, char **text, rlt_error *err)
{
    return write_text(g, false, text, err);
}

const char *rlt_graph_version(void)
{
    return IGRAPH_VERSION;
}
