/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One epoch of DASO as a program. A rank has five resources beside its compute stream: a stream of
 * communication inside the node (NCCL), a stream of global all-reduces (MPI), copies to and from the device,
 * and the host. The host launches broadcasts tensor by tensor.
 */
#include <stdio.h>
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
    rlt_dp_buckets buckets;
    uint32_t *node_groups, *global_groups, world; /* RLT_NONE: a single member */
    uint32_t element_bytes, batches;
    uint64_t parameters;
    /* The rank being built: */
    rlt_dp_rank k;
    uint32_t node, member;                            /* member: local rank */
    uint32_t local, global, to_host, from_host, host; /* resources */
    /* operation at whose end the buffer that this rank sent last has returned, or RLT_NONE */
    uint32_t arrived;
} maker;

static uint32_t group_of(maker *m, const char *label, uint32_t first, uint32_t stride, uint32_t n,
                         uint32_t *members)
{
    if (n < 2)
        return RLT_NONE;
    for (uint32_t i = 0; i < n; i++)
        members[i] = first + i * stride;
    return rlt_build_group(m->b, label, members, n);
}

static int make_groups(maker *m, rlt_error *err)
{
    uint32_t nodes = m->d->nodes, gpus = m->d->gpus;
    uint32_t *members = malloc((size_t)nodes * gpus * sizeof *members);
    m->node_groups = malloc(nodes * sizeof *m->node_groups);
    m->global_groups = malloc(gpus * sizeof *m->global_groups);
    if (!members || !m->node_groups || !m->global_groups) {
        free(members);
        return rlt_nomem(err);
    }
    char label[32];
    for (uint32_t i = 0; i < nodes; i++) {
        snprintf(label, sizeof label, "node %u", i);
        m->node_groups[i] = group_of(m, label, i * gpus, 1, gpus, members);
    }
    for (uint32_t i = 0; i < gpus; i++) {
        snprintf(label, sizeof label, "global %u", i);
        m->global_groups[i] = group_of(m, label, i, gpus, nodes, members);
    }
    m->world = group_of(m, "world", 0, 1, nodes * gpus, members);
    free(members);
    return 0;
}

/* Adds the backward pass. Each bucket is averaged in the node once it is full. */
static void backward(maker *m, bool local_sync)
{
    uint32_t group = local_sync ? m->node_groups[m->node] : RLT_NONE, next = 0, reduced = RLT_NONE;
    for (uint32_t i = m->w->model->n_layers; i-- > 0;) {
        uint32_t op = rlt__dp_backward(&m->k, i);
        for (; group != RLT_NONE && next < m->buckets.n && m->buckets.list[next].layer == i; next++)
            reduced = rlt__dp_collective(&m->k, RLT_ALL_REDUCE, m->local, "local all_reduce", group, 0,
                                         m->buckets.list[next].elements * 4, op);
    }
    rlt__dp_wait(&m->k, reduced); /* reductions end in order */
}

static rlt_time at_rate(uint64_t bytes, uint64_t rate_Bps)
{
    return rate_Bps ? rlt_transfer_time(bytes, rate_Bps) : 0;
}

/* Sends one chunk: staged through the host and back if buffers are staged, and added up there if that costs
 * time. */
static uint32_t send_chunk(maker *m, uint64_t bytes, uint32_t packed)
{
    const rlt_daso *d = m->d;
    rlt_time copy = at_rate(bytes, d->staging_Bps), add = at_rate(bytes, d->reduce_Bps);
    uint32_t at = packed;
    if (copy > 0)
        at = rlt__dp_aside(&m->k, RLT_OP_MEMORY, m->to_host, "to host", copy, at);
    at = rlt__dp_collective(&m->k, RLT_ALL_REDUCE, m->global, "global all_reduce",
                            m->global_groups[m->member], 0, bytes, at);
    if (add > 0)
        at = rlt__dp_aside(&m->k, RLT_OP_HOST, m->host, "add up", add, at);
    if (copy > 0)
        at = rlt__dp_aside(&m->k, RLT_OP_MEMORY, m->from_host, "from host", copy, at);
    return at;
}

/* Sends the parameters. Returns the operation at whose end the averaged parameters are on the device. */
static uint32_t send(maker *m)
{
    uint32_t packed = rlt__dp_chain(&m->k, RLT_OP_MEMORY, m->k.compute, "pack",
                                    rlt__dp_moved(m->d, m->parameters, 4 + m->element_bytes));
    uint32_t at = RLT_NONE;
    if (m->global_groups[m->member] == RLT_NONE)
        return RLT_NONE;
    for (uint32_t i = 0; i < rlt_daso_chunks(m->d, m->parameters); i++)
        at = send_chunk(m, rlt_daso_chunk(m->d, m->parameters, i) * m->element_bytes, packed);
    return at;
}

