/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libFuzzer calls. The environment names the target: FUZZ_TARGET=kineto fuzz CORPUS. FUZZ_TARGET=list lists
 * all. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/fuzz.h"

/* libFuzzer's names. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

static const fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("FUZZ_TARGET");
    const fuzz_target *t;
    (void)argc;
    (void)argv;
    if (name && !strcmp(name, "list")) {
        for (uint32_t i = 0; (t = fuzz_target_at(i)); i++)
            puts(t->name);
        exit(0);
    }
    target = name ? fuzz_target_find(name) : NULL;
    if (!target) {
        fprintf(stderr, "fuzz: FUZZ_TARGET names no target; FUZZ_TARGET=list lists them\n");
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(target, data, size);
    return 0;
}

/* Half of the changes know the format, if there is one that does. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    if (size > 0 && target->change && seed % 2)
        return target->change(data, size, room, seed);
    if (size > 0 && seed % 8 == 0)
        return fuzz_change_bytes(data, size, room, seed);
    return LLVMFuzzerMutate(data, size, room);
}
