/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The aggregator of a switch: single transitions as the published protocols define them; shares of several
 * jobs; memory and occupancy by hand; random schedules on real sums. Whatever is lost, duplicated or
 * reordered, every worker gets every sum once, and it is correct.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/aggregation/aggregator.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/random.h"
#include "sim/base/time.h"

enum { VALUES = 2 };

static rlt_aggregator *make(rlt_aggregator_config cfg)
{
    rlt_aggregator *a = NULL;
    rlt_error err = {0};
    if (!cfg.width)
        cfg.width = 8;
    if (!cfg.payload)
        cfg.payload = 256;
    if (rlt_aggregator_create(&cfg, &a, &err))
        fail_msg("%s: %s", err.where, err.what);
    return a;
}

static uint32_t admit(rlt_aggregator *a, rlt_agg_job want, uint32_t slots)
{
    uint32_t job, got;
    rlt_agg_refusal why;
    assert_int_equal(rlt_aggregator_admit(a, &want, &job, &why, &got, NULL), 0);
    assert_int_equal(why, RLT_AGG_GRANTED);
    assert_int_equal(got, slots);
    return job;
}

static rlt_agg_verdict send_at(rlt_aggregator *a, rlt_agg_packet p, rlt_time now)
{
    rlt_agg_verdict v;
    rlt_aggregator_packet(a, &p, now, &v);
    return v;
}

static rlt_agg_action data(rlt_aggregator *a, uint32_t job, uint32_t child, uint32_t chunk, uint32_t window)
{
    return send_at(a,
                   (rlt_agg_packet){.job = job,
                                    .child = child,
                                    .chunk = chunk,
                                    .slot = chunk % window,
                                    .version = chunk / window & 1},
                   0)
        .action;
}

static void test_pool(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .slots = 4});
    uint32_t j = admit(a, (rlt_agg_job){.need = 3, .slots = 2, .root = true}, 2);
    assert_int_equal(data(a, j, 0, 0, 2), RLT_AGG_HOLD);
    assert_int_equal(data(a, j, 0, 0, 2), RLT_AGG_DROP); /* duplicate */
    assert_int_equal(data(a, j, 1, 0, 2), RLT_AGG_HOLD);
    assert_int_equal(data(a, j, 2, 0, 2), RLT_AGG_MULTICAST);
    assert_int_equal(data(a, j, 1, 0, 2), RLT_AGG_UNICAST); /* its copy was lost: answered from the shadow */
    assert_int_equal(data(a, j, 0, 2, 2), RLT_AGG_HOLD);    /* the other version */
    assert_int_equal(data(a, j, 1, 0, 2), RLT_AGG_UNICAST); /* the shadow is still there */
    assert_int_equal(data(a, j, 0, 0, 2), RLT_AGG_DROP);    /* stale: 0 has gone on */
    assert_int_equal(data(a, j, 1, 2, 2), RLT_AGG_HOLD);
    assert_int_equal(data(a, j, 2, 2, 2), RLT_AGG_MULTICAST);
    assert_int_equal(data(a, j, 2, 4, 2), RLT_AGG_HOLD); /* the first version again */
    assert_int_equal(data(a, j, 2, 0, 2), RLT_AGG_DROP);
    assert_int_equal(data(a, j, 0, 9, 32), RLT_AGG_DROP); /* a slot of another job */
    rlt_agg_counts c = rlt_aggregator_counts(a, j);
    assert_int_equal(c.packets, 13);
    assert_int_equal(c.contributions, 7);
    assert_int_equal(c.completions, 2);
    assert_int_equal(c.duplicates, 3);
    assert_int_equal(c.unicasts, 2);
    assert_int_equal(c.stale, 2);
    assert_int_equal(c.refused, 1);
    assert_int_equal(rlt_aggregator_unfinished(a), 1);
    assert_int_equal(rlt_aggregator_release(a, j, 0), 1);
    assert_int_equal(rlt_aggregator_unfinished(a), 0);
    rlt_aggregator_free(a);
}

/* A switch below another one: a retransmission before the result is dropped, or goes up again (reemit). */
static void test_pool_below(void **state)
{
    (void)state;
    for (int reemit = 0; reemit < 2; reemit++) {
        rlt_aggregator *a =
            make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .slots = 1, .reemit = reemit != 0});
        uint32_t j = admit(a, (rlt_agg_job){.need = 2, .slots = 1}, 1);
        rlt_agg_packet result = {.kind = RLT_AGG_RESULT, .job = j};
        assert_int_equal(data(a, j, 0, 0, 1), RLT_AGG_HOLD);
        assert_int_equal(send_at(a, result, 0).action, RLT_AGG_DROP); /* result of another chunk */
        assert_int_equal(data(a, j, 1, 0, 1), RLT_AGG_UP);
        assert_int_equal(data(a, j, 0, 0, 1), reemit ? RLT_AGG_UP : RLT_AGG_DROP);
        assert_int_equal(send_at(a, result, 0).action, RLT_AGG_MULTICAST);
        assert_int_equal(send_at(a, result, 0).action, RLT_AGG_DROP);
        assert_int_equal(data(a, j, 0, 0, 1), RLT_AGG_UNICAST);
        rlt_aggregator_free(a);
    }
}

