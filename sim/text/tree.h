/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON values that can be looked at with changes laid over them: a tree, made once and shared by threads, and
 * a list of edits that each reader holds for itself. Options come out of it as texts, as if they had been
 * typed (config.h says how).
 */
#ifndef RLT_SIM_TEXT_TREE_H
#define RLT_SIM_TEXT_TREE_H

#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/text/json.h"

typedef enum rlt_tree_kind {
    RLT_TREE_NULL,
    RLT_TREE_BOOL,
    RLT_TREE_NUMBER,
    RLT_TREE_STRING,
    RLT_TREE_ARRAY,
    RLT_TREE_OBJECT,
} rlt_tree_kind;

typedef struct rlt_json_tree rlt_json_tree;
struct rlt_json_tree {
    rlt_tree_kind kind;
    bool on;
    const char *key;  /* of a member; NULL */
    const char *text; /* of a string; of a number, as it was written */
    rlt_json_tree *first, *last, *next;
    const rlt_json_tree *parent;
    uint32_t n; /* children */
    rlt_json at;
};

/* Nodes and texts belong to the arena; the document, for messages, must outlive them. Comments (keys that
 * begin with '_') are left out. */
int rlt_tree_make(rlt_arena *arena, rlt_json v, rlt_json_tree **out, rlt_error *err) RLT_MUST_USE;
const rlt_json_tree *rlt_tree_get(const rlt_json_tree *t, const char *key);
const rlt_json_tree *rlt_tree_at(const rlt_json_tree *t, uint32_t i);
bool rlt_tree_same(const rlt_json_tree *a, const rlt_json_tree *b);

/* A place that an RFC 6901 pointer names: a child of `parent` that is there, or a new one at its end. */
typedef struct rlt_tree_place {
    const rlt_json_tree *parent, *target; /* target NULL: new */
    const char *key;                      /* of a new member; NULL in an array */
} rlt_tree_place;
/* RLT_ESCHEMA: the parent is not there, or the index is past the end. */
int rlt_tree_find(rlt_arena *arena, const rlt_json_tree *root, const char *pointer, rlt_tree_place *out,
                  rlt_error *err) RLT_MUST_USE;
/* Whether one place is the other, or lies in it. */
bool rlt_tree_overlap(const rlt_tree_place *a, const rlt_tree_place *b);

/* value of kind null: the child is taken away. */
typedef struct rlt_tree_edit {
    rlt_tree_place place;
    const rlt_json_tree *value;
} rlt_tree_edit;
typedef struct rlt_tree_edits {
    const rlt_tree_edit *items;
    uint32_t n;
} rlt_tree_edits;

/* Children with the edits: begin with {.edits, .parent}; false at the end. */
typedef struct rlt_tree_walk {
    const rlt_tree_edits *edits;
    const rlt_json_tree *parent;
    const rlt_json_tree *node; /* the child's value */
    const char *key;
    const rlt_json_tree *next; /* own */
    uint32_t added;
    bool begun;
} rlt_tree_walk;
bool rlt_tree_step(rlt_tree_walk *w);

/* As JSON text, without blanks; appended. */
void rlt_tree_write(const rlt_json_tree *t, const rlt_tree_edits *edits, FILE *out);
void rlt_tree_write_string(const char *text, FILE *out);

/* The texts of option `o` for a value: none for a flag that is off. Made ones belong to the arena. */
typedef struct rlt_option_texts {
    rlt_option_text *items;
    uint32_t n, capacity;
} rlt_option_texts;
int rlt_tree_option(const rlt_json_tree *value, const rlt_tree_edits *edits, const rlt_option *o,
                    uint32_t number, rlt_arena *arena, rlt_option_texts *out, rlt_error *err) RLT_MUST_USE;
/* Number of the option with a member's name; an unknown one is an error that names the nearest. `whose` ends
 * the complaint "no option ...": "of this command". */
int rlt_tree_known(const rlt_option_group *groups, const char *whose, const rlt_json_tree *member,
                   uint32_t *number, rlt_error *err) RLT_MUST_USE;

#endif
