/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Aggregators: the effect of a packet on a slot, in each mode. */
#include <string.h>

#include "net/aggregation/aggregator.h"
#include "net/aggregation/aggregator_internal.h"
#include "sim/base/time.h"

/* A packet being handled. */
typedef struct step {
    rlt_aggregator *a;
    rlt_agg_tenant *t;
    const rlt_agg_packet *p;
    rlt_agg_verdict *v;
    rlt_time now;
    const uint64_t *bits; /* contributors of the packet */
    uint32_t count;
} step;

static uint32_t count_bits(const uint64_t *bits, uint32_t words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < words; i++)
        n += (uint32_t)__builtin_popcountll(bits[i]);
    return n;
}

static bool overlaps(const step *s, const rlt_bank *b)
{
    const uint64_t *seen = rlt__agg_seen(s->a, b);
    for (uint32_t i = 0; i < s->a->words; i++)
        if (seen[i] & s->bits[i])
            return true;
    return false;
}

/* Returns the sum of a bank as it is sent. */
static rlt_agg_sum sum_of(const rlt_aggregator *a, const rlt_bank *b)
{
    return (rlt_agg_sum){b->job, b->chunk, b->count, rlt__agg_seen(a, b), rlt__agg_values(a, b)};
}

/* Returns a copy of that sum, which stays valid while the bank gets another owner. */
static rlt_agg_sum keep(rlt_aggregator *a, const rlt_bank *b)
{
    rlt_agg_sum sum = sum_of(a, b);
    uint64_t *bits = a->kept_bits + a->words;
    memcpy(bits, sum.bits, a->words * sizeof *bits);
    sum.bits = bits;
    if (sum.values) {
        memcpy(a->kept_values, sum.values, a->cfg.values * sizeof *sum.values);
        sum.values = a->kept_values;
    }
    return sum;
}

static void put_values(const step *s, rlt_bank *b, bool add)
{
    rlt_agg_value *to = rlt__agg_values(s->a, b);
    const rlt_agg_value *from = s->p->values;
    uint32_t n = s->a->cfg.values, bits = s->a->cfg.element_bits;
    if (!to)
        return;
    if (!from) {
        if (!add)
            memset(to, 0, n * sizeof *to);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s->a->cfg.floating) {
            to[i].d = add ? to[i].d + from[i].d : from[i].d;
            continue;
        }
        to[i].i = (int64_t)((add ? (uint64_t)to[i].i : 0) + (uint64_t)from[i].i);
        int64_t top = bits && bits < 64 ? to[i].i >> (bits - 1) : 0;
        s->t->counts.overflows += top != 0 && top != -1;
    }
}

static void free_bank(step *s, rlt_bank *b)
{
    rlt__agg_vacate(s->a, b, s->now);
    b->state = RLT_BANK_FREE;
}

static bool is_complete(const step *s, const rlt_bank *b)
{
    return b->count >= s->t->want.need;
}

static void add(step *s, rlt_bank *b)
{
    uint64_t *seen = rlt__agg_seen(s->a, b);
    for (uint32_t i = 0; i < s->a->words; i++)
        seen[i] |= s->bits[i];
    put_values(s, b, true);
    b->count += s->count;
    s->t->counts.contributions += s->count;
}

static void claim(step *s, rlt_bank *b)
{
    *b = (rlt_bank){.job = s->p->job, .chunk = s->p->chunk, .count = s->count, .state = RLT_BANK_AGG};
    memcpy(rlt__agg_seen(s->a, b), s->bits, s->a->words * sizeof *s->bits);
    put_values(s, b, false);
    rlt__agg_occupy(s->a, b, s->now);
    s->t->counts.contributions += s->count;
    s->v->claimed = true;
}

static void act(step *s, rlt_agg_action action)
{
    s->v->action = action;
}

/* Forwards the packet itself: to the server, or to the parent. */
static void forward(step *s, uint64_t *counter)
{
    ++*counter;
    act(s, RLT_AGG_FORWARD);
}

static void evict(step *s, rlt_bank *b)
{
    s->a->jobs[b->job].counts.evictions++;
    s->v->evicts = true;
    s->v->evicted = keep(s->a, b);
}

