/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the study of aggregation found: its rows, and where it wins. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/network.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/coll/react.h"
#include "tools/coll/study.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/settings/settings.h"

enum { N_COLUMNS = 19, N_SUMMARY = 7 };
enum { TENANTS = 2, ALGORITHM = 7, FAIRNESS = 17 }; /* the first and the last of tenants */
enum { TOLD = 4 };                                  /* reasons, on standard error */
static const rlt_column columns[N_COLUMNS] = {
    {"bytes", "size", NULL, RLT_COL_SIZE, 9, 0},
    {"workers", "workers", NULL, RLT_COL_COUNT, 7, 0},
    {"tenants", "tenants", NULL, RLT_COL_COUNT, 7, 0},
    {"loss", "loss", "%", RLT_COL_PERCENT, 6, 3},
    {"straggler_ps", "straggler", "us", RLT_COL_TIME, 9, 0},
    {"slots", "slots", NULL, RLT_COL_COUNT, 6, 0},
    {"place", "place", NULL, RLT_COL_TEXT, 5, 0},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 9, 0},
    {"time_ps", "time", "us", RLT_COL_TIME, 10, 0},
    {NULL, "", NULL, RLT_COL_TEXT, 1, 0}, /* the fastest of its case */
    {"busbw_GBps", "busbw", "GB/s", RLT_COL_REAL, 8, 2},
    {"gain", "gain", "x", RLT_COL_REAL, 7, 2}, /* time of the best baseline over its own */
    {"retransmissions", "resent", NULL, RLT_COL_COUNT, 7, 0},
    {"fallback_share", "to srv", "%", RLT_COL_PERCENT, 6, 1},
    {"peak_occupancy", "peak", NULL, RLT_COL_COUNT, 6, 0},
    {"mean_occupancy", "mean", NULL, RLT_COL_REAL, 7, 1},
    {"server_bytes", NULL, NULL, RLT_COL_COUNT, 0, 0},
    {"fairness", "Jain", NULL, RLT_COL_REAL, 6, 3},
    {"reason", NULL, NULL, RLT_COL_TEXT, 0, 0}, /* why there is none */
};
static const rlt_column summary_columns[N_SUMMARY] = {
    {"axis", "axis", NULL, RLT_COL_TEXT, 9, 0},      {"value", "value", NULL, RLT_COL_TEXT, 9, 0},
    {"points", "points", NULL, RLT_COL_COUNT, 6, 0}, {"wins", "wins", NULL, RLT_COL_COUNT, 6, 0},
    {"least", "least", "x", RLT_COL_REAL, 8, 2},     {"median", "median", "x", RLT_COL_REAL, 8, 2},
    {"most", "most", "x", RLT_COL_REAL, 8, 2},
};
static const char *const axis_names[RLT_AXES] = {
    [RLT_AXIS_SIZE] = "size",  [RLT_AXIS_WORKERS] = "workers",     [RLT_AXIS_TENANTS] = "tenants",
    [RLT_AXIS_LOSS] = "loss",  [RLT_AXIS_STRAGGLER] = "straggler", [RLT_AXIS_SLOTS] = "slots",
    [RLT_AXIS_PLACE] = "place"};

typedef struct report {
    const rlt_ina_study *s;
    rlt_table table;
    rlt_jw *json; /* NULL: table or CSV */
    rlt_column columns[N_COLUMNS];
    uint32_t n_columns;
} report;

/* What is of tenants is there where they were asked for. Returns how many of n are left. */
static uint32_t without_tenants(const rlt_ina_study *s, void *all, size_t size)
{
    char *c = all;
    if (s->shared)
        return N_COLUMNS;
    memmove(c + FAIRNESS * size, c + (FAIRNESS + 1) * size, (N_COLUMNS - FAIRNESS - 1) * size);
    memmove(c + TENANTS * size, c + (TENANTS + 1) * size, (N_COLUMNS - TENANTS - 2) * size);
    return N_COLUMNS - 2;
}

/* The fastest of a case, protocols with whatever slots and placement. */
static rlt_time fastest_of_case(const rlt_ina_study *s, rlt_ina_point p)
{
    rlt_time best = RLT_TIME_MAX;
    for (uint32_t i = 0; i < s->axes[RLT_AXIS_SLOTS].n; i++)
        for (uint32_t k = 0; k < s->axes[RLT_AXIS_PLACE].n; k++)
            for (uint32_t a = 0; a < s->n_algorithms; a++) {
                p.at[RLT_AXIS_SLOTS] = i;
                p.at[RLT_AXIS_PLACE] = k;
                rlt_time t = rlt_study_time(s, a, &p);
                best = t >= 0 && t < best ? t : best;
            }
    return best;
}

