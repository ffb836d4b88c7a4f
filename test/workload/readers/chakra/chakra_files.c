/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chakra traces as files: the writer's round trip, cut steps, compression, damage. */
#include <errno.h>
#include <sys/stat.h>

#include <zlib.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/support/traces/chakra.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

/* ---- the writer */

static uint32_t name(rlt_builder *b, const char *s)
{
    return rlt_build_string(b, s, strlen(s));
}

static rlt_program *varied_program(void)
{
    rlt_builder *b;
    rlt_program *p = NULL;
    const uint32_t world[] = {0, 1, 2}, pair[] = {2, 0};
    const uint64_t row[] = {7, 0, 300};
    assert_int_equal(rlt_builder_create(3, &b, NULL), 0);
    uint32_t everyone = rlt_build_group(b, "x", world, 3), two = rlt_build_group(b, "", pair, 2);
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t stream = rlt_build_resource(b, r, RLT_RES_STREAM, "stream 7"),
                 usual = rlt_build_resource(b, r, RLT_RES_STREAM, "compute");
        uint32_t copy = rlt_build_resource(b, r, RLT_RES_COPY, "engine"),
                 host = rlt_build_resource(b, r, RLT_RES_HOST, "main");
        /* the names that a reader would choose, of other kinds */
        uint32_t no_host = rlt_build_resource(b, r, RLT_RES_STREAM, "host"),
                 no_stream = rlt_build_resource(b, r, RLT_RES_HOST, "compute");
        uint32_t arrivals = rlt_build_resource(b, r, RLT_RES_ARRIVAL, "compute"),
                 network = rlt_build_resource(b, r, RLT_RES_NETWORK, "compute");
        uint32_t made[14], n = 0;
        const rlt_op_kind kinds[] = {RLT_OP_HOST,    RLT_OP_COMPUTE, RLT_OP_MEMORY,
                                     RLT_OP_DELAY,   RLT_OP_COMPUTE, RLT_OP_HOST,
                                     RLT_OP_COMPUTE, RLT_OP_COMPUTE, RLT_OP_COMPUTE};
        const uint32_t resources[] = {host,    stream,    copy,     RLT_NONE, usual,
                                      no_host, no_stream, arrivals, network};
        for (uint32_t i = 0; i < 9; i++) {
            rlt_op_desc d = rlt_op_desc_init(kinds[i], r);
            d.name = name(b, "work");
            d.resource = resources[i];
            d.duration_ps = 1234567 + (rlt_time)i * RLT_US;
            d.recorded_ps = i == 2 ? 777 : -1;
            d.recorded_duration_ps = i == 1 ? 31 : -1;
            d.step = (uint16_t)(i < 4 ? i / 2 : 2);
            made[n++] = rlt_build_op(b, &d);
        }
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
        d.name = name(b, "uneven");
        d.coll = RLT_ALL_TO_ALL;
        d.group = everyone;
        d.bytes = 12;
        d.send_counts = r == 1 ? row : NULL;
        d.resource = stream;
        made[n++] = rlt_build_op(b, &d);
        d.coll = RLT_ALL_GATHER; /* not a multiple of three */
        d.bytes = 100;
        d.send_counts = NULL;
        d.recorded_duration_ps = 1500001;
        made[n++] = rlt_build_op(b, &d);
        if (r != 1) {
            d.group = two;
            d.coll = RLT_BROADCAST;
            d.root = 1;
            d.resource = RLT_NONE;
            made[n++] = rlt_build_op(b, &d);
            d.coll = RLT_SCATTER; /* an odd number over two */
            d.bytes = 101;
            made[n++] = rlt_build_op(b, &d);
            d.coll = RLT_GATHER; /* shares of 50 and 150 */
            d.bytes = r ? 300 : 100;
            made[n++] = rlt_build_op(b, &d);
        }
        for (uint32_t i = 2; i < n; i++)
            rlt_build_dep(b, made[i], made[i - 1]);
        rlt_build_dep(b, made[0], made[1]); /* forward */
        d = rlt_op_desc_init(RLT_OP_SEND, r);
        d.peer = (r + 1) % 3;
        d.bytes = 5;
        rlt_build_op(b, &d);
        d.kind = RLT_OP_RECV;
        d.peer = (r + 2) % 3;
        rlt_build_op(b, &d);
        rlt_build_rank_start(b, r, 1000 + (rlt_time)r * 17);
        rlt_build_rank_recorded(b, r, 99 + (rlt_time)r);
    }
    assert_int_equal(rlt_builder_finish(b, "test", &p, NULL), 0);
    return p;
}

