/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a result is reported. */
#include "tools/output/report_options.h"

#include "sim/base/param.h"

#define AT(field) .offset = offsetof(rlt_report_settings, field)
const rlt_option rlt_format_options[] = {
    RLT_FORMAT_OPTION(AT(format)),
    {"output", 'o', RLT_PARAM_TEXT, "FILE",
     "Write the result to this file (default: standard output). It appears under this name when "
     "complete; after Ctrl-C what was found is FILE.partial.",
     AT(output), .preset = "-", .unrecorded = true, .writes = true},
    {0}};

const rlt_option rlt_quiet_options[] = {RLT_QUIET_OPTION(AT(quiet)), {0}};

const rlt_option rlt_link_options[] = {
    {"links", 0, RLT_PARAM_FLAG, NULL,
     "Add the usage of each link: bytes, busy time (bytes / bandwidth), active time and utilization.",
     AT(links), .unrecorded = true},
    {"expand-links", 0, RLT_PARAM_FLAG, NULL,
     "List every link. By default links with equal usage are one row with their count.", AT(expand_links),
     .unrecorded = true},
    {"links-csv", 0, RLT_PARAM_TEXT, "FILE", "Write link usage as CSV to this file.", AT(links_csv),
     .unrecorded = true, .writes = true},
    {0}};
#undef AT