static rlt_agg_verdict hashed(rlt_aggregator *a, uint32_t job, uint32_t child, uint32_t chunk, uint32_t slot,
                              bool resend)
{
    return send_at(
        a, (rlt_agg_packet){.job = job, .child = child, .chunk = chunk, .slot = slot, .resend = resend}, 0);
}

static void test_hash(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){
        .mode = RLT_SLOTS_HASH, .sharing = RLT_SHARE_DYNAMIC, .slots = 4, .preempt = true});
    uint32_t j = admit(a, (rlt_agg_job){.need = 2, .root = true}, 4);
    uint32_t k = admit(a, (rlt_agg_job){.need = 2, .root = true, .priority = 1}, 4);
    rlt_agg_packet ack = {.kind = RLT_AGG_RESULT, .job = j, .chunk = 7, .slot = 1};
    assert_int_equal(hashed(a, j, 0, 7, 1, false).action, RLT_AGG_HOLD);
    assert_int_equal(hashed(a, j, 0, 8, 1, false).action, RLT_AGG_FORWARD); /* slot taken */
    assert_int_equal(hashed(a, j, 1, 7, 1, false).action, RLT_AGG_SERVER);
    assert_int_equal(hashed(a, j, 1, 7, 1, false).action, RLT_AGG_FORWARD); /* the server will answer */
    assert_int_equal(send_at(a, ack, 0).action, RLT_AGG_MULTICAST);
    assert_int_equal(rlt_aggregator_unfinished(a), 0);
    /* A retransmission: the partial sum and the packet go to the server; a free slot is not claimed. */
    assert_int_equal(hashed(a, j, 0, 9, 1, false).action, RLT_AGG_HOLD);
    rlt_agg_verdict v = hashed(a, j, 1, 9, 1, true);
    assert_int_equal(v.action, RLT_AGG_FORWARD);
    assert_true(v.evicts);
    assert_int_equal(v.evicted.count, 1);
    assert_int_equal(v.evicted.bits[0], 1);
    assert_int_equal(hashed(a, j, 1, 9, 1, true).action, RLT_AGG_FORWARD);
    assert_int_equal(rlt_aggregator_unfinished(a), 0);
    /* A higher priority takes the slot; a lower one does not. */
    assert_int_equal(hashed(a, j, 1, 10, 2, false).action, RLT_AGG_HOLD);
    v = hashed(a, k, 0, 10, 2, false);
    assert_int_equal(v.action, RLT_AGG_HOLD);
    assert_true(v.evicts);
    assert_int_equal(v.evicted.job, j);
    assert_int_equal(v.evicted.chunk, 10);
    assert_int_equal(v.evicted.bits[0], 2);
    assert_int_equal(hashed(a, j, 0, 10, 2, false).action, RLT_AGG_FORWARD);
    rlt_agg_counts c = rlt_aggregator_counts(a, j);
    assert_int_equal(c.collisions, 2);
    assert_int_equal(c.fallbacks, 2);
    assert_int_equal(c.resends, 3);
    assert_int_equal(c.evictions, 2);
    assert_int_equal(c.preemptions, 1);
    assert_int_equal(rlt_aggregator_counts(a, k).collisions, 1);
    rlt_aggregator_free(a);
}

/* A share 1 - (1 - 1/A)^x of new keys finds its slot, of A slots, taken by one of x others (uniform hash;
 * three standard errors). */
static void test_collisions(void **state)
{
    (void)state;
    enum { A = 1000, X = 400, TRIALS = 40000 };
    double p = 1, miss = 1.0 - 1.0 / A;
    for (int i = 0; i < X; i++)
        p *= miss;
    p = 1 - p;
    uint32_t hits = 0;
    for (uint32_t t = 0; t < TRIALS; t++) {
        uint32_t key = rlt_slot_hash(1, t, 0, A);
        bool hit = false;
        for (uint32_t i = 0; i < X && !hit; i++)
            hit = rlt_slot_hash(2 + t, i, 0, A) == key;
        hits += hit;
    }
    double off = (double)hits / TRIALS - p, error = p * (1 - p) / TRIALS;
    assert_true(off * off < 9 * error);
}

