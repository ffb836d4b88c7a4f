/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content of the lines of an NCCL log, before it becomes a topology. Internal to net/import/. */
#ifndef RLT_NET_IMPORT_NCCL_LOG_H
#define RLT_NET_IMPORT_NCCL_LOG_H

#include "net/import/machine.h"
#include "net/import/nccl.h"
#include "sim/base/error.h"
#include "sim/base/map.h"

enum { RLT__LOG_MAX_RANKS = 1 << 16, RLT__LOG_MAX_CHANNELS = 128, RLT__LOG_MAX_NICS = 1024 };

typedef enum rlt__via { RLT__VIA_P2P, RLT__VIA_SHM, RLT__VIA_NET } rlt__via;

/* "Channel 00 : 3[8a000] -> 0[1a000] via P2P/IPC" */
typedef struct rlt__connection {
    uint32_t process, src, dst;
    uint16_t nic;
    uint8_t channel, via;
    bool receive; /* true if the receiver logged it */
} rlt__connection;

/* "Channel 00/12 :    0   1   2   3" */
typedef struct rlt__log_ring {
    uint32_t channel, first, n, line; /* ranks[first .. first + n) */
} rlt__log_ring;

typedef struct rlt__log_process {
    uint32_t host;          /* index into `hosts` */
    uint32_t rank, n_ranks; /* rank and size in its largest communicator; RLT_NONE and 0 if unknown */
    uint8_t collective;     /* 1 + index of the collective that it began last; 0: none */
} rlt__log_process;

/* "AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}": what NCCL's tuner chose */
typedef struct rlt__log_choice {
    uint8_t collective, algorithm; /* indices into the tables of net/import/nccl_log_choice.c */
    uint64_t bytes;
    uint32_t line;
} rlt__log_choice;

typedef struct rlt__nccl_log {
    const char *file;
    rlt_error *err;
    rlt_strings hosts, process_names;
    rlt__log_process *processes;
    rlt__connection *connections;
    rlt__log_ring *rings;
    uint32_t *ranks;
    rlt__log_choice *choices;
    uint32_t n_connections, n_rings, n_ranks_used, n_choices;
    uint32_t process_capacity, connection_capacity, ring_capacity, rank_capacity, choice_capacity;
    uint32_t size;          /* ranks of the largest communicator */
    uint32_t local_ranks;   /* ranks per node, if stated; otherwise 0 */
    uint32_t communicators; /* communicators of different sizes */
    uint64_t busbw_Bps;     /* best bus bandwidth that a benchmark printed into the log; 0: none */
} rlt__nccl_log;

int rlt__nccl_log_scan(rlt__nccl_log *log, const char *text, size_t length) RLT_MUST_USE;
void rlt__nccl_log_free(rlt__nccl_log *log);

/* Keeps the choice in a line about the tuner, and the collective that the process begins. Skips other
 * lines. */
int rlt__log_choice_take(rlt__nccl_log *log, const char *text, const char *end, uint32_t process,
                         uint32_t line) RLT_MUST_USE;
/* Adds the choices to a machine: by size where the log has them, else ring, whose channels every log shows.
 * *said describes them. */
int rlt__log_choices_add(rlt__nccl_log *log, rlt__machine *m, const char **said) RLT_MUST_USE;

#endif
