/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes Chakra messages. */
#include "workload/readers/chakra/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/text/file.h"

#define MAX_FILE_BYTES ((size_t)1 << 31)

enum { JSON_HEAD = 1 << 16, MAX_NODE_DEPS = 1 << 26, FIRST_VALUE_FIELD = 3, LAST_VALUE_FIELD = 32 };

const char *const rlt__chakra_attr_names[RLT_CHAKRA_ATTRS] = {
#define RLT_X(e, name) [RLT_CHAKRA_ATTR_##e] = name,
    RLT_CHAKRA_ATTR_LIST(RLT_X)
#undef RLT_X
};
static const size_t attr_lengths[RLT_CHAKRA_ATTRS] = {
#define RLT_X(e, name) [RLT_CHAKRA_ATTR_##e] = sizeof name - 1,
    RLT_CHAKRA_ATTR_LIST(RLT_X)
#undef RLT_X
};

/* Kinds of values in the order of their fields, each with its wire type and the encoding of its integer. */
typedef enum number_kind { NOT_INTEGER, PLAIN, ZIGZAG, SIGNED32 } number_kind;
static const struct value_kind {
    uint8_t wire, number;
} value_kinds[] = {
    {RLT_PB_FIXED64, NOT_INTEGER}, /* double */
    {RLT_PB_FIXED32, NOT_INTEGER}, /* float */
    {RLT_PB_VARINT, PLAIN},        /* int32: negative values are ten bytes, sign-extended */
    {RLT_PB_VARINT, PLAIN},        /* int64 */
    {RLT_PB_VARINT, PLAIN},        /* uint32 */
    {RLT_PB_VARINT, PLAIN},        /* uint64 */
    {RLT_PB_VARINT, ZIGZAG},       /* sint32 */
    {RLT_PB_VARINT, ZIGZAG},       /* sint64 */
    {RLT_PB_FIXED32, PLAIN},       /* fixed32 */
    {RLT_PB_FIXED64, PLAIN},       /* fixed64 */
    {RLT_PB_FIXED32, SIGNED32},    /* sfixed32 */
    {RLT_PB_FIXED64, PLAIN},       /* sfixed64 */
    {RLT_PB_VARINT, PLAIN},        /* bool */
    {RLT_PB_BYTES, NOT_INTEGER},   /* string */
    {RLT_PB_BYTES, NOT_INTEGER},   /* bytes */
};

static uint64_t convert(uint8_t number, uint64_t raw)
{
    if (number == ZIGZAG)
        return (uint64_t)rlt__pb_zigzag(raw);
    if (number == SIGNED32)
        return (uint64_t)(int64_t)(int32_t)(uint32_t)raw;
    return raw;
}

static int malformed(const rlt_chakra_file *f, const uint8_t *at, const char *what, rlt_error *err)
{
    int rc = rlt_fail(err, RLT_EMALFORMED, NULL, "%s", what);
    char place[64];
    snprintf(place, sizeof place, "byte %zu", (size_t)(at - (const uint8_t *)f->text));
    rlt_error_prefix(err, place);
    rlt_error_prefix(err, f->path);
    return rc;
}

static rlt_chakra_attr find_attr(rlt_pb name)
{
    size_t length = (size_t)(name.end - name.at);
    for (int a = 0; a < RLT_CHAKRA_ATTRS; a++)
        if (attr_lengths[a] == length && memcmp(rlt__chakra_attr_names[a], name.at, length) == 0)
            return (rlt_chakra_attr)a;
    return RLT_CHAKRA_ATTRS;
}

/* Skips a field as unknown, as protobuf does, if its wire type does not fit its kind. */
static void take_value(const rlt_pb_field *field, rlt_chakra_value *value)
{
    if (field->number < FIRST_VALUE_FIELD || field->number > LAST_VALUE_FIELD)
        return;
    const struct value_kind *kind = &value_kinds[(field->number - FIRST_VALUE_FIELD) / 2];
    bool is_list = (field->number - FIRST_VALUE_FIELD) % 2 == 1;
    if (field->wire != (is_list ? RLT_PB_BYTES : kind->wire))
        return;
    *value = (rlt_chakra_value){
        .field = field->number, .integer = convert(kind->number, field->value), .bytes = field->bytes};
}

