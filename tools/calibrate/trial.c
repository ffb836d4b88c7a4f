/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements beside simulations: distinct requests, simulated on all processors, and the errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "tools/base/numbers.h"
#include "tools/base/pool.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "workload/experiment/coll/steps.h"
#include "workload/setup/settings.h"

int rlt_trial_add(rlt_trial *t, const rlt_measurement *m, uint32_t machine, bool *entered, rlt_error *err)
{
    uint32_t group;
    int rc;
    *entered = false;
    if (m->kind == RLT_SEND_RECV && m->ranks != 2)
        return 0;
    rc = rlt_machine_group_of(&t->machines[machine], m->ranks, m->nodes, &group, err);
    if (rc || group == RLT_NONE)
        return rc;
    rc = rlt_grow(&t->rows, &t->row_capacity, sizeof *t->rows, (uint64_t)t->n_rows + 1,
                  (uint64_t)RLT_MAX_MEASUREMENTS * 4, "measurements", err);
    if (!rc)
        t->rows[t->n_rows++] =
            (rlt_trial_row){.m = m, .group = m->system, .machine = machine, .ranks = group};
    *entered = rc == 0;
    return rc;
}

static int by_request(const void *a, const void *b)
{
    const rlt_trial_case *x = a, *y = b;
    if (x->machine != y->machine)
        return x->machine < y->machine ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->element != y->element)
        return x->element < y->element ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool same_request(const rlt_trial_case *x, const rlt_trial_case *y)
{
    return x->machine == y->machine && x->group == y->group && x->kind == y->kind && x->bytes == y->bytes &&
           x->element == y->element;
}

int rlt_trial_freeze(rlt_trial *t, rlt_error *err)
{
    rlt_trial_case *all = calloc(t->n_rows + 1, sizeof *all);
    t->cases = calloc(t->n_rows + 1, sizeof *t->cases);
    t->todo = calloc(t->n_rows + 1, sizeof *t->todo);
    if (!all || !t->cases || !t->todo) {
        free(all);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const rlt_trial_row *r = &t->rows[i];
        all[i] = (rlt_trial_case){.machine = r->machine,
                                  .group = r->ranks,
                                  .kind = r->m->kind,
                                  .bytes = r->m->bytes,
                                  .element = r->m->element,
                                  .row = i};
    }
    qsort(all, t->n_rows, sizeof *all, by_request);
    for (uint32_t i = 0; i < t->n_rows; i++) {
        if (i == 0 || !same_request(&all[i], &t->cases[t->n_cases - 1]))
            t->cases[t->n_cases++] = all[i];
        t->rows[all[i].row].at = t->n_cases - 1;
    }
    free(all);
    return 0;
}

/* Simulates a case, on any thread. Writes only its own case. */
static int simulate(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    rlt_trial *t = ctx;
    rlt_trial_case *c = &t->cases[t->todo[i]];
    const rlt_machine *m = &t->machines[c->machine];
    rlt_coll_request req = rlt_group_request(&m->groups[c->group].group, c->kind, c->bytes);
    rlt_watch watch = rlt_task_watcher(job);
    const rlt_algorithm *const *chosen = m->algorithms ? m->algorithms : t->algorithms;
    rlt_coll_how how = {.setup = &m->setup, .algorithm = chosen[c->kind], .fold = true, .watch = &watch};
    rlt_coll_run run = {0};
    int rc;
    (void)slot;
    req.element = c->element;
    rlt_setup_parameters(&m->setup, &req);
    rc = rlt_coll_plan(&run, &how, &req, err);
    if (!rc)
        rc = rlt_coll_simulate(&run, &how, err);
    c->time_ps = rc ? 0 : run.time_ps;
    rlt_coll_end(&run);
    if (rc && rc != RLT_ECANCELLED) {
        char place[600];
        const rlt_measurement *of = t->rows[c->row].m;
        snprintf(place, sizeof place, "%.300s:%u", of->file, of->line);
        rlt_error_prefix(err, place);
    }
    return rc;
}

static int take(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    (void)ctx, (void)i, (void)slot, (void)err;
    return 0;
}

int rlt_trial_run(rlt_trial *t, int which, rlt_error *err)
{
    enum { WAITING = 4096 };
    rlt_pool_work work = {.slots = WAITING, .ctx = t, .run = simulate, .take = take, .progress = t->progress};
    for (uint32_t i = 0; i < t->n_cases; i++)
        t->cases[i].wanted = false;
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (which & (t->rows[i].held_out ? RLT_HELD_OUT : RLT_FITTED) && !t->cases[t->rows[i].at].settled) {
            t->cases[t->rows[i].at].wanted = true;
            t->cases[t->rows[i].at].time_ps = 0;
        }
    for (uint32_t i = 0; i < t->n_cases; i++)
        if (t->cases[i].wanted)
            t->todo[work.n++] = i;
    return rlt_pool_run(&work, t->threads, err);
}

