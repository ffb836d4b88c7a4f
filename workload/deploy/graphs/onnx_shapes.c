/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Order of the nodes of an ONNX model, the batch, and the shapes of all values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/heap.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/deploy/graphs/onnx.h"

/* ---- operators ---- */

/* Finds the operator of each node. Lists the kinds that are not known, with their numbers. */
static int find_kinds(rlt__onnx *m)
{
    rlt_strings unknown = {0};
    uint32_t *count = calloc((size_t)m->n_nodes + 1, sizeof *count);
    char list[700] = "", one[128];
    int rc = count ? 0 : rlt_nomem(m->err);
    for (uint32_t i = 0; i < m->n_nodes && !rc; i++) {
        rlt__onnx_node *n = &m->nodes[i];
        n->op = rlt__onnx_kind_of(n->kind);
        if (n->op)
            continue;
        uint32_t k = rlt_intern(&unknown, n->kind, strlen(n->kind));
        if (k == RLT_NONE)
            rc = rlt_nomem(m->err);
        else
            count[k]++;
    }
    uint32_t left = unknown.n;
    for (uint32_t k = 0; k < unknown.n && !rc; k++, left--) {
        snprintf(one, sizeof one, "%.100s (%" PRIu32 ")", rlt_interned(&unknown, k), count[k]);
        if (strlen(list) + strlen(one) + 20 > sizeof list)
            break;
        rlt_list_name(list, sizeof list, one);
    }
    if (left && !rc) {
        snprintf(one, sizeof one, "and %" PRIu32 " more kinds", left);
        rlt_list_name(list, sizeof list, one);
    }
    if (unknown.n && !rc)
        rc = rlt_fail(m->err, RLT_EUNSUPPORTED, m->path,
                      "operators that are not known, with their numbers: %s", list);
    rlt_strings_free(&unknown);
    free(count);
    return rc;
}

/* ---- order ---- */

static bool sooner(const rlt__onnx *m, const uint32_t *a, const uint32_t *b)
{
    (void)m;
    return *a < *b;
}
RLT_HEAP(ready, uint32_t, rlt__onnx, sooner)

/* Notes the producer of each value. A value has one producer. */
static int find_producers(rlt__onnx *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const rlt__onnx_node *n = &m->nodes[i];
        if (n->n_outputs == 0 || n->outputs[0] == RLT_NONE)
            return rlt__onnx_bad(m, n, "it has no output");
        for (uint32_t k = 0; k < n->n_outputs; k++) {
            if (n->outputs[k] == RLT_NONE)
                continue;
            rlt__onnx_value *v = &m->values[n->outputs[k]];
            if (v->producer != RLT_NONE || v->initializer || v->input)
                return rlt__onnx_bad(m, n, "its output '%.100s' is written twice",
                                     rlt_interned(&m->names, n->outputs[k]));
            v->producer = i;
        }
    }
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_inputs; k++) {
            const rlt__onnx_value *v = rlt__onnx_in(m, &m->nodes[i], k);
            if (v && v->producer == RLT_NONE && !v->initializer && !v->input)
                return rlt__onnx_bad(m, &m->nodes[i], "nothing writes its input '%.100s'",
                                     rlt_interned(&m->names, m->nodes[i].inputs[k]));
        }
    return 0;
}

/* Names a node on a cycle: walks upward from node i among the nodes that are not sorted, which still wait. */
static int fail_cycle(const rlt__onnx *m, uint32_t *waits, uint32_t i)
{
    const uint32_t visited = UINT32_MAX;
    while (waits[i] != visited) {
        const rlt__onnx_node *n = &m->nodes[i];
        waits[i] = visited;
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            const rlt__onnx_value *v = rlt__onnx_in(m, n, k);
            if (v && v->producer != RLT_NONE && waits[v->producer]) {
                i = v->producer;
                break;
            }
        }
    }
    return rlt__onnx_bad(m, &m->nodes[i], "it waits for itself: the graph has a cycle");
}

