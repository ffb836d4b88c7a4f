/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A finished run for people: ranks, collectives, links, and a summary at the end. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/links.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/columns.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"

enum { MANY_RANKS = 16, MANY_COMMS = 20, SHOWN_LINKS = 10 };

static void intro(const rlt_run *r, FILE *out)
{
    const rlt_program *p = r->program;
    char line[512], launch[32];
    rlt_setup_line(&r->setup, line, sizeof line);
    fprintf(out, "%s workload: %u rank%s, %u operation%s, %u communication%s, %u iteration%s\n", p->reader,
            p->n_ranks, rlt_s(p->n_ranks), p->n_ops, rlt_s(p->n_ops), p->n_comms, rlt_s(p->n_comms),
            p->n_steps, rlt_s(p->n_steps));
    if (r->timing)
        fprintf(out, "%s; timing %s in closed form: links carry nothing\n",
                rlt_topology_name(r->setup.topology), r->timing->name);
    else
        fprintf(out, "%s\n", line);
    if (r->options.endpoint.launch_ps && !r->timing)
        fprintf(
            out, "endpoint: %s for each collective's launch\n",
            rlt_format_duration(launch, sizeof launch,
                                rlt_endpoint_kernel(&r->options.endpoint, r->options.endpoint.launch_ps)));
    for (uint32_t i = 0; i < p->n_notes; i++)
        fprintf(out, "note: %s (%llu)\n", p->notes[i].text, (unsigned long long)p->notes[i].count);
    if (r->partial)
        fprintf(out, "STOPPED before the end: what follows is partial\n");
}

/* Columns of a table, and the source of their values. */
typedef struct table_columns {
    rlt_column columns[RLT_MAX_COLUMNS];
    rlt_value (*value[RLT_MAX_COLUMNS])(const rlt_run *r, uint32_t i);
    uint32_t n;
} table_columns;

static void show(table_columns *s, const rlt_run_column *c)
{
    for (; c->shape.meaning; c++)
        if (c->shape.title) {
            s->columns[s->n] = c->shape;
            s->value[s->n++] = c->value;
        }
}

enum { FIGURES = 9, SHOWN_PS = 10000 /* hundredths of a microsecond, as shown */ };

/* Ranks whose figures all look the same when printed. */
typedef struct rank_class {
    rlt_time figures[FIGURES]; /* rounded as printed */
    uint32_t first, last, count;
} rank_class;

static rank_class class_of(const rlt_run *r, const table_columns *s, uint32_t rank)
{
    rank_class c = {.first = rank, .last = rank, .count = 1};
    for (uint32_t i = 0; i < s->n && i < FIGURES; i++) {
        rlt_value v = s->value[i](r, rank);
        c.figures[i] = v.absent ? -1 : (v.time + SHOWN_PS / 2) / SHOWN_PS;
    }
    return c;
}

static int by_figures(const void *a, const void *b)
{
    const rank_class *x = a, *y = b;
    for (size_t i = 0; i < FIGURES; i++)
        if (x->figures[i] != y->figures[i])
            return x->figures[i] < y->figures[i] ? -1 : 1;
    return 0;
}

static int by_figures_and_rank(const void *a, const void *b)
{
    const rank_class *x = a, *y = b;
    int c = by_figures(a, b);
    return c ? c : (x->first > y->first) - (x->first < y->first);
}

