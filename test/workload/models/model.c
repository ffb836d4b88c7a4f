/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models compared with published totals, closed forms of papers, and the tables in test/data. */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "test/support/support.h"
#include "workload/models/model.h"

static void open_model(const char *spec, rlt_model *m)
{
    rlt_error err = {0};
    if (rlt_model_open(spec, m, &err))
        fail_msg("%s: %s: %s", spec, err.where, err.what);
}

static double work_of(const rlt_model *m, int kind)
{
    double flop = 0;
    for (uint32_t i = 0; i < m->n_layers; i++)
        flop += m->layers[i].work == kind ? m->layers[i].forward_flop : 0;
    return flop;
}

/* Elements of the published weights, as their repositories count them: safetensors index or model card;
 * torchvision for networks of images; BERT with the heads that it is trained with. */
static void published_parameters(void **state)
{
    static const struct {
        const char *spec;
        uint64_t parameters;
    } rows[] = {
        {"gpt2-small", 124439808},
        {"gpt2-medium", 354823168},
        {"gpt2-large", 774030080},
        {"gpt2-xl", 1557611200},
        {"llama2-7b", 6738415616},
        {"llama2-13b", 13015864320},
        {"llama2-70b", 68976648192},
        {"llama3-8b", 8030261248},
        {"llama3-70b", 70553706496},
        {"llama3.1-405b", 405853388800},
        {"mixtral-8x7b", 46702792704},
        {"mixtral-8x22b", 140620634112},
        {"qwen3-30b-a3b", 30532122624},
        {"qwen3-235b-a22b", 235093634560},
        {"qwen3-0.6b", 596049920},
        {"qwen3-1.7b", 1720574976},
        {"qwen3-4b", 4022468096},
        {"qwen3-8b", 8190735360},
        {"qwen3-14b", 14768307200},
        {"qwen3-32b", 32762123264},
        {"kimi-k2", 1026408232448 - 60 * 384},      /* without the biases of 60 routers */
        {"llama4-scout", 108641793536 - 871932416}, /* without vision encoder and projector */
        {"llama4-maverick", 401583781376 - 871932416},
        {"vit-b-16", 86567656}, /* torchvision */
        {"vit-l-16", 304326632},
        {"vit-h-14:image=518", 633470440},
        {"dit-xl-2", 675129632 - 256 * 1152}, /* facebookresearch/DiT; positions are not trained */
        {"gpt-oss-20b", 20914757184},
        {"gpt-oss-120b", 116829156672},
        {"bert-base", 110106428},
        {"bert-large", 336226108},
        {"resnet18", 11689512},
        {"resnet34", 21797672},
        {"resnet50", 25557032},
        {"resnet101", 44549160},
        {"resnet:depth=152", 60192808},
        {"wide-resnet-50-2", 68883240},
        {"wide-resnet-101-2", 126886696},
        {"vgg11", 132863336},
        {"vgg13", 133047848},
        {"vgg16", 138357544},
        {"vgg19", 143667240},
        {"vgg:depth=16,batch_norm=yes", 138365992},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_model m;
        open_model(rows[i].spec, &m);
        if (rlt_model_sum(&m).parameters != rows[i].parameters)
            fail_msg("%s: %llu, published %llu", rows[i].spec, (unsigned long long)m.parameters,
                     (unsigned long long)rows[i].parameters);
        rlt_model_free(&m);
    }
}

/* Returns true if x equals the printed number, rounded or cut off after its last digit. */
static bool prints(double x, const char *printed)
{
    const char *point = strchr(printed, '.');
    return fabs(x - strtod(printed, NULL)) < pow(10, point ? -(double)strlen(point + 1) : 0);
}

/* As papers and model cards print them, in units of 10^9: all parameters, and the parameters that work for a
 * token (half of the FLOPs of its matrices; with the embedding if the source counts it). */
