/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chakra traces as JSON, converted to messages. Two forms are read. The feeder's form is one object whose
 * "workload_graph" lists nodes with Id, Name, NodeType, data_deps, runtime (us) and attributes. The form of
 * chakra_jsonizer is a sequence of objects, one per message, as protobuf writes them: the metadata, then
 * nodes with attr [{"name": "comm_size", "int64Val": "1048576"}]. Protobuf writes 64-bit integers as
 * strings. The feeder ignores control dependencies of its form, and so does this.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "sim/text/protowire.h"
#include "workload/readers/chakra/node.h"

typedef struct conversion {
    const char *path, *at, *end;
    uint64_t line;
    rlt_pb_out out, message;
    rlt_error *err;
} conversion;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int fail(const conversion *c, uint64_t line, const char *what)
{
    char where[sizeof c->err->where];
    snprintf(where, sizeof where, "%.440s:%llu", c->path, (unsigned long long)line);
    return rlt_fail(c->err, RLT_EMALFORMED, where, "%s", what);
}

/* Skips blanks and, between elements of a list, commas. Returns the next byte, 0 at the end. */
static char skip(conversion *c)
{
    for (; c->at < c->end && (is_blank(*c->at) || *c->at == ','); c->at++)
        c->line += *c->at == '\n';
    return c->at < c->end ? *c->at : 0;
}

/* Finds the next object [*from, c->at). Returns 1, 0 if another byte or the end follows, or an error. */
static int next_object(conversion *c, const char **from, uint64_t *line)
{
    uint32_t depth = 0;
    bool text = false;
    if (skip(c) != '{')
        return 0;
    *from = c->at;
    *line = c->line;
    for (; c->at < c->end; c->at++) {
        char b = *c->at;
        c->line += b == '\n';
        if (text && b == '\\' && c->at + 1 < c->end)
            c->at++;
        else if (b == '"')
            text = !text;
        else if (!text && (b == '{' || b == '['))
            depth++;
        else if (!text && (b == '}' || b == ']') && --depth == 0) {
            c->at++;
            return 1;
        }
    }
    return fail(c, *line, "an object does not end");
}

/* Reads an integer, also one in quotes. Negative ones are sign-extended. */
static int integer(rlt_json v, uint64_t *out, rlt_error *err)
{
    char buffer[32], *end;
    const char *text = rlt_json_scalar(v, buffer, sizeof buffer);
    size_t digits = text ? strspn(text + (*text == '-'), "0123456789") : 0;
    errno = 0;
    if (digits)
        *out = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    if (!digits || *end || errno)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an integer");
    return 0;
}

/* Returns the member of either name; protobuf writes ctrlDeps or ctrl_deps. */
static rlt_json either(rlt_json v, const char *a, const char *b)
{
    rlt_json found = rlt_json_get(v, a);
    return rlt_json_is(found) ? found : rlt_json_get(v, b);
}

static int put_integer(rlt_pb_out *o, uint32_t field, rlt_json v, rlt_error *err)
{
    uint64_t value = 0;
    int rc = rlt_json_is(v) ? integer(v, &value, err) : 0;
    if (!rc && rlt_json_is(v))
        rlt__pb_put_uint(o, field, value);
    return rc;
}

static void put_text(rlt_pb_out *o, uint32_t field, const char *text)
{
    if (text)
        rlt__pb_put_bytes(o, field, text, strlen(text));
}

static int put_list(rlt_pb_out *o, uint32_t field, rlt_json list, rlt_error *err)
{
    rlt_pb_out packed = {0};
    int rc = 0;
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        uint64_t value = rlt_json_is_true(v);
        rlt_json inner = v;
        if (!rlt_json_is_true(v) && rlt_json_string(v) == NULL && !rlt_json_is_number(v))
            value = 0; /* false */
        else if (!rlt_json_is_true(v))
            rc = integer(inner, &value, err);
        rlt__pb_put_varint(&packed, value);
    }
    rlt__pb_put_bytes(o, field, packed.data, packed.length);
    o->failed = o->failed || packed.failed;
    rlt__pb_out_free(&packed);
    return rc;
}

/* Puts an attribute of a node, field 10, or of the metadata, field 2. `value`: its fields without the
 * name. */
static void put_attr(rlt_pb_out *o, uint32_t field, const char *name, const rlt_pb_out *value)
{
    rlt_pb_out whole = {0};
    rlt__pb_put_bytes(&whole, 1, name, strlen(name));
    rlt__pb_put_raw(&whole, value->data, value->length);
    rlt__pb_put_bytes(o, field, whole.data, whole.length);
    o->failed = o->failed || whole.failed || value->failed;
    rlt__pb_out_free(&whole);
}

