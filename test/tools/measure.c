/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of measurements: contents of each format, derived by hand, and the place of every kind of
 * damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "tools/calibrate/measure/measure.h"

static char path[] = "/tmp/ringlet-measure-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put_bytes(const char *text, size_t length)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static int read_with(const char *text, const rlt_measure_hints *hints, rlt_measurements *t, rlt_error *err)
{
    *t = (rlt_measurements){0};
    *err = (rlt_error){0};
    put_bytes(text, strlen(text));
    return rlt_measurements_read(t, path, hints, err);
}

/* Expects a refusal with this code and message, at this line (0: only the file). */
static void refused(const char *text, const rlt_measure_hints *hints, int code, unsigned line,
                    const char *what)
{
    rlt_measurements t;
    rlt_error err;
    char where[100];
    int rc = read_with(text, hints, &t, &err);
    rlt_measurements_free(&t);
    if (line)
        snprintf(where, sizeof where, "%s:%u", path, line);
    else
        snprintf(where, sizeof where, "%s", path);
    if (rc != code || strncmp(err.where, where, strlen(where)) != 0 || !strstr(err.what, what))
        fail_msg("%d at '%s': '%s'; expected %d at '%s': '%s'", rc, err.where, err.what, code, where, what);
}

/* Expects a file with one usable row beside the damaged one at `line`, which is skipped with a reason. */
static void skipped(const char *text, unsigned line, const char *what)
{
    rlt_measurements t;
    rlt_error err;
    char note[400], expected[200];
    int rc = read_with(text, NULL, &t, &err);
    if (rc || t.n == 0 || t.skipped != 1 || t.first_skipped.line != line ||
        !strstr(t.first_skipped.why, what))
        fail_msg("%d '%s', %u rows, %u skipped, the first in row %u: '%s'; expected row %u: '%s'", rc,
                 err.what, t.n, t.skipped, t.first_skipped.line, t.first_skipped.why, line, what);
    snprintf(expected, sizeof expected, "1 row skipped: row %u of %s: ", line, strrchr(path, '/') + 1);
    assert_memory_equal(rlt_measurements_skipped(&t, note, sizeof note), expected, strlen(expected));
    rlt_measurements_free(&t);
}

#define HEAD "collective,n_ranks,size_bytes,time_us\n"

static void csv_rows(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbfsystem,n_ranks,n_nodes,setting,collective,dtype,size_bytes,time_"
                               "us,inplace,source,note\r\n"
                               "\"a, \"\"b\"\"\",8,2,x,alltoall,half,1024,12.5,out,s,\r\n"
                               "\n"
                               ",2,1,,all_gather,,0,0.000001,,,\"n\"\n"
                               "c,2,,,send_recv,,1,,in,,\n"
                               "c,4,,,All-Reduce,int8,281474976710656,7,in,,last";
    rlt_measurements t;
    rlt_error err;
    assert_int_equal(read_with(text, NULL, &t, &err), 0);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.skipped, 1);
    assert_string_equal(t.rows[0].system, "a, \"b\"");
    assert_int_equal(t.rows[0].kind, RLT_ALL_TO_ALL);
    assert_int_equal(t.rows[0].ranks, 8);
    assert_int_equal(t.rows[0].nodes, 2);
    assert_int_equal(t.rows[0].bytes, 1024);
    assert_int_equal(t.rows[0].time_ps, 12500000);
    assert_int_equal(t.rows[0].buffers, RLT_OUT_OF_PLACE);
    assert_string_equal(t.rows[0].dtype, "half");
    assert_int_equal(t.rows[0].element, 2);
    assert_int_equal(t.rows[1].element, 0);
    assert_int_equal(t.rows[2].element, 1);
    assert_int_equal(t.rows[0].line, 2);
    assert_string_equal(t.rows[1].system, strrchr(path, '/') + 1); /* the file's name stands for the system */
    assert_int_equal(t.rows[1].time_ps, 1);
    assert_int_equal(t.rows[1].buffers, RLT_BUFFERS_UNKNOWN);
    assert_int_equal(t.rows[1].line, 4);
    assert_int_equal(t.rows[2].kind, RLT_ALL_REDUCE);
    assert_int_equal(t.rows[2].nodes, 1);
    assert_true(t.rows[2].bytes == (uint64_t)1 << 48);
    assert_int_equal(t.rows[2].buffers, RLT_IN_PLACE);
    assert_string_equal(t.rows[2].note, "last");
    rlt_measurements_free(&t);
    /* CSV of `ringlet coll`. */
    assert_int_equal(
        read_with("collective,bytes,algorithm,ranks,time_ps\nbroadcast,5,ring,3,77\n", NULL, &t, &err), 0);
    assert_int_equal(t.rows[0].time_ps, 77);
    assert_int_equal(t.rows[0].ranks, 3);
    rlt_measurements_free(&t);
}

