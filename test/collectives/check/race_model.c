/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Races between lanes against a plain graph of what happens after what, written from races.h: drawn steps,
 * waits, messages, reads and writes. How many clocks fit.
 */
#include "collectives/check/races.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"

enum {
    CASES = 1500,
    MEMBERS = 3,
    LANES = 3,
    PLACES = MEMBERS * LANES,
    STEPS = 4,
    BLOCKS = 2,
    ACTIONS = 160,
    MAIL = 40
};

static struct {
    uint32_t n, lanes, steps; /* of all members; drawn cases act at the first MEMBERS of them */
    uint32_t wait_lane[PLACES][STEPS], wait_step[PLACES][STEPS];
    uint32_t waits; /* so many places wait for step 0 of their own lane, where none are drawn */
    bool drawn;
} w;

static uint32_t written_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    assert_true(member < plan->req.n && lane < plan->lanes);
    return w.steps;
}

static void written_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    uint32_t p = member * plan->lanes + lane;
    assert_true(member < plan->req.n && lane < plan->lanes && k < w.steps);
    if (w.drawn && p < PLACES) {
        out->wait_lane = w.wait_lane[p][k];
        out->wait_step = w.wait_step[p][k];
    }
    if (!w.drawn && p < w.waits)
        out->wait_lane = lane;
}

static const rlt_algorithm written = {
    .name = "written", .kinds = UINT32_MAX, .steps = written_steps, .step = written_step};

static int create(uint32_t buffers, uint32_t blocks, rlt_races **out, rlt_error *err)
{
    rlt_plan plan = {.algorithm = &written, .req = {.n = w.n}, .lanes = w.lanes, .blocks = blocks};
    plan.buffers = (uint8_t)buffers;
    return rlt_races_create(&plan, out, err);
}

/* ---- the graph: a node for each thing that happens ---- */

typedef struct access {
    uint32_t p, k;
    bool writes;
} access;

static struct {
    uint32_t n, last[PLACES], step[PLACES], start[PLACES][STEPS], done[PLACES][STEPS];
    bool started[PLACES], before[ACTIONS][ACTIONS];
    uint32_t n_mail, to[MAIL], sent[MAIL], clock[MAIL][PLACES];
    uint32_t n_accesses[MEMBERS * BLOCKS];
    access accesses[MEMBERS * BLOCKS][ACTIONS];
} g;

/* Something happens at a place, after what happened there before and after `cause`. */
static uint32_t happens(uint32_t p, uint32_t cause)
{
    uint32_t node = g.n++;
    for (uint32_t i = 0; i < node; i++)
        g.before[i][node] = (g.last[p] != RLT_NONE && (i == g.last[p] || g.before[i][g.last[p]])) ||
                            (cause != RLT_NONE && (i == cause || g.before[i][cause]));
    g.last[p] = node;
    return node;
}

static bool is_past(uint32_t p, const access *a)
{
    uint32_t node = a->writes ? g.done[a->p][a->k] : g.start[a->p][a->k];
    return a->p == p || (node != RLT_NONE && (node == g.last[p] || g.before[node][g.last[p]]));
}

/* What the races must say: the last write, or else the read by the lowest lane since then. */
static const access *racing(uint32_t p, uint32_t cell, bool writes)
{
    const access *list = g.accesses[cell], *found = NULL;
    uint32_t n = g.n_accesses[cell], i = n;
    while (i > 0 && !list[i - 1].writes)
        i--;
    if (i > 0 && !is_past(p, &list[i - 1]))
        return &list[i - 1];
    for (; writes && i < n; i++)
        if (!is_past(p, &list[i]) && (!found || list[i].p <= found->p))
            found = &list[i];
    return found;
}

/* Returns false after a race. */
static bool touch(rlt_races *r, uint32_t p, uint32_t cell, bool writes)
{
    uint32_t lane = RLT_NONE, step = RLT_NONE, k = g.step[p];
    const access *other = racing(p, cell, writes);
    bool ordered = (writes ? rlt_races_write : rlt_races_read)(r, cell, p, k, &lane, &step);
    assert_int_equal(ordered, other == NULL);
    if (other) {
        assert_int_equal(lane, other->p % w.lanes);
        assert_int_equal(step, other->k);
    }
    g.accesses[cell][g.n_accesses[cell]++] = (access){p, k, writes};
    return ordered;
}

static void send(rlt_races *r, dice *d, uint32_t p, uint32_t places)
{
    if (g.n_mail == MAIL || !rlt_races_width(r))
        return;
    assert_int_equal(rlt_races_width(r), w.n * w.lanes);
    memcpy(g.clock[g.n_mail], rlt_races_clock(r, p), places * sizeof(uint32_t));
    g.sent[g.n_mail] = g.last[p];
    g.to[g.n_mail++] = below(d, places);
}

/* A step starts, if what it waits for is done. */
static void start(rlt_races *r, uint32_t p)
{
    uint32_t k = g.step[p], lane = w.wait_lane[p][k], cause = RLT_NONE;
    if (lane < w.lanes) {
        uint32_t other = p - p % w.lanes + lane;
        cause = g.done[other][w.wait_step[p][k]];
        if (cause == RLT_NONE)
            return;
        rlt_races_wait(r, p, other, w.wait_step[p][k]);
    }
    rlt_races_start(r, p, k);
    g.start[p][k] = happens(p, cause);
    g.started[p] = true;
}