/* Puts a value in the field of its kind: integers and bools of any kind as int64, lists as lists of uint64,
 * whose readers take any integer. Others (floats, bytes) are not used. */
static int put_value(rlt_pb_out *o, rlt_json v, rlt_error *err)
{
    const char *text = rlt_json_string(v);
    rlt_pb_out list = {0};
    int rc = 0;
    if (rlt_json_is_array(v)) {
        rc = put_list(&list, 1, v, err);
        rlt__pb_put_bytes(o, RLT_CHAKRA_UINT64_LIST, list.data, list.length);
        o->failed = o->failed || list.failed;
        rlt__pb_out_free(&list);
        return rc;
    }
    if (text)
        put_text(o, RLT_CHAKRA_STRING, text);
    else if (rlt_json_is_number(v))
        rc = put_integer(o, RLT_CHAKRA_INT64, v, err);
    else
        rlt__pb_put_uint(o, RLT_CHAKRA_BOOL, rlt_json_is_true(v));
    return rc;
}

/* Returns true for an attribute that is read. */
static bool is_known(const char *name)
{
    uint32_t a = 0;
    while (name && a < RLT_CHAKRA_ATTRS && strcmp(name, rlt__chakra_attr_names[a]) != 0)
        a++;
    return name && a < RLT_CHAKRA_ATTRS;
}

/* {"name": "comm_size", "int64Val": "1048576"}, or "...List": {"values": [...]} */
static int put_proto_attr(rlt_pb_out *o, uint32_t field, rlt_json attr, rlt_error *err)
{
    const char *name = rlt_json_string(rlt_json_get(attr, "name"));
    rlt_pb_out value = {0};
    int rc = 0;
    if (!is_known(name))
        return 0;
    for (rlt_json v = rlt_json_first(attr); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        const char *key = rlt_json_key(v);
        bool number = strstr(key, "int") || strstr(key, "fixed");
        if (strcmp(key, "name") == 0 || strncmp(key, "doc", 3) == 0 || strncmp(key, "float", 5) == 0 ||
            strncmp(key, "double", 6) == 0 || strncmp(key, "bytes", 5) == 0 ||
            (rlt_json_is_object(v) && strncmp(key, "string", 6) == 0))
            continue;
        if (rlt_json_is_object(v))
            rc = put_value(&value, rlt_json_get(v, "values"), err);
        else if (number)
            rc = put_integer(&value, RLT_CHAKRA_INT64, v, err);
        else
            rc = put_value(&value, v, err);
    }
    if (!rc)
        put_attr(o, field, name, &value);
    rlt__pb_out_free(&value);
    return rc;
}

static int put_type(rlt_pb_out *o, rlt_json v, rlt_error *err)
{
    static const char *const words[RLT_CHAKRA_TYPES] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                        "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                        "COMM_RECV_NODE", "COMM_COLL_NODE"};
    const char *text = rlt_json_string(v);
    for (uint32_t t = 0; text && t < RLT_CHAKRA_TYPES; t++)
        if (strcmp(text, words[t]) == 0) {
            rlt__pb_put_uint(o, 3, t);
            return 0;
        }
    return text ? rlt_json_fail(v, RLT_ESCHEMA, err, "unknown type of node '%.40s'", text)
                : put_integer(o, 3, v, err);
}

static int put_attrs(rlt_pb_out *o, uint32_t field, rlt_json list, rlt_error *err)
{
    int rc = 0;
    for (rlt_json a = rlt_json_first(list); rlt_json_is(a) && !rc; a = rlt_json_next(a))
        rc = put_proto_attr(o, field, a, err);
    return rc;
}

/* A node as protobuf writes it. */
static int put_proto_node(rlt_pb_out *o, rlt_json node, rlt_error *err)
{
    rlt_json inputs = rlt_json_get(node, "inputs");
    rlt_pb_out info = {0};
    put_text(o, 2, rlt_json_string(rlt_json_get(node, "name")));
    put_text(&info, 1, rlt_json_string(rlt_json_get(inputs, "values")));
    rlt__pb_put_bytes(o, 8, info.data, info.length);
    o->failed = o->failed || info.failed;
    rlt__pb_out_free(&info);
    int rc = put_integer(o, 1, rlt_json_get(node, "id"), err);
    rc = rc ? rc : put_type(o, rlt_json_get(node, "type"), err);
    rc = rc ? rc : put_list(o, 4, either(node, "ctrlDeps", "ctrl_deps"), err);
    rc = rc ? rc : put_list(o, 5, either(node, "dataDeps", "data_deps"), err);
    rc = rc ? rc : put_integer(o, 6, either(node, "startTimeMicros", "start_time_micros"), err);
    rc = rc ? rc : put_integer(o, 7, either(node, "durationMicros", "duration_micros"), err);
    return rc ? rc : put_attrs(o, 10, rlt_json_get(node, "attr"), err);
}

