/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a ModelProto; the numbers of its fields are those of onnx.proto. Weights are not copied: the reader
 * keeps the dimensions of a tensor, and its contents if they are few. Errors name the byte in the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "workload/deploy/graphs/onnx.h"

/* TensorProto.DataType */
enum { FLOAT = 1, INT32 = 6, INT64 = 7, DOUBLE = 11 };
/* Operator sets before 7 broadcast in another way. */
enum { OLDEST = 7, NEWEST = 24, MAX_NODES = 1 << 18, MAX_LIST = 1 << 16 };

typedef struct parser {
    rlt__onnx *m;
    const uint8_t *begin; /* start of the file */
} parser;

static int bad(const parser *p, const uint8_t *at, const char *what)
{
    char where[600];
    snprintf(where, sizeof where, "%.500s: byte %zu", p->m->path, (size_t)(at - p->begin));
    return rlt_fail(p->m->err, RLT_EMALFORMED, where, "%s", what);
}

/* Reads the next field of a message. Returns 1, 0 at its end, or fails. */
static int next(const parser *p, rlt_pb *r, rlt_pb_field *f)
{
    int rc = rlt__pb_next(r, f);
    if (rc > 0 && f->wire != RLT_PB_BYTES)
        f->bytes = (rlt_pb){r->at, r->at};
    return rc < 0 ? bad(p, r->at, "truncated or damaged: expected a field of an ONNX model") : rc;
}

static size_t length(const rlt_pb *piece)
{
    return (size_t)(piece->end - piece->at);
}

static int copy_text(const parser *p, const rlt_pb *piece, const char **out)
{
    char *s = rlt_arena_strndup(&p->m->arena, (const char *)piece->at, length(piece));
    if (!s)
        return rlt_nomem(p->m->err);
    rlt_make_printable(s);
    *out = s;
    return 0;
}

/* Reads integers into a list: one, or packed ones. Those behind `most` are counted, not kept. */
static int add_ints(const parser *p, const rlt_pb_field *f, int64_t *list, uint32_t most, uint32_t *n)
{
    rlt_pb r = f->bytes;
    uint64_t v = f->value;
    bool packed = f->wire == RLT_PB_BYTES;
    while (!packed || r.at < r.end) {
        if (packed && rlt__pb_varint(&r, &v) < 0)
            return bad(p, r.at, "truncated or damaged: expected an integer");
        if (*n < most)
            list[*n] = (int64_t)v;
        ++*n;
        if (!packed)
            break;
    }
    return 0;
}

/* ---- tensors ---- */

typedef struct tensor {
    int64_t dims[RLT__ONNX_RANK];
    uint32_t rank, type;
    bool external; /* its contents are in another file */
    rlt_pb name, raw;
    double data[RLT__ONNX_DATA];
    uint32_t n_data;
} tensor;

static double number(uint64_t bits, uint32_t type)
{
    double d;
    float f;
    uint32_t low = (uint32_t)bits;
    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &low, sizeof f);
    return type == DOUBLE  ? d
           : type == FLOAT ? (double)f
           : type == INT32 ? (int32_t)low
                           : (double)(int64_t)bits;
}

/* Reads contents that take `size` bytes each, little-endian; `size` 0: integers of the wire format. */
static int add_data(const parser *p, const rlt_pb_field *f, uint32_t size, uint32_t type, tensor *t)
{
    rlt_pb r = f->bytes;
    uint64_t v = f->value;
    while (f->wire != RLT_PB_BYTES || r.at < r.end) {
        if (f->wire == RLT_PB_BYTES && size == 0) {
            if (rlt__pb_varint(&r, &v) < 0)
                return bad(p, r.at, "truncated or damaged: expected an integer");
        } else if (f->wire == RLT_PB_BYTES) {
            if ((size_t)(r.end - r.at) < size)
                return bad(p, r.at, "truncated or damaged: expected a number");
            v = 0;
            for (uint32_t i = 0; i < size; i++)
                v |= (uint64_t)r.at[i] << 8 * i;
            r.at += size;
        }
        if (t->n_data < RLT__ONNX_DATA)
            t->data[t->n_data] = number(v, type);
        if (++t->n_data > RLT__ONNX_DATA || f->wire != RLT_PB_BYTES)
            break;
    }
    return 0;
}

