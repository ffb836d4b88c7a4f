/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random lists of AICB, and graphs of PipeDream's profiler. What a line says, who takes part in a
 * collective, and how large groups are whose size no line gives, follows from the heads of aicb.c and
 * pipedream.h.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/text_file.h"
#include "test/support/traces/kineto.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/pipedream.h"

enum { MAX_ROWS = 20 };
enum { ALL, TP, DP, EP, EP_DP, PP, PLACES };

static const struct {
    const char *word;
    rlt_coll_kind kind;
} words[] = {{"all_reduce", RLT_ALL_REDUCE},
             {"all_gather", RLT_ALL_GATHER},
             {"all_gather_into_tensor", RLT_ALL_GATHER},
             {"reduce_scatter", RLT_REDUCE_SCATTER},
             {"reduce_scatter_tensor", RLT_REDUCE_SCATTER},
             {"all_to_all", RLT_ALL_TO_ALL},
             {"all_to_all_single", RLT_ALL_TO_ALL},
             {"broadcast", RLT_BROADCAST},
             {"reduce", RLT_REDUCE},
             {"barrier", RLT_BARRIER}};

typedef struct row {
    bool computes;
    uint32_t word, place, step, us; /* us: UINT32_MAX: none */
    uint64_t bytes;
    bool sized;
} row;

typedef struct list {
    dice d;
    bool measured, sized[PLACES]; /* sized: some line gives the size of that group */
    uint32_t n, ranks, tp, dp, ep, pp, steps, empty, untimed, unsized;
    uint32_t asked, dims[2]; /* options: ranks, 0 for none, and those of the topology */
    row rows[MAX_ROWS];
    char text[8192];
    size_t used;
} list;

static uint32_t size_of(const list *x, uint32_t place)
{
    const uint32_t sizes[] = {x->ranks, x->tp, x->dp, x->ep, x->dp / x->ep, x->pp};
    return sizes[place];
}

static uint32_t stride_of(const list *x, uint32_t place)
{
    return place == DP || place == EP ? x->tp
           : place == EP_DP           ? x->tp * x->ep
           : place == PP              ? x->ranks / x->pp
                                      : 1;
}

static void say_row(list *x, const row *r)
{
    static const char *const places[] = {"any",      "tp_group",    "dp_group",
                                         "ep_group", "ep_dp_group", "pp_group"};
    TEST_SAY(x, "%s%s,", below(&x->d, 2) ? "CommType." : "",
             r->computes ? "computation" : words[r->word].word);
    TEST_SAY(x, "%s%s,", below(&x->d, 2) ? "CommGroup." : "",
             r->place == EP_DP && below(&x->d, 2) ? "dp_ep_group" : places[r->place]);
    if (r->sized)
        TEST_SAY(x, "%u,", size_of(x, r->place));
    else
        TEST_SAY(x, "%s,", below(&x->d, 2) ? "None" : "");
    TEST_SAY(x, "%llu,stage %u,", (unsigned long long)r->bytes, r->word);
    if (r->us == UINT32_MAX)
        TEST_SAY(x, "%s,x\n", below(&x->d, 2) ? "None" : "");
    else
        TEST_SAY(x, "%u.%03u,x\n", r->us / 1000, r->us % 1000);
}

/* Groups and ranks. Options count first, then the first line; a measured list has the product of its groups, if it
 * gives any. What no line sizes is one rank, but data-parallel groups take what the others leave. */
static void draw_sizes(list *x)
{
    bool any = false;
    x->measured = below(&x->d, 2);
    for (int place = TP; place < PLACES; place++)
        x->sized[place] = below(&x->d, 4);
    any = x->sized[TP] || x->sized[DP] || x->sized[PP];
    x->tp = x->sized[TP] ? 1 + below(&x->d, 3) : 1;
    x->pp = x->sized[PP] ? 1 + below(&x->d, 2) : 1;
    x->dp = 2 * (1 + below(&x->d, 2));
    uint32_t more = 1;
    if (below(&x->d, 3) == 0) {
        more = x->sized[DP] ? 1 + below(&x->d, 2) : 1;
        x->asked = more * x->tp * x->dp * x->pp;
    } else if (x->measured && any && !x->sized[DP])
        x->dp = 1;
    x->ep = x->dp > 1 && below(&x->d, 2) ? 2 : x->dp;
    x->ranks = more * x->tp * x->dp * x->pp;
    x->dims[0] = 3;
    x->dims[1] = 5;
    if (x->measured && !any && !x->asked) {
        x->dims[0] = x->dp / 2;
        x->dims[1] = 2;
    }
}

