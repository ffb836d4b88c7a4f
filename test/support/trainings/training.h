/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training under test, with its model and accelerator. A failure ends the test with its message. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_TRAINING_H
#define RLT_TEST_SUPPORT_TRAININGS_TRAINING_H

#include "sim/base/error.h"
#include "test/support/support.h"
#include "test/support/trainings/blocks.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

typedef struct fixture {
    rlt_model model;
    rlt_accelerator accelerator;
    rlt_training t;
    rlt_error err;
} fixture;

/* Sets a training with the defaults, over the fixture's model, on the accelerator of blocks.h. */
static inline void test_begin(fixture *f)
{
    f->accelerator = test_accelerator();
    f->t = rlt_training_default();
    f->t.model = &f->model;
    f->t.accelerator = &f->accelerator;
}

static inline void test_set(fixture *f, const char *name, const char *value)
{
    if (rlt_training_set(&f->t, name, value, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
}

static inline rlt_program *test_program(fixture *f, uint32_t ranks)
{
    rlt_program *p = NULL;
    if (rlt_training_plan(&f->t, ranks, &f->err) || rlt_training_program(&f->t, &p, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    return p;
}

#endif
