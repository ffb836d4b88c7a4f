/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random GOAL files as programs: each operation with its name, resource, time, message and dependencies, and the
 * beginnings that others wait for. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/support.h"
#include "test/support/traces/loggops.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { RANKS = 5, OPS = 40 };
typedef enum kind { CALC, SEND, RECV, BEGIN } kind;

typedef struct op {
    kind kind;
    uint32_t cpu, peer, tag, line, number; /* number: of the message */
    uint64_t size;                         /* bytes, or ns */
    bool needs[2 * OPS], early[OPS];       /* by operation of the rank */
    bool begun;                            /* its begin is awaited */
    uint32_t begin;                        /* the operation that stands for it */
} op;

typedef struct job {
    dice d;
    uint32_t ranks, n[RANKS], messages, line;
    op ops[RANKS][2 * OPS];
    char text[1 << 17];
    size_t used;
} job;

static op *add(job *j, uint32_t rank, kind what)
{
    op *o = &j->ops[rank][j->n[rank]++];
    assert_true(j->n[rank] <= OPS);
    *o = (op){.kind = what};
    o->size = below(&j->d, 5) ? below(&j->d, 10000) : 0;
    o->cpu = below(&j->d, 2) ? 0 : below(&j->d, 64);
    return o;
}

/* Messages of one sender, receiver and tag meet in their order, which is the same on both sides. */
static void draw(job *j)
{
    j->ranks = 1 + below(&j->d, RANKS);
    for (uint32_t k = below(&j->d, 30); k > 0; k--) {
        uint32_t rank = below(&j->d, j->ranks), peer = below(&j->d, j->ranks);
        if (rank == peer || below(&j->d, 3) == 0) {
            add(j, rank, CALC);
            continue;
        }
        op *sends = add(j, rank, SEND), *receives = add(j, peer, RECV);
        sends->peer = peer;
        receives->peer = rank;
        sends->tag = receives->tag = below(&j->d, 3);
        receives->size = sends->size = sends->size + 1;
        sends->number = receives->number = ++j->messages;
    }
    for (uint32_t r = 0; r < j->ranks; r++)
        for (uint32_t i = 1; i < j->n[r]; i++)
            for (uint32_t k = below(&j->d, 3); k > 0; k--) {
                uint32_t on = below(&j->d, i);
                if (below(&j->d, 3))
                    j->ops[r][i].needs[on] = true;
                else
                    j->ops[r][i].early[on] = true;
            }
}

static void blank(job *j)
{
    static const char *const blanks[] = {" ", "\t", "\n", " \n", "\n\n", " /* any\nword */ ", " // calc 5\n"};
    uint32_t lines = below(&j->d, 60) ? 0 : below(&j->d, 1200);
    const char *x = blanks[below(&j->d, 7)];
    TEST_SAY(j, "%s", x);
    for (; *x; x++)
        j->line += *x == '\n';
    for (; lines > 0; lines--, j->line++)
        TEST_SAY(j, "\n");
}

static void write_op(job *j, uint32_t rank, uint32_t i)
{
    op *o = &j->ops[rank][i];
    blank(j);
    o->line = j->line;
    TEST_SAY(j, "o%u: ", i);
    if (o->kind == CALC)
        TEST_SAY(j, "calc %llu", (unsigned long long)o->size);
    else
        TEST_SAY(j, "%s %llub %s %u", o->kind == SEND ? "send" : "recv", (unsigned long long)o->size,
                 o->kind == SEND ? "to" : "from", o->peer);
    if (o->tag)
        TEST_SAY(j, " tag %u", o->tag);
    if (o->cpu)
        TEST_SAY(j, " cpu %u", o->cpu);
}

/* Dependencies stand behind both operations, or in front of them. Puts the beginnings into the job in the
 * order in which the file first asks for them. */