static bool kept(const row *r)
{
    return r->computes ? r->us != UINT32_MAX : r->bytes || words[r->word].kind == RLT_BARRIER;
}

static void draw_rows(list *x)
{
    bool gives[PLACES] = {false}, experts = false;
    x->n = 3 + below(&x->d, MAX_ROWS - 3);
    for (uint32_t i = 0; i < x->n; i++) {
        row *r = &x->rows[i];
        *r = (row){.computes = i > 2 && below(&x->d, 4) == 0,
                   .word = below(&x->d, 10),
                   .place = below(&x->d, PLACES)};
        r->us = below(&x->d, 3) ? below(&x->d, 100000) : UINT32_MAX;
        r->bytes = below(&x->d, 5) || i == 0 ? 1 + roll(&x->d, (uint64_t)1 << 40) : 0;
        r->place = i == 0 ? TP : i == 1 ? DP : i == 2 ? PP : r->place;
        r->sized = (i < 3 || below(&x->d, 2)) && (r->place == ALL || x->sized[r->place]);
        gives[r->place] |= r->sized && !r->computes;
        experts |= r->place == EP && !r->computes && kept(r);
    }
    if (!gives[EP])
        x->ep = experts ? x->dp : 1;
    for (uint32_t i = 0; i < x->n; i++) {
        const row *r = &x->rows[i];
        x->unsized += kept(r) && !r->computes && !r->sized && r->place != ALL && !gives[r->place];
    }
}

static void draw(list *x)
{
    dice d = x->d;
    memset(x, 0, sizeof *x);
    x->d = d;
    draw_sizes(x);
    draw_rows(x);
    if (!x->measured)
        TEST_SAY(x, "[rank0 ~ rank%u]%s\n", (x->asked ? below(&x->d, 99) + 1 : x->ranks) - 1,
                 below(&x->d, 2) ? "\r" : "");
    TEST_SAY(x, "comm_type,comm_group,comm_group_size,msg_size,stage,_elapsed_time,more\n");
    for (uint32_t i = 0; i < x->n; i++) {
        row *r = &x->rows[i];
        if (i > 0 && below(&x->d, 5) == 0) {
            TEST_SAY(x, "%sepoch_end,,,0,,,x\n", below(&x->d, 2) ? "CommType." : "");
            x->steps++;
        }
        r->step = x->steps;
        say_row(x, r);
        x->empty += !kept(r) && !r->computes;
        x->untimed += !kept(r) && r->computes;
    }
}

static void check_row(const list *x, const rlt_program *p, uint32_t rank, const row *r, const rlt_op *o)
{
    char name[32];
    snprintf(name, sizeof name, "stage %u", r->word);
    assert_string_equal(rlt_program_string(p, o->name), name);
    assert_int_equal(o->step, r->step);
    assert_int_equal(o->kind, r->computes ? RLT_OP_COMPUTE : RLT_OP_COLLECTIVE);
    assert_int_equal(o->recorded_duration_ps, r->us == UINT32_MAX ? -1 : (int64_t)r->us * RLT_US);
    assert_int_equal(o->duration_ps, r->computes ? (int64_t)r->us * RLT_US : 0);
    if (r->computes)
        return;
    const rlt_comm *c = &p->comms[o->comm];
    const uint32_t *members = p->group_ranks + p->group_first[c->group];
    uint32_t n = size_of(x, r->place), stride = stride_of(x, r->place);
    assert_int_equal(c->kind, words[r->word].kind);
    assert_int_equal(c->bytes, c->kind == RLT_BARRIER ? 0 : r->bytes);
    assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(members[i], rank - rank / stride % n * stride + i * stride);
}

