/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology, prepared for drawing on a page. */
#include "tools/report/drawing.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { MOST_NODES = 320, MOST_EDGES = 2600 };

typedef struct load {
    double greatest, sum;
    uint32_t known, links;
} load;

static void load_add(load *l, const double *utilization, uint32_t link)
{
    l->links++;
    if (!utilization || utilization[link] < 0)
        return;
    l->known++;
    l->sum += utilization[link];
    if (utilization[link] > l->greatest)
        l->greatest = utilization[link];
}

static void load_json(const load *l, rlt_jw *w)
{
    if (!l->known) {
        rlt_jw_null(w, NULL);
        rlt_jw_null(w, NULL);
        return;
    }
    rlt_jw_double(w, NULL, l->greatest, 4);
    rlt_jw_double(w, NULL, l->sum / l->known, 4);
}

static const char *kind_name(rlt_node_kind kind)
{
    static const char *const names[] = {"accelerator", "nic", "pcie", "cpu", "switch"};
    return names[kind];
}

/* Links [first, first + n) of a dimension: its `groups` groups one after the other. */
typedef struct part {
    uint32_t first, n, groups;
} part;

static void kinds_json(const rlt_topology *t, part p, const double *utilization, rlt_jw *w)
{
    load loads[RLT_SWITCH + 1][RLT_SWITCH + 1] = {0};
    for (uint32_t i = p.first; i < p.first + p.n; i++) {
        rlt_link l = rlt_topology_link(t, i);
        load_add(&loads[rlt_topology_node_kind(t, l.src)][rlt_topology_node_kind(t, l.dst)], utilization, i);
    }
    rlt_jw_array(w, "kinds");
    for (int a = 0; a <= RLT_SWITCH; a++)
        for (int b = 0; b <= RLT_SWITCH; b++)
            if (loads[a][b].links) {
                rlt_jw_array(w, NULL);
                rlt_jw_string(w, NULL, kind_name((rlt_node_kind)a));
                rlt_jw_string(w, NULL, kind_name((rlt_node_kind)b));
                rlt_jw_u64(w, NULL, loads[a][b].links);
                load_json(&loads[a][b], w);
                rlt_jw_end_array(w);
            }
    rlt_jw_end_array(w);
}

/* Lists the nodes of the first group, in the order of its links; of a graph all nodes. */
static int nodes_of(const rlt_topology *t, part p, rlt_map *index, uint32_t *nodes, uint32_t *n,
                    rlt_error *err)
{
    uint32_t links = p.n / p.groups;
    *n = 0;
    for (uint32_t i = p.first; i < p.first + links; i++) {
        rlt_link l = rlt_topology_link(t, i);
        for (int end = 0; end < 2; end++) {
            uint32_t node = end ? l.dst : l.src;
            if (rlt_map_get(index, node) != RLT_NONE)
                continue;
            if (*n == MOST_NODES) {
                ++*n; /* one more than the limit: too many to draw */
                return 0;
            }
            nodes[*n] = node;
            if (rlt_map_put(index, node, (*n)++))
                return rlt_nomem(err);
        }
    }
    return 0;
}

static int edges_json(const rlt_topology *t, part p, const double *utilization, rlt_map *index,
                      uint32_t *nodes, uint32_t n, rlt_jw *w, rlt_error *err)
{
    char name[128];
    uint32_t links = p.n / p.groups;
    rlt_sort_u32(nodes, n);
    rlt_jw_array(w, "nodes");
    for (uint32_t i = 0; i < n; i++) {
        if (rlt_map_put(index, nodes[i], i))
            return rlt_nomem(err);
        rlt_jw_array(w, NULL);
        rlt_jw_string(w, NULL, rlt_topology_node_name(t, nodes[i], name, sizeof name));
        rlt_jw_string(w, NULL, kind_name(rlt_topology_node_kind(t, nodes[i])));
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "edges");
    for (uint32_t i = 0; i < links; i++) {
        rlt_link l = rlt_topology_link(t, p.first + i);
        load sum = {0};
        for (uint32_t g = 0; g < p.groups; g++)
            load_add(&sum, utilization, p.first + g * links + i);
        rlt_jw_array(w, NULL);
        rlt_jw_u64(w, NULL, rlt_map_get(index, l.src));
        rlt_jw_u64(w, NULL, rlt_map_get(index, l.dst));
        load_json(&sum, w);
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
    return 0;
}

static int dim_json(const rlt_topology *t, uint32_t d, part p, const double *utilization, rlt_jw *w,
                    rlt_error *err)
{
    uint32_t sizes[RLT_MAX_DIMS], nodes[MOST_NODES + 1], n, count = rlt_topology_sub_sizes(t, d, sizes);
    rlt_dim dim = rlt_topology_dim(t, d);
    rlt_map index = {0};
    int rc = 0;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "shape", dim.shape);
    rlt_jw_u64(w, "size", dim.size);
    rlt_jw_array(w, "sizes");
    for (uint32_t i = 0; i < count; i++)
        rlt_jw_u64(w, NULL, sizes[i]);
    rlt_jw_end_array(w);
    rlt_jw_u64(w, "bandwidth_Bps", dim.bw_Bps);
    rlt_jw_i64(w, "latency_ps", dim.latency_ps);
    rlt_jw_u64(w, "links", p.n);
    rlt_jw_u64(w, "groups", p.groups);
    if (p.n / p.groups > MOST_EDGES)
        kinds_json(t, p, utilization, w);
    else if (!(rc = nodes_of(t, p, &index, nodes, &n, err))) {
        if (n > MOST_NODES)
            kinds_json(t, p, utilization, w);
        else
            rc = edges_json(t, p, utilization, &index, nodes, n, w, err);
    }
    rlt_jw_end_object(w);
    rlt_map_free(&index);
    return rc;
}

int rlt_drawing_json(const rlt_topology *t, const double *utilization, rlt_jw *w, rlt_error *err)
{
    bool product = rlt_topology_is_product(t);
    uint32_t all = rlt_topology_links(t), next = 0;
    int rc = 0;
    rlt_jw_object(w, "drawing");
    rlt_jw_string(w, "name", rlt_topology_name(t));
    rlt_jw_string(w, "source", rlt_topology_source(t));
    rlt_jw_bool(w, "product", product);
    rlt_jw_u64(w, "accelerators", rlt_topology_accelerators(t));
    rlt_jw_array(w, "dims");
    for (uint32_t d = 0; d < (product ? rlt_topology_dims(t) : 1) && !rc; d++) {
        part p = {next, product ? 0 : all, 1};
        if (product) {
            while (p.first + p.n < all && rlt_topology_link(t, p.first + p.n).dim == d)
                p.n++;
            p.groups = rlt_topology_accelerators(t) / rlt_topology_dim(t, d).size;
        }
        next += p.n;
        rc = dim_json(t, d, p, utilization, w, err);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
    return rc;
}