/* Attributes of a node or the metadata, as bits. */
static uint32_t attributes(const rlt_chakra_node *n)
{
    uint32_t all = 0;
    for (int a = 0; a < RLT_CHAKRA_ATTRS; a++)
        all |= rlt__chakra_has(n, (rlt_chakra_attr)a) ? 1u << a : 0;
    return all;
}

/* Nodes say no more than they must: other programs read whole microseconds, rounded, and our attributes are those
 * that the format has no place for. */
static void attributes_that_are_written(void **state)
{
    static const struct {
        rlt_op_kind kind;
        rlt_resource_kind resource;
        const char *on;
        rlt_time ps;
        uint16_t step;
        uint64_t us;
        uint32_t attributes;
    } rows[] = {
        {RLT_OP_COMPUTE, RLT_RES_STREAM, "compute", 3 * RLT_US, 0, 3, 0},
        {RLT_OP_HOST, RLT_RES_HOST, "host", 0, 0, 0, 0},
        {RLT_OP_COMPUTE, RLT_RES_STREAM, "compute", 1499999, 0, 1, 1u << RLT_CHAKRA_ATTR_DURATION},
        {RLT_OP_COMPUTE, RLT_RES_STREAM, "compute", 1500000, 0, 2, 1u << RLT_CHAKRA_ATTR_DURATION},
        {RLT_OP_COMPUTE, RLT_RES_STREAM, "other", RLT_US, 0, 1, 1u << RLT_CHAKRA_ATTR_RESOURCE},
        {RLT_OP_MEMORY, RLT_RES_STREAM, "compute", RLT_US, 0, 1, 1u << RLT_CHAKRA_ATTR_KIND},
        {RLT_OP_HOST, RLT_RES_HOST, "host", RLT_US, 1, 1, 1u << RLT_CHAKRA_ATTR_STEP},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    rlt_builder *b;
    rlt_program *p = NULL;
    rlt_chakra_file f;
    rlt_chakra_node n = {0};
    rlt_error err = {0};
    char path[256];
    (void)state;
    assert_int_equal(rlt_builder_create(1, &b, NULL), 0);
    for (size_t i = 0; i < ROWS; i++) {
        rlt_op_desc d = rlt_op_desc_init(rows[i].kind, 0);
        d.resource = rlt_build_resource(b, 0, rows[i].resource, rows[i].on);
        d.duration_ps = rows[i].ps;
        d.step = rows[i].step;
        rlt_build_op(b, &d);
    }
    assert_int_equal(rlt_builder_finish(b, "test", &p, NULL), 0);
    assert_int_equal(rlt_chakra_write(p, directory, "plain", &err), 0);
    rlt_program_free(p);
    assert_int_equal(rlt__chakra_open(path_of("plain.0.et", path, sizeof path), &f, &n, &err), 0);
    assert_int_equal(attributes(&n), 1u << RLT_CHAKRA_ATTR_RANKS | 1u << RLT_CHAKRA_ATTR_RANK_START);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(rlt__chakra_next(&f, &n, &err), 1);
        assert_int_equal(n.id, i + 1);
        assert_int_equal(n.duration_us, rows[i].us);
        assert_int_equal(attributes(&n), rows[i].attributes | 1u << RLT_CHAKRA_ATTR_IS_CPU_OP);
        assert_int_equal(n.attr[RLT_CHAKRA_ATTR_IS_CPU_OP].integer, rows[i].kind == RLT_OP_HOST);
    }
    assert_int_equal(rlt__chakra_next(&f, &n, &err), 0);
    free(n.deps);
    rlt__chakra_close(&f);
    assert_null(f.text);
    clean();
}

