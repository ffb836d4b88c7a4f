/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Number formats of tensors in memory and on the network: bytes of an element with its share of scales. A
 * scale for the whole tensor is not counted.
 *
 * Example: MXFP8 has a scale of 8 bits for 32 elements, 33 bytes in all: 1.03125 bytes per element.
 */
#ifndef RLT_WORKLOAD_MODELS_PRECISION_H
#define RLT_WORKLOAD_MODELS_PRECISION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_precision {
    const char *name;     /* as the peaks of accelerators are named */
    uint32_t bits, block; /* bits of an element; elements that share a scale, 0: a scale for the tensor */
    uint32_t scale_bits;
    const char *source;
} rlt_precision;

/* Returns the i-th format, or NULL past the end. Format 0 is "element": the bytes that a training states. */
const rlt_precision *rlt_precision_at(uint32_t i);
/* Returns the same's name. */
const char *rlt_precision_word(uint32_t i);
/* Returns the bytes per element in format i; `element_bytes` are those of format 0. */
double rlt_precision_bytes(uint32_t i, uint32_t element_bytes);

#ifdef __cplusplus
}
#endif
#endif
