/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The k-th allocation fails, for k = 1, 2, ..., while recordings are read or checked: of two ranks, with waits that are recorded
 * or inferred, threads of the autograd engine, early work, groups and a host's trace. The reader says so, and gives back all
 * memory. */
#include "test/support/failing.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define COMM(name)                                                                                           \
    ",\"Collective name\":\"" name "\",\"In msg nelems\":12,\"Out msg nelems\":12,\"dtype\":\"Float\","      \
    "\"Group size\":2,\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[0, 1]\",\"In split size\":\"[1, 2]\""
#define FIRST                                                                                                \
    STEP(1, 0, 500)                                                                                          \
    STEP(2, 500, 500)                                                                                        \
    OP("aten::mul", 1, 1, 50) KERNEL("early", 7, 5, 9, 1) LAUNCH(1, 10, 5, 2) KERNEL("k", 7, 20, 5, 2)
#define SUM      EVENT("kernel", "ncclDevKernel_AllReduce", 0, 20, 40, 9, ON(20, 3) COMM("allreduce"))
#define EXCHANGE EVENT("kernel", "ncclDevKernel_SendRecv", 0, 20, 60, 9, ON(20, 4) COMM("all_to_all"))
#define BACKWARD                                                                                             \
    OP("autograd::engine::evaluate_function: A", 2, 100, 50) LAUNCH(2, 110, 5, 5) KERNEL("grad", 7, 120, 9, 5)
#define LAST                                                                                                 \
    CALL("cudaEventRecord", 1, 160, 2, 6)                                                                    \
    CALL("cudaStreamWaitEvent", 1, 170, 2, 7)                                                                \
    LAUNCH(1, 180, 5, 8) KERNEL("other", 9, 190, 9, 8) CALL("cudaDeviceSynchronize", 1, 210, 9, 9)
#define WORK FIRST LAUNCH(1, 30, 5, 3) SUM LAUNCH(1, 50, 5, 4) EXCHANGE BACKWARD LAST
#define WAITS                                                                                                \
    EVENT("cuda_sync", "Stream Wait Event", 0, 9, 170, 1,                                                    \
          "\"device\":0,\"stream\":9,\"correlation\":7,\"wait_on_stream\":7,"                                \
          "\"wait_on_cuda_event_record_corr_id\":6")
#define CALLED EVENT("cpu_op", "record_param_comms", 1, 1, 29, 9, "\"Collective name\":\"allreduce\"")
#define RANK(r, events)                                                                                      \
    "{\"distributedInfo\":{\"rank\":" #r                                                                     \
    ",\"world_size\":2,\"pg_config\":[{\"pg_name\":\"g\",\"ranks\":[0,1]}]},"                                \
    "\"traceEvents\":[" events "{}]}"
#define HOST                                                                                                            \
    "{\"nodes\":[{\"name\":\"record_param_comms\",\"inputs\":[[[1,2,0,12,4,\"cuda:0\"]],7,1,0,\"allreduce\",[1,2],[]]," \
    "\"outputs\":[]}]}"

typedef struct job {
    const char *paths[2], *host;
    uint32_t n;
    bool checks;
} job;

static int read_job(const void *what, uint64_t *result, rlt_error *why)
{
    const job *j = what;
    rlt_read_options o = options();
    rlt_program *p = NULL;
    char *text = NULL;
    o.host_trace_dir = j->host;
    int rc = j->checks ? rlt_reader_kineto.check(j->paths, j->n, &o, &text, why)
                       : rlt_reader_kineto.read(j->paths, j->n, &o, &p, why);
    *result = p ? p->hash ^ p->n_ops ^ (uint64_t)p->n_deps << 20 : text ? strlen(text) : 0;
    rlt_program_free(p);
    free(text);
    return rc;
}

static void each_allocation(void **state)
{
    static const char *const texts[][2] = {{RANK(0, WORK), RANK(1, WORK)},
                                           {RANK(0, WORK WAITS), RANK(1, WORK WAITS)},
                                           {RANK(0, WORK CALLED), RANK(1, CALLED WORK)}};
    static const char lone[] =
        TRACE(STEP(0, 0, 500) LAUNCH(1, 10, 5, 2) KERNEL("ncclDevKernel_AllReduce", 7, 20, 5, 2));
    char paths[3][128];
    unsigned long failed = 0;
    (void)state;
    path_of("a.json", paths[0], sizeof paths[0]);
    path_of("b.json", paths[1], sizeof paths[1]);
    path_of("et_0.json", paths[2], sizeof paths[2]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int checks = 0; checks < 2; checks++) {
            const job j = {.paths = {paths[0], paths[1]}, .n = 2, .checks = checks};
            write_file("a.json", texts[i][0]);
            write_file("b.json", texts[i][1]);
            failed += test_each_allocation("two ranks", read_job, &j, false);
        }
    const job j = {.paths = {paths[0]}, .n = 1, .host = paths[2]};
    write_file("a.json", lone);
    write_file("et_0.json", HOST);
    failed += test_each_allocation("host's trace", read_job, &j, false);
    assert_true(!TEST_COUNTED || failed > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests_name("kineto_no_memory", tests, make_folder, remove_folder);
}
