/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of Nsight Systems: which sizes NCCL's ranges give to its kernels, and ranks and groups, by hand. */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "test/support/traces/nsys.h"
#include "workload/program/program.h"

/* The first communicator of a recording of one process: a world of one rank. */
static void alone(void)
{
    begin();
    step(1, 0, 1000);
    range(1, 1, 1, 2, "ncclCommInitRank", 0, 500, 1, 0);
    range(1, 1, 3, 4, "ncclCommInitRank", 0, 501, 1, 0);
}

/* Checks kind and bytes of the communications, in order. */
static void expect_comms(const uint64_t *bytes, uint32_t n, rlt_coll_kind kind)
{
    rlt_program *p = read_it();
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_COLLECTIVE) {
            const rlt_comm *c = &p->comms[p->ops[i].comm];
            assert_true(found < n);
            assert_int_equal(c->kind, kind);
            assert_int_equal(c->bytes, bytes[found++]);
        }
    assert_int_equal(found, n);
    rlt_program_free(p);
}

static void nccl_kernel(int correlation, int launch, int from)
{
    call(1, 1, correlation, launch, launch + 1, "cudaLaunchKernelExC_v11060");
    kernel(1, 0, 20, correlation, from, from + 10, "ncclDevKernel_Generic");
}

#define COMMS(kind, ...)                                                                                     \
    expect_comms((const uint64_t[]){__VA_ARGS__},                                                            \
                 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), kind)

/* A call's kernel is launched in its range, its last moment included; ranges inside it are NCCL's own. */
static void single_calls(void **state)
{
    (void)state;
    alone();
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
    range(1, 1, 105, 106, "ncclAllReduce", 5, 500, 77, 0);
    nccl_kernel(1, 110, 200);
    range(1, 1, 140, 180, "ncclAllReduce", 5, 500, 5000, 0);
    nccl_kernel(2, 180, 220);
    range(1, 1, 190, 195, "ncclAllReduce", 5, 500, 6000, 0);
    nccl_kernel(3, 191, 240);
    COMMS(RLT_ALL_REDUCE, 4000, 5000, 6000);
    /* one launched after its range */
    alone();
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
    nccl_kernel(1, 141, 200);
    refuse(RLT_ESCHEMA, "lacks the sizes of 1 of its 1");
    /* on another thread */
    alone();
    range(1, 2, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
    nccl_kernel(1, 110, 200);
    refuse(RLT_ESCHEMA, "lacks the sizes of 1 of its 1");
    /* 2^50 bytes are not believed */
    alone();
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, UINT64_C(1) << 50, 0);
    nccl_kernel(1, 110, 200);
    refuse(RLT_ESCHEMA, "lacks the sizes of 1 of its 1");
    alone();
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, (UINT64_C(1) << 50) - 1, 0);
    nccl_kernel(1, 110, 200);
    COMMS(RLT_ALL_REDUCE, (UINT64_C(1) << 50) - 1);
}

/* The root of a call that does not tell it is the first member, which a note says. */
static void unknown_roots(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        alone();
        range(1, 1, 100, 140, "ncclBroadcast", told ? 6 : 5, 500, 4000, 0);
        nccl_kernel(1, 110, 200);
        rlt_program *p = read_it();
        bool assumed = false;
        for (uint32_t i = 0; i < p->n_notes; i++)
            assumed |= strstr(p->notes[i].text, "with a root that is not recorded") != NULL;
        assert_int_equal(assumed, !told);
        assert_int_equal(p->comms[0].kind, RLT_BROADCAST);
        assert_int_equal(p->comms[0].root, 0);
        rlt_program_free(p);
    }
}

