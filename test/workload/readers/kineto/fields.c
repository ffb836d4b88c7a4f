/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What recordings say beside their collectives: roles of calls, categories, ranks in names, steps, clocks, host traces, and
 * what a check finds. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/host_trace.h"
#include "workload/readers/kineto/kineto.h"

static void roles(void **state)
{
    static const struct {
        const char *name;
        rlt_kin_role role;
    } rows[] = {
        {"cudaDeviceSynchronize", RLT_KIN_DEVICE_SYNC},
        {"hipDeviceSynchronize", RLT_KIN_DEVICE_SYNC},
        {"cuCtxSynchronize", RLT_KIN_DEVICE_SYNC},
        {"cudaStreamSynchronize", RLT_KIN_STREAM_SYNC},
        {"cudaStreamSynchronize_ptsz", RLT_KIN_STREAM_SYNC},
        {"cuEventSynchronize", RLT_KIN_EVENT_SYNC},
        {"cudaMemcpy", RLT_KIN_BLOCKING_COPY},
        {"hipMemcpyWithStream", RLT_KIN_BLOCKING_COPY},
        {"cuMemcpyDtoH_v2", RLT_KIN_BLOCKING_COPY},
        {"cuMemcpyHtoD_v2", RLT_KIN_BLOCKING_COPY},
        {"cudaMemcpyToSymbol", RLT_KIN_BLOCKING_COPY},
        {"cudaMemcpyFromSymbol", RLT_KIN_BLOCKING_COPY},
        {"cudaStreamWaitEvent", RLT_KIN_WAIT_EVENT},
        {"cudaEventRecord", RLT_KIN_RECORD_EVENT},
        {"cudaEventRecordWithFlags", RLT_KIN_RECORD_EVENT},
        {"cudaMemcpyAsync", RLT_KIN_PLAIN},
        {"DeviceSynchronize", RLT_KIN_PLAIN},
        {"cudaLaunchKernel", RLT_KIN_PLAIN},
        {"cudaEventSynchronized", RLT_KIN_PLAIN},
        {"", RLT_KIN_PLAIN},
    };
    static const char *const nccl[] = {"ncclKernel", "NCCLx", "rcclKernel", "void ncclKernel<1>", "oneccl_x"},
                             *const others[] = {"ncc", "void gemm", "my_ncclKernel", "onecc", "r"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rlt__kin_runtime_role(rows[i].name) != rows[i].role)
            fail_msg("%s: %d", rows[i].name, rlt__kin_runtime_role(rows[i].name));
    for (size_t i = 0; i < 5; i++) {
        assert_true(rlt__kin_is_nccl(nccl[i]));
        assert_false(rlt__kin_is_nccl(others[i]));
    }
}

/* A row is a kind and two parts of 70 bytes at most. */
static void row_names(void **state)
{
    rlt_kin_recording k = {.rank = RLT_NONE};
    char longer[80], expected[80];
    (void)state;
    memset(longer, 'x', 75);
    longer[75] = '\0';
    snprintf(expected, sizeof expected, "h%.70s/7", longer);
    assert_string_equal(rlt_interned(&k.rows, rlt__kin_row(&k, 'h', longer, "7")), expected);
    assert_string_equal(rlt_interned(&k.rows, rlt__kin_row(&k, 'd', NULL, "7")), "d/7");
    assert_string_equal(rlt_interned(&k.rows, rlt__kin_row_of(&k, 'd', -3, INT64_MAX)),
                        "d-3/9223372036854775807");
    assert_int_equal(rlt__kin_row(&k, 'd', "", "7"), rlt__kin_row(&k, 'd', NULL, "7"));
    rlt__kin_recording_free(&k);
}

/* Steps in the order of their begins; of those that overlap the earlier one, and of two with one begin the longer one. */
static void ordered_steps(void **state)
{
    rlt_kin_step steps[] = {{30, 40, 0}, {10, 15, 0}, {10, 20, 0}, {20, 30, 0}, {19, 25, 0}, {35, 50, 0}};
    rlt_kin_recording k = {.steps = steps, .n_steps = 6};
    rlt_kin_window w = {.first_step = 0, .n_steps = 3};
    (void)state;
    rlt__kin_order_steps(&k);
    assert_int_equal(k.n_steps, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(k.steps[i].begin, 10 + 10 * i);
        assert_int_equal(k.steps[i].end, 20 + 10 * i);
    }
    assert_int_equal(rlt__kin_step_at(&k, &w, 9), 0);
    assert_int_equal(rlt__kin_step_at(&k, &w, 19), 0);
    assert_int_equal(rlt__kin_step_at(&k, &w, 20), 1);
    assert_int_equal(rlt__kin_step_at(&k, &w, 99), 2);
    w = (rlt_kin_window){.first_step = 1, .n_steps = 2};
    assert_int_equal(rlt__kin_step_at(&k, &w, 29), 0);
    assert_int_equal(rlt__kin_step_at(&k, &w, 30), 1);
}

