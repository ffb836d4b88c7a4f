/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GOAL text under LogGOPSim's cost model. */
#ifndef RLT_TEST_SUPPORT_TRACES_LOGGOPS_H
#define RLT_TEST_SUPPORT_TRACES_LOGGOPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "test/support/text_file.h"
#include "workload/timing/loggops.h"

/* Writes a text into a new file, whose name it returns. The caller unlinks it. */
static inline const char *test_goal_file(const char *text)
{
    static char path[] = "/tmp/ringlet-goal-XXXXXX";
    memset(path + sizeof path - 7, 'X', 6);
    test_write_new(path, text, strlen(text));
    return path;
}

static inline int test_loggops_run(const char *text, const rlt_loggops *p, rlt_loggops_result *r,
                                   rlt_error *err)
{
    const char *path = test_goal_file(text);
    int rc = rlt_loggops_run(path, p, r, err);
    unlink(path);
    return rc;
}

/* Runs a text that must run. The caller frees the result. */
static inline rlt_loggops_result test_loggops(const char *text, const char *parameters)
{
    rlt_loggops p = rlt_loggops_default();
    rlt_loggops_result r;
    rlt_error err = {0};
    assert_int_equal(rlt_loggops_parse(parameters, &p, &err), 0);
    if (test_loggops_run(text, &p, &r, &err))
        fail_msg("%s: %s", err.where, err.what);
    return r;
}

/* Returns the end of the last rank. */
static inline uint64_t test_loggops_end(const char *text, const char *parameters)
{
    rlt_loggops_result r = test_loggops(text, parameters);
    uint64_t end = r.end_ns;
    rlt_loggops_free(&r);
    return end;
}

/* Runs a text under the default costs. Returns the error, whose place and words must hold these. */
static inline int test_loggops_refused(const char *text, const char *where, const char *what)
{
    rlt_loggops p = rlt_loggops_default();
    rlt_loggops_result r;
    rlt_error err = {0};
    int rc = test_loggops_run(text, &p, &r, &err);
    rlt_loggops_free(&r);
    assert_int_equal(rc, err.code);
    if (rc && (!strstr(err.where, where) || !strstr(err.what, what)))
        fail_msg("%s: %s", err.where, err.what);
    return rc;
}

#endif
