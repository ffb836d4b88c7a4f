/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pull reader of JSON. Parses one value at a time, where it lies in the buffer, into a table of tokens,
 * without recursion. A text ends in the buffer with a zero byte: it takes the place of the closing quote, or
 * of the byte after a number.
 *
 * The buffer ends with a zero byte, too. No loop runs past it, as it is no part of any token; whoever meets
 * it at the end of the buffer asks for more.
 */
#include "sim/text/json_stream.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "sim/text/json_scan.h"

enum { BLOCK = 1 << 16, ROOM = 4 * BLOCK, KEY_MAX = 256, INFLATE_RATIO = 300, INFLATE_FREE = 256 << 20 };
enum { SCALAR_MAX = 128, WORD = RLT__JSON_WORD, NO_KEY = RLT__JSON_NO_KEY };

_Static_assert((int)RLT_JSON_KEYS_MAX == (int)RLT__JSON_KEYS, "the table has room for all keys");

typedef enum stage { AT_START, IN_OBJECT, IN_LIST, AT_END } stage;

struct rlt_jstream {
    char *path;
    rlt_input *input;
    const char *const *members;
    char *buffer;   /* capacity + 1 + WORD bytes */
    char *at, *end; /* the text still to be read */
    char *begin;    /* of the text that must stay in the buffer, if `keeps` */
    uint32_t capacity;
    uint64_t before; /* bytes of the file before the buffer */
    uint64_t limit, hash;
    bool keeps, ended;
    bool first;     /* no member or element of the current container has been read yet */
    rlt_error *err; /* error of the current call */
    int failed;
    stage stage;
    char key[KEY_MAX], scalar[SCALAR_MAX]; /* scalar: a piece that is a number */
    rlt_jtoken *tokens;
    uint32_t n_tokens, tokens_capacity;
    uint32_t text_used; /* bytes of the texts of the piece */
    rlt__json_keys keys;
    rlt_error own; /* error of the current call if the caller takes none */
};

/* Returns the place of s->at in the text that stays. */
static inline uint32_t place(const rlt_jstream *s)
{
    return (uint32_t)(s->at - s->begin);
}

