/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DCQCN step by step, against the rules of the paper's section 5 worked out by hand: rates from the delay of a packet.
 * Random runs, against timers that are events. */
#include "net/packet/dcqcn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/base/time.h"
#include "test/support/dice.h"

static const double line = 50e9;

static rlt_dcqcn at_line(void)
{
    rlt_dcqcn d;
    rlt__dcqcn_init(&d, (uint64_t)line);
    return d;
}

/* Delay behind a packet of 1 MB at a rate, to the picosecond. */
static rlt_time behind(double rate_Bps)
{
    return (rlt_time)nearbyint(1e6 / rate_Bps * 1e12);
}

/* A packet of 1 MB finds the rate. Its bytes are taken back, so that they do not count as sent. */
static void expect_rate(rlt_dcqcn *d, rlt_time now, double rate_Bps)
{
    rlt_dcqcn copy = *d;
    copy.bytes = 0;
    rlt_time got = rlt__dcqcn_sends(&copy, now, 1000000);
    if (llabs(got - behind(rate_Bps)) > 1)
        fail_msg("at %lld us: a delay of %lld ps, expected %lld", (long long)(now / RLT_US), (long long)got,
                 (long long)behind(rate_Bps));
}

static void notifications_are_50_us_apart(void **state)
{
    rlt_dcqcn d = at_line();
    (void)state;
    assert_true(rlt__dcqcn_tells(&d, 0));
    assert_false(rlt__dcqcn_tells(&d, 1));
    assert_false(rlt__dcqcn_tells(&d, 50 * RLT_US - 1));
    assert_true(rlt__dcqcn_tells(&d, 50 * RLT_US));
    assert_false(rlt__dcqcn_tells(&d, 100 * RLT_US - 1));
}

/* The example of the header: 50, 25, 37.5, 43.75 GB/s. */
static void a_notification_halves_and_timers_recover(void **state)
{
    rlt_dcqcn d = at_line();
    (void)state;
    assert_int_equal(rlt__dcqcn_sends(&d, 0, 1000000), 0);
    rlt__dcqcn_cut(&d, 0);
    expect_rate(&d, 0, 25e9);
    expect_rate(&d, 55 * RLT_US - 1, 25e9);
    expect_rate(&d, 55 * RLT_US, 37.5e9);
    expect_rate(&d, 110 * RLT_US - 1, 37.5e9);
    expect_rate(&d, 110 * RLT_US, 43.75e9);
}

/* The distance to the line rate halves: 25 / 2^19 GB/s is less than a millionth of it, 25 / 2^18 is not. */
static void the_line_rate_is_reached(void **state)
{
    rlt_dcqcn d = at_line();
    (void)state;
    rlt__dcqcn_cut(&d, 0);
    expect_rate(&d, 18 * 55 * RLT_US, line - ldexp(25e9, -18));
    assert_int_equal(rlt__dcqcn_sends(&d, 19 * 55 * RLT_US, 1000000), 0);
}

/* Two periods without a notification: a = (255/256)^2 at the next one, which finds R = 43.75 GB/s. That one
 * raises a by (1 - a) / 256, so that one at the same time cuts by half of that. */
static void the_estimate_decays_and_rises(void **state)
{
    rlt_dcqcn d = at_line();
    double a = 255.0 / 256 * 255 / 256, rate = 43.75e9 * (1 - a / 2);
    (void)state;
    rlt__dcqcn_cut(&d, 0);
    rlt__dcqcn_cut(&d, 110 * RLT_US);
    expect_rate(&d, 110 * RLT_US, rate);
    expect_rate(&d, 165 * RLT_US - 1, rate);
    expect_rate(&d, 165 * RLT_US, (rate + 43.75e9) / 2);
    a += (1 - a) / 256;
    rlt__dcqcn_cut(&d, 110 * RLT_US);
    expect_rate(&d, 110 * RLT_US, rate * (1 - a / 2));
}

