/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors: filling, prefixing and naming them. */
#include "sim/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Control characters: C0, DEL, and C1 in UTF-8, which some terminals obey. */
void rlt_make_printable(char *text)
{
    for (char *s = text; *s; s++) {
        unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];
        if (c < 0x20 || c == 0x7f)
            *s = '?';
        else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
            s[0] = s[1] = '?';
    }
}

int rlt_fail(rlt_error *err, int code, const char *where, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

void rlt_list_name(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);
    if (used + strlen(name) + 3 <= size)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

int rlt_vfail(rlt_error *err, int code, const char *where, const char *fmt, va_list args)
{
    if (!err || err->code != 0 || code == 0)
        return code;
    err->code = code;
    snprintf(err->where, sizeof err->where, "%s", where ? where : "");
    vsnprintf(err->what, sizeof err->what, fmt, args);
    /* Quoted input comes from files, and an error must stay one line. */
    rlt_make_printable(err->where);
    rlt_make_printable(err->what);
    return code;
}

void rlt_error_prefix(rlt_error *err, const char *prefix)
{
    if (!err || err->code == 0)
        return;
    char place[sizeof err->where];
    size_t used = 0;
    const char *parts[] = {prefix, err->where[0] ? ": " : "", err->where};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(parts[i]);
        if (n > sizeof place - 1 - used)
            n = sizeof place - 1 - used;
        memcpy(place + used, parts[i], n);
        used += n;
    }
    place[used] = '\0';
    rlt_make_printable(place);
    memcpy(err->where, place, used + 1);
}

int rlt_nomem(rlt_error *err)
{
    return rlt_fail(err, RLT_ENOMEM, NULL, "%s", rlt_strerror(RLT_ENOMEM));
}

const char *rlt_strerror(int code)
{
    switch (code) {
#define RLT_X(name, number, text)                                                                            \
    case number:                                                                                             \
        return text;
        RLT_ERROR_LIST(RLT_X)
#undef RLT_X
    default:
        return code == 0 ? "success" : "unknown error";
    }
}
