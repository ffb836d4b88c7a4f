/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kineto recordings to programs: small recordings are written here, and the expected programs are worked out
 * by hand.
 */
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* Host 0..110, kernel a 112..162, b after it 163..263, host to 600: nothing waits for the device. */
static void launches(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(KERNEL("b", 7, 163, 100, 2) STEP(0, 0, 600) LAUNCH(1, 120, 10, 2)
                                        KERNEL("a", 7, 112, 50, 1) LAUNCH(1, 100, 10, 1)));
    played v = play(p, 0, true);
    assert_int_equal(v.rank_end[0], 600 * RLT_US);
    assert_int_equal(total(p, RLT_OP_HOST), 600 * RLT_US);
    assert_int_equal(total(p, RLT_OP_COMPUTE), 150 * RLT_US);
    assert_int_equal(v.start[named(p, "a") - p->ops], 112 * RLT_US);
    assert_int_equal(v.start[named(p, "b") - p->ops], 163 * RLT_US);
    assert_int_equal(p->rank_recorded_ps[0], 600 * RLT_US);
    assert_int_equal(named(p, "a")->recorded_ps, 112 * RLT_US);
    played_free(&v);
    assert_int_equal(effect(p, "a"), (112 + 50 + 1000 + 1 + 100 - 600) * RLT_US); /* b waits for a */
    rlt_program_free(p);
}

/* A sync from 120 to 505 on a kernel that ends at 500: its wait of 380 us is no host work. */
static void synchronisations(void **state)
{
    static const char *const calls[] = {"cudaStreamSynchronize", "cudaDeviceSynchronize",
                                        "cudaEventSynchronize", "hipStreamSynchronize",
                                        "hipDeviceSynchronize"};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[2000];
        snprintf(text, sizeof text, "%s",
                 TRACE(STEP(0, 0, 600) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 112, 388, 1)
                           CALL("%%%%", 1, 120, 385, 9)));
        char *at = strstr(text, "%%"), all[2100];
        assert_non_null(at);
        snprintf(all, sizeof all, "%.*s%s%s", (int)(at - text), text, calls[i], at + strspn(at, "%"));
        rlt_program *p = read_one(all);
        assert_int_equal(span_of(p), 600 * RLT_US);
        assert_int_equal(total(p, RLT_OP_HOST), 220 * RLT_US);
        assert_int_equal(effect(p, "k"), 1000 * RLT_US);
        rlt_program_free(p);
    }
}

/* A copy to pageable memory blocks its caller until it is done; one to the device does not. */
static void blocking_copies(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 112, 288, 1) CALL(
        "cudaMemcpyAsync", 1, 120, 300, 2) EVENT("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, 401,
                                                 9, ON(7, 2))));
    assert_int_equal(span_of(p), 1000 * RLT_US);
    assert_int_equal(total(p, RLT_OP_HOST), (120 + 10 + 580) * RLT_US);
    assert_int_equal(effect(p, "k"), 1000 * RLT_US);
    assert_int_equal(count(p, 0, RLT_OP_MEMORY), 1);
    rlt_program_free(p);
    p = read_one(TRACE(STEP(0, 0, 1000) LAUNCH(1, 100, 10, 1) KERNEL("k", 7, 112, 288,
                                                                     1) CALL("cudaMemcpyAsync", 1, 120, 20, 2)
                           EVENT("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 401, 9, ON(7, 2))));
    assert_int_equal(total(p, RLT_OP_HOST), 1000 * RLT_US);
    rlt_program_free(p);
}

/* backward(): the main thread waits from 310 to 700 while the engine's thread works from 310 to 700 and waits
 * for the device from 400 to 600. */
static void autograd(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 1000) OP("aten::mul", 1, 100, 50) OP("aten::add", 1, 800, 20)
                                        OP("autograd::engine::evaluate_function: A", 2, 310, 200)
                                            OP("autograd::engine::evaluate_function: B", 2, 550, 150)
                                                OP("autograd::engine::evaluate_function: C", 1, 650, 20)
                                                    LAUNCH(2, 350, 10, 1) KERNEL("grad", 7, 361, 238, 1)
                                                        CALL("cudaStreamSynchronize", 2, 400, 200, 5)));
    assert_int_equal(span_of(p), 1000 * RLT_US);
    /* main 0-310, 650-670 and 700-1000, engine 310-400 and 599-700 (one microsecond of the sync) */
    assert_int_equal(total(p, RLT_OP_HOST), (310 + 20 + 300 + 90 + 101) * RLT_US);
    assert_int_equal(effect(p, "grad"), 1000 * RLT_US);
    rlt_program_free(p);
}

