/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet coll: collectives x sizes x algorithms, one simulation each, in the manner of nccl-tests. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/coll.h"
#include "tools/commands.h"
#include "tools/file.h"
#include "tools/interrupt.h"
#include "tools/message.h"

typedef struct coll_settings {
    rlt_settings sim;
    rlt_report_settings report;
    const char *collective, *algorithm, *bytes, *group, *counts;
    uint64_t ranks, root;
    bool no_fold, check;
} coll_settings;

#define AT(field) .offset = offsetof(coll_settings, field)
static const rlt_option own_options[] = {
    {"collective", 'c', RLT_OPT_TEXT, "NAME[,...]",
     "all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce, barrier, send_recv (from the "
     "group's first rank to its second), several separated by commas, or all.",
     AT(collective), .preset = "all_reduce"},
    {"algorithm", 'a', RLT_OPT_TEXT, "NAME[,...]",
     "Algorithms to compare, those that 'ringlet list algorithms' shows; all: each that can do the "
     "collective; auto: the one ringlet would choose.",
     AT(algorithm), .preset = "auto", .word_at = rlt_algorithm_word},
    {"bytes", 'b', RLT_OPT_TEXT, "SIZES",
     "Sizes: 64MiB, a list 1KiB,1MiB, or a range LOW:HIGH:xN or LOW:HIGH:+STEP such as 1KiB:1GiB:x4. "
     "all_reduce, broadcast, reduce, all_to_all: the buffer of a rank; all_gather: the whole result; "
     "reduce_scatter: the whole input.",
     AT(bytes), .preset = "1KiB:1GiB:x4"},
    {"ranks", 'r', RLT_OPT_COUNT, "N", "Only ranks 0 to N-1 take part (default: one on each accelerator).",
     AT(ranks), .min = 1, .max = RLT_MAX_MEMBERS},
    {"group", 'g', RLT_OPT_TEXT, "LIST", "Only these ranks take part, in this order: 0-3,8.", AT(group)},
    {"root", 0, RLT_OPT_COUNT, "R",
     "The rank that broadcasts, or that is reduced to (default: the group's first).", AT(root)},
    {"counts", 0, RLT_OPT_TEXT, "FILE",
     "For all_to_all: how many bytes each rank sends to each other, as rows of numbers, one row a sender.",
     AT(counts)},
    {"check", 0, RLT_OPT_FLAG, NULL,
     "First verify each plan symbolically: every rank ends with every contribution exactly once.", AT(check),
     .unrecorded = true},
    {"no-fold", 0, RLT_OPT_FLAG, NULL,
     "Simulate every rank. This is what happens anyway: symmetry is not exploited yet.", AT(no_fold)},
    {0}};
#undef AT

static const rlt_option_group options[] = {
    {"What to run", own_options, 0},
    {"Where and how", rlt_settings_options, offsetof(coll_settings, sim)},
    {"Output", rlt_format_options, offsetof(coll_settings, report)},
    {"Links", rlt_link_options, offsetof(coll_settings, report)},
    {0}};

enum { MAX_NAMED = 16, N_COLUMNS = 15 };

static const rlt_column columns[N_COLUMNS] = {
    {"collective", "collective", NULL, RLT_COL_TEXT, 10, 0}, /* or as wide as the longest asked for */
    {"bytes", "size", NULL, RLT_COL_SIZE, 9, 0},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 12, 0},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0},
    {"time_ps", "time", "us", RLT_COL_TIME, 10, 0},
    {NULL, "", NULL, RLT_COL_TEXT, 1, 0}, /* the fastest of its size */
    {"algbw_GBps", "algbw", "GB/s", RLT_COL_REAL, 8, 2},
    {"busbw_GBps", "busbw", "GB/s", RLT_COL_REAL, 8, 2},
    {"bound_ps", "bound", "us", RLT_COL_TIME, 10, 0},
    {NULL, "eff.", "%", RLT_COL_PERCENT, 5, 1},
    {"bottleneck_utilization", "busy", "%", RLT_COL_PERCENT, 5, 1},
    {"bottleneck", "bottleneck", NULL, RLT_COL_TEXT, 10, 0},
    {"bus_factor", NULL, NULL, RLT_COL_REAL, 0, 0},
    {"events", NULL, NULL, RLT_COL_COUNT, 0, 0},
    {"messages", NULL, NULL, RLT_COL_COUNT, 0, 0},
};
enum { COLLECTIVE = 0, MARK = 5 };

