/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LogGOPSim's cost model: rows by hand, its bounds, and random programs against a list of events that is searched
 * from end to end. */
#include "workload/timing/loggops.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/traces/loggops.h"

/* ---- by hand */

typedef struct row {
    const char *parameters, *text;
    uint64_t ends[3]; /* by rank; the rest is 0 */
    uint32_t ranks;
    uint64_t messages, calculations, bytes;
} row;

static const row rows[] = {
    /* The example of the header: the message arrives at 4000. */
    {"S=65535",
     "num_ranks 2 rank 0 { a: send 1001b to 1 } rank 1 { a: recv 1001b from 0 }",
     {1500, 11500},
     2,
     1,
     0,
     1001},
    /* A second send begins when the NIC is free, at 7000, and arrives at 11000. */
    {"S=65535",
     "num_ranks 3 rank 0 { a: send 1001b to 1 b: send 1b to 2 b requires a } rank 1 { a: recv 1001b from 0 } "
     "rank 2 { a: recv 1b from 0 }",
     {8500, 11500, 12500},
     3,
     2,
     0,
     1002},
    /* With a NIC of its own it begins when the CPU is free, at 1500. */
    {"S=65535",
     "num_ranks 3 rank 0 { a: send 1001b to 1 b: send 1b to 2 nic 1 b requires a } "
     "rank 1 { a: recv 1001b from 0 } rank 2 { a: recv 1b from 0 }",
     {3000, 11500, 7000},
     3,
     2,
     0,
     1002},
    /* A message of no bytes costs as much as one of one byte. */
    {"L=1000,o=100,g=50,G=2,O=1",
     "num_ranks 2 rank 0 { a: send 0b to 1 } rank 1 { a: recv 0b from 0 }",
     {100, 1200},
     2,
     1,
     0,
     0},
    /* O above G: the sender to 100 + 9 * 5, the receiver to 1100 + 100 + 9 * 5. */
    {"L=1000,o=100,g=50,G=2,O=5",
     "num_ranks 2 rank 0 { a: send 10b to 1 } rank 1 { a: recv 10b from 0 }",
     {145, 1245},
     2,
     1,
     0,
     10},
    /* Of what begins together, a send takes the CPU before a calc that stands before it. */
    {"L=1000,o=100,g=50,G=0",
     "num_ranks 2 rank 0 { a: calc 70 b: send 1b to 1 } rank 1 { a: recv 1b from 0 }",
     {170, 1200},
     2,
     1,
     1,
     1},
    /* The CPU of rank 0 that ends last is its second of three; the longest rank is not the last one. */
    {"L=0",
     "num_ranks 3 rank 0 { a: calc 7 b: calc 90 cpu 1 c: calc 8 cpu 2 } rank 1 { a: calc 100 } "
     "rank 2 { a: calc 40 cpu 2 }",
     {90, 100, 40},
     3,
     0,
     5,
     0},
    /* The receive is late, at 5000: a message of S + 1 bytes holds its sender until then, one of S bytes does not. */
    {"L=1000,o=100,g=50,G=0,S=20",
     "num_ranks 2 rank 0 { a: send 21b to 1 b: calc 10 b requires a } "
     "rank 1 { w: calc 5000 a: recv 21b from 0 a requires w }",
     {5010, 5100},
     2,
     1,
     2,
     21},
    {"L=1000,o=100,g=50,G=0,S=20",
     "num_ranks 2 rank 0 { a: send 20b to 1 b: calc 10 b requires a } "
     "rank 1 { w: calc 5000 a: recv 20b from 0 a requires w }",
     {110, 5100},
     2,
     1,
     2,
     20},
    /* Its NIC is held, too: another CPU of the sender sends its next message at 5000. */
    {"L=1000,o=100,g=50,G=0,S=20",
     "num_ranks 3 rank 0 { a: send 21b to 1 b: send 1b to 2 cpu 1 b requires a } "
     "rank 1 { w: calc 5000 a: recv 21b from 0 a requires w } rank 2 { a: recv 1b from 0 }",
     {5100, 5100, 6200},
     3,
     2,
     1,
     22},
    /* Ranks without work. */
    {"L=0", "num_ranks 3 rank 0 { } rank 1 { a: calc 5 } rank 2 { }", {0, 5, 0}, 3, 0, 1, 0},
};

