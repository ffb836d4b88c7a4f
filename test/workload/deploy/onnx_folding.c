/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Contents that ONNX graphs compute, as for the targets of a Reshape: random chains of operators on lists of whole
 * numbers, whose results are worked out here from the operators' specification (onnx.ai). Each number of a result
 * becomes the size of a tensor, from which it is read back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/onnx.h"
#include "workload/deploy/opgraph.h"

enum { CASES = 1500, LISTS = 40, LONG = 12, BATCH = 3 };

typedef struct list {
    uint32_t n;
    int64_t at[LONG];
} list;

/* A graph under construction; list i is called "v<i>". */
typedef struct chain {
    model m;
    dice d;
    list of[LISTS];
    uint32_t n;
} chain;

static const char *named(char name[8], uint32_t i)
{
    snprintf(name, 8, "v%u", i);
    return name;
}

/* Puts a list into the file. Returns its number. */
static uint32_t given(chain *c, const list *l)
{
    char text[128] = "", name[8];
    for (uint32_t i = 0; i < l->n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? " " : "",
                 (long long)l->at[i]);
    numbers(&c->m, named(name, c->n), text);
    c->of[c->n] = *l;
    return c->n++;
}

static uint32_t given_one(chain *c, int64_t x)
{
    return given(c, &(list){1, {x}});
}

/* Adds a node whose result is `l`. `inputs` are numbers of lists. */
static void made(chain *c, const char *kind, const char *attributes, const uint32_t *inputs, uint32_t n,
                 const list *l)
{
    char in[64] = "", name[8];
    for (uint32_t i = 0; i < n; i++)
        snprintf(in + strlen(in), sizeof in - strlen(in), "%sv%u", i ? " " : "", inputs[i]);
    node(&c->m, kind, in, named(name, c->n), attributes);
    c->of[c->n++] = *l;
}

static list drawn(chain *c, uint32_t n)
{
    list l = {.n = n};
    for (uint32_t i = 0; i < n; i++)
        l.at[i] = (int64_t)below(&c->d, 19) - 9;
    return l;
}

static int64_t apply(uint32_t op, int64_t a, int64_t b)
{
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return a / b; /* towards 0 */
    case 4:
        return a < b ? a : b;
    case 5:
        return a > b ? a : b;
    case 6:
        return a == b;
    case 7:
        return a < b;
    case 8:
        return a > b;
    case 9:
        return a <= b;
    default:
        return a >= b;
    }
}

