/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions: parsed by precedence into a tree, which is evaluated at a place of the grid. */
#include "tools/sweep/study/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { DEPTH = 64, COMPARISONS = 3, WORD = 64 };

typedef enum operation {
    CONSTANT,
    NAME,
    NOT,
    NEGATE,
    OR,
    AND,
    EQUAL,
    UNEQUAL,
    AT_MOST,
    AT_LEAST,
    LESS,
    MORE,
    ADD,
    SUBTRACT,
    TIMES,
    OVER,
    MODULO
} operation;

struct rlt_sweep_expression {
    operation op;
    uint32_t column;
    rlt_json at;
    const rlt_sweep_expression *a, *b;
    rlt_sweep_value constant;
    rlt_sweep_name name;
    const char *text; /* the name, for messages */
};

static const struct {
    const char *text;
    operation op;
    int level; /* a tighter operator has a higher one */
} operators[] = {{"or", OR, 1},      {"and", AND, 2},    {"==", EQUAL, 3},   {"=", EQUAL, 3},
                 {"!=", UNEQUAL, 3}, {"<=", AT_MOST, 3}, {"<", LESS, 3},     {">=", AT_LEAST, 3},
                 {">", MORE, 3},     {"+", ADD, 4},      {"-", SUBTRACT, 4}, {"*", TIMES, 5},
                 {"/", OVER, 5},     {"%", MODULO, 5}};
enum { OPERATORS = sizeof operators / sizeof *operators };

typedef struct parser {
    rlt_sweep_study *study;
    rlt_json at;
    const char *begin, *p;
    uint32_t depth;
    rlt_error *err;
    int rc;
} parser;

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static uint32_t column_of(const parser *r)
{
    return (uint32_t)(r->p - r->begin) + 1;
}

static rlt_sweep_expression *refuse(parser *r, const char *expected)
{
    if (!r->rc)
        r->rc = rlt_json_fail(r->at, RLT_ESCHEMA, r->err, "column %u of '%.200s': expected %s", column_of(r),
                              r->begin, expected);
    return NULL;
}

static rlt_sweep_expression *make(parser *r, operation op, const rlt_sweep_expression *a,
                                  const rlt_sweep_expression *b)
{
    rlt_sweep_expression *e = r->rc ? NULL : rlt_arena_array(&r->study->arena, 1, sizeof *e);
    if (!e) {
        r->rc = r->rc ? r->rc : rlt_nomem(r->err);
        return NULL;
    }
    *e = (rlt_sweep_expression){.op = op, .column = column_of(r), .at = r->at, .a = a, .b = b};
    return e;
}

static void skip_blanks(parser *r)
{
    while (isspace((unsigned char)*r->p))
        r->p++;
}

/* Returns the index of the operator that follows, and does not pass it; OPERATORS: none. */
static uint32_t next_operator(parser *r)
{
    skip_blanks(r);
    for (uint32_t i = 0; i < OPERATORS; i++) {
        size_t n = strlen(operators[i].text);
        bool word = isalpha((unsigned char)operators[i].text[0]);
        if (strncmp(r->p, operators[i].text, n) == 0 && !(word && in_name(r->p[n])))
            return i;
    }
    return OPERATORS;
}

static rlt_sweep_expression *parse_level(parser *r, int level);

static rlt_sweep_expression *parse_number(parser *r)
{
    char word[WORD];
    size_t n = strspn(r->p, "0123456789.eE"), digits = strspn(r->p, "0123456789.");
    n = digits < n && strchr("+-", r->p[n]) && strchr("eE", r->p[n - 1])
            ? n + 1 + strspn(r->p + n + 1, "0123456789")
            : n;
    snprintf(word, sizeof word, "%.*s", (int)(n < WORD ? n : WORD - 1), r->p);
    rlt_sweep_value v = rlt__sweep_value_of(word);
    if (v.kind != RLT_SWEEP_NUMBER || in_name(r->p[n]))
        return refuse(r, "a number; one with a unit stands in quotes: '4MiB'");
    rlt_sweep_expression *e = make(r, CONSTANT, NULL, NULL);
    if (e)
        e->constant = v;
    r->p += n;
    return e;
}