/* Decides after a contribution was added: wait, or send the sum. */
static void settle(step *s, rlt_bank *b)
{
    if (!is_complete(s, b)) {
        act(s, RLT_AGG_HOLD);
        return;
    }
    s->t->counts.completions++;
    s->v->sum = sum_of(s->a, b);
    b->state = RLT_BANK_SENT;
    if (!s->t->want.root) {
        act(s, RLT_AGG_UP);
    } else if (s->a->cfg.mode == RLT_SLOTS_HASH) {
        act(s, RLT_AGG_SERVER);
    } else {
        act(s, RLT_AGG_MULTICAST);
        b->state = s->a->cfg.mode == RLT_SLOTS_POOL ? RLT_BANK_DONE : RLT_BANK_FREE;
    }
    if (s->a->cfg.mode == RLT_SLOTS_POOL || b->state == RLT_BANK_FREE)
        rlt__agg_vacate(s->a, b, s->now);
}

static void duplicate(step *s)
{
    s->t->counts.duplicates++;
    act(s, RLT_AGG_DROP);
}

static void stale(step *s)
{
    s->t->counts.stale++;
    act(s, RLT_AGG_DROP);
}

static void refuse(step *s)
{
    s->t->counts.refused++;
    act(s, RLT_AGG_DROP);
}

static rlt_bank *bank_at(const step *s, uint32_t slot, uint32_t version)
{
    return &s->a->banks[(size_t)(s->t->first + slot) * s->a->versions + version];
}

/* POOL: a contribution to the chunk that the bank holds. */
static void pool_same(step *s, rlt_bank *b)
{
    bool seen = overlaps(s, b);
    if (b->state == RLT_BANK_AGG && !seen) {
        add(s, b);
        settle(s, b);
    } else if (b->state == RLT_BANK_AGG) {
        duplicate(s);
    } else if (b->state == RLT_BANK_SENT && !seen) {
        add(s, b); /* late: only a partial sum was sent */
        act(s, RLT_AGG_FORWARD);
    } else if (b->state == RLT_BANK_SENT) {
        duplicate(s);
        if (s->a->cfg.reemit && is_complete(s, b)) {
            act(s, RLT_AGG_UP);
            s->v->sum = sum_of(s->a, b);
        }
    } else if (seen) {
        s->t->counts.duplicates++;
        s->t->counts.unicasts++;
        act(s, RLT_AGG_UNICAST);
        s->v->sum = sum_of(s->a, b);
    } else {
        stale(s); /* stale: the worker has sent the other version since, so it has the result */
    }
}

static void pool_data(step *s)
{
    const rlt_agg_packet *p = s->p;
    if (p->slot >= s->t->slots || p->version > 1) {
        refuse(s);
        return;
    }
    rlt_bank *b = bank_at(s, p->slot, p->version), *other = bank_at(s, p->slot, !p->version);
    bool owned = b->state != RLT_BANK_FREE && b->job == p->job;
    if (owned && p->chunk < b->chunk) {
        stale(s);
        return;
    }
    if (owned && p->chunk == b->chunk) {
        pool_same(s, b);
        return;
    }
    if (b->state == RLT_BANK_AGG || b->state == RLT_BANK_SENT) {
        refuse(s);
        return;
    }
    if (other->state != RLT_BANK_FREE && other->job == p->job && other->chunk > p->chunk) {
        stale(s);
        return;
    }
    claim(s, b);
    settle(s, b);
}

/* POOL: a worker that sends one version has received the result of the other. */
static void pool_clear_other(step *s)
{
    const rlt_agg_packet *p = s->p;
    if (s->v->action == RLT_AGG_DROP || p->slot >= s->t->slots || p->version > 1)
        return;
    rlt_bank *other = bank_at(s, p->slot, !p->version);
    if (other->state != RLT_BANK_DONE || other->job != p->job || other->chunk > p->chunk)
        return;
    uint64_t *seen = rlt__agg_seen(s->a, other);
    for (uint32_t i = 0; i < s->a->words; i++)
        seen[i] &= ~s->bits[i];
}

static void pool_result(step *s)
{
    const rlt_agg_packet *p = s->p;
    if (p->slot >= s->t->slots || p->version > 1) {
        refuse(s);
        return;
    }
    rlt_bank *b = bank_at(s, p->slot, p->version);
    if (b->state != RLT_BANK_SENT || b->job != p->job || b->chunk != p->chunk) {
        s->t->counts.late++;
        return;
    }
    put_values(s, b, false);
    b->state = RLT_BANK_DONE;
    s->v->sum = sum_of(s->a, b);
    act(s, RLT_AGG_MULTICAST);
}

