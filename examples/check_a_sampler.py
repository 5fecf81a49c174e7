"""Does a Bayesian sampler do what it says? A check by posterior quantiles (Cook, Gelman & Rubin 2006).

    python examples/check_a_sampler.py

Draw the parameters from the prior, data from the parameters, and run the sampler on the data. If the sampler is right,
the parameters are one more draw from the posterior it samples: their place among its draws is uniform. If it is not, the
shape of the histogram says how it fails.

The model: x₁ … x₁₀ ~ N(μ, σ²), μ ~ N(0, ½²), 1/σ² ~ Gamma(3, rate 2), sampled by Gibbs. One sampler is right, one takes
a variance where a standard deviation belongs, and one squares the prior's standard deviation once too often. A fourth forgets
the prior of μ, and passes: its intervals for μ are those of classical statistics, which cover as they say. They are only wider
than need be, and that shows in the CRPS.
"""

import numpy as np

import howsure

PRIOR_SD, SHAPE, RATE, N_DATA = 0.5, 3.0, 2.0, 10
BURN_IN, THIN, DRAWS = 50, 5, 99


def gibbs(x, rng, mistake=None):
    """Posterior draws of (μ, σ²) for every row of data at once: two arrays of shape (rows, DRAWS)."""
    rows, n = x.shape
    mean, square = x.mean(axis=1), np.sum((x - x.mean(axis=1, keepdims=True)) ** 2, axis=1)
    prior_precision = {"no prior": 0.0, "prior too tight": 1 / PRIOR_SD**4}.get(mistake, 1 / PRIOR_SD**2)
    variance = np.ones(rows)
    kept = []
    for step in range(BURN_IN + THIN * DRAWS):
        precision = n / variance + prior_precision
        scale = 1 / precision if mistake == "variance for sd" else np.sqrt(1 / precision)
        mu = rng.normal(n * mean / variance / precision, scale)
        rate = RATE + 0.5 * (square + n * (mean - mu) ** 2)
        variance = rate / rng.gamma(SHAPE + n / 2, 1.0, rows)
        if step >= BURN_IN and (step - BURN_IN) % THIN == THIN - 1:  # thinned, so that draws are nearly independent
            kept.append((mu, variance))
    mus, variances = zip(*kept, strict=True)
    return np.column_stack(mus), np.column_stack(variances)


def check_sampler(mistake=None, rows=2_000, seed=2006):
    """The calibration of each parameter's posterior over `rows` made-up data sets."""
    rng = np.random.default_rng(seed)
    mu = rng.normal(0.0, PRIOR_SD, rows)
    variance = RATE / rng.gamma(SHAPE, 1.0, rows)
    x = rng.normal(mu[:, None], np.sqrt(variance)[:, None], (rows, N_DATA))
    mus, variances = gibbs(x, rng, mistake)
    return {"mu": howsure.check_continuous(mu, mus), "sigma²": howsure.check_continuous(variance, variances)}


if __name__ == "__main__":
    for mistake in (None, "variance for sd", "prior too tight", "no prior"):
        print(f"Sampler: {mistake or 'correct'}")
        for name, result in check_sampler(mistake).items():
            print(f"  {name}: {result.verdict} Mean CRPS {result.crps.value:.4f}.")
        print()

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for ax, mistake in zip(axes, (None, "variance for sd"), strict=True):
        check_sampler(mistake)["mu"].plot(ax).set_title(mistake or "the right sampler")
    figure.savefig("sampler.svg")
