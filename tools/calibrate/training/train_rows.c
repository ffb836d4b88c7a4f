/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads measured training runs from CSV, and finds their settings. Defaults for empty cells: data parallelism
 * is the rest of the accelerators; recomputation is off. Megatron-Bridge shards the optimizer state (ZeRO 1).
 * Both Megatron-Bridge and torchtitan use sequence parallelism with tensor parallelism. CUDA graphs and
 * overlapped tensor parallelism of Megatron-Bridge are covered by the fitted efficiency.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/model.h"
#include "workload/training/training.h"

/* A measured system. Bandwidths are per accelerator and direction. Accelerators of a node (or NVLink domain)
 * are joined by switches, except for V100, where they are linked directly. */
typedef struct system_known {
    const char *begins, *accelerator, *stack;
    uint32_t node;
    const char *inner, *outer; /* dimensions; "%u" stands for the size */
} system_known;

/* NVLink: 25 GB/s a link, 6 links of V100, 12 of A100, 18 of H100; 50 GB/s, 18 links of Blackwell (NVIDIA
 * data sheets). Between nodes: Jean Zay has four OPA of 100 Gb/s a node of 4 (IDRIS); the A100 of llm-foundry
 * 1600 Gb/s a node of 8; Selene eight HDR of 200 Gb/s; H100, B200 and GB200 400 Gb/s an accelerator
 * (ConnectX-7), B300 and GB300 800 Gb/s (ConnectX-8). Jobs use 64 of the 72 accelerators of an NVLink domain.
 * Latencies are assumed. */
static const system_known systems[] = {
    {"V100-SXM2-16GB", "v100-sxm2-16gb", "megatron", 4, "fully-connected:%u@150GB/s,700ns",
     "switch:%u@12.5GB/s,1us"},
    {"V100-SXM2-32GB", "v100-sxm2-32gb", "megatron", 4, "fully-connected:%u@150GB/s,700ns",
     "switch:%u@12.5GB/s,1us"},
    {"a100_80gb", "a100-80gb", "llm-foundry", 8, "switch:%u@300GB/s,500ns", "switch:%u@25GB/s,1us"},
    {"a100_40gb", "a100-40gb", "llm-foundry", 8, "switch:%u@300GB/s,500ns", "switch:%u@25GB/s,1us"},
    {"A100-80GB SXM (Selene)", "a100-80gb", "megatron", 8, "switch:%u@300GB/s,500ns", "switch:%u@25GB/s,1us"},
    {"H100 96GB HBM2e", "h100-hbm2e-96gb", "torchtitan", 8, "switch:%u@450GB/s,500ns",
     "switch:%u@50GB/s,1us"},
    {"DGX-H100", "h100-sxm", "megatron-bridge", 8, "switch:%u@450GB/s,500ns", "switch:%u@50GB/s,1us"},
    {"DGX-B200", "b200", "megatron-bridge", 8, "switch:%u@900GB/s,500ns", "switch:%u@50GB/s,1us"},
    {"DGX-B300", "b300", "megatron-bridge", 8, "switch:%u@900GB/s,500ns", "switch:%u@100GB/s,1us"},
    {"DGX-GB200", "gb200", "megatron-bridge", 64, "switch:%u@900GB/s,500ns", "switch:%u@50GB/s,1us"},
    {"DGX-GB300", "gb300", "megatron-bridge", 64, "switch:%u@900GB/s,500ns", "switch:%u@100GB/s,1us"},
};

/* The first entry with which the name begins applies. */
static const struct {
    const char *begins, *spec;
    bool moe;
} models[] = {
    {"GPT-2 7.5B", "gpt2-7.5b", false},
    {"GPT-2 18B", "gpt2-18b", false},
    {"GPT-2 30B", "gpt2-30b", false},
    {"GPT-2 39B", "gpt2-39b", false},
    {"GPT-2 52B", "gpt2-52b", false},
    {"GPT-2 h6144 L40", "gpt2-18b", false},
    {"GPT-2 h9216 L64", "gpt2-65b", false},
    {"MPT 125m", "mpt-125m", false},
    {"MPT 350m", "mpt-350m", false},
    {"MPT 760m", "mpt-760m", false},
    {"MPT 1b", "mpt-1b", false},
    {"MPT 3b", "mpt-3b", false},
    {"MPT 7b", "mpt-7b", false},
    {"MPT 13b", "mpt-13b", false},
    {"MPT 30b", "mpt-30b", false},
    {"MPT 70b", "mpt-70b", false},
    {"LLAMA3_8B", "llama3-8b", false},
    {"LLAMA3_70B", "llama3-70b", false},
    {"LLAMA3.1_405B", "llama3.1-405b", false},
    {"Llama3.1 8B", "llama3.1-8b", false},
    {"Llama3.1 70B", "llama3.1-70b", false},
    {"Megatron 22B", "megatron-22b", false},
    {"GPT-3 175B", "gpt3-175b", false},
    {"DeepSeekV3 (w/ MTP)", "deepseek-v3:mtp=1", true},
    {"DeepSeekV3", "deepseek-v3", true},
    {"GPT OSS 120B", "gpt-oss-120b", true},
    {"Qwen3_30B_a3B", "qwen3-30b-a3b", true},
    {"Qwen3_235B_a22B", "qwen3-235b-a22b", true},
};

