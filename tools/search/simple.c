/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods without memory of their own: uniform, random, exhaustive. */
#include <stdlib.h>

#include "sim/base/error.h"
#include "tools/search/search.h"
#include "tools/search/trial.h"

int rlt__try_uniform(rlt_trial *t, rlt_error *err)
{
    uint32_t n = rlt__trial_most_options(t);
    uint16_t *point = malloc(t->problem->n * sizeof *point);
    rlt_judged j;
    int rc = point ? 0 : rlt_nomem(err);
    for (uint32_t o = 0; o < n && !rc; o++) {
        rlt__trial_uniform(t, o, point);
        rc = rlt__trial_judge(t, point, &j, err);
    }
    free(point);
    return rc;
}

static int random_points(rlt_trial *t, rlt_error *err)
{
    uint16_t *point = malloc(t->problem->n * sizeof *point);
    rlt_judged j;
    int rc = point ? 0 : rlt_nomem(err);
    while (!rc) {
        for (uint32_t i = 0; i < t->problem->n; i++)
            point[i] = rlt__trial_option(t, i);
        rc = rlt__trial_judge(t, point, &j, err);
    }
    free(point);
    return rc;
}

/* Advances to the next allowed point, as an odometer does. Returns false after the last. */
static bool next_point(const rlt_trial *t, uint16_t *point)
{
    for (uint32_t i = 0; i < t->problem->n; i++) {
        do
            point[i]++;
        while (point[i] < t->problem->options[i] && !rlt__trial_allowed(t, i, point[i]));
        if (point[i] < t->problem->options[i])
            return true;
        for (point[i] = 0; !rlt__trial_allowed(t, i, point[i]);)
            point[i]++;
    }
    return false;
}

static int all_points(rlt_trial *t, rlt_error *err)
{
    uint16_t *point = calloc(t->problem->n, sizeof *point);
    rlt_judged j;
    double count = 1;
    int rc = point ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < t->problem->n; i++)
        count *= t->problem->options[i];
    if (!rc && count > (double)t->budget + 0.5)
        rc = rlt_fail(err, RLT_EUSAGE, "--method",
                      "exhaustive search has %.0f points, and the budget is %llu: raise "
                      "--budget, or take fewer groups",
                      count, (unsigned long long)t->budget);
    for (uint32_t i = 0; i < t->problem->n && !rc; i++)
        while (!rlt__trial_allowed(t, i, point[i]))
            point[i]++;
    while (!rc) {
        t->idle = 0;
        rc = rlt__trial_judge(t, point, &j, err);
        if (!rc && !next_point(t, point))
            break;
    }
    free(point);
    return rc;
}

const rlt_search_method rlt__search_uniform = {
    "uniform", "the best point that gives every variable the same option", rlt__try_uniform, false};
const rlt_search_method rlt__search_random = {"random", "independent random points", random_points, false};
const rlt_search_method rlt__search_exhaustive = {"exhaustive", "all points, if the budget suffices",
                                                  all_points, false};
