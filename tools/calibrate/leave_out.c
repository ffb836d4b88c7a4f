/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --leave-one-out: fits to all groups of systems but one, and predicts that one. */
#include "tools/calibrate/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "tools/output/report_options.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

/* Lists the groups that have rows on these machines, each once. *out is malloc'ed; the names belong to the
 * table of measurements. */
static int list_groups(const rlt_trial *t, const char ***out, uint32_t *n, rlt_error *err)
{
    uint32_t capacity = 0;
    *out = NULL;
    *n = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const char *group = t->rows[i].group;
        bool seen = false;
        for (uint32_t k = *n; k-- > 0 && !seen;)
            seen = strcmp((*out)[k], group) == 0;
        int rc = seen ? 0 : rlt_grow(out, &capacity, sizeof **out, (uint64_t)*n + 1, 4096, "groups", err);
        if (rc)
            return rc;
        if (!seen)
            (*out)[(*n)++] = group;
    }
    return 0;
}

static bool in_group(const rlt_trial_row *r, const char *group)
{
    return group && strcmp(r->group, group) == 0;
}

/* Finds the constants of all machines but those left out (NULL: none). Their start values are means over
 * those machines, so that nothing of one left out leaks in. */
static int find_shared(rlt_calib_job *j, const char *group, rlt_calibration *c, rlt_error *err)
{
    rlt_machine *others = calloc(j->n_machines, sizeof *others);
    uint32_t n = 0;
    int rc;
    if (!others)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < j->n_machines; i++) {
        bool fitted = false;
        for (uint32_t r = 0; r < j->trial.n_rows && !fitted; r++)
            fitted = j->trial.rows[r].machine == i && !in_group(&j->trial.rows[r], group);
        if (fitted)
            others[n++] = j->machines[i];
    }
    rc = rlt_constants_find(others, n, j->s->fit, c->constants, &c->n_constants, err);
    free(others); /* only the array: the machines are borrowed */
    return rc;
}

/* Notes the constants that only the machine left out has: they keep the values of its file. */
static void tell_own(const rlt_calib_job *j, const char *group, const rlt_calibration *c)
{
    rlt_constant own[RLT_MAX_CONSTANTS];
    char names[512] = "";
    uint32_t n = 0, row = 0, machine;
    rlt_error ignored = {0};
    while (row < j->trial.n_rows && !in_group(&j->trial.rows[row], group))
        row++;
    machine = row < j->trial.n_rows ? j->trial.rows[row].machine : 0;
    if (j->s->fit || rlt_constants_find(&j->machines[machine], 1, NULL, own, &n, &ignored))
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool shared = own[i].of != NULL;
        for (uint32_t k = 0; k < c->n_constants && !shared; k++)
            shared = strcmp(c->constants[k].name, own[i].name) == 0;
        if (!shared)
            rlt_list_name(names, sizeof names, own[i].name);
    }
    if (names[0])
        rlt_note("%.100s: no other machine has %s: these keep the values of its file", group, names);
}

/* Returns the row that stands for the harness of a machine left out: the fewest ranks, then the fewest
 * bytes. NULL: none. */
static rlt_trial_row *smallest_row(rlt_trial *t, uint32_t machine)
{
    rlt_trial_row *least = NULL;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        rlt_trial_row *r = &t->rows[i];
        if (r->machine == machine && r->held_out &&
            (!least || r->m->ranks < least->m->ranks ||
             (r->m->ranks == least->m->ranks && r->m->bytes < least->m->bytes)))
            least = r;
    }
    return least;
}

/* Sets the harness's constant of a machine from one row, whose time is linear in it. The row counts as fitted
 * from then on. */
static int set_harness(rlt_trial *t, uint32_t machine, rlt_constant *k, rlt_error *err)
{
    rlt_machine *m = &t->machines[machine];
    rlt_trial_row *row = smallest_row(t, machine);
    double start = k->value, times[2];
    int rc = 0;
    k->of = m->path;
    for (int i = 0; i < 2 && !rc && row; i++) {
        k->value = start * (i + 1);
        if (!(rc = rlt_constants_apply(m, k, 1, RLT_SEARCH_DIGITS, err)))
            rc = rlt_trial_run(t, RLT_HELD_OUT, err);
        times[i] = (double)t->cases[row->at].time_ps;
    }
    if (rc || !row)
        return rc;
    k->value = start;
    if (times[1] > times[0])
        k->value += start * ((double)row->m->time_ps - times[0]) / (times[1] - times[0]);
    k->value = fmax(k->value, k->low);
    k->rows = 1;
    k->kinds = 1u << row->m->kind;
    k->least = k->most = row->m->bytes;
    row->held_out = false;
    return rlt_constants_apply(m, k, 1, RLT_SEARCH_DIGITS, err);
}

/* Gives every machine without fitted rows the harness's constant that one of its rows shows, and predicts
 * again. */