static void csv_damage(void **state)
{
    (void)state;
    refused("", NULL, RLT_EMALFORMED, 0, "empty");
    refused(" \n\r\n", NULL, RLT_EMALFORMED, 0, "empty");
    refused(HEAD, NULL, RLT_ESCHEMA, 0, "no measurements");
    refused(HEAD "all_reduce,8,1024,\n", NULL, RLT_ESCHEMA, 0, "1 row skipped: row 2: time_us is blank");
    refused(HEAD "all_reduce,,1024,1\nall_reduce,8,x,1\n", NULL, RLT_ESCHEMA, 0,
            "2 rows skipped: row 2: n_ranks is blank");
    refused("collective,n_ranks,time_us\n", NULL, RLT_ESCHEMA, 1, "no column 'size_bytes'");
    refused("n_ranks,size_bytes,time_us\n", NULL, RLT_ESCHEMA, 1, "no column 'collective'");
    refused("collective,size_bytes,time_us\n", NULL, RLT_ESCHEMA, 1, "no column 'n_ranks'");
    refused("collective,n_ranks,size_bytes\n", NULL, RLT_ESCHEMA, 1, "no column 'time_us'");
    refused("collective,n_ranks,ranks,size_bytes,time_us\n", NULL, RLT_ESCHEMA, 1, "'n_ranks' and 'ranks'");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,1024,-3\n", 3, "above zero, got '-3'");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,1024,0\n", 3, "above zero");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,1024,nan\n", 3, "above zero");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,1024,1e30\n", 3, "above zero");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,1024,5000000000000\n", 3, "above zero");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,1024,1us\n", 3, "above zero");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,-1,1\n", 3, "size_bytes");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,8,281474976710657,1\n", 3, "size_bytes");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,,1,1\n", 3, "n_ranks");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,0,1,1\n", 3, "ranks");
    skipped(HEAD "all_reduce,8,4,1\nall_reduce,99999999999,1,1\n", 3, "n_ranks");
    skipped(HEAD "all_reduce,8,1,1\nall_scatter,8,1,1\n", 3, "unknown collective 'all_scatter'");
    refused(HEAD "all_reduce,8,1\n", NULL, RLT_EMALFORMED, 2, "3 cells under 4 columns");
    refused(HEAD "all_reduce,8,1,2,3\n", NULL, RLT_EMALFORMED, 2, "5 cells under 4 columns");
    refused(HEAD "\"all_reduce,8,1,2\n", NULL, RLT_EMALFORMED, 2, "does not end");
    refused(HEAD "\"all_reduce\"x,8,1,2\n", NULL, RLT_EMALFORMED, 2, "after a quoted cell");
    skipped("n_nodes," HEAD "1,all_reduce,2,1,2\n3,all_reduce,2,1,2\n", 3, "on 3 nodes");
    skipped("inplace," HEAD "in,all_reduce,2,1,2\nyes,all_reduce,2,1,2\n", 3, "inplace");
}

