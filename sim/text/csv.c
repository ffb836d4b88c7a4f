/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts CSV lines into cells. */
#include "sim/text/csv.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int rlt_csv_fail(const rlt_csv *c, int cell, int code, rlt_error *err, const char *fmt, ...)
{
    char where[sizeof err->where];
    va_list args;
    int n = snprintf(where, sizeof where, "%.400s:%u", c->name, c->line);
    if (cell >= 0)
        snprintf(where + n, sizeof where - (size_t)n, ":%u", c->begins[cell]);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

/* Copies the text of a quoted cell to *out; *p moves behind the cell. */
static int unquote(const rlt_csv *c, const char **p, const char *end, char **out, rlt_error *err)
{
    int cell = (int)c->n_cells - 1;
    for (++*p; *p < end; ++*p) {
        if (**p != '"') {
            *(*out)++ = **p;
        } else if (*p + 1 < end && (*p)[1] == '"') {
            *(*out)++ = '"';
            ++*p;
        } else {
            ++*p;
            if (*p < end && **p != ',')
                return rlt_csv_fail(c, cell, RLT_EMALFORMED, err,
                                    "text after a quoted cell; expected a comma");
            return 0;
        }
    }
    return rlt_csv_fail(c, cell, RLT_EMALFORMED, err, "a quoted cell does not end");
}

static int cut(rlt_csv *c, const char *begin, const char *end, rlt_error *err)
{
    const char *p = begin;
    char *out = c->buffer;
    if (end - p >= RLT_CSV_LINE)
        return rlt_csv_fail(c, -1, RLT_ERANGE, err, "a line of more than %d bytes", RLT_CSV_LINE);
    if (memchr(p, 0, (size_t)(end - p)))
        return rlt_csv_fail(c, -1, RLT_EMALFORMED, err, "a byte of value 0");
    for (c->n_cells = 0;; p++) {
        int rc = 0;
        if (c->n_cells == RLT_CSV_CELLS)
            return rlt_csv_fail(c, -1, RLT_ERANGE, err, "more than %d columns", RLT_CSV_CELLS);
        c->begins[c->n_cells] = (uint32_t)(p - begin) + 1;
        c->cells[c->n_cells++] = out;
        if (p < end && *p == '"')
            rc = unquote(c, &p, end, &out, err);
        while (p < end && *p != ',')
            *out++ = *p++;
        *out++ = 0; /* fits: never more bytes than the line with its line end */
        if (rc || p == end)
            return rc;
    }
}

/* Returns 1 with the cells of the next line that is not blank, 0 at the end. */
static int next_line(rlt_csv *c, rlt_error *err)
{
    while (c->at < c->end) {
        const char *begin = c->at, *end = memchr(begin, '\n', (size_t)(c->end - begin));
        end = end ? end : c->end;
        c->at = end < c->end ? end + 1 : end;
        c->line++;
        if (end > begin && end[-1] == '\r')
            end--;
        size_t blank = 0;
        while (begin + blank < end && strchr(" \t\r", begin[blank]))
            blank++;
        if (begin + blank == end)
            continue;
        int rc = cut(c, begin, end, err);
        return rc ? rc : 1;
    }
    return 0;
}

int rlt_csv_begin(rlt_csv *c, const char *name, const char *text, size_t length, rlt_error *err)
{
    bool mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    int rc;
    c->name = name;
    c->at = text + (mark ? 3 : 0);
    c->end = text + length;
    c->line = c->n_columns = 0;
    if ((rc = next_line(c, err)) < 0)
        return rc;
    if (rc == 0)
        return rlt_fail(err, RLT_EMALFORMED, name, "is empty");
    memcpy(c->names, c->buffer, sizeof c->names);
    for (c->n_columns = 0; c->n_columns < c->n_cells; c->n_columns++)
        c->columns[c->n_columns] = c->names + (c->cells[c->n_columns] - c->buffer);
    return 0;
}

int rlt_csv_next(rlt_csv *c, rlt_error *err)
{
    int rc = next_line(c, err);
    if (rc == 1 && c->n_cells != c->n_columns)
        return rlt_csv_fail(c, -1, RLT_EMALFORMED, err, "%u cells under %u columns", c->n_cells,
                            c->n_columns);
    return rc;
}

int rlt_csv_column(const rlt_csv *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_columns; i++)
        if (strcmp(c->columns[i], name) == 0)
            return (int)i;
    return -1;
}

int rlt_csv_whole(const rlt_csv *c, int column, uint64_t max, uint64_t *out, rlt_error *err)
{
    const char *s = rlt_csv_cell(c, column), *name = column >= 0 ? c->columns[column] : "";
    uint64_t v = 0;
    size_t n = strspn(s, "0123456789");
    if (n == 0 || (s[n] && strcmp(s + n, ".0") != 0))
        return rlt_csv_fail(c, column, RLT_EMALFORMED, err, "%s: expected a whole number, got '%.64s'", name,
                            s);
    for (size_t i = 0; i < n; i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (v > (max - digit) / 10)
            return rlt_csv_fail(c, column, RLT_ERANGE, err, "%s: '%.64s' is above %llu", name, s,
                                (unsigned long long)max);
        v = v * 10 + digit;
    }
    *out = v;
    return 0;
}
