/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of one test's own with a given content. */
#ifndef RLT_TEST_SUPPORT_TEXT_FILE_H
#define RLT_TEST_SUPPORT_TEXT_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* `path` ends with XXXXXX, which becomes the name of a new file. The caller unlinks it. */
static inline void test_write_new(char *path, const char *text, size_t length)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    close(fd);
}

#endif
