/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads measured training runs from CSV, and finds their settings. Defaults for empty cells: data parallelism
 * is the rest of the accelerators; recomputation is off. Megatron-Bridge shards the optimizer state (ZeRO 1).
 * Both Megatron-Bridge and torchtitan use sequence parallelism with tensor parallelism.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/setup/locate.h"
#include "workload/training/training.h"

static const char *const precisions[][2] = {
    {"bf16", "bf16"},   {"amp_bf16", "bf16"}, {"BF16", "bf16"},   {"fp16", "fp16"},
    {"fp8", "fp8"},     {"FP8", "fp8"},       {"amp_fp8", "fp8"}, {"FP8-CS", "fp8"},
    {"MXFP8", "mxfp8"}, {"FP8-MX", "mxfp8"},  {"NVFP4", "fp4"},
};
static const char *const recomputes[][2] = {
    {"", "none"},    {"False", "none"},          {"none", "none"},
    {"off", "none"}, {"True", "full"},           {"full", "full"},
    {"yes", "full"}, {"selective", "selective"}, {"selective + sequence parallel", "selective"},
};

typedef enum field {
    F_MODEL,
    F_SYSTEM,
    F_GPUS,
    F_BATCH,
    F_MICROBATCH,
    F_PRECISION,
    F_TIME,
    N_REQUIRED,
    F_SEQUENCE = N_REQUIRED, /* empty: the model's */
    F_TP,
    F_PP,
    F_DP,
    F_CP,
    F_VP,
    F_EP,
    F_ETP,
    F_SHARDING,
    F_RECOMPUTE,
    F_TFLOPS,
    F_NOTE,
    F_SOURCE,
    F_CLUSTER,
    F_STACK,
    F_LAYOUTS,
    F_LAYERS,
    F_HIDDEN,
    F_HEADS,
    F_KV_HEADS,
    F_FFN,
    F_GATED,
    F_VOCABULARY,
    F_STATUS,
    F_TOPOLOGY,
    F_OVERLAP,
    F_DISPATCHER,
    F_SCHEDULE,
    F_SPLIT,
    F_DISPATCH_PRECISION,
    F_TOKEN_NODES,
    N_FIELDS
} field;
/* Names of the columns; a second name is that of another kind of table. */
static const char *const columns[N_FIELDS][2] = {
    {"model"},
    {"gpu_system", "accelerator"},
    {"n_gpus", "n"},
    {"global_batch"},
    {"micro_batch"},
    {"precision"},
    {"iteration_time_s", "iteration_s"},
    {"seq_len", "seq"},
    {"tp"},
    {"pp"},
    {"dp"},
    {"cp"},
    {"vp"},
    {"ep"},
    {"etp"},
    {"sharding", "zero"},
    {"recompute"},
    {"tflops_per_gpu"},
    {"note"},
    {"source"},
    {"cluster"},
    {"stack"},
    {"group_id"},
    {"layers"},
    {"hidden"},
    {"heads"},
    {"kv_heads"},
    {"ffn"},
    {"gated"},
    {"vocab"},
    {"status"},
    {"topology"},
    {"overlap"},
    {"dispatcher"},
    {"schedule"},
    {"split"},
    {"dispatch_precision"},
    {"token_nodes"},
};
/* Columns that are settings of a training by the same name (workload/training/PARAMETERS.md). */
static const field settings[] = {F_SCHEDULE, F_SPLIT, F_DISPATCH_PRECISION, F_TOKEN_NODES};

typedef struct reader {
    uint32_t malformed; /* rows with a cell that cannot be read */
    rlt_error first;    /* about the first of them */
    rlt_csv csv;
    int column[N_FIELDS];
    rlt_train_row *row;
    rlt_json systems, models, recipes;
    const rlt_train_reading *how;
} reader;

/* A system of names.json. */
typedef struct system_known {
    rlt_json dispatchers; /* names of dispatchers by the words of tables */
    const char *accelerator, *stack;
    struct {
        const char *inside, *between; /* dimensions; "%u" stands for the size */
    } messages, collectives;
    uint32_t node;
} system_known;

