/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model as a table of layers: what each computes, keeps, and passes on, of one sample (a sequence, an
 * image) at a time, before it is spread over accelerators. Built by a family (transformer, ResNet, VGG, DLRM,
 * ...) from a few settings, or read from a table; immutable afterwards.
 *
 * FLOPs count a multiply-add as two. The backward pass takes backward_flop, twice the forward for layers with
 * weights. Elements are counted, not bytes: precision is the training's.
 *
 * A new family is one file and one const struct, entered in the table of model.c.
 */
#ifndef RLT_WORKLOAD_MODELS_MODEL_H
#define RLT_WORKLOAD_MODELS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_MODEL_LAYERS = 1 << 20, RLT_MODEL_NAME = 64 };

/* What kind of work: each has its efficiency on an accelerator (workload/models/accelerator.h). */
typedef enum rlt_work_kind {
    RLT_WORK_MATMUL,
    RLT_WORK_ATTENTION, /* scores and weighted sums */
    RLT_WORK_CONVOLUTION,
    RLT_WORK_LOOKUP, /* embedding tables: bound by memory */
    RLT_WORK_VECTOR, /* norms, activations, optimizer: bound by memory */
    RLT_WORK_KINDS
} rlt_work_kind;

typedef struct rlt_model_layer {
    char name[RLT_MODEL_NAME];
    uint8_t work; /* rlt_work_kind */
    bool sharded; /* tensor parallelism divides its parameters and FLOPs; else every rank does all of it */
    bool movable; /* a pipeline stage may begin with it: the first layer of a block */
    /* Layers of one block (a transformer layer, a residual block) are recomputed together. Numbers rise by
     * one from 0. What comes before the first movable layer (embeddings), and a last block that does not
     * begin with one (final norm and logits), are kept whole. */
    uint32_t block;
    uint32_t experts;           /* of which top_k work for a token; 0: dense */
    uint64_t parameters;        /* dense ones */
    uint64_t expert_parameters; /* of all experts together */
    /* Held and counted by an earlier layer: a pipeline stage without that one has a copy, and its gradients
     * are added to the original's. */
    uint64_t tied_parameters;
    double forward_flop, backward_flop;
    double moved_elements; /* read and written by the forward pass beside the weights, for the roofline */
    /* Kept for the backward pass, in elements: `saved_whole` on every rank of a tensor-parallel group
     * (divided only with sequence parallelism), `saved_split` divided by it, `saved_scores` divided too, and
     * not kept at all where attention is recomputed selectively or fused. */
    double saved_whole, saved_split, saved_scores;
    uint64_t output_elements; /* passed to the next layer, and to the next pipeline stage */
    /* Communication of the forward pass; the backward pass has as much. Elements all-reduced over tensor
     * parallelism (with sequence parallelism gathered before and reduce-scattered after), sent to experts and
     * as many back, and of keys and values passed round by context parallelism. */
    uint64_t tp_elements, ep_elements, cp_elements;
} rlt_model_layer;

/* A trainable tensor, in forward order: what gradient buckets are made of. */
typedef struct rlt_model_tensor {
    uint32_t layer;
    bool expert; /* part of expert_parameters */
    uint64_t elements;
} rlt_model_tensor;

typedef struct rlt_model {
    char name[RLT_MODEL_NAME], family[RLT_MODEL_NAME];
    char sample[16];          /* "sequence", "image" */
    uint32_t tokens;          /* of a sample: the sequence length; 1 for images */
    uint32_t hidden;          /* width, for efficiency; 0: none */
    uint32_t heads, kv_heads; /* for what tensor parallelism can divide; 0: any */
    rlt_model_layer *layers;
    uint32_t n_layers, layers_room;
    uint64_t parameters; /* of all layers, dense and experts; at most 2^60 */
    rlt_model_tensor *tensors;
    uint32_t n_tensors, tensors_room;
} rlt_model;

typedef struct rlt_model_family {
    const char *name, *summary;
    const rlt_param *parameters; /* with their defaults; `build` sees to it that they hold */
    /* Fills the model from settings given as NAME=VALUE texts. RLT_EUSAGE naming the known settings. */
    int (*build)(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err);
} rlt_model_family;

/* A model with sizes of its own: "gpt3-2.7b" is family "transformer" with these settings. */
typedef struct rlt_model_preset {
    const char *name, *family, *settings; /* settings separated by commas */
    const char *source;
} rlt_model_preset;

RLT_API rlt_registry *rlt_model_families(void);
RLT_API const rlt_model_family *rlt_model_family_at(uint32_t i); /* NULL past the end */
RLT_API const rlt_model_preset *rlt_model_preset_at(uint32_t i); /* NULL past the end */
/* By what a user types: a preset or family with settings behind ("gpt3-2.7b", "transformer:layers=24,hidden=
 * 1024", "gpt3-2.7b:sequence=512"), or a file of layers (.csv, .json; workload/models/table.c). RLT_EUSAGE
 * for unknown names and settings, with the nearest known; errors in files name line and column. */
RLT_API int rlt_model_open(const char *spec, rlt_model *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_model_free(rlt_model *m);

/* For families: a layer after the others, in its block; NULL when out of memory or too many. The pointer
 * holds until the next one. */
RLT_API rlt_model_layer *rlt_model_add(rlt_model *m, const char *name, rlt_work_kind work, rlt_error *err);
/* A tensor of the last layer made, whose parameters grow with it; of 0 elements: none. */
RLT_API int rlt_model_add_tensor(rlt_model *m, uint64_t elements, bool expert, rlt_error *err) RLT_MUST_USE;

/* What a table of layers has beside names: columns of a CSV, members of a JSON. */
RLT_API const rlt_param *rlt_model_layer_parameters(void);

typedef struct rlt_model_totals {
    uint64_t parameters;                /* dense and experts */
    double forward_flop, backward_flop; /* of a sample */
    uint32_t blocks;                    /* that begin with a movable layer */
} rlt_model_totals;
RLT_API rlt_model_totals rlt_model_sum(const rlt_model *m);

#ifdef __cplusplus
}
#endif
#endif
