"""`howsure classify train|check|apply`: text classifiers that say how sure they are."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, progress, say_data

classify = typer.Typer(
    help="Train text classifiers, and check whether their probabilities are right.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TEXT = typer.Option(help="Column of texts.")
TRUE = typer.Option(help="Column of labels.")
EMOTICONS = typer.Option("--emoticons", help='No labels: a text with ":)" is 1, others 0, and the ":)" is taken away.')


def train(
    method: Annotated[str, typer.Argument(help="logistic or naive-bayes.")],
    file: Annotated[str, typer.Argument(help="Labelled texts: CSV, TSV, JSON lines, Parquet.")],
    out: options.ModelOut,
    text: Annotated[str | None, TEXT] = None,
    true: Annotated[str | None, TRUE] = None,
    dev: Annotated[
        str | None, typer.Option(help="Held-out texts: the hyperparameter of the best F1 on them is taken.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="Choose for the F1 of this label.")] = None,
    emoticons: Annotated[bool, EMOTICONS] = False,
    tokens: Annotated[str, typer.Option(help="tweets or words.")] = "tweets",
    min_count: Annotated[int, typer.Option(help="Leave out words of fewer texts.")] = 2,
    strength: Annotated[
        float | None,
        typer.Option(help="C of logistic regression, or the pseudocount of naive Bayes; chosen on --dev by default."),
    ] = None,
    penalty: Annotated[float, typer.Option(help="Weight of a calibration penalty (logistic only).")] = 0.0,
    where: options.Where = None,
    as_json: options.Json = False,
) -> int:
    """Train a classifier on texts and labels.

    Examples:

      howsure classify train logistic train.tsv --text text --true label --dev dev.tsv -o lr.npz

      howsure classify train naive-bayes tweets.csv --emoticons -o nb.npz
    """
    from howsure.verbs.classify import train_classifier, training

    delivery = Delivery(as_json, outputs=(out,), inputs=(file, dev))
    with progress("Training") as moved:
        model, left_out = train_classifier(
            file,
            method=method,
            text=text,
            true=true,
            dev=dev,
            positive=positive,
            emoticons=emoticons,
            tokens=tokens,
            min_count=min_count,
            strength=strength,
            penalty=penalty,
            where=where,
            progress=moved,
        )
    model.save(out)
    return delivery.deliver(training(model, left_out))


def check(
    model: Annotated[str, typer.Argument(help="A model saved by `howsure classify train`.")],
    file: Annotated[str, typer.Argument(help="Labelled texts.")],
    text: Annotated[str | None, TEXT] = None,
    true: Annotated[str | None, TRUE] = None,
    positive: Annotated[str | None, typer.Option(help="Check the probability of this label.")] = None,
    emoticons: Annotated[bool, EMOTICONS] = False,
    groups: Annotated[str | None, typer.Option(help="Column of what is dependent (author).")] = None,
    by: options.By = None,
    where: options.Where = None,
    temperature: Annotated[float, typer.Option(help="Divide the scores by this first.")] = 1.0,
    confidence: options.Confidence = 0.95,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Are the classifier's labels good, and its probabilities right?

    Examples:

      howsure classify check lr.npz test.tsv

      howsure classify check lr.npz test.tsv --groups author --html report.html
    """
    from howsure.verbs.classify import check_classifier, load_classifier

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(file, model))
    made = check_classifier(
        load_classifier(model),
        file,
        text=text,
        true=true,
        positive=positive,
        emoticons=emoticons,
        groups=groups,
        by=by,
        where=where,
        temperature=temperature,
        confidence_level=confidence,
    )
    return delivery.deliver(made)


def apply(
    model: Annotated[str, typer.Argument(help="A model saved by `howsure classify train`.")],
    file: Annotated[str, typer.Argument(help="Texts: CSV, TSV, JSON lines, Parquet.")],
    out: Annotated[str, typer.Option("--out", "-o", help="The table to write.")],
    text: Annotated[str | None, TEXT] = None,
    as_json: options.Json = False,
) -> int:
    """Add a column `p_<class>` of probabilities for each class to a table.

    Examples:

      howsure classify apply lr.npz new.tsv -o new-with-probabilities.csv
    """
    from howsure.files import check_outputs
    from howsure.verbs.classify import apply_classifier, load_classifier

    check_outputs(out, inputs=[file, model])
    rows, names = apply_classifier(load_classifier(model), file, out, text=text)
    text = textwrap.fill(f"Written: {out}, {rows:,} rows with {', '.join(names)}.", 80, break_long_words=False)
    return say_data({"rows": rows, "columns": names, "written": out}, as_json, text)


classify.command()(train)
classify.command()(check)
classify.command()(apply)
