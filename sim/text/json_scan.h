/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks over JSON text without building anything. sim/text/json.c uses it to check a text and to find the
 * places of values; the streaming reader has its loops over the bytes of numbers and strings, and its tables
 * of keys, from here. Internal to sim/text/.
 */
#ifndef RLT_SIM_TEXT_JSON_SCAN_H
#define RLT_SIM_TEXT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RLT__JSON_DEPTH = 64, RLT__JSON_WORD = sizeof(uint64_t), RLT__JSON_NO_KEY = UINT16_MAX };
enum { RLT__JSON_KEYS = 64, RLT__JSON_SEEN_BITS = 10, RLT__JSON_SEEN_MAX = 3 * RLT__JSON_WORD };

typedef struct rlt__json_scanner {
    const char *text, *p, *end;
    const char *what; /* description of the first mistake, which is at p */
} rlt__json_scanner;

void rlt__json_space(rlt__json_scanner *s);
/* Skips a string that starts at p. */
bool rlt__json_scan_string(rlt__json_scanner *s);
/* Skips blanks and one value. Returns false at the first mistake, with `what` set. */
bool rlt__json_scan(rlt__json_scanner *s, int depth);

/* Returns the end of the digits at p. `wide`: looks at eight bytes at a time, also beyond the end. */
static inline const char *rlt__json_digits_end(const char *p, bool wide)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; wide; p += 8) {
        uint64_t w, other;
        memcpy(&w, p, sizeof w);
        w ^= 0x3030303030303030u;
        other = ((w + 0x7676767676767676u) | w) & 0x8080808080808080u;
        if (other)
            return p + (__builtin_ctzll(other) >> 3);
    }
#endif
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Returns the end of the number at p, or NULL if none is there. The text ends with a zero byte. `wide`: eight
 * bytes can be read beyond that. */
static inline const char *rlt__json_number_end(const char *p, bool wide)
{
    p += *p == '-';
    const char *digits = p;
    p = rlt__json_digits_end(p, wide);
    if (p == digits || (*digits == '0' && p > digits + 1))
        return NULL;
    if (*p == '.') {
        digits = ++p;
        p = rlt__json_digits_end(p, wide);
        if (p == digits)
            return NULL;
    }
    if ((*p | 32) == 'e') {
        p++;
        p += *p == '+' || *p == '-';
        digits = p;
        p = rlt__json_digits_end(p, wide);
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

/* Returns the first byte from p on that is no blank. */
static inline char *rlt__json_after_blanks(char *p)
{
    static const bool blank[256] = {[' '] = true, ['\n'] = true, ['\t'] = true, ['\r'] = true};
    while (blank[(unsigned char)*p])
        p++;
    return p;
}

/* Returns true if c may follow a number or a literal. */
static inline bool rlt__json_ends_scalar(char c)
{
    return c == ',' || c == ']' || c == '}' || c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == ':' ||
           c == '\0';
}

/* A key that the caller of the streaming reader looks up. */
typedef struct rlt__json_wanted {
    uint64_t word; /* rlt__json_word() */
    const char *text;
    uint32_t length;
    uint16_t index; /* RLT__JSON_NO_KEY: an empty slot */
} rlt__json_wanted;

/* A key as it stood in the text before, from behind its opening quote to behind its colon and a blank. Most
 * keys of a file stand in it again and again in the same bytes, which need not be looked at one by one. */
typedef struct rlt__json_seen {
    uint64_t words[3], masks[3]; /* masks: the bits that count */
    uint16_t size, length;       /* bytes of all that, 0: an empty slot; bytes of the key */
    uint16_t index;              /* among the keys that the caller looks up, or RLT__JSON_NO_KEY */
} rlt__json_seen;

typedef struct rlt__json_keys {
    rlt__json_wanted wanted[4 * RLT__JSON_KEYS];
    rlt__json_seen seen[1 << RLT__JSON_SEEN_BITS]; /* by their first three bytes; the last one that was met */
    bool wants;                                    /* rlt__json_want() was called */
} rlt__json_keys;

/* Returns the first eight bytes of a text, or all of it; eight bytes can be read at p. */
static inline uint64_t rlt__json_word(const char *p, size_t n)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    if (n >= sizeof word)
        return word;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return word & (((uint64_t)1 << 8 * n) - 1);
#else
    return n ? word >> 8 * (sizeof word - n) : 0;
#endif
}

/* Returns the slot of a key, or the empty slot where it belongs. */
static inline rlt__json_wanted *rlt__json_wanted_slot(rlt__json_keys *keys, const char *text, size_t n)
{
    uint64_t word = rlt__json_word(text, n);
    uint32_t i = (uint32_t)(((word + n) * 0x9e3779b97f4a7c15u) >> 48);
    for (;; i++) {
        rlt__json_wanted *k = &keys->wanted[i % (4 * RLT__JSON_KEYS)];
        if (k->index == RLT__JSON_NO_KEY ||
            (k->word == word && k->length == n &&
             (n <= sizeof word || !memcmp(text + sizeof word, k->text + sizeof word, n - sizeof word))))
            return k;
    }
}

static inline uint64_t rlt__json_seen_slot(const char *p)
{
    return rlt__json_word(p, 3) * 0x9e3779b97f4a7c15u >> (64 - RLT__JSON_SEEN_BITS);
}

/* Returns the seen key that stands at p, where RLT__JSON_SEEN_MAX bytes can be read, or NULL. */
static inline const rlt__json_seen *rlt__json_seen_at(const rlt__json_keys *keys, const char *p)
{
    const rlt__json_seen *k = &keys->seen[rlt__json_seen_slot(p)];
    uint64_t w[3];
    memcpy(w, p, sizeof w);
    uint64_t differ = ((w[0] ^ k->words[0]) & k->masks[0]) | ((w[1] ^ k->words[1]) & k->masks[1]) |
                      ((w[2] ^ k->words[2]) & k->masks[2]);
    return k->size && !differ ? k : NULL;
}

/* Names the keys that are looked up, at most RLT__JSON_KEYS. Forgets those seen. */
void rlt__json_want(rlt__json_keys *keys, const char *const *names);
/* Remembers a key without escapes from its text: `size` bytes, which begin with `length` bytes of the key and
 * any byte in place of its closing quote. */
void rlt__json_see(rlt__json_keys *keys, const char *text, size_t size, size_t length);

#endif
