/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In place of the server where libmicrohttpd is not there to build with: says which package brings it. */
#include "sim/base/error.h"
#include "tools/serve/serve.h"

#ifndef RLT_WITH_HTTP
const char *rlt_http_version(void)
{
    return "not built in";
}

int rlt_http_open(uv_loop_t *loop, const char *address, uint16_t port, const rlt_http_door *door,
                  rlt_http **out, rlt_error *err)
{
    (void)loop;
    (void)address;
    (void)port;
    (void)door;
    *out = NULL;
    return rlt_fail(
        err, RLT_EUNSUPPORTED, "serve",
        "this ringlet was built without libmicrohttpd: apt-get install libmicrohttpd-dev, then make");
}

uint16_t rlt_http_port(const rlt_http *s)
{
    (void)s;
    return 0;
}

void rlt_http_close(rlt_http *s)
{
    (void)s;
}

void rlt_http_free(rlt_http *s)
{
    (void)s;
}
#endif