static void write_job(job *j)
{
    j->line = 1;
    blank(j);
    TEST_SAY(j, "num_ranks %u", j->ranks);
    for (uint32_t r = 0; r < j->ranks; r++) {
        uint32_t n = j->n[r];
        bool late = below(&j->d, 2);
        blank(j);
        TEST_SAY(j, "rank %u {", r);
        for (uint32_t i = 0; late && i < n; i++)
            write_op(j, r, i);
        for (uint32_t i = 0; i < n; i++) {
            if (!late)
                write_op(j, r, i);
            for (uint32_t on = 0; on < i; on++) {
                op *of = &j->ops[r][on];
                blank(j);
                if (j->ops[r][i].needs[on])
                    TEST_SAY(j, "o%u requires o%u ", i, on);
                if (!j->ops[r][i].early[on])
                    continue;
                TEST_SAY(j, "o%u irequires o%u ", i, on);
                if (of->begun)
                    continue;
                of->begun = true;
                of->begin = j->n[r]++;
                j->ops[r][of->begin] = (op){.kind = BEGIN, .cpu = of->cpu, .line = of->line};
            }
        }
        TEST_SAY(j, " }");
    }
    TEST_SAY(j, "\n");
}

/* An operation whose begin is awaited waits for that only; the begin has its place. */
static bool waits(const job *j, uint32_t rank, uint32_t i, uint32_t on)
{
    const op *all = j->ops[rank];
    if (all[i].kind != BEGIN && all[i].begun)
        return on == all[i].begin;
    uint32_t of = i;
    for (uint32_t k = 0; all[i].kind == BEGIN && k < i; k++)
        if (all[k].kind != BEGIN && all[k].begun && all[k].begin == i)
            of = k;
    if (all[on].kind != BEGIN)
        return all[of].needs[on];
    for (uint32_t k = 0; k < OPS; k++)
        if (all[of].early[k] && all[k].begin == on)
            return true;
    return false;
}

static void check_deps(const job *j, const rlt_program *p, uint32_t rank, uint32_t i)
{
    uint32_t first = p->rank_first[rank];
    const rlt_op *x = &p->ops[first + i];
    for (uint32_t on = 0; on < j->n[rank]; on++) {
        uint32_t found = 0;
        for (uint32_t k = 0; k < x->n_deps; k++)
            found += p->deps[x->first_dep + k] == first + on;
        if ((found > 0) != waits(j, rank, i, on))
            fail_msg("rank %u: operation %u on %u\n%s", rank, i, on, j->text);
    }
}

static void check_op(const job *j, const rlt_program *p, uint32_t rank, uint32_t i)
{
    static const rlt_op_kind kinds[] = {RLT_OP_COMPUTE, RLT_OP_SEND, RLT_OP_RECV, RLT_OP_COMPUTE};
    const op *o = &j->ops[rank][i];
    const rlt_op *x = &p->ops[p->rank_first[rank] + i];
    char text[40];
    snprintf(text, sizeof text, "line %u", o->line);
    assert_string_equal(rlt_program_string(p, x->name), text);
    assert_int_equal(x->kind, kinds[o->kind]);
    assert_int_equal(x->rank, rank);
    assert_int_equal(x->step, 0);
    assert_int_equal(x->recorded_ps, -1);
    check_deps(j, p, rank, i);
    if (o->kind == CALC || o->kind == BEGIN) {
        const rlt_resource *cpu = &p->resources[x->resource];
        snprintf(text, sizeof text, "cpu %u", o->cpu);
        assert_string_equal(rlt_program_string(p, cpu->name), text);
        assert_int_equal(cpu->rank, rank);
        assert_int_equal(cpu->kind, RLT_RES_STREAM);
        assert_int_equal(x->duration_ps, o->size * 1000);
        assert_int_equal(x->comm, RLT_NONE);
        return;
    }
    assert_int_equal(x->resource, RLT_NONE);
    const rlt_comm *c = &p->comms[x->comm];
    assert_int_equal(c->kind, RLT_SEND_RECV);
    assert_int_equal(c->bytes, o->size);
    assert_false(c->timed);
    assert_int_equal(x->member, o->kind == RECV);
    const rlt_op *other = &p->ops[p->comm_ops[c->first_op + (o->kind == SEND)]];
    assert_int_equal(other->rank, o->peer);
    uint32_t at = (uint32_t)(other - p->ops) - p->rank_first[o->peer];
    assert_int_equal(j->ops[o->peer][at].number, o->number);
}

