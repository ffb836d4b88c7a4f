/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flow and the alpha-beta model against plain ones, written from net/MODELS.md: flows whose rates are found anew
 * at every event by filling all links evenly; messages that queue at the first and at the last link of their path.
 * Random trees and messages that follow each other (test/support/networks/random_tree.h). Under flow also: equal
 * messages, latency that comes first, runs that are stopped, links that change, fail and come back; the accounts and
 * the series.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/flow/internal.h"
#include "net/network.h"
#include "net/usage.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/random_tree.h"
#include "test/support/support.h"

enum { CASES = 300 };

typedef struct message {
    uint32_t links[LINKS], n, src, dst;
    bool active, arrives; /* drains; is on its way to the end */
    rlt_time arrival;
    /* Of flow: */
    bool waits, parked, stalled; /* for its latency; for its links, before or after it began */
    bool later;                  /* the latency comes first */
    uint64_t wire;               /* bytes when it began, or began again */
    double left, rate;           /* bytes; bytes a picosecond */
} message;

/* What links carried in a stretch of time, bytes a picosecond. */
typedef struct stretch {
    double from, to, rate[LINKS];
} stretch;

enum { STRETCHES = 4 * MESSAGES };

typedef struct model {
    const test_case *c;
    outcome out;
    message all[MESSAGES];
    rlt_time now, tx_free[LINKS], rx_free[LINKS];
    bool tied; /* two messages of alpha-beta reached a port at one instant: their order is not part of it */
    uint64_t bw_Bps[LINKS];
    double busy[LINKS], active[LINKS];
    stretch stretches[STRETCHES];
    uint32_t n_stretches;
} model;

static void find_path(const test_case *c, message *m)
{
    m->n = 0;
    for (uint32_t node = m->src; node != m->dst; node = c->wires[m->links[m->n - 1]].dst)
        m->links[m->n++] = wire_to(c, node, m->dst);
}

static rlt_time latency_of(const model *m, const message *one)
{
    rlt_time sum = 0;
    for (uint32_t i = 0; i < one->n; i++)
        sum += m->c->wires[one->links[i]].latency_ps;
    return sum;
}

static void charge(model *m, const message *one, uint64_t bytes)
{
    for (uint32_t i = 0; i < one->n; i++) {
        m->out.packets[one->links[i]]++;
        m->out.bytes[one->links[i]] += bytes;
    }
}

/* ---- alpha-beta: delta + L + w/B, behind what left before, and behind what arrived before ---- */

static void post_alpha_beta(model *m, uint32_t i, uint32_t src)
{
    const wanted *w = &m->c->messages[i];
    message *one = &m->all[i];
    *one = (message){.src = src, .dst = (src + w->dst) % HOSTS, .arrives = true};
    find_path(m->c, one);
    uint32_t first = one->links[0];
    wire slowest = m->c->wires[first];
    for (uint32_t k = 1; k < one->n; k++)
        if (m->c->wires[one->links[k]].bw_Bps < slowest.bw_Bps)
            slowest = m->c->wires[one->links[k]];
    rlt_time start = m->tx_free[first] > m->now ? m->tx_free[first] : m->now;
    m->out.injected[i] = m->tx_free[first] = start + span_of(&m->c->wires[first], w->bytes);
    one->arrival = start + latency_of(m, one) + span_of(&slowest, w->bytes);
    charge(m, one, w->bytes);
}

static void run_alpha_beta(model *m)
{
    for (uint32_t i = 0; i < CHAINS; i++)
        post_alpha_beta(m, i, m->c->from[i]);
    for (uint32_t done = 0; done < 2 * MESSAGES; done++) {
        uint32_t next = MESSAGES;
        for (uint32_t i = 0; i < MESSAGES; i++) {
            const message *one = &m->all[i];
            if (!one->arrives && !one->active)
                continue;
            if (next < MESSAGES && one->arrival == m->all[next].arrival && one->dst == m->all[next].dst)
                m->tied = true;
            if (next == MESSAGES || one->arrival < m->all[next].arrival)
                next = i;
        }
        if (next == MESSAGES)
            return;
        message *one = &m->all[next];
        m->now = one->arrival;
        if (one->arrives) { /* its last byte is at the receive port, which may have others to receive */
            uint32_t last = one->links[one->n - 1];
            rlt_time end = m->rx_free[last] + span_of(&m->c->wires[last], m->c->messages[next].bytes);
            one->arrival = m->rx_free[last] = end > m->now ? end : m->now;
            one->arrives = false;
            one->active = true;
            if (one->arrival > m->now)
                continue;
        }
        one->active = false;
        m->out.delivered[next] = m->now;
        if (next + CHAINS < MESSAGES)
            post_alpha_beta(m, next + CHAINS, one->dst);
    }
}

