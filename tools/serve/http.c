/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP/1 on libuv: one request a connection, each within limits of size and time. */
#ifdef RLT_WITH_HTTP
#include <http_parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/serve/serve.h"

enum { VALUE = 256, PATH = 512, N_HEADERS = 5, LINGER_MS = 1000 };
static const char *const header_names[N_HEADERS] = {"host", "origin", "content-type", "x-ringlet-token",
                                                    "if-none-match"};

typedef struct connection connection;
struct connection {
    rlt_http *server;
    connection *next;
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    http_parser parser;
    char path[PATH], field[32], values[N_HEADERS][VALUE], head[640];
    size_t path_n, field_n, value_n, received, body_n;
    char *body; /* as much as is asked for, once it comes */
    int header; /* being read; -1: one that nobody asks for */
    bool in_value, seen[N_HEADERS], answered, sent, closing;
    int refuse; /* status, where the request is bad */
    int open_handles;
    rlt_blob *blob;
};

struct rlt_http {
    uv_loop_t *loop;
    uv_tcp_t listener;
    connection *connections; /* newest first */
    uint32_t n;
    uint16_t port;
    http_parser_settings callbacks;
    rlt_http_answer (*answer)(void *ctx, const rlt_http_request *q);
    void *ctx;
};

static void on_handle_closed(uv_handle_t *handle)
{
    connection *c = handle->data;
    if (--c->open_handles)
        return;
    rlt_blob_drop(c->blob);
    free(c->body);
    free(c);
}

static void hang_up(connection *c)
{
    connection **at = &c->server->connections;
    if (c->closing)
        return;
    c->closing = true;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at) {
        *at = c->next;
        c->server->n--;
    }
    uv_close((uv_handle_t *)&c->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&c->timer, on_handle_closed);
}

static void on_time(uv_timer_t *timer)
{
    hang_up(timer->data);
}

static void on_room(uv_handle_t *handle, size_t asked, uv_buf_t *out);
static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);

/* Closing at once, with bytes not read, could take the answer from who has not read it: what still comes is
 * thrown away for a moment. */
static void on_sent(uv_write_t *write, int status)
{
    connection *c = write->data;
    if (c->closing)
        return;
    c->sent = true;
    if (status || uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, NULL) ||
        uv_read_start((uv_stream_t *)&c->tcp, on_room, on_bytes))
        hang_up(c);
    else
        uv_timer_start(&c->timer, on_time, LINGER_MS, 0);
}

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *words;
    } known[] = {{200, "OK"},
                 {202, "Accepted"},
                 {304, "Not Modified"},
                 {400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {413, "Content Too Large"},
                 {415, "Unsupported Media Type"},
                 {421, "Misdirected Request"},
                 {429, "Too Many Requests"},
                 {431, "Request Header Fields Too Large"},
                 {500, "Internal Server Error"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status)
            return known[i].words;
    return "Error";
}

static void send_answer(connection *c, rlt_http_answer a)
{
    bool head = c->parser.method == HTTP_HEAD && !c->refuse;
    c->answered = true;
    c->blob = a.body;
    if (!c->blob && a.status != 304) {
        char *words = strdup(reason(a.status));
        c->blob = rlt_blob_of(words, words ? strlen(words) : 0);
        a.type = "text/plain; charset=utf-8";
    }
    int n = snprintf(c->head, sizeof c->head,
                     "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\nContent-Type: %s\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                     "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
                     "Cross-Origin-Opener-Policy: same-origin\r\n%s%s%s%s%s%s\r\n",
                     a.status, reason(a.status), c->blob ? c->blob->n : 0, a.type ? a.type : "text/plain",
                     a.etag ? "ETag: " : "", a.etag ? a.etag : "", a.etag ? "\r\n" : "",
                     a.allow ? "Allow: " : "", a.allow ? a.allow : "", a.allow ? "\r\n" : "");
    uv_buf_t parts[2] = {uv_buf_init(c->head, (unsigned)n),
                         c->blob ? uv_buf_init(c->blob->bytes, (unsigned)c->blob->n) : uv_buf_init(NULL, 0)};
    uv_timer_start(&c->timer, on_time, RLT_HTTP_ANSWER_MS, 0);
    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, parts, head || !c->blob || !c->blob->n ? 1 : 2, on_sent))
        hang_up(c);
}

