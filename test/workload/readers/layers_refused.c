/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every refusal of tables of layers, ASTRA-sim 1.0's and SimAI's, word for word with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "test/support/traces/read_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define ROW  "a -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 8 7"
#define HEAD "HYBRID_TRANSFORMER ep: 1\n"
#define WORDS                                                                                                \
    "expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST (perhaps with _EP or _DP_EP), got "

typedef struct refusal {
    const char *text, *where, *what;
    int code;
} refusal;

static void refuse(const rlt_reader *reader, const refusal *all, size_t n)
{
    const rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = 4};
    for (size_t i = 0; i < n; i++)
        test_refuse_text(reader, all[i].text, &o, all[i].code, all[i].where, all[i].what);
}

static void astra1(void **state)
{
    static const refusal all[] = {
        {"", ":1", "the file is empty", RLT_EMALFORMED},
        {"\n\n", ":1", "the file is empty", RLT_EMALFORMED},
        {"\nFOO 3\n", ":2",
         "expected a policy such as DATA or HYBRID_DLRM, or a layer of 12 columns, got 'FOO'",
         RLT_EMALFORMED},
        {"DATA x\n1\n" ROW "\n", ":1", "expected the end of the line after the policy", RLT_EMALFORMED},
        {"HYBRID_DLRM 1 2\n1\n" ROW "\n", ":1", "expected the end of the line after the policy",
         RLT_EMALFORMED},
        {"HYBRID_DLRM\n1\n" ROW "\n", ":1", "expected the last bottom layer, got the end of the line",
         RLT_EMALFORMED},
        {"HYBRID_DLRM x\n1\n" ROW "\n", ":1", "expected the last bottom layer, got 'x'", RLT_EMALFORMED},
        {"HYBRID_DLRM 1048577\n1\n" ROW "\n", ":1", "the last bottom layer: '1048577' is above 1048576",
         RLT_ERANGE},
        {"DATA\n", ":1", "expected the number of layers, got the end of the line", RLT_EMALFORMED},
        {"DATA\n\nx\n", ":3", "expected the number of layers, got 'x'", RLT_EMALFORMED},
        {"DATA\n1 " ROW "\n", ":2", "expected the number of layers alone on this line", RLT_EMALFORMED},
        {"DATA\n1\n\n", ":3", "the file has no layers", RLT_ESCHEMA},
        {"DATA\n1\n" ROW "\na -1 5\n", ":4", "expected a layer's 12 columns, got 3", RLT_EMALFORMED},
        {"DATA\n1\n" ROW " DATA\n", ":3", "expected 12 columns, got 13", RLT_EMALFORMED},
        {"DATA\n1\na -1 x NONE 0 5 NONE 0 5 NONE 0 7\n", ":3", "expected a time in ns, got 'x'",
         RLT_EMALFORMED},
        {"DATA\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 -7\n", ":3", "expected a time in ns, got '-7'",
         RLT_EMALFORMED},
        {"DATA\n1\na -1 5 NONE 0 5 NONE 1.5 5 NONE 0 7\n", ":3", "expected a size in bytes, got '1.5'",
         RLT_EMALFORMED},
        {"DATA\n1\na -1 5 NONE 0 5 ALLREDUCES 0 5 NONE 0 7\n", ":3", WORDS "'ALLREDUCES'", RLT_ESCHEMA},
        {"DATA\n1\na -1 5 none 0 5 NONE 0 5 NONE 0 7\n", ":3", WORDS "'none'", RLT_ESCHEMA},
        {"HYBRID_CUSTOMIZED\n1\n" ROW "\n", ":3", "expected 13 columns, got 12", RLT_EMALFORMED},
        {"HYBRID_CUSTOMIZED\n2\n" ROW " DATA\n" ROW " HYBRID_DLRM\n", ":4",
         "expected a layer's policy such as DATA, got 'HYBRID_DLRM'", RLT_ESCHEMA},
        {"HYBRID_CUSTOMIZED\n1\n" ROW " HYBRID_CUSTOMIZED\n", ":3",
         "expected a layer's policy such as DATA, got 'HYBRID_CUSTOMIZED'", RLT_ESCHEMA},
        {"HYBRID_CUSTOMIZED\n1\n" ROW " DAT\n", ":3", "expected a layer's policy such as DATA, got 'DAT'",
         RLT_ESCHEMA},
        {ROW "\n" ROW " x\n", ":2", "expected 12 columns, got 13", RLT_EMALFORMED},
    };
    (void)state;
    refuse(&rlt_reader_astra1, all, sizeof all / sizeof *all);
}

