/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Endpoint parameters in one table, and the cost of a message under them. Protocol constants come from the
 * topology file.
 */
#include "net/endpoint/endpoint.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/endpoint/version.h"
#include "sim/base/units.h"

/* Reads femtoseconds. Plain durations are too coarse: a byte at 400 GB/s takes 2.5 ps. */
static int read_byte(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    static const struct {
        const char *unit;
        int64_t fs;
    } units[] = {{"fs", 1}, {"ps", 1000}, {"ns", 1000000}, {"us", 1000000000}};
    rlt_endpoint *e = into;
    size_t number = strspn(text, "0123456789.");
    const char *unit = text + number;
    int64_t fs = strcmp(text, "0") == 0 ? 0 : -1;
    (void)p;
    unit += strspn(unit, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0 && rlt_parse_decimal(text, number, units[i].fs, &fs) < 0)
            fs = -1;
    if (fs < 0)
        return rlt_fail(err, RLT_EMALFORMED, where,
                        "expected a duration with a unit, such as 0.5ps, got '%.64s'", text);
    if (fs > UINT32_MAX)
        return rlt_fail(err, RLT_ERANGE, where, "at most 4.29us for each byte, got '%.64s'", text);
    e->byte_fs = (uint32_t)fs;
    return 0;
}

static void write_byte(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_endpoint *e = from;
    (void)p;
    snprintf(text, size, "%u.%03ups", e->byte_fs / 1000, e->byte_fs % 1000);
}

static int read_protocol(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_endpoint *e = into;
    char known[RLT_MAX_PROTOCOLS * 18 + 8] = "auto";
    (void)p;
    if (strcmp(text, "auto") == 0) {
        e->protocol = RLT_PROTOCOL_AUTO;
        return 0;
    }
    for (uint32_t i = 0; i < e->n_protocols; i++) {
        if (strcasecmp(text, e->protocols[i].name) == 0) {
            e->protocol = (int)i;
            return 0;
        }
        rlt_list_name(known, sizeof known, e->protocols[i].name);
    }
    return rlt_fail(err, RLT_EUSAGE, where, "unknown protocol '%.64s': this topology has %s", text, known);
}

static void write_protocol(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_endpoint *e = from;
    (void)p;
    snprintf(text, size, "%s", e->protocol < 0 ? "auto" : e->protocols[e->protocol].name);
}

static int read_network(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_endpoint *e = into;
    char known[256] = "";
    const char *name;
    (void)p;
    for (uint32_t i = 0; (name = rlt_internode_name(i)); i++) {
        if (strcasecmp(text, name) == 0) {
            e->internode = rlt_internode_class(i);
            return 0;
        }
        rlt_list_name(known, sizeof known, name);
    }
    return rlt_fail(err, RLT_EUSAGE, where, "unknown network '%.64s': known are %s", text, known);
}

static void write_network(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_endpoint *e = from;
    (void)p;
    snprintf(text, size, "%s", rlt_internode_name(e->internode.kind));
}

static int read_nccl(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_endpoint *e = into;
    rlt_library_version v = {0};
    (void)p;
    int rc = strcmp(text, "newest") == 0 ? 0 : rlt_library_version_parse(text, &v, err);
    if (rc && where)
        rlt_error_prefix(err, where);
    if (!rc && v.rccl)
        rc = rlt_fail(err, RLT_EUSAGE, where, "expected a version of NCCL such as 2.27, got 'rccl'");
    if (!rc)
        e->nccl = v.number;
    return rc;
}

static void write_nccl(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_endpoint *e = from;
    (void)p;
    if (!e->nccl)
        snprintf(text, size, "newest");
    else if (e->nccl % 100 == RLT_LAST_PATCH)
        snprintf(text, size, "%u.%u", e->nccl / 10000, e->nccl / 100 % 100);
    else
        snprintf(text, size, "%u.%u.%u", e->nccl / 10000, e->nccl / 100 % 100, e->nccl % 100);
}

