"""Options that several commands share, each with one name, kind and help."""

from __future__ import annotations

from dataclasses import replace

from howsure.cli.parser import Parameter, argument, option

# What is read
TABLE = argument(
    "file", "CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin.", reads=True
)
PROB = option("prob", "Column of probabilities; of many classes: 'p_*'.")
LABELS = option("true", "Column of labels.")
POSITIVE = option("positive", "The label that counts as 1.")
SCALE = [
    option("scale", "Of the probabilities: probability, percent, logit (log-odds) or logprob (natural logarithms)."),
    option("logits", "The same as --scale logit.", False),
]
MISSING = option("missing", "Rows without a probability or a label: drop (and say how many) or error.", "drop")
WHERE = option("where", "SQL condition on the rows to keep.")
GROUPS = option("groups", "Column of what is dependent (document, sentence): intervals allow for it.")
BY = option("by", "Analyse each value of this column too.")
RESULTS = argument("results", "A folder that howsure explore has written.")

# How it is done
CONFIDENCE = option("confidence_level", "Confidence level of the intervals.", 0.95, "--confidence")
ENGINE = [
    replace(each, part_of="engine")
    for each in (
        option("engine", "Where the work runs: files (streamed, the default), memory or spark."),
        option("master", "Spark's master: local[2], spark://host:7077, yarn."),
        option("memory", "A bound for memory, such as 1GB; the rest goes to the temporary folder."),
        option("skip_bad_files", "Leave out files that cannot be read, and say so.", False),
    )
]

# What is written
MODEL_OUT = option("out", "Save the model to this .npz file.", None, "--out -o", required=True, writes=True)
HTML, PLOT, JSON, MARKDOWN, LATEX = (
    replace(each, part_of="deliver")
    for each in (
        option("html", "Write a report to this file."),
        option("plot", "Draw the picture to this .svg, .png or .pdf file."),
        option("as_json", "Print everything as JSON.", False, "--json"),
        option("markdown", "Print a Markdown table.", False),
        option("latex", "Print a LaTeX table.", False),
    )
)
PRINTED = JSON, MARKDOWN, LATEX
DELIVERY = HTML, PLOT, *PRINTED


def seed(what: str, name: str = "rng") -> Parameter:
    """The seed of what is random."""
    return option(name, f"Seed of {what}.", 0)


def listed(given: str | None) -> list[str]:
    """The parts of a comma-separated option."""
    return [part.strip() for part in (given or "").split(",") if part.strip()]
