/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Laws of collectives: a topology, a group, a kind, an algorithm and a size at random, small enough for
 * milliseconds. For each case:
 *
 *   exact          every rank ends with every contribution once (the symbolic check of the plan)
 *   conservation   what is offered arrives, no link carries more than it can, nothing is left over: checked at
 *                  the end of every experiment
 *   bound          no time is below the bound of any algorithm
 *   folded         the time, messages and bytes of one rank per class are those of all ranks
 *   networks       a message alone takes the same time in flow and alpha-beta, and in packets as much longer as
 *                  headers and switches make it. What holds for several messages: alone.c
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/laws.h"
#include "workload/experiment/experiment.h"
#include "workload/setup/settings.h"

enum { MOST_RANKS = 40, MOST_SETTINGS = 16, TEXT = 256, BYTES = 3 };

void fuzz_broken(const char *command, const char *law, ...)
{
    va_list args;
    va_start(args, law);
    fputs("broken: ", stderr);
    vfprintf(stderr, law, args);
    va_end(args);
    fprintf(stderr, "\n  %s\n", command);
    abort();
}

/* A collective as settings of an experiment, and as the command that runs it. */
typedef struct coll_case {
    char text[MOST_SETTINGS][TEXT];
    const char *settings[MOST_SETTINGS + 3];
    uint32_t n;
    bool send_recv, sprays;
    uint32_t bytes;
} coll_case;

__attribute__((format(printf, 2, 3))) static void give(coll_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->text[c->n], TEXT, format, args);
    va_end(args);
    c->settings[c->n] = c->text[c->n];
    c->n++;
}

/* Writes a topology of up to three dimensions and MOST_RANKS ranks. Returns the number of ranks. */
static uint32_t draw_topology(fuzz_draw *d, char *text, size_t size)
{
    static const char *const shapes[] = {"ring", "fully-connected", "switch", "mesh", "torus", "fat-tree"};
    static const char *const rates[] = {"100GB/s", "25GB/s", "10GB/s", "3GB/s", "400Gbps"};
    static const char *const latencies[] = {"500ns", "0ns", "1us", "3ns", "20us"};
    static const uint32_t sizes[] = {2, 3, 4, 5, 6, 8};
    uint32_t dims = 1 + fuzz_below(d, 3), ranks = 1;
    int n = snprintf(text, size, "topology=");
    for (uint32_t i = 0; i < dims; i++) {
        const char *shape = FUZZ_WORD(d, shapes);
        uint32_t k = FUZZ_WORD(d, sizes);
        if (ranks * k > MOST_RANKS)
            k = 2;
        if (ranks * k > MOST_RANKS)
            break;
        ranks *= k;
        n += snprintf(text + n, size - (size_t)n, "%s%s:%u@%s,%s", i ? "*" : "", shape, k,
                      FUZZ_WORD(d, rates), FUZZ_WORD(d, latencies));
        if (strcmp(shape, "switch") == 0 && fuzz_below(d, 3) == 0)
            n += snprintf(text + n, size - (size_t)n, ",in_network=reduce+multicast");
    }
    return ranks;
}

static void draw_case(fuzz_draw *d, coll_case *c)
{
    static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "broadcast",  "reduce",     "gather",         "scatter",
                                        "barrier",    "send_recv"};
    static const uint32_t sizes[] = {65536, 1 << 20, 1, 7, 1000, 4096, 100001, 600 << 10};
    static const char *const few[] = {"channels=2", "channels=3",   "chunks=2",    "chunks=5",
                                      "window=1",   "directions=2", "directions=1"};
    char topology[TEXT];
    uint32_t ranks = draw_topology(d, topology, sizeof topology), algorithms = 0, group = ranks;
    const char *kind = FUZZ_WORD(d, kinds);
    *c = (coll_case){.send_recv = strcmp(kind, "send_recv") == 0};
    give(c, "%s", topology);
    give(c, "collective=%s", kind);
    while (rlt_algorithm_word(algorithms))
        algorithms++;
    const char *algorithm = rlt_algorithm_word(fuzz_below(d, algorithms));
    give(c, "algorithm=%s", c->send_recv ? "point_to_point" : algorithm);
    c->bytes = FUZZ_WORD(d, sizes);
    give(c, "bytes=%uB", c->bytes);
    if (fuzz_below(d, 3) == 0) {
        group = 1 + fuzz_below(d, ranks);
        give(c, "ranks=%u", group);
    }
    if (fuzz_below(d, 4) == 0)
        give(c, "root=%u", fuzz_below(d, group));
    if (fuzz_below(d, 4) == 0)
        give(c, "injection=blocking");
    if (fuzz_below(d, 4) == 0)
        give(c, "link-scale=%u=0.5", fuzz_below(d, ranks));
    if (fuzz_below(d, 6) == 0) {
        c->sprays = !fuzz_below(d, 2);
        give(c, "routing=%s", c->sprays ? "spray" : "ecmp");
    }
    for (uint32_t i = fuzz_below(d, 3); i > 0; i--)
        give(c, "set=%s", FUZZ_WORD(d, few));
}

