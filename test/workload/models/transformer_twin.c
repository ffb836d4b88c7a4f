/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformers against a second model of them. A few hundred random sets of settings are built, and each layer
 * is counted here once more from what transformer.c and mamba.c promise at their top: matrices as a list, from
 * which parameters, FLOPs, sides and tensors follow; what each step reads, writes and keeps, step by step.
 */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/models/model.h"

enum { MOST = 400, TEXT = 1500 };
enum { NO, YES, QKV, ATTENTION }; /* bias */

/* Settings with their defaults filled in. */
typedef struct net {
    uint32_t layers, hidden, heads, kv, head, value, ffn, gated, vocabulary, s, tied, learned, positions,
        bias;
    uint32_t rms, post, embedding_norm, qk, sinks, dropout, fused, window, window_every, full_every;
    uint32_t experts, top_k, expert_ffn, shared, shared_ffn, gate, every, first, q_rank, kv_rank, rotary;
    uint32_t mtp, encoder, m_heads, m_head, m_state, m_groups, m_conv, m_chunk;
    char pattern[8], spec[TEXT];
} net;

/* The model that is expected. */
static struct {
    rlt_model_layer layers[MOST];
    rlt_model_product products[MOST];
    rlt_model_tensor tensors[4 * MOST];
    uint32_t n_layers, n_products, n_tensors, block;
} want;

static void give(net *n, const char *name, uint32_t value)
{
    size_t used = strlen(n->spec);
    snprintf(n->spec + used, sizeof n->spec - used, "%s=%u,", name, value);
}

/* Gives a number from low to high, or leaves the default. Returns what holds. */
static uint32_t number(net *n, dice *d, const char *name, uint32_t usual, uint32_t low, uint32_t high)
{
    if (below(d, 2))
        return usual;
    uint32_t value = low + below(d, high - low + 1);
    give(n, name, value);
    return value;
}

/* Gives one of the words of a list ("no|yes"), or leaves the default. Returns its index. */
static uint32_t word(net *n, dice *d, const char *name, uint32_t usual, const char *words)
{
    char copy[64], *rest = copy, *item;
    uint32_t count = 1;
    for (const char *c = words; *c; c++)
        count += *c == '|';
    uint32_t value = below(d, count + 1), i = 0;
    if (value == count)
        return usual;
    snprintf(copy, sizeof copy, "%s", words);
    while ((item = strtok_r(rest, "|", &rest)) && i < value)
        i++;
    size_t used = strlen(n->spec);
    snprintf(n->spec + used, sizeof n->spec - used, "%s=%s,", name, item);
    return value;
}

static uint32_t flag(net *n, dice *d, const char *name, uint32_t usual)
{
    return word(n, d, name, usual, "no|yes");
}

static void draw_attention(net *n, dice *d)
{
    static const uint32_t heads[] = {1, 2, 4, 6};
    uint32_t usual = n->hidden < 64 ? 1 : n->hidden / 64;
    n->heads = usual;
    if (below(d, 4)) {
        n->heads = heads[below(d, 4)];
        give(n, "heads", n->heads);
    }
    n->head = n->hidden % n->heads ? 0 : n->hidden / n->heads;
    if (!n->head || below(d, 2)) {
        n->head = 1 + below(d, 9);
        give(n, "head", n->head);
    }
    n->value = number(n, d, "value_head", n->head, 1, 9);
    n->q_rank = number(n, d, "q_rank", 0, 0, 5);
    n->kv_rank = number(n, d, "kv_rank", 0, 0, 5);
    n->rotary = n->kv_rank ? number(n, d, "rotary", 0, 0, 4) : 0;
    n->kv = n->heads;
    if (!n->kv_rank && below(d, 2)) {
        do
            n->kv = 1 + below(d, n->heads);
        while (n->heads % n->kv);
        give(n, "kv_heads", n->kv);
    }
    n->fused = flag(n, d, "fused_attention", NO);
    n->sinks = flag(n, d, "sinks", NO);
    n->qk = flag(n, d, "qk_norm", NO);
    n->window = number(n, d, "window", 0, 0, 2 * n->s);
    n->window_every = number(n, d, "window_every", 1, 1, 4);
    n->full_every = number(n, d, "full_every", 0, 0, 4);
}

