/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading Chakra traces: every wire form, the rules of interpretation, real traces. */
#include "test/support/traces/chakra.h"
#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

/* ---- wire forms */

/* comm_size 300 in each integer member, encoded from protobuf's documentation. */
static void every_integer_member(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t length;
    } forms[] = {
        {"\x38\xac\x02", 3},                              /* int32 = 7 */
        {"\x48\xac\x02", 3},                              /* int64 = 9 */
        {"\x58\xac\x02", 3},                              /* uint32 = 11 */
        {"\x68\xac\x02", 3},                              /* uint64 = 13 */
        {"\x78\xd8\x04", 3},                              /* sint32 = 15: zigzag 600 */
        {"\x88\x01\xd8\x04", 4},                          /* sint64 = 17 */
        {"\x9d\x01\x2c\x01\x00\x00", 6},                  /* fixed32 = 19 */
        {"\xa9\x01\x2c\x01\x00\x00\x00\x00\x00\x00", 10}, /* fixed64 = 21 */
        {"\xbd\x01\x2c\x01\x00\x00", 6},                  /* sfixed32 = 23 */
        {"\xc9\x01\x2c\x01\x00\x00\x00\x00\x00\x00", 10}, /* sfixed64 = 25 */
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        file f;
        begin(&f);
        head(&f, 1, "ar", RLT_CHAKRA_COLL);
        raw_attr(&f, "comm_size", forms[i].value, forms[i].length);
        raw_attr(&f, "comm_type", "", 0); /* an attribute without a value is 0: all-reduce */
        message(&f);
        end(&f, "one.0.et");
        rlt_program *p = read_trace("one.0.et");
        assert_int_equal(p->n_comms, 1);
        assert_int_equal(p->comms[0].kind, RLT_ALL_REDUCE);
        assert_int_equal(p->comms[0].bytes, 300);
        rlt_program_free(p);
    }
    file f;
    begin(&f);
    head(&f, 1, "ar", RLT_CHAKRA_COLL);
    raw_attr(&f, "comm_size", "\x2d\x00\x00\x96\x43", 5); /* float = 5: 300.0 */
    message(&f);
    end(&f, "one.0.et");
    refused("one.0.et", RLT_ESCHEMA, "node 1 'ar'", "comm_size is not an integer");
    begin(&f);
    head(&f, 1, "ar", RLT_CHAKRA_COLL);
    raw_attr(&f, "comm_size", "\x88\x01\x01", 3); /* sint64: zigzag 1 is -1 */
    message(&f);
    end(&f, "one.0.et");
    refused("one.0.et", RLT_ESCHEMA, "node 1 'ar'", "is -1");
    clean();
}

/* involved_dim {1, 0} as each kind of list, packed and not: groups along the first of two dimensions. */
static void every_list_kind(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t length;
    } forms[] = {
        {"\xe2\x01\x04\x0a\x02\x01\x00", 7},                            /* bool list = 28, packed */
        {"\xe2\x01\x04\x08\x01\x08\x00", 7},                            /* bool list, unpacked */
        {"\x42\x04\x0a\x02\x01\x00", 6},                                /* int32 list = 8 */
        {"\x62\x04\x0a\x02\x01\x00", 6},                                /* uint32 list = 12 */
        {"\x82\x01\x04\x0a\x02\x02\x00", 7},                            /* sint32 list = 16 */
        {"\xa2\x01\x0a\x0a\x08\x01\x00\x00\x00\x00\x00\x00\x00", 13},   /* fixed32 list = 20 */
        {"\xa2\x01\x0a\x0d\x01\x00\x00\x00\x0d\x00\x00\x00\x00", 13},   /* fixed32, unpacked */
        {"\xd2\x01\x12\x0a\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21}, /* sfixed64 list = 26 */
    };
    rlt_read_options opts = plain_options();
    opts.n_dims = 2;
    opts.dims[0] = opts.dims[1] = 2;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        for (int r = 0; r < 4; r++) {
            file f;
            char name[32];
            begin(&f);
            head(&f, 0, "ar", RLT_CHAKRA_COLL);
            number(&f, "comm_size", RLT_CHAKRA_INT64, 8);
            raw_attr(&f, "involved_dim", forms[i].value, forms[i].length);
            message(&f);
            snprintf(name, sizeof name, "dim.%d.et", r);
            end(&f, name);
        }
        rlt_program *p = read_with("dim", &opts);
        assert_int_equal(p->n_groups, 2);
        assert_int_equal(p->n_comms, 2);
        const uint32_t ranks[] = {0, 1, 2, 3};
        assert_memory_equal(p->group_ranks, ranks, sizeof ranks);
        rlt_program_free(p);
    }
    rlt_read_options wrong = opts;
    wrong.dims[1] = 3;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(try_read("dim", &wrong, &p, &err), RLT_ESCHEMA);
    p = read_trace("dim"); /* no topology: all ranks, and a note */
    assert_int_equal(p->n_comms, 1);
    assert_int_equal(noted(p, "involved_dim"), 4);
    rlt_program_free(p);
    clean();
}