static const char *cell(const reader *r, field f)
{
    return rlt_csv_cell(&r->csv, r->column[f]);
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
                            "%s: expected a whole number above 0, got '%.40s'", columns[f][0], text);
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

/* ---- systems and models ---- */

static const char *text_of(rlt_json v, const char *key)
{
    return rlt_json_string(rlt_json_get(v, key));
}

/* Returns the first entry that the text begins with. */
static rlt_json entry_of(rlt_json list, const char *text)
{
    rlt_json v = rlt_json_first(list);
    while (rlt_json_is(v) && (!text_of(v, "begins") || !begins(text, text_of(v, "begins"))))
        v = rlt_json_next(v);
    return v;
}

/* Writes a topology with a size in place of its "%u", if it has one. */
static void sized(const char *shape, uint32_t n, char *out, size_t size)
{
    const char *at = strstr(shape, "%u");
    if (at)
        snprintf(out, size, "%.*s%u%s", (int)(at - shape), shape, n, at + 2);
    else
        snprintf(out, size, "%s", shape);
}

static void network_of(const char *inside, const char *between, uint32_t node, uint32_t ranks, char *out,
                       size_t size)
{
    uint32_t inner = ranks < node ? ranks : node;
    char a[96], b[96];
    sized(inside, inner, a, sizeof a);
    sized(between, ranks / inner, b, sizeof b);
    snprintf(out, size, ranks > inner ? "%s*%s" : "%s", a, b);
}

static bool has_size(const char *shape)
{
    const char *at = shape ? strstr(shape, "%u") : NULL;
    return at && !strchr(at + 1, '%');
}

/* Takes the system for an accelerator by name or file, on the topology that is given. */
static bool own_system(reader *r, const char *system, const char *topology, system_known *s)
{
    rlt_train_row *row = r->row;
    char path[PATH_MAX];
    if (!rlt_accelerator_path(system, rlt_accelerator_dirs().list, path, sizeof path))
        return cannot(r, "the system '%.60s' is not known, and no accelerator has this name", system);
    if (strlen(system) >= sizeof row->accelerator)
        return cannot(r, "the name of the accelerator is too long");
    if (!*topology)
        return cannot(r, "no topology is given for the system '%.60s'", system);
    if (strlen(topology) >= sizeof row->network)
        return cannot(r, "the topology is too long");
    *s = (system_known){.accelerator = system, .stack = *cell(r, F_STACK) ? cell(r, F_STACK) : "auto"};
    snprintf(row->network, sizeof row->network, "%s", topology);
    snprintf(row->collective, sizeof row->collective, "%s", topology);
    return true;
}

/* Finds the system: one that names.json knows, or an accelerator. */
static bool find_system(reader *r, system_known *s)
{
    char text[256];
    uint64_t node = 1;
    const char *named = r->how->accelerator, *topology = cell(r, F_TOPOLOGY);
    snprintf(text, sizeof text, "%s%s%s", cell(r, F_SYSTEM), *cell(r, F_CLUSTER) ? " " : "",
             cell(r, F_CLUSTER));
    rlt_json known = entry_of(r->systems, text);
    if (!*topology && r->how->topology && (named || !rlt_json_is(known)))
        topology = r->how->topology;
    if (named || *topology || !rlt_json_is(known))
        return own_system(r, named ? named : cell(r, F_SYSTEM), topology, s);
    rlt_json v = known;
    *s = (system_known){.accelerator = text_of(v, "accelerator"), .stack = text_of(v, "stack"), .node = 1};
    s->messages.inside = s->collectives.inside = text_of(v, "inside");
    s->messages.between = s->collectives.between = text_of(v, "between");
    s->dispatchers = rlt_json_get(v, "dispatchers");
    rlt_json other = rlt_json_get(v, "collectives"), messages = rlt_json_get(v, "messages");
    if (r->how->measured && rlt_json_is(other)) {
        s->collectives.inside = text_of(other, "inside");
        s->collectives.between = text_of(other, "between");
    }
    if (r->how->measured && rlt_json_is(messages))
        s->messages.between = text_of(messages, "between");
    if (rlt_json_get_u64(v, "node", true, 1 << 20, &node, NULL) || node == 0 || !s->accelerator ||
        !s->stack || !s->messages.inside || !has_size(s->messages.between) || !s->collectives.inside ||
        !has_size(s->collectives.between))
        return cannot(r, "the names of systems are incomplete for '%.60s'", text);
    s->node = (uint32_t)node;
    if (text_of(v, "note"))
        snprintf(r->row->note, sizeof r->row->note, "%s", text_of(v, "note"));
    return true;
}

