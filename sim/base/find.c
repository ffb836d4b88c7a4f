/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches directories for files. */
#include "sim/base/find.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/mem.h"
#include "sim/base/words.h"

enum { MAX_NAMES = 1 << 16 };

bool rlt_find_next_dir(const char **dirs, char *dir, size_t size)
{
    size_t n;
    const char *item = rlt_next_item(dirs, ':', &n);
    if (!item || n >= size)
        return false;
    memcpy(dir, item, n);
    dir[n] = '\0';
    return true;
}

static const char *const any_ending[] = {"",      ".json",      ".graphml", ".yml",
                                         ".yaml", ".graph.txt", ".weights", NULL};

bool rlt_find_file(const char *dirs, const char *name, char *path, size_t size)
{
    char dir[PATH_MAX];
    while (*name && rlt_find_next_dir(&dirs, dir, sizeof dir))
        for (size_t e = 0; any_ending[e]; e++) {
            int n = snprintf(path, size, "%s/%s%s", dir, name, any_ending[e]);
            if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
                return true;
        }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_once(rlt_found *found)
{
    uint32_t n = 0;
    if (found->n)
        qsort(found->names, found->n, sizeof *found->names, by_name);
    for (uint32_t i = 0; i < found->n; i++) {
        if (n && strcmp(found->names[n - 1], found->names[i]) == 0)
            free(found->names[i]);
        else
            found->names[n++] = found->names[i];
    }
    found->n = n;
}

/* Returns the length of a file's name without its ending; 0 if it has none of these endings. */
static size_t name_length(const char *file, const char *const *endings)
{
    size_t n = strlen(file);
    for (; *endings && file[0] != '.'; endings++) {
        size_t end = strlen(*endings);
        if (end ? n > end && strcmp(file + n - end, *endings) == 0 : !strchr(file, '.'))
            return n - end;
    }
    return 0;
}

/* A folder need not be there. One that cannot be read must not pass for an empty one. */
static int unread(const char *dir, rlt_error *err)
{
    if (errno == 0 || errno == ENOENT || errno == ENOTDIR)
        return 0;
    return errno == ENOMEM ? rlt_nomem(err)
                           : rlt_fail(err, RLT_EIO, dir, "cannot read the folder: %s", strerror(errno));
}

int rlt_find_all(const char *dirs, const char *const *endings, rlt_found *found, rlt_error *err)
{
    char dir[PATH_MAX];
    int rc = 0;
    *found = (rlt_found){0};
    while (!rc && rlt_find_next_dir(&dirs, dir, sizeof dir)) {
        errno = 0;
        DIR *d = opendir(dir);
        struct dirent *entry = NULL;
        while (d && !rc && (errno = 0, entry = readdir(d))) {
            size_t length = name_length(entry->d_name, endings ? endings : any_ending);
            if (!length)
                continue;
            rc = rlt_grow(&found->names, &found->capacity, sizeof *found->names, (uint64_t)found->n + 1,
                          MAX_NAMES, "names", err);
            if (!rc && !(found->names[found->n] = strndup(entry->d_name, length)))
                rc = rlt_nomem(err);
            found->n += !rc;
        }
        if (!rc && !entry)
            rc = unread(dir, err);
        if (d)
            closedir(d);
    }
    sort_once(found);
    return rc;
}

void rlt_find_free(rlt_found *found)
{
    for (uint32_t i = 0; i < found->n; i++)
        free(found->names[i]);
    free(found->names);
    *found = (rlt_found){0};
}

/* Lists the most similar name, then names that contain `name`, such as hgx-h100-8 for "h100". */
static void list_near(const rlt_found *found, const char *name, char *list, size_t size)
{
    enum { MOST = 4, TOO_SHORT = 2 };
    rlt_nearest best = rlt_nearest_to(name);
    char quoted[NAME_MAX + 3];
    uint32_t n = 0;
    for (uint32_t i = 0; i < found->n; i++)
        rlt_nearest_try(&best, found->names[i]);
    if (best.best) {
        snprintf(quoted, sizeof quoted, "'%s'", best.best);
        rlt_list_name(list, size, quoted);
        n++;
    }
    for (uint32_t i = 0; i < found->n && n < MOST && strlen(name) > TOO_SHORT; i++)
        if (found->names[i] != best.best && strstr(found->names[i], name)) {
            snprintf(quoted, sizeof quoted, "'%s'", found->names[i]);
            rlt_list_name(list, size, quoted);
            n++;
        }
}

int rlt_find_fail(const char *dirs, const char *what, const char *spec, const char *more, rlt_error *err)
{
    rlt_found found;
    char near[512] = "";
    int code = strpbrk(spec, "/.") ? RLT_EIO : RLT_ENAME;
    if (strchr(spec, '/'))
        return rlt_fail(err, code, spec, "no such file");
    bool looked = rlt_find_all(dirs, NULL, &found, NULL) == 0;
    if (looked)
        list_near(&found, spec, near, sizeof near);
    if (*near)
        rlt_fail(err, code, spec, "no such file, and no %s of that name; did you mean %s?", what, near);
    else if (looked && dirs && found.n == 0)
        rlt_fail(err, code, spec, "no such file, and no %s of that name: there are none in %s", what, dirs);
    else
        rlt_fail(err, code, spec, "no such file, and no %s of that name%s", what, more ? more : "");
    rlt_find_free(&found);
    return code;
}
