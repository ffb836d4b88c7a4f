/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of ringlet topo. */
#ifndef RLT_TOOLS_TOPO_TOPO_H
#define RLT_TOOLS_TOPO_TOPO_H

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "tools/base/command.h"

extern const rlt_command rlt__topo_describe, rlt__topo_analyse, rlt__topo_route, rlt__topo_import,
    rlt__topo_export;

/* For the command without a verb, which describes. */
extern const rlt_option_group rlt__topo_describe_options[];
extern const rlt_columns rlt__topo_dims;
int rlt__topo_describe_run(const rlt_parsed *args, void *settings, rlt_error *err);

#endif
