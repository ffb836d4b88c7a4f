/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reference-counted bytes, shared by several answers. */
#include <stdlib.h>

#include "tools/serve/serve.h"

rlt_blob *rlt_blob_of(char *bytes, size_t n)
{
    rlt_blob *b = bytes ? malloc(sizeof *b) : NULL;
    if (!b)
        free(bytes);
    else
        *b = (rlt_blob){1, n, bytes};
    return b;
}

void rlt_blob_drop(rlt_blob *b)
{
    if (b && --b->references == 0) {
        free(b->bytes);
        free(b);
    }
}
