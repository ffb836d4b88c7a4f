/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An adaptive sample. The first round takes places in random order. Each later round takes neighbours of the
 * best places so far: one value up or down on one axis. It begins with those of the best place, and fills up
 * from the random order. Replicas count by their mean. A round depends only on earlier rounds, so a sweep
 * that is continued chooses the same places.
 */
#include <stdlib.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "tools/sweep/sweep.h"

typedef struct scored {
    double value;
    uint32_t draw;
} scored;

typedef struct chooser {
    rlt_sweep_study *study;
    rlt_map seen;
    uint32_t end;    /* end of the round */
    uint64_t random; /* next index in the random order */
} chooser;

static int compare(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->draw < y->draw ? -1 : 1;
}

static int add(chooser *c, uint64_t place, rlt_error *err)
{
    rlt_sweep_study *s = c->study;
    uint32_t at[RLT_SWEEP_AXES];
    if (rlt_map_get(&c->seen, place) != RLT_NONE || !rlt_sweep_keeps(s, place, at))
        return 0;
    s->chosen[s->n_chosen++] = place;
    return rlt_map_put(&c->seen, place, 1) ? rlt_nomem(err) : 0;
}

/* Lists the places of earlier rounds with their scores. Failed points are left out. */
static int score(const rlt_sweep_study *s, rlt_store *store, scored *list, uint32_t *n, rlt_error *err)
{
    int rc = 0;
    *n = 0;
    for (uint32_t d = 0; d < s->n_chosen && !rc; d++) {
        double sum = 0, value;
        bool there, all = true;
        for (uint32_t r = 0; r < s->replicas && !rc; r++) {
            rc = rlt_store_figure(store, (uint64_t)d * s->replicas + r, s->aim.column, &value, &there, err);
            sum += there ? value : 0;
            all &= there;
        }
        if (all)
            list[(*n)++] = (scored){s->aim.max ? -sum : sum, d};
    }
    qsort(list, *n, sizeof *list, compare);
    return rc;
}

static int add_neighbours(chooser *c, uint64_t place, rlt_error *err)
{
    const rlt_sweep_study *s = c->study;
    uint32_t at[RLT_SWEEP_AXES];
    int rc = 0;
    (void)rlt_sweep_keeps(s, place, at);
    for (uint32_t a = 0; a < s->n_axes; a++)
        for (int step = -1; step <= 1 && !rc && s->n_chosen < c->end; step += 2) {
            uint32_t was = at[a];
            if (s->axes[a].from || (step < 0 && was == 0) || (step > 0 && was + 1 == s->axes[a].n))
                continue;
            at[a] = step < 0 ? was - 1 : was + 1;
            rc = add(c, rlt_sweep_place_at(s, at), err);
            at[a] = was;
        }
    return rc;
}

int rlt__sweep_choose(rlt_sweep_study *s, rlt_store *store, rlt_error *err)
{
    chooser c = {.study = s};
    scored *list = calloc((size_t)s->n_chosen + 1, sizeof *list);
    uint32_t n = 0, before = s->n_chosen;
    int rc = list ? score(s, store, list, &n, err) : rlt_nomem(err);
    c.end = s->wanted - before < s->round ? s->wanted : before + s->round;
    for (uint32_t i = 0; i < before && !rc; i++)
        rc = rlt_map_put(&c.seen, s->chosen[i], 1) ? rlt_nomem(err) : 0;
    for (uint32_t i = 0; i < n && i < s->round && !rc && s->n_chosen < c.end; i++)
        rc = add_neighbours(&c, s->chosen[list[i].draw], err);
    for (uint64_t k = 0; k < s->grid && !rc && s->n_chosen < c.end; k++)
        rc = add(&c, rlt_sweep_permute(s, k), err);
    rlt_map_free(&c.seen);
    free(list);
    return rc;
}
