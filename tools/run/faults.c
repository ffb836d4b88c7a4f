/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options for what disturbs a run. */
#include "tools/run/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "tools/run/run.h"

#define AT(field) .offset = offsetof(rlt_fault_settings, field)
const rlt_option rlt_fault_options[] = {
    {"link-event", 0, RLT_OPT_LIST, "TIME:LINK=X",
     "At this time the link gets X times the bandwidth it was built with: 5ms:acc3=0.5; 0: it fails, and "
     "what "
     "would cross it goes another way or waits; 1: as built. LINK as in --link-scale. Network flow: what is "
     "under way sees it too; alpha-beta: messages sent afterwards; packet: packets sent afterwards, and what "
     "is "
     "on a link that fails is lost. May be repeated.",
     AT(link_event)},
    {"noise", 0, RLT_OPT_LIST, "KIND:NAME=X,...",
     "A random factor on the durations of each rank's work in each step. lognormal:cv=0.1 has mean 1; "
     "markov:slow=2,enter=0.01,leave=0.2 is 2 while a rank is slow, which it becomes and ceases to be with "
     "these probabilities from one step to the next. on=host or on=both: also of host work. May be repeated.",
     AT(noise)},
    {"failures", 0, RLT_OPT_TEXT, "NAME=TIME,...",
     "What becomes of a training run of --iterations when accelerators fail: each once in mtbf=1000h on "
     "average, "
     "a checkpoint of checkpoint=60s after each interval=1h of work (default: the best there is), and "
     "restart=5min after a failure, from the last checkpoint.",
     AT(failures)},
    {"iterations", 0, RLT_OPT_COUNT, "N", "Iterations of the whole training run, for --failures.",
     AT(iterations), .min = 1},
    {"seed", 0, RLT_OPT_COUNT, "N",
     "Of what is random here; packets have a seed of their own (--set seed=N).", AT(seed), .preset = "1"},
    {0}};
#undef AT

/* What parsers of values refuse on the command line is wrong use. */
static int as_usage(int rc, const char *option, rlt_error *err)
{
    if (rc == 0 || rc == RLT_ENOMEM)
        return rc;
    rlt_error_prefix(err, option);
    if (err)
        err->code = RLT_EUSAGE;
    return RLT_EUSAGE;
}

/* "5ms:acc3=0.5" */
static int read_event(const char *text, const rlt_topology *t, rlt_link_event *e, rlt_error *err)
{
    char time[40], which[300];
    const char *colon = strchr(text, ':'), *equals = strrchr(text, '=');
    if (!colon || !equals || equals < colon || (size_t)(colon - text) >= sizeof time ||
        (size_t)(equals - colon) > sizeof which)
        return rlt_fail(err, RLT_EUSAGE, NULL, "expected TIME:LINK=X, such as 5ms:acc3=0.5, got '%.200s'",
                        text);
    snprintf(time, sizeof time, "%.*s", (int)(colon - text), text);
    snprintf(which, sizeof which, "%.*s", (int)(equals - colon - 1), colon + 1);
    int rc = rlt_parse_duration(time, &e->when_ps, NULL, err);
    if (!rc)
        rc = rlt_parse_number(equals + 1, 0, &e->factor, which, err);
    if (!rc && e->factor > 1e6)
        rc = rlt_fail(err, RLT_EUSAGE, which, "expected a factor of at most 1e6");
    uint32_t *links = NULL;
    if (!rc)
        rc = rlt_topology_find_links(t, which, &links, &e->n, err);
    e->links = links;
    return rc;
}

static int read_events(const rlt_fault_settings *s, const rlt_topology *t, rlt_faults *f, rlt_error *err)
{
    int rc = 0;
    f->link_events = calloc((size_t)s->link_event.n + 1, sizeof *f->link_events);
    if (!f->link_events)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < s->link_event.n && !rc; i++) {
        rc = read_event(s->link_event.items[i], t, &f->link_events[i], err);
        f->n_link_events++;
    }
    return as_usage(rc, "--link-event", err);
}

static int read_noise(const rlt_fault_settings *s, rlt_faults *f, rlt_error *err)
{
    int rc = 0;
    f->noise = calloc((size_t)s->noise.n + 1, sizeof *f->noise);
    if (!f->noise)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < s->noise.n && !rc; i++)
        rc = rlt_noise_parse(s->noise.items[i], &f->noise[f->n_noise++], err);
    return as_usage(rc, "--noise", err);
}

static int read_failures(const rlt_fault_settings *s, rlt_faults *f, rlt_error *err)
{
    if (!s->failures && s->iterations)
        return rlt_fail(err, RLT_EUSAGE, "--iterations", "goes with --failures");
    if (!s->failures)
        return 0;
    if (!s->iterations)
        return rlt_fail(err, RLT_EUSAGE, "--failures", "needs --iterations");
    f->fails = true;
    return as_usage(rlt_failures_parse(s->failures, &f->failures, err), "--failures", err);
}