static int read_text(const char *text, const rlt_read_options *o, rlt_program **p, rlt_error *err)
{
    const char *path = test_goal_file(text);
    *err = (rlt_error){0};
    int rc = rlt_reader_goal.read(&path, 1, o, p, err);
    unlink(path);
    assert_int_equal(rc, err->code);
    assert_int_equal(!rc, !*err->where && !*err->what);
    return rc;
}

static job j;

static void files(void **state)
{
    static const rlt_read_options all = {.first_step = -1, .last_step = -1};
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        rlt_program *p = NULL;
        rlt_error err;
        uint32_t n = 0, resources = 0;
        memset(&j, 0, sizeof j);
        j.d.seed = seed;
        draw(&j);
        write_job(&j);
        if (read_text(j.text, &all, &p, &err))
            fail_msg("%s: %s\n%s", err.where, err.what, j.text);
        assert_string_equal(p->reader, "goal");
        assert_int_equal(p->n_ranks, j.ranks);
        assert_int_equal(p->n_comms, j.messages);
        assert_int_equal(p->n_notes, 0);
        for (uint32_t r = 0; r < j.ranks; r++) {
            bool used[64] = {false};
            assert_int_equal(p->rank_first[r + 1] - p->rank_first[r], j.n[r]);
            for (uint32_t i = 0; i < j.n[r]; i++, n++) {
                const op *o = &j.ops[r][i];
                bool computes = o->kind == CALC || o->kind == BEGIN;
                check_op(&j, p, r, i);
                resources += computes && !used[o->cpu];
                used[o->cpu] |= computes;
            }
        }
        assert_int_equal(p->n_ops, n);
        assert_int_equal(p->n_resources, resources);
        rlt_program_free(p);
    }
}

/* The hash is of the text alone. */
static void hashes(void **state)
{
    static const char *const texts[] = {
        "num_ranks 1 rank 0 { a: calc 1 }", "num_ranks 1 rank 0 { a: calc 1 }",
        "num_ranks 1 rank 0 { a: calc 2 }", "num_ranks 1 rank 0 { a: calc 1 } "};
    uint64_t hash[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        rlt_read_options o = {.n_ranks = (uint32_t)i % 2, .first_step = i - 1, .last_step = i % 2 - 1};
        rlt_program *p = NULL;
        rlt_error err;
        assert_int_equal(read_text(texts[i], &o, &p, &err), 0);
        hash[i] = p->hash;
        rlt_program_free(p);
    }
    assert_int_equal(hash[0], hash[1]);
    assert_int_not_equal(hash[0], hash[2]);
    assert_int_not_equal(hash[0], hash[3]);
}

