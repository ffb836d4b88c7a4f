/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers to design for: from ASTRA-sim 1.0's and SimAI's text, from JSON, from a training. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/design/design.h"
#include "workload/design/internal.h"
#include "workload/models/model.h"
#include "workload/readers/layers.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

enum { MAX_REPEAT = 1 << 16 };

rlt_design_layer *rlt_design_work_add(rlt_design_work *w, rlt_error *err)
{
    if (rlt_grow(&w->layers, &w->room, sizeof *w->layers, (uint64_t)w->n + 1, RLT_MAX_LAYERS, "layers", err))
        return NULL;
    w->layers[w->n] = (rlt_design_layer){0};
    return &w->layers[w->n++];
}

int rlt__design_no_layer(const rlt_error *err)
{
    return err && err->code ? err->code : RLT_ENOMEM;
}

void rlt_design_work_free(rlt_design_work *w)
{
    free(w->layers);
    w->layers = NULL;
    w->n = w->room = 0;
}

static uint32_t members_of(const rlt_design_work *w, rlt_design_over over)
{
    return over == RLT_DESIGN_MODEL ? w->model : over == RLT_DESIGN_DATA ? w->data : w->model * w->data;
}

/* ---- ASTRA-sim 1.0 ---- */

static int take_comm(const rlt_design_work *w, const rlt_layer_table *t, const rlt_layer *l, uint32_t phase,
                     bool bare, rlt_design_comm *out, rlt_error *err)
{
    const rlt_layer_comm *c = &l->comm[phase];
    rlt_layer_scope scope = (rlt_layer_scope)c->scope;
    if (bare)
        scope = phase == RLT_WEIGHT_GRADIENT ? RLT_OVER_DATA : RLT_OVER_MODEL;
    if (!c->any || scope == RLT_OVER_NONE)
        return 0;
    if (t->expert == 1 && scope == RLT_OVER_EXPERT)
        return 0;
    if (t->expert == 1 && scope == RLT_OVER_DATA_EXPERT)
        scope = RLT_OVER_DATA;
    if (scope != RLT_OVER_ALL && scope != RLT_OVER_MODEL && scope != RLT_OVER_DATA)
        return rlt__layer_fail(t, l->line, RLT_EUNSUPPORTED, err,
                               "design does not support expert parallelism");
    out->any = true;
    out->kind = (rlt_coll_kind)c->kind;
    out->over = scope == RLT_OVER_ALL     ? RLT_DESIGN_EVERY
                : scope == RLT_OVER_MODEL ? RLT_DESIGN_MODEL
                                          : RLT_DESIGN_DATA;
    out->bytes =
        (double)c->bytes * (out->kind == RLT_ALL_GATHER && t->gathers_shares ? members_of(w, out->over) : 1);
    return 0;
}

/* Adds the listed phases of a layer, from phase 0. */
static int take_layer(rlt_design_work *w, const rlt_layer_table *t, uint32_t i, uint32_t phases, bool bare,
                      rlt_error *err)
{
    rlt_design_layer *to = rlt_design_work_add(w, err);
    int rc = to ? 0 : rlt__design_no_layer(err);
    for (uint32_t p = 0; p < phases && !rc; p++) {
        to->compute_s[p] = (double)t->layers[i].compute_ns[p] * 1e-9;
        rc = take_comm(w, t, &t->layers[i], p, bare, &to->comm[p], err);
    }
    return rc;
}

int rlt_design_work_astra1(rlt_design_work *w, const char *path, rlt_error *err)
{
    rlt_layer_table t;
    bool bare;
    int rc = rlt__astra1_layers(path, &t, &bare, &w->hash, err);
    for (uint32_t i = 0; i < t.n && !rc; i++)
        rc = take_layer(w, &t, i, 3, bare, err);
    rlt__layers_free(&t);
    return rc;
}

