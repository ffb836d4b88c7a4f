/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbolic run of a plan. A cell is one block in one buffer of one member's lane. It knows which original
 * block its bytes are (tag), and whose contributions are summed in it (a set of members). A message is a copy
 * of cells, taken when the sending step starts; it lands once the step to which it is addressed has started.
 * Lanes advance until they block, in no particular order: the check refuses a plan whose outcome would depend
 * on the order.
 *
 * An untracked plan has no cells; only its messages and waits are run. The network may fetch a cell of
 * another member at any time. Such a cell must be unchanged since the start, or since its member last sent a
 * message to the fetching lane. It must not change any more.
 */
#include "collectives/check/checker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/check/internal.h"
#include "collectives/check/matching.h"
#include "collectives/check/observe.h"
#include "collectives/check/races.h"
#include "collectives/collective.h"
#include "collectives/in_network/states.h"
#include "collectives/listed.h"
#include "sim/base/time.h"

#define MAX_STATE_BYTES ((uint64_t)1 << 30)
#define MAX_MOVES       ((uint64_t)1 << 32) /* limit of copied cells: about a minute */

typedef rlt__cell cell;
typedef rlt__cells cells;
typedef rlt__mail message;
typedef rlt__place place;
typedef rlt__checker checker;

static int refuse(checker *x, uint32_t p, uint32_t step, const char *fmt, ...) RLT_PRINTF(4);

static int refuse(checker *x, uint32_t p, uint32_t step, const char *fmt, ...)
{
    char where[384];
    va_list args;
    rlt_step_place(x->plan, p / x->lanes, p % x->lanes, step, where, sizeof where);
    va_start(args, fmt);
    rlt_vfail(x->err, RLT_ECHECK, where, fmt, args);
    va_end(args);
    return RLT_ECHECK;
}

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

static void push(checker *x, uint32_t p)
{
    if (x->places[p].queued)
        return;
    x->places[p].queued = true;
    x->queue[(x->queue_head + x->queue_length++) % x->n_places] = p;
}

static uint32_t pop(checker *x)
{
    uint32_t p = x->queue[x->queue_head];
    x->queue_head = (x->queue_head + 1) % x->n_places;
    x->queue_length--;
    x->places[p].queued = false;
    return p;
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
        return refuse(x, p, k, "sends %u x %u blocks, but they land as %u x %u; expected the same number",
                      s->send.reps, s->send.run, s->land.reps, s->land.run);
    if (count == 0 || count > x->blocks || s->send.first >= x->blocks || s->land.first >= x->blocks)
        return refuse(
            x, p, k,
            "moves %u x %u blocks from block %u on to block %u on; expected 1 to %u blocks of the lane",
            s->send.reps, s->send.run, s->send.first, s->land.first, x->blocks);
    if (s->send_buffer >= x->plan->buffers || s->land_buffer >= x->plan->buffers)
        return refuse(x, p, k, "names buffers %u and %u; the plan has %u buffers, counted from 0",
                      s->send_buffer, s->land_buffer, x->plan->buffers);
    return 0;
}

static size_t message_bytes(const checker *x, uint32_t count)
{
    size_t clock = x->races ? rlt_races_width(x->races) : 0;
    return sizeof(message) + count * (sizeof(uint64_t) * x->words + sizeof(cell)) + clock * sizeof(uint32_t);
}

static void free_message(checker *x, message *m)
{
    x->mail_bytes -= message_bytes(x, m->count);
    free(m);
}

