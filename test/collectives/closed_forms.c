/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Closed forms of algorithms on a crossbar, to the picosecond: alpha for a message, beta for a byte at a port
 * (Hockney's model). Sources:
 *   [TRG]   R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of Collective Communication Operations in
 *           MPICH", IJHPCA 2005
 *   [Chan]  E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn: "Collective communication: theory,
 *           practice, and experience", CCPE 2007
 *   [PY]    P. Patarasuk, X. Yuan: "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 *           JPDC 2009
 *   [Bruck] J. Bruck et al.: "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing
 *           Systems", IEEE TPDS 1997
 * Where a formula holds for fewer bytes, members or only one injection rule, its function says so.
 */
#include <stdio.h>

#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "sim/base/time.h"
#include "test/support/support.h"

/* 10 us: the largest of the small sizes, 48 KiB, takes a tenth of it; 50 GB/s. */
static const rlt_time alpha_ps = 10000000, beta_ps = 20;
static const uint32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 32, 48, 64};
static const uint32_t powers[] = {2, 4, 8, 16, 32, 64};
enum { N_SIZES = sizeof sizes / sizeof sizes[0], N_POWERS = sizeof powers / sizeof powers[0] };
enum { CHUNKS = 4 }; /* pieces of the chains */

typedef struct input {
    uint32_t n, servers;
    uint64_t bytes; /* a multiple of n, of the powers of two up to n, of CHUNKS and of 3 */
    bool blocking;
} input;

static rlt_time run(test_net net, rlt_coll_kind kind, uint32_t n, uint64_t bytes)
{
    char topology[64];
    snprintf(topology, sizeof topology, "switch:%u@50GB/s,5us", n); /* a link up and one down */
    net.topology = topology;
    return test_collective(&net, kind, bytes, NULL).time_ps;
}

static uint32_t floor_log2(uint32_t n)
{
    uint32_t rounds = 0;
    while (n >>= 1)
        rounds++;
    return rounds;
}

static uint32_t ceil_log2(uint32_t n)
{
    return n > 1 ? floor_log2(n - 1) + 1 : 0;
}

static bool is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static rlt_time cost(uint64_t messages, uint64_t bytes)
{
    return (rlt_time)messages * alpha_ps + (rlt_time)bytes * beta_ps;
}

enum { NONE = -1 };

/* Rings: n - 1 steps of M/n for each half [PY], [TRG]. */
static rlt_time ring_half(const input *x)
{
    return (x->n - 1) * cost(1, x->bytes / x->n);
}
static rlt_time ring_both(const input *x)
{
    return 2 * ring_half(x);
}
/* Phase s moves n - 1 - s blocks one place on. */
static rlt_time ring_all_to_all(const input *x)
{
    return cost(x->n - 1, (uint64_t)x->n * (x->n - 1) / 2 * (x->bytes / x->n));
}
/* A chain of C pieces takes as many stages as members and pieces, [Chan] 4.4. Blocking senders wait for each
 * stage. */
static rlt_time chain(const input *x)
{
    uint64_t stages = CHUNKS + x->n - 2;
    return cost(x->blocking ? stages : x->n - 1, stages * (x->bytes / CHUNKS));
}

/* Everything at once: one latency, and the bytes of the busiest port. */
static rlt_time one_round(const input *x)
{
    return cost(1, (x->n - 1) * (x->bytes / x->n));
}
static rlt_time two_rounds(const input *x)
{
    return 2 * one_round(x);
}
static rlt_time whole_vectors(const input *x)
{
    return cost(1, (x->n - 1) * x->bytes);
}

/* n - 1 rounds of exchanges [TRG]. */
static rlt_time rounds(const input *x)
{
    return cost(x->n - 1, (x->n - 1) * (x->bytes / x->n));
}
static rlt_time rounds_twice(const input *x)
{
    return 2 * rounds(x);
}

/* Most bits in which two numbers below e can differ. */
static uint32_t most_bits_apart(uint32_t e)
{
    return e > 1 ? floor_log2(e - 1) + 1 : 0;
}

/*
 * Recursive doubling [TRG] 4.1: log2(n) (alpha + M beta). For other n = p + e, extra members first send their
 * vector to a core member and receive the sum at the end. A vector from u to v crosses alpha for each bit in
 * which u and v differ, and M beta in each of the core's log2(p) exchanges. So the last to end is a core
 * member far from a folded one, or an extra member whose core member is far from another folded one. Small M:
 * ports are free.
 */
