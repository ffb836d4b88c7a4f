/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the command itself: option tables, nearest words, lists of sizes and ranks, rows, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/base/progress.h"
#include "tools/output/output.h"
#include "workload/experiment/coll/lists.h"

typedef struct inner {
    uint64_t bytes;
    rlt_time time_ps;
    const char *format;
} inner;
typedef struct outer {
    bool loud;
    const char *name;
    rlt_texts set;
    uint64_t count;
    double scale;
    inner in;
} outer;

static const rlt_option inner_options[] = {
    {"bytes", 'b', RLT_PARAM_SIZE, "SIZE", "h", .offset = offsetof(inner, bytes), .preset = "64KiB"},
    {"time", 0, RLT_PARAM_DURATION, "TIME", "h", .offset = offsetof(inner, time_ps)},
    {"format", 'f', RLT_PARAM_WORD, NULL, "h", .offset = offsetof(inner, format), .preset = "table",
     .words = "table|csv|json"},
    {0}};
static const rlt_option outer_options[] = {
    {"loud", 'l', RLT_PARAM_FLAG, NULL, "h", .offset = offsetof(outer, loud)},
    {"name", 'n', RLT_PARAM_TEXT, "NAME", "h", .offset = offsetof(outer, name), .required = true},
    {"set", 0, RLT_PARAM_LIST, "N=V", "h", .offset = offsetof(outer, set)},
    {"count", 0, RLT_PARAM_COUNT, "N", "h", .offset = offsetof(outer, count), .min = 2, .max = 9},
    {"scale", 0, RLT_PARAM_NUMBER, "X", "h", .offset = offsetof(outer, scale), .preset = "1"},
    {0}};
static const rlt_option_group groups[] = {
    {"Own", outer_options, 0}, {"Shared", inner_options, offsetof(outer, in)}, {0}};

enum { MAX_WORDS = 24 };
typedef struct parse_result {
    outer settings;
    rlt_parsed parsed;
    rlt_error err;
    int rc;
    char *argv[MAX_WORDS + 1];
} parse_result;

/* Words are separated by blanks. */
static void parse(parse_result *r, char *line)
{
    int n = 0;
    memset(r, 0, sizeof *r);
    for (char *w = strtok(line, " "); w && n < MAX_WORDS; w = strtok(NULL, " "))
        r->argv[n++] = w;
    r->rc = rlt_options_parse(groups, n, r->argv, &r->settings, &r->parsed, &r->err);
}

static void test_values(void **state)
{
    char line[] = "cmd one -n x --set a=1 --bytes=1MiB two --time 1.5us --set b=2 -l --count 9 --scale 0.25";
    parse_result r;
    (void)state;
    parse(&r, line);
    assert_int_equal(r.rc, 0);
    assert_true(r.settings.loud);
    assert_string_equal(r.settings.name, "x");
    assert_int_equal(r.settings.set.n, 2);
    assert_string_equal(r.settings.set.items[0], "a=1");
    assert_string_equal(r.settings.set.items[1], "b=2");
    assert_int_equal(r.settings.in.bytes, 1048576);
    assert_int_equal(r.settings.in.time_ps, 1500000);
    assert_int_equal(r.settings.count, 9);
    assert_true(r.settings.scale == 0.25);
    assert_string_equal(r.settings.in.format, "table"); /* preset */
    assert_int_equal(r.parsed.n_operands, 2);
    assert_string_equal(r.parsed.operands[0], "one");
    assert_string_equal(r.parsed.operands[1], "two");
    assert_true(rlt_given(&r.parsed, "bytes"));
    assert_false(rlt_given(&r.parsed, "format"));
    rlt_parsed_free(&r.parsed);
}

static void test_format_of_a_name(void **state)
{
    static const struct {
        const char *word, *output;
        rlt_format format;
    } rows[] = {
        {NULL, "s.json", RLT_FORMAT_JSON},      {NULL, "a.b/s.csv", RLT_FORMAT_CSV},
        {NULL, "s.txt", RLT_FORMAT_TABLE},      {NULL, "json", RLT_FORMAT_TABLE},
        {NULL, "s.json/all", RLT_FORMAT_TABLE}, {NULL, "s.json.bak", RLT_FORMAT_TABLE},
        {NULL, "-", RLT_FORMAT_TABLE},          {NULL, NULL, RLT_FORMAT_TABLE},
        {"csv", "s.json", RLT_FORMAT_CSV},      {"table", "s.json", RLT_FORMAT_TABLE},
        {"json", "-", RLT_FORMAT_JSON},         {"json", NULL, RLT_FORMAT_JSON},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rlt_format_of(rows[i].word, rows[i].output), rows[i].format);
}

