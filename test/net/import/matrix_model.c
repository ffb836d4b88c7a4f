/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matrices of nvidia-smi at random, read a second time by plain rules: two devices share a bridge, an upper bridge, a host
 * bridge or a CPU if they are that close, or both that close to others in between. A bridge is there if it tells devices
 * apart. Every link and its bandwidth is the same, and how many pairs contradict each other.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/networks/imported.h"

enum { MOST = 12, PIX = 0, PXB, PHB, NODE, SYS, HIDDEN, ITSELF };
#define GB UINT64_C(1000000000)

typedef struct machine {
    uint32_t n, gpus;
    int apart[MOST][MOST], nvlinks[MOST][MOST], affinity[MOST]; /* -1: not stated */
    bool same[NODE + 1][MOST][MOST];                            /* closure: in one group of this level */
    char name[MOST][24];
    char above[MOST][4][24]; /* of device and level; "": none */
} machine;

/* Draws a tree of sockets, host bridges, upper bridges and bridges; NVLinks hide what is between two GPUs. A few pairs of some
 * machines are said to be as far apart as chance has it. */
static void draw(machine *m, dice *d)
{
    uint32_t place[MOST][4], lies = below(d, 3) ? 0 : below(d, 6), all = below(d, 4) ? 0 : 1 + below(d, 12);
    *m = (machine){.n = 2 + below(d, MOST - 1)};
    m->gpus = 2 + below(d, m->n - 1);
    bool nvlinks = below(d, 2), affinities = below(d, 3) > 0, flat = below(d, 3) == 0; /* flat: few bridges */
    for (uint32_t i = 0; i < m->n; i++) {
        for (int level = NODE; level >= PIX; level--)
            place[i][level] = (level < NODE ? place[i][level + 1] * 4 : 0) +
                              (flat && level > PIX ? 0 : below(d, 2 + (level == NODE)));
        m->affinity[i] = affinities && below(d, 8) ? (int)place[i][NODE] : -1;
        snprintf(m->name[i], sizeof m->name[i], i < m->gpus ? "gpu%u" : "mlx5_%u", i);
    }
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k <= i; k++) {
            int level = PIX;
            while (level < SYS && place[i][level] != place[k][level])
                level++;
            if (i < m->gpus && i != k && (all || (nvlinks && below(d, 3)))) {
                m->nvlinks[i][k] = all ? (int)all : 1 + (int)below(d, 3);
                level = HIDDEN;
            }
            m->apart[i][k] = m->apart[k][i] = i == k ? ITSELF : level;
            m->nvlinks[k][i] = m->nvlinks[i][k];
        }
    for (; lies > 0; lies--) {
        uint32_t i = below(d, m->n), k = below(d, m->n);
        if (i != k && m->apart[i][k] != HIDDEN)
            m->apart[i][k] = m->apart[k][i] = (int)below(d, below(d, 2) ? SYS + 1 : PHB);
    }
}

static void write_matrix(const machine *m, char *text, size_t size)
{
    static const char *const words[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    size_t used = 0;
#define PUT(...) used += (size_t)snprintf(text + used, size - used, __VA_ARGS__)
    for (uint32_t i = 0; i < m->n; i++)
        PUT("\t%s%u", i < m->gpus ? "GPU" : "NIC", i < m->gpus ? i : i - m->gpus);
    PUT("\tCPU Affinity\tNUMA Affinity\n");
    for (uint32_t i = 0; i < m->n; i++) {
        PUT("%s%u", i < m->gpus ? "GPU" : "NIC", i < m->gpus ? i : i - m->gpus);
        for (uint32_t k = 0; k < m->n; k++)
            if (m->apart[i][k] == HIDDEN)
                PUT("\tNV%d", m->nvlinks[i][k]);
            else
                PUT("\t%s", i == k ? "X" : words[m->apart[i][k]]);
        if (m->affinity[i] >= 0)
            PUT("\t%d-%d", 8 * m->affinity[i], 8 * m->affinity[i] + 7);
        PUT("\n");
    }
    PUT("\nNIC Legend:\n\n");
    for (uint32_t i = m->gpus; i < m->n; i++)
        PUT("  NIC%u: %s\n", i - m->gpus, m->name[i]);
#undef PUT
    assert_true(used < size);
}

static void close_groups(machine *m)
{
    for (int level = PIX; level <= NODE; level++) {
        for (uint32_t i = 0; i < m->n; i++)
            for (uint32_t k = 0; k < m->n; k++)
                m->same[level][i][k] = i == k || m->apart[i][k] <= level ||
                                       (level == NODE && m->apart[i][k] == HIDDEN && m->affinity[i] >= 0 &&
                                        m->affinity[i] == m->affinity[k]);
        for (uint32_t via = 0; via < m->n; via++)
            for (uint32_t i = 0; i < m->n; i++)
                for (uint32_t k = 0; k < m->n; k++)
                    m->same[level][i][k] |= m->same[level][i][via] && m->same[level][via][k];
    }
}

/* Returns how many groups of level `below` a device's group has. */
static uint32_t parts(const machine *m, uint32_t i, int level, int below)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < m->n; k++) {
        bool first = m->same[level][i][k];
        for (uint32_t j = 0; j < k; j++)
            first = first && !m->same[below][j][k];
        count += first;
    }
    return count;
}

