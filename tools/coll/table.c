/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of `ringlet coll`: rows are simulated on several threads and written in order by one. */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "net/links.h"
#include "net/network.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/file.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/coll/coll.h"
#include "tools/coll/dropped.h"
#include "tools/coll/react.h"
#include "tools/coll/remarks.h"
#include "tools/coll/row.h"
#include "tools/coll/tenants.h"
#include "tools/output/links.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/one.h"
#include "workload/experiment/coll/react.h"
#include "workload/experiment/coll/steps.h"
#include "workload/setup/settings.h"

/* Most results that may wait for an earlier one: in all, or, where each keeps its simulation, per thread. */
enum { WAITING_ROWS = 1024, WAITING_LINKS = 2 };
/* Ranks x bytes above which `all` leaves out reactive protocols: a simulation would take more than
 * seconds. */
#define MOST_OF_ALL ((uint64_t)1 << 33)

/* Result of one job. */
typedef struct coll_result {
    bool served;       /* the algorithm supports the request; the members below are then valid */
    rlt_coll_one one;  /* simulation, kept if links are wanted */
    char refused[400]; /* why it is not supported */
    bool quiet;        /* no note is due: nobody named it, or nobody would expect it here */
    rlt_coll_row row;
    rlt_coll_kind kind;
    rlt_coll_remarks remarks;
} coll_result;

typedef struct coll_table {
    const rlt_coll_ask *ask;
    const rlt_coll_output *output;
    rlt_format format;
    bool keeps_links, keeps_runs;           /* simulations kept: of all rows, of protocols */
    coll_result *results;                   /* one per slot */
    rlt_coll_row rows[RLT_COLL_ALGORITHMS]; /* rows of the current size */
    uint32_t n_rows;
    uint64_t rows_done, hidden;
    rlt_coll_points points, between; /* between: also those that only crossovers need */
    rlt_coll_remarked remarked;
    rlt_dropped dropped;
    bool marked; /* a row has the mark of the fastest */
    uint32_t n_columns;
    rlt_file file;
    rlt_jw json;
    bool json_open;
    rlt_column columns[RLT_ROW_COLUMNS];
    rlt_table table;
    rlt_table tenants; /* written below the table: one line each */
    bool tenants_open;
} coll_table;

/* Returns true, and keeps the reason, if an error only drops the row's algorithm out of a list. */
static bool drops_out(const coll_table *t, coll_result *r, int rc, const rlt_error *why)
{
    const rlt_coll_ask *ask = t->ask;
    bool several = ask->all_algorithms || ask->n_algorithms > 1;
    if (!several || (rc != RLT_EUNSUPPORTED && rc != RLT_ETOPOLOGY))
        return false;
    snprintf(r->refused, sizeof r->refused, "%.100s%s%.280s", why->where, why->where[0] ? ": " : "",
             why->what);
    return true;
}

static void drop_by_design(const coll_table *t, coll_result *r)
{
    r->quiet = t->ask->all_algorithms;
    snprintf(r->refused, sizeof r->refused, "it does not support %s", rlt_coll_name(r->kind));
}

/* Opens the simulation of a row if its step algorithm supports it. Returns 0 and sets `served`, or an error
 * that ends the command. An unsupported case is such an error only if it was asked for alone. */
static int try_steps(const coll_table *t, coll_result *r, uint32_t i, rlt_error *err)
{
    const rlt_coll_ask *ask = t->ask;
    const rlt_algorithm *a = ask->algorithms[i % ask->n_algorithms];
    bool several = ask->all_algorithms || ask->n_algorithms > 1;
    rlt_error why = {0};
    r->served = false;
    if (a && !(a->kinds & 1u << r->kind)) {
        if (!several && ask->n_kinds == 1)
            return rlt_fail(
                err, RLT_EUSAGE, "--algorithm",
                "%s does not support %s; 'ringlet list algorithms' shows what each algorithm supports",
                a->name, rlt_coll_name(r->kind));
        drop_by_design(t, r);
        return 0;
    }
    int rc = rlt_coll_one_open(&r->one, ask, i, t->output->series_ps, &why);
    r->served = rc == 0;
    if (!rc)
        return 0;
    r->quiet = !ask->settings->algorithm;
    if (drops_out(t, r, rc, &why))
        return 0;
    return rlt_fail(err, rc, why.where, "%s", why.what);
}

