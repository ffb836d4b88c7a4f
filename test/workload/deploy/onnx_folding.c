/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Contents that ONNX graphs compute, as for the targets of a Reshape: random chains of operators on lists of whole
 * numbers, whose results are worked out here from the operators' specification (onnx.ai). Each number of a result
 * becomes the size of a tensor, from which it is read back. The same for one or two operators on tensors of real
 * or whole numbers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Each of n numbers of a list, from -499 to 500, as the width of a tensor. */
static void check(model *m, const char *list_name, const int64_t *want, uint32_t n, uint64_t seed)
{
    char name[20], in[64];
    numbers(m, "one", "1");
    numbers(m, "middle", "500");
    numbers(m, "most", "1000");
    snprintf(in, sizeof in, "%s middle", list_name);
    node(m, "Add", in, "a", NULL);
    node(m, "Max", "a one", "b", NULL);
    node(m, "Min", "b most", "sizes", NULL);
    for (uint32_t i = 0; i < n; i++) {
        char index[20], at[20], size[20], target[20], wide[20];
        snprintf(at, sizeof at, "at%u", i);
        snprintf(index, sizeof index, "%u", i);
        snprintf(size, sizeof size, "size%u", i);
        snprintf(target, sizeof target, "target%u", i);
        snprintf(wide, sizeof wide, "wide%u", i);
        snprintf(name, sizeof name, "out%u", i);
        numbers(m, at, index);
        snprintf(in, sizeof in, "sizes %s", at);
        node(m, "Gather", in, size, NULL);
        snprintf(in, sizeof in, "one %s", size);
        node(m, "Concat", in, target, "axis=0");
        snprintf(in, sizeof in, "r %s", target);
        node(m, "Expand", in, wide, NULL);
        node(m, "Relu", wide, name, NULL);
    }
    rlt_opgraph *g = read_model(m, (test_options){.accelerator = flops, .batch = BATCH});
    for (uint32_t i = 0; i < n; i++) {
        int64_t x = want[i] + 500, size = x < 1 ? 1 : x < 1000 ? x : 1000;
        snprintf(name, sizeof name, "out%u", i);
        if (find(g, name)->time_ps != 1000 * BATCH * size)
            fail_msg("case %llu: number %u of %u is not %lld", (unsigned long long)seed, i, n,
                     (long long)want[i]);
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
        char name[8];
        check(&c.m, named(name, c.n - 1), c.of[c.n - 1].at, c.of[c.n - 1].n, seed);
        rlt__pb_out_free(&c.m.graph);
    }
}

/* ---- tensors of real or whole numbers ---- */

enum { SPACES = 3, ELEMENTS = 27 };

typedef struct tensor {
    uint32_t rank, n;
    int64_t dims[SPACES];
    double at[ELEMENTS];
    bool real;
} tensor;

static void count_elements(tensor *t)
{
    t->n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        t->n *= (uint32_t)t->dims[i];
}

/* The place in t of a place in a tensor of shape `all`, whose dimensions end where those of t do. */
static uint32_t place_in(const tensor *t, const tensor *all, uint32_t place)
{
    uint32_t at[SPACES] = {0}, found = 0;
    for (uint32_t i = all->rank; i-- > 0; place /= (uint32_t)all->dims[i])
        at[i] = place % (uint32_t)all->dims[i];
    for (uint32_t i = 0; i < t->rank; i++)
        found = found * (uint32_t)t->dims[i] + (t->dims[i] == 1 ? 0 : at[all->rank - t->rank + i]);
    return found;
}

/* Puts a tensor of a shape into the file: quarters, or whole numbers. */
static tensor put_tensor(model *m, dice *d, const char *name, uint32_t rank, const int64_t *dims, bool real)
{
    rlt_pb_out o = {0}, data = {0};
    tensor t = {.rank = rank, .real = real};
    memcpy(t.dims, dims, rank * sizeof *dims);
    count_elements(&t);
    for (uint32_t i = 0; i < t.n; i++) {
        int64_t whole = (int64_t)below(d, 33) - 16;
        float f = (float)whole / 4;
        t.at[i] = real ? (double)f : (double)whole;
        rlt__pb_put_raw(&data, real ? (const void *)&f : (const void *)&whole, real ? 4 : 8);
    }
    for (uint32_t i = 0; i < rank; i++)
        rlt__pb_put_uint(&o, 1, (uint64_t)dims[i]);
    rlt__pb_put_uint(&o, 2, real ? 1 : 7);
    put_text(&o, 8, name);
    put(&o, 9, &data);
    put(&m->graph, 5, &o);
    return t;
}

