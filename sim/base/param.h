/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters: whatever can be set has one row in a table: its name, kind, default, range, words and help, and
 * the field of a plain struct that it fills. Options of the command, settings of algorithms, protocols,
 * networks, endpoints, models and trainings are all such tables, and from them come parsing, --set, --help,
 * 'ringlet list', the man page, the completion, objects in JSON files, axes of sweeps and the form of
 * 'ringlet serve'. While a simulation runs, a parameter is a field like any other.
 *
 * To add one, add a row to the table of what has it, in one file:
 *
 *     static const rlt_param parameters[] = {
 *         {"window", .kind = RLT_PARAM_COUNT, .help = "messages under way", RLT_FIELD(my_struct, window),
 *          .preset = "4", .min = 1, .max = 4096},
 *         {0}};
 *
 * Values are texts with the units of sim/base/units.h; limits are in the unit of the field (bytes, bytes a
 * second, picoseconds). Tables are constant, end with a row without a name, and are shared by threads; texts
 * that a field points to are borrowed from the caller.
 *
 * A wrong value is RLT_EUSAGE: `where` names the parameter, what says the expected form and range. RLT_ENOMEM
 * is the only other code, but for rows that read their values themselves.
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
    RLT_PARAM_CHOICE,   /* which of the words, from 0: an int, an enum, a bool (of two), a uint64_t */
    RLT_PARAM_LIST,     /* rlt_texts; may be given several times */
    RLT_PARAM_COUNT,    /* a plain number: uint64_t, or uint32_t */
    RLT_PARAM_COUNTS,   /* rlt_counts: several of them, "512-256-64" */
    RLT_PARAM_SIZE,     /* bytes: uint64_t, or uint32_t */
    RLT_PARAM_RATE,     /* bytes a second: uint64_t */
    RLT_PARAM_FLOPS,    /* operations a second: uint64_t */
    RLT_PARAM_DURATION, /* rlt_time */
    RLT_PARAM_NUMBER,   /* double, not negative */
    RLT_PARAM_SHARE,    /* double, 0 to 1: "0.01" or "1%" */
    RLT_PARAM_PPM,      /* a decimal number in millionths: uint32_t */
    RLT_PARAM_OTHER,    /* whatever `read` makes of it */
} rlt_param_kind;

typedef struct rlt_texts {
    const char **items; /* malloc'ed; the texts are borrowed */
    uint32_t n, capacity;
} rlt_texts;

enum { RLT_MAX_COUNTS = 64 };
typedef struct rlt_counts {
    uint32_t items[RLT_MAX_COUNTS], n;
} rlt_counts;

/* Where a table has no struct of its own: slot i of an array of these (RLT_SLOT). */
typedef union rlt_param_value {
    uint64_t u; /* COUNT, SIZE, RATE, FLOPS, CHOICE */
    rlt_time t; /* DURATION */
    double d;   /* NUMBER, SHARE */
} rlt_param_value;

typedef struct rlt_param rlt_param;
struct rlt_param {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* short form of an option, or 0 */
    rlt_param_kind kind;
    const char *arg;    /* what help calls the value, such as "FILE"; NULL: by its kind */
    const char *help;   /* a sentence or two; wrapped when printed */
    size_t offset;      /* of the field in the struct that the table is for */
    uint32_t width;     /* bytes of the field; 0: what its kind has first */
    const char *unit;   /* of a plain number, such as "GHz"; NULL: none */
    const char *preset; /* default, as the user would write it; NULL: none (the field stays) */
    const char *usual;  /* default in words, where it follows from others: "one a dimension" */
    const char *words;  /* of WORD and CHOICE: "table|json|csv", */
    const char *(*word_at)(uint32_t i); /* or by number, NULL past the end (completes TEXT, too) */
    double min, max;                    /* of numbers, in the field's unit; max 0: no limit */
    /* OTHER only: from and to text; `into` is the whole struct. NULL `write`: not shown. */
    int (*read)(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err);
    void (*write)(const rlt_param *p, const void *from, char *text, size_t size);
    /* Options of the command only (sim/base/options.h). */
    bool required;
    const char *spared_by; /* options beside which it is not required after all: "NAME=VALUE FLAG" */
    bool unrecorded;       /* does not shape the result: left out of the manifest */
    bool named;            /* of LIST: each NAME=VALUE (rlt_config_names) */
    bool inline_json;      /* an object in a file of options is the value itself, as JSON text */
};

/* Where a row's value goes: a field of a struct, a slot of an array of rlt_param_value. */
#define RLT_FIELD(type, field)                                                                               \
    .offset = offsetof(type, field), .width = (uint32_t)sizeof(((const type *)0)->field)
#define RLT_SLOT(i) .offset = (i) * sizeof(rlt_param_value), .width = (uint32_t)sizeof(rlt_param_value)

/* Reads a value into its field; `into` is the struct. where NULL: the name is the place. */
RLT_API int rlt_param_read(const rlt_param *p, void *into, const char *text, const char *where,
                           rlt_error *err) RLT_MUST_USE;
/* The value in force, as rlt_param_read takes it; "" where there is none to show. Returns text. */
RLT_API char *rlt_param_write(const rlt_param *p, const void *from, char *text, size_t size);
/* Word i, in `buffer` of at least 64 bytes; NULL past the end. */
RLT_API const char *rlt_param_word(const rlt_param *p, uint32_t i, char *buffer);
/* What a value looks like: "flow|packet", "1 or 2", "size". Returns text. */
RLT_API char *rlt_param_form(const rlt_param *p, char *text, size_t size);

/* Its limits as text: "2 to 9", "at least 1", "above 0"; "" where there are none. Returns text. */
RLT_API char *rlt_param_range(const rlt_param *p, char *text, size_t size);
/* "count", "size", ...: one word. */
RLT_API const char *rlt_param_kind_name(rlt_param_kind kind);

/* The row of that name; NULL: none, or no table. */
RLT_API const rlt_param *rlt_params_find(const rlt_param *table, const char *name);
/* Every default into its field. */
RLT_API int rlt_params_preset(const rlt_param *table, void *into, rlt_error *err) RLT_MUST_USE;
/* One value by name. For a name that is not there: "unknown setting of WHOSE; did you mean 'x'?", or "unknown
 * setting; WHOSE has a, b, c" where none is near. */
RLT_API int rlt_params_set(const rlt_param *table, const char *whose, void *into, const char *name,
                           const char *value, rlt_error *err) RLT_MUST_USE;
/* The same with texts "NAME=VALUE", and with a list "NAME=VALUE,NAME=VALUE" of which each name comes once;
 * values may hold no comma. NULL or "": nothing. */
RLT_API int rlt_params_set_text(const rlt_param *table, const char *whose, void *into, const char *text,
                                rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_params_set_list(const rlt_param *table, const char *whose, void *into, const char *list,
                                rlt_error *err) RLT_MUST_USE;
RLT_API int rlt_params_unknown(const rlt_param *table, const char *whose, const char *name, rlt_error *err);
/* "window=256, rto=1ms, place=all|tor|spine": names with defaults, but for words. Returns text. */
RLT_API char *rlt_params_describe(const rlt_param *table, char *text, size_t size);

/* "NAME=VALUE" into its halves; the name goes to `name`. RLT_EUSAGE with `where` otherwise. */
RLT_API int rlt_split_setting(const char *text, char *name, size_t size, const char **value,
                              const char *where, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
