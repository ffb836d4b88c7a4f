/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* fopencookie */
#include "sim/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static bool make_room(rlt_growing *t, size_t n)
{
    size_t capacity = t->capacity ? t->capacity : 256;
    while (capacity < t->length + n + 1)
        capacity *= 2;
    char *text = t->failed ? NULL : capacity == t->capacity ? t->text : realloc(t->text, capacity);
    if (!text) {
        t->failed = true;
        return false;
    }
    t->text = text;
    t->capacity = capacity;
    return true;
}

void rlt_growing_bytes(rlt_growing *t, const char *bytes, size_t n)
{
    if (!make_room(t, n))
        return;
    memcpy(t->text + t->length, bytes, n);
    t->length += n;
    t->text[t->length] = '\0';
}

void rlt_growing_add(rlt_growing *t, const char *fmt, ...)
{
    va_list args;
    if (!make_room(t, 0))
        return;
    size_t room = t->capacity - t->length;
    va_start(args, fmt);
    int n = vsnprintf(t->text + t->length, room, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= room) {
        t->text[t->length] = '\0'; /* only a part fitted */
        if (!make_room(t, (size_t)n))
            return;
        va_start(args, fmt);
        vsnprintf(t->text + t->length, (size_t)n + 1, fmt, args);
        va_end(args);
    }
    t->length += n < 0 ? 0 : (size_t)n;
}

int rlt_growing_whole(rlt_growing *t, rlt_error *err)
{
    rlt_growing_bytes(t, "", 0);
    return t->failed ? rlt_nomem(err) : 0;
}

int rlt_growing_finish(rlt_growing *t, char **text, size_t *length, rlt_error *err)
{
    int rc = rlt_growing_whole(t, err);
    if (rc) {
        free(t->text);
        return rc;
    }
    *text = t->text;
    *length = t->length;
    return 0;
}

typedef struct stream {
    char **text;
    size_t *length;
    rlt_growing whole;
} stream;

static ssize_t put_bytes(void *to, const char *bytes, size_t n)
{
    stream *s = to;
    rlt_growing_bytes(&s->whole, bytes, n);
    return s->whole.failed ? 0 : (ssize_t)n;
}

static int hand_over(void *to)
{
    stream *s = to;
    int rc = rlt_growing_finish(&s->whole, s->text, s->length, NULL);
    free(s);
    return rc ? -1 : 0;
}

/* ftell alone asks for the place: it is the end. */
#ifdef __APPLE__
static int put(void *to, const char *bytes, int n)
{
    return (int)put_bytes(to, bytes, (size_t)n);
}

static fpos_t tell(void *to, fpos_t place, int from)
{
    const stream *s = to;
    return from == SEEK_CUR && place == 0 ? (fpos_t)s->whole.length : -1;
}

static FILE *opened(stream *s)
{
    return funopen(s, NULL, put, tell, hand_over);
}
#else
static int tell(void *to, off64_t *place, int from)
{
    const stream *s = to;
    if (from != SEEK_CUR || *place != 0)
        return -1;
    *place = (off64_t)s->whole.length;
    return 0;
}

static FILE *opened(stream *s)
{
    const cookie_io_functions_t functions = {.write = put_bytes, .seek = tell, .close = hand_over};
    return fopencookie(s, "w", functions);
}
#endif

FILE *rlt_text_stream(char **text, size_t *length)
{
    stream *s = calloc(1, sizeof *s);
    *text = NULL;
    *length = 0;
    if (!s)
        return NULL;
    s->text = text;
    s->length = length;
    FILE *f = opened(s);
    if (!f)
        free(s);
    return f;
}
