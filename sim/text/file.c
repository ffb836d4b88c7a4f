/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads through zlib, which passes uncompressed files on unchanged. */
#include "sim/text/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 16 };

typedef struct source {
    gzFile file;
    const char *where;   /* name of the file in messages */
    uint64_t size_bytes; /* size on disk of a regular file; otherwise 0 */
} source;

static int io_error(const char *where, const char *verb, int number, rlt_error *err)
{
    char text[256];
    if (strerror_r(number, text, sizeof text) != 0)
        return rlt_fail(err, RLT_EIO, where, "cannot %s: error %d", verb, number);
    return rlt_fail(err, RLT_EIO, where, "cannot %s: %s", verb, text);
}

static int open_source(const char *path, source *s, rlt_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct stat st;
    *s = (source){.where = is_stdin ? "standard input" : path};
    int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return io_error(s->where, "open", errno, err);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        s->size_bytes = (uint64_t)st.st_size;
    s->file = gzdopen(fd, "rb");
    if (s->file)
        return 0;
    close(fd);
    return rlt_nomem(err);
}

/* Fills buffer[0..size), or less at the end of the source. */
static int read_some(const source *s, char *buffer, size_t size, size_t *got, rlt_error *err)
{
    *got = 0;
    while (*got < size) {
        size_t left = size - *got;
        int n = gzread(s->file, buffer + *got, left > (1u << 30) ? 1u << 30 : (unsigned)left);
        int code = 0, number = errno;
        const char *text = gzerror(s->file, &code);
        if (code == Z_ERRNO)
            return io_error(s->where, "read", number, err);
        if (code == Z_MEM_ERROR)
            return rlt_fail(err, RLT_ENOMEM, s->where, "no memory to decompress the file");
        if (n < 0 || (n == 0 && code != Z_OK && code != Z_STREAM_END))
            return rlt_fail(err, RLT_EMALFORMED, s->where, "damaged gzip data: %s", text);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

int rlt_read_head(const char *path, char *buffer, size_t size, size_t *length, rlt_error *err)
{
    source s;
    *length = 0;
    int rc = open_source(path, &s, err);
    if (rc < 0)
        return rc;
    rc = read_some(&s, buffer, size, length, err);
    gzclose_r(s.file);
    return rc;
}

/* Reads to the end. The buffer has one byte to spare, for the NUL and to notice data past the limit. */
static int read_all(const source *s, size_t max_bytes, size_t capacity, char **text, size_t *length,
                    rlt_error *err)
{
    for (;;) {
        size_t got;
        char *grown = realloc(*text, capacity + 1);
        if (!grown)
            return rlt_fail(err, RLT_ENOMEM, s->where, "no memory for a file of %zu bytes", capacity);
        *text = grown;
        int rc = read_some(s, *text + *length, capacity - *length, &got, err);
        *length += got;
        if (rc == 0 && *length > max_bytes)
            rc = rlt_fail(err, RLT_ERANGE, s->where, "longer than the limit of %zu bytes", max_bytes);
        if (rc < 0 || *length < capacity)
            return rc;
        capacity = capacity > max_bytes / 2 ? max_bytes + 1 : capacity * 2;
    }
}

int rlt_read_file(const char *path, size_t max_bytes, char **text, size_t *length, rlt_error *err)
{
    source s;
    size_t guess = CHUNK;
    *text = NULL;
    *length = 0;
    if (max_bytes > SIZE_MAX / 4)
        max_bytes = SIZE_MAX / 4;
    int rc = open_source(path, &s, err);
    if (rc < 0)
        return rc;
    gzbuffer(s.file, CHUNK);
    bool whole = s.size_bytes && gzdirect(s.file);
    if (whole && s.size_bytes > max_bytes)
        rc = rlt_fail(err, RLT_ERANGE, s.where, "longer than the limit of %zu bytes", max_bytes);
    if (whole)
        guess = (size_t)s.size_bytes + 1; /* one more, so that the end is seen without growing */
    if (rc == 0)
        rc = read_all(&s, max_bytes, guess < max_bytes + 1 ? guess : max_bytes + 1, text, length, err);
    gzclose_r(s.file);
    if (rc < 0) {
        free(*text);
        *text = NULL;
        *length = 0;
        return rc;
    }
    (*text)[*length] = '\0';
    return 0;
}

const char *rlt_zlib_version(void)
{
    return zlibVersion();
}
