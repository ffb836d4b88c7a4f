/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings of host and device, internal to their readers: the data kept of a rank, and the functions that
 * the parts share. A format is a parser: parse.c reads PyTorch's profiler (Kineto), other rooms read other
 * profilers. graph.c turns one rank's events into operations and dependencies; host.c is the host side of
 * that. comm.c finds the collective of each NCCL kernel.
 *
 * Times are nanoseconds as recorded. An event takes 40 bytes.
 */
#ifndef RLT_WORKLOAD_READERS_KINETO_KINETO_H
#define RLT_WORKLOAD_READERS_KINETO_KINETO_H

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/host_trace.h"

enum { RLT_KIN_MAX_EVENTS = 1 << 28, RLT_KIN_MAX_STEPS = 1 << 16, RLT_KIN_MAX_FILES = 1 << 20 };
/* Recorded times may contradict each other by this much, the resolution of old recordings. */
#define RLT_KIN_TOLERANCE_NS 1000

typedef enum rlt_kin_cat {
    RLT_KIN_CPU_OP,
    RLT_KIN_RUNTIME,
    RLT_KIN_KERNEL,
    RLT_KIN_MEMORY,
} rlt_kin_cat;

/* Role of an event beyond its category. */
typedef enum rlt_kin_role {
    RLT_KIN_PLAIN,
    RLT_KIN_COMMS,       /* cpu_op record_param_comms */
    RLT_KIN_COMMS_WAIT,  /* the same, for a wait */
    RLT_KIN_AUTOGRAD,    /* cpu_op of the autograd engine */
    RLT_KIN_DEVICE_SYNC, /* runtime calls */
    RLT_KIN_STREAM_SYNC,
    RLT_KIN_EVENT_SYNC,
    RLT_KIN_BLOCKING_COPY,
    RLT_KIN_WAIT_EVENT,
    RLT_KIN_RECORD_EVENT,
    RLT_KIN_NCCL,          /* kernel */
    RLT_KIN_PAGEABLE_DTOH, /* copy that blocks its caller */
} rlt_kin_role;

typedef struct rlt_kin_event {
    int64_t ts, dur;
    int64_t correlation; /* -1: none */
    uint32_t name;       /* index into the recording's strings; RLT_NONE for most host events */
    uint32_t row;        /* host thread, or device and stream */
    uint32_t attributes; /* index into its comms (NCCL kernel, record_param_comms), or RLT_NONE */
    uint8_t cat, role;
} rlt_kin_event;

/* Recorded attributes of a collective. Texts are indices into the recording's strings. */
typedef struct rlt_kin_comm {
    uint64_t in_elems, out_elems;
    uint32_t name, dtype, group, ranks, in_split;
    uint32_t group_size, rank_start, rank_stride; /* 0: not recorded; stride 0: start has no meaning */
    int64_t source, destination, root;            /* ranks; -1: not recorded */
} rlt_kin_comm;

typedef enum rlt_kin_sync_kind {
    RLT_KIN_SYNC_CONTEXT,
    RLT_KIN_SYNC_STREAM,
    RLT_KIN_SYNC_EVENT,
    RLT_KIN_SYNC_STREAM_WAIT,
} rlt_kin_sync_kind;

/* A cuda_sync event. */
typedef struct rlt_kin_sync {
    int64_t correlation; /* correlation of the runtime call */
    int64_t record;      /* correlation of the cudaEventRecord waited for; -1: unknown */
    int64_t ts;
    uint32_t waiter, source; /* rows; RLT_NONE: unknown */
    uint32_t found;          /* operation waited for, set while the graph is built */
    rlt_kin_sync_kind kind;
} rlt_kin_sync;

typedef struct rlt_kin_step {
    int64_t begin, end;
    uint32_t row; /* thread that marked it */
} rlt_kin_step;

typedef struct rlt_kin_group {
    uint32_t name, ranks; /* texts */
    uint32_t size, own;   /* own: index of the recording's rank in the group, where a format gives it */
} rlt_kin_group;

