/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A data-parallel transformer as a program. Per step and rank: forward through the layers and the output
 * projection, backward in reverse, gradients all-reduced bucket by bucket while the backward pass goes on
 * (PyTorch DDP), and an optimiser step bound by memory.
 *
 * FLOPs: Narayanan et al., arXiv 2104.04473, section 5.1 and appendix: forward 24 b s h^2 (1 + s / 6h) a
 * layer and 2 b s h V for the logits; the backward pass takes twice as many. Parameters: 12 h^2 + 13 h a
 * layer, (V + s) h of embeddings (shared with the output projection), 2 h of the last normalisation.
 * Optimiser: Adam in mixed precision reads and writes 32-bit weights and two moments (24 B), reads a gradient
 * and writes a weight of bytes_per_gradient each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/models/generator.h"
#include "workload/program/program.h"

rlt_transformer rlt_transformer_default(void)
{
    return (rlt_transformer){.ranks = 8,
                             .layers = 12,
                             .hidden = 768,
                             .heads = 12,
                             .sequence = 1024,
                             .vocabulary = 50257,
                             .microbatch = 8,
                             .steps = 1,
                             .bytes_per_gradient = 2,
                             .bucket_bytes = (uint64_t)25 << 20,
                             .peak_Flops = 400000000000000u,
                             .memory_Bps = 3350000000000u};
}

int rlt_transformer_set(rlt_transformer *m, const char *name, const char *value, rlt_error *err)
{
    const struct {
        const char *name;
        uint32_t *field;
        uint64_t max;
    } counts[] = {{"ranks", &m->ranks, RLT_MAX_RANKS},     {"layers", &m->layers, 4096},
                  {"hidden", &m->hidden, 1 << 20},         {"heads", &m->heads, 1 << 16},
                  {"sequence", &m->sequence, 1 << 24},     {"vocabulary", &m->vocabulary, 1 << 26},
                  {"microbatch", &m->microbatch, 1 << 20}, {"steps", &m->steps, 60000},
                  {"gradient", &m->bytes_per_gradient, 8}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t n;
        if (strcmp(name, counts[i].name) != 0)
            continue;
        int rc = rlt_parse_count(value, &n, name, err);
        if (rc < 0)
            return rc;
        if (n < 1 || n > counts[i].max)
            return rlt_fail(err, RLT_ERANGE, name, "expected 1 to %llu, got '%s'",
                            (unsigned long long)counts[i].max, value);
        *counts[i].field = (uint32_t)n;
        return 0;
    }
    if (strcmp(name, "bucket") == 0)
        return rlt_parse_size(value, &m->bucket_bytes, name, err);
    if (strcmp(name, "peak") == 0)
        return rlt_parse_flops(value, &m->peak_Flops, name, err);
    if (strcmp(name, "memory") == 0)
        return rlt_parse_rate(value, &m->memory_Bps, name, err);
    return rlt_fail(err, RLT_EUSAGE, name,
                    "unknown setting; a transformer has ranks, layers, hidden, heads, sequence, vocabulary, "
                    "microbatch, steps, "
                    "gradient (bytes), bucket (size), peak (FLOP/s achieved), memory (rate)");
}

static uint64_t layer_parameters(const rlt_transformer *m)
{
    uint64_t h = m->hidden;
    return 12 * h * h + 13 * h;
}

static uint64_t embedding_parameters(const rlt_transformer *m)
{
    return ((uint64_t)m->vocabulary + m->sequence) * m->hidden + 2 * (uint64_t)m->hidden;
}

uint64_t rlt_transformer_parameters(const rlt_transformer *m)
{
    return m->layers * layer_parameters(m) + embedding_parameters(m);
}

/* Picoseconds that `flop` take at the achieved rate. */
static rlt_time work_ps(const rlt_transformer *m, double flop)
{
    double t = flop / (double)m->peak_Flops * 1e12 + 0.5;
    return t < (double)RLT_TIME_MAX ? (rlt_time)t : RLT_TIME_MAX;
}

typedef struct rank_builder {
    const rlt_transformer *m;
    rlt_builder *b;
    uint32_t rank, compute, network, world;
    uint32_t last;      /* operation that the next compute operation follows */
    uint32_t last_comm; /* the latest all-reduce of this step: they end in order */
    uint64_t pending_bytes;
    uint32_t bucket;
    uint16_t step;
} rank_builder;

static uint32_t name_of(rank_builder *k, const char *what, uint32_t i)
{
    char name[64];
    int n = snprintf(name, sizeof name, "%s %u", what, i);
    return rlt_build_string(k->b, name, (size_t)n);
}

static void compute(rank_builder *k, rlt_op_kind kind, const char *what, uint32_t i, rlt_time duration)
{
    rlt_op_desc d = rlt_op_desc_init(kind, k->rank);
    d.resource = k->compute;
    d.duration_ps = duration;
    d.name = name_of(k, what, i);
    d.step = k->step;
    uint32_t op = rlt_build_op(k->b, &d);
    if (k->last != RLT_NONE)
        rlt_build_dep(k->b, op, k->last);
    k->last = op;
}

