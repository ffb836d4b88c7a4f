/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tuner of NCCL and RCCL: the time that the library predicts for each algorithm and protocol of a
 * collective, and so its choice. Pure functions over plain structs; a machine is known only by the channels
 * that the library's search found on it (collectives/tuner/search.h computes them).
 *
 *     time = latency + bytes / bandwidth
 *
 * `bytes` is the buffer of one rank for all-reduce, broadcast and reduce, and the total of all ranks for
 * all-gather and reduce-scatter (as in collectives/collective.h). N nodes of g GPUs, n = N g ranks.
 *
 *   Example: 3 nodes of 8 H100, 8 channels of 24 GB/s, 2.22.3, Intel. A ring with Simple has n / steps =
 *   24/46 of 192 GB/s, and a latency of 1.4 (8.4 + (46 - 6) 3.4 + 6 * 14) = 319.76 us. An all-reduce of
 *   8 GiB takes 86069.97 us, which is what NCCL logged (NVIDIA/nccl issue 1453).
 *
 * Arithmetic is single precision where the library's is, so that a logged value is met to its last digit. It
 * uses only + - * /: the choice is the same on every machine with IEEE floats. No event's time depends on it.
 *
 * Versions. NCCL 2.18 to 2.30 have the constants of their own release (src/graph/tuning.cc at each tag). 2.31
 * is not published: it takes those of 2.30.7, and rlt_tuner_version_note says so. Without a third number
 * ("2.29") the last release of that row holds. RCCL is that on NCCL 2.21.5 (ROCm/rccl@0cbce2a), with the
 * constants of MI300X alone.
 *
 *   from     change
 *   2.18     oldest: NVLSTree .70 N / (2(N - 1)), posting overhead, plug-in latency added to the network's
 *   2.18.3   plain tree * .85, NVLS 5/6 instead of .75, tree Simple 4, 6, 14 us; LL128 through NVB
 *   2.19     tree Simple 28 us everywhere; NVLS and NVLSTree 5/6, log2 N steps; NVLS for shares in a node
 *   2.20     CollNet Direct for all-gather and reduce-scatter
 *   2.21     NVLS 25 us instead of 23; ring LL 1/2 instead of 1/4; bounds of LL on Hopper
 *   2.23     PAT; tree Simple 4 us, on the network 14; 2(N - 1) network steps in a ring instead of 2 N
 *   2.24     PAT * .75 instead of .85; 8-bit floats avoid rings of more than 8; mixed processors count as AMD
 *   2.25     Blackwell: twice Hopper
 *   2.27     NVLS and CollNet Direct for shares between nodes; new speeds in Blackwell's search
 *   2.28     NVLS by an efficiency and a bound of each channel; Blackwell's own trees
 *   2.28.7   network latency of NVLSTree 20.9 us instead of 14
 *   2.29     NVLSTree corrected by size on Blackwell with x86; ring LL128 of Blackwell 34.5 GB/s a channel
 *   2.29.7   ring LL128 of Blackwell 40
 *   2.30     NVLSTree of Blackwell 80 GB/s a channel; LL128 across Hopper and newer
 *
 * rlt_tuner_pattern.plain tells what the search found; before 2.26 NCCL looked at one node alone.
 */
#ifndef RLT_COLLECTIVES_TUNER_TUNER_H
#define RLT_COLLECTIVES_TUNER_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint/version.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_tuner_kind {
    RLT_TUNER_ALL_REDUCE,
    RLT_TUNER_ALL_GATHER,
    RLT_TUNER_REDUCE_SCATTER,
    RLT_TUNER_BROADCAST,
    RLT_TUNER_REDUCE,
    RLT_TUNER_KINDS
} rlt_tuner_kind;

/* In the library's order: among equal times the first one is chosen. */
typedef enum rlt_tuner_algorithm {
    RLT_TUNER_TREE,
    RLT_TUNER_RING,
    RLT_TUNER_COLLNET_DIRECT,
    RLT_TUNER_COLLNET_CHAIN,
    RLT_TUNER_NVLS,
    RLT_TUNER_NVLS_TREE,
    RLT_TUNER_PAT,
    RLT_TUNER_ALGORITHMS
} rlt_tuner_algorithm;

typedef enum rlt_tuner_protocol {
    RLT_TUNER_LL,
    RLT_TUNER_LL128,
    RLT_TUNER_SIMPLE,
    RLT_TUNER_PROTOCOLS
} rlt_tuner_protocol;

enum { RLT_TUNER_CANDIDATES = RLT_TUNER_ALGORITHMS * RLT_TUNER_PROTOCOLS };

/* sm70, sm80, sm90 and sm100 (and those between, as the library rounds them down); gfx942. */
typedef enum rlt_tuner_arch {
    RLT_TUNER_VOLTA,
    RLT_TUNER_AMPERE,
    RLT_TUNER_HOPPER,
    RLT_TUNER_BLACKWELL,
    RLT_TUNER_MI300X
} rlt_tuner_arch;

