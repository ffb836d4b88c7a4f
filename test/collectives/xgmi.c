/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RCCL's paths over eight fully connected GPUs use each directed link once. */
#include "collectives/nodes/xgmi.h"

#include "test/support/support.h"

static void each_link_once(void **state)
{
    const uint32_t(*paths)[RLT_XGMI_GPUS] = rlt_xgmi_paths();
    uint32_t links[RLT_XGMI_GPUS][RLT_XGMI_GPUS] = {{0}}, ends = 0;
    (void)state;
    for (uint32_t k = 0; k < RLT_XGMI_PATHS; k++) {
        uint32_t seen = 0;
        assert_int_equal(paths[k][0], k);
        ends |= 1u << paths[k][RLT_XGMI_GPUS - 1];
        for (uint32_t i = 0; i < RLT_XGMI_GPUS; i++) {
            seen |= 1u << paths[k][i];
            if (i)
                links[paths[k][i - 1]][paths[k][i]]++;
        }
        assert_int_equal(seen, 0xff);
    }
    assert_int_equal(ends, 0xff);
    for (uint32_t a = 0; a < RLT_XGMI_GPUS; a++)
        for (uint32_t b = 0; b < RLT_XGMI_GPUS; b++)
            assert_int_equal(links[a][b], a != b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_link_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
