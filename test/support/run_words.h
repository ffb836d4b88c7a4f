/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs as a user asks for them, from one text of options, up to their checked end. */
#ifndef RLT_TEST_SUPPORT_RUN_WORDS_H
#define RLT_TEST_SUPPORT_RUN_WORDS_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "test/support/option_words.h"
#include "workload/experiment/run/faults.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/setup/settings.h"
#include "workload/setup/trace_options.h"

#define AT(field) offsetof(rlt_run_settings, field)
static const rlt_option_group test_run_groups[] = {{"Workload", rlt_workload_options, 0},
                                                   {"Training", rlt_training_options, 0},
                                                   {"Recording", rlt_trace_option_table, AT(recording)},
                                                   {"Network", rlt_settings_options, AT(sim)},
                                                   {"What if", rlt_what_if_options, 0},
                                                   {"Other traffic", rlt_job_options, AT(jobs)},
                                                   {"Faults", rlt_fault_options, AT(faults)},
                                                   {0}};
#undef AT

static char trace[] = "/tmp/ringlet-run-XXXXXX"; /* a file of the test */

typedef struct asked {
    char text[600]; /* the settings point into it */
    rlt_run_settings settings;
    rlt_parsed args;
    rlt_run run;
} asked;

/* Reads "topology=switch:3@1GB/s,500ns no-skew ...". TRACE stands for the file of the test. */
static inline int read_words(asked *a, const char *words, rlt_error *err)
{
    *a = (asked){.args = {0}};
    size_t used = 0;
    for (const char *at = words; *at; at++)
        if (strncmp(at, "TRACE", 5) == 0) {
            used += (size_t)snprintf(a->text + used, sizeof a->text - used, "%s", trace);
            at += 4;
        } else {
            a->text[used++] = *at;
        }
    assert_int_equal(rlt_options_begin(test_run_groups, &a->settings, &a->args, err), 0);
    return test_give_words(test_run_groups, &a->args, a->text, err);
}

/* Runs to the end. Closing is the caller's. */
static inline int go(asked *a, const char *words, rlt_error *err)
{
    *err = (rlt_error){0};
    int rc = read_words(a, words, err);
    a->run.args = &a->args;
    a->run.settings = &a->settings;
    if (!rc && !(rc = rlt_run_load(&a->run, err)) && !(rc = rlt_run_prepare(&a->run, err)) &&
        !(rc = rlt_run_simulate(&a->run, err)))
        rc = rlt_run_check(&a->run, NULL, err);
    return rc;
}

static inline void done(asked *a)
{
    rlt_run_close(&a->run);
    rlt_parsed_free(&a->args);
}

#endif