/* The recording of one rank. */
typedef struct rlt_kin_recording {
    const char *path;     /* borrowed */
    uint32_t rank, world; /* RLT_NONE and 0: not in the file */
    int64_t base;         /* added to every time */
    rlt_kin_event *events;
    rlt_kin_comm *comms;
    rlt_kin_sync *syncs;
    rlt_kin_step *steps;
    rlt_kin_group *groups; /* from distributedInfo */
    uint32_t n_events, events_capacity, n_comms, comms_capacity, n_syncs, syncs_capacity;
    uint32_t n_steps, steps_capacity, n_groups, groups_capacity;
    rlt_strings strings, rows; /* keys of rows: "h<pid>/<tid>" or "d<device>/<stream>" */
    bool sized;                /* some collective has a size */
    uint64_t hash;
    uint64_t unknown_cats, ignored, no_time, negative;
    char unknown_cat[48]; /* the first one */
} rlt_kin_recording;

static inline int64_t rlt__kin_end(const rlt_kin_event *e)
{
    return e->ts + e->dur;
}

typedef struct rlt_kin_run rlt_kin_run;

/* A format of recordings. */
typedef struct rlt_kin_format {
    const char *reader; /* its name */
    /* Appends the recordings of a file to the run. `mark`: prefix of the annotation that marks a step. */
    int (*parse)(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err);
    /* Finds ranks and groups after all files are parsed. NULL: the recordings give them. */
    int (*join)(rlt_kin_run *run, rlt_error *err);
    /* How to record what is missing. host NULL: the format has no host operators. */
    const char *steps, *sizes, *device, *host, *syncs;
} rlt_kin_format;

/* All the recordings of one run. */
struct rlt_kin_run {
    const rlt_kin_format *format;
    const rlt_read_options *opts;
    rlt_kin_recording *recordings; /* n_files of them */
    uint32_t n_files, files_capacity, n_ranks;
    uint32_t *by_rank;           /* by rank: index of its recording */
    rlt_host_trace *host_traces; /* n_host_traces of them */
    uint32_t n_host_traces;
    int64_t epoch; /* begin of the earliest rank's first step, ns */
    uint32_t
        n_early_shared; /* the last early collectives that all recordings have alike: they are simulated */
    uint32_t n_aligned; /* recordings whose clocks were aligned to the first one's */
    int64_t largest_offset; /* largest absolute offset among them, ns */
};

/* Parses a file of PyTorch's profiler. */
int rlt__kin_parse(rlt_kin_run *run, const char *path, const char *mark, rlt_error *err) RLT_MUST_USE;

/* ---- Filling a recording (recording.c). A row or text of RLT_NONE means that memory ran out. */

/* Appends an empty recording. *out is valid until the next call. */
int rlt__kin_add(rlt_kin_run *run, const char *path, rlt_kin_recording **out, rlt_error *err) RLT_MUST_USE;
int rlt__kin_keep(rlt_kin_recording *k, const rlt_kin_event *e, rlt_error *err) RLT_MUST_USE;
int rlt__kin_keep_comm(rlt_kin_recording *k, const rlt_kin_comm *c, uint32_t *index,
                       rlt_error *err) RLT_MUST_USE;
int rlt__kin_keep_step(rlt_kin_recording *k, const rlt_kin_step *s, rlt_error *err) RLT_MUST_USE;
int rlt__kin_keep_sync(rlt_kin_recording *k, const rlt_kin_sync *s, rlt_error *err) RLT_MUST_USE;
int rlt__kin_keep_group(rlt_kin_recording *k, const rlt_kin_group *g, rlt_error *err) RLT_MUST_USE;
/* Returns the row of a host thread (kind h: process, thread) or a stream (d: device, stream). */
uint32_t rlt__kin_row(rlt_kin_recording *k, char kind, const char *outer, const char *inner);
uint32_t rlt__kin_row_of(rlt_kin_recording *k, char kind, int64_t outer, int64_t inner);
/* Returns the role of a runtime call. Names of CUDA and HIP differ only in their prefix. */
rlt_kin_role rlt__kin_runtime_role(const char *name);
bool rlt__kin_is_nccl(const char *kernel);
/* A call of record_param_comms. */
typedef struct rlt_kin_call {
    int64_t begin, end;
    uint32_t row, attributes;
    bool launches; /* a kernel of NCCL; set by its user */
} rlt_kin_call;

rlt_kin_call rlt__kin_call_of(const rlt_kin_event *e);
void rlt__kin_order_calls(rlt_kin_call *calls, uint32_t n);
/* Returns the last of the ordered calls that began on an event's thread; NULL if the event is not in it. */
rlt_kin_call *rlt__kin_call_around(rlt_kin_call *calls, uint32_t n, const rlt_kin_event *e);
/* Returns the index of the first of n ordered things that is not before `key`; n: all are before it. */
uint32_t rlt__kin_first(const void *things, uint32_t n, size_t size,
                        bool (*before)(const void *thing, const void *key), const void *key);
