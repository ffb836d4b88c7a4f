/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small spaces of layouts at random, and a walk over all their points that shares no code with the search: an
 * odometer over the values, and for each point its plan, its memory and its simulated time.
 */
#ifndef RLT_TEST_SUPPORT_TRAININGS_LAYOUTS_H
#define RLT_TEST_SUPPORT_TRAININGS_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/trainings/training.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/plan/plan.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/setup/locate.h"
#include "workload/timing/timing.h"
#include "workload/training/training.h"

enum { LAYOUTS_MOST = 160 }; /* points of a drawn space */

/* A training on a network, with a space of its layouts. */
typedef struct layouts {
    fixture f;
    char model[160], network[160];
    uint32_t ranks;
    rlt_topology *topology;
    rlt_replay_options how;
    rlt_layout_space space;
} layouts;

/* What the walk knows of a point. */
typedef struct layouts_point {
    uint16_t at[RLT_LAYOUT_AXES];
    bool planned, repeats;
    double memory_bytes;
    rlt_time time_ps;
    rlt_schedule schedule;
    uint32_t pp, vp;
} layouts_point;

typedef struct layouts_walk {
    layouts_point *points;
    uint32_t n;
} layouts_walk;

static inline const char *layouts_pick(dice *r, const char *const *of)
{
    uint32_t n = 0;
    while (of[n])
        n++;
    return of[below(r, n)];
}

/* Draws a network of 2 to 16 ranks: its shape, and the bandwidths of its dimensions. */
static inline void layouts_network(layouts *l, dice *r)
{
    static const struct {
        uint32_t ranks, inner;
        const char *shapes[2];
    } of[] = {{2, 2, {"switch"}},
              {2, 2, {"ring"}},
              {3, 3, {"ring"}},
              {4, 4, {"ring"}},
              {4, 2, {"switch", "ring"}},
              {5, 5, {"switch"}},
              {6, 3, {"ring", "switch"}},
              {6, 2, {"fully-connected", "ring"}},
              {6, 6, {"switch"}},
              {7, 7, {"ring"}},
              {8, 4, {"switch", "switch"}},
              {8, 2, {"ring", "switch"}},
              {8, 8, {"switch"}},
              {9, 3, {"ring", "switch"}},
              {9, 9, {"fully-connected"}},
              {12, 4, {"switch", "ring"}},
              {12, 6, {"ring", "switch"}},
              {15, 5, {"switch", "ring"}},
              {16, 8, {"switch", "switch"}},
              {16, 4, {"fully-connected", "ring"}}};
    static const char *const fast[] = {"300GB/s,500ns", "100GB/s,0ns", "50GB/s,2us", NULL};
    static const char *const slow[] = {"25GB/s,2us", "5GB/s,1us", "100GB/s,500ns", NULL};
    uint32_t k = below(r, sizeof of / sizeof *of);
    l->ranks = of[k].ranks;
    int n = snprintf(l->network, sizeof l->network, "%s:%u@%s", of[k].shapes[0], of[k].inner,
                     layouts_pick(r, of[k].shapes[1] ? fast : slow));
    if (of[k].shapes[1])
        snprintf(l->network + n, sizeof l->network - (size_t)n, "*%s:%u@%s", of[k].shapes[1],
                 of[k].ranks / of[k].inner, layouts_pick(r, slow));
}

/* Draws a transformer of 2 to 9 blocks, with large logits on its last stage, and experts in one of three. */
static inline void layouts_model(layouts *l, dice *r)
{
    static const uint32_t heads[] = {4, 6, 8, 10, 12, 15, 16, 9, 14}, experts[] = {2, 3, 4, 6, 8};
    uint32_t h = heads[below(r, 9)];
    int n = snprintf(l->model, sizeof l->model,
                     "transformer:layers=%u,hidden=%u,heads=%u,vocabulary=%u,sequence=%u,tied=%s",
                     2 + below(r, 8), h * (below(r, 2) ? 32 : 128), h, 2000 + 6000 * below(r, 6),
                     240U << below(r, 3), below(r, 2) ? "yes" : "no");
    if (below(r, 3) == 0)
        snprintf(l->model + n, sizeof l->model - (size_t)n, ",experts=%u,top_k=%u", experts[below(r, 5)],
                 1 + below(r, 2));
}