static void put_row(report *t, uint32_t algorithm, const rlt_ina_point *p, rlt_time fastest)
{
    const rlt_ina_study *s = t->s;
    const rlt_study_algorithm *a = &s->algorithms[algorithm];
    const rlt_study_result *r = rlt_study_at(s, algorithm, p);
    rlt_time time_ps = rlt_study_time(s, algorithm, p);
    uint32_t base = rlt_study_best(s, p, false), i = 0;
    bool in = r->there && a->reacting;
    uint64_t bytes = s->axes[RLT_AXIS_SIZE].count[p->at[RLT_AXIS_SIZE]];
    rlt_value v[N_COLUMNS];
    v[i++] = rlt_count(bytes);
    v[i++] = rlt_count(s->axes[RLT_AXIS_WORKERS].count[p->at[RLT_AXIS_WORKERS]]);
    v[i++] = rlt_count(s->axes[RLT_AXIS_TENANTS].count[p->at[RLT_AXIS_TENANTS]]);
    v[i++] = rlt_real(s->axes[RLT_AXIS_LOSS].real[p->at[RLT_AXIS_LOSS]]);
    v[i++] = rlt_ps((rlt_time)s->axes[RLT_AXIS_STRAGGLER].count[p->at[RLT_AXIS_STRAGGLER]]);
    v[i++] = !a->adds ? rlt_absent() : rlt_count(s->axes[RLT_AXIS_SLOTS].count[p->at[RLT_AXIS_SLOTS]]);
    v[i++] =
        a->adds && a->placed ? rlt_text(s->axes[RLT_AXIS_PLACE].text[p->at[RLT_AXIS_PLACE]]) : rlt_absent();
    v[i++] = rlt_text(a->name);
    v[i++] = r->there ? rlt_ps(time_ps) : rlt_absent();
    v[i++] = rlt_text(r->there && time_ps == fastest ? "*" : "");
    /* Of what is timed: the straggler's delay included. */
    v[i++] = r->there && time_ps > 0 ? rlt_real(r->busbw_GBps * ((double)r->time_ps / (double)time_ps))
                                     : rlt_absent();
    v[i++] = r->there && base != RLT_NONE && time_ps > 0
                 ? rlt_real((double)rlt_study_time(s, base, p) / (double)time_ps)
                 : rlt_absent();
    v[i++] = in ? rlt_count(r->retransmissions) : rlt_absent();
    v[i++] = in ? r->fallback : rlt_absent();
    v[i++] = in && r->adds ? rlt_count(r->peak) : rlt_absent();
    v[i++] = in && r->adds ? rlt_real(r->mean) : rlt_absent();
    v[i++] = in && r->servers ? rlt_count(r->server_bytes) : rlt_absent();
    v[i++] = r->there ? rlt_real(r->fairness) : rlt_absent();
    v[i++] = r->why ? rlt_text(s->reasons[r->why - 1]) : rlt_absent();
    without_tenants(s, v, sizeof *v);
    if (!t->json) {
        rlt_table_row(&t->table, v);
        return;
    }
    rlt_jw_object(t->json, NULL);
    rlt_row_json(t->json, t->columns, t->n_columns, v);
    if (s->series_ps && r->bins)
        rlt_occupancy_json(t->json, r->bin_ps, r->occupancy, r->bins);
    rlt_jw_end_object(t->json);
}

/* Baselines first, then protocols by slots and placement. Rows that were not run any more are left out. */
static void put_case(report *t, rlt_ina_point p)
{
    const rlt_ina_study *s = t->s;
    rlt_time fastest = fastest_of_case(s, p);
    for (int adds = 0; adds < 2; adds++)
        for (uint32_t i = 0; i < (adds ? s->axes[RLT_AXIS_SLOTS].n : 1); i++)
            for (uint32_t k = 0; k < (adds ? s->axes[RLT_AXIS_PLACE].n : 1); k++)
                for (uint32_t a = 0; a < s->n_algorithms; a++) {
                    p.at[RLT_AXIS_SLOTS] = i;
                    p.at[RLT_AXIS_PLACE] = k;
                    const rlt_study_result *r = rlt_study_at(s, a, &p);
                    bool of_this = s->algorithms[a].adds == (adds == 1);
                    if (of_this && (r->there || r->why) && (k == 0 || s->algorithms[a].placed))
                        put_row(t, a, &p, fastest);
                }
}

