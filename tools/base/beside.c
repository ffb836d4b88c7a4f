/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executables beside this one. */
#include "tools/base/beside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"

static const char self[] = "/proc/self/exe";

/* Returns the path of this executable with links resolved, so that its folder is the real one; the bare name
 * if /proc is not mounted. */
static const char *path_of(const rlt_beside *b, char *path, size_t size)
{
    char own[PATH_MAX];
    ssize_t n = readlink(self, own, sizeof own - 1);
    own[n < 0 ? 0 : n] = '\0';
    char *slash = strrchr(own, '/');
    int folder = slash ? (int)(slash + 1 - own) : 0;
    snprintf(path, size, "%.*s%s", folder, own, b->name);
    return path;
}

/* A file of that name that is this executable itself does not count: it would start itself forever. */
bool rlt_beside_there(const rlt_beside *b)
{
    char path[PATH_MAX + NAME_MAX];
    struct stat there, own;
    return stat(path_of(b, path, sizeof path), &there) == 0 && stat(self, &own) == 0 &&
           (there.st_dev != own.st_dev || there.st_ino != own.st_ino);
}

int rlt_beside_missing(const rlt_beside *b, rlt_error *err)
{
    char path[PATH_MAX + NAME_MAX];
    return rlt_fail(
        err, RLT_EUNSUPPORTED, b->command,
        "%s %s, which is missing: ringlet was built without %s or copied without this file; apt-get install "
        "%s, or for a build of your own apt-get install %s, then make%s",
        b->need, path_of(b, path, sizeof path), b->library, b->package, b->packages, b->otherwise);
}

int rlt_beside_become(const rlt_beside *b, char **argv, rlt_error *err)
{
    char path[PATH_MAX + NAME_MAX];
    if (!rlt_beside_there(b))
        return rlt_beside_missing(b, err);
    execv(path_of(b, path, sizeof path), argv);
    return rlt_fail(err, RLT_EIO, path, "cannot be run: %s", strerror(errno));
}
