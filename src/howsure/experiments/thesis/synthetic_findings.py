"""What the synthetic study says of each claim of the thesis; every number and verdict is computed from the curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from howsure.experiments.result import Finding, Verdict, finding_on

if TYPE_CHECKING:
    from howsure.experiments.thesis.synthetic import Curve
    from howsure.kernels.cells import Floats, Ints

ROUNDING = 1e-12  # of a score, relative: sums in another order are not a rise
END = 5  # points at either end of the sample sizes that are averaged


def findings(doubled: list[Curve], stepped: list[Curve], grown: list[Curve]) -> tuple[Finding, ...]:
    """The claims in the thesis's order."""
    return (
        misprint(stepped),
        doubling(doubled, stepped),
        decreasing(doubled, stepped),
        unpredictable(stepped),
        vanishing(grown),
        converging(grown),
        needs_bins(stepped, grown),
    )


def misprint(stepped: list[Curve]) -> Finding:
    """t(p) above ½."""
    of = [c.population for c in _uncalibrated(stepped)]
    printed = [p.squared_error_as_printed for p in of]
    clipped = [p.squared_error for p in of]
    ratio = max(a / b for a, b in zip(printed, clipped, strict=True))
    return finding_on(
        "synthetic/misprint",
        _verdict(ratio < 1.01),
        f"A misprint: min(0, p + k) is 0 for every p above ½, which would make θ² up to {max(printed):.2g}, up to {ratio:.0f} times "
        f"as large. With min(1, p + k), used here, θ² lies between {min(clipped):.2g} and {max(clipped):.2g}.",
        {"largest_ratio": ratio, "largest_printed": max(printed), "largest_clipped": max(clipped)},
        "min(1, p + k)",
    )


def doubling(doubled: list[Curve], stepped: list[Curve]) -> Finding:
    """Jensen's inequality, and where it ends."""
    rises = sum(int(_rose(c.score[:-1], c.score[1:]).sum()) for c in doubled)
    tried = sum(len(c.score) - 1 for c in doubled)
    multiples = multiple_rises = 0
    for c in stepped:
        for i, size in enumerate(c.x):
            times = np.flatnonzero((c.x % size == 0) & (c.x > size))
            multiples += len(times)
            multiple_rises += int(_rose(c.score[i], c.score[times]).sum())
    neighbours = sum(len(c.score) - 1 for c in stepped)
    neighbour_rises = sum(int(_rose(c.score[:-1], c.score[1:]).sum()) for c in stepped)
    return finding_on(
        "synthetic/doubling",
        _verdict(rises == 0),
        f"{rises} of {tried} doublings raised it, PERFECT and UNCALIB together. It is exact, for any n: a bin of 2β rows is "
        "a union of bins of β rows, also where the short last one is merged (each first row 2jβ, j < ⌊n/2β⌋, is the first row "
        "of a bin of β rows), and joining two bins lowers N S by n₁n₂/(n₁+n₂) (d₁ - d₂)². The same holds for any whole "
        f"multiple ({multiple_rises} of {multiples:,} raised it), but not for other steps: between neighbouring sizes in figures "
        f"4.8 and 4.9, {neighbour_rises} of {neighbours} raised it. It is a property of averages and says nothing of calibration.",
        {
            "doublings": tried,
            "rises": rises,
            "multiples": multiples,
            "multiple_rises": multiple_rises,
            "neighbours": neighbours,
            "neighbour_rises": neighbour_rises,
        },
        f"{rises} rises in {tried} doublings",
    )


def decreasing(doubled: list[Curve], stepped: list[Curve]) -> Finding:
    """PERFECT: the score against bin size is noise over β."""
    perfect = _perfect(doubled)
    many = [c.x <= np.sqrt(c.x[-1]) for c in perfect]  # where there are bins enough for an average
    slopes = [_slope(c.x[m], c.score[m]) for c, m in zip(perfect, many, strict=True)]
    ratio = np.concatenate([(c.score / c.expected)[m] for c, m in zip(perfect, many, strict=True)])
    line = _perfect(stepped)
    rank = [_rank_correlation(c.score) for c in line]
    rising = np.mean(np.concatenate([_rose(c.score[:-1], c.score[1:]) for c in line]))
    held = sum((c.ours[0].low or 0.0) <= 0.0 for c in perfect)
    return finding_on(
        "synthetic/decreasing",
        _verdict(max(slopes) < -0.9 and max(rank) < 0),
        f"As β^{np.mean(slopes):.3f} (slopes {min(slopes):.3f} to {max(slopes):.3f} up to β = {int(perfect[0].x[many[0]][-1]):,}): "
        f"the score is its noise E[q(1-q)]/β, of which it is {ratio.min():.3f} to {ratio.max():.3f} times the exact expectation. "
        f"Between neighbouring sizes of figure 4.8 it rises {rising:.0%} of the time, while the rank correlation with β is "
        f"{min(rank):.2f} to {max(rank):.2f}. The truth is 0 at every bin size, and the debiased estimate's interval holds 0 in "
        f"{held} of {len(perfect)}. That few large bins come nearer to 0 is no merit: they would see as little of a real error "
        "(figure 4.9).",
        {
            "mean_slope": float(np.mean(slopes)),
            "least_ratio": float(ratio.min()),
            "largest_ratio": float(ratio.max()),
            "rising_share": float(rising),
            "largest_rank_correlation": max(rank),
            "intervals_with_0": held,
        },
        f"as β^{np.mean(slopes):.2f}, rank correlation {max(rank):.2f} and below",
    )