static void test_credit(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){.mode = RLT_SLOTS_CREDIT,
                                                     .sharing = RLT_SHARE_FIRST_COME,
                                                     .slots = 8,
                                                     .trees = 2,
                                                     .streams = 2,
                                                     .lock_ports = true});
    uint32_t got, job, j = admit(a, (rlt_agg_job){.need = 2, .slots = 3}, 3);
    uint32_t k = admit(a, (rlt_agg_job){.need = 2, .slots = 3, .root = true}, 3);
    rlt_agg_refusal why;
    assert_int_equal(rlt_aggregator_admit(a, &(rlt_agg_job){.need = 2, .slots = 1}, &job, &why, &got, NULL),
                     0);
    assert_int_equal(why, RLT_AGG_NO_TREE);
    assert_int_equal(job, RLT_NONE);
    assert_int_equal(rlt_aggregator_admit(a, &(rlt_agg_job){.need = 9, .slots = 1}, &job, &why, &got, NULL),
                     0);
    assert_int_equal(why, RLT_AGG_TOO_WIDE);
    assert_int_equal(data(a, j, 0, 1, 3), RLT_AGG_HOLD);
    assert_int_equal(data(a, j, 0, 4, 3), RLT_AGG_BUSY); /* no credit left */
    assert_int_equal(data(a, j, 1, 1, 3), RLT_AGG_UP);
    assert_int_equal(rlt_aggregator_unfinished(a), 1);
    assert_int_equal(
        send_at(a, (rlt_agg_packet){.kind = RLT_AGG_RESULT, .job = j, .chunk = 1, .slot = 1}, 0).action,
        RLT_AGG_MULTICAST);
    assert_int_equal(rlt_aggregator_unfinished(a), 0);
    assert_int_equal(data(a, k, 0, 0, 3), RLT_AGG_HOLD);
    assert_int_equal(data(a, k, 1, 0, 3), RLT_AGG_MULTICAST);
    assert_int_equal(rlt_aggregator_unfinished(a), 0);
    /* Streaming trees exclude each other only if they share a port. */
    uint32_t s1 = admit(a, (rlt_agg_job){.need = 2, .slots = 1, .streaming = true, .ports = 3}, 1);
    uint32_t s2 = admit(a, (rlt_agg_job){.need = 2, .slots = 1, .streaming = true, .ports = 6}, 1);
    assert_int_equal(rlt_aggregator_admit(a, &(rlt_agg_job){.need = 2, .slots = 1, .streaming = true}, &job,
                                          &why, &got, NULL),
                     0);
    assert_int_equal(why, RLT_AGG_NO_TREE);
    assert_true(rlt_aggregator_lock(a, s1));
    assert_false(rlt_aggregator_lock(a, s2));
    rlt_aggregator_unlock(a, s1);
    assert_true(rlt_aggregator_lock(a, s2));
    rlt_aggregator_free(a);
}

static void test_pull(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){.mode = RLT_SLOTS_PULL, .slots = 2});
    uint32_t j = admit(a, (rlt_agg_job){.need = 2, .slots = 2, .root = true}, 2);
    for (uint32_t i = 0; i < 3; i++) {
        rlt_agg_verdict v = send_at(
            a, (rlt_agg_packet){.kind = RLT_AGG_REQUEST, .job = j, .chunk = i, .child = i, .slot = RLT_NONE},
            0);
        assert_int_equal(v.action, i < 2 ? RLT_AGG_FETCH : RLT_AGG_BUSY);
        assert_int_equal(v.slot, i < 2 ? i : RLT_NONE);
    }
    assert_int_equal(data(a, j, 0, 1, 2), RLT_AGG_HOLD);
    rlt_agg_verdict v = send_at(a, (rlt_agg_packet){.job = j, .chunk = 1, .child = 1, .slot = 1}, 0);
    assert_int_equal(v.action, RLT_AGG_UNICAST);
    assert_int_equal(v.asked, 1);
    assert_int_equal(rlt_aggregator_unfinished(a), 1);
    assert_int_equal(
        send_at(a, (rlt_agg_packet){.kind = RLT_AGG_RESULT, .job = j, .chunk = 1, .slot = 1}, 0).action,
        RLT_AGG_MULTICAST);
    rlt_aggregator_free(a);
}

