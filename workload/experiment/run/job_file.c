/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload from a file of options. */
#include "workload/experiment/run/job_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/topology/topology.h"
#include "sim/text/config.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/mapping.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"
#include "workload/training/training.h"

static const rlt_option_group groups[] = {
    {"Workload", rlt_workload_options, 0},
    {"Training", rlt_training_options, 0},
    {"Recording", rlt_trace_option_table, offsetof(rlt_run_settings, recording)},
    {0}};

bool rlt_is_job_file(const char *path)
{
    const rlt_reader *reader;
    rlt_error ignored = {0};
    struct stat st;
    size_t n = strlen(path);
    if (n < 5 || strcmp(path + n - 5, ".json") != 0 || stat(path, &st) || !S_ISREG(st.st_mode))
        return false;
    return rlt_reader_for(path, &reader, &ignored) != 0;
}

/* Chooses the order for the job alone on its ranks, as for the command's own training. */
static int choose_order(rlt_training *t, rlt_run *run, const rlt_placement *where, rlt_error *err)
{
    rlt_mapping found;
    int rc = rlt_mapping_options(run, t->accelerator, err);
    if (rc)
        return rc;
    rlt_replay_options how = run->options;
    how.placement = where;
    return rlt_mapping_choose(t, &how, false, run->watch, &found, err);
}

int rlt_job_train(const rlt_run_settings *s, rlt_run *run, const rlt_placement *on, rlt_program **out,
                  double *overlap_slowdown, rlt_error *err)
{
    rlt_model model = {0};
    rlt_accelerator accelerator;
    rlt_training t;
    rlt_placement where = {.n = on->n};
    int rc = rlt_training_open(s, NULL, &where, &model, &accelerator, &t, err);
    if (!rc && t.order_auto)
        rc = choose_order(&t, run, on, err);
    if (!rc) {
        *overlap_slowdown = accelerator.overlap_slowdown;
        rc = rlt_training_program(&t, out, err);
    }
    rlt_model_free(&model);
    return rc;
}

static int read_trace(const rlt_run_settings *s, const rlt_topology *t, rlt_program **out, rlt_error *err)
{
    rlt_read_options o;
    rlt_replicate *replicate = NULL;
    int rc = rlt_trace_read_options(&s->recording, &o, &replicate, err);
    o.keep_waits = s->keep_waits;
    rlt_trace_dimensions(t, &o);
    if (!rc)
        rc = rlt_workload_trace(s, NULL, 0, &o, out, err);
    free(replicate);
    return rc;
}

static int open_workload(const rlt_run_settings *s, rlt_run *run, const rlt_placement *on, rlt_program **out,
                         double *overlap_slowdown, rlt_error *err)
{
    int rc = rlt_workload_check(s, NULL, err);
    bool folds = s->fold || s->fold_stages;
    if (!rc && (folds || rlt_run_is_daso(s)))
        rc = rlt_fail(err, RLT_EUSAGE,
                      s->fold          ? "--fold"
                      : s->fold_stages ? "--fold-stages"
                                       : "--strategy",
                      "%s cannot be a job: run it alone", folds ? "a folded training" : "daso");
    if (!rc && s->map)
        rc = rlt_fail(err, RLT_EUSAGE, "--map",
                      "does not go with a job: list the accelerators of the job after the @");
    if (rc)
        return rc;
    rc = s->model ? rlt_job_train(s, run, on, out, overlap_slowdown, err)
                  : read_trace(s, run->setup.topology, out, err);
    return rc ? rc : rlt_trace_rescale(&s->recording, out, err);
}

/* Checks a workload as far as possible without its ranks. */
static int check_workload(const rlt_run_settings *s, rlt_error *err)
{
    rlt_model model = {0};
    rlt_accelerator accelerator;
    rlt_training t;
    int rc = rlt_workload_check(s, NULL, err);
    if (!rc && s->model && !rlt_run_is_daso(s))
        rc = rlt_training_read(s, &model, &accelerator, &t, err);
    else if (!rc && s->accelerator)
        rc = rlt_find_accelerator(s->accelerator, &accelerator, err);
    rlt_model_free(&model);
    return rc;
}

static int tell_place(const rlt_config *c, const rlt_parsed *p, const char *path, int rc, rlt_error *err)
{
    if ((rc = rlt_config_locate(c, p, rc, err)) && err && strncmp(err->where, path, strlen(path)) != 0)
        rlt_error_prefix(err, path);
    if (rc == RLT_EUSAGE)
        rc = err ? (err->code = RLT_ESCHEMA) : RLT_ESCHEMA;
    return rc;
}

int rlt_job_file_check(const char *path, const rlt_option_group *whole, size_t size, rlt_error *err)
{
    rlt_config config;
    rlt_parsed parsed = {0};
    rlt_topology *t = NULL;
    rlt_run_settings *s = calloc(1, whole ? size : sizeof *s);
    int rc =
        rlt_config_file(&config, whole ? whole : groups, whole ? "of this command" : "of a job", path, err);
    if (!rc && !s)
        rc = rlt_nomem(err);
    if (!rc) {
        rc = rlt_config_fill(&config, whole ? whole : groups, s, &parsed, err);
        if (!rc && whole && s->sim.topology && (rc = rlt_find_topology(s->sim.topology, &t, err)))
            rlt_error_prefix(err, "--topology");
        if (!rc)
            rc = check_workload(s, err);
        rc = rc ? tell_place(&config, &parsed, path, rc, err) : 0;
    }
    rlt_topology_free(t);
    rlt_parsed_free(&parsed);
    rlt_config_free(&config);
    free(s);
    return rc;
}

int rlt_job_file_open(const char *path, rlt_run *run, const rlt_placement *on, rlt_program **out,
                      double *overlap_slowdown, rlt_error *err)
{
    rlt_config config;
    rlt_parsed parsed = {0};
    rlt_run_settings *s = calloc(1, sizeof *s);
    int rc = rlt_config_file(&config, groups, "of a job", path, err);
    if (!rc && !s)
        rc = rlt_nomem(err);
    if (!rc) {
        if (!(rc = rlt_config_fill(&config, groups, s, &parsed, err)) &&
            !(rc = rlt_config_names(&config, &parsed, err)))
            rc = open_workload(s, run, on, out, overlap_slowdown, err);
        rc = rc ? tell_place(&config, &parsed, path, rc, err) : 0;
    }
    rlt_parsed_free(&parsed);
    rlt_config_free(&config);
    free(s);
    return rc;
}
