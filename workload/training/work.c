/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building blocks of a training's program. */
#include "workload/training/work.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/replay/replay.h"

uint32_t rlt__work_name(rlt__work *w, const char *name)
{
    if (!w->b)
        return 0;
    for (uint32_t i = 0; i < w->n_names; i++)
        if (w->names[i].text == name)
            return w->names[i].id;
    uint32_t id = rlt_build_string(w->b, name, strlen(name));
    if (w->n_names < RLT__WORK_NAMES)
        w->names[w->n_names++] = (rlt__work_named){name, id};
    return id;
}

void rlt__work_layers(const rlt__work *w, uint32_t chunk, uint32_t *first, uint32_t *end)
{
    *first = w->firsts[chunk];
    *end = w->firsts[chunk + 1];
}

uint32_t rlt__work_op(rlt__work *w, rlt_op_desc *d, uint32_t after)
{
    d->step = w->step;
    if (!w->b) {
        uint32_t stream = d->resource < RLT__WORK_STREAMS ? d->resource : RLT__WORK_BESIDE;
        rlt_time spent = rlt_replay_scaled(w->folded->how, d->kind, w->speed, d->duration_ps);
        w->spent[stream] = rlt_time_add(w->spent[stream], spent);
        if (stream == RLT__WORK_COMPUTE && d->kind == RLT_OP_DELAY)
            w->spent[RLT__WORK_EXPOSED] = rlt_time_add(w->spent[RLT__WORK_EXPOSED], spent);
        return w->n_ops++;
    }
    uint32_t op = rlt_build_op(w->b, d);
    if (w->n_ops++ == 0)
        w->origin = op;
    if (after != RLT_NONE)
        rlt__work_dep(w, op, after);
    return op;
}

void rlt__work_dep(rlt__work *w, uint32_t op, uint32_t on)
{
    if (w->b)
        rlt_build_dep(w->b, op, on);
}

void rlt__work_fail(rlt__work *w, const rlt_error *err)
{
    if (w->b)
        rlt_build_fail(w->b, err);
    else if (!w->failed.code)
        w->failed = *err;
}

void rlt__work_follow(rlt__work *w, uint32_t op)
{
    w->last = op;
    if (w->opened == RLT_NONE)
        w->opened = op;
}

void rlt__work_flush(rlt__work *w, const char *name)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, w->rank);
    if (w->gathered == 0 && w->pending_after == RLT_NONE)
        return;
    d.resource = w->compute;
    d.duration_ps = w->gathered;
    d.name = rlt__work_name(w, name);
    uint32_t op = rlt__work_op(w, &d, w->last);
    if (w->pending_after != RLT_NONE)
        rlt__work_dep(w, op, w->pending_after);
    rlt__work_follow(w, op);
    w->pending_after = RLT_NONE;
    w->gathered = 0;
}

/* Returns the bytes of a collective in which all members have shares of one size, as NCCL demands: frameworks
 * pad the last share. */
static uint64_t padded(const rlt__work *w, int group, rlt_coll_kind kind, uint64_t bytes)
{
    uint32_t n = w->members[group];
    bool shares = kind == RLT_REDUCE_SCATTER || kind == RLT_ALL_GATHER;
    return shares && n > 1 && bytes % n ? bytes + n - bytes % n : bytes;
}

uint32_t rlt__work_collective(rlt__work *w, uint32_t stream, int group, rlt_coll_kind kind, uint64_t bytes,
                              const char *name)
{
    bool away = rlt__folded_away(w->folded, group);
    rlt_op_desc d = rlt_op_desc_init(away ? RLT_OP_DELAY : RLT_OP_COLLECTIVE, w->rank);
    d.name = rlt__work_name(w, name);
    d.resource = stream;
    bytes = padded(w, group, kind, bytes);
    if (away) { /* a delay has no group whose label tells its purpose */
        rlt_error err = {0};
        d.purpose = rlt_purpose_of(rlt__group_name(group));
        if (w->b ? rlt__folded_time(w->folded, w->groups[group], kind, bytes, &d.duration_ps, &err)
                 : rlt__span(w, group, kind, bytes, &d.duration_ps, &err))
            rlt__work_fail(w, &err);
    } else {
        d.coll = kind;
        d.group = w->groups[group];
        d.bytes = bytes;
    }
    return rlt__work_op(w, &d, w->last);
}

uint32_t rlt__work_delay(rlt__work *w, uint32_t stream, rlt_time duration_ps, rlt_purpose purpose,
                         const char *name)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_DELAY, w->rank);
    d.name = rlt__work_name(w, name);
    d.resource = stream;
    d.purpose = purpose;
    d.duration_ps = duration_ps;
    return rlt__work_op(w, &d, w->last);
}

double rlt__work_bytes(const rlt__work *w, double elements)
{
    return elements * w->t->microbatch * w->t->element_bytes / w->t->size[RLT_AXIS_CP];
}

uint32_t rlt__work_stream(const rlt__work *w)
{
    return w->aside == RLT_NONE ? w->compute : w->aside;
}

void rlt__work_communicate(rlt__work *w, int group, rlt_coll_kind kind, double bytes, const char *name)
{
    if (w->groups[group] == RLT_NONE || (bytes < 1 && kind != RLT_BARRIER))
        return;
    rlt__work_flush(w, w->doing);
    rlt__work_follow(
        w, rlt__work_collective(w, rlt__work_stream(w), group, kind, (uint64_t)(bytes + 0.5), name));
}

void rlt__work_reduction(rlt__work *w, uint32_t op)
{
    if (rlt_grow(&w->reductions, &w->reductions_room, sizeof *w->reductions, (uint64_t)w->n_reductions + 1,
                 RLT_MAX_OPS, "reductions", NULL) == 0)
        w->reductions[w->n_reductions++] = op;
}
