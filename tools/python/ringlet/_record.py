# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording of a training job with the PyTorch profiler, in the way that replays well."""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any

from ._result import needs

OLDEST = (2, 2)  # takes an execution trace observer


def record(
    folder: str | Path, *, wait: int = 5, warmup: int = 2, active: int = 2, rank: int | None = None
) -> Recorder:
    """Records some steps of a training loop. Every rank of the job calls it with the same folder:

        with ringlet.record("recording") as r:
            for batch in loader:
                train_step(batch)
                r.step()

    Skips `wait` steps, warms the profiler up for `warmup`, and records `active` of them. Each rank writes
    FOLDER/trace/rankN.json.gz, the timeline, and FOLDER/host/rankN.json, what the host asked for. The latter
    gives the sizes that timelines of older versions of PyTorch lack. Replay both:

        ringlet.run(r.trace, host_trace=r.host_trace, topology="hgx-h100-8")

    The rank is that of torch.distributed, else of the variable RANK, else 0.
    """
    return Recorder(Path(folder), (wait, warmup, active), rank)


class Recorder:
    """A recording under way; see record()."""

    def __init__(self, folder: Path, steps: tuple[int, int, int], rank: int | None):
        self._torch = needs("torch.profiler", "a recording")
        version = needs("torch", "a recording").__version__
        found = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
        if found < OLDEST:
            raise RuntimeError(
                f"a recording needs PyTorch {'.'.join(map(str, OLDEST))} or newer, found {version}"
            )
        if min(steps) < 0 or steps[2] < 1:
            raise ValueError(
                f"expected wait and warmup of 0 or more and active of 1 or more steps, got {steps}"
            )
        self.steps = steps
        self.rank, self.world = _place(rank)
        self.trace = folder / "trace"
        self.host_trace = folder / "host"
        self.done = False
        self._taken = 0
        self._profiler: Any = None

    def __enter__(self) -> Recorder:
        wait, warmup, active = self.steps
        tp = self._torch
        for made in (self.trace, self.host_trace):
            made.mkdir(parents=True, exist_ok=True)
        observer = tp.ExecutionTraceObserver()
        observer.register_callback(str(self.host_trace / f"rank{self.rank}.json"))
        # Stacks and memory slow the host, and the host is part of what is replayed.
        self._profiler = tp.profile(
            schedule=tp.schedule(wait=wait, warmup=warmup, active=active, repeat=1),
            on_trace_ready=self._write,
            record_shapes=True,
            execution_trace_observer=observer,
            experimental_config=_sync_events(),
        )
        if not _is_distributed() and hasattr(self._profiler, "preset_metadata_json"):
            self._profiler.preset_metadata_json(
                "distributedInfo", json.dumps({"rank": self.rank, "world_size": self.world})
            )
        self._profiler.__enter__()
        return self

    def step(self) -> None:
        """Ends a step. Call it once in each turn of the loop."""
        self._taken += 1
        self._profiler.step()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._profiler.__exit__(kind, error, traceback)
        needed = sum(self.steps)
        if self._taken < needed and kind is None:
            what = f"fewer than {self.steps[2]} steps" if self.done else "nothing"
            warnings.warn(
                f"rank {self.rank} recorded {what}: the loop had {self._taken} of the {needed} steps of "
                f"wait, warmup and active",
                stacklevel=2,
            )

    def _write(self, profiler: Any) -> None:
        profiler.export_chrome_trace(str(self.trace / f"rank{self.rank}.json.gz"))
        self.done = True


def _is_distributed() -> bool:
    try:
        import torch.distributed as dist
    except ImportError:
        return False
    return bool(dist.is_available() and dist.is_initialized())


def _place(rank: int | None) -> tuple[int, int]:
    """Rank and number of ranks."""
    if _is_distributed():
        import torch.distributed as dist

        return dist.get_rank() if rank is None else rank, dist.get_world_size()
    if rank is None:
        rank = int(os.environ.get("RANK", "0"))
    return rank, int(os.environ.get("WORLD_SIZE", str(rank + 1)))


def _sync_events() -> Any:
    """The setting that records which stream waited for which event; without it ringlet infers the waits."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        return _ExperimentalConfig(enable_cuda_sync_events=True)
    except (ImportError, TypeError):
        warnings.warn("this PyTorch does not record which stream waits for which event", stacklevel=4)
        return None
