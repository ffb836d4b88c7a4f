/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ONNX model as its reader sees it: values (tensors by name) and nodes. Private to the reader.
 *
 *     onnx_parse.c   the file: nodes, attributes, sizes and small contents of tensors
 *     onnx_model.c   access to nodes and values, for the files below
 *     onnx_shapes.c  order of the nodes, the batch, the shape of each value
 *     onnx_moves.c   operators that move elements; onnx_math.c: operators that compute
 *     onnx_fold.c    contents of small constants, such as the target of a Reshape
 *     onnx_cost.c    FLOPs and bytes of a node
 *     onnx.c         times, layers, the reader
 */
#ifndef RLT_WORKLOAD_DEPLOY_GRAPHS_ONNX_H
#define RLT_WORKLOAD_DEPLOY_GRAPHS_ONNX_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "workload/deploy/graphs/graphs.h"

enum {
    RLT__ONNX_RANK = 8,
    RLT__ONNX_DATA = 1024, /* contents of larger tensors are not kept */
    RLT__ONNX_BATCH = 32,  /* where neither file nor options state one */
};

/* Where constants come from. Those of a file's initializers are taken for weights. */
typedef enum rlt__onnx_origin {
    RLT__ONNX_FROM_SHAPES, /* computed from shapes of activations */
    RLT__ONNX_FROM_NODE,   /* Constant nodes */
    RLT__ONNX_FROM_FILE,   /* initializers, or ConstantOfShape of such */
} rlt__onnx_origin;

typedef struct rlt__onnx_value {
    int64_t dims[RLT__ONNX_RANK];
    int64_t declared[RLT__ONNX_RANK]; /* -1 - i: not a number, but symbol i; symbol 0 is nameless */
    const double *data;               /* contents; NULL: unknown */
    uint32_t n_data;
    uint32_t producer;       /* node; RLT_NONE: initializer or input */
    uint32_t root;           /* the constant that this one was made of by moving elements */
    uint32_t layer;          /* layer that computes it; RLT_NONE: none */
    int8_t rank;             /* number of dims; -1: not known yet */
    int8_t declared_rank;    /* as the file declares it; -1: it does not */
    uint8_t type;            /* TensorProto.DataType; 0: unknown */
    uint8_t origin;          /* rlt__onnx_origin of a constant */
    bool initializer, input; /* as listed in the graph */
    bool constant;           /* it does not depend on the inputs' contents */
    bool counted;            /* its elements are counted as parameters of a layer */
} rlt__onnx_value;

typedef struct rlt__onnx_attribute {
    const char *name, *text; /* text: NULL if it is none */
    int64_t i;
    double f;
    const int64_t *ints;
    uint32_t n_ints;
    uint32_t tensor; /* value; RLT_NONE: none */
} rlt__onnx_attribute;

/* Most elements of a tensor. */
#define RLT__ONNX_ELEMENTS 0x1p50

struct rlt__onnx_kind;

typedef struct rlt__onnx_node {
    const char *name, *kind;          /* kind: with its domain in front, unless that is ONNX's own */
    const uint32_t *inputs, *outputs; /* values; RLT_NONE: left out */
    const rlt__onnx_attribute *attributes;
    uint32_t n_inputs, n_outputs, n_attributes;
    const struct rlt__onnx_kind *op;
} rlt__onnx_node;

typedef struct rlt__onnx {
    const char *path;
    const rlt_graph_options *options;
    rlt_arena arena;
    rlt_strings names, symbols; /* names[i]: of value i */
    rlt__onnx_value *values;
    rlt__onnx_node *nodes;
    uint32_t *order; /* nodes: a producer stands before its consumers */
    uint32_t n_values, values_room, n_nodes, nodes_room;
    int64_t opset;
    uint32_t external; /* tensors with their contents in other files */
    uint32_t batch;    /* samples that the shapes stand for */
    double scale;      /* samples asked for / batch */
    int64_t symbol;    /* open dimension that stands for the batch: -1 - symbol; 0: none */
    uint32_t element;  /* bytes of a floating-point number in the precision of the options */
    rlt_error *err;
} rlt__onnx;

/* Work of a node in the forward pass. */
typedef struct rlt__onnx_work {
    double flop, bytes; /* work of all samples asked for; bytes: read and written */
    double rows;        /* rows of the activations, in products with weights; 0: no such product */
    double width;       /* smaller side of the weights in such a product */
    uint32_t kind;      /* rlt_work_kind */
    double parameters;  /* elements of weights that no layer before has counted */
    bool twice;         /* the backward pass does twice the work: gradients of both operands */
} rlt__onnx_work;

