"""The report of each result: its charts and its template."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from howsure.plots.curves import (
    LOSSES,
    curve_layers,
    difference_charts,
    distribution_layers,
    ecdf_difference_layers,
    histogram_layers,
    overlaid_layers,
    paper_layers,
    pit_histogram_layers,
    risk_layers,
)
from howsure.plots.labels import (
    annotator_layers,
    class_layers,
    coefficient_layers,
    confusion_layers,
    duel_intervals,
    matrix_layers,
    system_intervals,
)
from howsure.plots.vega import MOST_DRAWN, chart, interval_height, interval_layers
from howsure.report.page import render
from howsure.report.tables import html

if TYPE_CHECKING:
    from howsure.calibration.abstaining.result import Abstention
    from howsure.calibration.comparing.result import Comparison
    from howsure.calibration.forecasts.result import ContinuousCalibration
    from howsure.calibration.multiclass import MulticlassCalibration
    from howsure.calibration.paper import PaperCalibration
    from howsure.calibration.result import Calibration
    from howsure.evaluation.annotation.result import Agreement
    from howsure.evaluation.contests.result import Contest
    from howsure.evaluation.model_checks import CorefCheck, LanguageCalibration, TaggerCheck
    from howsure.evaluation.scores.result import Score


def _curve_page(template: str, c: Calibration, curve: str, histogram: str, source: str, /, **shown: Any) -> bytes:
    """A template on the calibration of one column, with these descriptions of its two charts, and `m`'s risk if given."""
    charts = {"curve": chart(curve_layers(c), 420, curve), "histogram": chart(histogram_layers(c), 150, histogram)}
    if "what" in shown:
        of_what = f"Accuracy against the share of {shown.pop('what')} answered"
        charts["risk"] = chart(risk_layers(shown["m"].risk_coverage), 220, of_what)
    return render(template, charts, source=source, test_notes=TEST_NOTES, **{"c": c, "verdict": "", **shown})


def calibration_page(c: Calibration, verdict: str = "") -> bytes:
    """Everything about one calibration on one page, under the verdict of what it is part of."""
    curve = "Calibration curve: observed frequency against predicted probability"
    histogram = "Distribution of predicted probabilities by label"
    return _curve_page("calibration.html", c, curve, histogram, c.source or "data", verdict=verdict)


def _predicted(what: str) -> tuple[str, str]:
    """What the charts of the predicted class's probability show."""
    said = f"of the predicted {what}'s probability"
    return f"Calibration curve {said}", f"Distribution {said}"


def table_page(result: Any) -> bytes:
    """The verdict, the picture where there is one, and the main table: for results that need no page of their own."""
    drawn = getattr(result, "layers", None)
    charts = {"picture": chart(drawn(), 340, result.verdict)} if drawn else {}
    table = Markup(html(result.table(), result.level))  # escaped there
    return render("table.html", charts, r=result, table=table)


def abstention_page(a: Abstention) -> bytes:
    """The rule, the risk-coverage curve, what it rests on, cut-offs and costs."""
    charts = {"picture": chart(a.layers(), 340, "Share of wrong answers by the share of answers given")}
    tables = {
        "Thresholds": [
            {a.by: c.name, "items": c.n, "confidence at least": c.threshold, "answered": c.answered, "wrong": c.wrong}
            for c in a.certificates
            if a.by
        ],
        "Cut-offs": a.table(),
        "Cheapest threshold by what a wrong answer costs (not certified)": [
            {
                "a wrong answer costs": c.wrong,
                "confidence at least": c.threshold,
                "answered": c.answered,
                "cost of 1,000": c.per_thousand,
            }
            for c in a.costs
        ],
    }
    shown = {name: Markup(html(rows, a.level)) for name, rows in tables.items() if rows}  # escaped there
    return render("abstention.html", charts, r=a, tables=shown)


def paper_page(c: PaperCalibration) -> bytes:
    """A calibration as the paper computes and draws it."""
    charts = {
        "curve": chart(paper_layers(c), 420, "Calibration curve: empirical frequency against prediction strength")
    }
    return render("paper.html", charts, c=c, source=c.source or "data")


def classes_page(m: MulticlassCalibration, verdict: str = "") -> bytes:
    """Many classes on one page: the predicted class's calibration, each class's, and what abstaining would gain."""
    # The page of one column, with the classes as its slices.
    shown = replace(m.top, by="class", slices=m.per_class)
    more: dict[str, Any] = {"c": shown, "m": m, "what": "items", "verdict": verdict}
    return _curve_page("classes.html", m.top, *_predicted("class"), m.source or "data", **more)


TEST_NOTES = {
    "combined": "Cauchy combination of the next two, p cut at ½ so that none cancels another; the headline.",
    "excess error": "Is the debiased squared calibration error larger than a calibrated model's would be? Any shape.",
    "score": "Is q shifted, or its slope wrong?",
    "Spiegelhalter": "Is the Brier score what it should be if q were right?",
    "Kolmogorov-Smirnov": "The largest cumulative difference between y and q.",
    "Kuiper": "The range of the cumulative difference.",
}


def language_page(m: LanguageCalibration) -> bytes:
    """A language model's calibration on one page: the predicted word, then all words by their frequency."""
    return _curve_page("language.html", m.top, *_predicted("next word"), m.model or "the model", m=m)


