/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation of a reader fails, for k = 1, 2, ..., on a file of each format, and on one that breaks off:
 * the reader says so, or reads the same, and gives back all memory. */
#include "test/support/failing.h"

#include "sim/base/error.h"
#include "test/support/support.h"
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
    (void)state;
    test_each_file(files, sizeof files / sizeof *files, read_trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