/* Two lists, one of which may have one number for all. Comparisons give truth values, which are cast or choose. */
static void two(chain *c, uint32_t a, uint32_t b)
{
    static const char *const kinds[] = {"Add",   "Sub",  "Mul",     "Div",         "Min",           "Max",
                                        "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
    const list *x = &c->of[a], *y = &c->of[b];
    uint32_t op = below(&c->d, 11), n = x->n > y->n ? x->n : y->n;
    list l = {.n = n};
    if (x->n != y->n && x->n != 1 && y->n != 1)
        return;
    for (uint32_t i = 0; i < n; i++) {
        int64_t p = x->at[x->n == 1 ? 0 : i], q = y->at[y->n == 1 ? 0 : i];
        if ((op == 3 && q == 0) || llabs(p) > 1000 || llabs(q) > 1000)
            return;
        l.at[i] = apply(op, p, q);
    }
    made(c, kinds[op], NULL, (uint32_t[]){a, b}, 2, &l);
    if (op < 6)
        return;
    uint32_t truth = c->n - 1;
    if (below(&c->d, 2)) {
        made(c, "Not", NULL, &truth, 1, &l);
        for (uint32_t i = 0; i < n; i++)
            c->of[c->n - 1].at[i] = l.at[i] = !l.at[i];
        truth = c->n - 1;
    }
    if (below(&c->d, 2)) {
        made(c, "Cast", "to=7", &truth, 1, &l);
        return;
    }
    list yes = drawn(c, 1), no = drawn(c, n);
    uint32_t three[3] = {truth, given(c, &yes), given(c, &no)};
    for (uint32_t i = 0; i < n; i++)
        l.at[i] = l.at[i] ? yes.at[0] : no.at[i];
    made(c, "Where", NULL, three, 3, &l);
}

static void part_of(chain *c, uint32_t a)
{
    const list x = c->of[a];
    list l = {0};
    if (below(&c->d, 2)) { /* indices, from the end if below 0 */
        list at = {.n = 1 + below(&c->d, 5)};
        for (uint32_t i = 0; i < at.n; i++) {
            at.at[i] = (int64_t)below(&c->d, 2 * x.n) - x.n;
            l.at[i] = x.at[at.at[i] < 0 ? at.at[i] + x.n : at.at[i]];
        }
        l.n = at.n;
        made(c, "Gather", "axis=0", (uint32_t[]){a, given(c, &at)}, 2, &l);
        return;
    }
    /* From one end to the other, as a loop over the places that there are. */
    int64_t from = (int64_t)below(&c->d, 2 * x.n + 4) - x.n - 2,
            to = (int64_t)below(&c->d, 2 * x.n + 4) - x.n - 2, by = 1 + below(&c->d, 3);
    by = below(&c->d, 2) ? by : -by;
    int64_t start = from < 0 ? from + x.n : from, stop = to < 0 ? to + x.n : to;
    start = start < 0 ? 0 : start;
    if (by < 0 && start >= x.n)
        start = (int64_t)x.n - 1;
    stop = stop < 0 ? (by < 0 ? -1 : 0) : stop;
    for (int64_t i = start; by > 0 ? i < stop && i < x.n : i > stop; i += by)
        l.at[l.n++] = x.at[i];
    if (l.n == 0)
        return;
    uint32_t steps[] = {a, given_one(c, from), given_one(c, to), given_one(c, 0), given_one(c, by)};
    made(c, "Slice", NULL, steps, 5, &l);
}

static void one(chain *c, uint32_t a)
{
    static const char *const kinds[] = {"Neg",        "Abs",       "Identity", "ReduceSum",
                                        "ReduceProd", "ReduceMax", "ReduceMin"};
    const list *x = &c->of[a];
    uint32_t op = below(&c->d, 7);
    list l = {.n = op < 3 ? x->n : 1};
    int64_t all = x->at[0];
    for (uint32_t i = 0; i < x->n; i++) {
        if (llabs(x->at[i]) > 1000 || llabs(all) > 100000)
            return;
        if (i)
            all = op == 3 ? all + x->at[i] : op == 4 ? all * x->at[i] : apply(op == 5 ? 5 : 4, all, x->at[i]);
        l.at[i] = op == 0 ? -x->at[i] : op == 1 ? llabs(x->at[i]) : x->at[i];
    }
    if (op >= 3)
        l.at[0] = all;
    made(c, kinds[op], op < 3 ? NULL : "keepdims=1", &a, 1, &l);
}

static void more(chain *c, uint32_t a, uint32_t b)
{
    list l = {0};
    switch (below(&c->d, 3)) {
    case 0:
        if (c->of[a].n + c->of[b].n > LONG)
            return;
        l = c->of[a];
        for (uint32_t i = 0; i < c->of[b].n; i++)
            l.at[l.n++] = c->of[b].at[i];
        made(c, "Concat", "axis=0", (uint32_t[]){a, b}, 2, &l);
        return;
    case 1: {
        int64_t x = (int64_t)below(&c->d, 10) - 5, by = 1 + below(&c->d, 3), end = x + 1 + below(&c->d, 9);
        if (below(&c->d, 2)) {
            by = -by;
            end = x - 1 - below(&c->d, 9);
        }
        uint32_t three[] = {given_one(c, x), given_one(c, end), given_one(c, by)};
        for (; by > 0 ? x < end : x > end; x += by)
            l.at[l.n++] = x;
        made(c, "Range", NULL, three, 3, &l);
        return;
    }
    default: {
        char filling[32];
        int64_t x = (int64_t)below(&c->d, 10) - 5;
        l.n = 1 + below(&c->d, 6);
        for (uint32_t i = 0; i < l.n; i++)
            l.at[i] = x;
        snprintf(filling, sizeof filling, "value=#%lld", (long long)x);
        uint32_t size = given_one(c, l.n);
        made(c, "ConstantOfShape", filling, &size, 1, &l);
    }
    }
}

/* Each number of the list, brought to 1 .. 9, as the width of a tensor. */
static void check(chain *c, uint64_t seed)
{
    uint32_t last = c->n - 1, n = c->of[last].n;
    char name[20], in[64];
    node(&c->m, "Abs", named(name, last), "a", NULL);
    numbers(&c->m, "one", "1");
    numbers(&c->m, "nine", "9");
    node(&c->m, "Add", "a one", "b", NULL);
    node(&c->m, "Min", "b nine", "sizes", NULL);
    for (uint32_t i = 0; i < n; i++) {
        char index[20], at[20], size[20], target[20], wide[20];
        snprintf(at, sizeof at, "at%u", i);
        snprintf(index, sizeof index, "%u", i);
        snprintf(size, sizeof size, "size%u", i);
        snprintf(target, sizeof target, "target%u", i);
        snprintf(wide, sizeof wide, "wide%u", i);
        snprintf(name, sizeof name, "out%u", i);
        numbers(&c->m, at, index);
        snprintf(in, sizeof in, "sizes %s", at);
        node(&c->m, "Gather", in, size, NULL);
        snprintf(in, sizeof in, "one %s", size);
        node(&c->m, "Concat", in, target, "axis=0");
        snprintf(in, sizeof in, "r %s", target);
        node(&c->m, "Expand", in, wide, NULL);
        node(&c->m, "Relu", wide, name, NULL);
    }
    rlt_opgraph *g = read_model(&c->m, (test_options){.accelerator = flops, .batch = BATCH});
    for (uint32_t i = 0; i < n; i++) {
        int64_t x = llabs(c->of[last].at[i]) + 1, size = x < 9 ? x : 9;
        snprintf(name, sizeof name, "out%u", i);
        if (find(g, name)->time_ps != 1000 * BATCH * size)
            fail_msg("case %llu: number %u of %u is not %lld", (unsigned long long)seed, i, n,
                     (long long)c->of[last].at[i]);
    }
    rlt_opgraph_free(g);
}

static void chains(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        chain c = {.d = {.seed = seed}};
        input(&c.m, "x", "N 1");
        node(&c.m, "Relu", "x", "r", NULL);
        for (uint32_t i = 0; i < 2; i++) {
            list l = drawn(&c, 1 + below(&c.d, 6));
            given(&c, &l);
        }
        for (uint32_t steps = 1 + below(&c.d, 6); steps > 0 && c.n + 6 < LISTS; steps--) {
            uint32_t a = c.n - 1, b = below(&c.d, c.n);
            switch (below(&c.d, 4)) {
            case 0:
                two(&c, a, b);
                break;
            case 1:
                part_of(&c, a);
                break;
            case 2:
                one(&c, a);
                break;
            default:
                more(&c, a, b);
            }
        }
        check(&c, seed);
        rlt__pb_out_free(&c.m.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