static void printed_sizes(void **state)
{
    static const struct {
        const char *spec, *all, *active;
        bool embedding;
    } rows[] = {
        {"gpt3-175b", "174.6", NULL, false},       {"megatron-22b", "22", NULL, false},
        {"megatron-1.7b", "1.7", NULL, false},     {"megatron-39.1b", "39.1", NULL, false},
        {"megatron-145.6b", "145.6", NULL, false}, {"megatron-1008b", "1008.0", NULL, false},
        {"nemotron4-340b", "341", NULL, false},    {"deepseek-v3", "671", "37", false},
        {"mixtral-8x7b", "46.7", "12.9", true},    {"mixtral-8x22b", "141", "39", true},
        {"qwen3-30b-a3b", "30.5", "3.3", true},    {"qwen3-235b-a22b", "235", "22", true},
        {"kimi-k2", "1026", "32", true},           {"llama4-maverick", "400", "17", true},
        {"nemotron-h-8b", "8.10", NULL, false},    {"nemotron-h-56b", "56", NULL, false},
        {"dit-l-2", "0.458", NULL, false},         {"dit-b-2", "0.130", NULL, false},
        {"gpt-oss-120b", "116.83", "5.13", false}, {"gpt-oss-20b", "20.91", "3.61", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_model m;
        open_model(rows[i].spec, &m);
        double all = (double)m.parameters / 1e9, active = work_of(&m, RLT_WORK_MATMUL) / 2 / m.tokens / 1e9;
        if (rows[i].embedding)
            active += (double)m.layers[0].parameters / 1e9;
        if (!prints(all, rows[i].all))
            fail_msg("%s: %g, printed %s", rows[i].spec, all, rows[i].all);
        if (rows[i].active && !prints(active, rows[i].active))
            fail_msg("%s: %g work for a token, printed %s", rows[i].spec, active, rows[i].active);
        rlt_model_free(&m);
    }
}

/* DeepSeek-V3's module that predicts a further token has 11.5 billion parameters of its own (README_WEIGHTS
 * of the published weights). */
static void further_token(void **state)
{
    rlt_model without, with;
    (void)state;
    open_model("deepseek-v3", &without);
    open_model("deepseek-v3:mtp=1", &with);
    assert_true(fabs((double)(with.parameters - without.parameters) / 11.5e9 - 1) < 0.011);
    /* Its logits are a second pass through the matrix of the first. */
    double logits = 2.0 * 4096 * 7168 * 129280;
    assert_true(fabs(with.layers[with.n_layers - 1].forward_flop / logits - 1) < 1e-12);
    assert_int_equal(with.layers[with.n_layers - 1].tied_parameters, 7168 * 129280);
    assert_int_equal(rlt_model_sum(&with).blocks, rlt_model_sum(&without).blocks);
    rlt_model_free(&without);
    rlt_model_free(&with);
}

static const struct gpt {
    uint32_t layers, hidden, heads, sequence, vocabulary;
} shapes[] = {{12, 768, 12, 1024, 50257}, {48, 6144, 64, 2048, 51200}, {3, 64, 4, 7, 11}, {1, 8, 1, 1, 1}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static void open_gpt(const struct gpt *g, rlt_model *m)
{
    char spec[200];
    snprintf(spec, sizeof spec, "transformer:layers=%u,hidden=%u,heads=%u,sequence=%u,vocabulary=%u",
             g->layers, g->hidden, g->heads, g->sequence, g->vocabulary);
    open_model(spec, m);
}

/* Narayanan et al., arXiv 2104.04473, section 5.1 and appendix: forward 24 s h^2 + 4 s^2 h per layer and 2 s
 * h V; 12 h^2 + 13 h parameters per layer, (V + s) h of embeddings, and 2 h of the last norm. */
static void closed_forms(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        const struct gpt *g = &shapes[i];
        double l = g->layers, h = g->hidden, s = g->sequence, v = g->vocabulary;
        rlt_model m;
        open_gpt(g, &m);
        rlt_model_totals t = rlt_model_sum(&m);
        double flop = l * (24 * s * h * h + 4 * s * s * h) + 2 * s * h * v;
        assert_true(fabs(t.forward_flop / flop - 1) < 1e-12);
        assert_true(fabs(t.backward_flop / (2 * flop) - 1) < 1e-12);
        assert_true((double)t.parameters == l * (12 * h * h + 13 * h) + (v + s) * h + 2 * h);
        assert_true(fabs(work_of(&m, RLT_WORK_ATTENTION) / (l * 4 * s * s * h) - 1) < 1e-12);
        assert_int_equal(t.blocks, g->layers);
        assert_int_equal(m.tokens, g->sequence);
        assert_string_equal(m.sample, "sequence");
        rlt_model_free(&m);
    }
}

/* Returns the bytes kept of a block with t tensor-parallel ranks, 2 per element. */
static double kept(const rlt_model *m, uint32_t block, double t, bool sequence_parallel, bool selective)
{
    double bytes = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const rlt_model_layer *l = &m->layers[i];
        if (l->block == block)
            bytes += 2 * (l->saved_whole / (sequence_parallel ? t : 1) + l->saved_split / t +
                          (selective ? 0 : l->saved_scores / t));
    }
    return bytes;
}