static void check_list(const list *x, const rlt_program *p)
{
    assert_string_equal(p->reader, "aicb");
    assert_int_equal(p->n_ranks, x->ranks);
    assert_int_equal(noted(p, "communication without bytes"), x->empty);
    assert_int_equal(noted(p, "computation without a time"), x->untimed);
    assert_int_equal(noted(p, "whose size the list does not give"), x->unsized);
    for (uint32_t rank = 0; rank < x->ranks; rank++) {
        uint32_t at = p->rank_first[rank];
        for (uint32_t i = 0; i < x->n; i++) {
            const row *r = &x->rows[i];
            if (!kept(r) || (!r->computes && size_of(x, r->place) < 2))
                continue;
            assert_true(at < p->rank_first[rank + 1]);
            check_row(x, p, rank, r, &p->ops[at]);
            assert_int_equal(p->ops[at].n_deps, at > p->rank_first[rank]);
            if (p->ops[at].n_deps)
                assert_int_equal(p->deps[p->ops[at].first_dep], at - 1);
            at++;
        }
        assert_int_equal(at, p->rank_first[rank + 1]);
    }
}

static void lists_say_what_was_drawn(void **state)
{
    static list x;
    (void)state;
    x.d = (dice){.seed = 17};
    for (int i = 0; i < 300; i++) {
        char path[] = "/tmp/ringlet-lists-XXXXXX";
        const char *paths = path;
        rlt_program *p = NULL;
        rlt_error err = {0};
        draw(&x);
        rlt_read_options o = {.first_step = -1,
                              .last_step = -1,
                              .n_ranks = x.asked,
                              .n_dims = 2,
                              .dims = {x.dims[0], x.dims[1]}};
        test_write_new(path, x.text, x.used);
        int rc = rlt_trace_read(&paths, 1, &o, &p, &err);
        unlink(path);
        if (rc)
            fail_msg("%s: %s\n%s", err.where, err.what, x.text);
        assert_string_equal(err.where, "");
        check_list(&x, p);
        rlt_program_free(p);
    }
}

enum { MAX_NODES = 8 };
typedef struct node {
    char description[240];
    uint32_t us[2], sizes[3], n_sizes, parameters, stage, line;
    bool input;
} node;

static uint32_t draw_edges(list *x, uint32_t n, uint32_t (*edges)[2], uint32_t *line)
{
    uint32_t m = below(&x->d, 5);
    for (uint32_t i = 0; i < m; i++) {
        edges[i][0] = below(&x->d, n);
        edges[i][1] = below(&x->d, n);
        TEST_SAY(x, "\tnode%u -- node%u\n", edges[i][0] + 1, edges[i][1] + 1);
        ++*line;
    }
    return m;
}

static void say_node(list *x, uint32_t i, const node *k, bool stages)
{
    TEST_SAY(x,
             "node%u -- %s -- forward_compute_time=%u.%03u, backward_compute_time=%u.%03u, activation_size=",
             i + 1, k->description, k->us[0] / 1000, k->us[0] % 1000, k->us[1] / 1000, k->us[1] % 1000);
    if (k->n_sizes == 1 && below(&x->d, 2))
        TEST_SAY(x, "%u.0", k->sizes[0]);
    else {
        for (uint32_t s = 0; s < k->n_sizes; s++)
            TEST_SAY(x, "%s%u.000", s ? "; " : "[", k->sizes[s]);
        TEST_SAY(x, "]");
    }
    TEST_SAY(x, ", parameter_size=%u", k->parameters);
    if (stages)
        TEST_SAY(x, " -- stage_id=%u", k->stage);
    TEST_SAY(x, "%s\n", below(&x->d, 3) ? "" : "\r");
}