/* Stream 7 waits for work of another stream, which ended at 400, before its kernel at 450. */
static void recorded_stream_wait(void **state)
{
    const char *known =
        TRACE(STEP(0, 0, 500) LAUNCH(1, 100, 10, 1) KERNEL("first", 9, 112, 288, 1)
                  CALL("cudaEventRecord", 1, 120, 2, 2) LAUNCH(1, 125, 5, 3) KERNEL("later", 9, 401, 10, 3)
                      CALL("cudaStreamWaitEvent", 1, 135, 2, 4)
                          EVENT("cuda_sync", "Stream Wait Event", 0, 7, 136, 1,
                                "\"cuda_sync_kind\":\"Stream Wait Event\",\"stream\":7,\"wait_on_stream\":9,"
                                "\"wait_on_cuda_event_record_corr_id\":2,\"correlation\":4,\"device\":0")
                              LAUNCH(1, 140, 10, 5) KERNEL("waiter", 7, 405, 45, 5)
                                  CALL("cudaDeviceSynchronize", 1, 160, 300, 6));
    (void)state;
    rlt_program *p = read_one(known);
    const rlt_op *waiter = named(p, "waiter");
    played v = play(p, 0, true);
    assert_int_equal(v.rank_end[0], 500 * RLT_US);
    assert_int_equal(v.start[waiter - p->ops], 405 * RLT_US);
    named(p, "first")->duration_ps += 1000 * RLT_US;
    named(p, "later")->duration_ps += 7000 * RLT_US; /* recorded after the event: not waited for */
    played_free(&v);
    v = play(p, 0, true);
    assert_int_equal(v.start[waiter - p->ops], 1405 * RLT_US);
    played_free(&v);
    rlt_program_free(p);
}

/* Without cuda_sync events the wait is inferred. A recorded time that contradicts the inference drops the
 * edge. */
static void inferred_stream_wait(void **state)
{
    (void)state;
    rlt_program *p = read_one(TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("copy", 9, 112, 288, 1) CALL(
        "cudaStreamWaitEvent", 1, 120, 2, 2) LAUNCH(1, 140, 10, 5) KERNEL("waiter", 7, 402, 200, 5)));
    assert_int_equal(effect(p, "copy"), (402 + 1000 + 200 - 900) * RLT_US);
    assert_int_equal(noted(p, "contradicts"), 0);
    rlt_program_free(p);
    p = read_one(TRACE(STEP(0, 0, 900) LAUNCH(1, 100, 10, 1) KERNEL("copy", 9, 112, 288, 1) CALL(
        "cudaStreamWaitEvent", 1, 120, 2, 2) LAUNCH(1, 140, 10, 5) KERNEL("waiter", 7, 152, 200, 5)));
    assert_int_equal(effect(p, "copy"), (112 + 288 + 1000 - 900) * RLT_US);
    assert_int_equal(noted(p, "contradicts"), 1);
    rlt_program_free(p);
}

