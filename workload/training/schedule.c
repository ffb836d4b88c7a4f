/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Order in which a stage works on microbatches. With p stages and forward and backward times t_f and t_b of a
 * stage, the idle time of a stage is
 *
 *   GPipe, 1F1B   (p - 1) (t_f + t_b)
 *   interleaved   (p - 1) (t_f + t_b) / v for v chunks per stage (arXiv 2104.04473, section 2.2)
 *   ZB-H1         (p - 1) (t_f + t_b - t_w), where t_w is the time of the weight gradients and t_b that of
 *                 the input gradients only (arXiv 2401.10241, table 1)
 *   DualPipe      (c / 2 - 1) (t_fb + t_b - 3 t_w) for c chunks of layers, where t_b has t_w in it, t_fb is
 *                 a forward and a backward pass side by side, and t_f = t_b - t_w
 *                 (arXiv 2412.19437, table 2)
 *
 * Example: p = 4, t_f = 1 ms and a backward pass of 2 ms idle for 9 ms, and for 4.5 ms with v = 2. ZB-H1 with
 * t_b = t_w = 1 ms idles for 3 ms. DualPipe with 4 chunks, and these 1 and 2 ms, idles for 3 + 2 - 3 = 2 ms.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

uint32_t rlt__chunks(const rlt_training *t)
{
    return t->size[RLT_AXIS_PP] * t->vp / (t->schedule == RLT_SCHEDULE_DUALPIPE ? 2 : 1);
}

uint32_t rlt__chunk_at(const rlt_training *t, uint32_t stage, uint32_t index)
{
    uint32_t last = rlt__chunks(t) - 1;
    if (!rlt__two_ways(t))
        return stage + index * t->size[RLT_AXIS_PP];
    uint32_t near = stage < last - stage || t->schedule == RLT_SCHEDULE_DUALPIPEV ? stage : last - stage;
    return index ? last - near : near;
}

uint32_t rlt__stage_of(const rlt_training *t, uint32_t chunk)
{
    uint32_t last = rlt__chunks(t) - 1;
    if (rlt__two_ways(t))
        return chunk < last - chunk ? chunk : last - chunk;
    return chunk % t->size[RLT_AXIS_PP];
}

/* Returns true if microbatches come to this chunk of a stage on their way to lower stages. */
static bool downwards(const rlt_training *t, uint32_t stage, uint32_t index)
{
    bool upper = t->schedule == RLT_SCHEDULE_DUALPIPE && stage >= t->size[RLT_AXIS_PP] / 2;
    return rlt__two_ways(t) && (index == 1) != upper;
}

bool rlt__next_stage(const rlt_training *t, uint32_t stage, uint32_t index, int by, uint32_t *next)
{
    uint32_t chunk = rlt__chunk_at(t, stage, index), pp = t->size[RLT_AXIS_PP];
    if (by < 0 ? chunk == 0 : chunk + 1 == rlt__chunks(t))
        return false;
    if (t->schedule == RLT_SCHEDULE_DUALPIPEV)
        *next = rlt__stage_of(t, by < 0 ? chunk - 1 : chunk + 1);
    else
        *next = (stage + ((by < 0) != downwards(t, stage, index) ? pp - 1 : 1)) % pp;
    return *next != stage;
}

void rlt__microbatches_of(const rlt_training *t, uint32_t stage, uint32_t index, uint32_t *first, uint32_t *n)
{
    bool halves = t->schedule == RLT_SCHEDULE_DUALPIPE;
    *n = rlt_training_microbatches(t) / (halves ? 2 : 1);
    *first = halves && downwards(t, stage, index) ? *n : 0;
}

typedef struct list {
    rlt__turn *at;
    uint32_t n;
} list;

static void add(list *l, rlt__pass pass, uint32_t chunk, uint32_t microbatch)
{
    l->at[l->n++] = (rlt__turn){.pass = (uint8_t)pass, .chunk = chunk, .microbatch = microbatch};
}

