"""Figure 4a: HMM against CRF, each tag by itself."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from howsure.experiments import questions as asking_both
from howsure.experiments import tagging
from howsure.experiments.findings import Finding, Verdict, finding_on, held, notes_on
from howsure.experiments.questions import Answered, Average, Count, Question
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Table
from howsure.experiments.tagging import Contest, Tried, pseudocount_table, taggers_table
from howsure.plots.panels import error_dots

MODELS = ("HMM", "CRF")


def settings(quick: bool) -> dict[str, Any]:
    """As for the other tagging figures; tags that are rarer in the test text are not asked about."""
    return {**tagging.settings(quick), "bin_size": 5_000, "samples": 500 if quick else 10_000, "least": 10, "top": 5}


def tag_questions(made: Contest, least: int) -> list[Question]:
    """One question a tag that is true of `least` test tokens or more, the commonest first."""
    often = np.bincount(made.gold, minlength=len(made.tags))
    asked = [t for t, n in zip(made.tags, often.tolist(), strict=True) if n >= least]
    return [Question(t, *made.answers(t), made.sentence) for t in asked]


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Errors on each tag, their averages, and how often either model is better."""
    made, answers, means, counted_both, tables = contests(
        *(settings, rng, work, ("tags", "Each tag")),
        lambda c: tag_questions(c, settings["least"]),
        (settings["top"], None),
    )
    hmms = tagging.Workshop(settings, work).tried_pseudocounts("NN")
    title = "Calibration error on each tag, the commonest first, and averages"
    drawn = error_dots(asking_both.error_records(answers, means, MODELS), title=title, models=MODELS)
    return {
        "findings": findings(answers, means, counted_both, len(made.tags), hmms),
        "figures": (Figure("4a", f"{title}.", drawn),),
        "tables": (*tables, pseudocount_table(hmms, "is it NN?")),
        "notes": notes_on("figure-4a", least=settings["least"]),
    }


def contests(
    settings: dict[str, Any],
    rng: np.random.Generator,
    work: Work,
    named: tuple[str, str],
    asking: Callable[[Contest], list[Question]],
    tops: tuple[int | None, ...],
) -> tuple[Contest, tuple[Answered, ...], list[Average], tuple[Count, Count], tuple[Table, ...]]:
    """HMM against CRF: the contest where they know words, its answers and averages; counts, there and with word classes; tables.

    `named` is what is asked about, and the heading of its table; averages are over the `tops` commonest (None: all).
    """
    what, heading = named

    def compared(classes: bool) -> tuple[Contest, list[Question], tuple[Answered, ...], Count]:
        made = tagging.hmm_and_crf(settings, work, classes=classes)
        questions = asking(made)
        answers = asking_both.answered(questions, settings["bin_size"], settings["samples"], rng, work)
        return made, questions, answers, asking_both.counted(answers)

    made, questions, answers, count = compared(False)
    means = asking_both.averages(questions, answers, [len(questions) if t is None else t for t in tops], work)
    counts = count, compared(True)[-1]
    caption = f"{what.capitalize()} on which each model is better calibrated"
    counts_of = count_table(caption, dict(zip(("words", "words and classes"), counts, strict=True)))
    each = asking_both.answers_table(what, heading, MODELS, answers)
    return made, answers, means, counts, (counts_of, averages_table(means), each, taggers_table(made))


def count_table(caption: str, counts: dict[str, Count]) -> Table:
    """Who is better how often."""
    rows = []
    for name, c in counts.items():
        ours = c.first, c.first_significant, c.second, c.second_significant
        rows.append((name, c.n, *ours, c.paper_first_significant, c.paper_second_significant))
    columns = ("models know", "questions", "HMM better", "significantly", "CRF better", "significantly")
    return Table("counts", caption, (*columns, "HMM, Alg. 2", "CRF, Alg. 2"), tuple(rows))


def averages_table(means: list[Average]) -> Table:
    """Mean errors."""
    rows = tuple((f"{a.most} commonest", *a.errors, *a.paper, shown_difference(a)) for a in means)
    columns = ("questions", "HMM, mean RMS error", "CRF", "HMM, Alg. 2", "CRF, Alg. 2")
    return Table("averages", "Averages", (*columns, "HMM - CRF, mean squared calibration error [95%]"), rows)


def shown_difference(a: Average) -> str:
    """A mean difference of squared calibration errors with its interval."""
    return f"{a.difference.value:+.2e} [{a.difference.low:+.2e}, {a.difference.high:+.2e}]"


def findings(
    answers: tuple[Answered, ...], means: list[Average], counts: tuple[Count, Count], n_tags: int, hmms: Sequence[Tried]
) -> tuple[Finding, ...]:
    """The paper's claims on single tags."""
    count, with_classes = counts
    made = [finding_on("figure-4a/most", most_verdict(count), count=count, more=with_classes, n_tags=n_tags)]
    for noun in (a for a in answers if a.name == "NN"):  # whether it hangs on the HMM's pseudocount too
        said = {
            "p": "" if noun.adjusted is None else f", adjusted p = {noun.adjusted:.2g}",
            "none": "" if noun.significant else " No difference is shown, which does not show that there is none.",
            "listed": ", ".join(f"{t.error.value:.4f} with {t.setting:g}" for t in hmms),
            "paper": ", ".join(f"{t.paper_error:.4f}" for t in hmms),
        }
        made.append(finding_on("figure-4a/noun", alike(noun), said, noun=noun))
    return *made, average_finding(means, "tags", "figure-4a/average")


def most_verdict(count: Count) -> Verdict:
    """More than half, significantly; undecided where the CRF leads with fewer significant ones."""
    if count.second_significant > count.n / 2:
        return "confirmed"
    leads = count.second > count.first and count.second_significant > count.first_significant
    return "undecided" if leads else "differs"


def alike(a: Answered) -> Verdict:
    """No significant difference, and neither error half as large again as the other."""
    small, large = sorted(e.value for e in a.errors)
    return "differs" if a.significant else "confirmed" if large <= 1.5 * small else "undecided"


def average_finding(means: list[Average], what: str, claim: str) -> Finding:
    """Averages over the commonest questions: is the CRF better there too?"""
    said = "; ".join(
        f"over the {a.most} commonest {what} HMM {a.errors[0]:.4f}, CRF {a.errors[1]:.4f} "
        f"(mean squared calibration error {shown_difference(a)})"
        for a in means
    )
    better = [a.better for a in means]
    verdict: Verdict = "differs" if 0 in better else held(None not in better, "undecided")
    return finding_on(
        claim,
        verdict,
        numbers={f"{m}, {a.most}": e for a in means for m, e in zip(MODELS, a.errors, strict=True)},
        said=said[0].upper() + said[1:],
        n=len(better),
        for_hmm=better.count(0),
        for_crf=better.count(1),
        listed="; ".join(f"{a.most}: HMM {a.errors[0]:.4f}, CRF {a.errors[1]:.4f}" for a in means),
    )
