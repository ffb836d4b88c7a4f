/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hash tables by open addressing with linear probing, at most three quarters full. */
#include "sim/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"

#define FIRST_CAPACITY 16u
#define LAST_CAPACITY  (1u << 31)
#define EMPTY          UINT64_MAX /* RLT_NONE in its low half */

static bool is_crowded(uint32_t n, uint32_t capacity)
{
    return (uint64_t)n * 4 >= (uint64_t)capacity * 3;
}

/* Returns the slot of the key, or the empty slot where it belongs. The table is never full. */
static uint32_t map_slot(const rlt_map *m, uint64_t key)
{
    uint32_t mask = m->capacity - 1, i = (uint32_t)rlt_mix64(key) & mask;
    while (m->values[i] != RLT_NONE && m->keys[i] != key)
        i = (i + 1) & mask;
    return i;
}

static int map_rehash(rlt_map *m)
{
    rlt_map bigger = {.n = m->n, .capacity = m->capacity ? m->capacity * 2 : FIRST_CAPACITY};
    if (m->capacity == LAST_CAPACITY)
        return RLT_ENOMEM;
    bigger.keys = malloc((size_t)bigger.capacity * sizeof *bigger.keys);
    bigger.values = malloc((size_t)bigger.capacity * sizeof *bigger.values);
    if (!bigger.keys || !bigger.values) {
        rlt_map_free(&bigger);
        return RLT_ENOMEM;
    }
    memset(bigger.values, 0xff, (size_t)bigger.capacity * sizeof *bigger.values); /* RLT_NONE */
    for (uint32_t i = 0; i < m->capacity; i++) {
        if (m->values[i] == RLT_NONE)
            continue;
        uint32_t to = map_slot(&bigger, m->keys[i]);
        bigger.keys[to] = m->keys[i];
        bigger.values[to] = m->values[i];
    }
    rlt_map_free(m);
    *m = bigger;
    return 0;
}

int rlt_map_put(rlt_map *m, uint64_t key, uint32_t value)
{
    if (value == RLT_NONE)
        return RLT_EUSAGE;
    uint32_t i = m->capacity ? map_slot(m, key) : 0;
    if (m->capacity == 0 || m->values[i] == RLT_NONE) {
        if (is_crowded(m->n, m->capacity)) {
            int rc = map_rehash(m);
            if (rc < 0)
                return rc;
            i = map_slot(m, key);
        }
        m->keys[i] = key;
        m->n++;
    }
    m->values[i] = value;
    return 0;
}

uint32_t rlt_map_get(const rlt_map *m, uint64_t key)
{
    return m->n ? m->values[map_slot(m, key)] : RLT_NONE;
}

void rlt_map_remove(rlt_map *m, uint64_t key)
{
    if (m->n == 0)
        return;
    uint32_t mask = m->capacity - 1, hole = map_slot(m, key);
    if (m->values[hole] == RLT_NONE)
        return;
    /* Pulls back each later entry of the chain whose probing crosses the hole. */
    for (uint32_t i = (hole + 1) & mask; m->values[i] != RLT_NONE; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)rlt_mix64(m->keys[i]) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->keys[hole] = m->keys[i];
            m->values[hole] = m->values[i];
            hole = i;
        }
    }
    m->values[hole] = RLT_NONE;
    m->n--;
}

void rlt_map_free(rlt_map *m)
{
    free(m->keys);
    free(m->values);
    *m = (rlt_map){0};
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Returns up to seven bytes as a word. */
static uint64_t short_word(const unsigned char *p, size_t n)
{
    uint32_t low, high;
    if (n < 4)
        return n ? (uint64_t)p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16 : 0;
    memcpy(&low, p, sizeof low);
    memcpy(&high, p + n - 4, sizeof high);
    return low | (uint64_t)high << 32;
}

/* Multiplies and shifts after each word. The last word of a long text overlaps the one before it. */
static inline uint64_t hash_words(const void *data, size_t length, uint64_t seed)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    const unsigned char *p = data;
    uint64_t h = seed ^ length * odd;
    if (length < 8)
        return rlt_mix64((h ^ short_word(p, length)) * odd);
    for (size_t left = length - 1; left >= 8; left -= 8, p += 8) {
        h = (h ^ word_at(p)) * odd;
        h ^= h >> 32;
    }
    return rlt_mix64((h ^ word_at((const unsigned char *)data + length - 8)) * odd);
}

uint64_t rlt_hash_words(const void *data, size_t length, uint64_t seed)
{
    return hash_words(data, length, seed);
}

