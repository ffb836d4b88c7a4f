/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions over the axes and settings of a study: rules, and values of derived axes. From loose to tight:
 *
 *   or    and    not    = == != < <= > >=    + -    * / %    -x    (x)
 *
 * Operands are numbers (12, 1.5), texts in single quotes, and names. A text that is a number with a unit
 * counts as this number, in bytes, bytes per second or picoseconds: size <= '4MiB'. A value such as
 * "switch.slots=16" counts as what follows "=". A name is, in this order, an axis, the last part of an axis's
 * pointer, a setting of base, or a limit of the model (heads, kv_heads).
 *
 * Numbers are doubles, so whole ones are exact up to 2^53. Example: with tp = 8 and pp = 4, "256 / (tp * pp)"
 * is 8; with tp = 6 it is 10.67, which is not whole though its operands are: a derived axis has no value
 * there.
 *
 * Internal to tools/sweep/study/.
 */
#ifndef RLT_TOOLS_SWEEP_STUDY_EXPRESSION_H
#define RLT_TOOLS_SWEEP_STUDY_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"
#include "tools/sweep/study/study.h"

typedef enum rlt_sweep_value_kind {
    RLT_SWEEP_NOTHING, /* the option is left out */
    RLT_SWEEP_NUMBER,
    RLT_SWEEP_TEXT
} rlt_sweep_value_kind;
typedef struct rlt_sweep_value {
    rlt_sweep_value_kind kind;
    bool real; /* an operand was written with a point or an exponent */
    double number;
    const char *text;
} rlt_sweep_value;

/* Meaning of a name: a value by index on an axis. axis RLT_NONE: one value at all places. */
typedef struct rlt_sweep_name {
    uint32_t axis;
    rlt_sweep_value *values;
} rlt_sweep_name;

/* Compiles the text of a JSON string. RLT_ESCHEMA names the column in the text. The expression belongs to the
 * study. A name finds only the axes read so far. */
int rlt__sweep_compile(rlt_sweep_study *s, rlt_json text, const rlt_sweep_expression **out,
                       rlt_error *err) RLT_MUST_USE;
/* Computes the value at coordinates. RLT_ESCHEMA: an operand is not a number, or a division by zero. */
int rlt__sweep_evaluate(const rlt_sweep_expression *e, const uint32_t at[RLT_SWEEP_AXES],
                        rlt_sweep_value *out, rlt_error *err) RLT_MUST_USE;
/* Marks the axes that the value depends on. */
void rlt__sweep_axes_used(const rlt_sweep_expression *e, bool used[RLT_SWEEP_AXES]);

/* Finds a name. RLT_ESCHEMA suggests the nearest; `column` is its place in the text. */
int rlt__sweep_name(rlt_sweep_study *s, rlt_json text, const char *name, uint32_t column, rlt_sweep_name *out,
                    rlt_error *err) RLT_MUST_USE;
/* Reads a text as a value: a number, a number with a unit, or itself (borrowed). */
rlt_sweep_value rlt__sweep_value_of(const char *text);

#endif
