/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files, plain and compressed, and files found by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/text/file.h"

#define N(a) (sizeof(a) / sizeof *(a))

static void write_file(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/rlt-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static char data[200000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 % 251); /* includes NULs */
    static const size_t lengths[] = {0, 1, 65535, 65536, 65537, sizeof data};
    for (size_t i = 0; i < N(lengths); i++) {
        size_t n = lengths[i], length = 99;
        char *text = NULL;
        write_file(path, data, n);
        rlt_input *in;
        assert_int_equal(rlt_input_open(path, &in, NULL), 0);
        assert_int_equal(rlt_input_size(in), n);
        rlt_input_close(in);
        errno = EINTR; /* what was interrupted before is not this file */
        assert_int_equal(rlt_read_file(path, n, &text, &length, NULL), 0); /* the limit itself is allowed */
        assert_int_equal(length, n);
        assert_memory_equal(text, data, n);
        assert_int_equal(text[n], 0);
        free(text);
        if (n > 0) {
            rlt_error err = {0};
            assert_int_equal(rlt_read_file(path, n - 1, &text, &length, &err), RLT_ERANGE);
            assert_null(text);
            assert_string_equal(err.where, path);
        }
        /* Standard input: the length is not known beforehand. */
        int saved = dup(STDIN_FILENO), file = open(path, O_RDONLY);
        dup2(file, STDIN_FILENO);
        close(file);
        int rc = rlt_read_file("-", sizeof data, &text, &length, NULL);
        dup2(saved, STDIN_FILENO);
        close(saved);
        assert_int_equal(rc, 0);
        assert_int_equal(length, n);
        assert_memory_equal(text, data, n);
        free(text);
    }
    remove(path);
    char *text;
    size_t length;
    rlt_error missing = {0}, directory = {0};
    assert_int_equal(rlt_read_file(path, 10, &text, &length, &missing), RLT_EIO);
    assert_string_equal(missing.where, path);
    assert_int_equal(rlt_read_file("/tmp", SIZE_MAX, &text, &length, &directory), RLT_EIO);
    assert_non_null(strstr(directory.what, "directory"));
    assert_int_equal(rlt_read_file("/dev/zero", 300000, &text, &length, NULL),
                     RLT_ERANGE); /* a file without end */
    assert_null(text);
}

static void *fill_pipe(void *ctx)
{
    int fd = *(int *)ctx;
    static char data[4096];
    memset(data, 'p', sizeof data);
    for (int i = 0; i < 100; i++)
        for (size_t done = 0; done < sizeof data;) {
            ssize_t n = write(fd, data + done, sizeof data - done);
            if (n < 0)
                return NULL;
            done += (size_t)n;
        }
    close(fd);
    return NULL;
}

static void zip_file(const char *path, const void *data, size_t length)
{
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)length), (int)length);
    assert_int_equal(gzclose(f), Z_OK);
}

/* Reads a file of at most `size` bytes with zlib. Returns -1 if it refuses the file. */
static int unzip(const char *path, char *data, size_t size)
{
    int n, sum = 0, code = Z_OK;
    gzFile f = gzopen(path, "rb");
    assert_non_null(f);
    while ((n = gzread(f, data + sum, (unsigned)(size - (size_t)sum))) > 0)
        sum += n;
    gzerror(f, &code);
    gzclose_r(f);
    return n < 0 || code != Z_OK ? -1 : sum;
}

/* Several members in a row, what may follow them, and every damage of one byte: what zlib reads and refuses. */
static void members(void **state)
{
    (void)state;
    enum { LENGTH = 4000 };
    char path[] = "/tmp/rlt-test-XXXXXX", *text = NULL;
    static char data[LENGTH], twin[4 * LENGTH], zipped[4 * LENGTH], file[8 * LENGTH];
    size_t length, n;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = (char)('a' + i * i / 7 % 23);
    zip_file(path, data, LENGTH);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(zipped, 1, sizeof zipped, f);
    fclose(f);
    assert_true(n < sizeof zipped / 2);
    static const char *const ends[] = {"", "x", "\x1f", "\x1f\x8b", "\x1f\x8b\x08", "more text"};
    for (size_t e = 0; e < N(ends); e++)
        for (size_t k = 1; k < 4; k++) {
            size_t end = strlen(ends[e]);
            for (size_t i = 0; i < k; i++)
                memcpy(file + i * n, zipped, n);
            memcpy(file + k * n, ends[e], end);
            write_file(path, file, k * n + end);
            int want = unzip(path, twin, sizeof twin),
                rc = rlt_read_file(path, 1 << 20, &text, &length, NULL);
            assert_int_equal(rc, want < 0 ? RLT_EMALFORMED : 0);
            if (rc == 0) {
                assert_int_equal(length, k * LENGTH);
                assert_int_equal(length, want);
                assert_memory_equal(text, twin, length);
            }
            free(text);
        }
    for (size_t i = 3; i < n; i++) {
        memcpy(file, zipped, n);
        file[i] = (char)(file[i] ^ 1 << i % 8);
        write_file(path, file, n);
        int want = unzip(path, twin, sizeof twin), rc = rlt_read_file(path, 1 << 20, &text, &length, NULL);
        if (rc != (want < 0 ? RLT_EMALFORMED : 0))
            fail_msg("byte %zu: zlib %d, here %d", i, want, rc);
        free(text);
    }
    remove(path);
}

