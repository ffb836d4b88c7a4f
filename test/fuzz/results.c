/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets: measurements, studies, designs, saved answers, timelines. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "test/fuzz/fuzz.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/calibrate/training/train.h"
#include "tools/report/timeline.h"
#include "tools/sweep/study/study.h"
#include "workload/design/design.h"

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

static const int astra1 = 0, simai_1 = 1, listed = 2;
const fuzz_target fuzz_results[] = {{"measurements", .run = measurements},
                                    {"trainings", .run = trainings},
                                    {"study", .run = study, .change = fuzz_change_json},
                                    {"design-astra1", .run = work, .with = &astra1},
                                    {"design-simai", .run = work, .with = &simai_1},
                                    {"design-json", .run = work, .with = &listed, .change = fuzz_change_json},
                                    {"prices", .run = prices, .change = fuzz_change_json},
                                    {"timeline-page", .run = timeline_page, .change = fuzz_change_json},
                                    {0}};
