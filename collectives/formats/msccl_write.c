/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes plans as MSCCL XML. A lane that sends to at most one member and receives from at most one becomes a
 * thread block. Any other lane becomes several: one for each member it sends to or receives from, with
 * dependencies between them. A channel is a lane. A message of blocks that are not contiguous becomes several
 * steps.
 *
 * In a plan, a message has the contents of its blocks when its step began, even if the lane does not wait for
 * the send. In MSCCL a block must not change while it is sent. So the written text is read back and checked;
 * if the check fails, it is written again with waits for all sends.
 */
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/msccl.h"
#include "collectives/formats/msccl_raw.h"
#include "collectives/formats/text.h"
#include "collectives/formats/unroll.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/time.h"

/* A thread block; its operations are chained by next_op. */
typedef struct tb {
    uint32_t member, lane, send, recv, channel;
    uint32_t first_op, last_op, steps, next; /* next: next thread block of the member */
} tb;

typedef struct writer {
    const rlt_plan *plan;
    rlt_unrolled u;
    rlt_error *err;
    rlt_growing t;
    uint32_t chunks;                /* nchunksperloop */
    bool in_place, pairs, wait_all; /* pairs: a channel is a pair of lanes */
    tb *tbs;
    uint32_t n_tbs, tb_capacity;
    rlt_map keys;       /* (sort, lane or channel, peer) of the current member -> thread block */
    uint32_t *tb_of;    /* thread block of each operation */
    uint32_t *next_op;  /* next operation in its thread block */
    uint32_t *place_of; /* index of each operation in its thread block */
    uint32_t *last;     /* last step of each operation */
    uint8_t *needed;    /* whether another thread block waits for the operation */
    uint32_t *ids;      /* id of each thread block within its member */
    /* for each thread block of the member: operations that the current one has waited for */
    uint32_t *waited;
    uint32_t waited_capacity;
} writer;

/* Place of a block in MSCCL's terms. If lanes have blocks of their own, they lie side by side in each
 * member's share. */
static rlt_msccl_ref ref_of(const writer *w, uint32_t member, uint8_t buffer, uint32_t lane, uint32_t block)
{
    const rlt_plan *p = w->plan;
    rlt_coll_kind kind = p->req.kind;
    bool parts = kind == RLT_ALL_GATHER || kind == RLT_REDUCE_SCATTER || kind == RLT_ALL_TO_ALL ||
                 kind == RLT_GATHER || kind == RLT_SCATTER;
    uint32_t lanes = p->shared ? 1 : p->lanes, per = parts ? p->blocks / p->req.n : p->blocks;
    uint32_t chunk = block / per * per * lanes + (p->shared ? 0 : lane) * per + block % per;
    uint32_t share = per * lanes;
    bool own = parts && chunk / share == member;
    bool gathers = kind == RLT_ALL_GATHER || kind == RLT_GATHER;
    bool scatters = kind == RLT_REDUCE_SCATTER || kind == RLT_SCATTER;
    if (buffer == 0 && gathers && !w->in_place && own)
        return (rlt_msccl_ref){'i', chunk - member * share};
    if (buffer == 0 && gathers && w->in_place)
        return (rlt_msccl_ref){'o', chunk};
    if (buffer == 0 && !gathers)
        return (rlt_msccl_ref){'i', chunk};
    if (buffer == p->result && scatters && own)
        return (rlt_msccl_ref){'o', chunk - member * share};
    if (buffer == p->result && !scatters)
        return (rlt_msccl_ref){'o', chunk};
    return (rlt_msccl_ref){'s', buffer * w->chunks + chunk};
}

/* Block number i of a span. */
static uint32_t block_of(const writer *w, rlt_blocks s, uint32_t i)
{
    return (uint32_t)((s.first + (uint64_t)(i / s.run) * s.stride + i % s.run) % w->plan->blocks);
}

/* A message or a copy, with the member and lane at both ends. */
typedef struct transfer {
    rlt_step s;
    uint32_t from, from_lane, to, to_lane;
} transfer;

static transfer transfer_of(const writer *w, const rlt_unrolled_op *o)
{
    const rlt_unrolled_op *a = o->type == RLT_OP_RECV ? &w->u.ops[o->other] : o;
    const rlt_unrolled_op *b = o->type == RLT_OP_SEND ? &w->u.ops[o->other] : o;
    transfer t = {.from = a->member, .from_lane = a->lane, .to = b->member, .to_lane = b->lane};
    rlt_step_clear(&t.s);
    w->plan->algorithm->step(w->plan, a->member, a->lane, a->step, &t.s);
    return t;
}