static int by_first(const void *a, const void *b)
{
    const rank_class *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Groups the ranks into classes, sorted so that the longest span is last. *out is malloc'ed. */
static int rank_classes(const rlt_run *r, const table_columns *s, rank_class **out, uint32_t *n,
                        rlt_error *err)
{
    uint32_t ranks = r->program->n_ranks, k = 0;
    rank_class *list = malloc(ranks * sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < ranks; i++)
        list[i] = class_of(r, s, i);
    qsort(list, ranks, sizeof *list, by_figures_and_rank);
    for (uint32_t i = 0; i < ranks; i++)
        if (k && by_figures(&list[k - 1], &list[i]) == 0) {
            list[k - 1].last = list[i].first;
            list[k - 1].count++;
        } else {
            list[k++] = list[i];
        }
    *out = list;
    *n = k;
    return 0;
}

static void rank_row(const rlt_run *r, const table_columns *s, rlt_table *t, const rank_class *c)
{
    rlt_rank_result k = rlt_replay_rank(r->replay, c->first);
    rlt_time span = k.end_ps - k.start_ps, recorded = r->program->rank_recorded_ps[c->first];
    rlt_value v[RLT_MAX_COLUMNS];
    char label[48];
    if (c->count == 1)
        snprintf(label, sizeof label, "%u", c->first);
    else if (c->last - c->first + 1 == c->count)
        snprintf(label, sizeof label, "%u-%u", c->first, c->last);
    else
        snprintf(label, sizeof label, "%u and %u other%s", c->first, c->count - 1, rlt_s(c->count - 1));
    v[0] = rlt_text(label);
    for (uint32_t i = 0; i < s->n; i++)
        v[i + 1] = s->value[i](r, c->first);
    v[s->n + 1] =
        recorded > 0 && !r->partial ? rlt_real((double)(span - recorded) / (double)recorded) : rlt_absent();
    rlt_table_row(t, v);
}

static bool any_recorded(const rlt_run *r)
{
    for (uint32_t i = 0; i < r->program->n_ranks; i++)
        if (r->program->rank_recorded_ps[i] >= 0)
            return true;
    return false;
}

/* First and last column of the table. The columns of rlt_rank_columns stand between them. */
static const rlt_column rank_columns[] = {
    {"rank", "rank", NULL, RLT_COL_TEXT, 0, 0,
     "the rank, or ranks whose figures look the same when printed: 0-7"},
    {"error", "error", "%", RLT_COL_PERCENT, 7, 2, "span / recorded span - 1"},
};
const rlt_columns rlt_run_rank_columns = {"Ranks of a run: first and last column of the table", rank_columns,
                                          sizeof rank_columns / sizeof *rank_columns};

static int ranks(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_column columns[RLT_MAX_COLUMNS] = {rank_columns[0]};
    table_columns figures = {.n = 0};
    rlt_table t;
    rank_class *list = NULL;
    uint32_t n = 0;
    show(&figures, rlt_rank_columns);
    memcpy(columns + 1, figures.columns, figures.n * sizeof *columns);
    columns[figures.n + 1] = rank_columns[1];
    int rc = rank_classes(r, &figures, &list, &n, err);
    if (rc)
        return rc;
    rank_class shortest = list[0], longest = list[n - 1];
    qsort(list, n, sizeof *list, by_first);
    rlt_heading(out, "\nranks");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, any_recorded(r) ? figures.n + 2 : figures.n, out, NULL);
    for (uint32_t i = 0; i < n && (n <= MANY_RANKS || i < MANY_RANKS / 2); i++)
        rank_row(r, &figures, &t, &list[i]);
    if (n > MANY_RANKS) {
        rank_row(r, &figures, &t, &shortest);
        rank_row(r, &figures, &t, &longest);
    }
    free(list);
    rc = rlt_table_end(&t, err);
    if (n > MANY_RANKS)
        fprintf(out,
                "(the first %d of %u kinds of rank, the shortest and the longest; --format csv lists all)\n",
                MANY_RANKS / 2, n);
    return rc;
}

typedef struct ranked {
    uint32_t comm;
    rlt_time key;
} ranked;

static int longest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return (x->comm > y->comm) - (x->comm < y->comm);
}

static int by_index(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->comm > y->comm) - (x->comm < y->comm);
}

static int collectives(const rlt_run *r, FILE *out, rlt_error *err)
{
    uint32_t n = r->program->n_comms, most = n > MANY_COMMS ? MANY_COMMS : n;
    table_columns of = {.n = 0};
    rlt_table t;
    if (!n)
        return 0;
    show(&of, rlt_comm_columns);
    ranked *list = malloc(n * sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        rlt_comm_result res = rlt_replay_comm(r->replay, i);
        list[i] = (ranked){i, res.end_ps >= 0 ? res.end_ps - res.last_arrival_ps : -1};
    }
    qsort(list, n, sizeof *list, longest_first);
    qsort(list, most, sizeof *list, by_index);
    for (uint32_t i = 0; i < most; i++)
        for (uint32_t k = 0; k < of.n; k++)
            if (of.columns[k].kind == RLT_COL_TEXT) {
                rlt_value name = of.value[k](r, list[i].comm);
                rlt_column_widen(&of.columns[k], name.absent ? "" : name.text);
            }
    rlt_heading(out, "\ncommunication%s", most < n ? " (the longest transfers)" : "");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, of.columns, of.n, out, NULL);
    for (uint32_t i = 0; i < most; i++) {
        rlt_value v[RLT_MAX_COLUMNS];
        for (uint32_t k = 0; k < of.n; k++)
            v[k] = of.value[k](r, list[i].comm);
        rlt_table_row(&t, v);
    }
    free(list);
    int rc = rlt_table_end(&t, err);
    if (most < n)
        fprintf(out, "(%u of %u; --format json lists all)\n", most, n);
    return rc;
}

