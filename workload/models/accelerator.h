/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an accelerator does in which time: a roofline with measured efficiency. An operation of F FLOPs that
 * moves b bytes takes
 *
 *   launch + max(F / (peak(precision) e), b / (bandwidth e_memory))
 *
 * with e the efficiency of its kind of work on this software stack, smaller for narrow layers and few tokens:
 *
 *   e = most * w / (w + w_half) * t / (t + t_half),   w = width / tp^tp_power, t = tokens of the microbatch
 *
 * Only matrix products have the two factors: the matrices of attention are as wide as a head, whatever the
 * model's width, an image is work enough for a convolution, and what memory bounds is no faster for being
 * large.
 *
 * Accelerators are JSON files in workload/accelerators/, each with the source of its numbers; surfaces are
 * fitted by `ringlet calibrate-training` on measured runs, never to a single row.
 */
#ifndef RLT_WORKLOAD_MODELS_ACCELERATOR_H
#define RLT_WORKLOAD_MODELS_ACCELERATOR_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/models/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_PEAKS = 8, RLT_MAX_SURFACES = 32 };

typedef struct rlt_surface {
    char stack[32];              /* "megatron", "axonn", ...; "any" */
    char precision[16];          /* "bf16", ...; "any" */
    double most[RLT_WORK_KINDS]; /* of peak at large sizes */
    double width_half, tokens_half, tp_power;
    double memory; /* e_memory */
    /* Efficiency of the backward pass, times e: its products have other shapes, gradients are added up, and
     * it shares the machine with communication. Recomputation is as efficient as the forward pass. 0: 1. */
    double backward;
    rlt_time host_ps; /* fixed time of an iteration on this stack: data, logging, launches of the optimizer */
    char source[512]; /* what it was fitted to */
} rlt_surface;

typedef struct rlt_accelerator {
    char name[64], also[64]; /* also: a shorter name, or "" */
    char source[512];
    uint64_t memory_bytes, memory_Bps;
    struct {
        char precision[16];
        uint64_t Flops;
    } peaks[RLT_MAX_PEAKS];
    uint32_t n_peaks;
    rlt_time launch_ps; /* of an operation */
    rlt_surface surfaces[RLT_MAX_SURFACES];
    uint32_t n_surfaces;
    /* Compute that runs while this rank communicates takes so many times as long (SMs and memory bandwidth
     * are shared); 1: none. */
    double overlap_slowdown;
} rlt_accelerator;

/* By file, or by its name or shorter name in the directories `dirs` (see sim/base/find.h; NULL: none). Errors
 * name line and column; RLT_EIO where there is none, with the nearest name. */
RLT_API int rlt_accelerator_load(const char *spec, const char *dirs, rlt_accelerator *out,
                                 rlt_error *err) RLT_MUST_USE;
/* The file that it is read from; false: there is none. */
RLT_API bool rlt_accelerator_path(const char *spec, const char *dirs, char *path, size_t size);
/* The surface of a stack and precision: the exact one, else of any stack, else of any precision.
 * RLT_EUNSUPPORTED lists those there are. */
RLT_API int rlt_accelerator_surface(const rlt_accelerator *a, const char *stack, const char *precision,
                                    const rlt_surface **out, rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_accelerator_peak(const rlt_accelerator *a, const char *precision, uint64_t *Flops,
                                 rlt_error *err) RLT_MUST_USE;

typedef struct rlt_work {
    rlt_work_kind kind;
    double flop, bytes;
    uint32_t width; /* 0: without the factor of width */
    double tokens;  /* of the microbatch; 0: without the factor of tokens */
    uint32_t tp;
} rlt_work;
RLT_API rlt_time rlt_accelerator_time(const rlt_accelerator *a, const rlt_surface *s, uint64_t peak_Flops,
                                      const rlt_work *w);

#ifdef __cplusplus
}
#endif
#endif
