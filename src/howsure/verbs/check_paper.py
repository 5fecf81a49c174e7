"""`howsure check --paper`: the numbers and the curve of Nguyen & O'Connor (2015)."""

from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.paper import BIN_SIZE, N_SAMPLES, PaperCalibration, analyse_paper
from howsure.errors import InputError


def check_paper(
    y_true: Any,
    y_prob: Any = None,
    *,
    bin_size: int = BIN_SIZE,
    samples: int = N_SAMPLES,
    rng: np.random.Generator | int | None = 0,
    scale: str | None = None,
    logits: bool = False,
    missing: str = "drop",
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
) -> PaperCalibration:
    """Calibration as the paper computes and draws it, to compare with published numbers.

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,); or a table
        As for `howsure.check`.
    y_prob : array of probabilities, shape (n,)
        The probability that the model gave to 1.
    bin_size : int
        β of Algorithm 1; the paper uses 5,000, and 200 at least.
    samples : int
        S of Algorithm 2.
    rng : Generator, int or None
        Seeds Algorithm 2.
    scale, logits, missing, prob, true, positive, where
        As for `howsure.check`.

    Returns
    -------
    PaperCalibration
        Algorithm 1's CalibErr, Algorithm 2's interval, calibration and refinement (Eq. 1), the curve; `.figure()`,
        `.to_html()`, `.to_dict()`.

    Notes
    -----
    `to_the_letter` leaves tied rows in the order given, as a stable sort does, so that another order may give another
    number; `ties_shared` gives each row the mean label of its ties and is not the paper's algorithm. All rows are held in
    memory. Both algorithms count sampling noise as miscalibration; `howsure.check` does not.

    References
    ----------
    Nguyen & O'Connor, Posterior calibration and exploratory analysis for NLP models, EMNLP 2015, §2-3.

    Examples
    --------
    >>> import howsure
    >>> howsure.check_paper([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.6], bin_size=2).to_the_letter.calib_err.__round__(4)
    0.2236
    """
    if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 2:
        raise InputError(f"`samples=` must be a whole number of 2 or more; got {samples!r}.")
    size = _validate.bins(bin_size)
    if not isinstance(size, int):
        raise InputError(f"Algorithm 1 has bins of a number of rows; got {bin_size!r}.")
    generator = _validate.generator(rng)
    scale, missing = _validate.scale(scale, logits=logits), _validate.missing_rule(missing)
    if y_prob is not None:
        _validate.absent(_validate.OF_TABLES, prob=prob, true=true, where=where)
        y, q, source = _validate.positives(y_true, positive), _validate.array(y_prob, "y_prob"), "arrays"
        if scale is not None:
            q = _validate.probabilities(q, _validate.Origin(), scale=scale)
        _validate.same_length(y_true=y, y_prob=q)
    else:
        from howsure.engines.columns import is_classes
        from howsure.engines.items import is_table
        from howsure.verbs.check import held_pairs

        if not is_table(y_true):
            raise InputError("give `y_true` and `y_prob`, or a path or a data frame.")
        if prob is not None and is_classes(prob):
            raise InputError("the paper's algorithms take one probability a row; name one column.")
        y, q, source = held_pairs(y_true, prob, true, positive, where, scale=scale, missing=missing)
    return analyse_paper(y, q, size, int(samples), generator, source)
