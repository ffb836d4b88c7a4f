/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks recordings: what they lack for a good replay, and how to record it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/kineto.h"

typedef struct text {
    char *at;
    uint32_t used, capacity;
    int rc;
    rlt_error *err;
} text;

static void line(text *t, const char *fmt, ...) RLT_PRINTF(2);

static void line(text *t, const char *fmt, ...)
{
    char buffer[600];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(buffer, sizeof buffer - 1, fmt, args);
    va_end(args);
    if (t->rc < 0 || n < 0)
        return;
    uint32_t length = (size_t)n < sizeof buffer - 1 ? (uint32_t)n : (uint32_t)sizeof buffer - 2;
    t->rc = rlt_grow(&t->at, &t->capacity, 1, (uint64_t)t->used + length + 2, 1 << 26, "bytes of findings",
                     t->err);
    if (t->rc < 0)
        return;
    memcpy(t->at + t->used, buffer, length);
    t->used += length;
    t->at[t->used++] = '\n';
    t->at[t->used] = '\0';
}

typedef struct tally {
    uint64_t kernels, copies, unlaunched, waits, syncs, cpu_ops, unknown, marked, sync_records;
    uint64_t nccl, continued, early_unknown,
        launched_unknown; /* collectives of the steps, as they are replayed */
    uint32_t least_steps, most_steps;
} tally;

static void count(const rlt_kin_recording *k, tally *t)
{
    uint64_t calls = 0, work = 0, loose = 0;
    for (uint32_t i = 0; i < k->n_events; i++) {
        const rlt_kin_event *e = &k->events[i];
        bool device = e->cat == RLT_KIN_KERNEL || e->cat == RLT_KIN_MEMORY;
        t->kernels += e->cat == RLT_KIN_KERNEL;
        t->copies += e->cat == RLT_KIN_MEMORY;
        t->cpu_ops += e->cat == RLT_KIN_CPU_OP;
        calls += e->cat == RLT_KIN_RUNTIME;
        work += device;
        loose += device && e->correlation < 0;
        t->waits += e->role == RLT_KIN_WAIT_EVENT;
        t->syncs += e->role == RLT_KIN_STREAM_SYNC || e->role == RLT_KIN_EVENT_SYNC;
    }
    t->unlaunched += calls ? loose : work;
    t->unknown += k->unknown_cats;
    t->sync_records += k->n_syncs;
    t->marked += k->n_steps > 0;
    t->least_steps = k->n_steps < t->least_steps ? k->n_steps : t->least_steps;
    t->most_steps = k->n_steps > t->most_steps ? k->n_steps : t->most_steps;
}

static void check_ranks(const rlt_kin_run *run, text *out)
{
    uint32_t missing = 0, first = RLT_NONE;
    for (uint32_t r = 0; r < run->n_ranks; r++)
        if (run->by_rank[r] == RLT_NONE) {
            missing++;
            first = first == RLT_NONE ? r : first;
        }
    if (missing == 0)
        line(out, "ok: ranks: %" PRIu32 " of %" PRIu32 " present", run->n_ranks, run->n_ranks);
    else
        line(out,
             "lacks: ranks: %" PRIu32 " of %" PRIu32 " have no recording (first: rank %" PRIu32
             "); profile every "
             "rank over the same steps, or use another rank's recording: --replicate %" PRIu32 "=%" PRIu32,
             missing, run->n_ranks, first, first, run->recordings[0].rank);
}

static void check_steps(const rlt_kin_run *run, const tally *t, text *out)
{
    if (t->marked < run->n_files)
        line(out, "lacks: steps: %" PRIu64 " of %" PRIu32 " recordings have no step marks; %s",
             run->n_files - t->marked, run->n_files, run->format->steps);
    else if (t->least_steps != t->most_steps)
        line(out,
             "lacks: steps: the ranks have between %" PRIu32 " and %" PRIu32
             " steps; profile the same steps on every rank",
             t->least_steps, t->most_steps);
    else
        line(out, "ok: steps: %" PRIu32 " marked", t->most_steps);
}

