/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One side of a diff: reads a recording and says what each rank's time was spent on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/trace/diff.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/whatif/certificate.h"

enum { MAX_ENTRIES = 1 << 22, MAX_ACTIVE = 64 };

static int read_side(rlt_diff_side *s, const rlt_read_options *opts, rlt_error *err)
{
    rlt_read_options kept = *opts;
    rlt_error first = {.code = 0};
    int rc = rlt_trace_read(&s->path, 1, opts, &s->program, &first);
    if (opts->keep_waits)
        snprintf(s->bare, sizeof s->bare, "as of the other recording");
    if (rc == RLT_ESCHEMA) { /* ranks or sizes are missing: kernels still have names and times */
        kept.keep_waits = true;
        rc = rlt_trace_read(&s->path, 1, &kept, &s->program, NULL);
        snprintf(s->bare, sizeof s->bare, "%.290s", first.what);
    }
    if (rc && err)
        *err = first;
    return rc;
}

/* Returns the entry, a new one if needed; RLT_NONE: out of memory. */
static uint32_t entry(rlt_diff_side *s, rlt_diff_part part, const char *text)
{
    uint32_t label = rlt_intern(&s->labels, text, strlen(text));
    uint64_t key = (uint64_t)label << 3 | part;
    uint32_t at = rlt_map_get(&s->index, key);
    if (label == RLT_NONE || at != RLT_NONE)
        return label == RLT_NONE ? RLT_NONE : at;
    if (rlt_grow(&s->entries, &s->capacity, sizeof *s->entries, (uint64_t)s->n + 1, MAX_ENTRIES,
                 "kinds of operation", NULL) < 0 ||
        rlt_map_put(&s->index, key, s->n) < 0)
        return RLT_NONE;
    s->entries[s->n] = (rlt_diff_entry){.label = label, .part = part, .other = RLT_NONE};
    return s->n++;
}

static void name_comm(const rlt_program *p, uint32_t comm, char *text, size_t size)
{
    const rlt_comm *c = &p->comms[comm];
    uint32_t ranks = p->group_first[c->group + 1] - p->group_first[c->group];
    char bytes[32];
    if (c->timed)
        snprintf(text, size, "%s of unknown size", rlt_coll_name(c->kind));
    else
        snprintf(text, size, "%s %s, %u ranks", rlt_coll_name(c->kind),
                 rlt_format_size(bytes, sizeof bytes, c->bytes), ranks);
}

/* Fills transfer_ps: the shortest recorded time of a member. */
static int find_transfers(rlt_diff_side *s, rlt_error *err)
{
    const rlt_program *p = s->program;
    s->transfer_ps = malloc(((size_t)p->n_comms + 1) * sizeof *s->transfer_ps);
    if (!s->transfer_ps)
        return rlt_nomem(err);
    for (uint32_t c = 0; c < p->n_comms; c++)
        s->transfer_ps[c] = -1;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *op = &p->ops[i];
        if (op->comm == RLT_NONE || op->recorded_ps < 0 || op->recorded_duration_ps < 0)
            continue;
        rlt_time *t = &s->transfer_ps[op->comm];
        *t = *t < 0 || op->recorded_duration_ps < *t ? op->recorded_duration_ps : *t;
    }
    return 0;
}

/* Returns the part of an operation's time that is not waiting; IDLE: none counts. */
static rlt_diff_part part_of(const rlt_diff_side *s, const rlt_op *op)
{
    const char *name = rlt_program_string(s->program, op->name);
    if (op->recorded_ps < 0 || op->kind == RLT_OP_DELAY)
        return RLT_DIFF_IDLE;
    if (op->kind == RLT_OP_HOST)
        return RLT_DIFF_HOST;
    if (op->kind >= RLT_OP_COLLECTIVE)
        return RLT_DIFF_TRANSFER;
    return s->bare[0] && rlt_communicates_inside(name) ? RLT_DIFF_TRANSFER : RLT_DIFF_COMPUTE;
}

/* Finds the entry of each operation. Names and communications are looked up once. */
static int find_entries(rlt_diff_side *s, rlt_error *err)
{
    const rlt_program *p = s->program;
    rlt_map seen = {0};
    int rc = 0;
    s->entry_of = malloc(((size_t)p->n_ops + 1) * sizeof *s->entry_of);
    if (!s->entry_of)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < p->n_ops && !rc; i++) {
        const rlt_op *op = &p->ops[i];
        rlt_diff_part part = part_of(s, op);
        s->entry_of[i] = RLT_NONE;
        if (part == RLT_DIFF_IDLE)
            continue;
        bool comm = op->comm != RLT_NONE;
        uint64_t key = (uint64_t)(comm ? op->comm : op->name) << 3 | (comm ? RLT_DIFF_PARTS : part);
        uint32_t at = rlt_map_get(&seen, key);
        if (at == RLT_NONE) {
            char text[400];
            if (comm)
                name_comm(p, op->comm, text, sizeof text);
            else
                snprintf(text, sizeof text, "%s",
                         op->kind == RLT_OP_HOST ? "host work" : rlt_program_string(p, op->name));
            at = entry(s, part, text);
            rc = at == RLT_NONE || rlt_map_put(&seen, key, at) < 0 ? rlt_nomem(err) : 0;
        }
        s->entry_of[i] = at;
    }
    rlt_map_free(&seen);
    return rc;
}

