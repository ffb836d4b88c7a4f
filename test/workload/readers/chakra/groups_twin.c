/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of random Chakra traces: along random dimensions of a topology, a group is the ranks that agree in all
 * other coordinates; listed in every form of quoting that PyTorch and its converters write, it is the ranks of
 * the list, in their order. Recorded starts are counted from the earliest one that is known.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/chakra.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

enum { MOST_RANKS = 24 };

static const rlt_comm *comm_of(const rlt_program *p, uint32_t rank)
{
    return &p->comms[p->ops[p->rank_first[rank]].comm];
}

static void same_group(const rlt_program *p, uint32_t trial, uint32_t rank, const uint32_t *ranks, uint32_t n)
{
    uint32_t g = comm_of(p, rank)->group, first = p->group_first[g];
    if (p->group_first[g + 1] - first != n)
        fail_msg("trial %u: rank %u has a group of %u, expected %u", trial, rank,
                 p->group_first[g + 1] - first, n);
    for (uint32_t i = 0; i < n; i++)
        if (p->group_ranks[first + i] != ranks[i])
            fail_msg("trial %u: member %u of rank %u is %u, expected %u", trial, i, rank,
                     p->group_ranks[first + i], ranks[i]);
}

/* Lists the ranks that differ from `rank` at most along the involved dimensions, ascending. */
static uint32_t along(const rlt_read_options *o, uint32_t n_ranks, const bool *involved, uint32_t rank,
                      uint32_t *ranks)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < n_ranks; r++) {
        bool agrees = true;
        for (uint32_t d = 0, a = r, b = rank; d < o->n_dims; a /= o->dims[d], b /= o->dims[d], d++)
            agrees &= involved[d] || a % o->dims[d] == b % o->dims[d];
        if (agrees)
            ranks[n++] = r;
    }
    return n;
}

/* Writes a rank whose one collective has these flags, which may be more or fewer than the dimensions; without any, all
 * take part. */
static void write_involved(uint32_t rank, const uint8_t *flags, uint32_t n_flags)
{
    file f;
    char name[32];
    uint8_t value[16] = {0xe2, 0x01, (uint8_t)(n_flags + 2), 0x0a, (uint8_t)n_flags}; /* packed bools */
    memcpy(value + 5, flags, n_flags);
    begin(&f);
    head(&f, 0, "ar", RLT_CHAKRA_COLL);
    number(&f, "comm_size", RLT_CHAKRA_INT64, 8);
    raw_attr(&f, "involved_dim", value, 5 + n_flags);
    message(&f);
    snprintf(name, sizeof name, "dims.%u.et", rank);
    end(&f, name);
}

static void involved_dimensions(void **state)
{
    dice d = {.seed = 31};
    (void)state;
    for (uint32_t k = 0; k < 60; k++) {
        rlt_read_options o = plain_options();
        uint8_t flags[5];
        bool involved[RLT_MAX_DIMS] = {false}, all = true;
        uint32_t n = 1, ranks[MOST_RANKS], n_flags = below(&d, 5);
        o.n_dims = 1 + below(&d, 3);
        for (uint32_t i = 0; i < o.n_dims; i++)
            n *= o.dims[i] = 1 + below(&d, i ? 2 + (n < 9) : 4);
        for (uint32_t i = 0; i < n_flags; i++)
            flags[i] = below(&d, 3) > 0;
        for (uint32_t i = 0; i < o.n_dims; i++)
            all &= involved[i] = n_flags == 0 || (i < n_flags && flags[i]);
        for (uint32_t r = 0; r < n; r++)
            write_involved(r, flags, n_flags);
        rlt_program *p = read_with("dims", &o);
        assert_int_equal(p->n_ranks, n);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t members = along(&o, n, involved, r, ranks);
            assert_true(!all || members == n);
            same_group(p, k, r, ranks, members);
        }
        rlt_program_free(p);
        p = read_trace("dims"); /* without a topology all ranks; a note for each rank that leaves one out */
        for (uint32_t i = 0; i < n; i++)
            ranks[i] = i;
        same_group(p, k, n - 1, ranks, n);
        assert_int_equal(noted(p, "involved_dim"), memchr(flags, 0, n_flags) ? n : 0);
        rlt_program_free(p);
        clean();
    }
}

