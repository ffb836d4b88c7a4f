/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measured collectives, read into one table: from CSV, from what nccl-tests prints, or from what its -J
 * writes; told apart by content. Damage to a file as a whole (headings, syntax) is an error with file and
 * line. A row with an unusable cell is skipped: the table counts such rows and keeps place and reason of the
 * first.
 *
 * Bytes follow nccl-tests, as collectives/collective.h does: all-gather the total output, reduce-scatter the
 * total input, all others the buffer of one rank. So time = bytes / algbw, and busbw = algbw x
 * rlt_busbw_factor; in the tables of public measurements all rows obey both. nccl-tests' sendrecv has every
 * rank send to its neighbour at the same time: with two ranks and full-duplex links that is one send.
 *
 * CSV: the first line names the columns; others than these are passed over. A cell may be quoted.
 *   collective                 required; "alltoall", "all_to_all", "AllReduce" are understood
 *   n_ranks, ranks             required
 *   size_bytes, bytes          required
 *   time_us, time_ps           required, one of them
 *   n_nodes, nodes             machines that the ranks are spread over evenly; else 1
 *   system, setting, dtype, inplace (out, in, or empty), source, note
 *   busbw_GBps                 bus bandwidth; gives the time where the cell of the time is blank
 * so the CSV of `ringlet coll` is read, too.
 *
 * nccl-tests, text: lines that begin with '#' tell the collective ("# Collective test starting:
 * all_reduce_perf", newer builds only), ranks and machines ("#  Rank  0 Group  0 Pid 1 on host device 0") and
 * the columns ("#  size  count  type  redop  root  time ..."); lines that begin with a number are rows: one
 * measurement out of place and one in place; all else, such as what mpirun or NCCL say, is passed over. JSON:
 * the collective is args[0], the ranks are one process for each of config.devices, nthreads x ngpus each.
 * Rows that report wrong values, or that have no time, are skipped. Host times (-C) are refused. Ranks and
 * nodes that a file lists override the hints.
 */
#ifndef RLT_TOOLS_CALIBRATE_MEASURE_MEASURE_H
#define RLT_TOOLS_CALIBRATE_MEASURE_MEASURE_H

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

typedef enum rlt_buffers { RLT_BUFFERS_UNKNOWN, RLT_OUT_OF_PLACE, RLT_IN_PLACE } rlt_buffers;

typedef struct rlt_measurement {
    const char *system, *dtype, *source, *note; /* owned by the table's arena; "": unknown */
    const char *setting;                        /* the same; how it was run; NULL: unknown */
    const char *file;                           /* as given */
    uint32_t line;                              /* in JSON: index of the result, from 1 */
    rlt_coll_kind kind;
    uint32_t ranks, nodes;
    uint32_t element; /* bytes of one element of this dtype; 0: unknown */
    uint64_t bytes;
    rlt_time time_ps; /* > 0 */
    rlt_buffers buffers;
} rlt_measurement;

/* Values for what a file does not say. */
typedef struct rlt_measure_hints {
    const char *system;     /* NULL: the file's base name without extension */
    const char *collective; /* NULL: none */
    uint32_t ranks, nodes;  /* 0: unknown */
} rlt_measure_hints;

typedef struct rlt_measurements {
    rlt_measurement *rows;
    uint32_t n, capacity;
    uint32_t skipped; /* rows with an unusable cell, without a time, or with wrong results */
    struct {
        const char *file; /* owned by the arena */
        uint32_t line;
        char why[320];
    } first_skipped;
    rlt_arena arena;
} rlt_measurements;

enum { RLT_MAX_MEASUREMENTS = 1 << 20, RLT_MEASURE_BYTES = 64 << 20 };

/* Appends the file's rows ("-": standard input). RLT_EMALFORMED, RLT_ESCHEMA, RLT_ERANGE, RLT_EIO. A file
 * without any usable row is RLT_ESCHEMA. */
int rlt_measurements_read(rlt_measurements *t, const char *path, const rlt_measure_hints *hints,
                          rlt_error *err) RLT_MUST_USE;
/* Formats "3 rows skipped: row 17 of FILE: n_ranks is blank", or "" without skipped rows. */
const char *rlt_measurements_skipped(const rlt_measurements *t, char *text, size_t size);
void rlt_measurements_free(rlt_measurements *t);

/* A text to read; used by the readers only. */
typedef struct rlt_measure_text {
    const char *path;   /* name in messages */
    const char *text;   /* NUL-terminated */
    size_t length;      /* without the NUL */
    const char *system; /* name of the system */
    rlt_measure_hints hints;
} rlt_measure_text;
int rlt_measure_csv(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err) RLT_MUST_USE;
int rlt_measure_nccl(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err) RLT_MUST_USE;
int rlt_measure_nccl_json(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err) RLT_MUST_USE;
/* Checks and appends a row; its texts are borrowed by the table. `where` is the row's place for messages. */
int rlt_measure_add(rlt_measurements *t, const rlt_measurement *row, const char *where,
                    rlt_error *err) RLT_MUST_USE;
/* Counts a row that cannot be used, unless the error is one of memory. Clears the error; returns 0, or
 * RLT_ENOMEM. */
int rlt_measure_skip(rlt_measurements *t, const rlt_measure_text *in, uint32_t line,
                     rlt_error *why) RLT_MUST_USE;
/* Fills the error with a line of the text. */
int rlt_measure_fail(const rlt_measure_text *in, uint32_t line, int code, rlt_error *err, const char *fmt,
                     ...) RLT_PRINTF(5);
/* Converts microseconds, such as "12.5", to picoseconds. */
int rlt_measure_us(const char *text, size_t length, rlt_time *time_ps) RLT_MUST_USE;
/* Reads the name of a collective: "all_reduce_perf", "/opt/bin/sendrecv_perf", "alltoall". RLT_ESCHEMA. */
int rlt_measure_kind(const char *name, rlt_coll_kind *kind, rlt_error *err) RLT_MUST_USE;

#endif
