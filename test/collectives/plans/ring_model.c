/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ring against a plain plan, written from the head of its file: natural and given orders, both directions, roots,
 * pieces and counts, every field of every step but those of all-to-all, which rings are proved for elsewhere. Rings
 * that step to the same member take its parallel links in turn.
 */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/plain_plan.h"

enum { CASES = 3000, MAX_N = 9, RINGS = 3 };

static plain_plan plain;
static uint64_t counts[MAX_N];
static uint32_t orders[RINGS][MAX_N];
static const uint32_t *const rings[RINGS] = {orders[0], orders[1], orders[2]};

static struct {
    rlt_coll_request r;
    uint32_t n, lane, directions, pieces;
    uint32_t seq[MAX_N]; /* the member at each position of the lane */
} c;

static void message(uint32_t from, uint32_t k, uint32_t j, uint32_t block, uint32_t blocks, bool reduce)
{
    rlt_step *s = plain_message(&plain, c.lane, c.seq[from % c.n], k, c.seq[(from + 1) % c.n], j);
    uint64_t bytes = c.r.counts ? counts[block] : plain_cut(c.r.bytes, blocks, block);
    s->send = s->land = plain_run(block, 1);
    s->send_bytes = plain_cut(bytes, plain.lanes, c.lane);
    s->reduce = reduce;
}

/* Blocks go round: once to be added up, once to be spread. */
static void circulate(bool adds, bool spreads)
{
    uint32_t half = c.n - 1, k = 0;
    for (uint32_t i = 0; i < half && adds; i++, k++)
        for (uint32_t e = 0; e < c.n; e++)
            message(e, k, k, c.seq[(e + 2 * c.n - 1 - i) % c.n], c.n, true);
    for (uint32_t i = 0; i < half && spreads; i++, k++)
        for (uint32_t e = 0; e < c.n; e++)
            message(e, k, k, c.seq[(e + 2 * c.n - i) % c.n], c.n, false);
}

/* The chain from the root, or to it: place p is at position `first` + p. */
static void chain(uint32_t first)
{
    bool shares = c.r.kind == RLT_SCATTER || c.r.kind == RLT_GATHER;
    for (uint32_t p = 0; p + 1 < c.n; p++) {
        uint32_t many = c.r.kind == RLT_SCATTER ? c.n - 1 - p : c.r.kind == RLT_GATHER ? p + 1 : c.pieces;
        for (uint32_t j = 0; j < many; j++) {
            /* a member passes on what came in the step before; in a gather its own goes first */
            uint32_t k = p == 0 || c.r.kind == RLT_GATHER ? j : j + 1;
            uint32_t place = c.r.kind == RLT_SCATTER ? c.n - 1 - j : p - j;
            uint32_t block = shares ? c.seq[(first + place) % c.n] : j;
            message(first + p, k, j, block, shares ? c.n : c.pieces, c.r.kind == RLT_REDUCE);
        }
    }
}

static uint32_t next_of(uint32_t directed, uint32_t member)
{
    const uint32_t *order = orders[directed / c.directions];
    uint32_t at = 0, step = directed % c.directions ? c.n - 1 : 1;
    while (order[at] != member)
        at++;
    return order[(at + step) % c.n];
}

/* A member's turn on a directed ring: how many before it step to the same member. */
static void take_turns(uint32_t directed)
{
    for (uint32_t m = 0; m < c.n; m++)
        for (uint32_t k = 0; k < plain.steps[m][c.lane]; k++)
            for (uint32_t e = 0; e < directed; e++)
                if (next_of(e, m) == next_of(directed, m))
                    plain.at[m][c.lane][k].turn++;
}

static void plain_lane(uint32_t chunks, bool natural)
{
    uint32_t way = c.lane / chunks % c.directions, at = 0, channel = c.lane / chunks / c.directions;
    uint32_t ring = c.r.n_rings ? channel % c.r.n_rings : 0;
    for (uint32_t e = 0; e < c.n; e++)
        c.seq[e] = orders[ring][way ? c.n - 1 - e : e];
    while (c.seq[at] != c.r.root)
        at++;
    if (c.r.kind == RLT_BROADCAST || c.r.kind == RLT_SCATTER)
        chain(at);
    else if (rlt_coll_rooted(c.r.kind))
        chain(at + 1);
    else
        circulate(c.r.kind != RLT_ALL_GATHER, c.r.kind != RLT_REDUCE_SCATTER);
    if (!natural)
        take_turns(ring * c.directions + way);
}

static bool draw_rings(dice *d)
{
    bool natural = true;
    for (uint32_t r = 0; r < RINGS; r++)
        for (uint32_t i = 0; i < c.n; i++)
            orders[r][i] = i;
    c.r.n_rings = below(d, 2) ? 0 : 1 + below(d, RINGS);
    c.r.rings = c.r.n_rings ? rings : NULL;
    for (uint32_t r = 0; r < c.r.n_rings; r++)
        for (uint32_t i = below(d, 3) ? c.n : 0; i > 1; i--) {
            uint32_t other = below(d, i), swap = orders[r][other];
            orders[r][other] = orders[r][i - 1];
            orders[r][i - 1] = swap;
        }
    for (uint32_t r = 0; r < c.r.n_rings; r++)
        for (uint32_t i = 0; i < c.n; i++)
            natural = natural && orders[r][i] == i;
    return natural;
}

