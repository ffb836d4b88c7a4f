/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An MSCCL file as it stands, before matching. Internal to the reader. */
#ifndef RLT_COLLECTIVES_FORMATS_MSCCL_RAW_H
#define RLT_COLLECTIVES_FORMATS_MSCCL_RAW_H

#include "collectives/collective.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

enum { RLT_MSCCL_MAX_GPUS = 1 << 12, RLT_MSCCL_MAX_CHUNKS = 1 << 22, RLT_MSCCL_MAX_STEPS = 1 << 22 };

/* X(enumerator, name) */
#define RLT_MSCCL_STEP_LIST(X)                                                                               \
    X(RLT_MSCCL_SEND, "s")                                                                                   \
    X(RLT_MSCCL_RECV, "r")                                                                                   \
    X(RLT_MSCCL_RCS, "rcs")                                                                                  \
    X(RLT_MSCCL_RRS, "rrs")                                                                                  \
    X(RLT_MSCCL_RRC, "rrc")                                                                                  \
    X(RLT_MSCCL_RRCS, "rrcs")                                                                                \
    X(RLT_MSCCL_COPY, "cpy")                                                                                 \
    X(RLT_MSCCL_REDUCE, "re")                                                                                \
    X(RLT_MSCCL_NOP, "nop")

typedef enum rlt_msccl_type {
#define RLT_X(e, name) e,
    RLT_MSCCL_STEP_LIST(RLT_X)
#undef RLT_X
        RLT_MSCCL_TYPES
} rlt_msccl_type;

/* Place in a buffer of a gpu: 'i', 'o' or 's'. */
typedef struct rlt_msccl_ref {
    char buffer;
    uint32_t offset;
} rlt_msccl_ref;

typedef struct rlt_msccl_step {
    uint8_t type;
    rlt_msccl_ref src, dst; /* on this gpu, if the type uses them */
    uint32_t count, line;
    uint32_t dep_tb, dep_step; /* dep_tb: id of a thread block, not its index; RLT_NONE: no dependency */
    uint32_t tb;
    /* the step that sends what this one receives; the step that receives what it sends; filled in later */
    uint32_t from, to;
    uint32_t first_at, recv_at, send_at, end_at; /* its steps in the lane; filled in later */
} rlt_msccl_step;

typedef struct rlt_msccl_tb {
    uint32_t gpu, id, send, recv, channel, line; /* send, recv: peer, or RLT_NONE */
    uint32_t first, n;                           /* steps */
    uint32_t temporary;                          /* chunks that its rrs steps need; later their place in s */
} rlt_msccl_tb;

typedef struct rlt_msccl_gpu {
    uint32_t chunks[3]; /* number of chunks in i, o, s */
    uint32_t line;      /* 0: the gpu is missing */
    uint32_t first, n;  /* thread blocks */
} rlt_msccl_gpu;

typedef struct rlt_msccl {
    const char *file;
    char name[64];
    rlt_coll_kind kind;
    uint32_t root, n_gpus, chunks, line; /* chunks: nchunksperloop */
    bool in_place;
    rlt_msccl_gpu *gpus;
    rlt_msccl_tb *tbs;
    rlt_msccl_step *steps;
    uint32_t n_tbs, tb_capacity, n_steps, step_capacity;
    uint32_t gpu; /* gpu being read */
} rlt_msccl;

static inline bool rlt_msccl_receives(uint8_t type)
{
    return type >= RLT_MSCCL_RECV && type <= RLT_MSCCL_RRCS;
}
static inline bool rlt_msccl_sends(uint8_t type)
{
    return type == RLT_MSCCL_SEND || type == RLT_MSCCL_RCS || type == RLT_MSCCL_RRS || type == RLT_MSCCL_RRCS;
}

/* Matches sends and receives and makes a plan. The plan is not checked yet. */
int rlt_msccl_build(rlt_msccl *m, rlt_listed *out, rlt_error *err) RLT_MUST_USE;

#endif
