/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet plan --failures: expected times of the rows. */
#include "workload/experiment/layouts/goodput.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/replay/failures.h"

int rlt_plan_failures(const rlt_plan_asked *s, rlt_failures *out, rlt_error *err)
{
    if (!s->run.faults.failures)
        return s->run.faults.iterations ? rlt_fail(err, RLT_EUSAGE, "--iterations", "needs --failures") : 0;
    int rc = rlt_failures_parse(s->run.faults.failures, out, err);
    if (rc)
        rlt_error_prefix(err, "--failures");
    return rc;
}

static const double longest_s = 9e6; /* that picoseconds reach */

int rlt_plan_goodput(const rlt_layouts *l, const rlt_plan_asked *s, rlt_planned *row, rlt_error *err)
{
    rlt_failures f;
    rlt_layout_goodput g;
    if (!s->run.faults.failures)
        return 0;
    int rc = rlt_plan_failures(s, &f, err);
    if (!rc)
        rc = rlt_layout_goodput_of(&f, rlt_layouts_ranks(l), row->point->time_ps, s->run.faults.iterations,
                                   &g, err);
    if (rc)
        return rc;
    if (g.expected_s < longest_s) /* else it is absent */
        row->expected_ps = (rlt_time)(g.expected_s * 1e12);
    row->goodput = g.goodput;
    return 0;
}