static int set_model(rlt_design_work *w, const rlt_layer_table *t, rlt_error *err)
{
    uint32_t ranks = w->model * w->data;
    if (t->stages > 1 || t->expert > 1)
        return rlt_fail(err, RLT_EUNSUPPORTED, t->file, "design does not support %s",
                        t->stages > 1 ? "pipeline stages" : "expert parallelism");
    if (ranks % t->model)
        return rlt_fail(err, RLT_ERANGE, t->file,
                        "%" PRIu32 " accelerators do not divide into its model groups of %" PRIu32, ranks,
                        t->model);
    w->model = t->model;
    w->data = ranks / t->model;
    return 0;
}

int rlt_design_work_simai(rlt_design_work *w, const char *path, bool repeats, rlt_error *err)
{
    rlt_layer_table t;
    int rc = rlt__simai_layers(path, &t, &w->hash, err);
    if (!rc)
        rc = set_model(w, &t, err);
    for (uint32_t i = 0; i < t.n && !rc; i++) {
        rc = take_layer(w, &t, i, 3, false, err);
        for (uint32_t k = rlt__layer_repeats(&t, i); k < i && !rc && !repeats; k++)
            rc = take_layer(w, &t, k, 1, false, err);
    }
    rlt__layers_free(&t);
    return rc;
}

/* ---- JSON ---- */

static int read_over(rlt_json v, uint32_t phase, rlt_design_over *out, rlt_error *err)
{
    static const char *const words[] = {"model", "data", "all"};
    const char *word = phase == RLT_WEIGHT_GRADIENT ? "data" : "model";
    int rc = rlt_json_get_string(v, "over", false, &word, err);
    for (int k = 0; k < 3 && !rc; k++)
        if (strcmp(word, words[k]) == 0) {
            *out = (rlt_design_over)k;
            return 0;
        }
    return rc ? rc
              : rlt_json_fail(rlt_json_get(v, "over"), RLT_ESCHEMA, err,
                              "expected model, data or all, got '%.40s'", word);
}

static int read_phase(rlt_json v, uint32_t phase, rlt_design_layer *out, rlt_error *err)
{
    static const char *const keys[] = {"compute", "collective", "bytes", "over", NULL};
    const char *kind = NULL;
    uint64_t bytes = 0;
    rlt_time compute_ps = 0;
    rlt_design_comm *c = &out->comm[phase];
    rlt_error why = {0};
    int rc;
    if (!rlt_json_is(v))
        return 0;
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object with compute, collective, bytes, over");
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = rlt_json_get_duration(v, "compute", false, &compute_ps, err)) ||
        (rc = rlt_json_get_string(v, "collective", false, &kind, err)) ||
        (rc = rlt_json_get_size(v, "bytes", kind != NULL, &bytes, err)))
        return rc;
    out->compute_s[phase] = (double)compute_ps * 1e-12;
    if (!kind)
        return 0;
    if (rlt_coll_parse(kind, &c->kind, &why))
        return rlt_json_fail(rlt_json_get(v, "collective"), RLT_ESCHEMA, err, "%s", why.what);
    c->any = bytes > 0;
    c->bytes = (double)bytes;
    return read_over(v, phase, &c->over, err);
}

static int read_layer(rlt_design_work *w, rlt_json v, rlt_error *err)
{
    static const char *const keys[] = {"name", "repeat", "forward", "input", "weight", NULL};
    uint64_t repeat = 1;
    rlt_design_layer layer = {0};
    if (!rlt_json_is_object(v))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object with forward, input, weight");
    int rc = rlt_json_only(v, keys, err);
    if (!rc)
        rc = rlt_json_get_u64(v, "repeat", false, MAX_REPEAT, &repeat, err);
    for (uint32_t p = 0; p < 3 && !rc; p++)
        rc = read_phase(rlt_json_get(v, keys[2 + p]), p, &layer, err);
    for (uint64_t k = 0; k < repeat && !rc; k++) {
        rlt_design_layer *to = rlt_design_work_add(w, err);
        if (!to)
            return rlt__design_no_layer(err);
        *to = layer;
    }
    return rc;
}