/* Lists the consumers of each node: of[first[i] .. first[i + 1]). waits[i]: inputs that nodes produce. */
static uint32_t *find_consumers(const rlt__onnx *m, uint32_t *first, uint32_t *waits)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_inputs; k++) {
            const rlt__onnx_value *v = rlt__onnx_in(m, &m->nodes[i], k);
            if (v && v->producer != RLT_NONE) {
                first[v->producer + 2]++;
                waits[i]++;
            }
        }
    for (uint32_t i = 0; i < m->n_nodes; i++)
        first[i + 2] += first[i + 1];
    uint32_t *of = malloc(((size_t)first[m->n_nodes + 1] + 1) * sizeof *of);
    for (uint32_t i = 0; i < m->n_nodes && of; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_inputs; k++) {
            const rlt__onnx_value *v = rlt__onnx_in(m, &m->nodes[i], k);
            if (v && v->producer != RLT_NONE)
                of[first[v->producer + 1]++] = i;
        }
    return of;
}

static int sort(rlt__onnx *m)
{
    size_t n = m->n_nodes;
    uint32_t *first = calloc(n + 3, sizeof *first), *waits = calloc(n + 1, sizeof *waits), *of = NULL;
    uint32_t *heap = malloc((n + 1) * sizeof *heap), n_ready = 0, done = 0;
    m->order = rlt_arena_array(&m->arena, n + 1, sizeof *m->order);
    int rc =
        first && waits && heap && m->order && (of = find_consumers(m, first, waits)) ? 0 : rlt_nomem(m->err);
    for (uint32_t i = 0; i < m->n_nodes && !rc; i++)
        if (waits[i] == 0)
            ready_push(m, heap, &n_ready, i);
    while (!rc && n_ready) {
        uint32_t i = m->order[done++] = ready_pop(m, heap, &n_ready);
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            if (--waits[of[k]] == 0)
                ready_push(m, heap, &n_ready, of[k]);
    }
    for (uint32_t i = 0; i < m->n_nodes && !rc && done < m->n_nodes; i++)
        if (waits[i])
            rc = fail_cycle(m, waits, i);
    free(first);
    free(waits);
    free(heap);
    free(of);
    return rc;
}

/* ---- the batch ---- */

/* Finds the batch: the first dimension of the inputs. */
static int find_batch(rlt__onnx *m)
{
    int64_t fixed = 0;
    bool open = false;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const rlt__onnx_value *v = &m->values[i];
        if (!v->input || v->initializer || v->declared_rank < 1)
            continue;
        if (v->declared[0] < 0) {
            m->symbol = open && m->symbol ? m->symbol : -1 - v->declared[0];
            open = true;
        } else if (!fixed) {
            fixed = v->declared[0];
        }
    }
    if (!open && !fixed)
        return rlt_fail(m->err, RLT_EMALFORMED, m->path,
                        "no input with a batch: expected an input with at least one dimension");
    uint32_t asked = m->options->batch;
    m->scale = 1;
    m->batch = open ? (asked ? asked : RLT__ONNX_BATCH) : (uint32_t)(fixed < INT32_MAX ? fixed : INT32_MAX);
    if (open && !asked)
        rlt__onnx_note(m, "the model leaves its batch open: %d samples are assumed", RLT__ONNX_BATCH);
    if (!open && asked && asked != m->batch) {
        m->scale = (double)asked / m->batch;
        rlt__onnx_note(m, "the model has a batch of %" PRIu32 ": work and activations are scaled to %" PRIu32,
                       m->batch, asked);
    }
    return 0;
}

/* Puts numbers in place of open dimensions: only the batch has one. Returns the index of a dimension that
 * stays open, or -1. */
static int close_dimensions(const rlt__onnx *m, const rlt__onnx_value *v, bool input, int64_t *dims)
{
    for (int i = 0; i < v->declared_rank; i++) {
        int64_t symbol = -1 - v->declared[i];
        dims[i] = v->declared[i];
        if (dims[i] >= 0)
            continue;
        if (!(input && i == 0) && (symbol == 0 || symbol != m->symbol))
            return i;
        dims[i] = m->batch;
    }
    return -1;
}

static int set_inputs(rlt__onnx *m)
{
    for (uint32_t i = 0; i < m->n_values; i++) {
        rlt__onnx_value *v = &m->values[i];
        const char *name = rlt_interned(&m->names, i);
        double elements = 1;
        if (!v->input || v->initializer)
            continue;
        if (v->declared_rank < 0)
            return rlt_fail(m->err, RLT_EMALFORMED, m->path, "input '%.100s' has no shape", name);
        int left = close_dimensions(m, v, true, v->dims);
        if (left >= 0)
            return rlt_fail(m->err, RLT_EMALFORMED, m->path,
                            "input '%.100s' leaves dimension %d ('%.60s') open: expected numbers in all but "
                            "the first, the batch; export the model with fixed sizes",
                            name, left, rlt_interned(&m->symbols, (uint32_t)(-1 - v->declared[left])));
        for (int k = 0; k < v->declared_rank; k++)
            elements *= (double)v->dims[k];
        if (elements > RLT__ONNX_ELEMENTS)
            return rlt_fail(m->err, RLT_ERANGE, m->path, "input '%.100s' has more than 2^50 elements", name);
        v->rank = v->declared_rank;
    }
    return 0;
}