static void by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *w = &rows[i];
        rlt_loggops_result r = test_loggops(w->text, w->parameters);
        uint64_t last = 0;
        assert_int_equal(r.ranks, w->ranks);
        for (uint32_t k = 0; k < r.ranks; k++) {
            if (r.rank_end_ns[k] != w->ends[k])
                fail_msg("row %zu: rank %" PRIu32 " ends at %" PRIu64, i, k, r.rank_end_ns[k]);
            last = w->ends[k] > last ? w->ends[k] : last;
        }
        assert_int_equal(r.end_ns, last);
        assert_int_equal(r.messages, w->messages);
        assert_int_equal(r.calculations, w->calculations);
        assert_int_equal(r.bytes, w->bytes);
        rlt_loggops_free(&r);
        assert_true(!r.rank_end_ns && !r.ranks && !r.end_ns && !r.messages);
    }
}

/* ---- bounds and refusals */

/* Times fit into 2^63 - 1 ps: 9 223 372 036 854 775 ns. */
static void longest(void **state)
{
    static const char nine[] = "num_ranks 1 rank 0 { a: calc 1000000000000000 b: calc 1000000000000000 "
                               "c: calc 1000000000000000 d: calc 1000000000000000 e: calc 1000000000000000 "
                               "f: calc 1000000000000000 g: calc 1000000000000000 h: calc 1000000000000000 "
                               "i: calc 1000000000000000 j: calc 2233720368547%s }";
    char text[sizeof nine + 10];
    (void)state;
    snprintf(text, sizeof text, nine, "75");
    assert_int_equal(test_loggops_end(text, "L=0"), UINT64_C(9223372036854775));
    snprintf(text, sizeof text, nine, "76");
    assert_int_equal(test_loggops_refused(text, "goal", "ends after more than 106 days"), RLT_ERANGE);
}

/* Costs whose product, or sum, comes back to a small number of 64 bits. The first is 2^45 times 2^19, the second
 * 2^64 - 2^19 and 2^20. */
