/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATP's parameter servers. Sums, partial sums and single contributions are merged by bitmap, each worker
 * once. A sum of all workers replaces everything. If a chunk collided at a switch, the next chunk of its
 * place moves on to another aggregator.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/atp.h"
#include "collectives/in_network/reactor.h"
#include "net/aggregation/aggregator.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/sim.h"

int rlt__atp_open(rlt_fabric_job *j, rlt_error *err)
{
    rlt__atp *s = j->state;
    s->places = calloc(j->window, sizeof *s->places);
    s->seen = calloc(j->window, j->note_words * sizeof *s->seen);
    s->sums = calloc((size_t)j->chunks + 1, sizeof *s->sums);
    s->rounds = calloc((size_t)j->chunks + 1, 1);
    s->said = calloc((size_t)j->chunks + 1, 1);
    if (!s->places || !s->seen || !s->sums || !s->rounds || !s->said)
        return rlt_nomem(err);
    return 0;
}

void rlt__atp_close(rlt__atp *s)
{
    free(s->places);
    free(s->seen);
    free(s->sums);
    free(s->rounds);
    free(s->said);
}

uint32_t rlt__atp_slot(const rlt_fabric_job *j, uint32_t chunk)
{
    const rlt__atp *s = j->state;
    uint32_t slots = j->result.slots;
    return slots ? rlt_slot_hash(j->number, chunk % j->window, s->rounds[chunk], slots) : 0;
}

static uint64_t *seen_of(const rlt_fabric_job *j, const rlt__atp *s, uint32_t chunk)
{
    return s->seen + (size_t)(chunk % j->window) * j->note_words;
}

static void reply(rlt_fabric_job *j, uint32_t chunk, rlt__atp_place *x)
{
    const rlt__atp *s = j->state;
    x->replied = rlt_sim_now(j->sim);
    rlt_fabric_job_reply(j, rlt_fabric_job_server(j, chunk), chunk, rlt__atp_slot(j, chunk), s->sums[chunk]);
}

static void finish(rlt_fabric_job *j, rlt__atp_place *x)
{
    rlt__atp *s = j->state;
    uint32_t c = x->chunk, after = c + j->window;
    x->done = true;
    s->sums[c] = x->sum;
    s->said[c] = x->marked ? RLT__ATP_MARKED : 0;
    if (after < j->chunks)
        s->rounds[after] = (uint8_t)(s->rounds[c] + x->collided);
    if (x->count < j->workers)
        rlt_fabric_job_settle(j, c, seen_of(j, s, c));
    reply(j, c, x);
}

/* Answers a chunk again: only the worker that asks, or all workers if the last answer is long ago, which also
 * frees aggregators. */
static void answer_again(rlt_fabric_job *j, const rlt_packet *p, rlt__atp_place *x)
{
    const rlt__atp *s = j->state;
    bool recent = x->chunk != p->key || rlt_sim_now(j->sim) - x->replied < s->rto / 2;
    if (p->kind == RLT_PK_PARTIAL && (p->flags & RLT_PACKET_EXPIRED) && !recent) {
        reply(j, p->key, x);
    } else if (p->kind == RLT_PK_ALONE && (p->flags & RLT_PACKET_RESEND)) {
        if (!recent)
            reply(j, p->key, x);
        else
            rlt_fabric_job_send(j, RLT_PK_ANSWER, j->first_server + rlt_fabric_job_server(j, p->key),
                                rlt_map_get(&j->member_of, p->src), j->wire_bytes, p->key, 0,
                                s->sums[p->key]);
    }
}

static void merge(rlt_fabric_job *j, const rlt_packet *p, rlt__atp_place *x)
{
    rlt__atp *s = j->state;
    uint64_t *seen = seen_of(j, s, p->key);
    x->marked |= (p->flags & RLT_PACKET_CE) != 0;
    if (p->kind == RLT_PK_SUM) {
        x->sum = p->data;
        x->count = j->workers;
    } else {
        x->collided |= !(p->flags & (RLT_PACKET_RESEND | RLT_PACKET_EXPIRED));
        uint32_t n = p->kind == RLT_PK_PARTIAL
                         ? rlt_seen_merge(seen, rlt_fabric_job_note(j, p->aux), j->note_words)
                         : rlt_seen_add(seen, rlt_map_get(&j->member_of, p->src));
        x->sum += n ? p->data : 0;
        x->count += n;
    }
    if (x->count == j->workers || (s->leave && (p->flags & RLT_PACKET_EXPIRED) && j->result.adders == 1)) {
        finish(j, x);
    } else if (s->leave && (p->flags & RLT_PACKET_EXPIRED) && !x->waits) {
        x->waits = true; /* other switches of the tree may hold partial sums, too */
        rlt_fabric_job_timer(j, rlt_time_add(rlt_sim_now(j->sim), j->ttl_ps), (uint64_t)j->workers + p->key);
    }
}

void rlt__atp_serve(rlt_fabric_job *j, const rlt_packet *p, uint32_t server)
{
    rlt__atp *s = j->state;
    rlt__atp_place *x = &s->places[p->key % j->window];
    (void)server;
    if (p->key > x->chunk) {
        *x = (rlt__atp_place){.chunk = p->key};
        memset(seen_of(j, s, p->key), 0, j->note_words * sizeof *s->seen);
    }
    if (p->key < x->chunk || x->done)
        answer_again(j, p, x);
    else
        merge(j, p, x);
    if (p->kind == RLT_PK_PARTIAL)
        rlt_fabric_job_take_note(j, p->aux);
}

void rlt__atp_expire(rlt_fabric_job *j, uint32_t chunk)
{
    const rlt__atp *s = j->state;
    rlt__atp_place *x = &s->places[chunk % j->window];
    if (x->chunk == chunk && !x->done)
        finish(j, x);
}
