/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows left out of the fit, and how far predictions of such rows are off. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"
#include "workload/models/stack.h"

const char *rlt_leave_name(rlt_leave by)
{
    static const char *const names[RLT_LEAVES] = {"group", "accelerator", "source", "generation", "row"};
    return by < RLT_LEAVES ? names[by] : NULL;
}

static bool relatives(const rlt_accelerator *a, const rlt_accelerator *b)
{
    return strcmp(a->name, b->name) == 0 || (*a->generation && strcmp(a->generation, b->generation) == 0);
}

bool rlt_train_together(rlt_leave by, const rlt_train_row *a, const rlt_train_row *b)
{
    switch (by) {
    case RLT_LEAVE_GROUP:
        return a->group == b->group;
    case RLT_LEAVE_ACCELERATOR:
        return a->machine == b->machine;
    case RLT_LEAVE_SOURCE:
        return strcmp(a->source, b->source) == 0;
    case RLT_LEAVE_GENERATION:
        return relatives(a->training.accelerator, b->training.accelerator);
    case RLT_LEAVE_ROW:
    case RLT_LEAVES:
        break;
    }
    return a == b;
}

typedef struct left {
    rlt_leave by;
    const rlt_train_row *row;
} left;

static bool is_left(const void *ctx, const rlt_train_row *r)
{
    const left *l = ctx;
    return rlt_train_together(l->by, l->row, r);
}

int rlt_train_leave_out(rlt_train_predictor *p, rlt_train_rows *t, rlt_train_fit *f, rlt_leave by,
                        rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < t->n && !rc; i++) {
        left l = {by, &t->rows[i]};
        if (*l.row->reason || l.row->left_out_s[by] > 0)
            continue;
        rlt_train_fit_without(p, t, f, is_left, &l);
        for (uint32_t k = i; k < t->n && !rc; k++)
            if (!*t->rows[k].reason && is_left(&l, &t->rows[k]))
                rc = rlt_train_predict(p, &t->rows[k], false, &t->rows[k].left_out_s[by], err);
    }
    rlt_train_fit_apply(p, f, NULL);
    return rc;
}

/* ---- intervals ---- */

typedef struct off {
    double by, weight;
} off;

static int smaller(const void *a, const void *b)
{
    double x = ((const off *)a)->by, y = ((const off *)b)->by;
    return (x > y) - (x < y);
}

static bool counts(const rlt_train_like *of, const rlt_train_row *r)
{
    return !*r->reason && r->left_out_s[of->by] > 0 && r->dense == of->dense &&
           !(of->without && rlt_train_together(of->by, of->without, r));
}

/* Returns the weight of a group, of which `r` is a row. */
static double weight_of(const rlt_train_like *of, const rlt_train_row *r)
{
    const rlt_accelerator *a = r->training.accelerator;
    bool stack = strcmp(of->stack, r->training.stack) == 0;
    if (!of->accelerator)
        return 1;
    if (stack && strcmp(a->name, of->accelerator->name) == 0)
        return 3;
    return stack || relatives(a, of->accelerator) ? 2 : 1;
}

static double quantile(off *list, uint32_t n, double level)
{
    double sum = 0, so_far = 0;
    qsort(list, n, sizeof *list, smaller);
    for (uint32_t i = 0; i < n; i++)
        sum += list[i].weight;
    for (uint32_t i = 0; i < n; i++)
        if ((so_far += list[i].weight) >= level * sum * (1 - 1e-9))
            return list[i].by;
    return n ? list[n - 1].by : 0;
}

rlt_spread rlt_train_spread(const rlt_train_rows *t, const rlt_train_like *of)
{
    const double share = 0.8;
    uint32_t n = 0;
    uint32_t *sizes = calloc((size_t)t->n + 1, sizeof *sizes);
    off *list = malloc(((size_t)t->n + 1) * sizeof *list);
    rlt_spread s = {0};
    for (uint32_t i = 0; sizes && i < t->n; i++)
        if (counts(of, &t->rows[i]))
            sizes[t->rows[i].group]++;
    for (uint32_t i = 0; sizes && list && i < t->n; i++) {
        const rlt_train_row *r = &t->rows[i];
        if (counts(of, r))
            list[n++] =
                (off){fabs(log(r->measured_s / r->left_out_s[of->by])), weight_of(of, r) / sizes[r->group]};
    }
    if (n) {
        double by = quantile(list, n, share);
        s = (rlt_spread){exp(-by), exp(by)};
    }
    free(sizes);
    free(list);
    return s;
}