/* Settings that are no axes: usually few differ from the defaults. */
static inline void layouts_settings(layouts *l, dice *r)
{
    static const char *const few[][4] = {
        {"overlap", "off", "on"},    {"prefetch", "off", "on"},      {"drain", "on", "off"},
        {"split", "time", "blocks"}, {"reshard", "on", "off"},       {"scatter_gather", "on", "off"},
        {"tie", "off", "on"},        {"bucket", "1MiB", "100MiB"},   {"fragmentation", "1.1", "1.02"},
        {"loss", "12", "6"},         {"gathered", "2", "1"},         {"context", "1GB", "1MB"},
        {"checkpoint", "2", "3"},    {"accumulate", "4", "6"},       {"gradient", "4", "2"},
        {"pass", "20us", "1us"},     {"host", "1ms", "1us"},         {"state", "8", "16"},
        {"tp_overlap", "on", "off"}, {"expert_overlap", "on", "off"}};
    static const char *const batches[] = {"12", "16", "24", "30", "36", "48", NULL};
    test_set(&l->f, "batch", layouts_pick(r, batches));
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        if (below(r, 6) == 0)
            test_set(&l->f, few[i][0], few[i][1 + below(r, 2)]);
}

/* Appends a random subset of the values of an axis, in a random order: "tp=4+1". */
static inline uint32_t layouts_subset(const rlt_layout_axis *a, uint32_t most, dice *r, char *text,
                                      size_t size)
{
    uint32_t n = 1 + below(r, most < a->n ? most : a->n);
    uint64_t taken = 0;
    size_t length = (size_t)snprintf(text, size, "%s", a->name);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = below(r, a->n);
        while (taken >> v & 1)
            v = (v + 1) % a->n;
        taken |= (uint64_t)1 << v;
        length += (size_t)snprintf(text + length, size - length, "%c%s", i ? '+' : '=', a->values[v]);
    }
    return n;
}

/* Draws the values: first all that there are, then some of each axis, until the space is small. */
static inline void layouts_space(layouts *l, dice *r)
{
    static const char *const rare[] = {"schedule=gpipe+1f1b",          "schedule=zero-bubble+1f1b+gpipe",
                                       "schedule=interleaved+1f1b",    "schedule=1f1b+dualpipev",
                                       "schedule=message+1f1b",        "schedule=interleaved",
                                       "recompute=products+none+full", NULL};
    static const char *const of_experts[] = {"etp=1+2", "dispatch_precision=element+fp8", NULL};
    rlt_layout_space all;
    char texts[RLT_LAYOUT_AXES][256];
    const char *given[RLT_LAYOUT_AXES];
    uint32_t at[RLT_LAYOUT_AXES], size = 1;
    if (rlt_layout_space_open(&l->f.t, l->ranks, NULL, 0, &all, &l->f.err))
        fail_msg("%s: %s", l->f.err.where, l->f.err.what);
    for (uint32_t i = 0; i < all.n; i++)
        at[i] = i;
    for (uint32_t i = all.n; i > 1; i--) { /* axes that come first get more values */
        uint32_t k = below(r, i), swap = at[k];
        at[k] = at[i - 1];
        at[i - 1] = swap;
    }
    for (uint32_t i = 0; i < all.n; i++) {
        const rlt_layout_axis *a = &all.axes[at[i]];
        const char *other = below(r, 4) ? NULL : layouts_pick(r, rare);
        given[at[i]] = texts[at[i]];
        if (other && strncmp(other, a->name, strlen(a->name)) == 0 && size * 3 <= LAYOUTS_MOST) {
            snprintf(texts[at[i]], sizeof *texts, "%s", other);
            size *= 3;
        } else
            size *= layouts_subset(a, LAYOUTS_MOST / size < 4 ? LAYOUTS_MOST / size : 4, r, texts[at[i]],
                                   sizeof *texts);
    }
    uint32_t n = all.n;
    if (size * 2 <= LAYOUTS_MOST && strstr(l->model, "experts") && below(r, 2))
        given[n++] = layouts_pick(r, of_experts);
    if (rlt_layout_space_open(&l->f.t, l->ranks, given, n, &l->space, &l->f.err))
        fail_msg("%s: %s", l->f.err.where, l->f.err.what);
    rlt_layout_space_free(&all);
}

/* Draws a case. The accelerator has room for everything. */
static inline void layouts_draw(layouts *l, dice *r)
{
    static rlt_accelerator a100;
    static const char *const accelerators[] = {"a100-80gb", NULL};
    *l = (layouts){.ranks = 0};
    if (!a100.memory_bytes)
        assert_int_equal(rlt_find_accelerator(accelerators[0], &a100, &l->f.err), 0);
    layouts_network(l, r);
    layouts_model(l, r);
    test_begin(&l->f);
    if (below(r, 4))
        l->f.accelerator = a100;
    l->f.accelerator.memory_bytes = (uint64_t)1 << 60;
    if (rlt_model_open(l->model, &l->f.model, &l->f.err) ||
        rlt_topology_load(l->network, NULL, &l->topology, &l->f.err))
        fail_msg("%s: %s", l->f.err.where, l->f.err.what);
    l->f.t.node = 4;
    layouts_settings(l, r);
    layouts_space(l, r);
    l->how = rlt_replay_options_default();
    l->how.topology = l->topology;
    l->how.endpoint = *rlt_topology_endpoint(l->topology);
    l->how.model = below(r, 3) ? &rlt_net_flow : &rlt_net_alpha_beta;
    l->how.overlap_slowdown = below(r, 2) ? l->f.accelerator.overlap_slowdown : 1.25;
}

