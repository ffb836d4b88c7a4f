/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders of named files. */
#include "workload/setup/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectives/stated.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/find.h"
#include "sim/base/words.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

/* Folder of each kind in a source tree, and beside the others once installed. */
static const struct {
    const char *name, *source;
} kinds[RLT_DATA_KINDS] = {
    [RLT_DATA_TOPOLOGIES] = {"topologies", "topologies"},
    [RLT_DATA_ACCELERATORS] = {"accelerators", "workload/accelerators"},
    [RLT_DATA_STACKS] = {"stacks", "workload/stacks"},
    [RLT_DATA_DISPATCHERS] = {"dispatchers", "workload/dispatchers"},
    [RLT_DATA_TRACES] = {"traces", "traces"},
    [RLT_DATA_STUDIES] = {"studies", "tools/sweep/examples"},
    [RLT_DATA_WEIGHTS] = {"weights", "tools/deploy/policy"},
    [RLT_DATA_MEASURED] = {"measured", "tools/calibrate/training"},
};

const char *rlt_data_name(rlt_data_kind kind)
{
    return kinds[kind].name;
}

/* Adds the folder ROOT/FOLDER unless it is listed already. Leaves out one that does not fit. */
static void add(rlt_dirs *dirs, size_t length, const char *root, const char *folder)
{
    const char *cursor = dirs->list, *item;
    char one[2 * PATH_MAX];
    size_t used = strlen(dirs->list), n;
    int size = snprintf(one, sizeof one, "%.*s%s%s", (int)length, root, length ? "/" : "", folder);
    if (size < 0 || (size_t)size >= sizeof one || used + (size_t)size + 2 > sizeof dirs->list)
        return;
    while (used && (item = rlt_next_item(&cursor, ':', &n)))
        if (n == (size_t)size && memcmp(item, one, n) == 0)
            return;
    snprintf(dirs->list + used, sizeof dirs->list - used, "%s%s", used ? ":" : "", one);
}

/* Returns the length of the path of the folder above that of this executable, which is the source tree for
 * build/ringlet and the prefix for bin/ringlet; 0 without /proc. */
static size_t find_prefix(char self[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    for (int up = 0; up < 2 && n > 0; up++)
        while (--n > 0 && self[n] != '/')
            ;
    return n > 0 ? (size_t)n : 0;
}

rlt_dirs rlt_data_dirs(rlt_data_kind kind)
{
    static const char share[] = "share/ringlet/";
    const char *name = kinds[kind].name, *source = kinds[kind].source, *asked = getenv("RINGLET_DATA"), *item;
    char self[PATH_MAX], shared[64];
    rlt_dirs dirs = {""};
    size_t length;
    while (asked && (item = rlt_next_item(&asked, ':', &length)))
        if (length)
            add(&dirs, length, item, name);
    add(&dirs, 0, "", source);
    if ((length = find_prefix(self))) {
        snprintf(shared, sizeof shared, "%s%s", share, name);
        add(&dirs, length, self, source);
        add(&dirs, length, self, shared);
    }
    add(&dirs, strlen(RLT_DATADIR), RLT_DATADIR, name);
    return dirs;
}

rlt_dirs rlt_topology_dirs(void)
{
    return rlt_data_dirs(RLT_DATA_TOPOLOGIES);
}

rlt_dirs rlt_accelerator_dirs(void)
{
    return rlt_data_dirs(RLT_DATA_ACCELERATORS);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Copies "-", the name of a file, or the path of a file with this name in one of the folders. A folder here,
 * such as collectives in the source tree, does not hide a study of that name. */
static int path_of(rlt_data_kind kind, const char *what, const char *spec, char *path, size_t size,
                   rlt_error *err)
{
    rlt_dirs dirs = rlt_data_dirs(kind);
    bool here = strcmp(spec, "-") == 0 || (access(spec, F_OK) == 0 && !is_folder(spec));
    if (!here && !strchr(spec, '/') && rlt_find_file(dirs.list, spec, path, size))
        return 0;
    int n = snprintf(path, size, "%s", spec);
    if (n >= 0 && (size_t)n < size && (here || is_folder(spec)))
        return 0;
    return rlt_find_fail(dirs.list, what, spec, NULL, err);
}

int rlt_study_path(const char *spec, char *path, size_t size, rlt_error *err)
{
    return path_of(RLT_DATA_STUDIES, "study", spec, path, size, err);
}

int rlt_weights_path(const char *spec, char *path, size_t size, rlt_error *err)
{
    return path_of(RLT_DATA_WEIGHTS, "weights", spec, path, size, err);
}

int rlt_names_path(const char *spec, char *path, size_t size, rlt_error *err)
{
    return path_of(RLT_DATA_MEASURED, "list of names", spec, path, size, err);
}

/* Lets *specs be *one, the path of a shipped trace, if the only spec is its name and no file, folder or
 * prefix here is called so. Leaves what may be a file to the readers. */
static int take_shipped(const char *const **specs, uint32_t n, const char **one, char path[PATH_MAX],
                        rlt_error *err)
{
    const char *spec = n == 1 ? **specs : "";
    char **files = NULL;
    uint32_t n_files;
    if (!*spec || strchr(spec, '/') || strlen(spec) > NAME_MAX || access(spec, F_OK) == 0)
        return 0;
    bool is_prefix = rlt_trace_files(&spec, 1, &files, &n_files, NULL) == 0;
    free(files);
    if (is_prefix)
        return 0;
    rlt_dirs dirs = rlt_data_dirs(RLT_DATA_TRACES);
    if (rlt_find_file(dirs.list, spec, path, PATH_MAX)) {
        *one = path;
        *specs = one;
        return 0;
    }
    if (strchr(spec, '.'))
        return 0;
    return rlt_find_fail(dirs.list, "trace", spec,
                         " ('ringlet list traces' shows them), and no files of that name with .<rank>.et or "
                         ".<rank>.json behind it",
                         err);
}

int rlt_find_trace(const char *const *specs, uint32_t n, const rlt_read_options *how, rlt_program **out,
                   rlt_error *err)
{
    char path[PATH_MAX];
    const char *one;
    int rc = take_shipped(&specs, n, &one, path, err);
    return rc ? rc : rlt_trace_read(specs, n, how, out, err);
}

int rlt_find_trace_files(const char *const *specs, uint32_t n, char ***paths, uint32_t *n_paths,
                         rlt_error *err)
{
    char path[PATH_MAX];
    const char *one;
    int rc = take_shipped(&specs, n, &one, path, err);
    return rc ? rc : rlt_trace_files(specs, n, paths, n_paths, err);
}

int rlt_find_topology(const char *spec, rlt_topology **out, rlt_error *err)
{
    int rc = rlt_topology_load(spec, rlt_topology_dirs().list, out, err);
    if (!rc && (rc = rlt_stated_check(*out, err))) {
        rlt_topology_free(*out);
        *out = NULL;
    }
    return rc;
}

int rlt_find_accelerator(const char *spec, rlt_accelerator *out, rlt_error *err)
{
    return rlt_accelerator_load(spec, rlt_accelerator_dirs().list, out, err);
}
