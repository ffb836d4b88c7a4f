/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Minimum of a function of few variables, without derivatives or random numbers: NLopt's SBPLX (Rowan's
 * subplex) or, for smooth functions, BOBYQA (Powell), which needs fewer evaluations. Besides
 * tools/design/solve.c the only user of NLopt. */
#include <math.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "tools/calibrate/calibrate.h"

#ifdef RLT_WITH_NLOPT
#include <nlopt.h>

typedef struct search {
    rlt_fit *fit;
    nlopt_opt opt;
} search;

static double evaluate(unsigned n, const double *x, double *gradient, void *data)
{
    search *s = data;
    bool stop = false;
    double f = s->fit->f(s->fit->ctx, x, &stop);
    (void)gradient; /* NULL for this method */
    if (f < s->fit->least) {
        s->fit->least = f;
        for (unsigned i = 0; i < n; i++)
            s->fit->x[i] = x[i];
    }
    if (stop)
        nlopt_force_stop(s->opt);
    return f;
}

bool rlt_fit_available(void)
{
    return true;
}

const char *rlt_fit_version(char *buffer, size_t size)
{
    int major, minor, patch;
    nlopt_version(&major, &minor, &patch);
    snprintf(buffer, size, "%d.%d.%d", major, minor, patch);
    return buffer;
}

int rlt_fit_run(rlt_fit *fit, rlt_error *err)
{
    search s = {fit, nlopt_create(fit->smooth ? NLOPT_LN_BOBYQA : NLOPT_LN_SBPLX, fit->n)};
    double x[RLT_MAX_CONSTANTS], least;
    nlopt_result r = NLOPT_SUCCESS;
    if (!s.opt)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < fit->n; i++)
        x[i] = fit->x[i];
    fit->least = INFINITY; /* the start is evaluated first, so x never gets worse */
    bool ready = (r = nlopt_set_lower_bounds(s.opt, fit->low)) > 0 &&
                 (r = nlopt_set_upper_bounds(s.opt, fit->high)) > 0 &&
                 (r = nlopt_set_min_objective(s.opt, evaluate, &s)) > 0 &&
                 (r = nlopt_set_initial_step1(s.opt, fit->step)) > 0 &&
                 (r = nlopt_set_xtol_abs1(s.opt, 1e-5)) > 0 &&
                 (r = nlopt_set_maxeval(s.opt, (int)fit->evaluations)) > 0;
    if (ready)
        r = nlopt_optimize(s.opt, x, &least); /* `evaluate` kept the best point */
    nlopt_destroy(s.opt);
    if (r == NLOPT_OUT_OF_MEMORY)
        return rlt_nomem(err);
    return ready ? 0 : rlt_fail(err, RLT_ERANGE, NULL, "NLopt refuses the constants and their bounds");
}
#else
bool rlt_fit_available(void)
{
    return false;
}

const char *rlt_fit_version(char *buffer, size_t size)
{
    snprintf(buffer, size, "none");
    return buffer;
}

int rlt_fit_run(rlt_fit *fit, rlt_error *err)
{
    (void)fit;
    return rlt_fail(
        err, RLT_EUSAGE, NULL,
        "a fit needs NLopt, and this ringlet was built without it: install libnlopt-dev (Debian) and build "
        "again; --check works without");
}
#endif
