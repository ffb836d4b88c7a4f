/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV cut into cells: what is read, and what is refused at which place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/csv.h"

static rlt_csv c; /* large */

/* Writes the cells of all lines as "line:begin=cell|begin=cell;". Returns the last code. */
static int read_all(const char *text, size_t length, char *out, size_t size, rlt_error *err)
{
    size_t used = 0;
    *out = '\0';
    *err = (rlt_error){0};
    int rc = rlt_csv_begin(&c, "f", text, length, err);
    if (rc < 0)
        return rc;
    for (bool first = true; first || (rc = rlt_csv_next(&c, err)) == 1; first = false) {
        used += (size_t)snprintf(out + used, size - used, "%u:", c.line);
        for (uint32_t i = 0; i < c.n_cells; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%u=%s", i ? "|" : "", c.begins[i],
                                     rlt_csv_cell(&c, (int)i));
        used += (size_t)snprintf(out + used, size - used, ";");
    }
    return rc;
}

static void cells_and_places(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cells;
    } cases[] = {
        {"a,bc,d\n1,22,333\n", "1:1=a|3=bc|6=d;2:1=1|3=22|6=333;"},
        {"a,b\r\n1,2\r\n", "1:1=a|3=b;2:1=1|3=2;"},
        {"a,b\n1,2", "1:1=a|3=b;2:1=1|3=2;"},
        {"\xef\xbb\xbf"
         "a\nx",
         "1:1=a;2:1=x;"},
        {"\n \t\r\na\n\n  \nx\n\n", "3:1=a;6:1=x;"},
        {"a,b\n,\n", "1:1=a|3=b;2:1=|2=;"},
        {"\"a\",\"b,\"\"c\"\"\"\n\"\",x", "1:1=a|5=b,\"c\";2:1=|4=x;"},
        {"a b,c\"d\"\n x , y", "1:1=a b|5=c\"d\";2:1= x |5= y;"},
        {"a\rb\n1", "1:1=a\rb;2:1=1;"},
    };
    char out[512];
    rlt_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_all(cases[i].text, strlen(cases[i].text), out, sizeof out, &err), 0);
        assert_string_equal(out, cases[i].cells);
    }
    assert_int_equal(rlt_csv_column(&c, "a\rb"), 0);
    assert_int_equal(rlt_csv_column(&c, "a"), -1);
}

static void lines_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *where, *what;
    } cases[] = {
        {"", RLT_EMALFORMED, "f", "is empty"},
        {"\xef\xbb\xbf", RLT_EMALFORMED, "f", "is empty"},
        {" \n\t\n", RLT_EMALFORMED, "f", "is empty"},
        {"a,b\n1\n", RLT_EMALFORMED, "f:2", "1 cells under 2 columns"},
        {"a,b\n\n1,2,3", RLT_EMALFORMED, "f:3", "3 cells under 2 columns"},
        {"a,b\n1,\"2", RLT_EMALFORMED, "f:2:3", "a quoted cell does not end"},
        {"a,b\n1,\"", RLT_EMALFORMED, "f:2:3", "a quoted cell does not end"},
        {"a,b\n1,\"2\"\"", RLT_EMALFORMED, "f:2:3", "a quoted cell does not end"},
        {"a,b\n\"1\"x,2", RLT_EMALFORMED, "f:2:1", "text after a quoted cell; expected a comma"},
        {"\"a\" ,b", RLT_EMALFORMED, "f:1:1", "text after a quoted cell; expected a comma"},
    };
    char out[512];
    rlt_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_all(cases[i].text, strlen(cases[i].text), out, sizeof out, &err),
                         cases[i].code);
        assert_string_equal(err.what, cases[i].what);
        assert_string_equal(err.where, cases[i].where);
    }
    assert_int_equal(read_all("a\nx\0y\n", 6, out, sizeof out, &err), RLT_EMALFORMED);
    assert_string_equal(err.what, "a byte of value 0");
    assert_string_equal(err.where, "f:2");
    assert_int_equal(read_all("\xef\xbb", 2, out, sizeof out, &err), 0);
    assert_int_equal(c.n_columns, 1);
}

