# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorder, against a stub of the profiler. The stub takes the arguments of PyTorch's profiler and no
others, records the steps that its schedule says, and writes timelines as short as can be replayed."""

from __future__ import annotations

import gzip
import json
import os
import sys
import types
import warnings
from pathlib import Path
from typing import Any, Callable

import ringlet
from tap import fails, run

TMP = Path(sys.argv[1])
place = {"rank": 0, "world": 2, "distributed": True}
made: list[Any] = []


class Observer:
    def __init__(self) -> None:
        self.path = ""

    def register_callback(self, output_file_path: str) -> Observer:
        self.path = output_file_path
        return self

    def start(self) -> None:
        assert self.path

    def stop(self) -> None:
        Path(self.path).write_text(
            json.dumps(
                {
                    "schema": "1.0.4",
                    "pid": 1,
                    "time": "",
                    "start_ts": 0,
                    "nodes": [{"id": 1, "name": "[pytorch|profiler|execution_trace|process]"}],
                }
            )
        )

    def cleanup(self) -> None:
        pass


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], str]:
    def action(step: int) -> str:
        if step < wait or (repeat and step >= repeat * (wait + warmup + active)):
            return "none"
        if step < wait + warmup:
            return "warmup"
        return "save" if step == wait + warmup + active - 1 else "record"

    return action


class Profile:
    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Any = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
    ):
        self.given = dict(locals())
        self.action, self.ready, self.observer = schedule, on_trace_ready, execution_trace_observer
        self.step_num, self.steps, self.preset = 0, [], {}
        made.append(self)

    def preset_metadata_json(self, key: str, value: str) -> None:
        self.preset[key] = json.loads(value)

    def __enter__(self) -> Profile:
        return self

    def step(self) -> None:
        if self.action(self.step_num) in ("record", "save"):
            self.observer.start()
            self.steps.append(self.step_num)
        if self.action(self.step_num) == "save":
            self.observer.stop()
            self.ready(self)
        self.step_num += 1

    def __exit__(self, *error: Any) -> None:
        if self.action(self.step_num) in ("record", "save"):
            self.observer.stop()
            self.ready(self)
        self.observer.cleanup()

    def export_chrome_trace(self, path: str) -> None:
        events = []
        for k, step in enumerate(self.steps):
            at = 1000.0 * k
            events += [
                event("user_annotation", f"ProfilerStep#{step}", 1, at, 900.0),
                event("cuda_runtime", "cudaLaunchKernel", 1, at + 10, 5.0, correlation=2 * k + 1),
                event("kernel", "gemm", 7, at + 20, 100.0, correlation=2 * k + 1, stream=7),
                event("cuda_runtime", "cudaLaunchKernel", 1, at + 30, 5.0, correlation=2 * k + 2),
                event(
                    "kernel",
                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                    9,
                    at + 150,
                    50.0,
                    correlation=2 * k + 2,
                    stream=9,
                    **message(),
                ),
            ]
        known = {"distributedInfo": {"backend": "nccl", "rank": place["rank"], "world_size": place["world"]}}
        info = known if place["distributed"] else self.preset
        with gzip.open(path, "wt") as out:
            json.dump({"schemaVersion": 1, **info, "baseTimeNanoseconds": 0, "traceEvents": events}, out)


def event(cat: str, name: str, tid: int, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur, "args": args}


def message() -> dict[str, Any]:
    return {
        "Collective name": "allreduce",
        "In msg nelems": 2**20,
        "Out msg nelems": 2**20,
        "dtype": "Float",
        "Group size": 2,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
    }


def config(*, enable_cuda_sync_events: bool = False) -> dict[str, bool]:
    return {"enable_cuda_sync_events": enable_cuda_sync_events}


def install(version: str = "2.4.1+cu121") -> None:
    """Puts the stub where PyTorch would be."""
    torch, profiler, c, cp, dist = (
        types.ModuleType(n)
        for n in ("torch", "torch.profiler", "torch._C", "torch._C._profiler", "torch.distributed")
    )
    torch.__version__, torch.profiler, torch._C, torch.distributed = version, profiler, c, dist
    profiler.profile, profiler.schedule, profiler.ExecutionTraceObserver = Profile, schedule, Observer
    cp._ExperimentalConfig = config
    dist.is_available = lambda: True
    dist.is_initialized = lambda: place["distributed"]
    dist.get_rank, dist.get_world_size = lambda: place["rank"], lambda: place["world"]
    sys.modules.update({m.__name__: m for m in (torch, profiler, c, cp, dist)})


def job(folder: Path, steps: int, **given: Any) -> ringlet.Recorder:
    with ringlet.record(folder, **given) as r:
        for _ in range(steps):
            r.step()
    return r


def without_pytorch() -> None:
    """Without PyTorch a recording says so."""
    sys.modules["torch"] = None  # type: ignore[assignment]
    assert "needs the package torch" in str(fails(ImportError, lambda: ringlet.record(TMP / "r")))
    install("2.1.0")
    assert "2.2 or newer, found 2.1.0" in str(fails(RuntimeError, lambda: ringlet.record(TMP / "r")))


def both_traces() -> None:
    """Every rank writes both traces of the scheduled steps, with the settings that replay needs."""
    install()
    for place["rank"] in (0, 1):
        r = job(TMP / "recording", 12, wait=3, warmup=1, active=2)
    given, profile = made[-1].given, made[-1]
    assert profile.steps == [4, 5] and r.done and r.rank == 1 and r.world == 2
    assert given["record_shapes"] is True and given["experimental_config"] == {
        "enable_cuda_sync_events": True
    }
    assert not given["with_stack"] and not given["profile_memory"] and given["activities"] is None
    assert sorted(os.listdir(r.trace)) == ["rank0.json.gz", "rank1.json.gz"]
    assert sorted(os.listdir(r.host_trace)) == ["rank0.json", "rank1.json"]


def the_recording_replays() -> None:
    """The recording is read and replayed as it stands."""
    r = job(TMP / "recording", 12, wait=3, warmup=1, active=2)
    info = ringlet.trace.info(r.trace, host_trace=r.host_trace)
    assert (info.json["ranks"], info.json["steps"]) == (2, 2), info.json
    result = ringlet.run(r.trace, host_trace=r.host_trace, topology="switch:2@50GB/s,1us")
    assert len(result.iterations_s) == 2 and result.json["collectives"][0]["bytes"] == 4 * 2**20


def too_short() -> None:
    """A loop that is too short for the schedule is told."""
    for steps, text in ((2, "recorded nothing"), (5, "recorded fewer than 2 steps")):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            job(TMP / f"short{steps}", steps, wait=3, warmup=1, active=2)
        assert text in str(said[-1].message), said
    fails(ValueError, lambda: ringlet.record(TMP / "r", active=0))
    error = fails(ZeroDivisionError, lambda: failing(TMP / "failing"))
    assert error


def failing(folder: Path) -> None:
    with ringlet.record(folder) as r:
        r.step()
        raise ZeroDivisionError


def other_launchers() -> None:
    """Without torch.distributed the rank is that of the launcher."""
    place["distributed"] = False
    os.environ.update(RANK="3", WORLD_SIZE="8")
    r = job(TMP / "mpi", 9)
    assert (r.rank, r.world) == (3, 8) and os.listdir(r.trace) == ["rank3.json.gz"]
    assert made[-1].preset["distributedInfo"] == {"rank": 3, "world_size": 8}


if __name__ == "__main__":
    run([without_pytorch, both_traces, the_recording_replays, too_short, other_launchers])
