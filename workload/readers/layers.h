/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training step as a table of layers, each with compute and communication of the forward pass, the input
 * gradient and the weight gradient: what ASTRA-sim 1.0, SimAI and PipeDream describe. All ranks do the same.
 *
 * Forward runs from the first layer to the last, backward from the last to the first. Communication of
 * forward and input gradient holds up the compute that follows; that of weight gradients goes on beside it
 * and holds up only the layer's update, which comes after the whole backward pass.
 */
#ifndef RLT_WORKLOAD_READERS_LAYERS_H
#define RLT_WORKLOAD_READERS_LAYERS_H

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { RLT_MAX_LAYERS = 1 << 20, RLT_MAX_LAYER_WORDS = 64 };

typedef enum rlt_layer_scope {
    RLT_OVER_NONE,
    RLT_OVER_ALL,
    RLT_OVER_MODEL,       /* consecutive ranks, `model` of them */
    RLT_OVER_DATA,        /* ranks `model` apart */
    RLT_OVER_EXPERT,      /* `expert` of those of OVER_DATA, consecutive among them */
    RLT_OVER_DATA_EXPERT, /* ranks `model` * `expert` apart */
    RLT_OVER_SCOPES
} rlt_layer_scope;

typedef enum rlt_layer_phase { RLT_FORWARD, RLT_INPUT_GRADIENT, RLT_WEIGHT_GRADIENT } rlt_layer_phase;

typedef struct rlt_layer_comm {
    uint8_t any, kind, scope; /* rlt_coll_kind, rlt_layer_scope */
    uint64_t bytes;
} rlt_layer_comm;

typedef struct rlt_layer {
    uint32_t name, line;
    uint64_t compute_ns[3], update_ns; /* by phase */
    rlt_layer_comm comm[3];
    uint8_t checkpoint, recompute; /* recompute: forward again from the last checkpoint, before going back */
} rlt_layer;

typedef struct rlt_layer_table {
    const char *file;
    rlt_strings names;
    rlt_layer *layers;
    uint32_t n, capacity;
    uint32_t ranks;                 /* 0: not known */
    uint32_t model, expert, stages; /* sizes of groups; ranks of a stage are consecutive */
    bool input_first;               /* input gradient before weight gradient */
    bool gathers_shares;            /* bytes of an all-gather are what a rank gives, not the total */
    uint32_t late; /* DLRM: layer 0's exchange is awaited after this layer; RLT_NONE: no such */
    struct {
        const char *text;
        uint64_t count;
    } notes[4];
    uint32_t n_notes;
} rlt_layer_table;

/* One line of a text, cut at blanks. */
typedef struct rlt_layer_line {
    const char *at[RLT_MAX_LAYER_WORDS];
    uint32_t length[RLT_MAX_LAYER_WORDS], n, line;
} rlt_layer_line;

int rlt__layer_fail(const rlt_layer_table *t, uint32_t line, int code, rlt_error *err, const char *fmt, ...)
    RLT_PRINTF(5);
/* The next line of a text, without blanks at its end: [*from, *to); false: there is none. */
bool rlt__text_line(const char **text, const char *end, uint32_t *line, const char **from, const char **to);
/* The next line that has words; n == 0: there is none. */
int rlt__layer_line(const rlt_layer_table *t, const char **text, const char *end, uint32_t *line,
                    rlt_layer_line *out, rlt_error *err) RLT_MUST_USE;
bool rlt__layer_word(const rlt_layer_line *l, uint32_t i, const char *word);
/* Whether a line has a layer's columns. */
bool rlt__layer_is_row(const rlt_layer_line *l);
int rlt__layer_number(const rlt_layer_table *t, const rlt_layer_line *l, uint32_t i, const char *what,
                      uint64_t max, uint64_t *out, rlt_error *err) RLT_MUST_USE;
/* Appends the layer of 12 columns; scopes of comm are as the suffixes say (none: OVER_MODEL, of the weight
 * gradient OVER_DATA). */
int rlt__layer_row(rlt_layer_table *t, const rlt_layer_line *l, rlt_error *err) RLT_MUST_USE;
/* The last layer's communication goes over `inner` (forward, input gradient) and `weight`. */
void rlt__layer_scopes(rlt_layer *l, rlt_layer_scope inner, rlt_layer_scope weight);
void rlt__layer_note(rlt_layer_table *t, const char *text, uint64_t count);
/* One file, one step; the number of ranks from options, else from the table,
 * else of the topology, else `otherwise`. */
int rlt__layers_ranks(rlt_layer_table *t, const char *const *paths, uint32_t n, const rlt_read_options *opts,
                      uint32_t otherwise, rlt_error *err) RLT_MUST_USE;
int rlt__layers_build(const rlt_layer_table *t, const rlt_read_options *opts, const char *reader,
                      uint64_t hash, rlt_program **out, rlt_error *err) RLT_MUST_USE;
void rlt__layers_free(rlt_layer_table *t);
/* The table of an ASTRA-sim 1.0 text, to be freed in every case; *bare: it has no policy, and everything goes
 * over all. */
int rlt__astra1_layers(const char *path, rlt_layer_table *out, bool *bare, uint64_t *hash,
                       rlt_error *err) RLT_MUST_USE;

#endif
