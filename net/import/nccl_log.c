/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the lines of an NCCL log (NCCL_DEBUG=INFO) about ranks, rings and connections. The text may hold the
 * lines of all processes and any other output. Other lines are skipped. A line that begins like a known one
 * but continues differently is skipped, too, because two processes may write into one line.
 */
#include "net/import/nccl_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/read.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

enum { MAX_CONNECTIONS = 1 << 23, MAX_RINGS = 1 << 16, MAX_RANKS_LISTED = 1 << 24, MAX_PROCESSES = 1 << 18 };
enum { MAX_LABEL = 300 /* bytes of "host:pid"; a longer word is no host of any system */ };

static const char mark[] = "NCCL INFO ";

/* A cursor in a line. Every step moves p, or fails and leaves it. */
typedef struct cursor {
    const char *p, *end;
} cursor;

static void blanks(cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
        c->p++;
}

static bool word(cursor *c, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0)
        return false;
    c->p += n;
    return true;
}

static bool number(cursor *c, uint32_t limit, uint32_t *out)
{
    const char *p = c->p;
    uint64_t value = 0;
    for (; p < c->end && *p >= '0' && *p <= '9'; p++) {
        value = 10 * value + (uint64_t)(*p - '0');
        if (value >= limit)
            return false;
    }
    if (p == c->p)
        return false;
    c->p = p;
    *out = (uint32_t)value;
    return true;
}

/* Moves past the next occurrence of text in the line. */
static bool find(cursor *c, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = c->p; (size_t)(c->end - p) >= n; p++) {
        p = memchr(p, text[0], (size_t)(c->end - p) - n + 1);
        if (!p)
            return false;
        if (memcmp(p, text, n) == 0) {
            c->p = p + n;
            return true;
        }
    }
    return false;
}

/* Reads "host:pid:tid [dev] " in front of the mark: the process, and the GPU that it uses. */
static int find_process(rlt__nccl_log *log, const char *line, const char *end, uint32_t *process)
{
    const char *colon[3] = {NULL}, *word_begin, *bracket;
    uint32_t colons = 0;
    *process = RLT_NONE;
    while (end > line && end[-1] == ' ')
        end--;
    for (bracket = end; bracket > line && bracket[-1] != '[' && end - bracket < 8; bracket--)
        ;
    if (end == line || end[-1] != ']' || bracket == line || bracket[-1] != '[')
        return 0;
    for (word_begin = bracket - 1; word_begin > line && word_begin[-1] == ' '; word_begin--)
        ;
    const char *word_end = word_begin;
    /* Control characters are no part of a name: colours of a terminal, zeros that a file system left. */
    while (word_begin > line && (unsigned char)word_begin[-1] > ' ')
        word_begin--;
    /* Nor are the letters of a colour behind its control character: "[32m". */
    const char *after = word_begin > line ? rlt__skip_escape(word_begin - 1, word_end) : line;
    if (after > word_begin)
        word_begin = after;
    for (const char *p = word_end; p > word_begin && colons < 3; p--)
        if (p[-1] == ':')
            colon[colons++] = p - 1; /* from the right: before tid, before pid, before host */
    if (colons < 2)
        return 0;
    const char *host = colons == 3 ? colon[2] + 1 : word_begin;
    char name[MAX_LABEL + 16];
    if (colon[0] - host > MAX_LABEL)
        return 0;
    int n =
        snprintf(name, sizeof name, "%.*s[%.*s", (int)(colon[0] - host), host, (int)(end - bracket), bracket);
    uint32_t k = rlt_intern(&log->process_names, name, (size_t)n);
    uint32_t h = rlt_intern(&log->hosts, host, (size_t)(colon[1] - host));
    if (k == RLT_NONE || h == RLT_NONE)
        return rlt_nomem(log->err);
    uint32_t before = log->process_capacity;
    int rc = rlt_grow(&log->processes, &log->process_capacity, sizeof *log->processes, k + 1ull,
                      MAX_PROCESSES, "processes", log->err);
    if (rc)
        return rc;
    for (uint32_t i = before; i < log->process_capacity; i++)
        log->processes[i] = (rlt__log_process){.host = RLT_NONE, .rank = RLT_NONE};
    log->processes[k].host = h;
    *process = k;
    return 0;
}

/* Reads "rank 1 nranks 4" or "rank 3 nRanks 8 nNodes 2 localRanks 4". */
static void communicator(rlt__nccl_log *log, cursor c, uint32_t process)
{
    uint32_t rank, n;
    if (!find(&c, " rank ") || !number(&c, RLT__LOG_MAX_RANKS, &rank) ||
        !(word(&c, " nranks ") || word(&c, " nRanks ")) || !number(&c, RLT__LOG_MAX_RANKS + 1, &n) ||
        rank >= n)
        return;
    rlt__log_process *p = &log->processes[process];
    if (n > p->n_ranks) {
        p->n_ranks = n;
        p->rank = rank;
    }
    if (log->size && n != log->size)
        log->communicators++;
    if (n > log->size) {
        log->size = n;
        log->local_ranks = 0;
    }
    uint32_t local;
    if (n == log->size && find(&c, " localRanks ") && number(&c, RLT__LOG_MAX_RANKS, &local))
        log->local_ranks = local;
}

