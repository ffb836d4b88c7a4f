/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pull reader of JSON. It takes bytes from zlib and parses one value at a time into a table of tokens,
 * without recursion. */
#include "sim/text/json_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"

enum { CHUNK = 1 << 16, KEY_MAX = 256, INFLATE_RATIO = 300, INFLATE_FREE = 256 << 20 };

typedef enum stage { AT_START, IN_OBJECT, IN_LIST, AT_END } stage;

struct rlt_jstream {
    char *path;
    gzFile file;
    const char *const *members;
    unsigned char *chunk;
    uint32_t at, filled;
    uint64_t before; /* bytes of earlier chunks */
    uint64_t limit, hash;
    rlt_error *err; /* error of the current call */
    int failed;
    stage stage;
    bool first; /* no member or element of the current container has been read yet */
    char key[KEY_MAX];
    char *text;
    rlt_jtoken *tokens;
    uint32_t text_used, text_capacity, n_tokens, tokens_capacity;
};

static uint64_t offset(const rlt_jstream *s)
{
    return s->before + s->at;
}

static int fail_at(rlt_jstream *s, int code, uint64_t where, const char *fmt, ...)
{
    char place[512];
    va_list args;
    snprintf(place, sizeof place, "%.440s: byte %" PRIu64, s->path, where);
    va_start(args, fmt);
    s->failed = rlt_vfail(s->err, code, place, fmt, args);
    va_end(args);
    return s->failed;
}

static int malformed(rlt_jstream *s, int c, const char *expected)
{
    uint64_t where = offset(s) ? offset(s) - 1 : 0;
    if (s->failed)
        return s->failed;
    if (c < 0)
        return fail_at(s, RLT_EMALFORMED, offset(s), "the file ends here, where %s was expected", expected);
    if (c > 32 && c < 127)
        return fail_at(s, RLT_EMALFORMED, where, "expected %s, got '%c'", expected, c);
    return fail_at(s, RLT_EMALFORMED, where, "expected %s, got a byte of value %d", expected, c);
}

int rlt_jstream_fail(const rlt_jstream *s, const rlt_jpiece *piece, int code, rlt_error *err, const char *fmt,
                     ...)
{
    char place[512];
    va_list args;
    snprintf(place, sizeof place, "%.440s: byte %" PRIu64, s->path, piece->offset);
    va_start(args, fmt);
    rlt_vfail(err, code, place, fmt, args);
    va_end(args);
    return code;
}