#define NCCL(rank_args, ts, dur)                                                                             \
    EVENT("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, ts, dur, ON(20, 8) "," rank_args)
#define ALLREDUCE                                                                                            \
    "\"Collective name\":\"allreduce\",\"In msg nelems\":1000,\"Out msg nelems\":1000,\"dtype\":\"Float\","  \
    "\"Group size\":2,\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\""
#define INFO(rank) "\"distributedInfo\":{\"rank\":" #rank ",\"world_size\":2}"

/* Rank 0 starts 1000 ns after rank 1's clock base and arrives 890 us before rank 1. The bases differ and
 * stand after the events in the files. */
static const char *const rank0 = "{\"traceEvents\":[" STEP(3, 10.5, 2000) LAUNCH(1, 110.5, 5, 7)
    KERNEL("a", 7, 117.5, 3, 7) LAUNCH(1, 130.5, 10, 8) NCCL(ALLREDUCE, 142.5, 900)
        CALL("cudaStreamWaitEvent", 1, 145.5, 1, 10) LAUNCH(1, 150.5, 5, 9) KERNEL("after", 7, 1043.5, 100, 9)
            CALL("cudaDeviceSynchronize", 1, 160.5, 984, 11) "{\"ph\":\"i\"}],\"schemaVersion\":1," INFO(
                0) ",\"baseTimeNanoseconds\":1700000000000001000}";
static const char *const rank1 =
    "{\"baseTimeNanoseconds\":1700000000000000250," INFO(1) ",\"traceEvents\":[" STEP(3, 10.0, 2000)
        LAUNCH(1, 1020.0, 10, 8) NCCL(ALLREDUCE, 1032.75, 10) "{\"ph\":\"i\"}]}";

static void two_ranks(void **state)
{
    const char *names[] = {"b.json", "a.json"};
    rlt_read_options o = options();
    rlt_program *p;
    (void)state;
    write_file("a.json", rank0);
    write_file("b.json", rank1);
    if (read_files(2, names, &o, &p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_ranks, 2);
    assert_int_equal(p->rank_start_ps[0], 1250 * RLT_NS);
    assert_int_equal(p->rank_start_ps[1], 0);
    assert_int_equal(p->n_comms, 1);
    assert_int_equal(p->comms[0].kind, RLT_ALL_REDUCE);
    assert_int_equal(p->comms[0].bytes, 4000);
    /* rank 0 arrives 132 us after its start, rank 1 1022.75 us after its own */
    played v = play(p, 10 * RLT_US, true);
    assert_int_equal(v.wait[0], 1022750 * RLT_NS - 1250 * RLT_NS - 132 * RLT_US);
    assert_int_equal(v.wait[1], 0);
    played_free(&v);
    v = play(p, 10 * RLT_US, false);
    assert_int_equal(v.wait[0], 1022750 * RLT_NS - 132 * RLT_US);
    played_free(&v);
    /* the collective waits for the work before it: with 500 us more that work ends at 610 us, 2 us before the
     * arrival */
    named(p, "a")->duration_ps += 500 * RLT_US;
    v = play(p, 10 * RLT_US, false);
    assert_int_equal(v.wait[0], 1022750 * RLT_NS - 612 * RLT_US);
    named(p, "a")->duration_ps -= 500 * RLT_US;
    played_free(&v);
    /* the kernel after it waits for the collective, and the host for that kernel: 500 us more give 500 us
     * more */
    v = play(p, 510 * RLT_US, true);
    played w = play(p, 1010 * RLT_US, true);
    assert_int_equal(w.rank_end[0] - v.rank_end[0], 500 * RLT_US);
    const rlt_op *comm = &p->ops[p->comm_ops[p->comms[0].first_op]];
    assert_int_equal(w.start[named(p, "after") - p->ops], w.end[comm - p->ops] + RLT_US);
    played_free(&v);
    played_free(&w);
    rlt_program_free(p);
    o.keep_waits = true; /* recorded durations, no communication */
    assert_int_equal(read_files(2, names, &o, &p), 0);
    assert_int_equal(p->n_comms, 0);
    assert_int_equal(span_of(p), 2000 * RLT_US);
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 3);
    rlt_program_free(p);
}

/* Three collectives. The clock of the second host is 5 ms ahead, which is no waiting. */
#define THREE                                                                                                \
    STEP(0, 0, 900)                                                                                          \
    LAUNCH(1, 100, 5, 1)                                                                                     \
    KERNEL("ncclDevKernel_AllReduce_A", 20, 106, 50, 1)                                                      \
    LAUNCH(1, 300, 5, 2)                                                                                     \
    KERNEL("ncclDevKernel_AllReduce_A", 20, 306, 50, 2)                                                      \
    LAUNCH(1, 500, 5, 3) KERNEL("ncclDevKernel_AllReduce_A", 20, 506, 50, 3) "{\"ph\":\"i\"}]}"

static void clocks(void **state)
{
    const char *names[] = {"a.json", "b.json"};
    static const struct {
        const char *base;
        rlt_time start;
    } cases[] = {{"5000000", 0}, {"40000", 40 * RLT_US}}; /* 40 us may be real */
    rlt_read_options o = options();
    rlt_program *p;
    (void)state;
    o.keep_waits = true;
    write_file("a.json", "{" INFO(0) ",\"traceEvents\":[" THREE);
    for (int i = 0; i < 2; i++) {
        char text[2000];
        snprintf(text, sizeof text, "{%s,\"baseTimeNanoseconds\":%s,\"traceEvents\":[%s", INFO(1),
                 cases[i].base, THREE);
        write_file("b.json", text);
        if (read_files(2, names, &o, &p) < 0)
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(p->rank_start_ps[1], cases[i].start);
        assert_int_equal(noted(p, "recordings with clocks aligned by the ends of collectives"), i == 0);
        rlt_program_free(p);
    }
}

static void missing_ranks(void **state)
{
    const char *name = "a.json";
    rlt_read_options o = options();
    rlt_program *p = NULL;
    rlt_replicate every = {RLT_NONE, 0}, absent = {1, 5};
    (void)state;
    write_file("a.json", rank0);
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "rank 1 of 2 is missing"));
    assert_non_null(strstr(err.what, "--replicate 1=0"));
    o.replicate = &absent;
    o.n_replicate = 1;
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
    o.replicate = &every;
    assert_int_equal(read_files(1, &name, &o, &p), 0);
    played v = play(p, 10 * RLT_US, true);
    assert_int_equal(v.rank_end[0], v.rank_end[1]);
    assert_int_equal(v.wait[0], 0);
    played_free(&v);
    rlt_program_free(p);
    const char *twice[] = {"a.json", "a.json"};
    assert_int_equal(read_files(2, twice, &o, &p), RLT_ESCHEMA);
}