/* Number of blocks of a transfer, from block `at` on, whose chunks are contiguous at both ends. Fills in
 * their places. */
static uint32_t piece(const writer *w, const transfer *t, uint32_t at, rlt_msccl_ref *src, rlt_msccl_ref *dst)
{
    uint32_t count = t->s.send.run * t->s.send.reps, n = 0;
    for (; at + n < count; n++) {
        rlt_msccl_ref a = ref_of(w, t->from, t->s.send_buffer, t->from_lane, block_of(w, t->s.send, at + n));
        rlt_msccl_ref b = ref_of(w, t->to, t->s.land_buffer, t->to_lane, block_of(w, t->s.land, at + n));
        if (n == 0) {
            *src = a;
            *dst = b;
        } else if (a.buffer != src->buffer || b.buffer != dst->buffer || a.offset != src->offset + n ||
                   b.offset != dst->offset + n)
            break;
    }
    return n;
}

static uint32_t channel_of(const writer *w, const transfer *t)
{
    return w->pairs ? t->from_lane * w->plan->lanes + t->to_lane : t->from_lane;
}

/* Whether the operations of a lane fit in one thread block: one peer each way, and no send for which the lane
 * does not wait. */
static bool is_simple(const writer *w, uint32_t first, uint32_t end)
{
    uint32_t send = RLT_NONE, recv = RLT_NONE, channel = RLT_NONE;
    for (uint32_t i = first; i < end; i++) {
        const rlt_unrolled_op *o = &w->u.ops[i];
        if (o->type != RLT_OP_SEND && o->type != RLT_OP_RECV)
            continue;
        transfer t = transfer_of(w, o);
        uint32_t *peer = o->type == RLT_OP_SEND ? &send : &recv, other = w->u.ops[o->other].member;
        if ((*peer != RLT_NONE && *peer != other) || (channel != RLT_NONE && channel != channel_of(w, &t)) ||
            (o->type == RLT_OP_SEND && t.s.nowait && !w->wait_all))
            return false;
        *peer = other;
        channel = channel_of(w, &t);
    }
    return true;
}

enum { SIMPLE, SENDS, RECEIVES, LOCAL };

/* Appends an operation to its thread block, which is created for the first one. */
static int place_op(writer *w, uint32_t i, bool simple)
{
    const rlt_unrolled_op *o = &w->u.ops[i];
    bool sends = o->type == RLT_OP_SEND, receives = o->type == RLT_OP_RECV;
    transfer t = transfer_of(w, o);
    uint32_t peer = sends || receives ? w->u.ops[o->other].member : RLT_NONE;
    uint32_t channel = sends || receives ? channel_of(w, &t) : RLT_NONE;
    uint64_t what = simple ? SIMPLE : sends ? SENDS : receives ? RECEIVES : LOCAL;
    uint64_t key = what << 62 | (uint64_t)(what == SENDS || what == RECEIVES ? channel : o->lane) << 32 |
                   (what == SENDS || what == RECEIVES ? peer : 0);
    uint32_t id = rlt_map_get(&w->keys, key);
    if (id == RLT_NONE) {
        int rc = rlt_grow(&w->tbs, &w->tb_capacity, sizeof *w->tbs, (uint64_t)w->n_tbs + 1,
                          RLT_MSCCL_MAX_STEPS, "thread blocks", w->err);
        if (rc || rlt_map_put(&w->keys, key, w->n_tbs) < 0)
            return rc ? rc : rlt_nomem(w->err);
        id = w->n_tbs++;
        w->tbs[id] = (tb){o->member, o->lane, RLT_NONE, RLT_NONE, RLT_NONE, RLT_NONE, RLT_NONE, 0, 0};
    }
    tb *b = &w->tbs[id];
    if (sends)
        b->send = peer;
    if (receives)
        b->recv = peer;
    if (peer != RLT_NONE)
        b->channel = channel;
    w->tb_of[i] = id;
    w->next_op[i] = RLT_NONE;
    w->place_of[i] = b->last_op == RLT_NONE ? 0 : w->place_of[b->last_op] + 1;
    if (b->last_op == RLT_NONE)
        b->first_op = i;
    else
        w->next_op[b->last_op] = i;
    b->last_op = i;
    return 0;
}

