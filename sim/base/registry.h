/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registries: tables of things that are known by a name (algorithms, trace readers, model families, shapes,
 * ...). An entry is a constant struct whose first two members are `const char *name, *summary`. Each registry
 * is one table in one file; the built-in entries come first, in the order of that table, then those that
 * plug-ins and programs add.
 *
 * Registries are the one thing in the library that is kept for the whole process. They hold code, not
 * settings or results: an algorithm that a plan points to must outlive every plan, so no entry is ever
 * removed or replaced and none moves. Readers need no lock: an entry is complete before it is counted. Add
 * entries from one thread, before simulations start, so that all points of a study see the same table.
 */
#ifndef RLT_SIM_BASE_REGISTRY_H
#define RLT_SIM_BASE_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/words.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_REGISTRY_ADDED = 64, RLT_REGISTRY_NAME = 64 };

typedef struct rlt_registry_added {
    const void *entry;
    const char *origin;
} rlt_registry_added;

typedef struct rlt_registry {
    const char *what; /* for messages: "algorithm" */
    int unknown;      /* code of the error for an unknown name */
    const void *built_in;
    uint32_t n_built_in;
    size_t stride; /* size of an entry where built_in is an array of entries; 0: it is an array of pointers */
    uint32_t n_added;
    rlt_registry_added added[RLT_REGISTRY_ADDED];
} rlt_registry;

/* Initialisers, from an array of pointers to entries or of the entries themselves. */
#define RLT_REGISTRY(what, unknown, pointers)                                                                \
    {                                                                                                        \
        what, unknown, pointers, sizeof(pointers) / sizeof *(pointers), 0, 0,                                \
        {                                                                                                    \
            {                                                                                                \
                NULL, NULL                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }
#define RLT_REGISTRY_OF_ARRAY(what, unknown, entries)                                                        \
    {                                                                                                        \
        what, unknown, entries, sizeof(entries) / sizeof *(entries), sizeof *(entries), 0,                   \
        {                                                                                                    \
            {                                                                                                \
                NULL, NULL                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }

/* NULL past the end. */
RLT_API const void *rlt_registry_at(const rlt_registry *r, uint32_t i);
/* NULL: of the built-in entries and past the end; else who added the entry, as said to rlt_registry_add. */
RLT_API const char *rlt_registry_origin(const rlt_registry *r, uint32_t i);
/* NULL with an error, at `where` (may be NULL), that gives the nearest name or else all of them. */
RLT_API const void *rlt_registry_find(const rlt_registry *r, const char *name, const char *where,
                                      rlt_error *err);
/* Feeds all names to a search that covers more than one registry. */
RLT_API void rlt_registry_near(const rlt_registry *r, rlt_nearest *near);
/* Adds an entry; it and `origin` are borrowed until the process ends. RLT_ESCHEMA for a name that is empty,
 * longer than RLT_REGISTRY_NAME, taken, or has other characters than a-z, 0-9, '-', '_' and '.', and for an
 * entry without a summary; RLT_ERANGE when full. */
RLT_API int rlt_registry_add(rlt_registry *r, const void *entry, const char *origin,
                             rlt_error *err) RLT_MUST_USE;
/* The same without adding: whether it could be added after `ahead` others. */
RLT_API int rlt_registry_may_add(const rlt_registry *r, const void *entry, uint32_t ahead, const char *origin,
                                 rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
