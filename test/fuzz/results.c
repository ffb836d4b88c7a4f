/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: measurements, studies, designs, saved answers, timelines. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "test/fuzz/fuzz.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/calibrate/training/train.h"
#include "tools/plan/answers.h"
#include "tools/report/timeline.h"
#include "tools/sweep/study/study.h"
#include "workload/design/design.h"
#include "workload/experiment/coll/lists.h"
#include "workload/experiment/run/job_file.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

static void measurements(const fuzz_input *in)
{
    static const rlt_measure_hints hints = {"machine", "all_reduce", 8, 1};
    const char *path = fuzz_path(in, "");
    rlt_measurements t = {0};
    rlt_error err = {0};
    int rc = rlt_measurements_read(&t, path, fuzz_pick(2) ? &hints : &(rlt_measure_hints){0}, &err);
    fuzz_judge(rc, &err, path);
    FUZZ_CHECK(rc || t.n > 0);
    for (uint32_t i = 0; i < t.n; i++)
        FUZZ_CHECK(t.rows[i].time_ps > 0);
    rlt_measurements_free(&t);
}

static void trainings(const fuzz_input *in)
{
    const char *path = fuzz_path(in, ".csv");
    rlt_train_reading how = {.names = "tools/calibrate/training/names.json"};
    rlt_train_rows t = {0};
    rlt_error err = {0};
    if (fuzz_has_long_number(in, 6))
        return;
    int rc = rlt_train_rows_read(&t, path, &how, &err);
    fuzz_judge(rc, &err, path);
    rlt_train_rows_free(&t);
}

static void study(const fuzz_input *in)
{
    rlt_sweep_study s;
    rlt_error err = {0};
    if (memchr(in->text, 0, in->n))
        return;
    int rc = rlt_sweep_study_parse("input", in->text, &s, &err);
    fuzz_judge(rc, &err, NULL);
    for (uint64_t id = 0; rc == 0 && id < rlt_sweep_end(&s) && id < 16; id++) {
        rlt_sweep_point p;
        rlt_arena arena = {0};
        rlt_option_texts texts = {0};
        rlt_error why = {0};
        if (rlt_sweep_point_at(&s, id, &p))
            fuzz_judge(rlt_sweep_options(&s, &p, &arena, &texts, &why), &why, NULL);
        free(texts.items);
        rlt_arena_free(&arena);
    }
    rlt_sweep_study_free(&s);
}

typedef int work_reader(rlt_design_work *w, const char *path, rlt_error *err);

static int simai(rlt_design_work *w, const char *path, rlt_error *err)
{
    return rlt_design_work_simai(w, path, false, err);
}

static void work(const fuzz_input *in)
{
    static work_reader *const readers[] = {rlt_design_work_astra1, simai, rlt_design_work_json};
    rlt_design_work w = {.model = 4, .data = 4};
    rlt_error err = {0};
    int rc = readers[*(const int *)in->with](&w, fuzz_path(in, ""), &err);
    fuzz_judge(rc, &err, NULL);
    rlt_design_work_free(&w);
}

static void prices(const fuzz_input *in)
{
    rlt_design_prices p = {0};
    rlt_error err = {0};
    const char *path = fuzz_path(in, ".json");
    fuzz_judge(rlt_design_prices_read(path, &p, &err), &err, path);
}

static void timeline_page(const fuzz_input *in)
{
    rlt_timeline t = {0};
    rlt_error err = {0};
    const char *path = fuzz_path(in, ".json");
    fuzz_judge(rlt_timeline_read(path, &t, &err), &err, path);
    rlt_timeline_free(&t);
}

/* The first line is the question; what follows answers it. */
static void answers(const fuzz_input *in)
{
    static const char *const given[] = {"tp=1+2", "pp=1", "microbatch=1"};
    static rlt_layout_space space;
    static rlt_model model;
    rlt_answers a = {.path = "input"};
    rlt_layout_task task = {.what = RLT_LAYOUT_SIMULATE, .level = RLT_LAYOUT_POINT};
    rlt_layout_outcome known;
    rlt_error err = {0};
    char question[2048];
    if (!space.n) {
        rlt_training base = rlt_training_default();
        base.model = &model;
        base.batch = 4;
        FUZZ_CHECK(rlt_model_open("transformer:layers=2", &model, &err) == 0);
        FUZZ_CHECK(rlt_layout_space_open(&base, 4, given, 3, &space, &err) == 0);
    }
    snprintf(question, sizeof question, "%.*s", (int)strcspn(in->text, "\n"), in->text);
    fuzz_judge(rlt_answers_read(&a, question, &space, in->text, &err), &err, NULL);
    (void)rlt_answers_recall(&a, &task, &known);
    rlt_answers_close(&a);
}

static void job_file(const fuzz_input *in)
{
    rlt_error err = {0};
    if (fuzz_has_long_number(in, 4) || fuzz_names_device(in))
        return;
    fuzz_judge(rlt_job_file_check(fuzz_path(in, ".json"), NULL, 0, &err), &err, NULL);
}

static void counts(const fuzz_input *in)
{
    const char *path = fuzz_path(in, "");
    uint64_t *numbers = NULL;
    rlt_error err = {0};
    int rc = rlt_read_counts(path, 1 + fuzz_pick(2) * 3, 4, &numbers, &err);
    fuzz_judge(rc, &err, path);
    FUZZ_CHECK((rc == 0) == (numbers != NULL));
    free(numbers);
}

static const int astra1 = 0, simai_1 = 1, listed = 2;
const fuzz_target fuzz_results[] = {{"measurements", .run = measurements},
                                    {"trainings", .run = trainings},
                                    {"study", .run = study, .change = fuzz_change_json},
                                    {"design-astra1", .run = work, .with = &astra1},
                                    {"design-simai", .run = work, .with = &simai_1},
                                    {"design-json", .run = work, .with = &listed, .change = fuzz_change_json},
                                    {"prices", .run = prices, .change = fuzz_change_json},
                                    {"timeline-page", .run = timeline_page, .change = fuzz_change_json},
                                    {"answers", .run = answers},
                                    {"job-file", .run = job_file, .change = fuzz_change_json},
                                    {"counts", .run = counts},
                                    {0}};
