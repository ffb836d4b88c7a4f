/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation of a reader fails, for k = 1, 2, ..., on a file of each format, and on one that breaks off:
 * the reader says so, or reads the same, and gives back all memory. */
#include "test/support/failing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/text/file.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define SAMPLE "test/fuzz/corpus/"

static const char *const files[] = {
    SAMPLE "aicb/measured",          SAMPLE "aicb/two-ranks",
    SAMPLE "astra1/data-model",      SAMPLE "astra1/dlrm",
    SAMPLE "simai/transformer",      SAMPLE "goal/two-ways",
    SAMPLE "pipedream/three-nodes",  SAMPLE "timeline/two-stages",
    SAMPLE "rocprof/kernels",        SAMPLE "rocprof/step.json",
    SAMPLE "chakra/transformer",     SAMPLE "chakra-json/list",
    SAMPLE "chakra-json/messages",   SAMPLE "deployment/together-too-large",
    SAMPLE "deployment/transformer",
};

/* A program, or what is said about the file. */
static int read_trace(const void *what, uint64_t *result, rlt_error *err)
{
    const char *path = what;
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    int rc = rlt_trace_read(&path, 1, &o, &p, err);
    *result = rc ? (uint64_t)-rc << 32 : p->hash ^ p->n_ops ^ (uint64_t)p->n_deps << 20;
    rlt_program_free(p);
    return rc == RLT_ENOMEM ? rc : 0;
}

static void each_allocation(void **state)
{
    unsigned long failed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = NULL, path[] = "/tmp/ringlet-no-memory-XXXXXX";
        size_t length = 0;
        rlt_error err = {0};
        if (rlt_read_file(files[i], 1 << 20, &text, &length, &err))
            fail_msg("%s: %s", err.where, err.what);
        test_write_new(path, text, length * 3 / 4);
        free(text);
        failed += test_each_allocation(files[i], read_trace, files[i], false);
        failed += test_each_allocation(path, read_trace, path, false);
        unlink(path);
    }
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
