/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet serve` under attack: raw sockets send forbidden requests, too much, too slowly, from another
 * origin, or without the secret of the printed address. Expected results follow from the limits of tools/serve/serve.h and from HTTP (RFC 9112).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/serve/serve.h"

enum {
    ROOM = 4 << 20,
    PATIENCE_S = 8,   /* until a connection ends; below the 10 s of the server */
    WHATEVER_S = 120, /* for what comes in the end, however busy the machine is */
};

typedef struct server {
    char folder[64], study[96], host[64], token[64];
    pid_t pid;
    int port;
    char *answer; /* to the last request */
} server;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *command(void)
{
    return getenv("RINGLET") ? getenv("RINGLET") : "build/ringlet";
}

static void start(server *s, const char *timeout)
{
    int out[2];
    char line[128] = "";
    assert_int_equal(pipe(out), 0);
    s->pid = fork();
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends if the test fails */
        dup2(out[1], 1);
        close(out[0]);
        execl(command(), "ringlet", "serve", s->study, "--port", "0", "--timeout", timeout, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    size_t n = 0;
    while (n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n')
        n++;
    close(out[0]);
    assert_int_equal(sscanf(line, "http://127.0.0.1:%d/?token=%48[0-9a-f]", &s->port, s->token), 2);
    assert_int_equal(strlen(s->token), 48);
    snprintf(s->host, sizeof s->host, "127.0.0.1:%d", s->port);
}

static int reach(const server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void put(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL);
        if (k <= 0)
            return; /* connection closed: the answer has the reason */
        bytes += k;
        n -= (size_t)k;
    }
}

/* Reads until the other side closes or `patience_s` has passed. Returns the status of the answer; 0: none. */
static int take(server *s, int fd, double patience_s)
{
    double until = now_s() + patience_s;
    size_t n = 0;
    int status = 0;
    while (n < ROOM - 1 && now_s() < until) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 50) <= 0)
            continue;
        ssize_t k = recv(fd, s->answer + n, ROOM - 1 - n, 0);
        if (k <= 0)
            break;
        n += (size_t)k;
    }
    s->answer[n] = '\0';
    close(fd);
    sscanf(s->answer, "HTTP/1.1 %d ", &status);
    return status;
}

static int exchange(server *s, const char *request, size_t n)
{
    int fd = reach(s);
    put(fd, request, n);
    return take(s, fd, WHATEVER_S);
}

/* Asks as another user of this machine could, who has not seen the printed address. */
static int ask_as_stranger(server *s, const char *method, const char *path, const char *headers,
                           const char *body)
{
    char *request = malloc(strlen(headers) + strlen(body) + 1024);
    assert_non_null(request);
    int n = sprintf(request, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s", method, path, s->host, headers, body);
    int status = exchange(s, request, (size_t)n);
    free(request);
    return status;
}

static int ask(server *s, const char *method, const char *path, const char *headers, const char *body)
{
    char all[1024];
    snprintf(all, sizeof all, "X-Ringlet-Token: %s\r\n%s", s->token, headers);
    return ask_as_stranger(s, method, path, all, body);
}

/* Posts a what-if as the page does. Each header may be replaced; NULL: the correct one, "": left out. */
static int post(server *s, const char *token, const char *origin, const char *type, const char *body)
{
    char headers[640] = "", good[96];
    snprintf(good, sizeof good, "http://%s", s->host);
    origin = origin ? origin : good;
    token = token ? token : s->token;
    if (*origin)
        sprintf(headers + strlen(headers), "Origin: %s\r\n", origin);
    if (*token)
        sprintf(headers + strlen(headers), "X-Ringlet-Token: %s\r\n", token);
    sprintf(headers + strlen(headers), "Content-Type: %s\r\nContent-Length: %zu\r\n",
            type ? type : "application/json", strlen(body));
    return ask_as_stranger(s, "POST", "/runs", headers, body);
}

static void nothing_started(server *s)
{
    assert_int_equal(ask(s, "GET", "/runs", "", ""), 200);
    assert_non_null(strstr(s->answer, "{\"runs\":[]}"));
}

static int setup(void **state)
{
    server *s = calloc(1, sizeof *s);
    char line[256];
    s->answer = malloc(ROOM);
    strcpy(s->folder, "/tmp/rlt-serve-XXXXXX");
    if (!mkdtemp(s->folder))
        return -1;
    snprintf(s->study, sizeof s->study, "%s/study.sqlite", s->folder);
    snprintf(line, sizeof line, "sqlite3 '%s' < test/page/study.sql", s->study);
    if (system(line))
        return -1;
    start(s, "20s");
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    server *s = *state;
    char line[128];
    int status = -1;
    kill(s->pid, SIGTERM);
    waitpid(s->pid, &status, 0);
    snprintf(line, sizeof line, "rm -rf '%s'", s->folder);
    int rc = system(line);
    free(s->answer);
    free(s);
    return rc || !WIFEXITED(status) || WEXITSTATUS(status);
}

static void test_page(void **state)
{
    server *s = *state;
    char address[96];
    snprintf(address, sizeof address, "/?token=%s", s->token);
    assert_int_equal(ask_as_stranger(s, "GET", address, "", ""), 200);
    assert_non_null(strstr(s->answer, s->token)); /* the page sends it with its own requests */
    assert_non_null(strstr(s->answer, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(s->answer, "X-Frame-Options: DENY"));
    assert_non_null(strstr(s->answer, "Content-Security-Policy\" content=\"default-src 'none'"));
    assert_null(strstr(s->answer, "Access-Control-Allow"));
    /* Text of the study must not end the element it stands in. */
    assert_null(strstr(s->answer, "window.broken = true</script>"));
    assert_int_equal(ask(s, "HEAD", "/", "", ""), 200);
    assert_null(strstr(s->answer, "<html"));
    assert_int_equal(ask(s, "GET", "/data", "", ""), 200);
    char etag[64], headers[128];
    assert_int_equal(sscanf(strstr(s->answer, "ETag: "), "ETag: %60[^\r]", etag), 1);
    snprintf(headers, sizeof headers, "If-None-Match: %s\r\n", etag);
    assert_int_equal(ask(s, "GET", "/data", headers, ""), 304);
}

static void test_hosts(void **state)
{
    server *s = *state;
    char request[256];
    const char *const wrong[] = {"evil.example",
                                 "evil.example:%d",
                                 "127.0.0.1:1",
                                 "127.0.0.1.evil.example:%d",
                                 "",
                                 "[::1:%d",
                                 "10.0.0.1:%d",
                                 "localhost.evil.example:%d",
                                 "127.evil.example:%d"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char host[128];
        snprintf(host, sizeof host, wrong[i], s->port); /* NOLINT: a table of our own */
        int n = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
        assert_int_equal(exchange(s, request, (size_t)n), 421);
    }
    assert_int_equal(exchange(s, "GET / HTTP/1.1\r\n\r\n", 18), 400); /* RFC 9112, section 3.2 */
    assert_int_equal(exchange(s, "GET / HTTP/1.0\r\n\r\n", 18), 421);
    int n = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s\r\nHost: evil.example\r\n\r\n",
                     s->host);
    assert_int_equal(exchange(s, request, (size_t)n), 400);
    n = snprintf(request, sizeof request, "GET /runs?token=%s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                 s->token, s->port);
    assert_int_equal(exchange(s, request, (size_t)n), 200);
}

static void test_methods_and_paths(void **state)
{
    server *s = *state;
    const char *const methods[] = {"DELETE", "PUT", "POST", "OPTIONS", "TRACE"};
    const char *const paths[] = {"/../etc/passwd",
                                 "/..%2f..%2fetc/passwd",
                                 "/%2e%2e/%2e%2e/etc/passwd",
                                 "/data/../../etc/passwd",
                                 "//etc/passwd",
                                 "/study.sqlite",
                                 "/index.html",
                                 "/runs/1"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        assert_int_equal(ask(s, methods[i], "/", "Content-Length: 0\r\n", ""), 405);
        assert_non_null(strstr(s->answer, "Allow: GET, HEAD"));
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(ask(s, "GET", paths[i], "", ""), 404);
        assert_null(strstr(s->answer, "root:"));
    }
    const char *const broken[] = {
        "BREW / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        "POST /runs HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST /runs HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_int_equal(exchange(s, broken[i], strlen(broken[i])), 400);
    const char *const nonsense[] = {"GET\r\n\r\n",
                                    "\x16\x03\x01\x02\x01\x01\r\n\r\n"}; /* closed without an answer */
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        double asked = now_s();
        assert_int_equal(exchange(s, nonsense[i], strlen(nonsense[i])), 0);
        assert_true(now_s() - asked < PATIENCE_S); /* the server closed, not the test */
    }
    const char *later = "GET / HTTP/9.9\r\n\r\n";
    assert_int_equal(exchange(s, later, strlen(later)), 505);
    uint32_t x = 12345;
    for (int i = 0; i < 60; i++) { /* random bytes: whatever the answer, the next request is served */
        char noise[300];
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (char)((x = x * 1664525u + 1013904223u) >> 24);
        int fd = reach(s);
        put(fd, noise, sizeof noise);
        close(fd);
    }
    assert_int_equal(ask(s, "GET", "/runs", "", ""), 200);
}

/* A client without the secret, or with a wrong one, reads nothing and learns no path. */
static void test_strangers_read_nothing(void **state)
{
    server *s = *state;
    const char *const paths[] = {"/",        "/data",    "/runs",         "/options/0",
                                 "/nowhere", "/?token=", "/data?token=0", "/?other=1"};
    char wrong[128], header[192];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(ask_as_stranger(s, "GET", paths[i], "", ""), 403);
        assert_null(strstr(s->answer, s->token));
        assert_null(strstr(s->answer, "rows"));
    }
    assert_int_equal(ask_as_stranger(s, "DELETE", "/", "Content-Length: 0\r\n", ""), 403);
    for (int at = 0; at < 48; at += 47) { /* the first and the last digit matter */
        snprintf(wrong, sizeof wrong, "/?token=%s", s->token);
        wrong[8 + at] = wrong[8 + at] == '0' ? '1' : '0';
        assert_int_equal(ask_as_stranger(s, "GET", wrong, "", ""), 403);
    }
    snprintf(wrong, sizeof wrong, "/?token=%s0", s->token);
    assert_int_equal(ask_as_stranger(s, "GET", wrong, "", ""), 403);
    snprintf(wrong, sizeof wrong, "/?token=%.47s", s->token);
    assert_int_equal(ask_as_stranger(s, "GET", wrong, "", ""), 403);
    snprintf(header, sizeof header, "X-Ringlet-Token: %s\r\nX-Ringlet-Token: %s\r\n", s->token, s->token);
    assert_int_equal(ask_as_stranger(s, "GET", "/data", header, ""), 400);
    /* The page says what is missing. */
    assert_int_equal(ask_as_stranger(s, "GET", "/", "", ""), 403);
    assert_non_null(strstr(s->answer, "token"));
}

static void test_strangers_start_nothing(void **state)
{
    server *s = *state;
    const char *body =
        "{\"options\":{\"model\":\"transformer:layers=1\",\"topology\":\"switch:2@50GB/s,1us\"}}";
    char wrong[64], other[64];
    strcpy(wrong, s->token);
    wrong[0] = wrong[0] == '0' ? '1' : '0';
    snprintf(other, sizeof other, "http://127.0.0.1:%d", s->port + 1);
    assert_int_equal(post(s, "", NULL, NULL, body), 403);
    assert_int_equal(post(s, wrong, NULL, NULL, body), 403);
    assert_int_equal(post(s, "0", NULL, NULL, body), 403);
    assert_int_equal(post(s, NULL, "", NULL, body), 403);
    assert_int_equal(post(s, NULL, "null", NULL, body), 403);
    assert_int_equal(post(s, NULL, "http://evil.example", NULL, body), 403);
    assert_int_equal(post(s, NULL, other, NULL, body), 403);
    /* Requests that a form of another origin can send. */
    assert_int_equal(post(s, NULL, NULL, "text/plain", body), 415);
    assert_int_equal(post(s, NULL, NULL, "application/x-www-form-urlencoded", body), 415);
    nothing_started(s);
}

static void test_options_of_what_ifs(void **state)
{
    server *s = *state;
    const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "{\"options\":[]}",
        "{\"options\":{},\"command\":\"sh\"}",
        "{\"options\":{\"output\":\"/tmp/rlt-serve-owned\"}}",
        "{\"options\":{\"timeline\":\"/tmp/rlt-serve-owned\"}}",
        "{\"options\":{\"report\":\"/tmp/rlt-serve-owned\"}}",
        "{\"options\":{\"links-csv\":\"/tmp/rlt-serve-owned\"}}",
        "{\"options\":{\"config\":\"/etc/passwd\"}}",
        "{\"options\":{\"format\":\"csv\"}}",
        "{\"options\":{\"topology\":\"-\"}}",
        "{\"options\":{\"topology\":\"--output=/tmp/rlt-serve-owned\"}}",
        "{\"options\":{\"topology=x --output\":\"/tmp/rlt-serve-owned\"}}",
        "{\"options\":{\"model\":\"a\\nb\"}}",
        "{\"options\":{\"model\":7}}",
        "{\"options\":{\"no-skew\":\"yes\"}}",
        "{\"options\":{\"set\":[\"a=1\",\"-o/tmp/rlt-serve-owned\"]}}",
        "{\"name\":\"\\u001b[2J\",\"options\":{}}",
        "{\"options\":{\"model\":\"transformer\"}",
        /* Files that the study does not name. */
        "{\"options\":{\"topology\":\"/etc/passwd\"}}",
        "{\"options\":{\"trace\":[\"traces/transformer-8\",\"../shared\"]}}",
        "{\"options\":{\"model\":\"traces/../../x.csv\"}}",
        "{\"options\":{\"accelerator\":\"..\"}}",
        "{\"options\":{\"trace\":\"traces/..\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(post(s, NULL, NULL, NULL, wrong[i]), 400);
        assert_non_null(strstr(s->answer, "\"error\":"));
    }
    nothing_started(s);
    assert_int_equal(access("/tmp/rlt-serve-owned", F_OK), -1);
}

static void test_sizes(void **state)
{
    server *s = *state;
    char *big = malloc(300000);
    size_t n;
    assert_non_null(big);
    assert_int_equal(ask(s, "POST", "/runs", "Content-Length: 1000000\r\n", ""), 413);
    assert_int_equal(ask(s, "POST", "/runs", "Content-Length: 99999999999999999999999\r\n", ""), 413);
    n = (size_t)sprintf(big, "POST /runs HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n8000\r\n",
                        s->host);
    memset(big + n, 'x', 0x8000);
    assert_int_equal(exchange(s, big, n + 0x8000), 411);
    n = (size_t)sprintf(big, "GET / HTTP/1.1\r\nHost: %s\r\nX: ", s->host);
    memset(big + n, 'x', 200000);
    assert_int_equal(exchange(s, big, n + 200000), 431);
    n = (size_t)sprintf(big, "GET /");
    memset(big + n, 'x', 20000);
    assert_int_equal(exchange(s, big, n + 20000), 414);
    n = (size_t)sprintf(big, "GET / HTTP/1.1\r\nHost: %s\r\nX: ", s->host);
    memset(big + n, 'x', 9000);
    memcpy(big + n + 9000, "\r\n\r\n", 4);
    assert_int_equal(exchange(s, big, n + 9004), 431);
    n = (size_t)sprintf(big, "GET / HTTP/1.1\r\nHost: %s\r\n", s->host);
    for (int i = 0; i < 2000; i++)
        n += (size_t)sprintf(big + n, "X-%d: y\r\n", i);
    assert_int_equal(exchange(s, big, n), 431);
    /* Two requests at once get one answer. */
    n = (size_t)sprintf(big,
                        "GET /runs?token=%s HTTP/1.1\r\nHost: %s\r\n\r\nGET /runs HTTP/1.1\r\nHost: "
                        "%s\r\n\r\n",
                        s->token, s->host, s->host);
    assert_int_equal(exchange(s, big, n), 200);
    assert_null(strstr(s->answer + 1, "HTTP/1.1"));
    free(big);
}

/* Many clients send a little and wait, or send and do not read: others are still served at once. */
static void test_many_slow_clients(void **state)
{
    server *s = *state;
    enum { MANY = 3 * RLT_HTTP_CONNECTIONS };
    int slow[MANY];
    char request[192];
    int n =
        snprintf(request, sizeof request, "GET /?token=%s HTTP/1.1\r\nHost: %s\r\n\r\n", s->token, s->host);
    for (int i = 0; i < MANY; i++) {
        slow[i] = reach(s);
        put(slow[i], request, i % 3 == 2 ? (size_t)n : 20); /* a third does not read a long answer */
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask(s, "GET", "/runs", "", ""), 200);
    for (int i = 0; i < MANY; i++)
        close(slow[i]);
}

enum { LONG_ANSWER = 32 << 20 /* more than the buffers of the sockets */ };
static rlt_http_answer answer_long(void *ctx, const rlt_http_request *q)
{
    char *bytes = calloc(1, LONG_ANSWER);
    (void)ctx;
    (void)q;
    return (rlt_http_answer){.status = 200, .type = "text/plain", .body = rlt_blob_of(bytes, LONG_ANSWER)};
}

/* Starts a server that gives all the same answer, with one second for a request and one for the answer. */
static void start_hasty(server *s)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    s->pid = fork();
    if (s->pid == 0) {
        rlt_http_door door = {.limits = {.request_ms = 1000, .answer_ms = 1000}, .answer = answer_long};
        uv_loop_t loop;
        rlt_http *http;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (uv_loop_init(&loop) || rlt_http_open(&loop, "127.0.0.1", 0, &door, &http, NULL))
            _exit(1);
        s->port = rlt_http_port(http);
        if (write(out[1], &s->port, sizeof s->port) == sizeof s->port)
            uv_run(&loop, UV_RUN_DEFAULT);
        _exit(1);
    }
    close(out[1]);
    assert_int_equal(read(out[0], &s->port, sizeof s->port), sizeof s->port);
    close(out[0]);
}

static size_t read_all(int fd)
{
    static char bytes[1 << 16];
    size_t n = 0;
    for (ssize_t k; (k = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        n += (size_t)k;
    return n;
}

/* A client that sends a request too slowly, or does not read the answer, is disconnected. */
static void test_time_is_up(void **state)
{
    server s = *(server *)*state;
    const char request[] = "GET / HTTP/1.1\r\nHost: a\r\nX: many bytes, one after the other\r\n\r\n";
    start_hasty(&s);
    int slow = reach(&s), silent = reach(&s), deaf = reach(&s);
    put(deaf, request, strlen(request));
    double began = now_s();
    bool gone = false;
    for (size_t i = 0; !gone && i < 200; i++) {
        struct pollfd p = {.fd = slow, .events = POLLIN};
        char byte;
        if (i < strlen(request) - 4)
            put(slow, request + i, 1);
        gone = poll(&p, 1, 50) == 1 && recv(slow, &byte, 1, 0) <= 0;
    }
    assert_true(gone);
    assert_true(now_s() - began > 0.9);
    assert_int_equal(read_all(silent), 0);
    size_t n = LONG_ANSWER;
    for (useconds_t wait_us = 500000; n >= LONG_ANSWER && wait_us < 10000000; wait_us *= 2) {
        usleep(wait_us);
        n = read_all(deaf);
        close(deaf);
        deaf = reach(&s);
        put(deaf, request, strlen(request));
    }
    assert_in_range(n, 1, LONG_ANSWER - 1);
    close(deaf);
    close(silent);
    close(slow);
    kill(s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
}

static int states(const char *answer, const char *state)
{
    char word[32];
    int n = 0;
    snprintf(word, sizeof word, "\"state\":\"%s\"", state);
    for (const char *at = answer; (at = strstr(at, word)); at++)
        n++;
    return n;
}

static void test_what_ifs(void **state)
{
    server *s = *state;
    const char *body = "{\"name\":\"two\",\"options\":{\"model\":\"transformer:layers=2\",\"topology\":"
                       "\"switch:8@50GB/s,1us\"}}";
    const char *heavy =
        "{\"name\":\"long\",\"options\":{\"any-memory\":true,\"model\":\"transformer:layers=48,hidden=4096,heads=32\","
        "\"network\":\"packet\","
        "\"topology\":\"switch:16@50GB/s,1us\"}}";
    assert_int_equal(post(s, NULL, NULL, NULL, body), 202);
    double until = now_s() + WHATEVER_S;
    do
        assert_int_equal(ask(s, "GET", "/runs", "", ""), 200);
    while (!states(s->answer, "done") && now_s() < until);
    assert_int_equal(states(s->answer, "done"), 1);
    int refused = 0;
    for (int i = 0; i < 30; i++) {
        int status = post(s, NULL, NULL, NULL, heavy);
        assert_true(status == 202 || status == 429);
        refused += status == 429;
        assert_int_equal(ask(s, "GET", "/runs", "", ""), 200);
        assert_true(states(s->answer, "running") <= 2);
        assert_true(states(s->answer, "waiting") <= 8);
    }
    assert_true(refused > 0);
}

static void test_timeout(void **state)
{
    server *s = *state;
    server quick = *s;
    start(&quick, "300ms");
    assert_int_equal(
        post(
            &quick, NULL, NULL, NULL,
            "{\"options\":{\"any-memory\":true,\"model\":\"transformer:layers=48,hidden=4096,heads=32\",\"network\":"
            "\"packet\",\"topology\":\"switch:16@"
            "50GB/s,1us\"}}"),
        202);
    double until = now_s() + WHATEVER_S;
    do
        assert_int_equal(ask(&quick, "GET", "/runs", "", ""), 200);
    while (!states(quick.answer, "failed") && now_s() < until);
    assert_non_null(strstr(quick.answer, "took longer than"));
    int status;
    kill(quick.pid, SIGTERM);
    waitpid(quick.pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* New points of a sweep appear within seconds. If the study becomes unreadable, its last page stays. */
static void test_live(void **state)
{
    server *s = *state;
    char line[256];
    snprintf(
        line, sizeof line,
        "sqlite3 '%s' \"INSERT INTO point VALUES(9950, 'fresh', '[0,2,2,9,9]', 0, NULL, '', NULL, 0, NULL)\"",
        s->study);
    assert_int_equal(system(line), 0);
    double until = now_s() + WHATEVER_S;
    do {
        usleep(200000);
        ask(s, "GET", "/data", "", ""); /* a server that is too busy gives the connection up */
    } while (!strstr(s->answer, "\"fresh\"") && now_s() < until);
    assert_non_null(strstr(s->answer, "\"fresh\""));
    snprintf(line, sizeof line, "sqlite3 '%s' 'DROP TABLE axis'", s->study);
    assert_int_equal(system(line), 0);
    usleep(1200000);
    assert_int_equal(ask(s, "GET", "/data", "", ""), 200);
    assert_non_null(strstr(s->answer, "\"fresh\""));
}

static void test_wrong_use(void **state)
{
    server *s = *state;
    const struct {
        const char *arguments;
        int status;
    } cases[] = {{"", 2},
                 {"test/page/study.sql", 3},
                 {"/nowhere.sqlite", 5},
                 {"%s --address nonsense --port 0", 2},
                 {"%s --port 70000", 2},
                 {"%s --timeout 0", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[256], line[512];
        snprintf(arguments, sizeof arguments, cases[i].arguments, s->study); /* NOLINT: a table of our own */
        snprintf(line, sizeof line, "timeout 10 %s serve %s >/dev/null 2>&1", command(), arguments);
        int status = system(line);
        assert_int_equal(WEXITSTATUS(status), cases[i].status);
    }
    char line[768];
    snprintf(line, sizeof line,
             "cp '%s' '%s/again.sqlite' && timeout 10 %s serve '%s' --port %d >/dev/null 2>&1", s->study,
             s->folder, command(), s->study, s->port);
    assert_int_equal(WEXITSTATUS(system(line)), 5);
}

int main(void)
{
    if (system("sqlite3 --version >/dev/null 2>&1")) {
        printf("1..1\nok 1 - serve # SKIP needs sqlite3, to make a study\n");
        return 0;
    }
    if (strcmp(rlt_http_version(), "not built in") == 0) {
        printf("1..1\nok 1 - serve # SKIP needs libmicrohttpd\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_methods_and_paths),
        cmocka_unit_test(test_strangers_read_nothing),
        cmocka_unit_test(test_strangers_start_nothing),
        cmocka_unit_test(test_options_of_what_ifs),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_many_slow_clients),
        cmocka_unit_test(test_time_is_up),
        cmocka_unit_test(test_what_ifs),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_wrong_use),
        cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