/* A number of ranks that no job has is refused: without it the recording would be one of a single rank. */
static void numbers_of_ranks(void **state)
{
    static const struct {
        const char *info, *args, *what;
    } wrong[] = {
        {"\"rank\":0,\"world_size\":1000000000", "",
         "\"world_size\" is not a number of at most 16777216 ranks: '1000000000'"},
        {"\"rank\":0,\"world_size\":18446744073709551617", "", "\"world_size\""},
        {"\"rank\":0,\"world_size\":1e9", "", "\"world_size\""},
        {"\"rank\":4000000000,\"world_size\":1", "", "\"rank\""},
        {"\"rank\":0,\"world_size\":1,\"pg_config\":[{\"pg_name\":\"0\",\"pg_size\":99999999}]", "",
         "\"pg_size\""},
        {"\"rank\":0,\"world_size\":1", ",\"Collective name\":\"allreduce\",\"Group size\":99999999",
         "\"Group size\""},
    };
    const char *name = "odd.json";
    rlt_read_options o = options();
    rlt_program *p = NULL;
    char text[1000];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(
            text, sizeof text,
            "{\"distributedInfo\":{%s},\"traceEvents\":[" LAUNCH(
                1, 1, 5,
                7) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel\",\"pid\":0,\"tid\":7,\"ts\":9,"
                   "\"dur\":3,\"args\":{\"stream\":7,\"correlation\":7%s}}]}",
            wrong[i].info, wrong[i].args);
        write_file(name, text);
        assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
        if (!strstr(err.what, wrong[i].what) || !strstr(err.where, name))
            fail_msg("%s: %s", err.where, err.what);
    }
}

