/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/layouts/layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/aggregation/tree.h"
#include "net/topology/topology.h"
#include "sim/base/mem.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "workload/experiment/run/mapping.h"
#include "workload/experiment/run/training.h"
#include "workload/models/model.h"
#include "workload/setup/settings.h"
#include "workload/training/training.h"

enum { MAX_GIVEN = 64 };

static const char *const of_layout[] = {"tp", "cp", "pp", "ep", "etp", "vp", "sp", "order", NULL};

/* Keeps an axis and its values. Later settings take the place of earlier ones. */
static int give(rlt_layouts *l, const char *item, size_t length, rlt_error *err)
{
    size_t name = strcspn(item, "=") + 1;
    char *copy = malloc(length + 1);
    int rc = copy ? rlt_grow(&l->given, &l->given_room, sizeof *l->given, (uint64_t)l->n_given + 1, MAX_GIVEN,
                             "axes", err)
                  : rlt_nomem(err);
    if (rc) {
        free(copy);
        return rc;
    }
    snprintf(copy, length + 1, "%.*s", (int)length, item);
    for (uint32_t i = 0; i < l->n_given; i++)
        if (strncmp(l->given[i], copy, name) == 0) {
            free(l->given[i]);
            l->given[i] = copy;
            return 0;
        }
    l->given[l->n_given++] = copy;
    return 0;
}

/* Takes the axes out of a list of settings. *rest is the list without them, malloc'ed; NULL: nothing. */
static int take_axes(rlt_layouts *l, const char *list, char **rest, rlt_error *err)
{
    const char *item;
    size_t length, used = 0;
    int rc = 0;
    *rest = NULL;
    if (!list)
        return 0;
    if ((rc = rlt_names_once(list, err)))
        return rc;
    char *text = malloc(strlen(list) + 1);
    if (!text)
        return rlt_nomem(err);
    while (!rc && (item = rlt_next_item(&list, ',', &length))) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "=,"), item);
        bool free_dp = strcmp(name, "dp") == 0 && length == 7 && strncmp(item + 3, "auto", 4) == 0;
        if (rlt_layout_is_axis(name))
            rc = give(l, item, length, err);
        else if (!free_dp)
            used += (size_t)sprintf(text + used, "%s%.*s", used ? "," : "", (int)length, item);
    }
    *rest = used ? text : NULL;
    if (!used)
        free(text);
    return rc;
}

/* Takes the axes out of a strategy's own settings; they are applied before those of --layout and --train. */
static int take_strategy(rlt_layouts *l, const char *text, rlt_error *err)
{
    size_t length = strcspn(text, ":");
    char word[64], *rest = NULL;
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), text);
    const rlt_training_strategy *s = rlt_registry_find(rlt_training_strategies(), word, "--strategy", err);
    int rc = s ? take_axes(l, s->settings, &rest, err) : RLT_EUSAGE;
    free(rest);
    rest = NULL;
    if (!rc)
        rc = take_axes(l, text[length] ? text + length + 1 : NULL, &rest, err);
    size_t size = strlen(word) + (rest ? strlen(rest) : 0) + 2;
    l->strategy = rc ? NULL : malloc(size);
    if (l->strategy)
        snprintf(l->strategy, size, "%s%s%s", word, rest ? ":" : "", rest ? rest : "");
    free(rest);
    return rc ? rc : l->strategy ? 0 : rlt_nomem(err);
}

uint32_t rlt_layouts_ranks(const rlt_layouts *l)
{
    return l->run.training.ranks ? l->run.training.ranks : l->run.setup.placement.n;
}

/* Reads --rank-scale. A rank may be slower, not faster: bounds of partial layouts do not know it. */
static int read_stragglers(rlt_layouts *l, rlt_error *err)
{
    rlt_run *r = &l->run;
    uint32_t n = rlt_layouts_ranks(l);
    int rc = rlt_run_rank_scales(r, n, err);
    for (uint32_t i = 0; i < n && !rc && r->compute_scale; i++)
        if (r->compute_scale[i] > 1 || r->host_scale[i] > 1 || r->host_scale[i] < 1)
            rc = rlt_fail(err, RLT_EUSAGE, "--rank-scale",
                          "expected the compute of rank %u at 1 or slower: a search has stragglers only", i);
    r->options.rank_compute_scale = r->compute_scale;
    return rc;
}