static rlt_sweep_expression *parse_text(parser *r)
{
    const char *end = strchr(r->p + 1, '\'');
    if (!end)
        return refuse(r, "a closing quote");
    char *text = rlt_arena_strndup(&r->study->arena, r->p + 1, (size_t)(end - r->p) - 1);
    rlt_sweep_expression *e = make(r, CONSTANT, NULL, NULL);
    if (e && !text)
        r->rc = rlt_nomem(r->err);
    else if (e)
        e->constant = rlt__sweep_value_of(text);
    r->p = end + 1;
    return e;
}

static rlt_sweep_expression *parse_name(parser *r)
{
    size_t n = 0;
    while (in_name(r->p[n]) ||
           (n && (r->p[n] == '.' || (r->p[n] == '-' && isalpha((unsigned char)r->p[n + 1])))))
        n++;
    char *text = rlt_arena_strndup(&r->study->arena, r->p, n);
    rlt_sweep_expression *e = make(r, NAME, NULL, NULL);
    if (!e || !text) {
        r->rc = r->rc ? r->rc : rlt_nomem(r->err);
        return NULL;
    }
    e->text = text;
    r->rc = rlt__sweep_name(r->study, r->at, text, e->column, &e->name, r->err);
    r->p += n;
    return r->rc ? NULL : e;
}

static rlt_sweep_expression *parse_operand(parser *r)
{
    rlt_sweep_expression *e;
    skip_blanks(r);
    if (r->depth == DEPTH)
        return refuse(r, "fewer parentheses and signs");
    if (isdigit((unsigned char)*r->p) || *r->p == '.')
        return parse_number(r);
    if (*r->p == '\'')
        return parse_text(r);
    r->depth++;
    if (strncmp(r->p, "not", 3) == 0 && !in_name(r->p[3])) {
        r->p += 3;
        e = make(r, NOT, parse_level(r, COMPARISONS), NULL);
    } else if (*r->p == '-') {
        r->p++;
        e = make(r, NEGATE, parse_operand(r), NULL);
    } else if (*r->p == '(') {
        r->p++;
        e = parse_level(r, 1);
        skip_blanks(r);
        if (e && *r->p != ')')
            return refuse(r, "an operator or ')'");
        r->p += e != NULL;
    } else if (isalpha((unsigned char)*r->p) || *r->p == '_') {
        e = next_operator(r) == OPERATORS ? parse_name(r) : refuse(r, "a value");
    } else {
        e = refuse(r, "a value");
    }
    r->depth--;
    return r->rc ? NULL : e;
}

/* Parses operators of this level and tighter ones. */
static rlt_sweep_expression *parse_level(parser *r, int level)
{
    rlt_sweep_expression *a = parse_operand(r);
    uint32_t i;
    while (a && (i = next_operator(r)) < OPERATORS && operators[i].level >= level) {
        uint32_t column = column_of(r);
        r->p += strlen(operators[i].text);
        rlt_sweep_expression *b = parse_level(r, operators[i].level + 1);
        a = b ? make(r, operators[i].op, a, b) : NULL;
        if (a)
            a->column = column;
        if (a && operators[i].level == COMPARISONS && (i = next_operator(r)) < OPERATORS &&
            operators[i].level == COMPARISONS)
            return refuse(r, "'and' between comparisons");
    }
    return a;
}

int rlt__sweep_compile(rlt_sweep_study *s, rlt_json text, const rlt_sweep_expression **out, rlt_error *err)
{
    const char *t = rlt_json_string(text);
    parser r = {.study = s, .at = text, .begin = t, .p = t, .err = err};
    rlt_sweep_expression *e = parse_level(&r, 1);
    if (e && *r.p)
        e = refuse(&r, "an operator or the end");
    *out = e;
    return r.rc;
}

