/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which order a stage works on microbatches. With p stages, m microbatches and t_f, t_b forward and
 * backward times of a stage, the idle time of a stage is (p - 1)(t_f + t_b) for GPipe and 1F1B, that over v
 * for v chunks a stage (arXiv 2104.04473, section 2.2), (p - 1)(t_f + t_b - t_w) with t_w of the weight
 * gradients for ZB-H1, t_b counting input gradients alone (arXiv 2401.10241, table 1).
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

/* As 1F1B, with the weight gradients of a stage `stage` microbatches behind its input gradients: where others
 * wait at the end, they are done. */
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

/* Groups of p microbatches go through all chunks. */
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
    case RLT_SCHEDULE_MESSAGE: /* in whatever order they come */
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
        n = stage + 1 < p ? p : 1; /* the last stage goes back at once */
    else if (t->schedule == RLT_SCHEDULE_INTERLEAVED)
        n = m == p ? m * t->vp : (p - stage - 1) * 2 + (t->vp - 1) * p + 1;
    else if (t->schedule == RLT_SCHEDULE_ZERO_BUBBLE)
        n = p; /* kept until the weight gradients, which lag by `stage` */
    else if (t->schedule != RLT_SCHEDULE_GPIPE)
        n = p - stage;
    return n < m * t->vp ? n : m * t->vp;
}
