/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of Nsight Systems: what becomes of each row of device work, calls and synchronisations, by hand. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/nsys.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/nsys/database.h"

/* Copies and sets are memory operations, with names of their kinds; a graph is compute. */
static void device_work(void **state)
{
    static const struct {
        int kind;
        const char *name;
    } kinds[] = {
        {1, "Memcpy HtoD"}, {2, "Memcpy DtoH"}, {8, "Memcpy DtoD"}, {10, "Memcpy PtoP"}, {3, "Memcpy"}};
    char name[128];
    (void)state;
    begin();
    step(1, 0, 1000);
    for (int i = 0; i < 5; i++) {
        call(1, 1, 1 + i, 10 * i, 10 * i + 5, "cudaMemcpyAsync_v3020");
        sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (%d, %d, %lld, 0, 9, %d, %d, 1);",
            100000 * (i + 1), 100000 * (i + 1) + 1000 * (i + 1), PID(1), 1 + i, kinds[i].kind);
    }
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (700000, 707000, %lld, 0, 9, 8);", PID(1));
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (800000, 809000, %lld, 0, 9, 9);", PID(1));
    memset(name, 'k', 121);
    name[120] = '\0';
    kernel(1, 0, 9, 10, 820, 830, name);
    name[120] = 'x';
    name[121] = '\0';
    kernel(1, 0, 9, 11, 840, 855, name);
    rlt_program *p = read_it();
    for (int i = 0; i < 5; i++)
        assert_int_equal(named(p, kinds[i].name)->duration_ps, (i + 1) * RLT_US);
    assert_int_equal(named(p, "Memset")->duration_ps, 7 * RLT_US);
    assert_int_equal(named(p, "CUDA graph")->duration_ps, 9 * RLT_US);
    assert_int_equal(count(p, 0, RLT_OP_MEMORY), 6);
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 3);
    name[120] = '\0'; /* names keep 120 bytes: both kernels have one name */
    uint32_t same = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        same += strcmp(rlt_program_string(p, p->ops[i].name), name) == 0;
    assert_int_equal(same, 2);
    rlt_program_free(p);
}

