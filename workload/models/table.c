/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a table of layers from a file, one layer per row, in forward order.
 *
 *   CSV   The first line names the columns. `name` is required. An empty cell means the default.
 *   JSON  An object with `layers`, an array of objects with the same names, and the model's `name`,
 *         `sample`, `tokens`, `hidden`, `heads`, `kv_heads`, `source`.
 *
 * The fields are those of rlt_model_layer (workload/models/model.h). Defaults are 0, except:
 *
 *   parameters, expert_parameters, tied_parameters, experts
 *   work            matmul, attention, convolution, lookup or vector; default matmul
 *   forward_flop
 *   backward_flop   default twice the forward
 *   moved, saved, saved_split, saved_scores, output, tp, ep, cp
 *   sharded         default yes
 *   block           default one of its own
 *   movable         default where a block begins
 *
 * A table of trainable tensors is also accepted: tensor, params, bytes_fp32 (4 per parameter),
 * fwd_flops_per_img. Tensors with one name up to ".w", ".b", ".bn.w" or ".bn.b" form a layer. Its kind of
 * work follows from the FLOPs: vector if there are none, matmul for 2 per parameter, convolution for more.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/csv.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "workload/models/internal.h"
#include "workload/models/model.h"

#define MAX_COUNT (UINT64_C(1) << 60)
#define MAX_REAL  1e30
enum { MAX_BYTES = 64 << 20 };

/* Values of a row before it becomes a layer. */
typedef struct row {
    rlt_model_layer l;
    bool has_block, has_movable, has_backward;
} row;

static const char *const works[] = {"matmul", "attention", "convolution", "lookup", "vector"};
_Static_assert(sizeof works / sizeof *works == RLT_WORK_KINDS, "each kind of work has a name");

static const char *work_word(uint32_t i)
{
    return i < RLT_WORK_KINDS ? works[i] : NULL;
}

#define AT(field)    RLT_FIELD(row, l.field)
#define COUNT(field) .kind = RLT_PARAM_COUNT, AT(field), .max = (double)MAX_COUNT
#define SMALL(field) .kind = RLT_PARAM_COUNT, AT(field), .max = RLT_MAX_MODEL_LAYERS
#define REAL(field)  .kind = RLT_PARAM_NUMBER, AT(field), .max = MAX_REAL
#define FLAG(field)  .kind = RLT_PARAM_CHOICE, .words = "no|yes", AT(field)
static const rlt_param fields[] = {
    {"work", .kind = RLT_PARAM_CHOICE, .word_at = work_word, AT(work), .help = "kind of work"},
    {"parameters", COUNT(parameters), .help = "trained parameters outside experts"},
    {"expert_parameters", COUNT(expert_parameters), .help = "parameters of all experts together"},
    {"tied_parameters", COUNT(tied_parameters),
     .help = "parameters that an earlier layer holds and this layer shares"},
    {"experts", SMALL(experts), .help = "number of experts; 0: dense"},
    {"forward_flop", REAL(forward_flop), .help = "FLOPs of the forward pass per sample"},
    {"backward_flop", REAL(backward_flop), .usual = "twice the forward",
     .help = "FLOPs of the backward pass per sample"},
    {"moved", REAL(moved_elements), .help = "elements read and written by the forward pass, without weights"},
    {"saved", REAL(saved_whole), .help = "elements kept for the backward pass on each rank"},
    {"saved_split", REAL(saved_split), .help = "elements kept, divided by tensor parallelism"},
    {"saved_scores", REAL(saved_scores), .help = "elements kept, except with selective recomputation"},
    {"saved_products", REAL(saved_products), .help = "elements kept with recompute=products"},
    {"inner_gradients", REAL(inner_gradients), .help = "gradients inside the layer in its backward pass"},
    {"logits", REAL(logits), .help = "elements of which a loss is computed; saved_split has two for each"},
    {"output", COUNT(output_elements), .help = "elements passed to the next layer or stage"},
    {"tp", COUNT(tp_elements), .help = "elements that tensor parallelism all-reduces"},
    {"tp_inputs", COUNT(tp_inputs), .usual = "as tp",
     .help = "elements that tensor parallelism gathers for a layer's products"},
    {"ep", COUNT(ep_elements), .help = "elements sent to experts"},
    {"cp", COUNT(cp_elements), .help = "elements of keys and values passed around by context parallelism"},
    {"sharded", FLAG(sharded), .preset = "yes", .help = "tensor parallelism divides the layer"},
    {"block", SMALL(block), .usual = "a block of its own", .help = "number of the layer's block, from 0"},
    {"movable", FLAG(movable), .usual = "yes where a block begins", .help = "whether a stage may begin here"},
    {0}};