/* A node of the feeder's form: members that are not fields of a node are attributes. */
static int put_feeder_node(rlt_pb_out *o, rlt_json node, rlt_error *err)
{
    put_text(o, 2, rlt_json_string(rlt_json_get(node, "Name")));
    int rc = put_integer(o, 1, rlt_json_get(node, "Id"), err);
    rc = rc ? rc : put_type(o, rlt_json_get(node, "NodeType"), err);
    rc = rc ? rc : put_list(o, 5, rlt_json_get(node, "data_deps"), err);
    rc = rc ? rc : put_integer(o, 7, rlt_json_get(node, "runtime"), err);
    for (rlt_json v = rlt_json_first(node); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        rlt_pb_out value = {0};
        if (!is_known(rlt_json_key(v)))
            continue;
        rc = put_value(&value, v, err);
        if (!rc)
            put_attr(o, 10, rlt_json_key(v), &value);
        rlt__pb_out_free(&value);
    }
    return rc;
}

/* Appends c->message with its length. */
static void end_message(conversion *c)
{
    rlt__pb_put_varint(&c->out, c->message.length);
    rlt__pb_put_raw(&c->out, c->message.data, c->message.length);
    c->out.failed = c->out.failed || c->message.failed;
    c->message.length = 0;
}

typedef enum form { METADATA, PROTO_NODE, FEEDER_NODE } form;

static int convert(conversion *c, form as, const char *from, uint64_t line)
{
    rlt_json_doc *doc = NULL;
    rlt_error own = {0};
    int rc = rlt_json_parse("object", from, (size_t)(c->at - from), &doc, &own);
    rlt_json root = rc ? (rlt_json){0} : rlt_json_root(doc);
    if (!rc)
        rc = as == METADATA     ? put_attrs(&c->message, 2, rlt_json_get(root, "attr"), &own)
             : as == PROTO_NODE ? put_proto_node(&c->message, root, &own)
                                : put_feeder_node(&c->message, root, &own);
    rlt_json_free(doc);
    if (!rc)
        end_message(c);
    else if (c->err && !c->err->code) {
        char place[512];
        snprintf(place, sizeof place, "%.440s:%llu", c->path, (unsigned long long)line);
        rlt_error_prefix(&own, place);
        *c->err = own;
    }
    return rc;
}

/* Moves behind the bracket of "workload_graph". Returns false if the object has no such list. */
static bool enter_graph(conversion *c)
{
    static const char key[] = "\"workload_graph\"";
    for (const char *p = c->at; (size_t)(c->end - p) > sizeof key; p++) {
        if (memcmp(p, key, sizeof key - 1) != 0)
            continue;
        for (p += sizeof key - 1; p < c->end && (is_blank(*p) || *p == ':'); p++) {
        }
        if (p == c->end || *p != '[')
            return false;
        for (; c->at <= p; c->at++)
            c->line += *c->at == '\n';
        return true;
    }
    return false;
}

int rlt__chakra_from_json(const char *path, const char *text, size_t length, rlt_pb_out *out, rlt_error *err)
{
    conversion c = {.path = path, .at = text, .end = text + length, .line = 1, .err = err};
    const char *from;
    uint64_t line = 1;
    bool graph = enter_graph(&c);
    int rc;
    if (graph)
        end_message(&c);
    for (form as = graph ? FEEDER_NODE : METADATA; (rc = next_object(&c, &from, &line)) == 1;) {
        rc = convert(&c, as, from, line);
        if (rc)
            break;
        as = graph ? FEEDER_NODE : PROTO_NODE;
    }
    if (!rc && skip(&c) != (graph ? ']' : 0))
        rc = fail(&c, c.line, graph ? "expected a node or the end of workload_graph" : "expected an object");
    rlt__pb_out_free(&c.message);
    if (!rc && c.out.failed)
        rc = rlt_fail(err, RLT_ENOMEM, path, "out of memory");
    if (rc)
        rlt__pb_out_free(&c.out);
    *out = c.out;
    return rc;
}

bool rlt__chakra_is_json(const char *head, size_t n)
{
    static const char *const words[] = {"\"workload_graph\"", "\"ctrlDeps\"", "\"dataDeps\"", "_NODE\""};
    size_t at = 0;
    while (at < n && is_blank(head[at]))
        at++;
    if (at == n || head[at] != '{')
        return false;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        size_t length = strlen(words[w]);
        for (size_t i = at; i + length <= n; i++)
            if (head[i] == words[w][0] && memcmp(head + i, words[w], length) == 0)
                return true;
    }
    return false;
}
