/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs of DASO and Horovod against second ones, written from workload/daso/daso.h and its README: every
 * operation of random epochs, what it waits for, where it runs and what it sends. Names of layers, times without
 * rounding, and what is refused.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/trainings/daso.h"
#include "workload/daso/daso.h"
#include "workload/models/model.h"
#include "workload/program/program.h"

enum { OPS = 6000, DEPS = 6, CASES = 250 };

typedef struct item {
    rlt_op_kind kind;
    char name[RLT_MODEL_NAME + 16], resource[24], group[24]; /* "": none */
    uint32_t deps[DEPS], n_deps, step, root;
    rlt_time time;
    rlt_coll_kind coll;
    uint64_t bytes;
} item;

/* A rank's operations, in the order in which they are built. */
typedef struct list {
    const rlt_daso *d;
    const rlt_daso_work *w;
    uint32_t rank, node, local, step;
    double speed;
    uint64_t parameters;
    uint32_t last, pending[4], n_pending; /* the chain of the compute stream, and what it waits for beside */
    uint32_t reduced;                     /* Horovod: the last all-reduce */
    uint32_t n;
    item ops[OPS];
} list;

static void after(list *l, uint32_t op, uint32_t on)
{
    item *x = &l->ops[op];
    for (uint32_t i = 0; i < x->n_deps; i++)
        if (x->deps[i] == on)
            return;
    if (on == RLT_NONE)
        return;
    assert_true(x->n_deps < DEPS);
    x->deps[x->n_deps++] = on;
}

static uint32_t put(list *l, rlt_op_kind kind, const char *resource, const char *name, rlt_time time,
                    uint32_t on)
{
    assert_true(l->n < OPS);
    item *x = &l->ops[l->n];
    *x = (item){.kind = kind, .time = time, .step = l->step};
    snprintf(x->name, sizeof x->name, "%s", name);
    snprintf(x->resource, sizeof x->resource, "%s", resource);
    after(l, l->n, on);
    return l->n++;
}

static uint32_t put_coll(list *l, rlt_coll_kind kind, const char *resource, const char *name,
                         const char *group, uint64_t bytes, uint32_t on)
{
    uint32_t op = put(l, RLT_OP_COLLECTIVE, resource, name, 0, on);
    l->ops[op].coll = kind;
    l->ops[op].bytes = bytes;
    snprintf(l->ops[op].group, sizeof l->ops[op].group, "%s", group);
    return op;
}

static uint32_t chain(list *l, rlt_op_kind kind, const char *resource, const char *name, rlt_time time)
{
    uint32_t op = put(l, kind, resource, name, time, l->last);
    for (uint32_t i = 0; i < l->n_pending; i++)
        after(l, op, l->pending[i]);
    l->n_pending = 0;
    return l->last = op;
}

static void hold(list *l, uint32_t op)
{
    if (op != RLT_NONE)
        l->pending[l->n_pending++] = op;
}

static rlt_time moved(const list *l, uint64_t bytes_each, uint64_t elements)
{
    return rlt_transfer_time(elements * bytes_each, l->d->memory_Bps);
}

static void layer(list *l, const char *way, uint32_t i, rlt_time time)
{
    char name[RLT_MODEL_NAME + 16];
    snprintf(name, sizeof name, "%s %s", way, l->w->model->layers[i].name);
    chain(l, RLT_OP_COMPUTE, "compute", name, (rlt_time)((double)time * l->speed + 0.5));
}

static void forward(list *l, uint32_t batch, uint32_t draw)
{
    const rlt_daso *d = l->d;
    l->step = batch;
    l->speed = rlt_random_lognormal(d->seed, l->rank, 0x6a697474, (uint64_t)draw << 32 | batch, d->jitter);
    for (uint32_t i = 0; i < l->w->model->n_layers; i++)
        layer(l, "forward", i, l->w->forward_ps[i]);
}

static list *begin(const rlt_daso *d, const rlt_daso_work *w, uint32_t rank)
{
    static list l;
    l = (list){.d = d, .w = w, .rank = rank, .node = rank / d->gpus, .local = rank % d->gpus};
    l.last = l.reduced = RLT_NONE;
    for (uint32_t i = 0; i < w->model->n_tensors; i++)
        l.parameters += w->model->tensors[i].elements;
    return &l;
}

/* ---- DASO ---- */

