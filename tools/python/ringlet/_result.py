# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as objects: figures, frames, texts, pages and plots."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from . import _page

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

PS = 1e-12


def needs(package: str, what: str) -> Any:
    """Imports an optional package when it is first needed."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as e:
        raise ImportError(
            f"{what} needs the package {package.partition('.')[0]}, which is not installed"
        ) from e


class Result:
    """What a command found.

    json      the result as the command writes it (times in picoseconds; every name has its unit)
    text      the same as text, to the byte
    command   a line for the shell that repeats it
    warnings  warnings and notes of the command
    frame()   any list of it as a pandas frame; also as an attribute: result.ranks, result.collectives

    Other members of the JSON are attributes, too: result.time_ps. What the command did not write the first
    time, such as explain() and report(), runs it again. That is refused if its files have changed since.
    """

    rows = "results"  # the list that matters most
    x: str | None = None  # what plot() shows
    y: str | None = None
    by: str | None = None

    def __init__(self, text: str, command: str, warnings: list[str], again: Callable[..., Result]):
        self.text = text
        self.command = command
        self.warnings = warnings
        self._again = again
        self._json: Any = None
        self._frames: dict[str, Any] = {}

    @property
    def json(self) -> dict[str, Any]:
        if self._json is None:
            self._json = _parse(self.text)
        found: dict[str, Any] = self._json
        return found

    @property
    def is_json(self) -> bool:
        """False if the command prints text only."""
        return self.text.lstrip().startswith("{")

    @property
    def summary(self) -> dict[str, Any]:
        """The single figures, by name."""
        return {
            k: v for k, v in self.json.items() if not isinstance(v, (list, dict)) and k != "schema_version"
        }

    @property
    def lists(self) -> list[str]:
        """Names of the lists that frame() takes."""
        return [k for k, v in self.json.items() if isinstance(v, list) and v and isinstance(v[0], dict)]

    def frame(self, name: str | None = None) -> pandas.DataFrame:
        """A list of the result as a pandas frame; without a name, the one that matters most."""
        name = name or self._main()
        if name not in self._frames:
            rows = self._rows(name)
            self._frames[name] = needs("pandas", "a frame").DataFrame(rows)
        return self._frames[name]

    def _rows(self, name: str) -> list[dict[str, Any]]:
        rows = self.json.get(name)
        if not isinstance(rows, list):
            raise KeyError(f"the result has no list '{name}'; it has {', '.join(self.lists) or 'none'}")
        return rows

    def _main(self) -> str:
        return self.rows if self.rows in self.json or not self.lists else self.lists[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "text" not in vars(self) or not self.is_json:
            raise AttributeError(name)
        if name not in self.json:
            raise AttributeError(f"the result has no '{name}'; it has {', '.join(self.json)}")
        value = self.json[name]
        return (
            self.frame(name)
            if isinstance(value, list) and (name in self.lists or name == self.rows)
            else value
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self.json if self.is_json else [])]

    def vary(self, **changes: Any) -> Result:
        """The same command with other keywords: run.vary(network_scale=2). None takes a keyword away."""
        return self._again(**changes)

    def explain(self) -> str:
        """The tables and sentences that the command prints for people."""
        return self._again(_form="table").text

    def report(self, path: str | Path | None = None) -> _page.Page:
        """One HTML page that needs no network: shown in a notebook, or written to `path`."""
        return _page.Page(self._file("report", "page.html")).save_as(path)

    def save(self, path: str | Path) -> None:
        """Writes the text of the result, which `ringlet report` and others read."""
        Path(path).write_text(self.text, encoding="utf-8")

    def to_parquet(self, path: str | Path, name: str | None = None) -> None:
        """Writes a list of the result as a Parquet file."""
        needs("pyarrow", "Parquet")
        self.frame(name).to_parquet(path, engine="pyarrow", index=False)

    def _file(self, option: str, name: str) -> str:
        """The text of a file that the command writes when run again."""
        with tempfile.TemporaryDirectory(prefix="ringlet-") as folder:
            path = Path(folder, name)
            self._again(**{option: path})
            return path.read_text(encoding="utf-8")

    def plot(
        self, x: str | None = None, y: str | None = None, by: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draws column y over column x of the list that matters most, one line for each value of `by`."""
        from . import _plot

        x, y, by = self._columns(x, y, by)
        if x is None or y is None:
            raise TypeError(f"plot() needs x and y: {', '.join(self.frame().columns)}")
        return _plot.lines(self.frame(), x, y, by, ax)

    def _columns(
        self, x: str | None, y: str | None, by: str | None
    ) -> tuple[str | None, str | None, str | None]:
        return x or self.x, y or self.y, by or self.by

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.command}>"

    def _repr_html_(self) -> str:
        lists = self.lists if self.is_json else []
        body = _page.table(self._rows(self._main())) if lists else _page.block(self.text)
        return _page.cell(self.command, self.warnings, body)


