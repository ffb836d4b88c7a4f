/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State of optimizers in mixed precision: a master weight of 4 bytes, and what the method keeps per
 * parameter. Adafactor keeps a sum per row and one per column of each matrix in place of a second moment, m +
 * n values beside m n parameters. They are not counted, nor are the scales of 8-bit states, 8 bytes per 2048
 * parameters.
 *
 * Muon orthogonalises the momentum of each matrix by five Newton-Schulz iterations. With k the smaller and l
 * the larger side, X X^T takes 2 k^2 l FLOPs, its square 2 k^3, and their product with X 2 k^2 l. Example: a
 * matrix of 4096 x 4096 takes 5 * 6 * 4096^3 = 2.06 TFLOP. Embeddings, logits and vectors are stepped without
 * products, and count with Muon's bytes.
 */
#include "workload/training/optimizers.h"

static const rlt__optimizer optimizers[] = {
    {"adam", 12, 0, "Rajbhandari et al., arXiv 1910.02054, section 3.1: weight, momentum and variance"},
    {"adamw8bit", 6, 0, "Dettmers et al., arXiv 2110.02861: momentum and variance of one byte each"},
    {"muon", 8, 5, "Jordan, Muon, 2024, and Liu et al., arXiv 2502.16982, section 2: weight and momentum"},
    {"adafactor", 4, 0, "Shazeer and Stern, arXiv 1804.04235, section 4: without momentum"},
    {"sgd", 4, 0, "weight"},
    {"sgd-momentum", 8, 0, "weight and momentum"},
    {"lion", 8, 0, "Chen et al., arXiv 2302.06675: weight and momentum"},
};
enum { N_OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

const rlt__optimizer *rlt__optimizer_at(uint32_t i)
{
    return &optimizers[i];
}

const char *rlt__optimizer_word(uint32_t i)
{
    return i < N_OPTIMIZERS ? optimizers[i].name : 0;
}
