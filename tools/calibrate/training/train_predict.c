/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts iteration times of measured runs. The program is that of `ringlet run`, folded to one rank per
 * pipeline stage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
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
    char text[RLT_TRAIN_PATH];
    rlt_setup setup;
    rlt_replay_options how;
    rlt_timing *alone;
} network;

struct rlt_train_predictor {
    network **networks; /* allocated one by one: the timing borrows pointers */
    uint32_t n_networks, networks_room;
    rlt_accelerator **machines;
    char (*names)[RLT_TRAIN_PATH];
    uint32_t n_machines, machines_room, names_room;
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

static int find_machine(rlt_train_predictor *p, const char *name, uint32_t *index, rlt_error *err)
{
    for (*index = 0; *index < p->n_machines; ++*index)
        if (strcmp(p->names[*index], name) == 0)
            return 0;
    int rc = rlt_grow(&p->machines, &p->machines_room, sizeof *p->machines, (uint64_t)p->n_machines + 1,
                      RLT_MAX_TRAIN_ROWS, "accelerators", err);
    if (!rc)
        rc = rlt_grow(&p->names, &p->names_room, sizeof *p->names, (uint64_t)p->n_machines + 1,
                      RLT_MAX_TRAIN_ROWS, "accelerators", err);
    rlt_accelerator *a = rc ? NULL : malloc(sizeof *a);
    if (!a)
        return rc ? rc : rlt_nomem(err);
    snprintf(p->names[p->n_machines], sizeof *p->names, "%s", name);
    p->machines[p->n_machines++] = a;
    return rlt_find_accelerator(name, a, err);
}

/* Returns true if the weights, gradients and optimizer state of a stage alone are more than the memory.
 * Activations depend on what tables leave open. */
static bool state_is_too_large(const rlt_training *t)
{
    for (uint32_t i = 0; i < t->size[RLT_AXIS_PP]; i++) {
        rlt_training_memory m = rlt_training_memory_of(t, i);
        if (m.parameters + m.gradients + m.optimizer > (double)t->accelerator->memory_bytes)
            return true;
    }
    return false;
}

/* Prepares a row. A layout that the generator refuses is a reason not to cover it; all else is an error. */
static int prepare_row(rlt_train_predictor *p, rlt_train_row *row, rlt_error *err)
{
    rlt_error why = {0};
    if (rlt_model_open(row->spec, &row->shape, &why)) {
        snprintf(row->reason, sizeof row->reason, "%.80s: %.400s", why.where, why.what);
        return 0;
    }
    int rc = find_machine(p, row->accelerator, &row->machine, err);
    if (rc)
        return rc;
    row->training.model = &row->shape;
    row->training.accelerator = p->machines[row->machine];
    row->dense = true;
    for (uint32_t i = 0; i < row->shape.n_layers; i++)
        row->dense &= row->shape.layers[i].experts == 0;
    if (rlt_training_plan(&row->training, row->ranks, &why)) {
        snprintf(row->reason, sizeof row->reason, "%.80s: %.400s", why.where, why.what);
        return 0;
    }
    if (state_is_too_large(&row->training)) {
        snprintf(row->reason, sizeof row->reason, "the layout does not fit the memory of %s",
                 row->training.accelerator->name);
        return 0;
    }
    rc = find_network(p, row->network, &row->on, err);
    return rc ? rc : find_network(p, row->collective, &row->collectives_on, err);
}

static bool together(const rlt_train_row *a, const rlt_train_row *b)
{
    return a->machine == b->machine && strcmp(a->training.stack, b->training.stack) == 0 &&
           strcmp(a->family, b->family) == 0;
}

/* Returns true if a row tests a dispatcher of experts' tokens, whose constants no fit here changes. */
static bool tests_dispatcher(const rlt_train_row *r)
{
    return *r->dispatcher && (r->training.expert_overlap || strcmp(r->training.dispatcher, "alltoall") != 0);
}

/* Numbers the groups of rows, and weighs the rows by the sizes of their groups. */
static void group_rows(rlt_train_rows *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        rlt_train_row *row = &t->rows[i];
        double rows = 0;
        if (*row->reason || row->group != RLT_NONE)
            continue;
        for (uint32_t k = i; k < t->n; k++)
            rows += !*t->rows[k].reason && together(&t->rows[k], row) && !tests_dispatcher(&t->rows[k]);
        for (uint32_t k = i; k < t->n; k++)
            if (!*t->rows[k].reason && together(&t->rows[k], row)) {
                t->rows[k].group = n;
                t->rows[k].weight = tests_dispatcher(&t->rows[k]) ? 0 : pow(rows, -0.6);
            }
        n++;
    }
}