void rlt__kin_order_steps(rlt_kin_recording *k);
void rlt__kin_recording_free(rlt_kin_recording *k);

/* The replayed window of one recording, and its steps. */
typedef struct rlt_kin_window {
    int64_t begin, end;
    uint32_t first_step, n_steps; /* among the recording's steps; n_steps 0: no step marks */
} rlt_kin_window;

int rlt__kin_window(const rlt_kin_run *run, const rlt_kin_recording *k, rlt_kin_window *w,
                    rlt_error *err) RLT_MUST_USE;
/* Returns the step of the program that contains time t. */
uint16_t rlt__kin_step_at(const rlt_kin_recording *k, const rlt_kin_window *w, int64_t t);

/* A launch of device work, in the order of the host. call and work are indices of the recording's events;
 * call is RLT_NONE if the launch was not recorded. */
typedef struct rlt_kin_launch {
    uint32_t call, work;
} rlt_kin_launch;

/* Collectives of the NCCL kernels of a rank. */
typedef struct rlt_kin_comms rlt_kin_comms;
/* Finds them. nccl: launches of the window's NCCL kernels, in launch order. The first n_early ones were
 * launched before the window, or before the profiler began. */
int rlt__kin_comms_create(const rlt_kin_run *run, const rlt_kin_recording *k, const rlt_kin_launch *nccl,
                          uint32_t n, uint32_t n_early, rlt_kin_comms **out, rlt_error *err) RLT_MUST_USE;
void rlt__kin_comms_free(rlt_kin_comms *c);

/* Which of them have sizes. */
typedef struct rlt_kin_sizes {
    uint32_t n, early;
    uint32_t continued; /* early ones that take the size of the same place one period later */
    uint32_t early_unknown, launched_unknown;
} rlt_kin_sizes;
rlt_kin_sizes rlt__kin_comms_sizes(const rlt_kin_comms *c);
/* Refuses launched collectives without a size. */
int rlt__kin_comms_require(const rlt_kin_comms *c, rlt_error *err) RLT_MUST_USE;
/* Shortens the list of early collectives, the last one first, to those that this recording ends with, too.
 * *shared NULL: makes the list, malloc'ed. */
int rlt__kin_comms_share(rlt_kin_comms *c, uint64_t **shared, uint32_t *n, rlt_error *err) RLT_MUST_USE;
/* Finds the collectives of a recording's window without building its graph. */
int rlt__kin_survey(const rlt_kin_run *run, const rlt_kin_recording *k, rlt_kin_comms **out,
                    rlt_error *err) RLT_MUST_USE;
/* Fills kind, collective, group, bytes, counts and peer of the i-th one; d->rank must be set. The counts hold
 * until the next call. */
int rlt__kin_comms_describe(rlt_kin_comms *c, uint32_t i, rlt_builder *b, rlt_op_desc *d,
                            rlt_error *err) RLT_MUST_USE;
/* Adds notes on how many of them needed an assumption. */
void rlt__kin_comms_note(const rlt_kin_comms *c, rlt_builder *b);

/* Adds the operations of `rank`, which replays recording k. */
int rlt__kin_graph(const rlt_kin_run *run, const rlt_kin_recording *k, uint32_t rank, rlt_builder *b,
                   rlt_error *err) RLT_MUST_USE;

int rlt__kin_run_open(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                      const rlt_read_options *opts, rlt_kin_run *run, rlt_error *err) RLT_MUST_USE;
/* Subtracts offsets between the hosts' clocks from the recordings' times. */
int rlt__kin_align_clocks(rlt_kin_run *run, rlt_error *err) RLT_MUST_USE;
void rlt__kin_run_close(rlt_kin_run *run);
/* Reads recordings of a format, as rlt_reader.read does. */
int rlt__kin_read(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                  const rlt_read_options *opts, rlt_program **out, rlt_error *err) RLT_MUST_USE;
/* Checks recordings for `ringlet trace check`. */
int rlt__kin_check(const rlt_kin_format *format, const char *const *paths, uint32_t n,
                   const rlt_read_options *opts, char **text, rlt_error *err);

#endif
