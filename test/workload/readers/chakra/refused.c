/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers of Chakra's attributes at their limits: the last one is read, the next one is refused, word for word with its node. What
 * else is refused, where it is; and each note that a trace leads to, with its count.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/support/traces/chakra.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

enum { METADATA = 0 };

/* One node "x" of a type with one attribute; METADATA: the metadata has it. */
static void write_one(const char *name, uint32_t type, const char *attribute, uint64_t value)
{
    file f = {0};
    if (type == METADATA) {
        rlt_pb_out a = {0};
        rlt__pb_put_bytes(&f.node, 1, "0.0.4", 5);
        rlt__pb_put_bytes(&a, 1, attribute, strlen(attribute));
        rlt__pb_put_uint(&a, RLT_CHAKRA_UINT64, value);
        rlt__pb_put_bytes(&f.node, 2, a.data, a.length);
        rlt__pb_out_free(&a);
        message(&f);
    } else {
        begin(&f);
        head(&f, 7, "x", type);
        number(&f, attribute, RLT_CHAKRA_UINT64, value);
        message(&f);
    }
    end(&f, name);
}

static void numbers_have_limits(void **state)
{
    static const struct {
        uint32_t type;
        const char *attribute;
        uint64_t most;
    } all[] = {
        {METADATA, "ringlet_rank_start_ps", (uint64_t)RLT_TIME_MAX},
        {METADATA, "ringlet_rank_recorded_ps", (uint64_t)RLT_TIME_MAX},
        {RLT_CHAKRA_COMP, "ringlet_duration_ps", (uint64_t)RLT_TIME_MAX},
        {RLT_CHAKRA_COMP, "ringlet_recorded_ps", (uint64_t)RLT_TIME_MAX},
        {RLT_CHAKRA_COMP, "ringlet_recorded_duration_ps", (uint64_t)RLT_TIME_MAX},
        {RLT_CHAKRA_COMP, "ringlet_step", UINT16_MAX},
        {RLT_CHAKRA_COMP, "ringlet_purpose", RLT_PURPOSES - 1},
        {RLT_CHAKRA_COMP, "ringlet_kind", RLT_OP_DELAY},
        {RLT_CHAKRA_COMP, "num_ops", INT64_MAX},
        {RLT_CHAKRA_COMP, "tensor_size", INT64_MAX},
        {RLT_CHAKRA_MEM_LOAD, "tensor_size", INT64_MAX},
        {RLT_CHAKRA_COLL, "comm_type", UINT32_MAX},
        {RLT_CHAKRA_COLL, "comm_size", INT64_MAX},
        {RLT_CHAKRA_COLL, "ringlet_bytes", INT64_MAX},
        {RLT_CHAKRA_COLL, "root_rank", RLT_MAX_RANKS - 1},
        {RLT_CHAKRA_COLL, "pg_name", UINT32_MAX},
        {RLT_CHAKRA_SEND, "comm_dst", UINT32_MAX - 1},
        {RLT_CHAKRA_RECV, "comm_src", UINT32_MAX - 1},
        {RLT_CHAKRA_SEND, "comm_size", INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (uint64_t next = 0; next < 2; next++) {
            rlt_read_options o = plain_options();
            rlt_program *p = NULL;
            rlt_error err = {0};
            char what[160];
            write_one("one.0.et", all[i].type, all[i].attribute, all[i].most + next);
            int rc = try_read("one.0.et", &o, &p, &err);
            snprintf(what, sizeof what, "attribute %s is %llu, expected 0 to %llu", all[i].attribute,
                     (unsigned long long)all[i].most + next, (unsigned long long)all[i].most);
            if (next ? rc != RLT_ESCHEMA || strcmp(err.what, what) != 0
                     : rc && strstr(err.what, ", expected 0 to "))
                fail_msg("%s %llu: %d: %s: %s", all[i].attribute, (unsigned long long)next, rc, err.where,
                         err.what);
            if (next && all[i].type != METADATA)
                assert_non_null(strstr(err.where, "one.0.et: node 7 'x'"));
            rlt_program_free(p);
        }
    clean();
}

/* Whole microseconds up to the end of simulated time. */
static void durations_have_a_limit(void **state)
{
    (void)state;
    for (uint64_t next = 0; next < 2; next++) {
        file f;
        begin(&f);
        work(&f, 3, "long", (uint64_t)(RLT_TIME_MAX / RLT_US) + next, false);
        message(&f);
        end(&f, "one.0.et");
        if (next) {
            refused("one.0.et", RLT_ERANGE, "one.0.et: node 3 'long'", "a duration of more than 26 days");
            continue;
        }
        rlt_program *p = read_trace("one.0.et");
        assert_int_equal(p->ops[0].duration_ps, RLT_TIME_MAX / RLT_US * RLT_US);
        rlt_program_free(p);
    }
    clean();
}

/* Two ranks; the second one's node is wrong. */
static void nodes_are_refused(void **state)
{
    static const struct {
        uint32_t type;
        const char *attribute;
        uint64_t value;
        int code;
        const char *what;
    } all[] = {
        {RLT_CHAKRA_SEND, "comm_tag", 1, RLT_ESCHEMA, "a send without comm_dst"},
        {RLT_CHAKRA_SEND, "comm_src", 0, RLT_ESCHEMA, "a send without comm_dst"},
        {RLT_CHAKRA_RECV, "comm_dst", 0, RLT_ESCHEMA, "a receive without comm_src"},
        {RLT_CHAKRA_SEND, "comm_dst", 2, RLT_ESCHEMA, "the other rank of the message is not in the trace"},
        {RLT_CHAKRA_RECV, "comm_src", 2, RLT_ESCHEMA, "the other rank of the message is not in the trace"},
        {RLT_CHAKRA_COLL, "comm_type", 10, RLT_EUNSUPPORTED, "a comm_type that is not in the schema"},
        {RLT_CHAKRA_COLL, "comm_type", 1000, RLT_EUNSUPPORTED, "a comm_type that is not in the schema"},
        {RLT_CHAKRA_COLL, "root_rank", 2, RLT_ESCHEMA, "root_rank is not in the group of the collective"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        file f;
        begin(&f);
        end(&f, "two.0.et");
        write_one("two.1.et", all[i].type, all[i].attribute, all[i].value);
        refused("two", all[i].code, "two.1.et: node 7 'x'", all[i].what);
    }
    clean();
}

/* What the program's builder refuses is said of the file. */
static void groups_are_refused(void **state)
{
    file f;
    char path[256];
    rlt_program *p = NULL;
    rlt_error err = {0};
    rlt_read_options o = plain_options();
    (void)state;
    begin(&f);
    end(&f, "g.0.et");
    f = (file){0};
    rlt_pb_out a = {0};
    static const char groups[] = "[{\"pg_name\": \"g\", \"ranks\": [1, 1]}]";
    rlt__pb_put_bytes(&f.node, 1, "0.0.4", 5);
    rlt__pb_put_bytes(&a, 1, "ringlet_groups", 14);
    rlt__pb_put_bytes(&a, RLT_CHAKRA_STRING, groups, sizeof groups - 1);
    rlt__pb_put_bytes(&f.node, 2, a.data, a.length);
    rlt__pb_out_free(&a);
    message(&f);
    collective(&f, 1, RLT_CHAKRA_ALL_REDUCE, 8, "g");
    end(&f, "g.1.et");
    assert_true(try_read("g", &o, &p, &err) < 0);
    assert_int_equal(strncmp(err.where, path_of("g.1.et", path, sizeof path), strlen(path)), 0);
    assert_non_null(strstr(err.what, "names rank 1 twice"));
    clean();
}

static uint64_t notes_of(const char *spec, const rlt_read_options *o, const char *what)
{
    rlt_program *p = read_with(spec, o);
    uint64_t n = noted(p, what);
    rlt_program_free(p);
    return n;
}

static void notes(void **state)
{
    static const struct {
        uint32_t type;
        const char *attribute, *what;
        uint64_t alone, among; /* notes of one rank alone, and of two */
    } all[] = {
        {RLT_CHAKRA_COLL, "comm_size", "collective of a single rank: moves nothing", 1, 0},
        {RLT_CHAKRA_COLL, "comm_size", "collective without comm_size", 0, 0},
        {RLT_CHAKRA_COLL, "comm_type", "collective without comm_size moves 0 bytes", 1, 2},
        {RLT_CHAKRA_COMP, "num_ops", "compute without a duration takes no time", 1, 2},
        {RLT_CHAKRA_COMP, "ringlet_duration_ps", "compute without a duration", 0, 0},
        {RLT_CHAKRA_COMP, "is_cpu_op", "without a duration", 0, 0},
        {RLT_CHAKRA_MEM_LOAD, "tensor_size", "memory node without a duration takes no time", 1, 2},
        {RLT_CHAKRA_MEM_STORE, "tensor_size", "memory node without a duration takes no time", 1, 2},
        {RLT_CHAKRA_MEM_STORE, "tensor_size", "compute without a duration", 0, 0},
        {RLT_CHAKRA_TYPES, "comm_size", "node of unknown type 8: takes no time", 1, 2},
        {RLT_CHAKRA_METADATA, "comm_size", "metadata node", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_read_options o = plain_options(), alone = plain_options();
        alone.alone = true;
        write_one("two.0.et", all[i].type, all[i].attribute, 1);
        write_one("two.1.et", all[i].type, all[i].attribute, 1);
        write_one("one.0.et", all[i].type, all[i].attribute, 1);
        uint64_t one = notes_of("one.0.et", &o, all[i].what), two = notes_of("two", &o, all[i].what);
        if (one != all[i].alone || two != all[i].among)
            fail_msg("%s: %llu, %llu", all[i].what, (unsigned long long)one, (unsigned long long)two);
        assert_int_equal(notes_of("one.0.et", &alone, "single rank"), 0);
        clean();
    }
}

/* The first of several files may say how many ranks there are, more than there are files. */
static void declared_ranks(void **state)
{
    static const struct {
        uint64_t declared;
        const char *what; /* NULL: two ranks are read */
    } all[] = {{0, NULL},
               {1, NULL},
               {2, NULL},
               {3, "the trace has 2 files for 3 ranks; --replicate RANK=FROM replaces a missing rank"},
               {RLT_MAX_RANKS, "the trace has 2 files for 16777216 ranks; "},
               {RLT_MAX_RANKS + 1, "attribute ringlet_ranks is 16777217, expected 0 to 16777216"}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        write_one("t.0.et", METADATA, "ringlet_ranks", all[i].declared);
        write_one("t.1.et", METADATA, "ringlet_ranks", 5);
        if (all[i].what) {
            refused("t", RLT_ESCHEMA, "t.0.et", all[i].what);
            continue;
        }
        rlt_program *p = read_trace("t");
        assert_int_equal(p->n_ranks, 2);
        rlt_program_free(p);
    }
    clean();
}

/* A metadata node that waits for something stays, and takes no time. */
static void metadata_in_between(void **state)
{
    file f;
    (void)state;
    begin(&f);
    work(&f, 1, "a", 3, false);
    message(&f);
    head(&f, 2, "note", RLT_CHAKRA_METADATA);
    dep(&f, 1);
    message(&f);
    work(&f, 3, "b", 4, false);
    dep(&f, 2);
    message(&f);
    end(&f, "one.0.et");
    rlt_program *p = read_trace("one.0.et");
    assert_int_equal(p->n_ops, 3);
    assert_int_equal(op_named(p, "note")->kind, RLT_OP_DELAY);
    assert_int_equal(op_named(p, "note")->duration_ps, 0);
    assert_int_equal(noted(p, "metadata node: takes no time"), 1);
    rlt_program_free(p);
    clean();
}

/* Steps 0, 2 and 3 of a trace. Those that are kept count from the first one that was asked for. */
static void steps(void **state)
{
    static const struct {
        int first, last, from, to; /* from 9: refused */
    } all[] = {{-1, -1, 0, 3}, {0, 0, 0, 0}, {2, 2, 2, 2},  {1, 2, 2, 2},   {2, 3, 2, 3}, {-1, 2, 0, 2},
               {3, -1, 3, 3},  {1, 1, 9, 0}, {0, 4, 9, -1}, {-1, 4, 9, -1}, {0, 3, 0, 3}};
    static const uint32_t steps_of[] = {0, 2, 3};
    file f;
    (void)state;
    begin(&f);
    for (uint32_t i = 0; i < 3; i++) {
        work(&f, i + 1, "w", 1 + steps_of[i], false);
        number(&f, "ringlet_step", RLT_CHAKRA_UINT32, steps_of[i]);
        if (i)
            dep(&f, i);
        message(&f);
    }
    end(&f, "one.0.et");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_read_options o = {.first_step = all[i].first, .last_step = all[i].last};
        rlt_program *p = NULL;
        rlt_error err = {0};
        uint32_t n = 0;
        int rc = try_read("one.0.et", &o, &p, &err);
        if (all[i].to < 0) {
            char what[80];
            snprintf(what, sizeof what, "expected steps within the recorded 0:3, got 0:%d", all[i].last);
            assert_int_equal(rc, RLT_ERANGE);
            assert_string_equal(err.what, what);
            continue;
        }
        if (rc)
            fail_msg("%zu: %s", i, err.what);
        for (uint32_t k = 0; k < 3; k++) {
            if ((int)steps_of[k] < all[i].from || (int)steps_of[k] > all[i].to)
                continue;
            assert_int_equal(p->ops[n].duration_ps, (1 + steps_of[k]) * RLT_US);
            assert_int_equal(p->ops[n].n_deps, n > 0);
            assert_int_equal(p->ops[n++].step, (int)steps_of[k] - (all[i].first > 0 ? all[i].first : 0));
        }
        assert_int_equal(p->n_ops, n);
        rlt_program_free(p);
    }
    clean();
}

static void checks(void **state)
{
    static const struct {
        uint32_t ranks; /* asked for */
        int without;    /* the rank of three that has no file */
        const char *says;
    } all[] = {
        {0, 2, "ok: ranks: 2 of 2 present\n"},
        {2, 2, "ok: ranks: 2 of 2 present\n"},
        {3, 2,
         "lacks: ranks: 1 of 3 have no file (first: rank 2); add it, or use another rank's: --replicate 2=0\n"},
        {0, 1,
         "lacks: ranks: 1 of 3 have no file (first: rank 1); add it, or use another rank's: --replicate 1=0\n"},
        {5, 0,
         "lacks: ranks: 3 of 5 have no file (first: rank 0); add it, or use another rank's: --replicate 0=1\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char paths[2][256], *said = NULL;
        const char *list[] = {paths[0], paths[1]};
        rlt_read_options o = plain_options();
        rlt_error err = {0};
        int n = 0;
        for (int r = 0; r < 3; r++) {
            char name[16];
            file f;
            if (r == all[i].without)
                continue;
            snprintf(name, sizeof name, "t.%d.et", r);
            begin(&f);
            end(&f, name);
            path_of(name, paths[n++], sizeof paths[0]);
        }
        o.n_ranks = all[i].ranks;
        assert_int_equal(rlt_reader_chakra.check(list, 2, &o, &said, &err), 0);
        assert_string_equal(said, all[i].says);
        free(said);
        clean();
    }
}

/* A check that fails gives no text. */
static void failed_checks(void **state)
{
    const char *paths[] = {"/no/such/x.0.et", "/no/such/x.1.et"};
    char *said = (char *)paths;
    rlt_error err = {0};
    rlt_read_options o = plain_options();
    (void)state;
    assert_int_equal(rlt_reader_chakra.check(paths, 2, &o, &said, &err), RLT_EIO);
    assert_null(said);
}

/* Files of too high a rank, of one rank, and of fewer ranks than options replace. */
static void files_of_ranks(void **state)
{
    static const rlt_replicate other = {.rank = 2, .from = 0}, none = {.rank = 1, .from = 3};
    static const struct {
        const char *files[2];
        uint32_t ranks;
        const rlt_replicate *replicate;
        int code;
        const char *where, *what;
    } all[] = {
        {{"t.0.et", "t.3.et"}, 3, NULL, RLT_ERANGE, "t.3.et", "is rank 3, but the trace has only 3 ranks"},
        {{"t.0.et", "u.0.et"}, 2, NULL, RLT_ESCHEMA, "u.0.et", "is rank 0, the same as "},
        {{"t.0.et", NULL},
         3,
         &other,
         RLT_ESCHEMA,
         "t.0.et",
         "there is no file for rank 1, and no recording replaces it"},
        {{"t.0.et", NULL},
         3,
         &none,
         RLT_ESCHEMA,
         "t.0.et",
         "there is no file for rank 1, and no recording replaces it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char paths[2][256], where[256];
        const char *list[] = {paths[0], paths[1]};
        const rlt_read_options o = {.first_step = -1,
                                    .last_step = -1,
                                    .n_ranks = all[i].ranks,
                                    .replicate = all[i].replicate,
                                    .n_replicate = all[i].replicate ? 1 : 0};
        rlt_program *p = NULL;
        rlt_error err = {0};
        uint32_t n = 0;
        for (; n < 2 && all[i].files[n]; n++) {
            write_one(all[i].files[n], METADATA, "other", 1);
            path_of(all[i].files[n], paths[n], sizeof paths[n]);
        }
        int rc = rlt_reader_chakra.read(list, n, &o, &p, &err);
        path_of(all[i].where, where, sizeof where);
        if (rc != all[i].code || strcmp(err.where, where) != 0 || !strstr(err.what, all[i].what))
            fail_msg("row %zu: %d at '%s': '%s'", i, rc, err.where, err.what);
        assert_null(p);
        clean();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_ranks),
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(durations_have_a_limit),
        cmocka_unit_test(nodes_are_refused),
        cmocka_unit_test(groups_are_refused),
        cmocka_unit_test(metadata_in_between),
        cmocka_unit_test(declared_ranks),
        cmocka_unit_test(steps),
        cmocka_unit_test(checks),
        cmocka_unit_test(notes),
        cmocka_unit_test(failed_checks),
    };
    return cmocka_run_group_tests_name("chakra_refused", tests, set_up, tear_down);
}
