/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers with units: every unit, exactness, rounding, refusals; errors and their places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

#define N(a) (sizeof(a) / sizeof *(a))

typedef struct good {
    const char *text;
    uint64_t value;
} good;

typedef int (*parser)(const char *text, uint64_t *value, const char *where, rlt_error *err);

static int parse_duration(const char *text, uint64_t *value, const char *where, rlt_error *err)
{
    rlt_time t = -1;
    int rc = rlt_parse_duration(text, &t, where, err);
    *value = (uint64_t)t;
    return rc;
}

static void check_good(parser parse, const good *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 12345;
        rlt_error err = {0};
        if (parse(cases[i].text, &value, "here", &err) != 0)
            fail_msg("'%s': %s", cases[i].text, err.what);
        if (value != cases[i].value)
            fail_msg("'%s': %llu instead of %llu", cases[i].text, (unsigned long long)value,
                     (unsigned long long)cases[i].value);
    }
}

static void check_bad(parser parse, const char *const *texts, size_t n, int code)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 12345;
        rlt_error err = {0};
        int rc = parse(texts[i], &value, "a.json:1:2", &err);
        if (rc != code)
            fail_msg("'%s': returned %d instead of %d", texts[i] ? texts[i] : "(null)", rc, code);
        assert_int_equal(err.code, code);
        assert_string_equal(err.where, "a.json:1:2");
        if (texts[i] && texts[i][0] && strlen(texts[i]) < 100)
            assert_non_null(strstr(err.what, texts[i]));
    }
}

static void rates(void **state)
{
    (void)state;
    static const good cases[] = {
        {"400Gbps", 50000000000u},
        {"400Gb/s", 50000000000u},
        {"400Gbit/s", 50000000000u},
        {"400 Gbps", 50000000000u},
        {"50GB/s", 50000000000u},
        {"50 \tGB/s", 50000000000u},
        {"46.6GiB/s", 50036368998u}, /* 46.6 * 1073741824 = 50036368998.4 */
        {"900MB/s", 900000000u},
        {"1.2TB/s", 1200000000000u},
        {"12B/s", 12u},
        {"100Mbps", 12500000u},
        {"8bps", 1u},
        {"8kbps", 1000u},
        {"8Kbps", 1000u},
        {"1.6Tbps", 200000000000u},
        {"4bps", 1u}, /* half a byte a second rounds up */
        {"3bps", 0u},
        {"8Gib/s", 1u << 30},
        {"1KiB/s", 1024u},
        {"1kB/s", 1000u},
        {"0.000000001GB/s", 1u},
        {"0", 0u},
        {"18446744073709551615B/s", UINT64_MAX},
        {"18446744073709551615.4B/s", UINT64_MAX},
        {"0000000000000000000000000000000000000007B/s", 7u},
    };
    check_good(rlt_parse_rate, cases, N(cases));
    static const char *const malformed[] = {
        "",         NULL,      "400",       "Gbps",     "-1Gbps",   "+1Gbps", "1e3Gbps",  "400gbps",
        "400Gbpsx", "1GB",     "400 Gbps ", " 400Gbps", "1..2Gbps", ".Gbps",  "nan",      "inf",
        "0x10B/s",  "1,5GB/s", "00",        "0.0",      "1 G B/s",  "\xff",   "50 GB /s",
    };
    check_bad(rlt_parse_rate, malformed, N(malformed), RLT_EMALFORMED);
    static const char *const large[] = {"18446744073709551616B/s", "18446744073709551615.5B/s",
                                        "99999999999999999999999999999999999999999TB/s", "18447PB/s"};
    check_bad(rlt_parse_rate, large, N(large), RLT_ERANGE);
}

