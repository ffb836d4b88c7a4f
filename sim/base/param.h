/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters. Everything that can be set has one row in a table: its name, kind, default, range, words and
 * help, and the field of a plain struct that it fills. Options of the command are such a table, and so are
 * the settings of algorithms, protocols, networks, endpoints, models and trainings. One table serves parsing,
 * --set, --help, 'ringlet list', the man page, the completion, JSON files, sweep axes and the form of
 * 'ringlet serve'. While a simulation runs, a parameter is a field like any other.
 *
 * To add a parameter, add a row to the table of its owner, in one file:
 *
 *     static const rlt_param parameters[] = {
 *         {"window", .kind = RLT_PARAM_COUNT, .help = "messages under way", RLT_FIELD(my_struct, window),
 *          .preset = "4", .min = 1, .max = 4096},
 *         {0}};
 *
 * Values are texts with the units of sim/base/units.h. Limits are in the unit of the field (bytes, bytes a
 * second, picoseconds). A table is constant, ends with a row without a name, and is shared by threads. A
 * field that points to a text borrows the caller's.
 *
 * A wrong value is RLT_EUSAGE: `where` names the parameter, `what` says the expected form and range. The only
 * other code is RLT_ENOMEM, except for rows with a `read` function of their own.
 */
#ifndef RLT_SIM_BASE_PARAM_H
#define RLT_SIM_BASE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_param_kind {
    RLT_PARAM_FLAG,     /* bool; "" and "on" are true, "off" is false */
    RLT_PARAM_TEXT,     /* const char *, borrowed */
    RLT_PARAM_NAME,     /* char[width], copied */
    RLT_PARAM_WORD,     /* const char *, one of the words, borrowed */
    RLT_PARAM_CHOICE,   /* index of the word, from 0: an int, an enum, a bool (two words), a uint64_t */
    RLT_PARAM_LIST,     /* rlt_texts; may be given several times */
    RLT_PARAM_COUNT,    /* a plain number: uint64_t, or uint32_t */
    RLT_PARAM_COUNTS,   /* rlt_counts: several numbers, "512-256-64" */
    RLT_PARAM_SIZE,     /* bytes: uint64_t, or uint32_t */
    RLT_PARAM_RATE,     /* bytes a second: uint64_t */
    RLT_PARAM_FLOPS,    /* operations a second: uint64_t */
    RLT_PARAM_DURATION, /* rlt_time */
    RLT_PARAM_NUMBER,   /* double, not negative */
    RLT_PARAM_SHARE,    /* double, 0 to 1: "0.01" or "1%" */
    RLT_PARAM_PPM,      /* a decimal number in millionths: uint32_t */
    RLT_PARAM_OTHER,    /* parsed by `read` */
} rlt_param_kind;

typedef struct rlt_texts {
    const char **items; /* malloc'ed; the texts are borrowed */
    uint32_t n, capacity;
} rlt_texts;

enum { RLT_MAX_COUNTS = 64 };
typedef struct rlt_counts {
    uint32_t items[RLT_MAX_COUNTS], n;
} rlt_counts;

/* A value of a table that has no struct of its own: slot i of an array (RLT_SLOT). */
typedef union rlt_param_value {
    uint64_t u; /* for COUNT, SIZE, RATE, FLOPS, CHOICE */
    rlt_time t; /* for DURATION */
    double d;   /* for NUMBER, SHARE */
} rlt_param_value;

