"""Which label is taken for which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record
from howsure.kernels.cells import Ints


@dataclass(frozen=True, slots=True)
class Confusion(Record):
    """Counts of (gold, predicted): a row each gold label, a column each predicted one."""

    SHOWN = "labels rows_gold_columns_predicted=counts"

    labels: tuple[str, ...]
    counts: Ints

    @staticmethod
    def of(labels: tuple[str, ...], gold: Ints, pred: Ints, count: Ints) -> Confusion:
        """Of pairs of label numbers, each with its count."""
        k = len(labels)
        counts = np.zeros((k, k), np.int64)
        np.add.at(counts, (gold, pred), count)
        counts.flags.writeable = False
        return Confusion(labels, counts)

    def __repr__(self) -> str:
        right = int(np.trace(self.counts))
        return f"Confusion({len(self.labels)} labels, {right:,} of {int(self.counts.sum()):,} right)"

    def most_confused(self, most: int = 10) -> list[dict[str, Any]]:
        """The commonest mistakes: gold, predicted, rows, and the share of the gold label's rows."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        size = self.counts.sum(axis=1)
        found = [(int(i), *np.divmod(i, len(self.labels))) for i in order if wrong.flat[i] > 0]
        return [
            {
                "gold": self.labels[g],
                "predicted": self.labels[p],
                "n": int(wrong[g, p]),
                "share": int(wrong[g, p]) / int(size[g]),
            }
            for _, g, p in found
        ]
