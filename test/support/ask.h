/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An experiment on collectives from one text of settings: "collective=broadcast bytes=1MiB no-fold ...". */
#ifndef RLT_TEST_SUPPORT_ASK_H
#define RLT_TEST_SUPPORT_ASK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/watch.h"
#include "test/support/option_words.h"
#include "workload/experiment/coll/coll.h"
#include "workload/setup/settings.h"

static const rlt_option_group test_ask_groups[] = {
    {"Collective", rlt_coll_options, 0},
    {"Network", rlt_settings_options, offsetof(rlt_coll_settings, sim)},
    {0}};

typedef struct test_ask {
    char text[1000]; /* the settings point into it */
    rlt_coll_settings settings;
    rlt_parsed args;
    rlt_coll_ask ask;
} test_ask;

/* Only reads the words. */
static inline void test_ask_read(test_ask *a, const char *text)
{
    rlt_error err = {0};
    *a = (test_ask){.args = {0}};
    assert_true(strlen(text) < sizeof a->text);
    snprintf(a->text, sizeof a->text, "%s", text);
    assert_int_equal(rlt_options_begin(test_ask_groups, &a->settings, &a->args, &err), 0);
    if (test_give_words(test_ask_groups, &a->args, a->text, &err))
        fail_msg("%s: %s", err.where, err.what);
    a->ask = (rlt_coll_ask){.settings = &a->settings, .args = &a->args};
}

static inline void test_ask_free(test_ask *a)
{
    rlt_coll_close(&a->ask);
    rlt_parsed_free(&a->args);
}

/* Opens what can be opened. */
static inline void test_ask_open(test_ask *a, const char *text, bool compare)
{
    rlt_error err = {0};
    test_ask_read(a, text);
    if (rlt_coll_open(&a->ask, compare, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
}

#endif
