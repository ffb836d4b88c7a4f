/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds documents from a text of another grammar, with places in that text. Internal to sim/text.
 */
#ifndef RLT_SIM_TEXT_JSON_BUILD_H
#define RLT_SIM_TEXT_JSON_BUILD_H

#include "sim/base/error.h"
#include "sim/text/json.h"

typedef enum rlt__json_kind {
    RLT__JSON_NULL,
    RLT__JSON_FALSE,
    RLT__JSON_TRUE,
    RLT__JSON_NUMBER, /* a number as JSON writes it, copied as text */
    RLT__JSON_STRING,
    RLT__JSON_ARRAY,
    RLT__JSON_OBJECT,
} rlt__json_kind;

/* Creates a document without a root. `name` and the text are copied. RLT_ERANGE if the text is too long. */
int rlt__json_create(const char *name, const char *text, size_t length, rlt_json_doc **out,
                     rlt_error *err) RLT_MUST_USE;
/* Adds a value at the end of `parent` (absent: as the root), with a key if the parent is an object. `text` is
 * the text of a number or string. Returns an absent value when memory runs out. */
rlt_json rlt__json_add(rlt_json_doc *doc, rlt_json parent, const char *key, rlt__json_kind kind,
                       const char *text, size_t offset);
/* Refuses objects with duplicate keys. */
int rlt__json_finish(const rlt_json_doc *doc, rlt_error *err) RLT_MUST_USE;
/* Fails at a byte of the text. */
int rlt__json_fail_at(const rlt_json_doc *doc, size_t offset, rlt_error *err, const char *what);

#endif
