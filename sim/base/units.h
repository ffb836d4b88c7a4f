/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers with units, read and written in one place. Input must state its unit. 1 GB = 1e9 B, 1 GiB = 2^30 B.
 *
 *   rate          400Gbps 400Gb/s 50GB/s 46.6GiB/s 900MB/s 1.2TB/s 12B/s   -> bytes a second
 *   duration      500ns 1.5us 2ms 3s 20ps 1min 2h                          -> picoseconds
 *   size          64MiB 1GB 512B 1.5KiB (4K is refused: write KB or KiB)   -> bytes
 *   rate of work  312TFLOPS 19.5GFLOPS                                     -> FLOP a second
 *
 * A decimal point is allowed. The value is converted exactly (decimal arithmetic in integers) and rounded to
 * nearest. Blanks between number and unit are allowed. "0" alone needs no unit. Negative numbers, missing or
 * unknown units, NaN, overflow and trailing text are RLT_EMALFORMED or RLT_ERANGE; the error says what was
 * expected and what was found.
 */
#ifndef RLT_SIM_BASE_UNITS_H
#define RLT_SIM_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `where` goes to the error as its place; it may be NULL. */
RLT_API int rlt_parse_rate(const char *text, uint64_t *bw_Bps, const char *where,
                           rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_parse_duration(const char *text, rlt_time *time_ps, const char *where,
                               rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_parse_size(const char *text, uint64_t *bytes, const char *where, rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_parse_flops(const char *text, uint64_t *flop_per_s, const char *where,
                            rlt_error *err) RLT_MUST_USE;
/* Parses a plain non-negative integer; the whole text must match. */
RLT_API int rlt_parse_count(const char *text, uint64_t *count, const char *where,
                            rlt_error *err) RLT_MUST_USE;
/* Parses a finite decimal number >= minimum ("0.1", "2", "1e-3"); the whole text must match. */
RLT_API int rlt_parse_number(const char *text, double minimum, double *number, const char *where,
                             rlt_error *err) RLT_MUST_USE;
/* Parses a share: a number from 0 to `most`, or a percentage ("0.1", "10%"). */
RLT_API int rlt_parse_share(const char *text, double most, double *share, const char *where,
                            rlt_error *err) RLT_MUST_USE;
/* Multiplies a decimal text by `scale`, exactly, and rounds to nearest: "1694128201435418.25" * 1000000.
 * Accepts an exponent and a sign. Reads [text, text + length). */
RLT_API int rlt_parse_decimal(const char *text, size_t length, int64_t scale, int64_t *value) RLT_MUST_USE;

/* Format for people: three or four significant digits and the unit that fits: "2.547 ms", "64 MiB", "50
 * GB/s", rounded, but not beyond 64 bits, so that it can be read again. Sizes use binary units unless they
 * are a round number of decimal ones: "1 MB". They write into buffer (at least 32 bytes) and return it. */
RLT_API char *rlt_format_duration(char *buffer, size_t size, rlt_time time_ps);
RLT_API char *rlt_format_size(char *buffer, size_t size, uint64_t bytes);
RLT_API char *rlt_format_rate(char *buffer, size_t size, uint64_t bw_Bps);
/* Writes microseconds with six decimals, exactly: integer arithmetic on picoseconds, no double. */
RLT_API char *rlt_format_us(char *buffer, size_t size, rlt_time time_ps);

#ifdef __cplusplus
}
#endif
#endif