/* Which categories are work, and which are ignored without a word. */
static void categories(void **state)
{
    static const struct {
        const char *name;
        int kernels, copies;
        uint64_t unknown;
    } rows[] = {
        {"kernel", 2, 0, 0},
        {"Kernel", 2, 0, 0},
        {"gpu_memcpy", 1, 1, 0},
        {"Memcpy", 1, 1, 0},
        {"gpu_memset", 1, 1, 0},
        {"Memset", 1, 1, 0},
        {"ac2g", 1, 0, 0},
        {"async_cpu_to_gpu", 1, 0, 0},
        {"fwdbwd", 1, 0, 0},
        {"python_function", 1, 0, 0},
        {"Trace", 1, 0, 0},
        {"gpu_user_annotation", 1, 0, 0},
        {"cpu_instant_event", 1, 0, 0},
        {"overhead", 1, 0, 0},
        {"kernels", 1, 0, 1},
        {"kerne", 1, 0, 1},
        {"", 1, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 TRACE(STEP(0, 0, 100) KERNEL("k", 7, 20, 5, 1) EVENT("%s", "x", 0, 9, 40, 5, ON(9, 2))),
                 rows[i].name);
        rlt_program *p = read_one(text);
        if (count(p, 0, RLT_OP_COMPUTE) != (uint32_t)rows[i].kernels ||
            count(p, 0, RLT_OP_MEMORY) != (uint32_t)rows[i].copies ||
            noted(p, "unknown category") != rows[i].unknown)
            fail_msg("%s: %u, %u", rows[i].name, count(p, 0, RLT_OP_COMPUTE), count(p, 0, RLT_OP_MEMORY));
        rlt_program_free(p);
    }
    /* The first unknown one is named, by 47 bytes that can be printed. */
    rlt_program *p = read_one(
        TRACE(KERNEL("k", 7, 20, 5, 1) EVENT("a\\u0007bcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl", "x",
                                             0, 9, 40, 5, "") EVENT("second", "x", 0, 9, 40, 5, "")));
    assert_int_equal(noted(p, "('a?bcdefghijklmnopqrstuvwxyz0123456789abcdefghij') ignored"), 2);
    rlt_program_free(p);
    /* An event may have none at all, and no name. */
    p = read_one(TRACE(
        KERNEL("k", 7, 20, 5, 1) "{\"ph\":\"X\",\"pid\":0,\"tid\":9,\"ts\":40,\"dur\":5,\"args\":{}},"));
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 1);
    assert_int_equal(noted(p, "('(none)') ignored"), 1);
    rlt_program_free(p);
}

