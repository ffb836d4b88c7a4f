/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout as the command that runs it, and as an experiment of the same settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/watch.h"
#include "tools/base/interrupt.h"
#include "tools/base/shell.h"
#include "tools/plan/plan.h"
#include "tools/plan/run_options.h"
#include "workload/experiment/experiment.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/plan/plan.h"
#include "workload/setup/settings.h"

enum { MAX_SETTINGS = 256 };

/* Settings "NAME=VALUE" of a run, owned. */
typedef struct settings {
    char *at[MAX_SETTINGS];
    uint32_t n;
} settings;

static int add(settings *s, const char *name, const char *value, rlt_error *err)
{
    size_t size = strlen(name) + (value ? strlen(value) : 0) + 2;
    if (s->n == MAX_SETTINGS)
        return rlt_fail(err, RLT_ERANGE, NULL, "more than %d options", MAX_SETTINGS);
    char *text = malloc(size);
    if (!text)
        return rlt_nomem(err);
    snprintf(text, size, "%s%s%s", name, value ? "=" : "", value ? value : "");
    s->at[s->n++] = text;
    return 0;
}

/* Returns true if an axis of the search takes the place of an option. */
static bool is_open(const rlt_option *o)
{
    return strcmp(o->name, "layout") == 0 || strcmp(o->name, "train") == 0;
}

/* Lists the options that shape the run, as they were given, with the layout in place of the axes. */
static int list(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                const rlt_plan_texts *texts, settings *out, rlt_error *err)
{
    const rlt_option *o;
    size_t base;
    int rc = 0;
    for (uint32_t i = 0; !rc && (o = rlt_option_at(args->groups, i, &base)); i++) {
        if (!args->given[i] || !rlt_plan_of_the_run(o) || is_open(o))
            continue;
        if (o->kind == RLT_PARAM_LIST) {
            const rlt_texts *t = (const rlt_texts *)((const char *)s + base + o->offset);
            for (uint32_t k = 0; k < t->n && !rc; k++)
                rc = add(out, o->name, t->items[k], err);
            continue;
        }
        const char *text = strcmp(o->name, "topology") == 0 ? s->run.sim.topology : args->given[i];
        rc = add(out, o->name, o->kind == RLT_PARAM_FLAG ? NULL : text, err);
    }
    if (!rc)
        rc = add(out, "layout", texts->layout, err);
    if (!rc && texts->train)
        rc = add(out, "train", texts->train, err);
    for (size_t i = 0; i < sizeof l->stated / sizeof *l->stated && !rc; i++)
        if (*l->stated[i])
            rc = add(out, l->stated[i], NULL, err);
    if (!rc && !s->verify)
        rc = add(out, "fold-stages", NULL, err);
    return rc;
}

/* Writes the settings as a command line for a shell. */
static char *write_command(const settings *s)
{
    char *text = NULL;
    size_t length;
    FILE *f = rlt_text_stream(&text, &length);
    if (!f)
        return NULL;
    fputs("ringlet run", f);
    for (uint32_t i = 0; i < s->n; i++) {
        const char *value = strchr(s->at[i], '=');
        fprintf(f, " --%.*s", (int)strcspn(s->at[i], "="), s->at[i]);
        if (!value)
            continue;
        putc(' ', f);
        rlt_put_word(f, value + 1);
    }
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

static double share(const rlt_experiment *e, const char *figure, double of)
{
    double value = 0;
    return rlt_experiment_figure(e, figure, &value) && of > 0 ? value / of : 0;
}

int rlt_plan_run_settings(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                          const rlt_plan_texts *texts, rlt_planned *out, rlt_error *err)
{
    static const char *const causes[] = {"exposed_tp_ps", "exposed_cp_ps", "exposed_ep_ps",
                                         "exposed_dp_ps", "exposed_pp_ps", "exposed_other_ps"};
    settings with = {.n = 0};
    rlt_experiment *e = NULL;
    rlt_watch watch = rlt_interrupt_watcher();
    double time = 0;
    *out = (rlt_planned){.from = l};
    int rc = list(l, s, args, texts, &with, err);
    if (!rc && !(out->command = write_command(&with)))
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_experiment_create(NULL, (const char *const *)with.at, with.n, &e, err);
    if (!rc && !(rc = rlt_experiment_run(e, &watch, err))) {
        rlt_experiment_figure(e, "time_ps", &time);
        out->time_ps = (rlt_time)time;
        out->mfu = share(e, "model_flops_utilization", 1);
        out->tokens_per_s = share(e, "tokens_per_second", 1);
        out->memory_bytes = share(e, "memory_bytes", 1);
        out->compute = share(e, "compute_ps", time);
        out->host = share(e, "host_ps", time);
        out->bubble = share(e, "bubble_ps", time);
        for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
            out->exposed[i] = share(e, causes[i], time);
    }
    rlt_experiment_free(e);
    for (uint32_t i = 0; i < with.n; i++)
        free(with.at[i]);
    return rc;
}

int rlt_plan_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                 const rlt_layout_point *p, rlt_planned *out, rlt_error *err)
{
    char *layout = NULL, *train = NULL;
    *out = (rlt_planned){.point = p};
    int rc = rlt_layouts_settings(l, p, &layout, &train, err);
    if (!rc)
        rc = rlt_plan_run_settings(l, s, args, &(rlt_plan_texts){layout, train}, out, err);
    free(layout);
    free(train);
    out->point = p;
    if (!rc && s->verify)
        out->whole_ps = out->time_ps;
    if (!rc && !s->verify && out->time_ps != p->time_ps)
        rc = rlt_fail(err, RLT_ECHECK, "plan", "the search took %lld ps, the command %lld",
                      (long long)p->time_ps, (long long)out->time_ps);
    return rc;
}
