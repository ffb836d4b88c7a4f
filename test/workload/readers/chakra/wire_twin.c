/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random numbers and lists of numbers in every type that protobuf has, written by an encoder of their own, packed and one by one:
 * what is read of them, how many, and what is refused because it is no number or breaks off. And which first bytes are a trace.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "test/support/dice.h"
#include "test/support/traces/chakra.h"
#include "workload/readers/chakra/node.h"

enum { VARINT, FIXED64, BYTES, FIXED32 = 5, MOST = 12 };

/* In the order of their fields: scalars are fields 3, 5, ..., lists 4, 6, .... */
static const struct {
    int wire, bits; /* bits 0: no integers */
    bool is_signed, zigzag;
} types[] = {{FIXED64, 0, false, false},  {FIXED32, 0, false, false}, {VARINT, 32, true, false},
             {VARINT, 64, true, false},   {VARINT, 32, false, false}, {VARINT, 64, false, false},
             {VARINT, 32, true, true},    {VARINT, 64, true, true},   {FIXED32, 32, false, false},
             {FIXED64, 64, false, false}, {FIXED32, 32, true, false}, {FIXED64, 64, true, false},
             {VARINT, 1, false, false},   {BYTES, 0, false, false},   {BYTES, 0, false, false}};
enum { TYPES = sizeof types / sizeof *types };

typedef struct bytes {
    uint8_t at[400];
    size_t n;
} bytes;

static void put(bytes *b, uint64_t v)
{
    while (v >= 128) {
        b->at[b->n++] = (uint8_t)(v % 128 + 128);
        v /= 128;
    }
    b->at[b->n++] = (uint8_t)v;
}

static void put_key(bytes *b, uint32_t field, int wire)
{
    put(b, field * 8 + (uint32_t)wire);
}

/* A number of the type, sign-extended. */
static uint64_t draw_number(dice *d, int type)
{
    uint64_t v = (uint64_t)roll(d, UINT64_C(1) << 32) << 32 | (uint64_t)roll(d, UINT64_C(1) << 32);
    v >>= below(d, 64);
    if (types[type].bits == 64)
        return v;
    v &= (UINT64_C(1) << types[type].bits) - 1;
    return types[type].is_signed && v >> 31 ? v - (UINT64_C(1) << 32) : v;
}

static void put_number(bytes *b, int type, uint64_t v)
{
    if (types[type].wire == VARINT)
        put(b, !types[type].zigzag ? v : v >> 63 ? ~v * 2 + 1 : v * 2);
    for (int i = 0; types[type].wire != VARINT && i < (types[type].wire == FIXED64 ? 8 : 4); i++)
        b->at[b->n++] = (uint8_t)(v >> 8 * i);
}

/* A node whose comm_size, or ringlet_counts, is this value. */
static void write_value(const char *attribute, const bytes *value)
{
    file f;
    begin(&f);
    head(&f, 5, "x", RLT_CHAKRA_COLL);
    raw_attr(&f, attribute, value->at, value->n);
    message(&f);
    end(&f, "one.0.et");
}

static void read_node(rlt_chakra_file *f, rlt_chakra_node *n)
{
    char path[256];
    rlt_error err = {0};
    *n = (rlt_chakra_node){0};
    assert_int_equal(rlt__chakra_open(path_of("one.0.et", path, sizeof path), f, n, &err), 0);
    assert_int_equal(rlt__chakra_next(f, n, &err), 1);
}