/* Buckets are filled from the last tensor on; one that is full is reduced after the layer of its last tensor. */
static void daso_backward(list *l, bool sync)
{
    const rlt_model *m = l->w->model;
    uint32_t at = m->n_tensors, reduced = RLT_NONE;
    uint64_t filled = 0, limit = l->d->first_bucket_bytes;
    char group[24];
    snprintf(group, sizeof group, "node %u", l->node);
    for (uint32_t i = m->n_layers; i-- > 0;) {
        layer(l, "backward", i, l->w->backward_ps[i]);
        while (at > 0 && m->tensors[at - 1].layer == i) {
            filled += 4 * m->tensors[--at].elements;
            if (filled < limit && at > 0)
                continue;
            if (sync && l->d->gpus > 1)
                reduced = put_coll(l, RLT_ALL_REDUCE, "local communication", "local all_reduce", group,
                                   filled, l->last);
            filled = 0;
            limit = l->d->bucket_bytes;
        }
    }
    hold(l, reduced);
}

/* Chunks through the host and back, one all-reduce each. Returns the end of the last one. */
static uint32_t daso_send(list *l, uint32_t width)
{
    const rlt_daso *d = l->d;
    uint32_t packed =
        chain(l, RLT_OP_MEMORY, "compute", "pack", moved(l, 4 + (uint64_t)width, l->parameters));
    uint32_t end = RLT_NONE;
    char group[24];
    snprintf(group, sizeof group, "global %u", l->local);
    for (uint64_t left = d->nodes > 1 ? l->parameters : 0; left > 0;) {
        uint64_t chunk = left % d->chunk_elements ? left % d->chunk_elements : d->chunk_elements;
        rlt_time copy = d->staging_Bps ? rlt_transfer_time(chunk * width, d->staging_Bps) : 0;
        rlt_time add = d->reduce_Bps ? rlt_transfer_time(chunk * width, d->reduce_Bps) : 0;
        end = copy ? put(l, RLT_OP_MEMORY, "copy to host", "to host", copy, packed) : packed;
        end = put_coll(l, RLT_ALL_REDUCE, "global communication", "global all_reduce", group, chunk * width,
                       end);
        end = add ? put(l, RLT_OP_HOST, "host", "add up", add, end) : end;
        end = copy ? put(l, RLT_OP_MEMORY, "copy from host", "from host", copy, end) : end;
        left -= chunk;
    }
    return end;
}

/* Each tensor by itself, launched one after the other; or all at once, after as many launches. */
static void daso_broadcast(list *l, uint32_t root)
{
    const rlt_model *m = l->w->model;
    bool each = l->d->broadcast_each;
    uint32_t first = l->last, launched = RLT_NONE;
    rlt_time launch = l->d->launch_ps * (each ? 1 : m->n_tensors);
    char group[24];
    snprintf(group, sizeof group, "node %u", l->node);
    if (l->d->gpus == 1)
        return;
    for (uint32_t i = 0; i < (each ? m->n_tensors : 1); i++) {
        if (launch)
            launched = put(l, RLT_OP_HOST, "host", "launch broadcast", launch, i ? launched : first);
        uint64_t elements = each ? m->tensors[i].elements : l->parameters;
        l->last =
            put_coll(l, RLT_BROADCAST, "local communication", "local broadcast", group, 4 * elements, first);
        l->ops[l->last].root = root;
        after(l, l->last, each ? launched : RLT_NONE);
    }
    hold(l, each ? RLT_NONE : launched);
}

static list *daso(const rlt_daso *d, const rlt_daso_work *w, rlt_daso_phase phase, uint32_t draw,
                  uint32_t rank)
{
    list *l = begin(d, w, rank);
    rlt_daso_epoch e = rlt_daso_epoch_begin(d, phase);
    rlt_daso_batch b;
    uint32_t width = phase.skips ? 4 : d->downcast_bytes, under_way = RLT_NONE;
    while (rlt_daso_epoch_next(&e, &b)) {
        forward(l, b.batch, draw);
        daso_backward(l, b.local_sync);
        chain(l, RLT_OP_MEMORY, "compute", "optimizer step", moved(l, d->optimizer_bytes, l->parameters));
        uint32_t sent = b.sender == l->local ? daso_send(l, width) : RLT_NONE;
        if (b.merger == l->local) {
            hold(l, under_way);
            chain(l, RLT_OP_MEMORY, "compute", "merge", moved(l, 12, l->parameters));
        }
        if (b.relay != RLT_NONE)
            daso_broadcast(l, b.relay);
        if (b.sender == l->local && b.blocking) {
            hold(l, sent);
            chain(l, RLT_OP_MEMORY, "compute", "unpack", moved(l, 4 + (uint64_t)width, l->parameters));
        } else if (b.sender == l->local) {
            under_way = sent;
        }
        if (b.blocking)
            daso_broadcast(l, b.sender);
    }
    if (d->nodes * d->gpus > 1) {
        uint32_t op =
            put_coll(l, RLT_ALL_REDUCE, "global communication", "loss of the epoch", "world", 4, l->last);
        for (uint32_t i = 0; i < l->n_pending; i++)
            after(l, op, l->pending[i]);
    }
    return l;
}

