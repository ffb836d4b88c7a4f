/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random traces under random options: what each node becomes, how long it takes and on what, by the head of read.c and the
 * meaning of the options. Durations that are recorded, a roofline in their place or where there are none, communication that
 * keeps its waiting, is serial, or is left out because a rank is read alone; and what is noted of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/chakra.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

enum { NODES = 8, NONE = -1 };

typedef struct node {
    char name[32];
    uint32_t type;                   /* a send is a receive on rank 1 */
    int us, ops, bytes, stream, tid; /* NONE: not said */
    bool host;
} node;

typedef struct trace {
    dice d;
    node nodes[NODES];
    uint32_t n;
    rlt_read_options o;
    uint64_t compute, memory, left_out; /* notes of a rank */
} trace;

static int maybe(trace *t, uint32_t n)
{
    return below(&t->d, 3) ? (int)below(&t->d, n) : NONE;
}

static bool is_memory(const node *x)
{
    return x->type == RLT_CHAKRA_MEM_LOAD || x->type == RLT_CHAKRA_MEM_STORE;
}

static void draw(trace *t)
{
    static const uint32_t types[] = {RLT_CHAKRA_COMP,      RLT_CHAKRA_COMP, RLT_CHAKRA_MEM_LOAD,
                                     RLT_CHAKRA_MEM_STORE, RLT_CHAKRA_COLL, RLT_CHAKRA_SEND};
    static const char *const names[] = {"gemm", "Memcpy HtoD", "Memset", "memcpy", "Memse"};
    static const uint64_t rates[] = {0, 1, 4, 1000000000, 1000000000000};
    t->o = plain_options();
    t->o.peak_Flops = rates[below(&t->d, 5)];
    t->o.memory_Bps = rates[below(&t->d, 5)];
    t->o.roofline_replaces = below(&t->d, 2);
    t->o.keep_waits = below(&t->d, 3) == 0;
    t->o.serial_communication = below(&t->d, 3) == 0;
    t->o.alone = below(&t->d, 3) == 0;
    t->n = 1 + below(&t->d, NODES);
    for (uint32_t i = 0; i < t->n; i++) {
        node *x = &t->nodes[i];
        *x = (node){.type = types[below(&t->d, 6)],
                    .us = maybe(t, 3),
                    .ops = maybe(t, 9000),
                    .bytes = maybe(t, 9000),
                    .stream = maybe(t, 3),
                    .tid = maybe(t, 3)};
        x->host = x->type != RLT_CHAKRA_COLL && below(&t->d, 4) == 0;
        snprintf(x->name, sizeof x->name, "%s %u", names[below(&t->d, 5)], i);
    }
}

static void say(file *f, const char *name, int v)
{
    if (v != NONE)
        number(f, name, RLT_CHAKRA_INT64, (uint64_t)v);
}

static void write_rank(const trace *t, uint32_t rank)
{
    char name[16];
    file f;
    begin(&f);
    for (uint32_t i = 0; i < t->n; i++) {
        const node *x = &t->nodes[i];
        bool message_of = x->type == RLT_CHAKRA_SEND;
        head(&f, i + 1, x->name, message_of && rank ? RLT_CHAKRA_RECV : x->type);
        if (x->us != NONE)
            rlt__pb_put_uint(&f.node, 7, (uint64_t)x->us);
        number(&f, "is_cpu_op", RLT_CHAKRA_BOOL, x->host);
        say(&f, "num_ops", x->ops);
        say(&f, "tensor_size", x->bytes);
        say(&f, "stream", x->stream);
        say(&f, "tid", x->tid);
        if (x->type == RLT_CHAKRA_COLL || message_of)
            number(&f, "comm_size", RLT_CHAKRA_INT64, 100 + i);
        if (message_of)
            number(&f, rank ? "comm_src" : "comm_dst", RLT_CHAKRA_INT32, !rank);
        message(&f);
    }
    snprintf(name, sizeof name, "t.%u.et", rank);
    end(&f, name);
}

static rlt_time time_of(int amount, uint64_t per_second)
{
    return amount > 0 && per_second ? (rlt_time)((unsigned __int128)amount * 1000000000000u / per_second) : 0;
}

/* How long work takes; -1: such a trace is refused. */
static rlt_time work_time(trace *t, const node *x)
{
    rlt_time recorded = x->us > 0 ? x->us * RLT_US : 0;
    bool can = is_memory(x) ? t->o.memory_Bps > 0 : t->o.peak_Flops > 0 && x->ops != NONE;
    if (x->host || (recorded && (is_memory(x) || !can || !t->o.roofline_replaces)))
        return recorded;
    if (is_memory(x) && t->o.serial_communication)
        return -1;
    if (!can) {
        *(is_memory(x) ? &t->memory : &t->compute) += x->us == NONE;
        return 0;
    }
    rlt_time compute = is_memory(x) ? 0 : time_of(x->ops, t->o.peak_Flops),
             move = time_of(x->bytes, t->o.memory_Bps);
    rlt_time longer = compute > move ? compute : move;
    return t->o.roofline_replaces ? longer / RLT_NS * RLT_NS : longer;
}

