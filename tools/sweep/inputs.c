/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collectives read from files, loaded once, read by all; and what points of a study differ in. */
#include "tools/sweep/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/text/tree.h"
#include "tools/coll/single.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/kept.h"
#include "workload/experiment/shared.h"

enum { KEPT_FILES = 64 };

/* What files are read for: so many members, a kind, of plans in GOAL a size. */
static const char *const of_files[] = {"plan",  "counts", "updates", "collective", "ranks",
                                       "group", "root",   "bytes",   NULL};
static const char *const that_name[] = {"plan", "counts", "updates"};

static bool is_of_files(const char *option)
{
    const char *const *n = of_files;
    while (*n && strcmp(*n, option) != 0)
        n++;
    return *n != NULL;
}

static bool any_of(const rlt_sweep_study *s, const rlt_sweep_place *places, uint32_t n,
                   bool (*is_of)(const char *option))
{
    for (uint32_t i = 0; i < n; i++)
        if (is_of(rlt_option_at(s->command->options, places[i].option, NULL)->name))
            return true;
    return false;
}

static bool varies(const rlt_sweep_study *s, bool (*is_of)(const char *option))
{
    bool any = false;
    for (uint32_t i = 0; i < s->n_axes; i++)
        any = any || any_of(s, s->axes[i].places, s->axes[i].n_places, is_of);
    for (uint32_t i = 0; i < s->n_named; i++)
        any = any || any_of(s, s->named[i].places, s->named[i].n, is_of);
    return any;
}

bool rlt_shared_net_varies(const rlt_sweep_study *s)
{
    return varies(s, rlt_shared_is_of_net);
}

bool rlt_shared_work_varies(const rlt_sweep_study *s)
{
    return varies(s, rlt_shared_is_of_work);
}

bool rlt_shared_files_vary(const rlt_sweep_study *s)
{
    return varies(s, is_of_files);
}

static void free_files(rlt_shared_files *f)
{
    rlt_coll_files_free(&f->files);
    free(f);
}

void rlt_sweep_inputs_free(rlt_sweep_inputs *s)
{
    rlt_shared_free(&s->shared);
    for (uint32_t i = 0; i < s->files.n; i++)
        free_files((rlt_shared_files *)s->files.items[i]);
    free(s->files.items);
    *s = (rlt_sweep_inputs){0};
}

static int load_files(rlt_sweep_inputs *s, rlt_shared_files *f, const rlt_parsed *parsed, void *settings,
                      rlt_error *err)
{
    int rc = rlt_coll_files_load(parsed, settings, &f->files, err);
    return rc ? rc : rlt_shared_note(&s->shared, &f->files.inputs, err);
}

int rlt_shared_files_of(rlt_sweep_inputs *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
                        void *settings, const rlt_shared_net *net, rlt_shared_files **out, rlt_error *err)
{
    uint64_t key[2];
    bool any = false;
    *out = NULL;
    for (size_t i = 0; i < sizeof that_name / sizeof *that_name; i++)
        any = any || rlt_given(parsed, that_name[i]);
    if (!any)
        return 0;
    uint32_t ranks = net->placed ? net->placement.n : rlt_topology_accelerators(net->topology);
    rlt_option_key(parsed->groups, texts, of_files, false, key);
    for (int k = 0; k < 2; k++)
        key[k] = rlt_hash_bytes(&ranks, sizeof ranks, key[k]);
    rlt_shared_files *f = (rlt_shared_files *)rlt_kept_find(&s->files, key);
    if (!f) {
        rlt_kept *old = s->files.n >= KEPT_FILES ? rlt_kept_drop(&s->files) : NULL;
        if (old)
            free_files((rlt_shared_files *)old);
        if (!(f = calloc(1, sizeof *f)))
            return rlt_nomem(err);
        int rc = load_files(s, f, parsed, settings, err);
        if (!rc)
            rc = rlt_kept_add(&s->files, &f->kept, key, "files", err);
        if (rc) {
            free_files(f);
            return rc;
        }
    }
    rlt_coll_lend(settings, &f->files);
    *out = f;
    return 0;
}
