/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests over clusters, and their table: as shipped, a group left out, half of the sizes fitted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/message.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/clusters.h"
#include "tools/calibrate/job.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"

enum { RLT_GIB = 1 << 30 };

static const rlt_column columns[] = {
    {"test", "test", NULL, RLT_COL_TEXT, 0, 0, "what the constants of the prediction were fitted to"},
    {"system", "system", NULL, RLT_COL_TEXT, 0, 0, "measured cluster; all: those that count; goal"},
    {"network", "network", NULL, RLT_COL_TEXT, 0, 0, "class of the network between its nodes"},
    {"rows_below", "rows", "< 1 MiB", RLT_COL_COUNT, 7, 0, "measured rows below 1 MiB"},
    {"median_below", "median", "%", RLT_COL_PERCENT, 7, 1, "median of their errors"},
    {"p90_below", "p90", "%", RLT_COL_PERCENT, 7, 1, "90th percentile of their errors"},
    {"rows_from_1MiB", "rows", ">= 1 MiB", RLT_COL_COUNT, 8, 0, "measured rows from 1 MiB on"},
    {"median_from_1MiB", "median", "%", RLT_COL_PERCENT, 7, 1, "median of their errors"},
    {"p90_from_1MiB", "p90", "%", RLT_COL_PERCENT, 7, 1, "90th percentile of their errors"},
    {"rows_from_1GiB", "rows", ">= 1 GiB", RLT_COL_COUNT, 8, 0, "those of 1 GiB or more"},
    {"median_from_1GiB", "median", "%", RLT_COL_PERCENT, 7, 1, "median of their errors"},
    {"p90_from_1GiB", "p90", "%", RLT_COL_PERCENT, 7, 1, "90th percentile of their errors"},
    {"apart", "apart", NULL, RLT_COL_TEXT, 0, 0, "why the cluster does not count"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_cluster_table = {"Clusters: `ringlet calibrate --clusters`, JSON `clusters[]`", columns,
                                       N_COLUMNS};

/* A test: its name, the goal's key in the file, and predicted / measured by row (0: not predicted). */
typedef struct result {
    const char *name, *goal;
    double *ratios;
} result;

enum { MAX_RESULTS = 4 };

typedef struct tests {
    rlt_clusters clusters;
    rlt_calib_job *j;
    result results[MAX_RESULTS];
    uint32_t n;
} tests;

/* ---- table ---- */

static bool in_class(uint64_t bytes, int class)
{
    return class == RLT_BELOW ? bytes < RLT_SMALL_BELOW
                              : bytes >= (class == RLT_FROM_GIB ? (uint64_t)RLT_GIB : RLT_SMALL_BELOW);
}

/* Writes a line about the rows of one cluster, or of all that count (NULL). */
static int put_line(const tests *x, const result *r, const rlt_cluster *only, rlt_table *t, rlt_error *err)
{
    const rlt_trial *trial = &x->j->trial;
    double *ratios = calloc((size_t)trial->n_rows + 1, sizeof *ratios);
    rlt_value v[N_COLUMNS] = {rlt_text(r->name), rlt_text(only ? only->name : "all"),
                              rlt_text(only ? only->network : NULL)};
    char why[300];
    uint32_t total = 0;
    if (!ratios)
        return rlt_nomem(err);
    for (int class = 0; class < RLT_CLASSES; class ++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < trial->n_rows; i++) {
            const rlt_cluster *k = rlt_cluster_of(&x->clusters, trial->rows[i].machine);
            if ((only ? k == only : !k->apart) && r->ratios[i] > 0 &&
                in_class(trial->rows[i].m->bytes, class))
                ratios[n++] = r->ratios[i];
        }
        rlt_errors e = rlt_errors_of(ratios, n);
        v[3 + 3 * class] = n ? rlt_count(n) : rlt_absent();
        v[4 + 3 * class] = n ? rlt_real(e.median) : rlt_absent();
        v[5 + 3 * class] = n ? rlt_real(e.p90) : rlt_absent();
        total += n;
    }
    v[N_COLUMNS - 1] = rlt_text(only ? only->apart : NULL);
    if (only && only->apart && !total) {
        snprintf(why, sizeof why, "%.200s (%u row%s not simulated)", only->apart, only->rows,
                 rlt_s(only->rows));
        v[N_COLUMNS - 1] = rlt_text(why);
    }
    if (total || (only && only->apart && only->rows))
        rlt_table_row(t, v);
    free(ratios);
    return 0;
}

static int put_goal(const tests *x, const result *r, rlt_table *t, rlt_error *err)
{
    static const char *const classes[] = {"below", "from_1MiB", "from_1GiB"};
    rlt_json goals = rlt_json_get(rlt_json_root(x->clusters.doc), "goals"),
             goal = rlt_json_get(goals, r->goal);
    rlt_value v[N_COLUMNS];
    int rc = 0;
    if (!rlt_json_is(goal))
        return 0;
    for (uint32_t i = 0; i < N_COLUMNS; i++)
        v[i] = rlt_absent();
    v[0] = rlt_text(r->name);
    v[1] = rlt_text("goal");
    for (int class = 0; class < RLT_CLASSES && !rc; class ++) {
        double median = 0, p90 = 0;
        rlt_json c = rlt_json_get(goal, classes[class]);
        if ((rc = rlt_json_get_double(c, "median", false, &median, err)) ||
            (rc = rlt_json_get_double(c, "p90", false, &p90, err)))
            break;
        if (median > 0)
            v[4 + 3 * class] = rlt_real(median);
        if (p90 > 0)
            v[5 + 3 * class] = rlt_real(p90);
    }
    if (!rc)
        rlt_table_row(t, v);
    return rc;
}

static int put_result(const tests *x, const result *r, rlt_table *t, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < x->clusters.n && !rc; i++)
        if (!x->clusters.list[i].apart)
            rc = put_line(x, r, &x->clusters.list[i], t, err);
    if (!rc && !(rc = put_line(x, r, NULL, t, err)))
        rc = put_goal(x, r, t, err);
    for (uint32_t i = 0; i < x->clusters.n && !rc && r == x->results && x->j->s->check; i++)
        if (x->clusters.list[i].apart)
            rc = put_line(x, r, &x->clusters.list[i], t, err);
    return rc;
}

