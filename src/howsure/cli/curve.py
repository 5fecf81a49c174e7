"""The calibration curve, drawn with characters."""

from __future__ import annotations

from howsure.calibration.result import Calibration

COLUMNS, ROWS = 61, 17


def curve(c: Calibration) -> str:
    """Observed frequency (up) against probability (right): bins ●, their intervals │, calibration ·."""
    grid = [[" "] * COLUMNS for _ in range(ROWS)]

    def row(p: float) -> int:
        return round((1.0 - p) * (ROWS - 1))

    for x in range(COLUMNS):
        grid[row(x / (COLUMNS - 1))][x] = "·"
    b = c.bins
    for i in range(len(b)):
        x = round(float(b.mean_prob[i]) * (COLUMNS - 1))
        for y in range(row(float(b.high[i])), row(float(b.low[i])) + 1):
            if grid[y][x] != "●":
                grid[y][x] = "│"
        grid[row(float(b.mean_true[i]))][x] = "●"
    lines = ["observed   ● bin  │ its interval  · perfectly calibrated"]
    for y, cells in enumerate(grid):
        label = {0: "1.0", (ROWS - 1) // 2: "0.5", ROWS - 1: "0.0"}.get(y, "")
        lines.append(f"  {label:>4} ┤{''.join(cells)}".rstrip())
    lines.append("       └" + "─" * COLUMNS)
    lines.append(f"        0.0{'0.5':^{COLUMNS - 6}}1.0  q")
    return "\n".join(lines)
