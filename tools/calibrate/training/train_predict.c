/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts iteration times of measured runs. The program is that of `ringlet run`, folded to one rank per
 * pipeline stage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/report_options.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

/* A network, with the durations of collectives simulated on it so far. */
typedef struct network {
    char text[128];
    rlt_setup setup;
    rlt_replay_options how;
    rlt_timing *alone;
} network;

struct rlt_train_predictor {
    network **networks; /* allocated one by one: the timing borrows pointers */
    uint32_t n_networks, networks_room;
    rlt_train_group *groups;
    uint32_t n_groups, groups_room;
};

static int find_network(rlt_train_predictor *p, const char *text, uint32_t *index, rlt_error *err)
{
    rlt_settings s = {.topology = text, .network = "flow", .routing = "dmodk"};
    for (*index = 0; *index < p->n_networks; ++*index)
        if (strcmp(p->networks[*index]->text, text) == 0)
            return 0;
    int rc = rlt_grow(&p->networks, &p->networks_room, sizeof *p->networks, (uint64_t)p->n_networks + 1,
                      RLT_MAX_TRAIN_ROWS, "networks", err);
    network *net = rc ? NULL : calloc(1, sizeof *net);
    if (!net)
        return rc ? rc : rlt_nomem(err);
    p->networks[p->n_networks++] = net;
    snprintf(net->text, sizeof net->text, "%s", text);
    if ((rc = rlt_setup_open(&s, 0, &net->setup, err)))
        return rc;
    net->how = rlt_replay_options_default();
    net->how.topology = net->setup.topology;
    net->how.placement = &net->setup.placement;
    net->how.routing = net->setup.routing;
    net->how.model = net->setup.model;
    net->how.endpoint = net->setup.endpoint;
    net->how.packet = &net->setup.packet;
    return rlt_timing_alone(&net->how, &net->alone, err);
}

static int open_group(rlt_train_group *g, const rlt_train_row *row, rlt_error *err)
{
    const rlt_surface *s;
    *g = (rlt_train_group){0};
    snprintf(g->accelerator, sizeof g->accelerator, "%s", row->accelerator);
    snprintf(g->precision, sizeof g->precision, "%s", row->training.precision);
    snprintf(g->stack, sizeof g->stack, "%s", row->training.stack);
    int rc = rlt_find_accelerator(g->accelerator, &g->machine, err);
    if (rc || (rc = rlt_accelerator_surface(&g->machine, NULL, NULL, &s, err)))
        return rc;
    g->start = *s;
    if ((rc = rlt_accelerator_surface(&g->machine, g->stack, g->precision, &s, err)))
        return rc;
    g->fitted = *s;
    snprintf(g->fitted.stack, sizeof g->fitted.stack, "any");
    snprintf(g->fitted.precision, sizeof g->fitted.precision, "any");
    g->machine.surfaces[0] = g->fitted;
    g->machine.n_surfaces = 1;
    return 0;
}

static int find_group(rlt_train_predictor *p, const rlt_train_row *row, uint32_t *index, rlt_error *err)
{
    for (*index = 0; *index < p->n_groups; ++*index) {
        const rlt_train_group *g = &p->groups[*index];
        if (strcmp(g->accelerator, row->accelerator) == 0 && strcmp(g->stack, row->training.stack) == 0 &&
            strcmp(g->precision, row->training.precision) == 0)
            return 0;
    }
    int rc = rlt_grow(&p->groups, &p->groups_room, sizeof *p->groups, (uint64_t)p->n_groups + 1,
                      RLT_MAX_TRAIN_ROWS, "groups", err);
    if (!rc)
        rc = open_group(&p->groups[p->n_groups], row, err);
    p->n_groups += rc == 0;
    return rc;
}

