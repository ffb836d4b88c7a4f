# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures with matplotlib, which is loaded when the first one is drawn."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, Any

from ._page import STATES
from ._result import PS, needs

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

MOST_RANKS = 64
COLOURS = 10  # of matplotlib's cycle; further lines are dashed, then dotted
FACTORS = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "bps": 1 / 8,
    "Kbps": 1e3 / 8,
    "Mbps": 1e6 / 8,
    "Gbps": 1e9 / 8,
    "Tbps": 1e12 / 8,
    "KB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "TB/s": 1e12,
    "ps": 1e-12,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
}


def _axes(ax: Axes | None, height: float = 4) -> Axes:
    if ax is not None:
        return ax
    return needs("matplotlib.pyplot", "a plot").subplots(figsize=(7, height), layout="constrained")[1]


def number(text: Any) -> float | None:
    """A number, or a text with a unit, as one."""
    if isinstance(text, (int, float)):
        return float(text)
    found = re.fullmatch(r"(?:\w[\w.-]*=)?([0-9.]+(?:e[+-]?\d+)?) ?([A-Za-z/]*)", str(text))
    if not found or (found[2] and found[2] not in FACTORS):
        return None
    return float(found[1]) * FACTORS.get(found[2], 1)


def _scale(name: str) -> tuple[float, str]:
    """Factor and label of a column: picoseconds are drawn as milliseconds."""
    if name.endswith("_ps"):
        return PS * 1e3, f"{name[:-3]} (ms)".replace("_", " ")
    if name.endswith("_GBps"):
        return 1, f"{name[:-5]} (GB/s)".replace("_", " ")
    return 1, name.replace("_", " ")


def lines(frame: pandas.DataFrame, x: str, y: str, by: str | None, ax: Axes | None) -> Axes:
    """y over x. x is logarithmic if it spans 16 times or more, as doubled sizes do; y from two decades on.

    Where a line has several rows at one x, it goes through their median, and a dot stands for each row.
    """
    ax = _axes(ax)
    factor, label = _scale(y)
    rows = frame[frame[y].notna()]
    places = {v: number(v) for v in rows[x].unique()}
    numeric = None not in places.values()
    several = False
    for i, (name, part) in enumerate(rows.groupby(by, sort=False) if by else [(None, rows)]):
        at: dict[Any, list[float]] = {}
        for place, value in zip(part[x], part[y] * factor):
            at.setdefault(places[place] if numeric else str(place), []).append(value)
        xs = sorted(at) if numeric else list(at)
        line = ax.plot(
            xs,
            [median(at[p]) for p in xs],
            marker="o",
            markersize=3.5,
            linewidth=1.2,
            linestyle=("-", "--", ":")[i // COLOURS % 3],
            label=name,
        )[0]
        if any(len(v) > 1 for v in at.values()):
            several = True
            dots = [(p, v) for p in xs for v in at[p]]
            ax.scatter(*zip(*dots), s=5, alpha=0.4, linewidths=0, color=line.get_color())
    _logarithmic(ax, "x", [p for p in places.values() if p is not None] if numeric else [], 16)
    _logarithmic(ax, "y", list(rows[y] * factor), 100)
    ax.set(xlabel=_scale(x)[1], ylabel=f"{label}, median" if several else label)
    if by:
        _legend(ax, by)
    ax.grid(alpha=0.25)
    return ax


def _logarithmic(ax: Axes, axis: str, values: list[float], ratio: float) -> None:
    if values and min(values) > 0 and max(values) >= ratio * min(values):
        getattr(ax, f"set_{axis}scale")("log")


def _legend(ax: Axes, title: str | None) -> None:
    """Beside the axes, where it hides nothing."""
    ax.legend(title=title, loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small", frameon=False)


def bars(frame: pandas.DataFrame, x: str, y: str, ax: Axes | None) -> Axes:
    """A bar for each row, the first on top, named by the words in which rows differ."""
    ax = _axes(ax, 1.2 + 0.32 * len(frame))
    factor, label = _scale(y)
    words = [str(v).split() for v in frame[x]]
    common = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    names = [" ".join(w for w in row if w not in common) for row in words]
    ax.barh(range(len(names)), frame[y] * factor, color=STATES["compute"][0])
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.set_title(" ".join(w for w in words[0] if w in common), fontsize="small", loc="right")
    ax.invert_yaxis()
    ax.set(xlabel=label)
    return ax


def states(ranks: pandas.DataFrame, ax: Axes | None) -> Axes:
    """A bar for each rank, of its states; of many ranks, evenly chosen ones."""
    step = -(-len(ranks) // MOST_RANKS)
    shown = ranks.iloc[::step]
    ax = _axes(ax, 1.4 + 0.16 * len(shown))
    names = [str(r) for r in shown["rank"]]
    left = shown["span_ps"] * 0
    for name, (colour, label) in STATES.items():
        part = shown.get(f"{name}_ps", left)
        if part.any():
            ax.barh(names, part * PS * 1e3, left=left * PS * 1e3, color=colour, label=label)
            left = left + part
    ax.invert_yaxis()
    ax.set(xlabel="time (ms)", ylabel="rank", title=f"every {step}th rank" if step > 1 else "")
    _legend(ax, None)
    return ax
