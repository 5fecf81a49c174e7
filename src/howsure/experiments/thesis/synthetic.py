"""The thesis's study of its score on pairs whose truth is known (§4.3, figures 4.7-4.11).

q ~ Beta(a, b) and y ~ Bernoulli(t(q)), with t the identity (PERFECT) or, for UNCALIB,

    t(p) = max(0, p - k) for p ≤ ½,  min(1, p + k) otherwise        (the thesis prints min(0, p + k))

The score is S(β) = N⁻¹ Σ n_b d_b² over bins of β rows, d_b the mean of y - q. Given the q, its expectation is

    E S(β) = N⁻¹ Σ n_b (mean of t(q) - q)² + N⁻¹ Σ (mean of t(q)(1 - t(q)))  ≈  θ² + E[t(1-t)]/β

what the bins can see of the miscalibration, plus noise. Beside it stands the debiased estimate of θ² of `howsure.check`.
"""

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.estimation.estimate import ladder
from howsure.calibration.estimation.intervals import Estimate, squared_error_interval
from howsure.calibration.paper import bin_starts
from howsure.calibration.sketch import SketchBuilder
from howsure.experiments.findings import Finding, finding_on, held, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Table, short
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints
from howsure.plots.panels import score_panels

CONFIDENCE_LEVEL = 0.95
ROUNDING = 1e-12  # of a score, relative: sums in another order are not a rise
END = 5  # points at either end of the sample sizes that are averaged


@dataclass(frozen=True, slots=True)
class Population:
    """q ~ Beta(a, b) with y ~ Bernoulli(t(q)); k = 0 is PERFECT."""

    a: float
    b: float
    k: float

    def __str__(self) -> str:
        return f"Beta({self.a:g}, {self.b:g})"

    @property
    def squared_error(self) -> float:
        """θ² = E[(q - t(q))²] = E[min(q, k, 1-q)²], in closed form."""
        k = self.k
        low, middle, high = self._moments(0.0, k), self._moments(k, 1 - k), self._moments(1 - k, 1.0)
        return low[2] + k**2 * middle[0] + high[0] - 2 * high[1] + high[2]

    @property
    def noise(self) -> float:
        """E[t(1 - t)]: what a score of bins of β rows gains is this over β."""
        k = self.k
        m, h = self._moments(k, 0.5), self._moments(0.5, 1 - k)
        lower = -m[2] + (1 + 2 * k) * m[1] - k * (1 + k) * m[0]  # (q-k)(1-q+k)
        upper = -h[2] + (1 - 2 * k) * h[1] + k * (1 - k) * h[0]  # (q+k)(1-q-k)
        return lower + upper

    @property
    def squared_error_as_printed(self) -> float:
        """θ² if t(p) were min(0, p + k) = 0 above ½, as the thesis prints."""
        low, middle = self._moments(0.0, self.k), self._moments(self.k, 0.5)
        return low[2] + self.k**2 * middle[0] + self._moments(0.5, 1.0)[2]

    def _moments(self, low: float, high: float) -> tuple[float, float, float]:
        """E[q^j; low < q ≤ high] for j = 0, 1, 2: the moment times a share of Beta(a + j, b)."""
        a, b = self.a, self.b
        whole = (1.0, a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1)))
        ends = (special.betainc(a + j, b, high) - special.betainc(a + j, b, low) for j in range(3))
        x, y, z = (float(m * share) for m, share in zip(whole, ends, strict=True))
        return x, y, z


@dataclass(frozen=True, slots=True)
class Curve:
    """The score of one population along x: bin sizes, or sample sizes."""

    population: Population
    x: Ints
    score: Floats
    expected: Floats
    ours: tuple[Estimate, ...]
    spread: Floats | None = None  # standard deviation of the score over resampled labels, given q

    def records(self) -> list[dict[str, float | str | None]]:
        """A record for each point, for the figures; six digits are more than a figure shows."""
        names = ("score", "expected", "ours", "low", "high", "truth")
        rows = zip(self.x, self.score, self.expected, self.ours, strict=True)
        truth = self.population.squared_error
        points = [(int(x), map(short, (s, e, o.value, o.low, o.high, truth))) for x, s, e, o in rows]
        return [{"law": str(self.population), "x": x, **dict(zip(names, v, strict=True))} for x, v in points]