static inline void layouts_free(layouts *l)
{
    rlt_layout_space_free(&l->space);
    rlt_topology_free(l->topology);
    rlt_model_free(&l->f.model);
}

/* Says which case failed. */
static inline const char *layouts_name(const layouts *l, uint32_t i, const char *what)
{
    static char text[1400];
    int n = snprintf(text, sizeof text, "case %u, %s: %s on %s, %s", i, what, l->model, l->network,
                     l->how.model->name);
    for (uint32_t a = 0; a < l->space.n && n < 1000; a++) {
        n += snprintf(text + n, sizeof text - (size_t)n, " %s=", l->space.axes[a].name);
        for (uint32_t v = 0; v < l->space.axes[a].n && n < 1200; v++)
            n +=
                snprintf(text + n, sizeof text - (size_t)n, "%s%s", v ? "+" : "", l->space.axes[a].values[v]);
    }
    return text;
}

static inline void layouts_values(const layouts *l, const uint16_t *at, char *text, size_t size)
{
    int n = 0;
    *text = 0;
    for (uint32_t a = 0; a < l->space.n && n < (int)size; a++)
        n += snprintf(text + n, size - (size_t)n, " %s=%s", l->space.axes[a].name,
                      l->space.axes[a].values[at[a]]);
}

/* Looks at one point: its plan, the memory of its fullest stage, its time. */
static inline void layouts_look(const layouts *l, rlt_timing *alone, layouts_point *p)
{
    rlt_error err = {0};
    rlt_training t;
    rlt_layout_point at = {.bound_ps = 0};
    memcpy(at.at, p->at, sizeof at.at);
    if (rlt_layout_training(&l->space, &l->f.t, l->ranks, &at, &t, &err))
        return;
    p->planned = true;
    p->repeats = rlt_layout_repeats(&l->space, &t, &at);
    p->schedule = t.schedule;
    p->pp = t.size[RLT_AXIS_PP];
    p->vp = t.vp;
    for (uint32_t stage = 0; stage < t.size[RLT_AXIS_PP]; stage++) {
        double bytes = rlt_training_memory_of(&t, stage).total;
        p->memory_bytes = bytes > p->memory_bytes ? bytes : p->memory_bytes;
    }
    if (rlt_layout_simulate(&t, &l->how, true, alone, NULL, &p->time_ps, &err))
        fail_msg("%s: %s", err.where, err.what);
}

/* Looks at every point, in the order of its values. */
static inline layouts_walk layouts_walk_all(const layouts *l)
{
    rlt_error err = {0};
    rlt_timing *alone = NULL;
    uint16_t at[RLT_LAYOUT_AXES] = {0};
    layouts_walk w = {.points = NULL};
    w.points = calloc((size_t)rlt_layout_size(&l->space), sizeof *w.points);
    assert_non_null(w.points);
    assert_int_equal(rlt_timing_alone(&l->how, &alone, &err), 0);
    for (uint32_t i = 0; i < l->space.n;) {
        layouts_point *p = &w.points[w.n++];
        memcpy(p->at, at, sizeof at);
        layouts_look(l, alone, p);
        for (i = 0; i < l->space.n; i++) {
            uint32_t a = l->space.n - 1 - i;
            if (++at[a] < l->space.axes[a].n)
                break;
            at[a] = 0;
        }
    }
    rlt_timing_free(alone);
    return w;
}

/* Draws cases until one has this many points at least that can be planned and do not repeat another. */
static inline layouts_walk layouts_draw_walked(layouts *l, dice *r, uint32_t least)
{
    for (;;) {
        layouts_draw(l, r);
        layouts_walk w = layouts_walk_all(l);
        uint32_t n = 0;
        for (uint32_t k = 0; k < w.n; k++)
            n += w.points[k].planned && !w.points[k].repeats;
        if (n >= least)
            return w;
        free(w.points);
        layouts_free(l);
    }
}

/* Returns the fastest point that fits, the first among equals; NULL: none fits. */
static inline const layouts_point *layouts_fastest(const layouts_walk *w, double room)
{
    const layouts_point *best = NULL;
    for (uint32_t i = 0; i < w->n; i++) {
        const layouts_point *p = &w->points[i];
        if (p->planned && !p->repeats && p->memory_bytes <= room && (!best || p->time_ps < best->time_ps))
            best = p;
    }
    return best;
}

#endif
