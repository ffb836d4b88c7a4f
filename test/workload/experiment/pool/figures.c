/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns of results: how each one is shown and stored, by hand; the row of a failure; and links of runs, one by one
 * and by class, against those of the network.
 */
#include "workload/experiment/figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/links.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/run_words.h"
#include "test/support/text_file.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

/* Times, sizes, shares of a peak, and other reals; the rest are counts, and one text. */
static const rlt_figure sizes[] = {RLT_FIG_BYTES, RLT_FIG_MEMORY, RLT_FIG_SERVER_BYTES},
                        percents[] = {RLT_FIG_BUSIEST, RLT_FIG_MFU},
                        reals[] = {RLT_FIG_TOKENS,   RLT_FIG_BUSBW,    RLT_FIG_FALLBACK, RLT_FIG_MEAN,
                                   RLT_FIG_COLLIDED, RLT_FIG_FAIRNESS, RLT_FIG_GAIN},
                        counts[] = {RLT_FIG_EVENTS, RLT_FIG_MESSAGES, RLT_FIG_RETRANSMISSIONS, RLT_FIG_PEAK};
#define IS_IN(f, list) is_in(f, list, sizeof(list) / sizeof *(list))

static bool is_in(rlt_figure f, const rlt_figure *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == f)
            return true;
    return false;
}

static void each_has_its_column(void **state)
{
    (void)state;
    for (int i = 0; i <= RLT_FIGURES; i++) {
        rlt_figure f = (rlt_figure)i;
        rlt_column c = rlt_figure_column(f);
        bool percent = IS_IN(f, percents), real = IS_IN(f, reals);
        rlt_column_kind want = i == RLT_FIGURES || f == RLT_FIG_BUSIEST_LINK ? RLT_COL_TEXT
                               : IS_IN(f, sizes)                             ? RLT_COL_SIZE
                               : percent                                     ? RLT_COL_PERCENT
                               : real                                        ? RLT_COL_REAL
                               : IS_IN(f, counts)                            ? RLT_COL_COUNT
                                                                             : RLT_COL_TIME;
        assert_int_equal(c.kind, want);
        assert_true(!c.name && !c.title);
        assert_int_equal(c.decimals, percent ? 1 : real ? -4 : 0);
        assert_true(percent ? strcmp(c.unit, "%") == 0 : !c.unit);
        if (i < RLT_FIGURES)
            assert_string_equal(rlt_figure_type(&rlt_figure_infos[i]), want == RLT_COL_TEXT ? "TEXT"
                                                                       : percent || real    ? "REAL"
                                                                                            : "INTEGER");
    }
}

static void lists(void **state)
{
    char plain[RLT_FIGURE_LIST], typed[RLT_FIGURE_LIST], want[2][2 * RLT_FIGURE_LIST] = {"", ""};
    (void)state;
    for (int i = 0; i < RLT_FIG_STORED; i++)
        for (int k = 0; k < 2; k++) {
            strcat(want[k], i ? ", " : "");
            strcat(want[k], k ? "" : "p.");
            strcat(want[k], rlt_figure_infos[i].name);
            strcat(want[k], k ? " " : "");
            strcat(want[k], k ? rlt_figure_type(&rlt_figure_infos[i]) : "");
        }
    assert_ptr_equal(rlt_figure_list("p.", false, plain), plain);
    assert_ptr_equal(rlt_figure_list("", true, typed), typed);
    assert_string_equal(plain, want[0]);
    assert_string_equal(typed, want[1]);
}

/* Reals as they are; whole numbers rounded, unless they are too large for one. */
static void values(void **state)
{
    static const rlt_column_kind whole[] = {RLT_COL_TIME, RLT_COL_SIZE, RLT_COL_COUNT};
    (void)state;
    for (int k = 0; k < 2; k++) {
        const rlt_column c = {.kind = k ? RLT_COL_REAL : RLT_COL_PERCENT};
        rlt_value a = rlt_figure_value(&c, true, 7, 2.5), b = rlt_figure_value(&c, false, 7, 2.5);
        assert_false(a.absent || b.absent);
        assert_true(a.real == 2.5 && b.real == 7);
        assert_true(rlt_figure_value(&c, true, 7, 1e300).real == 1e300);
    }
    for (int k = 0; k < 3; k++) {
        const rlt_column c = {.kind = whole[k]};
        rlt_value a = rlt_figure_value(&c, true, 7, 2.5), b = rlt_figure_value(&c, false, 7, 2.5);
        assert_false(a.absent || b.absent);
        assert_true(k ? a.count == 3 && b.count == 7 : a.time == 3 && b.time == 7);
        assert_false(rlt_figure_value(&c, true, 0, 9.1e18).absent);
        assert_true(rlt_figure_value(&c, true, 0, 9.2e18).absent &&
                    rlt_figure_value(&c, true, 0, -9.2e18).absent);
        assert_false(rlt_figure_value(&c, false, 7, 1e300).absent);
    }
}

