/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of several jobs on one network, and of background traffic. */
#include <stdlib.h>

#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/background.h"
#include "workload/replay/parts.h"
#include "workload/replay/replay.h"

static int part_of(const rlt_run *r, uint32_t job, rlt_part_result *out, rlt_error *err)
{
    return rlt_part_result_of(r->program, r->replay, r->jobs.first_rank[job], r->jobs.first_rank[job + 1],
                              out, err);
}

static double slowdown(const rlt_jobs *j, uint32_t job, rlt_time end_ps)
{
    return j->alone_ps[job] > 0 ? (double)end_ps / (double)j->alone_ps[job] : 1;
}

static const char *name_of(const rlt_run *r, uint32_t job)
{
    const rlt_run_settings *s = r->settings;
    if (job || !r->jobs.own)
        return r->jobs.names[job - r->jobs.own];
    if (s->model)
        return s->model;
    return s->trace.n ? s->trace.items[0] : r->args->operands[0];
}

static uint32_t accelerator_of(const rlt_run *r, uint32_t rank)
{
    return rlt_placed(&r->jobs.placement, rank);
}

int rlt_jobs_table(const rlt_run *r, FILE *out, rlt_error *err)
{
    const rlt_jobs *j = &r->jobs;
    char a[32], b[32];
    if (j->n)
        rlt_heading(out, "\njobs");
    for (uint32_t i = 0; i < j->n; i++) {
        rlt_part_result p;
        int rc = part_of(r, i, &p, err);
        if (rc)
            return rc;
        fprintf(out, "job %u, ranks %u-%u, %s: ends after %s", i, j->first_rank[i], j->first_rank[i + 1] - 1,
                name_of(r, i), rlt_format_duration(a, sizeof a, p.end_ps));
        if (p.n_steps > 1)
            fprintf(out, ", %u iterations, the last of %s", p.n_steps,
                    rlt_format_duration(b, sizeof b, p.step_ps[p.n_steps - 1]));
        if (j->alone_ps)
            fprintf(out, "; alone after %s: %.4f times as long",
                    rlt_format_duration(b, sizeof b, j->alone_ps[i]), slowdown(j, i, p.end_ps));
        fputc('\n', out);
        free(p.step_ps);
    }
    if (j->n_background)
        rlt_heading(out, "\nbackground traffic");
    for (uint32_t i = 0; i < j->n_background; i++) {
        rlt_background_result k = rlt_replay_background(r->replay, i);
        double seconds = (double)rlt_run_end(r) * 1e-12;
        fprintf(out, "accelerator %u to %u, %s asked", accelerator_of(r, j->background[i].src),
                accelerator_of(r, j->background[i].dst),
                rlt_format_rate(a, sizeof a, j->background[i].rate_Bps));
        fprintf(out, ": %s arrived, %s on average\n", rlt_format_size(a, sizeof a, k.bytes),
                rlt_format_rate(b, sizeof b, seconds > 0 ? (uint64_t)((double)k.bytes / seconds) : 0));
    }
    return 0;
}

static int job_json(const rlt_run *r, rlt_jw *w, uint32_t i, rlt_error *err)
{
    rlt_part_result p;
    int rc = part_of(r, i, &p, err);
    if (rc)
        return rc;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "workload", name_of(r, i));
    rlt_jw_u64(w, "first_rank", r->jobs.first_rank[i]);
    rlt_jw_u64(w, "ranks", r->jobs.first_rank[i + 1] - r->jobs.first_rank[i]);
    rlt_jw_i64(w, "time_ps", p.end_ps);
    rlt_jw_array(w, "iteration_time_ps");
    for (uint32_t k = 0; k < p.n_steps; k++)
        rlt_jw_i64(w, NULL, p.step_ps[k]);
    rlt_jw_end_array(w);
    if (r->jobs.alone_ps) {
        rlt_jw_i64(w, "alone_ps", r->jobs.alone_ps[i]);
        rlt_jw_double(w, "slowdown", slowdown(&r->jobs, i, p.end_ps), 6);
    }
    rlt_jw_end_object(w);
    free(p.step_ps);
    return 0;
}

int rlt_jobs_json(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    const rlt_jobs *j = &r->jobs;
    int rc = 0;
    if (j->n) {
        rlt_jw_array(w, "jobs");
        for (uint32_t i = 0; i < j->n && !rc; i++)
            rc = job_json(r, w, i, err);
        rlt_jw_end_array(w);
    }
    if (rc || !j->n_background)
        return rc;
    rlt_jw_array(w, "background");
    for (uint32_t i = 0; i < j->n_background; i++) {
        rlt_background_result k = rlt_replay_background(r->replay, i);
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "src", accelerator_of(r, j->background[i].src));
        rlt_jw_u64(w, "dst", accelerator_of(r, j->background[i].dst));
        rlt_jw_u64(w, "rate_Bps", j->background[i].rate_Bps);
        rlt_jw_u64(w, "messages", k.messages);
        rlt_jw_u64(w, "bytes", k.bytes);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    return 0;
}
