/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clusters of unlike devices: what is refused, and where the limits are; that each figure changes the hash;
 * sums and bottlenecks of random placements; and clusters read from lists and files, as cluster.h says.
 */
#include "workload/deploy/cluster.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "net/import/import.h"
#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "test/support/text_file.h"

#define GB 1000000000ull

static rlt_error err;

/* Two groups of two devices. */
static rlt_cluster pair(void)
{
    rlt_cluster c = {.name = "pair"};
    const rlt_device_group g = {
        .name = "gpu", .factor = 1, .memory_bytes = 1000, .intra_Bps = 5 * GB, .n = 2};
    for (int i = 0; i < 2; i++)
        assert_int_equal(rlt_cluster_add(&c, &g, &err), 0);
    c.inter_Bps[0][1] = c.inter_Bps[1][0] = GB;
    return c;
}

static void expect(rlt_cluster *c, int code, const char *where, const char *what)
{
    err = (rlt_error){0};
    int rc = rlt_cluster_ready(c, &err);
    if (rc != code || strcmp(err.where, where) != 0 || strcmp(err.what, what) != 0)
        fail_msg("%d, expected %d: '%s': '%s', not '%s': '%s'", rc, code, err.where, err.what, where, what);
}

static void groups(void **state)
{
    static const double factors[] = {0, -1, NAN, 1000001};
    static const char *const said[] = {"0", "-1", "nan", "1e+06"};
    rlt_cluster c = pair();
    (void)state;
    c.groups[1].n = 0;
    expect(&c, RLT_EMALFORMED, "gpu", "the device group has no devices");
    for (int i = 0; i < 4; i++) {
        char what[80];
        c = pair();
        c.groups[1].factor = factors[i];
        snprintf(what, sizeof what, "expected a factor above 0, at most 1e6, got %s", said[i]);
        expect(&c, RLT_EMALFORMED, "gpu", what);
    }
    c = pair();
    c.groups[1].factor = 1e6;
    expect(&c, 0, "", "");
    c.groups[0].memory_bytes = 0;
    expect(&c, RLT_EMALFORMED, "gpu", "expected devices with memory, got 0 bytes");
    c = pair();
    c.groups[1].intra_Bps = 0;
    expect(&c, RLT_EMALFORMED, "gpu", "expected a bandwidth above 0 between the devices of the group");
    c.groups[1].n = 1;
    expect(&c, 0, "", "");
    c.inter_Bps[1][0] = 2 * GB;
    expect(&c, RLT_EMALFORMED, "gpu", "expected one bandwidth above 0 to and from device group 'gpu'");
    c.inter_Bps[1][0] = c.inter_Bps[0][1] = 0;
    expect(&c, RLT_EMALFORMED, "gpu", "expected one bandwidth above 0 to and from device group 'gpu'");
    c = (rlt_cluster){.name = "none"};
    expect(&c, RLT_EMALFORMED, "none", "the cluster has no device groups");
}

