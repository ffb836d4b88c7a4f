/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LogGOPSim's event loop: events are ordered by time, then by creation. An event whose CPU or NIC is busy is
 * postponed until the unit is free, and keeps its place among equal times.
 *
 * Most arrivals are created in their order, as each follows its send by the same time; so are the starts of
 * operations where ranks do alike. Two queues hold these, and a heap holds the events that come out of order.
 */
#include "workload/timing/loggops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/formats/goal_raw.h"
#include "sim/base/heap.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/readers/goal.h"

#define MAX_VALUE UINT64_C(1000000000000000)
enum { MAX_UNITS = 64 }; /* CPUs, and NICs, of a rank */

typedef struct event {
    uint64_t time;
    uint32_t made; /* number of the event, in order of creation */
    uint32_t what; /* index of an operation * 2; + 1: its message arrives */
} event;

/* Events in order. */
typedef struct line {
    event *events; /* [first, end) */
    uint32_t first, end, capacity;
} line;

typedef struct model {
    const rlt_goal *g;
    rlt_loggops p;
    line lines[2]; /* starts, arrivals */
    event *heap;
    uint32_t n_heap, heap_capacity;
    uint32_t made;
    uint32_t n_cpus, n_nics;     /* by rank */
    uint64_t *cpu, *out, *in;    /* times at which units are free: CPUs, NICs sending, NICs receiving */
    uint32_t *then_first, *then; /* waiting operations: index * 2 + early */
    uint32_t *missing;
    uint32_t *first, *last;   /* by list of operations: its waiting receives or messages */
    uint32_t *next;           /* next in the same list */
    bool *messages;           /* by list: true if messages wait in it, not receives */
    uint32_t *freed, n_freed; /* operations freed by the current event */
    uint32_t n_done;
    rlt_error *err;
} model;

#define COST(letter) .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_loggops, letter), .max = (double)MAX_VALUE
static const rlt_param parameters[] = {
    {"L", COST(L), .preset = "2500", .unit = "ns", .help = "latency of a message"},
    {"o", COST(o), .preset = "1500", .unit = "ns", .help = "CPU time per message"},
    {"g", COST(g), .preset = "1000", .unit = "ns", .help = "NIC time per message"},
    {"G", COST(G), .preset = "6", .unit = "ns", .help = "NIC time per byte"},
    {"O", COST(O), .preset = "0", .unit = "ns", .help = "CPU time per byte"},
    {"S", COST(S), .preset = "65535", .unit = "bytes",
     .help = "largest message sent without waiting for its receive"},
    {0}};

const rlt_param *rlt_loggops_parameters(void)
{
    return parameters;
}

rlt_loggops rlt_loggops_default(void)
{
    rlt_loggops p = {0};
    int rc = rlt_params_preset(parameters, &p, NULL);
    (void)rc; /* cannot fail: the values are constants of the table above, which a test reads */
    return p;
}

int rlt_loggops_parse(const char *text, rlt_loggops *p, rlt_error *err)
{
    if (!*text)
        return rlt_fail(err, RLT_EUSAGE, NULL, "expected NAME=VALUE, got ''");
    return rlt_params_set_list(parameters, "LogGOPS", p, text, err);
}

void rlt_loggops_free(rlt_loggops_result *r)
{
    free(r->rank_end_ns);
    *r = (rlt_loggops_result){0};
}

/* ---- events */

static bool before(const model *m, const event *a, const event *b)
{
    (void)m;
    return a->time != b->time ? a->time < b->time : a->made < b->made;
}

RLT_HEAP(events, event, model, before)

/* Makes room behind the last event of a line. */
static int lengthen(model *m, line *l)
{
    if (l->first > l->capacity / 2) {
        memmove(l->events, l->events + l->first, (l->end - l->first) * sizeof *l->events);
        l->end -= l->first;
        l->first = 0;
        return 0;
    }
    return rlt_grow(&l->events, &l->capacity, sizeof *l->events, (uint64_t)l->end + 1, UINT32_MAX, "events",
                    m->err);
}

static int push(model *m, event e)
{
    line *l = &m->lines[e.what & 1];
    bool fits = l->first == l->end || before(m, &l->events[l->end - 1], &e);
    int rc = 0;
    if (fits && l->end == l->capacity)
        rc = lengthen(m, l);
    else if (!fits && m->n_heap == m->heap_capacity)
        rc = rlt_grow(&m->heap, &m->heap_capacity, sizeof *m->heap, (uint64_t)m->n_heap + 1, UINT32_MAX,
                      "events", m->err);
    if (rc)
        return rc;
    if (fits)
        l->events[l->end++] = e;
    else
        events_push(m, m->heap, &m->n_heap, e);
    return 0;
}

