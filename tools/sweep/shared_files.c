/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans, counts and updates of collectives, loaded once, read by all. */
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "tools/base/tree.h"
#include "tools/coll/single.h"
#include "tools/sweep/shared.h"
#include "tools/sweep/store/kept.h"
#include "tools/sweep/study/study.h"

enum { KEPT_FILES = 64 };

/* What files are read for: so many members, a kind, of plans in GOAL a size. */
static const char *const of_files[] = {"plan",  "counts", "updates", "collective", "ranks",
                                       "group", "root",   "bytes",   NULL};
static const char *const that_name[] = {"plan", "counts", "updates"};

bool rlt_shared_files_vary(const rlt_sweep_study *s)
{
    return rlt__option_varies(s, of_files, false);
}

static void free_files(rlt_shared_files *f)
{
    rlt_coll_files_free(&f->files);
    free(f);
}

void rlt__shared_files_free(rlt_shared *s)
{
    for (uint32_t i = 0; i < s->files.n; i++)
        free_files((rlt_shared_files *)s->files.items[i]);
    free(s->files.items);
}

static int load_files(rlt_shared *s, rlt_shared_files *f, const rlt_parsed *parsed, void *settings,
                      rlt_error *err)
{
    int rc = rlt_coll_files_load(parsed, settings, &f->files, err);
    return rc ? rc : rlt__shared_note(s, &f->files.inputs, err);
}

int rlt_shared_files_of(rlt_shared *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
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
