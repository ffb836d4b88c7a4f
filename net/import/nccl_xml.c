/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NCCL's topology file (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): a tree of CPUs, PCIe bridges, GPUs and NICs,
 * and the NVLinks of each GPU. First the elements are collected; then the machine is built with GPUs in order
 * of rank. Bandwidths are those of NCCL's planner in src/graph/topo.h and topo.cc (2.28).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/import.h"
#include "net/import/machine.h"
#include "net/import/nccl.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/xml.h"

#define GBps UINT64_C(1000000000)

enum {
    MAX_DEVICES = 1 << 14,
    MAX_CPUS = 1024,
    MAX_NVLINKS = 1 << 20,
    MAX_COUNT = 1024,  /* NVLinks in one element */
    LOCAL_GBps = 5000, /* NCCL's LOC_BW: no limit */
    NVLS_SM = 90,
};

typedef enum kind { CPU, PCI, GPU, NIC, NET } kind;

typedef struct device {
    kind kind;
    bool bridge; /* PCI: class 0x0604, or has children */
    uint32_t parent, host, node, dev;
    int64_t rank, sm;
    uint64_t bw_Bps; /* bandwidth towards the parent; CPU: to other CPUs */
    const char *name, *place;
} device;

typedef struct nvlink {
    uint32_t gpu, target; /* devices; target is RLT_NONE for an NVSwitch or an unlisted device */
    uint32_t bus;         /* bus of the GPU that it leads to, index into `buses`; RLT_NONE: none */
    bool to_cpu;
    uint64_t bw_Bps; /* bandwidth; 0: that of `count` NVLinks */
    uint32_t count;
} nvlink;

typedef struct reader {
    rlt__machine m;
    const rlt_import *import;
    device *devices;
    nvlink *nvlinks;
    uint32_t n_devices, n_nvlinks, device_capacity, nvlink_capacity, n_cpus, n_gpus;
    uint32_t open[RLT_XML_MAX_DEPTH]; /* device of each open element; RLT_NONE: none, or irrelevant */
    bool skip[RLT_XML_MAX_DEPTH];
    const char *element[RLT_XML_MAX_DEPTH];
    rlt_strings hosts, buses; /* "host/busid" */
    rlt_map device_of_bus;
    bool nvls;
    uint32_t missing; /* NVLinks that lead to no other listed GPU */
    uint64_t hash;
} reader;

/* ---- gathering ---- */

static int add_device(reader *r, const rlt_xml_tag *tag, kind k, uint32_t parent, uint32_t *out)
{
    int rc = rlt_grow(&r->devices, &r->device_capacity, sizeof *r->devices, r->n_devices + 1ull, MAX_DEVICES,
                      "devices", r->m.err);
    if (rc)
        return rc;
    const char *place =
        rlt_arena_printf(&r->m.arena, "%.200s:%" PRIu32 ":%" PRIu32, r->m.file, tag->line, tag->column);
    if (!place)
        return rlt_nomem(r->m.err);
    *out = r->n_devices;
    r->devices[r->n_devices++] = (device){.kind = k,
                                          .parent = parent,
                                          .host = parent == RLT_NONE ? 0 : r->devices[parent].host,
                                          .rank = -1,
                                          .sm = -1,
                                          .dev = RLT_NONE,
                                          .place = place,
                                          .name = ""};
    return 0;
}

