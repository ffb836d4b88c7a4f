/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Logarithmic algorithms on a crossbar of 20 ps a byte and 1 us, to the picosecond: rounds of an exchange
 * cost alpha + bytes * beta each, whatever they carry (R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 2005).
 */
#include <stdio.h>

#include "test/support.h"

static const rlt_time alpha_ps = 1000000, beta_ps = 20; /* 1 us; 50 GB/s */
static const uint32_t powers[] = {2, 4, 8, 16, 32, 64};
enum { N_POWERS = sizeof powers / sizeof powers[0] };

static rlt_time run(test_net net, rlt_coll_kind kind, uint32_t n, uint64_t bytes)
{
    char topology[64];
    snprintf(topology, sizeof topology, "switch:%u@50GB/s,500ns", n); /* a link up and one down */
    net.topology = topology;
    return test_collective(&net, kind, bytes, NULL).time_ps;
}

static rlt_time chunked(const char *algorithm, rlt_coll_kind kind, uint32_t n, uint64_t bytes,
                        uint32_t chunks)
{
    test_net net = {.model = &rlt_net_flow, .algorithm = algorithm, .chunks = chunks};
    return run(net, kind, n, bytes);
}

/* Whatever the model and the injection rule. */
static void takes(rlt_time expected, const char *algorithm, rlt_coll_kind kind, uint32_t n, uint64_t bytes)
{
    for (int i = 0; i < 4; i++) {
        test_net net = {.model = i / 2 ? &rlt_net_flow : &rlt_net_alpha_beta,
                        .injection = (rlt_injection)(i % 2),
                        .algorithm = algorithm};
        rlt_time t = run(net, kind, n, bytes);
        if (t != expected)
            fail_msg("%s %s of %u: %lld ps, expected %lld", algorithm, rlt_coll_name(kind), n, (long long)t,
                     (long long)expected);
    }
}

static rlt_time log2_of(uint32_t n)
{
    rlt_time rounds = 0;
    while (1u << rounds < n)
        rounds++;
    return rounds;
}

/* 2 log2(n) alpha + 2 (n-1)/n M beta; each half of it half. */
static void halving_doubling(void **state)
{
    (void)state;
    for (int i = 0; i < N_POWERS; i++) {
        uint32_t n = powers[i];
        uint64_t bytes = (uint64_t)n * 65536;
        rlt_time half = log2_of(n) * alpha_ps + (rlt_time)(n - 1) * 65536 * beta_ps;
        takes(2 * half, "halving_doubling", RLT_ALL_REDUCE, n, bytes);
        takes(half, "halving_doubling", RLT_REDUCE_SCATTER, n, bytes);
        takes(half, "halving_doubling", RLT_ALL_GATHER, n, bytes);
        takes(2 * log2_of(n) * alpha_ps, "halving_doubling", RLT_BARRIER, n, 0);
    }
}

/* Three members: the third one's bytes go to the first, which meanwhile gets half a vector from the second;
 * an exchange of halves each way; and all bytes back. 4 alpha + (3/2 + 1/2 + 1/2 + 1) M beta. */
static void extra_member(void **state)
{
    (void)state;
    for (uint64_t half = 1; half < 1 << 24; half = 5 * half + 3)
        takes(4 * alpha_ps + 7 * (rlt_time)half * beta_ps, "halving_doubling", RLT_ALL_REDUCE, 3, 2 * half);
}

/* log2(n) (alpha + M beta); messages that double: log2(n) alpha + (n-1)/n M beta. */
static void recursive_doubling(void **state)
{
    (void)state;
    for (int i = 0; i < N_POWERS; i++) {
        uint32_t n = powers[i];
        uint64_t bytes = 1000003, share = 65537;
        takes(log2_of(n) * (alpha_ps + (rlt_time)bytes * beta_ps), "recursive_doubling", RLT_ALL_REDUCE, n,
              bytes);
        takes(log2_of(n) * alpha_ps + (rlt_time)((n - 1) * share) * beta_ps, "recursive_doubling",
              RLT_ALL_GATHER, n, n * share);
        takes(log2_of(n) * alpha_ps, "recursive_doubling", RLT_BARRIER, n, 0);
    }
}

/* All-to-all: half of all blocks a round, log2(n) (alpha + M/2 beta); at any n ceil(log2(n)) rounds, in round
 * k those whose distance has bit k set; a barrier costs those rounds alone; an all-gather all but the own
 * share. */
static void bruck(void **state)
{
    (void)state;
    const uint64_t share = 12345;
    for (int i = 0; i < N_POWERS; i++) {
        rlt_time half = (rlt_time)(powers[i] / 2 * share) * beta_ps;
        takes(log2_of(powers[i]) * (alpha_ps + half), "bruck", RLT_ALL_TO_ALL, powers[i], powers[i] * share);
    }
    for (uint32_t n = 2; n <= 40; n++) {
        uint64_t hops = 0;
        for (uint32_t d = 1; d < n; d++)
            hops += (uint32_t)__builtin_popcount(d);
        rlt_time rounds = log2_of(n) * alpha_ps;
        takes(rounds + (rlt_time)(hops * share) * beta_ps, "bruck", RLT_ALL_TO_ALL, n, n * share);
        takes(rounds + (rlt_time)((n - 1) * share) * beta_ps, "bruck", RLT_ALL_GATHER, n, n * share);
        takes(rounds, "bruck", RLT_BARRIER, n, 0);
    }
}

/* Nothing to send: as many hops as the trees are deep, floor(log2(n - 1)) + 1, and twice that up and down. */
static void trees_are_shallow(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 40; n++) {
        rlt_time depth = log2_of(n);
        takes(depth * alpha_ps, "tree", RLT_BROADCAST, n, 0);
        takes(depth * alpha_ps, "tree", RLT_REDUCE, n, 0);
        takes(2 * depth * alpha_ps, "tree", RLT_ALL_REDUCE, n, 0);
    }
}

/*
 * c chunks follow each other through d levels, each a stage of M/c beta: whoever passes chunks on does so at
 * half its bandwidth to each of two children. (c + d - 1) M/c beta + d alpha; and both ways, with both
 * directions of all links at work, 2 M beta at most 5 % short (the bytes that most members must send).
 */
static void trees_have_full_bandwidth(void **state)
{
    (void)state;
    const uint64_t bytes = 1 << 24;
    for (uint32_t chunks = 1; chunks <= 64; chunks *= 4) {
        for (int i = 0; i < N_POWERS - 1; i++) {
            rlt_time d = log2_of(powers[i]), stage = (rlt_time)(bytes / chunks) * beta_ps;
            for (int kind = RLT_BROADCAST; kind <= RLT_REDUCE; kind++)
                assert_int_equal(chunked("tree", (rlt_coll_kind)kind, powers[i], bytes, chunks),
                                 (chunks + d - 1) * stage + d * alpha_ps);
        }
    }
    for (uint32_t n = 4; n <= 20; n++) {
        rlt_time least = 2 * (rlt_time)(16 * bytes) * beta_ps;
        rlt_time t = chunked("tree", RLT_ALL_REDUCE, n, 16 * bytes, 128);
        assert_true(t >= least);
        assert_true(t - least <= least / 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_doubling),   cmocka_unit_test(extra_member),
        cmocka_unit_test(recursive_doubling), cmocka_unit_test(bruck),
        cmocka_unit_test(trees_are_shallow),  cmocka_unit_test(trees_have_full_bandwidth),
    };
    return cmocka_run_group_tests_name("closed forms", tests, NULL, NULL);
}
