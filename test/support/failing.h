/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An allocator whose k-th allocation fails: that of the C library, counted. For one program each. A sanitizer has
 * an allocator of its own: nothing is counted then, and nothing fails.
 */
#ifndef RLT_TEST_SUPPORT_FAILING_H
#define RLT_TEST_SUPPORT_FAILING_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/text/file.h"
#include "test/support/support.h"
#include "test/support/text_file.h"

static unsigned long test_made;     /* allocations so far */
static unsigned long test_fails_at; /* the number of that which fails; 0: none */
static long test_held;              /* blocks that are not given back */

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
enum { TEST_COUNTED = 0 };
#else
enum { TEST_COUNTED = 1 };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static bool test_refused(void)
{
    if (++test_made != test_fails_at)
        return false;
    errno = ENOMEM;
    return true;
}

static void *test_count(void *p)
{
    test_held += p != NULL;
    return p;
}

/* Libraries call these, too. */
RLT_API void *malloc(size_t size)
{
    return test_refused() ? NULL : test_count(__libc_malloc(size));
}

RLT_API void *calloc(size_t n, size_t size)
{
    return test_refused() ? NULL : test_count(__libc_calloc(n, size));
}

RLT_API void *realloc(void *p, size_t size)
{
    if (test_refused())
        return NULL;
    void *q = __libc_realloc(p, size);
    test_held += !p && q;
    return q;
}

RLT_API void free(void *p)
{
    test_held -= p != NULL;
    __libc_free(p);
}
#endif

/* Something that takes memory and gives all of it back: returns 0 with a number that tells its result, or a
 * code and an error. */
typedef int test_task(const void *what, uint64_t *result, rlt_error *err);

/* Lets each allocation of a task fail, one at a time: the task has the same result, or says RLT_ENOMEM; and it
 * gives back all memory, unless `others` work in it: igraph loses blocks when one of its own allocations fails.
 * Returns how many failed. */
static inline unsigned long test_each_allocation(const char *name, test_task *task, const void *what,
                                                 bool others)
{
    uint64_t expected = 0, result = 0;
    unsigned long runs = 0, all;
    rlt_error err = {0};
    if (task(what, &expected, &err)) /* what is made once for all is made here */
        fail_msg("%s: %s: %s", name, err.where, err.what);
    long before = test_held;
    test_made = 0;
    int rc = task(what, &result, &err);
    all = test_made;
    assert_int_equal(rc, 0);
    assert_true(result == expected);
    if (test_held != before)
        fail_msg("%s: %ld blocks are not given back", name, test_held - before);
    for (unsigned long k = 1; TEST_COUNTED && k <= all; k++, runs++) {
        err = (rlt_error){0};
        test_made = 0;
        test_fails_at = k;
        rc = task(what, &result, &err);
        test_fails_at = 0;
        before = others ? test_held : before;
        if (rc ? rc != RLT_ENOMEM : result != expected)
            fail_msg("%s: allocation %lu of %lu: %d %s: %s", name, k, all, rc, err.where, err.what);
        if (test_held != before && !others)
            fail_msg("%s: allocation %lu of %lu: %ld blocks are not given back", name, k, all,
                     test_held - before);
    }
    return runs;
}

/* The same for a task that reads a file, of each of these files and of one that breaks off. */
static inline void test_each_file(const char *const *files, size_t n, test_task *task)
{
    unsigned long failed = 0;
    for (size_t i = 0; i < n; i++) {
        char *text = NULL, path[] = "/tmp/ringlet-no-memory-XXXXXX";
        size_t length = 0;
        rlt_error err = {0};
        if (rlt_read_file(files[i], 1 << 20, &text, &length, &err))
            fail_msg("%s: %s", err.where, err.what);
        test_write_new(path, text, length * 3 / 4);
        free(text);
        failed += test_each_allocation(files[i], task, files[i], false);
        failed += test_each_allocation(path, task, path, false);
        unlink(path);
    }
    printf("# %lu allocations failed\n", failed);
    assert_true(!TEST_COUNTED || failed > 200);
}

#endif