static void simai(void **state)
{
    static const refusal all[] = {
        {"", ":1", "expected the policy HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER or MICRO",
         RLT_EMALFORMED},
        {"\nDATA\n1\n" ROW "\n", ":2",
         "expected the policy HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER or MICRO", RLT_EMALFORMED},
        {"MICRO ep 1\n1\n" ROW "\n", ":1", "unknown key 'ep'", RLT_ESCHEMA},
        {"MICRO pp_comms 1\n1\n" ROW "\n", ":1", "unknown key 'pp_comms'", RLT_ESCHEMA},
        {"MICRO ep:\n1\n" ROW "\n", ":1", "expected ep:, got the end of the line", RLT_EMALFORMED},
        {"MICRO pp_comm x\n1\n" ROW "\n", ":1", "expected pp_comm:, got 'x'", RLT_EMALFORMED},
        {"MICRO checkpoints: 2 0\n1\n" ROW "\n", ":1",
         "expected the number of a layer, got the end of the line", RLT_EMALFORMED},
        {"MICRO checkpoint_initiates: 1 x\n1\n" ROW "\n", ":1", "expected the number of a layer, got 'x'",
         RLT_EMALFORMED},
        {"MICRO checkpoints: 1 1048577\n1\n" ROW "\n", ":1",
         "the number of a layer: '1048577' is above 1048576", RLT_ERANGE},
        {"MICRO checkpoints: 2 0 1\n1\n" ROW "\n", ":1", "checkpoint at layer 1 of 1", RLT_ESCHEMA},
        {"MICRO checkpoint_initiates: 1 7\n1\n" ROW "\n", ":1", "checkpoint at layer 7 of 1", RLT_ESCHEMA},
        {"MICRO model_parallel_NPU_group: 0\n1\n" ROW "\n", ":1", "model_parallel_NPU_group: 0", RLT_ESCHEMA},
        {"MICRO vpp: 0\n1\n" ROW "\n", ":1", "vpp: 0", RLT_ESCHEMA},
        {HEAD, ":1", "expected the number of layers, got the end of the line", RLT_EMALFORMED},
        {HEAD "1\n", ":2", "the file has no layers", RLT_ESCHEMA},
        {HEAD "1\n" ROW " 5\n", ":3", "expected 12 columns, got 13", RLT_EMALFORMED},
        {HEAD "1\n" ROW "\n" ROW " 5\n", ":4", "expected 12 columns, got 13", RLT_EMALFORMED},
        {HEAD "1\n" ROW "\na -1 5 NONE_DP 0 5 NONE 0 5 NONE 0 7\n", ":4", WORDS "'NONE_DP'", RLT_ESCHEMA},
        {"MICRO pp: 4096 ep: 4096 model_parallel_NPU_group: 2\n1\n" ROW "\n", ":1",
         "groups for more than 16777216 ranks", RLT_ERANGE},
        {"MICRO pp: 3\n1\n" ROW "\n", "",
         "4 ranks do not divide into 3 stages, model groups of 1 and expert groups of 1", RLT_ESCHEMA},
        {"MICRO pp: 2 ep: 4\n1\n" ROW "\n", "",
         "4 ranks do not divide into 2 stages, model groups of 1 and expert groups of 4", RLT_ESCHEMA},
        {"MICRO model_parallel_NPU_group: 8\n1\n" ROW "\n", "",
         "4 ranks do not divide into 1 stages, model groups of 8 and expert groups of 1", RLT_ESCHEMA},
    };
    (void)state;
    refuse(&rlt_reader_simai, all, sizeof all / sizeof *all);
}