static void durations(void **state)
{
    (void)state;
    static const good cases[] = {
        {"20ps", 20u},
        {"500ns", 500000u},
        {"1.5us", 1500000u},
        {"1.5\xc2\xb5s", 1500000u},
        {"1.5\xce\xbcs", 1500000u},
        {"2ms", 2000000000u},
        {"3s", 3000000000000u},
        {"1min", 60000000000000u},
        {"2h", 7200000000000000u},
        {"0", 0u},
        {"0.5ps", 1u},
        {"0.4999999999999999999999999999999999999999999999ps", 0u},
        {"0.0004999ns", 0u},
        {"0.0005ns", 1u},
        {".5us", 500000u},
        {"5.us", 5000000u},
        {"1.000000000001s", 1000000000001u},
        {"2305843.009213693952s", UINT64_C(1) << 61},
        {"0.1us", 100000u}, /* not representable as a double, but must be exact */
        {"0.3us", 300000u},
        {"1.1h", 3960000000000000u},
    };
    check_good(parse_duration, cases, N(cases));
    static const char *const malformed[] = {"5", "5sec", "5 m", "-1ns", "1e-3s", "5ns5", "ns", "5S", "5 US"};
    check_bad(parse_duration, malformed, N(malformed), RLT_EMALFORMED);
    static const char *const large[] = {"2305843.009213693953s", "641h", "9999999999999999999999999h"};
    check_bad(parse_duration, large, N(large), RLT_ERANGE);
}

static void sizes(void **state)
{
    (void)state;
    static const good cases[] = {
        {"64MiB", 67108864u},
        {"1GB", 1000000000u},
        {"512B", 512u},
        {"1.5KiB", 1536u},
        {"4KB", 4000u},
        {"4kB", 4000u},
        {"2TiB", UINT64_C(1) << 41},
        {"1PiB", UINT64_C(1) << 50},
        {"1.0000000009GB", 1000000001u},
        {"0", 0u},
        {"0B", 0u},
    };
    check_good(rlt_parse_size, cases, N(cases));
    static const char *const malformed[] = {"4K", "4M", "64", "64Mib", "64MiB/s", "64mib", "4k"};
    check_bad(rlt_parse_size, malformed, N(malformed), RLT_EMALFORMED);
    rlt_error err = {0};
    uint64_t value;
    assert_int_equal(rlt_parse_size("4K", &value, NULL, &err), RLT_EMALFORMED);
    assert_non_null(strstr(err.what, "KiB")); /* suggests the correct unit */
    static const char *const large[] = {"16384PiB", "18446744073709551616B"};
    check_bad(rlt_parse_size, large, N(large), RLT_ERANGE);
}

static void rates_of_work(void **state)
{
    (void)state;
    static const good cases[] = {
        {"312TFLOPS", 312000000000000u},
        {"19.5GFLOPS", 19500000000u},
        {"1 EFLOPS", 1000000000000000000u},
        {"7FLOPS", 7u},
        {"0", 0u},
    };
    check_good(rlt_parse_flops, cases, N(cases));
    static const char *const malformed[] = {"312", "312T", "312TFLOP", "312tflops"};
    check_bad(rlt_parse_flops, malformed, N(malformed), RLT_EMALFORMED);
    static const char *const large[] = {"19EFLOPS"};
    check_bad(rlt_parse_flops, large, N(large), RLT_ERANGE);
}

static void counts(void **state)
{
    (void)state;
    static const good cases[] = {
        {"0", 0u}, {"1024", 1024u}, {"18446744073709551615", UINT64_MAX}, {"007", 7u}};
    check_good(rlt_parse_count, cases, N(cases));
    static const char *const malformed[] = {"",    NULL, "-1", "+1",   "1.0", "1.",
                                            "1e3", " 1", "1 ", "0x10", "1k"};
    check_bad(rlt_parse_count, malformed, N(malformed), RLT_EMALFORMED);
    static const char *const large[] = {"18446744073709551616", "100000000000000000000",
                                        "99999999999999999999999"};
    check_bad(rlt_parse_count, large, N(large), RLT_ERANGE);
}