static uint64_t offset(const rlt_jstream *s)
{
    return s->before + (uint64_t)(s->at - s->buffer);
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

/* Refuses byte c, at s->at; -1: the end of the file. */
static int malformed(rlt_jstream *s, int c, const char *expected)
{
    if (s->failed)
        return s->failed;
    if (c < 0)
        return fail_at(s, RLT_EMALFORMED, offset(s), "the file ends here, where %s was expected", expected);
    if (c > 32 && c < 127)
        return fail_at(s, RLT_EMALFORMED, offset(s), "expected %s, got '%c'", expected, c);
    return fail_at(s, RLT_EMALFORMED, offset(s), "expected %s, got a byte of value %d", expected, c);
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
    s->capacity = ROOM;
    s->path = strdup(path);
    s->buffer = malloc((size_t)ROOM + 1 + WORD);
    int rc = s->path && s->buffer ? rlt_input_open(s->path, &s->input, err) : rlt_nomem(err);
    if (rc < 0) {
        rlt_jstream_close(s);
        return rc;
    }
    s->at = s->end = memset(s->buffer, 0, 1 + WORD);
    s->limit = INFLATE_FREE + INFLATE_RATIO * rlt_input_size(s->input);
    *out = s;
    return 0;
}

void rlt_jstream_close(rlt_jstream *s)
{
    if (!s)
        return;
    rlt_input_close(s->input);
    free(s->path);
    free(s->buffer);
    free(s->tokens);
    free(s);
}

uint64_t rlt_jstream_hash(const rlt_jstream *s)
{
    return s->hash;
}

void rlt_jstream_keys(rlt_jstream *s, const char *const *keys)
{
    rlt__json_want(&s->keys, keys);
}

/* ---- the buffer */

/* Makes room for a block: forgets what need not stay, then grows. */
static int make_room(rlt_jstream *s)
{
    char *from = s->keeps ? s->begin : s->at, *grown = s->buffer;
    size_t kept = (size_t)(s->end - from), read = (size_t)(s->at - from);
    s->before += (uint64_t)(from - s->buffer);
    memmove(s->buffer, from, kept);
    if (s->capacity - kept < BLOCK && kept <= RLT_JSON_SPAN_MAX) {
        grown = realloc(s->buffer, (size_t)s->capacity * 2 + 1 + WORD);
        s->capacity *= grown ? 2 : 1;
    }
    s->buffer = grown ? grown : s->buffer;
    s->begin = s->buffer;
    s->at = s->begin + read;
    s->end = s->begin + kept;
    if (!grown)
        return s->failed = rlt_nomem(s->err);
    if (kept > RLT_JSON_SPAN_MAX)
        return fail_at(s, RLT_ERANGE, offset(s), "a value of more than %d MiB", RLT_JSON_SPAN_MAX >> 20);
    return 0;
}

/* Reads the next block. Returns false at the end and after a failure. */
static bool refill(rlt_jstream *s)
{
    size_t got = 0;
    rlt_error why = {0};
    if (s->failed || s->ended || (s->buffer + s->capacity - s->end < BLOCK && make_room(s) < 0))
        return false;
    int rc = rlt_input_read(s->input, s->end, BLOCK, &got, &why);
    uint64_t end = s->before + (uint64_t)(s->end - s->buffer);
    if (rc < 0) {
        fail_at(s, rc, end + got, "%s", why.what);
        return false;
    }
    s->ended = got < BLOCK;
    s->hash = rlt_hash_words(s->end, got, s->hash);
    s->end += got;
    memset(s->end, 0, 1 + WORD);
    if (end + got > s->limit)
        fail_at(s, RLT_ERANGE, end,
                "the file decompresses to over %d times its size: not a plausible recording", INFLATE_RATIO);
    return got > 0 && !s->failed;
}

/* Returns the byte at s->at, or -1 at the end and after a failure. */
static inline int peek(rlt_jstream *s)
{
    if (s->at == s->end && !refill(s))
        return -1;
    return (unsigned char)*s->at;
}

/* Skips blanks. Returns the byte after them, or -1. */
static inline int visible(rlt_jstream *s)
{
    for (;;) {
        s->at = rlt__json_after_blanks(s->at);
        if (s->at < s->end)
            return (unsigned char)*s->at;
        if (!refill(s))
            return -1;
    }
}

/* ---- texts */

static int too_large(rlt_jstream *s)
{
    return fail_at(s, RLT_ERANGE, offset(s), "a value of more than %d MiB", RLT_JSON_PIECE_MAX >> 20);
}

static inline int add_token(rlt_jstream *s, rlt_jtype type, uint32_t *index)
{
    if (s->n_tokens == s->tokens_capacity) {
        if (s->n_tokens == RLT_JSON_TOKENS_MAX)
            return fail_at(s, RLT_ERANGE, offset(s), "a value of more than %d parts", RLT_JSON_TOKENS_MAX);
        int rc = rlt_grow(&s->tokens, &s->tokens_capacity, sizeof *s->tokens, (uint64_t)s->n_tokens + 1,
                          RLT_JSON_TOKENS_MAX, "parts of one value", s->err);
        if (rc < 0)
            return s->failed = rc;
    }
    *index = s->n_tokens++;
    s->tokens[*index] =
        (rlt_jtoken){.text = place(s), .next = s->n_tokens, .type = (uint16_t)type, .key = NO_KEY};
    return 0;
}

static inline int count_text(rlt_jstream *s, uint32_t n)
{
    s->text_used += n + 1;
    return s->text_used > RLT_JSON_PIECE_MAX ? too_large(s) : 0;
}

static int hex4(rlt_jstream *s, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(s);
        int digit = c >= '0' && c <= '9'                          ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' && c > 0 ? (c | 32) - 'a' + 10
                                                                  : -1;
        if (digit < 0)
            return malformed(s, c, "four hexadecimal digits");
        *value = *value << 4 | (uint32_t)digit;
        s->at++;
    }
    return 0;
}

