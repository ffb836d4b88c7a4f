/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies as JSON: random ones come back as they were written; wrong files are refused with their place. */
#include "workload/deploy/strategy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
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
    memset(p, 0xab, sizeof *p);
    memset(s, 0xab, sizeof *s);
    int rc = rlt_strategy_read(doc, graph, &cluster, p, s, err);
    rlt_json_free(doc);
    if (rc) /* nothing is left to be freed */
        assert_true(!p->of_op && !p->time_ps && !s->actions && !s->broadcast);
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

typedef struct written {
    char *text;
    size_t used, size;
} written;

static void add(written *w, const char *format, ...) RLT_PRINTF(2);
static void add(written *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    w->used += (size_t)vsnprintf(w->text + w->used, w->size - w->used, format, list);
    va_end(list);
    assert_true(w->used < w->size);
}

static void add_operators(written *w, const rlt_grouping *p, const rlt_strategy *s)
{
    for (uint32_t i = 0; i < graph->n_ops; i++) {
        const rlt_operator *o = &graph->ops[i];
        add(w, "%s{\"name\":\"%s\",\"group\":%u,\"broadcast\":%s,\"time_ps\":%lld,\"launch_ps\":%lld,",
            i ? "," : "", o->name, p->of_op[i], s->broadcast && s->broadcast[i] ? "true" : "false",
            (long long)o->time_ps, (long long)o->launch_ps);
        add(w, "\"parameter_bytes\":%llu,\"kept_bytes\":%llu,\"forward\":%u,",
            (unsigned long long)o->parameter_bytes, (unsigned long long)o->kept_bytes, o->forward);
        if (o->together != RLT_NONE)
            add(w, "\"together\":%u,", o->together);
        add(w, "\"pass\":%u,\"splittable\":%s}", o->pass, o->splittable ? "true" : "false");
    }
}

/* Everything that strategy.h lists, written a second time. */
static void every_member(void **state)
{
    static const char *const uses[] = {"ps", "all_reduce", "model", "duplicate"};
    dice d = {.seed = 5};
    rlt_grouping p;
    rlt_strategy s;
    size_t length;
    written w = {.size = 1 << 20, .text = malloc(1 << 20)};
    (void)state;
    assert_non_null(w.text);
    draw(&d, &p, &s);
    for (int broadcast = 0; broadcast < 2; broadcast++) {
        w.used = 0;
        add(&w,
            "{\"graph\":\"%s\",\"graph_hash\":\"%016llx\",\"cluster\":\"%s\",\"cluster_hash\":\"%016llx\",",
            graph->name, (unsigned long long)graph->hash, cluster.name, (unsigned long long)cluster.hash);
        add(&w, "\"device_groups\":[");
        for (uint32_t i = 0; i < cluster.n_groups; i++)
            add(&w, "%s{\"type\":\"%s\",\"count\":%u,\"factor\":%.9g,\"memory_bytes\":%llu}", i ? "," : "",
                cluster.groups[i].name, cluster.groups[i].n, cluster.groups[i].factor,
                (unsigned long long)cluster.groups[i].memory_bytes);
        add(&w, "],\"groups\":[");
        for (uint32_t i = 0; i < s.n; i++) {
            const char *comma = "";
            add(&w, "%s{\"devices\":[", i ? "," : "");
            for (uint32_t k = 0; k < cluster.n_groups; k++)
                if (s.actions[i].placement & 1u << k) {
                    add(&w, "%s%u", comma, k);
                    comma = ",";
                }
            add(&w, "],\"use\":\"%s\"}", uses[s.actions[i].use]);
        }
        add(&w, "],\"operators\":[");
        add_operators(&w, &p, &s);
        add(&w, "],\"tensors\":[");
        for (uint32_t i = 0; i < graph->n_tensors; i++)
            add(&w, "%s[%u,%u,%llu,%u]", i ? "," : "", graph->tensors[i].src, graph->tensors[i].dst,
                (unsigned long long)graph->tensors[i].bytes, graph->tensors[i].kind);
        add(&w, "]}");
        char *text = write(&p, &s, true, &length);
        text[strcspn(text, "\n")] = '\0';
        assert_string_equal(text, w.text);
        free(text);
        free(s.broadcast);
        s.broadcast = NULL; /* nothing is broadcast then */
    }
    free(w.text);
    rlt_grouping_free(&p);
    rlt_strategy_free(&s);
}

enum { OPS = 12 };

/* A chain of operators of few different times. */
static rlt_opgraph *chain(dice *d, rlt_time *times)
{
    rlt_opgraph_builder *b = NULL;
    rlt_opgraph *g = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_opgraph_begin("chain", &b, &err), 0);
    for (uint32_t i = 0; i < OPS; i++) {
        times[i] = i ? (rlt_time)below(d, 3) : 1;
        const rlt_operator o = {
            .name = "o", .kind = "k", .time_ps = times[i], .forward = i, .together = RLT_NONE};
        assert_int_equal(rlt_opgraph_op(b, &o), i);
        if (i)
            rlt_opgraph_tensor(b, &(rlt_tensor){i - 1, i, 1, RLT_TENSOR_BATCHED});
    }
    if (rlt_opgraph_finish(b, &g, &err))
        fail_msg("%s: %s", err.where, err.what);
    return g;
}

/* Groups that are not empty, the longest first; of equal ones that with the lower number. */
static void groupings(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        dice d = {.seed = seed};
        rlt_time times[OPS];
        rlt_opgraph *g = chain(&d, times);
        rlt_grouping p;
        uint32_t of_op[OPS], n = 1 + below(&d, 8), found = 0;
        bool done[8] = {false};
        for (uint32_t i = 0; i < OPS; i++)
            of_op[i] = below(&d, n);
        assert_int_equal(rlt_grouping_make(g, of_op, n, &p, NULL), 0);
        for (;; found++) {
            rlt_time longest = -1;
            uint32_t group = 0;
            for (uint32_t k = 0; k < n; k++) {
                rlt_time sum = 0;
                bool empty = true;
                for (uint32_t i = 0; i < OPS; i++)
                    if (of_op[i] == k) {
                        sum += times[i];
                        empty = false;
                    }
                if (!done[k] && !empty && sum > longest) {
                    longest = sum;
                    group = k;
                }
            }
            if (longest < 0)
                break;
            done[group] = true;
            assert_true(found < p.n);
            assert_int_equal(p.time_ps[found], longest);
            for (uint32_t i = 0; i < OPS; i++)
                assert_int_equal(p.of_op[i] == found, of_op[i] == group);
        }
        assert_int_equal(p.n, found);
        rlt_grouping_free(&p);
        for (uint32_t beyond = n; beyond != 0; beyond = beyond == n ? UINT32_MAX : 0) {
            rlt_error err = {0};
            of_op[seed % OPS] = beyond;
            assert_int_equal(rlt_grouping_make(g, of_op, n, &p, &err), RLT_EUSAGE);
            assert_non_null(strstr(err.what, "where less than"));
            assert_true(!p.of_op && !p.time_ps);
        }
        rlt_opgraph_free(g);
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
        cmocka_unit_test(strategies_come_back), cmocka_unit_test(every_member),  cmocka_unit_test(groupings),
        cmocka_unit_test(wrong_files),          cmocka_unit_test(names_of_uses),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
