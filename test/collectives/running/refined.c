/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding by refinement against a plain one: members, links and messages are compared with all others, round
 * by round, until no class splits. Plans are drawn: what one member does, all others do, turned on; then a few
 * of them differ in one field. What a search may cost, counted by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/fold.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum {
    CASES = 1500,
    MEMBERS = 31,
    LANES = 3,
    STEPS = 128,
    LINKS = 160,
    MESSAGES = 400,
    WORDS = 420,
    PATH = 12
};

/* What each member does; steps beyond those of the table repeat its last one. */
typedef struct table {
    uint32_t steps[MEMBERS][LANES];
    rlt_step step[MEMBERS][LANES][4];
    bool alike;
} table;

static uint32_t count_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    const table *t = plan->data;
    return t->steps[member][lane];
}

static void tell_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    const table *t = plan->data;
    rlt_step cleared;
    rlt_step_clear(&cleared);
    assert_memory_equal(out, &cleared, sizeof cleared); /* as an algorithm may expect */
    *out = t->step[member][lane][k < 4 ? k : 3];
}

static bool are_alike(const rlt_plan *plan)
{
    const table *t = plan->data;
    return t->alike;
}

static const rlt_algorithm drawn = {
    .name = "drawn", .steps = count_steps, .step = tell_step, .alike = are_alike};

typedef struct world {
    rlt_topology *t;
    rlt_placement where;
    rlt_router *router;
} world;