/* A batch is launched at the end of the outermost group: one kernel for all calls, for each communicator, or for each call. */
static void batches(void **state)
{
    (void)state;
    for (int kernels = 1; kernels <= 4; kernels++) {
        alone();
        range(1, 1, 90, 91, "ncclGroupEnd", -1, 0, 0, 0); /* of no group */
        range(1, 1, 100, 101, "ncclGroupStart", -1, 0, 0, 0);
        range(1, 1, 102, 103, "ncclGroupStart", -1, 0, 0, 0);
        range(1, 1, 104, 106, "ncclAllReduce", 5, 501, 1000, 0);
        range(1, 1, 107, 109, "ncclAllReduce", 5, kernels == 1 ? 501 : 500, 20000, 0);
        range(1, 1, 110, 112, "ncclGroupEnd", -1, 0, 0, 0);
        range(1, 1, 113, 115, "ncclAllReduce", 5, 501, 300000, 0);
        range(1, 1, 120, 140, "ncclGroupEnd", -1, 0, 0, 0);
        range(1, 2, 105, 135, "ncclAllReduce", 5, 500, 77, 0); /* of another thread */
        range(1, 1, 150, 160, "ncclAllReduce", 5, 500, 5, 0);
        for (int k = 0; k < kernels; k++)
            nccl_kernel(10 + k, 121 + k, 200 + 20 * k);
        if (kernels == 1)
            COMMS(RLT_ALL_REDUCE, 321000);
        else if (kernels == 2)
            COMMS(RLT_ALL_REDUCE, 301000, 20000);
        else if (kernels == 3)
            COMMS(RLT_ALL_REDUCE, 1000, 20000, 300000);
        else
            refuse(RLT_ESCHEMA, "lacks the sizes of 4 of its 4");
    }
}

/* Two batches with two communicators each, whose kernels are recorded in turns. */
static void turns(void **state)
{
    (void)state;
    alone();
    for (int b = 0; b < 2; b++) {
        range(1, 1, 100 * b + 100, 100 * b + 101, "ncclGroupStart", -1, 0, 0, 0);
        range(1, 1, 100 * b + 104, 100 * b + 106, "ncclAllReduce", 5, 500, (uint64_t)b + 10, 0);
        range(1, 1, 100 * b + 107, 100 * b + 109, "ncclAllReduce", 5, 501, (uint64_t)b + 20, 0);
        range(1, 1, 100 * b + 120, 100 * b + 140, "ncclGroupEnd", -1, 0, 0, 0);
    }
    for (int k = 0; k < 2; k++) {
        nccl_kernel(10 + k, 221 + k, 440 + 20 * k);
        nccl_kernel(20 + k, 121 + k, 400 + 20 * k);
    }
    COMMS(RLT_ALL_REDUCE, 10, 20, 11, 21);
}

/* Calls of two kinds, or with two roots, on one communicator have no size together; two broadcasts from one root do. A
 * call of 2^50 bytes or more has none, whatever is added to it. */
