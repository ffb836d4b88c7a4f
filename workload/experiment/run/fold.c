/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds a training: identical ranks are simulated once. */
#include <stdlib.h>

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/program/reader.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

/* Refuses options that make ranks, or the links of some ranks, different from others. */
static int check_alike(const rlt_run_settings *s, rlt_error *err)
{
    const struct {
        const char *option;
        bool given;
    } unlike[] = {{"--rank-scale", s->fold ? s->rank_scale.n : 0},
                  {"--rank-delay", s->rank_delay.n},
                  {"--link-scale", s->sim.link_scale.n},
                  {"--link-event", s->faults.link_event.n},
                  {"--noise", s->faults.noise.n},
                  {"--background", s->jobs.background.n}};
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++)
        if (unlike[i].given)
            return rlt_fail(err, RLT_EUSAGE, s->fold ? "--fold" : "--fold-stages",
                            "does not go with %s, which makes ranks differ", unlike[i].option);
    return 0;
}

/* Returns the dimensions in which two accelerators of a product differ, as bits. */
static uint32_t apart(const rlt_topology *t, uint32_t a, uint32_t b)
{
    uint32_t dims = 0;
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        uint32_t size = rlt_topology_dim(t, d).size;
        dims |= (uint32_t)(a % size != b % size) << d;
        a /= size;
        b /= size;
    }
    return dims;
}

/* Returns true if tensor-parallel groups have dimensions to themselves. Let A be the dimensions in which
 * ranks of one tensor-parallel group differ, and B those in which ranks with equal tensor-parallel index
 * differ. The result is true if A and B are disjoint: the ranks of one index then communicate in a plane of
 * their own, and the planes of a product are alike. Example: ring:4*switch:8 with tp=4 innermost has A = {0}
 * and B = {1}. */
static bool in_planes(const rlt_topology *topology, const rlt_placement *where, const rlt_training *t)
{
    uint32_t along = 0, across = 0;
    if (!rlt_topology_is_product(topology) || t->size[RLT_AXIS_TP] < 2)
        return false;
    for (uint32_t rank = 0; rank < rlt_training_ranks(t); rank++) {
        uint32_t at[RLT_AXES_OF_LAYOUT], first[RLT_AXES_OF_LAYOUT] = {0};
        rlt_training_place(t, rank, at);
        first[RLT_AXIS_TP] = at[RLT_AXIS_TP];
        at[RLT_AXIS_TP] = 0;
        uint32_t here = rlt_placed(where, rank);
        along |= apart(topology, here, rlt_placed(where, rlt_training_rank(t, at)));
        across |= apart(topology, here, rlt_placed(where, rlt_training_rank(t, first)));
    }
    return !(along & across);
}

/* Returns true if the ranks of a tensor-parallel group have the same experts. */
static bool alike(const rlt_training *t)
{
    return rlt_training_etp(t) == t->size[RLT_AXIS_TP];
}

int rlt_run_fold(rlt_run *r, rlt_error *err)
{
    const rlt_training *t = &r->training;
    rlt_timing *alone = NULL;
    rlt_placement where = {0};
    bool one_stage = t->size[RLT_AXIS_PP] == 1; /* with one stage, collectives follow each other */
    int rc = check_alike(r->settings, err);
    if (!rc)
        rc = rlt_run_network(r, err);
    if (!rc)
        rc = rlt_timing_alone(&r->options, &alone, err);
    r->folds =
        r->settings->fold && !one_stage && alike(t) && in_planes(r->setup.topology, &r->setup.placement, t)
            ? RLT_FOLD_PLANES
            : RLT_FOLD_STAGES;
    if (!rc)
        rc = rlt_training_fold(t, r->folds, &r->options, alone, &r->program, &where, err);
    rlt_timing_free(alone);
    if (rc)
        return rc;
    if (!r->setup.borrows_placement)
        rlt_placement_free(&r->setup.placement);
    r->setup.borrows_placement = false;
    r->setup.placement = where;
    return 0;
}

int rlt_run_verify_fold(const rlt_run *r, rlt_error *err)
{
    rlt_run_settings all = *r->settings;
    char folded[32], simulated[32];
    all.fold = all.fold_stages = all.verify_fold = false;
    rlt_run whole = {.args = r->args, .settings = &all, .watch = r->watch, .unbounded = true};
    int rc = rlt_run_load(&whole, err);
    rc = rc ? rc : rlt_run_prepare(&whole, err);
    rc = rc ? rc : rlt_run_simulate(&whole, err);
    for (uint32_t i = 0; !rc && i < rlt_replay_iterations(r->replay); i++) {
        rlt_time a = rlt_replay_iteration_ps(r->replay, i), b = rlt_replay_iteration_ps(whole.replay, i);
        if (a != b)
            rc = rlt_fail(err, RLT_ECHECK, r->settings->fold ? "--fold" : "--fold-stages",
                          "iteration %u takes %s folded and %s with every rank simulated: %lld ps more", i,
                          rlt_format_duration(folded, sizeof folded, a),
                          rlt_format_duration(simulated, sizeof simulated, b), (long long)(b - a));
    }
    rlt_run_close(&whole);
    return rc;
}

/* ---- traces */

typedef struct alone_ctx {
    const rlt_run *run;
    rlt_timing *timing;
} alone_ctx;

static int duration(void *ctx, const rlt_read_collective *c, rlt_time *duration_ps, rlt_error *err)
{
    const alone_ctx *a = ctx;
    const rlt_replay_options *how = &a->run->options;
    rlt_group group;
    int rc = rlt_group_create(how->topology, how->placement, c->ranks, c->n, &group, err);
    if (rc)
        return rc;
    rlt_coll_request req = rlt_group_request(&group, c->kind, c->bytes);
    req.endpoint = &how->endpoint;
    req.library = how->library;
    rlt_request_params(&req, &how->params);
    rc = a->timing->duration(a->timing, &req, duration_ps, err);
    rlt_group_free(&group);
    return rc;
}

int rlt_run_fold_begin(rlt_run *r, rlt_read_fold *fold, rlt_error *err)
{
    alone_ctx *a = calloc(1, sizeof *a);
    *fold = (rlt_read_fold){.ctx = a, .duration = duration};
    if (!a)
        return rlt_nomem(err);
    a->run = r;
    int rc = check_alike(r->settings, err);
    rc = rc ? rc : rlt_run_network(r, err);
    return rc ? rc : rlt_timing_alone(&r->options, &a->timing, err);
}

void rlt_run_fold_end(rlt_read_fold *fold)
{
    alone_ctx *a = fold->ctx;
    if (a)
        rlt_timing_free(a->timing);
    free(a);
}