void rlt_trial_free(rlt_trial *t)
{
    free(t->rows);
    free(t->cases);
    free(t->todo);
    t->rows = NULL;
    t->cases = NULL;
    t->todo = NULL;
    t->n_rows = t->n_cases = t->row_capacity = t->left_out = 0;
}

static double ratio_of(const rlt_trial *t, const rlt_trial_row *r)
{
    return (double)t->cases[r->at].time_ps / (double)r->m->time_ps;
}

double rlt_trial_misfit(const rlt_trial *t)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (!t->rows[i].held_out) {
            sum += fabs(log(ratio_of(t, &t->rows[i])));
            n++;
        }
    return n ? sum / n : 0;
}

/* ---- errors ---- */

static double percentile(const double *sorted, uint32_t n, uint32_t p)
{
    uint64_t i = ((uint64_t)n * p + 99) / 100;
    return sorted[i ? i - 1 : 0];
}

rlt_errors rlt_errors_of(double *ratios, uint32_t n)
{
    rlt_errors e = {.rows = n};
    if (n == 0)
        return e;
    qsort(ratios, n, sizeof *ratios, rlt_by_value);
    e.ratio = percentile(ratios, n, 50);
    for (uint32_t i = 0; i < n; i++)
        ratios[i] = fabs(ratios[i] - 1);
    qsort(ratios, n, sizeof *ratios, rlt_by_value);
    e.median = percentile(ratios, n, 50);
    e.p90 = percentile(ratios, n, 90);
    e.worst = ratios[n - 1];
    return e;
}

double rlt_trial_large_error(const rlt_trial *t)
{
    double *ratios = calloc((size_t)t->n_rows + 1, sizeof *ratios), median;
    uint32_t n = 0;
    for (uint32_t i = 0; ratios && i < t->n_rows; i++)
        if (!t->rows[i].held_out && t->rows[i].m->bytes >= RLT_SMALL_BELOW &&
            t->cases[t->rows[i].at].time_ps > 0)
            ratios[n++] = ratio_of(t, &t->rows[i]);
    median = n ? rlt_errors_of(ratios, n).median : 0;
    free(ratios);
    return median;
}

typedef struct entry {
    const char *system;
    int kind, small, held_out;
    double ratio;
} entry;

/* Order of classes. Systems are ordered by name, so the result does not depend on the order of rows. */
static int by_class(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->system, y->system);
    if (order)
        return order;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    if (x->small != y->small)
        return x->small - y->small;
    return x->held_out - y->held_out;
}

/* Returns true if the system has more than one collective. */
static bool is_mixed(const entry *all, uint32_t n, const char *system)
{
    int kind = -1;
    for (uint32_t i = 0; i < n; i++)
        if (all[i].kind != RLT_COLL_KINDS && strcmp(all[i].system, system) == 0) {
            if (kind >= 0 && all[i].kind != kind)
                return true;
            kind = all[i].kind;
        }
    return false;
}

/* Makes two entries for each row: under its collective, and under all collectives of its system. */
static uint32_t make_entries(const rlt_trial *t, bool split, bool interpolated, entry *all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const rlt_trial_row *r = &t->rows[i];
        if (interpolated ? r->interpolated <= 0 : t->cases[r->at].time_ps <= 0)
            continue;
        entry e = {.system = r->group,
                   .kind = (int)r->m->kind,
                   .small = r->m->bytes < RLT_SMALL_BELOW,
                   .held_out = split ? r->held_out : -1,
                   .ratio = interpolated ? r->interpolated : ratio_of(t, r)};
        all[n++] = e;
        e.kind = RLT_COLL_KINDS;
        all[n++] = e;
    }
    return n;
}

int rlt_errors_table(const rlt_trial *t, bool split, bool interpolated, rlt_errors_list *out, rlt_error *err)
{
    uint32_t n_all, end, capacity = 0;
    entry *all = calloc((size_t)t->n_rows * 2 + 1, sizeof *all);
    double *ratios = calloc((size_t)t->n_rows + 1, sizeof *ratios);
    int rc = 0;
    *out = (rlt_errors_list){0};
    if (!all || !ratios) {
        free(all);
        free(ratios);
        return rlt_nomem(err);
    }
    n_all = make_entries(t, split, interpolated, all);
    qsort(all, n_all, sizeof *all, by_class);
    for (uint32_t i = 0; i < n_all && !rc; i = end) {
        for (end = i; end < n_all && by_class(&all[i], &all[end]) == 0; end++)
            ratios[end - i] = all[end].ratio;
        if (all[i].kind == RLT_COLL_KINDS && !is_mixed(all, n_all, all[i].system))
            continue;
        rc = rlt_grow(&out->rows, &capacity, sizeof *out->rows, (uint64_t)out->n + 1, UINT32_MAX, "classes",
                      err);
        if (!rc)
            out->rows[out->n++] = (rlt_errors_row){all[i].system, all[i].kind, all[i].small, all[i].held_out,
                                                   rlt_errors_of(ratios, end - i)};
    }
    free(all);
    free(ratios);
    return rc;
}