static void numbers(void **state)
{
    (void)state;
    double v;
    assert_int_equal(rlt_parse_number("0.1", 0, &v, NULL, NULL), 0);
    assert_true(v == 0.1);
    assert_int_equal(rlt_parse_number("2", 2, &v, NULL, NULL), 0);
    assert_true(v == 2);
    assert_int_equal(rlt_parse_number("1e-3", 0, &v, NULL, NULL), 0);
    assert_true(v == 0.001);
    assert_int_equal(rlt_parse_number("-2.5E2", -300, &v, NULL, NULL), 0);
    assert_true(v == -250);
    static const char *const malformed[] = {"",   "nan",   "inf", "0x1p3", "1e",    "1e+", "e5", "1 ",
                                            " 1", "1.2.3", "-",   ".",     "1e5.0", "+1",  "1d", "infinity"};
    for (size_t i = 0; i < N(malformed); i++)
        assert_int_equal(rlt_parse_number(malformed[i], -1e300, &v, NULL, NULL), RLT_EMALFORMED);
    assert_int_equal(rlt_parse_number(NULL, 0, &v, NULL, NULL), RLT_EMALFORMED);
    assert_int_equal(rlt_parse_number("1e999", 0, &v, NULL, NULL), RLT_ERANGE);
    assert_int_equal(rlt_parse_number("-0.1", 0, &v, NULL, NULL), RLT_ERANGE);
    assert_int_equal(rlt_parse_number("0.999", 1, &v, NULL, NULL), RLT_ERANGE);
}

typedef struct exact {
    const char *text;
    int64_t scale, value;
} exact;

static void decimals(void **state)
{
    (void)state;
    static const exact cases[] = {
        {"1694128201435418.25", 1000, 1694128201435418250},
        {"1694128201435.418", 1000000, 1694128201435418000},
        {"-1.5", 1000, -1500},
        {"+1.5", 1000, 1500},
        {"0.5", 1, 1},
        {"-0.5", 1, -1}, /* half away from zero on both sides */
        {"0.49999999999999999999999999999999", 1, 0},
        {"1e3", 1, 1000},
        {"1.25E+2", 1000, 125000},
        {"125e-2", 100, 125},
        {"1e-400", 1000000, 0},
        {"0e999999999999999999999", 1, 0},
        {"0.000000000000000000000000000000000001e36", 1, 1},
        {"1000000000000000000000000000e-27", 7, 7},
        {"9223372036854775807", 1, INT64_MAX},
        {"-9223372036854775807", 1, -INT64_MAX},
        {"123", 0, 0},
    };
    for (size_t i = 0; i < N(cases); i++) {
        int64_t value = 0;
        int rc = rlt_parse_decimal(cases[i].text, strlen(cases[i].text), cases[i].scale, &value);
        if (rc != 0 || value != cases[i].value)
            fail_msg("'%s': %d, %lld", cases[i].text, rc, (long long)value);
    }
    int64_t value;
    static const char *const malformed[] = {"", "-", "1e", "1e-", "--1", "1.2.3", "1 ", "x", "1f", "e3"};
    for (size_t i = 0; i < N(malformed); i++)
        assert_int_equal(rlt_parse_decimal(malformed[i], strlen(malformed[i]), 1, &value), RLT_EMALFORMED);
    static const char *const large[] = {"9223372036854775808",   "-9223372036854775808",   "1e19", "1e30",
                                        "9223372036854775807.5", "1e999999999999999999999"};
    for (size_t i = 0; i < N(large); i++)
        assert_int_equal(rlt_parse_decimal(large[i], strlen(large[i]), 1, &value), RLT_ERANGE);
    /* Reads at most `length` bytes: the text need not end there. */
    assert_int_equal(rlt_parse_decimal("12.5,99", 4, 10, &value), 0);
    assert_int_equal(value, 125);
    assert_int_equal(rlt_parse_decimal("-1234", 3, 1, &value), 0);
    assert_int_equal(value, -12);
    assert_int_equal(rlt_parse_decimal("1", 1, -1, &value), RLT_EUSAGE);
}

