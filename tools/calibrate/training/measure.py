#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures trainings on this machine: rows for `ringlet calibrate-training`. Needs PyTorch and CUDA.

measure.py [-o FILE] [--seconds S] [--system NAME] [--topology SPEC] [ROW...]
torchrun --nproc-per-node 8 measure.py ...    several accelerators of one machine: FSDP over all of them

A ROW is MODEL@MICROBATCHxSEQUENCE[,full][,compile], and MODEL what --model of ringlet takes, as
transformer:layers=16,hidden=2048,... (full: each block is recomputed; compile: each block is compiled).
Without rows, those of ROWS below. --list prints them. A row that does not fit is told and left out; after S
seconds no further row begins.

As torchtitan trains: FSDP2 (bf16 weights and activations, sums and master weights in fp32), fused AdamW,
flash attention, cross entropy in fp32, gradients clipped by their norm. Tokens are random. The time is the
median of STEPS iterations after WARM_UP others; the peaks are those of PyTorch's allocator in these.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import statistics
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import IO

WARM_UP, STEPS = 4, 10
SIZES = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary")
ALONE = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29577", "RANK": "0", "WORLD_SIZE": "1"}
WIDE = "ffn=8192,vocabulary=128256,"
LLAMA = "kv_heads=8,gated=yes,tied={},learned_positions=no,bias=no,norm=rms,fused_attention=yes,dropout=no"
MODELS = {
    "llama-1b": "transformer:layers=16,hidden=2048,heads=32," + WIDE + LLAMA.format("yes"),
    "llama-3b": "transformer:layers=28,hidden=3072,heads=24," + WIDE + LLAMA.format("yes"),
    "llama-7b": "transformer:layers=32,hidden=4096,heads=32,ffn=11008,vocabulary=32000," + LLAMA.format("no"),
    "gpt-0.1b": "transformer:layers=12,hidden=768,heads=12,fused_attention=yes,dropout=no",
    "gpt-0.4b": "transformer:layers=24,hidden=1024,heads=16,fused_attention=yes,dropout=no",
    "gpt-1.6b": "transformer:layers=48,hidden=1600,heads=25,fused_attention=yes,dropout=no",
    "gpt-2.7b": "transformer:layers=32,hidden=2560,heads=32,vocabulary=51200,fused_attention=yes,dropout=no",
}
# Wide and narrow, short and long, small and large microbatches; fewest seconds first.
ROWS = """
gpt-0.1b@8x1024 gpt-0.1b@64x1024 gpt-0.4b@16x1024 llama-1b@4x2048 llama-1b@1x8192 llama-1b@4x8192,full
gpt-1.6b@16x1024
gpt-2.7b@8x2048 llama-3b@2x4096 llama-3b@1x16384,full llama-7b@2x4096,full gpt-0.1b@64x1024,compile
gpt-0.4b@16x1024,compile llama-1b@4x2048,compile llama-1b@4x8192,full,compile llama-3b@2x4096,compile
gpt-1.6b@16x1024,compile gpt-2.7b@8x2048,compile llama-7b@2x4096,full,compile llama-3b@1x16384,full,compile
""".split()
COLUMNS = """model gpu_system n_gpus tp pp dp cp vp ep sharding global_batch micro_batch seq_len precision
recompute iteration_time_s stack topology fastest_s slowest_s allocated_bytes reserved_bytes parameters
source note""".split()


