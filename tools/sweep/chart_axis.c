/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Axes and columns of a sweep, prepared for plots. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "tools/output/output.h"
#include "tools/output/plot.h"
#include "tools/sweep/asked.h"
#include "tools/sweep/chart.h"
#include "tools/sweep/store/store.h"
#include "workload/experiment/figures.h"

typedef struct names {
    rlt_asked *a;
    uint32_t axis;
    rlt_chart_axis *out;
} names;

static int see_value(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    names *x = ctx;
    (void)n;
    if (x->out->n >= c[1].integer)
        return 0;
    const char *name =
        c[0].kind == RLT_CELL_TEXT      ? rlt_asked_shown(&x->a->arena, &x->a->axes[x->axis], c[0].text, err)
        : c[0].kind == RLT_CELL_INTEGER ? rlt_arena_printf(&x->a->arena, "%lld", (long long)c->integer)
        : c[0].kind == RLT_CELL_REAL    ? rlt_arena_printf(&x->a->arena, "%.6g", c->real)
                                        : "none";
    x->out->names[x->out->n++] = name;
    return name ? 0 : rlt_nomem(err);
}

/* Reads a number and its unit, if any. */
static bool number_of(const char *text, double *value, rlt_plot_unit *unit)
{
    uint64_t n;
    rlt_time t;
    char *end;
    const char *equals = strrchr(text, '=');
    text = equals ? equals + 1 : text;
    *unit = RLT_PLOT_NUMBER;
    *value = strtod(text, &end);
    if (end == text)
        return false;
    if (!*end)
        return isfinite(*value);
    if (rlt_parse_rate(text, &n, NULL, NULL) == 0) {
        *unit = RLT_PLOT_RATE;
        *value = (double)n;
    } else if (rlt_parse_size(text, &n, NULL, NULL) == 0) {
        *unit = RLT_PLOT_BYTES;
        *value = (double)n;
    } else if (rlt_parse_duration(text, &t, NULL, NULL) == 0) {
        *unit = RLT_PLOT_SECONDS;
        *value = (double)t * 1e-12;
    } else {
        return false;
    }
    return true;
}

bool rlt__chart_linear(const double *values, size_t n)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return low <= 0 || high < 8 * low;
}

/* Returns true if a linear scale suits the values. Zero together with several magnitudes suits no scale: such
 * values are drawn as names, side by side. */
static bool fits_linear(const double *values, uint32_t n)
{
    double least = HUGE_VAL, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        most = fmax(most, fabs(values[i]));
        least = values[i] != 0 ? fmin(least, fabs(values[i])) : least;
    }
    return most < 50 * least;
}

static bool is_power(double value)
{
    int exponent;
    return frexp(value, &exponent) == 0.5;
}

int rlt__chart_axis(rlt_asked *a, uint32_t number, rlt_chart_axis *out, rlt_error *err)
{
    names x = {a, number, out};
    char sql[160];
    *out = (rlt_chart_axis){.number = number};
    if (number == RLT_NONE) {
        static const char *none[] = {""};
        out->names = none;
        out->n = 1;
        return 0;
    }
    int64_t count = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM temp.axis_value WHERE axis=%u", number);
    int rc = rlt_store_query(a->store, sql, rlt_asked_integer, &count, err);
    out->names = rc ? NULL : rlt_arena_array(&a->arena, (size_t)count + 1, sizeof *out->names);
    double *values = rc ? NULL : rlt_arena_array(&a->arena, (size_t)count + 1, sizeof *values);
    if (!rc && (!out->names || !values))
        return rlt_nomem(err);
    snprintf(sql, sizeof sql, "SELECT v, %lld FROM temp.axis_value WHERE axis=%u ORDER BY i",
             (long long)count, number);
    if (!rc)
        rc = rlt_store_query(a->store, sql, see_value, &x, err);
    bool numbers = !rc && out->n && a->axes[number].n_parts < 2;
    for (uint32_t i = 0; i < out->n && numbers; i++) {
        rlt_plot_unit unit;
        numbers = number_of(out->names[i], &values[i], &unit) && (i == 0 || unit == out->unit);
        out->unit = unit;
    }
    if (!numbers || (rlt__chart_linear(values, out->n) && !fits_linear(values, out->n)))
        return rc;
    out->values = values;
    out->logarithmic = !rlt__chart_linear(values, out->n);
    out->doubles = out->unit == RLT_PLOT_NUMBER;
    for (uint32_t i = 0; i < out->n; i++)
        out->doubles &= values[i] >= 1 && values[i] < 1e15 && is_power(values[i]);
    return rc;
}

uint32_t rlt__chart_find(const rlt_asked *a, const char *name, const char *option, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    for (uint32_t i = 0; i < a->n_axes; i++) {
        if (strcmp(a->axes[i].name, name) == 0)
            return i;
        rlt_nearest_try(&near, a->axes[i].name);
    }
    rlt_fail(err, RLT_EUSAGE, option, "no axis '%s'%s%s%s", name, near.best ? "; did you mean '" : "",
             near.best ? near.best : "", near.best ? "'?" : "");
    return RLT_NONE;
}

const char *rlt__chart_label(rlt_asked *a, const char *column, rlt_plot_unit *unit, double *factor)
{
    rlt_column shape = rlt_figure_column(rlt_figure_find(column, NULL));
    char *label = rlt_arena_printf(&a->arena, "%s%s", column, shape.kind == RLT_COL_PERCENT ? ", %" : "");
    size_t n = strlen(column);
    *unit = RLT_PLOT_NUMBER;
    *factor = shape.kind == RLT_COL_PERCENT ? 100 : 1;
    if (!label)
        return NULL;
    if (shape.kind == RLT_COL_TIME) {
        *unit = RLT_PLOT_SECONDS;
        *factor = 1e-12;
        label[n - 3] = '\0';
    } else if (shape.kind == RLT_COL_SIZE) {
        *unit = RLT_PLOT_BYTES;
        if (n > 6)
            label[n - 6] = '\0';
    } else if (n > 5 && strcmp(column + n - 5, "_GBps") == 0) {
        label = rlt_arena_printf(&a->arena, "%.*s, GB/s", (int)n - 5, column);
    }
    for (char *p = label; p && *p; p++)
        *p = *p == '_' ? ' ' : *p;
    return label;
}
