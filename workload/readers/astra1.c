/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads ASTRA-sim 1.0's text: a line with the policy, one with the number of layers, then a layer per line.
 * Some files have layers only. The policy gives the ranks of communication:
 *
 *   DATA, MICRO        weight gradients over all ranks; no other communication
 *   MODEL              forward pass and input gradients over all ranks; none for weight gradients
 *   HYBRID_DATA_MODEL  forward pass and input gradients over dimension 0, weight gradients over the others
 *   HYBRID_MODEL_DATA  the reverse
 *   HYBRID_DLRM n      everything over all ranks; layer 0's exchange is awaited after layer n
 *   HYBRID_CUSTOMIZED  a 13th column has the policy of each layer
 *   (no header)        everything over all ranks
 *
 * Times are in ns. The bytes of an all-gather are the share of a rank.
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

typedef enum policy { DATA, MICRO, MODEL, DATA_MODEL, MODEL_DATA, DLRM, CUSTOMIZED, BARE, N_POLICIES } policy;
static const char *const policy_words[] = {
    "DATA", "MICRO", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_DLRM", "HYBRID_CUSTOMIZED"};

/* Scope of the forward pass and input gradients, and scope of weight gradients. */
static const rlt_layer_scope scopes[][2] = {
    [DATA] = {RLT_OVER_NONE, RLT_OVER_ALL},         [MICRO] = {RLT_OVER_NONE, RLT_OVER_ALL},
    [MODEL] = {RLT_OVER_ALL, RLT_OVER_NONE},        [DATA_MODEL] = {RLT_OVER_MODEL, RLT_OVER_DATA},
    [MODEL_DATA] = {RLT_OVER_DATA, RLT_OVER_MODEL}, [DLRM] = {RLT_OVER_ALL, RLT_OVER_ALL},
    [CUSTOMIZED] = {RLT_OVER_NONE, RLT_OVER_NONE},  [BARE] = {RLT_OVER_ALL, RLT_OVER_ALL},
};

static policy policy_of(const rlt_layer_line *l, uint32_t i)
{
    uint32_t k = 0;
    while (k < BARE && !rlt__layer_word(l, i, policy_words[k]))
        k++;
    return k < BARE ? (policy)k : N_POLICIES;
}

typedef struct reading {
    rlt_layer_table t;
    const char *at, *end;
    uint32_t line;
    policy policy;
    bool two_dims; /* a policy needs two dimensions */
    rlt_error *err;
} reading;

/* Reads the two lines of the header, with the number of layers. *l then holds the line of the first layer. */
static int read_header(reading *r, rlt_layer_line *l)
{
    uint64_t layers = 0, late = 0;
    int rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, l, r->err);
    if (rc)
        return rc;
    r->policy = BARE;
    if (rlt__layer_is_row(l))
        return 0;
    r->policy = policy_of(l, 0);
    if (r->policy == N_POLICIES)
        return rlt__layer_fail(&r->t, l->n ? l->line : 1, RLT_EMALFORMED, r->err,
                               l->n ? "expected a policy such as DATA or HYBRID_DLRM, or a layer of 12 "
                                      "columns, got '%.*s'"
                                    : "the file is empty%.*s",
                               l->n ? (int)l->length[0] : 0, l->n ? l->at[0] : "");
    if (r->policy == DLRM &&
        (rc = rlt__layer_number(&r->t, l, 1, "the last bottom layer", RLT_MAX_LAYERS, &late, r->err)))
        return rc;
    if (r->policy == DLRM)
        r->t.late = (uint32_t)late;
    if (l->n > (r->policy == DLRM ? 2u : 1u))
        return rlt__layer_fail(&r->t, l->line, RLT_EMALFORMED, r->err,
                               "expected the end of the line after the policy");
    if ((rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, l, r->err)) ||
        (rc = rlt__layer_number(&r->t, l, 0, "the number of layers", RLT_MAX_LAYERS, &layers, r->err)))
        return rc;
    if (l->n > 1)
        return rlt__layer_fail(&r->t, l->line, RLT_EMALFORMED, r->err,
                               "expected the number of layers alone on this line");
    rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, l, r->err);
    return rc ? rc : (int)layers;
}