/* 8 groups, 1024 devices; devices are numbered group by group, and are their own ranks without a topology. */
static void numbers(void **state)
{
    rlt_device_group g = {.name = "g", .factor = 1, .memory_bytes = 1, .intra_Bps = 1, .n = 128};
    rlt_cluster c = {.name = "large"};
    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(rlt_cluster_add(&c, &g, &err), 0);
    err = (rlt_error){0};
    assert_int_equal(rlt_cluster_add(&c, &g, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected at most 8 device groups");
    for (int i = 0; i < 64; i++)
        c.inter_Bps[i / 8][i % 8] = 3;
    expect(&c, 0, "", "");
    assert_int_equal(c.n_devices, 1024);
    assert_int_equal(c.transfer_ps, 0);
    for (uint32_t d = 0; d < 1024; d++) {
        assert_int_equal(c.group_of[d], d / 128);
        assert_int_equal(c.rank_of[d], d);
    }
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(c.groups[i].first, 128 * i);
        assert_int_equal(c.inter_Bps[i][i], 1);
    }
    c.groups[3].n++;
    expect(&c, RLT_ERANGE, "large", "expected at most 1024 devices");
    g.name[0] = '\0';
    c.n_groups = 0;
    err = (rlt_error){0};
    assert_int_equal(rlt_cluster_add(&c, &g, &err), RLT_EMALFORMED);
    assert_string_equal(err.what, "expected a type of devices, got nothing");
}

static uint64_t hash(rlt_cluster *c)
{
    expect(c, 0, "", "");
    return c->hash;
}

static void each_figure_counts(void **state)
{
    rlt_cluster c = pair();
    const uint64_t own = hash(&c);
    (void)state;
    c = pair();
    snprintf(c.name, sizeof c.name, "another");
    assert_int_equal(hash(&c), own); /* a name changes no time */
    for (int i = 0; i < 12; i++) {
        c = pair();
        rlt_device_group *g = &c.groups[i % 2];
        switch (i / 2) {
        case 0:
            snprintf(g->name, sizeof g->name, "other");
            break;
        case 1:
            g->factor = 2;
            break;
        case 2:
            g->memory_bytes++;
            break;
        case 3:
            g->intra_Bps++;
            break;
        case 4:
            g->n++;
            break;
        default:
            c.inter_Bps[0][1] = c.inter_Bps[1][0] = 2 + (uint64_t)i;
            break;
        }
        assert_true(hash(&c) != own);
    }
    /* So does the accelerator of the last device. */
    c = pair();
    assert_int_equal(rlt_topology_load("switch:5@1GB/s,1us", NULL, &c.topology, &err), 0);
    for (uint32_t i = 0; i < 4; i++)
        c.rank_of[i] = i;
    assert_true(hash(&c) == own);
    c.rank_of[3] = 4;
    assert_true(hash(&c) != own && c.rank_of[3] == 4);
    rlt_cluster_free(&c);
}

/* The larger of two straight lines, in proportion to 2810 MB/s over the bottleneck. */
static void check_sum(rlt_cluster *c, uint32_t placement, uint64_t bytes, uint64_t bottleneck, dice *d)
{
    const double lines[] = {0, 0.001, 0.05, 0.3, 2};
    double us[2];
    for (int i = 0; i < 2; i++) {
        c->all_reduce.slope[i] = lines[below(d, 5)];
        c->all_reduce.base[i] = lines[below(d, 5)];
        us[i] = c->all_reduce.slope[i] * ((double)bytes / 1024) + c->all_reduce.base[i];
    }
    double ps = (us[0] > us[1] ? us[0] : us[1]) * 2810e6 / (double)bottleneck * 1e6;
    assert_true(fabs((double)rlt_cluster_all_reduce(c, placement, bytes) - ps) <= 0.5 + ps * 1e-15);
}

static void random_placements(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        dice d = {.seed = seed};
        rlt_cluster c = {.name = "random"};
        uint32_t n = 1 + below(&d, 5);
        for (uint32_t i = 0; i < n; i++) {
            rlt_device_group g = {.name = "g",
                                  .factor = 1,
                                  .memory_bytes = 1,
                                  .intra_Bps = 1 + roll(&d, 50),
                                  .n = 1 + below(&d, 4)};
            assert_int_equal(rlt_cluster_add(&c, &g, &err), 0);
            for (uint32_t k = 0; k < i; k++)
                c.inter_Bps[i][k] = c.inter_Bps[k][i] = 1 + roll(&d, 50);
        }
        expect(&c, 0, "", "");
        for (uint32_t p = 1; p < 1u << n; p++) {
            uint32_t devices = 0, only = 0, chosen = 0;
            uint64_t least = UINT64_MAX;
            for (uint32_t a = 0; a < c.n_devices; a++)
                devices += p >> c.group_of[a] & 1;
            for (uint32_t a = 0; a < n; a++) {
                chosen += p >> a & 1;
                only = p >> a & 1 ? a : only;
                for (uint32_t b = 0; b < n; b++)
                    if (a != b && (p >> a & 1) && (p >> b & 1) && c.inter_Bps[a][b] < least)
                        least = c.inter_Bps[a][b];
            }
            assert_int_equal(rlt_cluster_devices(&c, p), devices);
            least = chosen == 1 ? c.groups[only].intra_Bps : least;
            assert_int_equal(rlt_cluster_bottleneck(&c, p), least);
            check_sum(&c, p, roll(&d, 3) ? roll(&d, 100000) : 0, least, &d);
        }
    }
}

/* ---- lists ---- */

#define TWO_LEVELS "switch:4@8GB/s,0*switch:2@2GB/s,0"

