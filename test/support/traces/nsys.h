/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of Nsight Systems for tests: a database with the tables that its export makes, row by row. Columns that the
 * reader does not use are left out. Times are microseconds. */
#ifndef RLT_TEST_SUPPORT_TRACES_NSYS_H
#define RLT_TEST_SUPPORT_TRACES_NSYS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/late.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

static struct {
    int (*open)(const char *path, void **db);
    int (*exec)(void *db, const char *sql, void *each, void *ctx, char **message);
    int (*close)(void *db);
} sq;
static const char *const names[] = {"sqlite3_open", "sqlite3_exec", "sqlite3_close", NULL};
static const rlt_late_library library = {"libsqlite3.so.0", "libsqlite3-0", names, &sq};

#define TABLES                                                                                               \
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                           \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, globalPid, deviceId, streamId, correlationId, "    \
    "demangledName, shortName);"                                                                             \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, globalPid, deviceId, streamId, correlationId, "    \
    "copyKind, dstKind);"                                                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, globalPid, deviceId, streamId, correlationId);"    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, globalPid, deviceId, streamId, "              \
    "correlationId);"                                                                                        \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"               \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, globalPid, deviceId, streamId, "          \
    "correlationId, syncType, eventId);"                                                                     \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (globalPid, eventId, correlationId, streamId);"             \
    "CREATE TABLE NVTX_EVENTS (start, end, globalTid, text, textId, domainId, binaryData);"                  \
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, offset, type, name);"                     \
    "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, label);"                                       \
    "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'Pageable'), (1, 'Pinned');"                                  \
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (4, 0, NULL, 18, 'NCCL communicator ID'), "              \
    "(4, 0, 8, 5, 'No. of ranks'), (4, 0, 12, 5, 'Rank'), (4, 5, NULL, 18, 'NCCL communicator ID'), "        \
    "(4, 5, 8, 22, 'Message size [bytes]'), (4, 6, NULL, 18, 'NCCL communicator ID'), "                      \
    "(4, 6, 8, 22, 'Bytes'), (4, 6, 16, 5, 'Root'), (4, 8, NULL, 18, 'NCCL communicator ID'), "              \
    "(4, 8, 8, 22, 'Message size [bytes]'), (4, 8, 16, 5, 'Peer rank');"

static char path[] = "/tmp/rlt-nsys-XXXXXX";
static char script[1 << 16];
static size_t used;
static uint32_t texts; /* ids of StringIds so far */

static inline void sql(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline void sql(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(script + used, sizeof script - used, fmt, args);
    va_end(args);
    assert_true(n >= 0 && used + (size_t)n < sizeof script);
    used += (size_t)n;
}

static inline void begin(void)
{
    rlt_error why = {0};
    if (rlt_late_load(&library, &why)) {
        print_message("%s\n", why.what);
        skip();
    }
    used = texts = 0;
    sql("%s", TABLES);
}

static inline unsigned text(const char *s)
{
    sql("INSERT INTO StringIds VALUES (%u, '%s');", ++texts, s);
    return texts;
}

/* Process and thread of a small number, as Nsight numbers them. */
#define PID(p)    ((long long)(p) << 24)
#define TID(p, t) ((long long)(p) << 24 | (t))

static inline void kernel(int pid, int device, int stream, int correlation, int from, int to,
                          const char *name)
{
    unsigned id = text(name);
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, %lld, %d, %d, %d, %u, %u);", from * 1000,
        to * 1000, PID(pid), device, stream, correlation, id, id);
}

static inline void call(int pid, int thread, int correlation, int from, int to, const char *name)
{
    unsigned id = text(name);
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, %lld, %d, %u);", from * 1000, to * 1000,
        TID(pid, thread), correlation, id);
}

/* A kernel of device 0 and its launch, which takes 10 us and ends 2 us before it. */
static inline void launched(int stream, int correlation, int from, int to, const char *name)
{
    call(1, 1, correlation, from - 12, from - 2, "cudaLaunchKernel_v7000");
    kernel(1, 0, stream, correlation, from, to, name);
}

static inline void step(int pid, int from, int to)
{
    sql("INSERT INTO NVTX_EVENTS VALUES (%d, %d, %lld, 'iteration', NULL, 0, NULL);", from * 1000, to * 1000,
        TID(pid, 1));
}

static inline void sync_row(int kind, int stream, int correlation, int event)
{
    sql("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (120000, 121000, %lld, 0, %lld, %d, %d, %d);",
        PID(1), stream < 0 ? 4294967295LL : stream, correlation, kind, event);
}

static inline void little_endian(uint64_t v, int bytes)
{
    for (; bytes > 0; bytes--, v >>= 8)
        sql("%02x", (unsigned)(v & 255));
}

/* A range of NCCL. Schemas: 0 a communicator's begin (b: members, c: rank), 5 a collective (b: bytes), 6 one with a root
 * (c), 8 a message (c: peer); -1: no payload. */
static inline void range(int pid, int thread, int from, int to, const char *name, int schema, uint64_t comm,
                         uint64_t b, uint32_t c)
{
    unsigned id = text(name);
    sql("INSERT INTO NVTX_EVENTS VALUES (%d, %d, %lld, NULL, %u, 4, ", from * 1000, to * 1000,
        TID(pid, thread), id);
    if (schema < 0) {
        sql("NULL);");
        return;
    }
    sql("X'");
    little_endian(4, 8);
    little_endian((uint64_t)schema, 8);
    little_endian(24, 8);
    little_endian(56, 8);
    little_endian(comm, 8);
    little_endian(b, schema == 0 ? 4 : 8);
    little_endian(c, 4);
    little_endian(0, schema == 0 ? 8 : 4);
    sql("');");
}

static inline void write_database(void)
{
    void *db = NULL;
    unlink(path);
    assert_int_equal(sq.open(path, &db), 0);
    sql("COMMIT;");
    assert_int_equal(sq.exec(db, "PRAGMA synchronous = OFF; BEGIN;", NULL, NULL, NULL), 0);
    assert_int_equal(sq.exec(db, script, NULL, NULL, NULL), 0);
    sq.close(db);
}

static inline int try_read(rlt_program **p)
{
    rlt_read_options o = options();
    const char *list[] = {path};
    o.step_mark = strstr(script, "'iteration'") ? "iteration" : NULL;
    write_database();
    err = (rlt_error){0};
    *p = NULL;
    return rlt_reader_nsys.read(list, 1, &o, p, &err);
}

static inline rlt_program *read_it(void)
{
    rlt_program *p;
    if (try_read(&p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static inline void refuse(int code, const char *what)
{
    rlt_program *p;
    assert_int_equal(try_read(&p), code);
    if (!strstr(err.what, what))
        fail_msg("'%s', expected '%s'", err.what, what);
}

static inline int run_in_database(const struct CMUnitTest *tests, size_t n)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = _cmocka_run_group_tests("nsys", tests, n, NULL, NULL);
    unlink(path);
    return failed;
}

#endif