static void refusals(void **state)
{
    static const char two[] = "num_ranks 2 rank 0 { a: calc 1 } rank 1 { }";
    static const char circle[] = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}";
    static const struct {
        const char *text;
        rlt_read_options o;
        int code;
        const char *what;
    } rows[] = {
        {two, {.n_ranks = 2}, 0, ""},
        {two, {.n_ranks = 1}, RLT_ESCHEMA, "has 2 ranks, not 1"},
        {two, {.n_ranks = 3}, RLT_ESCHEMA, "has 2 ranks, not 3"},
        {two, {.first_step = 0, .last_step = 0}, 0, ""},
        {two, {.first_step = -1, .last_step = 1}, RLT_ERANGE, "within the recorded 0:0, got 0:1"},
        {two, {.first_step = 0, .last_step = 2}, RLT_ERANGE, "within the recorded 0:0, got 0:2"},
        {two, {.first_step = 1, .last_step = 2}, RLT_ERANGE, "within the recorded 0:0, got 1:2"},
        {"num_ranks 1 rank 0 {", {.n_ranks = 0}, RLT_EMALFORMED, ""},
        {"num_ranks 2 rank 0 { a: send 1b to 1 } rank 1 { }", {.n_ranks = 0}, RLT_ESCHEMA, ""},
        {"num_ranks 2 rank 0 { a: send 1b to 1 } rank 1 { b: recv 2b from 0 }",
         {.n_ranks = 0},
         RLT_ESCHEMA,
         ""},
        {circle, {.n_ranks = 0}, RLT_ESCHEMA, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = NULL;
        rlt_error err;
        int rc = read_text(rows[i].text, &rows[i].o, &p, &err);
        if (rc != rows[i].code || !strstr(err.what, rows[i].what))
            fail_msg("case %zu: %d, %s: %s", i, rc, err.where, err.what);
        assert_true(!rc == !!p);
        if (rc && (strncmp(err.where, "/tmp/ringlet-goal-", 18) != 0))
            fail_msg("case %zu: at '%s'", i, err.where);
        rlt_program_free(p);
    }
    rlt_program *p = NULL;
    const char *path = test_goal_file(circle), *paths[] = {path, "second"};
    rlt_error err = {0};
    assert_int_not_equal(rlt_reader_goal.read(paths, 1, &rows[0].o, &p, NULL), 0);
    assert_null(p);
    /* The first error is kept. */
    err.code = RLT_EIO;
    assert_int_equal(rlt_reader_goal.read(paths, 1, &rows[0].o, &p, &err), RLT_ESCHEMA);
    assert_int_equal(err.code, RLT_EIO);
    err = (rlt_error){0};
    unlink(path);
    path = test_goal_file(two);
    assert_int_equal(rlt_reader_goal.read(paths, 2, &rows[0].o, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.where, "second");
    assert_non_null(strstr(err.what, "expected one file, got 2"));
    unlink(path);
    err = (rlt_error){0};
    assert_int_equal(rlt_reader_goal.read(NULL, 0, &rows[0].o, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "no trace files");
}

/* Blanks and comments may stand before the first word. What is behind the n bytes is not looked at. */
static void heads(void **state)
{
    static const struct {
        const char *head;
        bool is;
    } rows[] = {
        {"num_ranks 2", true},       {"/**/num_ranks 2", true},     {"/**/\nnum_ranks\n", true},
        {"//\nnum_ranks 2", true},   {"//\n//\nnum_ranks 2", true}, {"/***/num_ranks 2", true},
        {"/*//*/num_ranks 2", true}, {"// /*\nnum_ranks\r", true},  {"x/ y\nnum_ranks 2", false},
        {"x*y*/num_ranks 2", false}, {"/*/num_ranks 2", false},     {"/num_ranks 2", false},
        {"//num_ranks 2", false},    {"/**/ num_ranks: 2", false},
    };
    static const char *const behind[] = {"/* x", "// x", "/", "/*", "//", "", " ", "/**"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((rlt_reader_goal.probe("x", rows[i].head, strlen(rows[i].head)) > 50) != rows[i].is)
            fail_msg("'%s'", rows[i].head);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        for (size_t more = 1; more <= 3; more++) {
            char head[40] = "";
            size_t n = strlen(behind[i]);
            memcpy(head, behind[i], n);
            memcpy(head + n + more, "num_ranks 2", 11);
            if (rlt_reader_goal.probe("x", head, n))
                fail_msg("behind '%s'", behind[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(hashes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(heads),
    };
    return cmocka_run_group_tests_name("goal_drawn", tests, NULL, NULL);
}
