/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes one value in the text of a JSON file; the rest of the text, comments and layout included, stays. */
#ifndef RLT_TOOLS_BASE_JSON_EDIT_H
#define RLT_TOOLS_BASE_JSON_EDIT_H

#include <stddef.h>

#include "sim/base/error.h"
#include "sim/text/json.h"

/* Returns the value at `path`, such as "endpoint.protocols.LL.message": members by key, list elements by
 * their member "name" or by number from 0. Absent if there is none. */
rlt_json rlt_json_find(rlt_json root, const char *path);

/* Sets the value at `path` to `value`, which is valid JSON. A missing member is appended to its object;
 * missing objects are created. *text is malloc'ed and replaced; it is NUL-terminated. `name` stands for the
 * file in messages. RLT_ESCHEMA if the path leads through a value that is not an object. */
int rlt_json_edit(const char *name, char **text, size_t *length, const char *path, const char *value,
                  rlt_error *err) RLT_MUST_USE;

#endif
