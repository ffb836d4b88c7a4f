/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of a protocol, and the cost of a message of a tuned collective under it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/endpoint/internode.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

enum { MILLION = 1000000, MAX_FRACTION = 1000 };

/* Reads "16/8", or a number of at least 1. */
static int read_wire(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    const char *slash = strchr(text, '/');
    rlt_protocol *protocol = into;
    uint64_t num = 0, den = MILLION;
    int64_t ppm = -1;
    char left[32];
    bool ok;
    (void)p;
    if (slash) {
        snprintf(left, sizeof left, "%.*s", (int)(slash - text), text);
        ok = slash - text < (ptrdiff_t)sizeof left && rlt_parse_count(left, &num, NULL, NULL) == 0 &&
             rlt_parse_count(slash + 1, &den, NULL, NULL) == 0;
    } else {
        ok = rlt_parse_decimal(text, strlen(text), MILLION, &ppm) == 0;
        num = (uint64_t)ppm; /* too large if it is negative */
    }
    if (!ok || den < 1 || num < den || num > (uint64_t)MAX_FRACTION * MILLION)
        return rlt_fail(err, RLT_EMALFORMED, where,
                        "expected wire bytes over data bytes, at least 1, such as 16/8 or 1.25, got '%.40s'",
                        text);
    protocol->wire_num = (uint32_t)num;
    protocol->wire_den = (uint32_t)den;
    return 0;
}

static void write_wire(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_protocol *protocol = from;
    bool none = protocol->wire_num == protocol->wire_den;
    (void)p;
    snprintf(text, size, "%u/%u", none ? 1 : protocol->wire_num, none ? 1 : protocol->wire_den);
}

#define AT(field) RLT_FIELD(rlt_protocol, field)
#define MAX_PPM   ((double)MAX_FRACTION * MILLION)
static const rlt_param parameters[] = {
    {"message", .kind = RLT_PARAM_DURATION, AT(message_ps), .help = "delay of each message"},
    {"start", .kind = RLT_PARAM_DURATION, AT(start_ps), .help = "time once per collective"},
    {"member", .kind = RLT_PARAM_DURATION, AT(member_ps),
     .help = "time once per collective for each other member"},
    {"line_time", .kind = RLT_PARAM_DURATION, AT(line_ps),
     .help = "time of each line that a channel carries"},
    {"line", .kind = RLT_PARAM_SIZE, AT(line_bytes),
     .help = "bytes that a channel moves at once; 0: no lines"},
    {"channel", .kind = RLT_PARAM_SIZE, AT(channel_bytes),
     .help = "bytes of a message for each channel; 0: all channels"},
    {"limit", .kind = RLT_PARAM_SIZE, AT(limit_bytes), .help = "largest message; 0: none"},
    {"share", .kind = RLT_PARAM_PPM, AT(share_ppm), .max = MAX_PPM, .preset = "1",
     .help = "share of the time on the links that adds to the latency; below 1, channels overlap"},
    {"fill", .kind = RLT_PARAM_PPM, AT(fill_ppm), .max = MAX_PPM,
     .help = "share of the time to fill a buffer that is added: the receiver cannot begin before"},
    {"fill_bytes", .kind = RLT_PARAM_SIZE, AT(fill_bytes),
     .help = "bytes of that buffer per channel; for nvls: per member, bytes in small chunks"},
    {"tuner_base", .kind = RLT_PARAM_DURATION, AT(tuner_base_ps),
     .help = "base time of a collective in the model that chooses a protocol"},
    {"tuner_step", .kind = RLT_PARAM_DURATION, AT(tuner_step_ps), .help = "time of a step in that model"},
    {"tuner_bandwidth", .kind = RLT_PARAM_RATE, AT(tuner_Bps),
     .help = "bus bandwidth of a ring in that model"},
    {"wire", .kind = RLT_PARAM_OTHER, .read = read_wire, .write = write_wire, .preset = "1/1",
     .arg = "fraction, such as 128/120 or 1.25", .help = "wire bytes over data bytes"},
    {"for", .kind = RLT_PARAM_CHOICE, .words = "steps|direct|nvls", AT(serves), .preset = "steps",
     .help = "collectives whose steps wait for each other, that go to all peers at once, or in the switch"},
    {0}};

const rlt_param *rlt_protocol_parameters(void)
{
    return parameters;
}

rlt_protocol rlt_protocol_default(void)
{
    rlt_protocol p = {.name = ""};
    int rc = rlt_params_preset(parameters, &p, NULL);
    (void)rc; /* cannot fail: constants of the table above, which a test reads */
    return p;
}