/* Collectives of the program above, as other programs read them: the world is group "0", others are numbered behind
 * it; a rank states its own bytes, and where those of all are no multiple of them, these too. */
static void collectives_that_are_written(void **state)
{
    static const struct {
        const char *group;
        uint64_t bytes[3]; /* by rank */
        bool odd;
    } rows[] = {{"0", {12, 307, 12}, false},
                {"0", {33, 33, 33}, true},
                {"2", {100, 0, 100}, false},
                {"2", {50, 0, 50}, true},
                {"2", {50, 0, 150}, false}};
    rlt_program *p = varied_program();
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_chakra_write(p, directory, "c", &err), 0);
    for (uint32_t r = 0; r < 3; r++) {
        rlt_chakra_file f;
        rlt_chakra_node n = {0};
        char path[256], name_of[16];
        size_t seen = 0;
        snprintf(name_of, sizeof name_of, "c.%u.et", r);
        assert_int_equal(rlt__chakra_open(path_of(name_of, path, sizeof path), &f, &n, &err), 0);
        while (rlt__chakra_next(&f, &n, &err) == 1) {
            const rlt_pb group = n.attr[RLT_CHAKRA_ATTR_PG_NAME].bytes;
            if (n.type != RLT_CHAKRA_COLL)
                continue;
            assert_int_equal(group.end - group.at, 1);
            assert_int_equal(group.at[0], rows[seen].group[0]);
            assert_int_equal(n.attr[RLT_CHAKRA_ATTR_COMM_SIZE].integer, rows[seen].bytes[r]);
            assert_int_equal(rlt__chakra_has(&n, RLT_CHAKRA_ATTR_BYTES), rows[seen].odd);
            assert_int_equal(rlt__chakra_has(&n, RLT_CHAKRA_ATTR_COUNTS), seen == 0);
            seen++;
        }
        assert_int_equal(seen, r == 1 ? 2 : 5);
        free(n.deps);
        rlt__chakra_close(&f);
    }
    rlt_program_free(p);
    clean();
}

static void same_comm(const rlt_program *a, const rlt_comm *x, const rlt_program *b, const rlt_comm *y)
{
    uint32_t n = a->group_first[x->group + 1] - a->group_first[x->group];
    assert_int_equal(x->kind, y->kind);
    assert_int_equal(x->bytes, y->bytes);
    assert_int_equal(x->root, y->root);
    assert_int_equal(x->step, y->step);
    assert_int_equal(b->group_first[y->group + 1] - b->group_first[y->group], n);
    assert_memory_equal(a->group_ranks + a->group_first[x->group], b->group_ranks + b->group_first[y->group],
                        n * sizeof(uint32_t));
    assert_memory_equal(a->comm_ops + x->first_op, b->comm_ops + y->first_op, n * sizeof(uint32_t));
    assert_int_equal(x->counts != NULL, y->counts != NULL);
    if (x->counts)
        assert_memory_equal(x->counts, y->counts, sizeof(uint64_t) * (x->kind == RLT_ALL_TO_ALL ? n * n : n));
}