@dataclass(frozen=True)
class Model:
    """Settings of ringlet's family `transformer`, as far as this program builds them."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    kv_heads: int = 0  # 0: as many as heads
    ffn: int = 0  # 0: 4 * hidden
    vocabulary: int = 50257
    gated: bool = False
    tied: bool = True
    learned_positions: bool = True
    bias: bool = True
    norm: str = "layer"


@dataclass(frozen=True)
class Row:
    text: str  # as it was typed
    spec: str
    model: Model
    batch: int
    sequence: int
    full: bool
    compiled: bool


def model_of(spec: str) -> Model:
    family, _, settings = spec.partition(":")
    if family != "transformer":
        raise ValueError(f"{spec}: expected one of {', '.join(MODELS)}, or transformer:NAME=VALUE,...")
    given: dict[str, object] = {"heads": 0}
    for setting in filter(None, settings.split(",")):
        name, _, value = setting.partition("=")
        if name in ("fused_attention", "dropout"):
            if value != ("yes" if name == "fused_attention" else "no"):
                raise ValueError(f"{setting}: this program trains with fused attention and without dropout")
        elif name == "norm" and value in ("rms", "layer"):
            given[name] = value
        elif name in ("gated", "tied", "learned_positions", "bias") and value in ("yes", "no"):
            given[name] = value == "yes"
        elif name in SIZES and value.isdigit() and int(value):
            given[name] = int(value)
        else:
            raise ValueError(f"{setting}: this program builds no model with it")
    hidden = int(given.get("hidden", Model.hidden))
    heads = int(given["heads"]) or hidden // 64
    model = Model(**(given | {"heads": heads}))  # type: ignore[arg-type]
    if hidden % heads or heads % (model.kv_heads or heads):
        raise ValueError(f"{spec}: {hidden} is not divided by its {heads} heads, or these not by kv_heads")
    return model


def row_of(text: str) -> Row:
    name, at, rest = text.rpartition("@")
    size, *flags = rest.split(",")
    batch, _, sequence = size.partition("x")
    sizes = all(n.isdigit() and int(n) for n in (batch, sequence))
    if not at or not sizes or set(flags) - {"full", "compile"}:
        raise ValueError(f"{text}: expected MODEL@MICROBATCHxSEQUENCE[,full][,compile], as llama-1b@4x2048")
    spec = MODELS.get(name, name)
    return Row(text, spec, model_of(spec), int(batch), int(sequence), "full" in flags, "compile" in flags)


def network(m: Model, sequence: int):
    """The model, as a module of PyTorch with the list `blocks`."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    kv_heads, ffn, head = m.kv_heads or m.heads, m.ffn or 4 * m.hidden, m.hidden // m.heads

    def norm() -> nn.Module:
        return nn.RMSNorm(m.hidden) if m.norm == "rms" else nn.LayerNorm(m.hidden)

    def turned(x, angles):
        a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = angles[0][: x.shape[1], None], angles[1][: x.shape[1], None]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = norm(), norm()
            self.query = nn.Linear(m.hidden, m.heads * head, m.bias)
            self.key = nn.Linear(m.hidden, kv_heads * head, m.bias)
            self.value = nn.Linear(m.hidden, kv_heads * head, m.bias)
            self.out = nn.Linear(m.hidden, m.hidden, m.bias)
            self.up, self.down = nn.Linear(m.hidden, ffn, m.bias), nn.Linear(ffn, m.hidden, m.bias)
            self.gate = nn.Linear(m.hidden, ffn, m.bias) if m.gated else None

        def forward(self, x, angles):
            y = self.before(x)
            q, k, v = (p(y).unflatten(-1, (-1, head)) for p in (self.query, self.key, self.value))
            if angles is not None:
                q, k = turned(q, angles), turned(k, angles)
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv_heads != m.heads)
            x = x + self.out(y.transpose(1, 2).flatten(-2))
            y = self.between(x)
            y = F.silu(self.gate(y)) * self.up(y) if self.gate else F.gelu(self.up(y), approximate="tanh")
            return x + self.down(y)

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(m.vocabulary, m.hidden)
            self.places = nn.Embedding(sequence, m.hidden) if m.learned_positions else None
            self.blocks = nn.ModuleList(Block() for _ in range(m.layers))
            self.last = norm()
            self.head = nn.Linear(m.hidden, m.vocabulary, bias=False)
            if m.tied:
                self.head.weight = self.words.weight
            phase = torch.outer(torch.arange(sequence), 10000.0 ** (-torch.arange(0, head, 2) / head))
            for name, angle in (("cos", phase.cos()), ("sin", phase.sin())):
                self.register_buffer(name, angle, persistent=False)

        def forward(self, tokens):
            x = self.words(tokens)
            if self.places is not None:
                x = x + self.places.weight[: tokens.shape[1]].to(x.dtype)
            angles = None if m.learned_positions else (self.cos, self.sin)
            for block in self.blocks:
                x = block(x, angles)
            return self.head(self.last(x))

    return Transformer()