#define AT(field) RLT_FIELD(rlt_endpoint, field)
#define MAX_PPM   1e9 /* a factor of 1000 */
static const rlt_param parameters[] = {
    {"injection", .kind = RLT_PARAM_CHOICE, .words = "nic|blocking", AT(injection), .preset = "nic",
     .help = "when a sender goes on: message serialised (nic) or delivered (blocking)"},
    {"launch", .kind = RLT_PARAM_DURATION, AT(launch_ps), .preset = "0",
     .help = "once for each rank and collective"},
    {"message", .kind = RLT_PARAM_DURATION, AT(message_ps), .preset = "0", .help = "delay of each message"},
    {"byte", .kind = RLT_PARAM_OTHER, .read = read_byte, .write = write_byte, .preset = "0",
     .arg = "duration, such as 0.5ps", .help = "delay of each byte, resolved to 1 fs"},
    {"protocol", .kind = RLT_PARAM_OTHER, .read = read_protocol, .write = write_protocol, .preset = "auto",
     .arg = "name or auto", .help = "protocol of the topology file; auto: the fastest for each message"},
    {"thread_blocks", .kind = RLT_PARAM_COUNT, AT(channels), .max = RLT_MAX_CHANNELS,
     .help = "most channels of a collective; 0: not tuned"},
    {"peer_blocks", .kind = RLT_PARAM_COUNT, AT(peer_channels), .max = RLT_MAX_CHANNELS,
     .help = "channels for all peers of an all-to-all together; 0: thread_blocks for each"},
    {"clock", .kind = RLT_PARAM_PPM, AT(clock_ppm), .unit = "GHz", .min = 1, .max = MAX_PPM, .usual = "1",
     .help = "clock in GHz; divides launch and the times of protocols, which are given at 1 GHz"},
    {"copy", .kind = RLT_PARAM_PPM, AT(copy_ppm), .max = MAX_PPM,
     .help = "time of the copy of the own share, relative to its time on the links"},
    {"narrow", .kind = RLT_PARAM_RATE, AT(narrow_Bps),
     .help = "bandwidth of the extra time for adding one-byte elements; 0: no extra time"},
    {"copy_lines", .kind = RLT_PARAM_PPM, AT(copy_lines_ppm), .max = MAX_PPM,
     .help = "lines charged for copying one line of the own share"},
    {"reduce_lines", .kind = RLT_PARAM_PPM, AT(reduce_lines_ppm), .max = MAX_PPM,
     .help = "time of a summed line, relative to one that is not summed"},
    {"ramp", .kind = RLT_PARAM_PPM, AT(ramp_ppm), .max = 10e6, .preset = "0.6",
     .help =
         "trees over nodes: time of a piece in each step, relative to its time on links that all channels "
         "share"},
    {"nvls_tree", .kind = RLT_PARAM_PPM, AT(nvls_tree_ppm), .max = 10e6, .preset = "1.075",
     .help = "wire bytes of NVLS inside the nodes of nvls_tree, relative to NVLS alone"},
    {"gpu", .kind = RLT_PARAM_CHOICE, .words = "unknown|volta|ampere|hopper|blackwell|cdna3", AT(gpu),
     .preset = "unknown", .help = "generation of the GPU, for the choice of the tuner"},
    {"host", .kind = RLT_PARAM_CHOICE, .words = "intel|amd|arm|power", AT(host), .preset = "intel",
     .help = "vendor of the host's processor, for the choice of the tuner"},
    {"nccl", .kind = RLT_PARAM_OTHER, .read = read_nccl, .write = write_nccl, .preset = "newest",
     .arg = "version such as 2.27 or 2.28.7, or newest", .help = "version of NCCL whose tuner chooses"},
    {"network", .kind = RLT_PARAM_OTHER, .read = read_network, .write = write_network, .preset = "none",
     .arg = "class of network",
     .help = "class of the network between nodes; it sets the settings that begin with network_",
     .word_at = rlt_internode_name},
    {"network_latency", .kind = RLT_PARAM_DURATION, AT(internode.latency_ps), .usual = "of the class",
     .help = "added to each step between nodes"},
    {"network_rise", .kind = RLT_PARAM_DURATION, AT(internode.rise_ps), .usual = "of the class",
     .help = "added to each step between nodes in collectives from 32 KiB on"},
    {"network_launch", .kind = RLT_PARAM_DURATION, AT(internode.launch_ps), .usual = "of the class",
     .help = "time after the launch before which no message leaves its node"},
    {"network_efficiency", .kind = RLT_PARAM_PPM, AT(internode.efficiency_ppm), .min = 1, .max = 1e6,
     .usual = "of the class", .help = "payload over wire bytes between nodes, Simple"},
    {"network_tree_efficiency", .kind = RLT_PARAM_PPM, AT(internode.tree_efficiency_ppm), .min = 1,
     .max = 1e6, .usual = "of the class", .help = "the same for trees"},
    {"network_single", .kind = RLT_PARAM_PPM, AT(internode.single_ppm), .min = 1, .max = 1e6,
     .usual = "of the class", .help = "factor of the efficiency if a node has one member"},
    {"network_staging", .kind = RLT_PARAM_RATE, AT(internode.staging_Bps), .usual = "of the class",
     .help = "rate at which a node's host passes on LL's lines; 0: no limit"},
    {"network_host", .kind = RLT_PARAM_RATE, AT(internode.host_Bps), .usual = "of the class",
     .help = "rate at which a node's host passes on all data if GPUs do not reach NICs; 0: GPU-direct"},
    {"network_gap", .kind = RLT_PARAM_DURATION, AT(internode.gap_ps), .usual = "of the class",
     .help = "least time that a message takes a NIC: the inverse of its message rate"},
    {"network_peer", .kind = RLT_PARAM_DURATION, AT(internode.peer_ps), .usual = "of the class",
     .help = "all-to-all: once for each member on other nodes"},
    {"network_ll128", .kind = RLT_PARAM_CHOICE, .words = "on|off", AT(internode.no_LL128),
     .usual = "of the class", .help = "use of LL128 between nodes"},
    {0}};