static void test_presets_and_end_of_options(void **state)
{
    char line[] = "cmd -nx -- --loud";
    parse_result r;
    (void)state;
    parse(&r, line);
    assert_int_equal(r.rc, 0);
    assert_false(r.settings.loud);
    assert_int_equal(r.settings.in.bytes, 65536);
    assert_int_equal(r.parsed.n_operands, 1);
    assert_string_equal(r.parsed.operands[0], "--loud");
    rlt_parsed_free(&r.parsed);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *line, *where, *what; /* what: part of the message */
    } cases[] = {
        {"cmd", "--name", "is required"},
        {"cmd -n x --byts 1KiB", "--byts", "did you mean '--bytes'"},
        {"cmd -n x --zzzzzzzz", "--zzzzzzzz", "unknown option"},
        {"cmd -n x -q", "-q", "unknown option"},
        {"cmd -n x --bytes", "--bytes", "needs a value: SIZE"},
        {"cmd -n x -b", "--bytes", "needs a value: SIZE"},
        {"cmd -n x --loud=yes", "--loud", "takes no value"},
        {"cmd -n x --bytes 64", "--bytes", "64"},
        {"cmd -n x --count 1", "--count", "expected 2 to 9"},
        {"cmd -n x --count 10", "--count", "expected 2 to 9"},
        {"cmd -n x --count -1", "--count", ""},
        {"cmd -n x --format jsn", "--format", "did you mean 'json'"},
        {"cmd -n x --format html", "--format", "table, csv, json"},
        {"cmd -n x --scale nan", "--scale", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128];
        parse_result r;
        snprintf(line, sizeof line, "%s", cases[i].line);
        parse(&r, line);
        if (r.rc != RLT_EUSAGE || strcmp(r.err.where, cases[i].where) != 0 ||
            !strstr(r.err.what, cases[i].what))
            fail_msg("%s: %d '%s' '%s'", cases[i].line, r.rc, r.err.where, r.err.what);
        rlt_parsed_free(&r.parsed);
    }
}

static void test_help_wins_over_missing(void **state)
{
    char line[] = "cmd --help";
    parse_result r;
    (void)state;
    parse(&r, line);
    assert_int_equal(r.rc, 0);
    assert_true(r.parsed.help);
    rlt_parsed_free(&r.parsed);
}

static void test_nearest(void **state)
{
    static const char *const words[] = {"ring", "direct", "hierarchical", "halving-doubling"};
    static const struct {
        const char *typed, *meant;
    } cases[] = {{"rign", "ring"},     {"hierachical", "hierarchical"},
                 {"dircet", "direct"}, {"halving", "halving-doubling"},
                 {"tree", NULL},       {"", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_nearest n = rlt_nearest_to(cases[i].typed);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            rlt_nearest_try(&n, words[k]);
        if (cases[i].meant ? !n.best || strcmp(n.best, cases[i].meant) != 0 : n.best != NULL)
            fail_msg("%s: %s", cases[i].typed, n.best ? n.best : "nothing");
    }
}

static void test_exit_statuses(void **state)
{
    static const struct {
        int code, status;
    } cases[] = {{0, 0},           {RLT_ECHECK, 1},      {RLT_EUSAGE, 2}, {RLT_EMALFORMED, 3},
                 {RLT_ESCHEMA, 3}, {RLT_ETOPOLOGY, 3},   {RLT_ERANGE, 3}, {RLT_ESTALL, 4},
                 {RLT_EIO, 5},     {RLT_ECANCELLED, 130}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rlt_exit_status(cases[i].code), cases[i].status);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t expected[6];
        uint32_t n; /* 0: refused */
    } cases[] = {
        {"1KiB", {1024}, 1},
        {"1KB,3B", {1000, 3}, 2},
        {"1KiB:4KiB:x2", {1024, 2048, 4096}, 3},
        {"1KiB:5KiB", {1024, 2048, 4096}, 3},
        {"0B:2B:+1B,9B", {0, 1, 2, 9}, 4},
        {"8388608TiB:16777215TiB:x2", {(uint64_t)1 << 63}, 1},
        {"1KiB:1GiB:x1", {0}, 0},
        {"0B:1GiB:x2", {0}, 0},
        {"1B:2B:+0B", {0}, 0},
        {"2KiB:1KiB:x2", {0}, 0},
        {"1024", {0}, 0},
        {"1KiB:2KiB:3", {0}, 0},
        {"1KiB,,2KiB", {0}, 0},
        {"0B:1GiB:+1B", {0}, 0}, /* too many sizes */
        {"", {0}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t *got = NULL;
        uint32_t n = 0;
        rlt_error err = {0};
        int rc = rlt_parse_sizes(cases[i].text, &got, &n, &err);
        if (rc != (cases[i].n ? 0 : RLT_EUSAGE) || n != cases[i].n)
            fail_msg("'%s': %d, %u sizes, %s", cases[i].text, rc, n, err.what);
        for (uint32_t k = 0; k < n; k++)
            assert_int_equal(got[k], cases[i].expected[k]);
        free(got);
    }
}

static void test_ranks(void **state)
{
    static const char *const bad[] = {"", "a", "3-1", "1,,2", "-1", "1-", "99999999999", "0-99999999"};
    uint32_t *ranks, n;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_parse_ranks("4,0-2,7", &ranks, &n, &err), 0);
    assert_int_equal(n, 5);
    const uint32_t expected[] = {4, 0, 1, 2, 7};
    assert_memory_equal(ranks, expected, sizeof expected);
    free(ranks);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (rlt_error){0};
        if (rlt_parse_ranks(bad[i], &ranks, &n, &err) != RLT_EUSAGE)
            fail_msg("'%s' was taken", bad[i]);
    }
}

