/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of an operation on an accelerator: a roofline with measured efficiency. An operation of F FLOPs
 * that moves b bytes takes
 *
 *   T = launch + max(F / (peak(precision) e), b / (bandwidth e_memory))
 *
 * e is the efficiency of the kind of work on a software stack. For matrix products it falls for narrow layers
 * and few tokens:
 *
 *   e = most * w / (w + w_half) * t / (t + t_half),   w = width / tp^tp_power,   t = tokens of the microbatch
 *
 * For all other kinds e = most. The matrices of attention are as wide as a head, whatever the model's width.
 * One image is work enough for a convolution. Work bound by memory is no faster in larger pieces.
 *
 * Example: a model of width 4096 under tp = 2, bf16, 4096 tokens. A product of 4096 x 4096 activations with
 * the rank's 4096 x 2048 weights has F = 2 * 4096 * 4096 * 2048 = 6.87e10 and b = 67 MB. Let peak = 312
 * TFLOPS, bandwidth = 2039 GB/s, most = 0.7, w_half = 512, t_half = 1024, tp_power = 1, e_memory = 0.8 and
 * launch = 5 us. Then w = 2048 and e = 0.7 * 0.8 * 0.8 = 0.448. T = 5 us + max(492 us, 41 us) = 497 us.
 *
 * Accelerators are JSON files in workload/accelerators/, each with the source of its numbers. `ringlet
 * calibrate-training` fits surfaces to measured runs, never to a single row.
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
    double most[RLT_WORK_KINDS]; /* share of the peak at large sizes, by kind of work */
    double width_half, tokens_half, tp_power;
    double memory; /* e_memory, share of the bandwidth */
    /* Factor on e in the backward pass. Its products have other shapes, gradients are added up, and it shares
     * the machine with communication. Recomputation is as efficient as the forward pass. 0 counts as 1. */
    double backward;
    rlt_time host_ps; /* fixed time per iteration on this stack: data, logging, launches of the optimizer */
    char source[512]; /* the measurements it was fitted to */
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
    rlt_time launch_ps; /* per operation */
    rlt_surface surfaces[RLT_MAX_SURFACES];
    uint32_t n_surfaces;
    /* Slowdown of compute while its rank communicates, because both share multiprocessors and memory
     * bandwidth. 1: none. */
    double overlap_slowdown;
} rlt_accelerator;

/* Loads an accelerator from a file, or by its name or shorter name in the directories `dirs` (see
 * sim/base/find.h; NULL: none). Errors name line and column. RLT_EIO if there is none, with the nearest
 * name. */
RLT_API int rlt_accelerator_load(const char *spec, const char *dirs, rlt_accelerator *out,
                                 rlt_error *err) RLT_MUST_USE;
/* Finds the file of an accelerator. Returns false if there is none. */
RLT_API bool rlt_accelerator_path(const char *spec, const char *dirs, char *path, size_t size);
/* Finds the surface of a stack and precision: the exact one, else one of any stack, else one of any
 * precision. RLT_EUNSUPPORTED lists the known ones. */
RLT_API int rlt_accelerator_surface(const rlt_accelerator *a, const char *stack, const char *precision,
                                    const rlt_surface **out, rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_accelerator_peak(const rlt_accelerator *a, const char *precision, uint64_t *Flops,
                                 rlt_error *err) RLT_MUST_USE;

typedef struct rlt_work {
    rlt_work_kind kind;
    double flop, bytes;
    uint32_t width; /* hidden size of the model; 0: no factor of width */
    double tokens;  /* tokens of the microbatch; 0: no factor of tokens */
    uint32_t tp;
} rlt_work;
RLT_API rlt_time rlt_accelerator_time(const rlt_accelerator *a, const rlt_surface *s, uint64_t peak_Flops,
                                      const rlt_work *w);

#ifdef __cplusplus
}
#endif
#endif
