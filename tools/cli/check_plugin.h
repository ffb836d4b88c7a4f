/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of a plug-in, for `ringlet check`. */
#ifndef RLT_TOOLS_CLI_CHECK_PLUGIN_H
#define RLT_TOOLS_CLI_CHECK_PLUGIN_H

#include "sim/base/error.h"

/* Prints the passed tests. RLT_ESCHEMA names the case that failed, or how the plug-in crashed. */
int rlt_check_plugin(const char *path, rlt_error *err) RLT_MUST_USE;

#endif
