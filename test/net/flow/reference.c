/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flow and the alpha-beta model against plain ones, written from net/MODELS.md: flows whose rates are found anew
 * at every event by filling all links evenly; messages that queue at the first and at the last link of their path.
 * Random trees and messages that follow each other (test/support/networks/random_tree.h).
 */
#include <math.h>

#include "net/network.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/random_tree.h"
#include "test/support/support.h"

enum { CASES = 300 };

typedef struct message {
    uint32_t links[LINKS], n, src, dst;
    bool active, arrives; /* drains; is on its way to the end */
    rlt_time arrival;
    double left, rate; /* bytes; bytes a picosecond */
} message;

typedef struct model {
    const test_case *c;
    outcome out;
    message all[MESSAGES];
    rlt_time now, tx_free[LINKS], rx_free[LINKS];
    bool
        tied; /* two messages of alpha-beta reached a port at one instant: their order is not part of the model */
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
        room[k] = (double)m->c->wires[k].bw_Bps * 1e-12;
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

static void post_flow(model *m, uint32_t i, uint32_t src)
{
    const wanted *w = &m->c->messages[i];
    message *one = &m->all[i];
    *one = (message){
        .src = src, .dst = (src + w->dst) % HOSTS, .active = w->bytes > 0, .left = (double)w->bytes};
    find_path(m->c, one);
    if (w->bytes == 0) {
        m->out.injected[i] = m->now;
        one->arrives = true;
        one->arrival = m->now + latency_of(m, one);
    }
    charge(m, one, w->bytes);
}

static void run_flow(model *m)
{
    double now = 0;
    for (uint32_t i = 0; i < CHAINS; i++)
        post_flow(m, i, m->c->from[i]);
    for (;;) {
        uint32_t next = MESSAGES;
        double then = INFINITY;
        fill_links(m);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            const message *one = &m->all[i];
            double t = one->active    ? now + one->left / one->rate
                       : one->arrives ? (double)one->arrival
                                      : INFINITY;
            if (t < then) {
                then = t;
                next = i;
            }
        }
        if (next == MESSAGES)
            return;
        for (uint32_t i = 0; i < MESSAGES; i++)
            if (m->all[i].active)
                m->all[i].left -= m->all[i].rate * (then - now);
        message *one = &m->all[next];
        now = then;
        m->now = (rlt_time)llround(now);
        if (one->active) { /* its last byte is on its way */
            one->active = false;
            one->arrives = true;
            one->arrival = m->now + latency_of(m, one);
            m->out.injected[next] = m->now;
        } else {
            one->arrives = false;
            m->out.delivered[next] = one->arrival;
            if (next + CHAINS < MESSAGES)
                post_flow(m, next + CHAINS, one->dst);
        }
    }
}

/* ---- comparison ---- */

/* The times of flows are rounded one by one, and some follow from others. */
static bool is_near(rlt_time a, rlt_time b, rlt_time near)
{
    return a - b <= near && b - a <= near;
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
    for (uint32_t k = 0; k < LINKS; k++)
        if (m->out.packets[k] != s->out.packets[k] || m->out.bytes[k] != s->out.bytes[k])
            fail_msg("case %llu, link %u: %llu messages of %llu B, the reference says %llu of %llu",
                     (unsigned long long)seed, k, (unsigned long long)s->out.packets[k],
                     (unsigned long long)s->out.bytes[k], (unsigned long long)m->out.packets[k],
                     (unsigned long long)m->out.bytes[k]);
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
        tree_draw(c, &d, true, 1000 << below(&d, 11));
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(alpha_beta), cmocka_unit_test(flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
