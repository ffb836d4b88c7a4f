/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of operators, by METIS (Karypis, Kumar: "A fast and high quality multilevel scheme for partitioning
 * irregular graphs", 1998). */
#include <fcntl.h>
#include <math.h>
#include <metis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "tools/deploy/deploy.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

/* METIS of Debian has 32-bit integers: weights stay below this. */
#define MOST_KB (1 << 24)

/* The graph of base groups, as METIS takes it: each edge once from both ends. */
typedef struct weighted {
    idx_t n, edges;
    idx_t *first, *to, *edge_weight, *weight;
} weighted;

static int cmp_pair(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Lists pairs of base groups with the sum of their tensors in KB; from both ends. */
static int find_edges(const rlt_opgraph *g, const uint32_t *base, weighted *w, rlt_error *err)
{
    uint64_t(*pairs)[2] = malloc(((size_t)g->n_tensors * 2 + 1) * sizeof *pairs);
    size_t n = 0, kept = 0;
    if (!pairs)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint64_t a = base[g->tensors[i].src], b = base[g->tensors[i].dst];
        if (a == b)
            continue;
        uint64_t kb = 1 + g->tensors[i].bytes / 1024;
        pairs[n][0] = a << 32 | b;
        pairs[n++][1] = kb;
        pairs[n][0] = b << 32 | a;
        pairs[n++][1] = kb;
    }
    qsort(pairs, n, sizeof *pairs, cmp_pair);
    w->first = calloc((size_t)w->n + 1, sizeof *w->first);
    w->to = malloc((n + 1) * sizeof *w->to);
    w->edge_weight = malloc((n + 1) * sizeof *w->edge_weight);
    for (size_t i = 0; i < n && w->first && w->to && w->edge_weight; kept++) {
        uint64_t key = pairs[i][0], kb = 0;
        for (; i < n && pairs[i][0] == key; i++)
            kb += pairs[i][1];
        w->first[(key >> 32) + 1]++;
        w->to[kept] = (idx_t)(key & UINT32_MAX);
        w->edge_weight[kept] = (idx_t)(kb < MOST_KB ? kb : MOST_KB);
    }
    free(pairs);
    if (!w->first || !w->to || !w->edge_weight)
        return rlt_nomem(err);
    for (idx_t i = 0; i < w->n; i++)
        w->first[i + 1] += w->first[i];
    w->edges = (idx_t)kept;
    return 0;
}

static int weigh(const rlt_opgraph *g, const uint32_t *base, weighted *w, rlt_error *err)
{
    w->weight = malloc(((size_t)w->n + 1) * sizeof *w->weight);
    if (!w->weight)
        return rlt_nomem(err);
    for (idx_t i = 0; i < w->n; i++)
        w->weight[i] = 1;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        double us = (double)g->ops[i].time_ps / (double)RLT_US;
        w->weight[base[i]] += (idx_t)sqrt(us < 1e12 ? us : 1e12);
    }
    return 0;
}

/* METIS prints remarks about sparse graphs to standard output, which belongs to results. */
static int quiet(void)
{
    int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stdout);
    if (kept >= 0 && nowhere >= 0)
        (void)dup2(nowhere, STDOUT_FILENO);
    if (nowhere >= 0)
        close(nowhere);
    return kept;
}

static void loud(int kept)
{
    fflush(stdout);
    if (kept >= 0) {
        (void)dup2(kept, STDOUT_FILENO);
        close(kept);
    }
}

static int partition(weighted *w, uint32_t n, double balance, idx_t *part, rlt_error *err)
{
    idx_t parts = (idx_t)n, constraints = 1, objective;
    real_t load = (real_t)balance;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    int kept = quiet();
    int rc = (idx_t)n * 4 <= w->n
                 ? METIS_PartGraphKway(&w->n, &constraints, w->first, w->to, w->weight, NULL, w->edge_weight,
                                       &parts, NULL, &load, options, &objective, part)
                 : METIS_PartGraphRecursive(&w->n, &constraints, w->first, w->to, w->weight, NULL,
                                            w->edge_weight, &parts, NULL, &load, options, &objective, part);
    loud(kept);
    if (rc != METIS_OK)
        return rlt_fail(err, rc == METIS_ERROR_MEMORY ? RLT_ENOMEM : RLT_ECHECK, "METIS",
                        "cannot divide %d base groups into %u groups", (int)w->n, n);
    return 0;
}

/* Share of the bytes that cross groups. METIS's own objective is not to be trusted: it can be negative. */
static double cut_of(const rlt_opgraph *g, const uint32_t *of_op)
{
    double crossing = 0, all = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        all += (double)t->bytes;
        crossing += of_op[t->src] != of_op[t->dst] ? (double)t->bytes : 0;
    }
    return all > 0 ? crossing / all : 0;
}

int rlt_deploy_group(const rlt_opgraph *g, uint32_t n, double balance, rlt_grouping *out, double *cut,
                     rlt_error *err)
{
    uint32_t *base = malloc(g->n_ops * sizeof *base), n_base = 0;
    weighted w = {0};
    idx_t *part = NULL;
    int rc = base ? rlt_opgraph_base_groups(g, base, &n_base, err) : rlt_nomem(err);
    *out = (rlt_grouping){0};
    w.n = (idx_t)n_base;
    if (!rc && n_base > n) {
        part = malloc(n_base * sizeof *part);
        rc = part ? 0 : rlt_nomem(err);
        if (!rc && !(rc = find_edges(g, base, &w, err)) && !(rc = weigh(g, base, &w, err)))
            rc = partition(&w, n, balance, part, err);
        for (uint32_t i = 0; i < g->n_ops && !rc; i++)
            base[i] = (uint32_t)part[base[i]];
    }
    if (!rc)
        rc = rlt_grouping_make(g, base, n_base > n ? n : n_base, out, err);
    if (!rc && cut)
        *cut = cut_of(g, out->of_op);
    free(base);
    free(part);
    free(w.first);
    free(w.to);
    free(w.edge_weight);
    free(w.weight);
    return rc;
}
