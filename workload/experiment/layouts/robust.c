/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/watch.h"
#include "workload/experiment/layouts/world.h"
#include "workload/training/cost.h"
#include "workload/training/training.h"

enum { TRIED = 32, FIRST_LIMIT = 256, MAX_POINTS = 1 << 24 };

static int read_range(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    const double most = 1000;
    rlt_layout_ranges *r = into;
    size_t i = p->offset / sizeof(double), length = strcspn(text, ":");
    char low[40];
    snprintf(low, sizeof low, "%.*s", (int)(length < sizeof low ? length : sizeof low - 1), text);
    const char *high = text[length] ? text + length + 1 : low;
    if (rlt_parse_number(low, 0, &r->low[i], where, NULL) ||
        rlt_parse_number(high, 0, &r->high[i], where, NULL) || !(r->low[i] >= 1 / most) ||
        r->high[i] > most || r->low[i] > r->high[i])
        return rlt_fail(
            err, RLT_EUSAGE, where,
            "expected two factors from 0.001 to 1000, the lower first, such as 0.1:1, got '%.60s'", text);
    return 0;
}

#define RANGE(i)                                                                                             \
    .kind = RLT_PARAM_OTHER, .read = read_range, .arg = "LOW:HIGH", RLT_FIELD(rlt_layout_ranges, low[i])
static const rlt_param ranges_of[] = {
    {"bandwidth", RANGE(0), .help = "factor on the bandwidth of the outermost dimension"},
    {"efficiency", RANGE(1), .help = "factor on the speed of accelerators"},
    {"half_sizes", RANGE(2), .help = "factor on what small microbatches lose"},
    {0}};

int rlt_layout_ranges_parse(const char *text, rlt_layout_ranges *out, rlt_error *err)
{
    *out = (rlt_layout_ranges){.low = {1, 1, 1}, .high = {1, 1, 1}};
    return rlt_params_set_list(ranges_of, "what is uncertain", out, text, err);
}

typedef struct robust {
    const rlt_layout_search *how;
    rlt__world *worlds; /* cases, opened */
    rlt_robust *out;
    uint32_t room;
    double least; /* regret */
} robust;

static void list_cases(const rlt_layout_ranges *r, rlt_robust *out)
{
    out->cases[out->n_cases++].at = (rlt_layout_factors){1, 1, 1};
    for (uint32_t corner = 0; corner < 1U << RLT_LAYOUT_FACTORS; corner++) {
        double at[RLT_LAYOUT_FACTORS];
        bool known = false;
        for (uint32_t i = 0; i < RLT_LAYOUT_FACTORS; i++)
            at[i] = corner >> i & 1 ? r->high[i] : r->low[i];
        rlt_layout_factors f = {at[0], at[1], at[2]};
        for (uint32_t c = 0; c < out->n_cases; c++)
            known = known || memcmp(&out->cases[c].at, &f, sizeof f) == 0;
        if (!known)
            out->cases[out->n_cases++].at = f;
    }
}

/* Finds the layouts within a share of the fastest of a case; limit 0: as many simulations as it takes. */
static int find(robust *r, uint32_t c, double within, uint64_t limit, rlt_error *err)
{
    rlt_layouts *l = &r->worlds[c].l;
    rlt_layout_search how = *r->how;
    how.within = within;
    how.most = limit;
    rlt_layout_result_free(&l->result);
    int rc = rlt_layouts_find(l, &how, err);
    r->out->simulated += l->result.n;
    return rc;
}

/* Returns the regret of a time. */
static double regret(const robust *r, uint32_t c, rlt_time time_ps)
{
    return (double)time_ps / (double)r->out->cases[c].best.time_ps - 1;
}

/* Simulates a point in a case, unless its bound says that its regret is above `most`: *time_ps is then that
 * bound. */
static int time_in(robust *r, uint32_t c, const rlt_layout_point *p, double most, rlt_time *time_ps,
                   rlt_error *err)
{
    rlt__world *w = &r->worlds[c];
    rlt_training t;
    rlt_training_cost cost = {0};
    int rc = rlt_layouts_training(&w->l, p, &t, err);
    if (!rc && !(rc = rlt_training_cost_find(&t, &w->l.run.options, w->alone, false, &cost, err)))
        *time_ps = rlt_training_bound(&t, &cost);
    rlt_training_cost_free(&cost);
    if (rc || regret(r, c, *time_ps) > most)
        return rc;
    r->out->simulated++;
    return rlt__world_simulate(w, &t, r->how->watch, time_ps, err);
}

/* Finds the times of a point, whose time in case `known` is at hand, and its regret. *left: one case has more
 * than `most`. */
static int judge(robust *r, const rlt_layout_point *p, uint32_t known, double most, rlt_robust_point *out,
                 bool *left, rlt_error *err)
{
    int rc = 0;
    *out = (rlt_robust_point){.point = *p, .worst = -1};
    *left = false;
    out->time_ps[known] = p->time_ps;
    for (uint32_t c = 0; c < r->out->n_cases && !rc && !*left; c++) {
        if (c != known)
            rc = time_in(r, c, p, most, &out->time_ps[c], err);
        double one = rc ? 0 : regret(r, c, out->time_ps[c]);
        *left = one > most;
        if (one > out->worst) {
            out->worst = one;
            out->where = c;
        }
    }
    out->point.time_ps = out->time_ps[0];
    return rc;
}

