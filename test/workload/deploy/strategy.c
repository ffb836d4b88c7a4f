/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies as JSON: random ones come back as they were written; wrong files are refused with their place. */
#include "workload/deploy/strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/opgraph.h"

enum { CASES = 40 };

static rlt_opgraph *graph;
static rlt_cluster cluster;

static int open_all(void **state)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_error err = {0};
    (void)state;
    if (rlt_opgraph_read("traces/small-cnn.graph.txt", &o, &graph, &err) ||
        rlt_cluster_load("testbed-4xv100-4xv100", "topologies", NULL, &cluster, &err))
        fail_msg("%s: %s", err.where, err.what);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    rlt_opgraph_free(graph);
    rlt_cluster_free(&cluster);
    return 0;
}

static char *write(const rlt_grouping *p, const rlt_strategy *s, bool alone, size_t *length)
{
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    if (!alone) {
        rlt_jw_u64(&w, "time_ps", 5);
        rlt_jw_object(&w, "strategy");
    }
    rlt_strategy_members(&w, graph, &cluster, p, s);
    if (!alone)
        rlt_jw_end_object(&w);
    rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, length);
    assert_non_null(text);
    return text;
}

static int read_text(const char *text, size_t length, rlt_grouping *p, rlt_strategy *s, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    *err = (rlt_error){0};
    if (rlt_json_parse("file", text, length, &doc, err))
        fail_msg("%s: %s", err->where, err->what);
    int rc = rlt_strategy_read(doc, graph, &cluster, p, s, err);
    rlt_json_free(doc);
    return rc;
}

/* Draws groups, some of them empty, an action of each, and operators that are broadcast. */
static void draw(dice *d, rlt_grouping *p, rlt_strategy *s)
{
    rlt_error err = {0};
    uint32_t n = 1 + below(d, 12), *of_op = malloc(graph->n_ops * sizeof *of_op);
    assert_non_null(of_op);
    for (uint32_t i = 0; i < graph->n_ops; i++)
        of_op[i] = below(d, n);
    assert_int_equal(rlt_grouping_make(graph, of_op, n, p, &err), 0);
    assert_int_equal(rlt_strategy_uniform(p->n, (rlt_action){1, RLT_USE_PS}, s, &err), 0);
    for (uint32_t g = 0; g < p->n; g++)
        s->actions[g] = (rlt_action){1 + below(d, (1u << cluster.n_groups) - 1), (uint8_t)below(d, RLT_USES)};
    s->broadcast = calloc(graph->n_ops, 1);
    assert_non_null(s->broadcast);
    for (uint32_t i = 0; i < graph->n_ops; i++)
        s->broadcast[i] = (uint8_t)below(d, 2);
    free(of_op);
}

static void strategies_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        dice d = {.seed = seed};
        rlt_grouping p, q;
        rlt_strategy s, t;
        rlt_error err;
        size_t length;
        draw(&d, &p, &s);
        char *text = write(&p, &s, seed % 2, &length);
        if (read_text(text, length, &q, &t, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(q.n, p.n);
        assert_int_equal(t.n, s.n);
        for (uint32_t i = 0; i < graph->n_ops; i++) {
            /* Groups of equal time may change their numbers, and take their actions with them. */
            assert_int_equal(p.time_ps[p.of_op[i]], q.time_ps[q.of_op[i]]);
            assert_int_equal(s.actions[p.of_op[i]].placement, t.actions[q.of_op[i]].placement);
            assert_int_equal(s.actions[p.of_op[i]].use, t.actions[q.of_op[i]].use);
            assert_int_equal(s.broadcast[i], t.broadcast[i]);
        }
        free(text);
        rlt_grouping_free(&p);
        rlt_grouping_free(&q);
        rlt_strategy_free(&s);
        rlt_strategy_free(&t);
    }
}