static void gpipe(list *l, uint32_t m)
{
    for (uint32_t i = 0; i < m; i++)
        add(l, RLT__PASS_FORWARD, 0, i);
    for (uint32_t i = 0; i < m; i++)
        add(l, RLT__PASS_BACKWARD, 0, i);
}

static void one_f_one_b(list *l, uint32_t p, uint32_t stage, uint32_t m)
{
    uint32_t warm = p - 1 - stage < m ? p - 1 - stage : m;
    for (uint32_t i = 0; i < warm; i++)
        add(l, RLT__PASS_FORWARD, 0, i);
    for (uint32_t i = 0; i < m; i++) {
        if (warm + i < m)
            add(l, RLT__PASS_FORWARD, 0, warm + i);
        add(l, RLT__PASS_BACKWARD, 0, i);
    }
}

/* As 1F1B, but the weight gradients of stage `stage` lag its input gradients by `stage` microbatches. They
 * fill the time at the end in which other schedules wait. */
static void zero_bubble(list *l, uint32_t p, uint32_t stage, uint32_t m)
{
    uint32_t warm = p - 1 - stage < m ? p - 1 - stage : m, weights = 0;
    for (uint32_t i = 0; i < warm; i++)
        add(l, RLT__PASS_FORWARD, 0, i);
    for (uint32_t i = 0; i < m; i++) {
        if (warm + i < m)
            add(l, RLT__PASS_FORWARD, 0, warm + i);
        add(l, RLT__PASS_BACKWARD, 0, i);
        l->at[l->n - 1].apart = true;
        if (i >= stage)
            add(l, RLT__PASS_WEIGHTS, 0, weights++);
    }
    while (weights < m)
        add(l, RLT__PASS_WEIGHTS, 0, weights++);
}

/* Microbatches pass through all chunks in groups of p. */
static void interleaved(list *l, uint32_t p, uint32_t v, uint32_t stage, uint32_t m)
{
    uint32_t all = m * v, warm = m == p ? all : (p - stage - 1) * 2 + (v - 1) * p;
    warm = warm < all ? warm : all;
    for (uint32_t k = 0; k < all + warm; k++) {
        uint32_t back = k - warm;
        if (k < all)
            add(l, RLT__PASS_FORWARD, k % (p * v) / p, k / (p * v) * p + k % p);
        if (k >= warm)
            add(l, RLT__PASS_BACKWARD, v - 1 - back % (p * v) / p, back / (p * v) * p + back % p);
    }
}

/* DualPipe: a stage has two chunks of layers. Microbatches come to chunk 0 on their way from the end of the
 * pipeline that is `from` stages away, and to chunk 1 on their way from the other end. DualPipe has two ends
 * at which microbatches start, and two copies of each chunk. DualPipeV folds one pipeline in the middle: its
 * far end is the fold. */
typedef struct dual {
    list *l;
    uint32_t from, half;                       /* half: stages of half a pipeline */
    uint32_t n, first[2];                      /* microbatches of a chunk, and the first one */
    uint32_t forward[2], backward[2], weights; /* passes so far; weights: turns with deferred gradients */
} dual;

static void dual_forward(dual *d, uint32_t chunk)
{
    add(d->l, RLT__PASS_FORWARD, chunk, d->first[chunk] + d->forward[chunk]++);
}

static void dual_backward(dual *d, uint32_t chunk, bool apart)
{
    add(d->l, RLT__PASS_BACKWARD, chunk, d->first[chunk] + d->backward[chunk]++);
    d->l->at[d->l->n - 1].apart = apart;
}

/* Adds the oldest weight gradients that are deferred. */
static void dual_weights(dual *d)
{
    while (!d->l->at[d->weights].apart)
        d->weights++;
    rlt__turn of = d->l->at[d->weights++];
    add(d->l, RLT__PASS_WEIGHTS, of.chunk, of.microbatch);
}

/* Adds a forward pass of a chunk beside a backward pass of the other one. */
static void dual_both(dual *d, uint32_t forward)
{
    dual_forward(d, forward);
    d->l->at[d->l->n - 1].paired = true;
    dual_backward(d, 1 - forward, false);
}