/* Returns the bandwidth that NCCL assumes between two CPUs of this kind (ncclTopoGetInterCpuBw). */
static int inter_cpu_Bps(const rlt_xml_tag *tag, uint64_t *bw, rlt_error *err)
{
    const char *arch = rlt_xml_get(tag, "arch"), *vendor = rlt_xml_get(tag, "vendor");
    int64_t family = -1, model = -1;
    int rc;
    *bw = LOCAL_GBps * GBps;
    if ((rc = rlt_xml_get_i64(tag, "familyid", false, -1, 1 << 20, &family, err)) ||
        (rc = rlt_xml_get_i64(tag, "modelid", false, -1, 1 << 20, &model, err)) || !arch)
        return rc;
    if (strcmp(arch, "ppc64") == 0)
        *bw = 32 * GBps;
    else if (strcmp(arch, "arm64") == 0)
        *bw = 6 * GBps;
    else if (!vendor)
        return 0;
    else if (strcmp(vendor, "GenuineIntel") == 0) {
        bool newest = model >= 0xcf || (model >= 0xad && model <= 0xaf); /* Emerald, Granite Rapids, ... */
        *bw = GBps * (family != 6 || model < 0x55 ? 6 : newest ? 40 : model >= 0x8f ? 22 : 10);
    } else if (strcmp(vendor, "AuthenticAMD") == 0) /* Zen 5; Zen 3, 4; older. Model numbers as in NCCL */
        *bw = GBps * (family == 26 || family == 0xbf ? 32 : family == 25 || family == 0xaf ? 24 : 16);
    else if (strcmp(vendor, "CentaurHauls") == 0 || strcmp(vendor, "  Shanghai  ") == 0)
        *bw = GBps * (family == 7 && model == 0x5b ? 9 : 6);
    return 0;
}

static int add_cpu(reader *r, const rlt_xml_tag *tag, uint32_t *out)
{
    const char *host = rlt_xml_get(tag, "host_hash");
    int64_t numa = -1;
    uint64_t bw = 0;
    int rc;
    if (++r->n_cpus > MAX_CPUS)
        return rlt_xml_fail(tag, RLT_ERANGE, r->m.err, "more than %d CPUs", MAX_CPUS);
    if ((rc = rlt_xml_get_i64(tag, "numaid", true, -1, 1 << 20, &numa, r->m.err)) ||
        (rc = inter_cpu_Bps(tag, &bw, r->m.err)) || (rc = add_device(r, tag, CPU, RLT_NONE, out)))
        return rc;
    host = host ? host : "";
    device *d = &r->devices[*out];
    d->host = rlt_intern(&r->hosts, host, strlen(host));
    d->bw_Bps = r->import->cpu_Bps ? r->import->cpu_Bps : bw;
    d->name = rlt_arena_printf(&r->m.arena, "cpu%" PRId64, numa < 0 ? 0 : numa);
    return d->name && d->host != RLT_NONE ? 0 : rlt_nomem(r->m.err);
}

/* Returns the speed of a lane in hundreds of Mb/s, as NCCL counts: 12 GB/s for Gen3 x16. */
static uint64_t lane_speed(const char *speed)
{
    static const struct {
        const char *rate;
        uint64_t speed;
    } table[] = {{"2.5", 15}, {"5", 30}, {"8", 60}, {"16", 120}, {"32", 240}, {"64", 480}};
    for (size_t i = 0; speed && i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].rate);
        if (strncmp(speed, table[i].rate, n) != 0)
            continue;
        if (strncmp(speed + n, ".0", 2) == 0)
            n += 2;
        if (strncmp(speed + n, " GT/s", 5) == 0)
            return table[i].speed;
    }
    return 60;
}

