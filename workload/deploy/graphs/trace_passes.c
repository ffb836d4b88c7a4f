/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step, order and passes of the operations of a trace, and the forward work of backward work. */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/trace.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"

enum { NAME = 256 };

static bool is_device(const rlt_op *o)
{
    return o->kind == RLT_OP_COMPUTE || o->kind == RLT_OP_MEMORY;
}

/* ---- step, order ---- */

static int compare_times(const void *a, const void *b)
{
    const rlt_time *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int rlt__trace_step(rlt_trace_maker *m, const char *path)
{
    const rlt_program *p = m->p;
    uint32_t n = 0, steps = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        steps = p->ops[i].step >= steps ? p->ops[i].step + 1u : steps;
    rlt_time *time = calloc((size_t)steps + 1, sizeof *time),
             *sorted = calloc((size_t)steps + 1, sizeof *time);
    int rc = time && sorted ? 0 : rlt_nomem(m->err);
    for (uint32_t i = 0; i < p->n_ops && !rc; i++)
        if (is_device(&p->ops[i]))
            time[p->ops[i].step] = rlt_time_add(time[p->ops[i].step], p->ops[i].duration_ps);
    for (uint32_t s = 0; s < steps && !rc; s++)
        if (time[s])
            sorted[n++] = time[s];
    if (!rc && n == 0)
        rc = rlt_fail(m->err, RLT_EMALFORMED, path,
                      "the trace has no device work that takes time: expected compute operations");
    if (!rc) {
        qsort(sorted, n, sizeof *sorted, compare_times);
        while (time[m->step] != sorted[n / 2])
            m->step++;
        if (n > 1)
            rlt__trace_note(
                m, "step %" PRIu32 " of the trace is taken, of %" PRIu32 " with device work (median time)",
                m->step, n);
    }
    free(time);
    free(sorted);
    return rc;
}

int rlt__trace_order(rlt_trace_maker *m)
{
    const rlt_program *p = m->p;
    uint32_t *stack = malloc(((size_t)p->n_ops + 1) * sizeof *stack), n = 0;
    if (!stack)
        return rlt_nomem(m->err);
    for (uint32_t i = 0; i < p->n_ops; i++)
        m->nodes[i] =
            (rlt_trace_node){.place = RLT_NONE, .thread = RLT_NONE, .update = RLT_NONE, .mate = RLT_NONE};
    for (uint32_t i = 0; i < p->n_ops; i++) {
        uint32_t depth = 0;
        if (m->nodes[i].place == RLT_NONE)
            stack[depth++] = i;
        while (depth) {
            uint32_t op = stack[depth - 1];
            rlt_trace_node *x = &m->nodes[op]; /* x->n: dependencies looked at so far */
            while (x->n < p->ops[op].n_deps &&
                   m->nodes[p->deps[p->ops[op].first_dep + x->n]].place != RLT_NONE)
                x->n++;
            if (x->n < p->ops[op].n_deps)
                stack[depth++] = p->deps[p->ops[op].first_dep + x->n++];
            else {
                m->order[n] = op;
                x->place = n++;
                depth--;
            }
        }
    }
    free(stack);
    return 0;
}

/* ---- passes ---- */

/* Finds a word in upper or lower case. alone: no letter stands beside it. */
static const char *find_word(const char *name, const char *word, bool alone)
{
    size_t n = strlen(word);
    for (const char *at = name; *at; at++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)at[i]) == word[i])
            i++;
        bool letters =
            (at > name && isalpha((unsigned char)at[-1])) || (i == n && isalpha((unsigned char)at[n]));
        if (i == n && !(alone && letters))
            return at;
    }
    return NULL;
}

static bool any_word(const char *name, const char *const *words)
{
    while (*words && !find_word(name, *words, false))
        words++;
    return *words != NULL;
}

/* Finds out which host thread launched what, through delays. */
static void find_threads(rlt_trace_maker *m)
{
    const rlt_program *p = m->p;
    for (uint32_t k = 0; k < p->n_ops; k++) {
        uint32_t op = m->order[k], place = 0;
        const rlt_op *o = &p->ops[op];
        rlt_trace_node *x = &m->nodes[op];
        x->thread = o->kind == RLT_OP_HOST ? o->resource : RLT_NONE;
        for (uint32_t d = 0; d < o->n_deps && o->kind != RLT_OP_HOST; d++) {
            uint32_t on = p->deps[o->first_dep + d];
            const rlt_trace_node *y = &m->nodes[on];
            bool launches = p->ops[on].kind == RLT_OP_HOST || p->ops[on].kind == RLT_OP_DELAY;
            if (launches && y->thread != RLT_NONE && y->place >= place) {
                x->thread = y->thread;
                place = y->place;
            }
        }
    }
}

/* Returns the pass by the rules 1 to 4, or RLT_NONE. main: thread of the first work. */
static uint32_t pass_of(const rlt_trace_maker *m, uint32_t op, uint32_t main)
{
    static const char *const updates[] = {"optimizer",          "adam",    "adagrad", "sgd",
                                          "multi_tensor_apply", "addcmul", "addcdiv", NULL};
    static const char *const backward[] = {"backward", "autograd", "wgrad", "dgrad", "bwd", "_bw_", NULL};
    const char *name = rlt__trace_name(m, op);
    uint32_t thread = m->nodes[op].thread;
    if (any_word(name, updates) || find_word(name, "step", true))
        return RLT_OPERATOR_UPDATE;
    if ((thread != RLT_NONE && thread != main) || any_word(name, backward))
        return RLT_OPERATOR_BACKWARD;
    return !m->recording && find_word(name, "forward", false) ? RLT_OPERATOR_FORWARD : RLT_NONE;
}

