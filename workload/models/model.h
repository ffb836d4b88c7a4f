/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model as a table of layers: what each computes, keeps and passes on for one sample (a sequence, an
 * image), before it is spread over accelerators. A family (transformer, ResNet, VGG, DLRM, ...) builds it
 * from a few settings, or a file lists it. Immutable once built.
 *
 * A multiply-add counts as two FLOPs. The backward pass takes backward_flop: twice the forward for layers
 * with weights. Sizes are in elements, not bytes: the training sets the precision.
 *
 * A new family is one file with one const struct, entered in RLT_MODEL_FAMILIES.
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

/* Kinds of work. Each has its own efficiency on an accelerator (workload/models/accelerator.h). */
typedef enum rlt_work_kind {
    RLT_WORK_MATMUL,
    RLT_WORK_ATTENTION, /* scores, and sums weighted by them */
    RLT_WORK_CONVOLUTION,
    RLT_WORK_LOOKUP, /* embedding tables: bound by memory */
    RLT_WORK_VECTOR, /* norms, activations, optimizer: bound by memory */
    RLT_WORK_KINDS
} rlt_work_kind;

typedef struct rlt_model_layer {
    char name[RLT_MODEL_NAME];
    uint8_t work; /* rlt_work_kind */
    bool sharded; /* tensor parallelism divides its parameters and FLOPs; else every rank does all of it */
    bool movable; /* a pipeline stage may begin here: the first layer of a block */
    /* Block number: rises by one, from 0. Layers of one block (a transformer layer, a residual block) are
     * recomputed together. Layers before the first movable one (embeddings) and a last block that does not
     * begin with a movable layer (final norm and logits) are never recomputed. */
    uint32_t block;
    uint32_t experts;           /* top_k of them work for a token; experts 0: a dense layer */
    uint64_t parameters;        /* parameters outside experts */
    uint64_t expert_parameters; /* total of all experts */
    /* Parameters shared with an earlier layer that holds and counts them. A pipeline stage without that layer
     * has a copy, and the gradients of the copy are added to the original's. */
    uint64_t tied_parameters;
    double forward_flop, backward_flop;
    /* FLOPs that kernels execute, where they differ from those that count; 0: they do not. Fused causal
     * attention skips the half above the diagonal, and computes scores again in its backward pass. */
    double executed_forward, executed_backward;
    double moved_elements; /* read and written by the forward pass, outside its products */
    /* Attention: its scores, how many keys each query has, the widths of a head, and those of moved_elements
     * that are scores. A software stack without fused attention computes and moves scores apart, whatever the
     * model says. */
    double scores, keys, head, value_head, moved_scores;
    uint32_t first_product, n_products; /* range in the model's products */
    /* Elements kept for the backward pass. `saved_whole` is kept on every rank of a tensor-parallel group and
     * divided only with sequence parallelism. `saved_split` is divided among them. `saved_scores` is divided
     * too, but not kept if attention is fused or recomputed selectively. */
    double saved_whole, saved_split, saved_scores;
    /* Part of saved_whole and of saved_split that only products read, as their input, and inputs of
     * products in saved_split that others read, too. Products in low precision keep a narrow copy: of the
     * latter, besides. */
    double inputs_whole, inputs_split, inputs_shared;
    /* Elements kept instead if the backward pass repeats all but every second matrix product and attention
     * (recompute=products); divided among tensor-parallel ranks. */
    double saved_products;
    /* Gradients of elements inside the layer that exist at once in its backward pass; divided, too. */
    double inner_gradients;
    double logits; /* elements of which a loss is computed, part of saved_split with two elements each */
    uint64_t output_elements; /* passed to the next layer, and to the next pipeline stage */
    /* Elements communicated by the forward pass; the backward pass communicates as many. tp_elements are
     * all-reduced over tensor parallelism; with sequence parallelism they are gathered before the layer and
     * reduce-scattered after it. ep_elements are sent to experts, and as many come back. cp_elements are keys
     * and values passed around by context parallelism. tp_inputs, if not 0, are gathered instead
     * before the forward pass, and reduced after the backward pass: latent vectors, which are narrow. */
    uint64_t tp_elements, tp_inputs, ep_elements, cp_elements;
    /* Shapes of matrices, as sums over those of m x n: m + n, the parameters of an adapter of rank 1 (LoRA);
     * the adapter's forward FLOPs per sample; FLOPs of an orthogonalisation (Muon), 4 k^2 l + 2 k^3 per
     * iteration for k = min(m, n) and l = max(m, n). 0 for tables from files. */
    uint64_t sides;
    double sides_flop, orthogonal_flop;
} rlt_model_layer;

