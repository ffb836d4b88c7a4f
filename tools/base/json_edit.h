/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changing one value in the text of a JSON file and leaving all else, comments and layout, as it is. */
#ifndef RLT_TOOLS_BASE_JSON_EDIT_H
#define RLT_TOOLS_BASE_JSON_EDIT_H

#include <stddef.h>

#include "sim/base/error.h"
#include "sim/text/json.h"

/* The value that `path` names, "endpoint.protocols.LL.message": members by key, elements of a list by their
 * member "name" or by number from 0. Absent if there is none. */
rlt_json rlt_json_find(rlt_json root, const char *path);

/* Puts `value`, valid JSON, there: instead of what there is, or as a new last member of its object, in new
 * objects where these are missing, too. *text is malloc'ed and replaced; NUL-terminated. `name` is what
 * messages call it. RLT_ESCHEMA where the path leads through what is no object. */
int rlt_json_edit(const char *name, char **text, size_t *length, const char *path, const char *value,
                  rlt_error *err) RLT_MUST_USE;

#endif