static void hostile_bytes(void **state)
{
    (void)state;
    rlt_measurements t = {0};
    rlt_error err = {0};
    char *long_line = malloc(200001);
    assert_non_null(long_line);
    put_bytes(HEAD "a\0b", sizeof HEAD + 2);
    assert_int_equal(rlt_measurements_read(&t, path, NULL, &err), RLT_EMALFORMED);
    rlt_measurements_free(&t);
    memset(long_line, 'x', 200000);
    memcpy(long_line, HEAD, strlen(HEAD));
    long_line[200000] = 0;
    refused(long_line, NULL, RLT_ERANGE, 2, "a line of more than");
    memset(long_line, ',', 200000);
    long_line[1000] = 0;
    refused(long_line, NULL, RLT_ERANGE, 1, "columns");
    free(long_line);
    refused("collective,n_ranks,size_bytes,time_us\nall\x1b[2J,8,1,1\n", NULL, RLT_ESCHEMA, 0, "'all?[2J'");
    assert_int_equal(rlt_measurements_read(&t, "/nonexistent/file", NULL, &err), RLT_EIO);
    rlt_measurements_free(&t);
}

#define JOB                                                                                                  \
    "# nccl-tests version 2.17.0 nccl-headers=22800 nccl-library=22800\n"                                    \
    "# Collective test starting: all_gather_perf\n"                                                          \
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor)\n"                                           \
    "#\n# Using devices\n"                                                                                   \
    "#  Rank  0 Group  0 Pid   6899 on nodea device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"                 \
    "#  Rank  1 Group  0 Pid   6900 on nodea device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n"                 \
    "#  Rank  2 Group  0 Pid   6733 on nodeb device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"                 \
    "#  Rank  3 Group  0 Pid   6734 on nodeb device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n#\n"
#define COLUMNS                                                                                              \
    "#                                                       out-of-place                       in-place\n"  \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw"  \
    "   busbw #wrong\n"                                                                                      \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)"  \
    "  (GB/s)       \n"

static void nccl_rows(void **state)
{
    (void)state;
    static const char text[] =
        "mpirun chatter\n12: labelled\n" JOB COLUMNS
        "        1024           256     float    none      -1    12.34    0.08    0.06      0    11.01    "
        "0.09    0.07    N/A\n"
        "nodea:1:2 [0] NCCL INFO comm 0x1\n"
        "        2048           512     float    none      -1  1.2e+03    0.16    0.12      3    12.02    "
        "0.18    0.14      0\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.1\n"
        "# Collective test starting: sendrecv_perf\n"
        "#  Rank  0 Group  0 Pid   6899 on nodea device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
        "#  Rank  1 Group  0 Pid   6900 on nodea device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n" COLUMNS
        "         16             4     float                     5.00    0.00    0.00      0     6.00    "
        "0.00    0.00      0\n";
    rlt_measurements t;
    rlt_error err;
    assert_int_equal(read_with(text, &(rlt_measure_hints){.system = "mine"}, &t, &err), 0);
    assert_int_equal(t.n, 5);
    assert_int_equal(t.skipped, 1); /* three wrong values */
    assert_string_equal(t.rows[0].system, "mine");
    assert_string_equal(t.rows[0].dtype, "float");
    assert_int_equal(t.rows[0].kind, RLT_ALL_GATHER);
    assert_int_equal(t.rows[0].ranks, 4);
    assert_int_equal(t.rows[0].nodes, 2);
    assert_int_equal(t.rows[0].bytes, 1024);
    assert_int_equal(t.rows[0].time_ps, 12340000);
    assert_int_equal(t.rows[0].buffers, RLT_OUT_OF_PLACE);
    assert_int_equal(t.rows[0].line, 16);
    assert_int_equal(t.rows[1].time_ps, 11010000);
    assert_int_equal(t.rows[1].buffers, RLT_IN_PLACE);
    assert_int_equal(t.rows[2].time_ps, 12020000);
    assert_int_equal(t.rows[3].kind, RLT_SEND_RECV);
    assert_int_equal(t.rows[3].ranks, 2);
    assert_int_equal(t.rows[3].nodes, 1);
    assert_int_equal(t.rows[3].time_ps, 5000000); /* blank redop and root */
    assert_int_equal(t.rows[4].time_ps, 6000000);
    rlt_measurements_free(&t);
}