static void open_world(world *w, const char *text, rlt_routing routing)
{
    rlt_error err = {0};
    if (rlt_topology_load(text, "topologies", &w->t, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_placement_identity(w->t, rlt_topology_accelerators(w->t), &w->where, &err), 0);
    assert_int_equal(rlt_router_create(w->t, &w->where, routing, &w->router, &err), 0);
}

static void close_world(world *w)
{
    rlt_router_free(w->router);
    rlt_placement_free(&w->where);
    rlt_topology_free(w->t);
}

/* Elements to compare: what is known of each, as words. */
typedef struct element {
    uint32_t n;
    uint64_t word[WORDS];
} element;

typedef struct message {
    uint32_t n, joined[PATH + 2]; /* sender, receiver, links */
} message;

typedef struct model {
    uint32_t n_things, n_messages, n_thing_classes, n_message_classes;
    message messages[MESSAGES];
    element thing[MEMBERS + LINKS], told[MESSAGES];
    uint32_t of_thing[MEMBERS + LINKS], of_message[MESSAGES];
} model;

static void say(element *e, uint64_t word)
{
    assert_true(e->n < WORDS);
    e->word[e->n++] = word;
}

/* Numbers elements by what is known of them, in order of appearance. */
static uint32_t classify(const element *e, uint32_t n, uint32_t *of)
{
    uint32_t classes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0;
        while (j < i && (e[j].n != e[i].n || memcmp(e[j].word, e[i].word, e[i].n * sizeof *e[i].word) != 0))
            j++;
        of[i] = j < i ? of[j] : classes++;
    }
    return classes;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Splits classes until nothing changes. */
static void refine(model *m)
{
    uint32_t was;
    m->n_thing_classes = classify(m->thing, m->n_things, m->of_thing);
    m->n_message_classes = classify(m->told, m->n_messages, m->of_message);
    do {
        was = m->n_thing_classes + m->n_message_classes;
        for (uint32_t i = 0; i < m->n_things; i++) {
            m->thing[i].n = 0;
            say(&m->thing[i], m->of_thing[i]);
        }
        for (uint32_t i = 0; i < m->n_messages; i++) {
            const message *g = &m->messages[i];
            m->told[i].n = 0;
            say(&m->told[i], m->of_message[i]);
            for (uint32_t k = 0; k < g->n; k++) {
                say(&m->told[i], m->of_thing[g->joined[k]]);
                say(&m->thing[g->joined[k]], (uint64_t)k << 32 | m->of_message[i]);
            }
        }
        for (uint32_t i = 0; i < m->n_things; i++)
            qsort(m->thing[i].word + 1, m->thing[i].n - 1, sizeof *m->thing[i].word, by_value);
        m->n_thing_classes = classify(m->thing, m->n_things, m->of_thing);
        m->n_message_classes = classify(m->told, m->n_messages, m->of_message);
    } while (m->n_thing_classes + m->n_message_classes != was);
}

/* Begins a message: who sends it where, and by which route. */
static void add_message(model *m, const rlt_plan *plan, const world *w, uint32_t member, uint32_t lane,
                        const rlt_step *s)
{
    rlt_path path;
    message *g = &m->messages[m->n_messages];
    element *told = &m->told[m->n_messages++];
    assert_true(m->n_messages <= MESSAGES);
    assert_int_equal(rlt_route(w->router, rlt_member_rank(&plan->req, member),
                               rlt_member_rank(&plan->req, s->send_to), rlt_route_key(lane, s->turn), &path),
                     0);
    assert_true(path.n <= PATH);
    g->n = 0;
    g->joined[g->n++] = member;
    g->joined[g->n++] = s->send_to;
    for (uint32_t i = 0; i < path.n; i++)
        g->joined[g->n++] = plan->req.n + path.links[i];
    told->n = 0;
    say(told, lane);
    say(told, (uint64_t)path.latency_ps);
}

static void read_member(model *m, const rlt_plan *plan, const world *w, uint32_t member)
{
    element *e = &m->thing[member];
    e->n = 0;
    say(e, 1);
    for (uint32_t lane = 0; lane < plan->lanes; lane++) {
        uint32_t steps = count_steps(plan, member, lane), to = RLT_NONE, turn = 0;
        say(e, steps);
        for (uint32_t k = 0; k < steps; k++) {
            rlt_step s;
            rlt_step_clear(&s);
            tell_step(plan, member, lane, k, &s);
            say(e, s.recv_count);
            say(e, s.nowait);
            say(e, s.wait_lane);
            say(e, s.wait_step);
            if (s.send_to == RLT_NONE)
                continue;
            if (to == RLT_NONE || s.send_to != to || s.turn != turn)
                add_message(m, plan, w, member, lane, &s);
            to = s.send_to;
            turn = s.turn;
            element *told = &m->told[m->n_messages - 1];
            say(told, k);
            say(told, s.peer_step);
            say(told, s.peer_shift);
            say(told, s.send_bytes);
        }
    }
}

static void build(model *m, const rlt_plan *plan, const world *w)
{
    m->n_messages = 0;
    m->n_things = plan->req.n + rlt_topology_links(w->t);
    assert_true(m->n_things <= MEMBERS + LINKS);
    for (uint32_t i = 0; i < plan->req.n; i++)
        read_member(m, plan, w, i);
    for (uint32_t i = plan->req.n; i < m->n_things; i++) {
        rlt_link l = rlt_topology_link(w->t, i - plan->req.n);
        m->thing[i].n = 0;
        say(&m->thing[i], 2);
        say(&m->thing[i], l.bw_Bps);
        say(&m->thing[i], (uint64_t)l.latency_ps);
        say(&m->thing[i], (uint64_t)l.dim);
    }
    refine(m);
}

/* Says why a partition folds nothing; NULL if it folds. */
static const char *refused(const model *m, uint32_t members, const rlt_fold_options *how)
{
    uint32_t size[MEMBERS + LINKS] = {0}, classes = 0;
    for (uint32_t i = 0; i < members; i++)
        classes += size[m->of_thing[i]]++ == 0;
    if (classes == members)
        return "no two members are alike";
    for (uint32_t i = 0; i < m->n_messages; i++) {
        uint32_t from = size[m->of_thing[m->messages[i].joined[0]]],
                 to = size[m->of_thing[m->messages[i].joined[1]]];
        if (from % to)
            return "the size of a sending class is not a multiple of its receiving class";
        if (from > to && how->blocking && how->serialises)
            return "blocked senders wait their turn at a receiver's port";
    }
    return NULL;
}

/* Compares classes of things, numbered in order of appearance, with those of the model. */
static void same_classes(const uint32_t *model_of, uint32_t n, const uint32_t *of, const uint32_t *size,
                         const uint32_t *first, uint32_t classes)
{
    uint32_t seen = 0, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0, alike = 0;
        while (model_of[j] != model_of[i])
            j++;
        if (j < i) {
            assert_int_equal(of[i], of[j]);
            continue;
        }
        for (uint32_t k = 0; k < n; k++)
            alike += model_of[k] == model_of[i];
        assert_int_equal(of[i], seen++);
        assert_true(of[i] < classes);
        assert_int_equal(first[of[i]], i);
        assert_int_equal(size[of[i]], alike);
        sum += alike;
    }
    assert_int_equal(seen, classes);
    assert_int_equal(sum, n);
}

