"""`howsure score`, `howsure agree` and `howsure split`: tables of labels."""

from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called
from howsure.cli.parser import command, option
from howsure.errors import InputError


@command(
    replace(options.TABLE, help="A table with a row each item, or logs; - reads standard input."),
    option("true", "Column of gold labels."),
    option("pred", "Column of the system's labels."),
    options.GROUPS,
    option("spans", "Labels are BIO, BIOES or IO tags: score spans.", False),
    option("sentence", "With --spans: column of sentences."),
    option("second", "Column of a second annotator's labels: their score is the ceiling."),
    option("beta", "Recall counts β times as much as precision in F.", 1.0),
    option("value", "Rows are answers of models: column or SQL expression that scores them (a log has its own)."),
    option("item", "With --value: column of items, on which models are paired."),
    option("model", "With --value: column of models."),
    option("by", "With --value: column of tasks, scored apart and averaged (of a log: task)."),
    option("half_width", "Tell the items needed for an interval of this half-width.", 0.02),
    options.WHERE,
    options.CONFIDENCE,
    *options.OF_TABLES,
)
def score(deliver: Delivery, file: str, **given: Any) -> int:
    """How good are labels or models' answers, and how sure is that?

    Examples:
      howsure score predictions.csv --true gold --pred system --groups doc
      howsure score tokens.parquet --true gold --pred tag --spans --sentence sent --groups doc
      howsure score predictions.csv --true gold --pred system --second gold2 --html score.html
      howsure score logs/ --from lm-eval --groups doc_id      (each model on each task, and who is surely above whom)
      howsure score answers.parquet --value grade --item question --model model --by task
    """
    return deliver(called("score.score", file, **given))


@command(
    options.TABLE,
    option("item", "Column that names the item."),
    option("annotator", "Column that names the annotator."),
    replace(options.LABELS, name="label", flags=("--label",)),
    option("annotators", "A column of labels per annotator, instead: ann,bob,cy."),
    option("gold", "Column of each item's true label."),
    option("groups", "Column of what items come from (document): intervals allow for it."),
    option("order", "Order of the labels (low,mid,high), for weighted κ and ordinal α."),
    options.WHERE,
    option("target", "Certainty wanted of an item's label.", 0.95),
    option("reject_below", "Reject annotators whose skill is below this even at its upper limit.", 0.4),
    option("pseudocount", "Labels added to each row of an annotator's confusion.", 1.0),
    options.CONFIDENCE,
    options.seed("the simulation of labels needed"),
    option("posteriors", "Write each item's label probabilities (.csv, .tsv, .jsonl or .parquet).", writes=True),
    *options.DELIVERY,
)
def agree(deliver: Delivery, file: str, posteriors: str | None, **given: Any) -> int:
    """Do annotators agree beyond chance, and whom can one trust?

    Examples:
      howsure agree labels.csv --item item --annotator worker --label label --gold gold
      howsure agree labels.csv --annotators ann,bob,cy --groups doc --order low,mid,high
      howsure agree labels.csv --gold gold --posteriors p.csv
      howsure check p.csv --prob 'p_*' --true gold
    """
    from howsure.verbs.agree import check_posteriors, write_posteriors

    if posteriors is not None:
        check_posteriors(posteriors)
    made = called("agree.agree", file, doing="Dawid-Skene", **given)
    if posteriors is not None:
        if made.crowd is None:
            raise InputError(f"there are no probabilities to write: {made.notes[0]}")
        write_posteriors(made, posteriors)
    return deliver(made)


@command(
    replace(options.TABLE, reads=False),
    option("parts", "Parts with their weights [default: train=8,dev=1,test=1]."),
    option("folds", "Number of folds instead, for cross-validation.", kind=int),
    option("groups", "Column of what must stay together (document, author)."),
    option("date", "Column of dates: each part is later than the one before."),
    option("stratify", "Column whose values are to be in proportion in every part."),
    options.seed("the shuffle"),
    option("out", "Folder for a table per part; with --folds also a file, with a column `fold`.", flags="--out -o"),
    *options.LOG,
    *options.PRINTED,
)
def split(deliver: Delivery, file: str, **given: Any) -> int:
    """Split a table so that no group or later date is on both sides.

    Examples:
      howsure split corpus.csv --groups author --parts train=8,dev=1,test=1 -o parts/
      howsure split corpus.csv --date published -o parts/
      howsure split corpus.csv --folds 5 --stratify label -o folds.csv
    """
    made = called("split.split", file, **given)
    return deliver(made, text=made.to_text() + "".join(f"\nWritten: {path}" for path in made.files))
