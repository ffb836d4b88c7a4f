/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations of a rank, and its gradients in buckets. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "workload/daso/daso.h"
#include "workload/daso/internal.h"
#include "workload/models/model.h"
#include "workload/program/program.h"

double rlt__dp_jitter(double cv, uint64_t seed, uint32_t rank, uint32_t draw, uint32_t batch)
{
    return rlt_random_lognormal(seed, rank, RLT_DP_JITTER, (uint64_t)draw << 32 | batch, cv);
}

static rlt_time to_time(double ps)
{
    ps += 0.5;
    return ps < (double)RLT_TIME_MAX ? (rlt_time)ps : RLT_TIME_MAX;
}

rlt_time rlt__dp_moved(const rlt_daso *d, uint64_t elements, uint32_t bytes_each)
{
    return rlt_transfer_time(elements * bytes_each, d->memory_Bps);
}

uint64_t rlt__dp_parameters(const rlt_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_tensors; i++)
        n += m->tensors[i].elements;
    return n;
}

void rlt_daso_spread(const rlt_model *model, rlt_time batch_ps, rlt_time *forward_ps, rlt_time *backward_ps)
{
    double flop = 0, before = 0;
    for (uint32_t i = 0; i < model->n_layers; i++)
        flop += model->layers[i].forward_flop + model->layers[i].backward_flop;
    /* Differences of rounded running sums: their total is exact. */
    rlt_time at = 0;
    for (uint32_t i = 0; i < 2 * model->n_layers; i++) {
        const rlt_model_layer *l = &model->layers[i / 2];
        before += i % 2 ? l->backward_flop : l->forward_flop;
        rlt_time end = flop > 0 ? to_time((double)batch_ps * (before / flop)) : 0;
        *(i % 2 ? &backward_ps[i / 2] : &forward_ps[i / 2]) = end - at;
        at = end;
    }
}

int rlt__bucket_add(rlt_dp_buckets *list, rlt_dp_bucket bucket, rlt_error *err)
{
    int rc = rlt_grow(&list->list, &list->room, sizeof *list->list, (uint64_t)list->n + 1,
                      RLT_MAX_MODEL_LAYERS, "buckets", err);
    if (rc == 0)
        list->list[list->n++] = bucket;
    return rc;
}

int rlt__ddp_buckets(const rlt_daso *d, const rlt_daso_work *w, rlt_dp_buckets *out, rlt_error *err)
{
    const rlt_model *m = w->model;
    rlt_dp_bucket open = {0};
    int rc = 0;
    for (uint32_t i = m->n_tensors; i-- > 0 && rc == 0;) {
        open.elements += m->tensors[i].elements;
        open.layer = m->tensors[i].layer;
        open.tensors++;
        if (open.elements * 4 < (out->n ? d->bucket_bytes : d->first_bucket_bytes) && i > 0)
            continue;
        rc = rlt__bucket_add(out, open, err);
        open = (rlt_dp_bucket){0};
    }
    return rc;
}

static int check_model(const rlt_daso_work *w, rlt_error *err)
{
    const rlt_model *m = w->model;
    uint64_t left = (UINT64_C(1) << 48) - 1;
    if (!m->n_layers || !m->n_tensors)
        return rlt_fail(err, RLT_ESCHEMA, m->name,
                        "the model has no layers or no tensors: expected at least one of each");
    for (uint32_t i = 0; i < m->n_layers; i++)
        if (w->forward_ps[i] < 0 || w->backward_ps[i] < 0 || w->forward_ps[i] > RLT_TIME_MAX ||
            w->backward_ps[i] > RLT_TIME_MAX)
            return rlt_fail(err, RLT_ERANGE, m->name,
                            "layer %" PRIu32 " has a time outside the range from 0 to 26 days", i);
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        if (m->tensors[i].layer >= m->n_layers || (i && m->tensors[i].layer < m->tensors[i - 1].layer))
            return rlt_fail(err, RLT_ESCHEMA, m->name,
                            "tensor %" PRIu32
                            " follows a tensor of a later layer, or names no layer: expected tensors in the "
                            "order of layers",
                            i);
        if (m->tensors[i].elements > left)
            return rlt_fail(err, RLT_ERANGE, m->name, "the model has more than 2^48 parameters, the limit");
        left -= m->tensors[i].elements;
    }
    return 0;
}

int rlt__dp_check(const rlt_daso *d, const rlt_daso_work *w, uint64_t others, rlt_error *err)
{
    int rc = rlt_daso_check(d, err);
    if (rc == 0)
        rc = check_model(w, err);
    if (rc < 0)
        return rc;
    uint64_t rank_batches = (uint64_t)d->nodes * d->gpus * rlt_daso_batches(d); /* below 2^24 * 2^16 */
    uint64_t each = 2 * (uint64_t)w->model->n_layers + others;
    if (rank_batches > RLT_MAX_OPS / each)
        return rlt_fail(err, RLT_ERANGE, "daso",
                        "%" PRIu64 " operations per batch x %" PRIu64
                        " batches of all ranks exceed %d operations: lower batches, nodes or gpus",
                        each, rank_batches, (int)RLT_MAX_OPS);
    return 0;
}