int rlt_design_work_json(rlt_design_work *w, const char *path, rlt_error *err)
{
    static const char *const keys[] = {"name", "source", "layers", NULL};
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    rlt_json root = rlt_json_root(doc), layers = rlt_json_get(root, "layers");
    const char *text = rlt_json_text(doc);
    w->hash = rlt_hash_bytes(text, strlen(text), 0);
    if (!rlt_json_is_object(root))
        rc = rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object with layers");
    else if (!(rc = rlt_json_only(root, keys, err)) && !rlt_json_is_array(layers))
        rc = rlt_json_fail(root, RLT_ESCHEMA, err, "expected 'layers', a list");
    for (rlt_json v = rlt_json_first(layers); !rc && rlt_json_is(v); v = rlt_json_next(v))
        rc = read_layer(w, v, err);
    if (!rc && w->n == 0)
        rc = rlt_json_fail(layers, RLT_ESCHEMA, err, "the file has no layers");
    rlt_json_free(doc);
    return rc;
}

/* ---- a training ---- */

static int can_design(const rlt_training *t, rlt_error *err)
{
    const char *what = t->size[RLT_AXIS_PP] > 1   ? "pipeline parallelism"
                       : t->size[RLT_AXIS_CP] > 1 ? "context parallelism"
                       : rlt__experts_apart(t)    ? "expert parallelism"
                       : t->zero == 3             ? "ZeRO 3"
                       : t->sequence_parallel     ? "sequence parallelism"
                       : t->sync_every > 1        ? "local SGD"
                                                  : NULL;
    return what ? rlt_fail(err, RLT_EUNSUPPORTED, "layout", "design does not support %s", what) : 0;
}

static void set_comm(rlt_design_comm *c, rlt_coll_kind kind, rlt_design_over over, double bytes)
{
    *c = (rlt_design_comm){.any = bytes > 0, .kind = kind, .over = over, .bytes = bytes};
}

/* Adds the gradients of the last microbatch, in buckets that fill during the backward pass, or all at its
 * end. */
static void add_gradients(rlt_design_work *w, const rlt_training *t)
{
    uint32_t n = t->model->n_layers;
    rlt_design_layer *last = w->layers + (w->n - n);
    double bucket = 0;
    for (uint32_t i = n; i-- > 0 && w->data > 1;) {
        const rlt_model_layer *l = &t->model->layers[i];
        bucket += (rlt__learning(t, l) + rlt__learning_experts(t, l)) * t->gradient_bytes * (1 - t->sparsity);
        if (i && (!t->overlap || bucket < (double)t->bucket_bytes))
            continue;
        set_comm(&last[i].comm[2], RLT_ALL_REDUCE, RLT_DESIGN_DATA, bucket);
        bucket = 0;
    }
}

static int add_pass(rlt_design_work *w, const rlt_training *t, const rlt__times *x, rlt_error *err)
{
    for (uint32_t i = 0; i < t->model->n_layers; i++) {
        const rlt_model_layer *l = &t->model->layers[i];
        rlt_design_layer *to = rlt_design_work_add(w, err);
        if (!to)
            return rlt__design_no_layer(err);
        double back = (double)(x->backward[i] + x->weights[i]) * 1e-12,
               element = (double)t->microbatch * t->element_bytes;
        to->compute_s[0] = (double)x->forward[i] * 1e-12;
        to->compute_s[1] = to->compute_s[2] = back / 2;
        if (w->model > 1) {
            uint64_t inputs = l->tp_inputs ? l->tp_inputs : l->tp_elements;
            set_comm(&to->comm[0], RLT_ALL_REDUCE, RLT_DESIGN_MODEL, (double)l->tp_elements * element);
            set_comm(&to->comm[1], RLT_ALL_REDUCE, RLT_DESIGN_MODEL, (double)inputs * element);
        }
    }
    return 0;
}

int rlt_design_work_training(rlt_design_work *w, const rlt_training *t, rlt_error *err)
{
    rlt__times x = {0};
    uint32_t passes = rlt_training_microbatches(t);
    int rc = can_design(t, err);
    w->model = t->size[RLT_AXIS_TP];
    w->data = t->size[RLT_AXIS_DP];
    if (!rc)
        rc = rlt__training_times(t, &x, err);
    for (uint32_t k = 0; k < passes && !rc; k++)
        rc = add_pass(w, t, &x, err);
    if (!rc)
        add_gradients(w, t);
    rlt__training_times_free(&x);
    return rc;
}
