/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A finished run for people: ranks, collectives, links, and a summary at the end. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/links.h"
#include "net/topology/endpoint.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
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

static const rlt_column rank_columns[] = {
    {"rank", "rank", NULL, RLT_COL_TEXT, 0, 0},
    {"span_ps", "span", "us", RLT_COL_TIME, 11, 1},
    {"compute_ps", "compute", "us", RLT_COL_TIME, 11, 1},
    {"exposed_comm_ps", "exposed comm", "us", RLT_COL_TIME, 13, 1},
    {"host_ps", "host", "us", RLT_COL_TIME, 11, 1},
    {"idle_ps", "idle", "us", RLT_COL_TIME, 11, 1},
    {"comm_wait_ps", "comm wait", "us", RLT_COL_TIME, 11, 1},
    {"comm_transfer_ps", "transfer", "us", RLT_COL_TIME, 11, 1},
    {"recorded_span_ps", "recorded", "us", RLT_COL_TIME, 11, 1},
    {"error", "error", "%", RLT_COL_PERCENT, 7, 2},
};

/* Ranks of which every figure reads the same. */
typedef struct rank_class {
    rlt_rank_result k;
    rlt_time recorded;
    uint32_t first, last, count;
} rank_class;

enum { FIGURES = 8, SHOWN_PS = 10000 /* hundredths of a microsecond */ };

static void figures(const rank_class *c, rlt_time v[FIGURES])
{
    v[0] = c->k.end_ps - c->k.start_ps;
    v[1] = c->k.compute_ps;
    v[2] = c->k.exposed_comm_ps;
    v[3] = c->k.host_ps;
    v[4] = c->k.idle_ps;
    v[5] = c->k.comm_wait_ps;
    v[6] = c->k.comm_transfer_ps;
    v[7] = c->recorded;
    for (int i = 0; i < FIGURES; i++)
        v[i] = v[i] < 0 ? v[i] : (v[i] + SHOWN_PS / 2) / SHOWN_PS;
}

static int by_figures(const void *a, const void *b)
{
    rlt_time u[FIGURES], v[FIGURES];
    figures(a, u);
    figures(b, v);
    for (size_t i = 0; i < FIGURES; i++)
        if (u[i] != v[i])
            return u[i] < v[i] ? -1 : 1;
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

/* Longest span last; *out malloc'ed. */
static int rank_classes(const rlt_run *r, rank_class **out, uint32_t *n, rlt_error *err)
{
    uint32_t ranks = r->program->n_ranks, k = 0;
    rank_class *list = malloc(ranks * sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < ranks; i++)
        list[i] = (rank_class){rlt_replay_rank(r->replay, i), r->program->rank_recorded_ps[i], i, i, 1};
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

static void rank_row(const rlt_run *r, rlt_table *t, const rank_class *c)
{
    char label[48];
    rlt_time span = c->k.end_ps - c->k.start_ps;
    if (c->count == 1)
        snprintf(label, sizeof label, "%u", c->first);
    else if (c->last - c->first + 1 == c->count)
        snprintf(label, sizeof label, "%u-%u", c->first, c->last);
    else
        snprintf(label, sizeof label, "%u and %u others", c->first, c->count - 1);
    bool compare = c->recorded > 0 && !r->partial;
    rlt_value v[] = {rlt_text(label),
                     rlt_ps(span),
                     rlt_ps(c->k.compute_ps),
                     rlt_ps(c->k.exposed_comm_ps),
                     rlt_ps(c->k.host_ps),
                     rlt_ps(c->k.idle_ps),
                     rlt_ps(c->k.comm_wait_ps),
                     rlt_ps(c->k.comm_transfer_ps),
                     c->recorded >= 0 ? rlt_ps(c->recorded) : rlt_absent(),
                     compare ? rlt_real((double)(span - c->recorded) / (double)c->recorded) : rlt_absent()};
    rlt_table_row(t, v);
}

static bool any_recorded(const rlt_run *r)
{
    for (uint32_t i = 0; i < r->program->n_ranks; i++)
        if (r->program->rank_recorded_ps[i] >= 0)
            return true;
    return false;
}

static int ranks(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_table t;
    rank_class *list = NULL;
    uint32_t n = 0, columns = sizeof rank_columns / sizeof *rank_columns;
    int rc = rank_classes(r, &list, &n, err);
    if (rc)
        return rc;
    rank_class shortest = list[0], longest = list[n - 1];
    qsort(list, n, sizeof *list, by_first);
    rlt_heading(out, "\nranks");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, rank_columns, any_recorded(r) ? columns : columns - 2, out, NULL);
    for (uint32_t i = 0; i < n && (n <= MANY_RANKS || i < MANY_RANKS / 2); i++)
        rank_row(r, &t, &list[i]);
    if (n > MANY_RANKS) {
        rank_row(r, &t, &shortest);
        rank_row(r, &t, &longest);
    }
    free(list);
    rc = rlt_table_end(&t, err);
    if (n > MANY_RANKS)
        fprintf(out,
                "(the first %d of %u kinds of rank, the shortest and the longest; --format csv lists all)\n",
                MANY_RANKS / 2, n);
    return rc;
}

static const rlt_column comm_columns[] = {
    {"index", "#", NULL, RLT_COL_COUNT, 4, 0},
    {"collective", "collective", NULL, RLT_COL_TEXT, 15, 0},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 13, 0},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 6, 0},
    {"bytes", "bytes", NULL, RLT_COL_SIZE, 11, 0},
    {"last_arrival_ps", "begins", "us", RLT_COL_TIME, 11, 1},
    {"wait_ps", "wait", "us", RLT_COL_TIME, 10, 1},
    {"transfer_ps", "transfer", "us", RLT_COL_TIME, 10, 1},
    {"bound_ps", "bound", "us", RLT_COL_TIME, 10, 1},
    {"busbw_Bps", "busbw", NULL, RLT_COL_RATE, 11, 0},
    {"last_rank", "last", "rank", RLT_COL_COUNT, 6, 0},
};