int rlt_train_predictor_open(rlt_train_rows *t, rlt_train_predictor **out, rlt_error *err)
{
    rlt_train_predictor *p = calloc(1, sizeof *p);
    int rc = p ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < t->n && !rc; i++)
        if (!*t->rows[i].reason) {
            if ((rc = prepare_row(p, &t->rows[i], err))) {
                char line[32];
                snprintf(line, sizeof line, "line %u", t->rows[i].line);
                rlt_error_prefix(err, line);
            }
            t->covered += !rc && !*t->rows[i].reason;
        }
    if (rc) {
        rlt_train_predictor_free(p);
        return rc;
    }
    group_rows(t);
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
    for (uint32_t i = 0; i < p->n_machines; i++)
        free(p->machines[i]);
    free(p->machines);
    free(p->names);
    free(p);
}

static bool has_generation(const rlt_train_predictor *p, const char *generation)
{
    for (uint32_t i = 0; *generation && i < p->n_machines; i++)
        if (strcmp(p->machines[i]->generation, generation) == 0)
            return true;
    return false;
}

int rlt_train_predictor_relatives(rlt_train_predictor *p, rlt_error *err)
{
    static const char *const endings[] = {".json", NULL};
    rlt_dirs dirs = rlt_accelerator_dirs();
    rlt_found found;
    rlt_accelerator *a = malloc(sizeof *a);
    uint32_t index;
    int rc = rlt_find_all(dirs.list, endings, &found, err);
    if (!rc && !a)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < found.n && !rc; i++)
        if (!(rc = rlt_find_accelerator(found.names[i], a, err)) && has_generation(p, a->generation))
            rc = find_machine(p, a->name, &index, err);
    rlt_find_free(&found);
    free(a);
    return rc;
}

rlt_accelerator *rlt_train_machine(rlt_train_predictor *p, uint32_t i)
{
    return i < p->n_machines ? p->machines[i] : NULL;
}

const char *rlt_train_machine_spec(const rlt_train_predictor *p, uint32_t i)
{
    return i < p->n_machines ? p->names[i] : NULL;
}

static int simulate(const rlt_training *t, network *net, network *other, double *iteration_s, rlt_error *err)
{
    rlt_program *program = NULL;
    rlt_placement where = {0};
    rlt_replay *replay = NULL;
    rlt_replay_options how = net->how;
    how.overlap_slowdown = t->accelerator->overlap_slowdown;
    int rc = rlt_training_fold(t, RLT_FOLD_STAGES, &other->how, other->alone, &program, &where, err);
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
    network *net = p->networks[row->on], *other = p->networks[row->collectives_on];
    uint32_t pp = t.size[RLT_AXIS_PP], m = rlt_training_microbatches(&t);
    uint64_t each = t.batch / m; /* samples of one microbatch, over all pipelines */
    uint32_t some = 2 * pp, more = pp;
    double first, second;
    t.model = &row->shape;
    t.accelerator = p->machines[row->machine];
    if (!quick || m <= some + more)
        return simulate(&t, net, other, iteration_s, err);
    /* Extrapolates: in a full pipeline each further pp microbatches take equal time. */
    t.batch = each * some;
    int rc = simulate(&t, net, other, &first, err);
    t.batch = each * (some + more);
    if (!rc && !(rc = simulate(&t, net, other, &second, err)))
        *iteration_s = first + (second - first) / more * (m - some);
    return rc;
}
