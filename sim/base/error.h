/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors: a failing function returns one of the negative codes below and fills a caller's rlt_error with
 * where it happened ("fabric.json:12:7: dims[1].bandwidth") and what was wrong ("expected a rate with a
 * unit, such as 400Gbps, got '50'"). The library never prints, exits or aborts. An rlt_error pointer may
 * always be NULL. The first error set on an rlt_error stays: later ones do not overwrite it.
 */
#ifndef RLT_SIM_BASE_ERROR_H
#define RLT_SIM_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RLT_API       __attribute__((visibility("default")))
#define RLT_MUST_USE  __attribute__((warn_unused_result))
#define RLT_PRINTF(f) __attribute__((format(printf, f, (f) + 1)))
#else
#define RLT_API
#define RLT_MUST_USE
#define RLT_PRINTF(f)
#endif

/* X(name, number, text) */
#define RLT_ERROR_LIST(X)                                                                                    \
    X(NOMEM, -1, "out of memory")                                                                            \
    X(MALFORMED, -2, "malformed input")                                                                      \
    X(SCHEMA, -3, "well-formed input that breaks a rule")                                                    \
    X(TOPOLOGY, -4, "impossible topology, route or group")                                                   \
    X(STALL, -5, "simulation ended with work pending")                                                       \
    X(IO, -6, "input/output error")                                                                          \
    X(RANGE, -7, "value out of range")                                                                       \
    X(CANCELLED, -8, "stopped on request")                                                                   \
    X(UNSUPPORTED, -9, "not supported")                                                                      \
    X(CHECK, -10, "a check failed")                                                                          \
    X(USAGE, -11, "wrong use")                                                                               \
    X(NAME, -12, "unknown name")

enum {
#define RLT_X(name, number, text) RLT_E##name = number,
    RLT_ERROR_LIST(RLT_X)
#undef RLT_X
};

typedef struct rlt_error {
    int code;        /* 0: none */
    char where[512]; /* file:line:column: path.to.field, a rank, an operation; may be empty */
    char what[1024];
} rlt_error;

/* Fills err (unless NULL or already filled) and returns code. `where` may be NULL. */
RLT_API int rlt_fail(rlt_error *err, int code, const char *where, const char *fmt, ...) RLT_PRINTF(4);
/* As rlt_fail, with the arguments as a va_list. */
RLT_API int rlt_vfail(rlt_error *err, int code, const char *where, const char *fmt, va_list args);
/* Appends a name to a list in a message, after ", " unless it is the first. Drops a name that does not
 * fit. */
RLT_API void rlt_list_name(char *list, size_t size, const char *name);
/* Puts "prefix: " in front of the recorded place, so that a caller can add the file that it was reading. */
RLT_API void rlt_error_prefix(rlt_error *err, const char *prefix);
/* Fills err with RLT_ENOMEM and returns that code. */
RLT_API int rlt_nomem(rlt_error *err);
/* Makes text from an input file safe for a terminal: control characters become '?'. */
RLT_API void rlt_make_printable(char *text);
/* Returns the constant text of a code, "unknown error" for others. Never NULL. */
RLT_API const char *rlt_strerror(int code);

#ifdef __cplusplus
}
#endif
#endif