/* Korthikanti et al., arXiv 2205.05198, equations 1, 2, 4, 6, and the terms of section 4.3 before and behind
 * the layers: s b h of dropout, and 4 s b h (1 + v / h). */
static void kept_activations(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++) {
        const struct gpt *g = &shapes[i];
        double h = g->hidden, s = g->sequence, a = g->heads, v = g->vocabulary;
        rlt_model m;
        open_gpt(g, &m);
        for (double t = 1; t <= 8; t *= 2) {
            const struct {
                double bytes, formula;
            } checks[] = {
                {kept(&m, 1, t, false, false), s * h * (10 + 24 / t + 5 * a * s / (h * t))},
                {kept(&m, 1, t, true, false), s * h / t * (34 + 5 * a * s / h)},
                {kept(&m, 1, t, true, true), 34 * s * h / t},
                {kept(&m, 1, 1, false, false), s * h * (34 + 5 * a * s / h)},
                {kept(&m, 0, t, true, false), s * h / t},
                {kept(&m, g->layers + 1, t, true, false), 4 * s * h / t * (1 + v / h)},
            };
            for (size_t k = 0; k < sizeof checks / sizeof *checks; k++)
                if (fabs(checks[k].bytes / checks[k].formula - 1) > 1e-12)
                    fail_msg("check %zu of shape %d at t %g: %g bytes, formula %g", k, i, t, checks[k].bytes,
                             checks[k].formula);
        }
        rlt_model_free(&m);
    }
}

/* Two all-reduces of s h per block and one for the vocabulary; keys and values of the groups; copies sent to
 * experts. */
static void communication(void **state)
{
    static const struct {
        const char *spec;
        uint64_t tp, cp, ep; /* for the second block; tp of the embedding is half of it */
    } rows[] = {
        {"gpt3-175b", 2ull * 2048 * 12288, 2ull * 2048 * 12288, 0},
        {"llama3-70b", 2ull * 8192 * 8192, 2ull * 8192 * 8 * 128, 0},
        {"mixtral-8x7b", 2ull * 4096 * 4096, 2ull * 4096 * 8 * 128, 2ull * 4096 * 4096},
        {"qwen3-235b-a22b", 2ull * 4096 * 4096, 2ull * 4096 * 4 * 128, 8ull * 4096 * 4096},
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint64_t tp = 0, cp = 0, ep = 0;
        rlt_model m;
        open_model(rows[r].spec, &m);
        for (uint32_t i = 0; i < m.n_layers; i++)
            if (m.layers[i].block == 2) {
                tp += m.layers[i].tp_elements;
                cp += m.layers[i].cp_elements;
                ep += m.layers[i].ep_elements;
            }
        assert_int_equal(tp, rows[r].tp);
        assert_int_equal(cp, rows[r].cp);
        assert_int_equal(ep, rows[r].ep);
        assert_int_equal(m.layers[0].tp_elements, rows[r].tp / 2);
        rlt_model_free(&m);
    }
}

/* Only some layers have experts; the others have an MLP of their own. */
static void layers_with_experts(void **state)
{
    static const struct {
        const char *spec;
        uint32_t blocks; /* one bit per block with experts */
    } rows[] = {{"transformer:layers=6,experts=4,top_k=1", 077},
                {"transformer:layers=6,experts=4,top_k=1,moe_every=2", 052},
                {"transformer:layers=6,experts=4,top_k=1,dense_first=3", 070},
                {"transformer:layers=6", 0}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint32_t found = 0;
        rlt_model m;
        open_model(rows[r].spec, &m);
        for (uint32_t i = 0; i < m.n_layers; i++)
            if (m.layers[i].experts) {
                assert_int_equal(m.layers[i].experts, 4);
                found |= 1u << (m.layers[i].block - 1);
            }
        assert_int_equal(found, rows[r].blocks);
        rlt_model_free(&m);
    }
    /* One expert that all tokens go to is an MLP with a router: h weights and a bias. */
    rlt_model one, dense;
    open_model("transformer:experts=1,top_k=1", &one);
    open_model("transformer", &dense);
    assert_int_equal(one.parameters - dense.parameters, 12 * (768 + 1));
    assert_true(rlt_model_sum(&one).forward_flop - rlt_model_sum(&dense).forward_flop ==
                12 * 2.0 * 1024 * 768);
    rlt_model_free(&one);
    rlt_model_free(&dense);
}

