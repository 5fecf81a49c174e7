"""How good and how calibrated a model of ours is: the results of `classify`, `tagger`, `coref` and `lm` with `check`."""

from dataclasses import dataclass
from typing import Any

from howsure._result import Record, Result, drawn_by, shown_as
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import MulticlassCalibration
from howsure.calibration.result import Calibration, Composite, Slice
from howsure.evaluation.coreference import CoreferenceScores
from howsure.evaluation.predictive import PredictiveStatistic
from howsure.evaluation.scores.result import Score

# A word's band is the number of times it occurred in the training text.
BANDS = (
    ("never seen", 0),
    ("seen once", 1),
    ("seen 2-9 times", 2),
    ("seen 10-99 times", 10),
    ("seen 100-999 times", 100),
    ("seen 1000 times or more", 1000),
)


@dataclass(frozen=True, slots=True)
class ClassifierCheck(Composite):
    """How good a classifier's labels are, and whether its probabilities are right."""

    SHOWN = "verdict positive left_out notes score calibration"
    __repr__ = shown_as("{score!r}, {calibration!r}")
    MAIN = "calibration"

    score: Score
    calibration: Calibration | MulticlassCalibration
    positive: str | None
    left_out: int
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Both answers in words, and whether the text is unlike that of training."""
        return " ".join([self.score.verdict, self.calibration.verdict, *self.notes])

    def table(self) -> list[dict[str, Any]]:
        """One row a class, then the averages."""
        return self.score.table()

    to_text = drawn_by("howsure.report.text.models.classifier_text")


@dataclass(frozen=True, slots=True)
class TaggerCheck(Composite):
    """How right a tagger is, and how right to be sure. Made by `howsure.verbs.tagger.check_tagger`."""

    SHOWN = """verdict n=classes.n n_sentences groups n_groups accuracy viterbi_accuracy
        log_loss_per_token=log_loss calibration=classes per_tag per_pair per_span unseen_tags=unseen predictive?"""
    __repr__ = shown_as("accuracy={accuracy!r}, error={classes.error!r}, n={classes.n:,}")
    MAIN = "classes"

    classes: MulticlassCalibration
    accuracy: Estimate
    viterbi_accuracy: float
    n_sentences: int
    groups: str
    n_groups: int
    log_loss: float  # of the gold sequence, per token
    per_pair: tuple[Slice, ...]
    per_span: tuple[Slice, ...]
    unseen: tuple[str, ...] = ()
    source: str = ""
    predictive: tuple[PredictiveStatistic, ...] = ()

    @property
    def per_tag(self) -> tuple[Slice, ...]:
        """Each tag's own calibration, worst first."""
        return self.classes.per_class

    @property
    def verdict(self) -> str:
        said = (
            f"Accuracy {self.accuracy.value:.4f}. Of the predicted tag's probability: {self.classes.top.verdict} "
            f"{clear(self.per_tag)} of {len(self.per_tag)} tags and {clear(self.per_pair)} of {len(self.per_pair)} tag "
            "pairs are clearly miscalibrated."
        )
        if self.per_span:
            said += f" Of {len(self.per_span)} kinds of span, {clear(self.per_span)} are."
        return said + self.note

    @property
    def note(self) -> str:
        """What the model could not know."""
        if not self.unseen:
            return ""
        names = ", ".join(self.unseen[:5]) + (", …" if len(self.unseen) > 5 else "")
        return f" Tags that the model has never seen have probability 0: {names}."

    def to_dict(self) -> dict[str, Any]:
        made = Result.to_dict(self)
        del made["calibration"]["per_class"]  # as `per_tag`
        return made

    to_text = drawn_by("howsure.report.text.models.tagger_text")
    to_html = drawn_by("howsure.report.pages.tagger_page")


def clear(slices: tuple[Slice, ...]) -> int:
    """How many are clearly miscalibrated."""
    return sum(s.adjusted_p_value is not None and s.adjusted_p_value < 0.05 for s in slices)


@dataclass(frozen=True, slots=True)
class SampledPairs(Record):
    """Pair probabilities as frequencies in a number of samples (None: exact), and how calibrated they look."""

    samples: int | None
    error: Estimate | None
    brier: float
    largest_deviation: float
    rms_deviation: float

    def __repr__(self) -> str:
        return f"SampledPairs({self.samples or 'exact'}: error {self.error!r}, Brier {self.brier:.5f})"


