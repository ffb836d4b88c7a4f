/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files, inflated if they begin like gzip. ISA-L inflates faster than zlib and replaces it where it is
 * installed. Both read several members in a row and ignore what follows the last one.
 */
#include "sim/text/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef RLT_WITH_ISAL
#include <isa-l.h>
#else
#include <zlib.h>
#endif

#include "sim/base/error.h"

enum { BLOCK = 1 << 17, CHUNK = 1 << 16 };

#ifdef RLT_WITH_ISAL
typedef struct inflate_state inflater;
#else
typedef z_stream inflater;
#endif

struct rlt_input {
    const char *name;
    int fd;
    uint64_t size;
    bool plain, ended; /* ended: the file, not what was inflated */
    bool between;      /* a member has ended */
    unsigned char *at; /* bytes read and not yet used */
    size_t left;
    inflater *state; /* NULL for a plain file */
    unsigned char block[BLOCK];
};

static int io_error(const char *where, const char *verb, int number, rlt_error *err)
{
    char text[256];
    if (strerror_r(number, text, sizeof text) != 0)
        return rlt_fail(err, RLT_EIO, where, "cannot %s: error %d", verb, number);
    return rlt_fail(err, RLT_EIO, where, "cannot %s: %s", verb, text);
}

/* Reads size bytes, or less at the end of the file. */
static int read_bytes(rlt_input *in, void *buffer, size_t size, size_t *got, rlt_error *err)
{
    for (*got = 0; *got < size && !in->ended;) {
        ssize_t n = read(in->fd, (char *)buffer + *got, size - *got < INT_MAX ? size - *got : INT_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(in->name, "read", errno, err);
        in->ended = n == 0;
        *got += (size_t)n;
    }
    return 0;
}

/* Makes more bytes of the file available, behind those that are left. */
static int fill(rlt_input *in, rlt_error *err)
{
    size_t got;
    memmove(in->block, in->at, in->left);
    in->at = in->block;
    int rc = read_bytes(in, in->block + in->left, BLOCK - in->left, &got, err);
    in->left += got;
    return rc;
}

static bool begins_member(const rlt_input *in)
{
    return in->left >= 2 && in->at[0] == 0x1f && in->at[1] == 0x8b;
}

static int damaged(const rlt_input *in, const char *what, rlt_error *err)
{
    return rlt_fail(err, RLT_EMALFORMED, in->name, "damaged gzip data: %s", what);
}

/* start: prepares for a member. inflate_more: inflates what it can, sets `between` at the end of a member.
 * stop: frees what the library holds. */
#ifdef RLT_WITH_ISAL
static int start(rlt_input *in, rlt_error *err)
{
    (void)err;
    isal_inflate_init(in->state);
    in->state->crc_flag = ISAL_GZIP;
    return 0;
}

static int inflate_more(rlt_input *in, rlt_error *err)
{
    inflater *s = in->state;
    int code = isal_inflate(s);
    in->between = s->block_state == ISAL_BLOCK_FINISH;
    if (code == ISAL_DECOMP_OK)
        return 0;
    return damaged(in,
                   code == ISAL_INVALID_BLOCK        ? "invalid block"
                   : code == ISAL_INVALID_SYMBOL     ? "invalid code"
                   : code == ISAL_INVALID_LOOKBACK   ? "invalid distance too far back"
                   : code == ISAL_INCORRECT_CHECKSUM ? "incorrect data check"
                   : code == ISAL_UNSUPPORTED_METHOD ? "unknown compression method"
                                                     : "invalid header",
                   err);
}

static void stop(rlt_input *in)
{
    (void)in;
}

const char *rlt_inflate_version(void)
{
#define TEXT(number)                 #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
    return "ISA-L " VERSION(ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
#undef VERSION
#undef TEXT
}
#else
static int start(rlt_input *in, rlt_error *err)
{
    if (in->state->state)
        return inflateReset(in->state) == Z_OK ? 0 : rlt_nomem(err);
    return inflateInit2(in->state, 15 + 16) == Z_OK ? 0 : rlt_nomem(err);
}

static int inflate_more(rlt_input *in, rlt_error *err)
{
    inflater *s = in->state;
    int code = inflate(s, Z_NO_FLUSH);
    in->between = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR)
        return 0;
    return code == Z_MEM_ERROR ? rlt_nomem(err) : damaged(in, s->msg ? s->msg : "needs a dictionary", err);
}

static void stop(rlt_input *in)
{
    inflateEnd(in->state);
}

const char *rlt_inflate_version(void)
{
    return "zlib " ZLIB_VERSION;
}
#endif

/* Inflates what it can from at[0..left) to out[0..size). */
static int inflate_part(rlt_input *in, char *out, uint32_t size, uint32_t *made, rlt_error *err)
{
    inflater *s = in->state;
    s->next_in = in->at;
    s->avail_in = (uint32_t)in->left;
    s->next_out = (unsigned char *)out;
    s->avail_out = size;
    int rc = inflate_more(in, err);
    in->at = s->next_in;
    in->left = s->avail_in;
    *made = size - s->avail_out;
    return rc;
}

int rlt_input_open(const char *path, rlt_input **out, rlt_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct stat st;
    int rc = 0;
    *out = NULL;
    rlt_input *in = malloc(sizeof *in);
    if (!in)
        return rlt_nomem(err);
    memset(in, 0, offsetof(rlt_input, block));
    in->name = is_stdin ? "standard input" : path;
    in->at = in->block;
    in->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in->fd < 0)
        rc = io_error(in->name, "open", errno, err);
    if (rc == 0 && fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        in->size = (uint64_t)st.st_size;
    if (rc == 0)
        rc = fill(in, err);
    in->plain = !begins_member(in);
    if (rc == 0 && !in->plain) {
        in->state = calloc(1, sizeof *in->state);
        rc = in->state ? start(in, err) : rlt_nomem(err);
    }
    if (rc == 0)
        *out = in;
    else
        rlt_input_close(in);
    return rc;
}

static int read_plain(rlt_input *in, char *buffer, size_t size, size_t *got, rlt_error *err)
{
    size_t n = in->left < size ? in->left : size, more = 0;
    memcpy(buffer, in->at, n);
    in->at += n;
    in->left -= n;
    int rc = n < size ? read_bytes(in, buffer + n, size - n, &more, err) : 0;
    *got = n + more;
    return rc;
}

int rlt_input_read(rlt_input *in, char *buffer, size_t size, size_t *got, rlt_error *err)
{
    int rc = 0;
    *got = 0;
    if (in->plain)
        return read_plain(in, buffer, size, got, err);
    while (rc == 0 && *got < size) {
        uint32_t part = size - *got < INT_MAX ? (uint32_t)(size - *got) : INT_MAX, made = 0;
        if (in->left < 2 && !in->ended && (rc = fill(in, err)) < 0)
            break;
        if (in->between && !begins_member(in))
            break;
        if (in->between && (rc = start(in, err)) < 0)
            break;
        size_t before = in->left;
        rc = inflate_part(in, buffer + *got, part, &made, err);
        *got += made;
        if (rc == 0 && made == 0 && in->left == before && in->ended && !in->between)
            rc = damaged(in, "unexpected end of file", err);
    }
    return rc;
}

uint64_t rlt_input_size(const rlt_input *in)
{
    return in->size;
}

void rlt_input_close(rlt_input *in)
{
    if (!in)
        return;
    if (in->fd >= 0)
        close(in->fd);
    if (in->state)
        stop(in);
    free(in->state);
    free(in);
}

/* ---- whole files */

int rlt_read_head(const char *path, char *buffer, size_t size, size_t *length, rlt_error *err)
{
    rlt_input *in;
    *length = 0;
    int rc = rlt_input_open(path, &in, err);
    if (rc < 0)
        return rc;
    rc = rlt_input_read(in, buffer, size, length, err);
    rlt_input_close(in);
    return rc;
}

/* Reads to the end. The buffer has one byte to spare, for the NUL and to notice data past the limit. */
static int read_all(rlt_input *in, size_t max_bytes, size_t capacity, char **text, size_t *length,
                    rlt_error *err)
{
    for (;;) {
        size_t got;
        char *grown = realloc(*text, capacity + 1);
        if (!grown)
            return rlt_fail(err, RLT_ENOMEM, in->name, "no memory for a file of %zu bytes", capacity);
        *text = grown;
        int rc = rlt_input_read(in, *text + *length, capacity - *length, &got, err);
        *length += got;
        if (rc == 0 && *length > max_bytes)
            rc = rlt_fail(err, RLT_ERANGE, in->name, "longer than the limit of %zu bytes", max_bytes);
        if (rc < 0 || *length < capacity)
            return rc;
        capacity = capacity > max_bytes / 2 ? max_bytes + 1 : capacity * 2;
    }
}

int rlt_read_file(const char *path, size_t max_bytes, char **text, size_t *length, rlt_error *err)
{
    rlt_input *in;
    size_t guess = CHUNK;
    *text = NULL;
    *length = 0;
    if (max_bytes > SIZE_MAX / 4)
        max_bytes = SIZE_MAX / 4;
    int rc = rlt_input_open(path, &in, err);
    if (rc < 0)
        return rc;
    uint64_t size = rlt_input_size(in);
    bool whole = size && in->plain;
    if (whole && size > max_bytes)
        rc = rlt_fail(err, RLT_ERANGE, in->name, "longer than the limit of %zu bytes", max_bytes);
    if (whole)
        guess = (size_t)size + 1; /* one more, so that the end is seen without growing */
    if (rc == 0)
        rc = read_all(in, max_bytes, guess < max_bytes + 1 ? guess : max_bytes + 1, text, length, err);
    rlt_input_close(in);
    if (rc < 0) {
        free(*text);
        *text = NULL;
        *length = 0;
        return rc;
    }
    (*text)[*length] = '\0';
    return 0;
}
