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
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/registry.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "workload/experts/experts.h"

static int read_text(rlt_json v, const char *key, char *out, size_t size, rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_json_get_string(v, key, true, &text, err);
    if (!rc && (!*text || strlen(text) >= size))
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a text of 1 to %zu bytes",
                           size - 1);
    if (!rc)
        snprintf(out, size, "%s", text);
    return rc;
}

static int read_number(rlt_json v, const char *key, double most, double *out, rlt_error *err)
{
    int rc = rlt_json_get_double(v, key, false, out, err);
    if (!rc && !(*out >= 0 && *out <= most))
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a number from 0 to %g", most);
    return rc;
}

static int read_dispatcher(rlt_json v, rlt_dispatcher *d, rlt_error *err)
{
    static const char *const keys[] = {"name",   "source",          "algorithm", "host", "message",
                                       "hidden", "multiprocessors", "moved",     NULL};
    int rc;
    *d = (rlt_dispatcher){.hidden = 1};
    if ((rc = rlt_json_only(v, keys, err)) || (rc = read_text(v, "name", d->name, sizeof d->name, err)) ||
        (rc = read_text(v, "source", d->source, sizeof d->source, err)) ||
        (rc = read_text(v, "algorithm", d->algorithm, sizeof d->algorithm, err)) ||
        (rc = rlt_json_get_duration(v, "host", false, &d->host_ps, err)) ||
        (rc = rlt_json_get_duration(v, "message", false, &d->message_ps, err)) ||
        (rc = read_number(v, "hidden", 1, &d->hidden, err)) ||
        (rc = read_number(v, "moved", 64, &d->moved, err)) ||
        (rc = read_number(v, "multiprocessors", 0.9, &d->multiprocessors, err)))
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

int rlt_dispatchers_load(const char *dirs, rlt_dispatcher *out, uint32_t room, uint32_t *n, rlt_error *err)
{
    static const char *const endings[] = {".json", NULL};
    char dir[PATH_MAX], beside[PATH_MAX + 16], path[PATH_MAX];
    int rc = 0;
    while (!rc && dirs && rlt_find_next_dir(&dirs, dir, sizeof dir)) {
        rlt_found found;
        snprintf(beside, sizeof beside, "%s/../dispatchers", dir);
        rc = rlt_find_all(beside, endings, &found, err);
        for (uint32_t i = 0; i < found.n && !rc && *n < room; i++) {
            rlt_json_doc *doc = NULL;
            if (!rlt_find_file(beside, found.names[i], path, sizeof path))
                continue;
            if (!(rc = rlt_json_load(path, &doc, err)) &&
                !(rc = read_dispatcher(rlt_json_root(doc), &out[*n], err)) && !has(out, *n, out[*n].name))
                ++*n;
            rlt_json_free(doc);
        }
        rlt_find_free(&found);
    }
    return rc;
}

int rlt_dispatcher_find(const rlt_dispatcher *all, uint32_t n, const char *name, rlt_dispatcher *out,
                        rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i];
            return 0;
        }
        rlt_nearest_try(&near, all[i].name);
    }
    if (rlt_registry_find(rlt_dispatch_algorithms(), name, NULL, NULL)) {
        *out = (rlt_dispatcher){.hidden = 1, .source = "no costs of its own"};
        snprintf(out->name, sizeof out->name, "%s", name);
        snprintf(out->algorithm, sizeof out->algorithm, "%s", name);
        return 0;
    }
    rlt_registry_near(rlt_dispatch_algorithms(), &near);
    return near.best ? rlt_fail(err, RLT_EUSAGE, "dispatcher", "no dispatcher '%s'; did you mean '%s'?", name,
                                near.best)
                     : rlt_fail(err, RLT_EUSAGE, "dispatcher",
                                "no dispatcher '%s'; algorithms are alltoall, two-level, proxy, gpu and "
                                "copy-engine, and workload/dispatchers/ has implementations",
                                name);
}
