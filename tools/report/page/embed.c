/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run while building: writes files as C.
 *
 *     embed --texts HEADER NAME FILE... > texts.c
 *
 * defines the array NAME, which HEADER declares: path, content, path, content, ..., each ended by a NUL, and
 * an empty path. Files may hold no NUL.
 *
 *     embed PAGE.html STYLE.css (TEXT.md | SCRIPT.js)... > page_parts.c
 *
 * puts the page together from its sources. A text becomes the script's constant GLOSSARY.
 *
 * In the HTML, @STYLE@ and @SCRIPT@ stand for the sources, @DATA@ for the place of the data. @POLICY@ stands
 * for the hashes of both sources in a content security policy (SHA-256, FIPS 180-4).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *bytes;
    size_t n;
} text;

static void add(text *t, const char *bytes, size_t n)
{
    t->bytes = realloc(t->bytes, t->n + n + 1);
    if (!t->bytes)
        exit(1);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
}

static void add_file(text *t, const char *path)
{
    char buffer[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    while ((n = fread(buffer, 1, sizeof buffer, f)))
        add(t, buffer, n);
    fclose(f);
}

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* Returns the first 32 bits of the fractional part of the power-th root of a prime, by integer arithmetic. */
static uint32_t root(uint32_t prime, int power)
{
    unsigned __int128 low = 0, high = (unsigned __int128)1 << 40;
    unsigned __int128 target = (unsigned __int128)prime << (power == 2 ? 64 : 96);
    while (high - low > 1) {
        unsigned __int128 x = (low + high) / 2;
        if ((power == 2 ? x * x : x * x * x) <= target)
            low = x;
        else
            high = x;
    }
    return (uint32_t)low;
}

static void constants(uint32_t h[8], uint32_t k[64])
{
    int n = 0;
    for (uint32_t p = 2; n < 64; p++) {
        uint32_t d = 2;
        while (d * d <= p && p % d)
            d++;
        if (d * d <= p)
            continue;
        if (n < 8)
            h[n] = root(p, 2);
        k[n++] = root(p, 3);
    }
}

static void block(uint32_t h[8], const uint32_t k[64], const unsigned char *b)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)b[4 * i] << 24 | (uint32_t)b[4 * i + 1] << 16 | (uint32_t)b[4 * i + 2] << 8 |
               b[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

static void add_hash(text *out, const text *of)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t h[8], k[64];
    unsigned char sum[33] = {0};
    size_t padded = (of->n + 9 + 63) / 64 * 64;
    unsigned char *m = calloc(padded, 1);
    char base64[64], *o = base64;
    if (!m)
        exit(1);
    constants(h, k);
    memcpy(m, of->bytes, of->n);
    m[of->n] = 0x80;
    for (int i = 0; i < 8; i++)
        m[padded - 1 - (size_t)i] = (unsigned char)((uint64_t)of->n * 8 >> 8 * i);
    for (size_t i = 0; i < padded; i += 64)
        block(h, k, m + i);
    free(m);
    for (int i = 0; i < 32; i++)
        sum[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
    for (int i = 0; i < 33; i += 3) {
        uint32_t v = (uint32_t)sum[i] << 16 | (uint32_t)sum[i + 1] << 8 | sum[i + 2];
        for (int j = 18; j >= 0; j -= 6)
            *o++ = digits[v >> j & 63];
    }
    o[-1] = '=';
    *o = '\0';
    add(out, "'sha256-", 8);
    add(out, base64, strlen(base64));
    add(out, "'", 1);
}

static void write_c(const char *name, const char *bytes, size_t n)
{
    printf("const char %s[] = {", name);
    for (size_t i = 0; i < n; i++)
        printf("%s%d,", i % 24 ? "" : "\n    ", (signed char)bytes[i]);
    printf("\n    0};\n");
}

static int embed_texts(const char *header, const char *name, char **paths)
{
    text all = {0};
    for (; *paths; paths++) {
        add(&all, *paths, strlen(*paths) + 1);
        size_t from = all.n;
        add_file(&all, *paths);
        if (memchr(all.bytes + from, '\0', all.n - from)) {
            fprintf(stderr, "%s: holds a NUL\n", *paths);
            return 1;
        }
        add(&all, "", 1);
    }
    printf("#include \"%s\"\n", header);
    write_c(name, all.n ? all.bytes : "", all.n);
    return 0;
}

/* Adds a page of help as a constant of the script, GLOSSARY. */
static void add_words(text *script, const char *path)
{
    text words = {0};
    char code[8];
    add_file(&words, path);
    add(script, "const GLOSSARY = \"", strlen("const GLOSSARY = \""));
    for (size_t i = 0; i < words.n; i++) {
        unsigned char c = (unsigned char)words.bytes[i];
        bool plain = c >= ' ' && c != '"' && c != '\\' && c != '<';
        snprintf(code, sizeof code, "\\u%04x", c);
        add(script, plain ? &words.bytes[i] : code, plain ? 1 : strlen(code));
    }
    add(script, "\";\n", 3);
    free(words.bytes);
}

int main(int argc, char **argv)
{
    text html = {0}, style = {0}, script = {0}, page = {0}, policy = {0};
    if (argc >= 4 && strcmp(argv[1], "--texts") == 0)
        return embed_texts(argv[2], argv[3], argv + 4);
    if (argc < 4)
        return 2;
    add_file(&html, argv[1]);
    add_file(&style, argv[2]);
    add(&script, "\"use strict\";(() => {\n", strlen("\"use strict\";(() => {\n"));
    for (int i = 3; i < argc; i++) {
        const char *ending = strrchr(argv[i], '.');
        if (ending && strcmp(ending, ".md") == 0)
            add_words(&script, argv[i]);
        else
            add_file(&script, argv[i]);
    }
    add(&script, "})();\n", strlen("})();\n"));
    add(&policy, "script-src ", 11);
    add_hash(&policy, &script);
    add(&policy, "; style-src ", 12);
    add_hash(&policy, &style);
    const char *at = html.bytes, *mark;
    size_t data = 0;
    for (; (mark = strchr(at, '@')); at = mark) {
        add(&page, at, (size_t)(mark - at));
        const text *what = NULL;
        size_t skip = 1;
        if (strncmp(mark, "@STYLE@", 7) == 0)
            what = &style, skip = 7;
        else if (strncmp(mark, "@SCRIPT@", 8) == 0)
            what = &script, skip = 8;
        else if (strncmp(mark, "@POLICY@", 8) == 0)
            what = &policy, skip = 8;
        else if (strncmp(mark, "@DATA@", 6) == 0)
            data = page.n, skip = 6;
        else
            add(&page, mark, 1);
        if (what)
            add(&page, what->bytes, what->n);
        mark += skip;
    }
    add(&page, at, strlen(at));
    printf("#include \"tools/report/page.h\"\n");
    write_c("rlt__page_head", page.bytes, data);
    write_c("rlt__page_tail", page.bytes + data, page.n - data);
    return data == 0;
}
