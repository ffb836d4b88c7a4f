/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP/1 by libmicrohttpd. The libuv loop watches its epoll descriptor: one thread, one request a connection.
 * The library reads requests and writes answers. This file adds the limits that it lacks: a time for a whole
 * request (the library's own timeout restarts with each byte), and room for the next visitor. Linked into
 * ringlet-serve only; no other file knows the library.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "sim/base/error.h"
#include "tools/serve/serve.h"

enum {
    POOL_BYTES = 2 * RLT_HTTP_HEADER_BYTES, /* headers of a request and of an answer */
    SPARE_CONNECTIONS = 64,                 /* hung up on, which the library has not noticed yet */
    CHECK_MS = 200                          /* longest delay before an expired time limit is noticed */
};

typedef struct visitor visitor;
struct visitor {
    rlt_http *server;
    visitor *next;
    int fd; /* the library's descriptor; -1 once hung up on */
    uint64_t until_ms;
    bool begun, answered;
    char *body;
    size_t body_bytes, body_n; /* announced and received */
};

struct rlt_http {
    uv_poll_t ready;
    uv_timer_t timer;
    struct MHD_Daemon *daemon;
    visitor *visitors; /* newest first */
    uint32_t n;        /* visitors not hung up on */
    uint16_t port;
    rlt_http_limits limits;
    rlt_http_answer (*answer)(void *ctx, const rlt_http_request *q);
    void *ctx;
};

/* Shuts the connection down. The library then notices its end, closes it, and calls on_visitor. */
static void hang_up(visitor *v)
{
    shutdown(v->fd, SHUT_RDWR);
    v->fd = -1;
    v->server->n--;
}

static void make_room(rlt_http *s)
{
    visitor *oldest = NULL;
    for (visitor *v = s->visitors; v; v = v->next)
        if (v->fd >= 0 && (!v->answered || !oldest || oldest->answered))
            oldest = v;
    if (oldest)
        hang_up(oldest);
}

static void arrive(rlt_http *s, struct MHD_Connection *c, void **own)
{
    visitor *v = calloc(1, sizeof *v);
    if (s->n >= RLT_HTTP_CONNECTIONS)
        make_room(s);
    *own = v;
    if (!v)
        return; /* on_request closes */
    *v = (visitor){.server = s,
                   .next = s->visitors,
                   .fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                   .until_ms = uv_now(s->timer.loop) + s->limits.request_ms};
    s->visitors = v;
    s->n++;
}

static void leave(visitor *v)
{
    visitor **at = &v->server->visitors;
    char unread[4096];
    /* Reads the rest of the request: closing a socket with unread bytes could discard the answer before it
     * arrives. */
    for (int i = 0; v->fd >= 0 && i < 256 && recv(v->fd, unread, sizeof unread, MSG_DONTWAIT) > 0; i++)
        ;
    while (*at != v)
        at = &(*at)->next;
    *at = v->next;
    v->server->n -= v->fd >= 0;
    free(v->body);
    free(v);
}

static void on_visitor(void *ctx, struct MHD_Connection *c, void **own,
                       enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        arrive(ctx, c, own);
    else if (*own)
        leave(*own);
}

static void drop_blob(void *blob)
{
    rlt_blob_drop(blob);
}

static enum MHD_Result send_answer(struct MHD_Connection *c, visitor *v, rlt_http_answer a)
{
    static const char *const always[][2] = {{"Connection", "close"},
                                            {"Cache-Control", "no-store"},
                                            {"X-Content-Type-Options", "nosniff"},
                                            {"X-Frame-Options", "DENY"},
                                            {"Referrer-Policy", "no-referrer"},
                                            {"Cross-Origin-Resource-Policy", "same-origin"},
                                            {"Cross-Origin-Opener-Policy", "same-origin"}};
    const char *words = MHD_get_reason_phrase_for((unsigned)a.status);
    struct MHD_Response *r =
        a.body ? MHD_create_response_from_buffer_with_free_callback_cls(a.body->n, a.body->bytes, drop_blob,
                                                                        a.body)
               : MHD_create_response_from_buffer(a.status == 304 ? 0 : strlen(words),
                                                 (void *)(uintptr_t)words, MHD_RESPMEM_PERSISTENT);
    if (!r) {
        rlt_blob_drop(a.body);
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        MHD_add_response_header(r, always[i][0], always[i][1]);
    MHD_add_response_header(r, "Content-Type", a.body && a.type ? a.type : "text/plain; charset=utf-8");
    if (a.etag)
        MHD_add_response_header(r, "ETag", a.etag);
    if (a.allow)
        MHD_add_response_header(r, "Allow", a.allow);
    v->answered = true;
    v->until_ms = uv_now(v->server->timer.loop) + v->server->limits.answer_ms;
    enum MHD_Result rc = MHD_queue_response(c, (unsigned)a.status, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result count_one(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    uint32_t *seen = ctx;
    static const char *const once[] = {
        "Host",          "Origin",         "Content-Type",     "X-Ringlet-Token",
        "If-None-Match", "Content-Length", "Transfer-Encoding"};
    (void)kind;
    (void)value;
    for (uint32_t i = 0; i < sizeof once / sizeof *once; i++)
        if (strcasecmp(name, once[i]) == 0)
            *seen |= *seen >> i & 1 ? 1u << 31 : 1u << i;
    return MHD_YES;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    return value ? value : "";
}

/* A browser's first request has the token in its address, those of the page have it in a header. */
static const char *token_of(struct MHD_Connection *c)
{
    const char *token = header(c, "X-Ringlet-Token"),
               *query = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
    return *token || !query ? token : query;
}

/* Checks the headers of a request and makes room for its body. Returns 0, or the status of the refusal. A
 * body must announce its length: one sent in chunks could not be refused before it has arrived. */
static int check_headers(struct MHD_Connection *c, visitor *v)
{
    uint32_t seen = 0;
    const char *length = header(c, "Content-Length");
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_one, &seen);
    if (seen >> 31)
        return MHD_HTTP_BAD_REQUEST; /* a header stands twice: it is ambiguous */
    if (MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size >
        RLT_HTTP_HEADER_BYTES)
        return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
    if (*header(c, "Transfer-Encoding"))
        return *length ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_LENGTH_REQUIRED;
    if (strlen(length) > 9 || strtoul(length, NULL, 10) > RLT_HTTP_BODY_BYTES)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    v->body_bytes = strtoul(length, NULL, 10);
    v->body = calloc(1, v->body_bytes + 1);
    return v->body ? 0 : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

/* Called by the library: once with the headers, then with each piece of the body, then once at the end. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *piece, size_t *piece_bytes, void **own)
{
    rlt_http *s = ctx;
    visitor *v = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    (void)version;
    (void)own;
    if (!v || v->answered || *piece_bytes > v->body_bytes - v->body_n)
        return MHD_NO;
    if (!v->begun) {
        v->begun = true;
        int status = check_headers(c, v);
        return status ? send_answer(c, v, (rlt_http_answer){.status = status}) : MHD_YES;
    }
    if (*piece_bytes) {
        memcpy(v->body + v->body_n, piece, *piece_bytes);
        v->body_n += *piece_bytes;
        *piece_bytes = 0;
        return MHD_YES;
    }
    rlt_http_request q = {.method = method,
                          .path = path,
                          .host = header(c, "Host"),
                          .origin = header(c, "Origin"),
                          .type = header(c, "Content-Type"),
                          .token = token_of(c),
                          .etag = header(c, "If-None-Match"),
                          .body = v->body,
                          .body_bytes = v->body_n};
    return send_answer(c, v, s->answer(s->ctx, &q));
}

/* Keeps percent signs: paths are compared as they were sent. */
static size_t leave_as_sent(void *ctx, struct MHD_Connection *c, char *text)
{
    (void)ctx;
    (void)c;
    return strlen(text);
}

static void on_timer(uv_timer_t *timer);

static void serve(rlt_http *s)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    MHD_run(s->daemon);
    if (MHD_get_timeout(s->daemon, &wait_ms) != MHD_YES || wait_ms > CHECK_MS)
        wait_ms = CHECK_MS;
    if (s->visitors)
        uv_timer_start(&s->timer, on_timer, wait_ms, 0);
}

static void on_timer(uv_timer_t *timer)
{
    rlt_http *s = timer->data;
    for (visitor *v = s->visitors; v; v = v->next)
        if (v->fd >= 0 && uv_now(timer->loop) >= v->until_ms)
            hang_up(v);
    serve(s);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    serve(poll->data);
}

int rlt_http_open(uv_loop_t *loop, const char *address, uint16_t port, const rlt_http_door *door,
                  rlt_http **out, rlt_error *err)
{
    struct sockaddr_storage place = {0};
    rlt_http *s = calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return rlt_nomem(err);
    s->limits = door->limits;
    s->answer = door->answer;
    s->ctx = door->ctx;
    if (uv_ip4_addr(address, port, (struct sockaddr_in *)&place) &&
        uv_ip6_addr(address, port, (struct sockaddr_in6 *)&place))
        return rlt_fail(err, RLT_EUSAGE, "--address", "expected an IP address, got '%s'", address);
    errno = 0;
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | (place.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0), port, NULL, NULL, on_request, s,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&place, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(RLT_HTTP_CONNECTIONS + SPARE_CONNECTIONS), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)POOL_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_visitor, s, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_as_sent, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!s->daemon)
        return rlt_fail(err, RLT_EIO, "serve", "cannot listen on %s port %u: %s", address, port,
                        errno ? strerror(errno) : "libmicrohttpd does not start");
    s->port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    uv_timer_init(loop, &s->timer);
    uv_poll_init(loop, &s->ready, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
    s->timer.data = s->ready.data = s;
    return uv_poll_start(&s->ready, UV_READABLE, on_ready) ? rlt_nomem(err) : 0;
}

uint16_t rlt_http_port(const rlt_http *s)
{
    return s->port;
}

void rlt_http_close(rlt_http *s)
{
    if (!s || !s->daemon)
        return;
    uv_close((uv_handle_t *)&s->ready, NULL);
    uv_close((uv_handle_t *)&s->timer, NULL);
    MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
}

void rlt_http_free(rlt_http *s)
{
    free(s);
}

const char *rlt_http_version(void)
{
    return MHD_get_version();
}

int rlt_http_become(char **argv, rlt_error *err)
{
    (void)argv;
    (void)err;
    return 0;
}
