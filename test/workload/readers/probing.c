/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which reader takes a file, by its name and its first bytes: each format from the first byte count on at
 * which it can be told, and texts that are almost of a format by none. The heads are copied into room of
 * their own size, so that sanitizers see who reads beyond them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/support/support.h"
#include "workload/program/reader.h"

/* The reader that is surest of a file, and how sure it is; NULL: none. */
static const rlt_reader *surest(const char *path, const char *head, size_t n, int *most)
{
    const rlt_reader *best = NULL;
    char *own = malloc(n + 1);
    assert_non_null(own);
    memcpy(own, head, n);
    own[n] = '\0'; /* a head ends so */
    *most = 0;
    for (uint32_t i = 0; rlt_reader_at(i); i++) {
        int sure = rlt_reader_at(i)->probe(path, own, n);
        assert_true(sure >= 0 && sure <= 100);
        if (sure > *most) {
            *most = sure;
            best = rlt_reader_at(i);
        }
    }
    free(own);
    return best;
}

#define CSV_OF_ROCPROF "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Start_Timestamp\"\n"

static void formats_are_told_apart(void **state)
{
    static const struct {
        const char *reader, *path, *head; /* reader NULL: none */
    } all[] = {
        {"goal", "x", "num_ranks 2\n"},
        {"goal", "x", "num_ranks\t2"},
        {"goal", "x", "\n\t \r num_ranks 2"},
        {"goal", "x", "/* any */num_ranks 2"},
        {"goal", "x", "/**/ // num\n // \n/* * / */ num_ranks 2"},
        {NULL, "x", "num_ranks"},
        {NULL, "x", "num_ranks2 "},
        {NULL, "x", "num_rank 2"},
        {NULL, "x", "/ num_ranks 2"},
        {NULL, "x", "/x num_ranks 2"},
        {NULL, "x", "/* num_ranks 2"},
        {NULL, "x", "// num_ranks 2"},
        {"aicb", "x", "[rank0 ~ rank7]\n"},
        {NULL, "x", "[rank1 ~ rank7]\n"},
        {"aicb", "x", "comm_type,comm_group,comm_group_size,msg_size,stage\n"},
        {NULL, "x", "comm_type,comm_group,comm_group_size,msg\n"},
        {NULL, "x", "comm_type,comm_group,comm_group_size,msg_size"},
        {NULL, "x", "[rank0 ~ rank"},
        {"simai", "x", "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n"},
        {"simai", "x", "\n HYBRID_TRANSFORMER ep: 1\n"},
        {"simai", "x", "MICRO\n1\nmicro_test -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 100 1\n"},
        {NULL, "x", "MICRO 1 2\n1\nconv -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 100 1\n"},
        {"astra1", "x", "MICRO\n1\nconv -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 100 1\n"},
        {"astra1", "x", "DATA\n1\n"},
        {"astra1", "x", "HYBRID_DLRM 3\n1\n"},
        {"astra1", "x", "HYBRID_CUSTOMIZED\n"},
        {NULL, "x", "HYBRID_DLRM 3 4\n1\n"},
        {NULL, "x", "DATAS\n1\n"},
        {"astra1", "x", "a -1 1 NONE 0 1 ALLGATHER_EP 0 1 ALLREDUCE_DP_EP 100 1\n"},
        {NULL, "x", "a -1 1 NONES 0 1 NONE 0 1 NONE 100 1\n"},
        {NULL, "x", "a -1 1 NONE 0 1 NO 0 1 NONE 100 1\n"},
        {NULL, "x", "a -1 1 NONE 0 1 NONE 0 1 NONE_E 100 1\n"},
        {NULL, "x", "a -1 1 NONE 0 1 NONE 0 1 NONE 100\n"},
        {"timeline", "x", "dp_rank,optype,start_ts\n"},
        {"timeline", "x", "start_ts,stage,optype,dp_rank\n"},
        {NULL, "x", "dp_rank,optype,start_t\n"},
        {NULL, "x", "dp_rank,optyp,start_ts\n"},
        {NULL, "x", "dprank,optype,start_ts\n"},
        {NULL, "x", "dp_rank,optype,start_ts"},
        {NULL, "x", "dp_rank,optype\nstart_ts\n"},
        {"rocprof", "x", CSV_OF_ROCPROF},
        {"rocprof", "x", "Kernel_Name,Kind,Agent_Id,Start_Timestamp"},
        {NULL, "x", "Kernel_Name,Kind,Agent_Id\nStart_Timestamp"},
        {NULL, "x", "Kernel_Name,Kind,Agent,Start_Timestamp"},
        {NULL, "x", "Kernel_Nam,Kind,Agent_Id,Start_Timestamp"},
        {NULL, "x", "Kernel_Name,Kid,Agent_Id,Start_Timestamp"},
        {"rocprof", "a_kernel_trace.csv", "?"},
        {"rocprof", "kernel_trace.csv", "?"},
        {NULL, "a_kernel_trace.csv2", "?"},
        {NULL, "ernel_trace.csv", "?"},
        {"rocprof", "a_memory_copy_trace.csv", "?"},
        {"rocprof", "a_hip_api_trace.csv", "?"},
        {"rocprof", "a_marker_api_trace.csv", "?"},
        {"rocprof", "a_rccl_api_trace.csv", "?"},
        {"rocprof", "a_agent_info.csv", "?"},
        {"rocprof", "x", " \r\n\t{\"rocprofiler-sdk-tool\": ["},
        {NULL, "x", "[\"rocprofiler-sdk-tool\": ["},
        {NULL, "a_results.json", "?"},
        {NULL, "x", "?"},
        {NULL, "x", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int sure;
        const rlt_reader *r = surest(all[i].path, all[i].head, strlen(all[i].head), &sure);
        if (!r != !all[i].reader || (r && strcmp(r->name, all[i].reader) != 0))
            fail_msg("%s '%s': %s", all[i].path, all[i].head, r ? r->name : "none");
        for (size_t n = 0; n < strlen(all[i].head); n++)
            surest(all[i].path, all[i].head, n, &sure);
    }
}

/* The JSON of a process is not read where its kernels are a CSV beside it. */
static void json_beside_its_csv(void **state)
{
    char folder[] = "/tmp/ringlet-probe-XXXXXX", csv[80], json[80];
    int sure;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(csv, sizeof csv, "%s/a_kernel_trace.csv", folder);
    snprintf(json, sizeof json, "%s/a_results.json", folder);
    assert_null(surest(json, "?", 1, &sure));
    FILE *f = fopen(csv, "w");
    assert_non_null(f);
    fclose(f);
    const rlt_reader *r = surest(json, "?", 1, &sure);
    unlink(csv);
    rmdir(folder);
    assert_non_null(r);
    assert_string_equal(r->name, "rocprof");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_told_apart),
        cmocka_unit_test(json_beside_its_csv),
    };
    return cmocka_run_group_tests_name("probing", tests, NULL, NULL);
}