/* A stretch of an operation's recorded time begins or ends. */
typedef struct edge {
    rlt_time at_ps;
    uint32_t op;
    bool begins, waits;
} edge;

static int in_time(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->at_ps != y->at_ps)
        return x->at_ps < y->at_ps ? -1 : 1;
    return x->op != y->op ? (x->op > y->op) - (x->op < y->op) : x->begins - y->begins;
}

/* The stretches under way, in the order of their begins. */
typedef struct active {
    uint32_t op[MAX_ACTIVE];
    bool waits[MAX_ACTIVE];
    uint32_t n;
} active;

static void change(active *a, const edge *e)
{
    uint32_t i = 0;
    if (e->begins && a->n < MAX_ACTIVE) {
        a->op[a->n] = e->op;
        a->waits[a->n++] = e->waits;
    }
    if (e->begins)
        return;
    while (i < a->n && (a->op[i] != e->op || a->waits[i] != e->waits))
        i++;
    for (; i + 1 < a->n; i++) {
        a->op[i] = a->op[i + 1];
        a->waits[i] = a->waits[i + 1];
    }
    a->n -= i < a->n;
}

/* Adds a stretch of a rank's time to what it is spent on. */
static void spend(rlt_diff_side *s, const active *a, uint32_t idle, double lasts)
{
    uint32_t best = RLT_NONE;
    rlt_diff_part part = RLT_DIFF_IDLE;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t e = s->entry_of[a->op[i]];
        rlt_diff_part own = a->waits[i] ? RLT_DIFF_WAIT : s->entries[e].part;
        if (own < part) {
            part = own;
            best = a->op[i];
        }
    }
    uint32_t at = best == RLT_NONE ? idle : s->entry_of[best];
    if (part == RLT_DIFF_WAIT)
        at = rlt_map_get(&s->index, (uint64_t)s->entries[at].label << 3 | RLT_DIFF_WAIT);
    s->entries[at].spent_ps += lasts;
}

static rlt_time clipped(rlt_time t, rlt_time from, rlt_time to)
{
    return t < from ? from : t > to ? to : t;
}

static void count(rlt_diff_side *s, uint32_t op, rlt_time lasts, bool waits)
{
    rlt_diff_entry *e = &s->entries[s->entry_of[op]];
    if (waits)
        e = &s->entries[rlt_map_get(&s->index, (uint64_t)e->label << 3 | RLT_DIFF_WAIT)];
    e->count++;
    e->lasts_ps += (double)lasts;
}

/* Lists the stretches of a rank's operations. The waiting comes before the transfer. */
static uint32_t list_edges(rlt_diff_side *s, uint32_t rank, rlt_time from, rlt_time to, edge *list)
{
    const rlt_program *p = s->program;
    uint32_t n = 0;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const rlt_op *op = &p->ops[i];
        if (s->entry_of[i] == RLT_NONE)
            continue;
        rlt_time lasts = op->recorded_duration_ps >= 0 ? op->recorded_duration_ps : op->duration_ps;
        rlt_time at = op->recorded_ps, end = rlt_time_add(at, lasts), turn = at;
        if (op->comm != RLT_NONE && s->transfer_ps[op->comm] >= 0)
            turn = end - s->transfer_ps[op->comm];
        count(s, i, end - turn, false);
        if (turn > at)
            count(s, i, turn - at, true);
        at = clipped(at, from, to), turn = clipped(turn, from, to), end = clipped(end, from, to);
        if (turn > at) {
            list[n++] = (edge){at, i, true, true};
            list[n++] = (edge){turn, i, false, true};
        }
        if (end > turn) {
            list[n++] = (edge){turn, i, true, false};
            list[n++] = (edge){end, i, false, false};
        }
    }
    qsort(list, n, sizeof *list, in_time);
    return n;
}

/* Finds the recorded span of a rank: what the trace says, else from its first to its last operation. */
static bool find_span(const rlt_program *p, uint32_t rank, rlt_time *from, rlt_time *to)
{
    bool any = false;
    *from = RLT_TIME_MAX;
    *to = 0;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const rlt_op *op = &p->ops[i];
        if (op->recorded_ps < 0)
            continue;
        rlt_time lasts = op->recorded_duration_ps >= 0 ? op->recorded_duration_ps : op->duration_ps;
        rlt_time end = rlt_time_add(op->recorded_ps, lasts);
        *from = op->recorded_ps < *from ? op->recorded_ps : *from;
        *to = end > *to ? end : *to;
        any = true;
    }
    if (any && p->rank_recorded_ps[rank] >= 0) {
        *from = p->rank_start_ps[rank];
        *to = rlt_time_add(*from, p->rank_recorded_ps[rank]);
    }
    return any;
}