/* A timeout sends the partial sum on; late contributions go on alone. */
static void test_expire(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .slots = 1});
    uint32_t j = admit(a, (rlt_agg_job){.need = 3, .slots = 1}, 1);
    rlt_agg_verdict v;
    rlt_aggregator_expire(a, j, 0, 0, 0, 5, &v);
    assert_int_equal(v.action, RLT_AGG_DROP); /* nothing in the slot */
    rlt_aggregator_expire(a, j + 1, 0, 0, 0, 5, &v);
    assert_int_equal(v.action, RLT_AGG_DROP); /* no such job */
    assert_int_equal(data(a, j, 0, 0, 1), RLT_AGG_HOLD);
    assert_int_equal(data(a, j, 2, 0, 1), RLT_AGG_HOLD);
    rlt_aggregator_expire(a, j, 0, 0, 0, 5, &v);
    assert_int_equal(v.action, RLT_AGG_UP);
    assert_int_equal(v.sum.count, 2);
    assert_int_equal(v.sum.bits[0], 5);
    rlt_aggregator_expire(a, j, 0, 0, 0, 6, &v);
    assert_int_equal(v.action, RLT_AGG_DROP);
    assert_int_equal(data(a, j, 1, 0, 1), RLT_AGG_FORWARD);
    assert_int_equal(data(a, j, 1, 0, 1), RLT_AGG_DROP);
    assert_int_equal(rlt_aggregator_counts(a, j).partials, 1);
    rlt_aggregator_free(a);
}

static rlt_agg_refusal share(rlt_aggregator *a, uint32_t slots, uint32_t *job, uint32_t *got)
{
    rlt_agg_refusal why;
    assert_int_equal(rlt_aggregator_admit(a, &(rlt_agg_job){.need = 2, .slots = slots, .root = true}, job,
                                          &why, got, NULL),
                     0);
    return why;
}

static void test_sharing(void **state)
{
    (void)state;
    uint32_t job[4], got;
    rlt_aggregator *a =
        make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .slots = 10, .jobs = 3, .width = 4});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(share(a, 100, &job[i], &got), RLT_AGG_GRANTED);
        assert_int_equal(got, 3); /* S / J */
    }
    /* Shares do not overlap: all slots of all jobs at once. */
    for (int i = 0; i < 3; i++)
        for (uint32_t c = 0; c < 3; c++)
            assert_int_equal(data(a, job[i], 0, c, 3), RLT_AGG_HOLD);
    assert_int_equal(rlt_aggregator_occupancy(a, 0).peak, 9);
    assert_int_equal(rlt_aggregator_release(a, job[1], 0), 3);
    rlt_aggregator_free(a);

    a = make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .sharing = RLT_SHARE_FIRST_COME, .slots = 10});
    assert_int_equal(share(a, 4, &job[0], &got), RLT_AGG_GRANTED);
    assert_int_equal(share(a, 4, &job[1], &got), RLT_AGG_GRANTED);
    assert_int_equal(share(a, 4, &job[2], &got), RLT_AGG_GRANTED);
    assert_int_equal(got, 2);
    assert_int_equal(share(a, 4, &job[3], &got), RLT_AGG_NO_SLOTS);
    assert_int_equal(job[3], RLT_NONE);
    assert_int_equal(rlt_aggregator_release(a, job[1], 0), 0);
    assert_int_equal(share(a, 9, &job[3], &got), RLT_AGG_GRANTED);
    assert_int_equal(got, 4); /* it gets the gap */
    rlt_aggregator_free(a);

    a = make((rlt_aggregator_config){.mode = RLT_SLOTS_HASH, .sharing = RLT_SHARE_FIRST_COME, .slots = 4});
    assert_int_equal(share(a, 0, &job[0], &got), RLT_AGG_GRANTED);
    assert_int_equal(got, 4);
    assert_int_equal(share(a, 0, &job[1], &got), RLT_AGG_NO_SLOTS);
    assert_int_not_equal(job[1], RLT_NONE); /* admitted, everything goes through the server */
    assert_int_equal(hashed(a, job[1], 0, 0, RLT_NONE, false).action, RLT_AGG_FORWARD);
    assert_int_equal(rlt_aggregator_counts(a, job[1]).fallbacks, 1);
    rlt_aggregator_free(a);
}

static void test_memory(void **state)
{
    (void)state;
    /* SwitchML: 256 slots of 1024 bytes in two versions. ATP: 20 000 aggregators of 62 values. */
    rlt_agg_memory m = rlt_slots_memory(RLT_SLOTS_POOL, 256, 1024, 8);
    assert_int_equal(m.value_bytes, 524288);
    assert_int_equal(m.state_bits, 2 * 256 * 16);
    assert_int_equal(rlt_slots_memory(RLT_SLOTS_HASH, 20000, 62 * 4, 32).value_bytes, 4960000);
    rlt_aggregator *a =
        make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .memory_bytes = 2097152, .payload = 128});
    assert_int_equal(rlt_aggregator_slots(a), 8192);
    rlt_aggregator_free(a);
    rlt_error err = {0};
    assert_int_equal(
        rlt_aggregator_create(
            &(rlt_aggregator_config){.slots = 9, .memory_bytes = 2048, .payload = 128, .width = 1}, &a, &err),
        RLT_ERANGE);
    assert_int_equal(rlt_aggregator_create(&(rlt_aggregator_config){.width = 1}, &a, NULL), RLT_ERANGE);
    assert_int_equal(rlt_aggregator_create(&(rlt_aggregator_config){.slots = 1}, &a, NULL), RLT_ERANGE);
    assert_int_equal(
        rlt_aggregator_create(&(rlt_aggregator_config){.slots = 1, .width = 1, .sharing = RLT_SHARE_DYNAMIC},
                              &a, NULL),
        RLT_EUNSUPPORTED);
}

