/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where inputs are looked for, and how traces are read, as workload/setup/locate.h and trace_options.h promise: folders
 * in their order, in a folder of the test; every word of --steps, --replicate and --rescale, and what is refused.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/models/accelerator.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/setup/locate.h"
#include "workload/setup/trace_options.h"

/* ---- folders ---- */

static const struct {
    rlt_data_kind kind;
    const char *name, *source;
} kinds[] = {
    {RLT_DATA_TOPOLOGIES, "topologies", "topologies"},
    {RLT_DATA_ACCELERATORS, "accelerators", "workload/accelerators"},
    {RLT_DATA_STACKS, "stacks", "workload/stacks"},
    {RLT_DATA_DISPATCHERS, "dispatchers", "workload/dispatchers"},
    {RLT_DATA_TRACES, "traces", "traces"},
    {RLT_DATA_STUDIES, "studies", "tools/sweep/examples"},
    {RLT_DATA_WEIGHTS, "weights", "tools/deploy/policy"},
    {RLT_DATA_MEASURED, "measured", "tools/calibrate/training"},
};

/* The folder above that of this program. */
static void prefix_of(char out[4096])
{
    ssize_t n = readlink("/proc/self/exe", out, 4095);
    assert_true(n > 0);
    out[n] = '\0';
    for (int up = 0; up < 2; up++)
        *strrchr(out, '/') = '\0';
}

static void folders_in_their_order(void **state)
{
    char prefix[4096];
    (void)state;
    prefix_of(prefix);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int asked = 0; asked < 3; asked++) {
            char list[20000];
            rlt_dirs dirs;
            const char *name = kinds[i].name, *source = kinds[i].source;
            assert_string_equal(rlt_data_name(kinds[i].kind), name);
            if (asked == 0)
                unsetenv("RINGLET_DATA");
            else /* empty ones are none; the same folder is looked at once */
                setenv("RINGLET_DATA", asked == 1 ? "/one::two/three:/one" : "::", 1);
            snprintf(list, sizeof list, "%s%s%s%s%s%s:%s/%s:%s/share/ringlet/%s:", asked == 1 ? "/one/" : "",
                     asked == 1 ? name : "", asked == 1 ? ":two/three/" : "", asked == 1 ? name : "",
                     asked == 1 ? ":" : "", source, prefix, source, prefix, name);
            dirs = rlt_data_dirs(kinds[i].kind);
            assert_int_equal(strncmp(dirs.list, list, strlen(list)), 0);
            /* The last one is where the library was installed. */
            const char *last = dirs.list + strlen(list);
            assert_null(strchr(last, ':'));
            assert_true(strlen(last) > strlen(name) && strcmp(last + strlen(last) - strlen(name), name) == 0);
        }
    unsetenv("RINGLET_DATA");
    assert_string_equal(rlt_topology_dirs().list, rlt_data_dirs(RLT_DATA_TOPOLOGIES).list);
    assert_string_equal(rlt_accelerator_dirs().list, rlt_data_dirs(RLT_DATA_ACCELERATORS).list);
}

/* Folders of any length: each that is not listed yet is added, unless it takes 8192 bytes with its end, or the list
 * would not fit into its room. */
