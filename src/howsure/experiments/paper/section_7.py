"""Section 7: does a cost on miscalibration in training make a tagger calibrated?

The paper proposes to reduce CalibErr as a training-time cost. A soft, differentiable calibration error is added to a CRF's
loss: of the marginals on the training text itself, and of those on a held-out fold that the likelihood does not see. One
temperature, fitted to the same fold, stands beside them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.estimation.intervals import Estimate
from howsure.experiments.findings import Finding, finding_on, held, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import Table, calibrated, error_of
from howsure.experiments.tagging import Text, splits
from howsure.kernels.cells import Floats
from howsure.kernels.chains import crf_compiled
from howsure.kernels.losses import soft_calibration_error
from howsure.models.taggers.crf import Crf, state_scores
from howsure.models.taggers.temperature import fit_temperature
from howsure.models.taggers.training import CrfObjective, CrfTrainer, lbfgs
from howsure.posteriors.chain import ChainPosterior

LEAST = 1e-3  # marginals below are left out of the penalty
STEP = 1e-3  # of the central difference


def settings(quick: bool) -> dict[str, Any]:
    """Strengths λ of the penalty, and how the CRF is trained."""
    full = {"sentences": None, "iterations": 150, "on_training": [1.0, 10.0], "held_out": [1.0, 3.0, 10.0]}
    small = {"sentences": [150, 50, 100], "iterations": 15, "on_training": [10.0], "held_out": [10.0]}
    return {"quick": quick, "features": "advanced", "l2": 0.1, "folds": 5, **(small if quick else full)}


class Penalised:
    """A CRF's loss plus λ times the soft calibration error on a text, by the weights that are being trained.

    With c = ∂P/∂q the gradient in the weights is Cov(Σ_t c_t(y_t), features): the derivative of the expected features
    under scores s + ε c, taken by a central difference.
    """

    def __init__(self, objective: CrfObjective, trainer: CrfTrainer, text: Text, strength: float) -> None:
        self.inner, self.strength, self.observed = objective, strength, objective.observed
        self.features = trainer.table.extract(text.words, text.starts, trainer.templates)
        self.starts = text.starts
        place = {t: i for i, t in enumerate(trainer.tags)}
        self.gold = np.array([place.get(t, -1) for t in text.tags])
        self._tags = tuple(str(i) for i in range(objective.n_tags))

    def value_and_gradient(self, w: Floats, threads: int | None = None) -> tuple[float, Floats]:
        """Loss and gradient, both with the penalty."""
        loss, gradient = self.inner.value_and_gradient(w, threads)
        states, transitions = self.inner.split(w)
        scores = state_scores(self.features, self.inner.rows, states, self.inner.n_tags)
        value, slope = penalty(self._chain(scores, transitions).marginals(), self.gold)
        up, down = (self._expected(scores + sign * STEP * slope, transitions) for sign in (1.0, -1.0))
        shift = (up - down) / (2.0 * STEP)
        return loss + self.strength * value, gradient + self.strength * shift * self.inner.movable

    def _chain(self, scores: Floats, transitions: Floats) -> ChainPosterior:
        return ChainPosterior(scores, transitions, starts=self.starts, tags=self._tags)

    def _expected(self, scores: Floats, transitions: Floats) -> Floats:
        chain, f, r = self._chain(scores, transitions), self.features, self.inner.rows
        made = np.zeros(len(self.observed))
        states = made[: self.inner.n_states]
        crf_compiled.state_expectations(f.ptr, f.ids, r.row_ptr, r.row_tag, chain.marginals(), 0, len(f), states)
        made[self.inner.n_states :] = chain.pairs([], lambda _tokens, _q: None).ravel()
        return made


def penalty(q: Floats, gold: NDArray[np.int64]) -> tuple[float, Floats]:
    """N times the soft calibration error of the marginals, and its gradient in them, (tokens, tags)."""
    token, tag = np.nonzero(q >= LEAST)
    x = q[token, tag]
    value, by_q = soft_calibration_error((gold[token] == tag).astype(np.float64), x)
    slope = np.zeros_like(q)
    slope[token, tag] = by_q * len(x)
    return value * len(x), slope


@dataclass(frozen=True, slots=True)
class Measured:
    """A tagger on the test text, and its confidence less accuracy on the text that it was made calibrated on."""

    name: str
    accuracy: float
    error: Estimate
    gap: Estimate
    own_gap: float | None

    @property
    def row(self) -> tuple[Any, ...]:
        """For the table."""
        own = "–" if self.own_gap is None else f"{self.own_gap:+.4f}"
        return self.name, f"{self.accuracy:.4f}", shown(self.error), shown(self.gap), own


def measured(name: str, model: Crf, test: Text, own: Text | None) -> Measured:
    """The predicted tag's calibration."""
    posterior = model.posterior(test.words, test.starts)
    right, q = _predicted(posterior, test)
    c = calibrated(right, q, posterior.sentence)
    gap = None
    if own is not None:
        seen, confidence = _predicted(model.posterior(own.words, own.starts), own)
        gap = float(confidence.mean() - seen.mean())
    return Measured(name, float(right.mean()), error_of(c), c.bias.gap, gap)