/* Fused attention keeps no scores; a window narrows them. Neither changes the parameters. */
static void attention_variants(void **state)
{
    rlt_model plain, fused, window, half;
    (void)state;
    open_model("gpt3-2.7b", &plain);
    open_model("gpt3-2.7b:fused_attention=yes", &fused);
    open_model("gpt3-2.7b:window=512", &window);
    open_model("gpt3-2.7b:window=512,window_every=2", &half);
    for (uint32_t i = 0; i < fused.n_layers; i++)
        assert_true(fused.layers[i].saved_scores == 0);
    assert_true(kept(&fused, 1, 1, false, false) < kept(&plain, 1, 1, false, false) / 2);
    double full = work_of(&plain, RLT_WORK_ATTENTION);
    assert_true(work_of(&fused, RLT_WORK_ATTENTION) == full);
    assert_true(fabs(work_of(&window, RLT_WORK_ATTENTION) / (full / 4) - 1) < 1e-12);
    assert_true(fabs(work_of(&half, RLT_WORK_ATTENTION) / (full * 5 / 8) - 1) < 1e-12);
    assert_int_equal(fused.parameters, plain.parameters);
    assert_int_equal(window.parameters, plain.parameters);
    rlt_model_free(&plain);
    rlt_model_free(&fused);
    rlt_model_free(&window);
    rlt_model_free(&half);
}

#define HYBRID "transformer:experts=2,top_k=1,hidden=16,heads=4,ffn=32,sequence=8,vocabulary=10,pattern="
#define LATENT "transformer:layers=1,hidden=64,heads=2,sequence=3,vocabulary=10,kv_rank=16,"

/* Nemotron-H 8B, by hand from the widths of arXiv 2504.03624 (table 1): 24 Mamba-2 layers of width 8192 with
 * 128 heads, 8 groups and a state of 128, 24 MLPs, 4 of attention, each with a norm; two embeddings. A layer of
 * Mamba-2 takes 2 Q N G + 2 Q P H + 4 N P H FLOPs per token in chunks of Q (arXiv 2405.21060, section 6). */
static void hybrids(void **state)
{
    const uint64_t h = 4096, inner = 8192, states = 2 * 8 * 128, heads = 128,
                   mamba = h * (2 * inner + states + heads) + (inner + states) * 5 + 3 * heads + inner +
                           inner * h + h,
                   mlp = 2 * h * 21504 + h, attention = 2 * h * h + 2 * h * 1024 + h;
    rlt_model m, small;
    (void)state;
    open_model("nemotron-h-8b", &m);
    assert_int_equal(m.parameters, 24 * mamba + 24 * mlp + 4 * attention + 2 * h * 131072 + h);
    assert_int_equal(rlt_model_sum(&m).blocks, 52);
    assert_true(m.recurrent);
    double token = 2.0 * 256 * 128 * 8 + (2.0 * 256 + 4.0 * 128) * 8192,
           conv = 2.0 * 4 * (double)(inner + states), scores = 4.0 * 8192 * 4096;
    assert_true(fabs(work_of(&m, RLT_WORK_ATTENTION) / (8192 * (24 * (token + conv) + 4 * scores)) - 1) <
                1e-12);
    rlt_model_free(&m);
    open_model("transformer:pattern=M*E-,experts=4,top_k=1,hidden=128,heads=2,mamba_heads=4,mamba_groups=2",
               &small);
    assert_int_equal(rlt_model_sum(&small).blocks, 4);
    rlt_model_free(&small);
    /* Each letter adds its own layers, and no other. */
    const uint64_t heads_of_16 = 4 * 16 * 16 + 4 * 16, dense = 2 * 16 * 32 + 32 + 16;
    for (uint32_t n = 1; n < 4; n++) {
        rlt_model a;
        char spec[160];
        snprintf(spec, sizeof spec, HYBRID "%.*s", (int)n, "*-*");
        open_model(spec, &a);
        /* a norm of two vectors each, positions of 8 tokens, a last norm, and one matrix for both embeddings */
        assert_int_equal(a.parameters,
                         (n + 1) / 2 * heads_of_16 + n / 2 * dense + n * 32 + 32 + (10 + 8) * 16);
        rlt_model_free(&a);
    }
}