/* All-reduces what has gathered; depends on the operation that made the last of it. */
static void reduce_bucket(rank_builder *k)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, k->rank);
    if (!k->pending_bytes || k->m->ranks < 2)
        return;
    d.resource = k->network;
    d.coll = RLT_ALL_REDUCE;
    d.group = k->world;
    d.bytes = k->pending_bytes;
    d.name = name_of(k, "all_reduce bucket", k->bucket++);
    d.step = k->step;
    k->last_comm = rlt_build_op(k->b, &d);
    rlt_build_dep(k->b, k->last_comm, k->last);
    k->pending_bytes = 0;
}

static void gradients(rank_builder *k, uint64_t parameters)
{
    k->pending_bytes += parameters * k->m->bytes_per_gradient;
    if (k->pending_bytes >= k->m->bucket_bytes)
        reduce_bucket(k);
}

static void one_step(rank_builder *k)
{
    const rlt_transformer *m = k->m;
    double tokens = (double)m->microbatch * m->sequence, h = m->hidden;
    double layer = 24 * tokens * h * h * (1 + (double)m->sequence / (6 * h)),
           logits = 2 * tokens * h * m->vocabulary;
    k->bucket = 0;
    k->last_comm = RLT_NONE;
    for (uint32_t i = 0; i < m->layers; i++)
        compute(k, RLT_OP_COMPUTE, "forward layer", i, work_ps(m, layer));
    compute(k, RLT_OP_COMPUTE, "forward logits", k->step, work_ps(m, logits));
    compute(k, RLT_OP_COMPUTE, "backward logits", k->step, work_ps(m, 2 * logits));
    for (uint32_t i = m->layers; i-- > 0;) {
        compute(k, RLT_OP_COMPUTE, "backward layer", i, work_ps(m, 2 * layer));
        gradients(k, layer_parameters(m));
    }
    gradients(k, embedding_parameters(m));
    reduce_bucket(k);
    double moved = (double)rlt_transformer_parameters(m) * (24 + 2.0 * m->bytes_per_gradient);
    double ps = moved / (double)m->memory_Bps * 1e12 + 0.5;
    compute(k, RLT_OP_MEMORY, "optimizer step", k->step,
            ps < (double)RLT_TIME_MAX ? (rlt_time)ps : RLT_TIME_MAX);
    if (k->last_comm != RLT_NONE)
        rlt_build_dep(k->b, k->last, k->last_comm);
}

static int check(const rlt_transformer *m, rlt_error *err)
{
    if (!m->ranks || !m->layers || !m->hidden || !m->sequence || !m->microbatch || !m->steps ||
        !m->peak_Flops || !m->memory_Bps || !m->bytes_per_gradient || m->steps > UINT16_MAX)
        return rlt_fail(err, RLT_ERANGE, "transformer", "every count and rate must be above 0");
    if (m->heads && m->hidden % m->heads)
        return rlt_fail(err, RLT_ESCHEMA, "transformer", "hidden %u is not a multiple of %u heads", m->hidden,
                        m->heads);
    if ((uint64_t)m->ranks * m->steps * (2 * m->layers + 4) > RLT_MAX_OPS)
        return rlt_fail(err, RLT_ERANGE, "transformer", "more than %d operations", (int)RLT_MAX_OPS);
    return 0;
}

int rlt_transformer_program(const rlt_transformer *m, rlt_program **out, rlt_error *err)
{
    rlt_builder *b = NULL;
    uint32_t *ranks = NULL;
    int rc = check(m, err);
    if (rc < 0 || (rc = rlt_builder_create(m->ranks, &b, err)) < 0)
        return rc;
    ranks = malloc(m->ranks * sizeof *ranks);
    if (!ranks) {
        rlt_builder_free(b);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < m->ranks; i++)
        ranks[i] = i;
    uint32_t world = m->ranks > 1 ? rlt_build_group(b, "dp", ranks, m->ranks) : RLT_NONE;
    free(ranks);
    for (uint32_t r = 0; r < m->ranks && !rlt_build_failed(b); r++) {
        rank_builder k = {.m = m, .b = b, .rank = r, .world = world, .last = RLT_NONE, .last_comm = RLT_NONE};
        k.compute = rlt_build_resource(b, r, RLT_RES_STREAM, "compute stream");
        k.network = rlt_build_resource(b, r, RLT_RES_STREAM, "communication stream");
        for (uint32_t s = 0; s < m->steps; s++) {
            k.step = (uint16_t)s;
            one_step(&k);
        }
    }
    rlt_build_layers(b, m->layers);
    return rlt_builder_finish(b, "transformer", out, err);
}
