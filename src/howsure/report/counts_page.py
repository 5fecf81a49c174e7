"""The page of a count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howsure.counting.result import percent
from howsure.plots.counts import (
    coefficient_layers,
    group_layers,
    height_of,
    next_label_layers,
    overall_layers,
    series_layers,
    stratum_layers,
)
from howsure.plots.vega import chart
from howsure.report.page import filled_template, render

if TYPE_CHECKING:
    from howsure.counting.result import CellCount, Counts

MOST_SERIES = 12  # groups that are drawn in time each


def counts_page(c: Counts) -> bytes:
    """Everything about one count on one page."""
    periods = [x for x in c.cells if x.period and not x.group]
    groups = [x for x in c.cells if x.group and not x.period]
    both = [x for x in c.cells if x.group and x.period]
    names = list(dict.fromkeys(x.group for x in both))[:MOST_SERIES]
    charts = {
        "strata": chart(stratum_layers(c), 300, "Calibration by stratum"),
        "next": chart(next_label_layers(c), 34 * len(c.strata), "Where the next label would bring most"),
    }
    if periods:
        charts["series"] = chart(series_layers(c), 320, "Share of positives in each period")
    if groups:
        charts["groups"] = chart(group_layers(groups), height_of(groups), "Share of positives in each group")
    for i, name in enumerate(names):
        charts[f"series{i}"] = chart(series_layers(c, name), 200, "Share of positives of one group")
    if not c.cells:
        charts["overall"] = chart(overall_layers(c), 110, "Share of positives by three methods")
    if c.coefficients:
        charts["coefficients"] = chart(
            coefficient_layers(c), 30 + 26 * len(c.coefficients), "Coefficients of the regression"
        )

    def cell_table(cells: list[CellCount], than: str) -> Any:
        return filled_template("counts_table.html", cells=cells, than=than, percent=percent)

    return render(
        "counts.html",
        charts,
        c=c,
        periods=periods,
        groups=groups,
        both=both,
        group_names=names,
        percent=percent,
        cell_table=cell_table,
        saved=_random_labels(c),
        methods=counts_methods(c),
        citations=counts_citations(c),
    )


def _random_labels(c: Counts) -> int | None:
    """The number of random labels whose interval, without a model, would be as wide; where that is more than these."""
    low, high = c.share.limits
    half, p = (high - low) / 2, min(max(c.share.value, 0.5 / c.n_labels), 1 - 0.5 / c.n_labels)
    if not half > 0:
        return None
    wanted = round(1.96**2 * p * (1 - p) / half**2)
    return min(wanted, c.n_items) if wanted > 1.1 * c.n_labels else None


def counts_methods(c: Counts) -> str:
    """A paragraph for the methods section of a paper."""
    how = {
        "random": "a simple random sample of the items",
        "all labelled": "all items",
    }.get(c.design, "a sample with known inclusion probabilities")
    said = (
        f"Of {c.n_items:,} items, {c.n_labels:,} were labelled by hand ({how}). Items were divided into {len(c.strata)} strata by the "
        f"model's probability. The share of positives is the stratified estimate, with a {100 * c.confidence_level:g}% score "
        "interval in which all strata are shifted together on the logit scale (the wider of a normal and a Pearson type III law)."
    )
    if c.n_groups is not None:
        said += " Whole groups were drawn; labels were discounted by the design effect, and limits use Student's t."
    if c.cells:
        said += (
            " Shares of cells come from a Bayesian model, logit p = stratum + cell, in which cells share the strata's curve and "
            "differ by effects with a heavy-tailed prior whose scale is learnt; intervals are equal-tailed, and draws agree "
            "with the interval of the total."
        )
    if c.trend is not None or c.coefficients:
        said += " Trend and coefficients are least squares with labels corrected for by strata, with stratified standard errors."
    return said


def counts_citations(c: Counts) -> str:
    """What the method rests on."""
    made = [
        "Edwin Wilson. Probable inference, the law of succession, and statistical inference. JASA 1927",
        "William Cochran. Sampling Techniques. 3rd edition, Wiley 1977",
    ]
    if c.cells:
        made.append("Iain Murray, Ryan Adams and David MacKay. Elliptical slice sampling. AISTATS 2010")
    if c.coefficients or c.trend is not None:
        made.append(
            "Anastasios Angelopoulos, Stephen Bates, Clara Fannjiang, Michael Jordan and Tijana Zrnic. Prediction-powered "
            "inference. Science 2023"
        )
    if c.n_groups is not None:
        made.append(
            "Edward Korn and Barry Graubard. Confidence intervals for proportions with small expected number of positive counts "
            "estimated from survey data. Survey Methodology 1998"
        )
    return "; ".join(made) + "."
