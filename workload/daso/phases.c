/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phase (B, L, W) of each epoch: heat's DASO.epoch_loss_logic and DetectMetricPlateau, and the schedule of
 * the branch daso-profiling. */
#include <math.h>

#include "sim/base/error.h"
#include "workload/daso/daso.h"

static const rlt_daso_phase blocking = {0, 0, 0};

/* State machine that chooses phases from the loss at the end of each epoch. */
typedef struct cycle {
    rlt_daso_phase phase;
    uint32_t finished; /* in epochs */
    uint32_t worse;    /* epochs in a row without improvement */
    double best;
} cycle;

/* Returns true once more than `patience` epochs in a row were no improvement. */
static bool plateau(cycle *c, const rlt_daso *d, double loss)
{
    if (loss < c->best * (1 - d->stability)) {
        c->best = loss;
        c->worse = 0;
        return false;
    }
    if (++c->worse <= d->patience)
        return false;
    c->worse = 0;
    return true;
}

static uint32_t at_least_1(uint32_t x)
{
    return x ? x : 1;
}

static void advance(rlt_daso_phase *p, const rlt_daso *d)
{
    if (p->skips > 1) {
        p->skips /= d->skip_factor;
        p->local /= d->skip_factor;
        p->wait -= p->wait > 0;
        if (p->skips > 0) {
            p->wait = at_least_1(p->wait);
            p->local = at_least_1(p->local);
        }
    } else if (p->skips == 1) {
        p->skips = d->max_skips;
        p->local = p->wait = d->max_skips / d->local_factor;
    }
}

static void end_cycling(cycle *c, const rlt_daso *d, double loss)
{
    if (c->finished < d->warmup) {
        c->phase = blocking;
        return;
    }
    if (c->finished == d->warmup)
        c->phase = (rlt_daso_phase){d->first_skips, d->first_local, d->first_wait};
    if ((uint64_t)c->finished + d->cooldown >= d->epochs) {
        c->phase = blocking;
        return;
    }
    if (plateau(c, d, loss))
        advance(&c->phase, d);
}

static rlt_daso_phase fixed_phase(const rlt_daso *d, uint32_t epoch)
{
    if (epoch < d->warmup || (uint64_t)epoch + d->cooldown >= d->epochs)
        return blocking;
    if ((uint64_t)epoch + d->cooldown + d->soft_cooldown >= d->epochs)
        return (rlt_daso_phase){.skips = 2};
    return (rlt_daso_phase){d->max_skips, d->first_local, d->first_wait};
}

static void end_epoch(cycle *c, const rlt_daso *d, double loss)
{
    c->finished++;
    if (d->variant == RLT_DASO_FIXED)
        c->phase = fixed_phase(d, c->finished);
    else
        end_cycling(c, d, loss);
}

int rlt_daso_schedule(const rlt_daso *d, rlt_daso_phase *phases, rlt_error *err)
{
    int rc = rlt_daso_check(d, err);
    if (rc < 0)
        return rc;
    double above = d->loss.start - d->loss.floor;
    cycle c = {.phase = d->variant == RLT_DASO_FIXED ? fixed_phase(d, 0) : blocking, .best = INFINITY};
    for (uint32_t e = 0; e < d->epochs; e++) {
        phases[e] = c.phase;
        above *= d->loss.ratio;
        end_epoch(&c, d, d->loss.values ? d->loss.values[e] : d->loss.floor + above);
    }
    return 0;
}