enum { ALGORITHM = 2 };

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

static void comm_row(const rlt_run *r, rlt_table *t, uint32_t i)
{
    const rlt_comm *c = &r->program->comms[i];
    rlt_comm_result res = rlt_replay_comm(r->replay, i);
    rlt_time transfer = res.end_ps - res.last_arrival_ps;
    bool done = res.end_ps >= 0;
    rlt_value v[] = {
        rlt_count(i),
        rlt_text(rlt_coll_name(c->kind)),
        rlt_text(res.algorithm),
        rlt_count(rlt_run_comm_ranks(r, i)),
        rlt_count(c->bytes),
        done ? rlt_ps(res.last_arrival_ps) : rlt_absent(),
        done ? rlt_ps(res.last_arrival_ps - res.first_arrival_ps) : rlt_absent(),
        done ? rlt_ps(transfer) : rlt_absent(),
        done && !r->timing ? rlt_ps(res.bound_ps) : rlt_absent(),
        done ? rlt_count((uint64_t)rlt_run_busbw(r, i, transfer)) : rlt_absent(),
        done ? rlt_count(r->program->ops[r->program->comm_ops[c->first_op + res.last_member]].rank)
             : rlt_absent()};
    rlt_table_row(t, v);
}

static int collectives(const rlt_run *r, FILE *out, rlt_error *err)
{
    uint32_t n = r->program->n_comms, shown = n > MANY_COMMS ? MANY_COMMS : n;
    rlt_table t;
    if (!n)
        return 0;
    ranked *list = malloc(n * sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        rlt_comm_result res = rlt_replay_comm(r->replay, i);
        list[i] = (ranked){i, res.end_ps >= 0 ? res.end_ps - res.last_arrival_ps : -1};
    }
    qsort(list, n, sizeof *list, longest_first);
    qsort(list, shown, sizeof *list, by_index);
    rlt_column columns[sizeof comm_columns / sizeof *comm_columns];
    memcpy(columns, comm_columns, sizeof columns);
    for (uint32_t i = 0; i < shown; i++) {
        const char *name = rlt_replay_comm(r->replay, list[i].comm).algorithm;
        rlt_column_widen(&columns[ALGORITHM], name ? name : "");
    }
    rlt_heading(out, "\ncommunication%s", shown < n ? " (the longest transfers)" : "");
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, sizeof columns / sizeof *columns, out, NULL);
    for (uint32_t i = 0; i < shown; i++)
        comm_row(r, &t, list[i].comm);
    free(list);
    int rc = rlt_table_end(&t, err);
    if (shown < n)
        fprintf(out, "(%u of %u; --format json lists all)\n", shown, n);
    return rc;
}

static const rlt_column link_columns[] = {
    {"link", "link", NULL, RLT_COL_TEXT, 30, 0},
    {"bytes", "bytes each", NULL, RLT_COL_SIZE, 12, 0},
    {"busy_ps", "busy", "us", RLT_COL_TIME, 11, 1},
    {"active_ps", "active", "us", RLT_COL_TIME, 11, 1},
    {"utilization", "utilization", "%", RLT_COL_PERCENT, 12, 1},
    {NULL, "", NULL, RLT_COL_TEXT, 20, 0},
};

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
    rlt_rank_result k = rlt_replay_rank(r->replay, r->last_rank);
    double span = k.end_ps > k.start_ps ? (double)(k.end_ps - k.start_ps) : 1;
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
    fprintf(out,
            "rank %u, the last to end: compute %.1f %%, exposed communication %.1f %%, host %.1f %%, idle "
            "%.1f %%\n",
            r->last_rank, 100 * (double)k.compute_ps / span, 100 * (double)k.exposed_comm_ps / span,
            100 * (double)k.host_ps / span, 100 * (double)k.idle_ps / span);
    fprintf(out, "what bounds it: %s\n", line);
    return 0;
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
