/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links that change during the run, and accelerators that fail in a training of many iterations like the
 * simulated ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/network.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/failures.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

/* Returns the accelerators of the training: a folded run simulates fewer. */
static uint32_t accelerators(const rlt_run *r)
{
    return r->folds ? rlt_training_ranks(&r->training) : r->program->n_ranks;
}

/* Estimates. Returns 0, or an error code with the reason why no estimate exists, which is printed as a
 * result. */
static int estimate(const rlt_run *r, rlt_failures_result *out, rlt_error *why)
{
    uint32_t n = rlt_replay_iterations(r->replay);
    double each = (double)rlt_replay_time(r->replay) * 1e-12 / (n ? n : 1);
    return rlt_failures_estimate(&r->faults.failures, accelerators(r),
                                 each * (double)r->settings->faults.iterations, r->settings->faults.seed, out,
                                 why);
}

/* Formats seconds for people, from seconds to years. */
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
            (unsigned long long)r->settings->faults.iterations, span(a, sizeof a, f.work_s), accelerators(r),
            span(b, sizeof b, f.mtbf_s));
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
    rlt_jw_u64(w, "accelerators", accelerators(r));
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

/* Returns the link of an event as the user wrote it, in "5ms:acc3=0.5". */
static char *link_of(const char *text, char *buffer, size_t size)
{
    const char *colon = strchr(text, ':'), *equals = strrchr(text, '=');
    bool whole = colon && equals && equals > colon;
    snprintf(buffer, size, "%.*s", whole ? (int)(equals - colon - 1) : 0, whole ? colon + 1 : "");
    return buffer;
}

void rlt_link_events_table(const rlt_run *r, FILE *out)
{
    for (uint32_t i = 0; i < r->faults.n_link_events; i++) {
        const rlt_link_event *e = &r->faults.link_events[i];
        char when[32], link[300], what[80] = "fails: its traffic takes another route or waits";
        if (e->factor > 0)
            snprintf(what, sizeof what, "has %.4g times the bandwidth that it was built with", e->factor);
        fprintf(out, "link event at %s: %s (%u link%s) %s%s\n",
                rlt_format_duration(when, sizeof when, e->when_ps),
                link_of(r->settings->faults.link_event.items[i], link, sizeof link), e->n, rlt_s(e->n), what,
                e->when_ps > rlt_replay_time(r->replay)
                    ? "; this is after the end of the run, so nothing happened"
                    : "");
    }
}

int rlt_unlost_table(const rlt_run *r, FILE *out, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    for (uint32_t i = 0; net && i < r->setup.packet.lose.n; i++) {
        const char *name = r->setup.packet.lose.items[i].name;
        uint64_t number = r->setup.packet.lose.items[i].number;
        uint32_t *links, n;
        int rc = rlt_topology_find_links(r->setup.topology, name, &links, &n, err);
        if (rc)
            return rc;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t carried = rlt_usage_link(net->usage, links[k]).messages;
            if (carried < number)
                fprintf(out, "lose=%s:%llu: link %u carried %llu packet%s, so nothing was lost\n", name,
                        (unsigned long long)number, links[k], (unsigned long long)carried, rlt_s(carried));
        }
        free(links);
    }
    return 0;
}

void rlt_link_events_json(const rlt_run *r, rlt_jw *w)
{
    if (!r->faults.n_link_events)
        return;
    rlt_jw_array(w, "link_events");
    for (uint32_t i = 0; i < r->faults.n_link_events; i++) {
        const rlt_link_event *e = &r->faults.link_events[i];
        char link[300];
        rlt_jw_object(w, NULL);
        rlt_jw_i64(w, "at_ps", e->when_ps);
        rlt_jw_string(w, "link", link_of(r->settings->faults.link_event.items[i], link, sizeof link));
        rlt_jw_u64(w, "links_changed", e->n);
        rlt_jw_double(w, "bandwidth_factor", e->factor, 6);
        rlt_jw_bool(w, "happened", e->when_ps <= rlt_replay_time(r->replay));
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}
