/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of a model in a parallel layout: its options, the program, and what only a training has to tell. */
#include <string.h>

#include "sim/base/units.h"
#include "tools/base/message.h"
#include "tools/run/run.h"
#include "tools/settings/locate.h"

#define AT(field) .offset = offsetof(rlt_run_settings, field)
const rlt_option rlt_training_options[] = {
    {"accelerator", 0, RLT_OPT_TEXT, "NAME",
     "What the model runs on, one rank each: a file, or a name that 'ringlet list accelerators' shows. With "
     "it "
     "--model is any that 'ringlet list models' shows, or a table of layers.",
     AT(accelerator)},
    {"layout", 'l', RLT_OPT_TEXT, "LIST",
     "How the model is spread: dp=64,tp=8,pp=4, with cp, ep, vp, sp=on, order=tp-cp-dp-pp. Default: dp over "
     "all "
     "accelerators. order=auto takes the fastest order, each being simulated.",
     AT(layout)},
    {"map", 0, RLT_OPT_TEXT, "LIST",
     "Pins axes of the layout to dimensions of the topology, the innermost being 0: tp=0,pp=1,dp=2. Inside a "
     "dimension the first axis is the innermost; what a dimension has left stays free. In place of order and "
     "--placement.",
     AT(map)},
    {"train", 0, RLT_OPT_TEXT, "LIST",
     "How it trains: batch=512, microbatch=1, schedule=1f1b, recompute=full, zero=1, precision=bf16, ..., "
     "with "
     "commas and no blanks ('ringlet list training' shows all).",
     AT(train)},
    {"strategy", 0, RLT_OPT_TEXT, "NAME",
     "A way of training by name, with what is to be different behind: samo:sparsity=0.8 ('ringlet list "
     "strategies' shows them).",
     AT(strategy)},
    {"fold", 0, RLT_OPT_FLAG, NULL,
     "Simulate ranks that do the same once: one of each tensor-parallel group where those have dimensions of "
     "the topology of their own (the time is that of all ranks, to the picosecond), else as --fold-stages.",
     AT(fold)},
    {"fold-stages", 0, RLT_OPT_FLAG, NULL,
     "Simulate one rank of each pipeline stage; collectives take what they take alone, and links carry the "
     "pipeline's messages only. The time is that of all ranks where the ranks of a stage do the same and "
     "what communicates at once shares no link.",
     AT(fold_stages)},
    {"memory-csv", 0, RLT_OPT_TEXT, "FILE",
     "Write what each rank holds over time as CSV (time_ps, rank, bytes; a row for each change) to a file of "
     "its own.",
     AT(memory_csv), .unrecorded = true},
    {"any-memory", 0, RLT_OPT_FLAG, NULL, "Go on where the training does not fit into the memory.",
     AT(any_memory)},
    {0}};
#undef AT

/* "dp=64,pp=8" */
int rlt_training_apply(rlt_training *t, const char *list, const char *where, rlt_error *err)
{
    const char *item;
    size_t length;
    int rc = rlt_names_once(list, err);
    if (rc)
        rlt_error_prefix(err, where);
    while (!rc && list && (item = rlt_next_item(&list, ',', &length))) {
        char setting[128], name[64];
        const char *value;
        snprintf(setting, sizeof setting, "%.*s", (int)(length < 127 ? length : 127), item);
        if ((rc = rlt_split_setting(setting, name, sizeof name, &value, where, err)))
            return rc;
        if ((rc = rlt_training_set(t, name, value, err))) {
            rlt_error_prefix(err, where);
            rc = RLT_EUSAGE;
            err->code = rc;
        }
    }
    return rc;
}

static int find_strategy(rlt_training *t, const char *text, rlt_error *err)
{
    size_t length = strcspn(text, ":");
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), text);
    const rlt_training_strategy *s = rlt_registry_find(rlt_training_strategies(), word, "--strategy", err);
    if (!s)
        return RLT_EUSAGE;
    int rc = rlt_training_apply(t, s->settings, "--strategy", err);
    t->stack_named = false; /* where it is not known, that of any stack will do */
    return rc || !text[length] ? rc : rlt_training_apply(t, text + length + 1, "--strategy", err);
}

int rlt_training_read(const rlt_run_settings *s, rlt_model *m, rlt_accelerator *a, rlt_training *t,
                      rlt_error *err)
{
    int rc = rlt_model_open(s->model, m, err);
    if (rc) {
        rlt_error_prefix(err, "--model");
        return rc;
    }
    *t = rlt_training_default();
    t->model = m;
    t->accelerator = a;
    if ((rc = rlt_find_accelerator(s->accelerator, a, err)) ||
        (s->strategy && (rc = find_strategy(t, s->strategy, err))) ||
        (rc = rlt_training_apply(t, s->layout, "--layout", err)))
        return rc;
    return rlt_training_apply(t, s->train, "--train", err);
}

int rlt_training_open(const rlt_run_settings *s, const rlt_topology *topology, rlt_placement *where,
                      rlt_model *m, rlt_accelerator *a, rlt_training *t, rlt_error *err)
{
    rlt_placement pinned = {0};
    int rc = rlt_training_read(s, m, a, t, err);
    if (rc)
        return rc;
    if (!s->map)
        rc = rlt_training_plan(t, where->n, err);
    else if (!(rc = rlt_mapping_pin(s->map, topology, t, &pinned, err))) {
        rlt_placement_free(where);
        *where = pinned;
        t->order_auto = false;
        rc = rlt_training_plan(t, pinned.n, err);
    }
    return rc || s->any_memory ? rc : rlt_training_fits(t, err);
}

