#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes the meaning of one place in the sources, and sees whether a test fails: again and again.

mutate.py COVERAGE BUILD    COVERAGE: a build with --coverage; BUILD: one with the library as a shared object

Settings, from the environment: ROOM=net/flow (rooms or files, with spaces; empty: all rooms of the library),
N=200 mutants of each, drawn by SEED=1; BUDGET=30 seconds of CPU time for the tests of one mutant;
LIKE="word..." only tests with one of these words in their path; JOBS. A second call with the same settings
goes on where the first one ended.
"""

from __future__ import annotations

import concurrent.futures as futures
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import coverage
import suite
from mutants import Mutant, mutants

LIBRARY = "libringlet.so.0"
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")


@dataclass(frozen=True)
class Place:
    """A mutant in its source, and the names of the tests that execute it."""

    path: str
    text: str
    mutant: Mutant
    reached_by: tuple[str, ...]

    def key(self, seed: str) -> str:
        m = self.mutant
        said = f"{seed}\n{self.path}\n{m.start}\n{m.end}\n{m.new}\n{self.text}"
        return hashlib.sha256(said.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.path}:{self.mutant.line}: {self.mutant.shown(self.text)}"

    def listed_as(self) -> str:
        """Its line in equivalent.txt: lines of sources move."""
        return f"{self.path}: {self.mutant.shown(self.text)}".strip()


def rooms() -> list[str]:
    return sorted({str(p.parent) for floor in coverage.FLOORS for p in Path(floor).rglob("*.c")})


def listed() -> set[str]:
    """Mutants that a person found to be equivalent."""
    lines = Path(__file__).with_name("equivalent.txt").read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def draw(room: str, seed: str, executed: dict[str, dict[str, tuple[str, ...]]]) -> list[Place]:
    """All mutants of a room that a test executes, in an order that the seed gives."""
    places = []
    for path in [Path(room)] if room.endswith(".c") else sorted(Path(room).glob("*.c")):
        text, lines = path.read_text(encoding="utf-8"), executed.get(str(path), {})
        for m in mutants(text):
            # gcov names one line of a long statement.
            line = next((n for n in range(m.line, m.first - 1, -1) if str(n) in lines), None)
            if line is not None:
                places.append(Place(str(path), text, m, lines[str(line)]))
    return sorted(places, key=lambda p: p.key(seed))


class Gate:
    """Tries mutants. Results and the CPU time of tests are kept in the build's folder."""

    def __init__(self, cover: str, build: str) -> None:
        self.only = os.environ.get("LIKE", "").split()
        self.build = build
        self.seed = os.environ.get("SEED") or "1"
        self.budget = number("BUDGET", "30", 1)
        self.jobs = int(number("JOBS", str(os.cpu_count() or 1), 1))
        self.cover = cover
        self.tests = {t.name: t for t in suite.tests(build, self.only)}
        self.library = suite.since(build, Path(build, "whole.so"))
        self.times = suite.Store(Path(build, "times.json"))
        self.covered: suite.Store  # what each test executes
        self.results: suite.Store  # of the room under way
        self.listed = listed()
        self.commands: dict[str, list[str]] = {}
        self.originals: dict[str, bytes | None] = {}
        self.lock = threading.Lock()

    def executed(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each source and line: the tests that execute it."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        self.covered = coverage.updated(self.cover, self.only, self.jobs)
        for name in sorted(self.tests):
            record = self.covered.records.get(name)
            for path, lines in (record["value"].get("files", {}) if record else {}).items():
                of_path = found.setdefault(path, {})
                for line in lines:
                    of_path[line] = (*of_path.get(line, ()), name)
        return found

    def cost(self, name: str) -> float | None:
        """CPU seconds of a test without a mutant; None if it fails, or takes more than the budget."""
        test = self.tests[name]
        value = self.times.get(name, max(test.changed, self.library))
        if value is None:
            began = time.time()
            ran = suite.run(test, self.build, self.budget, {})
            if suite.stopped.is_set():
                return None
            value = ran.cpu_s if ran.passed else -ran.cpu_s - 1e-6
            self.times.put(name, value, began)
        return None if value < 0 or value > self.budget else value

    def dear_alone(self, name: str) -> bool:
        """Whether a test without a cost took more than the budget. One that fails sooner kills nothing."""
        return self.estimate(name) >= self.budget

    def estimate(self, name: str) -> float:
        """About how long a test takes: known before it has run in this build."""
        known = self.times.records.get(name)
        return abs(known["value"]) if known else self.covered.records[name]["value"].get("cpu", 1.0)

    def command(self, path: str) -> list[str]:
        """How make compiles the file, without the source, the object and the list of its headers."""
        with self.lock:
            if path not in self.commands:
                goal = f"{self.build}/{path.removesuffix('.c')}.o"
                out = suite.make("-n", "V=1", f"BUILD={self.build}", "-W", path, goal)
                line = next(x for x in out.splitlines() if f" -c -o {goal} " in x)
                shell = ["sh", "-c", f"printf '%s\\n' {line}"]
                words = subprocess.run(shell, capture_output=True, text=True, check=True).stdout.splitlines()
                self.commands[path] = [w for w in words if w not in ("-MMD", "-MP", "-c", path, "-o", goal)]
            return self.commands[path]

    def compiled(self, path: str, text: str, folder: str, *more: str) -> bytes | None:
        """The object of a changed source."""
        source, target = Path(folder, "mutant.c"), Path(folder, "mutant.o")
        source.write_text(text, encoding="utf-8")
        command = [*self.command(path), "-w", "-O1", "-g0", "-fvisibility=default", *more, f"-I{os.getcwd()}"]
        command += ["-c", "-o", "mutant.o", "mutant.c"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        return target.read_bytes() if ran.returncode == 0 else None

    def equivalent(self, place: Place, folder: str) -> bool:
        """Whether the compiler makes the same of it. (Not the reverse: others may be equivalent, too.)"""
        if place.path not in self.originals:
            self.originals[place.path] = self.compiled(place.path, place.text, folder, "-O2")
        same = self.compiled(place.path, place.mutant.applied(place.text), folder, "-O2")
        return same is not None and same == self.originals[place.path]

    def known(self, place: Place) -> str | None:
        value = self.results.get(place.key(""), self.library)
        if value is None or value == "invalid" or value == "equivalent":
            return value
        # Verdicts stand as long as the tests that gave them: the killer, or all that let it live. A larger
        # budget pays for more tests.
        if value.startswith("survives"):
            dear, reaching, budget = (float(word) for word in (value + " 0").split()[1:4])
            if reaching != len(place.reached_by) or (dear and budget < self.budget):
                return None
        names = [value.split(" ", 2)[1]] if value.startswith("killed") else place.reached_by
        newest = max((self.tests[n].changed if n in self.tests else time.time()) for n in names)
        return self.results.get(place.key(""), newest)

    def verdict(self, place: Place) -> str:
        """killed TEST WHY, survives NOT-RUN REACHING BUDGET, equivalent, or invalid: it does not compile."""
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            if self.compiled(place.path, place.mutant.applied(place.text), folder) is None:
                return "invalid"
            self.link(place, folder)
            # Before the tests: an equivalent one would have to pass all of them.
            if self.equivalent(place, folder):
                return "equivalent"
            spent, dear = 0.0, 0
            # Tests of the room itself know most of it.
            own = f"test/{os.path.dirname(place.path)}/"
            order = sorted(place.reached_by, key=lambda n: (not n.startswith(own), self.estimate(n), n))
            for i, name in enumerate(order):
                cost = self.cost(name)
                if cost is None:  # fails anyway, or takes too long alone
                    dear += self.dear_alone(name)
                    continue
                if spent + cost > self.budget:
                    return f"survives {dear + len(order) - i} {len(order)} {self.budget:g}"
                ran = suite.run(self.tests[name], self.build, 3 * cost + 1, {"LD_LIBRARY_PATH": folder})
                if not ran.passed:
                    return f"killed {name} {ran.why}"
                spent += ran.cpu_s
            return self.sanitized(place, order, folder) or f"survives {dear} {len(order)} {self.budget:g}"

    def link(self, place: Place, folder: str, *more: str) -> None:
        """Makes a library of the object: its functions come first, all others are in the library it needs."""
        link = [self.command(place.path)[0], "-shared", f"-Wl,-soname,{LIBRARY}", "-Wl,--no-as-needed", *more]
        whole = os.path.abspath(f"{self.build}/whole.so")
        link += ["-o", f"{folder}/{LIBRARY}", f"{folder}/mutant.o", whole]
        subprocess.run(link, check=True)

    def sanitized(self, place: Place, order: list[str], folder: str) -> str | None:
        """Whether a test fails that passes without the mutant, the file under sanitizers both times."""
        runtime = sanitizers_of(self.command(place.path)[0])
        names = [n for n in order if not n.endswith(".sh") and self.cost(n) is not None]
        if not os.path.isabs(runtime):
            return None

        def fails(name: str) -> bool:
            test = self.tests[name]
            watched = suite.Test(name, ("env", f"LD_PRELOAD={runtime}", *test.command), test.changed)
            limit = 5 * (self.cost(name) or 0) + 5
            # Sanitizers reserve addresses, so memory has no limit.
            here = {"LD_LIBRARY_PATH": folder}
            return not suite.run(watched, self.build, limit, here, memory=False).passed

        def build(text: str) -> bool:
            made = self.compiled(place.path, text, folder, *SANITIZED) is not None
            if made:
                self.link(place, folder, SANITIZED[0])
            return made

        if not build(place.mutant.applied(place.text)):
            return None
        found = next((n for n in names if not suite.stopped.is_set() and fails(n)), None)
        if found is None or not build(place.text) or fails(found):
            return None
        return f"killed {found} sanitizers"

    def tried(self, place: Place) -> str:
        verdict = "equivalent" if place.listed_as() in self.listed else self.known(place)
        if verdict is None and not suite.stopped.is_set():
            began = time.time()
            verdict = self.verdict(place)
            if not suite.stopped.is_set():
                self.results.put(place.key(""), verdict, began)
        return verdict or ""

    def room(self, room: str, executed: dict[str, dict[str, tuple[str, ...]]], n: int) -> tuple[int, int]:
        """Tries n mutants of a room, prints what survives, and returns how many were killed, of how many."""
        places = draw(room, self.seed, executed)
        self.results = suite.Store(Path(self.build, "mutants", room.replace("/", "-") + ".json"))
        if not places:
            print(f"{room}: no test executes it")
            return 0, 0
        killed = valid = same = 0
        with futures.ThreadPoolExecutor(self.jobs) as pool:
            try:
                waiting: dict[futures.Future[str], Place] = {}
                for place in places:
                    waiting[pool.submit(self.tried, place)] = place
                    if valid + same + len(waiting) < n:
                        continue
                    while waiting and valid + same + len(waiting) >= n:
                        k, v, s = self.take(waiting)
                        killed, valid, same = killed + k, valid + v, same + s
                    if valid + same >= n:
                        break
                while waiting:
                    k, v, s = self.take(waiting)
                    killed, valid, same = killed + k, valid + v, same + s
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                suite.stop()
                raise
            finally:
                self.results.save()
                self.times.save()
        rate = f" ({100 * killed / valid:.1f} %)" if valid else ""
        print(f"{room}: {killed} of {valid} killed{rate}, {same} equivalent", flush=True)
        return killed, valid

    @staticmethod
    def take(waiting: dict[futures.Future[str], Place]) -> tuple[int, int, int]:
        """One finished: how many were killed, valid, equivalent."""
        future = next(iter(futures.wait(waiting, return_when=futures.FIRST_COMPLETED).done))
        place, verdict = waiting.pop(future), future.result()
        if verdict.startswith("survives"):
            left_out = int(verdict.split()[1])
            dear = f" ({left_out} of {len(place.reached_by)} tests were too dear)" if left_out else ""
            print(f"{place}{dear}", flush=True)
        killed = verdict.startswith("killed")
        return killed, killed or verdict.startswith("survives"), verdict == "equivalent"


@functools.cache
def sanitizers_of(compiler: str) -> str:
    """The path of a compiler's AddressSanitizer; not absolute if it has none."""
    ask = [compiler, "-print-file-name=libasan.so"]
    return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()


def number(name: str, default: str, least: float) -> float:
    text = os.environ.get(name) or default
    try:
        value = float(text)
    except ValueError:
        value = least - 1
    if not least <= value < 1e6:
        print(f"mutate: {name}={text}: expected a number from {least:g} on", file=sys.stderr)
        sys.exit(2)
    return value


def main() -> int:
    cover, build = sys.argv[1:3]
    n = int(number("N", "200", 1))
    gate = Gate(cover, build)
    there = rooms()
    wanted = os.environ.get("ROOM", "").split() or there
    for room in wanted:
        if not os.path.exists(room) or (os.path.dirname(room) if room.endswith(".c") else room) not in there:
            print(f"mutate: ROOM={room}: expected a source, or one of: {' '.join(there)}", file=sys.stderr)
            return 2
    killed = valid = 0
    try:
        executed = gate.executed()
        for room in wanted:
            k, v = gate.room(room, executed, n)
            killed, valid = killed + k, valid + v
    except KeyboardInterrupt:
        print("mutate: interrupted; a second call goes on from here", file=sys.stderr)
        return 130
    if len(wanted) > 1 and valid:
        print(f"total: {killed} of {valid} killed ({100 * killed / valid:.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