/* Makes a transformer of the sizes in the columns. */
static void sized_model(reader *r)
{
    rlt_train_row *row = r->row;
    if (!*cell(r, F_SEQUENCE))
        cannot(r, "sizes of a model need seq_len");
    const char *gated = cell(r, F_GATED);
    int n = snprintf(row->spec, sizeof row->spec,
                     "transformer:layers=%s,hidden=%s,heads=%s,vocabulary=%s,sequence=%s,gated=%s",
                     cell(r, F_LAYERS), cell(r, F_HIDDEN), cell(r, F_HEADS), cell(r, F_VOCABULARY),
                     cell(r, F_SEQUENCE), *gated && strcmp(gated, "no") != 0 ? "yes" : "no");
    size_t used = n < 0 ? sizeof row->spec : (size_t)n;
    if (used < sizeof row->spec && *cell(r, F_KV_HEADS))
        used +=
            (size_t)snprintf(row->spec + used, sizeof row->spec - used, ",kv_heads=%s", cell(r, F_KV_HEADS));
    if (used < sizeof row->spec && *cell(r, F_FFN))
        used += (size_t)snprintf(row->spec + used, sizeof row->spec - used, ",ffn=%s", cell(r, F_FFN));
    if (used < sizeof row->spec && strstr(cell(r, F_STACK), "flash"))
        snprintf(row->spec + used, sizeof row->spec - used, ",fused_attention=yes,dropout=no");
    snprintf(row->family, sizeof row->family, "%.*s", (int)strcspn(row->model, " "), row->model);
    row->dense = true;
}

static bool find_model(reader *r, uint64_t sequence)
{
    rlt_train_row *row = r->row;
    if (*cell(r, F_LAYERS)) {
        sized_model(r);
        return true;
    }
    rlt_json v = entry_of(r->models, cell(r, F_MODEL));
    const char *spec = text_of(v, "model"), *family = text_of(v, "family");
    if (!spec)
        spec = cell(r, F_MODEL);
    if (strlen(spec) + 32 > sizeof row->spec)
        return cannot(r, "the model's text is too long");
    if (sequence && !strstr(spec, "sequence="))
        snprintf(row->spec, sizeof row->spec, "%s%csequence=%llu", spec, strchr(spec, ':') ? ',' : ':',
                 (unsigned long long)sequence);
    else
        snprintf(row->spec, sizeof row->spec, "%s", spec);
    snprintf(row->family, sizeof row->family, "%s", family ? family : cell(r, F_MODEL));
    return true;
}

/* ---- layouts ---- */

/* Finds the ZeRO stage. */
static bool sharding_of(reader *r, const char *stack, uint32_t *zero)
{
    const char *text = cell(r, F_SHARDING);
    if (!*text)
        *zero = strcmp(stack, "megatron-bridge") == 0 || strstr(cell(r, F_MODEL), "DeepSpeed") ? 1 : 0;
    else if (*text >= '0' && *text <= '3')
        *zero = (uint32_t)(*text - '0');
    else if (strcmp(text, "FULL_SHARD") == 0 || begins(text, "FSDP"))
        *zero = 3;
    else if (strcmp(text, "SHARD_GRAD_OP") == 0)
        *zero = 2;
    else
        return cannot(r, "the sharding '%.40s' is not known", text);
    return true;
}