/* Takes the first event. Returns false if none is left. */
static bool pop(model *m, event *e)
{
    line *first = NULL;
    *e = (event){.time = UINT64_MAX, .made = UINT32_MAX};
    for (int i = 0; i < 2; i++) {
        line *l = &m->lines[i];
        if (l->first < l->end && before(m, &l->events[l->first], e)) {
            *e = l->events[l->first];
            first = l;
        }
    }
    if (m->n_heap && before(m, &m->heap[0], e))
        *e = events_pop(m, m->heap, &m->n_heap);
    else if (first)
        first->first++;
    else
        return false;
    return true;
}

static uint64_t *cpu_of(const model *m, const rlt_goal_op *o)
{
    return &m->cpu[(size_t)o->rank * m->n_cpus + o->cpu];
}

static uint64_t *nic_of(const model *m, uint64_t *nics, const rlt_goal_op *o)
{
    return &nics[(size_t)o->rank * m->n_nics + o->nic];
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns t + a + (s - 1) b. Sets *rc if the result exceeds the range of time. */
static uint64_t busy_to(model *m, uint64_t t, uint64_t a, uint64_t s, uint64_t b, int *rc)
{
    uint64_t cost;
    if (__builtin_mul_overflow(s ? s - 1 : 0, b, &cost) || __builtin_add_overflow(cost, t + a, &cost) ||
        cost > (uint64_t)INT64_MAX / 1000) /* limit of picoseconds */
        *rc = rlt_fail(m->err, RLT_ERANGE, m->g->file, "ends after more than 106 days");
    else
        return cost;
    return t;
}

/* ---- dependencies */

/* Releases the operations that waited for op to begin (early) or to end. */
static void release(model *m, uint32_t op, bool early)
{
    m->n_done += !early;
    for (uint32_t k = m->then_first[op]; k < m->then_first[op + 1]; k++)
        if ((m->then[k] & 1) == early && --m->missing[m->then[k] / 2] == 0)
            m->freed[m->n_freed++] = m->then[k] / 2;
}

static int start(model *m, uint32_t op)
{
    const rlt_goal_op *o = &m->g->ops[op];
    uint64_t t = *cpu_of(m, o);
    if (o->type == RLT_GOAL_SEND)
        t = later(t, *nic_of(m, m->out, o));
    return push(m, (event){.time = t, .made = m->made++, .what = op * 2});
}

/* Starts operations that were freed together, in the order send, receive, calc. */
static int start_freed(model *m)
{
    static const rlt_goal_type order[] = {RLT_GOAL_SEND, RLT_GOAL_RECV, RLT_GOAL_NOP};
    uint32_t n = m->n_freed;
    int rc = 0;
    m->n_freed = 0;
    if (n <= 1)
        return n ? start(m, m->freed[0]) : 0;
    for (size_t type = 0; type < sizeof order / sizeof *order; type++)
        for (uint32_t i = 0; i < n && !rc; i++)
            if (m->g->ops[m->freed[i]].type == order[type])
                rc = start(m, m->freed[i]);
    return rc;
}

/* ---- what happens */

/* Appends an operation that met no partner to its list. */
static void wait_in_list(model *m, uint32_t op)
{
    uint32_t l = m->g->ops[op].list;
    m->next[op] = RLT_NONE;
    if (m->first[l] == RLT_NONE)
        m->first[l] = op;
    else
        m->next[m->last[l]] = op;
    m->last[l] = op;
}

/* Takes the first waiting operation of op's list if it is of the other kind (message or receive). Otherwise
 * appends op to the list and returns RLT_NONE. */
static uint32_t meet(model *m, uint32_t op, bool message)
{
    uint32_t l = m->g->ops[op].list, found = m->first[l];
    if (found == RLT_NONE || m->messages[l] == message) {
        m->messages[l] = message;
        wait_in_list(m, op);
        return RLT_NONE;
    }
    m->first[l] = m->next[found];
    return found;
}

/* Ends a receive that has its message at time t, and its send if it waited (more than S bytes). */
static int received(model *m, uint32_t receive, uint32_t send, uint64_t t)
{
    const rlt_goal_op *s = &m->g->ops[send];
    release(m, receive, false);
    int rc = start_freed(m);
    if (rc || s->bytes <= m->p.S)
        return rc;
    *cpu_of(m, s) = later(*cpu_of(m, s), t);
    *nic_of(m, m->out, s) = later(*nic_of(m, m->out, s), t);
    release(m, send, false);
    return start_freed(m);
}

static int start_send(model *m, event e)
{
    const rlt_goal_op *o = &m->g->ops[e.what / 2];
    uint64_t *cpu = cpu_of(m, o), *out = nic_of(m, m->out, o), t = e.time, ready = later(*cpu, *out);
    int rc = 0;
    if (ready > t) {
        e.time = ready;
        return push(m, e);
    }
    *cpu = busy_to(m, t, m->p.o, o->bytes, m->p.O, &rc);
    *out = busy_to(m, t, m->p.g, o->bytes, m->p.G, &rc);
    if (rc)
        return rc;
    rc = push(m, (event){.time = t + m->p.o + m->p.L, .made = m->made++, .what = e.what + 1});
    if (rc)
        return rc;
    release(m, e.what / 2, true);
    if (o->bytes <= m->p.S)
        release(m, e.what / 2, false);
    return start_freed(m);
}

static int start_calc(model *m, event e)
{
    const rlt_goal_op *o = &m->g->ops[e.what / 2];
    uint64_t *cpu = cpu_of(m, o);
    int rc = 0;
    if (*cpu > e.time) {
        e.time = *cpu;
        return push(m, e);
    }
    *cpu = busy_to(m, e.time, o->bytes, 1, 0, &rc);
    release(m, e.what / 2, true);
    release(m, e.what / 2, false);
    return rc ? rc : start_freed(m);
}

static int start_receive(model *m, event e)
{
    uint32_t message = meet(m, e.what / 2, false);
    release(m, e.what / 2, true);
    return message == RLT_NONE ? start_freed(m) : received(m, e.what / 2, message, e.time);
}

/* Processes the receiver's side of a message, on the CPU and NIC that its receive names. */
static int arrive(model *m, event e)
{
    const rlt_goal_op *s = &m->g->ops[e.what / 2], *r = &m->g->ops[s->match];
    uint64_t *cpu = cpu_of(m, r), *in = nic_of(m, m->in, r), t = e.time, ready = later(*cpu, *in);
    int rc = 0;
    if (ready > t) {
        e.time = ready;
        return push(m, e);
    }
    *cpu = busy_to(m, t, m->p.o, s->bytes, later(m->p.O, m->p.G), &rc);
    *in = busy_to(m, t, m->p.g, s->bytes, m->p.G, &rc);
    if (rc)
        return rc;
    uint32_t receive = meet(m, e.what / 2, true);
    return receive == RLT_NONE ? 0 : received(m, receive, e.what / 2, t);
}

static int step(model *m, event e)
{
    if (e.what & 1)
        return arrive(m, e);
    switch (m->g->ops[e.what / 2].type) {
    case RLT_GOAL_SEND:
        return start_send(m, e);
    case RLT_GOAL_RECV:
        return start_receive(m, e);
    default:
        return start_calc(m, e);
    }
}

/* ---- making and ending */

static void link_ops(model *m)
{
    const rlt_goal *g = m->g;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        m->then_first[g->edges[i].needs]++;
        m->missing[g->edges[i].op]++;
    }
    for (uint32_t i = 0, sum = 0; i <= g->n_ops; i++)
        m->then_first[i] = sum += m->then_first[i];
    for (uint32_t i = g->n_edges; i-- > 0;)
        m->then[--m->then_first[g->edges[i].needs]] = g->edges[i].op * 2 + g->edges[i].early;
}

