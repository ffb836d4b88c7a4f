/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layouts at random: the share that is faster than a time, with its interval, and how slow the others are. */
#include <math.h>
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"

int rlt_plan_than(const rlt_plan_asked *s, rlt_time *than_ps, rlt_error *err)
{
    *than_ps = 0;
    if (s->than && !s->sample)
        return rlt_fail(err, RLT_EUSAGE, "--than", "goes with --sample, which draws layouts");
    return s->than ? rlt_parse_duration(s->than, than_ps, "--than", err) : 0;
}

int rlt_plan_draw(rlt_layouts *l, const rlt_plan_asked *s, const rlt_layout_search *how, rlt_time than_ps,
                  rlt_error *err)
{
    if (!s->sample || !l->result.n)
        return 0;
    if (!s->than) /* the fastest, and those within its share */
        than_ps = (rlt_time)((double)l->result.points[0].time_ps * (1 + how->within)) + 1;
    return rlt_layouts_draw(l, how, (uint32_t)s->sample, than_ps, err);
}

/* Wilson's interval of a share, k of n, that holds the true one in 95 of 100 samples. */
static void interval(uint32_t k, uint32_t n, double *low, double *high)
{
    const double z = 1.959964;
    double p = (double)k / n, half = z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)), of = 1 + z * z / n;
    double centre = p + z * z / (2.0 * n);
    *low = k ? (centre - half) / of : 0;
    *high = k < n ? (centre + half) / of : 1;
}

static int by_bound(const void *a, const void *b)
{
    const rlt_time x = *(const rlt_time *)a, y = *(const rlt_time *)b;
    return (x > y) - (x < y);
}

/* Returns the time that this share of the sample is not below at least: times, and bounds of the others. */
static double least_at(const rlt_layout_sample *s, double share)
{
    rlt_time *times = malloc(((size_t)s->n + 1) * sizeof *times);
    if (!times)
        return 0;
    for (uint32_t i = 0; i < s->n; i++)
        times[i] = s->points[i].time_ps ? s->points[i].time_ps : s->points[i].bound_ps;
    qsort(times, s->n, sizeof *times, by_bound);
    rlt_time t = times[(uint32_t)(share * (s->n - 1))];
    free(times);
    return (double)t;
}

void rlt_plan_sample_json(rlt_jw *w, const rlt_layouts *l)
{
    const rlt_layout_sample *s = &l->sample;
    double low, high;
    if (!s->n)
        return;
    interval(s->faster, s->n, &low, &high);
    rlt_jw_object(w, "sample");
    rlt_jw_u64(w, "possible", s->n);
    rlt_jw_u64(w, "drawn", s->drawn);
    rlt_jw_u64(w, "simulated", s->simulated);
    rlt_jw_u64(w, "than_ps", (uint64_t)s->than_ps);
    rlt_jw_u64(w, "faster", s->faster);
    rlt_jw_double(w, "share", (double)s->faster / s->n, 6);
    rlt_jw_double(w, "share_low", low, 6);
    rlt_jw_double(w, "share_high", high, 6);
    rlt_jw_double(w, "median_ps", least_at(s, 0.5), 0);
    rlt_jw_end_object(w);
}

void rlt_plan_sample_print(FILE *out, const rlt_layouts *l)
{
    const rlt_layout_sample *s = &l->sample;
    double low, high;
    if (!s->n)
        return;
    interval(s->faster, s->n, &low, &high);
    fprintf(
        out,
        "at random: of %u possible layouts (%llu drawn) %u take less than %.4g s: %.1f %%, 95 %% interval "
        "%.1f to %.1f %%; half take at least %.2f times the fastest\n",
        s->n, (unsigned long long)s->drawn, s->faster, (double)s->than_ps / 1e12, 100.0 * s->faster / s->n,
        100 * low, 100 * high, least_at(s, 0.5) / (double)l->result.points[0].time_ps);
}
