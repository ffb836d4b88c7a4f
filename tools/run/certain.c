/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a run can be trusted: the certificate of its trace, and estimates of other speeds with bounds. */
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"
#include "workload/replay/whatif/certificate.h"
#include "workload/replay/whatif/whatif.h"

static double share(rlt_time part, rlt_time whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

int rlt_run_certificate_line(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_certificate c;
    char text[400], a[32], b[32];
    double exposed = 0;
    int rc = r->trains ? 0 : rlt_certify(r->program, &c, err);
    if (rc || r->trains)
        return rc;
    if (rlt_certificate_text(&c, text, sizeof text)[0])
        fprintf(out, "certificate: %s\n", text);
    for (uint32_t i = 0; i < r->program->n_ranks; i++)
        exposed += (double)rlt_replay_rank(r->replay, i).exposed_comm_ps / r->program->n_ranks;
    if (c.recorded)
        fprintf(out, "exposed communication of a rank: %s in the recording, %s in the replay\n",
                rlt_format_duration(a, sizeof a, c.exposed_ps),
                rlt_format_duration(b, sizeof b, (rlt_time)exposed));
    rlt_certificate_free(&c);
    return 0;
}

int rlt_run_certificate_json(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    rlt_certificate c;
    int rc = r->trains ? 0 : rlt_certify(r->program, &c, err);
    if (rc || r->trains)
        return rc;
    rlt_jw_object(w, "certificate");
    rlt_jw_bool(w, "recorded_times", c.recorded);
    if (c.recorded) {
        rlt_jw_i64(w, "recorded_span_ps", c.span_ps);
        rlt_jw_i64(w, "recorded_comm_ps", c.comm_ps);
        rlt_jw_i64(w, "recorded_exposed_comm_ps", c.exposed_ps);
        rlt_jw_i64(w, "hidden_ps", c.hidden_ps);
        rlt_jw_double(w, "hidden_share", share(c.hidden_ps, c.span_ps), 6);
        rlt_jw_i64(w, "hidden_in_gaps_ps", c.gap_ps);
        rlt_jw_i64(w, "hidden_in_recorded_comm_ps", c.fixed_ps);
        rlt_jw_i64(w, "hidden_in_kernels_ps", c.inside_ps);
    }
    rlt_jw_u64(w, "untimed_operations", c.untimed);
    rlt_jw_end_object(w);
    rlt_certificate_free(&c);
    return 0;
}

/* Estimates of `--explain`. */
typedef struct question {
    rlt_part part;
    double speed;
    const char *words, *option;
} question;

static const question questions[] = {
    {RLT_PART_NETWORK, 2, "a network twice as fast", "network-scale"},
    {RLT_PART_NETWORK, 0.1, "a network ten times slower", "network-scale"},
    {RLT_PART_COMPUTE, 2, "accelerators twice as fast", "compute-scale"},
    {RLT_PART_HOST, 2, "hosts twice as fast", "host-scale"},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

static int answer(const rlt_run *r, rlt_estimate *e, rlt_error *err)
{
    rlt_certificate c;
    rlt_what_if *w = NULL;
    int rc = rlt_certify(r->program, &c, err);
    if (rc)
        return rc;
    rc =
        rlt_what_if_create(r->replay, r->program, &c,
                           rlt_endpoint_kernel(&r->options.endpoint, r->options.endpoint.launch_ps), &w, err);
    for (int i = 0; i < QUESTIONS && !rc; i++)
        e[i] = rlt_what_if_estimate(w, questions[i].part, questions[i].speed);
    rlt_what_if_free(w);
    rlt_certificate_free(&c);
    return rc;
}

int rlt_run_what_if_table(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_estimate e[QUESTIONS];
    char a[32], b[32], c[32];
    int rc = r->partial ? 0 : answer(r, e, err);
    if (rc || r->partial)
        return rc;
    rlt_heading(out, "estimates (--network-scale, --compute-scale and --host-scale simulate them)");
    for (int i = 0; i < QUESTIONS; i++) {
        rlt_format_duration(a, sizeof a, e[i].ps);
        rlt_format_duration(b, sizeof b, e[i].low_ps);
        rlt_format_duration(c, sizeof c, e[i].high_ps);
        fprintf(out, "  %-27s %10s", questions[i].words, a);
        if (strcmp(b, c) != 0)
            fprintf(out, ", between %s and %s", b, c);
        fputc('\n', out);
    }
    return 0;
}

int rlt_run_what_if_json(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    rlt_estimate e[QUESTIONS];
    int rc = r->partial ? 0 : answer(r, e, err);
    if (rc || r->partial)
        return rc;
    rlt_jw_array(w, "estimates");
    for (int i = 0; i < QUESTIONS; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "change", questions[i].option);
        rlt_jw_double(w, "times", questions[i].speed, 6);
        rlt_jw_i64(w, "time_ps", e[i].ps);
        rlt_jw_i64(w, "low_ps", e[i].low_ps);
        rlt_jw_i64(w, "high_ps", e[i].high_ps);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    return 0;
}
