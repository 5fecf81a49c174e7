"""`howsure coref train | resolve | score | check`."""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

if TYPE_CHECKING:
    from howsure.evaluation.coreference.scores import CoreferenceScores
    from howsure.verbs.coref_check import CorefCheck

WIDTH = 80
SOURCE = "A file (.conllu, .conll, .jsonl), a folder of them, or gum:dev, ontogum:dev."

coref = typer.Typer(
    help="Coreference with probabilities: train, resolve, score, check calibration.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def train(
    documents: Annotated[str, typer.Argument(help=SOURCE)],
    out: Annotated[str, typer.Option("--out", "-o", help="Save the model to this .npz file.")],
    dev: Annotated[Optional[str], typer.Option(help="Documents to fit the temperature on, and to score.")] = None,  # noqa: UP045
    mentions: Annotated[str, typer.Option(help="gold, or predicted from the parses.")] = "gold",
    objective: Annotated[str, typer.Option(help="Fit the temperature for likelihood or brier.")] = "likelihood",
    costs: Annotated[bool, typer.Option("--costs", help="Train with error costs (worse calibrated).")] = False,
    epochs: Annotated[int, typer.Option(help="Passes over the documents.")] = 4,
    without: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Feature templates to leave out, with commas between."),
    ] = None,
    rng: Annotated[int, typer.Option(help="Seed of the order of documents.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Train a mention-ranking model on documents with gold entities."""
    from howsure.cli.progress import progress
    from howsure.corpora.coreference.documents import source_files
    from howsure.files import check_outputs
    from howsure.verbs.coref import train_coref

    check_outputs(out, inputs=[*source_files(documents), *source_files(dev)])
    with progress("training") as moved:
        made = train_coref(
            documents,
            dev=dev,
            mentions=mentions,
            objective=objective,
            costs=costs,
            epochs=epochs,
            without=_names(without),
            rng=rng,
            progress=moved,
        )
    made.model.save(out)
    if as_json:
        _json(made.to_dict())
    else:
        _say(made.verdict)
        if made.dev is not None:
            print("\n" + scores_table(made.dev))
        print(f"\nWritten: {out}")
    return 0


def resolve(
    out: Annotated[str, typer.Option("--out", "-o", help="Write here: .jsonl, or .conll for CoNLL-2012.")],
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(help="The model that `howsure coref train` wrote; with --text, the one that ships by default."),
    ] = None,
    documents: Annotated[Optional[str], typer.Argument(help=SOURCE)] = None,  # noqa: UP045
    text: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Raw English instead of documents: a text file, a folder of them, or - for stdin."),
    ] = None,
    mentions: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="gold or predicted; by default as trained, or found if none are given."),
    ] = None,
    samples: Annotated[int, typer.Option(help="Sampled clusterings to add to each document.")] = 0,
    decoder: Annotated[str, typer.Option(help="minimum-risk or best (best antecedents).")] = "minimum-risk",
    rng: Annotated[int, typer.Option(help="Seed; a document's samples depend on it and the name.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> int:
    """Find the entities of documents, with the probability of every link.

    A document that cannot be read is named and left out, the others are written, and the exit status is 2.
    """
    from howsure.corpora.coreference.conll2012 import conll2012_text
    from howsure.corpora.coreference.documents import source_files
    from howsure.errors import InputError
    from howsure.files import check_outputs, write_whole
    from howsure.verbs.coref import resolve as run_resolve

    if (documents is None) == (text is None) or (model is None and text is None):
        raise InputError("give a model and documents, or raw text with --text.")
    check_outputs(out, inputs=[model, *source_files(documents)])
    check_outputs(out, inputs=[text], deep=True)
    failures: list[InputError] = []
    given: Any = documents
    used: Any = model
    if text is not None:
        from howsure.cli.progress import progress
        from howsure.english.coreference import coref_model
        from howsure.verbs.parse import parsed

        with progress("parsing") as moved:
            given = list(parsed(text, progress=moved))
        used = coref_model() if model is None else model
        mentions = mentions or "predicted"
    made = run_resolve(used, given, mentions=mentions, samples=samples, decoder=decoder, rng=rng, failures=failures)
    if out.endswith(".conll"):
        text = conll2012_text([r.document for r in made], [r.entities() for r in made])
    else:
        text = "".join(json.dumps(r.to_dict(), ensure_ascii=False, allow_nan=False) + "\n" for r in made)
    write_whole(out, text.encode("utf-8", "surrogatepass"))
    n_mentions = sum(len(r.mentions) for r in made)
    expected = sum(float(r.posterior.new.sum()) for r in made)
    if as_json:
        said = [str(e) for e in failures]
        _json({"documents": len(made), "mentions": n_mentions, "expected_entities": expected, "failed": said})
    else:
        _say(
            f"{len(made):,} documents, {n_mentions:,} mentions, {expected:,.1f} entities expected, one mention each "
            f"included. Written: {out}"
        )
    for error in failures:
        print("howsure: left out: " + " ".join(str(error).split()), file=sys.stderr)
    return 2 if failures else 0


def score(
    gold: Annotated[str, typer.Argument(help=SOURCE)],
    system: Annotated[str, typer.Argument(help="The same documents with predicted entities.")],
    bootstrap: Annotated[int, typer.Option(help="Times documents are drawn anew for the intervals.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Score predicted against gold entities: MUC, B³, CEAF, BLANC, LEA, pairs and the CoNLL average."""
    from howsure.verbs.coref import score_coref

    made = score_coref(gold, system, n_bootstrap=bootstrap, confidence_level=confidence, rng=rng)
    if as_json:
        _json(made.to_dict())
    else:
        _say(made.verdict)
        print("\n" + scores_table(made))
    return 0


def check(
    model: Annotated[str, typer.Argument(help="The model that `howsure coref train` wrote.")],
    documents: Annotated[str, typer.Argument(help=SOURCE)],
    by: Annotated[Optional[str], typer.Option(help="Compare pairs by mention-type or distance.")] = None,  # noqa: UP045
    mentions: Annotated[Optional[str], typer.Option(help="gold or predicted; by default as trained.")] = None,  # noqa: UP045
    samples: Annotated[str, typer.Option(help="Numbers of samples beside the exact answers.")] = "10,100,1000",
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Check the calibration of "do these two mentions corefer?" and "is this mention new?"."""
    from howsure.corpora.coreference.documents import source_files
    from howsure.files import check_outputs, write_whole
    from howsure.verbs.coref_check import check_coref

    check_outputs(html, inputs=[model, *source_files(documents)])
    made = check_coref(
        model,
        documents,
        by=by,
        mentions=mentions,
        samples=_numbers(samples),
        confidence_level=confidence,
        rng=rng,
    )
    if html is not None:
        from howsure.report.coref_page import coref_page

        write_whole(html, coref_page(made, documents))
    if as_json:
        _json(made.to_dict())
    else:
        print(_check_text(made))
        if html is not None:
            print(f"Written: {html}")
    return 0


def _check_text(k: CorefCheck) -> str:
    from howsure.cli.text import calibration_text

    lines = [f"  {'pair probabilities':<20} {'error':>7}  {'interval':<18} {'Brier':>8} {'furthest off':>13}"]
    for s in k.sampling:
        name = "exact" if s.samples is None else f"{s.samples:,} samples"
        error = "" if s.error is None else f"{s.error.value:>7.4f}  [{s.error.low:.4f}, {s.error.high:.4f}]"
        off = "" if s.samples is None else f"{s.largest_deviation:>13.4f}"
        lines.append(f"  {name:<20} {error:<27} {s.brier:>8.5f} {off}".rstrip())
    parts = [
        textwrap.fill("Do these two mentions corefer?", WIDTH) + "\n\n" + calibration_text(k.pairs).rstrip(),
        textwrap.fill(f"Is this mention new? {k.new.verdict}", WIDTH),
        "Exact and sampled:\n" + "\n".join(lines),
    ]
    if k.untempered is not None and k.untempered.error is not None:
        parts.append(f"Temperature {k.temperature:.3f}; without it the RMS error would be {k.untempered.error!r}.")
    parts += [textwrap.fill(k.scores.verdict, WIDTH), scores_table(k.scores)]
    parts += [textwrap.fill(f"Note: {note}", WIDTH) for note in k.notes]
    return "\n\n".join(parts)


def scores_table(s: CoreferenceScores) -> str:
    """A line for each metric, in percent."""
    lines = [
        f"  {'metric':<10} {'recall':>7} {'precision':>10} {'F1':>7}  {100 * s.confidence_level:g}% interval of F1"
    ]
    for m in s.scores:
        recall, precision = (f"{100 * x.value:.2f}" if x is not None else "" for x in (m.recall, m.precision))
        limits = "" if m.f1.low is None or m.f1.high is None else f"[{100 * m.f1.low:.2f}, {100 * m.f1.high:.2f}]"
        lines.append(f"  {m.metric:<10} {recall:>7} {precision:>10} {100 * m.f1.value:>7.2f}  {limits}".rstrip())
    return "\n".join(lines)


def _names(text: str | None) -> list[str]:
    return [] if text is None else [t.strip() for t in text.split(",") if t.strip()]


def _numbers(text: str) -> list[int]:
    from howsure.errors import InputError

    if not all(t.isdecimal() and int(t) > 0 for t in _names(text)):
        raise InputError(f"--samples lists whole numbers with commas between; got {text!r}.")
    return [int(t) for t in _names(text)]


def _json(value: dict[str, Any]) -> None:
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))


def _say(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))


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
