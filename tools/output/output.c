/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows as a table, CSV or JSON. */
#include "tools/output/output.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "tools/base/progress.h"

enum { CELL = 512, MAX_CELLS = 1 << 26 };

rlt_format rlt_format_of(const char *word, const char *output)
{
    const char *dot = output ? strrchr(output, '.') : NULL;
    if (!word)
        word = dot ? dot + 1 : "table";
    return strcmp(word, "json") == 0  ? RLT_FORMAT_JSON
           : strcmp(word, "csv") == 0 ? RLT_FORMAT_CSV
                                      : RLT_FORMAT_TABLE;
}

/* Significant digits of RLT_COL_DIGITS columns: as many as a 32-bit float needs. */
enum { EXACT_DIGITS = 9 };

void rlt_row_json(rlt_jw *w, const rlt_column *columns, uint32_t n, const rlt_value *values)
{
    for (uint32_t i = 0; i < n; i++) {
        const rlt_column *c = &columns[i];
        const rlt_value *v = &values[i];
        if (!c->name)
            continue;
        if (v->absent)
            rlt_jw_null(w, c->name);
        else if (c->kind == RLT_COL_TEXT)
            rlt_jw_string(w, c->name, v->text);
        else if (c->kind == RLT_COL_TIME)
            rlt_jw_i64(w, c->name, v->time);
        else if (c->kind == RLT_COL_REAL || c->kind == RLT_COL_PERCENT)
            rlt_jw_double(w, c->name, v->real, 6);
        else if (c->kind == RLT_COL_DIGITS)
            rlt_jw_digits(w, c->name, v->real, EXACT_DIGITS);
        else
            rlt_jw_u64(w, c->name, v->count);
    }
}

void rlt_column_widen(rlt_column *c, const char *cell)
{
    int length = (int)strlen(cell);
    c->width = length > c->width ? length : c->width;
}

/* Formats with `digits` significant digits, and never fewer than all digits before the point. */
static void with_digits(char *cell, size_t size, int digits, double value)
{
    int before = 0;
    for (double x = fabs(value); x >= 1 && before < digits; x /= 10)
        before++;
    if (fabs(value) < 1e-3 || before == 0)
        snprintf(cell, size, "%.*g", digits, value);
    else
        snprintf(cell, size, "%.*f", digits - before, value);
}

static double four_digits(double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.3e", value);
    return strtod(text, NULL);
}

char *rlt_format_grouped(char *buffer, size_t size, double value)
{
    char digits[64];
    size_t used = 0;
    if (fabs(value) < 1000)
        snprintf(digits, sizeof digits, "%.4g", value);
    else if (fabs(value) < 1e15)
        snprintf(digits, sizeof digits, "%.0f", four_digits(value));
    else
        snprintf(digits, sizeof digits, "%.3e", value);
    size_t whole = strspn(digits, "-0123456789"), n = strlen(digits);
    for (size_t i = 0; i < n && used + 2 < size; i++) {
        if (i && i < whole && whole > 3 && (whole - i) % 3 == 0 && digits[i - 1] != '-')
            buffer[used++] = ' ';
        buffer[used++] = digits[i];
    }
    buffer[used] = '\0';
    return buffer;
}

void rlt_cell_text(const rlt_column *c, const rlt_value *v, char *cell, size_t size)
{
    char number[64];
    if (v->absent) {
        snprintf(cell, size, "-");
        return;
    }
    switch (c->kind) {
    case RLT_COL_TEXT:
        snprintf(cell, size, "%s", v->text);
        rlt_make_printable(cell);
        break;
    case RLT_COL_COUNT:
        snprintf(cell, size, "%llu", (unsigned long long)v->count);
        break;
    case RLT_COL_TIME:
        if (c->unit && strcmp(c->unit, "us") == 0) /* six digits are enough for people; CSV is exact */
            snprintf(cell, size, "%.2f", (double)v->time / 1e6);
        else
            rlt_format_duration(cell, size, v->time);
        break;
    case RLT_COL_SIZE:
        rlt_format_size(cell, size, v->count);
        break;
    case RLT_COL_RATE:
        rlt_format_rate(cell, size, v->count);
        break;
    case RLT_COL_REAL:
        if (c->decimals < 0)
            with_digits(cell, size, -c->decimals, v->real);
        else
            snprintf(cell, size, "%.*f", c->decimals, v->real);
        break;
    case RLT_COL_DIGITS:
        snprintf(cell, size, "%.*g", c->decimals, v->real);
        break;
    case RLT_COL_PERCENT:
        if (fabs(v->real) >= RLT_TIMES) {
            snprintf(cell, size, "%s x", rlt_format_grouped(number, sizeof number, v->real));
            break;
        }
        snprintf(cell, size, "%.*f", c->decimals, v->real * 100);
        if (cell[0] == '-' && strspn(cell + 1, "0.") == strlen(cell + 1))
            memmove(cell, cell + 1, strlen(cell)); /* no minus before zero */
        break;
    }
}

