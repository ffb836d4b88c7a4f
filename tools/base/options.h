/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a command line. One table per subcommand drives parsing, --help, the man page and the shell
 * completion. */
#ifndef RLT_TOOLS_BASE_OPTIONS_H
#define RLT_TOOLS_BASE_OPTIONS_H

#include "sim/base/error.h"
#include "sim/base/options.h"

/* Parses argv, which is permuted: operands move to the end; argv[0] is skipped. `settings` is zeroed memory;
 * it receives presets and given values. Every complaint is RLT_EUSAGE and names the option. Call
 * rlt_parsed_free afterwards in every case. */
int rlt_options_parse(const rlt_option_group *groups, int argc, char **argv, void *settings, rlt_parsed *out,
                      rlt_error *err) RLT_MUST_USE;

#endif
