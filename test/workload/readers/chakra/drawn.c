/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random traces in the format's three forms: messages of protobuf with any kind of integer,
 * chakra_jsonizer's objects and the feeder's graph. The program must be what was drawn: work and its
 * resources, collectives with their members, roots and bytes, messages, recorded times, and who follows
 * whom, whatever the order of the file.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/traces/chakra.h"
#include "workload/program/program.h"
#include "workload/readers/chakra/node.h"

enum { MAX_RANKS = 4, MAX_NODES = 24, MAX_DEPS = 4, GROUPS = 3 };
typedef enum form { PROTO, OBJECTS, GRAPH } form;

typedef struct node {
    char name[16];
    uint64_t id, us, start, bytes;
    uint32_t type, coll, group, root, peer, tag;
    bool host, uneven;                       /* uneven: an all-to-all with another size on each rank */
    int stream, thread;                      /* -1: none */
    uint32_t deps[MAX_DEPS], n_deps, n_ctrl; /* places in the rank; control dependencies first */
} node;

typedef struct trace {
    dice d;
    uint32_t n_ranks, n[MAX_RANKS];
    node nodes[MAX_RANKS][MAX_NODES];
    uint32_t members[GROUPS][MAX_RANKS], size[GROUPS]; /* 0: the world; 1: listed; 2: those that use it */
    form forms[MAX_RANKS];
    char text[1 << 16];
    size_t used;
} trace;

static const char *const group_names[] = {"", "some", "others"};
static const struct {
    rlt_coll_kind kind;
    bool rooted, shares; /* shares: the size is that of a member's part */
} colls[] = {{RLT_ALL_REDUCE, false, false},     {RLT_REDUCE, true, false},
             {RLT_ALL_GATHER, false, true},      {RLT_GATHER, true, true},
             {RLT_SCATTER, true, true},          {RLT_BROADCAST, true, false},
             {RLT_ALL_TO_ALL, false, false},     {RLT_REDUCE_SCATTER, false, false},
             {RLT_REDUCE_SCATTER, false, false}, {RLT_BARRIER, false, false}};

static node *add(trace *t, uint32_t rank, uint32_t type)
{
    uint32_t k = t->n[rank]++;
    node *x = &t->nodes[rank][k];
    assert_true(k < MAX_NODES);
    *x = (node){.type = type,
                .us = below(&t->d, 1000),
                .start = 1000 + below(&t->d, 5000),
                .stream = -1,
                .thread = -1};
    x->id = (k ? t->nodes[rank][k - 1].id : 0) + 1 + below(&t->d, 300);
    snprintf(x->name, sizeof x->name, "n%u", k);
    for (uint32_t i = below(&t->d, MAX_DEPS); i > 0 && k > 0; i--) {
        uint32_t on = below(&t->d, k), known = 0;
        while (known < x->n_deps && x->deps[known] != on)
            known++;
        if (known == x->n_deps)
            x->deps[x->n_deps++] = on;
    }
    x->n_ctrl = t->forms[rank] == GRAPH ? 0 : below(&t->d, x->n_deps + 1);
    return x;
}

static void draw_work(trace *t)
{
    static const uint32_t types[] = {RLT_CHAKRA_COMP, RLT_CHAKRA_COMP, RLT_CHAKRA_MEM_LOAD,
                                     RLT_CHAKRA_MEM_STORE};
    node *x = add(t, below(&t->d, t->n_ranks), types[below(&t->d, 4)]);
    x->host = below(&t->d, 3) == 0;
    if (below(&t->d, 2))
        x->stream = (int)below(&t->d, 40);
    if (below(&t->d, 2))
        x->thread = (int)below(&t->d, 40);
}

static void draw_collective(trace *t)
{
    uint32_t g = below(&t->d, GROUPS), coll = below(&t->d, sizeof colls / sizeof *colls);
    uint64_t bytes = below(&t->d, 6) ? roll(&t->d, (uint64_t)1 << 40) : 0;
    bool uneven = colls[coll].kind == RLT_ALL_TO_ALL && t->size[g] > 1 && below(&t->d, 2);
    uint32_t root = t->members[g][below(&t->d, t->size[g])];
    for (uint32_t m = 0; m < t->size[g]; m++) {
        node *x = add(t, t->members[g][m], RLT_CHAKRA_COLL);
        x->coll = coll;
        x->group = g;
        x->bytes = bytes + (uneven ? m * (1 + below(&t->d, 1000)) : 0);
        x->uneven = uneven;
        x->root = root;
        if (below(&t->d, 2))
            x->stream = (int)below(&t->d, 40);
    }
}

