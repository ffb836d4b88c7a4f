/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of a study, from options to figures. */
#include "tools/sweep/point.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/map.h"
#include "sim/watch.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/base/message.h"
#include "tools/run/report.h"
#include "workload/experiment/prepared.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/setup/settings.h"
#include "workload/training/training.h"

/* Returns true for errors that end the sweep: they come from this machine, not from the point. */
static bool is_fatal(int rc)
{
    return rc == RLT_ENOMEM || rc == RLT_ECANCELLED;
}

/* Records a point's error in its outcome; a fatal one is returned. */
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
    if (rc) /* the texts are incomplete: they are not those of another point */
        e->key[0] ^= rlt_hash_bytes(why.what, strlen(why.what), 1);
    return settle(e, rc, &why, err);
}

static rlt_experiment_kind kind_of(const rlt_sweep_study *s)
{
    return s->command == &rlt_cmd_run ? RLT_EXPERIMENT_RUN : RLT_EXPERIMENT_COLL;
}

static int fill(rlt_point_job *e, rlt_error *err)
{
    const rlt_command *c = e->study->command;
    e->settings = calloc(1, c->settings_size + 1);
    if (!e->settings)
        return rlt_nomem(err);
    e->prepared = (rlt_prepared){
        .kind = kind_of(e->study), .texts = &e->texts, .parsed = &e->parsed, .settings = e->settings};
    rlt_settings *sim = rlt_prepared_sim(&e->prepared);
    sim->sets_of_others = e->study->n_axes > 0;
    sim->one_network = e->study->one_network;
    return rlt_options_fill(c->options, e->texts.items, e->texts.n, e->settings, &e->parsed, err);
}

/* Refuses kinds of runs whose result does not fit in a row. */
static int check_run(const rlt_run_asked *asked, rlt_error *err)
{
    const rlt_run_settings *s = &asked->run;
    if (asked->compare || rlt_run_is_daso(s) || strcmp(s->timing, "loggops") == 0)
        return rlt_fail(
            err, RLT_EUNSUPPORTED, NULL,
            "a sweep cannot run --compare, --strategy daso or --timing loggops: their results are not rows");
    return 0;
}

/* Returns true if an axis or point changes an option that such inputs are made from. */
static bool any_of(const rlt_sweep_study *s, const rlt_sweep_place *places, uint32_t n,
                   bool (*is_of)(const char *option))
{
    for (uint32_t i = 0; i < n; i++)
        if (is_of(rlt_option_at(s->command->options, places[i].option, NULL)->name))
            return true;
    return false;
}

static bool varies(const rlt_sweep_study *s, bool (*is_of)(const char *option))
{
    bool any = false;
    for (uint32_t i = 0; i < s->n_axes; i++)
        any = any || any_of(s, s->axes[i].places, s->axes[i].n_places, is_of);
    for (uint32_t i = 0; i < s->n_named; i++)
        any = any || any_of(s, s->named[i].places, s->named[i].n, is_of);
    return any;
}

/* Returns true for errors of a file or a name itself, which no other option can mend. */
static bool is_of_files(int rc)
{
    return rc == RLT_EIO || rc == RLT_ENAME || rc == RLT_EMALFORMED || rc == RLT_ESCHEMA;
}

static int probe(rlt_point_job *e, rlt_shared *inputs, rlt_error *err)
{
    const rlt_sweep_study *s = e->study;
    rlt_error why = {0};
    bool net_varies = varies(s, rlt_shared_is_of_net);
    if (fill(e, &why))
        return 0;
    int rc = rlt_prepare_net(&e->prepared, inputs, &why);
    if (rc && (!net_varies || is_fatal(rc)))
        goto fail;
    if (!e->prepared.net ||
        varies(s, kind_of(s) == RLT_EXPERIMENT_RUN ? rlt_shared_is_of_work : rlt_shared_is_of_files))
        return 0;
    rc = rlt_prepare_rest(&e->prepared, inputs, &why);
    if (rc && (!net_varies || is_of_files(rc) || is_fatal(rc)))
        goto fail;
    return 0;
fail:
    rlt_fail(err, rc, why.where, "%s", why.what);
    return rc;
}

int rlt_point_probe(const rlt_sweep_study *s, rlt_shared *inputs, rlt_error *err)
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

/* Writes the reason of a refusal, with N for numbers. */
static void write_reason(const rlt_error *why, char *out, size_t size)
{
    size_t n = 0;
    if (strcmp(why->where, "memory") == 0) {
        snprintf(out, size, "does not fit into the memory");
        return;
    }
    for (const char *p = why->where; *p && n + 3 < size; p++)
        out[n++] = *p;
    if (n) {
        out[n++] = ':';
        out[n++] = ' ';
    }
    for (const char *p = why->what; *p && n + 1 < size;) {
        size_t digits = strspn(p, "0123456789.");
        bool number = isdigit((unsigned char)*p) && (p == why->what || !isalnum((unsigned char)p[-1]));
        out[n++] = number ? 'N' : *p;
        p += number ? digits : 1;
    }
    out[n] = '\0';
}

static int judge(const rlt_point_job *e, char *why, size_t size, rlt_error *err)
{
    const rlt_run_settings *s = &((const rlt_run_asked *)e->settings)->run;
    rlt_model model = {0};
    rlt_accelerator accelerator;
    rlt_training t;
    rlt_error no = {0};
    const rlt_shared_net *net = e->prepared.net;
    rlt_placement where = {.n = net->placed ? net->placement.n : rlt_topology_accelerators(net->topology)};
    int rc = rlt_training_read(s, &model, &accelerator, &t, &no);
    if (!rc && (rc = rlt_training_settle(s, net->topology, &where, &t, &no)))
        write_reason(&no, why, size);
    rlt_placement_free(&where);
    rlt_model_free(&model);
    return is_fatal(rc) ? rlt_fail(err, rc, no.where, "%s", no.what) : 0;
}

int rlt_point_judge(rlt_point_job *e, rlt_shared *inputs, char *why, size_t size, rlt_error *err)
{
    rlt_error no = {0};
    *why = '\0';
    int rc = rlt_sweep_options(e->study, &e->point, &e->arena, &e->texts, &no);
    if (!rc)
        rc = fill(e, &no);
    if (!rc && ((const rlt_run_asked *)e->settings)->run.model)
        rc = rlt_prepare_net(&e->prepared, inputs, &no);
    if (is_fatal(rc))
        return rlt_fail(err, rc, no.where, "%s", no.what);
    return rc || !e->prepared.net ? 0 : judge(e, why, size, err);
}

int rlt_point_prepare(rlt_point_job *e, rlt_shared *inputs, rlt_error *err)
{
    rlt_error why = {0};
    if (!e->ready)
        return 0;
    int rc = fill(e, &why);
    if (!rc && e->prepared.kind == RLT_EXPERIMENT_RUN)
        rc = check_run(e->settings, &why);
    if (!rc)
        rc = rlt_prepare(&e->prepared, inputs, &why);
    return settle(e, rc, &why, err);
}

int rlt_point_run(rlt_point_job *e, rlt_task *job, rlt_error *err)
{
    rlt_error why = {0};
    rlt_watch watch = rlt_task_watcher(job);
    if (!e->ready)
        return 0;
    if (e->prepared.kind == RLT_EXPERIMENT_RUN)
        watch.progress = NULL;
    int rc = rlt_prepared_run(&e->prepared, &watch, e->study->links, NULL, &e->outcome, &why);
    return settle(e, rc, &why, err);
}

void rlt_point_reset(rlt_point_job *e)
{
    rlt_prepared_end(&e->prepared);
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
