/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of layers from a file. */
#include "workload/model_internal.h"

int rlt__model_read(const char *path, rlt_model *out, rlt_error *err)
{
    (void)out;
    return rlt_fail(err, RLT_EUNSUPPORTED, path, "tables of layers are not read yet");
}
