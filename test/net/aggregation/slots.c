/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slots of an aggregator, one transition after the other: the whole verdict of a switch and the whole account of a
 * job, for every kind of packet in every state of its slot. */
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
#include "sim/base/time.h"

static rlt_aggregator *make(rlt_aggregator_config cfg)
{
    rlt_aggregator *a = NULL;
    rlt_error err = {0};
    if (!cfg.width)
        cfg.width = 8;
    if (rlt_aggregator_create(&cfg, &a, &err))
        fail_msg("%s", err.what);
    return a;
}

static uint32_t admit(rlt_aggregator *a, rlt_agg_job want)
{
    uint32_t job, got;
    rlt_agg_refusal why;
    assert_int_equal(rlt_aggregator_admit(a, &want, &job, &why, &got, NULL), 0);
    assert_int_not_equal(job, RLT_NONE);
    return job;
}

/* What a switch is sent, and its answer. Kinds: d data, r result, q request, e timeout. */
typedef struct stroke {
    char kind;
    uint32_t job, chunk, slot, child;
    uint8_t version;
    bool resend;
    rlt_agg_action action;
    struct {
        uint32_t count;
        uint64_t bits;
        int64_t value;
    } sum;           /* that is sent: its contributors and first value */
    uint64_t evicts; /* contributors of the sum that is evicted; 0: none */
    bool claims;
} stroke;

#define NO_SUM .sum = {0}

/* Values: child c of a chunk gives 10^c, a result 7. */
static void play(rlt_aggregator *a, const stroke *strokes, size_t n)
{
    static const int64_t tens[] = {1, 10, 100, 1000, 10000};
    for (size_t i = 0; i < n; i++) {
        const stroke *s = &strokes[i];
        rlt_agg_verdict v;
        rlt_agg_value value = {.i = s->kind == 'r' ? 7 : tens[s->child % 5]};
        rlt_agg_packet p = {.kind = s->kind == 'r'   ? RLT_AGG_RESULT
                                    : s->kind == 'q' ? RLT_AGG_REQUEST
                                                     : RLT_AGG_DATA,
                            .job = s->job,
                            .chunk = s->chunk,
                            .slot = s->slot,
                            .version = s->version,
                            .resend = s->resend,
                            .child = s->child,
                            .values = &value};
        if (s->kind == 'e')
            rlt_aggregator_expire(a, s->job, s->chunk, s->slot, s->version, (rlt_time)i, &v);
        else
            rlt_aggregator_packet(a, &p, (rlt_time)i, &v);
        bool sum = v.sum.bits != NULL;
        if (v.action != s->action || v.claimed != s->claims || v.evicts != (s->evicts != 0) ||
            (v.evicts && v.evicted.bits[0] != s->evicts) || sum != (s->sum.count > 0))
            fail_msg("stroke %zu: action %d, sum %d, claims %d, evicts %d", i, v.action, sum, v.claimed,
                     v.evicts);
        if (sum && (v.sum.count != s->sum.count || v.sum.bits[0] != s->sum.bits || v.sum.chunk != s->chunk ||
                    v.sum.job != s->job || v.sum.values[0].i != s->sum.value))
            fail_msg("stroke %zu: a sum of %u, %llx, value %lld", i, v.sum.count,
                     (unsigned long long)v.sum.bits[0], (long long)v.sum.values[0].i);
    }
}

#define PLAY(a, strokes) play(a, strokes, sizeof(strokes) / sizeof *(strokes))

static void expect_counts(const rlt_aggregator *a, uint32_t job, rlt_agg_counts want)
{
    rlt_agg_counts is = rlt_aggregator_counts(a, job);
    assert_int_equal(is.packets, want.packets);
    assert_int_equal(is.contributions, want.contributions);
    assert_int_equal(is.completions, want.completions);
    assert_int_equal(is.duplicates, want.duplicates);
    assert_int_equal(is.stale, want.stale);
    assert_int_equal(is.late, want.late);
    assert_int_equal(is.unicasts, want.unicasts);
    assert_int_equal(is.collisions, want.collisions);
    assert_int_equal(is.foreign, want.foreign);
    assert_int_equal(is.fallbacks, want.fallbacks);
    assert_int_equal(is.resends, want.resends);
    assert_int_equal(is.preemptions, want.preemptions);
    assert_int_equal(is.evictions, want.evictions);
    assert_int_equal(is.partials, want.partials);
    assert_int_equal(is.overflows, want.overflows);
    assert_int_equal(is.blocked, want.blocked);
    assert_int_equal(is.refused, want.refused);
}

