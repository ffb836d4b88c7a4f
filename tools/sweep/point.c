/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of a study, from options to figures. */
#include "tools/sweep/point.h"

#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "net/topology/topology.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/message.h"
#include "tools/coll/single.h"
#include "tools/run/report.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/setup/settings.h"

/* Ends a sweep, whatever the point: it would be otherwise on another machine. */
static bool is_fatal(int rc)
{
    return rc == RLT_ENOMEM || rc == RLT_ECANCELLED;
}

/* Turns a point's error into its row. */
static int settle(rlt_point_job *e, int rc, const rlt_error *why, rlt_error *err)
{
    if (rc == 0)
        return 0;
    e->ready = false;
    if (is_fatal(rc))
        return rlt_fail(err, rc, why->where, "%s", why->what);
    rlt_outcome_fail(&e->outcome, rlt_exit_status(rc), why);
    return 0;
}

int rlt_point_describe(rlt_point_job *e, const rlt_sweep_study *s, uint64_t id, bool *there, rlt_error *err)
{
    rlt_error why = {0};
    e->study = s;
    *there = rlt_sweep_point_at(s, id, &e->point);
    if (!*there)
        return 0;
    int rc = rlt_sweep_options(s, &e->point, &e->arena, &e->texts, &why);
    e->ready = rc == 0;
    rlt_option_key(s->command->options, &e->texts, NULL, true, e->key);
    return settle(e, rc, &why, err);
}

static rlt_settings *sim_of(rlt_point_job *e)
{
    return e->study->command == &rlt_cmd_run ? &((rlt_run_settings *)e->settings)->sim
                                             : rlt_coll_settings_sim(e->settings);
}

static int fill(rlt_point_job *e, rlt_error *err)
{
    const rlt_command *c = e->study->command;
    e->settings = calloc(1, c->settings_size + 1);
    if (!e->settings)
        return rlt_nomem(err);
    sim_of(e)->sets_of_others = e->study->n_axes > 0;
    return rlt_options_fill(c->options, e->texts.items, e->texts.n, e->settings, &e->parsed, err);
}

static int prepare_run(rlt_point_job *e, rlt_sweep_inputs *inputs, rlt_error *err)
{
    const rlt_run_asked *asked = e->settings;
    rlt_run_settings *s = &((rlt_run_asked *)e->settings)->run;
    int rc;
    if (asked->compare || rlt_run_is_daso(s) || strcmp(s->timing, "loggops") == 0)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                        "--compare, --strategy daso and --timing loggops tell more "
                        "than a row: a sweep has none of them");
    if (s->sim.topology &&
        (rc = rlt_shared_net_of(&inputs->shared, e->parsed.groups, &e->texts, &s->sim, &e->net, err)))
        return rc;
    if (!e->net)
        return 0;
    rc = rlt_shared_work_of(&inputs->shared, &e->texts, &e->parsed, s, e->net, &e->work, err);
    return rc || !e->work ? rc : rlt_shared_prime(e->net, e->work, err);
}

static int prepare_coll(rlt_point_job *e, rlt_sweep_inputs *inputs, rlt_error *err)
{
    /* Cuts are the same for any bytes and by any algorithm; protocols have workers and trees of their own. */
    static const char *const not_of_cuts[] = {"bytes",     "network", "routing", "injection",
                                              "algorithm", "set",     NULL};
    uint64_t key[2];
    bool known;
    int rc = rlt_shared_net_of(&inputs->shared, e->parsed.groups, &e->texts, sim_of(e), &e->net, err);
    if (rc)
        return rc;
    const char *names[sizeof not_of_cuts / sizeof *not_of_cuts];
    memcpy(names, not_of_cuts, sizeof names);
    if (rlt_topology_in_networks(e->net->topology) & RLT_CAN_REDUCE)
        names[4] = NULL;
    rlt_option_key(e->parsed.groups, &e->texts, names, true, key);
    rc = rlt_shared_files_of(inputs, &e->texts, &e->parsed, e->settings, e->net, &e->files, err);
    if (!rc)
        rc = rlt_shared_primed(e->net, key[0], &known, err);
    return rc || known ? rc : rlt_coll_prime(&e->parsed, e->settings, err);
}