static void folders_that_fit(void **state)
{
    enum { ROOM = sizeof((rlt_dirs){""}).list, LONGEST = 2 * PATH_MAX };
    static const uint32_t lengths[] = {1, 20, 3000, LONGEST - 13, LONGEST - 12, LONGEST - 11, LONGEST};
    static char asked[12 * LONGEST], want[ROOM], prefix[4096], items[20][LONGEST + 20];
    uint32_t brims = 0;
    (void)state;
    prefix_of(prefix);
    unsetenv("RINGLET_DATA");
    const char *last = strrchr(rlt_topology_dirs().list, ':') + 1;
    for (uint64_t seed = 0; seed < 200; seed++) {
        dice d = {.seed = seed};
        uint32_t n = 1 + below(&d, 8), k = 0;
        size_t used = 0, at = 0;
        bool full = seed % 2; /* the last one has all of the room, or a byte more or less */
        n = full ? 5 : n;
        for (uint32_t i = 0; i < n; i++) {
            static const uint32_t filling[] = {8000, 8000, 8000, 7000};
            size_t length = full ? filling[i % 4] : lengths[below(&d, 7)] + below(&d, 3);
            if (full && i == 4) /* "/topologies" each, and colons */
                length = ROOM - (3 * 8000 + 7000 + 5 * strlen("/topologies") + 4) - 2 + below(&d, 3);
            memset(asked + at, 'a' + (int)below(&d, 3), length);
            asked[at] = (char)('0' + i);
            snprintf(items[k++], sizeof items[0], "%.*s/topologies", (int)length, asked + at);
            at += length;
            asked[at++] = ':';
        }
        asked[at ? at - 1 : 0] = '\0';
        snprintf(items[k++], sizeof items[0], "topologies");
        snprintf(items[k++], sizeof items[0], "%s/topologies", prefix);
        snprintf(items[k++], sizeof items[0], "%s/share/ringlet/topologies", prefix);
        snprintf(items[k++], sizeof items[0], "%s", last);
        want[0] = '\0';
        for (uint32_t i = 0; i < k; i++) {
            size_t length = strlen(items[i]);
            if (length + 1 > LONGEST || used + (used > 0) + length + 1 > ROOM)
                continue;
            used += (size_t)snprintf(want + used, ROOM - used, "%s%s", used ? ":" : "", items[i]);
        }
        setenv("RINGLET_DATA", asked, 1);
        rlt_dirs got = rlt_topology_dirs();
        if (strcmp(got.list, want) != 0)
            fail_msg("seed %u: %zu bytes, not %zu", (unsigned)seed, strlen(got.list), used);
        brims += used == ROOM - 1;
    }
    assert_true(brims > 0);
    unsetenv("RINGLET_DATA");
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

/* In a folder of its own: a file here is taken as it is, a folder does not hide a shipped name, and what has a slash is
 * a path. */
static void names_and_paths(void **state)
{
    static const struct {
        const char *spec, *path; /* below the folder of the test; NULL: none */
        int rc;
        const char *what;
    } rows[] = {
        {"shipped", "data/studies/shipped.json", 0, NULL},
        {"here.json", "here.json", 0, NULL},
        {"both", "data/studies/both.json", 0, NULL}, /* a folder of that name is here */
        {"folder", "folder", 0, NULL},               /* no study of that name is there */
        {"-", "-", 0, NULL},
        {"data/studies/shipped.json", "data/studies/shipped.json", 0, NULL},
        {"shiped", NULL, RLT_ENAME, "did you mean 'shipped'?"},
        {"data/none.json", NULL, RLT_EIO, "no such file"},
    };
    char folder[] = "/tmp/ringlet-inputs-XXXXXX", back[4096], data[100];
    (void)state;
    assert_non_null(getcwd(back, sizeof back));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    snprintf(data, sizeof data, "%s/data", folder);
    assert_true(mkdir("data", 0700) == 0 && mkdir("data/studies", 0700) == 0 && mkdir("both", 0700) == 0 &&
                mkdir("folder", 0700) == 0);
    put("data/studies/shipped.json", "{}");
    put("data/studies/both.json", "{}");
    put("here.json", "{}");
    put("data/studies/here.json", "{}"); /* the one here comes first */
    setenv("RINGLET_DATA", data, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[4096] = "", expected[4096];
        rlt_error err = {0};
        int rc = rlt_study_path(rows[i].spec, path, sizeof path, &err);
        if (rc != rows[i].rc || (rows[i].what && !strstr(err.what, rows[i].what)))
            fail_msg("%s: %d (%s)", rows[i].spec, rc, err.what);
        if (rc)
            continue;
        snprintf(expected, sizeof expected, "%s/%s", folder, rows[i].path);
        if (strcmp(path, rows[i].path) != 0)
            assert_string_equal(path, expected);
    }
    for (size_t size = strlen("here.json"); size < 12; size++) { /* with its end, it takes 10 bytes */
        char room[12];
        rlt_error why = {0};
        assert_int_equal(rlt_study_path("here.json", room, size, &why), size < 10 ? RLT_EIO : 0);
    }
    rlt_error err = {0};
    char path[4096];
    assert_int_equal(rlt_weights_path("shipped", path, sizeof path, &err), RLT_ENAME); /* another kind */
    assert_int_equal(rlt_names_path("here.json", path, sizeof path, &err), 0);
    unsetenv("RINGLET_DATA");
    assert_int_equal(chdir(back), 0);
    static const char *const made[] = {"data/studies/shipped.json",
                                       "data/studies/both.json",
                                       "data/studies/here.json",
                                       "here.json",
                                       "data/studies",
                                       "data",
                                       "both",
                                       "folder",
                                       ""};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        assert_int_equal(remove(path), 0);
    }
}