static void draw_experts(net *n, dice *d)
{
    n->experts = number(n, d, "experts", 0, 0, 6);
    if (n->experts) {
        n->top_k = 1 + below(d, n->experts);
        give(n, "top_k", n->top_k);
    }
    n->expert_ffn = number(n, d, "expert_ffn", n->ffn, 1, 30);
    n->shared = number(n, d, "shared_experts", 0, 0, 3);
    n->shared_ffn = number(n, d, "shared_ffn", n->shared * n->expert_ffn, 1, 30);
    n->gate = flag(n, d, "shared_gate", NO);
    n->every = number(n, d, "moe_every", 1, 1, 3);
    n->first = number(n, d, "dense_first", 0, 0, 3);
}

static void draw_pattern(net *n, dice *d)
{
    if (below(d, 4) == 0) {
        n->layers = 1 + below(d, 7);
        for (uint32_t i = 0; i < n->layers; i++)
            n->pattern[i] = "M*-E"[below(d, n->experts ? 4 : 3)];
        size_t used = strlen(n->spec);
        snprintf(n->spec + used, sizeof n->spec - used, "pattern=%s,", n->pattern);
    } else {
        n->mtp = number(n, d, "mtp", 0, 0, 2);
        n->encoder = flag(n, d, "encoder", NO);
    }
    n->m_groups = 1 + below(d, 3);
    n->m_heads = n->m_groups * (1 + below(d, 3));
    give(n, "mamba_groups", n->m_groups);
    give(n, "mamba_heads", n->m_heads);
    n->m_head = number(n, d, "mamba_head", 64, 1, 9);
    n->m_state = number(n, d, "mamba_state", 128, 1, 9);
    n->m_conv = number(n, d, "mamba_conv", 4, 1, 6);
    n->m_chunk = number(n, d, "mamba_chunk", 128, 1, 20);
}

static void draw(net *n, dice *d)
{
    *n = (net){.spec = "transformer:"};
    n->layers = 1 + below(d, 6);
    give(n, "layers", n->layers);
    n->hidden = below(d, 4) ? 1 + below(d, 30) : 64 * (1 + below(d, 3));
    give(n, "hidden", n->hidden);
    n->s = 1 + below(d, 12);
    give(n, "sequence", n->s);
    n->ffn = number(n, d, "ffn", 4 * n->hidden, 1, 50);
    n->gated = flag(n, d, "gated", NO);
    n->vocabulary = number(n, d, "vocabulary", 50257, 1, 100);
    n->tied = flag(n, d, "tied", YES);
    n->learned = flag(n, d, "learned_positions", YES);
    n->positions = number(n, d, "positions", n->s, 1, 20);
    n->bias = word(n, d, "bias", YES, "no|yes|qkv|attention");
    n->rms = word(n, d, "norm", 0, "layer|rms");
    n->post = flag(n, d, "post_norms", NO);
    n->embedding_norm = flag(n, d, "embedding_norm", NO);
    n->dropout = flag(n, d, "dropout", YES);
    draw_attention(n, d);
    draw_experts(n, d);
    draw_pattern(n, d);
    n->spec[strlen(n->spec) - 1] = '\0';
}

/* ---- the expected layers ---- */

static rlt_model_layer *begin(const net *n, const char *stem, const char *part, rlt_work_kind work)
{
    assert_true(want.n_layers < MOST);
    rlt_model_layer *l = &want.layers[want.n_layers++];
    *l = (rlt_model_layer){.work = (uint8_t)work, .block = want.block};
    snprintf(l->name, sizeof l->name, "%s%s%s", stem, *part ? " " : "", part);
    l->sharded = work != RLT_WORK_VECTOR;
    l->output_elements = n->s * n->hidden;
    return l;
}

static void tensor(uint64_t elements, bool expert)
{
    rlt_model_layer *l = &want.layers[want.n_layers - 1];
    if (!elements)
        return;
    want.tensors[want.n_tensors++] = (rlt_model_tensor){want.n_layers - 1, expert, elements};
    l->parameters += expert ? 0 : elements;
    l->expert_parameters += expert ? elements : 0;
}

static void norm(const net *n, uint32_t width)
{
    tensor(width, false);
    if (!n->rms)
        tensor(width, false);
}

static void flop(double forward)
{
    want.layers[want.n_layers - 1].forward_flop += forward;
    want.layers[want.n_layers - 1].backward_flop += 2 * forward;
}

