/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gives NCCL kernels what the calls that launched them say. A call launches its kernel inside its own range;
 * calls between ncclGroupStart and ncclGroupEnd are launched inside the last ncclGroupEnd. Such a batch has
 * one kernel, or one for each communicator, or one for each call. Sends to all members and receives from all
 * are an all-to-all, as PyTorch makes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/readers/kineto/kineto.h"
#include "workload/readers/nsys/nsys.h"

#define MAX_BYTES (UINT64_C(1) << 50)

/* Calls whose kernels are launched in one range of a thread. */
typedef struct batch {
    int64_t begin, end;
    uint32_t recording, row;
    uint32_t first, n; /* among matcher.members */
} batch;

typedef struct launch {
    uint32_t batch, event;
    int64_t t;
} launch;

typedef struct matcher {
    rlt_nsys_file *f;
    uint32_t *members; /* indices of calls, by batch */
    batch *batches;
    launch *launches;
    uint32_t n_members, n_batches, n_launches, launches_capacity;
    uint32_t *chosen, *starts, *places; /* calls of the batch at hand, see sort_batch */
} matcher;

static int by_call(const void *a, const void *b)
{
    const rlt_nsys_call *x = a, *y = b;
    if (x->recording != y->recording)
        return x->recording < y->recording ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end);
}

