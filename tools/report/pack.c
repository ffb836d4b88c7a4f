/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packs numbers into bytes, and bytes into text. */
#include "tools/report/pack.h"

#include <stdlib.h>

void rlt_pack_byte(rlt_pack *p, unsigned byte)
{
    if (p->n == p->capacity && !p->failed) {
        size_t capacity = p->capacity ? p->capacity * 2 : 256;
        unsigned char *bytes = realloc(p->bytes, capacity);
        if (!bytes) {
            p->failed = true;
            return;
        }
        p->bytes = bytes;
        p->capacity = capacity;
    }
    if (!p->failed)
        p->bytes[p->n++] = (unsigned char)byte;
}

void rlt_pack_number(rlt_pack *p, uint64_t number)
{
    for (; number > 127; number >>= 7)
        rlt_pack_byte(p, (unsigned)(number & 127) | 128);
    rlt_pack_byte(p, (unsigned)number);
}

char *rlt_pack_base64(const rlt_pack *p)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = p->failed ? NULL : malloc((p->n + 2) / 3 * 4 + 1), *out = text;
    if (!text)
        return NULL;
    for (size_t i = 0; i < p->n; i += 3) {
        size_t left = p->n - i;
        unsigned v = (unsigned)p->bytes[i] << 16 | (left > 1 ? (unsigned)p->bytes[i + 1] << 8 : 0) |
                     (left > 2 ? (unsigned)p->bytes[i + 2] : 0);
        *out++ = digits[v >> 18 & 63];
        *out++ = digits[v >> 12 & 63];
        *out++ = left > 1 ? digits[v >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[v & 63] : '=';
    }
    *out = '\0';
    return text;
}