static int bad(connection *c, int status)
{
    c->refuse = c->refuse ? c->refuse : status;
    return 1;
}

static int on_url(http_parser *p, const char *at, size_t n)
{
    connection *c = p->data;
    if (n >= PATH - c->path_n)
        return bad(c, 431);
    memcpy(c->path + c->path_n, at, n);
    c->path_n += n;
    return 0;
}

static int on_field(http_parser *p, const char *at, size_t n)
{
    connection *c = p->data;
    if (c->in_value)
        c->field_n = 0;
    c->in_value = false;
    for (size_t i = 0; i < n;
         i++, c->field_n++) /* a longer name than any that is asked for is none of them */
        if (c->field_n < sizeof c->field - 1)
            c->field[c->field_n] = at[i];
    return 0;
}

static int on_value(http_parser *p, const char *at, size_t n)
{
    connection *c = p->data;
    if (!c->in_value) {
        c->in_value = true;
        c->header = -1;
        c->value_n = 0;
        for (int i = 0; i < N_HEADERS; i++)
            if (c->field_n == strlen(header_names[i]) &&
                strncasecmp(c->field, header_names[i], c->field_n) == 0)
                c->header = i;
        if (c->header >= 0 && c->seen[c->header])
            return bad(c, 400); /* which of the two is meant? */
        if (c->header >= 0)
            c->seen[c->header] = true;
    }
    if (c->header < 0)
        return 0;
    if (n >= VALUE - c->value_n)
        return bad(c, 431);
    memcpy(c->values[c->header] + c->value_n, at, n);
    c->value_n += n;
    return 0;
}

static int on_headers(http_parser *p)
{
    connection *c = p->data;
    if (p->http_major != 1)
        return -bad(c, 505);
    /* To the parser 1 would mean: no body. */
    if (p->content_length != UINT64_MAX && p->content_length > RLT_HTTP_BODY_BYTES)
        return -bad(c, 413);
    return p->upgrade ? -bad(c, 400) : 0;
}

static int on_body(http_parser *p, const char *at, size_t n)
{
    connection *c = p->data;
    if (n > RLT_HTTP_BODY_BYTES - c->body_n)
        return bad(c, 413);
    if (!c->body && !(c->body = calloc(1, RLT_HTTP_BODY_BYTES + 1)))
        return bad(c, 500);
    memcpy(c->body + c->body_n, at, n);
    c->body_n += n;
    return 0;
}

static int on_complete(http_parser *p)
{
    connection *c = p->data;
    http_parser_pause(p, 1); /* what follows is not for us */
    char *query = strchr(c->path, '?');
    if (query)
        *query = '\0';
    rlt_http_request q = {.method = http_method_str((enum http_method)p->method),
                          .path = c->path,
                          .host = c->values[0],
                          .origin = c->values[1],
                          .type = c->values[2],
                          .token = c->values[3],
                          .etag = c->values[4],
                          .body = c->body ? c->body : "",
                          .body_bytes = c->body_n};
    send_answer(c, c->server->answer(c->server->ctx, &q));
    return 0;
}

static void on_room(uv_handle_t *handle, size_t asked, uv_buf_t *out)
{
    static char shared[4096]; /* one thread, and what is read is used before the next read */
    (void)handle;
    (void)asked;
    *out = uv_buf_init(shared, sizeof shared);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    connection *c = stream->data;
    if (n < 0) {
        if (c->answered && !c->sent && n == UV_EOF)
            uv_read_stop(stream); /* half closed: the answer still goes out */
        else
            hang_up(c);
        return;
    }
    if (c->answered || n == 0)
        return; /* what follows a request is not read */
    c->received += (size_t)n;
    size_t used = http_parser_execute(&c->parser, &c->server->callbacks, buffer->base, (size_t)n);
    if (c->answered) {
        uv_read_stop(stream);
        return;
    }
    if (c->refuse || used != (size_t)n || c->parser.upgrade) {
        if (!c->refuse)
            c->refuse = HTTP_PARSER_ERRNO(&c->parser) == HPE_HEADER_OVERFLOW ? 431 : 400;
        uv_read_stop(stream);
        send_answer(c, (rlt_http_answer){.status = c->refuse});
    } else if (c->received > RLT_HTTP_HEADER_BYTES + 2 * RLT_HTTP_BODY_BYTES)
        hang_up(c);
}

