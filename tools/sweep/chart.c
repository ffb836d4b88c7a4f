/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--plot` of sweeps: lines over an axis, and two objectives against each other. */
#include "tools/sweep/chart.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"

enum { MAX_LINES = 27, MAX_PANELS = 16, MAX_POINTS = 1 << 22, SCATTERED = 3000 };

#define AT(field) .offset = offsetof(rlt_chart_settings, field)
#define PLOT(what)                                                                                           \
    {                                                                                                        \
        "plot", 0, RLT_PARAM_TEXT, "FILE", what, AT(path), .unrecorded = true, .writes = true                \
    }
const rlt_option rlt_chart_options[] = {
    PLOT("Plot a figure over an axis as SVG, with a line for each value of another axis. Shows the mean of "
         "replicas, and the best of points that differ in other axes."),
    {"x", 0, RLT_PARAM_TEXT, "AXIS", "Axis on x (default: the numeric axis that matters most).", AT(x)},
    {"y", 0, RLT_PARAM_TEXT, "COLUMN", "Figure on y (default: the study's first objective).", AT(y)},
    {"by", 0, RLT_PARAM_TEXT, "AXIS",
     "Axis with a line for each value (default: the one that matters most besides x).", AT(by)},
    {"panels", 0, RLT_PARAM_TEXT, "AXIS", "Axis with a panel for each value (default: one panel).",
     AT(panels)},
    {0}};
const rlt_option rlt_front_options[] = {
    PLOT("Plot the first two objectives of all points against each other as SVG, with the front."),
    {"by", 0, RLT_PARAM_TEXT, "AXIS",
     "Axis with a colour for each value (default: the one that matters most).", AT(by)},
    {0}};
#undef PLOT
#undef AT

typedef struct spot {
    uint32_t panel, line;
    double x, y;
} spot;

typedef struct chart {
    rlt_asked *a;
    rlt_chart_axis x, by, panels;
    double x_factor, y_factor;
    spot *spots;
    uint32_t n, capacity;
} chart;

static double number(const rlt_store_cell *c)
{
    return c->kind == RLT_CELL_INTEGER ? (double)c->integer : c->kind == RLT_CELL_REAL ? c->real : 0;
}

static int see_spot(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    chart *h = ctx;
    (void)n;
    int rc = rlt_grow(&h->spots, &h->capacity, sizeof *h->spots, (uint64_t)h->n + 1, MAX_POINTS,
                      "points of a picture", err);
    if (rc || c[0].integer < 0 || c[0].integer >= h->panels.n || c[1].integer < 0 || c[1].integer >= h->by.n)
        return rc;
    spot *s = &h->spots[h->n++];
    *s = (spot){(uint32_t)c[0].integer, (uint32_t)c[1].integer, number(&c[2]), number(&c[3])};
    if (h->x.names && h->x.number != RLT_NONE && (s->x < 0 || s->x >= h->x.n))
        h->n--;
    else if (h->x.number != RLT_NONE)
        s->x = h->x.values ? h->x.values[(uint32_t)s->x] : s->x + 1;
    s->x *= h->x_factor;
    s->y *= h->y_factor;
    return 0;
}

static int compare_spots(const void *a, const void *b)
{
    const spot *p = a, *q = b;
    if (p->panel != q->panel)
        return p->panel < q->panel ? -1 : 1;
    if (p->line != q->line)
        return p->line < q->line ? -1 : 1;
    return p->x != q->x ? (p->x < q->x ? -1 : 1) : 0;
}

/* Returns the free axis with the largest share of the variance, with numbers if `numbers`, and at most `most`
 * values. */
static uint32_t choose(const rlt_asked *a, const double *shares, const rlt_chart_axis *all, uint64_t taken,
                       bool numbers, uint32_t most)
{
    uint32_t best = RLT_NONE;
    for (uint32_t i = 0; i < a->n_axes; i++)
        if (!(taken >> i & 1) && all[i].n > 1 && all[i].n <= most && (!numbers || all[i].values) &&
            (best == RLT_NONE || shares[i] > shares[best]))
            best = i;
    return best;
}

static uint64_t bit(uint32_t axis)
{
    return axis == RLT_NONE ? 0 : UINT64_C(1) << axis;
}

/* Chooses the axes of the plot: those asked for, else those that matter most. */
static int choose_axes(chart *h, const rlt_chart_settings *s, const char *y, bool lines, rlt_error *err)
{
    const char *const given[] = {s->x, s->by, s->panels};
    static const char *const options[] = {"--x", "--by", "--panels"};
    uint32_t chosen[] = {RLT_NONE, RLT_NONE, RLT_NONE};
    double shares[RLT_SWEEP_AXES];
    rlt_chart_axis all[RLT_SWEEP_AXES];
    uint64_t taken = 0;
    int rc = rlt_asked_shares(h->a, y, shares, err);
    for (uint32_t i = 0; i < h->a->n_axes && !rc; i++)
        rc = rlt__chart_axis(h->a, i, &all[i], err);
    for (int k = 0; k < 3 && !rc; k++) {
        if (!given[k])
            continue;
        if ((chosen[k] = rlt__chart_find(h->a, given[k], options[k], err)) == RLT_NONE)
            return RLT_EUSAGE;
        if (taken & bit(chosen[k]))
            return rlt_fail(err, RLT_EUSAGE, options[k], "axis '%s' is used twice", given[k]);
        taken |= bit(chosen[k]);
    }
    if (rc)
        return rc;
    if (lines && !given[0])
        chosen[0] = choose(h->a, shares, all, taken, true, UINT32_MAX);
    if (lines && chosen[0] == RLT_NONE)
        chosen[0] = choose(h->a, shares, all, taken, false, UINT32_MAX);
    if (lines && chosen[0] == RLT_NONE)
        return rlt_fail(err, RLT_ESCHEMA, "--plot", "the study has no further axis with several values");
    taken |= bit(chosen[0]);
    if (!given[1])
        chosen[1] = choose(h->a, shares, all, taken, false, 9);
    rlt_chart_axis *out[] = {&h->x, &h->by, &h->panels};
    for (int k = 0; k < 3 && !rc; k++)
        rc = rlt__chart_axis(h->a, chosen[k], out[k], err);
    return rc;
}

static const char *place_of(rlt_asked *a, const rlt_chart_axis *x)
{
    return x->number == RLT_NONE ? "0"
                                 : rlt_arena_printf(&a->arena, "json_extract(\"rlt_at\",'$[%u]')", x->number);
}

/* Returns the title of a panel: axis and value. */
static const char *headed(rlt_asked *a, const rlt_chart_axis *x, uint32_t i)
{
    return x->number == RLT_NONE
               ? ""
               : rlt_arena_printf(&a->arena, "%s: %s", a->axes[x->number].name, x->names[i]);
}

/* Draws the spots as lines of panels. `reference` is one more line in the last panel. */
static int draw(chart *h, const char *path, const char *title, const rlt_plot_panel *shape,
                const rlt_plot_line *reference, rlt_error *err)
{
    uint32_t n_panels = 0, n_lines = 0;
    rlt_plot_panel *panels = rlt_arena_array(&h->a->arena, (size_t)h->n + 1, sizeof *panels);
    rlt_plot_line *lines = rlt_arena_array(&h->a->arena, (size_t)h->n + 2, sizeof *lines);
    double *numbers = rlt_arena_array(&h->a->arena, 2 * (size_t)h->n + 1, sizeof *numbers);
    if (!panels || !lines || !numbers)
        return rlt_nomem(err);
    qsort(h->spots, h->n, sizeof *h->spots, compare_spots);
    double *x = numbers, *y = numbers + h->n;
    for (uint32_t i = 0; i < h->n; i++) {
        const spot *s = &h->spots[i], *before = i ? &h->spots[i - 1] : NULL;
        x[i] = s->x;
        y[i] = s->y;
        bool new_panel = !before || before->panel != s->panel;
        if (new_panel) {
            panels[n_panels] = *shape;
            panels[n_panels].title = headed(h->a, &h->panels, s->panel);
            if (!panels[n_panels].title)
                return rlt_nomem(err);
            panels[n_panels++].lines = &lines[n_lines];
        }
        if (new_panel || before->line != s->line) {
            lines[n_lines++] = (rlt_plot_line){.name = h->by.number == RLT_NONE ? "" : h->by.names[s->line],
                                               .x = &x[i],
                                               .y = &y[i],
                                               .look = s->line + 1};
            panels[n_panels - 1].n_lines++;
        }
        lines[n_lines - 1].n++;
        if (n_panels > MAX_PANELS || panels[n_panels - 1].n_lines > MAX_LINES)
            return rlt_fail(
                err, RLT_EUSAGE, n_panels > MAX_PANELS ? "--panels" : "--by",
                "a plot has at most %d panels with %d lines each, these are more: choose another axis, or "
                "fewer values with --where",
                MAX_PANELS, MAX_LINES);
    }
    if (reference && n_panels) {
        lines[n_lines] = *reference;
        panels[n_panels - 1].n_lines++;
    }
    rlt_plot_scales scales = {.x_linear = reference ? rlt__chart_linear(x, h->n) : !h->x.logarithmic,
                              .y_linear = rlt__chart_linear(y, h->n),
                              .x_doubles = !reference && h->x.doubles,
                              .same_limits = true,
                              .scattered = reference != NULL,
                              .legend = h->by.number == RLT_NONE ? NULL : h->a->axes[h->by.number].name};
    if (!reference && !h->x.values) {
        scales.x_names = h->x.names;
        scales.n_x_names = h->x.n;
    }
    return rlt_plot_write_scaled(path, title, panels, n_panels, n_panels > 1 ? 2 : 1, &scales, err);
}

static int see_name(void *ctx, const rlt_store_cell *c, uint32_t n, rlt_error *err)
{
    (void)n;
    char *copy = strdup(c[0].text ? c[0].text : "");
    *(char **)ctx = copy;
    return copy ? 0 : rlt_nomem(err);
}

/* Makes a title such as "name: what, best over a, b, mean of 5 replicas"; a and b are axes that the plot
 * lacks. */
static int make_title(chart *h, const char *what, bool best, char **out, rlt_error *err)
{
    char *name = NULL;
    int rc = rlt_store_query(h->a->store, "SELECT name FROM study", see_name, &name, err);
    if (rc) {
        free(name);
        return rc;
    }
    char *t = rlt_arena_printf(&h->a->arena, "%s: %s", name, what);
    const char *before = ", best over ";
    free(name);
    for (uint32_t i = 0; i < h->a->n_axes && t && best; i++) {
        if (i == h->x.number || i == h->by.number || i == h->panels.number)
            continue;
        t = rlt_arena_printf(&h->a->arena, "%s%s%s", t, before, h->a->axes[i].name);
        before = ", ";
    }
    if (t && best && h->a->replicas > 1)
        t = rlt_arena_printf(&h->a->arena, "%s, mean of %lld replicas", t, (long long)h->a->replicas);
    *out = t;
    return t ? 0 : rlt_nomem(err);
}

static bool is_max(const rlt_asked *a, const char *column)
{
    for (uint32_t i = 0; i < a->n_objectives; i++)
        if (strcmp(a->objectives[i], column) == 0)
            return a->max[i];
    return false;
}

int rlt_chart_lines(rlt_asked *a, const rlt_chart_settings *s, rlt_error *err)
{
    chart h = {.a = a, .x_factor = 1};
    const char *y = s->y ? s->y : a->objectives[0];
    char *title = NULL;
    rlt_plot_panel shape = {0};
    int rc = s->y ? rlt_asked_column(s->y, "--y", err) : 0;
    if (rc || (rc = choose_axes(&h, s, y, true, err)))
        return rc;
    shape.y_label = rlt__chart_label(a, y, &shape.y_unit, &h.y_factor);
    const char *panel = place_of(a, &h.panels), *by = place_of(a, &h.by), *x = place_of(a, &h.x);
    char *sql =
        shape.y_label && panel && by && x
            ? rlt_arena_printf(
                  &a->arena,
                  "SELECT %s, %s, %s, %s(\"rlt_mean\") FROM (SELECT \"rlt_at\", avg(%s) AS \"rlt_mean\" FROM "
                  "points JOIN (SELECT point AS \"rlt_id\", coordinates AS \"rlt_at\" FROM main.point WHERE "
                  "name IS NULL) ON \"rlt_id\"=point WHERE status=0 AND %s IS NOT NULL AND (%s\n) GROUP BY "
                  "\"rlt_at\") GROUP BY 1,2,3",
                  panel, by, x, is_max(a, y) ? "max" : "min", y, y, s->where ? s->where : "1")
            : NULL;
    rlt_store_guard(a->store);
    rc = sql ? rlt_store_query(a->store, sql, see_spot, &h, err) : rlt_nomem(err);
    if (!rc && h.n == 0)
        rc = rlt_fail(err, RLT_ESCHEMA, "--plot", "no point has a %s", y);
    if (!rc)
        rc = make_title(&h, shape.y_label, true, &title, err);
    shape.x_label = a->axes[h.x.number].name;
    shape.x_unit = h.x.unit;
    if (!rc)
        rc = draw(&h, s->path, title, &shape, NULL, err);
    free(h.spots);
    return rc;
}

int rlt_chart_front(rlt_asked *a, const rlt_chart_settings *s, const double *x, const double *y, uint32_t n,
                    rlt_error *err)
{
    chart h = {.a = a, .x.number = RLT_NONE};
    char *title = NULL;
    rlt_plot_panel shape = {0};
    int64_t count = 0;
    if (a->n_objectives < 2)
        return rlt_fail(
            err, RLT_EUSAGE, "--plot",
            "the study has one objective, a front needs two; 'ringlet sweep query DB --plot' plots it over "
            "an axis");
    const char *first = a->objectives[0], *second = a->objectives[1];
    int rc = choose_axes(&h, s, first, false, err);
    if (!rc)
        rc = rlt_store_query(a->store, "SELECT count(*) FROM point WHERE status=0", rlt_asked_integer, &count,
                             err);
    if (rc)
        return rc;
    h.x = (rlt_chart_axis){.number = RLT_NONE};
    shape.y_label = rlt__chart_label(a, first, &shape.y_unit, &h.y_factor);
    shape.x_label = rlt__chart_label(a, second, &shape.x_unit, &h.x_factor);
    const char *by = place_of(a, &h.by);
    char *sql =
        shape.x_label && shape.y_label && by
            ? rlt_arena_printf(
                  &a->arena,
                  "SELECT 0, %s, %s, %s FROM (SELECT point, coordinates AS \"rlt_at\" FROM point WHERE "
                  "status=0 AND name IS NULL) JOIN result USING(point) WHERE %s IS NOT NULL AND %s IS "
                  "NOT NULL AND point%%%lld=0",
                  by, second, first, first, second, (long long)(count / SCATTERED + 1))
            : NULL;
    rc = sql ? rlt_store_query(a->store, sql, see_spot, &h, err) : rlt_nomem(err);
    double *line = rlt_arena_array(&a->arena, 2 * (size_t)n + 1, sizeof *line);
    if (!rc && !line)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        line[i] = x[i] * h.x_factor;
        line[n + i] = y[i] * h.y_factor;
    }
    if (!rc && h.n == 0)
        rc = rlt_fail(err, RLT_ESCHEMA, "--plot", "no point has a %s and a %s", first, second);
    char *what = rc ? NULL : rlt_arena_printf(&a->arena, "%s over %s", shape.y_label, shape.x_label);
    if (!rc)
        rc = what ? make_title(&h, what, false, &title, err) : rlt_nomem(err);
    if (!rc) {
        rlt_plot_line front = {.name = "front", .x = line, .y = line + n, .n = n, .reference = true};
        rc = draw(&h, s->path, title, &shape, &front, err);
    }
    free(h.spots);
    return rc;
}
