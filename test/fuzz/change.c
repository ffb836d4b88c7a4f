/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of inputs. Those that know a format keep most of it intact, so that what is wrong lies deeper than the
 * first check of a reader. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/protowire.h"
#include "test/fuzz/fuzz.h"

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

typedef struct bytes {
    size_t n, room;
    uint8_t *at;
} bytes;

/* Replaces `out` bytes at `where` by `n` of `with`, which must not lie in b. */
static void splice(bytes *b, size_t where, size_t out, const void *with, size_t n)
{
    if (where + out > b->n || b->n - out + n > b->room)
        return;
    memmove(b->at + where + n, b->at + where + out, b->n - where - out);
    if (n)
        memcpy(b->at + where, with, n);
    b->n += n - out;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static const char *hostile_number(void)
{
    static const char *const numbers[] = {"-1",
                                          "0",
                                          "1",
                                          "2",
                                          "3",
                                          "255",
                                          "65536",
                                          "1e999",
                                          "1e-999",
                                          "0.1",
                                          "NaN",
                                          "Infinity",
                                          "null",
                                          "\"\"",
                                          "[]",
                                          "{}",
                                          "[[[]]]",
                                          "00",
                                          "2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "123456789012345678901234567890123456789012345678901234567890",
                                          "%s%n"};
    return numbers[draw(sizeof numbers / sizeof *numbers)];
}

/* Replaces the number at or behind `from`. */
static void replace_number(bytes *b, size_t from)
{
    const char *with = hostile_number();
    size_t end;
    while (from < b->n && !is_digit(b->at[from]))
        from++;
    for (end = from; end < b->n && is_digit(b->at[end]);)
        end++;
    splice(b, from, end - from, with, strlen(with));
}

/* Copies one stretch over another, so that keys, words and elements meet in unusual ways. */
static void transplant(bytes *b)
{
    uint8_t piece[256];
    size_t from = draw(b->n), n = 1 + draw(sizeof piece - 1), to = draw(b->n);
    if (n > b->n - from)
        n = b->n - from;
    memcpy(piece, b->at + from, n);
    size_t out = draw(2) ? 0 : draw(n + 1);
    splice(b, to, out < b->n - to ? out : b->n - to, piece, n);
}

static void damage(bytes *b)
{
    static const char marks[] = "{}[]\",:<>/=\n\\-#*@&;\0";
    if (b->n == 0)
        return;
    size_t where = draw(b->n), n = 1 + draw(8);
    switch (draw(9)) {
    case 0:
        b->n = where;
        break;
    case 1:
        for (size_t i = 0; i < n; i++)
            b->at[draw(b->n)] ^= (uint8_t)(1 << draw(8));
        break;
    case 2:
        for (size_t i = 0; i < n; i++) {
            uint8_t c = (uint8_t)draw(256);
            splice(b, where, 0, &c, 1);
        }
        break;
    case 3:
        n = 1 + draw(64);
        splice(b, where, n < b->n - where ? n : b->n - where, "", 0);
        break;
    case 4:
        b->at[where] = (uint8_t)marks[draw(sizeof marks - 1)];
        break;
    case 5:
        b->at[where] = draw(2) ? 0xff : 0x80;
        break;
    case 6:
        transplant(b);
        break;
    default:
        replace_number(b, where);
    }
}

size_t fuzz_change_bytes(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    bytes b = {n, room, data};
    state = seed;
    for (uint64_t k = 1 + draw(3); k > 0; k--)
        damage(&b);
    return b.n;
}

size_t fuzz_change_all(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    state = seed;
    (void)room;
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)draw(256);
    return n;
}

/* ---- pieces: values of JSON, lines of GOAL */

enum { MOST_PIECES = 1024, MOST_PIECE = 2048 };
typedef struct piece {
    size_t from, to;
} piece;