static int place_all(writer *w)
{
    int rc = 0;
    for (uint32_t m = 0; m < w->plan->req.n && !rc; m++) {
        uint32_t end = w->u.first[m + 1];
        rlt_map_free(&w->keys);
        for (uint32_t i = w->u.first[m], next; i < end && !rc; i = next) {
            for (next = i; next < end && w->u.ops[next].lane == w->u.ops[i].lane;)
                next++;
            bool simple = is_simple(w, i, next);
            for (uint32_t k = i; k < next && !rc; k++)
                rc = place_op(w, k, simple);
        }
    }
    return rc;
}

/* Checks the order of each connection: messages must be received in the order in which they were sent. */
static int check_order(const writer *w)
{
    for (uint32_t b = 0; b < w->n_tbs; b++) {
        uint32_t before = RLT_NONE;
        for (uint32_t i = w->tbs[b].first_op; i != RLT_NONE; i = w->next_op[i]) {
            if (w->u.ops[i].type != RLT_OP_RECV)
                continue;
            uint32_t s = w->u.ops[i].other;
            if (before != RLT_NONE && w->place_of[s] < w->place_of[before])
                return rlt_fail(w->err, RLT_EUNSUPPORTED, w->plan->algorithm->name,
                                "member %u does not receive in the order in which member %u sends: MSCCL "
                                "cannot express this",
                                w->tbs[b].member, w->u.ops[s].member);
            before = s;
        }
    }
    return 0;
}

static void write_ref(rlt_growing *t, const char *what, rlt_msccl_ref r)
{
    rlt_growing_add(t, " %sbuf=\"%c\" %soff=\"%u\"", what, r.buffer, what, r.offset);
}

/* Lists the operations of other thread blocks that must be awaited, except those that earlier waits imply. At
 * most two. */
static uint32_t find_waits(writer *w, uint32_t i, uint32_t *list, uint32_t first_tb)
{
    const uint32_t needs[2] = {w->u.ops[i].after, w->u.ops[i].wait};
    uint32_t n = 0;
    for (int k = 0; k < 2; k++) {
        uint32_t d = needs[k];
        if (d == RLT_NONE || w->tb_of[d] == w->tb_of[i] || w->waited[w->tb_of[d] - first_tb] > w->place_of[d])
            continue;
        w->waited[w->tb_of[d] - first_tb] = w->place_of[d] + 1;
        list[n++] = d;
    }
    return n;
}

static void write_step(writer *w, tb *b, const char *type, rlt_msccl_ref src, rlt_msccl_ref dst, uint32_t n,
                       uint32_t dep, bool needed, bool print)
{
    if (print) {
        rlt_growing_add(&w->t, "      <step s=\"%u\" type=\"%s\"", b->steps, type);
        write_ref(&w->t, "src", src);
        write_ref(&w->t, "dst", dst);
        rlt_growing_add(&w->t, " cnt=\"%u\"", n);
        if (dep == RLT_NONE)
            rlt_growing_add(&w->t, " depid=\"-1\" deps=\"-1\"");
        else
            rlt_growing_add(&w->t, " depid=\"%u\" deps=\"%u\"", w->ids[w->tb_of[dep]], w->last[dep]);
        rlt_growing_add(&w->t, " hasdep=\"%u\"/>\n", needed);
    }
    b->steps++;
}

static const char *type_of(const rlt_unrolled_op *o, const rlt_step *s)
{
    switch (o->type) {
    case RLT_OP_SEND:
        return "s";
    case RLT_OP_RECV:
        return s->reduce ? "rrc" : "r";
    default:
        return s->reduce ? "re" : "cpy";
    }
}

/* Writes the steps of an operation, or only counts them (!print), so that other steps can refer to them. */
static void write_op(writer *w, tb *b, uint32_t i, const uint32_t *waits, uint32_t n_waits, bool print)
{
    const rlt_unrolled_op *o = &w->u.ops[i];
    const rlt_msccl_ref nowhere = {'i', 0};
    uint32_t dep = n_waits ? waits[n_waits - 1] : RLT_NONE;
    for (uint32_t k = 0; k + 1 < n_waits; k++)
        write_step(w, b, "nop", nowhere, nowhere, 0, waits[k], false, print);
    if (o->type == RLT_OP_NOP) {
        write_step(w, b, "nop", nowhere, nowhere, 0, dep, w->needed[i], print);
    } else {
        transfer t = transfer_of(w, o);
        uint32_t count = t.s.send.run * t.s.send.reps;
        for (uint32_t at = 0, n; at < count; at += n, dep = RLT_NONE) {
            rlt_msccl_ref src = nowhere, dst = nowhere;
            n = piece(w, &t, at, &src, &dst);
            if (o->type == RLT_OP_RECV)
                src = dst; /* what it adds to: MSCCL's run-time looks there, not at the sender */
            write_step(w, b, type_of(o, &t.s), src, dst, n, dep, w->needed[i] && at + n == count, print);
        }
    }
    w->last[i] = b->steps - 1;
}

