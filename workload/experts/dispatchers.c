/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads dispatchers from JSON, one in each file of workload/dispatchers/:
 *
 *   name, source      texts
 *   algorithm         alltoall, two-level, proxy, gpu or copy-engine
 *   host              time per exchange: "800us"; default 0
 *   message           time per copy to another node, in a group of four nodes; default 0
 *   hidden            share that goes on beside compute, if overlapped: 0 to 1; default 1
 *   multiprocessors   share of them that it takes meanwhile: 0 to 0.9; default 0
 *   moved             elements per element of a copy, read and written to pack and unpack it; default 0
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/experts/experts.h"

static int read_dispatcher(rlt_json v, rlt_dispatcher *d, rlt_error *err)
{
    static const char *const keys[] = {"name",   "source",          "algorithm", "host", "message",
                                       "hidden", "multiprocessors", "moved",     NULL};
    int rc;
    *d = (rlt_dispatcher){.hidden = 1};
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = rlt_json_get_text(v, "name", true, d->name, sizeof d->name, err)) ||
        (rc = rlt_json_get_text(v, "source", true, d->source, sizeof d->source, err)) ||
        (rc = rlt_json_get_text(v, "algorithm", true, d->algorithm, sizeof d->algorithm, err)) ||
        (rc = rlt_json_get_duration(v, "host", false, &d->host_ps, err)) ||
        (rc = rlt_json_get_duration(v, "message", false, &d->message_ps, err)) ||
        (rc = rlt_json_get_within(v, "hidden", false, (rlt_json_bounds){0, 1}, &d->hidden, err)) ||
        (rc = rlt_json_get_within(v, "moved", false, (rlt_json_bounds){0, 64}, &d->moved, err)) ||
        (rc = rlt_json_get_within(v, "multiprocessors", false, (rlt_json_bounds){0, 0.9}, &d->multiprocessors,
                                  err)))
        return rc;
    rlt_error why = {0};
    if (!rlt_registry_find(rlt_dispatch_algorithms(), d->algorithm, NULL, &why))
        return rlt_json_fail(rlt_json_get(v, "algorithm"), RLT_ESCHEMA, err, "%.200s", why.what);
    return 0;
}

static bool has(const rlt_dispatcher *all, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return true;
    return false;
}

typedef struct dispatchers {
    rlt_dispatcher *list;
    uint32_t *n, room;
} dispatchers;

/* Adds a dispatcher unless one of its name is there. */
static int add_file(void *ctx, rlt_json top, rlt_error *err)
{
    dispatchers *all = ctx;
    rlt_dispatcher d;
    int rc = read_dispatcher(top, &d, err);
    if (rc || has(all->list, *all->n, d.name))
        return rc;
    if (*all->n == all->room)
        return rlt_json_fail(top, RLT_ERANGE, err, "more than %u dispatchers", all->room);
    all->list[(*all->n)++] = d;
    return 0;
}

int rlt_dispatchers_load(const char *dirs, rlt_dispatcher *out, uint32_t room, uint32_t *n, rlt_error *err)
{
    dispatchers all = {out, n, room};
    return rlt_json_load_beside(dirs, "dispatchers", add_file, &all, err);
}

int rlt_dispatcher_find(const rlt_dispatcher *all, uint32_t n, const char *name, rlt_dispatcher *out,
                        rlt_error *err)
{
    rlt_nearest near;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i];
            return 0;
        }
    if (rlt_registry_find(rlt_dispatch_algorithms(), name, NULL, NULL)) {
        *out = (rlt_dispatcher){.hidden = 1, .source = "no costs of its own"};
        snprintf(out->name, sizeof out->name, "%s", name);
        snprintf(out->algorithm, sizeof out->algorithm, "%s", name);
        return 0;
    }
    near = rlt_nearest_to(name);
    for (uint32_t i = 0; i < n; i++)
        rlt_nearest_try(&near, all[i].name);
    rlt_registry_near(rlt_dispatch_algorithms(), &near);
    return near.best ? rlt_fail(err, RLT_EUSAGE, "dispatcher", "no dispatcher '%s'; did you mean '%s'?", name,
                                near.best)
                     : rlt_fail(err, RLT_EUSAGE, "dispatcher",
                                "no dispatcher '%s'; algorithms are alltoall, two-level, proxy, gpu and "
                                "copy-engine, and workload/dispatchers/ has implementations",
                                name);
}
