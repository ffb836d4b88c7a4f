/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformers: GPT and its variants (grouped keys, gated MLPs, experts, latent attention), hybrids with
 * Mamba-2 layers, and BERT.
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
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"
#include "workload/models/transformer.h"

typedef rlt__transformer transformer;

enum { NO_BIAS, ALL_BIAS, QKV_BIAS, ATTENTION_BIAS };
enum { NORM_LAYER, NORM_RMS };

#define FIELD(name) RLT_FIELD(rlt__transformer, name)
static int read_pattern(const rlt_param *p, void *into, const char *value, const char *where, rlt_error *err);
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
    {"positions", .kind = RLT_PARAM_COUNT, FIELD(positions), .max = 1 << 24, .usual = "sequence",
     .help = "number of learned positions"},
    {"bias", .kind = RLT_PARAM_CHOICE, .words = "no|yes|qkv|attention", FIELD(bias), .preset = "yes",
     .help = "bias of all matrices; qkv: of queries, keys and values only; attention: of its matrices only"},
    {"norm", .kind = RLT_PARAM_CHOICE, .words = "layer|rms", FIELD(norm), .preset = "layer",
     .help = "kind of normalisation"},
    {"post_norms", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(post_norms), .preset = "no",
     .help = "also normalises the results of attention and MLP (Gemma 2)"},
    {"embedding_norm", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(embedding_norm), .preset = "no",
     .help = "normalises the embeddings (BLOOM)"},
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
    {"full_every", .kind = RLT_PARAM_COUNT, FIELD(full_every), .max = 4096, .preset = "0",
     .help = "n: all layers but every n-th have the window"},
    {"experts", .kind = RLT_PARAM_COUNT, FIELD(experts), .max = 1 << 16, .preset = "0",
     .help = "experts per MLP; 0: dense"},
    {"top_k", .kind = RLT_PARAM_COUNT, FIELD(top_k), .min = 1, .max = 1 << 16, .preset = "2",
     .help = "experts per token"},
    {"expert_ffn", .kind = RLT_PARAM_COUNT, FIELD(expert_ffn), .max = 1 << 22, .usual = "ffn",
     .help = "inner width of an expert"},
    {"shared_experts", .kind = RLT_PARAM_COUNT, FIELD(shared), .max = 256, .preset = "0",
     .help = "additional experts that all tokens use"},
    {"shared_ffn", .kind = RLT_PARAM_COUNT, FIELD(shared_ffn), .max = 1 << 22,
     .usual = "shared_experts*expert_ffn", .help = "inner width of all shared experts together"},
    {"shared_gate", .kind = RLT_PARAM_CHOICE, .words = no_yes, FIELD(shared_gate), .preset = "no",
     .help = "multiplies the result of shared experts by a learned gate (Qwen2-MoE)"},
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
    {"pattern", .kind = RLT_PARAM_OTHER, .read = read_pattern, .arg = "letters",
     .usual = "attention and MLP in each",
     .help = "kind of each block: M Mamba-2, * attention, - MLP, E experts (Nemotron-H)"},
    {"mamba_heads", .kind = RLT_PARAM_COUNT, FIELD(mamba_heads), .min = 1, .max = 1 << 16, .preset = "128",
     .help = "heads of a Mamba-2 layer"},
    {"mamba_head", .kind = RLT_PARAM_COUNT, FIELD(mamba_head), .min = 1, .max = 1 << 16, .preset = "64",
     .help = "width of a head of a Mamba-2 layer"},
    {"mamba_state", .kind = RLT_PARAM_COUNT, FIELD(mamba_state), .min = 1, .max = 1 << 16, .preset = "128",
     .help = "width of the state of a Mamba-2 head"},
    {"mamba_groups", .kind = RLT_PARAM_COUNT, FIELD(mamba_groups), .min = 1, .max = 1 << 16, .preset = "8",
     .help = "groups of heads that share the projections into and out of the state"},
    {"mamba_conv", .kind = RLT_PARAM_COUNT, FIELD(mamba_conv), .min = 1, .max = 64, .preset = "4",
     .help = "tokens that a Mamba-2 layer convolves"},
    {"mamba_chunk", .kind = RLT_PARAM_COUNT, FIELD(mamba_chunk), .min = 1, .max = 1 << 16, .preset = "128",
     .help = "tokens per chunk of the state-space computation"},
    {0}};

static int read_pattern(const rlt_param *p, void *into, const char *value, const char *where, rlt_error *err)
{
    transformer *t = into;
    size_t n = strlen(value);
    (void)p;
    if (n == 0 || n >= sizeof t->pattern || strspn(value, "M*-E") != n)
        return rlt_fail(err, RLT_EUSAGE, where, "expected 1 to %zu letters M, *, - or E, got '%.40s'",
                        sizeof t->pattern - 1, value);
    memcpy(t->pattern, value, n + 1);
    return 0;
}