/* Dimension of a product that tensor parallelism divides: the outputs (column-parallel), the inputs
 * (row-parallel), or none. */
typedef enum rlt_product_split { RLT_SPLIT_NONE, RLT_SPLIT_OUT, RLT_SPLIT_IN } rlt_product_split;

/* A product of a layer's forward pass: `rows` vectors of `in` elements per sample, times an in x out matrix.
 * Products of experts have the copies of all tokens as rows, spread evenly over all experts. The backward
 * pass has two products of each: gradients of inputs (rows x out times out x in) and of weights (in x rows
 * times rows x out). A layer of products without entries here counts as one of the model's width. */
typedef struct rlt_model_product {
    double rows;
    uint64_t in, out;
    rlt_product_split split;
    bool expert;
} rlt_model_product;

/* A trainable tensor, in forward order. Gradient buckets consist of tensors. */
typedef struct rlt_model_tensor {
    uint32_t layer;
    bool expert; /* part of expert_parameters */
    uint64_t elements;
} rlt_model_tensor;

typedef struct rlt_model {
    char name[RLT_MODEL_NAME], family[RLT_MODEL_NAME];
    char sample[16];          /* "sequence", "image" */
    uint32_t tokens;          /* per sample: the sequence length; 1 for images */
    uint32_t hidden;          /* width, for the efficiency of matrix products; 0: no factor of width */
    uint32_t heads, kv_heads; /* limits of tensor parallelism; 0: no limit */
    bool recurrent;           /* passes a state from token to token (Mamba): no context parallelism */
    rlt_model_layer *layers;
    uint32_t n_layers, layers_room;
    uint64_t parameters; /* of all layers, dense and experts; at most 2^60 */
    rlt_model_tensor *tensors;
    uint32_t n_tensors, tensors_room;
    rlt_model_product *products;
    uint32_t n_products, products_room;
} rlt_model;

typedef struct rlt_model_family {
    const char *name, *summary;
    const rlt_param *parameters; /* settings with their defaults; `build` checks them */
    /* Fills the model from settings NAME=VALUE. RLT_EUSAGE names the known settings. */
    int (*build)(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err);
} rlt_model_family;

/* A model with published sizes: "gpt3-2.7b" is family "transformer" with these settings. */
typedef struct rlt_model_preset {
    const char *name, *family, *settings; /* settings: separated by commas */
    const char *source;
} rlt_model_preset;

RLT_API rlt_registry *rlt_model_families(void);
RLT_API const rlt_model_family *rlt_model_family_at(uint32_t i); /* NULL past the end */
RLT_API const rlt_model_preset *rlt_model_preset_at(uint32_t i); /* NULL past the end */
/* Opens a model by the text that a user types: a preset or family, with settings behind it ("gpt3-2.7b",
 * "transformer:layers=24,hidden=1024", "gpt3-2.7b:sequence=512"), a file of layers (.csv, .json;
 * workload/models/table.c), or the config.json of published weights or its folder, with settings behind it
 * ("./config.json:sequence=512"; workload/models/config.c). RLT_EUSAGE for unknown names and settings, with
 * the nearest known one. Errors in files name line and column. */
RLT_API int rlt_model_open(const char *spec, rlt_model *out, rlt_error *err) RLT_MUST_USE;
RLT_API void rlt_model_free(rlt_model *m);
/* Returns the colon in front of the settings in such a text, or NULL if it has none. */
RLT_API const char *rlt_model_settings(const char *spec);

/* For families: adds a layer after the others, in the block of the last one. Returns NULL if memory or layer
 * numbers are exhausted. The pointer holds until the next call. */
RLT_API rlt_model_layer *rlt_model_add(rlt_model *m, const char *name, rlt_work_kind work, rlt_error *err);
/* Adds a tensor to the last layer, and its elements to the layer's parameters. 0 elements: adds none. */
RLT_API int rlt_model_add_tensor(rlt_model *m, uint64_t elements, bool expert, rlt_error *err) RLT_MUST_USE;

/* Returns the table of a layer's fields, except names: columns of a CSV, members of a JSON object. */
RLT_API const rlt_param *rlt_model_layer_parameters(void);

typedef struct rlt_model_totals {
    uint64_t parameters;                /* dense and experts */
    double forward_flop, backward_flop; /* per sample */
    uint32_t blocks;                    /* that begin with a movable layer */
} rlt_model_totals;
RLT_API rlt_model_totals rlt_model_sum(const rlt_model *m);

#ifdef __cplusplus
}
#endif
#endif