static void splits(void **state)
{
    const char *name = "one.json";
    rlt_read_options o = options();
    rlt_replicate every = {RLT_NONE, 0};
    rlt_program *p;
    (void)state;
    o.replicate = &every;
    o.n_replicate = 1;
    write_file(
        name, "{" INFO(0) ",\"traceEvents\":[" STEP(0, 0, 100) LAUNCH(1, 10, 5, 8) EVENT(
                  "kernel", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 0, 20, 17, 9,
                  ON(20, 8) ",\"Collective name\":\"all_to_allv\",\"In msg nelems\":40,"
                            "\"Out msg nelems\":40,\"dtype\":\"Long\",\"Group size\":2,"
                            "\"Global rank start\":0,\"Global rank stride\":1,"
                            "\"In split size\":\"[3, 1]\",\"Out split size\":\"[3, 1]\"") "{\"ph\":\"i\"}]}");
    if (read_files(1, &name, &o, &p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    /* 40 elements of 8 bytes in 4 rows: 80 bytes per row */
    assert_non_null(p->comms[0].counts);
    assert_int_equal(p->comms[0].counts[0], 240);
    assert_int_equal(p->comms[0].counts[1], 80);
    rlt_program_free(p);
}

/* 40 elements of 8 bytes from each of two ranks, and to each of them: 640 bytes in all. */
static void gathers_and_scatters(void **state)
{
    static const struct {
        const char *recorded;
        rlt_coll_kind kind;
    } cases[] = {{"\"gather\",\"In msg nelems\":40,\"Out msg nelems\":80,", RLT_GATHER},
                 {"\"scatter\",\"In msg nelems\":80,\"Out msg nelems\":40,", RLT_SCATTER}};
    const char *name = "one.json";
    rlt_read_options o = options();
    rlt_replicate every = {RLT_NONE, 0};
    (void)state;
    o.replicate = &every;
    o.n_replicate = 1;
    for (int i = 0; i < 2; i++) {
        char text[1200];
        rlt_program *p;
        snprintf(text, sizeof text,
                 "{" INFO(0) ",\"traceEvents\":[" STEP(0, 0, 100) LAUNCH(1, 10, 5, 8)
                     EVENT("kernel", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", 0, 20, 17, 9,
                           ON(20, 8) ",\"Collective name\":%s\"dtype\":\"Long\",\"Group size\":2,"
                                     "\"Global rank start\":0,\"Global rank stride\":1") "{\"ph\":\"i\"}]}",
                 cases[i].recorded);
        write_file(name, text);
        if (read_files(1, &name, &o, &p) < 0)
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(p->comms[0].kind, cases[i].kind);
        assert_int_equal(p->comms[0].bytes, 640);
        assert_int_equal(p->comms[0].root, 0);
        assert_int_equal(noted(p, "root that is not recorded"), 2);
        rlt_program_free(p);
    }
}

/* Writes the recording of rank `rank` of four: one collective, whose process group is described by `group`. */
static void write_grouped(const char *name, uint32_t rank, const char *group)
{
    char text[1200];
    snprintf(text, sizeof text,
             "{\"distributedInfo\":{\"rank\":%u,\"world_size\":4},\"traceEvents\":[" STEP(0, 0, 100)
                 LAUNCH(1, 10, 5, 8)
                     EVENT("kernel", "ncclDevKernel_AllReduce", 0, 20, 17, 9,
                           ON(20, 8) ",\"Collective name\":\"allreduce\","
                                     "\"In msg nelems\":10,\"dtype\":\"Float\"%s") "{\"ph\":\"i\"}]}",
             rank, group);
    write_file(name, text);
}

/* Members follow from size, start and stride; without a usable size, all ranks are members. */
static void groups_without_a_list(void **state)
{
    static const struct {
        const char *size;
        uint32_t groups, n; /* ranks r, r + groups, r + 2 groups, ... are a group */
    } rows[] = {{",\"Group size\":2", 2, 2}, {",\"Group size\":4", 1, 4},  {",\"Group size\":1", 4, 1},
                {",\"Group size\":0", 1, 4}, {",\"Group size\":-2", 1, 4}, {"", 1, 4}};
    static const char *const names[] = {"0.json", "1.json", "2.json", "3.json"};
    rlt_read_options o = options();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p;
        uint32_t groups = rows[i].groups;
        for (uint32_t r = 0; r < 4; r++) {
            char group[200];
            snprintf(group, sizeof group,
                     "%s,\"Process Group Name\":\"g%u\",\"Global rank start\":%u,\"Global rank stride\":%u",
                     rows[i].size, r % groups, r % groups, groups);
            write_grouped(names[r], r, group);
        }
        if (read_files(4, names, &o, &p) < 0)
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(p->n_comms, groups);
        for (uint32_t c = 0; c < groups; c++) {
            uint32_t first = p->group_first[p->comms[c].group];
            const uint32_t *ranks = p->group_ranks + first;
            assert_int_equal(p->group_first[p->comms[c].group + 1] - first, rows[i].n);
            assert_true(ranks[0] < groups);
            for (uint32_t k = 0; k < rows[i].n; k++)
                assert_int_equal(ranks[k], ranks[0] + k * groups);
        }
        rlt_program_free(p);
    }
}

#define SIZED(elems)                                                                                         \
    ",\"Collective name\":\"allreduce\",\"In msg nelems\":" #elems ",\"dtype\":\"Float\",\"Group size\":2"
#define REDUCES(ts, dur, n, args) EVENT("kernel", "ncclDevKernel_Generic", 0, 20, ts, dur, ON(20, n) args)

/* The host runs ahead: two collectives were launched before the recording, without sizes. The four others take
 * turns of 100 and 200 elements, so that the two continue: 100, 200. They come first on their stream. */
#define RUN_AHEAD(last)                                                                                      \
    "{" INFO(0) ",\"traceEvents\":[" STEP(0, 0, 60) REDUCES(100, 50, 1, "") REDUCES(200, 50, 2, "")          \
        LAUNCH(1, 10, 5, 3) LAUNCH(1, 20, 5, 4) LAUNCH(1, 30, 5, 5) LAUNCH(1, 40, 5, 6)                      \
            REDUCES(300, 50, 3, SIZED(100)) REDUCES(400, 50, 4, SIZED(200)) REDUCES(500, 50, 5, SIZED(100))  \
                REDUCES(600, 50, 6, SIZED(last)) "{\"ph\":\"i\"}]}"

static void launched_before(void **state)
{
    static const uint64_t bytes[] = {400, 800, 400, 800, 400, 800};
    const char *name = "one.json", *path;
    rlt_read_options o = options();
    rlt_replicate every = {RLT_NONE, 0};
    rlt_program *p;
    char at[128], *found;
    (void)state;
    o.replicate = &every;
    o.n_replicate = 1;
    write_file(name, RUN_AHEAD(200));
    if (read_files(1, &name, &o, &p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_comms, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(p->comms[i].bytes, bytes[i]);
    assert_int_equal(noted(p, "one period later"), 4);
    assert_int_equal(noted(p, "overlap the previous"), 0);
    rlt_program_free(p);
    path_of(name, at, sizeof at);
    path = at;
    assert_int_equal(rlt_reader_kineto.check(&path, 1, &o, &found, &err), 0);
    assert_non_null(strstr(found, "lacks: collective sizes: 2 of 6 NCCL kernels were launched before"));
    free(found);

    /* Without a period the two keep their recorded time, each on its rank alone. */
    write_file(name, RUN_AHEAD(300));
    assert_int_equal(read_files(1, &name, &o, &p), 0);
    assert_int_equal(p->n_comms, 2 * 2 + 4);
    assert_int_equal(noted(p, "recorded time kept"), 4);
    for (uint32_t i = 0; i < p->n_comms; i++)
        assert_int_equal(p->comms[i].bytes == 0, p->comms[i].timed);
    rlt_program_free(p);
}

/* Ranks match collectives by order. Rank 0 has two early ones and rank 1 the last of them: only that is
 * simulated. */
static void early_on_some_ranks(void **state)
{
    const char *names[] = {"a.json", "b.json"};
    rlt_read_options o = options();
    rlt_program *p;
    (void)state;
    write_file("a.json", "{" INFO(0) ",\"traceEvents\":[" STEP(0, 50, 60) LAUNCH(1, 10, 5, 1)
                             REDUCES(20, 50, 1, SIZED(100)) LAUNCH(1, 20, 5, 2) REDUCES(80, 50, 2, SIZED(200))
                                 LAUNCH(1, 60, 5, 3) REDUCES(140, 50, 3, SIZED(300)) "{\"ph\":\"i\"}]}");
    write_file("b.json", "{" INFO(1) ",\"traceEvents\":[" STEP(0, 50, 60) LAUNCH(1, 20, 5, 2)
                             REDUCES(90, 40, 2, SIZED(200)) LAUNCH(1, 60, 5, 3)
                                 REDUCES(140, 50, 3, SIZED(300)) "{\"ph\":\"i\"}]}");
    if (read_files(2, names, &o, &p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_comms, 3);
    assert_int_equal(noted(p, "recorded time kept"), 1);
    assert_int_equal(p->comms[1].bytes + p->comms[2].bytes + p->comms[0].bytes, 800 + 1200);
    rlt_program_free(p);
}

/* Nothing says what the last kernel waits for, but it starts 20 us after the collective ended, 5000 us after all
 * else. A kernel that starts 300 us after its end waits for nothing known. */
static void evident_wait(void **state)
{
    static const int starts[] = {5120, 5400};
    const char *name = "one.json";
    rlt_read_options o = options();
    rlt_replicate every = {RLT_NONE, 0};
    (void)state;
    o.replicate = &every;
    o.n_replicate = 1;
    for (int i = 0; i < 2; i++) {
        char text[2000];
        rlt_program *p;
        snprintf(text, sizeof text,
                 "{" INFO(0) ",\"traceEvents\":[" STEP(0, 0, 60) LAUNCH(1, 10, 5, 1) KERNEL("a", 7, 20, 80, 1)
                     LAUNCH(1, 20, 5, 2) REDUCES(100, 5000, 2, SIZED(100)) LAUNCH(1, 30, 5, 3)
                         EVENT("kernel", "z", 0, 7, % d, 50, ON(7, 3)) "{\"ph\":\"i\"}]}",
                 starts[i]);
        write_file(name, text);
        if (read_files(1, &name, &o, &p) < 0)
            fail_msg("%s: %s", err.where, err.what);
        played v = play(p, 1000 * RLT_US, true);
        assert_int_equal(v.start[named(p, "z") - p->ops], (i ? 5400 : 100 + 1000 + 20) * RLT_US);
        assert_int_equal(noted(p, "began just after a collective"), i ? 0 : 2);
        played_free(&v);
        rlt_program_free(p);
    }
}

static void host_trace_sizes(void **state)
{
    static const char *const traces[] = {
        "{\"schema\":\"1.0.1\",\"nodes\":["
        "{\"name\":\"record_param_comms\",\"id\":9,\"rf_id\":5,\"inputs\":[7,0,0,\"wait\",[],[]],\"outputs\":"
        "[]},"
        "{\"name\":\"record_param_comms\",\"id\":8,\"rf_id\":4,\"inputs\":[[[1,2,0,300,4,\"cuda:0\"],"
        "[1,2,0,200,4,\"cuda:0\"]],7,94594108284448,0,\"allreduce\",[],[]],\"outputs\":[]}]}",
        "{\"schema\":\"1.0.2-chakra.0.0.4\",\"nodes\":["
        "{\"name\":\"record_param_comms\",\"id\":8,\"ctrl_deps\":3,\"inputs\":{\"values\":[[[1,2,0,500,4,"
        "\"cuda:0\"]],7,[\"0\",\"default_pg\"],0,\"allreduce\",[],[],0,1,2],\"shapes\":[],\"types\":[]},"
        "\"outputs\":{\"values\":[]},\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":4},"
        "{\"name\":\"in_msg_nelems\",\"value\":500},{\"name\":\"pg_size\",\"value\":2},"
        "{\"name\":\"global_rank_start\",\"value\":0},{\"name\":\"global_rank_stride\",\"value\":1}]}]}"};
    const char *name = "one.json";
    rlt_read_options o = options();
    rlt_replicate every = {RLT_NONE, 0};
    rlt_program *p;
    char et[128];
    (void)state;
    write_file(name, "{" INFO(0) ",\"traceEvents\":[" STEP(0, 0, 100) LAUNCH(1, 10, 5, 8)
                         KERNEL("ncclKernel_AllReduce_RING_LL_Sum_float", 20, 17, 9, 8) "{\"ph\":\"i\"}]}");
    o.replicate = &every;
    o.n_replicate = 1;
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "--host-trace"));
    path_of("et_0.json", et, sizeof et);
    o.host_trace_dir = et;
    for (int i = 0; i < 2; i++) {
        write_file("et_0.json", traces[i]);
        if (read_files(1, &name, &o, &p) < 0)
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(p->comms[0].kind, RLT_ALL_REDUCE);
        assert_int_equal(p->comms[0].bytes, 2000);
        rlt_program_free(p);
    }
    write_file("et_0.json",
               "{\"nodes\":[{\"name\":\"record_param_comms\",\"rf_id\":4,\"inputs\":[[1,2,0,300,4,"
               "\"cuda:0\"],7,9,0,\"broadcast\",[],[]],\"outputs\":[]}]}");
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "do not match"));
    write_file("et_0.json",
               "{\"nodes\":[{\"name\":\"record_param_comms\",\"rf_id\":4,\"pg_size\":1000000000,\"inputs\":"
               "[[1,2,0,300,4,\"cuda:0\"],7,9,0,\"allreduce\",[],[]],\"outputs\":[]}]}");
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "\"pg_size\" is not a number of at most 16777216 ranks: '1000000000'"));
}

