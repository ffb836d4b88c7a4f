/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/goodput.h"

int rlt_layout_goodput_of(const rlt_failures *f, uint32_t accelerators, rlt_time iteration_ps,
                          uint64_t iterations, rlt_layout_goodput *out, rlt_error *err)
{
    const uint64_t seed = 1; /* for timelines, which are not used here */
    double one = (double)iteration_ps * 1e-12, work = one * (double)iterations;
    rlt_failures_result r;
    int rc = 0;
    if (!iterations) { /* a stretch between two checkpoints stands for all */
        rc = rlt_failures_estimate(f, accelerators, one, seed, &r, err);
        work = rc ? one : f->interval_s > 0 ? f->interval_s : r.best_s;
    }
    if (!rc)
        rc = rlt_failures_estimate(f, accelerators, work, seed, &r, err);
    if (rc)
        return rc;
    *out = (rlt_layout_goodput){.expected_s = one * (r.expected_s / r.work_s),
                                .goodput = r.work_s / r.expected_s,
                                .interval_s = r.interval_s};
    return 0;
}
