/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `ringlet coll`, kept for statements over several of them, and a plot of all. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/coll/coll.h"
#include "tools/output/plot.h"

int rlt_coll_note_point(rlt_coll_points *p, const rlt_coll_point *point, rlt_error *err)
{
    int rc = rlt_grow(&p->items, &p->capacity, sizeof *p->items, (uint64_t)p->n + 1, UINT32_MAX, "rows", err);
    if (!rc)
        p->items[p->n++] = *point;
    return rc;
}

void rlt_coll_points_free(rlt_coll_points *p)
{
    free(p->items);
    *p = (rlt_coll_points){0};
}

typedef struct curves {
    const char **all; /* algorithms of all panels, so that an algorithm looks the same in each */
    rlt_plot_line *lines;
    double *numbers;
    uint32_t n_all, n_lines, n_numbers;
} curves;

enum { TIME, BUSBW };

static double value_of(const rlt_coll_point *q, int what, bool bound)
{
    double ps = (double)(bound ? q->bound_ps : q->time_ps);
    if (what == TIME)
        return ps * 1e-12;
    return ps > 0 ? (double)q->bytes / ps * 1e3 * q->bus_factor : 0;
}

/* Adds the points of one algorithm and kind, or, if name is NULL, the bound of every size. */
static void add_line(curves *c, const rlt_coll_points *p, rlt_coll_kind kind, const char *name, int what)
{
    rlt_plot_line *l = &c->lines[c->n_lines++];
    double *x = c->numbers + c->n_numbers, *y = x + p->n;
    uint32_t n = 0, look = 0;
    for (uint32_t i = 0; i < c->n_all && name && !look; i++)
        look = strcmp(c->all[i], name) == 0 ? i + 1 : 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const rlt_coll_point *q = &p->items[i];
        if (q->kind != kind || (name && strcmp(q->algorithm, name) != 0) ||
            (!name && (q->bound_ps <= 0 || (n && x[n - 1] == (double)q->bytes))))
            continue;
        x[n] = (double)q->bytes;
        y[n++] = value_of(q, what, !name);
    }
    c->n_numbers += 2 * p->n;
    *l = (rlt_plot_line){
        .name = name ? name : "bound", .x = x, .y = y, .n = n, .reference = !name, .look = look};
}

/* Lists the *n algorithms of a kind (RLT_COLL_KINDS: of all kinds) in order of appearance. */
static void list_names(const rlt_coll_points *p, int kind, const char **names, uint32_t *n)
{
    *n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t k = 0;
        while (k < *n && strcmp(names[k], p->items[i].algorithm) != 0)
            k++;
        if (k == *n && (kind == RLT_COLL_KINDS || (int)p->items[i].kind == kind))
            names[(*n)++] = p->items[i].algorithm;
    }
}

static void add_panels(curves *c, const rlt_coll_points *p, rlt_coll_kind kind, const char **names,
                       rlt_plot_panel *panels, uint32_t *n_panels)
{
    static const char *const y_labels[] = {"time", "bus bandwidth (GB/s)"};
    uint32_t n;
    list_names(p, (int)kind, names, &n);
    for (int what = TIME; what <= BUSBW && n; what++) {
        rlt_plot_panel *panel = &panels[(*n_panels)++];
        *panel = (rlt_plot_panel){.title = rlt_coll_name(kind),
                                  .x_label = "size",
                                  .y_label = y_labels[what],
                                  .x_unit = RLT_PLOT_BYTES,
                                  .y_unit = what == TIME ? RLT_PLOT_SECONDS : RLT_PLOT_NUMBER,
                                  .lines = c->lines + c->n_lines,
                                  .n_lines = n + 1};
        for (uint32_t k = 0; k < n; k++)
            add_line(c, p, kind, names[k], what);
        add_line(c, p, kind, NULL, what);
    }
}

int rlt_coll_plot(const char *path, const char *title, const rlt_coll_points *p, rlt_error *err)
{
    enum { PANELS = 2 * RLT_COLL_KINDS };
    rlt_plot_panel panels[PANELS];
    const char **names = calloc((size_t)p->n + 1, sizeof *names);
    uint32_t n = 0, lines = 0;
    curves c = {.all = calloc((size_t)p->n + 1, sizeof *c.all)};
    if (c.all)
        list_names(p, RLT_COLL_KINDS, c.all, &c.n_all);
    for (int kind = 0; kind < RLT_COLL_KINDS && names; kind++) {
        uint32_t more;
        list_names(p, kind, names, &more);
        lines += more ? 2 * (more + 1) : 0;
    }
    c.lines = calloc((size_t)lines + 1, sizeof *c.lines);
    c.numbers = calloc((size_t)lines * 2 * p->n + 1, sizeof *c.numbers);
    int rc = names && c.all && c.lines && c.numbers ? 0 : rlt_nomem(err);
    for (int kind = 0; kind < RLT_COLL_KINDS && !rc; kind++)
        add_panels(&c, p, (rlt_coll_kind)kind, names, panels, &n);
    if (!rc)
        rc = rlt_plot_write(path, title, panels, n, 2, err);
    free(c.numbers);
    free(c.lines);
    free(c.all);
    free(names);
    return rc;
}
