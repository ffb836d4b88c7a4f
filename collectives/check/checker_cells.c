/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of the symbolic checker: what a message takes, where it lands, and what must be there at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/internal.h"
#include "collectives/check/matching.h"
#include "collectives/check/races.h"
#include "collectives/collective.h"
#include "collectives/in_network/states.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#define MAX_MOVES ((uint64_t)1 << 32) /* limit of copied cells: about a minute */

typedef rlt__cell cell;
typedef rlt__cells cells;
typedef rlt__mail message;
typedef rlt__checker checker;

static size_t cell_index(const checker *x, uint32_t p, uint32_t buffer, uint32_t block)
{
    uint32_t owner = x->plan->shared ? p / x->lanes : p;
    return ((size_t)owner * x->plan->buffers + buffer) * x->blocks + block;
}

static uint64_t *set_of(const checker *x, cells c, size_t i)
{
    return c.sets + i * x->words;
}

static void set_add(uint64_t *set, uint32_t member)
{
    set[member / 64] |= (uint64_t)1 << member % 64;
}

/* Returns the first member of a that is in b (in_b) or not in b (!in_b); RLT_NONE if there is none. */
static uint32_t set_find(const checker *x, const uint64_t *a, const uint64_t *b, bool in_b)
{
    for (uint32_t w = 0; w < x->words; w++) {
        uint64_t found = a[w] & (in_b ? b[w] : ~b[w]);
        for (uint32_t bit = 0; found && bit < 64; bit++) {
            if (found >> bit & 1)
                return w * 64 + bit;
        }
    }
    return RLT_NONE;
}

/* Block number i of a span. */
static uint32_t span_block(const checker *x, rlt_blocks s, uint32_t i)
{
    return (uint32_t)((s.first + (uint64_t)(i / s.run) * s.stride + i % s.run) % x->blocks);
}

/* Bytes of the block that a cell holds. */
static uint64_t content_bytes(const checker *x, uint32_t lane, cells c, uint32_t i)
{
    const uint64_t *set = set_of(x, c, i);
    return rlt_block_size(x->plan, lane, set_find(x, set, set, true), c.c[i].tag);
}

static int check_spans(checker *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    uint64_t count = (uint64_t)s->send.run * s->send.reps;
    if (x->heard && !s->send.reps && !s->land.reps && !s->verb && !s->copy)
        return 0; /* only signals that its member has come this far */
    if (count != (uint64_t)s->land.run * s->land.reps)
        return rlt__place_refuse(x->plan, x->err, p, k,
                                 "sends %u x %u blocks, but they land as %u x %u; expected the same number",
                                 s->send.reps, s->send.run, s->land.reps, s->land.run);
    if (count == 0 || count > x->blocks || s->send.first >= x->blocks || s->land.first >= x->blocks)
        return rlt__place_refuse(
            x->plan, x->err, p, k,
            "moves %u x %u blocks from block %u on to block %u on; expected 1 to %u blocks of the lane",
            s->send.reps, s->send.run, s->send.first, s->land.first, x->blocks);
    if (s->send_buffer >= x->plan->buffers || s->land_buffer >= x->plan->buffers)
        return rlt__place_refuse(x->plan, x->err, p, k,
                                 "names buffers %u and %u; the plan has %u buffers, counted from 0",
                                 s->send_buffer, s->land_buffer, x->plan->buffers);
    return 0;
}

static size_t message_bytes(const checker *x, uint32_t count)
{
    size_t clock = x->races ? rlt_races_width(x->races) : 0;
    return sizeof(message) + count * (sizeof(uint64_t) * x->words + sizeof(cell)) + clock * sizeof(uint32_t);
}

void rlt__checker_drop(checker *x, message *m)
{
    x->mail_bytes -= message_bytes(x, m->count);
    free(m);
}

/* Allocates a message with room for its cells. Messages of an untracked plan have none. */
static int new_message(checker *x, uint32_t p, uint32_t k, const rlt_step *s, message **out)
{
    uint32_t count = x->plan->untracked ? 0 : s->send.run * s->send.reps;
    size_t bytes = message_bytes(x, count), width = x->races ? rlt_races_width(x->races) : 0;
    if (x->mail_bytes + bytes > RLT__MAX_STATE_BYTES || x->moves + count > MAX_MOVES)
        return rlt_fail(x->err, RLT_ERANGE, x->plan->algorithm->name,
                        "too many messages and blocks to check");
    message *m = malloc(bytes);
    if (!m)
        return rlt_nomem(x->err);
    *m = (message){.from = p, .from_step = k, .to_step = s->peer_step, .count = count, .reduce = s->reduce};
    m->land_buffer = s->land_buffer;
    m->land = s->land;
    m->content.sets = m->memory;
    m->content.c = (cell *)(void *)(m->memory + (size_t)count * x->words);
    if (width) {
        uint32_t *clock = (uint32_t *)(void *)(m->content.c + count);
        memcpy(clock, rlt_races_clock(x->races, p), width * sizeof *clock);
        m->clock = clock;
    }
    x->mail_bytes += bytes;
    x->moves += count;
    *out = m;
    return 0;
}