/* Three nodes of two GPUs, ranks of which are listed in order of processes; mpirun's and NCCL's lines between
 * them. What the file lists overrides the hints, and the hints fill in what the next file lacks. */
static void nccl_nodes(void **state)
{
    (void)state;
    static const char text[] =
        "Warning: Permanently added 'gpu-node-1' to the list of known hosts.\n"
        "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n"
        "# Using devices\n"
        "#  Rank  0 Group  0 Pid 11 on gpu-node-1 device  0 [0x0f] NVIDIA H100 80GB HBM3\n"
        "#  Rank  1 Group  0 Pid 11 on gpu-node-1 device  1 [0x2d] NVIDIA H100 80GB HBM3\n"
        "#  Rank  2 Group  0 Pid 12 on gpu-node-10 device  0 [0x0f] NVIDIA H100 80GB HBM3\n"
        "#  Rank  3 Group  0 Pid 12 on gpu-node-10 device  1 [0x2d] NVIDIA H100 80GB HBM3\n"
        "#  Rank  4 Group  0 Pid 13 on gpu-node-2 device  0 [0x0f] NVIDIA H100 80GB HBM3\n"
        "#  Rank  5 Group  0 Pid 13 on gpu-node-2 device  1 [0x2d] NVIDIA H100 80GB HBM3\n"
        "gpu-node-1:11:11 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n" COLUMNS
        "           8             2     float     sum      -1    31.25    0.00    0.00      0    30.75    "
        "0.00    0.00      0\n";
    static const char bare[] = COLUMNS "8 2 float sum -1 31.25 0.00 0.00 0 30.75 0.00 0.00 0\n";
    rlt_measure_hints hints = {.collective = "all_reduce_perf", .ranks = 16, .nodes = 2};
    rlt_measurements t;
    rlt_error err;
    assert_int_equal(read_with(text, &hints, &t, &err), 0);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.rows[0].ranks, 6);
    assert_int_equal(t.rows[0].nodes, 3);
    assert_int_equal(t.rows[0].time_ps, 31250000);
    put_bytes(bare, strlen(bare)); /* into the same table */
    assert_int_equal(rlt_measurements_read(&t, path, &hints, &err), 0);
    assert_int_equal(t.n, 4);
    assert_int_equal(t.rows[2].ranks, 16);
    assert_int_equal(t.rows[2].nodes, 2);
    assert_int_equal(t.rows[1].nodes, 3);
    assert_int_equal(t.rows[3].time_ps, 30750000);
    rlt_measurements_free(&t);
}

/* Builds before 2.11 lack redop and root and have a column "error"; newer ones add columns for iterations and
 * a time of day. */