static void product(double rows, uint64_t in, uint64_t out, rlt_product_split split, bool expert)
{
    rlt_model_layer *l = &want.layers[want.n_layers - 1];
    if (!l->n_products++)
        l->first_product = want.n_products;
    want.products[want.n_products++] = (rlt_model_product){rows, in, out, split, expert};
    flop(2 * rows * (double)in * (double)out);
}

/* `count` matrices that share the rows. An orthogonalisation takes 4 k^2 l + 2 k^3 for k <= l. */
static void shape(double rows, uint64_t in, uint64_t out, uint32_t count)
{
    rlt_model_layer *l = &want.layers[want.n_layers - 1];
    double k = fmin((double)in, (double)out), longer = fmax((double)in, (double)out);
    l->sides += count * (in + out);
    l->sides_flop += 2 * rows * (double)in + 2 * rows * (double)out; /* an adapter of rank 1 */
    l->orthogonal_flop += count * 2 * k * k * (2 * longer + k);
}

static void matrix(double rows, uint64_t in, uint64_t out, bool bias, rlt_product_split split)
{
    tensor(in * out, false);
    tensor(bias ? out : 0, false);
    shape(rows, in, out, 1);
    product(rows, in, out, split, false);
}

static void embedding(const net *n)
{
    rlt_model_layer *l = begin(n, "embedding", "", RLT_WORK_LOOKUP);
    double sh = n->s * n->hidden;
    bool normed = n->encoder || n->embedding_norm;
    l->tp_elements = n->s * n->hidden;
    l->moved_elements = sh /* rows read */ + sh /* written */ + (normed ? sh + sh : 0);
    l->saved_whole = (n->dropout ? sh / 2 : 0) + (normed ? sh : 0);
    tensor((uint64_t)n->vocabulary * n->hidden, false);
    if (n->learned)
        tensor((uint64_t)n->positions * n->hidden, false);
    if (n->encoder)
        tensor(2 * n->hidden, false); /* first and second sentence */
    if (normed)
        norm(n, n->hidden);
}

/* A norm reads and writes, and keeps its input. A sum reads two and writes one. A mask is half an element. */
static void norms(const net *n, const char *stem, uint32_t index)
{
    rlt_model_layer *l = begin(n, stem, "norms", RLT_WORK_VECTOR);
    double sh = n->s * n->hidden;
    uint32_t count = 2, sums = 2;
    if (*n->pattern)
        count = sums = 1;
    else if (n->post)
        count = 4;
    for (uint32_t i = 0; i < count; i++) {
        norm(n, n->hidden);
        l->moved_elements += sh + sh;
        l->saved_whole += sh;
    }
    for (uint32_t i = 0; i < sums; i++) {
        double mask = n->dropout ? sh / 2 : 0;
        l->moved_elements += sh + sh + sh + mask;
        l->saved_whole += mask;
    }
    l->movable = index < n->layers;
}

/* Counts the keys of a query: those of the window in layers that have one. */
static uint32_t keys_of(const net *n, uint32_t index)
{
    bool windowed = n->full_every ? (index + 1) % n->full_every != 0 : index % n->window_every == 0;
    return windowed && n->window && n->window < n->s ? n->window : n->s;
}

static void scores(const net *n, const char *stem, uint32_t index)
{
    rlt_model_layer *l = begin(n, stem, "scores", RLT_WORK_ATTENTION);
    double keys = keys_of(n, index), all = 0, token = 0, result = n->heads * n->value;
    bool kernel = n->fused && !n->sinks;
    for (uint32_t h = 0; h < n->heads; h++) {
        all += n->s * keys;
        flop(2 * n->s * keys * (n->head + n->rotary)); /* queries times keys */
        flop(2 * n->s * keys * n->value);              /* scores times values */
        token += n->head + n->rotary;
    }
    for (uint32_t h = 0; h < n->kv; h++)
        token += n->head + n->rotary + n->value;
    l->scores = all;
    l->keys = keys;
    l->head = n->head + n->rotary;
    l->value_head = n->value;
    l->output_elements = n->s * n->heads * n->value;
    l->cp_elements = n->s * n->kv * (n->head + n->rotary + n->value);
    /* Before and behind the softmax, and a mask with what dropout leaves. */
    l->saved_scores = n->fused ? 0 : all + (n->dropout ? all + all / 2 : 0);
    l->saved_split = n->s * token + (n->fused ? 2.0 * n->s * n->heads : 0);
    l->saved_products = n->s * (result + 2.0 * n->heads);
    l->inner_gradients = n->fused ? n->s * token : all + all;
    /* Written, read and written by the softmax, read; dropout reads, writes, and writes half. */
    l->moved_scores = kernel ? 0 : all + (all + all) + all + (n->dropout ? all + all + all / 2 : 0);
    l->moved_elements = n->s * (token + result) + l->moved_scores;
    double hidden_keys = kernel && !n->encoder ? keys / 2 : 0; /* of each query, behind the mask */
    l->executed_forward = l->forward_flop * (n->s - hidden_keys) / n->s;
    l->executed_backward = kernel ? 2.5 * l->executed_forward : l->backward_flop;
    tensor(n->sinks ? n->heads : 0, false);
}

