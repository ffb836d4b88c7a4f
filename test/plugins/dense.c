/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How to add a model family: a stack of square matrices. */
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "workload/models/model.h"
#include "workload/plugin/plugin.h"

typedef struct dense {
    uint32_t layers, width;
} dense;

static const rlt_param parameters[] = {{.name = "layers",
                                        .kind = RLT_PARAM_COUNT,
                                        RLT_FIELD(dense, layers),
                                        .preset = "4",
                                        .min = 1,
                                        .max = 1000},
                                       {.name = "width",
                                        .kind = RLT_PARAM_COUNT,
                                        RLT_FIELD(dense, width),
                                        .preset = "1024",
                                        .min = 1,
                                        .max = 65536},
                                       {0}};

static int build(rlt_model *m, const char *const *settings, uint32_t n, rlt_error *err)
{
    dense d = {0};
    int rc = rlt_params_preset(parameters, &d, err);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rlt_params_set_text(parameters, "a dense model", &d, settings[i], err);
    snprintf(m->sample, sizeof m->sample, "vector");
    m->tokens = 1;
    for (uint32_t i = 0; i < d.layers && !rc; i++) {
        char name[RLT_MODEL_NAME];
        snprintf(name, sizeof name, "layer %u", i);
        rlt_model_layer *l = rlt_model_add(m, name, RLT_WORK_MATMUL, err);
        if (!l)
            return RLT_ENOMEM;
        l->block = i;
        l->movable = l->sharded = true;
        l->forward_flop = 2.0 * d.width * d.width;
        l->backward_flop = 2 * l->forward_flop;
        l->saved_split = l->moved_elements = d.width;
        l->output_elements = d.width;
        rc = rlt_model_add_tensor(m, (uint64_t)d.width * d.width, false, err);
    }
    return rc;
}

static const rlt_model_family family = {.name = "dense",
                                        .summary = "square matrices one behind the other",
                                        .parameters = parameters,
                                        .build = build};

static const rlt_model_family *const families[] = {&family, NULL};
RLT_PLUGIN = {.abi = RLT_PLUGIN_ABI,
              .name = "dense",
              .version = "1.0",
              .summary = "a model family",
              .families = families};