def _parse(text: str) -> dict[str, Any]:
    """A document, or a document for each row."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    if isinstance(found, dict) and "point" not in found:
        return found
    return {"points": [json.loads(line) for line in text.splitlines() if line.strip()]}


class RunResult(Result):
    """A replayed or generated iteration."""

    rows = "ranks"

    @property
    def time_s(self) -> float:
        """Time of the whole run, in seconds."""
        return float(self.json["time_ps"] * PS)

    @property
    def iterations_s(self) -> list[float]:
        """Time of each iteration, in seconds."""
        return [t * PS for t in self.json["iteration_time_ps"]]

    @property
    def breakdown_s(self) -> dict[str, float]:
        """Where the time of the last rank to end goes, in seconds; the parts add up to the whole."""
        parts = {name: self.json.get(f"{name}_ps", 0) * PS for name in _page.STATES}
        return {name: t for name, t in parts.items() if t}

    @property
    def links(self) -> pandas.DataFrame:
        """Use of the links; those with equal figures are one row with their count."""
        return self._with("links", links=True).frame("links")

    def _with(self, name: str, **keywords: Any) -> Result:
        if name in self.json:
            return self
        if name not in self._frames:
            self._frames[name] = self._again(**keywords).frame(name)
        return self

    def explain(self) -> str:
        compared = "time_ps" not in self.json
        return self._again(_form="table", **({} if compared else {"explain": True})).text

    def timeline(self, path: str | Path | None = None) -> _page.Page | None:
        """What each rank does when, shown in a notebook. With a path: written as Chrome trace JSON instead,
        which opens in Perfetto."""
        if path is None:
            height = min(640, 190 + 36 * self.json["accelerators"])
            return _page.Page(self._file("report", "page.html"), only="timeline", height=height)
        self._again(timeline=path)
        return None

    def plot(self, ax: Axes | None = None) -> Axes:  # type: ignore[override]
        """Draws the time of each rank by state."""
        from . import _plot

        return _plot.states(self.frame("ranks"), ax)

    def __repr__(self) -> str:
        stopped = ", stopped before the end" if self.json.get("partial") else ""
        time = _page.seconds(self.time_s) + stopped if "time_ps" in self.json else "a comparison"
        return f"<RunResult {time}: {self.command}>"

    def _repr_html_(self) -> str:
        if "time_ps" not in self.json:
            return super()._repr_html_()
        return _page.cell(
            self.command, self.warnings, _page.breakdown(self.time_s, self.breakdown_s, self.json)
        )


class CollResult(Result):
    """Collectives by size and algorithm."""

    x, y, by = "bytes", "busbw_GBps", "algorithm"

    @property
    def links(self) -> pandas.DataFrame:
        """Use of the links in each row."""
        if "links" not in self._frames:
            given = self.json["results"]
            rows = given if all("links" in r for r in given) else self._again(links=True).json["results"]
            of = ("collective", "bytes", "algorithm")
            flat = [
                {**{k: r[k] for k in of}, **{"link_" + k if k in of else k: v for k, v in link.items()}}
                for r in rows
                for link in r["links"]
            ]
            self._frames["links"] = needs("pandas", "a frame").DataFrame(flat)
        return self._frames["links"]

    @property
    def fastest(self) -> pandas.DataFrame:
        """The fastest row of each collective and size."""
        rows = self.frame()
        return rows.loc[rows.groupby(["collective", "bytes"], sort=False)["time_ps"].idxmin()].reset_index(
            drop=True
        )


class PlanResult(Result):
    """Layouts of a training, the fastest first."""

    x, y = "layout", "tokens_per_second"

    @property
    def layouts(self) -> pandas.DataFrame:
        """The layouts, with the command that simulates each."""
        return self.frame("results")

    @property
    def proven(self) -> bool:
        """True if no layout of the space is faster."""
        return bool(self.json["certificate"]["proven"])

    def plot(
        self, x: str | None = None, y: str | None = None, by: str | None = None, ax: Axes | None = None
    ) -> Axes:
        from . import _plot

        return _plot.bars(self.frame(), x or self.x or "", y or self.y or "", ax)


class SweepResult(Result):
    """Points of a study, kept in the database `db`."""

    rows = "points"
    y = "time_ps"
    db: str
    _kept: Any = None  # a database without a name lives as long as its result

    def _ask(self, verb: str, **keywords: Any) -> Result:
        import ringlet

        found: Result = getattr(ringlet.sweep, verb)(self.db, **keywords)
        return found

    def top(self, **keywords: Any) -> Result:
        """ringlet.sweep.top of this study."""
        return self._ask("top", **keywords)

    def pareto(self, **keywords: Any) -> Result:
        """ringlet.sweep.pareto of this study."""
        return self._ask("pareto", **keywords)

    def sensitivity(self, **keywords: Any) -> Result:
        """ringlet.sweep.sensitivity of this study."""
        return self._ask("sensitivity", **keywords)

    def explain(self) -> str:
        return self._ask("query", _form="table").text

    def report(self, path: str | Path | None = None) -> _page.Page:
        import ringlet

        return _page.Page(ringlet.report(self.db).text).save_as(path)

    def _columns(
        self, x: str | None, y: str | None, by: str | None
    ) -> tuple[str | None, str | None, str | None]:
        """The first axis of numbers that varies, and the first one of words; without such, the first ones."""
        from . import _plot

        points = self.frame()
        axes = list(points.columns)[2 : list(points.columns).index("replica")]
        varying = [a for a in axes if points[a].astype(str).nunique() > 1 and a not in (x, by)]
        words = [a for a in varying if None in map(_plot.number, points[a])]
        if not x:
            x = next((a for a in varying if a not in words), next(iter(varying), None))
            varying = [a for a in varying if a != x]
        return x, y or self.y, by or next((a for a in words if a != x), next(iter(varying), None))


OF_COMMAND: dict[tuple[str, ...], type[Result]] = {
    ("run",): RunResult,
    ("coll",): CollResult,
    ("plan",): PlanResult,
    ("sweep",): SweepResult,
    ("sweep", "query"): SweepResult,
}