typedef struct rlt_param rlt_param;
struct rlt_param {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* short form of an option; 0: none */
    rlt_param_kind kind;
    const char *arg;    /* the value in help, such as "FILE"; NULL: derived from the kind */
    const char *help;   /* a sentence or two; wrapped when printed */
    size_t offset;      /* offset of the field in its struct */
    uint32_t width;     /* bytes of the field; 0: the first type listed for its kind */
    const char *unit;   /* unit of a plain number, such as "GHz"; NULL: none */
    const char *preset; /* default, as the user would write it; NULL: none (the field is left alone) */
    const char *usual;  /* default in words, if it follows from other settings: "one a dimension" */
    const char *words;  /* words of WORD and CHOICE, such as "table|json|csv" */
    const char *(*word_at)(uint32_t i); /* or word i, NULL past the end (also completes TEXT) */
    double min, max;                    /* limits of numbers, in the field's unit; max 0: no limit */
    /* OTHER only: conversion from and to text; `into` is the whole struct. A NULL `write` shows nothing. */
    int (*read)(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err);
    void (*write)(const rlt_param *p, const void *from, char *text, size_t size);
    /* Only for options of the command (sim/base/options.h). */
    bool required;
    const char *spared_by; /* options that make it optional: "NAME=VALUE FLAG" */
    bool unrecorded;       /* does not change the result: left out of the manifest */
    bool writes;           /* names a file that the command writes */
    bool named;            /* LIST only: each text is NAME=VALUE (rlt_config_names) */
    bool inline_json;      /* in a file of options, an object is the value itself, as JSON text */
};

/* Destination of a row's value: a field of a struct, or a slot of an array of rlt_param_value. */
#define RLT_FIELD(type, field)                                                                               \
    .offset = offsetof(type, field), .width = (uint32_t)sizeof(((const type *)0)->field)
#define RLT_SLOT(i) .offset = (i) * sizeof(rlt_param_value), .width = (uint32_t)sizeof(rlt_param_value)

/* Reads a value into its field; `into` is the struct. If `where` is NULL, errors name the parameter as the
 * place. */
RLT_API int rlt_param_read(const rlt_param *p, void *into, const char *text, const char *where,
                           rlt_error *err) RLT_MUST_USE;
/* Writes the current value in the form that rlt_param_read accepts; "" if there is nothing to show. Returns
 * text. */
RLT_API char *rlt_param_write(const rlt_param *p, const void *from, char *text, size_t size);
/* Returns word i, in `buffer` of at least 64 bytes; NULL past the end. */
RLT_API const char *rlt_param_word(const rlt_param *p, uint32_t i, char *buffer);
/* Writes the form of a value: "flow|packet", "1 or 2", "size". Returns text. */
RLT_API char *rlt_param_form(const rlt_param *p, char *text, size_t size);

/* Writes the limits: "2 to 9", "at least 1", "above 0"; "" without limits. Returns text. */
RLT_API char *rlt_param_range(const rlt_param *p, char *text, size_t size);
/* Returns the name of a kind, one word: "count", "size", ... */
RLT_API const char *rlt_param_kind_name(rlt_param_kind kind);

/* Returns the row with that name; NULL if there is none or `table` is NULL. */
RLT_API const rlt_param *rlt_params_find(const rlt_param *table, const char *name);
/* Writes every default into its field. */
RLT_API int rlt_params_preset(const rlt_param *table, void *into, rlt_error *err) RLT_MUST_USE;
/* Sets one value by name. The error for an unknown name is "unknown setting of WHOSE; did you mean 'x'?", or
 * "unknown setting; WHOSE has a, b, c" if no name is similar. */
RLT_API int rlt_params_set(const rlt_param *table, const char *whose, void *into, const char *name,
                           const char *value, rlt_error *err) RLT_MUST_USE;
/* Sets values from a text "NAME=VALUE", or from a list "NAME=VALUE,NAME=VALUE" in which each name appears
 * once and values hold no comma. NULL and "" set nothing. */
RLT_API int rlt_params_set_text(const rlt_param *table, const char *whose, void *into, const char *text,
                                rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_params_set_list(const rlt_param *table, const char *whose, void *into, const char *list,
                                rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_params_unknown(const rlt_param *table, const char *whose, const char *name, rlt_error *err);
/* Writes "window=256, rto=1ms, place=all|tor|spine": names with defaults; for words, all words. Returns
 * text. */
RLT_API char *rlt_params_describe(const rlt_param *table, char *text, size_t size);

/* Splits "NAME=VALUE"; the name is copied to `name`, *value points into text. RLT_EUSAGE with `where`
 * otherwise. */
RLT_API int rlt_split_setting(const char *text, char *name, size_t size, const char **value,
                              const char *where, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
