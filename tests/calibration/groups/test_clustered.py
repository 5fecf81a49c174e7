"""Cluster-robust numbers against plain double loops, and the laws they obey."""

import numpy as np
import pytest

import howsure
from howsure.calibration.analysis import analyse, filing
from howsure.calibration.groups import estimates as clustered
from howsure.calibration.groups.clusters import ClusterBuilder
from howsure.calibration.groups.moments import Level, moments
from howsure.calibration.sketch import sketch_rows
from howsure.data import demo_table
from howsure.report.text.calibration import effective_text


def documents(groups, size, rng, sd=1.0):
    q = rng.beta(0.5, 0.5, groups * size)
    shift = np.repeat(rng.normal(0, sd, groups), size)
    y = rng.random(len(q)) < 1 / (1 + (1 / np.clip(q, 1e-9, 1) - 1) * np.exp(-shift))
    return y, q, np.repeat(np.arange(groups), size)


def table_of(y, q, g):
    sketch = sketch_rows(y, q)
    filed = filing(sketch, None, 0.95)
    builder = ClusterBuilder(filed)
    builder.add(g.astype(np.uint64), y.astype(np.uint8), q)
    return builder.finish(), filed


def test_squared_error_multiplies_residuals_of_different_groups_only():
    rng = np.random.default_rng(16)
    y, q, g = documents(12, 10, rng)
    table, filed = table_of(y, q, g)
    estimate, _ = clustered.squared_error(moments(table), 0.95)
    part = np.searchsorted(filed.estimation, q, side="right") - 1
    assert np.all([len(set(g[part == b])) > 1 for b in np.unique(part)])
    e, total = y - q, 0.0
    for b in np.unique(part):
        rows = np.flatnonzero(part == b)
        cross = [(e[i] * e[j], 1) for i in rows for j in rows if g[i] != g[j]]
        total += len(rows) / len(q) * sum(p for p, _ in cross) / len(cross)
    assert estimate.value == pytest.approx(total, rel=1e-9)


def stepped(groups=250, size=20, seed=41):
    """Three steps, and rows of a document that share a tenth of a latent normal."""
    from scipy.special import ndtr

    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(groups), size)
    q = rng.random(len(g))
    latent = np.sqrt(0.1) * rng.normal(size=groups)[g] + np.sqrt(0.9) * rng.normal(size=len(g))
    return ndtr(latent) < (np.minimum(np.floor(3 * q), 2) + 0.5) / 3, q, g


def dense(values, g, part, n_bins):
    made = np.zeros((g.max() + 1, n_bins))
    np.add.at(made, (g, part), values)
    return made


def test_finer_bins_are_chosen_for_steps_and_hold_the_formulas_by_plain_loops():
    y, q, g = stepped()
    table, filed = table_of(y, q, g)
    m = moments(table)
    level, coarse = m.plan.level, m.plan.coarse
    assert len(level.n) > len(coarse.n)
    at = np.searchsorted(filed.estimation, q, side="right") - 1
    part, around = level.joined[at], coarse.joined[at]
    e = y - q
    s, n = dense(e, g, part, len(level.n)), dense(np.ones(len(q)), g, part, len(level.n))
    t = variance = 0.0
    for b in range(len(level.n)):
        same = [(i, j) for i in range(len(s)) for j in range(len(s)) if i != j and n[i, b] and n[j, b]]
        pairs = sum(n[i, b] * n[j, b] for i, j in same)
        w, d = n[:, b].sum() / len(q), s[:, b].sum() / n[:, b].sum()
        t += w * sum(s[i, b] * s[j, b] for i, j in same) / pairs
        spread = n[:, b].sum() * np.sum((s[:, b] - d * n[:, b]) ** 2) / pairs
        variance += 2 * w * w / pairs * max(spread, 0.5 / n[:, b].sum()) ** 2
    assert level.t == pytest.approx(t, rel=1e-9)
    assert level.law()[0] == pytest.approx(variance, rel=1e-9)
    r, psi = np.zeros_like(s), np.zeros((2, len(s)))
    for i in range(len(s)):
        for b in np.flatnonzero(n[i]):
            inside = around == around[part == b][0]
            r[i, b] = (s[i, b] - e[inside].mean() * n[i, b]) / np.sqrt(1 - n[i, b] / inside.sum())
            others = e[(part == b) & (g != i)].mean()
            psi[:, i] += others * r[i, b], np.sign(others) * r[i, b]
    np.testing.assert_allclose(m.squares.r, r.T @ r, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(m.squares.linear, np.sum(psi**2, axis=1), rtol=1e-9)
    np.testing.assert_allclose(m.squares.along, r.T @ psi[0], rtol=1e-9, atol=1e-12)


def test_finer_bins_from_pieces_and_without_their_names():
    """Groups in three pieces, and called otherwise: the same; a giant document leaves the coarsest bins, and is not asked for more."""
    y, q, g = stepped()
    sketch = sketch_rows(y, q)
    whole = howsure.check(y, q, groups=g)
    filed = filing(sketch, None, 0.95)

    class Pieces:
        levels, n_drawn = filed.levels, len(filed.drawn)

        def look(self, at):
            made = []
            for k in range(3):
                builder = ClusterBuilder(filed)
                of = g % 3 == k
                builder.add((977 * g[of] % 1009).astype(np.uint64), y[of].astype(np.uint8), q[of])
                made.append(at(builder.finish()))
            return made[0] + made[1] + made[2]

    pieces = analyse(sketch, clusters=Pieces())
    assert pieces.resolution.bins == whole.resolution.bins > 40
    for a, b in ((pieces.error, whole.error), (pieces.ece, whole.ece)):
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-9)
    giant = howsure.check(y, q, groups=np.where(g < 100, 0, g))
    assert giant.resolution.bins < 40