static void check_resource(const rlt_program *p, const rlt_op *o, rlt_resource_kind kind, const char *word,
                           int number_of, const char *otherwise)
{
    char name[32];
    snprintf(name, sizeof name, number_of == NONE ? "%s" : "%s %d", number_of == NONE ? otherwise : word,
             number_of);
    assert_string_equal(resource_name(p, o), name);
    if (o->resource != RLT_NONE)
        assert_int_equal(p->resources[o->resource].kind, kind);
}

static void check_communication(trace *t, const rlt_program *p, const node *x, const rlt_op *o)
{
    bool recorded = x->us > 0, kept = t->o.keep_waits && recorded,
         alone = t->o.alone && x->type != RLT_CHAKRA_COLL,
         serial = t->o.serial_communication && (x->type == RLT_CHAKRA_COLL || o->rank == 0);
    rlt_op_kind kind = kept || alone                ? RLT_OP_DELAY
                       : x->type == RLT_CHAKRA_COLL ? RLT_OP_COLLECTIVE
                       : o->rank                    ? RLT_OP_RECV
                                                    : RLT_OP_SEND;
    assert_int_equal(o->kind, kind);
    assert_int_equal(o->duration_ps, kept ? x->us * RLT_US : 0);
    assert_int_equal(o->recorded_duration_ps, recorded ? x->us * RLT_US : -1);
    t->left_out += alone && !kept;
    check_resource(p, o, x->stream == NONE ? RLT_RES_NETWORK : RLT_RES_STREAM, "stream", x->stream,
                   serial ? "network" : "");
    if (kind != RLT_OP_DELAY) {
        assert_int_equal(p->comms[o->comm].bytes, 100 + (x - t->nodes));
        assert_false(p->comms[o->comm].timed);
    }
}

static void check_work(trace *t, const rlt_program *p, const node *x, const rlt_op *o)
{
    bool copies = is_memory(x) || strncmp(x->name, "Memcpy", 6) == 0 || strncmp(x->name, "Memset", 6) == 0;
    assert_int_equal(o->kind, x->host ? RLT_OP_HOST : copies ? RLT_OP_MEMORY : RLT_OP_COMPUTE);
    assert_int_equal(o->duration_ps, work_time(t, x));
    if (x->host)
        check_resource(p, o, RLT_RES_HOST, "thread", x->tid, "host");
    else if (is_memory(x))
        check_resource(p, o, RLT_RES_COPY, "stream", x->stream, "memory");
    else
        check_resource(p, o, RLT_RES_STREAM, "stream", x->stream, "compute");
}

static bool refused_work(trace *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->nodes[i].type < RLT_CHAKRA_SEND && work_time(t, &t->nodes[i]) < 0)
            return true;
    return false;
}

static void nodes_become_operations(void **state)
{
    static trace t;
    int read = 0;
    (void)state;
    t.d = (dice){.seed = 31};
    for (int round = 0; round < 1500; round++) {
        rlt_program *p = NULL;
        rlt_error err = {0};
        draw(&t);
        uint32_t ranks = t.o.alone ? 1 : 2;
        for (uint32_t r = 0; r < ranks; r++)
            write_rank(&t, r);
        bool refuses = refused_work(&t);
        int rc = try_read(t.o.alone ? "t.0.et" : "t", &t.o, &p, &err);
        assert_int_equal(rc, refuses ? RLT_EUNSUPPORTED : 0);
        if (rc) {
            assert_string_equal(err.what,
                                "a memory node has no duration: expected one, because no remote memory is "
                                "described");
            continue;
        }
        read++;
        t.compute = t.memory = t.left_out = 0;
        assert_int_equal(p->n_ops, t.n * ranks);
        for (uint32_t i = 0; i < p->n_ops; i++) {
            const node *x = &t.nodes[i % t.n];
            assert_string_equal(rlt_program_string(p, p->ops[i].name), x->name);
            if (x->type < RLT_CHAKRA_SEND)
                check_work(&t, p, x, &p->ops[i]);
            else
                check_communication(&t, p, x, &p->ops[i]);
        }
        assert_int_equal(noted(p, "compute without a duration takes no time"), t.compute);
        assert_int_equal(noted(p, "memory node without a duration takes no time"), t.memory);
        assert_int_equal(noted(p, "message to or from another rank: left out"), t.left_out);
        rlt_program_free(p);
    }
    clean();
    assert_true(read > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_become_operations)};
    return cmocka_run_group_tests_name("chakra_options", tests, set_up, tear_down);
}
