# SPDX-License-Identifier: GPL-3.0-or-later
"""HTML for notebooks. Texts of results reach it escaped; colours suit light and dark themes."""

from __future__ import annotations

import base64
import hashlib
import html
from pathlib import Path
from typing import Any

# States of a rank, in the order of the command's account, with a colour and a word for people.
STATES = {
    "compute": ("#4c74a8", "compute"),
    "exposed_tp": ("#cc7a2b", "exposed TP communication"),
    "exposed_cp": ("#b5622b", "exposed CP communication"),
    "exposed_ep": ("#d69a55", "exposed EP communication"),
    "exposed_dp": ("#a8532f", "exposed DP communication"),
    "exposed_pp": ("#8a5fa0", "exposed PP communication"),
    "exposed_offload": ("#7d5d8f", "exposed offload"),
    "exposed_other": ("#cc7a2b", "exposed communication"),
    "bubble": ("#c2a24c", "pipeline bubble"),
    "start_skew": ("#98a2aa", "start skew"),
    "peer_wait": ("#6f8791", "waiting for other ranks"),
    "host": ("#8f8460", "host"),
    "idle": ("#b9bfc4", "idle"),
    "ended": ("#d5d9dc", "ended before the others"),
}
MOST_ROWS = 12


class Page:
    """A page of one HTML file, which sends no requests. Notebooks show it."""

    def __init__(self, text: str, only: str | None = None, height: int = 640):
        self.html = _only(text, only) if only else text
        self.height = height

    def save(self, path: str | Path) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def save_as(self, path: str | Path | None) -> Page:
        if path is not None:
            self.save(path)
        return self

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:1px solid #8886" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<ringlet page, {len(self.html)} bytes: save(path) writes it>"


def _only(text: str, section: str) -> str:
    """The page with one of its sections. Its security policy takes styles by their hash."""
    style = f"header, main > :not(#{section}) {{ display: none; }}"
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    text = text.replace("style-src ", f"style-src 'sha256-{digest}' ", 1)
    return text.replace("</head>", f"<style>{style}</style></head>", 1)


def seconds(t: float) -> str:
    """A time with a unit that fits."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if t * factor >= 1 or unit == "ns":
            return f"{t * factor:.4g} {unit}"
    return ""


def block(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def cell(command: str, said: list[str], body: str) -> str:
    """What a notebook shows of a result: warnings first."""
    notes = "".join(
        f'<div style="border-left:3px solid #c2570c;padding-left:8px;margin:4px 0">{html.escape(s)}</div>'
        for s in said
    )
    return (
        f'<div style="max-width:960px">{notes}{body}'
        f'<code style="opacity:.7;font-size:85%;overflow-wrap:anywhere">{html.escape(command)}</code></div>'
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The first rows, with the columns that are single figures."""
    names = [k for k, v in rows[0].items() if not isinstance(v, (list, dict))]
    head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
    body = "".join("<tr>" + "".join(_cell(r.get(n)) for n in names) + "</tr>" for r in rows[:MOST_ROWS])
    more = f"<div>{len(rows) - MOST_ROWS} more rows: frame()</div>" if len(rows) > MOST_ROWS else ""
    return f'<div style="overflow-x:auto"><table><tr>{head}</tr>{body}</table></div>{more}'


def _cell(value: Any) -> str:
    side = "right" if isinstance(value, (int, float)) else "left"
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return f'<td style="text-align:{side};white-space:nowrap">{html.escape(text)}</td>'


def breakdown(time_s: float, parts: dict[str, float], run: dict[str, Any]) -> str:
    """Where the time goes: a bar, and a line for each part."""
    whole = sum(parts.values()) or 1
    bar = "".join(
        f'<span style="width:{100 * t / whole:.3f}%;background:{STATES[k][0]}" title="{STATES[k][1]} '
        f'{100 * t / whole:.1f} %"></span>'
        for k, t in parts.items()
    )
    lines = "".join(
        f'<tr><td style="text-align:left"><span style="display:inline-block;width:.8em;height:.8em;'
        f'background:{STATES[k][0]}"></span> {STATES[k][1]}</td>'
        f'<td style="text-align:right;white-space:nowrap">{seconds(t)}</td>'
        f'<td style="text-align:right;white-space:nowrap">{100 * t / whole:.1f} %</td></tr>'
        for k, t in parts.items()
    )
    partial = "; stopped before the end" if run.get("partial") else ""
    where = html.escape(f"{run.get('accelerators', '?')} accelerators, {run.get('topology', '')}")
    return (
        f"<div><b>{seconds(time_s)}</b>{partial}, {where}; rank {run.get('rank_of_totals', 0)}, "
        f"the last to end:</div>"
        f'<div style="display:flex;height:14px;margin:6px 0" role="img" aria-label="time by state">'
        f"{bar}</div><table>{lines}</table>"
    )
