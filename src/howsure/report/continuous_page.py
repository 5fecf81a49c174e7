"""The report of `howsure check --draws … --html`."""

from __future__ import annotations

from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.plots.pit_vega import ecdf_difference_layers, pit_histogram_layers
from howsure.plots.vega import chart
from howsure.report.page import render


def continuous_page(c: ContinuousCalibration) -> bytes:
    """Everything about one set of predictive distributions on one page."""
    charts = {
        "pit": chart(pit_histogram_layers(c), 220, "Histogram of PIT values: flat when calibrated"),
        "ecdf": chart(ecdf_difference_layers(c), 240, "ECDF of PIT values less the diagonal, with a simultaneous band"),
    }
    return render("continuous.html", charts, c=c, source=c.source or "data", test_notes=TEST_NOTES)


TEST_NOTES = {
    "combined": "Cauchy combination of the next three, p cut at ½ so that none cancels another; the headline.",
    "simultaneous band": "Does the curve leave its band anywhere? Any shape. The statistic is the least pointwise tail.",
    "mean of PIT": "Is the mean ½? Below: forecasts too high; above: too low. The statistic is z.",
    "variance of PIT": "Is the mean square about ½ equal to 1/12? Above: too narrow; below: too wide. The statistic is z.",
    "Kolmogorov-Smirnov": "The largest distance between the ECDF of PIT values and the diagonal.",
}