/* Draws a step that may send to the member `d` on. */
static rlt_step draw_step(dice *k, uint32_t member, uint32_t n, uint32_t lanes)
{
    rlt_step s;
    rlt_step_clear(&s);
    if (below(k, 4)) {
        s.send_to = (member + 1 + below(k, n - 1 < 2 ? n - 1 : 2)) % n;
        s.turn = (uint16_t)(below(k, 3) == 0);
        s.send_bytes = 1000 * (1 + below(k, 2));
        s.peer_step = below(k, 2);
        s.peer_shift = below(k, lanes);
        s.nowait = (uint8_t)below(k, 2);
    }
    s.recv_count = below(k, 3);
    if (below(k, 3) == 0) {
        s.wait_lane = below(k, lanes);
        s.wait_step = below(k, 3);
    }
    return s;
}

/* Changes one field of a step of one member. */
static void disturb(dice *k, table *t, uint32_t n, uint32_t lanes)
{
    uint32_t member = below(k, n), lane = below(k, lanes);
    rlt_step *s = &t->step[member][lane][below(k, 4)];
    switch (below(k, 10)) {
    case 0:
        s->send_bytes = 5;
        break;
    case 1:
        s->peer_step ^= 1;
        break;
    case 2:
        s->peer_shift += 1;
        break;
    case 3:
        s->recv_count ^= 1;
        break;
    case 4:
        s->nowait ^= 1;
        break;
    case 5:
        s->wait_lane = s->wait_lane == RLT_NONE ? 0 : RLT_NONE;
        break;
    case 6:
        s->wait_step ^= 1;
        break;
    case 7:
        s->turn ^= 1;
        break;
    case 8:
        s->send_to = s->send_to == RLT_NONE ? (member + 1) % n : RLT_NONE;
        break;
    default:
        t->steps[member][lane] ^= 1;
        break;
    }
}

static void draw_table(dice *k, table *t, uint32_t n, uint32_t lanes)
{
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t steps = below(k, 4) ? 1 + below(k, 3) : 0;
        for (uint32_t i = 0; i < 4; i++) {
            rlt_step s = draw_step(k, 0, n, lanes);
            for (uint32_t m = 0; m < n; m++) {
                t->steps[m][lane] = steps;
                t->step[m][lane][i] = s;
                if (s.send_to != RLT_NONE)
                    t->step[m][lane][i].send_to = (m + s.send_to) % n;
            }
        }
    }
    uint32_t changes = below(k, 3);
    for (uint32_t i = 0; i < changes; i++)
        disturb(k, t, n, lanes);
    t->alike = changes == 0 && below(k, 2);
}

static const char *const networks[] = {
    "switch:8@50GB/s,500ns",
    "ring:7@50GB/s,500ns",
    "torus:3x4@80GB/s,500ns",
    "fat-tree:12@50GB/s,500ns,hosts_per_leaf=3",
    "ring:4@200GB/s,500ns*switch:3@50GB/s,700ns",
    "switch:3@50GB/s,500ns*switch:4@50GB/s,500ns",
    "fully-connected:5@40GB/s,300ns",
    "dgx1-v100-8",
};

