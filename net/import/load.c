/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads a topology from a name, a file, a product or JSON text. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/import/import.h"
#include "net/import/read.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/text/file.h"

static int load_file(const char *path, const rlt_import *import, rlt_topology **out, rlt_error *err)
{
    char *text = NULL;
    size_t length;
    int rc = rlt_read_file(path, RLT_MAX_FILE_BYTES, &text, &length, err);
    if (!rc)
        rc = rlt_topology_read(strcmp(path, "-") == 0 ? "standard input" : path, text, length, import, out,
                               err);
    free(text);
    return rc;
}

bool rlt_topology_path(const char *spec, const char *dirs, char *path, size_t size)
{
    int n = snprintf(path, size, "%s", spec);
    if (strcmp(spec, "-") == 0 || n < 0 || (size_t)n >= size)
        return false;
    return access(spec, F_OK) == 0 || (!strpbrk(spec, "/:@*") && rlt_find_file(dirs, spec, path, size));
}

static bool states_values(const rlt_import *import)
{
    for (const rlt_param *p = rlt_import_parameters(); import && p->name; p++)
        if (*(const uint64_t *)(const void *)((const char *)import + p->offset))
            return true;
    return import && import->graph_text;
}

int rlt_topology_import(const char *spec, const char *dirs, const rlt_import *import, rlt_topology **out,
                        rlt_error *err)
{
    char path[PATH_MAX];
    rlt_import inner = import ? *import : (rlt_import){0};
    inner.dirs = dirs;
    *out = NULL;
    if (spec[0] == '{')
        return rlt_topology_read("topology", spec, strlen(spec), &inner, out, err);
    if (strcmp(spec, "-") == 0 || access(spec, F_OK) == 0)
        return load_file(spec, &inner, out, err);
    if (strpbrk(spec, ":@*")) {
        if (states_values(import))
            return rlt_fail(err, RLT_EUSAGE, spec, "written-out dimensions take neither --set nor --graph");
        return rlt_topology_from_compact(spec, &inner, out, err);
    }
    if (rlt_topology_path(spec, dirs, path, sizeof path))
        return load_file(path, &inner, out, err);
    return rlt_find_fail(dirs, "topology", spec,
                         " ('ringlet list topologies' shows them; dimensions are written "
                         "ring:4@200GB/s,500ns*switch:8@50GB/s,500ns)",
                         err);
}

int rlt__topo_part(const char *spec, const rlt_import *import, rlt_topology **out, rlt_error *err)
{
    enum { MAX_DEPTH = 8 };
    rlt_import inner = {.depth = import ? import->depth + 1 : 1};
    if (strcmp(spec, "-") == 0)
        return rlt_fail(err, RLT_EUSAGE, spec, "standard input cannot be a part of a product");
    if (inner.depth > MAX_DEPTH)
        return rlt_fail(err, RLT_ERANGE, spec, "topologies inside topologies, more than %d deep", MAX_DEPTH);
    return rlt_topology_import(spec, import ? import->dirs : NULL, &inner, out, err);
}

void rlt__topo_node(const rlt_topology *first, rlt_topology_spec *spec)
{
    spec->endpoint = *rlt_topology_endpoint(first);
    spec->node_size = rlt_topology_node_size(first);
}

int rlt_topology_load(const char *spec, const char *dirs, rlt_topology **out, rlt_error *err)
{
    return rlt_topology_import(spec, dirs, NULL, out, err);
}