/* Writes a character to out[0..4). Returns its length. */
static uint32_t utf8(uint32_t u, char *out)
{
    uint32_t n = u < 0x80 ? 1 : u < 0x800 ? 2 : u < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (uint32_t i = n - 1; i > 0; i--, u >>= 6)
        out[i] = (char)(0x80 | (u & 63));
    out[0] = (char)(lead[n] | u);
    return n;
}

/* Writes a character behind the text that ends at *to, counted from s->begin. NULL: nowhere. */
static void put(rlt_jstream *s, uint32_t u, uint32_t *to)
{
    if (to)
        *to += utf8(u, s->begin + *to);
}

/* Reads XXXX of \uXXXX, perhaps the first half of a surrogate pair. A lone half becomes U+FFFD, and so does
 * zero, which would end the text. */
static int unicode(rlt_jstream *s, uint32_t *to)
{
    uint32_t u, low = 0;
    if (hex4(s, &u) < 0)
        return s->failed;
    while (u >= 0xd800 && u < 0xdc00) {
        if (peek(s) != '\\') {
            u = 0xfffd;
            break;
        }
        s->at++;
        int c = peek(s);
        if (c != 'u')
            return malformed(s, c, "the second half of a surrogate pair");
        s->at++;
        if (hex4(s, &low) < 0)
            return s->failed;
        if (low >= 0xdc00 && low < 0xe000) {
            u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
            break;
        }
        put(s, 0xfffd, to);
        u = low;
    }
    put(s, u == 0 || (u >= 0xdc00 && u < 0xe000) ? 0xfffd : u, to);
    return 0;
}

/* Reads an escape, after its backslash. Its character is never longer than the escape. */
static int escape(rlt_jstream *s, uint32_t *to)
{
    static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
    int c = peek(s);
    const char *at = c > 0 ? strchr(from, c) : NULL;
    if (!at && c != 'u')
        return malformed(s, c, "an escape such as \\n");
    s->at++;
    if (c == 'u')
        return unicode(s, to);
    put(s, (uint32_t)is[at - from], to);
    return 0;
}

/* Reads on in a string that has an escape, a tab or the end of the buffer at s->at. */
static int string_rest(rlt_jstream *s, bool keep, uint32_t *to)
{
    for (;;) {
        int c = peek(s);
        if (c == '"')
            return 0;
        if (c == '\\') {
            s->at++;
            if (escape(s, keep ? to : NULL) < 0)
                return s->failed;
            continue;
        }
        if (c < 32 && c != '\t')
            return malformed(s, c, "the end of a string");
        char *p = s->at, *end = rlt__json_plain_end(p + (c == '\t'));
        uint32_t n = (uint32_t)(end - p);
        if (keep)
            memmove(s->begin + *to, p, n);
        *to += n;
        s->at += n;
    }
}

/* Reads a string, after its opening quote, and its closing quote. *length: of its text, if it is kept. */
static inline int string(rlt_jstream *s, bool keep, uint32_t *length)
{
    uint32_t from = place(s), to;
    s->at = rlt__json_plain_end(s->at);
    to = place(s);
    if (*s->at != '"' && string_rest(s, keep, &to) < 0)
        return s->failed;
    s->at++;
    *length = to - from;
    if (!keep)
        return 0;
    s->begin[to] = '\0';
    return count_text(s, *length);
}

/* ---- values */