int rlt_jstream_open(const char *path, const char *const *members, rlt_jstream **out, rlt_error *err)
{
    *out = NULL;
    rlt_jstream *s = calloc(1, sizeof *s);
    if (!s)
        return rlt_nomem(err);
    s->members = members;
    s->path = strdup(path);
    s->chunk = malloc(CHUNK);
    if (!s->path || !s->chunk) {
        rlt_jstream_close(s);
        return rlt_nomem(err);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        int rc = rlt_fail(err, RLT_EIO, path, "cannot open: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        rlt_jstream_close(s);
        return rc;
    }
    s->limit = INFLATE_FREE + INFLATE_RATIO * (uint64_t)(st.st_size > 0 ? st.st_size : 0);
    s->file = gzdopen(fd, "rb");
    if (!s->file) {
        close(fd);
        rlt_jstream_close(s);
        return rlt_nomem(err);
    }
    gzbuffer(s->file, CHUNK);
    *out = s;
    return 0;
}

void rlt_jstream_close(rlt_jstream *s)
{
    if (!s)
        return;
    if (s->file)
        gzclose_r(s->file);
    free(s->path);
    free(s->chunk);
    free(s->text);
    free(s->tokens);
    free(s);
}

uint64_t rlt_jstream_hash(const rlt_jstream *s)
{
    return s->hash;
}

/* Reads the next chunk. Returns its first byte, or -1 at the end and after a failure. */
static int refill(rlt_jstream *s)
{
    if (s->failed)
        return -1;
    s->before += s->filled;
    s->at = s->filled = 0;
    int n = gzread(s->file, s->chunk, CHUNK), code = Z_OK;
    const char *message = gzerror(s->file, &code);
    if (n < 0 || code != Z_OK) {
        if (code == Z_ERRNO)
            fail_at(s, RLT_EIO, s->before, "cannot read: %s", strerror(errno));
        else if (code == Z_MEM_ERROR)
            s->failed = rlt_nomem(s->err);
        else if (code == Z_BUF_ERROR)
            fail_at(s, RLT_EMALFORMED, s->before + (n > 0 ? (uint64_t)n : 0),
                    "the compressed file is cut off here");
        else
            fail_at(s, RLT_EMALFORMED, s->before, "damaged compressed file: %s", message);
        return -1;
    }
    if (n == 0)
        return -1;
    s->filled = (uint32_t)n;
    s->hash = rlt_hash_bytes(s->chunk, (size_t)n, s->hash);
    if (s->before + s->filled > s->limit) {
        fail_at(s, RLT_ERANGE, s->before,
                "the file decompresses to over %d times its size: not a plausible recording", INFLATE_RATIO);
        return -1;
    }
    return s->chunk[s->at++];
}

static inline int next(rlt_jstream *s)
{
    return s->at < s->filled ? s->chunk[s->at++] : refill(s);
}

/* Puts back the byte that next() returned last. */
static inline void back(rlt_jstream *s, int c)
{
    if (c >= 0)
        s->at--;
}

static int next_visible(rlt_jstream *s)
{
    int c;
    do
        c = next(s);
    while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
    return c;
}

static int too_large(rlt_jstream *s)
{
    return fail_at(s, RLT_ERANGE, offset(s), "a value of more than %d MiB", RLT_JSON_PIECE_MAX >> 20);
}

static int reserve(rlt_jstream *s, uint32_t n)
{
    uint64_t need = (uint64_t)s->text_used + n;
    if (need <= s->text_capacity)
        return 0;
    if (need > RLT_JSON_PIECE_MAX)
        return too_large(s);
    int rc = rlt_grow(&s->text, &s->text_capacity, 1, need < 4096 ? 4096 : need, RLT_JSON_PIECE_MAX,
                      "bytes of one value", s->err);
    return s->failed = rc;
}

static int put(rlt_jstream *s, int c)
{
    if (reserve(s, 1) < 0)
        return s->failed;
    s->text[s->text_used++] = (char)c;
    return 0;
}

static int add_token(rlt_jstream *s, rlt_jtype type, uint32_t *index)
{
    if (s->n_tokens == RLT_JSON_TOKENS_MAX)
        return fail_at(s, RLT_ERANGE, offset(s), "a value of more than %d parts", RLT_JSON_TOKENS_MAX);
    int rc = rlt_grow(&s->tokens, &s->tokens_capacity, sizeof *s->tokens, (uint64_t)s->n_tokens + 1,
                      RLT_JSON_TOKENS_MAX, "parts of one value", s->err);
    if (rc < 0)
        return s->failed = rc;
    *index = s->n_tokens++;
    s->tokens[*index] = (rlt_jtoken){.text = s->text_used, .next = s->n_tokens, .type = type};
    return 0;
}

static int hex4(rlt_jstream *s, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        int c = next(s);
        int digit = c >= '0' && c <= '9'                          ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' && c > 0 ? (c | 32) - 'a' + 10
                                                                  : -1;
        if (digit < 0)
            return malformed(s, c, "four hexadecimal digits");
        *value = *value << 4 | (uint32_t)digit;
    }
    return 0;
}

static int put_utf8(rlt_jstream *s, uint32_t u)
{
    int rc = 0;
    if (u == 0)
        u = 0xfffd; /* NUL would end the text */
    if (u < 0x80)
        return put(s, (int)u);
    if (u < 0x800)
        rc = put(s, (int)(0xc0 | u >> 6));
    else if (u < 0x10000) {
        rc = put(s, (int)(0xe0 | u >> 12));
        rc = rc ? rc : put(s, (int)(0x80 | (u >> 6 & 63)));
    } else {
        rc = put(s, (int)(0xf0 | u >> 18));
        rc = rc ? rc : put(s, (int)(0x80 | (u >> 12 & 63)));
        rc = rc ? rc : put(s, (int)(0x80 | (u >> 6 & 63)));
    }
    return rc ? rc : put(s, (int)(0x80 | (u & 63)));
}

