/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/base/numbers.h"

int rlt_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