/* Puts another piece in place of the first `old` behind the first `after`. */
static char *changed(const char *text, const char *after, const char *old, const char *piece)
{
    const char *from = strstr(text, after);
    const char *at = from ? strstr(from, old) : NULL;
    size_t size = strlen(text) + strlen(piece) + 1;
    char *out = malloc(size);
    assert_true(at && out);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, piece, at + strlen(old));
    return out;
}

static void wrong_files(void **state)
{
    static const struct {
        const char *after, *old, *piece, *what;
    } rows[] = {
        {"\"groups\"", "\"groups\"", "\"grups\"", "expected 'groups', a list of at least one group"},
        {"\"groups\":", "[", "[],\"x\":[", "expected 'groups', a list of at least one group"},
        {"\"use\":", "ps", "pss", "expected ps, all_reduce, model or duplicate, got 'pss'"},
        {"\"groups\":", "\"devices\"", "\"device\"", "device"},
        {"\"groups\":", "[0]", "[]", "expected 'devices', a list of at least one device group"},
        {"\"groups\":", "[0]", "[2]", "the cluster has device groups 0 to 1"},
        {"\"groups\":", "[0]", "[-1]", ""},
        {"\"operators\"", "\"operators\"", "\"opertors\"", "expected 'operators', a list"},
        {"\"operators\":", "\"name\":\"", "\"name\":\"no ", "the graph has no operator 'no "},
        {"\"operators\":", "\"group\":0", "\"group\":1", ""},
        {"\"operators\":", "\"broadcast\":false", "\"broadcast\":0", ""},
        {"\"operators\":", "{", "{\"name\":\"\",\"group\":0},{", "the graph has no operator ''"},
    };
    rlt_grouping p, q;
    rlt_strategy s, t;
    rlt_error err;
    size_t length;
    uint32_t *one = calloc(graph->n_ops, sizeof *one);
    (void)state;
    assert_non_null(one);
    assert_int_equal(rlt_grouping_make(graph, one, 1, &p, NULL), 0);
    assert_int_equal(rlt_strategy_uniform(1, (rlt_action){1, RLT_USE_PS}, &s, NULL), 0);
    char *text = write(&p, &s, true, &length);
    assert_int_equal(read_text(text, length, &q, &t, &err), 0);
    assert_int_equal(t.broadcast[0], 0);
    rlt_grouping_free(&q);
    rlt_strategy_free(&t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *wrong = changed(text, rows[i].after, rows[i].old, rows[i].piece);
        int rc = read_text(wrong, strlen(wrong), &q, &t, &err);
        if (rc >= 0 || strncmp(err.where, "file:", 5) != 0 || !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %d: %s: %s", i, rc, err.where, err.what);
        free(wrong);
    }
    /* An operator twice, and one that is missing. */
    char *first = strstr(text, "\"operators\":"), name[80], both[400];
    assert_int_equal(sscanf(strstr(first, "\"name\""), "\"name\":\"%79[^\"]", name), 1);
    snprintf(both, sizeof both, "{\"name\":\"%s\",\"group\":0},{", name);
    char *twice = changed(text, "\"operators\":", "{", both);
    assert_int_equal(read_text(twice, strlen(twice), &q, &t, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.what, "appears twice"));
    char *end = strstr(first, "},{");
    char *start = strchr(first, '{');
    assert_true(end && start);
    memmove(start, end + 2, strlen(end + 2) + 1);
    assert_int_equal(read_text(text, strlen(text), &q, &t, &err), RLT_ESCHEMA);
    assert_true(strstr(err.what, "is missing") && strstr(err.what, name));
    free(twice);
    free(text);
    free(one);
    rlt_grouping_free(&p);
    rlt_strategy_free(&s);
}

static void names_of_uses(void **state)
{
    (void)state;
    assert_string_equal(rlt_use_name(RLT_USE_PS), "ps");
    assert_string_equal(rlt_use_name(RLT_USE_DUPLICATE), "duplicate");
    assert_string_equal(rlt_use_name(RLT_USES), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_come_back),
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(names_of_uses),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