static int tensor_field(const parser *p, const rlt_pb_field *f, tensor *t)
{
    switch (f->number) {
    case 1:
        return add_ints(p, f, t->dims, RLT__ONNX_RANK, &t->rank);
    case 2:
        t->type = (uint32_t)f->value;
        return 0;
    case 4:
        return add_data(p, f, 4, FLOAT, t);
    case 5:
        return add_data(p, f, 0, INT32, t);
    case 7:
    case 11:
        return add_data(p, f, 0, INT64, t);
    case 8:
        t->name = f->bytes;
        return 0;
    case 9:
        t->raw = f->bytes;
        return 0;
    case 10:
        return add_data(p, f, 8, DOUBLE, t);
    case 14:
        t->external = f->value == 1;
        return 0;
    default:
        return 0;
    }
}

static int read_raw(const parser *p, tensor *t)
{
    uint32_t size = t->type == FLOAT || t->type == INT32 ? 4 : t->type == INT64 || t->type == DOUBLE ? 8 : 0;
    rlt_pb_field f = {.wire = RLT_PB_BYTES, .bytes = t->raw};
    if (!size || length(&t->raw) > (size_t)size * RLT__ONNX_DATA)
        return 0;
    return add_data(p, &f, size, t->type, t);
}

/* Checks the dimensions of a tensor and counts its elements. */
static int check_tensor(const parser *p, const uint8_t *start, const tensor *t, double *elements)
{
    *elements = 1;
    if (t->rank > RLT__ONNX_RANK)
        return bad(p, start, "a tensor of more than 8 dimensions");
    for (uint32_t i = 0; i < t->rank; i++) {
        *elements *= (double)t->dims[i];
        if (t->dims[i] < 0 || *elements > RLT__ONNX_ELEMENTS)
            return bad(p, start, "a tensor with a negative dimension, or of more than 2^50 elements");
    }
    return 0;
}

static int keep_tensor(const parser *p, const tensor *t, double elements, uint32_t value)
{
    rlt__onnx *m = p->m;
    rlt__onnx_value *v = &m->values[value];
    v->rank = (int8_t)t->rank;
    v->type = (uint8_t)(t->type < 255 ? t->type : 0);
    v->constant = true;
    memcpy(v->dims, t->dims, sizeof v->dims);
    m->external += t->external;
    if (t->external || t->n_data > RLT__ONNX_DATA || (double)t->n_data != elements)
        return 0;
    double *data = rlt_arena_array(&m->arena, (size_t)t->n_data + 1, sizeof *data);
    if (!data)
        return rlt_nomem(m->err);
    memcpy(data, t->data, t->n_data * sizeof *data);
    v->data = data;
    v->n_data = t->n_data;
    return 0;
}

/* Reads a TensorProto. *value is the value that it fills; RLT_NONE: the one of its name. */
static int read_tensor(const parser *p, rlt_pb r, uint32_t *value)
{
    rlt_pb_field f;
    const uint8_t *start = r.at;
    double elements = 0;
    tensor *t = calloc(1, sizeof *t);
    int rc = t ? 0 : rlt_nomem(p->m->err);
    while (!rc && (rc = next(p, &r, &f)) > 0)
        rc = tensor_field(p, &f, t);
    if (!rc && !(rc = read_raw(p, t)) && !(rc = check_tensor(p, start, t, &elements)) && *value == RLT_NONE) {
        *value = rlt__onnx_value_of(p->m, (const char *)t->name.at, length(&t->name));
        rc = *value == RLT_NONE ? rlt_nomem(p->m->err) : 0;
    }
    if (!rc)
        rc = keep_tensor(p, t, elements, *value);
    free(t);
    return rc;
}

