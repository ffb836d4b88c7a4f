/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet run --strategy daso:...`: a whole training by DASO and by Horovod. Each distinct epoch is
 * replayed; layers take what the accelerator takes for them, or what `batch_time` of a measured batch leaves
 * to each.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "tools/base/message.h"
#include "tools/run/run.h"
#include "tools/settings/locate.h"

typedef struct daso_run {
    const rlt_parsed *args;
    const rlt_run_settings *s;
    rlt_setup setup;
    rlt_model model;
    rlt_accelerator accelerator;
    rlt_daso daso;
    rlt_time batch_ps; /* 0: as the accelerator has it */
    rlt_time *forward_ps, *backward_ps;
    rlt_daso_result *result;
} daso_run;

bool rlt_run_is_daso(const rlt_run_settings *s)
{
    return s->strategy && strncmp(s->strategy, "daso", 4) == 0 && strchr(":", s->strategy[4]);
}

/* The next setting; loss=START,RATIO,FLOOR is one. */
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

static int read_settings(daso_run *r, rlt_error *err)
{
    const char *list = strchr(r->s->strategy, ':'), *item;
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
        rc = strcmp(name, "batch_time") == 0 ? rlt_parse_duration(value, &r->batch_ps, name, err)
                                             : rlt_daso_set(&r->daso, name, value, err);
        if (!rc && strcmp(name, "batch_time") == 0 && r->batch_ps == 0)
            rc = rlt_fail(err, RLT_EUSAGE, name, "expected a time above 0, got '%s'", value);
        if (rc) {
            rlt_error_prefix(err, "--strategy daso");
            rc = rc == RLT_EIO || rc == RLT_ENOMEM ? rc : RLT_EUSAGE;
            err->code = rc;
        }
    }
    if (!rc && !nodes)
        r->daso.nodes = r->setup.placement.n / (r->daso.gpus ? r->daso.gpus : 1);
    return rc;
}

/* What each layer takes. */
static int find_times(daso_run *r, rlt_error *err)
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
    if ((rc = rlt_training_apply(&t, r->s->train, "--train", err)) || (rc = rlt_training_plan(&t, 1, err)))
        return rc;
    return rlt_training_layer_times(&t, r->forward_ps, r->backward_ps, err);
}

static int load(daso_run *r, rlt_error *err)
{
    /* Many runs make it up: what is of one has no place. */
    static const char *const taken[] = {
        "model",      "accelerator", "train",  "strategy",      "any-memory", "topology",  "placement",
        "network",    "routing",     "set",    "injection",     "link-scale", "algorithm", "compute-scale",
        "host-scale", "format",      "output", "network-scale", "plot",       "quiet",     NULL};
    int rc = rlt_given_only(r->args, taken, "--strategy daso", err);
    if (rc)
        return rc;
    if (!r->s->model || !r->s->accelerator)
        return rlt_fail(err, RLT_EUSAGE, "--strategy daso", "needs --model and --accelerator");
    if ((rc = rlt_setup_open(&r->s->sim, 0, &r->setup, err)) ||
        (rc = rlt_find_accelerator(r->s->accelerator, &r->accelerator, err)) || (rc = read_settings(r, err)))
        return rc;
    if ((rc = rlt_model_open(r->s->model, &r->model, err))) {
        rlt_error_prefix(err, "--model");
        return rc;
    }
    if ((uint64_t)r->daso.nodes * r->daso.gpus > r->setup.placement.n)
        return rlt_fail(err, RLT_EUSAGE, "--strategy daso", "%u nodes of %u on %u accelerators",
                        r->daso.nodes, r->daso.gpus, r->setup.placement.n);
    return find_times(r, err);
}

static int simulate(daso_run *r, rlt_error *err)
{
    rlt_run network = {.args = r->args, .settings = r->s, .setup = r->setup};
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
    o->host_scale = r->s->host_scale;
    o->compute_scale = r->s->compute_scale;
    if (!rc)
        rc = rlt_timing_alone(o, &alone, err);
    o->timing = alone;
    if (!rc)
        rc = rlt_daso_run(&r->daso, &w, o, r->result, err);
    rlt_timing_free(alone);
    free(network.rules);
    return rc;
}

static const rlt_column columns[] = {
    {"skips", "B", NULL, RLT_COL_COUNT, 4, 0},
    {"local", "L", NULL, RLT_COL_COUNT, 4, 0},
    {"wait", "W", NULL, RLT_COL_COUNT, 4, 0},
    {"epochs", "epochs", NULL, RLT_COL_COUNT, 7, 0},
    {"epoch_ps", "epoch", "us", RLT_COL_TIME, 14, 1},
    {"sends", "syncs", "an epoch", RLT_COL_COUNT, 9, 0},
    {"blocking", "blocking", NULL, RLT_COL_COUNT, 9, 0},
    {"broadcasts", "broadcasts", NULL, RLT_COL_COUNT, 11, 0},
    {"global_bytes", "between nodes", "a group", RLT_COL_SIZE, 14, 0},
};

static void put_rows(const daso_run *r, rlt_table *t)
{
    for (uint32_t i = 0; i < r->result->n_kinds; i++) {
        const rlt_daso_kind *k = &r->result->kinds[i];
        rlt_value v[] = {
            rlt_count(k->phase.skips),   rlt_count(k->phase.local),     rlt_count(k->phase.wait),
            rlt_count(k->epochs),        rlt_ps(k->epoch_ps),           rlt_count(k->sums.sends),
            rlt_count(k->sums.blocking), rlt_count(k->sums.broadcasts), rlt_count(k->sums.global_bytes)};
        rlt_table_row(t, v);
    }
}

static int put_table(const daso_run *r, FILE *out, rlt_error *err)
{
    enum { N = sizeof columns / sizeof *columns };
    const rlt_daso_result *x = r->result;
    char a[32], b[32], line[512];
    rlt_table t;
    rlt_time batch = 0;
    for (uint32_t i = 0; i < r->model.n_layers; i++)
        batch += r->forward_ps[i] + r->backward_ps[i];
    rlt_setup_line(&r->setup, line, sizeof line);
    fprintf(out, "%s on %s, %u nodes of %u; %u epochs of %u batches\n", r->model.name, r->accelerator.name,
            r->daso.nodes, r->daso.gpus, r->daso.epochs, x->batches);
    fprintf(out, "a batch: %u %ss a rank, %s of compute%s\n%s\n\n", r->daso.batch, r->model.sample,
            rlt_format_duration(a, sizeof a, batch),
            r->batch_ps > 0 ? "" : " (predicted; batch_time=273ms sets it)", line);
    rlt_table_begin(&t, RLT_FORMAT_TABLE, columns, N, out, NULL);
    put_rows(r, &t);
    int rc = rlt_table_end(&t, err);
    fprintf(out, "\nDASO     %s\nHorovod  %s (an epoch %s)\nsaved    %.1f %%\n",
            rlt_format_duration(a, sizeof a, x->daso_ps), rlt_format_duration(b, sizeof b, x->horovod_ps),
            rlt_format_duration(line, sizeof line, x->horovod_epoch_ps), 100 * x->saving);
    return rc;
}

static int put_csv(const daso_run *r, FILE *out, rlt_error *err)
{
    rlt_table t;
    rlt_table_begin(&t, RLT_FORMAT_CSV, columns, sizeof columns / sizeof *columns, out, NULL);
    put_rows(r, &t);
    return rlt_table_end(&t, err);
}

static int put_json(const daso_run *r, const char *path, rlt_error *err)
{
    const rlt_daso_result *x = r->result;
    rlt_jw w;
    rlt_table t;
    rlt_document_begin(&w, "run --strategy daso", r->args, &r->setup.inputs);
    rlt_setup_json(&r->setup, &w);
    rlt_jw_i64(&w, "time_ps", x->daso_ps);
    rlt_jw_i64(&w, "horovod_ps", x->horovod_ps);
    rlt_jw_i64(&w, "horovod_epoch_ps", x->horovod_epoch_ps);
    rlt_jw_double(&w, "saving", x->saving, 6);
    rlt_jw_u64(&w, "batches", x->batches);
    rlt_jw_u64(&w, "global_bytes", x->global_bytes);
    rlt_jw_u64(&w, "broadcast_bytes", x->broadcast_bytes);
    rlt_jw_u64(&w, "horovod_bytes", x->horovod_bytes);
    rlt_jw_array(&w, "phases");
    rlt_table_begin(&t, RLT_FORMAT_JSON, columns, sizeof columns / sizeof *columns, NULL, &w);
    put_rows(r, &t);
    int rc = rlt_table_end(&t, err);
    rlt_jw_end_array(&w);
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    return rlt_document_write(&w, path, err);
}

static int report(const daso_run *r, rlt_error *err)
{
    rlt_file f = {0};
    char title[200];
    int rc;
    snprintf(title, sizeof title, "%.60s on %.60s, %u nodes of %u", r->model.name, r->accelerator.name,
             r->daso.nodes, r->daso.gpus);
    if (r->s->plot && (rc = rlt_daso_plot(&r->daso, r->result, title, r->s->plot, err)))
        return rc;
    if (rlt_format_of(r->s->report.format) == RLT_FORMAT_JSON)
        return put_json(r, r->s->report.output, err);
    if ((rc = rlt_file_open(&f, r->s->report.output, err)))
        return rc;
    rc = rlt_format_of(r->s->report.format) == RLT_FORMAT_CSV ? put_csv(r, f.stream, err)
                                                              : put_table(r, f.stream, err);
    if (rc)
        rlt_file_discard(&f);
    return rc ? rc : rlt_file_close(&f, err);
}

int rlt_run_daso(const rlt_parsed *args, const rlt_run_settings *s, rlt_error *err)
{
    daso_run r = {.args = args, .s = s};
    int rc = load(&r, err);
    if (!rc)
        rc = simulate(&r, err);
    if (!rc)
        rc = report(&r, err);
    free(r.result);
    free(r.forward_ps);
    free(r.backward_ps);
    rlt_daso_free(&r.daso);
    rlt_model_free(&r.model);
    rlt_setup_free(&r.setup);
    return rc;
}