/* a / 10^k for random a and k, against 128-bit integers. */
static void decimals_agree_with_wide_integers(void **state)
{
    (void)state;
    static const int64_t scales[] = {1, 3, 1000, 1000000, 60000000000000};
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t digits = rlt_random_u64(1, 0, 0, i) >> (rlt_random_u64(1, 0, 1, i) % 64);
        unsigned places = (unsigned)(rlt_random_u64(1, 0, 2, i) % 19);
        int64_t scale = scales[rlt_random_below(1, 0, 3, i, N(scales))];
        uint64_t power = 1;
        for (unsigned k = 0; k < places; k++)
            power *= 10;
        char text[64];
        snprintf(text, sizeof text, "%llu.%0*llu", (unsigned long long)(digits / power), (int)places,
                 (unsigned long long)(digits % power));
        if (places == 0)
            snprintf(text, sizeof text, "%llu", (unsigned long long)digits);
        unsigned __int128 want = ((unsigned __int128)digits * (uint64_t)scale + power / 2) / power;
        int64_t value = 0;
        int rc = rlt_parse_decimal(text, strlen(text), scale, &value);
        if (want > INT64_MAX ? rc != RLT_ERANGE : rc != 0 || (uint64_t)value != (uint64_t)want)
            fail_msg("'%s' * %lld: %d, %lld", text, (long long)scale, rc, (long long)value);
    }
}

static void shares(void **state)
{
    static const struct {
        const char *text;
        double share;
    } fine[] = {{"0", 0}, {"0.25", 0.25}, {"25%", 0.25}, {"0%", 0}, {"1", 1}, {"100%", 1}, {"5e-1", 0.5}};
    static const char *const bad[][2] = {{"%", "'%'"},
                                         {"101%", "expected 0 to 1, or a percentage, got '101%'"},
                                         {"1.01", "expected 0 to 1, or a percentage, got '1.01'"},
                                         {"-1%", "'-1'"},
                                         {"5%%", "'5%'"}};
    double share = -1;
    (void)state;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        assert_int_equal(rlt_parse_share(fine[i].text, 1, &share, NULL, NULL), 0);
        assert_true(share == fine[i].share);
    }
    assert_int_equal(rlt_parse_share("250%", 3, &share, NULL, NULL), 0);
    assert_true(share == 2.5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlt_error err = {0};
        assert_true(rlt_parse_share(bad[i][0], 1, &share, "there", &err) < 0);
        assert_string_equal(err.where, "there");
        if (!strstr(err.what, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.what);
        assert_true(share == 2.5); /* nothing is written */
    }
}