static void hash_taken(step *s, rlt_bank *b)
{
    rlt_agg_tenant *owner = &s->a->jobs[b->job];
    s->t->counts.collisions++;
    s->t->counts.foreign += b->job != s->p->job;
    if (!s->a->cfg.preempt || s->t->want.priority <= owner->want.priority || s->p->resend) {
        forward(s, &s->t->counts.fallbacks);
        return;
    }
    owner->counts.preemptions++;
    if (b->state == RLT_BANK_AGG)
        evict(s, b);
    free_bank(s, b);
    claim(s, b);
    settle(s, b);
}

static void hash_data(step *s)
{
    const rlt_agg_packet *p = s->p;
    if (s->t->slots == 0) {
        forward(s, &s->t->counts.fallbacks);
        return;
    }
    uint32_t slot = p->slot == RLT_NONE ? rlt_slot_hash(p->job, p->chunk, 0, s->t->slots) : p->slot;
    if (slot >= s->t->slots) {
        refuse(s);
        return;
    }
    s->v->slot = slot;
    rlt_bank *b = bank_at(s, slot, 0);
    bool mine = b->state != RLT_BANK_FREE && b->job == p->job && b->chunk == p->chunk;
    if (b->state == RLT_BANK_FREE && !p->resend) {
        claim(s, b);
        settle(s, b);
    } else if (b->state == RLT_BANK_FREE) {
        forward(s, &s->t->counts.resends);
    } else if (!mine) {
        hash_taken(s, b);
    } else if (b->state == RLT_BANK_SENT) {
        s->t->counts.duplicates += overlaps(s, b);
        forward(s, &s->t->counts.resends);
    } else if (p->resend) {
        evict(s, b);
        free_bank(s, b);
        forward(s, &s->t->counts.resends);
    } else if (overlaps(s, b) && s->count > 1) {
        forward(s, &s->t->counts.fallbacks); /* its new contributions cannot be separated */
    } else if (overlaps(s, b)) {
        duplicate(s);
    } else {
        add(s, b);
        settle(s, b);
    }
}

/* HASH: the answer of the server frees the slot on its way, wherever it came from. */
static void hash_result(step *s)
{
    const rlt_agg_packet *p = s->p;
    act(s, RLT_AGG_MULTICAST);
    if (s->t->slots == 0)
        return;
    uint32_t slot = p->slot == RLT_NONE ? rlt_slot_hash(p->job, p->chunk, 0, s->t->slots) : p->slot;
    if (slot >= s->t->slots)
        return;
    s->v->slot = slot;
    rlt_bank *b = bank_at(s, slot, 0);
    if (b->state != RLT_BANK_FREE && b->job == p->job && b->chunk == p->chunk)
        free_bank(s, b);
}

static void credit_data(step *s)
{
    if (s->p->slot >= s->t->slots) {
        refuse(s);
        return;
    }
    rlt_bank *b = bank_at(s, s->p->slot, 0);
    if (b->state == RLT_BANK_FREE) {
        claim(s, b);
        settle(s, b);
    } else if (b->chunk != s->p->chunk || b->job != s->p->job) {
        s->t->counts.blocked++;
        act(s, RLT_AGG_BUSY);
    } else if (overlaps(s, b)) {
        duplicate(s);
    } else {
        add(s, b);
        settle(s, b);
    }
}

static void credit_result(step *s)
{
    if (s->p->slot >= s->t->slots) {
        refuse(s);
        return;
    }
    rlt_bank *b = bank_at(s, s->p->slot, 0);
    if (b->state != RLT_BANK_SENT || b->chunk != s->p->chunk || b->job != s->p->job) {
        s->t->counts.late++;
        return;
    }
    put_values(s, b, false);
    s->v->sum = sum_of(s->a, b);
    act(s, RLT_AGG_MULTICAST);
    free_bank(s, b);
}

static void pull_request(step *s)
{
    const rlt_agg_packet *p = s->p;
    uint32_t slot = p->slot;
    for (uint32_t i = 0; slot == RLT_NONE && i < s->t->slots; i++)
        if (bank_at(s, i, 0)->state == RLT_BANK_FREE)
            slot = i;
    if (slot == RLT_NONE || (slot < s->t->slots && bank_at(s, slot, 0)->state != RLT_BANK_FREE)) {
        s->t->counts.blocked++;
        act(s, RLT_AGG_BUSY);
        return;
    }
    if (slot >= s->t->slots) {
        refuse(s);
        return;
    }
    rlt_bank *b = bank_at(s, slot, 0);
    *b = (rlt_bank){.job = p->job, .chunk = p->chunk, .asked = p->child, .state = RLT_BANK_AGG};
    memset(rlt__agg_seen(s->a, b), 0, s->a->words * sizeof(uint64_t));
    if (s->a->values)
        memset(rlt__agg_values(s->a, b), 0, s->a->cfg.values * sizeof(rlt_agg_value));
    rlt__agg_occupy(s->a, b, s->now);
    s->v->slot = slot;
    s->v->claimed = true;
    act(s, RLT_AGG_FETCH);
}

