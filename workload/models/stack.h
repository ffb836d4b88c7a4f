/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Software stacks, such as frameworks: factors on the efficiencies of accelerators, and times of the host.
 * JSON files in workload/stacks/.
 */
#ifndef RLT_WORKLOAD_MODELS_STACK_H
#define RLT_WORKLOAD_MODELS_STACK_H

#include <stdint.h>

#include "sim/base/time.h"
#include "workload/models/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_PEAKS = 8, RLT_MAX_STACKS = 32, RLT_MAX_EVIDENCE = 48 };

/* Factors by precision; 1 for a precision without one. */
typedef struct rlt_precision_factors {
    struct {
        char precision[16];
        double factor;
    } at[RLT_MAX_PEAKS];
    uint32_t n;
} rlt_precision_factors;

/* Kinds of models, apart in evidence. Only transformers were measured: OTHER is assumed. */
typedef enum rlt_model_kind { RLT_KIND_DENSE, RLT_KIND_EXPERTS, RLT_KIND_OTHER, RLT_KINDS } rlt_model_kind;

/* An 80 % interval: a measured time is within low and high times the predicted one. 0: not known. */
typedef struct rlt_spread {
    double low, high;
} rlt_spread;

/* Measured runs behind an accelerator's constants under a stack. rows 0: none of its own, but some of its
 * generation or in another precision. */
typedef struct rlt_evidence {
    char stack[32], precision[16]; /* precision "": any other */
    rlt_model_kind kind;
    uint32_t rows;
    rlt_spread spread; /* errors of runs that were left out of the fit */
} rlt_evidence;

typedef struct rlt_stack {
    char name[32];
    double most[RLT_WORK_KINDS];
    rlt_precision_factors precisions;
    rlt_time host_kernel_ps;   /* per kernel; twice in the backward pass, where each product is two */
    rlt_time host_expert_ps;   /* per layer of experts and microbatch, forward and backward together */
    rlt_time host_pass_ps;     /* per pass of a microbatch through a stage */
    rlt_time host_handover_ps; /* per such pass in a pipeline: synchronising, handing over to another stage */
    rlt_time host_image_ps;    /* per image, where the process that trains also loads it */
    rlt_time host_ps;          /* per iteration: data, logging, launches of the optimizer */
    /* Times that a score of attention is read or written in a forward pass, if the stack does not fuse
     * attention; 0: as the model says. */
    double score_passes;
    rlt_spread spread[RLT_KINDS]; /* on accelerators that no run was fitted on */
    char source[512];
} rlt_stack;

#ifdef __cplusplus
}
#endif
#endif
