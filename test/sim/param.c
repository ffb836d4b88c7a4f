/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters: values from and to text, limits, tables by name; and one added row, which is all that a new
 * parameter needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/words.h"

enum mode { FAST, SAFE };
typedef struct things {
    uint32_t few;
    uint64_t many, bytes, cut, bw_Bps, Flops;
    rlt_time wait_ps;
    double part, loss;
    uint32_t clock_ppm;
    enum mode mode;
    bool on, loud;
    char name[8];
    const char *format;
    rlt_counts widths;
    rlt_param_value slots[2];
    int odd;
} things;

static int read_odd(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    things *t = into;
    t->odd = atoi(text);
    (void)p;
    return t->odd % 2 ? 0 : rlt_fail(err, RLT_ESCHEMA, where, "%s is even", text);
}

static void write_odd(const rlt_param *p, const void *from, char *text, size_t size)
{
    const things *t = from;
    (void)p;
    snprintf(text, size, "%d", t->odd);
}

static const rlt_param table[] = {
    {"few", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, few), .preset = "3", .min = 2, .max = 9, .help = "h"},
    {"many", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, many), .help = "h"},
    {"bytes", .kind = RLT_PARAM_SIZE, RLT_FIELD(things, bytes), .preset = "4KiB", .min = 1, .max = 65536},
    {"rate", .kind = RLT_PARAM_RATE, RLT_FIELD(things, bw_Bps)},
    {"work", .kind = RLT_PARAM_FLOPS, RLT_FIELD(things, Flops)},
    {"vast", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, many), .max = 0x1p60},
    {"cut", .kind = RLT_PARAM_SIZE, RLT_FIELD(things, cut), .min = 1},
    {"wait", .kind = RLT_PARAM_DURATION, RLT_FIELD(things, wait_ps), .max = 1000000},
    {"part", .kind = RLT_PARAM_NUMBER, RLT_FIELD(things, part), .min = 0.5, .unit = "GHz", .max = 8},
    {"loss", .kind = RLT_PARAM_SHARE, RLT_FIELD(things, loss)},
    {"clock", .kind = RLT_PARAM_PPM, RLT_FIELD(things, clock_ppm), .max = 1e9},
    {"mode", .kind = RLT_PARAM_CHOICE, RLT_FIELD(things, mode), .words = "fast|safe", .preset = "safe"},
    {"on", .kind = RLT_PARAM_CHOICE, RLT_FIELD(things, on), .words = "no|yes"},
    {"loud", .kind = RLT_PARAM_FLAG, RLT_FIELD(things, loud)},
    {"name", .kind = RLT_PARAM_NAME, RLT_FIELD(things, name)},
    {"format", .kind = RLT_PARAM_WORD, RLT_FIELD(things, format), .words = "table|csv"},
    {"widths", .kind = RLT_PARAM_COUNTS, RLT_FIELD(things, widths), .min = 1, .max = 1024},
    {"slot", .kind = RLT_PARAM_COUNT, .offset = offsetof(things, slots[1]), .width = 8},
    {"odd", .kind = RLT_PARAM_OTHER, .read = read_odd, .write = write_odd},
    {0}};

