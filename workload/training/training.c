/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of a training, and the places of its ranks. */
#include "workload/training/training.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/param.h"
#include "workload/models/precision.h"
#include "workload/training/internal.h"
#include "workload/training/optimizers.h"

static const char *const axes[] = {"tp", "cp", "dp", "pp", NULL};

static int read_order(const rlt_param *p, void *into, const char *value, const char *where, rlt_error *err);

#define AXIS(a) RLT_FIELD(rlt_training, size[a])
static const rlt_param settings[] = {
    {"tp", .kind = RLT_PARAM_COUNT, AXIS(RLT_AXIS_TP), .min = 1, .max = 1 << 16, .preset = "1",
     .help = "ranks that share each layer (tensor parallelism)"},
    {"cp", .kind = RLT_PARAM_COUNT, AXIS(RLT_AXIS_CP), .min = 1, .max = 1 << 16, .preset = "1",
     .help = "ranks that share a sequence (context parallelism)"},
    {"dp", .kind = RLT_PARAM_COUNT, AXIS(RLT_AXIS_DP), .min = 1, .max = 1 << 24,
     .usual = "the remaining ranks", .help = "copies of the model (data parallelism)"},
    {"ranks", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, ranks), .min = 1, .max = RLT_MAX_RANKS,
     .usual = "all ranks", .help = "number of ranks that train"},
    {"pp", .kind = RLT_PARAM_COUNT, AXIS(RLT_AXIS_PP), .min = 1, .max = RLT_MAX_STAGES, .preset = "1",
     .help = "number of pipeline stages"},
    {"ep", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, ep), .min = 1, .max = 1 << 20, .preset = "1",
     .help = "ranks that share the experts (expert parallelism); divides tp x cp x dp / etp"},
    {"etp", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, etp), .min = 1, .max = 1 << 16,
     .usual = "tp; 1 if ep does not divide cp x dp",
     .help = "ranks that share each expert (expert tensor parallelism); divides tp"},
    {"routing", .kind = RLT_PARAM_NAME, RLT_FIELD(rlt_training, routing), .arg = "balanced|zipf:S|FILE",
     .preset = "balanced", .help = "tokens of experts: equal, expert i in proportion to i^-S, or counts"},
    {"capacity", .kind = RLT_PARAM_NUMBER, RLT_FIELD(rlt_training, capacity), .min = 0.01, .max = 1000,
     .usual = "none", .help = "most tokens of an expert, over the equal share; what is above is dropped"},
    {"dispatcher", .kind = RLT_PARAM_NAME, RLT_FIELD(rlt_training, dispatcher), .arg = "a name",
     .preset = "alltoall",
     .help = "how tokens get to experts: alltoall, two-level, proxy, gpu, copy-engine, or a file of "
             "workload/dispatchers/"},
    {"token_nodes", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, token_nodes), .max = 1 << 20,
     .preset = "0",
     .help = "nodes that the experts of a token are on, at most, for dispatchers per node; 0: any number"},
    {"dispatch_precision", .kind = RLT_PARAM_CHOICE, .words = "element|fp8|fp8-both",
     RLT_FIELD(rlt_training, dispatch_fp8), .preset = "element",
     .help = "precision of dispatched tokens; fp8-both: of gradients, too; results have that of an element"},
    {"expert_overlap", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, expert_overlap),
     .preset = "off", .help = "exchanges with experts overlap the compute of other microbatches"},
    {"node", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, node), .min = 1, .max = 1 << 20,
     .usual = "that of the topology",
     .help = "ranks of a node, for dispatchers that send a copy to each node"},
    {"vp", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, vp), .min = 1, .max = 256, .preset = "1",
     .help = "chunks per stage; needs schedule=interleaved"},
    {"split", .kind = RLT_PARAM_OTHER, .read = rlt__split_read, .write = rlt__split_write,
     .arg = "blocks|time|COUNTS", .preset = "blocks",
     .help = "layers of each chunk: equal numbers of blocks, about equal time, or blocks such as 3-4-4-4"},
    {"sp", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, sequence_parallel),
     .preset = "off", .help = "sequence parallelism, in addition to tp"},
    {"schedule", .kind = RLT_PARAM_CHOICE,
     .words = "gpipe|1f1b|interleaved|zero-bubble|message|dualpipe|dualpipev",
     RLT_FIELD(rlt_training, schedule), .preset = "1f1b",
     .help = "order of microbatches in a pipeline; message: in order of arrival (AxoNN)"},
    {"recompute", .kind = RLT_PARAM_CHOICE, .words = "none|selective|products|full",
     RLT_FIELD(rlt_training, recompute), .preset = "none",
     .help = "activations recomputed in the backward pass: scores, all but some products, blocks"},
    {"checkpoint", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, checkpoint), .min = 1, .max = 4096,
     .preset = "1", .help = "recompute=full: blocks per kept activation"},
    {"zero", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, zero), .max = 3, .preset = "0",
     .help = "ZeRO stage: 1 divides optimizer state, 2 also gradients, 3 also weights (FSDP)"},
    {"shard", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, shard), .max = 1 << 24, .usual = "dp x cp",
     .help = "zero=3: ranks that divide weights and state, copied over the others (HSDP)"},
    {"sync_every", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, sync_every), .min = 1, .max = 1 << 20,
     .preset = "1", .help = "n: sums parameters every n iterations, no gradients (local SGD, DiLoCo)"},
    {"lora_rank", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, lora_rank), .max = 1 << 16, .preset = "0",
     .help = "trains adapters of this rank beside frozen weights (LoRA); 0: trains all weights"},
    {"tp_overlap", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, tp_overlap),
     .preset = "off",
     .help = "tensor-parallel communication overlaps the products that it belongs to (async TP)"},
    {"scatter_gather", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, scatter_gather),
     .preset = "on",
     .help =
         "each rank of a tensor-parallel group sends its part of a pipeline's message, which is gathered"},
    {"batch", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, batch), .min = 1, .max = 1e9,
     .usual = "microbatch x dp x pp", .help = "samples per iteration, over all ranks"},
    {"microbatch", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, microbatch), .min = 1, .max = 1 << 20,
     .preset = "1", .help = "samples per microbatch"},
    {"steps", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, steps), .min = 1, .max = 60000, .preset = "1",
     .help = "iterations to build"},
    {"precision", .kind = RLT_PARAM_NAME, RLT_FIELD(rlt_training, precision), .arg = "a name",
     .preset = "bf16", .help = "precision whose peak applies: bf16, fp16, tf32, ..."},
    {"param_precision", .kind = RLT_PARAM_CHOICE, .word_at = rlt_precision_word,
     RLT_FIELD(rlt_training, param_precision), .preset = "element",
     .help = "format of gathered weights of a block's products; of held ones too, unless zero=3"},
    {"activation_precision", .kind = RLT_PARAM_CHOICE, .word_at = rlt_precision_word,
     RLT_FIELD(rlt_training, activation_precision), .preset = "element",
     .help = "format of the inputs of a block's products that are kept for the backward pass"},
    {"stack", .kind = RLT_PARAM_NAME, RLT_FIELD(rlt_training, stack), .arg = "a name", .preset = "auto",
     .help = "software stack whose measured efficiency applies; auto: the one best known on the accelerator"},
    {"element", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, element_bytes), .min = 1, .max = 8,
     .preset = "2", .help = "bytes per activation or weight"},
    {"gradient", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, gradient_bytes), .min = 1, .max = 8,
     .preset = "2", .help = "bytes per gradient on the network"},
    {"main_gradient", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, main_gradient_bytes), .max = 8,
     .preset = "0", .help = "bytes per additional gradient in full precision; 0: none"},
    {"optimizer", .kind = RLT_PARAM_CHOICE, .word_at = rlt__optimizer_word,
     RLT_FIELD(rlt_training, optimizer), .preset = "adam", .help = "optimizer, for its state and its step"},
    {"state", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, state_bytes), .max = 64, .preset = "12",
     .help = "bytes of optimizer state per parameter, master weight included, in place of the optimizer's"},
    {"accumulate", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, accumulate_bytes), .max = 16,
     .preset = "0", .help = "bytes per gradient in memory; 0: element + main_gradient"},
    {"loss", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, loss_bytes), .max = 64, .preset = "0",
     .help = "bytes of memory per logit while the loss is computed; 0: as the model keeps"},
    {"loss_split", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, loss_split_bytes), .max = 64,
     .preset = "0", .help = "the same if tensor parallelism divides the logits; 0: as loss"},
    {"gathered", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, gathered), .max = 4096, .preset = "0",
     .help = "zero=3: blocks whose gathered weights are in memory at once; 0: not counted"},
    {"reshard", .kind = RLT_PARAM_CHOICE, .words = "on|off|auto", RLT_FIELD(rlt_training, reshard),
     .preset = "on",
     .help = "zero=3: frees gathered weights after each pass; off: gathers once an iteration; auto: if pp=1"},
    {"fragmentation", .kind = RLT_PARAM_NUMBER, RLT_FIELD(rlt_training, fragmentation), .min = 1, .max = 4,
     .preset = "1", .help = "bytes that the allocator reserves per byte allocated"},
    {"context", .kind = RLT_PARAM_SIZE, RLT_FIELD(rlt_training, context_bytes), .max = 1e12, .preset = "0",
     .help = "bytes of memory outside the allocator: CUDA context, NCCL"},
    {"bucket", .kind = RLT_PARAM_SIZE, RLT_FIELD(rlt_training, bucket_bytes), .min = 1, .max = 1e15,
     .preset = "25MiB", .help = "bytes of gradients per all-reduce"},
    {"first_bucket", .kind = RLT_PARAM_SIZE, RLT_FIELD(rlt_training, first_bucket_bytes), .min = 1,
     .max = 1e15, .preset = "1MiB", .help = "bytes of gradients in the first all-reduce"},
    {"prefetch", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, prefetch),
     .preset = "on", .help = "zero=3: gathers weights while the previous block computes"},
    {"overlap", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, overlap), .preset = "on",
     .help = "communicates gradients during the backward pass"},
    {"tie", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, tie), .preset = "on",
     .help = "sums the gradients of tied embeddings over their copies"},
    {"drain", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, drain), .preset = "off",
     .help = "waits until the pipeline is idle before gradients are summed"},
    {"pass", .kind = RLT_PARAM_DURATION, RLT_FIELD(rlt_training, pass_ps), .max = 1e15, .preset = "0",
     .help = "time per pass of a microbatch through a chunk, in addition to its layers"},
    {"host", .kind = RLT_PARAM_DURATION, RLT_FIELD(rlt_training, host_ps), .max = 1e16, .preset = "0",
     .help = "additional fixed time per iteration"},
    {"sparsity", .kind = RLT_PARAM_NUMBER, RLT_FIELD(rlt_training, sparsity), .max = 0.999999, .preset = "0",
     .help = "pruned fraction of the weights (SAMO)"},
    {"compress", .kind = RLT_PARAM_NUMBER, RLT_FIELD(rlt_training, compress_rate), .min = 1, .max = 1e15,
     .preset = "16e9", .help = "rate of gradient compression, parameters per second (SAMO)"},
    {"offload", .kind = RLT_PARAM_CHOICE, .words = "off|on", RLT_FIELD(rlt_training, offload),
     .preset = "off", .help = "keeps optimizer state in the host's memory (AxoNN)"},
    {"offload_bucket", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, offload_bucket), .min = 1, .max = 1e9,
     .preset = "4000000", .help = "offload=on: elements per optimizer step"},
    {"offload_chunk", .kind = RLT_PARAM_COUNT, RLT_FIELD(rlt_training, offload_chunk), .min = 1,
     .max = 1 << 20, .preset = "4", .help = "offload=on: buckets per all-reduce of gradients"},
    {"offload_bandwidth", .kind = RLT_PARAM_RATE, RLT_FIELD(rlt_training, offload_Bps), .min = 1, .max = 1e15,
     .preset = "50GB/s", .help = "bandwidth between host and accelerator, sum of both directions"},
    {"slowdown", .kind = RLT_PARAM_NUMBER, RLT_FIELD(rlt_training, slowdown), .min = 0.01, .max = 1000,
     .preset = "1", .help = "factor on the time of matrix kernels (Sputnik)"},
    {"half_sizes", .kind = RLT_PARAM_NUMBER, RLT_FIELD(rlt_training, half_sizes), .min = 0.001, .max = 1000,
     .preset = "1",
     .help = "factor on the rows and the area at which products reach half of their efficiency: above 1, "
             "small microbatches lose more"},
    {"order", .kind = RLT_PARAM_OTHER, .read = read_order, .preset = "tp-cp-dp-pp",
     .help = "order of the axes in rank numbers, innermost first; auto: the fastest order"},
    {0}};

