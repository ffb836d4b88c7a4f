/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Libra's parameter servers. Sums of hot packets, packets that switches did not add, and cold packets are
 * merged by bitmap, each worker once. Synchronous: all workers get the sum once it is complete. Asynchronous:
 * each packet is merged and answered at once; the answer tells how many updates its parameters have had.
 */
#include <stdlib.h>

#include "collectives/in_network/libra/internal.h"
#include "collectives/in_network/reactor.h"
#include "net/packet/packets.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/sim.h"

uint64_t rlt__libra_whole(const rlt_fabric_job *j, uint32_t chunk)
{
    uint64_t sum = 0;
    for (uint32_t w = 0; w < j->workers; w++)
        sum += rlt_contribution(j, chunk, w);
    return sum;
}

static uint64_t value(const rlt__libra *s, uint32_t chunk)
{
    return s->async ? s->updates[chunk % s->per_step] : s->chunks[chunk].sum;
}

static void answer_all(rlt_fabric_job *j, uint32_t server, uint32_t chunk)
{
    const rlt__libra *s = j->state;
    s->chunks[chunk].replied = rlt_sim_now(j->sim);
    rlt_fabric_job_reply(j, server, chunk, rlt__libra_slot(j, chunk), value(s, chunk));
}

static void answer(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t worker)
{
    const rlt__libra *s = j->state;
    rlt_fabric_job_send(j, RLT_PK_ANSWER, j->first_server + server, worker, j->wire_bytes, chunk, 0,
                        value(s, chunk));
}

/* Answers a worker again; all workers if no answer has been sent for long, which also frees slots. */
static void answer_again(rlt_fabric_job *j, uint32_t server, uint32_t chunk, uint32_t worker)
{
    const rlt__libra *s = j->state;
    rlt_time replied = s->chunks[chunk].replied;
    if (replied >= 0 && rlt_sim_now(j->sim) >= rlt_time_add(replied, s->window.rto))
        answer_all(j, server, chunk);
    else
        answer(j, server, chunk, worker);
}

/* Records the staleness of an update: updates merged since the value from which it was computed. */
static void age(const rlt_fabric_job *j, rlt__libra *s, uint32_t chunk, uint32_t worker, uint32_t updates)
{
    uint32_t stale = updates - s->pulled[(size_t)worker * s->per_step + chunk % s->per_step];
    (void)j;
    s->stale_sum += stale;
    s->stale_n++;
    if (stale > s->stale_worst)
        s->stale_worst = stale;
}

/* Merges the workers in `bits` and returns their number. Returns 0 if some are merged already: a partial sum
 * cannot be taken apart, and the other workers will retransmit. A sum of all workers replaces everything. */
static uint32_t count_in(const rlt_fabric_job *j, rlt__libra *s, const rlt_packet *p, const uint64_t *bits)
{
    rlt__libra_chunk *x = &s->chunks[p->key];
    uint64_t *seen = s->seen + (size_t)p->key * j->note_words;
    uint32_t n = 0, before = s->async ? s->updates[p->key % s->per_step] : 0;
    bool all = p->kind == RLT_PK_SUM;
    for (uint32_t i = 0; i < j->note_words && !all; i++)
        if (seen[i] & bits[i])
            return 0;
    for (uint32_t w = 0; w < j->workers; w++) {
        uint64_t bit = UINT64_C(1) << (w % 64);
        if ((seen[w / 64] & bit) || !(all || (bits[w / 64] & bit)))
            continue;
        seen[w / 64] |= bit;
        n++;
        if (s->async)
            age(j, s, p->key, w, before);
    }
    x->sum = all ? p->data : x->sum + p->data;
    x->count += n;
    if (s->async)
        s->updates[p->key % s->per_step] += n;
    return n;
}

static uint32_t count_one(const rlt_fabric_job *j, rlt__libra *s, const rlt_packet *p, uint32_t worker)
{
    rlt__libra_chunk *x = &s->chunks[p->key];
    if (rlt__libra_has(j, s, p->key, worker))
        return 0;
    s->seen[(size_t)p->key * j->note_words + worker / 64] |= UINT64_C(1) << (worker % 64);
    if (s->async)
        age(j, s, p->key, worker, s->updates[p->key % s->per_step]++);
    x->sum += p->data;
    x->count++;
    return 1;
}

/* Checks that each update was merged exactly once. */
static void check(rlt_fabric_job *j, uint32_t chunk)
{
    const rlt__libra *s = j->state;
    if (s->chunks[chunk].sum != rlt__libra_whole(j, chunk))
        rlt_sim_fail(j->sim, RLT_ECHECK, "libra", "a server's sum of chunk %u is not the sum of all workers",
                     chunk);
}

static void serve_async(rlt_fabric_job *j, const rlt_packet *p, uint32_t server, uint32_t worker,
                        uint32_t merged)
{
    const rlt__libra *s = j->state;
    if (merged > 0 && s->chunks[p->key].count == j->workers)
        check(j, p->key);
    if (worker == RLT_NONE)
        answer_all(j, server, p->key);
    else if (merged > 0)
        answer(j, server, p->key, worker);
    else
        answer_again(j, server, p->key, worker);
}

void rlt__libra_serve(rlt_fabric_job *j, const rlt_packet *p, uint32_t server)
{
    rlt__libra *s = j->state;
    rlt__libra_chunk *x = &s->chunks[p->key];
    uint32_t worker = p->kind == RLT_PK_ALONE ? rlt_map_get(&j->member_of, p->src) : RLT_NONE, merged = 0;
    bool done = x->count == j->workers;
    if (++x->packets > s->report.incast)
        s->report.incast = x->packets;
    if (worker != RLT_NONE)
        merged = count_one(j, s, p, worker);
    else if (!done)
        merged = count_in(j, s, p, p->kind == RLT_PK_PARTIAL ? rlt_fabric_job_note(j, p->aux) : NULL);
    if (p->kind == RLT_PK_PARTIAL)
        rlt_fabric_job_take_note(j, p->aux);
    if (s->async)
        serve_async(j, p, server, worker, merged);
    else if (!done && x->count == j->workers)
        answer_all(j, server, p->key);
    else if (done && worker != RLT_NONE)
        answer_again(j, server, p->key, worker);
}
