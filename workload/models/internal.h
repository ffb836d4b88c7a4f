/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the families of models: their settings, and a builder that keeps the first failure. */
#ifndef RLT_WORKLOAD_MODELS_INTERNAL_H
#define RLT_WORKLOAD_MODELS_INTERNAL_H

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "workload/models/model.h"

/* Families in the order of lists. A new family is a file and a line here. */
#define RLT_MODEL_FAMILIES(X)                                                                                \
    X(transformer)                                                                                           \
    X(vit)                                                                                                   \
    X(dit)                                                                                                   \
    X(resnet)                                                                                                \
    X(vgg)                                                                                                   \
    X(dlrm)
#define RLT_X(name) extern const rlt_model_family rlt__model_##name;
RLT_MODEL_FAMILIES(RLT_X)
#undef RLT_X
extern const rlt_model_preset rlt__model_presets[];
extern const uint32_t rlt__model_n_presets;

/* Sets the defaults of a table, then applies the texts NAME=VALUE. A later one overrides an earlier one. */
int rlt__model_set(const char *family, const rlt_param *known, void *into, const char *const *settings,
                   uint32_t n, rlt_error *err) RLT_MUST_USE;

/* A model under construction. After a failure (rc) nothing more is added; `layer` then is a scratch layer. */
typedef struct rlt__model_builder {
    rlt_model *m;
    rlt_error *err;
    int rc;
    uint32_t block;
    rlt_model_layer *layer, scratch;
} rlt__model_builder;

/* Adds a layer named "stem" or "stem part". */
void rlt__model_layer(rlt__model_builder *b, const char *stem, const char *part, rlt_work_kind work);
void rlt__model_tensor(rlt__model_builder *b, uint64_t elements, bool expert);
/* Notes the shape of `n` matrices of the last layer. `rows` vectors are multiplied with them altogether. */
void rlt__model_shape(rlt__model_builder *b, double rows, uint64_t in, uint64_t out, uint64_t n);
/* Adds a matrix, and its bias, to the last layer. `rows` vectors are multiplied with it. */
void rlt__model_matrix(rlt__model_builder *b, double rows, uint64_t in, uint64_t out, bool bias);
/* Adds forward FLOPs to the last layer. Each of the two gradients adds as many to its backward pass. */
void rlt__model_work(rlt__model_builder *b, double flop);

/* A config.json as settings of a family, separated by commas (workload/models/config.c). */
typedef struct rlt__config {
    char name[RLT_MODEL_NAME], settings[1024];
    const char *family;
    uint32_t given; /* bits of required settings */
} rlt__config;
/* Returns true if a file is a config.json, not a table of layers. */
bool rlt__config_is(rlt_json root);
int rlt__config_read(rlt_json root, rlt__config *out, rlt_error *err) RLT_MUST_USE;

/* Reads a table of layers from a file (workload/models/table.c). */
int rlt__model_read(const char *path, rlt_model *out, rlt_error *err) RLT_MUST_USE;

#endif