/* Vectors of latent attention are written, and a norm reads and writes them: 4 more per token and element of width
 * are moved than by the projections alone. */
static void latent_vectors(void **state)
{
    static const char *const specs[] = {LATENT "q_rank=48", LATENT "q_rank=52"};
    double moved[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        rlt_model m;
        open_model(specs[i], &m);
        for (uint32_t k = 0; k < m.n_layers; k++)
            moved[i] += m.layers[k].moved_elements;
        rlt_model_free(&m);
    }
    assert_true(moved[1] - moved[0] == 4 * 3 * (52 - 48));
}

/* Multiply-adds of an image: arXiv 2212.09748, table 4 (118.64, 80.71, 23.01 billion), and arXiv 2010.11929 as
 * torchvision counts it (17.56 for B/16, 61.55 for L/16). */
static void images(void **state)
{
    static const struct {
        const char *spec;
        double billions, within;
    } rows[] = {{"dit-xl-2", 118.64, 0.005},
                {"dit-l-2", 80.71, 0.005},
                {"dit-b-2", 23.01, 0.005},
                {"vit-b-16", 17.56, 0.005},
                {"vit-l-16", 61.55, 0.005}};
    rlt_model m;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_model(rows[i].spec, &m);
        double got = rlt_model_sum(&m).forward_flop / 2e9;
        if (fabs(got / rows[i].billions - 1) > rows[i].within)
            fail_msg("%s: %g billion multiply-adds, published %g", rows[i].spec, got, rows[i].billions);
        assert_string_equal(m.sample, "image");
        rlt_model_free(&m);
    }
    open_model("vit-22b", &m); /* 21743 million: arXiv 2302.05442, table 1 */
    assert_true(fabs((double)m.parameters / 21743e6 - 1) < 1e-3);
    rlt_model_free(&m);
}

/* Rules that every table of layers obeys, in every family. */
static void rules_of_tables(void **state)
{
    const rlt_model_preset *p;
    (void)state;
    for (uint32_t i = 0; (p = rlt_model_preset_at(i)); i++) {
        rlt_model m;
        uint64_t dense = 0, experts = 0, of_tensors = 0;
        open_model(p->name, &m);
        assert_true(strlen(p->source) > 0);
        assert_string_equal(m.name, p->name);
        assert_string_equal(m.family, p->family);
        for (uint32_t k = 0; k < m.n_layers; k++) {
            const rlt_model_layer *l = &m.layers[k], *before = k ? l - 1 : NULL;
            dense += l->parameters;
            experts += l->expert_parameters;
            assert_true(l->name[0] != '\0' && l->work < RLT_WORK_KINDS);
            assert_true(l->backward_flop == 2 * l->forward_flop && l->moved_elements >= 0);
            assert_true(l->block == (before ? before->block : 0) || l->block == before->block + 1);
            assert_true(!l->movable || !before || l->block == before->block + 1);
            assert_true(!l->expert_parameters || l->experts);
        }
        for (uint32_t k = 0; k < m.n_tensors; k++) {
            of_tensors += m.tensors[k].elements;
            assert_true(m.tensors[k].layer < m.n_layers && m.tensors[k].elements > 0);
            assert_true(k == 0 || m.tensors[k].layer >= m.tensors[k - 1].layer);
        }
        assert_int_equal(dense + experts, m.parameters);
        assert_int_equal(of_tensors, m.parameters);
        rlt_model_free(&m);
    }
    assert_null(rlt_model_preset_at(100000));
    assert_null(rlt_model_family_at(100));
}

/* Every setting that a family lists can be set. */
static void settings_shown(void **state)
{
    const rlt_model_family *f;
    (void)state;
    for (uint32_t i = 0; (f = rlt_model_family_at(i)); i++)
        for (const rlt_param *p = f->parameters; p->name; p++) {
            char spec[200];
            rlt_model m;
            rlt_error err = {0};
            assert_true(p->help && (p->preset || p->usual));
            snprintf(spec, sizeof spec, "%s:%s=?", f->name, p->name);
            assert_int_equal(rlt_model_open(spec, &m, &err), RLT_EUSAGE);
            if (!strstr(err.what, "expected"))
                fail_msg("%s: %s: %s", spec, err.where, err.what);
        }
}

/* DLRM as in MLPerf: 187 767 399 rows of 128; MLPs 13-512-256-128 and 479-1024-1024-512-256-1 with biases;
 * 27 vectors multiplied with each other. */