/* The same for a reactive protocol. A comparison of all algorithms leaves out cases that would take too
 * long. */
static int try_protocol(const coll_table *t, coll_result *r, uint32_t i, rlt_error *err)
{
    const rlt_coll_ask *ask = t->ask;
    const rlt_reactive *protocol = ask->reacting[i % ask->n_algorithms]->protocol;
    uint64_t bytes = ask->cases[i / ask->n_algorithms].bytes;
    bool several = ask->n_algorithms > 1 || ask->n_kinds > 1;
    rlt_error why = {0};
    r->served = false;
    if (several && !rlt_reactive_does(protocol, r->kind)) {
        drop_by_design(t, r);
        return 0;
    }
    if (ask->all_algorithms && bytes > MOST_OF_ALL / ask->group.n) {
        snprintf(r->refused, sizeof r->refused,
                 "its packets take long to simulate for %u ranks x %llu bytes; name it to include it",
                 ask->group.n, (unsigned long long)bytes);
        return 0;
    }
    int rc = rlt_coll_one_open(&r->one, ask, i, t->output->series_ps, &why);
    r->served = rc == 0;
    if (rc && rc != RLT_ENOMEM && several) {
        snprintf(r->refused, sizeof r->refused, "%.100s%s%.280s", why.where, why.where[0] ? ": " : "",
                 why.what);
        return 0;
    }
    return rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* Simulates a row, on any thread. Reads the request; writes only its own slot. */
static int simulate_row(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    const coll_table *t = ctx;
    const rlt_coll_ask *ask = t->ask;
    bool reacts = ask->reacting[i % ask->n_algorithms] != NULL;
    rlt_watch watch = rlt_task_watcher(job);
    coll_result *r = &t->results[slot];
    r->refused[0] = '\0';
    r->kind = ask->cases[i / ask->n_algorithms].kind;
    r->quiet = false;
    rlt_error why = {0};
    int rc = reacts ? try_protocol(t, r, i, err) : try_steps(t, r, i, err);
    if (!rc && r->served && (rc = rlt_coll_one_simulate(&r->one, &watch, &why)) != 0) {
        r->served = false;
        rc = drops_out(t, r, rc, &why) ? 0 : rlt_fail(err, rc, why.where, "%s", why.what);
    } else if (!rc && r->served) {
        rlt_row_of(&r->row, &r->one.result, &r->one.tenants);
        rlt_coll_remarks_of(&r->one, t->output->why, &r->remarks);
    }
    if (rc || !r->served || !(reacts ? t->keeps_runs : t->keeps_links))
        rlt_coll_one_drop(&r->one);
    return rc;
}

static int write_links(coll_table *t, const coll_result *r, rlt_error *err)
{
    const rlt_report_settings *report = t->output->report;
    const rlt_topology *topology = t->ask->setup.topology;
    int rc = 0;
    if (!t->keeps_links)
        return 0;
    const rlt_usage *u = rlt_coll_one_usage(&r->one);
    rlt_time time_ps = r->row.time_ps;
    if (report->links && t->format == RLT_FORMAT_JSON)
        rc = rlt_links_json(&t->json, topology, u, time_ps, !report->expand_links, true, err);
    if (!rc && report->links && t->format == RLT_FORMAT_TABLE)
        rc = rlt_links_table(t->file.stream, topology, u, time_ps, !report->expand_links, err);
    if (!rc && report->links_csv)
        rc = rlt_links_csv(report->links_csv, topology, u, time_ps, err);
    return rc;
}

/* Returns true if a row is written with its links, while its run is still held. Other rows wait until the
 * fastest of their size is known. */
static bool row_comes_with_links(const coll_table *t)
{
    return t->format == RLT_FORMAT_JSON || (t->format == RLT_FORMAT_TABLE && t->output->report->links);
}

/* Writes the rows of a size. Marks the fastest if there are several. In a table of all algorithms it is the
 * first, and the only one if there are several sizes. */
static int put_rows(coll_table *t, rlt_error *err)
{
    uint32_t n = t->n_rows, order[RLT_COLL_ALGORITHMS];
    bool sorts = t->ask->all_algorithms && t->format == RLT_FORMAT_TABLE;
    bool hides = sorts && t->ask->n_cases > 1 && !t->output->all;
    rlt_time best = RLT_TIME_MAX;
    t->n_rows = 0;
    t->rows_done += n;
    if (row_comes_with_links(t))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; sorts && k && t->rows[order[k - 1]].time_ps > t->rows[i].time_ps; k--)
            order[k] = order[k - 1];
        order[k] = i;
        best = t->rows[i].time_ps < best ? t->rows[i].time_ps : best;
    }
    for (uint32_t i = 0; i < (hides && n ? 1 : n); i++) {
        rlt_coll_row *row = &t->rows[order[i]];
        if (n > 1 && row->time_ps == best) {
            row->values[RLT_ROW_MARK] = rlt_text("*");
            t->marked = true;
        }
        rlt_table_row(&t->table, row->values);
    }
    t->hidden += hides && n ? n - 1 : 0;
    return rlt_file_flush(&t->file, err);
}