static void lists(void **state)
{
    rlt_cluster c;
    (void)state;
    assert_int_equal(rlt_cluster_load(TWO_LEVELS, NULL, "v100:3,p100:2,1080ti:1,mine=1.3@24GiB:2", &c, &err),
                     0);
    static const struct {
        const char *name;
        double factor;
        uint64_t memory, intra_Bps;
        uint32_t first, n;
    } rows[] = {{"v100", 1, 30ull << 30, 8 * GB, 0, 3},
                {"p100", 1.5, 10ull << 30, 2 * GB, 3, 2},       /* one in each half */
                {"1080ti", 1.75, 9ull << 30, UINT64_MAX, 5, 1}, /* no other */
                {"mine", 1.3, 24ull << 30, 8 * GB, 6, 2}};
    static const uint64_t between[4][4] = {{8, 2, 2, 2}, {2, 2, 2, 2}, {2, 2, 0, 8}, {2, 2, 8, 8}};
    assert_int_equal(c.n_groups, 4);
    assert_int_equal(c.n_devices, 8);
    assert_int_equal(c.transfer_ps, 12000000);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(c.groups[i].name, rows[i].name);
        assert_true(fabs(c.groups[i].factor - rows[i].factor) < 1e-12);
        assert_int_equal(c.groups[i].memory_bytes, rows[i].memory);
        assert_int_equal(c.groups[i].intra_Bps, rows[i].intra_Bps);
        assert_int_equal(c.groups[i].first, rows[i].first);
        assert_int_equal(c.groups[i].n, rows[i].n);
        for (uint32_t k = 0; k < 4; k++)
            if (i != 2 || k != 2)
                assert_int_equal(c.inter_Bps[i][k], between[i][k] * GB);
    }
    for (uint32_t d = 0; d < 8; d++)
        assert_int_equal(c.rank_of[d], d);
    rlt_cluster_free(&c);
    assert_null(c.topology);
    /* What is stated last may be faster than all known ones. Nothing of a group stays for the next one. */
    assert_int_equal(rlt_cluster_load(TWO_LEVELS, NULL, "mine=0.25@24GiB:4,yours=0.75@1B:4", &c, &err), 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(c.groups[i].name, i ? "yours" : "mine");
        assert_true(fabs(c.groups[i].factor - (i ? 0.75 : 0.25)) < 1e-12);
        assert_int_equal(c.groups[i].memory_bytes, i ? 1 : 24ull << 30);
        assert_int_equal(c.groups[i].intra_Bps, 8 * GB);
    }
    rlt_cluster_free(&c);
}

static void wrong_lists(void **state)
{
    static const struct {
        const char *devices, *what;
    } rows[] = {
        {"v100", "expected TYPE:COUNT, such as v100:4, got 'v100'"},
        {"v100:", "expected TYPE:COUNT, such as v100:4, got 'v100:'"},
        {"v100:0", "expected TYPE:COUNT, such as v100:4, got 'v100:0'"},
        {"v100:1025", "expected TYPE:COUNT, such as v100:4, got 'v100:1025'"},
        {"v100:x", "expected TYPE:COUNT, such as v100:4, got 'v100:x'"},
        {"v100:1,", "expected TYPE:COUNT"},
        {"mine=1.3:8", "expected TYPE=FACTOR@MEMORY:COUNT, such as mine=1.3@24GiB:8"},
        {"v101:4",
         "unknown device type 'v101'; known are v100, p100, 1080ti; TYPE=FACTOR@MEMORY:COUNT states another"},
        {"mine=x@1GiB:1", "x"},
        {"mine=-1@1GiB:1", ""},
        {"mine=1@x:1", "x"},
        {"=1@1GiB:1", "expected a type of devices, got nothing"},
        {"v100:9", "9 devices, but 'switch:4@8GB/s,0*switch:2@2GB/s,0' has only 8 accelerators"},
        {"v100:4,p100:5", "9 devices, but"},
        {"v100:1,v100:1,v100:1,v100:1,v100:1,v100:1,v100:1,v100:1,v100:1",
         "expected at most 8 device groups"},
        {NULL, "is required: 'switch:4@8GB/s,0*switch:2@2GB/s,0' does not say which devices it has"},
    };
    rlt_cluster c;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err = (rlt_error){0};
        int rc = rlt_cluster_load(TWO_LEVELS, NULL, rows[i].devices, &c, &err);
        if (rc >= 0 || !strstr(err.what, rows[i].what))
            fail_msg("%s: %d: '%s', not '%s'", rows[i].devices, rc, err.what, rows[i].what);
        assert_null(c.topology);
    }
    err = (rlt_error){0};
    assert_int_equal(rlt_cluster_load("switch:1030@8GB/s,0", NULL, "v100:1024,p100:1", &c, &err), RLT_ERANGE);
    assert_string_equal(err.what, "expected at most 1024 devices");
    assert_int_equal(rlt_cluster_load("switch:1030@8GB/s,0", NULL, "v100:1024", &c, &err), 0);
    assert_int_equal(c.transfer_ps, 12000000);
    for (uint32_t d = 0; d < 1024; d++)
        assert_int_equal(c.rank_of[d], d);
    rlt_cluster_free(&c);
    err = (rlt_error){0};
    assert_int_equal(rlt_cluster_load("switch:9000@8GB/s,0", NULL,
                                      "v100:1024,v100:1024,v100:1024,v100:1024,v100:1024,v100:1024,v100:1024,"
                                      "v100:1024",
                                      &c, &err),
                     RLT_ERANGE);
    assert_string_equal(err.what, "expected at most 1024 devices");
}

