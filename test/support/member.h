/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experiments of a pool of shared inputs, from words such as "topology=switch:3@1GB/s,500ns no-skew". */
#ifndef RLT_TEST_SUPPORT_MEMBER_H
#define RLT_TEST_SUPPORT_MEMBER_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "test/support/ask.h"
#include "test/support/run_words.h"
#include "test/support/support.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/prepared.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/shared.h"

enum { MOST_WORDS = 24 };

typedef struct member {
    char text[600];
    rlt_option_text items[MOST_WORDS];
    rlt_option_texts texts;
    union {
        rlt_run_settings run;
        rlt_coll_settings coll;
    } settings;
    rlt_parsed parsed;
    rlt_prepared prepared;
} member;

static inline int enter(member *m, rlt_shared *s, rlt_experiment_kind kind, const char *words, rlt_error *err)
{
    const rlt_option_group *groups = kind == RLT_EXPERIMENT_RUN ? test_run_groups : test_ask_groups;
    *m = (member){.texts = {.items = m->items}};
    snprintf(m->text, sizeof m->text, "%s", words);
    for (char *rest = m->text, *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        const rlt_option *o;
        uint32_t i = 0;
        if (value)
            *value++ = '\0';
        while ((o = rlt_option_at(groups, i, NULL)) && strcmp(o->name, word) != 0)
            i++;
        assert_non_null(o);
        assert_true(m->texts.n < MOST_WORDS);
        m->items[m->texts.n++] = (rlt_option_text){i, value ? value : ""};
    }
    m->prepared =
        (rlt_prepared){.kind = kind, .texts = &m->texts, .parsed = &m->parsed, .settings = &m->settings};
    int rc = rlt_options_fill(groups, m->items, m->texts.n, &m->settings, &m->parsed, err);
    return rc ? rc : rlt_prepare(&m->prepared, s, err);
}

static inline void leave(member *m)
{
    rlt_prepared_end(&m->prepared);
    rlt_parsed_free(&m->parsed);
    *m = (member){.texts = {.n = 0}};
}

#endif
