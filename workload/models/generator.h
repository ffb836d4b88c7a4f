/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workloads made from a description instead of a recording. First one: a data-parallel transformer, all
 * ranks: forward and backward compute per layer from FLOPs (Narayanan et al., arXiv 2104.04473, section 5.1:
 * 24 b s h^2 (1 + s / 6h) forward per layer, twice that backward) at a given rate, gradients all-reduced in
 * buckets that overlap the backward pass, then the optimiser step.
 */
#ifndef RLT_WORKLOAD_MODELS_GENERATOR_H
#define RLT_WORKLOAD_MODELS_GENERATOR_H

#include "sim/base/error.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_transformer {
    uint32_t ranks, layers, hidden, heads, sequence, vocabulary;
    uint32_t microbatch; /* sequences per rank and step */
    uint32_t steps;
    uint32_t bytes_per_gradient; /* 2 = bf16 */
    uint64_t bucket_bytes; /* gradients are reduced when a bucket is full; 25 MiB is PyTorch DDP's default */
    uint64_t peak_Flops;   /* achieved rate, FLOP/s */
    uint64_t memory_Bps;   /* for the optimiser step */
} rlt_transformer;

/* gpt2-small like defaults on 8 ranks. */
RLT_API rlt_transformer rlt_transformer_default(void);
/* One setting by name and text with unit ("layers", "hidden", "bucket",
 * "peak", ...). RLT_EUSAGE lists the names. */
RLT_API int rlt_transformer_set(rlt_transformer *m, const char *name, const char *value,
                                rlt_error *err) RLT_MUST_USE;
RLT_API uint64_t rlt_transformer_parameters(const rlt_transformer *m);
RLT_API int rlt_transformer_program(const rlt_transformer *m, rlt_program **out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
