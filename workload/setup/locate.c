/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories of named files. */
#include "workload/setup/locate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/stated.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/find.h"
#include "sim/base/mem.h"
#include "sim/base/words.h"
#include "workload/models/accelerator.h"

static rlt_dirs data_dirs(const char *here, const char *installed)
{
    rlt_dirs dirs;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        snprintf(dirs.list, sizeof dirs.list, "%s:%.*s/../%s:%s", here, (int)(slash - self), self, here,
                 installed);
    else /* without /proc */
        snprintf(dirs.list, sizeof dirs.list, "%s:%s", here, installed);
    return dirs;
}

rlt_dirs rlt_topology_dirs(void)
{
    return data_dirs("topologies", RLT_DATADIR "/topologies");
}

rlt_dirs rlt_accelerator_dirs(void)
{
    return data_dirs("workload/accelerators", RLT_DATADIR "/accelerators");
}

/* "-", a file, or the name of one in `dirs`. */
static int path_of(const char *what, const char *dirs, const char *spec, char *path, size_t size,
                   rlt_error *err)
{
    char near[NAME_MAX + 1] = "";
    int n = snprintf(path, size, "%s", spec);
    if (n >= 0 && (size_t)n < size &&
        (strcmp(spec, "-") == 0 || access(spec, F_OK) == 0 ||
         (!strchr(spec, '/') && rlt_find_file(dirs, spec, path, size))))
        return 0;
    bool is_near = rlt_find_near(dirs, spec, near, sizeof near);
    return rlt_fail(err, RLT_EIO, spec, "neither a file nor %s has this name%s%s%s", what,
                    is_near ? "; did you mean '" : "", near, is_near ? "'?" : "");
}

int rlt_study_path(const char *spec, char *path, size_t size, rlt_error *err)
{
    rlt_dirs dirs = data_dirs("tools/sweep/examples", RLT_DATADIR "/studies");
    return path_of("a study", dirs.list, spec, path, size, err);
}

int rlt_weights_path(const char *spec, char *path, size_t size, rlt_error *err)
{
    rlt_dirs dirs = data_dirs("tools/deploy/policy", RLT_DATADIR "/weights");
    return path_of("weights", dirs.list, spec, path, size, err);
}

int rlt_names_path(const char *spec, char *path, size_t size, rlt_error *err)
{
    rlt_dirs dirs = data_dirs("tools/calibrate/training", RLT_DATADIR "/measured");
    return path_of("a list of names", dirs.list, spec, path, size, err);
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