static void one_case(uint32_t number)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_REDUCE_SCATTER, RLT_ALL_GATHER, RLT_BARRIER,
                                          RLT_BROADCAST,  RLT_REDUCE,         RLT_SCATTER,    RLT_GATHER};
    dice d = {.seed = number};
    rlt_plan plan;
    rlt_error err = {0};
    uint32_t sizes[RLT_MAX_TRANSLATIONS];
    memset(&c, 0, sizeof c);
    c.r.kind = kinds[below(&d, 8)];
    c.n = c.r.n = 2 + below(&d, MAX_N - 1);
    c.r.root = below(&d, c.n);
    c.r.bytes = c.r.kind == RLT_BARRIER ? 0 : roll(&d, below(&d, 2) ? 60 : 100000);
    bool natural = draw_rings(&d), pieces = c.r.kind == RLT_BROADCAST || c.r.kind == RLT_REDUCE;
    plain_draw_counts(&d, &rlt_ring, &c.r, counts, c.n);
    c.r.params.channels = below(&d, 4);
    c.r.params.chunks = below(&d, 4);
    c.r.params.directions = below(&d, 3);
    c.directions = c.r.params.directions ? c.r.params.directions : 1;
    c.pieces = c.r.params.chunks ? c.r.params.chunks : 1;
    uint32_t channels = c.r.params.channels ? c.r.params.channels : c.r.n_rings ? c.r.n_rings : 1;
    uint32_t chunks = pieces ? 1 : c.pieces;
    plain_clear(&plain, c.n, channels * c.directions * chunks);
    for (c.lane = 0; c.lane < plain.lanes; c.lane++)
        plain_lane(chunks, natural);
    if (rlt_plan_create(&rlt_ring, &c.r, &plan, &err))
        fail_msg("%s: %s", err.where, err.what);
    plain_compare(&plain, &plan);
    bool turns = natural && !rlt_coll_rooted(c.r.kind);
    assert_int_equal(rlt_ring.symmetry(&plan, sizes), turns);
    assert_true(!turns || sizes[0] == c.n);
    assert_int_equal(rlt_ring.alike(&plan), !rlt_coll_rooted(c.r.kind));
    assert_int_equal(rlt_ring.relays(&plan), !rlt_coll_rooted(c.r.kind));
    rlt_plan_free(&plan);
}

static void as_stated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        one_case(i);
}

/* Turns are counted for up to 128 directed rings; an order names each member once. */
static void many_rings(void **state)
{
    static const uint32_t back[] = {2, 1, 0}, twice[] = {0, 2, 0}, far[] = {0, 1, 3};
    const uint32_t *list[65];
    (void)state;
    for (uint32_t i = 0; i < 65; i++)
        list[i] = back;
    for (uint32_t n = 64; n <= 65; n++) {
        rlt_coll_request r = {.kind = RLT_ALL_REDUCE, .n = 3, .bytes = 3000, .n_rings = n, .rings = list};
        rlt_plan plan;
        rlt_error err = {0};
        r.params.directions = 2;
        assert_int_equal(rlt_plan_create(&rlt_ring, &r, &plan, &err), 0);
        for (uint32_t lane = 0; lane < plan.lanes; lane++) {
            rlt_step s;
            rlt_step_clear(&s);
            rlt_ring.step(&plan, 1, lane, 0, &s);
            assert_int_equal(s.turn, n == 64 ? lane / 2 : 0);
        }
        rlt_plan_free(&plan);
    }
    for (uint32_t i = 0; i < 2; i++) {
        rlt_coll_request r = {.kind = RLT_ALL_REDUCE, .n = 3, .bytes = 3000, .n_rings = 2, .rings = list};
        rlt_plan plan;
        rlt_error err = {0};
        list[1] = i ? far : twice;
        assert_int_equal(rlt_plan_create(&rlt_ring, &r, &plan, &err), RLT_ETOPOLOGY);
        assert_non_null(strstr(err.what, "ring order 1 is not a permutation of the 3 members"));
    }
}

/* Each channel takes a ring of its own, so more rings than lanes are of no use, even with fewer channels. */
static void rings_have_a_limit(void **state)
{
    static const uint32_t back[] = {2, 1, 0};
    static const uint32_t *list[RLT_MAX_LANES + 1];
    (void)state;
    for (uint32_t i = 0; i <= RLT_MAX_LANES; i++)
        list[i] = back;
    for (uint32_t n = RLT_MAX_LANES; n <= RLT_MAX_LANES + 1; n++) {
        rlt_coll_request r = {.kind = RLT_ALL_REDUCE, .n = 3, .bytes = 3000, .n_rings = n, .rings = list};
        rlt_plan plan;
        rlt_error err = {0};
        r.params.channels = 1;
        assert_int_equal(rlt_plan_create(&rlt_ring, &r, &plan, &err), n > RLT_MAX_LANES ? RLT_ERANGE : 0);
        assert_string_equal(err.where, n > RLT_MAX_LANES ? "ring" : "");
        assert_string_equal(err.what,
                            n > RLT_MAX_LANES ? "4097 ring orders are too many; the limit is 4096" : "");
        if (n <= RLT_MAX_LANES)
            rlt_plan_free(&plan);
    }
}

/* Rings over nodes are in closed form while 4096 lanes of their members have a number below 2^31. */
static void closed_form_of_nodes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t n = i ? 1 << 19 : (1 << 19) - 4;
        rlt_coll_request r = {.kind = RLT_ALL_REDUCE, .n = n, .node = 2, .bytes = n};
        rlt_plan plan;
        rlt_error err = {0};
        assert_int_equal(rlt_plan_create(&rlt_ring, &r, &plan, &err), 0);
        assert_int_equal(plan.shared, i == 0);
        rlt_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_stated), cmocka_unit_test(many_rings),
                                       cmocka_unit_test(rings_have_a_limit),
                                       cmocka_unit_test(closed_form_of_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
