/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformers: GPT and its variants (grouped keys, gated MLPs, experts, latent attention), and BERT.
 *
 * FLOPs (Narayanan et al., arXiv 2104.04473): with s tokens, width h and vocabulary V, a sequence takes 24 s
 * h^2 + 4 s^2 h per layer and 2 s h V for the logits. Example: h = 4096 and s = 2048 give 0.82 + 0.07 = 0.89
 * TFLOP per layer. Other shapes count 2 s in out per matrix. Scores count in full: neither does a causal mask
 * halve them, nor does the backward pass count the recomputation in a fused kernel. Experts: top_k per token,
 * routed evenly.
 *
 * Kept for the backward pass (Korthikanti et al., arXiv 2205.05198, section 4), in elements of 2 bytes. A
 * dropout mask takes half an element per value; logits, kept in 32 bits, take two. A standard layer keeps 5 s
 * h whole, 12 s h split and 2.5 a s^2 scores, for a heads. In bytes with t tensor-parallel ranks this is
 * theirs: s h (10 + 24 / t + 5 a s / (h t)). Fused attention (Dao et al., arXiv 2205.14135) keeps the
 * logarithm of a sum per row of scores instead. A gated MLP keeps gate, up and their product, as
 * Megatron-LM's fused SwiGLU does.
 *
 * recompute=products keeps the input of a block, the result of attention and every second matrix product, in
 * the order queries, keys, values, output, MLP (torchtitan's selective checkpointing of operations).
 *
 * In the backward pass of a layer there are gradients of scores before and after the softmax, or of queries,
 * keys and values if attention is fused; in an MLP, of all that it keeps.
 *
 * The all-reduce of the gradient of the logits' input is accounted to the embedding, whose own all-reduce is
 * in the forward pass only. Each pass then has one of the two.
 */
#include <stddef.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"

typedef struct transformer {
    uint32_t layers, hidden, heads, kv_heads, head, value_head, ffn, gated, vocabulary, sequence;
    uint32_t tied, learned, bias, norm, qk_norm, sinks, dropout, fused, window, window_every;
    uint32_t experts, top_k, expert_ffn, shared, every, dense_first, q_rank, kv_rank, rotary, mtp, encoder;
    /* Total widths of all heads: queries, keys, values, and the result of attention. */
    uint64_t q, k, v, attended;
    double s;
} transformer;

enum { NO_BIAS, ALL_BIAS, QKV_BIAS };
enum { NORM_LAYER, NORM_RMS };

#define FIELD(name) RLT_FIELD(transformer, name)
static const char no_yes[] = "no|yes";
static const rlt_param known[] = {
    {"layers", .kind = RLT_PARAM_COUNT, FIELD(layers), .min = 1, .max = 4096, .preset = "12",
     .help = "number of blocks"},
    {"hidden", .kind = RLT_PARAM_COUNT, FIELD(hidden), .min = 1, .max = 1 << 20, .preset = "768",
     .help = "width of a token between layers"},
    {"heads", .kind = RLT_PARAM_COUNT, FIELD(heads), .max = 1 << 16, .usual = "hidden/64",
     .help = "number of attention heads"},
    {"kv_heads", .kind = RLT_PARAM_COUNT, FIELD(kv_heads), .max = 1 << 16, .usual = "heads",
     .help = "number of heads of keys and values"},
    {"head", .kind = RLT_PARAM_COUNT, FIELD(head), .max = 1 << 16, .usual = "hidden/heads",
     .help = "width of a head of queries and keys"},
    {"value_head", .kind = RLT_PARAM_COUNT, FIELD(value_head), .max = 1 << 16, .usual = "head",
     .help = "width of a head of values"},
    {"ffn", .kind = RLT_PARAM_COUNT, FIELD(ffn), .max = 1 << 22, .usual = "4*hidden",
     .help = "inner width of a dense MLP"},
    {"gated", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(gated), .preset = "no",
     .help = "MLPs have three matrices (SwiGLU)"},
    {"vocabulary", .kind = RLT_PARAM_COUNT, FIELD(vocabulary), .min = 1, .max = 1 << 26, .preset = "50257",
     .help = "number of distinct tokens"},
    {"sequence", .kind = RLT_PARAM_COUNT, FIELD(sequence), .min = 1, .max = 1 << 24, .preset = "1024",
     .help = "tokens per sample"},
    {"tied", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(tied), .preset = "yes",
     .help = "logits use the weights of the embedding"},
    {"learned_positions", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(learned), .preset = "yes",
     .help = "adds a learned vector per position"},
    {"bias", .kind = RLT_PARAM_CHOICE, .words = "no|yes|qkv", FIELD(bias), .preset = "yes",
     .help = "bias of all matrices; qkv: of queries, keys and values only"},
    {"norm", .kind = RLT_PARAM_CHOICE, .words = "layer|rms", FIELD(norm), .preset = "layer",
     .help = "kind of normalisation"},
    {"qk_norm", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(qk_norm), .preset = "no",
     .help = "normalises queries and keys"},
    {"sinks", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(sinks), .preset = "no",
     .help = "adds a learned weight to the softmax of each head"},
    {"dropout", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(dropout), .preset = "yes",
     .help = "applies dropout, whose masks are kept for the backward pass"},
    {"fused_attention", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(fused), .preset = "no",
     .help = "fuses attention: scores are not kept"},
    {"window", .kind = RLT_PARAM_COUNT, FIELD(window), .max = 1 << 24, .preset = "0",
     .help = "attention window in tokens; 0: all tokens"},
    {"window_every", .kind = RLT_PARAM_COUNT, FIELD(window_every), .min = 1, .max = 4096, .preset = "1",
     .help = "n: only every n-th layer has the window"},
    {"experts", .kind = RLT_PARAM_COUNT, FIELD(experts), .max = 1 << 16, .preset = "0",
     .help = "experts per MLP; 0: dense"},
    {"top_k", .kind = RLT_PARAM_COUNT, FIELD(top_k), .min = 1, .max = 1 << 16, .preset = "2",
     .help = "experts per token"},
    {"expert_ffn", .kind = RLT_PARAM_COUNT, FIELD(expert_ffn), .max = 1 << 22, .usual = "ffn",
     .help = "inner width of an expert"},
    {"shared_experts", .kind = RLT_PARAM_COUNT, FIELD(shared), .max = 256, .preset = "0",
     .help = "additional experts that all tokens use"},
    {"moe_every", .kind = RLT_PARAM_COUNT, FIELD(every), .min = 1, .max = 4096, .preset = "1",
     .help = "n: only every n-th layer has experts"},
    {"dense_first", .kind = RLT_PARAM_COUNT, FIELD(dense_first), .max = 4096, .preset = "0",
     .help = "number of first layers without experts"},
    {"q_rank", .kind = RLT_PARAM_COUNT, FIELD(q_rank), .max = 1 << 20, .preset = "0",
     .help = "width of latent queries; 0: not latent"},
    {"kv_rank", .kind = RLT_PARAM_COUNT, FIELD(kv_rank), .max = 1 << 20, .preset = "0",
     .help = "width of latent keys and values; 0: not latent"},
    {"rotary", .kind = RLT_PARAM_COUNT, FIELD(rotary), .max = 1 << 16, .preset = "0",
     .help = "width of the positional part in latent attention"},
    {"mtp", .kind = RLT_PARAM_COUNT, FIELD(mtp), .max = 16, .preset = "0",
     .help = "additional tokens that each position predicts"},
    {"encoder", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(encoder), .preset = "no",
     .help = "attends to earlier and later tokens (BERT encoder)"},
    {0}};

static int read_settings(transformer *t, const char *const *settings, uint32_t n, rlt_error *err)
{
    *t = (transformer){.layers = 0};
    int rc = rlt__model_set("transformer", known, t, settings, n, err);
    if (rc)
        return rc;
    if (!t->heads)
        t->heads = t->hidden < 64 ? 1 : t->hidden / 64;
    if (!t->kv_heads)
        t->kv_heads = t->heads;
    if (!t->head && t->hidden % t->heads)
        return rlt_fail(err, RLT_EUSAGE, "heads",
                        "%u does not divide hidden %u: set head, the width of a head", t->heads, t->hidden);
    if (t->heads % t->kv_heads)
        return rlt_fail(err, RLT_EUSAGE, "kv_heads", "%u does not divide heads %u", t->kv_heads, t->heads);
    if (t->experts && t->top_k > t->experts)
        return rlt_fail(err, RLT_EUSAGE, "top_k", "%u exceeds the %u experts", t->top_k, t->experts);
    if (t->rotary && !t->kv_rank)
        return rlt_fail(err, RLT_EUSAGE, "rotary", "belongs to latent attention: set kv_rank too");
    if (t->kv_rank && t->kv_heads != t->heads)
        return rlt_fail(err, RLT_EUSAGE, "kv_heads",
                        "expected as many as heads, because latent attention shares no key-value heads");
    t->head = t->head ? t->head : t->hidden / t->heads;
    t->value_head = t->value_head ? t->value_head : t->head;
    t->ffn = t->ffn ? t->ffn : 4 * t->hidden;
    t->expert_ffn = t->expert_ffn ? t->expert_ffn : t->ffn;
    t->q = (uint64_t)t->heads * (t->head + t->rotary);
    t->k = (uint64_t)t->kv_heads * (t->head + t->rotary);
    t->v = (uint64_t)t->kv_heads * t->value_head;
    t->attended = (uint64_t)t->heads * t->value_head;
    t->s = t->sequence;
    return 0;
}

static void norm(const transformer *t, rlt__model_builder *b, uint64_t width)
{
    rlt__model_tensor(b, width, false);
    rlt__model_tensor(b, t->norm == NORM_LAYER ? width : 0, false);
}

/* Adds a layer that passes on the hidden state, with the fields common to all of these. */
static rlt_model_layer *row(const transformer *t, rlt__model_builder *b, const char *stem, const char *part,
                            rlt_work_kind work)
{
    rlt__model_layer(b, stem, part, work);
    b->layer->output_elements = (uint64_t)t->sequence * t->hidden;
    b->layer->sharded = work != RLT_WORK_VECTOR;
    return b->layer;
}

static void embedding(const transformer *t, rlt__model_builder *b)
{
    double sh = t->s * t->hidden;
    rlt_model_layer *l = row(t, b, "embedding", NULL, RLT_WORK_LOOKUP);
    l->tp_elements = l->output_elements;
    l->moved_elements = 2 * sh;
    l->saved_whole = t->dropout ? 0.5 * sh : 0;
    rlt__model_tensor(b, (uint64_t)t->vocabulary * t->hidden, false);
    rlt__model_tensor(b, t->learned ? (uint64_t)t->sequence * t->hidden : 0, false);
    if (!t->encoder)
        return;
    rlt__model_tensor(b, 2 * (uint64_t)t->hidden, false); /* segment embeddings: first or second sentence */
    norm(t, b, t->hidden);
    l->saved_whole += sh;
    l->moved_elements += 2 * sh;
}

/* Adds both norms of a block and both residual sums, each with its dropout. */
static void norms(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    double sh = t->s * t->hidden;
    rlt_model_layer *l = row(t, b, stem, "norms", RLT_WORK_VECTOR);
    l->movable = index < t->layers; /* layers that predict further tokens are on the stage of the logits */
    l->saved_whole = 2 * sh + (t->dropout ? sh : 0);
    l->moved_elements = (4 + 6 + (t->dropout ? 1 : 0)) * sh;
    norm(t, b, t->hidden);
    norm(t, b, t->hidden);
}

static void scores(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    double s = t->s, heads = t->heads, widths = (double)(t->q + t->k + t->v);
    bool narrow = t->window && t->window < t->sequence && index % t->window_every == 0;
    double keys = narrow ? t->window : s, all = heads * s * keys;
    rlt_model_layer *l = row(t, b, stem, "scores", RLT_WORK_ATTENTION);
    l->output_elements = t->sequence * t->attended;
    l->cp_elements = t->sequence * (t->k + t->v);
    l->saved_split = s * widths + (t->fused ? 2 * heads * s : 0);
    l->saved_scores = t->fused ? 0 : all * (t->dropout ? 2.5 : 1);
    l->saved_products = s * (double)t->attended + 2 * heads * s;
    l->inner_gradients = t->fused ? s * widths : 2 * all;
    l->moved_elements = s * (widths + (double)t->attended);
    /* Scores are written, read and written by the softmax, and read. Dropout reads and writes them, and
     * writes a mask. */
    l->moved_elements += t->fused ? 0 : all * (t->dropout ? 6.5 : 4);
    rlt__model_tensor(b, t->sinks ? t->heads : 0, false);
    rlt__model_work(b, 2 * s * keys * ((double)t->q + (double)t->attended));
}

/* Adds queries, keys and values through narrow latent vectors: DeepSeek-AI, arXiv 2405.04434, section 2.1. */
static void latent(const transformer *t, rlt__model_builder *b)
{
    uint64_t h = t->hidden, narrow = (uint64_t)t->q_rank + t->kv_rank;
    if (t->q_rank) {
        rlt__model_matrix(b, t->s, h, t->q_rank, false);
        norm(t, b, t->q_rank);
    }
    rlt__model_matrix(b, t->s, t->q_rank ? t->q_rank : h, t->q, false);
    rlt__model_matrix(b, t->s, h, t->kv_rank + t->rotary, false);
    norm(t, b, t->kv_rank);
    rlt__model_matrix(b, t->s, t->kv_rank, (uint64_t)t->heads * (t->head + t->value_head), false);
    b->layer->saved_whole += 2 * t->s * (double)narrow;
    b->layer->moved_elements += 4 * t->s * (double)narrow;
}

/* Adds projections and scores. The output projection has a row after both, since its all-reduce comes
 * last. */
static void attention(const transformer *t, rlt__model_builder *b, const char *stem)
{
    double sh = t->s * t->hidden;
    rlt_model_layer *l = row(t, b, stem, "attention", RLT_WORK_MATMUL);
    l->tp_elements = l->output_elements;
    l->saved_whole = sh;
    l->saved_split = t->s * (double)t->attended;
    l->saved_products =
        t->s * (double)(t->kv_rank ? t->q_rank + t->kv_rank + t->rotary + t->hidden : t->q + t->v);
    l->moved_elements = 2 * sh + t->s * (double)(t->q + t->k + t->v + t->attended);
    if (t->kv_rank)
        latent(t, b);
    else
        rlt__model_matrix(b, t->s, t->hidden, t->q + t->k + t->v, t->bias != NO_BIAS);
    if (t->qk_norm) {
        norm(t, b, t->head);
        norm(t, b, t->head);
    }
    rlt__model_matrix(b, t->s, t->attended, t->hidden, t->bias == ALL_BIAS);
}

/* Adds what an MLP of this width keeps and moves, if `share` of the tokens go through it. */
static void mlp_traffic(const transformer *t, rlt_model_layer *l, double width, double share)
{
    double into = t->gated ? 2 * width : width;
    l->saved_products += share * t->s * (width + (t->gated ? t->hidden : 0));
    l->inner_gradients += share * t->s * (into + width);
    l->saved_split += share * t->s * (into + width);
    l->moved_elements += share * t->s * (2.0 * t->hidden + 2 * into + 2 * width);
}

static void dense(const transformer *t, rlt__model_builder *b, uint64_t width)
{
    rlt__model_matrix(b, t->s, t->hidden, t->gated ? 2 * width : width, t->bias == ALL_BIAS);
    rlt__model_matrix(b, t->s, width, t->hidden, t->bias == ALL_BIAS);
    mlp_traffic(t, b->layer, (double)width, 1);
}

static void mlp(const transformer *t, rlt__model_builder *b, const char *stem)
{
    rlt_model_layer *l = row(t, b, stem, "mlp", RLT_WORK_MATMUL);
    l->tp_elements = l->output_elements;
    l->saved_whole = t->s * t->hidden;
    dense(t, b, t->ffn);
}

/* Adds the router, the experts, and the shared experts that every token passes. Each copy of a token sent to
 * an expert is kept. So is the expert's answer, for the gradient of its weight. */
static void experts(const transformer *t, rlt__model_builder *b, const char *stem)
{
    uint64_t h = t->hidden, f = t->expert_ffn, into = t->gated ? 2 * f : f, n = t->experts;
    double sh = t->s * t->hidden, copies = t->top_k;
    rlt_model_layer *l = row(t, b, stem, "experts", RLT_WORK_MATMUL);
    l->tp_elements = l->output_elements;
    l->ep_elements = (uint64_t)t->top_k * t->sequence * h;
    l->experts = t->experts;
    l->saved_whole = sh + t->s * (double)n;
    l->saved_split = 2 * copies * sh;
    l->moved_elements = (2 + 4 * copies) * sh;
    rlt__model_matrix(b, t->s, h, n, t->bias == ALL_BIAS);
    if (t->shared)
        dense(t, b, t->shared * f);
    rlt__model_tensor(b, n * h * into, true);
    rlt__model_tensor(b, t->bias == ALL_BIAS ? n * into : 0, true);
    rlt__model_tensor(b, n * f * h, true);
    rlt__model_tensor(b, t->bias == ALL_BIAS ? n * h : 0, true);
    mlp_traffic(t, b->layer, (double)f, copies);
    rlt__model_work(b, 2 * t->s * copies * (double)h * (double)(into + f));
}

static void block(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    b->block++;
    norms(t, b, stem, index);
    scores(t, b, stem, index);
    attention(t, b, stem);
    if (t->experts && index >= t->dense_first && (index + 1 - t->dense_first) % t->every == 0)
        experts(t, b, stem);
    else
        mlp(t, b, stem);
}

static void final_norm(const transformer *t, rlt__model_builder *b)
{
    double sh = t->s * t->hidden;
    rlt_model_layer *l = row(t, b, "final norm", NULL, RLT_WORK_VECTOR);
    l->saved_whole = sh;
    l->moved_elements = 2 * sh;
    norm(t, b, t->hidden);
}

static void logits(const transformer *t, rlt__model_builder *b, const char *name, bool tied)
{
    uint64_t matrix = (uint64_t)t->hidden * t->vocabulary;
    double sh = t->s * t->hidden, sv = t->s * t->vocabulary;
    rlt_model_layer *l = row(t, b, name, NULL, RLT_WORK_MATMUL);
    l->output_elements = 0;
    l->tied_parameters = tied ? matrix : 0;
    l->saved_whole = sh;
    l->saved_split = 2 * sv;
    l->logits = sv;
    l->moved_elements = sh + 2 * sv;
    rlt__model_tensor(b, tied ? 0 : matrix, false);
    rlt__model_tensor(b, t->encoder ? t->vocabulary : 0, false);
    rlt__model_work(b, 2 * t->s * (double)matrix);
}

/* Adds the heads of BERT (Devlin et al., arXiv 1810.04805): masked words, and whether one sentence follows
 * the other. The logits are counted for all tokens; an implementation may compute only the masked ones. */
static void encoder_head(const transformer *t, rlt__model_builder *b)
{
    uint64_t h = t->hidden;
    double sh = t->s * t->hidden;
    rlt_model_layer *l = row(t, b, "transform", NULL, RLT_WORK_MATMUL);
    l->sharded = false;
    l->saved_whole = 3 * sh;
    l->moved_elements = 6 * sh;
    rlt__model_matrix(b, t->s, h, h, true);
    norm(t, b, h);
    logits(t, b, "logits", t->tied);
    l = row(t, b, "pooler", NULL, RLT_WORK_MATMUL);
    l->sharded = false;
    l->output_elements = 0;
    rlt__model_matrix(b, 1, h, h, true);
    rlt__model_matrix(b, 1, h, 2, true);
}

/* Adds a layer that predicts one token further (DeepSeek-AI, arXiv 2412.19437, section 2.2). Embedding and
 * logits are shared with the model. */
static void further_token(const transformer *t, rlt__model_builder *b, uint32_t index)
{
    char stem[32], name[48];
    uint64_t h = t->hidden;
    snprintf(stem, sizeof stem, "mtp %u", index + 1);
    rlt_model_layer *l = row(t, b, stem, "projection", RLT_WORK_MATMUL);
    l->saved_whole = 4 * t->s * t->hidden;
    l->moved_elements = 7 * t->s * t->hidden;
    rlt__model_matrix(b, t->s, 2 * h, h, false);
    for (int i = 0; i < 3; i++)
        norm(t, b, h);
    block(t, b, stem, t->layers);
    snprintf(name, sizeof name, "%s logits", stem);
    logits(t, b, name, true);
}

static int build(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    transformer t;
    rlt__model_builder b = {.m = m, .err = err};
    char stem[32];
    int rc = read_settings(&t, settings, n, err);
    if (rc)
        return rc;
    snprintf(m->sample, sizeof m->sample, "sequence");
    m->tokens = t.sequence;
    m->hidden = t.hidden;
    m->heads = t.heads;
    m->kv_heads = t.kv_heads;
    embedding(&t, &b);
    for (uint32_t i = 0; i < t.layers && !b.rc; i++) {
        snprintf(stem, sizeof stem, "block %u", i + 1);
        block(&t, &b, stem, i);
    }
    b.block++;
    if (t.encoder)
        encoder_head(&t, &b);
    else {
        final_norm(&t, &b);
        logits(&t, &b, "logits", t.tied);
    }
    for (uint32_t i = 0; i < t.mtp; i++)
        further_token(&t, &b, i);
    return b.rc;
}

const rlt_model_family rlt__model_transformer = {
    .name = "transformer",
    .summary = "GPT and its variants: grouped keys, gated MLPs, experts, latent attention; BERT",
    .parameters = known,
    .build = build,
};
