/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point of `run`, and links of either command. */
#include <stdlib.h>
#include <string.h>

#include "net/links.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "sim/watch.h"
#include "tools/base/pool.h"
#include "tools/run/result.h"
#include "tools/run/run.h"
#include "tools/run/training.h"
#include "tools/sweep/experiment.h"
#include "tools/sweep/experiment_links.h"
#include "tools/sweep/shared.h"
#include "tools/sweep/study/figures.h"
#include "tools/sweep/study/study.h"
#include "workload/replay/replay.h"

static int take_links(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                      rlt_outcome *o, rlt_error *err)
{
    rlt_link_class *all = NULL;
    rlt_strings names = {0};
    uint32_t n = 0;
    int rc = rlt_links_list(t, u, time_ps, folded, &all, &n, err);
    if (!rc && !(o->links = calloc((size_t)n + 1, sizeof *o->links)))
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rlt_link_figures *l = &o->links[o->n_links++];
        char name[140];
        rlt_link_class_name(t, &all[i], name, sizeof name);
        bool twice = rlt_intern_find(&names, name, strlen(name)) != RLT_NONE;
        if (rlt_intern(&names, name, strlen(name)) == RLT_NONE)
            rc = rlt_nomem(err);
        snprintf(l->id, sizeof l->id, twice ? "%s #%u" : "%s", name, all[i].first);
        l->dim = all[i].link.dim;
        l->count = all[i].count;
        l->bytes = all[i].usage.bytes;
        l->busy_ps = all[i].usage.busy_ps;
        l->active_ps = all[i].usage.active_ps;
        l->utilization = all[i].utilization;
    }
    rlt_strings_free(&names);
    free(all);
    return rc;
}

int rlt__experiment_links(const rlt_experiment *e, const rlt_topology *t, const rlt_usage *u,
                          rlt_time time_ps, rlt_outcome *o, rlt_error *err)
{
    rlt_busiest busiest = rlt_links_busiest(t, u, time_ps);
    o->there[RLT_FIG_BUSIEST_LINK] = busiest.link != RLT_NONE;
    snprintf(o->busiest, sizeof o->busiest, "%s", busiest.link == RLT_NONE ? "" : busiest.name);
    rlt_outcome_real(o, RLT_FIG_BUSIEST, busiest.utilization);
    if (e->study->links == RLT_SWEEP_LINKS_NONE)
        return 0;
    return take_links(t, u, time_ps, e->study->links == RLT_SWEEP_LINKS_SUMMARY, o, err);
}

static int report(rlt_experiment *e, const rlt_run *r, rlt_error *err)
{
    rlt_outcome *o = &e->outcome;
    rlt_rank_result k = rlt_replay_rank(r->replay, r->last_rank);
    const rlt_net *net = rlt_replay_net(r->replay);
    uint32_t n = rlt_replay_iterations(r->replay);
    rlt_time time = rlt_replay_time(r->replay);
    rlt_outcome_integer(o, RLT_FIG_TIME, time);
    if (n)
        rlt_outcome_integer(o, RLT_FIG_ITERATION, time / n);
    rlt_outcome_integer(o, RLT_FIG_COMPUTE, k.compute_ps);
    rlt_outcome_integer(o, RLT_FIG_COMM, k.exposed_comm_ps);
    rlt_outcome_integer(o, RLT_FIG_HOST, k.host_ps);
    rlt_outcome_integer(o, RLT_FIG_IDLE, k.idle_ps);
    rlt_outcome_integer(o, RLT_FIG_EVENTS, (int64_t)rlt_sim_events(rlt_replay_sim(r->replay)));
    if (r->trains) {
        rlt_training_figures f = rlt_run_training_figures(r);
        rlt_outcome_integer(o, RLT_FIG_MEMORY, (int64_t)(f.memory_bytes + 0.5));
        rlt_outcome_real(o, RLT_FIG_MFU, f.utilization);
        rlt_outcome_real(o, RLT_FIG_TOKENS, f.tokens_per_s);
    }
    if (!net)
        return 0;
    rlt_outcome_integer(o, RLT_FIG_MESSAGES, (int64_t)net->messages);
    rlt_outcome_integer(o, RLT_FIG_BYTES, (int64_t)net->bytes_offered);
    return rlt__experiment_links(e, r->setup.topology, net->usage, rlt_run_end(r), o, err);
}

int rlt__experiment_run(rlt_experiment *e, rlt_task *job, rlt_error *err)
{
    rlt_watch watch = rlt_task_watcher(job);
    /* Cuts were found for shared workloads; others would have this thread call igraph. */
    rlt_run r = {.args = &e->parsed,
                 .settings = e->settings,
                 .watch = &watch,
                 .stem = e->work ? &e->work->stem : NULL,
                 .unbounded = !e->work};
    watch.progress = NULL;
    int rc = rlt_run_load(&r, err);
    if (!rc && e->work)
        rlt_shared_lend(e->work, &r);
    if (!rc)
        rc = rlt_run_prepare(&r, err);
    if (!rc) {
        rc = rlt_run_simulate(&r, err);
        bool limited = rlt_run_was_limited(&r, rc);
        rc = limited ? 0 : rc;
        if (!rc && !limited)
            rc = rlt_run_check(&r, err);
        if (!rc)
            rc = report(e, &r, err);
    }
    if (e->work)
        rlt_shared_return(&r);
    rlt_run_close(&r);
    return rc;
}
