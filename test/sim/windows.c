/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts on threads against a list of all events, which runs the earliest one first and knows no parts. Each
 * part handles the same events at the same times, and is told when the work of all has ended. Bounds. The
 * first part's error is returned, and a stop of part 0 stops all.
 */
#include "sim/windows.h"

#include <string.h>

#include "sim/base/error.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { PARTS = 4, LOG = 600, AHEAD = 1000 };

/* What happens: event `id` at a part at a time. Its hash says what it leads to. */
typedef struct happening {
    rlt_time when;
    uint64_t id;
    uint32_t part;
} happening;

typedef struct member {
    struct crowd *crowd;
    rlt_sim *sim;
    int handler;
    uint32_t self, n, windows;
    happening log[LOG];
    uint64_t ids[LOG]; /* of events that are scheduled */
    rlt_time last, told;
} member;

typedef struct crowd {
    rlt_windows *windows;
    uint32_t n, left_out; /* a part that fails at its third event, or n */
    uint64_t seed;
    bool stops;
    member parts[PARTS];
} crowd;

/* Lists what an event leads to: none, one or two events, at another part after AHEAD at least, at the same
 * part at any time. Returns their number. */
static uint32_t follow(const crowd *c, const happening *h, happening *next)
{
    dice d = {.seed = c->seed ^ h->id};
    uint32_t n = h->id >> 40 < 20 ? below(&d, 3) : 0, kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        happening *e = &next[kept++];
        e->part = below(&d, c->n);
        e->when = h->when + 1 + below(&d, 3000) + (e->part == h->part ? 0 : AHEAD - 1);
        e->id = ((h->id >> 40) + 1) << 40 | (rlt_random_u64(c->seed, 1, i, h->id) >> 24);
    }
    return kept;
}

static void schedule(member *m, rlt_time when, uint64_t id)
{
    rlt_sim_at(m->sim, when, RLT_COMPLETE, m->handler, id);
}

static void handle(void *ctx, uint64_t id)
{
    member *m = ctx;
    crowd *c = m->crowd;
    happening h = {rlt_sim_now(m->sim), id, m->self}, next[2];
    assert_true(m->n < LOG);
    m->log[m->n++] = h;
    m->last = h.when;
    if (m->self >= c->left_out && m->n == 3)
        rlt_sim_fail(m->sim, RLT_ESCHEMA, "here", "part %u", m->self);
    if (c->stops && m->self + 1 == c->n && m->n == 3)
        rlt_sim_stop(c->parts[0].sim);
    uint32_t n = follow(c, &h, next);
    for (uint32_t i = 0; i < n; i++) {
        if (next[i].part == m->self) {
            schedule(m, next[i].when, next[i].id);
            continue;
        }
        happening *letter =
            rlt_windows_letter(c->windows, m->self, next[i].part, next[i].when, sizeof *letter);
        assert_non_null(letter);
        *letter = next[i];
    }
}

static void take(void *ctx, uint32_t from, const void *letter)
{
    member *m = ctx;
    const happening *h = letter;
    assert_true(from < m->crowd->n && from != m->self && h->part == m->self);
    schedule(m, h->when, h->id);
}

static void begin(void *ctx, rlt_time ended)
{
    member *m = ctx;
    m->told = ended;
    m->windows++;
}

/* Ends with its last event; odd parts say that some goes on until they have handled one. */
static rlt_time ended(void *ctx)
{
    const member *m = ctx;
    return m->self % 2 && m->n == 0 ? -1 : m->last;
}