/* Copies cell i of a sent span into a message. */
static int take_cell(checker *x, uint32_t p, uint32_t k, const rlt_step *s, uint32_t i, message *m)
{
    uint32_t block = span_block(x, s->send, i), lane, step;
    size_t from = cell_index(x, p, s->send_buffer, block);
    if (x->state.c[from].tag == RLT_NONE)
        return rlt__place_refuse(x->plan, x->err, p, k, "sends block %u of buffer %u, which holds nothing",
                                 block, s->send_buffer);
    if (x->races && !rlt_races_read(x->races, from, p, k, &lane, &step))
        return rlt__place_refuse(
            x->plan, x->err, p, k,
            "reads block %u of buffer %u, which lane %u step %u writes: neither waits for the other", block,
            s->send_buffer, lane, step);
    m->content.c[i] = x->state.c[from];
    memcpy(set_of(x, m->content, i), set_of(x, x->state, from), sizeof(uint64_t) * x->words);
    return 0;
}

/* Adds the same cell of the other members to a reduction by the network. */
static int fetch_cell(checker *x, uint32_t p, uint32_t k, const rlt_step *s, uint32_t i, message *m)
{
    uint32_t block = span_block(x, s->send, i);
    uint64_t *sum = set_of(x, m->content, i);
    rlt_reach r = rlt_reach_of(x->plan, p / x->lanes, p % x->lanes, k);
    for (uint32_t j = 0; j < r.n; j++) {
        uint32_t member = r.first + j * r.stride;
        size_t from = cell_index(x, member * x->lanes + p % x->lanes, s->send_buffer, block);
        cell *c = &x->state.c[from];
        const uint64_t *set = set_of(x, x->state, from);
        if (member == p / x->lanes)
            continue;
        c->fetched = 1;
        bool early = c->written > (x->heard ? x->heard[(size_t)p * x->n + member] : 0);
        if (c->tag != m->content.c[i].tag || early)
            return rlt__place_refuse(
                x->plan, x->err, p, k, "fetches block %u from member %u, which %s", block, member,
                early ? "writes the same block: neither waits for the other" : "holds another block there");
        uint32_t twice = set_find(x, set, sum, true);
        if (twice != RLT_NONE)
            return rlt__place_refuse(x->plan, x->err, p, k,
                                     "fetches the contribution of member %u to block %u twice", twice, block);
        for (uint32_t w = 0; w < x->words; w++)
            sum[w] |= set[w];
    }
    return 0;
}

static int observe(checker *x, uint32_t p, uint32_t k, const rlt_step *s, const message *m)
{
    bool moved = false;
    for (uint32_t i = 0; i < m->count && !moved; i++)
        moved = m->content.c[i].tag != span_block(x, s->send, i);
    if (!moved)
        return 0;
    uint32_t *tags = malloc(m->count * sizeof *tags);
    if (!tags)
        return rlt_nomem(x->err);
    for (uint32_t i = 0; i < m->count; i++)
        tags[i] = m->content.c[i].tag;
    int rc = x->observer(x->observer_ctx, p / x->lanes, p % x->lanes, k, tags, m->count, x->err);
    free(tags);
    return rc;
}

/* Copies the span that a step sends. */
int rlt__checker_take(checker *x, uint32_t p, uint32_t k, const rlt_step *s, message **out)
{
    message *m = NULL;
    uint64_t bytes = 0;
    int rc = x->plan->untracked ? 0 : check_spans(x, p, k, s);
    if (!rc)
        rc = new_message(x, p, k, s, &m);
    for (uint32_t i = 0; !rc && i < m->count; i++) {
        rc = take_cell(x, p, k, s, i, m);
        if (!rc && (s->verb == RLT_VERB_REDUCE || s->verb == RLT_VERB_REDUCE_ALL))
            rc = fetch_cell(x, p, k, s, i, m);
        if (!rc)
            bytes += content_bytes(x, p % x->lanes, m->content, i);
    }
    if (!rc && !s->copy && !x->plan->untracked && bytes != s->send_bytes)
        rc = rlt__place_refuse(x->plan, x->err, p, k, "states %llu bytes for a message of %llu",
                               (unsigned long long)s->send_bytes, (unsigned long long)bytes);
    if (!rc && !s->copy && x->observer)
        rc = observe(x, p, k, s, m);
    if (rc && m)
        rlt__checker_drop(x, m);
    *out = rc ? NULL : m;
    return rc;
}

/* Whether the result of a kind is a sum. A result block may then only be replaced by a larger sum of the same
 * block. */
static bool sums(rlt_coll_kind kind)
{
    return kind == RLT_ALL_REDUCE || kind == RLT_REDUCE_SCATTER || kind == RLT_REDUCE || kind == RLT_BARRIER;
}

