/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small recordings for tests of the Kineto reader: macros that write events, and files in a folder of the test. */
#ifndef RLT_TEST_SUPPORT_TRACES_KINETO_TEXT_H
#define RLT_TEST_SUPPORT_TRACES_KINETO_TEXT_H

#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto.h"
#include "test/support/traces/kineto_events.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

static char dir[64];
static rlt_error err;

static inline void path_of(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s/%s", dir, name);
}

/* Setup and teardown of a group of tests: the folder, and the files that they write. */
static inline int make_folder(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/rlt-kineto-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    static const char *const files[] = {"one.json", "a.json", "b.json", "et_0.json", "odd.json",
                                        "0.json",   "1.json", "2.json", "3.json"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        path_of(files[i], path, sizeof path);
        unlink(path);
    }
    return rmdir(dir);
}

static inline void write_file(const char *name, const char *text)
{
    char path[128];
    path_of(name, path, sizeof path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Reads the named files of the test's folder. */
static inline int read_files(uint32_t n, const char *const *names, const rlt_read_options *o, rlt_program **p)
{
    char paths[8][128];
    const char *list[8];
    for (uint32_t i = 0; i < n; i++) {
        path_of(names[i], paths[i], sizeof paths[i]);
        list[i] = paths[i];
    }
    err = (rlt_error){0};
    return rlt_reader_kineto.read(list, n, o, p, &err);
}

static inline rlt_program *read_one(const char *text)
{
    const char *name = "one.json";
    rlt_program *p = NULL;
    rlt_read_options o = options();
    write_file(name, text);
    if (read_files(1, &name, &o, &p) < 0)
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static inline rlt_time span_of(const rlt_program *p)
{
    played v = play(p, -1, true);
    rlt_time span = v.rank_end[0];
    played_free(&v);
    return span;
}

/* Returns the operation of that name, mutable, so that a test can change its duration. */
static inline rlt_op *named(const rlt_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (!strcmp(rlt_program_string(p, p->ops[i].name), name))
            return (rlt_op *)&p->ops[i];
    fail_msg("no operation %s", name);
    return NULL;
}

/* Returns how much later rank 0 ends if `name` takes 1000 us more. */
static inline rlt_time effect(const rlt_program *p, const char *name)
{
    rlt_op *o = named(p, name);
    rlt_time before = span_of(p);
    o->duration_ps += 1000 * RLT_US;
    rlt_time after = span_of(p);
    o->duration_ps -= 1000 * RLT_US;
    return after - before;
}

#endif
