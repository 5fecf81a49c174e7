"""`howsure recalibrate fit FILE -o cal.json` and `howsure recalibrate apply cal.json FILE -o OUT`."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery
from howsure.cli.parser import argument, command, family, option


@command(
    options.TABLE,
    replace(options.MODEL_OUT, help="Save the recalibrator to this JSON file."),
    option(
        "method",
        "auto, temperature, platt, beta, isotonic-platt, histogram-platt; isotonic and histogram as published; "
        "vector for many classes.",
        "auto",
    ),
    option("prob", "Column of probabilities; or a glob, 'p_*', of one column a class."),
    options.LABELS,
    options.POSITIVE,
    *options.SCALE,
    options.MISSING,
    options.WHERE,
    option("groups", "Column of what is dependent (document, sentence): kept together in cross-validation."),
    replace(options.CONFIDENCE, help="Confidence level of the gain's interval."),
    options.seed("the folds"),
    *options.PRINTED,
)
def fit(deliver: Delivery, file: str, out: str, **given: Any) -> int:
    """Learn a recalibrator from labelled predictions.

    It is judged on rows it has not seen; when the gain is not clear, what is saved changes nothing.

    Examples:
      howsure recalibrate fit held-out.csv -o cal.json
      howsure recalibrate fit dev.parquet --prob q --groups doc_id -o cal.json
      howsure recalibrate fit dev.csv --prob 'p_*' --true gold -o cal.json
    """
    from howsure.files import write_whole
    from howsure.verbs.recalibrate import recalibrate as run_recalibrate

    result = run_recalibrate(file, **given)
    write_whole(out, result.to_json().encode())
    return deliver(result)


@command(
    argument("saved", "The JSON file that `howsure recalibrate fit` wrote."),
    replace(options.TABLE, reads=False),
    option("out", "The table to write: .csv, .tsv or .jsonl (and .gz), or .parquet.", flags="--out -o", required=True),
    option("prob", "Column of probabilities, or a glob, when named otherwise than where it was fitted."),
    option("name", "The new column; by default <prob>_recalibrated."),
    *options.ENGINE[:3],
    replace(options.JSON, help="Print what was done as JSON."),
)
def apply(deliver: Delivery, saved: str, file: str, out: str, **given: Any) -> int:
    """Add recalibrated probabilities to a table.

    The table may have any size; rows keep their order and the other columns stay as they are.

    Examples:
      howsure recalibrate apply cal.json new.csv -o new-recalibrated.csv
      howsure recalibrate apply cal.json 'run-*.parquet' --prob q -o out.parquet
    """
    from howsure.verbs.recalibrate import apply_recalibrator

    rows, names = apply_recalibrator(saved, file, out, **given)
    shown = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` and {len(names) - 1} more columns"
    text = textwrap.fill(f"Written: {out}, {rows:,} rows with {shown}.", 80, break_long_words=False)
    return deliver.say(text, {"rows": rows, "columns": names, "written": out})


recalibrate = family("Learn better probabilities, and apply them to new rows.", fit, apply)