static int read_initializer(const parser *p, const rlt_pb *piece)
{
    uint32_t i = RLT_NONE;
    int rc = read_tensor(p, *piece, &i);
    if (!rc) {
        p->m->values[i].initializer = true;
        p->m->values[i].origin = RLT__ONNX_FROM_FILE;
    }
    return rc;
}

/* ---- values that the graph declares ---- */

static int read_dimension(const parser *p, rlt_pb r, int64_t *dim)
{
    rlt_pb_field f;
    int rc;
    *dim = -1;
    while ((rc = next(p, &r, &f)) > 0)
        if (f.number == 1 && f.wire == RLT_PB_VARINT) {
            *dim = (int64_t)f.value > 0 ? (int64_t)f.value : -1;
        } else if (f.number == 2 && f.wire == RLT_PB_BYTES) {
            uint32_t s = rlt_intern(&p->m->symbols, (const char *)f.bytes.at, length(&f.bytes));
            if (s == RLT_NONE)
                return rlt_nomem(p->m->err);
            *dim = -1 - (int64_t)s;
        }
    return rc;
}

static int read_shape(const parser *p, rlt_pb r, rlt__onnx_value *v)
{
    rlt_pb_field f;
    int rc = 0;
    v->declared_rank = 0;
    while (!rc && (rc = next(p, &r, &f)) > 0) {
        if (f.number != 1)
            rc = 0;
        else if (v->declared_rank == RLT__ONNX_RANK)
            rc = bad(p, r.at, "a value of more than 8 dimensions");
        else
            rc = read_dimension(p, f.bytes, &v->declared[v->declared_rank++]);
    }
    return rc;
}

/* Reads a TypeProto; `inner`: its tensor type, which has the type of the elements and the shape. */
static int read_type(const parser *p, rlt_pb r, rlt__onnx_value *v, bool inner)
{
    rlt_pb_field f;
    int rc = 0;
    while (!rc && (rc = next(p, &r, &f)) > 0) {
        rc = 0;
        if (!inner && f.number == 1)
            rc = read_type(p, f.bytes, v, true);
        else if (inner && f.number == 1)
            v->type = (uint8_t)(f.value < 255 ? f.value : 0);
        else if (inner && f.number == 2)
            rc = read_shape(p, f.bytes, v);
    }
    return rc;
}

static int read_value_info(const parser *p, rlt_pb r, bool input)
{
    rlt__onnx *m = p->m;
    rlt__onnx_value declared = {.declared_rank = -1};
    rlt_pb_field f;
    rlt_pb name = {r.at, r.at};
    int rc = 0;
    while (!rc && (rc = next(p, &r, &f)) > 0) {
        name = f.number == 1 ? f.bytes : name;
        rc = f.number == 2 ? read_type(p, f.bytes, &declared, false) : 0;
    }
    if (rc || length(&name) == 0)
        return rc;
    uint32_t i = rlt__onnx_value_of(m, (const char *)name.at, length(&name));
    if (i == RLT_NONE)
        return rlt_nomem(m->err);
    rlt__onnx_value *v = &m->values[i];
    v->input |= input;
    v->type = v->type ? v->type : declared.type;
    v->declared_rank = declared.declared_rank;
    memcpy(v->declared, declared.declared, sizeof v->declared);
    return 0;
}

/* ---- nodes ---- */

/* Fields of a node are gathered here, then copied at their length. */
typedef struct gathered {
    uint32_t *items; /* values */
    uint32_t n, room;
} gathered;

static int add_value(const parser *p, const rlt_pb *name, gathered *g)
{
    uint32_t i = RLT_NONE;
    int rc = rlt_grow(&g->items, &g->room, sizeof *g->items, (uint64_t)g->n + 1, MAX_LIST,
                      "inputs or outputs of a node", p->m->err);
    if (rc)
        return rc;
    if (length(name) > 0) {
        i = rlt__onnx_value_of(p->m, (const char *)name->at, length(name));
        if (i == RLT_NONE)
            return rlt_nomem(p->m->err);
    }
    g->items[g->n++] = i;
    return 0;
}