/* Returns the index in `buses` of a PCI address of a host. Files write the digits in either case. */
static uint32_t intern_bus(reader *r, uint32_t host, const char *bus)
{
    char key[96];
    int n = snprintf(key, sizeof key, "%" PRIu32 "/%.64s", host, bus);
    for (char *c = key; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    return rlt_intern(&r->buses, key, (size_t)n);
}

static int add_pci(reader *r, const rlt_xml_tag *tag, uint32_t parent, uint32_t *out)
{
    const char *bus = NULL, *class = "";
    int64_t width = 16;
    int rc;
    if ((rc = rlt_xml_get_text(tag, "busid", true, &bus, r->m.err)) ||
        (rc = rlt_xml_get_text(tag, "class", false, &class, r->m.err)) ||
        (rc = rlt_xml_get_i64(tag, "link_width", false, 0, 255, &width, r->m.err)))
        return rc;
    if (!*bus || strlen(bus) > 32)
        return rlt_xml_fail(tag, RLT_ESCHEMA, r->m.err,
                            "expected 'busid' to be a PCI address such as 0000:1a:00.0, got '%.40s'", bus);
    if ((rc = add_device(r, tag, PCI, parent, out)))
        return rc;
    device *d = &r->devices[*out];
    uint32_t key = intern_bus(r, d->host, bus);
    if (key == RLT_NONE)
        return rlt_nomem(r->m.err);
    if (rlt_map_get(&r->device_of_bus, key) != RLT_NONE)
        return rlt_xml_fail(tag, RLT_ESCHEMA, r->m.err, "PCI device %s is listed twice", bus);
    if (rlt_map_put(&r->device_of_bus, key, *out))
        return rlt_nomem(r->m.err);
    if (strncmp(class, "0x03", 4) == 0)
        d->kind = GPU;
    else if (strncmp(class, "0x02", 4) == 0)
        d->kind = NIC;
    d->bridge = strncmp(class, "0x0604", 6) == 0;
    d->name = rlt_arena_strdup(&r->m.arena, bus);
    /* The kernel writes 0 or 255 for an unknown width. */
    uint64_t lanes = width == 0 || width > 32 ? 16 : (uint64_t)width;
    d->bw_Bps = r->import->pcie_Bps ? r->import->pcie_Bps
                                    : lanes * lane_speed(rlt_xml_get(tag, "link_speed")) * (GBps / 80);
    r->devices[parent].bridge = true;
    return d->name ? 0 : rlt_nomem(r->m.err);
}

static int read_gpu(reader *r, const rlt_xml_tag *tag, uint32_t pci)
{
    device *d = &r->devices[pci];
    int64_t dev = -1;
    int rc;
    if (d->dev != RLT_NONE)
        return rlt_xml_fail(tag, RLT_EUNSUPPORTED, r->m.err, "a second <gpu> on PCI device %s", d->name);
    if ((rc = rlt_xml_get_i64(tag, "dev", true, 0, MAX_DEVICES, &dev, r->m.err)) ||
        (rc = rlt_xml_get_i64(tag, "rank", false, -1, 1 << 24, &d->rank, r->m.err)) ||
        (rc = rlt_xml_get_i64(tag, "sm", false, -1, 10000, &d->sm, r->m.err)))
        return rc;
    d->dev = (uint32_t)dev;
    d->kind = GPU;
    return 0;
}

static int add_net(reader *r, const rlt_xml_tag *tag, uint32_t nic, uint32_t *out)
{
    const char *name = rlt_xml_get(tag, "name");
    int64_t dev = 0, speed = 0;
    int rc;
    if ((rc = rlt_xml_get_i64(tag, "dev", false, -1, 1 << 20, &dev, r->m.err)) ||
        (rc = rlt_xml_get_i64(tag, "speed", false, -1, INT64_C(100000000), &speed, r->m.err)) ||
        (rc = add_device(r, tag, NET, nic, out)))
        return rc;
    device *d = &r->devices[*out];
    /* In Mb/s. NCCL assumes 10 Gb/s for a NIC of unknown speed. */
    d->bw_Bps = r->import->network_Bps ? r->import->network_Bps
                                       : (uint64_t)(speed > 0 ? speed : 10000) * UINT64_C(125000);
    d->name = name && *name ? rlt_arena_printf(&r->m.arena, "%.100s", name)
                            : rlt_arena_printf(&r->m.arena, "%" PRId64, dev);
    return d->name ? 0 : rlt_nomem(r->m.err);
}

/* Adds <nvlink>, or <c2c>, the connection of a GPU to its CPU. */
static int add_nvlink(reader *r, const rlt_xml_tag *tag, uint32_t gpu, bool c2c)
{
    const char *target = NULL, *class = "0x068000";
    int64_t count = 1, bw = 0;
    int rc = rlt_grow(&r->nvlinks, &r->nvlink_capacity, sizeof *r->nvlinks, r->n_nvlinks + 1ull, MAX_NVLINKS,
                      "NVLinks", r->m.err);
    if (rc || (rc = rlt_xml_get_i64(tag, "count", true, 1, MAX_COUNT, &count, r->m.err)) ||
        (c2c && (rc = rlt_xml_get_i64(tag, "bw", true, 1, INT64_C(10000000), &bw, r->m.err))) ||
        (!c2c && (rc = rlt_xml_get_text(tag, "tclass", true, &class, r->m.err))))
        return rc;
    nvlink *l = &r->nvlinks[r->n_nvlinks];
    *l = (nvlink){.gpu = gpu,
                  .target = RLT_NONE,
                  .bus = RLT_NONE,
                  .to_cpu = c2c || strncmp(class, "0x068001", 8) == 0,
                  .bw_Bps = (uint64_t)(bw * count) * 1000000,
                  .count = (uint32_t)count};
    if (!c2c && strncmp(class, "0x03", 4) == 0) {
        if ((rc = rlt_xml_get_text(tag, "target", true, &target, r->m.err)))
            return rc;
        l->bus = intern_bus(r, r->devices[gpu].host, target);
        if (l->bus == RLT_NONE)
            return rlt_nomem(r->m.err);
    }
    r->n_nvlinks++;
    return 0;
}

static int misplaced(reader *r, const rlt_xml_tag *tag)
{
    return rlt_xml_fail(tag, RLT_ESCHEMA, r->m.err, "<%.40s> does not belong in <%.40s>", tag->name,
                        tag->depth ? r->element[tag->depth - 1] : "");
}

/* Returns a known element name; other elements are skipped with their contents. */
static const char *known_element(const char *name)
{
    static const char *const words[] = {"system", "cpu", "pci", "gpu", "nic", "net", "nvlink", "c2c"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return words[i];
    return NULL;
}

static int start(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    reader *r = user;
    uint32_t depth = tag->depth, parent = depth ? r->open[depth - 1] : RLT_NONE;
    const char *in = depth ? r->element[depth - 1] : "", *is = known_element(tag->name);
    r->open[depth] = RLT_NONE;
    r->skip[depth] = (depth && r->skip[depth - 1]) || !is;
    r->element[depth] = is ? is : "";
    if (strcmp(tag->name, "xgmi") == 0)
        return rlt_xml_fail(tag, RLT_EUNSUPPORTED, err, "AMD's xGMI links are not read");
    if (!depth && (!is || strcmp(is, "system") != 0))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected <system>, got <%.60s>", tag->name);
    if (r->skip[depth] || !depth)
        return 0;
    bool in_cpu = strcmp(in, "cpu") == 0, in_pci = strcmp(in, "pci") == 0;
    if (strcmp(is, "cpu") == 0 && depth == 1)
        return add_cpu(r, tag, &r->open[depth]);
    if (strcmp(is, "pci") == 0 && (in_cpu || in_pci))
        return add_pci(r, tag, parent, &r->open[depth]);
    if (strcmp(is, "gpu") == 0 && in_pci) {
        r->open[depth] = parent;
        return read_gpu(r, tag, parent);
    }
    if (strcmp(is, "nic") == 0 && in_pci) {
        r->open[depth] = parent;
        r->devices[parent].kind = NIC;
        return 0;
    }
    if (strcmp(is, "nic") == 0 && in_cpu) { /* a NIC without a known PCI address */
        int rc = add_device(r, tag, NIC, parent, &r->open[depth]);
        if (rc)
            return rc;
        device *d = &r->devices[r->open[depth]];
        d->bw_Bps = LOCAL_GBps * GBps;
        d->name = rlt_arena_printf(&r->m.arena, "%" PRIu32, r->open[depth]);
        return d->name ? 0 : rlt_nomem(err);
    }
    if (strcmp(is, "net") == 0 && strcmp(in, "nic") == 0)
        return add_net(r, tag, parent, &r->open[depth]);
    if ((strcmp(is, "nvlink") == 0 || strcmp(is, "c2c") == 0) && strcmp(in, "gpu") == 0)
        return add_nvlink(r, tag, parent, strcmp(is, "c2c") == 0);
    return misplaced(r, tag);
}

/* ---- building ---- */

/* Returns the bytes a second of one NVLink of a GPU of compute capability sm / 10 (ncclTopoNVLinkBw). */
static uint64_t nvlink_Bps(const reader *r, int64_t sm)
{
    if (r->import->nvlink_Bps)
        return r->import->nvlink_Bps;
    uint64_t tenths = sm >= 100  ? 401
                      : sm >= 90 ? 206
                      : sm == 86 ? 120
                      : sm >= 70 ? 200
                      : sm >= 60 ? 180
                                 : 200;
    return tenths * (GBps / 10);
}

typedef struct order {
    int64_t rank;
    uint32_t device;
} order;

/* Orders by rank; devices without one follow, as listed. */
static int by_rank(const void *a, const void *b)
{
    const order *x = a, *y = b;
    uint64_t p = (uint64_t)x->rank, q = (uint64_t)y->rank; /* -1 becomes the greatest */
    return p != q ? (p > q) - (p < q) : (x->device > y->device) - (x->device < y->device);
}

static int number_gpus(reader *r)
{
    order *list = calloc(r->n_devices + 1ull, sizeof *list);
    int64_t rc = list ? 0 : rlt_nomem(r->m.err);
    for (uint32_t i = 0; list && i < r->n_devices; i++)
        if (r->devices[i].kind == GPU)
            list[r->n_gpus++] = (order){.rank = r->devices[i].rank, .device = i};
    if (list)
        qsort(list, r->n_gpus, sizeof *list, by_rank);
    for (uint32_t i = 0; rc >= 0 && i < r->n_gpus; i++) {
        device *d = &r->devices[list[i].device];
        if (i && list[i].rank >= 0 && list[i].rank == list[i - 1].rank)
            rc = rlt_fail(r->m.err, RLT_ESCHEMA, d->place, "rank %" PRId64 " is given to two GPUs",
                          list[i].rank);
        else
            rc = rlt__machine_node(&r->m, RLT_ACCELERATOR, false, d->place, "gpu%" PRIu32, i);
        d->node = (uint32_t)rc;
    }
    free(list);
    return rc < 0 ? (int)rc : 0;
}

/* Takes the hosts as nodes, if their GPUs are equal in number and consecutive. If NVLinks join them, NCCL
 * sends through the GPU beside the receiver's NIC (PXN). */
static int find_nodes(reader *r)
{
    uint32_t *first = calloc(r->hosts.n + 1ull, sizeof *first);
    uint32_t size = r->hosts.n ? r->n_gpus / r->hosts.n : 0;
    bool regular = r->hosts.n > 1 && size * r->hosts.n == r->n_gpus;
    if (!first)
        return rlt_nomem(r->m.err);
    for (uint32_t i = 0; regular && i < r->n_devices; i++) {
        const device *d = &r->devices[i];
        if (d->kind == GPU) {
            uint32_t block = d->node / size + 1;
            regular = !first[d->host] || first[d->host] == block;
            first[d->host] = block;
        }
    }
    if (regular) {
        r->m.node_size = size;
        r->m.pxn = size > 1 && r->n_nvlinks ? RLT_PXN_ON : RLT_PXN_UNSTATED;
    }
    free(first);
    return 0;
}

static bool dropped(const device *d)
{
    return d->kind == PCI && !d->bridge; /* a disk, an audio device, ... */
}

static int add_nodes(reader *r)
{
    static const rlt_node_kind kinds[] = {RLT_CPU, RLT_PCIE, RLT_ACCELERATOR, RLT_NIC, RLT_SWITCH};
    static const char *const prefix[] = {"", "pcie ", "", "nic ", "net "};
    for (uint32_t i = 0; i < r->n_devices; i++) {
        device *d = &r->devices[i];
        char host[24] = "";
        if (d->kind == GPU || dropped(d))
            continue;
        if (r->hosts.n > 1)
            snprintf(host, sizeof host, "host%" PRIu32 " ", d->host);
        int64_t node = rlt__machine_node(&r->m, kinds[d->kind], true, d->place, "%s%s%s", host,
                                         prefix[d->kind], d->name);
        if (node < 0)
            return (int)node;
        d->node = (uint32_t)node;
    }
    return 0;
}

/* Links every device to its parent, and the NIC ports of several hosts to one network. */
static int add_tree(reader *r)
{
    int64_t network = -1;
    for (uint32_t i = 0; i < r->n_devices; i++) {
        const device *d = &r->devices[i];
        if (d->kind == CPU || dropped(d))
            continue;
        rlt_time latency = d->kind == GPU || d->kind == NIC ? RLT__PCIE_END_PS : 0;
        int rc = rlt__machine_duplex(&r->m, d->node, r->devices[d->parent].node, d->bw_Bps, latency);
        if (rc)
            return rc;
        if (d->kind != NET || r->hosts.n < 2)
            continue;
        if (network < 0 && (network = rlt__machine_node(&r->m, RLT_SWITCH, true, NULL, "network")) < 0)
            return (int)network;
        rc = rlt__machine_duplex(&r->m, d->node, (uint32_t)network, d->bw_Bps, RLT__NETWORK_END_PS);
        if (rc)
            return rc;
    }
    return 0;
}

static int join_cpus(reader *r)
{
    for (uint32_t i = 0; i < r->n_devices; i++) {
        for (uint32_t k = 0; r->devices[i].kind == CPU && k < r->n_devices; k++) {
            const device *a = &r->devices[i], *b = &r->devices[k];
            if (b->kind != CPU || i == k || a->host != b->host)
                continue;
            int rc = rlt__machine_link(&r->m, a->node, b->node, a->bw_Bps, 0);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static uint32_t cpu_of(const reader *r, uint32_t i)
{
    while (r->devices[i].kind != CPU)
        i = r->devices[i].parent;
    return i;
}

static int join_nvlinks(reader *r)
{
    int64_t nvswitch = -1;
    for (uint32_t i = 0; i < r->n_nvlinks; i++) {
        const nvlink *l = &r->nvlinks[i];
        const device *gpu = &r->devices[l->gpu];
        uint64_t bw = l->bw_Bps ? l->bw_Bps : l->count * nvlink_Bps(r, gpu->sm);
        uint32_t target = l->bus == RLT_NONE ? RLT_NONE : rlt_map_get(&r->device_of_bus, l->bus);
        int rc = 0;
        if (l->to_cpu) {
            rc = rlt__machine_duplex(&r->m, gpu->node, r->devices[cpu_of(r, l->gpu)].node, bw, 0);
        } else if (l->bus == RLT_NONE) {
            if (nvswitch < 0 &&
                (nvswitch = rlt__machine_node(&r->m, RLT_SWITCH, true, gpu->place, "nvswitch")) < 0)
                return (int)nvswitch;
            if (gpu->sm >= NVLS_SM) {
                rlt__machine_nvls(&r->m, (uint32_t)nvswitch);
                r->nvls = true;
            }
            rc = rlt__machine_duplex(&r->m, gpu->node, (uint32_t)nvswitch, bw, 0);
        } else if (target == RLT_NONE || target == l->gpu || r->devices[target].kind != GPU) {
            r->missing += l->count;
        } else {
            rc = rlt__machine_link(&r->m, gpu->node, r->devices[target].node, bw, 0);
        }
        if (rc)
            return rc;
    }
    return 0;
}

/* Adds the rings of a graph dump. Dev numbers repeat between hosts. */
static int add_rings(reader *r, const char **said)
{
    uint32_t *accelerator, n = 0;
    *said = "";
    if (!r->import->graph_text)
        return 0;
    if (r->hosts.n > 1)
        return rlt_fail(r->m.err, RLT_EUNSUPPORTED, r->m.file,
                        "a graph's rings can be added to the topology of one host, not of %" PRIu32,
                        r->hosts.n);
    accelerator = calloc(MAX_DEVICES + 1, sizeof *accelerator);
    if (!accelerator)
        return rlt_nomem(r->m.err);
    for (uint32_t i = 0; i <= MAX_DEVICES; i++)
        accelerator[i] = RLT_NONE;
    for (uint32_t i = 0; i < r->n_devices; i++) {
        const device *d = &r->devices[i];
        if (d->kind == GPU && d->dev != RLT_NONE) {
            accelerator[d->dev] = d->node;
            n = d->dev >= n ? d->dev + 1 : n;
        }
    }
    int rc = rlt__nccl_rings_add(&r->m, r->import, accelerator, n, said);
    free(accelerator);
    return rc;
}

static const char *describe(reader *r, uint32_t relayed, const char *rings)
{
    rlt_arena *a = &r->m.arena;
    const char
        *links = "no NVLinks are listed (NCCL adds them where it finds them: NCCL_TOPO_DUMP_FILE writes all)",
        *through = "", *missing = "";
    if (r->n_nvlinks)
        links = rlt_arena_printf(a, "%s per NVLink%s",
                                 rlt__rate(&r->m, nvlink_Bps(r, r->devices[r->nvlinks[0].gpu].sm)),
                                 r->import->nvlink_Bps ? " (given)" : " (NCCL's figure for this generation)");
    if (relayed)
        through = rlt_arena_printf(a, " %" PRIu32 " pairs of GPUs without an NVLink go through a third one.",
                                   relayed);
    if (r->missing)
        missing = rlt_arena_printf(
            a, " %" PRIu32 " NVLinks lead to no other GPU that is listed, and were left out.", r->missing);
    if (!links || !through || !missing)
        return NULL;
    return rlt_arena_printf(
        a,
        "NCCL topology file: %s; PCIe and CPU bandwidths as NCCL's src/graph/topo.cc takes them (Gen3 x16 12 "
        "GB/s). Latencies: NCCL's ring constants for LL (tuning.cc), NVLink 0.6 us a step in the endpoint, "
        "PCIe 0.4 us more.%s%s%s%s",
        links, r->nvls ? " NVSwitches add up and replicate (NVLink SHARP)." : "", through, missing, rings);
}

static int build(reader *r, rlt_topology **out)
{
    uint32_t relayed = 0;
    const char *rings = "";
    int rc;
    if ((rc = number_gpus(r)) || (rc = find_nodes(r)) || (rc = add_nodes(r)) || (rc = add_tree(r)) ||
        (rc = join_cpus(r)) || (rc = join_nvlinks(r)) || (rc = rlt__machine_relay(&r->m, &relayed)) ||
        (rc = add_rings(r, &rings)))
        return rc;
    return rlt__machine_build(&r->m, describe(r, relayed, rings), r->hash, out);
}

int rlt__topo_nccl_xml(const char *name, const char *text, size_t length, const rlt_import *import,
                       rlt_topology **out, rlt_error *err)
{
    static const rlt_xml_handler handler = {.start = start};
    reader r = {.m = {.file = name, .err = err}, .import = import, .hash = rlt_hash_bytes(text, length, 0)};
    int rc = rlt_xml_read(name, text, length, &handler, &r, err);
    if (!rc)
        rc = build(&r, out);
    rlt_map_free(&r.device_of_bus);
    rlt_strings_free(&r.buses);
    rlt_strings_free(&r.hosts);
    free(r.nvlinks);
    free(r.devices);
    rlt__machine_free(&r.m);
    return rc;
}