/* Allocates a message with room for its cells. Messages of an untracked plan have none. */
static int new_message(checker *x, uint32_t p, uint32_t k, const rlt_step *s, message **out)
{
    uint32_t count = x->plan->untracked ? 0 : s->send.run * s->send.reps;
    size_t bytes = message_bytes(x, count), width = x->races ? rlt_races_width(x->races) : 0;
    if (x->mail_bytes + bytes > MAX_STATE_BYTES || x->moves + count > MAX_MOVES)
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
        return refuse(x, p, k, "sends block %u of buffer %u, which holds nothing", block, s->send_buffer);
    if (x->races && !rlt_races_read(x->races, from, p, k, &lane, &step))
        return refuse(
            x, p, k, "reads block %u of buffer %u, which lane %u step %u writes: neither waits for the other",
            block, s->send_buffer, lane, step);
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
            return refuse(x, p, k, "fetches block %u from member %u, which %s", block, member,
                          early ? "writes the same block: neither waits for the other"
                                : "holds another block there");
        uint32_t twice = set_find(x, set, sum, true);
        if (twice != RLT_NONE)
            return refuse(x, p, k, "fetches the contribution of member %u to block %u twice", twice, block);
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
static int take(checker *x, uint32_t p, uint32_t k, const rlt_step *s, message **out)
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
        rc = refuse(x, p, k, "states %llu bytes for a message of %llu", (unsigned long long)s->send_bytes,
                    (unsigned long long)bytes);
    if (!rc && !s->copy && x->observer)
        rc = observe(x, p, k, s, m);
    if (rc && m)
        free_message(x, m);
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
        return refuse(x, p, k,
                      "block %u is written twice in this step, the second time by member %u step %u: the "
                      "result depends on which comes first",
                      block, sender, m->from_step);
    uint32_t lane, step;
    if (c->fetched)
        return refuse(x, p, k, "writes block %u of buffer %u, which a switch fetches", block, m->land_buffer);
    if (x->races && !rlt_races_write(x->races, to, p, k, &lane, &step))
        return refuse(x, p, k,
                      "writes block %u of buffer %u, which lane %u step %u uses: neither waits for the other",
                      block, m->land_buffer, lane, step);
    if (c->tag == RLT_NONE && m->reduce && x->plan->shared)
        return refuse(x, p, k,
                      "block %u from member %u step %u is added to nothing: buffer %u is empty there", tag,
                      sender, m->from_step, m->land_buffer);
    if (c->tag == RLT_NONE)
        return 0;
    if (m->reduce && c->tag != tag)
        return refuse(x, p, k, "block %u from member %u step %u is added to block %u", tag, sender,
                      m->from_step, c->tag);
    if (m->reduce) {
        uint32_t twice = set_find(x, new, old, true);
        if (twice != RLT_NONE)
            return refuse(
                x, p, k,
                "the contribution of member %u to block %u comes a second time, from member %u step %u",
                twice, tag, sender, m->from_step);
    } else if (!x->patient && m->land_buffer == x->plan->result && c->tag == tag && sums(x->plan->req.kind)) {
        uint32_t lost = set_find(x, old, new, false);
        if (lost != RLT_NONE)
            return refuse(x, p, k, "block %u from member %u step %u replaces the contribution of member %u",
                          tag, sender, m->from_step, lost);
    }
    return 0;
}

static int land(checker *x, uint32_t p, uint32_t k, const message *m)
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

static int send_one(checker *x, uint32_t p, uint32_t k, const rlt_step *s, uint32_t member)
{
    uint32_t q = member * x->lanes + (p % x->lanes + s->peer_shift) % x->lanes;
    place *to = &x->places[q];
    message *m = NULL;
    int rc = take(x, p, k, s, &m);
    if (rc)
        return rc;
    message **end = &to->mail;
    while (*end)
        end = &(*end)->next;
    m->next = NULL;
    *end = m;
    push(x, q);
    return 0;
}

static int send(checker *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    int rc = 0;
    if (!RLT_LANDS_AT_ALL(s->verb))
        return send_one(x, p, k, s, s->send_to);
    rlt_reach r = rlt_reach_of(x->plan, p / x->lanes, p % x->lanes, k);
    for (uint32_t i = 0; i < r.n && !rc; i++)
        rc = send_one(x, p, k, s, r.first + i * r.stride);
    return rc;
}

static int copy(checker *x, uint32_t p, uint32_t k, const rlt_step *s)
{
    message *m = NULL;
    int rc = s->send_to != RLT_NONE ? refuse(x, p, k, "copies and sends") : take(x, p, k, s, &m);
    if (rc)
        return rc;
    rc = land(x, p, k, m);
    free_message(x, m);
    return rc;
}

/* Records a message's arrival: the sender's earlier steps in that lane are done. */
static void hear(checker *x, uint32_t p, const message *m)
{
    uint32_t *last = x->heard ? &x->heard[(size_t)p * x->n + m->from / x->lanes] : NULL;
    if (last && m->from % x->lanes == p % x->lanes && m->from_step > *last)
        *last = m->from_step;
}

/* Lands the messages addressed to the current step. */
static int receive(checker *x, uint32_t p, const rlt_step *s)
{
    place *here = &x->places[p];
    message **link = &here->mail;
    while (*link) {
        message *m = *link;
        if (m->to_step != here->step) {
            link = &m->next;
            continue;
        }
        uint32_t sender = m->from / x->lanes;
        if (s->recv_from != RLT_NONE && s->recv_from != sender)
            return refuse(x, p, here->step, "waits for member %u, but gets a message from member %u step %u",
                          s->recv_from, sender, m->from_step);
        if (m->clock)
            rlt_races_join(x->races, p, m->clock);
        int rc = land(x, p, here->step, m);
        if (rc)
            return rc;
        hear(x, p, m);
        here->got++;
        *link = m->next;
        free_message(x, m);
    }
    return 0;
}