static rlt_time doubling(const input *x)
{
    uint32_t rounds_of_core = floor_log2(x->n), e = x->n - (1u << rounds_of_core);
    rlt_time plain = rounds_of_core * cost(1, x->bytes);
    if (e == 0)
        return plain;
    if (x->blocking || cost(0, 10 * x->bytes) > alpha_ps)
        return NONE;
    rlt_time core = plain + cost(1, x->bytes);
    rlt_time extra = cost(2 + most_bits_apart(e), (2 + rounds_of_core) * x->bytes);
    return core > extra ? core : extra;
}
/* Doubling messages, [TRG] 3.1. For other n, only the latency of the same paths. */
static rlt_time doubling_gather(const input *x)
{
    uint32_t core = floor_log2(x->n), e = x->n - (1u << core), apart = 2 + most_bits_apart(e);
    if (e && (x->bytes || x->blocking))
        return NONE;
    return e ? cost(apart > core + 1 ? apart : core + 1, 0) : cost(core, (x->n - 1) * (x->bytes / x->n));
}

/*
 * Halving and doubling (Rabenseifner), [TRG] 4.2: 2 log2(n) alpha + 2 (n-1)/n M beta. For other n = p + e, a
 * sum can come back through all exchanges of the core to the member into which it was folded: 2 alpha + 2 M
 * beta more. If e is odd, the first partner of the last folded member waits for nothing: its M/2 take the
 * port first. Small M: no other messages meet.
 */
static rlt_time halving(const input *x)
{
    uint32_t core = floor_log2(x->n), p = 1u << core, e = x->n - p;
    uint64_t moved = 2 * (p - 1) * (x->bytes / p);
    if (e == 0)
        return cost(2 * core, moved);
    if (cost(0, 10 * x->bytes) > alpha_ps)
        return NONE;
    return cost(2 * core + 2, moved + 2 * x->bytes + e % 2 * (x->bytes / 2));
}
/* Half of it. For other n, only the latency, as in recursive doubling. */
static rlt_time halving_half(const input *x)
{
    return doubling_gather(x);
}

/* ceil(log2(n)) rounds at any n [Bruck]: an all-to-all moves each block as often as its distance has bits. */
static rlt_time bruck_gather(const input *x)
{
    return cost(ceil_log2(x->n), (x->n - 1) * (x->bytes / x->n));
}
static rlt_time bruck_all_to_all(const input *x)
{
    uint64_t hops = 0;
    for (uint32_t d = 1; d < x->n; d++)
        hops += (uint32_t)__builtin_popcount(d);
    return cost(ceil_log2(x->n), hops * (x->bytes / x->n));
}

/* Zero bytes: as many hops as the trees are deep, and twice that for up and down. */
static rlt_time depth(const input *x)
{
    return x->bytes ? NONE : cost(ceil_log2(x->n), 0);
}
static rlt_time depth_twice(const input *x)
{
    return 2 * depth(x);
}
/*
 * Halving the remainder, [Chan] 4.1: ceil(log2(n)) alpha + (n-1)/n M beta if everyone waits until its half
 * has arrived. Otherwise the half that stays does not pay alpha, and the longer of the two ends last.
 */
static rlt_time halves(uint32_t n, rlt_time block)
{
    if (n == 1)
        return 0;
    rlt_time there = alpha_ps + halves(n / 2, block), here = halves(n - n / 2, block);
    return n / 2 * block + (there > here ? there : here);
}
static rlt_time binomial_scatter(const input *x)
{
    uint64_t block = x->bytes / x->n;
    return x->blocking ? cost(ceil_log2(x->n), (x->n - 1) * block) : halves(x->n, (rlt_time)block * beta_ps);
}
/* The reverse; no member has two messages to send. */
static rlt_time binomial_gather(const input *x)
{
    return halves(x->n, (rlt_time)(x->bytes / x->n) * beta_ps);
}