const rlt_param *rlt_training_parameters(void)
{
    return settings;
}

rlt_training rlt_training_default(void)
{
    rlt_training t = {.stack = "", .load = {.experts = 1, .exchange = 1}};
    int rc = rlt_params_preset(settings, &t, NULL);
    (void)rc; /* cannot fail: the values are constants of the table above, which a test reads */
    return t;
}

const char *rlt_axis_name(rlt_axis a)
{
    return axes[a];
}

static int read_order(const rlt_param *param, void *into, const char *value, const char *where,
                      rlt_error *err)
{
    rlt_training *t = into;
    const char *p = value;
    (void)param;
    bool seen[RLT_AXES_OF_LAYOUT] = {false};
    uint32_t n = 0;
    t->order_auto = strcmp(value, "auto") == 0;
    if (t->order_auto)
        return 0;
    while (*p) {
        size_t length = strcspn(p, "-");
        uint32_t a = 0;
        while (axes[a] && (strlen(axes[a]) != length || strncmp(axes[a], p, length) != 0))
            a++;
        if (!axes[a] || seen[a])
            break;
        seen[a] = true;
        t->order[n++] = (rlt_axis)a;
        p += length + (p[length] == '-');
    }
    /* Axes that are not named come last. */
    for (uint32_t a = 0; a < RLT_AXES_OF_LAYOUT && !*p; a++)
        if (!seen[a])
            t->order[n++] = (rlt_axis)a;
    return *p || !*value ? rlt_fail(err, RLT_EUSAGE, where,
                                    "expected axes like tp-cp-dp-pp, or auto, got '%.40s'", value)
                         : 0;
}

