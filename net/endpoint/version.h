/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Versions of NCCL and RCCL whose choices are known (collectives/tuner). */
#ifndef RLT_NET_ENDPOINT_VERSION_H
#define RLT_NET_ENDPOINT_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_library_version {
    uint32_t number; /* 10000 * major + 100 * minor + patch, as NCCL_VERSION; 22304 is 2.23.4 */
    bool rccl;       /* then `number` is the NCCL release on which RCCL stands */
} rlt_library_version;

/* Patch of a version without one ("2.29"): its last release. */
enum { RLT_LAST_PATCH = 99 };
/* Newest version that is published. */
enum { RLT_NCCL_NEWEST = 23000 + RLT_LAST_PATCH };

/* Reads "2.23", "2.23.4", "nccl-2.23" or "rccl". Refuses what is no version, older than 2.18 or newer than
 * 2.31. */
int rlt_library_version_parse(const char *text, rlt_library_version *out, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
