/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options from files, and pointers into trees: what is refused, where, and in which words. */
#include "test/support/text_file.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/text/config.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"

typedef struct things {
    bool loud;
    const char *name, *shape;
    rlt_texts set;
} things;

static const rlt_option own[] = {
    {"loud", .kind = RLT_PARAM_FLAG, RLT_FIELD(things, loud)},
    {"name", .kind = RLT_PARAM_TEXT, RLT_FIELD(things, name)},
    {"shape", .kind = RLT_PARAM_TEXT, RLT_FIELD(things, shape), .inline_json = true},
    {"set", .kind = RLT_PARAM_LIST, RLT_FIELD(things, set), .named = true},
    {0}};
static const rlt_option_group groups[] = {{"Own", own, 0}, {0}};

static char path[64];

static void write_file(const char *text)
{
    strcpy(path, "/tmp/rlt-config-XXXXXX");
    test_write_new(path, text, strlen(text));
}

/* The place in the file, without its name. */
static const char *place_of(const rlt_error *err)
{
    size_t n = strlen(path);
    return strncmp(err->where, path, n) == 0 && err->where[n] == ':' ? err->where + n + 1 : err->where;
}

static void files_are_refused(void **state)
{
    static const struct {
        const char *text, *place, *what;
    } cases[] = {
        {"\n[\"name\", 1]", "2:1", "expected an object of options"},
        {"7", "1:1", "expected an object of options"},
        {"{\n\"nam\": 1}", "2:8: nam", "no option of this file; did you mean 'name'?"},
        {"{\"quite_another\": 1}", "1:19: quite_another", "no option of this file"},
        {"{\"loud\": true,\n \"name\": true}", "2:10: name", "expected a text or a number"},
        {"{\"name\": null}", "1:10: name", "expected a text or a number"},
        {"{\"set\": [\"a=1\",\n false]}", "2:2: set[1]", "expected a text or a number"},
        {"{\"set\": [\"a=1\",\n [\"b=1\"]]}", "2:2: set[1]", "expected a text or a number"},
        {"{\"name\": {\"a\": 1,\n \"b\": [2]}}", "2:7: name.b", "expected a text or a number"},
        {"{\"set\": [{\"a\": {}}]}", "1:16: set[0].a", "expected a text or a number"},
        {"{\"shape\": [{\"a\": 1}, null]}", "1:22: shape[1]", "expected a text or a number"},
        {"{\"name\": 1,\n \"loud\": 1}", "2:10: loud", "expected true or false"},
        {"{\"loud\": \"on\"}", "1:10: loud", "expected true or false"},
        {"{\"loud\": [true]}", "1:10: loud", "expected true or false"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_config c;
        rlt_error err = {0};
        write_file(cases[i].text);
        int rc = rlt_config_file(&c, groups, "of this file", path, &err);
        unlink(path);
        if (rc != RLT_ESCHEMA || strcmp(place_of(&err), cases[i].place) != 0 ||
            strcmp(err.what, cases[i].what) != 0)
            fail_msg("%s: %d %s: %s", cases[i].text, rc, err.where, err.what);
        rlt_config_free(&c);
    }
}

/* --config as the last word, or with an empty name. */
static void a_file_must_have_a_name(void **state)
{
    static const char *const cases[][4] = {{"cmd", "--config", NULL},
                                           {"cmd", "--config=", NULL},
                                           {"cmd", "--config", "", NULL},
                                           {"cmd", "x", "--config"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[4][16], *argv[5] = {NULL};
        int argc = 0;
        for (; argc < 4 && cases[i][argc]; argc++) {
            strcpy(words[argc], cases[i][argc]);
            argv[argc] = words[argc];
        }
        rlt_config c;
        rlt_error err = {0};
        assert_int_equal(rlt_config_expand(&c, groups, argc, argv, &err), RLT_EUSAGE);
        assert_string_equal(err.where, "--config");
        assert_string_equal(err.what, "expected a file");
        rlt_config_free(&c);
    }
}

/* A file may set a name once. */
static void a_file_sets_a_name_once(void **state)
{
    things t = {0};
    rlt_config c;
    rlt_parsed p;
    rlt_error err = {0};
    (void)state;
    write_file("{\"set\": [\"a=1\", \"b=2\",\n \"a=3\"]}");
    assert_int_equal(rlt_config_file(&c, groups, "of this file", path, &err), 0);
    unlink(path);
    assert_int_equal(rlt_config_fill(&c, groups, &t, &p, &err), 0);
    assert_int_equal(rlt_config_names(&c, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "--set: a");
    assert_string_equal(err.what, "is given twice, as 'a=1' and as 'a=3'");
    assert_int_equal(rlt_config_locate(&c, &p, RLT_EUSAGE, &err), RLT_ESCHEMA);
    assert_string_equal(place_of(&err), "2:2: set[2]: a");
    rlt_parsed_free(&p);
    rlt_config_free(&c);
}

/* So may the command line; texts without a name differ from each other. */
static void a_line_sets_a_name_once(void **state)
{
    static const rlt_option_text words[] = {{3, "b=1"}, {3, "a=2"}, {3, "b=3"}, {3, "a"}, {3, "a"}};
    static const struct {
        uint32_t from, n;
        bool twice;
    } cases[] = {{0, 2, false}, {0, 3, true}, {1, 4, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        things t = {0};
        rlt_config c = {0};
        rlt_parsed p;
        rlt_error err = {0};
        bool twice = cases[i].twice;
        assert_int_equal(rlt_options_fill(groups, words + cases[i].from, cases[i].n, &t, &p, &err), 0);
        assert_int_equal(rlt_config_names(&c, &p, &err), twice ? RLT_EUSAGE : 0);
        assert_string_equal(err.where, twice ? "--set: b" : "");
        assert_string_equal(err.what, twice ? "is given twice, as 'b=1' and as 'b=3'" : "");
        assert_int_equal(rlt_config_locate(&c, &p, RLT_EUSAGE, &err), RLT_EUSAGE);
        assert_string_equal(err.where, twice ? "--set: b" : "");
        rlt_parsed_free(&p);
    }
}

static const char base[] = "{\"topology\": {\"dims\": [{\"bandwidth\": \"1GB/s\"}, 7], \"name\": \"x\"},"
                           " \"_topolog\": 1, \"a/b\": {\"~\": 1}, \"\": {\"k\": 2}}";

static void pointers_are_refused(void **state)
{
#define NO_PARENT "the value before the last part is not an object or a list"
    static const char *const cases[][2] = {
        {"", "expected a pointer such as /topology/dims/0/bandwidth"},
        {"topology/name", "expected a pointer such as /topology/dims/0/bandwidth"},
        {"/zzzzzzzz/x", "/zzzzzzzz/x: base has no '/zzzzzzzz'"},
        {"/topolog/dims/0", "/topolog/dims/0: base has no '/topolog'; did you mean '/topology'?"},
        {"/topology/dim/0", "/topology/dim/0: base has no '/topology/dim'; did you mean '/topology/dims'?"},
        {"/a~1c/c", "/a~1c/c: base has no '/a~1c'; did you mean '/a~1b'?"},
        {"/topology/dims/2/x", "/topology/dims/2/x: base has no '/topology/dims/2'"},
        {"/topology/dims/-/x", "/topology/dims/-/x: base has no '/topology/dims/-'"},
        {"/topology/dims/x", "/topology/dims/x: expected the index of an element or -, got 'x'"},
        {"/topology/dims/", "/topology/dims/: expected the index of an element or -, got ''"},
        {"/topology/dims/-1", "/topology/dims/-1: expected the index of an element or -, got '-1'"},
        {"/topology/dims/~1/x", "/topology/dims/~1/x: expected the index of an element or -, got '/'"},
        {"/topology/dims/3", "/topology/dims/3: the list has 2 elements"},
        {"/topology/dims/4294967296/x", "/topology/dims/4294967296/x: the list has 2 elements"},
        {"/topology/name/x", "/topology/name/x: " NO_PARENT},
        {"/topology/dims/1/x", "/topology/dims/1/x: " NO_PARENT},
        {"/a~1b/~0/x", "/a~1b/~0/x: " NO_PARENT},
        {"//k/x", "//k/x: " NO_PARENT},
    };
    rlt_json_doc *doc = NULL;
    rlt_json_tree *tree = NULL;
    rlt_arena arena = {0};
    rlt_tree_place at;
    (void)state;
    assert_int_equal(rlt_json_parse("f", base, strlen(base), &doc, NULL), 0);
    assert_int_equal(rlt_tree_make(&arena, rlt_json_root(doc), &tree, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_error err = {0};
        int rc = rlt_tree_find(&arena, tree, cases[i][0], &at, &err);
        if (rc != RLT_ESCHEMA || strcmp(err.what, cases[i][1]) != 0 || *err.where)
            fail_msg("%s: %d %s: %s", cases[i][0], rc, err.where, err.what);
    }
    /* the end of a list may be named by its number */
    assert_int_equal(rlt_tree_find(&arena, tree, "/topology/dims/2", &at, NULL), 0);
    assert_null(at.target);
    assert_int_equal(rlt_tree_find(&arena, tree, "/a~1b/~0", &at, NULL), 0);
    assert_string_equal(at.target->text, "1");
    rlt_arena_free(&arena);
    rlt_json_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_refused),       cmocka_unit_test(a_file_must_have_a_name),
        cmocka_unit_test(a_file_sets_a_name_once), cmocka_unit_test(a_line_sets_a_name_once),
        cmocka_unit_test(pointers_are_refused),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