enum { N_FIELDS = sizeof fields / sizeof *fields - 1 };

const rlt_param *rlt_model_layer_parameters(void)
{
    return fields;
}

static row fresh(void)
{
    return (row){.l = {.sharded = true}};
}

/* Reads a field. A field that is present overrides its default. */
static int read_field(const rlt_param *p, row *r, const char *text, rlt_error *why)
{
    r->has_block |= strcmp(p->name, "block") == 0;
    r->has_movable |= strcmp(p->name, "movable") == 0;
    r->has_backward |= strcmp(p->name, "backward_flop") == 0;
    return rlt_param_read(p, r, text, NULL, why);
}

/* Completes the row. Returns NULL, or the rule that the row breaks. */
static const char *rule(const rlt_model *m, row *r)
{
    rlt_model_layer *l = &r->l;
    uint32_t next = m->n_layers ? m->layers[m->n_layers - 1].block + 1 : 0;
    if (!r->has_block)
        l->block = next;
    if (l->block != next && (next == 0 || l->block != next - 1))
        return "expected blocks numbered 0, 1, 2, ... in this order";
    if (!r->has_movable)
        l->movable = l->block == next;
    if (l->movable && l->block != next)
        return "only the first layer of a block can be movable";
    if (!r->has_backward)
        l->backward_flop = 2 * l->forward_flop;
    return NULL;
}

static int append(rlt_model *m, const row *r, const char *name, rlt_error *err)
{
    char printable[RLT_MODEL_NAME];
    int rc;
    snprintf(printable, sizeof printable, "%s", name);
    rlt_make_printable(printable);
    rlt_model_layer *l = rlt_model_add(m, printable, RLT_WORK_MATMUL, err);
    if (!l)
        return err && err->code ? err->code : RLT_ENOMEM;
    memcpy(printable, l->name, sizeof printable);
    *l = r->l;
    memcpy(l->name, printable, sizeof printable);
    l->parameters = l->expert_parameters = 0; /* added again with the tensors */
    if ((rc = rlt_model_add_tensor(m, r->l.parameters, false, err)))
        return rc;
    return rlt_model_add_tensor(m, r->l.expert_parameters, true, err);
}

/* ---- CSV ---- */

typedef struct table {
    rlt_csv csv;
    rlt_model *m;
    int column[N_FIELDS]; /* -1: column missing */
    int name;
} table;

static int unknown_column(const rlt_csv *c, int cell, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(c->columns[cell]);
    char list[512] = "name";
    rlt_nearest_try(&near, "name");
    for (int f = 0; f < N_FIELDS; f++) {
        rlt_nearest_try(&near, fields[f].name);
        rlt_list_name(list, sizeof list, fields[f].name);
    }
    if (near.best)
        return rlt_csv_fail(c, cell, RLT_ESCHEMA, err, "unknown column '%.64s'; did you mean '%s'?",
                            c->columns[cell], near.best);
    return rlt_csv_fail(c, cell, RLT_ESCHEMA, err, "unknown column '%.64s'; a table of layers has %s",
                        c->columns[cell], list);
}