/* ---- flow: max-min fair shares of all links ---- */

static void fill_links(model *m)
{
    double room[LINKS];
    bool fixed[MESSAGES];
    for (uint32_t k = 0; k < LINKS; k++)
        room[k] = (double)m->bw_Bps[k] * 1e-12;
    for (uint32_t i = 0; i < MESSAGES; i++)
        fixed[i] = !m->all[i].active;
    for (;;) {
        uint32_t users[LINKS] = {0};
        double least = INFINITY;
        uint32_t full = LINKS;
        for (uint32_t i = 0; i < MESSAGES; i++)
            for (uint32_t k = 0; !fixed[i] && k < m->all[i].n; k++)
                users[m->all[i].links[k]]++;
        for (uint32_t k = 0; k < LINKS; k++)
            if (users[k] && room[k] / users[k] < least) {
                least = room[k] / users[k];
                full = k;
            }
        if (full == LINKS)
            return;
        for (uint32_t i = 0; i < MESSAGES; i++) {
            bool passes = false;
            for (uint32_t k = 0; !fixed[i] && k < m->all[i].n; k++)
                passes = passes || m->all[i].links[k] == full;
            if (!passes)
                continue;
            fixed[i] = true;
            m->all[i].rate = least;
            for (uint32_t k = 0; k < m->all[i].n; k++)
                room[m->all[i].links[k]] -= least;
        }
    }
}

static bool is_blocked(const model *m, const message *one)
{
    for (uint32_t k = 0; k < one->n; k++)
        if (m->bw_Bps[one->links[k]] == 0)
            return true;
    return false;
}

/* Sends a message, or keeps it until its links are there. */
static void send_flow(model *m, uint32_t i)
{
    message *one = &m->all[i];
    one->parked = is_blocked(m, one);
    if (one->parked)
        return;
    one->later = m->c->injection == RLT_INJECT_BLOCKING;
    if (m->c->messages[i].bytes == 0) {
        m->out.injected[i] = m->now;
        one->arrives = true;
        one->arrival = m->now + latency_of(m, one);
        charge(m, one, 0);
    } else if (one->later) {
        one->waits = true;
        one->arrival = m->now + latency_of(m, one);
    } else {
        one->active = true;
    }
}

static void post_flow(model *m, uint32_t i, uint32_t src)
{
    const wanted *w = &m->c->messages[i];
    message *one = &m->all[i];
    *one = (message){.src = src, .dst = (src + w->dst) % HOSTS, .left = (double)w->bytes, .wire = w->bytes};
    find_path(m->c, one);
    send_flow(m, i);
}

/* Whole bytes that a message has carried since it began, or began again. */
static uint64_t carried_by(const message *one)
{
    double bytes = (double)one->wire - one->left;
    return bytes > 0 ? (uint64_t)(bytes + 1e-3) : 0;
}

/* Links change. Messages leave those that fail, with at least a byte left; others begin again. */
static void turn_links(model *m, const turn *t)
{
    for (uint32_t k = 0; k < t->n; k++) {
        const wire *built = &m->c->built[t->links[k]];
        m->bw_Bps[t->links[k]] =
            (uint64_t)nearbyint(nearbyint((double)built->bw_Bps * t->factor) * m->c->bandwidth_scale);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        message *one = &m->all[i];
        bool blocked = is_blocked(m, one);
        if (one->active && blocked) {
            uint64_t carried = carried_by(one);
            carried = carried < one->wire ? carried : one->wire - 1;
            charge(m, one, carried);
            one->left = (double)(one->wire -= carried);
            one->active = false;
            one->stalled = true;
        } else if (one->stalled && !blocked) {
            one->stalled = false;
            one->active = true;
        } else if (one->parked && !blocked) {
            send_flow(m, i);
        }
    }
}

