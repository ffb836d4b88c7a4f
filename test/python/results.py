# SPDX-License-Identifier: GPL-3.0-or-later
"""Results against the bytes of the command; failures; Ctrl-C; threads."""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import ringlet
from tap import fails, needs, run

TMP = Path(sys.argv[1])
TRACE = "traces/transformer-8"
BOARD = "hgx-h100-8"
LONG = {"trace": TRACE, "topology": BOARD, "network": "packet", "algorithm": "ring", "set": "mtu=64B"}


def ask(*words: str) -> str:
    return subprocess.run([ringlet.program(), *words], capture_output=True, text=True, check=True).stdout


def the_same_bytes() -> None:
    """A result holds the bytes of the command, and its line repeats it."""
    r = ringlet.run(TRACE, topology=BOARD)
    assert r.text == ask("run", TRACE, "--topology", BOARD, "--format", "json")
    assert r.explain() == ask("run", TRACE, "--topology", BOARD, "--explain")
    assert ringlet.command(r.command).text == r.text
    assert r.time_s == r.json["time_ps"] * 1e-12 and r.summary["operations"] == 272 and r.events == 4804
    assert abs(sum(r.breakdown_s.values()) - r.time_s) < 1e-12
    r.save(TMP / "saved.json")
    assert ask("report", str(TMP / "saved.json")) == ringlet.report(r).text


def what_if() -> None:
    """vary() changes keywords; a comparison takes results."""
    r = ringlet.run(TRACE, topology=BOARD)
    slow = r.vary(rank_scale={"3:compute": 0.5})
    assert slow.time_s > 1.9 * r.time_s and slow.vary(rank_scale=None).text == r.text
    compared = ringlet.run(r, slow, compare=True)
    assert len(compared.json["runs"]) == 2 and "compute" in compared.explain() and compared._repr_html_()
    fails(TypeError, lambda: r.vary(topolgy=BOARD))


@needs("pandas")
def frames() -> None:
    """Lists are frames whose columns have units."""
    r = ringlet.run(TRACE, topology=BOARD)
    assert list(r.ranks["rank"]) == list(range(8)) and r.ranks["span_ps"].iloc[0] == r.json["time_ps"]
    assert set(r.lists) == {"ranks", "collectives", "links"} and r.collectives["count"].fillna(1).sum() == 7
    assert r.links["count"].sum() == 16 or len(r.links) == 16
    assert fails(AttributeError, lambda: r.lnks) and fails(KeyError, lambda: r.frame("lnks"))
    c = ringlet.coll(topology=BOARD, bytes=["1MiB", "1GiB"], algorithm=["ring", "nvls"])
    assert len(c.results) == 4 and list(c.fastest["algorithm"]) == ["ring", "nvls"]
    assert set(c.links["algorithm"]) == {"ring", "nvls"} and c.vary(bytes="1MiB").frame().shape[0] == 2
    assert len(ringlet.topo.route(BOARD, 0, 3).hops) == 2


@needs("pandas")
def frames_as_files() -> None:
    """A frame stands for a CSV file."""
    import pandas

    times = ringlet.coll(topology=BOARD, algorithm="auto", bytes=["1MiB", "4MiB"]).results["time_ps"] * 1e-6
    rows = pandas.DataFrame(
        {
            "system": "8x H100-SXM NVSwitch",
            "collective": "all_reduce",
            "n_ranks": 8,
            "size_bytes": [2**20, 2**22],
            "time_us": times,
        }
    )
    fit = ringlet.calibrate(rows, topology=BOARD, fit="launch", hold_out="none", max_evaluations=3)
    assert fit.json["manifest"]["command"] == "calibrate"