static void spend_rank(rlt_diff_side *s, uint32_t rank, uint32_t idle, edge *list)
{
    active a = {.n = 0};
    rlt_time from, to, now;
    if (!find_span(s->program, rank, &from, &to))
        return;
    uint32_t n = list_edges(s, rank, from, to, list);
    now = from;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].at_ps > now)
            spend(s, &a, idle, (double)(list[i].at_ps - now));
        now = list[i].at_ps;
        change(&a, &list[i]);
    }
    spend(s, &a, idle, (double)(to - now));
    s->span_ps[rank] = (double)(to - from);
    s->sum_ps += s->span_ps[rank];
    s->ranks++;
}

/* Adds what others waited for to the member with the shortest time: it came last. */
static void add_waited(rlt_diff_side *s)
{
    const rlt_program *p = s->program;
    for (uint32_t c = 0; c < p->n_comms; c++) {
        uint32_t n = p->group_first[p->comms[c].group + 1] - p->group_first[p->comms[c].group],
                 last = RLT_NONE;
        double waited = 0;
        for (uint32_t m = 0; m < n && s->transfer_ps[c] >= 0; m++) {
            const rlt_op *op = &p->ops[p->comm_ops[p->comms[c].first_op + m]];
            if (op->recorded_duration_ps < 0)
                continue;
            waited += (double)(op->recorded_duration_ps - s->transfer_ps[c]);
            if (last == RLT_NONE && op->recorded_duration_ps == s->transfer_ps[c])
                last = op->rank;
        }
        if (last != RLT_NONE)
            s->waited_ps[last] += waited;
    }
}

/* Makes the entry of waits for each communication that some member waits in. */
static int add_wait_entries(rlt_diff_side *s, rlt_error *err)
{
    const rlt_program *p = s->program;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *op = &p->ops[i];
        if (s->entry_of[i] == RLT_NONE || op->comm == RLT_NONE ||
            op->recorded_duration_ps <= s->transfer_ps[op->comm])
            continue;
        char text[400];
        snprintf(text, sizeof text, "%s", rlt_interned(&s->labels, s->entries[s->entry_of[i]].label));
        if (entry(s, RLT_DIFF_WAIT, text) == RLT_NONE)
            return rlt_nomem(err);
    }
    return 0;
}

static int spend_all(rlt_diff_side *s, rlt_error *err)
{
    const rlt_program *p = s->program;
    uint32_t most = 0, idle = entry(s, RLT_DIFF_IDLE, "idle");
    for (uint32_t r = 0; r < p->n_ranks; r++)
        if (p->rank_first[r + 1] - p->rank_first[r] > most)
            most = p->rank_first[r + 1] - p->rank_first[r];
    edge *list = malloc(((size_t)most * 4 + 1) * sizeof *list);
    s->span_ps = calloc((size_t)p->n_ranks + 1, sizeof *s->span_ps);
    s->waited_ps = calloc((size_t)p->n_ranks + 1, sizeof *s->waited_ps);
    int rc = list && s->span_ps && s->waited_ps && idle != RLT_NONE ? 0 : rlt_nomem(err);
    for (uint32_t r = 0; r < p->n_ranks && !rc; r++)
        spend_rank(s, r, idle, list);
    free(list);
    return rc;
}

int rlt_diff_open(rlt_diff_side *s, const char *path, const rlt_read_options *opts, rlt_error *err)
{
    *s = (rlt_diff_side){.path = path};
    int rc = read_side(s, opts, err);
    rc = rc ? rc : find_transfers(s, err);
    rc = rc ? rc : find_entries(s, err);
    rc = rc ? rc : add_wait_entries(s, err);
    rc = rc ? rc : spend_all(s, err);
    if (rc)
        return rc;
    if (!s->ranks)
        return rlt_fail(err, RLT_ESCHEMA, path,
                        "the trace does not say when its operations ran: replay both traces and compare the "
                        "results with 'ringlet run --compare'");
    add_waited(s);
    return 0;
}

void rlt_diff_close(rlt_diff_side *s)
{
    rlt_program_free(s->program);
    rlt_strings_free(&s->labels);
    rlt_map_free(&s->index);
    free(s->entries);
    free(s->span_ps);
    free(s->waited_ps);
    free(s->entry_of);
    free(s->transfer_ps);
}

double rlt_diff_mean(const rlt_diff_side *s, double sum)
{
    return sum / s->ranks / (s->program->n_steps ? s->program->n_steps : 1);
}