/* Errors of files as such, whatever else the points change. */
static bool is_of_files(int rc)
{
    return rc == RLT_EIO || rc == RLT_EMALFORMED || rc == RLT_ESCHEMA;
}

static int probe(rlt_point_job *e, rlt_sweep_inputs *inputs, rlt_error *err)
{
    const rlt_sweep_study *s = e->study;
    rlt_error why = {0};
    bool runs = s->command == &rlt_cmd_run;
    if (fill(e, &why))
        return 0;
    rlt_settings *sim = sim_of(e);
    int rc = sim->topology
                 ? rlt_shared_net_of(&inputs->shared, e->parsed.groups, &e->texts, sim, &e->net, &why)
                 : 0;
    if (rc && (!rlt_shared_net_varies(s) || is_fatal(rc)))
        goto fail;
    if (!e->net || (runs ? rlt_shared_work_varies(s) : rlt_shared_files_vary(s)))
        return 0;
    if (runs)
        rc = rlt_shared_work_of(&inputs->shared, &e->texts, &e->parsed, e->settings, e->net, &e->work, &why);
    else
        rc = rlt_shared_files_of(inputs, &e->texts, &e->parsed, e->settings, e->net, &e->files, &why);
    if (rc && (!rlt_shared_net_varies(s) || is_of_files(rc) || is_fatal(rc)))
        goto fail;
    return 0;
fail:
    rlt_fail(err, rc, why.where, "%s", why.what);
    return rc;
}

int rlt_point_probe(const rlt_sweep_study *s, rlt_sweep_inputs *inputs, rlt_error *err)
{
    rlt_point_job e = {0};
    uint64_t id = 0;
    bool there = false;
    int rc = 0;
    while (!there && !rc && id < rlt_sweep_end(s))
        rc = rlt_point_describe(&e, s, id++, &there, err);
    if (!rc && there && e.ready)
        rc = probe(&e, inputs, err);
    rlt_point_free(&e);
    return rc;
}

int rlt_point_prepare(rlt_point_job *e, rlt_sweep_inputs *inputs, rlt_error *err)
{
    rlt_error why = {0};
    if (!e->ready)
        return 0;
    int rc = fill(e, &why);
    if (!rc)
        rc = e->study->command == &rlt_cmd_run ? prepare_run(e, inputs, &why) : prepare_coll(e, inputs, &why);
    return settle(e, rc, &why, err);
}

static int run_run(rlt_point_job *e, rlt_task *job, rlt_error *err)
{
    rlt_watch watch = rlt_task_watcher(job);
    rlt_run r = {.args = &e->parsed, .settings = &((rlt_run_asked *)e->settings)->run, .watch = &watch};
    watch.progress = NULL;
    int rc = rlt_shared_run(e->work, &r, err);
    if (!rc)
        rc = rlt_run_figures(&r, e->study->links, &e->outcome, err);
    rlt_shared_run_end(e->work, &r);
    return rc;
}

int rlt_point_run(rlt_point_job *e, rlt_task *job, rlt_error *err)
{
    rlt_error why = {0};
    if (!e->ready)
        return 0;
    int rc = e->study->command == &rlt_cmd_run ? run_run(e, job, &why) : rlt__point_coll(e, job, &why);
    return settle(e, rc, &why, err);
}

void rlt_point_reset(rlt_point_job *e)
{
    if (e->net)
        e->net->kept.refs--;
    if (e->work)
        e->work->kept.refs--;
    if (e->files)
        e->files->kept.refs--;
    if (e->settings)
        rlt_parsed_free(&e->parsed);
    free(e->settings);
    rlt_outcome_free(&e->outcome);
    rlt_arena_free(&e->arena);
    rlt_option_texts kept = e->texts;
    kept.n = 0;
    *e = (rlt_point_job){.texts = kept};
}

void rlt_point_free(rlt_point_job *e)
{
    rlt_point_reset(e);
    free(e->texts.items);
    *e = (rlt_point_job){0};
}
