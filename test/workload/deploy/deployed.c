/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deployments as traces: two operators on unlike devices, written here, and their replay by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/traces/replay.h"
#include "workload/deploy/cluster.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define GROUPS                                                                                               \
    "\"device_groups\": [{\"type\": \"a\", \"count\": 1, \"factor\": 1, \"memory_bytes\": 1000000},"         \
    "{\"type\": \"b\", \"count\": 1, \"factor\": 2, \"memory_bytes\": 1000000}],"
#define OPERATOR(name, group, us)                                                                            \
    "{\"name\": \"" name "\", \"group\": " #group ", \"time_ps\": " #us "000000, \"launch_ps\": 0,"          \
    "\"parameter_bytes\": 0, \"kept_bytes\": 0, \"forward\": " #group ", \"pass\": 0, \"splittable\": true}"
#define DEPLOYED(actions, operators, tensors)                                                                \
    "{\"manifest\": {\"command\": \"deploy\"}, \"strategy\": {\"graph\": \"two\"," GROUPS                    \
    "\"groups\": [" actions "], \"operators\": [" operators "], \"tensors\": [" tensors "]}}"
#define APART "{\"devices\": [0], \"use\": \"model\"}, {\"devices\": [1], \"use\": \"model\"}"
#define BOTH  OPERATOR("x", 0, 10) "," OPERATOR("y", 1, 20)
#define SENT  "[0, 1, 5000, 2]"

static int load(const char *text, uint32_t ranks, rlt_program **out, rlt_error *err)
{
    char path[] = "/tmp/ringlet-deployed-XXXXXX";
    const char *paths[] = {path};
    rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = ranks};
    test_write_new(path, text, strlen(text));
    *err = (rlt_error){0};
    int rc = rlt_trace_read(paths, 1, &o, out, err);
    unlink(path);
    return rc;
}

/* x takes 10 us on the first device, 5000 bytes at 1 GB/s behind 2 x 500 ns take 6 us, and y takes 2 x 20 us on the
 * second device. 1000 bytes take 2 us. */
static void two_devices(void **state)
{
    static const struct {
        const char *text;
        rlt_time us;
    } rows[] = {{DEPLOYED(APART, BOTH, SENT), 10 + 6 + 40},
                {DEPLOYED(APART, BOTH, "[0, 1, 1000, 2]"), 10 + 2 + 40}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t ranks = 0; ranks < 3; ranks += 2) {
            rlt_program *p = NULL;
            rlt_error err;
            if (load(rows[i].text, ranks, &p, &err))
                fail_msg("%s: %s", err.where, err.what);
            assert_string_equal(p->reader, "deploy");
            assert_int_equal(p->n_ranks, 2);
            assert_int_equal(test_replay(p, "switch:2@1GB/s,500ns"), rows[i].us * RLT_US);
            rlt_program_free(p);
        }
}