def transformed(p: Floats, k: float) -> Floats:
    """The thesis's t(p), corrected: max(0, p - k) up to ½, min(1, p + k) above.

    >>> transformed(np.array([0.05, 0.5, 0.6, 0.95]), 0.1)
    array([0. , 0.4, 0.7, 1. ])
    """
    if k == 0:
        return p
    return np.where(p <= 0.5, np.maximum(0.0, p - k), np.minimum(1.0, p + k))


def scores(y: Floats, q: Floats, bin_sizes: Ints) -> Floats:
    """`paper.calibration_mse` at many bin sizes; q in ascending order, so that one running sum serves all."""
    return _binned(y - q, bin_sizes)[0]


def expected_scores(t: Floats, q: Floats, bin_sizes: Ints) -> Floats:
    """The expectation of `scores` given q, when y ~ Bernoulli(t)."""
    return _binned(t - q, bin_sizes)[0] + _binned(t * (1.0 - t), bin_sizes)[1]


def _binned(values: Floats, bin_sizes: Ints) -> tuple[Floats, Floats]:
    """For each bin size N⁻¹ Σ n_b m_b² and N⁻¹ Σ m_b, m_b the mean of the values in a bin."""
    running, total = np.concatenate([[0.0], np.cumsum(values)]), len(values)
    squares, means = np.empty(len(bin_sizes)), np.empty(len(bin_sizes))
    for i, size in enumerate(bin_sizes):
        edges = np.append(bin_starts(total, int(size)), total)
        sums, n = np.diff(running[edges]), np.diff(edges)
        squares[i], means[i] = np.sum(sums**2 / n) / total, np.sum(sums / n) / total
    return squares, means


def debiased(y: Floats, q: Floats) -> Estimate:
    """θ² as `howsure.check` estimates it."""
    builder = SketchBuilder()
    builder.add(y.astype(np.uint8), q)
    return squared_error_interval(ladder(builder.finish()), CONFIDENCE_LEVEL)


def settings(quick: bool) -> dict[str, Any]:
    """The thesis's sizes, or a fortieth of them; the laws of q are ours, as the thesis names none."""
    laws = [[0.3, 0.3], [0.5, 0.5], [1.0, 1.0], [2.0, 2.0], [0.05, 0.5]]
    full = {"n": 100_000, "doublings": 16, "step": 1_000, "samples": [10_000, 50_000, 1_000], "relabelled": 40}
    small = {"n": 2_500, "doublings": 11, "step": 25, "samples": [500, 2_500, 100], "relabelled": 10}
    return {"quick": quick, "k": 0.1, "laws": laws[:2] if quick else laws, **(small if quick else full)}