def test_large_tables_are_summed_by_the_compiled_kernel_alike(monkeypatch):
    from howsure.kernels import grouping

    y, q, g = stepped()
    table, filed = table_of(y, q, g)
    plain = grouping.group_moments(table.estimation, filed.levels)
    coarse, fine = filed.levels[0], filed.levels[-1]
    levels = [Level.of(k, sums) for k, sums in zip(filed.levels, plain, strict=True)]
    around = np.zeros(fine[-1] + 1, np.int64)
    around[fine] = coarse
    for level, about in ((levels[0], np.arange(coarse[-1] + 1)), (levels[-1], around)):
        n, d = (x[about] for x in (levels[0].n, levels[0].d))
        at = grouping.Resolution(level.joined, level.n, level.s, level.a, level.d, n, d, level is levels[0])
        monkeypatch.setattr(grouping, "COMPILED_FROM", 1 << 40)
        one = grouping.residuals(table.estimation, at, of_r=True, of_s=True)
        monkeypatch.setattr(grouping, "COMPILED_FROM", 1)
        other = grouping.residuals(table.estimation, at, of_r=True, of_s=True)
        for name in ("r", "s", "along", "fourth", "by_group"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-12, err_msg=name)
        assert grouping.residuals(table.estimation, at, of_r=False, of_s=True).r is None
    for made, sums in zip(grouping.group_moments(table.estimation, filed.levels), plain, strict=True):
        np.testing.assert_allclose(made, sums, rtol=1e-12, atol=1e-12)


def test_what_finer_bins_would_say_is_a_note():
    c = howsure.check(demo_table(), groups="document")
    assert any("In 1,715 bins it would be 0.050" in n for n in c.notes)


def test_groups_of_one_row_are_no_groups():
    """With one row a group T is the iid one; means and slope have the same values and, their laws differing in skew only,
    intervals as long."""
    rng = np.random.default_rng(17)
    y, q, _ = documents(1500, 1, rng)
    alone, each = howsure.check(y, q), howsure.check(y, q, groups=np.arange(1500))
    assert each.bias.gap.value == pytest.approx(alone.bias.gap.value)
    for a, b in (
        (each.bias.gap, alone.bias.gap),
        (each.bias.slope, alone.bias.slope),
        (each.brier_interval, alone.brier_interval),
    ):
        assert a.value == pytest.approx(b.value)
        assert a.high - a.low == pytest.approx(b.high - b.low, rel=0.02)
    assert each.error.high == pytest.approx(alone.error.high, rel=0.15)
    assert each.bins.effective_n == pytest.approx(each.bins.n, rel=0.02)