int rlt_training_set(rlt_training *t, const char *name, const char *value, rlt_error *err)
{
    if (strcmp(name, "stack") == 0) {
        t->stack_named = true;
        t->stack_auto = false;
    }
    t->state_named |= strcmp(name, "state") == 0;
    int rc = rlt_params_set(settings, "a training", t, name, value, err);
    if (!rc && !t->state_named)
        t->state_bytes = rlt__optimizer_at(t->optimizer)->state_bytes;
    return rc;
}

/* Memory that frameworks take besides (allocator.c, MEMORY.md). */
#define PYTORCH  "loss=12,loss_split=16,fragmentation=1.15,context=2GiB"
#define MEGATRON "loss=6,fragmentation=1.06,context=2GiB"

static const rlt_training_strategy strategies[] = {
    {"ddp", "PyTorch DDP: all-reduces gradients in buckets during the backward pass", "zero=0," PYTORCH},
    {"zero1", "ddp with sharded optimizer state (ZeRO 1)", "zero=1," PYTORCH},
    {"zero2", "zero1 with sharded gradients (ZeRO 2)", "zero=2," PYTORCH},
    {"fsdp", "zero2 with sharded weights, gathered for each block (ZeRO 3)", "zero=3,gathered=2," PYTORCH},
    {"megatron", "Megatron-LM in bf16 with a distributed optimizer: 6 + 12/dp bytes per parameter",
     "zero=1,accumulate=4,gradient=4,schedule=1f1b," MEGATRON},
    {"megatron-deepspeed", "Megatron-DeepSpeed in fp16: pipelines, ZeRO 1 with gradients in 16 bits",
     "zero=1,schedule=1f1b,precision=fp16," MEGATRON},
    {"torchtitan", "PyTorch FSDP2 as torchtitan sets it: ZeRO 3, gradients summed in 32 bits, eager loss",
     "zero=3,sp=on,gradient=4,gathered=2,reshard=auto," PYTORCH},
    {"axonn", "message-driven pipelines (Singh & Bhatele, IPDPS 2022)",
     "schedule=message,order=pp-dp,main_gradient=4,overlap=off,drain=on,precision=fp16,recompute=full,"
     "checkpoint=4,tie=off,stack=axonn"},
    {"axonn-offload", "AxoNN with the optimizer state in the host's memory",
     "schedule=message,order=pp-dp,main_gradient=4,overlap=off,drain=on,precision=fp16,recompute=full,"
     "checkpoint=4,tie=off,stack=axonn,offload=on"},
    {"samo", "AxoNN with compressed state of pruned models (IPDPS 2023)",
     "schedule=message,order=pp-dp,main_gradient=4,overlap=off,drain=on,precision=fp16,recompute=full,"
     "checkpoint=4,tie=off,stack=axonn,"
     "sparsity=0.9,compress=18e9"},
    {"sputnik", "AxoNN with sparse kernels, 3.5 times slower (fitted to GPT-3 2.7B)",
     "schedule=message,order=pp-dp,main_gradient=4,overlap=off,drain=on,precision=fp16,recompute=full,"
     "checkpoint=4,tie=off,stack=axonn,"
     "sparsity=0.9,compress=1e15,slowdown=3.5"},
    {"deepspeed-3d", "1F1B pipelines with ZeRO-1",
     "schedule=1f1b,order=tp-pp-dp,zero=1,main_gradient=4,overlap=off,drain=on,precision=fp16,recompute=full,"
     "checkpoint=4,stack=axonn"},
};

