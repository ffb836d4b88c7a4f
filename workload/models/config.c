/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the config.json of published weights (Hugging Face transformers) as settings of a family.
 *
 * Each `model_type` has fixed settings, which no field tells, and a table of its own fields. Fields that most
 * types share are in `common`. Fields of neither table do not change sizes (token numbers, rotary scaling,
 * initial values) and are ignored. Fields whose value would change the shape in a way that no setting
 * expresses are refused (`demands`). A model with a `text_config` is read as its language part alone.
 *
 * The sequence is that of the config (`max_position_embeddings`), but at most 4096: the longest context of
 * published weights is seldom the length they were trained with.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"

enum { USUAL_SEQUENCE = 4096, MAX_FIELDS = 16 };

/* A field and the setting that it gives; without a setting, the field is ignored. */
typedef struct field {
    const char *name, *setting;
} field;

typedef struct type {
    const char *name, *family, *fixed;
    field own[MAX_FIELDS]; /* before those in `common` */
} type;

#define PLAIN  "dropout=no,fused_attention=yes,"
#define ROTARY PLAIN "learned_positions=no,"
#define LLAMA  ROTARY "tied=no,bias=no,norm=rms,gated=yes,"
#define GEMMA  ROTARY "tied=yes,bias=no,norm=rms,gated=yes,"
#define GEMMA3 GEMMA "post_norms=yes,qk_norm=yes,full_every=6,heads=8,kv_heads=4,head=256,vocabulary=262208,"
#define EXPERTS                                                                                              \
    {"num_local_experts", "experts"},                                                                        \
    {                                                                                                        \
        "num_experts_per_tok", "top_k"                                                                       \
    }
#define QWEN_EXPERTS                                                                                         \
    {"num_experts", "experts"}, {"num_experts_per_tok", "top_k"}, {"moe_intermediate_size", "expert_ffn"},   \
        {"shared_expert_intermediate_size", "shared_ffn"},                                                   \
    {                                                                                                        \
        "decoder_sparse_step", "moe_every"                                                                   \
    }
#define LATENT                                                                                               \
    {"n_routed_experts", "experts"}, {"num_experts_per_tok", "top_k"},                                       \
        {"moe_intermediate_size", "expert_ffn"}, {"n_shared_experts", "shared_experts"},                     \
        {"first_k_dense_replace", "dense_first"}, {"q_lora_rank", "q_rank"}, {"kv_lora_rank", "kv_rank"},    \
        {"qk_rope_head_dim", "rotary"}, {"qk_nope_head_dim", "head"}, {"v_head_dim", "value_head"},          \
        {"num_nextn_predict_layers", "mtp"},                                                                 \
    {                                                                                                        \
        "head_dim", NULL                                                                                     \
    }