static void test_occupancy(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){
        .mode = RLT_SLOTS_POOL, .slots = 2, .series_bin_ps = 10, .element_bits = 32, .values = 1});
    uint32_t j = admit(a, (rlt_agg_job){.need = 2, .slots = 2, .root = true}, 2);
    rlt_agg_value big = {.i = INT32_MAX};
    rlt_agg_packet p = {.job = j, .values = &big};
    assert_int_equal(send_at(a, p, 5).action, RLT_AGG_HOLD);
    p.slot = p.chunk = 1;
    assert_int_equal(send_at(a, p, 15).action, RLT_AGG_HOLD);
    p.child = 1;
    assert_int_equal(send_at(a, p, 25).action, RLT_AGG_MULTICAST); /* held for 10 */
    p.slot = p.chunk = 0;
    assert_int_equal(send_at(a, p, 37).action, RLT_AGG_MULTICAST); /* held for 32 */
    rlt_agg_occupancy o = rlt_aggregator_occupancy(a, 100);
    assert_int_equal(o.peak, 2);
    assert_int_equal(o.now, 0);
    assert_float_equal(o.integral, 42, 0);
    assert_float_equal(o.mean, 0.42, 1e-12);
    assert_int_equal(o.residency[3], 1);
    assert_int_equal(o.residency[5], 1);
    rlt_time width;
    assert_int_equal(rlt_aggregator_bins(a, &width), 4);
    assert_int_equal(width, 10);
    static const double mean[] = {0.5, 1.5, 1.5, 0.7};
    for (uint32_t i = 0; i < 4; i++)
        assert_float_equal(rlt_aggregator_bin(a, i), mean[i], 1e-12);
    assert_int_equal(rlt_aggregator_counts(a, j).overflows, 2);
    /* After the last bin, bins merge. */
    p.chunk = 2;
    p.version = 1;
    assert_int_equal(send_at(a, p, 20480).action, RLT_AGG_HOLD);
    p.child = 0;
    assert_int_equal(send_at(a, p, 20500).action, RLT_AGG_MULTICAST);
    uint32_t bins = rlt_aggregator_bins(a, &width);
    double sum = 0;
    for (uint32_t i = 0; i < bins; i++)
        sum += rlt_aggregator_bin(a, i) * (double)width;
    assert_int_equal(width, 40);
    assert_float_equal(sum, 62, 1e-9);
    rlt_aggregator_free(a);
}

/* ---- random schedules ---- */

enum { MAX_N = 7, MAX_C = 24, MAX_JOBS = 8, MAX_BAG = 4096 };
enum { TO_SWITCH, TO_HOST, TO_SERVER };

typedef struct note {
    uint8_t to, kind, version;
    bool resend;
    uint32_t where; /* switch or host */
    uint32_t job, chunk, slot, child;
    uint64_t bits; /* contributors of a partial sum */
    int64_t values[VALUES];
} note;

typedef struct server_sum {
    uint64_t bits;
    bool answered;
    int64_t values[VALUES];
} server_sum;

typedef struct job {
    uint32_t n, chunks, window, leaves; /* leaves 0: one switch */
    uint32_t id[3];                     /* job numbers on the switches */
    bool got[MAX_N][MAX_C], sent[MAX_N][MAX_C];
    uint32_t missing;
    server_sum sums[MAX_C];
} job;

typedef struct world {
    uint64_t seed, k;
    rlt_slot_mode mode;
    rlt_aggregator *switches[3];
    uint32_t jobs;
    job job[MAX_JOBS];
    note bag[MAX_BAG];
    uint32_t n;
    uint32_t loss, doubling; /* per 1000 packets */
    uint64_t evicted, forwarded;
} world;

static uint32_t draw(world *w, uint32_t below)
{
    return (uint32_t)rlt_random_below(w->seed, 0, 0, w->k++, below);
}

