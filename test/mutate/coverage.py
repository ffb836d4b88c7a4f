#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which test executes which line, and what all of them together leave out.

coverage.py BUILD [WORD...]    runs each test once in BUILD, compiled with --coverage, and prints lines and
                               branches of each room. WORDs: only tests with one of them in their path.
                               BUILD/refusals.txt lists the errors that no test asks for.

The map stays in BUILD/map.json. A test runs again when its program has changed. SECONDS=60 limits
the CPU time of a process; a test that takes more is named and left out.
"""

from __future__ import annotations

import concurrent.futures as futures
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import suite

FLOORS = ("sim/", "net/", "collectives/", "workload/")
# rlt_fail(, rlt_json_fail(, a file's own fail_line(
REFUSAL = re.compile(r"\b(?:\w*_)?(?:fail|refuse|wrong)(?:_\w+)?\(")
TAG = struct.pack("<I", 0x01A10000)  # counters of arcs follow; a negative length says that all are 0


def touched(gcda: bytes) -> bool:
    at = gcda.find(TAG)
    while at >= 0:
        if at % 4 == 0 and struct.unpack_from("<i", gcda, at + 4)[0] > 0:
            return True
        at = gcda.find(TAG, at + 1)
    return False


def gcov(files: list[str]) -> dict[str, dict[str, list[int]]]:
    """For each source of the rooms: line -> [times executed, times each branch was taken...]."""
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for i in range(0, len(files), 50):
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", *files[i : i + 50]]
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        for line in out.splitlines():
            for source in json.loads(line)["files"] if line.strip() else []:
                name = os.path.normpath(source["file"])
                for row in source["lines"] if name.startswith(FLOORS) else []:
                    counts = [row["count"], *(b["count"] for b in row["branches"])]
                    old = found[name].get(str(row["line_number"]), [])
                    # A line of a header is in many objects.
                    size = max(len(old), len(counts))
                    pad = [c + [0] * (size - len(c)) for c in (old, counts)]
                    found[name][str(row["line_number"])] = [a + b for a, b in zip(*pad)]
    return found


def taken(rows: dict[str, list[int]]) -> dict[str, list[int]]:
    """Executed lines, with their branches that were taken."""
    return {n: [b for b, count in enumerate(c[1:]) if count] for n, c in rows.items() if c[0]}


def covered_by(test: suite.Test, build: str, seconds: float) -> dict:
    """What the map keeps of a test: {passed, why, cpu, files: {source: {line: branches taken}}}."""
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        ran = suite.run(test, build, seconds, {"GCOV_PREFIX": folder})
        if not ran.passed:
            return {"passed": False, "why": ran.why}
        files = []
        for path in Path(folder).rglob("*.gcda"):
            if touched(path.read_bytes()):
                note = path.with_suffix(".gcno")
                note.symlink_to("/" + str(note.relative_to(folder)))
                files.append(str(path))
        lines = {source: taken(rows) for source, rows in gcov(files).items()}
    reached = {source: rows for source, rows in lines.items() if rows}
    return {"passed": True, "why": "", "cpu": ran.cpu_s, "files": reached}


def updated(build: str, only: list[str], jobs: int) -> suite.Store:
    """The map, with all tests in it."""
    store = suite.Store(Path(build, "map.json"))
    seconds = float(os.environ.get("SECONDS", "60"))
    wanted = [t for t in suite.tests(build, only) if store.get(t.name, t.changed) is None]

    def one(test: suite.Test) -> None:
        began = time.time()
        value = covered_by(test, build, seconds)
        if not suite.stopped.is_set():
            store.put(test.name, value, began)
            if not value["passed"]:
                print(f"coverage: left out {test.name}: {value['why']}", file=sys.stderr)

    with futures.ThreadPoolExecutor(jobs) as pool:
        try:
            list(pool.map(one, wanted))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            suite.stop()
            raise
        finally:
            if wanted:
                store.save()
    return store


def per_cent(part: int, whole: int) -> str:
    return f"{part:6d} of {whole:6d} {100 * part / whole:5.1f} %" if whole else f"{'-':>22}"


def refusals(everything: dict[str, dict], hit: dict[str, dict]) -> tuple[list[str], int]:
    """Refusals that no test executes, as "source:line: text", and the number of all."""
    missed, total = [], 0
    for source in sorted(s for s in everything if s.endswith(".c")):
        lines = Path(source).read_text().split("\n")
        for at, line in enumerate(lines, 1):
            if not REFUSAL.search(line) or not line.startswith(" "):
                continue
            rest = range(at, len(lines) + 1)
            end = next((k for k in rest if lines[k - 1].rstrip().endswith((";", "{"))), at)
            span = [str(k) for k in range(at, end + 1) if str(k) in everything[source]]
            total += bool(span)
            if span and not any(k in hit[source] for k in span):
                missed.append(f"{source}:{at}: {' '.join(t.strip() for t in lines[at - 1 : end])}")
    return missed, total


def report(build: str, store: suite.Store) -> None:
    notes = [str(p) for floor in FLOORS for p in Path(build, floor).rglob("*.gcno")]
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        for note in notes:  # no counters lie beside these copies: gcov prints what there is to execute
            copy = Path(folder, note)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(note, copy)
        everything = gcov([str(Path(folder, n)) for n in notes])
    hit: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for record in store.records.values():
        for source, rows in record["value"].get("files", {}).items():
            for n, branches in rows.items():
                hit[source][n].update(branches)
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for source, rows in everything.items():
        for n, counts in rows.items():
            taken = hit[source].get(n)
            sums = (int(taken is not None), 1, len(taken or ()), len(counts) - 1)
            for room in (os.path.dirname(source), source.split("/")[0] + " and below", "total"):
                rooms[room] = [a + b for a, b in zip(rooms[room], sums)]
    print(f"{'room':32} {'lines executed':>22} {'branches taken':>24}")
    for room in sorted(rooms, key=lambda r: (r == "total", r.endswith("below"), r)):
        a, b, c, d = rooms[room]
        print(f"{room:32} {per_cent(a, b)}   {per_cent(c, d)}")
    missed, total = refusals(everything, hit)
    listed = Path(build, "refusals.txt")
    listed.write_text("".join(f"{text}\n" for text in missed))
    print(f"{len(missed)} of {total} refusals of inputs are asked for by no test: {listed}")


def main() -> int:
    build, only = sys.argv[1], sys.argv[2:]
    try:
        store = updated(build, only, int(os.environ.get("JOBS") or os.cpu_count() or 1))
    except KeyboardInterrupt:
        print("coverage: interrupted; a second call goes on from here", file=sys.stderr)
        return 130
    report(build, store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