static void scalars(void **state)
{
    dice d = {.seed = 2};
    (void)state;
    for (int round = 0; round < 600; round++) {
        int type = (int)below(&d, TYPES);
        uint64_t v = types[type].bits ? draw_number(&d, type) : 0, found = 0,
                 most = round % 2 ? UINT64_MAX : v;
        bytes b = {.n = 0};
        rlt_chakra_file f;
        rlt_chakra_node n;
        rlt_error err = {0};
        put_key(&b, 3 + 2 * (uint32_t)type, types[type].wire);
        if (types[type].wire == BYTES)
            put(&b, 0);
        else
            put_number(&b, type, v);
        write_value("comm_size", &b);
        read_node(&f, &n);
        int rc = rlt__chakra_u64(&n, RLT_CHAKRA_ATTR_COMM_SIZE, most, &found, &err);
        assert_int_equal(rc, types[type].bits ? 1 : RLT_ESCHEMA);
        if (rc < 0) {
            assert_string_equal(err.where, "node 5 'x'");
            assert_string_equal(err.what, "attribute comm_size is not an integer");
        } else {
            assert_true(found == v);
        }
        if (v > 0) {
            char what[128];
            bool negative = types[type].is_signed && v >> 63;
            snprintf(what, sizeof what,
                     negative ? "attribute comm_size is %lld, expected 0 to %llu"
                              : "attribute comm_size is %llu, expected 0 to %llu",
                     (long long)v, (unsigned long long)(v - 1));
            err = (rlt_error){0};
            assert_int_equal(rlt__chakra_u64(&n, RLT_CHAKRA_ATTR_COMM_SIZE, v - 1, &found, &err),
                             RLT_ESCHEMA);
            if (types[type].bits == 64 && !types[type].is_signed && v >> 63 && type == 9)
                snprintf(what, sizeof what, "attribute comm_size is %lld, expected 0 to %llu", (long long)v,
                         (unsigned long long)(v - 1)); /* fixed64 is shown as signed */
            assert_string_equal(err.what, what);
        }
        free(n.deps);
        rlt__chakra_close(&f);
    }
    clean();
}

/* A list may come in pieces, each packed or a number alone. A field that is not of the list is left out. */
static void put_list(dice *d, bytes *list, int type, uint64_t *values, uint32_t *n)
{
    for (uint32_t pieces = below(d, 4); pieces > 0; pieces--) {
        uint32_t many = below(d, 4);
        bytes packed = {.n = 0};
        if (below(d, 5) == 0) {
            put_key(list, 2, VARINT);
            put(list, 77);
        }
        if (below(d, 2)) {
            values[*n] = draw_number(d, type);
            put_key(list, 1, types[type].wire);
            put_number(list, type, values[(*n)++]);
            continue;
        }
        for (uint32_t i = 0; i < many; i++) {
            values[*n] = draw_number(d, type);
            put_number(&packed, type, values[(*n)++]);
        }
        put_key(list, 1, BYTES);
        put(list, packed.n);
        memcpy(list->at + list->n, packed.at, packed.n);
        list->n += packed.n;
    }
}

static void lists(void **state)
{
    dice d = {.seed = 3};
    (void)state;
    for (int round = 0; round < 900; round++) {
        int type = (int)below(&d, TYPES);
        uint64_t values[MOST], found[MOST] = {0};
        uint32_t n = 0, count = 99, most = below(&d, MOST + 1);
        bytes list = {.n = 0}, b = {.n = 0};
        rlt_chakra_file f;
        rlt_chakra_node x;
        rlt_error err = {0};
        if (types[type].bits)
            put_list(&d, &list, type, values, &n);
        bool cut = list.n > 0 && below(&d, 4) == 0;
        if (cut) { /* the last one of a packed list lacks its last byte */
            list.n = n = 0;
            put_key(&list, 1, BYTES);
            bytes packed = {.n = 0};
            put_number(&packed, type, types[type].wire == VARINT ? 300 : 5);
            if (types[type].wire == VARINT)
                packed = (bytes){.at = {0x80}, .n = 2};
            put(&list, packed.n - 1);
            memcpy(list.at + list.n, packed.at, packed.n - 1);
            list.n += packed.n - 1;
        }
        put_key(&b, 4 + 2 * (uint32_t)type, BYTES);
        put(&b, list.n);
        memcpy(b.at + b.n, list.at, list.n);
        b.n += list.n;
        write_value("ringlet_counts", &b);
        read_node(&f, &x);
        int rc = rlt__chakra_integers(&x, RLT_CHAKRA_ATTR_COUNTS, found, most, &count, &err);
        if (!types[type].bits || cut) {
            assert_int_equal(rc, RLT_ESCHEMA);
            assert_string_equal(err.what,
                                cut ? "attribute ringlet_counts is cut short"
                                    : "attribute ringlet_counts is not a list of integers or bools");
        } else {
            assert_int_equal(rc, 0);
            assert_int_equal(count, n);
            for (uint32_t i = 0; i < MOST; i++)
                assert_true(found[i] == (i < n && i < most ? values[i] : 0));
        }
        free(x.deps);
        rlt__chakra_close(&f);
    }
    clean();
}