/* A failure leaves nothing of what there was, but its status and its text. */
static void failures(void **state)
{
    static const struct {
        rlt_error err;
        const char *text;
    } rows[] = {{{.code = 1, .where = "here", .what = "wrong"}, "here: wrong"},
                {{.code = 1, .where = "x", .what = "wrong"}, "x: wrong"},
                {{.code = 1, .what = "wrong"}, "wrong"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_outcome o = {.n_links = 1, .busiest = "link", .links = calloc(1, sizeof *o.links)};
        rlt_outcome_integer(&o, RLT_FIG_TIME, 5);
        rlt_outcome_real(&o, RLT_FIG_MFU, 0.5);
        assert_true(o.there[RLT_FIG_TIME] && o.integer[RLT_FIG_TIME] == 5);
        assert_true(o.there[RLT_FIG_MFU] && o.real[RLT_FIG_MFU] == 0.5);
        rlt_outcome_fail(&o, 3, &rows[i].err);
        assert_int_equal(o.status, 3);
        assert_string_equal(o.error, rows[i].text);
        assert_true(!o.there[RLT_FIG_TIME] && !o.there[RLT_FIG_MFU] && !o.links && !o.n_links && !*o.busiest);
        rlt_outcome_free(&o);
        assert_true(o.status == 0 && !*o.error);
    }
}

/* ---- links ---- */

static const char sends[] =
    "num_ranks 4\nrank 0 {\nl1: send 9000b to 1 tag 5\nl2: send 3000b to 2 tag 5\n}\n"
    "rank 1 {\nl1: recv 9000b from 0 tag 5\n}\nrank 2 {\nl1: recv 3000b from 0 tag 5\n}\n"
    "rank 3 {\nl1: calc 100\n}\n";
static const char works[] = "num_ranks 1\nrank 0 {\nl1: calc 100\n}\n";

/* Links of one name are told apart by the number of the first of them, but for the first of all. */
static void name_of(const rlt_topology *t, const rlt_link_class *all, uint32_t i, char out[168])
{
    char other[140];
    bool twice = false;
    rlt_link_class_name(t, &all[i], out, 140);
    for (uint32_t k = 0; k < i; k++) {
        rlt_link_class_name(t, &all[k], other, sizeof other);
        twice = twice || strcmp(other, out) == 0;
    }
    if (twice)
        snprintf(out + strlen(out), 28, " #%u", all[i].first);
}

static uint32_t same_links(const asked *a, rlt_figure_links which)
{
    const rlt_topology *t = a->run.setup.topology;
    const rlt_usage *u = rlt_replay_net(a->run.replay)->usage;
    const rlt_time end = rlt_run_end(&a->run);
    const rlt_busiest busiest = rlt_links_busiest(t, u, end);
    rlt_outcome o = {.n_links = 0};
    rlt_link_class *all = NULL;
    rlt_error err = {0};
    uint32_t n = 0, numbered = 0;
    assert_int_equal(rlt_link_figures_of(t, u, end, which, &o, &err), 0);
    assert_int_equal(o.there[RLT_FIG_BUSIEST_LINK], busiest.link != RLT_NONE);
    assert_string_equal(o.busiest, busiest.link != RLT_NONE ? busiest.name : "");
    assert_true(o.there[RLT_FIG_BUSIEST] && o.real[RLT_FIG_BUSIEST] == busiest.utilization);
    if (which != RLT_FIGURE_LINKS_NONE)
        assert_int_equal(rlt_links_list(t, u, end, which == RLT_FIGURE_LINKS_SUMMARY, &all, &n, &err), 0);
    assert_int_equal(o.n_links, n);
    for (uint32_t i = 0; i < n; i++) {
        const rlt_link_figures *l = &o.links[i];
        char name[168];
        name_of(t, all, i, name);
        assert_string_equal(l->id, name);
        numbered += strstr(name, " #") != NULL;
        assert_true(l->dim == all[i].link.dim && l->count == all[i].count && l->bytes == all[i].usage.bytes);
        assert_true(l->busy_ps == all[i].usage.busy_ps && l->active_ps == all[i].usage.active_ps);
        assert_true(l->utilization == all[i].utilization);
    }
    free(all);
    rlt_outcome_free(&o);
    return numbered;
}

static void links_of_runs(void **state)
{
    static const char graph[] =
        "{\"nodes\":[{\"id\":\"g\",\"kind\":\"accelerator\",\"count\":4},{\"id\":\"s\",\"kind\":\"switch\"}],\"links\":["
        "{\"src\":\"g0\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\",\"count\":2},"
        "{\"src\":\"g1\",\"dst\":\"s\",\"bandwidth\":\"2GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g2\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g3\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\",\"count\":3}]}";
    char path[] = "/tmp/ringlet-graph-XXXXXX", words[200];
    const char *const networks[] = {path, "switch:2@1GB/s,1us*ring:2@2GB/s,500ns", "ring:4@1GB/s,1us"};
    uint32_t numbered = 0;
    (void)state;
    test_write_new(path, graph, sizeof graph - 1);
    for (int k = 0; k < 6; k++) {
        asked a;
        rlt_error err;
        char file[] = "/tmp/ringlet-sends-XXXXXX";
        test_write_new(file, k % 2 ? works : sends, strlen(k % 2 ? works : sends));
        snprintf(words, sizeof words, "topology=%s trace=%s", networks[k / 2], file);
        if (go(&a, words, &err))
            fail_msg("%s: %s: %s", words, err.where, err.what);
        for (int which = RLT_FIGURE_LINKS_NONE; which <= RLT_FIGURE_LINKS_ALL; which++)
            numbered += same_links(&a, (rlt_figure_links)which);
        done(&a);
        unlink(file);
    }
    assert_true(numbered > 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_column),
        cmocka_unit_test(lists),
        cmocka_unit_test(values),
        cmocka_unit_test(failures),
        cmocka_unit_test(links_of_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
