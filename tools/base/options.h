/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options: one table per subcommand drives parsing, --help, the man page and the shell completion.
 *
 * A command's settings are a plain struct; each option names the offset of the field it fills. Options come
 * in groups, so that commands share them: a group's `base` is the offset of the shared struct inside the
 * command's. Defaults are texts in the table, read by the same parser as the user's, so that help can print
 * them.
 */
#ifndef RLT_TOOLS_BASE_OPTIONS_H
#define RLT_TOOLS_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

typedef enum rlt_option_kind {
    RLT_OPT_FLAG,     /* bool */
    RLT_OPT_TEXT,     /* const char *, borrowed from argv */
    RLT_OPT_WORD,     /* const char *, one of the words */
    RLT_OPT_LIST,     /* rlt_texts; may be given several times */
    RLT_OPT_COUNT,    /* uint64_t, a plain number */
    RLT_OPT_SIZE,     /* uint64_t, bytes */
    RLT_OPT_RATE,     /* uint64_t, bytes a second */
    RLT_OPT_FLOPS,    /* uint64_t, operations a second */
    RLT_OPT_DURATION, /* rlt_time */
    RLT_OPT_NUMBER,   /* double, not negative */
} rlt_option_kind;

typedef struct rlt_texts {
    const char **items;
    uint32_t n, capacity;
} rlt_texts;

typedef struct rlt_option {
    const char *name; /* long form, without dashes; NULL ends a table */
    char letter;      /* short form, or 0 */
    rlt_option_kind kind;
    const char *arg;  /* what help calls the value, such as "FILE" */
    const char *help; /* a sentence or two; wrapped when printed */
    size_t offset;
    const char *preset;                 /* default, as the user would write it; NULL: none (zero) */
    const char *words;                  /* RLT_OPT_WORD: "table|json|csv", */
    const char *(*word_at)(uint32_t i); /* or by number, NULL past the end (also completes RLT_OPT_TEXT) */
    uint64_t min, max;                  /* of RLT_OPT_COUNT; max 0: no limit */
    bool required;
    const char *spared_by; /* options beside which it is not required after all: "NAME=VALUE FLAG" */
    bool unrecorded;       /* does not shape the result: left out of the manifest */
    bool named;            /* of RLT_OPT_LIST: each NAME=VALUE (rlt_config_names) */
    bool inline_json;      /* an object in a file of options is the value itself, as JSON text */
} rlt_option;

typedef struct rlt_option_group {
    const char *title; /* heading in --help; NULL: it goes on with the group before it */
    const rlt_option *options;
    size_t base;
} rlt_option_group; /* a table ends with options == NULL */

typedef struct rlt_parsed {
    const rlt_option_group *groups;
    int n_operands;
    char **operands;    /* what is neither an option nor its value, in order */
    const char **given; /* text of option i (in table order over all groups); NULL: not given */
    uint32_t n_options;
    void *settings;
    bool help; /* -h or --help: nothing else was checked */
} rlt_parsed;

/* argv[0] is skipped (and permuted: operands move to the end). `settings` is zeroed memory, filled with the
 * presets and what is given. Every complaint is RLT_EUSAGE and names the option. Call rlt_parsed_free
 * afterwards in every case. */
int rlt_options_parse(const rlt_option_group *groups, int argc, char **argv, void *settings, rlt_parsed *out,
                      rlt_error *err) RLT_MUST_USE;
void rlt_parsed_free(rlt_parsed *p);

/* The same without a command line: option number `option` (over all groups) gets a text, in the order given.
 * Texts are borrowed. Needs nothing that threads share. */
typedef struct rlt_option_text {
    uint32_t option;
    const char *text;
} rlt_option_text;
int rlt_options_fill(const rlt_option_group *groups, const rlt_option_text *words, uint32_t n, void *settings,
                     rlt_parsed *out, rlt_error *err) RLT_MUST_USE;

/* Option i over all groups, NULL past the end; *base (may be NULL) is its group's. */
const rlt_option *rlt_option_at(const rlt_option_group *groups, uint32_t i, size_t *base);
/* Was the option given (rather than left at its preset)? */
bool rlt_given(const rlt_parsed *p, const char *name);
/* RLT_EUSAGE for an option that was given and is not among `taken` (NULL at its end): it does not go with
 * `with`. */
int rlt_given_only(const rlt_parsed *p, const char *const *taken, const char *with,
                   rlt_error *err) RLT_MUST_USE;
/* Word i of an option's words, in `buffer` of at least 64 bytes; NULL past the end. */
const char *rlt_option_word(const rlt_option *o, uint32_t i, char *buffer);

/* "NAME=VALUE" into its halves; the name goes to `name`. RLT_EUSAGE with `where` otherwise. */
int rlt_split_setting(const char *text, char *name, size_t size, const char **value, const char *where,
                      rlt_error *err) RLT_MUST_USE;

#endif
