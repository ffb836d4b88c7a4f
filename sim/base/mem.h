/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory: an arena for data that lives as long as a job, a pool of same-size objects addressed by 32-bit
 * index, growing arrays with a stated maximum, and lists of numbers. None is thread-safe; each belongs to one
 * job.
 */
#ifndef RLT_SIM_BASE_MEM_H
#define RLT_SIM_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arena: blocks freed all at once. Zero-initialise; rlt_arena_free leaves it ready for use again. */
typedef struct rlt_arena {
    struct rlt_arena_block *blocks;
    size_t used_bytes;
} rlt_arena;

/* Returns zeroed memory, 16-byte aligned; NULL when out of memory. */
void *rlt_arena_alloc(rlt_arena *a, size_t bytes);
/* Returns zeroed memory for n items; the product n * size is checked for overflow. */
void *rlt_arena_array(rlt_arena *a, size_t n, size_t size);
char *rlt_arena_strdup(rlt_arena *a, const char *s);
char *rlt_arena_strndup(rlt_arena *a, const char *s, size_t n);
char *rlt_arena_printf(rlt_arena *a, const char *fmt, ...) RLT_PRINTF(2);
void rlt_arena_free(rlt_arena *a);

/*
 * Makes room for `need` items in a growing array: *items has room for *capacity items of `size` bytes.
 * Doubles the capacity, up to `max` items; the error names the limit and, with `what`, the things. Returns 0,
 * RLT_ENOMEM or RLT_ERANGE. On failure *items is unchanged and the caller still owns it.
 */
int rlt_grow(void *items, uint32_t *capacity, size_t size, uint64_t need, uint64_t max, const char *what,
             rlt_error *err) RLT_MUST_USE;

/* Pool: objects of one size, addressed by index; a free list reuses them. Initialise with rlt_pool_init. */
typedef struct rlt_pool {
    char *items;
    uint32_t size, n, capacity, free_head;
} rlt_pool;

void rlt_pool_init(rlt_pool *p, size_t size); /* size >= 4 */
/* Returns the index of a fresh object (contents undefined), or UINT32_MAX when out of memory. May move all
 * objects. */
uint32_t rlt_pool_get_slow(rlt_pool *p);
void rlt_pool_free(rlt_pool *p);

static inline void *rlt_pool_at(const rlt_pool *p, uint32_t i)
{
    return p->items + (size_t)i * p->size;
}

static inline uint32_t rlt_pool_get(rlt_pool *p)
{
    uint32_t i = p->free_head;
    if (i == UINT32_MAX)
        return rlt_pool_get_slow(p);
    p->free_head = *(uint32_t *)(void *)(p->items + (size_t)i * p->size);
    return i;
}

static inline void rlt_pool_put(rlt_pool *p, uint32_t i)
{
    *(uint32_t *)(void *)(p->items + (size_t)i * p->size) = p->free_head;
    p->free_head = i;
}

/* Sorts numbers, ascending. O(n) if they are in order already, as most lists are. */
void rlt_sort_u32(uint32_t *items, size_t n);
void rlt_sort_u64(uint64_t *items, size_t n);

#ifdef __cplusplus
}
#endif
#endif