/* Reads \uXXXX, perhaps the first half of a surrogate pair. A lone half becomes U+FFFD. */
static int unicode(rlt_jstream *s, bool keep)
{
    uint32_t u, low = 0;
    if (hex4(s, &u) < 0)
        return s->failed;
    while (u >= 0xd800 && u < 0xdc00) {
        int c = next(s);
        if (c != '\\') {
            back(s, c);
            u = 0xfffd;
            break;
        }
        c = next(s);
        if (c != 'u')
            return malformed(s, c, "the second half of a surrogate pair");
        if (hex4(s, &low) < 0)
            return s->failed;
        if (low >= 0xdc00 && low < 0xe000) {
            u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
            break;
        }
        if (keep && put_utf8(s, 0xfffd) < 0)
            return s->failed;
        u = low;
    }
    if (u >= 0xdc00 && u < 0xe000)
        u = 0xfffd;
    return keep ? put_utf8(s, u) : 0;
}

static int escape(rlt_jstream *s, bool keep)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = next(s);
    if (c == 'u')
        return unicode(s, keep);
    const char *at = c > 0 ? strchr(from, c) : NULL;
    if (!at)
        return malformed(s, c, "an escape such as \\n");
    return keep ? put(s, to[at - from]) : 0;
}

/* Reads the rest of a string, after its opening quote. */
static int string_rest(rlt_jstream *s, bool keep)
{
    for (;;) {
        uint32_t from = s->at;
        while (s->at < s->filled && s->chunk[s->at] != '"' && s->chunk[s->at] != '\\' &&
               s->chunk[s->at] >= 32)
            s->at++;
        uint32_t n = s->at - from;
        if (keep && n > 0) {
            if (reserve(s, n) < 0)
                return s->failed;
            memcpy(s->text + s->text_used, s->chunk + from, n);
            s->text_used += n;
        }
        int c = next(s);
        if (c == '"')
            return keep ? put(s, 0) : 0;
        if (c == '\\') {
            if (escape(s, keep) < 0)
                return s->failed;
        } else if (c >= 32 || c == '\t') {
            if (keep && put(s, c) < 0)
                return s->failed;
        } else
            return malformed(s, c, "the end of a string");
    }
}

static bool is_number(const char *t)
{
    if (!strcmp(t, "NaN") || !strcmp(t, "Infinity") || !strcmp(t, "-Infinity"))
        return true;
    t += *t == '-';
    size_t digits = strspn(t, "0123456789");
    if (digits == 0 || (t[0] == '0' && digits > 1))
        return false;
    t += digits;
    if (*t == '.') {
        digits = strspn(++t, "0123456789");
        if (digits == 0)
            return false;
        t += digits;
    }
    if (*t == 'e' || *t == 'E') {
        t++;
        t += *t == '+' || *t == '-';
        digits = strspn(t, "0123456789");
        if (digits == 0)
            return false;
        t += digits;
    }
    return *t == '\0';
}

/* Reads a number or literal that begins with c. */
static int scalar(rlt_jstream *s, int c, bool keep)
{
    char word[128];
    uint32_t n = 0, token;
    uint64_t where = offset(s) - 1;
    while (c >= 0 && !strchr(",]} \n\t\r:", c) && n < sizeof word - 1) {
        word[n++] = (char)c;
        c = next(s);
    }
    if (s->failed)
        return s->failed;
    if (n == 0)
        return malformed(s, c, "a value");
    back(s, c);
    word[n] = '\0';
    rlt_jtype type = !strcmp(word, "null")    ? RLT_J_NULL
                     : !strcmp(word, "true")  ? RLT_J_TRUE
                     : !strcmp(word, "false") ? RLT_J_FALSE
                                              : RLT_J_NUMBER;
    if (type == RLT_J_NUMBER && !is_number(word)) {
        for (uint32_t i = 0; i < n; i++)
            word[i] = (unsigned char)word[i] < 32 || (unsigned char)word[i] > 126 ? '?' : word[i];
        return fail_at(s, RLT_EMALFORMED, where, "expected a value, got '%.40s'", word);
    }
    if (!keep)
        return 0;
    if (add_token(s, type, &token) < 0 || (type == RLT_J_NUMBER && reserve(s, n + 1) < 0))
        return s->failed;
    if (type == RLT_J_NUMBER) {
        memcpy(s->text + s->text_used, word, n + 1);
        s->text_used += n + 1;
    }
    return 0;
}