static int take_row(coll_table *t, coll_result *r, uint32_t place, rlt_error *err)
{
    rlt_coll_row *row = &t->rows[t->n_rows++];
    int rc;
    *row = r->row;
    row->values[RLT_ROW_BOTTLENECK] = rlt_text(row->bottleneck);
    rc = rlt_coll_note_point(&t->points,
                             &(rlt_coll_point){.kind = r->kind,
                                               .algorithm = row->values[RLT_ROW_ALGORITHM].text,
                                               .place = place,
                                               .bytes = row->values[RLT_ROW_BYTES].count,
                                               .work = r->one.result.work,
                                               .time_ps = row->time_ps,
                                               .bound_ps = row->values[RLT_ROW_BOUND].time,
                                               .bus_factor = row->values[RLT_ROW_FACTOR].real},
                             err);
    if (rc)
        return rc;
    if (t->format == RLT_FORMAT_JSON) {
        rlt_jw_object(&t->json, NULL);
        rlt_row_json(&t->json, rlt_row_columns, t->n_columns, row->values);
        if (r->one.react.fabric)
            rc = rlt_react_json(&t->json, &r->one.react, t->ask->setup.topology, err);
        if (r->one.tenants.list)
            rlt_tenants_json(&t->json, &r->one.tenants);
    } else if (row_comes_with_links(t))
        rlt_table_row(&t->table, row->values);
    if (!rc)
        rc = write_links(t, r, err);
    if (t->format == RLT_FORMAT_JSON)
        rlt_jw_end_object(&t->json);
    if (t->tenants_open)
        rlt_tenants_rows(&t->tenants, &r->one.tenants, r->kind, row->values[RLT_ROW_BYTES].count,
                         row->values[RLT_ROW_ALGORITHM].text);
    rlt_coll_one_end(&r->one);
    return rc;
}

/* Keeps why a row is missing. */
static int take_dropped(coll_table *t, const coll_result *r, uint32_t i, rlt_error *err)
{
    const rlt_coll_ask *ask = t->ask;
    uint32_t a = i % ask->n_algorithms;
    const char *name = ask->reacting[a]     ? rlt_reactive_name(ask->reacting[a]->protocol)
                       : ask->listed[a]     ? ask->listed[a]->name
                       : ask->algorithms[a] ? ask->algorithms[a]->name
                                            : "auto";
    rlt_dropped_entry one = {.algorithm = name,
                             .kind = r->kind,
                             .bytes = ask->cases[i / ask->n_algorithms].bytes,
                             .quiet = r->quiet};
    size_t named = strlen(name); /* what an algorithm says of itself begins with its name */
    bool twice = strncmp(r->refused, name, named) == 0 && strncmp(r->refused + named, ": ", 2) == 0;
    snprintf(one.reason, sizeof one.reason, "%s", r->refused + (twice ? named + 2 : 0));
    return rlt_drop(&t->dropped, &one, err);
}