static const type types[] = {
    {"llama", "transformer", LLAMA, {{0}}},
    {"mistral", "transformer", LLAMA, {{0}}},
    {"mixtral", "transformer", LLAMA, {EXPERTS, {"intermediate_size", "expert_ffn"}}},
    {"qwen2", "transformer", LLAMA "bias=qkv,", {{0}}},
    {"qwen2_moe", "transformer", LLAMA "bias=qkv,shared_gate=yes,", {QWEN_EXPERTS}},
    {"qwen3", "transformer", LLAMA "qk_norm=yes,", {{0}}},
    {"qwen3_moe", "transformer", LLAMA "qk_norm=yes,", {QWEN_EXPERTS}},
    {"gemma", "transformer", GEMMA "head=256,", {{0}}},
    {"gemma2", "transformer", GEMMA "post_norms=yes,head=256,window_every=2,", {{0}}},
    {"gemma3", "transformer", GEMMA3, {{"sliding_window_pattern", "full_every"}}},
    {"phi3", "transformer", LLAMA, {{0}}},
    {"gpt2", "transformer", PLAIN "learned_positions=yes,tied=yes,", {{"n_positions", "positions"}}},
    {"gpt_neox", "transformer", ROTARY "tied=no,", {{0}}},
    {"opt", "transformer", PLAIN "learned_positions=yes,tied=yes,", {{0}}},
    {"bloom", "transformer", ROTARY "tied=yes,embedding_norm=yes,", {{0}}},
    {"deepseek_v2", "transformer", LLAMA, {LATENT}},
    {"deepseek_v3", "transformer", LLAMA, {LATENT}},
    {"kimi_k2", "transformer", LLAMA, {LATENT}},
    {"gpt_oss",
     "transformer",
     LLAMA "bias=yes,sinks=yes,window_every=2,",
     {EXPERTS, {"intermediate_size", "expert_ffn"}, {"attention_bias", NULL}}},
    {"llama4",
     "transformer",
     LLAMA "shared_experts=1,full_every=4,",
     {EXPERTS,
      {"intermediate_size", "expert_ffn"},
      {"intermediate_size_mlp", "ffn"},
      {"interleave_moe_layer_step", "moe_every"},
      {"no_rope_layer_interval", "full_every"},
      {"attention_chunk_size", "window"}}},
    {"nemotron_h",
     "transformer",
     ROTARY "tied=no,bias=no,norm=rms,",
     {{"attention_head_dim", "head"},
      {"mamba_num_heads", "mamba_heads"},
      {"mamba_head_dim", "mamba_head"},
      {"ssm_state_size", "mamba_state"},
      {"n_groups", "mamba_groups"},
      {"conv_kernel", "mamba_conv"},
      {"chunk_size", "mamba_chunk"}}},
    {"vit", "vit", "", {{"image_size", "image"}, {"patch_size", "patch"}, {"num_channels", "channels"}}},
    {"nemotron", "transformer", ROTARY "tied=no,bias=no,", {{0}}},
};
enum { N_TYPES = sizeof types / sizeof *types };

static const field common[] = {
    {"hidden_size", "hidden"},
    {"n_embd", "hidden"},
    {"n_embed", "hidden"},
    {"num_hidden_layers", "layers"},
    {"n_layer", "layers"},
    {"num_attention_heads", "heads"},
    {"n_head", "heads"},
    {"num_key_value_heads", "kv_heads"},
    {"head_dim", "head"},
    {"intermediate_size", "ffn"},
    {"n_inner", "ffn"},
    {"ffn_dim", "ffn"},
    {"vocab_size", "vocabulary"},
    {"tie_word_embeddings", "tied"},
    {NULL, NULL},
};
/* Settings that a field or the type must give. */
static const char *const needed[] = {"hidden", "layers", "heads", "vocabulary"};
enum { N_NEEDED = sizeof needed / sizeof *needed };

/* Fields that may have this value only, if they are present. */
static const struct demand {
    const char *name;
    bool is_number;
    uint64_t value;
} demands[] = {{"is_encoder_decoder", false, 0},       {"add_cross_attention", false, 0},
               {"do_layer_norm_before", false, 1},     {"moe_layer_freq", true, 1},
               {"_remove_final_layer_norm", false, 0}, {"use_bidirectional_attention", false, 0}};

static bool is_null(rlt_json v)
{
    size_t begin, end;
    if (!rlt_json_is(v))
        return true;
    rlt_json_extent(v, &begin, &end);
    return rlt_json_text(v.doc)[begin] == 'n';
}

static void add(rlt__config *c, const char *setting, uint64_t value)
{
    size_t used = strlen(c->settings);
    snprintf(c->settings + used, sizeof c->settings - used, "%s=%llu,", setting, (unsigned long long)value);
    for (int i = 0; i < N_NEEDED; i++)
        if (strcmp(setting, needed[i]) == 0)
            c->given |= 1u << i;
}

static void add_word(rlt__config *c, const char *setting, const char *word)
{
    size_t used = strlen(c->settings);
    snprintf(c->settings + used, sizeof c->settings - used, "%s=%s,", setting, word);
}

/* Adds the setting of a field. The range is that of the family's parameter, so that the error has the field's
 * place. */
static int read_field(rlt_json v, const field *f, const rlt_param *known, rlt__config *c, rlt_error *err)
{
    const rlt_param *p = f->setting ? rlt_params_find(known, f->setting) : NULL;
    rlt_json member = rlt_json_get(v, f->name);
    uint64_t n = 0;
    bool yes = false;
    int rc;
    if (!p || is_null(member))
        return 0;
    if (p->kind == RLT_PARAM_CHOICE) {
        if (!(rc = rlt_json_get_bool(v, f->name, true, &yes, err)))
            add_word(c, f->setting, yes ? "yes" : "no");
        return rc;
    }
    if ((rc = rlt_json_u64(member, (uint64_t)p->max, &n, err)))
        return rc;
    if (n < (uint64_t)p->min)
        return rlt_json_fail(member, RLT_ERANGE, err, "expected %llu or more", (unsigned long long)p->min);
    add(c, f->setting, n);
    return 0;
}