static int key_and_colon(rlt_jstream *s, int c, bool keep)
{
    uint32_t token;
    if (c != '"')
        return malformed(s, c, "a key in quotes");
    if ((keep && add_token(s, RLT_J_STRING, &token) < 0) || string_rest(s, keep) < 0)
        return s->failed;
    c = next_visible(s);
    return c == ':' ? 0 : malformed(s, c, "':'");
}

typedef struct nest {
    uint32_t tokens[RLT_JSON_DEPTH_MAX];
    bool object[RLT_JSON_DEPTH_MAX];
    uint32_t depth;
} nest;

static int open_container(rlt_jstream *s, nest *in, int c, bool keep)
{
    if (in->depth == RLT_JSON_DEPTH_MAX)
        return fail_at(s, RLT_ERANGE, offset(s) - 1, "nested more than %d deep", RLT_JSON_DEPTH_MAX);
    in->object[in->depth] = c == '{';
    if (keep && add_token(s, c == '{' ? RLT_J_OBJECT : RLT_J_LIST, &in->tokens[in->depth]) < 0)
        return s->failed;
    in->depth++;
    return 0;
}

/* Closes the containers that end after a value, and finds the next value. Returns 1 with its first byte in
 * *c, 0 at the end of the outermost value. `opened`: a container was just opened and may be empty. */
static int step(rlt_jstream *s, nest *in, bool opened, bool keep, int *c)
{
    while (in->depth > 0) {
        bool object = in->object[in->depth - 1];
        *c = next_visible(s);
        if (*c == (object ? '}' : ']')) {
            in->depth--;
            if (keep)
                s->tokens[in->tokens[in->depth]].next = s->n_tokens;
            opened = false;
            continue;
        }
        if (!opened) {
            if (*c != ',')
                return malformed(s, *c, object ? "',' or '}'" : "',' or ']'");
            *c = next_visible(s);
        }
        if (object) {
            if (key_and_colon(s, *c, keep) < 0)
                return s->failed;
            *c = next_visible(s);
        }
        return 1;
    }
    return 0;
}

/* Reads the value that begins with c; stores its tokens if `keep` is set. */
static int value(rlt_jstream *s, int c, bool keep)
{
    nest in = {.depth = 0};
    int more = 1;
    while (more == 1) {
        bool opened = c == '{' || c == '[';
        uint32_t token;
        if (c < 0)
            return malformed(s, c, "a value");
        if (opened) {
            if (open_container(s, &in, c, keep) < 0)
                return s->failed;
        } else if (c == '"') {
            if ((keep && add_token(s, RLT_J_STRING, &token) < 0) || string_rest(s, keep) < 0)
                return s->failed;
        } else if (scalar(s, c, keep) < 0)
            return s->failed;
        more = step(s, &in, opened, keep, &c);
    }
    return more;
}

static bool wanted(const rlt_jstream *s)
{
    for (const char *const *m = s->members; *m; m++)
        if (!strcmp(*m, s->key))
            return true;
    return false;
}

static void clear(rlt_jstream *s)
{
    s->text_used = s->n_tokens = 0;
}

static int hand_out(rlt_jstream *s, int c, bool element, rlt_jpiece *piece)
{
    clear(s);
    uint64_t where = offset(s) - 1;
    if (value(s, c, true) < 0)
        return s->failed;
    *piece = (rlt_jpiece){.key = s->key,
                          .element = element,
                          .offset = where,
                          .text = s->text,
                          .tokens = s->tokens,
                          .n_tokens = s->n_tokens};
    return 1;
}

/* Reads one member of the top-level object. Returns 1 with a piece, or 0 to carry on at `stage`. */
static int member(rlt_jstream *s, rlt_jpiece *piece)
{
    int c = next_visible(s);
    if (c == '}') {
        s->stage = AT_END;
        return 0;
    }
    if (!s->first) {
        if (c != ',')
            return malformed(s, c, "',' or '}'");
        c = next_visible(s);
    }
    s->first = false;
    clear(s);
    if (key_and_colon(s, c, true) < 0)
        return s->failed;
    snprintf(s->key, sizeof s->key, "%s", s->text);
    c = next_visible(s);
    if (!wanted(s))
        return value(s, c, false);
    if (c != '[')
        return hand_out(s, c, false, piece);
    s->stage = IN_LIST;
    s->first = true;
    return 0;
}

