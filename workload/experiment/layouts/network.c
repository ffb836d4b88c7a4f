/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/network.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/factor.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/plan/shares.h"
#include "workload/replay/alone.h"
#include "workload/setup/settings.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

enum { CORNERS = 64 };

/* A network in use: a corner of boxes, opened, with what is known of its collectives. */
typedef struct corner {
    uint16_t at[RLT_MAX_DIMS];
    uint64_t used; /* turn of its last use */
    char *topology;
    rlt_layouts layouts;
    rlt_timing *alone;
} corner;

typedef struct judge {
    const rlt_network_plan *plan;
    const rlt_layout_point *items;
    const rlt_watch *watch;
    corner corners[CORNERS];
    uint32_t n;
    uint64_t turn;
} judge;

/* ---- the text of a network ---- */

static int check_dim(const char *dim, size_t length, rlt_error *err)
{
    const char *end = dim + length, *at = memchr(dim, '@', length);
    if (!at || *dim == '{')
        return rlt_fail(err, RLT_EUSAGE, "--with-network",
                        "--topology must be written out, such as ring:4@200GB/s,500ns*switch:8@50GB/s,2us; "
                        "'%.*s' has no bandwidth to change",
                        (int)length, dim);
    const char *setting = memchr(at, ',', (size_t)(end - at));
    while (setting && (setting = memchr(setting + 1, ',', (size_t)(end - setting - 1)))) {
        size_t n = strcspn(setting + 1, "=,*");
        if (n != strlen("in_network") || strncmp(setting + 1, "in_network", n) != 0)
            return rlt_fail(err, RLT_EUSAGE, "--with-network",
                            "a dimension must have one bandwidth, and '%.*s' has the setting '%.*s'",
                            (int)length, dim, (int)n, setting + 1);
    }
    return 0;
}

int rlt_network_check(const char *topology, rlt_error *err)
{
    int rc = 0;
    if (!topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "is missing");
    while (!rc) {
        size_t length = strcspn(topology, "*");
        rc = check_dim(topology, length, err);
        if (!topology[length])
            break;
        topology += length + 1;
    }
    return rc;
}

/* Writes the text with other bandwidths. It has passed rlt_network_check. */
static int write_topology(const char *text, const uint64_t bw_Bps[RLT_MAX_DIMS], char **out, rlt_error *err)
{
    rlt_growing t = {.text = NULL};
    for (uint32_t d = 0;; d++) {
        const uint64_t unit = 1000000000;
        size_t head = strcspn(text, "@") + 1;
        int digits = 9;
        uint64_t part = bw_Bps[d] % unit;
        for (; part && part % 10 == 0; digits--)
            part /= 10;
        rlt_growing_bytes(&t, text, head);
        rlt_growing_add(&t, "%" PRIu64, bw_Bps[d] / unit);
        if (part)
            rlt_growing_add(&t, ".%0*" PRIu64, digits, part);
        text += head + strcspn(text + head, ",*");
        rlt_growing_add(&t, "GB/s");
        size_t rest = strcspn(text, "*");
        rlt_growing_bytes(&t, text, rest + (text[rest] == '*'));
        if (!text[rest] || d + 1 == RLT_MAX_DIMS)
            break;
        text += rest + 1;
    }
    size_t length;
    return rlt_growing_finish(&t, out, &length, err);
}

/* Computes the bandwidths of a split. Rounded down, they do not spend more than the budget. */
static void bandwidths(const rlt_network_plan *p, const uint16_t at[RLT_MAX_DIMS],
                       uint64_t bw_Bps[RLT_MAX_DIMS])
{
    for (uint32_t d = 0; d < p->n_dims; d++)
        bw_Bps[d] = (uint64_t)(p->budget.most_Bps[d] * at[d] / p->budget.steps);
}

/* ---- a network in use ---- */

static void close_corner(corner *c)
{
    rlt_timing_free(c->alone);
    rlt_layouts_close(&c->layouts);
    free(c->topology);
    *c = (corner){.used = 0};
}

