/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plug-ins: shared objects, built against the installed headers, that add algorithms, trace readers, model
 * families and training strategies. A plug-in is one constant struct named `ringlet_plugin`:
 *
 *   static const rlt_algorithm *const algorithms[] = {&mine, NULL};
 *   RLT_PLUGIN = {RLT_PLUGIN_ABI, "mine", "1.0", "what it adds", algorithms};
 *
 *   cc -shared -fPIC $(pkg-config --cflags ringlet) -o mine.so mine.c
 *
 * Do not link a plug-in with libringlet. It takes the library's functions from the program that loads it: the
 * `ringlet` command, which exports everything that the installed headers declare, or a program linked with
 * libringlet.so. A process then has one copy of the library, and one table of algorithms.
 *
 * Load plug-ins from one thread, before simulations start. Their entries are used like built-in ones. A
 * plug-in stays until the process ends: it is never unloaded, because plans, programs and models point into
 * it.
 */
#ifndef RLT_WORKLOAD_PLUGIN_PLUGIN_H
#define RLT_WORKLOAD_PLUGIN_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "sim/base/error.h"
#include "workload/models/model.h"
#include "workload/program/reader.h"
#include "workload/training/training.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rises with every change of the structs below or of structs that they point to. */
enum { RLT_PLUGIN_ABI = 2 };

/* A small file for the proof of a reader by `ringlet check`: readers[i] reads samples[i]. */
typedef struct rlt_plugin_sample {
    const char *file; /* file name, without folders */
    const char *text;
    size_t length;
} rlt_plugin_sample;

/* Lists end with NULL. A list may be NULL: it is empty. */
typedef struct rlt_plugin {
    uint32_t abi; /* must be RLT_PLUGIN_ABI */
    const char *name, *version, *summary;
    const rlt_algorithm *const *algorithms;
    const rlt_reader *const *readers;
    const rlt_plugin_sample *samples; /* one per reader; NULL if there are no readers */
    const rlt_model_family *const *families;
    const rlt_training_strategy *const *strategies;
} rlt_plugin;

#ifdef __cplusplus
#define RLT_PLUGIN extern "C" __attribute__((visibility("default"))) const rlt_plugin ringlet_plugin
#else
#define RLT_PLUGIN                                                                                           \
    extern const rlt_plugin ringlet_plugin;                                                                  \
    __attribute__((visibility("default"))) const rlt_plugin ringlet_plugin
#endif

/* A loaded plug-in: an entry of the registry rlt_plugins. */
typedef struct rlt_plugin_loaded {
    const char *name, *summary, *version;
    const char *path; /* as given to rlt_plugin_load */
    uint64_t hash;    /* hash of the file */
    const rlt_plugin *plugin;
} rlt_plugin_loaded;

/* Loads a shared object and enters either all of its entries or none. RLT_EMALFORMED for a file that is no
 * plug-in. RLT_EUNSUPPORTED or RLT_ESCHEMA for another ABI, a missing slot, or a name that is taken. A
 * damaged shared object may still crash the process: loading runs its code. */
RLT_API int rlt_plugin_load(const char *path, const rlt_plugin_loaded **out, rlt_error *err) RLT_MUST_USE;
RLT_API const rlt_plugin_loaded *rlt_plugin_at(uint32_t i); /* in the order loaded; NULL past the end */

/* Proves the entries of a loaded plug-in, see workload/plugin/README.md. *text is malloc'ed and owned by the
 * caller: a line per entry that says what holds. RLT_ECHECK names the case that failed. Samples are written
 * in the folder `scratch` and removed again. */
RLT_API int rlt_plugin_check(const rlt_plugin *p, const char *scratch, char **text,
                             rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
