/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registries: tables of things with a name (algorithms, trace readers, model families, shapes, ...). An entry
 * is a constant struct whose first two members are `const char *name, *summary`. Each registry is one table
 * in one file. The built-in entries come first, in the order of that table, then the entries that plug-ins
 * and programs add.
 *
 * Registries are the only state that the library keeps for the whole process. They hold code, not settings or
 * results: an algorithm must outlive every plan that points to it, so entries are never removed, replaced or
 * moved. Readers need no lock: an entry is complete before it is counted. Add entries from one thread, before
 * simulations start, so that all points of a study see the same table.
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
    const char *what; /* kind of entry in messages: "algorithm" */
    int unknown;      /* error code for an unknown name */
    const void *built_in;
    uint32_t n_built_in;
    size_t stride; /* size of an entry if built_in is an array of entries; 0: an array of pointers */
    uint32_t n_added;
    rlt_registry_added added[RLT_REGISTRY_ADDED];
} rlt_registry;

/* Initialisers from an array of pointers to entries, or from an array of entries. */
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

/* Returns entry i, NULL past the end. */
RLT_API const void *rlt_registry_at(const rlt_registry *r, uint32_t i);
/* Returns the origin that was passed to rlt_registry_add; NULL for built-in entries and past the end. */
RLT_API const char *rlt_registry_origin(const rlt_registry *r, uint32_t i);
/* Returns the entry with that name. Otherwise NULL, and the error (at `where`, may be NULL) suggests the
 * nearest name or lists all. */
RLT_API const void *rlt_registry_find(const rlt_registry *r, const char *name, const char *where,
                                      rlt_error *err);
/* Feeds all names to a search over several registries. */
RLT_API void rlt_registry_near(const rlt_registry *r, rlt_nearest *near);
/* Adds an entry. The entry and `origin` are borrowed until the process ends. RLT_ESCHEMA for a name that is
 * empty, too long (RLT_REGISTRY_NAME), taken, or has characters other than a-z, 0-9, '-', '_' and '.', and
 * for an entry without a summary; RLT_ERANGE when the registry is full. */
RLT_API int rlt_registry_add(rlt_registry *r, const void *entry, const char *origin,
                             rlt_error *err) RLT_MUST_USE;
/* Checks whether rlt_registry_add would succeed after `ahead` other additions. Adds nothing. */
RLT_API int rlt_registry_may_add(const rlt_registry *r, const void *entry, uint32_t ahead, const char *origin,
                                 rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
