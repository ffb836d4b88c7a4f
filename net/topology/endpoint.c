/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Endpoint settings in one table, and what a message costs under them. Protocol constants come from the
 * topology file.
 */
#include "net/topology/endpoint.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/base/units.h"

rlt_endpoint rlt_endpoint_default(void)
{
    return (rlt_endpoint){.injection = RLT_INJECT_NIC, .protocol = RLT_PROTOCOL_AUTO};
}

static int set_injection(rlt_endpoint *e, const char *value, rlt_error *err)
{
    if (strcmp(value, "nic") == 0)
        e->injection = RLT_INJECT_NIC;
    else if (strcmp(value, "blocking") == 0)
        e->injection = RLT_INJECT_BLOCKING;
    else
        return rlt_fail(err, RLT_EUSAGE, "injection", "expected nic or blocking, got '%.64s'", value);
    return 0;
}

static int set_launch(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return rlt_parse_duration(value, &e->launch_ps, "launch", err);
}

static int set_message(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return rlt_parse_duration(value, &e->message_ps, "message", err);
}

/* Femtoseconds, which the common durations do not resolve: a byte at 400 GB/s takes 2.5 ps. */
static int set_byte(rlt_endpoint *e, const char *value, rlt_error *err)
{
    static const struct {
        const char *unit;
        int64_t fs;
    } units[] = {{"fs", 1}, {"ps", 1000}, {"ns", 1000000}, {"us", 1000000000}};
    size_t number = strspn(value, "0123456789.");
    const char *unit = value + number;
    int64_t fs = -1;
    unit += strspn(unit, " ");
    if (strcmp(value, "0") == 0) {
        e->byte_fs = 0;
        return 0;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (number > 0 && strcmp(unit, units[i].unit) == 0 &&
            rlt_parse_decimal(value, number, units[i].fs, &fs) < 0)
            fs = -1;
    if (fs < 0)
        return rlt_fail(err, RLT_EMALFORMED, "byte",
                        "expected a duration with a unit, such as 0.5ps, got '%.64s'", value);
    if (fs > UINT32_MAX)
        return rlt_fail(err, RLT_ERANGE, "byte", "at most 4.29us for each byte, got '%.64s'", value);
    e->byte_fs = (uint32_t)fs;
    return 0;
}

static int set_protocol(rlt_endpoint *e, const char *value, rlt_error *err)
{
    char known[RLT_MAX_PROTOCOLS * 18 + 8] = "auto";
    if (strcmp(value, "auto") == 0) {
        e->protocol = RLT_PROTOCOL_AUTO;
        return 0;
    }
    for (uint32_t i = 0; i < e->n_protocols; i++) {
        if (strcasecmp(value, e->protocols[i].name) == 0) {
            e->protocol = (int)i;
            return 0;
        }
        rlt_list_name(known, sizeof known, e->protocols[i].name);
    }
    return rlt_fail(err, RLT_EUSAGE, "protocol", "unknown protocol '%.64s': this topology has %s", value,
                    known);
}

static int set_count(uint32_t *out, const char *value, const char *name, rlt_error *err)
{
    uint64_t n = 0;
    int rc = rlt_parse_count(value, &n, name, err);
    if (rc < 0)
        return rc;
    if (n > RLT_MAX_CHANNELS)
        return rlt_fail(err, RLT_ERANGE, name, "at most %d, got %.64s", RLT_MAX_CHANNELS, value);
    *out = (uint32_t)n;
    return 0;
}

static int set_ppm(uint32_t *out, const char *value, const char *name, rlt_error *err)
{
    int64_t ppm = -1;
    if (value[0] == 0 || rlt_parse_decimal(value, strlen(value), 1000000, &ppm) < 0 || ppm < 0 ||
        ppm > 1000000000)
        return rlt_fail(err, RLT_EMALFORMED, name, "expected a number from 0 to 1000, got '%.64s'", value);
    *out = (uint32_t)ppm;
    return 0;
}

static int set_channels(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return set_count(&e->channels, value, "thread_blocks", err);
}

static int set_peer_channels(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return set_count(&e->peer_channels, value, "peer_blocks", err);
}

static int set_copy(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return set_ppm(&e->copy_ppm, value, "copy", err);
}

static int set_clock(rlt_endpoint *e, const char *value, rlt_error *err)
{
    uint32_t ppm = 0;
    int rc = set_ppm(&ppm, value, "clock", err);
    if (rc < 0)
        return rc;
    if (!ppm)
        return rlt_fail(err, RLT_ERANGE, "clock", "expected at least 0.000001 (GHz), got '%.64s'", value);
    e->clock_ppm = ppm;
    return 0;
}

static int set_narrow(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return rlt_parse_rate(value, &e->narrow_Bps, "narrow", err);
}

static int set_copy_lines(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return set_ppm(&e->copy_lines_ppm, value, "copy_lines", err);
}

static int set_reduce_lines(rlt_endpoint *e, const char *value, rlt_error *err)
{
    return set_ppm(&e->reduce_lines_ppm, value, "reduce_lines", err);
}

static const struct setting {
    const char *name;
    int (*set)(rlt_endpoint *e, const char *value, rlt_error *err);
} settings[] = {{"injection", set_injection},
                {"launch", set_launch},
                {"message", set_message},
                {"byte", set_byte},
                {"protocol", set_protocol},
                {"thread_blocks", set_channels},
                {"peer_blocks", set_peer_channels},
                {"clock", set_clock},
                {"copy", set_copy},
                {"narrow", set_narrow},
                {"copy_lines", set_copy_lines},
                {"reduce_lines", set_reduce_lines}};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

const char *rlt_endpoint_setting(uint32_t i)
{
    return i < N_SETTINGS ? settings[i].name : NULL;
}

static void ppm_text(uint32_t ppm, char *text, size_t size)
{
    snprintf(text, size, "%u.%06u", ppm / 1000000, ppm % 1000000);
}

bool rlt_endpoint_get(const rlt_endpoint *e, uint32_t i, char *text, size_t size)
{
    const char *name = rlt_endpoint_setting(i);
    const struct {
        const char *name;
        uint32_t ppm;
    } numbers[] = {{"clock", e->clock_ppm},
                   {"copy", e->copy_ppm},
                   {"copy_lines", e->copy_lines_ppm},
                   {"reduce_lines", e->reduce_lines_ppm}};
    const struct {
        const char *name;
        uint32_t n;
    } counts[] = {{"thread_blocks", e->channels}, {"peer_blocks", e->peer_channels}};
    text[0] = 0;
    for (size_t k = 0; name && k < sizeof numbers / sizeof *numbers; k++)
        if (strcmp(name, numbers[k].name) == 0) {
            ppm_text(numbers[k].ppm, text, size);
            return numbers[k].ppm != 0;
        }
    for (size_t k = 0; name && k < sizeof counts / sizeof *counts; k++)
        if (strcmp(name, counts[k].name) == 0) {
            snprintf(text, size, "%u", counts[k].n);
            return counts[k].n != 0;
        }
    if (name && strcmp(name, "narrow") == 0) {
        snprintf(text, size, "%lluB/s", (unsigned long long)e->narrow_Bps);
        return e->narrow_Bps != 0;
    }
    return false; /* those that are always written */
}

/* "LL.message": a setting of a protocol that the endpoint has. */
static int set_of_protocol(rlt_endpoint *e, const char *name, const char *dot, const char *value,
                           rlt_error *err)
{
    for (uint32_t i = 0; i < e->n_protocols; i++) {
        const char *own = e->protocols[i].name;
        if (strlen(own) == (size_t)(dot - name) && strncasecmp(name, own, (size_t)(dot - name)) == 0)
            return rlt_protocol_set(&e->protocols[i], dot + 1, value, err);
    }
    return rlt_fail(err, RLT_EUSAGE, NULL, "this topology has no protocol '%.*s'", (int)(dot - name), name);
}

int rlt_endpoint_set(rlt_endpoint *e, const char *name, const char *value, rlt_error *err)
{
    char known[256] = "";
    const char *dot;
    if (strncmp(name, "protocols.", 10) == 0)
        name += 10;
    if ((dot = strchr(name, '.')))
        return set_of_protocol(e, name, dot, value, err);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strcmp(name, settings[i].name) == 0)
            return settings[i].set(e, value, err);
        rlt_list_name(known, sizeof known, settings[i].name);
    }
    return rlt_fail(err, RLT_EUSAGE, NULL, "unknown setting '%.64s': endpoints have %s", name, known);
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
        if (p->serves && !(p->serves & RLT_FOR_STEPS))
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
