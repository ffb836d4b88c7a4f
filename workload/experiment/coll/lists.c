/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of sizes, counts, shares and ranks on the command line, and the file of counts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/file.h"
#include "workload/experiment/coll/lists.h"

enum { MAX_SIZES = 1 << 16, MAX_COUNTS_BYTES = 1 << 30 };
#define MAX_COUNT ((uint64_t)1 << 48)

/* Noun and unit of a list. */
typedef struct amounts {
    const char *option, *noun, *step; /* step: an example for messages */
    uint32_t most;
    int (*parse)(const char *text, uint64_t *value, const char *where, rlt_error *err);
    uint64_t *items;
    uint32_t n, capacity;
} amounts;

static int add_amount(amounts *s, uint64_t value, rlt_error *err)
{
    char noun[32];
    snprintf(noun, sizeof noun, "%ss", s->noun);
    int rc = rlt_grow(&s->items, &s->capacity, sizeof *s->items, (uint64_t)s->n + 1, s->most, noun, err);
    if (rc)
        rlt_error_prefix(err, s->option);
    else
        s->items[s->n++] = value;
    return rc;
}

static int add_range(amounts *s, uint64_t low, uint64_t high, uint64_t factor, uint64_t step, rlt_error *err)
{
    int rc = 0;
    for (uint64_t b = low; b <= high && !rc;) {
        rc = add_amount(s, b, err);
        if (factor ? b > UINT64_MAX / factor : b > UINT64_MAX - step)
            break;
        b = factor ? b * factor : b + step;
    }
    return rc;
}

/* Reads LOW:HIGH[:xN|:+STEP] or one amount. */
static int read_item(amounts *s, char *text, rlt_error *err)
{
    uint64_t low, high, factor = 2, step = 0;
    char *second = strchr(text, ':'), *third = second ? strchr(second + 1, ':') : NULL;
    int rc;
    if (second)
        *second++ = '\0';
    if (third)
        *third++ = '\0';
    if ((rc = s->parse(text, &low, s->option, err)))
        return rc;
    if (!second)
        return add_amount(s, low, err);
    if ((rc = s->parse(second, &high, s->option, err)))
        return rc;
    if (high < low)
        return rlt_fail(err, RLT_EUSAGE, s->option, "the end of the range, %s, is below its start, %s",
                        second, text);
    if (third && *third == '+') {
        factor = 0;
        if ((rc = s->parse(third + 1, &step, s->option, err)))
            return rc;
    } else if (third) {
        rlt_error ignored = {0};
        if (*third != 'x' || rlt_parse_count(third + 1, &factor, NULL, &ignored))
            return rlt_fail(err, RLT_EUSAGE, s->option, "expected a step such as x2 or %s, got '%s'", s->step,
                            third);
    }
    if (factor ? factor < 2 || low == 0 : step == 0)
        return rlt_fail(
            err, RLT_EUSAGE, s->option,
            "the range from %s to %s never ends: expected a step above 0, or a factor above 1 and "
            "a start above 0",
            text, second);
    return add_range(s, low, high, factor, step, err);
}

/* A wrong list is a wrong option, for the caller and in the error. */
static int usage(int rc, rlt_error *err)
{
    if (rc == RLT_ENOMEM)
        return rc;
    return err ? (err->code = RLT_EUSAGE) : RLT_EUSAGE;
}

static int read_list(amounts *s, const char *text, uint64_t **out, uint32_t *n, rlt_error *err)
{
    const char *cursor = text, *item;
    size_t length;
    int rc = 0;
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        char part[160];
        if (length >= sizeof part)
            rc = rlt_fail(err, RLT_EUSAGE, s->option, "'%.40s...' is too long for a %s", item, s->noun);
        else {
            memcpy(part, item, length);
            part[length] = '\0';
            rc = read_item(s, part, err);
        }
    }
    if (rc) {
        free(s->items);
        return usage(rc, err);
    }
    *out = s->items;
    *n = s->n;
    return 0;
}

int rlt_parse_sizes(const char *text, uint64_t **out, uint32_t *n, rlt_error *err)
{
    amounts s = {"--bytes", "size", "+64KiB", MAX_SIZES, rlt_parse_size, NULL, 0, 0};
    return read_list(&s, text, out, n, err);
}

int rlt_parse_rates(const char *text, const char *option, uint32_t most, uint64_t **out, uint32_t *n,
                    rlt_error *err)
{
    amounts s = {option, "rate", "+50GB/s", most, rlt_parse_rate, NULL, 0, 0};
    return read_list(&s, text, out, n, err);
}

int rlt_parse_counts(const char *text, const char *option, uint32_t most, uint64_t **out, uint32_t *n,
                     rlt_error *err)
{
    amounts s = {option, "number", "+8", most, rlt_parse_count, NULL, 0, 0};
    return read_list(&s, text, out, n, err);
}

int rlt_parse_shares(const char *text, const char *option, double limit, uint32_t most, double **out,
                     uint32_t *n, rlt_error *err)
{
    const char *cursor = text, *item;
    size_t length;
    uint32_t capacity = 0;
    int rc = 0;
    *out = NULL;
    *n = 0;
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        double share = 0;
        if (length >= sizeof word)
            rc = rlt_fail(err, RLT_EUSAGE, option, "'%.40s...' is too long for a share", item);
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        if (rc || (rc = rlt_parse_share(word, limit, &share, option, err)))
            break;
        rc = rlt_grow(out, &capacity, sizeof **out, (uint64_t)*n + 1, most, "shares", err);
        if (rc)
            rlt_error_prefix(err, option);
        else
            (*out)[(*n)++] = share;
    }
    if (rc) {
        free(*out);
        *out = NULL;
        return usage(rc, err);
    }
    return 0;
}

