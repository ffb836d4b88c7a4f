/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arena, pool, and growing arrays. */
#include "sim/base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT   16u
#define FIRST_BLOCK ((size_t)4096)
#define LAST_BLOCK  ((size_t)1 << 20)

struct rlt_arena_block {
    struct rlt_arena_block *next;
    size_t size, used; /* bytes of data */
    size_t unused;     /* padding: data stays 16-byte aligned, like the malloc'ed block */
    char data[];
};

static struct rlt_arena_block *new_block(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct rlt_arena_block))
        return NULL;
    struct rlt_arena_block *b = calloc(1, sizeof *b + size);
    if (b)
        b->size = size;
    return b;
}

void *rlt_arena_alloc(rlt_arena *a, size_t bytes)
{
    if (bytes == 0)
        bytes = 1;
    if (bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct rlt_arena_block *b = a->blocks;
    if (!b || b->size - b->used < bytes) {
        size_t size = b ? b->size * 2 : FIRST_BLOCK;
        if (size > LAST_BLOCK)
            size = LAST_BLOCK;
        bool alone = bytes > size / 4;
        struct rlt_arena_block *fresh = new_block(alone ? bytes : size);
        if (!fresh)
            return NULL;
        if (alone && b) { /* insert behind the head, whose free room stays in use */
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            a->blocks = fresh;
        }
        b = fresh;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    a->used_bytes += bytes;
    return p;
}

void *rlt_arena_array(rlt_arena *a, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    return rlt_arena_alloc(a, n * size);
}

char *rlt_arena_strndup(rlt_arena *a, const char *s, size_t n)
{
    const char *end = memchr(s, '\0', n);
    size_t length = end ? (size_t)(end - s) : n;
    if (length == SIZE_MAX)
        return NULL;
    char *copy = rlt_arena_alloc(a, length + 1);
    if (copy)
        memcpy(copy, s, length);
    return copy;
}

char *rlt_arena_strdup(rlt_arena *a, const char *s)
{
    return rlt_arena_strndup(a, s, strlen(s));
}

char *rlt_arena_printf(rlt_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (length < 0)
        return NULL;
    char *text = rlt_arena_alloc(a, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(text, (size_t)length + 1, fmt, ap);
    va_end(ap);
    return text;
}

void rlt_arena_free(rlt_arena *a)
{
    for (struct rlt_arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (rlt_arena){0};
}

int rlt_grow(void *items, uint32_t *capacity, size_t size, uint64_t need, uint64_t max, const char *what,
             rlt_error *err)
{
    if (max > UINT32_MAX)
        max = UINT32_MAX;
    if (need > max)
        return rlt_fail(err, RLT_ERANGE, NULL, "too many %s: %llu; the limit is %llu", what,
                        (unsigned long long)need, (unsigned long long)max);
    if (need <= *capacity)
        return 0;
    uint64_t wanted = (uint64_t)*capacity * 2;
    if (wanted < 8)
        wanted = 8;
    if (wanted < need)
        wanted = need;
    if (wanted > max)
        wanted = max;
    if (size != 0 && wanted > SIZE_MAX / size)
        return rlt_fail(err, RLT_ENOMEM, NULL, "no memory for %llu %s", (unsigned long long)need, what);
    void *old;
    memcpy(&old, items, sizeof old); /* items is the address of a pointer of any type */
    void *grown = realloc(old, (size_t)wanted * size);
    if (!grown)
        return rlt_fail(err, RLT_ENOMEM, NULL, "no memory for %llu %s", (unsigned long long)need, what);
    memcpy(items, &grown, sizeof grown);
    *capacity = (uint32_t)wanted;
    return 0;
}

void rlt_pool_init(rlt_pool *p, size_t size)
{
    if (size < sizeof(uint32_t))
        size = sizeof(uint32_t);
    /* The free list keeps a uint32_t in each free object. */
    *p = (rlt_pool){.size = (uint32_t)((size + 3) & ~(size_t)3), .free_head = UINT32_MAX};
}

uint32_t rlt_pool_get_slow(rlt_pool *p)
{
    if (p->n == p->capacity &&
        rlt_grow(&p->items, &p->capacity, p->size, (uint64_t)p->n + 1, UINT32_MAX - 1, "objects", NULL) < 0)
        return UINT32_MAX;
    return p->n++;
}

void rlt_pool_free(rlt_pool *p)
{
    free(p->items);
    rlt_pool_init(p, p->size);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void rlt_sort_u32(uint32_t *items, size_t n)
{
    size_t i = 1;
    while (i < n && items[i - 1] <= items[i])
        i++;
    if (i < n)
        qsort(items, n, sizeof *items, compare_u32);
}

void rlt_sort_u64(uint64_t *items, size_t n)
{
    size_t i = 1;
    while (i < n && items[i - 1] <= items[i])
        i++;
    if (i < n)
        qsort(items, n, sizeof *items, compare_u64);
}
