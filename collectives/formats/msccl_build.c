/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an MSCCL file to a plan: matches connections, splits fused steps, and turns chunks into blocks. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/msccl_raw.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

static int refuse(const rlt_msccl *m, uint32_t line, rlt_error *err, const char *fmt, ...) RLT_PRINTF(4);

static int refuse(const rlt_msccl *m, uint32_t line, rlt_error *err, const char *fmt, ...)
{
    char where[384];
    va_list args;
    snprintf(where, sizeof where, "%s:%u", m->file, line);
    va_start(args, fmt);
    rlt_vfail(err, RLT_ESCHEMA, where, fmt, args);
    va_end(args);
    return RLT_ESCHEMA;
}

static const rlt_msccl_tb *tb_of(const rlt_msccl *m, const rlt_msccl_step *s)
{
    return &m->tbs[s->tb];
}

/* Place of a chunk in the plan's buffers, and the number of chunks, itself included, that follow it
 * contiguously. */
typedef struct place {
    uint8_t buffer;
    uint32_t block, room;
} place;

static place locate(const rlt_msccl *m, uint32_t gpu, rlt_msccl_ref r)
{
    bool part = r.buffer == 'i' ? m->kind == RLT_ALL_GATHER || m->kind == RLT_GATHER
                                : m->kind == RLT_REDUCE_SCATTER || m->kind == RLT_SCATTER;
    if (r.buffer == 's')
        return (place){.buffer = (uint8_t)(2 + r.offset / m->chunks),
                       .block = r.offset % m->chunks,
                       .room = m->chunks - r.offset % m->chunks};
    uint32_t size = part ? m->chunks / m->n_gpus : m->chunks;
    return (place){.buffer = r.buffer == 'i' || m->in_place ? 0 : 1,
                   .block = (part ? gpu * size : 0) + r.offset,
                   .room = r.offset < size ? size - r.offset : 0};
}

static rlt_msccl_ref ahead(rlt_msccl_ref r, uint32_t count)
{
    r.offset += count;
    return r;
}

/* Place where a step's received bytes land and from which they are sent on. A step of type rrs stores nothing
 * in the MSCCL buffers, so it needs temporary room. */
static rlt_msccl_ref landing(const rlt_msccl *m, const rlt_msccl_step *s)
{
    return s->type == RLT_MSCCL_RRS ? (rlt_msccl_ref){'s', tb_of(m, s)->temporary} : s->dst;
}

static rlt_msccl_ref sending(const rlt_msccl *m, const rlt_msccl_step *s)
{
    return s->type == RLT_MSCCL_SEND ? s->src : landing(m, s);
}

static uint32_t least(uint32_t a, uint32_t b, uint32_t c)
{
    a = a < b ? a : b;
    return a < c ? a : c;
}

/* Place of chunks on a gpu. */
typedef struct held {
    uint32_t gpu;
    rlt_msccl_ref ref;
} held;

/* Number of chunks, from number `at` on, that are contiguous in both places. */
static uint32_t piece(const rlt_msccl *m, held from, held to, uint32_t count, uint32_t at)
{
    return least(locate(m, from.gpu, ahead(from.ref, at)).room, locate(m, to.gpu, ahead(to.ref, at)).room,
                 count - at);
}

/* Checks a place against the collective: i and o may be declared larger than the collective. */
static int check_place(const rlt_msccl *m, const rlt_msccl_step *s, const char *what, rlt_msccl_ref r,
                       rlt_error *err)
{
    uint32_t gpu = tb_of(m, s)->gpu, room = locate(m, gpu, r).room;
    if (r.buffer == 's' || room >= s->count)
        return 0;
    return refuse(m, s->line, err,
                  "%soff=\"%u\" cnt=\"%u\": with nchunksperloop=\"%u\" buffer %c of %s over %u gpus has %u "
                  "chunks",
                  what, r.offset, s->count, m->chunks, r.buffer, rlt_coll_name(m->kind), m->n_gpus,
                  r.offset + room > r.offset ? r.offset + room
                                             : locate(m, gpu, (rlt_msccl_ref){r.buffer, 0}).room);
}

