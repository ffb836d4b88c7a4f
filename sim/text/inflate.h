/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trace files, compressed with gzip or not. */
#ifndef RLT_SIM_TEXT_INFLATE_H
#define RLT_SIM_TEXT_INFLATE_H

#include <stddef.h>

#include "sim/base/error.h"

/* Reads all of a file, inflating it if it is a gzip file, of at most max_bytes (inflated). *text is
 * malloc'ed, NUL-terminated and owned by the caller. A compressed file that ends early or fails its check is
 * RLT_EMALFORMED. */
int rlt__read_inflated(const char *path, size_t max_bytes, char **text, size_t *length,
                       rlt_error *err) RLT_MUST_USE;
/* The first bytes only: up to `size` into buffer. */
int rlt__read_head(const char *path, char *buffer, size_t size, size_t *length, rlt_error *err) RLT_MUST_USE;
/* Version of zlib. */
const char *rlt__inflate_version(void);

#endif
