/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding the topology or accelerator that the user means. */
#include "tools/settings/locate.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/import/import.h"
#include "sim/base/mem.h"
#include "sim/text/inflate.h"
#include "tools/base/message.h"
#include "tools/settings/settings.h"

static const char *const endings[] = {"", ".json", ".graphml", ".yml", ".yaml"};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

typedef const char *dir_at(uint32_t i, char *buffer, size_t size);

/* The i-th directory to look in: `here`, the same beside the executable's folder, and `installed`. */
static const char *data_dir(const char *here, const char *installed, uint32_t i, char *buffer, size_t size)
{
    ssize_t length;
    char *slash;
    if (i == 0)
        snprintf(buffer, size, "%s", here);
    else if (i == 1) {
        length = readlink("/proc/self/exe", buffer, size - 1);
        buffer[length < 0 ? 0 : length] = '\0';
        slash = strrchr(buffer, '/');
        if (!slash || (size_t)(slash - buffer) + sizeof "/../" + strlen(here) > size)
            return data_dir(here, installed, 2, buffer, size); /* no /proc: the next, twice, does no harm */
        snprintf(slash, size - (size_t)(slash - buffer), "/../%s", here);
    } else if (i == 2)
        snprintf(buffer, size, "%s", installed);
    else
        return NULL;
    return buffer;
}

const char *rlt_topology_dir(uint32_t i, char *buffer, size_t size)
{
    return data_dir("topologies", RLT_DATADIR "/topologies", i, buffer, size);
}

const char *rlt_accelerator_dir(uint32_t i, char *buffer, size_t size)
{
    return data_dir("workload/accelerators", RLT_DATADIR "/accelerators", i, buffer, size);
}

/* The path of a name in the directories. */
static bool find_name(dir_at *dirs, const char *name, char *path, size_t size)
{
    char dir[PATH_MAX];
    for (uint32_t d = 0; dirs(d, dir, sizeof dir); d++)
        for (int e = 0; e < N_ENDINGS; e++) {
            int n = snprintf(path, size, "%s/%s%s", dir, name, endings[e]);
            if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
                return true;
        }
    return false;
}

/* Offers the names in a directory; a match is kept in `best`, whose text outlives the directory's. */
static void near_names(const char *dir, rlt_nearest *near, char *best, size_t size)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    while (d && (entry = readdir(d))) {
        char name[NAME_MAX + 1];
        rlt_nearest before = *near;
        snprintf(name, sizeof name, "%s", entry->d_name);
        if (name[0] == '.' || !strrchr(name, '.'))
            continue;
        *strrchr(name, '.') = '\0';
        rlt_nearest_try(near, name);
        /* Directory order is not stable: among equals the first by name. */
        if (near->best == name && before.best && near->distance == before.distance && strcmp(name, best) > 0)
            *near = before;
        if (near->best == name) {
            snprintf(best, size, "%s", name);
            near->best = best;
        }
    }
    if (d)
        closedir(d);
}

/* The name nearest to `spec` in the directories, in a buffer of NAME_MAX + 1; NULL: none is near. */
static const char *nearest_name(const char *spec, dir_at *dirs, char *best)
{
    char dir[PATH_MAX];
    rlt_nearest near = rlt_nearest_to(spec);
    for (uint32_t i = 0; dirs(i, dir, sizeof dir); i++)
        near_names(dir, &near, best, NAME_MAX + 1);
    return near.best;
}

static int not_found(const char *spec, rlt_error *err)
{
    char best[NAME_MAX + 1] = "";
    const char *near = nearest_name(spec, rlt_topology_dir, best);
    if (near)
        return rlt_fail(err, RLT_EIO, spec, "no such file, and no topology of that name; did you mean '%s'?",
                        near);
    return rlt_fail(err, RLT_EIO, spec,
                    "no such file, and no topology of that name ('ringlet list topologies' shows them; "
                    "dimensions are written ring:4@200GB/s,500ns*switch:8@50GB/s,500ns)");
}