static int check_places(const rlt_msccl *m, rlt_error *err)
{
    int rc = 0;
    for (uint32_t g = 0; g < m->n_gpus; g++)
        if (!m->gpus[g].line)
            return refuse(m, m->line, err, "ngpus=\"%u\", but there is no gpu %u", m->n_gpus, g);
    for (uint32_t i = 0; i < m->n_steps && !rc; i++) {
        const rlt_msccl_step *s = &m->steps[i];
        if (s->type == RLT_MSCCL_NOP)
            continue;
        if (s->src.buffer)
            rc = check_place(m, s, "src", s->src, err);
        if (!rc && s->dst.buffer)
            rc = check_place(m, s, "dst", s->dst, err);
    }
    return rc;
}

/* Reserves room behind the gpu's scratch for each thread block with rrs steps, and counts the buffers. */
static int place_temporaries(rlt_msccl *m, uint8_t *buffers, rlt_error *err)
{
    uint64_t most = 0;
    for (uint32_t g = 0; g < m->n_gpus; g++) {
        uint64_t end = m->gpus[g].chunks[2];
        for (uint32_t t = m->gpus[g].first; t < m->gpus[g].first + m->gpus[g].n; t++) {
            uint32_t need = m->tbs[t].temporary;
            m->tbs[t].temporary = (uint32_t)end;
            end += need;
            if (end > RLT_MSCCL_MAX_CHUNKS)
                break;
        }
        most = end > most ? end : most;
    }
    uint64_t n = 2 + (most + m->chunks - 1) / m->chunks;
    if (most > RLT_MSCCL_MAX_CHUNKS)
        return refuse(m, m->line, err, "%llu chunks of scratch are too many: the limit is %u",
                      (unsigned long long)most, (unsigned)RLT_MSCCL_MAX_CHUNKS);
    if (n > UINT8_MAX)
        return refuse(m, m->line, err,
                      "%llu chunks of scratch are too many: the limit is %u times nchunksperloop=\"%u\"",
                      (unsigned long long)most, UINT8_MAX - 2, m->chunks);
    *buffers = (uint8_t)n;
    return 0;
}

static uint64_t connection(uint32_t from, uint32_t to, uint32_t channel)
{
    return (uint64_t)from << 40 | (uint64_t)to << 16 | channel;
}

static int enter(const rlt_msccl *m, rlt_map *map, uint64_t key, uint32_t tb, const char *does,
                 rlt_error *err)
{
    const rlt_msccl_tb *b = &m->tbs[tb];
    uint32_t other = rlt_map_get(map, key);
    if (other != RLT_NONE)
        return refuse(m, b->line, err,
                      "tb %u of gpu %u %s gpu %u on channel %u, but so does tb %u on line %u", b->id, b->gpu,
                      does, does[0] == 's' ? b->send : b->recv, b->channel, m->tbs[other].id,
                      m->tbs[other].line);
    return rlt_map_put(map, key, tb) < 0 ? rlt_nomem(err) : 0;
}

/* Returns the next receiving (or sending) step of a thread block, from *at on; NULL at its end. */
static rlt_msccl_step *next_step(const rlt_msccl *m, const rlt_msccl_tb *tb, uint32_t *at, bool receives)
{
    for (; *at < tb->n; (*at)++) {
        rlt_msccl_step *s = &m->steps[tb->first + *at];
        if (receives ? rlt_msccl_receives(s->type) : rlt_msccl_sends(s->type)) {
            (*at)++;
            return s;
        }
    }
    return NULL;
}

/* Matches the k-th send with the k-th receive. Either thread block may be missing. */
static int match_connection(rlt_msccl *m, const rlt_msccl_tb *from, const rlt_msccl_tb *to, rlt_error *err)
{
    uint32_t a = 0, b = 0, k = 0;
    for (;; k++) {
        rlt_msccl_step *s = from ? next_step(m, from, &a, false) : NULL;
        rlt_msccl_step *r = to ? next_step(m, to, &b, true) : NULL;
        if (!s && !r)
            return 0;
        if (!r)
            return refuse(
                m, s->line, err,
                "gpu %u sends to gpu %u on channel %u, but the destination receives only %u times there",
                from->gpu, from->send, from->channel, k);
        if (!s)
            return refuse(
                m, r->line, err,
                "gpu %u receives from gpu %u on channel %u, but the source sends only %u times there",
                to->gpu, to->recv, to->channel, k);
        if (s->count != r->count)
            return refuse(m, r->line, err, "receives %u chunks, but gpu %u sends %u on line %u", r->count,
                          from->gpu, s->count, s->line);
        s->to = (uint32_t)(r - m->steps);
        r->from = (uint32_t)(s - m->steps);
    }
}

