/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proof of a collective that is written out step by step. */
#ifndef RLT_COLLECTIVES_CHECK_LISTED_CHECK_H
#define RLT_COLLECTIVES_CHECK_LISTED_CHECK_H

#include "collectives/listed.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Proves it by the symbolic checker and finds `tags`. To be called once for every listed collective before it
 * is run, of whatever origin: only then are all indices in its steps known to be sound. RLT_ECHECK with file,
 * line and step; RLT_ERANGE: too large to check. */
int rlt_listed_check(rlt_listed *l, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
