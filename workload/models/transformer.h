/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a transformer, and its blocks, for the families that consist of them. Internal to models. */
#ifndef RLT_WORKLOAD_MODELS_TRANSFORMER_H
#define RLT_WORKLOAD_MODELS_TRANSFORMER_H

#include <stdint.h>

#include "sim/base/error.h"
#include "workload/models/internal.h"

typedef struct rlt__transformer {
    uint32_t layers, hidden, heads, kv_heads, head, value_head, ffn, gated, vocabulary, sequence;
    uint32_t tied, learned, positions, bias, norm, post_norms, embedding_norm, qk_norm, sinks, dropout, fused;
    uint32_t window, window_every, full_every, experts, top_k, expert_ffn, shared, shared_ffn, shared_gate;
    uint32_t every, dense_first, q_rank, kv_rank, rotary, mtp, encoder;
    uint32_t mamba_heads, mamba_head, mamba_state, mamba_groups, mamba_conv, mamba_chunk;
    uint32_t unweighted_norms; /* DiT: norms of blocks have no weights */
    char pattern[256];         /* kind of each block; empty: attention and MLP in each */
    /* Total widths of all heads: queries, keys, values, and the result of attention. */
    uint64_t q, k, v, attended;
    double s;
} rlt__transformer;

/* Reads and checks settings of the transformer family, and derives the widths. */
int rlt__transformer_settings(rlt__transformer *t, const char *const *settings, uint32_t n,
                              rlt_error *err) RLT_MUST_USE;
/* Adds the next block: norms, scores, attention, and an MLP or experts. */
void rlt__transformer_block(const rlt__transformer *t, rlt__model_builder *b, const char *stem,
                            uint32_t index);
/* Adds a Mamba-2 layer to the current block (workload/models/mamba.c). */
void rlt__mamba(const rlt__transformer *t, rlt__model_builder *b, const char *stem);

#endif