def run(settings: dict[str, Any], rng: np.random.Generator, progress: Work) -> dict[str, Any]:
    """The five figures, a table and what they say of the thesis's claims."""
    n, step, (first, last, by) = settings["n"], settings["step"], settings["samples"]
    powers = 2 ** np.arange(1, settings["doublings"] + 1)
    steps = np.arange(step, n // 2 + 1, step)
    sizes = np.arange(first, last + 1, by)
    doubled, stepped, grown = [], [], []
    for (a, b), stream in zip(settings["laws"], rng.spawn(len(settings["laws"])), strict=True):
        pair = (Population(a, b, 0.0), Population(a, b, settings["k"]))
        progress(f"bin sizes, {pair[0]}")
        for p, q, u, redraw in _shared(pair, n, stream):
            two = _by_bin_size(p, q, u, powers, steps, settings["relabelled"], redraw)
            doubled.append(two[0])
            stepped.append(two[1])
        progress(f"sample sizes, {pair[0]}")
        grown += _by_sample_size(pair, sizes, stream)
    progress("figures")
    return {
        "findings": findings(doubled, stepped, grown),
        "figures": _figures(doubled, stepped, grown, n),
        "tables": (_table(stepped, n),),
        "notes": notes_on("synthetic", k=settings["k"], rng=settings["rng"]),
    }


def _shared(
    pair: tuple[Population, Population], n: int, stream: np.random.Generator
) -> list[tuple[Population, Floats, Floats, np.random.Generator]]:
    """Both populations on the same q, sorted, and the same uniforms u, with y = (u < t(q)): they differ in t alone."""
    q, u = np.sort(stream.beta(pair[0].a, pair[0].b, n)), stream.random(n)
    return [(p, q, u, s) for p, s in zip(pair, stream.spawn(2), strict=True)]


def _by_bin_size(
    population: Population, q: Floats, u: Floats, powers: Ints, steps: Ints, times: int, stream: np.random.Generator
) -> tuple[Curve, Curve]:
    """One set of pairs at doubled and at stepped bin sizes, the latter with the spread over resampled labels."""
    t = transformed(q, population.k)
    y = (u < t).astype(np.float64)
    ours = debiased(y, q)
    redrawn = [scores((stream.random(len(q)) < t).astype(np.float64), q, steps) for _ in range(times)]
    around = np.sqrt(np.mean((np.array(redrawn) - expected_scores(t, q, steps)) ** 2, axis=0))

    def curve(x: Ints, spread: Floats | None) -> Curve:
        return Curve(population, x, scores(y, q, x), expected_scores(t, q, x), (ours,) * len(x), spread)

    return curve(powers, None), curve(steps, around)


def _by_sample_size(pair: tuple[Population, Population], sizes: Ints, stream: np.random.Generator) -> list[Curve]:
    """New pairs at every sample size, in bins of √n."""
    made: dict[Population, list[tuple[float, float, Estimate]]] = {p: [] for p in pair}
    for n in sizes.tolist():
        beta = np.array([isqrt(n)])
        for population, q, u, _ in _shared(pair, n, stream):
            t = transformed(q, population.k)
            y = (u < t).astype(np.float64)
            point = (float(scores(y, q, beta)[0]), float(expected_scores(t, q, beta)[0]), debiased(y, q))
            made[population].append(point)
    points = {p: tuple(zip(*m, strict=True)) for p, m in made.items()}
    return [Curve(p, sizes, np.array(score), np.array(expected), ours) for p, (score, expected, ours) in points.items()]


def _figures(doubled: list[Curve], stepped: list[Curve], grown: list[Curve], n: int) -> tuple[Figure, ...]:
    """Figures 4.7 to 4.11, a panel for each law of q."""
    plans = (
        ("4.7", "bin size", doubled, False, f"MSE calibration score against bin size, doubled, n = {n:,}"),
        ("4.8", "bin size", stepped, False, f"MSE calibration score against bin size, n = {n:,}"),
        ("4.9", "bin size", stepped, True, f"MSE calibration score against bin size, n = {n:,}"),
        ("4.10", "sample size", grown, False, "MSE calibration score against sample size, bins of √n rows"),
        ("4.11", "sample size", grown, True, "MSE calibration score against sample size, bins of √n rows"),
    )
    made = []
    for name, x_title, curves, uncalibrated, caption in plans:
        chosen = [c for c in curves if (c.population.k > 0) == uncalibrated]
        of = f"UNCALIB, k = {chosen[0].population.k:g}" if uncalibrated else "PERFECT"
        records, title = [r for c in chosen for r in c.records()], f"{caption}: {of}"
        scales = {"log_scales": name == "4.7", "separate": x_title == "sample size"}
        made.append(Figure(name, f"{title}.", score_panels(records, title=title, x_title=x_title, **scales)))
    return tuple(made)


def _table(stepped: list[Curve], n: int) -> Table:
    rows = []
    for c in stepped:
        of, scores = c.population, map(float, (c.score[0], c.score.min(), c.score.max()))
        truth = str(of), "UNCALIB" if of.k else "PERFECT", of.squared_error
        rows.append((*truth, shown(c.ours[0], 5), *scores, of.noise))
    small = int(stepped[0].x[0])
    columns = ("q", "truth", "θ²", "debiased [95%]", f"score, β = {small:,}", "least score", "largest", "E[t(1-t)]")
    return Table("summary", f"The populations at n = {n:,}", columns, tuple(rows))


def findings(doubled: list[Curve], stepped: list[Curve], grown: list[Curve]) -> tuple[Finding, ...]:
    """The claims in the thesis's order."""
    by_size = misprint(stepped), doubling(doubled, stepped), decreasing(doubled, stepped), unpredictable(stepped)
    return *by_size, vanishing(grown), converging(grown), needs_bins(stepped, grown)


def misprint(stepped: list[Curve]) -> Finding:
    """t(p) above ½."""
    of = [c.population for c in _uncalibrated(stepped)]
    printed, clipped = (np.array([getattr(p, n) for p in of]) for n in ("squared_error_as_printed", "squared_error"))
    ratio = float(np.max(printed / clipped))
    verdict = held(ratio < 1.01, "corrected")
    return finding_on("synthetic/misprint", verdict, printed=printed, ratio=ratio, clipped=clipped)


def doubling(doubled: list[Curve], stepped: list[Curve]) -> Finding:
    """Jensen's inequality, and where it ends."""
    rises = _rises(doubled)
    counts: dict[str, Any] = {"rises": int(rises.sum()), "tried": len(rises), "multiple_rises": 0, "multiples": 0}
    for c in stepped:
        for i, size in enumerate(c.x):
            times = np.flatnonzero((c.x % size == 0) & (c.x > size))
            counts["multiples"] += len(times)
            counts["multiple_rises"] += int(_rose(c.score[i], c.score[times]).sum())
    neighbours = _rises(stepped)
    counts |= {"neighbour_rises": int(neighbours.sum()), "neighbours": len(neighbours)}
    return finding_on("synthetic/doubling", held(not rises.any(), "corrected"), counts)


def decreasing(doubled: list[Curve], stepped: list[Curve]) -> Finding:
    """PERFECT: the score against bin size is noise over β."""
    perfect = _perfect(doubled)
    many = [c.x <= np.sqrt(c.x[-1]) for c in perfect]  # where there are bins enough for an average
    slopes = np.array([_slope(c.x[m], c.score[m]) for c, m in zip(perfect, many, strict=True)])
    ratio = np.concatenate([(c.score / c.expected)[m] for c, m in zip(perfect, many, strict=True)])
    line = _perfect(stepped)
    # Spearman's correlation with the order that the scores stand in.
    rank = np.array([np.corrcoef(np.argsort(np.argsort(c.score)), np.arange(len(c.x)))[0, 1] for c in line])
    rising = np.mean(_rises(line))
    verdict, last = held(slopes.max() < -0.9 and rank.max() < 0, "corrected"), int(perfect[0].x[many[0]][-1])
    numbers: dict[str, Any] = {"slopes": slopes, "ratio": ratio, "rank": rank, "rising": rising}
    numbers |= {"held": sum((c.ours[0].low or 0.0) <= 0.0 for c in perfect), "n": len(perfect), "last": last}
    return finding_on("synthetic/decreasing", verdict, numbers)


def unpredictable(stepped: list[Curve]) -> Finding:
    """UNCALIB: a saw-tooth of the bin across ½, not chance."""
    off, perfect = _uncalibrated(stepped), _perfect(stepped)
    explained = 1 - np.array([np.mean((c.score - c.expected) ** 2) / np.var(c.score) for c in off])
    shares = ([c.spread / c.expected for c in group if c.spread is not None] for group in (off, perfect))
    chance_off, chance_perfect = (np.array([np.mean(s) for s in share]) for share in shares)
    absolute, absolute_perfect = (float(np.mean([c.spread for c in group])) for group in (off, perfect))
    least = np.array([c.expected.min() / c.population.squared_error for c in off])
    median, worst = float(np.median(explained)), off[int(np.argmin(least))]
    size = int(worst.x[np.argmin(worst.expected)])
    verdict = held(median < 0.5 or chance_off.mean() > chance_perfect.mean(), "corrected")
    numbers = {"explained": explained, "median": median, "least": least, "worst": worst, "size": size}
    numbers |= {"chance_off": chance_off, "chance_perfect": chance_perfect}
    numbers |= {"absolute": absolute, "absolute_perfect": absolute_perfect}
    return finding_on("synthetic/unpredictable", verdict, numbers)


def vanishing(grown: list[Curve]) -> Finding:
    """PERFECT with bins of √n."""
    perfect = _perfect(grown)
    slopes = np.array([_slope(c.x, c.score) for c in perfect])
    ratio = np.array([np.mean(c.score / c.expected) for c in perfect])
    last = max(perfect, key=lambda c: float(c.score[-1]))
    verdict, score = held(abs(slopes.mean() + 0.5) < 0.15, "corrected"), last.score[-1]
    numbers = {"slopes": slopes, "ratio": ratio, "population": last.population, "n": int(last.x[-1])}
    return finding_on("synthetic/vanishing", verdict, numbers, score=score, rms=np.sqrt(score))


def converging(grown: list[Curve]) -> Finding:
    """UNCALIB with bins of √n: θ² plus the noise."""
    off, perfect = _uncalibrated(grown), _perfect(grown)
    above = np.concatenate([c.score - c.population.squared_error for c in off])
    noise = np.concatenate([c.population.noise / np.floor(np.sqrt(c.x)) for c in off])
    expected = np.concatenate([c.expected - c.population.squared_error for c in off])
    share, share_expected = (float(v @ noise / (noise @ noise)) for v in (above, expected))
    ends = slice(END), slice(-END, None)
    first, last = (np.mean([c.score[part].mean() / c.population.squared_error for c in off]) - 1 for part in ends)
    scatter, scatter_perfect = (float(np.mean([_scatter(c) for c in group])) for group in (off, perfect))
    verdict = held(abs(share - 1) < 0.25 and scatter > scatter_perfect, "corrected")
    numbers = {"share": share, "share_expected": share_expected, "first": first, "last": last}
    return finding_on("synthetic/converging", verdict, numbers, scatter=scatter, scatter_perfect=scatter_perfect)


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
    limits = (
        (c.population.squared_error, o.low or 0.0, 1.0 if o.high is None else o.high) for c in grown for o in c.ours
    )
    covered = [low <= truth <= high for truth, low, high in limits]
    swing = np.array([c.score.max() / c.score.min() for c in _uncalibrated(stepped)])
    good = flat and np.mean(covered) > 0.9 and abs(pooled.mean() - 1) < 4 * error
    numbers: dict[str, Any] = {"first": first, "last": last, "coverage": float(np.mean(covered)), "error": error}
    numbers |= {"n_intervals": len(covered), "swing": swing, "pooled": pooled, "half": 1.96 * error}
    numbers |= {"values": values, "score": score}
    return finding_on("synthetic/needs-bins", "extended" if good else "confirmed", numbers)


def _perfect(curves: list[Curve]) -> list[Curve]:
    return [c for c in curves if c.population.k == 0]


def _uncalibrated(curves: list[Curve]) -> list[Curve]:
    return [c for c in curves if c.population.k > 0]


def _rose(before: Floats, after: Floats) -> NDArray[np.bool_]:
    return np.asarray(after > before * (1 + ROUNDING))


def _rises(curves: list[Curve]) -> NDArray[np.bool_]:
    """Of each score, whether it is above the one before it."""
    return np.concatenate([_rose(c.score[:-1], c.score[1:]) for c in curves])


def _slope(x: Ints, y: Floats) -> float:
    """Of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _scatter(c: Curve) -> float:
    """RMS distance of a point from its expectation, as a share of the expectation's fall from first to last x."""
    away = float(np.sqrt(np.mean((c.score - c.expected) ** 2)))
    noise = c.population.noise / np.sqrt(c.x[[0, -1]])
    return away / float(noise[0] - noise[1])
