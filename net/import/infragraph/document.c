/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the objects of a document, and counts vertices before any is made. */
#include "net/import/infragraph/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/read.h"
#include "sim/text/yaml.h"

enum { MAX_COUNT = RLT_MAX_FILE_NODES, MAX_NESTED = 32 };

static const char *const choices[] = {"cpu",    "xpu",    "nic",    "memory", "port",
                                      "switch", "custom", "device", NULL};

/* Refuses names that a path could not spell. Schema: letters, digits, blanks and -_()><[]. */
static int check_name(rlt_json of, const char *name, rlt_error *err)
{
    size_t n = strlen(name);
    if (n == 0 || n > 120 || strpbrk(name, ".[]:"))
        return rlt_json_fail(rlt_json_get(of, "name"), RLT_ESCHEMA, err,
                             "expected a name of 1 to 120 bytes without . [ ] and :");
    return 0;
}

/* Adds a name to a list of its kind. */
static int add_name(rlt__ig_document *d, rlt_json of, const char *name, rlt_strings *names, uint32_t index)
{
    int rc = check_name(of, name, d->err);
    if (rc < 0)
        return rc;
    uint32_t k = rlt_intern(names, name, strlen(name));
    if (k == RLT_NONE)
        return rlt_nomem(d->err);
    return k == index ? 0
                      : rlt_json_fail(rlt_json_get(of, "name"), RLT_ESCHEMA, d->err,
                                      "the name '%.60s' is given twice", name);
}

static int expect_list(rlt_json list, const char *of, rlt_error *err)
{
    return rlt_json_is_array(list) ? 0 : rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of %s", of);
}

/* ---- devices ---- */

static int read_component(rlt__ig_document *d, rlt_json v, rlt__ig_device *device)
{
    static const char *const keys[] = {"name", "description", "count",  "choice", "custom", "device", "cpu",
                                       "xpu",  "nic",         "memory", "port",   "switch", NULL};
    rlt__ig_component *c = &device->components[device->n_components];
    const char *choice = NULL;
    uint64_t count = 0;
    uint32_t k = 0;
    int rc;
    if ((rc = rlt_json_only(v, keys, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "name", true, &c->name, d->err)) < 0 ||
        (rc = rlt_json_get_u64(v, "count", true, MAX_COUNT, &count, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "choice", true, &choice, d->err)) < 0 ||
        (rc = add_name(d, v, c->name, &device->names, device->n_components)) < 0)
        return rc;
    while (choices[k] && strcmp(choices[k], choice) != 0)
        k++;
    if (!choices[k])
        return rlt_json_fail(rlt_json_get(v, "choice"), RLT_ESCHEMA, d->err,
                             "unknown kind '%.40s', expected cpu, xpu, nic, memory, port, switch, custom or "
                             "device",
                             choice);
    if (count == 0)
        return rlt_json_fail(rlt_json_get(v, "count"), RLT_ERANGE, d->err, "expected at least 1");
    c->choice = (rlt__ig_choice)k;
    c->count = (uint32_t)count;
    c->device = RLT_NONE;
    device->n_components++;
    device->ports |= c->choice == RLT__IG_PORT || c->choice == RLT__IG_NIC;
    return 0;
}

static int read_device(rlt__ig_document *d, rlt_json v)
{
    static const char *const keys[] = {"name", "description", "components", "links", "edges", NULL};
    rlt__ig_device *device = &d->devices[d->n_devices];
    rlt_json list = rlt_json_get(v, "components");
    int rc;
    device->at = v;
    if ((rc = rlt_json_only(v, keys, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "name", true, &device->name, d->err)) < 0 ||
        (rc = add_name(d, v, device->name, &d->device_names, d->n_devices)) < 0)
        return rc;
    d->n_devices++;
    if (!rlt_json_is_array(list) || rlt_json_count(list) == 0)
        return rlt_json_fail(rlt_json_is(list) ? list : v, RLT_ESCHEMA, d->err,
                             "expected 'components', a list of at least one");
    device->components = rlt_arena_array(&d->arena, rlt_json_count(list), sizeof *device->components);
    if (!device->components)
        return rlt_nomem(d->err);
    for (rlt_json c = rlt_json_first(list); rlt_json_is(c); c = rlt_json_next(c))
        if ((rc = read_component(d, c, device)) < 0)
            return rc;
    return rlt__ig_links_read(d, rlt_json_get(v, "links"), &device->links);
}

static int read_devices(rlt__ig_document *d)
{
    rlt_json list = rlt_json_get(d->root, "devices");
    int rc = expect_list(list, "devices", d->err);
    if (rc < 0)
        return rc;
    d->devices = rlt_arena_array(&d->arena, rlt_json_count(list) + 1ull, sizeof *d->devices);
    if (!d->devices)
        return rlt_nomem(d->err);
    for (rlt_json v = rlt_json_first(list); rc == 0 && rlt_json_is(v); v = rlt_json_next(v))
        rc = read_device(d, v);
    return rc;
}

