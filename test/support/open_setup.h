/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A setup from the words of its settings: "topology=switch:4@1GB/s,1us set=mtu=1500B". */
#ifndef RLT_TEST_SUPPORT_OPEN_SETUP_H
#define RLT_TEST_SUPPORT_OPEN_SETUP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "collectives/in_network/reactive.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "test/support/option_words.h"
#include "workload/setup/settings.h"

static const rlt_option_group test_setup_groups[] = {{"Network", rlt_settings_options, 0}, {0}};

typedef struct test_setup {
    char text[500]; /* the settings point into it */
    rlt_settings settings;
    rlt_parsed args;
    rlt_setup setup; /* where is_open */
    const rlt_reactive *protocols[4];
    bool is_open;
} test_setup;

/* Opens the setup of these words, with the protocols that a text of algorithms names (NULL: none). Its errors are
 * those of the words and of rlt_setup_open. test_setup_close after all. */
static inline int test_setup_open(test_setup *s, const char *words, const char *algorithm, rlt_error *err)
{
    *s = (test_setup){.args = {0}};
    *err = (rlt_error){0};
    assert_int_equal(rlt_options_begin(test_setup_groups, &s->settings, &s->args, err), 0);
    assert_true(snprintf(s->text, sizeof s->text, "%s", words) < (int)sizeof s->text);
    int rc = test_give_words(test_setup_groups, &s->args, s->text, err);
    s->settings.protocols = s->protocols;
    s->settings.n_protocols = rlt_named_protocols(algorithm, s->protocols, 4);
    if (!rc)
        rc = rlt_setup_open(&s->settings, 0, &s->setup, err);
    s->is_open = rc == 0;
    return rc;
}

static inline void test_setup_close(test_setup *s)
{
    if (s->is_open)
        rlt_setup_free(&s->setup);
    rlt_parsed_free(&s->args);
}

#endif
