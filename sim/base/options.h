/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options: parameters in groups, with a record of the given ones. The settings of a command or an experiment
 * are a plain struct. Several commands share a group: its `base` is the offset of the shared struct inside
 * the whole. The texts come from a command line (tools/base/options.h), a file or a program.
 */
#ifndef RLT_SIM_BASE_OPTIONS_H
#define RLT_SIM_BASE_OPTIONS_H

#include "sim/base/error.h"
#include "sim/base/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef rlt_param rlt_option; /* a parameter that the user types as --NAME */

typedef struct rlt_option_group {
    const char *title; /* heading in --help; NULL: continues the group before it */
    const rlt_option *options;
    size_t base;
} rlt_option_group; /* a table ends with options == NULL */

typedef struct rlt_parsed {
    const rlt_option_group *groups;
    int n_operands;
    char **operands;    /* arguments that are neither options nor their values, in order */
    const char **given; /* text of option i (in table order over all groups); NULL: not given */
    uint32_t n_options;
    void *settings;
    bool help; /* -h or --help was given; nothing else was checked */
} rlt_parsed;

/* One option as given: its number (over all groups) and its text. Texts are borrowed. */
typedef struct rlt_option_text {
    uint32_t option;
    const char *text;
} rlt_option_text;
/* Fills `settings`, which is zeroed memory, with the texts, and with the presets of options not given. Every
 * error is RLT_EUSAGE and names the option as "--NAME". Call rlt_parsed_free afterwards in every case.
 * Touches nothing that threads share. */
int rlt_options_fill(const rlt_option_group *groups, const rlt_option_text *words, uint32_t n, void *settings,
                     rlt_parsed *out, rlt_error *err) RLT_MUST_USE;
void rlt_parsed_free(rlt_parsed *p);
/* rlt_options_fill step by step: begin; give each option; finish, which sets presets and reports missing
 * options. */
int rlt_options_begin(const rlt_option_group *groups, void *settings, rlt_parsed *out,
                      rlt_error *err) RLT_MUST_USE;
int rlt_options_give(rlt_parsed *p, uint32_t i, const char *text, rlt_error *err) RLT_MUST_USE;
int rlt_options_finish(const rlt_parsed *p, rlt_error *err) RLT_MUST_USE;

/* Returns option i over all groups, NULL past the end. *base (may be NULL) is the base of its group. */
const rlt_option *rlt_option_at(const rlt_option_group *groups, uint32_t i, size_t *base);
/* Returns true if the option was given (rather than left at its preset). */
bool rlt_given(const rlt_parsed *p, const char *name);
/* Returns RLT_EUSAGE if an option was given that is not in the NULL-terminated list `taken`: it cannot be
 * combined with `with`. */
int rlt_given_only(const rlt_parsed *p, const char *const *taken, const char *with,
                   rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
