/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training under test, with its model and accelerator. A failure ends the test with its message. */
#ifndef RLT_TEST_SUPPORT_TRAININGS_TRAINING_H
#define RLT_TEST_SUPPORT_TRAININGS_TRAINING_H

#include <stdbool.h>
#include <stdlib.h>

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

/* What is received is used: an operation of the rank waits for it. */
static inline void test_awaited(const rlt_program *p)
{
    bool *awaited = calloc((size_t)p->n_ops + 1, sizeof *awaited);
    assert_non_null(awaited);
    for (uint32_t i = 0; i < p->n_ops; i++)
        for (uint32_t k = 0; k < p->ops[i].n_deps; k++)
            awaited[p->deps[p->ops[i].first_dep + k]] |= p->ops[i].kind != RLT_OP_RECV;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_RECV && !awaited[i])
            fail_msg("rank %u: nothing waits for operation %u", p->ops[i].rank, i);
    free(awaited);
}

static inline rlt_program *test_program(fixture *f, uint32_t ranks)
{
    rlt_program *p = NULL;
    if (rlt_training_plan(&f->t, ranks, &f->err) || rlt_training_program(&f->t, &p, &f->err))
        fail_msg("%s: %s", f->err.where, f->err.what);
    test_awaited(p);
    return p;
}

#endif