static double to_even(double a)
{
    double low = floor(a), rest = a - low;
    return rest > 0.5 || (rest == 0.5 && fmod(low, 2) != 0) ? low + 1 : low;
}

static bool one_of(model *m, dice *d, const char *in, const char *out, tensor *t)
{
    static const char *const kinds[] = {"Neg",  "Abs",  "Floor", "Ceil", "Round",
                                        "Sqrt", "Cast", "Cast",  "Cast"};
    static const char *const to[] = {"to=7", "to=1", "to=9"};
    uint32_t op = below(d, 9);
    if (!t->real && op >= 2 && op <= 5)
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        double a = t->at[i];
        if (op == 5 && a < 0)
            return false;
        t->at[i] = op == 0   ? -a
                   : op == 1 ? fabs(a)
                   : op == 2 ? floor(a)
                   : op == 3 ? ceil(a)
                   : op == 4 ? to_even(a)
                   : op == 5 ? sqrt(a)
                   : op == 6 ? trunc(a)
                   : op == 7 ? a
                             : a != 0;
    }
    t->real = op < 6 ? t->real : op == 7;
    node(m, kinds[op], in, op == 8 ? "bool" : out, op < 6 ? NULL : to[op - 6]);
    if (op == 8) { /* truth values count as numbers */
        bool not = below(d, 2);
        node(m, not ? "Not" : "Identity", "bool", "truth", NULL);
        node(m, "Cast", "truth", out, "to=7");
        for (uint32_t i = 0; i < t->n; i++)
            t->at[i] = (bool)t->at[i] != not ;
    }
    return true;
}

static bool two_of(model *m, dice *d, const char *in, const char *out, tensor *t)
{
    static const char *const kinds[] = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Where", "Expand"};
    uint32_t op = below(d, 8), rank = below(d, SPACES + 1);
    int64_t dims[SPACES] = {1, 1, 1};
    tensor all = {.rank = rank > t->rank ? rank : t->rank, .real = t->real};
    char names[64], list_text[32] = "";
    for (uint32_t i = 1; i <= all.rank; i++) {
        int64_t own = i <= t->rank ? t->dims[t->rank - i] : 1, other = 1;
        if (i <= rank)
            other = dims[rank - i] = below(d, 3) == 0 ? 1 : own > 1 ? own : 1 + below(d, 3);
        all.dims[all.rank - i] = own > other ? own : other;
    }
    count_elements(&all);
    if (op == 7) {
        for (uint32_t i = 0; i < rank; i++)
            snprintf(list_text + strlen(list_text), sizeof list_text - strlen(list_text), " %d",
                     (int)dims[i]);
        numbers(m, "target", list_text);
    }
    tensor b = put_tensor(m, d, "second", rank, dims, t->real),
           x = put_tensor(m, d, "choice", rank, dims, false);
    bool turned = op < 7 && below(d, 2);
    for (uint32_t i = 0; i < all.n; i++) {
        double p = t->at[place_in(t, &all, i)], q = b.at[place_in(&b, &all, i)],
               which = x.at[place_in(&x, &all, i)];
        double l = turned ? q : p, r = turned ? p : q;
        if (op == 3 && r == 0)
            return false;
        all.at[i] = op == 0   ? l + r
                    : op == 1 ? l - r
                    : op == 2 ? l * r
                    : op == 3 ? (t->real ? l / r : trunc(l / r))
                    : op == 4 ? (l < r ? l : r)
                    : op == 5 ? (l > r ? l : r)
                    : op == 6 ? (which != 0 ? l : r)
                              : p;
    }
    snprintf(names, sizeof names, "%s%s %s", op == 6 ? "yes " : "", turned ? "second" : in,
             turned ? in : "second");
    if (op == 6)
        node(m, "Cast", "choice", "yes", "to=9");
    if (op == 7)
        snprintf(names, sizeof names, "%s target", in);
    node(m, kinds[op], names, out, NULL);
    *t = all;
    return true;
}

