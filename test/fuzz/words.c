/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: what users type, as numbers with units, lists, settings and whole command lines. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/library.h"
#include "net/endpoint/version.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "test/fuzz/fuzz.h"
#include "tools/base/command.h"
#include "tools/base/options.h"
#include "tools/design/design.h"
#include "workload/design/design.h"
#include "workload/experiment/coll/lists.h"
#include "workload/experiment/experiment.h"
#include "workload/experiment/layouts/robust.h"
#include "workload/replay/failures.h"
#include "workload/replay/noise.h"
#include "workload/timing/loggops.h"
#include "workload/training/training.h"

/* A time or size that was read is written for people in a form that is read again. */
static void units(const fuzz_input *in)
{
    uint64_t u;
    int64_t whole;
    rlt_time t;
    double d;
    char text[64];
    rlt_error number = {0}, duration = {0}, size = {0};
    FUZZ_JUDGE(rlt_parse_rate(in->text, &u, "input", &err));
    FUZZ_JUDGE(rlt_parse_flops(in->text, &u, "input", &err));
    FUZZ_JUDGE(rlt_parse_count(in->text, &u, "input", &err));
    FUZZ_JUDGE(rlt_parse_share(in->text, 1, &d, "input", &err));
    (void)!rlt_parse_decimal(in->text, in->n, 1000000, &whole);
    int rc = rlt_parse_number(in->text, 0, &d, "input", &number);
    fuzz_judge(rc, &number, "input");
    FUZZ_CHECK(rc || (d >= 0 && isfinite(d)));
    rc = rlt_parse_duration(in->text, &t, "input", &duration);
    fuzz_judge(rc, &duration, "input");
    FUZZ_CHECK(rc || t >= 0);
    if (rc == 0)
        FUZZ_CHECK(rlt_parse_duration(rlt_format_duration(text, sizeof text, t), &t, "again", &duration) ==
                   0);
    rc = rlt_parse_size(in->text, &u, "input", &size);
    fuzz_judge(rc, &size, "input");
    if (rc == 0)
        FUZZ_CHECK(rlt_parse_size(rlt_format_size(text, sizeof text, u), &u, "again", &size) == 0);
}

static void lists(const fuzz_input *in)
{
    uint64_t *numbers = NULL;
    uint32_t *ranks = NULL, n = 0;
    double *shares = NULL;
    rlt_error why = {0};
    FUZZ_JUDGE(rlt_parse_sizes(in->text, &numbers, &n, &err));
    free(numbers);
    numbers = NULL;
    FUZZ_JUDGE(rlt_parse_rates(in->text, "--total", 64, &numbers, &n, &err));
    free(numbers);
    numbers = NULL;
    int rc = rlt_parse_counts(in->text, "--workers", 64, &numbers, &n, &why);
    fuzz_judge(rc, &why, NULL);
    FUZZ_CHECK(rc || n <= 64);
    free(numbers);
    FUZZ_JUDGE(rlt_parse_shares(in->text, "--lose", 1, 64, &shares, &n, &err));
    free(shares);
    FUZZ_JUDGE(rlt_parse_ranks(in->text, &ranks, &n, &err));
    free(ranks);
}

static void settings(const fuzz_input *in)
{
    rlt_noise noise;
    rlt_failures failures;
    rlt_failures_result result;
    rlt_layout_ranges ranges;
    rlt_library_version version;
    uint32_t library;
    rlt_loggops loggops = rlt_loggops_default();
    rlt_training training = rlt_training_default();
    rlt_error why = {0};
    FUZZ_JUDGE(rlt_noise_parse(in->text, &noise, &err));
    FUZZ_JUDGE(rlt_layout_ranges_parse(in->text, &ranges, &err));
    FUZZ_JUDGE(rlt_library_version_parse(in->text, &version, &err));
    FUZZ_JUDGE(rlt_library_read(in->text, &library, &err));
    FUZZ_JUDGE(rlt_loggops_parse(in->text, &loggops, &err));
    FUZZ_JUDGE(rlt_params_set_list(rlt_training_parameters(), "a training", &training, in->text, &err));
    int rc = rlt_failures_parse(in->text, &failures, &why);
    if (rc)
        rlt_error_prefix(&why, "input");
    fuzz_judge(rc, &why, "input");
    if (!rc)
        FUZZ_JUDGE(rlt_failures_estimate(&failures, 1 + fuzz_pick(1000), 1e6, 1, &result, &err));
}

