/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The public interface: experiments from texts. */
#include "workload/experiment/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "sim/text/tree.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/prepared.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/faults.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/experiment/shared.h"
#include "workload/replay/replay.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"

struct rlt_experiments {
    rlt_shared inputs;
    uint32_t users; /* number of existing experiments */
    bool owned;     /* created by an experiment: freed with the last one */
};

struct rlt_experiment {
    rlt_experiments *all;
    rlt_arena arena;
    rlt_option_texts texts;
    union {
        rlt_run_settings run;
        rlt_coll_settings coll;
    } settings;
    rlt_parsed parsed;
    rlt_prepared prepared;
    rlt_run run; /* for experiments on a workload */
    bool began, ended;
    rlt_outcome outcome;
};

static const rlt_option_group run_groups[] = {
    {"Workload", rlt_workload_options, 0},
    {"Training", rlt_training_options, 0},
    {"Recording", rlt_trace_option_table, offsetof(rlt_run_settings, recording)},
    {"Network", rlt_settings_options, offsetof(rlt_run_settings, sim)},
    {"What if", rlt_what_if_options, 0},
    {"Other traffic", rlt_job_options, offsetof(rlt_run_settings, jobs)},
    {"Faults", rlt_fault_options, offsetof(rlt_run_settings, faults)},
    {"Links", rlt_series_options, offsetof(rlt_run_settings, series_ps)},
    {0}};

static const rlt_option_group coll_groups[] = {
    {"Collective", rlt_coll_options, 0},
    {"Network", rlt_settings_options, offsetof(rlt_coll_settings, sim)},
    {0}};

static const rlt_option_group *const groups_of[] = {
    [RLT_EXPERIMENT_RUN] = run_groups, [RLT_EXPERIMENT_COLL] = coll_groups};

enum { MAX_SETTINGS = 1 << 16 };

int rlt_experiments_create(rlt_experiments **out, rlt_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : rlt_nomem(err);
}

void rlt_experiments_free(rlt_experiments *shared)
{
    if (shared)
        rlt_shared_free(&shared->inputs);
    free(shared);
}

static int add_text(rlt_experiment *e, uint32_t option, const char *value, rlt_error *err)
{
    const char *copy = rlt_arena_strdup(&e->arena, value);
    if (!copy)
        return rlt_nomem(err);
    int rc = rlt_grow(&e->texts.items, &e->texts.capacity, sizeof *e->texts.items, (uint64_t)e->texts.n + 1,
                      MAX_SETTINGS, "settings", err);
    if (!rc)
        e->texts.items[e->texts.n++] = (rlt_option_text){option, copy};
    return rc;
}

/* Copies the name before "=", cut to the length of the longest option. */
static size_t name_of(const char *setting, char name[64])
{
    size_t length = strcspn(setting, "=");
    snprintf(name, 64, "%.*s", (int)(length < 64 ? length : 63), setting);
    return length;
}

static bool has_option(const rlt_option_group *groups, const char *name)
{
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(groups, i, NULL)); i++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* Returns the kind: a setting `collective` makes it an experiment on collectives. */
static rlt_experiment_kind kind_of(const char *const *settings, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char name[64];
        name_of(settings[i], name);
        if (strcmp(name, "collective") == 0)
            return RLT_EXPERIMENT_COLL;
    }
    return RLT_EXPERIMENT_RUN;
}

static int no_such_setting(rlt_experiment_kind kind, const char *name, const char *best, rlt_error *err)
{
    if (kind == RLT_EXPERIMENT_RUN && has_option(coll_groups, name))
        return rlt_fail(err, RLT_EUSAGE, name, "is a setting of a collective: add collective=NAME");
    if (kind == RLT_EXPERIMENT_COLL && has_option(run_groups, name))
        return rlt_fail(err, RLT_EUSAGE, name, "is a setting of a run: drop collective=NAME");
    return rlt_fail(err, RLT_EUSAGE, name, "no such setting%s%s%s", best ? "; did you mean '" : "",
                    best ? best : "", best ? "'?" : "");
}

/* Finds the option and the value of "NAME=VALUE" or "NAME". */
static int find_option(rlt_experiment_kind kind, const char *setting, uint32_t *option, const char **value,
                       rlt_error *err)
{
    char name[64];
    size_t length = name_of(setting, name);
    const rlt_option *o;
    rlt_nearest near = rlt_nearest_to(name);
    for (*option = 0; (o = rlt_option_at(groups_of[kind], *option, NULL)); ++*option) {
        rlt_nearest_try(&near, o->name);
        if (strcmp(o->name, name) != 0)
            continue;
        *value = setting[length] ? setting + length + 1 : "";
        if (!setting[length] && o->kind != RLT_PARAM_FLAG)
            return rlt_fail(err, RLT_EUSAGE, name, "expected NAME=VALUE, got '%s'", setting);
        return 0;
    }
    return no_such_setting(kind, name, near.best, err);
}