/* Lists where numbers are expected, and numbers where lists are; and fields of another wire type, which are unknown. */
static void other_kinds(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < TYPES; type++) {
        rlt_chakra_file f;
        rlt_chakra_node n;
        rlt_error err = {0};
        uint64_t v = 7;
        uint32_t count = 7;
        bytes b = {.n = 0};
        put_key(&b, 4 + 2 * type, BYTES);
        put(&b, 0);
        write_value("comm_size", &b);
        read_node(&f, &n);
        assert_int_equal(rlt__chakra_u64(&n, RLT_CHAKRA_ATTR_COMM_SIZE, 9, &v, &err), RLT_ESCHEMA);
        assert_string_equal(err.what, "attribute comm_size is not an integer");
        free(n.deps);
        rlt__chakra_close(&f);
        b.n = 0;
        put_key(&b, 3 + 2 * type, types[type].wire == VARINT ? BYTES : VARINT);
        put(&b, 0);
        write_value("comm_size", &b);
        read_node(&f, &n);
        assert_int_equal(rlt__chakra_u64(&n, RLT_CHAKRA_ATTR_COMM_SIZE, 9, &v, &err), 0);
        assert_int_equal(rlt__chakra_integers(&n, RLT_CHAKRA_ATTR_COMM_SIZE, &v, 1, &count, &err), 0);
        assert_int_equal(count, 0);
        assert_int_equal(v, 7);
        free(n.deps);
        rlt__chakra_close(&f);
    }
    clean();
}

/* Metadata "0.0.4" (7 bytes), and a node: its number 1, its name "a" and its type 4. */
#define META                                                                                                 \
    "\7\n\5"                                                                                                 \
    "0.0.4"
#define NODE "\7\10\1\22\1a\30\4"

static void first_bytes(void **state)
{
    static const struct {
        const char *path, *head;
        size_t n;
        int sure;
    } all[] = {
        {"x", META NODE, 16, 95},
        {"x.et", META NODE, 16, 95},
        {"x", META, 8, 40},
        {"x.et.gz", META, 8, 40},
        {"x", META NODE, 12, 0}, /* the node is cut short: only the name says it */
        {"x.et", META NODE, 12, 50},
        {"x.et.gz", META NODE, 12, 50},
        {".et", META NODE, 12, 0},
        {"x.etx", META NODE, 12, 0},
        {"x",
         "\177\n\5"
         "0.0.4",
         8, 0}, /* metadata that are longer than the head */
        {"x.et",
         "\177\n\5"
         "0.0.4",
         8, 50},
        {"x.et",
         "\177\22\5"
         "0.0.4",
         8, 50},
        {"x.et",
         "\177\32\5"
         "0.0.4",
         8, 0},
        {"x",
         "\177\22\5"
         "0.0.4",
         8, 0},
        {"x.et", "\177", 1, 0},
        {"x.et", "\200", 1, 0},
        {"x", "\0", 1, 0}, /* metadata of nothing */
        {"x.et", "\0", 1, 40},
        {"x", "\2\10\5", 3, 0},                         /* metadata whose first field is a number */
        {"x", META "\7\12\1\22\22\1a\30", 16, 0},       /* a node whose number is a text */
        {"x", META "\10\10\1\42\1\5\30\4\0", 17, 0},    /* a field cut short */
        {"x", META "\7\10\1\42\1\5\30\4", 16, 95},      /* packed dependencies */
        {"x", META "\6\10\1\40\5\30\4", 15, 95},        /* a dependency alone */
        {"x", META "\11\10\1\40\5\52\1\5\30\4", 18, 0}, /* a writer packs all of them or none */
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *own = malloc(all[i].n + 1);
        assert_non_null(own);
        memcpy(own, all[i].head, all[i].n);
        own[all[i].n] = '\0';
        int sure = rlt__chakra_probe(all[i].path, own, all[i].n);
        free(own);
        if (sure != all[i].sure)
            fail_msg("%zu: %d, expected %d", i, sure, all[i].sure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(lists),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(first_bytes),
    };
    return cmocka_run_group_tests_name("chakra_wire", tests, set_up, tear_down);
}
