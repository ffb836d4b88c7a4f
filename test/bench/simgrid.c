/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The benchmarks' work as a SimGrid program, for comparison: one actor per rank on a crossbar of 50 GB/s and
 * 500 ns links, with SimGrid's plain flow model (CM02 without window and reverse traffic).
 *
 *   bench_simgrid PLATFORM ring|burst|jitter RANKS BYTES   prints the simulated seconds
 *   bench_simgrid platform RANKS                           prints the platform file
 *
 *   ring    all-reduce; each step sends, receives, waits for the received message, then for its own
 *   burst   all-to-all, all at once
 *   jitter  the same with sizes up to half as large again, so that nearly every flow ends at its own time
 */
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const char *work;
    long n, bytes;
} job;

/* SimGrid's actors take texts; the job is the same for all. */
static job the_job;

static sg_mailbox_t mailbox_of(long rank)
{
    char name[32];
    snprintf(name, sizeof name, "%ld", rank);
    return sg_mailbox_by_name(name);
}

static void ring(long rank)
{
    static char token;
    long n = the_job.n, m = the_job.bytes / n;
    sg_mailbox_t next = mailbox_of((rank + 1) % n), own = mailbox_of(rank);
    for (long step = 0; step < 2 * (n - 1); step++) {
        void *data;
        sg_comm_t out = sg_mailbox_put_async(next, &token, m), in = sg_mailbox_get_async(own, &data);
        sg_comm_wait(in);
        sg_comm_wait(out);
    }
}

static long size_of(long from, long to)
{
    long m = the_job.bytes / the_job.n;
    if (strcmp(the_job.work, "jitter") != 0)
        return m;
    return (long)((double)m * (1 + 0.5 * (double)((from * the_job.n + to) * 7919 % 1000) / 1000));
}

static void burst(long rank)
{
    static char token;
    long n = the_job.n, k = 0;
    sg_comm_t *all = malloc(2 * (size_t)n * sizeof(sg_comm_t));
    void **data = malloc((size_t)n * sizeof *data);
    for (long i = 1; i < n; i++) {
        long to = (rank + i) % n;
        all[k++] = sg_mailbox_put_async(mailbox_of(to), &token, size_of(rank, to));
        all[k++] = sg_mailbox_get_async(mailbox_of(rank), &data[i]);
    }
    sg_comm_wait_all(all, (size_t)k);
    free(data);
    free(all);
}

static void rank_main(int argc, char **argv)
{
    long rank = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (strcmp(the_job.work, "ring") == 0)
        ring(rank);
    else
        burst(rank);
}

static int print_platform(long n)
{
    printf("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
           "<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-%ld\" "
           "speed=\"1Gf\" "
           "bw=\"50GBps\" lat=\"500ns\" sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
           n - 1);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "platform") == 0)
        return print_platform(strtol(argv[2], NULL, 10));
    char *options[] = {argv[0],
                       "--cfg=network/model:CM02",
                       "--cfg=network/TCP-gamma:0",
                       "--cfg=network/crosstraffic:0",
                       "--log=root.thresh:error",
                       NULL};
    int n_options = 5;
    simgrid_init(&n_options, options);
    if (argc != 5) {
        fprintf(stderr, "usage: bench_simgrid PLATFORM ring|burst|jitter RANKS BYTES\n");
        return 2;
    }
    the_job = (job){.work = argv[2], .n = strtol(argv[3], NULL, 10), .bytes = strtol(argv[4], NULL, 10)};
    simgrid_load_platform(argv[1]);
    for (long r = 0; r < the_job.n; r++) {
        char host[32], text[32];
        snprintf(host, sizeof host, "h%ld", r);
        snprintf(text, sizeof text, "%ld", r);
        const char *const args[] = {"rank", text, NULL};
        sg_actor_create_(text, sg_host_by_name(host), rank_main, 2, args);
    }
    simgrid_run();
    printf("%.12f\n", simgrid_get_clock());
    return 0;
}