static int keep_values(const parser *p, const gathered *g, const uint32_t **out, uint32_t *n)
{
    uint32_t *copy = rlt_arena_array(&p->m->arena, (size_t)g->n + 1, sizeof *copy);
    if (!copy)
        return rlt_nomem(p->m->err);
    if (g->n)
        memcpy(copy, g->items, g->n * sizeof *copy);
    *out = copy;
    *n = g->n;
    return 0;
}

/* Reads the tensor of an attribute into a value with a name that no file uses. */
static int attribute_tensor(const parser *p, const rlt_pb *piece, uint32_t *value)
{
    char name[24];
    int n = snprintf(name, sizeof name, "\1%" PRIu32, p->m->n_values);
    *value = rlt__onnx_value_of(p->m, name, (size_t)n);
    return *value == RLT_NONE ? rlt_nomem(p->m->err) : read_tensor(p, *piece, value);
}

static int attribute_field(const parser *p, const rlt_pb_field *f, rlt__onnx_attribute *a, int64_t *ints)
{
    uint32_t bits = (uint32_t)f->value;
    float real;
    switch (f->number) {
    case 1:
        return copy_text(p, &f->bytes, &a->name);
    case 2:
        memcpy(&real, &bits, sizeof real);
        a->f = (double)real;
        return 0;
    case 3:
        a->i = (int64_t)f->value;
        return 0;
    case 4:
        return copy_text(p, &f->bytes, &a->text);
    case 5:
        return attribute_tensor(p, &f->bytes, &a->tensor);
    case 8:
        return add_ints(p, f, ints, RLT__ONNX_DATA, &a->n_ints);
    default:
        return 0;
    }
}

static int read_attribute(const parser *p, rlt_pb r, rlt__onnx_attribute *a)
{
    int64_t ints[RLT__ONNX_DATA];
    rlt_pb_field f;
    int rc = 0;
    *a = (rlt__onnx_attribute){.name = "", .tensor = RLT_NONE};
    while (!rc && (rc = next(p, &r, &f)) > 0)
        rc = attribute_field(p, &f, a, ints);
    if (rc)
        return rc;
    if (a->n_ints > RLT__ONNX_DATA)
        return bad(p, r.at, "expected at most 1024 integers in an attribute that ends here");
    int64_t *copy = rlt_arena_array(&p->m->arena, (size_t)a->n_ints + 1, sizeof *copy);
    if (!copy)
        return rlt_nomem(p->m->err);
    memcpy(copy, ints, a->n_ints * sizeof *copy);
    a->ints = copy;
    return 0;
}

static int read_attributes(const parser *p, rlt_pb r, rlt__onnx_node *n)
{
    rlt_pb_field f;
    int rc;
    uint32_t count = 0;
    for (rlt_pb ahead = r; (rc = next(p, &ahead, &f)) > 0;)
        count += f.number == 5;
    rlt__onnx_attribute *list = rc ? NULL : rlt_arena_array(&p->m->arena, (size_t)count + 1, sizeof *list);
    if (!list)
        return rc ? rc : rlt_nomem(p->m->err);
    while (!rc && (rc = next(p, &r, &f)) > 0)
        rc = f.number == 5 ? read_attribute(p, f.bytes, &list[n->n_attributes++]) : 0;
    n->attributes = list;
    return rc;
}

/* Names a node without a name by its first output, and puts foreign domains in front of its kind. */
static int name_node(const parser *p, rlt__onnx_node *n, const char *domain)
{
    rlt__onnx *m = p->m;
    if (!*n->name)
        n->name = n->n_outputs && n->outputs[0] != RLT_NONE
                      ? rlt_arena_strdup(&m->arena, rlt_interned(&m->names, n->outputs[0]))
                      : rlt_arena_printf(&m->arena, "node %" PRIu32, m->n_nodes);
    if (*domain && strcmp(domain, "ai.onnx") != 0)
        n->kind = rlt_arena_printf(&m->arena, "%s.%s", domain, n->kind);
    return n->name && n->kind ? 0 : rlt_nomem(m->err);
}

