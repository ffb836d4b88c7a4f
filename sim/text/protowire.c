/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protobuf wire format. */
#include "sim/text/protowire.h"

#include <stdlib.h>
#include <string.h>

int rlt__pb_long_varint(rlt_pb *r, uint64_t *value)
{
    uint64_t v = 0;
    const uint8_t *p = r->at;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (p == r->end)
            return RLT_EMALFORMED;
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            return RLT_EMALFORMED;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            r->at = p;
            *value = v;
            return 0;
        }
    }
    return RLT_EMALFORMED;
}

static inline int read_piece(rlt_pb *r, rlt_pb *piece)
{
    rlt_pb from = *r;
    uint64_t length;
    if (rlt__pb_varint(&from, &length) < 0 || length > (uint64_t)(from.end - from.at))
        return RLT_EMALFORMED;
    piece->at = from.at;
    piece->end = from.at + length;
    r->at = piece->end;
    return 0;
}

int rlt__pb_piece(rlt_pb *r, rlt_pb *piece)
{
    return read_piece(r, piece);
}

static int fixed(rlt_pb *r, unsigned bytes, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < bytes)
        return RLT_EMALFORMED;
    *value = 0;
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)r->at[i] << 8 * i;
    r->at += bytes;
    return 0;
}

int rlt__pb_next(rlt_pb *r, rlt_pb_field *f)
{
    if (r->at == r->end)
        return 0;
    rlt_pb from = *r;
    uint64_t key;
    int rc = rlt__pb_varint(&from, &key);
    if (rc < 0 || key >> 3 == 0 || key >> 3 > 0x1fffffff)
        return RLT_EMALFORMED;
    *f = (rlt_pb_field){.number = (uint32_t)(key >> 3), .wire = key & 7};
    switch (f->wire) {
    case RLT_PB_VARINT:
        rc = rlt__pb_varint(&from, &f->value);
        break;
    case RLT_PB_FIXED64:
        rc = fixed(&from, 8, &f->value);
        break;
    case RLT_PB_BYTES:
        rc = read_piece(&from, &f->bytes);
        break;
    case RLT_PB_FIXED32:
        rc = fixed(&from, 4, &f->value);
        break;
    default:
        rc = RLT_EMALFORMED;
    }
    if (rc < 0)
        return rc;
    r->at = from.at;
    return 1;
}

void rlt__pb_put_raw(rlt_pb_out *o, const void *data, size_t length)
{
    if (o->failed || length == 0)
        return;
    if (length > SIZE_MAX / 4 - o->length) {
        o->failed = true;
        return;
    }
    if (o->length + length > o->capacity) {
        size_t capacity = (o->length + length) * 2;
        uint8_t *grown = realloc(o->data, capacity);
        if (!grown) {
            o->failed = true;
            return;
        }
        o->data = grown;
        o->capacity = capacity;
    }
    memcpy(o->data + o->length, data, length);
    o->length += length;
}

void rlt__pb_put_varint(rlt_pb_out *o, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    while (value >= 0x80) {
        bytes[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (uint8_t)value;
    rlt__pb_put_raw(o, bytes, n);
}

void rlt__pb_put_uint(rlt_pb_out *o, uint32_t number, uint64_t value)
{
    rlt__pb_put_varint(o, (uint64_t)number << 3 | RLT_PB_VARINT);
    rlt__pb_put_varint(o, value);
}

void rlt__pb_put_bytes(rlt_pb_out *o, uint32_t number, const void *data, size_t length)
{
    rlt__pb_put_varint(o, (uint64_t)number << 3 | RLT_PB_BYTES);
    rlt__pb_put_varint(o, length);
    rlt__pb_put_raw(o, data, length);
}

void rlt__pb_out_free(rlt_pb_out *o)
{
    free(o->data);
    *o = (rlt_pb_out){0};
}