/* A layer's own policy, in a file that leaves it to them: whose ranks reduce its output and its weights. */
static void policies_of_layers(void **state)
{
    static const struct {
        const char *policy;
        uint32_t output, weights; /* members; 0: no communication */
    } all[] = {{"DATA", 0, 4},
               {"MICRO", 0, 4},
               {"MODEL", 4, 0},
               {"HYBRID_DATA_MODEL", 2, 2},
               {"HYBRID_MODEL_DATA", 2, 2}};
    const rlt_read_options o = {.first_step = -1, .last_step = -1, .n_dims = 2, .dims = {2, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[TEST_PATH], text[300];
        rlt_program *p;
        rlt_error err;
        snprintf(text, sizeof text, "HYBRID_CUSTOMIZED\n1\na -1 5 ALLREDUCE 8 5 NONE 0 5 ALLREDUCE 16 7 %s\n",
                 all[i].policy);
        if (test_read_text(&rlt_reader_astra1, text, &o, path, &p, &err))
            fail_msg("%s: %s", err.where, err.what);
        uint32_t members[2] = {0, 0};
        bool near[2] = {false, false}; /* whether the members are consecutive ranks */
        for (uint32_t c = 0; c < p->n_comms; c++) {
            uint32_t first = p->group_first[p->comms[c].group], weights = p->comms[c].bytes == 16;
            members[weights] = p->group_first[p->comms[c].group + 1] - first;
            near[weights] = p->group_ranks[first + 1] - p->group_ranks[first] == 1;
        }
        assert_int_equal(members[0], all[i].output);
        assert_int_equal(members[1], all[i].weights);
        if (all[i].output == 2) {
            assert_int_equal(near[0], i == 3);
            assert_int_equal(near[1], i == 4);
        }
        rlt_program_free(p);
    }
}

/* Wrong numbers of files, and layers for more ranks than are built. */
static void files_and_ranks(void **state)
{
    static const rlt_reader *const readers[] = {&rlt_reader_astra1, &rlt_reader_simai};
    static const char *const texts[] = {"DATA\n1\n" ROW "\n", "MICRO ep: 1\n1\n" ROW "\n"};
    const rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = 4},
                           many = {.first_step = -1, .last_step = -1, .n_ranks = (1 << 26) / 9 + 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char path[] = "/tmp/ringlet-layers-XXXXXX";
        const char *const twice[] = {path, "second"};
        rlt_program *p = NULL;
        rlt_error err = {0};
        assert_int_equal(readers[i]->read(NULL, 0, &o, &p, &err), RLT_EUSAGE);
        assert_string_equal(err.what, "no trace files");
        assert_null(p);
        test_write_new(path, texts[i], strlen(texts[i]));
        err = (rlt_error){0};
        int rc = readers[i]->read(twice, 2, &o, &p, &err);
        unlink(path);
        assert_int_equal(rc, RLT_EUSAGE);
        assert_string_equal(err.where, "second");
        assert_string_equal(err.what, "a table of layers covers all ranks: expected one file, got 2");
        assert_null(p);
        test_refuse_text(
            readers[i], texts[i], &many, RLT_ERANGE, "",
            "1 layers on 7456541 ranks exceed 67108864 operations; run --fold simulates identical "
            "ranks once");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(astra1),
        cmocka_unit_test(simai),
        cmocka_unit_test(policies_of_layers),
        cmocka_unit_test(files_and_ranks),
    };
    return cmocka_run_group_tests_name("layers_refused", tests, NULL, NULL);
}