/* A shipped trace by its name; files, several, and what may be a file are left to the readers. */
static void traces_by_name(void **state)
{
    static const char *const one[] = {"transformer-8"}, *const folder[] = {"traces/transformer-8"},
                             *const wrong[] = {"transformer-9"}, *const file[] = {"transformer-8.json"},
                             *const two[] = {"transformer-8", "transformer-16"};
    rlt_read_options how = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL, *q = NULL;
    rlt_error err = {0};
    char **paths = NULL;
    uint32_t n = 0;
    (void)state;
    assert_int_equal(rlt_find_trace(one, 1, &how, &p, &err), 0);
    assert_int_equal(rlt_find_trace(folder, 1, &how, &q, &err), 0);
    assert_int_equal(p->n_ranks, 8);
    assert_int_equal(p->n_ops, q->n_ops);
    assert_int_equal(p->hash, q->hash);
    rlt_program_free(p);
    rlt_program_free(q);
    assert_int_equal(rlt_find_trace_files(one, 1, &paths, &n, &err), 0);
    assert_int_equal(n, 8);
    assert_non_null(strstr(paths[0], "traces/transformer-8"));
    free(paths);
    assert_int_equal(rlt_find_trace_files(wrong, 1, &paths, &n, &err), RLT_ENAME);
    assert_string_equal(err.where, "transformer-9");
    assert_non_null(strstr(err.what, "no trace of that name; did you mean 'transformer-8'?"));
    err = (rlt_error){0};
    assert_int_equal(rlt_find_trace(file, 1, &how, &p, &err), RLT_EIO);
    assert_int_equal(rlt_find_trace(two, 2, &how, &p, &err), RLT_EIO);
}

/* A file, a folder or a prefix here hides the shipped trace of that name, even a folder without traces. */
static void traces_here(void **state)
{
    static const char goal[] = "num_ranks 1\nrank 0 {\nl1: calc 5\n}\n";
    static const char *const made[] = {
        "data/traces/file", "data/traces/folder", "data/traces/pre", "data/traces/free", "file", "pre.0.et",
        "pre.1.et"};
    static const struct {
        const char *spec, *path;
        int rc;
        uint32_t n;
    } rows[] = {{"file", "file", 0, 1},
                {"folder", NULL, RLT_EIO, 0},
                {"pre", "pre.0.et", 0, 2},
                {"free", "/data/traces/free", 0, 1}};
    char folder[] = "/tmp/ringlet-inputs-XXXXXX", back[4096], data[100], longest[NAME_MAX + 1], name[300];
    (void)state;
    memset(longest, 'l', NAME_MAX);
    longest[NAME_MAX] = '\0';
    snprintf(name, sizeof name, "data/traces/%s", longest);
    assert_non_null(getcwd(back, sizeof back));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    snprintf(data, sizeof data, "%s/data", folder);
    assert_true(mkdir("data", 0700) == 0 && mkdir("data/traces", 0700) == 0 && mkdir("folder", 0700) == 0);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        put(made[i], goal);
    put(name, goal);
    setenv("RINGLET_DATA", data, 1);
    for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
        bool last = i == sizeof rows / sizeof *rows;
        const char *spec = last ? longest : rows[i].spec, *path = last ? longest : rows[i].path;
        char **paths = NULL;
        uint32_t n = 0;
        rlt_error err = {0};
        int rc = rlt_find_trace_files(&spec, 1, &paths, &n, &err);
        if (rc != (last ? 0 : rows[i].rc) ||
            (!rc && (n != (last ? 1 : rows[i].n) || !strstr(paths[0], path))))
            fail_msg("%s: %d, %u files: %s", spec, rc, n, err.what);
        if (!rc)
            assert_int_equal(paths[0][0] == '/', last || rows[i].path[0] == '/');
        free(paths);
    }
    unsetenv("RINGLET_DATA");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        assert_int_equal(remove(made[i]), 0);
    assert_true(remove(name) == 0 && remove("data/traces") == 0 && remove("data") == 0 &&
                remove("folder") == 0);
    assert_int_equal(chdir(back), 0);
    assert_int_equal(remove(folder), 0);
}