static void refused(void **state)
{
    static const struct {
        const char *text;
        uint32_t ranks;
        const char *what;
    } rows[] = {
        {DEPLOYED(APART, BOTH, SENT), 3, "has 2 ranks, not 3"},
        {DEPLOYED("{\"devices\": [0], \"use\": \"models\"}", OPERATOR("x", 0, 10), ""), 0, "got 'models'"},
        {DEPLOYED("{\"devices\": [2], \"use\": \"model\"}", OPERATOR("x", 0, 10), ""), 0,
         "the cluster has device groups 0 to 1"},
        {DEPLOYED("{\"devices\": [], \"use\": \"model\"}", OPERATOR("x", 0, 10), ""), 0,
         "at least one device group"},
        {DEPLOYED("", BOTH, SENT), 0, "at least one group"},
        {DEPLOYED(APART, BOTH, "[0, 1, 5000, 3]"), 0, "2"},
        {DEPLOYED(APART, BOTH, "[0, 1, 5000]"), 0, "expected [source, destination, bytes, kind]"},
        {DEPLOYED(APART, BOTH "," OPERATOR("x", 0, 10), SENT ", [1, 2, 5, 2]"), 0,
         "two operators are called 'x'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = NULL;
        rlt_error err;
        int rc = load(rows[i].text, rows[i].ranks, &p, &err);
        if (rc >= 0 || !strstr(err.what, rows[i].what))
            fail_msg("row %u: %d: '%s', expected '%s'", (unsigned)i, rc, err.what, rows[i].what);
    }
}

/* Every member of a group of devices and of an operator with a word, a list or a number beyond its range instead; and
 * without it. */
static void members(void **state)
{
    static const char text[] = DEPLOYED("{\"devices\": [0, 1], \"use\": \"model\"}",
                                        "{\"name\": \"x\", \"group\": 0, \"time_ps\": 7, \"launch_ps\": 0,"
                                        "\"parameter_bytes\": 0, \"kept_bytes\": 0, \"forward\": 0, "
                                        "\"together\": 0, \"pass\": 0, \"splittable\": true}",
                                        "");
    static const struct {
        const char *key, *beyond;
        bool may_lack;
    } keys[] = {{"type", "7", false},
                {"count", "18446744073709551615", false},
                {"factor", "1e999", false},
                {"memory_bytes", "9223372036854775808", false},
                {"name", "7", false},
                {"time_ps", "2305843009213693952", false},
                {"launch_ps", "9223372036854775807", false},
                {"parameter_bytes", "9223372036854775808", false},
                {"kept_bytes", "9223372036854775808", false},
                {"forward", "4294967296", false},
                {"together", "4294967296", true},
                {"pass", "3", false},
                {"splittable", "2", false},
                {"graph", "2", false}};
    rlt_program *p = NULL;
    rlt_error err;
    (void)state;
    if (load(text, 0, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_program_free(p);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (int k = 0; k < 4; k++) {
            char quoted[40], changed[1500];
            snprintf(quoted, sizeof quoted, "\"%s\": ", keys[i].key);
            const char *at = strstr(text, quoted), *value = at + strlen(quoted);
            size_t length = strcspn(value, ",}]");
            if (k == 3)
                snprintf(changed, sizeof changed, "%.*s\"_%s", (int)(at - text), text, at + 1);
            else
                snprintf(changed, sizeof changed, "%.*s%s%s", (int)(value - text), text,
                         k == 0   ? "[1]"
                         : k == 1 ? keys[i].beyond
                                  : "{}",
                         value + length);
            p = NULL;
            int rc = load(changed, 0, &p, &err);
            if ((rc >= 0) != (k == 3 && keys[i].may_lack) || (p != NULL) != (rc >= 0))
                fail_msg("%s, %d: %d: '%s' of %s", keys[i].key, k, rc, err.what, changed);
            rlt_program_free(p);
        }
}

/* One file, and its only step. The place is the second file. */
static void one_file_and_step(void **state)
{
    static const char *const files[] = {"a", "b"};
    rlt_read_options o = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    (void)state;
    for (uint32_t n = 0; n < 3; n++) {
        rlt_error err = {0};
        int rc = rlt_reader_deployment.read(files, n, &o, &p, &err);
        if (n == 1) {
            assert_int_not_equal(rc, RLT_EUSAGE);
            continue;
        }
        assert_int_equal(rc, RLT_EUSAGE);
        assert_string_equal(err.where, n ? "b" : "");
        assert_string_equal(err.what, n ? "a deployment has all ranks: expected one file, got 2"
                                        : "a deployment has all ranks: expected one file, got 0");
    }
    for (int first = -1; first < 2; first++) {
        rlt_error err = {0};
        o.first_step = first;
        o.last_step = 1;
        assert_int_equal(rlt_reader_deployment.read(files, 1, &o, &p, &err), RLT_ERANGE);
        assert_string_equal(err.where, "a");
        assert_string_equal(err.what, first == 1 ? "expected steps within the recorded 0:0, got 1:1"
                                                 : "expected steps within the recorded 0:0, got 0:1");
    }
}

/* Every figure of an operator counts in the hash, by which recordings are told apart. */
static void hashed(void **state)
{
    static const char *const figures[] = {"1, 0, 0, 0, 0", "1, 1, 0, 0, 0", "1, 0, 1, 0, 0",
                                          "1, 0, 0, 1, 0", "1, 0, 0, 0, 1", "2, 0, 0, 0, 0"};
    uint64_t hash[6];
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        unsigned time, launch, parameters, kept, pass;
        char text[1000];
        rlt_program *p = NULL;
        rlt_error err;
        assert_int_equal(sscanf(figures[i], "%u, %u, %u, %u, %u", &time, &launch, &parameters, &kept, &pass),
                         5);
        snprintf(text, sizeof text,
                 DEPLOYED("{\"devices\": [0], \"use\": \"model\"}",
                          "{\"name\": \"x\", \"group\": 0, \"time_ps\": %u, \"launch_ps\": %u, "
                          "\"parameter_bytes\": %u, \"kept_bytes\": %u, \"forward\": 0, \"pass\": %u, "
                          "\"splittable\": true}",
                          ""),
                 time, launch, parameters, kept, pass);
        if (load(text, 0, &p, &err))
            fail_msg("%s: %s: %s", figures[i], err.where, err.what);
        hash[i] = p->hash;
        rlt_program_free(p);
        for (uint32_t k = 0; k < i; k++)
            assert_true(hash[k] != hash[i]);
    }
}

/* The mark of a deployment may stand anywhere in what is read of a file, up to its end. */
static void recognised(void **state)
{
    static const char text[] = "{\"manifest\": {\"x\": 1, \"command\": \"deploy\"";
    (void)state;
    assert_int_equal(rlt_reader_deployment.probe("x.json", text, sizeof text - 1), 100);
    assert_int_equal(rlt_reader_deployment.probe("x.json", text, sizeof text - 2), 0);
    assert_int_equal(rlt_reader_deployment.probe("x.json", strchr(text, 'c') - 1, 19), 100);
    assert_int_equal(rlt_reader_deployment.probe("x.json", text, 0), 0);
}

/* A single device needs no bandwidth to others of its group; two do. */
static void alone(void **state)
{
    rlt_error err = {0};
    (void)state;
    for (uint32_t n = 1; n < 3; n++) {
        const rlt_device_group g = {.name = "g", .factor = 1, .memory_bytes = 1, .n = n};
        rlt_cluster c = {.name = "test"};
        assert_int_equal(rlt_cluster_add(&c, &g, &err), 0);
        assert_int_equal(rlt_cluster_ready(&c, &err), n == 1 ? 0 : RLT_EMALFORMED);
        rlt_cluster_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_devices), cmocka_unit_test(refused),
                                       cmocka_unit_test(members),     cmocka_unit_test(hashed),
                                       cmocka_unit_test(recognised),  cmocka_unit_test(one_file_and_step),
                                       cmocka_unit_test(alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