/* POOL at the root: two slots, both versions, three workers. */
static void pool_at_the_root(void **state)
{
    (void)state;
    static const stroke strokes[] = {
        {'d', 0, 0, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'d', 0, 0, 0, 2, 0, 0, RLT_AGG_HOLD, NO_SUM},
        {'d', 0, 0, 0, 1, 0, 0, RLT_AGG_MULTICAST, .sum = {3, 7, 111}},
        {'d', 0, 0, 0, 1, 0, 0, RLT_AGG_UNICAST, .sum = {3, 7, 111}},
        {'d', 0, 1, 1, 0, 0, 0, RLT_AGG_HOLD, .claims = true}, /* the other slot */
        {'d', 0, 2, 0, 1, 1, 0, RLT_AGG_HOLD, .claims = true}, /* the other version: 1 has the result */
        {'d', 0, 0, 0, 1, 0, 0, RLT_AGG_DROP, NO_SUM},         /* so this is old */
        {'d', 0, 0, 0, 2, 0, 0, RLT_AGG_UNICAST, .sum = {3, 5, 111}}, /* 2 may still ask */
        {'d', 0, 4, 0, 0, 1, 0, RLT_AGG_DROP, NO_SUM},                /* the version is in use by chunk 2 */
        {'d', 0, 0, 0, 0, 1, 0, RLT_AGG_DROP, NO_SUM},                /* older than what it holds */
        {'d', 0, 2, 0, 2, 1, 0, RLT_AGG_HOLD, NO_SUM},
        {'d', 0, 2, 0, 2, 1, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 2, 0, 0, 1, 0, RLT_AGG_MULTICAST, .sum = {3, 7, 111}},
        {'d', 0, 1, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* version 1 is further on */
        {'d', 0, 4, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'d', 0, 4, 2, 0, 0, 0, RLT_AGG_DROP, NO_SUM},  /* no such slot */
        {'d', 0, 4, 0, 0, 2, 0, RLT_AGG_DROP, NO_SUM},  /* no such version */
        {'d', 0, 4, 0, 64, 0, 0, RLT_AGG_DROP, NO_SUM}, /* no such child */
        {'d', 1, 4, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},  /* no such job */
        {'r', 0, 4, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},  /* nobody waits for it */
        {'r', 0, 4, 2, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'r', 0, 4, 0, 0, 2, 0, RLT_AGG_DROP, NO_SUM},
        {'e', 0, 4, 0, 0, 0, 0, RLT_AGG_SERVER, .sum = {1, 1, 1}},
        {'e', 0, 4, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'e', 0, 2, 0, 0, 1, 0, RLT_AGG_DROP, NO_SUM}, /* complete */
        {'e', 0, 9, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* another chunk */
        {'e', 0, 1, 2, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'e', 0, 1, 1, 0, 2, 0, RLT_AGG_DROP, NO_SUM},
        {'e', 1, 1, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'e', 0, 1, 1, 0, 0, 0, RLT_AGG_SERVER, .sum = {1, 1, 1}},
    };
    rlt_aggregator *a = make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .slots = 2, .values = 1});
    admit(a, (rlt_agg_job){.need = 3, .slots = 2, .root = true});
    PLAY(a, strokes);
    expect_counts(a, 0,
                  (rlt_agg_counts){.packets = 18,
                                   .contributions = 8,
                                   .completions = 2,
                                   .duplicates = 3,
                                   .stale = 3,
                                   .late = 1,
                                   .unicasts = 2,
                                   .partials = 2,
                                   .refused = 6});
    assert_int_equal(rlt_aggregator_unfinished(a), 2);
    assert_int_equal(rlt_aggregator_occupancy(a, 0).now, 0);
    assert_int_equal(rlt_aggregator_release(a, 0, 50), 2);
    assert_int_equal(rlt_aggregator_release(a, 0, 50), 0);
    rlt_aggregator_free(a);
}