bool rlt_topology_path(const char *spec, char *path, size_t size)
{
    int n = snprintf(path, size, "%s", spec);
    if (strcmp(spec, "-") == 0 || n < 0 || (size_t)n >= size)
        return false;
    return access(spec, F_OK) == 0 ||
           (!strpbrk(spec, "/:@") && find_name(rlt_topology_dir, spec, path, size));
}

static bool is_gzip(const char *path)
{
    unsigned char head[2] = {0};
    FILE *f = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    bool yes = f && fread(head, 1, 2, f) == 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (f)
        fclose(f);
    return yes;
}

int rlt_read_text(const char *path, char **text, size_t *length, rlt_error *err)
{
    enum { MAX_BYTES = 256 << 20 };
    return is_gzip(path) ? rlt__read_inflated(path, MAX_BYTES, text, length, err)
                         : rlt_read_file(path, MAX_BYTES, text, length, err);
}

static int load_file(const char *path, const rlt_import *import, rlt_topology **out, rlt_error *err)
{
    char *text = NULL;
    size_t length;
    int rc = rlt_read_text(path, &text, &length, err);
    if (!rc)
        rc = rlt_topology_import(strcmp(path, "-") == 0 ? "standard input" : path, text, length, import, out,
                                 err);
    free(text);
    return rc;
}

int rlt_import_topology(const char *spec, const rlt_import *import, rlt_topology **out, rlt_error *err)
{
    char path[PATH_MAX];
    *out = NULL;
    if (strcmp(spec, "-") == 0 || access(spec, F_OK) == 0)
        return load_file(spec, import, out, err);
    if (strchr(spec, ':') || strchr(spec, '@')) {
        if (import)
            return rlt_fail(err, RLT_EUSAGE, spec, "written-out dimensions take neither --set nor --graph");
        return rlt_topology_load(spec, NULL, out, err);
    }
    if (!strchr(spec, '/') && find_name(rlt_topology_dir, spec, path, sizeof path))
        return load_file(path, import, out, err);
    return not_found(spec, err);
}

int rlt_find_topology(const char *spec, rlt_topology **out, rlt_error *err)
{
    if (spec[0] == '{')
        return rlt_topology_parse("topology", spec, strlen(spec), out, err);
    return rlt_import_topology(spec, NULL, out, err);
}

/* The accelerator that goes by this shorter name. */
static bool find_also(const char *name, char *path, size_t size)
{
    char dir[PATH_MAX];
    bool found = false;
    for (uint32_t i = 0; !found && rlt_accelerator_dir(i, dir, sizeof dir); i++) {
        DIR *d = opendir(dir);
        struct dirent *entry;
        while (d && !found && (entry = readdir(d))) {
            rlt_accelerator a;
            const char *dot = strrchr(entry->d_name, '.');
            int n = snprintf(path, size, "%s/%s", dir, entry->d_name);
            found = dot && strcmp(dot, ".json") == 0 && n > 0 && (size_t)n < size &&
                    rlt_accelerator_load(path, NULL, &a, NULL) == 0 && strcmp(a.also, name) == 0;
        }
        if (d)
            closedir(d);
    }
    return found;
}

bool rlt_accelerator_path(const char *spec, char *path, size_t size)
{
    int n = snprintf(path, size, "%s", spec);
    if (n < 0 || (size_t)n >= size)
        return false;
    return access(spec, F_OK) == 0 ||
           (*spec && !strchr(spec, '/') &&
            (find_name(rlt_accelerator_dir, spec, path, size) || find_also(spec, path, size)));
}

int rlt_find_accelerator(const char *spec, rlt_accelerator *out, rlt_error *err)
{
    char path[PATH_MAX], best[NAME_MAX + 1] = "";
    if (rlt_accelerator_path(spec, path, sizeof path))
        return rlt_accelerator_load(path, NULL, out, err);
    const char *near = nearest_name(spec, rlt_accelerator_dir, best);
    if (near)
        return rlt_fail(err, RLT_EIO, spec,
                        "no such file, and no accelerator of that name; did you mean '%s'?", near);
    return rlt_fail(err, RLT_EIO, spec,
                    "no such file, and no accelerator of that name ('ringlet list accelerators' shows them)");
}