/* Starts the current step. Returns 1 if it started, 0 if it waits for another lane, or an error. */
static int start(checker *x, uint32_t p, const rlt_step *s)
{
    place *here = &x->places[p];
    if (s->wait_lane != RLT_NONE) {
        uint32_t other = p - p % x->lanes + s->wait_lane;
        if (s->wait_lane >= x->lanes || s->wait_step >= x->places[other].steps)
            return refuse(x, p, here->step, "waits for step %u of lane %u, which does not exist",
                          s->wait_step, s->wait_lane);
        here->waits_for_lane = x->places[other].step <= s->wait_step;
        if (here->waits_for_lane)
            return 0;
        if (x->races)
            rlt_races_wait(x->races, p, other, s->wait_step);
    }
    if (x->races)
        rlt_races_start(x->races, p, here->step);
    int rc = s->copy ? copy(x, p, here->step, s) : s->send_to != RLT_NONE ? send(x, p, here->step, s) : 0;
    if (rc)
        return rc;
    here->started = true;
    here->got = 0;
    return 1;
}

/* Runs a lane of a member as far as it can go. */
static int advance(checker *x, uint32_t p)
{
    place *here = &x->places[p];
    bool moved = false;
    while (here->step < here->steps) {
        rlt_step s;
        rlt__checker_step(x, p, here->step, &s);
        int rc = here->started ? 1 : start(x, p, &s);
        if (rc < 0)
            return rc;
        if (rc == 0)
            break;
        rc = receive(x, p, &s);
        if (rc)
            return rc;
        if (here->got < s.recv_count)
            break;
        if (x->races && (rc = rlt_races_done(x->races, p, here->step, x->err)))
            return rc;
        here->started = false;
        here->step++;
        moved = true;
    }
    for (uint32_t l = 0, first = p - p % x->lanes; moved && l < x->lanes; l++) {
        if (x->places[first + l].waits_for_lane)
            push(x, first + l);
    }
    return 0;
}

/* Names one circular wait: every place that is stuck waits for another one that is stuck. */
static int explain_deadlock(checker *x, uint32_t p)
{
    char text[400];
    uint32_t length = rlt__checker_circle(x, &p, text, sizeof text);
    return refuse(x, p, x->places[p].step, "deadlock: a cycle of %u waiting steps: %s%s", length, text,
                  length > 8 ? ", ..." : "");
}

static int check_result(checker *x, uint32_t p, uint32_t b, bool contributions, uint64_t *want)
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
        return refuse(x, p, step, "block %u of the result is empty", b);
    if (c->tag != w.tag)
        return refuse(x, p, step, "block %u of the result should be block %u, but is block %u%s", b, w.tag,
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
        return refuse(x, p, step, "block %u of the result lacks the contribution of member %u%s", b, lost,
                      last);
    if (extra != RLT_NONE)
        return refuse(x, p, step, "block %u of the result contains a contribution of member %u%s", b, extra,
                      last);
    return 0;
}

/* Next place with cells of its own: every place, or the first place of each member if cells are shared. */
static uint32_t next_owner(const checker *x, uint32_t p)
{
    return p + (x->plan->shared ? x->lanes : 1);
}

