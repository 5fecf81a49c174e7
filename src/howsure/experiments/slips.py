"""Slips of the sources, and where they stop short: what is printed, what is right, and what shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """`shown` is a command (`howsure …`) or a test (`tests/…::test_…`)."""

    source: str
    printed: str
    right: str
    shown: str

    def __repr__(self) -> str:
        return f"Slip({self.source}: {self.printed})"


SLIPS = (
    Slip(
        "thesis §4.1, first drafts",
        "The miscalibration of CRF-Basic is “roughly 1.8 times larger” than that of HMM (0.019 vs. 0.035).",
        "Smaller: 0.035 / 0.019 = 1.84 is by how much HMM's is larger. The last draft says “significantly lower”.",
        "tests/experiments/test_slips.py::test_crf_basic_has_the_smaller_number",
    ),
    Slip(
        "thesis §4.1, first drafts",
        "CRF-Advanced has an “extremely good” posterior, with a calibration score of 0.018.",
        "By that score it is hardly better than CRF-Basic's 0.019, of which the same page speaks otherwise.",
        "tests/experiments/test_slips.py::test_crf_basic_has_the_smaller_number",
    ),
    Slip(
        "thesis §3.1.3",
        "Choosing g1 = (x - 1)² and g2 = x² as the rule to be maximised.",
        "These are minimised at x = p. The rule that is maximised there, increasing in g1, is g1 = -(x - 1)², g2 = -x²; S₁ is then minus the calibration MSE, as "
        "the theorem before it wants.",
        "tests/experiments/test_slips.py::test_the_rule_to_be_maximised_has_minus_signs",
    ),
    Slip(
        "thesis §4.3.1",
        "t(p) = min(0, p + k) above ½.",
        "min(1, p + k): as printed every p above ½ would become 0.",
        "howsure reproduce synthetic",
    ),
    Slip(
        "thesis §4.3.3",
        "“Three sets of predictions” are announced and two are named; PERFECT is later called CALIB.",
        "Two sets, PERFECT and UNCALIB, are drawn.",
        "howsure reproduce synthetic",
    ),
    Slip(
        "paper §3.3 and §4.1.2",
        "Above the diagonal a model is underconfident, below it overconfident; Naive Bayes is therefore underconfident where q is low and overconfident where it is high.",
        "q < p at a low q and q > p at a high one are the same fault: too extreme. Here “too low” and “too high” speak of q against p, "
        "“too extreme” of the slope, and “overconfident” of the predicted class alone: confidence above accuracy.",
        "tests/experiments/test_slips.py::test_too_low_and_too_high_at_the_two_ends_is_too_extreme",
    ),
    Slip(
        "paper §5.3",
        "q_ij ≡ P(ℓ_ij = 1 | x, e).",
        "Not given e: with the clustering known it is 0 or 1. Equation 2 above it sums over e, P(ℓ_ij = 1 | x).",
        "tests/posteriors/test_antecedents.py::test_every_exact_query_equals_enumeration",
    ),
    Slip(
        "notes §1.2",
        "Two who say noun 90% of the time are expected to agree on 81%.",
        ".9² + .1² = 82%.",
        "tests/evaluation/annotation/test_agreement.py::test_two_annotators_who_say_noun_nine_times_of_ten_agree_by_chance_on_82_percent",
    ),
    Slip(
        "notes §2.4",
        "p = share of resamples with δ(x⁽ⁱ⁾) - δ(x) ≥ 0.",
        "δ(x⁽ⁱ⁾) ≥ 2δ(x), as the notes' second formula and its pseudo-code; compared in whole numbers, so that rounding decides no tie.",
        "tests/evaluation/contests/test_significance.py::test_ties_are_counted_in_whole_numbers",
    ),
    Slip("notes §3.3", "A unigram is C/V.", "C/N, N the number of tokens.", "howsure reproduce course"),
    Slip(
        "notes §4.4, figure 2",
        "-1/7 (41.2660) ≈ 6.",
        "The sum in the brackets is -41.2660; the result, 5.895, is right.",
        "tests/models/ngrams/test_worked_examples.py::test_per_word_cross_entropy_of_the_sentence",
    ),
    Slip(
        "notes §5.2, figures 5 and 8",
        "Six of the 192 cells are off in the last digit (0.098 for 0.0985, five times; 0.00092 for 0.00091).",
        "Probably cut instead of rounded, or computed from other counts.",
        "howsure reproduce course",
    ),
    Slip(
        "notes §5.3",
        "Lidstone's trigram is (C(w_{i-1}, w_{i-1}, w_i) + α) / (C(w_{i-1}, w_{i-1}) + αV).",
        "The first w_{i-1} of each should be w_{i-2}.",
        "tests/models/ngrams/test_smoothing.py::test_additive_equals_nltk",
    ),
    Slip(
        "notes §5.4",
        "c* = N₂/N₁ after one occurrence; N₀ = V² - N; the mass of what was seen c times is N_c/N.",
        "c* = 2N₂/N₁, with the factor (c + 1) throughout; N₀ = V² - (bigram types seen); the mass is c N_c/N.",
        "tests/models/ngrams/test_worked_examples.py::test_plain_good_turing_has_the_factor",
    ),
)

BEYOND = (
    Slip(
        "paper §3.2, Algorithm 2",
        "The 95% interval of the calibration error is the mean of simulated errors ± 1.96 standard deviations.",
        "It adds sampling noise a second time and on perfectly calibrated data does not hold the truth, 0. The default is debiased, with an interval whose coverage is "
        "simulated (docs/evidence/theory.md).",
        "tests/experiments/test_slips.py::test_algorithm_2_does_not_hold_the_truth",
    ),
    Slip(
        "paper §3.2, §4, §5.3",
        "Tokens, and pairs of mentions, are taken as independent.",
        "Those of a document are not; `groups=` makes intervals and tests cluster-robust.",
        "tests/calibration/groups/test_clustered.py::test_grouped_intervals_cover_where_plain_ones_fail",
    ),
    Slip(
        "paper, footnote 7; thesis §4.3.3",
        "How to select the bin size is unsolved.",
        "The leave-one-out risk of a regressogram has a closed form, and isotonic and kernel curves need no bins.",
        "howsure reproduce synthetic",
    ),
    Slip(
        "paper §5.2; thesis §3.4.2",
        "Marginals of pairs are complicated to derive; they are sampled.",
        "Q[i, :i] = A[i, :i] Q[:i, :i] is exact.",
        "tests/posteriors/test_antecedents.py::test_every_exact_query_equals_enumeration",
    ),
    Slip(
        "paper §6.2",
        "A count's interval is m ± 1.96 s; two counts are compared by whether their intervals overlap.",
        "The count is Poisson-binomial with exact quantiles, and P(n_A > n_B) is a convolution.",
        "tests/events/test_timeline.py::test_differences_of_two_actors_equal_enumeration",
    ),
    Slip(
        "paper §7",
        "No recalibration method is known for structured outputs.",
        "One temperature of a chain's or antecedent model's scores, fitted on held-out data, keeps every marginal, pair and sample consistent.",
        "howsure reproduce figure-5",
    ),
)
