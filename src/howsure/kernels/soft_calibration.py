"""A calibration error that has a gradient: bins are replaced by overlapping hats, so that it can be part of a loss.

φ_b are the hat functions of an even grid on [0, 1] (they sum to one), S_b = Σ φ_b(q_i)(y_i - q_i), N_b = Σ φ_b(q_i):

    CE² = Σ_b S_b² / (N_b n)
"""

from __future__ import annotations

import numpy as np

HATS = 15


def soft_calibration_error(y: np.ndarray, q: np.ndarray, hats: int = HATS) -> tuple[float, np.ndarray]:
    """CE² and its derivative by each q. Cost: two hats per item."""
    n = len(q)
    at = q * (hats - 1)
    left = np.minimum(at.astype(np.int64), hats - 2)
    share = at - left  # of the right hat
    gap = y - q
    mass = np.bincount(left, 1.0 - share, hats) + np.bincount(left + 1, share, hats)
    total = np.bincount(left, (1.0 - share) * gap, hats) + np.bincount(left + 1, share * gap, hats)
    mean = np.divide(total, mass, out=np.zeros(hats), where=mass > 0)  # S_b / N_b
    slope = hats - 1.0
    turned = slope * (mean[left + 1] - mean[left])  # Σ_b φ_b' S_b/N_b
    squared = slope * (mean[left + 1] ** 2 - mean[left] ** 2)
    held = (1.0 - share) * mean[left] + share * mean[left + 1]
    return float((mean * total).sum() / n), (2.0 * (turned * gap - held) - squared) / n
