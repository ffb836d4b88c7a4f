/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings of packets: each name sets its own field and no other, from least to most; random combinations are
 * refused, or completed, as the rules say; links get what was set.
 */
#include <stdbool.h>
#include <stdio.h>

#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/same_fields.h"
#include "test/support/support.h"

static bool same(const rlt_packet_settings *a, const rlt_packet_settings *b)
{
    return !test_other_field(rlt_packet_parameters(), a, b) && a->lose.n == b->lose.n;
}

/* Each row: a text for the setting, and the same said to the field. `beyond` is refused. */
#define FIELD(name, text, beyond, assignment)                                                                \
    do {                                                                                                     \
        rlt_packet_settings s = rlt_packet_default(), other;                                                 \
        rlt_error err = {0};                                                                                 \
        if (rlt_packet_set(&s, name, text, &err))                                                            \
            fail_msg("%s=%s: %s", name, text, err.what);                                                     \
        other = rlt_packet_default();                                                                        \
        other.assignment;                                                                                    \
        assert_true(same(&s, &other));                                                                       \
        assert_int_equal(rlt_packet_set(&s, name, beyond, NULL), RLT_EUSAGE);                                \
        assert_true(same(&s, &other));                                                                       \
    } while (0)

static void names_have_fields(void **state)
{
    (void)state;
    const uint64_t tera = (uint64_t)1 << 40;
    FIELD("mtu", "1048576B", "1048577B", mtu = 1 << 20);
    FIELD("mtu", "1B", "0B", mtu = 1);
    FIELD("header", "65536B", "65537B", header = 1 << 16);
    FIELD("header", "0B", "-1B", header = 0);
    FIELD("ack", "65536", "65537", ack = 1 << 16);
    FIELD("ack_bytes", "65536B", "65537B", ack_bytes = 1 << 16);
    FIELD("window", "1048576", "1048577", window = 1 << 20);
    FIELD("transport", "selective", "other", selective = 1);
    FIELD("transport", "gbn", "gbn ", selective = 0);
    FIELD("rto", "1ps", "0ps", rto_ps = 1);
    FIELD("rto", "1125899906842624ps", "1125899906842625ps", rto_ps = (rlt_time)1 << 50);
    FIELD("retries", "1000", "1001", retries = 1000);
    FIELD("congestion", "dcqcn", "swift", dcqcn = 1);
    FIELD("buffer", "1TiB", "1099511627777B", buffer = tera);
    FIELD("ecn_min", "1TiB", "1099511627777B", ecn_min = tera);
    FIELD("ecn_max", "1TiB", "1099511627777B", ecn_max = tera);
    FIELD("ecn_probability", "100%", "101%", ecn_probability = 1);
    FIELD("pause", "pfc", "on", pause = RLT_PAUSE_PFC);
    FIELD("pause", "credit", "", pause = RLT_PAUSE_CREDIT);
    FIELD("pause_at", "1TiB", "1099511627777B", pause_at = tera);
    FIELD("resume_at", "1TiB", "1099511627777B", resume_at = tera);
    FIELD("loss", "100%", "101%", loss = 1);
    FIELD("seed", "7", "-1", seed = 7);
    FIELD("switch_latency", "1125899906842624ps", "1125899906842625ps", switch_ps = (rlt_time)1 << 50);
    FIELD("switching", "cut", "through", cut_through = 1);
}

static void usual_settings(void **state)
{
    (void)state;
    const rlt_packet_settings s = rlt_packet_default(), usual = {.mtu = 4096,
                                                                 .header = 82,
                                                                 .ack = 1,
                                                                 .ack_bytes = 86,
                                                                 .rto_ps = RLT_MS,
                                                                 .retries = 16,
                                                                 .ecn_probability = 0.01};
    assert_true(same(&s, &usual));
}

/* Which rule a combination breaks; NULL: none. */
static const char *broken(rlt_packet_settings *s)
{
    if (s->dcqcn && !s->ecn_max) {
        s->ecn_min = 5000;
        s->ecn_max = 200000;
    }
    if (!s->pause_at)
        s->pause_at = s->buffer ? s->buffer / 2 : 262144;
    s->resume_at = s->resume_at ? s->resume_at : s->pause_at / 2;
    bool waits = s->loss > 0 || s->lose.n || s->window;
    waits |= s->buffer && s->pause == RLT_PAUSE_NONE;
    if ((!s->ack && waits) || (s->window && s->ack > s->window))
        return "ack";
    if (s->ecn_min > s->ecn_max)
        return "ecn_max";
    if (s->resume_at > s->pause_at)
        return "resume_at";
    return s->pause == RLT_PAUSE_CREDIT && !s->buffer ? "pause" : NULL;
}

