/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of traces, from the command line. */
#include "workload/setup/trace_options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/program/rescale.h"

#define AT(field) .offset = offsetof(rlt_trace_settings, field)
const rlt_option rlt_trace_option_table[] = {
    {"host-trace", 0, RLT_PARAM_TEXT, "DIR",
     "PyTorch host execution traces of the same run. They give the sizes of collectives that the profiler "
     "left out.",
     AT(host_trace)},
    {"steps", 0, RLT_PARAM_TEXT, "A[:B]", "Replay only steps (iterations) A to B, counted from 0.",
     AT(steps)},
    {"step-mark", 0, RLT_PARAM_TEXT, "TEXT", "Annotation that marks a step (default: ProfilerStep#N).",
     AT(step_mark)},
    {"replicate", 0, RLT_PARAM_LIST, "RANK=FROM",
     "Replace a missing rank by the recording of another: 1=0, or all=0 for every missing rank.",
     AT(replicate)},
    {"trace-ranks", 0, RLT_PARAM_COUNT, "N", "Number of ranks, if the trace does not give it.",
     AT(trace_ranks), .min = 1, .max = RLT_MAX_RANKS},
    {"rescale", 0, RLT_PARAM_LIST, "GROUP=M",
     "Rescale the groups of one name, such as dp=16, or of one size, such as @8=64, to M members, and "
     "copy the other groups, so that a trace of N ranks predicts more or fewer ranks. Each rank keeps its "
     "work, each collective its bytes. May be repeated for other groups.",
     AT(rescale)},
    {"ideal", 0, RLT_PARAM_FLAG, NULL,
     "Remove stragglers (timelines only): every computation takes the mean of its kind over all ranks and "
     "steps, every communication takes the median without waiting, and launch delays are removed.",
     AT(ideal)},
    {0}};
#undef AT

static int read_steps(const char *text, rlt_read_options *out, rlt_error *err)
{
    char first[24], *colon;
    uint64_t a, b;
    rlt_error ignored = {0};
    snprintf(first, sizeof first, "%s", text);
    colon = strchr(first, ':');
    if (colon)
        *colon = '\0';
    if (strlen(text) >= sizeof first || rlt_parse_count(first, &a, NULL, &ignored) ||
        rlt_parse_count(colon ? colon + 1 : first, &b, NULL, &ignored) || b < a || b > INT_MAX)
        return rlt_fail(err, RLT_EUSAGE, "--steps", "expected a step or a range such as 2:5, got '%s'", text);
    out->first_step = (int)a;
    out->last_step = (int)b;
    return 0;
}

static int read_replicate(const char *text, rlt_replicate *out, rlt_error *err)
{
    char left[24];
    const char *right;
    uint64_t rank = RLT_NONE, from;
    rlt_error ignored = {0};
    if (rlt_split_setting(text, left, sizeof left, &right, NULL, &ignored) ||
        (strcmp(left, "all") != 0 &&
         (rlt_parse_count(left, &rank, NULL, &ignored) || rank >= RLT_MAX_RANKS)) ||
        rlt_parse_count(right, &from, NULL, &ignored) || from >= RLT_MAX_RANKS)
        return rlt_fail(err, RLT_EUSAGE, "--replicate", "expected RANK=FROM or all=FROM, got '%s'", text);
    *out = (rlt_replicate){(uint32_t)rank, (uint32_t)from};
    return 0;
}

int rlt_trace_read_options(const rlt_trace_settings *s, rlt_read_options *out, rlt_replicate **replicate,
                           rlt_error *err)
{
    int rc = 0;
    *out = (rlt_read_options){.host_trace_dir = s->host_trace,
                              .n_ranks = (uint32_t)s->trace_ranks,
                              .first_step = -1,
                              .last_step = -1,
                              .step_mark = s->step_mark,
                              .ideal = s->ideal,
                              .n_replicate = s->replicate.n};
    *replicate = calloc((size_t)s->replicate.n + 1, sizeof **replicate);
    if (!*replicate)
        return rlt_nomem(err);
    out->replicate = *replicate;
    if (s->steps)
        rc = read_steps(s->steps, out, err);
    for (uint32_t i = 0; i < s->replicate.n && !rc; i++)
        rc = read_replicate(s->replicate.items[i], &(*replicate)[i], err);
    if (rc) {
        free(*replicate);
        *replicate = NULL;
    }
    return rc;
}

void rlt_trace_dimensions(const rlt_topology *t, rlt_read_options *out)
{
    out->n_dims = rlt_topology_dims(t);
    for (uint32_t d = 0; d < out->n_dims; d++)
        out->dims[d] = rlt_topology_dim(t, d).size;
}

static int rescale(const char *text, rlt_program **program, rlt_error *err)
{
    char group[64];
    const char *value;
    uint64_t members;
    rlt_program *scaled = NULL;
    rlt_error ignored = {0};
    if (rlt_split_setting(text, group, sizeof group, &value, NULL, &ignored) || !group[0] ||
        rlt_parse_count(value, &members, NULL, &ignored) || members < 2 || members > RLT_MAX_RANKS)
        return rlt_fail(err, RLT_EUSAGE, "--rescale", "expected GROUP=M or @SIZE=M, M at least 2, got '%s'",
                        text);
    int rc = rlt_program_rescale(*program, group, (uint32_t)members, &scaled, err);
    if (rc) {
        rlt_error_prefix(err, "--rescale");
        return rc;
    }
    rlt_program_free(*program);
    *program = scaled;
    return 0;
}

int rlt_trace_rescale(const rlt_trace_settings *s, rlt_program **program, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->rescale.n && !rc; i++)
        rc = rescale(s->rescale.items[i], program, err);
    return rc;
}
