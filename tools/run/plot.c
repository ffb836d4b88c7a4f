/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run --plot`: how busy the busiest links were over time, as SVG. */
#include <stdlib.h>
#include <string.h>

#include "net/links.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "tools/output/plot.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

/* A line has two points for each column, and two for the time after the last bin. */
enum { LINES = 8, COLUMNS = 512, POINTS = 2 * COLUMNS + 2, MARKS = 6 };

typedef struct picture {
    rlt_plot_line lines[LINES];
    char names[LINES][200];
    double *numbers;
    rlt_time bin_ps, end_ps;
    uint32_t bins, merge; /* bins of the series; bins per column of the plot */
} picture;

int rlt_plot_check(const rlt_run_asked *s, rlt_error *err)
{
    if (s->plot && strcmp(s->run.timing, "network") != 0)
        return rlt_fail(err, RLT_EUSAGE, "--plot", "needs links, which carry nothing under --timing %s",
                        s->run.timing);
    return 0;
}

/* Chooses the links to draw: the busiest class of each dimension, then the busiest of the rest, LINES in all.
 * `classes` has n classes that carried something, sorted. `chosen` is ordered by dimension; of_dim[d] of them
 * are of dimension d. */
static void choose(const rlt_link_class *classes, uint32_t n, uint32_t *chosen, uint32_t of_dim[RLT_MAX_DIMS])
{
    uint32_t seen[RLT_MAX_DIMS] = {0}, total = 0, k = 0;
    memset(of_dim, 0, RLT_MAX_DIMS * sizeof *of_dim);
    for (uint32_t i = 0; i < n; i++) {
        total += of_dim[classes[i].link.dim] == 0;
        of_dim[classes[i].link.dim] = 1;
    }
    for (uint32_t i = 0; i < n && total < LINES; i++)
        if (seen[classes[i].link.dim]++) {
            of_dim[classes[i].link.dim]++;
            total++;
        }
    for (uint32_t d = 0; d < RLT_MAX_DIMS; d++)
        for (uint32_t i = 0, taken = 0; i < n && taken < of_dim[d]; i++)
            if (classes[i].link.dim == d) {
                chosen[k++] = i;
                taken++;
            }
}

/* Returns the bytes that the link can carry from `from` to `to`, at its capacity as built. */
static double room(const rlt_run *r, uint32_t link, rlt_time from, rlt_time to)
{
    return (double)rlt_topology_link(r->setup.topology, link).bw_Bps * r->options.network_scale *
           (double)(to - from) * 1e-12;
}

/* Draws a step for each column. The line ends with the run: a link carries nothing after the last bin. */
static void draw(const rlt_run *r, const rlt_usage *u, picture *p, uint32_t index, uint32_t link)
{
    double *x = p->numbers + (size_t)index * 2 * POINTS, *y = x + POINTS;
    uint32_t n = 0;
    for (uint32_t first = 0; first < p->bins; first += p->merge) {
        rlt_time from = (rlt_time)first * p->bin_ps, to = from + (rlt_time)p->merge * p->bin_ps;
        double bytes = 0;
        to = to < p->end_ps ? to : p->end_ps;
        for (uint32_t i = first; i < first + p->merge; i++)
            bytes += rlt_usage_bin_bytes(u, link, i);
        if (to <= from)
            break;
        x[n] = (double)from * 1e-12;
        x[n + 1] = (double)to * 1e-12;
        y[n] = y[n + 1] = 100 * bytes / room(r, link, from, to);
        n += 2;
    }
    double used = n ? x[n - 1] : 0, end = (double)p->end_ps * 1e-12;
    if (used < end) {
        x[n] = used;
        x[n + 1] = end;
        n += 2;
    }
    p->lines[index] = (rlt_plot_line){.name = p->names[index], .x = x, .y = y, .n = n};
}

static void name_line(const rlt_run *r, picture *p, uint32_t index, rlt_link_class c)
{
    uint32_t alike = c.count;
    char *name = p->names[index];
    c.count = 1;
    rlt_link_class_name(r->setup.topology, &c, name, sizeof p->names[index]);
    size_t used = strlen(name);
    if (alike > 1)
        snprintf(name + used, sizeof p->names[index] - used, ", first of %u alike", alike);
}

/* Writes a panel for each dimension. */
static int write_picture(const rlt_run *r, const picture *p, const uint32_t of_dim[RLT_MAX_DIMS],
                         const char *path, rlt_error *err)
{
    static const rlt_plot_scales scales = {
        .x_linear = true, .y_linear = true, .same_limits = true, .y_from_zero = true, .marks = MARKS};
    const rlt_topology *t = r->setup.topology;
    const rlt_plot_line *lines = p->lines;
    rlt_plot_panel panels[RLT_MAX_DIMS] = {{.title = "no link carried anything",
                                            .x_label = "time",
                                            .y_label = "utilization (%)",
                                            .x_unit = RLT_PLOT_SECONDS}};
    char title[240], width[32], names[RLT_MAX_DIMS][80];
    uint32_t n = 0;
    for (uint32_t d = 0; d < RLT_MAX_DIMS; d++) {
        if (!of_dim[d])
            continue;
        if (rlt_topology_is_product(t))
            snprintf(names[n], sizeof names[n], "dim %u %s, busiest links", d, rlt_topology_dim(t, d).shape);
        else
            snprintf(names[n], sizeof names[n], "busiest links");
        panels[n] = (rlt_plot_panel){.title = names[n],
                                     .x_label = "time",
                                     .y_label = "utilization (%)",
                                     .x_unit = RLT_PLOT_SECONDS,
                                     .lines = lines,
                                     .n_lines = of_dim[d]};
        lines += of_dim[d];
        n++;
    }
    snprintf(title, sizeof title, "%.150s, %s, means of %s", rlt_topology_name(t), r->setup.model->name,
             rlt_format_duration(width, sizeof width, p->bin_ps * p->merge));
    return rlt_plot_write_scaled(path, title, panels, n ? n : 1, 1, &scales, err);
}

int rlt_run_plot(const rlt_run *r, const char *path, rlt_error *err)
{
    const rlt_usage *u = rlt_replay_net(r->replay)->usage;
    rlt_link_class *classes = NULL;
    uint32_t n = 0, chosen[LINES], of_dim[RLT_MAX_DIMS], lines = 0;
    picture p = {.bin_ps = rlt_usage_bin_ps(u), .bins = rlt_usage_bins(u), .end_ps = rlt_run_end(r)};
    int rc = rlt_run_links(r, true, &classes, &n, err);
    if (rc)
        return rc;
    while (n && classes[n - 1].usage.bytes == 0)
        n--;
    p.merge = p.bins / COLUMNS + (p.bins % COLUMNS != 0 || p.bins == 0);
    p.numbers = calloc((size_t)LINES * 2 * POINTS, sizeof *p.numbers);
    choose(classes, n, chosen, of_dim);
    for (uint32_t d = 0; d < RLT_MAX_DIMS && p.numbers; d++)
        for (uint32_t i = 0; i < of_dim[d]; i++, lines++) {
            draw(r, u, &p, lines, classes[chosen[lines]].first);
            name_line(r, &p, lines, classes[chosen[lines]]);
        }
    rc = p.numbers ? write_picture(r, &p, of_dim, path, err) : rlt_nomem(err);
    free(p.numbers);
    free(classes);
    return rc;
}