static int64_t gradient(uint32_t owner_job, uint32_t chunk, uint32_t worker, uint32_t i)
{
    return (int64_t)(rlt_mix64((uint64_t)owner_job << 48 | (uint64_t)chunk << 24 | worker << 4 | i) >> 20) -
           ((int64_t)1 << 43);
}

static void post(world *w, const note *m)
{
    if (draw(w, 1000) < w->loss)
        return;
    for (uint32_t copies = draw(w, 1000) < w->doubling ? 2 : 1; copies > 0; copies--) {
        assert_true(w->n < MAX_BAG);
        w->bag[w->n++] = *m;
    }
}

static uint32_t leaf_of(const job *j, uint32_t worker)
{
    return j->leaves ? worker % j->leaves : 0;
}

static void send_chunk(world *w, uint32_t job_no, uint32_t worker, uint32_t chunk, bool again)
{
    job *j = &w->job[job_no];
    note m = {.to = TO_SWITCH,
              .where = leaf_of(j, worker),
              .job = job_no,
              .chunk = chunk,
              .slot = w->mode == RLT_SLOTS_HASH ? RLT_NONE : chunk % j->window,
              .version = chunk / j->window & 1,
              .child = j->leaves ? worker / j->leaves : worker,
              .resend = again && w->mode == RLT_SLOTS_HASH,
              .bits = UINT64_C(1) << worker};
    for (uint32_t i = 0; i < VALUES; i++)
        m.values[i] = gradient(job_no, chunk, worker, i);
    j->sent[worker][chunk] = true;
    post(w, &m);
}

static void to_child(world *w, const job *j, uint32_t at, uint32_t child, const note *result)
{
    note m = *result;
    bool root = j->leaves && at == j->leaves;
    m.to = root ? TO_SWITCH : TO_HOST;
    m.where = root ? child : j->leaves ? child * j->leaves + at : child;
    m.kind = RLT_AGG_RESULT;
    post(w, &m);
}

static uint32_t children(const job *j, uint32_t at)
{
    if (j->leaves && at == j->leaves)
        return j->leaves;
    return j->leaves ? (j->n - at + j->leaves - 1) / j->leaves : j->n;
}

static void fill(note *m, const rlt_agg_sum *sum)
{
    m->chunk = sum->chunk;
    m->bits = sum->bits[0];
    for (uint32_t i = 0; i < VALUES; i++)
        m->values[i] = sum->values[i].i;
}

static uint32_t owner(const world *w, uint32_t at, uint32_t id)
{
    for (uint32_t i = 0; i < w->jobs; i++)
        if (w->job[i].id[at] == id)
            return i;
    fail_msg("no job has the number %u", id);
    return 0;
}

static void at_switch(world *w, const note *m)
{
    const job *j = &w->job[m->job];
    rlt_agg_value values[VALUES];
    for (uint32_t i = 0; i < VALUES; i++)
        values[i].i = m->values[i];
    rlt_agg_packet p = {.kind = (rlt_agg_kind)m->kind,
                        .job = j->id[m->where],
                        .chunk = m->chunk,
                        .slot = m->slot,
                        .version = m->version,
                        .resend = m->resend,
                        .child = m->child,
                        .values = values};
    rlt_agg_verdict v;
    note out = *m;
    rlt_aggregator_packet(w->switches[m->where], &p, 0, &v);
    if (v.evicts) {
        note part = {.to = TO_SERVER, .job = owner(w, m->where, v.evicted.job)};
        fill(&part, &v.evicted);
        w->evicted++;
        post(w, &part);
    }
    switch (v.action) {
    case RLT_AGG_DROP:
    case RLT_AGG_HOLD:
        break;
    case RLT_AGG_UP:
        fill(&out, &v.sum);
        out.where = j->leaves;
        out.child = m->where;
        post(w, &out);
        break;
    case RLT_AGG_MULTICAST:
        if (w->mode != RLT_SLOTS_HASH)
            fill(&out, &v.sum);
        for (uint32_t c = 0; c < children(j, m->where); c++)
            to_child(w, j, m->where, c, &out);
        break;
    case RLT_AGG_UNICAST:
        fill(&out, &v.sum);
        to_child(w, j, m->where, m->child, &out);
        break;
    case RLT_AGG_SERVER:
        fill(&out, &v.sum);
        out.to = TO_SERVER;
        post(w, &out);
        break;
    case RLT_AGG_FORWARD:
        w->forwarded++;
        out.to = TO_SERVER;
        post(w, &out);
        break;
    case RLT_AGG_FETCH:
        fail();
        break;
    case RLT_AGG_BUSY:
        post(w, &out);
        break;
    }
}

