/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of a whole training: epochs of each kind, replayed and added up. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/daso/daso.h"
#include "workload/daso/internal.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

static int replay(rlt_program *p, const rlt_replay_options *how, rlt_time *end_ps, rlt_error *err)
{
    rlt_replay *r = NULL;
    int rc = rlt_replay_create(p, how, &r, err);
    if (rc == 0)
        rc = rlt_replay_run(r, err);
    if (rc == 0)
        *end_ps = rlt_replay_time(r);
    rlt_replay_free(r);
    rlt_program_free(p);
    return rc;
}

/* Computes the mean over the draws; `phase` NULL: Horovod. Without jitter all draws are equal. */
static int epoch_time(const rlt_daso *d, const rlt_daso_work *w, const rlt_daso_phase *phase,
                      const rlt_replay_options *how, rlt_time *epoch_ps, rlt_error *err)
{
    uint32_t draws = d->jitter > 0 ? d->draws : 1;
    rlt_wide sum = 0;
    for (uint32_t i = 0; i < draws; i++) {
        rlt_program *p = NULL;
        rlt_time end = 0;
        int rc = phase ? rlt_daso_program(d, w, *phase, i, &p, err) : rlt_horovod_program(d, w, i, &p, err);
        if (rc == 0)
            rc = replay(p, how, &end, err);
        if (rc < 0)
            return rc;
        sum += (rlt_wide)(uint64_t)end;
    }
    *epoch_ps = (rlt_time)((sum + draws / 2) / draws);
    return 0;
}

static bool same(rlt_daso_phase a, rlt_daso_phase b)
{
    return a.skips == b.skips && a.local == b.local && a.wait == b.wait;
}

static int count_kinds(const rlt_daso *d, rlt_daso_result *out, rlt_error *err)
{
    rlt_daso_phase *phases = malloc(d->epochs * sizeof *phases);
    int rc = phases ? rlt_daso_schedule(d, phases, err) : rlt_nomem(err);
    for (uint32_t e = 0; e < d->epochs && rc == 0; e++) {
        uint32_t k = 0;
        while (k < out->n_kinds && !same(out->kinds[k].phase, phases[e]))
            k++;
        if (k == out->n_kinds)
            out->kinds[out->n_kinds++].phase = phases[e];
        out->kinds[k].epochs++;
    }
    free(phases);
    return rc;
}

static int add_epochs(rlt_time *total, rlt_time epoch_ps, uint32_t epochs, rlt_error *err)
{
    rlt_wide sum = (rlt_wide)*total + (rlt_wide)epoch_ps * epochs;
    if (sum >= (rlt_wide)RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, "daso",
                        "the training takes more than 26 days, the limit of simulated time");
    *total = (rlt_time)sum;
    return 0;
}

static int add_bytes(uint64_t *total, uint64_t each, uint64_t times, rlt_error *err)
{
    rlt_wide sum = (rlt_wide)*total + (rlt_wide)each * times;
    if (sum >> 63)
        return rlt_fail(err, RLT_ERANGE, "daso",
                        "a rank sends more than 2^63 bytes, the limit, over the training");
    *total = (uint64_t)sum;
    return 0;
}

int rlt_daso_run(const rlt_daso *d, const rlt_daso_work *w, const rlt_replay_options *how,
                 rlt_daso_result *out, rlt_error *err)
{
    uint64_t parameters = rlt__dp_parameters(w->model);
    int rc = rlt__dp_check(d, w, 0, err);
    memset(out, 0, sizeof *out);
    if (rc == 0)
        rc = count_kinds(d, out, err);
    out->batches = rc ? 0 : rlt_daso_batches(d);
    for (uint32_t i = 0; i < out->n_kinds && rc == 0; i++) {
        rlt_daso_kind *k = &out->kinds[i];
        k->sums = rlt_daso_count(d, k->phase, parameters);
        rc = add_bytes(&out->global_bytes, k->sums.global_bytes, k->epochs, err);
        if (rc == 0)
            rc = add_bytes(&out->broadcast_bytes, k->sums.broadcast_bytes, k->epochs, err);
        if (rc == 0)
            rc = epoch_time(d, w, &k->phase, how, &k->epoch_ps, err);
        if (rc == 0)
            rc = add_epochs(&out->daso_ps, k->epoch_ps, k->epochs, err);
    }
    if (rc == 0)
        rc = epoch_time(d, w, NULL, how, &out->horovod_epoch_ps, err);
    if (rc == 0)
        rc = add_epochs(&out->horovod_ps, out->horovod_epoch_ps, d->epochs, err);
    if (rc == 0)
        rc = add_bytes(&out->horovod_bytes, parameters * d->compressed_bytes,
                       (uint64_t)out->batches * d->epochs, err);
    if (rc < 0)
        return rc;
    out->saving = out->horovod_ps ? 1 - (double)out->daso_ps / (double)out->horovod_ps : 0;
    return 0;
}