static void attention(const net *n, const char *stem)
{
    rlt_model_layer *l = begin(n, stem, "attention", RLT_WORK_MATMUL);
    uint32_t key = n->head + n->rotary, q = n->heads * key, k = n->kv * key, v = n->kv * n->value;
    double s = n->s, result = s * n->heads * n->value;
    l->tp_elements = n->s * n->hidden;
    l->saved_whole = l->inputs_whole = s * n->hidden;
    l->saved_split = result;
    (n->fused ? &l->inputs_shared : &l->inputs_split)[0] = result;
    l->moved_elements = 2 * s * (q + k + v);
    l->saved_products = s * (q + v); /* every second of queries, keys, values */
    if (n->kv_rank) {
        double narrow = s * (n->q_rank + n->kv_rank);
        if (n->q_rank) {
            matrix(s, n->hidden, n->q_rank, false, RLT_SPLIT_NONE);
            norm(n, n->q_rank);
        }
        matrix(s, n->q_rank ? n->q_rank : n->hidden, q, false, RLT_SPLIT_OUT);
        matrix(s, n->hidden, n->kv_rank + n->rotary, false, RLT_SPLIT_NONE);
        norm(n, n->kv_rank);
        matrix(s, n->kv_rank, n->heads * (n->head + n->value), false, RLT_SPLIT_OUT);
        l->saved_products = s * (n->q_rank + n->kv_rank + n->rotary + n->hidden);
        /* Megatron-LM gathers both narrow vectors and the positional part: no hidden vector, if q_rank. */
        l->tp_inputs = n->s * (n->kv_rank + n->rotary) + n->s * (n->q_rank ? n->q_rank : n->hidden);
        l->saved_whole += narrow + narrow; /* before and behind the norm */
        l->inputs_whole += narrow;
        l->moved_elements += 4 * narrow;
    } else
        matrix(s, n->hidden, q + k + v, n->bias != NO, RLT_SPLIT_OUT);
    for (uint32_t i = 0; i < 2 * n->qk; i++)
        norm(n, n->head);
    matrix(s, n->heads * n->value, n->hidden, n->bias == YES || n->bias == ATTENTION, RLT_SPLIT_IN);
}

/* Activations of an MLP for `tokens`: what enters the activation, and what leaves it. */
static void activations(const net *n, double tokens, uint32_t width)
{
    rlt_model_layer *l = &want.layers[want.n_layers - 1];
    double all = tokens * width + tokens * width * (n->gated ? 2 : 1);
    l->saved_split += all;
    l->inner_gradients += all;
    l->inputs_split += tokens * width;
    l->moved_elements += 2 * all;
    l->saved_products += tokens * width + (n->gated ? tokens * n->hidden : 0);
}

static void dense(const net *n, uint32_t width)
{
    matrix(n->s, n->hidden, n->gated ? width + width : width, n->bias == YES, RLT_SPLIT_OUT);
    matrix(n->s, width, n->hidden, n->bias == YES, RLT_SPLIT_IN);
    activations(n, n->s, width);
}

static void mlp(const net *n, const char *stem)
{
    rlt_model_layer *l = begin(n, stem, "mlp", RLT_WORK_MATMUL);
    l->tp_elements = n->s * n->hidden;
    l->saved_whole = l->inputs_whole = n->s * n->hidden;
    dense(n, n->ffn);
}

