/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The library's choice for a collective over several nodes: NCCL's tuner (collectives/tuner), applied to what
 * its search would find on this topology. Internal to the selector.
 *
 * The topology gives the numbers of nodes and GPUs, the NVLink rate of a GPU, the NICs and their rate. It
 * also says whether switches can add and replicate; those between nodes then serve all-gather and
 * reduce-scatter, too (SHARP v3). The endpoint gives the generation of the GPU, the vendor
 * of the host's processor, the version of NCCL, and the class of network. PCIe is that of the generation: 3,
 * 4, 5 or 6 for Volta, Ampere, Hopper, Blackwell. Two GPUs share a PCIe switch.
 *
 * GPUs of CDNA 3 in fully connected nodes: RCCL's tuner, for one node and for several. Its channels come from
 * tables (nodes/xgmi.h).
 */
#ifndef RLT_COLLECTIVES_LIBRARY_H
#define RLT_COLLECTIVES_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/tuner/tuner.h"
#include "net/endpoint/endpoint.h"
#include "sim/base/error.h"

/* Returns true if the tuner knows the request: several nodes of equal size (RCCL: or one), known GPUs, a
 * kind that it chooses for. Fills *m and *call. */
bool rlt__library_knows(const rlt_coll_request *req, const rlt_endpoint *e, rlt_tuner_machine *m,
                        rlt_tuner_call *call);
/* Fills `out` with the tuner's candidates that this project has an algorithm for, in the tuner's order, and
 * returns their number. `only`: those of one algorithm; NULL: all. */
uint32_t rlt__library_candidates(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                                 const rlt_endpoint *e, const rlt_algorithm *only,
                                 rlt_candidate out[RLT_MAX_CANDIDATES]);

/* Reads the `library` of a request: "nccl-2.23", "2.23.4" or "rccl". Refuses versions that are not known. */
int rlt_library_read(const char *text, uint32_t *library, rlt_error *err) RLT_MUST_USE;

#endif
