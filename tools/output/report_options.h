/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Option tables for reporting a result, shared by commands. */
#ifndef RLT_TOOLS_OUTPUT_REPORT_OPTIONS_H
#define RLT_TOOLS_OUTPUT_REPORT_OPTIONS_H

#include <stdbool.h>

#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/output/output.h"

typedef struct rlt_report_settings {
    const char *format, *output;
    bool links, expand_links, quiet;
    const char *links_csv;
} rlt_report_settings;
/* --format: `at` is the member of its field. If it is not given, the field is NULL, and rlt_format_of goes by
 * --output. */
#define RLT_FORMAT_OPTION(at)                                                                                \
    {                                                                                                        \
        "format", 'f', RLT_PARAM_WORD, "FORMAT",                                                             \
            "Output: a table for people, CSV or JSON for programs (default: csv or json if the name of "     \
            "--output ends in .csv or .json, else table).",                                                  \
            at, .words = "table|csv|json", .unrecorded = true                                                \
    }
/* --quiet, which the command's start obeys (rlt_progress_hush). */
#define RLT_QUIET_OPTION(at)                                                                                 \
    {                                                                                                        \
        "quiet", 'q', RLT_PARAM_FLAG, NULL, "Show no progress bar.", at, .unrecorded = true                  \
    }
extern const rlt_option rlt_quiet_options[];  /* --quiet, in rlt_report_settings */
extern const rlt_option rlt_format_options[]; /* --format and --output, in rlt_report_settings */
extern const rlt_option rlt_link_options[];   /* --links, --expand-links, --links-csv; same struct */

#endif
