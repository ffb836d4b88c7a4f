/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs plans. The cookies of a message identify it completely: tx = collective and the sender's lane, rx =
 * the receiver's lane and the step that waits for it. The lanes of a collective are numbered member *
 * plan->lanes + lane.
 *
 * A message may arrive before its receiver reaches the step. It is then noted in a 64-step window of bits. If
 * it does not fit there (several messages for one step, or a step far ahead), a map counts it.
 */
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/executor_internal.h"
#include "collectives/fold.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Keeps rare paths out of line, so that they cost the common path neither registers nor jumps. */
#define SELDOM    __attribute__((noinline))
#define seldom(x) __builtin_expect((x) != 0, 0)

static bool push_ready(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    if (x->n_ready + 2 > x->ready_capacity) {
        rlt_error e = {0};
        int rc = rlt_grow(&x->ready, &x->ready_capacity, sizeof *x->ready, (uint64_t)x->n_ready + 2,
                          UINT32_MAX, "lanes ready at once", &e);
        if (rc < 0) {
            rlt_sim_fail(x->sim, rc, e.where, "%s", e.what);
            return false;
        }
    }
    x->ready[x->n_ready++] = id;
    x->ready[x->n_ready++] = lane_index;
    return true;
}

/* Advances the window by one step and returns the number of messages that have already arrived for the new
 * step. */
static SELDOM uint32_t take_early(rlt_exec_collective *c, uint32_t lane_index)
{
    rlt_exec_lane *l = &c->lanes[lane_index];
    uint32_t count = (uint32_t)(l->early & 1);
    l->early >>= 1;
    if (c->crowd.n) {
        uint64_t key = (uint64_t)lane_index << 32 | l->step;
        uint32_t more = rlt_map_get(&c->crowd, key);
        if (more != RLT_NONE) {
            count += more;
            rlt_map_remove(&c->crowd, key);
        }
    }
    return count;
}

/* Notes messages for a step that the lane has not reached. No plan addresses a finished step; the checker
 * proves that. */
static SELDOM void note_early(rlt_exec *x, rlt_exec_collective *c, uint32_t lane_index, uint32_t step,
                              uint32_t count)
{
    rlt_exec_lane *l = &c->lanes[lane_index];
    uint32_t ahead = step - l->step;
    if (count == 1 && ahead <= 64 && !(l->early >> (ahead - 1) & 1)) {
        l->early |= (uint64_t)1 << (ahead - 1);
        return;
    }
    uint64_t key = (uint64_t)lane_index << 32 | step;
    uint32_t more = rlt_map_get(&c->crowd, key);
    if (rlt_map_put(&c->crowd, key, more == RLT_NONE ? count : more + count) < 0)
        rlt_sim_fail(x->sim, RLT_ENOMEM, "collective", "out of memory");
}

static void finish_member(rlt_exec *x, uint32_t id, uint32_t member)
{
    rlt_exec_collective *c = &x->all[id];
    const rlt_exec_client *client = c->client;
    const rlt_fold *fold = c->fold;
    uint64_t cookie = c->cookie;
    bool last = --c->members_left == 0;
    if (last) {
        c->live = 0;
        c->plan = NULL;
        rlt_map_free(&c->crowd);
        c->next_free = x->free_head;
        x->free_head = id;
        x->pending--;
    }
    if (client->member_done)
        client->member_done(client->ctx, cookie, fold ? fold->rep[member] : member);
    if (last && client->done)
        client->done(client->ctx, cookie);
}

/* Wakes the lanes of this member that wait for a step that lane_index has now finished. */
static SELDOM void wake_waiters(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    rlt_exec_collective *c = &x->all[id];
    uint32_t w = c->lanes[lane_index].waiters;
    c->lanes[lane_index].waiters = RLT_NONE;
    while (w != RLT_NONE) {
        uint32_t next = c->lanes[w].next_waiter;
        c->lanes[w].asleep = 0;
        if (!push_ready(x, id, w))
            return;
        w = next;
    }
}

/* Whether the lane must wait for a step of another lane of its member. If so, it joins that lane's
 * waiters. */