static void steps(void **state)
{
    const char *name = "one.json";
    rlt_read_options o = options();
    rlt_program *p;
    (void)state;
    write_file(name, TRACE(STEP(4, 100, 50) STEP(5, 160, 70) STEP(6, 230, 10) LAUNCH(1, 105, 5, 1)
                               KERNEL("in4", 7, 112, 5, 1) LAUNCH(1, 165, 5, 2) KERNEL("in5", 7, 172, 5, 2)
                                   LAUNCH(1, 235, 2, 3) KERNEL("in6", 7, 238, 2, 3) LAUNCH(1, 300, 2, 4)
                                       KERNEL("outside", 7, 303, 2, 4) EVENT("user_annotation", "iteration 1",
                                                                             1, 1, 100, 60, "")
                                           EVENT("gpu_user_annotation", "ProfilerStep#4", 0, 7, 112, 99, "")
                                               EVENT("strange", "x", 0, 7, 112, 99, "")));
    assert_int_equal(read_files(1, &name, &o, &p), 0);
    assert_int_equal(p->n_steps, 3);
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 3);
    assert_int_equal(noted(p, "outside the steps"), 1);
    assert_int_equal(noted(p, "'strange'"), 1);
    assert_int_equal(span_of(p), 140 * RLT_US); /* with the 10 us between two of them */
    assert_int_equal(named(p, "in5")->step, 1);
    rlt_program_free(p);
    o.first_step = 1;
    o.last_step = 1;
    assert_int_equal(read_files(1, &name, &o, &p), 0);
    assert_int_equal(p->n_steps, 1);
    assert_int_equal(span_of(p), 70 * RLT_US);
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 1);
    rlt_program_free(p);
    o.last_step = 3;
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ERANGE);
    o = options();
    o.step_mark = "iteration";
    assert_int_equal(read_files(1, &name, &o, &p), 0);
    assert_int_equal(span_of(p), 60 * RLT_US);
    rlt_program_free(p);
    o.step_mark = "epoch";
    assert_int_equal(read_files(1, &name, &o, &p), RLT_ESCHEMA);
}

