/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exposed communication by dimensions. While nothing computes, each instant counts for the set of dimensions
 * that the communications under way use. */
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/experiment/run/exposed.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { MASKS = 1 << RLT_MAX_DIMS };

/* Returns the dimensions in which members of a communication differ, as bits; 0: unknown. */
static uint32_t dims_of_comm(const rlt_run *r, uint32_t comm)
{
    const rlt_program *p = r->program;
    const rlt_comm *c = &p->comms[comm];
    const rlt_placement *placed = r->options.placement;
    uint32_t n = p->group_first[c->group + 1] - p->group_first[c->group], mask = 0, first = 0;
    for (uint32_t m = 0; m < n; m++) {
        uint32_t rank = p->group_ranks[p->group_first[c->group] + m], at;
        if (rank >= placed->n)
            return 0;
        at = rlt_placed(placed, rank);
        first = m ? first : at;
        uint32_t a = at, b = first;
        for (uint32_t d = 0; d < rlt_topology_dims(r->setup.topology); d++) {
            uint32_t size = rlt_topology_dim(r->setup.topology, d).size;
            if (a % size != b % size)
                mask |= 1u << d;
            a /= size;
            b /= size;
        }
    }
    return mask;
}

typedef struct change {
    rlt_time at_ps;
    int32_t by;
    uint32_t mask; /* MASKS marks compute */
} change;

static int by_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->at_ps > y->at_ps) - (x->at_ps < y->at_ps);
}

/* Sorts the changes of a rank by time and adds up exposed[mask]. */
static void sweep(change *list, uint32_t n, rlt_time *exposed)
{
    uint32_t active[MASKS + 1] = {0}, kinds[MASKS], n_kinds = 0;
    qsort(list, n, sizeof *list, by_time);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t in_use = 0, any = 0;
        for (uint32_t k = 0; k < n_kinds; k++)
            if (active[kinds[k]]) {
                in_use |= kinds[k];
                any = 1;
            }
        if (i && any && !active[MASKS])
            exposed[in_use] += list[i].at_ps - list[i - 1].at_ps;
        uint32_t m = list[i].mask, k = 0;
        active[m] += (uint32_t)list[i].by;
        while (k < n_kinds && kinds[k] != m)
            k++;
        if (m < MASKS && k == n_kinds)
            kinds[n_kinds++] = m;
    }
}

/* Begins and ends of what a rank did. What was under way when the run was stopped ends there. */
static uint32_t changes_of(const rlt_run *r, uint32_t rank, const uint32_t *dims, change *list)
{
    uint32_t n = 0;
    for (uint32_t i = r->program->rank_first[rank]; i < r->program->rank_first[rank + 1]; i++) {
        const rlt_op *op = &r->program->ops[i];
        rlt_op_result t = rlt_replay_op(r->replay, i);
        bool offloads = op->purpose == RLT_FOR_OFFLOAD,
             computes = op->kind == RLT_OP_COMPUTE || (op->kind == RLT_OP_MEMORY && !offloads);
        rlt_time end_ps = t.end_ps < 0 ? rlt_run_end(r) : t.end_ps;
        if (t.start_ps < 0 || (!computes && op->kind < RLT_OP_COLLECTIVE))
            continue;
        uint32_t mask = computes ? MASKS : dims[op->comm];
        list[n++] = (change){t.start_ps, 1, mask};
        list[n++] = (change){end_ps, -1, mask};
    }
    return n;
}

int rlt_run_exposed(const rlt_run *r, rlt_exposed *out, rlt_error *err)
{
    const rlt_program *p = r->program;
    uint32_t most = 0, masks = 1u << rlt_topology_dims(r->setup.topology);
    *out = (rlt_exposed){.n = masks, .ps = calloc((size_t)p->n_ranks * masks + 1, sizeof *out->ps)};
    out->dims = malloc(((size_t)p->n_comms + 1) * sizeof *out->dims);
    for (uint32_t i = 0; i < p->n_ranks; i++)
        if (p->rank_first[i + 1] - p->rank_first[i] > most)
            most = p->rank_first[i + 1] - p->rank_first[i];
    change *list = malloc((2 * (size_t)most + 1) * sizeof *list);
    if (!list || !out->ps || !out->dims) {
        free(list);
        rlt_exposed_free(out);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < p->n_comms; i++)
        out->dims[i] = dims_of_comm(r, i);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        rlt_time *exposed = out->ps + (size_t)i * masks, known = 0;
        sweep(list, changes_of(r, i, out->dims, list), exposed);
        for (uint32_t m = 0; m < masks; m++)
            known += exposed[m];
        /* Offloading, and a delay that stands for communication, have no dimensions. */
        exposed[0] += rlt_replay_rank(r->replay, i).exposed_comm_ps - known;
        for (uint32_t m = 0; m < masks; m++)
            out->used[m] = out->used[m] || exposed[m];
    }
    free(list);
    return 0;
}

void rlt_exposed_free(rlt_exposed *e)
{
    free(e->ps);
    free(e->dims);
    *e = (rlt_exposed){0};
}