static void test_values_come_back(void **state)
{
    /* Text read, and text written for it. */
    static const char *const rows[][3] = {
        {"few", "7", "7"},
        {"many", "18446744073709551615", "18446744073709551615"},
        {"bytes", "1.5KiB", "1536B"},
        {"rate", "400Gbps", "50000000000B/s"},
        {"work", "1GFLOPS", "1000000000FLOPS"},
        {"wait", "0.5us", "500000ps"},
        {"part", "0.75", "0.75"},
        {"part", "0.7", "0.7"},
        {"part", "0.623456789", "0.623456789"},
        {"loss", "12.5%", "0.125"},
        {"clock", "1.98", "1.980000"},
        {"mode", "fast", "fast"},
        {"on", "yes", "yes"},
        {"loud", "on", "on"},
        {"name", "seven77", "seven77"},
        {"format", "csv", "csv"},
        {"widths", "512-256-64", "512-256-64"},
        {"slot", "11", "11"},
        {"odd", "5", "5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        things t = {0};
        rlt_error err = {0};
        char text[64], again[64];
        const rlt_param *p = rlt_params_find(table, rows[i][0]);
        assert_non_null(p);
        assert_int_equal(rlt_params_set(table, "a thing", &t, rows[i][0], rows[i][1], &err), 0);
        assert_string_equal(rlt_param_write(p, &t, text, sizeof text), rows[i][2]);
        t = (things){0};
        assert_int_equal(rlt_param_read(p, &t, text, NULL, &err), 0);
        assert_string_equal(rlt_param_write(p, &t, again, sizeof again), text);
    }
}

static void test_fields(void **state)
{
    things t;
    (void)state;
    memset(&t, 0x55, sizeof t); /* adjacent fields must not change */
    assert_int_equal(rlt_params_set_list(table, "a thing", &t, "few=2, on=yes,mode=safe,slot=4", NULL), 0);
    assert_int_equal(t.few, 2);
    assert_int_equal(t.many, 0x5555555555555555);
    assert_true(t.on);
    assert_int_equal(*(unsigned char *)&t.loud, 0x55);
    assert_int_equal(t.mode, SAFE);
    assert_int_equal(t.slots[1].u, 4);
    assert_int_equal(t.slots[0].u, 0x5555555555555555);
    t = (things){0};
    assert_int_equal(rlt_params_preset(table, &t, NULL), 0);
    assert_int_equal(t.few, 3);
    assert_int_equal(t.bytes, 4096);
    assert_int_equal(t.mode, SAFE);
    assert_null(t.format);
}

static void test_refusals(void **state)
{
    static const char *const rows[][4] = {
        {"few", "1", "few", "expected 2 to 9, got '1'"},
        {"few", "10", "few", "expected 2 to 9, got '10'"},
        {"few", "two", "few", ""},
        {"bytes", "0", "bytes", "expected 1 B to 64 KiB, got '0'"},
        {"bytes", "12", "bytes", ""},
        {"vast", "1152921504606846977", "vast",
         "expected 0 to 1152921504606846976, got '1152921504606846977'"},
        {"cut", "0", "cut", "expected more than 0, got '0'"},
        {"wait", "2us", "wait", "expected 0 ps to 1 us, got '2us'"},
        {"wait", "-1us", "wait", ""},
        {"part", "0.25", "part", "expected 0.5 to 8 GHz, got '0.25'"},
        {"part", "nan", "part", ""},
        {"loss", "101%", "loss", "expected 0 to 1, or a percentage, got '101%'"},
        {"clock", "1001", "clock", "expected a number from 0 to 1000, got '1001'"},
        {"mode", "saf", "mode", "expected one of fast, safe, got 'saf'; did you mean 'safe'?"},
        {"on", "on", "on", "expected one of no, yes, got 'on'; did you mean 'no'?"},
        {"loud", "very", "loud", "expected on or off, got 'very'"},
        {"name", "eight888", "name", "expected a value of at most 7 characters, got 'eight888'"},
        {"name", "", "name", "expected a value, got nothing"},
        {"widths", "5-x", "widths", "expected up to 64 numbers from 1 to 1024 such as 512-256-64, got '5-x'"},
        {"widths", "1025", "widths", ""},
        {"rat", "1", "rat", "unknown setting of a thing; did you mean 'rate'?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        things t = {0};
        const things untouched = {0};
        rlt_error err = {0};
        int rc = rlt_params_set(table, "a thing", &t, rows[i][0], rows[i][1], &err);
        if (rc != RLT_EUSAGE || strcmp(err.where, rows[i][2]) != 0 || !*err.what ||
            (*rows[i][3] && strcmp(err.what, rows[i][3]) != 0))
            fail_msg("%s=%s: %d '%s' '%s'", rows[i][0], rows[i][1], rc, err.where, err.what);
        assert_memory_equal(&t, &untouched, sizeof t);
    }
    rlt_error err = {0};
    things t = {0};
    assert_int_equal(rlt_params_set(table, "a thing", &t, "odd", "4", &err), RLT_ESCHEMA);
    assert_string_equal(err.what, "4 is even");
}

static void test_lists(void **state)
{
    static const char *const bad[][2] = {{"few=2,few=3", "is given twice"},
                                         {"few", "expected NAME=VALUE, got 'few'"},
                                         {"=2", "expected NAME=VALUE"},
                                         {"few=2,", "expected NAME=VALUE, got ''"},
                                         {"zzzzzzzz=1", "unknown setting; a thing has few, many, bytes"}};
    things t = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_params_set_list(table, "a thing", &t, bad[i][0], &err), RLT_EUSAGE);
        assert_non_null(strstr(err.what, bad[i][1]));
    }
    assert_int_equal(rlt_params_set_list(table, "a thing", &t, "", NULL), 0);
    assert_int_equal(rlt_params_set_list(table, "a thing", &t, NULL, NULL), 0);
}