/* Without step marks, the thread that launches most is the main one; then the one with most events; then the first. Of
 * the others, only those that launch are replayed. */
static void the_main_thread(void **state)
{
    static const struct {
        const char *events, *threads;
    } rows[] = {
        {OP("a", 1, 0, 900) OP("b", 1, 901, 9) LAUNCH(2, 100, 10, 1) KERNEL("k", 7, 120, 5, 1), "thread 2"},
        {OP("a", 1, 0, 900) LAUNCH(1, 901, 9, 2) LAUNCH(2, 100, 10, 1) LAUNCH(2, 200, 10, 3)
             KERNEL("k", 7, 120, 5, 1) KERNEL("l", 7, 920, 5, 2) KERNEL("m", 7, 930, 5, 3),
         "thread 1, thread 2"},
        {OP("a", 1, 0, 900) OP("b", 2, 0, 90) OP("c", 2, 100, 90), "thread 2"},
        {OP("a", 1, 0, 900) OP("b", 2, 0, 90), "thread 1"},
        {OP("a", 1, 0, 900) OP("b", 1, 910, 90) OP("c", 2, 0, 90), "thread 1"},
        {KERNEL("k", 7, 120, 5, 1), ""}, /* no thread at all */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[3000], threads[200] = "";
        snprintf(text, sizeof text, TRACE("%s"), rows[i].events);
        rlt_program *p = read_one(text);
        for (uint32_t r = 0; r < p->n_resources; r++)
            if (p->resources[r].kind == RLT_RES_HOST)
                snprintf(threads + strlen(threads), sizeof threads - strlen(threads), "%s%s",
                         *threads ? ", " : "", rlt_program_string(p, p->resources[r].name));
        assert_string_equal(threads, rows[i].threads);
        rlt_program_free(p);
    }
}