/* Forward and packed dependencies, unknown fields of every wire type, id 0, sparse ids. */
static void wire_forms_of_nodes(void **state)
{
    (void)state;
    file f;
    begin(&f);
    work(&f, 0, "zero", 3, false);
    rlt__pb_put_bytes(&f.node, 5, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x07",
                      11); /* packed: 2^63 and 7 */
    rlt__pb_put_uint(&f.node, 77, 5);
    rlt__pb_put_bytes(&f.node, 78, "abc", 3);
    rlt__pb_put_raw(&f.node, "\xfd\x04\x01\x02\x03\x04", 6);                  /* field 79, four bytes */
    rlt__pb_put_raw(&f.node, "\x81\x05\x01\x02\x03\x04\x05\x06\x07\x08", 10); /* field 80, eight bytes */
    message(&f);
    work(&f, UINT64_C(1) << 63, "big", 1, true);
    message(&f);
    work(&f, 7, "seven", 2, false);
    rlt__pb_put_uint(&f.node, 4, UINT64_C(1) << 63); /* control dependency, unpacked */
    message(&f);
    end(&f, "t.0.et");
    rlt_program *p = read_trace("t.0.et");
    assert_int_equal(p->n_ops, 3);
    const rlt_op *zero = op_named(p, "zero"), *seven = op_named(p, "seven");
    assert_int_equal(zero->n_deps, 2);
    assert_int_equal(zero->duration_ps, 3 * RLT_US);
    assert_int_equal(seven->n_deps, 1);
    assert_int_equal(op_named(p, "big")->kind, RLT_OP_HOST);
    assert_string_equal(resource_name(p, seven), "compute");
    assert_string_equal(resource_name(p, op_named(p, "big")), "host");
    rlt_program_free(p);
    clean();
}

static void dependencies_that_fail(void **state)
{
    (void)state;
    file f;
    begin(&f);
    work(&f, 3, "lost", 1, false);
    dep(&f, 99);
    message(&f);
    end(&f, "t.0.et");
    refused("t.0.et", RLT_ESCHEMA, "node 3 'lost'", "depends on node 99");
    begin(&f);
    work(&f, 1, "a", 1, false);
    dep(&f, 2);
    message(&f);
    work(&f, 2, "b", 1, false);
    dep(&f, 1);
    message(&f);
    end(&f, "t.0.et");
    refused("t.0.et", RLT_ESCHEMA, "rank 0", "'a' -> 'b' -> 'a'");
    begin(&f);
    work(&f, 1, "a", 1, false);
    message(&f);
    work(&f, 1, "again", 1, false);
    message(&f);
    end(&f, "t.0.et");
    refused("t.0.et", RLT_ESCHEMA, "node 1 'again'", "same id");
    clean();
}

/* ---- meaning */