static int read_layer(reading *r, const rlt_layer_line *l)
{
    policy p = r->policy;
    uint32_t columns = p == CUSTOMIZED ? 13 : 12;
    int rc = rlt__layer_row(&r->t, l, r->err);
    if (rc)
        return rc;
    if (l->n != columns)
        return rlt__layer_fail(&r->t, l->line, RLT_EMALFORMED, r->err,
                               "expected %" PRIu32 " columns, got %" PRIu32, columns, l->n);
    if (p == CUSTOMIZED) {
        p = policy_of(l, 12);
        if (p == N_POLICIES || p == CUSTOMIZED || p == DLRM)
            return rlt__layer_fail(&r->t, l->line, RLT_ESCHEMA, r->err,
                                   "expected a layer's policy such as DATA, got '%.*s'", (int)l->length[12],
                                   l->at[12]);
    }
    r->two_dims = r->two_dims || p == DATA_MODEL || p == MODEL_DATA;
    rlt__layer_scopes(&r->t.layers[r->t.n - 1], scopes[p][0], scopes[p][1]);
    return 0;
}

static int read_layers(reading *r)
{
    rlt_layer_line l;
    int said = read_header(r, &l), rc = said < 0 ? said : 0;
    while (!rc && l.n) {
        rc = read_layer(r, &l);
        if (!rc)
            rc = rlt__layer_line(&r->t, &r->at, r->end, &r->line, &l, r->err);
    }
    if (!rc && r->t.n == 0)
        return rlt__layer_fail(&r->t, r->line ? r->line : 1, RLT_ESCHEMA, r->err, "the file has no layers");
    if (!rc && r->policy != BARE && (uint32_t)said != r->t.n)
        rlt__layer_note(&r->t,
                        "number of layers in the file, which differs from the number on its second line", 1);
    return rc;
}

/* Sets the group sizes. Dimension 0 holds a model group if the topology's dimensions match the ranks. */
static void set_groups(reading *r, const rlt_read_options *opts)
{
    uint64_t places = 1;
    r->t.model = r->t.expert = r->t.stages = 1;
    for (uint32_t d = 0; d < opts->n_dims && places <= RLT_MAX_RANKS; d++)
        places *= opts->dims[d];
    if (!r->two_dims)
        return;
    r->t.model = r->t.ranks;
    if (opts->n_dims && places == r->t.ranks)
        r->t.model = opts->dims[0];
}

static int read_table(reading *r, const char *path, uint64_t *hash)
{
    char *text = NULL;
    size_t length = 0;
    r->t.file = path;
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &text, &length, r->err);
    r->at = text;
    r->end = text ? text + length : NULL;
    if (!rc && !(rc = read_layers(r)))
        *hash = rlt_hash_bytes(text, length, 0);
    free(text);
    return rc;
}

int rlt__astra1_layers(const char *path, rlt_layer_table *out, bool *bare, uint64_t *hash, rlt_error *err)
{
    reading r = {.err = err, .t = {.late = RLT_NONE, .gathers_shares = true}};
    int rc = read_table(&r, path, hash);
    *out = r.t;
    *bare = r.policy == BARE;
    return rc;
}

static int read_astra1(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                       rlt_error *err)
{
    uint64_t hash = 0;
    reading r = {.err = err, .t = {.late = RLT_NONE, .gathers_shares = true}};
    *out = NULL;
    if (n == 0)
        return rlt_fail(err, RLT_EUSAGE, NULL, "no trace files");
    int rc = read_table(&r, paths[0], &hash);
    if (!rc && !(rc = rlt__layers_ranks(&r.t, paths, n, opts, 2, err))) {
        set_groups(&r, opts);
        rc = rlt__layers_build(&r.t, opts, "astra1", hash, out, err);
    }
    rlt__layers_free(&r.t);
    return rc;
}

static int probe(const char *path, const char *head, size_t n)
{
    rlt_layer_table t = {.file = path};
    rlt_layer_line l;
    rlt_error ignored = {0};
    const char *at = head;
    uint32_t line = 0;
    if (rlt__layer_line(&t, &at, head + n, &line, &l, &ignored))
        return 0;
    if (rlt__layer_is_row(&l))
        return 85;
    return l.n <= 2 && policy_of(&l, 0) != N_POLICIES ? 80 : 0;
}

const rlt_reader rlt_reader_astra1 = {
    .name = "astra1",
    .summary = "ASTRA-sim 1.0's text of layers, one file for all ranks",
    .folds = true,
    .probe = probe,
    .read = read_astra1,
    .check = NULL,
};