/* No step marks, threads and streams as text, a kernel without a launch. */
static void bare_recording(void **state)
{
    (void)state;
    rlt_program *p = read_one("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":"
                              "\"gpu\",\"tid\":\"stream 7\",\"ts\":5,"
                              "\"dur\":10},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mul\",\"pid\":"
                              "\"p\",\"tid\":\"t\",\"ts\":0,\"dur\":9}]}");
    played v = play(p, 0, true);
    assert_int_equal(v.start[named(p, "k") - p->ops], 5 * RLT_US);
    assert_int_equal(v.rank_end[0], 15 * RLT_US);
    assert_int_equal(noted(p, "without step marks"), 1);
    assert_int_equal(noted(p, "without a launch"), 1);
    played_free(&v);
    rlt_program_free(p);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *what;
        int code;
    } cases[] = {
        {"{}", "traceEvents", RLT_ESCHEMA},
        {"{\"traceEvents\":[]}", "traceEvents", RLT_ESCHEMA},
        {"{\"traceEvents\":[{\"ph\":\"M\"}]}", "no operations", RLT_ESCHEMA},
        {"{\"traceEvents\":[{\"ph\":\"X\"", "ends here", RLT_EMALFORMED},
        {TRACE(EVENT("kernel", "k", 0, 7, "soon", 5, "")), "not a time in microseconds", RLT_EMALFORMED},
        {TRACE(EVENT("kernel", "k", 0, 7, 5, 1e15, "")), "26 days", RLT_ERANGE},
        {TRACE(EVENT("kernel", "k", 0, 7, 0, 5, "") EVENT("kernel", "k", 0, 7, 3e12, 5, "")), "26 days",
         RLT_ERANGE},
        {"{\"baseTimeNanoseconds\":\"x\",\"traceEvents\":[{}]}", "baseTimeNanoseconds", RLT_EMALFORMED},
        {TRACE(STEP(0, 0, 100) LAUNCH(1, 10, 5, 8) EVENT("kernel", "ncclKernel_X", 0, 20, 17, 9,
                                                         ON(20, 8) ",\"Collective name\":\"teleport\"")),
         "unknown NCCL operation 'teleport'", RLT_EUNSUPPORTED},
    };
    const char *name = "one.json";
    rlt_read_options o = options();
    rlt_program *p;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(name, cases[i].text);
        int rc = read_files(1, &name, &o, &p);
        if (rc != cases[i].code || !strstr(err.what, cases[i].what) || !strstr(err.where, "one.json"))
            fail_msg("%zu: %d '%s' '%s'", i, rc, err.where, err.what);
        assert_null(p);
    }
}

static void probing(void **state)
{
    const char *et = "{\"schema\":\"1.0.1\",\"pid\":1,\"nodes\":[]}", *events = "  {\"traceEvents\": [";
    const char *late = "{\"schemaVersion\": 1,\n\"deviceProperties\": [{";
    (void)state;
    assert_true(rlt_reader_kineto.probe("x.json", events, strlen(events)) > 80);
    assert_true(rlt_reader_kineto.probe("x.json", late, strlen(late)) > 80);
    assert_int_equal(rlt_reader_kineto.probe("x.json", et, strlen(et)), 0);
    assert_int_equal(rlt_reader_kineto.probe("x.json", "", 0), 0);
}

static void checking(void **state)
{
    const char *path_list[1];
    char path[128], *text = NULL;
    rlt_read_options o = options();
    (void)state;
    write_file("one.json", "{" INFO(0) ",\"traceEvents\":[" STEP(0, 0, 100) LAUNCH(1, 10, 5, 8)
                               KERNEL("ncclKernel_AllReduce_RING_LL_Sum_float", 20, 17, 9, 8)
                                   CALL("cudaStreamWaitEvent", 1, 20, 1, 4) "{\"ph\":\"i\"}]}");
    path_of("one.json", path, sizeof path);
    path_list[0] = path;
    assert_int_equal(rlt_reader_kineto.check(path_list, 1, &o, &text, &err), 0);
    assert_non_null(strstr(text, "lacks: ranks: 1 of 2"));
    assert_non_null(strstr(text, "ok: steps: 1"));
    assert_non_null(strstr(text, "lacks: cuda_sync events"));
    assert_non_null(strstr(text, "lacks: collective sizes: 1 of 1"));
    free(text);
    write_file("one.json", TRACE(KERNEL("k", 7, 17, 9, 8)));
    assert_int_equal(rlt_reader_kineto.check(path_list, 1, &o, &text, &err), 0);
    assert_non_null(strstr(text, "ok: ranks: 1 of 1 present"));
    assert_non_null(strstr(text, "lacks: steps"));
    assert_non_null(strstr(text, "lacks: host operators"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches),
        cmocka_unit_test(synchronisations),
        cmocka_unit_test(blocking_copies),
        cmocka_unit_test(autograd),
        cmocka_unit_test(recorded_stream_wait),
        cmocka_unit_test(inferred_stream_wait),
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(clocks),
        cmocka_unit_test(missing_ranks),
        cmocka_unit_test(numbers_of_ranks),
        cmocka_unit_test(splits),
        cmocka_unit_test(gathers_and_scatters),
        cmocka_unit_test(groups_without_a_list),
        cmocka_unit_test(launched_before),
        cmocka_unit_test(early_on_some_ranks),
        cmocka_unit_test(evident_wait),
        cmocka_unit_test(host_trace_sizes),
        cmocka_unit_test(steps),
        cmocka_unit_test(the_main_thread),
        cmocka_unit_test(bare_recording),
        cmocka_unit_test(refused),
        cmocka_unit_test(probing),
        cmocka_unit_test(checking),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