def training(row: Row, device):
    """One iteration, as a function; and the number of parameters."""
    import torch
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from torch.nn import functional as F

    with torch.device(device):
        net = network(row.model, row.sequence)
        tokens = torch.randint(row.model.vocabulary, (row.batch, row.sequence + 1))
    parameters = sum(p.numel() for p in net.parameters())
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for i, block in enumerate(net.blocks):
        block = checkpoint_wrapper(block) if row.full else block
        if row.compiled:
            block.compile(fullgraph=True)
        net.blocks[i] = block
        fully_shard(block, mp_policy=precision)
    fully_shard(net, mp_policy=precision)
    adam = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        logits = net(tokens[:, :-1])
        F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        del logits
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=True)
        adam.step()
        adam.zero_grad(set_to_none=True)

    return step, parameters


def measured(row: Row, device, ranks: int, said: argparse.Namespace) -> dict[str, object]:
    import torch

    step, parameters = training(row, device)
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return {
        "model": row.spec,
        "gpu_system": said.system or torch.cuda.get_device_name(),
        "topology": said.topology,
        "n_gpus": ranks,
        "tp": 1,
        "pp": 1,
        "dp": ranks,
        "sharding": "fsdp" if ranks > 1 else "",
        "global_batch": row.batch * ranks,
        "micro_batch": row.batch,
        "seq_len": row.sequence,
        "precision": "bf16",
        "recompute": "full" if row.full else "none",
        "iteration_time_s": f"{statistics.median(times):.6f}",
        "stack": "torchtitan-compile" if row.compiled else "torchtitan",
        "fastest_s": f"{min(times):.6f}",
        "slowest_s": f"{max(times):.6f}",
        "allocated_bytes": torch.cuda.max_memory_allocated(),
        "reserved_bytes": torch.cuda.max_memory_reserved(),
        "parameters": parameters,
        "source": f"measure.py, PyTorch {torch.__version__}, {time.strftime('%Y-%m-%d')}",
    }


def measure(rows: list[Row], said: argparse.Namespace, out: IO[str]) -> int:
    """Writes a row for each training as soon as it is measured."""
    import torch
    from torch import distributed

    for name, value in ALONE.items():
        os.environ.setdefault(name, value)
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    distributed.init_process_group("nccl", device_id=device)
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    until, refused = time.monotonic() + said.seconds, 0
    table = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    if rank == 0:
        table.writeheader()
    for i, row in enumerate(rows):
        late = torch.tensor(time.monotonic() > until, device=device, dtype=torch.int32)
        distributed.broadcast(late, 0)  # all ranks end together
        if late:
            left = f"{len(rows) - i} of {len(rows)}"
            print(f"measure: left out after {said.seconds:g} s: {left}", file=sys.stderr)
            refused += len(rows) - i
            break
        try:
            found = measured(row, device, ranks, said)
        except torch.OutOfMemoryError as why:
            print(f"measure: {row.text}: left out: {str(why).split('.')[0]}", file=sys.stderr)
            refused += 1
            found = None
        if found and rank == 0:
            table.writerow(found)
            out.flush()
        gc.collect()
        torch._dynamo.reset()
        torch.cuda.empty_cache()
    distributed.destroy_process_group()
    return 1 if refused else 0


def main() -> int:
    words = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=words)
    parser.add_argument("rows", metavar="ROW", nargs="*", default=ROWS)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the table to this file")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no row after so many seconds")
    parser.add_argument("--system", default="", help="gpu_system of the rows (default: the device's name)")
    parser.add_argument("--topology", default="", help="the network, as --topology of ringlet takes it")
    parser.add_argument("--list", action="store_true", help="print the rows, and measure nothing")
    said = parser.parse_args()
    try:
        rows = [row_of(text) for text in said.rows]
    except ValueError as why:
        print(f"measure: {why}", file=sys.stderr)
        return 2
    if said.list:
        print("\n".join(said.rows))
        return 0
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("measure: needs PyTorch and an accelerator that it can use", file=sys.stderr)
        return 1
    try:
        # Of several ranks the first one writes.
        name = said.output if os.environ.get("RANK", "0") == "0" else ""
        with open(name, "w", encoding="utf-8", newline="") if name else nullcontext(sys.stdout) as out:
            return measure(rows, said, out)
    except OSError as why:
        print(f"measure: {why.filename or said.output}: {why.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("measure: interrupted; the rows until then are written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
