/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every target on every file of its corpus, and on damaged copies of them from a fixed seed. The corpora hold good
 * inputs and all that ever failed.
 *
 *   replay [TARGET [FILE...]]    all targets, one target, one target on files as they are
 *
 * FUZZ_ROUNDS is the number of damaged copies of a target (default 1500), FUZZ_SEED changes them. If the program
 * dies, it leaves the input in a file and says how to run it again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/fuzz/fuzz.h"
#include "workload/program/reader.h"

enum { ROUND_SECONDS = 60, MOST_FILES = 256 };

static const fuzz_target *current;
static char kept[256]; /* file that takes the input if the program dies */

/* Sanitizers end a program without a signal. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*call)(void));

static uint8_t data[FUZZ_MOST_BYTES];
static size_t length;

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

/* Keeps the input. Only calls that are safe in a handler. */
static void keep(const char *how)
{
    int fd = open(kept, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0 && write(fd, data, length) >= 0)
        close(fd);
    say("not ok - ");
    say(how);
    say(", to see it again: build/test/fuzz/replay ");
    say(current ? current->name : "");
    say(" ");
    say(kept);
    say("\n");
}

static void on_signal(int number)
{
    keep(number == SIGALRM ? "no end" : "died");
    _exit(1);
}

static void on_death(void)
{
    keep("stopped by a sanitizer");
}

static void run(const fuzz_target *t)
{
    alarm(ROUND_SECONDS);
    fuzz_run(t, data, length);
    alarm(0);
}

static bool read_input(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    length = fread(data, 1, sizeof data, f);
    bool whole = !ferror(f) && fgetc(f) == EOF;
    fclose(f);
    return whole;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Lists the corpus of a target, sorted. */
static uint32_t corpus_of(const fuzz_target *t, char (*paths)[256])
{
    char folder[128];
    uint32_t n = 0;
    snprintf(folder, sizeof folder, "test/fuzz/corpus/%s", t->name);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && n < MOST_FILES && (e = readdir(d));)
        if (e->d_name[0] != '.')
            snprintf(paths[n++], sizeof *paths, "%s/%.100s", folder, e->d_name);
    if (d)
        closedir(d);
    qsort(paths, n, sizeof *paths, by_name);
    return n;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Returns false if the target has no corpus. */
static bool replay(const fuzz_target *t)
{
    static char paths[MOST_FILES][256];
    uint64_t seed = setting("FUZZ_SEED", 1), rounds = setting("FUZZ_ROUNDS", 1500) / (t->cost ? t->cost : 1);
    uint32_t n = corpus_of(t, paths);
    current = t;
    for (uint32_t i = 0; i < n; i++) {
        if (!read_input(paths[i]))
            return false;
        run(t);
    }
    for (uint64_t k = 0; n > 0 && k < rounds; k++) {
        if (!read_input(paths[k % n]))
            return false;
        fuzz_change *change = t->change && k / n % 2 ? t->change : fuzz_change_bytes;
        if (length > 0)
            length = change(data, length, sizeof data, seed << 32 ^ k);
        run(t);
    }
    return n > 0;
}

static int replay_files(const fuzz_target *t, char **paths, int n)
{
    current = t;
    for (int i = 0; i < n; i++) {
        if (!read_input(paths[i])) {
            fprintf(stderr, "replay: cannot read %s\n", paths[i]);
            return 1;
        }
        run(t);
    }
    return 0;
}

/* Returns true if each reader of traces has a target. */
static bool has_all_readers(void)
{
    const rlt_reader *r;
    const fuzz_target *t;
    bool all = true;
    for (uint32_t i = 0; (r = rlt_reader_at(i)); i++) {
        uint32_t k = 0;
        while ((t = fuzz_target_at(k)) && t->with != r)
            k++;
        if (!t)
            printf("# no target has the reader %s\n", r->name);
        all = all && t;
    }
    return all;
}

int main(int argc, char **argv)
{
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    const fuzz_target *t;
    int failed = 0;
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++)
        signal(deaths[i], on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(on_death);
    snprintf(kept, sizeof kept, "%.240s.failed", argv[0]);
    if (argc > 2 && (t = fuzz_target_find(argv[1])))
        return replay_files(t, argv + 2, argc - 2);
    uint32_t n = 0;
    for (uint32_t i = 0; (t = fuzz_target_at(i)); i++) {
        if (argc > 1 && strcmp(argv[1], t->name))
            continue;
        bool good = replay(t);
        printf("%s %u - %s\n", good ? "ok" : "not ok", ++n, t->name);
        fflush(stdout);
        failed += !good;
    }
    if (argc == 1) {
        bool good = has_all_readers();
        printf("%s %u - each reader of traces has a target\n", good ? "ok" : "not ok", ++n);
        failed += !good;
    }
    return failed > 0 || n == 0;
}