static void draw_message(trace *t)
{
    uint32_t from = below(&t->d, t->n_ranks), to = (from + 1 + below(&t->d, t->n_ranks - 1)) % t->n_ranks;
    uint32_t tag = below(&t->d, 3);
    uint64_t bytes = roll(&t->d, (uint64_t)1 << 40);
    node *s = add(t, from, RLT_CHAKRA_SEND), *r = add(t, to, RLT_CHAKRA_RECV);
    s->peer = to;
    r->peer = from;
    s->tag = r->tag = tag;
    s->bytes = r->bytes = bytes;
}

static void draw(trace *t)
{
    dice d = t->d;
    memset(t, 0, sizeof *t);
    t->d = d;
    t->n_ranks = 2 + below(&t->d, MAX_RANKS - 1);
    bool messages = below(&t->d, 2);
    for (uint32_t r = 0; r < t->n_ranks; r++)
        t->forms[r] = messages ? PROTO : r && below(&t->d, 2) ? GRAPH : OBJECTS;
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t n = g ? 2 + below(&t->d, t->n_ranks - 1) : t->n_ranks,
                 first = g ? below(&t->d, t->n_ranks) : 0;
        t->size[g] = n;
        for (uint32_t m = 0; m < n; m++)
            t->members[g][m] = (first + m) % t->n_ranks;
    }
    for (uint32_t i = 0; i < t->size[2]; i++) /* in the order of the files */
        for (uint32_t k = i; k > 0 && t->members[2][k - 1] > t->members[2][k]; k--) {
            uint32_t x = t->members[2][k];
            t->members[2][k] = t->members[2][k - 1];
            t->members[2][k - 1] = x;
        }
    for (uint32_t k = 2 + below(&t->d, 8); k > 0; k--) {
        uint32_t what = below(&t->d, 4);
        if (what < 2)
            draw_work(t);
        else if (what == 2)
            draw_collective(t);
        else
            draw_message(t);
    }
    for (uint32_t r = 0; r < t->n_ranks; r++)
        if (!t->n[r])
            add(t, r, RLT_CHAKRA_COMP);
}

/* The ranks of the group that is listed. */
static void list_of(const trace *t, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "[{\"pg_name\": \"some\", \"ranks\": [");
    for (uint32_t m = 0; m < t->size[1]; m++)
        n += (size_t)snprintf(out + n, size - n, "%s%u", m ? ", " : "", t->members[1][m]);
    snprintf(out + n, size - n, "]}]");
}

typedef struct attr {
    const char *name, *text;
    uint64_t number;
    bool flag;
} attr;

/* The attributes of a node. Those that are as if they were not there may be missing. */
static uint32_t attrs_of(trace *t, const node *x, attr *a)
{
    uint32_t n = 0;
    bool work =
        x->type == RLT_CHAKRA_COMP || x->type == RLT_CHAKRA_MEM_LOAD || x->type == RLT_CHAKRA_MEM_STORE;
    if (work && (x->host || below(&t->d, 2)))
        a[n++] = (attr){"is_cpu_op", NULL, x->host, true};
    if (x->stream >= 0)
        a[n++] = (attr){"stream", NULL, (uint64_t)x->stream, false};
    if (x->thread >= 0)
        a[n++] = (attr){"tid", NULL, (uint64_t)x->thread, false};
    if (!work && (x->bytes || below(&t->d, 2)))
        a[n++] = (attr){"comm_size", NULL, x->bytes, false};
    if (x->type == RLT_CHAKRA_COLL) {
        a[n++] = (attr){"comm_type", NULL, x->coll, false};
        if (colls[x->coll].rooted)
            a[n++] = (attr){"root_rank", NULL, x->root, false};
        if (x->group || below(&t->d, 2))
            a[n++] = (attr){"pg_name", group_names[x->group], 0, false};
    } else if (!work) {
        a[n++] = (attr){x->type == RLT_CHAKRA_SEND ? "comm_dst" : "comm_src", NULL, x->peer, false};
        if (x->tag || below(&t->d, 2))
            a[n++] = (attr){"comm_tag", NULL, x->tag, false};
    }
    return n;
}

