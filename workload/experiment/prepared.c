/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/prepared.h"

int rlt_prepare_net(rlt_prepared *p, rlt_shared *s, rlt_error *err)
{
    return rlt_prepared_sim(p)->topology ? rlt_shared_net_of(s, p, err) : 0;
}

int rlt_prepare_rest(rlt_prepared *p, rlt_shared *s, rlt_error *err)
{
    if (!p->net)
        return 0;
    return p->kind == RLT_EXPERIMENT_RUN ? rlt_shared_work_of(s, p, err) : rlt_shared_files_of(s, p, err);
}

int rlt_prepare(rlt_prepared *p, rlt_shared *s, rlt_error *err)
{
    int rc = rlt_prepare_net(p, s, err);
    if (!rc)
        rc = rlt_prepare_rest(p, s, err);
    if (rc || !p->net)
        return rc;
    if (p->kind == RLT_EXPERIMENT_COLL)
        return rlt_shared_prime_coll(p, err);
    return p->work ? rlt_shared_prime(p->net, p->work, err) : 0;
}

static int run_run(const rlt_prepared *p, const rlt_watch *watch, rlt_figure_links links, rlt_run *r,
                   rlt_outcome *out, rlt_error *err)
{
    *r = (rlt_run){.args = p->parsed, .settings = p->settings, .watch = watch};
    int rc = rlt_shared_run(p->work, r, err);
    r->watch = NULL;
    return rc ? rc : rlt_run_figures(r, links, out, err);
}

int rlt_prepared_run(const rlt_prepared *p, const rlt_watch *watch, rlt_figure_links links, rlt_run *keep,
                     rlt_outcome *out, rlt_error *err)
{
    rlt_run own;
    if (p->kind == RLT_EXPERIMENT_COLL)
        return rlt_shared_coll(p, watch, links, out, err);
    int rc = run_run(p, watch, links, keep ? keep : &own, out, err);
    if (!keep)
        rlt_shared_run_end(p->work, &own);
    return rc;
}

void rlt_prepared_end(rlt_prepared *p)
{
    if (p->net)
        p->net->kept.refs--;
    if (p->work)
        p->work->kept.refs--;
    if (p->files)
        p->files->kept.refs--;
    p->net = NULL;
    p->work = NULL;
    p->files = NULL;
}