static void limits(const fuzz_input *in)
{
    static const double dollars[RLT_MAX_DIMS] = {1e-9, 2e-9, 3e-9};
    rlt_limits l = {.n_dims = 3, .level = {RLT_LEVEL_CHIPLET, RLT_LEVEL_NODE, RLT_LEVEL_POD}};
    const char *item = in->text;
    rlt_texts texts = {.items = &item, .n = 1, .capacity = 1};
    rlt_nics nics = {0};
    rlt_error why = {0};
    int rc = rlt_limits_add(&l, in->text, dollars, 100, &why);
    fuzz_judge(rc, &why, NULL);
    if (!rc)
        FUZZ_JUDGE(rlt_limits_check(&l, &err));
    FUZZ_JUDGE(rlt_nics_read(&nics, &texts, &err));
}

/* Cuts a copy of the input into its lines. Returns how many there are, at most `most`. */
static uint32_t lines_of(const fuzz_input *in, char *copy, char **lines, uint32_t most)
{
    uint32_t n = 0;
    memcpy(copy, in->text, in->n + 1);
    for (char *rest = copy, *line; n < most && (line = strtok_r(rest, "\n", &rest));)
        lines[n++] = line;
    return n;
}

static char copy[FUZZ_MOST_BYTES + 1];

/* The first line is a command, and a verb if it has any; each other line is an argument. */
static void command_line(const fuzz_input *in)
{
    char *lines[66];
    uint32_t n = lines_of(in, copy, lines, 64), at = 1;
    const rlt_command *c = NULL;
    for (uint32_t i = 0; n > 0 && (c = rlt_command_at(i)) && strcmp(c->name, lines[0]);)
        i++;
    if (!c)
        return;
    for (uint32_t i = 0; n > 1 && c->verbs && c->verbs[i]; i++)
        if (!strcmp(c->verbs[i]->name, lines[1])) {
            c = c->verbs[i];
            at = 2;
            break;
        }
    if (!c->options)
        return;
    lines[n] = NULL;
    rlt_parsed parsed = {0};
    void *into = calloc(1, c->settings_size ? c->settings_size : 1);
    FUZZ_CHECK(into);
    FUZZ_JUDGE(rlt_options_parse(c->options, (int)(n - at + 1), lines + at - 1, into, &parsed, &err));
    rlt_parsed_free(&parsed);
    free(into);
}

static rlt_sim *running;
static uint32_t steps;

static void on_running(void *ctx, rlt_sim *sim)
{
    (void)ctx;
    running = sim;
}

static void on_progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    (void)done;
    (void)total;
    if (++steps > 20 && running)
        rlt_sim_stop(running);
}

static bool stopped(void *ctx)
{
    (void)ctx;
    return steps > 20;
}

/* Each line is a setting of an experiment on a small network: events, noise, layouts, loss, ... */
static void experiment(const fuzz_input *in)
{
    static const rlt_watch watch = {.running = on_running, .progress = on_progress, .stopped = stopped};
    static const char *const away[] = {"topology", "placement", "trace", "job",  "host-trace", "updates",
                                       "plan",     "counts",    "astra", "rank", "steps"};
    char *lines[32];
    const char *given[33];
    uint32_t n = lines_of(in, copy, lines, 32), kept = 0;
    rlt_experiment *e = NULL;
    rlt_error err = {0};
    if (fuzz_has_long_number(in, 3) || strchr(in->text, '/'))
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool taken = true;
        for (size_t k = 0; k < sizeof away / sizeof *away; k++)
            taken &= strncmp(lines[i], away[k], strlen(away[k])) != 0;
        if (taken)
            given[kept++] = lines[i];
    }
    given[kept++] = "topology=ring:2@100GB/s,1us*switch:4@50GB/s,1us";
    steps = 0;
    int rc = rlt_experiment_create(NULL, given, kept, &e, &err);
    if (!rc)
        rc = rlt_experiment_run(e, &watch, &err);
    running = NULL;
    rlt_error_prefix(&err, "experiment"); /* what is missing has no place */
    fuzz_judge(rc, &err, NULL);
    rlt_experiment_free(e);
}

const fuzz_target fuzz_words[] = {{"units", .run = units},
                                  {"lists", .run = lists},
                                  {"settings", .run = settings},
                                  {"limits", .run = limits},
                                  {"command-line", .run = command_line},
                                  {"experiment", .run = experiment},
                                  {0}};
