/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Choices of NCCL's tuner, as its log says (NCCL_DEBUG_SUBSYS=INIT,TUNING,COLL). The line has three forms:
 *
 *   AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}
 *   AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008
 *   8589934592 Bytes -> Algo 1 proto 2 time 86069.968750
 *
 * The last form counts only after a line of the same process such as "AllReduce: opCount 0 ...".
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/import/machine.h"
#include "net/import/nccl_log.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"

enum { MAX_LOGGED = 1 << 20 };

/* A collective or algorithm of NCCL, and its name in ringlet; "auto": ringlet has none. */
typedef struct logged_word {
    const char *nccl, *name;
} logged_word;

static const logged_word collectives[] = {{"AllReduce", "all_reduce"},
                                          {"AllGather", "all_gather"},
                                          {"ReduceScatter", "reduce_scatter"},
                                          {"Broadcast", "broadcast"},
                                          {"Reduce", "reduce"}};
/* In the order of NCCL's numbers. */
static const logged_word algorithms[] = {{"TREE", "tree"},
                                         {"RING", "ring"},
                                         {"COLLNET_DIRECT", "auto"},
                                         {"COLLNET_CHAIN", "auto"},
                                         {"NVLS", "nvls"},
                                         {"NVLS_TREE", "auto"},
                                         {"PAT", "auto"}};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* Copies the word at *p, of letters, digits and underscores in upper case, and moves past it. */
static void take_word(const char **p, char *word, size_t size)
{
    size_t n = 0;
    for (; isalnum((unsigned char)**p) || **p == '_'; ++*p)
        if (n + 1 < size)
            word[n++] = (char)toupper((unsigned char)**p);
    word[n] = '\0';
}

/* Returns the index of an algorithm by NCCL's name or number, or ALGORITHMS. */
static uint32_t find_algorithm(const char *word)
{
    uint32_t i = 0;
    if (isdigit((unsigned char)word[0]))
        return word[1] == '\0' && word[0] - '0' < ALGORITHMS ? (uint32_t)(word[0] - '0') : ALGORITHMS;
    while (i < ALGORITHMS && strcmp(word, algorithms[i].nccl) != 0)
        i++;
    return i;
}

static int add_choice(rlt__nccl_log *log, const rlt__log_choice *c)
{
    int rc = rlt_grow(&log->choices, &log->choice_capacity, sizeof *log->choices, log->n_choices + 1ull,
                      MAX_LOGGED, "choices of the tuner", log->err);
    if (!rc)
        log->choices[log->n_choices++] = *c;
    return rc;
}

/* Reads "8388608 Bytes -> Algo RING". */
static bool read_choice(const char *p, uint64_t *bytes, uint32_t *algorithm)
{
    static const char arrow[] = " Bytes -> Algo ";
    char word[24];
    if (!isdigit((unsigned char)*p))
        return false;
    *bytes = 0;
    for (; isdigit((unsigned char)*p); p++) {
        if (*bytes > UINT64_MAX / 16)
            return false;
        *bytes = 10 * *bytes + (uint64_t)(*p - '0');
    }
    if (strncmp(p, arrow, sizeof arrow - 1) != 0)
        return false;
    p += sizeof arrow - 1;
    take_word(&p, word, sizeof word);
    *algorithm = find_algorithm(word);
    return *algorithm < ALGORITHMS;
}

int rlt__log_choice_take(rlt__nccl_log *log, const char *text, const char *end, uint32_t process,
                         uint32_t line)
{
    char copy[160];
    const char *p = copy;
    uint32_t k = 0, algorithm;
    uint64_t bytes;
    rlt__log_process *of = &log->processes[process];
    snprintf(copy, sizeof copy, "%.*s", (int)(end - text < 159 ? end - text : 159), text);
    for (; k < COLLECTIVES; k++) {
        size_t n = strlen(collectives[k].nccl);
        if (strncmp(copy, collectives[k].nccl, n) == 0 && copy[n] == ':') {
            p = copy + n + 1;
            break;
        }
    }
    p += strspn(p, " ");
    if (k < COLLECTIVES && strncmp(p, "opCount ", 8) == 0)
        of->collective = (uint8_t)(k + 1);
    if (k == COLLECTIVES && of->collective)
        k = of->collective - 1u;
    if (k == COLLECTIVES || !read_choice(p, &bytes, &algorithm))
        return 0;
    return add_choice(log, &(rlt__log_choice){(uint8_t)k, (uint8_t)algorithm, bytes, line});
}

static int by_size(const void *x, const void *y)
{
    const rlt__log_choice *a = x, *b = y;
    if (a->collective != b->collective)
        return a->collective < b->collective ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Adds the choices of one collective, which begin at index *i of the sorted ones, and moves *i past them. A
 * size that was logged several times takes its last choice. */
static int add_sizes(const rlt__nccl_log *log, rlt__machine *m, uint32_t *i, uint32_t *without)
{
    const rlt__log_choice *all = log->choices;
    uint32_t k = all[*i].collective;
    const char *before = NULL;
    int rc = 0;
    for (; !rc && *i < log->n_choices && all[*i].collective == k; ++*i) {
        bool again =
            *i + 1 < log->n_choices && all[*i + 1].collective == k && all[*i + 1].bytes == all[*i].bytes;
        const char *name = algorithms[all[*i].algorithm].name;
        *without += strcmp(name, "auto") == 0;
        if (again || (before && strcmp(before, name) == 0))
            continue;
        rc = rlt__machine_choice(m, collectives[k].name, name, before ? all[*i].bytes : 0);
        before = name;
    }
    return rc;
}

int rlt__log_choices_add(rlt__nccl_log *log, rlt__machine *m, const char **said)
{
    uint32_t with = 0, without = 0;
    int rc = 0;
    if (log->n_choices)
        qsort(log->choices, log->n_choices, sizeof *log->choices, by_size);
    for (uint32_t i = 0; !rc && i < log->n_choices;) {
        with |= 1u << log->choices[i].collective;
        rc = add_sizes(log, m, &i, &without);
    }
    for (uint32_t k = 0; !rc && k < COLLECTIVES; k++)
        if (!(with >> k & 1))
            rc = rlt__machine_choice(m, collectives[k].name, "ring", 0);
    *said = without ? " Algorithms: as NCCL's tuner chose; ringlet chooses where it lacks the algorithm."
            : with  ? " Algorithms: as NCCL's tuner chose."
                    : " Algorithms: ring; the log has no choices of the tuner.";
    return rc;
}