static const char *const precisions[][2] = {
    {"bf16", "bf16"}, {"amp_bf16", "bf16"}, {"BF16", "bf16"},   {"fp16", "fp16"},    {"fp8", "fp8"},
    {"FP8", "fp8"},   {"FP8-CS", "fp8"},    {"MXFP8", "mxfp8"}, {"FP8-MX", "mxfp8"}, {"NVFP4", "fp4"},
};
static const char *const recomputes[][2] = {
    {"", "none"},
    {"False", "none"},
    {"True", "full"},
    {"full", "full"},
    {"yes", "full"},
    {"selective", "selective"},
    {"selective + sequence parallel", "selective"},
};

typedef enum field {
    F_MODEL,
    F_PARAMS,
    F_SYSTEM,
    F_GPUS,
    F_TP,
    F_PP,
    F_DP,
    F_CP,
    F_VP,
    F_EP,
    F_SHARDING,
    F_BATCH,
    F_MICROBATCH,
    F_SEQUENCE,
    F_PRECISION,
    F_RECOMPUTE,
    F_TIME,
    F_TFLOPS,
    F_NOTE,
    N_FIELDS
} field;
static const char *const columns[N_FIELDS] = {"model",
                                              "params",
                                              "gpu_system",
                                              "n_gpus",
                                              "tp",
                                              "pp",
                                              "dp",
                                              "cp",
                                              "vp",
                                              "ep",
                                              "sharding",
                                              "global_batch",
                                              "micro_batch",
                                              "seq_len",
                                              "precision",
                                              "recompute",
                                              "iteration_time_s",
                                              "tflops_per_gpu",
                                              "note"};

typedef struct reader {
    rlt_csv csv;
    int column[N_FIELDS];
    rlt_train_row *row;
} reader;

static const char *cell(const reader *r, field f)
{
    return r->csv.cells[r->column[f]];
}

/* Marks the row as not covered. The first reason is kept. Returns false. */
static bool cannot(reader *r, const char *fmt, ...) RLT_PRINTF(2);
static bool cannot(reader *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!*r->row->reason)
        vsnprintf(r->row->reason, sizeof r->row->reason, fmt, args);
    va_end(args);
    return false;
}

/* Reads a count from a cell. An empty cell or "n/a" is `otherwise`. */
static int count_of(const reader *r, field f, uint64_t otherwise, uint64_t *out, rlt_error *err)
{
    const char *text = cell(r, f);
    *out = otherwise;
    if (!*text || strcmp(text, "n/a") == 0)
        return 0;
    if (rlt_parse_count(text, out, NULL, NULL) || *out > UINT32_MAX || *out == 0)
        return rlt_csv_fail(&r->csv, r->column[f], RLT_EMALFORMED, err,
                            "%s: expected a whole number above 0, got '%.40s'", columns[f], text);
    return 0;
}

static const char *word_of(const char *const (*table)[2], size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i][0], text) == 0)
            return table[i][1];
    return NULL;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns true for cells such as "1 (2)": two runs share the row, and the source table merged their
 * figures. */
static bool two_runs(const reader *r)
{
    static const field fields[] = {F_TP, F_PP, F_CP, F_VP, F_SHARDING, F_PRECISION, F_TFLOPS};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strchr(cell(r, fields[i]), '('))
            return true;
    return false;
}

static void network_of(const system_known *s, uint32_t ranks, char *out, size_t size)
{
    uint32_t inner = ranks < s->node ? ranks : s->node;
    char a[64], b[64];
    const char *at = strchr(s->inner, '%'), *to = strchr(s->outer, '%');
    snprintf(a, sizeof a, "%.*s%u%s", (int)(at - s->inner), s->inner, inner, at + 2);
    snprintf(b, sizeof b, "%.*s%u%s", (int)(to - s->outer), s->outer, ranks / inner, to + 2);
    snprintf(out, size, ranks > inner ? "%s*%s" : "%s", a, b);
}

