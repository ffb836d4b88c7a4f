/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options as a user gives them, from one text: "topology=switch:4@1GB/s,1us set=mtu=1500B no-fold". */
#ifndef RLT_TEST_SUPPORT_OPTION_WORDS_H
#define RLT_TEST_SUPPORT_OPTION_WORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/options.h"

/* Gives one option; a flag has no text. The text is borrowed by the settings. */
static inline int test_give_option(const rlt_option_group *groups, rlt_parsed *args, const char *name,
                                   const char *text, rlt_error *err)
{
    const rlt_option *o;
    uint32_t i = 0;
    for (; (o = rlt_option_at(groups, i, NULL)) && strcmp(o->name, name) != 0; i++)
        ;
    if (!o)
        fail_msg("there is no option %s", name);
    return rlt_options_give(args, i, text ? text : "", err);
}

/* Gives all words of a text, which it cuts, and finishes. Between rlt_options_begin and rlt_parsed_free. */
static inline int test_give_words(const rlt_option_group *groups, rlt_parsed *args, char *text,
                                  rlt_error *err)
{
    int rc = 0;
    for (char *rest = text, *word; !rc && (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        rc = test_give_option(groups, args, word, value, err);
    }
    return rc ? rc : rlt_options_finish(args, err);
}

#endif