int rlt_faults_open(const rlt_fault_settings *s, rlt_replay_options *o, rlt_faults *f, rlt_error *err)
{
    int rc = read_events(s, o->topology, f, err);
    if (!rc)
        rc = read_noise(s, f, err);
    if (!rc)
        rc = read_failures(s, f, err);
    if (!rc && o->timing && f->n_link_events)
        rc = rlt_fail(err, RLT_EUSAGE, "--link-event", "--timing %s has no links", o->timing->name);
    o->link_events = f->link_events;
    o->n_link_events = f->n_link_events;
    o->noise = f->noise;
    o->n_noise = f->n_noise;
    o->seed = s->seed;
    return rc;
}

void rlt_faults_free(rlt_faults *f)
{
    for (uint32_t i = 0; i < f->n_link_events; i++)
        free((void *)(uintptr_t)f->link_events[i].links);
    free(f->link_events);
    free(f->noise);
}

/* 0; or why there is nothing to estimate, which is an answer too. */
static int estimate(const rlt_run *r, rlt_failures_result *out, rlt_error *why)
{
    uint32_t n = rlt_replay_iterations(r->replay);
    double each = (double)rlt_replay_time(r->replay) * 1e-12 / (n ? n : 1);
    return rlt_failures_estimate(&r->faults.failures, r->program->n_ranks,
                                 each * (double)r->settings->faults.iterations, r->settings->faults.seed, out,
                                 why);
}

/* Seconds for people, of any length. */
static const char *span(char *buffer, size_t size, double s)
{
    const double units[] = {86400, 3600, 60, 1};
    const char *const names[] = {"days", "h", "min", "s"};
    int i = 0;
    while (i < 3 && s < 2 * units[i])
        i++;
    snprintf(buffer, size, "%.4g %s", s / units[i], names[i]);
    return buffer;
}

void rlt_failures_table(const rlt_run *r, FILE *out)
{
    char a[32], b[32], c[32];
    rlt_failures_result f;
    rlt_error why = {0};
    if (!r->faults.fails || r->partial)
        return;
    rlt_heading(out, "\nfailures");
    if (estimate(r, &f, &why)) {
        fprintf(out, "%s\n", why.what);
        return;
    }
    fprintf(out, "%llu iterations take %s without; one of %u accelerators fails every %s\n",
            (unsigned long long)r->settings->faults.iterations, span(a, sizeof a, f.work_s),
            r->program->n_ranks, span(b, sizeof b, f.mtbf_s));
    fprintf(out, "a checkpoint after each %s of work (best: %s)\n", span(a, sizeof a, f.interval_s),
            span(b, sizeof b, f.best_s));
    fprintf(out, "expected      %s (Daly; first order %s), goodput %.2f %%\n",
            span(a, sizeof a, f.expected_s), span(b, sizeof b, f.first_order_s),
            100 * f.work_s / f.expected_s);
    if (f.trials == 0) {
        fprintf(out, "too many failures to draw timelines\n");
        return;
    }
    fprintf(out, "%u timelines %s +- %s, %.4g failures; checkpoints %s", f.trials,
            span(a, sizeof a, f.mean_s), span(b, sizeof b, f.error_s), f.failures,
            span(c, sizeof c, f.checkpoint_s));
    fprintf(out, ", work done again %s, restarts %s\n", span(a, sizeof a, f.lost_s),
            span(b, sizeof b, f.restart_s));
}

void rlt_failures_json(const rlt_run *r, rlt_jw *w)
{
    rlt_failures_result f;
    rlt_error why = {0};
    if (!r->faults.fails || r->partial)
        return;
    rlt_jw_object(w, "failures");
    if (estimate(r, &f, &why)) {
        rlt_jw_string(w, "impossible", why.what);
        rlt_jw_end_object(w);
        return;
    }
    rlt_jw_u64(w, "iterations", r->settings->faults.iterations);
    rlt_jw_u64(w, "accelerators", r->program->n_ranks);
    rlt_jw_double(w, "work_s", f.work_s, 6);
    rlt_jw_double(w, "mtbf_s", f.mtbf_s, 6);
    rlt_jw_double(w, "interval_s", f.interval_s, 6);
    rlt_jw_double(w, "best_interval_s", f.best_s, 6);
    rlt_jw_double(w, "expected_s", f.expected_s, 6);
    rlt_jw_double(w, "first_order_s", f.first_order_s, 6);
    rlt_jw_double(w, "goodput", f.work_s / f.expected_s, 6);
    rlt_jw_u64(w, "timelines", f.trials);
    if (f.trials) {
        rlt_jw_double(w, "mean_s", f.mean_s, 6);
        rlt_jw_double(w, "standard_error_s", f.error_s, 6);
        rlt_jw_double(w, "failures", f.failures, 6);
        rlt_jw_double(w, "checkpoint_s", f.checkpoint_s, 6);
        rlt_jw_double(w, "lost_s", f.lost_s, 6);
        rlt_jw_double(w, "restart_s", f.restart_s, 6);
    }
    rlt_jw_end_object(w);
}
