/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/formats/text.h"

#include <stdbool.h>
#include <string.h>

void rlt_plain_name(const char *name, char *out, size_t size)
{
    size_t i = 0;
    for (; name[i] && i + 1 < size; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("_-.+(),=:", c);
        out[i] = plain ? c : '_';
    }
    out[i] = '\0';
}