static int find_columns(table *t, rlt_error *err)
{
    t->name = -1;
    for (int f = 0; f < N_FIELDS; f++)
        t->column[f] = -1;
    for (int i = 0; i < (int)t->csv.n_columns; i++) {
        int f = 0, *at = &t->name;
        if (strcmp(t->csv.columns[i], "name") != 0) {
            while (f < N_FIELDS && strcmp(t->csv.columns[i], fields[f].name) != 0)
                f++;
            if (f == N_FIELDS)
                return unknown_column(&t->csv, i, err);
            at = &t->column[f];
        }
        if (*at >= 0)
            return rlt_csv_fail(&t->csv, i, RLT_ESCHEMA, err, "the column '%s' appears twice",
                                t->csv.columns[i]);
        *at = i;
    }
    if (t->name < 0)
        return rlt_csv_fail(&t->csv, -1, RLT_ESCHEMA, err,
                            "expected a column 'name' (layers) or 'tensor' (tensors)");
    return 0;
}

static int count_cell(const rlt_csv *c, int cell, uint64_t max, uint64_t *out, rlt_error *err)
{
    if (rlt_parse_count(c->cells[cell], out, NULL, NULL) || *out > max)
        return rlt_csv_fail(c, cell, RLT_EMALFORMED, err,
                            "%s: expected a whole number up to %llu, got '%.40s'", c->columns[cell],
                            (unsigned long long)max, c->cells[cell]);
    return 0;
}

static int real_cell(const rlt_csv *c, int cell, double *out, rlt_error *err)
{
    if (rlt_parse_number(c->cells[cell], 0, out, NULL, NULL) || *out > MAX_REAL)
        return rlt_csv_fail(c, cell, RLT_EMALFORMED, err, "%s: expected a number from 0 to 1e30, got '%.40s'",
                            c->columns[cell], c->cells[cell]);
    return 0;
}

static int read_cell(const rlt_csv *c, int cell, const rlt_param *p, row *r, rlt_error *err)
{
    rlt_error why = {0};
    int rc = read_field(p, r, c->cells[cell], &why);
    return rc ? rlt_csv_fail(c, cell, RLT_EMALFORMED, err, "%s: %s", p->name, why.what) : 0;
}

static int read_row(table *t, rlt_error *err)
{
    const rlt_csv *c = &t->csv;
    row r = fresh();
    const char *wrong;
    for (int f = 0; f < N_FIELDS; f++) {
        int cell = t->column[f], rc;
        if (cell >= 0 && *c->cells[cell] && (rc = read_cell(c, cell, &fields[f], &r, err)))
            return rc;
    }
    if (!*c->cells[t->name])
        return rlt_csv_fail(c, t->name, RLT_ESCHEMA, err, "the layer has no name");
    if ((wrong = rule(t->m, &r)))
        return rlt_csv_fail(c, -1, RLT_ESCHEMA, err, "%s", wrong);
    return append(t->m, &r, c->cells[t->name], err);
}

/* ---- trainable tensors ---- */

/* Returns the length of the name without the ending that distinguishes tensors of a layer. */
static size_t stem(const char *tensor)
{
    static const char *const endings[] = {".bn.w", ".bn.b", ".w", ".b"};
    size_t n = strlen(tensor);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t e = strlen(endings[i]);
        if (n > e && strcmp(tensor + n - e, endings[i]) == 0)
            return n - e;
    }
    return n;
}

typedef struct tensor_columns {
    int tensor, params, bytes, flops;
} tensor_columns;

