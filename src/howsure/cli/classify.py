"""`howsure classify train|check|apply`: text classifiers that say how sure they are."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.models.classifiers.model import TextClassifier
    from howsure.verbs.classify import ClassifierCheck

classify = typer.Typer(
    help="Train text classifiers, and check whether their probabilities are right.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TEXT = typer.Option(help="Column of texts.")
TRUE = typer.Option(help="Column of labels.")
EMOTICONS = typer.Option("--emoticons", help='No labels: a text with ":)" is 1, others 0, and the ":)" is taken away.')
JSON = typer.Option("--json", help="Print everything as JSON.")


def train(
    method: Annotated[str, typer.Argument(help="logistic or naive-bayes.")],
    file: Annotated[str, typer.Argument(help="Labelled texts: CSV, TSV, JSON lines, Parquet.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Save the model to this .npz file.")],
    text: Annotated[Optional[str], TEXT] = None,  # noqa: UP045  (typer reads this at run time)
    true: Annotated[Optional[str], TRUE] = None,  # noqa: UP045
    dev: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Held-out texts: the hyperparameter of the best F1 on them is taken."),
    ] = None,
    positive: Annotated[Optional[str], typer.Option(help="Choose for the F1 of this label.")] = None,  # noqa: UP045
    emoticons: Annotated[bool, EMOTICONS] = False,
    tokens: Annotated[str, typer.Option(help="tweets or words.")] = "tweets",
    min_count: Annotated[int, typer.Option(help="Leave out words of fewer texts.")] = 2,
    strength: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="C of logistic regression, or the pseudocount of naive Bayes; chosen on --dev by default."),
    ] = None,
    penalty: Annotated[float, typer.Option(help="Weight of a calibration penalty (logistic only).")] = 0.0,
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the training rows.")] = None,  # noqa: UP045
    as_json: Annotated[bool, JSON] = False,
) -> int:
    """Train a classifier on texts and labels.

    Examples:

      howsure classify train logistic train.tsv --text text --true label --dev dev.tsv -o lr.npz

      howsure classify train naive-bayes tweets.csv --emoticons -o nb.npz
    """
    from howsure.cli.output import say
    from howsure.cli.progress import progress
    from howsure.files import check_outputs
    from howsure.verbs.classify import train_classifier

    check_outputs(out, inputs=[file, dev])
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
    if as_json:
        about = dict(model.settings)
        say(
            json.dumps(
                {"classes": list(model.classes), "words": len(model.words), "left_out": left_out, **about}, indent=2
            )
        )
    else:
        say(f"{training_text(model, left_out)}\n\nWritten: {out}")
    return 0


def check(
    model: Annotated[str, typer.Argument(help="A model saved by `howsure classify train`.")],
    file: Annotated[str, typer.Argument(help="Labelled texts.")],
    text: Annotated[Optional[str], TEXT] = None,  # noqa: UP045
    true: Annotated[Optional[str], TRUE] = None,  # noqa: UP045
    positive: Annotated[Optional[str], typer.Option(help="Check the probability of this label.")] = None,  # noqa: UP045
    emoticons: Annotated[bool, EMOTICONS] = False,
    groups: Annotated[Optional[str], typer.Option(help="Column of what is dependent (author).")] = None,  # noqa: UP045
    by: Annotated[Optional[str], typer.Option(help="Check each value of this column too.")] = None,  # noqa: UP045
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows to keep.")] = None,  # noqa: UP045
    temperature: Annotated[float, typer.Option(help="Divide the scores by this first.")] = 1.0,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    html: Annotated[Optional[str], typer.Option(help="Write a calibration report to this file.")] = None,  # noqa: UP045
    as_json: Annotated[bool, JSON] = False,
) -> int:
    """Are the classifier's labels good, and its probabilities right?

    Examples:

      howsure classify check lr.npz test.tsv

      howsure classify check lr.npz test.tsv --groups author --html report.html
    """
    from howsure.calibration.result import Calibration
    from howsure.cli.output import say
    from howsure.files import check_outputs, write_whole
    from howsure.report.calibration_page import calibration_page, classes_page
    from howsure.verbs.classify import check_classifier, load_classifier

    check_outputs(html, inputs=[file, model])
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
    if html is not None:
        c = made.calibration
        write_whole(html, calibration_page(c) if isinstance(c, Calibration) else classes_page(c))
    if as_json:
        say(json.dumps(made.to_dict(), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(checking_text(made).rstrip("\n") + ("" if html is None else f"\n\nWritten: {html}"))
    return 0


def apply(
    model: Annotated[str, typer.Argument(help="A model saved by `howsure classify train`.")],
    file: Annotated[str, typer.Argument(help="Texts: CSV, TSV, JSON lines, Parquet.")],
    out: Annotated[str, typer.Option("--out", "-o", help="The table to write.")],
    text: Annotated[Optional[str], TEXT] = None,  # noqa: UP045
    as_json: Annotated[bool, JSON] = False,
) -> int:
    """Add a column `p_<class>` of probabilities for each class to a table.

    Examples:

      howsure classify apply lr.npz new.tsv -o new-with-probabilities.csv
    """
    from howsure.cli.output import say
    from howsure.files import check_outputs
    from howsure.verbs.classify import apply_classifier, load_classifier

    check_outputs(out, inputs=[file, model])
    rows, names = apply_classifier(load_classifier(model), file, out, text=text)
    if as_json:
        say(json.dumps({"rows": rows, "columns": names, "written": out}, indent=2, ensure_ascii=False))
    else:
        say(textwrap.fill(f"Written: {out}, {rows:,} rows with {', '.join(names)}.", 80, break_long_words=False))
    return 0


def training_text(model: TextClassifier, left_out: int) -> str:
    """What was learnt, and what was tried on dev."""
    from howsure.cli.text import printable

    s = model.settings
    name = "C" if s["method"] == "logistic" else "pseudocount"
    classes = ", ".join(model.classes[:6]) + (", …" if len(model.classes) > 6 else "")
    said = (
        f"A {s['method']} classifier of {len(model.classes)} classes ({classes}), learnt from {s['texts']:,} texts and "
        f"{len(model.words):,} words, {name} {s['strength']:g}."
    )
    if left_out:
        said += f" {left_out:,} rows without a text or a label were left out."
    lines = [textwrap.fill(printable(said), 80)]
    if s["dev"]:
        lines.append(f"\n  {name:<12} F1 on dev")
        lines += [f"  {t['strength']:<12g} {t['f1']:.4f}" + " <" * (t["strength"] == s["strength"]) for t in s["dev"]]
    return "\n".join(lines)


def checking_text(c: ClassifierCheck) -> str:
    """Both verdicts, the scores, then the calibration."""
    from howsure.calibration.result import Calibration
    from howsure.cli.classes_text import classes_text
    from howsure.cli.score import score_text
    from howsure.cli.text import calibration_text, printable

    of = "" if c.positive is None else f'Probability of "{printable(c.positive)}":\n\n'
    k = c.calibration
    left = f"\n{c.left_out:,} rows without a text or a label were left out.\n" if c.left_out else ""
    calibrated = calibration_text(k) if isinstance(k, Calibration) else classes_text(k)
    return score_text(c.score) + left + "\n" + of + calibrated


classify.command()(train)
classify.command()(check)
classify.command()(apply)
