/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading through zlib, which passes uncompressed files on as they are. */
#include "sim/text/inflate.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static int open_file(const char *path, gzFile *file, rlt_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return rlt_fail(err, RLT_EIO, path, "cannot open: %s", strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return rlt_fail(err, RLT_EIO, path, "is not a file");
    errno = 0;
    *file = gzopen(path, "rb");
    if (!*file)
        return rlt_fail(err, errno ? RLT_EIO : RLT_ENOMEM, path, "cannot open: %s",
                        errno ? strerror(errno) : "out of memory");
    return 0;
}

static int read_error(gzFile file, const char *path, rlt_error *err)
{
    int code = 0;
    const char *text = gzerror(file, &code);
    if (code == Z_ERRNO)
        return rlt_fail(err, RLT_EIO, path, "cannot read: %s", strerror(errno));
    return rlt_fail(err, RLT_EMALFORMED, path, "damaged gzip data: %s", text);
}

static int read_some(gzFile file, const char *path, char *buffer, size_t size, size_t *got, rlt_error *err)
{
    *got = 0;
    while (*got < size) {
        size_t left = size - *got;
        int n = gzread(file, buffer + *got, left > (1u << 30) ? 1u << 30 : (unsigned)left);
        int code = 0;
        gzerror(file, &code);
        if (n < 0 || (n == 0 && code != Z_OK && code != Z_STREAM_END))
            return read_error(file, path, err);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

int rlt__read_head(const char *path, char *buffer, size_t size, size_t *length, rlt_error *err)
{
    gzFile file = NULL;
    int rc = open_file(path, &file, err);
    if (rc < 0)
        return rc;
    rc = read_some(file, path, buffer, size, length, err);
    gzclose_r(file);
    return rc;
}

int rlt__read_inflated(const char *path, size_t max_bytes, char **text, size_t *length, rlt_error *err)
{
    *text = NULL;
    *length = 0;
    gzFile file = NULL;
    struct stat st;
    char *buffer = NULL;
    size_t capacity = 1 << 16, used = 0;
    int rc = open_file(path, &file, err);
    if (rc < 0)
        return rc;
    gzbuffer(file, 1 << 16);
    if (gzdirect(file) && stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uintmax_t)st.st_size > max_bytes) {
        gzclose_r(file);
        return rlt_fail(err, RLT_ERANGE, path, "longer than the limit of %zu bytes", max_bytes);
    }
    for (;;) {
        char *grown = realloc(buffer, capacity + 1);
        if (!grown) {
            rc = rlt_fail(err, RLT_ENOMEM, path, "no memory for a file of %zu bytes", capacity);
            break;
        }
        buffer = grown;
        size_t got = 0;
        rc = read_some(file, path, buffer + used, capacity - used, &got, err);
        used += got;
        if (rc == 0 && used > max_bytes)
            rc = rlt_fail(err, RLT_ERANGE, path, "longer than the limit of %zu bytes", max_bytes);
        if (rc < 0 || used < capacity)
            break;
        capacity = capacity > max_bytes / 2 ? max_bytes + 1 : capacity * 2;
    }
    gzclose_r(file);
    if (rc < 0) {
        free(buffer);
        return rc;
    }
    buffer[used] = '\0';
    *text = buffer;
    *length = used;
    return 0;
}

const char *rlt__inflate_version(void)
{
    return zlibVersion();
}