/* How the cost of an operator is found. */
typedef enum rlt__onnx_cost {
    RLT__ONNX_CONSTANT, /* always known without the inputs' contents: Shape, Constant */
    RLT__ONNX_VIEW,     /* neither computes nor moves: Reshape */
    RLT__ONNX_MOVE,     /* reads and writes */
    RLT__ONNX_ELEMENT,  /* some FLOPs for each element of the output */
    RLT__ONNX_NORM,     /* the same, with weights of its own */
    RLT__ONNX_REDUCE,   /* some FLOPs for each element of the input */
    RLT__ONNX_POOL,     /* one for each element of each window */
    RLT__ONNX_LOOKUP,   /* reads what it writes */
    RLT__ONNX_CONV,
    RLT__ONNX_DECONV,
    RLT__ONNX_PRODUCT,
} rlt__onnx_cost;

typedef struct rlt__onnx_kind {
    const char *name;
    /* Sets the shapes of the outputs. It leaves output 0 without one if that depends on unknown contents. */
    int (*infer)(rlt__onnx *m, const rlt__onnx_node *n);
    double flop; /* each element */
    uint8_t cost;
    uint8_t inputs;  /* inputs that must be there */
    uint8_t weights; /* bit i: input i may be a weight; bit 7: so may all from 7 on */
} rlt__onnx_kind;

/* Returns the operator of a name, or NULL. */
const rlt__onnx_kind *rlt__onnx_kind_of(const char *name);

int rlt__onnx_parse(rlt__onnx *m, const char *text, size_t length) RLT_MUST_USE;
/* Sorts the nodes and finds the shapes of all values. */
int rlt__onnx_shapes(rlt__onnx *m) RLT_MUST_USE;
/* Computes the contents of a node's output, if they are small and the inputs' contents are known. */
int rlt__onnx_fold(rlt__onnx *m, const rlt__onnx_node *n) RLT_MUST_USE;
/* Finds the work of a node, and marks the weights that it counts. */
void rlt__onnx_work_of(rlt__onnx *m, const rlt__onnx_node *n, rlt__onnx_work *w);
/* Bytes of a value of the batch asked for, 0 without a shape; floating-point elements have the options'
 * precision. */
double rlt__onnx_bytes(const rlt__onnx *m, const rlt__onnx_value *v);
/* Adds a remark to the options' notes. */
void rlt__onnx_note(const rlt__onnx *m, const char *fmt, ...) RLT_PRINTF(2);

/* Fails, naming the node. */
int rlt__onnx_bad(const rlt__onnx *m, const rlt__onnx_node *n, const char *fmt, ...) RLT_PRINTF(3);
/* Adds a value, or returns the one of that name; RLT_NONE when memory or room ran out. */
uint32_t rlt__onnx_value_of(rlt__onnx *m, const char *name, size_t length);

/* Returns input i, or NULL if it is left out. */
rlt__onnx_value *rlt__onnx_in(const rlt__onnx *m, const rlt__onnx_node *n, uint32_t i);
const rlt__onnx_attribute *rlt__onnx_find(const rlt__onnx_node *n, const char *name);
int64_t rlt__onnx_int(const rlt__onnx_node *n, const char *name, int64_t otherwise);
/* Reads an axis, which counts from the end if negative, in [0, rank). */
int rlt__onnx_axis(const rlt__onnx *m, const rlt__onnx_node *n, int64_t axis, int64_t rank,
                   int64_t *out) RLT_MUST_USE;
/* A list of integers, from an attribute or from the contents of an input, as older and newer operator sets
 * write them. known: false if the input is there, but its contents are not known. */
typedef struct rlt__onnx_list {
    int64_t at[RLT__ONNX_DATA];
    uint32_t n;
    bool given, known;
} rlt__onnx_list;
void rlt__onnx_ints(const rlt__onnx *m, const rlt__onnx_node *n, const char *attribute, uint32_t input,
                    rlt__onnx_list *out);
/* Sets the shape of output `output` (no effect if it is left out). Refuses rank 9 and 2^50 elements. */
int rlt__onnx_set(rlt__onnx *m, const rlt__onnx_node *n, uint32_t output, const int64_t *dims, int64_t rank,
                  uint8_t type) RLT_MUST_USE;
double rlt__onnx_elements(const rlt__onnx_value *v);
/* True for the types of floating-point numbers. */
bool rlt__onnx_real(uint8_t type);

/* Shape that two shapes broadcast to: ONNX aligns them at their ends. */
int rlt__onnx_broadcast(const rlt__onnx *m, const rlt__onnx_node *n, const rlt__onnx_value *v, int64_t *dims,
                        int64_t *rank) RLT_MUST_USE;
/* Output 0 has the shape of input 0. */
int rlt__onnx_same(rlt__onnx *m, const rlt__onnx_node *n) RLT_MUST_USE;

/* Operators, ended by one without a name. */
extern const rlt__onnx_kind rlt__onnx_moves[], rlt__onnx_math[];

#endif