static int set_harnesses(rlt_calib_job *j, rlt_calibration *c, rlt_error *err)
{
    uint32_t first = 0, set = 0;
    int rc = 0;
    while (first < c->n_constants && !c->constants[first].of)
        first++;
    if (first == c->n_constants || c->partial)
        return 0;
    for (uint32_t i = 0; i < j->n_machines && !rc; i++) {
        bool known = false;
        for (uint32_t k = first; k < c->n_constants && !known; k++)
            known = c->constants[k].of == j->machines[i].path;
        if (known || c->n_constants == RLT_MAX_CONSTANTS)
            continue;
        rlt_constant *k = &c->constants[c->n_constants++];
        *k = c->constants[first];
        k->frozen = RLT_SET;
        k->bounded = false;
        k->before = k->value;
        rc = set_harness(&j->trial, i, k, err);
        set++;
    }
    if (rc || !set || (rc = rlt_trial_run(&j->trial, RLT_FITTED | RLT_HELD_OUT, err)))
        return rc;
    free(c->after.rows);
    return rlt_errors_table(&j->trial, true, false, &c->after, err);
}

static int report_left_out(rlt_calib_job *j, const char *group, const rlt_calibration *c,
                           const rlt_errors_list *in_sample, rlt_error *err)
{
    rlt_errors_list held = {c->after.rows, 0};
    const rlt_errors_beside beside = {.before = &c->before, .in_sample = in_sample};
    int rc;
    for (uint32_t i = 0; i < c->after.n; i++)
        if (c->after.rows[i].held_out == 1)
            held.rows[held.n++] = c->after.rows[i];
    if (j->report.format == RLT_FORMAT_CSV)
        return rlt_report_errors(&j->report, &held, &beside, err);
    if (j->report.format == RLT_FORMAT_TABLE) {
        rlt_calib_gap(j);
        rlt_heading(j->file.stream, "%s left out", group);
    } else {
        rlt_jw_object(&j->json, NULL);
        rlt_jw_string(&j->json, "left_out", group);
    }
    rc = rlt_report_constants(&j->report, c->constants, c->n_constants, err);
    rlt_calib_gap(j);
    if (!rc)
        rc = rlt_report_errors(&j->report, &held, &beside, err);
    if (j->report.format == RLT_FORMAT_JSON)
        rlt_jw_end_object(&j->json);
    return rc;
}

static int leave_out(rlt_calib_job *j, const char *group, const rlt_errors_list *in_sample, rlt_error *err)
{
    rlt_calibration c = {0};
    int rc;
    for (uint32_t i = 0; i < j->trial.n_rows; i++)
        j->trial.rows[i].held_out = in_group(&j->trial.rows[i], group);
    if (!(rc = find_shared(j, group, &c, err)) && !(rc = rlt_calib_fit(j, &c, err)) &&
        !(rc = set_harnesses(j, &c, err))) {
        tell_own(j, group, &c);
        j->partial = c.partial;
        rc = report_left_out(j, group, &c, in_sample, err);
    }
    rlt_calibration_free(&c);
    return rc;
}

/* Opens the machines of the family anew, with the constants in their files. */
static int open_again(rlt_calib_job *j, bool quiet, rlt_error *err)
{
    const char *family = j->s->leave_one_out;
    bool all = strcmp(family, "all") == 0;
    rlt_calib_close(j);
    int rc = rlt_calib_open_claiming(j, all ? NULL : family, err);
    if (!rc && !all)
        rc = rlt_machines_relate(j->machines, j->n_machines, strcmp(j->s->harness, "shared") == 0, err);
    return rc ? rc : rlt_calib_place(j, false, quiet, err);
}

/* Fits to all groups at once: what the same form leaves where it sees every row. */
static int fit_all(rlt_calib_job *j, rlt_errors_list *in_sample, rlt_error *err)
{
    rlt_calibration c = {0};
    int rc = find_shared(j, NULL, &c, err);
    if (!rc)
        rc = rlt_calib_fit(j, &c, err);
    j->partial = c.partial;
    *in_sample = c.after;
    c.after = (rlt_errors_list){0};
    rlt_calibration_free(&c);
    return rc;
}

static int leave_groups(rlt_calib_job *j, const char **groups, uint32_t n, rlt_error *err)
{
    rlt_errors_list in_sample = {0};
    int rc = fit_all(j, &in_sample, err);
    if (!rc && !(rc = rlt_calib_begin(j, j->s->output, err))) {
        if (j->report.format == RLT_FORMAT_JSON)
            rlt_jw_array(&j->json, "systems");
        for (uint32_t i = 0; i < n && !rc && !j->partial; i++)
            if (!(rc = open_again(j, true, err)))
                rc = leave_out(j, groups[i], &in_sample, err);
        if (j->report.format == RLT_FORMAT_JSON)
            rlt_jw_end_array(&j->json);
        if (!rc)
            rc = rlt_calib_end(j, j->s->output, err);
    }
    free(in_sample.rows);
    return rc;
}

int rlt_calib_leave_each_out(rlt_calib_job *j, rlt_error *err)
{
    const char **groups = NULL;
    uint32_t n = 0;
    int rc = open_again(j, false, err);
    if (!rc && !(rc = list_groups(&j->trial, &groups, &n, err))) {
        if (n < 2)
            rc = rlt_fail(err, RLT_ESCHEMA, "--leave-one-out",
                          "only '%.100s' was measured: there is nothing else to fit to",
                          n ? groups[0] : j->s->leave_one_out);
        else
            rc = leave_groups(j, groups, n, err);
    }
    free(groups);
    return rc;
}
