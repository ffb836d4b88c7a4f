/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options: parameters in groups, with a note of which were given. A command's or an experiment's settings are
 * a plain struct; options come in groups, so that several share them: a group's `base` is the offset of the
 * shared struct inside the whole. Their texts come from a command line (tools/base/options.h), a file or a
 * program.
 */
#ifndef RLT_SIM_BASE_OPTIONS_H
#define RLT_SIM_BASE_OPTIONS_H

#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef rlt_param rlt_option; /* a parameter that is typed as --NAME */

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

/* Option number `option` (over all groups) gets a text, in the order given. Texts are borrowed. */
typedef struct rlt_option_text {
    uint32_t option;
    const char *text;
} rlt_option_text;
/* `settings` is zeroed memory, filled with the texts and the presets of what was not given. Every complaint
 * is RLT_EUSAGE and names the option as "--NAME". Call rlt_parsed_free afterwards in every case. Needs
 * nothing that threads share. */
int rlt_options_fill(const rlt_option_group *groups, const rlt_option_text *words, uint32_t n, void *settings,
                     rlt_parsed *out, rlt_error *err) RLT_MUST_USE;
void rlt_parsed_free(rlt_parsed *p);
/* The same step by step: begin, give each, finish with presets and complaints about what is missing. */
int rlt_options_begin(const rlt_option_group *groups, void *settings, rlt_parsed *out,
                      rlt_error *err) RLT_MUST_USE;
int rlt_options_give(rlt_parsed *p, uint32_t i, const char *text, rlt_error *err) RLT_MUST_USE;
int rlt_options_finish(const rlt_parsed *p, rlt_error *err) RLT_MUST_USE;

/* Option i over all groups, NULL past the end; *base (may be NULL) is its group's. */
const rlt_option *rlt_option_at(const rlt_option_group *groups, uint32_t i, size_t *base);
/* Was the option given (rather than left at its preset)? */
bool rlt_given(const rlt_parsed *p, const char *name);
/* RLT_EUSAGE for an option that was given and is not among `taken`
 * (NULL at its end): it does not go with `with`. */
int rlt_given_only(const rlt_parsed *p, const char *const *taken, const char *with,
                   rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