static void nccl_builds(void **state)
{
    (void)state;
    static const char old[] =
        "# nThread 1 nGpus 8\n#   Rank  0 Pid  1 on h device  0 [0x07] V100\n#   Rank  7 Pid  1 on h device  "
        "7 [0x07] V100\n"
        "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "     1048576        262144   float    30.10   34.84   60.96  0e+00    29.90   35.07   61.37  "
        "4e-07\n";
    static const char iterations[] =
        JOB "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw "
            "#wrong i_min i_max i_p99 i_cv% timestamp\n"
            "1024 256 float none -1 1.5 1 1 0 1 2 2 3.0 2.5 1 1 0 1 2 2 3.0 2025-01-01 10:00:00\n";
    rlt_measurements t;
    rlt_error err;
    assert_int_equal(read_with(old, &(rlt_measure_hints){.collective = "reduce_scatter_perf"}, &t, &err), 0);
    assert_int_equal(t.n, 1); /* the in-place result has an error */
    assert_int_equal(t.rows[0].kind, RLT_REDUCE_SCATTER);
    assert_int_equal(t.rows[0].ranks, 8);
    assert_int_equal(t.rows[0].time_ps, 30100000);
    rlt_measurements_free(&t);
    assert_int_equal(read_with(iterations, NULL, &t, &err), 0);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.rows[0].time_ps, 1500000);
    assert_int_equal(t.rows[1].time_ps, 2500000);
    rlt_measurements_free(&t);
}

static void nccl_damage(void **state)
{
    (void)state;
    static const char row[] = "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0\n";
    char text[4000];
    snprintf(text, sizeof text, JOB "%s", row);
    refused(text, NULL, RLT_ESCHEMA, 11, "before the heading");
    snprintf(text, sizeof text, COLUMNS "%s", row);
    refused(text, NULL, RLT_ESCHEMA, 4, "does not name its collective");
    refused(text, &(rlt_measure_hints){.collective = "all_reduce"}, RLT_ESCHEMA, 4, "list its ranks");
    refused(text, &(rlt_measure_hints){.collective = "hypercube_perf", .ranks = 4}, RLT_ESCHEMA, 4,
            "unknown collective");
    skipped(JOB COLUMNS "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0\n"
                        "1024 256 float none -1 -1.5 1 1 0 2.5 1 1 0\n",
            15, "above zero, got '-1.5'");
    skipped(JOB COLUMNS "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0\n"
                        "1024 256 float none -1 1.5 1 1 0 x 1 1 0\n",
            15, "above zero, got 'x'");
    skipped(JOB COLUMNS "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0\n"
                        "1024 256 float none -1 1.5 1 1\n",
            15, "8 cells under 13 columns");
    skipped(JOB COLUMNS "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0\n"
                        "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0 7\n",
            15, "14 cells");
    skipped(JOB COLUMNS "1024 256 float none -1 1.5 1 1 0 2.5 1 1 0\n"
                        "99999999999999999999999 2 float none -1 1.5 1 1 0 2.5 1 1 0\n",
            15, "size");
    refused(JOB "# size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong\n", NULL,
            RLT_EUNSUPPORTED, 11, "host");
    refused(JOB "# size what type\n", NULL, RLT_ESCHEMA, 11, "columns");
    refused(JOB COLUMNS, NULL, RLT_ESCHEMA, 0, "no measurements");
    /* Nothing but damage. */
    refused(JOB COLUMNS "1024 256 float none -1 x 1 1 0 x 1 1 0\n", NULL, RLT_ESCHEMA, 0,
            "no row is usable: 2 rows skipped: row 14: expected a time");
    refused("#  Rank 99999999999 Group 0\n", NULL, RLT_ERANGE, 1, "rank");
    refused("a story without numbers\n", NULL, RLT_ESCHEMA, 0, "no measurements");
}

#define DEVICES                                                                                              \
    "\"config\":{\"nthreads\":1,\"ngpus\":4,\"devices\":[{\"rank\":0,\"hostname\":\"a\"},{\"rank\":4,"       \
    "\"hostname\":\"b\"},{\"rank\":8,\"hostname\":\"b\"}]}"
#define ARGS "\"version\":2,\"args\":[\"/opt/nccl/all_reduce_perf\",\"-b\",\"8\"],"

