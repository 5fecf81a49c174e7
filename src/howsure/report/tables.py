"""Tables of results: Markdown, LaTeX, HTML, and a result as notebooks show it."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from howsure._result import Result, printable
from howsure.report.text.layout import WIDTH, cut, filled, joined, notes

_SPECIAL = {c: "\\" + c for c in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}
Rows = Sequence[Mapping[str, Any]]


def markdown(rows: Rows, level: float) -> str:
    """A table in Markdown; numbers are aligned to the right."""
    head, body, numeric = _cells(rows, level, "–", "[{}, {}]")
    lines = [head, ["---:" if right else "---" for right in numeric], *body]
    shown = (" | ".join(c.replace("|", "\\|").replace("\n", " ") for c in line) for line in lines)
    return "".join(f"| {line} |\n" for line in shown)


def latex(rows: Rows, level: float) -> str:
    """A table in LaTeX (booktabs); a first row called "all" is set apart from what follows."""
    head, body, numeric = _cells(rows, level, "--", "[{}--{}]")
    rows_of = ([c.replace(",", "{,}") if n else _escaped(c) for c, n in zip(b, numeric, strict=True)] for b in body)
    lines = [" & ".join(cells) + r" \\" for cells in rows_of]
    if len(lines) > 1 and body[0][0] == "all":
        lines.insert(1, r"\midrule")
    columns = "".join("r" if right else "l" for right in numeric)
    names = " & ".join("$n$" if name == "n" else _escaped(name) for name in head) + r" \\"
    first = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", names, r"\midrule"]
    return "\n".join([*first, *lines, r"\bottomrule", r"\end{tabular}", ""])


def verdict_and_table(result: Result) -> str:
    """Verdict, main table and notes for a terminal of 80 columns; words give way where there is too little room."""
    head, body, numeric = _cells(result.table(), result.level, "–", "[{}, {}]")
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    over = sum(widths) + 2 * len(widths) - WIDTH
    for i in sorted(range(len(head)), key=lambda i: -widths[i]):
        if over > 0 and not numeric[i]:
            less = min(over, max(widths[i] - 12, 0))
            widths[i], over = widths[i] - less, over - less
    lines = []
    for cells in [head, *body]:
        shown = (
            f"{c:>{w}}" if right else f"{cut(c, w):<{w}}" for c, w, right in zip(cells, widths, numeric, strict=True)
        )
        lines.append(("  " + "  ".join(shown)).rstrip())
    return joined([filled(printable(result.verdict)), "\n".join(lines), *notes(getattr(result, "notes", ()))])


def html(rows: Rows, level: float) -> str:
    """A table in HTML."""
    head, body, numeric = _cells(rows, level, "–", "[{}, {}]")
    kinds = ["" if right else ' class="text"' for right in numeric]

    def line(cells: list[str], tag: str) -> str:
        return "".join(f"<{tag}{kind}>{escape(c)}</{tag}>" for c, kind in zip(cells, kinds, strict=True))

    lines = "".join(f"<tr>{line(cells, 'td')}</tr>" for cells in body)
    return f"<table><tr>{line([name.replace('_', ' ') for name in head], 'th')}</tr>{lines}</table>"


def _cells(rows: Rows, level: float, none: str, limits: str) -> tuple[list[str], list[list[str]], list[bool]]:
    """Heads, cells as text, and which columns hold numbers."""
    head: list[str] = []
    numeric: list[bool] = []
    columns: list[list[str]] = []
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        estimates = any(hasattr(v, "low") for v in values)
        head.append(name)
        numeric.append(estimates or all(v is None or isinstance(v, (int, float)) for v in values))
        columns.append([_shown(getattr(v, "value", v), none) for v in values])
        if estimates:
            head.append(f"{100 * level:g}% interval")
            numeric.append(True)
            ends = (None if v is None or v.low is None else [_shown(x, none) for x in (v.low, v.high)] for v in values)
            columns.append([none if e is None else limits.format(*e) for e in ends])
    return head, [list(cells) for cells in zip(*columns, strict=True)], numeric


def _shown(value: Any, none: str) -> str:
    if value is None:
        return none
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if abs(value) >= 10:
            return f"{value:,.{1 if abs(value) >= 100 else 2}f}"
        return f"{value:.4f}" if value == 0 or abs(value) >= 0.00005 else f"{value:.1e}"
    return str(value)


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(ch, ch) for ch in text if ch.isprintable())


def snippet(result: Result) -> str:
    """Verdict, headline numbers and the picture; the main table where there is no picture."""
    said = f"<p><b>{escape(result.verdict)}</b></p>"
    row = "<tr><th style='text-align:left'>{}</th><td>{}</td></tr>".format
    cells = "".join(row(escape(k), escape(v)) for k, v in result.headline().items())
    said += f"<table>{cells}</table>" if cells else ""
    if type(result).figure is Result.figure and not hasattr(result, "layers"):
        return said + html(result.table(), result.level)
    return said + result.as_file(".svg").decode()
