/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trace readers: they turn files into a program. A reader is one file and one const struct in RLT_READERS.
 * Formats are recognised by content. A trace has one file per rank. It is given as a directory, a list of
 * files, or a PREFIX whose files are PREFIX.<rank>.et. The rank comes from the content (Kineto
 * distributedInfo) or from the number in the name.
 */
#ifndef RLT_WORKLOAD_PROGRAM_READER_H
#define RLT_WORKLOAD_PROGRAM_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces a missing rank: `rank` replays the recording of `from`. rank RLT_NONE: every missing rank. */
typedef struct rlt_replicate {
    uint32_t rank, from;
} rlt_replicate;

/* A collective of some ranks. */
typedef struct rlt_read_collective {
    const uint32_t *ranks;
    uint32_t n;
    rlt_coll_kind kind;
    uint64_t bytes;
} rlt_read_collective;

/* Makes a program of rank 0 alone, if all ranks do the same: each collective becomes a delay of the time that
 * it takes on an idle network. Only readers with rlt_reader.folds. */
typedef struct rlt_read_fold {
    void *ctx;
    int (*duration)(void *ctx, const rlt_read_collective *c, rlt_time *duration_ps, rlt_error *err);
} rlt_read_fold;

typedef struct rlt_read_options {
    const char *host_trace_dir; /* PyTorch host execution traces recorded with this trace; NULL: none */
    const rlt_replicate *replicate;
    uint32_t n_replicate;
    uint32_t n_ranks; /* 0: as the trace says */
    /* dimensions of the topology, for traces that name dimensions (Chakra involved_dim); 0: unknown */
    uint32_t n_dims;
    uint32_t dims[RLT_MAX_DIMS];
    int first_step, last_step; /* among the steps found, from 0, inclusive; -1: all */
    const char *step_mark;     /* annotation that marks a step; NULL: "ProfilerStep#N" is searched */
    bool serial_communication; /* one communication at a time per rank (ASTRA-sim) */
    bool ideal;                /* removes stragglers; only readers with rlt_reader.ideals */
    bool keep_waits;           /* replays recorded durations of communication (no network) */
    /* Roofline for operations without a duration, in FLOP/s and bytes/s. 0: recorded durations are
     * replayed. */
    uint64_t peak_Flops;
    uint64_t memory_Bps;
    bool roofline_replaces; /* the roofline also replaces recorded durations (ASTRA-sim's roofline-enabled) */
    /* Chakra and Kineto: reads the file of one rank of a job as a job of that rank alone, which becomes rank
     * 0. Groups have one member, sizes stay as recorded, and messages to other ranks become delays. */
    bool alone;
    const rlt_read_fold *fold; /* NULL: all ranks */
} rlt_read_options;

typedef struct rlt_reader {
    const char *name, *summary;
    bool ideals; /* supports rlt_read_options.ideal */
    bool folds;  /* supports rlt_read_options.fold */
    /* Returns how likely a file is of this format, 0 to 100, from its path and its first n bytes `head`. A
     * compressed file is inflated first. */
    int (*probe)(const char *path, const char *head, size_t n);
    int (*read)(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                rlt_error *err);
    /* Reports facts about one recording for `ringlet trace check`: what it lacks for a good replay and how to
     * record it. Appends lines "ok: ..." or "lacks: ..." to *text (malloc'ed, owned by the caller). May be
     * NULL. */
    int (*check)(const char *const *paths, uint32_t n, const rlt_read_options *opts, char **text,
                 rlt_error *err);
} rlt_reader;

/* Built-in readers. A new reader is a file and a line here. */
#define RLT_READERS(X)                                                                                       \
    X(chakra)                                                                                                \
    X(kineto)                                                                                                \
    X(nsys)                                                                                                  \
    X(rocprof)                                                                                               \
    X(goal)                                                                                                  \
    X(astra1)                                                                                                \
    X(simai)                                                                                                 \
    X(aicb)                                                                                                  \
    X(pipedream)                                                                                             \
    X(timeline)                                                                                              \
    X(deployment)
#define RLT_X(name) RLT_API extern const rlt_reader rlt_reader_##name;
RLT_READERS(RLT_X)
#undef RLT_X

RLT_API rlt_registry *rlt_readers(void);
RLT_API const rlt_reader *rlt_reader_at(uint32_t i); /* NULL past the end */
/* Expands a directory or PREFIX into a list of files, sorted by rank, then name. *paths is one malloc'ed
 * block of pointers and text: free it with free(). RLT_EIO names the directory or prefix that was
 * searched. */
RLT_API int rlt_trace_files(const char *const *specs, uint32_t n_specs, char ***paths, uint32_t *n,
                            rlt_error *err) RLT_MUST_USE;
/* Lists the files in the given directories that rlt_trace_files leaves out, as "a.txt, b.json". *names is
 * malloc'ed; NULL: none. */
RLT_API int rlt_trace_ignored(const char *const *specs, uint32_t n_specs, char **names, uint32_t *n,
                              rlt_error *err) RLT_MUST_USE;
/* Finds the reader for the first file. RLT_EMALFORMED if no reader recognises it; the message says what the
 * file looks like. */
RLT_API int rlt_reader_for(const char *path, const rlt_reader **out, rlt_error *err) RLT_MUST_USE;
/* Returns true for the first bytes of a PyTorch host execution trace, which is no trace of its own: it gives
 * sizes to a recording (rlt_read_options.host_trace_dir). */
RLT_API bool rlt_is_host_trace(const char *head, size_t n);
/* Expands the file list, finds the reader and reads the trace. */
RLT_API int rlt_trace_read(const char *const *specs, uint32_t n_specs, const rlt_read_options *opts,
                           rlt_program **out, rlt_error *err) RLT_MUST_USE;
/* Returns the number before the extension, such as 3 in "dlrm.3.et". RLT_NONE if the name has none. */
RLT_API uint32_t rlt_rank_in_name(const char *path);

/* Writes a program as Chakra execution traces DIR/PREFIX.<rank>.et. Each file is written under a temporary
 * name and renamed. */
RLT_API int rlt_chakra_write(const rlt_program *p, const char *dir, const char *prefix,
                             rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
