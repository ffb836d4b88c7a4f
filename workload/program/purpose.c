/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Purpose of a communication, from the words of its group's label. */
#include <ctype.h>
#include <string.h>

#include "workload/program/program.h"

static uint32_t bit(rlt_purpose p)
{
    return 1u << p;
}

/* Returns the purpose that a word names. */
static rlt_purpose word_purpose(const char *word, size_t length)
{
    static const struct {
        const char *word;
        rlt_purpose purpose;
    } words[] = {{"tp", RLT_FOR_TP},   {"tensor", RLT_FOR_TP},   {"cp", RLT_FOR_CP}, {"context", RLT_FOR_CP},
                 {"ep", RLT_FOR_EP},   {"expert", RLT_FOR_EP},   {"dp", RLT_FOR_DP}, {"data", RLT_FOR_DP},
                 {"ddp", RLT_FOR_DP},  {"fsdp", RLT_FOR_DP},     {"pp", RLT_FOR_PP}, {"pipeline", RLT_FOR_PP},
                 {"tied", RLT_FOR_PP}, {"embedding", RLT_FOR_PP}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = 0;
        while (k < length && tolower((unsigned char)word[k]) == words[i].word[k])
            k++;
        if (k == length && words[i].word[k] == '\0')
            return words[i].purpose;
    }
    return RLT_FOR_UNKNOWN;
}

/* Several axes: gradients are summed over data and context parallelism at once, and those of experts over
 * what is left of data parallelism. Experts may be split over the ranks of tensor parallelism, too. */
rlt_purpose rlt_purpose_of(const char *label)
{
    uint32_t found = 0;
    for (const char *at = label; *at;) {
        size_t length = 0;
        while (isalpha((unsigned char)at[length]))
            length++;
        rlt_purpose p = word_purpose(at, length);
        found |= p == RLT_FOR_UNKNOWN ? 0 : bit(p);
        at += length ? length : 1;
    }
    for (int p = RLT_FOR_TP; p <= RLT_FOR_PP; p++)
        if (found == bit((rlt_purpose)p))
            return (rlt_purpose)p;
    if (found == (bit(RLT_FOR_EP) | bit(RLT_FOR_DP)) || found == (bit(RLT_FOR_CP) | bit(RLT_FOR_DP)))
        return RLT_FOR_DP;
    return found == (bit(RLT_FOR_TP) | bit(RLT_FOR_EP)) ? RLT_FOR_EP : RLT_FOR_UNKNOWN;
}
