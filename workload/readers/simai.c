/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads SimAI's text of layers (as AICB writes it): a line with the policy and the sizes of groups, one with
 * the number of layers (not trusted), then a layer per line.
 *
 * Communication of the forward pass and of input gradients is over the model-parallel group (consecutive
 * ranks), that of weight gradients over the data-parallel group. The suffix _EP means the expert group inside
 * the latter, _DP_EP the ranks of the same expert. With pp > 1 the ranks of a stage are consecutive. The file
 * has the layers of one stage, which all stages run, and no communication between stages. Bytes are those of
 * the whole buffer; for an all-gather, of its result. BROADCAST, which SimAI leaves out, is simulated with
 * the first member as root.
 *
 * ASTRA-sim 1.0 reads the same text, but its all-gathers give the share of a rank. AICB writes no
 * checkpoints, so a file with checkpoints was written for ASTRA-sim.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/layers.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)

typedef struct reading {
    rlt_layer_table t;
    const char *at, *end;
    uint32_t line;
    bool micro;
    uint64_t sizes[9]; /* by key */
    uint64_t checkpoints[RLT_MAX_LAYER_WORDS], recomputes[RLT_MAX_LAYER_WORDS];
    uint32_t n_checkpoints, n_recomputes;
    rlt_error *err;
} reading;

enum { MODEL_GROUP, EXPERT, STAGES, VIRTUAL, ACCUMULATE, ALL, STAGE_BYTES, CHECKPOINTS, RECOMPUTES, N_KEYS };
static const char *const keys[] = {
    "model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:", "pp_comm:", "checkpoints:",
    "checkpoint_initiates:"};

static bool is_policy(const rlt_layer_line *l)
{
    return rlt__layer_word(l, 0, "HYBRID_TRANSFORMER") ||
           rlt__layer_word(l, 0, "HYBRID_TRANSFORMER_FWD_IN_BCKWD");
}

/* Reads the layer indices after a key; the value of the key is their count. */
static int read_list(reading *r, const rlt_layer_line *l, uint32_t *i, uint64_t n, uint64_t *out,
                     uint32_t *n_out)
{
    int rc = 0;
    for (uint64_t k = 0; k < n && !rc; k++)
        rc = rlt__layer_number(&r->t, l, (*i)++, "the number of a layer", RLT_MAX_LAYERS, &out[(*n_out)++],
                               r->err);
    return rc;
}

/* Finds a key. "pp_comm" may also be written with only its colon. */
static int find_key(const rlt_layer_line *l, uint32_t i)
{
    int k = 0;
    while (k < N_KEYS && !rlt__layer_word(l, i, keys[k]))
        k++;
    return k == N_KEYS && rlt__layer_word(l, i, "pp_comm") ? STAGE_BYTES : k;
}

static int read_policy(reading *r, const rlt_layer_line *l)
{
    int rc = 0;
    r->micro = rlt__layer_word(l, 0, "MICRO");
    if (!r->micro && !is_policy(l))
        return rlt__layer_fail(&r->t, l->n ? l->line : 1, RLT_EMALFORMED, r->err,
                               "expected the policy HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER or "
                               "MICRO");
    for (uint32_t i = 1; i < l->n && !rc;) {
        int k = find_key(l, i);
        if (k == N_KEYS)
            return rlt__layer_fail(&r->t, l->line, RLT_ESCHEMA, r->err, "unknown key '%.*s'",
                                   (int)l->length[i], l->at[i]);
        rc = rlt__layer_number(&r->t, l, i + 1, keys[k], k == STAGE_BYTES ? UINT64_C(1) << 48 : RLT_MAX_RANKS,
                               &r->sizes[k], r->err);
        i += 2;
        if (!rc && k == CHECKPOINTS)
            rc = read_list(r, l, &i, r->sizes[k], r->checkpoints, &r->n_checkpoints);
        if (!rc && k == RECOMPUTES)
            rc = read_list(r, l, &i, r->sizes[k], r->recomputes, &r->n_recomputes);
        if (!rc && k < ACCUMULATE && r->sizes[k] == 0)
            rc = rlt__layer_fail(&r->t, l->line, RLT_ESCHEMA, r->err, "%s 0", keys[k]);
    }
    return rc;
}

static int read_layers(reading *r)
{
    rlt_layer_line l;
    uint64_t said = 0;
    int rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, &l, r->err);
    if (rc || (rc = read_policy(r, &l)) ||
        (rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, &l, r->err)) ||
        (rc = rlt__layer_number(&r->t, &l, 0, "the number of layers", RLT_MAX_LAYERS, &said, r->err)))
        return rc;
    for (;;) {
        if ((rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, &l, r->err)) || !l.n)
            break;
        if ((rc = rlt__layer_row(&r->t, &l, r->err)))
            break;
        if (l.n > 12)
            return rlt__layer_fail(&r->t, l.line, RLT_EMALFORMED, r->err, "expected 12 columns, got %" PRIu32,
                                   l.n);
        if (r->micro)
            rlt__layer_scopes(&r->t.layers[r->t.n - 1], RLT_OVER_NONE, RLT_OVER_ALL);
    }
    if (!rc && r->t.n == 0)
        return rlt__layer_fail(&r->t, r->line ? r->line : 1, RLT_ESCHEMA, r->err, "the file has no layers");
    if (!rc && said != r->t.n)
        rlt__layer_note(&r->t,
                        "number of layers in the file, which differs from the number on its second line", 1);
    return rc;
}

