/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for tests of Chakra traces: writes small files into a folder of their own, and reads them. */
#ifndef RLT_TEST_SUPPORT_TRACES_CHAKRA_H
#define RLT_TEST_SUPPORT_TRACES_CHAKRA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

static char directory[] = "/tmp/ringlet-chakra-XXXXXX";

/* ---- writing a trace file ---- */

typedef struct file {
    rlt_pb_out out, node;
} file;

static inline void message(file *f)
{
    rlt__pb_put_varint(&f->out, f->node.length);
    rlt__pb_put_raw(&f->out, f->node.data, f->node.length);
    f->node.length = 0;
}

static inline void begin(file *f)
{
    *f = (file){0};
    rlt__pb_put_bytes(&f->node, 1, "0.0.4", 5);
    message(f);
}

static inline void head(file *f, uint64_t id, const char *name, uint32_t type)
{
    if (id)
        rlt__pb_put_uint(&f->node, 1, id); /* 0 is not written */
    rlt__pb_put_bytes(&f->node, 2, name, strlen(name));
    rlt__pb_put_uint(&f->node, 3, type);
}

/* Writes an attribute whose value field is given as raw bytes, key included. */
static inline void raw_attr(file *f, const char *name, const void *value, size_t length)
{
    rlt_pb_out a = {0};
    rlt__pb_put_bytes(&a, 1, name, strlen(name));
    rlt__pb_put_raw(&a, value, length);
    rlt__pb_put_bytes(&f->node, 10, a.data, a.length);
    rlt__pb_out_free(&a);
}

static inline void number(file *f, const char *name, uint32_t member, uint64_t value)
{
    rlt_pb_out v = {0};
    rlt__pb_put_uint(&v, member, value);
    raw_attr(f, name, v.data, v.length);
    rlt__pb_out_free(&v);
}

static inline void text(file *f, const char *name, const char *value)
{
    rlt_pb_out v = {0};
    rlt__pb_put_bytes(&v, RLT_CHAKRA_STRING, value, strlen(value));
    raw_attr(f, name, v.data, v.length);
    rlt__pb_out_free(&v);
}

static inline void dep(file *f, uint64_t id)
{
    rlt__pb_put_uint(&f->node, 5, id);
}

static inline void collective(file *f, uint64_t id, uint64_t type, uint64_t bytes, const char *group)
{
    head(f, id, "coll", RLT_CHAKRA_COLL);
    number(f, "comm_type", RLT_CHAKRA_INT64, type);
    number(f, "comm_size", RLT_CHAKRA_INT64, bytes);
    if (group)
        text(f, "pg_name", group);
    message(f);
}

static inline void work(file *f, uint64_t id, const char *name, uint64_t us, bool host)
{
    head(f, id, name, RLT_CHAKRA_COMP);
    rlt__pb_put_uint(&f->node, 7, us);
    number(f, "is_cpu_op", RLT_CHAKRA_BOOL, host);
}

static char *path_of(const char *name, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s/%s", directory, name);
    return buffer;
}

static inline void save(const char *name, const void *data, size_t length)
{
    char path[256];
    FILE *f = fopen(path_of(name, path, sizeof path), "wb");
    assert_non_null(f);
    if (length)
        assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f);
}

static inline void end(file *f, const char *name)
{
    assert_false(f->out.failed || f->node.failed);
    save(name, f->out.data, f->out.length);
    rlt__pb_out_free(&f->out);
    rlt__pb_out_free(&f->node);
}

static inline void clean(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s/*", directory);
    assert_int_equal(system(command), 0);
}

static inline rlt_read_options plain_options(void)
{
    return (rlt_read_options){.first_step = -1, .last_step = -1};
}

static inline int try_read(const char *spec, const rlt_read_options *opts, rlt_program **p, rlt_error *err)
{
    char path[256];
    if (spec[0] != '.' && spec[0] != '/')
        spec = path_of(spec, path, sizeof path);
    return rlt_trace_read(&spec, 1, opts, p, err);
}

static inline rlt_program *read_with(const char *spec, const rlt_read_options *opts)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    if (try_read(spec, opts, &p, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, "chakra");
    return p;
}

static inline rlt_program *read_trace(const char *spec)
{
    rlt_read_options opts = plain_options();
    return read_with(spec, &opts);
}

static inline void refused(const char *spec, int code, const char *where, const char *what)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    rlt_read_options opts = plain_options();
    assert_int_equal(try_read(spec, &opts, &p, &err), code);
    assert_null(p);
    if (!strstr(err.where, where) || !strstr(err.what, what))
        fail_msg("got '%s: %s'", err.where, err.what);
}

static inline uint64_t noted(const rlt_program *p, const char *what)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->n_notes; i++)
        n += strstr(p->notes[i].text, what) ? p->notes[i].count : 0;
    return n;
}

static inline const rlt_op *op_named(const rlt_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (strcmp(rlt_program_string(p, p->ops[i].name), name) == 0)
            return &p->ops[i];
    fail_msg("no operation '%s'", name);
    return NULL;
}

static inline const char *resource_name(const rlt_program *p, const rlt_op *op)
{
    return op->resource == RLT_NONE ? "" : rlt_program_string(p, p->resources[op->resource].name);
}

static inline int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    clean();
    return rmdir(directory);
}

#endif
