/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of a kernel on an accelerator, from its shape and precision: a roofline with measured efficiency.
 * A kernel of F FLOPs that moves b bytes takes
 *
 *   T = launch + max(F / (peak(precision) e), b / (bandwidth e_memory))
 *
 * e is the efficiency of the kind of work. Products of an m x k with a k x n matrix, and convolutions (whose
 * m is images x pixels, and k the inputs of a pixel), lose in each dimension that is short:
 *
 *   e = most * m / (m + rows_half) * n / (n + outputs_half) * k / (k + inputs_half) * mn / (mn + area_half)
 *
 * A product is never slower than one with more rows, outputs or inputs: T is the least over all larger m and
 * n. Inner dimensions k above 4096 are split, and count as (k + inputs_half) / (4096 + inputs_half) areas.
 * Convolutions lose nothing for short n and k, count as k / 4096 areas, and m counts as 128 at least in the
 * area: a tile. For all other kinds e = most. Attention
 * runs at the peak of 16 bits, whatever the precision of the products. A stack without fused attention
 * computes it as products of matrices.
 *
 * Example: m = 4096, n = 2048, k = 4096 in bf16: F = 2 m n k = 6.87e10, b = 67 MB. Let peak = 312 TFLOPS,
 * bandwidth = 2039 GB/s, most = 0.77, rows_half = 380, outputs_half = 170, inputs_half = 110, e_memory = 0.8.
 * Then e = 0.77 * 0.915 * 0.923 * 0.974 = 0.633, and T = max(348 us, 41 us).
 *
 * The constants have two parts. Those of the accelerator (its generation of chips) stand in its file. Those
 * of a software stack are factors on them, and times of the host; they are the same for all accelerators,
 * and stand in a file each. rlt_accelerator_roofline multiplies both.
 *
 * Host: a stack spends `host_kernel` on each kernel before the accelerator can run it. A block of layers
 * takes (device^4 + host^4)^(1/4): about the longer of the two.
 *
 * Accelerators are JSON files in workload/accelerators/, stacks in workload/stacks/, each with the source of
 * its numbers. `ringlet calibrate-training` fits both to measured runs, never to a single row.
 */
#ifndef RLT_WORKLOAD_MODELS_ACCELERATOR_H
#define RLT_WORKLOAD_MODELS_ACCELERATOR_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/experts/experts.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_DISPATCHERS = 32 };

/* Efficiencies of an accelerator's kernels, as shares of the peak or of the bandwidth. */
typedef struct rlt_kernels {
    double most[RLT_WORK_KINDS]; /* share of the peak at large sizes, by kind of work */
    double rows_half, outputs_half, inputs_half;
    double area_half; /* results m * n: the last wave of tiles leaves multiprocessors idle */
    double memory;    /* e_memory, share of the bandwidth */
    /* Factor on e in the backward pass: its products have other shapes and add to gradients. Recomputation is
     * as efficient as the forward pass. */
    double backward;
    rlt_precision_factors precisions; /* factors on the efficiency of products */
    double host;      /* factor on the host's times: servers of this generation against others */
    char source[512]; /* the measurements they were fitted to */
} rlt_kernels;

typedef struct rlt_accelerator {
    char name[64], also[64]; /* also: a shorter name, or "" */
    char generation[32];     /* chips whose constants are fitted together: "hopper"; "": alone */
    char processor[16]; /* of the host, where the module has one of its own: "grace"; "": an x86 server's */
    char source[512];
    uint64_t memory_bytes, memory_Bps;
    struct {
        char precision[16];
        uint64_t Flops;
    } peaks[RLT_MAX_PEAKS];
    uint32_t n_peaks;
    uint32_t multiprocessors; /* 0: not known */
    double power_w;           /* thermal design power, without the host; 0: not known */
    rlt_time launch_ps;       /* per operation */
    rlt_kernels kernels;
    rlt_stack stacks[RLT_MAX_STACKS]; /* those of its file, then those of workload/stacks/ */
    uint32_t n_stacks;
    rlt_evidence evidence[RLT_MAX_EVIDENCE];
    uint32_t n_evidence;
    rlt_dispatcher dispatchers[RLT_MAX_DISPATCHERS]; /* of experts' tokens, in workload/dispatchers/ */
    uint32_t n_dispatchers;
    /* Slowdown of compute while its rank communicates, because both share multiprocessors and memory
     * bandwidth. 1: none. */
    double overlap_slowdown;
} rlt_accelerator;