static SELDOM bool waits(rlt_exec_collective *c, rlt_exec_lane *l, uint32_t wait_lane, uint32_t wait_step)
{
    uint32_t first = l->member * c->plan->lanes;
    rlt_exec_lane *other = &c->lanes[first + wait_lane];
    if (other->step > wait_step || (other->asleep & RLT_LANE_DONE))
        return false;
    l->asleep = RLT_LANE_WAITING;
    l->next_waiter = other->waiters;
    other->waiters = first + l->number;
    return true;
}

/* Completes the address of a message to another lane, of a multicast, or of a folded message, which stands
 * for several. */
static SELDOM void address(rlt_exec_collective *c, const rlt_step *s, const rlt_exec_lane *l, rlt_message *m)
{
    const rlt_plan *plan = c->plan;
    uint32_t there = (l->number + s->peer_shift) % plan->lanes, place = s->send_to;
    if (RLT_LANDS_AT_ALL(s->verb))
        place = c->members;
    else if (c->fold)
        place = rlt_fold_class(c->fold, s->send_to);
    if (c->fold) {
        c->under_way++;
        m->count = c->fold->size[l->member];
        m->fan_in = place < c->members ? m->count / c->fold->size[place] : 1;
    }
    m->rx = (uint64_t)(place * plan->lanes + there) << 32 | s->peer_step;
}