/* Adds the kinds of blocks of a hybrid. */
static int read_pattern(rlt_json v, rlt__config *c, rlt_error *err)
{
    rlt_json pattern = rlt_json_get(v, "hybrid_override_pattern");
    const char *text = rlt_json_string(pattern);
    if (is_null(pattern))
        return 0;
    if (!text || strlen(text) == 0 || strlen(text) > 255 || strspn(text, "M*-E") != strlen(text))
        return rlt_json_fail(pattern, RLT_ESCHEMA, err, "expected 1 to 255 letters M, *, - or E");
    add_word(c, "pattern", text);
    return 0;
}

static bool has_own(const type *t, const char *name)
{
    for (int i = 0; i < MAX_FIELDS && t->own[i].name; i++)
        if (strcmp(t->own[i].name, name) == 0)
            return true;
    return false;
}

static int read_fields(rlt_json v, const type *t, const rlt_param *known, rlt__config *c, rlt_error *err)
{
    int rc = 0;
    for (int i = 0; i < MAX_FIELDS && t->own[i].name && !rc; i++)
        rc = read_field(v, &t->own[i], known, c, err);
    for (int i = 0; common[i].name && !rc; i++)
        if (!has_own(t, common[i].name))
            rc = read_field(v, &common[i], known, c, err);
    for (int i = 0; i < N_NEEDED && !rc; i++) {
        char fixed[32];
        int first = 0;
        snprintf(fixed, sizeof fixed, ",%s=", needed[i]);
        while (strcmp(common[first].setting, needed[i]) != 0)
            first++;
        bool wanted = rlt_params_find(known, needed[i]) && !strstr(t->fixed, fixed);
        if (wanted && !(c->given >> i & 1))
            rc = rlt_json_fail(v, RLT_ESCHEMA, err, "missing '%s'", common[first].name);
    }
    return rc;
}

static int check_demands(rlt_json v, rlt_error *err)
{
    for (size_t i = 0; i < sizeof demands / sizeof *demands; i++) {
        const struct demand *d = &demands[i];
        rlt_json member = rlt_json_get(v, d->name);
        uint64_t n = 0;
        bool yes = false;
        if (is_null(member))
            continue;
        int rc = d->is_number ? rlt_json_u64(member, UINT32_MAX, &n, err)
                              : rlt_json_get_bool(v, d->name, true, &yes, err);
        if (rc)
            return rc;
        if ((d->is_number ? n : yes) != d->value)
            return rlt_json_fail(member, RLT_EUNSUPPORTED, err, "cannot be mapped: expected %s",
                                 d->is_number ? "1"
                                 : d->value   ? "true"
                                              : "false");
    }
    return 0;
}

/* Width of the embedding of OPT-350m, and dense layers between those with experts. */
static int check_shapes(rlt_json v, rlt_error *err)
{
    rlt_json width = rlt_json_get(v, "word_embed_proj_dim"), dense = rlt_json_get(v, "mlp_only_layers");
    uint64_t embedded = 0, hidden = 0;
    int rc = is_null(width) ? 0 : rlt_json_u64(width, UINT32_MAX, &embedded, err);
    if (!rc)
        rc = rlt_json_get_u64(v, "hidden_size", false, UINT32_MAX, &hidden, err);
    if (!rc && embedded && embedded != hidden)
        rc = rlt_json_fail(width, RLT_EUNSUPPORTED, err, "cannot be mapped: expected hidden_size");
    if (!rc && !is_null(dense) && !(rlt_json_is_array(dense) && rlt_json_count(dense) == 0))
        rc = rlt_json_fail(dense, RLT_EUNSUPPORTED, err, "cannot be mapped: expected an empty list");
    return rc;
}

static int get_yes(rlt_json v, const char *name, bool *yes, rlt_error *err)
{
    return is_null(rlt_json_get(v, name)) ? 0 : rlt_json_get_bool(v, name, true, yes, err);
}

