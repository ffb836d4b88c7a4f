/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The grammar of JSON (RFC 8259) with bounded nesting. Finds out whether a text is valid, and where it is
 * not.
 */
#include "sim/text/json_scan.h"

#include <string.h>

static bool bad(rlt__json_scanner *s, const char *what)
{
    if (!s->what)
        s->what = what;
    return false;
}

void rlt__json_space(rlt__json_scanner *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool is_digit(const rlt__json_scanner *s)
{
    return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

/* Reads the four digits after \u; -1 if they are missing. */
static long scan_code(rlt__json_scanner *s)
{
    long code = 0;
    if (s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const char *hex = "0123456789abcdef", *at = strchr(hex, s->p[i] | 0x20);
        if (s->p[i] < '0' || !at || *at == 0)
            return -1;
        code = code * 16 + (at - hex);
    }
    s->p += 6;
    return code;
}

static bool scan_escape(rlt__json_scanner *s)
{
    if (s->end - s->p < 2)
        return bad(s, "the text ends inside a string");
    if (s->p[1] != 'u') {
        if (!strchr("\"\\/bfnrt", s->p[1]) || s->p[1] == 0)
            return bad(s, "unknown escape in a string");
        s->p += 2;
        return true;
    }
    long code = scan_code(s);
    if (code < 0)
        return bad(s, "expected four hexadecimal digits after \\u");
    if (code == 0)
        return bad(s, "a zero character in a string");
    if (code >= 0xdc00 && code < 0xe000)
        return bad(s, "an unpaired surrogate in a string");
    if (code >= 0xd800 && code < 0xdc00) {
        code = scan_code(s);
        if (code < 0xdc00 || code >= 0xe000)
            return bad(s, "an unpaired surrogate in a string");
    }
    return true;
}

/* Skips one non-ASCII character of UTF-8: shortest form, no surrogate, at most U+10FFFF (RFC 3629). */
static bool scan_utf8(rlt__json_scanner *s)
{
    const unsigned char *p = (const unsigned char *)s->p;
    int n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    unsigned least = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    bool good = p[0] >= 0xc2 && p[0] <= 0xf4 && s->end - s->p >= n && p[1] >= least && p[1] <= most;
    for (int i = 2; good && i < n; i++)
        good = p[i] >= 0x80 && p[i] <= 0xbf;
    if (!good)
        return bad(s, "a string that is not UTF-8");
    s->p += n;
    return true;
}

bool rlt__json_scan_string(rlt__json_scanner *s)
{
    s->p++;
    while (s->p < s->end && *s->p != '"') {
        if ((unsigned char)*s->p < 0x20)
            return bad(s, "a control character in a string");
        if ((unsigned char)*s->p >= 0x80) {
            if (!scan_utf8(s))
                return false;
        } else if (*s->p != '\\') {
            s->p++;
        } else if (!scan_escape(s)) {
            return false;
        }
    }
    if (s->p >= s->end)
        return bad(s, "the text ends inside a string");
    s->p++;
    return true;
}

static bool scan_digits(rlt__json_scanner *s)
{
    if (!is_digit(s))
        return bad(s, "expected a digit");
    while (is_digit(s))
        s->p++;
    return true;
}

static bool scan_number(rlt__json_scanner *s)
{
    if (*s->p == '-')
        s->p++;
    bool zero = s->p < s->end && *s->p == '0';
    if (zero)
        s->p++;
    else if (!scan_digits(s))
        return false;
    if (zero && is_digit(s))
        return bad(s, "a number with a leading zero");
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!scan_digits(s))
            return false;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        return scan_digits(s);
    }
    return true;
}

static bool scan_word(rlt__json_scanner *s)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(s->end - s->p) >= n && memcmp(s->p, words[i], n) == 0) {
            s->p += n;
            return true;
        }
    }
    return bad(s, "expected a value");
}

static bool scan_member(rlt__json_scanner *s, int depth)
{
    if (s->p >= s->end || *s->p != '"')
        return bad(s, "expected a key in double quotes");
    if (!rlt__json_scan_string(s))
        return false;
    rlt__json_space(s);
    if (s->p >= s->end || *s->p != ':')
        return bad(s, "expected ':' after a key");
    s->p++;
    return rlt__json_scan(s, depth);
}

static bool scan_container(rlt__json_scanner *s, int depth)
{
    bool object = *s->p == '{';
    char close = object ? '}' : ']';
    if (depth >= RLT__JSON_DEPTH)
        return bad(s, "nested more than 64 deep");
    s->p++;
    rlt__json_space(s);
    if (s->p < s->end && *s->p == close) {
        s->p++;
        return true;
    }
    for (;;) {
        rlt__json_space(s);
        if (!(object ? scan_member(s, depth + 1) : rlt__json_scan(s, depth + 1)))
            return false;
        rlt__json_space(s);
        if (s->p < s->end && *s->p == close)
            break;
        if (s->p >= s->end || *s->p != ',')
            return bad(s, object ? "expected ',' or '}' in an object" : "expected ',' or ']' in an array");
        s->p++;
    }
    s->p++;
    return true;
}

bool rlt__json_scan(rlt__json_scanner *s, int depth)
{
    rlt__json_space(s);
    if (s->p >= s->end)
        return bad(s, "the text ends where a value is expected");
    if (*s->p == '{' || *s->p == '[')
        return scan_container(s, depth);
    if (*s->p == '"')
        return rlt__json_scan_string(s);
    if (*s->p == '-' || is_digit(s))
        return scan_number(s);
    return scan_word(s);
}

void rlt__json_want(rlt__json_keys *keys, const char *const *names)
{
    memset(keys->seen, 0, sizeof keys->seen);
    keys->wants = true;
    for (size_t i = 0; i < sizeof keys->wanted / sizeof *keys->wanted; i++)
        keys->wanted[i].index = RLT__JSON_NO_KEY;
    for (uint16_t i = 0; names[i] && i < RLT__JSON_KEYS; i++) {
        char word[RLT__JSON_WORD] = "";
        size_t n = strlen(names[i]);
        memcpy(word, names[i], n < sizeof word ? n : sizeof word);
        rlt__json_wanted *k = rlt__json_wanted_slot(keys, n < sizeof word ? word : names[i], n);
        if (k->index == RLT__JSON_NO_KEY)
            *k = (rlt__json_wanted){rlt__json_word(word, n), names[i], (uint32_t)n, i};
    }
}

void rlt__json_see(rlt__json_keys *keys, const char *text, size_t size, size_t length)
{
    char bytes[RLT__JSON_SEEN_MAX + RLT__JSON_WORD] = "";
    if (size > RLT__JSON_SEEN_MAX)
        return;
    memcpy(bytes, text, size);
    bytes[length] = '"';
    rlt__json_seen *k = &keys->seen[rlt__json_seen_slot(bytes)];
    *k = (rlt__json_seen){
        .size = (uint16_t)size, .length = (uint16_t)length, .index = (uint16_t)RLT__JSON_NO_KEY};
    memcpy(k->words, bytes, size);
    memset(k->masks, 0xff, size);
    if (keys->wants)
        k->index = rlt__json_wanted_slot(keys, bytes, length)->index;
}
