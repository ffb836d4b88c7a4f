/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The manifest that every result carries: version, command, options in force, and hashes of the inputs. It
 * holds nothing that differs between two equal runs (no time of day, host or output name).
 */
#ifndef RLT_TOOLS_OUTPUT_MANIFEST_H
#define RLT_TOOLS_OUTPUT_MANIFEST_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/json.h"
#include "workload/setup/inputs.h"

enum { RLT_SCHEMA_VERSION = 1 };

/* Opens the top object: {"schema_version": 1, "manifest": {...}. The caller adds its members and calls
 * rlt_document_write. `command` is "coll", "run", ... */
void rlt_document_begin(rlt_jw *w, const char *command, const rlt_parsed *args, const rlt_inputs *in);
/* Closes the top object and writes it to a file ("-" or NULL: standard output). Frees the writer. */
int rlt_document_write(rlt_jw *w, const char *path, rlt_error *err) RLT_MUST_USE;
/* Frees a document that will not be written. */
void rlt_document_drop(rlt_jw *w);

#endif