/* ---- Horovod ---- */

/* What the background thread does before a transfer. */
static uint32_t negotiate(list *l, rlt_time until, uint32_t on)
{
    if (until)
        on = put(l, RLT_OP_DELAY, "", "until the cycle ends", until, on);
    if (l->d->negotiation_ps)
        on = put(l, RLT_OP_HOST, "Horovod", "negotiate", l->d->negotiation_ps, on);
    return on;
}

static void reduce(list *l, const char *name, uint64_t bytes, uint32_t on)
{
    uint32_t op = put_coll(l, RLT_ALL_REDUCE, "communication", name, "world", bytes, on);
    after(l, op, l->reduced);
    l->reduced = op;
}

/* The tick of the background thread that takes a tensor, at speed 1. */
static rlt_time tick_of(const list *l, uint32_t tensor, rlt_time *ready)
{
    *ready = 0;
    for (uint32_t i = 0; i < l->w->model->n_layers; i++)
        *ready += l->w->forward_ps[i] + (i >= l->w->model->tensors[tensor].layer ? l->w->backward_ps[i] : 0);
    rlt_time cycle = l->d->cycle_ps;
    return cycle ? (*ready + cycle - 1) / cycle * cycle : *ready;
}

static void horovod_backward(list *l)
{
    const rlt_model *m = l->w->model;
    uint32_t at = m->n_tensors, wire = l->d->compressed_bytes, last = RLT_NONE;
    for (uint32_t i = m->n_layers; i-- > 0;) {
        layer(l, "backward", i, l->w->backward_ps[i]);
        while (at > 0 && l->d->nodes * l->d->gpus > 1) {
            rlt_time ready, tick = tick_of(l, at - 1, &ready), later;
            uint64_t elements = 0;
            uint32_t next = at;
            for (; next > 0 && tick_of(l, next - 1, &later) == tick; next--) {
                if (next < at && (elements + m->tensors[next - 1].elements) * wire > l->d->fusion_bytes)
                    break;
                elements += m->tensors[next - 1].elements;
            }
            tick_of(l, next, &ready); /* the set is ready when its last tensor is */
            if (m->tensors[next].layer != i)
                break;
            at = next;
            rlt_time copy = moved(l, wire == 2 ? 4 + 2 + 2 * 2 : 2 * 4, elements);
            uint32_t on = negotiate(l, tick - ready, l->last);
            on = put(l, RLT_OP_MEMORY, "fusion buffer", "compress and pack", copy, on);
            reduce(l, "all_reduce of gradients", elements * wire, on);
            last = put(l, RLT_OP_MEMORY, "fusion buffer", "unpack and decompress", copy, l->reduced);
        }
    }
    hold(l, last);
}

static list *horovod(const rlt_daso *d, const rlt_daso_work *w, uint32_t draw, uint32_t rank)
{
    list *l = begin(d, w, rank);
    rlt_time host = d->overhead_ps + d->tensor_ps * w->model->n_tensors;
    for (uint32_t b = 0; b < rlt_daso_batches(d); b++) {
        forward(l, b, draw);
        horovod_backward(l);
        if (host)
            chain(l, RLT_OP_HOST, "host", "synchronize", host);
        chain(l, RLT_OP_MEMORY, "compute", "optimizer step", moved(l, d->optimizer_bytes, l->parameters));
        if (d->loss_each_batch && d->nodes * d->gpus > 1) {
            reduce(l, "loss", 4, negotiate(l, d->cycle_ps / 2, l->last));
            l->last = l->reduced;
        }
    }
    return l;
}

/* ---- comparison ---- */

