/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of the host that a software stack adds to a training: images that the training process loads, and
 * microbatches that it hands over in a pipeline. */
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "test/support/trainings/transformer.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

enum { SAMPLES = 8, RANKS = 2 };

/* Returns the time of operations of a kind on the first rank. */
static rlt_time time_of(const char *spec, const rlt_stack *stack, const char *pp, rlt_op_kind kind)
{
    rlt_accelerator a = test_flat_accelerator(3350000000000u);
    rlt_training t = rlt_training_default();
    rlt_model m = {0};
    rlt_program *p = NULL;
    rlt_error err = {0};
    rlt_time sum = 0;
    a.stacks[a.n_stacks++] = *stack;
    a.kernels.host = 1;
    assert_int_equal(rlt_model_open(spec, &m, &err), 0);
    t.model = &m;
    t.accelerator = &a;
    t.batch = SAMPLES;
    assert_int_equal(rlt_training_set(&t, "pp", pp, &err), 0);
    assert_int_equal(rlt_training_set(&t, "stack", stack->name, &err), 0);
    if (rlt_training_plan(&t, RANKS, &err) || rlt_training_program(&t, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].rank == 0 && p->ops[i].kind == kind)
            sum += p->ops[i].duration_ps;
    rlt_program_free(p);
    rlt_model_free(&m);
    return sum;
}

/* Two data-parallel ranks load four images each, at 2 ms; sequences take no time. */
static void loading(void **state)
{
    const rlt_stack stack = {
        .name = "s", .most = {1, 1, 1, 1, 1}, .host_image_ps = 2 * RLT_MS, .host_ps = 1 * RLT_MS};
    (void)state;
    assert_int_equal(time_of("resnet18", &stack, "1", RLT_OP_HOST), 1 * RLT_MS + 4 * 2 * RLT_MS);
    assert_int_equal(time_of("transformer:layers=2", &stack, "1", RLT_OP_HOST), 1 * RLT_MS);
}

/* Each of eight microbatches passes the stage twice. A stage without others hands nothing over. */
static void handover(void **state)
{
    const rlt_stack none = {.name = "s", .most = {1, 1, 1, 1, 1}};
    rlt_stack stack = none;
    (void)state;
    stack.host_handover_ps = 3 * RLT_MS;
    assert_int_equal(time_of("transformer:layers=2", &stack, "2", RLT_OP_COMPUTE) -
                         time_of("transformer:layers=2", &none, "2", RLT_OP_COMPUTE),
                     SAMPLES * 2 * 3 * RLT_MS);
    assert_int_equal(time_of("transformer:layers=2", &stack, "1", RLT_OP_COMPUTE),
                     time_of("transformer:layers=2", &none, "1", RLT_OP_COMPUTE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading),
        cmocka_unit_test(handover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
