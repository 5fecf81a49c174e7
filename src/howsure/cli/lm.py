"""`howsure lm train`, `perplexity`, `compare`, `generate`, `correct` and `check`."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Annotated, Any, Optional

import typer

lm = typer.Typer(
    help="N-gram language models: train, evaluate, use, and check their probabilities.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Saved = Annotated[str, typer.Argument(help="A model: .npz or .arpa.")]
Text = Annotated[str, typer.Argument(help="UTF-8 text, a sentence a line; .gz; - for stdin.")]


def train(
    text: Annotated[list[str], typer.Argument(help="UTF-8 text, a sentence a line; .gz; - for stdin.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Save the model here: .npz (mapped) or .arpa.")],
    order: Annotated[int, typer.Option(help="n: a word depends on the n-1 before it.")] = 3,
    smoothing: Annotated[
        str,
        typer.Option(
            help="mle, laplace, lidstone, good-turing, simple-good-turing, interpolated, katz, witten-bell, "
            "absolute-discounting, kneser-ney or modified-kneser-ney."
        ),
    ] = "modified-kneser-ney",
    units: Annotated[str, typer.Option(help="words, punctuation (marks apart) or characters.")] = "words",
    no_sentences: Annotated[bool, typer.Option("--no-sentences", help="One long text: lines mean nothing.")] = False,
    padding: Annotated[str, typer.Option(help="<s> before a sentence: one, or full (n-1).")] = "one",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Read the text in lower case.")] = False,
    min_count: Annotated[int, typer.Option(help="Words seen less often become <UNK>.")] = 1,
    vocabulary_size: Annotated[
        Optional[int],  # noqa: UP045  (typer reads this at run time)
        typer.Option(help="Only the so many most frequent words are known."),
    ] = None,
    vocabulary: Annotated[Optional[str], typer.Option(help="A file of the words known, a line each.")] = None,  # noqa: UP045
    closed: Annotated[bool, typer.Option("--closed", help="No <UNK>: other words cannot occur.")] = False,
    dev: Annotated[Optional[str], typer.Option(help="Text to tune on (lidstone, interpolated).")] = None,  # noqa: UP045
    alpha: Annotated[Optional[float], typer.Option(help="Lidstone's alpha; tuned by default.")] = None,  # noqa: UP045
    cut_off: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Largest count that good-turing and katz discount (5)."),
    ] = None,
    memory: Annotated[float, typer.Option(help="Gigabytes of keys to hold; the rest is spilled to disk.")] = 2.0,
    as_json: Json = False,
) -> int:
    """Learn a model from text.

    Examples:

      howsure lm train train.txt --order 3 --smoothing modified-kneser-ney --min-count 2 -o lm.npz

      howsure lm train train.txt --smoothing lidstone --dev dev.txt -o lm.npz
    """
    from pathlib import Path

    from howsure.errors import InputError
    from howsure.files import check_outputs
    from howsure.verbs import lm as verbs

    check_outputs(out, inputs=[*text, vocabulary, dev])
    if not out.endswith((".npz", ".arpa")):
        raise InputError(f"a model is saved as .npz or .arpa; got {out}.")
    if not memory > 0:
        raise InputError(f"--memory must be above 0; got {memory:g}.")
    with _Progress() as progress:
        model = verbs.train(
            text[0] if len(text) == 1 else [Path(t) for t in text],
            order=order,
            smoothing=smoothing,
            units=units,
            sentences=not no_sentences,
            padding=padding,
            lowercase=lowercase,
            min_count=min_count,
            vocabulary_size=vocabulary_size,
            vocabulary=vocabulary,
            closed=closed,
            dev=dev,
            alpha=alpha,
            cut_off=cut_off,
            memory=int(memory * (1 << 30)),
            progress=progress,
        )
        verbs.save(model, out)
    about = {
        "written": out,
        "order": model.order,
        "vocabulary": len(model.vocabulary),
        "ngrams": model.trie.sizes(),
        **model.settings,
    }
    _say(about, as_json, lambda: _trained_text(about))
    return 0


def perplexity(
    model: Saved,
    text: Text,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    as_json: Json = False,
) -> int:
    """How well does a model predict a text?

    Examples:

      howsure lm perplexity lm.npz test.txt --json
    """
    from howsure.verbs import lm as verbs

    made = verbs.perplexity(model, text, confidence_level=confidence)
    _say(made.to_dict(), as_json, lambda: _evaluation_text(made))
    return 0


def compare(
    a: Saved,
    b: Saved,
    text: Text,
    confidence: Annotated[float, typer.Option(help="Confidence level of the interval.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the test.")] = 0,
    as_json: Json = False,
) -> int:
    """Which of two models predicts a text better?

    Examples:

      howsure lm compare a.npz b.npz test.txt
    """
    from howsure.verbs import lm as verbs

    made = verbs.compare(a, b, text, confidence_level=confidence, rng=rng)
    _say(made.to_dict(), as_json, lambda: _comparison_text(made))
    return 0


def generate(
    model: Saved,
    words: Annotated[int, typer.Option(help="How many words.")] = 50,
    temperature: Annotated[float, typer.Option(help="Below 1 sharper, above 1 flatter.")] = 1.0,
    top_k: Annotated[Optional[int], typer.Option(help="Only the so many likeliest words.")] = None,  # noqa: UP045
    history: Annotated[str, typer.Option(help="Words to go on from.")] = "",
    rng: Annotated[Optional[int], typer.Option(help="Seed.")] = None,  # noqa: UP045
    as_json: Json = False,
) -> int:
    """Draw text from a model.

    Examples:

      howsure lm generate lm.npz --words 50 --rng 1
    """
    from howsure.cli.text import printable
    from howsure.verbs import lm as verbs

    made = verbs.generate(model, words=words, temperature=temperature, top_k=top_k, history=history, rng=rng)
    lines = [printable(line) for line in made.split("\n")]
    _say({"sentences": lines, "rng": rng}, as_json, lambda: "\n".join(lines))
    return 0


def correct(
    model: Saved,
    errors: Annotated[str, typer.Option(help="Pairs to learn from: misspelling TAB word, a line each.")],
    text: Annotated[str, typer.Argument(help="Text to correct; - for stdin.")] = "-",
    error_rate: Annotated[float, typer.Option(help="Share of words that are mistyped.")] = 0.05,
    as_json: Json = False,
) -> int:
    """Correct spelling: the likeliest word given what was typed and the words around it.

    Examples:

      howsure lm correct lm.npz --errors pairs.tsv < typed.txt
    """
    from howsure.cli.output import say
    from howsure.models.ngrams.reading import blocks
    from howsure.verbs import lm as verbs

    made = verbs.corrector(model, errors, error_rate=error_rate)
    lines = [made.line(line) for block in blocks(text) for line in block.decode().splitlines()]
    if as_json:
        say(json.dumps([{"text": t, "corrections": [c.to_dict() for c in cs]} for t, cs in lines], ensure_ascii=False))
    else:
        say("\n".join(t for t, _ in lines))
    return 0


def check(
    model: Saved,
    text: Text,
    bins: Annotated[Optional[str], typer.Option(help="Bins to draw, as in howsure check.")] = None,  # noqa: UP045
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    events: Annotated[int, typer.Option(help="How many (place, word) events to check all words on.")] = 5_000_000,
    rng: Annotated[int, typer.Option(help="Seed of the sample and the band.")] = 0,
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    as_json: Json = False,
) -> int:
    """Are a model's probabilities of the next word right?

    Examples:

      howsure lm check lm.npz test.txt --html report.html
    """
    from howsure.files import check_outputs, write_whole
    from howsure.report.language_page import language_page
    from howsure.verbs import lm as verbs

    check_outputs(html, inputs=[model, text])
    made = verbs.check(model, text, bins=bins, confidence_level=confidence, events=events, rng=rng)
    if html is not None:
        write_whole(html, language_page(made))
    _say(made.to_dict(), as_json, lambda: _check_text(made) + (f"\n\nWritten: {html}" if html else ""))
    return 0


for _command in (train, perplexity, compare, generate, correct, check):
    _command.__doc__ = inspect.cleandoc(_command.__doc__ or "")
    lm.command()(_command)


class _Progress:
    """A bar on standard error, when that is a terminal."""

    def __enter__(self) -> Callable[[str, float], None] | None:
        self._bar: Any = None
        if not sys.stderr.isatty():
            return None
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.start()
        task = self._bar.add_task("", total=1.0)
        return lambda what, share: self._bar.update(task, description=what, completed=share)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _say(data: Any, as_json: bool, text: Callable[[], str]) -> None:
    from howsure.cli.output import say

    say(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) if as_json else text())


def _trained_text(about: dict[str, Any]) -> str:
    from howsure.cli.lm_text import trained_text

    return trained_text(about)


def _evaluation_text(made: Any) -> str:
    from howsure.cli.lm_text import evaluation_text

    return evaluation_text(made)


def _comparison_text(made: Any) -> str:
    from howsure.cli.lm_text import comparison_text

    return comparison_text(made)


def _check_text(made: Any) -> str:
    from howsure.cli.lm_text import check_text

    return check_text(made)
