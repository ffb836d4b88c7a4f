/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of networks, and the best split of each. */
#include "tools/design/search.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/words.h"

#define SAME_TIME 1e-8

static int find_block(const char *word, size_t length, const char *option, rlt_block *out, rlt_error *err)
{
    for (int b = 0; b < RLT_BLOCKS; b++) {
        const char *name = rlt_block_name((rlt_block)b);
        if (strlen(name) == length && strncmp(name, word, length) == 0) {
            *out = (rlt_block)b;
            return 0;
        }
    }
    return rlt_fail(err, RLT_EUSAGE, option, "expected ring, fully-connected or switch, got '%.*s'",
                    (int)(length < 40 ? length : 40), word);
}

int rlt_design_search_shapes(rlt_design_search *s, const char *list, const char *outer, rlt_error *err)
{
    const char *item;
    size_t length;
    int rc = find_block(outer, strlen(outer), "--outermost", &s->outer, err);
    while (!rc && (item = rlt_next_item(&list, ',', &length))) {
        rlt_block b = 0;
        rc = find_block(item, length, "--shapes", &b, err);
        for (uint32_t i = 0; i < s->n_inner && !rc; i++)
            if (s->inner[i] == b)
                rc = rlt_fail(err, RLT_EUSAGE, "--shapes", "%s twice", rlt_block_name(b));
        if (!rc)
            s->inner[s->n_inner++] = b;
    }
    return rc;
}

typedef struct searching {
    const rlt_design_search *s;
    const rlt_design_setup *u;
    rlt_design_goal goal;
    double deadline_s;
    rlt_points *out;
    rlt_error *err;
} searching;

/* Returns true if every part has a price: the levels, and the switches of levels that use them. */
static bool on_sale(const rlt_design_candidate *c)
{
    const rlt_design_prices *p = &c->u->prices;
    for (uint32_t i = 0; i < c->net.n; i++) {
        rlt_level l = c->net.dims[i].level;
        if (p->lacks[l] || (c->net.dims[i].block == RLT_BLOCK_SWITCH && p->switch_port[l] <= 0))
            return false;
    }
    return true;
}

static int judge(searching *x, const rlt_design_net *net)
{
    rlt_design_candidate c;
    rlt_split split;
    rlt_error why = {0};
    int rc = rlt_design_candidate_open(&c, x->u, net, &why);
    x->out->unpriced += rc == 0 && !on_sale(&c);
    if (!rc && !on_sale(&c)) {
        rlt_design_candidate_free(&c);
        return 0;
    }
    if (!rc)
        rc = rlt_design_candidate_solve(&c, x->goal, x->deadline_s, &split, &why);
    x->out->misfits += rc == RLT_ERANGE;
    x->out->infeasible += rc == RLT_ECHECK;
    if (!rc && !(rc = rlt_grow(&x->out->items, &x->out->room, sizeof *x->out->items, (uint64_t)x->out->n + 1,
                               RLT_MAX_SHAPES, "shapes", x->err))) {
        rlt_point *p = &x->out->items[x->out->n++];
        *p = (rlt_point){.net = c.net, .split = split};
        p->time_s = rlt_design_time(&c.all, split.bw);
        p->cost = rlt_design_cost_total(&x->u->cost, &c.net, split.bw);
    } else if (rc && rc != RLT_ERANGE && rc != RLT_ECHECK) {
        rc = rlt_fail(x->err, rc, why.where, "%s", why.what);
    } else if (rc) {
        rc = 0;
    }
    rlt_design_candidate_free(&c);
    return rc;
}

/* Returns true if the blocks cost the same: rings and fully connected dimensions do. */
static bool alike(rlt_block a, rlt_block b)
{
    return (a == RLT_BLOCK_SWITCH) == (b == RLT_BLOCK_SWITCH);
}

/* Extends a shape from dimension `d` on; the remaining dimensions have `left` accelerators together. */
static int descend(searching *x, rlt_design_net *net, uint32_t d, uint64_t left)
{
    const rlt_design_search *s = x->s;
    int rc = 0;
    if (d + 1 == net->n) {
        net->dims[d] =
            (rlt_design_dim){.block = s->outer, .size = (uint32_t)left, .latency_ps = s->latency_ps};
        return judge(x, net);
    }
    uint64_t most = left / 2;
    if (s->largest && most > s->largest)
        most = s->largest;
    for (uint64_t n = 2; n <= most && !rc; n++) {
        if (left % n)
            continue;
        for (uint32_t k = 0; k < s->n_inner && !rc; k++) {
            bool before = false;
            for (uint32_t i = 0; i < k; i++)
                before = before || alike(s->inner[i], s->inner[k]);
            if (before)
                continue;
            net->dims[d] =
                (rlt_design_dim){.block = s->inner[k], .size = (uint32_t)n, .latency_ps = s->latency_ps};
            rc = descend(x, net, d + 1, left / n);
        }
    }
    return rc;
}

int rlt_design_search_run(const rlt_design_search *s, const rlt_design_setup *u, rlt_design_goal goal,
                          double deadline_s, rlt_points *out, rlt_error *err)
{
    searching x = {.s = s, .u = u, .goal = goal, .deadline_s = deadline_s, .out = out, .err = err};
    int rc = 0;
    for (uint32_t n = s->min_dims; n <= s->max_dims && !rc; n++) {
        rlt_design_net net = {.n = n};
        rc = descend(&x, &net, 0, s->accelerators);
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const rlt_point *x = a, *y = b;
    if (x->rank_s != y->rank_s)
        return x->rank_s < y->rank_s ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->net.n != y->net.n)
        return x->net.n < y->net.n ? -1 : 1;
    for (uint32_t i = 0; i < x->net.n; i++)
        if (x->net.dims[i].size != y->net.dims[i].size)
            return x->net.dims[i].size < y->net.dims[i].size ? -1 : 1;
    return 0;
}

/* Differences below rounding do not count as faster or cheaper. */
void rlt_points_order(rlt_points *p)
{
    double least = 0, first = 0;
    for (uint32_t i = 0; i < p->n; i++)
        p->items[i].rank_s = p->items[i].time_s;
    if (p->n)
        qsort(p->items, p->n, sizeof *p->items, by_time);
    for (uint32_t i = 0; i < p->n; i++) {
        if (i == 0 || p->items[i].time_s > first * (1 + SAME_TIME))
            first = p->items[i].time_s;
        p->items[i].rank_s = first;
    }
    if (p->n)
        qsort(p->items, p->n, sizeof *p->items, by_time);
    for (uint32_t i = 0; i < p->n; i++) {
        p->items[i].front = i == 0 || p->items[i].cost < least * (1 - 1e-6);
        if (p->items[i].front)
            least = p->items[i].cost;
    }
}

void rlt_points_free(rlt_points *p)
{
    free(p->items);
    *p = (rlt_points){0};
}

double rlt_point_nic(const rlt_point *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->net.n; i++)
        sum += p->net.dims[i].level == RLT_LEVEL_POD ? p->split.bw[i] : 0;
    return sum;
}