static void recommendation(void **state)
{
    rlt_model m;
    (void)state;
    open_model("dlrm-mlperf", &m);
    uint64_t bottom = 13 * 512 + 512 * 256 + 256 * 128,
             top = 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256,
             biases = 512 + 256 + 128 + 1024 + 1024 + 512 + 256 + 1;
    assert_int_equal(m.layers[0].expert_parameters, 187767399ull * 128);
    assert_int_equal(m.parameters, 187767399ull * 128 + bottom + top + biases);
    assert_true(rlt_model_sum(&m).forward_flop == 2.0 * (double)(bottom + top) + 2.0 * 27 * 27 * 128);
    assert_int_equal(2 * m.layers[0].ep_elements, 26 * 128);
    rlt_model_free(&m);
}

static rlt_csv *csv;
static char *csv_text;

static void open_table(const char *path)
{
    size_t length;
    rlt_error err = {0};
    assert_int_equal(rlt_read_file(path, 1 << 24, &csv_text, &length, NULL), 0);
    csv = malloc(sizeof *csv);
    assert_non_null(csv);
    assert_int_equal(rlt_csv_begin(csv, path, csv_text, length, &err), 0);
}

static void close_table(void)
{
    free(csv);
    free(csv_text);
}

static const char *cell(const char *column)
{
    int i = rlt_csv_column(csv, column);
    assert_true(i >= 0);
    return csv->cells[i];
}

/* Each trainable tensor of three networks, in order, and the FLOPs of its layer. */
static void layer_tables(void **state)
{
    static const char *const files[][2] = {
        {"resnet50", "test/data/models/resnet50_layers.csv"},
        {"vgg19", "test/data/models/vgg19_layers.csv"},
        {"wide-resnet-101-2", "test/data/models/wide_resnet101_2_layers.csv"}};
    rlt_error err = {0};
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        rlt_model m, read;
        uint32_t n = 0;
        open_table(files[f][1]);
        open_model(files[f][0], &m);
        for (int rc; (rc = rlt_csv_next(csv, &err)); n++) {
            assert_int_equal(rc, 1);
            assert_true(n < m.n_tensors);
            const rlt_model_layer *l = &m.layers[m.tensors[n].layer];
            bool first = n == 0 || m.tensors[n].layer != m.tensors[n - 1].layer;
            assert_int_equal(m.tensors[n].elements, strtoull(cell("params"), NULL, 10));
            assert_true(strtod(cell("fwd_flops_per_img"), NULL) == (first ? l->forward_flop : 0));
            if (strncmp(cell("tensor"), l->name, strlen(l->name)) != 0)
                fail_msg("%s is of %s", cell("tensor"), l->name);
        }
        assert_int_equal(n, m.n_tensors);
        open_model(files[f][1], &read); /* the file itself is a model as well */
        assert_int_equal(read.parameters, m.parameters);
        assert_int_equal(read.n_tensors, m.n_tensors);
        assert_true(fabs(rlt_model_sum(&read).forward_flop / rlt_model_sum(&m).forward_flop - 1) < 1e-12);
        rlt_model_free(&read);
        rlt_model_free(&m);
        close_table();
    }
}

/* Returns our name of a model in the rows of test/data/throughput. */
static const char *named(const char *model)
{
    static const char *const names[][2] = {
        {"GPT-2 7.5B (Megatron-LM)", "gpt2-7.5b"},
        {"GPT-2 18B (Megatron-LM)", "gpt2-18b"},
        {"GPT-2 30B (Megatron-LM)", "gpt2-30b"},
        {"GPT-2 39B (Megatron-LM)", "gpt2-39b"},
        {"GPT-2 39B (Megatron+DeepSpeed)", "gpt2-39b"},
        {"GPT-2 52B (Megatron+DeepSpeed)", "gpt2-52b"},
        {"GPT-2 h6144 L40", "gpt2-18b"},
        {"GPT-2 h9216 L64", "gpt2-65b"},
        {"LLAMA3_8B", "llama3-8b"},
        {"LLAMA3_70B", "llama3-70b"},
        {"LLAMA3.1_405B", "llama3.1-405b"},
        {"Llama3.1 8B", "llama3.1-8b"},
        {"Llama3.1 70B", "llama3.1-70b"},
        {"DeepSeekV3 (w/o MTP)", "deepseek-v3"},
        {"DeepSeekV3 (w/ MTP)", "deepseek-v3:mtp=1"},
        {"DeepSeekV3", "deepseek-v3"},
        {"DeepSeekV3 (tokendrop)", "deepseek-v3"},
        {"DeepSeekV3 (dropless)", "deepseek-v3"},
        {"GPT OSS 120B", "gpt-oss-120b"},
        {"Qwen3_30B_a3B", "qwen3-30b-a3b"},
        {"Qwen3_30B_a3B (tokendrop)", "qwen3-30b-a3b"},
        {"Qwen3_235B_a22B", "qwen3-235b-a22b"},
        {"Qwen3_235B_a22B (tokendrop)", "qwen3-235b-a22b"},
        {"Megatron 22B", "megatron-22b"},
        {"GPT-3 175B", "gpt3-175b"},
    };
    static char mpt[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(model, names[i][0]) == 0)
            return names[i][1];
    if (strncmp(model, "MPT ", 4) != 0)
        fail_msg("no model is called '%s'", model);
    snprintf(mpt, sizeof mpt, "mpt-%s", model + 4);
    return mpt;
}

