/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assigns measurements to machines, and selects those held out of a fit. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/find.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "tools/base/message.h"
#include "tools/calibrate/select.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/experiment/coll/lists.h"
#include "workload/setup/locate.h"

/* ---- filters ---- */

/* Required values of a measurement; NULL, RLT_NONE and RLT_COLL_KINDS accept any. */
typedef struct filter {
    const char *system, *setting, *dtype;
    rlt_coll_kind kind;
    uint32_t ranks, nodes, buffers;
} filter;

static int read_kind(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    filter *f = into;
    (void)p;
    (void)where;
    return rlt_measure_kind(text, &f->kind, err);
}

#define AT(field) RLT_FIELD(filter, field)
static const rlt_param parameters[] = {
    {"system", .kind = RLT_PARAM_TEXT, AT(system), .arg = "a name", .help = "measured system"},
    {"setting", .kind = RLT_PARAM_TEXT, AT(setting), .arg = "a text",
     .help = "how the system was set, as the column 'setting' says"},
    {"collective", .kind = RLT_PARAM_OTHER, .read = read_kind, .arg = "a collective",
     .help = "collective, such as all_reduce"},
    {"ranks", .kind = RLT_PARAM_COUNT, AT(ranks), .min = 1, .help = "ranks that took part"},
    {"nodes", .kind = RLT_PARAM_COUNT, AT(nodes), .min = 1, .help = "nodes that the ranks were spread over"},
    {"dtype", .kind = RLT_PARAM_TEXT, AT(dtype), .arg = "a type", .help = "element type, such as half"},
    {"inplace", .kind = RLT_PARAM_CHOICE, .words = "unknown|out|in", AT(buffers),
     .help = "in place (in) or not (out)"},
    {0}};
#undef AT

const rlt_param *rlt_select_parameters(void)
{
    return parameters;
}

static int read_filter(const char *text, filter *f, rlt_error *err)
{
    *f = (filter){.kind = RLT_COLL_KINDS, .ranks = RLT_NONE, .nodes = RLT_NONE, .buffers = RLT_NONE};
    int rc = rlt_params_set_text(parameters, "a measurement", f, text, err);
    if (!rc)
        return 0;
    rlt_error_prefix(err, "--where");
    if (err && rc != RLT_ENOMEM)
        rc = err->code = RLT_EUSAGE;
    return rc;
}

static bool matches(const rlt_measurement *m, const filter *f)
{
    return (!f->system || strcmp(m->system, f->system) == 0) &&
           (!f->setting || (m->setting && strcmp(m->setting, f->setting) == 0)) &&
           (!f->dtype || strcmp(m->dtype, f->dtype) == 0) &&
           (f->kind == RLT_COLL_KINDS || m->kind == f->kind) &&
           (f->ranks == RLT_NONE || m->ranks == f->ranks) && (f->nodes == RLT_NONE || m->nodes == f->nodes) &&
           (f->buffers == RLT_NONE || m->buffers == (rlt_buffers)f->buffers);
}

int rlt_select_matches(const rlt_measurement *m, const rlt_texts *filters, bool *out, rlt_error *err)
{
    int rc = 0;
    *out = true;
    for (uint32_t i = 0; i < filters->n && *out && !rc; i++) {
        filter one;
        if (!(rc = read_filter(filters->items[i], &one, err)))
            *out = matches(m, &one);
    }
    return rc;
}

int rlt_select_filter(rlt_measurements *t, const rlt_texts *filters, rlt_error *err)
{
    for (uint32_t f = 0; f < filters->n; f++) {
        filter one;
        uint32_t kept = 0;
        int rc = read_filter(filters->items[f], &one, err);
        if (rc)
            return rc;
        for (uint32_t i = 0; i < t->n; i++)
            if (matches(&t->rows[i], &one))
                t->rows[kept++] = t->rows[i];
        t->n = kept;
    }
    return t->n ? 0 : rlt_fail(err, RLT_ESCHEMA, "--where", "no measurement matches");
}

/* ---- machines ---- */

/* Orders machines by size: a measurement goes to the smallest machine that has room. */
static int by_size(const void *a, const void *b)
{
    const rlt_machine *x = a, *y = b;
    uint32_t m = rlt_topology_accelerators(x->setup.topology),
             n = rlt_topology_accelerators(y->setup.topology);
    return m != n ? (m < n ? -1 : 1) : strcmp(x->path, y->path);
}