static void check_graph(const list *x, const node *nodes, uint32_t n, uint32_t (*edges)[2], uint32_t m,
                        uint32_t stages)
{
    rlt_pipedream g;
    rlt_error err = {0};
    uint32_t found = 0;
    if (rlt__pipedream_parse("g.txt", x->text, x->used, &g, &err))
        fail_msg("%s: %s\n%s", err.where, err.what, x->text);
    assert_int_equal(g.n, n);
    assert_int_equal(g.n_edges, m);
    assert_int_equal(g.stages, stages);
    for (uint32_t i = 0; i < n; i++) {
        const rlt_pipedream_node *k = &g.nodes[i];
        const node *w = &nodes[atoi(k->name + 4) - 1];
        uint64_t sizes = 0;
        for (uint32_t s = 0; s < w->n_sizes; s++)
            sizes += w->sizes[s];
        found |= 1u << (w - nodes);
        assert_int_equal(strncmp(k->description, w->description, 200), 0);
        assert_int_equal(strlen(k->description), strlen(w->description) < 200 ? strlen(w->description) : 200);
        assert_int_equal(k->line, w->line);
        assert_int_equal(k->input, w->input);
        assert_int_equal(k->forward_ps, w->input ? 0 : w->us[0] * (uint64_t)RLT_US);
        assert_int_equal(k->backward_ps, w->input ? 0 : w->us[1] * (uint64_t)RLT_US);
        assert_int_equal(k->output_bytes, sizes);
        assert_int_equal(k->parameter_bytes, w->parameters);
        assert_int_equal(k->stage, stages ? w->stage : RLT_NONE);
    }
    assert_int_equal(found, (1u << n) - 1);
    for (uint32_t i = 0; i < m; i++) {
        assert_int_equal(atoi(g.nodes[g.edges[i].from].name + 4) - 1, edges[i][0]);
        assert_int_equal(atoi(g.nodes[g.edges[i].to].name + 4) - 1, edges[i][1]);
    }
    rlt__pipedream_free(&g);
}

static void graphs_say_what_was_drawn(void **state)
{
    static const char *const descriptions[] = {"Conv2d(128, 256)", "a -- b", "Input0",
                                               "x=1, y=[2; 3]",    " Input", ""};
    static list x;
    (void)state;
    x.d = (dice){.seed = 18};
    for (int i = 0; i < 300; i++) {
        node nodes[MAX_NODES];
        uint32_t n = 1 + below(&x.d, MAX_NODES), stages = below(&x.d, 2) ? 1 + below(&x.d, n) : 0, line = 0,
                 m = 0;
        uint32_t edges[10][2];
        x.used = 0;
        if (below(&x.d, 2))
            m = draw_edges(&x, n, edges, &line);
        for (uint32_t k = 0; k < n; k++) {
            node *w = &nodes[k];
            uint32_t what = below(&x.d, 6);
            if (below(&x.d, 8) == 0) {
                TEST_SAY(&x, "%s", below(&x.d, 2) ? "\n" : " \r\n");
                line++;
            }
            *w = (node){.input = what == 2, .n_sizes = 1 + below(&x.d, 3), .line = ++line};
            snprintf(w->description, sizeof w->description, "%s%s", descriptions[what], what == 3 ? "_" : "");
            if (below(&x.d, 10) == 0)
                memset(w->description + strlen(w->description), 'z',
                       sizeof w->description - 1 - strlen(w->description));
            w->description[sizeof w->description - 1] = '\0';
            for (int v = 0; v < 3; v++)
                w->sizes[v] = below(&x.d, 1 << 20);
            w->us[0] = below(&x.d, 1 << 20);
            w->us[1] = below(&x.d, 1 << 20);
            w->parameters = below(&x.d, 1 << 30);
            w->stage = stages ? (k < stages ? k : below(&x.d, stages)) : 0;
            say_node(&x, k, w, stages > 0);
        }
        m += draw_edges(&x, n, edges + m, &line);
        check_graph(&x, nodes, n, edges, m, stages);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_say_what_was_drawn),
        cmocka_unit_test(graphs_say_what_was_drawn),
    };
    return cmocka_run_group_tests_name("lists_drawn", tests, NULL, NULL);
}