/* Returns the length of interned string i, without its NUL; the next string starts behind the NUL. */
static uint32_t string_length(const rlt_strings *t, uint32_t i)
{
    uint32_t end = i + 1 < t->n ? t->offsets[i + 1] : t->text_used;
    return end - t->offsets[i] - 1;
}

/* Returns the slot of a text with this hash, or the empty slot where it belongs. */
static inline uint32_t string_slot(const rlt_strings *t, const char *s, size_t length, uint64_t hash)
{
    uint32_t mask = t->slots_capacity - 1, i = (uint32_t)hash & mask;
    for (; t->slots[i] != EMPTY; i = (i + 1) & mask) {
        uint32_t candidate = (uint32_t)t->slots[i];
        if ((t->slots[i] ^ hash) >> 32 == 0 && string_length(t, candidate) == length &&
            memcmp(t->text + t->offsets[candidate], s, length) == 0)
            break;
    }
    return i;
}

static int strings_rehash(rlt_strings *t)
{
    if (t->slots_capacity == LAST_CAPACITY)
        return RLT_ENOMEM;
    uint32_t capacity = t->slots_capacity ? t->slots_capacity * 2 : FIRST_CAPACITY;
    uint64_t *slots = malloc((size_t)capacity * sizeof *slots);
    if (!slots)
        return RLT_ENOMEM;
    memset(slots, 0xff, (size_t)capacity * sizeof *slots); /* EMPTY */
    for (uint32_t k = 0; k < t->n; k++) {
        uint64_t hash = hash_words(t->text + t->offsets[k], string_length(t, k), 0);
        uint32_t i = (uint32_t)hash & (capacity - 1);
        while (slots[i] != EMPTY)
            i = (i + 1) & (capacity - 1);
        slots[i] = (hash >> 32 << 32) | k;
    }
    free(t->slots);
    t->slots = slots;
    t->slots_capacity = capacity;
    return 0;
}

/* Appends s, which may lie in the table's own text. */
static int append_text(rlt_strings *t, const char *s, size_t length)
{
    uintptr_t from = (uintptr_t)s - (uintptr_t)t->text;
    bool own = t->text && from < t->text_used;
    int rc = 0;
    if ((uint64_t)t->text_used + length + 1 > t->text_capacity)
        rc = rlt_grow(&t->text, &t->text_capacity, 1, (uint64_t)t->text_used + length + 1, UINT32_MAX,
                      "bytes of text", NULL);
    if (!rc && t->n == t->offsets_capacity)
        rc = rlt_grow(&t->offsets, &t->offsets_capacity, sizeof *t->offsets, (uint64_t)t->n + 1,
                      UINT32_MAX - 1, "strings", NULL);
    if (rc < 0)
        return rc;
    if (length)
        memcpy(t->text + t->text_used, own ? t->text + from : s, length);
    t->text[t->text_used + length] = '\0';
    t->offsets[t->n++] = t->text_used;
    t->text_used += (uint32_t)length + 1;
    return 0;
}

uint32_t rlt_intern_find(const rlt_strings *t, const char *s, size_t length)
{
    if (t->n == 0)
        return RLT_NONE;
    return (uint32_t)t->slots[string_slot(t, length ? s : "", length, hash_words(s, length, 0))];
}

uint32_t rlt_intern(rlt_strings *t, const char *s, size_t length)
{
    uint32_t slot = 0;
    if (length == 0)
        s = "";
    if (length >= UINT32_MAX)
        return RLT_NONE;
    uint64_t hash = hash_words(s, length, 0);
    if (t->slots && t->slots[slot = string_slot(t, s, length, hash)] != EMPTY)
        return (uint32_t)t->slots[slot];
    if (is_crowded(t->n, t->slots_capacity)) {
        if (strings_rehash(t) < 0)
            return RLT_NONE;
        slot = string_slot(t, s, length, hash);
    }
    if (append_text(t, s, length) < 0)
        return RLT_NONE;
    t->slots[slot] = (hash >> 32 << 32) | (t->n - 1);
    return t->n - 1;
}

const char *rlt_interned(const rlt_strings *t, uint32_t index)
{
    return index < t->n ? t->text + t->offsets[index] : "";
}

void rlt_strings_free(rlt_strings *t)
{
    free(t->text);
    free(t->offsets);
    free(t->slots);
    *t = (rlt_strings){0};
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits; mixed at the end because its low bits alone are weak. */
uint64_t rlt_hash_bytes(const void *data, size_t length, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u ^ rlt_mix64(seed);
    for (size_t i = 0; i < length; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return rlt_mix64(h);
}
