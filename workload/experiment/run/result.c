/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of a finished run beside its replay: links, communications and critical path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/experiment/run/jobs.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

uint32_t rlt_run_comm_ranks(const rlt_run *r, uint32_t comm)
{
    uint32_t g = r->program->comms[comm].group;
    return r->program->group_first[g + 1] - r->program->group_first[g];
}

double rlt_run_busbw(const rlt_run *r, uint32_t comm, rlt_time transfer_ps)
{
    const rlt_comm *c = &r->program->comms[comm];
    if (transfer_ps <= 0)
        return 0;
    return (double)c->bytes * rlt_busbw_factor(c->kind, rlt_run_comm_ranks(r, comm)) /
           ((double)transfer_ps * 1e-12);
}

double rlt_run_slowdown(const rlt_run *r)
{
    rlt_time recorded = 0, run = rlt_replay_time(r->replay);
    for (uint32_t i = 0; i < r->program->n_ranks; i++)
        if (r->program->rank_recorded_ps[i] > recorded)
            recorded = r->program->rank_recorded_ps[i];
    return r->settings->recording.ideal && !r->partial && run > 0 ? (double)recorded / (double)run : 0;
}

const char *rlt_path_name(rlt_path_kind kind)
{
    static const char *const names[] = {"compute", "host", "delay", "transfer", "start skew"};
    return names[kind];
}

int rlt_run_path(const rlt_run *r, rlt_path_sum *out, rlt_error *err)
{
    *out = (rlt_path_sum){0};
    int rc = rlt_replay_critical_path(r->replay, &out->items, &out->n, err);
    for (uint32_t i = 0; !rc && i < out->n; i++) {
        const rlt_path_item *it = &out->items[i];
        rlt_time t = it->end_ps - it->begin_ps;
        out->total_ps += t;
        out->by_kind_ps[it->kind] += t;
        const rlt_op *op = &r->program->ops[it->op];
        if (it->kind == RLT_PATH_TRANSFER || op->purpose == RLT_FOR_OFFLOAD)
            out->by_purpose_ps[op->purpose] += t;
        if (it->kind == RLT_PATH_TRANSFER && op->comm != RLT_NONE) {
            rlt_coll_kind kind = r->program->comms[op->comm].kind;
            out->by_coll_ps[kind] += t;
            out->by_coll[kind]++;
        }
    }
    return rc;
}

void rlt_path_sum_free(rlt_path_sum *p)
{
    free(p->items);
    *p = (rlt_path_sum){0};
}

/* Returns the share of all ranks' time that the pipeline's bubble takes, if nothing but compute takes more;
 * else 0. The critical path shows it as compute of one stage after the other. */
static double bubble_share(const rlt_run *r)
{
    double sum[RLT_CAUSES] = {0}, whole = 0;
    for (uint32_t i = 0; i < r->program->n_ranks; i++)
        for (int c = 0; c < RLT_CAUSES; c++)
            sum[c] += (double)r->causes[i].ps[c];
    for (int c = 0; c < RLT_CAUSES; c++) {
        whole += sum[c];
        if (c != RLT_CAUSE_COMPUTE && sum[c] > sum[RLT_CAUSE_BUBBLE])
            return 0;
    }
    return whole > 0 ? sum[RLT_CAUSE_BUBBLE] / whole : 0;
}

int rlt_run_verdict(const rlt_run *r, char *buffer, size_t size, rlt_error *err)
{
    static const char *const subjects[] = {"compute takes", "host work takes", "recorded gaps take",
                                           "transfers take", "start skew takes"};
    rlt_path_sum p;
    rlt_link_class *links = NULL;
    uint32_t n_links = 0;
    int rc = rlt_run_path(r, &p, err);
    if (!rc)
        rc = rlt_run_links(r, true, &links, &n_links, err);
    if (rc)
        goto out;
    uint32_t best = 0;
    for (uint32_t k = 1; k <= RLT_PATH_START; k++)
        if (p.by_kind_ps[k] > p.by_kind_ps[best])
            best = k;
    double total = p.total_ps > 0 ? (double)p.total_ps : 1;
    int used = 0;
    if (bubble_share(r) > 0.1)
        used = snprintf(buffer, size, "the pipeline bubble; through the stages, ");
    if (used >= 0 && (size_t)used < size)
        used += snprintf(buffer + used, size - (size_t)used, "%s %.1f %% of the critical path",
                         subjects[best], 100 * (double)p.by_kind_ps[best] / total);
    if (used > 0 && (size_t)used < size && best != RLT_PATH_TRANSFER)
        used += snprintf(buffer + used, size - (size_t)used, ", transfers %.1f %%",
                         100 * (double)p.by_kind_ps[RLT_PATH_TRANSFER] / total);
    if (used > 0 && (size_t)used < size && n_links && links[0].usage.bytes) {
        char name[160];
        rlt_link_class_name(r->setup.topology, &links[0], name, sizeof name);
        snprintf(buffer + used, size - (size_t)used, "; the busiest link, %s, is used to %.1f %%", name,
                 100 * links[0].utilization);
    }
out:
    rlt_path_sum_free(&p);
    free(links);
    return rc;
}

int rlt_run_links(const rlt_run *r, bool folded, rlt_link_class **classes, uint32_t *n, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    *classes = NULL;
    *n = 0;
    return net ? rlt_links_list(r->setup.topology, net->usage, rlt_run_end(r), folded, classes, n, err) : 0;
}

rlt_time rlt_run_end(const rlt_run *r)
{
    return rlt_sim_now(rlt_replay_sim(r->replay));
}

/* Returns the mean seconds per iteration. */
static double iteration_s(const rlt_run *r)
{
    return (double)rlt_jobs_time(r, 0) / r->training.steps / 1e12;
}

/* Returns model FLOPs over the peak FLOPs of all accelerators in that time. */
static double utilization(const rlt_run *r)
{
    uint64_t peak;
    const rlt_training *t = &r->training;
    if (rlt_accelerator_peak(t->accelerator, t->precision, &peak, NULL) || iteration_s(r) == 0)
        return 0;
    return rlt_training_flop(t) / t->steps / iteration_s(r) / rlt_training_ranks(t) / (double)peak;
}

static double tokens_per_s(const rlt_run *r)
{
    return (double)r->training.batch * r->training.model->tokens / iteration_s(r);
}

rlt_training_figures rlt_run_training_figures(const rlt_run *r)
{
    rlt_training_figures f = {.utilization = utilization(r), .tokens_per_s = tokens_per_s(r)};
    const rlt_training *t = &r->training;
    f.memory_bytes = rlt_training_fullest(t, &f.fullest);
    f.grounds = rlt_accelerator_grounds(t->accelerator, t->stack, t->precision, rlt_model_kind_of(t->model));
    f.iteration_low_s = iteration_s(r) * f.grounds.spread.low;
    f.iteration_high_s = iteration_s(r) * f.grounds.spread.high;
    return f;
}