static void mixtures(void **state)
{
    static const struct {
        const char *first, *second;
        uint32_t roots[2];
        uint64_t sizes[2], bytes; /* bytes: together; 0: refused */
    } rows[] = {
        {"ncclBroadcast", "ncclBroadcast", {0, 0}, {100, 200}, 300},
        {"ncclBroadcast", "ncclBroadcast", {0, 1}, {100, 200}, 0},
        {"ncclBroadcast", "ncclReduce", {0, 0}, {100, 200}, 0},
        {"ncclBroadcast", "ncclBroadcast", {0, 0}, {100, UINT64_MAX}, 0},
        {"ncclBroadcast", "ncclBroadcast", {0, 0}, {UINT64_MAX, 100}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        alone();
        range(1, 1, 100, 101, "ncclGroupStart", -1, 0, 0, 0);
        range(1, 1, 104, 106, rows[i].first, 6, 500, rows[i].sizes[0], rows[i].roots[0]);
        range(1, 1, 107, 109, rows[i].second, 6, 500, rows[i].sizes[1], rows[i].roots[1]);
        range(1, 1, 120, 140, "ncclGroupEnd", -1, 0, 0, 0);
        nccl_kernel(10, 121, 200);
        if (rows[i].bytes)
            COMMS(RLT_BROADCAST, rows[i].bytes);
        else
            refuse(RLT_ESCHEMA, "lacks the sizes of 1 of its 1");
    }
}

/* Two processes with a communicator of both; `rank[i]`: the place of process i, whose device is i. */
static void pair(const uint32_t *rank)
{
    begin();
    for (int i = 0; i < 2; i++) {
        step(1 + i, 0, 1000);
        range(1 + i, 1, 1, 2, "ncclCommInitRank", 0, 500, 2, rank[i]);
    }
}

static void pair_kernel(int i, int correlation, int launch, int from)
{
    call(1 + i, 1, correlation, launch, launch + 1, "cudaLaunchKernelExC_v11060");
    kernel(1 + i, i, 20, correlation, from, from + 10, "ncclDevKernel_Generic");
}

/* Sizes of a member's part become the whole; a root is a member. */
static void whole_sizes(void **state)
{
    static const struct {
        const char *name;
        rlt_coll_kind kind;
        uint64_t bytes;
    } rows[] = {
        {"ncclReduceScatter", RLT_REDUCE_SCATTER, 8000}, {"ncclAlltoAll", RLT_ALL_TO_ALL, 8000},
        {"ncclAllToAll", RLT_ALL_TO_ALL, 8000},          {"ncclScatter", RLT_SCATTER, 8000},
        {"ncclAllGather", RLT_ALL_GATHER, 8000},         {"ncclAllReduce", RLT_ALL_REDUCE, 4000},
        {"ncclBroadcast", RLT_BROADCAST, 4000},          {"ncclGather", RLT_GATHER, 8000},
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        pair((const uint32_t[]){0, 1});
        for (int i = 0; i < 2; i++) {
            range(1 + i, 1, 100, 140, rows[r].name, 6, 500, 4000, 1);
            pair_kernel(i, 1, 110, 200);
        }
        rlt_program *p = read_it();
        assert_int_equal(p->n_comms, 1);
        assert_int_equal(p->comms[0].kind, rows[r].kind);
        if (p->comms[0].bytes != rows[r].bytes)
            fail_msg("%s: %llu", rows[r].name, (unsigned long long)p->comms[0].bytes);
        if (rlt_coll_rooted(rows[r].kind))
            assert_int_equal(p->comms[0].root, 1);
        rlt_program_free(p);
    }
}

/* Ranks are places in the largest communicator, if all have one of their own, else the order of the devices. */
static void ranks(void **state)
{
    static const struct {
        uint32_t place[2], rank[2];
    } rows[] = {{{1, 0}, {1, 0}}, {{0, 1}, {0, 1}}, {{1, 1}, {0, 1}}, {{0, 0}, {0, 1}}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        pair(rows[r].place);
        kernel(1, 0, 7, 1, 100, 110, "first");
        kernel(2, 1, 7, 1, 100, 110, "second");
        rlt_program *p = read_it();
        assert_int_equal(p->n_ranks, 2);
        assert_int_equal(named(p, "first")->rank, rows[r].rank[0]);
        assert_int_equal(named(p, "second")->rank, rows[r].rank[1]);
        rlt_program_free(p);
    }
}

/* Two communicators of two, each the largest of one process: they are no world, and the devices give the ranks. */
static void no_world(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 2; i++) {
        step(1 + i, 0, 1000);
        range(1 + i, 1, 1, 2, "ncclCommInitRank", 0, (uint64_t)(500 + i), 2, i ? 0 : 1);
    }
    kernel(1, 0, 7, 1, 100, 110, "first");
    kernel(2, 1, 7, 1, 100, 110, "second");
    rlt_program *p = read_it();
    assert_int_equal(named(p, "first")->rank, 0);
    assert_int_equal(named(p, "second")->rank, 1);
    rlt_program_free(p);
    /* The first one joined nothing. */
    begin();
    step(1, 0, 1000);
    step(2, 0, 1000);
    range(2, 1, 1, 2, "ncclCommInitRank", 0, 500, 2, 0);
    kernel(1, 0, 7, 1, 100, 110, "first");
    kernel(2, 1, 7, 1, 100, 110, "second");
    p = read_it();
    assert_int_equal(named(p, "first")->rank, 0);
    assert_int_equal(named(p, "second")->rank, 1);
    rlt_program_free(p);
}

