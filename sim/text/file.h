/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads whole files; every reader goes through here. A file whose content begins like gzip is inflated,
 * whatever its name; other files are passed on unchanged. Limits count inflated bytes.
 */
#ifndef RLT_SIM_TEXT_FILE_H
#define RLT_SIM_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A file that is read from begin to end. */
typedef struct rlt_input rlt_input;
int rlt_input_open(const char *path, rlt_input **out, rlt_error *err) RLT_MUST_USE;
/* Fills buffer[0..size), or less at the end of the file. A failure comes after the bytes that could be read
 * before it; `err` then says what is wrong and names the file as the place. */
int rlt_input_read(rlt_input *in, char *buffer, size_t size, size_t *got, rlt_error *err) RLT_MUST_USE;
/* Returns the size on disk of a regular file; otherwise 0. */
uint64_t rlt_input_size(const rlt_input *in);
void rlt_input_close(rlt_input *in);
/* Name and version of the library that inflates. */
const char *rlt_inflate_version(void);

#ifdef __cplusplus
}
#endif
#endif