def _predicted(posterior: ChainPosterior, text: Text) -> tuple[NDArray[np.uint8], Floats]:
    q = np.minimum(posterior.marginals(), 1.0)
    predicted = np.asarray(posterior.tags)[q.argmax(axis=1)]
    return (predicted == np.asarray(text.tags)).astype(np.uint8), q.max(axis=1)


def fold_of(text: Text, folds: int) -> tuple[Text, Text]:
    """Every `folds`-th sentence, and the others."""
    number = np.arange(text.n_sentences)
    return text.take(number[number % folds == 0]), text.take(number[number % folds != 0])


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """The CRF without a penalty, with one on the training text, with one on a held-out fold, and tempered."""
    train, _, test = splits(settings["data"], settings["sentences"])
    held, rest = fold_of(train, settings["folds"])
    made: dict[str, Measured] = {}

    def add(key: str, name: str, model: Crf, own: Text | None) -> None:
        made[key] = measured(name, model, test, own)

    def fitted(trainer: CrfTrainer, aim: CrfObjective | Penalised, objective: CrfObjective) -> Crf:
        return trainer._model(objective, lbfgs(aim, None, settings["iterations"], 1e-5), {})

    work("training without a penalty")
    whole = CrfTrainer(train.words, train.starts, train.tags, settings["features"])
    objective = whole.objective(settings["l2"])
    add("none", "no penalty", fitted(whole, objective, objective), train)
    for strength in settings["on_training"]:
        work(f"training with a penalty on the training text, strength {strength:g}")
        aim = Penalised(objective, whole, train, strength)
        name = f"penalty {strength:g} on the training text"
        add(f"training {strength:g}", name, fitted(whole, aim, objective), train)
    part = CrfTrainer(rest.words, rest.starts, rest.tags, settings["features"])
    smaller = part.objective(settings["l2"])
    plain = fitted(part, smaller, smaller)
    share = f"{settings['folds'] - 1}/{settings['folds']} of the text"
    add("part", f"no penalty, {share}", plain, held)
    for strength in settings["held_out"]:
        work(f"training with a penalty on a held-out fold, strength {strength:g}")
        aim = Penalised(smaller, part, held, strength)
        add(f"held-out {strength:g}", f"{share}, penalty {strength:g} on the rest", fitted(part, aim, smaller), held)
    posterior = plain.posterior(held.words, held.starts)
    found = fit_temperature(posterior, posterior.codes(held.tags)).temperature
    name = f"{share}, one temperature ({found:.3f}) from the rest"
    add("temperature", name, plain.with_settings(temperature=found), held)
    columns = ("CRF", "accuracy", "RMS error [95%]", "confidence less accuracy [95%]", "the same on its own text")
    caption = "The predicted tag on the test text; its own text is what the penalty or temperature was fitted to"
    table = Table("penalties", caption, columns, tuple(m.row for m in made.values()))
    return {"findings": (finding(made),), "tables": (table,), "notes": notes_on("section-7")}


def finding(made: dict[str, Measured]) -> Finding:
    """Does any penalty lower the error clearly?"""
    none, part, warm = made["none"], made["part"], made["temperature"]
    trained = [m for k, m in made.items() if k.startswith("training")]
    folded = [m for k, m in made.items() if k.startswith("held-out")]
    best = min((*trained, *folded), key=lambda m: m.error.value)
    base = none if best in trained else part
    helps = best.error.high is not None and best.error.high < base.error.value
    return finding_on(
        "section-7/penalty",
        held(helps),
        {"none": none, "part": part, "warm": warm},
        numbers={m.name: m.error.value for m in made.values()},
        trained=", ".join(shown(m.error) for m in trained),
        held=", ".join(shown(m.error) for m in folded),
        trained_errors=", ".join(f"{m.error.value:.3f}" for m in trained),
        held_errors=", ".join(f"{m.error.value:.3f}" for m in folded),
    )
