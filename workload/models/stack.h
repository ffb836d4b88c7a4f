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

enum { RLT_MAX_PEAKS = 8, RLT_MAX_STACKS = 32 };

/* Factors by precision; 1 for a precision without one. */
typedef struct rlt_precision_factors {
    struct {
        char precision[16];
        double factor;
    } at[RLT_MAX_PEAKS];
    uint32_t n;
} rlt_precision_factors;

typedef struct rlt_stack {
    char name[32];
    double most[RLT_WORK_KINDS];
    rlt_precision_factors precisions;
    rlt_time host_kernel_ps; /* per kernel; twice in the backward pass, where each product is two */
    rlt_time host_expert_ps; /* per layer of experts and microbatch, forward and backward together */
    rlt_time host_pass_ps;   /* per pass of a microbatch through a stage */
    rlt_time host_ps;        /* per iteration: data, logging, launches of the optimizer */
    char source[512];
} rlt_stack;

#endif