static void experts(const net *n, const char *stem)
{
    rlt_model_layer *l = begin(n, stem, "experts", RLT_WORK_MATMUL);
    uint32_t into = n->gated ? 2 * n->expert_ffn : n->expert_ffn, bias = n->bias == YES;
    double copies = (double)n->s * n->top_k;
    l->experts = n->experts;
    l->tp_elements = n->s * n->hidden;
    l->ep_elements = n->s * n->top_k * n->hidden;
    l->saved_whole = n->s * (n->hidden + n->experts);         /* tokens, and the router's scores */
    l->saved_split = copies * n->hidden + copies * n->hidden; /* copies and answers */
    l->inputs_split = copies * n->hidden;
    l->moved_elements = 8 * copies * n->hidden;
    matrix(n->s, n->hidden, n->experts, bias, RLT_SPLIT_NONE);
    if (n->shared_ffn)
        dense(n, n->shared_ffn);
    if (n->gate)
        matrix(n->s, n->hidden, 1, false, RLT_SPLIT_NONE);
    tensor(n->experts * n->hidden * into, true);
    tensor(bias * n->experts * into, true);
    tensor(n->experts * n->expert_ffn * n->hidden, true);
    tensor(bias * n->experts * n->hidden, true);
    activations(n, copies, n->expert_ffn);
    shape(copies, n->hidden, into, n->experts);
    shape(copies, n->expert_ffn, n->hidden, n->experts);
    product(copies, n->hidden, into, RLT_SPLIT_OUT, true);
    product(copies, n->expert_ffn, n->hidden, RLT_SPLIT_IN, true);
}

/* Two layers: the state space, with its convolution, and the matrices around it. */
static void mamba(const net *n, const char *stem)
{
    uint32_t inner = n->m_heads * n->m_head, both = 2 * n->m_groups * n->m_state, chunk = n->m_chunk;
    chunk = chunk < n->s ? chunk : n->s;
    double s = n->s, channels = inner + both;
    rlt_model_layer *l = begin(n, stem, "state space", RLT_WORK_ATTENTION);
    l->output_elements = n->s * inner;
    l->saved_split = s * (2 * channels + n->m_heads + inner);
    l->moved_elements = s * (3 * channels + 2 * n->m_heads + inner);
    tensor((uint64_t)channels * n->m_conv, false);
    tensor((uint64_t)channels, false);
    for (int i = 0; i < 3; i++)
        tensor(n->m_heads, false);
    flop(s * 2 * n->m_conv * channels);
    flop(s * 2 * chunk * n->m_state * n->m_groups);
    for (uint32_t h = 0; h < n->m_heads; h++)
        flop(s * (2.0 * chunk * n->m_head + 2 * (2.0 * n->m_state * n->m_head)));
    l = begin(n, stem, "mamba", RLT_WORK_MATMUL);
    l->tp_elements = n->s * n->hidden;
    l->saved_whole = l->inputs_whole = s * n->hidden;
    l->saved_split = s * inner + s * inner;
    l->inputs_split = s * inner;
    l->moved_elements = 3 * s * inner;
    matrix(s, n->hidden, 2 * inner + both + n->m_heads, false, RLT_SPLIT_OUT);
    tensor(inner, false);
    matrix(s, inner, n->hidden, false, RLT_SPLIT_IN);
}

static void block(const net *n, const char *stem, uint32_t index)
{
    char kind = *n->pattern ? n->pattern[index] : 'b';
    bool routed = n->experts > 0 && index >= n->first && (index - n->first) % n->every == n->every - 1;
    want.block++;
    norms(n, stem, index);
    if (kind == 'M')
        mamba(n, stem);
    if (kind == '*' || kind == 'b') {
        scores(n, stem, index);
        attention(n, stem);
    }
    if (kind == 'E' || (kind == 'b' && routed))
        experts(n, stem);
    if (kind == '-' || (kind == 'b' && !routed))
        mlp(n, stem);
}