static void fill(checker *x)
{
    for (uint32_t p = 0; p < x->n_places; p++) {
        x->places[p].steps = x->plan->algorithm->steps(x->plan, p / x->lanes, p % x->lanes);
        push(x, p);
    }
    for (uint32_t p = 0; p < x->n_places && !x->plan->untracked; p = next_owner(x, p)) {
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
}

static int check_plan(checker *x)
{
    const rlt_plan *plan = x->plan;
    if (plan->result >= plan->buffers || x->blocks == 0 || x->lanes == 0 || x->lanes > RLT_MAX_LANES)
        return rlt_fail(x->err, RLT_ECHECK, plan->algorithm->name,
                        "%u lanes, %u blocks, result buffer %u of %u; expected 1 to %d lanes, "
                        "at least one block, and a result below the number of buffers",
                        x->lanes, x->blocks, plan->result, plan->buffers, RLT_MAX_LANES);
    if (plan->untracked)
        return 0;
    int rc = rlt_states_check(plan, x->err);
    if (rc)
        return rc;
    double n_cells = (double)x->n * (plan->shared ? 1 : x->lanes) * plan->buffers * x->blocks,
           heard = plan->reduces ? (double)x->n * x->lanes * x->n * sizeof *x->heard : 0;
    if (n_cells * (double)(sizeof(cell) + (x->n + 63) / 64 * sizeof(uint64_t)) + heard >
        (double)MAX_STATE_BYTES)
        return rlt_fail(x->err, RLT_ERANGE, plan->algorithm->name,
                        "%u members x %u lanes x %u buffers x %u blocks are too many to check", x->n,
                        x->lanes, plan->buffers, x->blocks);
    return 0;
}

static int run(checker *x, uint64_t *want)
{
    int rc = rlt_plan_match(x->plan, x->err);
    while (rc == 0 && x->queue_length > 0)
        rc = advance(x, pop(x));
    for (uint32_t p = 0; rc == 0 && p < x->n_places; p++) {
        if (x->places[p].step < x->places[p].steps)
            rc = explain_deadlock(x, p);
    }
    if (x->plan->untracked)
        return rc;
    /* Wrong blocks first: they explain contributions that are missing elsewhere. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t p = 0; rc == 0 && p < x->n_places; p = next_owner(x, p)) {
            for (uint32_t b = 0; rc == 0 && b < x->blocks; b++)
                rc = check_result(x, p, b, pass == 1, want);
        }
    }
    return rc;
}

static int run_all(checker *x)
{
    const rlt_plan *plan = x->plan;
    int rc = check_plan(x);
    if (rc)
        return rc;
    x->words = plan->untracked ? 0 : (x->n + 63) / 64;
    x->n_places = x->n * x->lanes;
    size_t n_cells =
        plan->untracked ? 0 : (size_t)(plan->shared ? x->n : x->n_places) * plan->buffers * x->blocks;
    uint64_t *want = malloc(sizeof *want * (x->words + 1));
    x->state.c = malloc((n_cells + 1) * sizeof *x->state.c);
    x->state.sets = calloc(n_cells * x->words + 1, sizeof *x->state.sets);
    x->places = calloc(x->n_places, sizeof *x->places);
    x->queue = malloc(x->n_places * sizeof *x->queue);
    if (!want || !x->state.c || !x->state.sets || !x->places || !x->queue)
        rc = rlt_nomem(x->err);
    if (!rc && plan->reduces && plan->algorithm->reach &&
        !(x->heard = calloc((size_t)x->n_places * x->n, sizeof *x->heard)))
        rc = rlt_nomem(x->err);
    if (!rc && plan->shared && !plan->untracked && x->lanes > 1)
        rc = rlt_races_create(plan, &x->races, x->err);
    if (!rc) {
        fill(x);
        rc = run(x, want);
    }
    for (uint32_t p = 0; x->places && p < x->n_places; p++) {
        for (message *m = x->places[p].mail, *next; m; m = next) {
            next = m->next;
            free(m);
        }
    }
    rlt_races_free(x->races);
    free(x->heard);
    free(x->queue);
    free(x->places);
    free(x->state.sets);
    free(x->state.c);
    free(want);
    return rc;
}

/*
 * A plan from a file may use the result buffer as scratch, so a smaller sum may replace a larger one there.
 * The first run allows this. If it ends with a lost contribution, a second, strict run finds the first step
 * that lost one.
 */
int rlt_plan_check_observed(const rlt_plan *plan, rlt_send_observer *observer, void *ctx, rlt_error *err)
{
    rlt_error first = {0}, second = {0};
    checker x = {.plan = plan,
                 .err = &first,
                 .n = plan->req.n,
                 .lanes = plan->lanes,
                 .blocks = plan->blocks,
                 .patient = plan->algorithm == &rlt_custom,
                 .observer = observer,
                 .observer_ctx = ctx};
    int rc = run_all(&x);
    if (rc == 0)
        return 0;
    if (x.lost && x.patient) {
        checker again = {.plan = plan, .err = &second, .n = x.n, .lanes = x.lanes, .blocks = x.blocks};
        if (run_all(&again) == RLT_ECHECK)
            first = second;
    }
    return rlt_fail(err, rc, first.where, "%s", first.what);
}

int rlt_plan_check(const rlt_plan *plan, rlt_error *err)
{
    return rlt_plan_check_observed(plan, NULL, NULL, err);
}