static bool same(const rlt_layout_point *a, const rlt_layout_point *b)
{
    return memcmp(a->at, b->at, sizeof a->at) == 0;
}

/* Judges a point that was not judged yet, and keeps it. */
static int consider(robust *r, const rlt_layout_point *p, uint32_t known, rlt_error *err)
{
    rlt_robust *out = r->out;
    rlt_robust_point one;
    bool left;
    for (uint32_t i = 0; i < out->n; i++)
        if (same(&out->points[i].point, p))
            return 0;
    int rc = judge(r, p, known, r->least + r->how->within, &one, &left, err);
    if (rc || left)
        return rc;
    rc = rlt_grow(&out->points, &r->room, sizeof *out->points, (uint64_t)out->n + 1, MAX_POINTS, "layouts",
                  err);
    if (rc)
        return rc;
    out->points[out->n++] = one;
    r->least = one.worst < r->least ? one.worst : r->least;
    return 0;
}

/* Judges the fastest layouts of a case. */
static int consider_first(robust *r, uint32_t c, uint32_t most, rlt_error *err)
{
    const rlt_layout_result *found = &r->worlds[c].l.result;
    int rc = 0;
    for (uint32_t i = 0; i < found->n && i < most && !rc; i++) {
        if (regret(r, c, found->points[i].time_ps) > r->least + r->how->within)
            break;
        rc = consider(r, &found->points[i], c, err);
    }
    return rc;
}

/* Finds all layouts that may have a lesser regret, in the case where that is least work. */
static int consider_all(robust *r, rlt_error *err)
{
    double within = (r->least + r->how->within) * (1 + 1e-9) + 1e-9; /* rounding */
    for (uint64_t limit = FIRST_LIMIT;; limit *= 4)
        for (uint32_t c = 0; c < r->out->n_cases; c++) {
            rlt_error why = {0};
            int rc = find(r, c, within, limit, &why);
            if (!rc) {
                r->out->searched = c;
                return consider_first(r, c, r->worlds[c].l.result.n, err);
            }
            if (rc != RLT_ECANCELLED || rlt_watch_stopped(r->how->watch))
                return rlt_fail(err, rc, why.where, "%s", why.what);
        }
}

static int by_regret(const void *a, const void *b)
{
    const rlt_robust_point *x = a, *y = b;
    if (x->worst < y->worst || x->worst > y->worst)
        return x->worst < y->worst ? -1 : 1;
    if (x->point.time_ps != y->point.time_ps)
        return x->point.time_ps < y->point.time_ps ? -1 : 1;
    return memcmp(x->point.at, y->point.at, sizeof x->point.at);
}

/* Sorts the points, and drops those above the least regret and the share. */
static void settle(robust *r)
{
    rlt_robust *out = r->out;
    if (!out->n)
        return;
    qsort(out->points, out->n, sizeof *out->points, by_regret);
    while (out->n > 1 && out->points[out->n - 1].worst > r->least + r->how->within)
        out->n--;
}

static int search(robust *r, rlt_error *err)
{
    rlt_robust *out = r->out;
    int rc = 0;
    bool left;
    for (uint32_t c = 0; c < out->n_cases && !rc; c++) {
        if ((rc = find(r, c, 0, 0, err)))
            return rc;
        if (!r->worlds[c].l.result.n)
            return 0; /* nothing fits, whatever the factors */
        out->cases[c].best = r->worlds[c].l.result.points[0];
    }
    rc = judge(r, &out->cases[0].best, 0, INFINITY, &out->nominal, &left, err);
    r->least = out->nominal.worst;
    for (uint32_t c = 0; c < out->n_cases && !rc; c++)
        rc = consider_first(r, c, TRIED, err);
    return rc ? rc : consider_all(r, err);
}

int rlt_robust_find(const rlt_layouts *l, const rlt_layout_ranges *ranges, const rlt_layout_search *how,
                    rlt_robust *out, rlt_error *err)
{
    robust r = {.how = how, .out = out};
    int rc = 0;
    *out = (rlt_robust){0};
    list_cases(ranges, out);
    r.worlds = calloc(out->n_cases, sizeof *r.worlds);
    if (!r.worlds)
        return rlt_nomem(err);
    for (uint32_t c = 0; c < out->n_cases && !rc; c++)
        rc = rlt__world_open(&r.worlds[c], l, &out->cases[c].at, err);
    if (!rc)
        rc = search(&r, err);
    settle(&r);
    for (uint32_t c = 0; c < out->n_cases; c++)
        rlt__world_close(&r.worlds[c]);
    free(r.worlds);
    return rc;
}

void rlt_robust_free(rlt_robust *r)
{
    free(r->points);
    *r = (rlt_robust){0};
}