static void put_rows(report *t)
{
    rlt_ina_point p;
    for (uint32_t i = 0; rlt_study_point_at(t->s, i, &p); i++)
        if (p.at[RLT_AXIS_SLOTS] == 0 && p.at[RLT_AXIS_PLACE] == 0)
            put_case(t, p);
}

/* Where it wins */

typedef struct gains {
    double *list; /* sorted */
    uint32_t n, wins;
    uint32_t least, most; /* points */
} gains;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the points with this value of an axis; RLT_AXES: of all. */
static void gather(const rlt_ina_study *s, uint32_t axis, uint32_t value, gains *g)
{
    rlt_ina_point p;
    double least = 0, most = 0;
    g->n = g->wins = 0;
    for (uint32_t i = 0; rlt_study_point_at(s, i, &p); i++) {
        double x = axis == RLT_AXES || p.at[axis] == value ? rlt_study_gain(s, &p) : 0;
        if (x <= 0)
            continue;
        if (g->n == 0 || x < least) {
            least = x;
            g->least = i;
        }
        if (g->n == 0 || x > most) {
            most = x;
            g->most = i;
        }
        g->wins += x > 1;
        g->list[g->n++] = x;
    }
    qsort(g->list, g->n, sizeof *g->list, compare);
}

static void put_summary_row(report *t, rlt_table *table, uint32_t axis, uint32_t value, const gains *g)
{
    bool any = g->n > 0;
    rlt_value v[N_SUMMARY] = {rlt_text(axis_names[axis]),
                              rlt_text(t->s->axes[axis].text[value]),
                              rlt_count(g->n),
                              rlt_count(g->wins),
                              any ? rlt_real(g->list[0]) : rlt_absent(),
                              any ? rlt_real((g->list[(g->n - 1) / 2] + g->list[g->n / 2]) / 2)
                                  : rlt_absent(),
                              any ? rlt_real(g->list[g->n - 1]) : rlt_absent()};
    if (!t->json) {
        rlt_table_row(table, v);
        return;
    }
    rlt_jw_object(t->json, NULL);
    rlt_row_json(t->json, summary_columns, N_SUMMARY, v);
    rlt_jw_end_object(t->json);
}

/* "4 MiB, 8 workers, loss 0, straggler 0us, 256 slots, place all: switchml against ring". */
static void tell_point(const rlt_ina_study *s, uint32_t i, char *text, size_t size)
{
    rlt_ina_point p;
    rlt_study_point_at(s, i, &p);
    const char *w[RLT_AXES];
    for (int a = 0; a < RLT_AXES; a++)
        w[a] = s->axes[a].text[p.at[a]];
    snprintf(text, size, "%s, %s workers%s%s%s, loss %s, straggler %s, %s slots, place %s: %s against %s",
             w[RLT_AXIS_SIZE], w[RLT_AXIS_WORKERS], s->shared ? " x " : "",
             s->shared ? w[RLT_AXIS_TENANTS] : "", s->shared ? " tenants" : "", w[RLT_AXIS_LOSS],
             w[RLT_AXIS_STRAGGLER], w[RLT_AXIS_SLOTS], w[RLT_AXIS_PLACE],
             s->algorithms[rlt_study_best(s, &p, true)].name,
             s->algorithms[rlt_study_best(s, &p, false)].name);
}

static void put_extreme(report *t, FILE *out, const char *key, const char *word, double gain, uint32_t point)
{
    char text[400];
    tell_point(t->s, point, text, sizeof text);
    if (!t->json) {
        fprintf(out, "# %s %.2fx: %s\n", word, gain, text);
        return;
    }
    rlt_jw_object(t->json, key);
    rlt_jw_double(t->json, "gain", gain, 6);
    rlt_jw_string(t->json, "where", text);
    rlt_jw_end_object(t->json);
}

static void put_axes(report *t, FILE *out, gains *g, rlt_error *err, int *rc)
{
    const rlt_ina_study *s = t->s;
    rlt_table table;
    if (t->json)
        rlt_jw_array(t->json, "axes");
    else
        rlt_table_begin(&table, RLT_FORMAT_TABLE, summary_columns, N_SUMMARY, out, NULL);
    for (uint32_t axis = 0; axis < RLT_AXES; axis++)
        for (uint32_t v = 0; v < s->axes[axis].n && (axis != RLT_AXIS_TENANTS || s->shared); v++) {
            gather(s, axis, v, g);
            put_summary_row(t, &table, axis, v, g);
        }
    if (t->json)
        rlt_jw_end_array(t->json);
    else
        *rc = rlt_table_end(&table, err);
}

