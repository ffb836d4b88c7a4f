/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: tables that users measure or write, and results that are read again: measured layouts, names of systems,
 * gradients, losses, results for pages, what-ifs of a page, databases of studies. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/json.h"
#include "test/fuzz/fuzz.h"
#include "tools/base/options.h"
#include "tools/calibrate/training/train.h"
#include "tools/coll/gradients.h"
#include "tools/report/run_page.h"
#include "tools/report/study_data.h"
#include "workload/daso/daso.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/layouts/measured.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

/* A small search of layouts, opened once. */
static const rlt_layouts *search(void)
{
    static const rlt_option_group groups[] = {
        {"Training", rlt_training_options, 0},
        {"Workload", rlt_workload_options, 0},
        {"Network", rlt_settings_options, offsetof(rlt_run_settings, sim)},
        {"What if", rlt_what_if_options, 0},
        {0}};
    static char words[][40] = {"plan",    "--model=transformer:layers=2", "--accelerator=h100-sxm",
                               "-t",      "switch:4@50GB/s,1us",          "--layout=tp=1+2,pp=1",
                               "--train", "batch=8,microbatch=1+2"};
    enum { WORDS = sizeof words / sizeof *words };
    static rlt_run_settings settings;
    static rlt_parsed parsed;
    static rlt_layouts layouts;
    char *given[WORDS];
    rlt_error err = {0};
    if (layouts.run.setup.topology)
        return &layouts;
    for (int i = 0; i < WORDS; i++)
        given[i] = words[i];
    int rc = rlt_options_parse(groups, WORDS, given, &settings, &parsed, &err);
    if (!rc)
        rc = rlt_layouts_open(&layouts, &settings, &parsed, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n", err.where, err.what);
    FUZZ_CHECK(rc == 0);
    return &layouts;
}

static void measured_layouts(const fuzz_input *in)
{
    const rlt_layouts *l = search();
    const char *path = fuzz_path(in, ".csv");
    rlt_measured m = {0};
    rlt_error err = {0};
    int rc = rlt_measured_read(l, path, &m, &err);
    fuzz_judge(rc, &err, path);
    for (uint32_t i = 0; rc == 0 && i < m.n; i++)
        FUZZ_CHECK(m.runs[i].measured_s > 0 && m.runs[i].line > 1);
    rlt_measured_free(&m);
}

/* What names of systems and models in tables stand for, under a table of two rows. */
static void training_names(const fuzz_input *in)
{
    static const char table[] = "test/fuzz/corpus/trainings/rows.csv";
    rlt_train_reading how = {.names = fuzz_path(in, ".json")};
    rlt_train_rows t = {0};
    rlt_error err = {0};
    if (fuzz_has_long_number(in, 6))
        return;
    int rc = rlt_train_rows_read(&t, table, &how, &err);
    fuzz_judge(rc, &err, NULL);
    FUZZ_CHECK(rc || t.n > 0);
    rlt_train_rows_free(&t);
}

static void gradients(const fuzz_input *in)
{
    rlt_gradients_ask ask = {
        .source = fuzz_path(in, fuzz_pick(2) ? ".f32" : ".txt"), .workers = 2, .size = 1};
    rlt_gradients g = {0};
    rlt_inputs inputs = {0};
    rlt_error err = {0};
    int rc = rlt_gradients_make(&ask, &g, &inputs, &err);
    fuzz_judge(rc, &err, ask.source);
    FUZZ_CHECK(rc || g.length > 0);
    for (uint64_t i = 0; rc == 0 && i < g.length; i++)
        FUZZ_CHECK(g.x[1][i] - g.x[1][i] == 0); /* finite */
    rlt_gradients_free(&g);
}

static void losses(const fuzz_input *in)
{
    rlt_daso d = rlt_daso_default();
    const char *path = fuzz_path(in, ".txt");
    rlt_error err = {0};
    int rc = rlt_daso_set(&d, "loss", path, &err);
    fuzz_judge(rc, &err, path);
    for (uint32_t i = 0; rc == 0 && i < d.loss.n; i++)
        FUZZ_CHECK(d.loss.values[i] >= 0);
    rlt_daso_free(&d);
}

static void run_page(const fuzz_input *in)
{
    rlt_json_doc *doc = NULL;
    rlt_error err = {0};
    int rc = rlt_json_parse("input", in->text, in->n, &doc, &err);
    if (!rc) {
        rlt_run_page page = {.run = rlt_json_root(doc), .events = 16};
        rc = rlt_run_page_check(page.run, &err);
        if (!rc)
            rc = rlt_run_page_write(&page, "/dev/null", &err);
    }
    fuzz_judge(rc, &err, NULL);
    rlt_json_free(doc);
}

/* All that is in a database is read. One without the study's tables, and one that is damaged, is refused. */
static void study_file(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".db"), *name, *pointers, *values;
    rlt_study *s = NULL;
    rlt_study_head head;
    rlt_study_point point;
    rlt_study_link link;
    rlt_error err = {0};
    FUZZ_CHECK(rlt_is_study(path, &err) >= 0);
    int rc = rlt_study_open(path, &s, &err);
    if (!rc)
        rc = rlt_study_head_of(s, &head, &err);
    while (!rc && (rc = rlt_study_next_axis(s, &name, &pointers, &values, &err)) == 1)
        rc = 0;
    while (!rc && (rc = rlt_study_next_point(s, &point, &err)) == 1)
        rc = 0;
    while (!rc && (rc = rlt_study_next_link(s, &link, &err)) == 1)
        rc = 0;
    rlt_error_prefix(&err, "input");
    fuzz_judge(rc, &err, NULL);
    rlt_study_close(s);
}

const fuzz_target fuzz_tables[] = {{"measured-layouts", .run = measured_layouts},
                                   {"training-names", .run = training_names, .change = fuzz_change_json},
                                   {"gradients", .run = gradients},
                                   {"losses", .run = losses},
                                   {"run-page", .run = run_page, .change = fuzz_change_json},
                                   {"study-file", .run = study_file, .cost = 2},
                                   {0}};