static rlt_registry registry = RLT_REGISTRY_OF_ARRAY("strategy", RLT_EUSAGE, strategies);

rlt_registry *rlt_training_strategies(void)
{
    return &registry;
}

const rlt_training_strategy *rlt_training_strategy_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

/* Layout */

/* Returns the size of an axis: 1 if it is folded. */
static uint32_t size_of(const rlt_training *t, uint32_t folds, rlt_axis a)
{
    return folds >> a & 1 ? 1 : t->size[a];
}

uint32_t rlt_folded_ranks(const rlt_training *t, uint32_t folds)
{
    uint32_t n = 1;
    for (int a = 0; a < RLT_AXES_OF_LAYOUT; a++)
        n *= size_of(t, folds, (rlt_axis)a);
    return n;
}

void rlt_folded_place(const rlt_training *t, uint32_t folds, uint32_t rank, uint32_t at[RLT_AXES_OF_LAYOUT])
{
    for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
        uint32_t n = size_of(t, folds, t->order[i]);
        at[t->order[i]] = rank % n;
        rank /= n;
    }
}

uint32_t rlt_folded_rank(const rlt_training *t, uint32_t folds, const uint32_t at[RLT_AXES_OF_LAYOUT])
{
    uint32_t rank = 0;
    for (uint32_t i = RLT_AXES_OF_LAYOUT; i-- > 0;) {
        uint32_t n = size_of(t, folds, t->order[i]);
        rank = rank * n + (n > 1 ? at[t->order[i]] : 0);
    }
    return rank;
}