static rlt_resource_kind kind_of(const char *resource)
{
    return strncmp(resource, "copy", 4) == 0                                   ? RLT_RES_COPY
           : strcmp(resource, "host") == 0 || strcmp(resource, "Horovod") == 0 ? RLT_RES_HOST
                                                                               : RLT_RES_STREAM;
}

static bool same_deps(const rlt_program *p, const rlt_op *op, const item *x, uint32_t first)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < x->n_deps; i++)
        for (uint32_t k = 0; k < op->n_deps; k++)
            if (p->deps[op->first_dep + k] == first + x->deps[i]) {
                found++;
                break;
            }
    for (uint32_t k = 0; k < op->n_deps; k++) {
        bool known = false;
        for (uint32_t i = 0; i < x->n_deps; i++)
            known |= p->deps[op->first_dep + k] == first + x->deps[i];
        if (!known)
            return false;
    }
    return found == x->n_deps;
}

static bool same_comm(const rlt_program *p, const rlt_op *op, const item *x, const rlt_daso *d)
{
    if (!x->group[0] || op->comm == RLT_NONE)
        return !x->group[0] && op->comm == RLT_NONE;
    const rlt_comm *c = &p->comms[op->comm];
    uint32_t n = p->group_first[c->group + 1] - p->group_first[c->group], index = 0;
    bool node = x->group[0] == 'n', global = x->group[0] == 'g';
    sscanf(x->group, "%*s %u", &index);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t want = node ? index * d->gpus + i : global ? index + i * d->gpus : i;
        if (p->group_ranks[p->group_first[c->group] + i] != want)
            return false;
    }
    return n == (node     ? d->gpus
                 : global ? d->nodes
                          : d->nodes * d->gpus) &&
           c->kind == x->coll && c->bytes == x->bytes && c->root == x->root && !c->timed && !c->counts &&
           strcmp(rlt_program_string(p, p->group_names[c->group]), x->group) == 0;
}

static void compare_rank(const rlt_program *p, const list *l, uint32_t number)
{
    uint32_t first = p->rank_first[l->rank];
    for (uint32_t i = 0; i < l->n && i < p->rank_first[l->rank + 1] - first; i++) {
        const rlt_op *op = &p->ops[first + i];
        const item *x = &l->ops[i];
        const char *name = rlt_program_string(p, op->name), *where = "";
        bool alike = op->kind == x->kind && op->step == x->step && op->duration_ps == x->time;
        if (op->resource != RLT_NONE) {
            where = rlt_program_string(p, p->resources[op->resource].name);
            alike &= p->resources[op->resource].kind == kind_of(where);
        }
        if (!alike || strcmp(name, x->name) != 0 || strcmp(where, x->resource) != 0 ||
            !same_deps(p, op, x, first) || !same_comm(p, op, x, l->d))
            fail_msg("case %u, %s, operation %u of rank %u: %s on '%s' takes %lld; want %s on '%s', %lld",
                     number, p->reader, i, l->rank, name, where, (long long)op->duration_ps, x->name,
                     x->resource, (long long)x->time);
    }
    assert_int_equal(p->rank_first[l->rank + 1] - first, l->n);
}

static void draw_model(test_model *m, dice *t)
{
    *m = (test_model){.model.n_layers = 0};
    uint32_t layers = 1 + below(t, 5), most = 1 + below(t, 3000);
    for (uint32_t i = 0; i < layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "l%u", i);
        test_model_layer(m, name, 1 + below(t, 9));
        for (uint32_t n = below(t, 4); n > 0 || (i + 1 == layers && !m->model.n_tensors); n -= n > 0)
            test_model_tensor(m, 1 + below(t, most));
    }
    test_model_finish(m, 0);
    for (uint32_t i = 0; i < layers; i++) {
        m->forward_ps[i] = (rlt_time)roll(t, 5) * 250 * RLT_NS;
        m->backward_ps[i] = (rlt_time)roll(t, 5) * 250 * RLT_NS;
    }
}

