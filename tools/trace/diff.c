/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet trace diff: which operations, waits and ranks explain the difference of two recordings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/output/sheet.h"
#include "tools/trace/diff.h"
#include "tools/trace/trace.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/setup/inputs.h"
#include "workload/setup/trace_options.h"

enum { SHOWN = 20, SHOWN_RANKS = 8, LABEL = 60 };

typedef struct diff_settings {
    rlt_report_settings report;
    rlt_trace_settings reading;
    bool all;
} diff_settings;

static const rlt_option own_options[] = {{"all", 0, RLT_PARAM_FLAG, NULL,
                                          "List every operation and rank in the table, not only those that "
                                          "changed most. CSV and JSON list all.",
                                          .offset = offsetof(diff_settings, all)},
                                         {0}};
static const rlt_option_group options[] = {
    {"Output", rlt_format_options, offsetof(diff_settings, report)},
    {NULL, own_options, 0},
    {"Reading, of both", rlt_trace_option_table, offsetof(diff_settings, reading)},
    {0}};

static const char *const part_names[RLT_DIFF_PARTS] = {"compute", "transfer", "wait", "host", "idle"};

static const rlt_column columns[] = {
    {"part", "part", NULL, RLT_COL_TEXT, 0, 0,
     "what the time is: compute, transfer or wait of a communication, host, or idle"},
    {"operation", "operation", NULL, RLT_COL_TEXT, 0, 0, "name of the operations, in B if it differs"},
    {"operation_a", NULL, NULL, RLT_COL_TEXT, 0, 0, "their name in A, if they are renamed"},
    {"change", "change", NULL, RLT_COL_TEXT, 0, 0,
     "new (only in B), gone (only in A), renamed (other name, same places), or empty"},
    {"count_a", "count A", NULL, RLT_COL_REAL, 0, -4, "operations in a step of a rank, in A"},
    {"count_b", "count B", NULL, RLT_COL_REAL, 0, -4, "the same in B"},
    {"each_a_ps", "each A", NULL, RLT_COL_TIME, 0, 0, "mean duration of an operation in A"},
    {"each_b_ps", "each B", NULL, RLT_COL_TIME, 0, 0, "the same in B"},
    {"time_a_ps", "time A", NULL, RLT_COL_TIME, 0, 0,
     "time of a rank's step that they take up in A; work beside earlier work does not count"},
    {"time_b_ps", "time B", NULL, RLT_COL_TIME, 0, 0, "the same in B"},
    {"difference_ps", "difference", NULL, RLT_COL_TIME, 0, 0,
     "time B - time A; all add up to that of a step"},
    {"share", "of the whole", "%", RLT_COL_PERCENT, 0, 1,
     "share of the difference of a step; all add up to 100 %"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
static const rlt_columns table = {"Operations of two recordings: `ringlet trace diff`", columns, COLUMNS};

/* A row: the entries of both sides; RLT_NONE: none. */
typedef struct row {
    uint32_t a, b;
    double difference_ps, time_ps; /* time_ps: in B */
} row;

typedef struct diff {
    rlt_diff_side a, b;
    row *rows;
    uint32_t n;
    double span_a, span_b; /* mean, of a step */
} diff;

static double spent(const rlt_diff_side *s, uint32_t entry)
{
    return entry == RLT_NONE ? 0 : rlt_diff_mean(s, s->entries[entry].spent_ps);
}

static int largest_first(const void *x, const void *y)
{
    const row *p = x, *q = y;
    if (fabs(p->difference_ps) != fabs(q->difference_ps))
        return fabs(p->difference_ps) < fabs(q->difference_ps) ? 1 : -1;
    if (p->time_ps != q->time_ps)
        return p->time_ps < q->time_ps ? 1 : -1;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

static int make_rows(diff *d, rlt_error *err)
{
    d->rows = malloc(((size_t)d->a.n + d->b.n + 1) * sizeof *d->rows);
    if (!d->rows)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < d->a.n; i++)
        d->rows[d->n++] = (row){.a = i, .b = d->a.entries[i].other};
    for (uint32_t i = 0; i < d->b.n; i++)
        if (d->b.entries[i].other == RLT_NONE)
            d->rows[d->n++] = (row){.a = RLT_NONE, .b = i};
    for (uint32_t i = 0; i < d->n; i++) {
        d->rows[i].time_ps = spent(&d->b, d->rows[i].b);
        d->rows[i].difference_ps = d->rows[i].time_ps - spent(&d->a, d->rows[i].a);
    }
    qsort(d->rows, d->n, sizeof *d->rows, largest_first);
    d->span_a = rlt_diff_mean(&d->a, d->a.sum_ps);
    d->span_b = rlt_diff_mean(&d->b, d->b.sum_ps);
    return 0;
}

static const char *label(const rlt_diff_side *s, uint32_t entry)
{
    return rlt_interned(&s->labels, s->entries[entry].label);
}

/* Copies a label; one that does not fit ends in dots. */
static const char *shorten(const char *text, char *buffer, size_t size)
{
    if ((size_t)snprintf(buffer, size, "%s", text) >= size)
        memcpy(buffer + size - 4, "...", 4);
    rlt_make_printable(buffer);
    return buffer;
}

static const rlt_diff_entry *entry_of(const rlt_diff_side *s, uint32_t entry)
{
    return entry == RLT_NONE ? NULL : &s->entries[entry];
}

static rlt_value ps(double x)
{
    return rlt_ps((rlt_time)llround(x));
}

static rlt_value each(const rlt_diff_entry *e)
{
    return e && e->count ? ps(e->lasts_ps / (double)e->count) : rlt_absent();
}

/* Fills the values of a row. name: room for the operation, cut in a table. */
static void values(const diff *d, const row *r, char *name, size_t size, rlt_value *v)
{
    const rlt_diff_entry *a = entry_of(&d->a, r->a), *b = entry_of(&d->b, r->b);
    const char *now = b ? label(&d->b, r->b) : label(&d->a, r->a);
    bool renamed = a && b && strcmp(label(&d->a, r->a), now) != 0;
    double whole = d->span_b - d->span_a;
    shorten(now, name, size);
    rlt_value own[COLUMNS] = {rlt_text(part_names[a ? a->part : b->part]),
                              rlt_text(name),
                              renamed ? rlt_text(label(&d->a, r->a)) : rlt_absent(),
                              rlt_text(renamed ? "renamed"
                                       : !a    ? "new"
                                       : !b    ? "gone"
                                               : ""),
                              a ? rlt_real(rlt_diff_mean(&d->a, (double)a->count)) : rlt_absent(),
                              b ? rlt_real(rlt_diff_mean(&d->b, (double)b->count)) : rlt_absent(),
                              each(a),
                              each(b),
                              ps(spent(&d->a, r->a)),
                              ps(spent(&d->b, r->b)),
                              ps(r->difference_ps),
                              fabs(whole) >= 1 ? rlt_real(r->difference_ps / whole) : rlt_absent()};
    memcpy(v, own, sizeof own);
}

/* Text */

static char *signed_time(char *buffer, size_t size, double t)
{
    char text[32];
    snprintf(buffer, size, "%c%s", t < 0 ? '-' : '+',
             rlt_format_duration(text, sizeof text, (rlt_time)llround(fabs(t))));
    return buffer;
}

static void put_side(const rlt_diff_side *s, const char *name, double span, FILE *out)
{
    char a[32];
    const rlt_program *p = s->program;
    fprintf(out, "%s: %s: %s, %u of %u rank%s, %u step%s, a step %s\n", name, s->path, p->reader, s->ranks,
            p->n_ranks, rlt_s(p->n_ranks), p->n_steps, rlt_s(p->n_steps),
            rlt_format_duration(a, sizeof a, (rlt_time)llround(span)));
    if (s->bare[0])
        fprintf(out, "   communication by names of kernels only, waits unknown: %s\n", s->bare);
}

static void put_parts(const diff *d, FILE *out)
{
    char a[32], b[32], c[33];
    double whole = d->span_b - d->span_a;
    rlt_heading(out, "\n%-12s %12s %12s %13s  of the whole", "a step", "A", "B", "difference");
    for (int part = 0; part <= RLT_DIFF_PARTS; part++) {
        double x = part < RLT_DIFF_PARTS ? 0 : d->span_a, y = part < RLT_DIFF_PARTS ? 0 : d->span_b;
        for (uint32_t i = 0; i < d->a.n; i++)
            x += (int)d->a.entries[i].part == part ? spent(&d->a, i) : 0;
        for (uint32_t i = 0; i < d->b.n; i++)
            y += (int)d->b.entries[i].part == part ? spent(&d->b, i) : 0;
        if (x <= 0 && y <= 0)
            continue;
        fprintf(out, "%-12s %12s %12s %13s", part < RLT_DIFF_PARTS ? part_names[part] : "sum",
                rlt_format_duration(a, sizeof a, (rlt_time)llround(x)),
                rlt_format_duration(b, sizeof b, (rlt_time)llround(y)), signed_time(c, sizeof c, y - x));
        if (fabs(whole) >= 1)
            fprintf(out, " %11.1f %%", 100 * (y - x) / whole);
        fputc('\n', out);
    }
}

/* Ranks by how much their step, or the time that others wait for them, changed. */
typedef struct rank_row {
    uint32_t rank;
    double a, b;
} rank_row;

static int by_change(const void *x, const void *y)
{
    const rank_row *p = x, *q = y;
    double m = fabs(p->b - p->a), n = fabs(q->b - q->a);
    return m != n ? (m < n ? 1 : -1) : (p->rank > q->rank) - (p->rank < q->rank);
}

static double of_step(const rlt_diff_side *s, double sum)
{
    return sum / (s->program->n_steps ? s->program->n_steps : 1);
}

/* Lists the ranks that both sides have. *list is malloc'ed. */
static int rank_rows(const diff *d, bool waited, rank_row **list, uint32_t *n, rlt_error *err)
{
    uint32_t ranks =
        d->a.program->n_ranks < d->b.program->n_ranks ? d->a.program->n_ranks : d->b.program->n_ranks;
    *n = 0;
    *list = malloc(((size_t)ranks + 1) * sizeof **list);
    if (!*list)
        return rlt_nomem(err);
    for (uint32_t r = 0; r < ranks; r++) {
        rank_row own = {r, of_step(&d->a, waited ? d->a.waited_ps[r] : d->a.span_ps[r]),
                        of_step(&d->b, waited ? d->b.waited_ps[r] : d->b.span_ps[r])};
        if (d->a.span_ps[r] > 0 && d->b.span_ps[r] > 0 && (!waited || own.a > 0 || own.b > 0))
            (*list)[(*n)++] = own;
    }
    qsort(*list, *n, sizeof **list, by_change);
    return 0;
}

static int put_ranks(const diff *d, bool waited, bool all, FILE *out, rlt_error *err)
{
    rank_row *list;
    uint32_t n;
    char a[32], b[32], c[33];
    int rc = rank_rows(d, waited, &list, &n, err);
    if (rc)
        return rc;
    if (n)
        rlt_heading(out, "\n%-12s %12s %12s %13s", waited ? "waited for" : "rank", "A", "B", "difference");
    for (uint32_t i = 0; i < n && (all || i < SHOWN_RANKS); i++)
        fprintf(out, "%-12u %12s %12s %13s\n", list[i].rank,
                rlt_format_duration(a, sizeof a, (rlt_time)llround(list[i].a)),
                rlt_format_duration(b, sizeof b, (rlt_time)llround(list[i].b)),
                signed_time(c, sizeof c, list[i].b - list[i].a));
    if (!all && n > SHOWN_RANKS)
        fprintf(out, "(%d of %u; --all lists all)\n", SHOWN_RANKS, n);
    free(list);
    return 0;
}

/* Says in a sentence what explains most of the difference. */
static void put_verdict(const diff *d, FILE *out)
{
    char t[33], name[LABEL + 1];
    double whole = d->span_b - d->span_a;
    fprintf(out, "\na step takes %s (%+.2f %%)", signed_time(t, sizeof t, whole),
            d->span_a > 0 ? 100 * whole / d->span_a : 0);
    for (uint32_t i = 0; i < d->n; i++) {
        const row *r = &d->rows[i];
        if (fabs(whole) < 1 || r->difference_ps / whole <= 0)
            continue;
        const rlt_diff_side *s = r->b == RLT_NONE ? &d->a : &d->b;
        uint32_t e = r->b == RLT_NONE ? r->a : r->b;
        fprintf(out, "; most of it is %s: %s, %s", part_names[s->entries[e].part],
                shorten(label(s, e), name, sizeof name), signed_time(t, sizeof t, r->difference_ps));
        break;
    }
    fputc('\n', out);
    if (d->a.program->n_ranks != d->b.program->n_ranks)
        fprintf(out, "the recordings are of %u and %u ranks: means over ranks are compared\n",
                d->a.program->n_ranks, d->b.program->n_ranks);
    if (d->a.program->n_steps != d->b.program->n_steps)
        fprintf(out, "the recordings have %u and %u steps: means over steps are compared\n",
                d->a.program->n_steps, d->b.program->n_steps);
}

static int put_text(const diff *d, bool all, FILE *out, rlt_error *err)
{
    put_side(&d->a, "A", d->span_a, out);
    put_side(&d->b, "B", d->span_b, out);
    put_verdict(d, out);
    put_parts(d, out);
    int rc = put_ranks(d, false, all, out, err);
    rc = rc ? rc : put_ranks(d, true, all, out, err);
    rlt_heading(out, "\noperations of a rank's step%s",
                all || d->n <= SHOWN ? "" : " (the largest differences)");
    return rc;
}

/* JSON */

static void side_json(const rlt_diff_side *s, const char *name, double span, rlt_jw *w)
{
    rlt_jw_object(w, name);
    rlt_jw_string(w, "path", s->path);
    rlt_jw_string(w, "reader", s->program->reader);
    rlt_jw_u64(w, "ranks", s->program->n_ranks);
    rlt_jw_u64(w, "recorded_ranks", s->ranks);
    rlt_jw_u64(w, "steps", s->program->n_steps);
    rlt_jw_i64(w, "step_ps", (int64_t)llround(span));
    if (s->bare[0])
        rlt_jw_string(w, "names_only", s->bare);
    rlt_jw_end_object(w);
}

static int ranks_json(const diff *d, bool waited, rlt_jw *w, rlt_error *err)
{
    rank_row *list;
    uint32_t n;
    int rc = rank_rows(d, waited, &list, &n, err);
    if (rc)
        return rc;
    rlt_jw_array(w, waited ? "waited_for" : "ranks");
    for (uint32_t i = 0; i < n; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "rank", list[i].rank);
        rlt_jw_i64(w, "time_a_ps", (int64_t)llround(list[i].a));
        rlt_jw_i64(w, "time_b_ps", (int64_t)llround(list[i].b));
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    free(list);
    return 0;
}

static int put_json(const diff *d, rlt_jw *w, rlt_error *err)
{
    side_json(&d->a, "a", d->span_a, w);
    side_json(&d->b, "b", d->span_b, w);
    rlt_jw_i64(w, "difference_ps", (int64_t)llround(d->span_b - d->span_a));
    int rc = ranks_json(d, false, w, err);
    return rc ? rc : ranks_json(d, true, w, err);
}

static int report(const diff *d, const rlt_parsed *args, const diff_settings *s, rlt_error *err)
{
    rlt_inputs in = {0};
    rlt_sheet sheet;
    char name[1000], more[120] = "";
    rlt_inputs_add(&in, "a", d->a.path, d->a.program->hash);
    rlt_inputs_add(&in, "b", d->b.path, d->b.program->hash);
    int rc = rlt_sheet_open(&sheet, &s->report, "trace diff", args, &in, err);
    if (rc)
        return rc;
    bool people = sheet.format == RLT_FORMAT_TABLE;
    uint32_t shown = people && !s->all && d->n > SHOWN ? SHOWN : d->n;
    if (people)
        rc = put_text(d, s->all, sheet.file.stream, err);
    else if (sheet.format == RLT_FORMAT_JSON)
        rc = put_json(d, &sheet.json, err);
    rlt_sheet_heading(&sheet, columns, COLUMNS);
    for (uint32_t i = 0; i < shown && !rc; i++) {
        rlt_value v[COLUMNS];
        values(d, &d->rows[i], name, people && !s->all ? LABEL + 1 : sizeof name, v);
        rlt_sheet_row(&sheet, v);
    }
    if (shown < d->n)
        snprintf(more, sizeof more, "(%u of %u; --all, CSV and JSON list all)", shown, d->n);
    return rlt_sheet_close(&sheet, rc, more, err);
}

/* Opens both alike: if one can tell communication by the names of kernels only, so does the other. */
static int open_both(diff *d, const rlt_parsed *args, rlt_read_options *opts, rlt_error *err)
{
    int rc = rlt_diff_open(&d->a, args->operands[0], opts, err);
    rc = rc ? rc : rlt_diff_open(&d->b, args->operands[1], opts, err);
    if (rc || !d->a.bare[0] == !d->b.bare[0])
        return rc;
    bool first = d->a.bare[0] == '\0';
    rlt_diff_close(first ? &d->a : &d->b);
    opts->keep_waits = true;
    return rlt_diff_open(first ? &d->a : &d->b, args->operands[first ? 0 : 1], opts, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const diff_settings *s = settings;
    rlt_read_options opts;
    rlt_replicate *replicate = NULL;
    diff d = {.n = 0};
    int rc = rlt_trace_read_options(&s->reading, &opts, &replicate, err);
    if (!rc && s->reading.rescale.n)
        rc = rlt_fail(err, RLT_EUSAGE, "--rescale", "has no recorded times to compare");
    rc = rc ? rc : open_both(&d, args, &opts, err);
    rc = rc ? rc : rlt_diff_match(&d.a, &d.b, err);
    rc = rc ? rc : make_rows(&d, err);
    rc = rc ? rc : report(&d, args, s, err);
    rlt_diff_close(&d.a);
    rlt_diff_close(&d.b);
    free(d.rows);
    free(replicate);
    return rc;
}

static const rlt_columns *const tables[] = {&table, NULL};

const rlt_command rlt_trace_diff = {
    .name = "diff",
    .summary = "what explains the difference of two recordings",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .description =
        "Compares two recordings by their recorded times, without a simulation. At every instant a rank "
        "spends its time on one thing: device work, the transfer or the waiting of a communication, host "
        "work, or nothing. So the differences add up to the difference of a step. Operations are matched by "
        "name; those of other names that stand in the same places are renamed, others are new or gone. All "
        "times are of a step, as means over the recorded ranks. If ranks or sizes are missing, communication "
        "is known by the names of its kernels only. Links are not recorded: replay both, and compare the "
        "results with 'ringlet run --compare'.",
    .example =
        "ringlet trace diff before/ after/\nringlet trace diff before/ after/ --steps 1:3 --format csv",
    .options = options,
    .settings_size = sizeof(diff_settings),
    .run = run,
    .tables = tables,
};
