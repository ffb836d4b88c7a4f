/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registries: order, names, messages, additions and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/registry.h"

typedef struct fruit {
    const char *name, *summary;
    int weight;
} fruit;

static const fruit apple = {"apple", "red", 3}, pear = {"pear", "green", 4};
static const fruit *const pointers[] = {&apple, &pear};
static const fruit entries[] = {{"apple", "red", 3}, {"pear", "green", 4}};

static void order_and_names(void **state)
{
    (void)state;
    static rlt_registry a = RLT_REGISTRY("fruit", RLT_EUSAGE, pointers);
    static rlt_registry b = RLT_REGISTRY_OF_ARRAY("fruit", RLT_ERANGE, entries);
    const fruit plum = {"plum", "blue", 1};
    rlt_error err = {0};
    assert_ptr_equal(rlt_registry_at(&a, 0), &apple);
    assert_ptr_equal(rlt_registry_at(&b, 1), &entries[1]);
    assert_null(rlt_registry_at(&a, 2));
    assert_null(rlt_registry_at(&a, UINT32_MAX));
    assert_ptr_equal(rlt_registry_find(&a, "pear", NULL, &err), &pear);
    assert_null(rlt_registry_find(&a, "plum", NULL, NULL));
    assert_int_equal(rlt_registry_add(&a, &plum, "test", &err), 0);
    assert_ptr_equal(rlt_registry_at(&a, 2), &plum);
    assert_null(rlt_registry_at(&a, 3));
    assert_ptr_equal(rlt_registry_find(&a, "plum", NULL, &err), &plum);
    assert_null(rlt_registry_origin(&a, 1));
    assert_string_equal(rlt_registry_origin(&a, 2), "test");
    assert_null(rlt_registry_origin(&a, 3));
    assert_int_equal(err.code, 0);
}

static void messages(void **state)
{
    (void)state;
    static rlt_registry r = RLT_REGISTRY_OF_ARRAY("fruit", RLT_ERANGE, entries);
    rlt_error err = {0};
    assert_null(rlt_registry_find(&r, "appel", "--fruit", &err));
    assert_int_equal(err.code, RLT_ERANGE);
    assert_string_equal(err.where, "--fruit");
    assert_string_equal(err.what, "unknown fruit 'appel'; did you mean 'apple'?");
    err = (rlt_error){0};
    assert_null(rlt_registry_find(&r, "walnut", NULL, &err));
    assert_string_equal(err.what, "unknown fruit 'walnut'; known are apple, pear");
    err = (rlt_error){0};
    assert_null(rlt_registry_find(&r, "", NULL, &err));
    assert_string_equal(err.what, "unknown fruit ''; known are apple, pear");
}

static void refusals(void **state)
{
    (void)state;
    static rlt_registry r = RLT_REGISTRY("fruit", RLT_EUSAGE, pointers);
    static const struct {
        fruit entry;
        const char *says;
    } bad[] = {{{"apple", "again", 0}, "fruit 'apple' exists already"},
               {{"", "none", 0}, "expected the name"},
               {{NULL, "none", 0}, "expected the name"},
               {{"a,b", "a comma", 0}, "expected the name"},
               {{"A", "a capital", 0}, "expected the name"},
               {{"a123456789a123456789a123456789a123456789a123456789a123456789a1234", "65 characters", 0},
                "expected the name"},
               {{"fig", NULL, 0}, "fruit 'fig' has no summary"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_registry_add(&r, &bad[i].entry, "mine.so", &err), RLT_ESCHEMA);
        assert_non_null(strstr(err.what, bad[i].says));
        assert_string_equal(err.where, "mine.so");
        assert_null(rlt_registry_at(&r, 2));
    }
}

static void full(void **state)
{
    (void)state;
    static rlt_registry r = RLT_REGISTRY("fruit", RLT_EUSAGE, pointers);
    static char names[RLT_REGISTRY_ADDED + 1][16];
    static fruit more[RLT_REGISTRY_ADDED + 1];
    for (uint32_t i = 0; i <= RLT_REGISTRY_ADDED; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        more[i] = (fruit){names[i], "one more", 0};
        assert_int_equal(rlt_registry_add(&r, &more[i], NULL, NULL), i < RLT_REGISTRY_ADDED ? 0 : RLT_ERANGE);
    }
    assert_ptr_equal(rlt_registry_at(&r, 1 + RLT_REGISTRY_ADDED), &more[RLT_REGISTRY_ADDED - 1]);
    assert_null(rlt_registry_at(&r, 2 + RLT_REGISTRY_ADDED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order_and_names), cmocka_unit_test(messages),
                                       cmocka_unit_test(refusals), cmocka_unit_test(full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