/* Something drawn happens at a place. Returns false after a race. */
static bool act(rlt_races *r, dice *d, uint32_t p, uint32_t places)
{
    uint32_t cell = p / w.lanes * BLOCKS + below(d, BLOCKS), mail = 0;
    rlt_error err = {0};
    if (!g.started[p]) {
        start(r, p);
        if (!g.started[p])
            return true;
        if (below(d, 2))
            send(r, d, p, places);
        return below(d, 3) || touch(r, p, cell, false);
    }
    while (mail < g.n_mail && g.to[mail] != p)
        mail++;
    if (mail < g.n_mail && below(d, 2)) {
        rlt_races_join(r, p, g.clock[mail]);
        happens(p, g.sent[mail]);
        g.to[mail] = RLT_NONE;
    }
    if (below(d, 6) == 0 && !touch(r, p, cell, true))
        return false;
    if (below(d, 2)) {
        assert_int_equal(rlt_races_done(r, p, g.step[p], &err), 0);
        g.done[p][g.step[p]++] = happens(p, RLT_NONE);
        g.started[p] = false;
    }
    return true;
}

/* Returns whether a race ended the run. */
static bool one_case(uint32_t number, bool partial)
{
    dice d = {.seed = number};
    rlt_races *r = NULL;
    rlt_error err = {0};
    uint32_t members = 1 + below(&d, MEMBERS), places;
    bool ordered = true;
    memset(&w, 0, sizeof w);
    memset(&g, 0, sizeof g);
    memset(g.last, 0xff, sizeof g.last);
    memset(g.start, 0xff, sizeof g.start);
    memset(g.done, 0xff, sizeof g.done);
    w.drawn = true;
    w.lanes = 2 + below(&d, LANES - 1);
    w.n = partial ? 4097 : members;
    w.steps = STEPS;
    places = members * w.lanes;
    for (uint32_t p = 0; p < PLACES; p++)
        for (uint32_t k = 0; k < STEPS; k++) {
            w.wait_lane[p][k] = below(&d, 3) ? below(&d, w.lanes) : below(&d, 2) ? RLT_NONE : w.lanes + 1;
            w.wait_step[p][k] = k ? below(&d, k) : 0;
            if (k == 0 && below(&d, 4))
                w.wait_lane[p][k] = RLT_NONE;
        }
    assert_int_equal(create(1, BLOCKS, &r, &err), 0);
    assert_int_equal(rlt_races_width(r), partial ? 0 : places);
    for (uint32_t i = 0; i < ACTIONS / 2 && ordered; i++) {
        uint32_t p = below(&d, places);
        ordered = g.step[p] == STEPS || act(r, &d, p, places);
    }
    rlt_races_free(r);
    return !ordered;
}

static void as_stated(void **state)
{
    uint32_t races = 0;
    (void)state;
    for (uint32_t i = 0; i < CASES; i++)
        races += one_case(i, false);
    assert_true(races > CASES / 10 && races < CASES - CASES / 50);
    for (uint32_t i = 0; i < 12; i++)
        one_case(CASES + i, true);
}

/* Clocks of all places, two for each place and one for each awaited step, within 2^29 bytes; else clocks of
 * the member's lanes alone, one for each place and awaited step, within as many. */
static void room(void **state)
{
    static const struct {
        uint32_t n, lanes, steps, waits, buffers, blocks, width;
        int code;
    } rows[] = {
        {2, 4096, 0, 0, 1, 1, 8192, 0},
        {4097, 2, 0, 0, 1, 1, 0, 0},
        {4095, 2, 1, 8, 1, 1, 8190, 0},
        {4095, 2, 1, 9, 1, 1, 0, 0},
        {4095, 2, 2, 8, 1, 1, 8190, 0},
        {8, 4096, 0, 0, 1, 1, 0, 0},
        {9, 4096, 0, 0, 1, 1, 0, RLT_ERANGE},
        {8, 4096, 1, 1, 1, 1, 0, RLT_ERANGE},
        {1, 2, 0, 0, 1, (1u << 26) + 1, 0, RLT_ERANGE},
        {1, 2, 0, 0, 2, (1u << 25) + 1, 0, RLT_ERANGE},
        {2, 2, 0, 0, 1, (1u << 25) + 1, 0, RLT_ERANGE},
        {1, 4096, 0, 0, 1, (1u << 15) + 1, 0, RLT_ERANGE},
        {1, 4, 0, 0, 1, 1u << 22, 4, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_races *r = NULL;
        rlt_error err = {0};
        char says[120];
        memset(&w, 0, sizeof w);
        w.n = rows[i].n;
        w.lanes = rows[i].lanes;
        w.steps = rows[i].steps;
        w.waits = rows[i].waits;
        int rc = create(rows[i].buffers, rows[i].blocks, &r, &err);
        if (rc != rows[i].code || (!rc && rlt_races_width(r) != rows[i].width))
            fail_msg("row %zu: %d, width %zu", i, rc, rc ? 0 : rlt_races_width(r));
        snprintf(says, sizeof says, "%u members x %u lanes over %u blocks are too many to check", w.n,
                 w.lanes, rows[i].blocks);
        assert_string_equal(err.what, rc ? says : "");
        if (!rc)
            rlt_races_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_stated), cmocka_unit_test(room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
