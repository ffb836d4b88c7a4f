/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a result is reported. */
#include "tools/output/report_options.h"

#include "sim/base/param.h"

#define AT(field) .offset = offsetof(rlt_report_settings, field)
const rlt_option rlt_format_options[] = {
    {"format", 'f', RLT_PARAM_WORD, "FORMAT", "A table for people, or CSV or JSON for programs.", AT(format),
     .preset = "table", .words = "table|csv|json", .unrecorded = true},
    {"output", 'o', RLT_PARAM_TEXT, "FILE",
     "Write the result there instead of standard output; it appears under this name when complete.",
     AT(output), .preset = "-", .unrecorded = true},
    {0}};

const rlt_option rlt_link_options[] = {
    {"links", 0, RLT_PARAM_FLAG, NULL,
     "Add what each link carried: bytes, busy time (bytes / bandwidth), active time and utilization.",
     AT(links), .unrecorded = true},
    {"expand-links", 0, RLT_PARAM_FLAG, NULL,
     "List every link; otherwise links that did the same stand in one row with their count.",
     AT(expand_links), .unrecorded = true},
    {"links-csv", 0, RLT_PARAM_TEXT, "FILE", "Write the links as CSV to a file of their own.", AT(links_csv),
     .unrecorded = true},
    {0}};
#undef AT