/* Drops, repeats, exchanges or copies pieces. `mark` stands between two of them; 0: nothing does. */
static void change_pieces(bytes *b, const piece *p, uint32_t n, char mark)
{
    static uint8_t text[MOST_PIECE + 1];
    piece a = p[draw(n)], other = p[draw(n)];
    size_t length = other.to - other.from;
    if (length > MOST_PIECE)
        return;
    switch (draw(4)) {
    case 0: /* drops a piece, and the mark behind it */
        splice(b, a.from, a.to - a.from + (mark && a.to < b->n && b->at[a.to] == (uint8_t)mark), "", 0);
        break;
    case 1: /* repeats a piece, up to eight times */
        for (uint64_t k = 1 + draw(8); k > 0; k--) {
            size_t used = 0;
            memcpy(text, b->at + other.from, length);
            used = length;
            if (mark)
                text[used++] = (uint8_t)mark;
            splice(b, other.from, 0, text, used);
        }
        break;
    case 2: /* puts a copy in the place of another */
        memcpy(text, b->at + other.from, length);
        splice(b, a.from, a.to - a.from, text, length);
        break;
    default:
        replace_number(b, a.from);
    }
}

/* Finds the values of a JSON text: strings that are no keys, numbers, words, lists, objects. */
static uint32_t find_values(const bytes *b, piece *p)
{
    size_t open[64];
    uint32_t n = 0, depth = 0;
    for (size_t i = 0; i < b->n && n < MOST_PIECES; i++) {
        size_t from = i;
        switch (b->at[i]) {
        case '{':
        case '[':
            if (depth < 64)
                open[depth] = i;
            depth++;
            continue;
        case '}':
        case ']':
            if (depth > 0 && --depth < 64)
                p[n++] = (piece){open[depth], i + 1};
            continue;
        case '"':
            for (i++; i < b->n && b->at[i] != '"'; i++)
                if (b->at[i] == '\\')
                    i++;
            if (i < b->n && !(i + 1 < b->n && b->at[i + 1] == ':'))
                p[n++] = (piece){from, i + 1};
            continue;
        default:
            if (b->at[i] != '-' && (b->at[i] | 32) < '0')
                continue;
            while (i < b->n && !strchr(",]}: \n", b->at[i]))
                i++;
            if (i > from)
                p[n++] = (piece){from, i};
            i -= i > from;
        }
    }
    return n;
}

/* Changes one or two pieces that `find` finds. `separator` stands between two of them; 0: nothing. */
static size_t change_text(bytes b, uint64_t seed, uint32_t (*find)(const bytes *b, piece *p), char separator)
{
    static piece pieces[MOST_PIECES];
    state = seed;
    for (uint64_t k = 1 + draw(2); k > 0; k--) {
        uint32_t found = find(&b, pieces);
        if (found)
            change_pieces(&b, pieces, found, separator);
    }
    return b.n;
}

size_t fuzz_change_json(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    return change_text((bytes){n, room, data}, seed, find_values, ',');
}

static uint32_t find_lines(const bytes *b, piece *p)
{
    uint32_t n = 0;
    for (size_t i = 0, from = 0; i < b->n && n < MOST_PIECES; i++)
        if (b->at[i] == '\n') {
            p[n++] = (piece){from, i + 1};
            from = i + 1;
        }
    return n;
}

size_t fuzz_change_goal(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    return change_text((bytes){n, room, data}, seed, find_lines, 0);
}

/* ---- protobuf: one message, or messages behind their lengths */

/* A pass over the fields; the one with number `at` is changed, any other is copied. */
typedef struct pass {
    uint32_t seen, at, change;
    rlt_pb_out out;
} pass;

static uint64_t extreme(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      127,
                                      128,
                                      UINT32_MAX,
                                      (uint64_t)UINT32_MAX + 1,
                                      INT64_MAX,
                                      (uint64_t)INT64_MAX + 1,
                                      UINT64_MAX,
                                      4096,
                                      1000000000000000};
    return values[draw(sizeof values / sizeof *values)];
}

