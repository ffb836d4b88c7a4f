/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet check mine.so`: loads a plug-in and tests what it adds. This happens in a child process, so that a
 * plug-in that crashes or hangs is reported like any other bad input.
 */
#include "tools/cli/check_plugin.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/interrupt.h"
#include "workload/plugin/plugin.h"

enum { PATIENCE_S = 600 };

/* Runs in the child: passed tests are printed to standard output, an error goes to the parent. */
static int prove(const char *path, const char *scratch, rlt_error *err)
{
    const rlt_plugin_loaded *loaded = NULL;
    char *text = NULL;
    int rc = rlt_plugin_load(path, &loaded, err);
    if (!rc && !(rc = rlt_plugin_check(loaded->plugin, scratch, &text, err)))
        printf("%s: ok: plug-in %s %s\n%s", path, loaded->name, loaded->version, text);
    free(text);
    /* A plug-in that fails its tests is bad input, like a file that breaks a rule. */
    if (rc == RLT_ECHECK || rc == RLT_EUSAGE)
        rc = RLT_ESCHEMA;
    err->code = rc;
    if (fflush(stdout) && !rc)
        rc = rlt_fail(err, RLT_EIO, "standard output", "%s", strerror(errno));
    return rc;
}

static void remove_folder(const char *folder)
{
    char path[PATH_MAX];
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path)
            unlink(path);
    if (d)
        closedir(d);
    rmdir(folder);
}

/* Returns the child's error, or an error that says how the child ended without one. */
static int hear(int from, pid_t child, const char *path, rlt_error *err)
{
    rlt_error why = {0};
    int status = 0;
    size_t got = 0;
    for (ssize_t n; got < sizeof why;) {
        n = read(from, (char *)&why + got, sizeof why - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return rlt_fail(err, RLT_ESCHEMA, path, "the tests of the plug-in take longer than %d s", PATIENCE_S);
    if (WIFSIGNALED(status))
        return rlt_fail(err, RLT_ESCHEMA, path, "the plug-in crashes: %s", strsignal(WTERMSIG(status)));
    if (got != sizeof why)
        return rlt_fail(err, RLT_ESCHEMA, path, "the plug-in ends the process, with status %d",
                        WEXITSTATUS(status));
    if (!why.code)
        return 0;
    if (strncmp(why.where, path, strlen(path)) != 0)
        rlt_error_prefix(&why, path);
    return rlt_fail(err, why.code, why.where, "%s", why.what);
}

int rlt_check_plugin(const char *path, rlt_error *err)
{
    const char *base = getenv("TMPDIR");
    char scratch[PATH_MAX];
    int ends[2];
    snprintf(scratch, sizeof scratch, "%s/ringlet-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(scratch))
        return rlt_fail(err, RLT_EIO, scratch, "cannot be made: %s", strerror(errno));
    fflush(stdout);
    rlt_interrupt_before_fork();
    if (pipe(ends)) {
        rmdir(scratch);
        return rlt_fail(err, RLT_EIO, NULL, "no pipe: %s", strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        rlt_error why = {0};
        signal(SIGINT, SIG_DFL);
        signal(SIGALRM, SIG_DFL);
        alarm(PATIENCE_S);
        int rc = prove(path, scratch, &why);
        _exit(write(ends[1], &why, sizeof why) == (ssize_t)sizeof why && !rc ? 0 : 1);
    }
    close(ends[1]);
    int rc = child < 0 ? rlt_fail(err, RLT_EIO, NULL, "no process: %s", strerror(errno))
                       : hear(ends[0], child, path, err);
    close(ends[0]);
    remove_folder(scratch);
    return rc;
}
