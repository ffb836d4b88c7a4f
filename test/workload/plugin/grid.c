/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How thoroughly a plug-in is proved: which plans of an algorithm are asked for, and which files a reader is
 * given, as workload/plugin/check_algorithm.c and check_reader.c say at their heads. The entries here note what
 * they are asked. A fault at one place of the grid is found, and named with its place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/lanes.h"
#include "sim/base/error.h"
#include "sim/base/registry.h"
#include "test/support/support.h"
#include "workload/plugin/plugin.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { MOST = 4096 };

/* ---- algorithms ---- */

typedef struct asked {
    uint32_t kind, n, channels, chunks, root;
    uint64_t bytes;
} asked;

static asked seen[MOST];
static uint32_t n_seen;
static asked wrong; /* the plan that is wrong; n 0: none */
static bool refuses;

static asked of_plan(const rlt_plan *plan)
{
    const rlt_coll_request *q = &plan->req;
    return (asked){q->kind, q->n, q->params.channels, q->params.chunks, q->root, q->bytes};
}

static bool same(const asked *a, const asked *b)
{
    return a->kind == b->kind && a->n == b->n && a->channels == b->channels && a->chunks == b->chunks &&
           a->root == b->root && a->bytes == b->bytes;
}

static int star_plan(rlt_plan *plan, rlt_error *err)
{
    assert_true(n_seen < MOST);
    seen[n_seen++] = of_plan(plan);
    plan->lanes = plan->blocks = plan->buffers = 1;
    return refuses ? rlt_fail(err, RLT_EUNSUPPORTED, "star", "is for nobody") : 0;
}

/* The root sends to each member in turn, and leaves out the last one if the plan is wrong. */
static uint32_t star_steps(const rlt_plan *plan, uint32_t member, uint32_t lane)
{
    asked here = of_plan(plan);
    (void)lane;
    return member == plan->req.root ? plan->req.n - 1 - same(&here, &wrong) : 1;
}

static void star_step(const rlt_plan *plan, uint32_t member, uint32_t lane, uint32_t k, rlt_step *out)
{
    if (member != plan->req.root) {
        out->recv_from = plan->req.root;
        out->recv_count = 1;
        return;
    }
    out->send_to = (plan->req.root + 1 + k) % plan->req.n;
    out->send_bytes = rlt_lane_bytes(plan, lane);
    out->send = out->land = rlt_blocks_run(0, 1);
}

static rlt_algorithm star = {
    .name = "star", .summary = "one by one", .plan = star_plan, .steps = star_steps, .step = star_step};

static int prove_star(uint32_t kinds, rlt_error *err)
{
    const rlt_algorithm *const list[] = {&star, NULL};
    const rlt_plugin p = {RLT_PLUGIN_ABI, "star", "1", "an algorithm", .algorithms = list};
    char *text = NULL;
    star.kinds = kinds;
    n_seen = 0;
    *err = (rlt_error){0};
    int rc = rlt_plugin_check(&p, "/tmp", &text, err);
    free(text);
    return rc;
}

/* The grid: 2 to 17, 24 and 32 members, four sizes, the algorithm's own lanes and two. */
static uint32_t grid(uint32_t kinds, asked *out)
{
    static const uint64_t sizes[] = {0, 1, 1000, 65536};
    uint32_t count = 0;
    for (uint32_t n = 2; n <= 32; n++)
        for (uint32_t kind = 0; kind < RLT_COLL_KINDS && (n < 18 || n % 8 == 0); kind++)
            for (uint32_t i = 0; i < 8 && (kinds >> kind & 1) && (kind != RLT_SEND_RECV || n == 2); i++) {
                bool rooted =
                    kind == RLT_BROADCAST || kind == RLT_REDUCE || kind == RLT_SCATTER || kind == RLT_GATHER;
                uint32_t lanes = i % 2 ? 2 : 0;
                assert_true(count < MOST);
                out[count++] = (asked){
                    kind, n, lanes, lanes, rooted ? i % n : 0, kind == RLT_BARRIER ? 0 : sizes[i / 2]};
            }
    return count;
}

/* Each kind alone, and all kinds at once: all of the grid is asked for, and nothing else. */
static void all_plans_are_asked_for(void **state)
{
    static asked want[MOST];
    (void)state;
    refuses = true;
    for (uint32_t kind = 0; kind <= RLT_COLL_KINDS; kind++) {
        uint32_t kinds = kind < RLT_COLL_KINDS ? 1u << kind : (1u << RLT_COLL_KINDS) - 1;
        rlt_error err;
        assert_int_equal(prove_star(kinds, &err), RLT_ECHECK);
        char where[80];
        snprintf(where, sizeof where, "algorithm star: %s",
                 rlt_coll_name((rlt_coll_kind)(kind < RLT_COLL_KINDS ? kind : 0)));
        assert_string_equal(err.where, where);
        assert_string_equal(err.what, "is claimed, but fails for every group");
        uint32_t n = grid(kinds, want);
        assert_int_equal(n_seen, n);
        for (uint32_t i = 0; i < n; i++)
            assert_true(same(&seen[i], &want[i]));
    }
    refuses = false;
}

