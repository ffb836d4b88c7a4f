/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet topo: its verbs. */
#include <stdio.h>

#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/message.h"
#include "tools/output/links.h"
#include "tools/output/report_options.h"
#include "tools/topo/topo.h"
#include "workload/setup/locate.h"

static int check(const rlt_parsed *args, void *settings, rlt_error *err)
{
    (void)settings;
    for (int i = 0; i < args->n_operands; i++) {
        rlt_topology *t = NULL;
        rlt_error why = {0};
        char counts[100];
        if (rlt_find_topology(args->operands[i], &t, &why)) {
            rlt_say_and_keep(err, &why);
            continue;
        }
        printf("%s: ok: %s\n", args->operands[i], rlt_topology_counts(t, counts, sizeof counts));
        rlt_topology_free(t);
    }
    return err->code;
}

static const rlt_command cmd_check = {
    .name = "check",
    .summary = "validate topology files",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = -1,
    .description =
        "Reads each file and says whether it is a good topology. If not, prints file, line, column, the path "
        "of the value and what was expected. Exit status 3 if any is bad.",
    .example = "ringlet topo check hgx-h100-8",
    .run = check,
};
static const rlt_command *const verbs[] = {&rlt__topo_describe,
                                           &rlt__topo_analyse,
                                           &rlt__topo_route,
                                           &cmd_check,
                                           &rlt__topo_import,
                                           &rlt__topo_export,
                                           NULL};

static const rlt_columns *const tables[] = {&rlt__topo_dims, NULL};

const rlt_command rlt_cmd_topo = {
    .name = "topo",
    .summary = "describe, check, analyse, import, export a topology",
    .operands = "T",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "T is a file ('ringlet list readers' shows the formats), a name that 'ringlet list topologies' "
        "shows, - for standard input, or dimensions written out, innermost first: "
        "shape:size@bandwidth,latency*shape:size@... The bandwidth is what one accelerator can send into the "
        "dimension in one direction; the latency is of one link. 'ringlet list shapes' shows the shapes.",
    .example = "ringlet topo 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns'",
    .options = rlt__topo_describe_options,
    .settings_size = sizeof(rlt_report_settings),
    .run = rlt__topo_describe_run,
    .verbs = verbs,
    .tables = tables,
};