/* The command of a case, with two more settings. */
static const char *command_of(const coll_case *c, const char *network, const char *more)
{
    static char line[MOST_SETTINGS * TEXT];
    int n = snprintf(line, sizeof line, "ringlet coll");
    for (uint32_t i = 0; i < c->n; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " --%s", c->settings[i]);
    snprintf(line + n, sizeof line - (size_t)n, " --network=%s --%s", network, more);
    return line;
}

typedef struct outcome {
    bool there;
    double time, bound, messages, bytes;
} outcome;

/* Runs a case. A refusal is an answer; a check that fails, or an end that does not come, is not. */
static outcome run(const coll_case *c, const char *network, const char *more)
{
    coll_case all = *c;
    outcome out = {0};
    rlt_experiment *e = NULL;
    rlt_error err = {0};
    char setting[32];
    snprintf(setting, sizeof setting, "network=%s", network);
    for (uint32_t i = 0; i < c->n; i++)
        all.settings[i] = c->text[i];
    all.settings[all.n++] = setting;
    all.settings[all.n++] = more;
    int rc = rlt_experiment_create(NULL, all.settings, all.n, &e, &err);
    if (!rc)
        rc = rlt_experiment_run(e, NULL, &err);
    if (rc == RLT_ECHECK || rc == RLT_ESTALL)
        fuzz_broken(command_of(c, network, more), "%s: %s", err.where, err.what);
    rlt_error_prefix(&err, "experiment");
    fuzz_judge(rc, &err, NULL);
    if (!rc) {
        out.there = rlt_experiment_figure(e, "time_ps", &out.time) &&
                    rlt_experiment_figure(e, "bound_ps", &out.bound) &&
                    rlt_experiment_figure(e, "messages", &out.messages) &&
                    rlt_experiment_figure(e, "bytes", &out.bytes);
        if (!out.there)
            fuzz_broken(command_of(c, network, more), "a result has no time, bound, messages or bytes");
        if (out.time + out.messages + 1 < out.bound)
            fuzz_broken(command_of(c, network, more), "%.0f ps are below the bound, %.0f ps", out.time,
                        out.bound);
    }
    rlt_experiment_free(e);
    return out;
}

static bool equal(double a, double b)
{
    return a >= b && a <= b;
}

/* Runs a case with another size. */
static double time_of(const coll_case *c, const char *network, uint64_t bytes)
{
    coll_case other = *c;
    snprintf(other.text[BYTES], TEXT, "bytes=%lluB", (unsigned long long)bytes);
    outcome o = run(&other, network, "check");
    if (!o.there)
        fuzz_broken(command_of(&other, network, "check"), "another size is refused");
    return o.time;
}

/* A message alone: alpha-beta takes as long as flow. Packets have headers, and a packet waits in each switch until
 * its last byte is there; but sprayed packets share several routes, where flow has one for the whole message. */
static void compare_networks(const coll_case *c, double flow)
{
    enum { PAYLOAD = 4096, HEADER = 82, HOPS = 16 };
    outcome ports = run(c, "alpha-beta", "check"), packet = run(c, "packet", "check");
    uint64_t wire = c->bytes + (c->bytes + PAYLOAD - 1) / PAYLOAD * HEADER;
    if (!ports.there || !packet.there)
        fuzz_broken(command_of(c, "packet", "check"), "alpha-beta or packet refuses what flow accepts");
    if (ports.time > flow + 1 || ports.time < flow - 1)
        fuzz_broken(command_of(c, "alpha-beta", "check"), "a message alone takes %.0f ps, with flow %.0f ps",
                    ports.time, flow);
    double least = time_of(c, "flow", wire),
           hop = time_of(c, "flow", PAYLOAD + HEADER) - time_of(c, "flow", 1);
    if ((packet.time < flow - 1 && !c->sprays) || packet.time > least + HOPS * hop + HOPS)
        fuzz_broken(
            command_of(c, "packet", "check"),
            "a message alone takes %.0f ps, with flow %.0f ps, with headers %.0f ps, a packet %.0f ps",
            packet.time, flow, least, hop);
}

void fuzz_collectives(const fuzz_input *in)
{
    fuzz_draw d = fuzz_draws(in);
    coll_case c;
    draw_case(&d, &c);
    outcome flow = run(&c, "flow", "check");
    if (!flow.there)
        return;
    outcome whole = run(&c, "flow", "no-fold");
    if (!whole.there || !equal(flow.time, whole.time) || !equal(flow.messages, whole.messages) ||
        !equal(flow.bytes, whole.bytes))
        fuzz_broken(command_of(&c, "flow", "verify-fold"),
                    "folded %.0f ps, %.0f messages, %.0f bytes; whole %.0f ps, %.0f messages, %.0f bytes",
                    flow.time, flow.messages, flow.bytes, whole.time, whole.messages, whole.bytes);
    if (c.send_recv && c.bytes)
        compare_networks(&c, flow.time);
    else
        (void)run(&c, fuzz_below(&d, 2) ? "alpha-beta" : "packet", "check");
}

const fuzz_target fuzz_laws[] = {
    {"collectives", .run = fuzz_collectives, .change = fuzz_change_all, .cost = 2},
    {"alone", .run = fuzz_alone, .change = fuzz_change_all, .cost = 3},
    {"layouts", .run = fuzz_layouts, .change = fuzz_change_layouts, .cost = 10},
    {0}};