static void same_program(const rlt_program *a, const rlt_program *b)
{
    assert_int_equal(a->n_ranks, b->n_ranks);
    assert_int_equal(a->n_ops, b->n_ops);
    assert_int_equal(a->n_deps, b->n_deps);
    assert_int_equal(a->n_comms, b->n_comms);
    assert_int_equal(a->n_steps, b->n_steps);
    assert_memory_equal(a->rank_first, b->rank_first, (a->n_ranks + 1) * sizeof(uint32_t));
    assert_memory_equal(a->rank_start_ps, b->rank_start_ps, a->n_ranks * sizeof(rlt_time));
    assert_memory_equal(a->rank_recorded_ps, b->rank_recorded_ps, a->n_ranks * sizeof(rlt_time));
    for (uint32_t i = 0; i < a->n_ops; i++) {
        const rlt_op *x = &a->ops[i], *y = &b->ops[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->duration_ps, y->duration_ps);
        assert_int_equal(x->recorded_ps, y->recorded_ps);
        assert_int_equal(x->recorded_duration_ps, y->recorded_duration_ps);
        assert_int_equal(x->step, y->step);
        assert_int_equal(x->member, y->member);
        assert_string_equal(rlt_program_string(a, x->name), rlt_program_string(b, y->name));
        assert_int_equal(x->n_deps, y->n_deps);
        assert_memory_equal(a->deps + x->first_dep, b->deps + y->first_dep, x->n_deps * sizeof(uint32_t));
        assert_string_equal(resource_name(a, x), resource_name(b, y));
        if (x->resource != RLT_NONE)
            assert_int_equal(a->resources[x->resource].kind, b->resources[y->resource].kind);
        assert_int_equal(x->comm == RLT_NONE, y->comm == RLT_NONE);
        if (x->comm != RLT_NONE)
            same_comm(a, &a->comms[x->comm], b, &b->comms[y->comm]);
    }
}

/* Two messages between the same ranks, which are received in the other order: told apart by their tags. */
static void crossed_messages(void **state)
{
    rlt_builder *b;
    rlt_program *p = NULL;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_builder_create(2, &b, NULL), 0);
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t i = 0; i < 2; i++) {
            rlt_op_desc d = rlt_op_desc_init(r ? RLT_OP_RECV : RLT_OP_SEND, r);
            d.peer = !r;
            d.tag = r ? 1 - i : i;
            d.bytes = 10 + d.tag;
            rlt_build_op(b, &d);
        }
    assert_int_equal(rlt_builder_finish(b, "test", &p, NULL), 0);
    assert_int_equal(rlt_chakra_write(p, directory, "m", &err), 0);
    rlt_program *back = read_trace("m");
    same_program(p, back);
    rlt_program_free(back);
    rlt_program_free(p);
    clean();
}

/* A folder stands where a file shall be: that is said, and nothing else is left there. */
static void files_in_the_way(void **state)
{
    char path[256], command[600], what[128];
    rlt_error err = {0};
    rlt_program *p = varied_program();
    (void)state;
    snprintf(what, sizeof what, "cannot write: %s", strerror(EISDIR));
    assert_int_equal(mkdir(path_of("w.1.et", path, sizeof path), 0700), 0);
    assert_int_equal(rlt_chakra_write(p, directory, "w", &err), RLT_EIO);
    assert_string_equal(err.where, path);
    assert_string_equal(err.what, what);
    snprintf(command, sizeof command, "test \"$(ls %s | tr '\\n' ' ')\" = 'w.0.et w.1.et '", directory);
    assert_int_equal(system(command), 0);
    rlt_program_free(p);
    clean();
}