/* Serves all links from one time to another. */
static void serve(model *m, double from, double to)
{
    stretch *s = &m->stretches[m->n_stretches++];
    assert_true(m->n_stretches < STRETCHES);
    *s = (stretch){.from = from, .to = to};
    for (uint32_t i = 0; i < MESSAGES; i++) {
        message *one = &m->all[i];
        for (uint32_t k = 0; one->active && k < one->n; k++)
            s->rate[one->links[k]] += one->rate;
        if (one->active)
            one->left -= one->rate * (to - from);
    }
    for (uint32_t k = 0; k < LINKS; k++)
        if (s->rate[k] > 0) {
            m->active[k] += to - from;
            m->busy[k] += s->rate[k] * (to - from) / ((double)m->bw_Bps[k] * 1e-12);
        }
}

/* A message has got through its links, or its latency is over, before or after. */
static void go_on(model *m, uint32_t i)
{
    message *one = &m->all[i];
    if (one->waits) {
        one->waits = false;
        one->stalled = is_blocked(m, one);
        one->active = !one->stalled;
        return;
    }
    if (one->active) {
        one->active = false;
        one->arrives = true;
        one->arrival = m->now + (one->later ? 0 : latency_of(m, one));
        m->out.injected[i] = m->now;
        charge(m, one, one->wire);
        return;
    }
    one->arrives = false;
    m->out.delivered[i] = one->arrival;
    if (i + CHAINS < MESSAGES)
        post_flow(m, i + CHAINS, one->dst);
}

static void run_flow(model *m)
{
    double now = 0;
    uint32_t turns = 0;
    for (uint32_t k = 0; k < LINKS; k++)
        m->bw_Bps[k] = m->c->wires[k].bw_Bps;
    for (uint32_t i = 0; i < CHAINS; i++)
        post_flow(m, i, m->c->from[i]);
    for (;;) {
        uint32_t next = MESSAGES;
        double then = INFINITY;
        fill_links(m);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            const message *one = &m->all[i];
            double t = one->active                  ? now + one->left / one->rate
                       : one->arrives || one->waits ? (double)one->arrival
                                                    : INFINITY;
            if (t < then) {
                then = t;
                next = i;
            }
        }
        bool turn_first = turns < m->c->n_turns && (double)m->c->turns[turns].at < then;
        then = turn_first ? (double)m->c->turns[turns].at : then;
        if (m->c->until && then > (double)m->c->until) {
            serve(m, now, (double)m->c->until);
            break;
        }
        if (!turn_first && next == MESSAGES)
            break;
        serve(m, now, then);
        now = then;
        m->now = (rlt_time)llround(now);
        if (turn_first)
            turn_links(m, &m->c->turns[turns++]);
        else
            go_on(m, next);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const message *one = &m->all[i];
        for (uint32_t k = 0; one->active && k < one->n; k++)
            m->out.bytes[one->links[k]] += carried_by(one);
        m->out.waits += one->stalled;
    }
}

/* ---- comparison ---- */

/* The times of flows are rounded one by one, and some follow from others. */
static bool is_near(rlt_time a, rlt_time b, rlt_time near)
{
    return a - b <= near && b - a <= near;
}

/* What a link carries meanwhile, at most. */
static double bytes_in(const model *m, uint32_t link, rlt_time near)
{
    return 4 * (double)near * (double)m->c->wires[link].bw_Bps * 1e-12 + MESSAGES;
}

