# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of a build, and how one is run under limits."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

MEMORY_KB = 8 << 20  # address space of a process: a mutant may ask for all there is
running: set[int] = set()
stopped = threading.Event()


@dataclass(frozen=True)
class Run:
    """Outcome of a test. cpu_s counts the processes that it started, too."""

    passed: bool
    cpu_s: float
    why: str  # "", "fails", "limit"


@dataclass(frozen=True)
class Test:
    name: str  # path of its source
    command: tuple[str, ...]
    changed: float  # when what it runs was built


def make(*words: str) -> str:
    """What make prints. It is not part of a make that started us."""
    ours = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    env = {k: v for k, v in os.environ.items() if k not in ours}
    return subprocess.run(["make", "-s", *words], capture_output=True, text=True, check=True, env=env).stdout


def since(build: str, *paths: Path) -> float:
    """When the last of these files was built with another content: a link alone changes nothing."""
    known = Store(Path(build, "since.json"))
    newest = 0.0
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if known.get(f"{path} {digest}") is None:
            known.records[f"{path} {digest}"] = {"at": path.stat().st_mtime, "value": True}
            known.save()
        newest = max(newest, known.records[f"{path} {digest}"]["at"])
    return newest


def tests(build: str, only: list[str]) -> list[Test]:
    """Tests of C, then of the command line, not of the build. `only`: words of paths; empty: all."""
    found = []
    for program in map(Path, make("list-tests", f"BUILD={build}").split()):
        name = str(program.relative_to(build))
        if program.exists() and (not only or any(word in name for word in only)):
            found.append(Test(name, (str(program),), since(build, program)))
    command = Path(build, "ringlet")
    for script in sorted(Path("test/cli").glob("*/*.sh")) if command.exists() else ():
        wanted = not only or any(word in str(script) for word in only)
        if script.parent.name != "make" and wanted:
            found.append(Test(str(script), ("sh", str(script)), since(build, command, script)))
    return found


def run(test: Test, build: str, cpu_s: float, more: dict[str, str], memory: bool = True) -> Run:
    """Runs a test. A process may take cpu_s, the test ten times as long by the clock, and a minute more.
    `memory`: it may take MEMORY_KB, else any amount."""
    folder = tempfile.mkdtemp(prefix="mutate-")
    own = {"BUILD": build, "RINGLET": f"{build}/ringlet", "CMOCKA_MESSAGE_OUTPUT": "TAP", "TMPDIR": folder}
    own["LD_LIBRARY_PATH"] = os.path.abspath(build)  # tests leave the folder that its name is relative to
    # The shell stays: exec hands on the peak memory of this process, and a test may look at its own.
    # One limit a call: dash refuses a second option, and would set none.
    most = MEMORY_KB if memory else "unlimited"
    limits = f'ulimit -t {math.ceil(cpu_s)} && ulimit -v {most} && ulimit -c 0 || exit; "$@"; exit $?'
    null = subprocess.DEVNULL
    late = []
    shell = ["sh", "-c", limits, "sh", *test.command]
    process = subprocess.Popen(
        shell, env=os.environ | own | more, stdin=null, stdout=null, stderr=null, start_new_session=True
    )

    def end() -> None:
        late.append(True)
        kill(process.pid)

    timer = threading.Timer(10 * cpu_s + 60, end)
    timer.start()
    running.add(process.pid)
    try:
        if stopped.is_set():
            kill(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        timer.cancel()
        running.discard(process.pid)
        kill(process.pid)  # what it left running
        shutil.rmtree(folder, ignore_errors=True)
    limit = late or process.returncode in (128 + signal.SIGXCPU, 128 + signal.SIGKILL, -signal.SIGKILL)
    why = "" if process.returncode == 0 else "limit" if limit else "fails"
    return Run(process.returncode == 0, usage.ru_utime + usage.ru_stime, why)


def kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def stop() -> None:
    """Ends all tests that run now, and those that begin later."""
    stopped.set()
    for group in list(running):
        kill(group)


class Store:
    """A JSON file of named records, each with the time of its measurement. It is saved in one step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.saved = 0.0
        try:
            self.records = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.records = {}

    def get(self, key: str, changed: float = 0.0):
        """The record of the key, unless something it rests on has changed since."""
        record = self.records.get(key)
        return record["value"] if record and record["at"] > changed else None

    def put(self, key: str, value, at: float) -> None:
        with self.lock:
            self.records[key] = {"at": at, "value": value}
            if time.time() > self.saved + 5:
                self.save()

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.records), encoding="utf-8")
        part.replace(self.path)
        self.saved = time.time()