def tagger_page(t: TaggerCheck) -> bytes:
    """The predicted tag's calibration, each tag's, the tag pairs' and the spans', on one page."""
    m, c = t.classes, t.classes.top
    facts = {"log loss of the gold sequence, per token": f"{t.log_loss:.4f}", "sentences": f"{t.n_sentences:,}"}
    tables = {name: slices for name, slices in (("pair", t.per_pair), ("span", t.per_span)) if slices}
    more: dict[str, Any] = {
        "c": replace(c, by="tag", slices=m.per_class),
        "verdict": t.verdict,
        "tables": tables,
        "facts": facts,
    }
    return _curve_page("tagger.html", c, *_predicted("tag"), t.source, m=m, what="tokens", **more)


def coref_page(k: CorefCheck) -> bytes:
    """A `CorefCheck` on one page: the calibration page of its pairs, with the sampling table and the scores."""
    curve = "Calibration curve: how often pairs corefer against the probability given"
    histogram = "Distribution of pair probabilities by label"
    return _curve_page("coref.html", k.lead, curve, histogram, k.source or "data", k=k)


def comparison_page(c: Comparison) -> bytes:
    """Everything about one comparison on one page."""
    curves = c.by_model
    drawn = difference_charts(c)
    charts = {
        "curve": chart(overlaid_layers(curves), 420, "Calibration curves of the models compared"),
        "distribution": chart(distribution_layers(curves), 110, "How many rows each model gives which probability"),
        **{
            name: chart(layers, interval_height(c.pairs), f"Difference of {LOSSES[name]}")
            for name, layers in drawn.items()
        },
    }
    return render("comparison.html", charts, c=c, models=curves, drawn={n: LOSSES[n] for n in drawn})


def continuous_page(c: ContinuousCalibration) -> bytes:
    """Everything about one set of predictive distributions on one page."""
    charts = {
        "pit": chart(pit_histogram_layers(c), 220, "Histogram of PIT values: flat when calibrated"),
        "ecdf": chart(ecdf_difference_layers(c), 240, "ECDF of PIT values less the diagonal, with a simultaneous band"),
    }
    return render("continuous.html", charts, c=c, source=c.source or "data", test_notes=PIT_TEST_NOTES)


PIT_TEST_NOTES = {
    "combined": "Cauchy combination of the next three, p cut at ½ so that none cancels another; the headline.",
    "simultaneous band": "Does the curve leave its band anywhere? Any shape. The statistic is the least pointwise tail.",
    "mean of PIT": "Is the mean ½? Below: forecasts too high; above: too low. The statistic is z.",
    "variance of PIT": "Is the mean square about ½ equal to 1/12? Above: too narrow; below: too wide. The statistic is z.",
    "Kolmogorov-Smirnov": "The largest distance between the ECDF of PIT values and the diagonal.",
}


def score_page(s: Score) -> bytes:
    """Everything about one score on one page."""
    drawn = min(len(s.classes), MOST_DRAWN)
    charts = {"classes": chart(class_layers(s), 40 + 22 * drawn, f"{s.f_name} of every class with its interval")}
    if s.confusion is not None:
        side = 80 + 26 * min(len(s.confusion.labels), MOST_DRAWN)
        charts["matrix"] = chart(matrix_layers(s.confusion), min(side, 700), "Confusion matrix")
    return render("score.html", charts, s=s, cut=len(s.classes) > MOST_DRAWN, most=MOST_DRAWN)


def contest_page(c: Contest) -> bytes:
    """Everything about one contest on one page."""
    level = f"{100 * c.confidence_level:g}% interval"
    charts = {
        "systems": chart(
            interval_layers(system_intervals(c), f"{c.metric_name}, {level}"), interval_height(c.systems), "The systems"
        ),
        "duels": chart(
            interval_layers(duel_intervals(c), f"difference of {c.metric_name}, {level}", zero=True),
            interval_height(c.duels),
            "Differences between the systems",
        ),
    }
    curves = {}
    if c.calibration is not None:
        curves = c.calibration.by_model
        charts["curve"] = chart(overlaid_layers(curves), 420, "Calibration curves of the systems compared")
    return render("contest.html", charts, c=c, models=curves)


MOST_PAIRS = 500
MOST_ANNOTATORS = 60  # annotators
MOST_LABELS = 25  # of a confusion that is drawn


def agreement_page(a: Agreement) -> bytes:
    """Everything about one set of labels on one page."""
    charts: dict[str, dict[str, Any]] = {"coefficients": chart(coefficient_layers(a), 150, "Agreement coefficients")}
    if 2 < len(a.ratings.labels) <= MOST_LABELS and a.confused:
        charts["confusion"] = chart(
            confusion_layers(a), 26 * len(a.ratings.labels) + 40, "Labels given to the same item"
        )
    if a.crowd is not None:
        shown = min(len(a.crowd.annotators), MOST_ANNOTATORS)
        charts["annotators"] = chart(annotator_layers(a, shown), 16 * shown + 40, "Skill of the annotators")
    return render("agree.html", charts, a=a, r=a.ratings, most_pairs=MOST_PAIRS, most_drawn=MOST_ANNOTATORS)
