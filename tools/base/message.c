/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages and exit statuses. */
#include "tools/base/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/base/progress.h"

int rlt_exit_status(int code)
{
    switch (code) {
    case 0:
        return RLT_EXIT_DONE;
    case RLT_ECHECK:
        return RLT_EXIT_CHECK;
    case RLT_EUSAGE:
        return RLT_EXIT_USAGE;
    case RLT_ESTALL:
        return RLT_EXIT_STALL;
    case RLT_EIO:
    case RLT_ENOMEM:
        return RLT_EXIT_IO;
    case RLT_ECANCELLED:
        return RLT_EXIT_INTERRUPTED;
    default:
        return RLT_EXIT_INPUT;
    }
}

void rlt_say(const rlt_error *err)
{
    rlt_progress_clear();
    fputs("ringlet: ", stderr);
    if (err->where[0])
        fprintf(stderr, "%s: ", err->where);
    fprintf(stderr, "%s\n", err->what[0] ? err->what : rlt_strerror(err->code));
}

void rlt_say_and_keep(rlt_error *err, const rlt_error *why)
{
    if (err->code)
        rlt_say(err);
    *err = *why;
}

static void say_with(const char *kind, const char *fmt, va_list args)
{
    char text[2048];
    rlt_progress_clear();
    vsnprintf(text, sizeof text, fmt, args);
    rlt_make_printable(text);
    fprintf(stderr, "ringlet: %s: %s\n", kind, text);
}

void rlt_warn(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_with("warning", fmt, args);
    va_end(args);
}

void rlt_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_with("note", fmt, args);
    va_end(args);
}
