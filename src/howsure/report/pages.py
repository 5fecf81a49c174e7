"""The report of each result: its charts and its template."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from howsure.counting.result import Counts, percent
from howsure.plots import counts, curves, labels
from howsure.plots.vega import MOST_DRAWN, chart, interval_height
from howsure.report.page import render
from howsure.report.tables import html

if TYPE_CHECKING:
    import howsure
    from howsure.evaluation.model_checks import CorefCheck, LanguageCalibration, TaggerCheck


def _curve_page(
    template: str, c: howsure.Calibration, curve: str, histogram: str, source: str, /, **shown: Any
) -> bytes:
    """A template on the calibration of one column, with these descriptions of its two charts, and `m`'s risk if given."""
    charts = {"curve": chart(curves.curve_layers(c), 420, curve)}
    charts["histogram"] = chart(curves.histogram_layers(c), 150, histogram)
    if "what" in shown:
        of_what = f"Accuracy against the share of {shown.pop('what')} answered"
        charts["risk"] = chart(curves.risk_layers(shown["m"].risk_coverage), 220, of_what)
    return render(template, charts, source=source, **{"c": c, "verdict": "", **shown})


def calibration_page(c: howsure.Calibration, verdict: str = "") -> bytes:
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


def abstention_page(a: howsure.Abstention) -> bytes:
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
            {"a wrong answer costs": c.wrong, "confidence at least": c.threshold, "answered": c.answered}
            | {"cost of 1,000": c.per_thousand}
            for c in a.costs
        ],
    }
    shown = {name: Markup(html(rows, a.level)) for name, rows in tables.items() if rows}  # escaped there
    return render("abstention.html", charts, r=a, tables=shown)


def paper_page(c: howsure.PaperCalibration) -> bytes:
    """A calibration as the paper computes and draws it."""
    described = "Calibration curve: empirical frequency against prediction strength"
    charts = {"curve": chart(curves.paper_layers(c), 420, described)}
    return render("paper.html", charts, c=c, source=c.source or "data")


def classes_page(m: howsure.MulticlassCalibration, verdict: str = "") -> bytes:
    """Many classes on one page: the predicted class's calibration, each class's, and what abstaining would gain."""
    # The page of one column, with the classes as its slices.
    shown = replace(m.top, by="class", slices=m.per_class)
    more: dict[str, Any] = {"c": shown, "m": m, "what": "items", "verdict": verdict}
    return _curve_page("classes.html", m.top, *_predicted("class"), m.source or "data", **more)


def language_page(m: LanguageCalibration) -> bytes:
    """A language model's calibration on one page: the predicted word, then all words by their frequency."""
    return _curve_page("language.html", m.top, *_predicted("next word"), m.model or "the model", m=m)


def tagger_page(t: TaggerCheck) -> bytes:
    """The predicted tag's calibration, each tag's, the tag pairs' and the spans', on one page."""
    m, c = t.classes, t.classes.top
    facts = {"log loss of the gold sequence, per token": f"{t.log_loss:.4f}", "sentences": f"{t.n_sentences:,}"}
    tables = {name: slices for name, slices in (("pair", t.per_pair), ("span", t.per_span)) if slices}
    shown = {"c": replace(c, by="tag", slices=m.per_class), "tables": tables, "facts": facts, "verdict": t.verdict}
    return _curve_page("tagger.html", c, *_predicted("tag"), t.source, m=m, what="tokens", **shown)


def coref_page(k: CorefCheck) -> bytes:
    """A `CorefCheck` on one page: the calibration page of its pairs, with the sampling table and the scores."""
    curve = "Calibration curve: how often pairs corefer against the probability given"
    histogram = "Distribution of pair probabilities by label"
    return _curve_page("coref.html", k.lead, curve, histogram, k.source or "data", k=k)


def comparison_page(c: howsure.Comparison) -> bytes:
    """Everything about one comparison on one page."""
    shown, many = c.by_model, "How many rows each model gives which probability"
    charts = {"curve": chart(curves.overlaid_layers(shown), 420, "Calibration curves of the models compared")}
    charts["distribution"] = chart(curves.distribution_layers(shown), 110, many)
    drawn = {}
    for name, layers in curves.difference_charts(c).items():
        drawn[name] = curves.LOSSES[name]
        charts[name] = chart(layers, interval_height(c.pairs), f"Difference of {drawn[name]}")
    return render("comparison.html", charts, c=c, models=shown, drawn=drawn)