typedef struct coll_row {
    rlt_value values[N_COLUMNS];
    char bottleneck[sizeof((rlt_busiest *)0)->name];
    rlt_time time_ps;
} coll_row;

typedef struct coll_job {
    const coll_settings *s;
    rlt_setup setup;
    rlt_group group, pair;
    uint32_t root; /* member */
    uint64_t *counts;
    uint64_t largest; /* of the counts: a rank's buffer */
    rlt_coll_kind kinds[RLT_COLL_KINDS];
    uint32_t n_kinds;
    const rlt_algorithm *algorithms[MAX_NAMED]; /* NULL: chosen */
    uint32_t n_algorithms;
    bool all_algorithms;
    uint64_t *sizes;
    uint32_t n_sizes;
    uint64_t rows_done, rows_expected;
    bool partial;
    uint32_t warned_over, noted_unused; /* once is enough; bits by algorithm */
    rlt_format format;
    rlt_file file;
    rlt_jw json;
    bool json_open;
    rlt_column columns[N_COLUMNS];
    rlt_table table;
    rlt_progress progress;
} coll_job;

static int read_kinds(coll_job *j, rlt_error *err)
{
    const char *cursor = j->s->collective, *item;
    size_t length;
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        rlt_coll_kind kind;
        rlt_error why = {0};
        bool all = length == 3 && strncmp(item, "all", 3) == 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        for (int k = 0; all && k < RLT_COLL_KINDS; k++)
            j->kinds[k] = (rlt_coll_kind)k;
        if (all) {
            j->n_kinds = RLT_COLL_KINDS;
            return 0;
        }
        if (rlt_coll_parse(word, &kind, &why)) {
            rlt_nearest near = rlt_nearest_to(word);
            for (int k = 0; k < RLT_COLL_KINDS; k++)
                rlt_nearest_try(&near, rlt_coll_name((rlt_coll_kind)k));
            if (near.best)
                return rlt_fail(err, RLT_EUSAGE, "--collective",
                                "unknown collective '%s'; did you mean '%s'?", word, near.best);
            return rlt_fail(err, RLT_EUSAGE, "--collective", "%s", why.what);
        }
        if (j->n_kinds == RLT_COLL_KINDS)
            return rlt_fail(err, RLT_EUSAGE, "--collective", "more than there are");
        j->kinds[j->n_kinds++] = kind;
    }
    return 0;
}

static int read_algorithms(coll_job *j, rlt_error *err)
{
    const char *cursor = j->s->algorithm, *item;
    size_t length;
    if (strcmp(j->s->algorithm, "all") == 0) {
        j->all_algorithms = true;
        while (j->n_algorithms < MAX_NAMED && rlt_algorithm_at(j->n_algorithms)) {
            j->algorithms[j->n_algorithms] = rlt_algorithm_at(j->n_algorithms);
            j->n_algorithms++;
        }
        return 0;
    }
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        const rlt_algorithm *table[RLT_COLL_KINDS], *found = NULL;
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        if (j->n_algorithms == MAX_NAMED)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "more than %d", MAX_NAMED);
        if (strcmp(word, "auto") != 0) {
            int rc = strchr(word, '=')
                         ? rlt_fail(err, RLT_EUSAGE, "--algorithm", "expected a name, got '%s'", word)
                         : rlt_parse_algorithms(word, table, err);
            if (rc)
                return rc;
            for (int k = 0; k < RLT_COLL_KINDS; k++)
                found = table[k] ? table[k] : found;
        }
        j->algorithms[j->n_algorithms++] = found;
    }
    return 0;
}

