# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions against the tables of the command: keywords, help, values, stub."""

from __future__ import annotations

import ast
import datetime
import inspect
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import ringlet
from tap import fails, run

TRACE = "traces/transformer-8"
BOARD = "hgx-h100-8"


def ask(*words: str) -> str:
    return subprocess.run([ringlet.program(), *words], capture_output=True, text=True, check=True).stdout


def functions() -> dict[str, object]:
    """The functions by the name of their command."""
    found = {}
    for name in (
        "run",
        "coll",
        "topo",
        "trace",
        "sweep",
        "report",
        "calibrate",
        "calibrate_training",
        "design",
        "deploy",
        "plan",
        "list",
        "check",
    ):
        top = getattr(ringlet, name)
        found[name.replace("_", "-")] = top
        for verb, f in vars(top).items():
            if callable(f) and not verb.startswith("_"):
                found[f"{name} {verb.rstrip('_')}".replace("_", "-")] = f
    return found


def keywords_equal_the_option_tables() -> None:
    """Every option of every command is a keyword, and no other."""
    rows = json.loads(ask("list", "options", "--format=json"))["options"]
    by_command: dict[str, set[str]] = {}
    for row in rows:
        by_command.setdefault(row["command"], set()).add(row["name"])
    assert set(by_command) - {"serve", "help"} <= set(functions()), set(by_command) - set(functions())
    for name, f in functions().items():
        p = inspect.signature(f).parameters.values()
        keywords = {x.name.rstrip("_").replace("_", "-") for x in p if x.kind is x.KEYWORD_ONLY} - {"config"}
        options = by_command.get(name, set())
        own = {"format", "quiet"} | ({"output"} if "output" not in keywords else set())
        assert keywords == options - own, (name, keywords ^ (options - own))
    assert "output" in inspect.signature(ringlet.trace.convert).parameters


def help_is_as_good() -> None:
    """help(ringlet.run) has every sentence of --help."""
    for name, f in functions().items():
        if name in ("design", "trace"):
            continue
        squeeze = lambda text: re.sub(r"[\s_-]+", "", re.sub(r"\[[^\]]*\]|--", "", text))
        doc = squeeze(f.__doc__)
        rows = json.loads(ask("list", "options", *name.split(), "--format=json"))["options"]
        for row in (
            r for r in rows if r["command"] == name and r["name"] not in ("format", "output", "quiet")
        ):
            assert squeeze(row["help"]) in doc, (name, row["name"])
    assert (
        "ringlet.run(trace='traces/transformer-8', topology='hgx-h100-8', explain=True)"
        in ringlet.run.__doc__
    )


def the_stub_says_the_same() -> None:
    """The type stub has the same functions and parameters."""
    tree = ast.parse(Path(ringlet.__file__).with_suffix(".pyi").read_text())
    methods = {
        (c.name[1:], m.name): m.args
        for c in tree.body
        if isinstance(c, ast.ClassDef)
        for m in c.body
        if isinstance(m, ast.FunctionDef)
    }
    for name, f in functions().items():
        top, _, verb = name.partition(" ")
        if not verb and top in ("design", "trace"):
            continue
        verb = verb.replace("-", "_") + ("_" if verb == "import" else "")
        args = methods[top.replace("-", "_"), verb or "__call__"]
        stub = [a.arg for a in args.kwonlyargs]
        assert stub == [
            x.name for x in inspect.signature(f).parameters.values() if x.kind is x.KEYWORD_ONLY
        ], name


def words_of(**given: object) -> list[str]:
    return shlex.split(ringlet.run(TRACE, topology=BOARD, **given).command)[3:]


def values_become_words() -> None:
    """Lists, dicts, numbers, paths and durations become words."""
    assert words_of(compute_scale=1e-5) == ["--topology=hgx-h100-8", "--compute-scale=0.00001"]
    assert words_of(rank_delay={3: datetime.timedelta(milliseconds=5)})[1:] == ["--rank-delay=3=5000us"]
    assert words_of(rank_scale={"3:compute": 0.5, "1:host": 2})[1:] == [
        "--rank-scale=3:compute=0.5",
        "--rank-scale=1:host=2",
    ]
    assert words_of(set=["launch=1us", "channels=2"])[1:] == ["--set=launch=1us", "--set=channels=2"]
    assert words_of(no_skew=True, links=False, until=None)[1:] == ["--no-skew"]
    line = ringlet.run(
        model="llama3-8b", accelerator="h100-sxm", topology=BOARD, layout={"tp": 4, "sp": True}
    ).command
    assert "--layout=tp=4,sp=on" in line, line
    coll = ringlet.coll(topology=BOARD, bytes=["1MiB", "2MiB"], algorithm=("ring", "nvls"), group=range(4))
    assert "--bytes=1MiB,2MiB --algorithm=ring,nvls --group=0,1,2,3" in coll.command, coll.command
    assert ringlet.run(Path(TRACE), topology=BOARD, config={"network-scale": 2}).time_s < 0.019
    assert "1MiB" in ringlet.command("ringlet coll -t hgx-h100-8 -b1MiB -a ring -f csv -o never.csv").command
    assert ringlet.command(f"run -q {TRACE} --topology={BOARD} --format table").time_s > 0


def unknown_keywords() -> None:
    """An unknown keyword, a missing verb and a wrong type are named."""
    e = fails(TypeError, lambda: ringlet.run(TRACE, topolgy=BOARD))
    assert str(e) == "run() has no keyword 'topolgy'; did you mean topology?", e
    assert "help(ringlet.coll)" in str(fails(TypeError, lambda: ringlet.coll(zzzz=1)))
    assert "design.bandwidth or design.dimensions" in str(fails(TypeError, ringlet.design))
    assert "links: expected True or False" in str(
        fails(TypeError, lambda: ringlet.run(TRACE, topology=BOARD, links="yes"))
    )
    assert "finite" in str(
        fails(TypeError, lambda: ringlet.run(TRACE, topology=BOARD, compute_scale=float("inf")))
    )
    assert "object" in str(fails(TypeError, lambda: ringlet.run(TRACE, topology=object())))
    fails(TypeError, lambda: ringlet.topo(BOARD, "0", "1"))
    fails(ValueError, lambda: ringlet.command("rm -r x"))


def the_program_is_found() -> None:
    """A wrong RINGLET is an error that says so."""
    before = os.environ["RINGLET"]
    os.environ["RINGLET"] = "/nowhere/ringlet"
    try:
        e = fails(ringlet.Crashed, lambda: ringlet.topo(BOARD))
    finally:
        os.environ["RINGLET"] = before
    assert "not an executable" in str(e) and e.where == "RINGLET"


if __name__ == "__main__":
    run(
        [
            keywords_equal_the_option_tables,
            help_is_as_good,
            the_stub_says_the_same,
            values_become_words,
            unknown_keywords,
            the_program_is_found,
        ]
    )