static void make_room(rlt_http *s)
{
    connection *oldest = NULL;
    for (connection *c = s->connections; c; c = c->next)
        if (!c->answered || !oldest || oldest->answered)
            oldest = c;
    if (oldest)
        hang_up(oldest);
}

static void on_connection(uv_stream_t *listener, int status)
{
    rlt_http *s = listener->data;
    if (status < 0)
        return;
    if (s->n >= RLT_HTTP_CONNECTIONS)
        make_room(s);
    connection *c = calloc(1, sizeof *c);
    if (!c)
        return;
    c->server = s;
    uv_tcp_init(s->loop, &c->tcp);
    uv_timer_init(s->loop, &c->timer);
    c->tcp.data = c->timer.data = c->write.data = c->parser.data = c;
    c->open_handles = 2;
    c->next = s->connections;
    s->connections = c;
    s->n++;
    http_parser_init(&c->parser, HTTP_REQUEST);
    c->parser.data = c;
    uv_timer_start(&c->timer, on_time, RLT_HTTP_REQUEST_MS, 0);
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) ||
        uv_read_start((uv_stream_t *)&c->tcp, on_room, on_bytes))
        hang_up(c);
}

static int listen_on(rlt_http *s, const char *address, uint16_t port, rlt_error *err)
{
    struct sockaddr_storage place;
    int length = sizeof place;
    memset(&place, 0, sizeof place);
    if (uv_ip4_addr(address, port, (struct sockaddr_in *)&place) &&
        uv_ip6_addr(address, port, (struct sockaddr_in6 *)&place))
        return rlt_fail(err, RLT_EUSAGE, "--address", "expected an IP address, got '%s'", address);
    int rc = uv_tcp_bind(&s->listener, (struct sockaddr *)&place, 0);
    if (!rc)
        rc = uv_listen((uv_stream_t *)&s->listener, RLT_HTTP_CONNECTIONS, on_connection);
    if (!rc)
        rc = uv_tcp_getsockname(&s->listener, (struct sockaddr *)&place, &length);
    if (rc)
        return rlt_fail(err, RLT_EIO, "serve", "cannot listen on %s port %u: %s", address, port,
                        uv_strerror(rc));
    s->port = ntohs(place.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&place)->sin6_port
                                                : ((struct sockaddr_in *)&place)->sin_port);
    return 0;
}

int rlt_http_open(uv_loop_t *loop, const char *address, uint16_t port,
                  rlt_http_answer (*answer)(void *ctx, const rlt_http_request *q), void *ctx, rlt_http **out,
                  rlt_error *err)
{
    rlt_http *s = calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return rlt_nomem(err);
    s->loop = loop;
    s->answer = answer;
    s->ctx = ctx;
    http_parser_set_max_header_size(RLT_HTTP_HEADER_BYTES);
    http_parser_settings_init(&s->callbacks);
    s->callbacks.on_url = on_url;
    s->callbacks.on_header_field = on_field;
    s->callbacks.on_header_value = on_value;
    s->callbacks.on_headers_complete = on_headers;
    s->callbacks.on_body = on_body;
    s->callbacks.on_message_complete = on_complete;
    uv_tcp_init(loop, &s->listener);
    s->listener.data = s;
    return listen_on(s, address, port, err);
}

uint16_t rlt_http_port(const rlt_http *s)
{
    return s->port;
}

void rlt_http_close(rlt_http *s)
{
    if (!s)
        return;
    if (!uv_is_closing((uv_handle_t *)&s->listener))
        uv_close((uv_handle_t *)&s->listener, NULL);
    while (s->connections)
        hang_up(s->connections);
}

void rlt_http_free(rlt_http *s)
{
    free(s);
}

const char *rlt_http_version(void)
{
    static const char words[] = {'0' + HTTP_PARSER_VERSION_MAJOR, '.', '0' + HTTP_PARSER_VERSION_MINOR, '.',
                                 '0' + HTTP_PARSER_VERSION_PATCH, '\0'};
    return words;
}
#endif