const rlt_param *rlt_endpoint_parameters(void)
{
    return parameters;
}

rlt_endpoint rlt_endpoint_default(void)
{
    rlt_endpoint e = {0};
    int rc = rlt_params_preset(parameters, &e, NULL);
    (void)rc; /* cannot fail: constants of the table above, which a test reads */
    return e;
}

/* Sets "LL.message": a parameter of one of the endpoint's protocols. */
static int set_of_protocol(rlt_endpoint *e, const char *name, const char *dot, const char *value,
                           rlt_error *err)
{
    for (uint32_t i = 0; i < e->n_protocols; i++) {
        const char *own = e->protocols[i].name;
        if (strlen(own) == (size_t)(dot - name) && strncasecmp(name, own, (size_t)(dot - name)) == 0)
            return rlt_params_set(rlt_protocol_parameters(), "a protocol", &e->protocols[i], dot + 1, value,
                                  err);
    }
    return rlt_fail(err, RLT_EUSAGE, NULL, "this topology has no protocol '%.*s'", (int)(dot - name), name);
}

int rlt_endpoint_set(rlt_endpoint *e, const char *name, const char *value, rlt_error *err)
{
    const char *dot;
    if (strncmp(name, "protocols.", 10) == 0)
        name += 10;
    if ((dot = strchr(name, '.')))
        return set_of_protocol(e, name, dot, value, err);
    return rlt_params_set(parameters, "an endpoint", e, name, value, err);
}

static uint64_t wire_bytes(const rlt_protocol *p, uint64_t bytes)
{
    unsigned __int128 n = ((unsigned __int128)bytes * p->wire_num + p->wire_den - 1) / p->wire_den;
    return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

static const rlt_protocol *cheapest(const rlt_endpoint *e, uint64_t bytes, uint64_t bw_Bps)
{
    const rlt_protocol *best = NULL;
    rlt_time least = 0;
    for (uint32_t i = 0; i < e->n_protocols; i++) {
        const rlt_protocol *p = &e->protocols[i];
        if (p->serves != RLT_FOR_STEPS)
            continue;
        rlt_time t =
            rlt_time_add(p->message_ps, bw_Bps ? rlt_transfer_time(wire_bytes(p, bytes), bw_Bps) : 0);
        if (!best || t < least) {
            best = p;
            least = t;
        }
    }
    return best;
}

rlt_time rlt_endpoint_kernel(const rlt_endpoint *e, rlt_time at_1GHz_ps)
{
    if (!e->clock_ppm)
        return at_1GHz_ps;
    unsigned __int128 t =
        ((unsigned __int128)(uint64_t)at_1GHz_ps * 1000000 + e->clock_ppm / 2) / e->clock_ppm;
    return t > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)t;
}

rlt_message_cost rlt_endpoint_cost(const rlt_endpoint *e, uint64_t bytes, uint64_t bw_Bps)
{
    unsigned __int128 per_byte = ((unsigned __int128)bytes * e->byte_fs + 500) / 1000;
    rlt_time delay_ps = per_byte > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)per_byte;
    rlt_message_cost cost = {rlt_time_add(e->message_ps, delay_ps), bytes};
    if (e->n_protocols == 0)
        return cost;
    const rlt_protocol *p = e->protocol >= 0 ? &e->protocols[e->protocol] : cheapest(e, bytes, bw_Bps);
    if (!p)
        return cost;
    cost.delay_ps = rlt_time_add(cost.delay_ps, rlt_endpoint_kernel(e, p->message_ps));
    cost.wire_bytes = wire_bytes(p, bytes);
    return cost;
}
