/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers in order. */
#ifndef RLT_TOOLS_BASE_NUMBERS_H
#define RLT_TOOLS_BASE_NUMBERS_H

/* Compares two doubles for qsort, the smaller first. */
int rlt_by_value(const void *a, const void *b);

#endif