static int open_on(const rlt_network_plan *p, const char *topology, rlt_layouts *l, rlt_error *err)
{
    rlt_run_settings s = *p->settings;
    s.sim.topology = topology;
    return rlt_layouts_open(l, &s, p->args, err);
}

/* Finds the network of a corner, or opens it in the place of the one that was not used for longest. */
static int find_corner(judge *j, const uint16_t at[RLT_MAX_DIMS], corner **out, rlt_error *err)
{
    uint64_t bw_Bps[RLT_MAX_DIMS] = {0};
    corner *c = j->corners;
    for (uint32_t i = 0; i < j->n; i++) {
        if (memcmp(j->corners[i].at, at, j->plan->n_dims * sizeof *at) == 0) {
            *out = &j->corners[i];
            (*out)->used = ++j->turn;
            return 0;
        }
        c = j->corners[i].used < c->used ? &j->corners[i] : c;
    }
    if (j->n < CORNERS)
        c = &j->corners[j->n++];
    close_corner(c);
    memcpy(c->at, at, sizeof c->at);
    bandwidths(j->plan, at, bw_Bps);
    c->used = ++j->turn;
    int rc = write_topology(j->plan->settings->sim.topology, bw_Bps, &c->topology, err);
    if (!rc && !(rc = open_on(j->plan, c->topology, &c->layouts, err)))
        rc = rlt_timing_alone(&c->layouts.run.options, &c->alone, err);
    *out = c;
    return rc;
}

static int time_of(void *ctx, uint32_t item, const uint16_t at[RLT_MAX_DIMS], rlt_time *time_ps,
                   rlt_error *err)
{
    judge *j = ctx;
    corner *c = NULL;
    rlt_training t;
    int rc = find_corner(j, at, &c, err);
    if (!rc && !(rc = rlt_layouts_training(&c->layouts, &j->items[item], &t, err)))
        rc = rlt_layout_simulate(&t, &c->layouts.run.options, true, c->alone, j->watch, time_ps, err);
    return rc;
}

/* ---- the search ---- */

/* Scales the given bandwidths to the budget. */
static void scale_given(const rlt_network_plan *p, const rlt_topology *t, uint64_t bw_Bps[RLT_MAX_DIMS])
{
    double spent = 0;
    for (uint32_t d = 0; d < p->n_dims; d++)
        spent += (double)rlt_topology_dim(t, d).bw_Bps / p->budget.most_Bps[d];
    for (uint32_t d = 0; d < p->n_dims; d++) {
        double bw = (double)rlt_topology_dim(t, d).bw_Bps / spent;
        bw_Bps[d] = bw < 1 ? 1 : bw < p->budget.most_Bps[d] ? (uint64_t)bw : (uint64_t)p->budget.most_Bps[d];
    }
}

static int check_budget(const rlt_network_plan *p, rlt_error *err)
{
    const rlt_network_budget *b = &p->budget;
    if (b->steps < p->n_dims || b->steps > RLT_MAX_STEPS)
        return rlt_fail(err, RLT_EUSAGE, "--steps", "expected %u (dimensions) to %d, got %u", p->n_dims,
                        RLT_MAX_STEPS, b->steps);
    for (uint32_t d = 0; d < p->n_dims; d++) {
        if (!(b->most_Bps[d] / b->steps >= 1))
            return rlt_fail(err, RLT_ERANGE, b->setting,
                            "is too small for %u --steps: one of them buys less than 1 byte a second in "
                            "dimension %u",
                            b->steps, d + 1);
        if (!(b->most_Bps[d] <= (double)RLT_MAX_LINK_Bps))
            return rlt_fail(err, RLT_ERANGE, b->setting, "buys more than 1 PB/s in dimension %u", d + 1);
    }
    return 0;
}