static int check_pattern(transformer *t, rlt_error *err)
{
    if (!*t->pattern)
        return 0;
    if (strchr(t->pattern, 'E') && !t->experts)
        return rlt_fail(err, RLT_EUSAGE, "pattern", "has experts (E): set experts too");
    if (t->mamba_heads % t->mamba_groups)
        return rlt_fail(err, RLT_EUSAGE, "mamba_groups", "%u does not divide mamba_heads %u", t->mamba_groups,
                        t->mamba_heads);
    if (t->mtp || t->encoder)
        return rlt_fail(err, RLT_EUSAGE, "pattern", "goes neither with mtp nor with encoder");
    t->layers = (uint32_t)strlen(t->pattern);
    return 0;
}

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
    t->shared_ffn = t->shared_ffn ? t->shared_ffn : t->shared * t->expert_ffn;
    t->positions = t->positions ? t->positions : t->sequence;
    t->q = (uint64_t)t->heads * (t->head + t->rotary);
    t->k = (uint64_t)t->kv_heads * (t->head + t->rotary);
    t->v = (uint64_t)t->kv_heads * t->value_head;
    t->attended = (uint64_t)t->heads * t->value_head;
    t->s = t->sequence;
    return check_pattern(t, err);
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
    rlt__model_tensor(b, t->learned ? (uint64_t)t->positions * t->hidden : 0, false);
    if (!t->encoder && !t->embedding_norm)
        return;
    if (t->encoder) /* segment embeddings: first or second sentence */
        rlt__model_tensor(b, 2 * (uint64_t)t->hidden, false);
    norm(t, b, t->hidden);
    l->saved_whole += sh;
    l->moved_elements += 2 * sh;
}

/* Adds the norms of a block and both residual sums, each with its dropout. */
static void norms(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    double sh = t->s * t->hidden;
    uint32_t n = *t->pattern ? 1 : t->post_norms ? 4 : 2;
    rlt_model_layer *l = row(t, b, stem, "norms", RLT_WORK_VECTOR);
    l->movable = index < t->layers; /* layers that predict further tokens are on the stage of the logits */
    double drops = t->dropout ? (*t->pattern ? 0.5 : 1) : 0;
    l->saved_whole = (n + drops) * sh;
    l->moved_elements = (2 * n + (*t->pattern ? 3 : 6) + drops) * sh;
    for (uint32_t i = 0; i < n && !t->unweighted_norms; i++)
        norm(t, b, t->hidden);
}

static void scores(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    double s = t->s, heads = t->heads, widths = (double)(t->q + t->k + t->v);
    bool kernel = t->fused && !t->sinks; /* kernels with sinks are not fused in the stacks of 2025 */
    bool has_window = t->full_every ? (index + 1) % t->full_every != 0 : index % t->window_every == 0;
    bool narrow = t->window && t->window < t->sequence && has_window;
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
    l->scores = all;
    l->keys = keys;
    l->head = t->head + t->rotary;
    l->value_head = t->value_head;
    l->moved_scores = kernel ? 0 : all * (t->dropout ? 6.5 : 4);
    l->moved_elements += l->moved_scores;
    /* A fused kernel skips keys that the mask hides, and computes scores again in the backward pass, which
     * costs 2.5 times the forward pass (Dao, arXiv 2307.08691). With a window of w of s keys, a share
     * 1 - w / 2s is left. */
    double share = kernel && !t->encoder ? 1 - keys / (2 * s) : 1;
    rlt__model_tensor(b, t->sinks ? t->heads : 0, false);
    rlt__model_work(b, 2 * s * keys * ((double)t->q + (double)t->attended));
    l->executed_forward = share * l->forward_flop;
    l->executed_backward = kernel ? 2.5 * l->executed_forward : l->backward_flop;
}

/* Adds queries, keys and values through narrow latent vectors: DeepSeek-AI, arXiv 2405.04434, section 2.1. */
static void latent(const transformer *t, rlt__model_builder *b)
{
    uint64_t h = t->hidden, narrow = (uint64_t)t->q_rank + t->kv_rank;
    if (t->q_rank) {
        rlt__model_matrix_split(b, t->s, h, t->q_rank, false, RLT_SPLIT_NONE);
        norm(t, b, t->q_rank);
    }
    rlt__model_matrix(b, t->s, t->q_rank ? t->q_rank : h, t->q, false);
    rlt__model_matrix_split(b, t->s, h, t->kv_rank + t->rotary, false, RLT_SPLIT_NONE);
    norm(t, b, t->kv_rank);
    rlt__model_matrix(b, t->s, t->kv_rank, (uint64_t)t->heads * (t->head + t->value_head), false);
    b->layer->tp_inputs = (uint64_t)t->sequence * ((t->q_rank ? t->q_rank : h) + t->kv_rank + t->rotary);
    b->layer->saved_whole += 2 * t->s * (double)narrow;
    b->layer->inputs_whole += t->s * (double)narrow; /* behind the norms */
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
    l->inputs_whole = sh;
    *(t->fused ? &l->inputs_shared : &l->inputs_split) = l->saved_split; /* fused kernels read their result */
    l->saved_products =
        t->s * (double)(t->kv_rank ? t->q_rank + t->kv_rank + t->rotary + t->hidden : t->q + t->v);
    l->moved_elements = 2 * t->s * (double)(t->q + t->k + t->v);
    if (t->kv_rank)
        latent(t, b);
    else
        rlt__model_matrix(b, t->s, t->hidden, t->q + t->k + t->v, t->bias != NO_BIAS);
    if (t->qk_norm) {
        norm(t, b, t->head);
        norm(t, b, t->head);
    }
    rlt__model_matrix_split(b, t->s, t->attended, t->hidden, t->bias == ALL_BIAS || t->bias == ATTENTION_BIAS,
                            RLT_SPLIT_IN);
}