static int read_rank(const char *item, size_t length, uint64_t *low, uint64_t *high, rlt_error *err)
{
    char text[48], *dash;
    rlt_error ignored = {0};
    snprintf(text, sizeof text, "%.*s", (int)(length < 47 ? length : 47), item);
    dash = strchr(text, '-');
    if (dash)
        *dash = '\0';
    if (length > 47 || rlt_parse_count(text, low, NULL, &ignored) ||
        (dash && rlt_parse_count(dash + 1, high, NULL, &ignored)))
        return rlt_fail(err, RLT_EUSAGE, "--group", "expected ranks such as 0-3,8, got '%.*s'", (int)length,
                        item);
    if (!dash)
        *high = *low;
    if (*high < *low || *high >= RLT_MAX_MEMBERS)
        return rlt_fail(
            err, RLT_EUSAGE, "--group",
            "'%.*s' is not a range: expected FIRST-LAST with FIRST at most LAST and LAST below %d",
            (int)length, item, (int)RLT_MAX_MEMBERS);
    return 0;
}

int rlt_parse_ranks(const char *text, uint32_t **ranks, uint32_t *n, rlt_error *err)
{
    const char *cursor = text, *item;
    size_t length;
    uint32_t capacity = 0;
    int rc = 0;
    *ranks = NULL;
    *n = 0;
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        uint64_t low = 0, high = 0;
        rc = read_rank(item, length, &low, &high, err);
        for (uint64_t r = low; r <= high && !rc; r++) {
            rc = rlt_grow(ranks, &capacity, sizeof **ranks, (uint64_t)*n + 1, RLT_MAX_MEMBERS, "ranks", err);
            if (rc)
                rlt_error_prefix(err, "--group");
            else
                (*ranks)[(*n)++] = (uint32_t)r;
        }
    }
    if (rc) {
        free(*ranks);
        *ranks = NULL;
        return usage(rc, err);
    }
    return 0;
}

/* Writes the place of text[at] as "path:line:column". */
static void place_of(const char *path, const char *text, const char *at, char *where, size_t size)
{
    uint32_t line = 1;
    const char *start = text;
    for (const char *c = text; c < at; c++)
        if (*c == '\n') {
            line++;
            start = c + 1;
        }
    snprintf(where, size, "%s:%u:%u", path, line, (unsigned)(at - start) + 1);
}

/* Writes "7 numbers, one for each rank" or "7 x 7 numbers, one for each pair of ranks". */
static const char *wanted_text(uint32_t rows, uint32_t n, char *text, size_t size)
{
    if (rows == 1)
        snprintf(text, size, "%u numbers, one for each rank", n);
    else
        snprintf(text, size, "%u x %u numbers, one for each pair of ranks", rows, n);
    return text;
}

static int fill_counts(const char *path, const char *text, uint32_t rows, uint32_t n, uint64_t *counts,
                       rlt_error *err)
{
    uint64_t wanted = (uint64_t)rows * n, got = 0;
    char table[80];
    char where[300];
    for (const char *p = text;;) {
        char word[32];
        size_t length;
        rlt_error ignored = {0};
        uint64_t value;
        p += strspn(p, " \t\r\n");
        length = strcspn(p, " \t\r\n");
        if (length == 0)
            break;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), p);
        if (length > 31 || rlt_parse_count(word, &value, NULL, &ignored) || value > MAX_COUNT) {
            place_of(path, text, p, where, sizeof where);
            return rlt_fail(err, RLT_EMALFORMED, where, "expected a number of bytes up to 2^48, got '%s'",
                            word);
        }
        if (got == wanted) {
            place_of(path, text, p, where, sizeof where);
            return rlt_fail(err, RLT_ESCHEMA, where, "expected %s, got more",
                            wanted_text(rows, n, table, sizeof table));
        }
        counts[got++] = value;
        p += length;
    }
    if (got < wanted)
        return rlt_fail(err, RLT_ESCHEMA, path, "expected %s, got %llu",
                        wanted_text(rows, n, table, sizeof table), (unsigned long long)got);
    return 0;
}

int rlt_read_counts(const char *path, uint32_t rows, uint32_t n, uint64_t **counts, rlt_error *err)
{
    char *text = NULL, table[80];
    size_t length;
    int rc = rlt_read_file(path, MAX_COUNTS_BYTES, &text, &length, err);
    if (rc)
        return rc;
    /* A number and its blank take at least two characters: the file cannot hold larger groups. */
    if (rows > 1 && (uint64_t)rows * n > (length + 1) / 2)
        rc = rlt_fail(err, RLT_ESCHEMA, path, "expected %s, but the file is too short",
                      wanted_text(rows, n, table, sizeof table));
    if (!rc && !(*counts = calloc((size_t)rows * n, sizeof **counts)))
        rc = rlt_nomem(err);
    if (!rc && (rc = fill_counts(path, text, rows, n, *counts, err))) {
        free(*counts);
        *counts = NULL;
    }
    free(text);
    return rc;
}