/* The server: adds new contributions; a complete sum replaces all; repeats its answer on request. */
static void at_server(world *w, const note *m)
{
    job *j = &w->job[m->job];
    server_sum *s = &j->sums[m->chunk];
    uint64_t all = (UINT64_C(1) << j->n) - 1;
    if (!s->answered && (m->bits == all || (s->bits & m->bits) == 0)) {
        bool whole = m->bits == all;
        for (uint32_t i = 0; i < VALUES; i++)
            s->values[i] = (whole ? 0 : s->values[i]) + m->values[i];
        s->bits |= m->bits;
    } else if (!s->answered) {
        return;
    }
    if (s->bits != all)
        return;
    note out = {.to = TO_SWITCH, .kind = RLT_AGG_RESULT, .job = m->job, .chunk = m->chunk, .slot = RLT_NONE};
    memcpy(out.values, s->values, sizeof out.values);
    s->answered = true;
    post(w, &out);
}

static void at_host(world *w, const note *m)
{
    job *j = &w->job[m->job];
    uint32_t worker = m->where, chunk = m->chunk;
    for (uint32_t i = 0; i < VALUES; i++) {
        int64_t sum = 0;
        for (uint32_t k = 0; k < j->n; k++)
            sum += gradient(m->job, chunk, k, i);
        assert_int_equal(m->values[i], sum);
    }
    assert_true(j->sent[worker][chunk]);
    if (j->got[worker][chunk])
        return;
    j->got[worker][chunk] = true;
    j->missing--;
    if (chunk + j->window < j->chunks)
        send_chunk(w, m->job, worker, chunk + j->window, false);
}

/* A host times out. */
static void time_out(world *w)
{
    uint32_t job_no = draw(w, w->jobs);
    for (uint32_t tries = 0; w->job[job_no].missing == 0 && tries < w->jobs; tries++)
        job_no = (job_no + 1) % w->jobs;
    job *j = &w->job[job_no];
    uint32_t worker = draw(w, j->n);
    for (uint32_t i = 0; i < j->n; i++, worker = (worker + 1) % j->n)
        for (uint32_t c = 0; c < j->chunks; c++)
            if (j->sent[worker][c] && !j->got[worker][c]) {
                send_chunk(w, job_no, worker, c, true);
                return;
            }
}

static void deliver(world *w)
{
    uint32_t i = draw(w, w->n);
    note m = w->bag[i];
    w->bag[i] = w->bag[--w->n];
    (m.to == TO_SWITCH ? at_switch : m.to == TO_HOST ? at_host : at_server)(w, &m);
}

static uint32_t missing(const world *w)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w->jobs; i++)
        sum += w->job[i].missing;
    return sum;
}

static void run_world(world *w, bool lossy)
{
    for (uint32_t i = 0; i < w->jobs; i++) {
        job *j = &w->job[i];
        j->missing = j->n * j->chunks;
        for (uint32_t k = 0; k < j->n; k++)
            for (uint32_t c = 0; c < j->window && c < j->chunks; c++)
                send_chunk(w, i, k, c, false);
    }
    uint32_t steps = 0;
    while (missing(w) > 0) {
        assert_true(++steps < 1000000);
        if (lossy && (w->n == 0 || draw(w, 64) == 0))
            time_out(w);
        else if (w->n > 0)
            deliver(w);
        else
            fail_msg("schedule %llu: %u results are missing and nothing is under way",
                     (unsigned long long)w->seed, missing(w));
    }
    while (w->n > 0)
        deliver(w);
}

static void add_job(world *w, uint32_t i, rlt_agg_job want, uint32_t at)
{
    uint32_t slots;
    rlt_agg_refusal why;
    assert_int_equal(rlt_aggregator_admit(w->switches[at], &want, &w->job[i].id[at], &why, &slots, NULL), 0);
    assert_int_not_equal(w->job[i].id[at], RLT_NONE);
    if (slots && slots < w->job[i].window && w->mode != RLT_SLOTS_HASH)
        w->job[i].window = slots;
}

static void draw_job(world *w, uint32_t i)
{
    job *j = &w->job[i];
    j->n = 1 + draw(w, MAX_N);
    j->chunks = 1 + draw(w, MAX_C);
    j->window = 1 + draw(w, 6);
}

static void check_counts(const world *w)
{
    for (uint32_t at = 0; at < 3; at++)
        if (w->switches[at]) {
            rlt_agg_counts c = rlt_aggregator_counts(w->switches[at], RLT_NONE);
            rlt_agg_occupancy o = rlt_aggregator_occupancy(w->switches[at], 1);
            assert_true(o.peak <= rlt_aggregator_slots(w->switches[at]));
            assert_int_equal(c.refused, 0);
            /* Every packet is counted as exactly one of these (unicasts are duplicates). */
            if (w->mode == RLT_SLOTS_POOL)
                assert_int_equal(c.packets, c.contributions + c.duplicates + c.stale);
            assert_int_equal(c.overflows, 0);
        }
}

