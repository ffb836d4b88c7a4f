/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The protobuf wire format: bounded reading, and writing into a growing buffer. Other files interpret
 * messages. Wire types: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes (little-endian);
 * protobuf.dev, "Encoding". Groups (3, 4) count as malformed.
 */
#ifndef RLT_SIM_TEXT_PROTOWIRE_H
#define RLT_SIM_TEXT_PROTOWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

enum { RLT_PB_VARINT = 0, RLT_PB_FIXED64 = 1, RLT_PB_BYTES = 2, RLT_PB_FIXED32 = 5 };

/* Bytes that remain to be read. After a failure, `at` is the offending byte. */
typedef struct rlt_pb {
    const uint8_t *at, *end;
} rlt_pb;

typedef struct rlt_pb_field {
    uint32_t number;
    uint8_t wire;
    uint64_t value; /* varint and fixed */
    rlt_pb bytes;   /* length and bytes */
} rlt_pb_field;

int rlt__pb_long_varint(rlt_pb *r, uint64_t *value) RLT_MUST_USE;
/* Reads a varint. RLT_EMALFORMED if it is cut short or longer than ten bytes. Most have one byte. */
static inline int RLT_MUST_USE rlt__pb_varint(rlt_pb *r, uint64_t *value)
{
    if (r->at == r->end || *r->at >= 0x80)
        return rlt__pb_long_varint(r, value);
    *value = *r->at++;
    return 0;
}
/* Reads a length-prefixed piece, which must fit into the remaining bytes. */
int rlt__pb_piece(rlt_pb *r, rlt_pb *piece) RLT_MUST_USE;
/* Reads a field. Returns 1, 0 at the end, or RLT_EMALFORMED. */
int rlt__pb_next(rlt_pb *r, rlt_pb_field *f) RLT_MUST_USE;

static inline int64_t rlt__pb_zigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

typedef struct rlt_pb_out {
    uint8_t *data;
    size_t length, capacity;
    bool failed; /* memory is exhausted; check once at the end */
} rlt_pb_out;

void rlt__pb_put_raw(rlt_pb_out *o, const void *data, size_t length);
void rlt__pb_put_varint(rlt_pb_out *o, uint64_t value);
void rlt__pb_put_uint(rlt_pb_out *o, uint32_t number, uint64_t value);
void rlt__pb_put_bytes(rlt_pb_out *o, uint32_t number, const void *data, size_t length);
void rlt__pb_out_free(rlt_pb_out *o);

#endif
