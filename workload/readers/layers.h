/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A training step as a table of layers. Each layer has compute and communication of the forward pass, the
 * input gradient and the weight gradient, as ASTRA-sim 1.0, SimAI and PipeDream describe them. All ranks do
 * the same.
 *
 * The forward pass runs from the first layer to the last, the backward pass in reverse. Communication of the
 * forward pass and of input gradients holds up the compute that follows. Communication of weight gradients
 * runs beside compute and holds up only the layer's update, which follows the whole backward pass.
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
    RLT_OVER_MODEL,       /* `model` consecutive ranks */
    RLT_OVER_DATA,        /* ranks `model` apart */
    RLT_OVER_EXPERT,      /* `expert` consecutive members of an OVER_DATA group */
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
    /* recompute: repeats the forward pass from the last checkpoint before its backward pass */
    uint8_t checkpoint, recompute;
} rlt_layer;

typedef struct rlt_layer_table {
    const char *file;
    rlt_strings names;
    rlt_layer *layers;
    uint32_t n, capacity;
    uint32_t ranks;                 /* 0: unknown */
    uint32_t model, expert, stages; /* sizes of groups; ranks of a stage are consecutive */
    bool input_first;               /* computes the input gradient before the weight gradient */
    bool gathers_shares;            /* bytes of an all-gather are the share of a rank, not the total */
    uint32_t late; /* DLRM: layer 0's exchange is awaited after this layer; RLT_NONE: no such layer */
    struct {
        const char *text;
        uint64_t count;
    } notes[4];
    uint32_t n_notes;
} rlt_layer_table;

/* One line of a text, split at blanks. */
typedef struct rlt_layer_line {
    const char *at[RLT_MAX_LAYER_WORDS];
    uint32_t length[RLT_MAX_LAYER_WORDS], n, line;
} rlt_layer_line;

int rlt__layer_fail(const rlt_layer_table *t, uint32_t line, int code, rlt_error *err, const char *fmt, ...)
    RLT_PRINTF(5);
/* Finds the next line of a text, [*from, *to), without blanks at its end. Returns false at the end of the
 * text. */
bool rlt__text_line(const char **text, const char *end, uint32_t *line, const char **from, const char **to);
/* Reads the next line that has words. n is 0 at the end. */
int rlt__layer_line(const rlt_layer_table *t, const char **text, const char *end, uint32_t *line,
                    rlt_layer_line *out, rlt_error *err) RLT_MUST_USE;
bool rlt__layer_word(const rlt_layer_line *l, uint32_t i, const char *word);
/* Returns true if a line has the columns of a layer. */
bool rlt__layer_is_row(const rlt_layer_line *l);
int rlt__layer_number(const rlt_layer_table *t, const rlt_layer_line *l, uint32_t i, const char *what,
                      uint64_t max, uint64_t *out, rlt_error *err) RLT_MUST_USE;
/* Appends the layer of a line with 12 columns. Suffixes give the scopes of communication (none: OVER_MODEL;
 * for the weight gradient OVER_DATA). */
int rlt__layer_row(rlt_layer_table *t, const rlt_layer_line *l, rlt_error *err) RLT_MUST_USE;
/* Sets the scopes of the last layer: `inner` for forward pass and input gradient, `weight` for the weight
 * gradient. */
void rlt__layer_scopes(rlt_layer *l, rlt_layer_scope inner, rlt_layer_scope weight);
void rlt__layer_note(rlt_layer_table *t, const char *text, uint64_t count);
/* Requires one file and one step. Takes the number of ranks from the options, else from the table, else from
 * the topology, else `otherwise`. */
int rlt__layers_ranks(rlt_layer_table *t, const char *const *paths, uint32_t n, const rlt_read_options *opts,
                      uint32_t otherwise, rlt_error *err) RLT_MUST_USE;
int rlt__layers_build(const rlt_layer_table *t, const rlt_read_options *opts, const char *reader,
                      uint64_t hash, rlt_program **out, rlt_error *err) RLT_MUST_USE;
void rlt__layers_free(rlt_layer_table *t);
/* Reads the table of an ASTRA-sim 1.0 text. Free it in every case. *bare: the file has no policy, and all
 * communication is over all ranks. */
int rlt__astra1_layers(const char *path, rlt_layer_table *out, bool *bare, uint64_t *hash,
                       rlt_error *err) RLT_MUST_USE;
/* Reads the table of a SimAI text, with the sizes of its groups. Free it in every case. */
int rlt__simai_layers(const char *path, rlt_layer_table *out, uint64_t *hash, rlt_error *err) RLT_MUST_USE;
/* First layer that the recomputation for layer i repeats; it ends before i. i if it repeats none. */
uint32_t rlt__layer_repeats(const rlt_layer_table *t, uint32_t i);

#endif
