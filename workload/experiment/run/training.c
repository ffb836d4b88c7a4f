/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a model in a parallel layout: options, the program, and results that only a training has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/experiment/run/mapping.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/training/training.h"

#define AT(field) .offset = offsetof(rlt_run_settings, field)
const rlt_option rlt_training_options[] = {
    {"accelerator", 0, RLT_PARAM_TEXT, "NAME",
     "Accelerator of each rank: a name that 'ringlet list accelerators' shows, or a file. "
     "Default: " RLT_DEFAULT_ACCELERATOR ".",
     AT(accelerator)},
    {"layout", 'l', RLT_PARAM_TEXT, "LIST",
     "Parallelism of the training: dp=64,tp=8,pp=4, and also cp, ep, vp, sp=on, order=tp-cp-dp-pp. "
     "order=auto simulates every order and takes the fastest. auto takes the fastest of all layouts "
     "('ringlet plan'). Default: dp over all accelerators.",
     AT(layout)},
    {"map", 0, RLT_PARAM_TEXT, "LIST",
     "Pin axes of the layout to dimensions of the topology, 0 is the innermost: tp=0,pp=1,dp=2. If axes "
     "share a dimension, the first axis is the innermost. Unused accelerators of a dimension stay free. "
     "Replaces order= and --placement.",
     AT(map)},
    {"train", 0, RLT_PARAM_TEXT, "LIST",
     "Settings of the training, such as batch=512,schedule=1f1b,recompute=full,zero=1, with "
     "commas and no blanks ('ringlet list training' shows all).",
     AT(train)},
    {"strategy", 0, RLT_PARAM_TEXT, "NAME",
     "Named set of training settings ('ringlet list strategies' shows the names). Settings after the name "
     "override it: samo:sparsity=0.8.",
     AT(strategy)},
    {"fold", 0, RLT_PARAM_FLAG, NULL,
     "Simulate identical ranks once. If no other axis shares the dimensions of the tensor-parallel "
     "groups, simulate one rank of each group; the time equals that of a full simulation to the "
     "picosecond. Otherwise works as --fold-stages. With --trace, for tables of layers (ASTRA-sim 1.0, "
     "SimAI): simulate rank 0, whose collectives take their time on an idle network.",
     AT(fold)},
    {"fold-stages", 0, RLT_PARAM_FLAG, NULL,
     "Simulate one rank per pipeline stage. A collective takes its time on an idle network, and links "
     "carry only the messages of the pipeline. The time equals that of a full simulation if the ranks of "
     "a stage are identical and no two simultaneous communications share a link.",
     AT(fold_stages)},
    {"verify-fold", 0, RLT_PARAM_FLAG, NULL,
     "With --fold or --fold-stages: also simulate every rank. Fail (exit status 1) unless the times agree to "
     "the picosecond.",
     AT(verify_fold), .unrecorded = true},
    {"any-memory", 0, RLT_PARAM_FLAG, NULL, "Continue if the training does not fit into the memory.",
     AT(any_memory)},
    {0}};
#undef AT

/* Parses "dp=64,pp=8". */
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
            if (err)
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
    t->stack_named = false; /* an unknown stack counts as any */
    return rc || !text[length] ? rc : rlt_training_apply(t, text + length + 1, "--strategy", err);
}

static bool of_training(const char *item, size_t length)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), item);
    name[strcspn(name, "=")] = '\0';
    return strlen(name) < length && rlt_params_find(rlt_training_parameters(), name);
}

/* Splits "NAME:settings" into the model's spec and a list of settings of the training. Each output has room
 * for the whole text and one more character. */
static void split_model(const char *text, char *model, char *training)
{
    const char *list = rlt_model_settings(text), *item;
    size_t length;
    strcpy(model, text);
    *training = '\0';
    if (!list)
        return;
    model[list++ - text] = '\0';
    for (bool first = true; (item = rlt_next_item(&list, ',', &length));) {
        bool trains = of_training(item, length);
        char *to = trains ? training : model;
        const char *comma = trains ? (*training ? "," : "") : first ? ":" : ",";
        first = first && trains;
        sprintf(to + strlen(to), "%s%.*s", comma, (int)length, item);
    }
}

static int open_model(const char *text, rlt_model *m, char **training, rlt_error *err)
{
    size_t n = strlen(text) + 1;
    char *model = malloc(n);
    *training = malloc(n);
    int rc = model && *training ? 0 : rlt_nomem(err);
    if (!rc) {
        split_model(text, model, *training);
        rc = rlt_model_open(model, m, err);
        if (rc)
            rlt_error_prefix(err, "--model");
    }
    free(model);
    return rc;
}

int rlt_training_read(const rlt_run_settings *s, rlt_model *m, rlt_accelerator *a, rlt_training *t,
                      rlt_error *err)
{
    char *behind = NULL;
    int rc = open_model(s->model, m, &behind, err);
    *t = rlt_training_default();
    t->model = m;
    t->accelerator = a;
    if (!rc)
        rc = rlt_find_accelerator(s->accelerator ? s->accelerator : RLT_DEFAULT_ACCELERATOR, a, err);
    if (!rc && s->strategy)
        rc = find_strategy(t, s->strategy, err);
    if (!rc)
        rc = rlt_training_apply(t, *behind ? behind : NULL, "--model", err);
    if (!rc)
        rc = rlt_training_apply(t, s->layout, "--layout", err);
    if (!rc)
        rc = rlt_training_apply(t, s->train, "--train", err);
    free(behind);
    return rc;
}

int rlt_training_settle(const rlt_run_settings *s, const rlt_topology *topology, rlt_placement *where,
                        rlt_training *t, rlt_error *err)
{
    rlt_placement pinned = {0};
    int rc;
    if (!t->node && topology)
        t->node = rlt_topology_node_size(topology);
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

int rlt_training_open(const rlt_run_settings *s, const rlt_topology *topology, rlt_placement *where,
                      rlt_model *m, rlt_accelerator *a, rlt_training *t, rlt_error *err)
{
    int rc = rlt_training_read(s, m, a, t, err);
    return rc ? rc : rlt_training_settle(s, topology, where, t, err);
}

int rlt_run_train(rlt_run *r, rlt_error *err)
{
    r->trains = true;
    int rc = rlt_training_open(r->settings, r->setup.topology, &r->setup.placement, &r->trained,
                               &r->accelerator, &r->training, err);
    if (!rc && r->training.order_auto && !(rc = rlt_mapping_options(r, &r->accelerator, err)))
        rc = rlt_mapping_choose(&r->training, &r->options, r->settings->fold || r->settings->fold_stages,
                                r->watch, &r->mapping, err);
    if (rc)
        return rc;
    r->training.passes = &r->passes;
    return r->settings->fold || r->settings->fold_stages
               ? rlt_run_fold(r, err)
               : rlt_training_program(&r->training, &r->program, err);
}