/* Steps of the published schedule (deepseek-ai/DualPipe; figure 5 of the paper shows 8 stages). */
static void dualpipe(dual *d)
{
    uint32_t outer = d->half - 1 - d->from, inner = d->from + 1;
    for (uint32_t i = 0; i < 2 * outer; i++)
        dual_forward(d, 0);
    for (uint32_t i = 0; i < inner; i++) {
        dual_forward(d, 0);
        dual_forward(d, 1);
    }
    for (uint32_t i = 0; i < outer; i++) {
        dual_backward(d, 1, true);
        dual_weights(d);
        dual_forward(d, 1);
    }
    for (uint32_t i = 0; i < d->n + inner - 2 * d->half; i++) {
        if (i == 0 && outer == 0) { /* in the middle the first two do not overlap: the bubble is shorter */
            dual_forward(d, 0);
            dual_backward(d, 1, false);
        } else
            dual_both(d, 0);
        dual_both(d, 1);
    }
    for (uint32_t i = 0; i < outer; i++) {
        dual_backward(d, 1, false);
        dual_both(d, 1);
    }
    for (uint32_t i = 0; i < 2 * inner; i++) /* the second half defers weight gradients */
        dual_backward(d, 1 - i % 2, i >= inner);
    for (uint32_t i = 0; i < outer; i++) {
        dual_weights(d);
        dual_backward(d, 0, true);
    }
    for (uint32_t i = 0; i < inner; i++)
        dual_weights(d);
}

static void two_ways(const rlt_training *t, uint32_t stage, list *l)
{
    dual d = {.l = l, .from = rlt__chunk_at(t, stage, 0), .half = rlt__chunks(t) / 2};
    rlt__microbatches_of(t, stage, 0, &d.first[0], &d.n);
    rlt__microbatches_of(t, stage, 1, &d.first[1], &d.n);
    dualpipe(&d);
}

int rlt__training_turns(const rlt_training *t, uint32_t stage, rlt__turn **turns, uint32_t *n, rlt_error *err)
{
    uint32_t m = rlt_training_microbatches(t), p = t->size[RLT_AXIS_PP];
    list l = {.at = malloc(((size_t)m * t->vp * 3 + 1) * sizeof *l.at)};
    if (!l.at)
        return rlt_nomem(err);
    switch (t->schedule) {
    case RLT_SCHEDULE_1F1B:
        one_f_one_b(&l, p, stage, m);
        break;
    case RLT_SCHEDULE_INTERLEAVED:
        interleaved(&l, p, t->vp, stage, m);
        break;
    case RLT_SCHEDULE_ZERO_BUBBLE:
        zero_bubble(&l, p, stage, m);
        break;
    case RLT_SCHEDULE_DUALPIPE:
    case RLT_SCHEDULE_DUALPIPEV:
        two_ways(t, stage, &l);
        break;
    case RLT_SCHEDULE_GPIPE:
    case RLT_SCHEDULE_MESSAGE: /* any order: messages drive it */
    case RLT_SCHEDULES:
        gpipe(&l, m);
        break;
    }
    *turns = l.at;
    *n = l.n;
    return 0;
}

uint32_t rlt__training_in_flight(const rlt_training *t, uint32_t stage)
{
    uint32_t m = rlt_training_microbatches(t), p = t->size[RLT_AXIS_PP], n = m;
    if (t->schedule == RLT_SCHEDULE_MESSAGE)
        n = stage + 1 < p ? p : 1; /* the last stage begins the backward pass at once */
    else if (t->schedule == RLT_SCHEDULE_INTERLEAVED)
        n = m == p ? m * t->vp : (p - stage - 1) * 2 + (t->vp - 1) * p + 1;
    else if (t->schedule == RLT_SCHEDULE_ZERO_BUBBLE)
        n = p; /* kept until the weight gradients, which lag by `stage` */
    else if (rlt__two_ways(t))
        n = rlt__chunks(t) + 1; /* microbatches of a chunk, at each stage */
    else if (t->schedule != RLT_SCHEDULE_GPIPE)
        n = p - stage;
    return n < m * t->vp ? n : m * t->vp;
}
