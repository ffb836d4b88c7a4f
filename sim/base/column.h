/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results as rows of values under columns. The producer of results describes its columns once; text tables,
 * CSV, JSON, databases and their explanation are written from that description. Values are exact. A column
 * name ends with the unit.
 */
#ifndef RLT_SIM_BASE_COLUMN_H
#define RLT_SIM_BASE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rlt_column_kind {
    RLT_COL_TEXT,
    RLT_COL_COUNT,
    RLT_COL_TIME, /* picoseconds; in tables microseconds if the unit is "us", else a unit that fits */
    RLT_COL_SIZE, /* bytes; in tables "64 MiB" */
    RLT_COL_RATE, /* bytes a second; in tables "50 GB/s" */
    RLT_COL_REAL,
    RLT_COL_PERCENT, /* a fraction; in tables per cent */
    RLT_COL_DIGITS,  /* a real of any size (an error of 1e-9); `decimals` digits in tables, nine elsewhere */
} rlt_column_kind;

typedef struct rlt_column {
    const char *name;  /* name in CSV and JSON, with the unit: "time_ps"; NULL: only in tables */
    const char *title; /* heading in tables; NULL: not in tables */
    const char *unit;  /* second line of the heading; may be NULL */
    rlt_column_kind kind;
    int width;    /* width in tables; 0: that of the widest cell (rows are then held back to the end) */
    int decimals; /* REAL and PERCENT in tables; negative: significant digits. CSV and JSON have six */
    const char *meaning; /* explanation for `ringlet help columns`, without a full stop */
} rlt_column;

/* One table of results: its columns, and the heading under which `ringlet help columns` explains them. */
typedef struct rlt_columns {
    const char *heading;
    const rlt_column *list;
    uint32_t n;
} rlt_columns;

typedef struct rlt_value {
    union {
        const char *text;
        uint64_t count; /* for COUNT, SIZE, RATE */
        int64_t time;
        double real;
    };
    bool absent; /* shown as "-" (tables), an empty cell (CSV), null (JSON) */
} rlt_value;

static inline rlt_value rlt_text(const char *s)
{
    rlt_value v;
    v.text = s;
    v.absent = s == NULL;
    return v;
}
static inline rlt_value rlt_count(uint64_t n)
{
    rlt_value v;
    v.count = n;
    v.absent = false;
    return v;
}
static inline rlt_value rlt_ps(int64_t t)
{
    rlt_value v;
    v.time = t;
    v.absent = false;
    return v;
}
static inline rlt_value rlt_real(double x)
{
    rlt_value v;
    v.real = x;
    v.absent = false;
    return v;
}
static inline rlt_value rlt_absent(void)
{
    rlt_value v;
    v.count = 0;
    v.absent = true;
    return v;
}

#endif