static int run(crowd *c, rlt_error *err)
{
    assert_int_equal(rlt_windows_create(c->n, AHEAD, &c->windows, err), 0);
    for (uint32_t i = 0; i < c->n; i++) {
        member *m = &c->parts[i];
        m->crowd = c;
        m->self = i;
        assert_int_equal(rlt_sim_create(&m->sim, NULL), 0);
        m->handler = rlt_sim_handler(m->sim, handle, m);
        rlt_windows_join(c->windows, i, m->sim, ended, m);
        rlt_windows_listen(c->windows, i, &(rlt_windows_client){m, take, begin});
        schedule(m, 10 * i, i);
    }
    int rc = rlt_windows_run(c->windows, err);
    for (uint32_t i = 0; i < c->n; i++)
        rlt_sim_free(c->parts[i].sim);
    rlt_windows_free(c->windows);
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const happening *x = a, *y = b;
    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Runs all events from one list. Returns their number. */
static uint32_t in_order(const crowd *c, happening *done)
{
    static happening wait[PARTS * LOG];
    uint32_t n = c->n, m = 0;
    for (uint32_t i = 0; i < n; i++)
        wait[i] = (happening){10 * i, i, i};
    while (n) {
        qsort(wait, n, sizeof *wait, by_time);
        happening h = wait[0];
        memmove(wait, wait + 1, --n * sizeof *wait);
        done[m++] = h;
        assert_true(m < PARTS * LOG - 2 && n < PARTS * LOG - 2);
        n += follow(c, &h, wait + n);
    }
    return m;
}

static void parts_do_what_one_list_does(void **state)
{
    static happening done[PARTS * LOG];
    (void)state;
    uint64_t most = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        static crowd c;
        memset(&c, 0, sizeof c);
        c.n = c.left_out = 1 + (uint32_t)(seed % PARTS);
        c.seed = seed;
        assert_int_equal(run(&c, NULL), 0);
        uint32_t n = in_order(&c, done), at[PARTS] = {0};
        for (uint32_t i = 0; i < c.n; i++)
            qsort(c.parts[i].log, c.parts[i].n, sizeof *c.parts[i].log, by_time);
        for (uint32_t i = 0; i < n; i++) {
            const member *m = &c.parts[done[i].part];
            const happening *h = &m->log[at[done[i].part]++];
            assert_true(at[done[i].part] <= m->n && h->when == done[i].when && h->id == done[i].id);
        }
        for (uint32_t i = 0; i < c.n; i++) {
            assert_int_equal(at[i], c.parts[i].n);
            assert_int_equal(c.parts[i].told, done[n - 1].when);
            assert_int_equal(c.parts[i].windows, c.parts[0].windows);
        }
        most = n > most ? n : most;
    }
    assert_true(most > 100);
}

static void failures_and_stops_end_all(void **state)
{
    (void)state;
    static crowd c;
    uint32_t failed = 0, stopped = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rlt_error err = {0};
        memset(&c, 0, sizeof c);
        c.n = PARTS;
        c.left_out = seed % 2 ? 1 : PARTS;
        c.stops = seed % 2 == 0;
        c.seed = seed;
        int rc = run(&c, &err);
        uint32_t first = 1;
        while (first < PARTS && c.parts[first].n < 3)
            first++;
        assert_int_equal(rc, err.code);
        if (c.stops) {
            assert_true(rc == 0 || (rc == RLT_ECANCELLED && c.parts[PARTS - 1].n >= 3));
            stopped += rc == RLT_ECANCELLED;
        } else if (first < PARTS) {
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_string_equal(err.where, "here");
            assert_true(strncmp(err.what, "part ", 5) == 0 && strlen(err.what) == 6);
            assert_int_equal((uint32_t)(err.what[5] - '0'), first);
            assert_int_equal(c.parts[first].n, 3);
            failed++;
        } else {
            assert_int_equal(rc, 0);
        }
    }
    print_message("%u failed, %u stopped\n", failed, stopped);
    assert_true(failed > 5 && stopped > 5);
}

static void bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        rlt_time ahead;
        int rc;
    } cases[] = {{0, 1, RLT_ERANGE},  {1, 0, RLT_ERANGE}, {1, -1, RLT_ERANGE},
                 {65, 1, RLT_ERANGE}, {1, 1, 0},          {RLT_MAX_PARTS, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_windows *w = (rlt_windows *)(void *)&w;
        assert_int_equal(rlt_windows_create(cases[i].n, cases[i].ahead, &w, NULL), cases[i].rc);
        assert_int_equal(w != NULL, cases[i].rc == 0);
        rlt_windows_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_do_what_one_list_does),
        cmocka_unit_test(failures_and_stops_end_all),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