void rlt_folded_speeds(const rlt_training *t, uint32_t folds, const double *speeds, double *out)
{
    uint32_t n = rlt_training_ranks(t), at[RLT_AXES_OF_LAYOUT];
    for (uint32_t rank = 0; rank < n; rank++) {
        rlt_training_place(t, rank, at);
        uint32_t kept =
            rlt_folded_rank(t, folds, at); /* at most `rank`, which is the first time it is seen */
        for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++)
            at[i] = folds >> i & 1 ? 0 : at[i];
        bool first = rlt_training_rank(t, at) == rank;
        out[kept] = first || speeds[rank] < out[kept] ? speeds[rank] : out[kept];
    }
}

uint32_t rlt_training_ranks(const rlt_training *t)
{
    return rlt_folded_ranks(t, 0);
}

uint32_t rlt_training_etp(const rlt_training *t)
{
    bool inside = (uint64_t)t->size[RLT_AXIS_CP] * t->size[RLT_AXIS_DP] % t->ep == 0;
    return t->etp ? t->etp : inside ? t->size[RLT_AXIS_TP] : 1;
}

uint32_t rlt_training_microbatches(const rlt_training *t)
{
    return (uint32_t)(t->batch / t->size[RLT_AXIS_DP] / t->microbatch);
}

uint64_t rlt_training_stride(const rlt_training *t, rlt_axis axis)
{
    uint64_t stride = 1;
    for (int i = 0; i < RLT_AXES_OF_LAYOUT && t->order[i] != axis; i++)
        stride *= t->size[t->order[i]];
    return stride;
}

void rlt_training_place(const rlt_training *t, uint32_t rank, uint32_t at[RLT_AXES_OF_LAYOUT])
{
    rlt_folded_place(t, 0, rank, at);
}

uint32_t rlt_training_rank(const rlt_training *t, const uint32_t at[RLT_AXES_OF_LAYOUT])
{
    return rlt_folded_rank(t, 0, at);
}