static void beyond(void **state)
{
    static const struct {
        uint64_t bytes;
        rlt_loggops p;
    } cases[] = {{(UINT64_C(1) << 45) + 1, {.G = 1 << 19}},
                 {(UINT64_C(1) << 45) + 1, {.O = 1 << 19}},
                 {UINT64_C(1) << 45, {.g = 1 << 20, .G = 1 << 19}},
                 {UINT64_C(1) << 45, {.o = 1 << 20, .O = 1 << 19}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_loggops_result r;
        rlt_error err = {0};
        char text[200];
        snprintf(text, sizeof text,
                 "num_ranks 2 rank 0 { a: send %" PRIu64 "b to 1 } rank 1 { a: recv %" PRIu64 "b from 0 }",
                 cases[i].bytes, cases[i].bytes);
        assert_int_equal(test_loggops_run(text, &cases[i].p, &r, &err), RLT_ERANGE);
        assert_non_null(strstr(err.what, "106 days"));
        rlt_loggops_free(&r);
    }
}

static void parameters(void **state)
{
    static const rlt_loggops just_one[] = {{.L = 1}, {.o = 1}, {.g = 1}, {.G = 1}, {.O = 1}};
    rlt_loggops p = rlt_loggops_default();
    rlt_error err = {0};
    (void)state;
    assert_true(p.L == 2500 && p.o == 1500 && p.g == 1000 && p.G == 6 && p.O == 0 && p.S == 65535);
    assert_int_equal(rlt_loggops_parse("g=7,S=9", &p, &err), 0);
    assert_true(p.L == 2500 && p.o == 1500 && p.g == 7 && p.G == 6 && p.O == 0 && p.S == 9);
    assert_int_equal(rlt_loggops_parse("", &p, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "expected NAME=VALUE, got ''");
    for (size_t i = 0; i < sizeof just_one / sizeof *just_one; i++)
        for (uint64_t above = 0; above < 2; above++) {
            const rlt_loggops *one = &just_one[i];
            uint64_t value = UINT64_C(1000000000000000) + above;
            rlt_loggops_result r = {.ranks = 9, .messages = 9, .end_ns = 9};
            rlt_loggops q = {.L = one->L * value,
                             .o = one->o * value,
                             .g = one->g * value,
                             .G = one->G * value,
                             .O = one->O * value};
            err = (rlt_error){0};
            int rc = test_loggops_run("num_ranks 1 rank 0 { a: calc 3 }", &q, &r, &err);
            assert_int_equal(rc, above ? RLT_ERANGE : 0);
            assert_string_equal(err.what, above ? "a parameter is above 10^15" : "");
            assert_string_equal(err.where, above ? "loggops" : "");
            assert_true(r.ranks == !above && r.end_ns == (above ? 0 : 3) && r.messages == 0);
            rlt_loggops_free(&r);
        }
}

/* A rank has 64 CPUs and 64 NICs, and as many as its largest numbers say. */
static void units(void **state)
{
    (void)state;
    assert_int_equal(
        test_loggops_end("num_ranks 40 rank 0 { a: calc 4 } rank 39 { a: calc 5 b: calc 6 cpu 63 "
                         "s: send 1b to 38 cpu 63 nic 63 s requires b } "
                         "rank 38 { r: recv 1b from 39 cpu 62 nic 63 }",
                         "L=1000,o=100,g=50"),
        6 + 100 + 1000 + 100);
    assert_int_equal(test_loggops_refused("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5 cpu 64\n}", ":4",
                                          "more than 64 CPUs or NICs"),
                     RLT_ERANGE);
    assert_int_equal(test_loggops_refused("num_ranks 2\nrank 0 {\na: send 1b to 1 nic 64\n}\nrank 1 {\n"
                                          "a: recv 1b from 0\n}",
                                          ":3", "more than 64 CPUs or NICs"),
                     RLT_ERANGE);
}

/* The first operation that never begins is named, with its rank. Others before it have ended. */
static void stalls(void **state)
{
    (void)state;
    assert_int_equal(test_loggops_refused("num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\n"
                                          "c: calc 1\nd: calc 1\nc requires d\nd requires c\n}",
                                          ":7", "rank 1: this operation never begins"),
                     RLT_ESTALL);
}

/* ---- random programs */

enum { RANKS = 5, UNITS = 3, PAIRS = 60, OPS = 2 * PAIRS, EDGES = 3 * OPS, TEXT = 1 << 15 };
enum { SEND, RECEIVE, CALC }; /* in the order in which they start */

typedef struct deed {
    uint32_t kind, rank, peer, tag, cpu, nic, other, missing;
    uint64_t bytes;
} deed;

typedef struct notice {
    uint64_t time;
    uint32_t made, deed;
    bool arrival;
} notice;

typedef struct twin {
    rlt_loggops p;
    uint32_t ranks, n, n_edges, n_notices, made, n_parked, n_freed, done;
    deed deeds[OPS];
    struct {
        uint32_t deed, needs;
        bool early;
    } edges[EDGES];
    notice notices[2 * OPS];
    uint32_t parked[OPS],
        freed[OPS]; /* without a partner, in the order of their coming; freed by one event */
    uint64_t cpu[RANKS][UNITS], out[RANKS][UNITS], in[RANKS][UNITS];
} twin;

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void note(twin *w, uint64_t time, uint32_t made, uint32_t of, bool arrival)
{
    w->notices[w->n_notices++] = (notice){time, made, of, arrival};
}

/* Starts what was freed: sends, then receives, then calcs. */
static void start(twin *w)
{
    uint32_t n = w->n_freed;
    for (uint32_t kind = SEND; kind <= CALC; kind++)
        for (uint32_t i = 0; i < n; i++) {
            const deed *d = &w->deeds[w->freed[i]];
            if (d->kind == kind)
                note(w, w->cpu[d->rank][d->cpu], w->made++, w->freed[i], false);
        }
    w->n_freed = 0;
}

static void settle(twin *w, uint32_t of, bool early)
{
    w->done += !early;
    for (uint32_t i = 0; i < w->n_edges; i++)
        if (w->edges[i].needs == of && w->edges[i].early == early &&
            --w->deeds[w->edges[i].deed].missing == 0)
            w->freed[w->n_freed++] = w->edges[i].deed;
}

/* Finds the first partner that waits, or lets the deed wait. Returns OPS if it waits. */
static uint32_t partner(twin *w, uint32_t of)
{
    const deed *d = &w->deeds[of];
    for (uint32_t i = 0; i < w->n_parked; i++) {
        uint32_t at = w->parked[i];
        const deed *o = &w->deeds[at];
        if (o->kind != d->kind && o->rank == d->peer && o->peer == d->rank && o->tag == d->tag) {
            w->n_parked--;
            for (; i < w->n_parked; i++)
                w->parked[i] = w->parked[i + 1];
            return at;
        }
    }
    w->parked[w->n_parked++] = of;
    return OPS;
}

static void have_met(twin *w, uint32_t receive, uint32_t send, uint64_t time)
{
    const deed *s = &w->deeds[send];
    settle(w, receive, false);
    start(w);
    if (s->bytes > w->p.S) {
        w->cpu[s->rank][s->cpu] = most(w->cpu[s->rank][s->cpu], time);
        w->out[s->rank][s->nic] = most(w->out[s->rank][s->nic], time);
        settle(w, send, false);
        start(w);
    }
}

static void occur(twin *w, notice e)
{
    const deed *d = &w->deeds[e.deed], *at = e.arrival ? &w->deeds[d->other] : d;
    uint64_t *cpu = &w->cpu[at->rank][at->cpu];
    uint64_t *nic = e.arrival ? &w->in[at->rank][at->nic] : &w->out[at->rank][at->nic];
    uint64_t more = d->bytes ? d->bytes - 1 : 0;
    uint64_t ready = d->kind == CALC ? *cpu : d->kind == RECEIVE ? 0 : most(*cpu, *nic);
    if (ready > e.time) {
        note(w, ready, e.made, e.deed, e.arrival);
        return;
    }
    if (d->kind == SEND) {
        *cpu = e.time + w->p.o + more * (e.arrival ? most(w->p.O, w->p.G) : w->p.O);
        *nic = e.time + w->p.g + more * w->p.G;
    } else if (d->kind == CALC) {
        *cpu = e.time + d->bytes;
    }
    uint32_t found = e.arrival || d->kind == RECEIVE ? partner(w, e.deed) : OPS;
    if (!e.arrival)
        settle(w, e.deed, true);
    if (!e.arrival && d->kind == SEND)
        note(w, e.time + w->p.o + w->p.L, w->made++, e.deed, true);
    if (!e.arrival && (d->kind == CALC || (d->kind == SEND && d->bytes <= w->p.S)))
        settle(w, e.deed, false);
    if (found == OPS)
        start(w);
    else
        have_met(w, e.arrival ? found : e.deed, e.arrival ? e.deed : found, e.time);
}

/* Takes the first notice of all, again and again. */
static void play(twin *w)
{
    for (uint32_t r = 0; r < w->ranks; r++) {
        for (uint32_t i = 0; i < w->n; i++)
            if (w->deeds[i].rank == r && !w->deeds[i].missing)
                w->freed[w->n_freed++] = i;
        start(w);
    }
    while (w->n_notices) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < w->n_notices; i++) {
            const notice *a = &w->notices[i], *b = &w->notices[first];
            if (a->time < b->time || (a->time == b->time && a->made < b->made))
                first = i;
        }
        notice e = w->notices[first];
        w->notices[first] = w->notices[--w->n_notices];
        occur(w, e);
    }
}