static void logits(const net *n, const char *stem, bool tied)
{
    rlt_model_layer *l = begin(n, stem, "logits", RLT_WORK_MATMUL);
    uint64_t weights = (uint64_t)n->hidden * n->vocabulary;
    if (!*stem)
        snprintf(l->name, sizeof l->name, "logits");
    l->output_elements = 0;
    l->tied_parameters = tied ? weights : 0;
    l->logits = (double)n->s * n->vocabulary;
    l->saved_whole = n->s * n->hidden;
    l->saved_split = 2 * l->logits; /* of 32 bits */
    l->moved_elements = 7 * l->logits;
    tensor(tied ? 0 : weights, false);
    tensor(n->encoder ? n->vocabulary : 0, false);
    product(n->s, n->hidden, n->vocabulary, RLT_SPLIT_OUT, false);
}

static void head(const net *n)
{
    double sh = n->s * n->hidden;
    want.block++;
    if (!n->encoder) {
        rlt_model_layer *l = begin(n, "final norm", "", RLT_WORK_VECTOR);
        l->saved_whole = sh;
        l->moved_elements = sh + sh;
        norm(n, n->hidden);
        logits(n, "", n->tied);
        return;
    }
    rlt_model_layer *l = begin(n, "transform", "", RLT_WORK_MATMUL);
    l->sharded = false;
    l->saved_whole = sh + sh + sh; /* inputs of matrix, activation and norm */
    l->moved_elements = 2 * sh + 2 * sh + 2 * sh;
    matrix(n->s, n->hidden, n->hidden, true, RLT_SPLIT_OUT);
    norm(n, n->hidden);
    logits(n, "", n->tied);
    l = begin(n, "pooler", "", RLT_WORK_MATMUL);
    l->sharded = false;
    l->output_elements = 0;
    matrix(1, n->hidden, n->hidden, true, RLT_SPLIT_OUT);
    matrix(1, n->hidden, 2, true, RLT_SPLIT_OUT);
}

static void expect(const net *n)
{
    char stem[24];
    memset(&want, 0, sizeof want);
    embedding(n);
    for (uint32_t i = 0; i < n->layers; i++) {
        snprintf(stem, sizeof stem, "block %u", i + 1);
        block(n, stem, i);
    }
    head(n);
    for (uint32_t i = 0; i < n->mtp; i++) {
        snprintf(stem, sizeof stem, "mtp %u", i + 1);
        rlt_model_layer *l = begin(n, stem, "projection", RLT_WORK_MATMUL);
        l->saved_whole = 4.0 * n->s * n->hidden;    /* inputs of two norms, and both side by side */
        l->moved_elements = 7.0 * n->s * n->hidden; /* three norms, and the two joined */
        matrix(n->s, 2 * n->hidden, n->hidden, false, RLT_SPLIT_OUT);
        for (int k = 0; k < 3; k++)
            norm(n, n->hidden);
        block(n, stem, n->layers);
        logits(n, stem, true);
    }
}

/* ---- comparison ---- */

#define SAME(field)                                                                                          \
    if (fabs((double)got->field - (double)l->field) > 1e-12 * fabs((double)l->field))                        \
    fail_msg("%s: %s: " #field " %.17g, expected %.17g", n->spec, l->name, (double)got->field,               \
             (double)l->field)

static void compare_layer(const net *n, const rlt_model_layer *got, const rlt_model_layer *l)
{
    if (strcmp(got->name, l->name) != 0)
        fail_msg("%s: layer '%s', expected '%s'", n->spec, got->name, l->name);
    SAME(work);
    SAME(sharded);
    SAME(movable);
    SAME(block);
    SAME(experts);
    SAME(parameters);
    SAME(expert_parameters);
    SAME(tied_parameters);
    SAME(forward_flop);
    SAME(backward_flop);
    SAME(executed_forward);
    SAME(executed_backward);
    SAME(moved_elements);
    SAME(scores);
    SAME(keys);
    SAME(head);
    SAME(value_head);
    SAME(moved_scores);
    SAME(first_product);
    SAME(n_products);
    SAME(saved_whole);
    SAME(saved_split);
    SAME(saved_scores);
    SAME(inputs_whole);
    SAME(inputs_split);
    SAME(inputs_shared);
    SAME(saved_products);
    SAME(inner_gradients);
    SAME(logits);
    SAME(output_elements);
    SAME(tp_elements);
    SAME(tp_inputs);
    SAME(ep_elements);
    SAME(cp_elements);
    SAME(sides);
    SAME(sides_flop);
    SAME(orthogonal_flop);
}

