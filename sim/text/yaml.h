/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the part of YAML that settings files use into the documents of sim/text/json.h. One consumer reads
 * both formats, and errors carry file:line:column and path.
 *
 * Accepted: block and flow mappings and lists, nested up to 64 deep; comments; plain, 'single' and "double"
 * quoted scalars on one line; plain scalars in a mapping over several lines, indented further than the key;
 * "---" before the document. null, ~, true and false mean the same as in JSON, numbers are those of JSON, and
 * any other plain scalar is a string.
 *
 * Refused with a message: anchors, tags, block and quoted scalars of several lines, complex keys, several
 * documents, tabs as indentation, duplicate keys.
 */
#ifndef RLT_SIM_TEXT_YAML_H
#define RLT_SIM_TEXT_YAML_H

#include "sim/base/error.h"
#include "sim/text/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parses a text, which is copied. `name` is its name in messages. The root is a mapping, a list, or null if
 * there is nothing but comments. Free with rlt_json_free. */
int rlt_yaml_parse(const char *name, const char *text, size_t length, rlt_json_doc **out,
                   rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