static void collectives_and_their_bytes(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++) {
        file f;
        char name[32];
        begin(&f);
        collective(&f, 1, RLT_CHAKRA_ALL_GATHER, 100, NULL); /* each contributes 100 of 200 */
        collective(&f, 2, RLT_CHAKRA_REDUCE_SCATTER_BLOCK, 64, "");
        collective(&f, 3, RLT_CHAKRA_ALL_TO_ALL, r ? 30 : 10, NULL);
        collective(&f, 4, RLT_CHAKRA_BARRIER, 0, NULL);
        collective(&f, 5, RLT_CHAKRA_GATHER, 50, NULL);
        head(&f, 8, "sc", RLT_CHAKRA_COLL);
        number(&f, "comm_type", RLT_CHAKRA_INT64, RLT_CHAKRA_SCATTER);
        number(&f, "comm_size", RLT_CHAKRA_INT64, 70);
        number(&f, "root_rank", RLT_CHAKRA_INT64, 1);
        message(&f);
        head(&f, 6, "c10d::allreduce_", RLT_CHAKRA_COLL); /* the host's record of a collective */
        rlt__pb_put_uint(&f.node, 7, 12);
        number(&f, "is_cpu_op", RLT_CHAKRA_INT32, 1);
        number(&f, "tid", RLT_CHAKRA_INT64, 2);
        message(&f);
        head(&f, 7, "bc", RLT_CHAKRA_COLL);
        number(&f, "comm_type", RLT_CHAKRA_INT64, RLT_CHAKRA_BROADCAST);
        number(&f, "comm_size", RLT_CHAKRA_INT64, 9);
        number(&f, "root_rank", RLT_CHAKRA_INT64, 1);
        number(&f, "stream", RLT_CHAKRA_INT64, 14);
        rlt__pb_put_uint(&f.node, 7, 5000); /* with waiting: recorded, not replayed */
        message(&f);
        snprintf(name, sizeof name, "t.%d.et", r);
        end(&f, name);
    }
    rlt_program *p = read_trace("t");
    assert_int_equal(p->n_ops, 16);
    assert_int_equal(p->n_comms, 7);
    for (uint32_t c = 0; c < p->n_comms; c++) {
        const rlt_comm *m = &p->comms[c];
        const rlt_op *first = &p->ops[p->comm_ops[m->first_op]];
        if (m->kind == RLT_ALL_GATHER)
            assert_int_equal(m->bytes, 200);
        if (m->kind == RLT_REDUCE_SCATTER)
            assert_int_equal(m->bytes, 64);
        if (m->kind == RLT_ALL_TO_ALL) { /* 10 and 30 bytes, each divided equally */
            const uint64_t uneven[] = {5, 5, 15, 15};
            assert_memory_equal(m->counts, uneven, sizeof uneven);
            assert_int_equal(m->bytes, 30);
        }
        if (m->kind == RLT_GATHER) { /* 50 from each to a root that is not named */
            assert_int_equal(m->bytes, 100);
            assert_int_equal(m->root, 0);
            assert_null(m->counts);
        }
        if (m->kind == RLT_SCATTER) { /* 70 to each of rank 1's bytes */
            assert_int_equal(m->bytes, 140);
            assert_int_equal(m->root, 1);
        }
        if (m->kind == RLT_BROADCAST) {
            assert_int_equal(m->root, 1);
            assert_string_equal(resource_name(p, first), "stream 14");
            assert_int_equal(first->duration_ps, 0);
            assert_int_equal(first->recorded_duration_ps, 5000 * RLT_US);
        } else {
            assert_int_equal(first->resource, RLT_NONE);
        }
    }
    const rlt_op *host = op_named(p, "c10d::allreduce_");
    assert_int_equal(host->kind, RLT_OP_HOST);
    assert_int_equal(host->duration_ps, 12 * RLT_US);
    assert_string_equal(resource_name(p, host), "thread 2");
    assert_int_equal(noted(p, "with a different size on each rank"), 2);
    rlt_program_free(p);
    rlt_read_options opts = plain_options();
    opts.serial_communication = true;
    p = read_with("t", &opts);
    assert_string_equal(resource_name(p, &p->ops[0]), "network");
    rlt_program_free(p);
    opts.keep_waits = true;
    p = read_with("t", &opts);
    assert_int_equal(op_named(p, "bc")->kind, RLT_OP_DELAY);
    assert_int_equal(op_named(p, "bc")->duration_ps, 5000 * RLT_US);
    rlt_program_free(p);
    clean();
}

