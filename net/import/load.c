/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loading a topology from whatever the user wrote: a file in any known format, the name of a sample, or a
 * compact product.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "net/import/import.h"
#include "net/import/read.h"

int rlt_topology_parse(const char *name, const char *text, size_t length, rlt_topology **out, rlt_error *err)
{
    return rlt_topology_import(name, text, length, NULL, out, err);
}

static int load_file(const char *path, rlt_topology **out, rlt_error *err)
{
    char *text = NULL;
    size_t length;
    int rc = rlt_read_file(path, RLT_MAX_FILE_BYTES, &text, &length, err);
    if (rc < 0)
        return rc;
    rc = rlt_topology_parse(strcmp(path, "-") == 0 ? "standard input" : path, text, length, out, err);
    free(text);
    return rc;
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* search_dir/spec.json, if there is such a file. */
static int load_sample(const char *spec, const char *search_dir, bool *found, rlt_topology **out,
                       rlt_error *err)
{
    size_t size = strlen(search_dir) + strlen(spec) + sizeof "/.json";
    char *path = malloc(size);
    int rc = 0;
    if (!path)
        return rlt_nomem(err);
    snprintf(path, size, "%s/%s.json", search_dir, spec);
    *found = is_there(path);
    if (*found)
        rc = load_file(path, out, err);
    free(path);
    return rc;
}

int rlt_topology_load(const char *spec, const char *search_dir, rlt_topology **out, rlt_error *err)
{
    bool found = false;
    *out = NULL;
    if (strcmp(spec, "-") == 0 || is_there(spec))
        return load_file(spec, out, err);
    if (search_dir && spec[0] && !strchr(spec, '/')) {
        int rc = load_sample(spec, search_dir, &found, out, err);
        if (rc < 0 || found)
            return rc;
    }
    if (strpbrk(spec, ":@*"))
        return rlt_topology_from_compact(spec, out, err);
    if (search_dir)
        return rlt_fail(err, RLT_EIO, NULL,
                        "no topology '%.200s': no such file, none of that name in %.200s, "
                        "and no product such as ring:4@200GB/s,500ns",
                        spec, search_dir);
    return rlt_fail(err, RLT_EIO, NULL,
                    "no topology '%.200s': no such file, and no product such as "
                    "ring:4@200GB/s,500ns",
                    spec);
}
