/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random recordings of rocprofv3, as CSV and as JSON, against the same calls and the same work in PyTorch
 * profiler's words, whose reader has tests of its own: all three are one program. Files and members as at the
 * head of rocprof.c.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/traces/kineto.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { CASES = 60, MAX_ITEMS = 40, STREAMS = 3 };
enum { KERNEL, COPY, CALL, MARK, RCCL, KINDS };

static const char *const ends[KINDS] = {"kernel_trace.csv", "memory_copy_trace.csv", "hip_api_trace.csv",
                                        "marker_api_trace.csv", "rccl_api_trace.csv"};
static const char *const members[KINDS] = {"kernel_dispatch", "memory_copy", "hip_api", "marker_api",
                                           "rccl_api"};
/* 130 bytes, of which 120 are kept. */
#define TEN  "abcdefghij"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
static const char *const kernels[] = {"gemm(float*, int)", LONG, "ncclDevKernel_AllReduce"};
static const char *const ways[] = {"MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
                                   "MEMORY_COPY_DEVICE_TO_DEVICE"};
static const char *const copies[] = {"Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD"};
static const char *const calls[] = {"hipLaunchKernel", "hipMemcpyAsync", "hipMalloc", "hipDeviceSynchronize"};
static const char *const sums[] = {"ncclAllReduce", "ncclGroupStart", "ncclCommInitRank", "mscclInit"};
static const char *const marks[] = {"iteration 7", "warm up", "iteration 8"};
static const char *const *const names[KINDS] = {kernels, ways, calls, marks, sums};

typedef struct item {
    int kind;
    uint32_t name, agent, stream, thread, correlation; /* correlation 0: none */
    int64_t begin, end;                                /* ns */
} item;

typedef struct drawn {
    dice d;
    bool marked;  /* a step is */
    bool streams; /* named; otherwise a kernel has a queue, and a copy a destination */
    item items[MAX_ITEMS];
    uint32_t n;
    char text[1 << 15];
    size_t used;
} drawn;

static void add(drawn *x, item i)
{
    assert_in_range(x->n, 0, MAX_ITEMS - 1);
    x->items[x->n++] = i;
}

/* A host calls from two threads, and work follows on its stream. */
static void draw(drawn *x)
{
    int64_t now = 1000 + below(&x->d, 500), free_at[2 * STREAMS] = {0}, last = 0;
    uint32_t actions = 2 + below(&x->d, 9);
    x->streams = below(&x->d, 2);
    x->n = 0;
    for (uint32_t i = 0; i < actions; i++) {
        item c = {.kind = CALL, .thread = 70 + below(&x->d, 2), .correlation = 10 + i, .begin = now};
        bool copy = below(&x->d, 3) == 0, idle = i && below(&x->d, 4) == 0;
        c.name = idle ? 2 + below(&x->d, 2) : copy;
        c.end = now + 1 + below(&x->d, 300);
        if (idle && c.name == 3)
            c.end = c.end > last ? c.end : last + 5;
        add(x, c);
        now = c.end + below(&x->d, 400);
        if (idle)
            continue;
        uint32_t lane = below(&x->d, STREAMS);
        int64_t *at = &free_at[lane + (copy ? STREAMS : 0)];
        item w = {.kind = copy ? COPY : KERNEL,
                  .name = below(&x->d, 3),
                  .agent = 4,
                  .stream = lane + 1,
                  .correlation = below(&x->d, 8) ? c.correlation : 0};
        w.begin = (*at > c.end ? *at : c.end) + below(&x->d, 200);
        *at = w.end = w.begin + 1 + below(&x->d, 900);
        last = w.end > last ? w.end : last;
        add(x, w);
    }
    x->marked = below(&x->d, 2);
    if (x->marked) { /* two steps, the later one first, and another range */
        int64_t end = (now > last ? now : last) + 100,
                between = 900 + (int64_t)roll(&x->d, (uint64_t)end - 900);
        add(x, (item){.kind = MARK, .name = 2, .thread = 70, .correlation = 3, .begin = between, .end = end});
        add(x, (item){.kind = MARK, .name = 1, .thread = 70, .correlation = 2, .begin = 950, .end = 990});
        add(x, (item){.kind = MARK, .thread = 70, .correlation = 1, .begin = 900, .end = between});
    }
    for (uint32_t i = below(&x->d, 4); i < 4; i++) /* calls that communicate, and others */
        add(x, (item){.kind = RCCL, .name = i, .thread = 71, .correlation = 3, .begin = now, .end = now + 7});
}