/* Checks */

/* Checks the layout of experts against that of the other layers. */
static int check_experts(const rlt_training *t, rlt_error *err)
{
    uint32_t tp = t->size[RLT_AXIS_TP], cp = t->size[RLT_AXIS_CP], dp = t->size[RLT_AXIS_DP];
    uint64_t each = (uint64_t)rlt_training_etp(t) * t->ep, all = (uint64_t)tp * cp * dp;
    if (t->etp && tp % t->etp)
        return rlt_fail(err, RLT_ESCHEMA, "layout", "etp %u does not divide tp %u", t->etp, tp);
    if (all % each && t->etp)
        return rlt_fail(err, RLT_ESCHEMA, "layout", "etp %u x ep %u do not divide tp %u x cp %u x dp %u",
                        t->etp, t->ep, tp, cp, dp);
    if (all % each)
        return rlt_fail(err, RLT_ESCHEMA, "layout",
                        "ep %u does not divide cp %u x dp %u, nor these x tp %u (etp=1)", t->ep, cp, dp, tp);
    return 0;
}

static int not_a_multiple(const rlt_training *t, uint32_t ranks, uint64_t inner, rlt_error *err)
{
    char hint[64] = "";
    if (inner <= ranks)
        snprintf(hint, sizeof hint, "; dp=%u would use %u of them", (uint32_t)(ranks / inner),
                 ranks - (uint32_t)(ranks % inner));
    return rlt_fail(err, RLT_ESCHEMA, "layout", "%u ranks are not a multiple of tp %u x cp %u x pp %u%s",
                    ranks, t->size[RLT_AXIS_TP], t->size[RLT_AXIS_CP], t->size[RLT_AXIS_PP], hint);
}

static int check_sizes(rlt_training *t, uint32_t ranks, rlt_error *err)
{
    uint64_t inner = (uint64_t)t->size[RLT_AXIS_TP] * t->size[RLT_AXIS_CP] * t->size[RLT_AXIS_PP];
    uint32_t *dp = &t->size[RLT_AXIS_DP];
    if (t->ranks && ranks && t->ranks > ranks)
        return rlt_fail(err, RLT_ERANGE, "ranks", "%u exceeds the %u ranks of the run", t->ranks, ranks);
    ranks = t->ranks ? t->ranks : ranks;
    if (*dp == 0) {
        if (ranks == 0 || inner > ranks || ranks % inner)
            return not_a_multiple(t, ranks, inner, err);
        *dp = (uint32_t)(ranks / inner);
    }
    if (inner * *dp > RLT_MAX_RANKS || (ranks && inner * *dp > ranks))
        return rlt_fail(err, RLT_ERANGE, "layout",
                        "tp %u x cp %u x dp %u x pp %u = %llu ranks exceed the %u ranks available",
                        t->size[RLT_AXIS_TP], t->size[RLT_AXIS_CP], *dp, t->size[RLT_AXIS_PP],
                        (unsigned long long)(inner * *dp), ranks ? ranks : (uint32_t)RLT_MAX_RANKS);
    return check_experts(t, err);
}

/* Checks the settings of DualPipe, whose stages have two chunks. */
static int check_two_ways(rlt_training *t, rlt_error *err)
{
    uint32_t pp = t->size[RLT_AXIS_PP], m = rlt_training_microbatches(t);
    bool copies = t->schedule == RLT_SCHEDULE_DUALPIPE;
    if (t->vp > 2)
        return rlt_fail(err, RLT_ESCHEMA, "vp", "dualpipe has two chunks per stage, got %u", t->vp);
    t->vp = 2;
    if (pp < 2 || (copies && pp % 2))
        return rlt_fail(err, RLT_ESCHEMA, "pp", "%s needs %s stages, got %u",
                        copies ? "dualpipe" : "dualpipev", copies ? "an even number of" : "at least two", pp);
    if (m < 2 * pp || (copies && m % 2))
        return rlt_fail(err, RLT_ESCHEMA, "schedule", "%s needs at least %u microbatches%s, got %u",
                        copies ? "dualpipe" : "dualpipev", 2 * pp, copies ? ", an even number" : "", m);
    if (copies && t->shard)
        return rlt_fail(err, RLT_ESCHEMA, "shard",
                        "dualpipe divides state over all copies: expected shard=0");
    if (copies && t->zero == 3)
        return rlt_fail(err, RLT_ESCHEMA, "zero",
                        "dualpipe cannot gather weights: the two stages with copies of a chunk pass it at "
                        "different times, and would wait for each other; expected 0 to 2, or dualpipev");
    return 0;
}

