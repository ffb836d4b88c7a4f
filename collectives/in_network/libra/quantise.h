/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Error of sums in the arithmetic of switches. Real arrays are added as the switch would add them, and
 * compared with their true sum. For n summands x in a block, with |x| < 2^e:
 *
 *   block    SwitchML: e is shared by a block over all workers; values become integers of scale
 *            (2^31 - 1) / (n 2^e). Error at most n^2 2^e / (2 (2^31 - 1)).
 *   fixed    ATP: integers of 10^6 x. Error at most n / 2 * 10^-6. If a value exceeds `limit`, the server
 *            adds it.
 *   table16  Libra, NetFC: floats of 16 bits added by tables (collectives/in_network/libra/float_tables.h)
 *   table32  the same with floats of 32 bits
 *   native   floats of 32 bits, in order of arrival. Error at most (n - 1) 2^-24 times the sum of all |x|, up
 *            to second-order terms.
 *
 * Example: `block` with n = 8 and |x| < 1 (e = 0): at most 64 / 2^32 = 1.5e-8.
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
    bool single;    /* block, fixed: x * scale is rounded to 32 bits, as fast hosts do */
    double scale;   /* fixed: factor, below 10^38; 0: RLT_NUM_SCALE */
    double limit;   /* fixed: largest |x| that the switch adds; 0: RLT_NUM_LIMIT */
    bool any_order; /* tables, native: workers arrive in random order, drawn for each value */
    uint64_t seed;
    const rlt_watch *watch; /* may stop the computation; NULL: none */
} rlt_num_config;

typedef struct rlt_num_report {
    double worst;          /* largest |sum - true sum| */
    double worst_of_block; /* largest |sum - true sum| / 2^e of its block */
    /* Largest and mean |sum - true sum| over the sum of all |x|. This is the relative error if all signs are
     * alike, and stays finite where summands cancel. */
    double worst_relative, mean_relative;
    double rms_relative; /* square root of (squared errors / squared true sums), over all values */
    double bound;        /* theoretical bound on `worst`; 0: none, as after overflows */
    uint64_t overflows;  /* sums beyond the integers or the format */
    uint64_t underflows; /* results that became 0 */
    uint64_t outside;    /* fixed: sums left to the server */
    bool reproducible;   /* the result does not depend on the order of arrival */
    size_t table_bytes;
} rlt_num_report;

/* Name of a mode: "block", "fixed", "table16", "table32" or "native"; NULL past the end. */
const char *rlt_num_name(uint32_t mode);
/* Finds a mode by name. RLT_EUSAGE at `where` if unknown. */
int rlt_num_parse(const char *name, const char *where, rlt_num_mode *mode, rlt_error *err) RLT_MUST_USE;

/* Adds n arrays of `length` finite values into sum[length], which may be NULL. RLT_ERANGE for bad input,
 * RLT_ECANCELLED if the watch stopped it. */
int rlt_num_sum(const rlt_num_config *cfg, uint32_t n, size_t length, const float *const *x, double *sum,
                rlt_num_report *report, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
