/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing text. */
#include "collectives/formats/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rlt_growing_add(rlt_growing *t, const char *fmt, ...)
{
    enum { MOST = 512 }; /* longest single addition */
    va_list args;
    if (t->failed)
        return;
    if (t->capacity - t->length < MOST) {
        size_t capacity = t->capacity ? 2 * t->capacity : 1 << 16;
        char *text = realloc(t->text, capacity);
        if (!text) {
            t->failed = true;
            return;
        }
        t->text = text;
        t->capacity = capacity;
    }
    va_start(args, fmt);
    int n = vsnprintf(t->text + t->length, MOST, fmt, args);
    va_end(args);
    if (n < 0 || n >= MOST)
        t->failed = true;
    else
        t->length += (size_t)n;
}

int rlt_growing_finish(rlt_growing *t, char **text, size_t *length, rlt_error *err)
{
    if (t->failed || !t->text) {
        free(t->text);
        return rlt_nomem(err);
    }
    *text = t->text;
    *length = t->length;
    return 0;
}

void rlt_plain_name(const char *name, char *out, size_t size)
{
    size_t i = 0;
    for (; name[i] && i + 1 < size; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("_-.+(),=:", c);
        out[i] = plain ? c : '_';
    }
    out[i] = '\0';
}