/* How a list is written: as it is, with text around it, as a text in a list with either quote, behind an empty
 * one. */
static const char *const quotings[][2] = {
    {"", ""}, {"  ", " , x"}, {"[\"", "\"]"}, {"['", "']"}, {"[\"\", \"", "\"]\n"}};

/* Writes the list of groups "0" to "4" in rank 0; group k has ranks rows[k][1] ..., rows[k][0] of them. */
static void write_list(file *f, dice *d, uint32_t rows[][5], uint32_t n)
{
    const char *const *way = quotings[below(d, sizeof quotings / sizeof *quotings)];
    const char *quote = way[0][0] && strchr(way[0], '"') ? "\\\"" : "\"";
    char text[900];
    size_t used = (size_t)snprintf(text, sizeof text, "%s[", way[0]);
    rlt_pb_out io = {0};
    if (below(d, 2)) /* no groups: one has no ranks, the other no name */
        used += (size_t)snprintf(text + used, sizeof text - used, "{%spg_name%s: %s7%s}, {%sranks%s: [0]}, ",
                                 quote, quote, quote, quote, quote, quote);
    for (uint32_t k = 0; k < n; k++) {
        const char *around = below(d, 2) ? quote : "";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s{%spg_name%s: %s%u%s, %sranks%s: [",
                                 k ? ", " : "", quote, quote, around, k, around, quote, quote);
        for (uint32_t i = 0; i < rows[k][0]; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i ? ", " : "", rows[k][1 + i]);
        used += (size_t)snprintf(text + used, sizeof text - used, "]}");
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "]%s", way[1]);
    head(f, 9, below(d, 2) ? "## process_group:init ##" : "process_group:init", RLT_CHAKRA_METADATA);
    rlt__pb_put_bytes(&io, 1, text, used);
    rlt__pb_put_bytes(&f->node, 8, io.data, io.length);
    rlt__pb_out_free(&io);
    message(f);
}

/* Four ranks, each in one of four groups, which list them from any one on; or all in an empty list, which is the
 * world. Groups are named by a number or its digits. */
static void listed_groups(void **state)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    dice d = {.seed = 32};
    (void)state;
    for (uint32_t k = 0; k < 120; k++) {
        uint32_t rows[5][5] = {{0}}, uses[4], begin_at = below(&d, 4);
        bool whole = below(&d, 6) == 0;
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t r = (begin_at + 3 * i) % 4;
            uses[r] = whole ? 4 : below(&d, 4);
            if (!whole)
                rows[uses[r]][++rows[uses[r]][0]] = r;
        }
        for (uint32_t r = 0; r < 4; r++) {
            file f;
            char name[32], digits[16];
            begin(&f);
            if (r == begin_at || below(&d, 2)) /* one file has the list, or several have the same */
                write_list(&f, &d, rows, 5);
            snprintf(digits, sizeof digits, "%u", uses[r]);
            head(&f, 1, "coll", RLT_CHAKRA_COLL);
            number(&f, "comm_size", RLT_CHAKRA_INT64, 8);
            if (below(&d, 2))
                number(&f, "pg_name", RLT_CHAKRA_UINT32, uses[r]);
            else
                text(&f, "pg_name", digits);
            message(&f);
            snprintf(name, sizeof name, "list.%u.et", r);
            end(&f, name);
        }
        rlt_program *p = read_trace("list");
        assert_int_equal(noted(p, "process group"), 0);
        for (uint32_t r = 0; r < 4; r++)
            same_group(p, k, r, whole ? all : rows[uses[r]] + 1, whole ? 4 : rows[uses[r]][0]);
        rlt_program_free(p);
        clean();
    }
}

