"""Numbers and tables for people, in plain text and in HTML."""

from __future__ import annotations

import datetime
import decimal
import html
import math
from collections.abc import Iterable, Sequence

_DIGITS = 4


def _cut(value: float, rounding: str) -> str:
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    number = decimal.Decimal(repr(value))
    place = decimal.Decimal(1).scaleb(number.adjusted() - _DIGITS + 1)
    return f"{float(number.quantize(place, rounding=rounding)):.{_DIGITS}g}"


def up(value: float) -> str:
    """Four digits, never below the value: for what is spent or promised."""
    return _cut(value, decimal.ROUND_CEILING)


def down(value: float) -> str:
    """Four digits, never above the value: for what may still be asked for."""
    return _cut(value, decimal.ROUND_FLOOR)


def near(value: float) -> str:
    return f"{value:.{_DIGITS}g}"


def moment(unix_seconds: int) -> str:
    if unix_seconds == 0:
        return "-"
    return datetime.datetime.fromtimestamp(unix_seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def text_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    pairs = list(pairs)
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs)


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(c)}</{tag}>' for c in cells) + "</tr>"

    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    head = f"<thead>{line('th', header)}</thead>"
    return f"<table>{top}{head}<tbody>{''.join(line('td', row) for row in rows)}</tbody></table>"


def html_pairs(pairs: Iterable[tuple[str, str]], caption: str = "") -> str:
    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in pairs
    )
    return f"<table>{top}<tbody>{body}</tbody></table>"


def html_gauge(parts: Sequence[tuple[str, float, str]], label: str) -> str:
    """A bar of shares (name, share in [0, 1], colour) with its words below."""
    bars = "".join(
        f'<span style="display:inline-block;height:100%;width:{100 * min(max(share, 0.0), 1.0):.2f}%;'
        f'background:{colour}"></span>'
        for _, share, colour in parts
    )
    return (
        f'<div role="img" aria-label="{html.escape(label)}" style="width:24em;height:1em;'
        f'border:1px solid #888;font-size:1em;line-height:0">{bars}</div><div>{html.escape(label)}</div>'
    )