static void formats(void **state)
{
    (void)state;
    char b[64];
    assert_string_equal(rlt_format_duration(b, 32, 2546582400), "2.547 ms");
    assert_string_equal(rlt_format_duration(b, 32, 0), "0 ps");
    assert_string_equal(rlt_format_duration(b, 32, 999), "999 ps");
    assert_string_equal(rlt_format_duration(b, 32, 1000), "1 ns");
    assert_string_equal(rlt_format_duration(b, 32, 1500000), "1.5 us");
    assert_string_equal(rlt_format_duration(b, 32, 123456), "123.5 ns");
    assert_string_equal(rlt_format_duration(b, 32, 12345), "12.35 ns"); /* half up */
    assert_string_equal(rlt_format_duration(b, 32, 999960), "1 us");    /* rounds up to the next unit */
    assert_string_equal(rlt_format_duration(b, 32, 999940), "999.9 ns");
    assert_string_equal(rlt_format_duration(b, 32, 9996000), "9.996 us");
    assert_string_equal(rlt_format_duration(b, 32, 10004000), "10 us"); /* four digits: 10.00 */
    assert_string_equal(rlt_format_duration(b, 32, 99960000), "99.96 us");
    assert_string_equal(rlt_format_duration(b, 32, 100040000), "100 us");
    assert_string_equal(rlt_format_duration(b, 32, RLT_TIME_MAX), "2305843 s");
    assert_string_equal(rlt_format_duration(b, 32, -1500), "-1.5 ns");
    assert_string_equal(rlt_format_duration(b, 32, INT64_MIN), "-9223372 s");
    assert_string_equal(rlt_format_size(b, 32, 64u << 20), "64 MiB");
    assert_string_equal(rlt_format_size(b, 32, 0), "0 B");
    /* The largest ones are not rounded to what 64 bits do not hold. */
    assert_string_equal(rlt_format_size(b, 32, UINT64_MAX), "16383 PiB");
    assert_string_equal(rlt_format_size(b, 32, UINT64_MAX - ((uint64_t)1 << 49)), "16383 PiB");
    assert_string_equal(rlt_format_rate(b, 32, UINT64_MAX), "18446 PB/s");
    assert_string_equal(rlt_format_size(b, 32, 3 * ((uint64_t)1 << 50) / 2), "1.5 PiB");
    assert_string_equal(rlt_format_size(b, 32, 1023), "1023 B");
    assert_string_equal(rlt_format_size(b, 32, 1536), "1.5 KiB");
    assert_string_equal(rlt_format_size(b, 32, 1000000000), "1 GB");
    assert_string_equal(rlt_format_size(b, 32, 1000000001), "953.7 MiB");
    assert_string_equal(rlt_format_size(b, 32, 1000), "1 kB");
    assert_string_equal(rlt_format_size(b, 32, 2500), "2.5 kB");
    assert_string_equal(rlt_format_size(b, 32, 2530), "2.471 KiB");
    assert_string_equal(rlt_format_size(b, 32, 125000000), "125 MB");
    assert_string_equal(rlt_format_size(b, 32, 64000), "64 kB");
    assert_string_equal(rlt_format_size(b, 32, 512000), "500 KiB");
    assert_string_equal(rlt_format_size(b, 32, (UINT64_C(1) << 20) - 1), "1 MiB");
    assert_string_equal(rlt_format_size(b, 32, 1010 * 1024), "1010 KiB");
    assert_string_equal(rlt_format_rate(b, 32, 50000000000u), "50 GB/s");
    assert_string_equal(rlt_format_rate(b, 32, 12), "12 B/s");
    assert_string_equal(rlt_format_rate(b, 32, 1250000), "1.25 MB/s");
    assert_string_equal(rlt_format_us(b, 32, 2546582400), "2546.582400");
    assert_string_equal(rlt_format_us(b, 32, 1), "0.000001");
    assert_string_equal(rlt_format_us(b, 32, -1500000), "-1.500000");
    assert_string_equal(rlt_format_us(b, 32, INT64_MAX), "9223372036854.775807");
    assert_string_equal(rlt_format_us(b, 32, INT64_MIN), "-9223372036854.775808");
}

/* Formatted values can be parsed, and are equal to the digits shown. */
static void formats_read_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t v = rlt_random_u64(2, 0, 0, i) >> (4 + rlt_random_below(2, 0, 1, i, 60));
        char text[32];
        uint64_t size = 0, rate = 0;
        assert_int_equal(rlt_parse_size(rlt_format_size(text, sizeof text, v), &size, NULL, NULL), 0);
        assert_int_equal(rlt_parse_rate(rlt_format_rate(text, sizeof text, v), &rate, NULL, NULL), 0);
        uint64_t off_size = size > v ? size - v : v - size, off_rate = rate > v ? rate - v : v - rate;
        /* Tolerance: half of the fourth digit of 1.000, and half a byte of rounding. */
        assert_true(off_size <= v / 2000 + 1 && off_rate <= v / 2000 + 1);
    }
}

