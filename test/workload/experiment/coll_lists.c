/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of sizes, rates, numbers, shares and ranks as users write them, and the file of counts: what each means,
 * where it ends, and the words of every refusal. */
#include "workload/experiment/coll/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "test/support/support.h"
#include "test/support/text_file.h"

enum { MOST = 8 };

typedef struct list_case {
    const char *text;
    uint32_t n; /* 0: refused */
    uint64_t items[MOST];
    const char *where, *what; /* of the refusal */
} list_case;

typedef int reader(const char *text, uint64_t **out, uint32_t *n, rlt_error *err);

static int sizes(const char *text, uint64_t **out, uint32_t *n, rlt_error *err)
{
    return rlt_parse_sizes(text, out, n, err);
}

static int rates(const char *text, uint64_t **out, uint32_t *n, rlt_error *err)
{
    return rlt_parse_rates(text, "--rates", 3, out, n, err);
}

static int counts(const char *text, uint64_t **out, uint32_t *n, rlt_error *err)
{
    return rlt_parse_counts(text, "--numbers", MOST, out, n, err);
}

static int ranks(const char *text, uint64_t **out, uint32_t *n, rlt_error *err)
{
    uint32_t *list = NULL;
    int rc = rlt_parse_ranks(text, &list, n, err);
    if (rc) {
        assert_null(list);
        return rc;
    }
    *out = calloc(*n, sizeof **out);
    assert_non_null(*out);
    for (uint32_t i = 0; i < *n; i++)
        (*out)[i] = list[i];
    free(list);
    return 0;
}

static void hold(const list_case *c, reader *read)
{
    uint64_t *out = NULL;
    uint32_t n = 0;
    rlt_error err = {0};
    int rc = read(c->text, &out, &n, &err);
    if (c->n == 0) {
        assert_int_equal(rc, RLT_EUSAGE);
        assert_int_equal(err.code, RLT_EUSAGE);
        if (strcmp(err.where, c->where) != 0 || !strstr(err.what, c->what))
            fail_msg("'%s': %s: %s", c->text, err.where, err.what);
        assert_int_equal(read(c->text, &out, &n, NULL), RLT_EUSAGE);
        return;
    }
    if (rc)
        fail_msg("'%s': %s: %s", c->text, err.where, err.what);
    if (n != c->n)
        fail_msg("'%s': %u items", c->text, n);
    for (uint32_t i = 0; i < n; i++)
        if (out[i] != c->items[i])
            fail_msg("'%s': item %u is %llu", c->text, i, (unsigned long long)out[i]);
    free(out);
}