/* Returns whether the drawn plan folds. */
static bool one(dice *k, const world *w, model *m)
{
    table t = {0};
    uint32_t ranks[MEMBERS], all = rlt_topology_accelerators(w->t);
    rlt_plan plan = {.algorithm = &drawn, .data = &t, .lanes = 1 + below(k, LANES), .blocks = 4};
    rlt_fold_options how = {.blocking = below(k, 2), .serialises = below(k, 2), .percent = RLT_FOLD_ANYWAY};
    rlt_fold fold = {0};
    rlt_error err = {0};
    for (uint32_t i = 0; i < all; i++)
        ranks[i] = i;
    for (uint32_t i = all; i > 1 && below(k, 8) == 0; i--) {
        uint32_t j = below(k, i), was = ranks[j];
        ranks[j] = ranks[i - 1];
        ranks[i - 1] = was;
    }
    plan.req = (rlt_coll_request){
        .n = below(k, 3) ? all : 2 + below(k, all - 1), .bytes = 4 + (below(k, 4) == 0), .ranks = ranks};
    draw_table(k, &t, plan.req.n, plan.lanes);
    build(m, &plan, w);
    const char *why = refused(m, plan.req.n, &how);
    int rc = rlt__fold_refine(&plan, w->router, &how, &fold, &err);
    assert_int_equal(rc, why ? RLT_EUNSUPPORTED : 0);
    assert_string_equal(err.what, why ? why : "");
    assert_string_equal(err.where, why ? "drawn" : "");
    if (!why) {
        uint32_t n = plan.req.n;
        assert_ptr_equal(fold.net.topology, w->t);
        same_classes(m->of_thing, n, fold.of_member, fold.size, fold.rep, fold.n_classes);
        same_classes(m->of_thing + n, m->n_things - n, fold.net.of_link, fold.net.size, fold.net.link,
                     fold.net.n_classes);
    }
    rlt_fold_free(&fold);
    return !why;
}

static void as_the_plain_one(void **state)
{
    static model m;
    dice k = {.seed = 31};
    uint32_t folds = 0;
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        world w;
        open_world(&w, networks[i], i % 2 ? RLT_ROUTE_ECMP : RLT_ROUTE_DMODK);
        for (uint32_t c = 0; c < CASES * sizeof *networks / sizeof networks; c++)
            folds += one(&k, &w, &m);
        close_world(&w);
    }
    print_message("%u of %d fold\n", folds, CASES);
    assert_true(folds > CASES / 4);
}

/* Returns the least percentage at which n members of a ring or a switch fold; each lower one is refused. */
static uint32_t least_percent(table *t, const char *shape, uint32_t n, uint32_t lanes, bool serialises)
{
    world w;
    char text[40];
    snprintf(text, sizeof text, "%s:%u@50GB/s,500ns", shape, n);
    open_world(&w, text, RLT_ROUTE_DMODK);
    rlt_plan plan = {
        .algorithm = &drawn, .data = t, .lanes = lanes, .blocks = 4, .req = {.n = n, .bytes = 4}};
    rlt_fold_options how = {.serialises = serialises};
    for (;; how.percent++) {
        assert_true(how.percent < 2000);
        rlt_fold fold = {0};
        rlt_error err = {0};
        char what[80];
        int rc = rlt__fold_refine(&plan, w.router, &how, &fold, &err);
        rlt_fold_free(&fold);
        if (rc == 0)
            break;
        snprintf(what, sizeof what, "finding those that are alike would cost over %u %% of that",
                 how.percent);
        assert_int_equal(rc, RLT_EUNSUPPORTED);
        assert_string_equal(err.what, what);
        assert_string_equal(err.where, "drawn");
    }
    close_world(&w);
    return how.percent;
}

