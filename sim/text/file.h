/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads whole files; every reader goes through here. A file whose content begins like gzip is inflated,
 * whatever its name; other files are passed on unchanged. Limits count inflated bytes.
 */
#ifndef RLT_SIM_TEXT_FILE_H
#define RLT_SIM_TEXT_FILE_H

#include <stddef.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole file ("-": standard input) of at most max_bytes. *text is malloc'ed, NUL-terminated and owned
 * by the caller. RLT_EIO, RLT_ERANGE, RLT_ENOMEM; RLT_EMALFORMED for compressed data that is truncated or
 * fails its checksum. */
int rlt_read_file(const char *path, size_t max_bytes, char **text, size_t *length,
                  rlt_error *err) RLT_MUST_USE;
/* Reads the first bytes of a file, up to `size`, into buffer. */
int rlt_read_head(const char *path, char *buffer, size_t size, size_t *length, rlt_error *err) RLT_MUST_USE;
/* Version of zlib. */
const char *rlt_zlib_version(void);

#ifdef __cplusplus
}
#endif
#endif