/* ---- three ways to write it ---- */

static void write_text(drawn *x, const char *folder, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(x->text, 1, x->used, f), x->used);
    fclose(f);
    x->used = 0;
}

static void say_line(drawn *x, const item *e)
{
    long long begin = e->begin, end = e->end;
    const char *name = names[e->kind][e->name];
    if (e->kind == KERNEL && x->streams)
        TEST_SAY(x, "\"K\",\"Agent %u\",9,%u,\"%s\",%u,%lld,%lld\n", e->agent, e->stream, name,
                 e->correlation, begin, end);
    else if (e->kind == KERNEL)
        TEST_SAY(x, "\"K\",\"Agent %u\",%u,\"%s\",%u,%lld,%lld\n", e->agent, e->stream, name, e->correlation,
                 begin, end);
    else if (e->kind == COPY && x->streams)
        TEST_SAY(x, "M,\"%s\",%u,9,%u,%lld,%lld\n", name, e->stream, e->correlation, begin, end);
    else if (e->kind == COPY)
        TEST_SAY(x, "M,\"%s\",%u,%u,%lld,%lld\n", name, e->stream, e->correlation, begin, end);
    else
        TEST_SAY(x, "D,\"%s\",5,%u,%u,%lld,%lld\n", name, e->thread, e->correlation, begin, end);
}

static void write_csv(drawn *x, const char *folder)
{
    static const char times[] = "Correlation_Id,Start_Timestamp,End_Timestamp\n";
    for (int k = 0; k < KINDS; k++) {
        char name[64];
        bool any = false;
        snprintf(name, sizeof name, "a_%s", ends[k]);
        if (k == KERNEL)
            TEST_SAY(x, "Kind,Agent_Id,Queue_Id,%sKernel_Name,%s", x->streams ? "Stream_Id," : "", times);
        else if (k == COPY)
            TEST_SAY(x, "Kind,Direction,%sDestination_Agent_Id,%s", x->streams ? "Stream_Id," : "", times);
        else
            TEST_SAY(x, "Domain,Function,Process_Id,Thread_Id,%s", times);
        for (uint32_t i = 0; i < x->n; i++)
            if (x->items[i].kind == k) {
                say_line(x, &x->items[i]);
                any = true;
            }
        if (any || k == KERNEL)
            write_text(x, folder, name);
        x->used = 0;
    }
}

static void say_record(drawn *x, const item *e)
{
    TEST_SAY(x,
             "{\"kind\":%d,\"operation\":%u,\"correlation_id\":{\"internal\":%u},\"start_timestamp\":%lld,"
             "\"end_timestamp\":%lld,\"thread_id\":%u",
             e->kind, e->name, e->correlation, (long long)e->begin, (long long)e->end, e->thread);
    if (e->kind <= COPY && x->streams)
        TEST_SAY(x, ",\"stream_id\":{\"handle\":%u}", e->stream);
    if (e->kind == KERNEL)
        TEST_SAY(
            x,
            ",\"dispatch_info\":{\"agent_id\":{\"handle\":%u},\"queue_id\":{\"handle\":%u},\"kernel_id\":%u}",
            e->agent, x->streams ? 9 : e->stream, 100 - e->name);
    if (e->kind == COPY)
        TEST_SAY(x, ",\"dst_agent_id\":%u", x->streams ? 9 : e->stream);
    TEST_SAY(x, "}");
}

