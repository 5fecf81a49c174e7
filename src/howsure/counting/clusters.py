"""Whole groups (documents) drawn at random, all items of which are labelled.

With weights w and the strata's shares p_h, the share is Σ_h W_h p_h, and group d moves it by e_d = Σ_{i in d} w_i (y_i - p_h(i)) ÷ N.
Var = (1 - m/M) m/(m - 1) Σ (e_d - ē)² for m of M groups; its ratio to the variance of items drawn one by one is the design
effect, by which labels are worth less, and limits use Student's t with m - 1 degrees of freedom.

Where few drawn groups hold the rarer label, that ratio says little: without a single one it is 1, however alike the items of a group
are. The effect therefore leans towards that of groups whose items are all alike, Σb² ÷ Σb for sizes b, by ½ ÷ (½ + D), D the number of drawn
groups with the rarer label.
"""

from dataclasses import dataclass, replace

import numpy as np

from howsure.counting.regression import Groups
from howsure.counting.sample import Sample
from howsure.counting.tally import Tally
from howsure.errors import InputError
from howsure.kernels import special


@dataclass(frozen=True, slots=True)
class Clustered:
    """A sample whose labels are worth what whole groups tell, the groups drawn, and the quantile of the limits."""

    sample: Sample
    groups: Groups
    design_effect: float
    z: float


def clustered(sample: Sample, tally: Tally, confidence_level: float) -> Clustered:
    """The sample as drawn by groups; each drawn one must be labelled whole."""
    drawn, of, labelled = np.unique(tally.labels.group, return_inverse=True, return_counts=True)
    size = tally.group_sizes[np.searchsorted(tally.groups, drawn)]
    part = labelled < size
    if part.any():
        i = int(np.argmax(part))
        raise InputError(
            f"`groups=` says that whole groups were drawn, but {int(part.sum()):,} of {len(drawn):,} labelled groups have items "
            f"without a label (one has {labelled[i]:,} of {size[i]:,}). Label them, or leave out `groups=` if items "
            "were drawn one by one."
        )
    m, every = len(drawn), len(tally.groups)
    if m < 2:
        raise InputError("all labelled items are in one group; intervals need two drawn groups at least.")
    items = sample.items.sum(1)
    p = sample.k / sample.n
    e = np.bincount(of, sample.weight * (sample.y - p[sample.stratum])) / items.sum()
    variance = (1 - m / every) * m / (m - 1) * float(((e - e.mean()) ** 2).sum())
    tilde = (sample.k + 0.5) / (sample.n + 1)
    left = np.maximum(1 - sample.n / items, 0.0)
    alone = float(((items / items.sum()) ** 2 * left * tilde * (1 - tilde) / sample.n).sum())
    effect = max(variance / alone, 1.0) if alone > 0 else 1.0
    rarer = sample.y == (2 * sample.y.sum() < len(sample.y))
    doubt = 0.5 / (0.5 + len(np.unique(of[rarer])))
    effect = max(effect, (1 - doubt) * effect + doubt * float((size**2).sum() / size.sum()))
    worth = replace(sample, n=sample.n / effect, k=sample.k / effect)
    z = float(special.stdtrit(m - 1, (1 + confidence_level) / 2))
    return Clustered(worth, Groups(of, m, every), effect, z)