static void assert_same(const model *m, const subject *s, uint64_t seed, rlt_time near)
{
    for (uint32_t i = 0; i < MESSAGES; i++)
        if (!is_near(m->out.injected[i], s->out.injected[i], near) ||
            !is_near(m->out.delivered[i], s->out.delivered[i], near))
            fail_msg("case %llu, message %u of %llu B: %lld and %lld ps, the reference says %lld and %lld",
                     (unsigned long long)seed, i, (unsigned long long)m->c->messages[i].bytes,
                     (long long)s->out.injected[i], (long long)s->out.delivered[i],
                     (long long)m->out.injected[i], (long long)m->out.delivered[i]);
    for (uint32_t k = 0; k < LINKS; k++) {
        double more = (double)m->out.bytes[k] - (double)s->out.bytes[k],
               most = m->c->until || m->c->n_turns ? bytes_in(m, k, near) : 0;
        if (m->out.packets[k] != s->out.packets[k] || fabs(more) > most)
            fail_msg("case %llu, link %u: %llu messages of %llu B, the reference says %llu of %llu",
                     (unsigned long long)seed, k, (unsigned long long)s->out.packets[k],
                     (unsigned long long)s->out.bytes[k], (unsigned long long)m->out.packets[k],
                     (unsigned long long)m->out.bytes[k]);
    }
}

/* How long the links were busy and in use, and how many messages are stalled. */
static void assert_same_use(const model *m, const subject *s, uint64_t seed, rlt_time near)
{
    for (uint32_t k = 0; k < LINKS; k++) {
        double slack = 4 * (double)near + MESSAGES * 1e12 / (double)m->c->built[k].bw_Bps;
        if (fabs(m->active[k] - (double)s->out.active[k]) > MESSAGES * (double)near ||
            fabs(m->busy[k] - (double)s->out.busy[k]) > (m->c->until || m->c->n_turns ? 4 : 1) * slack)
            fail_msg("case %llu, link %u: busy %lld ps of %lld, the reference says %g of %g",
                     (unsigned long long)seed, k, (long long)s->out.busy[k], (long long)s->out.active[k],
                     m->busy[k], m->active[k]);
    }
    if (s->out.waits != m->out.waits)
        fail_msg("case %llu: %u wait, the reference says %u", (unsigned long long)seed,
                 (unsigned)s->out.waits, (unsigned)m->out.waits);
    bool named = s->out.waits == 0;
    for (uint32_t i = 0; i < MESSAGES; i++)
        for (uint32_t k = 0; m->all[i].stalled && k < m->all[i].n; k++) {
            const wire *w = &m->c->wires[m->all[i].links[k]];
            char text[400];
            snprintf(
                text, sizeof text,
                "%u under way wait, such as the message from rank %u to rank %u, for link %u (n%u->n%u), which "
                "has failed",
                (unsigned)m->out.waits, m->all[i].src, m->all[i].dst, m->all[i].links[k], w->src, w->dst);
            named = named || (m->bw_Bps[m->all[i].links[k]] == 0 && strcmp(text, s->out.text) == 0);
        }
    if (!named)
        fail_msg("case %llu: %s", (unsigned long long)seed, s->out.text);
}

/* Each bin has what the stretches that reach into it carried there. */
static void look_at_series(subject *s, void *ctx)
{
    const model *m = ctx;
    const rlt_usage *u = s->net->usage;
    const rlt__flow_net *net = (const rlt__flow_net *)(const void *)s->net;
    assert_int_equal(net->changed.n, 0);
    assert_true(net->messages.n <= CHAINS && net->mm->n_flows <= CHAINS); /* records are used again */
    double width = (double)rlt_usage_bin_ps(u);
    for (uint32_t k = 0; k < LINKS; k++)
        for (uint32_t i = 0, first = 0; i < rlt_usage_bins(u); i++) {
            double lo = i * width, hi = lo + width, sum = 0;
            while (first < m->n_stretches && m->stretches[first].to <= lo)
                first++;
            for (uint32_t j = first; j < m->n_stretches && m->stretches[j].from < hi; j++) {
                const stretch *one = &m->stretches[j];
                sum += one->rate[k] * (fmin(one->to, hi) - fmax(one->from, lo));
            }
            double is = rlt_usage_bin_bytes(u, k, i);
            if (fabs(is - sum) > bytes_in(m, k, m->c->n_turns ? 20000 : 20))
                fail_msg("link %u, bin %u: %g B, the reference says %g", k, i, is, sum);
        }
}