static int report(const tests *x, rlt_error *err)
{
    rlt_calib_job *j = x->j;
    rlt_table t = {0};
    int rc = rlt_calib_begin(j, j->s->output, err);
    if (rc)
        return rc;
    if (j->report.format == RLT_FORMAT_CSV && j->s->rows) {
        rc = rlt_report_rows(&j->report, &j->trial, err);
        return rc ? rc : rlt_calib_end(j, j->s->output, err);
    }
    if (j->report.format == RLT_FORMAT_JSON)
        rlt_jw_array(&j->json, "clusters");
    rlt_table_begin(&t, j->report.format, columns, N_COLUMNS, j->report.out, j->report.json);
    for (uint32_t i = 0; i < x->n && !rc; i++)
        rc = put_result(x, &x->results[i], &t, err);
    int ended = rlt_table_end(&t, rc ? NULL : err);
    rc = rc ? rc : ended;
    if (j->report.format == RLT_FORMAT_JSON)
        rlt_jw_end_array(&j->json);
    if (!rc && j->s->rows) {
        rlt_calib_gap(j);
        rc = rlt_report_rows(&j->report, &j->trial, err);
    }
    return rc ? rc : rlt_calib_end(j, j->s->output, err);
}

/* ---- tests ---- */

static int begin(tests *x, const char *name, const char *goal, rlt_error *err)
{
    result *r = &x->results[x->n];
    *r = (result){
        .name = name, .goal = goal, .ratios = calloc((size_t)x->j->trial.n_rows + 1, sizeof(double))};
    if (!r->ratios)
        return rlt_nomem(err);
    x->n++;
    return 0;
}

static double ratio_of(const rlt_trial *t, uint32_t row)
{
    return (double)t->cases[t->rows[row].at].time_ps / (double)t->rows[row].m->time_ps;
}

static int check(tests *x, rlt_error *err)
{
    rlt_trial *t = &x->j->trial;
    int rc = rlt_trial_run(t, RLT_FITTED | RLT_HELD_OUT, err);
    if (rc || (rc = begin(x, "as shipped", "check", err)))
        return rc;
    for (uint32_t i = 0; i < t->n_rows; i++)
        x->results[0].ratios[i] = ratio_of(t, i);
    return 0;
}

/* Returns the cluster's group, as --by says. */
static const char *group_of(const tests *x, const rlt_cluster *k)
{
    const char *by = x->j->s->by;
    return strcmp(by, "site") == 0 ? k->site : strcmp(by, "family") == 0 ? k->network : k->name;
}

/* Fits to all groups but that of cluster `out`, and keeps the predictions of that group. */
static int leave_out(tests *x, const rlt_cluster *out, rlt_error *err)
{
    rlt_trial *t = &x->j->trial;
    const char *group = group_of(x, out);
    char constants[1500];
    uint32_t fitted = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        t->rows[i].held_out =
            strcmp(group_of(x, rlt_cluster_of(&x->clusters, t->rows[i].machine)), group) == 0;
        fitted += !t->rows[i].held_out;
    }
    if (!fitted)
        return rlt_fail(err, RLT_ESCHEMA, "--leave-one-out",
                        "only '%.100s' was measured: there is nothing else to fit to", group);
    int rc = rlt_clusters_fit(&x->clusters, x->j, NULL, constants, sizeof constants, err);
    if (rc)
        return rc;
    rlt_note("%s left out: %s", group, constants);
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].held_out)
            x->results[0].ratios[i] = ratio_of(t, i);
        else
            x->results[1].ratios[i] = 0;
    return 0;
}

/* Leaves each group out, and then fits to all of them, to show what the same form leaves where it sees every
 * row. */