/* ---- layout ---- */

static rlt_json component_at(const rlt__ig_device *device, uint32_t i)
{
    return rlt_json_at(rlt_json_get(device->at, "components"), i);
}

/* Lays out the vertices of a device, and of those inside it first. */
static int lay_out(rlt__ig_document *d, uint32_t index, uint32_t depth)
{
    rlt__ig_device *device = &d->devices[index];
    uint64_t size = 0;
    if (device->state == 2)
        return 0;
    if (device->state == 1 || depth > MAX_NESTED)
        return rlt_json_fail(device->at, RLT_ESCHEMA, d->err,
                             device->state ? "device '%.60s' contains itself"
                                           : "device '%.60s' is nested too deeply",
                             device->name);
    device->state = 1;
    for (uint32_t i = 0; i < device->n_components; i++) {
        rlt__ig_component *c = &device->components[i];
        c->first = (uint32_t)size;
        c->stride = 1;
        device->xpu |= c->choice == RLT__IG_XPU;
        if (c->choice == RLT__IG_DEVICE) {
            c->device = rlt_intern_find(&d->device_names, c->name, strlen(c->name));
            if (c->device == RLT_NONE)
                return rlt_json_fail(component_at(device, i), RLT_ESCHEMA, d->err,
                                     "no device is named '%.60s', as this component is", c->name);
            int rc = lay_out(d, c->device, depth + 1);
            if (rc < 0)
                return rc;
            c->stride = d->devices[c->device].size;
            device->xpu |= d->devices[c->device].xpu;
        }
        size += (uint64_t)c->count * c->stride;
        if (size > RLT_MAX_FILE_NODES)
            return rlt_json_fail(component_at(device, i), RLT_ERANGE, d->err,
                                 "device '%.60s' has more than %d vertices", device->name,
                                 RLT_MAX_FILE_NODES);
    }
    device->size = (uint32_t)size;
    device->state = 2;
    return 0;
}

static int read_instance(rlt__ig_document *d, rlt_json v)
{
    static const char *const keys[] = {"name", "description", "device", "count", NULL};
    rlt__ig_instance *instance = &d->instances[d->n_instances];
    const char *device = NULL;
    uint64_t count = 0;
    int rc;
    if ((rc = rlt_json_only(v, keys, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "name", true, &instance->name, d->err)) < 0 ||
        (rc = rlt_json_get_string(v, "device", true, &device, d->err)) < 0 ||
        (rc = rlt_json_get_u64(v, "count", true, MAX_COUNT, &count, d->err)) < 0 ||
        (rc = add_name(d, v, instance->name, &d->instance_names, d->n_instances)) < 0)
        return rc;
    instance->device = rlt_intern_find(&d->device_names, device, strlen(device));
    if (instance->device == RLT_NONE)
        return rlt_json_fail(rlt_json_get(v, "device"), RLT_ESCHEMA, d->err, "no device is named '%.60s'",
                             device);
    if (count == 0)
        return rlt_json_fail(rlt_json_get(v, "count"), RLT_ERANGE, d->err, "expected at least 1");
    if ((rc = lay_out(d, instance->device, 0)) < 0)
        return rc;
    instance->count = (uint32_t)count;
    instance->first = d->n_vertices;
    d->n_instances++;
    uint64_t n = d->n_vertices + count * d->devices[instance->device].size;
    if (n > RLT_MAX_FILE_NODES)
        return rlt_json_fail(v, RLT_ERANGE, d->err, "more than %d vertices up to this instance",
                             RLT_MAX_FILE_NODES);
    d->n_vertices = (uint32_t)n;
    return 0;
}

static int read_instances(rlt__ig_document *d)
{
    rlt_json list = rlt_json_get(d->root, "instances");
    int rc = expect_list(list, "instances", d->err);
    if (rc < 0)
        return rc;
    if (rlt_json_count(list) == 0)
        return rlt_json_fail(list, RLT_ESCHEMA, d->err, "expected at least one instance of a device");
    d->instances = rlt_arena_array(&d->arena, rlt_json_count(list), sizeof *d->instances);
    if (!d->instances)
        return rlt_nomem(d->err);
    for (rlt_json v = rlt_json_first(list); rc == 0 && rlt_json_is(v); v = rlt_json_next(v))
        rc = read_instance(d, v);
    return rc;
}

/* ---- the document ---- */