static int check_schedule(rlt_training *t, rlt_error *err)
{
    uint32_t pp = t->size[RLT_AXIS_PP];
    int rc = rlt__two_ways(t) ? check_two_ways(t, err) : 0;
    if (rc)
        return rc;
    if (t->vp > 1 && !rlt__two_ways(t) && t->schedule != RLT_SCHEDULE_INTERLEAVED)
        return rlt_fail(err, RLT_ESCHEMA, "vp", "several chunks per stage need schedule=interleaved");
    if ((rc = rlt__check_split(t, err)))
        return rc;
    if (t->schedule == RLT_SCHEDULE_INTERLEAVED && rlt_training_microbatches(t) % pp)
        return rlt_fail(err, RLT_ESCHEMA, "schedule",
                        "interleaved needs a number of microbatches divisible by %u, got %u", pp,
                        rlt_training_microbatches(t));
    if (t->offload && (t->zero || t->overlap || rlt__experts_apart(t) || t->sparsity > 0))
        return rlt_fail(err, RLT_ESCHEMA, "offload", "needs zero=0, overlap=off, ep=1 and dense weights");
    if (t->schedule == RLT_SCHEDULE_MESSAGE &&
        (t->size[RLT_AXIS_TP] > 1 || t->size[RLT_AXIS_CP] > 1 || rlt__experts_apart(t) || t->zero == 3))
        return rlt_fail(err, RLT_ESCHEMA, "schedule", "message supports dp and pp only");
    return 0;
}

/* Refuses settings that are not built together. */
static int check_together(const rlt_training *t, rlt_error *err)
{
    uint32_t over = t->size[RLT_AXIS_DP] * t->size[RLT_AXIS_CP];
    if (t->shard && (t->zero != 3 || rlt__experts_apart(t) || t->sync_every > 1))
        return rlt_fail(err, RLT_ESCHEMA, "shard", "needs zero=3, ep=1 and sync_every=1");
    if (t->shard && over % t->shard)
        return rlt_fail(err, RLT_ESCHEMA, "shard", "%u does not divide dp %u x cp %u", t->shard,
                        t->size[RLT_AXIS_DP], t->size[RLT_AXIS_CP]);
    if (t->sync_every > 1 && (t->zero || t->offload || t->size[RLT_AXIS_CP] > 1 || rlt__experts_apart(t)))
        return rlt_fail(err, RLT_ESCHEMA, "sync_every", "needs zero=0, offload=off, cp=1 and ep=1");
    if (t->tp_overlap && !t->sequence_parallel)
        return rlt_fail(err, RLT_ESCHEMA, "tp_overlap", "needs sp=on");
    if (t->lora_rank && (t->size[RLT_AXIS_TP] > 1 || rlt__experts_apart(t) || t->offload || t->sparsity > 0))
        return rlt_fail(err, RLT_ESCHEMA, "lora_rank", "needs tp=1, ep=1, offload=off and dense weights");
    uint64_t sides = 0;
    for (uint32_t i = 0; i < t->model->n_layers; i++)
        sides += t->model->layers[i].sides;
    if (!sides && (t->lora_rank || rlt__optimizer_at(t->optimizer)->iterations))
        return rlt_fail(err, RLT_ESCHEMA, t->lora_rank ? "lora_rank" : "optimizer",
                        "the model does not tell the shapes of its matrices");
    if (rlt__optimizer_at(t->optimizer)->iterations && (t->offload || t->sparsity > 0 || t->lora_rank))
        return rlt_fail(err, RLT_ESCHEMA, "optimizer",
                        "muon needs offload=off, lora_rank=0 and dense weights");
    return 0;
}