/* Times in microseconds, with three digits; a negative duration is 0, and the bounds are those of the years they stand for. */
static void times(void **state)
{
    static const struct {
        const char *ts, *dur;
        int code;
    } rows[] = {
        {"2000000000000000", "0", 0},   {"2000000000000000.001", "0", RLT_EMALFORMED},
        {"-1000000000000000", "0", 0},  {"-1000000000000000.001", "0", RLT_EMALFORMED},
        {"0", "2305843009213.693", 0},  {"0", "2305843009213.694", RLT_ERANGE},
        {"0", "\"x\"", RLT_EMALFORMED}, {"0", "-5", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[500];
        const char *name = "one.json";
        rlt_read_options o = options();
        rlt_program *p = NULL;
        snprintf(
            text, sizeof text,
            "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%s,\"dur\":%s}]}",
            rows[i].ts, rows[i].dur);
        write_file(name, text);
        int rc = read_files(1, &name, &o, &p);
        if (rc != rows[i].code)
            fail_msg("row %zu: %d %s", i, rc, err.what);
        if (rc == 0)
            assert_int_equal(noted(p, "negative duration"), rows[i].dur[0] == '-');
        rlt_program_free(p);
    }
}

/* Files of two ranks that do not tell them: their names do, or their order. The second one has the kernel "two". */
static void ranks_in_names(void **state)
{
    static const struct {
        const char *names[2];
        uint32_t rank; /* of the second */
    } rows[] = {
        {{"worker1_step_12.json", "worker0_step_12.json"}, 0},
        {{"worker-0_step_12.json", "worker-1_step_11.json"}, 1},
        {{"rank_1.x.json", "rank_0.y.json"}, 0},
        {{"rank.1.x.json", "rank.0.y.json"}, 0},
        {{"rankx_rank1_b.json", "rankx_rank0_a.json"}, 0},
        {{"x.1.json", "x.0.json"}, 0},
        {{"a.json", "b.json"}, 1},
        {{"b.json", "a.json"}, 1},
        {{"rank12345678_1.json", "rank12345678_0.json"}, 0},
        {{"rank1.json", "a.json"}, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_read_options o = options();
        rlt_program *p = NULL;
        char path[128];
        write_file(rows[i].names[0], TRACE(KERNEL("one", 7, 20, 5, 1)));
        write_file(rows[i].names[1], TRACE(KERNEL("two", 7, 20, 5, 1)));
        int rc = read_files(2, rows[i].names, &o, &p);
        for (int k = 0; k < 2; k++) {
            path_of(rows[i].names[k], path, sizeof path);
            unlink(path);
        }
        if (rc || p->n_ranks != 2 || named(p, "two")->rank != rows[i].rank)
            fail_msg("row %zu: %d %s", i, rc, err.what);
        rlt_program_free(p);
    }
}

/* All-reduces on two hosts, whose clocks are `apart` ns apart; the third one ends `more` ns later on the second host. They are
 * aligned if three or more collectives of the same names differ alike, by more than 100 us and less than 30 years. */
static void clocks(void **state)
{
    static const struct {
        int64_t apart, more;
        int kernels;
        const char *second; /* name of the second collective on the second host */
        int aligned;        /* -1: refused, as no job is that long */
        int from, to;       /* the step, in us */
    } rows[] = {
        {100000, 0, 3, "A", 0, 0, 900},
        {100001, 0, 3, "A", 1, 0, 900},
        {-100001, 0, 3, "A", 1, 0, 900},
        {5000000, 0, 2, "A", 0, 0, 900},
        {5000000, 0, 3, "B", 0, 0, 900},
        {5000000, 50000, 3, "A", 1, 0, 900},
        {5000000, 50001, 3, "A", 0, 0, 900}, /* of three all must be close to the median, of four three */
        {5000000, 50001, 4, "A", 1, 0, 900},
        {999999999999999999, 0, 3, "A", 1, 0, 900},
        {1000000000000000000, 0, 3, "A", -1, 0, 900},
        {5000000, 0, 3, "A", 1, 100, 550}, /* only collectives inside the step count */
        {5000000, 0, 3, "A", 0, 101, 550},
        {5000000, 0, 3, "A", 0, 100, 549},
    };
    const char *names[] = {"a.json", "b.json"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_read_options o = options();
        rlt_program *p = NULL;
        o.keep_waits = true;
        for (int r = 0; r < 2; r++) {
            char text[3000];
            int n = snprintf(
                text, sizeof text,
                "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"baseTimeNanoseconds\":%lld,"
                "\"traceEvents\":[" STEP(0, % d, % d),
                r, 200000 + (r ? (long long)rows[i].apart : 0), rows[i].from, rows[i].to - rows[i].from);
            for (int k = 0; k < rows[i].kernels; k++) {
                long long lasts = 50000 + (r && k == 2 ? rows[i].more : 0);
                n += snprintf(
                    text + n, sizeof text - (size_t)n,
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl%s\",\"pid\":0,\"tid\":7,\"ts\":%d,"
                    "\"dur\":%lld.%03lld},",
                    k == 1 && r ? rows[i].second : "A", 100 + 200 * k, lasts / 1000, lasts % 1000);
            }
            snprintf(text + n, sizeof text - (size_t)n, "{\"ph\":\"i\"}]}");
            write_file(names[r], text);
        }
        int rc = read_files(2, names, &o, &p);
        if (rows[i].aligned < 0 ? rc != RLT_ERANGE
                                : rc || noted(p, "clocks aligned") != (uint64_t)rows[i].aligned)
            fail_msg("row %zu: %d %s", i, rc, err.what);
        rlt_program_free(p);
    }
}

/* A host trace of either schema: names, groups, sums of tensors, splits, waits, and the rank that recorded it. */
static void host_traces(void **state)
{
    static const char text[] =
        "{\"nodes\":[{\"name\":\"other\"},"
        "{\"name\":\"record_param_comms\",\"rf_id\":9,\"inputs\":[[1,2,0,300,4,\"cuda:0\"],7,55,3,\"broadcast\",[],[]],"
        "\"outputs\":[[[1,2,0],[1,2,0,30,4,\"cuda:0\"],[1,2,0,12,8,\"cuda:0\"]]]},"
        "{\"name\":\"record_param_comms\",\"rf_id\":4,\"inputs\":[7,0,0,\"wait\",[],[]],\"outputs\":[]},"
        "{\"name\":\"record_param_comms\",\"inputs\":{\"values\":[[[1,2,0,500,4,\"c\"],[1,2,0,7,2,\"c\"]],7,[\"g\",\"pg\"],5,"
        "\"all_to_allv\",[3,1125899906842624,1125899906842623],[]]},\"outputs\":{\"values\":[[1,2,0,9,2,\"c\"]]},"
        "\"attrs\":[{\"name\":\"rf_id\",\"value\":6},{\"name\":\"pg_size\",\"value\":16777216},"
        "{\"name\":\"global_rank_start\",\"value\":2},{\"name\":\"global_rank_stride\",\"value\":3},"
        "{\"name\":\"out_msg_nelems\",\"value\":77}]}]}";
    rlt_host_trace t;
    rlt_error why = {0};
    char path[128];
    (void)state;
    write_file("et.json", text);
    path_of("et.json", path, sizeof path);
    if (rlt_host_trace_load(path, &t, &why) < 0)
        fail_msg("%s: %s", why.where, why.what);
    assert_int_equal(t.n_comms, 2);
    assert_int_equal(t.n_waits, 1);
    assert_int_equal(t.rank, 5);
    const rlt_host_comm *a = &t.comms[0], *b = &t.comms[1];
    assert_int_equal(a->order, 6);
    assert_string_equal(rlt_interned(&t.strings, a->name), "all_to_allv");
    assert_string_equal(rlt_interned(&t.strings, a->group), "g");
    assert_int_equal(a->in_elems, 507);
    assert_int_equal(a->out_elems, 77);
    assert_int_equal(a->elem_bytes, 2);
    assert_int_equal(a->group_size, 16777216);
    assert_int_equal(a->rank_start, 2);
    assert_int_equal(a->rank_stride, 3);
    assert_int_equal(a->recorded_rank, 5);
    assert_int_equal(a->n_splits, 3);
    assert_int_equal(t.splits[a->first_split], 3);
    assert_int_equal(t.splits[a->first_split + 1], 0);
    assert_int_equal(t.splits[a->first_split + 2], (UINT64_C(1) << 50) - 1);
    assert_int_equal(b->order, 9);
    assert_string_equal(rlt_interned(&t.strings, b->group), "55");
    assert_int_equal(b->in_elems, 300);
    assert_int_equal(b->out_elems, 42);
    assert_int_equal(b->elem_bytes, 8);
    assert_int_equal(b->n_splits, 0);
    assert_int_equal(b->recorded_rank, 3);
    rlt_host_trace_free(&t);
    unlink(path);
}

/* Sizes that a node says count before those of its buffers; nodes without a number stay in their order; a split that is no
 * number is 0. Another trace makes another program. */
static void orders_of_host_traces(void **state)
{
#define NODE(elems, splits)                                                                                  \
    "{\"name\":\"record_param_comms\",\"inputs\":[[1,2,0,300,4,\"cuda:0\"],7,0,\"all_to_all\",[" splits      \
    "],[]],\"outputs\":[],\"in_msg_nelems\":" elems "}"
    static const char *const texts[] = {
        "{\"nodes\":[" NODE("5", "1,2") "," NODE("6", "3,\"x\"") "," NODE("7", "4") "]}",
        "{\"nodes\":[" NODE("5", "1,2") "," NODE("6", "3,\"x\"") "," NODE("8", "4") "]}"};
#undef NODE
    uint64_t hashes[2];
    char path[128];
    (void)state;
    path_of("et.json", path, sizeof path);
    for (int k = 0; k < 2; k++) {
        rlt_host_trace t;
        rlt_error why = {0};
        const char *name = "one.json";
        rlt_read_options o = options();
        rlt_program *p = NULL;
        write_file("et.json", texts[k]);
        if (rlt_host_trace_load(path, &t, &why) < 0)
            fail_msg("%s: %s", why.where, why.what);
        assert_int_equal(t.n_comms, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(t.comms[i].in_elems, 5 + i + (k == 1 && i == 2));
            assert_int_equal(t.splits[t.comms[i].first_split], i == 0 ? 1 : 2 + i);
        }
        assert_int_equal(t.splits[t.comms[1].first_split + 1], 0);
        rlt_host_trace_free(&t);
        write_file(name, TRACE(STEP(0, 0, 100) LAUNCH(1, 10, 5, 8) KERNEL("k", 7, 20, 5, 8)));
        o.host_trace_dir = path;
        assert_int_equal(read_files(1, &name, &o, &p), 0);
        hashes[k] = p->hash;
        rlt_program_free(p);
    }
    assert_int_not_equal(hashes[0], hashes[1]);
    unlink(path);
}

/* Work is on the device that it names, otherwise on that of its process. */
static void devices(void **state)
{
    (void)state;
    rlt_program *p =
        read_one(TRACE(STEP(0, 0, 100) EVENT("kernel", "a", 3, 7, 20, 5, "\"device\":5,\"stream\":9") EVENT(
            "kernel", "b", 3, 7, 30, 5, "\"stream\":9") EVENT("kernel", "c", 3, 7, 40, 5, "\"device\":5")));
    static const char *const names[] = {"device 5 stream 9", "device 3 stream 9", "device 5 stream 7"};
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        const rlt_op *o = named(p, name);
        assert_string_equal(rlt_program_string(p, p->resources[o->resource].name), names[i]);
    }
    rlt_program_free(p);
}

/* What times count from is a number of nanoseconds up to the year 2033. */
static void bases(void **state)
{
    static const struct {
        const char *base;
        int code;
    } rows[] = {{"0", 0},
                {"2000000000000000000", 0},
                {"2000000000000000001", RLT_EMALFORMED},
                {"-1", RLT_EMALFORMED},
                {"\"x\"", RLT_EMALFORMED}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = "one.json";
        rlt_read_options o = options();
        rlt_program *p = NULL;
        char text[600];
        snprintf(text, sizeof text,
                 "{\"baseTimeNanoseconds\":%s,\"traceEvents\":[" KERNEL("k", 7, 20, 5, 8) "{}]}",
                 rows[i].base);
        write_file(name, text);
        assert_int_equal(read_files(1, &name, &o, &p), rows[i].code);
        if (rows[i].code)
            assert_string_equal(err.what, "\"baseTimeNanoseconds\" is not a number of nanoseconds");
        rlt_program_free(p);
    }
}

/* As many files as there may be: the first one is missing. One more, or none, is refused before any is opened. */
static void files(void **state)
{
    static const uint32_t counts[] = {0, RLT_KIN_MAX_FILES, RLT_KIN_MAX_FILES + 1};
    const char **list = malloc((RLT_KIN_MAX_FILES + 1) * sizeof *list);
    (void)state;
    assert_non_null(list);
    for (uint32_t i = 0; i <= RLT_KIN_MAX_FILES; i++)
        list[i] = "/no/such/recording.json";
    for (int i = 0; i < 3; i++) {
        rlt_read_options o = options();
        rlt_program *p = NULL;
        char what[80];
        err = (rlt_error){0};
        snprintf(what, sizeof what, "got %u recordings: expected 1 to 1048576", counts[i]);
        assert_int_equal(rlt_reader_kineto.read(list, counts[i], &o, &p, &err),
                         i == 1 ? RLT_EIO : RLT_EUSAGE);
        assert_string_equal(i == 1 ? err.where : err.what, i == 1 ? list[0] : what);
    }
    free(list);
}

static void refused_host_traces(void **state)
{
#define NODE(inputs, more)                                                                                   \
    "{\"nodes\":[{\"name\":\"record_param_comms\",\"inputs\":[" inputs "],\"outputs\":[]" more "}]}"
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"{}", "not a host execution trace: it has no \"nodes\""},
        {"{\"nodes\":[]}", "not a host execution trace: it has no \"nodes\""},
        {NODE("7,0,0", ""), "record_param_comms without an operation name"},
        {NODE("7,\"x\"", ""), "record_param_comms without an operation name"},
        {NODE("[1,2,0,-1,4,\"c\"],7,0,0,\"allreduce\"", ""), "a buffer with a negative number of elements"},
        {NODE("[[1,2,0,-1,4,\"c\"],[1,2,0,1,4,\"c\"]],7,0,0,\"allreduce\"", ""),
         "a buffer with a negative number of elements"},
        {NODE("7,0,0,\"allreduce\"", ",\"in_msg_nelems\":-1"), "a buffer with a negative number of elements"},
        {NODE("7,0,0,\"allreduce\"", ",\"out_msg_nelems\":-1"),
         "a buffer with a negative number of elements"},
        {NODE("7,0,0,\"allreduce\"", ",\"pg_size\":16777217"),
         "\"pg_size\" is not a number of at most 16777216 ranks"},
        {NODE("7,0,0,\"allreduce\"", ",\"global_rank_start\":16777217"), "\"global_rank_start\" is not"},
        {NODE("7,0,0,\"allreduce\"", ",\"global_rank_stride\":16777217"), "\"global_rank_stride\" is not"},
    };
