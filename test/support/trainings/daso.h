/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models for tests of DASO, made by hand or from published tables, and their network. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_DASO_H
#define RLT_TEST_SUPPORT_TRAININGS_DASO_H

#include <stdio.h>

#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/daso/daso.h"
#include "workload/models/model.h"

#define RESNET50_TABLE "test/data/models/resnet50_layers.csv"

enum { MAX_TENSORS = 1024, MAX_LAYERS = 128 };

typedef struct test_model {
    rlt_model model;
    rlt_daso_work work;
    rlt_model_layer layers[MAX_LAYERS];
    rlt_model_tensor tensors[MAX_TENSORS];
    rlt_time forward_ps[MAX_LAYERS], backward_ps[MAX_LAYERS];
} test_model;

static inline void test_model_layer(test_model *t, const char *name, double flop)
{
    assert_true(t->model.n_layers < MAX_LAYERS);
    rlt_model_layer *l = &t->layers[t->model.n_layers++];
    snprintf(l->name, sizeof l->name, "%s", name);
    l->forward_flop = flop;
    l->backward_flop = 2 * flop;
}

static inline void test_model_tensor(test_model *t, uint64_t elements)
{
    assert_true(t->model.n_tensors < MAX_TENSORS);
    t->tensors[t->model.n_tensors++] =
        (rlt_model_tensor){.layer = t->model.n_layers - 1, .elements = elements};
}

static inline void test_model_finish(test_model *t, rlt_time batch_ps)
{
    t->model.layers = t->layers;
    t->model.tensors = t->tensors;
    rlt_daso_spread(&t->model, batch_ps, t->forward_ps, t->backward_ps);
    t->work = (rlt_daso_work){.model = &t->model, .forward_ps = t->forward_ps, .backward_ps = t->backward_ps};
}

/* Makes one layer per computing tensor, with its norms; if `merged` is set, one per that many. */
static inline void test_resnet50(test_model *t, uint32_t merged, rlt_time batch_ps)
{
    char line[200], name[64];
    unsigned long long elements, bytes, computing = 0;
    double flop;
    FILE *f = fopen(RESNET50_TABLE, "r");
    memset(t, 0, sizeof *t);
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f)) {
        assert_int_equal(sscanf(line, "%63[^,],%llu,%llu,%lf", name, &elements, &bytes, &flop), 4);
        if (flop > 0 && computing++ % merged == 0)
            test_model_layer(t, name, flop);
        else if (flop > 0) {
            t->layers[t->model.n_layers - 1].forward_flop += flop;
            t->layers[t->model.n_layers - 1].backward_flop += 2 * flop;
        }
        test_model_tensor(t, elements);
    }
    fclose(f);
    test_model_finish(t, batch_ps);
}

#endif
