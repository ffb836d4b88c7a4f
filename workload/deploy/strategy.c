/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions, groupings and strategies. */
#include "workload/deploy/strategy.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"

int rlt_actions_list(const rlt_cluster *c, bool duplicate, rlt_action **list, uint32_t *n, rlt_error *err)
{
    uint32_t sets = (1u << c->n_groups) - 1, ways = duplicate ? RLT_USES : RLT_USE_DUPLICATE;
    *n = 0;
    *list = malloc((size_t)sets * ways * sizeof **list);
    if (!*list)
        return rlt_nomem(err);
    for (uint32_t placement = 1; placement <= sets; placement++)
        for (uint32_t use = 0; use < ways; use++)
            /* On a single device all ways are one. */
            if (rlt_cluster_devices(c, placement) > 1 || use == RLT_USE_ALL_REDUCE)
                (*list)[(*n)++] = (rlt_action){placement, (uint8_t)use};
    return 0;
}

typedef struct ranked {
    rlt_time time_ps;
    uint32_t number;
} ranked;

static int longer(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps > y->time_ps ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Sorts groups by decreasing time, empty ones last, and numbers the operators anew. */
static void renumber(ranked *order, uint32_t *place, const uint32_t *of_op, uint32_t n_ops, uint32_t n,
                     rlt_grouping *out)
{
    qsort(order, n, sizeof *order, longer);
    for (uint32_t i = 0; i < n; i++)
        place[order[i].number] = i;
    for (uint32_t i = 0; i < n && order[i].time_ps >= 0; i++)
        out->time_ps[out->n++] = order[i].time_ps;
    for (uint32_t i = 0; i < n_ops; i++)
        out->of_op[i] = place[of_op[i]];
}

int rlt_grouping_make(const rlt_opgraph *g, const uint32_t *of_op, uint32_t n, rlt_grouping *out,
                      rlt_error *err)
{
    ranked *order = malloc(((size_t)n + 1) * sizeof *order);
    uint32_t *place = malloc(((size_t)n + 1) * sizeof *place);
    int rc = 0;
    *out = (rlt_grouping){.of_op = malloc((size_t)g->n_ops * sizeof *out->of_op),
                          .time_ps = malloc(((size_t)n + 1) * sizeof *out->time_ps)};
    if (!order || !place || !out->of_op || !out->time_ps)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++)
        order[i] = (ranked){-1, i}; /* no operator so far */
    for (uint32_t i = 0; i < g->n_ops && !rc; i++) {
        if (of_op[i] >= n) {
            rc = rlt_fail(err, RLT_EUSAGE, g->ops[i].name, "group %u, where less than %u is possible",
                          of_op[i], n);
            break;
        }
        ranked *r = &order[of_op[i]];
        r->time_ps = rlt_time_add(r->time_ps < 0 ? 0 : r->time_ps, g->ops[i].time_ps);
    }
    if (!rc)
        renumber(order, place, of_op, g->n_ops, n, out);
    else
        rlt_grouping_free(out);
    free(order);
    free(place);
    return rc;
}

void rlt_grouping_free(rlt_grouping *p)
{
    free(p->of_op);
    free(p->time_ps);
    *p = (rlt_grouping){0};
}

int rlt_strategy_uniform(uint32_t n_groups, rlt_action a, rlt_strategy *out, rlt_error *err)
{
    *out = (rlt_strategy){.n = n_groups, .actions = malloc(((size_t)n_groups + 1) * sizeof *out->actions)};
    if (!out->actions)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n_groups; i++)
        out->actions[i] = a;
    return 0;
}

void rlt_strategy_free(rlt_strategy *s)
{
    free(s->actions);
    free(s->broadcast);
    *s = (rlt_strategy){0};
}
