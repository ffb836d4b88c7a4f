/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options for disturbances of a run. */
#include "workload/experiment/run/faults.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/units.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/failures.h"
#include "workload/replay/noise.h"

#define AT(field) .offset = offsetof(rlt_fault_settings, field)
const rlt_option rlt_fault_options[] = {
    {"link-event", 0, RLT_PARAM_LIST, "TIME:LINK=X",
     "Set the bandwidth of LINK to X times its built value from TIME on, such as 5ms:acc3=0.5. 0: the "
     "link fails; its traffic takes another route or waits. 1: the built value. LINK as in --link-scale. "
     "Network flow: transfers under way change too; alpha-beta: messages sent afterwards change; packet: "
     "packets sent afterwards change, and a link that fails loses its packets. May be repeated.",
     AT(link_event)},
    {"noise", 0, RLT_PARAM_LIST, "KIND:NAME=X,...",
     "Multiply the durations of each rank's compute by a random factor per step. lognormal:cv=0.1: the "
     "factor has mean 1. markov:slow=2,enter=0.01,leave=0.2: the factor is 2 while a rank is slow; from "
     "one step to the next, a rank becomes slow with probability enter and recovers with probability "
     "leave. operation:cv=0.1,name=gemm: the factor is drawn for each operation whose name contains gemm. "
     "measured:name=gemm: each such operation takes a duration as its name varies from step to step in the "
     "recording. Without name=, all vary. on=host: host work varies instead of compute; on=both: both vary. "
     "May be repeated.",
     AT(noise)},
    {"failures", 0, RLT_PARAM_TEXT, "NAME=TIME,...",
     "Estimate the time of a training run of --iterations with failures. mtbf=1000h: mean time between "
     "failures of one accelerator. checkpoint=60s: time to write a checkpoint, after each interval=1h of "
     "work (default: the best interval). restart=5min: time of a restart, which resumes from the last "
     "checkpoint.",
     AT(failures)},
    {"iterations", 0, RLT_PARAM_COUNT, "N", "Iterations of the whole training run, for --failures.",
     AT(iterations), .min = 1},
    {"seed", 0, RLT_PARAM_COUNT, "N",
     "Seed of noise and failures; the packet network has its own seed (--set seed=N).", AT(seed),
     .preset = "1"},
    {0}};
#undef AT

/* Parsers of values report bad input; on the command line that is wrong usage. */
static int as_usage(int rc, const char *option, rlt_error *err)
{
    if (rc == 0 || rc == RLT_ENOMEM)
        return rc;
    rlt_error_prefix(err, option);
    if (err)
        err->code = RLT_EUSAGE;
    return RLT_EUSAGE;
}

/* Reads "5ms:acc3=0.5". */
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
        return rlt_fail(err, RLT_EUSAGE, "--iterations", "needs --failures");
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