/* m parameter servers: n - 1 messages of M/m enter each server's port, and leave it. */
static rlt_time served(const input *x)
{
    return 2 * cost(1, (x->n - 1) * (x->bytes / x->servers));
}
/* One server, the last member. The root is the first member, and the only one to pull, or to push. */
static rlt_time served_reduce(const input *x)
{
    return cost(2, x->n * x->bytes);
}
static rlt_time served_broadcast(const input *x)
{
    return x->n == 2 ? cost(1, x->bytes) : cost(2, (x->n - 1) * x->bytes);
}

static rlt_time message(const input *x)
{
    return x->n == 2 ? cost(1, x->bytes) : NONE;
}

/* whether fair sharing gives the same time: always; at powers of two; not */
enum flow { SAME, POWERS, OTHER };

static const struct closed_form {
    const char *algorithm;
    rlt_coll_kind kind;
    rlt_time (*form)(const input *);
    enum flow flow;
    uint32_t servers;
} table[] = {
    {"ring", RLT_ALL_REDUCE, ring_both, SAME, 0},
    {"ring", RLT_REDUCE_SCATTER, ring_half, SAME, 0},
    {"ring", RLT_ALL_GATHER, ring_half, SAME, 0},
    {"ring", RLT_ALL_TO_ALL, ring_all_to_all, SAME, 0},
    {"ring", RLT_BROADCAST, chain, SAME, 0},
    {"ring", RLT_REDUCE, chain, SAME, 0},
    {"ring", RLT_BARRIER, ring_both, SAME, 0},
    {"ring", RLT_GATHER, ring_half, SAME, 0},
    {"ring", RLT_SCATTER, ring_half, SAME, 0},
    {"direct", RLT_ALL_REDUCE, two_rounds, SAME, 0},
    {"direct", RLT_REDUCE_SCATTER, one_round, SAME, 0},
    {"direct", RLT_ALL_GATHER, one_round, SAME, 0},
    {"direct", RLT_ALL_TO_ALL, one_round, SAME, 0},
    {"direct", RLT_BROADCAST, whole_vectors, SAME, 0},
    {"direct", RLT_REDUCE, whole_vectors, SAME, 0},
    {"direct", RLT_BARRIER, one_round, SAME, 0},
    {"direct", RLT_GATHER, one_round, SAME, 0},
    {"direct", RLT_SCATTER, one_round, SAME, 0},
    {"pairwise", RLT_ALL_REDUCE, rounds_twice, SAME, 0},
    {"pairwise", RLT_REDUCE_SCATTER, rounds, SAME, 0},
    {"pairwise", RLT_ALL_GATHER, rounds, SAME, 0},
    {"pairwise", RLT_ALL_TO_ALL, rounds, SAME, 0},
    {"pairwise", RLT_BARRIER, rounds, SAME, 0},
    {"halving_doubling", RLT_ALL_REDUCE, halving, POWERS, 0},
    {"halving_doubling", RLT_REDUCE_SCATTER, halving_half, SAME, 0},
    {"halving_doubling", RLT_ALL_GATHER, halving_half, SAME, 0},
    {"halving_doubling", RLT_BARRIER, halving, SAME, 0},
    {"recursive_doubling", RLT_ALL_REDUCE, doubling, POWERS, 0},
    {"recursive_doubling", RLT_ALL_GATHER, doubling_gather, SAME, 0},
    {"recursive_doubling", RLT_BARRIER, doubling, SAME, 0},
    {"bruck", RLT_ALL_TO_ALL, bruck_all_to_all, SAME, 0},
    {"bruck", RLT_ALL_GATHER, bruck_gather, SAME, 0},
    {"bruck", RLT_BARRIER, bruck_gather, SAME, 0},
    {"tree", RLT_ALL_REDUCE, depth_twice, SAME, 0},
    {"tree", RLT_BROADCAST, depth, SAME, 0},
    {"tree", RLT_REDUCE, depth, SAME, 0},
    {"tree", RLT_GATHER, binomial_gather, POWERS, 0},
    {"tree", RLT_SCATTER, binomial_scatter, POWERS, 0},
    {"ps", RLT_ALL_REDUCE, served, SAME, 1},
    {"ps", RLT_ALL_REDUCE, served, SAME, 2},
    {"ps", RLT_ALL_REDUCE, served, SAME, 3},
    {"ps", RLT_ALL_REDUCE, served, SAME, UINT32_MAX}, /* all members */
    {"ps", RLT_REDUCE, served_reduce, SAME, 1},
    {"ps", RLT_BROADCAST, served_broadcast, SAME, 1},
    {"ps", RLT_BARRIER, served, SAME, 1},
    {"point_to_point", RLT_SEND_RECV, message, SAME, 0},
};