static void write_json(drawn *x, const char *folder)
{
    static const uint32_t counts[KINDS] = {3, 3, 4, 3, 4};
    TEST_SAY(x, "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":5},\"strings\":{\"buffer_records\":[");
    for (int k = 0; k < KINDS; k++) {
        TEST_SAY(x, "%s{\"operations\":[", k ? "," : "");
        for (uint32_t i = 0; i < counts[k]; i++)
            TEST_SAY(x, "%s\"%s\"", i ? "," : "", names[k][i]);
        TEST_SAY(x, "]}");
    }
    TEST_SAY(
        x,
        "],\"marker_api\":[{\"key\":3,\"value\":\"iteration 8\"},{\"key\":2,\"value\":\"warm up\"},{\"key\":1,\"value\":\"iteration 7\"}]},"
        "\"kernel_symbols\":[");
    for (uint32_t i = 0; i < 3; i++)
        TEST_SAY(x, "%s{\"kernel_id\":%u,\"formatted_kernel_name\":\"%s\"}", i ? "," : "", 100 - i,
                 kernels[i]);
    TEST_SAY(x, "],\"buffer_records\":{");
    for (int k = 0; k < KINDS; k++) {
        const char *comma = "";
        TEST_SAY(x, "%s\"%s\":[", k ? "," : "", members[k]);
        for (uint32_t i = 0; i < x->n; i++)
            if (x->items[i].kind == k) {
                TEST_SAY(x, "%s", comma);
                say_record(x, &x->items[i]);
                comma = ",";
            }
        TEST_SAY(x, "]");
    }
    TEST_SAY(x, "}}]}");
    write_text(x, folder, "b_results.json");
}

/* Only what communicates is a call of its own there. */
static void write_kineto(drawn *x, const char *folder)
{
    static const char *const categories[KINDS] = {"kernel", "gpu_memcpy", "cuda_runtime", "user_annotation",
                                                  "cpu_op"};
    TEST_SAY(x, "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[\n");
    for (int k = 0; k < KINDS; k++)
        for (uint32_t i = 0; i < x->n; i++) {
            const item *e = &x->items[i];
            const char *name = e->kind == COPY   ? copies[e->name]
                               : e->kind == RCCL ? "record_param_comms"
                                                 : names[e->kind][e->name];
            if (e->kind != k || (k == RCCL && e->name != 0) || (k == MARK && e->name == 1))
                continue;
            TEST_SAY(x,
                     "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":5,\"tid\":%u,\"ts\":%lld.%03d,"
                     "\"dur\":%lld.%03d,\"args\":{",
                     categories[k], name, e->thread, (long long)(e->begin / 1000), (int)(e->begin % 1000),
                     (long long)((e->end - e->begin) / 1000), (int)((e->end - e->begin) % 1000));
            if (e->correlation && k <= CALL)
                TEST_SAY(x, "\"correlation\":%u%s", e->correlation, k == CALL ? "" : ",");
            if (k == KERNEL)
                TEST_SAY(x, "\"device\":\"Agent %u\",\"stream\":%u", e->agent, e->stream);
            if (k == COPY)
                TEST_SAY(x, "\"device\":\"copies\",\"stream\":%u", e->stream);
            TEST_SAY(x, "}},\n");
        }
    TEST_SAY(x, "{}]}");
    write_text(x, folder, "c.json");
}

/* ---- one program ---- */

/* From a file; csv: from all CSV files of the process. */
static rlt_program *read_one(const drawn *x, const char *folder, const char *name, const char *reader)
{
    const rlt_read_options o = {
        .first_step = -1, .last_step = -1, .keep_waits = true, .step_mark = x->marked ? "iteration" : NULL};
    char paths[KINDS][160];
    const char *list[KINDS];
    uint32_t n = 0;
    rlt_program *p = NULL;
    rlt_error err = {0};
    for (int k = 0; k < (name ? 1 : KINDS); k++) {
        snprintf(paths[n], sizeof paths[n], "%s/%s%s", folder, name ? "" : "a_", name ? name : ends[k]);
        list[n] = paths[n];
        n += access(paths[n], F_OK) == 0;
    }
    if (rlt_trace_read(list, n, &o, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, reader);
    return p;
}

static void compare(const rlt_program *p, const rlt_program *q, bool agents)
{
    assert_int_equal(p->n_ops, q->n_ops);
    assert_int_equal(p->n_resources, q->n_resources);
    for (uint32_t i = 0; i < p->n_resources; i++) {
        assert_int_equal(p->resources[i].kind, q->resources[i].kind);
        const char *name = rlt_program_string(q, q->resources[i].name), *agent = strstr(name, "Agent ");
        char short_name[100]; /* JSON has the numbers of agents */
        snprintf(short_name, sizeof short_name, "%.*s%s", agent ? (int)(agent - name) : 0, name,
                 agent ? agent + strlen("Agent ") : name);
        assert_string_equal(rlt_program_string(p, p->resources[i].name), agents ? name : short_name);
    }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *a = &p->ops[i], *b = &q->ops[i];
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->duration_ps, b->duration_ps);
        assert_int_equal(a->recorded_ps, b->recorded_ps);
        assert_int_equal(a->recorded_duration_ps, b->recorded_duration_ps);
        assert_int_equal(a->resource, b->resource);
        assert_int_equal(a->step, b->step);
        assert_string_equal(rlt_program_string(p, a->name), rlt_program_string(q, b->name));
        assert_int_equal(a->n_deps, b->n_deps);
        assert_memory_equal(p->deps + a->first_dep, q->deps + b->first_dep, a->n_deps * sizeof *p->deps);
    }
    assert_int_equal(p->n_notes, q->n_notes);
}