/* Counts the sizes that the replay finds. */
static int count_sizes(const rlt_kin_run *run, const rlt_kin_recording *k, tally *t, rlt_error *err)
{
    rlt_kin_comms *c;
    int rc = rlt__kin_survey(run, k, &c, err);
    if (rc < 0)
        return rc;
    rlt_kin_sizes s = rlt__kin_comms_sizes(c);
    t->nccl += s.n;
    t->continued += s.continued;
    t->early_unknown += s.early_unknown;
    t->launched_unknown += s.launched_unknown;
    rlt__kin_comms_free(c);
    return 0;
}

static void check_sizes(const rlt_kin_run *run, const tally *t, text *out)
{
    uint64_t early = t->continued + t->early_unknown;
    if (t->nccl == 0)
        line(out, "ok: collectives: none recorded");
    else if (early + t->launched_unknown == 0)
        line(out, "ok: collectives: %" PRIu64 " NCCL kernels, all with sizes%s", t->nccl,
             run->n_host_traces ? " (some from host traces)" : "");
    if (early)
        line(out,
             "lacks: collective sizes: %" PRIu64 " of %" PRIu64
             " NCCL kernels were launched before the recording began and do not say their bytes; %" PRIu64
             " take those of the same place one period later, %" PRIu64
             " keep their recorded time, waiting included; leave out the first step (--steps), or warm up "
             "(schedule(warmup=2))",
             early, t->nccl, t->continued, t->early_unknown);
    if (t->launched_unknown)
        line(out,
             "lacks: collective sizes: %" PRIu64 " of %" PRIu64 " NCCL kernels do not say their bytes; %s",
             t->launched_unknown, t->nccl, run->format->sizes);
}

static void check_events(const rlt_kin_format *f, const tally *t, text *out)
{
    if (t->kernels)
        line(out, "ok: device work: %" PRIu64 " kernels, %" PRIu64 " copies and sets", t->kernels, t->copies);
    else
        line(out, "lacks: device work: 0 kernels, %" PRIu64 " copies; %s", t->copies, f->device);
    if (f->host && t->cpu_ops == 0)
        line(out, "lacks: host operators; %s", f->host);
    if (t->unlaunched)
        line(out, "lacks: launches of %" PRIu64 " device operations: placed by their recorded time",
             t->unlaunched);
    if (t->sync_records)
        line(out, "ok: synchronisation: %" PRIu64 " cuda_sync events", t->sync_records);
    else if (t->waits + t->syncs)
        line(out,
             "lacks: cuda_sync events: the targets of %" PRIu64 " stream waits and %" PRIu64 " synchronising "
             "calls are inferred from times; %s",
             t->waits, t->syncs, f->syncs);
    if (t->unknown)
        line(out, "lacks: knowledge of %" PRIu64 " events of unknown categories: ignored", t->unknown);
}

int rlt__kin_check(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                   const rlt_read_options *opts, char **out, rlt_error *err)
{
    rlt_kin_run run;
    text lines = {.err = err};
    tally t = {.least_steps = UINT32_MAX};
    *out = NULL;
    int rc = rlt__kin_run_open(format, paths, n, opts, &run, err);
    if (rc == 0) {
        for (uint32_t i = 0; i < run.n_files; i++)
            count(&run.recordings[i], &t);
        for (uint32_t i = 0; i < run.n_files && rc == 0; i++)
            rc = count_sizes(&run, &run.recordings[i], &t, err);
    }
    if (rc == 0) {
        check_ranks(&run, &lines);
        check_steps(&run, &t, &lines);
        check_events(run.format, &t, &lines);
        check_sizes(&run, &t, &lines);
        rc = lines.rc;
    }
    rlt__kin_run_close(&run);
    if (rc < 0)
        free(lines.at);
    else
        *out = lines.at;
    return rc;
}
