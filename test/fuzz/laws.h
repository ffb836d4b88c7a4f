/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases from the bytes of an input: each draw takes one byte, so that a changed byte changes one choice. */
#ifndef RLT_TEST_FUZZ_LAWS_H
#define RLT_TEST_FUZZ_LAWS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "test/fuzz/fuzz.h"

typedef struct fuzz_draw {
    const uint8_t *at;
    size_t left;
} fuzz_draw;

static inline fuzz_draw fuzz_draws(const fuzz_input *in)
{
    return (fuzz_draw){(const uint8_t *)in->text, in->n};
}

/* Returns a number below n, which is 256 at most; 0 past the end of the input. */
static inline uint32_t fuzz_below(fuzz_draw *d, uint32_t n)
{
    if (d->left == 0)
        return 0;
    d->left--;
    return *d->at++ % n;
}

/* Returns one of a list of words. */
#define FUZZ_WORD(d, list) ((list)[fuzz_below((d), (uint32_t)(sizeof(list) / sizeof *(list)))])

/* Says which law a case is against and the command that shows it, and ends the program. */
_Noreturn void fuzz_broken(const char *command, const char *law, ...) RLT_PRINTF(2);

/* The families of laws. */
void fuzz_collectives(const fuzz_input *in);
void fuzz_alone(const fuzz_input *in);
void fuzz_layouts(const fuzz_input *in);
fuzz_change fuzz_change_layouts;

#endif
