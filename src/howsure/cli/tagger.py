"""`howsure tagger train|check|apply`."""

from __future__ import annotations

import inspect
import json
from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, progress, say, say_data

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
    out: options.ModelOut,
    dev: Annotated[str | None, typer.Option(help="Held-out text, to choose --l2 or --pseudocount on.")] = None,
    column: Annotated[str | None, typer.Option(help=COLUMN)] = None,
    features: Annotated[
        str, typer.Option(help="CRF: basic, advanced, comma-separated templates; advanced-shape leaves one out.")
    ] = "advanced",
    lexicon: Annotated[
        str | None, typer.Option(help="CRF: other tagged text, any tag set, whose tags of a word become features.")
    ] = None,
    l2: Annotated[float | None, typer.Option(help="CRF: regulariser; chosen on --dev if not given.")] = None,
    pseudocount: Annotated[
        float | None, typer.Option(help="HMM: pseudocount; 0 is maximum likelihood; chosen on --dev if not given.")
    ] = None,
    rare: Annotated[int, typer.Option(help="HMM: words seen this often or less count by shape and ending.")] = 1,
    method: Annotated[str, typer.Option(help="CRF: lbfgs or adagrad (batches of 100).")] = "lbfgs",
    iterations: Annotated[int, typer.Option(help="CRF: passes over the text at most.")] = 150,
    calibration_penalty: Annotated[
        float, typer.Option(help="CRF: strength of a penalty on miscalibration in training.")
    ] = 0.0,
    temperature: Annotated[bool, typer.Option("--temperature", help="Fit a temperature on --dev and keep it.")] = False,
    as_json: options.Json = False,
) -> int:
    """Train a hidden Markov model or a conditional random field."""
    from howsure.verbs.tagger import train_tagger

    delivery = Delivery(as_json, outputs=(out,), inputs=(*files, dev, lexicon))
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
    return delivery.deliver(made, data=made.to_dict() | {"written": out})


def check(
    model: Annotated[str, typer.Argument(help="The .npz file that `howsure tagger train` wrote.")],
    file: Annotated[str, typer.Argument(help=f"Tagged text: {FORMATS}")],
    by: Annotated[str, typer.Option(help="The table shown: tag, pair or span.")] = "tag",
    column: Annotated[str | None, typer.Option(help=COLUMN)] = None,
    groups: Annotated[str, typer.Option(help="What is independent: sentence or document.")] = "sentence",
    pairs: Annotated[int, typer.Option(help="How many of the commonest tag pairs.")] = 100,
    confidence: options.Confidence = 0.95,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Is the tagger right to be as sure as it is?"""
    from howsure.errors import InputError
    from howsure.verbs.tagger import check_tagger

    if by not in BY:
        raise InputError(f"--by knows {', '.join(BY)}; got {by!r}.")
    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(file, model))
    made = check_tagger(model, file, column=column, groups=groups, pairs=pairs, confidence_level=confidence)
    if by == "span" and not made.per_span:
        raise InputError("the model has no spans: its tags are not of the form B-kind, I-kind.")
    return delivery.deliver(made, text=made.to_text(by))


def apply(
    model: Annotated[str, typer.Argument(help="The .npz file that `howsure tagger train` wrote.")],
    file: Annotated[str, typer.Argument(help=f"Text, tagged or not: {FORMATS}")],
    marginals: Annotated[
        str | None, typer.Option(help="Write every tag's probability at every token to this .parquet file.")
    ] = None,
    best: Annotated[int, typer.Option(help="Number of best tag sequences per sentence.")] = 1,
    samples: Annotated[int, typer.Option(help="Number of exact samples of tags per sentence.")] = 0,
    column: Annotated[str | None, typer.Option(help=COLUMN)] = None,
    rng: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done, or the tags, as JSON.")] = False,
) -> int:
    """Tag text: words with their most probable tag and its probability, or everything to a Parquet file."""
    from howsure.errors import InputError
    from howsure.files import check_outputs
    from howsure.verbs.tagger import apply_tagger, write_tags

    if best < 0 or samples < 0:
        raise InputError("--best and --samples must be 0 or more.")
    check_outputs(marginals, inputs=[file, model])
    table = apply_tagger(
        model, file, column=column, marginals=marginals is not None, best=best, samples=samples, rng=rng
    )
    if marginals is not None:
        write_tags(table, marginals)
        done = {"tokens": table.num_rows, "columns": table.column_names, "written": marginals}
        text = f"Written: {marginals}, {table.num_rows:,} tokens, {table.num_columns} columns."
        return say_data(done, as_json, text)
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