/* Lists in two files must be the same, member by member; a rank is below the limit. */
static void lists_that_differ(void **state)
{
    static const struct {
        uint32_t rows[2][1][5];
        const char *what; /* NULL: they are taken */
    } cases[] = {
        {{{{2, 0, 1}}, {{2, 0, 1}}}, NULL},
        {{{{0}}, {{0}}}, NULL},
        {{{{2, 0, 1}}, {{2, 1, 0}}}, "process group \"0\" has different ranks in different files"},
        {{{{2, 0, 1}}, {{1, 0}}}, "process group \"0\" has different ranks in different files"},
        {{{{2, 0, 1}}, {{0}}}, "process group \"0\" has different ranks in different files"},
        {{{{0}}, {{2, 0, 1}}}, "process group \"0\" has different ranks in different files"},
        {{{{2, 0, RLT_MAX_RANKS}}, {{0}}}, "16777215"},
    };
    dice d = {.seed = 33};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t rows[1][5];
        for (uint32_t r = 0; r < 2; r++) {
            file f;
            begin(&f);
            memcpy(rows, cases[i].rows[r], sizeof rows);
            write_list(&f, &d, rows, 1);
            collective(&f, 1, RLT_CHAKRA_ALL_REDUCE, 8, "0");
            end(&f, r ? "two.1.et" : "two.0.et");
        }
        bool differ = cases[i].what && cases[i].what[0] == 'p';
        if (cases[i].what)
            refused("two", differ ? RLT_ESCHEMA : RLT_ERANGE, differ ? "two.1.et" : "two.0.et",
                    cases[i].what);
        else
            rlt_program_free(read_trace("two"));
        clean();
    }
}

/* What is wrong with a node is named with its file. */
static void places(void **state)
{
    file f;
    (void)state;
    begin(&f);
    collective(&f, 1, (uint64_t)1 << 40, 8, NULL);
    end(&f, "wrong.0.et");
    refused("wrong", RLT_ESCHEMA, "wrong.0.et: node 1", "attribute comm_type is 1099511627776");
    clean();
}

/* Starts are counted from the earliest above 0: 0 is unknown, and a start before it, too. */
static void starts(void **state)
{
    static const uint64_t given[] = {0, 70, 50, 90};
    static const rlt_time expected[] = {-1, 20 * RLT_US, 0, 40 * RLT_US};
    file f;
    (void)state;
    begin(&f);
    for (uint32_t i = 0; i < 4; i++) {
        work(&f, i + 1, "work", 5, false);
        rlt__pb_put_uint(&f.node, 6, given[i]);
        message(&f);
    }
    end(&f, "starts.0.et");
    rlt_program *p = read_trace("starts");
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(p->ops[i].recorded_ps, expected[i]);
    rlt_program_free(p);
    clean();
}

/* Each of many groups has an all-to-all whose size differs between its two ranks, and one whose size does not. */
static void uneven_exchanges(void **state)
{
    enum { GROUPS_OF = 300 };
    (void)state;
    for (uint32_t r = 0; r < 2; r++) {
        char name[16];
        file f;
        begin(&f);
        for (uint32_t g = 0; g < GROUPS_OF; g++)
            for (uint32_t k = 0; k < 2; k++) {
                snprintf(name, sizeof name, "g%u", g);
                collective(&f, 2 * g + k + 1, RLT_CHAKRA_ALL_TO_ALL, 8 + 2 * g + (k == g % 2 ? 4 * r : 0),
                           name);
            }
        snprintf(name, sizeof name, "u.%u.et", r);
        end(&f, name);
    }
    rlt_program *p = read_trace("u");
    assert_int_equal(p->n_comms, 2 * GROUPS_OF);
    assert_int_equal(noted(p, "all-to-all with a different size on each rank"), 2 * GROUPS_OF);
    for (uint32_t i = 0; i < 2 * GROUPS_OF; i++) {
        const rlt_comm *c = &p->comms[p->ops[i].comm];
        uint64_t half = 4 + i / 2;
        if (i % 2 != i / 2 % 2) {
            assert_null(c->counts);
            assert_int_equal(c->bytes, 2 * half);
            continue;
        }
        assert_non_null(c->counts);
        for (uint32_t k = 0; k < 4; k++)
            assert_int_equal(c->counts[k], half + (k < 2 ? 0 : 2));
    }
    rlt_program_free(p);
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(involved_dimensions),
                                       cmocka_unit_test(listed_groups),
                                       cmocka_unit_test(lists_that_differ),
                                       cmocka_unit_test(places),
                                       cmocka_unit_test(starts),
                                       cmocka_unit_test(uneven_exchanges)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