static void test_sizes(void **state)
{
    static const list_case cases[] = {
        {"64MiB", 1, {67108864}, NULL, NULL},
        {"1KiB,3MB,7B", 3, {1024, 3000000, 7}, NULL, NULL},
        {"1KiB:8KiB", 4, {1024, 2048, 4096, 8192}, NULL, NULL}, /* twice, unless told otherwise */
        {"1KiB:9KiB:x3", 3, {1024, 3072, 9216}, NULL, NULL},
        {"1KiB:8KiB:x3", 2, {1024, 3072}, NULL, NULL},
        {"0B:128KiB:+64KiB", 3, {0, 65536, 131072}, NULL, NULL},
        {"5B:5B", 1, {5}, NULL, NULL},
        {"5B:5B:+1B,9B", 2, {5, 9}, NULL, NULL},
        /* the last number of 64 bits ends a range, whichever way it is reached */
        {"18446744073709551610B:18446744073709551615B:+5B", 2, {UINT64_MAX - 5, UINT64_MAX}, NULL, NULL},
        {"18446744073709551615B:18446744073709551615B:+1B", 1, {UINT64_MAX}, NULL, NULL},
        {"6148914691236517205B:18446744073709551615B:x3", 2, {UINT64_MAX / 3, UINT64_MAX}, NULL, NULL},
        {"9223372036854775808B:18446744073709551615B", 1, {(uint64_t)1 << 63}, NULL, NULL},
        {"1KiB,12 apples", 0, {0}, "--bytes", "apples"},
        {"12 apples:1KiB", 0, {0}, "--bytes", "apples"},
        {"1KiB:12 apples", 0, {0}, "--bytes", "apples"},
        {"1KiB:4KiB:+12 apples", 0, {0}, "--bytes", "apples"},
        {"", 0, {0}, "--bytes", ""},
        {"4KiB:1KiB", 0, {0}, "--bytes", "the end of the range, 1KiB, is below its start, 4KiB"},
        {"1B:4B:3", 0, {0}, "--bytes", "expected a step such as x2 or +64KiB, got '3'"},
        {"1B:4B:y2", 0, {0}, "--bytes", "expected a step such as x2 or +64KiB, got 'y2'"},
        {"1B:4B:xy", 0, {0}, "--bytes", "expected a step such as x2 or +64KiB, got 'xy'"},
        {"1B:4B:x1", 0, {0}, "--bytes", "the range from 1B to 4B never ends"},
        {"1B:4B:x0", 0, {0}, "--bytes", "the range from 1B to 4B never ends"},
        {"0B:4B:x2", 0, {0}, "--bytes", "never ends: expected a step above 0, or a factor above 1"},
        {"1B:4B:+0B", 0, {0}, "--bytes", "the range from 1B to 4B never ends"},
        {"1B:65537B:+1B", 0, {0}, "--bytes", "too many sizes: 65537; the limit is 65536"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        hold(&cases[i], sizes);
}

static void test_most_sizes(void **state)
{
    uint64_t *out;
    uint32_t n;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_parse_sizes("1B:65536B:+1B", &out, &n, &err), 0);
    assert_int_equal(n, 65536);
    assert_int_equal(out[65535], 65536);
    free(out);
}

/* One item may have up to 159 characters. */
static void test_long_item(void **state)
{
    char text[200], name[80];
    uint64_t *out = NULL;
    uint32_t n = 0;
    rlt_error err = {0};
    (void)state;
    memset(text, '0', 159);
    strcpy(text + 156, "12B");
    assert_int_equal(rlt_parse_sizes(text, &out, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(out[0], 12);
    free(out);
    memset(text, '0', 160);
    strcpy(text + 157, "12B");
    assert_int_equal(rlt_parse_sizes(text, &out, &n, &err), RLT_EUSAGE);
    snprintf(name, sizeof name, "'%.40s...' is too long for a size", text);
    assert_string_equal(err.what, name);
    assert_string_equal(err.where, "--bytes");
}

static void test_rates_and_numbers(void **state)
{
    static const list_case of_rates[] = {
        {"1GB/s:4GB/s", 3, {1000000000, 2000000000, 4000000000}, NULL, NULL},
        {"1GB/s:2GB/s:+500MB/s", 3, {1000000000, 1500000000, 2000000000}, NULL, NULL},
        {"8Gbps", 1, {1000000000}, NULL, NULL},
        {"1GB/s:8GB/s", 0, {0}, "--rates", "too many rates: 4; the limit is 3"},
        {"1GB/s:8GB/s:2", 0, {0}, "--rates", "expected a step such as x2 or +50GB/s, got '2'"},
        {"fast", 0, {0}, "--rates", "fast"},
    };
    static const list_case of_numbers[] = {
        {"2,8,32", 3, {2, 8, 32}, NULL, NULL},
        {"2:64:x4", 3, {2, 8, 32}, NULL, NULL},
        {"1:8:+1", MOST, {1, 2, 3, 4, 5, 6, 7, 8}, NULL, NULL},
        {"1:9:+1", 0, {0}, "--numbers", "too many numbers: 9; the limit is 8"},
        {"2:64:4", 0, {0}, "--numbers", "expected a step such as x2 or +8, got '4'"},
        {"-2", 0, {0}, "--numbers", "-2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof of_rates / sizeof *of_rates; i++)
        hold(&of_rates[i], rates);
    for (size_t i = 0; i < sizeof of_numbers / sizeof *of_numbers; i++)
        hold(&of_numbers[i], counts);
}

static void test_shares(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        double items[4];
        const char *what;
    } cases[] = {
        {"0", 1, {0}, NULL},
        {"0,0.05,10%,2", 4, {0, 0.05, 0.1, 2}, NULL},
        /* no character of a long one is lost: of a percentage 40 are read, of a number 47 */
        {"0.2500000000000000000000000000000000000%", 1, {0.0025}, NULL},
        {"0.25000000000000000000000000000000000000%", 0, {0}, "expected a number"},
        {"0.2500000000000000000000000000000000000000000e1", 0, {0}, "expected 0 to 2, or a percentage, got"},
        {"0.25000000000000000000000000000000000000000000", 1, {0.25}, NULL},
        {"0.25000000000000000000000000000000000000000000%", 0, {0}, "expected a number"},
        {"0.250000000000000000000000000000000000000000000%",
         0,
         {0},
         "'0.25000000000000000000000000000000000000...' is too long for a share"},
        {"0,1,2,3", 0, {0}, "3"},
        {"half", 0, {0}, "half"},
        {"0,0,0,0,0", 0, {0}, "too many shares: 5; the limit is 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *out = (double *)1;
        uint32_t n = 9;
        rlt_error err = {0};
        int rc = rlt_parse_shares(cases[i].text, "--within", 2, 4, &out, &n, &err);
        if (cases[i].n == 0) {
            assert_int_equal(rc, RLT_EUSAGE);
            assert_null(out);
            if (strcmp(err.where, "--within") != 0 || !strstr(err.what, cases[i].what))
                fail_msg("'%s': %s: %s", cases[i].text, err.where, err.what);
            continue;
        }
        if (rc || n != cases[i].n)
            fail_msg("'%s': %u shares: %s", cases[i].text, n, err.what);
        for (uint32_t k = 0; k < n; k++)
            assert_float_equal(out[k], cases[i].items[k], 1e-12);
        free(out);
    }
}

static void test_ranks(void **state)
{
    static const list_case cases[] = {
        {"0-3,8", 5, {0, 1, 2, 3, 8}, NULL, NULL},
        {"7", 1, {7}, NULL, NULL},
        {"5-5,2-3,0", 4, {5, 2, 3, 0}, NULL, NULL},
        {"16777215", 1, {16777215}, NULL, NULL},
        {"16777214-16777215", 2, {16777214, 16777215}, NULL, NULL},
        /* 47 characters are a rank */
        {"00000000000000000000000000000000000000000000004", 1, {4}, NULL, NULL},
        {"000000000000000000000000000000000000000000000004",
         0,
         {0},
         "--group",
         "expected ranks such as 0-3,8, got '000000000000000000000000000000000000000000000004'"},
        {"x", 0, {0}, "--group", "expected ranks such as 0-3,8, got 'x'"},
        {"0,1-x", 0, {0}, "--group", "expected ranks such as 0-3,8, got '1-x'"},
        {"x-1", 0, {0}, "--group", "expected ranks such as 0-3,8, got 'x-1'"},
        {"3-2",
         0,
         {0},
         "--group",
         "'3-2' is not a range: expected FIRST-LAST with FIRST at most LAST and LAST "
         "below 16777216"},
        {"16777216", 0, {0}, "--group", "'16777216' is not a range"},
        {"0-16777216", 0, {0}, "--group", "'0-16777216' is not a range"},
        {"0-16777215,0", 0, {0}, "--group", "too many ranks: 16777217; the limit is 16777216"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        hold(&cases[i], ranks);
}

typedef struct counts_case {
    const char *text;
    uint32_t rows, n;
    uint64_t items[MOST];
    const char *where, *what; /* of the refusal; where: behind the path */
    int rc;
} counts_case;

static void hold_counts(const counts_case *c)
{
    char path[] = "/tmp/ringlet_counts_XXXXXX", where[80];
    uint64_t *out = NULL;
    rlt_error err = {0};
    test_write_new(path, c->text, strlen(c->text));
    int rc = rlt_read_counts(path, c->rows, c->n, &out, &err);
    unlink(path);
    if (rc != c->rc)
        fail_msg("'%s': %d: %s: %s", c->text, rc, err.where, err.what);
    if (rc) {
        snprintf(where, sizeof where, "%s%s", path, c->where);
        assert_string_equal(err.where, where);
        assert_string_equal(err.what, c->what);
        assert_null(out);
        return;
    }
    for (uint32_t i = 0; i < c->rows * c->n; i++)
        assert_int_equal(out[i], c->items[i]);
    free(out);
}

static void test_counts(void **state)
{
    static const counts_case cases[] = {
        {"1000 0 3000", 1, 3, {1000, 0, 3000}, NULL, NULL, 0},
        {" \t1\r\n2\n", 1, 2, {1, 2}, NULL, NULL, 0},
        {"1 2\n3 4", 2, 2, {1, 2, 3, 4}, NULL, NULL, 0}, /* as short as can be */
        {"281474976710656", 1, 1, {(uint64_t)1 << 48}, NULL, NULL, 0},
        {"0000000000000000000000000000001", 1, 1, {1}, NULL, NULL, 0}, /* 31 characters */
        {"00000000000000000000000000000012",
         1,
         1,
         {0},
         ":1:1",
         "expected a number of bytes up to 2^48, got '0000000000000000000000000000001'",
         RLT_EMALFORMED},
        {"1 2\n3 281474976710657",
         2,
         2,
         {0},
         ":2:3",
         "expected a number of bytes up to 2^48, got '281474976710657'",
         RLT_EMALFORMED},
        {"\n\n 1 -2", 1, 2, {0}, ":3:4", "expected a number of bytes up to 2^48, got '-2'", RLT_EMALFORMED},
        {"1\n22 3\n", 1, 2, {0}, ":2:4", "expected 2 numbers, one for each rank, got more", RLT_ESCHEMA},
        {"1 2\n3 4\n5",
         2,
         2,
         {0},
         ":3:1",
         "expected 2 x 2 numbers, one for each pair of ranks, got more",
         RLT_ESCHEMA},
        {"1 2", 1, 3, {0}, "", "expected 3 numbers, one for each rank, got 2", RLT_ESCHEMA},
        {"100 2 3", 2, 2, {0}, "", "expected 2 x 2 numbers, one for each pair of ranks, got 3", RLT_ESCHEMA},
        {"1 2 3 ",
         2,
         2,
         {0},
         "",
         "expected 2 x 2 numbers, one for each pair of ranks, but the file is too short",
         RLT_ESCHEMA},
    };
    uint64_t *out = NULL;
    rlt_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        hold_counts(&cases[i]);
    assert_int_equal(rlt_read_counts("/no/such/counts", 1, 2, &out, &err), RLT_EIO);
    assert_null(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),  cmocka_unit_test(test_most_sizes),
        cmocka_unit_test(test_ranks),  cmocka_unit_test(test_rates_and_numbers),
        cmocka_unit_test(test_shares), cmocka_unit_test(test_long_item),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
