/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that tests put together, piece by piece. */
#ifndef RLT_TEST_SUPPORT_SAY_H
#define RLT_TEST_SUPPORT_SAY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "test/support/support.h"

static inline void test_say(char *text, size_t room, size_t *used, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds to a text of `room` bytes, of which *used are taken. A text that does not fit ends the test. */
static inline void test_say(char *text, size_t room, size_t *used, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text + *used, room - *used, fmt, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < room - *used);
    *used += (size_t)n;
}

/* The same for a struct with `text` and `used`. */
#define TEST_SAY(x, ...) test_say((x)->text, sizeof(x)->text, &(x)->used, __VA_ARGS__)

#endif
