/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Constants before any fit: the same for all accelerators and stacks but for their data sheets. A fit that
 * starts from constants which were fitted to its own rows would hide the error of a row left out.
 *
 * The halves of short dimensions are a tile of 256 x 128 results and two steps of 64 inputs. They grow with
 * the peak of 16 bits to the power 1/4. A wave of tiles is as large as the multiprocessors are many. Times of
 * the host are those of eager PyTorch on an x86 server, to a factor of two.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/time.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

static void accelerator_priors(rlt_accelerator *a)
{
    const double share_of_tile = 13107, usual_multiprocessors = 132;
    rlt_kernels *k = &a->kernels;
    uint64_t wide;
    if (rlt_accelerator_peak(a, "fp16", &wide, NULL))
        wide = 0;
    double grown = pow((double)(wide ? wide : a->peaks[0].Flops) / 312e12, 0.25);
    k->most[RLT_WORK_MATMUL] = 0.7;
    k->most[RLT_WORK_ATTENTION] = 0.4;
    k->memory = 0.8;
    k->rows_half = 256 * grown;
    k->outputs_half = 128 * grown;
    k->inputs_half = 128 * grown;
    k->area_half = share_of_tile * (a->multiprocessors ? a->multiprocessors : usual_multiprocessors);
    k->backward = 0.93;
    k->host = *a->processor ? 0.7 : 1;
    k->precisions.n = 0;
    for (uint32_t i = 0; i < a->n_peaks; i++)
        if (a->peaks[i].Flops > wide) {
            uint32_t n = k->precisions.n++;
            memcpy(k->precisions.at[n].precision, a->peaks[i].precision, sizeof a->peaks[i].precision);
            k->precisions.at[n].factor = 0.85;
        }
    a->overlap_slowdown = 1.5;
}

static void stack_priors(rlt_stack *s)
{
    s->most[RLT_WORK_MATMUL] = s->most[RLT_WORK_ATTENTION] = 1;
    s->precisions.n = 0;
    s->host_kernel_ps = 50 * RLT_US;
    s->host_ps = 10 * RLT_MS;
    /* Only some stacks have these. */
    s->host_expert_ps = s->host_expert_ps ? 5 * RLT_MS : 0;
    s->host_pass_ps = s->host_pass_ps ? RLT_MS : 0;
}

void rlt_train_priors(rlt_accelerator *a)
{
    accelerator_priors(a);
    for (uint32_t i = 0; i < a->n_stacks; i++)
        stack_priors(&a->stacks[i]);
}
