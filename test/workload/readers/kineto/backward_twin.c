/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random recordings of host threads alone, in which threads of the autograd engine work. By the head of host.c it
 * follows when the main thread waits, and which work is whose. All of it must play as it was recorded. Work that takes
 * longer must delay whoever waits for it, and nobody else.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/traces/kineto.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"

enum { MAIN, THREADS = 3, EVENTS = 8, STRETCHES = THREADS * EVENTS, NEVER = INT32_MAX };

typedef struct event {
    int begin, end, thread; /* us; clipped to the end of the steps */
    bool engine;
} event;

/* Work of the engine without an act of the main thread in between. */
typedef struct stretch {
    int begin, end;
    int from[THREADS], to[THREADS]; /* what each thread does of it; to 0: nothing */
    bool blocks;
    int n_blocks, block[EVENTS + 1], resume[EVENTS + 1]; /* when the main thread waits */
} stretch;

typedef struct drawn {
    dice d;
    char text[1 << 14];
    size_t used;
    int begin, middle, end; /* of two steps */
    event main[EVENTS], engine[STRETCHES];
    int n_main, n_engine, n;
    stretch all[STRETCHES];
} drawn;

static void say(drawn *x, const event *e)
{
    TEST_SAY(x,
             "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
             "\"args\":{}},\n",
             e->engine ? "autograd::engine::evaluate_function: A" : "aten::op", e->thread + 1, e->begin,
             e->end - e->begin);
}

/* The next event of a thread, at once or later. No two threads begin or end at one time. */
static event draw_event(drawn *x, int thread, int now)
{
    int begin = (now + (int)below(&x->d, 3) * (int)below(&x->d, 30)) / 4 * 4 + thread;
    return (event){.begin = begin,
                   .end = begin + 4 * (1 + (int)below(&x->d, below(&x->d, 3) ? 12 : 60)),
                   .thread = thread,
                   .engine = below(&x->d, thread == MAIN ? 3 : 6) == (thread != MAIN ? 1 : 0)};
}

/* Events of a thread, some of them with another one inside. One before the steps ends inside, the last one may end behind. */
static int draw_thread(drawn *x, int thread, event *out)
{
    int n = 0, now = x->begin + 1 + thread;
    event before = {.begin = x->begin - 20, .end = x->begin + 40 + thread, .thread = thread, .engine = true};
    if (below(&x->d, 3) == 0)
        say(x, &before);
    for (int k = (int)below(&x->d, thread == MAIN ? 5 : EVENTS + 1); k > 0; k--) {
        event e = draw_event(x, thread, now);
        e.engine ^= thread != MAIN;
        if (e.begin >= x->end)
            break;
        now = e.end;
        say(x, &e);
        if (below(&x->d, 3) == 0) {
            event inner = {.begin = e.begin, .end = e.end - 1, .thread = thread};
            say(x, &inner);
        }
        e.end = e.end < x->end ? e.end : x->end;
        out[n++] = e;
    }
    return n;
}

static int by_begin(const void *a, const void *b)
{
    return ((const event *)a)->begin - ((const event *)b)->begin;
}

/* Whether the main thread begins work of its own in a time. */
static bool acts(const drawn *x, int from, int to)
{
    for (int i = 0; i < x->n_main; i++)
        if (!x->main[i].engine && x->main[i].begin >= from && x->main[i].begin < to)
            return true;
    return false;
}

/* A blocked main thread may still work for the engine. */
static void block(const drawn *x, stretch *s)
{
    int from = s->begin;
    for (int i = 0; i <= x->n_main; i++) {
        event last = {.begin = s->end, .end = s->end, .engine = true};
        const event *e = i < x->n_main ? &x->main[i] : &last;
        if (!e->engine || e->end < from || e->begin > s->end)
            continue;
        if (e->begin > from) {
            s->block[s->n_blocks] = from;
            s->resume[s->n_blocks++] = e->begin;
        }
        from = e->end;
    }
}