static int by_launch(const void *a, const void *b)
{
    const launch *x = a, *y = b;
    if (x->batch != y->batch)
        return x->batch < y->batch ? -1 : 1;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static void add_batch(matcher *m, const rlt_nsys_call *range, uint32_t first)
{
    m->batches[m->n_batches++] = (batch){.begin = range->begin,
                                         .end = range->end,
                                         .recording = range->recording,
                                         .row = range->row,
                                         .first = first,
                                         .n = m->n_members - first};
}

/* Sorts the calls, and divides them into batches. Calls inside other calls are NCCL's own. */
static void find_batches(matcher *m)
{
    rlt_nsys_call *calls = m->f->calls;
    uint32_t depth = 0, first = 0;
    int64_t inside = INT64_MIN;
    qsort(calls, m->f->n_calls, sizeof *calls, by_call);
    for (uint32_t i = 0; i < m->f->n_calls; i++) {
        const rlt_nsys_call *c = &calls[i];
        const char *name = rlt_interned(&m->f->run->recordings[c->recording].strings, c->name);
        if (i == 0 || c->recording != calls[i - 1].recording || c->row != calls[i - 1].row) {
            depth = 0;
            inside = INT64_MIN;
        }
        if (c->begin < inside)
            continue;
        if (strcmp(name, "GroupStart") == 0) {
            first = depth++ ? first : m->n_members;
        } else if (strcmp(name, "GroupEnd") == 0) {
            if (depth && --depth == 0)
                add_batch(m, c, first);
        } else {
            m->members[m->n_members++] = i;
            inside = c->end;
            if (!depth)
                add_batch(m, c, m->n_members - 1);
        }
    }
}

static bool batch_begun(const void *thing, const void *moment)
{
    const batch *b = thing, *at = moment;
    return b->recording != at->recording ? b->recording < at->recording
           : b->row != at->row           ? b->row < at->row
                                         : b->begin <= at->begin;
}

/* Returns the batch in whose range a thread was at a time. RLT_NONE: none. */
static uint32_t batch_at(const matcher *m, uint32_t recording, uint32_t row, int64_t t)
{
    const batch at = {.recording = recording, .row = row, .begin = t};
    uint32_t n = rlt__kin_first(m->batches, m->n_batches, sizeof *m->batches, batch_begun, &at);
    const batch *b = n ? &m->batches[n - 1] : NULL;
    return b && b->recording == recording && b->row == row && t <= b->end ? n - 1 : RLT_NONE;
}

/* Finds the batch of each NCCL kernel of a recording. */
static int find_launches(matcher *m, uint32_t recording)
{
    const rlt_kin_recording *k = &m->f->run->recordings[recording];
    rlt_map by_correlation = {0};
    int rc = 0;
    for (uint32_t i = 0; i < k->n_events && rc == 0; i++)
        if (k->events[i].cat == RLT_KIN_RUNTIME && k->events[i].correlation >= 0 &&
            rlt_map_put(&by_correlation, (uint64_t)k->events[i].correlation, i) < 0)
            rc = rlt_nomem(m->f->err);
    for (uint32_t i = 0; i < k->n_events && rc == 0; i++) {
        const rlt_kin_event *e = &k->events[i];
        uint32_t call = e->role == RLT_KIN_NCCL && e->correlation >= 0
                            ? rlt_map_get(&by_correlation, (uint64_t)e->correlation)
                            : RLT_NONE;
        uint32_t b =
            call == RLT_NONE ? RLT_NONE : batch_at(m, recording, k->events[call].row, k->events[call].ts);
        if (b == RLT_NONE)
            continue;
        rc = rlt_grow(&m->launches, &m->launches_capacity, sizeof *m->launches, (uint64_t)m->n_launches + 1,
                      RLT_KIN_MAX_EVENTS, "collectives", m->f->err);
        if (rc == 0)
            m->launches[m->n_launches++] = (launch){.batch = b, .event = i, .t = k->events[call].ts};
    }
    rlt_map_free(&by_correlation);
    return rc;
}

/* Sorts the calls of a batch by communicator, in order of appearance, into m->chosen; those of communicator i
 * begin at m->starts[i]. Returns the number of communicators, or a negative error. */
static int sort_batch(matcher *m, const batch *b)
{
    rlt_map places = {0};
    uint32_t comms = 0;
    int rc = 0;
    m->starts[0] = 0;
    for (uint32_t i = 0; i < b->n && rc == 0; i++) {
        uint64_t comm = rlt_mix64(m->f->calls[m->members[b->first + i]].value[RLT_NSYS_COMM]);
        m->places[i] = rlt_map_get(&places, comm);
        if (m->places[i] == RLT_NONE) {
            if (rlt_map_put(&places, comm, comms) < 0)
                rc = rlt_nomem(m->f->err);
            m->places[i] = comms++;
            m->starts[comms] = 0;
        }
        m->starts[m->places[i] + 1]++;
    }
    rlt_map_free(&places);
    for (uint32_t c = 0; c < comms; c++)
        m->starts[c + 1] += m->starts[c];
    for (uint32_t i = 0; i < b->n && rc == 0; i++)
        m->chosen[m->starts[m->places[i]]++] = m->members[b->first + i];
    for (uint32_t c = comms; c > 0; c--)
        m->starts[c] = m->starts[c - 1];
    m->starts[0] = 0;
    return rc ? rc : (int)comms;
}

/* Finds the bytes of the calls in one direction ("Send"), by peer. Returns false unless each of n peers has
 * one. */
static bool by_peer(const matcher *m, const uint32_t *calls, uint32_t n, const char *direction,
                    uint64_t *bytes)
{
    const rlt_kin_recording *k = &m->f->run->recordings[m->f->calls[calls[0]].recording];
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = UINT64_MAX;
    for (uint32_t i = 0; i < 2 * n; i++) {
        const rlt_nsys_call *c = &m->f->calls[calls[i]];
        uint64_t peer = c->value[RLT_NSYS_PEER];
        if (strcmp(rlt_interned(&k->strings, c->name), direction) != 0)
            continue;
        if (peer >= n || bytes[peer] != UINT64_MAX)
            return false;
        bytes[peer] = c->value[RLT_NSYS_BYTES];
        found++;
    }
    return found == n;
}

static uint32_t size_of(const rlt_kin_recording *k, uint32_t group)
{
    for (uint32_t i = 0; i < k->n_groups; i++)
        if (k->groups[i].name == group)
            return k->groups[i].size;
    return 0;
}

/* Fills an all-to-all from sends to and receives from all members. Returns 1, or 0 if it is something
 * else. */
static int exchange(const matcher *m, const uint32_t *calls, uint32_t n_calls, rlt_kin_recording *k,
                    rlt_kin_comm *c)
{
    uint32_t n = n_calls / 2, used = 0;
    if (n_calls % 2 || n < 2 || (size_of(k, c->group) && size_of(k, c->group) != n))
        return 0;
    uint64_t *bytes = malloc((size_t)n * sizeof *bytes);
    char *text = malloc((size_t)n * 24 + 1);
    c->in_elems = 0;
    bool even = true,
         is = bytes && text && by_peer(m, calls, n, "Recv", bytes) && by_peer(m, calls, n, "Send", bytes);
    for (uint32_t i = 0; i < n && is; i++) {
        even = even && bytes[i] == bytes[0];
        is = bytes[i] < MAX_BYTES && c->in_elems < MAX_BYTES;
        c->in_elems += bytes[i];
        used += (uint32_t)snprintf(text + used, 24, "%llu,", (unsigned long long)bytes[i]);
    }
    if (is) {
        c->name = rlt_intern(&k->strings, "alltoallv", 9);
        c->out_elems = c->in_elems;
        c->source = c->destination = -1;
        c->in_split = even ? c->in_split : rlt_intern(&k->strings, text, used);
    }
    int rc = !bytes || !text ? rlt_nomem(m->f->err) : is;
    free(bytes);
    free(text);
    return rc;
}

/* Fills what a call does. */
static void describe(const matcher *m, uint32_t call, rlt_kin_recording *k, rlt_kin_comm *c)
{
    const rlt_nsys_call *x = &m->f->calls[call];
    *c = (rlt_kin_comm){.name = x->name,
                        .dtype = rlt_intern(&k->strings, "byte", 4),
                        .ranks = rlt_intern(&k->strings, "", 0),
                        .in_elems = x->value[RLT_NSYS_BYTES],
                        .source = -1,
                        .destination = -1,
                        .root = -1};
    c->in_split = c->ranks;
    c->out_elems = c->in_elems;
    c->group = x->has & 1u << RLT_NSYS_COMM ? rlt__nsys_communicator(k, x->value[RLT_NSYS_COMM]) : c->ranks;
    if (x->has & 1u << RLT_NSYS_PEER)
        c->source = c->destination = (int64_t)(x->value[RLT_NSYS_PEER] & INT32_MAX);
    if (x->has & 1u << RLT_NSYS_ROOT)
        c->root = (int64_t)(x->value[RLT_NSYS_ROOT] & INT32_MAX);
}

/* Makes a kernel carry out a call: the kernel itself, or a copy of it that runs at the same time. */
static int carry(matcher *m, rlt_kin_recording *k, uint32_t event, bool copy, const rlt_kin_comm *c)
{
    rlt_kin_event e = k->events[event];
    if (c->in_elems >= MAX_BYTES)
        return 0;
    int rc = rlt__kin_keep_comm(k, c, &e.attributes, m->f->err);
    if (rc == 0 && copy)
        return rlt__kin_keep(k, &e, m->f->err);
    k->events[event] = e;
    return rc;
}

/* Makes a kernel carry out calls on one communicator: an all-to-all, messages side by side, or collectives of
 * one kind as one. Other mixtures stay without a size. */
static int give(matcher *m, uint32_t event, const uint32_t *calls, uint32_t n)
{
    const rlt_nsys_call *first = &m->f->calls[calls[0]];
    rlt_kin_recording *k = &m->f->run->recordings[first->recording];
    bool message = first->has & 1u << RLT_NSYS_PEER;
    rlt_kin_comm c, next;
    describe(m, calls[0], k, &c);
    int rc = message && n > 1 ? exchange(m, calls, n, k, &c) : 0;
    if (rc)
        return rc < 0 ? rc : carry(m, k, event, false, &c);
    if (message) {
        for (uint32_t i = 0; i < n && rc == 0; i++) {
            describe(m, calls[i], k, &c);
            rc = carry(m, k, event, i > 0, &c);
        }
        return rc;
    }
    for (uint32_t i = 1; i < n; i++) {
        describe(m, calls[i], k, &next);
        if (next.name != c.name || next.root != c.root || next.in_elems >= MAX_BYTES ||
            c.in_elems >= MAX_BYTES)
            return 0;
        c.in_elems = c.out_elems += next.in_elems;
    }
    return carry(m, k, event, false, &c);
}

static int assign(matcher *m)
{
    int rc = 0;
    for (uint32_t i = 0, end; i < m->n_launches && rc == 0; i = end) {
        const batch *b = &m->batches[m->launches[i].batch];
        for (end = i; end < m->n_launches && m->launches[end].batch == m->launches[i].batch;)
            end++;
        int comms = sort_batch(m, b);
        rc = comms < 0 ? comms : 0;
        for (uint32_t l = i; l < end && rc == 0; l++) {
            uint32_t kernel = l - i, event = m->launches[l].event;
            if (end - i == (uint32_t)comms)
                rc = give(m, event, m->chosen + m->starts[kernel], m->starts[kernel + 1] - m->starts[kernel]);
            else if (end - i == b->n)
                rc = give(m, event, m->members + b->first + kernel, 1);
        }
    }
    return rc;
}

int rlt__nsys_match(rlt_nsys_file *f)
{
    matcher m = {.f = f};
    size_t n = (size_t)f->n_calls + 1;
    m.members = malloc(n * sizeof *m.members);
    m.chosen = malloc(n * sizeof *m.chosen);
    m.starts = malloc((n + 1) * sizeof *m.starts);
    m.places = malloc(n * sizeof *m.places);
    m.batches = malloc(n * sizeof *m.batches);
    int rc = m.members && m.chosen && m.starts && m.places && m.batches ? 0 : rlt_nomem(f->err);
    if (f->n_calls && !rc)
        find_batches(&m);
    for (uint32_t i = 0; i < f->n_processes && rc == 0; i++)
        rc = find_launches(&m, f->processes[i].recording);
    if (m.n_launches && !rc) {
        qsort(m.launches, m.n_launches, sizeof *m.launches, by_launch);
        rc = assign(&m);
    }
    free(m.members);
    free(m.chosen);
    free(m.starts);
    free(m.places);
    free(m.batches);
    free(m.launches);
    return rc;
}
