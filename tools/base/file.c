/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files: written beside the final name, renamed when complete. */
#include "tools/base/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "tools/base/message.h"

/* Temporary files, so that an end in the midst of work leaves none. */
typedef struct entry {
    const char *path;
    const char *kept; /* name under which its rows are kept; NULL: it is removed */
    off_t rows;       /* length of the rows that are complete */
} entry;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry temporary[16];
enum { ROOM = sizeof temporary / sizeof *temporary };
static bool rows_printed; /* rows went to standard output */
static atomic_bool partial;

static entry *find(const char *path)
{
    for (int i = 0; i < ROOM; i++)
        if (temporary[i].path == path)
            return &temporary[i];
    return NULL;
}

static void note(const char *old, const char *new)
{
    entry *e = find(old);
    if (e)
        *e = (entry){.path = new};
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

void rlt_results_are_partial(void)
{
    atomic_store(&partial, true);
}

void rlt_mark_partial(FILE *out)
{
    if (atomic_load(&partial))
        fputs(RLT_PARTIAL_LINE, out);
}

/* Ends the rows of a file whose work was ended, and gives it the name under which they are kept. */
static bool keep_rows(const entry *e)
{
    FILE *f = e->kept && e->rows && truncate(e->path, e->rows) == 0 ? fopen(e->path, "a") : NULL;
    if (!f)
        return false;
    bool failed = fputs(RLT_PARTIAL_LINE, f) < 0;
    return fclose(f) == 0 && !failed && rename(e->path, e->kept) == 0;
}

bool rlt_files_abandon(void)
{
    pthread_mutex_lock(&lock); /* for good */
    for (int i = ROOM; i-- > 0;)
        if (temporary[i].path && !keep_rows(&temporary[i]))
            remove(temporary[i].path);
    return rows_printed;
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
    length = strlen(f->target) + sizeof RLT_PARTIAL_END;
    f->beside = malloc(length);
    f->kept = malloc(length);
    if (!f->beside || !f->kept) {
        free(f->beside);
        f->beside = NULL;
        return rlt_nomem(err);
    }
    snprintf(f->beside, length, "%s.XXXXXX", f->target);
    snprintf(f->kept, length, "%s" RLT_PARTIAL_END, f->target);
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

/* Returns the name under which a file will be, without links on the way; NULL without memory. */
static char *final_name(const char *path)
{
    char *whole = realpath(path, NULL), *folder, *name;
    const char *slash = strrchr(path, '/');
    size_t length = strlen(path);
    if (whole || !(folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".")))
        return whole;
    whole = realpath(folder, NULL);
    free(folder);
    if (!whole) /* there is no such folder: it cannot be written, which is reported later */
        return strdup(path);
    length += strlen(whole) + sizeof "/";
    if ((name = malloc(length)))
        snprintf(name, length, "%s/%s", whole, slash ? slash + 1 : path);
    free(whole);
    return name;
}

static bool is_output(const rlt_parsed *args, uint32_t i)
{
    const char *path = args->given[i];
    return rlt_option_at(args->groups, i, NULL)->writes && path && strcmp(path, "-") != 0 && !in_place(path);
}

/* Compares output i with those before it. */
static int one_apart(const rlt_parsed *args, uint32_t i, rlt_error *err)
{
    char *own = final_name(args->given[i]);
    int rc = own ? 0 : rlt_nomem(err);
    for (uint32_t k = 0; k < i && !rc; k++) {
        if (!is_output(args, k))
            continue;
        char *other = final_name(args->given[k]), name[64];
        snprintf(name, sizeof name, "--%s", rlt_option_at(args->groups, i, NULL)->name);
        rc = other ? 0 : rlt_nomem(err);
        if (!rc && strcmp(own, other) == 0)
            rc = rlt_fail(err, RLT_EUSAGE, name, "'%s' is the file of --%s, too; only one would be left",
                          args->given[i], rlt_option_at(args->groups, k, NULL)->name);
        free(other);
    }
    free(own);
    return rc;
}

int rlt_files_apart(const rlt_parsed *args, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < args->n_options && !rc; i++)
        rc = is_output(args, i) ? one_apart(args, i, err) : 0;
    return rc;
}

/* Returns the errno of a failed write. `number` is 0 if an earlier write failed and its errno is lost: then
 * one more byte is written, which fails for the same reason. */
static int cause(FILE *stream, int number)
{
    if (number)
        return number;
    return write(fileno(stream), "\n", 1) < 0 ? errno : EIO;
}

static int flush(rlt_file *f, rlt_error *err)
{
    errno = 0;
    if (fflush(f->stream) || ferror(f->stream))
        return io_error(f, "write", cause(f->stream, errno), err);
    return 0;
}

int rlt_file_flush(rlt_file *f, rlt_error *err)
{
    int rc = flush(f, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&lock);
    entry *e = f->beside ? find(f->beside) : NULL;
    if (e)
        *e = (entry){.path = f->beside, .kept = f->kept, .rows = ftello(f->stream)};
    rows_printed = rows_printed || f->stream == stdout;
    pthread_mutex_unlock(&lock);
    return 0;
}

int rlt_file_close(rlt_file *f, rlt_error *err)
{
    bool whole = !atomic_load(&partial);
    int rc = flush(f, err);
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
        int failed = rename(f->beside, whole ? f->target : f->kept), number = errno;
        if (!failed)
            note(f->beside, NULL);
        pthread_mutex_unlock(&lock);
        if (failed)
            rc = io_error(f, "rename into place", number, err);
        else {
            if (!whole)
                rlt_note("%s" RLT_PARTIAL_END " has the partial results; %s is as it was", f->path, f->path);
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
    free(f->kept);
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