static int take_result(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    coll_table *t = ctx;
    coll_result *r = &t->results[slot];
    if (r->served)
        rlt_coll_remark(&t->remarked, t->ask, i % t->ask->n_algorithms, &r->remarks);
    int rc = r->served ? take_row(t, r, i % t->ask->n_algorithms, err) : take_dropped(t, r, i, err);
    if (!rc && (i + 1) % t->ask->n_algorithms == 0)
        rc = put_rows(t, err);
    return rc;
}

static int run_all(coll_table *t, rlt_error *err)
{
    const rlt_coll_ask *ask = t->ask;
    rlt_progress progress;
    rlt_pool_work work = {.n = ask->n_cases * ask->n_algorithms,
                          .slots = t->keeps_links || t->keeps_runs ? WAITING_LINKS * t->output->jobs
                                                                   : WAITING_ROWS,
                          .ctx = t,
                          .run = simulate_row,
                          .take = take_result,
                          .progress = &progress};
    int rc;
    work.slots = work.slots < work.n ? work.slots : work.n;
    t->results = calloc(work.slots, sizeof *t->results);
    if (!t->results)
        return rlt_nomem(err);
    rlt_coll_remark_network(ask);
    rlt_progress_start(&progress, "simulating");
    rc = rlt_pool_run(&work, t->output->jobs, err);
    if (rc)
        (void)put_rows(t, NULL);
    rlt_progress_clear();
    for (uint32_t i = 0; i < work.slots; i++)
        rlt_coll_one_end(&t->results[i].one);
    free(t->results);
    rlt_dropped_notes(&t->dropped, ask->n_sizes);
    if (!rc && t->rows_done == 0)
        return rlt_fail(
            err, RLT_EUSAGE, "--algorithm",
            "none of these algorithms supports %s here; 'ringlet list algorithms' shows what each supports",
            ask->settings->collective);
    return rc;
}

static int begin_output(coll_table *t, rlt_error *err)
{
    const rlt_coll_ask *ask = t->ask;
    char line[400];
    int rc;
    t->format = rlt_format_of(t->output->report->format, t->output->report->output);
    t->keeps_links =
        t->output->report->links_csv || (t->output->report->links && t->format != RLT_FORMAT_CSV);
    for (uint32_t a = 0; a < ask->n_algorithms; a++)
        t->n_columns = ask->reacting[a] ? RLT_ROW_OF_PROTOCOLS : t->n_columns;
    t->keeps_runs = t->keeps_links || (t->format == RLT_FORMAT_JSON && t->n_columns == RLT_ROW_OF_PROTOCOLS);
    t->n_columns = ask->tenants ? RLT_ROW_COLUMNS : t->n_columns;
    if (t->format == RLT_FORMAT_JSON) {
        rlt_document_begin(&t->json, "coll", ask->args, &ask->setup.inputs);
        rlt_setup_json(&ask->setup, &t->json);
        rlt_jw_array(&t->json, "results");
        t->json_open = true;
        return 0;
    }
    if ((rc = rlt_file_open(&t->file, t->output->report->output, err)))
        return rc;
    if (t->format == RLT_FORMAT_TABLE) {
        rlt_setup_line(&ask->setup, line, sizeof line);
        fprintf(t->file.stream, "# %s\n", line);
    }
    memcpy(t->columns, rlt_row_columns, sizeof rlt_row_columns);
    for (uint32_t k = 0; k < ask->n_cases; k++)
        rlt_column_widen(&t->columns[RLT_ROW_COLLECTIVE], rlt_coll_name(ask->cases[k].kind));
    for (uint32_t a = 0; a < ask->n_algorithms; a++)
        if (ask->reacting[a])
            rlt_column_widen(&t->columns[RLT_ROW_ALGORITHM], rlt_reactive_name(ask->reacting[a]->protocol));
        else if (ask->algorithms[a])
            rlt_column_widen(&t->columns[RLT_ROW_ALGORITHM],
                             ask->listed[a] ? ask->listed[a]->name : ask->algorithms[a]->name);
    for (uint32_t a = 0; a < ask->n_algorithms; a++)
        if (ask->libraries[a])
            rlt_column_widen(&t->columns[RLT_ROW_ALGORITHM], rlt_coll_label_of(ask, a, &rlt_nvls_tree));
    rlt_table_begin(&t->table, t->format, t->columns, t->n_columns, t->file.stream, NULL);
    t->tenants_open = ask->tenants && t->format == RLT_FORMAT_TABLE;
    if (t->tenants_open)
        rlt_tenants_table(&t->tenants, t->file.stream);
    return 0;
}