int rlt_network_open(rlt_network_plan *p, const rlt_network_budget *budget, const rlt_run_settings *s,
                     const rlt_parsed *args, rlt_error *err)
{
    uint64_t bw_Bps[RLT_MAX_DIMS] = {0};
    uint16_t most[RLT_MAX_DIMS] = {0};
    rlt_topology *t = NULL;
    p->budget = *budget;
    p->settings = s;
    p->args = args;
    int rc = rlt_network_check(s->sim.topology, err);
    if (rc || (rc = rlt_setup_topology(&s->sim, &t, err)))
        return rc;
    p->n_dims = rlt_topology_dims(t);
    rc = check_budget(p, err);
    if (!rc) {
        scale_given(p, t, bw_Bps);
        memcpy(p->as_given.bw_Bps, bw_Bps, sizeof bw_Bps);
        rc = write_topology(s->sim.topology, bw_Bps, &p->given_text, err);
    }
    rlt_topology_free(t);
    if (rc)
        return rc;
    for (uint32_t d = 0; d < p->n_dims; d++)
        most[d] = (uint16_t)(budget->steps - p->n_dims + 1);
    bandwidths(p, most, bw_Bps);
    rc = write_topology(s->sim.topology, bw_Bps, &p->relaxed_text, err);
    if (!rc && !(rc = open_on(p, p->given_text, &p->given, err)))
        rc = open_on(p, p->relaxed_text, &p->relaxed, err);
    return rc;
}

static int take_point(const rlt_network_plan *p, const rlt_layout_point *layout, const rlt_share_point *share,
                      rlt_network_point *out, rlt_error *err)
{
    out->layout = *layout;
    out->layout.time_ps = share->time_ps;
    bandwidths(p, share->at, out->bw_Bps);
    return write_topology(p->settings->sim.topology, out->bw_Bps, &out->topology, err);
}

static int copy_given(const rlt_network_plan *p, rlt_network_point *out, rlt_error *err)
{
    *out = p->as_given;
    return write_topology(p->settings->sim.topology, out->bw_Bps, &out->topology, err);
}

/* Searches the given network; the best split for its fastest layout follows. */
static int first_step(rlt_network_plan *p, judge *j, const rlt_layout_search *how, rlt_error *err)
{
    rlt_share_result shares = {.points = NULL};
    rlt_layout_search exact = *how;
    exact.within = exact.gap = 0;
    int rc = rlt_layouts_find(&p->given, &exact, err);
    if ((rc && rc != RLT_ECANCELLED) || !p->given.result.n)
        return rc;
    p->as_given.layout = p->given.result.points[0];
    int copied = copy_given(p, &p->as_given, err);
    if (rc || (rc = copied))
        return rc;
    rlt_share_search s = {.n_dims = p->n_dims,
                          .steps = p->budget.steps,
                          .n_items = 1,
                          .time = time_of,
                          .ctx = j,
                          .known_ps = RLT_TIME_MAX,
                          .most = how->most,
                          .watch = how->watch};
    j->items = &p->as_given.layout;
    rc = rlt_shares_find(&s, &shares, err);
    if (!rc && shares.points[0].time_ps < p->as_given.layout.time_ps)
        rc = take_point(p, &p->as_given.layout, &shares.points[0], &p->resplit, err);
    else if (!rc)
        rc = copy_given(p, &p->resplit, err);
    rlt_share_result_free(&shares);
    return rc;
}

/* Branch and bound over the layouts that are left. */
static int third_step(rlt_network_plan *p, judge *j, const rlt_layout_search *how, rlt_error *err)
{
    const rlt_layout_result *r = &p->relaxed.result;
    rlt_time *bounds = calloc((size_t)r->n + 1, sizeof *bounds);
    if (!bounds)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < r->n; i++)
        bounds[i] = r->points[i].time_ps;
    rlt_share_search s = {.n_dims = p->n_dims,
                          .steps = p->budget.steps,
                          .n_items = r->n,
                          .bound_ps = bounds,
                          .time = time_of,
                          .ctx = j,
                          /* that one is a row, too: it is found once more, if it is on the grid */
                          .known_ps = p->resplit.layout.time_ps + 1,
                          .within = how->within,
                          .gap = how->gap,
                          .most = how->most,
                          .watch = how->watch};
    j->items = r->points;
    int rc = rlt_shares_find(&s, &p->shares, err);
    free(bounds);
    return rc;
}