static int leave_each_out(tests *x, rlt_error *err)
{
    rlt_trial *t = &x->j->trial;
    char constants[1500];
    int rc;
    if (strcmp(x->j->s->by, "nodes") == 0)
        return rlt_fail(err, RLT_EUSAGE, "--by",
                        "clusters can be left out by system, site or family (network)");
    if ((rc = begin(x, "left out", "left_out", err)) || (rc = begin(x, "in sample", "none", err)))
        return rc;
    for (uint32_t i = 0; i < x->clusters.n && !rc; i++) {
        const rlt_cluster *k = &x->clusters.list[i];
        bool again = k->machine == RLT_NONE;
        for (uint32_t e = 0; e < i && !again; e++)
            again = x->clusters.list[e].machine != RLT_NONE &&
                    strcmp(group_of(x, &x->clusters.list[e]), group_of(x, k)) == 0;
        if (!again)
            rc = leave_out(x, k, err);
    }
    for (uint32_t i = 0; i < t->n_rows; i++)
        t->rows[i].held_out = false;
    if (rc || (rc = rlt_clusters_fit(&x->clusters, x->j, NULL, constants, sizeof constants, err)))
        return rc;
    rlt_note("all fitted: %s", constants);
    for (uint32_t i = 0; i < t->n_rows; i++)
        x->results[1].ratios[i] = ratio_of(t, i);
    return 0;
}

/* Holds out every second row of each series of the cluster, and all rows of others. Rows are in the order of
 * series and sizes. Returns the rows held out of the cluster itself. */
static uint32_t halve(rlt_trial *t, uint32_t machine)
{
    const rlt_measurement *last = NULL;
    uint32_t n = 0, held = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const rlt_measurement *m = t->rows[i].m;
        t->rows[i].held_out = true;
        if (t->rows[i].machine != machine)
            continue;
        bool series = last && last->kind == m->kind && last->ranks == m->ranks && last->nodes == m->nodes &&
                      last->buffers == m->buffers;
        n = !series ? 0 : m->bytes == last->bytes ? n : n + 1;
        t->rows[i].held_out = n % 2;
        held += n % 2;
        last = m;
    }
    return held;
}

static int halve_each(tests *x, rlt_error *err)
{
    rlt_trial *t = &x->j->trial;
    char constants[1500];
    int rc;
    if ((rc = begin(x, "other half", "halves", err)) || (rc = begin(x, "with residual", "halves", err)) ||
        (rc = begin(x, "interpolation", "halves", err)))
        return rc;
    for (uint32_t m = 0; m < x->j->n_machines && !rc; m++) {
        const rlt_cluster *k = rlt_cluster_of(&x->clusters, m);
        if (!halve(t, m) || (rc = rlt_clusters_fit(&x->clusters, x->j, k, constants, sizeof constants, err)))
            continue;
        rlt_note("%s: %s", k->name, constants);
        for (int way = 0; way < 3; way++) {
            if (way == 1)
                rlt_trial_correct(t);
            else if (way == 2)
                rlt_trial_interpolate(t);
            for (uint32_t i = 0; i < t->n_rows; i++)
                if (t->rows[i].machine == m && t->rows[i].held_out)
                    x->results[way].ratios[i] = way ? t->rows[i].interpolated : ratio_of(t, i);
        }
    }
    return rc;
}

static int check_use(const rlt_calib_settings *s, rlt_error *err)
{
    if (s->sim.topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "not together with --clusters, whose file names them");
    if (s->check + (s->leave_one_out != NULL) + s->halves != 1)
        return rlt_fail(err, RLT_EUSAGE, "--clusters", "needs one of --check, --leave-one-out, --halves");
    if (s->fit)
        return rlt_fail(err, RLT_EUSAGE, "--fit", "not together with --clusters, whose file names constants");
    if (s->plot && !s->check)
        return rlt_fail(err, RLT_EUSAGE, "--plot", "with --clusters only together with --check");
    if (!s->check && !rlt_fit_available())
        return rlt_fit_run(NULL, err);
    return 0;
}

static void tell_dropped(const rlt_clusters *c)
{
    uint32_t n = 0;
    char names[300] = "";
    for (uint32_t i = 0; i < c->n; i++) {
        n += c->list[i].dropped;
        if (c->list[i].dropped)
            rlt_list_name(names, sizeof names, c->list[i].name);
    }
    if (n)
        rlt_note("%u row%s above 1.35 times the next larger size dropped: %s", n, rlt_s(n), names);
}

int rlt_calib_clusters(rlt_calib_job *j, rlt_error *err)
{
    tests x = {.j = j};
    int rc = check_use(j->s, err);
    if (!rc && !(rc = rlt_clusters_open(&x.clusters, j, j->s->check, err)) &&
        !(rc = rlt_clusters_place(&x.clusters, j, err))) {
        tell_dropped(&x.clusters);
        rlt_progress_start(&j->progress, j->s->check ? "simulating" : "fitting");
        rc = j->s->check           ? check(&x, err)
             : j->s->leave_one_out ? leave_each_out(&x, err)
                                   : halve_each(&x, err);
        rlt_progress_clear();
        if (!rc)
            rc = report(&x, err);
        if (!rc && j->s->plot)
            rc = rlt_calib_plot(j->s->plot, &j->trial, err);
    }
    for (uint32_t i = 0; i < x.n; i++)
        free(x.results[i].ratios);
    rlt_clusters_free(&x.clusters);
    return rc;
}