static void set_stack(const reader *r, const char *stack, rlt_training *t)
{
    const char *note = cell(r, F_NOTE);
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
    t->etp = (uint32_t)n[F_ETP];
    t->vp = (uint32_t)n[F_VP];
    t->schedule = t->vp > 1 ? RLT_SCHEDULE_INTERLEAVED : RLT_SCHEDULE_1F1B;
    t->batch = n[F_BATCH];
    t->microbatch = (uint32_t)n[F_MICROBATCH];
    r->row->ranks = (uint32_t)n[F_GPUS];
    return true;
}

static bool words_of(reader *r, const char **precision, const char **recompute)
{
    *precision = word_of(precisions, sizeof precisions / sizeof *precisions, cell(r, F_PRECISION));
    *recompute = word_of(recomputes, sizeof recomputes / sizeof *recomputes, cell(r, F_RECOMPUTE));
    if (!*precision)
        return cannot(
            r, *cell(r, F_PRECISION) ? "the precision '%.40s' is not known" : "no precision is given%s",
            cell(r, F_PRECISION));
    if (!*recompute)
        return cannot(r, "the recomputation '%.40s' is not known", cell(r, F_RECOMPUTE));
    return true;
}

/* Settings that follow from the stack. */
static void set_habits(const reader *r, const system_known *s, rlt_training *t)
{
    bool megatron = strcmp(s->stack, "megatron") == 0;
    t->sequence_parallel =
        t->size[RLT_AXIS_TP] > 1 && (!megatron || strstr(cell(r, F_RECOMPUTE), "sequence parallel"));
    if (*cell(r, F_LAYOUTS) && megatron) {
        t->overlap = false; /* Megatron-DeepSpeed sums gradients after the backward pass */
        t->main_gradient_bytes = 4;
    }
    if (strcmp(s->stack, "torchtitan") == 0) { /* as the strategy of this name has it */
        t->reshard = RLT_RESHARD_AUTO;
        if (t->recompute == RLT_RECOMPUTE_SELECTIVE)
            t->recompute = RLT_RECOMPUTE_PRODUCTS; /* its selective checkpointing repeats operations */
    }
}

/* Returns whether exchanges of tokens overlap: as the row says, else as the published configuration of its
 * model and system in names.json says. */
static bool overlaps(const reader *r)
{
    const char *overlap = cell(r, F_OVERLAP);
    rlt_json v = rlt_json_first(r->recipes);
    for (; rlt_json_is(v) && !*overlap; v = rlt_json_next(v)) {
        const char *model = text_of(v, "model"), *system = text_of(v, "system"),
                   *said = text_of(v, "overlap");
        if (model && system && said && begins(cell(r, F_MODEL), model) && begins(cell(r, F_SYSTEM), system))
            overlap = said;
    }
    return strcmp(overlap, "on") == 0;
}

/* Sets how tokens get to experts. A dispatcher that names.json does not know on the system is not covered. */
static void set_dispatcher(reader *r, const system_known *s, rlt_training *t)
{
    const char *word = cell(r, F_DISPATCHER), *name = text_of(s->dispatchers, word);
    t->expert_overlap = overlaps(r);
    if (!*word)
        return;
    t->node = s->node;
    if (name)
        snprintf(t->dispatcher, sizeof t->dispatcher, "%s", name);
    else
        cannot(r, "the dispatcher '%.40s' is not known on this system", word);
}

/* Sets what columns say as settings of a training do. A word that it does not know is not covered. */
static void set_settings(reader *r, rlt_training *t)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        rlt_error why = {0};
        const char *text = cell(r, settings[i]);
        if (*text && rlt_training_set(t, columns[settings[i]][0], text, &why))
            cannot(r, "%.80s: %.400s", why.where, why.what);
    }
}