/* Reads the machines of the first directory that has topologies. */
int rlt_select_machines(const rlt_settings *how, const char *family, rlt_machine **out, uint32_t *n,
                        rlt_error *err)
{
    static const char *const endings[] = {".json", NULL};
    const rlt_dirs all = rlt_topology_dirs();
    const char *dirs = all.list;
    char dir[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    rlt_found found = {0};
    int rc = 0;
    while (!rc && !found.n && rlt_find_next_dir(&dirs, dir, sizeof dir)) {
        rlt_find_free(&found);
        rc = rlt_find_all(dir, endings, &found, err);
    }
    *n = 0;
    *out = rc ? NULL : calloc(found.n + 1, sizeof **out);
    if (!rc && !*out)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < found.n && !rc; i++) {
        rlt_machine *m = &(*out)[*n];
        snprintf(path, sizeof path, "%s/%s.json", dir, found.names[i]);
        if ((rc = rlt_machine_open(m, how, path, err)))
            break;
        if (m->n_systems == 0 || (family && (!m->family || strcmp(m->family, family) != 0)))
            rlt_machine_free(m);
        else if ((rc = rlt_machine_rebuild(m, err)))
            rlt_machine_free(m);
        else
            ++*n;
    }
    rlt_find_free(&found);
    if (!rc && *n)
        qsort(*out, *n, sizeof **out, by_size);
    return rc;
}

/* ---- rows ---- */

typedef struct unclaimed {
    const char *names[8];
    uint32_t n, rows;
    const rlt_measurement *first; /* first row left out; NULL: none */
} unclaimed;

static void note_unclaimed(unclaimed *u, const char *system)
{
    u->rows++;
    for (uint32_t i = 0; i < u->n && i < 8; i++)
        if (strcmp(u->names[i], system) == 0)
            return;
    if (u->n < 8)
        u->names[u->n] = system;
    u->n += u->n < 9;
}

static void tell(const rlt_trial *t, const unclaimed *u)
{
    char names[512] = "";
    for (uint32_t i = 0; i < u->n && i < 8; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.80s", i ? ", " : "", u->names[i]);
    }
    rlt_make_printable(names);
    if (u->rows)
        rlt_note("%u row%s of systems that %s: %s%s", u->rows, rlt_s(u->rows),
                 t->n_machines == 1 ? "the topology does not claim" : "no topology claims", names,
                 u->n > 8 ? ", and others" : "");
    if (t->left_out)
        rlt_note(
            "%u row%s left out: more ranks or nodes than the topology has, or send_recv of more than two; "
            "the first has %u ranks on %u node%s",
            t->left_out, rlt_s(t->left_out), u->first->ranks, u->first->nodes, rlt_s(u->first->nodes));
}

/* Adds the row to the first machine that claims its system and has room. With `any`, claims do not matter. */
static int place_row(rlt_trial *t, const rlt_measurement *m, bool any, bool *claimed, bool *entered,
                     rlt_error *err)
{
    int rc = 0;
    *claimed = *entered = false;
    for (uint32_t i = 0; i < t->n_machines && !*entered && !rc; i++) {
        if (!any && !rlt_machine_claims(&t->machines[i], m->system))
            continue;
        *claimed = true;
        rc = rlt_trial_add(t, m, i, entered, err);
    }
    return rc;
}

int rlt_select_rows(rlt_trial *t, const rlt_measurements *from, bool any, bool quiet, rlt_error *err)
{
    unclaimed u = {0};
    int rc = 0;
    for (uint32_t i = 0; i < from->n && !rc; i++) {
        bool claimed, entered;
        rc = place_row(t, &from->rows[i], any, &claimed, &entered, err);
        if (!claimed)
            note_unclaimed(&u, from->rows[i].system);
        else if (!entered && t->left_out++ == 0)
            u.first = &from->rows[i];
    }
    if (!rc && t->n_rows == 0)
        return rlt_fail(
            err, RLT_ESCHEMA, from->n ? from->rows[0].file : NULL,
            u.rows ? "no measurement is of a system that the topology names (its _calibration.systems)"
                   : "no measurement fits into the topology: %u have too many ranks or nodes",
            t->left_out);
    if (!rc && !quiet)
        tell(t, &u);
    return rc ? rc : rlt_trial_freeze(t, err);
}

int rlt_select_groups(rlt_trial *t, rlt_measurements *from, const char *by, rlt_error *err)
{
    for (uint32_t i = 0; i < t->n_rows; i++) {
        rlt_trial_row *r = &t->rows[i];
        const rlt_machine *m = &t->machines[r->machine];
        char name[300];
        if (*by == 'n')
            snprintf(name, sizeof name, "%u node%s", r->m->nodes, rlt_s(r->m->nodes));
        else if (*by == 'f')
            snprintf(name, sizeof name, "%.290s", m->family ? m->family : "no family");
        else if (*by == 's' && by[1] == 'i' && m->site)
            snprintf(name, sizeof name, "%.290s", m->site);
        else
            continue; /* its system */
        bool again = i > 0 && strcmp(name, t->rows[i - 1].group) == 0;
        r->group = again ? t->rows[i - 1].group : rlt_arena_strdup(&from->arena, name);
        if (!r->group)
            return rlt_nomem(err);
    }
    return 0;
}

