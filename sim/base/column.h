/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results as rows of values under columns: what has them describes its columns once, and text tables, CSV,
 * JSON and databases are written from them. Values are exact. The column's name ends with their unit.
 */
#ifndef RLT_SIM_BASE_COLUMN_H
#define RLT_SIM_BASE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rlt_column_kind {
    RLT_COL_TEXT,
    RLT_COL_COUNT,
    RLT_COL_TIME, /* picoseconds; tables: microseconds when the unit is "us", else with a unit that fits */
    RLT_COL_SIZE, /* bytes; tables: "64 MiB" */
    RLT_COL_RATE, /* bytes a second; tables: "50 GB/s" */
    RLT_COL_REAL,
    RLT_COL_PERCENT, /* a fraction; tables: per cent */
    RLT_COL_DIGITS,  /* a real of any size, such as an error of 1e-9: tables `decimals` digits, others nine */
} rlt_column_kind;

typedef struct rlt_column {
    const char *name;  /* in CSV and JSON, with the unit: "time_ps"; NULL: in tables only */
    const char *title; /* in tables; NULL: not there */
    const char *unit;  /* second line of the heading; may be NULL */
    rlt_column_kind kind;
    int width;    /* in tables; 0: as wide as its widest cell (rows then wait for the end) */
    int decimals; /* of REAL and PERCENT in tables; below 0: so many digits in all; CSV and JSON have six */
} rlt_column;

typedef struct rlt_value {
    union {
        const char *text;
        uint64_t count; /* COUNT, SIZE, RATE */
        int64_t time;
        double real;
    };
    bool absent; /* "-", an empty cell, null */
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