static void compare(void (*run)(model *m), const rlt_net_model *with, rlt_time near)
{
    model *m = malloc(sizeof *m);
    test_case *c = malloc(sizeof *c);
    subject *s = malloc(sizeof *s);
    uint32_t compared = 0;
    assert_true(m && c && s);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        *c = (test_case){0};
        tree_draw(c, &d, true, UINT64_C(1000) << below(&d, 11));
        *m = (model){.c = c};
        for (uint32_t i = 0; i < MESSAGES; i++)
            m->out.injected[i] = m->out.delivered[i] = -1;
        run(m);
        for (int way = 0; way < 3 && !m->tied; way++) {
            *s = (subject){.c = c};
            run_ringlet(s, with, way > 0, way > 1 ? 5000000 : 0);
            assert_same(m, s, seed, near);
        }
        compared += !m->tied;
    }
    assert_true(compared > CASES * 9 / 10);
    free(m);
    free(c);
    free(s);
}

static void alpha_beta(void **state)
{
    (void)state;
    compare(run_alpha_beta, &rlt_net_alpha_beta, 0);
}

static void flow(void **state)
{
    (void)state;
    compare(run_flow, &rlt_net_flow, 20);
}

/* Equal messages at once, latency that comes first, runs that are stopped, and links that fail, change and come
 * back, maybe not all. */
static void draw_more(test_case *c, uint64_t seed, rlt_time end)
{
    static const double factors[] = {0, 0, 0.5, 1, 2};
    dice d = {.seed = seed, .stream = 1};
    for (uint32_t i = 1; i < 4 && below(&d, 2); i++) {
        c->from[i] = c->from[0];
        c->messages[i] = c->messages[0];
    }
    c->injection = below(&d, 2) ? RLT_INJECT_BLOCKING : RLT_INJECT_NIC;
    c->until = below(&d, 2) ? 1 + (rlt_time)roll(&d, (uint64_t)end) : 0;
    c->n_turns = below(&d, 2) ? 1 + below(&d, TURNS) : 0;
    for (uint32_t i = 0; i < c->n_turns; i++) {
        turn *t = &c->turns[i];
        t->at = 1 + (rlt_time)roll(&d, (uint64_t)end);
        t->factor = factors[below(&d, 5)];
        t->n = 1 + below(&d, 3);
        for (uint32_t k = 0; k < t->n; k++)
            t->links[k] = below(&d, LINKS);
        for (uint32_t k = i; k && c->turns[k].at < c->turns[k - 1].at; k--) {
            turn swap = c->turns[k];
            c->turns[k] = c->turns[k - 1];
            c->turns[k - 1] = swap;
        }
    }
    turn *last = c->n_turns && below(&d, 2) ? &c->turns[c->n_turns - 1] : NULL;
    if (last) {
        last->factor = 1;
        for (last->n = 0; last->n < LINKS; last->n++)
            last->links[last->n] = last->n;
    }
}

static void flow_with_changes(void **state)
{
    (void)state;
    static model m;
    static test_case c;
    static subject s;
    uint32_t stalled = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        c = (test_case){0};
        tree_draw(&c, &d, true, UINT64_C(1000) << below(&d, 11));
        rlt_time end = 0;
        for (int go = 0; go < 2; go++) { /* the first one shows how long it takes */
            m = (model){.c = &c};
            for (uint32_t i = 0; i < MESSAGES; i++)
                m.out.injected[i] = m.out.delivered[i] = -1;
            run_flow(&m);
            end = m.now;
            if (go == 0)
                draw_more(&c, seed, end);
        }
        rlt_time near = c.n_turns ? 20000 : 20;
        s = (subject){.c = &c, .look = look_at_series, .ctx = &m};
        run_ringlet(&s, &rlt_net_flow, seed % 2, end / 50 + 1);
        assert_same(&m, &s, seed, near);
        assert_same_use(&m, &s, seed, near);
        stalled += s.out.waits > 0;
    }
    assert_true(stalled > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alpha_beta), cmocka_unit_test(flow),
                                       cmocka_unit_test(flow_with_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