static int read_counts(reader *r, uint64_t n[N_FIELDS], rlt_error *err)
{
    static const field required[] = {F_GPUS, F_TP, F_PP, F_BATCH, F_MICROBATCH};
    static const field optional[] = {F_CP, F_VP, F_EP};
    int rc = 0;
    for (size_t i = 0; i < sizeof optional / sizeof *optional && !rc; i++)
        rc = count_of(r, optional[i], 1, &n[optional[i]], err);
    for (size_t i = 0; i < sizeof required / sizeof *required && !rc; i++)
        rc = count_of(r, required[i], 0, &n[required[i]], err);
    if (rc || (rc = count_of(r, F_DP, 0, &n[F_DP], err)) || (rc = count_of(r, F_ETP, 0, &n[F_ETP], err)) ||
        (rc = count_of(r, F_SEQUENCE, 0, &n[F_SEQUENCE], err)))
        return rc;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!n[required[i]])
            cannot(r, "no %s is given", columns[required[i]][0]);
    return 0;
}

static int interpret(reader *r, rlt_error *err)
{
    rlt_train_row *row = r->row;
    rlt_training *t = &row->training;
    system_known s = {0};
    uint64_t n[N_FIELDS] = {0};
    const char *recompute, *precision;
    if (two_runs(r)) {
        cannot(r, "the row mixes the figures of two runs");
        return 0;
    }
    int rc = read_counts(r, n, err);
    *t = rlt_training_default();
    if (rc || *row->reason || !find_system(r, &s) || !find_model(r, n[F_SEQUENCE]) || !layout_of(r, n) ||
        !sharding_of(r, s.stack, &t->zero) || !words_of(r, &precision, &recompute))
        return rc;
    t->tp_overlap = strstr(cell(r, F_NOTE), "AsyncTP") && t->size[RLT_AXIS_TP] > 1;
    set_dispatcher(r, &s, t);
    set_settings(r, t);
    if (strcmp(cell(r, F_STATUS), "oom") == 0)
        cannot(r, "it ran out of memory");
    if (*row->reason)
        return 0;
    if ((rc = rlt_training_set(t, "precision", precision, err)) ||
        (rc = rlt_training_set(t, "recompute", recompute, err)))
        return rc;
    set_stack(r, s.stack, t);
    t->stack_named = s.node == 0; /* in a column of the table */
    set_habits(r, &s, t);
    row->node = s.node;
    snprintf(row->accelerator, sizeof row->accelerator, "%s", s.accelerator);
    if (s.messages.inside) {
        network_of(s.messages.inside, s.messages.between, s.node, row->ranks, row->network,
                   sizeof row->network);
        network_of(s.collectives.inside, s.collectives.between, s.node, row->ranks, row->collective,
                   sizeof row->collective);
    }
    return 0;
}

/* ---- rows ---- */

/* Reads the time. One that is missing, 0 or shorter than a plausible iteration is a reason not to cover. */
static int read_time(reader *r, rlt_error *err)
{
    const double least_s = 0.05;
    char *end;
    const char *text = cell(r, F_TIME);
    double s = strtod(text, &end);
    if (!*text)
        return cannot(r, "no time is given"), 0;
    if (end == text || *end || !isfinite(s) || s < 0)
        return rlt_csv_fail(&r->csv, r->column[F_TIME], RLT_EMALFORMED, err,
                            "iteration_time_s: expected seconds, got '%.40s'", text);
    if (s <= 0)
        cannot(r, "its time is 0");
    else if (s < least_s)
        cannot(r, "its time is below %g s", least_s);
    r->row->measured_s = s;
    return 0;
}

/* Hashes the cells of a row, except the dispatcher, results and remarks. */
static uint64_t alike(const reader *r)
{
    uint64_t hash = 0;
    for (int f = 0; f < N_FIELDS; f++)
        if (f != F_DISPATCHER && f != F_TIME && f != F_TFLOPS && f != F_NOTE && f != F_SOURCE)
            hash = rlt_hash_bytes(cell(r, (field)f), strlen(cell(r, (field)f)) + 1, hash);
    return hash;
}

/* Keeps a row with a cell that cannot be read as one that is not covered, for the reason that the reader
 * gives. Other failures stay failures. */
