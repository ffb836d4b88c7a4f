/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fuzz targets: one for each reader of files, each grammar of the command line, and each family of
 * properties. A target is given bytes. It may accept or refuse them; it must not crash, hang or leak. A
 * refusal is a negative code with a place and one line that says what is wrong. What was accepted is used:
 * topologies are analysed, exported and routed, programs replayed.
 *
 * replay.c runs the committed corpora and damaged copies of them (make test); engine.c is run by libFuzzer
 * (make fuzz).
 */
#ifndef RLT_TEST_FUZZ_FUZZ_H
#define RLT_TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/error.h"

enum { FUZZ_MOST_BYTES = 1 << 16 };

/* An input; a NUL follows its n bytes. */
typedef struct fuzz_input {
    const char *text;
    size_t n;
    const void *with; /* that of the target */
} fuzz_input;

/* A change that knows the structure of a format: returns the new length, at most `room`. */
typedef size_t fuzz_change(uint8_t *data, size_t n, size_t room, uint64_t seed);

typedef struct fuzz_target {
    const char *name; /* also the folder of its corpus */
    void (*run)(const fuzz_input *in);
    const void *with;    /* a reader or the like; NULL: none */
    fuzz_change *change; /* NULL: bytes are changed without knowledge of their meaning */
    uint32_t cost;       /* replay.c divides its rounds by it; 0: by 1 */
} fuzz_target;

/* Returns target i, or NULL past the end. */
const fuzz_target *fuzz_target_at(uint32_t i);
const fuzz_target *fuzz_target_find(const char *name);

/* The targets, by subject. Each list ends with a target without a name. */
extern const fuzz_target fuzz_texts[], fuzz_networks[], fuzz_machines[], fuzz_traces[], fuzz_plans[],
    fuzz_models[], fuzz_results[], fuzz_tables[], fuzz_words[], fuzz_laws[];

/* Runs a target on n bytes. */
void fuzz_run(const fuzz_target *t, const uint8_t *data, size_t n);

/* Ends the program if a condition does not hold. */
#define FUZZ_CHECK(condition)                                                                                \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* Writes the input to a file of this process, in memory if the machine allows it. Returns its path, which
 * ends with `ending`. */
const char *fuzz_path(const fuzz_input *in, const char *ending);
/* Writes the input as the only file of a folder of this name. Returns the folder's path. */
const char *fuzz_folder(const fuzz_input *in, const char *name);
/* Checks the result of a reader: 0, or a code below 0 with an error that says where and what in one line. If
 * `place` is not NULL, the place of the error must name it. */
void fuzz_judge(int rc, const rlt_error *err, const char *place);
/* The same for a call on a text that takes `&err`: callers put the place of the text in front. */
#define FUZZ_JUDGE(call)                                                                                     \
    do {                                                                                                     \
        rlt_error err = {0};                                                                                 \
        int rc_ = (call);                                                                                    \
        if (rc_)                                                                                             \
            rlt_error_prefix(&err, "input");                                                                 \
        fuzz_judge(rc_, &err, NULL);                                                                         \
    } while (0)
/* Returns a number below n that depends on the bytes of the input, and on the calls before. */
uint32_t fuzz_pick(uint32_t n);
/* Returns true if a run of digits is longer than `most`: numbers of that size ask for too much work. */
int fuzz_has_long_number(const fuzz_input *in, uint32_t most);
/* Returns true if the text has a path of devices or of the kernel: such a file may have no end. */
int fuzz_names_device(const fuzz_input *in);

/* Changes by format (change.c), one that knows nothing, and one that draws every byte anew. */
fuzz_change fuzz_change_json, fuzz_change_goal, fuzz_change_protobuf, fuzz_change_bytes, fuzz_change_all;

#endif