/* Reads a word that is no plain number. Sets its type. */
static int word(rlt_jstream *s, rlt_jtype *type)
{
    char text[SCALAR_MAX];
    const char *p = s->at;
    uint32_t n = 0;
    while (!rlt__json_ends_scalar(p[n]) && n < sizeof text - 1) {
        text[n] = p[n];
        n++;
    }
    if (n == 0)
        return malformed(s, peek(s), "a value");
    text[n] = '\0';
    *type = !strcmp(text, "null")    ? RLT_J_NULL
            : !strcmp(text, "true")  ? RLT_J_TRUE
            : !strcmp(text, "false") ? RLT_J_FALSE
                                     : RLT_J_NUMBER;
    if (*type == RLT_J_NUMBER && strcmp(text, "NaN") && strcmp(text, "Infinity") &&
        strcmp(text, "-Infinity")) {
        for (uint32_t i = 0; i < n; i++)
            text[i] = (unsigned char)text[i] < 32 || (unsigned char)text[i] > 126 ? '?' : text[i];
        return fail_at(s, RLT_EMALFORMED, offset(s), "expected a value, got '%.40s'", text);
    }
    s->at += n;
    return 0;
}

/* Reads a number or literal. *end: where the zero behind a kept number belongs, counted from s->begin, or
 * RLT_NONE; the byte there is still to be read. */
static inline int scalar(rlt_jstream *s, bool keep, uint32_t *end)
{
    rlt_jtype type = RLT_J_NUMBER;
    uint32_t token = 0;
    while (s->end - s->at < SCALAR_MAX && refill(s)) {
    }
    if (s->failed || (keep && add_token(s, type, &token) < 0))
        return s->failed;
    uint32_t from = place(s);
    const char *p = s->at, *stop = rlt__json_number_end(p, true);
    if (stop && rlt__json_ends_scalar(*stop) && stop - p < SCALAR_MAX)
        s->at += stop - p;
    else if (word(s, &type) < 0)
        return s->failed;
    if (!keep)
        return 0;
    s->tokens[token].type = (uint16_t)type;
    *end = type == RLT_J_NUMBER ? place(s) : RLT_NONE;
    return type == RLT_J_NUMBER ? count_text(s, *end - from) : 0;
}

typedef struct nest {
    uint32_t tokens[RLT_JSON_DEPTH_MAX];
    bool object[RLT_JSON_DEPTH_MAX];
    uint32_t depth;
    uint32_t skipped; /* depth of the object of a member that is skipped, or RLT_NONE */
} nest;

/* Reads a key, at s->at, and its colon. Returns 1 if the member is to be skipped. */
static int key_and_colon(rlt_jstream *s, int c, bool keep)
{
    uint32_t token = 0, length = 0;
    bool skip = false;
    if (c != '"')
        return malformed(s, c, "a key in quotes");
    s->at++;
    uint32_t text = place(s);
    if (string(s, keep, &length) < 0)
        return s->failed;
    bool escapes = place(s) - text != length + 1;
    const rlt__json_wanted *k =
        keep && s->keys.wants ? rlt__json_wanted_slot(&s->keys, s->begin + text, length) : NULL;
    if (k && k->index == NO_KEY) {
        s->text_used -= length + 1;
        skip = true;
    } else if (keep) {
        if (add_token(s, RLT_J_STRING, &token) < 0)
            return s->failed;
        s->tokens[token].text = text;
        s->tokens[token].key = k ? k->index : NO_KEY;
    }
    c = visible(s);
    if (c != ':')
        return malformed(s, c, "':'");
    s->at++;
    s->at += *s->at == ' ';
    if (s->keeps && !escapes)
        rlt__json_see(&s->keys, s->begin + text, place(s) - text, length);
    return skip;
}

/* Adds the tokens of a member whose texts and their ends have `used` bytes. Returns false if it would not
 * fit. */
static inline bool add_member(rlt_jstream *s, const rlt_jtoken *key, const rlt_jtoken *value, uint32_t used)
{
    if (s->tokens_capacity - s->n_tokens < 2 || s->text_used + used > RLT_JSON_PIECE_MAX)
        return false;
    rlt_jtoken *to = &s->tokens[s->n_tokens];
    to[0] = *key;
    to[0].next = s->n_tokens + 1;
    to[1] = *value;
    to[1].next = s->n_tokens += 2;
    s->text_used += used;
    return true;
}

