/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text as a reader's only file, and refusals of it, word for word with their place. */
#ifndef RLT_TEST_SUPPORT_TRACES_READ_TEXT_H
#define RLT_TEST_SUPPORT_TRACES_READ_TEXT_H

#include <string.h>

#include "sim/base/error.h"
#include "test/support/text_file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { TEST_PATH = 32 };

/* Reads a text as one file, whose name `path` of TEST_PATH bytes gets. Returns what the reader returns. */
static inline int test_read_text(const rlt_reader *reader, const char *text, const rlt_read_options *o,
                                 char *path, rlt_program **p, rlt_error *err)
{
    const char *list = path;
    *err = (rlt_error){0};
    *p = NULL;
    strcpy(path, "/tmp/ringlet-text-XXXXXX");
    test_write_new(path, text, strlen(text));
    int rc = reader->read(&list, 1, o, p, err);
    unlink(path);
    return rc;
}

/* where: what follows the file's name */
static inline void test_refuse_text(const rlt_reader *reader, const char *text, const rlt_read_options *o,
                                    int code, const char *where, const char *what)
{
    char path[TEST_PATH];
    rlt_program *p;
    rlt_error err;
    int rc = test_read_text(reader, text, o, path, &p, &err);
    if (rc != code || strncmp(err.where, path, strlen(path)) != 0 ||
        strcmp(err.where + strlen(path), where) != 0 || strcmp(err.what, what) != 0)
        fail_msg("%s: %d: %s: %s, expected %d: %s: %s\n%.300s", reader->name, rc, err.where, err.what, code,
                 where, what, text);
    assert_int_equal(err.code, code);
    assert_null(p);
}

#endif
