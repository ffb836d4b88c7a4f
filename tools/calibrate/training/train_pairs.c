/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured runs that differ in the dispatcher of their experts only: the faster one, as measured and as
 * predicted. */
#include <string.h>

#include "sim/base/column.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/output.h"

static const rlt_column columns[] = {
    {"model", "model", NULL, RLT_COL_TEXT, 0, 0, "name of the model"},
    {"accelerator", "accelerator", NULL, RLT_COL_TEXT, 0, 0, "name of the accelerator"},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0, "accelerators of the training"},
    {"ep", "ep", NULL, RLT_COL_COUNT, 4, 0, "ranks that share the experts"},
    {"microbatch", "micro", "batch", RLT_COL_COUNT, 5, 0, "samples of a microbatch"},
    {"overlap", "overlap", NULL, RLT_COL_TEXT, 0, 0, "on: exchanges go on beside compute"},
    {"first", "first", NULL, RLT_COL_TEXT, 0, 0, "a dispatcher"},
    {"second", "second", NULL, RLT_COL_TEXT, 0, 0, "the other dispatcher"},
    {"measured_ratio", "measured", "second/first", RLT_COL_REAL, 12, 3,
     "measured time of the second over the first"},
    {"predicted_ratio", "predicted", "second/first", RLT_COL_REAL, 12, 3,
     "predicted time of the second over the first"},
    {"sign", "sign", NULL, RLT_COL_TEXT, 0, 0,
     "whether the faster one is predicted to be; noise: measured less than 6 % apart"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_train_pair_table = {"Dispatchers: `ringlet calibrate-training`, JSON `dispatchers[]`",
                                          columns, N_COLUMNS};

static bool is_pair(const rlt_train_row *a, const rlt_train_row *b)
{
    return a->file == b->file && a->alike == b->alike && *a->dispatcher && *b->dispatcher &&
           strcmp(a->dispatcher, b->dispatcher) != 0 && a->predicted_s > 0 && b->predicted_s > 0;
}

static void add(const rlt_train_row *a, const rlt_train_row *b, rlt_train_pairs *pairs, rlt_table *table)
{
    const double noise = 1.06;
    double measured = b->measured_s / a->measured_s, predicted = b->predicted_s / a->predicted_s;
    bool apart = measured > noise || 1 / measured > noise, right = (measured > 1) == (predicted > 1);
    pairs->n++;
    pairs->apart += apart;
    pairs->right += apart && right;
    rlt_value v[N_COLUMNS] = {rlt_text(a->model),
                              rlt_text(a->accelerator),
                              rlt_count(a->ranks),
                              rlt_count(a->training.ep),
                              rlt_count(a->training.microbatch),
                              rlt_text(a->training.expert_overlap ? "on" : "off"),
                              rlt_text(a->dispatcher),
                              rlt_text(b->dispatcher),
                              rlt_real(measured),
                              rlt_real(predicted),
                              rlt_text(!apart  ? "noise"
                                       : right ? "right"
                                               : "wrong")};
    if (table)
        rlt_table_row(table, v);
}

rlt_train_pairs rlt_train_pairs_of(const rlt_train_rows *t, rlt_table *table)
{
    rlt_train_pairs pairs = {0};
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = i + 1; k < t->n; k++)
            if (is_pair(&t->rows[i], &t->rows[k]))
                add(&t->rows[i], &t->rows[k], &pairs, table);
    return pairs;
}