static void three_ways(void **state)
{
    static drawn x;
    uint64_t of_csv = 0, of_json = 0; /* hashes of the last case */
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        char folder[] = "/tmp/ringlet-rocprof-XXXXXX", command[64];
        assert_non_null(mkdtemp(folder));
        x.d = (dice){.seed = seed};
        draw(&x);
        write_csv(&x, folder);
        write_json(&x, folder);
        write_kineto(&x, folder);
        rlt_program *csv = read_one(&x, folder, NULL, "rocprof");
        rlt_program *json = read_one(&x, folder, "b_results.json", "rocprof");
        rlt_program *kineto = read_one(&x, folder, "c.json", "kineto");
        compare(csv, kineto, true);
        compare(json, kineto, false);
        assert_true(csv->hash != of_csv && json->hash != of_json);
        of_csv = csv->hash;
        of_json = json->hash;
        rlt_program_free(csv);
        rlt_program_free(json);
        rlt_program_free(kineto);
        for (int k = 0; k < KINDS + 2; k++) {
            snprintf(command, sizeof command, "%s/%s%s", folder, k < KINDS ? "a_" : "",
                     k < KINDS    ? ends[k]
                     : k == KINDS ? "b_results.json"
                                  : "c.json");
            unlink(command);
        }
        rmdir(folder);
    }
}

/* Every column that a file needs is missed by its name, at the first line; others may be missing. */
static void columns(void **state)
{
    static const char *const of[KINDS][8] = {
        {"Agent_Id", "Queue_Id", "Kernel_Name", "Correlation_Id", "Start_Timestamp", "End_Timestamp", NULL},
        {"Direction", "Destination_Agent_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp", NULL},
        {"Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp", NULL},
        {"Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp", NULL},
        {"Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp", NULL}};
    static drawn x;
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int without = 0; of[k][without]; without++) {
            char folder[] = "/tmp/ringlet-rocprof-XXXXXX", paths[KINDS][160], name[64], expected[100];
            const char *list = paths[0];
            const rlt_read_options o = {.first_step = -1, .last_step = -1};
            rlt_program *p = NULL;
            rlt_error err = {0};
            assert_non_null(mkdtemp(folder));
            for (int i = 0; i < KINDS; i++) {
                for (int c = 0; of[i][c]; c++)
                    if (i != k || c != without)
                        TEST_SAY(&x, "%s,", of[i][c]);
                TEST_SAY(&x, "Kind\n");
                snprintf(name, sizeof name, "a_%s", ends[i]);
                snprintf(paths[i], sizeof paths[i], "%s/%s", folder, name);
                write_text(&x, folder, name);
            }
            int rc = rlt_trace_read(&list, 1, &o, &p, &err);
            for (int i = 0; i < KINDS; i++)
                unlink(paths[i]);
            rmdir(folder);
            snprintf(expected, sizeof expected, "expected a column %s, as rocprofv3 writes it",
                     of[k][without]);
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_string_equal(err.where, paths[k]);
            assert_string_equal(err.what, expected);
        }
}