static int match_all(rlt_msccl *m, rlt_error *err)
{
    rlt_map senders = {0}, receivers = {0};
    int rc = 0;
    for (uint32_t t = 0; t < m->n_tbs && !rc; t++) {
        const rlt_msccl_tb *b = &m->tbs[t];
        if (b->send != RLT_NONE)
            rc = enter(m, &senders, connection(b->gpu, b->send, b->channel), t, "sends to", err);
        if (!rc && b->recv != RLT_NONE)
            rc = enter(m, &receivers, connection(b->recv, b->gpu, b->channel), t, "receives from", err);
    }
    for (uint32_t t = 0; t < m->n_tbs && !rc; t++) {
        const rlt_msccl_tb *b = &m->tbs[t];
        uint32_t other = RLT_NONE;
        if (b->send != RLT_NONE) {
            other = rlt_map_get(&receivers, connection(b->gpu, b->send, b->channel));
            rc = match_connection(m, b, other == RLT_NONE ? NULL : &m->tbs[other], err);
        }
        if (!rc && b->recv != RLT_NONE &&
            rlt_map_get(&senders, connection(b->recv, b->gpu, b->channel)) == RLT_NONE)
            rc = match_connection(m, NULL, b, err);
    }
    rlt_map_free(&senders);
    rlt_map_free(&receivers);
    return rc;
}

static rlt_blocks run_of(place p, uint32_t count)
{
    return (rlt_blocks){.first = p.block, .run = count, .reps = 1};
}

static void add_copies(const rlt_msccl *m, rlt_listing *l, const rlt_msccl_step *s, rlt_msccl_ref from,
                       rlt_msccl_ref to, bool reduce)
{
    const rlt_msccl_tb *tb = tb_of(m, s);
    for (uint32_t at = 0, n; at < s->count; at += n) {
        place a = locate(m, tb->gpu, ahead(from, at)), b = locate(m, tb->gpu, ahead(to, at));
        rlt_step step;
        n = piece(m, (held){tb->gpu, from}, (held){tb->gpu, to}, s->count, at);
        rlt_step_clear(&step);
        step.copy = 1;
        step.reduce = reduce;
        step.send_buffer = a.buffer;
        step.land_buffer = b.buffer;
        step.send = run_of(a, n);
        step.land = run_of(b, n);
        rlt_listing_step(l, tb->gpu, tb->id, &step, s->line);
    }
}

static uint32_t message_piece(const rlt_msccl *m, const rlt_msccl_step *s, const rlt_msccl_step *r,
                              uint32_t at)
{
    held from = {tb_of(m, s)->gpu, sending(m, s)}, to = {tb_of(m, r)->gpu, landing(m, r)};
    return piece(m, from, to, s->count, at);
}

static void add_sends(const rlt_msccl *m, rlt_listing *l, const rlt_msccl_step *s)
{
    const rlt_msccl_step *r = &m->steps[s->to];
    const rlt_msccl_tb *tb = tb_of(m, s);
    for (uint32_t at = 0, n; at < s->count; at += n) {
        place a = locate(m, tb->gpu, ahead(sending(m, s), at));
        place b = locate(m, tb_of(m, r)->gpu, ahead(landing(m, r), at));
        rlt_step step;
        n = message_piece(m, s, r, at);
        rlt_step_clear(&step);
        step.reduce = r->type == RLT_MSCCL_RRC || r->type == RLT_MSCCL_RRS || r->type == RLT_MSCCL_RRCS;
        step.send_buffer = a.buffer;
        step.land_buffer = b.buffer;
        step.send = run_of(a, n);
        step.land = run_of(b, n);
        rlt_listing_step(l, tb->gpu, tb->id, &step, s->line);
    }
}

static void add_receives(const rlt_msccl *m, rlt_listing *l, const rlt_msccl_step *r)
{
    const rlt_msccl_step *s = &m->steps[r->from];
    const rlt_msccl_tb *tb = tb_of(m, r);
    rlt_step step;
    rlt_step_clear(&step);
    for (uint32_t at = 0; at < r->count; at += message_piece(m, s, r, at))
        rlt_listing_step(l, tb->gpu, tb->id, &step, r->line);
}