static void a_fault_is_found_anywhere(void **state)
{
    static asked want[MOST];
    uint32_t n = grid(1u << RLT_BROADCAST, want);
    (void)state;
    for (uint32_t i = 0; i < n; i += 7) {
        rlt_error err;
        char where[160];
        wrong = want[i];
        assert_int_equal(prove_star(1u << RLT_BROADCAST, &err), RLT_ECHECK);
        assert_int_equal(n_seen, i + 1);
        snprintf(where, sizeof where,
                 "algorithm star: broadcast of %llu bytes, %u members, %u channels, root %u",
                 (unsigned long long)want[i].bytes, want[i].n, want[i].channels, want[i].root);
        if (strncmp(err.where, where, strlen(where)) != 0)
            fail_msg("'%s' instead of '%s'", err.where, where);
    }
    wrong.n = 0;
}

/* ---- readers ---- */

static char sample[1 << 16];
static size_t sample_length;
static uint32_t n_read;
static size_t lengths[16];                 /* of the first files that were read */
static uint32_t changed_at[MOST], changed; /* places of the bytes that were not the sample's */

static int noting_probe(const char *path, const char *head, size_t n)
{
    (void)path;
    return n >= 7 && memcmp(head, "#noting", 7) == 0 ? 100 : 0;
}

static int noting_read(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                       rlt_error *err)
{
    static char text[sizeof sample + 1];
    rlt_builder *b = NULL;
    FILE *f = fopen(paths[0], "rb");
    (void)n;
    (void)opts;
    assert_non_null(f);
    size_t length = fread(text, 1, sizeof text, f);
    fclose(f);
    if (n_read < 4)
        lengths[n_read] = length;
    else
        assert_int_equal(length, sample_length);
    n_read++;
    uint32_t others = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != sample[i]) {
            assert_true(others++ == 0 && changed < MOST && text[i] == (char)(sample[i] ^ 0x15));
            changed_at[changed++] = (uint32_t)i;
        }
    if (length != sample_length || (others && changed_at[changed - 1] % 3 == 0))
        return rlt_fail(err, RLT_EMALFORMED, paths[0], "expected the sample");
    int rc = rlt_builder_create(2, &b, err);
    if (rc)
        return rc;
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, 1);
    d.duration_ps = 5000;
    rlt_build_op(b, &d);
    return rlt_builder_finish(b, "noting", out, err);
}

static const rlt_reader noting = {
    .name = "noting", .summary = "a file", .probe = noting_probe, .read = noting_read};

/* The sample twice, nothing, its first half; then every byte changed, or every k-th so that there are at most
 * 512. */
static void every_byte_is_changed(void **state)
{
    static const size_t sizes[] = {7, 8, 22, 511, 512, 513, 1023, 1024, 2000, sizeof sample};
    static const rlt_reader *const list[] = {&noting, NULL};
    (void)state;
    assert_int_equal(rlt_registry_add(rlt_readers(), &noting, "here", NULL), 0);
    for (size_t i = 0; i < sizeof sample; i++)
        sample[i] = (char)('a' + i % 23);
    memcpy(sample, "#noting", 7);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char folder[] = "/tmp/ringlet-plugin-XXXXXX", *text = NULL, want[200];
        rlt_plugin_sample one = {"a sample", sample, sizes[k]};
        const rlt_plugin p = {RLT_PLUGIN_ABI, "noting", "1", "a reader", .readers = list, .samples = &one};
        size_t step = sizes[k] / 512 + 1;
        uint32_t n = 0, refused = 0;
        rlt_error err = {0};
        sample_length = sizes[k];
        n_read = changed = 0;
        assert_non_null(mkdtemp(folder));
        if (rlt_plugin_check(&p, folder, &text, &err))
            fail_msg("%s: %s", err.where, err.what);
        for (size_t i = 0; i < sizes[k]; i += step) {
            assert_int_equal(changed_at[n++], i);
            refused += i % 3 == 0;
        }
        assert_int_equal(changed, n);
        assert_int_equal(n_read, 4 + n);
        assert_true(lengths[0] == sizes[k] && lengths[1] == sizes[k]);
        assert_true(lengths[2] == 0 && lengths[3] == sizes[k] / 2);
        snprintf(want, sizeof want,
                 "reader noting: reads its sample: 2 ranks, 1 operations, 5000 ps; rejects it empty, cut in "
                 "half, and %u times with a byte changed\n",
                 refused);
        assert_string_equal(text, want);
        free(text);
        assert_int_equal(rmdir(folder), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_plans_are_asked_for),
        cmocka_unit_test(a_fault_is_found_anywhere),
        cmocka_unit_test(every_byte_is_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