static int write_tb(writer *w, uint32_t id, uint32_t first_tb, uint32_t n_tbs, bool print)
{
    tb *b = &w->tbs[id];
    int rc = rlt_grow(&w->waited, &w->waited_capacity, sizeof *w->waited, n_tbs, RLT_MSCCL_MAX_STEPS,
                      "thread blocks", w->err);
    if (rc)
        return rc;
    for (uint32_t k = 0; k < n_tbs; k++)
        w->waited[k] = 0;
    if (print)
        rlt_growing_add(&w->t, "    <tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", w->ids[id],
                        b->send == RLT_NONE ? -1 : (int)b->send, b->recv == RLT_NONE ? -1 : (int)b->recv,
                        b->channel == RLT_NONE ? 0 : (int)b->channel);
    b->steps = 0;
    for (uint32_t i = b->first_op; i != RLT_NONE; i = w->next_op[i]) {
        uint32_t waits[2], n = find_waits(w, i, waits, first_tb);
        for (uint32_t k = 0; k < n; k++)
            w->needed[waits[k]] = 1;
        write_op(w, b, i, waits, n, print);
    }
    if (print)
        rlt_growing_add(&w->t, "    </tb>\n");
    return 0;
}

static int write_gpu(writer *w, uint32_t member, uint32_t first_tb, uint32_t n_tbs, bool print)
{
    const rlt_plan *p = w->plan;
    bool gathers = p->req.kind == RLT_ALL_GATHER || p->req.kind == RLT_GATHER;
    bool scatters = p->req.kind == RLT_REDUCE_SCATTER || p->req.kind == RLT_SCATTER;
    uint32_t part = w->chunks / p->req.n;
    int rc = 0;
    if (print)
        rlt_growing_add(&w->t, "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"%u\">\n", member,
                        gathers ? part : w->chunks, scatters ? part : w->chunks,
                        p->buffers > 1 ? p->buffers * w->chunks : 0);
    for (uint32_t k = 0; k < n_tbs && !rc; k++) {
        w->ids[first_tb + k] = k;
        rc = write_tb(w, first_tb + k, first_tb, n_tbs, print);
    }
    if (print)
        rlt_growing_add(&w->t, "  </gpu>\n");
    return rc;
}

static int write_gpus(writer *w, bool print)
{
    uint32_t at = 0;
    int rc = 0;
    for (uint32_t m = 0; m < w->plan->req.n && !rc; m++) {
        uint32_t first = at;
        while (at < w->n_tbs && w->tbs[at].member == m)
            at++;
        rc = write_gpu(w, m, first, at - first, print);
    }
    return rc;
}

static int check(writer *w)
{
    const rlt_plan *p = w->plan;
    uint64_t chunks = (uint64_t)p->blocks * (p->shared ? 1 : p->lanes);
    bool parts = p->req.kind == RLT_ALL_GATHER || p->req.kind == RLT_REDUCE_SCATTER ||
                 p->req.kind == RLT_ALL_TO_ALL || p->req.kind == RLT_GATHER || p->req.kind == RLT_SCATTER;
    if (p->untracked)
        return rlt_fail(w->err, RLT_EUNSUPPORTED, p->algorithm->name,
                        "MSCCL needs the chunks of each message, but this plan lists only messages");
    if (p->req.kind == RLT_BARRIER)
        return rlt_fail(w->err, RLT_EUNSUPPORTED, p->algorithm->name, "MSCCL has no barrier");
    if (p->req.n > RLT_MSCCL_MAX_GPUS || chunks * p->buffers > RLT_MSCCL_MAX_CHUNKS)
        return rlt_fail(w->err, RLT_ERANGE, p->algorithm->name,
                        "%u members with %llu chunks are too many for MSCCL", p->req.n,
                        (unsigned long long)chunks);
    if (parts && p->blocks % p->req.n)
        return rlt_fail(w->err, RLT_EUNSUPPORTED, p->algorithm->name,
                        "%u blocks cannot be divided equally among %u members", p->blocks, p->req.n);
    for (uint32_t i = 0; i < w->u.n_ops; i++) {
        const rlt_unrolled_op *o = &w->u.ops[i];
        w->pairs |= o->type == RLT_OP_SEND && o->lane != w->u.ops[o->other].lane;
    }
    if (w->pairs && p->lanes * p->lanes > RLT_MAX_LANES)
        return rlt_fail(w->err, RLT_ERANGE, p->algorithm->name,
                        "%u lanes that send to each other need %u channels; the limit is %d", p->lanes,
                        p->lanes * p->lanes, RLT_MAX_LANES);
    w->chunks = (uint32_t)chunks;
    w->in_place = p->result == 0;
    return 0;
}