/* Each row names a known model. Exact parameter counts agree to the last digit, printed ones to their
 * digits. */
static void measured_models(void **state)
{
    rlt_error err = {0};
    uint32_t rows = 0, exact = 0;
    (void)state;
    open_table("test/data/throughput/measured_training.csv");
    for (int rc; (rc = rlt_csv_next(csv, &err)); rows++) {
        char spec[128], *end;
        const char *name = named(cell("model"));
        rlt_model m;
        assert_int_equal(rc, 1);
        snprintf(spec, sizeof spec, "%s%csequence=%s", name, strchr(name, ':') ? ',' : ':', cell("seq_len"));
        open_model(spec, &m);
        double printed = strtod(cell("params"), &end);
        if (*end == 'B')
            assert_true(fabs((double)m.parameters / 1e9 - printed) <= 0.5);
        else if (*cell("params")) {
            exact++;
            if ((double)m.parameters != printed)
                fail_msg("%s: %llu, printed %s", spec, (unsigned long long)m.parameters, cell("params"));
        }
        rlt_model_free(&m);
    }
    assert_true(rows > 200 && exact > 100);
    close_table();
}

static void usage(void **state)
{
    static const struct {
        const char *spec, *where, *what;
    } rows[] = {
        {"gpt3-2.8b", "gpt3-2.8b", "did you mean 'gpt3-2.7b'?"},
        {"quux", "quux", "ringlet list models"},
        {"", "", "unknown model"},
        {":layers=3", ":layers=3", "unknown model"},
        {"transformer:layrs=3", "transformer:layrs=3: layrs", "did you mean 'layers'?"},
        {"transformer:zzzzzzzz=3", "transformer:zzzzzzzz=3: zzzzzzzz", "a transformer has layers, hidden"},
        {"transformer:layers", "transformer:layers: layers", "expected NAME=VALUE"},
        {"transformer:", "transformer:", "expected NAME=VALUE"},
        {"transformer:layers=0", "transformer:layers=0: layers", "expected 1 to 4096, got '0'"},
        {"transformer:layers=4097", "transformer:layers=4097: layers", "got '4097'"},
        {"transformer:layers=99999999999999999999", "transformer:layers=", "9999999999"},
        {"transformer:layers=-1", "transformer:layers=-1: layers", "got '-1'"},
        {"transformer:layers=1.5", "transformer:layers=1.5: layers", "got '1.5'"},
        {"transformer:tied=maybe", "transformer:tied=maybe: tied", "expected one of no, yes, got 'maybe'"},
        {"transformer:heads=7", "transformer:heads=7: heads", "does not divide hidden 768"},
        {"transformer:kv_heads=5", "transformer:kv_heads=5: kv_heads", "does not divide heads 12"},
        {"transformer:experts=2,top_k=3", "transformer:experts=2,top_k=3: top_k", "3 exceeds the 2 experts"},
        {"transformer:rotary=64", "transformer:rotary=64: rotary",
         "belongs to latent attention: set kv_rank too"},
        {"transformer:kv_rank=64,kv_heads=4", "transformer:kv_rank=64,kv_heads=4: kv_heads", "as many"},
        {"transformer:pattern=MX", "transformer:pattern=MX: pattern", "letters M, *, - or E, got 'MX'"},
        {"transformer:pattern=", "transformer:pattern=: pattern", "expected 1 to"},
        {"transformer:pattern=ME", "transformer:pattern=ME: pattern", "set experts too"},
        {"transformer:pattern=M,mamba_heads=6,mamba_groups=4",
         "transformer:pattern=M,mamba_heads=6,mamba_groups=4: mamba_groups", "does not divide mamba_heads 6"},
        {"transformer:pattern=M,mtp=1", "transformer:pattern=M,mtp=1: pattern", "neither with mtp"},
        {"vit:patch=15", "vit:patch=15: patch", "does not divide image 224"},
        {"vit:heads=7", "vit:heads=7: heads", "does not divide hidden 768"},
        {"dit:patch=0", "dit:patch=0: patch", "got '0'"},
        {"resnet:depth=51", "resnet:depth=51: depth", "expected 18, 34, 50, 101 or 152"},
        {"resnet:depth=34,width=2", "resnet:depth=34,width=2: depth", "at least 50 with width above 1"},
        {"vgg:depth=12", "vgg:depth=12: depth", "expected 11, 13, 16 or 19"},
        {"dlrm:rows=1-2", "dlrm:rows=1-2: rows",
         "got 2 numbers for 26 tables: expected one number, or one per table"},
        {"dlrm:dim=64", "dlrm:dim=64: bottom", "vectors are 64 wide"},
        {"dlrm:top=", "dlrm:top=: top", "numbers from 1"},
        {"dlrm:top=3--4", "dlrm:top=3--4: top", "got '3--4'"},
        {"transformer:experts=65536,top_k=1,hidden=1048576,heads=1,expert_ffn=4194304,layers=4096",
         "transformer:experts=65536", "2^60 parameters"},
    };
    rlt_model m;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_error err = {0};
        int rc = rlt_model_open(rows[i].spec, &m, &err),
            wanted = strstr(rows[i].what, "2^60") ? RLT_ERANGE : RLT_EUSAGE;
        if (rc != wanted || strncmp(err.where, rows[i].where, strlen(rows[i].where)) != 0 ||
            !strstr(err.what, rows[i].what))
            fail_msg("%s: %d at '%s': '%s'", rows[i].spec, rc, err.where, err.what);
        assert_null(m.layers);
        assert_int_equal(rlt_model_open(rows[i].spec, &m, NULL), wanted);
    }
    /* The largest sizes that each setting allows. */
    open_model("transformer:hidden=1048576,heads=65536,sequence=16777216,vocabulary=67108864,layers=2", &m);
    assert_true(rlt_model_sum(&m).forward_flop > 0 && isfinite(rlt_model_sum(&m).forward_flop));
    rlt_model_free(&m);
}