/* Returns true for a text that a spreadsheet takes for a formula: a name from an input must not compute.
 * Options such as "--set" and numbers are none. */
static bool is_formula(const char *s)
{
    char *end;
    if (!*s || !strchr("=+-@\t\r", *s) || !s[1] || strncmp(s, "--", 2) == 0)
        return false;
    strtod(s, &end);
    return *end != '\0';
}

void rlt_csv_text(FILE *out, const char *s)
{
    bool formula = is_formula(s);
    if (!formula && !s[strcspn(s, ",\"\r\n")]) {
        fputs(s, out);
        return;
    }
    fputs(formula ? "\"'" : "\"", out);
    for (; *s; s++) {
        if (*s == '"')
            fputc('"', out);
        fputc(*s, out);
    }
    fputc('"', out);
}

void rlt_csv_row(FILE *out, const rlt_column *columns, uint32_t n, const rlt_value *values)
{
    const char *separator = "";
    for (uint32_t i = 0; i < n; i++) {
        const rlt_column *c = &columns[i];
        const rlt_value *v = &values[i];
        if (!c->name)
            continue;
        fputs(separator, out);
        separator = ",";
        bool real = c->kind == RLT_COL_REAL || c->kind == RLT_COL_PERCENT || c->kind == RLT_COL_DIGITS;
        if (v->absent || (real && !isfinite(v->real)))
            continue;
        if (c->kind == RLT_COL_TEXT)
            rlt_csv_text(out, v->text);
        else if (c->kind == RLT_COL_TIME)
            fprintf(out, "%lld", (long long)v->time);
        else if (c->kind == RLT_COL_REAL || c->kind == RLT_COL_PERCENT)
            fprintf(out, "%.6f", v->real);
        else if (c->kind == RLT_COL_DIGITS)
            fprintf(out, "%.*g", EXACT_DIGITS, v->real);
        else
            fprintf(out, "%llu", (unsigned long long)v->count);
    }
}

void rlt_csv_heading(FILE *out, const rlt_column *columns, uint32_t n)
{
    const char *separator = "";
    for (uint32_t i = 0; i < n; i++)
        if (columns[i].name) {
            fprintf(out, "%s%s", separator, columns[i].name);
            separator = ",";
        }
}

/* Prints one line of cells: texts aligned left, numbers right, no blanks at the end. Index i of `cells` is
 * the i-th shown column. */
static void put_line(const rlt_table *t, const int *widths, const char *const *cells)
{
    int owed = 0; /* pending blanks, written only when something follows */
    uint32_t k = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_column *c = &t->columns[i];
        const char *cell;
        int length, pad;
        if (!c->title)
            continue;
        cell = cells[k++];
        length = (int)strlen(cell);
        pad = widths[i] > length ? widths[i] - length : 0;
        if (k > 1)
            owed += 2;
        if (c->kind != RLT_COL_TEXT)
            owed += pad;
        if (length)
            fprintf(t->out, "%*s%s", owed, "", cell), owed = 0;
        if (c->kind == RLT_COL_TEXT)
            owed += pad;
    }
    fputc('\n', t->out);
}

static void table_heading(const rlt_table *t, const int *widths)
{
    const char *titles[RLT_MAX_COLUMNS] = {0}, *units[RLT_MAX_COLUMNS] = {0};
    char bracketed[RLT_MAX_COLUMNS][24];
    uint32_t k = 0, with_unit = 0;
    bool bold = t->out == stdout && rlt_may_colour(1);
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_column *c = &t->columns[i];
        if (!c->title)
            continue;
        snprintf(bracketed[k], sizeof bracketed[k], c->unit ? "(%s)" : "%s", c->unit ? c->unit : "");
        with_unit += c->unit != NULL;
        titles[k] = c->title;
        units[k] = bracketed[k];
        k++;
    }
    if (bold)
        fputs("\033[1m", t->out);
    put_line(t, widths, titles);
    if (with_unit)
        put_line(t, widths, units);
    if (bold)
        fputs("\033[0m", t->out);
}