/*
 * Reads members whose keys were seen before and whose values are numbers and strings without escapes, from
 * the key at s->at on. Stops before a member that is different or does not end in the buffer: the other
 * functions know all cases. Returns true if the object ends, with its brace at s->at, which may be a zero by
 * now.
 */
static bool plain_members(rlt_jstream *s, bool keep)
{
    while (s->end - s->at > RLT__JSON_SEEN_MAX) {
        char *key = s->at + 1, *from, *to, *after;
        const rlt__json_seen *k = rlt__json_seen_at(&s->keys, key);
        if (!k)
            return false;
        from = rlt__json_after_blanks(key + k->size);
        bool text = *from == '"', last;
        if (text) {
            to = rlt__json_plain_end(++from);
            if (*to != '"')
                return false;
            after = rlt__json_after_blanks(to + 1);
        } else {
            to = (char *)rlt__json_number_end(from, true);
            if (!to || to - from >= SCALAR_MAX)
                return false;
            after = rlt__json_after_blanks(to);
        }
        last = *after == '}';
        if (!last && (*after != ',' || *(after = rlt__json_after_blanks(after + 1)) != '"'))
            return false;
        if (keep && !(s->keys.wants && k->index == NO_KEY)) {
            rlt_jtoken name = {(uint32_t)(key - s->begin), 0, RLT_J_STRING, k->index};
            rlt_jtoken value = {(uint32_t)(from - s->begin), 0, text ? RLT_J_STRING : RLT_J_NUMBER, NO_KEY};
            if (!add_member(s, &name, &value, (uint32_t)(to - from) + k->length + 2u))
                return false;
            key[k->length] = *to = '\0';
        }
        s->at = after;
        if (last)
            return true;
    }
    return false;
}

static int open_container(rlt_jstream *s, nest *in, int c, bool keep)
{
    if (in->depth == RLT_JSON_DEPTH_MAX)
        return fail_at(s, RLT_ERANGE, offset(s), "nested more than %d deep", RLT_JSON_DEPTH_MAX);
    in->object[in->depth] = c == '{';
    if (keep && add_token(s, c == '{' ? RLT_J_OBJECT : RLT_J_LIST, &in->tokens[in->depth]) < 0)
        return s->failed;
    in->depth++;
    s->at++;
    return 0;
}

/* Closes the containers that end after a value, and finds the next value. Returns 1 with its first byte in
 * *c, 0 at the end of the outermost value. `opened`: a container was just opened and may be empty. */
static inline int step(rlt_jstream *s, nest *in, bool opened, bool keep, int *c)
{
    bool ended = false;
    while (in->depth > 0) {
        bool object = in->object[in->depth - 1];
        if (in->depth == in->skipped)
            in->skipped = RLT_NONE;
        *c = ended ? '}' : visible(s);
        if (*c == (object ? '}' : ']')) {
            s->at++;
            in->depth--;
            if (keep && in->skipped == RLT_NONE)
                s->tokens[in->tokens[in->depth]].next = s->n_tokens;
            opened = ended = false;
            continue;
        }
        if (!opened) {
            if (*c != ',')
                return malformed(s, *c, object ? "',' or '}'" : "',' or ']'");
            s->at++;
            *c = visible(s);
        }
        if (object) {
            bool kept = keep && in->skipped == RLT_NONE;
            if (*c == '"' && (ended = plain_members(s, kept)))
                continue;
            int rc = key_and_colon(s, *c, kept);
            if (rc < 0)
                return rc;
            if (rc > 0)
                in->skipped = in->depth;
            *c = visible(s);
        }
        return 1;
    }
    return 0;
}

