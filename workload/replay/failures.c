/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures, checkpoints and restarts of a training run. */
#include "workload/replay/failures.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/base/words.h"

enum { PURPOSE = 0x66616900, TRIALS = 1000 }; /* purpose of the random streams; the entity is the trial */
static const double most_draws = 2e7, most_spans = 700;

/* Reads "1000h" or "2.5d" into seconds: training takes longer than simulated time can reach. */
static int read_seconds(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    double *out = (double *)(void *)((char *)into + p->offset), x = 0;
    char number[40];
    size_t n = strspn(text, "0123456789.");
    const char *unit = text + n + strspn(text + n, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units && n < sizeof number; i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        snprintf(number, sizeof number, "%.*s", (int)n, text);
        int rc = rlt_parse_number(number, 0, &x, where, err);
        if (!rc)
            *out = x * units[i].seconds;
        return rc;
    }
    return rlt_fail(err, RLT_EUSAGE, where, "expected a time in ms, s, min, h or d, got '%.40s'", text);
}

static const char form[] = "time, such as 1000h or 2.5d";
#define SECONDS(field)                                                                                       \
    .kind = RLT_PARAM_OTHER, .arg = form, .read = read_seconds, RLT_FIELD(rlt_failures, field)
static const rlt_param parameters[] = {
    {"mtbf", SECONDS(mtbf_s), .required = true, .help = "mean time between failures of one accelerator"},
    {"checkpoint", SECONDS(checkpoint_s), .required = true, .help = "time to write a checkpoint"},
    {"interval", SECONDS(interval_s), .usual = "the best interval by Daly's estimate",
     .help = "work between two checkpoints"},
    {"restart", SECONDS(restart_s), .preset = "0s", .help = "time of a restart"},
    {0}};

const rlt_param *rlt_failures_parameters(void)
{
    return parameters;
}

int rlt_failures_parse(const char *text, rlt_failures *out, rlt_error *err)
{
    *out = (rlt_failures){.checkpoint_s = -1};
    int rc = rlt_params_set_list(parameters, "the model of failures", out, text, err);
    if (!rc && (out->mtbf_s <= 0 || out->checkpoint_s < 0))
        rc = rlt_fail(err, RLT_EUSAGE, NULL,
                      "expected mtbf above 0 and a checkpoint time, such as mtbf=1000h,checkpoint=60s");
    if (!rc && out->checkpoint_s <= 0 && out->interval_s <= 0)
        rc = rlt_fail(err, RLT_EUSAGE, NULL, "a checkpoint time of 0 needs an interval: set interval=TIME");
    return rc;
}

/* Returns e^x - 1 for x >= 0. */
static double exp_minus_1(double x)
{
    if (x > 0.5)
        return rlt_fixed_exp(x) - 1;
    double sum = 1;
    for (int k = 18; k >= 2; k--)
        sum = 1 + sum * x / k;
    return x * sum;
}

static double best_interval(double checkpoint_s, double m)
{
    double half = checkpoint_s / (2 * m);
    if (half >= 1)
        return m;
    return sqrt(2 * checkpoint_s * m) * (1 + sqrt(half) / 3 + half / 9) - checkpoint_s;
}

/* Division of the work: `full` stretches, each with a checkpoint, and the duration of the last one (0:
 * none). */
typedef struct plan {
    double stretch_s, last_s, count;
} plan;

static plan plan_of(const rlt_failures *f, double work_s, double interval_s)
{
    double full = floor(work_s / interval_s), rest = work_s - full * interval_s;
    bool none = rest <= 1e-9 * interval_s; /* up to rounding */
    return (plan){interval_s + f->checkpoint_s, none ? 0 : rest + f->checkpoint_s, full};
}

static double expected_of(const rlt_failures *f, const plan *p, double m)
{
    return m * (1 + exp_minus_1(f->restart_s / m)) *
           (p->count * exp_minus_1(p->stretch_s / m) + exp_minus_1(p->last_s / m));
}

typedef struct timeline {
    double time_s, lost_s, restart_s;
    double failures;
} timeline;

/* Draws one timeline. Failures have no memory: the time left to the next failure is distributed like a new
 * one. */
static timeline draw(const rlt_failures *f, const plan *p, double m, uint64_t seed, uint32_t trial)
{
    timeline t = {0};
    uint64_t k = 0;
    double next = m * rlt_random_exponential(seed, trial, PURPOSE, k++), left = p->count;
    for (;;) {
        double need = left * p->stretch_s + p->last_s;
        if (next >= need) {
            t.time_s += need;
            return t;
        }
        double ended = floor(next / p->stretch_s);
        ended = ended < left ? ended : left;
        left -= ended;
        t.time_s += next;
        t.lost_s += next - ended * p->stretch_s;
        t.failures++;
        while ((next = m * rlt_random_exponential(seed, trial, PURPOSE, k++)) < f->restart_s) {
            t.time_s += next;
            t.restart_s += next;
            t.failures++;
        }
        t.time_s += f->restart_s;
        t.restart_s += f->restart_s;
        next -= f->restart_s;
    }
}

static void simulate(const rlt_failures *f, const plan *p, uint64_t seed, rlt_failures_result *r)
{
    double m = r->mtbf_s, each = 1 + 2 * r->expected_s / m, most = most_draws / each, square = 0;
    uint32_t n = most < 2 ? 0 : most < TRIALS ? (uint32_t)most : TRIALS;
    for (uint32_t i = 0; i < n; i++) {
        timeline t = draw(f, p, m, seed, i);
        double off = t.time_s - r->expected_s;
        r->mean_s += off;
        square += off * off;
        r->failures += t.failures / n;
        r->lost_s += t.lost_s / n;
        r->restart_s += t.restart_s / n;
    }
    if (n == 0)
        return;
    double mean = r->mean_s / n, variance = square / n - mean * mean;
    r->trials = n;
    r->mean_s = r->expected_s + mean;
    r->error_s = variance > 0 ? sqrt(variance / n) : 0;
    r->checkpoint_s = f->checkpoint_s * (p->count + (p->last_s > 0));
}

int rlt_failures_estimate(const rlt_failures *f, uint32_t accelerators, double work_s, uint64_t seed,
                          rlt_failures_result *out, rlt_error *err)
{
    double m = f->mtbf_s / (accelerators ? accelerators : 1), best = best_interval(f->checkpoint_s, m);
    double interval = f->interval_s > 0 ? f->interval_s : best;
    if (!(work_s > 0))
        return rlt_fail(err, RLT_ERANGE, NULL, "the training run has no duration");
    interval = interval < work_s ? interval : work_s;
    *out = (rlt_failures_result){.work_s = work_s, .mtbf_s = m, .interval_s = interval, .best_s = best};
    plan p = plan_of(f, work_s, interval);
    double longest = p.stretch_s;
    if (longest > most_spans * m || f->restart_s > most_spans * m)
        return rlt_fail(
            err, RLT_ERANGE, NULL,
            "with a failure every %g s, %g s of work with its checkpoint, or a restart of %g s, practically "
            "never completes: expected a shorter interval or restart",
            m, longest, f->restart_s);
    out->expected_s = expected_of(f, &p, m);
    out->first_order_s =
        work_s * (1 + f->checkpoint_s / interval) * (1 + (f->restart_s + p.stretch_s / 2) / m);
    simulate(f, &p, seed, out);
    return 0;
}
