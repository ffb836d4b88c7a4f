/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the Nsight Systems reader. */
#ifndef RLT_WORKLOAD_READERS_NSYS_NSYS_H
#define RLT_WORKLOAD_READERS_NSYS_NSYS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "workload/readers/kineto/kineto.h"
#include "workload/readers/nsys/database.h"

/* A process that launched device work: one rank. */
typedef struct rlt_nsys_process {
    int64_t id;         /* globalPid */
    int64_t device;     /* that of its first NCCL kernel, else of its first kernel */
    bool communicates;  /* has NCCL kernels */
    uint32_t recording; /* index in the run */
} rlt_nsys_process;

/* The fields of NCCL's payloads that are used. */
typedef enum rlt_nsys_field {
    RLT_NSYS_COMM,
    RLT_NSYS_BYTES,
    RLT_NSYS_ROOT,
    RLT_NSYS_PEER,
    RLT_NSYS_N_RANKS,
    RLT_NSYS_RANK,
    RLT_NSYS_FIELDS
} rlt_nsys_field;

/* Where a payload holds a field. */
typedef struct rlt_nsys_entry {
    uint64_t domain, schema;
    uint32_t offset, size; /* bytes */
    rlt_nsys_field field;
} rlt_nsys_entry;

/* A call of NCCL's interface, as its NVTX range tells. */
typedef struct rlt_nsys_call {
    int64_t begin, end;
    uint32_t recording, row;
    uint32_t name; /* text of the recording: "AllReduce" */
    uint32_t has;  /* bit f: the payload has field f */
    uint64_t value[RLT_NSYS_FIELDS];
} rlt_nsys_call;

/* A record of an event on a stream. */
typedef struct rlt_nsys_record {
    int64_t process, event, correlation, stream;
} rlt_nsys_record;

/* One file while it is read. */
typedef struct rlt_nsys_file {
    rlt_kin_run *run;
    const char *path, *mark;
    rlt_database *db;
    const char *table; /* being read, for messages */
    int64_t base;      /* begin of the session, ns since 1970 */
    uint64_t hash;
    rlt_nsys_process *processes;
    uint32_t n_processes, processes_capacity, last; /* last: found last */
    rlt_nsys_record *records;                       /* by process, event and correlation */
    uint32_t n_records, records_capacity;
    rlt_nsys_entry *entries;
    uint32_t n_entries, entries_capacity;
    rlt_nsys_call *calls;
    uint32_t n_calls, calls_capacity;
    rlt_error *err;
} rlt_nsys_file;

/* Returns the recording of a process or one of its threads; NULL: it launched nothing. */
rlt_kin_recording *rlt__nsys_recording(rlt_nsys_file *f, int64_t global);
/* Returns the row of a host thread. */
uint32_t rlt__nsys_thread(rlt_kin_recording *k, int64_t thread);
/* Returns the name of a communicator, a text of the recording. */
uint32_t rlt__nsys_communicator(rlt_kin_recording *k, uint64_t id);
/* Reads begin and duration from the first two columns. Returns 1, or 0 if the row has none. */
int rlt__nsys_times(rlt_nsys_file *f, rlt_rows *r, int64_t *begin, int64_t *duration) RLT_MUST_USE;
/* Calls `take` for each row of a query. */
int rlt__nsys_each(rlt_nsys_file *f, const char *sql,
                   int (*take)(rlt_nsys_file *f, rlt_rows *r)) RLT_MUST_USE;

/* Reads the ranges: steps, and NCCL's calls. */
int rlt__nsys_ranges(rlt_nsys_file *f) RLT_MUST_USE;
/* Gives the NCCL kernels of the file's recordings what the calls around their launches say. */
int rlt__nsys_match(rlt_nsys_file *f) RLT_MUST_USE;
/* Finds ranks and the members of communicators. */
int rlt__nsys_join(rlt_kin_run *run, rlt_error *err) RLT_MUST_USE;

#endif