@needs("pandas")
def studies() -> None:
    """A study is kept in its database, or as long as its result."""
    study = {
        "base": {"trace": [TRACE], "topology": BOARD},
        "axes": [{"name": "net", "pointer": "/network-scale", "values": ["1", "2"]}],
    }
    s = ringlet.sweep(study)
    assert list(s.points["net"]) == ["1", "2"] and len(s.top(number=1).points) == 1
    assert len(ringlet.sweep(study, db=TMP / "s.sqlite").points) == 2 and "<html" in s.report().html
    assert [
        r["net"]
        for r in ringlet.sweep("ina", size="16KiB", loss=0, workers=2, straggler="0us", slots="16").json[
            "points"
        ]
        if "net" in r
    ] == []
    bad = fails(
        ringlet.CheckFailed,
        lambda: ringlet.sweep(
            {
                "base": {
                    "model": "llama3-8b",
                    "accelerator": "h100-sxm",
                    "topology": BOARD,
                    "layout": "tp=8",
                },
                "axes": [{"name": "layout", "pointer": "/layout", "values": ["tp=8", "tp=3"]}],
            }
        ),
    )
    assert list(bad.result.points["status"])[0] == 0 and bad.result.points["error"].iloc[1]
    assert len(bad.result.top(number=1).points) == 1


@needs("pandas")
def layouts() -> None:
    """A plan's lines can be run."""
    p = ringlet.plan(model="llama3-8b", accelerator="h100-sxm", topology=BOARD, train={"batch": 64})
    assert p.proven and len(p.layouts) >= 2
    assert ringlet.command(p.layouts["command"].iloc[0]).json["time_ps"] == p.layouts["time_ps"].iloc[0]


@needs("pandas", "matplotlib")
def plots() -> None:
    """plot() draws what matters, with units."""
    import matplotlib

    matplotlib.use("agg")
    r = ringlet.run(TRACE, topology=BOARD)
    assert r.plot().get_xlabel() == "time (ms)"
    c = ringlet.coll(topology=BOARD, bytes=["1KiB", "1MiB", "1GiB"], algorithm=["ring", "nvls"])
    ax = c.plot()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), len(ax.lines)) == (
        "bytes",
        "busbw (GB/s)",
        "log",
        2,
    )
    assert c.plot(y="time_ps").get_ylabel() == "time (ms)"
    many = ringlet.coll(topology=BOARD, bytes=["1MiB", "4MiB"]).plot().lines
    assert ringlet.coll(topology=BOARD, bytes=["1MiB", "16MiB"]).plot().get_xscale() == "log"
    assert len(many) == len({(line.get_color(), line.get_linestyle()) for line in many}) == 12
    s = ringlet.sweep("ina", slots=[16, 64], loss=[0, 0.001], bytes="64KiB")
    ax = s.plot()  # a line for each algorithm, through the medians of the other axes
    assert [len(line.get_xdata()) for line in ax.lines] == [len(set(s.points["workers"]))] * len(ax.lines)
    assert ax.get_legend().get_title().get_text() == "algorithm" and ax.get_ylabel() == "time (ms), median"


def cells() -> None:
    """Notebooks show a breakdown, a page and one section of it; texts are escaped."""
    r = ringlet.run(TRACE, topology=BOARD)
    html = r._repr_html_()
    assert "exposed communication" in html and "2.8 %" in html and "19.07 ms" in html
    page = r.report(TMP / "page.html")
    assert (TMP / "page.html").read_text() == page.html and 'srcdoc="&lt;!doctype html' in page._repr_html_()
    assert "main > :not(#timeline)" in r.timeline().html and 'id="timeline"' not in html
    r.timeline(TMP / "chrome.json")
    assert "traceEvents" in (TMP / "chrome.json").read_text()
    shutil.copytree(TRACE, TMP / "a<b>")
    assert "<b>" not in ringlet.trace.info(TMP / "a<b>")._repr_html_().replace("<b>", "", 0)


def failures() -> None:
    """Each exit status is a class, with where and what."""
    e = fails(ringlet.UsageError, lambda: ringlet.run(TRACE, topology=BOARD, network="flw"))
    assert (
        e.where == "--network"
        and "did you mean 'flow'" in e.what
        and e.status == 2
        and "--network=flw" in e.command
    )
    e = fails(ringlet.InputError, lambda: ringlet.run(TRACE, topology="ring:8@5,1us"))
    assert e.where == "ring:8@5,1us" and "expected a rate with a unit" in e.what
    e = fails(ringlet.StalledError, lambda: ringlet.run(TRACE, topology=BOARD, link_event="0us:acc3=0"))
    assert "which has failed" in e.what
    e = fails(
        ringlet.SystemFailure, lambda: ringlet.run(TRACE, topology=BOARD, report=TMP / "no/such/folder.html")
    )
    assert "folder.html" in str(e)
    (TMP / "empty.json").touch()
    assert "empty.json" in fails(ringlet.InputError, lambda: ringlet.topo(TMP / "empty.json")).where


