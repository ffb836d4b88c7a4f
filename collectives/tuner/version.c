/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes on versions, and the names of what the tuner chooses among. */
#include "net/endpoint/version.h"
#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"

const char *rlt_tuner_algorithm_name(rlt_tuner_algorithm a)
{
    static const char *const names[RLT_TUNER_ALGORITHMS] = {
        "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
    return names[a];
}

const char *rlt_tuner_protocol_name(rlt_tuner_protocol p)
{
    static const char *const names[RLT_TUNER_PROTOCOLS] = {"LL", "LL128", "Simple"};
    return names[p];
}

const char *rlt_tuner_arch_name(rlt_tuner_arch arch)
{
    static const char *const names[] = {"volta", "ampere", "hopper", "blackwell", "mi300x"};
    return names[arch];
}

rlt_tuner_arch rlt_tuner_arch_of(uint32_t capability)
{
    return capability >= 100  ? RLT_TUNER_BLACKWELL
           : capability >= 90 ? RLT_TUNER_HOPPER
           : capability >= 80 ? RLT_TUNER_AMPERE
                              : RLT_TUNER_VOLTA;
}

const char *rlt_tuner_version_note(rlt_library_version v)
{
    if (v.rccl)
        return "RCCL of NCCL 2.21.5 (ROCm/rccl@0cbce2a): constants of MI300X alone";
    if (v.number >= RLT__V2_30 + 100)
        return "NCCL 2.31 is not published: constants of 2.30.7";
    return NULL;
}

const char *rlt_tuner_unmodelled(void)
{
    return "symmetric windows (2.27 and later): cost not published\n"
           "copy-engine collectives (2.28 and later): cost not published\n"
           "hybrid kernels of load/store and one-sided network (2.29 and later): cost not published\n"
           "tuner plug-ins, such as AWS's: they replace the choice by tables of their own\n"
           "several collectives launched together: latency once for each batch of trees\n"
           "NCCL_ALGO, NCCL_PROTO, NCCL_NTHREADS and other settings of the user\n"
           "RCCL on other GPUs than MI300X, MSCCL and MSCCL++ schedules: no constants here\n";
}