static int size_units(model *m)
{
    m->n_cpus = m->n_nics = 1;
    for (uint32_t i = 0; i < m->g->n_ops; i++) {
        const rlt_goal_op *o = &m->g->ops[i];
        if (o->cpu >= MAX_UNITS || o->nic >= MAX_UNITS)
            return rlt_goal_fail(m->g, o->line, RLT_ERANGE, m->err, "more than %d CPUs or NICs", MAX_UNITS);
        m->n_cpus = o->cpu >= m->n_cpus ? o->cpu + 1u : m->n_cpus;
        m->n_nics = o->nic >= m->n_nics ? o->nic + 1u : m->n_nics;
    }
    return 0;
}

static int prepare(model *m)
{
    size_t n = (size_t)m->g->n_ops + 1, e = (size_t)m->g->n_edges + 1, word = sizeof(uint32_t);
    int rc = size_units(m);
    if (rc)
        return rc;
    m->cpu = calloc((size_t)m->g->ranks * m->n_cpus, sizeof *m->cpu);
    m->out = calloc((size_t)m->g->ranks * m->n_nics, sizeof *m->out);
    m->in = calloc((size_t)m->g->ranks * m->n_nics, sizeof *m->in);
    m->then_first = calloc(n, word);
    m->then = calloc(e, word);
    m->missing = calloc(n, word);
    m->first = malloc(n * word);
    m->last = calloc(n, word);
    m->next = calloc(n, word);
    m->messages = calloc(n, sizeof *m->messages);
    m->freed = calloc(n, word);
    if (!m->cpu || !m->out || !m->in || !m->then_first || !m->then || !m->missing || !m->first || !m->last ||
        !m->next || !m->messages || !m->freed)
        return rlt_nomem(m->err);
    memset(m->first, 0xff, n * word);
    link_ops(m);
    return 0;
}

