/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Order in which a stage works on microbatches. With p stages and forward and backward times t_f and t_b of a
 * stage, the idle time of a stage is
 *
 *   GPipe, 1F1B   (p - 1) (t_f + t_b)
 *   interleaved   (p - 1) (t_f + t_b) / v for v chunks per stage (arXiv 2104.04473, section 2.2)
 *   ZB-H1         (p - 1) (t_f + t_b - t_w), where t_w is the time of the weight gradients and t_b that of
 *                 the input gradients only (arXiv 2401.10241, table 1)
 *
 * Example: p = 4, t_f = 1 ms and a backward pass of 2 ms idle for 9 ms, and for 4.5 ms with v = 2. ZB-H1 with
 * t_b = t_w = 1 ms idles for 3 ms.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

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
    else if (t->schedule != RLT_SCHEDULE_GPIPE)
        n = p - stage;
    return n < m * t->vp ? n : m * t->vp;
}
