/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers with units. A decimal text is multiplied digit by digit, from the right, by an integer factor and a
 * power of ten. The result is exact for any number of digits, without big numbers or doubles.
 */
#include "sim/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    uint64_t factor; /* one unit in base units is factor * 10^exponent */
    int exponent;
} unit;

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)
#define PI (UINT64_C(1) << 50)

/* A bit a second is 0.125 bytes a second: 125 * 10^-3. */
#define BITS(suffix)                                                                                         \
    {"" suffix, 125, -3}, {"k" suffix, 125, 0}, {"K" suffix, 125, 0}, {"M" suffix, 125, 3},                  \
        {"G" suffix, 125, 6}, {"T" suffix, 125, 9}, {"P" suffix, 125, 12}, {"Ki" suffix, KI / 8, 0},         \
        {"Mi" suffix, MI / 8, 0}, {"Gi" suffix, GI / 8, 0},                                                  \
    {                                                                                                        \
        "Ti" suffix, TI / 8, 0                                                                               \
    }
#define BYTES(suffix)                                                                                        \
    {"" suffix, 1, 0}, {"k" suffix, 1, 3}, {"K" suffix, 1, 3}, {"M" suffix, 1, 6}, {"G" suffix, 1, 9},       \
        {"T" suffix, 1, 12}, {"P" suffix, 1, 15}, {"Ki" suffix, KI, 0}, {"Mi" suffix, MI, 0},                \
        {"Gi" suffix, GI, 0}, {"Ti" suffix, TI, 0},                                                          \
    {                                                                                                        \
        "Pi" suffix, PI, 0                                                                                   \
    }

static const unit rate_units[] = {BITS("bps"), BITS("b/s"), BITS("bit/s"), BYTES("B/s"), BYTES("Bps"), {0}};
static const unit size_units[] = {BYTES("B"), {0}};
static const unit duration_units[] = {
    {"ps", 1, 0}, {"ns", 1, 3}, {"us", 1, 6},    {"\xc2\xb5s", 1, 6}, {"\xce\xbcs", 1, 6},
    {"ms", 1, 9}, {"s", 1, 12}, {"min", 60, 12}, {"h", 3600, 12},     {0},
};
static const unit flops_units[] = {
    {"FLOPS", 1, 0},   {"kFLOPS", 1, 3},  {"KFLOPS", 1, 3},
    {"MFLOPS", 1, 6},  {"GFLOPS", 1, 9},  {"TFLOPS", 1, 12},
    {"PFLOPS", 1, 15}, {"EFLOPS", 1, 18}, {0},
};

typedef struct quantity {
    const char *expected;
    const unit *units;
    uint64_t max;
} quantity;

/* Limit of a factor: digit * factor + carry (below the factor) fits 64 bits. */
#define FACTOR_MAX (UINT64_C(1) << 60)

/* Adds decimal digit `digit` at power of ten `p` to *sum. The first digit after the point rounds half up. */
static bool place_digit(uint64_t *sum, int64_t p, unsigned digit)
{
    static const uint64_t powers[20] = {1u,
                                        10u,
                                        100u,
                                        1000u,
                                        10000u,
                                        100000u,
                                        1000000u,
                                        10000000u,
                                        100000000u,
                                        1000000000u,
                                        10000000000u,
                                        100000000000u,
                                        1000000000000u,
                                        10000000000000u,
                                        100000000000000u,
                                        1000000000000000u,
                                        10000000000000000u,
                                        100000000000000000u,
                                        1000000000000000000u,
                                        10000000000000000000u};
    if (p < -1 || digit == 0)
        return true;
    if (p == -1) {
        *sum += digit >= 5;
        return true;
    }
    if (p >= 20)
        return false;
    uint64_t part;
    return !__builtin_mul_overflow(powers[p], (uint64_t)digit, &part) &&
           !__builtin_add_overflow(*sum, part, sum);
}

/*
 * *value = digits * factor * 10^exponent, rounded half up. `text[0..length)` holds digits and at most one
 * point. Returns false on overflow.
 */