/* POOL below another switch, where complete sums go up again if their result is missing. */
static void pool_below(void **state)
{
    (void)state;
    static const stroke strokes[] = {
        {'d', 0, 0, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'e', 0, 0, 0, 0, 0, 0, RLT_AGG_UP, .sum = {1, 1, 1}},
        {'d', 0, 0, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* not complete: nothing goes up again */
        {'d', 0, 0, 0, 1, 0, 0, RLT_AGG_FORWARD, NO_SUM},
        {'d', 0, 0, 0, 1, 0, 0, RLT_AGG_UP, .sum = {2, 3, 11}}, /* now it is */
        {'d', 0, 1, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},          /* a slot that waits for its result */
        {'r', 0, 1, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},          /* another chunk's */
        {'r', 1, 0, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'r', 0, 0, 0, 0, 0, 0, RLT_AGG_MULTICAST, .sum = {2, 3, 7}},
        {'d', 0, 0, 0, 0, 0, 0, RLT_AGG_UNICAST, .sum = {2, 3, 7}}, /* the result, not the sum */
        {'r', 0, 0, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 2, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true}, /* what is done is replaced */
        {'d', 0, 2, 0, 1, 0, 0, RLT_AGG_UP, .sum = {2, 3, 11}},
    };
    rlt_aggregator *a =
        make((rlt_aggregator_config){.mode = RLT_SLOTS_POOL, .slots = 1, .values = 1, .reemit = true});
    admit(a, (rlt_agg_job){.need = 2, .slots = 1});
    PLAY(a, strokes);
    expect_counts(a, 0,
                  (rlt_agg_counts){.packets = 8,
                                   .contributions = 4,
                                   .completions = 1,
                                   .duplicates = 3,
                                   .late = 2,
                                   .unicasts = 1,
                                   .partials = 1,
                                   .refused = 1});
    rlt_aggregator_free(a);
}

/* HASH: two jobs on four slots; the second has the higher priority and takes slots. */
static void hashed(void **state)
{
    (void)state;
    static const stroke strokes[] = {
        {'d', 0, 5, 1, 0, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'d', 0, 5, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 6, 1, 0, 0, 0, RLT_AGG_FORWARD, NO_SUM}, /* taken by its own job */
        {'d', 0, 5, 1, 1, 0, 0, RLT_AGG_SERVER, .sum = {2, 3, 11}},
        {'d', 0, 5, 1, 1, 0, 0, RLT_AGG_FORWARD, NO_SUM},
        {'d', 0, 5, 1, 2, 0, 0, RLT_AGG_FORWARD, NO_SUM},      /* no duplicate */
        {'r', 0, 6, 1, 0, 0, 0, RLT_AGG_MULTICAST, NO_SUM},    /* frees nothing */
        {'d', 1, 6, 1, 0, 0, 0, RLT_AGG_HOLD, .claims = true}, /* takes a sum that is at the server */
        {'d', 0, 6, 1, 0, 0, 0, RLT_AGG_FORWARD, NO_SUM},
        {'r', 1, 6, 1, 0, 0, 0, RLT_AGG_MULTICAST, NO_SUM},
        {'d', 1, 7, 1, 0, 0, 1, RLT_AGG_FORWARD, NO_SUM}, /* a free slot is not claimed again */
        {'d', 0, 8, 1, 1, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'d', 1, 8, 1, 0, 0, 1, RLT_AGG_FORWARD, NO_SUM}, /* nor is one taken */
        {'d', 1, 8, 1, 2, 0, 0, RLT_AGG_HOLD, .evicts = 2, .claims = true},
        {'d', 1, 8, 1, 1, 0, 1, RLT_AGG_FORWARD, .evicts = 4},
        {'d', 1, 8, 1, 1, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'e', 1, 8, 1, 0, 0, 0, RLT_AGG_SERVER, .sum = {1, 2, 10}},
        {'d', 1, 8, 4, 1, 0, 0, RLT_AGG_DROP, NO_SUM}, /* no such slot */
        {'r', 1, 8, 4, 1, 0, 0, RLT_AGG_MULTICAST, NO_SUM},
        {'e', 1, 8, 1, 0, 1, 0, RLT_AGG_DROP, NO_SUM}, /* there is one version */
    };
    rlt_aggregator *a = make((rlt_aggregator_config){
        .mode = RLT_SLOTS_HASH, .sharing = RLT_SHARE_DYNAMIC, .slots = 4, .values = 1, .preempt = true});
    admit(a, (rlt_agg_job){.need = 2, .root = true});
    admit(a, (rlt_agg_job){.need = 2, .root = true, .priority = 1});
    PLAY(a, strokes);
    expect_counts(a, 0,
                  (rlt_agg_counts){.packets = 8,
                                   .contributions = 3,
                                   .completions = 1,
                                   .duplicates = 2,
                                   .collisions = 2,
                                   .foreign = 1,
                                   .fallbacks = 2,
                                   .resends = 2,
                                   .preemptions = 2,
                                   .evictions = 1});
    expect_counts(a, 1,
                  (rlt_agg_counts){.packets = 7,
                                   .contributions = 3,
                                   .collisions = 3,
                                   .foreign = 3,
                                   .fallbacks = 1,
                                   .resends = 2,
                                   .evictions = 1,
                                   .partials = 1,
                                   .refused = 1});
    rlt_agg_counts both = rlt_aggregator_counts(a, RLT_NONE);
    assert_int_equal(both.packets, 15);
    assert_int_equal(both.collisions, 5);
    rlt_aggregator_free(a);
}

/* HASH: partial sums from below; only those that overlap by one contributor can be told to be duplicates. */
static void partial_sums(void **state)
{
    (void)state;
    rlt_aggregator *a =
        make((rlt_aggregator_config){.mode = RLT_SLOTS_HASH, .slots = 1, .width = 70, .values = 1});
    uint32_t j = admit(a, (rlt_agg_job){.need = 6});
    static const struct {
        uint64_t bits[2];
        rlt_agg_action action;
    } cases[] = {
        {{0, 0}, RLT_AGG_DROP}, /* of nobody */
        {{3, 0}, RLT_AGG_HOLD}, {{6, 0}, RLT_AGG_FORWARD}, {{2, 0}, RLT_AGG_DROP},
        {{8, 1}, RLT_AGG_HOLD}, {{0, 3}, RLT_AGG_FORWARD}, {{16, 2}, RLT_AGG_UP},
    };
    rlt_agg_verdict v = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rlt_agg_value one = {.i = 1};
        rlt_agg_packet p = {.job = j, .bits = cases[i].bits, .values = i == 1 ? NULL : &one};
        rlt_aggregator_packet(a, &p, 0, &v);
        assert_int_equal(v.action, cases[i].action);
    }
    assert_int_equal(v.sum.count, 6);
    assert_int_equal(v.sum.bits[0], 27);
    assert_int_equal(v.sum.bits[1], 3);
    assert_int_equal(v.sum.values[0].i, 2); /* the first brought zeros */
    expect_counts(a, j,
                  (rlt_agg_counts){.packets = 7,
                                   .contributions = 6,
                                   .completions = 1,
                                   .duplicates = 1,
                                   .fallbacks = 2,
                                   .refused = 1});
    rlt_aggregator_free(a);
}

