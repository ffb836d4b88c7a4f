/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `--strategy daso:...`: a whole training by DASO and by Horovod. Each distinct epoch is replayed. Layers
 * take the times of the accelerator, or their shares of `batch_time`, the time of a measured batch.
 */
#include "workload/experiment/run/daso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/daso/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

bool rlt_run_is_daso(const rlt_run_settings *s)
{
    return s->strategy && strncmp(s->strategy, "daso", 4) == 0 && strchr(":", s->strategy[4]);
}

static const rlt_param parameters[] = {
    {"batch_time", .kind = RLT_PARAM_DURATION, RLT_FIELD(rlt_daso_case, batch_ps), .min = 1,
     .usual = "computed for the accelerator",
     .help = "measured compute time of a batch, forward and backward, divided among the layers"},
    {0}};

const rlt_param *rlt_daso_case_parameters(void)
{
    return parameters;
}

/* Returns the next setting. The commas of loss=START,RATIO,FLOOR do not separate settings. */
static const char *next_setting(const char **list, size_t *length)
{
    const char *item = rlt_next_item(list, ',', length);
    while (item && strncmp(item, "loss=", 5) == 0 && *list && !memchr(*list, '=', strcspn(*list, ","))) {
        size_t more;
        const char *next = rlt_next_item(list, ',', &more);
        *length = (size_t)(next - item) + more;
    }
    return item;
}

static int read_settings(rlt_daso_case *r, rlt_error *err)
{
    const char *list = strchr(r->settings->strategy, ':'), *item;
    size_t length;
    int rc = 0;
    bool nodes = false;
    r->daso = rlt_daso_default();
    list = list ? list + 1 : NULL;
    if ((rc = rlt_names_once(list, err)))
        rlt_error_prefix(err, "--strategy daso");
    while (!rc && list && (item = next_setting(&list, &length))) {
        char setting[256], name[64];
        const char *value;
        snprintf(setting, sizeof setting, "%.*s", (int)(length < 255 ? length : 255), item);
        if ((rc = rlt_split_setting(setting, name, sizeof name, &value, "--strategy", err)))
            return rc;
        nodes |= strcmp(name, "nodes") == 0;
        const rlt_param *own = rlt_params_find(parameters, name);
        rc = own ? rlt_param_read(own, r, value, NULL, err) : rlt_daso_set(&r->daso, name, value, err);
        if (rc) {
            rlt_error_prefix(err, "--strategy daso");
            rc = rc == RLT_EIO || rc == RLT_ENOMEM ? rc : RLT_EUSAGE;
            if (err)
                err->code = rc;
        }
    }
    if (!rc && !nodes)
        r->daso.nodes = r->setup.placement.n / (r->daso.gpus ? r->daso.gpus : 1);
    return rc;
}

/* Finds the time of each layer. */
static int find_times(rlt_daso_case *r, rlt_error *err)
{
    uint32_t n = r->model.n_layers;
    rlt_training t = rlt_training_default();
    int rc;
    r->forward_ps = calloc(n, sizeof *r->forward_ps);
    r->backward_ps = calloc(n, sizeof *r->backward_ps);
    if (!r->forward_ps || !r->backward_ps)
        return rlt_nomem(err);
    if (r->batch_ps > 0) {
        rlt_daso_spread(&r->model, r->batch_ps, r->forward_ps, r->backward_ps);
        return 0;
    }
    t.model = &r->model;
    t.accelerator = &r->accelerator;
    t.microbatch = r->daso.batch;
    t.element_bytes = 4;
    memcpy(t.precision, "tf32", sizeof "tf32");
    if ((rc = rlt_training_apply(&t, r->settings->train, "--train", err)) ||
        (rc = rlt_training_plan(&t, 1, err)))
        return rc;
    return rlt_training_layer_times(&t, r->forward_ps, r->backward_ps, err);
}

int rlt_daso_case_load(rlt_daso_case *r, rlt_error *err)
{
    int rc;
    const char *accelerator = r->settings->accelerator;
    if (!r->settings->model)
        return rlt_fail(err, RLT_EUSAGE, "--strategy daso", "needs --model");
    if ((rc = rlt_setup_open(&r->settings->sim, 0, &r->setup, err)) ||
        (rc = rlt_find_accelerator(accelerator ? accelerator : RLT_DEFAULT_ACCELERATOR, &r->accelerator,
                                   err)) ||
        (rc = read_settings(r, err)))
        return rc;
    if ((rc = rlt_model_open(r->settings->model, &r->model, err))) {
        rlt_error_prefix(err, "--model");
        return rc;
    }
    if ((uint64_t)r->daso.nodes * r->daso.gpus > r->setup.placement.n)
        return rlt_fail(err, RLT_EUSAGE, "--strategy daso", "%u nodes of %u GPUs do not fit %u accelerators",
                        r->daso.nodes, r->daso.gpus, r->setup.placement.n);
    return find_times(r, err);
}

int rlt_daso_case_simulate(rlt_daso_case *r, rlt_error *err)
{
    rlt_run network = {.args = r->args, .settings = r->settings, .setup = r->setup};
    rlt_replay_options *o = &network.options;
    rlt_timing *alone = NULL;
    rlt_placement place = r->setup.placement;
    rlt_daso_work w = {.model = &r->model, .forward_ps = r->forward_ps, .backward_ps = r->backward_ps};
    r->result = calloc(1, sizeof *r->result);
    if (!r->result)
        return rlt_nomem(err);
    int rc = rlt_run_network(&network, err);
    place.n = r->daso.nodes * r->daso.gpus;
    o->placement = &place;
    o->host_scale = r->settings->host_scale;
    o->compute_scale = r->settings->compute_scale;
    if (!rc)
        rc = rlt_timing_alone(o, &alone, err);
    o->timing = alone;
    if (!rc)
        rc = rlt_daso_run(&r->daso, &w, o, r->result, err);
    rlt_timing_free(alone);
    free(network.rules);
    return rc;
}

void rlt_daso_case_close(rlt_daso_case *r)
{
    free(r->result);
    free(r->forward_ps);
    free(r->backward_ps);
    rlt_daso_free(&r->daso);
    rlt_model_free(&r->model);
    rlt_setup_free(&r->setup);
}