/* As many groups as there may be, of one device each. */
static void eight_groups(void **state)
{
    rlt_cluster c;
    (void)state;
    assert_int_equal(rlt_cluster_load(TWO_LEVELS, NULL,
                                      "v100:1,v100:1,v100:1,v100:1,v100:1,v100:1,v100:1,v100:1", &c, &err),
                     0);
    assert_int_equal(c.n_groups, 8);
    assert_int_equal(c.n_devices, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(c.groups[i].first, i);
        assert_int_equal(c.groups[i].intra_Bps, UINT64_MAX);
        for (uint32_t k = 0; k < 8; k++)
            if (i != k)
                assert_int_equal(c.inter_Bps[i][k], (i / 4 == k / 4 ? 8 : 2) * GB);
    }
    rlt_cluster_free(&c);
}

/* ---- files ---- */

#define FILE_OF(devices)                                                                                     \
    "{\"dims\":[{\"shape\":\"switch\",\"size\":8,\"bandwidth\":\"4GB/s\",\"latency\":\"0\"}],"               \
    "\"_devices\":" devices "}"

static int load(const char *text, rlt_cluster *c)
{
    char path[] = "/tmp/ringlet-clusters-XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    err = (rlt_error){0};
    int rc = rlt_cluster_load(path, NULL, NULL, c, &err);
    unlink(path);
    return rc;
}

static void files(void **state)
{
    rlt_cluster c;
    (void)state;
    if (load(FILE_OF(
                 "{\"groups\":[{\"type\":\"p100\",\"count\":3},"
                 "{\"type\":\"mine\",\"count\":2,\"factor\":2.5,\"memory\":\"1GiB\",\"bandwidth\":\"9GB/s\"},"
                 "{\"type\":\"v100\",\"count\":3,\"factor\":0.9,\"memory\":\"2GiB\"}],"
                 "\"between\":\"1GB/s\",\"source\":\"a test\"}"),
             &c))
        fail_msg("%s: %s", err.where, err.what);
    static const double factors[] = {1.5, 2.5, 0.9};
    static const uint64_t memory[] = {10ull << 30, 1ull << 30, 2ull << 30};
    assert_int_equal(c.n_groups, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(fabs(c.groups[i].factor - factors[i]) < 1e-12);
        assert_int_equal(c.groups[i].memory_bytes, memory[i]);
        assert_int_equal(c.groups[i].n, i == 1 ? 2 : 3);
        assert_int_equal(c.groups[i].intra_Bps, i == 1 ? 9 * GB : 4 * GB);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(c.inter_Bps[i][k], i != k ? GB : c.groups[i].intra_Bps);
    }
    rlt_cluster_free(&c);
    assert_int_equal(
        load(FILE_OF("{\"groups\":[{\"type\":\"p100\",\"count\":1},{\"type\":\"v100\",\"count\":1}]}"), &c),
        0);
    assert_int_equal(c.inter_Bps[0][1], 4 * GB);
    assert_int_equal(c.inter_Bps[1][0], 4 * GB);
    rlt_cluster_free(&c);
}

static void wrong_files(void **state)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"{\"dims\":[{\"shape\":\"switch\",\"size\":8,\"bandwidth\":\"4GB/s\",\"latency\":\"0\"}]}",
         "does not say which devices it has"},
        {FILE_OF("{}"), "expected 'groups', a list of device groups"},
        {FILE_OF("{\"groups\":[],\"more\":1}"), "more"},
        {FILE_OF("{\"groups\":[]}"), "the cluster has no device groups"},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\",\"count\":0}]}"), "the device group has no devices"},
        {FILE_OF("{\"groups\":[{\"count\":1}]}"), "type"},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\"}]}"), "count"},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\",\"count\":1025}]}"), "1024"},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\",\"count\":1,\"n\":1}]}"), "n"},
        {FILE_OF("{\"groups\":[{\"type\":\"mine\",\"count\":1,\"memory\":\"1GiB\"}]}"), "factor"},
        {FILE_OF("{\"groups\":[{\"type\":\"mine\",\"count\":1,\"factor\":1}]}"), "memory"},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\",\"count\":1,\"bandwidth\":7}]}"), ""},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\",\"count\":1}],\"between\":7}"), ""},
        {FILE_OF("{\"groups\":[{\"type\":\"v100\",\"count\":9}]}"), "9 devices"},
    };
    rlt_cluster c;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = load(rows[i].text, &c);
        if (rc >= 0 || !strstr(err.what, rows[i].what))
            fail_msg("%s: %d: '%s', not '%s'", rows[i].text, rc, err.what, rows[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),
        cmocka_unit_test(numbers),
        cmocka_unit_test(each_figure_counts),
        cmocka_unit_test(random_placements),
        cmocka_unit_test(lists),
        cmocka_unit_test(wrong_lists),
        cmocka_unit_test(eight_groups),
        cmocka_unit_test(files),
        cmocka_unit_test(wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