static uint32_t members(const machine *m, uint32_t i, int level)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < m->n; k++)
        count += m->same[level][i][k];
    return count;
}

/* Names what is above each device, in the order of devices. */
static void name_all(machine *m)
{
    static const char *const names[] = {"pcie", "pcie-upper", "host-bridge", "cpu"};
    uint32_t counts[NODE + 1] = {0};
    for (uint32_t i = 0; i < m->n; i++)
        for (int level = PIX; level <= NODE; level++) {
            bool there = level == NODE || (level == PIX && members(m, i, PIX) > 1) ||
                         (level == PXB && parts(m, i, PXB, PIX) > 1) ||
                         (level == PHB && parts(m, i, NODE, PHB) > 1 && parts(m, i, PHB, PXB) > 1);
            for (uint32_t k = 0; k < i && there && !*m->above[i][level]; k++)
                if (m->same[level][i][k])
                    memcpy(m->above[i][level], m->above[k][level], sizeof m->above[i][level]);
            if (there && !*m->above[i][level])
                snprintf(m->above[i][level], sizeof m->above[i][level], "%s%u", names[level],
                         counts[level]++);
        }
}

/* Links that were found, each once. */
typedef struct seen {
    char pair[200][52];
    uint32_t n;
} seen;

static void expect(const rlt_topology *t, seen *s, const char *a, const char *b, uint64_t bw_Bps)
{
    char pair[52];
    snprintf(pair, sizeof pair, "%s %s", strcmp(a, b) < 0 ? a : b, strcmp(a, b) < 0 ? b : a);
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->pair[i], pair) == 0)
            return;
    assert_true(s->n < 200);
    memcpy(s->pair[s->n++], pair, sizeof pair);
    test_both_ways(t, a, b, bw_Bps);
}

/* What the NVLinks are: the most of a GPU, and whether they lead to switches. */
static uint32_t most_nvlinks(const machine *m, bool *switched)
{
    uint32_t most = 0;
    bool alike = true;
    for (uint32_t i = 0; i < m->gpus; i++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < m->gpus; k++) {
            sum += (uint32_t)m->nvlinks[i][k];
            alike = alike && (i == k || m->nvlinks[i][k] == m->nvlinks[0][1]);
        }
        most = sum > most ? sum : most;
    }
    *switched = alike && most > 18;
    return *switched ? (uint32_t)m->nvlinks[0][1] : most;
}

static void assert_same(const machine *m, const rlt_topology *t)
{
    bool switched;
    uint32_t links = most_nvlinks(m, &switched);
    const uint64_t pcie = (links > 12 ? 48 : links == 0 || links > 6 ? 24 : 12) * GB;
    const uint64_t cpu = (links > 12 ? 22 : links == 0 || links > 6 ? 16 : 10) * GB;
    seen s = {.n = 0};
    for (uint32_t i = 0; i < m->n; i++) {
        const char *last = m->name[i];
        for (int level = PIX; level <= NODE; level++)
            if (*m->above[i][level]) {
                expect(t, &s, last, m->above[i][level], pcie);
                last = m->above[i][level];
                assert_int_equal(rlt_topology_node_kind(t, test_node(t, last)),
                                 level == NODE ? RLT_CPU : RLT_PCIE);
            }
        for (uint32_t k = 0; k < i; k++) {
            if (!m->same[NODE][i][k])
                expect(t, &s, m->above[k][NODE], m->above[i][NODE], cpu);
            if (!switched && m->nvlinks[i][k])
                expect(t, &s, m->name[i], m->name[k], (uint64_t)m->nvlinks[i][k] * 25 * GB);
        }
        if (switched && i < m->gpus)
            expect(t, &s, m->name[i], "nvswitch", links * 25 * GB);
    }
    assert_int_equal(rlt_topology_links(t), 2 * s.n);
    assert_int_equal(rlt_topology_accelerators(t), m->gpus);
}

static uint32_t strange_pairs(const machine *m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < i; k++) {
            bool strange = false;
            for (int level = PIX; level < m->apart[i][k] && m->apart[i][k] <= SYS; level++)
                strange = strange || m->same[level][i][k];
            count += strange;
        }
    return count;
}

static void matrices_at_random(void **state)
{
    static char text[8192];
    uint32_t strange = 0, bridges = 0, switches = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 600; seed++) {
        dice d = {.seed = seed};
        machine m;
        char said[80];
        draw(&m, &d);
        write_matrix(&m, text, sizeof text);
        close_groups(&m);
        name_all(&m);
        rlt_topology *t = test_import(text);
        assert_same(&m, t);
        uint32_t pairs = strange_pairs(&m);
        snprintf(said, sizeof said, " %u pairs are said to be further apart", pairs);
        assert_int_equal(strstr(rlt_topology_source(t), pairs ? said : "further apart") != NULL, pairs > 0);
        strange += pairs > 0;
        bridges += rlt_topology_find_node(t, "host-bridge0") != RLT_NONE;
        switches += rlt_topology_find_node(t, "nvswitch") != RLT_NONE;
        rlt_topology_free(t);
    }
    assert_true(strange > 20 && bridges > 100 && switches > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrices_at_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
