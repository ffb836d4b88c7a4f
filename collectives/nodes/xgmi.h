/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RCCL's eight paths over eight fully connected GPUs (xGMI). RCCL does not search such a box: it takes these
 * from a table (ROCm/rccl@0cbce2a, src/graph/rome_models.cc). Inside one node each path is closed to a ring;
 * across nodes path k enters at GPU k's NIC. Their 8 * 7 hops use each of the 56 directed links once, and one
 * path starts, and one ends, at every GPU.
 *
 *   Example: links of 48 GB/s. All paths together move 7 * 48 = 336 GB/s out of every GPU.
 */
#ifndef RLT_COLLECTIVES_NODES_XGMI_H
#define RLT_COLLECTIVES_NODES_XGMI_H

#include <stdint.h>

enum { RLT_XGMI_GPUS = 8, RLT_XGMI_PATHS = 8 };

/* Returns the paths: [k] is the order in which path k visits the GPUs. */
const uint32_t (*rlt_xgmi_paths(void))[RLT_XGMI_GPUS];

#endif