static int forgive(rlt_train_rows *t, reader *r, const rlt_error *why, rlt_error *err)
{
    if (why->code != RLT_EMALFORMED && why->code != RLT_ESCHEMA && why->code != RLT_ERANGE) {
        if (err && !err->code)
            *err = *why;
        return why->code;
    }
    if (t->malformed++ == 0)
        snprintf(t->first_malformed, sizeof t->first_malformed, "row %u: %.490s", r->row->line, why->what);
    if (r->malformed++ == 0)
        r->first = *why;
    snprintf(r->row->reason, sizeof r->row->reason, "%.511s", why->what);
    return 0;
}

static int read_row(rlt_train_rows *t, reader *r, rlt_error *err)
{
    rlt_error why = {0};
    int rc =
        rlt_grow(&t->rows, &t->room, sizeof *t->rows, (uint64_t)t->n + 1, RLT_MAX_TRAIN_ROWS, "rows", err);
    if (rc)
        return rc;
    r->row = &t->rows[t->n++];
    *r->row = (rlt_train_row){.line = r->csv.line, .file = t->files, .group = RLT_NONE};
    snprintf(r->row->model, sizeof r->row->model, "%s", cell(r, F_MODEL));
    snprintf(r->row->precision, sizeof r->row->precision, "%s", cell(r, F_PRECISION));
    snprintf(r->row->layouts, sizeof r->row->layouts, "%s", cell(r, F_LAYOUTS));
    snprintf(r->row->dispatcher, sizeof r->row->dispatcher, "%s", cell(r, F_DISPATCHER));
    rlt_make_printable(r->row->dispatcher);
    r->row->alike = alike(r);
    snprintf(r->row->source, sizeof r->row->source, "%.*s", (int)strcspn(cell(r, F_SOURCE), "@:"),
             cell(r, F_SOURCE));
    rlt_make_printable(r->row->model);
    rlt_make_printable(r->row->precision);
    rlt_make_printable(r->row->source);
    if (((rc = interpret(r, &why)) || (rc = read_time(r, &why))) && (rc = forgive(t, r, &why, err)))
        return rc;
    rlt_make_printable(r->row->reason);
    return 0;
}

static int find_columns(reader *r, rlt_error *err)
{
    for (int f = 0; f < N_FIELDS; f++) {
        r->column[f] = rlt_csv_column(&r->csv, columns[f][0]);
        if (r->column[f] < 0 && columns[f][1])
            r->column[f] = rlt_csv_column(&r->csv, columns[f][1]);
        if (r->column[f] < 0 && f < N_REQUIRED)
            return rlt_csv_fail(&r->csv, -1, RLT_ESCHEMA, err,
                                "no column '%s': not a table of measured training runs", columns[f][0]);
    }
    return 0;
}

int rlt_train_rows_read(rlt_train_rows *t, const char *path, const rlt_train_reading *how, rlt_error *err)
{
    enum { MAX_TEXT = 1 << 26 };
    char *text = NULL;
    size_t length;
    rlt_json_doc *doc = NULL;
    uint32_t before = t->n;
    reader *r = calloc(1, sizeof *r);
    int rc = r ? rlt_json_load(how->names, &doc, err) : rlt_nomem(err);
    if (!rc) {
        r->systems = rlt_json_get(rlt_json_root(doc), "systems");
        r->models = rlt_json_get(rlt_json_root(doc), "models");
        r->recipes = rlt_json_get(rlt_json_root(doc), "recipes");
        r->how = how;
        rc = rlt_read_file(path, MAX_TEXT, &text, &length, err);
    }
    if (!rc && !(rc = rlt_csv_begin(&r->csv, path, text, length, err)))
        rc = find_columns(r, err);
    while (!rc && (rc = rlt_csv_next(&r->csv, err)) == 1)
        rc = read_row(t, r, err);
    if (!rc && r->malformed && r->malformed == t->n - before) { /* no row can be read */
        rc = r->first.code;
        if (err && !err->code)
            *err = r->first;
    }
    t->files++;
    rlt_json_free(doc);
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
