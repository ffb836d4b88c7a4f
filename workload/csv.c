/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of comma-separated cells. */
#include "workload/csv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "workload/layers.h"

int rlt__csv_fail(const rlt_csv *c, int code, rlt_error *err, const char *fmt, ...)
{
    char where[384];
    va_list args;
    snprintf(where, sizeof where, "%.360s:%" PRIu32, c->file, c->line ? c->line : 1);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

static int cut(rlt_csv *c, const char *from, const char *to, rlt_error *err)
{
    if (memchr(from, '\0', (size_t)(to - from)))
        return rlt__csv_fail(c, RLT_EMALFORMED, err, "a zero byte");
    while (from < to || (c->n && from == to && from[-1] == ',')) {
        const char *comma = from < to ? memchr(from, ',', (size_t)(to - from)) : NULL;
        size_t length = (size_t)((comma ? comma : to) - from);
        if (c->n == RLT_CSV_CELLS || length > RLT_CSV_CELL_LENGTH)
            return rlt__csv_fail(c, RLT_EMALFORMED, err,
                                 "more than %d cells, or one of more than %d characters", RLT_CSV_CELLS,
                                 RLT_CSV_CELL_LENGTH);
        memcpy(c->text[c->n], from, length);
        c->text[c->n++][length] = '\0';
        if (!comma)
            break;
        from = comma + 1;
    }
    return 0;
}

int rlt__csv_next(rlt_csv *c, rlt_error *err)
{
    const char *from, *to;
    int rc = 0;
    c->n = 0;
    while (!rc && c->n == 0 && rlt__text_line(&c->at, c->end, &c->line, &from, &to))
        rc = cut(c, from, to, err);
    return rc;
}

int rlt__csv_find(const rlt_csv *c, const char *name)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->text[i], name) == 0)
            return (int)i;
    return -1;
}

const char *rlt__csv_cell(const rlt_csv *c, int column)
{
    return column >= 0 && (uint32_t)column < c->n ? c->text[column] : "";
}

int rlt__csv_whole(const rlt_csv *c, int column, const char *name, uint64_t max, uint64_t *out,
                   rlt_error *err)
{
    const char *s = rlt__csv_cell(c, column);
    uint64_t v = 0;
    size_t n = strspn(s, "0123456789");
    if (n == 0 || (s[n] && strcmp(s + n, ".0") != 0))
        return rlt__csv_fail(c, RLT_EMALFORMED, err, "%s: expected a whole number, got '%s'", name, s);
    for (size_t i = 0; i < n; i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (v > (max - digit) / 10)
            return rlt__csv_fail(c, RLT_ERANGE, err, "%s: '%s' is above %" PRIu64, name, s, max);
        v = v * 10 + digit;
    }
    *out = v;
    return 0;
}