/* Gives members `every` apart steps in the first lane, which do nothing. */
static void give_steps(table *t, uint32_t from, uint32_t to, uint32_t every, uint32_t steps)
{
    for (uint32_t m = from; m < to; m += every) {
        t->steps[m][0] = steps;
        for (uint32_t i = 0; i < 4; i++)
            rlt_step_clear(&t->step[m][0][i]);
    }
}

/*
 * A step costs 400 to simulate in alpha-beta and 650 in flow, and 200 to read, as does the end of a lane: 24
 * steps are 5000 of 9600, or of 15 600. Members that are said to be alike are read once. A message that is new
 * costs 1000 to simulate, and 630 over two links. On top of this, it takes some 2000 in all to compare 8 members
 * and 16 links, and 10 000 with the 16 messages.
 */
static void what_it_costs(void **state)
{
    static table t;
    (void)state;
    give_steps(&t, 0, 8, 1, 24);
    assert_int_equal(least_percent(&t, "switch", 8, 1, true), 55);
    assert_int_equal(least_percent(&t, "switch", 8, 1, false), 34);
    /* a second lane without steps: 5200 of 9600 */
    assert_int_equal(least_percent(&t, "switch", 8, 2, true), 57);
    t.alike = true;
    assert_int_equal(least_percent(&t, "switch", 8, 1, true), 10);
    /* two messages each: 6260 of 11 600 */
    t.alike = false;
    for (uint32_t m = 0; m < 8; m++)
        t.step[m][0][0].send_to = (m + 1) % 8, t.step[m][0][1].send_to = (m + 2) % 8;
    assert_int_equal(least_percent(&t, "switch", 8, 1, true), 65);
    /* 16 links, of a ring of 31 */
    t = (table){0};
    give_steps(&t, 0, 31, 1, 1);
    for (uint32_t m = 0; m < 31; m++)
        t.step[m][0][0].send_to = (m + 15) % 31;
    assert_int_equal(least_percent(&t, "ring", 31, 1, true), 221);
}

/* The median of at most 15 members, evenly apart, stands for all; of an even number, the larger one in the
 * middle. 4 of 8 members with 24 steps: 22 000 of 76 800, the others having one. 3 of 8: 17 000 of 3200; one: 7800. Of 30
 * members every second one is asked: 81 000 of 288 000; if they have one, of 12 000. */
static void a_root_does_not_count(void **state)
{
    static const struct {
        uint32_t n, every, from, percent;
    } rows[] = {{8, 2, 0, 31}, {8, 3, 0, 598}, {30, 2, 0, 31}, {30, 2, 1, 741}, {8, 8, 4, 308}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        table t = {0};
        give_steps(&t, 0, rows[i].n, 1, 1);
        give_steps(&t, rows[i].from, rows[i].n, rows[i].every, 24);
        assert_int_equal(least_percent(&t, "switch", rows[i].n, 1, true), rows[i].percent);
    }
}

/* A switch has two links for each member. */
static void too_many_things(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        static table t;
        world w;
        rlt_error err = {0};
        rlt_fold fold = {0};
        rlt_fold_options how = {.percent = 1};
        rlt_plan plan = {
            .algorithm = &drawn, .data = &t, .lanes = 1, .blocks = 4, .req = {.n = 2, .bytes = 4}};
        open_world(&w, i ? "switch:4194304@50GB/s,500ns" : "switch:4194303@50GB/s,500ns", RLT_ROUTE_DMODK);
        assert_int_equal(rlt__fold_refine(&plan, w.router, &how, &fold, &err), RLT_EUNSUPPORTED);
        assert_string_equal(err.what, i ? "too many members and links to compare"
                                        : "finding those that are alike would cost over 1 % of that");
        rlt_fold_free(&fold);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_plain_one),
        cmocka_unit_test(what_it_costs),
        cmocka_unit_test(a_root_does_not_count),
        cmocka_unit_test(too_many_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
