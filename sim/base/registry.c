/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of named entries: built-in ones, then added ones. */
#include "sim/base/registry.h"

#include <string.h>

/* The first members of every entry. */
typedef struct head {
    const char *name, *summary;
} head;

static const char *name_of(const void *entry)
{
    return ((const head *)entry)->name;
}

/* Returns the number of added entries. An entry is stored before it is counted, so other threads never see
 * half of one. */
static uint32_t added(const rlt_registry *r)
{
    return __atomic_load_n(&r->n_added, __ATOMIC_ACQUIRE);
}

const void *rlt_registry_at(const rlt_registry *r, uint32_t i)
{
    if (i < r->n_built_in)
        return r->stride ? (const char *)r->built_in + i * r->stride : ((const void *const *)r->built_in)[i];
    i -= r->n_built_in;
    return i < added(r) ? r->added[i].entry : NULL;
}

const char *rlt_registry_origin(const rlt_registry *r, uint32_t i)
{
    return i >= r->n_built_in && i - r->n_built_in < added(r) ? r->added[i - r->n_built_in].origin : NULL;
}

void rlt_registry_near(const rlt_registry *r, rlt_nearest *near)
{
    const void *entry;
    for (uint32_t i = 0; (entry = rlt_registry_at(r, i)); i++)
        rlt_nearest_try(near, name_of(entry));
}

const void *rlt_registry_find(const rlt_registry *r, const char *name, const char *where, rlt_error *err)
{
    char known[1024] = "";
    const void *entry;
    for (uint32_t i = 0; (entry = rlt_registry_at(r, i)); i++)
        if (strcmp(name, name_of(entry)) == 0)
            return entry;
    if (!err)
        return NULL;
    rlt_nearest near = rlt_nearest_to(name);
    rlt_registry_near(r, &near);
    if (near.best) {
        rlt_fail(err, r->unknown, where, "unknown %s '%.64s'; did you mean '%s'?", r->what, name, near.best);
        return NULL;
    }
    for (uint32_t i = 0; (entry = rlt_registry_at(r, i)); i++)
        rlt_list_name(known, sizeof known, name_of(entry));
    rlt_fail(err, r->unknown, where, "unknown %s '%.64s'; known are %s", r->what, name, known);
    return NULL;
}

int rlt_registry_may_add(const rlt_registry *r, const void *entry, uint32_t ahead, const char *origin,
                         rlt_error *err)
{
    const char *name = name_of(entry);
    if (!name || !name[0] || strlen(name) > RLT_REGISTRY_NAME ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")])
        return rlt_fail(
            err, RLT_ESCHEMA, origin,
            "expected the name of the %s to be 1 to %d of a-z, 0-9, '-', '_' and '.', got '%.80s'", r->what,
            RLT_REGISTRY_NAME, name ? name : "");
    if (!((const head *)entry)->summary)
        return rlt_fail(err, RLT_ESCHEMA, origin, "%s '%s' has no summary", r->what, name);
    if (rlt_registry_find(r, name, NULL, NULL))
        return rlt_fail(err, RLT_ESCHEMA, origin, "%s '%s' exists already", r->what, name);
    if (added(r) + ahead >= RLT_REGISTRY_ADDED)
        return rlt_fail(err, RLT_ERANGE, origin, "%s '%s' is one too many: at most %d can be added", r->what,
                        name, RLT_REGISTRY_ADDED);
    return 0;
}

int rlt_registry_add(rlt_registry *r, const void *entry, const char *origin, rlt_error *err)
{
    uint32_t n = added(r);
    int rc = rlt_registry_may_add(r, entry, 0, origin, err);
    if (rc)
        return rc;
    r->added[n] = (rlt_registry_added){.entry = entry, .origin = origin};
    __atomic_store_n(&r->n_added, n + 1, __ATOMIC_RELEASE);
    return 0;
}
