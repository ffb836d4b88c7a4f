/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances from roots of aggregation trees, and a cache of results. */
#include "net/topology/distances.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

#define MAX_KEPT ((uint64_t)1 << 22) /* kept distances */

struct rlt_distance_memo {
    pthread_mutex_t lock;
    rlt_map row_of; /* root -> row */
    uint32_t *rows, capacity, n_rows;
};

int rlt_distance_memo_create(struct rlt_distance_memo **out)
{
    struct rlt_distance_memo *m = *out = calloc(1, sizeof *m);
    if (m && pthread_mutex_init(&m->lock, NULL) == 0)
        return 0;
    free(m);
    *out = NULL;
    return RLT_ENOMEM;
}

void rlt_distance_memo_free(struct rlt_distance_memo *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    rlt_map_free(&m->row_of);
    free(m->rows);
    free(m);
}

static int keep(struct rlt_distance_memo *m, uint32_t root, const uint32_t *distances, uint32_t nodes,
                rlt_error *err)
{
    uint64_t end = ((uint64_t)m->n_rows + 1) * nodes;
    if (end > MAX_KEPT)
        return 0;
    int rc = rlt_grow(&m->rows, &m->capacity, sizeof *m->rows, end, MAX_KEPT, "distances", err);
    if (rc)
        return rc;
    memcpy(m->rows + end - nodes, distances, nodes * sizeof *distances);
    return rlt_map_put(&m->row_of, root, m->n_rows++) ? rlt_nomem(err) : 0;
}

/* Finds distances. The lock is held. */
static int find(struct rlt_distance_memo *m, const rlt_edges *g, const uint32_t *all, const uint32_t *roots,
                uint32_t n, uint32_t *distances, rlt_error *err)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = rlt_map_get(&m->row_of, roots[i]);
        if (row == RLT_NONE)
            continue;
        memcpy(distances + (size_t)i * g->n_nodes, m->rows + (size_t)row * g->n_nodes,
               g->n_nodes * sizeof *distances);
        known++;
    }
    if (known == n)
        return 0;
    int rc = rlt_graph_distances(g, roots, n, all, g->n_nodes, distances, err);
    for (uint32_t i = 0; i < n && !rc; i++)
        if (rlt_map_get(&m->row_of, roots[i]) == RLT_NONE)
            rc = keep(m, roots[i], distances + (size_t)i * g->n_nodes, g->n_nodes, err);
    return rc;
}

int rlt_distances_find(struct rlt_distance_memo *m, const rlt_edges *g, const uint32_t *all,
                       const uint32_t *roots, uint32_t n, uint32_t *distances, rlt_error *err)
{
    pthread_mutex_lock(&m->lock);
    int rc = find(m, g, all, roots, n, distances, err);
    pthread_mutex_unlock(&m->lock);
    return rc;
}