/* CREDIT: nothing is lost; a slot is free when its result has gone down. */
static void by_credit(void **state)
{
    (void)state;
    static const stroke strokes[] = {
        {'d', 0, 0, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'d', 0, 0, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 1, 0, 0, 0, 0, RLT_AGG_BUSY, NO_SUM},
        {'r', 0, 0, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* not sent yet */
        {'d', 0, 0, 0, 1, 0, 0, RLT_AGG_UP, .sum = {2, 3, 11}},
        {'r', 0, 1, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'r', 0, 0, 0, 0, 0, 0, RLT_AGG_MULTICAST, .sum = {2, 3, 7}},
        {'r', 0, 0, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 1, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'d', 0, 1, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* no such slot */
        {'r', 0, 1, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 1, 0, 0, 0, 0, 0, RLT_AGG_HOLD, .claims = true}, /* the root's */
        {'d', 1, 0, 0, 1, 0, 0, RLT_AGG_MULTICAST, .sum = {2, 3, 11}},
        {'d', 1, 1, 0, 1, 0, 0, RLT_AGG_HOLD, .claims = true},
        {'e', 1, 1, 0, 0, 0, 0, RLT_AGG_SERVER, .sum = {1, 2, 10}},
    };
    rlt_aggregator *a =
        make((rlt_aggregator_config){.mode = RLT_SLOTS_CREDIT, .slots = 2, .jobs = 2, .values = 1});
    admit(a, (rlt_agg_job){.need = 2});
    admit(a, (rlt_agg_job){.need = 2, .root = true});
    PLAY(a, strokes);
    expect_counts(a, 0,
                  (rlt_agg_counts){.packets = 6,
                                   .contributions = 3,
                                   .completions = 1,
                                   .duplicates = 1,
                                   .late = 3,
                                   .blocked = 1,
                                   .refused = 2});
    expect_counts(a, 1, (rlt_agg_counts){.packets = 3, .contributions = 3, .completions = 1, .partials = 1});
    assert_int_equal(rlt_aggregator_occupancy(a, 0).now, 2); /* a partial sum keeps its slot */
    rlt_aggregator_free(a);
}

/* PULL: a request is fetched from all, and its sum goes to who asked. */
static void by_request(void **state)
{
    (void)state;
    static const stroke strokes[] = {
        {'d', 0, 9, 0, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* nobody asked */
        {'q', 0, 9, 1, 3, 0, 0, RLT_AGG_FETCH, .claims = true},
        {'q', 0, 8, 1, 3, 0, 0, RLT_AGG_BUSY, NO_SUM},
        {'q', 0, 8, 2, 3, 0, 0, RLT_AGG_DROP, NO_SUM}, /* no such slot */
        {'e', 0, 9, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM}, /* nothing to send on yet */
        {'q', 0, 8, RLT_NONE, 2, 0, 0, RLT_AGG_FETCH, .claims = true},
        {'q', 0, 7, RLT_NONE, 2, 0, 0, RLT_AGG_BUSY, NO_SUM},
        {'d', 0, 9, 1, 0, 0, 0, RLT_AGG_HOLD, NO_SUM},
        {'d', 0, 9, 1, 0, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 8, 1, 1, 0, 0, RLT_AGG_DROP, NO_SUM}, /* another chunk's slot */
        {'d', 0, 9, 2, 1, 0, 0, RLT_AGG_DROP, NO_SUM},
        {'d', 0, 9, 1, 1, 0, 0, RLT_AGG_UNICAST, .sum = {2, 3, 11}},
        {'d', 0, 9, 1, 1, 0, 0, RLT_AGG_DROP, NO_SUM}, /* it is free */
        {'r', 0, 9, 5, 0, 0, 0, RLT_AGG_MULTICAST, NO_SUM},
        {'q', 0, 7, RLT_NONE, 4, 0, 0, RLT_AGG_FETCH, .claims = true},
        {'d', 0, 7, 1, 0, 0, 0, RLT_AGG_HOLD, NO_SUM},
        {'e', 0, 7, 1, 0, 0, 0, RLT_AGG_UP, .sum = {1, 1, 1}},
    };
    rlt_aggregator *a = make((rlt_aggregator_config){.mode = RLT_SLOTS_PULL, .slots = 2, .values = 1});
    admit(a, (rlt_agg_job){.need = 2, .slots = 2});
    PLAY(a, strokes);
    expect_counts(a, 0,
                  (rlt_agg_counts){.packets = 8,
                                   .contributions = 3,
                                   .completions = 1,
                                   .duplicates = 1,
                                   .stale = 3,
                                   .partials = 1,
                                   .blocked = 2,
                                   .refused = 2});
    rlt_aggregator_free(a);
}

/* Sums of doubles; integers that do not fit their bits. */
static void values_are_summed(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= 64; bits += 8) {
        rlt_aggregator *a = make((rlt_aggregator_config){.slots = 1, .values = 2, .element_bits = bits});
        uint32_t j = admit(a, (rlt_agg_job){.need = 2, .slots = 1, .root = true});
        int64_t most = bits && bits < 64 ? ((int64_t)1 << (bits - 1)) - 1 : INT64_MAX, least = -most - 1;
        const rlt_agg_value first[] = {{.i = most}, {.i = least}}, second[] = {{.i = 1}, {.i = -1}};
        rlt_agg_packet p = {.job = j, .values = first};
        rlt_agg_verdict v;
        rlt_aggregator_packet(a, &p, 0, &v);
        assert_int_equal(rlt_aggregator_counts(a, j).overflows, 0);
        p.values = second;
        p.child = 1;
        rlt_aggregator_packet(a, &p, 0, &v);
        bool narrow = bits && bits < 64;
        assert_int_equal(rlt_aggregator_counts(a, j).overflows, narrow ? 2 : 0);
        assert_true(v.sum.values[0].i == (narrow ? most + 1 : INT64_MIN));
        assert_true(v.sum.values[1].i == (narrow ? least - 1 : INT64_MAX));
        rlt_aggregator_free(a);
    }
    rlt_aggregator *a =
        make((rlt_aggregator_config){.slots = 1, .values = 1, .floating = true, .element_bits = 1});
    uint32_t j = admit(a, (rlt_agg_job){.need = 3, .slots = 1, .root = true});
    rlt_agg_verdict v = {0};
    for (uint32_t i = 0; i < 3; i++) {
        const rlt_agg_value value = {.d = 0.5 + i};
        rlt_agg_packet p = {.job = j, .child = i, .values = &value};
        rlt_aggregator_packet(a, &p, 0, &v);
    }
    assert_float_equal(v.sum.values[0].d, 4.5, 0);
    assert_int_equal(rlt_aggregator_counts(a, j).overflows, 0);
    rlt_aggregator_free(a);
}

static void configurations(void **state)
{
    (void)state;
    const rlt_aggregator_config good = {.slots = 4, .width = 8, .payload = 128};
    static const char jobs[] = "expected at most 4096 jobs and 64 bits";
    const struct {
        rlt_aggregator_config change; /* fields that are not 0 replace those of `good` */
        int code;
        const char *what;
    } cases[] = {
        {{.width = 4096}, 0, ""},
        {{.width = 4097}, RLT_ERANGE, "expected 1 to 4096 contributors, got 4097"},
        {{.jobs = 4096}, 0, ""},
        {{.jobs = 4097}, RLT_ERANGE, jobs},
        {{.element_bits = 64}, 0, ""},
        {{.element_bits = 65}, RLT_ERANGE, jobs},
        {{.series_bin_ps = -1}, RLT_ERANGE, jobs},
        {{.sharing = RLT_SHARE_DYNAMIC},
         RLT_EUNSUPPORTED,
         "only hashed slots are shared dynamically: workers name the others"},
        {{.sharing = RLT_SHARE_DYNAMIC, .mode = RLT_SLOTS_HASH}, 0, ""},
        {{.slots = RLT_MAX_SLOTS}, 0, ""},
        {{.slots = RLT_MAX_SLOTS + 1}, RLT_ERANGE, "expected at most 4194304 slots, got 4194305"},
        {{.memory_bytes = 1024}, 0, ""}, /* two versions of four slots */
        {{.memory_bytes = 1023}, RLT_ERANGE, "4 slots of 256 bytes are more than the memory of 1023"},
        {{.memory_bytes = 511, .mode = RLT_SLOTS_HASH},
         RLT_ERANGE,
         "4 slots of 128 bytes are more than the memory of 511"},
        {{.memory_bytes = 512, .mode = RLT_SLOTS_HASH}, 0, ""},
        {{.values = 1 << 27}, RLT_ERANGE, "4 slots of 134217728 values need more than 4 GiB here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rlt_aggregator_config *d = &cases[i].change;
        rlt_aggregator_config c = good;
        rlt_aggregator *a;
        rlt_error err = {0};
        c.mode = d->mode;
        c.sharing = d->sharing;
        c.slots = d->slots ? d->slots : c.slots;
        c.width = d->width ? d->width : c.width;
        c.memory_bytes = d->memory_bytes;
        c.jobs = d->jobs;
        c.element_bits = d->element_bits;
        c.series_bin_ps = d->series_bin_ps;
        c.values = d->values;
        int rc = rlt_aggregator_create(&c, &a, &err);
        if (rc != cases[i].code || strcmp(err.what, cases[i].what) != 0)
            fail_msg("case %zu: %d %s", i, rc, err.what);
        assert_true((a == NULL) == (rc != 0));
        rlt_aggregator_free(a);
    }
    rlt_aggregator_config c = {.width = 1, .payload = 128};
    rlt_aggregator *a;
    rlt_error err = {0};
    assert_int_equal(rlt_aggregator_create(&c, &a, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected a number of slots or their memory");
    c.memory_bytes = 255;
    err = (rlt_error){0};
    assert_int_equal(rlt_aggregator_create(&c, &a, &err), RLT_ERANGE);
    assert_string_equal(err.what, "255 bytes hold no slot of 256");
    c.memory_bytes = 3 * 256 + 255;
    assert_int_equal(rlt_aggregator_create(&c, &a, NULL), 0);
    assert_int_equal(rlt_aggregator_slots(a), 3);
    assert_int_equal(rlt_aggregator_memory(a).value_bytes, 3 * 256);
    assert_int_equal(rlt_aggregator_memory(a).state_bits, 3 * 2 * 9);
    rlt_aggregator_free(a);
    c.width = 0;
    err = (rlt_error){0};
    assert_int_equal(rlt_aggregator_create(&c, &a, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected 1 to 4096 contributors, got 0");
    static const char *const refusals[] = {"granted",
                                           "no slots left",
                                           "no tree left",
                                           "the streaming lock is taken",
                                           "more contributors than a slot has bits for",
                                           "?"};
    for (unsigned i = 0; i < 6; i++)
        assert_string_equal(rlt_agg_refusal_text((rlt_agg_refusal)i), refusals[i]);
}

/* Slots that jobs get one after the other, and after some have gone. */
static void gaps_are_found(void **state)
{
    (void)state;
    static const struct {
        char what; /* + a job that wants so many slots; - that job ends */
        uint32_t n, got;
    } steps[] = {
        {'+', 3, 3},              /* 0 1 2 */
        {'+', 2, 2},              /* 3 4 */
        {'+', 4, 4},              /* 5 6 7 8 */
        {'+', 5, 1},              /* 9 */
        {'-', 1, 0}, {'+', 5, 2}, /* 3 4 again */
        {'-', 0, 0}, {'-', 3, 0}, /* 0 1 2, 9 */
        {'+', 1, 1},              /* 0 */
        {'+', 4, 2},              /* 1 2 is the largest gap */
        {'-', 2, 0}, {'+', 9, 5}, /* 5 to 9 */
        {'-', 5, 0}, {'-', 6, 0}, /* 0 1 2 */
        {'+', 0, 3},              /* 0: as many as there are */
    };
    rlt_aggregator *a = make((rlt_aggregator_config){.slots = 10, .sharing = RLT_SHARE_FIRST_COME});
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint32_t job, got;
        rlt_agg_refusal why;
        if (steps[i].what == '-') {
            rlt_aggregator_release(a, steps[i].n, 0);
            continue;
        }
        assert_int_equal(
            rlt_aggregator_admit(a, &(rlt_agg_job){.need = 2, .slots = steps[i].n}, &job, &why, &got, NULL),
            0);
        if (got != steps[i].got)
            fail_msg("step %zu: %u slots", i, got);
        /* All slots of all jobs are different: each is claimed. */
        for (uint32_t s = 0; s < got; s++) {
            rlt_agg_verdict v;
            rlt_aggregator_packet(a, &(rlt_agg_packet){.job = job, .slot = s, .chunk = s}, 0, &v);
            assert_true(v.claimed);
        }
    }
    rlt_error err = {0};
    uint32_t job, got;
    rlt_agg_refusal why;
    assert_int_equal(rlt_aggregator_admit(a, &(rlt_agg_job){.slots = 1}, &job, &why, &got, &err), RLT_ERANGE);
    assert_string_equal(err.what, "a job without contributors");
    rlt_aggregator_free(a);
}

/* A number is given again after its job is forgotten; what it counted stays in the sum. */
static void numbers_are_reused(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){.slots = 4, .jobs = 4});
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(admit(a, (rlt_agg_job){.need = 2, .slots = 1}), i);
    rlt_agg_verdict v;
    rlt_aggregator_packet(a, &(rlt_agg_packet){.job = 1}, 0, &v);
    rlt_aggregator_release(a, 0, 0);
    assert_int_equal(admit(a, (rlt_agg_job){.need = 2, .slots = 1}), 3); /* 0 is not forgotten */
    rlt_aggregator_forget(a, 1, 0);
    rlt_aggregator_forget(a, 1, 0);
    rlt_aggregator_forget(a, 4, 0); /* there is none yet */
    assert_int_equal(rlt_aggregator_counts(a, 1).packets, 1);
    assert_int_equal(admit(a, (rlt_agg_job){.need = 2, .slots = 1}), 1);
    assert_int_equal(rlt_aggregator_counts(a, 1).packets, 0);
    assert_int_equal(rlt_aggregator_counts(a, RLT_NONE).packets, 1);
    assert_int_equal(admit(a, (rlt_agg_job){.need = 2, .slots = 1}), 4);
    rlt_agg_refusal why;
    uint32_t job, got;
    assert_int_equal(rlt_aggregator_admit(a, &(rlt_agg_job){.need = 2, .slots = 1}, &job, &why, &got, NULL),
                     0);
    assert_int_equal(why, RLT_AGG_NO_SLOTS); /* and no number is taken */
    assert_false(rlt_aggregator_lock(a, 0)); /* released */
    assert_false(rlt_aggregator_lock(a, 5));
    assert_true(rlt_aggregator_lock(a, 2));
    assert_true(rlt_aggregator_lock(a, 2));
    assert_false(rlt_aggregator_lock(a, 3)); /* the whole switch is locked */
    rlt_aggregator_unlock(a, 2);
    assert_true(rlt_aggregator_lock(a, 3));
    rlt_aggregator_release(a, 3, 0);
    assert_true(rlt_aggregator_lock(a, 2));
    rlt_aggregator_free(a);
}

/* Residency by powers of two, and bins that fill up. */
static void time_in_slots(void **state)
{
    (void)state;
    rlt_aggregator *a =
        make((rlt_aggregator_config){.mode = RLT_SLOTS_CREDIT, .slots = 1, .series_bin_ps = 1});
    uint32_t j = admit(a, (rlt_agg_job){.need = 2, .slots = 1, .root = true});
    static const rlt_time stays[] = {0, 1, 2, 3, 4, 7, 8};
    rlt_time at = 0, busy = 0;
    rlt_agg_verdict v;
    for (uint32_t i = 0; i < 7; i++) {
        rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = i}, at, &v);
        at += stays[i];
        busy += stays[i];
        rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = i, .child = 1}, at, &v);
        assert_int_equal(v.action, RLT_AGG_MULTICAST);
        at++;
    }
    rlt_agg_occupancy o = rlt_aggregator_occupancy(a, 2 * at);
    static const uint64_t bins[] = {2, 2, 2, 1};
    assert_memory_equal(o.residency, bins, sizeof bins);
    assert_true(o.integral >= (double)busy && o.integral <= (double)busy);
    const double off = o.mean * (double)(2 * at) - (double)busy;
    assert_true(off < 1e-9 && off > -1e-9);
    assert_float_equal(rlt_aggregator_occupancy(a, 0).mean, 0, 0);
    rlt_time width;
    assert_int_equal(rlt_aggregator_bins(a, &width), at - 1);
    assert_int_equal(width, 1);
    assert_float_equal(rlt_aggregator_bin(a, 1), 1, 0); /* 0, then 1 to 2, then 3 to 5 */
    assert_float_equal(rlt_aggregator_bin(a, 2), 0, 0);
    assert_float_equal(rlt_aggregator_bin(a, 3), 1, 0);
    /* 1023 is the last bin of this width; one more, and two become one. */
    rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = 9}, 1022, &v);
    rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = 9, .child = 1}, 1023, &v);
    assert_int_equal(rlt_aggregator_bins(a, &width), 1023);
    assert_int_equal(width, 1);
    rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = 10}, 1024, &v);
    assert_int_equal(rlt_aggregator_bins(a, &width), 512);
    assert_int_equal(width, 2);
    assert_float_equal(rlt_aggregator_bin(a, 0), 0.5, 0);
    assert_float_equal(rlt_aggregator_bin(a, 1), 0.5, 0);
    assert_float_equal(rlt_aggregator_bin(a, 511), 0.5, 0);
    assert_float_equal(rlt_aggregator_bin(a, 512), 0, 0);
    o = rlt_aggregator_occupancy(a, 1034); /* it is still held */
    assert_int_equal(o.now, 1);
    assert_float_equal(o.integral, (double)busy + 1 + 10, 0);
    /* Bins beyond the merged ones begin empty. */
    rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = 10, .child = 1}, 2046, &v);
    assert_int_equal(rlt_aggregator_bins(a, &width), 1023);
    for (uint32_t i = 512; i < 1023; i++)
        assert_float_equal(rlt_aggregator_bin(a, i), 1, 0);
    rlt_aggregator_free(a);
}

