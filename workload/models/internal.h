/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the families of models share: their settings, and a builder that remembers the first failure. */
#ifndef RLT_WORKLOAD_MODELS_INTERNAL_H
#define RLT_WORKLOAD_MODELS_INTERNAL_H

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/model.h"

/* The families, in the order of lists: a new one is a file and a line here. */
#define RLT_MODEL_FAMILIES(X)                                                                                \
    X(transformer)                                                                                           \
    X(resnet)                                                                                                \
    X(vgg)                                                                                                   \
    X(dlrm)
#define RLT_X(name) extern const rlt_model_family rlt__model_##name;
RLT_MODEL_FAMILIES(RLT_X)
#undef RLT_X
extern const rlt_model_preset rlt__model_presets[];
extern const uint32_t rlt__model_n_presets;

/* The defaults of a table, and texts NAME=VALUE over them, later ones over earlier ones. */
int rlt__model_set(const char *family, const rlt_param *known, void *into, const char *const *settings,
                   uint32_t n, rlt_error *err) RLT_MUST_USE;

/* A model under construction.
 * After a failure (rc) nothing more is added, and `layer` is one to write into. */
typedef struct rlt__model_builder {
    rlt_model *m;
    rlt_error *err;
    int rc;
    uint32_t block;
    rlt_model_layer *layer, scratch;
} rlt__model_builder;

/* A layer "stem", or "stem part". */
void rlt__model_layer(rlt__model_builder *b, const char *stem, const char *part, rlt_work_kind work);
void rlt__model_tensor(rlt__model_builder *b, uint64_t elements, bool expert);
/* A matrix (and its bias) that `rows` vectors are multiplied with, in the last layer. */
void rlt__model_matrix(rlt__model_builder *b, double rows, uint64_t in, uint64_t out, bool bias);
/* Forward FLOPs of the last layer; as many again for each of the two gradients. */
void rlt__model_work(rlt__model_builder *b, double flop);

/* A table of layers from a file (workload/models/table.c). */
int rlt__model_read(const char *path, rlt_model *out, rlt_error *err) RLT_MUST_USE;

#endif
