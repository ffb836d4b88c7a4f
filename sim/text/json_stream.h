/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads JSON files that are too large to hold: one top-level object, plain or gzip-compressed, in pieces. The
 * caller names the members it wants. A member that is a list (such as "traceEvents") comes element by
 * element, any other member comes whole; members not asked for are checked and skipped. Memory does not grow
 * with the file: a piece is at most 4 MiB and nested 64 deep. A compressed file may inflate to at most 256
 * MiB plus 300 times its size.
 *
 * Numbers stay text. Numbers that JSON does not know (NaN, Infinity) are accepted, since profilers write
 * them. Errors name the file and the byte in the (inflated) text.
 */
#ifndef RLT_SIM_TEXT_JSON_STREAM_H
#define RLT_SIM_TEXT_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_JSON_PIECE_MAX = 4 << 20, RLT_JSON_TOKENS_MAX = 1 << 19, RLT_JSON_DEPTH_MAX = 64 };

typedef enum rlt_jtype {
    RLT_J_NULL,
    RLT_J_FALSE,
    RLT_J_TRUE,
    RLT_J_NUMBER,
    RLT_J_STRING,
    RLT_J_LIST,
    RLT_J_OBJECT,
} rlt_jtype;

/* Tokens in document order: a list is followed by its elements, an object by key, value, key, value ... */
typedef struct rlt_jtoken {
    uint32_t text; /* where the NUL-terminated text of a string (unescaped) or number starts */
    uint32_t next; /* token after this one and all it contains */
    rlt_jtype type;
} rlt_jtoken;

/* A piece, valid until the next call. Token 0 is its root. */
typedef struct rlt_jpiece {
    const char *key;  /* the top-level member it is, or is an element of */
    bool element;     /* of a list */
    uint64_t offset;  /* byte where it starts */
    const char *text; /* of the tokens */
    const rlt_jtoken *tokens;
    uint32_t n_tokens;
} rlt_jpiece;

typedef struct rlt_jstream rlt_jstream;

/* members: NULL-terminated names, borrowed. RLT_EIO if the file cannot be opened. */
int rlt_jstream_open(const char *path, const char *const *members, rlt_jstream **out,
                     rlt_error *err) RLT_MUST_USE;
/* 1: a piece; 0: the document has ended well; negative: error. */
int rlt_jstream_next(rlt_jstream *s, rlt_jpiece *piece, rlt_error *err) RLT_MUST_USE;
void rlt_jstream_close(rlt_jstream *s);
/* Hash of the text read so far. */
uint64_t rlt_jstream_hash(const rlt_jstream *s);
/* Fails with the file and the byte where the piece starts. */
int rlt_jstream_fail(const rlt_jstream *s, const rlt_jpiece *piece, int code, rlt_error *err, const char *fmt,
                     ...) RLT_PRINTF(5);

/* Value of a member of the object at `token`, or RLT_NONE (also when token is RLT_NONE or no object). */
uint32_t rlt_jpiece_get(const rlt_jpiece *p, uint32_t token, const char *key);
/* Text of a string or number, otherwise NULL (also for RLT_NONE). */
const char *rlt_jpiece_text(const rlt_jpiece *p, uint32_t token);
/* Children: for (c = first; c != RLT_NONE; c = after(p, parent, c)); keys count as children. */
uint32_t rlt_jpiece_first(const rlt_jpiece *p, uint32_t parent);
uint32_t rlt_jpiece_after(const rlt_jpiece *p, uint32_t parent, uint32_t child);

/* Decimal text (a fraction and exponent allowed) times 10^shift as an integer, digits below one dropped. No
 * double is involved. False if it is no number or is outside +-4e18. */
bool rlt_decimal_i64(const char *text, int shift, int64_t *out);

#ifdef __cplusplus
}
#endif
#endif