int rlt_run_train(rlt_run *r, rlt_error *err)
{
    r->trains = true;
    int rc = rlt_training_open(r->settings, r->setup.topology, &r->setup.placement, &r->trained,
                               &r->accelerator, &r->training, err);
    if (!rc && r->training.order_auto && !(rc = rlt_mapping_options(r, &r->accelerator, err)))
        rc = rlt_mapping_choose(&r->training, &r->options, r->settings->fold || r->settings->fold_stages,
                                &r->mapping, err);
    if (rc)
        return rc;
    r->training.passes = &r->passes;
    return r->settings->fold || r->settings->fold_stages
               ? rlt_run_fold(r, err)
               : rlt_training_program(&r->training, &r->program, err);
}

/* Of an iteration, on average. */
static double iteration_s(const rlt_run *r)
{
    return (double)rlt_jobs_time(r, 0) / r->training.steps / 1e12;
}

/* Model FLOPs over what all accelerators could do in the time. */
static double utilization(const rlt_run *r)
{
    uint64_t peak;
    const rlt_training *t = &r->training;
    if (rlt_accelerator_peak(t->accelerator, t->precision, &peak, NULL) || iteration_s(r) == 0)
        return 0;
    return rlt_training_flop(t) / t->steps / iteration_s(r) / rlt_training_ranks(t) / (double)peak;
}

static double tokens_per_s(const rlt_run *r)
{
    return (double)r->training.batch * r->training.model->tokens / iteration_s(r);
}

/* Where the compute times come from: what was asked for may have been answered by that of any stack. */
static const rlt_surface *surface(const rlt_training *t)
{
    const rlt_surface *s = NULL;
    return rlt_accelerator_surface(t->accelerator, t->stack, t->precision, &s, NULL) ? NULL : s;
}

rlt_training_figures rlt_run_training_figures(const rlt_run *r)
{
    rlt_training_figures f = {.utilization = utilization(r), .tokens_per_s = tokens_per_s(r)};
    for (uint32_t i = 0; i < r->training.size[RLT_AXIS_PP]; i++) {
        double total = rlt_training_memory_of(&r->training, i).total;
        if (total > f.memory_bytes) {
            f.memory_bytes = total;
            f.fullest = i;
        }
    }
    return f;
}

void rlt_run_training_table(const rlt_run *r, FILE *out)
{
    const rlt_training *t = &r->training;
    if (!r->trains)
        return;
    uint32_t fullest = rlt_run_training_figures(r).fullest;
    rlt_training_memory m = rlt_training_memory_of(t, fullest);
    rlt_heading(out, "\ntraining");
    fprintf(
        out,
        "%s on %s: tp %u, cp %u, dp %u, pp %u, ep %u; batch %llu in %u microbatch%s a pipeline, %s%u %s%s\n",
        t->model->name, t->accelerator->name, t->size[RLT_AXIS_TP], t->size[RLT_AXIS_CP],
        t->size[RLT_AXIS_DP], t->size[RLT_AXIS_PP], t->ep, (unsigned long long)t->batch,
        rlt_training_microbatches(t), rlt_training_microbatches(t) == 1 ? "" : "es",
        rlt_training_microbatches(t) == 1 ? "of " : "each of ", t->microbatch, t->model->sample,
        t->microbatch == 1 ? "" : "s");
    fprintf(out,
            "memory at stage %u, the fullest: %.2f GB of %.2f (weights %.2f, gradients %.2f, optimizer %.2f, "
            "activations %.2f, buffers %.2f)\n",
            fullest, m.total / 1e9, (double)t->accelerator->memory_bytes / 1e9, m.parameters / 1e9,
            m.gradients / 1e9, m.optimizer / 1e9, m.activations / 1e9, m.buffers / 1e9);
    fprintf(out, "model FLOPs: %.1f %% of peak (%s); %.4g %ss/s\n", 100 * utilization(r), t->precision,
            tokens_per_s(r), t->model->tokens > 1 ? "token" : t->model->sample);
    rlt_run_fold_line(r, out);
    const rlt_surface *s = surface(t);
    if (s)
        fprintf(out, "efficiency of stack %s in %s: %s\n", s->stack, s->precision, s->source);
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
    rlt_jw_u64(w, "batch", t->batch);
    rlt_jw_u64(w, "microbatches", rlt_training_microbatches(t));
    rlt_jw_u64(w, "parameters", rlt_model_sum(t->model).parameters);
    rlt_jw_double(w, "model_flop", rlt_training_flop(t), 0);
    rlt_jw_double(w, "model_flops_utilization", utilization(r), 6);
    rlt_jw_double(w, "tokens_per_s", tokens_per_s(r), 3);
    const rlt_surface *s = surface(t);
    if (s) {
        rlt_jw_object(w, "surface");
        rlt_jw_string(w, "stack", s->stack);
        rlt_jw_string(w, "precision", s->precision);
        rlt_jw_string(w, "source", s->source);
        rlt_jw_end_object(w);
    }
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
        rlt_jw_u64(w, "microbatches_in_flight", m.in_flight);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    int rc = rlt_run_memory_json(r, w, err);
    rlt_jw_end_object(w);
    return rc;
}
