/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/endpoint/version.h"

#include <string.h>

enum { OLDEST = 18, NEWEST = 31, RCCL_ON = 22105 };

/* Reads a number of at most two digits, and moves *at behind it. Returns -1 if there is none. */
static int two_digits(const char **at)
{
    int value = -1, digits = 0;
    for (; **at >= '0' && **at <= '9' && digits < 2; digits++, (*at)++)
        value = (digits ? value * 10 : 0) + (**at - '0');
    return value;
}

static int bad_version(const char *text, rlt_error *err)
{
    return rlt_fail(err, RLT_EUSAGE, "version", "expected a version such as 2.23, 2.23.4 or rccl, got '%s'",
                    text);
}

int rlt_library_version_parse(const char *text, rlt_library_version *out, rlt_error *err)
{
    const char *at = strncmp(text, "nccl-", 5) == 0 ? text + 5 : text;
    int minor, patch = RLT_LAST_PATCH;
    if (strcmp(text, "rccl") == 0) {
        *out = (rlt_library_version){.number = RCCL_ON, .rccl = true};
        return 0;
    }
    int major = two_digits(&at);
    if (major < 0 || *at++ != '.' || (minor = two_digits(&at)) < 0)
        return bad_version(text, err);
    if (*at == '.') {
        at++;
        patch = two_digits(&at);
    }
    if (patch < 0 || *at)
        return bad_version(text, err);
    if (major != 2 || minor < OLDEST || minor > NEWEST)
        return rlt_fail(err, RLT_EUSAGE, "version", "the tuner is known from NCCL 2.%d to 2.%d, got '%s'",
                        OLDEST, NEWEST, text);
    *out = (rlt_library_version){.number = (uint32_t)(20000 + minor * 100 + patch)};
    return 0;
}
