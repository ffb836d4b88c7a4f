/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet trace info: contents of a trace. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/base/file.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "tools/trace/trace.h"
#include "workload/program/program.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"

typedef struct info_settings {
    rlt_report_settings report;
    rlt_trace_source trace;
} info_settings;

static const rlt_option_group options[] = {
    {"Output", rlt_format_options, offsetof(info_settings, report)},
    {"Reading", rlt_trace_option_table, offsetof(info_settings, trace.reading)},
    {"Network", rlt_trace_network_options, offsetof(info_settings, trace)},
    {0}};

static const rlt_column kind_columns[] = {
    {"kind", "operations", NULL, RLT_COL_TEXT, 0, 0,
     "kind of operation: compute, memory, host, collective, send, receive, delay"},
    {"count", "count", NULL, RLT_COL_COUNT, 0, 0, "operations of this kind"},
    {"duration_ps", "duration", NULL, RLT_COL_TIME, 0, 0, "recorded durations of these operations, added up"},
};
static const rlt_column comm_columns[] = {
    {"collective", "communication", NULL, RLT_COL_TEXT, 0, 0, "kind of communication"},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 0, 0, "ranks that take part"},
    {"count", "count", NULL, RLT_COL_COUNT, 0, 0, "communications of this kind and number of ranks"},
    {"bytes", "bytes", NULL, RLT_COL_SIZE, 0, 0, "sizes of these communications, added up"},
    {"smallest_bytes", "smallest", NULL, RLT_COL_SIZE, 0, 0, "size of the smallest one"},
    {"largest_bytes", "largest", NULL, RLT_COL_SIZE, 0, 0, "size of the largest one"},
};

static const char *const kind_names[] = {
    [RLT_OP_COMPUTE] = "compute", [RLT_OP_MEMORY] = "memory",         [RLT_OP_HOST] = "host",
    [RLT_OP_DELAY] = "delay",     [RLT_OP_COLLECTIVE] = "collective", [RLT_OP_SEND] = "send",
    [RLT_OP_RECV] = "receive"};
enum { N_KINDS = sizeof kind_names / sizeof *kind_names };

/* Communications of the same kind and group size. */
typedef struct comm_class {
    rlt_coll_kind kind;
    uint32_t ranks;
    uint64_t count, bytes, smallest, largest;
} comm_class;

typedef struct classes {
    comm_class *items;
    uint32_t n, capacity;
} classes;

static int add_comm(classes *c, const rlt_program *p, const rlt_comm *comm, rlt_error *err)
{
    uint32_t ranks = p->group_first[comm->group + 1] - p->group_first[comm->group], i = 0;
    int rc;
    while (i < c->n && (c->items[i].kind != comm->kind || c->items[i].ranks != ranks))
        i++;
    if (i == c->n) {
        rc = rlt_grow(&c->items, &c->capacity, sizeof *c->items, (uint64_t)c->n + 1, 4096,
                      "kinds of communication", err);
        if (rc)
            return rc;
        c->items[c->n++] = (comm_class){.kind = comm->kind, .ranks = ranks, .smallest = UINT64_MAX};
    }
    comm_class *k = &c->items[i];
    k->count++;
    k->bytes += comm->bytes;
    k->smallest = comm->bytes < k->smallest ? comm->bytes : k->smallest;
    k->largest = comm->bytes > k->largest ? comm->bytes : k->largest;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const comm_class *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
}

static int put_kinds(const rlt_program *p, rlt_format format, FILE *out, rlt_jw *json, rlt_error *err)
{
    uint64_t count[N_KINDS] = {0};
    rlt_time duration[N_KINDS] = {0};
    rlt_table t;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind < N_KINDS) {
            count[p->ops[i].kind]++;
            duration[p->ops[i].kind] += p->ops[i].duration_ps;
        }
    rlt_table_begin(&t, format, kind_columns, sizeof kind_columns / sizeof *kind_columns, out, json);
    for (int k = 0; k < N_KINDS; k++)
        if (count[k]) {
            rlt_value v[] = {rlt_text(kind_names[k]), rlt_count(count[k]),
                             k < RLT_OP_COLLECTIVE ? rlt_ps(duration[k]) : rlt_absent()};
            rlt_table_row(&t, v);
        }
    return rlt_table_end(&t, err);
}

static int put_comms(const classes *c, rlt_format format, FILE *out, rlt_jw *json, rlt_error *err)
{
    rlt_table t;
    rlt_table_begin(&t, format, comm_columns, sizeof comm_columns / sizeof *comm_columns, out, json);
    for (uint32_t i = 0; i < c->n; i++) {
        const comm_class *k = &c->items[i];
        rlt_value v[] = {
            rlt_text(rlt_coll_name(k->kind)), rlt_count(k->ranks),  rlt_count(k->count), rlt_count(k->bytes),
            rlt_count(k->smallest),           rlt_count(k->largest)};
        rlt_table_row(&t, v);
    }
    return rlt_table_end(&t, err);
}