static void networks_by_name(void **state)
{
    rlt_topology *t = NULL;
    rlt_accelerator a;
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_find_topology("switch:4@1GB/s,1us", &t, &err), 0);
    assert_int_equal(rlt_topology_accelerators(t), 4);
    rlt_topology_free(t);
    assert_int_equal(rlt_find_topology("hgx-h100-8", &t, &err), 0);
    assert_int_equal(rlt_topology_accelerators(t), 8);
    rlt_topology_free(t);
    t = NULL;
    assert_true(rlt_find_topology("hgx-h100-9", &t, &err) < 0 && !t);
    static const char stated[] =
        "{\"dims\":[{\"shape\":\"switch\",\"size\":8,\"bandwidth\":\"4GB/s\",\"latency\":\"0\"}],"
        "\"auto\":{\"all_reduce\":\"rinng\"}}";
    char path[] = "/tmp/ringlet-stated-XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0 && close(fd) == 0);
    put(path, stated);
    err = (rlt_error){0};
    assert_int_equal(rlt_find_topology(path, &t, &err), RLT_ESCHEMA);
    assert_non_null(strstr(err.where, "auto.all_reduce"));
    assert_null(t);
    assert_int_equal(unlink(path), 0);
    err = (rlt_error){0};
    assert_int_equal(rlt_find_accelerator("h100-sxm", &a, &err), 0);
    assert_string_equal(a.name, "h100-sxm");
    assert_true(rlt_find_accelerator("h100-sxn", &a, &err) < 0);
}

/* ---- traces ---- */

static int read_options(rlt_trace_settings s, const char *const *replicate, uint32_t n, rlt_read_options *out,
                        rlt_replicate **list, rlt_error *err)
{
    const char *items[4];
    for (uint32_t i = 0; i < n; i++)
        items[i] = replicate[i];
    s.replicate = (rlt_texts){.items = items, .n = n, .capacity = 4};
    *err = (rlt_error){0};
    return rlt_trace_read_options(&s, out, list, err);
}

static void what_is_not_said(void **state)
{
    rlt_read_options o;
    rlt_replicate *list = NULL;
    rlt_error err;
    (void)state;
    assert_int_equal(read_options((rlt_trace_settings){.ideal = false}, NULL, 0, &o, &list, &err), 0);
    assert_true(o.first_step == -1 && o.last_step == -1 && !o.ideal && !o.n_ranks && !o.n_replicate);
    assert_null(o.host_trace_dir);
    assert_null(o.step_mark);
    assert_ptr_equal(o.replicate, list);
    free(list);
    assert_int_equal(
        read_options(
            (rlt_trace_settings){.ideal = true, .host_trace = "host", .step_mark = "mark", .trace_ranks = 12},
            NULL, 0, &o, &list, &err),
        0);
    assert_true(o.ideal && o.n_ranks == 12);
    assert_string_equal(o.host_trace_dir, "host");
    assert_string_equal(o.step_mark, "mark");
    free(list);
}

static void steps_in_words(void **state)
{
    static const struct {
        const char *text;
        int first, last; /* -1: refused */
    } rows[] = {
        {"0", 0, 0},
        {"7", 7, 7},
        {"2:5", 2, 5},
        {"3:3", 3, 3},
        {"5:2", -1, -1},
        {"0:2147483647", 0, 2147483647},
        {"2147483648", -1, -1},
        {"", -1, -1},
        {":", -1, -1},
        {"2:", -1, -1},
        {":2", -1, -1},
        {"1:2:3", -1, -1},
        {"-1", -1, -1},
        {"one", -1, -1},
        {"00000000001:00000000002", 1, 2},    /* 23 characters */
        {"000000000001:00000000002", -1, -1}, /* 24 are no range */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_read_options o;
        rlt_replicate *list = NULL;
        rlt_error err;
        int rc = read_options((rlt_trace_settings){.steps = rows[i].text}, NULL, 0, &o, &list, &err);
        if (rc != (rows[i].first < 0 ? RLT_EUSAGE : 0))
            fail_msg("%s: %d", rows[i].text, rc);
        if (rc) {
            char what[100];
            snprintf(what, sizeof what, "expected a step or a range such as 2:5, got '%s'", rows[i].text);
            assert_string_equal(err.what, what);
            assert_string_equal(err.where, "--steps");
            assert_null(list);
            continue;
        }
        assert_true(o.first_step == rows[i].first && o.last_step == rows[i].last);
        free(list);
    }
}