static void put_proto(trace *t, file *f, uint32_t rank, const node *x)
{
    static const uint32_t members[] = {RLT_CHAKRA_INT64, RLT_CHAKRA_UINT64, RLT_CHAKRA_INT32,
                                       RLT_CHAKRA_UINT32};
    attr a[8];
    uint32_t n = attrs_of(t, x, a);
    head(f, x->id, x->name, x->type);
    rlt__pb_put_uint(&f->node, 6, x->start);
    rlt__pb_put_uint(&f->node, 7, x->us);
    for (uint32_t i = 0; i < x->n_deps; i++)
        rlt__pb_put_uint(&f->node, i < x->n_ctrl ? 4 : 5, t->nodes[rank][x->deps[i]].id);
    for (uint32_t i = 0; i < n; i++)
        if (a[i].text)
            text(f, a[i].name, a[i].text);
        else
            number(f, a[i].name,
                   a[i].flag ? RLT_CHAKRA_BOOL : members[below(&t->d, a[i].number >> 31 ? 2 : 4)],
                   a[i].number);
    message(f);
}

static void say_deps(trace *t, uint32_t rank, const node *x, bool ctrl, const char *quote)
{
    bool any = false;
    for (uint32_t i = ctrl ? 0 : x->n_ctrl; i < (ctrl ? x->n_ctrl : x->n_deps); i++) {
        TEST_SAY(t, "%s%s%llu%s", any ? ", " : "", quote, (unsigned long long)t->nodes[rank][x->deps[i]].id,
                 quote);
        any = true;
    }
}

static void put_object(trace *t, uint32_t rank, const node *x)
{
    static const char *const types[] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                        "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
    static const char *const values[] = {"int64Val", "uint64Val", "int32Val", "sint64Val", "fixed64Val"};
    bool camel = below(&t->d, 2);
    attr a[8];
    uint32_t n = attrs_of(t, x, a);
    TEST_SAY(t, "\n{\"id\": \"%llu\", \"name\": \"%s\", \"type\": \"%s\", \"%s\": [",
             (unsigned long long)x->id, x->name, types[x->type], camel ? "ctrlDeps" : "ctrl_deps");
    say_deps(t, rank, x, true, "\"");
    TEST_SAY(t, "], \"%s\": [", camel ? "dataDeps" : "data_deps");
    say_deps(t, rank, x, false, "\"");
    TEST_SAY(
        t, "], \"%s\": \"%llu\", \"%s\": \"%llu\", \"attr\": [{\"name\": \"not_known\", \"int64Val\": \"x\"}",
        camel ? "startTimeMicros" : "start_time_micros", (unsigned long long)x->start,
        camel ? "durationMicros" : "duration_micros", (unsigned long long)x->us);
    for (uint32_t i = 0; i < n; i++) {
        TEST_SAY(t, ", {\"name\": \"%s\", ", a[i].name);
        if (below(&t->d, 3) == 0)
            TEST_SAY(t,
                     "\"docString\": \"any\", \"floatVal\": 1.5, \"doubleVal\": 2.5, \"bytesVal\": \"AA\", ");
        if (a[i].text)
            TEST_SAY(t, "\"stringVal\": \"%s\"}", a[i].text);
        else if (a[i].flag)
            TEST_SAY(t, "\"boolVal\": %s}", a[i].number ? "true" : "false");
        else
            TEST_SAY(t, "\"%s\": \"%llu\"}", values[below(&t->d, 5)], (unsigned long long)a[i].number);
    }
    TEST_SAY(t, "]}");
}

