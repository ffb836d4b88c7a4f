/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions of each batch of an epoch: heat's DASO.step and DASO._global_sync. */
#include "sim/base/time.h"
#include "workload/daso/daso.h"

rlt_daso_epoch rlt_daso_epoch_begin(const rlt_daso *d, rlt_daso_phase phase)
{
    return (rlt_daso_epoch){.phase = phase,
                            .batches = rlt_daso_batches(d),
                            .gpus = d->gpus,
                            .previous = RLT_NONE,
                            .pending = RLT_NONE,
                            .local_on = true};
}

static void merge(rlt_daso_epoch *e, rlt_daso_batch *out)
{
    out->merger = e->pending;
    out->sent_at = e->sent_at;
    out->merge_weight = e->weight;
    e->pending = RLT_NONE;
}

/* Packs and posts the new buffer before it merges the old one. */
static void global_sync(rlt_daso_epoch *e, rlt_daso_batch *out, uint32_t wait, bool last)
{
    uint32_t group = e->group;
    out->sender = group;
    out->weight = wait;
    if (e->phase.wait > 0 && e->previous != RLT_NONE) {
        out->redundant = e->pending == RLT_NONE;
        if (!out->redundant)
            merge(e, out);
        out->relay = e->previous;
    }
    out->blocking = last || e->phase.wait == 0;
    if (!out->blocking) {
        e->pending = group;
        e->sent_at = out->batch;
        e->weight = wait;
    }
    e->previous = group;
    e->group = last ? 0 : (group + 1) % e->gpus;
}

bool rlt_daso_epoch_next(rlt_daso_epoch *e, rlt_daso_batch *out)
{
    uint32_t b = e->next, last = e->batches - 1, skips = e->phase.skips;
    if (b > last)
        return false;
    *out = (rlt_daso_batch){
        .batch = b, .local_sync = e->local_on, .sender = RLT_NONE, .merger = RLT_NONE, .relay = RLT_NONE};
    e->next = b + 1;
    uint32_t in_cycle = skips ? b % skips : 0;
    uint32_t wait = (uint64_t)e->phase.wait + b <= last ? e->phase.wait : last - b;
    if (b == last || in_cycle == 0) {
        global_sync(e, out, wait, b == last);
        return true;
    }
    if (in_cycle + 1 == skips) {
        e->local_on = true;
        return true;
    }
    if (in_cycle == wait && e->pending != RLT_NONE) {
        merge(e, out);
        out->relay = e->previous;
    }
    if (in_cycle >= wait && e->phase.local > 1)
        e->local_on = (b + 1) % e->phase.local == 0;
    if (b + 1 == last)
        e->local_on = true;
    return true;
}

rlt_daso_sums rlt_daso_count(const rlt_daso *d, rlt_daso_phase phase, uint64_t parameters)
{
    rlt_daso_sums s = {0};
    rlt_daso_epoch e = rlt_daso_epoch_begin(d, phase);
    rlt_daso_batch b;
    uint64_t buffer = parameters * rlt_daso_element_bytes(d, phase);
    while (rlt_daso_epoch_next(&e, &b)) {
        uint32_t broadcasts = (b.relay != RLT_NONE) + (uint32_t)b.blocking;
        s.batches++;
        s.local_syncs += b.local_sync;
        s.sends += b.sender != RLT_NONE;
        s.merges += b.merger != RLT_NONE;
        s.blocking += b.blocking;
        s.redundant += b.redundant;
        s.broadcasts += broadcasts;
        s.global_bytes += b.sender != RLT_NONE ? buffer : 0;
        s.broadcast_bytes += broadcasts * 4 * parameters;
    }
    return s;
}

uint32_t rlt_daso_batches(const rlt_daso *d)
{
    uint64_t together = (uint64_t)d->nodes * d->gpus * d->batch;
    if (d->batches || !together)
        return d->batches ? d->batches : 1;
    uint64_t n = d->samples / together + (d->samples % together != 0);
    return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

uint32_t rlt_daso_element_bytes(const rlt_daso *d, rlt_daso_phase phase)
{
    return phase.skips ? 4 : d->downcast_bytes;
}

uint32_t rlt_daso_chunks(const rlt_daso *d, uint64_t parameters)
{
    return (uint32_t)(parameters / d->chunk_elements + (parameters % d->chunk_elements != 0));
}

uint64_t rlt_daso_chunk(const rlt_daso *d, uint64_t parameters, uint32_t i)
{
    uint64_t remainder = parameters % d->chunk_elements;
    return i == 0 && remainder ? remainder : d->chunk_elements;
}

void rlt_daso_merge_shares(uint32_t copies, uint32_t weight, double *local, double *each)
{
    double own = weight ? 2.0 * weight : 1, sum = own + copies;
    *local = own / sum;
    *each = 1 / sum;
}
