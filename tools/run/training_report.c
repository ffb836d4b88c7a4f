/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results that only a training has: memory, efficiency, order of axes, and folding. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/training/training.h"

/* Formats an order of axes, such as "tp-dp-pp"; axes of one rank are left out. "any": all have one rank. */
static const char *order_text(const rlt_training *t, const rlt_axis *order, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++)
        if (t->size[order[i]] > 1)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used ? "-" : "", rlt_axis_name(order[i]));
    return used ? text : "any";
}

void rlt_mapping_table(const rlt_run *r, FILE *out)
{
    const rlt_mapping *m = &r->mapping;
    char name[32], time[32];
    if (m->n == 0)
        return;
    fprintf(out, "order %s, the fastest of %u %s: %s an iteration",
            order_text(&r->training, m->tried[0].order, name, sizeof name), m->n,
            m->folded ? "folded" : "simulated", rlt_format_duration(time, sizeof time, m->tried[0].time_ps));
    if (m->n > 1)
        fprintf(out, "; the next, %s: %s", order_text(&r->training, m->tried[1].order, name, sizeof name),
                rlt_format_duration(time, sizeof time, m->tried[1].time_ps));
    fputc('\n', out);
}

void rlt_mapping_json(const rlt_run *r, rlt_jw *w)
{
    const rlt_mapping *m = &r->mapping;
    char name[32];
    if (m->n == 0)
        return;
    rlt_jw_object(w, "mapping");
    rlt_jw_bool(w, "folded", m->folded);
    rlt_jw_array(w, "orders");
    for (uint32_t i = 0; i < m->n; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "order", order_text(&r->training, m->tried[i].order, name, sizeof name));
        rlt_jw_i64(w, "time_ps", m->tried[i].time_ps);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

/* Prints one line about folding, if anything was folded. */
static void fold_line(const rlt_run *r, FILE *out)
{
    const char *verified =
        r->settings->verify_fold ? "; verified: the same time with every rank simulated" : "";
    if (r->folds == RLT_FOLD_PLANES)
        fprintf(out,
                "folded: each rank stands for the %u of a tensor-parallel group, whose collectives are on "
                "links of their own; links are those of one of %u equal planes%s\n",
                r->training.size[RLT_AXIS_TP], r->training.size[RLT_AXIS_TP], verified);
    else if (r->folds)
        fprintf(out,
                "folded: each rank stands for a pipeline stage; links carry the pipeline's messages only, "
                "other collectives take the time that they take alone%s\n",
                verified);
}

/* Prints the interval of an iteration, and what it rests on. */
static void interval_lines(const rlt_run *r, FILE *out)
{
    const rlt_training *t = &r->training;
    const rlt_accelerator *a = t->accelerator;
    rlt_training_figures f = rlt_run_training_figures(r);
    char text[300];
    if (f.iteration_low_s > 0)
        fprintf(out, "80 %% interval of an iteration: %.4g to %.4g s (%+.0f to %+.0f %%), ",
                f.iteration_low_s, f.iteration_high_s, 100 * (f.grounds.spread.low - 1),
                100 * (f.grounds.spread.high - 1));
    fprintf(out, "%s\n", rlt_grounds_text(f.grounds, a, t->stack, t->precision, text, sizeof text));
    if (t->stack_auto)
        fprintf(out, "stack %s: %s on %s (stack=NAME takes another)\n", t->stack,
                f.grounds.basis == RLT_BASIS_ASSUMED ? "nothing is known" : "the best known", a->name);
}

/* Prints what a framework adds to the memory, and that selective recomputation saves nothing. */
static void allocator_lines(const rlt_training *t, const rlt_training_memory *m, FILE *out)
{
    if (m->total > m->allocated || m->gathered > 0)
        fprintf(out,
                "allocator: %.2f GB of tensors (gathered weights and gradients %.2f of them), %.2f reserved "
                "with fragments, %.2f of context\n",
                m->allocated / 1e9, m->gathered / 1e9, m->reserved / 1e9, (m->total - m->reserved) / 1e9);
    else
        fputs(
            "these are tensors only: --strategy (torchtitan, megatron, ...) adds loss, fragments, context\n",
            out);
    if (rlt_training_saves_nothing(t))
        fputs("recompute=selective saves no memory here, since fused attention keeps no scores, but computes "
              "attention twice: recompute=none is faster\n",
              out);
}

/* Says how experts are laid out and reached, if not as by default. */
static void experts_line(const rlt_training *t, FILE *out)
{
    uint32_t etp = rlt_training_etp(t), tp = t->size[RLT_AXIS_TP];
    if (etp < tp)
        fprintf(out, "experts: etp %u%s, so ep %u spans tp: each rank sends 1/%u of its group's tokens\n",
                etp, t->etp ? "" : " (ep does not divide cp x dp)", t->ep, tp);
    if (t->ep > 1 && strcmp(t->dispatcher, "alltoall") != 0)
        fprintf(out, "dispatcher %s (%s): %s\n", t->dispatch.name, t->dispatch.algorithm, t->dispatch.source);
    if (strcmp(t->routing, "balanced") != 0 || t->capacity > 0)
        fprintf(out,
                "routing %s: the busiest rank's experts get %.3f of the mean, its exchanges have %.3f; "
                "%.2f %% of the copies are dropped\n",
                t->routing, t->load.experts, t->load.exchange, 100 * t->load.dropped);
}

void rlt_run_training_table(const rlt_run *r, FILE *out)
{
    const rlt_training *t = &r->training;
    if (!r->trains)
        return;
    uint32_t fullest = rlt_run_training_figures(r).fullest;
    rlt_training_memory m = rlt_training_memory_of(t, fullest);
    char rate[64];
    rlt_heading(out, "\ntraining");
    fprintf(
        out,
        "%s on %s%s: tp %u, cp %u, dp %u, pp %u, ep %u; batch %llu in %u microbatch%s a pipeline, %s%u "
        "%s%s\n",
        t->model->name, t->accelerator->name, r->settings->accelerator ? "" : " (none is named: the default)",
        t->size[RLT_AXIS_TP], t->size[RLT_AXIS_CP], t->size[RLT_AXIS_DP], t->size[RLT_AXIS_PP], t->ep,
        (unsigned long long)t->batch, rlt_training_microbatches(t),
        rlt_training_microbatches(t) == 1 ? "" : "es", rlt_training_microbatches(t) == 1 ? "of " : "each of ",
        t->microbatch, t->model->sample, t->microbatch == 1 ? "" : "s");
    fprintf(out,
            "memory at stage %u, the fullest: %.2f GB of %.2f (weights %.2f, gradients %.2f, optimizer %.2f, "
            "activations %.2f, buffers %.2f)\n",
            fullest, m.total / 1e9, (double)t->accelerator->memory_bytes / 1e9, m.parameters / 1e9,
            m.gradients / 1e9, m.optimizer / 1e9, m.activations / 1e9, m.buffers / 1e9);
    allocator_lines(t, &m, out);
    experts_line(t, out);
    fprintf(out, "model FLOPs: %.1f %% of peak (%s); %s %ss/s\n",
            100 * rlt_run_training_figures(r).utilization, t->precision,
            rlt_format_grouped(rate, sizeof rate, rlt_run_training_figures(r).tokens_per_s),
            t->model->tokens > 1 ? "token" : t->model->sample);
    fold_line(r, out);
    interval_lines(r, out);
    const rlt_stack *s = rlt_accelerator_stack_used(t->accelerator, t->stack);
    fprintf(out, "efficiency of %s: %s\n", t->accelerator->name, t->accelerator->kernels.source);
    if (s)
        fprintf(out, "stack %s: %s\n", s->name, s->source);
}

static void interval_json(const rlt_run *r, rlt_jw *w)
{
    rlt_training_figures f = rlt_run_training_figures(r);
    if (f.iteration_low_s > 0) {
        rlt_jw_double(w, "iteration_low_s", f.iteration_low_s, 6);
        rlt_jw_double(w, "iteration_high_s", f.iteration_high_s, 6);
    }
    rlt_jw_string(w, "basis", rlt_basis_name(f.grounds.basis));
    rlt_jw_u64(w, "rows", f.grounds.rows);
}

int rlt_run_training_json(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    static const char *const axes[] = {"tp", "cp", "dp", "pp"};
    const rlt_training *t = &r->training;
    if (!r->trains)
        return 0;
    rlt_jw_object(w, "training");
    rlt_jw_string(w, "model", t->model->name);
    rlt_jw_string(w, "accelerator", t->accelerator->name);
    for (int a = 0; a < RLT_AXES_OF_LAYOUT; a++)
        rlt_jw_u64(w, axes[a], t->size[a]);
    rlt_jw_u64(w, "ep", t->ep);
    rlt_jw_u64(w, "etp", rlt_training_etp(t));
    rlt_jw_object(w, "experts");
    rlt_jw_string(w, "dispatcher", t->dispatch.name);
    rlt_jw_string(w, "algorithm", t->dispatch.algorithm);
    rlt_jw_string(w, "routing", t->routing);
    rlt_jw_double(w, "busiest", t->load.experts, 6);
    rlt_jw_double(w, "exchange", t->load.exchange, 6);
    rlt_jw_double(w, "dropped", t->load.dropped, 6);
    rlt_jw_end_object(w);
    rlt_jw_u64(w, "batch", t->batch);
    rlt_jw_u64(w, "microbatches", rlt_training_microbatches(t));
    rlt_jw_u64(w, "parameters", rlt_model_sum(t->model).parameters);
    rlt_jw_double(w, "model_flop", rlt_training_flop(t), 0);
    rlt_jw_double(w, "model_flops_utilization", rlt_run_training_figures(r).utilization, 6);
    rlt_jw_double(w, "tokens_per_s", rlt_run_training_figures(r).tokens_per_s, 3);
    interval_json(r, w);
    const rlt_stack *s = rlt_accelerator_stack_used(t->accelerator, t->stack);
    rlt_jw_string(w, "efficiency_source", t->accelerator->kernels.source);
    if (s) {
        rlt_jw_object(w, "stack");
        rlt_jw_string(w, "name", s->name);
        rlt_jw_string(w, "source", s->source);
        rlt_jw_bool(w, "chosen", t->stack_auto);
        rlt_jw_end_object(w);
    }
    rlt_jw_bool(w, "recompute_saves_nothing", rlt_training_saves_nothing(t));
    rlt_jw_array(w, "stages");
    for (uint32_t i = 0; i < t->size[RLT_AXIS_PP]; i++) {
        rlt_training_memory m = rlt_training_memory_of(t, i);
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "stage", i);
        rlt_jw_double(w, "memory_bytes", m.total, 0);
        rlt_jw_double(w, "weights_bytes", m.parameters, 0);
        rlt_jw_double(w, "gradients_bytes", m.gradients, 0);
        rlt_jw_double(w, "optimizer_bytes", m.optimizer, 0);
        rlt_jw_double(w, "activations_bytes", m.activations, 0);
        rlt_jw_double(w, "buffers_bytes", m.buffers, 0);
        rlt_jw_double(w, "gathered_bytes", m.gathered, 0);
        rlt_jw_double(w, "allocated_bytes", m.allocated, 0);
        rlt_jw_double(w, "reserved_bytes", m.reserved, 0);
        rlt_jw_u64(w, "microbatches_in_flight", m.in_flight);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    int rc = rlt_run_memory_json(r, w, err);
    rlt_jw_end_object(w);
    return rc;
}