static void combinations(void **state)
{
    (void)state;
    uint32_t refused = 0;
    enum { CASES = 4000 };
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        rlt_packet_settings s = rlt_packet_default(), other;
        rlt_error err = {0};
        s.ack = below(&d, 3);
        s.window = below(&d, 2) ? 0 : below(&d, 3);
        s.dcqcn = (int)below(&d, 2);
        s.ecn_min = below(&d, 2) ? 0 : below(&d, 3);
        s.ecn_max = below(&d, 2) ? 0 : below(&d, 3);
        s.buffer = below(&d, 2) ? 0 : 1 + below(&d, 4);
        s.pause = (int)below(&d, 3);
        s.pause_at = below(&d, 2) ? 0 : below(&d, 4);
        s.resume_at = below(&d, 2) ? 0 : below(&d, 4);
        s.loss = below(&d, 4) ? 0 : 0.5;
        s.lose.n = below(&d, 4) == 0;
        other = s;
        const char *rule = broken(&other);
        int rc = rlt_packet_check(&s, &err);
        assert_int_equal(rc, rule ? RLT_EUSAGE : 0);
        assert_string_equal(err.where, rule ? rule : "");
        assert_true(same(&s, &other));
        refused += rule != NULL;
    }
    assert_true(refused > CASES / 4 && refused < CASES * 3 / 4);
}

static void links_get_what_was_set(void **state)
{
    (void)state;
    rlt_packet_settings s = rlt_packet_default();
    assert_int_equal(rlt_packet_set(&s, "lose", "a:3,b:4", NULL), 0);
    s.header = 1;
    s.switch_ps = 2;
    s.cut_through = 1;
    s.buffer = 3;
    s.ecn_min = 4;
    s.ecn_max = 5;
    s.ecn_probability = 0.25;
    s.pause = RLT_PAUSE_CREDIT;
    s.pause_at = 6;
    s.resume_at = 7;
    s.loss = 0.5;
    s.seed = 8;
    rlt_packets_config c = rlt_packet_links(&s);
    assert_true(c.header_bytes == 1 && c.switch_ps == 2 && c.cut_through && c.buffer_bytes == 3);
    assert_true(c.ecn_min_bytes == 4 && c.ecn_max_bytes == 5 && c.ecn_probability == 0.25);
    assert_true(c.pause == RLT_PAUSE_CREDIT && c.pause_bytes == 6 && c.resume_bytes == 7);
    assert_true(c.loss == 0.5 && c.seed == 8 && c.bandwidth_scale == 1 && c.latency_scale == 1);
    assert_true(c.lose.n == 2 && c.lose.items[1].number == 4);
    assert_string_equal(c.lose.items[0].name, "a");
    assert_false(c.links_fail || c.series_bin_ps || c.part || c.sim || c.topology || c.client.arrived);
}

/* Lists of packets to lose are written as they were read. Wrong ones name the item that is wrong. */
static void lists_of_packets_to_lose(void **state)
{
    (void)state;
    static const char *const good[] = {"3:17", "3:17,5:1", "a:b:2,acc0->sw:99,9:18446744073709551615"};
    static const char *const bad[] = {"", "3", "3:", "3:0", "3:x", ":1", "3:1,", "3:1,,5:1", "3:1,5"};
    static const char *const item[] = {"", "3", "3:", "3:0", "3:x", ":1", "", "", "5"};
    const rlt_param *p = rlt_params_find(rlt_packet_parameters(), "lose");
    rlt_packet_settings s = rlt_packet_default();
    char text[2000] = "x", expected[300], names[2000] = "";
    assert_string_equal(rlt_param_write(p, &s, text, sizeof text), "");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(rlt_packet_set(&s, "lose", good[i], NULL), 0);
        assert_int_equal(s.lose.n, i + 1);
        assert_string_equal(rlt_param_write(p, &s, text, sizeof text), good[i]);
    }
    for (size_t size = 1; size < 40; size++) { /* cut to its room, and not a byte more */
        memset(text, 'x', 100);
        rlt_param_write(p, &s, text, size);
        assert_int_equal(text[size], 'x');
        assert_int_equal(strncmp(text, good[2], size - 1), 0);
        assert_int_equal(text[size - 1], '\0');
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlt_error err = {0};
        snprintf(expected, sizeof expected,
                 "expected LINK:N, the name or number of a link ('ringlet run --links --expand-links' shows "
                 "them) and the number of a packet on it from 1, got '%s'",
                 item[i]);
        int rc = rlt_packet_set(&s, "lose", bad[i], &err);
        if (rc != RLT_EUSAGE || strcmp(err.what, expected) != 0)
            fail_msg("'%s': %d, %s", bad[i], rc, err.what);
        assert_int_equal(s.lose.n, 3); /* as before */
    }
    for (size_t n = 99; n < 102; n++) { /* the message names 100 bytes of an item */
        rlt_error err = {0};
        memset(names, 'n', n);
        names[n] = '\0';
        snprintf(expected, sizeof expected, "got '%.100s'", names);
        assert_int_equal(rlt_packet_set(&s, "lose", names, &err), RLT_EUSAGE);
        assert_non_null(strstr(err.what, expected));
    }
    for (uint32_t n = 1; n <= RLT_NAMED_LINK; n++) { /* the longest name has a byte less than its room */
        memset(names, 'n', n);
        memcpy(names + n, ":1", 3);
        assert_int_equal(rlt_packet_set(&s, "lose", names, NULL), n < RLT_NAMED_LINK ? 0 : RLT_EUSAGE);
        if (n < RLT_NAMED_LINK)
            assert_string_equal(rlt_param_write(p, &s, text, sizeof text), names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_fields),
        cmocka_unit_test(usual_settings),
        cmocka_unit_test(combinations),
        cmocka_unit_test(links_get_what_was_set),
        cmocka_unit_test(lists_of_packets_to_lose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
