/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of subcommands, in the order in which users meet them. */
#include "tools/base/commands.h"
#include "tools/base/command.h"

static const rlt_command *const table[] = {
    &rlt_cmd_run,
    &rlt_cmd_coll,
    &rlt_cmd_sweep,
    &rlt_cmd_topo,
    &rlt_cmd_trace,
    &rlt_cmd_calibrate,
    &rlt_cmd_calibrate_training,
    &rlt_cmd_design,
    &rlt_cmd_plan,
    &rlt_cmd_deploy,
    &rlt_cmd_report,
    &rlt_cmd_serve,
    &rlt_cmd_list,
    &rlt_cmd_check,
    &rlt_cmd_help,
};

const rlt_command *rlt_command_at(uint32_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}
