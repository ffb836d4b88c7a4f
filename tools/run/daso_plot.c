/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run --strategy daso --plot`: the time of each epoch, and the loss over time, beside Horovod's. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/output/plot.h"
#include "tools/run/report.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/run.h"

enum { POINTS = 512, MARKS = 6 };

/* The curves: means over `every` epochs, or the loss at their end. */
typedef struct curves {
    double epoch[POINTS], epoch_s[POINTS], horovod_s[POINTS];
    double loss[POINTS], at_s[POINTS], horovod_at_s[POINTS];
    uint32_t n;
} curves;

static rlt_time epoch_ps(const rlt_daso_result *x, rlt_daso_phase p)
{
    for (uint32_t i = 0; i < x->n_kinds; i++) {
        rlt_daso_phase k = x->kinds[i].phase;
        if (k.skips == p.skips && k.local == p.local && k.wait == p.wait)
            return x->kinds[i].epoch_ps;
    }
    return 0;
}

static void fill(curves *c, const rlt_daso *d, const rlt_daso_result *x, const rlt_daso_phase *phases)
{
    uint32_t every = d->epochs / POINTS + (d->epochs % POINTS != 0), since = 0;
    double above = d->loss.start - d->loss.floor, total_s = 0, before_s = 0;
    for (uint32_t e = 0; e < d->epochs; e++) {
        total_s += (double)epoch_ps(x, phases[e]) * 1e-12;
        above *= d->loss.ratio;
        if (++since < every && e + 1 < d->epochs)
            continue;
        c->epoch[c->n] = e + 1;
        c->epoch_s[c->n] = (total_s - before_s) / since;
        c->horovod_s[c->n] = (double)x->horovod_epoch_ps * 1e-12;
        c->loss[c->n] = d->loss.values ? d->loss.values[e] : d->loss.floor + above;
        c->at_s[c->n] = total_s;
        c->horovod_at_s[c->n] = (double)x->horovod_epoch_ps * 1e-12 * (e + 1.0);
        c->n++;
        before_s = total_s;
        since = 0;
    }
}

int rlt_daso_plot(const rlt_daso *d, const rlt_daso_result *x, const char *title, const char *path,
                  rlt_error *err)
{
    static const rlt_plot_scales scales = {
        .x_linear = true, .y_linear = true, .y_from_zero = true, .marks = MARKS};
    rlt_daso_phase *phases = malloc(((size_t)d->epochs + 1) * sizeof *phases);
    curves *c = calloc(1, sizeof *c);
    int rc = phases && c ? rlt_daso_schedule(d, phases, err) : rlt_nomem(err);
    if (!rc) {
        fill(c, d, x, phases);
        rlt_plot_line epochs[] = {{.name = "DASO", .x = c->epoch, .y = c->epoch_s, .n = c->n},
                                  {.name = "Horovod", .x = c->epoch, .y = c->horovod_s, .n = c->n}},
                      losses[] = {{.name = "DASO", .x = c->at_s, .y = c->loss, .n = c->n},
                                  {.name = "Horovod", .x = c->horovod_at_s, .y = c->loss, .n = c->n}};
        rlt_plot_panel panels[] = {
            {"time of an epoch", "epoch", "time", RLT_PLOT_NUMBER, RLT_PLOT_SECONDS, epochs, 2},
            {"the loss that was given, over time", "time", "loss", RLT_PLOT_SECONDS, RLT_PLOT_NUMBER, losses,
             2}};
        bool constant = !d->loss.values && d->loss.ratio == 1;
        rc = rlt_plot_write_scaled(path, title, panels, constant ? 1 : 2, 2, &scales, err);
    }
    free(c);
    free(phases);
    return rc;
}
