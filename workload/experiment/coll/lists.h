/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of sizes, rates, counts, shares and ranks as users write them, and the file of counts. Each list is
 * malloc'ed. */
#ifndef RLT_WORKLOAD_EXPERIMENT_COLL_LISTS_H
#define RLT_WORKLOAD_EXPERIMENT_COLL_LISTS_H

#include <stdint.h>

#include "sim/base/error.h"

/* Parses "1KiB,4MiB", "1KiB:1GiB:x2", "0:1MiB:+64KiB", and combinations. RLT_EUSAGE. */
int rlt_parse_sizes(const char *text, uint64_t **sizes, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* Parses rates in the same way: "100GB/s,200GB/s", "100GB/s:1TB/s:+100GB/s". At most `most` of them. Messages
 * name `option`. */
int rlt_parse_rates(const char *text, const char *option, uint32_t most, uint64_t **rates, uint32_t *n,
                    rlt_error *err) RLT_MUST_USE;
/* Parses plain numbers in the same way: "2,8,32", "2:64:x2". */
int rlt_parse_counts(const char *text, const char *option, uint32_t most, uint64_t **counts, uint32_t *n,
                     rlt_error *err) RLT_MUST_USE;
/* Parses shares from 0 to `limit`, as numbers or percentages: "0,0.05,10%". At most `most` of them. */
int rlt_parse_shares(const char *text, const char *option, double limit, uint32_t most, double **shares,
                     uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* Parses "0-3,8,12-15" into ranks. RLT_EUSAGE. */
int rlt_parse_ranks(const char *text, uint32_t **ranks, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* Reads rows * n numbers of bytes separated by blanks. Errors name line and column. */
int rlt_read_counts(const char *path, uint32_t rows, uint32_t n, uint64_t **counts,
                    rlt_error *err) RLT_MUST_USE;

#endif