/* Refuses cell i of a message if it must not land on this block. */
static int check_landing(checker *x, uint32_t p, uint32_t k, const message *m, uint32_t i, uint32_t block)
{
    size_t to = cell_index(x, p, m->land_buffer, block);
    const cell *c = &x->state.c[to];
    uint32_t tag = m->content.c[i].tag, sender = m->from / x->lanes;
    const uint64_t *old = set_of(x, x->state, to), *new = set_of(x, m->content, i);
    if (c->written == k + 1 && c->lane == p % x->lanes && !(m->reduce && c->by_addition))
        return rlt__place_refuse(
            x->plan, x->err, p, k,
            "block %u is written twice in this step, the second time by member %u step %u: the "
            "result depends on which comes first",
            block, sender, m->from_step);
    uint32_t lane, step;
    if (c->fetched)
        return rlt__place_refuse(x->plan, x->err, p, k,
                                 "writes block %u of buffer %u, which a switch fetches", block,
                                 m->land_buffer);
    if (x->races && !rlt_races_write(x->races, to, p, k, &lane, &step))
        return rlt__place_refuse(
            x->plan, x->err, p, k,
            "writes block %u of buffer %u, which lane %u step %u uses: neither waits for the other", block,
            m->land_buffer, lane, step);
    if (c->tag == RLT_NONE && m->reduce && x->plan->shared)
        return rlt__place_refuse(
            x->plan, x->err, p, k,
            "block %u from member %u step %u is added to nothing: buffer %u is empty there", tag, sender,
            m->from_step, m->land_buffer);
    if (c->tag == RLT_NONE)
        return 0;
    if (m->reduce && c->tag != tag)
        return rlt__place_refuse(x->plan, x->err, p, k,
                                 "block %u from member %u step %u is added to block %u", tag, sender,
                                 m->from_step, c->tag);
    if (m->reduce) {
        uint32_t twice = set_find(x, new, old, true);
        if (twice != RLT_NONE)
            return rlt__place_refuse(
                x->plan, x->err, p, k,
                "the contribution of member %u to block %u comes a second time, from member %u step %u",
                twice, tag, sender, m->from_step);
    } else if (!x->patient && m->land_buffer == x->plan->result && c->tag == tag && sums(x->plan->req.kind)) {
        uint32_t lost = set_find(x, old, new, false);
        if (lost != RLT_NONE)
            return rlt__place_refuse(x->plan, x->err, p, k,
                                     "block %u from member %u step %u replaces the contribution of member %u",
                                     tag, sender, m->from_step, lost);
    }
    return 0;
}

int rlt__checker_land(checker *x, uint32_t p, uint32_t k, const message *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t block = span_block(x, m->land, i);
        size_t to = cell_index(x, p, m->land_buffer, block);
        int rc = check_landing(x, p, k, m, i, block);
        if (rc)
            return rc;
        uint64_t *old = set_of(x, x->state, to), *new = set_of(x, m->content, i);
        for (uint32_t w = 0; w < x->words; w++)
            old[w] = m->reduce ? old[w] | new[w] : new[w];
        x->state.c[to] = (cell){.tag = m->content.c[i].tag,
                                .written = k + 1,
                                .lane = (uint16_t)(p % x->lanes),
                                .by_addition = m->reduce};
    }
    return 0;
}

void rlt__checker_fill(checker *x, uint32_t p)
{
    uint32_t m = p / x->lanes;
    for (uint32_t buffer = 0; buffer < x->plan->buffers; buffer++) {
        for (uint32_t b = 0; b < x->blocks; b++) {
            size_t i = cell_index(x, p, buffer, b);
            bool held = buffer == 0 && rlt_block_held(x->plan, m, b);
            x->state.c[i] = (cell){.tag = held ? b : RLT_NONE};
            if (held)
                set_add(set_of(x, x->state, i), m);
        }
    }
}

int rlt__checker_result(checker *x, uint32_t p, uint32_t b, bool contributions, uint64_t *want)
{
    rlt_wanted w;
    if (!rlt_block_wanted(x->plan, p / x->lanes, b, &w))
        return 0;
    size_t i = cell_index(x, p, x->plan->result, b);
    const cell *c = &x->state.c[i];
    uint32_t step = c->written ? c->written - 1 : 0;
    p += x->plan->shared ? c->lane : 0;
    const char *last = c->written ? "" : " and was never written";
    if (c->tag == RLT_NONE)
        return rlt__place_refuse(x->plan, x->err, p, step, "block %u of the result is empty", b);
    if (c->tag != w.tag)
        return rlt__place_refuse(x->plan, x->err, p, step,
                                 "block %u of the result should be block %u, but is block %u%s", b, w.tag,
                                 c->tag, last);
    if (!contributions)
        return 0;
    memset(want, 0, sizeof *want * x->words);
    for (uint32_t m = 0; m < x->n; m++) {
        if (w.all || m == w.one)
            set_add(want, m);
    }
    const uint64_t *has = set_of(x, x->state, i);
    uint32_t lost = set_find(x, want, has, false), extra = set_find(x, has, want, false);
    x->lost = lost != RLT_NONE;
    if (lost != RLT_NONE)
        return rlt__place_refuse(x->plan, x->err, p, step,
                                 "block %u of the result lacks the contribution of member %u%s", b, lost,
                                 last);
    if (extra != RLT_NONE)
        return rlt__place_refuse(x->plan, x->err, p, step,
                                 "block %u of the result contains a contribution of member %u%s", b, extra,
                                 last);
    return 0;
}
