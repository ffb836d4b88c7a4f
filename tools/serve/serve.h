/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet serve`: the page of a study over HTTP, live, with what-ifs. http.c reads requests and writes
 * answers within limits, and knows nothing of studies. pages.c makes answers. runs.c runs what-ifs in child
 * processes. There is one thread with one libuv loop; only reading the study blocks.
 *
 * Access: a request is answered only if its Host is this server, so a foreign name that resolves to this
 * address gets nothing, and only with the secret token of the printed address, so other users of the machine
 * get nothing. The page sends the token in a header. It is no cookie: browsers send cookies to all ports of a
 * host, also to the server of another user. A request that changes something also needs an Origin that is
 * this server, and a JSON body. A page of another origin cannot send such a body without a preflight request,
 * which is refused.
 */
#ifndef RLT_TOOLS_SERVE_SERVE_H
#define RLT_TOOLS_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "sim/base/error.h"
#include "sim/text/json.h"

enum {
    RLT_HTTP_CONNECTIONS = 64, /* beyond: the one that waited longest is closed */
    RLT_HTTP_HEADER_BYTES = 8192,
    RLT_HTTP_BODY_BYTES = 16384,
};

/* ---- requests and answers */

/* Reference-counted bytes, shared by several answers. */
typedef struct rlt_blob {
    uint32_t references;
    size_t n;
    char *bytes; /* malloc'ed */
} rlt_blob;
/* Takes ownership of `bytes`, also on failure. Returns one reference; NULL: no memory. `bytes` may be
 * NULL. */
rlt_blob *rlt_blob_of(char *bytes, size_t n);
void rlt_blob_drop(rlt_blob *b);

typedef struct rlt_http_request {
    const char *method, *path;               /* path: without query */
    const char *host, *origin, *type, *etag; /* "": absent */
    const char *token;                       /* of X-Ringlet-Token, or else of the query; "": absent */
    const char *body;
    size_t body_bytes;
} rlt_http_request;

typedef struct rlt_http_answer {
    int status;
    const char *type;  /* content type of the body */
    const char *etag;  /* NULL: none */
    const char *allow; /* allowed methods, with status 405 */
    rlt_blob *body;    /* reference passed to the server; NULL: the status's own words */
} rlt_http_answer;

typedef struct rlt_http_limits {
    uint64_t request_ms; /* for a whole request, from the connection on */
    uint64_t answer_ms;  /* for taking the answer */
} rlt_http_limits;

/* The handler, called for each complete request. */
typedef struct rlt_http_door {
    rlt_http_limits limits;
    rlt_http_answer (*answer)(void *ctx, const rlt_http_request *q);
    void *ctx;
} rlt_http_door;

typedef struct rlt_http rlt_http;
/* Returns libmicrohttpd's version, or a text saying that it is not linked. */
const char *rlt_http_version(void);
/* Becomes ringlet-serve, the executable beside ringlet that is linked with libmicrohttpd (http.c; ringlet has
 * none.c). Returns if this is ringlet-serve already or it cannot be started. */
int rlt_http_become(char **argv, rlt_error *err) RLT_MUST_USE;
/* Opens a server. RLT_EUNSUPPORTED: ringlet-serve is missing. Close and free it after a failure, too. */
int rlt_http_open(uv_loop_t *loop, const char *address, uint16_t port, const rlt_http_door *door,
                  rlt_http **out, rlt_error *err) RLT_MUST_USE;
uint16_t rlt_http_port(const rlt_http *s);
/* Closes all connections. Free only after the loop has run until nothing is left. */
void rlt_http_close(rlt_http *s);
void rlt_http_free(rlt_http *s);

/* ---- what-ifs */

typedef struct rlt_runs rlt_runs;
typedef struct rlt_runs_limits {
    uint32_t at_once, waiting, kept;
    uint64_t timeout_ms;
} rlt_runs_limits;

int rlt_runs_open(uv_loop_t *loop, const rlt_runs_limits *limits, rlt_runs **out,
                  rlt_error *err) RLT_MUST_USE;
/* Sets the study, before the first what-if. `coll`: its command is `ringlet coll`. The study's text may name
 * files outside the working folder; what-ifs may name only those. */
int rlt_runs_of_study(rlt_runs *r, bool coll, const char *text, rlt_error *err) RLT_MUST_USE;
/* Starts a what-if from {"name": "...", "options": {"topology": "...", ...}}. Options are limited to those
 * that read and write no files other than the inputs they name. Sets *id. RLT_EUSAGE, RLT_ESCHEMA: bad body;
 * RLT_ERANGE: too many wait. */
int rlt_runs_start(rlt_runs *r, const char *body, size_t length, uint32_t *id, rlt_error *err) RLT_MUST_USE;
/* Returns allowed option i; NULL past the end. */
const char *rlt_runs_option(const rlt_runs *r, uint32_t i);
bool rlt_runs_allows(const rlt_runs *r, const char *option);
/* Writes [{id, name, options, state, error, figures, busiest_link}]. */
void rlt_runs_json(const rlt_runs *r, rlt_jw *w);
/* Ends all processes. Free only after the loop has run until nothing is left. */
void rlt_runs_close(rlt_runs *r);
void rlt_runs_free(rlt_runs *r);

/* ---- pages */

typedef struct rlt_pages rlt_pages;
/* Opens the pages. Reads the study once, so that errors show at the start. What-ifs run the study's command.
 * All arguments are borrowed. */
int rlt_pages_open(const char *study, const char *address, rlt_runs *runs, rlt_pages **out,
                   rlt_error *err) RLT_MUST_USE;
void rlt_pages_port(rlt_pages *p, uint16_t port);
/* Returns the secret that requests must carry, random for each server. */
const char *rlt_pages_token(const rlt_pages *p);
rlt_http_answer rlt_pages_answer(void *ctx, const rlt_http_request *q);
void rlt_pages_free(rlt_pages *p);

#endif