/* Root by rank, as the user says it, to member; the first one if he says none. */
static int find_root(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    if (!rlt_given(args, "root"))
        return 0;
    for (uint32_t m = 0; m < j->group.n; m++)
        if ((j->group.ranks ? j->group.ranks[m] : m) == j->s->root) {
            j->root = m;
            return 0;
        }
    return rlt_fail(err, RLT_EUSAGE, "--root", "rank %llu is not in the group of %u",
                    (unsigned long long)j->s->root, j->group.n);
}

static int read_counts(coll_job *j, rlt_error *err)
{
    uint32_t n = j->group.n;
    int rc;
    if (j->n_kinds != 1 || j->kinds[0] != RLT_ALL_TO_ALL)
        return rlt_fail(err, RLT_EUSAGE, "--counts", "is for --collective all_to_all alone");
    if ((rc = rlt_read_counts(j->s->counts, n, &j->counts, err)) ||
        (rc = rlt_inputs_add_file(&j->setup.inputs, "counts", j->s->counts, err)))
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += j->counts[(size_t)i * n + k]; /* 2^15 members (a file of 1 GiB) of 2^48 bytes at most */
        j->largest = sum > j->largest ? sum : j->largest;
    }
    return 0;
}

static int make_groups(coll_job *j, rlt_error *err)
{
    uint32_t *ranks = NULL, n = j->setup.placement.n;
    int rc = 0;
    if (j->s->group)
        rc = rlt_parse_ranks(j->s->group, &ranks, &n, err);
    if (!rc) {
        rc = rlt_group_create(j->setup.topology, &j->setup.placement, ranks, n, &j->group, err);
        if (rc && j->s->group)
            rlt_error_prefix(err, "--group");
    }
    free(ranks);
    if (!rc && j->group.n >= 2) {
        uint32_t two[2] = {j->group.ranks ? j->group.ranks[0] : 0, j->group.ranks ? j->group.ranks[1] : 1};
        rc = rlt_group_create(j->setup.topology, &j->setup.placement, two, 2, &j->pair, err);
    }
    return rc;
}

static int prepare(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    int rc;
    if ((rc = read_kinds(j, err)) || (rc = read_algorithms(j, err)) ||
        (rc = rlt_parse_sizes(j->s->bytes, &j->sizes, &j->n_sizes, err)) ||
        (rc = rlt_setup_open(&j->s->sim, j->s->ranks, &j->setup, err)) || (rc = make_groups(j, err)) ||
        (rc = find_root(j, args, err)) || (j->s->counts && (rc = read_counts(j, err))))
        return rc;
    j->rows_expected = (uint64_t)j->n_kinds * j->n_sizes * j->n_algorithms;
    if (j->s->report.links_csv && j->rows_expected > 1)
        return rlt_fail(err, RLT_EUSAGE, "--links-csv", "is for one collective, size and algorithm");
    return 0;
}

static rlt_coll_request make_request(const coll_job *j, rlt_coll_kind kind, uint64_t bytes)
{
    rlt_coll_request r = rlt_group_request(kind == RLT_SEND_RECV ? &j->pair : &j->group, kind, bytes);
    r.root = j->root;
    if (kind != RLT_BROADCAST && kind != RLT_REDUCE)
        r.root = 0;
    r.counts = j->counts;
    rlt_setup_parameters(&j->setup, &r);
    return r;
}