static void put_in_graph(trace *t, uint32_t rank, const node *x, bool first)
{
    attr a[8];
    uint32_t n = attrs_of(t, x, a);
    TEST_SAY(t, "%s\n {\"Id\": %llu, \"Name\": \"%s\", \"NodeType\": %u, \"data_deps\": [", first ? "" : ",",
             (unsigned long long)x->id, x->name, x->type);
    say_deps(t, rank, x, false, "");
    TEST_SAY(t, "], \"runtime\": %llu", (unsigned long long)x->us);
    for (uint32_t i = 0; i < n; i++)
        if (a[i].text)
            TEST_SAY(t, ", \"%s\": \"%s\"", a[i].name, a[i].text);
        else if (a[i].flag)
            TEST_SAY(t, ", \"%s\": %s", a[i].name, a[i].number ? "true" : "false");
        else
            TEST_SAY(t, ", \"%s\": %llu", a[i].name, (unsigned long long)a[i].number);
    TEST_SAY(t, "}");
}

static bool communicates(const node *x)
{
    return x->type == RLT_CHAKRA_COLL || x->type == RLT_CHAKRA_SEND || x->type == RLT_CHAKRA_RECV;
}

/* An order of a rank's nodes in its file: only communication keeps its own. */
static void shuffle(trace *t, uint32_t rank, uint32_t *order)
{
    uint32_t n = t->n[rank], comms[MAX_NODES], c = 0, next = 0;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        if (communicates(&t->nodes[rank][i]))
            comms[c++] = i;
    }
    for (uint32_t i = n; i-- > 1;) {
        uint32_t k = below(&t->d, i + 1), x = order[i];
        order[i] = order[k];
        order[k] = x;
    }
    for (uint32_t i = 0; i < n; i++)
        if (communicates(&t->nodes[rank][order[i]]))
            order[i] = comms[next++];
}

static void write_rank(trace *t, uint32_t rank)
{
    uint32_t order[MAX_NODES];
    char list[200], name[32];
    shuffle(t, rank, order);
    list_of(t, list, sizeof list);
    snprintf(name, sizeof name, "t.%u.%s", rank, t->forms[rank] == PROTO ? "et" : "json");
    if (t->forms[rank] == PROTO) {
        file f;
        rlt_pb_out io = {0};
        begin(&f);
        head(&f, 0, "## process_group:init ##", RLT_CHAKRA_METADATA);
        rlt__pb_put_bytes(&io, 1, list, strlen(list));
        rlt__pb_put_bytes(&f.node, 8, io.data, io.length);
        rlt__pb_out_free(&io);
        message(&f);
        for (uint32_t i = 0; i < t->n[rank]; i++)
            put_proto(t, &f, rank, &t->nodes[rank][order[i]]);
        end(&f, name);
        return;
    }
    t->used = 0;
    TEST_SAY(t, t->forms[rank] == GRAPH ? "{\"workload_graph\": [" : "{\"version\": \"0.0.4\"}");
    if (t->forms[rank] == OBJECTS) {
        TEST_SAY(t, "{\"id\": \"0\", \"name\": \"process_group:init\", \"type\": \"METADATA_NODE\", "
                    "\"inputs\": {\"values\": \"");
        for (const char *c = list; *c; c++)
            TEST_SAY(t, *c == '"' ? "\\\"" : "%c", *c);
        TEST_SAY(t, "\"}}");
    }
    for (uint32_t i = 0; i < t->n[rank]; i++)
        if (t->forms[rank] == GRAPH)
            put_in_graph(t, rank, &t->nodes[rank][order[i]], i == 0);
        else
            put_object(t, rank, &t->nodes[rank][order[i]]);
    TEST_SAY(t, t->forms[rank] == GRAPH ? "]}" : "\n");
    save(name, t->text, t->used);
}

/* The operation of a name in a rank. */
static uint32_t op_of(const rlt_program *p, uint32_t rank, const char *name)
{
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++)
        if (strcmp(rlt_program_string(p, p->ops[i].name), name) == 0)
            return i;
    fail_msg("rank %u has no %s", rank, name);
    return 0;
}