static int element(rlt_jstream *s, rlt_jpiece *piece)
{
    int c = next_visible(s);
    if (c == ']') {
        s->stage = IN_OBJECT;
        s->first = false;
        return 0;
    }
    if (!s->first) {
        if (c != ',')
            return malformed(s, c, "',' or ']'");
        c = next_visible(s);
    }
    s->first = false;
    return hand_out(s, c, true, piece);
}

int rlt_jstream_next(rlt_jstream *s, rlt_jpiece *piece, rlt_error *err)
{
    rlt_error own = {.code = 0}; /* keeps a failure even if err is NULL */
    s->err = err ? err : &own;
    int rc = s->failed, c;
    while (rc == 0 && s->stage != AT_END) {
        if (s->stage == AT_START) {
            c = next_visible(s);
            if (c != '{')
                return malformed(s, c, "'{', the start of an object");
            s->stage = IN_OBJECT;
            s->first = true;
        }
        rc = s->stage == IN_LIST ? element(s, piece) : member(s, piece);
    }
    if (rc == 0) {
        c = next_visible(s);
        if (c >= 0 || s->failed)
            return malformed(s, c, "the end of the file");
    }
    return rc;
}

uint32_t rlt_jpiece_first(const rlt_jpiece *p, uint32_t parent)
{
    if (parent >= p->n_tokens || p->tokens[parent].type < RLT_J_LIST || p->tokens[parent].next == parent + 1)
        return RLT_NONE;
    return parent + 1;
}

uint32_t rlt_jpiece_after(const rlt_jpiece *p, uint32_t parent, uint32_t child)
{
    uint32_t after = p->tokens[child].next;
    return after < p->tokens[parent].next ? after : RLT_NONE;
}

uint32_t rlt_jpiece_get(const rlt_jpiece *p, uint32_t token, const char *key)
{
    if (token >= p->n_tokens || p->tokens[token].type != RLT_J_OBJECT)
        return RLT_NONE;
    uint32_t end = p->tokens[token].next;
    for (uint32_t k = token + 1; k < end; k = p->tokens[k + 1].next)
        if (!strcmp(p->text + p->tokens[k].text, key))
            return k + 1;
    return RLT_NONE;
}

const char *rlt_jpiece_text(const rlt_jpiece *p, uint32_t token)
{
    if (token >= p->n_tokens ||
        (p->tokens[token].type != RLT_J_STRING && p->tokens[token].type != RLT_J_NUMBER))
        return NULL;
    return p->text + p->tokens[token].text;
}

/* Reads the digits of a number that lie at or above the unit after shifting by `shift`. Returns false above
 * 4e18. */
static bool shifted(const char *t, int shift, int64_t *out)
{
    const int64_t limit = 4000000000000000000;
    int64_t v = 0;
    bool point = false;
    const char *dot = strchr(t, '.');
    size_t whole = dot ? (size_t)(dot - t) : strspn(t, "0123456789");
    int64_t left = (int64_t)whole + shift; /* digits to take */
    for (; left > 0; left--) {
        if (*t == '.' && !point) {
            point = true;
            t++;
        }
        int digit = *t >= '0' && *t <= '9' ? *t++ - '0' : 0;
        if (v > (limit - digit) / 10)
            return false;
        v = v * 10 + digit;
        if (v == 0 && *t == '\0')
            break;
    }
    *out = v;
    return true;
}

bool rlt_decimal_i64(const char *text, int shift, int64_t *out)
{
    bool negative = *text == '-';
    if (!is_number(text) || strchr(text, 'N') || strchr(text, 'I'))
        return false;
    text += negative;
    const char *e = strpbrk(text, "eE");
    if (e) {
        long power = strtol(e + 1, NULL, 10);
        if (power > 1000 || power < -1000)
            return false;
        shift += (int)power;
    }
    int64_t v;
    if (!shifted(text, shift, &v))
        return false;
    *out = negative ? -v : v;
    return true;
}