static void round_trip(void **state)
{
    (void)state;
    rlt_error err = {0};
    rlt_program *p = varied_program();
    if (rlt_chakra_write(p, directory, "w", &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    rlt_program *back = read_trace("w");
    same_program(p, back);
    rlt_program_free(back);
    assert_int_equal(rlt_chakra_write(p, "/nonexistent", "w", &err), RLT_EIO);
    rlt_program_free(p);
    clean();
}

static void steps_are_cut(void **state)
{
    (void)state;
    rlt_program *p = varied_program();
    assert_int_equal(p->n_steps, 3);
    assert_int_equal(rlt_chakra_write(p, directory, "w", NULL), 0);
    rlt_program_free(p);
    rlt_read_options opts = plain_options();
    opts.first_step = 1;
    opts.last_step = 1;
    p = read_with("w", &opts); /* operations 2 and 3 of each rank */
    assert_int_equal(p->n_ops, 6);
    assert_int_equal(p->n_steps, 1);
    assert_int_equal(p->n_deps, 3);
    rlt_program_free(p);
    opts.last_step = 3; /* the trace has 0 to 2 */
    rlt_error err = {0};
    assert_int_equal(try_read("w", &opts, &p, &err), RLT_ERANGE);
    assert_non_null(strstr(err.what, "0:2, got 1:3"));
    clean();
}

static void compressed(void **state)
{
    (void)state;
    file f;
    char path[256];
    begin(&f);
    work(&f, 1, "a", 4, false);
    message(&f);
    gzFile gz = gzopen(path_of("t.0.et.gz", path, sizeof path), "wb");
    assert_int_equal(gzwrite(gz, f.out.data, (unsigned)f.out.length), (int)f.out.length);
    gzclose(gz);
    rlt__pb_out_free(&f.out);
    rlt__pb_out_free(&f.node);
    rlt_program *p = read_trace("t.0.et.gz");
    assert_int_equal(p->ops[0].duration_ps, 4 * RLT_US);
    rlt_program_free(p);
    p = read_trace("t");
    rlt_program_free(p);
    assert_int_equal(truncate(path, 30), 0);
    refused("t.0.et.gz", RLT_EMALFORMED, "t.0.et.gz", "gzip");
    clean();
}

/* A number of 64 bits without a sign is told as such. A folder without traces is told. */
static void told(void **state)
{
    (void)state;
    file f;
    rlt_program *p = NULL;
    rlt_error err = {0};
    const char *spec = directory;
    const rlt_read_options opts = plain_options();
    assert_int_equal(rlt_trace_read(&spec, 1, &opts, &p, &err), RLT_EIO);
    assert_non_null(strstr(err.what, "the directory has no trace files"));
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        begin(&f);
        head(&f, 1, "s", RLT_CHAKRA_SEND);
        number(&f, "comm_size", RLT_CHAKRA_INT64, 4);
        number(&f, "comm_dst", is_signed ? RLT_CHAKRA_INT64 : RLT_CHAKRA_UINT64, UINT64_MAX - 1);
        message(&f);
        end(&f, "t.0.et");
        refused("t.0.et", RLT_ESCHEMA, "node 1 's'", is_signed ? "is -2, " : "is 18446744073709551614, ");
    }
    clean();
}

/* Two forms of JSON say the same: 100 us, then 10 us behind it, on a device. Members that are not known, and names behind
 * values, are no trouble. */
static void json(void **state)
{
    static const char *const texts[] = {
        "{\"workload_graph\": [{\"Id\": 1, \"Name\": \"first\", \"NodeType\": 4, \"data_deps\": [], \"ctrlDeps\": [77],"
        "\"runtime\": 100, \"is_cpu_op\": false}, {\"Id\": 3, \"Name\": \"second\", \"NodeType\": 4, \"data_deps\": [1],"
        "\"runtime\": 10, \"is_cpu_op\": false}], \"ngpus\": 1}",
        "{\"version\": \"0.0.4\"}{\"id\": \"1\", \"name\": \"first\", \"type\": \"COMP_NODE\", \"durationMicros\": \"100\","
        "\"attr\": [{\"boolVal\": false, \"name\": \"is_cpu_op\"}, {\"name\": \"x\", \"doubleVal\": 1.5}]}"
        "{\"id\": \"3\", \"name\": \"second\", \"type\": \"COMP_NODE\", \"dataDeps\": [\"1\"], \"durationMicros\": \"10\","
        "\"attr\": [{\"name\": \"is_cpu_op\", \"docString\": \"d\", \"boolVal\": false}]}"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        save("j.0.json", (const uint8_t *)texts[i], strlen(texts[i]));
        rlt_program *p = read_trace("j.0.json");
        assert_int_equal(p->n_ops, 2);
        for (uint32_t k = 0; k < 2; k++) {
            const rlt_op *o = &p->ops[k];
            assert_string_equal(rlt_program_string(p, o->name), k ? "second" : "first");
            assert_int_equal(o->kind, RLT_OP_COMPUTE);
            assert_int_equal(o->duration_ps, (k ? 10 : 100) * RLT_US);
            assert_int_equal(o->n_deps, k);
        }
        rlt_program_free(p);
    }
    clean();
}

/* ---- damaged files */

/* Every truncation, except at the end of a message, is refused with its offset. No damage crashes the
 * reader. */
static void damaged(void **state)
{
    (void)state;
    file f;
    begin(&f);
    size_t metadata = f.out.length;
    work(&f, 1, "first", 2, false);
    message(&f);
    size_t boundary = f.out.length;
    head(&f, 2, "second", RLT_CHAKRA_COLL);
    rlt__pb_put_bytes(&f.node, 5, "\x01", 1);
    number(&f, "comm_size", RLT_CHAKRA_INT64, 1 << 20);
    text(&f, "pg_name", "0");
    raw_attr(&f, "involved_dim", "\xe2\x01\x04\x0a\x02\x01\x01", 7);
    message(&f);
    size_t n = f.out.length;
    uint8_t *data = f.out.data;
    const rlt_read_options opts = plain_options();
    for (size_t cut = 0; cut < n; cut++) {
        save("cut.0.et", data, cut);
        char path[256];
        const char *spec = path_of("cut.0.et", path, sizeof path);
        rlt_program *p = NULL;
        rlt_error err = {0};
        int rc = rlt_reader_chakra.read(&spec, 1, &opts, &p, &err);
        if (cut == metadata || cut == boundary) {
            assert_int_equal(rc, 0);
        } else {
            assert_int_equal(rc, RLT_EMALFORMED);
            assert_non_null(strstr(err.where, "byte "));
            size_t at = cut < metadata ? 0 : cut < boundary ? metadata : boundary;
            char place[32];
            snprintf(place, sizeof place, "byte %zu", at);
            assert_non_null(strstr(err.where, place));
        }
        rlt_program_free(p);
    }
    for (size_t bit = 0; bit < n * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        save("flip.0.et", data, n);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        char path[256];
        const char *spec = path_of("flip.0.et", path, sizeof path);
        rlt_program *p = NULL;
        rlt_error err = {0};
        int rc = rlt_reader_chakra.read(&spec, 1, &opts, &p, &err);
        assert_true(rc == 0 ? p != NULL : p == NULL && err.code == rc && err.what[0]);
        rlt_program_free(p);
    }
    rlt__pb_out_free(&f.out);
    rlt__pb_out_free(&f.node);
    clean();
}

/* A send that nobody receives is no node that could be read again. */
static void lonely_messages(void **state)
{
    rlt_builder *b = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_builder_create(2, &b, NULL), 0);
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_SEND, 1);
    d.name = rlt_build_string(b, "lone", 4);
    d.peer = 0;
    d.bytes = 8;
    (void)rlt_build_op(b, &d);
    assert_int_equal(rlt_builder_finish(b, "test", &p, NULL), 0);
    assert_int_equal(rlt_chakra_write(p, directory, "w", &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.what,
                        "rank 1: operation 'lone' has no matching send or receive, and cannot be written");
    rlt_program_free(p);
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lonely_messages),
        cmocka_unit_test(crossed_messages),
        cmocka_unit_test(files_in_the_way),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(attributes_that_are_written),
        cmocka_unit_test(collectives_that_are_written),
        cmocka_unit_test(steps_are_cut),
        cmocka_unit_test(compressed),
        cmocka_unit_test(told),
        cmocka_unit_test(json),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