int rlt__dp_names_make(rlt_dp_names *n, rlt_builder *b, const rlt_model *m, rlt_error *err)
{
    n->forward = malloc(m->n_layers * sizeof *n->forward);
    n->backward = malloc(m->n_layers * sizeof *n->backward);
    if (!n->forward || !n->backward)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < m->n_layers; i++) {
        char name[RLT_MODEL_NAME + 16];
        int length = snprintf(name, sizeof name, "forward %.63s", m->layers[i].name);
        n->forward[i] = rlt_build_string(b, name, (size_t)length);
        length = snprintf(name, sizeof name, "backward %.63s", m->layers[i].name);
        n->backward[i] = rlt_build_string(b, name, (size_t)length);
    }
    return 0;
}

void rlt__dp_names_free(rlt_dp_names *n)
{
    free(n->forward);
    free(n->backward);
}

void rlt__dp_rank_begin(rlt_dp_rank *k, uint32_t rank)
{
    k->rank = rank;
    k->last = RLT_NONE;
    k->n_waits = 0;
    k->compute = rlt_build_resource(k->b, rank, RLT_RES_STREAM, "compute");
}

void rlt__dp_batch_begin(rlt_dp_rank *k, uint32_t draw, uint32_t b)
{
    k->step = (uint16_t)b;
    k->factor = rlt__dp_jitter(k->d->jitter, k->d->seed, k->rank, draw, b);
}

void rlt__dp_wait(rlt_dp_rank *k, uint32_t op)
{
    if (op != RLT_NONE)
        k->waits[k->n_waits++] = op;
}

static uint32_t build(rlt_dp_rank *k, rlt_op_desc *d, uint32_t resource, uint32_t on)
{
    d->resource = resource;
    d->step = k->step;
    uint32_t op = rlt_build_op(k->b, d);
    if (on != RLT_NONE)
        rlt_build_dep(k->b, op, on);
    return op;
}

static uint32_t chain_named(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, uint32_t name,
                            rlt_time duration_ps)
{
    rlt_op_desc d = rlt_op_desc_init(kind, k->rank);
    d.name = name;
    d.duration_ps = duration_ps;
    k->last = build(k, &d, resource, k->last);
    for (uint32_t i = 0; i < k->n_waits; i++)
        rlt_build_dep(k->b, k->last, k->waits[i]);
    k->n_waits = 0;
    return k->last;
}

uint32_t rlt__dp_chain(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, const char *name,
                       rlt_time duration_ps)
{
    return chain_named(k, kind, resource, rlt_build_string(k->b, name, strlen(name)), duration_ps);
}

uint32_t rlt__dp_aside(rlt_dp_rank *k, rlt_op_kind kind, uint32_t resource, const char *name,
                       rlt_time duration_ps, uint32_t on)
{
    rlt_op_desc d = rlt_op_desc_init(kind, k->rank);
    d.name = rlt_build_string(k->b, name, strlen(name));
    d.duration_ps = duration_ps;
    return build(k, &d, resource, on);
}

uint32_t rlt__dp_collective(rlt_dp_rank *k, rlt_coll_kind kind, uint32_t resource, const char *name,
                            uint32_t group, uint32_t root, uint64_t bytes, uint32_t on)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, k->rank);
    d.name = rlt_build_string(k->b, name, strlen(name));
    d.coll = kind;
    d.group = group;
    d.root = root;
    d.bytes = bytes;
    return build(k, &d, resource, on);
}

static rlt_time varied(const rlt_dp_rank *k, rlt_time t)
{
    return k->factor == 1 ? t : to_time((double)t * k->factor);
}

void rlt__dp_forward(rlt_dp_rank *k)
{
    for (uint32_t i = 0; i < k->w->model->n_layers; i++)
        chain_named(k, RLT_OP_COMPUTE, k->compute, k->names->forward[i], varied(k, k->w->forward_ps[i]));
}

uint32_t rlt__dp_backward(rlt_dp_rank *k, uint32_t layer)
{
    return chain_named(k, RLT_OP_COMPUTE, k->compute, k->names->backward[layer],
                       varied(k, k->w->backward_ps[layer]));
}

void rlt__dp_optimizer(rlt_dp_rank *k)
{
    rlt_time t = rlt__dp_moved(k->d, rlt__dp_parameters(k->w->model), k->d->optimizer_bytes);
    rlt__dp_chain(k, RLT_OP_MEMORY, k->compute, "optimizer step", t);
}