static void replicas_in_words(void **state)
{
    static const char *const good[] = {"1=0", "all=3", "2097151=7"};
    static const char *const wrong[] = {"",         "1",     "=1",   "1=",          "some=1",
                                        "all=some", "1=2=3", "-1=0", "4294967296=0"};
    rlt_read_options o;
    rlt_replicate *list = NULL;
    rlt_error err;
    (void)state;
    assert_int_equal(read_options((rlt_trace_settings){.ideal = false}, good, 2, &o, &list, &err), 0);
    assert_int_equal(o.n_replicate, 2);
    assert_ptr_equal(o.replicate, list);
    assert_true(list[0].rank == 1 && list[0].from == 0 && list[1].rank == RLT_NONE && list[1].from == 3);
    free(list);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const both[] = {good[0], wrong[i]};
        char what[100];
        assert_int_equal(read_options((rlt_trace_settings){.ideal = false}, both, 2, &o, &list, &err),
                         RLT_EUSAGE);
        snprintf(what, sizeof what, "expected RANK=FROM or all=FROM, got '%s'", wrong[i]);
        assert_string_equal(err.what, what);
        assert_string_equal(err.where, "--replicate");
        assert_null(list);
    }
    /* The number of ranks is the limit. */
    for (int far = 0; far < 4; far++) {
        char text[60];
        const char *const only[] = {text};
        snprintf(text, sizeof text, "%u=%u", far & 1 ? RLT_MAX_RANKS : RLT_MAX_RANKS - 1,
                 far & 2 ? RLT_MAX_RANKS : RLT_MAX_RANKS - 1);
        assert_int_equal(read_options((rlt_trace_settings){.ideal = false}, only, 1, &o, &list, &err),
                         far ? RLT_EUSAGE : 0);
        free(list);
    }
}

static void scales_in_words(void **state)
{
    static const struct {
        const char *texts[2];
        uint32_t ranks; /* 0: refused */
    } rows[] = {
        {{NULL, NULL}, 8},       {{"@8=16", NULL}, 16},
        {{"@8=16", "@16=4"}, 4}, {{"@8=1", NULL}, 0},
        {{"@8=2", NULL}, 2},     {{"@8", NULL}, 0},
        {{"=2", NULL}, 0},       {{"@8=", NULL}, 0},
        {{"@8=two", NULL}, 0},   {{"@8=99999999999", NULL}, 0},
    };
    static const char *const spec[] = {"traces/transformer-8"};
    const rlt_read_options how = {.first_step = -1, .last_step = -1};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_program *p = NULL;
        rlt_error err = {0};
        const char *items[2] = {rows[i].texts[0], rows[i].texts[1]};
        rlt_trace_settings s = {.rescale = {.items = items,
                                            .n = items[1]   ? 2u
                                                 : items[0] ? 1u
                                                            : 0u,
                                            .capacity = 2}};
        assert_int_equal(rlt_trace_read(spec, 1, &how, &p, &err), 0);
        int rc = rlt_trace_rescale(&s, &p, &err);
        if (rc != (rows[i].ranks ? 0 : RLT_EUSAGE))
            fail_msg("%s: %d, %s: %s", items[0], rc, err.where, err.what);
        assert_int_equal(p->n_ranks, rc ? 8 : rows[i].ranks);
        if (rc) {
            char what[100];
            snprintf(what, sizeof what, "expected GROUP=M or @SIZE=M, M at least 2, got '%s'", items[0]);
            assert_string_equal(err.what, what);
            assert_string_equal(err.where, "--rescale");
        }
        rlt_program_free(p);
    }
}

static void dimensions_of_networks(void **state)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    rlt_read_options o = {.n_dims = 0};
    (void)state;
    assert_int_equal(
        rlt_topology_load("ring:4@1GB/s,0ns*switch:3@1GB/s,0ns*switch:2@1GB/s,0ns", NULL, &t, &err), 0);
    rlt_trace_dimensions(t, &o);
    assert_true(o.n_dims == 3 && o.dims[0] == 4 && o.dims[1] == 3 && o.dims[2] == 2);
    rlt_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_in_their_order),
        cmocka_unit_test(folders_that_fit),
        cmocka_unit_test(names_and_paths),
        cmocka_unit_test(traces_by_name),
        cmocka_unit_test(traces_here),
        cmocka_unit_test(networks_by_name),
        cmocka_unit_test(what_is_not_said),
        cmocka_unit_test(steps_in_words),
        cmocka_unit_test(replicas_in_words),
        cmocka_unit_test(scales_in_words),
        cmocka_unit_test(dimensions_of_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
