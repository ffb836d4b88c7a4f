/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ordered parallel for: order, slots, choice of the error, and Ctrl-C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"

enum { JOBS = 500, SLOTS = 7, THREADS = 4, NEVER = 1 << 30 };

/* Job i squares i in its slot. Some jobs take longer, so that later ones overtake them. */
typedef struct bench {
    uint64_t slots[JOBS];
    bool full[JOBS];
    atomic_uint begun, highest, taken;
    uint32_t fail_at[2]; /* jobs that fail; the first one slowly */
    uint32_t refuse_at;  /* job whose result cannot be taken */
    uint32_t forever_at; /* job whose simulation ends only when stopped */
    bool press;          /* by the SIGINT that it sends */
} bench;

static bench fresh(void)
{
    return (bench){.fail_at = {NEVER, NEVER}, .refuse_at = NEVER, .forever_at = NEVER};
}

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

typedef struct clockwork {
    rlt_sim *sim;
    int handler;
    bench *b;
} clockwork;

/* Ticks for ever. Once all earlier results are taken, Ctrl-C is pressed, if it is to be. */
static void tick_on(void *ctx, uint64_t payload)
{
    clockwork *c = ctx;
    (void)payload;
    if (c->b->press && atomic_load(&c->b->taken) == c->b->forever_at) {
        c->b->press = false;
        kill(getpid(), SIGINT);
    }
    rlt_sim_post(c->sim, rlt_sim_now(c->sim) + 1, RLT_START, c->handler, 0);
}

static int run_forever(bench *b, rlt_task *job, rlt_error *err)
{
    clockwork c = {.b = b};
    int rc = rlt_sim_create(&c.sim, err);
    if (rc)
        return rc;
    c.handler = rlt_sim_handler(c.sim, tick_on, &c);
    rlt_sim_post(c.sim, 0, RLT_START, c.handler, 0);
    rlt_task_watch(job, c.sim);
    rc = rlt_sim_run(c.sim, RLT_TIME_MAX, err);
    rlt_task_watch(job, NULL);
    rlt_sim_free(c.sim);
    return rc;
}

static int square(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    bench *b = ctx;
    unsigned highest = atomic_load(&b->highest);
    atomic_fetch_add(&b->begun, 1);
    while (i > highest && !atomic_compare_exchange_weak(&b->highest, &highest, i))
        ;
    if (i % 50 == 0)
        sleep_ms(3);
    if (i == b->forever_at)
        return run_forever(b, job, err);
    if (i == b->fail_at[0])
        sleep_ms(50);
    if (i == b->fail_at[0] || i == b->fail_at[1])
        return rlt_fail(err, RLT_ERANGE, "job", "%u failed", i);
    rlt_job_progress(job, 1, 2);
    b->slots[slot] = (uint64_t)i * i;
    if (b->full[slot])
        return rlt_fail(err, RLT_ECHECK, "job", "%u found its slot full", i);
    b->full[slot] = true;
    return 0;
}

static int take(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    bench *b = ctx;
    if (i == b->refuse_at)
        return rlt_fail(err, RLT_EIO, "take", "%u cannot be written", i);
    assert_int_equal(i, b->taken);
    assert_int_equal(b->slots[slot], (uint64_t)i * i);
    assert_true(b->full[slot]);
    b->full[slot] = false;
    b->taken++;
    return 0;
}

static int run_bench(bench *b, uint32_t n, uint32_t threads, rlt_error *err)
{
    rlt_pool_work work = {.n = n, .slots = SLOTS, .ctx = b, .run = square, .take = take};
    return rlt_pool_run(&work, threads, err);
}

static void test_all_in_order(void **state)
{
    (void)state;
    const uint32_t threads[] = {1, 2, THREADS};
    for (size_t i = 0; i < 3; i++) {
        bench b = fresh();
        rlt_error err = {0};
        assert_int_equal(run_bench(&b, JOBS, threads[i], &err), 0);
        assert_int_equal(b.taken, JOBS);
        assert_int_equal(atomic_load(&b.begun), JOBS);
        assert_int_equal(err.code, 0);
    }
}

static void test_few(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 4; n++) {
        bench b = fresh();
        assert_int_equal(run_bench(&b, n, THREADS, NULL), 0);
        assert_int_equal(b.taken, n);
    }
}