static int read_tensor(table *t, const tensor_columns *at, rlt_error *err)
{
    const rlt_csv *c = &t->csv;
    rlt_model_layer *last = t->m->n_layers ? &t->m->layers[t->m->n_layers - 1] : NULL;
    const char *name = c->cells[at->tensor];
    uint64_t n = 0, bytes = 0;
    double flop = 0;
    size_t length = stem(name);
    int rc;
    if ((rc = count_cell(c, at->params, MAX_COUNT, &n, err)) || (rc = real_cell(c, at->flops, &flop, err)) ||
        (at->bytes >= 0 && (rc = count_cell(c, at->bytes, 4 * MAX_COUNT, &bytes, err))))
        return rc;
    if (at->bytes >= 0 && bytes != 4 * n)
        return rlt_csv_fail(c, at->bytes, RLT_ESCHEMA, err,
                            "%llu bytes for %llu parameters: expected 4 bytes per parameter",
                            (unsigned long long)bytes, (unsigned long long)n);
    if (length == 0 || length >= RLT_MODEL_NAME)
        return rlt_csv_fail(c, at->tensor, RLT_ESCHEMA, err, "expected a name of 1 to %d characters",
                            RLT_MODEL_NAME - 1);
    if (!last || strlen(last->name) != length || memcmp(last->name, name, length) != 0) {
        row r = fresh();
        char layer[RLT_MODEL_NAME];
        snprintf(layer, sizeof layer, "%.*s", (int)length, name);
        r.l.work = flop > 2.5 * (double)n ? RLT_WORK_CONVOLUTION
                   : flop > 0             ? RLT_WORK_MATMUL
                                          : RLT_WORK_VECTOR;
        (void)rule(t->m, &r);
        if ((rc = append(t->m, &r, layer, err)))
            return rc;
        last = &t->m->layers[t->m->n_layers - 1];
    }
    last->forward_flop += flop;
    last->backward_flop += 2 * flop;
    return rlt_model_add_tensor(t->m, n, false, err);
}

static int read_tensors(table *t, rlt_error *err)
{
    tensor_columns at = {rlt_csv_column(&t->csv, "tensor"), rlt_csv_column(&t->csv, "params"),
                         rlt_csv_column(&t->csv, "bytes_fp32"), rlt_csv_column(&t->csv, "fwd_flops_per_img")};
    int rc = 0;
    if (at.params < 0 || at.flops < 0)
        return rlt_csv_fail(&t->csv, -1, RLT_ESCHEMA, err,
                            "no column '%s': a table of tensors needs tensor, params and fwd_flops_per_img",
                            at.params < 0 ? "params" : "fwd_flops_per_img");
    snprintf(t->m->sample, sizeof t->m->sample, "image");
    while (!rc && (rc = rlt_csv_next(&t->csv, err)) == 1)
        rc = read_tensor(t, &at, err);
    return rc;
}

static int read_csv(const char *path, rlt_model *m, rlt_error *err)
{
    table *t = malloc(sizeof *t);
    char *text = NULL;
    size_t length = 0;
    int rc = t ? rlt_read_file(path, MAX_BYTES, &text, &length, err) : rlt_nomem(err);
    if (!rc)
        rc = rlt_csv_begin(&t->csv, path, text, length, err);
    if (!rc) {
        t->m = m;
        if (rlt_csv_column(&t->csv, "tensor") >= 0)
            rc = read_tensors(t, err);
        else if (!(rc = find_columns(t, err)))
            while (!rc && (rc = rlt_csv_next(&t->csv, err)) == 1)
                rc = read_row(t, err);
    }
    free(text);
    free(t);
    return rc;
}

/* ---- JSON ---- */

/* Returns a member (a number, true, false or a word) as the text of a CSV cell. */
static int member_text(rlt_json v, const rlt_param *p, char *text, size_t size, rlt_error *err)
{
    rlt_json member = rlt_json_get(v, p->name);
    const char *word = "";
    uint64_t n = 0;
    double x = 0;
    bool yes = false;
    int rc;
    switch (p->kind) {
    case RLT_PARAM_COUNT:
        rc = rlt_json_u64(member, (uint64_t)p->max, &n, err);
        snprintf(text, size, "%llu", (unsigned long long)n);
        return rc;
    case RLT_PARAM_NUMBER:
        rc = rlt_json_get_double(v, p->name, true, &x, err);
        snprintf(text, size, "%.17g", x);
        return rc;
    default:
        rc = p->words ? rlt_json_get_bool(v, p->name, true, &yes, err)
                      : rlt_json_get_string(v, p->name, true, &word, err);
        snprintf(text, size, "%s", !p->words ? word : yes ? "yes" : "no");
        return rc;
    }
}