static bool scale_digits(const char *text, size_t length, uint64_t factor, int64_t exponent, uint64_t *value)
{
    const char *point = memchr(text, '.', length);
    int64_t p = exponent - (point ? (int64_t)(text + length - point) - 1 : 0);
    uint64_t sum = 0, carry = 0;
    while (length > 0 || carry > 0) {
        if (length > 0) {
            char c = text[--length];
            if (c == '.')
                continue;
            carry += (uint64_t)(c - '0') * factor;
        }
        if (!place_digit(&sum, p++, (unsigned)(carry % 10)))
            return false;
        carry /= 10;
    }
    *value = sum;
    return true;
}

/* Returns the length of "digits[.digits]" at the start of text, 0 if there is no digit. */
static size_t decimal_length(const char *text, size_t length)
{
    size_t i = 0, digits = 0;
    bool point = false;
    for (; i < length; i++) {
        if (isdigit((unsigned char)text[i]))
            digits++;
        else if (text[i] == '.' && !point)
            point = true;
        else
            break;
    }
    return digits ? i : 0;
}

static const unit *find_unit(const unit *units, const char *name)
{
    for (; units->name; units++)
        if (strcmp(units->name, name) == 0)
            return units;
    return NULL;
}

static int refuse(const quantity *q, int code, const char *text, const char *hint, const char *where,
                  rlt_error *err)
{
    return rlt_fail(err, code, where, "expected %s, got '%.100s'%s", q->expected, text ? text : "", hint);
}

static int parse_quantity(const quantity *q, const char *text, uint64_t *value, const char *where,
                          rlt_error *err)
{
    size_t n = text ? decimal_length(text, strlen(text)) : 0;
    if (n == 0)
        return refuse(q, RLT_EMALFORMED, text, "", where, err);
    const char *name = text + n;
    while (*name == ' ' || *name == '\t')
        name++;
    if (n == 1 && text[0] == '0' && text[1] == '\0') {
        *value = 0;
        return 0;
    }
    const unit *u = find_unit(q->units, name);
    if (!u) {
        bool bare_prefix = name[0] && name[1] == '\0' && strchr("kKMGTP", name[0]);
        const char *hint = name[0] == '\0' ? ": the unit is missing"
                           : bare_prefix && q->units == size_units
                               ? ": write KB (1000 bytes) or KiB (1024 bytes)"
                               : ": unknown unit";
        return refuse(q, RLT_EMALFORMED, text, hint, where, err);
    }
    uint64_t v;
    if (!scale_digits(text, n, u->factor, u->exponent, &v) || v > q->max)
        return refuse(q, RLT_ERANGE, text, ": too large", where, err);
    *value = v;
    return 0;
}

int rlt_parse_rate(const char *text, uint64_t *bw_Bps, const char *where, rlt_error *err)
{
    static const quantity q = {"a rate with a unit, such as 400Gbps or 50GB/s", rate_units, UINT64_MAX};
    return parse_quantity(&q, text, bw_Bps, where, err);
}

int rlt_parse_duration(const char *text, rlt_time *time_ps, const char *where, rlt_error *err)
{
    static const quantity q = {"a duration with a unit, such as 500ns or 1.5us", duration_units,
                               (uint64_t)RLT_TIME_MAX};
    uint64_t v;
    int rc = parse_quantity(&q, text, &v, where, err);
    if (rc == 0)
        *time_ps = (rlt_time)v;
    return rc;
}

int rlt_parse_size(const char *text, uint64_t *bytes, const char *where, rlt_error *err)
{
    static const quantity q = {"a size with a unit, such as 64MiB or 512B", size_units, UINT64_MAX};
    return parse_quantity(&q, text, bytes, where, err);
}

int rlt_parse_flops(const char *text, uint64_t *flop_per_s, const char *where, rlt_error *err)
{
    static const quantity q = {"a rate of work with a unit, such as 312TFLOPS", flops_units, UINT64_MAX};
    return parse_quantity(&q, text, flop_per_s, where, err);
}