/* Marks the layers of a list. */
static int mark(reading *r, const uint64_t *list, uint32_t n, bool recompute)
{
    rlt_layer_table *t = &r->t;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] >= t->n)
            return rlt__layer_fail(t, 1, RLT_ESCHEMA, r->err, "checkpoint at layer %" PRIu64 " of %" PRIu32,
                                   list[i], t->n);
        uint8_t *of = recompute ? &t->layers[list[i]].recompute : &t->layers[list[i]].checkpoint;
        *of = 1;
    }
    return 0;
}

static int set_sizes(reading *r, uint32_t *otherwise)
{
    rlt_layer_table *t = &r->t;
    int rc = mark(r, r->checkpoints, r->n_checkpoints, false);
    if (rc || (rc = mark(r, r->recomputes, r->n_recomputes, true)))
        return rc;
    t->input_first = true;
    t->gathers_shares = r->n_checkpoints > 0;
    t->model = r->sizes[MODEL_GROUP] ? (uint32_t)r->sizes[MODEL_GROUP] : 1;
    t->expert = r->sizes[EXPERT] ? (uint32_t)r->sizes[EXPERT] : 1;
    t->stages = r->sizes[STAGES] ? (uint32_t)r->sizes[STAGES] : 1;
    t->ranks = (uint32_t)r->sizes[ALL];
    uint64_t least = (uint64_t)t->model * t->expert * t->stages;
    if (least > RLT_MAX_RANKS)
        return rlt__layer_fail(t, 1, RLT_ERANGE, r->err, "groups for more than %d ranks", (int)RLT_MAX_RANKS);
    *otherwise = least > 1 ? (uint32_t)least : 2;
    rlt__layer_note(t, "traffic between pipeline stages is not in the file", t->stages - 1);
    if (r->sizes[ACCUMULATE] > 1)
        rlt__layer_note(t, "gradient accumulation: each layer runs once, as listed", r->sizes[ACCUMULATE]);
    return 0;
}

/* Reads the table. Free it in every case. *otherwise: number of ranks if nothing else gives it. */
static int read_table(const char *path, rlt_layer_table *out, uint64_t *hash, uint32_t *otherwise,
                      rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    reading r = {.err = err, .t = {.file = path, .late = RLT_NONE}};
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &text, &length, err);
    r.at = text;
    r.end = text ? text + length : NULL;
    if (!rc && !(rc = read_layers(&r)) && !(rc = set_sizes(&r, otherwise)))
        *hash = rlt_hash_bytes(text, length, 0);
    free(text);
    *out = r.t;
    return rc;
}

int rlt__simai_layers(const char *path, rlt_layer_table *out, uint64_t *hash, rlt_error *err)
{
    uint32_t otherwise;
    return read_table(path, out, hash, &otherwise, err);
}

static int read_simai(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                      rlt_error *err)
{
    rlt_layer_table t;
    uint64_t hash = 0;
    uint32_t otherwise;
    *out = NULL;
    if (n == 0)
        return rlt_fail(err, RLT_EUSAGE, NULL, "no trace files");
    int rc = read_table(paths[0], &t, &hash, &otherwise, err);
    if (!rc && !(rc = rlt__layers_ranks(&t, paths, n, opts, otherwise, err)))
        rc = rlt__layers_build(&t, opts, "simai", hash, out, err);
    rlt__layers_free(&t);
    return rc;
}

static int probe(const char *path, const char *head, size_t n)
{
    rlt_layer_table t = {.file = path};
    rlt_layer_line l;
    rlt_error ignored = {0};
    const char *at = head;
    uint32_t line = 0;
    if (rlt__layer_line(&t, &at, head + n, &line, &l, &ignored) || l.n == 0)
        return 0;
    if (is_policy(&l))
        return 90;
    if (!rlt__layer_word(&l, 0, "MICRO") || rlt__layer_line(&t, &at, head + n, &line, &l, &ignored) ||
        rlt__layer_line(&t, &at, head + n, &line, &l, &ignored))
        return 0;
    return rlt__layer_word(&l, 0, "micro_test") ? 90 : 0; /* SimAI's word; ASTRA-sim does not use it */
}

const rlt_reader rlt_reader_simai = {
    .name = "simai",
    .summary = "SimAI's text of layers (AICB), one file for all ranks",
    .folds = true,
    .probe = probe,
    .read = read_simai,
    .check = NULL,
};
