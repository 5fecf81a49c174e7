"""`howsure tagger train|check|apply`."""

from __future__ import annotations

import inspect
import json
import textwrap
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.verbs.tagger_result import TaggerCheck, TaggerTraining

WIDTH = 80
FORMATS = "CoNLL-U, columns (word, tag) or Penn .pos."
COLUMN = "What to read as tags: xpos (default), upos, entity of CoNLL-U; a column's number."
BY = ("tag", "pair", "span")

tagger = typer.Typer(
    help="Train a tagger, check whether its posterior is calibrated, apply it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TRAIN_EPILOG = """Examples:

  howsure tagger train crf train.conllu --dev dev.conllu -o crf.npz

  howsure tagger train hmm train.pos --dev dev.pos -o hmm.npz

  howsure tagger train crf chunks.txt --column 3 --l2 0.1 -o chunker.npz
"""
CHECK_EPILOG = """Examples:

  howsure tagger check crf.npz test.conllu --by tag --html report.html

  howsure tagger check crf.npz test.conllu --by pair --groups document --json
"""
APPLY_EPILOG = """Examples:

  howsure tagger apply crf.npz new.conllu

  howsure tagger apply crf.npz new.conllu --marginals out.parquet --best 5 --samples 10
"""


def train(
    kind: Annotated[str, typer.Argument(help="hmm or crf.")],
    files: Annotated[list[str], typer.Argument(help=f"Training text: {FORMATS}")],
    out: Annotated[str, typer.Option("--out", "-o", help="Save the model to this .npz file.")],
    dev: Annotated[Optional[str], typer.Option(help="Held-out text, to choose --l2 or --pseudocount on.")] = None,  # noqa: UP045
    column: Annotated[Optional[str], typer.Option(help=COLUMN)] = None,  # noqa: UP045
    features: Annotated[
        str, typer.Option(help="CRF: basic, advanced, templates apart by commas; advanced-shape leaves one out.")
    ] = "advanced",
    lexicon: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="CRF: other tagged text, any tag set, whose tags of a word become features."),
    ] = None,
    l2: Annotated[Optional[float], typer.Option(help="CRF: regulariser; chosen on --dev if not given.")] = None,  # noqa: UP045
    pseudocount: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="HMM: pseudocount; 0 is maximum likelihood; chosen on --dev if not given."),
    ] = None,
    rare: Annotated[int, typer.Option(help="HMM: words seen so often or less count by shape and ending.")] = 1,
    method: Annotated[str, typer.Option(help="CRF: lbfgs or adagrad (batches of 100).")] = "lbfgs",
    iterations: Annotated[int, typer.Option(help="CRF: passes over the text at most.")] = 150,
    calibration_penalty: Annotated[
        float, typer.Option(help="CRF: strength of a penalty on miscalibration in training.")
    ] = 0.0,
    temperature: Annotated[bool, typer.Option("--temperature", help="Fit a temperature on --dev and keep it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Train a hidden Markov model or a conditional random field."""
    from howsure.cli.output import say
    from howsure.cli.progress import progress
    from howsure.files import check_outputs
    from howsure.verbs.tagger import train_tagger

    check_outputs(out, inputs=[*files, dev, lexicon])
    with progress("training") as moved:
        made = train_tagger(
            kind,
            files,
            dev=dev,
            column=column,
            features=features,
            lexicon=lexicon,
            l2=l2,
            pseudocount=pseudocount,
            rare=rare,
            method=method,
            max_iterations=iterations,
            calibration_penalty=calibration_penalty,
            temperature=temperature,
            progress=lambda what, i, loss: moved(i, iterations, f"{what}, loss {loss:,.0f}"),
        )
    made.tagger.save(out)
    if as_json:
        say(json.dumps(made.to_dict() | {"written": out}, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(f"{training_text(made)}\n\nWritten: {out}")
    return 0


def check(
    model: Annotated[str, typer.Argument(help="The .npz file that `howsure tagger train` wrote.")],
    file: Annotated[str, typer.Argument(help=f"Tagged text: {FORMATS}")],
    by: Annotated[str, typer.Option(help="The table shown: tag, pair or span.")] = "tag",
    column: Annotated[Optional[str], typer.Option(help=COLUMN)] = None,  # noqa: UP045
    groups: Annotated[str, typer.Option(help="What is independent: sentence or document.")] = "sentence",
    pairs: Annotated[int, typer.Option(help="How many of the commonest tag pairs.")] = 100,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Is the tagger right to be as sure as it is?"""
    from howsure.cli.output import say
    from howsure.errors import InputError
    from howsure.files import check_outputs, write_whole
    from howsure.report.tagger_page import tagger_page
    from howsure.verbs.tagger import check_tagger

    if by not in BY:
        raise InputError(f"--by knows {', '.join(BY)}; got {by!r}.")
    check_outputs(html, inputs=[file, model])
    made = check_tagger(model, file, column=column, groups=groups, pairs=pairs, confidence_level=confidence)
    if by == "span" and not made.per_span:
        raise InputError("the model has no spans: its tags are not of the form B-kind, I-kind.")
    if html is not None:
        facts = {
            "log loss of the gold sequence, per token": f"{made.log_loss:.4f}",
            "sentences": f"{made.n_sentences:,}",
        }
        page = tagger_page(made.classes, made.verdict, made.per_pair, made.per_span, facts, f"{model} on {made.source}")
        write_whole(html, page)
    if as_json:
        say(json.dumps(made.to_dict(), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(check_text(made, by).rstrip("\n") + (f"\n\nWritten: {html}" if html else ""))
    return 0


def apply(
    model: Annotated[str, typer.Argument(help="The .npz file that `howsure tagger train` wrote.")],
    file: Annotated[str, typer.Argument(help=f"Text, tagged or not: {FORMATS}")],
    marginals: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Write every tag's probability at every token to this .parquet file."),
    ] = None,
    best: Annotated[int, typer.Option(help="So many most probable tag sequences of each sentence.")] = 1,
    samples: Annotated[int, typer.Option(help="So many exact samples of each sentence's tags.")] = 0,
    column: Annotated[Optional[str], typer.Option(help=COLUMN)] = None,  # noqa: UP045
    rng: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done, or the tags, as JSON.")] = False,
) -> int:
    """Tag text: words with their most probable tag and its probability, or everything to a Parquet file."""
    from howsure.cli.output import say
    from howsure.errors import InputError
    from howsure.files import check_outputs, write_whole
    from howsure.verbs.tagger import apply_tagger

    if best < 0 or samples < 0:
        raise InputError("--best and --samples must be 0 or more.")
    check_outputs(marginals, inputs=[file, model])
    table = apply_tagger(
        model, file, column=column, marginals=marginals is not None, best=best, samples=samples, rng=rng
    )
    if marginals is not None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer)
        write_whole(marginals, buffer.getvalue().to_pybytes())
        done = {"tokens": table.num_rows, "columns": table.column_names, "written": marginals}
        if as_json:
            say(json.dumps(done, indent=2, ensure_ascii=False))
        else:
            say(f"Written: {marginals}, {table.num_rows:,} tokens, {table.num_columns} columns.")
        return 0
    rows = table.to_pylist()
    if as_json:
        say(json.dumps(rows, allow_nan=False, ensure_ascii=False))
        return 0
    lines: list[str] = []
    for i, row in enumerate(rows):
        if i and row["sentence"] != rows[i - 1]["sentence"]:
            lines.append("")
        more = [row[f"best_{k + 1}"] for k in range(best) if best > 1] + [
            row[f"sample_{k + 1}"] for k in range(samples)
        ]
        lines.append("\t".join([row["word"], row["predicted"], f"{row['prob']:.4f}", *more]))
    say("\n".join(lines))
    return 0


for _command, _examples in ((train, TRAIN_EPILOG), (check, CHECK_EPILOG), (apply, APPLY_EPILOG)):
    _command.__doc__ = inspect.cleandoc(_command.__doc__ or "") + "\n\n" + _examples
    tagger.command()(_command)


def training_text(made: TaggerTraining) -> str:
    """Verdict, then what was tried."""
    parts = [textwrap.fill(made.verdict, WIDTH)]
    if made.n_dev is not None:
        lines = [f"  {made.chosen.setting:<12} {'accuracy':>9}  on {made.n_dev:,} held-out tokens"]
        lines += [f"  {t.value:<12g} {t.dev_accuracy:>9.4f}{'  best' if t is made.chosen else ''}" for t in made.tried]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def check_text(made: TaggerCheck, by: str) -> str:
    """Verdict first, then the numbers, the table asked for, and the predicted tag's curve."""
    from howsure.cli.curve import curve
    from howsure.cli.text import aligned, bins_table, slice_rows

    c = made.classes
    rows = [
        ("tokens", f"{c.n:,}", f"{made.n_sentences:,} sentences, {len(c.classes)} tags"),
        ("accuracy", f"{made.accuracy.value:.4f}", f"[{made.accuracy.low:.4f}, {made.accuracy.high:.4f}]"),
        ("Viterbi accuracy", f"{made.viterbi_accuracy:.4f}", ""),
    ]
    for label, k in (("RMS error, predicted", c.top), ("RMS error, all events", c.pooled)):
        if k.error is not None:
            rows.append((label, f"{k.error.value:.4f}", f"[{k.error.low:.4f}, {k.error.high:.4f}]"))
    rows.append(("RMS error, tag-wise", f"{c.class_wise:.4f}", "root mean square over the tags"))
    rows.append(("log loss", f"{made.log_loss:.4f}", "of the gold sequence, per token"))
    shown = {"tag": made.per_tag, "pair": made.per_pair, "span": made.per_span}[by]
    parts = [
        textwrap.fill(made.verdict, WIDTH),
        aligned(rows),
        f"By {by}, worst first ({made.n_groups:,} {made.groups}s are independent):\n" + slice_rows(shown, 60, with_rows=by == "span"),
        "The predicted tag's probability\n" + bins_table(c.top),
        curve(c.top),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"