/* A file's first process sends 100 bytes to each member and receives 30 and 40, or something that is no all-to-all. */
static void exchange(const uint32_t *peers, int n, uint64_t last)
{
    static const char *const calls[] = {"ncclSend", "ncclRecv"};
    static const uint32_t places[] = {0, 1};
    pair(places);
    for (int i = 0; i < 2; i++) {
        range(1 + i, 1, 100, 101, "ncclGroupStart", -1, 0, 0, 0);
        for (int m = 0; m < n; m++)
            range(1 + i, 1, 102 + 2 * m, 103 + 2 * m, calls[m % 2], 8, 500, m == n - 1 ? last : 100,
                  i ? 1 - peers[m] : peers[m]);
        range(1 + i, 1, 120, 140, "ncclGroupEnd", -1, 0, 0, 0);
        pair_kernel(i, 1, 121, 200);
    }
}

/* Sends to all and receives from all are one all-to-all; two to one peer, or a part of them, are messages. */
static void exchanges(void **state)
{
    static const struct {
        uint32_t peers[4];
        int n;
        bool all;
    } rows[] = {
        {{0, 0, 1, 1}, 4, true}, {{1, 1, 0, 0}, 4, true}, {{1, 1, 1, 1}, 4, false}, {{1, 1}, 2, false}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        exchange(rows[r].peers, rows[r].n, 100);
        rlt_program *p = read_it();
        assert_int_equal(p->comms[0].kind, rows[r].all ? RLT_ALL_TO_ALL : RLT_SEND_RECV);
        assert_int_equal(p->n_comms, rows[r].all ? 1 : rows[r].n);
        assert_int_equal(p->comms[0].bytes, rows[r].all ? 200 : 100);
        assert_null(p->comms[0].counts);
        rlt_program_free(p);
    }
}

/* One message more than an all-to-all has: five messages, of which one is not received. */
static void odd_messages(void **state)
{
    static const uint32_t peers[] = {0, 0, 1, 1, 1};
    rlt_program *p = NULL;
    (void)state;
    exchange(peers, 5, 100);
    assert_int_equal(try_read(&p), RLT_ESCHEMA);
}

/* What a process says that launched no device work is not looked at. */
static void idle_processes(void **state)
{
    (void)state;
    alone();
    range(9, 1, 90, 150, "ncclAllReduce", 5, 500, 1234, 0);
    range(9, 1, 1, 2, "ncclCommInitRank", 0, 502, 4, 3);
    step(9, 0, 2000);
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
    nccl_kernel(1, 110, 200);
    COMMS(RLT_ALL_REDUCE, 4000);
}

/* Of a pair's members one alone tells that it joined: who the other one is remains unknown. */
static void unknown_peers(void **state)
{
    (void)state;
    for (uint32_t own = 0; own < 2; own++) {
        begin();
        for (int i = 0; i < 4; i++) {
            step(1 + i, 0, 1000);
            range(1 + i, 1, 1, 2, "ncclCommInitRank", 0, 500, 4, (uint32_t)i);
            kernel(1 + i, i, 7, 9, 100, 110, "k");
        }
        range(1, 1, 3, 4, "ncclCommInitRank", 0, 501, 2, own);
        range(1, 1, 150, 190, "ncclSend", 8, 501, 60, 1 - own);
        pair_kernel(0, 2, 160, 220);
        refuse(RLT_ESCHEMA, "does not name the destination of rank 0's message");
    }
}

