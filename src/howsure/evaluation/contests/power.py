"""Would a larger test set tell? The power of a two-sided test for a difference of the size observed."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

from howsure._result import Record
from howsure.calibration.estimation.intervals import normal_quantile


@dataclass(frozen=True, slots=True)
class Power(Record):
    """Power of a test on n rows, the difference and its spread being as observed.

    With σ0 and σ1 the standard deviations of a row's difference if the systems are alike and if they are not, both with
    the design effect of clusters, power(n) = Φ((|δ|√n - z σ0) / σ1).
    """

    SHOWN = "effect design_effect alpha rows_for_80_percent rows_for_90_percent"

    effect: float
    null_spread: float
    spread: float
    alpha: float = 0.05
    design_effect: float | None = None  # of clusters, where it is known apart

    def __repr__(self) -> str:
        needed = self.rows_needed()
        return f"Power(δ = {self.effect:+.4g}: 80% with {'no number of' if needed is None else f'{needed:,}'} rows)"

    def power(self, n: int) -> float:
        """The chance that n rows give a p-value below α."""
        from scipy.special import ndtr

        if self.effect == 0.0 or self.null_spread == 0.0:
            return self.alpha if self.effect == 0.0 else 1.0
        z = normal_quantile(1.0 - self.alpha / 2.0)
        return float(ndtr((abs(self.effect) * sqrt(n) - z * self.null_spread) / max(self.spread, 1e-300)))

    def rows_needed(self, power: float = 0.8) -> int | None:
        """The smallest number of rows with that power; None if there is no difference to find."""
        if self.effect == 0.0:
            return None
        z = normal_quantile(1.0 - self.alpha / 2.0) * self.null_spread + normal_quantile(power) * self.spread
        return max(1, ceil((z / self.effect) ** 2))

    @property
    def rows_for_80_percent(self) -> int | None:
        """Rows needed for power 80%."""
        return self.rows_needed(0.8)

    @property
    def rows_for_90_percent(self) -> int | None:
        """Rows needed for power 90%."""
        return self.rows_needed(0.9)


def mcnemar_power(effect: float, discordant: float, design_effect: float, alpha: float) -> Power:
    """Of McNemar's test: `discordant` is the share of rows that one system has right and the other wrong."""
    null = sqrt(discordant * design_effect)
    return Power(effect, null, sqrt(max(discordant - effect**2, 0.0) * design_effect), alpha, design_effect)
