/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives of a run as JSON: a row for each class of those that are equal but for when they take place. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/columns.h"
#include "workload/experiment/run/exposed.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

/* Facts that equal collectives share. */
typedef struct key {
    const char *algorithm;
    uint64_t bytes;
    rlt_time wait_ps, transfer_ps, bound_ps; /* -1: it has not ended */
    uint32_t kind, ranks, dims, step;
    uint32_t comm;
} key;

static key key_of(const rlt_run *r, const rlt_exposed *e, uint32_t i)
{
    const rlt_comm *c = &r->program->comms[i];
    rlt_comm_result res = rlt_replay_comm(r->replay, i);
    bool ended = res.end_ps >= 0;
    return (key){.algorithm = res.algorithm ? res.algorithm : "", /* NULL: it has not begun */
                 .bytes = c->bytes,
                 .wait_ps = ended ? res.last_arrival_ps - res.first_arrival_ps : -1,
                 .transfer_ps = ended ? res.end_ps - res.last_arrival_ps : -1,
                 .bound_ps = ended ? res.bound_ps : -1,
                 .kind = (uint32_t)c->kind,
                 .ranks = rlt_run_comm_ranks(r, i),
                 .dims = e->dims[i],
                 .step = c->step,
                 .comm = i};
}

#define BY(field)                                                                                            \
    if (x->field != y->field)                                                                                \
    return x->field < y->field ? -1 : 1
static int by_class(const void *a, const void *b)
{
    const key *x = a, *y = b;
    BY(bytes);
    BY(transfer_ps);
    BY(wait_ps);
    BY(bound_ps);
    BY(kind);
    BY(ranks);
    BY(dims);
    BY(step);
    return strcmp(x->algorithm, y->algorithm);
}

static int by_class_and_number(const void *a, const void *b)
{
    const key *x = a, *y = b;
    int c = by_class(a, b);
    return c ? c : (x->comm > y->comm) - (x->comm < y->comm);
}
#undef BY

typedef struct class
{
    uint32_t first, count; /* its place in the list of keys, and its length there */
    uint32_t comm;         /* its first collective */
} class;

static int by_first(const void *a, const void *b)
{
    const class *x = a, *y = b;
    return (x->comm > y->comm) - (x->comm < y->comm);
}

static const rlt_column class_columns[] = {
    {"count", NULL, NULL, RLT_COL_COUNT, 0, 0,
     "collectives that differ from this one only in when they take place, and itself"},
    {"members", NULL, NULL, RLT_COL_TEXT, 0, 0,
     "ranks that take part in one of them: 0-7, or 0-56:8 for every eighth"},
};
const rlt_columns rlt_run_class_columns = {
    "Communications of a run: more of JSON `collectives[]`, unless --all lists each", class_columns,
    sizeof class_columns / sizeof *class_columns};

/* Ranks of a class, each once. */
typedef struct members {
    uint32_t *list, n;
    uint8_t *in; /* by rank: it is in the list */
} members;

/* Writes the ranks and empties the list: "0-7", "0-56:8" (every eighth), "3,5,12-15". */
static void put_members(members *m, rlt_growing *text)
{
    uint32_t at = 0, n = m->n;
    rlt_sort_u32(m->list, n);
    while (at < n) {
        uint32_t end = at + 1, step = end < n ? m->list[end] - m->list[at] : 1;
        while (end < n && m->list[end] - m->list[end - 1] == step)
            end++;
        if (end - at < 3) /* two make no series */
            end = at + 1;
        rlt_growing_add(text, "%s%u", at ? "," : "", m->list[at]);
        if (end - at > 1)
            rlt_growing_add(text, "-%u", m->list[end - 1]);
        if (end - at > 1 && step > 1)
            rlt_growing_add(text, ":%u", step);
        at = end;
    }
    for (uint32_t i = 0; i < n; i++)
        m->in[m->list[i]] = 0;
    m->n = 0;
}

/* Writes how many collectives a class has, and the ranks that take part in one of them. */
static int put_class(const rlt_run *r, const key *keys, uint32_t n, members *m, rlt_jw *w, rlt_error *err)
{
    const rlt_program *p = r->program;
    rlt_growing text = {0};
    uint32_t done = RLT_NONE;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t g = p->comms[keys[k].comm].group;
        for (uint32_t i = p->group_first[g]; g != done && i < p->group_first[g + 1]; i++)
            if (!m->in[p->group_ranks[i]]) {
                m->in[p->group_ranks[i]] = 1;
                m->list[m->n++] = p->group_ranks[i];
            }
        done = g;
    }
    put_members(m, &text);
    int rc = rlt_growing_whole(&text, err);
    if (!rc)
        rlt_row_json(w, class_columns, 2, (const rlt_value[]){rlt_count(n), rlt_text(text.text)});
    free(text.text);
    return rc;
}

/* Sorts the collectives into classes, in the order of their first ones. Returns the number of classes. */
static uint32_t find_classes(const rlt_run *r, const rlt_exposed *e, key *keys, class *classes)
{
    uint32_t n = r->program->n_comms, n_classes = 0;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = key_of(r, e, i);
    qsort(keys, n, sizeof *keys, by_class_and_number);
    for (uint32_t i = 0; i < n; i++)
        if (i && by_class(&keys[i - 1], &keys[i]) == 0)
            classes[n_classes - 1].count++;
        else
            classes[n_classes++] = (class){i, 1, keys[i].comm};
    qsort(classes, n_classes, sizeof *classes, by_first);
    return n_classes;
}

int rlt_run_collectives_json(const rlt_run *r, const rlt_exposed *e, rlt_jw *w, rlt_error *err)
{
    const rlt_program *p = r->program;
    key *keys = malloc(((size_t)p->n_comms + 1) * sizeof *keys);
    class *classes = malloc(((size_t)p->n_comms + 1) * sizeof *classes);
    members m = {.list = malloc(((size_t)p->n_ranks + 1) * sizeof *m.list),
                 .in = calloc(p->n_ranks + 1ull, 1)};
    int rc = keys && classes && m.list && m.in ? 0 : rlt_nomem(err);
    uint32_t n = rc ? 0 : find_classes(r, e, keys, classes);
    rlt_jw_array(w, "collectives");
    for (uint32_t i = 0; i < n && !rc; i++) {
        rlt_jw_object(w, NULL);
        rlt_run_row_json(r, rlt_comm_columns, classes[i].comm, e, w);
        rc = put_class(r, &keys[classes[i].first], classes[i].count, &m, w, err);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    free(m.in);
    free(m.list);
    free(classes);
    free(keys);
    return rc;
}