/* Numbers and percentages mean the same, in one list. */
static void test_shares(void **state)
{
    static const char *const bad[] = {"", "0.1,", "10x", "%", "-1", "1.5", "150%", "0,0,0,0,0"};
    double *shares;
    uint32_t n;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_parse_shares("0.1,10%,0,100%", "--share", 1, 4, &shares, &n, &err), 0);
    assert_int_equal(n, 4);
    assert_true(shares[0] == shares[1] && shares[2] == 0 && shares[3] == 1);
    free(shares);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (rlt_error){0};
        if (rlt_parse_shares(bad[i], "--share", 1, 4, &shares, &n, &err) != RLT_EUSAGE || shares)
            fail_msg("'%s' was taken", bad[i]);
        if (strncmp(err.where, "--share", 7) != 0)
            fail_msg("'%s': the place is '%s'", bad[i], err.where);
    }
}

static char *slurp(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

static void test_files(void **state)
{
    char dir[] = "/tmp/ringlet-options-XXXXXX", path[64], rest[64];
    rlt_error err = {0};
    rlt_file f;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/out", dir);
    assert_int_equal(rlt_file_write(path, "old\n", 4, &err), 0);
    assert_int_equal(rlt_file_open(&f, path, &err), 0);
    fputs("new\n", f.stream);
    assert_int_equal(rlt_file_flush(&f, &err), 0);
    assert_string_equal(slurp(path), "old\n"); /* the old file stays until the new one is complete */
    assert_int_equal(rlt_file_close(&f, &err), 0);
    assert_string_equal(slurp(path), "new\n");
    assert_int_equal(rlt_file_open(&f, path, &err), 0);
    fputs("half", f.stream);
    rlt_file_discard(&f);
    assert_string_equal(slurp(path), "new\n");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
    snprintf(rest, sizeof rest, "%s/no/such", dir);
    assert_int_equal(rlt_file_write(rest, "x", 1, &err), RLT_EIO);
    assert_non_null(strstr(err.where, "no/such"));
    if (access("/dev/full", W_OK) == 0) {
        err = (rlt_error){0};
        assert_int_equal(rlt_file_write("/dev/full", "x", 1, &err), RLT_EIO);
        assert_string_equal(err.where, "/dev/full");
    }
}

static void test_rows(void **state)
{
    static const rlt_column columns[] = {{"name", "name", NULL, RLT_COL_TEXT, 0, 0, NULL},
                                         {"time_ps", "time", "us", RLT_COL_TIME, 0, 0, NULL},
                                         {NULL, "note", NULL, RLT_COL_TEXT, 0, 0, NULL},
                                         {"busy", "busy", "%", RLT_COL_PERCENT, 0, 1, NULL},
                                         {"bytes", NULL, NULL, RLT_COL_COUNT, 0, 0, NULL}};
    rlt_value rows[2][5] = {
        {rlt_text("a,\"b\""), rlt_ps(1234567), rlt_text(""), rlt_real(0.5), rlt_count(UINT64_MAX)},
        {rlt_text("longer"), rlt_ps(1000000), rlt_text("*"), rlt_absent(), rlt_count(0)}};
    static const char *const expected[] = {"name    time  note  busy\n"
                                           "        (us)         (%)\n"
                                           "a,\"b\"   1.23        50.0\n"
                                           "longer  1.00  *        -\n",
                                           "name,time_ps,busy,bytes\n"
                                           "\"a,\"\"b\"\"\",1234567,0.500000,18446744073709551615\n"
                                           "longer,1000000,,0\n"};
    (void)state;
    for (int format = RLT_FORMAT_TABLE; format <= RLT_FORMAT_CSV; format++) {
        char text[512] = "";
        FILE *out = fmemopen(text, sizeof text, "w");
        rlt_error err = {0};
        rlt_table t;
        assert_non_null(out);
        rlt_table_begin(&t, (rlt_format)format, columns, 5, out, NULL);
        rlt_table_row(&t, rows[0]);
        rlt_table_row(&t, rows[1]);
        assert_int_equal(rlt_table_end(&t, &err), 0);
        fclose(out);
        assert_string_equal(text, expected[format]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_format_of_a_name),
        cmocka_unit_test(test_presets_and_end_of_options),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_help_wins_over_missing),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_exit_statuses),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