static void fill_row(coll_row *row, const rlt_coll_run *run)
{
    const rlt_coll_request *r = &run->plan.req;
    double seconds = (double)run->time_ps * 1e-12, factor = rlt_busbw_factor(r->kind, r->n);
    double algbw = (double)r->bytes / seconds * 1e-9;
    bool timed = run->time_ps > 0;
    uint32_t i = 0;
    row->time_ps = run->time_ps;
    snprintf(row->bottleneck, sizeof row->bottleneck, "%s",
             run->busiest.link == RLT_NONE ? "none" : run->busiest.name);
    row->values[i++] = rlt_text(rlt_coll_name(r->kind));
    row->values[i++] = rlt_count(r->bytes);
    row->values[i++] = rlt_text(run->plan.algorithm->name);
    row->values[i++] = rlt_count(r->n);
    row->values[i++] = rlt_ps(run->time_ps);
    row->values[i++] = rlt_text("");
    row->values[i++] = timed ? rlt_real(algbw) : rlt_absent();
    row->values[i++] = timed ? rlt_real(algbw * factor) : rlt_absent();
    row->values[i++] = rlt_ps(run->bound_ps);
    row->values[i++] = timed ? rlt_real((double)run->bound_ps / (double)run->time_ps) : rlt_absent();
    row->values[i++] = rlt_real(run->busiest.utilization);
    row->values[i++] = rlt_text(row->bottleneck);
    row->values[i++] = rlt_real(factor);
    row->values[i++] = rlt_count(rlt_sim_events(run->sim));
    row->values[i++] = rlt_count(rlt_exec_net(run->exec)->messages);
}

/* Things a user should know about a row, said once. */
static void remark(coll_job *j, const rlt_coll_run *run)
{
    const rlt_algorithm *a = run->plan.algorithm;
    const struct {
        const char *name;
        uint32_t value;
    } set[] = {{"channels", j->setup.channels},
               {"chunks", j->setup.chunks},
               {"window", j->setup.window},
               {"directions", j->setup.directions}};
    uint32_t bit = 0;
    while (bit < 31 && rlt_algorithm_at(bit) && rlt_algorithm_at(bit) != a)
        bit++;
    for (size_t i = 0; i < sizeof set / sizeof *set && !(j->noted_unused >> bit & 1); i++)
        if (set[i].value && !(a->parameters && strstr(a->parameters, set[i].name)))
            rlt_note("%s has no parameter %s: --set %s=%u does nothing there", a->name, set[i].name,
                     set[i].name, set[i].value);
    j->noted_unused |= 1u << bit;
    if (run->over.link != RLT_NONE && !(j->warned_over >> bit & 1)) {
        j->warned_over |= 1u << bit;
        rlt_warn("%s by %s loads link %u (%s) to %.0f %% of its capacity: alpha-beta does not share links "
                 "inside the network; --network flow does",
                 rlt_coll_name(run->plan.req.kind), a->name, run->over.link, run->over.name,
                 run->over.utilization * 100);
    }
}

static int write_links(coll_job *j, const rlt_coll_run *run, rlt_error *err)
{
    const rlt_usage *u = rlt_exec_net(run->exec)->usage;
    int rc = 0;
    if (j->s->report.links && j->format == RLT_FORMAT_JSON)
        rlt_links_json(&j->json, j->setup.topology, u, run->time_ps);
    if (j->s->report.links && j->format == RLT_FORMAT_TABLE)
        rc = rlt_links_table(j->file.stream, j->setup.topology, u, run->time_ps, err);
    if (!rc && j->s->report.links_csv)
        rc = rlt_links_csv(j->s->report.links_csv, j->setup.topology, u, run->time_ps, err);
    return rc;
}

/* Rows with links are written while the run is at hand; the others wait for the mark of the fastest. */
static bool row_comes_with_links(const coll_job *j)
{
    return j->format == RLT_FORMAT_JSON || (j->format == RLT_FORMAT_TABLE && j->s->report.links);
}

static int put_row(coll_job *j, const coll_row *row, rlt_error *err)
{
    j->rows_done++;
    if (row_comes_with_links(j))
        return 0;
    rlt_table_row(&j->table, row->values);
    return rlt_file_flush(&j->file, err);
}