#undef NODE
    char path[128];
    (void)state;
    path_of("et.json", path, sizeof path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_host_trace t;
        rlt_error why = {0};
        write_file("et.json", rows[i].text);
        int rc = rlt_host_trace_load(path, &t, &why);
        if (rc != RLT_ESCHEMA || !strstr(why.what, rows[i].what))
            fail_msg("row %zu: %d %s", i, rc, why.what);
    }
    unlink(path);
}

/* The whole text of a check. */
static void check_says(const char *text, const char *expected)
{
    char path[128], *found = NULL;
    const char *list[] = {path};
    rlt_read_options o = options();
    write_file("one.json", text);
    path_of("one.json", path, sizeof path);
    err = (rlt_error){0};
    if (rlt_reader_kineto.check(list, 1, &o, &found, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(found, expected);
    free(found);
}

static void checks(void **state)
{
    (void)state;
    check_says(
        TRACE(STEP(0, 0, 100) OP("aten::mul", 1, 1, 5) LAUNCH(1, 10, 5, 1) KERNEL("k", 7, 20, 5, 1)
                  CALL("cudaMemcpyAsync", 1, 16, 2, 2) EVENT("gpu_memcpy", "HtoD", 0, 7, 30, 5, ON(7, 2))),
        "ok: ranks: 1 of 1 present\nok: steps: 1 marked\nok: device work: 1 kernels, 1 copies and sets\n"
        "ok: collectives: none recorded\n");
    check_says(
        TRACE(STEP(0, 0, 100) CALL("cudaStreamWaitEvent", 1, 5, 2, 9)
                  CALL("cudaStreamSynchronize", 1, 8, 2, 8) CALL("cudaEventSynchronize", 1, 60, 2, 7)
                      EVENT("gpu_memset", "Memset", 0, 7, 30, 5, "") EVENT("strange", "x", 0, 7, 30, 5, "")),
        "ok: ranks: 1 of 1 present\nok: steps: 1 marked\n"
        "lacks: device work: 0 kernels, 1 copies; profile with ProfilerActivity.CUDA\n"
        "lacks: host operators; profile with ProfilerActivity.CPU\n"
        "lacks: launches of 1 device operations: placed by their recorded time\n"
        "lacks: cuda_sync events: the targets of 1 stream waits and 2 synchronising calls are inferred from times; "
        "record with experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)\n"
        "lacks: knowledge of 1 events of unknown categories: ignored\n"
        "ok: collectives: none recorded\n");
    /* Without any call no launch is known; with a correlation one is looked for. */
    check_says(TRACE(OP("aten::mul", 1, 1, 5) KERNEL("k", 7, 20, 5, 1) KERNEL("k", 7, 30, 5, 2)
                         EVENT("cuda_sync", "Stream Sync", 0, 7, 30, 1, "\"stream\":7")),
               "ok: ranks: 1 of 1 present\n"
               "lacks: steps: 1 of 1 recordings have no step marks; call profiler.step() once an iteration\n"
               "ok: device work: 2 kernels, 0 copies and sets\n"
               "lacks: launches of 2 device operations: placed by their recorded time\n"
               "ok: synchronisation: 1 cuda_sync events\n"
               "ok: collectives: none recorded\n");
    check_says(
        "{\"distributedInfo\":{\"rank\":1,\"world_size\":3},\"traceEvents\":[" STEP(0, 0, 100)
            OP("aten::mul", 1, 1, 5) LAUNCH(1, 10, 5, 1) EVENT(
                "kernel", "ncclKernel", 0, 7, 20, 5,
                ON(7, 1) ",\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"dtype\":\"Float\"") "{}]}",
        "lacks: ranks: 2 of 3 have no recording (first: rank 0); profile every rank over the same steps, or use "
        "another rank's recording: --replicate 0=1\nok: steps: 1 marked\n"
        "ok: device work: 1 kernels, 0 copies and sets\n"
        "ok: collectives: 1 NCCL kernels, all with sizes\n");
}

/* One NCCL kernel was launched before the recording, one inside; neither says its bytes. */
static void check_of_unknown_sizes(void **state)
{
    (void)state;
    check_says(
        TRACE(STEP(0, 0, 100) OP("aten::mul", 1, 1, 5) KERNEL("ncclKernel", 7, 20, 5, 1) LAUNCH(1, 30, 5, 2)
                  KERNEL("ncclKernel", 7, 40, 5, 2)),
        "ok: ranks: 1 of 1 present\nok: steps: 1 marked\nok: device work: 2 kernels, 0 copies and sets\n"
        "lacks: collective sizes: 1 of 2 NCCL kernels were launched before the recording began and do not say "
        "their bytes; 0 take those of the same place one period later, 1 keep their recorded time, waiting "
        "included; leave out the first step (--steps), or warm up (schedule(warmup=2))\n"
        "lacks: collective sizes: 1 of 2 NCCL kernels do not say their bytes; record with PyTorch 2.4 or later "
        "and record_shapes=True, or give host execution traces (ExecutionTraceObserver) with --host-trace\n");
}

static void steps_of_two(void **state)
{
    const char *names[] = {"a.json", "b.json"};
    rlt_read_options o = options();
    rlt_program *p = NULL;
    char path[2][128], *found = NULL;
    const char *list[] = {path[0], path[1]};
    (void)state;
    write_file(names[0], "{\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":[" STEP(
                             0, 0, 100) KERNEL("k", 7, 20, 5, 1) "{}]}");
    write_file(names[1], "{\"distributedInfo\":{\"rank\":1,\"world_size\":2},\"traceEvents\":[" STEP(
                             0, 0, 100) STEP(1, 100, 100) KERNEL("k", 7, 20, 5, 1) "{}]}");
    assert_int_equal(read_files(2, names, &o, &p), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "has 2 steps, but "));
    assert_non_null(strstr(err.what, "a.json has 1: choose steps that all recordings have (--steps)"));
    for (int i = 0; i < 2; i++)
        path_of(names[i], path[i], sizeof path[i]);
    err = (rlt_error){0};
    assert_int_equal(rlt_reader_kineto.check(list, 2, &o, &found, &err), 0);
    assert_non_null(strstr(
        found, "lacks: steps: the ranks have between 1 and 2 steps; profile the same steps on every rank\n"));
    free(found);
    write_file(names[1], "{\"distributedInfo\":{\"rank\":1,\"world_size\":2},\"traceEvents\":[" KERNEL(
                             "k", 7, 20, 5, 1) "{}]}");
    assert_int_equal(rlt_reader_kineto.check(list, 2, &o, &found, &err), 0);
    assert_non_null(strstr(found, "lacks: steps: 1 of 2 recordings have no step marks; "));
    free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles),
        cmocka_unit_test(row_names),
        cmocka_unit_test(ordered_steps),
        cmocka_unit_test(categories),
        cmocka_unit_test(times),
        cmocka_unit_test(ranks_in_names),
        cmocka_unit_test(clocks),
        cmocka_unit_test(host_traces),
        cmocka_unit_test(refused_host_traces),
        cmocka_unit_test(checks),
        cmocka_unit_test(steps_of_two),
        cmocka_unit_test(orders_of_host_traces),
        cmocka_unit_test(devices),
        cmocka_unit_test(bases),
        cmocka_unit_test(files),
        cmocka_unit_test(check_of_unknown_sizes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