/* Groups by use, and by PyTorch's list, whose quotes are escaped inside another list. */
static void process_groups(void **state)
{
    (void)state;
    for (int listed = 0; listed < 2; listed++) {
        for (int r = 0; r < 4; r++) {
            file f;
            char name[32];
            begin(&f);
            if (listed) {
                const char *values =
                    "[\"[{\\\"pg_name\\\": \\\"1\\\", \\\"ranks\\\": [2, 0]}, {\\\"pg_name\\\": \\\"2\\\", "
                    "\\\"ranks\\\": [1, 3]}, {\\\"pg_name\\\": \\\"all\\\", \\\"ranks\\\": []}]\"]";
                rlt_pb_out io = {0};
                rlt__pb_put_bytes(&io, 1, values, strlen(values));
                head(&f, 9, "## process_group:init ##", RLT_CHAKRA_METADATA);
                rlt__pb_put_bytes(&f.node, 8, io.data, io.length);
                rlt__pb_out_free(&io);
                message(&f);
            }
            collective(&f, 1, RLT_CHAKRA_ALL_REDUCE, 8, r % 2 ? "2" : "1");
            collective(&f, 2, RLT_CHAKRA_ALL_REDUCE, 8, listed ? "all" : "0");
            snprintf(name, sizeof name, "t.%d.et", r);
            end(&f, name);
        }
        rlt_program *p = read_trace("t");
        assert_int_equal(p->n_ops, 8); /* the list becomes no operation */
        assert_int_equal(p->n_comms, 3);
        uint32_t seen = 0;
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t g = p->comms[c].group, n = p->group_first[g + 1] - p->group_first[g];
            const uint32_t *ranks = p->group_ranks + p->group_first[g];
            if (n == 4)
                seen |= 1;
            else if (ranks[0] % 2)
                seen |= ranks[0] == 1 && ranks[1] == 3 ? 2 : 0;
            else
                seen |= (listed ? ranks[0] == 2 && ranks[1] == 0 : ranks[0] == 0 && ranks[1] == 2) ? 4 : 0;
        }
        assert_int_equal(seen, 7);
        assert_int_equal(noted(p, "without a list of ranks"), listed ? 0 : 2);
        rlt_program_free(p);
    }
    clean();
}

static void roofline_and_memory(void **state)
{
    (void)state;
    file f;
    begin(&f);
    head(&f, 1, "bound by compute", RLT_CHAKRA_COMP);
    number(&f, "num_ops", RLT_CHAKRA_INT64, 900000000000u);
    number(&f, "tensor_size", RLT_CHAKRA_UINT64, 1000);
    message(&f);
    head(&f, 2, "bound by memory", RLT_CHAKRA_COMP);
    number(&f, "num_ops", RLT_CHAKRA_INT64, 1000);
    number(&f, "tensor_size", RLT_CHAKRA_UINT64, 1600000000u);
    message(&f);
    head(&f, 3, "load", RLT_CHAKRA_MEM_LOAD);
    number(&f, "tensor_size", RLT_CHAKRA_UINT64, 1600);
    message(&f);
    head(&f, 4, "strange", 42);
    dep(&f, 3);
    message(&f);
    end(&f, "t.0.et");
    rlt_read_options opts = plain_options();
    opts.peak_Flops = 900000000000000u;
    opts.memory_Bps = 1600000000000u;
    rlt_program *p = read_with("t.0.et", &opts);
    assert_int_equal(op_named(p, "bound by compute")->duration_ps, RLT_MS);
    assert_int_equal(op_named(p, "bound by memory")->duration_ps, RLT_MS);
    assert_int_equal(op_named(p, "load")->duration_ps, RLT_NS);
    assert_int_equal(op_named(p, "load")->kind, RLT_OP_MEMORY);
    assert_int_equal(op_named(p, "strange")->kind, RLT_OP_DELAY);
    assert_int_equal(op_named(p, "strange")->n_deps, 1);
    assert_int_equal(noted(p, "unknown type 42"), 1);
    rlt_program_free(p);
    opts.serial_communication = true; /* ASTRA-sim without remote memory */
    rlt_error err = {0};
    assert_int_equal(try_read("t.0.et", &opts, &p, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.where, "node 3 'load'"));
    p = read_trace("t.0.et");
    assert_int_equal(op_named(p, "bound by compute")->duration_ps, 0);
    assert_int_equal(noted(p, "without a duration"), 3);
    rlt_program_free(p);
    clean();
}