static int add_connection(rlt__nccl_log *log, const rlt__connection *k)
{
    int rc = rlt_grow(&log->connections, &log->connection_capacity, sizeof *log->connections,
                      log->n_connections + 1ull, MAX_CONNECTIONS, "connections", log->err);
    if (!rc)
        log->connections[log->n_connections++] = *k;
    return rc;
}

/* Reads "3[8a000] -> 0[1a000] [send] via NET/IB/3/GDRDMA". */
static int connection(rlt__nccl_log *log, cursor c, uint32_t process, uint32_t channel)
{
    rlt__connection k = {.process = process, .channel = (uint8_t)channel};
    uint32_t nic = 0;
    if (!number(&c, RLT__LOG_MAX_RANKS, &k.src) || !word(&c, "[") || !find(&c, "] -> ") ||
        !number(&c, RLT__LOG_MAX_RANKS, &k.dst) || !word(&c, "[") || !find(&c, "] ") || k.src == k.dst)
        return 0;
    k.receive = word(&c, "[receive] ");
    if (!k.receive)
        (void)word(&c, "[send] ");
    if (!word(&c, "via "))
        return 0;
    if (word(&c, "P2P"))
        k.via = RLT__VIA_P2P;
    else if (word(&c, "SHM") || word(&c, "direct shared memory"))
        k.via = RLT__VIA_SHM;
    else if (word(&c, "NET/") && find(&c, "/") && number(&c, RLT__LOG_MAX_NICS, &nic))
        k.via = RLT__VIA_NET;
    else
        return 0;
    k.nic = (uint16_t)nic;
    return add_connection(log, &k);
}

/* Reads the ranks of a ring, " 0 1 2 3", to the end of the line. NCCL prints at most twenty. */
static int ring(rlt__nccl_log *log, cursor c, uint32_t channel, uint32_t line)
{
    rlt__log_ring r = {.channel = channel, .first = log->n_ranks_used, .line = line};
    uint32_t rank;
    int rc;
    for (blanks(&c); number(&c, RLT__LOG_MAX_RANKS, &rank); blanks(&c)) {
        if ((rc = rlt_grow(&log->ranks, &log->rank_capacity, sizeof *log->ranks, r.first + r.n + 1ull,
                           MAX_RANKS_LISTED, "ranks in rings", log->err)))
            return rc;
        log->ranks[r.first + r.n++] = rank;
    }
    if (c.p != c.end || r.n < 2)
        return 0;
    if ((rc = rlt_grow(&log->rings, &log->ring_capacity, sizeof *log->rings, log->n_rings + 1ull, MAX_RINGS,
                       "rings", log->err)))
        return rc;
    log->rings[log->n_rings++] = r;
    log->n_ranks_used += r.n;
    return 0;
}

/* Reads the message after the mark. */
static int message(rlt__nccl_log *log, cursor c, uint32_t process, uint32_t line)
{
    uint32_t channel, total;
    cursor all = c;
    if (!word(&c, "Channel ") && !word(&c, "Ring ")) {
        communicator(log, all, process);
        return rlt__log_choice_take(log, c.p, c.end, process, line);
    }
    if (!number(&c, RLT__LOG_MAX_CHANNELS, &channel))
        return 0;
    bool of = word(&c, "/") && number(&c, UINT32_MAX, &total);
    blanks(&c);
    if (!word(&c, ":"))
        return 0;
    blanks(&c);
    cursor rest = c;
    if (!find(&rest, "->"))
        return of ? ring(log, c, channel, line) : 0;
    return connection(log, c, process, channel);
}

/* Reads "busbw: 1002.4938 Gbps", as a widely used all-reduce benchmark prints it. */
static void measured(rlt__nccl_log *log, cursor c)
{
    int64_t value;
    if (!word(&c, "busbw:"))
        return;
    blanks(&c);
    const char *digits = c.p;
    while (c.p < c.end && ((*c.p >= '0' && *c.p <= '9') || *c.p == '.'))
        c.p++;
    size_t n = (size_t)(c.p - digits);
    blanks(&c);
    if (!word(&c, "Gbps") || n == 0 || n > 20 || rlt_parse_decimal(digits, n, 125000000, &value) ||
        value <= 0)
        return;
    if ((uint64_t)value > log->busbw_Bps)
        log->busbw_Bps = (uint64_t)value;
}

int rlt__nccl_log_scan(rlt__nccl_log *log, const char *text, size_t length)
{
    const char *p = text, *end = text + length;
    for (uint32_t line = 1; p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p)), *next = stop ? stop + 1 : end;
        cursor c = {.p = p, .end = stop ? stop : end};
        while (c.end > c.p && (c.end[-1] == '\r' || c.end[-1] == ' '))
            c.end--;
        if (find(&c, mark)) {
            uint32_t process;
            int rc = find_process(log, p, c.p - strlen(mark), &process);
            if (!rc && process != RLT_NONE)
                rc = message(log, c, process, line);
            if (rc)
                return rc;
        } else {
            blanks(&c);
            measured(log, c);
        }
        p = next;
    }
    for (uint32_t i = 0; i < log->n_rings; i++)
        if (log->rings[i].n > log->size)
            log->size = log->rings[i].n;
    return 0;
}

void rlt__nccl_log_free(rlt__nccl_log *log)
{
    rlt_strings_free(&log->hosts);
    rlt_strings_free(&log->process_names);
    free(log->processes);
    free(log->connections);
    free(log->rings);
    free(log->ranks);
    free(log->choices);
}
