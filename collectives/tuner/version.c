/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Versions, and the names of what the tuner chooses among. */
#include <string.h>

#include "collectives/tuner/constants.h"
#include "collectives/tuner/tuner.h"
#include "sim/base/error.h"

enum {
    OLDEST = 18,
    NEWEST = 31,
    LAST_PATCH = 99, /* "2.29": its last release */
    RCCL_ON = 22105
};

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

/* Reads a number of at most two digits, and moves *at behind it. Returns -1 if there is none. */
static int two_digits(const char **at)
{
    int value = -1, digits = 0;
    for (; **at >= '0' && **at <= '9' && digits < 2; digits++, (*at)++)
        value = (digits ? value * 10 : 0) + (**at - '0');
    return value;
}

static int bad_version(const char *text, rlt_error *err)
{
    return rlt_fail(err, RLT_EUSAGE, "version", "expected a version such as 2.23, 2.23.4 or rccl, got '%s'",
                    text);
}

int rlt_tuner_version_parse(const char *text, rlt_tuner_version *out, rlt_error *err)
{
    const char *at = strncmp(text, "nccl-", 5) == 0 ? text + 5 : text;
    int minor, patch = LAST_PATCH;
    if (strcmp(text, "rccl") == 0) {
        *out = (rlt_tuner_version){.number = RCCL_ON, .rccl = true};
        return 0;
    }
    int major = two_digits(&at);
    if (major < 0 || *at++ != '.' || (minor = two_digits(&at)) < 0)
        return bad_version(text, err);
    if (*at == '.') {
        at++;
        patch = two_digits(&at);
    }
    if (patch < 0 || *at)
        return bad_version(text, err);
    if (major != 2 || minor < OLDEST || minor > NEWEST)
        return rlt_fail(err, RLT_EUNSUPPORTED, "version",
                        "the tuner is known from NCCL 2.%d to 2.%d, got '%s'", OLDEST, NEWEST, text);
    *out = (rlt_tuner_version){.number = (uint32_t)(20000 + minor * 100 + patch)};
    return 0;
}

const char *rlt_tuner_version_note(rlt_tuner_version v)
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
