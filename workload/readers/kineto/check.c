/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks recordings: what they lack for a good replay, and how to record it. */
#include <inttypes.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/kineto.h"

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

static void check_ranks(const rlt_kin_run *run, rlt_growing *out)
{
    uint32_t missing = 0, first = RLT_NONE;
    for (uint32_t r = 0; r < run->n_ranks; r++)
        if (run->by_rank[r] == RLT_NONE) {
            missing++;
            first = first == RLT_NONE ? r : first;
        }
    if (missing == 0)
        rlt_growing_add(out, "ok: ranks: %" PRIu32 " of %" PRIu32 " present\n", run->n_ranks, run->n_ranks);
    else
        rlt_growing_add(out,
                        "lacks: ranks: %" PRIu32 " of %" PRIu32 " have no recording (first: rank %" PRIu32
                        "); profile every "
                        "rank over the same steps, or use another rank's recording: --replicate %" PRIu32
                        "=%" PRIu32 "\n",
                        missing, run->n_ranks, first, first, run->recordings[0].rank);
}

static void check_steps(const rlt_kin_run *run, const tally *t, rlt_growing *out)
{
    if (t->marked < run->n_files)
        rlt_growing_add(out, "lacks: steps: %" PRIu64 " of %" PRIu32 " recordings have no step marks; %s\n",
                        run->n_files - t->marked, run->n_files, run->format->steps);
    else if (t->least_steps != t->most_steps)
        rlt_growing_add(out,
                        "lacks: steps: the ranks have between %" PRIu32 " and %" PRIu32
                        " steps; profile the same steps on every rank\n",
                        t->least_steps, t->most_steps);
    else
        rlt_growing_add(out, "ok: steps: %" PRIu32 " marked\n", t->most_steps);
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

static void check_sizes(const rlt_kin_run *run, const tally *t, rlt_growing *out)
{
    uint64_t early = t->continued + t->early_unknown;
    if (t->nccl == 0)
        rlt_growing_add(out, "ok: collectives: none recorded\n");
    else if (early + t->launched_unknown == 0)
        rlt_growing_add(out, "ok: collectives: %" PRIu64 " NCCL kernels, all with sizes%s\n", t->nccl,
                        run->n_host_traces ? " (some from host traces)" : "");
    if (early)
        rlt_growing_add(
            out,
            "lacks: collective sizes: %" PRIu64 " of %" PRIu64
            " NCCL kernels were launched before the recording began and do not say their bytes; %" PRIu64
            " take those of the same place one period later, %" PRIu64
            " keep their recorded time, waiting included; leave out the first step (--steps), or warm up "
            "(schedule(warmup=2))\n",
            early, t->nccl, t->continued, t->early_unknown);
    if (t->launched_unknown)
        rlt_growing_add(out,
                        "lacks: collective sizes: %" PRIu64 " of %" PRIu64
                        " NCCL kernels do not say their bytes; %s\n",
                        t->launched_unknown, t->nccl, run->format->sizes);
}

static void check_events(const rlt_kin_format *f, const tally *t, rlt_growing *out)
{
    if (t->kernels)
        rlt_growing_add(out, "ok: device work: %" PRIu64 " kernels, %" PRIu64 " copies and sets\n",
                        t->kernels, t->copies);
    else
        rlt_growing_add(out, "lacks: device work: 0 kernels, %" PRIu64 " copies; %s\n", t->copies, f->device);
    if (f->host && t->cpu_ops == 0)
        rlt_growing_add(out, "lacks: host operators; %s\n", f->host);
    if (t->unlaunched)
        rlt_growing_add(out,
                        "lacks: launches of %" PRIu64 " device operations: placed by their recorded time\n",
                        t->unlaunched);
    if (t->sync_records)
        rlt_growing_add(out, "ok: synchronisation: %" PRIu64 " cuda_sync events\n", t->sync_records);
    else if (t->waits + t->syncs)
        rlt_growing_add(out,
                        "lacks: cuda_sync events: the targets of %" PRIu64 " stream waits and %" PRIu64
                        " synchronising "
                        "calls are inferred from times; %s\n",
                        t->waits, t->syncs, f->syncs);
    if (t->unknown)
        rlt_growing_add(out, "lacks: knowledge of %" PRIu64 " events of unknown categories: ignored\n",
                        t->unknown);
}

int rlt__kin_check(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                   const rlt_read_options *opts, char **out, rlt_error *err)
{
    rlt_kin_run run;
    rlt_growing lines = {0};
    tally t = {.least_steps = UINT32_MAX};
    size_t length;
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
        rc = rlt_growing_finish(&lines, out, &length, err);
    }
    rlt__kin_run_close(&run);
    return rc;
}
