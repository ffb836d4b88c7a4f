/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of layers (ASTRA-sim 1.0, SimAI, AICB, PipeDream): times by hand on two ranks, and totals of
 * published files, whose columns were added up by awk. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/text_file.h"
#include "test/support/traces/replay.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define DATA "../shared/data/"

static int load(const char *path, uint32_t ranks, const uint32_t *dims, rlt_program **out, rlt_error *err)
{
    rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = ranks, .n_dims = dims ? 2 : 0};
    for (int d = 0; dims && d < 2; d++)
        o.dims[d] = dims[d];
    *err = (rlt_error){0};
    return rlt_trace_read(&path, 1, &o, out, err);
}

static int load_text(const char *text, uint32_t ranks, rlt_program **out, rlt_error *err)
{
    char path[] = "/tmp/ringlet-layers-XXXXXX";
    test_write_new(path, text, strlen(text));
    int rc = load(path, ranks, NULL, out, err);
    unlink(path);
    return rc;
}

static void expect_ns(const char *text, const char *reader, int64_t ns)
{
    rlt_program *p = NULL;
    rlt_error err;
    if (load_text(text, 2, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, reader);
    /* At 1 B/ns behind 2 x 500 ns a ring all-reduce of b bytes on two ranks takes b + 2000 ns. */
    assert_int_equal(test_replay(p, "switch:2@1GB/s,500ns"), ns * 1000);
    rlt_program_free(p);
}

#define TWO "a -1 100 NONE 0 50 NONE 0 30 ALLREDUCE 2000 7\nb -1 200 NONE 0 60 NONE 0 40 ALLREDUCE 4000 9\n"

static void by_hand(void **state)
{
    (void)state;
    /* b's gradient is reduced from 340 to 6340, then a's to 10340; then a is updated. */
    expect_ns("DATA\r\n2\t\t\r\n" TWO "\r\n\n", "astra1", 10347);
    expect_ns(TWO, "astra1", 10347);
    expect_ns("HYBRID_CUSTOMIZED\n1\na -1 100 NONE 0 50 NONE 0 30 ALLREDUCE 2000 7 MODEL\n", "astra1", 187);
    expect_ns("HYBRID_CUSTOMIZED\n1\na -1 100 NONE 0 50 NONE 0 30 ALLREDUCE 2000 7 DATA\n", "astra1", 4137);
    expect_ns("MODEL\n2\n" TWO, "astra1", 496);
    /* Forward 100, its all-reduce to 4100, input gradient to 4150, its all-reduce to 7150, 30, 5. */
    expect_ns(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 2 "
        "checkpoints: 0 checkpoint_initiates: 0\n1\na -1 100 ALLREDUCE 2000 50 ALLREDUCE 1000 30 ALLREDUCE "
        "900 5\n",
        "simai", 7185);
    /* Layer 0 is repeated before the backward pass of layer 1: 300 + 100 + 180 + 16. */
    expect_ns("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 "
              "checkpoint_initiates: 1 1\n2\n" TWO,
              "simai", 596);
    /* The bytes of an all-gather are its result; in a file with checkpoints, the share of a rank. */
#define GATHER "1\na -1 100 ALLGATHER 1000 50 NONE 0 30 NONE 0 7\n"
    expect_ns("HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n" GATHER, "simai", 187 + 500 + 1000);
    expect_ns("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 checkpoints: 1 0\n" GATHER, "simai",
              187 + 1000 + 1000);
    /* Over the data-parallel group of two. */
    expect_ns(
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 1\n1\na -1 100 ALLREDUCE 5000 50 NONE 0 30 ALLREDUCE "
        "2000 7\n",
        "simai", 100 + 50 + 30 + 4000 + 7);
    /* Expert group of two inside it; no ranks are left for _DP_EP. */
    expect_ns(
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 2\n1\na -1 100 ALLTOALL_EP 2000 50 NONE 0 30 "
        "ALLREDUCE_DP_EP 2000 7\n",
        "simai", 100 + 2000 + 50 + 30 + 7);
}

/* The embedding's exchange (2000 ns of 2 x 1000 B) runs beside layer 1, the last bottom layer. Its gradients
 * are sent when layer 2 is done. */
static void exchanges(void **state)
{
    (void)state;
    expect_ns(
        "HYBRID_DLRM 1\n3\ne -1 100 ALLTOALL 2000 50 ALLTOALL 2000 40 NONE 0 0\nb -1 300 NONE 0 30 NONE 0 20 "
        "NONE 0 0\nt -1 200 NONE 0 10 NONE 0 0 NONE 0 0\n",
        "astra1", 4400);
}

static void refuse_for(const char *text, uint32_t ranks, int code, const char *place, const char *what)
{
    rlt_program *p = NULL;
    rlt_error err;
    int rc = load_text(text, ranks, &p, &err);
    if (rc != code || !strstr(err.where, place) || !strstr(err.what, what))
        fail_msg("%d: %s: %s", rc, err.where, err.what);
}

static void refuse(const char *text, int code, const char *place, const char *what)
{
    refuse_for(text, 2, code, place, what);
}

#define ROW "a -1 100 NONE 0 50 NONE 0 30 NONE 0 7\n"

static void refusals(void **state)
{
    (void)state;
    refuse("DATA\n1\na -1 100 NONE 0 50 NONE 0 30 ALLREDUCE x 7\n", RLT_EMALFORMED, ":3", "a size");
    refuse("DATA\n1\na -1 100 NONE 0 50 NONE 0 30 ALLREDUCE 5\n", RLT_EMALFORMED, ":3", "12 columns");
    refuse("DATA\n1\n" ROW "a -1 100 SHUFFLE 5 50 NONE 0 30 NONE 0 7\n", RLT_ESCHEMA, ":4", "SHUFFLE");
    refuse("DATA\n1\na -1 -5 NONE 0 50 NONE 0 30 NONE 0 7\n", RLT_EMALFORMED, ":3", "-5");
    refuse("DATA\n1\na -1 5 NONE 281474976710657 50 NONE 0 30 NONE 0 7\n", RLT_ERANGE, ":3", "above");
    refuse("DATA\nx\n" ROW, RLT_EMALFORMED, ":2", "number of layers");
    refuse("DATA\n1\n", RLT_ESCHEMA, ":2", "no layers");
    refuse("HYBRID_CUSTOMIZED\n1\n" ROW, RLT_EMALFORMED, ":3", "13 columns");
    refuse("HYBRID_TRANSFORMER model_parallel_NPU_group: 0\n1\n" ROW, RLT_ESCHEMA, ":1", "0");
    refuse("HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n" ROW, RLT_ESCHEMA, "layers-", "divide");
    refuse("HYBRID_TRANSFORMER size: 3\n1\n" ROW, RLT_ESCHEMA, ":1", "size:");
    refuse("HYBRID_TRANSFORMER checkpoints: 2 0\n1\n" ROW, RLT_EMALFORMED, ":1", "layer");
    refuse("HYBRID_TRANSFORMER checkpoints: 1 5\n1\n" ROW, RLT_ESCHEMA, ":1", "layer 5 of 1");
}

/* Totals of rank 0, on 8 ranks with dimensions 4 x 2. */
static const struct total {
    const char *file, *reader;
    uint64_t compute_ns;
    uint32_t comms;
    uint64_t bytes;
} totals[] = {
    {"astra1/DLRM.txt", "astra1", 3359425, 3, 4194304 + 4194304 + 114823168},
    {"astra1/DLRM_HybridParallel.txt", "astra1", 54966, 9, 98304 + 98304 + 3191808},
    /* Each of four ranks gives the file's bytes to the all-gathers. */
    {"astra1/MLP_HybridParallel_Data_Model.txt", "astra1", 244537, 18, 447232 * 4 + 447232 + 447232},
    {"astra1/ResNet_50.txt", "astra1", 1098543, 1, 51005824},
    {"astra1/Resnet50_DataParallel.txt", "astra1", 1129103, 54, 102011648},
    {"astra1/microAllReduce.txt", "astra1", 20, 1, 1048576},
    /* Groups of 8 among 8 ranks: weight gradients have no group. */
    {"simai/G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt", "simai", 208205233, 91 + 82,
     5275033616 + 4947312640},
    /* Groups of one rank: only weight gradients are communicated. */
    {"simai/L7B-D1-C02_Llama7B_deepspeed_zero3_A100.txt", "simai", 322663712, 1, 1889785610},
    {"simai/L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1_A100.txt", "simai", 104625747, 75 + 66 + 1,
     8107630608 + 7845445632 + 13509853184},
    {"simai/all_gather.txt", "simai", 76, 19, 2147479552},
    {"simai/all_reduce.txt", "simai", 76, 19, 2147479552},
    {"simai/microAllReduce.txt", "simai", 1112006, 2, 83886080},
};

static void published(void **state)
{
    (void)state;
    static const uint32_t dims[] = {4, 2};
    if (access(DATA "astra1/DLRM.txt", R_OK)) {
        print_message("# no ../shared: published files are not here\n");
        skip();
    }
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        const struct total *w = &totals[i];
        rlt_program *p = NULL;
        rlt_error err;
        char path[256];
        uint64_t ps = 0, bytes = 0;
        uint32_t comms = 0;
        snprintf(path, sizeof path, DATA "%s", w->file);
        if (load(path, 8, dims, &p, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_string_equal(p->reader, w->reader);
        for (uint32_t k = p->rank_first[0]; k < p->rank_first[1]; k++) {
            ps += (uint64_t)p->ops[k].duration_ps;
            comms += p->ops[k].kind == RLT_OP_COLLECTIVE;
            bytes += p->ops[k].kind == RLT_OP_COLLECTIVE ? p->comms[p->ops[k].comm].bytes : 0;
        }
        if (ps != w->compute_ns * 1000 || comms != w->comms || bytes != w->bytes)
            fail_msg("%s: %" PRIu64 " ps, %" PRIu32 " communications of %" PRIu64 " B", w->file, ps, comms,
                     bytes);
        /* No faster than its compute. */
        assert_true(test_replay(p, "switch:4@100GB/s,500ns*switch:2@25GB/s,1us") >= (rlt_time)ps);
        rlt_program_free(p);
    }
}

#define HEADING "[rank0 ~ rank3]\ncomm_type,comm_group,comm_group_size,msg_size,stage,_elapsed_time\n"

/* Groups, order and steps of AICB's lists. */
static void aicb(void **state)
{
    (void)state;
    rlt_program *p = NULL;
    rlt_error err;
    if (load_text(HEADING
                  "CommType.all_reduce,CommGroup.tp_group,2,2000,a,None\nCommType.epoch_end,None,None,0,,"
                  "None\nCommType.computation,None,None,0,c,0.5\nCommType.all_gather,CommGroup.dp_group,2,"
                  "4000,b,0.25\nCommType.all_reduce,CommGroup.dp_group,2,0,z,None\n",
                  0, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, "aicb");
    assert_int_equal(p->n_ranks, 4);
    assert_int_equal(p->n_steps, 2);
    assert_int_equal(p->n_comms, 4);
    for (uint32_t i = 0; i < p->n_comms; i++) {
        const uint32_t *ranks = &p->group_ranks[p->group_first[p->comms[i].group]];
        assert_int_equal(ranks[1] - ranks[0], p->comms[i].kind == RLT_ALL_REDUCE ? 1 : 2);
        assert_int_equal(p->comms[i].bytes, p->comms[i].kind == RLT_ALL_REDUCE ? 2000 : 4000);
    }
    /* 2000 + 2000 ns, 0.5 ms, and half of 4000 B in 2000 + 1000 ns. */
    assert_int_equal(test_replay(p, "switch:4@1GB/s,500ns"), INT64_C(507000000));
    rlt_program_free(p);
    refuse(HEADING "CommType.isend,CommGroup.pp_group,2,8,a,None\n", RLT_EUNSUPPORTED, ":3", "pipeline");
    refuse(HEADING "CommType.shuffle,CommGroup.pp_group,2,8,a,None\n", RLT_ESCHEMA, ":3", "shuffle");
    refuse(HEADING "CommType.all_reduce,CommGroup.tp_group,2,x,a,None\n", RLT_EMALFORMED, ":3", "msg_size");
    refuse(HEADING "CommType.all_reduce,CommGroup.tp_group,2,8,a\n", RLT_EMALFORMED, ":3", "5 cells under 6");
    refuse(HEADING "CommType.all_reduce,CommGroup.tp_group,3,8,a,None\n", RLT_ESCHEMA, ":3", "divide");
    refuse(HEADING "CommType.all_reduce,CommGroup.tp_group,2,8,a,-1\n", RLT_EMALFORMED, ":3", "ms");
    refuse(HEADING, RLT_ESCHEMA, ":2", "no communication");
    refuse("[rank0 ~ rank3]\ncomm_type,comm_group\n", RLT_ESCHEMA, ":2", "comm_group_size");
}

/* Recorded times of communications instead of the network's, 0 ms too; those without a time are simulated: 2000 B
 * in 2000 + 2000 ns. */
static void aicb_as_recorded(void **state)
{
    static const struct {
        const char *times[3]; /* of an all-reduce, a computation and another all-reduce */
        int64_t ns;
    } rows[] = {{{"0", "0.5", "0.25"}, 750000},
                {{"0.125", "0", "0"}, 125000},
                {{"None", "0.5", "0"}, 504000},
                {{"0", "0.5", "None"}, 504000}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[500], path[] = "/tmp/ringlet-layers-XXXXXX";
        const char *paths[] = {path};
        rlt_read_options o = {.first_step = -1, .last_step = -1, .keep_waits = true};
        rlt_program *p = NULL;
        rlt_error err = {0};
        snprintf(text, sizeof text,
                 HEADING "CommType.all_reduce,CommGroup.tp_group,2,2000,a,%s\n"
                         "CommType.computation,None,None,0,c,%s\n"
                         "CommType.all_reduce,CommGroup.tp_group,2,2000,b,%s\n",
                 rows[i].times[0], rows[i].times[1], rows[i].times[2]);
        memcpy(strstr(text, "rank3"), "rank1", 5);
        test_write_new(path, text, strlen(text));
        if (rlt_trace_read(paths, 1, &o, &p, &err))
            fail_msg("%s: %s", err.where, err.what);
        unlink(path);
        assert_int_equal(test_replay(p, "switch:2@1GB/s,500ns"), rows[i].ns * 1000);
        rlt_program_free(p);
    }
}

/* Steps as asked for: those of the list, in their order. */
static void aicb_steps(void **state)
{
    static const char text[] =
        "[rank0 ~ rank1]\ncomm_type,comm_group,comm_group_size,msg_size,stage,_elapsed_time\n"
        "CommType.computation,None,None,0,c,1\nCommType.epoch_end,None,None,0,,None\n"
        "CommType.computation,None,None,0,c,2\nCommType.epoch_end,None,None,0,,None\n"
        "CommType.computation,None,None,0,c,4\n";
    static const struct {
        int first, last;
        int64_t ms; /* -1: refused */
    } rows[] = {{-1, -1, 7}, {0, 0, 1},  {1, 1, 2},  {2, 2, 4},  {0, 1, 3},
                {1, 2, 6},   {0, 3, -1}, {3, 3, -1}, {1, 0, -1}, {2, 1, -1}};
    char path[] = "/tmp/ringlet-layers-XXXXXX";
    const char *paths[] = {path};
    (void)state;
    test_write_new(path, text, sizeof text - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_read_options o = {.first_step = rows[i].first, .last_step = rows[i].last};
        rlt_program *p = NULL;
        rlt_error err = {0};
        int rc = rlt_trace_read(paths, 1, &o, &p, &err);
        if (rc != (rows[i].ms < 0 ? RLT_ERANGE : 0))
            fail_msg("%d:%d: %d: %s: %s", rows[i].first, rows[i].last, rc, err.where, err.what);
        if (rc)
            continue;
        assert_int_equal(test_replay(p, "switch:2@1GB/s,500ns"), rows[i].ms * RLT_MS);
        rlt_program_free(p);
    }
    unlink(path);
}

/* The published list: 128 ranks, tensor groups of 8; sums by awk over the lines that have bytes. */
static void published_aicb(void **state)
{
    (void)state;
    const char *path = DATA "simai/aicb_G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1.csv";
    rlt_program *p = NULL;
    rlt_error err;
    uint64_t bytes = 0;
    uint32_t comms = 0;
    if (access(path, R_OK))
        skip();
    if (load(path, 0, NULL, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_ranks, 128);
    for (uint32_t k = p->rank_first[0]; k < p->rank_first[1]; k++, comms++)
        bytes += p->comms[p->ops[k].comm].bytes;
    assert_int_equal(comms, 178);
    assert_int_equal(bytes, 13031865544);
    rlt_program_free(p);
}

#define MEASURED "comm_type,comm_group,comm_group_size,msg_size,stage,_elapsed_time\n"

/* A measured list: 2 x 2 ranks from its groups; sizes that it omits from other lines, or the largest that
 * fits. */
static void aicb_measured(void **state)
{
    (void)state;
    static const char rest[] = "CommType.all_to_all,CommGroup.ep_group,None,400,m,0.2\n"
                               "CommType.all_gather,CommGroup.tp_group,None,200,m,0.2\n";
    rlt_program *p = NULL;
    rlt_error err;
    char text[600];
    snprintf(text, sizeof text,
             MEASURED "CommType.all_reduce,CommGroup.dp_group,2,2000,a,0.1\n"
                      "CommType.all_reduce,CommGroup.tp_group,2,2000,a,0.1\n%s",
             rest);
    if (load_text(text, 0, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, "aicb");
    assert_int_equal(p->n_ranks, 4);
    assert_int_equal(p->n_comms, 8);
    for (uint32_t i = 0; i < p->n_comms; i++) {
        const uint32_t *ranks = &p->group_ranks[p->group_first[p->comms[i].group]];
        bool inner =
            p->comms[i].kind == RLT_ALL_GATHER ||
            (p->comms[i].kind == RLT_ALL_REDUCE && p->comms[i].sequence == 0 && ranks[1] == ranks[0] + 1);
        assert_int_equal(ranks[1] - ranks[0], inner ? 1 : 2);
    }
    assert_int_equal(p->n_notes, 1);
    assert_int_equal(p->notes[0].count, 1);
    rlt_program_free(p);
    snprintf(text, sizeof text, MEASURED "%s", rest);
    refuse_for(text, 0, RLT_ESCHEMA, "layers-", "--trace-ranks");
}

#define NODE(n, name, f, b, a, p)                                                                            \
    "node" #n " -- " name " -- forward_compute_time=" #f ", backward_compute_time=" #b                       \
    ", activation_size=" a ", parameter_size=" #p
#define STAGE(s) " -- stage_id=" #s "\n"

static void pipedream(void **state)
{
    (void)state;
    /* Input's time does not count. node 3's 4000 B are reduced from 11 us to 17 us, then node 2's. */
    expect_ns("\tnode2 -- node3\n\tnode1 -- node2\n" NODE(
                  3, "Linear(a -- b, c=(3, 3))", 0.003, 0.004, "1.0",
                  4000.000) "\n" NODE(1, "Input", 9.5, 0.0, "8.0", 0.0) "\n" NODE(2, "Conv", 0.004, 0.001,
                                                                                  "[1.0; 2.0]", 2000.000),
              "pipedream", 21000);
    /* Stage 0 (4 us), 3 kB and 1 us across, stage 1 (3 and 4 us), and back (1 us); node 2's list is
     * summed. */
    expect_ns("\tnode2 -- node3\n\tnode1 -- node2\n\tnode2 -- node4\n\tnode3 -- node4\n" NODE(
                  3, "Linear", 0.003, 0.004, "1.0", 4000.0) STAGE(1) NODE(1, "Input", 9.5, 0.0, "8.0", 0.0)
                  STAGE(0) NODE(4, "Add", 0.0, 0.0, "7.0", 0.0) STAGE(1)
                      NODE(2, "Conv", 0.004, 0.001, "[1000.0; 2000.0]", 2000.0) STAGE(0),
              "pipedream", 4000 + 4000 + 7000 + 4000 + 1000);
    refuse(NODE(1, "A", 0.1, 0.1, "1", 1) "\n\tnode1 -- node2\n", RLT_ESCHEMA, ":2", "no line defines");
    refuse(NODE(1, "A", 0.1, 0.1, "1", 1) "\n\tnode1 -- node1\n", RLT_ESCHEMA, ":1", "cycle");
    refuse(NODE(1, "A", 0.1, 0.1, "1", 1) "\n" NODE(1, "A", 0.1, 0.1, "1", 1), RLT_ESCHEMA, ":2", "second");
    refuse(NODE(1, "A", 0.1, x, "1", 1) "\n", RLT_EMALFORMED, ":1", "backward_compute_time");
    refuse(NODE(1, "A", 0.1, 0.1, "[1; 2", 1) "\n", RLT_EMALFORMED, ":1", "]");
    refuse(NODE(1, "A", 0.1, 0.1, "1e9", 1) "\n", RLT_EMALFORMED, ":1", "");
    refuse(NODE(1, "A", 0.1, 0.1, "1", 1) STAGE(1), RLT_ESCHEMA, ":1", "no nodes");
    refuse(NODE(1, "A", 0.1, 0.1, "1", 1) STAGE(0) NODE(2, "A", 0.1, 0.1, "1", 1), RLT_ESCHEMA, ":2",
           "stage_id");
    refuse(NODE(1, "A", 0.1, 0.1, "1", 1) STAGE(0) NODE(2, "A", 0.1, 0.1, "1", 1) STAGE(1)
               NODE(3, "A", 0, 0, "1", 1) STAGE(2),
           RLT_ESCHEMA, "layers-", "not a multiple of 3");
}

/* Forward without Input and backward in us; nodes with parameters and their bytes: sums by awk. */
static const struct profile {
    const char *file;
    uint64_t compute_us;
    uint32_t reduced;
    uint64_t bytes;
} profiles[] = {
    {"alexnet", 680703 - 635902 + 40520, 8, 244403360},
    {"gnmt", 33533 + 55883, 11, 775063808},
    {"resnet18", 581071 - 473625 + 152296, 41, 46758048},
    {"resnet50", 201450 - 18962 + 260931, 107, 102228128},
    {"squeezenet1_0", 587884 - 474637 + 172119, 26, 4993696},
    {"vgg16", 251874 - 17972 + 438633, 16, 553430176},
};

static void published_pipedream(void **state)
{
    (void)state;
    rlt_program *p = NULL;
    rlt_error err;
    char path[256];
    if (access(DATA "pipedream/alexnet.graph.txt", R_OK))
        skip();
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        uint64_t ps = 0, bytes = 0;
        snprintf(path, sizeof path, DATA "pipedream/%s.graph.txt", profiles[i].file);
        if (load(path, 4, NULL, &p, &err))
            fail_msg("%s: %s", err.where, err.what);
        for (uint32_t k = p->rank_first[0]; k < p->rank_first[1]; k++)
            ps += (uint64_t)p->ops[k].duration_ps;
        for (uint32_t k = 0; k < p->n_comms; k++)
            bytes += p->comms[k].bytes;
        assert_int_equal(ps, profiles[i].compute_us * 1000000);
        assert_int_equal(p->n_comms, profiles[i].reduced);
        assert_int_equal(bytes, profiles[i].bytes);
        rlt_program_free(p);
    }
    /* Three stages in a chain: compute (473.106, 6.846, 183.509 ms) and both cuts, in both directions, add
     * up. */
    if (load(DATA "pipedream/test_graphs_vgg16_partitioned.txt", 3, NULL, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_comms, 4);
    assert_int_equal(test_replay(p, "switch:3@1GB/s,500ns"),
                     (INT64_C(473106000) + 6846000 + 183509000 + 2 * (51380224 + 2097152) + 4 * 1000) * 1000);
    rlt_program_free(p);
    /* Two copies per stage: parameters are reduced between them. */
    if (load(DATA "pipedream/test_graphs_vgg16_partitioned.txt", 6, NULL, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    uint64_t reduced = 0;
    for (uint32_t k = 0; k < p->n_comms; k++)
        reduced += p->comms[k].kind == RLT_ALL_REDUCE ? p->comms[k].bytes : 0;
    assert_int_equal(p->n_comms, 2 * 4 + 16);
    assert_int_equal(reduced, 553430176);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(exchanges),
        cmocka_unit_test(refusals),
        cmocka_unit_test(published),
        cmocka_unit_test(aicb),
        cmocka_unit_test(aicb_as_recorded),
        cmocka_unit_test(aicb_steps),
        cmocka_unit_test(aicb_measured),
        cmocka_unit_test(published_aicb),
        cmocka_unit_test(pipedream),
        cmocka_unit_test(published_pipedream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
