/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of the packet model by name. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

enum kind { SIZE, COUNT, DURATION, NUMBER, WORD };

typedef struct setting {
    const char *name;
    enum kind kind;
    size_t offset;
    uint64_t min, max;
    const char *words[4]; /* by value */
    const char *help;
} setting;

#define AT(field) offsetof(rlt_packet_settings, field)
#define MAX_BYTES ((uint64_t)1 << 40)
static const setting settings[] = {
    {"mtu", SIZE, AT(mtu), 1, 1 << 20, {0}, "payload of a packet (4096B)"},
    {"header",
     SIZE,
     AT(header),
     0,
     1 << 16,
     {0},
     "what a packet adds to it on the wire (82B: Ethernet with preamble and gap, IP, UDP, RDMA)"},
    {"ack", COUNT, AT(ack), 0, 1 << 16, {0}, "packets that one acknowledgement stands for (1; 0: none)"},
    {"ack_bytes", SIZE, AT(ack_bytes), 0, 1 << 16, {0}, "an acknowledgement on the wire (86B)"},
    {"window", COUNT, AT(window), 0, 1 << 20, {0}, "packets of a flow under way (0: without limit)"},
    {"transport",
     WORD,
     AT(selective),
     0,
     0,
     {"gbn", "selective"},
     "what is sent again after a loss: gbn (all since) or selective"},
    {"rto",
     DURATION,
     AT(rto_ps),
     1,
     (uint64_t)1 << 50,
     {0},
     "time without progress after which a flow sends again (1ms)"},
    {"retries", COUNT, AT(retries), 0, 1000, {0}, "how often in a row before it gives up (16)"},
    {"congestion", WORD, AT(dcqcn), 0, 0, {"none", "dcqcn"}, "what marked packets do: none or dcqcn"},
    {"buffer", SIZE, AT(buffer), 0, MAX_BYTES, {0}, "of each port of a switch (0: without limit)"},
    {"ecn_min", SIZE, AT(ecn_min), 0, MAX_BYTES, {0}, "queue from which packets may be marked"},
    {"ecn_max",
     SIZE,
     AT(ecn_max),
     0,
     MAX_BYTES,
     {0},
     "queue above which all are (0: none are; with dcqcn 5kB to 200kB)"},
    {"ecn_probability", NUMBER, AT(ecn_probability), 0, 1, {0}, "of a mark at ecn_max (0.01)"},
    {"pause",
     WORD,
     AT(pause),
     0,
     0,
     {"none", "pfc", "credit"},
     "what a full buffer does: drop (none), pfc or credit"},
    {"pause_at",
     SIZE,
     AT(pause_at),
     0,
     MAX_BYTES,
     {0},
     "pfc: of one link in a switch (half the buffer, else 256KiB)"},
    {"resume_at", SIZE, AT(resume_at), 0, MAX_BYTES, {0}, "pfc: end of the pause (half of pause_at)"},
    {"loss", NUMBER, AT(loss), 0, 1, {0}, "probability that a link loses a packet (0)"},
    {"seed", COUNT, AT(seed), 0, UINT64_MAX, {0}, "of losses and marks (0)"},
    {"switch_latency", DURATION, AT(switch_ps), 0, (uint64_t)1 << 50, {0}, "of a packet in a switch (0)"},
    {"switching",
     WORD,
     AT(cut_through),
     0,
     0,
     {"store", "cut"},
     "when a switch passes a packet on: store (all of it is there) or cut (its header is)"},
};
enum { N_SETTINGS = sizeof(settings) / sizeof(settings[0]) };

rlt_packet_settings rlt_packet_default(void)
{
    return (rlt_packet_settings){.mtu = 4096,
                                 .header = 82,
                                 .ack_bytes = 86,
                                 .ack = 1,
                                 .retries = 16,
                                 .rto_ps = RLT_MS,
                                 .ecn_probability = 0.01};
}

const char *rlt_packet_setting(uint32_t i)
{
    return i < N_SETTINGS ? settings[i].name : NULL;
}

const char *rlt_packet_setting_help(uint32_t i)
{
    return i < N_SETTINGS ? settings[i].help : NULL;
}

static int set_word(const setting *d, const char *value, int *out, rlt_error *err)
{
    char known[64] = "";
    for (int i = 0; i < 4 && d->words[i]; i++) {
        if (strcmp(value, d->words[i]) == 0) {
            *out = i;
            return 0;
        }
        rlt_list_name(known, sizeof(known), d->words[i]);
    }
    return rlt_fail(err, RLT_EUSAGE, d->name, "expected one of %s, got '%.40s'", known, value);
}