/* Two steps on a tensor; what comes out is multiplied by 8 and cut to whole numbers. */
static void tensors(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed, .stream = 1};
        model m = {0};
        int64_t dims[SPACES], want[ELEMENTS];
        uint32_t rank = below(&d, SPACES + 1);
        const char *start = "t";
        for (uint32_t i = 0; i < SPACES; i++)
            dims[i] = 1 + below(&d, 3);
        input(&m, "data", "N 1");
        node(&m, "Relu", "data", "r", NULL);
        tensor t = put_tensor(&m, &d, "t", rank, dims, below(&d, 3) != 0), before = t;
        if (below(&d, 8) == 0) { /* zeros, as no value is named */
            char shape[16] = "";
            for (uint32_t i = 0; i < rank; i++)
                snprintf(shape + strlen(shape), sizeof shape - strlen(shape), " %d", (int)dims[i]);
            numbers(&m, "shape", shape);
            node(&m, "ConstantOfShape", "shape", "zeros", NULL);
            t = (tensor){.rank = rank, .n = t.n, .dims = {dims[0], dims[1], dims[2]}, .real = true};
            start = "zeros";
            before = t;
        }
        bool first = below(&d, 2) && two_of(&m, &d, start, "u", &t);
        t = first ? t : before;
        before = t;
        const char *last = first ? "u" : start;
        bool second = one_of(&m, &d, last, "v", &t);
        t = second ? t : before;
        last = second ? "v" : last;
        node(&m, "Cast", last, "real", "to=1");
        node(&m, "Cast", "eight", "factor", "to=1");
        numbers(&m, "eight", "8");
        node(&m, "Mul", "real factor", "more", NULL);
        node(&m, "Cast", "more", "whole", "to=7");
        node(&m, "Reshape", "whole flat", "list", NULL);
        numbers(&m, "flat", "-1");
        for (uint32_t i = 0; i < t.n; i++)
            want[i] = (int64_t)trunc(8 * t.at[i]);
        check(&m, "list", want, t.n, seed);
        rlt_pb_out o = m.graph;
        rlt__pb_out_free(&o);
    }
}

/* Of three operands and more nothing is worked out, but by Where. */
static void many(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 5; n++) {
        char in[32] = "";
        model m = {0};
        input(&m, "x", "N 1");
        numbers(&m, "a", "2 3");
        for (uint32_t i = 0; i < n; i++)
            snprintf(in + strlen(in), sizeof in - strlen(in), " a");
        node(&m, "Min", in, "to", NULL);
        node(&m, "Expand", "x to", "y", NULL);
        node(&m, "Relu", "y", "z", NULL);
        if (n == 2)
            assert_true(flops_of(&m, 1, "Relu") == 6);
        else
            refused(&m, RLT_EMALFORMED, "depends on contents that are not known");
    }
}

/* A list is reduced to one number, and a reduction that leaves it as it is is not worked out, nor one of nothing. */
static void reduced(void **state)
{
    static const struct {
        const char *list, *more;
        double elements; /* -1: not known */
    } rows[] = {{"2 3", "keepdims=0", 5},
                {"2 3", "axes=[0]", 5},
                {"2 3", "noop_with_empty_axes=1", -1},
                {"4", "noop_with_empty_axes=1", 4},
                {"", "keepdims=1", -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 1");
        numbers(&m, "a", rows[i].list);
        numbers(&m, "one", "-1");
        node(&m, "ReduceSum", "a", "sum", rows[i].more);
        node(&m, "Reshape", "sum one", "to", NULL);
        node(&m, "Expand", "x to", "y", NULL);
        node(&m, "Relu", "y", "z", NULL);
        if (rows[i].elements < 0)
            refused(&m, RLT_EMALFORMED, "depends on contents that are not known");
        else
            assert_true(flops_of(&m, 1, "Relu") == rows[i].elements);
    }
}

/* A number that is taken from a list stands in it. */
static void gathered(void **state)
{
    static const struct {
        const char *at;
        double elements; /* -1: not known */
    } rows[] = {{"-3", -1}, {"-2", 2}, {"-1", 3}, {"0", 2}, {"1", 3}, {"2", -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model m = {0};
        input(&m, "x", "N 1");
        numbers(&m, "a", "2 3");
        numbers(&m, "at", rows[i].at);
        node(&m, "Gather", "a at", "to", NULL);
        node(&m, "Expand", "x to", "y", NULL);
        node(&m, "Relu", "y", "z", NULL);
        if (rows[i].elements < 0)
            refused(&m, RLT_EMALFORMED, "depends on contents that are not known");
        else
            assert_true(flops_of(&m, 1, "Relu") == rows[i].elements);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains), cmocka_unit_test(tensors),
                                       cmocka_unit_test(many), cmocka_unit_test(reduced),
                                       cmocka_unit_test(gathered)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
