/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of targets, and what they share. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"

static const fuzz_target *const subjects[] = {fuzz_texts, fuzz_networks, fuzz_machines, fuzz_traces,
                                              fuzz_plans, fuzz_models,   fuzz_results,  fuzz_tables,
                                              fuzz_words, fuzz_laws};

const fuzz_target *fuzz_target_at(uint32_t i)
{
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
        for (const fuzz_target *t = subjects[k]; t->name; t++)
            if (i-- == 0)
                return t;
    return NULL;
}

const fuzz_target *fuzz_target_find(const char *name)
{
    const fuzz_target *t;
    for (uint32_t i = 0; (t = fuzz_target_at(i)); i++)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}

static uint64_t picks;

uint32_t fuzz_pick(uint32_t n)
{
    picks += 0x9e3779b97f4a7c15u;
    uint64_t z = picks; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

void fuzz_run(const fuzz_target *t, const uint8_t *data, size_t n)
{
    static char text[FUZZ_MOST_BYTES + 1];
    if (n > FUZZ_MOST_BYTES)
        return;
    if (n)
        memcpy(text, data, n);
    text[n] = '\0';
    picks = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        picks = (picks ^ data[i]) * 1099511628211u;
    t->run(&(fuzz_input){.text = text, .n = n, .with = t->with});
}

static char folder[64], path[96], inner[96], inside[112];

static void remove_inside(void)
{
    unlink(inside);
    rmdir(inner);
    *inner = '\0';
}

static void remove_all(void)
{
    remove_inside();
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (*folder)
        return;
    snprintf(folder, sizeof folder, "%s/ringlet-fuzz-%ld", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
             (long)getpid());
    FUZZ_CHECK(mkdir(folder, 0700) == 0);
    atexit(remove_all);
}

/* Few system calls: most of the time of a small input would go into them. */
static void write_to(const char *to, const fuzz_input *in)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, in->text, in->n) == (ssize_t)in->n);
    FUZZ_CHECK(close(fd) == 0);
}

/* The name has no number: readers would take it for that of a rank. */
const char *fuzz_path(const fuzz_input *in, const char *ending)
{
    char name[sizeof path];
    make_folder();
    snprintf(name, sizeof name, "%s/input%s", folder, ending);
    if (*path && strcmp(path, name) != 0)
        unlink(path);
    memcpy(path, name, sizeof path);
    write_to(path, in);
    return path;
}

const char *fuzz_folder(const fuzz_input *in, const char *name)
{
    make_folder();
    remove_inside();
    snprintf(inner, sizeof inner, "%s/%.20s", folder, name);
    snprintf(inside, sizeof inside, "%s/input.json", inner);
    FUZZ_CHECK(mkdir(inner, 0700) == 0);
    write_to(inside, in);
    return inner;
}

static void check_line(const char *text)
{
    FUZZ_CHECK(*text);
    for (const char *s = text; *s; s++)
        FUZZ_CHECK((unsigned char)*s >= 0x20);
}

void fuzz_judge(int rc, const rlt_error *err, const char *place)
{
    if (rc == 0)
        return;
    if (getenv("FUZZ_SAY"))
        fprintf(stderr, "%s: %s\n", err->where, err->what);
    FUZZ_CHECK(rc < 0);
    FUZZ_CHECK(err->code == rc);
    check_line(err->where);
    check_line(err->what);
    FUZZ_CHECK(rc == RLT_ENOMEM || !place || strstr(err->where, place));
}

int fuzz_has_long_number(const fuzz_input *in, uint32_t most)
{
    uint32_t digits = 0;
    for (size_t i = 0; i < in->n && digits <= most; i++)
        digits = in->text[i] >= '0' && in->text[i] <= '9' ? digits + 1 : 0;
    return digits > most;
}

int fuzz_names_device(const fuzz_input *in)
{
    return strstr(in->text, "/dev") || strstr(in->text, "/proc") || strstr(in->text, "/sys");
}