int rlt_layouts_open(rlt_layouts *l, const rlt_run_settings *s, const rlt_parsed *args, rlt_error *err)
{
    rlt_run *r = &l->run;
    int rc = s->strategy ? take_strategy(l, s->strategy, err) : 0;
    const char *layout = s->layout && strcmp(s->layout, "auto") == 0 ? NULL : s->layout;
    if (rc || (rc = take_axes(l, layout, &l->layout, err)) || (rc = take_axes(l, s->train, &l->train, err)))
        return rc;
    l->asked = s;
    l->fixed = *s;
    l->fixed.layout = l->layout;
    l->fixed.train = l->train;
    l->fixed.strategy = l->strategy;
    r->args = args;
    r->settings = &l->fixed;
    if ((rc = rlt_setup_open(&l->fixed.sim, 0, &r->setup, err)) ||
        (rc = rlt_reduction_prime(r->setup.topology, err)) ||
        (rc = rlt_training_read(&l->fixed, &r->trained, &r->accelerator, &r->training, err)) ||
        (rc = rlt_mapping_options(r, &r->accelerator, err)))
        return rc;
    if ((rc = read_stragglers(l, err)))
        return rc;
    if (!r->training.batch)
        return rlt_fail(err, RLT_EUSAGE, "--train", "expected batch=N, the samples of an iteration");
    if (!r->training.node)
        r->training.node = rlt_topology_node_size(r->setup.topology);
    r->training.steps = 1;
    return rlt_layout_space_open(&r->training, rlt_layouts_ranks(l), (const char *const *)l->given,
                                 l->n_given, &l->space, err);
}

static rlt_layout_search search_of(const rlt_layouts *l, const rlt_layout_search *how)
{
    rlt_layout_search p = *how;
    p.base = &l->run.training;
    p.how = &l->run.options;
    p.ranks = rlt_layouts_ranks(l);
    p.space = &l->space;
    return p;
}

int rlt_layouts_find(rlt_layouts *l, const rlt_layout_search *how, rlt_error *err)
{
    rlt_layout_search p = search_of(l, how);
    return rlt_layout_find(&p, &l->result, err);
}

int rlt_layouts_draw(rlt_layouts *l, const rlt_layout_search *how, uint32_t n, rlt_time than_ps,
                     rlt_error *err)
{
    const uint64_t seed = 1;
    rlt_layout_search p = search_of(l, how);
    return rlt_layout_draw(&p, n, seed, than_ps, &l->sample, err);
}

int rlt_layouts_training(const rlt_layouts *l, const rlt_layout_point *p, rlt_training *out, rlt_error *err)
{
    return rlt_layout_training(&l->space, &l->run.training, rlt_layouts_ranks(l), p, out, err);
}

/* Writes the settings of a point that belong to --layout, or those that belong to --train, behind others. */
static char *write_settings(const rlt_layouts *l, const rlt_layout_point *p, const char *others, bool layout)
{
    size_t used = 0, size = (others ? strlen(others) : 0) + RLT_LAYOUT_AXES * 48;
    char *text = malloc(size);
    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, "%s", others ? others : "");
    for (uint32_t i = 0; i < l->space.n; i++) {
        const rlt_layout_axis *a = &l->space.axes[i];
        if (rlt_is_one_of(a->name, of_layout) == layout)
            used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? "," : "", a->name,
                                     a->values[p->at[i]]);
    }
    return text;
}

int rlt_layouts_settings(const rlt_layouts *l, const rlt_layout_point *p, char **layout, char **train,
                         rlt_error *err)
{
    *layout = write_settings(l, p, l->layout, true);
    *train = write_settings(l, p, l->train, false);
    return *layout && *train ? 0 : rlt_nomem(err);
}

void rlt_layouts_close(rlt_layouts *l)
{
    rlt_layout_space_free(&l->space);
    rlt_layout_result_free(&l->result);
    rlt_layout_sample_free(&l->sample);
    rlt_run_close(&l->run);
    for (uint32_t i = 0; i < l->n_given; i++)
        free(l->given[i]);
    free(l->given);
    free(l->layout);
    free(l->train);
    free(l->strategy);
    free(l->factored_train);
    free(l->dim_scales);
    *l = (rlt_layouts){0};
}
