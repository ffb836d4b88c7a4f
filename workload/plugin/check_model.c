/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The proofs of a model family and of a strategy. A family builds from its presets. Its layers and its
 * tensors have equally many parameters. Work is positive. An unknown setting is refused by name. The model
 * trains data-parallel on two ranks, in a time no shorter than its FLOPs at peak. A strategy's settings are
 * accepted, and a small transformer trains with them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/plugin/internal.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

#define PEAK_FLOPS UINT64_C(100000000000000)

/* Returns an accelerator with round numbers and efficiencies of 1. */
static rlt_accelerator round_accelerator(void)
{
    rlt_accelerator a = {.name = "round",
                         .memory_bytes = UINT64_C(1) << 44,
                         .memory_Bps = UINT64_C(1000000000000),
                         .kernels = {.memory = 1, .backward = 1}};
    static const char *const precisions[] = {"bf16", "fp16", "fp32", "tf32"};
    for (uint32_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        snprintf(a.peaks[i].precision, sizeof a.peaks[i].precision, "%s", precisions[i]);
        a.peaks[i].Flops = PEAK_FLOPS;
        a.n_peaks = i + 1;
    }
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        a.kernels.most[k] = 1;
    return a;
}

/* Trains a model for an iteration on a switch with as many ranks as the layout, with settings
 * NAME=VALUE,.... */
static int train(const rlt_model *m, const char *settings, rlt_time *time_ps, double *flop, rlt_error *err)
{
    rlt_accelerator accelerator = round_accelerator();
    rlt_training t = rlt_training_default();
    rlt_topology *topology = NULL;
    rlt_program *program = NULL;
    rlt_replay *run = NULL;
    rlt_replay_options how = rlt_replay_options_default();
    char spec[64], item_text[160];
    const char *item;
    size_t length;
    int rc = 0;
    t.model = m;
    t.accelerator = &accelerator;
    while (settings && !rc && (item = rlt_next_item(&settings, ',', &length))) {
        snprintf(item_text, sizeof item_text, "%.*s", (int)length, item);
        char *equals = strchr(item_text, '=');
        if (!equals)
            return rlt_fail(err, RLT_ECHECK, item_text, "expected NAME=VALUE");
        *equals = '\0';
        rc = rlt_training_set(&t, item_text, equals + 1, err);
    }
    t.stack_named = false; /* as if a strategy had suggested it */
    if (!rc && !(rc = rlt_training_plan(&t, 2, err)) && !(rc = rlt_training_program(&t, &program, err))) {
        snprintf(spec, sizeof spec, "switch:%u@100GB/s,500ns", program->n_ranks);
        rc = rlt_topology_load(spec, NULL, &topology, err);
    }
    how.topology = topology;
    if (!rc && !(rc = rlt_replay_create(program, &how, &run, err)) && !(rc = rlt_replay_run(run, err))) {
        *time_ps = rlt_replay_time(run);
        *flop = rlt_training_flop(&t);
        if ((double)*time_ps / 1e12 * 2 * (double)PEAK_FLOPS < *flop * (1 - 1e-9))
            rc = rlt_fail(err, RLT_ECHECK, "train",
                          "an iteration of %.6g FLOP takes %lld ps on two ranks: faster than peak", *flop,
                          (long long)*time_ps);
    }
    rlt_replay_free(run);
    rlt_program_free(program);
    rlt_topology_free(topology);
    return rc;
}

static int check_layers(const rlt_model *m, rlt_error *err)
{
    uint64_t by_layer = 0, by_tensor = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const rlt_model_layer *l = &m->layers[i];
        if (!isfinite(l->forward_flop) || !isfinite(l->backward_flop) || l->forward_flop < 0 ||
            l->backward_flop < 0 || l->work >= RLT_WORK_KINDS)
            return rlt_fail(
                err, RLT_ECHECK, l->name,
                "has %g FLOP forward, %g FLOP backward and work %u: expected finite FLOPs of at least "
                "0 and a known kind of work",
                l->forward_flop, l->backward_flop, l->work);
        if (i && l->block != m->layers[i - 1].block && l->block != m->layers[i - 1].block + 1)
            return rlt_fail(err, RLT_ECHECK, l->name,
                            "block %u follows block %u: expected the same block or the next one", l->block,
                            m->layers[i - 1].block);
        by_layer += l->parameters + l->expert_parameters;
    }
    for (uint32_t i = 0; i < m->n_tensors; i++)
        by_tensor += m->tensors[i].elements;
    if (by_layer != m->parameters || by_tensor != m->parameters)
        return rlt_fail(err, RLT_ECHECK, "parameters",
                        "the model has %llu, its layers have %llu, its tensors %llu: expected equal sums",
                        (unsigned long long)m->parameters, (unsigned long long)by_layer,
                        (unsigned long long)by_tensor);
    if (!m->n_layers || !m->parameters || !(rlt_model_sum(m).forward_flop > 0))
        return rlt_fail(err, RLT_ECHECK, "layers",
                        "%u layers with %llu parameters and %g FLOP: nothing to train", m->n_layers,
                        (unsigned long long)m->parameters, rlt_model_sum(m).forward_flop);
    return m->sample[0] && m->tokens ? 0 : rlt_fail(err, RLT_ECHECK, "sample", "has no name, or no tokens");
}

int rlt__prove_family(const rlt_model_family *f, char *line, size_t size, rlt_error *err)
{
    rlt_model m, other;
    rlt_error why = {0};
    rlt_time time_ps = 0;
    double flop = 0;
    char unknown[RLT_REGISTRY_NAME + 32];
    int rc = rlt_model_open(f->name, &m, err);
    if (rc)
        return rc;
    snprintf(unknown, sizeof unknown, "%s:no-such-setting=1", f->name);
    if (!(rc = check_layers(&m, err)) && rlt_model_open(unknown, &other, &why) == 0) {
        rlt_model_free(&other);
        rc = rlt_fail(err, RLT_ECHECK, "settings", "accepts the unknown setting 'no-such-setting=1'");
    }
    if (!rc && !why.what[0])
        rc = rlt_fail(err, RLT_ECHECK, "settings", "rejects an unknown setting without a message");
    if (!rc && !(rc = train(&m, NULL, &time_ps, &flop, err)))
        snprintf(line, size,
                 "%u layers and %u tensors have the same %llu parameters; trains: %.6g FLOP in %lld ps",
                 m.n_layers, m.n_tensors, (unsigned long long)m.parameters, flop, (long long)time_ps);
    rlt_model_free(&m);
    return rc;
}

int rlt__prove_strategy(const rlt_training_strategy *s, char *line, size_t size, rlt_error *err)
{
    rlt_model m;
    rlt_time time_ps = 0;
    double flop = 0;
    int rc = rlt_model_open("transformer:layers=4,hidden=256,heads=4,sequence=128", &m, err);
    if (!rc && !(rc = train(&m, s->settings, &time_ps, &flop, err)))
        snprintf(line, size, "accepts its settings; a small transformer trains: %.6g FLOP in %lld ps", flop,
                 (long long)time_ps);
    rlt_model_free(&m);
    return rc;
}