/* ---- costs ---- */

static rlt_time clamp(unsigned __int128 t)
{
    return t > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)t;
}

/* Returns a share of a time, which is not negative. */
static rlt_time part_of(rlt_time t, uint32_t ppm)
{
    return clamp((unsigned __int128)(uint64_t)t * ppm / MILLION);
}

/*
 * Let own be the bytes that a channel carries, line = line_bytes and t = line_ps. The time is
 *
 *   0                                            for own <= line / 4
 *   t (own - line / 4) / (line - line / 4)       up to one line
 *   t ceil(own / line)                           above
 *
 * Below one line a channel uses fewer threads (NCCL halves them down to a few warps), and a quarter of a line
 * is part of the message's own time.
 */
rlt_time rlt_protocol_lines(const rlt_protocol *p, uint64_t bytes, uint32_t channels)
{
    uint64_t own = bytes / channels + (bytes % channels != 0), line = p->line_bytes;
    if (line == 0 || own <= line / 4)
        return 0;
    if (own > line)
        return clamp((unsigned __int128)(own / line + (own % line != 0)) * (uint64_t)p->line_ps);
    return clamp((unsigned __int128)(own - line / 4) * (uint64_t)p->line_ps / (line - line / 4));
}

static uint64_t wire_bytes(const rlt_protocol *p, uint64_t bytes)
{
    unsigned __int128 n = ((unsigned __int128)bytes * p->wire_num + p->wire_den - 1) / p->wire_den;
    return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

rlt_message_cost rlt_tuning_cost(const rlt_endpoint *e, const rlt_tuning *t, uint64_t bytes, uint64_t bw_Bps)
{
    const rlt_protocol *p = &t->protocol;
    rlt_message_cost cost = {e->message_ps, wire_bytes(p, bytes)};
    rlt_time w = 0, buffers = 0, least;
    uint64_t lined = larger(bytes, t->line_least * t->channels);
    cost.delay_ps = rlt_time_add(cost.delay_ps, clamp(((unsigned __int128)bytes * e->byte_fs + 500) / 1000));
    if (bw_Bps) {
        unsigned __int128 full = (unsigned __int128)p->fill_bytes * t->channels;
        w = clamp((unsigned __int128)rlt_transfer_time(cost.wire_bytes, bw_Bps) * t->together);
        if (p->fill_ppm)
            buffers =
                full > bytes
                    ? w
                    : clamp((unsigned __int128)rlt_transfer_time(wire_bytes(p, (uint64_t)full), bw_Bps) *
                            t->together);
    }
    least = rlt_time_add(rlt_time_add(p->message_ps, rlt_protocol_lines(p, lined, t->channels)),
                         part_of(w, p->share_ppm));
    rlt_time extra = part_of(buffers, p->fill_ppm);
    if (least - w > extra)
        extra = least - w;
    cost.delay_ps = rlt_time_add(cost.delay_ps, extra);
    if (t->ramp_ppm && bw_Bps)
        cost.delay_ps = rlt_time_add(
            cost.delay_ps,
            part_of(rlt_transfer_time(wire_bytes(p, larger(bytes, t->ramp_least)), bw_Bps), t->ramp_ppm));
    return cost;
}

/* Bytes that a link of bw_Bps carries in the gap of a message. */
static uint64_t gap_bytes(rlt_time gap_ps, uint64_t bw_Bps)
{
    const uint64_t second_ps = 1000000000000u;
    unsigned __int128 n = (unsigned __int128)(uint64_t)gap_ps * bw_Bps / second_ps;
    return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

rlt_message_cost rlt_tuning_far_cost(const rlt_endpoint *e, const rlt_tuning *t, uint64_t bytes,
                                     uint64_t bw_Bps)
{
    const rlt_internode_step *s = &t->step;
    unsigned __int128 n = ((unsigned __int128)bytes * s->wire_num + s->wire_den - 1) / s->wire_den;
    uint64_t wire = n > UINT64_MAX ? UINT64_MAX : (uint64_t)n,
             least = bytes ? gap_bytes(s->gap_ps, bw_Bps) : 0;
    rlt_time each = rlt_time_add(e->message_ps, clamp(((unsigned __int128)bytes * e->byte_fs + 500) / 1000));
    return (rlt_message_cost){rlt_time_add(each, s->delay_ps), wire < least ? least : wire};
}
