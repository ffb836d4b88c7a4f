/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/help/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(rlt_help_text *t, size_t n)
{
    size_t capacity = t->capacity ? t->capacity : 256;
    while (capacity < t->n + n + 1)
        capacity *= 2;
    char *bytes = t->failed ? NULL : capacity == t->capacity ? t->bytes : realloc(t->bytes, capacity);
    if (!bytes) {
        t->failed = true;
        return false;
    }
    t->bytes = bytes;
    t->capacity = capacity;
    return true;
}

void rlt_help_add(rlt_help_text *t, const char *bytes, size_t n)
{
    if (!make_room(t, n))
        return;
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

void rlt_help_format(rlt_help_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0 || !make_room(t, (size_t)n))
        return;
    va_start(args, fmt);
    vsnprintf(t->bytes + t->n, (size_t)n + 1, fmt, args);
    va_end(args);
    t->n += (size_t)n;
}

int rlt_help_whole(rlt_help_text *t, rlt_error *err)
{
    rlt_help_add(t, "", 0);
    return t->failed ? rlt_nomem(err) : 0;
}