/* Starts all operations without dependencies, rank by rank. */
static int start_all(model *m)
{
    int rc = 0;
    for (uint32_t i = 0; i < m->g->n_ops && !rc;) {
        uint32_t rank = m->g->ops[i].rank;
        for (; i < m->g->n_ops && m->g->ops[i].rank == rank; i++)
            if (m->missing[i] == 0)
                m->freed[m->n_freed++] = i;
        rc = start_freed(m);
    }
    return rc;
}

/* Checks that all operations have ended. If not, dependencies are cyclic. */
static int check_done(const model *m)
{
    if (m->n_done == m->g->n_ops)
        return 0;
    for (uint32_t i = 0; i < m->g->n_ops; i++)
        if (m->missing[i])
            return rlt_goal_fail(
                m->g, m->g->ops[i].line, RLT_ESTALL, m->err,
                "rank %u: this operation never begins: it waits for itself through other operations",
                m->g->ops[i].rank);
    return rlt_fail(m->err, RLT_ESTALL, m->g->file, "some messages were never received");
}

static int summarise(const model *m, rlt_loggops_result *out)
{
    const rlt_goal *g = m->g;
    out->ranks = g->ranks;
    out->rank_end_ns = calloc(g->ranks, sizeof *out->rank_end_ns);
    if (!out->rank_end_ns)
        return rlt_nomem(m->err);
    for (uint32_t i = 0; i < g->n_ops; i++) {
        out->messages += g->ops[i].type == RLT_GOAL_SEND;
        out->calculations += g->ops[i].type == RLT_GOAL_NOP;
        out->bytes += g->ops[i].type == RLT_GOAL_SEND ? g->ops[i].bytes : 0;
    }
    for (uint32_t i = 0; i < g->ranks * m->n_cpus; i++) {
        uint64_t *end = &out->rank_end_ns[i / m->n_cpus];
        *end = later(*end, m->cpu[i]);
        out->end_ns = later(out->end_ns, *end);
    }
    return 0;
}

static void clear(model *m)
{
    free(m->lines[0].events);
    free(m->lines[1].events);
    free(m->heap);
    free(m->cpu);
    free(m->out);
    free(m->in);
    free(m->then_first);
    free(m->then);
    free(m->missing);
    free(m->first);
    free(m->last);
    free(m->next);
    free(m->messages);
    free(m->freed);
}

int rlt_loggops_run(const char *path, const rlt_loggops *p, rlt_loggops_result *out, rlt_error *err)
{
    rlt_goal g;
    model m = {.g = &g, .p = *p, .err = err};
    event e;
    *out = (rlt_loggops_result){0};
    int rc = rlt__goal_load(path, &g, NULL, err);
    if (!rc &&
        (p->L > MAX_VALUE || p->o > MAX_VALUE || p->g > MAX_VALUE || p->G > MAX_VALUE || p->O > MAX_VALUE))
        rc = rlt_fail(err, RLT_ERANGE, "loggops", "a parameter is above 10^15");
    if (!rc && !(rc = prepare(&m)))
        rc = start_all(&m);
    while (!rc && pop(&m, &e))
        rc = step(&m, e);
    if (!rc && !(rc = check_done(&m)))
        rc = summarise(&m, out);
    clear(&m);
    rlt__goal_free(&g);
    return rc;
}