static int read_node(const parser *p, rlt_pb r)
{
    rlt__onnx *m = p->m;
    rlt__onnx_node n = {.name = "", .kind = ""};
    const char *domain = "";
    gathered in = {0}, out = {0};
    rlt_pb_field f;
    rlt_pb again = r;
    int rc = 0;
    while (!rc && (rc = next(p, &r, &f)) > 0)
        rc = f.number == 1   ? add_value(p, &f.bytes, &in)
             : f.number == 2 ? add_value(p, &f.bytes, &out)
             : f.number == 3 ? copy_text(p, &f.bytes, &n.name)
             : f.number == 4 ? copy_text(p, &f.bytes, &n.kind)
             : f.number == 7 ? copy_text(p, &f.bytes, &domain)
                             : 0;
    if (!rc && !(rc = keep_values(p, &in, &n.inputs, &n.n_inputs)) &&
        !(rc = keep_values(p, &out, &n.outputs, &n.n_outputs)) && !(rc = read_attributes(p, again, &n)) &&
        !(rc = name_node(p, &n, domain)) &&
        !(rc = rlt_grow(&m->nodes, &m->nodes_room, sizeof *m->nodes, (uint64_t)m->n_nodes + 1, MAX_NODES,
                        "nodes", m->err)))
        m->nodes[m->n_nodes++] = n;
    free(in.items);
    free(out.items);
    return rc;
}

/* ---- the model ---- */

static int read_graph(const parser *p, rlt_pb r)
{
    rlt_pb_field f;
    int rc = 0;
    while (!rc && (rc = next(p, &r, &f)) > 0)
        rc = f.number == 1    ? read_node(p, f.bytes)
             : f.number == 5  ? read_initializer(p, &f.bytes)
             : f.number == 11 ? read_value_info(p, f.bytes, true)
             : f.number == 12 ? read_value_info(p, f.bytes, false)
             : f.number == 13 ? read_value_info(p, f.bytes, false)
             : f.number == 15 ? bad(p, f.bytes.at, "a sparse initializer, which is not supported")
                              : 0;
    return rc;
}

/* Reads the version of ONNX's own operator set; other sets are not looked at. */
static int read_opset(const parser *p, rlt_pb r)
{
    rlt_pb_field f;
    int64_t version = 0;
    const char *domain = "";
    int rc = 0;
    while (!rc && (rc = next(p, &r, &f)) > 0) {
        rc = f.number == 1 ? copy_text(p, &f.bytes, &domain) : 0;
        version = f.number == 2 ? (int64_t)f.value : version;
    }
    if (!rc && (!*domain || strcmp(domain, "ai.onnx") == 0))
        p->m->opset = version;
    return rc;
}

int rlt__onnx_parse(rlt__onnx *m, const char *text, size_t n)
{
    const uint8_t *begin = (const uint8_t *)text;
    parser p = {m, begin};
    rlt_pb r = {begin, begin + n};
    rlt_pb_field f;
    bool graph = false;
    int rc = 0;
    if (rlt_intern(&m->symbols, "", 0) == RLT_NONE)
        return rlt_nomem(m->err);
    while (!rc && (rc = next(&p, &r, &f)) > 0) {
        rc = f.number == 7 ? read_graph(&p, f.bytes) : f.number == 8 ? read_opset(&p, f.bytes) : 0;
        graph |= f.number == 7;
    }
    if (!rc && !graph)
        rc = bad(&p, r.at, "the file ends without a graph");
    if (!rc && (m->opset < OLDEST || m->opset > NEWEST))
        rc = rlt_fail(m->err, RLT_EUNSUPPORTED, m->path,
                      "operator set %" PRId64 " of ONNX: expected one from %d to %d", m->opset, OLDEST,
                      NEWEST);
    return rc;
}
