/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks over JSON text without building anything. sim/text/json.c uses it to check a text and to find the
 * places of values; the streaming reader has its loops over the bytes of numbers and strings from here.
 * Internal to sim/text/.
 */
#ifndef RLT_SIM_TEXT_JSON_SCAN_H
#define RLT_SIM_TEXT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RLT__JSON_DEPTH = 64 };

typedef struct rlt__json_scanner {
    const char *text, *p, *end;
    const char *what; /* description of the first mistake, which is at p */
} rlt__json_scanner;

void rlt__json_space(rlt__json_scanner *s);
/* Skips a string that starts at p. */
bool rlt__json_scan_string(rlt__json_scanner *s);
/* Skips blanks and one value. Returns false at the first mistake, with `what` set. */
bool rlt__json_scan(rlt__json_scanner *s, int depth);

/* Returns the end of the number at p, or NULL if none is there. The text ends with a zero byte. */
static inline const char *rlt__json_number_end(const char *p)
{
    p += *p == '-';
    const char *digits = p;
    while (*p >= '0' && *p <= '9')
        p++;
    if (p == digits || (*digits == '0' && p > digits + 1))
        return NULL;
    if (*p == '.') {
        digits = ++p;
        while (*p >= '0' && *p <= '9')
            p++;
        if (p == digits)
            return NULL;
    }
    if ((*p | 32) == 'e') {
        p++;
        p += *p == '+' || *p == '-';
        digits = p;
        while (*p >= '0' && *p <= '9')
            p++;
        if (p == digits)
            return NULL;
    }
    return p;
}

/* Returns the first byte from p on that is a quote, a backslash or below 32, such as the zero at the end of a
 * text. Looks at eight bytes at a time, also beyond that zero: of the high bits that are set in `hit`, the
 * lowest belongs to the first such byte. */
static inline char *rlt__json_plain_end(char *p)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t ones = 0x0101010101010101u;
    for (;; p += 8) {
        uint64_t w, quote, slash;
        memcpy(&w, p, sizeof w);
        quote = w ^ ones * '"';
        slash = w ^ ones * '\\';
        uint64_t hit =
            (((w - ones * 32) & ~w) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & ones * 128;
        if (hit)
            return p + (__builtin_ctzll(hit) >> 3);
    }
#else
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= 32)
        p++;
    return p;
#endif
}

#endif