/* A recorded duration takes precedence over the roofline, unless the roofline replaces durations. */
static void roofline_and_durations(void **state)
{
    (void)state;
    file f;
    begin(&f);
    work(&f, 1, "g", 7, false);
    number(&f, "num_ops", RLT_CHAKRA_INT64, 900000000000u);
    message(&f);
    end(&f, "t.0.et");
    rlt_read_options opts = plain_options();
    opts.peak_Flops = 900000000000000u;
    rlt_program *p = read_with("t.0.et", &opts);
    assert_int_equal(p->ops[0].duration_ps, 7 * RLT_US);
    rlt_program_free(p);
    opts.roofline_replaces = true;
    p = read_with("t.0.et", &opts);
    assert_int_equal(p->ops[0].duration_ps, RLT_MS);
    rlt_program_free(p);
    clean();
}

/* Work on a device whose name begins as the profiler names copies and fills is memory's. */
static void copies_by_name(void **state)
{
    static const struct {
        const char *name;
        bool host, memory;
    } rows[] = {{"Memcpy DtoH (Device -> Pinned)", false, true},
                {"Memset (Device)", false, true},
                {"Memcpy", false, true},
                {"Memset", false, true},
                {"Memcp", false, false},
                {"memcpy", false, false},
                {"a Memset", false, false},
                {"Memset host", true, false}};
    enum { ROWS = sizeof rows / sizeof *rows };
    file f;
    (void)state;
    begin(&f);
    for (uint64_t i = 0; i < ROWS; i++) {
        work(&f, i + 1, rows[i].name, 3, rows[i].host);
        message(&f);
    }
    end(&f, "t.0.et");
    rlt_program *p = read_trace("t.0.et");
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(op_named(p, rows[i].name)->kind, rows[i].memory ? RLT_OP_MEMORY
                                                          : rows[i].host ? RLT_OP_HOST
                                                                         : RLT_OP_COMPUTE);
    rlt_program_free(p);
    clean();
}

/* A message of no bytes may begin any file: only a name tells that it is a trace. */
static void empty_metadata(void **state)
{
    static const char zero[] = {0};
    (void)state;
    assert_int_equal(rlt__chakra_probe("x", zero, 1), 0);
    assert_true(rlt__chakra_probe("x.et", zero, 1) > 0);
    assert_true(rlt__chakra_probe("x.et.gz", zero, 1) > 0);
}