/* Does this algorithm serve this request? 0: *served tells; else an error that ends the command. */
static int try_plan(coll_job *j, rlt_coll_run *run, const rlt_coll_how *how, const rlt_coll_request *req,
                    bool *served, rlt_error *err)
{
    rlt_error why = {0};
    int rc;
    *served = false;
    if (how->algorithm && !(how->algorithm->kinds & 1u << req->kind)) {
        if (!j->all_algorithms && j->n_kinds == 1 && j->n_algorithms == 1)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm",
                            "%s does no %s; 'ringlet list algorithms' shows "
                            "what each can do",
                            how->algorithm->name, rlt_coll_name(req->kind));
        return 0;
    }
    rc = rlt_coll_plan(run, how, req, &why);
    *served = rc == 0;
    if (!rc ||
        ((rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY) && (j->all_algorithms || j->n_algorithms > 1)))
        return 0;
    return rlt_fail(err, rc, why.where, "%s", why.what);
}

static int run_one(coll_job *j, const rlt_coll_request *req, uint32_t a, coll_row *row, bool *served,
                   rlt_error *err)
{
    rlt_coll_how how = {.setup = &j->setup,
                        .algorithm = j->algorithms[a],
                        .check = j->s->check,
                        .series_ps = j->s->report.series_ps,
                        .progress = &j->progress,
                        .rows_done = j->rows_done + a,
                        .rows = j->rows_expected};
    rlt_coll_run run = {0};
    int rc = try_plan(j, &run, &how, req, served, err);
    if (!rc && *served && !(rc = rlt_coll_simulate(&run, &how, err))) {
        fill_row(row, &run);
        remark(j, &run);
        if (j->format == RLT_FORMAT_JSON) {
            rlt_jw_object(&j->json, NULL);
            rlt_row_json(&j->json, columns, N_COLUMNS, row->values);
            rc = write_links(j, &run, err);
            rlt_jw_end_object(&j->json);
        } else {
            if (row_comes_with_links(j))
                rlt_table_row(&j->table, row->values);
            rc = write_links(j, &run, err);
        }
    }
    rlt_coll_end(&run);
    return rc;
}

/* All algorithms at one size; the fastest is marked when there are several. */
static int run_size(coll_job *j, rlt_coll_kind kind, uint64_t bytes, rlt_error *err)
{
    rlt_coll_request req = make_request(j, kind, bytes);
    coll_row rows[MAX_NAMED];
    uint32_t n = 0, best = 0;
    int rc = 0;
    for (uint32_t a = 0; a < j->n_algorithms && !rc; a++) {
        bool served = false;
        if (rlt_interrupted())
            rc = RLT_ECANCELLED;
        else
            rc = run_one(j, &req, a, &rows[n], &served, err);
        n += !rc && served;
    }
    for (uint32_t i = 1; i < n; i++)
        best = rows[i].time_ps < rows[best].time_ps ? i : best;
    for (uint32_t i = 0; n > 1 && i < n; i++)
        if (rows[i].time_ps == rows[best].time_ps)
            rows[i].values[MARK] = rlt_text("*");
    for (uint32_t i = 0; i < n; i++) {
        int flushed = put_row(j, &rows[i], rc ? NULL : err);
        rc = rc ? rc : flushed;
    }
    rlt_progress_update(&j->progress, j->rows_done, j->rows_expected);
    return rc;
}

static int run_kind(coll_job *j, rlt_coll_kind kind, rlt_error *err)
{
    int rc = 0;
    if (kind == RLT_SEND_RECV && j->group.n < 2)
        return j->n_kinds > 1 ? 0 : rlt_fail(err, RLT_EUSAGE, "--collective", "send_recv needs two ranks");
    if (kind == RLT_BARRIER)
        return run_size(j, kind, 0, err);
    if (j->counts)
        return run_size(j, kind, j->largest, err);
    for (uint32_t i = 0; i < j->n_sizes && !rc; i++)
        rc = run_size(j, kind, j->sizes[i], err);
    return rc;
}

