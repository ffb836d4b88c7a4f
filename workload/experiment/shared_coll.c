/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective with shared inputs: its files and cuts, loaded once, and its figures. */
#include <stdlib.h>

#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/base/words.h"
#include "sim/text/tree.h"
#include "sim/watch.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/one.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/kept.h"
#include "workload/experiment/shared.h"

enum { KEPT_FILES = 64 };

/* Options that the content of files depends on: members and kind; for plans in GOAL also a size. */
static const char *const of_files[] = {"plan",  "counts", "updates", "collective", "ranks",
                                       "group", "root",   "bytes",   NULL};
static const char *const that_name[] = {"plan", "counts", "updates"};

bool rlt_shared_is_of_files(const char *option)
{
    return rlt_is_one_of(option, of_files);
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

static int load_files(rlt_shared *s, const rlt_prepared *p, rlt_shared_files *f, rlt_error *err)
{
    int rc = rlt_coll_files_load(p->settings, p->parsed, &f->files, err);
    return rc ? rc : rlt_shared_note(s, &f->files.inputs, err);
}

int rlt_shared_files_of(rlt_shared *s, rlt_prepared *p, rlt_error *err)
{
    const rlt_shared_net *net = p->net;
    uint64_t key[2];
    bool any = false;
    for (size_t i = 0; i < sizeof that_name / sizeof *that_name; i++)
        any = any || rlt_given(p->parsed, that_name[i]);
    if (!any)
        return 0;
    uint32_t ranks = net->placed ? net->placement.n : rlt_topology_accelerators(net->topology);
    rlt_option_key(p->parsed->groups, p->texts, of_files, false, key);
    rlt__key_add(key, &ranks, sizeof ranks);
    rlt_shared_files *f = (rlt_shared_files *)rlt_kept_find(&s->files, key);
    if (!f) {
        rlt_kept *old = s->files.n >= KEPT_FILES ? rlt_kept_drop(&s->files) : NULL;
        if (old)
            free_files((rlt_shared_files *)old);
        if (!(f = calloc(1, sizeof *f)))
            return rlt_nomem(err);
        int rc = load_files(s, p, f, err);
        if (!rc)
            rc = rlt_kept_add(&s->files, &f->kept, key, "files", err);
        if (rc) {
            free_files(f);
            return rc;
        }
    }
    rlt_coll_lend(p->settings, &f->files);
    p->files = f;
    return 0;
}

int rlt_shared_prime_coll(rlt_prepared *p, rlt_error *err)
{
    /* Cuts are the same for all sizes and algorithms. Protocols have workers and trees of their own. */
    const char *not_of_cuts[] = {"bytes", "network", "routing", "injection", "algorithm", "set", NULL};
    enum { ALGORITHM = 4 };
    uint64_t key[2];
    bool known;
    if (rlt_topology_in_networks(p->net->topology) & RLT_CAN_REDUCE)
        not_of_cuts[ALGORITHM] = NULL;
    rlt_option_key(p->parsed->groups, p->texts, not_of_cuts, true, key);
    int rc = rlt_shared_primed(p->net, key[0], &known, err);
    if (rc || known)
        return rc;
    rlt_coll_ask ask = {.settings = p->settings, .args = p->parsed};
    rc = rlt_coll_open_one(&ask, err);
    if (!rc)
        rc = rlt_coll_prime(&ask, err);
    if (rc) /* a later one may be able to */
        rlt_map_remove(p->net->primed, key[0]);
    rlt_coll_close(&ask);
    return rc;
}

int rlt_shared_check_coll(const rlt_prepared *p, rlt_error *err)
{
    rlt_coll_ask ask = {.settings = p->settings, .args = p->parsed};
    int rc = rlt_coll_open_one(&ask, err);
    rlt_coll_close(&ask);
    return rc;
}

static void put_real(rlt_outcome *o, rlt_figure f, rlt_value v)
{
    if (!v.absent)
        rlt_outcome_real(o, f, v.real);
}

static void put_count(rlt_outcome *o, rlt_figure f, rlt_value v)
{
    if (!v.absent)
        rlt_outcome_integer(o, f, (int64_t)v.count);
}

static void put_figures(rlt_outcome *o, const rlt_coll_result *r)
{
    rlt_outcome_integer(o, RLT_FIG_TIME, r->time_ps);
    rlt_outcome_integer(o, RLT_FIG_EVENTS, (int64_t)r->events);
    rlt_outcome_integer(o, RLT_FIG_MESSAGES, (int64_t)r->messages);
    put_count(o, RLT_FIG_BYTES, r->offered);
    put_real(o, RLT_FIG_BUSBW, r->busbw_GBps);
    rlt_outcome_integer(o, RLT_FIG_BOUND, r->bound_ps);
    put_real(o, RLT_FIG_FAIRNESS, r->fairness);
    put_count(o, RLT_FIG_RETRANSMISSIONS, r->retransmissions);
    put_real(o, RLT_FIG_FALLBACK, r->fallback);
    put_count(o, RLT_FIG_PEAK, r->peak);
    put_real(o, RLT_FIG_MEAN, r->mean);
    put_count(o, RLT_FIG_SERVER_BYTES, r->server_bytes);
    put_real(o, RLT_FIG_COLLIDED, r->collided);
}

int rlt_shared_coll(const rlt_prepared *p, const rlt_watch *watch, rlt_figure_links links, rlt_outcome *out,
                    rlt_error *err)
{
    rlt_coll_ask ask = {.settings = p->settings, .args = p->parsed, .watch = watch};
    rlt_coll_one *one = calloc(1, sizeof *one);
    int rc = one ? rlt_coll_open_one(&ask, err) : rlt_nomem(err);
    if (!rc && (rc = rlt_coll_one_open(one, &ask, 0, 0, err)) == 0)
        rc = rlt_coll_one_simulate(one, watch, err);
    if (!rc) {
        put_figures(out, &one->result);
        rc = rlt_link_figures_of(ask.setup.topology, rlt_coll_one_usage(one), one->result.time_ps, links, out,
                                 err);
    }
    if (one)
        rlt_coll_one_end(one);
    free(one);
    rlt_coll_close(&ask);
    return rc;
}
