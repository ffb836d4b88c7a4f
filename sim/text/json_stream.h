/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads JSON files that are too large to hold in memory: one top-level object, plain or gzip-compressed, in
 * pieces. The caller names the members it wants. A member that is a list (such as "traceEvents") arrives
 * element by element; any other member arrives whole. Other members are checked and skipped; so are, if the
 * caller names the keys it looks up, members of pieces with other keys. Memory does not grow with the file:
 * the texts of a piece are at most 4 MiB, and it is nested at most 64 deep. A compressed file may inflate to
 * at most 256 MiB plus 300 times its size.
 *
 * Numbers stay text. NaN and Infinity are accepted, although JSON lacks them, because profilers write them.
 * Errors name the file and the byte in the (inflated) text.
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

/* Bytes of a piece with its blanks. */
enum { RLT_JSON_SPAN_MAX = 4 * RLT_JSON_PIECE_MAX, RLT_JSON_KEYS_MAX = 64 };

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
    uint32_t text; /* offset of the NUL-terminated text of a string (unescaped) or number */
    uint32_t next; /* index of the token after this one and its contents */
    uint16_t type; /* rlt_jtype */
    uint16_t key;  /* of a key: its index among the keys that the caller named */
} rlt_jtoken;

/* A piece, valid until the next call. Token 0 is its root. */
typedef struct rlt_jpiece {
    const char *key;  /* key of the top-level member that it is, or is an element of */
    bool element;     /* true for an element of a list */
    uint64_t offset;  /* byte at which it starts */
    const char *text; /* texts of the tokens */
    const rlt_jtoken *tokens;
    uint32_t n_tokens;
} rlt_jpiece;

typedef struct rlt_jstream rlt_jstream;

/* Opens a file. `members` is a borrowed NULL-terminated list of names. RLT_EIO if the file cannot be
 * opened. */
int rlt_jstream_open(const char *path, const char *const *members, rlt_jstream **out,
                     rlt_error *err) RLT_MUST_USE;
/* Names the keys that the caller looks up in pieces, at most RLT_JSON_KEYS_MAX; to be called before the first
 * piece. Members with other keys will be missing. `keys` is a borrowed NULL-terminated list. */
void rlt_jstream_keys(rlt_jstream *s, const char *const *keys);
/* Returns 1 with a piece, 0 at the end of a valid document, or a negative code. */
int rlt_jstream_next(rlt_jstream *s, rlt_jpiece *piece, rlt_error *err) RLT_MUST_USE;
void rlt_jstream_close(rlt_jstream *s);
/* Returns the hash of the text read so far. */
uint64_t rlt_jstream_hash(const rlt_jstream *s);
/* Fails with the file and the byte where the piece starts. */
int rlt_jstream_fail(const rlt_jstream *s, const rlt_jpiece *piece, int code, rlt_error *err, const char *fmt,
                     ...) RLT_PRINTF(5);

/* Returns the value of a member of the object at `token`, or RLT_NONE (also if token is RLT_NONE or no
 * object). */
uint32_t rlt_jpiece_get(const rlt_jpiece *p, uint32_t token, const char *key);
/* Sets values[k], for all k below n, to the value of the member with the k-th of the named keys in the object
 * at `token`, or to RLT_NONE. */
void rlt_jpiece_members(const rlt_jpiece *p, uint32_t token, uint32_t *values, uint32_t n);
/* Returns the text of a string or number, otherwise NULL (also for RLT_NONE). */
const char *rlt_jpiece_text(const rlt_jpiece *p, uint32_t token);
/* Iterates over children: for (c = first; c != RLT_NONE; c = after(p, parent, c)). Keys count as children. */
uint32_t rlt_jpiece_first(const rlt_jpiece *p, uint32_t parent);
uint32_t rlt_jpiece_after(const rlt_jpiece *p, uint32_t parent, uint32_t child);

/* Converts decimal text (a fraction and an exponent are allowed) times 10^shift to an integer; digits below
 * one are dropped. Uses no double. Returns false for text that is no number, and outside +-4e18. */
bool rlt_decimal_i64(const char *text, int shift, int64_t *out);

#ifdef __cplusplus
}
#endif
#endif