void rlt__trace_passes(rlt_trace_maker *m)
{
    const rlt_program *p = m->p;
    uint32_t main = RLT_NONE, first = RLT_NONE, last = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        m->recording |= p->ops[i].kind == RLT_OP_HOST && p->ops[i].step == m->step;
    if (m->recording)
        find_threads(m);
    for (uint32_t k = 0; k < p->n_ops; k++) {
        uint32_t op = m->order[k], pass;
        rlt_trace_node *x = &m->nodes[op];
        if (p->ops[op].step != m->step || !is_device(&p->ops[op]))
            continue;
        main = main == RLT_NONE ? x->thread : main;
        x->role = RLT_TRACE_DEVICE;
        pass = pass_of(m, op, main);
        x->pass = (uint8_t)(pass == RLT_NONE ? UINT8_MAX : pass);
        if (pass == RLT_OPERATOR_BACKWARD) {
            first = first == RLT_NONE ? k : first;
            last = k;
        }
    }
    for (uint32_t k = 0; k < p->n_ops; k++) {
        rlt_trace_node *x = &m->nodes[m->order[k]];
        if (x->role != RLT_TRACE_DEVICE)
            continue;
        if (x->pass == UINT8_MAX)
            x->pass = k < first  ? RLT_OPERATOR_FORWARD
                      : k > last ? RLT_OPERATOR_UPDATE
                                 : RLT_OPERATOR_BACKWARD;
        m->n_pass[x->pass]++;
    }
    rlt__trace_note(m,
                    "passes are guessed from names, threads and order: %" PRIu32 " forward, %" PRIu32
                    " backward and %" PRIu32 " update operations",
                    m->n_pass[0], m->n_pass[1], m->n_pass[2]);
}

/* ---- forward operators of backward ones ---- */

/* Writes a name without the word of its pass. Returns false if it has none. */
static bool without_pass(const char *name, uint32_t pass, char *out)
{
    const char *word = pass == RLT_OPERATOR_FORWARD ? "forward" : "backward",
               *at = find_word(name, word, false);
    if (at)
        snprintf(out, NAME, "%.*s%.100s", (int)(at - name > 100 ? 100 : at - name), name, at + strlen(word));
    return at != NULL;
}

/* Finds forward work by name. Names that appear twice do not count. */
static int find_names(rlt_trace_maker *m, uint32_t *of_name, rlt_strings *names)
{
    char name[NAME];
    for (uint32_t i = 0; i < m->p->n_ops; i++) {
        const rlt_trace_node *x = &m->nodes[i];
        if (x->role != RLT_TRACE_DEVICE || x->pass != RLT_OPERATOR_FORWARD ||
            !without_pass(rlt__trace_name(m, i), x->pass, name))
            continue;
        uint32_t before = names->n, s = rlt_intern(names, name, strlen(name));
        if (s == RLT_NONE)
            return rlt_nomem(m->err);
        of_name[s] = s < before ? RLT_NONE : i;
    }
    return 0;
}

int rlt__trace_mates(rlt_trace_maker *m)
{
    uint32_t n = m->p->n_ops, k = n;
    uint32_t *of_name = malloc(((size_t)n + 1) * sizeof *of_name);
    rlt_strings names = {0};
    double whole[2] = {0}, at[2] = {0};
    char name[NAME];
    int rc = of_name ? find_names(m, of_name, &names) : rlt_nomem(m->err);
    for (uint32_t i = 0; i < n; i++)
        if (m->nodes[i].role == RLT_TRACE_DEVICE && m->nodes[i].pass != RLT_OPERATOR_UPDATE)
            whole[m->nodes[i].pass] += (double)m->p->ops[i].duration_ps;
    uint32_t mirrored = RLT_NONE;
    for (uint32_t b = 0; b < n && !rc; b++) {
        uint32_t op = m->order[b];
        rlt_trace_node *x = &m->nodes[op];
        if (x->role != RLT_TRACE_DEVICE || x->pass != RLT_OPERATOR_BACKWARD)
            continue;
        double share = (at[1] + (double)m->p->ops[op].duration_ps / 2) / (whole[1] > 0 ? whole[1] : 1);
        at[1] += (double)m->p->ops[op].duration_ps;
        while (k && (mirrored == RLT_NONE || at[0] < share * whole[0])) {
            const rlt_trace_node *f = &m->nodes[m->order[--k]];
            if (f->role != RLT_TRACE_DEVICE || f->pass != RLT_OPERATOR_FORWARD)
                continue;
            mirrored = m->order[k];
            at[0] += (double)m->p->ops[mirrored].duration_ps;
        }
        bool named = without_pass(rlt__trace_name(m, op), x->pass, name);
        uint32_t s = named ? rlt_intern_find(&names, name, strlen(name)) : RLT_NONE;
        x->mate = s != RLT_NONE && of_name[s] != RLT_NONE ? of_name[s] : mirrored != RLT_NONE ? mirrored : op;
    }
    rlt_strings_free(&names);
    free(of_name);
    return rc;
}