static int read_member(rlt_json v, const rlt_param *p, row *r, rlt_error *err)
{
    char text[64];
    rlt_error why = {0};
    if (!rlt_json_is(rlt_json_get(v, p->name)))
        return 0;
    int rc = member_text(v, p, text, sizeof text, err);
    if (rc || !(rc = read_field(p, r, text, &why)))
        return rc;
    return rlt_json_fail(rlt_json_get(v, p->name), p->kind == RLT_PARAM_NUMBER ? RLT_ERANGE : RLT_ESCHEMA,
                         err, "%s", why.what);
}

static int read_object(rlt_json v, rlt_model *m, rlt_error *err)
{
    const char *keys[N_FIELDS + 2] = {"name"}, *name = NULL, *wrong;
    row r = fresh();
    int rc;
    for (int f = 0; f < N_FIELDS; f++)
        keys[f + 1] = fields[f].name;
    if ((rc = rlt_json_only(v, keys, err)) || (rc = rlt_json_get_string(v, "name", true, &name, err)))
        return rc;
    for (int f = 0; f < N_FIELDS; f++)
        if ((rc = read_member(v, &fields[f], &r, err)))
            return rc;
    if (!*name)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "the layer has no name");
    if ((wrong = rule(m, &r)))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "%s", wrong);
    return append(m, &r, name, err);
}

static int read_model(rlt_json root, rlt_model *m, rlt_error *err)
{
    static const char *const keys[] = {"name",     "sample", "tokens", "hidden", "heads",
                                       "kv_heads", "source", "layers", NULL};
    const struct {
        const char *name;
        uint32_t *field, min, max;
    } counts[] = {{"tokens", &m->tokens, 1, 1 << 24},
                  {"hidden", &m->hidden, 0, 1 << 20},
                  {"heads", &m->heads, 0, 1 << 16},
                  {"kv_heads", &m->kv_heads, 0, 1 << 16}};
    const char *name = m->name, *sample = m->sample, *source;
    rlt_json layers = rlt_json_get(root, "layers");
    int rc;
    if ((rc = rlt_json_only(root, keys, err)) ||
        (rc = rlt_json_get_string(root, "name", false, &name, err)) ||
        (rc = rlt_json_get_string(root, "sample", false, &sample, err)) ||
        (rc = rlt_json_get_string(root, "source", false, &source, err)))
        return rc;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t n = *counts[i].field;
        if ((rc = rlt_json_get_u64(root, counts[i].name, false, counts[i].max, &n, err)))
            return rc;
        if (n < counts[i].min)
            return rlt_json_fail(rlt_json_get(root, counts[i].name), RLT_ERANGE, err, "expected %u or more",
                                 counts[i].min);
        *counts[i].field = (uint32_t)n;
    }
    if (name != m->name)
        snprintf(m->name, sizeof m->name, "%s", name);
    if (sample != m->sample)
        snprintf(m->sample, sizeof m->sample, "%s", sample);
    if (!rlt_json_is_array(layers))
        return rlt_json_fail(rlt_json_is(layers) ? layers : root, RLT_ESCHEMA, err,
                             "expected 'layers', an array of objects");
    for (rlt_json v = rlt_json_first(layers); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_object(v, m, err);
    return rc;
}

static int read_json(const char *path, rlt_model *m, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (!rc)
        rc = read_model(rlt_json_root(doc), m, err);
    rlt_json_free(doc);
    return rc;
}

int rlt__model_read(const char *path, rlt_model *m, rlt_error *err)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int rc;
    snprintf(m->name, sizeof m->name, "%.*s", dot ? (int)(dot - base) : 0, base);
    snprintf(m->family, sizeof m->family, "table");
    snprintf(m->sample, sizeof m->sample, "sample");
    m->tokens = 1;
    rc = dot && strcmp(dot, ".csv") == 0 ? read_csv(path, m, err) : read_json(path, m, err);
    rlt_make_printable(m->name);
    rlt_make_printable(m->sample);
    if (!rc && m->n_layers == 0)
        rc = rlt_fail(err, RLT_ESCHEMA, path, "has no layers");
    return rc;
}