void rlt__sweep_axes_used(const rlt_sweep_expression *e, bool used[RLT_SWEEP_AXES])
{
    if (e->op == NAME && e->name.axis != RLT_NONE)
        used[e->name.axis] = true;
    if (e->a)
        rlt__sweep_axes_used(e->a, used);
    if (e->b)
        rlt__sweep_axes_used(e->b, used);
}

static rlt_sweep_value number(double x, bool real)
{
    return (rlt_sweep_value){.kind = RLT_SWEEP_NUMBER, .number = x, .real = real};
}

static int need_number(const rlt_sweep_expression *e, const rlt_sweep_value *v, rlt_error *err)
{
    if (v->kind == RLT_SWEEP_NUMBER)
        return 0;
    if (e->op == NAME)
        return rlt_json_fail(e->at, RLT_ESCHEMA, err, "column %u: '%s' %s%s%s, expected a number", e->column,
                             e->text, v->text ? "is '" : "has a value that is left out",
                             v->text ? v->text : "", v->text ? "'" : "");
    return rlt_json_fail(e->at, RLT_ESCHEMA, err, "column %u: '%s' is not a number", e->column,
                         v->text ? v->text : "");
}

static bool are_equal(const rlt_sweep_value *a, const rlt_sweep_value *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == RLT_SWEEP_TEXT ? strcmp(a->text, b->text) == 0 : a->number == b->number;
}

static int compute(const rlt_sweep_expression *e, const rlt_sweep_value *a, const rlt_sweep_value *b,
                   rlt_sweep_value *out, rlt_error *err)
{
    double x = a->number, y = b->number;
    bool real = a->real || b->real;
    if ((e->op == OVER || e->op == MODULO) && y == 0)
        return rlt_json_fail(e->at, RLT_ESCHEMA, err, "column %u: division by zero", e->column);
    switch (e->op) {
    case AT_MOST:
        *out = number(x <= y, false);
        break;
    case AT_LEAST:
        *out = number(x >= y, false);
        break;
    case LESS:
        *out = number(x < y, false);
        break;
    case MORE:
        *out = number(x > y, false);
        break;
    case ADD:
        *out = number(x + y, real);
        break;
    case SUBTRACT:
        *out = number(x - y, real);
        break;
    case TIMES:
        *out = number(x * y, real);
        break;
    case OVER:
        *out = number(x / y, real);
        break;
    default:
        *out = number(fmod(x, y), real);
        break;
    }
    return 0;
}

int rlt__sweep_evaluate(const rlt_sweep_expression *e, const uint32_t at[RLT_SWEEP_AXES],
                        rlt_sweep_value *out, rlt_error *err)
{
    rlt_sweep_value a = {0}, b = {0};
    int rc = 0;
    if (e->op == CONSTANT || e->op == NAME) {
        *out = e->op == CONSTANT          ? e->constant
               : e->name.axis == RLT_NONE ? e->name.values[0]
                                          : e->name.values[at[e->name.axis]];
        return 0;
    }
    if ((rc = rlt__sweep_evaluate(e->a, at, &a, err)))
        return rc;
    bool logical = e->op == AND || e->op == OR, same = e->op == EQUAL || e->op == UNEQUAL;
    if (!same && (rc = need_number(e->a, &a, err)))
        return rc;
    if (e->op == NOT || e->op == NEGATE) {
        *out = e->op == NOT ? number(a.number == 0, false) : number(-a.number, a.real);
        return 0;
    }
    if (logical && (a.number != 0) == (e->op == OR)) {
        *out = number(e->op == OR, false);
        return 0;
    }
    if ((rc = rlt__sweep_evaluate(e->b, at, &b, err)) || (!same && (rc = need_number(e->b, &b, err))))
        return rc;
    if (logical)
        *out = number(b.number != 0, false);
    else if (same)
        *out = number(are_equal(&a, &b) == (e->op == EQUAL), false);
    else
        rc = compute(e, &a, &b, out, err);
    return rc;
}