static void column_widths(const rlt_table *t, int *widths)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const rlt_column *c = &t->columns[i];
        int title = c->title ? (int)strlen(c->title) : 0, unit = c->unit ? (int)strlen(c->unit) + 2 : 0;
        widths[i] = c->width > title ? c->width : title;
        if (unit > widths[i])
            widths[i] = unit;
    }
}

static uint32_t shown_columns(const rlt_table *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += t->columns[i].title != NULL;
    return n;
}

void rlt_table_begin(rlt_table *t, rlt_format format, const rlt_column *columns, uint32_t n, FILE *out,
                     rlt_jw *json)
{
    *t = (rlt_table){.format = format, .columns = columns, .n = n, .out = out, .json = json};
    if (format == RLT_FORMAT_CSV) {
        rlt_csv_heading(out, columns, n);
        fputc('\n', out);
    }
    if (format != RLT_FORMAT_TABLE)
        return;
    for (uint32_t i = 0; i < n; i++)
        t->waiting = t->waiting || (columns[i].title && columns[i].width == 0);
    if (!t->waiting) {
        int widths[RLT_MAX_COLUMNS];
        column_widths(t, widths);
        table_heading(t, widths);
    }
}

static void keep_cell(rlt_table *t, const char *cell)
{
    char *copy = strdup(cell);
    if (!copy || rlt_grow(&t->cells, &t->cells_capacity, sizeof *t->cells, (uint64_t)t->n_cells + 1,
                          MAX_CELLS, "table cells", NULL)) {
        free(copy);
        t->failed = 1;
        return;
    }
    t->cells[t->n_cells++] = copy;
}

static void table_row(rlt_table *t, const rlt_value *values)
{
    char text[RLT_MAX_COLUMNS][CELL];
    const char *cells[RLT_MAX_COLUMNS] = {0};
    int widths[RLT_MAX_COLUMNS];
    uint32_t k = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->columns[i].title) {
            rlt_cell_text(&t->columns[i], &values[i], text[k], sizeof text[k]);
            cells[k] = text[k];
            k++;
        }
    if (t->waiting) {
        for (uint32_t i = 0; i < k && !t->failed; i++)
            keep_cell(t, cells[i]);
        return;
    }
    column_widths(t, widths);
    put_line(t, widths, cells);
}

void rlt_table_row(rlt_table *t, const rlt_value *values)
{
    if (t->format == RLT_FORMAT_JSON) {
        rlt_jw_object(t->json, NULL);
        rlt_row_json(t->json, t->columns, t->n, values);
        rlt_jw_end_object(t->json);
    } else if (t->format == RLT_FORMAT_CSV) {
        rlt_csv_row(t->out, t->columns, t->n, values);
        fputc('\n', t->out);
    } else
        table_row(t, values);
}

int rlt_table_end(rlt_table *t, rlt_error *err)
{
    int widths[RLT_MAX_COLUMNS];
    uint32_t shown = shown_columns(t);
    if (t->format == RLT_FORMAT_TABLE && t->waiting && !t->failed) {
        column_widths(t, widths);
        for (uint32_t cell = 0; cell < t->n_cells;)
            for (uint32_t i = 0; i < t->n; i++)
                if (t->columns[i].title) {
                    int length = (int)strlen(t->cells[cell++]);
                    widths[i] = length > widths[i] ? length : widths[i];
                }
        table_heading(t, widths);
        for (uint32_t first = 0; first < t->n_cells; first += shown)
            put_line(t, widths, (const char *const *)t->cells + first);
    }
    for (uint32_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->n_cells = 0;
    return t->failed ? rlt_nomem(err) : 0;
}

void rlt_heading(FILE *out, const char *fmt, ...)
{
    bool bold = out == stdout && rlt_may_colour(1);
    va_list args;
    va_start(args, fmt);
    if (bold)
        fputs("\033[1m", out);
    vfprintf(out, fmt, args);
    fputs(bold ? "\033[0m\n" : "\n", out);
    va_end(args);
}
