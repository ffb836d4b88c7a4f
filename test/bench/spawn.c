/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a command several times and prints its smallest user + system CPU time in seconds and its peak
 * resident memory in KiB. The parent is small because a child starts with the resident set of the process
 * that forked it.
 *
 *   bench_spawn RUNS COMMAND...
 *
 * Drops the command's standard output.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static int run_once(char **argv, struct rusage *usage)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        if (null >= 0)
            dup2(null, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, usage) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    double best = 1e30;
    long peak = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_spawn RUNS COMMAND...\n");
        return 2;
    }
    for (int i = 0; i < atoi(argv[1]); i++) {
        struct rusage u;
        int status = run_once(argv + 2, &u);
        if (status != 0) {
            fprintf(stderr, "bench_spawn: %s ended with status %d\n", argv[2], status);
            return 1;
        }
        double cpu = seconds(u.ru_utime) + seconds(u.ru_stime);
        if (cpu < best)
            best = cpu;
        if (u.ru_maxrss > peak)
            peak = u.ru_maxrss;
    }
    printf("%.4f %ld\n", best, peak);
    return 0;
}