static bool find_system(reader *r, const system_known **out)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (begins(cell(r, F_SYSTEM), systems[i].begins)) {
            *out = &systems[i];
            return true;
        }
    return cannot(r, "the system '%.60s' is not known", cell(r, F_SYSTEM));
}

static bool find_model(reader *r, uint64_t sequence)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (begins(cell(r, F_MODEL), models[i].begins)) {
            snprintf(r->row->spec, sizeof r->row->spec, "%s%csequence=%llu", models[i].spec,
                     strchr(models[i].spec, ':') ? ',' : ':', (unsigned long long)sequence);
            r->row->dense = !models[i].moe;
            return true;
        }
    return cannot(r, "the model '%.60s' is not known", cell(r, F_MODEL));
}

/* Finds the ZeRO stage. */
static bool sharding_of(reader *r, const system_known *s, uint32_t *zero)
{
    const char *text = cell(r, F_SHARDING);
    if (!*text)
        *zero = strcmp(s->stack, "megatron-bridge") == 0 || strstr(cell(r, F_MODEL), "DeepSpeed") ? 1 : 0;
    else if (strcmp(text, "FULL_SHARD") == 0 || begins(text, "FSDP"))
        *zero = 3;
    else
        return cannot(r, "the sharding '%.40s' is not known", text);
    return true;
}

static void set_stack(const reader *r, const system_known *s, rlt_training *t)
{
    const char *note = cell(r, F_NOTE), *stack = s->stack;
    if (strcmp(stack, "torchtitan") == 0 && (strstr(note, "compile") || strstr(note, "2D")))
        stack = "torchtitan-compile";
    snprintf(t->stack, sizeof t->stack, "%s", stack);
}

/* Sets the sizes of the layout from cells. A row with contradictory sizes is not covered. */
static bool layout_of(reader *r, const uint64_t n[N_FIELDS])
{
    rlt_training *t = &r->row->training;
    uint64_t inner = n[F_TP] * n[F_PP] * n[F_CP], dp = n[F_DP] ? n[F_DP] : n[F_GPUS] / inner;
    const char *note = strstr(cell(r, F_NOTE), "GAS="), *other = strstr(cell(r, F_NOTE), "GradAccum ");
    long said = note ? strtol(note + 4, NULL, 10) : other ? strtol(other + 10, NULL, 10) : 0;
    if (inner * dp != n[F_GPUS])
        return cannot(r, "tp %llu x pp %llu x cp %llu x dp %llu are not %llu accelerators",
                      (unsigned long long)n[F_TP], (unsigned long long)n[F_PP], (unsigned long long)n[F_CP],
                      (unsigned long long)dp, (unsigned long long)n[F_GPUS]);
    if (said && (uint64_t)said * dp * n[F_MICROBATCH] != n[F_BATCH])
        return cannot(r, "%ld microbatches of %llu x dp %llu are not a batch of %llu", said,
                      (unsigned long long)n[F_MICROBATCH], (unsigned long long)dp,
                      (unsigned long long)n[F_BATCH]);
    t->size[RLT_AXIS_TP] = (uint32_t)n[F_TP];
    t->size[RLT_AXIS_CP] = (uint32_t)n[F_CP];
    t->size[RLT_AXIS_DP] = (uint32_t)dp;
    t->size[RLT_AXIS_PP] = (uint32_t)n[F_PP];
    t->ep = (uint32_t)n[F_EP];
    t->vp = (uint32_t)n[F_VP];
    t->schedule = t->vp > 1 ? RLT_SCHEDULE_INTERLEAVED : RLT_SCHEDULE_1F1B;
    t->batch = n[F_BATCH];
    t->microbatch = (uint32_t)n[F_MICROBATCH];
    r->row->ranks = (uint32_t)n[F_GPUS];
    return true;
}