static bool is_message(rlt_pb r)
{
    rlt_pb_field f;
    if (r.at == r.end)
        return false;
    while (r.at < r.end)
        if (rlt__pb_next(&r, &f) != 0 || f.number == 0)
            return false;
    return true;
}

static void fields(pass *p, rlt_pb r, int depth);

static void put_field(pass *p, const rlt_pb_field *f, bool extremely, int depth)
{
    rlt_pb_out *o = &p->out;
    if (f->wire == RLT_PB_BYTES) {
        if (depth < 8 && is_message(f->bytes)) {
            rlt_pb_out outer = *o;
            p->out = (rlt_pb_out){0};
            fields(p, f->bytes, depth + 1);
            rlt_pb_out inner = p->out;
            *o = outer;
            rlt__pb_put_bytes(o, f->number, inner.data, inner.length);
            rlt__pb_out_free(&inner);
            return;
        }
        size_t n = (size_t)(f->bytes.end - f->bytes.at);
        rlt__pb_put_bytes(o, f->number, f->bytes.at, extremely ? draw(n + 1) : n);
        return;
    }
    uint64_t value = extremely ? extreme() : f->value;
    rlt__pb_put_varint(o, (uint64_t)f->number << 3 | f->wire);
    if (f->wire == RLT_PB_VARINT)
        rlt__pb_put_varint(o, value);
    else
        for (int i = 0; i < (f->wire == RLT_PB_FIXED64 ? 8 : 4); i++) {
            uint8_t byte = (uint8_t)(value >> 8 * i);
            rlt__pb_put_raw(o, &byte, 1);
        }
}

static void fields(pass *p, rlt_pb r, int depth)
{
    rlt_pb_field f;
    while (r.at < r.end && rlt__pb_next(&r, &f) == 0) {
        bool here = p->seen++ == p->at;
        uint32_t times = 1;
        if (here && p->change == 0)
            times = 0;
        else if (here && p->change == 1)
            times = 2 + (uint32_t)draw(7);
        else if (here && p->change == 2)
            f.number = 1 + (uint32_t)draw(40);
        for (; times > 0; times--)
            put_field(p, &f, here && p->change == 3, depth);
    }
}

/* Messages behind their lengths, as in Chakra's files, or one message. */
static void messages(pass *p, rlt_pb r)
{
    rlt_pb part, rest = r;
    bool listed = true;
    while (listed && rest.at < rest.end)
        listed = rlt__pb_piece(&rest, &part) == 0 && (part.at == part.end || is_message(part));
    if (!listed) {
        fields(p, r, 0);
        return;
    }
    while (r.at < r.end && rlt__pb_piece(&r, &part) == 0) {
        bool here = p->seen++ == p->at;
        rlt_pb_out outer = p->out;
        p->out = (rlt_pb_out){0};
        fields(p, part, 1);
        rlt_pb_out inner = p->out;
        p->out = outer;
        for (uint32_t times = !here ? 1 : p->change == 0 ? 0 : p->change == 1 ? 3 : 1; times > 0; times--) {
            rlt__pb_put_varint(&p->out, inner.length);
            rlt__pb_put_raw(&p->out, inner.data, inner.length);
        }
        rlt__pb_out_free(&inner);
    }
}

size_t fuzz_change_protobuf(uint8_t *data, size_t n, size_t room, uint64_t seed)
{
    pass count = {.at = RLT_NONE};
    state = seed;
    messages(&count, (rlt_pb){data, data + n});
    rlt__pb_out_free(&count.out);
    if (count.seen == 0)
        return fuzz_change_bytes(data, n, room, seed);
    pass p = {.at = (uint32_t)draw(count.seen), .change = (uint32_t)draw(4)};
    messages(&p, (rlt_pb){data, data + n});
    size_t length = p.out.length;
    if (length <= room && length > 0)
        memcpy(data, p.out.data, length);
    else
        length = n;
    rlt__pb_out_free(&p.out);
    return length;
}
