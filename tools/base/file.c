/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files: written beside the final name, renamed when complete. */
#include "tools/base/file.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Temporary files, so that an end in the midst of work leaves none. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *temporary[16];
enum { ROOM = sizeof temporary / sizeof *temporary };

static void note(const char *old, const char *new)
{
    for (int i = 0; i < ROOM; i++)
        if (temporary[i] == old) {
            temporary[i] = new;
            return;
        }
}

void rlt_temporary_add(const char *path)
{
    pthread_mutex_lock(&lock);
    note(NULL, path);
    pthread_mutex_unlock(&lock);
}

void rlt_temporary_drop(const char *path)
{
    pthread_mutex_lock(&lock);
    note(path, NULL);
    pthread_mutex_unlock(&lock);
}

void rlt_files_abandon(void)
{
    pthread_mutex_lock(&lock); /* for good */
    for (int i = ROOM; i-- > 0;)
        if (temporary[i])
            remove(temporary[i]);
}

static const char *shown(const rlt_file *f)
{
    return f->target || f->path ? f->path : "standard output";
}

static int io_error(const rlt_file *f, const char *doing, int number, rlt_error *err)
{
    return rlt_fail(err, RLT_EIO, shown(f), "cannot %s: %s", doing, strerror(number));
}

/* Devices and pipes are written in place: a rename would replace them. */
static bool in_place(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_beside(rlt_file *f, rlt_error *err)
{
    mode_t mask = umask(0);
    size_t length;
    int fd;
    umask(mask);
    f->target = realpath(f->path, NULL); /* a link stays a link: its target is replaced */
    if (!f->target)
        f->target = strdup(f->path);
    if (!f->target)
        return rlt_nomem(err);
    length = strlen(f->target) + sizeof ".XXXXXX";
    f->beside = malloc(length);
    if (!f->beside)
        return rlt_nomem(err);
    snprintf(f->beside, length, "%s.XXXXXX", f->target);
    pthread_mutex_lock(&lock);
    fd = mkstemp(f->beside);
    int number = errno;
    if (fd >= 0)
        note(NULL, f->beside);
    pthread_mutex_unlock(&lock);
    if (fd < 0) {
        free(f->beside);
        f->beside = NULL;
        return io_error(f, "create", number, err);
    }
    if (fchmod(fd, 0666 & ~mask) || !(f->stream = fdopen(fd, "w"))) {
        number = errno;
        close(fd);
        return io_error(f, "open", number, err);
    }
    return 0;
}

int rlt_file_open(rlt_file *f, const char *path, rlt_error *err)
{
    int rc;
    *f = (rlt_file){.path = path};
    if (!path || strcmp(path, "-") == 0) {
        f->path = NULL;
        f->stream = stdout;
        return 0;
    }
    if (in_place(path)) {
        f->stream = fopen(path, "w");
        return f->stream ? 0 : io_error(f, "open for writing", errno, err);
    }
    rc = open_beside(f, err);
    if (rc)
        rlt_file_discard(f);
    return rc;
}

int rlt_file_check(const char *path, rlt_error *err)
{
    rlt_file f = {.path = path};
    struct stat st;
    if (!path || strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return io_error(&f, "open for writing", EISDIR, err);
    int rc = in_place(path) ? 0 : open_beside(&f, err);
    rlt_file_discard(&f);
    return rc;
}

/* Returns the errno of a failed write. `number` is 0 if an earlier write failed and its errno is lost: then
 * it is EPIPE for a broken pipe, else EIO. */
static int cause(FILE *stream, int number)
{
    struct pollfd out = {.fd = fileno(stream), .events = POLLOUT};
    if (number)
        return number;
    return poll(&out, 1, 0) == 1 && out.revents & POLLERR ? EPIPE : EIO;
}

int rlt_file_flush(rlt_file *f, rlt_error *err)
{
    errno = 0;
    if (fflush(f->stream) || ferror(f->stream))
        return io_error(f, "write", cause(f->stream, errno), err);
    return 0;
}

int rlt_file_close(rlt_file *f, rlt_error *err)
{
    int rc = rlt_file_flush(f, err);
    if (f->stream == stdout) {
        f->stream = NULL;
        return rc;
    }
    errno = 0;
    if (fclose(f->stream) && !rc)
        rc = io_error(f, "write", errno, err);
    f->stream = NULL;
    if (!rc && f->beside) {
        pthread_mutex_lock(&lock);
        int failed = rename(f->beside, f->target), number = errno;
        if (!failed)
            note(f->beside, NULL);
        pthread_mutex_unlock(&lock);
        if (failed)
            rc = io_error(f, "rename into place", number, err);
        else {
            free(f->beside);
            f->beside = NULL;
        }
    }
    rlt_file_discard(f);
    return rc;
}

void rlt_file_discard(rlt_file *f)
{
    if (f->stream && f->stream != stdout)
        fclose(f->stream);
    if (f->beside) {
        pthread_mutex_lock(&lock);
        unlink(f->beside);
        note(f->beside, NULL);
        pthread_mutex_unlock(&lock);
    }
    free(f->beside);
    free(f->target);
    *f = (rlt_file){0};
}

int rlt_file_write(const char *path, const char *text, size_t length, rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    fwrite(text, 1, length, f.stream); /* a failure is noticed when the file is closed */
    return rlt_file_close(&f, err);
}

int rlt_stdout_finish(rlt_error *err)
{
    errno = 0;
    bool failed = ferror(stdout) != 0;
    if (fflush(stdout))
        failed = true;
    int number = failed ? cause(stdout, errno) : 0;
    /* A closed standard output is an error only if something was written to it. */
    if (fclose(stdout) && errno != EBADF)
        failed = true, number = errno;
    if (failed)
        return rlt_fail(err, RLT_EIO, "standard output", "cannot write: %s", strerror(number));
    return 0;
}
