/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check of a collective that is written out step by step. */
#ifndef RLT_COLLECTIVES_CHECK_LISTED_CHECK_H
#define RLT_COLLECTIVES_CHECK_LISTED_CHECK_H

#include "collectives/listed.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks the collective symbolically and fills `tags`. Call it once for every listed collective before its
 * first run, whatever its origin: only then are all indices in its steps known to be valid. RLT_ECHECK with
 * file, line and step; RLT_ERANGE if it is too large to check. */
int rlt_listed_check(rlt_listed *l, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
