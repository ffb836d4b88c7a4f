/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models read from config.json: the sizes of published weights against their published totals. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/support.h"
#include "workload/models/model.h"

static char dir[] = "/tmp/ringlet-config-XXXXXX";
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

/* Writes the text as config.json and opens `spec`, or the file if it is NULL. */
static int open_text(const char *text, const char *spec, rlt_model *m, rlt_error *err)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    *err = (rlt_error){0};
    return rlt_model_open(spec ? spec : file, m, err);
}

/* Returns the file's text with ' in place of ", which keeps the tables below readable. */
static const char *quoted(const char *text)
{
    static char out[4096];
    assert_true(strlen(text) < sizeof out);
    strcpy(out, text);
    for (char *p = out; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return out;
}

static void open_good(const char *text, const char *spec, rlt_model *m)
{
    rlt_error err;
    if (open_text(quoted(text), spec, m, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
}

#define LLAMA_31_8B                                                                                          \
    "{'architectures':['LlamaForCausalLM'],'model_type':'llama','hidden_size':4096,'intermediate_size':"     \
    "14336,'num_hidden_layers':32,'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':128256,"     \
    "'max_position_embeddings':131072,'tie_word_embeddings':false,'attention_bias':false,'mlp_bias':false,"  \
    "'rope_scaling':{'factor':8.0},'torch_dtype':'bfloat16'}"
#define DEEPSEEK                                                                                             \
    "'kv_lora_rank':512,'qk_nope_head_dim':128,'qk_rope_head_dim':64,'v_head_dim':128,'moe_layer_freq':1,"   \
    "'attention_bias':false,"
#define DEEPSEEK_V3                                                                                          \
    "'hidden_size':7168,'intermediate_size':18432,'num_hidden_layers':61,'num_attention_heads':128,"         \
    "'num_key_value_heads':128,'vocab_size':129280,'q_lora_rank':1536,'n_routed_experts':256,"               \
    "'n_shared_experts':1,'num_experts_per_tok':8,'moe_intermediate_size':2048,'first_k_dense_replace':3"

/* Parameters of the published weights: the safetensors index of the repository, where nothing else is said.
 * `apart` are values that the index counts and gradients do not train. */
static const struct {
    const char *text;
    uint64_t parameters, apart;
} published[] = {
    {LLAMA_31_8B, 8030261248, 0},
    {"{'model_type':'llama','hidden_size':2048,'intermediate_size':8192,'num_hidden_layers':16,'head_dim':64,"
     "'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':128256,'tie_word_embeddings':true}",
     1235814400, 0}, /* Llama 3.2 1B */
    {"{'model_type':'mistral','hidden_size':4096,'intermediate_size':14336,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':32000,'sliding_window':4096}",
     7241732096, 0}, /* Mistral 7B v0.1 */
    {"{'model_type':'mixtral','hidden_size':4096,'intermediate_size':14336,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':32000,'num_local_experts':8,"
     "'num_experts_per_tok':2,'sliding_window':null}",
     46702792704, 0},
    {"{'model_type':'qwen2','hidden_size':3584,'intermediate_size':18944,'num_hidden_layers':28,"
     "'num_attention_heads':28,'num_key_value_heads':4,'vocab_size':152064,'use_sliding_window':false,"
     "'sliding_window':131072,'max_window_layers':28,'tie_word_embeddings':false}",
     7615616512, 0}, /* Qwen2.5 7B */
    {"{'model_type':'qwen2_moe','hidden_size':2048,'intermediate_size':5632,'num_hidden_layers':24,"
     "'num_attention_heads':16,'num_key_value_heads':16,'vocab_size':151936,'num_experts':60,"
     "'num_experts_per_tok':4,'moe_intermediate_size':1408,'shared_expert_intermediate_size':5632,"
     "'decoder_sparse_step':1,'mlp_only_layers':[]}",
     14315784192, 0}, /* Qwen1.5-MoE-A2.7B */
    {"{'model_type':'qwen3','hidden_size':4096,'intermediate_size':12288,'num_hidden_layers':36,'head_dim':"
     "128,'num_attention_heads':32,'num_key_value_heads':8,'vocab_size':151936,'attention_bias':false}",
     8190735360, 0},
    {"{'model_type':'qwen3_moe','hidden_size':2048,'intermediate_size':6144,'num_hidden_layers':48,"
     "'head_dim':128,'num_attention_heads':32,'num_key_value_heads':4,'vocab_size':151936,'num_experts':128,"
     "'num_experts_per_tok':8,'moe_intermediate_size':768,'decoder_sparse_step':1,'mlp_only_layers':[]}",
     30532122624, 0}, /* Qwen3-30B-A3B */
    {"{'model_type':'gemma','hidden_size':2048,'intermediate_size':16384,'num_hidden_layers':18,'head_dim':"
     "256,'num_attention_heads':8,'num_key_value_heads':1,'vocab_size':256000}",
     2506172416, 0},
    {"{'model_type':'gemma2','hidden_size':3584,'intermediate_size':14336,'num_hidden_layers':42,'head_dim':"
     "256,'num_attention_heads':16,'num_key_value_heads':8,'vocab_size':256000,'sliding_window':4096}",
     9241705984, 0},
    {"{'model_type':'gemma3_text','hidden_size':1152,'intermediate_size':6912,'num_hidden_layers':26,"
     "'head_dim':256,'num_attention_heads':4,'num_key_value_heads':1,'vocab_size':262144,"
     "'sliding_window':512,'sliding_window_pattern':6}",
     999885952, 0},
    {"{'model_type':'phi3','hidden_size':3072,'intermediate_size':8192,'num_hidden_layers':32,"
     "'num_attention_heads':32,'num_key_value_heads':32,'vocab_size':32064,'sliding_window':2047,"
     "'resid_pdrop':0.0,'tie_word_embeddings':false}",
     3821079552, 0},
    {"{'model_type':'gpt2','n_embd':768,'n_layer':12,'n_head':12,'n_positions':1024,'vocab_size':50257,"
     "'resid_pdrop':0.1,'n_inner':null}",
     124439808, 0},
    {"{'model_type':'gpt_neox','hidden_size':6144,'intermediate_size':24576,'num_hidden_layers':44,"
     "'num_attention_heads':64,'vocab_size':50432,'max_position_embeddings':2048,'tie_word_embeddings':"
     "false}",
     20554567680, 0}, /* arXiv 2204.06745, section 2.1 */
    {"{'model_type':'opt','hidden_size':768,'ffn_dim':3072,'num_hidden_layers':12,'num_attention_heads':12,"
     "'word_embed_proj_dim':768,'vocab_size':50272,'max_position_embeddings':2048,'do_layer_norm_before':"
     "true,'dropout':0.1}",
     125239296, 0},
    {"{'model_type':'bloom','n_embed':14336,'n_layer':70,'num_attention_heads':112,'vocab_size':250880,"
     "'hidden_dropout':0.0}",
     176247271424, 0}, /* model card of bigscience/bloom */
    {"{'model_type':'deepseek_v2'," DEEPSEEK
     "'hidden_size':2048,'intermediate_size':10944,'num_hidden_layers':27,'num_attention_heads':16,"
     "'num_key_value_heads':16,'vocab_size':102400,'q_lora_rank':null,'n_routed_experts':64,"
     "'n_shared_experts':2,'num_experts_per_tok':6,'moe_intermediate_size':1408,'first_k_dense_replace':1}",
     15706484224, 0}, /* DeepSeek-V2-Lite */
    {"{'model_type':'deepseek_v3'," DEEPSEEK DEEPSEEK_V3 "}", 671026419200,
     58 * 256}, /* biases of 58 routers */
    {"{'model_type':'kimi_k2'," DEEPSEEK
     "'hidden_size':7168,'intermediate_size':18432,'num_hidden_layers':61,'num_attention_heads':64,"
     "'num_key_value_heads':64,'vocab_size':163840,'q_lora_rank':1536,'n_routed_experts':384,"
     "'n_shared_experts':1,'num_experts_per_tok':8,'moe_intermediate_size':2048,'first_k_dense_replace':1,"
     "'num_nextn_predict_layers':0}",
     1026408232448, 60 * 384},
    {"{'model_type':'gpt_oss','hidden_size':2880,'intermediate_size':2880,'num_hidden_layers':24,'head_dim':"
     "64,'num_attention_heads':64,'num_key_value_heads':8,'vocab_size':201088,'num_local_experts':32,"
     "'num_experts_per_tok':4,'sliding_window':128,'attention_bias':true,'tie_word_embeddings':false}",
     20914757184, 0},
    {"{'model_type':'llama4','text_config':{'model_type':'llama4_text','hidden_size':5120,'intermediate_size':"
     "8192,'intermediate_size_mlp':16384,'num_hidden_layers':48,'head_dim':128,'num_attention_heads':40,"
     "'num_key_value_heads':8,'vocab_size':202048,'num_local_experts':16,'num_experts_per_tok':1,"
     "'interleave_moe_layer_step':1,'attention_chunk_size':8192,'attention_bias':false},'vision_config':{}}",
     108641793536, 871932416}, /* Llama 4 Scout; vision encoder and projector are left out */
    {"{'model_type':'nemotron_h','hidden_size':4096,'intermediate_size':21504,'num_hidden_layers':52,"
     "'num_attention_heads':32,'num_key_value_heads':8,'attention_head_dim':128,'vocab_size':131072,"
     "'mamba_num_heads':128,'mamba_head_dim':64,'ssm_state_size':128,'n_groups':8,'conv_kernel':4,"
     "'chunk_size':256,'hybrid_override_pattern':"
     "'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-'}",
     8100852736, 0}, /* the sum in test/workload/models/model.c; the card says 8B */
    {"{'model_type':'vit','hidden_size':768,'intermediate_size':3072,'num_hidden_layers':12,"
     "'num_attention_heads':12,'image_size':224,'patch_size':16,'num_channels':3,'qkv_bias':true}",
     86567656, 0}, /* model card of google/vit-base-patch16-224 */
};
enum { N_PUBLISHED = sizeof published / sizeof *published };

static void published_totals(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        rlt_model m;
        open_good(published[i].text, NULL, &m);
        if (m.parameters + published[i].apart != published[i].parameters)
            fail_msg("%s %zu: %llu, published %llu", m.name, i,
                     (unsigned long long)(m.parameters + published[i].apart),
                     (unsigned long long)published[i].parameters);
        rlt_model_free(&m);
    }
}

/* Half of the sum over layers of FLOPs of scores, in keys per token: which layers have a window. */
static double keys(const rlt_model *m)
{
    double flop = 0;
    for (uint32_t i = 0; i < m->n_layers; i++)
        flop += m->layers[i].work == RLT_WORK_ATTENTION ? m->layers[i].forward_flop : 0;
    return flop / 4 / 64 / m->tokens;
}

#define SMALL "'hidden_size':64,'num_hidden_layers':6,'num_attention_heads':1,'vocab_size':10,'head_dim':64"

/* Layers with a window of 10 of 100 tokens, by a period, by a list, and by the type's own rule. */
static void windows(void **state)
{
    static const struct {
        const char *text;
        double full; /* number of layers that see all tokens */
    } rows[] = {
        {"{'model_type':'mistral'," SMALL ",'sliding_window':10}", 0},
        {"{'model_type':'mistral'," SMALL ",'sliding_window':null}", 6},
        {"{'model_type':'qwen2'," SMALL ",'sliding_window':10}", 6},
        {"{'model_type':'qwen2'," SMALL ",'sliding_window':10,'use_sliding_window':true}", 0},
        {"{'model_type':'gemma2'," SMALL ",'sliding_window':10}", 3},
        {"{'model_type':'gemma3','num_key_value_heads':1," SMALL ",'sliding_window':10}", 1},
        {"{'model_type':'gemma3','num_key_value_heads':1," SMALL
         ",'sliding_window':10,'sliding_window_pattern':3}",
         2},
        {"{'model_type':'gpt_oss'," SMALL ",'sliding_window':10,'layer_types':['full_attention',"
         "'full_attention','sliding_attention','full_attention','full_attention','sliding_attention']}",
         -1},
        {"{'model_type':'llama'," SMALL ",'sliding_window':10,'layer_types':['sliding_attention',"
         "'full_attention','sliding_attention','full_attention','sliding_attention','full_attention']}",
         3},
        {"{'model_type':'llama'," SMALL ",'sliding_window':10,'layer_types':['sliding_attention',"
         "'sliding_attention','full_attention','chunked_attention','sliding_attention','full_attention']}",
         2},
        {"{'model_type':'llama'," SMALL ",'sliding_window':10,'layer_types':['full_attention',"
         "'full_attention','full_attention','full_attention','full_attention','full_attention']}",
         6},
    };
    char spec[80];
    (void)state;
    snprintf(spec, sizeof spec, "%s:sequence=100", file);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_model m;
        rlt_error err;
        if (rows[i].full < 0) { /* no period gives it */
            assert_int_equal(open_text(quoted(rows[i].text), spec, &m, &err), RLT_EUNSUPPORTED);
            assert_non_null(strstr(err.where, "layer_types"));
            continue;
        }
        open_good(rows[i].text, spec, &m);
        double wanted = 100 * rows[i].full + 10 * (6 - rows[i].full);
        if (fabs(keys(&m) - wanted) > 1e-9)
            fail_msg("%s: %g keys, expected %g", rows[i].text, keys(&m), wanted);
        rlt_model_free(&m);
    }
}

/* Settings behind the file override it; a folder stands for its config.json; a language part is read from a
 * larger model; bias of attention alone has four vectors. */
static void ways_of_writing(void **state)
{
    rlt_model m, plain, biased;
    char spec[100];
    (void)state;
    open_good(LLAMA_31_8B, NULL, &m);
    assert_int_equal(m.tokens, 4096); /* the context of 131072 is not what it was trained with */
    assert_string_equal(m.name, "llama");
    assert_string_equal(m.family, "transformer");
    rlt_model_free(&m);
    /* DeepSeek-V3 predicts a token more by 11.5 billion parameters (README_WEIGHTS of its weights). */
    open_good("{'model_type':'deepseek_v3'," DEEPSEEK DEEPSEEK_V3 "}", NULL, &plain);
    open_good("{'model_type':'deepseek_v3'," DEEPSEEK DEEPSEEK_V3 ",'num_nextn_predict_layers':1}", NULL, &m);
    assert_true(fabs((double)(m.parameters - plain.parameters) / 11.5e9 - 1) < 0.011);
    rlt_model_free(&plain);
    rlt_model_free(&m);
    snprintf(spec, sizeof spec, "%s:sequence=128,layers=2", file);
    open_good(LLAMA_31_8B, spec, &m);
    assert_int_equal(m.tokens, 128);
    assert_int_equal(rlt_model_sum(&m).blocks, 2);
    rlt_model_free(&m);
    open_good(LLAMA_31_8B, dir, &m);
    assert_int_equal(m.parameters, 8030261248);
    rlt_model_free(&m);
    snprintf(spec, sizeof spec, "%s:layers=1", dir);
    open_good(LLAMA_31_8B, spec, &m);
    assert_int_equal(rlt_model_sum(&m).blocks, 1);
    rlt_model_free(&m);
    /* a folder is named with a slash or a dot: a name alone is that of a model */
    int back = open(".", O_RDONLY);
    rlt_error err = {0};
    assert_true(back >= 0 && chdir(dir) == 0);
    open_good(LLAMA_31_8B, ".", &m);
    assert_int_equal(m.parameters, 8030261248);
    rlt_model_free(&m);
    assert_int_equal(chdir(".."), 0);
    int rc = rlt_model_open(strrchr(dir, '/') + 1, &m, &err);
    assert_true(fchdir(back) == 0 && close(back) == 0);
    assert_int_equal(rc, RLT_EUSAGE);
    open_good("{'model_type':'other','text_config':{'model_type':'llama'," SMALL "}}", NULL, &m);
    open_good("{'model_type':'llama'," SMALL "}", NULL, &plain);
    assert_int_equal(m.parameters, plain.parameters);
    open_good("{'model_type':'llama'," SMALL ",'attention_bias':true}", NULL, &biased);
    assert_int_equal(biased.parameters - plain.parameters, 6 * 4 * 64);
    rlt_model_free(&m);
    rlt_model_free(&plain);
    rlt_model_free(&biased);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *where, *what;
        int code;
    } rows[] = {
        {"{'model_type':'t5'," SMALL "}", "1:15: model_type", "'t5' can be read: expected one of llama,",
         RLT_EUNSUPPORTED},
        {"{'model_type':7," SMALL "}", "model_type", "expected", RLT_ESCHEMA},
        {"{'architectures':['LlamaForCausalLM']," SMALL "}", "config.json", "missing 'model_type'",
         RLT_ESCHEMA},
        {"{'model_type':'llama'}", "config.json", "missing 'hidden_size'", RLT_ESCHEMA},
        {"{'model_type':'llama','hidden_size':64}", "config.json", "missing 'num_hidden_layers'",
         RLT_ESCHEMA},
        {"{'model_type':'llama','hidden_size':'64'}", "hidden_size", "expected a whole number", RLT_ESCHEMA},
        {"{'model_type':'llama','hidden_size':1e9}", "hidden_size", "expected a whole number", RLT_ESCHEMA},
        {"{'model_type':'llama','hidden_size':99999999999999999999999}", "hidden_size",
         "expected a number from 0 to 1048576", RLT_ERANGE},
        {"{'model_type':'llama','hidden_size':-1}", "hidden_size", "expected a number from 0", RLT_ERANGE},
        {"{'model_type':'llama','hidden_size':0}", "hidden_size", "expected 1 or more", RLT_ERANGE},
        {"{'model_type':'llama','num_hidden_layers':[1]}", "num_hidden_layers", "expected a whole number",
         RLT_ESCHEMA},
        {"{'model_type':'llama'," SMALL ",'tie_word_embeddings':1}", "tie_word_embeddings", "expected",
         RLT_ESCHEMA},
        {"{'model_type':'llama'," SMALL ",'mlp_bias':true}", "mlp_bias", "cannot be mapped",
         RLT_EUNSUPPORTED},
        {"{'model_type':'qwen2'," SMALL ",'use_sliding_window':true,'max_window_layers':1}",
         "max_window_layers", "cannot be mapped with use_sliding_window", RLT_EUNSUPPORTED},
        {"{'model_type':'deepseek_v3'," SMALL ",'kv_lora_rank':16,'attention_bias':true}", "attention_bias",
         "cannot be mapped with latent attention: expected false", RLT_EUNSUPPORTED},
        {"{'model_type':'llama'," SMALL ",'layer_types':[]}", "layer_types", "expected a list", RLT_ESCHEMA},
        {"{'model_type':'llama'," SMALL ",'layer_types':['linear_attention']}", "layer_types[0]",
         "cannot be mapped", RLT_EUNSUPPORTED},
        {"{'model_type':'qwen3_moe'," SMALL ",'mlp_only_layers':[3]}", "mlp_only_layers", "cannot be mapped",
         RLT_EUNSUPPORTED},
        {"{'model_type':'deepseek_v2'," SMALL ",'moe_layer_freq':2}", "moe_layer_freq",
         "cannot be mapped: expected 1", RLT_EUNSUPPORTED},
        {"{'model_type':'opt'," SMALL ",'do_layer_norm_before':false}", "do_layer_norm_before",
         "expected true", RLT_EUNSUPPORTED},
        {"{'model_type':'opt'," SMALL ",'word_embed_proj_dim':32}", "word_embed_proj_dim", "cannot be mapped",
         RLT_EUNSUPPORTED},
        {"{'model_type':'opt'," SMALL ",'max_position_embeddings':8388609}", "max_position_embeddings",
         "expected a number from 0 to 8388608", RLT_ERANGE},
        {"{'model_type':'nemotron_h'," SMALL ",'hybrid_override_pattern':'MX'}", "hybrid_override_pattern",
         "letters M, *, - or E", RLT_ESCHEMA},
        {"{'model_type':'llama'," SMALL ",'is_encoder_decoder':true}", "is_encoder_decoder", "expected false",
         RLT_EUNSUPPORTED},
        {"{'model_type':'llama','model_type':'llama'}", "config.json", "", RLT_ESCHEMA},
        {"{'model_type':'llama'," SMALL ",'num_key_value_heads':5}", "kv_heads", "does not divide",
         RLT_EUSAGE},
        {"{'model_type':'gpt2'," SMALL ",'resid_pdrop':'x'}", "resid_pdrop", "expected", RLT_ESCHEMA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_model m;
        rlt_error err;
        int rc = open_text(quoted(rows[i].text), NULL, &m, &err);
        if (rc == 0 || !strstr(err.where, rows[i].where) || !strstr(err.what, rows[i].what) ||
            (rc != rows[i].code && *rows[i].what))
            fail_msg("%s: %d at '%s': '%s'", rows[i].text, rc, err.where, err.what);
        assert_null(m.layers);
        assert_int_equal(open_text(quoted(rows[i].text), NULL, &m, &err), rc);
    }
}

/* Cut-off and changed texts are read or refused, with a place. */
static void damaged(void **state)
{
    static const char bytes[] = "9\"]}-n";
    char text[4096];
    (void)state;
    for (size_t i = 0; i < N_PUBLISHED; i += 4) {
        const char *whole = quoted(published[i].text);
        size_t n = strlen(whole);
        for (size_t at = 0; at < n; at += 11) {
            rlt_model m;
            rlt_error err;
            memcpy(text, whole, n + 1);
            text[at] = bytes[at % (sizeof bytes - 1)];
            int rc = open_text(text, NULL, &m, &err);
            assert_true(rc == 0 || *err.where);
            rlt_model_free(&m);
            text[at] = '\0';
            assert_int_not_equal(open_text(text, NULL, &m, &err), 0);
            assert_true(*err.where && *err.what);
        }
    }
}

/* A table of layers in a .json file takes no settings. */
static void tables_have_no_settings(void **state)
{
    rlt_model m;
    rlt_error err;
    char spec[80];
    (void)state;
    snprintf(spec, sizeof spec, "%s:layers=2", file);
    assert_int_equal(open_text("{\"layers\": [{\"name\": \"a\"}]}", spec, &m, &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "expected the file alone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_totals), cmocka_unit_test(windows),
        cmocka_unit_test(ways_of_writing),  cmocka_unit_test(refused),
        cmocka_unit_test(damaged),          cmocka_unit_test(tables_have_no_settings),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
