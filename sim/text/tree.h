/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON values under edits: a tree, made once and shared by threads, and a list of edits that each reader
 * holds for itself. Options are read from it as texts, as if they had been typed (see config.h).
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
    const char *key;  /* key of a member; otherwise NULL */
    const char *text; /* text of a string; a number as written */
    rlt_json_tree *first, *last, *next;
    const rlt_json_tree *parent;
    uint32_t n; /* number of children */
    rlt_json at;
};

/* Makes a tree. Nodes and texts belong to the arena. The document must outlive them: messages need it. Keys
 * that begin with '_' are comments and are left out. */
int rlt_tree_make(rlt_arena *arena, rlt_json v, rlt_json_tree **out, rlt_error *err) RLT_MUST_USE;
const rlt_json_tree *rlt_tree_get(const rlt_json_tree *t, const char *key);
const rlt_json_tree *rlt_tree_at(const rlt_json_tree *t, uint32_t i);
bool rlt_tree_same(const rlt_json_tree *a, const rlt_json_tree *b);

/* The place that an RFC 6901 pointer names: an existing child of `parent`, or a new one at its end. */
typedef struct rlt_tree_place {
    const rlt_json_tree *parent, *target; /* target is NULL for a new child */
    const char *key;                      /* key of a new member; NULL in an array */
} rlt_tree_place;
/* Finds a place. RLT_ESCHEMA if the parent is missing or the index is past the end. */
int rlt_tree_find(rlt_arena *arena, const rlt_json_tree *root, const char *pointer, rlt_tree_place *out,
                  rlt_error *err) RLT_MUST_USE;
/* Returns true if the places are the same, or one lies inside the other. */
bool rlt_tree_overlap(const rlt_tree_place *a, const rlt_tree_place *b);

/* An edit. A value of kind null removes the child. */
typedef struct rlt_tree_edit {
    rlt_tree_place place;
    const rlt_json_tree *value;
} rlt_tree_edit;
typedef struct rlt_tree_edits {
    const rlt_tree_edit *items;
    uint32_t n;
} rlt_tree_edits;

/* Iterates over children with the edits applied: start with {.edits, .parent}; returns false at the end. */
typedef struct rlt_tree_walk {
    const rlt_tree_edits *edits;
    const rlt_json_tree *parent;
    const rlt_json_tree *node; /* value of the child */
    const char *key;
    const rlt_json_tree *next; /* private to the walk */
    uint32_t added;
    bool begun;
} rlt_tree_walk;
bool rlt_tree_step(rlt_tree_walk *w);

/* Appends the tree as JSON text without blanks. */
void rlt_tree_write(const rlt_json_tree *t, const rlt_tree_edits *edits, FILE *out);
void rlt_tree_write_string(const char *text, FILE *out);

/* The texts of option `o` for a value; none for a flag that is off. New texts belong to the arena. */
typedef struct rlt_option_texts {
    rlt_option_text *items;
    uint32_t n, capacity;
} rlt_option_texts;
int rlt_tree_option(const rlt_json_tree *value, const rlt_tree_edits *edits, const rlt_option *o,
                    uint32_t number, rlt_arena *arena, rlt_option_texts *out, rlt_error *err) RLT_MUST_USE;
/* Returns the number of the option with a member's name. The error for an unknown name suggests the nearest;
 * `whose` ends its text "no option ...": "of this command". */
int rlt_tree_known(const rlt_option_group *groups, const char *whose, const rlt_json_tree *member,
                   uint32_t *number, rlt_error *err) RLT_MUST_USE;

#endif