static void test_lowest_error_wins(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= THREADS; threads += THREADS - 1) {
        bench b = fresh();
        rlt_error err = {0};
        b.fail_at[0] = 100; /* fails after job 103 has failed */
        b.fail_at[1] = 103;
        assert_int_equal(run_bench(&b, JOBS, threads, &err), RLT_ERANGE);
        assert_string_equal(err.what, "100 failed");
        assert_int_equal(b.taken, 100);
        assert_true(atomic_load(&b.highest) < 100 + SLOTS); /* later jobs were not started */
    }
}

static void test_error_stops_later_simulations(void **state)
{
    (void)state;
    bench b = fresh();
    rlt_error err = {0};
    b.fail_at[0] = 100;
    b.forever_at = 101;
    assert_int_equal(run_bench(&b, JOBS, THREADS, &err), RLT_ERANGE);
    assert_string_equal(err.what, "100 failed");
    assert_int_equal(b.taken, 100);
}

static void test_refused_result_stops_all(void **state)
{
    (void)state;
    bench b = fresh();
    rlt_error err = {0};
    b.refuse_at = 20;
    b.forever_at = 22;
    assert_int_equal(run_bench(&b, JOBS, THREADS, &err), RLT_EIO);
    assert_string_equal(err.what, "20 cannot be written");
    assert_int_equal(b.taken, 20);
}

static void test_interrupt(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= THREADS; threads += THREADS - 1) {
        bench b = fresh();
        rlt_error err = {0};
        b.forever_at = 30;
        b.press = true;
        rlt_interrupt_init();
        assert_int_equal(run_bench(&b, JOBS, threads, &err), RLT_ECANCELLED);
        assert_int_equal(b.taken, 30);
        assert_true(rlt_interrupted());

        bench after = fresh();
        assert_int_equal(run_bench(&after, JOBS, threads, NULL), RLT_ECANCELLED);
        assert_int_equal(atomic_load(&after.begun), 0);
    }
    rlt_interrupt_init();
    /* A program that goes on is not ended: it works for longer than what follows a signal may take. */
    clock_t begun = clock();
    while (clock() - begun < CLOCKS_PER_SEC)
        ;
    assert_false(rlt_interrupted());
}

/* Jobs that hold memory from `prepare` to `ended`. */
typedef struct holding {
    uint32_t held, most, ended, taken;
    bool open[JOBS];
} holding;

static int hold(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    holding *h = ctx;
    (void)i;
    (void)err;
    h->open[slot] = true;
    h->held++;
    h->most = h->held > h->most ? h->held : h->most;
    return 0;
}

static int first_is_slow(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    (void)ctx;
    (void)job;
    (void)slot;
    (void)err;
    sleep_ms(i == 0 ? 50 : 0);
    return 0;
}

static void let_go(void *ctx, uint32_t slot)
{
    holding *h = ctx;
    assert_true(h->open[slot]);
    h->open[slot] = false;
    h->held--;
    h->ended++;
}

static int take_held(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    holding *h = ctx;
    (void)err;
    assert_false(h->open[slot]);
    assert_int_equal(i, h->taken++);
    return 0;
}

static bool no_room(void *ctx)
{
    (void)ctx;
    return false;
}

/* Without room each thread has one job to run and one that waits, however many results wait for the first. */
static void test_room(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= THREADS; threads++)
        for (int closed = 0; closed < 2; closed++) {
            holding h = {0};
            rlt_pool_work work = {.n = JOBS,
                                  .slots = JOBS,
                                  .ctx = &h,
                                  .prepare = hold,
                                  .room = closed ? no_room : NULL,
                                  .run = first_is_slow,
                                  .ended = let_go,
                                  .take = take_held};
            assert_int_equal(rlt_pool_run(&work, threads, NULL), 0);
            assert_int_equal(h.taken, JOBS);
            assert_int_equal(h.ended, JOBS);
            assert_int_equal(h.held, 0);
            if (closed || threads == 1)
                assert_in_range(h.most, 1, 2 * threads);
            else
                assert_int_equal(h.most, JOBS);
        }
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(rlt_pool_threads(3), 3);
    assert_true(rlt_pool_threads(0) >= 1);
    assert_int_equal(rlt_pool_threads(UINT64_MAX), RLT_POOL_THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_in_order),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_lowest_error_wins),
        cmocka_unit_test(test_error_stops_later_simulations),
        cmocka_unit_test(test_refused_result_stops_all),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