static int info_json(const rlt_parsed *args, const rlt_program *p, const classes *c, const char *path,
                     rlt_error *err)
{
    rlt_inputs in = {0};
    rlt_jw w;
    int rc;
    rlt_inputs_add(&in, "trace", args->operands[0], p->hash);
    rlt_document_begin(&w, "trace info", args, &in);
    rlt_jw_string(&w, "reader", p->reader);
    rlt_jw_u64(&w, "ranks", p->n_ranks);
    rlt_jw_u64(&w, "steps", p->n_steps);
    if (p->n_layers)
        rlt_jw_u64(&w, "layers", p->n_layers);
    rlt_jw_u64(&w, "operations", p->n_ops);
    rlt_jw_u64(&w, "dependencies", p->n_deps);
    rlt_jw_u64(&w, "resources", p->n_resources);
    rlt_jw_array(&w, "kinds");
    rc = put_kinds(p, RLT_FORMAT_JSON, NULL, &w, err);
    rlt_jw_end_array(&w);
    rlt_jw_array(&w, "communications");
    rc = rc ? rc : put_comms(c, RLT_FORMAT_JSON, NULL, &w, err);
    rlt_jw_end_array(&w);
    rlt_jw_array(&w, "notes");
    for (uint32_t i = 0; i < p->n_notes; i++) {
        rlt_jw_object(&w, NULL);
        rlt_jw_string(&w, "text", p->notes[i].text);
        rlt_jw_u64(&w, "count", p->notes[i].count);
        rlt_jw_end_object(&w);
    }
    rlt_jw_end_array(&w);
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    return rlt_document_write(&w, path, err);
}

static int info_text(const rlt_program *p, const classes *c, rlt_format format, const char *path,
                     rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    if (format == RLT_FORMAT_TABLE) {
        fprintf(f.stream, "%s: %u rank%s, %u step%s, %u operation%s, %u dependenc%s, %u resource%s",
                p->reader, p->n_ranks, rlt_s(p->n_ranks), p->n_steps, rlt_s(p->n_steps), p->n_ops,
                rlt_s(p->n_ops), p->n_deps, p->n_deps == 1 ? "y" : "ies", p->n_resources,
                rlt_s(p->n_resources));
        if (p->n_layers)
            fprintf(f.stream, ", %u layer%s", p->n_layers, rlt_s(p->n_layers));
        fputs("\n\n", f.stream);
        rc = put_kinds(p, format, f.stream, NULL, err);
        fputc('\n', f.stream);
    }
    rc = rc ? rc : put_comms(c, format, f.stream, NULL, err);
    for (uint32_t i = 0; i < p->n_notes && format == RLT_FORMAT_TABLE; i++)
        fprintf(f.stream, "%snote: %s (%llu)\n", i ? "" : "\n", p->notes[i].text,
                (unsigned long long)p->notes[i].count);
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const info_settings *s = settings;
    rlt_format format = rlt_format_of(s->report.format, s->report.output);
    rlt_program *p = NULL;
    classes c = {0};
    int rc = rlt_trace_open(args, &s->trace, &p, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < p->n_comms && !rc; i++)
        rc = add_comm(&c, p, &p->comms[i], err);
    if (c.n)
        qsort(c.items, c.n, sizeof *c.items, compare);
    if (!rc && format == RLT_FORMAT_JSON)
        rc = info_json(args, p, &c, s->report.output, err);
    else if (!rc)
        rc = info_text(p, &c, format, s->report.output, err);
    free(c.items);
    rlt_program_free(p);
    return rc;
}

static const rlt_columns kind_table = {"Operations of a trace: `ringlet trace info`, JSON `kinds[]`",
                                       kind_columns, sizeof kind_columns / sizeof *kind_columns};
static const rlt_columns comm_table = {
    "Communications of a trace: `ringlet trace info`, JSON `communications[]`", comm_columns,
    sizeof comm_columns / sizeof *comm_columns};
static const rlt_columns *const tables[] = {&kind_table, &comm_table, NULL};

const rlt_command rlt_trace_info = {
    .name = "info",
    .summary = "ranks, steps, operations, communications, assumptions",
    .operands = "TRACE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Shows the contents of a trace: numbers of ranks, steps and operations of each kind, and "
        "communications with their sizes. Also lists what the reader ignored, replaced or assumed.",
    .example = "ringlet trace info recordings/ --format json",
    .options = options,
    .settings_size = sizeof(info_settings),
    .run = run,
    .tables = tables,
};