static void ranks_and_files(void **state)
{
    (void)state;
    assert_int_equal(rlt_rank_in_name("a/dlrm.3.et"), 3);
    assert_int_equal(rlt_rank_in_name("rank12.json.gz"), 12);
    assert_int_equal(rlt_rank_in_name("x_7.et"), 7);
    assert_int_equal(rlt_rank_in_name("resnet50.et"), RLT_NONE);
    assert_int_equal(rlt_rank_in_name("3/a.et"), RLT_NONE);
    assert_int_equal(rlt_rank_in_name("a.99999999999.et"), RLT_NONE);
    for (int r = 0; r < 12; r += 1) {
        file f;
        char name[32];
        begin(&f);
        collective(&f, 1, RLT_CHAKRA_ALL_REDUCE, 8, NULL);
        snprintf(name, sizeof name, "t.%d.et", r);
        end(&f, name);
    }
    save("t.csv", "x", 1);
    save("settings.json", "{}", 2);
    char *specs[] = {directory};
    char **paths = NULL;
    uint32_t n = 0;
    assert_int_equal(rlt_trace_files((const char *const *)specs, 1, &paths, &n, NULL), 0);
    assert_int_equal(n, 12);
    for (uint32_t i = 0; i < n; i++) /* in the order of numbers, not of text */
        assert_int_equal(rlt_rank_in_name(paths[i]), i);
    free(paths);
    refused("nothing", RLT_EIO, "nothing", "nothing.<rank>.et");
    refused("settings.json", RLT_EMALFORMED, "settings.json", "JSON");
    save("cut.0.et", "\x6c\x0a\x01", 3);
    refused("cut.0.et", RLT_EMALFORMED, "cut.0.et: byte 0: ", "a message of 108 bytes is cut short");
    char path[256];
    unlink(path_of("t.5.et", path, sizeof path));
    refused("t", RLT_ESCHEMA, "t.0.et", "11 files for 12 ranks; --replicate RANK=FROM");
    rlt_replicate all = {RLT_NONE, 0};
    rlt_read_options opts = plain_options();
    opts.replicate = &all;
    opts.n_replicate = 1;
    opts.n_ranks = 16;
    rlt_program *p = read_with("t", &opts);
    assert_int_equal(p->n_ranks, 16);
    assert_int_equal(p->n_ops, 16);
    assert_int_equal(p->n_comms, 1);
    rlt_program_free(p);
    clean();
}

/* ---- real traces */

#define DATA "../shared/data/chakra/"

static void need(const char *path)
{
    if (access(path, R_OK) != 0) {
        print_message("no %s: not tested\n", path);
        skip();
    }
}

static void recorded_dlrm(void **state)
{
    (void)state;
    need(DATA "dlrm_v100_8rank");
    /* operations and bytes of the eight collectives: reference/trace-formats.md, section 12 */
    static const struct {
        rlt_coll_kind kind;
        uint64_t bytes;
    } expected[] = {{RLT_ALL_TO_ALL, 24576}, {RLT_ALL_TO_ALL, 192},     {RLT_ALL_TO_ALL, 1536},
                    {RLT_ALL_TO_ALL, 13568}, {RLT_ALL_REDUCE, 1576964}, {RLT_ALL_TO_ALL, 24576},
                    {RLT_ALL_REDUCE, 448},   {RLT_ALL_REDUCE, 907840}};
    rlt_program *p = read_trace(DATA "dlrm_v100_8rank");
    assert_int_equal(p->n_ranks, 8);
    assert_int_equal(p->n_comms, 8);
    for (uint32_t c = 0; c < 8; c++) {
        assert_int_equal(p->comms[c].kind, expected[c].kind);
        assert_int_equal(p->comms[c].bytes, expected[c].bytes);
        const rlt_op *op = &p->ops[p->comm_ops[p->comms[c].first_op]];
        assert_int_equal(op->duration_ps, 0);
        assert_string_equal(resource_name(p, op), "stream 84");
    }
    assert_true(noted(p, "call tree") > 0);
    rlt_program_free(p);
}

static void recorded_feeder_test(void **state)
{
    (void)state;
    need(DATA "mlcommons_feeder_tests_trace.tar.gz");
    char command[400];
    snprintf(command, sizeof command, "tar xzf " DATA "mlcommons_feeder_tests_trace.tar.gz -C %s", directory);
    assert_int_equal(system(command), 0);
    rlt_program *p = read_trace("tests/data/chakra.0.et");
    assert_int_equal(p->n_ranks, 1);
    assert_int_equal(p->n_ops, 3664);
    assert_int_equal(p->n_deps, 181878);
    uint32_t collectives = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        collectives += p->ops[i].kind == RLT_OP_COLLECTIVE;
    assert_int_equal(collectives, 7);
    assert_int_equal(p->n_comms, 7);
    rlt_program_free(p);
    clean();
}

