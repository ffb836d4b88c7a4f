/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A preloaded library. Allocation number FAIL_MALLOC (from 1; malloc, calloc, realloc) fails; with
 * FAIL_MALLOC_ALL set, all later ones fail, too. FAIL_MALLOC_COUNT names a file that receives the number of
 * allocations. Allocations by the loader, by constructors and destructors of libraries are not counted,
 * whether before main, after it, or while a library is loaded on the way: several crash without memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static unsigned long fail_at, count;
static int all, counting;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_MALLOC");
    fail_at = at ? strtoul(at, NULL, 10) : 0;
    all = getenv("FAIL_MALLOC_ALL") != NULL;
    counting = 1;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_MALLOC_COUNT");
    counting = 0;
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%lu\n", count);
        fclose(f);
    }
}

static void stop(void)
{
    counting = 0;
}

void *dlopen(const char *file, int mode)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    counting = 0;
    void *object = next(file, mode);
    atexit(stop); /* runs before the destructors of what was loaded just now */
    counting = 1;
    return object;
}

static int fails(void)
{
    if (!counting)
        return 0;
    unsigned long i = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (fail_at == 0 || i < fail_at || (i > fail_at && !all))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}