static int add_settings(rlt_experiment *e, const char *const *settings, uint32_t n, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        uint32_t option = 0;
        const char *value = NULL;
        rc = find_option(e->prepared.kind, settings[i], &option, &value, err);
        if (!rc)
            rc = add_text(e, option, value, err);
    }
    return rc;
}

static int load(rlt_experiment *e, rlt_error *err)
{
    const rlt_run_settings *s = &e->settings.run;
    rlt_experiment_kind kind = e->prepared.kind;
    int rc = rlt_options_fill(groups_of[kind], e->texts.items, e->texts.n, &e->settings, &e->parsed, err);
    if (rc)
        return rc;
    if (kind == RLT_EXPERIMENT_RUN && (rlt_run_is_daso(s) || strcmp(s->timing, "loggops") == 0))
        return rlt_fail(
            err, RLT_EUNSUPPORTED, NULL,
            "--strategy daso and --timing loggops have results that an experiment cannot hold: use 'ringlet "
            "run'");
    rc = rlt_prepare(&e->prepared, &e->all->inputs, err);
    return rc || kind == RLT_EXPERIMENT_RUN ? rc : rlt_shared_check_coll(&e->prepared, err);
}

static int create(rlt_experiments *shared, rlt_experiment_kind kind, rlt_experiment **out, rlt_error *err)
{
    rlt_experiments *all = shared ? shared : calloc(1, sizeof *all);
    rlt_experiment *e = *out = all ? calloc(1, sizeof *e) : NULL;
    if (!e) {
        free(shared ? NULL : all);
        return rlt_nomem(err);
    }
    all->owned = all->owned || !shared;
    all->users++;
    e->all = all;
    e->prepared =
        (rlt_prepared){.kind = kind, .texts = &e->texts, .parsed = &e->parsed, .settings = &e->settings};
    return 0;
}

static int finish(rlt_experiment **out, int rc, rlt_error *err)
{
    if (!rc)
        rc = load(*out, err);
    if (rc) {
        rlt_experiment_free(*out);
        *out = NULL;
    }
    return rc;
}

int rlt_experiment_create(rlt_experiments *shared, const char *const *settings, uint32_t n,
                          rlt_experiment **out, rlt_error *err)
{
    int rc = create(shared, kind_of(settings, n), out, err);
    return rc ? rc : finish(out, add_settings(*out, settings, n, err), err);
}

int rlt_experiment_vary(const rlt_experiment *from, const char *const *settings, uint32_t n,
                        rlt_experiment **out, rlt_error *err)
{
    int rc = create(from->all, from->prepared.kind, out, err);
    if (rc)
        return rc;
    rc = add_settings(*out, settings, n, err);
    uint32_t changed = (*out)->texts.n;
    for (uint32_t i = 0; i < from->texts.n && !rc; i++) {
        uint32_t k = 0;
        while (k < changed && (*out)->texts.items[k].option != from->texts.items[i].option)
            k++;
        if (k == changed)
            rc = add_text(*out, from->texts.items[i].option, from->texts.items[i].text, err);
    }
    return finish(out, rc, err);
}

int rlt_experiment_run(rlt_experiment *e, const rlt_watch *watch, rlt_error *err)
{
    if (e->began)
        return rlt_fail(err, RLT_EUSAGE, NULL,
                        "an experiment runs once: make another with rlt_experiment_vary");
    e->began = true;
    int rc = rlt_prepared_run(&e->prepared, watch, RLT_FIGURE_LINKS_NONE, &e->run, &e->outcome, err);
    e->ended = rc == 0;
    return rc;
}

void rlt_experiment_free(rlt_experiment *e)
{
    if (!e)
        return;
    if (e->began && e->prepared.kind == RLT_EXPERIMENT_RUN)
        rlt_shared_run_end(e->prepared.work, &e->run);
    rlt_prepared_end(&e->prepared);
    if (--e->all->users == 0 && e->all->owned)
        rlt_experiments_free(e->all);
    rlt_outcome_free(&e->outcome);
    rlt_parsed_free(&e->parsed);
    free(e->texts.items);
    rlt_arena_free(&e->arena);
    free(e);
}

uint32_t rlt_experiment_iterations(const rlt_experiment *e)
{
    return e->ended && e->run.replay ? rlt_replay_iterations(e->run.replay) : 0;
}

rlt_time rlt_experiment_iteration_ps(const rlt_experiment *e, uint32_t i)
{
    return rlt_replay_iteration_ps(e->run.replay, i);
}

bool rlt_experiment_figure(const rlt_experiment *e, const char *name, double *value)
{
    rlt_figure f = rlt_figure_find(name, NULL);
    if (f == RLT_FIGURES || !e->outcome.there[f] || rlt_figure_infos[f].kind == RLT_FIG_TEXT)
        return false;
    *value = rlt_figure_infos[f].kind == RLT_FIG_REAL ? e->outcome.real[f] : (double)e->outcome.integer[f];
    return true;
}
