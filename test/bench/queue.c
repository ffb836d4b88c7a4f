/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of the event queue by the hold model: with a fixed number of events pending, take the first and put
 * one back after a random delay. Prints nanoseconds of CPU time per hold, the best of several runs, for the
 * bare queue and for scheduling, taking and handling an event together.
 *
 * bench_queue [HOLDS [PATTERN PENDING]]: the holds per run, and a single case (for instruction counts).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/queue.h"
#include "sim/sim.h"

enum { RUNS = 5, DELAYS = 1 << 16 };

typedef enum pattern { EXPONENTIAL, BIMODAL, TIES, PATTERNS } pattern;
static const char *const pattern_names[] = {"exponential", "bimodal", "ties"};

/* Delays are drawn before the clock starts, so that neither logarithm nor generator is measured. */
static uint64_t delays[DELAYS];
static uint64_t draws;

static double unit(void)
{
    return (double)(rlt_mix64(0x9e3779b97f4a7c15u * ++draws) >> 11) * 0x1p-53;
}

static uint64_t draw(pattern p)
{
    static const uint64_t four[] = {1000000, 2000000, 5000000, 10000000};
    switch (p) {
    case EXPONENTIAL: /* mean 1 us */
        return (uint64_t)(-log1p(-unit()) * 1e6);
    case BIMODAL: /* nine in ten short, one long */
        return unit() < 0.9 ? (uint64_t)(unit() * 1e4) : (uint64_t)(1e7 + unit() * 1e7);
    default:
        return four[(unsigned)(unit() * 4) & 3];
    }
}

static uint64_t next_delay(void)
{
    return delays[draws++ % DELAYS];
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_queue: %s\n", what);
    exit(1);
}

static double hold_queue(uint32_t pending, uint64_t holds)
{
    static rlt_queue q;
    rlt_queue_init(&q);
    for (uint32_t i = 0; i < pending; i++)
        if (rlt_queue_push(&q, (rlt_entry){next_delay(), i, 0}) < 0)
            die("out of memory");
    double start = 0;
    for (uint64_t k = 0; k < pending + holds; k++) {
        if (k == pending) /* everything has been replaced once: the queue has its steady shape */
            start = cpu_s();
        rlt_entry e;
        if (!rlt_queue_pop(&q, &e, NULL))
            die("the queue is empty");
        e.key += next_delay();
        if (rlt_queue_push(&q, e) < 0)
            die("out of memory");
    }
    double spent = cpu_s() - start;
    rlt_queue_free(&q);
    return spent;
}

typedef struct holder {
    rlt_sim *sim;
    int handler;
    uint64_t left, warm_up;
    double start;
} holder;

static void again(void *ctx, uint64_t payload)
{
    holder *h = ctx;
    if (h->left == 0) {
        rlt_sim_stop(h->sim);
        return;
    }
    if (--h->left == h->warm_up)
        h->start = cpu_s();
    rlt_sim_at(h->sim, rlt_sim_now(h->sim) + (rlt_time)next_delay(), RLT_COMPLETE, h->handler, payload);
}

static double hold_sim(uint32_t pending, uint64_t holds)
{
    holder h = {.left = pending + holds, .warm_up = holds};
    if (rlt_sim_create(&h.sim, NULL) < 0)
        die("out of memory");
    h.handler = rlt_sim_handler(h.sim, again, &h);
    for (uint32_t i = 0; i < pending; i++)
        rlt_sim_at(h.sim, (rlt_time)next_delay(), RLT_COMPLETE, h.handler, i);
    if (rlt_sim_run(h.sim, RLT_TIME_MAX, NULL) != RLT_ECANCELLED)
        die("the run ended early");
    double spent = cpu_s() - h.start;
    rlt_sim_free(h.sim);
    return spent;
}

static double best(double (*hold)(uint32_t, uint64_t), uint32_t pending, uint64_t holds)
{
    double least = INFINITY;
    for (int run = 0; run < RUNS; run++)
        least = fmin(least, hold(pending, holds));
    return least * 1e9 / (double)holds;
}

static void prepare(pattern p)
{
    draws = 0;
    for (int i = 0; i < DELAYS; i++)
        delays[i] = draw(p);
}

static int single_case(uint64_t holds, const char *name, uint32_t pending)
{
    for (pattern p = 0; p < PATTERNS; p++) {
        if (strcmp(name, pattern_names[p]) == 0) {
            prepare(p);
            printf("%s %u: %.1f ns a hold\n", name, pending, hold_sim(pending, holds) * 1e9 / (double)holds);
            return 0;
        }
    }
    fprintf(stderr, "bench_queue: no pattern is called '%s'\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    uint64_t holds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
    if (holds == 0) {
        fprintf(stderr, "usage: bench_queue [HOLDS [exponential|bimodal|ties PENDING]]\n");
        return 2;
    }
    if (argc > 3)
        return single_case(holds, argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
    printf("%-12s %9s %14s %14s\n", "delays", "pending", "queue ns/hold", "sim ns/event");
    for (pattern p = 0; p < PATTERNS; p++) {
        prepare(p);
        for (uint32_t pending = 100; pending <= 1000000; pending *= 10) {
            double queue_ns = best(hold_queue, pending, holds), sim_ns = best(hold_sim, pending, holds);
            printf("%-12s %9u %14.1f %14.1f\n", pattern_names[p], pending, queue_ns, sim_ns);
            fflush(stdout);
        }
    }
    return 0;
}