static int put_summary(report *t, FILE *out, rlt_error *err)
{
    gains g = {.list = calloc(rlt_study_points(t->s), sizeof *g.list)};
    int rc = 0;
    if (!g.list)
        return rlt_nomem(err);
    gather(t->s, RLT_AXES, 0, &g);
    double least = g.n ? g.list[0] : 0, most = g.n ? g.list[g.n - 1] : 0;
    if (t->json) {
        rlt_jw_object(t->json, "summary");
        rlt_jw_u64(t->json, "points", g.n);
        rlt_jw_u64(t->json, "wins", g.wins);
    } else {
        fprintf(out, "\n# aggregation wins at %u of %u points: the best protocol against the best baseline\n",
                g.wins, g.n);
    }
    if (g.n) {
        put_extreme(t, out, "most", "most, ", most, g.most);
        put_extreme(t, out, "least", "least,", least, g.least);
        put_axes(t, out, &g, err, &rc);
    }
    if (t->json)
        rlt_jw_end_object(t->json);
    free(g.list);
    return rc;
}

static int report_json(report *t, const rlt_parsed *args, rlt_error *err)
{
    const rlt_ina_study *s = t->s;
    rlt_jw w;
    int rc;
    t->json = &w;
    rlt_document_begin(&w, "coll", args, &s->setup->inputs);
    rlt_setup_json(s->setup, &w);
    rlt_jw_string(&w, "study", "ina");
    rlt_jw_string(&w, "collective", rlt_coll_name(s->kind));
    rlt_jw_array(&w, "results");
    put_rows(t);
    rlt_jw_end_array(&w);
    if ((rc = put_summary(t, NULL, err)) != 0) {
        rlt_document_drop(&w);
        return rc;
    }
    if (s->partial)
        rlt_jw_bool(&w, "partial", true);
    return rlt_document_write(&w, s->report->output, err);
}

static void remark(const rlt_ina_study *s)
{
    for (uint32_t i = 0; i < s->n_reasons && i < TOLD; i++)
        rlt_note("no result: %s", s->reasons[i]);
    if (s->n_reasons > TOLD)
        rlt_note("and none for %u reasons more, which csv and json tell", s->n_reasons - TOLD);
    for (uint32_t i = 0; i < s->axes[RLT_AXIS_LOSS].n && s->setup->model != &rlt_net_packet; i++)
        if (s->axes[RLT_AXIS_LOSS].real[i] > 0) {
            rlt_note("the baselines run on --network %s, which loses nothing", s->setup->model->name);
            return;
        }
}

int rlt_study_report(const rlt_ina_study *s, const rlt_parsed *args, rlt_error *err)
{
    rlt_format format = rlt_format_of(s->report->format);
    report t = {.s = s};
    rlt_file f = {0};
    char line[400];
    int rc, ended;
    remark(s);
    memcpy(t.columns, columns, sizeof columns);
    for (uint32_t a = 0; a < s->n_algorithms; a++)
        rlt_column_widen(&t.columns[ALGORITHM], s->algorithms[a].name);
    t.n_columns = without_tenants(s, t.columns, sizeof *t.columns);
    if (format == RLT_FORMAT_JSON)
        return report_json(&t, args, err);
    if ((rc = rlt_file_open(&f, s->report->output, err)))
        return rc;
    if (format == RLT_FORMAT_TABLE) {
        rlt_setup_line(s->setup, line, sizeof line);
        fprintf(f.stream, "# %s; %s\n", line, rlt_coll_name(s->kind));
    }
    rlt_table_begin(&t.table, format, t.columns, t.n_columns, f.stream, NULL);
    put_rows(&t);
    ended = rlt_table_end(&t.table, err);
    if (!ended && format == RLT_FORMAT_TABLE) {
        fputs(
            "# * the fastest of its size, workers, loss and straggler; gain: time of the best baseline over "
            "its own; to srv:\n# contributions that were not added up on their way; peak, mean: slots in "
            "use at the fullest switch\n",
            f.stream);
        if (s->shared)
            fputs(
                "# tenants: jobs at once, each with the workers; time, busbw: of the slowest; Jain: index of "
                "their rates\n",
                f.stream);
        ended = put_summary(&t, f.stream, err);
    }
    if (ended) {
        rlt_file_discard(&f);
        return ended;
    }
    return rlt_file_close(&f, err);
}