static void find_stretches(drawn *x)
{
    x->n = 0;
    for (int i = 0; i < x->n_engine; i++) {
        const event *e = &x->engine[i];
        stretch *s = &x->all[x->n - 1];
        if (x->n == 0 || (e->begin > s->end && acts(x, s->end, e->begin))) {
            s = &x->all[x->n++];
            *s = (stretch){.begin = e->begin};
        }
        s->end = e->end > s->end ? e->end : s->end;
        s->from[e->thread] = s->to[e->thread] ? s->from[e->thread] : e->begin;
        s->to[e->thread] = e->end > s->to[e->thread] ? e->end : s->to[e->thread];
    }
    for (int i = 0; i < x->n; i++) {
        x->all[i].blocks = !acts(x, x->all[i].begin, x->all[i].end);
        if (x->all[i].blocks)
            block(x, &x->all[i]);
    }
}

static void draw(drawn *x)
{
    bool runs[THREADS] = {true};
    int n = 0;
    x->used = 0;
    x->begin = 400 + 4 * (int)below(&x->d, 9) + 3;
    x->end = x->begin + 4 * (60 + (int)below(&x->d, 60));
    x->middle = x->begin + 4 * (1 + (int)below(&x->d, 50));
    TEST_SAY(x, "{\"traceEvents\":[");
    bool first = below(&x->d, 2); /* whether the main thread is seen first */
    x->n_engine = 0;
    if (first)
        x->n_main = draw_thread(x, MAIN, x->main);
    for (int t = 1; t < THREADS; t++)
        x->n_engine += draw_thread(x, t, x->engine + x->n_engine);
    if (!first)
        x->n_main = draw_thread(x, MAIN, x->main);
    for (int i = 0; i < x->n_engine; i++)
        runs[x->engine[i].thread] |= x->engine[i].engine;
    for (int i = 0; i < x->n_engine; i++) /* a thread without the engine's work does not count */
        if (runs[x->engine[i].thread])
            x->engine[n++] = x->engine[i];
    x->n_engine = n;
    qsort(x->engine, (size_t)n, sizeof *x->engine, by_begin);
    for (int step = 0; step < 2; step++)
        TEST_SAY(x,
                 "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,"
                 "\"ts\":%d,\"dur\":%d,\"args\":{}},",
                 step, step ? x->middle : x->begin, step ? x->end - x->middle : x->middle - x->begin);
    TEST_SAY(x, "{\"ph\":\"i\"}]}");
    find_stretches(x);
}

/* The thread of an operation; -1: none. */
static int thread_of(const rlt_program *p, const rlt_op *o)
{
    if (o->resource == RLT_NONE)
        return -1;
    const char *name = rlt_program_string(p, p->resources[o->resource].name);
    assert_int_equal(strncmp(name, "thread ", 7), 0);
    return atoi(name + 7) - 1;
}

/* Whether a thread works at a time. */
static bool works(const drawn *x, int thread, int t)
{
    bool at = thread == MAIN && t >= x->begin && t < x->end;
    for (int i = 0; i < x->n; i++) {
        const stretch *s = &x->all[i];
        if (thread != MAIN)
            at = at || (s->to[thread] && t >= s->from[thread] && t < s->to[thread]);
        for (int k = 0; k < s->n_blocks && thread == MAIN; k++)
            at = at && !(t >= s->block[k] && t < s->resume[k]);
    }
    return at;
}

/* Each thread works when it did, in its step, and the main thread continues with an operation of its own. */
static void check_times(const drawn *x, const rlt_program *p)
{
    played v = play(p, -1, true);
    int covered[THREADS] = {0}, should[THREADS] = {0}, points = 0, resumes = 0;
    uint64_t continued = 0;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *o = &p->ops[i];
        int at = x->begin + (int)(o->recorded_ps / RLT_US), lasts = (int)(o->duration_ps / RLT_US);
        if (v.start[i] != o->recorded_ps) {
            fputs(x->text, stdout);
            fail_msg("thread %d begins at %d, not at %d", thread_of(p, o),
                     x->begin + (int)(v.start[i] / RLT_US), at);
        }
        assert_int_equal(o->duration_ps, o->recorded_duration_ps);
        if (o->kind == RLT_OP_DELAY) {
            assert_int_equal(o->step, at + lasts >= x->middle);
            continue;
        }
        assert_int_equal(o->kind, RLT_OP_HOST);
        assert_string_equal(rlt_program_string(p, o->name), "host");
        assert_int_equal(o->step, at >= x->middle);
        points += lasts == 0;
        for (int t = at; t < at + lasts; t++) {
            assert_true(works(x, thread_of(p, o), t));
            covered[thread_of(p, o)]++;
        }
    }
    for (int t = 0; t < THREADS; t++) {
        for (int at = x->begin; at < x->end; at++)
            should[t] += works(x, t, at);
        assert_int_equal(covered[t], should[t]);
    }
    for (int i = 0; i < x->n; i++) {
        continued += !x->all[i].blocks;
        resumes += x->all[i].n_blocks;
    }
    assert_int_equal(points, resumes);
    assert_int_equal(v.rank_end[0], (x->end - x->begin) * RLT_US);
    assert_int_equal(noted(p, "the main thread continued"), continued);
    played_free(&v);
}