static void transfer_times(void **state)
{
    (void)state;
    assert_int_equal(rlt_transfer_time(1, 50000000000u), 20); /* 400 Gb/s: 20 ps a byte */
    assert_int_equal(rlt_transfer_time(UINT64_C(1) << 31, 50000000000u), (rlt_time)20 << 31);
    assert_int_equal(rlt_transfer_time(1, 3000000000000u), 0); /* 0.33 ps */
    assert_int_equal(rlt_transfer_time(1, 2000000000000u), 1); /* half up */
    assert_int_equal(rlt_transfer_time(2, 3), 666666666667);
    assert_int_equal(rlt_transfer_time(0, 1), 0);
    assert_int_equal(rlt_transfer_time(UINT64_MAX, 1), RLT_TIME_MAX);
    assert_int_equal(rlt_time_add(RLT_TIME_MAX, RLT_TIME_MAX), RLT_TIME_MAX);
    assert_int_equal(rlt_time_add(RLT_TIME_MAX - 1, 1), RLT_TIME_MAX);
    assert_int_equal(rlt_time_add(2, 3), 5);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bytes = rlt_random_u64(3, 0, 0, i) >> (rlt_random_u64(3, 0, 1, i) % 64);
        uint64_t bw = (rlt_random_u64(3, 0, 2, i) >> (24 + rlt_random_u64(3, 0, 3, i) % 40)) + 1;
        if (i % 2) /* rates that divide a second evenly take another code path */
            for (bw = 1; bw < 500000000000u && rlt_random_u64(3, 0, 4, i + bw) % 8; bw *= i % 4 == 1 ? 10 : 2)
                ;
        unsigned __int128 exact_ps = (unsigned __int128)bytes * 1000000000000u * 2 / bw;
        uint64_t limit = (uint64_t)RLT_TIME_MAX;
        unsigned __int128 want = (exact_ps + 1) / 2;
        assert_int_equal(rlt_transfer_time(bytes, bw), want > limit ? limit : (uint64_t)want);
    }
}

static void errors(void **state)
{
    (void)state;
    rlt_error err = {0};
    assert_int_equal(rlt_fail(&err, RLT_EIO, "a:1", "%d %s", 7, "wrong"), RLT_EIO);
    assert_int_equal(rlt_fail(&err, RLT_ERANGE, "b:2", "later"), RLT_ERANGE);
    assert_int_equal(err.code, RLT_EIO); /* the first error stays */
    assert_string_equal(err.where, "a:1");
    assert_string_equal(err.what, "7 wrong");
    rlt_error_prefix(&err, "file.json");
    assert_string_equal(err.where, "file.json: a:1");
    assert_int_equal(rlt_fail(NULL, RLT_EIO, NULL, "%s", "nowhere"), RLT_EIO);
    rlt_error_prefix(NULL, "x");

    rlt_error none = {0};
    rlt_error_prefix(&none, "x");
    assert_string_equal(none.where, ""); /* no error: no place */

    rlt_error bare = {0};
    assert_int_equal(rlt_nomem(&bare), RLT_ENOMEM);
    assert_string_equal(bare.what, "out of memory");
    rlt_error_prefix(&bare, "file");
    assert_string_equal(bare.where, "file");

    /* Long texts are cut to fit; control characters of the input become harmless. */
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rlt_error cut = {0};
    rlt_fail(&cut, RLT_EIO, text, "%s", text);
    assert_int_equal(strlen(cut.where), sizeof cut.where - 1);
    assert_int_equal(strlen(cut.what), sizeof cut.what - 1);
    rlt_error_prefix(&cut, text);
    assert_int_equal(strlen(cut.where), sizeof cut.where - 1);
    rlt_error escape = {0};
    rlt_fail(&escape, RLT_EIO, "\x1b[2J", "a\nb\x07");
    assert_string_equal(escape.where, "?[2J");
    assert_string_equal(escape.what, "a?b?"); /* an error has one line */
    rlt_error_prefix(&escape, "two\nlines");
    assert_string_equal(escape.where, "two?lines: ?[2J");

    assert_string_equal(rlt_strerror(RLT_ESTALL), "simulation ended with work pending");
    assert_string_equal(rlt_strerror(-999), "unknown error");
    assert_non_null(rlt_strerror(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(rates_of_work),
        cmocka_unit_test(counts),
        cmocka_unit_test(numbers),
        cmocka_unit_test(decimals),
        cmocka_unit_test(decimals_agree_with_wide_integers),
        cmocka_unit_test(shares),
        cmocka_unit_test(formats),
        cmocka_unit_test(formats_read_back),
        cmocka_unit_test(transfer_times),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