def continuous_page(c: howsure.ContinuousCalibration) -> bytes:
    """Everything about one set of predictive distributions on one page."""
    charts = {"pit": chart(curves.pit_histogram_layers(c), 220, "Histogram of PIT values: flat when calibrated")}
    band = "ECDF of PIT values less the diagonal, with a simultaneous band"
    charts["ecdf"] = chart(curves.ecdf_difference_layers(c), 240, band)
    return render("continuous.html", charts, c=c, source=c.source or "data")


def score_page(s: howsure.Score) -> bytes:
    """Everything about one score on one page."""
    drawn = min(len(s.classes), MOST_DRAWN)
    charts = {"classes": chart(labels.class_layers(s), 40 + 22 * drawn, f"{s.f_name} of every class with its interval")}
    if s.confusion is not None:
        side = 80 + 26 * min(len(s.confusion.labels), MOST_DRAWN)
        charts["matrix"] = chart(labels.matrix_layers(s.confusion), min(side, 700), "Confusion matrix")
    return render("score.html", charts, s=s, cut=len(s.classes) > MOST_DRAWN, most=MOST_DRAWN)


def contest_page(c: howsure.Contest) -> bytes:
    """Everything about one contest on one page."""
    described = {"systems": "The systems", "duels": "Differences between the systems"}
    drawn = labels.contest_charts(c)
    charts = {name: chart(layers, height, described[name]) for name, (height, layers) in drawn.items()}
    models = {} if c.calibration is None else c.calibration.by_model
    if models:
        charts["curve"] = chart(curves.overlaid_layers(models), 420, "Calibration curves of the systems compared")
    return render("contest.html", charts, c=c, models=models)


MOST_PAIRS = 500
MOST_ANNOTATORS = 60  # annotators
MOST_LABELS = 25  # of a confusion that is drawn


def agreement_page(a: howsure.Agreement) -> bytes:
    """Everything about one set of labels on one page."""
    charts = {"coefficients": chart(labels.coefficient_layers(a), 150, "Agreement coefficients")}
    n = len(a.ratings.labels)
    if 2 < n <= MOST_LABELS and a.confused:
        charts["confusion"] = chart(labels.confusion_layers(a), 26 * n + 40, "Labels given to the same item")
    if a.crowd is not None:
        shown = min(len(a.crowd.annotators), MOST_ANNOTATORS)
        charts["annotators"] = chart(labels.annotator_layers(a, shown), 16 * shown + 40, "Skill of the annotators")
    return render("agree.html", charts, a=a, r=a.ratings, most_pairs=MOST_PAIRS, most_drawn=MOST_ANNOTATORS)


MOST_SERIES = 12  # groups that are drawn in time each


def counts_page(c: Counts) -> bytes:
    """Everything about one count on one page."""
    periods = [x for x in c.cells if x.period and not x.group]
    groups = [x for x in c.cells if x.group and not x.period]
    both = [x for x in c.cells if x.group and x.period]
    names = list(dict.fromkeys(x.group for x in both))[:MOST_SERIES]
    charts = {
        "strata": chart(counts.stratum_layers(c), 300, "Calibration by stratum"),
        "next": chart(counts.next_label_layers(c), 34 * len(c.strata), "Where the next label would bring most"),
    }
    if periods:
        charts["series"] = chart(counts.series_layers(c), 320, "Share of positives in each period")
    if groups:
        drawn = counts.group_layers(groups)
        charts["groups"] = chart(drawn, counts.height_of(groups), "Share of positives in each group")
    for i, name in enumerate(names):
        charts[f"series{i}"] = chart(counts.series_layers(c, name), 200, "Share of positives of one group")
    if not c.cells:
        charts["overall"] = chart(counts.overall_layers(c), 110, "Share of positives by three methods")
    if c.coefficients:
        height = 30 + 26 * len(c.coefficients)
        charts["coefficients"] = chart(counts.coefficient_layers(c), height, "Coefficients of the regression")
    shown: dict[str, Any] = {"periods": periods, "groups": groups, "both": both, "group_names": names}
    return render("counts.html", charts, c=c, saved=_random_labels(c), percent=percent, **shown)


def _random_labels(c: Counts) -> int | None:
    """The number of random labels whose interval, without a model, would be as wide; where that is more than these."""
    low, high = c.share.limits
    half, p = (high - low) / 2, min(max(c.share.value, 0.5 / c.n_labels), 1 - 0.5 / c.n_labels)
    if not half > 0:
        return None
    wanted = round(1.96**2 * p * (1 - p) / half**2)
    return min(wanted, c.n_items) if wanted > 1.1 * c.n_labels else None