/* A ring all-reduce as explicit messages: 14 sends per rank of an eighth of 1 MiB. */
static void custom_collective(void **state)
{
    (void)state;
    need(DATA "astra_custom_collectives");
    rlt_program *p =
        read_trace(DATA "astra_custom_collectives/custom_ring_allreduce_8npus_1MB/custom_allreduce");
    assert_int_equal(p->n_ranks, 8);
    assert_int_equal(p->n_comms, 8 * 14);
    for (uint32_t c = 0; c < p->n_comms; c++) {
        const uint32_t *ranks = p->group_ranks + p->group_first[p->comms[c].group];
        assert_int_equal(p->comms[c].bytes, 131072);
        assert_int_equal(ranks[1], (ranks[0] + 1) % 8);
    }
    assert_int_equal(noted(p, "no receive") + noted(p, "no send"), 0);
    rlt_program_free(p);
}

static void microbenchmarks(void **state)
{
    (void)state;
    need(DATA "astra_microbenchmarks");
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_REDUCE_SCATTER, RLT_ALL_TO_ALL};
    for (size_t k = 0; k < 4; k++) {
        for (uint32_t n = 4; n <= 8; n += 4) {
            char path[200];
            const char *coll = rlt_coll_name(kinds[k]);
            snprintf(path, sizeof path, DATA "astra_microbenchmarks/%s/%unpus_1MB/%s", coll, n, coll);
            rlt_program *p = read_trace(path);
            assert_int_equal(p->n_ops, n);
            assert_int_equal(p->n_comms, 1);
            assert_int_equal(p->comms[0].kind, kinds[k]);
            assert_int_equal(p->comms[0].bytes, kinds[k] == RLT_ALL_GATHER ? (uint64_t)n << 20 : 1 << 20);
            rlt_program_free(p);
        }
    }
}

/* The samples of traces/: each step reduces each gradient once, 2 bytes per parameter. GPT-2 has 12 h^2 + 13
 * h parameters per layer, (50257 + 1024) h of embeddings and 2 h of the last normalisation. */
static void sample_traces(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint64_t ranks, layers, hidden, steps;
    } samples[] = {{"./traces/transformer-8", 8, 12, 768, 1}, {"./traces/transformer-16", 16, 24, 1024, 2}};
    need("traces");
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        rlt_program *p = read_trace(samples[i].path);
        uint64_t h = samples[i].hidden, bytes = 0;
        uint64_t parameters = samples[i].layers * (12 * h * h + 13 * h) + (50257 + 1024) * h + 2 * h;
        assert_int_equal(p->n_ranks, samples[i].ranks);
        assert_int_equal(p->n_steps, samples[i].steps);
        for (uint32_t c = 0; c < p->n_comms; c++) {
            assert_int_equal(p->comms[c].kind, RLT_ALL_REDUCE);
            bytes += p->comms[c].bytes;
        }
        assert_int_equal(bytes, samples[i].steps * 2 * parameters);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer_member),
        cmocka_unit_test(every_list_kind),
        cmocka_unit_test(wire_forms_of_nodes),
        cmocka_unit_test(dependencies_that_fail),
        cmocka_unit_test(collectives_and_their_bytes),
        cmocka_unit_test(process_groups),
        cmocka_unit_test(roofline_and_memory),
        cmocka_unit_test(roofline_and_durations),
        cmocka_unit_test(copies_by_name),
        cmocka_unit_test(empty_metadata),
        cmocka_unit_test(ranks_and_files),
        cmocka_unit_test(recorded_dlrm),
        cmocka_unit_test(recorded_feeder_test),
        cmocka_unit_test(custom_collective),
        cmocka_unit_test(microbenchmarks),
        cmocka_unit_test(sample_traces),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