/* The longest line and the most columns are read, and no more. */
static void limits_of_lines(void **state)
{
    (void)state;
    char *text = malloc(RLT_CSV_LINE + 2), out[64];
    rlt_error err;
    memset(text, 'x', RLT_CSV_LINE);
    assert_int_equal(rlt_csv_begin(&c, "f", text, RLT_CSV_LINE - 1, &err), 0);
    assert_int_equal(strlen(c.columns[0]), RLT_CSV_LINE - 1);
    snprintf(out, sizeof out, "a line of more than %d bytes", RLT_CSV_LINE);
    err = (rlt_error){0};
    assert_int_equal(rlt_csv_begin(&c, "f", text, RLT_CSV_LINE, &err), RLT_ERANGE);
    assert_string_equal(err.what, out);
    memset(text, ',', RLT_CSV_CELLS);
    assert_int_equal(rlt_csv_begin(&c, "f", text, RLT_CSV_CELLS - 1, NULL), 0);
    assert_int_equal(c.n_columns, RLT_CSV_CELLS);
    snprintf(out, sizeof out, "more than %d columns", RLT_CSV_CELLS);
    err = (rlt_error){0};
    assert_int_equal(rlt_csv_begin(&c, "f", text, RLT_CSV_CELLS, &err), RLT_ERANGE);
    assert_string_equal(err.what, out);
    assert_string_equal(err.where, "f:1");
    free(text);
}

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t max, value;
        int rc;
        const char *what;
    } cases[] = {
        {"0", 0, 0, 0, ""},
        {"12", 12, 12, 0, ""},
        {"12.0", 12, 12, 0, ""},
        {"0012", 12, 12, 0, ""},
        {"13", 12, 0, RLT_ERANGE, "n: '13' is above 12"},
        {"20", 12, 0, RLT_ERANGE, "n: '20' is above 12"},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX, 0, ""},
        {"18446744073709551616", UINT64_MAX, 0, RLT_ERANGE,
         "n: '18446744073709551616' is above 18446744073709551615"},
        {"12.00", 12, 0, RLT_EMALFORMED, "n: expected a whole number, got '12.00'"},
        {"12.", 12, 0, RLT_EMALFORMED, "n: expected a whole number, got '12.'"},
        {".0", 12, 0, RLT_EMALFORMED, "n: expected a whole number, got '.0'"},
        {"-1", 12, 0, RLT_EMALFORMED, "n: expected a whole number, got '-1'"},
        {"1a", 12, 0, RLT_EMALFORMED, "n: expected a whole number, got '1a'"},
        {"", 12, 0, RLT_EMALFORMED, "n: expected a whole number, got ''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        uint64_t value = 0;
        rlt_error err = {0};
        snprintf(text, sizeof text, "m,n\n7,%s", cases[i].text);
        assert_int_equal(rlt_csv_begin(&c, "f", text, strlen(text), NULL), 0);
        assert_int_equal(rlt_csv_next(&c, NULL), 1);
        assert_int_equal(rlt_csv_whole(&c, rlt_csv_column(&c, "n"), cases[i].max, &value, &err), cases[i].rc);
        assert_int_equal(value, cases[i].value);
        assert_string_equal(err.what, cases[i].what);
        assert_string_equal(err.where, cases[i].rc ? "f:2:3" : "");
    }
    uint64_t value;
    rlt_error err = {0};
    assert_int_equal(rlt_csv_whole(&c, -1, 1, &value, &err), RLT_EMALFORMED);
    assert_string_equal(err.what, ": expected a whole number, got ''");
    assert_string_equal(err.where, "f:2");
    assert_string_equal(rlt_csv_cell(&c, 2), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_and_places),
        cmocka_unit_test(lines_that_are_refused),
        cmocka_unit_test(limits_of_lines),
        cmocka_unit_test(whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