/* Messages to two members on a communicator of one are no all-to-all. */
static void too_many_peers(void **state)
{
    (void)state;
    alone();
    range(1, 1, 100, 101, "ncclGroupStart", -1, 0, 0, 0);
    for (uint32_t m = 0; m < 4; m++)
        range(1, 1, 102 + 2 * (int)m, 103 + 2 * (int)m, m % 2 ? "ncclRecv" : "ncclSend", 8, 500, 100, m / 2);
    range(1, 1, 120, 140, "ncclGroupEnd", -1, 0, 0, 0);
    nccl_kernel(1, 121, 200);
    refuse(RLT_ESCHEMA, "message");
}

/* Four ranks in pairs of 0 and 2, 1 and 3: members of a pair are its ranks, and a peer is a member of the pair. */
static void pairs_of_four(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 4; i++) {
        step(1 + i, 0, 1000);
        range(1 + i, 1, 1, 2, "ncclCommInitRank", 0, 500, 4, (uint32_t)i);
        range(1 + i, 1, 3, 4, "ncclCommInitRank", 0, (uint64_t)(501 + i % 2), 2, (uint32_t)i / 2);
        range(1 + i, 1, 100, 140, "ncclAllReduce", 5, (uint64_t)(501 + i % 2), 4000, 0);
        pair_kernel(i, 1, 110, 200);
        range(1 + i, 1, 150, 190, i < 2 ? "ncclSend" : "ncclRecv", 8, (uint64_t)(501 + i % 2), 60, i < 2);
        pair_kernel(i, 2, 160, 220);
        range(1 + i, 1, 300, 301, "ncclGroupStart", -1, 0, 0, 0);
        for (int m = 0; m < 4; m++)
            range(1 + i, 1, 302 + 2 * m, 303 + 2 * m, m % 2 ? "ncclRecv" : "ncclSend", 8,
                  (uint64_t)(501 + i % 2), 70, (uint32_t)m / 2);
        range(1 + i, 1, 320, 340, "ncclGroupEnd", -1, 0, 0, 0);
        pair_kernel(i, 3, 321, 400);
    }
    rlt_program *p = read_it();
    uint32_t sums = 0, messages = 0, exchanged = 0;
    for (uint32_t c = 0; c < p->n_comms; c++) {
        const uint32_t *of = p->group_ranks + p->group_first[p->comms[c].group];
        sums += p->comms[c].kind == RLT_ALL_REDUCE;
        messages += p->comms[c].kind == RLT_SEND_RECV && p->comms[c].bytes == 60;
        exchanged += p->comms[c].kind == RLT_ALL_TO_ALL && p->comms[c].bytes == 140;
        assert_int_equal(of[0] + 2, of[1]);
    }
    assert_int_equal(sums, 2);
    assert_int_equal(messages, 2);
    assert_int_equal(exchanged, 2);
    assert_int_equal(p->n_comms, 6);
    rlt_program_free(p);
}

/* A byte far behind, in a payload that goes on with zeros in ASCII. */
#define FAR_FIELD(offset)                                                                                    \
    "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = 11, offset = " offset " WHERE name LIKE 'Message%'; "     \
    "UPDATE NVTX_EVENTS SET binaryData = binaryData || hex(zeroblob(32768)) WHERE domainId = 4"