static bool same_layout(const rlt_layout_point *a, const rlt_layout_point *b)
{
    return memcmp(a->at, b->at, sizeof a->at) == 0;
}

static int by_time(const void *a, const void *b)
{
    const rlt_network_point *x = a, *y = b;
    if (x->layout.time_ps != y->layout.time_ps)
        return x->layout.time_ps < y->layout.time_ps ? -1 : 1;
    return memcmp(x->layout.at, y->layout.at, sizeof x->layout.at);
}

/* Makes the rows: the best split of each layout, and the given network where that is better. */
static int collect(rlt_network_plan *p, rlt_error *err)
{
    const rlt_network_point *first = p->resplit.topology ? &p->resplit : &p->as_given;
    bool known = !first->topology;
    int rc = 0;
    p->points = calloc((size_t)p->shares.n + 1, sizeof *p->points);
    if (!p->points)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < p->shares.n && !rc; i++) {
        const rlt_share_point *s = &p->shares.points[i];
        const rlt_layout_point *layout = &p->relaxed.result.points[s->item];
        if (first->topology && same_layout(layout, &first->layout)) {
            if (first->layout.time_ps < s->time_ps)
                continue; /* off the grid */
            known = true;
        }
        rc = take_point(p, layout, s, &p->points[p->n++], err);
    }
    if (!rc && !known) {
        rlt_network_point *last = &p->points[p->n++];
        *last = *first;
        rc = write_topology(p->settings->sim.topology, last->bw_Bps, &last->topology, err);
    }
    if (p->n)
        qsort(p->points, p->n, sizeof *p->points, by_time);
    return rc;
}

static rlt_time least(rlt_time a, rlt_time b)
{
    return a < b ? a : b;
}

int rlt_network_find(rlt_network_plan *p, const rlt_layout_search *how, rlt_error *err)
{
    judge *j = calloc(1, sizeof *j);
    if (!j)
        return rlt_nomem(err);
    j->plan = p;
    j->watch = how->watch;
    int rc = first_step(p, j, how, err);
    if (!rc && p->given.result.n) {
        rlt_layout_search all = *how;
        double until = (double)p->resplit.layout.time_ps * (1 + how->within) / (1 + how->gap);
        all.until_ps = until < (double)RLT_TIME_MAX / 2 ? (rlt_time)until + 1 : RLT_TIME_MAX;
        rc = rlt_layouts_find(&p->relaxed, &all, err);
        p->least_ps = p->relaxed.result.least_pruned_ps;
        if (!rc)
            rc = third_step(p, j, how, err);
        else if (p->relaxed.result.n)
            p->least_ps = least(p->least_ps, p->relaxed.result.points[0].time_ps);
        if (!rc || p->shares.pairs > 0)
            p->least_ps = least(p->least_ps, p->shares.least_open_ps);
        p->proven = rc == 0 && p->shares.proven;
    }
    if (!rc || rc == RLT_ECANCELLED) {
        int made = collect(p, rc ? NULL : err);
        rc = made ? made : rc;
    }
    for (uint32_t i = 0; i < j->n; i++)
        close_corner(&j->corners[i]);
    free(j);
    return rc;
}

void rlt_network_close(rlt_network_plan *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        free(p->points[i].topology);
    free(p->points);
    free(p->as_given.topology);
    free(p->resplit.topology);
    rlt_share_result_free(&p->shares);
    rlt_layouts_close(&p->given);
    rlt_layouts_close(&p->relaxed);
    free(p->given_text);
    free(p->relaxed_text);
    *p = (rlt_network_plan){0};
}
