"""All experiments on one page of HTML: what `howsure reproduce` leaves to be opened in a browser."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from howsure.report.page import render

CODE = re.compile(r"`([^`]+)`")
STRESS = re.compile(r"(?<![\w*])\*([^*]+)\*(?![\w*])")


def reproduction_page(
    results: Sequence[Any],
    drawings: Mapping[str, bytes],
    *,
    title: str,
    legend: str,
    sources: str,
    tally: Mapping[Any, int],
    slips: Sequence[Any],
    beyond: Sequence[Any],
    left_out: Sequence[str] = (),
) -> bytes:
    """Results as `Reproduction`s; `drawings` are SVG files by name, shown as pictures, which run nothing."""
    pictures = {name: f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}" for name, svg in drawings.items()}
    return render(
        "reproduction.html",
        {},
        styles=("reproduction.css",),
        results=results,
        pictures=pictures,
        title=title,
        legend=inline(legend),
        sources=inline(sources),
        tally=tally,
        slips=slips,
        beyond=beyond,
        left_out=left_out,
        inline=inline,
        cell=_cell,
        words=_words,
    )


def inline(said: str) -> Markup:
    """Text with `code` and *stress*; everything else is escaped."""
    return Markup(STRESS.sub(r"<em>\1</em>", CODE.sub(r"<code>\1</code>", str(escape(said)))))


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _words(value: object) -> bool:
    """Whether a cell is to be read rather than compared: it begins with a letter."""
    return isinstance(value, str) and value[:1].isalpha()
