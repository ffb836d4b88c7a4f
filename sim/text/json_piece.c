/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of streamed JSON: their members and numbers. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/time.h"
#include "sim/text/json_scan.h"
#include "sim/text/json_stream.h"

uint32_t rlt_jpiece_first(const rlt_jpiece *p, uint32_t parent)
{
    if (parent >= p->n_tokens || p->tokens[parent].type < RLT_J_LIST || p->tokens[parent].next == parent + 1)
        return RLT_NONE;
    return parent + 1;
}

uint32_t rlt_jpiece_after(const rlt_jpiece *p, uint32_t parent, uint32_t child)
{
    uint32_t after = p->tokens[child].next;
    return after < p->tokens[parent].next ? after : RLT_NONE;
}

uint32_t rlt_jpiece_get(const rlt_jpiece *p, uint32_t token, const char *key)
{
    if (token >= p->n_tokens || p->tokens[token].type != RLT_J_OBJECT)
        return RLT_NONE;
    uint32_t end = p->tokens[token].next;
    for (uint32_t k = token + 1; k < end; k = p->tokens[k + 1].next)
        if (!strcmp(p->text + p->tokens[k].text, key))
            return k + 1;
    return RLT_NONE;
}

void rlt_jpiece_members(const rlt_jpiece *p, uint32_t token, uint32_t *values, uint32_t n)
{
    memset(values, 0xff, n * sizeof *values); /* RLT_NONE */
    if (token >= p->n_tokens || p->tokens[token].type != RLT_J_OBJECT)
        return;
    uint32_t end = p->tokens[token].next;
    for (uint32_t k = token + 1; k < end; k = p->tokens[k + 1].next)
        if (p->tokens[k].key < n && values[p->tokens[k].key] == RLT_NONE)
            values[p->tokens[k].key] = k + 1;
}

const char *rlt_jpiece_text(const rlt_jpiece *p, uint32_t token)
{
    if (token >= p->n_tokens ||
        (p->tokens[token].type != RLT_J_STRING && p->tokens[token].type != RLT_J_NUMBER))
        return NULL;
    return p->text + p->tokens[token].text;
}

/* Reads the digits of a number that lie at or above the unit after shifting by `shift`. Returns false above
 * 4e18. */
static bool shifted(const char *t, int shift, int64_t *out)
{
    const int64_t limit = 4000000000000000000;
    int64_t v = 0;
    bool point = false;
    const char *dot = strchr(t, '.');
    size_t whole = dot ? (size_t)(dot - t) : strspn(t, "0123456789");
    int64_t left = (int64_t)whole + shift; /* digits to take */
    for (; left > 0; left--) {
        if (*t == '.' && !point) {
            point = true;
            t++;
        }
        int digit = *t >= '0' && *t <= '9' ? *t++ - '0' : 0;
        if (v > (limit - digit) / 10)
            return false;
        v = v * 10 + digit;
        if (v == 0 && *t == '\0')
            break;
    }
    *out = v;
    return true;
}

/* Reads up to 19 digits with a fraction. Returns false for any other text, and where shifting could pass the
 * limit. */
static inline bool plain_decimal(const char *t, int shift, int64_t *out)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    bool negative = *t == '-';
    const char *first = t += negative, *point = NULL;
    uint64_t v = 0;
    while (*t >= '0' && *t <= '9')
        v = v * 10 + (uint64_t)(*t++ - '0');
    if (t == first || (*first == '0' && t > first + 1))
        return false;
    if (*t == '.')
        for (point = t++; *t >= '0' && *t <= '9'; t++)
            v = v * 10 + (uint64_t)(*t - '0');
    int64_t up = shift - (point ? t - point - 1 : 0);
    if (*t || (point && t == point + 1) || t - first - (point != NULL) > 19 || up < -6 || up > 6)
        return false;
    v = up < 0 ? v / tens[-up] : v;
    if (v > 4000000000000000000u / tens[up > 0 ? up : 0])
        return false;
    v *= tens[up > 0 ? up : 0];
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

bool rlt_decimal_i64(const char *text, int shift, int64_t *out)
{
    if (plain_decimal(text, shift, out))
        return true;
    bool negative = *text == '-';
    const char *end = rlt__json_number_end(text, false);
    if (!end || *end)
        return false;
    text += negative;
    const char *e = strpbrk(text, "eE");
    if (e) {
        long power = strtol(e + 1, NULL, 10);
        if (power > 1000 || power < -1000)
            return false;
        shift += (int)power;
    }
    int64_t v;
    if (!shifted(text, shift, &v))
        return false;
    *out = negative ? -v : v;
    return true;
}
