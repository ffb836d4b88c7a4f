/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries that are loaded when they are first used. */
#define _GNU_SOURCE /* RTLD_DEFAULT: a preloaded library may stand in for one, as in tests */
#include "sim/late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define WITH_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif
#ifdef WITH_ASAN
/*
 * Where the thread-local data of a loaded library begin 16 bytes into a page, the search for leaks of gcc
 * up to 13 and clang up to 16 takes the 16 bytes before them for their address and size, and may end with
 * "Tracer caught signal 11". It is told to leave them out: such data are found through the thread, too.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}
#endif

/* Guards all tables: a caller that has seen a table filled under the lock may read it without. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int fill(const rlt_late_library *l, rlt_error *err)
{
    char *to = l->table;
    if (!dlopen(l->file, RTLD_LAZY | RTLD_GLOBAL))
        return rlt_fail(err, RLT_EUNSUPPORTED, l->file, "cannot be loaded: %s; apt-get install %s", dlerror(),
                        l->package);
    /* The first entry says that the table is full, so it is written last. */
    for (size_t i = 1; l->names[i - 1]; i++) {
        size_t at = l->names[i] ? i : 0;
        void *function = dlsym(RTLD_DEFAULT, l->names[at]);
        if (!function)
            return rlt_fail(err, RLT_EUNSUPPORTED, l->file, "lacks %s: another version than that of %s",
                            l->names[at], l->package);
        memcpy(to + at * sizeof function, &function, sizeof function);
    }
    return 0;
}

int rlt_late_load(const rlt_late_library *l, rlt_error *err)
{
    void *first;
    pthread_mutex_lock(&lock);
    memcpy(&first, l->table, sizeof first);
    int rc = first ? 0 : fill(l, err);
    pthread_mutex_unlock(&lock);
    return rc;
}
