/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hash tables by open addressing: 64-bit key to 32-bit value, and interned strings. Iteration order never
 * reaches an output. Zero-initialise; the free functions leave them ready for use again.
 */
#ifndef RLT_SIM_BASE_MAP_H
#define RLT_SIM_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_map {
    uint64_t *keys;
    uint32_t *values; /* an empty slot has RLT_NONE, which therefore cannot be stored */
    uint32_t n, capacity;
} rlt_map;

/* Adds a key, or replaces the value of an existing one. Returns 0 or RLT_ENOMEM. */
int rlt_map_put(rlt_map *m, uint64_t key, uint32_t value) RLT_MUST_USE;
/* Returns the value, or RLT_NONE. */
uint32_t rlt_map_get(const rlt_map *m, uint64_t key);
/* Removes the key, if present. Keeps probing chains intact. */
void rlt_map_remove(rlt_map *m, uint64_t key);
void rlt_map_free(rlt_map *m);

/* Interned strings: equal texts get equal indices 0, 1, 2, ... in order of first appearance. */
typedef struct rlt_strings {
    char *text;
    uint32_t *offsets; /* start of string i in text */
    uint64_t *slots;   /* high half of the hash, then the index; UINT64_MAX: empty */
    uint32_t n, offsets_capacity, slots_capacity;
    uint32_t text_used, text_capacity;
} rlt_strings;

/* Returns the index of s[0..length), or RLT_NONE when memory ran out or the texts would pass 4 GiB. */
uint32_t rlt_intern(rlt_strings *t, const char *s, size_t length);
/* Returns the index if the text is known, else RLT_NONE. */
uint32_t rlt_intern_find(const rlt_strings *t, const char *s, size_t length);
/* Returns the text, NUL-terminated and valid until the next rlt_intern; "" for RLT_NONE. */
const char *rlt_interned(const rlt_strings *t, uint32_t index);
void rlt_strings_free(rlt_strings *t);

/* Returns a 64-bit hash of bytes (FNV-1a, then mixed). For manifests and ECMP; not safe against an
 * adversary. */
uint64_t rlt_hash_bytes(const void *data, size_t length, uint64_t seed);

/* Returns another hash, eight bytes at a time. For tables of texts and for whole files. */
uint64_t rlt_hash_words(const void *data, size_t length, uint64_t seed);

/* Mixes 64 bits (the finaliser of splitmix64). */
static inline uint64_t rlt_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#ifdef __cplusplus
}
#endif
#endif