static int read_bias(rlt_json v, const type *t, rlt__config *c, rlt_error *err)
{
    bool attention = false, mlp = false;
    int rc = get_yes(v, "attention_bias", &attention, err);
    if (!rc)
        rc = get_yes(v, "mlp_bias", &mlp, err);
    if (rc || has_own(t, "attention_bias") || !strstr(t->fixed, "bias=no"))
        return rc;
    if (attention && strstr(c->settings, "kv_rank="))
        return rlt_json_fail(rlt_json_get(v, "attention_bias"), RLT_EUNSUPPORTED, err,
                             "cannot be mapped with latent attention: expected false");
    if (mlp && !attention)
        return rlt_json_fail(rlt_json_get(v, "mlp_bias"), RLT_EUNSUPPORTED, err,
                             "cannot be mapped without attention_bias: expected false");
    if (attention)
        add_word(c, "bias", mlp ? "yes" : "attention");
    return 0;
}

/* Any of these fields above 0: dropout. */
static int read_dropout(rlt_json v, rlt__config *c, rlt_error *err)
{
    static const char *const names[] = {"resid_pdrop", "hidden_dropout", "dropout", "resid_dropout"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double x = 0;
        int rc = is_null(rlt_json_get(v, names[i])) ? 0 : rlt_json_get_double(v, names[i], true, &x, err);
        if (rc)
            return rc;
        if (x > 0) {
            add_word(c, "dropout", "yes");
            return 0;
        }
    }
    return 0;
}

static int read_sequence(rlt_json v, rlt__config *c, rlt_error *err)
{
    static const char *const names[] = {"n_positions", "max_position_embeddings", "seq_length"};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && n == 0; i++) {
        rlt_json member = rlt_json_get(v, names[i]);
        int rc = is_null(member) ? 0 : rlt_json_u64(member, UINT32_MAX, &n, err);
        if (rc)
            return rc;
    }
    add(c, "sequence", n && n < USUAL_SEQUENCE ? n : USUAL_SEQUENCE);
    return 0;
}

/* ---- windows of attention ---- */

static bool windowed(rlt_json layer)
{
    const char *word = rlt_json_string(layer);
    return word && (strcmp(word, "sliding_attention") == 0 || strcmp(word, "chunked_attention") == 0);
}

/* Returns true if layers first, first + n, first + 2 n, ... are those whose window is `is`. */
static bool regular(rlt_json list, uint32_t first, uint32_t n, bool is)
{
    uint32_t i = 0;
    for (rlt_json l = rlt_json_first(list); rlt_json_is(l); l = rlt_json_next(l), i++)
        if ((windowed(l) == is) != (i % n == first))
            return false;
    return true;
}

/* Finds the window_every or full_every that gives the layers of the list. Returns false if none does. */
static bool find_period(rlt_json list, uint32_t n, rlt__config *c)
{
    for (uint32_t every = 1; every <= n; every++)
        if (regular(list, 0, every, true)) {
            add(c, "window_every", every);
            add(c, "full_every", 0);
            return true;
        } else if (regular(list, every - 1, every, false)) {
            add(c, "full_every", every);
            return true;
        }
    return false;
}

static int read_layer_types(rlt_json list, rlt__config *c, rlt_error *err)
{
    uint32_t n = rlt_json_count(list), with = 0;
    if (!rlt_json_is_array(list) || n == 0 || n > 4096)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of 1 to 4096 kinds of attention");
    for (rlt_json l = rlt_json_first(list); rlt_json_is(l); l = rlt_json_next(l)) {
        const char *word = rlt_json_string(l);
        if (!windowed(l) && (!word || strcmp(word, "full_attention") != 0))
            return rlt_json_fail(
                l, RLT_EUNSUPPORTED, err,
                "cannot be mapped: expected full_attention, sliding_attention or chunked_attention");
        with += windowed(l);
    }
    if (with == 0)
        add(c, "window", 0);
    if (with == 0 || find_period(list, n, c))
        return 0;
    return rlt_json_fail(list, RLT_EUNSUPPORTED, err,
                         "cannot be mapped: expected every n-th layer with a window, or every n-th without");
}

