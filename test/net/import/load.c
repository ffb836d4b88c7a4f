/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of topologies: a file, a name in a folder, written-out dimensions, standard input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "test/support/text_file.h"

static void loading(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *dir;
        int rc;
    } table[] = {
        {"hgx-h100-8", "topologies", 0},
        {"topologies/hgx-h100-8.json", NULL, 0},
        {"ring:4@1GB/s,1us", NULL, 0},
        {"hgx-h100-8", NULL, RLT_ENAME},
        {"no-such-network", "topologies", RLT_ENAME},
        {"../topologies/hgx-h100-8", "topologies", RLT_EIO},
        {"", "topologies", RLT_ENAME},
        {"topologies", NULL, RLT_EIO},
        {"Makefile", NULL, RLT_EMALFORMED},
        {"/dev/null", NULL, RLT_EMALFORMED},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rlt_topology *t = NULL;
        rlt_error err = {0};
        int rc = rlt_topology_load(table[i].spec, table[i].dir, &t, &err);
        if (rc != table[i].rc)
            fail_msg("'%s': expected %d, got %d: %s: %s", table[i].spec, table[i].rc, rc, err.where,
                     err.what);
        assert_int_equal(rc == 0, t != NULL);
        rlt_topology_free(t);
    }
}

/* The path of a file, or of a name in a folder; of what is no file there is none. */
static void paths_of_topologies(void **state)
{
    (void)state;
    static const char named[] = "topologies/hgx-h100-8.json";
    char path[256];
    assert_true(rlt_topology_path("Makefile", NULL, path, sizeof path));
    assert_string_equal(path, "Makefile");
    assert_true(rlt_topology_path("Makefile", NULL, path, sizeof "Makefile"));
    assert_false(rlt_topology_path("Makefile", NULL, path, sizeof "Makefile" - 1));
    assert_true(rlt_topology_path("hgx-h100-8", "topologies", path, sizeof path));
    assert_string_equal(path, named);
    static const char *const none[] = {"-", "no-such-network", "./hgx-h100-8", "ring:4@1GB/s,1us",
                                       "hgx-h100-8*hgx-h100-8"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(rlt_topology_path(none[i], "topologies", path, sizeof path));
}

/* Reads a topology that standard input holds. Returns 0 or a negative code. */
static int from_standard_input(const char *text, rlt_topology **out, rlt_error *err)
{
    char path[] = "/tmp/rlt-input-XXXXXX";
    test_write_new(path, text, strlen(text));
    assert_non_null(freopen(path, "r", stdin));
    unlink(path);
    return rlt_topology_load("-", "topologies", out, err);
}

/* "-" is standard input, also where a file has this name; no part of a product is. */
static void standard_input(void **state)
{
    static const char ring[] =
        "{\"dims\":[{\"shape\":\"ring\",\"size\":4,\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}]}";
    char folder[] = "/tmp/rlt-load-XXXXXX", before[4096], path[64];
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    FILE *other = fopen("-", "w");
    assert_non_null(other);
    fclose(other);
    assert_false(rlt_topology_path("-", NULL, path, sizeof path));
    int rc = from_standard_input(ring, &t, &err);
    unlink("-");
    assert_int_equal(chdir(before), 0);
    rmdir(folder);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_topology_accelerators(t), 4);
    rlt_topology_free(t);
    assert_int_equal(from_standard_input("{}", &t, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "standard input:1:1");
    assert_null(t);
    err = (rlt_error){0};
    assert_int_equal(from_standard_input("{\"dims\":[\"-\"]}", &t, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "standard input cannot be a part of a product");
}

/* Values are for machines in files: with written-out dimensions each is refused. */
static void values_with_written_out_dimensions(void **state)
{
    static const char ring[] = "ring:4@1GB/s,1us";
    rlt_import around[3] = {{0}};
    rlt_topology *t = NULL;
    (void)state;
    assert_int_equal(rlt_topology_import(ring, NULL, &around[1], &t, NULL), 0);
    rlt_topology_free(t);
    for (const rlt_param *p = rlt_import_parameters(); p->name; p++) {
        rlt_error err = {0};
        memset(around, 0, sizeof around);
        *(uint64_t *)(void *)((char *)&around[1] + p->offset) = 1;
        if (rlt_topology_import(ring, NULL, &around[1], &t, &err) != RLT_EUSAGE ||
            !strstr(err.what, "neither --set"))
            fail_msg("%s: %s", p->name, err.what);
        assert_null(t);
    }
    rlt_import graph = {.graph_text = "<graphs/>", .graph_length = 9, .graph_name = "g"};
    assert_int_equal(rlt_topology_import(ring, NULL, &graph, &t, NULL), RLT_EUSAGE);
}

/* A file is read whatever its name looks like. A product has the machines of its first factor: here pairs. */
static void a_file_with_a_strange_name(void **state)
{
    static const char machine[] =
        "{\"nodes\":[{\"id\":\"g\",\"count\":4,\"kind\":\"accelerator\"},{\"id\":\"s\",\"kind\":\"switch\"}],"
        "\"links\":[{\"src\":\"g0\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g1\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g2\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"},"
        "{\"src\":\"g3\",\"dst\":\"s\",\"bandwidth\":\"1GB/s\",\"latency\":\"1us\"}],\"node_size\":2}";
    char path[] = "/tmp/rlt-ring:4@1GB-XXXXXX", plain[] = "/tmp/rlt-machine-XXXXXX", product[80];
    rlt_topology *t = NULL;
    rlt_error err = {0};
    (void)state;
    test_write_new(path, machine, strlen(machine));
    int rc = rlt_topology_load(path, NULL, &t, &err);
    unlink(path);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_topology_node_size(t), 2);
    rlt_topology_free(t);
    test_write_new(plain, machine, strlen(machine));
    snprintf(product, sizeof product, "%s*switch:2@1GB/s,1us,nics=1", plain);
    rc = rlt_topology_load(product, NULL, &t, &err);
    unlink(plain);
    if (rc)
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(rlt_topology_accelerators(t), 8);
    assert_int_equal(rlt_topology_node_size(t), 2);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading),
        cmocka_unit_test(paths_of_topologies),
        cmocka_unit_test(standard_input),
        cmocka_unit_test(values_with_written_out_dimensions),
        cmocka_unit_test(a_file_with_a_strange_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