static void every_10_MB_is_a_step(void **state)
{
    rlt_dcqcn d = at_line();
    (void)state;
    rlt__dcqcn_cut(&d, 0);
    assert_int_equal(rlt__dcqcn_sends(&d, 0, 9999999), (rlt_time)nearbyint(9999999 / 25e9 * 1e12));
    expect_rate(&d, 0, 25e9);
    rlt__dcqcn_sends(&d, 0, 2);
    expect_rate(&d, 0, 37.5e9);
    rlt__dcqcn_sends(&d, 0, 9999998); /* a byte was left over from the first step */
    expect_rate(&d, 0, 37.5e9);
    rlt__dcqcn_sends(&d, 0, 1);
    expect_rate(&d, 0, 43.75e9);
    rlt__dcqcn_sends(&d, 0, 9999999);
    rlt__dcqcn_cut(&d, 0); /* bytes are counted from the last notification on */
    rlt__dcqcn_sends(&d, 0, 1);
    expect_rate(&d, 0, 43.75e9 / 2);
}

/* Five steps of a kind leave the target alone; then it rises by 5 MB/s a step; with more than five steps of both
 * kinds by 50 MB/s for each step beyond five of the rarer kind. */
static void expect_increase(bool timers_first)
{
    static const double rises[] = {0, 0, 0, 0, 0, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 5e6, 50e6, 50e6, 100e6};
    rlt_dcqcn d = at_line();
    rlt_time now = 0;
    double target = 25e9, rate = 12.5e9;
    rlt__dcqcn_cut(&d, 0);
    rlt__dcqcn_cut(&d, 0);
    for (int i = 0; i < 15; i++) {
        /* seven of one kind, seven of the other, and the eighth of the first comes before the last */
        bool timer = (i < 7 || i == 13) == timers_first;
        now += timer ? 55 * RLT_US : 0;
        rlt__dcqcn_sends(&d, now, timer ? 0 : 10000000);
        target += rises[i];
        rate = (rate + target) / 2;
        expect_rate(&d, now, rate);
    }
}

static void the_target_rises(void **state)
{
    (void)state;
    expect_increase(true);
    expect_increase(false);
}

/* A notification begins to count steps anew: the next five leave the target alone. */
static void steps_are_counted_from_the_last_notification_on(void **state)
{
    rlt_dcqcn d = at_line();
    rlt_time now = 6 * 55 * RLT_US;
    double target = 25.005e9, rate = (25e9 - 12.5e9 / 32 + target) / 2, a = pow(255.0 / 256, 6);
    (void)state;
    rlt__dcqcn_cut(&d, 0);
    rlt__dcqcn_cut(&d, 0);
    for (int i = 0; i < 2; i++) {
        expect_rate(&d, now, rate);
        rlt__dcqcn_cut(&d, now);
        target = rate;
        rate *= 1 - a / 2;
        expect_rate(&d, now, rate);
        a = (1 - a) / 256 + a;
        a *= pow(255.0 / 256, 5);
        for (int k = 0; k < 5; k++)
            rate = (rate + target) / 2;
        now += 5 * 55 * RLT_US;
    }
}

/* With a = 1 each notification halves the rate, but not below 5 MB/s, nor below a slower line. */
static void the_rate_has_a_least(void **state)
{
    rlt_dcqcn d = at_line();
    (void)state;
    for (int i = 0; i < 13; i++)
        rlt__dcqcn_cut(&d, 0);
    expect_rate(&d, 0, line / 8192);
    rlt__dcqcn_cut(&d, 0);
    expect_rate(&d, 0, 5e6);
    rlt__dcqcn_init(&d, 4000000);
    rlt__dcqcn_cut(&d, 0);
    assert_int_equal(rlt__dcqcn_sends(&d, 0, 1000), 0);
    rlt__dcqcn_init(&d, 5000000);
    rlt__dcqcn_cut(&d, 0);
    assert_int_equal(rlt__dcqcn_sends(&d, 0, 1000), 0);
}

/* The rules with a clock: both timers run from the last notification on, and fire in their time. */
typedef struct clock_model {
    double line, rate, target, alpha;
    rlt_time alpha_at, timer_at; /* -1: not running */
    uint64_t bytes;
    uint32_t timers, counters;
} clock_model;

