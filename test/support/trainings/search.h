/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches for layouts as a user asks for them, by options; and a walk over all points of a small space, each
 * simulated, which tests compare with what is searched, learned and advised.
 */
#ifndef RLT_TEST_SUPPORT_TRAININGS_SEARCH_H
#define RLT_TEST_SUPPORT_TRAININGS_SEARCH_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "test/support/option_words.h"
#include "test/support/support.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/run/training.h"
#include "workload/experiment/run/workload.h"
#include "workload/plan/plan.h"
#include "workload/setup/settings.h"

static const rlt_option_group search_groups[] = {
    {"Training", rlt_training_options, 0},
    {"Workload", rlt_workload_options, 0},
    {"Network", rlt_settings_options, offsetof(rlt_run_settings, sim)},
    {"What if", rlt_what_if_options, 0},
    {0}};

/* Options that were given. They are parsed where the struct is: it must not move. */
typedef struct search_asked {
    rlt_run_settings settings;
    rlt_parsed args;
} search_asked;

static inline void search_begin(search_asked *a)
{
    *a = (search_asked){.args = {0}};
    assert_int_equal(rlt_options_begin(search_groups, &a->settings, &a->args, &(rlt_error){0}), 0);
}

/* The text is borrowed. */
static inline void search_give(search_asked *a, const char *name, const char *text)
{
    rlt_error err = {0};
    if (test_give_option(search_groups, &a->args, name, text, &err))
        fail_msg("%s: %s", err.where, err.what);
}

static inline void search_finish(search_asked *a)
{
    rlt_error err = {0};
    if (rlt_options_finish(&a->args, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* A question in words. NULL: not given. */
typedef struct search_words {
    const char *topology, *model, *layout, *train, *strategy, *dim_scale[2], *compute_scale;
    const char *rank_scale[9]; /* up to the first NULL */
} search_words;

static inline void search_ask(search_asked *a, const search_words *w)
{
    const struct {
        const char *name, *text;
    } all[] = {{"topology", w->topology},      {"model", w->model},
               {"layout", w->layout},          {"train", w->train},
               {"strategy", w->strategy},      {"dim-scale", w->dim_scale[0]},
               {"dim-scale", w->dim_scale[1]}, {"compute-scale", w->compute_scale},
               {"accelerator", "a100-80gb"}};
    search_begin(a);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].text)
            search_give(a, all[i].name, all[i].text);
    for (const char *const *one = w->rank_scale; *one; one++)
        search_give(a, "rank-scale", *one);
    search_finish(a);
}

/* The words of a search under factors, as settings say them. */
typedef struct search_factored {
    search_words words;
    char bandwidth[40], efficiency[40], train[400];
} search_factored;

static inline void search_under(search_factored *f, const search_words *w, double bandwidth,
                                double efficiency, double half_sizes)
{
    f->words = *w;
    snprintf(f->bandwidth, sizeof f->bandwidth, "1=%.6g", bandwidth);
    snprintf(f->efficiency, sizeof f->efficiency, "%.6g", efficiency);
    snprintf(f->train, sizeof f->train, "%s,half_sizes=%.6g", w->train, half_sizes);
    f->words.dim_scale[w->dim_scale[0] ? 1 : 0] = f->bandwidth;
    f->words.compute_scale = f->efficiency;
    f->words.train = f->train;
}

/* Opens a search. Closing: rlt_layouts_close, then rlt_parsed_free. */
static inline void search_open(rlt_layouts *l, search_asked *a, const search_words *w)
{
    rlt_error err = {0};
    search_ask(a, w);
    *l = (rlt_layouts){.n_given = 0};
    if (rlt_layouts_open(l, &a->settings, &a->args, &err))
        fail_msg("%s %s: %s: %s", w->layout ? w->layout : "", w->train ? w->train : "", err.where, err.what);
}

enum { SEARCH_MOST = 4096 };

/* All possible points of a space, simulated: the fastest first. */
typedef struct search_walk {
    rlt_layout_point points[SEARCH_MOST];
    uint32_t n;
    char rule[340]; /* that most points are against */
} search_walk;

/* `headroom`: share of the memory that stays free; below 0: layouts may need more than there is. */
static inline void search_all(const search_words *w, double headroom, search_walk *out)
{
    search_asked a;
    rlt_layouts l;
    rlt_error err = {0};
    const rlt_layout_search all = {.no_bounds = true, .headroom = headroom};
    search_open(&l, &a, w);
    if (rlt_layouts_find(&l, &all, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_true(l.result.n <= SEARCH_MOST);
    out->n = l.result.n;
    if (out->n)
        memcpy(out->points, l.result.points, out->n * sizeof *out->points);
    double most = 0;
    for (uint32_t i = 0; i < l.result.n_reasons; i++) {
        const rlt_layout_reason *r = &l.result.reasons[i];
        if (r->points > most)
            snprintf(out->rule, sizeof out->rule, "%s%s%s", r->where, *r->where ? ": " : "", r->what);
        most = r->points > most ? r->points : most;
    }
    rlt_layouts_close(&l);
    rlt_parsed_free(&a.args);
}

/* The point of a walk with the same values; NULL: there is none. */
static inline const rlt_layout_point *search_same(const search_walk *w, const rlt_layout_point *p)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (memcmp(w->points[i].at, p->at, sizeof p->at) == 0)
            return &w->points[i];
    return NULL;
}

#endif
