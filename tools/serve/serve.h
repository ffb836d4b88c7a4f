/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet serve`: the page of a study over HTTP, live, with what-ifs. In parts: http.c reads requests
 * and writes answers within limits and knows nothing of studies; pages.c answers; runs.c starts
 * what-ifs as processes of their own. One thread, one libuv loop; nothing blocks but reading the study.
 *
 * Who may do what: only requests whose Host is this server are answered, so that a name that a stranger
 * points here gets nothing; what changes anything needs, too, the token that is in the page, an Origin that
 * is this server, and a JSON body, which a page of another origin cannot send without being asked.
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
    RLT_HTTP_CONNECTIONS = 64, /* past these the one that has waited longest for its request is closed */
    RLT_HTTP_HEADER_BYTES = 8192,
    RLT_HTTP_BODY_BYTES = 16384,
};

/* ---- requests and answers */

/* Bytes that several answers share. */
typedef struct rlt_blob {
    uint32_t references;
    size_t n;
    char *bytes; /* malloc'ed */
} rlt_blob;
/* Takes `bytes` over, also on failure (NULL: no memory; `bytes` may be NULL). One reference. */
rlt_blob *rlt_blob_of(char *bytes, size_t n);
void rlt_blob_drop(rlt_blob *b);

typedef struct rlt_http_request {
    const char *method, *path;                       /* path without its query */
    const char *host, *origin, *type, *token, *etag; /* "" where absent */
    const char *body;
    size_t body_bytes;
} rlt_http_request;

typedef struct rlt_http_answer {
    int status;
    const char *type;  /* of the body */
    const char *etag;  /* NULL: none */
    const char *allow; /* of status 405 */
    rlt_blob *body;    /* a reference is taken over; NULL: the status' own words */
} rlt_http_answer;

typedef struct rlt_http_limits {
    uint64_t request_ms; /* for a whole request, from the connection on */
    uint64_t answer_ms;  /* for taking the answer */
} rlt_http_limits;

/* Who answers: called for each whole request. */
typedef struct rlt_http_door {
    rlt_http_limits limits;
    rlt_http_answer (*answer)(void *ctx, const rlt_http_request *q);
    void *ctx;
} rlt_http_door;

typedef struct rlt_http rlt_http;
/* Version of libmicrohttpd, or what ringlet says of it. */
const char *rlt_http_version(void);
/* Only the executable ringlet-serve, which stands beside ringlet, is linked with libmicrohttpd: http.c there,
 * none.c in ringlet, which becomes ringlet-serve here. Returns where there is nothing to become. */
int rlt_http_become(char **argv, rlt_error *err) RLT_MUST_USE;
/* RLT_EUNSUPPORTED: ringlet-serve is missing. To be closed and freed after a failure, too. */
int rlt_http_open(uv_loop_t *loop, const char *address, uint16_t port, const rlt_http_door *door,
                  rlt_http **out, rlt_error *err) RLT_MUST_USE;
uint16_t rlt_http_port(const rlt_http *s);
/* Closes all connections; the loop must run on until nothing is left, then free. */
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
/* Before the first: whether they are of `ringlet coll`, and the study's text, which may name files outside of
 * the working folder; what-ifs may name only those. */
int rlt_runs_of_study(rlt_runs *r, bool coll, const char *text, rlt_error *err) RLT_MUST_USE;
/* {"name": "...", "options": {"topology": "...", ...}}: only options of the command that read and write no
 * file of their own beside the inputs they name. RLT_EUSAGE, RLT_ESCHEMA: what is wrong; RLT_ERANGE: too many
 * wait. *id. */
int rlt_runs_start(rlt_runs *r, const char *body, size_t length, uint32_t *id, rlt_error *err) RLT_MUST_USE;
/* The i-th option that may be given; NULL past the end. */
const char *rlt_runs_option(const rlt_runs *r, uint32_t i);
bool rlt_runs_allows(const rlt_runs *r, const char *option);
/* [{id, name, options, state, error, figures, busiest_link}] */
void rlt_runs_json(const rlt_runs *r, rlt_jw *w);
/* Ends all processes; the loop must run on until nothing is left, then free. */
void rlt_runs_close(rlt_runs *r);
void rlt_runs_free(rlt_runs *r);

/* ---- pages */

typedef struct rlt_pages rlt_pages;
/* Reads the study once, so that what is wrong shows at once; what-ifs are of its command. All is borrowed. */
int rlt_pages_open(const char *study, const char *address, rlt_runs *runs, rlt_pages **out,
                   rlt_error *err) RLT_MUST_USE;
void rlt_pages_port(rlt_pages *p, uint16_t port);
rlt_http_answer rlt_pages_answer(void *ctx, const rlt_http_request *q);
void rlt_pages_free(rlt_pages *p);

#endif