def changed_inputs() -> None:
    """A result whose files have changed since is not told from the new ones."""
    copy = TMP / "copy"
    shutil.copytree(TRACE, copy)
    r = ringlet.run(copy, topology=BOARD)
    assert r.explain()
    os.utime(next(copy.iterdir()), (0, 0))
    assert (
        fails(ringlet.Error, r.explain).what == "has changed since; the result does not belong to it any more"
    )


def stat(pid: int) -> list[str]:
    """State, parent and further facts of a process (man 5 proc), [] if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def spent(pid: int) -> int:
    """Processor time of a process, in hundredths of a second; 0 if it has ended."""
    fields = stat(pid)
    return int(fields[11]) if fields and fields[0] != "Z" else 0


def busy_child(pid: int) -> int:
    """Waits until a child of the process has begun to work."""
    while True:
        for child in (int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()):
            if stat(child)[1:2] == [str(pid)] and spent(child) > 5:
                return child
        time.sleep(0.05)


def interrupt_when_busy() -> None:
    """Sends Ctrl-C to this process alone when its child has begun to work."""
    busy_child(os.getpid())
    os.kill(os.getpid(), signal.SIGINT)


def ctrl_c() -> None:
    """Ctrl-C stops the command, keeps what it found, and leaves nothing behind."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs behind it
    threading.Thread(target=interrupt_when_busy, daemon=True).start()
    e = fails(KeyboardInterrupt, lambda: ringlet.run(**LONG))
    assert isinstance(e, ringlet.Interrupted) and e.result.partial is True and e.result.time_s > 0
    fails(ChildProcessError, lambda: os.waitpid(-1, os.WNOHANG))


def killed() -> None:
    """If Python is killed, the command stops."""
    python = subprocess.Popen([sys.executable, "-c", f"import ringlet; ringlet.run(**{LONG})"])
    child = busy_child(python.pid)
    python.kill()
    python.wait()
    used = last = spent(child)
    while last and last < used + 200:
        time.sleep(0.02)
        last = spent(child)
    assert not last, "the command goes on"


def threads() -> None:
    """Runs in several threads are those of one."""
    scales = [1, 2, 4, 8]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        several = list(pool.map(lambda s: ringlet.run(TRACE, topology=BOARD, network_scale=s).text, scales))
    assert several == [ringlet.run(TRACE, topology=BOARD, network_scale=s).text for s in scales]


def warned() -> None:
    """Warnings and notes are kept; a warning also warns, at the line of the caller."""
    question = {
        "topology": "ring:8@50GB/s,1us",
        "collective": "all_to_all",
        "algorithm": "direct",
        "bytes": "1MiB",
    }
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        flow = ringlet.coll(**question)
        r = flow.vary(network="alpha-beta")
        ringlet.coll(**question, network="alpha-beta")
    assert flow.warnings == [] and len(said) == 2 and said[0].category is ringlet.RingletWarning
    assert r.warnings == [f"warning: {said[0].message}"] and "loads link 0" in r.warnings[0]
    assert {w.filename for w in said} == {__file__} and "loads link 0" in r._repr_html_()


@needs("pandas", "pyarrow")
def parquet() -> None:
    """Parquet holds the same rows."""
    import pandas

    r = ringlet.run(TRACE, topology=BOARD)
    r.to_parquet(TMP / "ranks.parquet")
    assert pandas.read_parquet(TMP / "ranks.parquet")["span_ps"].equals(r.ranks["span_ps"])


if __name__ == "__main__":
    run(
        [
            the_same_bytes,
            what_if,
            frames,
            frames_as_files,
            studies,
            layouts,
            plots,
            cells,
            failures,
            changed_inputs,
            ctrl_c,
            killed,
            threads,
            warned,
            parquet,
        ]
    )