static void compare(const net *n, const rlt_model *m)
{
    uint64_t sum = 0;
    assert_int_equal(m->n_layers, want.n_layers);
    for (uint32_t i = 0; i < m->n_layers; i++) {
        compare_layer(n, &m->layers[i], &want.layers[i]);
        sum += want.layers[i].parameters + want.layers[i].expert_parameters;
    }
    assert_int_equal(m->parameters, sum);
    assert_int_equal(m->n_products, want.n_products);
    for (uint32_t i = 0; i < m->n_products; i++) {
        const rlt_model_product *got = &m->products[i], *p = &want.products[i];
        assert_true(got->rows >= p->rows && got->rows <= p->rows);
        assert_true(got->in == p->in && got->out == p->out);
        assert_true(got->split == p->split && got->expert == p->expert);
    }
    assert_int_equal(m->n_tensors, want.n_tensors);
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const rlt_model_tensor *got = &m->tensors[i], *t = &want.tensors[i];
        assert_true(got->layer == t->layer && got->expert == t->expert && got->elements == t->elements);
    }
    assert_string_equal(m->name, "transformer");
    assert_string_equal(m->family, "transformer");
    assert_string_equal(m->sample, "sequence");
    assert_true(m->tokens == n->s && m->hidden == n->hidden && m->heads == n->heads && m->kv_heads == n->kv);
    assert_int_equal(m->recurrent, strchr(n->pattern, 'M') != NULL);
}

static void as_counted(void **state)
{
    dice d = {.seed = 1};
    (void)state;
    for (uint32_t trial = 0; trial < 600; trial++) {
        net n;
        rlt_model m;
        rlt_error err = {0};
        draw(&n, &d);
        if (rlt_model_open(n.spec, &m, &err))
            fail_msg("%s: %s: %s", n.spec, err.where, err.what);
        expect(&n);
        compare(&n, &m);
        rlt_model_free(&m);
    }
}

/* The whole text of each refusal of settings that contradict each other. */
static void refused(void **state)
{
    static const struct {
        const char *settings, *where, *what;
    } rows[] = {
        {"pattern=E", "pattern", "has experts (E): set experts too"},
        {"pattern=M,mamba_heads=6,mamba_groups=4", "mamba_groups", "4 does not divide mamba_heads 6"},
        {"pattern=M,mtp=1", "pattern", "goes neither with mtp nor with encoder"},
        {"pattern=M,encoder=yes", "pattern", "goes neither with mtp nor with encoder"},
        {"pattern=MX", "pattern", "expected 1 to 255 letters M, *, - or E, got 'MX'"},
        {"hidden=10,heads=4", "heads", "4 does not divide hidden 10: set head, the width of a head"},
        {"hidden=12,heads=4,kv_heads=3", "kv_heads", "3 does not divide heads 4"},
        {"experts=3,top_k=4", "top_k", "4 exceeds the 3 experts"},
        {"rotary=1", "rotary", "belongs to latent attention: set kv_rank too"},
        {"hidden=12,heads=4,kv_heads=2,kv_rank=3", "kv_heads",
         "expected as many as heads, because latent attention shares no key-value heads"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char spec[128], where[256];
        rlt_model m;
        rlt_error err = {0};
        snprintf(spec, sizeof spec, "transformer:%s", rows[i].settings);
        snprintf(where, sizeof where, "%s: %s", spec, rows[i].where);
        assert_int_equal(rlt_model_open(spec, &m, &err), RLT_EUSAGE);
        assert_string_equal(err.where, where);
        assert_string_equal(err.what, rows[i].what);
    }
}

/* A pattern has up to 255 letters. */
static void longest_pattern(void **state)
{
    char spec[320] = "transformer:hidden=1,vocabulary=1,sequence=1,pattern=";
    size_t used = strlen(spec);
    rlt_model m;
    rlt_error err = {0};
    (void)state;
    memset(spec + used, '-', 255);
    spec[used + 255] = '\0';
    assert_int_equal(rlt_model_open(spec, &m, &err), 0);
    assert_int_equal(rlt_model_sum(&m).blocks, 255);
    rlt_model_free(&m);
    memset(spec + used, '-', 256);
    spec[used + 256] = '\0';
    assert_int_equal(rlt_model_open(spec, &m, &err), RLT_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_counted),
        cmocka_unit_test(refused),
        cmocka_unit_test(longest_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
