/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loading plug-ins: the file, its struct, its slots, then the registries. */
#include "workload/plugin/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#ifdef __ELF__
#include <elf.h>
#endif

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/registry.h"
#include "sim/text/file.h"

enum { MAX_PLUGIN_BYTES = 1 << 28 };

static rlt_registry registry = {.what = "plug-in", .unknown = RLT_EUSAGE};

const rlt_plugin_loaded *rlt_plugin_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

/* Lists of a plug-in, each with a registry of its own. */
enum { ALGORITHMS, READERS, FAMILIES, STRATEGIES, LISTS };

typedef struct list {
    const void *const *entries;
    rlt_registry *into;
} list;

static void lists_of(const rlt_plugin *p, list out[LISTS])
{
    out[ALGORITHMS] = (list){(const void *const *)p->algorithms, rlt_algorithms()};
    out[READERS] = (list){(const void *const *)p->readers, rlt_readers()};
    out[FAMILIES] = (list){(const void *const *)p->families, rlt_model_families()};
    out[STRATEGIES] = (list){(const void *const *)p->strategies, rlt_training_strategies()};
}

/* Returns the name of a required slot that an entry lacks, or NULL. */
static const char *missing_slot(int kind, const void *entry)
{
    const rlt_algorithm *a = entry;
    const rlt_reader *r = entry;
    const rlt_model_family *f = entry;
    const rlt_training_strategy *s = entry;
    switch (kind) {
    case ALGORITHMS:
        return !a->plan ? "plan" : !a->steps ? "steps" : !a->step ? "step" : !a->kinds ? "kinds" : NULL;
    case READERS:
        return !r->probe ? "probe" : !r->read ? "read" : NULL;
    case FAMILIES:
        return f->build ? NULL : "build";
    default:
        return s->settings ? NULL : "settings";
    }
}

static int check_slots(const char *path, const rlt_plugin *p, const list *lists, rlt_error *err)
{
    uint32_t n = 0;
    for (int k = 0; k < LISTS; k++)
        for (const void *const *e = lists[k].entries; e && *e; e++, n++) {
            const char *slot = missing_slot(k, *e);
            int rc = rlt_registry_may_add(lists[k].into, *e, (uint32_t)(e - lists[k].entries), path, err);
            if (rc)
                return rc;
            if (slot)
                return rlt_fail(err, RLT_ESCHEMA, path, "%s '%s' has no '%s': expected a function or a text",
                                lists[k].into->what, *(const char *const *)*e, slot);
            for (const void *const *other = lists[k].entries; other < e; other++)
                if (strcmp(*(const char *const *)*other, *(const char *const *)*e) == 0)
                    return rlt_fail(err, RLT_ESCHEMA, path, "%s '%s' appears twice", lists[k].into->what,
                                    *(const char *const *)*e);
        }
    if (p->readers && p->readers[0] && !p->samples)
        return rlt_fail(err, RLT_ESCHEMA, path, "has readers, but no sample file for them");
    return n ? 0 : rlt_fail(err, RLT_ESCHEMA, path, "adds nothing: all its lists are empty");
}

static int open_object(const char *path, const rlt_plugin **out, rlt_error *err)
{
    char *name = malloc(strlen(path) + sizeof "./");
    if (!name)
        return rlt_nomem(err);
    /* Without a slash, dlopen would search the system's folders. */
    strcpy(name, strchr(path, '/') ? "" : "./");
    strcat(name, path);
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    free(name);
    if (!object)
        return rlt_fail(err, RLT_EMALFORMED, path, "cannot be loaded: %s", dlerror());
    *out = dlsym(object, "ringlet_plugin");
    if (!*out) {
        dlclose(object);
        return rlt_fail(err, RLT_EMALFORMED, path, "not a plug-in: it defines no 'ringlet_plugin'");
    }
    if ((*out)->abi == RLT_PLUGIN_ABI)
        return 0;
    rlt_fail(err, RLT_EUNSUPPORTED, path,
             "was built for plug-in ABI %u, but this ringlet has ABI %d: rebuild it", (*out)->abi,
             RLT_PLUGIN_ABI);
    dlclose(object);
    return RLT_EUNSUPPORTED;
}

#ifdef __ELF__
/* Returns true if all segments lie inside the file: dlopen maps them, and would crash on one that does
 * not. */
static bool is_whole(const char *text, size_t length)
{
    Elf64_Ehdr head;
    memcpy(&head, text, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return true; /* dlopen reports more */
    if (head.e_type != ET_DYN || head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phoff > length ||
        head.e_phnum * sizeof(Elf64_Phdr) > length - head.e_phoff)
        return false;
    for (uint32_t i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, text + head.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_offset > length || segment.p_filesz > length - segment.p_offset)
            return false;
    }
    return true;
}

/* Refuses files that are no shared objects, with a better message than dlopen's. */
static int check_object(const char *text, size_t length, const char *path, rlt_error *err)
{
    if (length < sizeof(Elf64_Ehdr) || memcmp(text, ELFMAG, SELFMAG) != 0)
        return rlt_fail(err, RLT_EMALFORMED, path, "not a plug-in: not a shared object");
    if (!is_whole(text, length))
        return rlt_fail(err, RLT_EMALFORMED, path,
                        "not a plug-in: the shared object is truncated or damaged");
    return 0;
}
#else
static int check_object(const char *text, size_t length, const char *path, rlt_error *err)
{
    (void)text, (void)length, (void)path, (void)err;
    return 0; /* dlopen says it */
}
#endif

/* Hashes the content, and checks it. */
static int read_object(const char *path, uint64_t *hash, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    int rc = rlt_read_file(path, MAX_PLUGIN_BYTES, &text, &length, err);
    if (rc)
        return rc;
    *hash = rlt_hash_bytes(text, length, 0);
    rc = check_object(text, length, path, err);
    free(text);
    return rc;
}

static rlt_plugin_loaded *describe(const rlt_plugin *p, const char *path, uint64_t hash)
{
    rlt_plugin_loaded *l = malloc(sizeof *l + strlen(path) + 1);
    if (l)
        *l = (rlt_plugin_loaded){p->name, p->summary, p->version, strcpy((char *)(l + 1), path), hash, p};
    return l;
}

int rlt_plugin_load(const char *path, const rlt_plugin_loaded **out, rlt_error *err)
{
    const rlt_plugin *p = NULL;
    uint64_t hash = 0;
    list lists[LISTS];
    int rc = read_object(path, &hash, err);
    if (out)
        *out = NULL;
    if (rc || (rc = open_object(path, &p, err)))
        return rc;
    lists_of(p, lists);
    if (!p->name || !p->version)
        return rlt_fail(err, RLT_ESCHEMA, path, "the plug-in has no %s", p->name ? "version" : "name");
    if ((rc = check_slots(path, p, lists, err)))
        return rc;
    rlt_plugin_loaded *loaded = describe(p, path, hash);
    if (!loaded)
        return rlt_nomem(err);
    if ((rc = rlt_registry_add(&registry, loaded, path, err))) {
        free(loaded);
        return rc;
    }
    for (int k = 0; k < LISTS && !rc; k++)
        for (const void *const *e = lists[k].entries; e && *e && !rc; e++)
            rc = rlt_registry_add(lists[k].into, *e, p->name, err);
    if (out)
        *out = loaded;
    return rc;
}