static const rlt_column link_columns[] = {
    {"link", "link", NULL, RLT_COL_TEXT, 30, 0, "the link, or the first of several links that did the same"},
    {"bytes", "bytes each", NULL, RLT_COL_SIZE, 12, 0,
     "bytes that each of these links carried, protocol overhead included"},
    {"busy_ps", "busy", "us", RLT_COL_TIME, 11, 1, "bytes / capacity"},
    {"active_ps", "active", "us", RLT_COL_TIME, 11, 1, "time in which some transfer was present on the link"},
    {"utilization", "utilization", "%", RLT_COL_PERCENT, 12, 1, "busy time of the link / time of the run"},
    {NULL, "", NULL, RLT_COL_TEXT, 20, 0, "the utilization as a bar"},
};

const rlt_columns rlt_run_link_columns = {"Busiest links: table of `ringlet run`", link_columns,
                                          sizeof link_columns / sizeof *link_columns};

static int links(const rlt_run *r, const rlt_run_asked *s, FILE *out, rlt_error *err)
{
    rlt_link_class *list = NULL;
    rlt_table t;
    uint32_t n = 0, shown;
    int rc = rlt_run_links(r, !s->report.links, &list, &n, err);
    if (rc || !n) {
        if (!rc)
            free(list);
        return rc;
    }
    shown = s->report.links || n < SHOWN_LINKS ? n : SHOWN_LINKS;
    rlt_heading(out, "\nlinks%s", shown < n ? " (the busiest)" : "");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, link_columns, sizeof link_columns / sizeof *link_columns, out,
                    NULL);
    for (uint32_t i = 0; i < shown; i++) {
        char name[160], bar[21];
        size_t filled = (size_t)(list[i].utilization * 20 + 0.5);
        rlt_link_class_name(r->setup.topology, &list[i], name, sizeof name);
        memset(bar, '#', sizeof bar);
        bar[filled > 20 ? 20 : filled] = '\0';
        rlt_value v[] = {rlt_text(name),
                         rlt_count(list[i].usage.bytes),
                         rlt_ps(list[i].usage.busy_ps),
                         rlt_ps(list[i].usage.active_ps),
                         rlt_real(list[i].utilization),
                         rlt_text(bar)};
        rlt_table_row(&t, v);
    }
    free(list);
    rc = rlt_table_end(&t, err);
    if (shown < n)
        fprintf(out, "(%u of %u classes of equal links; --links lists every link)\n", shown, n);
    return rc;
}

static int summary(const rlt_run *r, FILE *out, rlt_error *err)
{
    char a[32], line[512];
    uint32_t n = rlt_replay_iterations(r->replay);
    int rc = rlt_run_verdict(r, line, sizeof line, err);
    if (rc)
        return rc;
    rlt_heading(out, "\nsummary");
    for (uint32_t i = 0; i < n && i < 8; i++)
        fprintf(out, "iteration %-3u %s\n", i,
                rlt_format_duration(a, sizeof a, rlt_replay_iteration_ps(r->replay, i)));
    if (n > 8)
        fprintf(out, "... %u iterations in all\n", n);
    fprintf(out, "total time    %s\n", rlt_format_duration(a, sizeof a, rlt_replay_time(r->replay)));
    if (rlt_run_slowdown(r) > 0)
        fprintf(out, "slowdown      %.4f: what was recorded, over this run without stragglers\n",
                rlt_run_slowdown(r));
    rlt_link_events_table(r, out);
    if ((rc = rlt_unlost_table(r, out, err)))
        return rc;
    rlt_run_causes_line(r, out);
    fprintf(out, "what bounds it: %s\n", line);
    return rlt_run_certificate_line(r, out, err);
}

int rlt_run_table(const rlt_run *r, const rlt_run_asked *s, FILE *out, rlt_error *err)
{
    int rc;
    intro(r, out);
    if ((rc = ranks(r, out, err)) || (rc = collectives(r, out, err)) || (rc = links(r, s, out, err)))
        return rc;
    rlt_run_react_table(r, out);
    rlt_run_training_table(r, out);
    rlt_mapping_table(r, out);
    if ((rc = rlt_jobs_table(r, out, err)) || (rc = summary(r, out, err)))
        return rc;
    rlt_failures_table(r, out);
    return 0;
}
