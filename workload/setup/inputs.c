/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes of inputs. */
#include "workload/setup/inputs.h"

#include <stdlib.h>

#include "sim/base/map.h"
#include "sim/text/file.h"

enum { MAX_INPUT_BYTES = 1 << 30 };

void rlt_inputs_add(rlt_inputs *in, const char *what, const char *path, uint64_t hash)
{
    if (in->n == RLT_MAX_INPUTS)
        return;
    in->items[in->n].what = what;
    in->items[in->n].path = path;
    in->items[in->n].hash = hash;
    in->n++;
}

int rlt_inputs_add_file(rlt_inputs *in, const char *what, const char *path, rlt_error *err)
{
    char *text;
    size_t length;
    int rc = rlt_read_file(path, MAX_INPUT_BYTES, &text, &length, err);
    if (rc)
        return rc;
    rlt_inputs_add(in, what, path, rlt_hash_bytes(text, length, 0));
    free(text);
    return 0;
}