/* Names of the kinds in MSCCL's run-time. */
static const char *coll_of(rlt_coll_kind kind)
{
    switch (kind) {
    case RLT_ALL_REDUCE:
        return "allreduce";
    case RLT_ALL_GATHER:
        return "allgather";
    case RLT_ALL_TO_ALL:
        return "alltoall";
    default:
        return rlt_coll_name(kind);
    }
}

static int write_all(writer *w, const char *name)
{
    const rlt_plan *p = w->plan;
    char plain[64];
    int rc;
    if ((rc = check(w)) || (rc = place_all(w)) || (rc = check_order(w)))
        return rc;
    w->ids = malloc(((size_t)w->n_tbs + 1) * sizeof *w->ids);
    if (!w->ids)
        return rlt_nomem(w->err);
    rlt_plain_name(name, plain, sizeof plain);
    rlt_growing_add(&w->t,
                    "<algo name=\"%s\" proto=\"Simple\" nchannels=\"%u\" nchunksperloop=\"%u\" ngpus=\"%u\" "
                    "coll=\"%s\" inplace=\"%d\" outofplace=\"%d\" root=\"%u\">\n",
                    plain, w->pairs ? p->lanes * p->lanes : p->lanes, w->chunks, p->req.n,
                    coll_of(p->req.kind), w->in_place, !w->in_place, p->req.root);
    if ((rc = write_gpus(w, false)) || (rc = write_gpus(w, true)))
        return rc;
    rlt_growing_add(&w->t, "</algo>\n");
    return 0;
}

static int try_write(const rlt_plan *plan, const char *name, bool wait_all, char **text, size_t *length,
                     rlt_error *err)
{
    writer w = {.plan = plan, .err = err, .wait_all = wait_all};
    int rc = rlt_unroll(plan, wait_all, &w.u, err);
    if (rc)
        return rc;
    size_t n = (size_t)w.u.n_ops + 1;
    w.tb_of = malloc(n * sizeof *w.tb_of);
    w.next_op = malloc(n * sizeof *w.next_op);
    w.place_of = malloc(n * sizeof *w.place_of);
    w.last = malloc(n * sizeof *w.last);
    w.needed = calloc(n, 1);
    rc = w.tb_of && w.next_op && w.place_of && w.last && w.needed ? write_all(&w, name) : rlt_nomem(err);
    rlt_unrolled_free(&w.u);
    rlt_map_free(&w.keys);
    free(w.tbs);
    free(w.tb_of);
    free(w.next_op);
    free(w.place_of);
    free(w.last);
    free(w.needed);
    free(w.ids);
    free(w.waited);
    if (rc) {
        free(w.t.text);
        return rc;
    }
    return rlt_growing_finish(&w.t, text, length, err);
}

static int try_read(const char *name, const char *text, size_t length, rlt_error *err)
{
    rlt_listed l;
    int rc = rlt_msccl_parse(name, text, length, &l, err);
    if (!rc)
        rlt_listed_free(&l);
    return rc;
}

int rlt_msccl_write(const rlt_plan *plan, const char *name, char **text, size_t *length, rlt_error *err)
{
    rlt_error why = {0};
    int rc = try_write(plan, name, false, text, length, err);
    if (rc || !(rc = try_read(name, *text, *length, &why)))
        return rc;
    free(*text);
    *text = NULL;
    if (rc == RLT_ECHECK) {
        rc = try_write(plan, name, true, text, length, err);
        if (rc || !(rc = try_read(name, *text, *length, err)))
            return rc;
        free(*text);
        *text = NULL;
        return rc;
    }
    return rlt_fail(err, rc, why.where, "%s", why.what);
}