static int check_model(const rlt_training *t, rlt_error *err)
{
    uint32_t tp = t->size[RLT_AXIS_TP];
    if (t->model->heads && t->model->heads % tp)
        return rlt_fail(err, RLT_ESCHEMA, "tp", "%u heads are not a multiple of tp %u", t->model->heads, tp);
    if (t->model->recurrent && t->size[RLT_AXIS_CP] > 1)
        return rlt_fail(err, RLT_ESCHEMA, "cp", "%s passes a state from token to token: expected cp=1",
                        t->model->name);
    bool experts = false;
    for (uint32_t i = 0; i < t->model->n_layers; i++)
        experts |= t->model->layers[i].experts > 0;
    if (rlt__experts_apart(t) && !experts)
        return rlt_fail(err, RLT_ESCHEMA, t->ep > 1 ? "ep" : "etp", "%s has no experts: expected %s",
                        t->model->name, t->ep > 1 ? "ep=1" : "no etp");
    for (uint32_t i = 0; i < t->model->n_layers; i++)
        if (t->model->layers[i].experts % t->ep)
            return rlt_fail(err, RLT_ESCHEMA, "ep", "%u %s are not a multiple of ep %u",
                            t->model->layers[i].experts,
                            t->model->layers[i].work == RLT_WORK_LOOKUP ? "tables" : "experts", t->ep);
    return 0;
}

/* A stack that was set by name must be known, and not stand for any. */
static int check_stack(const rlt_training *t, rlt_error *err)
{
    const rlt_accelerator *a = t->accelerator;
    char known[512] = "any";
    if (strcmp(t->stack, "any") == 0 || rlt_accelerator_stack(a, t->stack))
        return 0;
    for (uint32_t i = 0; i < a->n_stacks; i++)
        if (strcmp(a->stacks[i].name, "any") != 0)
            rlt_list_name(known, sizeof known, a->stacks[i].name);
    return rlt_fail(err, RLT_EUNSUPPORTED, "stack", "no stack '%s'; known are: %s", t->stack, known);
}

/* Chooses the stack unless one is named. */
static void choose_stack(rlt_training *t)
{
    if (strcmp(t->stack, "auto") == 0)
        t->stack_auto = true;
    if (t->stack_auto)
        snprintf(t->stack, sizeof t->stack, "%s",
                 rlt_accelerator_best_stack(t->accelerator, t->precision, rlt_model_kind_of(t->model)));
}

int rlt_training_plan(rlt_training *t, uint32_t ranks, rlt_error *err)
{
    int rc;
    uint64_t Flops;
    rlt_roofline roofline;
    if (!t->model || !t->accelerator || t->model->n_layers == 0)
        return rlt_fail(err, RLT_EUSAGE, "training", "needs a model with layers and an accelerator");
    if (t->blocks.of != t->model)
        rlt__find_blocks(t);
    if ((rc = check_sizes(t, ranks, err)) || (rc = check_model(t, err)))
        return rc;
    uint64_t least = (uint64_t)t->size[RLT_AXIS_DP] * t->microbatch;
    if (t->batch == 0)
        t->batch = least * t->size[RLT_AXIS_PP];
    if (t->batch % least || t->batch / least > UINT32_MAX / 2)
        return rlt_fail(err, RLT_ESCHEMA, "batch", "%llu samples are not a multiple of dp %u x microbatch %u",
                        (unsigned long long)t->batch, t->size[RLT_AXIS_DP], t->microbatch);
    if ((rc = check_schedule(t, err)) || (rc = check_together(t, err)) ||
        (rc = rlt_accelerator_peak(t->accelerator, t->precision, &Flops, err)))
        return rc;
    if ((rc = rlt__plan_experts(t, err)))
        return rc;
    choose_stack(t);
    if ((t->stack_named && (rc = check_stack(t, err))) ||
        (rc = rlt_accelerator_roofline(t->accelerator, t->stack, t->precision, &roofline, err)) ||
        (rc = rlt__split_layers(t, err)))
        return rc;
    rlt__find_copies(t);
    if (t->schedule == RLT_SCHEDULE_DUALPIPE && t->home != t->away)
        return rlt_fail(err, RLT_EUNSUPPORTED, "schedule",
                        "dualpipe needs tied parameters in the first and the last chunk");
    return 0;
}

double rlt_training_flop(const rlt_training *t)
{
    double flop = 0;
    for (uint32_t i = 0; i < t->model->n_layers; i++)
        flop += t->model->layers[i].forward_flop + rlt__adapter_flop(t, &t->model->layers[i]) +
                rlt__backward_flop(t, &t->model->layers[i]);
    return (double)t->batch * flop * t->steps;
}
