/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plot of measured times (markers) and simulated times (lines) over size. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "tools/base/message.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/output/plot.h"

enum { MOST_PANELS = 12, TITLE = 64, NAME = 96 };

typedef struct spot {
    const rlt_trial_row *row;
    const rlt_trial_case *of;
} spot;

/* Order of panels: system, then collective. */
static int by_panel(const spot *x, const spot *y)
{
    int order = strcmp(x->row->m->system, y->row->m->system);
    return order ? order : (int)x->row->m->kind - (int)y->row->m->kind;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Order of lines in a panel: ranks, nodes, machine, element. */
static int by_line(const spot *x, const spot *y)
{
    int order = compare(x->row->m->ranks, y->row->m->ranks);
    order = order ? order : compare(x->row->m->nodes, y->row->m->nodes);
    order = order ? order : compare(x->of->machine, y->of->machine);
    return order ? order : compare(x->of->element, y->of->element);
}

static int by_place(const void *a, const void *b)
{
    const spot *x = a, *y = b;
    int order = by_panel(x, y);
    order = order ? order : by_line(x, y);
    order = order ? order : compare(x->of->bytes, y->of->bytes);
    return order ? order : compare((uint64_t)x->row->m->time_ps, (uint64_t)y->row->m->time_ps);
}

typedef struct picture {
    spot *spots; /* in order of panel, line and size */
    uint32_t n;
    double *x, *measured_s, *simulated_s; /* one per spot; x is the allocation that holds all three */
    rlt_plot_line *lines;
    char (*names)[NAME];
    char titles[MOST_PANELS][TITLE];
    rlt_plot_panel panels[MOST_PANELS];
    uint32_t n_lines, n_panels;
} picture;

/* Copies the simulated points of spots [from, to). A size measured several times counts once. Returns their
 * number. */
static uint32_t thin(const picture *p, uint32_t from, uint32_t to, double *x, double *y)
{
    uint32_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        if (p->spots[i].of->time_ps <= 0 || (n && x[n - 1] == p->x[i]))
            continue;
        x[n] = p->x[i];
        y[n++] = (double)p->spots[i].of->time_ps * 1e-12;
    }
    return n;
}

/* Adds a pair of lines with one name: markers for the measurements, a line for the simulations. `typed`: the
 * panel has several data types. */
static void add_lines(picture *p, uint32_t from, uint32_t to, bool typed, double *x)
{
    const rlt_measurement *m = p->spots[from].row->m;
    rlt_plot_panel *panel = &p->panels[p->n_panels];
    char group[32] = "", *name = p->names[p->n_lines / 2];
    if (m->nodes > 1)
        snprintf(group, sizeof group, " on %u nodes", m->nodes);
    snprintf(name, NAME, "%u ranks%s%s%.16s", m->ranks, group, typed && *m->dtype ? ", " : "",
             typed ? m->dtype : "");
    rlt_make_printable(name);
    rlt_plot_line *l = &p->lines[p->n_lines];
    l[0] = (rlt_plot_line){.name = name, .x = &p->x[from], .y = &p->measured_s[from], .n = to - from};
    l[1] = (rlt_plot_line){.name = name, .x = x, .y = &p->simulated_s[from], .reference = true};
    l[1].n = thin(p, from, to, x, &p->simulated_s[from]);
    l[0].look = l[1].look = panel->n_lines / 2 + 1;
    panel->n_lines += 2;
    p->n_lines += 2;
}

static void add_panel(picture *p, uint32_t from, uint32_t to, double *thinned)
{
    const rlt_measurement *m = p->spots[from].row->m;
    char *title = p->titles[p->n_panels];
    bool typed = false;
    snprintf(title, TITLE, "%.40s: %s", m->system, rlt_coll_name(m->kind));
    rlt_make_printable(title);
    p->panels[p->n_panels] = (rlt_plot_panel){.title = title,
                                              .x_label = "size",
                                              .y_label = "time",
                                              .x_unit = RLT_PLOT_BYTES,
                                              .y_unit = RLT_PLOT_SECONDS,
                                              .lines = &p->lines[p->n_lines]};
    for (uint32_t i = from; i < to; i++)
        typed = typed || p->spots[i].of->element != p->spots[from].of->element;
    for (uint32_t i = from, end; i < to; i = end) {
        for (end = i; end < to && by_line(&p->spots[i], &p->spots[end]) == 0;)
            end++;
        add_lines(p, i, end, typed, thinned + i);
    }
    p->n_panels++;
}

static int collect(picture *p, const rlt_trial *t, rlt_error *err)
{
    size_t room = (size_t)t->n_rows + 1;
    p->spots = calloc(room, sizeof *p->spots);
    p->x = calloc(4 * room, sizeof *p->x);
    p->lines = calloc(2 * room, sizeof *p->lines);
    p->names = calloc(room, sizeof *p->names);
    if (!p->spots || !p->x || !p->lines || !p->names)
        return rlt_nomem(err);
    p->measured_s = p->x + room;
    p->simulated_s = p->measured_s + room;
    for (uint32_t i = 0; i < t->n_rows; i++)
        p->spots[p->n++] = (spot){&t->rows[i], &t->cases[t->rows[i].at]};
    qsort(p->spots, p->n, sizeof *p->spots, by_place);
    for (uint32_t i = 0; i < p->n; i++) {
        p->x[i] = (double)p->spots[i].of->bytes;
        p->measured_s[i] = (double)p->spots[i].row->m->time_ps * 1e-12;
    }
    return 0;
}

/* Notes which panels are drawn if there are too many. */
static void tell_drawn(const picture *p, uint32_t all)
{
    char list[MOST_PANELS * (TITLE + 2)] = "";
    for (uint32_t i = 0; i < p->n_panels; i++)
        rlt_list_name(list, sizeof list, p->titles[i]);
    if (all > p->n_panels)
        rlt_note("--plot: %u of %u systems and collectives are drawn: %s; --system and --where choose others",
                 p->n_panels, all, list);
}

int rlt_calib_plot(const char *path, const rlt_trial *t, rlt_error *err)
{
    picture p = {0};
    uint32_t all = 0;
    int rc = collect(&p, t, err);
    for (uint32_t i = 0, end; i < p.n && !rc; i = end, all++) {
        for (end = i; end < p.n && by_panel(&p.spots[i], &p.spots[end]) == 0;)
            end++;
        if (p.n_panels < MOST_PANELS)
            add_panel(&p, i, end, p.simulated_s + t->n_rows + 1);
    }
    if (!rc)
        rc = rlt_plot_write_scaled(path, "Collectives as measured (markers) and as simulated (lines)",
                                   p.panels, p.n_panels, 3, &(rlt_plot_scales){.scattered = true}, err);
    if (!rc)
        tell_drawn(&p, all);
    free(p.spots);
    free(p.x);
    free(p.lines);
    free(p.names);
    return rc;
}