static int begin_output(coll_job *j, const rlt_parsed *args, rlt_error *err)
{
    char line[400];
    int rc;
    j->format = rlt_format_of(j->s->report.format);
    if (j->format == RLT_FORMAT_JSON) {
        rlt_document_begin(&j->json, "coll", args, &j->setup.inputs);
        rlt_setup_json(&j->setup, &j->json);
        rlt_jw_array(&j->json, "results");
        j->json_open = true;
        return 0;
    }
    if ((rc = rlt_file_open(&j->file, j->s->report.output, err)))
        return rc;
    if (j->format == RLT_FORMAT_TABLE) {
        rlt_setup_line(&j->setup, line, sizeof line);
        fprintf(j->file.stream, "# %s\n", line);
    }
    memcpy(j->columns, columns, sizeof columns);
    for (uint32_t k = 0; k < j->n_kinds; k++) {
        int length = (int)strlen(rlt_coll_name(j->kinds[k]));
        int *width = &j->columns[COLLECTIVE].width;
        *width = length > *width ? length : *width;
    }
    rlt_table_begin(&j->table, j->format, j->columns, N_COLUMNS, j->file.stream, NULL);
    return 0;
}

static int end_output(coll_job *j, rlt_error *err)
{
    int rc;
    if (j->format == RLT_FORMAT_JSON) {
        rlt_jw_end_array(&j->json);
        if (j->partial)
            rlt_jw_bool(&j->json, "partial", true);
        j->json_open = false;
        return rlt_document_write(&j->json, j->s->report.output, err);
    }
    if ((rc = rlt_table_end(&j->table, err)))
        return rc;
    if (j->format == RLT_FORMAT_TABLE)
        fprintf(j->file.stream,
                "%s# algbw = bytes / time; busbw = algbw x factor (all_reduce 2(n-1)/n; all_gather, "
                "reduce_scatter,\n# all_to_all (n-1)/n; others 1); eff. = bound / time; busy: of the "
                "bottleneck, the busiest link\n",
                j->n_algorithms > 1 ? "# * the fastest algorithm of its size\n" : "");
    return rlt_file_close(&j->file, err);
}

static int run_all(coll_job *j, rlt_error *err)
{
    int rc = 0;
    rlt_progress_start(&j->progress, "simulating");
    for (uint32_t k = 0; k < j->n_kinds && !rc; k++)
        rc = run_kind(j, j->kinds[k], err);
    rlt_progress_end(&j->progress);
    if (!rc && j->rows_done == 0)
        return rlt_fail(err, RLT_EUSAGE, "--algorithm",
                        "none of these can do %s here; 'ringlet list "
                        "algorithms' shows what each can do",
                        j->s->collective);
    j->partial = rc == RLT_ECANCELLED;
    return rc;
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    coll_job j = {.s = settings};
    int rc = prepare(&j, args, err), ended = 0;
    if (!rc)
        rc = begin_output(&j, args, err);
    if (!rc) {
        rc = run_all(&j, err);
        if (rc == RLT_ECANCELLED) {
            *err = (rlt_error){0};
            rlt_fail(err, rc, NULL, "interrupted: the results are partial");
        }
        if (!rc || rc == RLT_ECANCELLED)
            ended = end_output(&j, rc ? NULL : err);
    }
    if (j.json_open)
        rlt_document_drop(&j.json);
    if (j.file.stream)
        rlt_file_discard(&j.file);
    free(j.counts);
    free(j.sizes);
    rlt_group_free(&j.pair);
    rlt_group_free(&j.group);
    rlt_setup_free(&j.setup);
    return rc ? rc : ended;
}

const rlt_command rlt_cmd_coll = {
    .name = "coll",
    .summary = "one collective, many sizes: an nccl-tests-like table",
    .description =
        "Simulates collectives over a network, one row for each collective, size and algorithm: the time, "
        "the bandwidths as nccl-tests defines them (algbw = bytes / time, busbw = algbw x factor), the lower "
        "bound that no algorithm can beat, and the link that was busiest. The fastest algorithm of each "
        "size is marked with *.\n\n"
        "Each run is checked: all bytes offered arrive, no link carries more than it can, no time beats the "
        "bound; otherwise the exit status is 1.",
    .example = "ringlet coll -t 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns' -c all_reduce -a all -b "
               "1MiB:1GiB:x4",
    .options = options,
    .settings_size = sizeof(coll_settings),
    .run = run,
};