int rlt_parse_count(const char *text, uint64_t *count, const char *where, rlt_error *err)
{
    static const quantity q = {"a whole number", NULL, UINT64_MAX};
    size_t n = text ? strlen(text) : 0;
    if (n == 0 || decimal_length(text, n) != n || memchr(text, '.', n))
        return refuse(&q, RLT_EMALFORMED, text, "", where, err);
    uint64_t v;
    if (!scale_digits(text, n, 1, 0, &v))
        return refuse(&q, RLT_ERANGE, text, ": too large", where, err);
    *count = v;
    return 0;
}

/* Parts of a decimal text: a sign, digits with at most one point, and an exponent. */
typedef struct decimal {
    const char *digits;
    size_t n;
    int64_t exponent; /* clamped: beyond 10^9 every value except zero is out of range */
    bool negative;
} decimal;

static bool split_decimal(const char *text, size_t length, decimal *d)
{
    size_t i = length > 0 && (text[0] == '-' || text[0] == '+');
    *d = (decimal){.digits = text + i, .negative = i && text[0] == '-'};
    d->n = decimal_length(text + i, length - i);
    i += d->n;
    if (d->n == 0)
        return false;
    if (i == length)
        return true;
    if (text[i] != 'e' && text[i] != 'E')
        return false;
    i++;
    bool negative = i < length && text[i] == '-';
    i += i < length && (text[i] == '-' || text[i] == '+');
    if (i == length)
        return false;
    for (; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        if (d->exponent < 1000000000)
            d->exponent = d->exponent * 10 + (text[i] - '0');
    }
    if (negative)
        d->exponent = -d->exponent;
    return true;
}

int rlt_parse_number(const char *text, double minimum, double *number, const char *where, rlt_error *err)
{
    static const quantity q = {"a number", NULL, 0};
    decimal d;
    if (!text || text[0] == '+' || !split_decimal(text, strlen(text), &d))
        return refuse(&q, RLT_EMALFORMED, text, "", where, err);
    char *end;
    double v = strtod(text, &end);
    if (*end != '\0') /* a locale with another decimal point */
        return refuse(&q, RLT_EMALFORMED, text, "", where, err);
    if (!isfinite(v))
        return refuse(&q, RLT_ERANGE, text, ": too large", where, err);
    if (v < minimum)
        return rlt_fail(err, RLT_ERANGE, where, "expected a number of at least %g, got '%.100s'", minimum,
                        text);
    *number = v;
    return 0;
}

int rlt_parse_share(const char *text, double most, double *share, const char *where, rlt_error *err)
{
    char number[40] = ""; /* without the % */
    double x = 0;
    size_t length = strlen(text);
    bool percent = length > 1 && length <= sizeof number && text[length - 1] == '%';
    if (percent)
        memcpy(number, text, length - 1);
    int rc = rlt_parse_number(percent ? number : text, 0, &x, where, err);
    if (percent)
        x /= 100;
    if (!rc && x > most)
        rc =
            rlt_fail(err, RLT_EUSAGE, where, "expected 0 to %.10g, or a percentage, got '%.40s'", most, text);
    if (!rc)
        *share = x;
    return rc;
}

int rlt_parse_decimal(const char *text, size_t length, int64_t scale, int64_t *value)
{
    if (scale < 0 || (uint64_t)scale > FACTOR_MAX)
        return RLT_EUSAGE;
    decimal d;
    if (!split_decimal(text, length, &d))
        return RLT_EMALFORMED;
    uint64_t v;
    if (!scale_digits(d.digits, d.n, (uint64_t)scale, d.exponent, &v) || v > INT64_MAX)
        return RLT_ERANGE;
    *value = d.negative ? -(int64_t)v : (int64_t)v;
    return 0;
}

typedef struct scale_step {
    const char *name;
    uint64_t size;
} scale_step;

/* Writes at most four significant digits without trailing zeros. From `base` units on, the next unit is
 * used. */
