"""A result as notebooks show it."""

from __future__ import annotations

from html import escape

from howsure._result import Result


def snippet(result: Result) -> str:
    """Verdict, headline numbers and the picture; the main table where there is no picture."""
    from howsure.report.tables import html

    said = f"<p><b>{escape(result.verdict)}</b></p>"
    numbers = result.headline()
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in numbers.items()
    )
    said += f"<table>{cells}</table>" if numbers else ""
    if type(result).figure is Result.figure:
        return said + html(result.table(), result.level)
    return said + result.as_file(".svg").decode()
