/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A protocol's settings by name, and what a message of a tuned collective costs under it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "net/topology/endpoint.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

enum { MILLION = 1000000, MAX_FRACTION = 1000 };

rlt_protocol rlt_protocol_default(void)
{
    return (rlt_protocol){.wire_num = 1, .wire_den = 1, .serves = RLT_FOR_STEPS, .share_ppm = MILLION};
}

static int set_fraction(uint32_t *out, const char *value, const char *name, rlt_error *err)
{
    int64_t ppm = -1;
    if (value[0] == 0 || rlt_parse_decimal(value, strlen(value), MILLION, &ppm) < 0 || ppm < 0 ||
        ppm > (int64_t)MAX_FRACTION * MILLION)
        return rlt_fail(err, RLT_EMALFORMED, name, "expected a number from 0 to %d, got '%.64s'",
                        MAX_FRACTION, value);
    *out = (uint32_t)ppm;
    return 0;
}

/* "16/8", or a number of at least 1. */
static int set_wire(rlt_protocol *p, const char *value, rlt_error *err)
{
    const char *slash = strchr(value, '/');
    uint64_t num = 0, den = MILLION;
    uint32_t ppm = 0;
    char left[32];
    bool ok;
    if (slash) {
        snprintf(left, sizeof left, "%.*s", (int)(slash - value), value);
        ok = slash - value < (ptrdiff_t)sizeof left && rlt_parse_count(left, &num, NULL, NULL) == 0 &&
             rlt_parse_count(slash + 1, &den, NULL, NULL) == 0;
    } else {
        ok = set_fraction(&ppm, value, NULL, NULL) == 0;
        num = ppm;
    }
    if (!ok || den < 1 || num < den || num > (uint64_t)MAX_FRACTION * MILLION)
        return rlt_fail(err, RLT_EMALFORMED, "wire",
                        "expected wire bytes over data bytes, at least 1, such as 16/8 or 1.25, got '%.40s'",
                        value);
    p->wire_num = (uint32_t)num;
    p->wire_den = (uint32_t)den;
    return 0;
}

static int set_serves(rlt_protocol *p, const char *value, rlt_error *err)
{
    static const struct {
        const char *name;
        uint32_t serves;
    } words[] = {{"steps", RLT_FOR_STEPS}, {"direct", RLT_FOR_DIRECT}, {"nvls", RLT_FOR_NVLS}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i].name) == 0) {
            p->serves = words[i].serves;
            return 0;
        }
    return rlt_fail(err, RLT_EUSAGE, "for", "expected steps, direct or nvls, got '%.64s'", value);
}

enum kind { TIME, SIZE, RATE, FRACTION };

static const struct {
    const char *name;
    enum kind kind;
    size_t at;
} fields[] = {{"message", TIME, offsetof(rlt_protocol, message_ps)},
              {"start", TIME, offsetof(rlt_protocol, start_ps)},
              {"member", TIME, offsetof(rlt_protocol, member_ps)},
              {"line_time", TIME, offsetof(rlt_protocol, line_ps)},
              {"line", SIZE, offsetof(rlt_protocol, line_bytes)},
              {"channel", SIZE, offsetof(rlt_protocol, channel_bytes)},
              {"limit", SIZE, offsetof(rlt_protocol, limit_bytes)},
              {"share", FRACTION, offsetof(rlt_protocol, share_ppm)},
              {"fill", FRACTION, offsetof(rlt_protocol, fill_ppm)},
              {"fill_bytes", SIZE, offsetof(rlt_protocol, fill_bytes)},
              {"tuner_base", TIME, offsetof(rlt_protocol, tuner_base_ps)},
              {"tuner_step", TIME, offsetof(rlt_protocol, tuner_step_ps)},
              {"tuner_bandwidth", RATE, offsetof(rlt_protocol, tuner_Bps)}};
enum { N_FIELDS = sizeof fields / sizeof *fields };

const char *rlt_protocol_setting(uint32_t i)
{
    return i < N_FIELDS ? fields[i].name : i == N_FIELDS ? "wire" : i == N_FIELDS + 1 ? "for" : NULL;
}

