/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace as layers to design for: each layer is compute that ends with a collective, all in the forward
 * pass. */
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/design/design.h"
#include "workload/design/internal.h"
#include "workload/program/program.h"

static bool spaced(const uint32_t *ranks, uint32_t n, uint32_t by)
{
    for (uint32_t i = 0; i < n; i++)
        if (ranks[i] != i * by)
            return false;
    return true;
}

static int over_of(const rlt_design_work *w, const rlt_program *p, const rlt_comm *c, rlt_design_over *out,
                   rlt_error *err)
{
    const uint32_t *ranks = p->group_ranks + p->group_first[c->group];
    uint32_t n = p->group_first[c->group + 1] - p->group_first[c->group];
    *out = RLT_DESIGN_EVERY;
    if (n == p->n_ranks)
        return 0;
    *out = RLT_DESIGN_MODEL;
    if (n == w->model && spaced(ranks, n, 1))
        return 0;
    *out = RLT_DESIGN_DATA;
    if (n == w->data && spaced(ranks, n, w->model))
        return 0;
    return rlt_fail(
        err, RLT_EUNSUPPORTED, rlt_program_string(p, p->group_names[c->group]),
        "a collective of %u ranks, the first of them rank %u, fits no group: expected the tensor-parallel "
        "ranks of tp=%u, the data-parallel ranks, or all ranks",
        n, n ? ranks[0] : 0, w->model);
}

static int add_comm(rlt_design_work *w, const rlt_program *p, const rlt_op *op, rlt_design_layer *l,
                    rlt_error *err)
{
    const rlt_comm *c = &p->comms[op->comm];
    l->comm[0] = (rlt_design_comm){.any = c->bytes > 0, .kind = c->kind, .bytes = (double)c->bytes};
    if (c->timed)
        return rlt_fail(err, RLT_EUNSUPPORTED, rlt_coll_name(c->kind),
                        "a communication has no size: expected a trace that records bytes");
    return over_of(w, p, c, &l->comm[0].over, err);
}

int rlt_design_work_program(rlt_design_work *w, const rlt_program *p, rlt_error *err)
{
    double seconds = 0;
    uint32_t end = p->n_ranks ? p->rank_first[1] : 0;
    int rc = 0;
    if (p->n_ranks != w->model * w->data)
        return rlt_fail(err, RLT_ERANGE, NULL, "the trace has %u ranks, but the network has %u accelerators",
                        p->n_ranks, w->model * w->data);
    for (uint32_t i = 0; i < end && p->ops[i].step == p->ops[0].step && !rc; i++) {
        const rlt_op *op = &p->ops[i];
        if (op->kind == RLT_OP_COMPUTE || op->kind == RLT_OP_MEMORY)
            seconds += (double)op->duration_ps * 1e-12;
        if (op->kind == RLT_OP_SEND || op->kind == RLT_OP_RECV)
            return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                            "design supports collectives only: the trace has messages between two ranks");
        if (op->kind != RLT_OP_COLLECTIVE || op->comm == RLT_NONE || p->comms[op->comm].kind == RLT_BARRIER)
            continue;
        rlt_design_layer *l = rlt_design_work_add(w, err);
        if (!l)
            return rlt__design_no_layer(err);
        l->compute_s[0] = seconds;
        seconds = 0;
        rc = add_comm(w, p, op, l, err);
    }
    rlt_design_layer *rest = rc ? NULL : rlt_design_work_add(w, err);
    if (rest)
        rest->compute_s[0] = seconds;
    w->hash = p->hash;
    return rc ? rc : rest ? 0 : rlt__design_no_layer(err);
}
