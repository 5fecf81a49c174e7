"""The diagram of docs/architecture.md, drawn as SVG.

python docs/site/diagram.py        writes docs/images/architecture.svg; a test holds it to this file
"""

from __future__ import annotations

from html import escape
from pathlib import Path

PATH = Path(__file__).parents[1] / "images" / "architecture.svg"
WIDTH, HEIGHT = 980, 470
BOX, STEP, LEFT = (134, 58), 158, 24
ROWS = (92, 208, 306)
INPUT, ROOM, OUTPUT, BAND = "#fff7e6", "#e8f1fb", "#e9f7ee", "#f3f4f6"

# (column, row): name, what it is, colour
BOXES = {
    (0, 0): ("text", "folders, tables", INPUT),
    (1, 0): ("corpora", "a reader a format", ROOM),
    (2, 0): ("english", "tags, parses", ROOM),
    (3, 0): ("models", "fit, save, load", ROOM),
    (4, 0): ("posteriors", "exact answers", ROOM),
    (5, 0): ("events", "counts over time", ROOM),
    (0, 1): ("predictions", "any table, any size", INPUT),
    (1, 1): ("engines", "where work runs", ROOM),
    (2, 1): ("sketch", "all that is needed", ROOM),
    (3, 1): ("calibration", "errors, intervals", ROOM),
    (5, 1): ("plots, report", "pictures and pages", OUTPUT),
    (0, 2): ("labels", "gold and systems", INPUT),
    (3, 2): ("evaluation", "scores, agreement", ROOM),
}
ARROWS = [
    ((0, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (3, 0)), ((3, 0), (4, 0)), ((4, 0), (5, 0)),
    ((0, 1), (1, 1)), ((1, 1), (2, 1)), ((2, 1), (3, 1)), ((3, 1), (5, 1)), ((0, 2), (3, 2)),
]  # fmt: skip


def corner(column: int, row: int) -> tuple[int, int]:
    """The upper left corner of a box."""
    return LEFT + column * STEP, ROWS[row]


def box(x: int, y: int, w: int, h: int, name: str, said: str, colour: str) -> str:
    """A box with a name and a line below it."""
    middle = x + w / 2
    return (
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{colour}" stroke="#9aa5b1"/>'
        f'<text x="{middle:g}" y="{y + h / 2 - 4:g}" class="name">{escape(name)}</text>'
        f'<text x="{middle:g}" y="{y + h / 2 + 14:g}" class="said">{escape(said)}</text>'
    )


def line(*points: tuple[float, float]) -> str:
    """A line with an arrow at its end."""
    path = " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path d="M{path}" class="arrow" marker-end="url(#tip)"/>'


def diagram() -> str:
    """The whole picture."""
    w, h = BOX
    parts = [
        box(LEFT, 18, WIDTH - 2 * LEFT, 46, "cli, verbs", "howsure check is howsure.check: a verb composes the rooms and returns one result", BAND),
        box(LEFT, HEIGHT - 70, WIDTH - 2 * LEFT, 46, "kernels", "pure array functions, NumPy or compiled by Numba: every room above uses them", BAND),
    ]  # fmt: skip
    parts += [box(*corner(*at), w, h, *given) for at, given in BOXES.items()]
    for start, end in ARROWS:
        (x1, y1), (x2, y2) = corner(*start), corner(*end)
        parts.append(line((x1 + w, y1 + h / 2), (x2 - 2, y2 + h / 2)))
    (px, py), (sx, sy), (ex, ey) = corner(4, 0), corner(2, 1), corner(5, 0)
    (rx, ry), (vx, vy) = corner(5, 1), corner(3, 2)
    between = (py + h + sy) / 2 + 4
    parts.append(line((px + w / 2, py + h), (px + w / 2, between), (sx + w / 2, between), (sx + w / 2, sy - 2)))
    parts.append(
        f'<text x="{(px + sx + w) / 2:g}" y="{between - 7:g}" class="said">questions → (y_true, y_prob)</text>'
    )
    parts.append(line((ex + w / 2, ey + h), (ex + w / 2, ry - 2)))
    parts.append(line((vx + w, vy + h / 2), (rx + w / 2, vy + h / 2), (rx + w / 2, ry + h + 2)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-label="How data flows through the rooms of howsure">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#52606d"/></marker></defs>'
        "<style>text{font-family:system-ui,sans-serif;text-anchor:middle;fill:#1f2933}.name{font-size:15px;font-weight:600}"
        ".said{font-size:12px;fill:#52606d}.arrow{fill:none;stroke:#52606d;stroke-width:1.5}</style>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>' + "\n".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    PATH.write_text(diagram(), encoding="utf-8")
