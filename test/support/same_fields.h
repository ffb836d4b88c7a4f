/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structs compared by their tables of parameters: between fields there may be bytes of any value. */
#ifndef RLT_TEST_SUPPORT_SAME_FIELDS_H
#define RLT_TEST_SUPPORT_SAME_FIELDS_H

#include <stddef.h>
#include <string.h>

#include "sim/base/param.h"

/* Returns the name of the first field of one value that differs, or NULL. */
static inline const char *test_other_field(const rlt_param *table, const void *a, const void *b)
{
    for (const rlt_param *p = table; p->name; p++)
        if (p->width <= sizeof(rlt_param_value) &&
            memcmp((const char *)a + p->offset, (const char *)b + p->offset, p->width) != 0)
            return p->name;
    return NULL;
}

#endif