static int read_window(rlt_json v, const type *t, rlt__config *c, rlt_error *err)
{
    static const field window = {"sliding_window", "window"};
    rlt_json layers = rlt_json_get(v, "layer_types"), first = rlt_json_get(v, "max_window_layers");
    const rlt_model_family *f = rlt_registry_find(rlt_model_families(), t->family, NULL, NULL);
    bool qwen = strncmp(t->name, "qwen", 4) == 0, used = !qwen;
    uint64_t n = 0;
    int rc = get_yes(v, "use_sliding_window", &used, err);
    if (rc || !used)
        return rc;
    if ((rc = read_field(v, &window, f->parameters, c, err)))
        return rc;
    if (!is_null(layers))
        return read_layer_types(layers, c, err);
    if (qwen && !is_null(first) && !(rc = rlt_json_u64(first, UINT32_MAX, &n, err)) && n > 0)
        rc = rlt_json_fail(first, RLT_EUNSUPPORTED, err, "cannot be mapped with use_sliding_window");
    return rc;
}

/* ---- */

/* Finds the type by its name, which may end in "_text" for the language part of a larger model. */
static const type *find_type(rlt_json v, rlt_error *err)
{
    static const char ending[] = "_text";
    const char *word = NULL;
    char list[512] = "", name[64];
    if (rlt_json_get_string(v, "model_type", true, &word, err))
        return NULL;
    snprintf(name, sizeof name, "%s", word);
    rlt_make_printable(name);
    size_t n = strlen(name), m = sizeof ending - 1;
    if (n > m && strcmp(name + n - m, ending) == 0)
        name[n - m] = '\0';
    for (int i = 0; i < N_TYPES; i++) {
        if (strcmp(name, types[i].name) == 0)
            return &types[i];
        rlt_list_name(list, sizeof list, types[i].name);
    }
    rlt_json_fail(rlt_json_get(v, "model_type"), RLT_EUNSUPPORTED, err,
                  "no model of type '%s' can be read: expected one of %s", name, list);
    return NULL;
}

/* OPT has two positions more than tokens: transformers keeps an offset for padding. */
static int read_positions(rlt_json v, const type *t, rlt__config *c, rlt_error *err)
{
    uint64_t n = 0;
    if (strcmp(t->name, "opt") != 0)
        return 0;
    int rc = rlt_json_get_u64(v, "max_position_embeddings", true, 1 << 23, &n, err);
    if (!rc)
        add(c, "positions", n + 2);
    return rc;
}

/* Settings that only models of tokens have. */
static int read_tokens(rlt_json v, const type *t, rlt__config *c, rlt_error *err)
{
    int rc;
    if ((rc = read_bias(v, t, c, err)) || (rc = read_window(v, t, c, err)) ||
        (rc = read_dropout(v, c, err)) || (rc = read_positions(v, t, c, err)))
        return rc;
    return read_sequence(v, c, err);
}

bool rlt__config_is(rlt_json root)
{
    return !rlt_json_is(rlt_json_get(root, "layers")) && (rlt_json_is(rlt_json_get(root, "model_type")) ||
                                                          rlt_json_is(rlt_json_get(root, "architectures")));
}

int rlt__config_read(rlt_json root, rlt__config *out, rlt_error *err)
{
    rlt_json text = rlt_json_get(root, "text_config"), v = rlt_json_is_object(text) ? text : root;
    const type *t = find_type(rlt_json_is(rlt_json_get(v, "model_type")) ? v : root, err);
    int rc;
    *out = (rlt__config){.family = NULL};
    if (!t)
        return err && err->code ? err->code : RLT_EUNSUPPORTED;
    const rlt_model_family *f = rlt_registry_find(rlt_model_families(), t->family, NULL, NULL);
    snprintf(out->name, sizeof out->name, "%s", t->name);
    out->family = t->family;
    snprintf(out->settings, sizeof out->settings, "%s", t->fixed);
    if ((rc = check_demands(v, err)) || (rc = read_fields(v, t, f->parameters, out, err)) ||
        (rc = check_shapes(v, err)) || (rc = read_pattern(v, out, err)))
        return rc;
    if (rlt_params_find(f->parameters, "sequence") && (rc = read_tokens(v, t, out, err)))
        return rc;
    out->settings[strlen(out->settings) - 1] = '\0'; /* the last comma */
    return 0;
}
