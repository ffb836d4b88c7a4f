/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet design: dimensions and bandwidths of a network for given workloads. */
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/design/design.h"

static const rlt_command *const verbs[] = {&rlt_design_bandwidth, &rlt_design_dimensions, NULL};

const rlt_command rlt_cmd_design = {
    .name = "design",
    .summary = "dimensions and bandwidths of a network, for speed or for speed per dollar",
    .description = "Designs a network of stacked dimensions for the workloads that will train on it.",
    .example = "ringlet design bandwidth -t libra-4d --workload gpt3-175b@tp=16,zero=2 --total 500GB/s",
    .verbs = verbs,
};