static void pull_data(step *s)
{
    if (s->p->slot >= s->t->slots) {
        refuse(s);
        return;
    }
    rlt_bank *b = bank_at(s, s->p->slot, 0);
    if (b->state != RLT_BANK_AGG || b->chunk != s->p->chunk || b->job != s->p->job) {
        stale(s);
        return;
    }
    if (overlaps(s, b)) {
        duplicate(s);
        return;
    }
    add(s, b);
    if (!is_complete(s, b)) {
        act(s, RLT_AGG_HOLD);
        return;
    }
    s->t->counts.completions++;
    s->v->sum = sum_of(s->a, b);
    s->v->asked = b->asked;
    act(s, RLT_AGG_UNICAST);
    free_bank(s, b);
}

/* Reads the contributors of a packet. Returns false if it names none that exists. */
static bool read_bits(step *s)
{
    uint64_t *one = s->a->kept_bits;
    if (s->p->kind != RLT_AGG_DATA)
        return true;
    if (s->p->bits) {
        s->bits = s->p->bits;
        s->count = count_bits(s->bits, s->a->words);
        return s->count > 0;
    }
    if (s->p->child >= s->a->words * 64)
        return false;
    memset(one, 0, s->a->words * sizeof *one);
    one[s->p->child / 64] = UINT64_C(1) << (s->p->child % 64);
    s->bits = one;
    s->count = 1;
    return true;
}

void rlt_aggregator_packet(rlt_aggregator *a, const rlt_agg_packet *p, rlt_time now, rlt_agg_verdict *v)
{
    *v = (rlt_agg_verdict){.action = RLT_AGG_DROP, .slot = p->slot};
    if (p->job >= a->n_jobs || !a->jobs[p->job].live)
        return;
    step s = {.a = a, .t = &a->jobs[p->job], .p = p, .v = v, .now = now};
    s.t->counts.packets += p->kind == RLT_AGG_DATA;
    if (!read_bits(&s)) {
        refuse(&s);
        return;
    }
    switch (a->cfg.mode) {
    case RLT_SLOTS_POOL:
        (p->kind == RLT_AGG_DATA ? pool_data : pool_result)(&s);
        if (p->kind == RLT_AGG_DATA)
            pool_clear_other(&s);
        break;
    case RLT_SLOTS_HASH:
        (p->kind == RLT_AGG_DATA ? hash_data : hash_result)(&s);
        break;
    case RLT_SLOTS_CREDIT:
        (p->kind == RLT_AGG_DATA ? credit_data : credit_result)(&s);
        break;
    case RLT_SLOTS_PULL:
        if (p->kind == RLT_AGG_RESULT)
            act(&s, RLT_AGG_MULTICAST); /* a store to all children: nothing to remember */
        else
            (p->kind == RLT_AGG_DATA ? pull_data : pull_request)(&s);
        break;
    }
}

void rlt_aggregator_expire(rlt_aggregator *a, uint32_t job, uint32_t chunk, uint32_t slot, uint8_t version,
                           rlt_time now, rlt_agg_verdict *v)
{
    *v = (rlt_agg_verdict){.action = RLT_AGG_DROP, .slot = slot};
    if (job >= a->n_jobs || slot >= a->jobs[job].slots || version >= a->versions)
        return;
    rlt_agg_tenant *t = &a->jobs[job];
    rlt_bank *b = &a->banks[(size_t)(t->first + slot) * a->versions + version];
    if (b->state != RLT_BANK_AGG || b->job != job || b->chunk != chunk || b->count == 0)
        return;
    t->counts.partials++;
    b->state = RLT_BANK_SENT;
    if (a->cfg.mode == RLT_SLOTS_POOL)
        rlt__agg_vacate(a, b, now);
    v->action = t->want.root ? RLT_AGG_SERVER : RLT_AGG_UP;
    v->sum = sum_of(a, b);
}
