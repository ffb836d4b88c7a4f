/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The subcommands. Each is the only public name of its cmd_*.c. */
#ifndef RLT_TOOLS_BASE_COMMANDS_H
#define RLT_TOOLS_BASE_COMMANDS_H

#include "tools/base/command.h"

extern const rlt_command rlt_cmd_run, rlt_cmd_coll, rlt_cmd_topo, rlt_cmd_trace, rlt_cmd_calibrate,
    rlt_cmd_calibrate_training, rlt_cmd_sweep, rlt_cmd_list, rlt_cmd_check, rlt_cmd_design, rlt_cmd_report,
    rlt_cmd_serve, rlt_cmd_help, rlt_cmd_deploy, rlt_cmd_plan;

#endif
