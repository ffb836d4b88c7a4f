/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Channels, threads and chunks of a collective, once the tuner has chosen algorithm and protocol
 * (NCCL src/enqueue.cc, src/transport/nvls.cc, src/include/device.h).
 *
 *   Example: ring, Simple, 16 channels of 512 threads, all-reduce of 256 KiB: a channel needs 512 * 64 B =
 *   32 KiB, so 8 channels are used.
 */
#ifndef RLT_COLLECTIVES_TUNER_CHANNELS_H
#define RLT_COLLECTIVES_TUNER_CHANNELS_H

#include <stdint.h>

#include "collectives/tuner/tuner.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rlt_tuner_launch {
    uint32_t channels;    /* thread blocks */
    uint32_t threads;     /* threads of a block */
    uint64_t chunk_bytes; /* data that a channel passes on at once */
    uint64_t slice_bytes; /* unit of synchronisation, at most a chunk */
} rlt_tuner_launch;

/* Returns the channels in use after all copies: twice those of the search, and twice that again on Hopper and
 * newer between nodes, if b > 45 and they are fewer than 16. */
uint32_t rlt_tuner_channels(const rlt_tuner_machine *m);
/* Returns the channels that NVLS and NVLSTree use; 0: none. */
uint32_t rlt_tuner_nvls_channels(const rlt_tuner_machine *m);
/* Returns how a call is launched with an algorithm and a protocol that can run. */
rlt_tuner_launch rlt_tuner_launch_of(const rlt_tuner_machine *m, const rlt_tuner_call *call,
                                     rlt_tuner_algorithm a, rlt_tuner_protocol p);

#ifdef __cplusplus
}
#endif
#endif