/* Contributors beyond the first 64, and packets without values in a slot that had some. */
static void wide_and_empty(void **state)
{
    (void)state;
    rlt_aggregator *a = make((rlt_aggregator_config){.slots = 1, .width = 128});
    uint32_t j = admit(a, (rlt_agg_job){.need = 3, .slots = 1, .root = true});
    rlt_agg_verdict v;
    static const uint32_t children[] = {0, 64, 127};
    for (uint32_t i = 0; i < 3; i++) {
        rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .child = children[i]}, 0, &v);
        assert_int_equal(v.action, i < 2 ? RLT_AGG_HOLD : RLT_AGG_MULTICAST);
    }
    assert_int_equal(v.sum.count, 3);
    assert_true(v.sum.bits[0] == 1 && v.sum.bits[1] == (1 | UINT64_C(1) << 63));
    rlt_aggregator_free(a);

    a = make((rlt_aggregator_config){.mode = RLT_SLOTS_CREDIT, .slots = 1, .values = 2});
    j = admit(a, (rlt_agg_job){.need = 2, .slots = 1, .root = true});
    static const rlt_agg_value some[] = {{5}, {-6}};
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        const rlt_agg_value *first = chunk ? NULL : some;
        rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = chunk, .values = first}, 0, &v);
        rlt_aggregator_packet(a, &(rlt_agg_packet){.job = j, .chunk = chunk, .child = 1, .values = some}, 0,
                              &v);
        assert_int_equal(v.action, RLT_AGG_MULTICAST);
        assert_int_equal(v.sum.values[0].i, chunk ? 5 : 10);
        assert_int_equal(v.sum.values[1].i, chunk ? -6 : -12);
    }
    rlt_aggregator_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_at_the_root),
        cmocka_unit_test(pool_below),
        cmocka_unit_test(hashed),
        cmocka_unit_test(partial_sums),
        cmocka_unit_test(by_credit),
        cmocka_unit_test(by_request),
        cmocka_unit_test(values_are_summed),
        cmocka_unit_test(configurations),
        cmocka_unit_test(gaps_are_found),
        cmocka_unit_test(numbers_are_reused),
        cmocka_unit_test(time_in_slots),
        cmocka_unit_test(wide_and_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
