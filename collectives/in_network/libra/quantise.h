/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the arithmetic of a switch does to sums: real arrays are added up as it would, and held against their
 * true sum.
 *
 *   block    SwitchML: the largest exponent e of a block over all workers (2^e > |x|, strictly), integers of
 *            (2^31 - 1) / (n 2^e): an error of n^2 2^e / (2 (2^31 - 1)) at most
 *   fixed    ATP: integers of 10^6 x; n / 2 * 10^-6 at most; beyond `limit` a value's sum is the server's
 *   table16  Libra, NetFC: floats added by tables (collectives/in_network/libra/float_tables.h), of 16 bits
 *   table32  and of 32 bits
 *   native   floats of 32 bits, in order of arrival: (n - 1) 2^-24 of the sum of all |x|
 */
#ifndef RLT_COLLECTIVES_IN_NETWORK_LIBRA_QUANTISE_H
#define RLT_COLLECTIVES_IN_NETWORK_LIBRA_QUANTISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_SUMMANDS = 4096, RLT_NUM_BLOCK_VALUES = 256, RLT_NUM_SCALE = 1000000, RLT_NUM_LIMIT = 213 };

typedef enum rlt_num_mode {
    RLT_NUM_BLOCK,
    RLT_NUM_FIXED,
    RLT_NUM_TABLE16,
    RLT_NUM_TABLE32,
    RLT_NUM_NATIVE,
    RLT_NUM_MODES,
} rlt_num_mode;

typedef struct rlt_num_config {
    rlt_num_mode mode;
    uint32_t block; /* values that share an exponent; 0: RLT_NUM_BLOCK_VALUES */
    bool single;    /* block, fixed: x * scale is rounded to 32 bits, as hosts do that are fast */
    double scale;   /* fixed, below 10^38; 0: RLT_NUM_SCALE */
    double limit;   /* fixed: of |x|; 0: RLT_NUM_LIMIT */
    bool any_order; /* tables, native: workers come in an order of chance, another for each value */
    uint64_t seed;
    const rlt_watch *watch; /* may stop it; NULL: nobody does */
} rlt_num_config;

typedef struct rlt_num_report {
    double worst;          /* of |sum - true sum| */
    double worst_of_block; /* the same over 2^e of its block */
    /* |sum - true sum| over the sum of all |x|: as large as the relative error where all signs are alike, and
     * finite where summands cancel. */
    double worst_relative, mean_relative;
    double rms_relative; /* root of: squared errors over squared true sums, all values together */
    double bound;        /* what theory allows of `worst`; 0: nothing, as after overflows */
    uint64_t overflows;  /* sums beyond the integers or the format */
    uint64_t underflows; /* became 0 */
    uint64_t outside;    /* fixed: sums left to the server */
    bool reproducible;   /* the same whatever the order of arrival */
    size_t table_bytes;
} rlt_num_report;

/* "block", "fixed", "table16", "table32", "native"; NULL past the end. */
const char *rlt_num_name(uint32_t mode);
/* RLT_EUSAGE at `where`. */
int rlt_num_parse(const char *name, const char *where, rlt_num_mode *mode, rlt_error *err) RLT_MUST_USE;

/* n arrays of `length` finite values; sum[length] may be NULL. RLT_ERANGE; RLT_ECANCELLED where the watch
 * stopped it. */
int rlt_num_sum(const rlt_num_config *cfg, uint32_t n, size_t length, const float *const *x, double *sum,
                rlt_num_report *report, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
