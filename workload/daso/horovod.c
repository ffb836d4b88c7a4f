/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One epoch of Horovod as a program (docs/tensor-fusion.rst). A background thread wakes every cycle, agrees
 * with the others on the gradients that are ready, packs them into the fusion buffer, all-reduces it and
 * unpacks it. The sets of gradients are those of a batch at speed 1; on a slower or faster rank they shift
 * with the batch.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/daso/daso.h"
#include "workload/daso/internal.h"
#include "workload/models/model.h"
#include "workload/program/program.h"

typedef struct maker {
    const rlt_daso *d;
    const rlt_daso_work *w;
    rlt_builder *b;
    rlt_dp_names names;
    rlt_dp_buckets sets;
    uint32_t world; /* RLT_NONE: one rank */
    /* The rank being built: */
    rlt_dp_rank k;
    uint32_t background, network, copies, host; /* resources */
    uint32_t last_reduce;
} maker;

static rlt_time tick_after(rlt_time ready, rlt_time cycle)
{
    return cycle ? rlt_time_add(ready, (cycle - ready % cycle) % cycle) : ready;
}

/* Groups tensors into sets, in the order of the backward pass. A set is closed if the next tensor falls into
 * another cycle or no longer fits. */
static int make_sets(maker *m, rlt_error *err)
{
    const rlt_model *model = m->w->model;
    rlt_time at = 0;
    rlt_dp_bucket open = {0};
    uint32_t layer = model->n_layers;
    int rc = 0;
    for (uint32_t i = 0; i < model->n_layers; i++)
        at = rlt_time_add(at, m->w->forward_ps[i]);
    for (uint32_t i = model->n_tensors; i-- > 0 && rc == 0;) {
        uint64_t bytes = (open.elements + model->tensors[i].elements) * m->d->compressed_bytes;
        while (layer > model->tensors[i].layer)
            at = rlt_time_add(at, m->w->backward_ps[--layer]);
        rlt_time tick = tick_after(at, m->d->cycle_ps);
        if (open.tensors && (tick != open.tick_ps || bytes > m->d->fusion_bytes)) {
            rc = rlt__bucket_add(&m->sets, open, err);
            open = (rlt_dp_bucket){0};
        }
        open.elements += model->tensors[i].elements;
        open.layer = layer;
        open.tensors++;
        open.ready_ps = at;
        open.tick_ps = tick;
    }
    return rc ? rc : rlt__bucket_add(&m->sets, open, err);
}

/* Adds the background thread's work before a transfer that is ready after `on`. */
static uint32_t negotiate(maker *m, rlt_time until_tick, uint32_t on)
{
    if (until_tick > 0)
        on = rlt__dp_aside(&m->k, RLT_OP_DELAY, RLT_NONE, "until the cycle ends", until_tick, on);
    if (m->d->negotiation_ps > 0)
        on = rlt__dp_aside(&m->k, RLT_OP_HOST, m->background, "negotiate", m->d->negotiation_ps, on);
    return on;
}

/* Adds an all-reduce after the previous one: the order is the same on every rank, whatever its speed. */
static uint32_t reduce(maker *m, const char *name, uint64_t bytes, uint32_t on)
{
    uint32_t op = rlt__dp_collective(&m->k, RLT_ALL_REDUCE, m->network, name, m->world, 0, bytes, on);
    if (m->last_reduce != RLT_NONE)
        rlt_build_dep(m->b, op, m->last_reduce);
    m->last_reduce = op;
    return op;
}

/* Adds the exchange of a set. Compressing reads 4 bytes per element and writes the bytes on the wire; packing
 * moves these again. Unpacking costs the same. Returns the last operation. */
static uint32_t exchange(maker *m, const rlt_dp_bucket *s, uint32_t on)
{
    uint32_t wire = m->d->compressed_bytes;
    rlt_time copy = rlt__dp_moved(m->d, s->elements, (wire < 4 ? 4 + wire : 0) + 2 * wire);
    on = negotiate(m, s->tick_ps - s->ready_ps, on);
    on = rlt__dp_aside(&m->k, RLT_OP_MEMORY, m->copies, "compress and pack", copy, on);
    on = reduce(m, "all_reduce of gradients", s->elements * wire, on);
    return rlt__dp_aside(&m->k, RLT_OP_MEMORY, m->copies, "unpack and decompress", copy, on);
}

static void backward(maker *m)
{
    uint32_t next = 0, last = RLT_NONE;
    for (uint32_t i = m->w->model->n_layers; i-- > 0;) {
        uint32_t op = rlt__dp_backward(&m->k, i);
        for (; m->world != RLT_NONE && next < m->sets.n && m->sets.list[next].layer == i; next++)
            last = exchange(m, &m->sets.list[next], op);
    }
    rlt__dp_wait(&m->k, last);
}

static void make_batch(maker *m)
{
    rlt_time host = rlt_time_add(m->d->overhead_ps, rlt_time_mul(m->d->tensor_ps, m->w->model->n_tensors));
    rlt__dp_forward(&m->k);
    backward(m);
    if (host > 0)
        rlt__dp_chain(&m->k, RLT_OP_HOST, m->host, "synchronize", host);
    rlt__dp_optimizer(&m->k);
    if (m->d->loss_each_batch && m->world != RLT_NONE)
        m->k.last = reduce(m, "loss", 4, negotiate(m, m->d->cycle_ps / 2, m->k.last));
}

static void make_rank(maker *m, uint32_t draw, uint32_t rank)
{
    rlt__dp_rank_begin(&m->k, rank);
    m->background = rlt_build_resource(m->b, rank, RLT_RES_HOST, "Horovod");
    m->network = rlt_build_resource(m->b, rank, RLT_RES_STREAM, "communication");
    m->copies = rlt_build_resource(m->b, rank, RLT_RES_STREAM, "fusion buffer");
    m->host = rlt_build_resource(m->b, rank, RLT_RES_HOST, "host");
    m->last_reduce = RLT_NONE;
    for (uint32_t i = 0; i < rlt_daso_batches(m->d); i++) {
        rlt__dp_batch_begin(&m->k, draw, i);
        make_batch(m);
    }
}

int rlt_horovod_program(const rlt_daso *d, const rlt_daso_work *w, uint32_t draw, rlt_program **out,
                        rlt_error *err)
{
    maker m = {.d = d, .w = w, .world = RLT_NONE};
    uint32_t n = d->nodes * d->gpus, *ranks = NULL;
    int rc = rlt__dp_check(d, w, 0, err);
    if (rc == 0)
        rc = make_sets(&m, err);
    if (rc == 0)
        rc = rlt__dp_check(d, w, 5 * (uint64_t)m.sets.n + 5, err);
    if (rc == 0)
        rc = rlt_builder_create(n, &m.b, err);
    if (rc == 0 && !(ranks = malloc(n * sizeof *ranks)))
        rc = rlt_nomem(err);
    if (rc == 0)
        rc = rlt__dp_names_make(&m.names, m.b, w->model, err);
    if (rc == 0) {
        for (uint32_t i = 0; i < n; i++)
            ranks[i] = i;
        if (n > 1)
            m.world = rlt_build_group(m.b, "world", ranks, n);
        m.k = (rlt_dp_rank){.d = d, .w = w, .names = &m.names, .b = m.b};
        for (uint32_t r = 0; r < n && !rlt_build_failed(m.b); r++)
            make_rank(&m, draw, r);
        rc = rlt_builder_finish(m.b, "horovod", out, err);
        m.b = NULL;
    }
    rlt_builder_free(m.b);
    rlt__dp_names_free(&m.names);
    free(m.sets.list);
    free(ranks);
    return rc;
}