static rlt_daso draw_settings(dice *t)
{
    rlt_daso d = rlt_daso_default();
    d.nodes = 1 + below(t, 4);
    d.gpus = 1 + below(t, 4);
    d.batches = 1 + below(t, 12);
    d.chunk_elements = 1 + below(t, 3) * 777 + 5000 * below(t, 2);
    d.chunk_elements = d.chunk_elements < 100 ? 4000 : d.chunk_elements;
    d.downcast_bytes = 2 + 2 * below(t, 2);
    d.broadcast_each = below(t, 2);
    d.launch_ps = below(t, 3) * 700;
    d.bucket_bytes = 1 + below(t, 20000);
    d.first_bucket_bytes = 1 + below(t, 6000);
    d.optimizer_bytes = below(t, 30);
    d.staging_Bps = below(t, 2) * UINT64_C(25000000000);
    d.reduce_Bps = below(t, 2) * UINT64_C(40000000000);
    d.jitter = below(t, 2) * 0.2;
    d.seed = below(t, 1000);
    d.fusion_bytes = 1 + below(t, 12000);
    d.cycle_ps = below(t, 4) * 333 * RLT_NS;
    d.negotiation_ps = below(t, 2) * 5 * RLT_US;
    d.compressed_bytes = 2 + 2 * below(t, 2);
    d.loss_each_batch = below(t, 2);
    d.overhead_ps = below(t, 2) * 3 * RLT_US;
    d.tensor_ps = below(t, 2) * 7 * RLT_NS;
    return d;
}

static void random_epochs(void **state)
{
    static test_model m;
    (void)state;
    for (uint32_t k = 0; k < CASES; k++) {
        dice t = {.seed = 500 + k};
        draw_model(&m, &t);
        rlt_daso d = draw_settings(&t);
        rlt_daso_phase phase = {below(&t, 6), below(&t, 4), below(&t, 4)};
        uint32_t n = d.nodes * d.gpus, draw = below(&t, 3);
        for (int baseline = 0; baseline < 2; baseline++) {
            rlt_program *p = NULL;
            rlt_error err = {0};
            if (baseline ? rlt_horovod_program(&d, &m.work, draw, &p, &err)
                         : rlt_daso_program(&d, &m.work, phase, draw, &p, &err))
                fail_msg("case %u: %s: %s", k, err.where, err.what);
            assert_int_equal(p->n_ranks, n);
            assert_int_equal(p->n_steps, d.batches);
            assert_string_equal(p->reader, baseline ? "horovod" : "daso");
            for (uint32_t r = 0; r < n; r++)
                compare_rank(p, baseline ? horovod(&d, &m.work, draw, r) : daso(&d, &m.work, phase, draw, r),
                             k);
            rlt_program_free(p);
        }
    }
}

static const rlt_daso_phase blocking = {0, 0, 0};

static rlt_daso alone(uint32_t batches)
{
    rlt_daso d = rlt_daso_default();
    d.nodes = d.gpus = 1;
    d.batches = batches;
    return d;
}

/* Times of layers are exact without jitter, and end at the limit of time with it; names of layers are whole. */
static void layers(void **state)
{
    static test_model m;
    rlt_daso d = alone(1);
    rlt_program *p = NULL;
    char name[RLT_MODEL_NAME], text[RLT_MODEL_NAME + 16];
    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    m = (test_model){.model.n_layers = 0};
    test_model_layer(&m, name, 1);
    test_model_tensor(&m, 0);
    test_model_finish(&m, 0);
    m.forward_ps[0] = RLT_TIME_MAX / 2 + 1;
    m.backward_ps[0] = RLT_TIME_MAX;
    assert_int_equal(rlt_daso_program(&d, &m.work, blocking, 0, &p, NULL), 0);
    snprintf(text, sizeof text, "forward %s", name);
    assert_string_equal(rlt_program_string(p, p->ops[0].name), text);
    assert_int_equal(p->ops[0].duration_ps, RLT_TIME_MAX / 2 + 1);
    snprintf(text, sizeof text, "backward %s", name);
    assert_string_equal(rlt_program_string(p, p->ops[1].name), text);
    assert_int_equal(p->ops[1].duration_ps, RLT_TIME_MAX);
    rlt_program_free(p);
    d.jitter = 0.2;
    bool limited = false;
    for (d.seed = 0; d.seed < 20; d.seed++) {
        assert_int_equal(rlt_daso_program(&d, &m.work, blocking, 0, &p, NULL), 0);
        assert_true(p->ops[1].duration_ps > 0 && p->ops[1].duration_ps <= RLT_TIME_MAX);
        limited |= p->ops[1].duration_ps == RLT_TIME_MAX;
        rlt_program_free(p);
    }
    assert_true(limited);
}