/* Loads an accelerator from a file, or by its name or shorter name in the directories `dirs` (see
 * sim/base/find.h; NULL: none), and the stacks in the folder `stacks` beside each directory. Errors name line
 * and column. RLT_EIO if there is none, with the nearest name. */
RLT_API int rlt_accelerator_load(const char *spec, const char *dirs, rlt_accelerator *out,
                                 rlt_error *err) RLT_MUST_USE;
/* Finds the file of an accelerator. Returns false if there is none. */
RLT_API bool rlt_accelerator_path(const char *spec, const char *dirs, char *path, size_t size);
/* Returns the stack of a name, or NULL. */
RLT_API const rlt_stack *rlt_accelerator_stack(const rlt_accelerator *a, const char *name);
/* Returns the stack whose constants apply: that of the name, else the one named "any", else NULL. */
RLT_API const rlt_stack *rlt_accelerator_stack_used(const rlt_accelerator *a, const char *name);
RLT_API int rlt_accelerator_peak(const rlt_accelerator *a, const char *precision, uint64_t *Flops,
                                 rlt_error *err) RLT_MUST_USE;

/* Grounds of a prediction: runs of this accelerator, stack and precision; runs of the accelerator's
 * generation or in another precision; nothing measured. */
typedef enum rlt_basis { RLT_BASIS_FITTED, RLT_BASIS_DERIVED, RLT_BASIS_ASSUMED } rlt_basis;
typedef struct rlt_grounds {
    rlt_basis basis;
    uint32_t rows; /* measured runs behind it, if fitted */
    rlt_spread spread;
} rlt_grounds;
RLT_API const char *rlt_basis_name(rlt_basis b); /* "fitted" */
/* Writes the grounds as words: "fitted: 22 measured runs on h100-sxm with llm-foundry in bf16". Returns
 * text. */
RLT_API char *rlt_grounds_text(rlt_grounds g, const rlt_accelerator *a, const char *stack,
                               const char *precision, char *text, size_t size);
RLT_API rlt_model_kind rlt_model_kind_of(const rlt_model *m);
RLT_API rlt_grounds rlt_accelerator_grounds(const rlt_accelerator *a, const char *stack,
                                            const char *precision, rlt_model_kind kind);
/* Returns the name of the stack with the best evidence: fitted rather than derived, then the narrowest
 * spread. "any" if there is none. */
RLT_API const char *rlt_accelerator_best_stack(const rlt_accelerator *a, const char *precision,
                                               rlt_model_kind kind);

/* The constants of an accelerator for a stack and a precision. */
typedef struct rlt_roofline {
    const char *stack;                  /* the stack's name, borrowed; "any": factors of 1, no host */
    uint64_t peak_Flops, peak_16_Flops; /* products; attention */
    uint64_t memory_Bps;
    rlt_time launch_ps;
    double most[RLT_WORK_KINDS];
    double rows_half, outputs_half, inputs_half, area_half, memory, backward;
    double host_kernel_ps, host_expert_ps, host_pass_ps, host_handover_ps, host_image_ps, host_ps;
    double score_passes;
} rlt_roofline;
/* Multiplies the constants of accelerator and stack. NULL or an unknown stack: that named "any", or none.
 * RLT_EUNSUPPORTED if there is no peak for the precision. The result borrows from `a`. */
RLT_API int rlt_accelerator_roofline(const rlt_accelerator *a, const char *stack, const char *precision,
                                     rlt_roofline *out, rlt_error *err) RLT_MUST_USE;

/* A kernel. m, n, k: shape of each product; 0: long. F are the FLOPs of all products together. */
typedef struct rlt_work {
    rlt_work_kind kind;
    double flop, bytes;
    double m, n, k;
} rlt_work;
RLT_API rlt_time rlt_roofline_time(const rlt_roofline *s, const rlt_work *w);

#ifdef __cplusplus
}
#endif
#endif
