"""`howsure classify train|cv|check|apply`: text classifiers that say how sure they are."""

from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called
from howsure.cli.parser import argument, command, family, option

MODEL = argument("model", "A model saved by `howsure classify train`.", reads=True)
LABELLED = argument("file", "Labelled texts: CSV, TSV, JSON lines, Parquet.", reads=True)
METHOD = argument("method", "logistic, naive-bayes or ngrams (a language model for each label).")
FITTING = (
    option("tokens", "tweets or words.", "tweets"),
    option("min_count", "Leave out words of fewer texts.", 2),
    option("ngrams", "Sequences of up to so many words are features.", 1),
    option("vectors", "logistic: the averaged vector of a text's words is a feature too.", False),
    option("order", "ngrams: order of the models.", 4),
    option("units", "ngrams: characters, words or punctuation.", "characters"),
)
TEXT = option("text", "Column of texts.")
EMOTICONS = option("emoticons", 'No labels: a text with ":)" is 1, others 0, and the ":)" is taken away.', False)


@command(
    METHOD,
    LABELLED,
    options.MODEL_OUT,
    TEXT,
    options.LABELS,
    option(
        "dev", "Held-out texts: the hyperparameter of the best F1 on them is taken (ngrams: a temperature).", reads=True
    ),
    option("positive", "Choose for the F1 of this label."),
    EMOTICONS,
    *FITTING,
    option(
        "strength",
        "C of logistic regression, or the pseudocount of naive Bayes; chosen on --dev by default.",
        kind=float,
    ),
    options.WHERE,
    *options.PRINTED,
)
def train(deliver: Delivery, file: str, out: str, **given: Any) -> int:
    """Train a classifier on texts and labels.

    Examples:
      howsure classify train logistic train.tsv --text text --true label --dev dev.tsv -o lr.npz
      howsure classify train logistic train.tsv --dev dev.tsv --ngrams 2 --vectors -o lr.npz
      howsure classify train naive-bayes tweets.csv --emoticons -o nb.npz
      howsure classify train ngrams passages.tsv --true author --dev dev.tsv -o who.npz
    """
    made = called("classify.train_classifier", file, doing="Training", **given)
    made.save(out)
    return deliver(made)


@command(
    METHOD,
    LABELLED,
    option("folds", "Number of folds.", 10),
    TEXT,
    options.LABELS,
    option("second", "Column of a second annotator's labels: the ceiling."),
    option("groups", "Column of what is dependent (author): kept in one fold."),
    EMOTICONS,
    *FITTING,
    option(
        "strength", "C or pseudocount; by default chosen in each fold, on a tenth of its training texts.", kind=float
    ),
    options.WHERE,
    *options.CHECKED,
)
def cv(deliver: Delivery, file: str, **given: Any) -> int:
    """Cross-validate: accuracy, baseline, ceiling and calibration.

    Examples:
      howsure classify cv logistic texts.tsv --folds 10
      howsure classify cv naive-bayes texts.tsv --groups author --second other_annotator
    """
    return deliver(called("classify.cv_classifier", file, doing="cross-validating", **given))


@command(
    MODEL,
    argument("file", "Labelled texts.", reads=True),
    TEXT,
    options.LABELS,
    option("positive", "Check the probability of this label."),
    EMOTICONS,
    option("groups", "Column of what is dependent (author)."),
    options.BY,
    options.WHERE,
    option("temperature", "Divide the scores by this first.", 1.0),
    *options.CHECKED,
)
def check(deliver: Delivery, model: str, file: str, **given: Any) -> int:
    """Are the classifier's labels good, and its probabilities right?

    Examples:
      howsure classify check lr.npz test.tsv
      howsure classify check lr.npz test.tsv --groups author --html report.html
    """
    return deliver(called("classify.check_classifier", model, file, **given))


@command(
    MODEL,
    argument("file", "Texts: CSV, TSV, JSON lines, Parquet.", reads=True),
    replace(options.MODEL_OUT, help="The table to write."),
    TEXT,
    *options.PRINTED,
)
def apply(deliver: Delivery, model: str, file: str, out: str, text: str | None) -> int:
    """Add a column `p_<class>` for each class to a table.

    Examples:
      howsure classify apply lr.npz new.tsv -o new-with-probabilities.csv
    """
    return replace(deliver, outputs=())(called("classify.apply_classifier", model, file, out, text=text))


classify = family("Text classifiers: train, cross-validate, check, apply.", train, cv, check, apply)