/* What names no field, or no bytes, or lies outside the payload or beyond 64 KiB, is not read: the kernel stays without a size. */
static void payloads(void **state)
{
    static const char *const changes[] = {
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET name = 'Size' WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = 0 WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = -1 WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = 19 WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = 23 WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = -1 WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = 17 WHERE name LIKE 'Message%'",
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET schemaId = 99 WHERE name LIKE 'Message%'",
        FAR_FIELD("65537"),
        "UPDATE NVTX_EVENTS SET binaryData = substr(binaryData, 1, 31) WHERE domainId = 4",
        "DROP TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES",
    };
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        alone();
        range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
        nccl_kernel(1, 110, 200);
        sql("%s;", changes[i]);
        refuse(RLT_ESCHEMA, "lacks the sizes of 1 of its 1");
    }
    alone();
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
    nccl_kernel(1, 110, 200);
    sql("%s;", FAR_FIELD("65536"));
    COMMS(RLT_ALL_REDUCE, '0');
    /* the last place of the payload; the range's domain may stand for the payload's */
    alone();
    range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 4000, 0);
    nccl_kernel(1, 110, 200);
    sql("UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = 16 WHERE name LIKE 'Message%%';"
        "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET domainId = 6; UPDATE NVTX_EVENTS SET domainId = 6, binaryData = "
        "substr(binaryData, 1, 32) || X'F401000000000000' || substr(binaryData, 41, 8) || X'0201000000000000' "
        "WHERE textId IN (SELECT id FROM StringIds WHERE value = 'ncclAllReduce');");
    COMMS(RLT_ALL_REDUCE, 258);
}

/* Each of the entry types gives the bytes of its size. */
static void sizes_of_types(void **state)
{
    static const uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8};
    static const uint64_t masks[] = {0, 0xff, 0xffff, 0, 0xffffffff, 0, 0, 0, UINT64_MAX};
    (void)state;
    for (int type = 1; type <= 22; type++) {
        if (!sizes[type])
            continue;
        alone();
        range(1, 1, 100, 140, "ncclAllReduce", 5, 500, 0x2000304050607, UINT32_MAX);
        nccl_kernel(1, 110, 200);
        sql("UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET type = %d WHERE name LIKE 'Message%%';", type);
        /* the payload ends with it */
        sql("UPDATE NVTX_EVENTS SET binaryData = substr(binaryData, 1, %d) WHERE textId = "
            "(SELECT id FROM StringIds WHERE value = 'ncclAllReduce');",
            32 + 8 + sizes[type]);
        COMMS(RLT_ALL_REDUCE, 0x2000304050607 & masks[sizes[type]]);
    }
}

/* A communicator's begin with impossible numbers is left out: the world is the process's own. */
static void impossible_members(void **state)
{
    static const uint32_t rows[][2] = {{0, 0}, {2, 2}, {2, 3}, {(1 << 24) + 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        step(1, 0, 1000);
        range(1, 1, 1, 2, "ncclCommInitRank", 0, 500, rows[i][0], rows[i][1]);
        launched(7, 1, 112, 200, "k");
        rlt_program *p = read_it();
        assert_int_equal(p->n_ranks, 1);
        rlt_program_free(p);
    }
    /* The most members there may be. */
    begin();
    step(1, 0, 1000);
    range(1, 1, 1, 2, "ncclCommInitRank", 0, 500, 1 << 24, 0);
    launched(7, 1, 112, 200, "k");
    refuse(RLT_ESCHEMA, "of 16777216 is missing");
    /* Of two begins of one communicator the first one counts. */
    begin();
    step(1, 0, 1000);
    range(1, 1, 1, 2, "ncclCommInitRank", 0, 500, 1, 0);
    range(1, 1, 3, 4, "ncclCommInitRank", 0, 500, 3, 2);
    launched(7, 1, 112, 200, "k");
    rlt_program *p = read_it();
    assert_int_equal(p->n_ranks, 1);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_calls),   cmocka_unit_test(unknown_roots),
        cmocka_unit_test(batches),        cmocka_unit_test(turns),
        cmocka_unit_test(mixtures),       cmocka_unit_test(whole_sizes),
        cmocka_unit_test(ranks),          cmocka_unit_test(no_world),
        cmocka_unit_test(exchanges),      cmocka_unit_test(too_many_peers),
        cmocka_unit_test(pairs_of_four),  cmocka_unit_test(payloads),
        cmocka_unit_test(sizes_of_types), cmocka_unit_test(impossible_members),
        cmocka_unit_test(odd_messages),   cmocka_unit_test(idle_processes),
        cmocka_unit_test(unknown_peers),
    };
    return run_in_database(tests, sizeof tests / sizeof *tests);
}
