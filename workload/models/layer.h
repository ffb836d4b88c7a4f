/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of a layer on an accelerator: its products one after the other, and its element-wise kernels.
 *
 *   forward           each product, and moved_elements at the memory's bandwidth
 *   input gradients   the same products with inputs and outputs exchanged; 1.6 times the elements moved,
 *                     since a backward kernel reads a gradient and what was kept, and writes a gradient
 *   weight gradients  products with the rows as their inner dimension; gradients are read and written
 *
 * Example: a layer with one product of 1024 x 4096 outputs, for 2 samples of 2048 tokens, under tp = 4 that
 * divides the outputs: m = 4096, k = 1024, n = 1024 forward; n and k exchanged for the gradient of the
 * inputs; m = 1024, n = 1024, k = 4096 for that of the weights.
 */
#ifndef RLT_WORKLOAD_MODELS_LAYER_H
#define RLT_WORKLOAD_MODELS_LAYER_H

#include <stdint.h>

#include "sim/base/time.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The part of a layer that a rank computes. */
typedef struct rlt_layer_share {
    double samples;          /* samples of a microbatch; a part of one under context parallelism */
    uint32_t tp, ep;         /* ranks of tensor and expert parallelism */
    uint32_t etp;            /* ranks that share an expert; 0: tp */
    bool sequence_parallel;  /* divides layers that tensor parallelism does not */
    uint32_t element_bytes;  /* an activation or a weight */
    uint32_t gradient_bytes; /* a gradient that a microbatch adds to */
    double load;             /* copies of tokens on the rank, over the mean; 0: 1 */
    double busy;             /* factor on the time of all kernels; 0: 1 */
    double packed;           /* elements moved besides, per element sent to experts */
    double slowdown;         /* factor on the time of products; 1: none */
    uint32_t adapter_rank;   /* LoRA: rank of the adapters beside frozen weights; 0: weights are trained */
} rlt_layer_share;

typedef enum rlt_layer_pass { RLT_LAYER_FORWARD, RLT_LAYER_INPUTS, RLT_LAYER_WEIGHTS } rlt_layer_pass;

/* Returns the picoseconds of layer i in a pass, without the host. O(products of the layer). */
double rlt_layer_time(const rlt_model *m, uint32_t i, const rlt_roofline *f, const rlt_layer_share *s,
                      rlt_layer_pass pass);
/* Returns the kernels of a layer's forward pass, as the host counts them: one for each product, two for
 * element-wise work. */
double rlt_layer_kernels(const rlt_model_layer *l);
/* Rounds picoseconds to a time. */
rlt_time rlt_time_of(double ps);

#ifdef __cplusplus
}
#endif
#endif