static int interpret(reader *r, rlt_error *err)
{
    static const field required[] = {F_GPUS, F_BATCH, F_MICROBATCH, F_SEQUENCE};
    static const field optional[] = {F_TP, F_PP, F_CP, F_VP, F_EP};
    rlt_train_row *row = r->row;
    rlt_training *t = &row->training;
    const system_known *s = NULL;
    uint64_t n[N_FIELDS] = {0};
    const char *recompute, *precision;
    int rc = 0;
    if (two_runs(r)) {
        cannot(r, "the row mixes the figures of two runs");
        return 0;
    }
    for (size_t i = 0; i < sizeof optional / sizeof *optional && !rc; i++)
        rc = count_of(r, optional[i], 1, &n[optional[i]], err);
    for (size_t i = 0; i < sizeof required / sizeof *required && !rc; i++)
        rc = count_of(r, required[i], 0, &n[required[i]], err);
    if (rc || (rc = count_of(r, F_DP, 0, &n[F_DP], err)))
        return rc;
    *t = rlt_training_default();
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!n[required[i]])
            return cannot(r, "no %s is given", columns[required[i]]);
    if (!find_system(r, &s) || !find_model(r, n[F_SEQUENCE]) || !layout_of(r, n) ||
        !sharding_of(r, s, &t->zero))
        return 0;
    precision = word_of(precisions, sizeof precisions / sizeof *precisions, cell(r, F_PRECISION));
    recompute = word_of(recomputes, sizeof recomputes / sizeof *recomputes, cell(r, F_RECOMPUTE));
    if (!precision)
        return cannot(
            r, *cell(r, F_PRECISION) ? "the precision '%.40s' is not known" : "no precision is given%s",
            cell(r, F_PRECISION));
    if (!recompute)
        return cannot(r, "the recomputation '%.40s' is not known", cell(r, F_RECOMPUTE));
    if (strstr(cell(r, F_NOTE), "AsyncTP"))
        return cannot(r, "tensor parallelism that overlaps its communication is not generated");
    if ((rc = rlt_training_set(t, "precision", precision, err)) ||
        (rc = rlt_training_set(t, "recompute", recompute, err)))
        return rc;
    set_stack(r, s, t);
    t->sequence_parallel = t->size[RLT_AXIS_TP] > 1 && (strcmp(s->stack, "megatron") != 0 ||
                                                        strstr(cell(r, F_RECOMPUTE), "sequence parallel"));
    row->v100 = begins(s->accelerator, "v100");
    snprintf(row->accelerator, sizeof row->accelerator, "%s", s->accelerator);
    network_of(s, row->ranks, row->network, sizeof row->network);
    return 0;
}

static int read_time(reader *r, rlt_error *err)
{
    char *end;
    const char *text = cell(r, F_TIME);
    double s = strtod(text, &end);
    if (end == text || *end || !isfinite(s) || s < 0)
        return rlt_csv_fail(&r->csv, r->column[F_TIME], RLT_EMALFORMED, err,
                            "iteration_time_s: expected seconds, got '%.40s'", text);
    r->row->measured_s = s;
    return 0;
}

static int read_row(rlt_train_rows *t, reader *r, rlt_error *err)
{
    int rc =
        rlt_grow(&t->rows, &t->room, sizeof *t->rows, (uint64_t)t->n + 1, RLT_MAX_TRAIN_ROWS, "rows", err);
    if (rc)
        return rc;
    r->row = &t->rows[t->n++];
    *r->row = (rlt_train_row){.line = r->csv.line, .group = RLT_NONE};
    snprintf(r->row->model, sizeof r->row->model, "%s", cell(r, F_MODEL));
    snprintf(r->row->precision, sizeof r->row->precision, "%s", cell(r, F_PRECISION));
    rlt_make_printable(r->row->model);
    rlt_make_printable(r->row->precision);
    if ((rc = read_time(r, err)) || (rc = interpret(r, err)))
        return rc;
    if (r->row->measured_s <= 0)
        cannot(r, "its time is 0");
    rlt_make_printable(r->row->reason);
    return 0;
}

static int find_columns(reader *r, rlt_error *err)
{
    for (int f = 0; f < N_FIELDS; f++) {
        r->column[f] = rlt_csv_column(&r->csv, columns[f]);
        if (r->column[f] < 0)
            return rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, err,
                                "no column '%s': not a table of measured training runs", columns[f]);
    }
    return 0;
}

int rlt_train_rows_read(rlt_train_rows *t, const char *path, rlt_error *err)
{
    enum { MAX_TEXT = 1 << 26 };
    char *text = NULL;
    size_t length;
    reader *r = calloc(1, sizeof *r);
    int rc = r ? rlt_read_file(path, MAX_TEXT, &text, &length, err) : rlt_nomem(err);
    if (!rc && !(rc = rlt_csv_begin(&r->csv, path, text, length, err)))
        rc = find_columns(r, err);
    while (!rc && (rc = rlt_csv_next(&r->csv, err)) == 1)
        rc = read_row(t, r, err);
    free(text);
    free(r);
    return rc;
}

void rlt_train_rows_free(rlt_train_rows *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        rlt_model_free(&t->rows[i].shape);
    free(t->rows);
    *t = (rlt_train_rows){0};
}
