/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading YAML, the part of it that files of settings use, into the documents of sim/text/json.h: one
 * consumer reads both, and complaints carry file:line:column and path.
 *
 * Read are block and flow mappings and lists, nested up to 64 deep, comments, plain, 'single' and "double"
 * quoted scalars on one line, and "---" before the document. null, ~, true and false are what they are in
 * JSON, numbers are those of JSON, and any other plain scalar is a string. Refused, with a message: anchors,
 * tags, scalars of several lines, complex keys, several documents, tabs as indentation, keys given twice.
 */
#ifndef RLT_SIM_TEXT_YAML_H
#define RLT_SIM_TEXT_YAML_H

#include "sim/base/error.h"
#include "sim/text/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `name` is what messages call the text. The text is copied. The root is a mapping, a list, or null if there
 * is nothing but comments. Free with rlt_json_free. */
int rlt_yaml_parse(const char *name, const char *text, size_t length, rlt_json_doc **out,
                   rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