/* Draws messages between ranks, and calcs, in an order of all ranks. Deeds are then arranged by rank. */
static void draw_deeds(dice *k, twin *w, uint32_t pairs)
{
    static const uint64_t sizes[] = {0, 1, 19, 20, 21, 300};
    deed drawn[OPS];
    uint32_t n = 0, place[OPS], cpus = 1 + below(k, UNITS), nics = 1 + below(k, UNITS);
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t a = below(k, w->ranks), b = (a + 1 + below(k, w->ranks - 1)) % w->ranks, tag = below(k, 2);
        uint64_t bytes = sizes[below(k, 6)];
        drawn[n] = (deed){.kind = SEND, .rank = a, .peer = b, .tag = tag, .other = n + 1, .bytes = bytes};
        drawn[n + 1] = (deed){.kind = RECEIVE, .rank = b, .peer = a, .tag = tag, .other = n, .bytes = bytes};
        if (below(k, 2)) {
            drawn[n] = (deed){.kind = CALC, .rank = a, .other = n, .bytes = below(k, 40) * 10};
            n -= 1;
        }
        n += 2;
    }
    for (uint32_t i = 0; i < n; i++) {
        drawn[i].cpu = below(k, cpus);
        drawn[i].nic = drawn[i].kind == CALC ? 0 : below(k, nics);
    }
    w->n = 0;
    for (uint32_t r = 0; r < w->ranks; r++)
        for (uint32_t i = 0; i < n; i++)
            if (drawn[i].rank == r) {
                place[i] = w->n;
                w->deeds[w->n++] = drawn[i];
            }
    for (uint32_t i = 0; i < w->n; i++)
        w->deeds[i].other = place[w->deeds[i].other];
}