/* Who is late from when on, if a thread is late from a time on. */
static void spread(const drawn *x, int *late)
{
    for (int t = x->begin; t <= x->end; t++)
        for (int i = 0; i < x->n; i++) {
            const stretch *s = &x->all[i];
            bool blocked = false;
            int since = NEVER;
            for (int k = 0; k < s->n_blocks; k++) {
                for (int e = 1; e < THREADS && s->resume[k] == t; e++)
                    if (s->to[e] && s->from[e] < t && late[e] <= (s->to[e] < t ? s->to[e] : t) &&
                        late[MAIN] > t)
                        late[MAIN] = t;
                if (s->block[k] <= t && t < s->resume[k]) {
                    blocked = true;
                    since = s->block[k];
                }
            }
            for (int e = 1; e < THREADS; e++) {
                int source = MAIN, until = blocked ? since : t;
                if (!s->to[e] || s->from[e] != t)
                    continue;
                for (int other = THREADS - 1; other > 0 && blocked; other--)
                    if (other != e && s->to[other] && s->from[other] < t && s->to[other] > since) {
                        source = other; /* it works, or stopped last */
                        until = s->to[other] < t ? s->to[other] : t;
                    }
                if (late[source] <= until && late[e] > t)
                    late[e] = t;
            }
        }
}

/* Who begins at a time; -1: nobody. */
static int begins_at(const drawn *x, int t)
{
    for (int i = 0; i < x->n; i++)
        for (int e = 1; e < THREADS; e++)
            if (x->all[i].to[e] && x->all[i].from[e] == t)
                return e;
    return -1;
}

static void check_order(const drawn *x, const rlt_program *p)
{
    played before = play(p, -1, true);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        rlt_op *o = (rlt_op *)&p->ops[i];
        int late[THREADS] = {NEVER, NEVER, NEVER};
        int end = x->begin + (int)((o->recorded_ps + o->duration_ps) / RLT_US), by = thread_of(p, o);
        by = by < 0 ? begins_at(x, end) : by;
        assert_true(by >= 0);
        late[by] = end;
        spread(x, late);
        o->duration_ps += RLT_S;
        played v = play(p, -1, true);
        o->duration_ps -= RLT_S;
        for (uint32_t k = 0; k < p->n_ops; k++) {
            int begins = x->begin + (int)(p->ops[k].recorded_ps / RLT_US), t = thread_of(p, &p->ops[k]);
            if (k != i && t >= 0 && (v.start[k] > before.start[k]) != (late[t] <= begins)) {
                fputs(x->text, stdout);
                fail_msg("thread %d at %d behind thread %d up to %d", t, begins, by, end);
            }
        }
        played_free(&v);
    }
    played_free(&before);
}

static void engines_work_for_the_main_thread(void **state)
{
    static drawn x;
    int blocked = 0, continued = 0;
    (void)state;
    x.d = (dice){.seed = 5};
    for (int i = 0; i < 400; i++) {
        draw(&x);
        rlt_program *p = read_one(x.text);
        check_times(&x, p);
        check_order(&x, p);
        rlt_program_free(p);
        for (int k = 0; k < x.n; k++)
            *(x.all[k].blocks ? &blocked : &continued) += 1;
    }
    assert_true(blocked > 200 && continued > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_work_for_the_main_thread),
    };
    return cmocka_run_group_tests_name("backward_twin", tests, make_folder, remove_folder);
}