/* 128 settings are read, of at most 2 KiB in all; of names that are unknown, the first is named. */
static void too_many_settings(void **state)
{
    static char few[1200], many[1300], longest[2200];
    const char *const specs[] = {few, many, longest};
    (void)state;
    size_t used = (size_t)snprintf(few, sizeof few, "transformer:x100=1");
    for (int i = 101; i < 228; i++)
        used += (size_t)snprintf(few + used, sizeof few - used, ",x%d=1", i);
    snprintf(many, sizeof many, "%s,x228=1", few);
    used = (size_t)snprintf(longest, sizeof longest, "transformer:pattern=");
    memset(longest + used, 'M', 2100);
    for (int i = 0; i < 3; i++) {
        rlt_model m;
        rlt_error err = {0};
        assert_int_equal(rlt_model_open(specs[i], &m, &err), RLT_EUSAGE);
        assert_int_equal(strncmp(err.where, specs[i], 60), 0);
        bool too_many = strcmp(err.what, "expected at most 128 settings, in a shorter text") == 0;
        if (too_many != (i > 0))
            fail_msg("%d: '%s': '%s'", i, err.where, err.what);
        assert_null(m.layers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_settings),  cmocka_unit_test(published_parameters),
        cmocka_unit_test(printed_sizes),      cmocka_unit_test(further_token),
        cmocka_unit_test(closed_forms),       cmocka_unit_test(kept_activations),
        cmocka_unit_test(communication),      cmocka_unit_test(layers_with_experts),
        cmocka_unit_test(attention_variants), cmocka_unit_test(rules_of_tables),
        cmocka_unit_test(settings_shown),     cmocka_unit_test(hybrids),
        cmocka_unit_test(latent_vectors),     cmocka_unit_test(images),
        cmocka_unit_test(recommendation),     cmocka_unit_test(layer_tables),
        cmocka_unit_test(measured_models),    cmocka_unit_test(usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