@dataclass(frozen=True, slots=True)
class CorefCheck(Composite):
    """Calibration of a coreference model. Made by `check_coref`."""

    SHOWN = """verdict n_documents n_mentions temperature links gold_links missed missed_expected pairs entities new untempered
        sampling scores notes predictive?"""
    __repr__ = shown_as("pairs {lead.error!r}, {scores!r}")
    MAIN = "lead"

    links: Calibration | None  # of pairs that could be links: probability 0.05 or more; None where there are too few
    pairs: Calibration  # of all pairs
    gold_links: int
    missed: int  # gold links below 0.05
    missed_expected: float  # as many as the probabilities say
    entities: Calibration | None  # of "does this mention mean someone of that name?", 0.05 or more
    new: Calibration
    scores: CoreferenceScores
    sampling: tuple[SampledPairs, ...]
    temperature: float
    untempered: Calibration | None
    n_documents: int
    n_mentions: int
    notes: tuple[str, ...] = ()
    source: str = ""
    predictive: tuple[PredictiveStatistic, ...] = ()

    @property
    def lead(self) -> Calibration:
        """The pairs that could be links, or all pairs where too few could."""
        return self.pairs if self.links is None else self.links

    @property
    def question(self) -> str:
        """What the first answer is about."""
        return "Do these two mentions corefer?" + " Pairs with probability 0.05 or more:" * (self.links is not None)

    @property
    def beside(self) -> str:
        """All pairs, in words."""
        if self.links is None:
            return ""
        return (
            f"Of {self.gold_links:,} gold links {self.missed:,} have less than 0.05; the probabilities expect "
            f"{self.missed_expected:,.0f}. All {self.pairs.n:,} pairs, nearly all of them obvious: "
            + ("no error can be given." if self.pairs.error is None else f"RMS error {self.pairs.error!r}.")
        )

    @property
    def verdict(self) -> str:
        return f"{self.question} {self.lead.verdict} {self.beside}".rstrip()

    to_text = drawn_by("howsure.report.text.models.coref_text")
    to_html = drawn_by("howsure.report.pages.coref_page")


@dataclass(frozen=True, slots=True)
class ParserCheck(Composite):
    """How right a parser is, and how right to be sure. Made by `howsure.verbs.parser.check_parser`."""

    SHOWN = """verdict kind n_sentences n_words groups n_groups accuracy log_loss_per_word=log_loss temperature
        calibration questions=calibration.slices notes predictive?"""
    __repr__ = shown_as("{accuracy}, error={error!r}")
    MAIN = "calibration"

    kind: str
    # UAS and LAS, or precision, recall and F1, and the share of whole trees that are right
    accuracy: dict[str, Estimate]
    calibration: Calibration  # of the chosen arcs or spans; slices are the other questions, then labels
    log_loss: float  # of the gold trees that the model can make, per word
    temperature: float
    n_sentences: int
    n_words: int
    groups: str
    n_groups: int
    notes: tuple[str, ...] = ()
    predictive: tuple[PredictiveStatistic, ...] = ()

    @property
    def verdict(self) -> str:
        said = ", ".join(f"{name} {e.value:.4f}" for name, e in self.accuracy.items())
        part = "arc" if self.kind == "dependencies" else "span"
        return f"{said}. Of the chosen {part}'s probability: {self.calibration.verdict}"

    def table(self) -> list[dict[str, Any]]:
        """One row a kind of question, then one a label."""
        return [s.row() for s in self.calibration.slices]

    to_text = drawn_by("howsure.report.text.models.parser_text")


@dataclass(frozen=True, slots=True)
class LanguageCalibration(Composite):
    """Calibration of the likeliest next word's probability, and of all words' probabilities."""

    SHOWN = "*top verdict model places accuracy sampled_places all_words"
    __repr__ = shown_as("predicted word error={top.error!r}, {places:,} places")

    model: str
    source: str
    accuracy: float
    top: Calibration  # the predicted word; slices by its frequency in training
    all_words: Calibration  # every (place, word) event of a sample of places; slices by frequency
    places: int  # that the predicted word was checked at
    sampled_places: int  # that all words were checked at

    @property
    def verdict(self) -> str:
        leaning = []  # frequency bands that are given too little or too much
        for direction in ("too low", "too high"):
            names = [s.name for s in self.all_words.slices if s.calibration.bias.direction == direction]
            leaning += [f"{direction} for words " + ", ".join(names)] if names else []
        return (
            f"Of the predicted next word's probability: {self.top.verdict} It is the right word "
            f"{100 * self.accuracy:.1f}% of the time. Over the whole vocabulary, probabilities are "
            f"{' and '.join(leaning) or 'neither clearly too high nor too low in any frequency band'}."
        )

    to_text = drawn_by("howsure.report.text.calibration.language_text")
    to_html = drawn_by("howsure.report.pages.language_page")
