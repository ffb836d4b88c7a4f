/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * config.json files against transformers with settings by hand: both have the same layers. Random lists of the
 * kinds of attention against the windows that they name, layer by layer.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/models/model.h"

static char dir[] = "/tmp/ringlet-twin-XXXXXX";
static char file[64];

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(file, sizeof file, "%s/config.json", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(dir);
}

/* Writes a config with ' in place of ", and opens it. */
static int open_config(const char *text, rlt_model *m, rlt_error *err)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    for (const char *p = text; *p; p++)
        assert_true(fputc(*p == '\'' ? '"' : *p, f) >= 0);
    assert_int_equal(fclose(f), 0);
    *err = (rlt_error){0};
    return rlt_model_open(file, m, err);
}

#define SIZES                                                                                                   \
    "'hidden_size':64,'num_hidden_layers':4,'num_attention_heads':4,'vocab_size':30,'max_position_embeddings':" \
    "50"
#define SAME   "layers=4,hidden=64,heads=4,vocabulary=30,"
#define MODERN "sequence=50,learned_positions=no,fused_attention=yes,norm=rms,gated=yes"
#define LLAMA  "{'model_type':'llama'," SIZES

/* What each field means, by a field more or less. */
static void same_layers(void **state)
{
    static const struct {
        const char *config, *settings;
    } rows[] = {
        {LLAMA "}", SAME MODERN},
        {LLAMA ",'intermediate_size':90}", SAME MODERN ",ffn=90"},
        {LLAMA ",'head_dim':24}", SAME MODERN ",head=24"},
        {LLAMA ",'head_dim':null,'num_key_value_heads':2}", SAME MODERN ",kv_heads=2"},
        {LLAMA ",'attention_bias':true}", SAME MODERN ",bias=attention"},
        {LLAMA ",'attention_bias':true,'mlp_bias':true}", SAME MODERN ",bias=yes"},
        {LLAMA ",'attention_bias':false,'mlp_bias':null}", SAME MODERN},
        {LLAMA ",'tie_word_embeddings':true}", SAME MODERN ",tied=yes"},
        {LLAMA ",'resid_pdrop':0.1}", SAME MODERN ",dropout=yes"},
        {LLAMA ",'resid_pdrop':0,'dropout':0.5}", SAME MODERN ",dropout=yes"},
        {LLAMA ",'resid_pdrop':0,'hidden_dropout':0.0}", SAME MODERN},
        {LLAMA ",'mlp_only_layers':[]}", SAME MODERN},
        {LLAMA ",'sliding_window':7}", SAME MODERN ",window=7"},
        {LLAMA ",'sliding_window':7,'use_sliding_window':false}", SAME MODERN},
        {"{'model_type':'qwen2'," SIZES ",'sliding_window':7}", SAME MODERN ",bias=qkv"},
        {"{'model_type':'qwen2'," SIZES
         ",'sliding_window':7,'use_sliding_window':true,'max_window_layers':0}",
         SAME MODERN ",bias=qkv,window=7"},
        {"{'model_type':'qwen3_text'," SIZES "}", SAME MODERN ",qk_norm=yes"},
        {"{'model_type':'mixtral'," SIZES ",'num_local_experts':6,'num_experts_per_tok':3,"
         "'intermediate_size':20}",
         SAME MODERN ",experts=6,top_k=3,expert_ffn=20"},
        {"{'model_type':'qwen2_moe'," SIZES ",'num_experts':6,'num_experts_per_tok':3,'intermediate_size':80,"
         "'moe_intermediate_size':20,'shared_expert_intermediate_size':30,'decoder_sparse_step':2}",
         SAME MODERN ",bias=qkv,shared_gate=yes,experts=6,top_k=3,ffn=80,expert_ffn=20,shared_ffn=30,"
                     "moe_every=2"},
        {"{'model_type':'deepseek_v3'," SIZES ",'n_routed_experts':6,'num_experts_per_tok':3,"
         "'moe_intermediate_size':20,'n_shared_experts':2,'first_k_dense_replace':1,'q_lora_rank':9,"
         "'kv_lora_rank':8,'qk_rope_head_dim':4,'qk_nope_head_dim':5,'v_head_dim':6,'head_dim':99,"
         "'num_nextn_predict_layers':1,'moe_layer_freq':1}",
         SAME MODERN ",experts=6,top_k=3,expert_ffn=20,shared_experts=2,dense_first=1,q_rank=9,kv_rank=8,"
                     "rotary=4,head=5,value_head=6,mtp=1"},
    };
    static const struct {
        const char *begins, *setting;
    } usual[] = {{",bias=", ",bias=no"}, {",tied=", ",tied=no"}, {",dropout=", ",dropout=no"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char spec[400];
        rlt_model m, t;
        rlt_error err;
        snprintf(spec, sizeof spec, "transformer:%s", rows[i].settings);
        for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
            if (!strstr(spec, usual[k].begins))
                strcat(spec, usual[k].setting);
        if (open_config(rows[i].config, &m, &err) || rlt_model_open(spec, &t, &err))
            fail_msg("%s: %s: %s", rows[i].config, err.where, err.what);
        assert_int_equal(m.n_layers, t.n_layers);
        for (uint32_t k = 0; k < m.n_layers; k++)
            if (memcmp(&m.layers[k], &t.layers[k], sizeof *m.layers) != 0)
                fail_msg("%s: %s differs from that of %s", rows[i].config, m.layers[k].name, spec);
        assert_int_equal(m.tokens, t.tokens);
        rlt_model_free(&m);
        rlt_model_free(&t);
    }
}

/* Keys of each layer's scores, if a list names a window of 10 of 50 tokens for some, whatever windows the type has
 * without a list. A list is taken if the
 * windows are those of layers 1, n + 1, ..., or all but those of n, 2 n, ..., for some n. */
static void lists(void **state)
{
    static const char *const kinds[] = {"full_attention", "sliding_attention", "chunked_attention"};
    static const char *const types[] = {"llama", "gemma2", "gemma3_text", "gpt_oss", "llama4_text"};
    dice d = {.seed = 1};
    uint32_t taken = 0, refused = 0;
    (void)state;
    for (uint32_t trial = 0; trial < 300; trial++) {
        char text[600];
        bool narrow[8], can = false, none = true;
        uint32_t n = 1 + below(&d, 6), every = 1 + below(&d, 4), way = below(&d, 3);
        size_t used = (size_t)snprintf(
            text, sizeof text,
            "{'model_type':'%s','hidden_size':8,'num_hidden_layers':%u,'num_attention_heads':2,"
            "'num_key_value_heads':1,'vocab_size':5,'max_position_embeddings':50,'sliding_window':10,"
            "'layer_types':[",
            types[below(&d, 5)], n);
        for (uint32_t i = 0; i < n; i++) {
            narrow[i] = way == 0 ? below(&d, 2) : way == 1 ? i % every == 0 : (i + 1) % every != 0;
            none &= !narrow[i];
            used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s'", i ? "," : "",
                                     kinds[narrow[i] ? 1 + below(&d, 2) : 0]);
        }
        snprintf(text + used, sizeof text - used, "]}");
        for (uint32_t k = 1; k <= n; k++) {
            bool with = true, without = true;
            for (uint32_t i = 0; i < n; i++) {
                with &= narrow[i] == (i % k == 0);
                without &= narrow[i] == ((i + 1) % k != 0);
            }
            can |= with || without;
        }
        rlt_model m;
        rlt_error err;
        int rc = open_config(text, &m, &err);
        if (rc != (can || none ? 0 : RLT_EUNSUPPORTED))
            fail_msg("%s: %s: %s", text, err.where, err.what);
        for (uint32_t i = 0, k = 0; !rc && i < m.n_layers; i++)
            if (m.layers[i].work == RLT_WORK_ATTENTION)
                if ((int)m.layers[i].keys != (narrow[k++] ? 10 : 50))
                    fail_msg("%s: %g keys in %s", text, m.layers[i].keys, m.layers[i].name);
        taken += !rc;
        refused += rc != 0;
        rlt_model_free(&m);
    }
    assert_true(taken > 100 && refused > 20);
}

/* Sequences are those of the positions, up to 4096. */
static void sequences(void **state)
{
    static const struct {
        const char *fields;
        uint32_t tokens;
    } rows[] = {{"", 4096},
                {",'n_positions':77", 77},
                {",'max_position_embeddings':4095", 4095},
                {",'max_position_embeddings':131072", 4096},
                {",'seq_length':33", 33},
                {",'n_positions':null,'max_position_embeddings':0,'seq_length':33", 33},
                {",'n_positions':12,'max_position_embeddings':14", 12}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        rlt_model m;
        rlt_error err;
        snprintf(text, sizeof text,
                 "{'model_type':'llama','hidden_size':8,'num_hidden_layers':1,'num_attention_heads':1,"
                 "'vocab_size':5%s}",
                 rows[i].fields);
        if (open_config(text, &m, &err))
            fail_msg("%s: %s: %s", text, err.where, err.what);
        assert_int_equal(m.tokens, rows[i].tokens);
        rlt_model_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_layers),
        cmocka_unit_test(lists),
        cmocka_unit_test(sequences),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
