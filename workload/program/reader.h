/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trace readers: files in, program out. A reader is one file and one const struct in RLT_READERS;
 * formats are recognised by content. A trace is one file per rank: given as a directory, a list of files, or
 * a PREFIX whose files are PREFIX.<rank>.et; the rank comes from the content (Kineto distributedInfo) or from
 * the number in the name.
 */
#ifndef RLT_WORKLOAD_PROGRAM_READER_H
#define RLT_WORKLOAD_PROGRAM_READER_H

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "workload/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A missing rank `rank` is played by the recording of `from`; rank RLT_NONE: every missing one. */
typedef struct rlt_replicate {
    uint32_t rank, from;
} rlt_replicate;

typedef struct rlt_read_options {
    const char *host_trace_dir; /* PyTorch host execution traces beside the recording; NULL: none */
    const rlt_replicate *replicate;
    uint32_t n_replicate;
    uint32_t n_ranks; /* 0: what the trace says */
    uint32_t n_dims;  /* the topology's, for traces that name dimensions (Chakra involved_dim); 0: unknown */
    uint32_t dims[RLT_MAX_DIMS];
    int first_step, last_step; /* of the steps found, 0-based, inclusive; -1: all */
    const char *step_mark;     /* annotation that marks a step; NULL: found ("ProfilerStep#N") */
    bool serial_communication; /* one communication at a time per rank (ASTRA-sim) */
    bool ideal;                /* without stragglers; readers that say so (rlt_reader.ideals) */
    bool keep_waits;           /* replay recorded durations of communication as they are (no network) */
    /* Roofline for operations without a duration: FLOP/s and bytes/s; 0: replay durations. */
    uint64_t peak_Flops;
    uint64_t memory_Bps;
    bool roofline_replaces; /* the roofline also replaces durations (ASTRA-sim's roofline-enabled) */
} rlt_read_options;

typedef struct rlt_reader {
    const char *name, *summary;
    bool ideals; /* knows rlt_read_options.ideal */
    /* How sure (0..100) that a file of this path beginning with head[0..n) (inflated if it was compressed) is
     * of this format. */
    int (*probe)(const char *path, const char *head, size_t n);
    int (*read)(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                rlt_error *err);
    /* Facts about one recording for `ringlet trace check`: what it lacks to be replayed well and how to
     * record it. Appends lines "ok: ..." or "lacks: ...", newline-separated, to *text (malloc'ed, owned by
     * the caller). May be NULL. */
    int (*check)(const char *const *paths, uint32_t n, const rlt_read_options *opts, char **text,
                 rlt_error *err);
} rlt_reader;

/* The built-in readers: a new one is a file and a line here. */
#define RLT_READERS(X)                                                                                       \
    X(chakra)                                                                                                \
    X(kineto)                                                                                                \
    X(goal)                                                                                                  \
    X(astra1)                                                                                                \
    X(simai)                                                                                                 \
    X(aicb)                                                                                                  \
    X(pipedream)                                                                                             \
    X(timeline)
#define RLT_X(name) RLT_API extern const rlt_reader rlt_reader_##name;
RLT_READERS(RLT_X)
#undef RLT_X

RLT_API rlt_registry *rlt_readers(void);
RLT_API const rlt_reader *rlt_reader_at(uint32_t i); /* NULL past the end */
/* Expands a directory or PREFIX into the list of files (sorted by rank, then name). *paths: one malloc'ed
 * block of pointers and text, free with free(). RLT_EIO naming what was looked for. */
RLT_API int rlt_trace_files(const char *const *specs, uint32_t n_specs, char ***paths, uint32_t *n,
                            rlt_error *err) RLT_MUST_USE;
/* The reader for the first file; RLT_EMALFORMED if none recognises it, saying what it looks like. */
RLT_API int rlt_reader_for(const char *path, const rlt_reader **out, rlt_error *err) RLT_MUST_USE;
/* Expands, recognises, reads. */
RLT_API int rlt_trace_read(const char *const *specs, uint32_t n_specs, const rlt_read_options *opts,
                           rlt_program **out, rlt_error *err) RLT_MUST_USE;
/* The number before the extension in "dlrm.3.et" (RLT_NONE if there is none). */
RLT_API uint32_t rlt_rank_in_name(const char *path);

/* Writes a program as Chakra execution traces DIR/PREFIX.<rank>.et (each written beside and renamed). */
RLT_API int rlt_chakra_write(const rlt_program *p, const char *dir, const char *prefix,
                             rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