/* Prepares a row. A layout that the generator refuses is a reason not to cover it; all else is an error. */
static int prepare_row(rlt_train_predictor *p, rlt_train_row *row, rlt_error *err)
{
    rlt_error why = {0};
    int rc = rlt_model_open(row->spec, &row->shape, err);
    if (rc || (rc = find_group(p, row, &row->group, err)))
        return rc;
    row->training.model = &row->shape;
    row->training.accelerator = &p->groups[row->group].machine;
    if (rlt_training_plan(&row->training, row->ranks, &why)) {
        snprintf(row->reason, sizeof row->reason, "%.80s: %.160s", why.where, why.what);
        return 0;
    }
    return find_network(p, row->network, &row->on, err);
}

static void count_models(rlt_train_predictor *p, const rlt_train_rows *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_train_row *row = &t->rows[i];
        bool seen = false;
        if (*row->reason || !row->dense)
            continue;
        for (uint32_t k = 0; k < i && !seen; k++)
            seen = !*t->rows[k].reason && t->rows[k].dense && t->rows[k].group == row->group &&
                   strcmp(t->rows[k].shape.name, row->shape.name) == 0;
        p->groups[row->group].rows++;
        p->groups[row->group].models += !seen;
    }
}

int rlt_train_predictor_open(rlt_train_rows *t, rlt_train_predictor **out, rlt_error *err)
{
    rlt_train_predictor *p = calloc(1, sizeof *p);
    int rc = p ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < t->n && !rc; i++)
        if (!*t->rows[i].reason) {
            rc = prepare_row(p, &t->rows[i], err);
            t->covered += !rc && !*t->rows[i].reason;
        }
    if (rc) {
        rlt_train_predictor_free(p);
        return rc;
    }
    count_models(p, t);
    *out = p;
    return 0;
}

void rlt_train_predictor_free(rlt_train_predictor *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_networks; i++) {
        rlt_timing_free(p->networks[i]->alone);
        rlt_setup_free(&p->networks[i]->setup);
        free(p->networks[i]);
    }
    free(p->networks);
    free(p->groups);
    free(p);
}

rlt_train_group *rlt_train_group_at(rlt_train_predictor *p, uint32_t i)
{
    return i < p->n_groups ? &p->groups[i] : NULL;
}

static int simulate(const rlt_training *t, network *net, double *iteration_s, rlt_error *err)
{
    rlt_program *program = NULL;
    rlt_placement where = {0};
    rlt_replay *replay = NULL;
    rlt_replay_options how = net->how;
    int rc = rlt_training_fold(t, RLT_FOLD_STAGES, &net->how, net->alone, &program, &where, err);
    how.placement = &where;
    if (!rc && !(rc = rlt_replay_create(program, &how, &replay, err)) && !(rc = rlt_replay_run(replay, err)))
        *iteration_s = (double)rlt_replay_time(replay) / t->steps / 1e12;
    rlt_replay_free(replay);
    rlt_program_free(program);
    rlt_placement_free(&where);
    return rc;
}

int rlt_train_predict(rlt_train_predictor *p, const rlt_train_row *row, bool quick, double *iteration_s,
                      rlt_error *err)
{
    rlt_training t = row->training;
    network *net = p->networks[row->on];
    uint32_t pp = t.size[RLT_AXIS_PP], m = rlt_training_microbatches(&t);
    uint64_t each = t.batch / m; /* samples of one microbatch, over all pipelines */
    uint32_t some = 2 * pp, more = pp;
    double first, second;
    t.model = &row->shape;
    t.accelerator = &p->groups[row->group].machine;
    if (!quick || m <= some + more)
        return simulate(&t, net, iteration_s, err);
    /* Extrapolates: in a full pipeline each further pp microbatches take equal time. */
    t.batch = each * some;
    int rc = simulate(&t, net, &first, err);
    t.batch = each * (some + more);
    if (!rc && !(rc = simulate(&t, net, &second, err)))
        *iteration_s = first + (second - first) / more * (m - some);
    return rc;
}
