/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads small JSON files strictly, and writes JSON. The only user of cJSON.
 *
 * A document keeps its text, so that every error carries file:line:column and the path of the value
 * ("fabric.json:12:7: dims[1].bandwidth"). Duplicate keys, trailing text, depth above 64, and files above 256
 * MiB are refused. Integers are parsed from the raw digits, never through a double. Objects are strict:
 * rlt_json_only() refuses keys not listed and suggests the nearest.
 */
#ifndef RLT_SIM_TEXT_JSON_H
#define RLT_SIM_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_json_doc rlt_json_doc;
/* A value inside a document: a light handle, valid as long as the document. {NULL, NULL} means absent. */
typedef struct rlt_json {
    const rlt_json_doc *doc;
    const void *node;
} rlt_json;

/* Parses a text, which is copied. `name` is the name of the text in messages. */
int rlt_json_parse(const char *name, const char *text, size_t length, rlt_json_doc **out,
                   rlt_error *err) RLT_MUST_USE;
int rlt_json_load(const char *path, rlt_json_doc **out, rlt_error *err) RLT_MUST_USE;
void rlt_json_free(rlt_json_doc *doc);
rlt_json rlt_json_root(const rlt_json_doc *doc);

static inline bool rlt_json_is(rlt_json v)
{
    return v.node != NULL;
}
bool rlt_json_is_object(rlt_json v);
bool rlt_json_is_array(rlt_json v);
bool rlt_json_is_string(rlt_json v);
bool rlt_json_is_number(rlt_json v);
bool rlt_json_is_true(rlt_json v);
/* Returns the member with exactly that key; absent if there is none or v is no object. */
rlt_json rlt_json_get(rlt_json v, const char *key);
/* Children of arrays and objects: count, first, next (in file order), and the key of an object's child. */
uint32_t rlt_json_count(rlt_json v);
rlt_json rlt_json_first(rlt_json v);
rlt_json rlt_json_next(rlt_json v);
rlt_json rlt_json_at(rlt_json v, uint32_t i);
const char *rlt_json_key(rlt_json v);
const char *rlt_json_text(const rlt_json_doc *doc);
/* Returns the byte range [*begin, *end) of a value in the document's text. For editors of text. */
void rlt_json_extent(rlt_json v, size_t *begin, size_t *end);
/* Returns the text of a string value, NULL for other values. It lives as long as the document. */
const char *rlt_json_string(rlt_json v);
/* Returns the text of a string, or a number as written, in `buffer`; NULL for other values. */
const char *rlt_json_scalar(rlt_json v, char *buffer, size_t size);

/* Writes "file:line:column: path" of a value, for messages. */
void rlt_json_where(rlt_json v, char *buffer, size_t size);
/* Fails with the place of v. */
int rlt_json_fail(rlt_json v, int code, rlt_error *err, const char *fmt, ...) RLT_PRINTF(4);
/* Refuses keys other than those in the NULL-terminated list; keys starting with '_' are comments. */
int rlt_json_only(rlt_json v, const char *const *keys, rlt_error *err) RLT_MUST_USE;

/* Typed members. Return 0 when read, and also when absent and not `required` (*out then keeps its value). */
int rlt_json_get_string(rlt_json v, const char *key, bool required, const char **out,
                        rlt_error *err) RLT_MUST_USE;
int rlt_json_get_u64(rlt_json v, const char *key, bool required, uint64_t max, uint64_t *out,
                     rlt_error *err) RLT_MUST_USE;
int rlt_json_get_double(rlt_json v, const char *key, bool required, double *out, rlt_error *err) RLT_MUST_USE;
int rlt_json_get_bool(rlt_json v, const char *key, bool required, bool *out, rlt_error *err) RLT_MUST_USE;
int rlt_json_get_rate(rlt_json v, const char *key, bool required, uint64_t *bw_Bps,
                      rlt_error *err) RLT_MUST_USE;
int rlt_json_get_duration(rlt_json v, const char *key, bool required, rlt_time *out,
                          rlt_error *err) RLT_MUST_USE;
int rlt_json_get_size(rlt_json v, const char *key, bool required, uint64_t *out, rlt_error *err) RLT_MUST_USE;
int rlt_json_get_flops(rlt_json v, const char *key, bool required, uint64_t *out,
                       rlt_error *err) RLT_MUST_USE;
/* Copies a text of 1 to size - 1 bytes, printable. */
int rlt_json_get_text(rlt_json v, const char *key, bool required, char *out, size_t size,
                      rlt_error *err) RLT_MUST_USE;
typedef struct rlt_json_bounds {
    double least, most;
} rlt_json_bounds;
/* Reads a number within bounds; RLT_ERANGE if it is outside. */
int rlt_json_get_within(rlt_json v, const char *key, bool required, rlt_json_bounds in, double *out,
                        rlt_error *err) RLT_MUST_USE;
/* Reads the value itself as an integer in [0, max]. */
int rlt_json_u64(rlt_json v, uint64_t max, uint64_t *out, rlt_error *err) RLT_MUST_USE;

/* Reads the top of each JSON file in the folder `folder` beside each directory of a list (sim/base/find.h;
 * NULL: none), in order, until one fails. */
typedef int rlt_json_fn(void *ctx, rlt_json top, rlt_error *err);
int rlt_json_load_beside(const char *dirs, const char *folder, rlt_json_fn *read, void *ctx,
                         rlt_error *err) RLT_MUST_USE;

/* Writer: appends to a growing malloc'ed text. rlt_jw_finish reports an earlier allocation failure. */
typedef struct rlt_jw {
    char *text;
    size_t length, capacity;
    int depth, failed;
    bool comma, pretty; /* pretty: objects at depth <= 2 have one member a line; a newline ends the text */
} rlt_jw;
void rlt_jw_init(rlt_jw *w, bool pretty);
void rlt_jw_object(rlt_jw *w, const char *key); /* key is NULL in arrays and at the top */
void rlt_jw_array(rlt_jw *w, const char *key);
void rlt_jw_end_object(rlt_jw *w);
void rlt_jw_end_array(rlt_jw *w);
void rlt_jw_string(rlt_jw *w, const char *key, const char *value);
void rlt_jw_i64(rlt_jw *w, const char *key, int64_t value);
void rlt_jw_u64(rlt_jw *w, const char *key, uint64_t value);
/* Writes a number with fixed decimals, independent of the locale. NaN and infinities become null. */
void rlt_jw_double(rlt_jw *w, const char *key, double value, int decimals);
/* Writes a number with `digits` significant digits: "1.5e-06". */
void rlt_jw_digits(rlt_jw *w, const char *key, double value, int digits);
void rlt_jw_bool(rlt_jw *w, const char *key, bool value);
void rlt_jw_null(rlt_jw *w, const char *key);
/* Inserts text that is already valid JSON. */
void rlt_jw_raw(rlt_jw *w, const char *key, const char *json);
/* Returns the text (the caller frees it), or NULL when memory ran out. */
char *rlt_jw_finish(rlt_jw *w, size_t *length);
/* Returns the bytes of the UTF-8 character at s (shortest form, no surrogate, at most U+10FFFF); 0 if it is
 * none. */
size_t rlt_utf8_length(const char *s);

/* Returns the version of cJSON. Main thread only. */
const char *rlt_json_version(void);

#ifdef __cplusplus
}
#endif
#endif
