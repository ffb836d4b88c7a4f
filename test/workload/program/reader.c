/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of trace files: the rank in a name, which files of a folder are its trace, and what a file looks like. */
#include "workload/program/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "workload/program/program.h"

static void ranks_in_names(void **state)
{
    static const struct {
        const char *path;
        uint32_t rank;
    } rows[] = {
        {"dlrm.3.et", 3},
        {"dlrm.12.et.gz", 12},
        {"a/b/rank7.json", 7},
        {"worker10.json.gz", 10},
        {"GPU2.json", 2},
        {"npu0.et", 0},
        {"5.et", 5},
        {"trace-4.csv", 4},
        {"x_8.sqlite", 8},
        {"resnet50.et", RLT_NONE},
        {"trace.json", RLT_NONE},
        {"rank7a.json", RLT_NONE},
        {"a.1/trace.json", RLT_NONE},
        {"999999999.et", 999999999},
        {"1000000000.et", RLT_NONE},
        {"rank3", 3},
        {"frank3.json", 3},
        {"v1.2.et", 2},
        {"", RLT_NONE},
        {"007.et", 7},
        {"trace 9.json", 9},
        {"7.et.gz", 7},
        {"7.GZ", 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rlt_rank_in_name(rows[i].path) != rows[i].rank)
            fail_msg("%s: %u", rows[i].path, rlt_rank_in_name(rows[i].path));
}

/* A folder with empty files of these names, separated by spaces. */
static void make_folder(char *folder, const char *names)
{
    char text[600], path[200];
    assert_non_null(mkdtemp(folder));
    snprintf(text, sizeof text, "%s", names);
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
        snprintf(path, sizeof path, "%s/%s", folder, word);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
    }
}