/* An item of a list has at most 511 characters, without the blanks before it. */
static void test_long_items(void **state)
{
    (void)state;
    for (int n = 511; n <= 512; n++) {
        char list[600];
        things t = {0};
        rlt_error err = {0};
        snprintf(list, sizeof list, "few=2,  many=%0*d", n - 5, 7);
        assert_int_equal(rlt_params_set_list(table, "a thing", &t, list, &err), n > 511 ? RLT_EUSAGE : 0);
        assert_int_equal(t.few, 2);
        assert_int_equal(t.many, n > 511 ? 0 : 7);
        assert_string_equal(err.what,
                            n > 511 ? "'many=00000000000000000000000000000000000' is too long" : "");
    }
}

/* What was given must be in the list of what goes with another setting. Presets are not given. */
static void test_given_only(void **state)
{
    static const rlt_param own[] = {{"few", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, few), .preset = "3"},
                                    {"many", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, many)},
                                    {"fe", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, bytes)},
                                    {0}};
    static const rlt_option_group groups[] = {{"Own", own, 0}, {0}};
    static const char *const taken[] = {"many", "few-of-it", NULL};
    static const char *const places[] = {"--few", "", "--fe"};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const rlt_option_text words[] = {{1, "7"}, {i, "6"}};
        things t = {0};
        rlt_parsed parsed;
        rlt_error err = {0};
        assert_int_equal(rlt_options_fill(groups, words, 2, &t, &parsed, NULL), 0);
        assert_int_equal(rlt_given_only(&parsed, taken, "--slow", &err), *places[i] ? RLT_EUSAGE : 0);
        assert_string_equal(err.where, places[i]);
        assert_string_equal(err.what, *places[i] ? "does not go with --slow" : "");
        rlt_parsed_free(&parsed);
    }
}

/* One more row: it is read by name, read as an option, has a default, is limited, listed and written. */
static void test_one_row_is_all(void **state)
{
    static const rlt_param one_more[] = {{"few", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, few)},
                                         {"many", .kind = RLT_PARAM_COUNT, RLT_FIELD(things, many),
                                          .preset = "5", .max = 6, .help = "of them"},
                                         {0}};
    static const rlt_option_group groups[] = {{"Own", one_more, 0}, {0}};
    const rlt_option_text words[] = {{1, "6"}};
    things t = {0};
    rlt_parsed parsed;
    char text[128];
    (void)state;
    assert_int_equal(rlt_params_preset(one_more, &t, NULL), 0);
    assert_int_equal(t.many, 5);
    assert_int_equal(rlt_params_set_text(one_more, "a thing", &t, "many=4", NULL), 0);
    assert_int_equal(t.many, 4);
    assert_int_equal(rlt_params_set_text(one_more, "a thing", &t, "many=7", NULL), RLT_EUSAGE);
    assert_string_equal(rlt_params_describe(one_more, text, sizeof text), "few, many=5");
    assert_string_equal(rlt_params_describe(&(rlt_param){0}, text, sizeof text), "");
    assert_int_equal(rlt_options_fill(groups, words, 1, &t, &parsed, NULL), 0);
    assert_int_equal(t.many, 6);
    assert_true(rlt_given(&parsed, "many"));
    assert_false(rlt_given(&parsed, "few"));
    rlt_parsed_free(&parsed);
    assert_string_equal(rlt_param_form(&one_more[1], text, sizeof text), "count");
    assert_string_equal(rlt_param_form(rlt_params_find(table, "mode"), text, sizeof text), "fast|safe");
}