/* ---- shapes ---- */

/* Takes the shape that the file declares for output k. Only the first one must have it. */
static int adopt(rlt__onnx *m, const rlt__onnx_node *n, uint32_t k)
{
    const rlt__onnx_value *v = &m->values[n->outputs[k]];
    int64_t dims[RLT__ONNX_RANK];
    int left = close_dimensions(m, v, false, dims);
    if (k > 0 && (v->declared_rank < 0 || left >= 0))
        return 0;
    if (v->declared_rank < 0)
        return rlt__onnx_bad(
            m, n,
            "the shape of its output '%.100s' depends on contents that are not known, and "
            "the file does not declare it: run ONNX's shape inference, or export with fixed sizes",
            rlt_interned(&m->names, n->outputs[0]));
    if (left >= 0)
        return rlt__onnx_bad(m, n,
                             "dimension %d of its output '%.100s' depends on contents that are not known",
                             left, rlt_interned(&m->names, n->outputs[0]));
    return rlt__onnx_set(m, n, k, dims, v->declared_rank, v->type);
}

/* Finds out whether the outputs are constants, and where these come from. */
static void inherit(rlt__onnx *m, const rlt__onnx_node *n)
{
    bool constant = n->op->cost == RLT__ONNX_CONSTANT, moves = n->op->cost <= RLT__ONNX_MOVE, real = false,
         all = n->n_inputs > 0;
    uint8_t origin =
        constant ? (n->n_inputs ? RLT__ONNX_FROM_SHAPES : RLT__ONNX_FROM_NODE) : RLT__ONNX_FROM_FILE;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const rlt__onnx_value *v = rlt__onnx_in(m, n, i);
        if (!v)
            continue;
        all &= v->constant;
        real |= rlt__onnx_real(v->type);
        moves &= i == 0 || !rlt__onnx_real(v->type);
    }
    /* Indices and shapes do not tell where numbers come from. */
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const rlt__onnx_value *v = rlt__onnx_in(m, n, i);
        if (v && (!real || rlt__onnx_real(v->type)))
            origin = v->origin < origin ? v->origin : origin;
    }
    const rlt__onnx_value *from = rlt__onnx_in(m, n, 0);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == RLT_NONE)
            continue;
        rlt__onnx_value *v = &m->values[n->outputs[i]];
        v->constant = constant || all;
        v->origin = origin;
        if (all && moves && from && rlt__onnx_real(from->type))
            v->root = from->root;
    }
}

static int infer(rlt__onnx *m, const rlt__onnx_node *n)
{
    for (uint32_t i = 0; i < n->n_inputs || i < n->op->inputs; i++) {
        const rlt__onnx_value *v = rlt__onnx_in(m, n, i);
        if (!v && i < n->op->inputs)
            return rlt__onnx_bad(m, n, "input %" PRIu32 " is missing", i);
        if (v && v->rank < 0)
            return rlt__onnx_bad(m, n, "the shape of its input '%.100s' is not known",
                                 rlt_interned(&m->names, n->inputs[i]));
    }
    int rc = n->op->infer(m, n);
    for (uint32_t k = 0; k < n->n_outputs && !rc; k++)
        if (n->outputs[k] != RLT_NONE && m->values[n->outputs[k]].rank < 0)
            rc = adopt(m, n, k);
    if (rc)
        return rc;
    inherit(m, n);
    return m->values[n->outputs[0]].constant ? rlt__onnx_fold(m, n) : 0;
}

int rlt__onnx_shapes(rlt__onnx *m)
{
    int rc;
    if (m->n_nodes == 0)
        return rlt_fail(m->err, RLT_EMALFORMED, m->path, "the graph has no nodes");
    if ((rc = find_kinds(m)) || (rc = find_producers(m)) || (rc = sort(m)) || (rc = find_batch(m)) ||
        (rc = set_inputs(m)))
        return rc;
    for (uint32_t i = 0; i < m->n_nodes && !rc; i++)
        rc = infer(m, &m->nodes[m->order[i]]);
    return rc;
}