static void json_rows(void **state)
{
    (void)state;
    static const char text[] =
        "{" ARGS DEVICES ",\"results\":[{\"size\":1024,\"count\":256,\"type\":\"float\",\"redop\":\"sum\","
        "\"root\":\"    "
        "-1\",\"out_of_place\":{\"time\":12.345678,\"alg_bw\":1.0,\"bus_bw\":1.0,\"nwrong\":0.000000},"
        "\"in_place\":{\"time\":2.5,\"nwrong\":null},\"actual_iterations\":20},\n"
        "{\"size\":8,\"type\":\"float\",\"out_of_place\":null,\"in_place\":{\"time\":3.0,\"nwrong\":2.0}}]}";
    rlt_measurements t;
    rlt_error err;
    assert_int_equal(read_with(text, NULL, &t, &err), 0);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.skipped, 1);
    assert_int_equal(t.rows[0].kind, RLT_ALL_REDUCE);
    assert_int_equal(t.rows[0].ranks, 12); /* three processes with four ranks each */
    assert_int_equal(t.rows[0].nodes, 2);
    assert_int_equal(t.rows[0].time_ps, 12345678);
    assert_int_equal(t.rows[1].time_ps, 2500000);
    assert_int_equal(t.rows[1].buffers, RLT_IN_PLACE);
    rlt_measurements_free(&t);
}

#define GOOD "{\"size\":4,\"out_of_place\":{\"time\":1}}"

static void json_damage(void **state)
{
    (void)state;
    refused("{\"results\":7}", NULL, RLT_ESCHEMA, 1, "expected 'results'");
    refused("{" DEVICES ",\"results\":[]}", NULL, RLT_ESCHEMA, 1, "args");
    refused("{" ARGS "\"results\":[]}", NULL, RLT_ESCHEMA, 1, "config.devices");
    refused("{" ARGS DEVICES ",\"results\":[]}", NULL, RLT_ESCHEMA, 0, "no measurements");
    skipped("{" ARGS DEVICES ",\"results\":[" GOOD ",5]}", 2, "expected a result");
    skipped("{" ARGS DEVICES ",\"results\":[" GOOD ",{\"size\":-4}]}", 2, "");
    skipped("{" ARGS DEVICES ",\"results\":[" GOOD ",{\"size\":4,\"out_of_place\":{}}]}", 2, "time");
    skipped("{" ARGS DEVICES ",\"results\":[" GOOD ",{\"size\":4,\"in_place\":{\"time\":-1}}]}", 2,
            "above zero");
    skipped("{" ARGS DEVICES ",\"results\":[" GOOD ",{\"size\":4,\"in_place\":{\"time\":\"nan\"}}]}", 2, "");
    refused("{" ARGS DEVICES ",\"results\":[\n{\"size\":4,\"in_place\":{\"cpu_time\":1}}]}", NULL,
            RLT_EUNSUPPORTED, 2, "host");
    refused("{" ARGS DEVICES ",\"results\":[", NULL, RLT_EMALFORMED, 1, "");
}

/* The public table: its number of rows, and times that follow from its bandwidth columns by definition. */
static void public_table(void **state)
{
    (void)state;
    static const char file[] = "test/data/collectives/measured_collectives.csv";
    rlt_measurements t = {0};
    rlt_error err = {0};
    uint32_t systems = 0;
    assert_int_equal(rlt_measurements_read(&t, file, NULL, &err), 0);
    assert_int_equal(t.n + t.skipped, 2248); /* the number in its README */
    assert_int_equal(t.skipped, 0); /* points published as bandwidths only have their times from them */
    for (uint32_t i = 1; i < t.n; i++)
        systems += strcmp(t.rows[i].system, t.rows[i - 1].system) != 0;
    assert_in_range(systems, 8, 20);
    rlt_measurements_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_rows),     cmocka_unit_test(csv_damage), cmocka_unit_test(hostile_bytes),
        cmocka_unit_test(nccl_rows),    cmocka_unit_test(nccl_nodes), cmocka_unit_test(nccl_builds),
        cmocka_unit_test(nccl_damage),  cmocka_unit_test(json_rows),  cmocka_unit_test(json_damage),
        cmocka_unit_test(public_table),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