def unpredictable(stepped: list[Curve]) -> Finding:
    """UNCALIB: a saw-tooth of the bin across ½, not chance."""
    off, perfect = _uncalibrated(stepped), _perfect(stepped)
    explained = [1 - np.sum((c.score - c.expected) ** 2) / np.sum((c.score - c.score.mean()) ** 2) for c in off]
    chance_off = [_relative_spread(c) for c in off]
    chance_perfect = [_relative_spread(c) for c in perfect]
    absolute, absolute_perfect = (float(np.mean([c.spread for c in group])) for group in (off, perfect))
    least = [float(c.expected.min() / c.population.squared_error) for c in off]
    worst = off[int(np.argmin(least))]
    size = int(worst.x[np.argmin(worst.expected)])
    return finding_on(
        "synthetic/unpredictable",
        _verdict(np.median(explained) < 0.5 or np.mean(chance_off) > np.mean(chance_perfect)),
        f"It is jagged but predictable: its expectation given q explains {min(explained):.1%} to {max(explained):.1%} of how it "
        "moves with the bin size. t(p) jumps from -k to +k at ½; the one bin across ½ averages the two away, losing up to "
        "4k² n₋n₊/(n₋+n₊) of N S with n₋ and n₊ rows on either side, and as β grows its edges sweep over ½. At worst "
        f"({worst.population}, β = {size:,}) the score is to be expected at {min(least):.0%} of θ². Chance plays a small part: with "
        f"labels drawn again, the score's standard deviation is on average {np.mean(chance_off):.1%} of its expectation, against "
        f"{np.mean(chance_perfect):.0%} for PERFECT, which is a sum of a few squares of noise. (In absolute terms it is larger: "
        f"{absolute:.1e} against {absolute_perfect:.1e}.)",
        {
            "least_explained": float(min(explained)),
            "median_explained": float(np.median(explained)),
            "largest_explained": float(max(explained)),
            "relative_spread": float(np.mean(chance_off)),
            "relative_spread_perfect": float(np.mean(chance_perfect)),
            "spread": absolute,
            "spread_perfect": absolute_perfect,
            "least_expected": min(least),
        },
        f"{min(explained):.0%} and more of it is expected",
    )


def vanishing(grown: list[Curve]) -> Finding:
    """PERFECT with bins of √n."""
    perfect = _perfect(grown)
    slopes = [_slope(c.x, c.score) for c in perfect]
    ratio = [float(np.mean(c.score / c.expected)) for c in perfect]
    last = max(perfect, key=lambda c: float(c.score[-1]))
    return finding_on(
        "synthetic/vanishing",
        _verdict(bool(abs(np.mean(slopes) + 0.5) < 0.15)),
        f"As n^{np.mean(slopes):.2f} (slopes {min(slopes):.2f} to {max(slopes):.2f}), because its noise is E[q(1-q)]/√n: the scores "
        f"are on average {min(ratio):.3f} to {max(ratio):.3f} times that. It is slow: at n = {int(last.x[-1]):,} a perfect "
        f"{last.population} still scores {last.score[-1]:.2g}, an RMS error of {np.sqrt(last.score[-1]):.3f}, and half that RMS error "
        "takes sixteen times the data. The bin size sets the rate, not the model: in bins of β rows it would stop at E[q(1-q)]/β "
        "however large n.",
        {"mean_slope": float(np.mean(slopes)), "least_ratio": min(ratio), "largest_ratio": max(ratio)},
        f"as n^{np.mean(slopes):.2f}",
    )