static void remove_folder(const char *folder, const char *names)
{
    char text[600], path[200];
    snprintf(text, sizeof text, "%s", names);
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
        snprintf(path, sizeof path, "%s/%s", folder, word);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* Writes the names of the trace that `spec` stands for, without the folder. */
static int found_in(const char *folder, const char *spec, char *text, size_t size, rlt_error *err)
{
    const char *specs[] = {spec};
    char **paths;
    uint32_t n;
    size_t used = 0;
    text[0] = '\0';
    int rc = rlt_trace_files(specs, 1, &paths, &n, err);
    for (uint32_t i = 0; !rc && i < n; i++) {
        assert_int_equal(strncmp(paths[i], folder, strlen(folder)), 0);
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", paths[i] + strlen(folder) + 1);
    }
    free(paths);
    return rc;
}

static void files_of_folders(void **state)
{
    static const struct {
        const char *names, *trace, *ignored;
    } rows[] = {
        {"b.1.et a.0.et notes.txt", "a.0.et b.1.et", "notes.txt"},
        {"x.10.et x.9.et x.et", "x.9.et x.10.et x.et", NULL},
        {"t.0.et settings.json r.0.json", "t.0.et", "r.0.json, settings.json"},
        {"rank1.json rank0.json.gz log", "rank0.json.gz rank1.json", "log"},
        {"trace-0.csv trace-1.csv other.csv results.json", "trace-0.csv trace-1.csv",
         "other.csv, results.json"},
        {"TRACE-0.CSV", "TRACE-0.CSV", NULL},
        {"p_kernel_trace.csv p_hip_api_trace.csv q_hip_api_trace.csv", "p_kernel_trace.csv",
         "q_hip_api_trace.csv"},
        {"report.0.sqlite report.1.sqlite x.tar", "report.0.sqlite report.1.sqlite", "x.tar"},
        {"a.0.et .hidden.1.et", "a.0.et", NULL},
        {"one.json two.sqlite", "one.json", "two.sqlite"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[] = "/tmp/ringlet-traces-XXXXXX", with_slash[40], text[600], *ignored;
        const char *specs[] = {folder};
        rlt_error err = {0};
        uint32_t n;
        make_folder(folder, rows[i].names);
        if (found_in(folder, folder, text, sizeof text, &err) || strcmp(text, rows[i].trace) != 0)
            fail_msg("%s: %s, %s", rows[i].names, text, err.what);
        snprintf(with_slash, sizeof with_slash, "%s/", folder);
        assert_int_equal(found_in(folder, with_slash, text, sizeof text, &err), 0);
        assert_string_equal(text, rows[i].trace);
        assert_int_equal(rlt_trace_ignored(specs, 1, &ignored, &n, &err), 0);
        if (rows[i].ignored)
            assert_string_equal(ignored, rows[i].ignored);
        else
            assert_true(!ignored && n == 0);
        free(ignored);
        remove_folder(folder, rows[i].names);
    }
}

/* A folder of one letter below the working directory, and the working directory itself. */
static void near_folders(void **state)
{
    static const char *const specs[] = {"d", "d/", "job"};
    char folder[] = "/tmp/ringlet-traces-XXXXXX", **paths;
    int back = open(".", O_RDONLY);
    (void)state;
    make_folder(folder, "job.0.et");
    assert_true(back >= 0 && chdir(folder) == 0 && mkdir("d", 0700) == 0);
    assert_int_equal(rename("job.0.et", "d/a.0.et"), 0);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        rlt_error err = {0};
        uint32_t n;
        if (i == 2)
            assert_int_equal(rename("d/a.0.et", "job.0.et"), 0);
        if (rlt_trace_files(&specs[i], 1, &paths, &n, &err))
            fail_msg("%s: %s: %s", specs[i], err.where, err.what);
        assert_int_equal(n, 1);
        assert_string_equal(paths[0], i == 2 ? "job.0.et" : "d/a.0.et");
        free(paths);
    }
    assert_true(rmdir("d") == 0 && fchdir(back) == 0 && close(back) == 0);
    remove_folder(folder, "job.0.et");
}

static void prefixes(void **state)
{
    static const char names[] =
        "job.0.et job.1.et.gz job.2.json job.x.et job.3.etc jobs.0.et job.et job.4.sqlite job.5.csv";
    static const struct {
        const char *prefix, *trace; /* NULL: none */
    } rows[] = {{"job", "job.0.et job.1.et.gz"},
                {"jobs", "jobs.0.et"},
                {"jo", NULL},
                {"job.", NULL},
                {"job.4", NULL},
                {"", "job.0.et jobs.0.et job.1.et.gz job.et job.x.et"}};
    char folder[] = "/tmp/ringlet-traces-XXXXXX", spec[60], text[600];
    (void)state;
    make_folder(folder, names);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_error err = {0};
        snprintf(spec, sizeof spec, "%s/%s", folder, rows[i].prefix);
        int rc = found_in(folder, spec, text, sizeof text, &err);
        if (rc != (rows[i].trace ? 0 : RLT_EIO) || strcmp(text, rows[i].trace ? rows[i].trace : "") != 0)
            fail_msg("%s: %d: %s: %s", rows[i].prefix, rc, text, err.what);
        if (rc)
            assert_non_null(strstr(err.what, "no such file or directory, and no files "));
    }
    remove_folder(folder, names);
}

static void wrong_specs(void **state)
{
    static char longest[(1 << 14) + 2];
    const char *const specs[] = {"", longest, "/tmp/ringlet-none/trace", "/tmp/ringlet-none/"};
    static const char *const what[] = {"expected the name of a trace, got an empty name",
                                       "got a name longer than 16 KiB", "no such file or directory",
                                       "no such file or directory"};
    char folder[] = "/tmp/ringlet-traces-XXXXXX", **paths;
    uint32_t n;
    rlt_error err = {0};
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        err = (rlt_error){0};
        assert_int_equal(rlt_trace_files(&specs[i], 1, &paths, &n, &err), i < 2 ? RLT_EUSAGE : RLT_EIO);
        if (!strstr(err.what, what[i]) || paths || n)
            fail_msg("%zu: %s", i, err.what);
    }
    assert_int_equal(rlt_trace_files(NULL, 0, &paths, &n, &err), RLT_EUSAGE);
    make_folder(folder, "notes.txt");
    const char *one[] = {folder};
    err = (rlt_error){0};
    assert_int_equal(rlt_trace_files(one, 1, &paths, &n, &err), RLT_EIO);
    assert_non_null(strstr(err.what, "the directory has no trace files"));
    remove_folder(folder, "notes.txt");
}

