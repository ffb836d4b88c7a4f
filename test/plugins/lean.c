/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How to add a strategy: settings of `--train` under a name. */
#include "workload/plugin/plugin.h"
#include "workload/training/training.h"

static const rlt_training_strategy lean = {.name = "lean",
                                           .summary = "all state divided, activations recomputed",
                                           .settings = "zero=3,recompute=full"};

static const rlt_training_strategy *const strategies[] = {&lean, NULL};
RLT_PLUGIN = {.abi = RLT_PLUGIN_ABI,
              .name = "lean",
              .version = "1.0",
              .summary = "a strategy",
              .strategies = strategies};