/* An older export has no long names. */
static void short_names(void **state)
{
    (void)state;
    begin();
    launched(7, 1, 112, 200, "gemm");
    sql("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN demangledName TO other;"
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET other = 0;");
    rlt_program *p = read_it();
    assert_int_equal(named(p, "gemm")->duration_ps, 88 * RLT_US);
    rlt_program_free(p);
}

/* A copy from the device to pageable memory blocks its caller from 120 to 410: 290 us are no work of the host. One to the
 * device, one to pinned memory, and one of an export without kinds of memory do not. */
static void blocking_copies(void **state)
{
    static const struct {
        int kind, memory;
        bool drop, blocks;
    } rows[] = {{2, 0, false, true}, {1, 0, false, false}, {2, 1, false, false}, {2, 0, true, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        step(1, 0, 1000);
        launched(7, 1, 112, 400, "k");
        call(1, 1, 2, 120, 420, "cudaMemcpyAsync_v3020");
        sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (401000, 410000, %lld, 0, 7, 2, %d, %d);", PID(1),
            rows[i].kind, rows[i].memory);
        if (rows[i].drop)
            sql("DROP TABLE ENUM_CUDA_MEM_KIND;");
        rlt_program *p = read_it();
        assert_int_equal(total(p, RLT_OP_HOST), (rows[i].blocks ? 710 : 1000) * RLT_US);
        rlt_program_free(p);
    }
}

/* A row without an end is left out; one that ends before it begins takes no time. */
static void odd_times(void **state)
{
    (void)state;
    begin();
    step(1, 0, 600);
    launched(7, 1, 112, 200, "whole");
    launched(7, 2, 222, 212, "back");
    launched(7, 3, 300, 310, "open");
    launched(7, 4, 320, 330, "nowhere");
    sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = NULL WHERE correlationId = 3;"
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = NULL WHERE correlationId = 4;");
    rlt_program *p = read_it();
    assert_int_equal(count(p, 0, RLT_OP_COMPUTE), 2);
    assert_int_equal(named(p, "whole")->duration_ps, 88 * RLT_US);
    assert_int_equal(named(p, "back")->duration_ps, 0);
    assert_int_equal(noted(p, "negative"), 1);
    rlt_program_free(p);
}

/* Times up to 2e18 ns on both sides of 0, and durations up to 2^61 ps, are read; the next ones are not. */
static void bounds_of_times(void **state)
{
    static const struct {
        const char *from, *to, *what; /* what NULL: read */
    } rows[] = {
        {"2000000000000000000", "2000000000000000000", NULL},
        {"2000000000000000001", "2000000000000000001",
         "CUPTI_ACTIVITY_KIND_KERNEL: a time outside +-2e18 ns"},
        {"1999999999999999999", "2000000000000000001",
         "CUPTI_ACTIVITY_KIND_KERNEL: a time outside +-2e18 ns"},
        {"-2000000000000000000", "-2000000000000000000", NULL},
        {"-2000000000000000001", "-2000000000000000000", "a time outside +-2e18 ns"},
        {"-2000000000000000000", "-2000000000000000001", "a time outside +-2e18 ns"},
        {"0", "2305843009213693", NULL},
        {"0", "2305843009213694", "CUPTI_ACTIVITY_KIND_KERNEL: an event lasts more than 26 days"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p;
        begin();
        kernel(1, 0, 7, 1, 0, 0, "k");
        sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = %s, end = %s;", rows[i].from, rows[i].to);
        int rc = try_read(&p);
        if (rows[i].what ? rc != RLT_ERANGE || !strstr(err.what, rows[i].what) : rc != 0)
            fail_msg("row %zu: %d %s", i, rc, err.what);
        rlt_program_free(p);
    }
}

/* Processes are ordered by the device of their collectives, else of their first work; with one device by their numbers. */
static void order_of_processes(void **state)
{
    (void)state;
    begin();
    kernel(5, 2, 7, 1, 100, 110, "five"); /* device 2, but its collective is on device 0 */
    kernel(5, 0, 8, 2, 120, 130, "ncclDevKernel_AllReduce");
    kernel(5, 3, 8, 3, 140, 150, "ncclDevKernel_AllReduce"); /* a later one does not count */
    kernel(4, 1, 7, 1, 100, 111, "four");
    kernel(9, 3, 7, 1, 100, 112, "nine");
    kernel(8, 3, 7, 1, 100, 113, "eight");
    rlt_read_options o = options();
    const char *list[] = {path};
    rlt_program *p = NULL;
    o.keep_waits = true;
    write_database();
    err = (rlt_error){0};
    if (rlt_reader_nsys.read(list, 1, &o, &p, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_ranks, 4);
    assert_int_equal(named(p, "five")->rank, 0);
    assert_int_equal(named(p, "four")->rank, 1);
    assert_int_equal(named(p, "eight")->rank, 2);
    assert_int_equal(named(p, "nine")->rank, 3);
    rlt_program_free(p);
}

/* Threads of a process are hosts of their own, by the thread's number; a thread of no process here is left out. */
static void threads(void **state)
{
    (void)state;
    begin();
    step(1, 0, 600);
    launched(7, 1, 112, 200, "one");
    call(1, 77, 2, 300, 310, "cudaLaunchKernel_v7000");
    kernel(1, 0, 9, 2, 312, 320, "two");
    call(2, 5, 3, 300, 310, "cudaLaunchKernel_v7000");
    rlt_program *p = read_it();
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->n_resources; i++) {
        const char *name = rlt_program_string(p, p->resources[i].name);
        found += strcmp(name, "thread 1") == 0 || strcmp(name, "thread 77") == 0;
        assert_string_not_equal(name, "thread 5");
    }
    assert_int_equal(found, 2);
    rlt_program_free(p);
}

/*
 * Kernels of two streams end at 500 and 503, and a call waits from 120 to 505. What it waits for is what its row says: a
 * stream (3), an event's stream (1), or nothing of its own (0, 4, and kinds that are unknown): then a call for a device waits
 * for all, and one for a stream for the thread's last one.
 */
static void synchronisations(void **state)
{
    static const struct {
        int kind, stream;
        const char *name;
        bool seven, nine;
    } rows[] = {
        {3, 7, "cudaStreamSynchronize_v3020", true, false},
        {3, 9, "cudaStreamSynchronize_v3020", false, true},
        {3, 0, "cudaStreamSynchronize_v3020", true, false},
        {0, 7, "cudaDeviceSynchronize_v3020", true, true},
        {4, 7, "cudaStreamSynchronize_v3020", false, true},
        {5, 7, "cudaStreamSynchronize_v3020", false, true},
        {-1, 7, "cudaStreamSynchronize_v3020", false, true},
        {1, -1, "cudaEventSynchronize_v3020", true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        step(1, 0, 1000);
        launched(rows[i].stream ? 7 : 0, 1, 62, 500, "seven"); /* or on the default stream */
        call(1, 1, 2, 64, 66, "cudaEventRecord_v3020");
        launched(9, 3, 82, 503, "nine");
        call(1, 1, 9, 120, 505, rows[i].name);
        sync_row(rows[i].kind, rows[i].stream, 9, 40);
        if (rows[i].kind == 1)
            sql("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (%lld, 40, 2, 7);", PID(1));
        rlt_program *p = read_it();
        rlt_time seven = effect(p, "seven"), nine = effect(p, "nine");
        /* What is not waited for ends at 1500 or 1503, and the step at 1000. */
        if (seven != (rows[i].seven ? (rows[i].nine ? 997 : 1000) : 500) * RLT_US ||
            nine != (rows[i].nine ? 1000 : 503) * RLT_US)
            fail_msg("row %zu: %lld %lld", i, (long long)seven, (long long)nine);
        rlt_program_free(p);
    }
}

/* An event's wait is for its last record before the call, in the call's own process: that of stream 7, not the earlier one of
 * stream 9, the later one, or those of other events and processes. */
static void records(void **state)
{
    (void)state;
    begin();
    step(1, 0, 1000);
    launched(9, 1, 62, 503, "nine");
    call(1, 1, 2, 64, 66, "cudaEventRecord_v3020");
    launched(7, 3, 82, 500, "seven");
    call(1, 1, 4, 84, 86, "cudaEventRecord_v3020");
    call(1, 1, 5, 90, 92, "cudaEventRecord_v3020");
    call(1, 1, 9, 120, 505, "cudaEventSynchronize_v3020");
    call(1, 1, 12, 600, 602, "cudaEventRecord_v3020");
    sync_row(1, -1, 9, 40);
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (%lld, 40, 4, 7), (%lld, 40, 12, 9), (%lld, 40, 2, 9), "
        "(%lld, 41, 5, 9), (%lld, 39, 5, 9), (%lld, 40, 5, 9), (%lld, 40, 5, 9);",
        PID(1), PID(1), PID(1), PID(1), PID(1), PID(2), PID(0));
    rlt_program *p = read_it();
    assert_int_equal(effect(p, "seven"), 1000 * RLT_US);
    assert_int_equal(effect(p, "nine"), 503 * RLT_US);
    rlt_program_free(p);
}

static void probing(void **state)
{
    static const char head[] = "SQLite format 3";
    (void)state;
    assert_int_equal(rlt_reader_nsys.probe("x", head, 16), 70);
    assert_int_equal(rlt_reader_nsys.probe("x", head, 15), 0);
    assert_int_equal(rlt_reader_nsys.probe("x", "SQLite format 2", 16), 0);
    assert_int_equal(rlt_reader_nsys.probe("a.nsys-rep", "", 0), 70);
    assert_int_equal(rlt_reader_nsys.probe(".nsys-rep", "", 0), 0);
    assert_int_equal(rlt_reader_nsys.probe("a.nsys-reps", "", 0), 0);
    assert_int_equal(rlt_reader_nsys.probe("a.qdrep", "", 0), 70);
    assert_int_equal(rlt_reader_nsys.probe(".qdrep", "", 0), 0);
}

/* Reports that were not exported, and what is no database. */
static void refused(void **state)
{
    static const char *const endings[] = {".nsys-rep", ".qdrep"};
    rlt_read_options o = options();
    rlt_program *p = NULL;
    char report[64];
    const char *one = report;
    (void)state;
    begin();
    for (int i = 0; i < 2; i++) {
        snprintf(report, sizeof report, "%s%s", path, endings[i]);
        FILE *f = fopen(report, "w");
        assert_non_null(f);
        fputs("x", f);
        fclose(f);
        err = (rlt_error){0};
        int rc = rlt_reader_nsys.read(&one, 1, &o, &p, &err);
        unlink(report);
        if (rc != RLT_EUNSUPPORTED)
            fail_msg("%s: %s", err.where, err.what);
        assert_non_null(strstr(err.what, "nsys export --type sqlite /tmp/"));
    }
    const char *none = "/nowhere/b";
    err = (rlt_error){0};
    assert_int_equal(rlt_reader_nsys.read(&none, 1, &o, &p, &err), RLT_EIO);
    assert_non_null(strstr(err.what, "cannot open: "));
    rlt_database *d = (rlt_database *)&o;
    assert_int_equal(rlt__database_open(none, &d, &(rlt_error){0}), RLT_EIO);
    assert_null(d);
    const char *own = "test/workload/readers/nsys.c"; /* no database */
    err = (rlt_error){0};
    assert_int_equal(rlt_reader_nsys.read(&own, 1, &o, &p, &err), RLT_EMALFORMED);
    refuse(RLT_ESCHEMA, "the recording has no device work");
    begin();
    kernel(1, 0, 7, 1, 100, 110, "k");
    sql("DROP TABLE StringIds;");
    refuse(RLT_ESCHEMA, "no such table: StringIds");
    /* A row that lies beyond the end of the file. */
    begin();
    kernel(1, 0, 7, 1, 100, 110, "k");
    write_database();
    assert_int_equal(truncate(path, 3 * 4096), 0);
    err = (rlt_error){0};
    one = path;
    assert_int_equal(rlt_reader_nsys.read(&one, 1, &o, &p, &err), RLT_EMALFORMED);
    if (!strstr(err.what, "cannot read the database: "))
        fail_msg("%s", err.what);
    begin();
    sql("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE;");
    refuse(RLT_ESCHEMA, "expected a table CUPTI_ACTIVITY_KIND_KERNEL");
}

/* Graphs alone are device work; tables that are not there are not missed. */
static void few_tables(void **state)
{
    (void)state;
    begin();
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (800000, 809000, %lld, 0, 9, 9);", PID(1));
    sql("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;"
        "DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION; DROP TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT;"
        "DROP TABLE NVTX_EVENTS; DROP TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES; DROP TABLE ENUM_CUDA_MEM_KIND;"
        "DROP TABLE StringIds;");
    rlt_program *p = read_it();
    assert_int_equal(named(p, "CUDA graph")->duration_ps, 9 * RLT_US);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_work),     cmocka_unit_test(short_names),
        cmocka_unit_test(blocking_copies), cmocka_unit_test(odd_times),
        cmocka_unit_test(bounds_of_times), cmocka_unit_test(order_of_processes),
        cmocka_unit_test(threads),         cmocka_unit_test(synchronisations),
        cmocka_unit_test(records),         cmocka_unit_test(probing),
        cmocka_unit_test(refused),         cmocka_unit_test(few_tables),
    };
    return run_in_database(tests, sizeof tests / sizeof *tests);
}