/* Times end at 2 10^18 ns, and nothing lasts longer than 2^61 ps, or less than 0. */
static void times(void **state)
{
    static const char head[] = "Agent_Id,Queue_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n";
    const unsigned long long most = (1ull << 61) / 1000, late = 2000000000000000000ull;
    const struct {
        unsigned long long begin, end;
        int code;
        const char *says;
    } all[] = {{1, 1 + most, 0, ""},
               {1, 2 + most, RLT_ERANGE, "an event lasts more than 26 days"},
               {late - 1, late, 0, ""},
               {5, 4, 0, ""},
               {5, 5, 0, ""},
               {5, 6, 0, ""},
               {late - 1, late + 1, RLT_ERANGE, "nd_"},
               {late + 1, late + 1, RLT_ERANGE, "tart_"}};
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    static drawn x;
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int json = 0; json < 2; json++) {
            char path[] = "/tmp/ringlet-rocprof-XXXXXX";
            const char *list = path;
            rlt_program *p = NULL;
            rlt_error err = {0};
            x.used = 0;
            if (json)
                TEST_SAY(
                    &x,
                    "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":5},\"strings\":{},\"kernel_symbols\":"
                    "[{\"kernel_id\":1,\"formatted_kernel_name\":\"k\"}],\"buffer_records\":{"
                    "\"kernel_dispatch\":[{\"correlation_id\":{\"internal\":2},\"start_timestamp\":%llu,"
                    "\"end_timestamp\":%llu,\"dispatch_info\":{\"agent_id\":1,\"queue_id\":1,\"kernel_id\":1}"
                    "}]}}]}",
                    all[i].begin, all[i].end);
            else
                TEST_SAY(&x, "Kind,%sK,1,1,k,2,%llu,%llu\n", head, all[i].begin, all[i].end);
            test_write_new(path, x.text, x.used);
            int rc = rlt_trace_read(&list, 1, &o, &p, &err);
            unlink(path);
            if (rc != all[i].code || !(strstr(err.what, all[i].says) || strstr(err.where, all[i].says)))
                fail_msg("%zu: %d: %s: %s", i, rc, err.where, err.what);
            if (p) {
                assert_int_equal(noted(p, "negative duration"), all[i].end < all[i].begin);
                assert_int_equal(total(p, RLT_OP_COMPUTE),
                                 all[i].end > all[i].begin ? 1000 * (all[i].end - all[i].begin) : 0);
            }
            rlt_program_free(p);
        }
}

/* What the JSON form lacks, by its name. */
static void members_of_records(void **state)
{
    static const struct {
        const char *kernel, *info, *what;
    } all[] = {
        {"1", "\"queue_id\":1,\"kernel_id\":1", "expected a member agent_id, as rocprofv3 writes it"},
        {"1", "\"agent_id\":1,\"kernel_id\":1", "expected a member queue_id, as rocprofv3 writes it"},
        {"2", "\"agent_id\":1,\"queue_id\":1,\"kernel_id\":1", "kernel_symbols has no kernel 1"},
        {NULL, NULL, "expected a list rocprofiler-sdk-tool"},
    };
    const rlt_read_options o = {.first_step = -1, .last_step = -1};
    static drawn x;
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[] = "/tmp/ringlet-rocprof-XXXXXX";
        const char *list = path;
        rlt_program *p = NULL;
        rlt_error err = {0};
        x.used = 0;
        if (all[i].kernel)
            TEST_SAY(&x,
                     "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":5},\"strings\":{},\"kernel_symbols\":"
                     "[{\"kernel_id\":%s,\"formatted_kernel_name\":\"k\"}],\"buffer_records\":{"
                     "\"kernel_dispatch\":[{\"correlation_id\":{\"internal\":2},\"start_timestamp\":1,"
                     "\"end_timestamp\":2,\"dispatch_info\":{%s}}]}}]}",
                     all[i].kernel, all[i].info);
        else
            TEST_SAY(&x, "{\"rocprofiler-sdk-tool\":[]}");
        test_write_new(path, x.text, x.used);
        int rc = rlt_trace_read(&list, 1, &o, &p, &err);
        unlink(path);
        if (rc != RLT_ESCHEMA || strncmp(err.where, path, strlen(path)) != 0 ||
            strcmp(err.what, all[i].what) != 0)
            fail_msg("%zu: %d: %s: %s", i, rc, err.where, err.what);
        assert_null(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(members_of_records), cmocka_unit_test(three_ways),
                                       cmocka_unit_test(columns), cmocka_unit_test(times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