/* Compression is recognised by content, not by name. Limits count inflated bytes. */
static void compressed(void **state)
{
    (void)state;
    enum { LENGTH = 300000 };
    char path[] = "/tmp/rlt-test-XXXXXX", head[8] = "", *text = NULL;
    static char data[LENGTH];
    size_t length;
    int fd = mkstemp(path);
    rlt_error err = {0};
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < LENGTH; i++)
        data[i] = (char)('a' + i % 20);
    zip_file(path, data, LENGTH);
    assert_int_equal(rlt_read_file(path, LENGTH, &text, &length, NULL), 0);
    assert_int_equal(length, LENGTH);
    assert_memory_equal(text, data, LENGTH);
    free(text);
    assert_int_equal(rlt_read_head(path, head, 4, &length, NULL), 0);
    assert_string_equal(head, "abcd");
    assert_int_equal(rlt_read_file(path, LENGTH - 1, &text, &length, &err), RLT_ERANGE);
    assert_null(text);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 6), 0); /* cut inside the checksum */
    err = (rlt_error){0};
    assert_int_equal(rlt_read_file(path, LENGTH, &text, &length, &err), RLT_EMALFORMED);
    assert_null(text);
    assert_non_null(strstr(err.what, "gzip"));
    remove(path);
}

static void names(void **state)
{
    (void)state;
    static const char *const endings[] = {".json", NULL};
    static const struct {
        const char *name;
        bool dirs;
        int code;
        const char *what;
    } unknown[] = {
        {"toros", true, RLT_ENAME, "no such file, and no shape of that name; did you mean 'torus'?"},
        {"rin", true, RLT_ENAME, "no such file, and no shape of that name; did you mean 'ring'?"},
        {"oru", true, RLT_ENAME, "no such file, and no shape of that name; did you mean 'torus'?"},
        {"something-else", true, RLT_ENAME, "no such file, and no shape of that name (a, b)"},
        {"toros.json", true, RLT_EIO, "no such file, and no shape of that name (a, b)"},
        {"./torus", true, RLT_EIO, "no such file"},
        {"torus", false, RLT_ENAME,
         "no such file, and no shape of that name: there are none in /no/such/folder"},
    };
    char dir[] = "/tmp/rlt-names-XXXXXX", path[256], dirs[256];
    rlt_found found;
    assert_non_null(mkdtemp(dir));
    static const char *const files[] = {"b/torus.json", "a/ring.json", "b/ring.json", "a/mesh.yml",
                                        "a/.x.json"};
    static const char *const folders[] = {"a", "b"};
    for (size_t i = 0; i < N(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < N(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        write_file(path, "{}", 2);
    }
    snprintf(dirs, sizeof dirs, "/no/such/folder:%s/a:%s/b", dir, dir);
    assert_true(rlt_find_file(dirs, "ring", path, sizeof path));
    assert_string_equal(path + strlen(dir), "/a/ring.json"); /* first directory that has it */
    assert_true(rlt_find_file(dirs, "torus", path, sizeof path));
    assert_string_equal(path + strlen(dir), "/b/torus.json");
    assert_true(rlt_find_file(dirs, "mesh", path, sizeof path));
    assert_false(rlt_find_file(dirs, "toros", path, sizeof path));
    assert_false(rlt_find_file(dirs, "ring", path, 12));
    assert_false(rlt_find_file(NULL, "ring", path, sizeof path));
    assert_false(rlt_find_file(dirs, "", path, sizeof path));
    for (size_t i = 0; i < N(unknown); i++) {
        rlt_error err = {0};
        assert_int_equal(rlt_find_fail(unknown[i].dirs ? dirs : "/no/such/folder", "shape", unknown[i].name,
                                       " (a, b)", &err),
                         unknown[i].code);
        assert_string_equal(err.where, unknown[i].name);
        assert_string_equal(err.what, unknown[i].what);
    }
    assert_int_equal(rlt_find_all(dirs, endings, &found, NULL), 0);
    assert_int_equal(found.n, 2);
    assert_string_equal(found.names[0], "ring");
    assert_string_equal(found.names[1], "torus");
    rlt_find_free(&found);
    for (size_t i = 0; i < N(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        remove(path);
    }
    for (size_t i = 0; i < N(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        rmdir(path);
    }
    rmdir(dir);
}

static void pipes(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fill_pipe, &ends[1]), 0);
    char *text;
    size_t length;
    int rc = rlt_read_file("-", 409600, &text, &length, NULL);
    pthread_join(thread, NULL);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_int_equal(rc, 0);
    assert_int_equal(length, 409600);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(text[i], 'p');
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),   cmocka_unit_test(pipes), cmocka_unit_test(compressed),
        cmocka_unit_test(members), cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
