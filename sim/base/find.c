/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches directories for files. */
#include "sim/base/find.h"

#include <dirent.h>
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

static const char *const any_ending[] = {"", ".json", ".graphml", ".yml", ".yaml", NULL};

bool rlt_find_file(const char *dirs, const char *name, char *path, size_t size)
{
    char dir[PATH_MAX];
    while (rlt_find_next_dir(&dirs, dir, sizeof dir))
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

int rlt_find_all(const char *dirs, const char *const *endings, rlt_found *found, rlt_error *err)
{
    char dir[PATH_MAX];
    int rc = 0;
    *found = (rlt_found){0};
    while (!rc && rlt_find_next_dir(&dirs, dir, sizeof dir)) {
        DIR *d = opendir(dir);
        struct dirent *entry;
        while (d && !rc && (entry = readdir(d))) {
            const char *dot = strrchr(entry->d_name, '.');
            bool known = false;
            for (size_t e = 0; dot && endings[e]; e++)
                known = known || strcmp(dot, endings[e]) == 0;
            if (!known || entry->d_name[0] == '.')
                continue;
            rc = rlt_grow(&found->names, &found->capacity, sizeof *found->names, (uint64_t)found->n + 1,
                          MAX_NAMES, "names", err);
            if (!rc && !(found->names[found->n] = strndup(entry->d_name, (size_t)(dot - entry->d_name))))
                rc = rlt_nomem(err);
            found->n += !rc;
        }
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

bool rlt_find_near(const char *dirs, const char *name, char *near, size_t size)
{
    rlt_found found;
    rlt_nearest best = rlt_nearest_to(name);
    if (rlt_find_all(dirs, any_ending + 1, &found, NULL) == 0)
        for (uint32_t i = 0; i < found.n; i++)
            rlt_nearest_try(&best, found.names[i]);
    if (best.best)
        snprintf(near, size, "%s", best.best);
    rlt_find_free(&found);
    return best.best != NULL;
}