static int take_attr(const rlt_chakra_file *f, rlt_pb message, rlt_chakra_node *node, rlt_error *err)
{
    rlt_pb_field field;
    rlt_pb name = {NULL, NULL};
    rlt_chakra_value value = {0};
    int rc;
    while ((rc = rlt__pb_next(&message, &field)) > 0) {
        if (field.number == 1 && field.wire == RLT_PB_BYTES)
            name = field.bytes;
        else
            take_value(&field, &value);
    }
    if (rc < 0)
        return malformed(f, message.at, "a field of an attribute is truncated or has a wrong type", err);
    rlt_chakra_attr a = name.at ? find_attr(name) : RLT_CHAKRA_ATTRS;
    if (a < RLT_CHAKRA_ATTRS)
        node->attr[a] = value;
    return 0;
}

static int add_dep(rlt_chakra_node *node, uint64_t id, bool ctrl, rlt_error *err)
{
    int rc = rlt_grow(&node->deps, &node->deps_capacity, sizeof *node->deps, (uint64_t)node->n_deps + 1,
                      MAX_NODE_DEPS, "dependencies of one node", err);
    if (rc < 0)
        return rc;
    if (ctrl) { /* keeps control dependencies in front; their order does not matter */
        node->deps[node->n_deps++] = node->deps[node->n_ctrl];
        node->deps[node->n_ctrl++] = id;
    } else {
        node->deps[node->n_deps++] = id;
    }
    return 0;
}

