/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers of the server: the page, the study's data, and what-ifs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/text/json.h"
#include "tools/report/page.h"
#include "tools/report/study_data.h"
#include "tools/report/study_page.h"
#include "tools/serve/options.h"
#include "tools/serve/serve.h"

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

enum { TOKEN_BYTES = 24, FRESH_MS = 1000 };

struct rlt_pages {
    const char *study, *address;
    rlt_runs *runs;
    uint16_t port;
    char token[2 * TOKEN_BYTES + 1], etag[24];
    rlt_blob *data, *page;
    uint64_t signature, read_at_ms;
};

/* Returns a number that changes when the file or its log changes. */
static uint64_t signature_of(const char *path)
{
    char log[4200];
    struct stat st;
    int64_t parts[6] = {0};
    snprintf(log, sizeof log, "%.4090s-wal", path);
    for (int i = 0; i < 2; i++)
        if (stat(i ? log : path, &st) == 0) {
            parts[3 * i] = (int64_t)st.st_mtim.tv_sec;
            parts[3 * i + 1] = (int64_t)st.st_mtim.tv_nsec;
            parts[3 * i + 2] = (int64_t)st.st_size;
        }
    return rlt_hash_bytes(parts, sizeof parts, 1);
}

static int read_study(rlt_pages *p, rlt_error *err)
{
    rlt_jw w;
    size_t n;
    uint64_t signature = signature_of(p->study);
    int rc = rlt_study_json(p->study, &w, err);
    if (!rc) {
        rlt_jw_object(&w, "live");
        rlt_jw_string(&w, "token", p->token);
        rlt_jw_array(&w, "options");
        for (uint32_t i = 0; rlt_runs_option(p->runs, i); i++)
            rlt_jw_string(&w, NULL, rlt_runs_option(p->runs, i));
        rlt_jw_end_array(&w);
        rlt_jw_end_object(&w);
        rlt_jw_end_object(&w);
    }
    char *text = rlt_jw_finish(&w, &n), *page = NULL;
    if (!rc && text) {
        char *escaped = rlt_page_escape(text, n);
        size_t head = strlen(rlt__page_head), middle = escaped ? strlen(escaped) : 0,
               tail = strlen(rlt__page_tail);
        if (escaped && (page = malloc(head + middle + tail + 1))) {
            memcpy(page, rlt__page_head, head);
            memcpy(page + head, escaped, middle);
            memcpy(page + head + middle, rlt__page_tail, tail + 1);
        }
        free(escaped);
    }
    rlt_blob *data = !rc && page ? rlt_blob_of(text, n) : NULL;
    rlt_blob *whole = page ? rlt_blob_of(page, strlen(page)) : NULL;
    if (!data || !whole) {
        if (!data && (rc || !page))
            free(text);
        rlt_blob_drop(data);
        rlt_blob_drop(whole);
        return rc ? rc : rlt_nomem(err);
    }
    rlt_blob_drop(p->data);
    rlt_blob_drop(p->page);
    p->data = data;
    p->page = whole;
    p->signature = signature;
    snprintf(p->etag, sizeof p->etag, "\"%016" PRIx64 "\"", signature);
    return 0;
}

/* Reads the study again if it changed, at most once a second. If it cannot be read, its last page stays. */
static void refresh(rlt_pages *p)
{
    uint64_t now = uv_hrtime() / 1000000;
    rlt_error err = {0};
    if (now - p->read_at_ms < FRESH_MS || signature_of(p->study) == p->signature)
        return;
    if (read_study(p, &err))
        p->signature = 0;
    p->read_at_ms = uv_hrtime() / 1000000;
}

static int ask_command(rlt_pages *p, rlt_error *err)
{
    rlt_study *s = NULL;
    rlt_study_head h;
    int rc = rlt_study_open(p->study, &s, err);
    if (!rc && !(rc = rlt_study_head_of(s, &h, err)))
        rc = rlt_runs_of_study(p->runs, h.command && strcmp(h.command, "coll") == 0, h.text ? h.text : "",
                               err);
    rlt_study_close(s);
    return rc;
}

int rlt_pages_open(const char *study, const char *address, rlt_runs *runs, rlt_pages **out, rlt_error *err)
{
    unsigned char random[TOKEN_BYTES];
    rlt_pages *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return rlt_nomem(err);
    p->study = study;
    p->address = address;
    p->runs = runs;
    if (uv_random(NULL, NULL, random, sizeof random, 0, NULL))
        return rlt_fail(err, RLT_EIO, "serve", "no random numbers for the token");
    for (int i = 0; i < TOKEN_BYTES; i++)
        snprintf(p->token + 2 * i, 3, "%02x", random[i]);
    int rc = ask_command(p, err);
    return rc ? rc : read_study(p, err);
}

void rlt_pages_port(rlt_pages *p, uint16_t port)
{
    p->port = port;
}

const char *rlt_pages_token(const rlt_pages *p)
{
    return p->token;
}

