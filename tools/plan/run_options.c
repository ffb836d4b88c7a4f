/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/plan/run_options.h"

#include <stddef.h>

#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/setup/settings.h"

bool rlt_plan_of_the_run(const rlt_option *o)
{
    static const rlt_option *const groups[] = {rlt_training_options, rlt_workload_options,
                                               rlt_settings_options, rlt_what_if_options};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (const rlt_option *of = groups[g]; of->name; of++)
            if (of == o)
                return true;
    return false;
}