/* Each deed waits for up to two earlier ones of its rank. */
static void draw_edges(dice *k, twin *w)
{
    for (uint32_t i = 1, first = 0; i < w->n; i++) {
        uint32_t last = OPS;
        if (w->deeds[i].rank != w->deeds[i - 1].rank)
            first = i;
        for (uint32_t e = 0, wanted = i > first ? below(k, 3) : 0; e < wanted; e++) {
            uint32_t back = i - first < 4 ? i - first : 4, needs = i - 1 - below(k, back);
            if (needs == last)
                continue;
            last = needs;
            w->edges[w->n_edges].deed = i;
            w->edges[w->n_edges].needs = needs;
            w->edges[w->n_edges++].early = below(k, 4) == 0;
            w->deeds[i].missing++;
        }
    }
}

static void write_goal(const twin *w, char *text)
{
    size_t at = (size_t)snprintf(text, TEXT, "num_ranks %" PRIu32 "\n", w->ranks);
    for (uint32_t r = 0, e = 0; r < w->ranks; r++) {
        at += (size_t)snprintf(text + at, TEXT - at, "rank %" PRIu32 " {\n", r);
        for (uint32_t i = 0; i < w->n; i++) {
            const deed *d = &w->deeds[i];
            if (d->rank != r)
                continue;
            at += (size_t)snprintf(text + at, TEXT - at, "x%" PRIu32 ": ", i);
            if (d->kind == CALC)
                at += (size_t)snprintf(text + at, TEXT - at, "calc %" PRIu64 " cpu %" PRIu32 "\n", d->bytes,
                                       d->cpu);
            else
                at += (size_t)snprintf(text + at, TEXT - at,
                                       "%s %" PRIu64 "b %s %" PRIu32 " tag %" PRIu32 " cpu %" PRIu32
                                       " nic %" PRIu32 "\n",
                                       d->kind == SEND ? "send" : "recv", d->bytes,
                                       d->kind == SEND ? "to" : "from", d->peer, d->tag, d->cpu, d->nic);
            for (; e < w->n_edges && w->edges[e].deed == i; e++)
                at += (size_t)snprintf(text + at, TEXT - at, "x%" PRIu32 " %s x%" PRIu32 "\n", i,
                                       w->edges[e].early ? "irequires" : "requires", w->edges[e].needs);
        }
        at += (size_t)snprintf(text + at, TEXT - at, "}\n");
    }
    assert_true(at < TEXT);
}

/* Programs of all shapes, some of which stall, with a fixed seed. Costs are multiples of ten, so that times meet. */
static void random_programs(void **state)
{
    static twin w;
    static char text[TEXT];
    dice k = {.seed = 61};
    uint32_t ended = 0, stalled = 0;
    (void)state;
    for (uint32_t c = 0; c < 400; c++) {
        rlt_loggops_result r;
        rlt_error err = {0};
        w = (twin){.ranks = 2 + below(&k, RANKS - 1)};
        w.p = (rlt_loggops){.L = below(&k, 5) * 100,
                            .o = below(&k, 4) * 50,
                            .g = below(&k, 4) * 50,
                            .G = below(&k, 3) * 10,
                            .O = below(&k, 3) * 10,
                            .S = below(&k, 3) ? 20 : 1000};
        draw_deeds(&k, &w, 1 + below(&k, PAIRS));
        draw_edges(&k, &w);
        write_goal(&w, text);
        play(&w);
        int rc = test_loggops_run(text, &w.p, &r, &err);
        if (rc != (w.done == w.n ? 0 : RLT_ESTALL))
            fail_msg("case %" PRIu32 ": %s: %s, %" PRIu32 " of %" PRIu32 " end", c, err.where, err.what,
                     w.done, w.n);
        for (uint32_t i = 0; !rc && i < w.ranks; i++) {
            uint64_t end = 0;
            for (uint32_t u = 0; u < UNITS; u++)
                end = most(end, w.cpu[i][u]);
            if (r.rank_end_ns[i] != end)
                fail_msg("case %" PRIu32 ": rank %" PRIu32 " ends at %" PRIu64 ", expected %" PRIu64 "\n%s",
                         c, i, r.rank_end_ns[i], end, text);
        }
        rlt_loggops_free(&r);
        ended += !rc;
        stalled += rc != 0;
    }
    print_message("%" PRIu32 " programs end, %" PRIu32 " stall\n", ended, stalled);
    assert_true(ended > 100 && stalled > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand),        cmocka_unit_test(longest),
                                       cmocka_unit_test(beyond),         cmocka_unit_test(parameters),
                                       cmocka_unit_test(units),          cmocka_unit_test(stalls),
                                       cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
