"""The smoothings by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from howsure import _validate
from howsure.errors import InputError
from howsure.models.ngrams.smoothing.additive import laplace, lidstone, maximum_likelihood
from howsure.models.ngrams.smoothing.backing_off import katz
from howsure.models.ngrams.smoothing.discounting import absolute_discounting, kneser_ney, modified_kneser_ney
from howsure.models.ngrams.smoothing.form import Counts, Estimate
from howsure.models.ngrams.smoothing.good_turing import good_turing, simple_good_turing_model
from howsure.models.ngrams.smoothing.interpolation import interpolated, witten_bell

SMOOTHINGS: dict[str, Callable[..., Estimate]] = {
    "mle": maximum_likelihood,
    "laplace": laplace,
    "lidstone": lidstone,
    "good-turing": good_turing,
    "simple-good-turing": simple_good_turing_model,
    "interpolated": interpolated,
    "katz": katz,
    "witten-bell": witten_bell,
    "absolute-discounting": absolute_discounting,
    "kneser-ney": kneser_ney,
    "modified-kneser-ney": modified_kneser_ney,
}
TUNED = {"lidstone": "alpha", "interpolated": "weights"}  # on held-out text


def estimate(counts: Counts, smoothing: str, **options: Any) -> Estimate:
    """Probabilities by a smoothing's name."""
    return SMOOTHINGS[known(smoothing)](counts, **options)


def known(smoothing: str) -> str:
    """The name, if it is one."""
    if smoothing not in SMOOTHINGS:
        raise InputError(f"there is no smoothing {smoothing!r}." + _validate.nearest(smoothing, SMOOTHINGS))
    return smoothing