static bool any_root(const struct closed_form *f)
{
    return f->servers == 0;
}

/* Tests both injection rules, and both network models if they must agree. Returns true if there is a
 * formula. */
static bool holds(const struct closed_form *f, uint32_t n, uint64_t bytes)
{
    bool known = false;
    for (int i = 0; i < 4; i++) {
        bool flow = i / 2;
        input x = {.n = n, .bytes = f->kind == RLT_BARRIER ? 0 : bytes, .blocking = i % 2};
        x.servers = f->servers < n ? f->servers : n;
        rlt_time expected = f->form(&x);
        if (expected < 0 || (flow && (f->flow == OTHER || (f->flow == POWERS && !is_power(n)))))
            continue;
        test_net net = {.model = flow ? &rlt_net_flow : &rlt_net_alpha_beta,
                        .injection = (rlt_injection)x.blocking,
                        .algorithm = f->algorithm,
                        .servers = x.servers,
                        .root = rlt_coll_rooted(f->kind) && any_root(f) ? n / 2 : 0};
        if (f->form == chain)
            net.chunks = CHUNKS;
        rlt_time t = run(net, f->kind, n, x.bytes);
        if (t != expected)
            fail_msg("%s %s of %u, %llu bytes, network %s, %s, %u servers: %lld ps, expected %lld",
                     f->algorithm, rlt_coll_name(f->kind), n, (unsigned long long)x.bytes, net.model->name,
                     x.blocking ? "blocking" : "nic", x.servers, (long long)t, (long long)expected);
        known = true;
    }
    return known;
}

static void table_holds(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof table / sizeof table[0]; f++) {
        bool known = false;
        for (int i = 0; i < N_SIZES; i++) {
            uint32_t n = sizes[i];
            uint64_t unit = (uint64_t)n * (1u << floor_log2(n)) * 12; /* up to 48 KiB */
            known |= holds(&table[f], n, 0);
            known |= holds(&table[f], n, unit);
            known |= holds(&table[f], n, unit * 997);
        }
        assert_true(known);
    }
}

/* Three members. The third one's bytes go to the first, which meanwhile receives half a vector from the
 * second. Then an exchange of halves each way, and all bytes back: 4 alpha + (3/2 + 1/2 + 1/2 + 1) M beta for
 * any M. */
static void three_members(void **state)
{
    (void)state;
    test_net net = {.model = &rlt_net_alpha_beta, .algorithm = "halving_doubling"};
    for (uint64_t half = 1; half < 1 << 24; half = 5 * half + 3)
        assert_int_equal(run(net, RLT_ALL_REDUCE, 3, 2 * half), cost(4, 7 * half));
}

/*
 * c chunks follow each other through d levels, each a stage of M/c beta: a member passes chunks on at half
 * its bandwidth to each of two children. Time (c + d - 1) M/c beta + d alpha. All-reduce uses both directions
 * of all links: at most 5 % above 2 M beta, the time of the bytes that most members must send.
 */
static void trees_have_full_bandwidth(void **state)
{
    (void)state;
    const uint64_t bytes = 1 << 24;
    test_net net = {.model = &rlt_net_flow, .algorithm = "tree"};
    for (net.chunks = 1; net.chunks <= 64; net.chunks *= 4) {
        for (int i = 0; i < N_POWERS - 1; i++) {
            uint32_t d = floor_log2(powers[i]);
            for (int kind = RLT_BROADCAST; kind <= RLT_REDUCE; kind++)
                assert_int_equal(run(net, (rlt_coll_kind)kind, powers[i], bytes),
                                 cost(d, (net.chunks + d - 1) * (bytes / net.chunks)));
        }
    }
    net.chunks = 128;
    for (uint32_t n = 4; n <= 20; n++) {
        rlt_time least = cost(0, 2 * 64 * bytes), t = run(net, RLT_ALL_REDUCE, n, 64 * bytes);
        assert_true(t >= least);
        assert_true(t - least <= least / 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_holds),
        cmocka_unit_test(three_members),
        cmocka_unit_test(trees_have_full_bandwidth),
    };
    return cmocka_run_group_tests_name("closed forms", tests, NULL, NULL);
}