/* A folder that cannot be opened, because no more files can be. */
static void unreadable_folder(void **state)
{
    char folder[] = "/tmp/ringlet-traces-XXXXXX", **paths;
    struct rlimit limit, none;
    uint32_t n;
    rlt_error err = {0};
    (void)state;
    make_folder(folder, "a.0.et");
    const char *one[] = {folder};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = rlt_trace_files(one, 1, &paths, &n, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(rc == RLT_EIO && !paths && n == 0);
    assert_string_equal(err.where, folder);
    assert_string_equal(err.what, "cannot read the directory: Too many open files");
    remove_folder(folder, "a.0.et");
}

/* What a file that no reader knows looks like. */
static void unknown_files(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        const char *what;
    } rows[] = {
        {"", 0, "it is empty"},
        {"{\"a\": 1}", 8, "it is JSON, but without traceEvents"},
        {" \n [1]", 6, "it is JSON, but without traceEvents"},
        {"<a/>", 4, "it looks like XML"},
        {"hello", 5, "it looks like plain text"},
        {"a\tb\n", 4, "it looks like plain text"},
        {"ab\x08", 3, "it is binary, but not length-prefixed Chakra nodes"},
        {"   ", 3, "it looks like plain text"},
        {"{\"schema\": \"1\", \"nodes\": [{\"name\": \"[pytorch|profiler|execution_graph|thread]\"}]}", 82,
         "it is a host execution trace of PyTorch, which gives sizes to a recording: --host-trace"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[] = "/tmp/ringlet-trace-XXXXXX";
        const rlt_reader *reader;
        rlt_error err = {0};
        test_write_new(path, rows[i].text, rows[i].length);
        assert_int_equal(rlt_reader_for(path, &reader, &err), RLT_EMALFORMED);
        assert_null(reader);
        if (!strstr(err.what, "no reader knows this format") || !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %s", i, err.what);
        unlink(path);
    }
}

/* Readers that cannot do what is asked for. */
static void what_a_reader_cannot(void **state)
{
    static const char goal[] = "num_ranks 2\nrank 0 {\nl1: calc 5\n}\nrank 1 {\nl1: calc 5\n}\n";
    char path[] = "/tmp/ringlet-trace-XXXXXX";
    const char *specs[] = {path};
    rlt_read_fold fold;
    rlt_read_options how = {.first_step = -1, .last_step = -1};
    rlt_program *p = NULL;
    rlt_error err = {0};
    (void)state;
    memset(&fold, 0, sizeof fold);
    test_write_new(path, goal, sizeof goal - 1);
    assert_int_equal(rlt_trace_read(specs, 1, &how, &p, &err), 0);
    assert_int_equal(p->n_ranks, 2);
    rlt_program_free(p);
    how.ideal = true;
    assert_int_equal(rlt_trace_read(specs, 1, &how, &p, &err), RLT_EUSAGE);
    assert_string_equal(err.what, "the goal reader cannot remove stragglers (--ideal)");
    assert_null(p);
    how.ideal = false;
    how.fold = &fold;
    err = (rlt_error){0};
    assert_int_equal(rlt_trace_read(specs, 1, &how, &p, &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "the goal reader cannot tell that ranks are identical (--fold)"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_names),       cmocka_unit_test(files_of_folders),
        cmocka_unit_test(near_folders),         cmocka_unit_test(prefixes),
        cmocka_unit_test(wrong_specs),          cmocka_unit_test(unknown_files),
        cmocka_unit_test(what_a_reader_cannot), cmocka_unit_test(unreadable_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