def unequal(rng, n=400):
    """One group with half of the rows, and 9 that share the rest unevenly."""
    y, q, _ = documents(n, 1, rng)
    return y, q, np.where(np.arange(n) < n // 2, 0, np.minimum(rng.integers(1, 14, n), 9))


def test_means_and_slope_have_the_jackknife_over_groups():
    """Every group left out in turn, by recomputing; degrees of freedom from the definition of Satterthwaite's."""
    from scipy.stats import t

    rng = np.random.default_rng(33)
    y, q, g = unequal(rng)
    c, ids = howsure.check(y, q, groups=g), np.unique(g)

    def degrees(share):
        # Σ u²/(1 - h), u = S_g - h ΣS, as a quadratic form in independent rows: (trace)²/trace of the square.
        m = np.diag(share) - np.outer(share, share)
        m /= np.sqrt(np.outer(1 - share, 1 - share))
        return np.trace(m) ** 2 / np.trace(m @ m)

    rows = np.array([np.mean(g == k) for k in ids])
    x2 = np.array([np.sum((q - q.mean())[g == k] ** 2) for k in ids])
    for estimate, statistic, share in (
        (c.bias.gap, lambda y, q: np.mean(q - y), rows),
        (c.brier_interval, lambda y, q: np.mean((q - y) ** 2), rows),
        (c.bias.slope, lambda y, q: np.polyfit(q, y, 1)[0], x2 / x2.sum()),
    ):
        whole = statistic(y, q)
        left = np.array([statistic(y[g != k], q[g != k]) for k in ids])
        se = np.sqrt((len(ids) - 1) / len(ids) * np.sum((left - whole) ** 2))
        assert estimate.value == pytest.approx(whole)
        assert estimate.high - whole == pytest.approx(t.ppf(0.975, degrees(share)) * se, rel=1e-6)
    assert c.effective_groups == pytest.approx(degrees(rows) + 1)


def test_equal_groups_are_worth_their_number_and_a_giant_is_named():
    rng = np.random.default_rng(34)
    y, q, g = documents(12, 10, rng)
    equal = howsure.check(y, q, groups=g)
    assert equal.effective_groups == pytest.approx(12)
    assert not any("One group holds" in n for n in equal.notes)
    y, q, g = unequal(rng)
    giant = howsure.check(y, q, groups=g)
    assert giant.effective_groups < 5
    assert any("One group holds 50% of the rows" in n for n in giant.notes)
    assert effective_text(giant) == f" (worth {giant.effective_groups:.3g} of equal size)"
    assert effective_text(equal) == ""


def test_copies_of_rows_add_nothing_once_grouped():
    rng = np.random.default_rng(18)
    y, q, _ = documents(400, 1, rng)
    y, q, g = np.tile(y, 5), np.tile(q, 5), np.tile(np.arange(400), 5)
    once, copied = howsure.check(y[:400], q[:400], groups=g[:400]), howsure.check(y, q, groups=g)
    for a, b in ((once.bias.gap, copied.bias.gap), (once.brier_interval, copied.brier_interval)):
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9)
    naive = howsure.check(y, q)
    assert naive.bias.gap.high - naive.bias.gap.low < 0.5 * (copied.bias.gap.high - copied.bias.gap.low)


def test_order_names_and_batches_of_groups_do_not_matter():
    rng = np.random.default_rng(19)
    y, q, g = documents(40, 25, rng)
    expected = howsure.check(y, q, groups=g).to_dict()
    order = rng.permutation(len(y))
    for groups in (g, g.astype(float), np.array([f"doc <{i}>" for i in g])):
        made = howsure.check(y[order], q[order], groups=groups[order]).to_dict()
        assert made["error"]["low"] == pytest.approx(expected["error"]["low"], rel=1e-9)
        assert made["n_groups"] == 40


def test_tables_and_arrays_agree(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(20)
    y, q, g = documents(30, 20, rng)
    frame = pd.DataFrame({"q": q, "y": y.astype(int), "doc": [f"d{i}" for i in g], "tag": np.where(q > 0.5, "a", "b")})
    frame.to_csv(tmp_path / "a.csv", index=False)
    a = howsure.check(tmp_path / "a.csv", groups="doc", by="tag")
    b = howsure.check(y, q, groups=g, by=frame.tag.to_numpy())
    assert a.error.low == pytest.approx(b.error.low, rel=1e-9)
    assert [s.name for s in a.slices] == [s.name for s in b.slices]
    for s, t in zip(a.slices, b.slices, strict=True):
        assert s.calibration.n_groups == t.calibration.n_groups == 30
        assert s.calibration.error.high == pytest.approx(t.calibration.error.high, rel=1e-9)
    assert any("Left out because no version for groups" in n for n in a.notes)
    assert a.ece.low <= a.ece.value <= a.ece.high <= a.error.high + 1e-12
    assert (a.ece.low, a.ece.high) == pytest.approx((b.ece.low, b.ece.high), rel=1e-9)
    assert {t.name for t in a.tests} == {"combined", "excess error", "score"}


@pytest.mark.parametrize("giant", [False, True])
def test_score_test_is_two_t_tests_or_hotellings_where_one_document_dominates(giant):
    from scipy.stats import f, ttest_1samp

    y, q, g = documents(25, 8, np.random.default_rng(21), sd=0.3)
    if giant:
        g = np.where(g < 13, 0, g - 12)
    table, _ = table_of(y, q, g)
    e, k = y - q, g.max() + 1
    u = np.array([[e[g == i].sum(), (e * (1 - 2 * q))[g == i].sum()] for i in range(k)])
    t2 = k * u.mean(axis=0) @ np.linalg.solve(np.cov(u.T), u.mean(axis=0))
    ends = np.array([[e[g == i].sum(), (e * (q - q.mean()))[g == i].sum()] for i in range(k)])
    expected = f.sf(t2 * (k - 2) / (2 * (k - 1)), 2, k - 2) if giant else min(1, 2 * ttest_1samp(ends, 0).pvalue.min())
    assert clustered.score_test(moments(table)).p_value == pytest.approx(expected, rel=1e-6)


def test_mean_interval_is_the_ratio_estimator():
    rng = np.random.default_rng(22)
    y, q, g = documents(25, 8, rng)
    gap = howsure.check(y, q, groups=g).bias.gap
    d = q - y
    totals = np.array([d[g == k].sum() - d.mean() * 8 for k in range(25)])
    se = np.sqrt(25 / 24 * np.sum(totals**2)) / 200
    from scipy.stats import t

    assert gap.high == pytest.approx(d.mean() + t.ppf(0.975, 24) * se)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 1, 1, 1], "all rows are in one group of `groups`"),
        (["a", None, "b", "b"], "`groups` is missing in index 1"),
        ([1, 2], "lengths differ"),
    ],
)
def test_bad_groups(groups, message):
    with pytest.raises(howsure.InputError, match=message):
        howsure.check([0, 1, 1, 0], [0.1, 0.8, 0.7, 0.3], groups=groups)