/* The service answers with an object of two: the infrastructure and its annotations. */
static int find_root(rlt__ig_document *d)
{
    static const char *const outer[] = {"infrastructure", "annotations", NULL};
    static const char *const keys[] = {"name",      "description", "devices",     "links",
                                       "instances", "edges",       "annotations", NULL};
    rlt_json root = rlt_json_root(d->json), inner = rlt_json_get(root, "infrastructure");
    int rc;
    if (!rlt_json_is_object(root))
        return rlt_json_fail(root, RLT_ESCHEMA, d->err, "expected an infrastructure");
    d->root = rlt_json_is(inner) ? inner : root;
    rlt_json outside = rlt_json_get(root, "annotations"), inside = rlt_json_get(d->root, "annotations");
    if (rlt_json_is(inner) && rlt_json_is(outside) && rlt_json_is(inside))
        return rlt_json_fail(inside, RLT_ESCHEMA, d->err, "annotations stand beside the infrastructure, too");
    d->annotations = rlt_json_is(outside) ? outside : inside;
    if (rlt_json_is(inner) && (rc = rlt_json_only(root, outer, d->err)) < 0)
        return rc;
    if ((rc = rlt_json_only(d->root, keys, d->err)) < 0)
        return rc;
    for (int i = 0; i < 4; i += 2)
        if (!rlt_json_is(rlt_json_get(d->root, keys[i + 2])))
            return rlt_json_fail(d->root, RLT_ESCHEMA, d->err, "missing '%s'", keys[i + 2]);
    return rlt_json_get_string(d->root, "name", false, &d->name, d->err);
}

int rlt__ig_document_read(rlt__ig_document *d, const char *text, size_t length)
{
    size_t i = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < length && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    int rc = i < length && text[i] == '{' ? rlt_json_parse(d->file, text, length, &d->json, d->err)
                                          : rlt_yaml_parse(d->file, text, length, &d->json, d->err);
    if (rc < 0 || (rc = find_root(d)) < 0 || (rc = read_devices(d)) < 0)
        return rc;
    for (uint32_t k = 0; k < d->n_devices; k++)
        if ((rc = lay_out(d, k, 0)) < 0)
            return rc;
    if ((rc = read_instances(d)) < 0 ||
        (rc = rlt__ig_links_read(d, rlt_json_get(d->root, "links"), &d->links)) < 0)
        return rc;
    return rlt__ig_links_state(d);
}

void rlt__ig_document_free(rlt__ig_document *d)
{
    for (uint32_t k = 0; d->devices && k < d->n_devices; k++) {
        rlt_strings_free(&d->devices[k].names);
        rlt_strings_free(&d->devices[k].links.names);
        free(d->devices[k].pairs);
    }
    rlt_strings_free(&d->links.names);
    rlt_strings_free(&d->instance_names);
    rlt_strings_free(&d->device_names);
    rlt_json_free(d->json);
    rlt_arena_free(&d->arena);
}

/* ---- vertices ---- */

const rlt__ig_instance *rlt__ig_instance_of(const rlt__ig_document *d, uint32_t vertex, uint32_t *index)
{
    uint32_t low = 0, high = d->n_instances;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (d->instances[middle].first <= vertex)
            low = middle;
        else
            high = middle;
    }
    const rlt__ig_instance *instance = &d->instances[low];
    *index = (vertex - instance->first) / d->devices[instance->device].size;
    return instance;
}

/* Returns the component of a device that holds its vertex `local`. */
static const rlt__ig_component *holder(const rlt__ig_device *device, uint32_t local)
{
    uint32_t i = device->n_components - 1;
    while (device->components[i].first > local)
        i--;
    return &device->components[i];
}

const rlt__ig_component *rlt__ig_component_of(const rlt__ig_document *d, uint32_t vertex,
                                              const rlt__ig_device **device)
{
    uint32_t index;
    const rlt__ig_instance *instance = rlt__ig_instance_of(d, vertex, &index);
    *device = &d->devices[instance->device];
    uint32_t local = (vertex - instance->first) % (*device)->size;
    const rlt__ig_component *c = holder(*device, local);
    while (c->choice == RLT__IG_DEVICE) {
        local = (local - c->first) % c->stride;
        *device = &d->devices[c->device];
        c = holder(*device, local);
    }
    return c;
}

const char *rlt__ig_name(const rlt__ig_document *d, uint32_t vertex, char *buffer, size_t size)
{
    uint32_t index;
    const rlt__ig_instance *instance = rlt__ig_instance_of(d, vertex, &index);
    const rlt__ig_device *device = &d->devices[instance->device];
    uint32_t local = (vertex - instance->first) % device->size;
    size_t used = (size_t)snprintf(buffer, size, "%s.%" PRIu32, instance->name, index);
    for (;;) {
        const rlt__ig_component *c = holder(device, local);
        if (used < size)
            used += (size_t)snprintf(buffer + used, size - used, ".%s.%" PRIu32, c->name,
                                     (local - c->first) / c->stride);
        if (c->choice != RLT__IG_DEVICE)
            return buffer;
        local = (local - c->first) % c->stride;
        device = &d->devices[c->device];
    }
}