static void add_step(const rlt_msccl *m, rlt_listing *l, rlt_msccl_step *s)
{
    const rlt_msccl_tb *tb = tb_of(m, s);
    rlt_msccl_ref to = landing(m, s);
    bool receives = rlt_msccl_receives(s->type), sends = rlt_msccl_sends(s->type);
    bool adds = s->type == RLT_MSCCL_RRC || s->type == RLT_MSCCL_RRS || s->type == RLT_MSCCL_RRCS;
    s->first_at = rlt_listing_steps(l, tb->gpu, tb->id);
    if (s->type == RLT_MSCCL_COPY || s->type == RLT_MSCCL_REDUCE)
        add_copies(m, l, s, s->src, s->dst, s->type == RLT_MSCCL_REDUCE);
    if (s->type == RLT_MSCCL_NOP) {
        rlt_step nothing;
        rlt_step_clear(&nothing);
        rlt_listing_step(l, tb->gpu, tb->id, &nothing, s->line);
    }
    /* dst = src + received bytes */
    if (adds && (s->src.buffer != to.buffer || s->src.offset != to.offset))
        add_copies(m, l, s, s->src, to, false);
    s->recv_at = rlt_listing_steps(l, tb->gpu, tb->id);
    if (receives)
        add_receives(m, l, s);
    s->send_at = rlt_listing_steps(l, tb->gpu, tb->id);
    if (sends)
        add_sends(m, l, s);
    s->end_at = rlt_listing_steps(l, tb->gpu, tb->id);
}

/* Adds the wait of a step for another thread block, before anything else of the step. */
static int add_wait(const rlt_msccl *m, rlt_listing *l, const rlt_msccl_step *s, rlt_error *err)
{
    const rlt_msccl_tb *tb = tb_of(m, s);
    const rlt_msccl_gpu *g = &m->gpus[tb->gpu];
    if (s->dep_tb == RLT_NONE)
        return 0;
    if (s->dep_tb >= g->n)
        return refuse(m, s->line, err, "depid=\"%u\": gpu %u has tbs 0 to %u", s->dep_tb, tb->gpu, g->n - 1);
    const rlt_msccl_tb *other = &m->tbs[g->first + s->dep_tb];
    if (s->dep_step >= other->n)
        return refuse(m, s->line, err, "deps=\"%u\": tb %u of gpu %u has %u steps", s->dep_step, other->id,
                      tb->gpu, other->n);
    rlt_step *first = rlt_listing_at(l, tb->gpu, tb->id, s->first_at);
    first->wait_lane = other->id;
    first->wait_step = m->steps[other->first + s->dep_step].end_at - 1;
    return 0;
}

static void connect_pieces(const rlt_msccl *m, rlt_listing *l, const rlt_msccl_step *s)
{
    const rlt_msccl_step *r = &m->steps[s->to];
    const rlt_msccl_tb *from = tb_of(m, s), *to = tb_of(m, r);
    for (uint32_t i = 0; i < s->end_at - s->send_at; i++)
        rlt_listing_connect(l, (rlt_listing_place){from->gpu, from->id, s->send_at + i},
                            (rlt_listing_place){to->gpu, to->id, r->recv_at + i});
}

static int list(rlt_msccl *m, rlt_listing *l, rlt_error *err)
{
    int rc = 0;
    for (uint32_t t = 0; t < m->n_tbs; t++)
        rlt_listing_lane(l, m->tbs[t].gpu);
    for (uint32_t i = 0; i < m->n_steps; i++)
        add_step(m, l, &m->steps[i]);
    if (rlt_listing_failed(l))
        return 0; /* rlt_listing_finish reports the error */
    for (uint32_t i = 0; i < m->n_steps && !rc; i++) {
        rc = add_wait(m, l, &m->steps[i], err);
        if (!rc && rlt_msccl_sends(m->steps[i].type))
            connect_pieces(m, l, &m->steps[i]);
    }
    return rc;
}

int rlt_msccl_build(rlt_msccl *m, rlt_listed *out, rlt_error *err)
{
    rlt_listing *l = NULL;
    uint8_t buffers = 2;
    int rc;
    if ((rc = check_places(m, err)) || (rc = place_temporaries(m, &buffers, err)) || (rc = match_all(m, err)))
        return rc;
    const rlt_listing_head head = {m->name, m->kind, m->n_gpus, m->root, m->chunks, buffers, !m->in_place};
    rc = rlt_listing_create(&head, &l, err);
    if (rc)
        return rc;
    rlt_listing_source(l, m->file);
    rc = list(m, l, err);
    if (rc) {
        rlt_listing_free(l);
        return rc;
    }
    return rlt_listing_finish(l, out, err);
}
