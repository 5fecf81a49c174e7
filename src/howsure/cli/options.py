"""Options that several commands share, each with one name, kind and help."""

from dataclasses import replace

from howsure.cli.parser import Parameter, argument, option
from howsure.errors import InputError

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
LOG = [
    replace(each, part_of="log")
    for each in (
        option(
            "log",
            "Who wrote it: lm-eval, inspect, openai, promptfoo, llm (JSON lines; recognised by default); in check also huggingface (.npz, .npy, .jsonl).",
            flags="--from",
        ),
        option("stated", "Of a log: the number that means certain (1, 10, 100), or words: likely=0.8,certain=0.95."),
        option("same", "Of a log: when samples agree: normalised (the default), exact, or a column of meanings."),
    )
]
READING = POSITIVE, *SCALE, MISSING, WHERE
RESULTS = argument("results", "A folder that howsure explore has written.")

# How it is done
CONFIDENCE = option("confidence_level", "Confidence level of the intervals.", 0.95, "--confidence")
PREDICTIVE = option("predictive", "Samples of the posterior whose statistics are compared with those of gold.", 0)
MEMORY = option("memory", "A bound for memory, such as 1GB; the rest goes to the temporary folder.")
JOBS = option("jobs", "Processes; one for each core by default. Results do not depend on it.", kind=int)
CACHE = [
    option("cache", "Folder that keeps parses for the next run; the user's cache folder by default."),
    option("no_cache", "Neither look up parses nor keep them.", False),
]
AGAIN = option("again", "Do again what the folder already holds.", False)
ENGINE = [
    replace(each, part_of="engine")
    for each in (
        option("engine", "Where the work runs: files (streamed, the default), memory or spark."),
        option("master", "Spark's master: local[2], spark://host:7077, yarn."),
        MEMORY,
        option("skip_bad_files", "Leave out files that cannot be read, and say so.", False),
    )
]

# What is written
OUT = option("out", "The file to write.", None, "--out -o", writes=True)
MODEL_OUT = replace(OUT, help="Save the model to this .npz file.", required=True)
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
CHECKED = CONFIDENCE, *DELIVERY
OF_TABLES = *LOG, *ENGINE, *DELIVERY


def seed(what: str, default: int | None = 0) -> Parameter:
    """The seed of what is random."""
    return option("rng", f"Seed of {what}.", default, "--seed", int)


def limit(help: str, default: int) -> Parameter:
    """How many to show or to take."""
    return option("limit", help, default, "--limit -n")


def kept(cache: str | None, no_cache: bool) -> bool | str:
    """Where parses are kept: a folder, or whether at all."""
    if cache is not None and no_cache:
        raise InputError("--cache and --no-cache exclude each other.")
    return False if no_cache else True if cache is None else cache


def listed(given: str | None) -> list[str]:
    """The parts of a comma-separated option."""
    return [part.strip() for part in (given or "").split(",") if part.strip()]