def converging(grown: list[Curve]) -> Finding:
    """UNCALIB with bins of √n: θ² plus the noise."""
    off, perfect = _uncalibrated(grown), _perfect(grown)
    above = np.concatenate([c.score - c.population.squared_error for c in off])
    noise = np.concatenate([c.population.noise / np.floor(np.sqrt(c.x)) for c in off])
    expected = np.concatenate([c.expected - c.population.squared_error for c in off])
    share, share_expected = (float(v @ noise / (noise @ noise)) for v in (above, expected))
    first = np.mean([np.mean(c.score[:END]) / c.population.squared_error for c in off]) - 1
    last = np.mean([np.mean(c.score[-END:]) / c.population.squared_error for c in off]) - 1
    scatter, scatter_perfect = (float(np.mean([_scatter(c) for c in group])) for group in (off, perfect))
    return finding_on(
        "synthetic/converging",
        _verdict(abs(share - 1) < 0.25 and scatter > scatter_perfect),
        f"It converges to θ², from above, at the same rate as PERFECT: the excess over θ² is {share:.2f} times E[t(1-t)]/√n "
        f"({share_expected:.2f} to be expected; the bin across ½ takes the rest), and falls from {first:.1%} of θ² at the smallest five sizes to {last:.1%} at the largest. It looks weak because one point "
        f"scatters by {scatter:.0%} of the whole fall from first to last size, against {scatter_perfect:.0%} for PERFECT.",
        {
            "excess_over_noise": share,
            "expected_excess_over_noise": share_expected,
            "first_excess": float(first),
            "last_excess": float(last),
            "scatter": scatter,
            "scatter_perfect": scatter_perfect,
        },
        f"to θ² at the same rate; {first:.1%} above it, then {last:.1%}",
    )


def needs_bins(stepped: list[Curve], grown: list[Curve]) -> Finding:
    """The debiased estimate: flat in n, and no bin size to choose."""
    off, perfect = _uncalibrated(grown), _perfect(grown)
    ratios = [np.array([o.value for o in c.ours]) / c.population.squared_error for c in off]
    first, last = (float(np.mean([r[part].mean() for r in ratios])) for part in (slice(END), slice(-END, None)))
    pooled = np.concatenate(ratios)
    error = float(np.std(pooled) / np.sqrt(len(pooled)))
    flat = abs(first - last) < 4 * float(np.std(pooled)) * np.sqrt(2 / (END * len(ratios)))
    values = np.concatenate([[o.value for o in c.ours] for c in perfect])
    score = np.concatenate([c.score for c in perfect])
    held = [_holds(c) for c in (*off, *perfect)]
    coverage, n_intervals = float(np.mean(np.concatenate(held))), sum(map(len, held))
    swing = [float(c.score.max() / c.score.min()) for c in _uncalibrated(stepped)]
    return finding_on(
        "synthetic/needs-bins",
        "extended" if flat and coverage > 0.9 and abs(pooled.mean() - 1) < 4 * error else "confirmed",
        f"The debiased estimate needs none, where the score of one UNCALIB data set changes by a factor of up to {max(swing):.1f} "
        f"with it. It is flat in n: over the sample sizes it averages {pooled.mean():.3f} ± {1.96 * error:.3f} of θ² "
        f"({first:.3f} at the smallest five, {last:.3f} at the largest), and {values.mean():.1e} for PERFECT, where the score "
        f"averages {score.mean():.1e} and the truth is 0. Its 95% intervals hold the truth in {coverage:.1%} of {n_intervals}.",
        {
            "mean_ratio": float(pooled.mean()),
            "standard_error": error,
            "first_ratio": first,
            "last_ratio": last,
            "mean_perfect": float(values.mean()),
            "mean_score_perfect": float(score.mean()),
            "coverage": coverage,
            "intervals": n_intervals,
            "largest_swing": max(swing),
        },
        f"none needed: {pooled.mean():.3f} ± {1.96 * error:.3f} of θ²",
    )


def _verdict(holds: bool | np.bool_) -> Verdict:
    return "confirmed" if holds else "corrected"


def _perfect(curves: list[Curve]) -> list[Curve]:
    return [c for c in curves if c.population.k == 0]


def _uncalibrated(curves: list[Curve]) -> list[Curve]:
    return [c for c in curves if c.population.k > 0]


def _rose(before: Floats, after: Floats) -> NDArray[np.bool_]:
    return np.asarray(after > before * (1 + ROUNDING))


def _slope(x: Ints, y: Floats) -> float:
    """Of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _rank_correlation(values: Floats) -> float:
    """Spearman's, with the order the values stand in."""
    return float(np.corrcoef(np.argsort(np.argsort(values)), np.arange(len(values)))[0, 1])


def _relative_spread(c: Curve) -> float:
    assert c.spread is not None
    return float(np.mean(c.spread / c.expected))


def _scatter(c: Curve) -> float:
    """RMS distance of a point from its expectation, as a share of the expectation's fall from first to last x."""
    away = float(np.sqrt(np.mean((c.score - c.expected) ** 2)))
    noise = c.population.noise / np.sqrt(c.x[[0, -1]])
    return away / float(noise[0] - noise[1])


def _holds(c: Curve) -> NDArray[np.bool_]:
    truth = c.population.squared_error
    return np.array([(o.low or 0.0) <= truth <= (1.0 if o.high is None else o.high) for o in c.ours])