/* A required option is spared by others, given at all or with one value. */
static void test_spared(void **state)
{
    typedef struct aims {
        const char *kind, *goal;
        bool loud;
    } aims;
    static const rlt_param own[] = {{"kind", .kind = RLT_PARAM_TEXT, RLT_FIELD(aims, kind)},
                                    {"loud", .kind = RLT_PARAM_FLAG, RLT_FIELD(aims, loud)},
                                    {"goal", .kind = RLT_PARAM_TEXT, RLT_FIELD(aims, goal), .required = true,
                                     .spared_by = "loud kind=all"},
                                    {0}};
    static const rlt_option_group groups[] = {{"Own", own, 0}, {0}};
    static const struct {
        rlt_option_text word;
        int rc;
    } cases[] = {{{0, "all"}, 0},          {{0, "al"}, RLT_EUSAGE}, {{0, "alle"}, RLT_EUSAGE},
                 {{0, "aly"}, RLT_EUSAGE}, {{1, "on"}, 0},          {{2, "x"}, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aims a = {0};
        rlt_parsed parsed;
        rlt_error err = {0};
        assert_int_equal(rlt_options_fill(groups, &cases[i].word, 1, &a, &parsed, &err), cases[i].rc);
        assert_string_equal(err.where, cases[i].rc ? "--goal" : "");
        rlt_parsed_free(&parsed);
    }
}

/* What a refusal says about the limits of a row. */
static void test_limits_are_named(void **state)
{
    static const rlt_param limited[] = {
        {"half", .kind = RLT_PARAM_NUMBER, RLT_FIELD(things, part), .min = 0.5, .max = 1},
        {"high", .kind = RLT_PARAM_NUMBER, RLT_FIELD(things, part), .min = 2},
        {"bytes", .kind = RLT_PARAM_SIZE, RLT_FIELD(things, bytes), .min = 1},
        {"clock", .kind = RLT_PARAM_NUMBER, RLT_FIELD(things, part), .min = 1, .max = 8, .unit = "GHz"},
        {0}};
    static const char *const rows[][2] = {{"half=1.5", "expected 0.5 to 1, got '1.5'"},
                                          {"half=0.4", "expected 0.5 to 1, got '0.4'"},
                                          {"high=1", "expected at least 2, got '1'"},
                                          {"bytes=0", "expected more than 0, got '0'"},
                                          {"clock=9", "expected 1 to 8 GHz, got '9'"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        things t = {0};
        rlt_error err = {0};
        assert_int_equal(rlt_params_set_text(limited, "a thing", &t, rows[i][0], &err), RLT_EUSAGE);
        if (!strstr(err.what, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], err.what);
    }
}

static void test_ranges(void **state)
{
    static const char *const rows[][3] = {{"few", "2 to 9", "count"},
                                          {"many", "", "count"},
                                          {"cut", "above 0", "size"},
                                          {"bytes", "1 B to 64 KiB", "size"},
                                          {"wait", "0 to 1 us", "duration"},
                                          {"part", "0.5 to 8", "number"},
                                          {"mode", "", "word"},
                                          {"clock", "0 to 1000", "number"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rlt_param *p = rlt_params_find(table, rows[i][0]);
        char text[64];
        assert_string_equal(rlt_param_range(p, text, sizeof text), rows[i][1]);
        assert_string_equal(rlt_param_kind_name(p->kind), rows[i][2]);
    }
}

/* Names before the first '=' of items of a list; items without a name, or without '=', are passed over. */
static void names_once(void **state)
{
    static const struct {
        const char *list, *name;
    } cases[] = {{"", NULL},          {"a=1,b=2", NULL},    {"a=1,b=2,a=3", "a"}, {"=1,=2", NULL},
                 {"=1,a=1,a=2", "a"}, {"a,a=1", NULL},      {"a,b=1, b=1", "b"},  {"ab=1,a=1", NULL},
                 {"a,a", NULL},       {"x=a=1,y=a=1", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_error err = {0};
        int rc = rlt_names_once(cases[i].list, &err);
        if (rc != (cases[i].name ? RLT_EUSAGE : 0) ||
            strcmp(err.where, cases[i].name ? cases[i].name : "") != 0)
            fail_msg("%s: %d %s: %s", cases[i].list, rc, err.where, err.what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_once),      cmocka_unit_test(test_values_come_back),
        cmocka_unit_test(test_fields),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_one_row_is_all),
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_limits_are_named),
        cmocka_unit_test(test_spared),     cmocka_unit_test(test_long_items),
        cmocka_unit_test(test_given_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
