/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The objects of an InfraGraph document: devices with components, links between them, instances. A device
 * stands for a list of vertices, its components in order; a component that is a device itself stands for the
 * vertices of that device, `count` times. Internal to net/import/infragraph/.
 *
 *   Example: device nic {endpoint 1, port 2}, device host {xpu 4, nic 2}. The host has 4 + 2 * 3 vertices;
 *   nic[1].port[0] is vertex 4 + 3 + 1 of it.
 */
#ifndef RLT_NET_IMPORT_INFRAGRAPH_DOCUMENT_H
#define RLT_NET_IMPORT_INFRAGRAPH_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/import/import.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

typedef enum rlt__ig_choice {
    RLT__IG_CPU,
    RLT__IG_XPU,
    RLT__IG_NIC,
    RLT__IG_MEMORY,
    RLT__IG_PORT,
    RLT__IG_SWITCH,
    RLT__IG_CUSTOM,
    RLT__IG_DEVICE,
} rlt__ig_choice;

typedef struct rlt__ig_link {
    const char *name;
    rlt_json at;
    uint64_t bw_Bps;     /* 0: not stated */
    rlt_time latency_ps; /* below zero: not stated */
    bool transfers;      /* the bandwidth is in GT/s */
    const char *cables;  /* the directed links that an edge stands for, see annotate.c; NULL: one each way */
    uint32_t edges;      /* edges that use it */
} rlt__ig_link;

typedef struct rlt__ig_links {
    rlt__ig_link *items;
    uint32_t n;
    rlt_strings names; /* index = link */
} rlt__ig_links;

typedef struct rlt__ig_component {
    const char *name;
    rlt__ig_choice choice;
    uint32_t count;
    uint32_t device;        /* index; RLT_NONE unless the choice is a device */
    uint32_t first, stride; /* its first vertex in the device; vertices of each */
} rlt__ig_component;

/* An edge between two vertices of a device. */
typedef struct rlt__ig_pair {
    uint32_t a, b, link;
} rlt__ig_pair;

typedef struct rlt__ig_device {
    const char *name;
    rlt_json at;
    rlt__ig_component *components;
    uint32_t n_components;
    rlt_strings names; /* names of components; index = component */
    rlt__ig_links links;
    uint32_t size; /* vertices */
    bool xpu;      /* holds one, maybe inside another device */
    bool ports;    /* has a component that is a port or NIC */
    uint8_t state; /* 0: not laid out, 1: under way, 2: laid out */
    rlt__ig_pair *pairs;
    uint32_t n_pairs, pair_capacity;
    uint64_t times; /* how often it stands in the infrastructure */
} rlt__ig_device;

typedef struct rlt__ig_instance {
    const char *name;
    uint32_t device, count, first; /* first vertex of all */
} rlt__ig_instance;

/* Counts of faults that InfraGraph's service accepts silently, and the setting `lenient` as well. */
typedef struct rlt__ig_lenience {
    uint32_t cut, unknown, unconnected;
} rlt__ig_lenience;

typedef struct rlt__ig_document {
    const char *file;
    const rlt_import *import;
    rlt_error *err;
    rlt_arena arena;
    rlt_json_doc *json;
    rlt_json root, annotations; /* the infrastructure; annotations may be absent */
    const char *name;           /* NULL: not stated */
    rlt__ig_device *devices;
    uint32_t n_devices;
    rlt_strings device_names;
    rlt__ig_links links;
    rlt__ig_instance *instances;
    uint32_t n_instances;
    rlt_strings instance_names;
    uint32_t n_vertices;
    rlt__ig_lenience lenience;
} rlt__ig_document;

enum { RLT__IG_MAX_EDGES = 1 << 24 };

/* Reads devices, links and instances, and lays out their vertices. The caller frees, also on failure. */
int rlt__ig_document_read(rlt__ig_document *d, const char *text, size_t length) RLT_MUST_USE;
void rlt__ig_document_free(rlt__ig_document *d);

/* Returns the instance that holds a vertex, and in *index which one of its count. */
const rlt__ig_instance *rlt__ig_instance_of(const rlt__ig_document *d, uint32_t vertex, uint32_t *index);
/* Returns the component of a vertex. *device is the innermost device that it stands in. */
const rlt__ig_component *rlt__ig_component_of(const rlt__ig_document *d, uint32_t vertex,
                                              const rlt__ig_device **device);
/* Writes "host.0.nic.1.port.0". Returns buffer. */
const char *rlt__ig_name(const rlt__ig_document *d, uint32_t vertex, char *buffer, size_t size);

/* net/import/infragraph/link.c: reads the links of a device or of the infrastructure; and gives links what
 * the user states. */
int rlt__ig_links_read(rlt__ig_document *d, rlt_json list, rlt__ig_links *links) RLT_MUST_USE;
int rlt__ig_links_state(rlt__ig_document *d) RLT_MUST_USE;
/* Refuses a link without bandwidth or latency. */
int rlt__ig_link_check(const rlt__ig_document *d, const rlt__ig_link *link) RLT_MUST_USE;

/* Vertices that an end of an edge names. */
typedef struct rlt__ig_ends {
    uint32_t *items;
    uint32_t n, capacity;
} rlt__ig_ends;

/* net/import/infragraph/path.c: adds the vertices that `text` ("nic[0:2].port[0]") names in a device, whose
 * first vertex is `base`. `at` is the place in messages. */
int rlt__ig_path(rlt__ig_document *d, const rlt__ig_device *device, const char *text, rlt_json at,
                 uint32_t base, rlt__ig_ends *ends) RLT_MUST_USE;
/* Adds the vertices of an end of an infrastructure's edge. */
int rlt__ig_instance_path(rlt__ig_document *d, const char *instance, const char *component, rlt_json at,
                          rlt__ig_ends *ends) RLT_MUST_USE;

#endif