/* Finds crossovers, for a table and JSON. */
static int find_crossovers(coll_table *t, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < t->points.n && !rc; i++)
        rc = rlt_coll_note_point(&t->between, &t->points.items[i], err);
    if (!rc && t->format != RLT_FORMAT_CSV)
        rc = rlt_coll_refine(t->ask, t->output->jobs, &t->between, err);
    return rc;
}

/* Writes the lines of the tenants below the table. */
static int end_tenants(coll_table *t, rlt_error *err)
{
    const rlt_coll_ask *ask = t->ask;
    if (!t->tenants_open || t->rows_done == 0)
        return 0;
    t->tenants_open = false;
    fprintf(
        t->file.stream,
        "\n# %u tenants at once; tenant j has the group's ranks j, j + %u, ...; above, time is that of the "
        "slowest,\n# ranks, size and bandwidths are those of one; Jain: index of their rates, 1 if all are "
        "equal\n",
        ask->n_tenants, ask->n_tenants);
    return rlt_table_end(&t->tenants, err);
}

static int end_output(coll_table *t, bool partial, rlt_error *err)
{
    int rc;
    if (t->format == RLT_FORMAT_JSON) {
        rlt_jw_end_array(&t->json);
        rlt_coll_json_crossings(&t->json, t->ask, &t->between);
        rlt_coll_json_choices(&t->json, t->ask);
        rlt_dropped_json(&t->json, &t->dropped);
        if (partial)
            rlt_jw_bool(&t->json, "partial", true);
        t->json_open = false;
        return rlt_document_write(&t->json, t->output->report->output, err);
    }
    if ((rc = rlt_table_end(&t->table, err)))
        return rc;
    if ((rc = end_tenants(t, err)))
        return rc;
    if (t->format == RLT_FORMAT_TABLE) {
        rlt_coll_put_crossings(t->file.stream, t->ask, &t->between);
        rlt_coll_put_choices(t->file.stream, t->ask);
        if (t->hidden)
            fprintf(t->file.stream,
                    "# rows of algorithms that are no faster are hidden (%llu): --all shows them\n",
                    (unsigned long long)t->hidden);
        fprintf(t->file.stream,
                "%s# algbw = bytes / time; busbw = algbw x factor (all_reduce 2(n-1)/n; all_gather, "
                "reduce_scatter,\n# all_to_all, gather, scatter (n-1)/n; others 1); eff. = bound / time; "
                "busy: of the bottleneck, the busiest link\n",
                t->marked ? "# * the fastest algorithm of its size\n" : "");
    }
    rlt_mark_partial(t->file.stream);
    return rlt_file_close(&t->file, err);
}

int rlt_coll_table(const rlt_coll_ask *ask, const rlt_coll_output *output, rlt_error *err)
{
    coll_table t = {.ask = ask, .output = output, .n_columns = RLT_ROW_OF_STEPS};
    int rc = begin_output(&t, err), ended = 0;
    if (!rc) {
        if (!(rc = run_all(&t, err)))
            rc = find_crossovers(&t, err);
        if (rc == RLT_ECANCELLED)
            rlt_interrupted_result(err);
        if (!rc || rc == RLT_ECANCELLED)
            ended = end_output(&t, rc != 0, rc ? NULL : err);
        if (!rc && !ended && output->why)
            rlt_coll_choices(ask);
        if (!rc && !ended && output->plot) {
            char title[400];
            rlt_setup_line(&ask->setup, title, sizeof title);
            ended = rlt_coll_plot(output->plot, title, &t.points, err);
        }
    }
    rlt_coll_points_free(&t.points);
    rlt_coll_points_free(&t.between);
    rlt_dropped_free(&t.dropped);
    if (t.json_open)
        rlt_document_drop(&t.json);
    if (end_tenants(&t, NULL) && !ended)
        ended = rlt_nomem(err);
    if (t.file.stream)
        rlt_file_discard(&t.file);
    return rc ? rc : ended;
}