static void end_world(world *w)
{
    for (uint32_t at = 0; at < 3; at++)
        rlt_aggregator_free(w->switches[at]);
    free(w);
}

static world *begin_world(uint64_t seed, rlt_slot_mode mode)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = seed;
    w->mode = mode;
    w->loss = draw(w, 51);
    w->doubling = draw(w, 51);
    return w;
}

static rlt_aggregator_config pool_of(rlt_slot_mode mode, uint32_t slots)
{
    return (rlt_aggregator_config){.mode = mode,
                                   .sharing = RLT_SHARE_FIRST_COME,
                                   .slots = slots,
                                   .values = VALUES,
                                   .width = MAX_N,
                                   .reemit = true};
}

/* One switch or two levels: each switch completes every sum once, and nothing is left. */
static void run_pool(uint64_t seed, rlt_slot_mode mode, bool lossy)
{
    world *w = begin_world(seed, mode);
    if (!lossy)
        w->loss = w->doubling = 0;
    w->jobs = 1 + draw(w, 3);
    uint32_t leaves = draw(w, 2) ? 2 : 0;
    for (uint32_t at = 0; at <= leaves; at++)
        w->switches[at] = make(pool_of(mode, 6 * w->jobs));
    for (uint32_t i = 0; i < w->jobs; i++) {
        job *j = &w->job[i];
        draw_job(w, i);
        j->leaves = j->n > 1 ? leaves : 0;
        for (uint32_t at = 0; at <= j->leaves; at++)
            add_job(w, i, (rlt_agg_job){.need = children(j, at), .slots = j->window, .root = at == j->leaves},
                    at);
    }
    run_world(w, lossy);
    check_counts(w);
    for (uint32_t at = 0; at <= leaves; at++)
        assert_int_equal(rlt_aggregator_unfinished(w->switches[at]), 0);
    for (uint32_t i = 0; i < w->jobs; i++)
        for (uint32_t at = 0; at <= w->job[i].leaves; at++)
            assert_int_equal(rlt_aggregator_counts(w->switches[at], w->job[i].id[at]).completions,
                             w->job[i].chunks);
    end_world(w);
}

/* Two to eight jobs, a switch with too few slots for them, and a server. */
static void run_hash(uint64_t seed, uint64_t *collisions, uint64_t *evicted)
{
    world *w = begin_world(seed, RLT_SLOTS_HASH);
    w->jobs = 2 + draw(w, MAX_JOBS - 1);
    rlt_aggregator_config cfg = pool_of(RLT_SLOTS_HASH, 1 + draw(w, 12));
    cfg.sharing = (rlt_slot_sharing)draw(w, 3);
    cfg.preempt = draw(w, 2);
    cfg.jobs = w->jobs;
    w->switches[0] = make(cfg);
    for (uint32_t i = 0; i < w->jobs; i++) {
        draw_job(w, i);
        w->job[i].chunks = 1 + w->job[i].chunks / 3;
        add_job(
            w, i,
            (rlt_agg_job){
                .need = w->job[i].n, .slots = 1 + draw(w, 4), .root = true, .priority = (uint8_t)draw(w, 3)},
            0);
    }
    run_world(w, true);
    check_counts(w);
    rlt_agg_counts c = rlt_aggregator_counts(w->switches[0], RLT_NONE);
    *collisions += c.collisions;
    *evicted += c.evictions;
    assert_int_equal(c.evictions, w->evicted);
    assert_int_equal(c.fallbacks + c.resends, w->forwarded);
    for (uint32_t i = 0; i < w->jobs; i++)
        rlt_aggregator_release(w->switches[0], w->job[i].id[0], 1);
    assert_int_equal(rlt_aggregator_occupancy(w->switches[0], 1).now, 0);
    end_world(w);
}

static void test_random_pool(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < 4500; s++)
        run_pool(s, RLT_SLOTS_POOL, true);
}

static void test_random_credit(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < 1000; s++)
        run_pool(s, RLT_SLOTS_CREDIT, false);
}

static void test_random_hash(void **state)
{
    (void)state;
    uint64_t collisions = 0, evicted = 0;
    for (uint64_t s = 0; s < 4500; s++)
        run_hash(s, &collisions, &evicted);
    assert_true(collisions > 4500 && evicted > 4500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),          cmocka_unit_test(test_pool_below),
        cmocka_unit_test(test_hash),          cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_credit),        cmocka_unit_test(test_pull),
        cmocka_unit_test(test_expire),        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_random_pool),   cmocka_unit_test(test_random_hash),
        cmocka_unit_test(test_random_credit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