/* Launches of all tensors at once, and handles of all tensors, end at the limit of time. */
static void long_times(void **state)
{
    static test_model m;
    rlt_daso d = alone(1);
    rlt_program *p = NULL;
    rlt_time launch = 0, host = 0;
    (void)state;
    for (uint32_t n = 1; n <= 3; n++) {
        m = (test_model){.model.n_layers = 0};
        test_model_layer(&m, "all", 1);
        for (uint32_t i = 0; i < n; i++)
            test_model_tensor(&m, 1);
        test_model_finish(&m, 0);
        d.gpus = 2;
        d.broadcast_each = false;
        d.launch_ps = d.tensor_ps = RLT_TIME_MAX / 2;
        assert_int_equal(rlt_daso_program(&d, &m.work, blocking, 0, &p, NULL), 0);
        for (uint32_t i = 0; i < p->n_ops; i++)
            if (strcmp(rlt_program_string(p, p->ops[i].name), "launch broadcast") == 0)
                launch = p->ops[i].duration_ps;
        rlt_program_free(p);
        assert_int_equal(rlt_horovod_program(&d, &m.work, 0, &p, NULL), 0);
        for (uint32_t i = 0; i < p->n_ops; i++)
            if (strcmp(rlt_program_string(p, p->ops[i].name), "synchronize") == 0)
                host = p->ops[i].duration_ps;
        rlt_program_free(p);
        assert_int_equal(launch, n == 1 ? RLT_TIME_MAX / 2 : RLT_TIME_MAX);
        assert_int_equal(host, launch);
    }
}

/* Times of layers are shares of the batch by FLOPs: rounded sums of all before them, so that they add up. */
static void spread(void **state)
{
    static test_model m;
    (void)state;
    for (uint32_t k = 0; k < 400; k++) {
        dice t = {.seed = 77 + k};
        rlt_time batch = (rlt_time)roll(&t, 1000000), sum = 0;
        uint32_t n = 1 + below(&t, 6);
        uint64_t flop = 0, before = 0, work[12];
        m = (test_model){.model.n_layers = 0};
        for (uint32_t i = 0; i < n; i++)
            test_model_layer(&m, "layer", 0);
        for (uint32_t i = 0; i < 2 * n; i++) {
            work[i] = k ? below(&t, 5) : 0;
            flop += work[i];
            *(i % 2 ? &m.layers[i / 2].backward_flop : &m.layers[i / 2].forward_flop) = (double)work[i];
        }
        m.forward_ps[n] = m.backward_ps[n] = 7; /* no layer is there */
        test_model_finish(&m, batch);
        assert_true(m.forward_ps[n] == 7 && m.backward_ps[n] == 7);
        for (uint32_t i = 0; i < 2 * n; i++) {
            before += work[i];
            sum += i % 2 ? m.backward_ps[i / 2] : m.forward_ps[i / 2];
            /* half up; the quotient of doubles may fall short of a half */
            uint64_t twice = flop ? 2 * (uint64_t)batch * before : 0, parts = flop ? 2 * flop : 1;
            uint64_t want = (twice + flop) / parts;
            bool half = flop && (twice + flop) % parts == 0 && twice % parts;
            assert_true((uint64_t)sum == want || (half && (uint64_t)sum + 1 == want));
        }
        assert_int_equal(sum, flop ? batch : 0);
    }
}