static void step_up(clock_model *m)
{
    uint32_t both = m->timers < m->counters ? m->timers : m->counters;
    if (both > 5)
        m->target += (both - 5) * 50e6;
    else if (m->timers > 5 || m->counters > 5)
        m->target += 5e6;
    m->target = fmin(m->target, m->line);
    m->rate = (m->rate + m->target) / 2;
    if (m->rate > m->line * (1 - 1e-6))
        m->rate = m->target = m->line;
}

static void pass_time(clock_model *m, rlt_time now)
{
    while ((m->alpha_at >= 0 && m->alpha_at <= now) || (m->timer_at >= 0 && m->timer_at <= now)) {
        if (m->alpha_at <= m->timer_at) {
            m->alpha *= 255.0 / 256;
            m->alpha_at += 55 * RLT_US;
        } else {
            m->timers++;
            step_up(m);
            m->timer_at += 55 * RLT_US;
        }
    }
}

static void notified(clock_model *m, rlt_time now)
{
    pass_time(m, now);
    m->target = m->rate;
    m->rate = fmax(m->rate * (1 - m->alpha / 2), fmin(5e6, m->line));
    m->alpha = m->alpha * 255 / 256 + 1.0 / 256;
    m->alpha_at = m->timer_at = now + 55 * RLT_US;
    m->timers = m->counters = 0;
    m->bytes = 0;
}

static double sent(clock_model *m, rlt_time now, uint32_t bytes)
{
    pass_time(m, now);
    m->bytes += m->rate < m->line ? bytes : 0; /* nothing is raised above the line rate */
    if (m->bytes >= 10000000) {
        m->bytes -= 10000000;
        m->counters++;
        step_up(m);
    }
    return m->rate < m->line ? bytes / m->rate * 1e12 : 0;
}

static void near_to(double got, double expected, double margin)
{
    if (fabs(got - expected) > margin)
        fail_msg("%.12g, the model says %.12g", got, expected);
}

static void random_runs_as_with_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        dice d = {.seed = seed};
        uint64_t line_Bps =
            below(&d, 10) ? 1000000000 + roll(&d, UINT64_C(99000000000)) : 3000000 + roll(&d, 4000000);
        rlt_time now = 0, most = 1 + (rlt_time)roll(&d, 200 * RLT_US);
        uint32_t often = 1 + below(&d, 40);
        rlt_dcqcn x;
        clock_model m = {.line = (double)line_Bps, .alpha = 1, .alpha_at = -1, .timer_at = -1};
        m.rate = m.target = m.line;
        rlt__dcqcn_init(&x, line_Bps);
        for (int i = 0; i < 400; i++) {
            now += (rlt_time)roll(&d, (uint64_t)most) * (below(&d, 60) ? 1 : 40);
            if (below(&d, often) == 0) {
                rlt__dcqcn_cut(&x, now);
                notified(&m, now);
            } else {
                uint32_t bytes = 1 + below(&d, below(&d, 2) ? 5000 : 4000000);
                double wait = sent(&m, now, bytes);
                near_to((double)rlt__dcqcn_sends(&x, now, bytes), wait, 1 + 1e-9 * wait);
            }
        }
        rlt__dcqcn_cut(&x, now);
        notified(&m, now);
        near_to(x.rate, m.rate, 1e-9 * m.rate);
        near_to(x.target, m.target, 1e-9 * m.target);
        near_to(x.alpha, m.alpha, 1e-9 * m.alpha);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notifications_are_50_us_apart),
        cmocka_unit_test(a_notification_halves_and_timers_recover),
        cmocka_unit_test(the_line_rate_is_reached),
        cmocka_unit_test(the_estimate_decays_and_rises),
        cmocka_unit_test(every_10_MB_is_a_step),
        cmocka_unit_test(the_target_rises),
        cmocka_unit_test(steps_are_counted_from_the_last_notification_on),
        cmocka_unit_test(the_rate_has_a_least),
        cmocka_unit_test(random_runs_as_with_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
