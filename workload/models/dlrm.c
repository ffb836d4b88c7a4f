/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DLRM (Naumov et al., arXiv 1906.00091): an MLP over dense features, embedding tables, the products of all
 * pairs of their vectors, and an MLP over these products.
 *
 * FLOPs: 2 in out per fully connected layer, and 2 n^2 d for the products of n vectors of width d, which are
 * computed as one matrix product. Example: n = 27 and d = 128 give 2 * 729 * 128 = 187 kFLOP per sample.
 *
 * Tables take the place of experts: each is on one of the ranks that share them, and the parameters of all
 * tables are expert parameters. The forward pass has one all-to-all, which brings vectors to the samples. The
 * backward pass has one, which returns gradients. Experts have two per pass, so ep_elements is half of tables
 * x d.
 */
#include <stddef.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"

typedef struct dlrm {
    uint32_t tables, pooling, dense, dim;
    rlt_counts rows, bottom, top;
} dlrm;

#define FIELD(name) RLT_FIELD(dlrm, name)
static const rlt_param known[] = {
    {"tables", .kind = RLT_PARAM_COUNT, FIELD(tables), .min = 1, .max = 4096, .preset = "26",
     .help = "number of embedding tables"},
    {"rows", .kind = RLT_PARAM_COUNTS, FIELD(rows), .min = 1, .max = UINT32_MAX, .preset = "1000000",
     .help = "rows of each table: one number for all, or one per table, such as 100-20-3"},
    {"dim", .kind = RLT_PARAM_COUNT, FIELD(dim), .min = 1, .max = 1 << 16, .preset = "128",
     .help = "width of the vectors in the tables"},
    {"pooling", .kind = RLT_PARAM_COUNT, FIELD(pooling), .min = 1, .max = 1 << 16, .preset = "1",
     .help = "rows that a sample looks up and sums per table"},
    {"dense", .kind = RLT_PARAM_COUNT, FIELD(dense), .min = 1, .max = 1 << 16, .preset = "13",
     .help = "number of dense (numeric) features"},
    {"bottom", .kind = RLT_PARAM_COUNTS, FIELD(bottom), .min = 1, .max = 1 << 20, .preset = "512-256-128",
     .help = "layer widths of the MLP over the dense features"},
    {"top", .kind = RLT_PARAM_COUNTS, FIELD(top), .min = 1, .max = 1 << 20, .preset = "1024-1024-512-256-1",
     .help = "layer widths of the MLP over the products of the vectors"},
    {0}};

static void tables(const dlrm *d, rlt__model_builder *b)
{
    double vectors = (double)d->tables * d->dim;
    rlt__model_layer(b, "embedding", NULL, RLT_WORK_LOOKUP);
    rlt_model_layer *l = b->layer;
    l->experts = d->tables;
    l->output_elements = (uint64_t)d->tables * d->dim;
    l->ep_elements = (l->output_elements + 1) / 2;
    l->moved_elements = vectors * (d->pooling + 1.0);
    for (uint32_t i = 0; i < d->tables; i++)
        rlt__model_tensor(b, (uint64_t)d->rows.items[d->rows.n > 1 ? i : 0] * d->dim, true);
}

static void mlp(rlt__model_builder *b, const char *stem, uint32_t in, const uint32_t *widths, uint32_t n)
{
    for (uint32_t i = 0; i < n; in = widths[i++]) {
        char part[16];
        snprintf(part, sizeof part, "%u", i + 1);
        rlt__model_layer(b, stem, part, RLT_WORK_MATMUL);
        b->layer->output_elements = widths[i];
        b->layer->saved_whole = in;
        b->layer->moved_elements = 2.0 * widths[i]; /* the activation reads and writes */
        rlt__model_matrix(b, 1, in, widths[i], true);
    }
}

static void interaction(const dlrm *d, rlt__model_builder *b, uint32_t out)
{
    double n = d->tables + 1.0;
    rlt__model_layer(b, "interaction", NULL, RLT_WORK_MATMUL);
    b->layer->output_elements = out;
    b->layer->saved_whole = n * d->dim;
    b->layer->moved_elements = n * d->dim + n * n + out;
    rlt__model_work(b, 2 * n * n * d->dim);
}

static int build(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    dlrm d = {.tables = 0};
    rlt__model_builder b = {.m = m, .err = err};
    int rc = rlt__model_set("dlrm", known, &d, settings, n, err);
    if (rc)
        return rc;
    if (d.rows.n > 1 && d.rows.n != d.tables)
        return rlt_fail(err, RLT_EUSAGE, "rows",
                        "got %u numbers for %u tables: expected one number, or one per table", d.rows.n,
                        d.tables);
    if (d.bottom.items[d.bottom.n - 1] != d.dim)
        return rlt_fail(err, RLT_EUSAGE, "bottom",
                        "ends in %u, but embedding vectors are %u wide: expected equal widths",
                        d.bottom.items[d.bottom.n - 1], d.dim);
    snprintf(m->sample, sizeof m->sample, "sample");
    m->tokens = 1;
    uint32_t out = d.dim + (d.tables + 1) * d.tables / 2;
    tables(&d, &b);
    mlp(&b, "bottom", d.dense, d.bottom.items, d.bottom.n);
    interaction(&d, &b, out);
    mlp(&b, "top", out, d.top.items, d.top.n);
    return b.rc;
}

const rlt_model_family rlt__model_dlrm = {
    .name = "dlrm",
    .summary = "recommendation: embedding tables, and MLPs before and after the products of their vectors",
    .parameters = known,
    .build = build,
};
