/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nearest of known words, and items of a list. */
#include "sim/base/words.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 64 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Returns the number of edits (insert, delete, replace, swap of neighbours) that turn a into b. */
static uint32_t edits(const char *a, size_t n, const char *b, size_t m)
{
    uint32_t rows[3][MAX_WORD + 1];
    for (uint32_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= m; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

rlt_nearest rlt_nearest_to(const char *word)
{
    size_t n = strlen(word);
    /* At least one letter may be wrong, at most a third. */
    return (rlt_nearest){.word = word, .distance = n < 6 ? 2 : (uint32_t)(n / 3) + 1};
}

void rlt_nearest_try(rlt_nearest *n, const char *candidate)
{
    size_t a = strlen(n->word), b = strlen(candidate);
    uint32_t d;
    if (a == 0 || a > MAX_WORD || b > MAX_WORD)
        return;
    d = a < b && a >= 3 && strncmp(n->word, candidate, a) == 0 ? 1 : edits(n->word, a, candidate, b);
    if (d < n->distance || (d == n->distance && !n->best && a > 2 && d < a)) {
        n->distance = d;
        n->best = candidate;
    }
}

const char *rlt_next_item(const char **cursor, char separator, size_t *length)
{
    const char *start = *cursor, *end;
    if (!start)
        return NULL;
    end = strchr(start, separator);
    *length = end ? (size_t)(end - start) : strlen(start);
    *cursor = end ? end + 1 : NULL;
    return start;
}

/* Returns the length of the name of the next item that has one, and the item; 0 at the end. */
static size_t next_name(const char **cursor, const char **item, size_t *length)
{
    while ((*item = rlt_next_item(cursor, ',', length))) {
        for (; *length && **item == ' '; ++*item)
            --*length;
        const char *equals = memchr(*item, '=', *length);
        if (equals && equals != *item)
            return (size_t)(equals - *item);
    }
    return 0;
}

bool rlt_is_one_of(const char *name, const char *const *words)
{
    while (*words && strcmp(*words, name) != 0)
        words++;
    return *words != NULL;
}

bool rlt_contains(const char *text, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++)
        if (text[i] == word[0] && memcmp(text + i, word, length) == 0)
            return true;
    return false;
}

int rlt_names_once(const char *list, rlt_error *err)
{
    enum { SHOWN = 40 };
    const char *item, *other;
    size_t n, m, length, other_length;
    while ((n = next_name(&list, &item, &length)))
        for (const char *rest = list; (m = next_name(&rest, &other, &other_length));) {
            char name[SHOWN + 1];
            if (m != n || memcmp(item, other, n) != 0)
                continue;
            snprintf(name, sizeof name, "%.*s", (int)(n < SHOWN ? n : SHOWN), item);
            return rlt_fail(err, RLT_EUSAGE, name, "is given twice, as '%.*s' and as '%.*s'",
                            (int)(length < SHOWN ? length : SHOWN), item,
                            (int)(other_length < SHOWN ? other_length : SHOWN), other);
        }
    return 0;
}