/* Reads the value that begins with c, at s->at; stores its tokens if `keep` is set. */
static int value(rlt_jstream *s, int c, bool keep)
{
    nest in = {.skipped = RLT_NONE};
    int more = 1, rc;
    while (more == 1) {
        bool opened = c == '{' || c == '[', kept = keep && in.skipped == RLT_NONE, inner = in.depth > 0;
        uint32_t token, length, end = RLT_NONE;
        if (c < 0)
            return malformed(s, c, "a value");
        if (opened)
            rc = open_container(s, &in, c, kept);
        else if (c == '"') {
            s->at++;
            rc = kept ? add_token(s, RLT_J_STRING, &token) : 0;
            rc = rc ? rc : string(s, kept, &length);
        } else
            rc = scalar(s, kept, &end);
        if (rc < 0)
            return rc;
        more = step(s, &in, opened, keep, &c);
        if (end != RLT_NONE && inner)
            s->begin[end] = '\0';
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

/* Begins a text that stays in the buffer. */
static void begin(rlt_jstream *s)
{
    s->text_used = s->n_tokens = 0;
    s->begin = s->at;
    s->keeps = true;
}

static int hand_out(rlt_jstream *s, int c, bool element, rlt_jpiece *piece)
{
    begin(s);
    uint64_t where = offset(s);
    if (value(s, c, true) < 0)
        return s->failed;
    s->keeps = false;
    *piece = (rlt_jpiece){.key = s->key,
                          .element = element,
                          .offset = where,
                          .text = s->begin,
                          .tokens = s->tokens,
                          .n_tokens = s->n_tokens};
    if (s->tokens[0].type == RLT_J_NUMBER) { /* the byte behind it has not been read yet */
        uint32_t n = place(s);
        memcpy(s->scalar, piece->text, n);
        s->scalar[n] = '\0';
        piece->text = s->scalar;
    }
    return 1;
}

/* Reads one member of the top-level object. Returns 1 with a piece, or 0 to carry on at `stage`. */
static int member(rlt_jstream *s, rlt_jpiece *piece)
{
    int c = visible(s);
    if (c == '}') {
        s->at++;
        s->stage = AT_END;
        return 0;
    }
    if (!s->first) {
        if (c != ',')
            return malformed(s, c, "',' or '}'");
        s->at++;
        c = visible(s);
    }
    s->first = false;
    begin(s);
    int rc = key_and_colon(s, c, true);
    if (rc < 0)
        return rc;
    snprintf(s->key, sizeof s->key, "%s", s->begin + 1);
    s->keeps = false;
    c = visible(s);
    if (!wanted(s))
        return value(s, c, false);
    if (c != '[')
        return hand_out(s, c, false, piece);
    s->at++;
    s->stage = IN_LIST;
    s->first = true;
    return 0;
}

static int element(rlt_jstream *s, rlt_jpiece *piece)
{
    int c = visible(s);
    if (c == ']') {
        s->at++;
        s->stage = IN_OBJECT;
        s->first = false;
        return 0;
    }
    if (!s->first) {
        if (c != ',')
            return malformed(s, c, "',' or ']'");
        s->at++;
        c = visible(s);
    }
    s->first = false;
    return hand_out(s, c, true, piece);
}

int rlt_jstream_next(rlt_jstream *s, rlt_jpiece *piece, rlt_error *err)
{
    s->err = err ? err : &s->own;
    int rc = s->failed, c;
    while (rc == 0 && s->stage != AT_END) {
        if (s->stage == AT_START) {
            c = visible(s);
            if (c != '{')
                return malformed(s, c, "'{', the start of an object");
            s->at++;
            s->stage = IN_OBJECT;
            s->first = true;
        }
        rc = s->stage == IN_LIST ? element(s, piece) : member(s, piece);
    }
    if (rc == 0) {
        c = visible(s);
        if (c >= 0 || s->failed)
            return malformed(s, c, "the end of the file");
    }
    return rc;
}