/* What both programs refuse, word for word, and what they still take. */
static void refused(void **state)
{
    static test_model m;
    rlt_daso d = alone(1);
    rlt_program *p = NULL;
    (void)state;
#define WITH(code, text, ...)                                                                                \
    do {                                                                                                     \
        rlt_error err = {0};                                                                                 \
        d = alone(1);                                                                                        \
        m = (test_model){.model.n_layers = 0};                                                               \
        snprintf(m.model.name, sizeof m.model.name, "small");                                                \
        test_model_layer(&m, "a", 1);                                                                        \
        test_model_tensor(&m, 1);                                                                            \
        test_model_layer(&m, "b", 1);                                                                        \
        test_model_tensor(&m, 1);                                                                            \
        test_model_finish(&m, 4);                                                                            \
        __VA_ARGS__;                                                                                         \
        assert_int_equal(rlt_daso_program(&d, &m.work, blocking, 0, &p, &err), code);                        \
        rlt_program_free(p);                                                                                 \
        p = NULL;                                                                                            \
        assert_string_equal(err.what, text);                                                                 \
        err = (rlt_error){0};                                                                                \
        assert_int_equal(rlt_horovod_program(&d, &m.work, 0, &p, &err), code);                               \
        rlt_program_free(p);                                                                                 \
        p = NULL;                                                                                            \
        assert_string_equal(err.what, text);                                                                 \
    } while (0)
#define LESS  "the model has no layers or no tensors: expected at least one of each"
#define SPAN  "layer 1 has a time outside the range from 0 to 26 days"
#define ORDER " follows a tensor of a later layer, or names no layer: expected tensors in the order of layers"
#define LARGE "the model has more than 2^48 parameters, the limit"
    WITH(0, "", (void)d);
    WITH(RLT_ESCHEMA, LESS, m.model.n_layers = 0);
    WITH(RLT_ESCHEMA, LESS, m.model.n_tensors = 0);
    WITH(RLT_ERANGE, SPAN, m.forward_ps[1] = -1);
    WITH(RLT_ERANGE, SPAN, m.backward_ps[1] = -1);
    WITH(RLT_ERANGE, SPAN, m.forward_ps[1] = RLT_TIME_MAX + 1);
    WITH(RLT_ERANGE, SPAN, m.backward_ps[1] = RLT_TIME_MAX + 1);
    WITH(0, "", m.forward_ps[0] = m.backward_ps[0] = m.forward_ps[1] = m.backward_ps[1] = RLT_TIME_MAX);
    WITH(0, "", m.forward_ps[0] = m.backward_ps[0] = m.forward_ps[1] = m.backward_ps[1] = 0);
    WITH(RLT_ESCHEMA, "tensor 1" ORDER, m.tensors[1].layer = 2);
    WITH(RLT_ESCHEMA, "tensor 0" ORDER, m.tensors[0].layer = 2);
    WITH(RLT_ESCHEMA, "tensor 1" ORDER, m.tensors[0].layer = 1; m.tensors[1].layer = 0);
    WITH(0, "", m.tensors[1].layer = 0);
    WITH(0, "", m.tensors[0].layer = 1);
    WITH(RLT_ERANGE, LARGE, m.tensors[0].elements = UINT64_C(1) << 48);
    WITH(RLT_ERANGE, LARGE, m.tensors[0].elements = (UINT64_C(1) << 48) - 1);
    WITH(RLT_ERANGE, LARGE, m.tensors[1].elements = UINT64_MAX);
    WITH(0, "", d.chunk_elements = UINT64_C(1) << 50; m.tensors[0].elements = (UINT64_C(1) << 48) - 2);
    WITH(RLT_ERANGE, "expected counts, sizes and rates above 0, and skip_factor above 1", d.nodes = 0);
#undef WITH
}

/* Operations per batch: those of the layers, and the most that a batch has beside them. */
static void too_many(void **state)
{
    static test_model m;
    rlt_daso d = alone(1);
    rlt_program *p = NULL;
    (void)state;
    m = (test_model){.model.n_layers = 0};
    test_model_layer(&m, "all", 1);
    test_model_tensor(&m, 1);
    test_model_tensor(&m, 1);
    test_model_finish(&m, 1);
    static const uint32_t each[] = {2 + 1 + 2 * 4 + 8, 2 + 1 + 2 * 2 + 8, 2 + 5 + 5, 2 + 10 + 5, 2};
    for (int k = 0; k < 5; k++) {
        char text[200];
        rlt_error err = {0};
        d.nodes = 1 << 20;
        d.batches = k == 4 ? 200 : 60; /* layers alone are too many */
        d.broadcast_each = k == 0;
        d.fusion_bytes = k == 3 ? 1 : 1 << 20;
        assert_int_equal(k < 2 ? rlt_daso_program(&d, &m.work, blocking, 0, &p, &err)
                               : rlt_horovod_program(&d, &m.work, 0, &p, &err),
                         RLT_ERANGE);
        snprintf(text, sizeof text,
                 "%u operations per batch x %u batches of all ranks exceed 268435456 operations: lower "
                 "batches, nodes or gpus",
                 each[k], d.nodes * d.batches);
        assert_string_equal(err.what, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_epochs), cmocka_unit_test(layers),
                                       cmocka_unit_test(long_times),    cmocka_unit_test(spread),
                                       cmocka_unit_test(refused),       cmocka_unit_test(too_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