typedef enum rlt_tuner_cpu {
    RLT_TUNER_INTEL,
    RLT_TUNER_AMD,
    RLT_TUNER_ARM,
    RLT_TUNER_POWER,
    RLT_TUNER_MIXED /* nodes with processors of several vendors */
} rlt_tuner_cpu;

/* Kinds of path, nearest first (order of NCCL 2.30). */
typedef enum rlt_tuner_path {
    RLT_VIA_LOC,
    RLT_VIA_NVL, /* NVLink, xGMI */
    RLT_VIA_NVB, /* NVLink through a GPU between */
    RLT_VIA_C2C,
    RLT_VIA_PIX, /* one PCIe bridge */
    RLT_VIA_PXB, /* several */
    RLT_VIA_P2C, /* C2C to the processor, then PCIe */
    RLT_VIA_PXN, /* NVLink to the GPU beside the NIC */
    RLT_VIA_PHB, /* host bridge */
    RLT_VIA_SYS, /* between sockets */
    RLT_VIAS
} rlt_tuner_path;

/* Channels that the search found for one pattern: the least over all nodes. */
typedef struct rlt_tuner_pattern {
    uint32_t channels;             /* of the search, without later copies; 0: not found */
    double intra_GBps, inter_GBps; /* speed of one channel inside a node, and between nodes */
    rlt_tuner_path intra, inter;   /* farthest path: GPU to GPU, GPU to NIC */
    bool plain;                    /* trees: some node found only the plain pattern */
    bool unlike;                   /* channels visit the GPUs in different orders */
} rlt_tuner_pattern;

typedef struct rlt_tuner_machine {
    rlt_library_version version;
    rlt_tuner_arch arch, newest; /* oldest and newest GPU; equal in most machines */
    rlt_tuner_cpu cpu;
    uint32_t nodes, gpus; /* GPUs of a node */
    uint32_t channels;    /* channels in use, with copies; 0: twice the ring's */
    rlt_tuner_pattern ring, tree, nvls, collnet_chain, collnet_direct;
    uint32_t nics;       /* NIC ports of a node */
    double nic_GBps;     /* rate of a port */
    double plugin_us;    /* latency that the network plug-in reports; 0: InfiniBand, sockets */
    bool nvswitch;       /* GPUs of a node are joined by NVSwitches */
    bool multicast;      /* which add and replicate (NVLS) */
    bool collnet;        /* a CollNet plug-in (SHARP) is there and switched on */
    bool collnet_shares; /* it offers all-gather and reduce-scatter, too */
    bool offload;        /* the network device takes over the transport: no PAT */
} rlt_tuner_machine;

typedef struct rlt_tuner_call {
    rlt_tuner_kind kind;
    uint64_t bytes;
    bool fp8; /* 8-bit floats, which lose precision in long chains of additions */
} rlt_tuner_call;

typedef struct rlt_tuner_prediction {
    rlt_tuner_algorithm algorithm;
    rlt_tuner_protocol protocol;
    const char *excluded;              /* reason why it cannot run; NULL: it can */
    double time_us;                    /* 0 if excluded */
    double latency_us, bandwidth_GBps; /* the parts of time_us, corrected for the size */
} rlt_tuner_prediction;

/* Names as NCCL_ALGO, NCCL_PROTO and this project write them: "nvls_tree", "LL128", "hopper". */
const char *rlt_tuner_algorithm_name(rlt_tuner_algorithm a);
const char *rlt_tuner_protocol_name(rlt_tuner_protocol p);
const char *rlt_tuner_arch_name(rlt_tuner_arch arch);

/* Returns the architecture of a compute capability, such as 90; 86 counts as 80. */
rlt_tuner_arch rlt_tuner_arch_of(uint32_t capability);
/* Returns why a version's tables are those of another release; NULL: they are its own. */
const char *rlt_tuner_version_note(rlt_library_version v);
/* Returns the parts of the library that are not modelled, and why, one a line. */
const char *rlt_tuner_unmodelled(void);

/* Refuses a machine that cannot be: no node, negative speeds, a pattern with channels but no speed. */
int rlt_tuner_check(const rlt_tuner_machine *m, rlt_error *err);
/* Predicts one candidate. The machine must have passed rlt_tuner_check. */
rlt_tuner_prediction rlt_tuner_predict(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                                       rlt_tuner_algorithm a, rlt_tuner_protocol p);
/* Fills `out` with all candidates and returns the number of those that can run. They come first, by time;
 * the choice is out[0]. The others follow with their reasons. */
uint32_t rlt_tuner_candidates(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                              rlt_tuner_prediction out[RLT_TUNER_CANDIDATES]);

#ifdef __cplusplus
}
#endif
#endif