static char *format_scaled(char *buffer, size_t size, const char *sign, uint64_t value,
                           const scale_step *steps, size_t n, uint64_t base)
{
    size_t i = 0;
    while (i + 1 < n && value >= steps[i + 1].size)
        i++;
    uint64_t whole, fraction;
    int places;
    for (;; i++) {
        uint64_t unit_size = steps[i].size, floor = value / unit_size, power = 1;
        places = floor < 10 ? 3 : floor < 100 ? 2 : floor < 1000 ? 1 : 0;
        for (int k = 0; k < places; k++)
            power *= 10;
        unsigned __int128 exact = (unsigned __int128)value * power,
                          scaled = (exact + unit_size / 2) / unit_size;
        if (scaled * unit_size / power > UINT64_MAX)
            scaled = exact / unit_size; /* so that it can be read again */
        whole = (uint64_t)(scaled / power);
        fraction = (uint64_t)(scaled % power);
        if (whole < base || i + 1 == n)
            break; /* otherwise rounding reached the next unit */
    }
    while (places > 0 && fraction % 10 == 0) {
        fraction /= 10;
        places--;
    }
    if (places > 0)
        snprintf(buffer, size, "%s%llu.%0*llu %s", sign, (unsigned long long)whole, places,
                 (unsigned long long)fraction, steps[i].name);
    else
        snprintf(buffer, size, "%s%llu %s", sign, (unsigned long long)whole, steps[i].name);
    return buffer;
}

static uint64_t magnitude(rlt_time time_ps)
{
    return time_ps < 0 ? 0 - (uint64_t)time_ps : (uint64_t)time_ps;
}

char *rlt_format_duration(char *buffer, size_t size, rlt_time time_ps)
{
    static const scale_step steps[] = {
        {"ps", (uint64_t)RLT_PS}, {"ns", (uint64_t)RLT_NS}, {"us", (uint64_t)RLT_US},
        {"ms", (uint64_t)RLT_MS}, {"s", (uint64_t)RLT_S},
    };
    return format_scaled(buffer, size, time_ps < 0 ? "-" : "", magnitude(time_ps), steps,
                         sizeof steps / sizeof *steps, 1000);
}

/* Returns true for a value of at least 1000 with at most two significant digits, or with three and at least
 * three zeros: 1 MB, 2.5 kB, 125 kB. */
static bool is_round_decimal(uint64_t value)
{
    uint64_t digits = value;
    unsigned zeros = 0;
    for (; digits >= 10 && digits % 10 == 0; digits /= 10)
        zeros++;
    return value >= 1000 && (digits < 100 || (digits < 1000 && zeros >= 3));
}

static bool is_whole_binary(uint64_t value)
{
    uint64_t step = 1;
    while (step < PI && value >= step * KI)
        step *= KI;
    return step > 1 && value % step == 0;
}

char *rlt_format_size(char *buffer, size_t size, uint64_t bytes)
{
    static const scale_step steps[] = {
        {"B", 1}, {"KiB", KI}, {"MiB", MI}, {"GiB", GI}, {"TiB", TI}, {"PiB", PI},
    };
    static const scale_step decimal_steps[] = {
        {"B", 1},           {"kB", 1000},          {"MB", 1000000},
        {"GB", 1000000000}, {"TB", 1000000000000}, {"PB", 1000000000000000},
    };
    if (is_round_decimal(bytes) && !is_whole_binary(bytes))
        return format_scaled(buffer, size, "", bytes, decimal_steps,
                             sizeof decimal_steps / sizeof *decimal_steps, 1000);
    return format_scaled(buffer, size, "", bytes, steps, sizeof steps / sizeof *steps, 1024);
}

char *rlt_format_rate(char *buffer, size_t size, uint64_t bw_Bps)
{
    static const scale_step steps[] = {
        {"B/s", 1},           {"kB/s", 1000},          {"MB/s", 1000000},
        {"GB/s", 1000000000}, {"TB/s", 1000000000000}, {"PB/s", 1000000000000000},
    };
    return format_scaled(buffer, size, "", bw_Bps, steps, sizeof steps / sizeof *steps, 1000);
}

char *rlt_format_us(char *buffer, size_t size, rlt_time time_ps)
{
    uint64_t ps = magnitude(time_ps), per_us = (uint64_t)RLT_US;
    snprintf(buffer, size, "%s%llu.%06llu", time_ps < 0 ? "-" : "", (unsigned long long)(ps / per_us),
             (unsigned long long)(ps % per_us));
    return buffer;
}