static void check_communication(const trace *t, const rlt_program *p, const node *x, const rlt_op *o)
{
    const rlt_comm *c = &p->comms[o->comm];
    const uint32_t *members = p->group_ranks + p->group_first[c->group];
    if (x->type != RLT_CHAKRA_COLL) {
        bool sends = x->type == RLT_CHAKRA_SEND;
        assert_int_equal(o->kind, sends ? RLT_OP_SEND : RLT_OP_RECV);
        assert_int_equal(c->bytes, x->bytes);
        assert_int_equal(o->member, !sends);
        assert_int_equal(p->ops[p->comm_ops[c->first_op + sends]].rank, x->peer);
        return;
    }
    assert_int_equal(o->kind, RLT_OP_COLLECTIVE);
    assert_int_equal(c->kind, colls[x->coll].kind);
    uint32_t times = c->kind == RLT_BARRIER ? 0 : colls[x->coll].shares ? t->size[x->group] : 1;
    for (uint32_t m = 0, n = t->size[x->group]; m < n && x->uneven; m++)
        assert_int_equal(c->counts[o->member * n + m], x->bytes / n + (m < x->bytes % n));
    if (!x->uneven)
        assert_true(c->bytes == x->bytes * times && !c->counts);
    assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], t->size[x->group]);
    for (uint32_t m = 0; m < t->size[x->group]; m++)
        assert_int_equal(members[m], t->members[x->group][m]);
    if (colls[x->coll].rooted)
        assert_int_equal(members[c->root], x->root);
}

static void check_node(const trace *t, const rlt_program *p, uint32_t rank, const node *x, uint64_t earliest)
{
    uint32_t at = op_of(p, rank, x->name);
    const rlt_op *o = &p->ops[at];
    char resource[32] = "";
    bool memory = x->type == RLT_CHAKRA_MEM_LOAD || x->type == RLT_CHAKRA_MEM_STORE;
    assert_int_equal(o->n_deps, x->n_deps);
    for (uint32_t i = 0; i < x->n_deps; i++) {
        uint32_t on = op_of(p, rank, t->nodes[rank][x->deps[i]].name), k = 0;
        while (k < o->n_deps && p->deps[o->first_dep + k] != on)
            k++;
        assert_true(k < o->n_deps);
    }
    assert_int_equal(o->recorded_ps, t->forms[rank] == GRAPH ? -1 : (int64_t)(x->start - earliest) * RLT_US);
    if (communicates(x)) {
        assert_int_equal(o->recorded_duration_ps, x->us ? (int64_t)x->us * RLT_US : -1);
        check_communication(t, p, x, o);
    } else {
        assert_int_equal(o->kind, x->host ? RLT_OP_HOST : memory ? RLT_OP_MEMORY : RLT_OP_COMPUTE);
        assert_int_equal(o->duration_ps, (int64_t)x->us * RLT_US);
        snprintf(resource, sizeof resource, "%s", x->host ? "host" : memory ? "memory" : "compute");
    }
    if (communicates(x) || !x->host) {
        if (x->stream >= 0)
            snprintf(resource, sizeof resource, "stream %d", x->stream);
    } else if (x->thread >= 0)
        snprintf(resource, sizeof resource, "thread %d", x->thread);
    assert_string_equal(resource_name(p, o), resource);
}

static void forms_say_what_was_drawn(void **state)
{
    static trace t;
    (void)state;
    t.d = (dice){.seed = 13};
    for (int i = 0; i < 200; i++) {
        uint64_t earliest = UINT64_MAX;
        draw(&t);
        for (uint32_t r = 0; r < t.n_ranks; r++) {
            write_rank(&t, r);
            for (uint32_t k = 0; k < t.n[r] && t.forms[r] != GRAPH; k++)
                earliest = t.nodes[r][k].start < earliest ? t.nodes[r][k].start : earliest;
        }
        rlt_program *p = read_trace("t");
        assert_int_equal(p->n_ranks, t.n_ranks);
        for (uint32_t r = 0; r < t.n_ranks; r++) {
            assert_int_equal(p->rank_first[r + 1] - p->rank_first[r], t.n[r]);
            for (uint32_t k = 0; k < t.n[r]; k++)
                check_node(&t, p, r, &t.nodes[r][k], earliest);
        }
        rlt_program_free(p);
        for (uint32_t r = 0; r < t.n_ranks; r++) {
            char path[256], name[32];
            snprintf(name, sizeof name, "t.%u.%s", r, t.forms[r] == PROTO ? "et" : "json");
            unlink(path_of(name, path, sizeof path));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_say_what_was_drawn),
    };
    return cmocka_run_group_tests_name("chakra_drawn", tests, set_up, tear_down);
}
