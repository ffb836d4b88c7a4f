/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The version of a library that a text names, such as "2.30.7" or "rccl". */
#ifndef RLT_TEST_SUPPORT_NETWORKS_LIBRARY_H
#define RLT_TEST_SUPPORT_NETWORKS_LIBRARY_H

#include "net/endpoint/version.h"
#include "test/support/support.h"

static inline rlt_library_version test_version(const char *text)
{
    rlt_library_version v = {0};
    assert_int_equal(rlt_library_version_parse(text, &v, NULL), 0);
    return v;
}

#endif