/* ---- what is held out ---- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Holds out every second of the sizes that occur, in ascending order. */
static int hold_every_other(rlt_trial *t, rlt_error *err)
{
    uint64_t *sizes = malloc((t->n_rows + 1) * sizeof *sizes);
    uint32_t n = 0;
    if (!sizes)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < t->n_rows; i++)
        sizes[i] = t->rows[i].m->bytes;
    qsort(sizes, t->n_rows, sizeof *sizes, by_number);
    for (uint32_t i = 0; i < t->n_rows; i++)
        if (i == 0 || sizes[i] != sizes[n - 1])
            sizes[n++] = sizes[i];
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const uint64_t *at = bsearch(&t->rows[i].m->bytes, sizes, n, sizeof *sizes, by_number);
        t->rows[i].held_out = at && (at - sizes) % 2 == 1;
    }
    free(sizes);
    return 0;
}

int rlt_select_held_out(rlt_trial *t, const char *what, rlt_error *err)
{
    uint64_t *sizes;
    uint32_t n, fitted = 0;
    int rc = 0;
    if (strcmp(what, "none") == 0)
        return 0;
    if (strcmp(what, "every-other") == 0) {
        rc = hold_every_other(t, err);
    } else if ((rc = rlt_parse_sizes(what, &sizes, &n, err))) {
        rlt_error_prefix(err, "--hold-out");
    } else {
        qsort(sizes, n, sizeof *sizes, by_number);
        for (uint32_t i = 0; i < t->n_rows; i++)
            t->rows[i].held_out = bsearch(&t->rows[i].m->bytes, sizes, n, sizeof *sizes, by_number) != NULL;
        free(sizes);
    }
    for (uint32_t i = 0; i < t->n_rows; i++)
        fitted += !t->rows[i].held_out;
    if (!rc && fitted == 0)
        return rlt_fail(err, RLT_EUSAGE, "--hold-out", "nothing is left to fit");
    return rc;
}

/* ---- interpolation ---- */

/* A fitted row. */
typedef struct point {
    double size, time; /* logarithms */
} point;

static bool same_series(const rlt_trial_row *a, const rlt_trial_row *b)
{
    const rlt_measurement *x = a->m, *y = b->m;
    return a->machine == b->machine && x->kind == y->kind && x->ranks == y->ranks && x->nodes == y->nodes &&
           x->buffers == y->buffers && strcmp(x->system, y->system) == 0 && strcmp(x->dtype, y->dtype) == 0;
}

/* Finds the nearest fitted rows of the series below and above, with the mean of log(time), or of
 * log(measured / simulated), of rows of equal size. n[i] is 0 where there is none. */
static void find_near(const rlt_trial *t, const rlt_trial_row *r, bool residual, point near[2], uint32_t n[2])
{
    double size = log((double)r->m->bytes);
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const rlt_trial_row *f = &t->rows[i];
        int above = f->m->bytes > r->m->bytes;
        if (f->held_out || f->m->bytes == 0 || !same_series(f, r))
            continue;
        double x = log((double)f->m->bytes), y = log((double)f->m->time_ps);
        if (residual)
            y -= log((double)t->cases[f->at].time_ps);
        if (n[above] && fabs(x - size) > fabs(near[above].size - size))
            continue;
        if (n[above] && x == near[above].size) {
            near[above].time += (y - near[above].time) / ++n[above];
        } else {
            near[above] = (point){x, y};
            n[above] = 1;
        }
    }
}

/* Interpolates between the points; 0 if one is missing. */
static double between(const rlt_trial *t, const rlt_trial_row *r)
{
    double size = log((double)r->m->bytes);
    point near[2] = {{-1, 0}, {-1, 0}};
    uint32_t n[2] = {0};
    find_near(t, r, false, near, n);
    if (!n[0] || !n[1])
        return 0;
    double part = (size - near[0].size) / (near[1].size - near[0].size);
    return exp(near[0].time + part * (near[1].time - near[0].time));
}

void rlt_trial_interpolate(rlt_trial *t)
{
    for (uint32_t i = 0; i < t->n_rows; i++) {
        rlt_trial_row *r = &t->rows[i];
        r->interpolated = r->held_out && r->m->bytes ? between(t, r) / (double)r->m->time_ps : 0;
    }
}

void rlt_trial_correct(rlt_trial *t)
{
    for (uint32_t i = 0; i < t->n_rows; i++) {
        rlt_trial_row *r = &t->rows[i];
        point near[2] = {{-1, 0}, {-1, 0}};
        uint32_t n[2] = {0};
        double y;
        r->interpolated = 0;
        if (!r->held_out || !r->m->bytes || t->cases[r->at].time_ps <= 0)
            continue;
        find_near(t, r, true, near, n);
        if (!n[0] && !n[1])
            continue;
        y = near[n[0] ? 0 : 1].time;
        if (n[0] && n[1])
            y += (log((double)r->m->bytes) - near[0].size) / (near[1].size - near[0].size) *
                 (near[1].time - near[0].time);
        r->interpolated = exp(y) * (double)t->cases[r->at].time_ps / (double)r->m->time_ps;
    }
}
