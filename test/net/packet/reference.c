/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packet model against a second one (test/support/networks/packet_model.h). Every message is injected and
 * delivered at the same picosecond. Every link carries, drops and loses as many packets and bytes. Trains
 * of packets, and a series over time, change nothing.
 */
#include <stdio.h>

#include "net/network.h"
#include "net/packet/internal.h"
#include "net/packet/packet.h"
#include "sim/base/time.h"
#include "test/support/networks/packet_case.h"
#include "test/support/networks/packet_model.h"
#include "test/support/networks/random_tree.h"
#include "test/support/support.h"

enum { CASES = 300 };

/* The report of a stall names the first flow that is not done, and the failed link if there is one. */
static void assert_same_waits(const model *m, const outcome *b)
{
    uint64_t waits = 0;
    char text[200] = "";
    for (uint32_t i = 0; i < m->n_flows; i++) {
        const stream *f = &m->flows[i];
        if (f->expected == f->end)
            continue;
        if (waits++ == 0)
            snprintf(text, sizeof text, "packet %llu of the flow from rank %u to rank %u has not arrived; %s",
                     (unsigned long long)f->expected, f->src, f->dst, f->blocked ? "it waits for link " : "");
        if (waits == 1 && !strstr(b->text, "which has failed") != !f->blocked)
            fail_msg("%s", b->text);
    }
    assert_int_equal(b->waits, waits);
    if (strncmp(b->text, text, strlen(text)) != 0 || !text[0] != !b->text[0])
        fail_msg("%s, the model says %s", b->text, text);
}

/* Until events of one node met, or to the end. */
static void assert_same(const model *m, const subject *s, uint64_t seed)
{
    const outcome *a = &m->out, *b = &s->out;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const rlt_time *one[2] = {a->injected, a->delivered}, *two[2] = {b->injected, b->delivered};
        for (uint32_t k = 0; k < 2; k++)
            if (one[k][i] != two[k][i] && (m->tied < 0 || (one[k][i] >= 0 && one[k][i] < m->tied)))
                fail_msg("case %llu, message %u %s: %lld ps, the reference says %lld ps",
                         (unsigned long long)seed, i, k ? "delivered" : "injected", (long long)two[k][i],
                         (long long)one[k][i]);
    }
    if (m->tied >= 0)
        return;
    assert_int_equal(a->gave_up, b->gave_up);
    if (!a->gave_up) {
        assert_int_equal(a->events, b->events);
        assert_same_waits(m, b);
    }
    for (uint32_t i = 0; i < LINKS && !a->gave_up; i++)
        if (a->packets[i] != b->packets[i] || a->bytes[i] != b->bytes[i] || a->drops[i] != b->drops[i] ||
            a->losses[i] != b->losses[i] || a->marks[i] != b->marks[i])
            fail_msg("case %llu, link %u", (unsigned long long)seed, i);
}

static bool has_marks(const model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < LINKS; i++)
        n += m->out.marks[i];
    return n > 0;
}

static void random_cases_take_the_time_of_the_reference(void **state)
{
    (void)state;
    model *m = malloc(sizeof *m);
    test_case *c = malloc(sizeof *c);
    subject *s = malloc(sizeof *s);
    uint32_t whole = 0, gave_up = 0, lossy = 0, marked = 0, sprayed = 0;
    assert_true(m && c && s);
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        draw_case(c, seed);
        memset(m, 0, sizeof *m);
        m->c = c;
        m->tied = -1;
        run_reference(m);
        for (int way = 0; way < 3; way++) {
            *s = (subject){.c = c};
            run_ringlet(s, &rlt_net_packet, way > 0, way > 1 ? 5000000 : 0);
            assert_same(m, s, seed);
        }
        whole += m->tied < 0;
        lossy += can_lose(&c->set);
        sprayed += c->spray;
        marked += has_marks(m);
        gave_up += m->out.gave_up;
    }
    print_message("# %u cases: %u to the end, %u can lose packets, %u sprayed, %u with marks, %u give up\n",
                  CASES, whole, lossy, sprayed, marked, gave_up);
    assert_true(whole > CASES * 3 / 5 && lossy > CASES / 3 && gave_up > 0);
    assert_true(sprayed > CASES / 10 && marked > CASES / 10);
    free(m);
    free(c);
    free(s);
}

static void look_at_records(subject *s, void *most)
{
    const rlt__packet_net *net = (const rlt__packet_net *)(const void *)s->net;
    uint32_t *n = most;
    *n = net->messages.n > *n ? net->messages.n : *n;
}

/* Chains of long messages: a record is used again when its message has been acknowledged, soon after it was
 * delivered, or at once if nothing is. */
static void records_are_used_again(void **state)
{
    (void)state;
    static test_case c;
    static subject s;
    for (uint64_t ack = 0; ack < 2; ack++) {
        uint32_t most = 0;
        dice d = {.seed = 1};
        c = (test_case){.set = rlt_packet_default()};
        c.set.ack = ack;
        tree_draw(&c, &d, false, 10 * c.set.mtu);
        for (uint32_t i = 0; i < MESSAGES; i++)
            c.messages[i].bytes = 100 * c.set.mtu;
        s = (subject){.c = &c, .look = look_at_records, .ctx = &most};
        run_ringlet(&s, &rlt_net_packet, false, 0);
        assert_in_range(most, CHAINS, ack ? 2 * CHAINS : CHAINS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_cases_take_the_time_of_the_reference),
                                       cmocka_unit_test(records_are_used_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
