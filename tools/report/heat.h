/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Utilization of links over time, for drawing on a page. */
#ifndef RLT_TOOLS_REPORT_HEAT_H
#define RLT_TOOLS_REPORT_HEAT_H

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

/* Utilization of row r in bin b. Rows that are equal to 1/254 are drawn as one. */
typedef struct rlt_heat {
    uint32_t rows, bins;
    rlt_time bin_ps;
    void *ctx;
    double (*at)(void *ctx, uint32_t row, uint32_t bin);
    /* Formats a name for people; `count` rows are drawn as this one. */
    const char *(*name)(void *ctx, uint32_t row, uint32_t count, char *buffer, size_t size);
    uint32_t (*dim)(void *ctx, uint32_t row);
} rlt_heat;

/* Writes "heat": {bin_ps, bins, rows, shown, list[] {name, dim, count, data}} into an open object. The
 * busiest rows come first, at most 400, with at most 1024 bins (neighbours are averaged). data is base64, a
 * byte per bin: 254 is fully busy, 255 is more. RLT_ENOMEM. */
int rlt_heat_json(const rlt_heat *h, rlt_jw *w, rlt_error *err) RLT_MUST_USE;

#endif