static int set_field(rlt_protocol *p, uint32_t i, const char *value, rlt_error *err)
{
    void *at = (char *)p + fields[i].at;
    switch (fields[i].kind) {
    case TIME:
        return rlt_parse_duration(value, at, fields[i].name, err);
    case SIZE:
        return rlt_parse_size(value, at, fields[i].name, err);
    case RATE:
        return rlt_parse_rate(value, at, fields[i].name, err);
    default:
        return set_fraction(at, value, fields[i].name, err);
    }
}

int rlt_protocol_set(rlt_protocol *p, const char *name, const char *value, rlt_error *err)
{
    char known[256] = "wire, for";
    if (strcmp(name, "wire") == 0)
        return set_wire(p, value, err);
    if (strcmp(name, "for") == 0)
        return set_serves(p, value, err);
    for (uint32_t i = 0; i < N_FIELDS; i++) {
        if (strcmp(name, fields[i].name) == 0)
            return set_field(p, i, value, err);
        rlt_list_name(known, sizeof known, fields[i].name);
    }
    return rlt_fail(err, RLT_EUSAGE, NULL, "unknown setting '%.64s' of a protocol: it has %s", name, known);
}

static void field_text(const rlt_protocol *p, uint32_t i, char *text, size_t size)
{
    const void *at = (const char *)p + fields[i].at;
    uint32_t ppm = 0;
    switch (fields[i].kind) {
    case TIME:
        snprintf(text, size, "%lldps", (long long)*(const rlt_time *)at);
        break;
    case SIZE:
        snprintf(text, size, "%lluB", (unsigned long long)*(const uint64_t *)at);
        break;
    case RATE:
        snprintf(text, size, "%lluB/s", (unsigned long long)*(const uint64_t *)at);
        break;
    default:
        ppm = *(const uint32_t *)at;
        snprintf(text, size, "%u.%06u", ppm / MILLION, ppm % MILLION);
    }
}

bool rlt_protocol_get(const rlt_protocol *p, uint32_t i, char *text, size_t size)
{
    const rlt_protocol usual = rlt_protocol_default();
    char without[64];
    if (i < N_FIELDS) {
        field_text(p, i, text, size);
        field_text(&usual, i, without, sizeof without);
        return strcmp(text, without) != 0;
    }
    if (i == N_FIELDS) {
        snprintf(text, size, "%u/%u", p->wire_num, p->wire_den);
        return p->wire_num != p->wire_den;
    }
    snprintf(text, size, "%s",
             p->serves & RLT_FOR_NVLS     ? "nvls"
             : p->serves & RLT_FOR_DIRECT ? "direct"
                                          : "steps");
    return p->serves && p->serves != usual.serves;
}

/* ---- costs ---- */

static rlt_time clamp(unsigned __int128 t)
{
    return t > (unsigned __int128)RLT_TIME_MAX ? RLT_TIME_MAX : (rlt_time)t;
}

static rlt_time part_of(rlt_time t, uint32_t ppm)
{
    return clamp((unsigned __int128)(t > 0 ? t : 0) * ppm / MILLION);
}

/* Below one line a channel has fewer threads, and a quarter of a line comes with the message itself (NCCL
 * halves the threads down to a few warps). */
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

rlt_message_cost rlt_tuning_cost(const rlt_endpoint *e, const rlt_tuning *t, uint64_t bytes, uint64_t bw_Bps)
{
    const rlt_protocol *p = &t->protocol;
    rlt_message_cost cost = {e->message_ps, wire_bytes(p, bytes)};
    rlt_time w = 0, buffers = 0, least;
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
    least = rlt_time_add(rlt_time_add(p->message_ps, rlt_protocol_lines(p, bytes, t->channels)),
                         part_of(w, p->share_ppm));
    rlt_time extra = part_of(buffers, p->fill_ppm);
    if (least - w > extra)
        extra = least - w;
    cost.delay_ps = rlt_time_add(cost.delay_ps, extra);
    return cost;
}
