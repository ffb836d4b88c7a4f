/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of the packet model by name. */
#include <stdio.h>
#include <string.h>

#include "net/packet/packet.h"
#include "net/packet/packets.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/base/words.h"

/* Reads "LINK:N,LINK:N". Names of links may have colons; they are found when the network is known. */
static int read_lose(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_packet_settings *s = into;
    rlt_named_losses lose = {0};
    const char *at = text, *item;
    size_t length;
    (void)p;
    while ((item = rlt_next_item(&at, ',', &length))) {
        char word[RLT_NAMED_LINK + 24], *colon;
        uint64_t number = 0;
        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 0, item);
        if ((colon = strrchr(word, ':')))
            *colon++ = '\0';
        if (!word[0] || !colon || strlen(word) >= RLT_NAMED_LINK ||
            rlt_parse_count(colon, &number, where, NULL) || number == 0)
            return rlt_fail(
                err, RLT_EUSAGE, where,
                "expected LINK:N, the name or number of a link ('ringlet run --links --expand-links' shows "
                "them) and the number of a packet on it from 1, got '%.*s'",
                length < 100 ? (int)length : 100, item);
        if (lose.n == RLT_NAMED_LOSSES)
            return rlt_fail(err, RLT_EUSAGE, where, "expected at most %d packets", RLT_NAMED_LOSSES);
        memcpy(lose.items[lose.n].name, word, strlen(word) + 1);
        lose.items[lose.n++].number = number;
    }
    s->lose = lose;
    return 0;
}

static void write_lose(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_named_losses *lose = &((const rlt_packet_settings *)from)->lose;
    size_t used = 0;
    (void)p;
    for (uint32_t i = 0; i < lose->n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s:%llu", i ? "," : "", lose->items[i].name,
                                 (unsigned long long)lose->items[i].number);
}

#define AT(field) RLT_FIELD(rlt_packet_settings, field)
#define MAX_BYTES ((double)((uint64_t)1 << 40))
#define MAX_WAIT  ((double)((uint64_t)1 << 50))
static const rlt_param settings[] = {
    {"mtu", .kind = RLT_PARAM_SIZE, AT(mtu), .preset = "4096B", .min = 1, .max = 1 << 20,
     .help = "payload of a packet (4096B)"},
    {"header", .kind = RLT_PARAM_SIZE, AT(header), .preset = "82B", .max = 1 << 16,
     .help = "bytes that a packet adds to its payload (82B: Ethernet with preamble and gap, IP, UDP, RDMA)"},
    {"ack", .kind = RLT_PARAM_COUNT, AT(ack), .preset = "1", .max = 1 << 16,
     .help = "packets per acknowledgement (1; 0: no acknowledgements)"},
    {"ack_bytes", .kind = RLT_PARAM_SIZE, AT(ack_bytes), .preset = "86B", .max = 1 << 16,
     .help = "bytes of an acknowledgement on the wire (86B)"},
    {"window", .kind = RLT_PARAM_COUNT, AT(window), .max = 1 << 20,
     .help = "most packets of a flow under way (0: no limit)"},
    {"transport", .kind = RLT_PARAM_CHOICE, .words = "gbn|selective", AT(selective),
     .help = "packets retransmitted after a loss: gbn (the lost one and all later ones) or selective"},
    {"rto", .kind = RLT_PARAM_DURATION, AT(rto_ps), .preset = "1ms", .min = 1, .max = MAX_WAIT,
     .help = "time without progress until a flow retransmits (1ms)"},
    {"retries", .kind = RLT_PARAM_COUNT, AT(retries), .preset = "16", .max = 1000,
     .help = "timeouts in a row until a flow gives up (16)"},
    {"congestion", .kind = RLT_PARAM_CHOICE, .words = "none|dcqcn", AT(dcqcn),
     .help = "reaction to marked packets: none or dcqcn"},
    {"buffer", .kind = RLT_PARAM_SIZE, AT(buffer), .max = MAX_BYTES,
     .help = "buffer of each switch port (0: no limit)"},
    {"ecn_min", .kind = RLT_PARAM_SIZE, AT(ecn_min), .max = MAX_BYTES,
     .help = "queue length from which packets may be marked"},
    {"ecn_max", .kind = RLT_PARAM_SIZE, AT(ecn_max), .max = MAX_BYTES,
     .help = "queue length above which all packets are marked (0: none are; with dcqcn 5kB to 200kB)"},
    {"ecn_probability", .kind = RLT_PARAM_SHARE, AT(ecn_probability), .preset = "0.01",
     .help = "probability of a mark at ecn_max (0.01)"},
    {"pause", .kind = RLT_PARAM_CHOICE, .words = "none|pfc|credit", AT(pause),
     .help = "back-pressure: none (a full buffer drops), pfc or credit"},
    {"pause_at", .kind = RLT_PARAM_SIZE, AT(pause_at), .max = MAX_BYTES,
     .help = "pfc: bytes from one link in a switch that start a pause (half the buffer, else 256KiB)"},
    {"resume_at", .kind = RLT_PARAM_SIZE, AT(resume_at), .max = MAX_BYTES,
     .help = "pfc: bytes at which the pause ends (half of pause_at)"},
    {"loss", .kind = RLT_PARAM_SHARE, AT(loss), .help = "probability that a link loses a packet (0)"},
    {"lose", .kind = RLT_PARAM_OTHER, AT(lose), .read = read_lose, .write = write_lose,
     .arg = "LINK:N[,LINK:N...]",
     .help = "loses single packets: the N-th that LINK carries, from 1 (LINK as in --link-scale)"},
    {"seed", .kind = RLT_PARAM_COUNT, AT(seed), .help = "seed of losses and marks (0)"},
    {"switch_latency", .kind = RLT_PARAM_DURATION, AT(switch_ps), .max = MAX_WAIT,
     .help = "time of a packet in a switch (0)"},
    {"switching", .kind = RLT_PARAM_CHOICE, .words = "store|cut", AT(cut_through),
     .help = "a switch forwards a packet after its last byte (store) or its header (cut)"},
    {0}};

rlt_packet_settings rlt_packet_default(void)
{
    rlt_packet_settings s = {0};
    int rc = rlt_params_preset(settings, &s, NULL);
    (void)rc; /* cannot fail: constants of the table above, which a test reads */
    return s;
}

const rlt_param *rlt_packet_parameters(void)
{
    return settings;
}

int rlt_packet_set(rlt_packet_settings *s, const char *name, const char *value, rlt_error *err)
{
    return rlt_params_set(settings, "the packet model", s, name, value, err);
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
    if (s->ack == 0 && (rlt_packet_may_lose(s) || s->window || (s->buffer && s->pause == RLT_PAUSE_NONE)))
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
                                .lose = s->lose,
                                .seed = s->seed,
                                .bandwidth_scale = 1,
                                .latency_scale = 1};
}
