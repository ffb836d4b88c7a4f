/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mamba-2 layers (Dao and Gu, arXiv 2405.21060) of hybrids (Nemotron-H, arXiv 2504.03624).
 *
 * With width h, H heads of width P, states of width N in G groups, the inner width is d = H P. One matrix
 * makes gate, values, both projections of the state, and a step per head: h (2 d + 2 G N + H). A convolution
 * over k tokens follows, of d + 2 G N channels. Another matrix, d h, leads back.
 *
 * The state-space computation works in chunks of Q tokens (section 6 of the paper). A token takes 2 Q N G
 * FLOPs for the products of both projections, 2 Q P H for what its chunk gives, and 2 N P H each for the
 * state of its chunk and for what earlier states give. Products within a chunk count in full. Example: H =
 * 128, P = 64, N = 128, G = 8 and Q = 128 take 6.6 MFLOP per token.
 */
#include "workload/models/internal.h"
#include "workload/models/model.h"
#include "workload/models/transformer.h"

static rlt_model_layer *row(const rlt__transformer *t, rlt__model_builder *b, const char *stem,
                            const char *part, rlt_work_kind work)
{
    rlt__model_layer(b, stem, part, work);
    b->layer->output_elements = (uint64_t)t->sequence * t->hidden;
    b->layer->sharded = true;
    return b->layer;
}

static void scan(const rlt__transformer *t, rlt__model_builder *b, const char *stem)
{
    uint64_t heads = t->mamba_heads, inner = heads * t->mamba_head, groups = t->mamba_groups,
             mixed = inner + 2 * groups * t->mamba_state;
    double state = t->mamba_state, chunk = t->mamba_chunk < t->sequence ? t->mamba_chunk : t->sequence;
    double token = 2 * chunk * state * (double)groups + (2 * chunk + 4 * state) * (double)inner;
    rlt_model_layer *l = row(t, b, stem, "state space", RLT_WORK_ATTENTION);
    l->output_elements = t->sequence * inner;
    /* The convolution's input and result, the steps, and the sums that the gate multiplies. */
    l->saved_split = t->s * (double)(2 * mixed + heads + inner);
    l->moved_elements = t->s * (double)(3 * mixed + 2 * heads + inner);
    rlt__model_tensor(b, mixed * t->mamba_conv, false);
    rlt__model_tensor(b, mixed, false);
    for (int i = 0; i < 3; i++) /* decay, bias of the step, skip connection */
        rlt__model_tensor(b, heads, false);
    rlt__model_work(b, t->s * (token + 2.0 * t->mamba_conv * (double)mixed));
}

void rlt__mamba(const rlt__transformer *t, rlt__model_builder *b, const char *stem)
{
    uint64_t h = t->hidden, heads = t->mamba_heads, inner = heads * t->mamba_head,
             states = 2ull * t->mamba_groups * t->mamba_state, into = 2 * inner + states + heads;
    double sh = t->s * t->hidden;
    scan(t, b, stem);
    rlt_model_layer *l = row(t, b, stem, "mamba", RLT_WORK_MATMUL);
    l->tp_elements = l->output_elements;
    l->saved_whole = l->inputs_whole = sh;
    l->saved_split = t->s * (double)(2 * inner); /* the gate, and the normalised result */
    l->inputs_split = t->s * (double)inner;
    l->moved_elements = 3 * t->s * (double)inner;
    rlt__model_matrix(b, t->s, h, into, false);
    rlt__model_tensor(b, inner, false); /* norm in front of the last matrix */
    rlt__model_matrix_split(b, t->s, inner, h, false, RLT_SPLIT_IN);
}