/* Broadcasts the parameters of a local rank to the others of its node. */
static void broadcast(maker *m, uint32_t root)
{
    const rlt_model *model = m->w->model;
    uint32_t group = m->node_groups[m->node], after = m->k.last, launched = RLT_NONE;
    if (group == RLT_NONE)
        return;
    uint32_t parts = m->d->broadcast_each ? model->n_tensors : 1;
    rlt_time launch = rlt_time_mul(m->d->launch_ps, m->d->broadcast_each ? 1 : model->n_tensors);
    for (uint32_t i = 0; i < parts; i++) {
        uint64_t elements = m->d->broadcast_each ? model->tensors[i].elements : m->parameters;
        if (launch > 0)
            launched = rlt__dp_aside(&m->k, RLT_OP_HOST, m->host, "launch broadcast", launch,
                                     launched == RLT_NONE ? after : launched);
        uint32_t op = rlt__dp_collective(&m->k, RLT_BROADCAST, m->local, "local broadcast", group, root,
                                         elements * 4, after);
        if (m->d->broadcast_each && launched != RLT_NONE)
            rlt_build_dep(m->b, op, launched);
        m->k.last = op;
    }
    rlt__dp_wait(&m->k,
                 m->d->broadcast_each ? RLT_NONE : launched); /* one transfer, launched tensor by tensor */
}

/* Merges: 12 bytes per parameter, since both versions are read and the mean is written. */
static void merge(maker *m)
{
    rlt__dp_wait(&m->k, m->arrived);
    rlt__dp_chain(&m->k, RLT_OP_MEMORY, m->k.compute, "merge", rlt__dp_moved(m->d, m->parameters, 12));
    m->arrived = RLT_NONE;
}

static void synchronise(maker *m, const rlt_daso_batch *s)
{
    uint32_t sent = RLT_NONE;
    if (s->sender == m->member)
        sent = send(m);
    if (s->merger == m->member)
        merge(m);
    if (s->relay != RLT_NONE)
        broadcast(m, s->relay);
    if (!s->blocking) {
        if (s->sender == m->member)
            m->arrived = sent;
        return;
    }
    if (s->sender == m->member) {
        rlt__dp_wait(&m->k, sent);
        rlt__dp_chain(&m->k, RLT_OP_MEMORY, m->k.compute, "unpack",
                      rlt__dp_moved(m->d, m->parameters, 4 + m->element_bytes));
    }
    broadcast(m, s->sender);
}

static void make_rank(maker *m, rlt_daso_phase phase, uint32_t draw, uint32_t rank)
{
    rlt_daso_epoch e = rlt_daso_epoch_begin(m->d, phase);
    rlt_daso_batch s;
    rlt__dp_rank_begin(&m->k, rank);
    m->node = rank / m->d->gpus;
    m->member = rank % m->d->gpus;
    m->local = rlt_build_resource(m->b, rank, RLT_RES_STREAM, "local communication");
    m->global = rlt_build_resource(m->b, rank, RLT_RES_STREAM, "global communication");
    m->to_host = rlt_build_resource(m->b, rank, RLT_RES_COPY, "copy to host");
    m->from_host = rlt_build_resource(m->b, rank, RLT_RES_COPY, "copy from host");
    m->host = rlt_build_resource(m->b, rank, RLT_RES_HOST, "host");
    m->arrived = RLT_NONE;
    while (rlt_daso_epoch_next(&e, &s)) {
        rlt__dp_batch_begin(&m->k, draw, s.batch);
        rlt__dp_forward(&m->k);
        backward(m, s.local_sync);
        rlt__dp_optimizer(&m->k);
        synchronise(m, &s);
    }
    if (m->world != RLT_NONE) {
        uint32_t op = rlt__dp_collective(&m->k, RLT_ALL_REDUCE, m->global, "loss of the epoch", m->world, 0,
                                         4, m->k.last);
        for (uint32_t i = 0; i < m->k.n_waits; i++)
            rlt_build_dep(m->b, op, m->k.waits[i]);
    }
}

int rlt_daso_program(const rlt_daso *d, const rlt_daso_work *w, rlt_daso_phase phase, uint32_t draw,
                     rlt_program **out, rlt_error *err)
{
    maker m = {.d = d, .w = w};
    uint64_t per_broadcast = d->broadcast_each ? 2 * (uint64_t)w->model->n_tensors : 2;
    int rc = rlt__ddp_buckets(d, w, &m.buckets, err);
    if (rc == 0)
        rc = rlt__dp_check(d, w, m.buckets.n + 2 * per_broadcast + 8, err);
    if (rc == 0)
        rc = rlt_builder_create(d->nodes * d->gpus, &m.b, err);
    if (rc == 0)
        rc = make_groups(&m, err);
    if (rc == 0)
        rc = rlt__dp_names_make(&m.names, m.b, w->model, err);
    if (rc == 0) {
        m.parameters = rlt__dp_parameters(w->model);
        m.element_bytes = rlt_daso_element_bytes(d, phase);
        m.k = (rlt_dp_rank){.d = d, .w = w, .names = &m.names, .b = m.b};
        for (uint32_t r = 0; r < d->nodes * d->gpus && !rlt_build_failed(m.b); r++)
            make_rank(&m, phase, draw, r);
        rc = rlt_builder_finish(m.b, "daso", out, err);
        m.b = NULL;
    }
    rlt_builder_free(m.b);
    rlt__dp_names_free(&m.names);
    free(m.buckets.list);
    free(m.node_groups);
    free(m.global_groups);
    return rc;
}