def test_missing_group_in_a_file(tmp_path):
    (tmp_path / "a.csv").write_text("q,y,doc\n0.5,1,a\n0.4,0,\n0.3,0,b\n")
    with pytest.raises(howsure.InputError, match="`doc` is missing in row 2"):
        howsure.check(tmp_path / "a.csv", groups="doc")


def test_tiny_slices_and_lonely_bins_work():
    y = [0, 1, 1, 0, 1, 0, 1, 1]
    q = [0.1, 0.8, 0.7, 0.3, 0.9, 0.2, 0.6, 0.55]
    c = howsure.check(y, q, groups=[1, 1, 2, 2, 3, 3, 4, 4], by=["a", "a", "a", "b", "b", "b", "c", "c"])
    by = {s.name: s.calibration for s in c.slices}
    assert by["c"].error is None
    assert by["c"].n_groups == 1
    assert by["a"].error is not None
    assert "One group" in " ".join(by["c"].notes)


@pytest.mark.simulation
def test_intervals_cover_with_one_giant_document():
    """20 documents, one with half of the rows, that share a fifth of a latent normal: 200 samples, at least 92% less 3
    standard errors (coverage of 80% fails with probability 0.99); the sandwich with t of G - 1 covered 70-85%."""
    from scipy.special import ndtr

    rng = np.random.default_rng(35)
    size = np.r_[570, np.full(19, 30)]
    g = np.repeat(np.arange(20), size)
    hit = np.zeros(4)
    for _ in range(200):
        q = rng.beta(0.5, 0.5, len(g))
        shared = np.repeat(rng.normal(size=20), size)
        y = ndtr(np.sqrt(0.2) * shared + np.sqrt(0.8) * rng.normal(size=len(g))) < q
        c = howsure.check(y, q, groups=g)
        found = (c.error, c.ece, c.bias.gap, c.bias.slope)
        hit += [e.low - 1e-9 <= w <= e.high + 1e-9 for e, w in zip(found, (0.0, 0.0, 0.0, 1.0), strict=True)]
    assert min(hit / 200) >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 200)


@pytest.mark.simulation
def test_grouped_intervals_cover_where_plain_ones_fail():
    """50-row documents with a shared effect: 200 samples; coverage within 3 binomial standard errors of 92% or more
    (80% fails with probability 0.99)."""
    from scipy.special import expit, logit

    rng = np.random.default_rng(23)
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    grid = rng.beta(0.5, 0.5, 50_000).clip(1e-12, 1 - 1e-12)
    marginal = sum(w * expit(logit(grid) + x) for x, w in zip(nodes, weights, strict=True)) / weights.sum()
    theta, gap = np.sqrt(np.mean((marginal - grid) ** 2)), np.mean(grid - marginal)
    hit = np.zeros(4)
    for _ in range(200):
        y, q, g = documents(40, 50, rng)
        c, naive = howsure.check(y, q, groups=g), analyse(sketch_rows(y.astype(np.uint8), q))
        hit += [
            c.error.low <= theta <= c.error.high,
            c.bias.gap.low <= gap <= c.bias.gap.high,
            naive.error.low <= theta <= naive.error.high,
            naive.bias.gap.low <= gap <= naive.bias.gap.high,
        ]
    share = hit / 200
    assert min(share[:2]) >= 0.92 - 3 * np.sqrt(0.92 * 0.08 / 200)
    assert share[3] < 0.85
