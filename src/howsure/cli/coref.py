"""`howsure coref train | resolve | score | check`."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Annotated, Any

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, progress, say_data

SOURCE = "A file (.conllu, .conll, .jsonl), a folder of them, or gum:dev, ontogum:dev."

coref = typer.Typer(
    help="Coreference with probabilities: train, resolve, score, check calibration.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def train(
    documents: Annotated[str, typer.Argument(help=SOURCE)],
    out: options.ModelOut,
    dev: Annotated[str | None, typer.Option(help="Documents to fit the temperature on, and to score.")] = None,
    mentions: Annotated[str, typer.Option(help="gold, or predicted from the parses.")] = "gold",
    objective: Annotated[str, typer.Option(help="Fit the temperature for likelihood or brier.")] = "likelihood",
    costs: Annotated[bool, typer.Option("--costs", help="Train with error costs (worse calibrated).")] = False,
    epochs: Annotated[int, typer.Option(help="Passes over the documents.")] = 4,
    without: Annotated[str | None, typer.Option(help="Feature templates to leave out, comma-separated.")] = None,
    rng: Annotated[int, typer.Option(help="Seed of the order of documents.")] = 0,
    as_json: options.Json = False,
) -> int:
    """Train a mention-ranking model on documents with gold entities."""
    from howsure.verbs.coref import source_files, train_coref

    delivery = Delivery(as_json, outputs=(out,), inputs=(*source_files(documents), *source_files(dev)))
    with progress("training") as moved:
        made = train_coref(
            documents,
            dev=dev,
            mentions=mentions,
            objective=objective,
            costs=costs,
            epochs=epochs,
            without=options.listed(without),
            rng=rng,
            progress=moved,
        )
    made.model.save(out)
    return delivery.deliver(made)


def resolve(
    out: Annotated[str, typer.Option("--out", "-o", help="Write here: .jsonl, or .conll for CoNLL-2012.")],
    model: Annotated[
        str | None,
        typer.Argument(help="The model that `howsure coref train` wrote; with --text, the one that ships by default."),
    ] = None,
    documents: Annotated[str | None, typer.Argument(help=SOURCE)] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Raw English instead of documents: a text file, a folder of them, or - for stdin."),
    ] = None,
    mentions: Annotated[
        str | None, typer.Option(help="gold or predicted; by default as trained, or found if none are given.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Sampled clusterings to add to each document.")] = 0,
    decoder: Annotated[str, typer.Option(help="minimum-risk or best (best antecedents).")] = "minimum-risk",
    rng: Annotated[int, typer.Option(help="Seed; a document's samples depend on it and the name.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> int:
    """Find the entities of documents, with the probability of every link.

    A document that cannot be read is named and left out, the others are written, and the exit status is 2.
    """
    from howsure.errors import InputError
    from howsure.files import check_outputs
    from howsure.verbs.coref import resolve as run_resolve
    from howsure.verbs.coref import shipped_coref, source_files, write_resolved

    if (documents is None) == (text is None) or (model is None and text is None):
        raise InputError("give a model and documents, or raw text with --text.")
    check_outputs(out, inputs=[model, *source_files(documents)])
    check_outputs(out, inputs=[text], deep=True)
    failures: list[InputError] = []
    given: Any = documents
    used: Any = model
    if text is not None:
        from howsure.verbs.parse import parsed

        with progress("parsing") as moved:
            given = list(parsed(text, progress=moved))
        used = shipped_coref() if model is None else model
        mentions = mentions or "predicted"
    made = run_resolve(used, given, mentions=mentions, samples=samples, decoder=decoder, rng=rng, failures=failures)
    write_resolved(made, out)
    n_mentions = sum(len(r.mentions) for r in made)
    expected = sum(float(r.posterior.new.sum()) for r in made)
    done = {"documents": len(made), "mentions": n_mentions, "expected_entities": expected}
    text = (
        f"{len(made):,} documents, {n_mentions:,} mentions, {expected:,.1f} entities expected, one mention each "
        f"included. Written: {out}"
    )
    wrapped = textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False)
    say_data(done | {"failed": [str(e) for e in failures]}, as_json, wrapped)
    for error in failures:
        print("howsure: left out: " + " ".join(str(error).split()), file=sys.stderr)
    return 2 if failures else 0


def score(
    gold: Annotated[str, typer.Argument(help=SOURCE)],
    system: Annotated[str, typer.Argument(help="The same documents with predicted entities.")],
    bootstrap: Annotated[int, typer.Option(help="Number of resamples of documents for the intervals.")] = 1000,
    confidence: options.Confidence = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Score predicted against gold entities: MUC, B³, CEAF, BLANC, LEA, pairs and the CoNLL average."""
    from howsure.verbs.coref import score_coref

    made = score_coref(gold, system, n_bootstrap=bootstrap, confidence_level=confidence, rng=rng)
    return Delivery(as_json, markdown, latex).deliver(made)


def check(
    model: Annotated[str, typer.Argument(help="The model that `howsure coref train` wrote.")],
    documents: Annotated[str, typer.Argument(help=SOURCE)],
    by: Annotated[str | None, typer.Option(help="Compare pairs by mention-type or distance.")] = None,
    mentions: Annotated[str | None, typer.Option(help="gold or predicted; by default as trained.")] = None,
    samples: Annotated[str, typer.Option(help="Numbers of samples beside the exact answers.")] = "10,100,1000",
    html: options.Html = None,
    confidence: options.Confidence = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Check the calibration of "do these two mentions corefer?" and "is this mention new?"."""
    from howsure.verbs.coref import source_files
    from howsure.verbs.coref_check import check_coref

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(model, *source_files(documents)))
    made = check_coref(
        model,
        documents,
        by=by,
        mentions=mentions,
        samples=_numbers(samples),
        confidence_level=confidence,
        rng=rng,
    )
    return delivery.deliver(made)


def _numbers(text: str) -> list[int]:
    from howsure.errors import InputError

    if not all(t.isdecimal() and int(t) > 0 for t in options.listed(text)):
        raise InputError(f"--samples lists whole numbers with commas between; got {text!r}.")
    return [int(t) for t in options.listed(text)]


EXAMPLES: dict[Callable[..., int], str] = {
    train: """Examples:

  howsure coref train train/ --dev dev/ --mentions gold -o coref.npz

  howsure coref train ontogum:train --dev ontogum:dev --mentions predicted -o coref.npz
""",
    resolve: """Examples:

  howsure coref resolve coref.npz parsed.conllu --samples 100 -o resolved.jsonl

  howsure coref resolve coref.npz parsed/ --mentions predicted -o system.conll
""",
    score: """Examples:

  howsure coref score gold.conll system.conll

  howsure coref score gold.conll system.conll --json
""",
    check: """Examples:

  howsure coref check coref.npz test/ --by mention-type --html report.html

  howsure coref check coref.npz ontogum:test --by distance --json
""",
}
for _command, _examples in EXAMPLES.items():
    _command.__doc__ = inspect.cleandoc(_command.__doc__ or "") + "\n\n" + _examples
    coref.command()(_command)