/* "1%" or "0.01". */
static int parse_probability(const setting *d, const char *value, double *out, rlt_error *err)
{
    char text[40];
    size_t length = strlen(value);
    bool percent = length > 1 && length < sizeof(text) && value[length - 1] == '%';
    snprintf(text, sizeof(text), "%.*s", (int)(percent ? length - 1 : length < 39 ? length : 39), value);
    int rc = rlt_parse_number(text, 0, out, d->name, err);
    if (rc)
        return rc;
    if (percent)
        *out /= 100;
    return *out <= 1 ? 0 : rlt_fail(err, RLT_EUSAGE, d->name, "expected 0 to 1, got '%.40s'", value);
}

static int set_number(const setting *d, const char *value, void *field, rlt_error *err)
{
    uint64_t n = 0;
    rlt_time t = 0;
    int rc = 0;
    switch (d->kind) {
    case SIZE:
        rc = rlt_parse_size(value, &n, d->name, err);
        break;
    case COUNT:
        rc = rlt_parse_count(value, &n, d->name, err);
        break;
    case DURATION:
        rc = rlt_parse_duration(value, &t, d->name, err);
        n = (uint64_t)t;
        break;
    case NUMBER:
        return parse_probability(d, value, field, err);
    case WORD:
        return set_word(d, value, field, err);
    }
    if (rc)
        return rc;
    if (n < d->min || n > d->max)
        return rlt_fail(err, RLT_EUSAGE, d->name, "'%.40s' is not in its range", value);
    if (d->kind == DURATION)
        *(rlt_time *)field = t;
    else
        *(uint64_t *)field = n;
    return 0;
}

int rlt_packet_set(rlt_packet_settings *s, const char *name, const char *value, rlt_error *err)
{
    for (uint32_t i = 0; i < N_SETTINGS; i++)
        if (strcmp(name, settings[i].name) == 0)
            return set_number(&settings[i], value, (char *)s + settings[i].offset, err);
    return rlt_fail(err, RLT_EUSAGE, name, "unknown setting of the packet model");
}

int rlt_packet_check(rlt_packet_settings *s, rlt_error *err)
{
    if (s->dcqcn && s->ecn_max == 0) { /* SIGCOMM'15, table of section 4 */
        s->ecn_min = 5000;
        s->ecn_max = 200000;
    }
    if (s->pause_at == 0)
        s->pause_at = s->buffer ? s->buffer / 2 : 256 << 10;
    if (s->resume_at == 0)
        s->resume_at = s->pause_at / 2;
    if (s->ack == 0 && (s->loss > 0 || s->window || (s->buffer && s->pause == RLT_PAUSE_NONE)))
        return rlt_fail(err, RLT_EUSAGE, "ack",
                        "packets that can be lost, and windows, need acknowledgements");
    if (s->window && s->ack > s->window)
        return rlt_fail(err, RLT_EUSAGE, "ack", "an acknowledgement for more packets than the window has");
    if (s->ecn_max < s->ecn_min)
        return rlt_fail(err, RLT_EUSAGE, "ecn_max", "is less than ecn_min");
    if (s->resume_at > s->pause_at)
        return rlt_fail(err, RLT_EUSAGE, "resume_at", "is more than pause_at");
    if (s->pause == RLT_PAUSE_CREDIT && s->buffer == 0)
        return rlt_fail(err, RLT_EUSAGE, "pause", "credit needs a buffer of a known size");
    return 0;
}

rlt_packets_config rlt_packet_links(const rlt_packet_settings *s)
{
    return (rlt_packets_config){.switch_ps = s->switch_ps,
                                .cut_through = s->cut_through,
                                .header_bytes = (uint32_t)s->header,
                                .buffer_bytes = s->buffer,
                                .ecn_min_bytes = s->ecn_min,
                                .ecn_max_bytes = s->ecn_max,
                                .ecn_probability = s->ecn_probability,
                                .pause = (rlt_pause)s->pause,
                                .pause_bytes = s->pause_at,
                                .resume_bytes = s->resume_at,
                                .loss = s->loss,
                                .seed = s->seed,
                                .bandwidth_scale = 1,
                                .latency_scale = 1};
}
