/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reader of the matrix of `nvidia-smi topo -m`. Internal to net/. */
#ifndef RLT_NET_IMPORT_NVIDIA_SMI_H
#define RLT_NET_IMPORT_NVIDIA_SMI_H

#include "net/import/import.h"
#include "net/import/machine.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"

/* Returns true if a line of the text is the header of such a matrix. */
bool rlt__topo_nvidia_smi_is(const char *text, size_t length);
int rlt__topo_nvidia_smi(const char *name, const char *text, size_t length, const rlt_import *import,
                         rlt_topology **out, rlt_error *err) RLT_MUST_USE;

#endif