/* Returns the ranks that a step reaches. NULL: ranks 0 .. n-1, or out of memory, which is reported. */
static const uint32_t *list_reached(rlt_exec *x, const rlt_plan *plan, rlt_reach r)
{
    if (r.n == plan->req.n)
        return plan->req.ranks;
    if (rlt_grow(&x->reached, &x->reached_capacity, sizeof *x->reached, r.n, RLT_MAX_MEMBERS,
                 "ranks of a transfer", NULL)) {
        rlt_sim_fail(x->sim, RLT_ENOMEM, "collective", "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < r.n; i++)
        x->reached[i] = rlt_member_rank(&plan->req, r.first + i * r.stride);
    return x->reached;
}

/* Sends a reduction or a multicast that the network itself performs. Returns the time of injection. */
static SELDOM rlt_time send_tree(rlt_exec *x, const rlt_plan *plan, const rlt_step *s, rlt_reach r,
                                 const rlt_message *m)
{
    const rlt_net_model *model = x->net->model;
    bool reduce = s->verb != RLT_VERB_MULTICAST, all = s->verb == RLT_VERB_REDUCE_ALL;
    rlt_tree_message t = {.ranks = list_reached(x, plan, r),
                          .n = r.n,
                          .count = m->count,
                          .all = all,
                          .root = reduce && !all ? rlt_member_rank(&plan->req, s->send_to) : m->src,
                          .bytes = m->bytes,
                          .route_key = m->route_key,
                          .tx = m->tx,
                          .rx = m->rx,
                          .tuning = m->tuning};
    if (reduce ? !model->reduce_to : !model->multicast) {
        rlt_sim_fail(x->sim, RLT_EUNSUPPORTED, plan->algorithm->name, "the network model '%s' has no %s",
                     model->name, reduce ? "in-network reduction" : "multicast");
        return 0;
    }
    return reduce ? model->reduce_to(x->net, &t) : model->multicast(x->net, &t);
}

/* Starts the current step of a lane. Returns false if the lane has to wait for another lane. */
static inline __attribute__((always_inline)) bool issue(rlt_exec *x, rlt_exec_collective *c, uint32_t id,
                                                        rlt_exec_lane *l, uint32_t lane_index)
{
    const rlt_plan *plan = c->plan;
    uint32_t member = l->member, number = l->number;
    rlt_step s;
    if (seldom(c->folded))
        member = c->fold->rep[member];
    rlt_step_clear(&s);
    plan->algorithm->step(plan, member, number, l->step, &s);
    if (seldom(s.wait_lane != RLT_NONE) && waits(c, l, s.wait_lane, s.wait_step))
        return false;
    l->state = s.nowait ? RLT_STEP_ISSUED | RLT_STEP_NOWAIT : RLT_STEP_ISSUED;
    l->missing += (int32_t)s.recv_count;
    if (s.send_to == RLT_NONE)
        return true;
    rlt_message m = {
        .src = rlt_member_rank(&plan->req, member),
        .dst = s.verb ? 0 : rlt_member_rank(&plan->req, s.send_to),
        .bytes = s.send_bytes,
        .route_key = rlt_route_key(number, s.turn),
        .tx = (uint64_t)id << 32 | lane_index,
        .rx = (uint64_t)(s.send_to * plan->lanes + number) << 32 | s.peer_step,
        .count = 0,
        .fan_in = 0,
        .tuning = c->tuning,
    };
    if (seldom(s.peer_shift | s.verb | c->folded))
        address(c, &s, l, &m);
    rlt_time injected = seldom(s.verb)
                            ? send_tree(x, plan, &s, rlt_reach_of(plan, member, number, l->step), &m)
                            : rlt_net_send(x->net, &m);
    if (injected < 0 || x->blocking)
        l->unsent++;
    else if (injected > l->injected_ps)
        l->injected_ps = injected;
    return true;
}

/* Schedules a wake-up for the end of a send whose time the network returned at issue. */
static SELDOM void await_injection(rlt_exec *x, uint32_t id, uint32_t lane_index, rlt_exec_lane *l)
{
    rlt_sim_at(x->sim, l->injected_ps, RLT_COMPLETE, x->on_wake, (uint64_t)id << 32 | lane_index);
    l->injected_ps = 0;
    l->unsent = 1;
}

/* Whether a send still holds the lane. Its end is reported later by the network, or is known and
 * scheduled. */
static inline bool held_by_send(rlt_exec *x, uint32_t id, uint32_t lane_index, rlt_exec_lane *l)
{
    if (l->unsent)
        return true;
    if (l->injected_ps <= rlt_sim_now(x->sim))
        return false;
    await_injection(x, id, lane_index, l);
    return true;
}

/* Whether step k + 1 of a lane (b) repeats step k (a). */
static bool repeats(const rlt_step *a, const rlt_step *b)
{
    return a->send_to == b->send_to && a->send_bytes == b->send_bytes && a->recv_from == b->recv_from &&
           a->recv_count == b->recv_count && a->peer_step + 1 == b->peer_step &&
           a->peer_shift == b->peer_shift && a->nowait == b->nowait && a->copy == b->copy &&
           a->wait_lane == RLT_NONE && b->wait_lane == RLT_NONE && !a->verb && !b->verb;
}

static inline void read_step(const rlt_exec_collective *c, const rlt_exec_lane *l, uint32_t k, rlt_step *out)
{
    rlt_step_clear(out);
    c->plan->algorithm->step(c->plan, c->fold->rep[l->member], l->number, k, out);
}

/* Returns how many steps, from the lane's next step on, repeat the step before, which is *s. */
static uint32_t count_repeats(const rlt_exec_collective *c, const rlt_exec_lane *l, const rlt_step *s)
{
    rlt_step pair[2] = {*s};
    uint32_t times = 0;
    for (; l->step + times < l->n_steps; times++) {
        read_step(c, l, l->step + times, &pair[(times + 1) & 1]);
        if (!repeats(&pair[times & 1], &pair[(times + 1) & 1]))
            break;
    }
    return times;
}

/*
 * Skips repeated steps of a collective that is folded to one lane. If nothing is under way between steps,
 * equal steps take equal time and carry equal traffic. When a step begins that the next one repeats, its
 * begin and the accounts are noted. When it ends, the period is known, and time leaps over all repetitions
 * at once. Example: a folded ring all-reduce of 1024 members has 2046 steps; only a few of them are
 * simulated.
 */
static SELDOM bool leap(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    rlt_exec_collective *c = &x->all[id];
    rlt_exec_lane *l = &c->lanes[lane_index];
    rlt_time now = rlt_sim_now(x->sim);
    bool leaping = c->leaping;
    c->leaping = false;
    if (c->n_lanes > 1 || x->pending > 1 || c->under_way || l->missing < 0 || l->early || c->crowd.n)
        return false;
    if (leaping) {
        uint32_t times = count_repeats(c, l, &c->steady);
        rlt_time period = now - c->steady_ps;
        if (times && period <= (RLT_TIME_MAX - now) / times) {
            rlt_net_repeat(x->net, times, period);
            l->step += times;
            l->asleep = RLT_LANE_LEAPING;
            rlt_sim_at(x->sim, now + period * (rlt_time)times, RLT_COMPLETE, x->on_leap,
                       (uint64_t)id << 32 | lane_index);
            return true;
        }
    }
    if (l->step + 2 >= l->n_steps)
        return false;
    rlt_step next;
    read_step(c, l, l->step, &c->steady);
    read_step(c, l, l->step + 1, &next);
    int marked = repeats(&c->steady, &next) ? rlt_net_mark(x->net) : RLT_EUNSUPPORTED;
    if (marked == RLT_ENOMEM)
        rlt_sim_fail(x->sim, RLT_ENOMEM, "collective", "out of memory");
    c->leaping = marked == 0;
    c->steady_ps = now;
    return false;
}

/* Ends a lane whose steps are all done, as soon as its sends are. */
static SELDOM void end_lane(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    rlt_exec_collective *c = &x->all[id];
    rlt_exec_lane *l = &c->lanes[lane_index];
    if (held_by_send(x, id, lane_index, l))
        return;
    l->asleep = RLT_LANE_DONE;
    if (--c->lanes_left[l->member] == 0)
        finish_member(x, id, l->member);
}

/* Runs a lane as far as it can go. Inlined into the delivery path, where most of a run's time is spent. */
static inline __attribute__((always_inline)) void run_lane(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    rlt_exec_collective *c = &x->all[id];
    rlt_exec_lane *l = &c->lanes[lane_index];
    if (l->asleep)
        return;
    for (;;) {
        if (!l->state) {
            if (l->step == l->n_steps) {
                end_lane(x, id, lane_index);
                return;
            }
            if (!issue(x, c, id, l, lane_index))
                return;
        }
        if (l->missing > 0 || (!(l->state & RLT_STEP_NOWAIT) && held_by_send(x, id, lane_index, l)))
            return;
        l->step++;
        l->state = 0;
        l->missing = 0;
        if (seldom(l->early | c->crowd.n))
            l->missing = -(int32_t)take_early(c, lane_index);
        if (seldom(l->waiters != RLT_NONE))
            wake_waiters(x, id, lane_index);
        if (seldom(c->folded) && leap(x, id, lane_index))
            return;
    }
}

static void advance(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    run_lane(x, id, lane_index);
}

static void on_leap(void *ctx, uint64_t payload)
{
    rlt_exec *x = ctx;
    uint32_t id = (uint32_t)(payload >> 32), lane_index = (uint32_t)payload;
    x->all[id].lanes[lane_index].asleep = 0;
    advance(x, id, lane_index);
}

/* Runs the lanes that others have woken. */
static SELDOM void settle(rlt_exec *x)
{
    while (x->n_ready) {
        uint32_t lane_index = x->ready[--x->n_ready];
        uint32_t id = x->ready[--x->n_ready];
        advance(x, id, lane_index);
    }
}

/* Runs the lanes that were reached at this instant, in their order. A network reaches lanes from its own
 * events only, so none is added meanwhile. */
static void on_order(void *ctx, uint64_t payload)
{
    rlt_exec *x = ctx;
    uint32_t n = x->n_reached_lanes;
    (void)payload;
    rlt_sort_u64(x->reached_lanes, n); /* mostly in order, as messages came in that of receive ports */
    for (uint32_t i = 0; i < n; i++) {
        uint64_t lane = x->reached_lanes[i];
        advance(x, (uint32_t)(lane >> 32), (uint32_t)lane);
        settle(x);
    }
    x->n_reached_lanes = 0;
}

/* Lets a lane go on: at once, or in order with others that are reached at this instant. */
static SELDOM void go_on(rlt_exec *x, uint32_t id, uint32_t lane_index)
{
    if (!x->all[id].orderly) {
        advance(x, id, lane_index);
        return;
    }
    if (x->n_reached_lanes == x->reached_lanes_room &&
        rlt_grow(&x->reached_lanes, &x->reached_lanes_room, sizeof *x->reached_lanes,
                 (uint64_t)x->n_reached_lanes + 1, UINT32_MAX, "lanes that go on", NULL)) {
        rlt_sim_fail(x->sim, RLT_ENOMEM, "collective", "out of memory");
        return;
    }
    if (x->n_reached_lanes == 0)
        rlt_sim_post(x->sim, rlt_sim_now(x->sim), RLT_SOLVE, x->on_order, 0);
    x->reached_lanes[x->n_reached_lanes++] = (uint64_t)id << 32 | lane_index;
}

/* Callbacks of the network, and events of the executor. */

static void on_injected(void *ctx, uint64_t tx)
{
    rlt_exec *x = ctx;
    if (x->blocking)
        return;
    uint32_t id = (uint32_t)(tx >> 32), li = (uint32_t)tx;
    rlt_exec_lane *l = &x->all[id].lanes[li];
    l->unsent--;
    if (l->missing > 0)
        return;
    go_on(x, id, li);
    if (x->n_ready)
        settle(x);
}

/* Releases a sender at delivery (blocking), or at the scheduled end of its injection. */
static SELDOM void release_sender(rlt_exec *x, uint64_t tx)
{
    uint32_t id = (uint32_t)(tx >> 32), from = (uint32_t)tx;
    x->all[id].lanes[from].unsent--;
    go_on(x, id, from);
}

static inline void note_arrival(rlt_exec *x, rlt_exec_collective *c, uint32_t to, uint32_t step)
{
    if (seldom(c->lanes[to].step != step))
        note_early(x, c, to, step, 1);
    else
        c->lanes[to].missing--;
}

static SELDOM void note_arrivals_at(rlt_exec *x, rlt_exec_collective *c, uint32_t to, uint32_t step,
                                    uint32_t count)
{
    if (c->lanes[to].step == step)
        c->lanes[to].missing -= (int32_t)count;
    else
        note_early(x, c, to, step, count);
}

/* Counts the arrival of a folded message: it stands for one message from each member of the sender's
 * class. */
static SELDOM void note_arrivals(rlt_exec *x, rlt_exec_collective *c, uint32_t from, uint32_t to,
                                 uint32_t step)
{
    const uint32_t *size = c->fold->size;
    note_arrivals_at(x, c, to, step, size[c->lanes[from].member] / size[c->lanes[to].member]);
}

/* Returns the simulated member that stands for member i of those reached, and in *end the first one after i
 * that has another. */
static uint32_t stands_for(const rlt_exec_collective *c, rlt_reach r, uint32_t i, uint32_t *end)
{
    const rlt_fold *fold = c->fold;
    uint32_t place = r.first + i * r.stride;
    *end = i + 1;
    if (!fold)
        return place;
    place = rlt_fold_class(fold, place);
    while (fold->of_member && *end < r.n && fold->of_member[r.first + *end * r.stride] == place)
        ++*end;
    *end = fold->of_member ? *end : r.n;
    return place;
}

/* Delivers a multicast, or a sum for all, to all members that it reaches. Folded: a class gets one message
 * for each of its members that one sender reaches, if classes are of one size. The collective cannot end
 * before the last of them has run. */
static SELDOM void reach_all(rlt_exec *x, uint64_t tx, uint32_t lane_of_all, uint32_t step)
{
    uint32_t id = (uint32_t)(tx >> 32);
    rlt_exec_collective *c = &x->all[id];
    const rlt_exec_lane *from = &c->lanes[(uint32_t)tx];
    const rlt_plan *plan = c->plan;
    uint32_t lanes = plan->lanes, first = lane_of_all - c->members * lanes, end;
    rlt_reach r = rlt_reach_of(plan, c->fold ? c->fold->rep[from->member] : from->member, from->number, step);
    for (uint32_t i = 0; i < r.n; i = end) {
        uint32_t place = stands_for(c, r, i, &end);
        note_arrivals_at(x, c, place * lanes + first, step, end - i);
    }
    if (x->blocking)
        release_sender(x, tx);
    for (uint32_t i = 0; i < r.n && x->all[id].plan == plan; i = end) {
        uint32_t place = stands_for(&x->all[id], r, i, &end);
        advance(x, id, place * lanes + first);
    }
    settle(x);
}

/* Delivers the rare kinds of message: multicast, folded, or eager. */
static SELDOM void deliver_anyhow(rlt_exec *x, uint64_t tx, uint64_t rx)
{
    uint32_t id = (uint32_t)(tx >> 32), to = (uint32_t)(rx >> 32);
    rlt_exec_collective *c = &x->all[id];
    c->under_way -= c->folded;
    if (to >= c->n_lanes) {
        reach_all(x, tx, to, (uint32_t)rx);
        return;
    }
    if (c->flags & RLT_EXEC_EAGER && c->client->delivered)
        c->client->delivered(c->client->ctx, c->cookie);
    if (c->fold)
        note_arrivals(x, c, (uint32_t)tx, to, (uint32_t)rx);
    else
        note_arrival(x, c, to, (uint32_t)rx);
    if (x->blocking)
        release_sender(x, tx);
    go_on(x, id, to);
    settle(x);
}

static void on_delivered(void *ctx, uint64_t tx, uint64_t rx)
{
    rlt_exec *x = ctx;
    uint32_t id = (uint32_t)(tx >> 32), to = (uint32_t)(rx >> 32);
    rlt_exec_collective *c = &x->all[id];
    if (seldom(to >= c->direct)) {
        deliver_anyhow(x, tx, rx);
        return;
    }
    note_arrival(x, c, to, (uint32_t)rx);
    if (x->blocking)
        release_sender(x, tx);
    run_lane(x, id, to);
    if (seldom(x->n_ready))
        settle(x);
}

static void on_wake(void *ctx, uint64_t payload)
{
    release_sender(ctx, payload);
    settle(ctx);
}

static void begin_member(rlt_exec *x, uint32_t id, uint32_t member)
{
    rlt_exec_collective *c = &x->all[id];
    uint32_t n_lanes = c->plan->lanes;
    c->lanes_left[member] = n_lanes;
    for (uint32_t i = 0; i < n_lanes; i++)
        c->lanes[member * n_lanes + i].asleep &= (uint8_t)~RLT_LANE_NOT_BEGUN;
    for (uint32_t i = n_lanes; i-- > 0;)
        if (!push_ready(x, id, member * n_lanes + i))
            return;
    settle(x);
}

static void on_member_launch(void *ctx, uint64_t payload)
{
    begin_member(ctx, (uint32_t)(payload >> 32), (uint32_t)payload);
}

static void on_launch(void *ctx, uint64_t payload)
{
    rlt_exec *x = ctx;
    uint32_t id = (uint32_t)payload, n = x->all[id].members;
    for (uint32_t m = 0; m < n && x->all[id].live; m++)
        if (rlt__exec_has(x, x->all[id].plan, m))
            begin_member(x, id, m);
}

int rlt_exec_create(const rlt_net_model *model, const rlt_net_config *cfg, rlt_exec **out, rlt_error *err)
{
    rlt_exec *x = calloc(1, sizeof *x);
    int rc;
    if (!x)
        return rlt_nomem(err);
    x->sim = cfg->sim;
    x->free_head = RLT_NONE;
    x->part = cfg->part;
    x->blocking = cfg->endpoint.injection == RLT_INJECT_BLOCKING;
    x->orderly = cfg->orderly;
    x->launch_ps = rlt_endpoint_kernel(&cfg->endpoint, cfg->endpoint.launch_ps);
    rlt_net_config c = *cfg;
    c.client = (rlt_net_client){.ctx = x, .injected = on_injected, .delivered = on_delivered};
    const rlt_handler_entry handlers[] = {{on_launch, &x->on_launch},
                                          {on_member_launch, &x->on_member_launch},
                                          {on_wake, &x->on_wake},
                                          {on_leap, &x->on_leap},
                                          {on_order, &x->on_order}};
    rc = rlt_sim_register(x->sim, x, handlers, sizeof handlers / sizeof *handlers, err);
    if (!rc)
        rc = model->create(&c, &x->net, err);
    if (rc)
        goto fail;
    *out = x;
    return 0;
fail:
    free(x);
    return rc;
}

void rlt_exec_free(rlt_exec *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; i < x->n; i++) {
        rlt_map_free(&x->all[i].crowd);
        free(x->all[i].lanes);
        free(x->all[i].lanes_left);
    }
    rlt_net_free(x->net);
    free(x->all);
    free(x->ready);
    free(x->reached);
    free(x->reached_lanes);
    free(x);
}

rlt_net *rlt_exec_net(rlt_exec *x)
{
    return x->net;
}