static int take_deps(const rlt_chakra_file *f, const rlt_pb_field *field, rlt_chakra_node *node,
                     rlt_error *err)
{
    bool ctrl = field->number == 4;
    if (field->wire == RLT_PB_VARINT)
        return add_dep(node, field->value, ctrl, err);
    rlt_pb packed = field->bytes;
    while (packed.at < packed.end) {
        uint64_t id;
        if (rlt__pb_varint(&packed, &id) < 0)
            return malformed(f, packed.at, "a list of dependencies is truncated", err);
        int rc = add_dep(node, id, ctrl, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int take_inputs(const rlt_chakra_file *f, rlt_pb message, rlt_chakra_node *node, rlt_error *err)
{
    rlt_pb_field field;
    int rc;
    while ((rc = rlt__pb_next(&message, &field)) > 0)
        if (field.number == 1 && field.wire == RLT_PB_BYTES)
            node->input_values = field.bytes;
    return rc < 0 ? malformed(f, message.at, "the inputs of a node are truncated", err) : 0;
}

static int take_field(const rlt_chakra_file *f, const rlt_pb_field *field, rlt_chakra_node *node,
                      rlt_error *err)
{
    bool varint = field->wire == RLT_PB_VARINT, bytes = field->wire == RLT_PB_BYTES;
    switch (field->number) {
    case 1:
        node->id = varint ? field->value : node->id;
        return 0;
    case 2:
        node->name = bytes ? field->bytes : node->name;
        return 0;
    case 3:
        node->type = !varint ? node->type : field->value < UINT32_MAX ? (uint32_t)field->value : UINT32_MAX;
        return 0;
    case 4:
    case 5:
        return varint || bytes ? take_deps(f, field, node, err) : 0;
    case 6:
        node->has_start = varint;
        node->start_us = varint ? field->value : 0;
        return 0;
    case 7:
        node->has_duration = varint;
        node->duration_us = varint ? field->value : 0;
        return 0;
    case 8:
        return bytes ? take_inputs(f, field->bytes, node, err) : 0;
    case 10:
        return bytes ? take_attr(f, field->bytes, node, err) : 0;
    default:
        return 0;
    }
}

static void clear(rlt_chakra_node *node)
{
    *node = (rlt_chakra_node){.deps = node->deps, .deps_capacity = node->deps_capacity};
}

void rlt__chakra_close(rlt_chakra_file *f)
{
    free(f->text);
    *f = (rlt_chakra_file){0};
}

/* Reads the next length-prefixed message. Returns 1, or 0 at the end. */
static int next_message(rlt_chakra_file *f, rlt_pb *message, rlt_error *err)
{
    if (f->rest.at == f->rest.end)
        return 0;
    const uint8_t *start = f->rest.at;
    if (rlt__pb_piece(&f->rest, message) == 0)
        return 1;
    rlt_pb r = f->rest;
    uint64_t length;
    if (rlt__pb_varint(&r, &length) < 0)
        return malformed(f, start, "the length of a message is truncated or wrong", err);
    char what[128];
    snprintf(what, sizeof what, "a message of %" PRIu64 " bytes is cut short: only %zu bytes are left",
             length, (size_t)(r.end - r.at));
    return malformed(f, start, what, err);
}

/* Replaces the text by the messages that it stands for. */
static int open_json(rlt_chakra_file *f, rlt_error *err)
{
    rlt_pb_out messages = {0};
    int rc = rlt__chakra_from_json(f->path, f->text, f->length, &messages, err);
    if (rc == 0) {
        free(f->text);
        f->text = (char *)messages.data;
        f->length = messages.length;
    }
    return rc;
}

int rlt__chakra_open(const char *path, rlt_chakra_file *f, rlt_chakra_node *node, rlt_error *err)
{
    *f = (rlt_chakra_file){.path = path};
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &f->text, &f->length, err);
    if (rc == 0 && rlt__chakra_is_json(f->text, f->length < JSON_HEAD ? f->length : JSON_HEAD))
        rc = open_json(f, err);
    if (rc < 0) {
        rlt__chakra_close(f);
        return rc;
    }
    f->rest = (rlt_pb){(const uint8_t *)f->text, (const uint8_t *)f->text + f->length};
    clear(node);
    rlt_pb message = f->rest;
    rlt_pb_field field;
    rc = next_message(f, &message, err);
    if (rc == 0)
        rc = malformed(f, f->rest.at,
                       "the file is empty: expected a Chakra trace, which begins with its metadata", err);
    while (rc > 0 && (rc = rlt__pb_next(&message, &field)) > 0) {
        if (field.number == 2 && field.wire == RLT_PB_BYTES && take_attr(f, field.bytes, node, err) < 0)
            rc = RLT_EMALFORMED;
    }
    if (rc < 0) {
        malformed(f, message.at, "the first message is not Chakra metadata", err);
        rlt__chakra_close(f);
    }
    return rc;
}

int rlt__chakra_next(rlt_chakra_file *f, rlt_chakra_node *node, rlt_error *err)
{
    rlt_pb message;
    rlt_pb_field field;
    clear(node);
    int rc = next_message(f, &message, err);
    if (rc <= 0)
        return rc;
    while ((rc = rlt__pb_next(&message, &field)) > 0) {
        rc = take_field(f, &field, node, err);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? malformed(f, message.at, "a field of a node is truncated or has a wrong type", err) : 1;
}

/* Returns true if a whole message has the wire types `known`. Fields with unknown numbers may have any. */
static bool plausible(rlt_pb message, const uint8_t *known, uint32_t n)
{
    rlt_pb_field field;
    int rc;
    while ((rc = rlt__pb_next(&message, &field)) > 0)
        if (field.number < n && known[field.number] != field.wire &&
            !(known[field.number] == 9 && field.wire == 0))
            return false;
    return rc == 0;
}

int rlt__chakra_probe(const char *path, const char *head, size_t n)
{
    static const uint8_t metadata_wires[] = {0, 2, 2};
    static const uint8_t node_wires[] = {0, 0, 2, 0, 9, 9, 0, 0, 2, 2, 2}; /* 9: packed or not */
    uint8_t wires[sizeof node_wires];
    size_t length = strlen(path);
    bool named = (length > 3 && strcmp(path + length - 3, ".et") == 0) ||
                 (length > 6 && strcmp(path + length - 6, ".et.gz") == 0);
    rlt_pb rest = {(const uint8_t *)head, (const uint8_t *)head + n}, message;
    uint64_t first_length;
    rlt_pb peek = rest;
    if (rlt__chakra_is_json(head, n))
        return 96;
    if (rlt__pb_varint(&peek, &first_length) < 0)
        return 0;
    if (rlt__pb_piece(&rest, &message) < 0) /* the metadata are longer than the head */
        return named && peek.at < peek.end && (*peek.at == 0x0a || *peek.at == 0x12) ? 50 : 0;
    if (!plausible(message, metadata_wires, sizeof metadata_wires))
        return 0;
    if (rest.at == rest.end)
        return named || first_length > 0 ? 40 : 0;
    for (size_t i = 0; i < sizeof wires; i++)
        wires[i] = node_wires[i] == 9 ? RLT_PB_BYTES : node_wires[i];
    if (rlt__pb_piece(&rest, &message) < 0)
        return named ? 50 : 0;
    return plausible(message, node_wires, sizeof node_wires) || plausible(message, wires, sizeof wires) ? 95
                                                                                                        : 0;
}

static int wrong_attr(const rlt_chakra_node *n, rlt_chakra_attr a, const char *what, rlt_error *err)
{
    char name[128];
    snprintf(name, sizeof name, "node %" PRIu64 " '%.*s'", n->id,
             (int)(n->name.end - n->name.at > 80 ? 80 : n->name.end - n->name.at), (const char *)n->name.at);
    return rlt_fail(err, RLT_ESCHEMA, name, "attribute %s %s", rlt__chakra_attr_names[a], what);
}

static const struct value_kind *kind_of(uint32_t field)
{
    return &value_kinds[(field - FIRST_VALUE_FIELD) / 2];
}

int rlt__chakra_u64(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t max, uint64_t *out, rlt_error *err)
{
    const rlt_chakra_value *v = &n->attr[a];
    if (v->field == 0)
        return 0;
    if ((v->field - FIRST_VALUE_FIELD) % 2 == 1 || kind_of(v->field)->number == NOT_INTEGER)
        return wrong_attr(n, a, "is not an integer", err);
    if (v->integer > max) {
        char what[96];
        bool is_signed = v->field != RLT_CHAKRA_UINT64 && (v->integer >> 63);
        if (is_signed)
            snprintf(what, sizeof what, "is %" PRId64 ", expected 0 to %" PRIu64, (int64_t)v->integer, max);
        else
            snprintf(what, sizeof what, "is %" PRIu64 ", expected 0 to %" PRIu64, v->integer, max);
        return wrong_attr(n, a, what, err);
    }
    *out = v->integer;
    return 1;
}

int rlt__chakra_integers(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t *out, uint32_t max,
                         uint32_t *count, rlt_error *err)
{
    const rlt_chakra_value *v = &n->attr[a];
    *count = 0;
    if (v->field == 0)
        return 0;
    const struct value_kind *kind = kind_of(v->field);
    if ((v->field - FIRST_VALUE_FIELD) % 2 == 0 || kind->number == NOT_INTEGER)
        return wrong_attr(n, a, "is not a list of integers or bools", err);
    rlt_pb message = v->bytes;
    rlt_pb_field field;
    int rc;
    while ((rc = rlt__pb_next(&message, &field)) > 0) {
        if (field.number != 1)
            continue;
        bool packed = field.wire == RLT_PB_BYTES;
        rlt_pb list = field.bytes;
        while (packed ? list.at < list.end : field.wire == kind->wire) {
            uint64_t raw = field.value;
            if (packed && kind->wire == RLT_PB_VARINT && rlt__pb_varint(&list, &raw) < 0)
                return wrong_attr(n, a, "is cut short", err);
            if (packed && kind->wire != RLT_PB_VARINT) {
                size_t size = kind->wire == RLT_PB_FIXED64 ? 8 : 4;
                if ((size_t)(list.end - list.at) < size)
                    return wrong_attr(n, a, "is cut short", err);
                raw = 0;
                for (size_t i = 0; i < size; i++)
                    raw |= (uint64_t)list.at[i] << 8 * i;
                list.at += size;
            }
            if (*count < max)
                out[*count] = convert(kind->number, raw);
            ++*count;
            if (!packed)
                break;
        }
    }
    return rc < 0 ? wrong_attr(n, a, "is cut short", err) : 0;
}