void rlt_pages_free(rlt_pages *p)
{
    if (!p)
        return;
    rlt_blob_drop(p->data);
    rlt_blob_drop(p->page);
    free(p);
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Returns true if a Host ("name" or "name:port") is this server. Only its number and localhost are accepted:
 * a stranger can make any other name point here. */
static bool host_is_mine(const rlt_pages *p, const char *host)
{
    char name[128], port[16];
    struct sockaddr_storage ignored;
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
    size_t n = end ? (size_t)(end - host) : strlen(host);
    const char *after = end && *end == ']' ? end + 1 : end;
    if (n == 0 || n >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(host[0] == '[' ? n - 1 : n), host[0] == '[' ? host + 1 : host);
    snprintf(port, sizeof port, ":%u", p->port);
    if (after && *after ? strcmp(after, port) != 0 : p->port != 80)
        return false;
    if (strcmp(name, "localhost") == 0 || is_loopback(name))
        return is_loopback(name)
                   ? uv_ip4_addr(name, 0, (struct sockaddr_in *)&ignored) == 0 || strcmp(name, "::1") == 0
                   : true;
    if (is_loopback(p->address))
        return false;
    return uv_ip4_addr(name, 0, (struct sockaddr_in *)&ignored) == 0 ||
           uv_ip6_addr(name, 0, (struct sockaddr_in6 *)&ignored) == 0;
}

static bool origin_is_mine(const rlt_http_request *q)
{
    return strncmp(q->origin, "http://", 7) == 0 && strcmp(q->origin + 7, q->host) == 0;
}

/* Compares tokens in constant time. */
static bool token_is_mine(const rlt_pages *p, const char *token)
{
    unsigned differ = strlen(token) != 2 * TOKEN_BYTES;
    for (int i = 0; i < 2 * TOKEN_BYTES && token[i]; i++)
        differ |= (unsigned)(unsigned char)(token[i] ^ p->token[i]);
    return differ == 0;
}

static rlt_http_answer json_answer(int status, rlt_jw *w)
{
    size_t n;
    rlt_jw_end_object(w);
    char *text = rlt_jw_finish(w, &n);
    rlt_blob *b = rlt_blob_of(text, text ? n : 0);
    return (rlt_http_answer){.status = b ? status : 500, .type = "application/json", .body = b};
}

static void error_json(rlt_jw *w, const rlt_error *err)
{
    char text[sizeof err->where + sizeof err->what + 4];
    snprintf(text, sizeof text, "%s%s%s", err->where, err->where[0] ? ": " : "", err->what);
    rlt_jw_string(w, "error", text);
}

/* Answers with the options of a point, to start a what-if from. */
static rlt_http_answer point_options(rlt_pages *p, const char *number)
{
    rlt_error err = {0};
    rlt_jw w;
    char *end;
    long long point = strtoll(number, &end, 10);
    if (end == number || *end || number[0] < '0' || number[0] > '9')
        return (rlt_http_answer){.status = 404};
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    int rc = rlt_point_options_json(p->study, point, p->runs, &w, &err);
    if (rc)
        error_json(&w, &err);
    return json_answer(!rc ? 200 : rc == RLT_ERANGE ? 404 : 500, &w);
}

static rlt_http_answer start_run(rlt_pages *p, const rlt_http_request *q)
{
    rlt_error err = {0};
    rlt_jw w;
    uint32_t id = 0;
    if (!origin_is_mine(q))
        return (rlt_http_answer){.status = 403};
    if (strcmp(q->type, "application/json") != 0)
        return (rlt_http_answer){.status = 415};
    int rc = rlt_runs_start(p->runs, q->body, q->body_bytes, &id, &err);
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    if (!rc)
        rlt_jw_u64(&w, "id", id);
    else
        error_json(&w, &err);
    return json_answer(!rc ? 202 : rc == RLT_ERANGE ? 429 : rc == RLT_ENOMEM ? 500 : 400, &w);
}

static rlt_http_answer study_answer(rlt_pages *p, const rlt_http_request *q, bool page)
{
    refresh(p);
    if (!page && strcmp(q->etag, p->etag) == 0)
        return (rlt_http_answer){.status = 304, .etag = p->etag};
    rlt_blob *b = page ? p->page : p->data;
    b->references++;
    return (rlt_http_answer){.status = 200,
                             .type = page ? "text/html; charset=utf-8" : "application/json",
                             .etag = page ? NULL : p->etag,
                             .body = b};
}

/* For who typed the address without its end, or opened a server that has been started again. */
static rlt_http_answer no_token(void)
{
    char *text = strdup("Open the whole address that 'ringlet serve' printed when it started: it ends in "
                        "?token=..., which keeps other users of the machine out.\n");
    return (rlt_http_answer){.status = 403, .body = rlt_blob_of(text, text ? strlen(text) : 0)};
}

rlt_http_answer rlt_pages_answer(void *ctx, const rlt_http_request *q)
{
    rlt_pages *p = ctx;
    bool get = strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0,
         post = strcmp(q->method, "POST") == 0;
    bool runs = strcmp(q->path, "/runs") == 0, page = strcmp(q->path, "/") == 0;
    if (!host_is_mine(p, q->host))
        return (rlt_http_answer){.status = 421};
    if (!token_is_mine(p, q->token))
        return no_token();
    bool options = strncmp(q->path, "/options/", 9) == 0;
    if (!runs && !page && !options && strcmp(q->path, "/data") != 0)
        return (rlt_http_answer){.status = 404};
    if (!get && !(runs && post))
        return (rlt_http_answer){.status = 405, .allow = runs ? "GET, HEAD, POST" : "GET, HEAD"};
    if (runs && post)
        return start_run(p, q);
    if (options)
        return point_options(p, q->path + 9);
    if (!runs)
        return study_answer(p, q, page);
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    rlt_runs_json(p->runs, &w);
    return json_answer(200, &w);
}
