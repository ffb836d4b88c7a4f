/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the common command, which has no HTTP: it hands over to the executable that has. */
#include <stddef.h>

#include "sim/base/error.h"
#include "tools/base/beside.h"
#include "tools/serve/serve.h"

static const rlt_beside server = {.name = "ringlet-serve",
                                  .command = "serve",
                                  .need = "a server needs",
                                  .package = "ringlet",
                                  .library = "libmicrohttpd",
                                  .packages = "libmicrohttpd-dev",
                                  .otherwise = ""};

const char *rlt_http_version(void)
{
    return rlt_beside_there(&server) ? "in ringlet-serve" : "not built in";
}

/* If that executable is missing, rlt_http_open reports it, after help and errors of the command line. */
int rlt_http_become(char **argv, rlt_error *err)
{
    return rlt_beside_there(&server) ? rlt_beside_become(&server, argv, err) : 0;
}

int rlt_http_open(uv_loop_t *loop, const char *address, uint16_t port, const rlt_http_door *door,
                  rlt_http **out, rlt_error *err)
{
    (void)loop;
    (void)address;
    (void)port;
    (void)door;
    *out = NULL;
    return rlt_beside_missing(&server, err);
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