/* Adds what an MLP of this width keeps and moves, if `share` of the tokens go through it. */
static void mlp_traffic(const transformer *t, rlt_model_layer *l, double width, double share)
{
    double into = t->gated ? 2 * width : width;
    l->saved_products += share * t->s * (width + (t->gated ? t->hidden : 0));
    l->inner_gradients += share * t->s * (into + width);
    l->saved_split += share * t->s * (into + width);
    l->inputs_split += share * t->s * width;
    l->moved_elements += share * t->s * 2 * (into + width);
}

static void dense(const transformer *t, rlt__model_builder *b, uint64_t width)
{
    rlt__model_matrix(b, t->s, t->hidden, t->gated ? 2 * width : width, t->bias == ALL_BIAS);
    rlt__model_matrix_split(b, t->s, width, t->hidden, t->bias == ALL_BIAS, RLT_SPLIT_IN);
    mlp_traffic(t, b->layer, (double)width, 1);
}

static void mlp(const transformer *t, rlt__model_builder *b, const char *stem)
{
    rlt_model_layer *l = row(t, b, stem, "mlp", RLT_WORK_MATMUL);
    l->tp_elements = l->output_elements;
    l->saved_whole = l->inputs_whole = t->s * t->hidden;
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
    l->inputs_split = copies * sh;       /* the router reads the tokens themselves in 16 bits */
    l->moved_elements = 8 * copies * sh; /* copies are sorted by expert, and summed again in token order */
    rlt__model_matrix_split(b, t->s, h, n, t->bias == ALL_BIAS, RLT_SPLIT_NONE);
    if (t->shared_ffn)
        dense(t, b, t->shared_ffn);
    if (t->shared_gate)
        rlt__model_matrix_split(b, t->s, h, 1, false, RLT_SPLIT_NONE);
    rlt__model_tensor(b, n * h * into, true);
    rlt__model_tensor(b, t->bias == ALL_BIAS ? n * into : 0, true);
    rlt__model_tensor(b, n * f * h, true);
    rlt__model_tensor(b, t->bias == ALL_BIAS ? n * h : 0, true);
    mlp_traffic(t, b->layer, (double)f, copies);
    rlt__model_shape(b, t->s * copies, h, into, n);
    rlt__model_shape(b, t->s * copies, f, h, n);
    rlt__model_product(b, (rlt_model_product){t->s * copies, h, into, RLT_SPLIT_OUT, true});
    rlt__model_product(b, (rlt_model_product){t->s * copies, f, h, RLT_SPLIT_IN, true});
}

/* Adds a block of one layer with its norm, as the pattern says. */
static void patterned(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    switch (t->pattern[index]) {
    case 'M':
        rlt__mamba(t, b, stem);
        break;
    case '*':
        scores(t, b, stem, index);
        attention(t, b, stem);
        break;
    case 'E':
        experts(t, b, stem);
        break;
    default:
        mlp(t, b, stem);
    }
}

static void block(const transformer *t, rlt__model_builder *b, const char *stem, uint32_t index)
{
    b->block++;
    norms(t, b, stem, index);
    if (*t->pattern) {
        patterned(t, b, stem, index);
        return;
    }
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
    l->moved_elements = 7 * sv; /* the loss works on logits of 32 bits: cast, log-softmax */
    rlt__model_tensor(b, tied ? 0 : matrix, false);
    rlt__model_tensor(b, t->encoder ? t->vocabulary : 0, false);
    rlt__model_product(b, (rlt_model_product){t->s, t->hidden, t->vocabulary, RLT_SPLIT_OUT, false});
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
    m->recurrent = strchr(t.pattern, 'M') != NULL;
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

void rlt__transformer_block(const rlt__transformer *t, rlt__model_builder *b, const char *stem,
                            uint32_t index)
{
    block(t, b, stem, index);
}

int rlt__transformer_settings(rlt__transformer *t, const char *const *settings, uint32_t n, rlt_error *err)
{
    return read_settings(t, settings, n, err);
}

const rlt_model_family rlt__model_transformer = {
    .name = "transformer",
    .summary = "GPT and its variants: grouped keys, gated MLPs, experts, latent attention, Mamba-2; BERT",
    .parameters = known,
    .build = build,
};
