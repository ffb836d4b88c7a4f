/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wire format of protobuf, by its published encoding: what is read, what is refused, what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/text/protowire.h"

static void numbers_of_protobuf(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        size_t n;
        uint8_t bytes[10];
    } cases[] = {
        {0, 1, {0}},
        {127, 1, {0x7f}},
        {128, 2, {0x80, 1}},
        {150, 2, {0x96, 1}},
        {16383, 2, {0xff, 0x7f}},
        {16384, 3, {0x80, 0x80, 1}},
        {UINT64_MAX, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlt_pb_out o = {0};
        rlt__pb_put_varint(&o, cases[i].value);
        assert_int_equal(o.length, cases[i].n);
        assert_memory_equal(o.data, cases[i].bytes, o.length);
        rlt__pb_out_free(&o);
        assert_null(o.data);
        rlt_pb r = {cases[i].bytes, cases[i].bytes + cases[i].n};
        uint64_t value = 1;
        assert_int_equal(rlt__pb_varint(&r, &value), 0);
        assert_int_equal(value, cases[i].value);
        assert_ptr_equal(r.at, r.end);
        r = (rlt_pb){cases[i].bytes, cases[i].bytes + cases[i].n - 1};
        assert_int_equal(rlt__pb_varint(&r, &value), RLT_EMALFORMED); /* cut short */
        assert_ptr_equal(r.at, cases[i].bytes);
    }
    static const uint8_t large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2},
                         eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    uint64_t value;
    assert_int_equal(rlt__pb_varint(&(rlt_pb){large, large + 10}, &value), RLT_EMALFORMED);
    assert_int_equal(rlt__pb_varint(&(rlt_pb){eleven, eleven + 11}, &value), RLT_EMALFORMED);
    assert_int_equal(rlt__pb_zigzag(0), 0);
    assert_int_equal(rlt__pb_zigzag(1), -1);
    assert_int_equal(rlt__pb_zigzag(2), 1);
    assert_int_equal(rlt__pb_zigzag(UINT64_MAX), INT64_MIN);
}

static void fields_of_protobuf(void **state)
{
    (void)state;
    static const uint8_t text[] = {0x08, 0x96, 0x01, 0x11, 1,    2, 3, 4, 5,    6,    7, 0x80,
                                   0x1a, 2,    'h',  'i',  0x25, 1, 0, 0, 0x80, 0x1a, 0};
    rlt_pb r = {text, text + sizeof text};
    rlt_pb_field f;
    assert_int_equal(rlt__pb_next(&r, &f), 1);
    assert_true(f.number == 1 && f.wire == RLT_PB_VARINT && f.value == 150);
    assert_int_equal(rlt__pb_next(&r, &f), 1);
    assert_true(f.number == 2 && f.wire == RLT_PB_FIXED64 && f.value == 0x8007060504030201u);
    assert_int_equal(rlt__pb_next(&r, &f), 1);
    assert_true(f.number == 3 && f.wire == RLT_PB_BYTES && f.bytes.end - f.bytes.at == 2);
    assert_memory_equal(f.bytes.at, "hi", 2);
    assert_int_equal(rlt__pb_next(&r, &f), 1);
    assert_true(f.number == 4 && f.wire == RLT_PB_FIXED32 && f.value == 0x80000001u);
    assert_int_equal(rlt__pb_next(&r, &f), 1);
    assert_true(f.number == 3 && f.bytes.end == f.bytes.at);
    assert_int_equal(rlt__pb_next(&r, &f), 0);
    /* Each of them cut short; the reader stays before it. */
    static const size_t ends[] = {3, 12, 16, 21};
    for (size_t i = 0, begin = 0; i < 4; begin = ends[i++])
        for (size_t end = begin + 1; end < ends[i]; end++) {
            r = (rlt_pb){text + begin, text + end};
            assert_int_equal(rlt__pb_next(&r, &f), RLT_EMALFORMED);
            assert_ptr_equal(r.at, text + begin);
        }
    static const struct {
        uint8_t bytes[6];
        size_t n;
        int rc;
    } keys[] = {
        {{0x00, 0}, 2, RLT_EMALFORMED}, /* field 0 */
        {{0x0b}, 1, RLT_EMALFORMED},    /* groups are not read */
        {{0x0c}, 1, RLT_EMALFORMED},
        {{0x0e}, 1, RLT_EMALFORMED},
        {{0xf8, 0xff, 0xff, 0xff, 0x0f, 7}, 6, 1}, /* field 2^29 - 1 */
        {{0x80, 0x80, 0x80, 0x80, 0x10, 7}, 6, RLT_EMALFORMED},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        r = (rlt_pb){keys[i].bytes, keys[i].bytes + keys[i].n};
        assert_int_equal(rlt__pb_next(&r, &f), keys[i].rc);
        if (keys[i].rc == 1)
            assert_true(f.number == 0x1fffffff && f.value == 7);
    }
}

static void written_protobuf(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x12, 3, 'a', 'b', 'c', 0x1a, 0};
    rlt_pb_out o = {0};
    rlt__pb_put_uint(&o, 1, 150);
    rlt__pb_put_bytes(&o, 2, "abc", 3);
    rlt__pb_put_bytes(&o, 3, NULL, 0);
    assert_int_equal(o.length, sizeof expected);
    assert_memory_equal(o.data, expected, sizeof expected);
    assert_false(o.failed);
    rlt__pb_put_raw(&o, expected, SIZE_MAX / 4);
    assert_true(o.failed);
    rlt__pb_put_raw(&o, expected, 1);
    assert_int_equal(o.length, sizeof expected);
    rlt__pb_out_free(&o);
    assert_false(o.failed);
    for (uint32_t i = 0; i < 1000; i++)
        rlt__pb_put_varint(&o, i % 128);
    assert_int_equal(o.length, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(o.data[i], i % 128);
    rlt_pb piece, r = {expected + 4, expected + 8};
    assert_int_equal(rlt__pb_piece(&r, &piece), 0);
    assert_ptr_equal(piece.at, expected + 5);
    assert_ptr_equal(piece.end, expected + 8);
    r = (rlt_pb){expected + 4, expected + 7};
    assert_int_equal(rlt__pb_piece(&r, &piece), RLT_EMALFORMED);
    rlt__pb_out_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_protobuf),
        cmocka_unit_test(fields_of_protobuf),
        cmocka_unit_test(written_protobuf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
